//! `eigenforge spmv` as a person runs it.

use std::path::PathBuf;
use std::process::{Command, Output};

fn spmv(arguments: &[&str]) -> Output {
    // On a machine that has not built it, EIGENFORGE_BIN names the program.
    let program = std::env::var_os("EIGENFORGE_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_eigenforge").into());
    Command::new(program).arg("spmv").args(arguments).output().unwrap()
}

fn water() -> String {
    let root = std::env::var("EIGENFORGE_ROOT").unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/..").into());
    let file = PathBuf::from(root).join("tests/data/ci_matrices/H2O_sto3g_0.96_det_levfull.npz");
    file.to_str().unwrap().into()
}

#[test]
fn a_report_on_the_cpu() {
    let output = spmv(&[&water(), "--device", "cpu", "--compare", "--repeats", "2"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    for said in ["441 rows, 18,441 non-zeros", "30 to 81", "CSR", "x the floor", "plain loop"] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let output = spmv(&[&water(), "--device", "cpu", "--json", "--vectors", "3", "--repeats", "1"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((report["statistics"]["non_zeros"].as_u64(), report["vectors"].as_u64()), (Some(18_441), Some(3)));
    assert!(report["milliseconds"].as_f64().unwrap() > 0.0);
}

#[test]
fn half_of_a_symmetric_matrix_is_half_of_the_memory() {
    let output = spmv(&[&water(), "--device", "cpu", "--format", "symmetric", "--json", "--repeats", "1"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["format"], "symmetric half");
    assert!(report["reason"].as_str().unwrap().contains("as requested"), "{report}");
    // 441 of the diagonal and 9,000 above it, with columns of 16 bits; starts, and the integer sums.
    let (elements, tables) = (9_441, 4 * 442 + 8 * 441);
    let stored = report["stored_bytes"].as_u64().unwrap();
    assert!((10 * elements + tables..11 * elements + tables).contains(&stored), "{stored}");
    let line = report["memory"].as_array().unwrap().last().unwrap().clone();
    let expected = serde_json::json!({ "format": "symmetric half", "bytes": 12 * elements + tables });
    assert_eq!(line, expected);
}

/// It is multiplied as it stands, and the first pair that differs is named.
#[test]
fn a_matrix_that_is_not_symmetric_is_multiplied() {
    let folder = std::env::temp_dir().join(format!("eigenforge-spmv-skew-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let skew = folder.join("skew.mtx");
    let header = "%%MatrixMarket matrix coordinate real general";
    std::fs::write(&skew, format!("{header}\n3 3 3\n1 1 1.0\n1 3 2.0\n3 1 2.5\n")).unwrap();
    let output = spmv(&[skew.to_str().unwrap(), "--json", "--device", "cpu"]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("A(0, 2) = 2e0, but A(2, 0) = 2.5e0 (rows and columns from 0)"), "{text}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["statistics"]["non_zeros"], 3);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_cannot_be_run_is_said() {
    let folder = std::env::temp_dir().join(format!("eigenforge-spmv-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let broken = folder.join("broken.mtx");
    std::fs::write(&broken, "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.0\n").unwrap();
    let lopsided = folder.join("lopsided.mtx");
    std::fs::write(&lopsided, "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 1.0\n").unwrap();
    for (arguments, said) in [
        (vec![lopsided.to_str().unwrap(), "--format", "symmetric"], "keeps the upper triangle of a symmetric matrix"),
        (vec![broken.to_str().unwrap()], "line 3: 1 elements instead of the 2"),
        (
            vec!["nowhere.npz"],
            "nowhere.npz: No such file or directory (os error 2); expected the path of a matrix: FILE.mtx",
        ),
        (vec!["nowhere.mtx"], "FILE.npz (scipy.sparse.save_npz"),
        (vec!["nowhere.toml"], "FILE.toml with [ci]"),
        (vec!["synthetic:32768:1"], "'synthetic:32768:1' is not a matrix; expected FILE.mtx"),
        (vec!["matrix.txt"], "FILE.mtx or FILE.mtx.gz (Matrix Market), FILE.npz"),
        (vec!["nowhere.npz", "--format", "coo"], "expected auto, hybrid, csr, sliced-ell, panels, symmetric"),
        (vec!["nowhere.npz", "--vectors", "9"], "9 is not in 1..=8"),
    ] {
        let output = spmv(&[&arguments[..], &["--device", "cpu"]].concat());
        let text = String::from_utf8(output.stderr).unwrap().replace("\n  │ ", " ");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(joined.contains(said), "{arguments:?}: {text}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
