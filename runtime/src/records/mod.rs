//! Operation records: products and copies of matrices as plain data, every step of DMRG for one.
//!
//! A [`Record`] is one product C += c · A B of column-major matrices at fixed places, or one scaled copy of a part of a
//! matrix. The paper's record of (A X) Bᵀ (Nemes et al. 2014, Algorithms 5–7: A, X, B, Y, sizes, coefficient, order)
//! becomes two of them with an intermediate; if A or B is an identity it becomes one, or a copy. The records of one
//! output block form a [`RecordGroup`], computed in order by one task, so no two tasks write to one place and a repeated
//! run gives the same bits; the groups of a [`RecordStage`] are independent, and stages follow each other.
//!
//! Buffers are named by [`OperandSpace`], so the same list of records works for host and device buffers.
//!
//! | file | question it answers |
//! |---|---|
//! | `assembly.rs` | many matrices of one shape side by side, each a sum of others |
//! | `stages.rs` | y = H x as two stages |
//! | `strategy.rs` | how y = H x runs on a card |
//! | `split.rs` | which records the CPU runs beside a card |
//! | `cards.rs` | which blocks of y = H x each of several cards computes |
//! | [`card`] | a stage in one launch, or by cuBLAS; y = H x on a card |

mod assembly;
pub mod card;
mod cards;
#[cfg(test)]
mod sample;
mod split;
mod stages;
mod strategy;

pub use assembly::{AssembledPart, Assembly, AssemblyLists, AssemblyTerm, IDENTITY};
pub(crate) use cards::{CardShare, CardShares};
#[doc(hidden)]
pub use split::CpuShare;
pub(crate) use split::Split;
pub use stages::TwoStages;
#[doc(hidden)]
pub use strategy::Strategy;

use crate::dense::{View, multiply_add};
use rayon::prelude::*;

/// The buffer of an operand, by what it holds in y = H x.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandSpace {
    /// Operators of the left block.
    Left,
    /// Summed operators of the enlarged left block.
    LeftSum,
    /// Operators of the right block.
    Right,
    /// Summed operators of the enlarged right block.
    RightSum,
    /// The vector that is multiplied, or the states onto which a block is projected.
    Input,
    /// Intermediate products.
    Between,
}

/// Number of spaces.
pub const SPACES: usize = 6;
/// All of them.
pub const SPACE_LIST: [OperandSpace; SPACES] = [
    OperandSpace::Left,
    OperandSpace::LeftSum,
    OperandSpace::Right,
    OperandSpace::RightSum,
    OperandSpace::Input,
    OperandSpace::Between,
];

/// A matrix in a buffer, column-major.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Operand {
    /// Which buffer.
    pub space: OperandSpace,
    /// Its first element.
    pub offset: usize,
    /// Elements from one column to the next.
    pub stride: usize,
    /// Whether the transpose is meant.
    pub transposed: bool,
}

/// What a record does to its output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// C += c A B with A of `rows` × `inner`, B of `inner` × `columns`.
    Product {
        /// A.
        a: Operand,
        /// B.
        b: Operand,
        /// Length of the sum.
        inner: usize,
    },
    /// C += c A.
    Copy {
        /// A.
        a: Operand,
    },
    /// C += c 1.
    Diagonal,
}

/// One operation on a part of a group's output block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Record {
    /// The operation.
    pub action: Action,
    /// c.
    pub coefficient: f64,
    /// First element of the part, from the start of the group's output.
    pub first: usize,
    /// Elements from one column to the next.
    pub stride: usize,
    /// Rows of the part.
    pub rows: usize,
    /// Columns of the part.
    pub columns: usize,
}

impl Record {
    /// a · b, all of a block of `rows` × `columns`.
    pub fn product(a: Operand, b: Operand, inner: usize, [rows, columns]: [usize; 2]) -> Record {
        Record { action: Action::Product { a, b, inner }, coefficient: 1.0, first: 0, stride: rows, rows, columns }
    }

    /// Floating-point operations.
    pub fn flops(&self) -> f64 {
        let area = (self.rows * self.columns) as f64;
        match self.action {
            Action::Product { inner, .. } => 2.0 * area * inner as f64,
            Action::Copy { .. } => 2.0 * area,
            Action::Diagonal => self.rows as f64,
        }
    }
}

/// The records of one output block.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct RecordGroup {
    /// First element of the block in the output buffer.
    pub offset: usize,
    /// Elements of the block.
    pub length: usize,
    /// In the order in which they are added.
    pub records: Vec<Record>,
}

/// Independent groups that fill one buffer; offsets ascending.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct RecordStage {
    /// The groups.
    pub groups: Vec<RecordGroup>,
    /// Length of the output buffer.
    pub length: usize,
}

impl RecordStage {
    /// Floating-point operations.
    pub fn flops(&self) -> f64 {
        // Not `sum`, whose empty sum of floats is −0.
        self.groups.iter().flat_map(|group| &group.records).fold(0.0, |sum, record| sum + record.flops())
    }

    /// Appends a group of `length` elements; returns its first element.
    pub fn push(&mut self, length: usize, records: Vec<Record>) -> usize {
        let offset = self.length;
        self.groups.push(RecordGroup { offset, length, records });
        self.length += length;
        offset
    }

    /// Number of records that are products, and number that are copies.
    pub fn counts(&self) -> (usize, usize) {
        let records = || self.groups.iter().flat_map(|group| &group.records);
        let products = records().filter(|record| matches!(record.action, Action::Product { .. })).count();
        (products, records().count() - products)
    }
}

/// The buffers that records read.
#[derive(Clone, Copy, Default)]
pub struct Buffers<'a> {
    slices: [&'a [f64]; SPACES],
}

impl<'a> Buffers<'a> {
    /// Sets the buffer of a space.
    pub fn set(mut self, space: OperandSpace, data: &'a [f64]) -> Buffers<'a> {
        self.slices[space as usize] = data;
        self
    }

    fn view(&self, operand: Operand, rows: usize, columns: usize) -> View<'a> {
        let (rows, columns) = if operand.transposed { (columns, rows) } else { (rows, columns) };
        let data = &self.slices[operand.space as usize][operand.offset..];
        View { data, rows, columns, stride: operand.stride, transposed: operand.transposed }
    }
}

/// Below this many operations a stage is not worth waking other threads for.
const SEQUENTIAL_FLOPS: f64 = 2e5;

/// Runs a stage on the CPU: every block of the output is the sum of its group's records; everything else is zero.
pub fn run(stage: &RecordStage, buffers: Buffers<'_>, output: &mut [f64]) {
    let mut tasks = Vec::with_capacity(stage.groups.len());
    each_block(stage, output, |group, block| tasks.push((group, block)));
    let add = |(group, block): (&RecordGroup, &mut [f64])| {
        block.fill(0.0);
        group.records.iter().for_each(|r| r.add(buffers, block));
    };
    if stage.flops() < SEQUENTIAL_FLOPS || rayon::current_num_threads() == 1 {
        tasks.into_iter().for_each(add);
    } else {
        tasks.into_par_iter().with_max_len(1).for_each(add);
    }
}

/// Visits the blocks of the output; what lies between them becomes zero.
fn each_block<'s, 'o>(
    stage: &'s RecordStage,
    output: &'o mut [f64],
    mut visit: impl FnMut(&'s RecordGroup, &'o mut [f64]),
) {
    let (mut rest, mut at) = (output, 0);
    for group in &stage.groups {
        let (gap, from_here) = rest.split_at_mut(group.offset - at);
        gap.fill(0.0);
        let (block, behind) = from_here.split_at_mut(group.length);
        visit(group, block);
        (rest, at) = (behind, group.offset + group.length);
    }
    rest.fill(0.0);
}

impl Record {
    fn add(&self, buffers: Buffers<'_>, block: &mut [f64]) {
        let part = &mut block[self.first..];
        match self.action {
            Action::Product { a, b, inner } => {
                let (a, b) = (buffers.view(a, self.rows, inner), buffers.view(b, inner, self.columns));
                multiply_add(part, self.rows, self.columns, self.stride, self.coefficient, a, b);
            }
            Action::Diagonal => {
                part.iter_mut().step_by(self.stride + 1).take(self.rows).for_each(|x| *x += self.coefficient)
            }
            Action::Copy { a } => {
                let from = &buffers.slices[a.space as usize][a.offset..];
                for column in 0..self.columns {
                    let to = &mut part[column * self.stride..][..self.rows];
                    if a.transposed {
                        let along = from[column..].iter().step_by(a.stride);
                        to.iter_mut().zip(along).for_each(|(to, from)| *to += self.coefficient * from);
                    } else {
                        let along = &from[column * a.stride..][..self.rows];
                        to.iter_mut().zip(along).for_each(|(to, from)| *to += self.coefficient * from);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeded::vector;

    /// Element (row, column) of an operand.
    fn element(data: &[f64], operand: Operand, row: usize, column: usize) -> f64 {
        let (row, column) = if operand.transposed { (column, row) } else { (row, column) };
        data[operand.offset + row + column * operand.stride]
    }

    fn naive(record: &Record, left: &[f64], input: &[f64], row: usize, column: usize) -> f64 {
        let data = |operand: Operand| if operand.space == OperandSpace::Left { left } else { input };
        record.coefficient
            * match record.action {
                Action::Product { a, b, inner } => {
                    (0..inner).map(|k| element(data(a), a, row, k) * element(data(b), b, k, column)).sum()
                }
                Action::Copy { a } => element(data(a), a, row, column),
                Action::Diagonal => f64::from(u8::from(row == column)),
            }
    }

    #[test]
    fn groups_add_their_records_up_and_leave_nothing_of_what_was_there() {
        let (left, input) = (vector(400, 3), vector(900, 4));
        let operand = |space, offset, stride, transposed| Operand { space, offset, stride, transposed };
        let (a, x) = (operand(OperandSpace::Left, 7, 9, false), operand(OperandSpace::Input, 5, 11, false));
        let turned = |operand: Operand| Operand { transposed: true, ..operand };
        let record = |action, coefficient, first, rows, columns| Record {
            action,
            coefficient,
            first,
            stride: 10,
            rows,
            columns,
        };
        let records = vec![
            record(Action::Product { a, b: x, inner: 6 }, 0.5, 0, 8, 7),
            record(Action::Product { a: turned(a), b: turned(x), inner: 7 }, -1.5, 11, 9, 5),
            record(Action::Copy { a: x }, 2.0, 2, 8, 7),
            record(Action::Copy { a: turned(x) }, 3.0, 20, 7, 4),
            record(Action::Diagonal, 0.25, 30, 5, 5),
        ];
        // Two groups with a gap between them and behind them: 80 elements each.
        let group = |offset| RecordGroup { offset, length: 80, records: records.clone() };
        let stage = RecordStage { groups: vec![group(3), group(90)], length: 180 };
        let mut expected = vec![0.0; 180];
        for group in &stage.groups {
            for record in &group.records {
                for (row, column) in (0..record.rows).flat_map(|row| (0..record.columns).map(move |c| (row, c))) {
                    let at = group.offset + record.first + row + column * record.stride;
                    expected[at] += naive(record, &left, &input, row, column);
                }
            }
        }
        let mut found = vec![f64::NAN; 180];
        run(&stage, Buffers::default().set(OperandSpace::Left, &left).set(OperandSpace::Input, &input), &mut found);
        for (found, expected) in found.iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-13, "{found} is not {expected}");
        }
        assert_eq!(stage.counts(), (4, 6));
        assert_eq!(stage.flops(), 2.0 * (2.0 * 56.0 * 6.0 + 2.0 * 45.0 * 7.0 + 2.0 * 56.0 + 2.0 * 28.0 + 5.0));
    }
}
