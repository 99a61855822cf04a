//! Configuration-interaction matrices of water made with PySCF (tests/data/ci_matrices; A without the nuclear
//! repulsion, see the table), with x, y = A x summed in long double, and the lowest eigenvalues.

use eigenforge::input::MatrixSource;
use eigenforge::runtime::simulate::Schedule;
use eigenforge::runtime::solvers::{SolveOptions, Solver, solve};
use eigenforge::runtime::testing::kernel_devices;
use eigenforge::runtime::{Device, LinearOperator, Vector};
use eigenforge::sparse::{Csr, FormatName, FormatRequest, SparseOperator, Triangle, read_npz, read_npz_vector};
use std::path::PathBuf;
use std::sync::Arc;

/// File, rows, non-zeros of the whole matrix, and whether the file holds the upper triangle.
const MATRICES: [(&str, usize, u64, Triangle); 3] = [
    ("H2O_sto3g_0.96_det_levfull", 441, 18_441, Triangle::Full),
    ("H2O_631g_fc_0.96_csf_lev2", 561, 30_425, Triangle::Full),
    ("H2O_631g_fc_0.96_det_lev2", 1425, 98_617, Triangle::Full),
];

pub fn file(name: &str) -> PathBuf {
    let root = std::env::var("EIGENFORGE_ROOT").unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/..").into());
    PathBuf::from(root).join("tests/data/ci_matrices").join(format!("{name}.npz"))
}

/// ‖y − A x‖ over ‖A‖ ‖x‖, y over NaN.
fn error_of(operator: &SparseOperator, x: &[f64], expected: &[f64]) -> f64 {
    let device = LinearOperator::<f64>::device(operator).clone();
    let x_there: Vector<f64> = device.upload(x).unwrap();
    let mut y: Vector<f64> = device.upload(&vec![f64::NAN; x.len()]).unwrap();
    operator.apply(&x_there, &mut y).unwrap();
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>().sqrt();
    let y = y.download().unwrap();
    let apart = norm(&mut y.iter().zip(expected).map(|(a, b)| a - b));
    let error = apart / (LinearOperator::<f64>::norm_bound(operator) * norm(&mut x.iter().copied()));
    // Not f64::max, which would drop a NaN.
    if error.is_nan() { f64::INFINITY } else { error }
}

#[test]
fn products_of_real_matrices() {
    for (name, rows, non_zeros, triangle) in MATRICES {
        let file = file(name);
        let matrix = Arc::new(read_npz(&file, triangle).unwrap());
        assert_eq!((matrix.rows(), matrix.non_zeros()), (rows, non_zeros), "{name}");
        // Made element by element, so symmetric to rounding.
        let apart = |row: usize| {
            let (columns, values) = matrix.row(row);
            let pairs =
                columns.iter().zip(values).map(|(column, value)| value - matrix.element(*column as usize, row as u32));
            pairs.fold(0.0, |worst: f64, apart| worst.max(apart.abs()))
        };
        assert!((0..rows).all(|row| apart(row) < 1e-14), "{name}");
        let (x, y) = (read_npz_vector(&file, "x").unwrap(), read_npz_vector(&file, "y").unwrap());
        let devices = std::iter::once(Device::cpu()).chain(kernel_devices(Schedule::Forward));
        for device in devices {
            let operator = SparseOperator::new(name, matrix.clone(), FormatRequest::default(), &device).unwrap();
            let error = error_of(&operator, &x, &y);
            assert!(error < 1e-15, "{name} on {}: {error:e}", device.name());
            let wish = FormatRequest { format: Some(FormatName::Symmetric), ..FormatRequest::default() };
            let half = SparseOperator::new(name, matrix.clone(), wish, &device).unwrap();
            let error = error_of(&half, &x, &y);
            assert!(error < 1e-15, "half of {name} on {}: {error:e}", device.name());
        }
        // A product that one element in ten thousand is missing from is told from the right one.
        let spoiled: Vec<f64> =
            matrix.values().iter().enumerate().map(|(k, v)| if k == 5_000 { 0.0 } else { *v }).collect();
        let spoiled = Csr::new(matrix.row_start().to_vec(), matrix.columns().to_vec(), spoiled).unwrap();
        let operator = SparseOperator::new(name, Arc::new(spoiled), FormatRequest::default(), &Device::cpu()).unwrap();
        assert!(error_of(&operator, &x, &y) > 1e-15, "{name}");
    }
}

#[test]
fn the_lowest_eigenvalue_of_water() {
    let file = file("H2O_sto3g_0.96_det_levfull");
    let matrix = Arc::new(read_npz(&file, Triangle::Full).unwrap());
    let operator = SparseOperator::new("water", matrix, FormatRequest::default(), &Device::cpu()).unwrap();
    let options = SolveOptions { tolerance: 1e-8, certify: false, ..SolveOptions::default() };
    let found = solve::<f64>(&operator, Solver::Lobpcg, &options).unwrap();
    let expected = read_npz_vector(&file, "eigenvalues").unwrap()[0];
    assert!((found.values[0] - expected).abs() < 1e-10, "{} instead of {expected}", found.values[0]);
}

#[test]
fn an_upper_triangle_is_made_whole() {
    let name = MATRICES[0].0;
    let whole = read_npz(&file(name), Triangle::Full).unwrap();
    let error = read_npz(&file(name), Triangle::Upper).unwrap_err().to_string();
    assert!(error.contains("is below the diagonal"), "{error}");
    let folder = std::env::temp_dir().join(format!("eigenforge-upper-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    // The upper triangle as CSR, and the same numbers as CSC of the lower one, whose transpose it is.
    let upper: Vec<Vec<(u32, f64)>> = (0..whole.rows())
        .map(|row| {
            let (columns, values) = whole.row(row);
            columns.iter().copied().zip(values.iter().copied()).filter(|(column, _)| *column as usize >= row).collect()
        })
        .collect();
    let path = folder.join("upper.npz");
    write_scipy(&path, "csr", &upper);
    assert_eq!(read_npz(&path, Triangle::Upper).unwrap(), whole);
    write_scipy(&path, "csc", &upper);
    let lower = read_npz(&path, Triangle::Full).unwrap();
    assert!((0..whole.rows()).all(|row| lower.row(row).0.iter().all(|column| *column as usize <= row)));
    assert_eq!(lower.non_zeros(), upper.iter().map(|row| row.len() as u64).sum::<u64>());
    // Without --upper that is a matrix that is not symmetric, as it stands.
    let source: MatrixSource = path.to_str().unwrap().parse().unwrap();
    assert_eq!(source.read(Triangle::Full).unwrap(), lower);
    write_scipy(&path, "coo", &upper);
    let error = read_npz(&path, Triangle::Full).unwrap_err().to_string();
    assert!(error.contains("array `format` says 'coo'"), "{error}");
    std::fs::write(&path, "not an archive").unwrap();
    assert!(read_npz(&path, Triangle::Full).unwrap_err().to_string().contains("upper.npz"));
    assert!(read_npz_vector(&file(name), "z").unwrap_err().to_string().contains("array `z`"));
    std::fs::remove_dir_all(&folder).unwrap();
}

/// As `scipy.sparse.save_npz` does: int32 indices, the format as a byte string.
fn write_scipy(path: &std::path::Path, format: &str, lines: &[Vec<(u32, f64)>]) {
    use ndarray::Array1;
    use ndarray_npy::WriteNpyExt;
    use std::io::Write;
    let mut archive = zip::ZipWriter::new(std::fs::File::create(path).unwrap());
    let options = zip::write::SimpleFileOptions::default();
    let mut indptr = vec![0i32];
    lines.iter().for_each(|line| indptr.push(indptr[indptr.len() - 1] + line.len() as i32));
    let indices: Vec<i32> = lines.iter().flatten().map(|(column, _)| *column as i32).collect();
    let data: Vec<f64> = lines.iter().flatten().map(|(_, value)| *value).collect();
    let mut member = |name: &str, bytes: Vec<u8>| {
        archive.start_file(format!("{name}.npy"), options).unwrap();
        archive.write_all(&bytes).unwrap();
    };
    let bytes = |write: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = vec![];
        write(&mut bytes);
        bytes
    };
    member("indptr", bytes(&|to| Array1::from_vec(indptr.clone()).write_npy(to).unwrap()));
    member("indices", bytes(&|to| Array1::from_vec(indices.clone()).write_npy(to).unwrap()));
    member("data", bytes(&|to| Array1::from_vec(data.clone()).write_npy(to).unwrap()));
    let shape = Array1::from_vec(vec![lines.len() as i64; 2]);
    member("shape", bytes(&|to| shape.write_npy(to).unwrap()));
    let mut header = b"\x93NUMPY\x01\x00v\x00{'descr': '|S3', 'fortran_order': False, 'shape': (), }".to_vec();
    header.resize(127, b' ');
    header.push(b'\n');
    header.extend(format.bytes());
    member("format", header);
    archive.finish().unwrap();
}
