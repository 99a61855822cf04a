//! H as files for other programs, read back: the models of examples/models and the named ones.
//!
//! In: model files. Out: matrices as our own readers, or the few lines here, find them in a file, against the dense oracle, bit for bit
//! where a number was written; Pauli strings read by `pauli = …`, and by Kronecker products as Qiskit defines its labels.

use super::models::root;
use super::ours;
use eigenforge::exact::{Dense, InSector, Model};
use eigenforge::export::{ExportError, ExportFormat, export};
use eigenforge::input::ModelFile;
use eigenforge::operator::{Operator, SiteKind, Word};
use eigenforge::sparse::{Csr, Triangle, read_matrix_market, read_npz};
use eigenforge_runtime::{Device, seeded};
use ndarray::Array1;
use ndarray_npy::NpzReader;
use num_complex::Complex64;
use std::collections::BTreeMap;
use std::path::Path;

/// The elements of a complex matrix.
type Elements = BTreeMap<(usize, usize), Complex64>;

/// The dense oracle without zeros; of a complex H the complex matrix.
fn dense(model: &Model) -> Elements {
    let (matrix, half) = (ours::dense(model), model.states() as usize);
    let mut elements = Elements::new();
    for (i, row) in matrix.iter().enumerate() {
        for (j, value) in row.iter().enumerate().take(half).filter(|(_, value)| **value != 0.0) {
            let (i, part) = if i < half { (i, Complex64::ONE) } else { (i - half, Complex64::I) };
            *elements.entry((i, j)).or_default() += part * value;
        }
    }
    elements
}

/// A Matrix Market file of either kind, and the words of its comments.
fn read_text(file: &Path) -> (Elements, Vec<u128>) {
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.lines().all(|line| line.len() < 1024), "the format's longest line");
    let (comments, lines): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with('%'));
    let words = comments.iter().filter_map(|line| line.strip_prefix("%states"));
    let states = words.flat_map(|line| line.split_whitespace().map(|word| word.parse().unwrap())).collect();
    let sizes: Vec<usize> = lines[0].split(' ').map(|word| word.parse().unwrap()).collect();
    assert_eq!(sizes[2], lines.len() - 1);
    let mut elements = Elements::new();
    for line in &lines[1..] {
        let words: Vec<&str> = line.split(' ').collect();
        let (i, j) = (words[0].parse::<usize>().unwrap() - 1, words[1].parse::<usize>().unwrap() - 1);
        let part = |k: usize| words.get(k).map_or(0.0, |word| word.parse::<f64>().unwrap());
        let value = Complex64::new(part(2), part(3));
        assert!(j <= i && elements.insert((i, j), value).is_none());
        elements.insert((j, i), value.conj());
    }
    (elements, states)
}

/// A SciPy archive of either kind, and its basis as words of electrons side by side, or of sites.
fn read_archive(file: &Path, sites: usize, complex: bool) -> (Elements, Vec<u128>) {
    let mut npz = NpzReader::new(std::fs::File::open(file).unwrap()).unwrap();
    let shape: Array1<i64> = npz.by_name("shape").unwrap();
    let indptr: Array1<i32> = npz.by_name("indptr").unwrap();
    let indices: Array1<i32> = npz.by_name("indices").unwrap();
    let data: Vec<Complex64> = match complex {
        true => npz.by_name::<_, ndarray::Ix1>("data").map(|data: Array1<Complex64>| data.to_vec()).unwrap(),
        false => {
            let data: Array1<f64> = npz.by_name("data").unwrap();
            data.iter().map(|value| Complex64::from(*value)).collect()
        }
    };
    assert_eq!((shape[0], shape[1]), (indptr.len() as i64 - 1, indptr.len() as i64 - 1));
    let mut elements = Elements::new();
    for (row, ends) in indptr.as_slice().unwrap().windows(2).enumerate() {
        let columns = &indices.as_slice().unwrap()[ends[0] as usize..ends[1] as usize];
        assert!(columns.is_sorted(), "columns ascend");
        let values = &data[ends[0] as usize..ends[1] as usize];
        elements.extend(columns.iter().zip(values).map(|(column, value)| ((row, *column as usize), *value)));
    }
    let list = |npz: &mut NpzReader<_>, name: &str| {
        npz.by_name::<_, ndarray::Ix1>(name).map(|list: Array1<u64>| list.to_vec())
    };
    let states = match list(&mut npz, "states") {
        Ok(states) => states.into_iter().map(u128::from).collect(),
        Err(_) => {
            let (up, down) = (list(&mut npz, "up_states").unwrap(), list(&mut npz, "down_states").unwrap());
            let pair =
                |down: &u64| up.iter().map(move |up| u128::from(*up) | u128::from(*down) << sites).collect::<Vec<_>>();
            down.iter().flat_map(pair).collect()
        }
    };
    (elements, states)
}

fn csr(matrix: &Csr) -> Elements {
    let row = |row: usize| {
        let (columns, values) = matrix.row(row);
        columns.iter().zip(values).map(move |(column, value)| ((row, *column as usize), Complex64::from(*value)))
    };
    (0..matrix.rows()).flat_map(row).collect()
}

fn close(name: &str, found: &Elements, expected: &Elements) {
    let largest = expected.values().fold(1.0f64, |largest, value| largest.max(value.norm()));
    for place in found.keys().chain(expected.keys()) {
        let of = |elements: &Elements| elements.get(place).copied().unwrap_or_default();
        let difference = (of(found) - of(expected)).norm();
        assert!(difference <= 1e-13 * largest, "{name} {place:?}: {} and {}", of(found), of(expected));
    }
}

/// All model files: those with answers, and one of each named model.
fn models() -> Vec<(String, Model)> {
    let folder = root().join("examples/models");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    files.sort();
    let read = |path: &std::path::PathBuf| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        (name, ModelFile::read(path).unwrap().to_model().unwrap())
    };
    let mut models: Vec<_> = files.iter().map(read).collect();
    for text in [
        "[model]\nname = \"hubbard\"\nt = 1.0\nu = 3.7\nmu = 0.3\n[lattice]\nkind = \"square\"\nsize = [3, 2]\n[sector]\nup = 3\ndown = 2\n",
        "[model]\nname = \"xxz\"\nspin = 1.5\njxy = 0.9\njz = 1.1\nsingle_ion = 0.4\n[lattice]\nkind = \"chain\"\nsize = 5\n[sector]\ntwo_sz = 1\n",
        // A ring of spinless fermions by momenta, with a part of the interaction.
        "[model]\nname = \"terms\"\nsite = \"spinless\"\nH = \"sum(i in sites; e[i] * n(i)) + 0.7 * (cdag(0) * cdag(3) * c(2) * c(1) + h.c.)\"\n[parameters]\ne = [-2.0, 0.1, 2.3, 0.4]\n[lattice]\nsites = 4\nedges = []\n[[charge]]\nname = \"momentum\"\nvalues = [0, 1, 2, -1]\nmodulo = 4\n[sector]\nparticles = 2\ncharges = { momentum = -1 }\n",
        // The two words of electrons have 90 bits.
        "[model]\nname = \"hubbard\"\nt = 0.7\nu = 2.1\n[lattice]\nkind = \"chain\"\nsize = 45\n[sector]\nup = 1\ndown = 1\n",
    ] {
        let file = ModelFile::parse("named", text).unwrap();
        models.push((file.problem_name(), file.to_model().unwrap()));
    }
    models
}

#[test]
fn matrices_that_were_written_are_h() {
    let folder = tempfile::tempdir().unwrap();
    let (mut complexes, mut largest) = (0, 0);
    for (name, model) in models() {
        let [text, archive] = ["mtx", "npz"].map(|ending| folder.path().join(format!("{name}.{ending}")));
        export(&model, ExportFormat::MatrixMarket, &text).unwrap();
        let written = export(&model, ExportFormat::Npz, &archive).unwrap();
        let (from_text, states) = read_text(&text);
        let (from_archive, listed) = read_archive(&archive, model.sites(), model.is_complex());
        assert_eq!(written.elements as usize, from_archive.len(), "{name}");
        // Both files have the same bits, and so have both triangles.
        assert!(from_text == from_archive, "{name}");
        let basis: Vec<u128> = (0..model.states()).map(|index| model.basis().state(index)).collect();
        assert!(states == basis && listed == basis, "{name}");
        match model.is_complex() {
            true => complexes += 1,
            false => {
                let reader = std::io::BufReader::new(std::fs::File::open(&text).unwrap());
                let read = read_matrix_market(reader).unwrap();
                assert!(
                    csr(&read) == from_text && csr(&read_npz(&archive, Triangle::Full).unwrap()) == from_text,
                    "{name}"
                );
                multiply_agrees(&name, &model, &read);
            }
        }
        close(&name, &from_text, &dense(&model));
        largest = largest.max(model.states());
    }
    assert!(complexes > 5 && largest > 2000, "{complexes} complex models, up to {largest} states");
}

/// The file's matrix times a vector against H x of the matrix-free multiply.
fn multiply_agrees(name: &str, model: &Model, matrix: &Csr) {
    let x: Vec<f64> = (0..model.dimension()).map(|k| seeded::element(9, k)).collect();
    let y = ours::multiply(model, &x, &Device::cpu());
    for (row, y) in y.iter().enumerate() {
        let (columns, values) = matrix.row(row);
        let sum: f64 = columns.iter().zip(values).map(|(column, value)| value * x[*column as usize]).sum();
        assert!((sum - y).abs() < 1e-11 * y.abs().max(1.0), "{name}, row {row}: {sum} and {y}");
    }
}

/// What each site carries, of a named model too.
fn kinds(model: &Model) -> Vec<SiteKind> {
    match model.operator().kinds() {
        Some(kinds) => kinds.to_vec(),
        None if matches!(model.basis().word(), Word::Fermions { .. }) => vec![SiteKind::Electrons; model.sites()],
        None => vec![SiteKind::Moments { two_s: model.operator().two_s() }; model.sites()],
    }
}

/// The same operator on all states.
fn all_states(model: &Model) -> Model {
    model.operator().clone().on_kinds(&kinds(model)).charges(&[]).unwrap()
}

/// The qubits' word of a word of the sites: modes by flavour and then by site.
fn qubit_word(kind: SiteKind, sites: usize, word: usize) -> usize {
    let modes = kind.modes().len().max(1);
    let place = |bit: usize| (bit % modes) * sites + bit / modes;
    (0..sites * modes).filter(|bit| word >> bit & 1 == 1).fold(0, |found, bit| found | 1 << place(bit))
}

/// A model file of products is read back as the same operator in the same sector.
#[test]
fn model_files_that_were_written_are_h() {
    let folder = tempfile::tempdir().unwrap();
    let (mut read, mut of_qubits) = (0, 0);
    for (name, model) in models() {
        let file = folder.path().join(format!("{name}.toml"));
        match export(&model, ExportFormat::Terms, &file) {
            Err(error) => {
                assert!(kinds(&model).contains(&SiteKind::Qubits) && error.is_of_the_input(), "{name}: {error}");
                of_qubits += 1;
            }
            Ok(written) => {
                let found = ModelFile::read(&file).unwrap().to_model().unwrap();
                assert_eq!((written.rows as usize, written.elements as usize), (model.sites(), model.operator().len()));
                assert_eq!(kinds(&found), kinds(&model), "{name}");
                let [ours, theirs] = [&found, &model].map(|model| {
                    let mut charges = model.sector().charge_values();
                    charges.sort_unstable();
                    charges
                });
                assert_eq!((ours, found.states()), (theirs, model.states()), "{name}");
                assert!(found.operator().terms().eq(model.operator().terms()), "{name}");
                assert_eq!(found.operator().forbidden(), model.operator().forbidden(), "{name}");
                read += 1;
            }
        }
    }
    assert!(read > 30 && of_qubits > 2, "{read} read, {of_qubits} of qubits");
}

#[test]
fn pauli_strings_that_were_written_are_h() {
    let folder = tempfile::tempdir().unwrap();
    let mut found = BTreeMap::new();
    for (name, model) in models() {
        let kinds = kinds(&model);
        let kind = kinds[0];
        let modes = kind.modes().len().max(1);
        let file = folder.path().join(&name);
        match export(&model, ExportFormat::Pauli, &file) {
            Ok(written) => assert_eq!(written.rows as usize, modes * model.sites(), "{name}"),
            Err(error) => {
                let other = kinds.iter().any(|other| *other != kind) || kind.bits() > 1 && kind != SiteKind::Electrons;
                let said = error.to_string();
                assert!(error.is_of_the_input() && (said.contains("[[forbid]]") || other), "{name}: {said}");
                continue;
            }
        }
        let qubits = modes * model.sites();
        if qubits > 10 {
            continue;
        }
        *found.entry(kind.to_string()).or_insert(0) += 1;
        let text = std::fs::read_to_string(&file).unwrap();
        export(&model, ExportFormat::Qiskit, &file).unwrap();
        let labels = std::fs::read_to_string(&file).unwrap();
        let model = all_states(&model);
        let expected: Elements = dense(&model)
            .into_iter()
            .map(|((i, j), value)| {
                let place = |word: usize| qubit_word(kind, model.sites(), word);
                ((place(i), place(j)), value)
            })
            .collect();
        for strings in [text, labels] {
            let file = format!(
                "[model]\nname = \"terms\"\nsite = \"qubit\"\npauli = \"\"\"\n{strings}\"\"\"\n[lattice]\nsites = {qubits}\nedges = []\n"
            );
            let read = ModelFile::parse(&name, &file).unwrap().to_model().unwrap();
            close(&name, &dense(&read), &expected);
        }
    }
    assert!(["qubit", "spin 1/2", "electron", "spinless"].iter().all(|kind| found.contains_key(*kind)), "{found:?}");
}

/// Left to right, as Qiskit's `SparsePauliOp.to_matrix`: the first letter is the leftmost factor of the Kronecker product.
fn kronecker(label: &str) -> Vec<Vec<Complex64>> {
    let (one, i, zero) = (Complex64::ONE, Complex64::I, Complex64::ZERO);
    let mut matrix = vec![vec![one]];
    for letter in label.chars() {
        let small = match letter {
            'X' => [[zero, one], [one, zero]],
            'Y' => [[zero, -i], [i, zero]],
            'Z' => [[one, zero], [zero, -one]],
            _ => [[one, zero], [zero, one]],
        };
        let row = |r: usize| {
            let factor = |c: usize| matrix[r / 2][c / 2] * small[r % 2][c % 2];
            (0..2 * matrix.len()).map(factor).collect::<Vec<_>>()
        };
        matrix = (0..2 * matrix.len()).map(row).collect();
    }
    matrix
}

/// An eigenvector, put at the places of Qiskit's state vector that `states` names, is one of the matrix of the labels.
#[test]
fn a_vector_in_the_order_of_qiskit_is_an_eigenvector_of_its_labels() {
    let folder = tempfile::tempdir().unwrap();
    for text in [
        "site = \"qubit\"\npauli = \"0.7 [X0 Y1 Z3] + 0.3 [Z0 Z2] - 0.45 [Y4] + 0.2 [X2 X4] + 0.11 [Z1]\"\n[lattice]\nsites = 5\nedges = []\n",
        "site = \"spin 1/2\"\nH = \"sum(<i, j> in bonds; sdots(i, j)) + sum(i in sites; 0.3 * i * sz(i))\"\n\
         [lattice]\nkind = \"chain\"\nsize = 5\n[sector]\ntwo_sz = 1\n",
        "site = \"spinless\"\nH = \"sum(<i, j> in bonds; -(cdag(i) * c(j) + h.c.) + 0.6 * n(i) * n(j)) + 0.4 * n(1)\"\n\
         [lattice]\nkind = \"chain\"\nsize = 5\n[sector]\nparticles = 2\n",
    ] {
        let file = ModelFile::parse("m.toml", &format!("[model]\nname = \"terms\"\n{text}")).unwrap();
        let model = file.to_model().unwrap();
        let path = folder.path().join("labels");
        export(&model, ExportFormat::Qiskit, &path).unwrap();
        let solved = Dense::new(&model).run(&Device::cpu()).unwrap();
        let (energy, basis) = (solved.energy(), model.basis());
        let vector: Vec<Complex64> = match model.is_complex() {
            true => solved.complex_vectors().unwrap().remove(0),
            false => solved.vector(0).unwrap().into_iter().map(Complex64::from).collect(),
        };
        let mut state = vec![Complex64::ZERO; 32];
        vector.iter().zip(0..).for_each(|(value, index)| state[basis.state(index) as usize] = *value);
        let mut image = vec![Complex64::ZERO; 32];
        for line in std::fs::read_to_string(&path).unwrap().lines() {
            let (label, value) = line.split_once(' ').unwrap();
            for (image, row) in image.iter_mut().zip(kronecker(label)) {
                let sum: Complex64 = row.iter().zip(&state).map(|(element, state)| element * state).sum();
                *image += value.parse::<f64>().unwrap() * sum;
            }
        }
        for (image, state) in image.iter().zip(&state) {
            assert!((image - energy * state).norm() < 1e-12, "{text}");
        }
    }
}

#[test]
fn what_cannot_be_written_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("h");
    let model = |kinds: &[SiteKind]| Operator::zero().on_kinds(kinds).charges(&[]).unwrap();
    let mixed = model(&[SiteKind::Qubits, SiteKind::Bosons { most: 3 }]);
    let said = export(&mixed, ExportFormat::Pauli, &file).unwrap_err().to_string();
    assert!(said.contains("boson 3") && said.contains("matrix-market"), "{said}");
    let constrained = Operator::zero().on_kinds(&[SiteKind::Qubits; 2]).forbid(&[(0, 1)]).charges(&[]).unwrap();
    assert!(matches!(export(&constrained, ExportFormat::Qiskit, &file), Err(ExportError::Constrained)));
    assert!(!file.exists());
    // Twelve terabytes of rows.
    let large = model(&[SiteKind::Qubits; 42]);
    let error = export(&large, ExportFormat::Npz, &file).unwrap_err();
    assert!(
        matches!(error, ExportError::Disk { rows, elements: None, .. } if rows == 1 << 42) && error.is_of_the_input(),
        "{error}"
    );
    assert!(error.to_string().contains("4,398,046,511,104 rows"), "{error}");
    let nothing = model(&[SiteKind::Qubits; 3]);
    assert_eq!(export(&nothing, ExportFormat::MatrixMarket, &file).unwrap().elements, 0);
}
