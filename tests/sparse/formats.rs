//! Every storage with every column word, number of lanes, size of pack and number of vectors.

use super::matrices::{Random, product, random, shapes, vector};
use eigenforge::runtime::simulate::Schedule;
use eigenforge::runtime::testing::{kernel_devices, simulated_with_warps_of};
use eigenforge::runtime::{Device, LinearOperator, Scalar, Vector};
use eigenforge::sparse::{
    Columns, Csr, FormatName, FormatRanking, FormatRequest, Layout, LayoutError, PartLayout, RowCut, RowStatistics,
    SparseOperator, StorageKind, Stored, Target, Values, start_word,
};
use eigenforge_templates::exact::IndexWord;
use eigenforge_templates::launch::{Element, ParameterKind};
use eigenforge_templates::signature::Signature;
use eigenforge_templates::sparse::{ColumnWord, RowStorage, SparsePlan};
use eigenforge_templates::{ScalarType, Warp};
use std::sync::Arc;

/// Compares y and x·y with the oracle, for one vector and for a block; outputs hold NaN before. `precision` is that of
/// the stored values, or of the vectors where those are narrower.
pub fn check<T: Scalar>(operator: &SparseOperator, matrix: &Csr, vectors: usize, precision: f64, what: &str) {
    let device = LinearOperator::<T>::device(operator).clone();
    let n = matrix.rows();
    let round = |x: f64| T::from_f64(x).to_f64();
    let x: Vec<Vec<f64>> = (0..vectors).map(|v| vector(n, v as u64).into_iter().map(round).collect()).collect();
    let up = |values: &[f64]| -> Vector<T> {
        device.upload(&values.iter().map(|value| T::from_f64(*value)).collect::<Vec<T>>()).unwrap()
    };
    let on_device: Vec<Vector<T>> = x.iter().map(|x| up(x)).collect();
    let mut y: Vec<Vector<T>> = x.iter().map(|x| up(&vec![f64::NAN; x.len()])).collect();
    let dots = if vectors == 1 {
        vec![operator.apply(&on_device[0], &mut y[0]).unwrap_or_else(|error| panic!("{what}: {error}"))]
    } else {
        let x: Vec<&Vector<T>> = on_device.iter().collect();
        operator.apply_block(&x, &mut y).unwrap_or_else(|error| panic!("{what}: {error}"))
    };
    assert_eq!(dots.len(), vectors);
    for ((x, y), dot) in x.iter().zip(&y).zip(dots) {
        let (y, exact) = (y.download().unwrap(), product(matrix, x));
        for (row, (y, (exact, size))) in y.iter().zip(&exact).enumerate() {
            let y = y.to_f64();
            let tolerance = precision * size + T::EPSILON * exact.abs();
            assert!((y - exact).abs() <= tolerance, "{what}: row {row} is {y:e}, expected {exact:e}");
        }
        let expected: f64 = exact.iter().zip(x).map(|((y, _), x)| x * y).sum();
        let size: f64 = exact.iter().zip(x).map(|((_, size), x)| x.abs() * size).sum();
        assert!((dot - expected).abs() <= precision * size, "{what}: x.y = {dot:e}, expected {expected:e}");
    }
}

fn part(cut: RowCut, storage: StorageKind, columns: ColumnWord, lanes: u32, pack: u32) -> PartLayout {
    PartLayout::new(cut, storage, columns, lanes, pack)
}

pub const WISH: FormatRequest =
    FormatRequest { format: None, boundary: None, vectors: 1, scalar: ScalarType::F64, values: ScalarType::F64 };
pub const F64: f64 = 1e-13;

#[test]
fn the_cpu_multiplies_every_shape() {
    for (name, matrix) in shapes(1) {
        let operator = SparseOperator::new(name, Arc::new(matrix.clone()), WISH, &Device::cpu()).unwrap();
        for vectors in [1, 2, 3, 8, 11] {
            check::<f64>(&operator, &matrix, vectors, F64, name);
            check::<f32>(&operator, &matrix, vectors, F64, name);
        }
    }
    // More than one task, and the same bits whatever the number of threads.
    let matrix = Arc::new(random(20_000, 9, |row| if row == 5 { 20_000 } else { row % 7 }));
    let operator = SparseOperator::new("tasks", matrix.clone(), WISH, &Device::cpu()).unwrap();
    check::<f64>(&operator, &matrix, 1, F64, "tasks");
    let dot = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let x: Vector<f64> = Device::cpu().upload(&vector(20_000, 3)).unwrap();
            let mut y = Device::cpu().zeros(20_000).unwrap();
            operator.apply(&x, &mut y).unwrap().to_bits()
        })
    };
    assert_eq!(dot(1), dot(5));
}

#[test]
fn the_choice_of_every_format_multiplies_every_shape() {
    for device in kernel_devices(Schedule::Random { seed: 3 }) {
        for (name, matrix) in shapes(20) {
            let statistics = RowStatistics::new(&matrix);
            for format in [None, Some(FormatName::Hybrid), Some(FormatName::Csr), Some(FormatName::SlicedEll)] {
                let choice = FormatRanking::new(&matrix, &statistics, Target::H200, FormatRequest { format, ..WISH });
                let layout = &choice.best().layout;
                let what = format!("{name}: {}", choice.reason);
                let operator = SparseOperator::with_layout("shape", Arc::new(matrix.clone()), layout, WISH, &device);
                let operator = operator.unwrap_or_else(|error| panic!("{what}: {error}"));
                check::<f64>(&operator, &matrix, 1, F64, &what);
            }
        }
    }
}

/// Layouts that between them have every storage, word, number of lanes and pack.
pub fn layouts() -> Vec<(String, Layout)> {
    use ColumnWord::{Absolute16, Absolute32, Delta16};
    let mut layouts = vec![];
    let mut add = |name: String, parts: Vec<PartLayout>, threads, most_rows| {
        layouts.push((name, Layout { warp: Warp::default(), parts, threads, blocks: 2, most_rows }));
    };
    let (words, packs) = ([Absolute16, Absolute32, Delta16], [1, 2, 4]);
    for (number, lanes) in [1, 2, 4, 8, 16, 32].into_iter().enumerate() {
        for (shift, storage) in [StorageKind::Ell, StorageKind::SlicedEll, StorageKind::Csr].into_iter().enumerate() {
            let (word, pack) = (words[(number + shift) % 3], packs[(number / 3 + number + shift) % 3]);
            let name = format!("{storage:?} {word:?}, {lanes} lanes x {pack}");
            add(name, vec![part(RowCut::End, storage, word, lanes, pack)], 64, 128);
        }
    }
    // The hybrid with its columns staged, and panels with a rest.
    for (lanes, tail) in [(8, 32), (1, 4)] {
        let ell = PartLayout { staged: 301, ..part(RowCut::Entries(9), StorageKind::Ell, Absolute16, lanes, 2) };
        let csr = part(RowCut::End, StorageKind::Csr, Delta16, tail, 1);
        add(format!("hybrid of {lanes} and {tail} lanes"), vec![ell, csr], 96, 96);
    }
    let window = |end, first_column, storage, word| PartLayout {
        first_column,
        staged: end - first_column,
        ..part(RowCut::Column(end), storage, word, 4, 2)
    };
    let rest = PartLayout { first_column: 200, ..part(RowCut::End, StorageKind::SlicedEll, Absolute32, 2, 1) };
    let first = window(100, 0, StorageKind::SlicedEll, Absolute16);
    let panels = vec![first, window(200, 100, StorageKind::Csr, Delta16), rest];
    add("panels and a rest".into(), panels, 128, 192);
    layouts
}

#[test]
fn every_layout_gives_the_same_product() {
    let matrix = Arc::new(random(301, 5, |row| if row % 13 == 0 { 0 } else { 1 + row * row % 40 }));
    for (number, schedule) in [Schedule::Forward, Schedule::Reverse].into_iter().enumerate() {
        for device in kernel_devices(schedule) {
            for (name, layout) in layouts().into_iter().skip(number).step_by(2) {
                let operator = SparseOperator::with_layout("layout", matrix.clone(), &layout, WISH, &device).unwrap();
                check::<f64>(&operator, &matrix, 1, F64, &name);
            }
        }
    }
}

/// Layouts for several vectors: lanes that share non-zeros and lanes that do not, fewer and more of them than pairs of vectors,
/// and windows whose columns are taken in turns.
pub fn layouts_of_several() -> Vec<(String, Layout)> {
    use ColumnWord::{Absolute16, Absolute32, Delta16};
    let mut layouts = vec![];
    for (number, lanes) in [1, 2, 4, 8, 32].into_iter().enumerate() {
        for (shift, storage) in [StorageKind::Ell, StorageKind::SlicedEll, StorageKind::Csr].into_iter().enumerate() {
            let (word, pack) =
                ([Absolute16, Absolute32, Delta16][(number + shift) % 3], [1, 2, 4][(2 * number + shift) % 3]);
            for shared in [false, true] {
                let part = PartLayout { shared_by_pairs: shared, ..part(RowCut::End, storage, word, lanes, pack) };
                let layout = Layout { warp: Warp::default(), parts: vec![part], threads: 64, blocks: 3, most_rows: 64 };
                layouts.push((format!("{storage:?} {word:?}, {lanes} lanes x {pack}, shared {shared}"), layout));
            }
        }
    }
    for (lanes, residues) in [(4, 2), (8, 2), (2, 4), (16, 8), (1, 2)] {
        let cut = RowCut::Column(37);
        let window = PartLayout { staged: 37, residues, ..part(cut, StorageKind::SlicedEll, Absolute16, lanes, 2) };
        let rest = part(RowCut::End, StorageKind::SlicedEll, Absolute32, lanes.max(4), 1);
        let rest = PartLayout { first_column: 37, shared_by_pairs: true, ..rest };
        let layout = Layout { warp: Warp::default(), parts: vec![window, rest], threads: 64, blocks: 3, most_rows: 64 };
        layouts.push((format!("window of {lanes} lanes and {residues} residues"), layout));
    }
    layouts
}

/// The matrix of [`layouts_of_several`], and how many vectors each of them meets.
fn matrix_of_several() -> Arc<Csr> {
    Arc::new(random(101, 6, |row| if row % 19 == 3 { 0 } else { 2 + row % 17 }))
}
const SEVERAL: [usize; 8] = [8, 2, 3, 4, 8, 5, 6, 7];

#[test]
fn every_number_of_vectors_reads_the_matrix_once() {
    let matrix = matrix_of_several();
    for device in kernel_devices(Schedule::Forward) {
        for (number, (name, layout)) in layouts_of_several().into_iter().enumerate() {
            let vectors = SEVERAL[number % SEVERAL.len()];
            let operator = SparseOperator::with_layout("vectors", matrix.clone(), &layout, WISH, &device);
            let operator = operator.unwrap_or_else(|error| panic!("{name}: {error}"));
            check::<f64>(&operator, &matrix, vectors, F64, &format!("{vectors} vectors, {name}"));
        }
    }
}

/// Slices, lanes and sums for warps of 16 lanes, on a device that has them.
#[test]
fn warps_of_another_width() {
    let Some(device) = simulated_with_warps_of(16, Schedule::Forward) else { return };
    let matrix = Arc::new(random(301, 5, |row| if row % 13 == 0 { 0 } else { 1 + row * row % 40 }));
    let narrow = |layouts: Vec<(String, Layout)>, step: usize| {
        let fits = |(_, layout): &(String, Layout)| layout.parts.iter().all(|part| part.lanes <= 16);
        let narrow = layouts.into_iter().filter(fits).step_by(step);
        narrow.map(|(name, layout)| (name, Layout { warp: device.warp(), ..layout })).collect::<Vec<_>>()
    };
    for (layouts, vectors) in [(narrow(layouts(), 2), 1), (narrow(layouts_of_several(), 7), 8)] {
        assert!(layouts.len() >= 4, "{vectors} vectors: {} layouts", layouts.len());
        for (name, layout) in layouts {
            let operator = SparseOperator::with_layout("narrow", matrix.clone(), &layout, WISH, &device);
            let operator = operator.unwrap_or_else(|error| panic!("{name}: {error}"));
            check::<f64>(&operator, &matrix, vectors, F64, &name);
        }
    }
    // What is chosen for the device, and a layout that its warps have too few lanes for.
    let operator = SparseOperator::new("chosen", matrix.clone(), WISH, &device).unwrap();
    check::<f64>(&operator, &matrix, 1, F64, "chosen");
    let wide = part(RowCut::End, StorageKind::Csr, ColumnWord::Absolute16, 32, 1);
    let wide = Layout { warp: device.warp(), parts: vec![wide], threads: 64, blocks: 2, most_rows: 128 };
    let refused = SparseOperator::with_layout("wide", matrix, &wide, WISH, &device).map(|_| ()).unwrap_err();
    assert!(refused.to_string().contains("lanes = 32"), "{refused}");
}

/// One kernel of each kind, small enough for a sanitizer: hybrid with a window, CSR, sliced, steps of columns, panels, and
/// those for several vectors with each way of sharing them out.
#[test]
fn memcheck_one_kernel_of_each_kind() {
    let matrix = Arc::new(random(301, 14, |row| if row % 13 == 0 { 0 } else { 1 + row % 23 }));
    let named = |wanted: &str| layouts().into_iter().find(|(name, _)| name.contains(wanted)).unwrap();
    let one = ["hybrid of 8", "Csr Absolute16", "SlicedEll Absolute16", "Ell Delta16", "Csr Delta16", "panels"];
    let several = [
        (8, "SlicedEll Absolute16, 4 lanes x 4, shared true"),
        (8, "SlicedEll Delta16, 32 lanes x 1, shared true"),
        (4, "Csr Absolute16, 2 lanes"),
        (8, "window of 4 lanes"),
        (4, "window of 2 lanes"),
    ];
    let several = several.map(|(vectors, wanted)| {
        let found = layouts_of_several().into_iter().find(|(name, _)| name.contains(wanted));
        (vectors, found.unwrap_or_else(|| panic!("no layout named {wanted}")))
    });
    for device in kernel_devices(Schedule::Forward) {
        for (vectors, (name, layout)) in one.map(|wanted| (1, named(wanted))).into_iter().chain(several.clone()) {
            let operator = SparseOperator::with_layout("kind", matrix.clone(), &layout, WISH, &device);
            let operator = operator.unwrap_or_else(|error| panic!("{name}: {error}"));
            check::<f64>(&operator, &matrix, vectors, F64, &format!("{vectors} vectors, {name}"));
        }
    }
}

/// The lanes that shared memory serves at once meet different remainders, as far as a row has both.
#[test]
fn columns_are_taken_in_turns() {
    let matrix = random(64, 12, |_| 40);
    for (lanes, pack) in [(4u32, 1u32), (8, 2), (8, 1), (16, 1)] {
        let cut = part(RowCut::End, StorageKind::Ell, ColumnWord::Absolute16, lanes, pack);
        let conflicts = |residues| {
            let part = PartLayout { staged: 64, residues, ..cut };
            let layout = Layout { warp: Warp::default(), parts: vec![part], threads: 32, blocks: 1, most_rows: 64 };
            let stored = Stored::new("turns", &matrix, &layout, ScalarType::F64, ScalarType::F64).unwrap();
            let Columns::U16(columns) = &stored.parts[0].columns else { panic!("16 bits") };
            let Values::F64(values) = &stored.parts[0].values else { panic!("64 bits") };
            let (mut met, mut same) = (0, 0);
            for step in (0..columns.len()).step_by(32 * pack as usize) {
                for lane in (0..32).filter(|lane| lane % 8 < 4) {
                    for element in 0..pack as usize {
                        let [a, b] = [lane, lane + 4].map(|lane| step + lane * pack as usize + element);
                        if values[a] != 0.0 && values[b] != 0.0 {
                            met += 1;
                            same += u32::from(columns[a] % 2 == columns[b] % 2);
                        }
                    }
                }
            }
            f64::from(same) / f64::from(met)
        };
        assert!(conflicts(1) > 0.35, "{lanes} lanes: {}", conflicts(1));
        assert!(conflicts(2) < 0.25, "{lanes} lanes: {}", conflicts(2));
    }
}

/// 0 · ∞ is NaN: padding may meet such an x only in rows that have a non-zero there anyway. The texts for several vectors are those of
/// [`every_number_of_vectors_reads_the_matrix_once`].
#[test]
fn an_infinite_or_undefined_x_stays_in_its_rows() {
    let matrix = matrix_of_several();
    // The NaN that x86 makes itself, so that the simulator's two runs need not agree on whose bits a sum of two keeps.
    let poisoned = [(0u32, f64::INFINITY), (37, -f64::NAN), (100, f64::NEG_INFINITY)];
    let clean = |row: usize| poisoned.iter().all(|(column, _)| matrix.row(row).0.binary_search(column).is_err());
    assert!((0..101).filter(|row| clean(*row)).count() > 40);
    let alone = layouts().into_iter().filter(|(_, layout)| layout.parts.len() == 1).enumerate();
    let mut all: Vec<_> = alone.map(|(number, layout)| ([8, 1, 3][number % 3], layout)).collect();
    let several = layouts_of_several().into_iter().enumerate();
    all.extend(several.map(|(number, layout)| (SEVERAL[number % SEVERAL.len()], layout)));
    let mut devices = kernel_devices(Schedule::Forward);
    devices.push(Device::cpu());
    for device in devices {
        for (vectors, (name, layout)) in &all {
            let operator = SparseOperator::with_layout("vectors", matrix.clone(), layout, WISH, &device).unwrap();
            let mut x: Vec<Vec<f64>> = (0..*vectors).map(|v| vector(101, v as u64)).collect();
            poisoned.iter().for_each(|(column, value)| x[0][*column as usize] = *value);
            let up: Vec<Vector<f64>> = x.iter().map(|x| device.upload(x).unwrap()).collect();
            let mut y: Vec<Vector<f64>> = x.iter().map(|_| device.upload(&[0.5; 101]).unwrap()).collect();
            operator.multiply_block(&up.iter().collect::<Vec<_>>(), &mut y).unwrap();
            for (v, (x, y)) in x.iter().zip(&y).enumerate() {
                let (y, exact) = (y.download().unwrap(), product(&matrix, x));
                for row in (0..101).filter(|row| v > 0 || clean(*row)) {
                    let (exact, size) = exact[row];
                    assert!(
                        (y[row] - exact).abs() <= F64 * size,
                        "{name}, vector {v}, row {row}: {} for {exact}",
                        y[row]
                    );
                }
                assert!(v > 0 || (0..101).filter(|row| !clean(*row)).all(|row| !y[row].is_finite()), "{name}");
            }
        }
    }
}

#[test]
fn single_precision_is_that_of_what_is_stored() {
    let matrix = Arc::new(random(140, 7, |row| row % 30));
    let layout = Layout {
        warp: Warp::default(),
        parts: vec![
            part(RowCut::Entries(8), StorageKind::Ell, ColumnWord::Absolute16, 2, 4),
            part(RowCut::End, StorageKind::Csr, ColumnWord::Absolute32, 8, 2),
        ],
        threads: 64,
        blocks: 3,
        most_rows: 64,
    };
    for device in kernel_devices(Schedule::Forward) {
        // f32 values of f64 vectors: each value is rounded once.
        let wish = FormatRequest { values: ScalarType::F32, ..WISH };
        let operator = SparseOperator::with_layout("single", matrix.clone(), &layout, wish, &device).unwrap();
        check::<f64>(&operator, &matrix, 1, 6e-8, "f32 values");
        // Both in f32; sums are still in f64, so that y is rounded once beside.
        let wish = FormatRequest { scalar: ScalarType::F32, ..wish };
        let operator = SparseOperator::with_layout("single", matrix.clone(), &layout, wish, &device).unwrap();
        check::<f32>(&operator, &matrix, 1, 6e-8, "f32 throughout");
        check::<f32>(&operator, &matrix, 2, 6e-8, "two of f32 throughout");
    }
}

#[test]
fn the_rounding_of_f32_values_is_there_to_be_seen() {
    let matrix = Arc::new(random(64, 8, |_| 9));
    let layout = Layout {
        warp: Warp::default(),
        parts: vec![part(RowCut::End, StorageKind::Csr, ColumnWord::Absolute16, 4, 1)],
        threads: 32,
        blocks: 1,
        most_rows: 64,
    };
    for device in kernel_devices(Schedule::Forward) {
        let wish = FormatRequest { values: ScalarType::F32, ..WISH };
        let operator = SparseOperator::with_layout("seen", matrix.clone(), &layout, wish, &device).unwrap();
        let x = vector(64, 0);
        let mut y: Vector<f64> = device.zeros(64).unwrap();
        operator.apply(&device.upload(&x).unwrap(), &mut y).unwrap();
        let exact = product(&matrix, &x);
        let worst =
            y.download().unwrap().iter().zip(&exact).map(|(y, (exact, _))| (y - exact).abs()).fold(0.0, f64::max);
        assert!(worst > 1e-9, "{worst:e}: the values were not stored in f32");
    }
}

#[test]
fn a_layout_that_does_not_fit_is_refused() {
    let far = Csr::new(vec![0, 2, 2, 2], vec![0, 2], vec![1.0; 2]).unwrap();
    let window = PartLayout { staged: 2, ..part(RowCut::End, StorageKind::Csr, ColumnWord::Absolute16, 1, 1) };
    let layout = |part| Layout { warp: Warp::default(), parts: vec![part], threads: 32, blocks: 1, most_rows: 32 };
    let stored = |part| Stored::new("far", &far, &layout(part), ScalarType::F64, ScalarType::F64);
    assert!(matches!(stored(window), Err(LayoutError::Window { row: 0, column: 2, first: 0, end: 2 })));
    let lanes = PartLayout { staged: 0, lanes: 3, ..window };
    assert!(
        stored(PartLayout { lanes: 64, ..lanes }).is_err()
            && stored(PartLayout { pack: 3, lanes: 1, ..lanes }).is_err()
    );
    let wide = random(70_000, 1, |row| if row == 9 { 2 } else { 0 });
    let narrow = layout(part(RowCut::End, StorageKind::Csr, ColumnWord::Delta16, 1, 1));
    let mut columns = vec![0u64; 70_001];
    columns[1..].fill(2);
    let apart = Csr::new(columns, vec![3, 69_000], vec![1.0; 2]).unwrap();
    let refused = Stored::new("apart", &apart, &narrow, ScalarType::F64, ScalarType::F64).unwrap_err();
    assert!(refused.to_string().contains("column 69000 does not fit 16 bits, counted from 3"), "{refused}");
    let absolute = layout(part(RowCut::End, StorageKind::Csr, ColumnWord::Absolute16, 1, 1));
    assert!(Stored::new("wide", &apart, &absolute, ScalarType::F64, ScalarType::F64).is_err());
    assert_eq!(wide.non_zeros(), 2);
}

/// Every plan's launches are as its text declares them.
#[test]
fn the_launches_are_those_of_the_text() {
    let matrix = random(301, 5, |row| 1 + row * row % 40);
    for (name, layout) in layouts() {
        let stored = Stored::new("declared", &matrix, &layout, ScalarType::F64, ScalarType::F64).unwrap();
        for vectors in [1, 5, 8] {
            let plan = stored.plan.with_vectors(vectors);
            let text = plan.text().unwrap();
            let launches = plan.launches().unwrap();
            assert_eq!(launches.iter().map(|launch| launch.entry.as_str()).collect::<Vec<_>>(), text.entries);
            for launch in &launches {
                let signature = Signature::read(&text.text, &launch.entry).unwrap();
                signature.check(launch).unwrap_or_else(|error| panic!("{name}: {error}"));
                assert_eq!(signature.threads, Some(launch.block), "{name}: {}", launch.entry);
            }
        }
    }
}

/// More than 2^32 non-zeros: starts and indices are 64 bits wide, and lengths are not cut.
#[test]
fn more_non_zeros_than_32_bits_count() {
    assert_eq!(start_word((1 << 32) - 5_000), IndexWord::U32);
    assert_eq!(start_word(u64::from(u32::MAX) + 1), IndexWord::U64);
    let matrix = random(96, 5, |_| 7);
    for (name, layout) in layouts().into_iter().filter(|(_, layout)| layout.parts.len() == 1) {
        let stored = Stored::new("many", &matrix, &layout, ScalarType::F64, ScalarType::F64).unwrap();
        let mut plan: SparsePlan = stored.plan;
        if matches!(plan.parts[0].storage, RowStorage::Ell { .. }) {
            continue;
        }
        plan.parts[0].packs = (1 << 32) + 5;
        plan.starts = start_word(plan.parts[0].packs);
        plan.check().unwrap();
        let text = plan.text().unwrap().text;
        assert!(text.contains("const u64* __restrict__ start_0") && text.contains("u64 begin = "), "{name}");
        assert!(text.contains("u64 k = begin") || text.contains("(i64)step * WARP"), "{name}");
        let wanted = plan.parts[0].stored();
        let launches = plan.launches().unwrap();
        let tables = &launches.iter().find(|launch| launch.entry == "multiply").unwrap().parameters;
        let length = |name: &str| {
            let found = tables.iter().find(|parameter| parameter.name == name).map(|parameter| parameter.kind);
            if let Some(ParameterKind::Memory { len, .. }) = found { len } else { 0 }
        };
        assert_eq!([length("values_0"), length("columns_0")], [wanted; 2], "{name}");
        assert!(tables.iter().any(|table| table.name == "start_0"
            && matches!(table.kind, ParameterKind::Memory { element: Element::U64, .. })));
    }
    // 64-bit starts, run: the same product.
    let layout = layouts().into_iter().find(|(name, _)| name.starts_with("Csr")).unwrap().1;
    for device in kernel_devices(Schedule::Forward) {
        let mut stored = Stored::new("wide_starts", &matrix, &layout, ScalarType::F64, ScalarType::F64).unwrap();
        stored.plan.starts = IndexWord::U64;
        let operator = SparseOperator::with_stored(&matrix, stored, &device).unwrap();
        check::<f64>(&operator, &matrix, 1, F64, "64-bit starts");
    }
}

#[test]
fn the_diagonal_and_the_bound_are_the_matrix_s() {
    let matrix = Arc::new(random(50, 11, |row| 1 + row % 20));
    let operator = SparseOperator::new("diagonal", matrix.clone(), WISH, &Device::cpu()).unwrap();
    let diagonal = LinearOperator::<f64>::diagonal(&operator).unwrap();
    let mut found = vec![f64::NAN; 30];
    (diagonal.host)(20, &mut found);
    assert!(found.iter().enumerate().all(|(k, value)| *value == matrix.element(20 + k, 20 + k as u32)));
    let bound = LinearOperator::<f64>::norm_bound(&operator);
    let mut random = Random::new(1);
    let x: Vec<f64> = (0..50).map(|_| random.number()).collect();
    let largest = |values: &mut dyn Iterator<Item = f64>| values.map(f64::abs).fold(0.0, f64::max);
    let y = largest(&mut product(&matrix, &x).into_iter().map(|(y, _)| y));
    assert!(y <= bound * largest(&mut x.iter().copied()) && bound < 21.0);
}
