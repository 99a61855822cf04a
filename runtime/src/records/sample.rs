//! y = H x for the tests of this folder, in the shape of a superblock of DMRG: blocks of y, some with intermediates of their
//! own, operands in every space, straight and transposed.

use super::{Action, Buffers, Operand, OperandSpace, Record, RecordGroup, RecordStage, TwoStages};
use crate::seeded::vector;

/// Elements of each space of operators.
const OPERATORS: usize = 20_000;

/// As many sectors, of up to `most` rows and columns, with the operators that the records read, by space.
pub(super) fn sample(sectors: usize, most: usize, seed: u64) -> (TwoStages, Vec<(OperandSpace, Vec<f64>)>) {
    let random = vector(100 * sectors, seed);
    let mut next = random.iter();
    let mut below = |most: usize| ((next.next().unwrap().abs() * most as f64) as usize).min(most - 1);
    let (mut first, mut second) = (RecordStage::default(), RecordStage::default());
    let sizes: Vec<[usize; 2]> = (0..sectors).map(|_| [0; 2].map(|_| most / 3 + below(most - most / 3))).collect();
    let starts = sizes.iter().scan(0, |end, [rows, columns]| {
        *end += rows * columns;
        Some(*end - rows * columns)
    });
    let starts: Vec<usize> = starts.collect();
    for [rows, columns] in &sizes {
        let (rows, columns) = (*rows, *columns);
        let mut records = Vec::new();
        let matrix = |space, rows: usize, columns: usize, below: &mut dyn FnMut(usize) -> usize| {
            let transposed = below(2) == 0;
            let (down, across) = if transposed { (columns, rows) } else { (rows, columns) };
            let stride = down + below(3);
            let offset = below(OPERATORS - stride * across);
            Operand { space, offset, stride, transposed }
        };
        for term in 0..3 {
            let from = below(sectors);
            let [inner, width] = sizes[from];
            let x = Operand { space: OperandSpace::Input, offset: starts[from], stride: inner, transposed: false };
            let (left, right) = match below(2) {
                0 => (OperandSpace::Left, OperandSpace::Right),
                _ => (OperandSpace::LeftSum, OperandSpace::RightSum),
            };
            let b = Operand { space: OperandSpace::Between, offset: first.length, stride: rows, transposed: false };
            let product = |a, b, inner, columns| Record {
                action: Action::Product { a, b, inner },
                coefficient: 0.7,
                first: 0,
                stride: rows,
                rows,
                columns,
            };
            if term == 0 {
                // One product straight from x.
                let columns = columns.min(width);
                records.push(product(matrix(left, rows, inner, &mut below), x, inner, columns));
                continue;
            }
            // A x, and then (A x) B.
            let made = product(matrix(left, rows, inner, &mut below), x, inner, width);
            first.groups.push(RecordGroup { offset: first.length, length: rows * width, records: vec![made] });
            first.length += rows * width;
            records.push(product(b, matrix(right, width, columns, &mut below), width, columns));
        }
        second.groups.push(RecordGroup { offset: second.length, length: rows * columns, records });
        second.length += rows * columns;
    }
    let spaces = [OperandSpace::Left, OperandSpace::LeftSum, OperandSpace::Right, OperandSpace::RightSum];
    let data = |(k, space): (u64, OperandSpace)| (space, vector(OPERATORS, seed + 100 + k));
    (TwoStages { first, second }, (0..).zip(spaces).map(data).collect())
}

/// The operators as records on the CPU read them.
pub(super) fn buffers(data: &[(OperandSpace, Vec<f64>)]) -> Buffers<'_> {
    data.iter().fold(Buffers::default(), |buffers, (space, data)| buffers.set(*space, data))
}

/// Largest difference over the largest element.
pub(super) fn difference(found: &[f64], expected: &[f64]) -> f64 {
    let largest = expected.iter().fold(0.0f64, |most, x| most.max(x.abs()));
    let apart = found.iter().zip(expected).map(|(x, y)| (x - y).abs());
    assert!(found.len() == expected.len() && largest > 0.0 && found.iter().all(|x| x.is_finite()));
    apart.fold(0.0, f64::max) / largest
}
