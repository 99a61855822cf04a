//! Every committed example of every text and binary format, cut after each of its bytes: refused, or harmless.
//!
//! Harmless is a cut that leaves the same result, such as one within the blanks behind the last line.

use super::super::gallery::root;
use super::targets::relative;
use eigenforge::ci::{Integrals, OneElectron, Space};
use eigenforge::sparse::{Triangle, read_matrix_market, read_npz};
use eigenforge::su3::{ByChannel, Direction, LabelTable, Plan, TableCache, TensorFormat, TensorKind, open_interaction};
use std::path::Path;

/// Cuts `bytes` at every place (of long files at all of the last and at some of the others) and demands a refusal or the
/// result of the whole.
#[track_caller]
fn cut<T: PartialEq + std::fmt::Debug>(name: &str, bytes: &[u8], read: impl Fn(&Path) -> Option<T>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    let expected = read(&path);
    assert!(expected.is_some(), "{name} whole");
    let step = 1 + bytes.len() / 2_000;
    let places = (0..bytes.len()).filter(|at| at % step == 0 || bytes.len() - at < 200);
    for length in places {
        std::fs::write(&path, &bytes[..length]).unwrap();
        let found = read(&path);
        assert!(found.is_none() || found == expected, "{name} cut to {length} of {} bytes is taken", bytes.len());
    }
}

fn committed(path: &str) -> Vec<u8> {
    std::fs::read(root().join(path)).unwrap()
}

#[test]
fn integrals_operators_and_determinants() {
    for name in ["H2_sto3g_0.74.FCIDUMP", "H4_square_sto3g_1.2.FCIDUMP"] {
        cut(name, &committed(&format!("tests/data/ci/{name}")), |path| Integrals::read(path).ok());
    }
    let dipole = b"-0.5 1 1 0 0\n0.25 2 1 0 0\n1.75 0 0 0 0\n3.0 2 2 0 0\n0.0 0 0 0 0\n-1 1 1 0 0\n0.0 0 0 0 0\n";
    cut("dipole", dipole, |path| OneElectron::<f64>::read_dipole(path, 2, false).ok());
    let determinants = b"# determinants = 3\n1100 1010\n0110 1010\n0011 0101\n";
    cut("determinants", determinants, |path| {
        let space = Space::from_file(path).ok()?;
        Some((0..space.len()).map(|row| space.determinant(row)).collect::<Vec<_>>())
    });
}

#[test]
fn matrices() {
    let market = b"%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1.5\n2 1 25\n2 2 3.14159E-12\n";
    cut("real.mtx", market, |path| read_matrix_market(std::fs::read(path).unwrap().as_slice()).ok());
    cut("a.npz", &committed("tests/data/ci_matrices/H2O_sto3g_0.96_det_levfull.npz"), |path| {
        read_npz(path, Triangle::Upper).or_else(|_| read_npz(path, Triangle::Full)).ok()
    });
}

fn elements(path: &Path, n_max: u32) -> Option<Vec<Vec<f64>>> {
    let plan = Plan::new(eigenforge::su3::OscillatorSpace { n_max });
    let source = open_interaction(path, &plan, Direction::Forward, &TableCache::off()).ok()?;
    Some(ByChannel::of_source(&plan, &*source).ok()?.vectors.into_iter().map(|(_, vector)| vector).collect())
}

#[test]
fn interactions_of_every_format() {
    for (name, n_max) in [("jisp16_Nmax02_h2v15099.dat", 0), ("jisp16_Nmax02_h2v15099.bin", 0)] {
        cut(name, &committed(&format!("tests/data/su3/{name}")), |path| elements(path, n_max));
    }
    let (name, bytes) = relative();
    cut(&name.to_string_lossy(), &bytes, |path| elements(path, 0));
    let plan = Plan::new(eigenforge::su3::OscillatorSpace { n_max: 0 });
    let source = root().join("tests/data/su3/jisp16_Nmax02_h2v15099.dat");
    let source = open_interaction(&source, &plan, Direction::Forward, &TableCache::off()).unwrap();
    for format in ["labels", "binary", "h2-0", "h2-15099", "h2-15200", "me2j"] {
        let (_, format) = *TensorFormat::WORDS.iter().find(|(word, _)| *word == format).unwrap();
        let mut bytes = Vec::new();
        let kind = TensorKind::Elements;
        format.write(&mut bytes, Path::new("out"), &plan, kind, &*source).unwrap();
        cut("out", &bytes, |path| elements(path, 0));
    }
}

#[test]
fn tables_of_labels() {
    let rows = |path: &str, count: usize| {
        let text = String::from_utf8(committed(path)).unwrap();
        let kept: String = text.split_inclusive('\n').take(1 + count).collect();
        format!("# rows = {count}\n{kept}").into_bytes()
    };
    cut("coefficients.csv", &rows("su3/tests/data/su3_reference.csv", 4), |path| {
        LabelTable::of_coefficients(path, 1 << 26).ok().map(|table| table.text)
    });
    cut("symbols.csv", &rows("su3/tests/data/wigner6j9j.csv", 30), |path| {
        LabelTable::of_symbols(path).ok().map(|table| table.text)
    });
    // Without a promise a cut within a line is still refused.
    let text = String::from_utf8(committed("su3/tests/data/wigner6j9j.csv")).unwrap();
    let kept: String = text.split_inclusive('\n').take(9).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("symbols.csv");
    for length in (1..kept.len()).filter(|at| !kept[..*at].ends_with('\n')) {
        std::fs::write(&path, &kept[..length]).unwrap();
        assert!(LabelTable::of_symbols(&path).is_err(), "{length}");
    }
}
