//! The upper triangle of a symmetric matrix in place of all of it: fixed point, so the same bits everywhere.

use super::matrices::{Random, product, random, vector};
use eigenforge::runtime::simulate::Schedule;
use eigenforge::runtime::testing::kernel_devices;
use eigenforge::runtime::{Device, LinearOperator, Scalar, Vector};
use eigenforge::sparse::{
    Csr, Format, FormatName, FormatRanking, FormatRequest, Layout, LayoutError, PartLayout, RowCut, RowStatistics,
    SparseError, SparseOperator, StorageKind, Stored, Target,
};
use eigenforge_templates::signature::Signature;
use eigenforge_templates::sparse::{ColumnWord, RowStorage};
use eigenforge_templates::{ScalarType, Warp};
use std::collections::BTreeMap;
use std::sync::Arc;

const WISH: FormatRequest = FormatRequest {
    format: Some(FormatName::Symmetric),
    boundary: None,
    vectors: 1,
    scalar: ScalarType::F64,
    values: ScalarType::F64,
};

/// A random symmetric matrix: `length(r)` columns drawn for row r, each for its transposed place too.
pub fn symmetric(rows: usize, seed: u64, length: impl Fn(usize) -> usize) -> Csr {
    let drawn = random(rows, seed, length);
    let mut lines = vec![BTreeMap::new(); rows];
    for row in 0..rows {
        let (columns, values) = drawn.row(row);
        for (column, value) in columns.iter().zip(values) {
            lines[row].insert(*column, *value);
            lines[*column as usize].insert(row as u32, *value);
        }
    }
    let mut start = vec![0u64];
    lines.iter().for_each(|line| start.push(start[start.len() - 1] + line.len() as u64));
    let (columns, values) = lines.into_iter().flatten().unzip();
    Csr::new(start, columns, values).unwrap()
}

fn shapes(seed: u64) -> Vec<(&'static str, Csr)> {
    let rows = 300;
    let diagonal = |rows: usize| {
        let mut random = Random::new(seed);
        let values = (0..rows).map(|_| random.number()).collect();
        Csr::new((0..=rows as u64).collect(), (0..rows as u32).collect(), values).unwrap()
    };
    vec![
        ("empty rows", symmetric(133, seed, |row| if row % 3 == 0 { row % 4 } else { 0 })),
        ("one long row", symmetric(rows, seed + 1, |row| if row == 77 { rows } else { 2 })),
        ("last row long", symmetric(rows, seed + 2, |row| if row + 1 == rows { rows } else { 1 })),
        ("many a row", symmetric(96, seed + 3, |_| 24)),
        ("diagonal only", diagonal(65)),
        ("no non-zeros", symmetric(40, seed + 4, |_| 0)),
        ("one element", symmetric(1, seed + 5, |_| 1)),
        ("no rows", Csr::new(vec![0], vec![], vec![]).unwrap()),
    ]
}

/// Layouts with every number of lanes and size of pack, and both widths of columns.
fn layouts() -> Vec<Layout> {
    let lanes = [1, 2, 4, 8, 16, 32];
    let words = [ColumnWord::Absolute16, ColumnWord::Absolute32];
    let layout = |(number, lanes): (usize, u32)| {
        let pack = [1, 2, 4][number % 3];
        let part = PartLayout::new(RowCut::End, StorageKind::UpperCsr, words[number / 2 % 2], lanes, pack);
        Layout {
            warp: Warp::default(),
            parts: vec![part],
            threads: [64, 96, 256][number % 3],
            blocks: 3,
            most_rows: 128,
        }
    };
    lanes.into_iter().enumerate().map(layout).collect()
}

/// y over NaN, and x·y.
fn multiply<T: Scalar>(operator: &SparseOperator, x: &[f64]) -> (Vec<T>, f64) {
    let device = LinearOperator::<T>::device(operator).clone();
    let as_t = |values: &[f64]| values.iter().map(|value| T::from_f64(*value)).collect::<Vec<T>>();
    let x_there = device.upload(&as_t(x)).unwrap();
    let mut y: Vector<T> = device.upload(&as_t(&vec![f64::NAN; x.len()])).unwrap();
    let dot = operator.apply(&x_there, &mut y).unwrap();
    (y.download().unwrap(), dot)
}

fn bits(y: &[f64]) -> Vec<u64> {
    y.iter().map(|y| y.to_bits()).collect()
}

fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.map(f64::abs).fold(0.0, f64::max)
}

/// Holds y and x·y against sums over rows: the documented bound, which is far below 1e-13 ‖A‖ max|x|.
fn check(matrix: &Csr, x: &[f64], (y, dot): &(Vec<f64>, f64), values: f64, what: &str) {
    let (exact, norm) = (product(matrix, x), norm(matrix));
    let unit = norm * largest(x.iter().copied());
    for (row, (y, (exact, size))) in y.iter().zip(&exact).enumerate() {
        let count = matrix.row(row).0.len() as f64;
        // The oracle's own sum is rounded count times.
        let bound = (2f64.powi(-52) * count + values) * size + count * 2f64.powi(-62) * unit;
        assert!((y - exact).abs() <= bound, "{what}: row {row} is {y:e}, expected {exact:e}");
        assert!(values > 0.0 || (y - exact).abs() <= 1e-13 * unit, "{what}: row {row}");
    }
    let expected: f64 = exact.iter().zip(x).map(|((y, _), x)| x * y).sum();
    let size: f64 = x.iter().map(|x| x.abs()).sum::<f64>() * unit;
    assert!((dot - expected).abs() <= (1e-13 + values) * size, "{what}: x.y = {dot:e}, expected {expected:e}");
}

fn norm(matrix: &Csr) -> f64 {
    largest((0..matrix.rows()).map(|row| matrix.row(row).1.iter().map(|a| a.abs()).sum()))
}

/// The CPU on several numbers of threads and a simulated device in several schedules: one product, bit for bit, in
/// every layout.
#[test]
fn the_same_bits_in_any_order_anywhere() {
    let schedules = [Schedule::Forward, Schedule::Reverse, Schedule::Random { seed: 5 }];
    let devices: Vec<Device> = schedules.into_iter().flat_map(kernel_devices).collect();
    for (number, (name, matrix)) in shapes(31).into_iter().enumerate() {
        let matrix = Arc::new(matrix);
        let x = vector(matrix.rows(), number as u64);
        let on = |layout: &Layout, device: &Device| {
            let operator = SparseOperator::with_layout(name, matrix.clone(), layout, WISH, device);
            multiply::<f64>(&operator.unwrap_or_else(|error| panic!("{name}: {error}")), &x)
        };
        let layouts = layouts();
        let cpu = on(&layouts[0], &Device::cpu());
        check(&matrix, &x, &cpu, 0.0, name);
        for layout in &layouts {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
            let again = pool.install(|| on(layout, &Device::cpu()));
            assert_eq!((bits(&again.0), again.1.to_bits()), (bits(&cpu.0), cpu.1.to_bits()), "{name}");
        }
        for (turn, device) in devices.iter().enumerate() {
            // Every second layout on one device or another for every matrix, and the others for the next: each is a text of its own.
            let rounds = if 2 * devices.len() <= layouts.len() { 2 } else { 1 };
            let first = turn + number % rounds * devices.len();
            for layout in layouts.iter().skip(first).step_by(rounds * devices.len()) {
                let found = on(layout, device);
                let what = format!("{name} on {}, {:?}", device.name(), layout.parts[0]);
                assert_eq!(bits(&found.0), bits(&cpu.0), "{what}");
                check(&matrix, &x, &found, 0.0, &what);
            }
        }
    }
}

#[test]
fn random_matrices_of_any_scale_against_the_dense_product() {
    for device in kernel_devices(Schedule::Random { seed: 8 }).into_iter().chain([Device::cpu()]) {
        // Each is a text of its own in simulation.
        let seeds = if device.runs_kernels() && !device.is_cuda() { 6 } else { 12 };
        for seed in 0..seeds {
            let mut random = Random::new(seed);
            let (rows, most) = (1 + random.below(70) as usize, random.below(20) as usize);
            let drawn = symmetric(rows, seed, |row| (row * 7 + seed as usize) % (most + 1));
            // Powers of two from 2^-300 to 2^300 on either side, so that the exponent is at work.
            let [a, b] = [0, 1].map(|_| 2f64.powi(random.below(601) as i32 - 300));
            let values = drawn.values().iter().map(|value| value * a).collect();
            let matrix = Csr::new(drawn.row_start().to_vec(), drawn.columns().to_vec(), values).unwrap();
            let x: Vec<f64> = vector(rows, seed).iter().map(|x| x * b).collect();
            let operator = SparseOperator::new("scaled", Arc::new(matrix.clone()), WISH, &device).unwrap();
            let what = format!("seed {seed} on {}", device.name());
            // Twice: sums of the product before are not in the next one.
            let first = multiply::<f64>(&operator, &x);
            assert_eq!(bits(&multiply::<f64>(&operator, &x).0), bits(&first.0), "{what}");
            check(&matrix, &x, &first, 0.0, &what);
            let zeros = multiply::<f64>(&operator, &vec![0.0; rows]);
            assert!(zeros.0.iter().all(|y| *y == 0.0) && zeros.1 == 0.0, "{what}");
        }
    }
}

/// There is no unit for an infinite or undefined x, nor for one that may overflow.
#[test]
fn an_infinite_or_undefined_x_makes_all_of_y_undefined() {
    let matrix = Arc::new(symmetric(70, 3, |row| row % 4));
    for device in kernel_devices(Schedule::Forward).into_iter().chain([Device::cpu()]) {
        let operator = SparseOperator::new("undefined", matrix.clone(), WISH, &device).unwrap();
        for wrong in [f64::INFINITY, f64::NEG_INFINITY, -f64::NAN, 1.7e308] {
            let mut x = vector(70, 4);
            x[69] = wrong;
            let (y, dot) = multiply::<f64>(&operator, &x);
            assert!(dot.is_nan() && y.iter().all(|y| y.is_nan()), "{wrong} on {}", device.name());
        }
        // The next product is right again.
        let x = vector(70, 5);
        check(&matrix, &x, &multiply::<f64>(&operator, &x), 0.0, "after it");
    }
}

#[test]
fn several_vectors_and_single_precision() {
    let matrix = Arc::new(symmetric(140, 7, |row| row % 9));
    let rounded = matrix.values().iter().map(|value| f64::from(*value as f32)).collect();
    let rounded = Csr::new(matrix.row_start().to_vec(), matrix.columns().to_vec(), rounded).unwrap();
    for device in kernel_devices(Schedule::Forward).into_iter().chain([Device::cpu()]) {
        let what = device.name();
        let wish = FormatRequest { values: ScalarType::F32, ..WISH };
        let operator = SparseOperator::new("single", matrix.clone(), wish, &device).unwrap();
        let x: Vec<Vec<f64>> = (0..3).map(|v| vector(140, v)).collect();
        let there: Vec<Vector<f64>> = x.iter().map(|x| device.upload(x).unwrap()).collect();
        let mut y: Vec<Vector<f64>> = x.iter().map(|_| device.upload(&[f64::NAN; 140]).unwrap()).collect();
        let dots = operator.apply_block(&there.iter().collect::<Vec<_>>(), &mut y).unwrap();
        for ((x, y), dot) in x.iter().zip(&y).zip(dots) {
            let found = (y.download().unwrap(), dot);
            check(&rounded, x, &found, 0.0, &what);
            let exact = product(&matrix, x);
            let off = largest(found.0.iter().zip(&exact).map(|(y, (exact, _))| y - exact));
            assert!(off > 1e-9, "{what}: {off:e}: the values were not stored in f32");
        }
        // Vectors of f32 too: y is rounded once beside.
        let wish = FormatRequest { scalar: ScalarType::F32, ..wish };
        let operator = SparseOperator::new("single", matrix.clone(), wish, &device).unwrap();
        let x: Vec<f64> = x[0].iter().map(|x| f64::from(*x as f32)).collect();
        let (y, dot) = multiply::<f32>(&operator, &x);
        check(&rounded, &x, &(y.into_iter().map(f64::from).collect(), dot), 1e-5, &what);
    }
}

#[test]
fn a_matrix_that_is_not_symmetric_is_refused_with_the_first_pair() {
    let mut values = symmetric(60, 9, |_| 4).values().to_vec();
    let whole = symmetric(60, 9, |_| 4);
    let at = whole.row_start()[17] as usize;
    let column = whole.columns()[at];
    values[at] += 1e-9;
    let spoiled = Csr::new(whole.row_start().to_vec(), whole.columns().to_vec(), values).unwrap();
    let (row, column) = (17.min(column), 17.max(column));
    for device in kernel_devices(Schedule::Forward).into_iter().chain([Device::cpu()]) {
        let Err(error) = SparseOperator::new("spoiled", Arc::new(spoiled.clone()), WISH, &device) else {
            panic!("taken on {}", device.name())
        };
        assert!(matches!(error, SparseError::Layout(LayoutError::Asymmetric(_))));
        assert!(error.to_string().contains(&format!("A({row}, {column}) = ")), "{error}");
        assert!(error.to_string().contains("take another format"), "{error}");
    }
}

/// `auto` takes half of the matrix where the others do not fit, and says so; never of a matrix that is not symmetric.
#[test]
fn half_is_taken_where_nothing_else_fits() {
    let matrix = symmetric(2000, 12, |_| 20);
    let statistics = RowStatistics::new(&matrix);
    let wish = FormatRequest { format: None, ..WISH };
    let with = |matrix: &Csr, free_bytes| {
        FormatRanking::new(matrix, &RowStatistics::new(matrix), Target { free_bytes, ..Target::H200 }, wish)
    };
    let (all, vectors) = (with(&matrix, 1 << 30), 2 * 8 * 2000);
    assert!(all.candidates.iter().all(|candidate| candidate.format != Format::Symmetric), "{}", all.reason);
    let least = all.candidates.iter().map(|candidate| candidate.bytes).min().unwrap();
    let tight = with(&matrix, vectors + least);
    assert_eq!((tight.best().format, tight.candidates.len()), (Format::Symmetric, 1));
    for said in ["symmetric half", "the smallest of the other formats, takes", "GiB are free"] {
        assert!(tight.reason.contains(said), "{said}: {}", tight.reason);
    }
    // What is counted is what is stored.
    let layout = &tight.best().layout;
    let stored = Stored::new("half", &matrix, layout, ScalarType::F64, ScalarType::F64).unwrap();
    let ratio = stored.plan.matrix_bytes() as f64 / tight.best().bytes as f64;
    assert!((0.95..1.05).contains(&ratio), "{ratio}");
    assert_eq!(2 * stored.plan.non_zeros() - 2000 + missing_diagonal(&matrix), statistics.non_zeros);
    assert!((stored.plan.matrix_bytes() as f64) < 0.6 * least as f64);
    // Some fit and some do not: only those that do are tried.
    let some = with(&matrix, vectors + least + least / 8);
    assert!(
        some.candidates
            .iter()
            .all(|candidate| candidate.bytes <= least + least / 8 && candidate.format != Format::Symmetric)
    );
    assert!(some.candidates.len() < all.candidates.len());
    let skew = random(2000, 13, |_| 20);
    assert!(with(&skew, 1000).candidates.iter().all(|candidate| candidate.format != Format::Symmetric));
}

/// Rows without a diagonal element, which are counted once too often.
fn missing_diagonal(matrix: &Csr) -> u64 {
    (0..matrix.rows()).filter(|row| matrix.row(*row).0.binary_search(&(*row as u32)).is_err()).count() as u64
}

#[test]
fn the_launches_are_those_of_the_text_and_a_plan_with_more_is_refused() {
    let matrix = symmetric(301, 5, |row| 1 + row % 20);
    for layout in layouts() {
        let stored = Stored::new("declared", &matrix, &layout, ScalarType::F64, ScalarType::F64).unwrap();
        assert!(stored.plan.is_half());
        let (text, launches) = (stored.plan.text().unwrap(), stored.plan.launches().unwrap());
        assert_eq!(launches.iter().map(|launch| launch.entry.as_str()).collect::<Vec<_>>(), text.entries);
        for launch in &launches {
            let signature = Signature::read(&text.text, &launch.entry).unwrap();
            signature.check(launch).unwrap_or_else(|error| panic!("{error}"));
        }
        let mut parts = stored.plan.clone();
        parts.parts.push(parts.parts[0]);
        let mut steps = stored.plan.clone();
        steps.parts[0].columns = ColumnWord::Delta16;
        for wrong in [parts, steps, stored.plan.with_vectors(2)] {
            assert!(wrong.parts.iter().all(|part| part.storage == RowStorage::UpperCsr));
            assert!(wrong.check().unwrap_err().to_string().contains("one part, one vector"));
        }
    }
}

/// Both widths of columns, a row of one lane and of a warp, small enough for a sanitizer.
#[test]
fn memcheck_half_of_a_symmetric_matrix() {
    let matrix = Arc::new(symmetric(301, 14, |row| if row % 13 == 0 { 9 } else { row % 3 }));
    let x = vector(301, 1);
    for device in kernel_devices(Schedule::Forward) {
        for layout in layouts() {
            let operator = SparseOperator::with_layout("half", matrix.clone(), &layout, WISH, &device).unwrap();
            check(&matrix, &x, &multiply::<f64>(&operator, &x), 0.0, &format!("{:?}", layout.parts[0]));
        }
    }
}
