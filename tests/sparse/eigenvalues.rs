//! `eigenforge solve` of a matrix as a person runs it: what is printed and written, and what is refused.

use super::reference::file;
use ndarray::{Array1, Array2, Array3};
use ndarray_npy::{NpzReader, NpzWriter};
use num_complex::Complex64;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    // On a machine that has not built it, EIGENFORGE_BIN names the program.
    let program = std::env::var_os("EIGENFORGE_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_eigenforge").into());
    Command::new(program).args(arguments).output().unwrap()
}

fn solve(file: &Path, more: &[&str]) -> Output {
    run(&[&["solve", file.to_str().unwrap(), "--device", "cpu"], more].concat())
}

fn report(file: &Path, more: &[&str]) -> serde_json::Value {
    let output = solve(file, &[more, &["--json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn energies(report: &serde_json::Value) -> Vec<f64> {
    report["energies"].as_array().unwrap().iter().map(|energy| energy.as_f64().unwrap()).collect()
}

fn matrices(name: &str) -> PathBuf {
    file("").parent().unwrap().with_file_name("matrices").join(name)
}

/// Arrays as `scipy.sparse.save_npz` names them.
fn write_npz<D: ndarray_npy::WritableElement, S: ndarray::Dimension>(
    path: &Path,
    (indptr, indices, shape): (&[i64], &[i64], [i64; 2]),
    data: &ndarray::Array<D, S>,
) {
    let mut npz = NpzWriter::new(File::create(path).unwrap());
    npz.add_array("indptr", &Array1::from(indptr.to_vec())).unwrap();
    npz.add_array("indices", &Array1::from(indices.to_vec())).unwrap();
    npz.add_array("data", data).unwrap();
    npz.add_array("shape", &Array1::from(shape.to_vec())).unwrap();
    npz.finish().unwrap();
}

#[test]
fn water_has_the_energies_of_its_file() {
    let water = file("H2O_sto3g_0.96_det_levfull");
    let expected = eigenforge::sparse::read_npz_vector(&water, "eigenvalues").unwrap();
    for solver in ["dense", "lanczos", "davidson", "lobpcg"] {
        let report = report(&water, &["--solver", solver, "--states", "3"]);
        for (found, expected) in energies(&report).iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-8, "{solver}: {found} instead of {expected}");
        }
        assert_eq!((&report["numbers"], &report["family"]), (&"real".into(), &"matrix".into()));
    }
}

/// H of a model in both formats has the levels of the model.
#[test]
fn an_exported_model_has_the_levels_of_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let model = "[model]\nname = \"hubbard\"\nt = 1.0\nu = 4.0\n[lattice]\nkind = \"chain\"\nsize = 6\n\
                 boundary = \"periodic\"\n[sector]\nup = 3\ndown = 2\n";
    std::fs::write(path("model.toml"), model).unwrap();
    let of_model = report(&path("model.toml"), &["--states", "4"]);
    for name in ["h.mtx", "h.npz"] {
        let (model, matrix) = (path("model.toml"), path(name));
        let output = run(&["export", model.to_str().unwrap(), "--output", matrix.to_str().unwrap()]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let of_matrix = report(&matrix, &["--states", "4"]);
        for (found, expected) in energies(&of_matrix).iter().zip(energies(&of_model)) {
            assert!((found - expected).abs() < 1e-10, "{name}: {found} instead of {expected}");
        }
        assert_eq!(of_matrix["multiplicities"], of_model["multiplicities"], "{name}");
    }
}

#[test]
fn vectors_are_of_the_numbers_of_the_matrix() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let arguments = ["--states", "2", "--vectors", "--output", out];
    let open = || NpzReader::new(File::open(folder.path().join("vectors.npz")).unwrap()).unwrap();
    let output = solve(&matrices("random_complex600.npz"), &arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let complex: Array2<Complex64> = open().by_name("vectors").unwrap();
    let rows: Array1<u64> = open().by_name("states").unwrap();
    assert_eq!((complex.dim(), rows[599]), ((2, 600), 599));
    assert!((complex.row(0).iter().map(Complex64::norm_sqr).sum::<f64>() - 1.0).abs() < 1e-12);
    let output = solve(&matrices("quat24_ring.npz"), &arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let quaternions: Array3<f64> = open().by_name("vectors").unwrap();
    assert_eq!(quaternions.dim(), (2, 24, 4));
    let text = String::from_utf8(output.stdout).unwrap();
    for said in
        ["quaternion Hermitian matrix of 24 rows, 48 non-zeros", "which have each state 4 times", "-1.9914771565"]
    {
        assert!(text.contains(said), "{said}: {text}");
    }
}

#[test]
fn what_is_no_hermitian_matrix_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let market = |name: &str, text: &str| {
        std::fs::write(path(name), format!("%%MatrixMarket matrix {text}")).unwrap();
        path(name)
    };
    let (indptr, indices): (&[i64], &[i64]) = (&[0, 1, 2], &[1, 0]);
    let square = (indptr, indices, [2, 2]);
    write_npz(&path("three.npz"), square, &Array2::from_elem((2, 3), 1.0));
    write_npz(&path("nan.npz"), square, &Array1::from(vec![f64::NAN, 1.0]));
    write_npz(&path("wide.npz"), (indptr, indices, [2, 3]), &Array1::from(vec![1.0, 1.0]));
    write_npz(&path("complex.npz"), square, &Array1::from(vec![Complex64::new(1.0, 2.0); 2]));
    let quaternions = Array2::from_shape_vec((2, 4), vec![1.0, 2.0, 3.0, 4.0, 1.0, -2.0, -3.0, 4.0]).unwrap();
    write_npz(&path("quaternions.npz"), square, &quaternions);
    for (file, said) in [
        (
            market("pair.mtx", "coordinate real general\n2 2 2\n1 2 1.0\n2 1 1.5\n"),
            "A(0, 1) = 1e0, but A(1, 0) = 1.5e0",
        ),
        (market("triangle.mtx", "coordinate real general\n2 2 1\n1 2 1.0\n"), "A(1, 0) = 0e0"),
        (
            market("symmetric.mtx", "coordinate complex symmetric\n2 2 1\n2 1 0 1\n"),
            "not Hermitian: A(0, 1) = 0e0 + 1e0 i",
        ),
        (market("wide.mtx", "coordinate real general\n2 3 1\n1 1 1\n"), "2 rows and 3 columns"),
        (market("nan.mtx", "coordinate real general\n1 1 1\n1 1 nan\n"), "not a finite number"),
        (market("empty.mtx", "coordinate real general\n0 0 0\n"), "no rows"),
        (path("three.npz"), "`data` has the shape [2, 3]; expected (n,)"),
        (path("nan.npz"), "NaN is not a finite number"),
        (path("wide.npz"), "2 rows and 3 columns"),
        (path("complex.npz"), "A(0, 1) = 1e0 + 2e0 i, but A(1, 0) = 1e0 + 2e0 i"),
        (path("quaternions.npz"), "A(0, 1) = 1e0 + 2e0 i + 3e0 j + 4e0 k, but A(1, 0) = 1e0 + -2e0 i + -3e0 j + 4e0 k"),
        (path("nowhere.npz"), "No such file"),
    ] {
        let output = solve(&file, &["--json"]);
        let error: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(error["error"].as_str().unwrap().contains(said), "{said}: {error}");
        assert_eq!((output.status.code(), &error["kind"]), (Some(2), &"input".into()), "{error}");
    }
    let output = solve(&market("two.mtx", "coordinate real symmetric\n2 2 1\n1 1 1\n"), &["--states", "3"]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && text.contains('3') && text.contains('2'), "{text}");
}

/// A real matrix multiplies a vector of complex numbers.
#[test]
fn spmv_of_a_real_matrix_takes_a_complex_x() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let text = "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 2\n1 2 -1\n2 1 0.5\n";
    std::fs::write(path("real.mtx"), text).unwrap();
    let x = Array1::from(vec![Complex64::new(1.0, 2.0), Complex64::new(0.0, -3.0)]);
    let mut npz = NpzWriter::new(File::create(path("x.npz")).unwrap());
    npz.add_array("x", &x).unwrap();
    npz.finish().unwrap();
    let [matrix, x, y] = ["real.mtx", "x.npz", "y.npz"].map(|name| path(name).to_str().unwrap().to_string());
    let output = run(&["spmv", &matrix, "--device", "cpu", "--repeats", "1", "--x", &x, "--y", &y]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Array1<Complex64> = NpzReader::new(File::open(y).unwrap()).unwrap().by_name("y").unwrap();
    assert_eq!(found.to_vec(), [Complex64::new(2.0, 7.0), Complex64::new(0.5, 1.0)]);
}

/// The products that stand beside the reference matrices, and what is refused of a vector.
#[test]
fn spmv_takes_x_and_writes_y() {
    let folder = tempfile::tempdir().unwrap();
    let y = folder.path().join("y.npz");
    let spmv = |matrix: &Path, x: &Path| {
        let [matrix, x, y] = [matrix, x, &y].map(|path| path.to_str().unwrap());
        run(&["spmv", matrix, "--device", "cpu", "--repeats", "1", "--x", x, "--y", y])
    };
    for name in ["quat20_dense", "quat24_ring", "hofstadter12x12_1_4", "random_complex600"] {
        let file = matrices(&format!("{name}.npz"));
        let output = spmv(&file, &file);
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let open = |file: &Path| NpzReader::new(File::open(file).unwrap()).unwrap();
        let numbers = |file: &Path| -> Vec<f64> {
            match name.starts_with("quat") {
                true => open(file).by_name::<ndarray::OwnedRepr<f64>, ndarray::Ix2>("y").unwrap().into_iter().collect(),
                false => {
                    let all: Array1<Complex64> = open(file).by_name("y").unwrap();
                    all.iter().flat_map(|number| [number.re, number.im]).collect()
                }
            }
        };
        let (found, expected) = (numbers(&y), numbers(&file));
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-12, "{name}: {found} instead of {expected}");
        }
    }
    let water = file("H2O_sto3g_0.96_det_levfull");
    for (matrix, x, said) in [
        (water.clone(), matrices("quat20_dense.npz"), "`x` has 20 numbers; the matrix has 441 columns"),
        (matrices("hofstadter12x12_1_4.npz"), water, "`x` has 441 numbers; the matrix has 144 columns"),
        (matrices("quat20_dense.npz"), folder.path().join("none.npz"), "No such file"),
    ] {
        let output = spmv(&matrix, &x);
        let text = String::from_utf8(output.stderr).unwrap();
        let joined = text.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ");
        assert!(output.status.code() == Some(2) && joined.contains(said), "{said}: {text}");
    }
}
