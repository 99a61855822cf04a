//! A matrix on several cards, each of which collects the elements of x that its rows use: the bits of one card, and what is sent.

use super::matrices::{Random, product, random, vector};
use eigenforge::runtime::testing::teams;
use eigenforge::runtime::{Device, LinearOperator, Vector};
use eigenforge::sparse::{Csr, FormatRequest, Halo, Layout, PartLayout, RowCut, SparseOperator, StorageKind};
use eigenforge_templates::sparse::ColumnWord;
use eigenforge_templates::{ScalarType, Warp};
use std::sync::Arc;

const WISH: FormatRequest =
    FormatRequest { format: None, boundary: None, vectors: 1, scalar: ScalarType::F64, values: ScalarType::F64 };

/// A matrix whose row r has `length(r)` non-zeros near the diagonal, and `far(r)` anywhere.
fn near_the_diagonal(rows: usize, length: impl Fn(usize) -> usize, far: impl Fn(usize) -> usize) -> Csr {
    let mut random = Random::new(17);
    let (mut row_start, mut columns, mut values) = (vec![0u64], vec![], vec![]);
    for row in 0..rows {
        let mut own = std::collections::BTreeSet::new();
        (0..length(row)).for_each(|_| {
            own.insert((row + random.below(15) as usize).saturating_sub(7).min(rows - 1) as u32);
        });
        (0..far(row)).for_each(|_| {
            own.insert(random.below(rows as u64) as u32);
        });
        values.extend(own.iter().map(|_| random.number()));
        columns.extend(own);
        row_start.push(columns.len() as u64);
    }
    Csr::new(row_start, columns, values).unwrap()
}

fn layouts(rows: usize) -> Vec<(&'static str, Layout)> {
    use ColumnWord::{Absolute32, Delta16};
    let part = PartLayout::new;
    let window = PartLayout { staged: 37, ..part(RowCut::Column(37), StorageKind::SlicedEll, Absolute32, 4, 2) };
    let rest = PartLayout { first_column: 37, ..part(RowCut::End, StorageKind::Csr, Absolute32, 4, 1) };
    let ell = part(RowCut::Entries(3), StorageKind::Ell, Absolute32, 2, 2);
    let layout =
        |parts| Layout { warp: Warp::default(), parts, threads: 64, blocks: (rows / 60) as u32, most_rows: 128 };
    vec![
        ("rows", layout(vec![part(RowCut::End, StorageKind::Csr, Absolute32, 8, 1)])),
        ("slices", layout(vec![part(RowCut::End, StorageKind::SlicedEll, Absolute32, 2, 4)])),
        ("steps of columns", layout(vec![ell, part(RowCut::End, StorageKind::Csr, Delta16, 4, 1)])),
        ("a window and a rest", layout(vec![window, rest])),
    ]
}

/// y and x·y of some vectors.
fn multiplied(operator: &SparseOperator, vectors: usize) -> (Vec<Vec<f64>>, Vec<f64>) {
    let device = LinearOperator::<f64>::device(operator).clone();
    let rows = LinearOperator::<f64>::dimension(operator);
    let x: Vec<Vector<f64>> = (0..vectors).map(|v| device.upload(&vector(rows, v as u64)).unwrap()).collect();
    let mut y: Vec<Vector<f64>> = x.iter().map(|_| device.upload(&vec![f64::NAN; rows]).unwrap()).collect();
    let mut dots = Vec::new();
    // Twice: what was collected before is overwritten.
    for _ in 0..2 {
        dots = operator.apply_block(&x.iter().collect::<Vec<_>>(), &mut y).unwrap();
    }
    (y.iter().map(|y| y.download().unwrap()).collect(), dots)
}

#[test]
fn cards_collect_what_their_rows_use_and_find_the_bits_of_one() {
    for device in teams(&[3]) {
        // Vectors that are too short stay on one card.
        let rows = if device.is_cuda() { 700_000 } else { 401 };
        let cards = device.cards_at_work();
        let kinds = [
            ("a band with empty rows", near_the_diagonal(rows, |row| if row % 13 == 0 { 0 } else { 5 }, |_| 0), true),
            ("a row that uses much", near_the_diagonal(rows, |_| 4, |row| if row == 70 { 200 } else { 0 }), true),
            ("a few anywhere", near_the_diagonal(rows, |_| 3, |row| usize::from(row % 9 == 4)), true),
            ("many anywhere", random(rows, 3, |_| 20), false),
        ];
        for (kind, (name, matrix, lists)) in kinds.into_iter().enumerate() {
            let matrix = Arc::new(matrix);
            // Every layout, and every matrix.
            let turns = layouts(rows).into_iter().enumerate().skip((kind + cards as usize) % 4).step_by(4);
            for (number, (layout_name, layout)) in turns {
                let what = format!("{name}, {layout_name}, {}", device.name());
                let on = |device: &Device| {
                    let operator = SparseOperator::with_layout("halo", matrix.clone(), &layout, WISH, device);
                    operator.unwrap_or_else(|error| panic!("{what}: {error}"))
                };
                let operator = on(&device);
                let halo: &Halo = operator.halo().unwrap_or_else(|| panic!("{what}: no halo"));
                assert_eq!(halo.cards.len(), cards as usize);
                assert_eq!(halo.bytes() < 8 * halo.whole, lists, "{what}: {halo}");
                let vectors = [1, 3, 8, 2][number];
                let (y, dots) = multiplied(&operator, vectors);
                for (v, (y, dot)) in y.iter().zip(&dots).enumerate() {
                    let x = vector(rows, v as u64);
                    let exact = product(&matrix, &x);
                    for (row, (y, (exact, size))) in y.iter().zip(&exact).enumerate() {
                        assert!((y - exact).abs() <= 1e-13 * size, "{what}: row {row} is {y:e}, not {exact:e}");
                    }
                    let size: f64 = exact.iter().zip(&x).map(|((_, size), x)| x.abs() * size).sum();
                    let expected: f64 = exact.iter().zip(&x).map(|((y, _), x)| x * y).sum();
                    assert!((dot - expected).abs() <= 1e-13 * size, "{what}: {dot:e}, not {expected:e}");
                }
                // Cuts by column are elsewhere in a list, and so the parts of a row's sum.
                let by_columns = layout.parts.iter().any(|part| matches!(part.cut, RowCut::Column(_)));
                if !device.is_cuda() && !by_columns {
                    let alone = on(&Device::parse("sim").unwrap());
                    assert!(alone.halo().is_none());
                    assert!(multiplied(&alone, vectors) == (y, dots), "{what}: other bits");
                }
            }
        }
    }
}
