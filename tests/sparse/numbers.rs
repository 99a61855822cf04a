//! Complex numbers and quaternions in every format, on the cores and by the generated text, against their real image.

use super::formats::{F64, WISH, check, layouts, layouts_of_several};
use super::matrices::{product, random, real_image, shapes, times, vector, with_numbers};
use eigenforge::runtime::simulate::Schedule;
use eigenforge::runtime::testing::{kernel_devices, teams};
use eigenforge::runtime::{Device, LinearOperator, Vector};
use eigenforge::sparse::{
    Csr, FormatName, FormatRanking, FormatRequest, Layout, LayoutError, NumberKind, RowStatistics, SparseOperator,
    Stored, Target,
};
use eigenforge_templates::ScalarType;
use eigenforge_templates::sparse::ColumnWord;
use std::sync::Arc;

const KINDS: [NumberKind; 2] = [NumberKind::Complex, NumberKind::Quaternion];

fn multiplied(operator: &SparseOperator, x: &[f64]) -> Vec<f64> {
    let device = LinearOperator::<f64>::device(operator).clone();
    let mut y: Vector<f64> = device.upload(&vec![f64::NAN; x.len()]).unwrap();
    operator.multiply(&device.upload(x).unwrap(), &mut y).unwrap();
    y.download().unwrap()
}

fn with_layout(matrix: &Csr, layout: &Layout, device: &Device) -> SparseOperator {
    SparseOperator::with_layout("numbers", Arc::new(matrix.clone()), layout, WISH, device)
        .unwrap_or_else(|error| panic!("{}: {error}", matrix.kind()))
}

/// The same with codes in place of values.
fn coded(layout: &Layout) -> Layout {
    let mut layout = layout.clone();
    layout.parts.iter_mut().for_each(|part| part.columns = ColumnWord::Coded32);
    layout
}

#[test]
fn the_cpu_multiplies_every_shape_and_kind() {
    for kind in KINDS {
        for (name, places) in shapes(31) {
            let matrix = with_numbers(&places, kind, 5, None);
            let (image, what) = (real_image(&matrix), format!("{kind} {name}"));
            let operator = SparseOperator::new(name, Arc::new(matrix), WISH, &Device::cpu()).unwrap();
            for vectors in [1, 2, 11] {
                check::<f64>(&operator, &image, vectors, F64, &what);
                check::<f32>(&operator, &image, vectors, F64, &what);
            }
        }
        // More than one task, and the same bits whatever the number of threads.
        let places = random(9_000, 9, |row| if row == 5 { 9_000 } else { row % 11 });
        let matrix = with_numbers(&places, kind, 6, None);
        let operator = SparseOperator::new("tasks", Arc::new(matrix.clone()), WISH, &Device::cpu()).unwrap();
        check::<f64>(&operator, &real_image(&matrix), 1, F64, "tasks");
        let dot = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let length = matrix.vector_length();
                let x: Vector<f64> = Device::cpu().upload(&vector(length, 3)).unwrap();
                let mut y = Device::cpu().zeros(length).unwrap();
                operator.apply(&x, &mut y).unwrap().to_bits()
            })
        };
        assert_eq!(dot(1), dot(5));
    }
}

#[test]
fn the_choice_of_every_format_multiplies_numbers() {
    let formats = [None, Some(FormatName::Hybrid), Some(FormatName::Csr), Some(FormatName::SlicedEll)];
    for device in kernel_devices(Schedule::Random { seed: 4 }) {
        for (turn, kind) in KINDS.into_iter().enumerate() {
            for (number, (name, places)) in shapes(40).into_iter().enumerate() {
                let matrix = with_numbers(&places, kind, 7, None);
                let wish = FormatRequest { format: formats[(number + turn) % 4], ..WISH };
                let ranking = FormatRanking::new(&matrix, &RowStatistics::new(&matrix), Target::H200, wish);
                let operator = with_layout(&matrix, &ranking.best().layout, &device);
                check::<f64>(&operator, &real_image(&matrix), 1, F64, &format!("{kind} {name}: {}", ranking.reason));
            }
        }
    }
}

/// Every layout with values and with codes, which give the same bits; the kinds take turns.
#[test]
fn every_layout_multiplies_numbers() {
    let places = random(301, 5, |row| if row % 13 == 0 { 0 } else { 1 + row * row % 40 });
    let kinds = [NumberKind::Quaternion, NumberKind::Complex, NumberKind::Real];
    let matrices = kinds.map(|kind| with_numbers(&places, kind, 8, Some(7)));
    let images = matrices.each_ref().map(real_image);
    for device in kernel_devices(Schedule::Reverse) {
        for (turn, (name, layout)) in layouts().into_iter().enumerate() {
            let kind = turn % 3;
            let what = format!("{}, {name}", kinds[kind]);
            let of_codes = with_layout(&matrices[kind], &coded(&layout), &device);
            assert_eq!(of_codes.plan().unwrap().dictionary.unwrap().numbers, 8);
            if turn % 2 == 0 || kinds[kind].is_real() {
                check::<f64>(&of_codes, &images[kind], 1, F64, &format!("{what}, with codes"));
                continue;
            }
            let of_values = with_layout(&matrices[kind], &layout, &device);
            check::<f64>(&of_values, &images[kind], 1, F64, &what);
            let absolute = layout.parts.iter().all(|part| part.columns != ColumnWord::Delta16);
            let x = vector(images[kind].rows(), 12);
            if absolute {
                assert_eq!(multiplied(&of_values, &x), multiplied(&of_codes, &x), "{what}");
            }
        }
    }
}

#[test]
fn several_vectors_of_numbers_read_the_matrix_once() {
    let places = random(101, 6, |row| if row % 19 == 3 { 0 } else { 2 + row % 17 });
    for device in kernel_devices(Schedule::Forward) {
        for (turn, (name, layout)) in layouts_of_several().into_iter().enumerate().step_by(4) {
            let kind = KINDS[turn / 4 % 2];
            let matrix = with_numbers(&places, kind, 9, None);
            let vectors = [[4, 3, 2, 5], [2, 3, 2, 2]][turn / 4 % 2][turn / 8 % 4];
            let operator = with_layout(&matrix, &layout, &device);
            check::<f64>(&operator, &real_image(&matrix), vectors, F64, &format!("{vectors} of {kind}, {name}"));
        }
    }
}

#[test]
fn single_precision_of_numbers_is_that_of_what_is_stored() {
    let places = random(140, 7, |row| row % 30);
    let layouts = layouts();
    for device in kernel_devices(Schedule::Forward) {
        for (kind, values) in
            [(NumberKind::Complex, None), (NumberKind::Quaternion, None), (NumberKind::Quaternion, Some(5))]
        {
            let matrix = with_numbers(&places, kind, 10, values);
            let (_, layout) = layouts.iter().find(|(name, _)| name.starts_with("Csr Absolute32")).unwrap();
            let layout = if values.is_some() { coded(layout) } else { layout.clone() };
            let image = real_image(&matrix);
            let matrix = Arc::new(matrix);
            for scalar in [ScalarType::F64, ScalarType::F32] {
                let wish = FormatRequest { values: ScalarType::F32, scalar, ..WISH };
                let operator = SparseOperator::with_layout("single", matrix.clone(), &layout, wish, &device).unwrap();
                match scalar {
                    ScalarType::F64 => check::<f64>(&operator, &image, 1, 6e-8, "f32 values"),
                    ScalarType::F32 => check::<f32>(&operator, &image, 1, 6e-8, "f32 throughout"),
                }
            }
        }
    }
}

/// A (v q) = (A v) q: numbers of vectors are multiplied from the right.
#[test]
fn multiples_from_the_right_stay_multiples() {
    let matrix = with_numbers(&random(60, 3, |row| row % 9), NumberKind::Quaternion, 11, None);
    let q = [0.5, -1.5, 2.0, 0.25];
    let right = |x: &[f64]| -> Vec<f64> { x.as_chunks::<4>().0.iter().flat_map(|x| times(*x, q)).collect() };
    for device in [Device::cpu()].into_iter().chain(kernel_devices(Schedule::Forward)) {
        let operator = SparseOperator::new("right", Arc::new(matrix.clone()), WISH, &device).unwrap();
        let v = vector(240, 4);
        let (of_multiple, multiple) = (multiplied(&operator, &right(&v)), right(&multiplied(&operator, &v)));
        for (found, expected) in of_multiple.iter().zip(&multiple) {
            assert!((found - expected).abs() < 1e-12, "{found:e} instead of {expected:e}");
        }
    }
}

/// χ(a + b i + c j + d k) = (a + b i, c + d i; −c + d i, a − b i) (as in csf_quaternions, Hamilton): the first column of χ(x) is (x₀, −x₁*).
#[test]
fn the_complex_image_of_a_quaternion_matrix_does_the_same() {
    let matrix = with_numbers(&random(50, 3, |row| row % 9), NumberKind::Quaternion, 11, None);
    let image = eigenforge_benches::numbers::complex_image(&matrix).unwrap();
    assert_eq!((image.rows(), image.non_zeros(), image.kind()), (100, 4 * matrix.non_zeros(), NumberKind::Complex));
    let column =
        |x: &[f64]| -> Vec<f64> { x.as_chunks::<4>().0.iter().flat_map(|[a, b, c, d]| [*a, *b, -*c, *d]).collect() };
    let x = vector(200, 4);
    let on = |matrix: Csr, x: &[f64]| {
        multiplied(&SparseOperator::new("chi", Arc::new(matrix), WISH, &Device::cpu()).unwrap(), x)
    };
    for (found, expected) in on(image, &column(&x)).iter().zip(column(&on(matrix, &x))) {
        assert!((found - expected).abs() < 1e-12, "{found:e} instead of {expected:e}");
    }
}

#[test]
fn quaternions_without_two_parts_are_complex_numbers() {
    let complex = with_numbers(&random(80, 3, |row| row % 9), NumberKind::Complex, 11, None);
    let quaternion = complex.clone().with_parts_of(NumberKind::Quaternion);
    let x = vector(160, 4);
    let widened: Vec<f64> = x.as_chunks::<2>().0.iter().flat_map(|[re, im]| [*re, *im, 0.0, 0.0]).collect();
    let layout = layouts().swap_remove(0).1;
    for device in [Device::cpu()].into_iter().chain(kernel_devices(Schedule::Forward)) {
        let narrow = multiplied(&with_layout(&complex, &layout, &device), &x);
        let wide = multiplied(&with_layout(&quaternion, &layout, &device), &widened);
        for (wide, narrow) in wide.as_chunks::<4>().0.iter().zip(narrow.as_chunks::<2>().0) {
            assert!((wide[0] - narrow[0]).abs() < 1e-14 && (wide[1] - narrow[1]).abs() < 1e-14);
            assert_eq!(wide[2..], [0.0, 0.0]);
        }
    }
}

/// An infinite part of x stays in the rows that read it.
#[test]
fn an_infinite_number_stays_in_its_rows() {
    let places = random(101, 6, |row| if row % 19 == 3 { 0 } else { 2 + row % 17 });
    let devices: Vec<Device> = [Device::cpu()].into_iter().chain(kernel_devices(Schedule::Forward)).collect();
    for (kind, (_, layout)) in KINDS.into_iter().zip(layouts().into_iter().skip(1).step_by(7)) {
        let matrix = with_numbers(&places, kind, 9, Some(3));
        let mut x = vector(matrix.vector_length(), 3);
        x[37 * kind.parts() + 1] = f64::INFINITY;
        let exact = product(&real_image(&matrix), &vector(matrix.vector_length(), 3));
        for device in &devices {
            for layout in [layout.clone(), coded(&layout)] {
                let y = multiplied(&with_layout(&matrix, &layout, device), &x);
                for (at, y) in y.iter().enumerate() {
                    let reads = matrix.row(at / kind.parts()).0.contains(&37);
                    let close = (y - exact[at].0).abs() <= F64 * exact[at].1;
                    assert!(
                        if reads { !y.is_finite() } else { close },
                        "{kind} {}: element {at} is {y}",
                        device.name()
                    );
                }
            }
        }
    }
}

/// Several cards collect the numbers that their rows use, and find the bits of one.
#[test]
fn cards_collect_numbers() {
    for device in teams(&[3]).into_iter().filter(|device| !device.is_cuda()) {
        let near = random(401, 7, |row| if row % 13 == 0 { 0 } else { 3 });
        for (turn, kind) in KINDS.into_iter().enumerate() {
            let matrix = with_numbers(&near, kind, 12, Some(6));
            for (layout, vectors) in [(layouts().swap_remove(7 + turn).1, 1), (layouts().swap_remove(3 + turn).1, 2)] {
                let layout = Layout { blocks: 7, ..if vectors == 1 { coded(&layout) } else { layout } };
                let operator = with_layout(&matrix, &layout, &device);
                assert!(operator.halo().is_some());
                check::<f64>(&operator, &real_image(&matrix), vectors, F64, &format!("{kind} on {}", device.name()));
                let alone = with_layout(&matrix, &layout, &Device::parse("sim").unwrap());
                let x = vector(matrix.vector_length(), 1);
                assert_eq!(multiplied(&operator, &x), multiplied(&alone, &x), "{kind}: other bits");
            }
        }
    }
}

/// A large matrix of few values is stored with codes, one of random values with its values; bytes are those of the tables.
#[test]
fn few_values_have_codes() {
    let places = random(200_000, 3, |row| 6 + row % 5);
    let wish = FormatRequest::default();
    let best =
        |matrix: &Csr| FormatRanking::new(matrix, &RowStatistics::new(matrix), Target::H200, wish).best().clone();
    let complex = |values| with_numbers(&places, NumberKind::Complex, 13, values);
    let (few, many) = (best(&complex(Some(100))), best(&complex(None)));
    let has_codes = |layout: &Layout| layout.parts.iter().all(|part| part.columns == ColumnWord::Coded32);
    assert!(has_codes(&few.layout) && !has_codes(&many.layout));
    assert!(few.bytes < 6 * places.non_zeros() && few.milliseconds < many.milliseconds, "{few:?} {many:?}");
    assert!(many.bytes >= 18 * places.non_zeros(), "{many:?}");
}

#[test]
fn what_numbers_do_not_have_is_refused() {
    let matrix = with_numbers(&random(40, 3, |_| 4), NumberKind::Complex, 14, None);
    let half = FormatRequest { format: Some(FormatName::Symmetric), ..WISH };
    let refused =
        |device: &Device| SparseOperator::new("half", Arc::new(matrix.clone()), half, device).map(drop).unwrap_err();
    for device in [Device::cpu()].into_iter().chain(kernel_devices(Schedule::Forward)) {
        let text = refused(&device).to_string();
        assert!(text.contains("this one has complex numbers"), "{text}");
    }
    let many = with_numbers(&random(400, 3, |_| 4), NumberKind::Complex, 14, None);
    let layout = coded(&layouts()[0].1);
    let error = Stored::new("many", &many, &layout, ScalarType::F64, ScalarType::F64).unwrap_err();
    assert_eq!(error, LayoutError::ManyValues);
    let stored = Stored::new("few", &matrix, &layouts()[0].1, ScalarType::F64, ScalarType::F64).unwrap();
    assert!(stored.plan.with_vectors(5).check().unwrap_err().to_string().contains("at most 4 of complex"));
}
