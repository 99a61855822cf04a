//! H of two enlarged blocks as operation records: y = Σ_b A_b x B_bᵀ.
//!
//! In: the operators of both enlarged blocks. Out: at most two stages. If A_b or B_b is an identity (whole, or placed by
//! a matrix element of a site) a term is one product or one copy, straight from x to y; if both are dense, an
//! intermediate A x or x Bᵀ, whichever costs fewer operations, is computed first and used for every piece of the other
//! operator. Operators that stand [side by side](super::bundled) are one term. All records of one sector of y form one group.

use super::blocks::{PairedSector, WaveLayout};
use super::bundled::SideBySide;
use super::enlarged::{EnlargedOperators, OperatorBlock, Piece};
use super::projection::{onto_columns, onto_rows};
use eigenforge_runtime::records::{Action, Operand, OperandSpace, Record, RecordGroup, RecordStage, TwoStages};

/// A sector of x or y, or an intermediate, as records address it.
#[derive(Clone, Copy)]
struct Place {
    space: OperandSpace,
    offset: usize,
    rows: usize,
    /// Elements from one column to the next.
    stride: usize,
}

impl Place {
    /// An intermediate, with even strides as a card's accelerator needs them.
    fn between(offset: usize, rows: usize) -> Place {
        Place { space: OperandSpace::Between, offset, rows, stride: rows.next_multiple_of(2) }
    }

    fn operand(self, row: usize, column: usize) -> Operand {
        let offset = self.offset + row + column * self.stride;
        Operand { space: self.space, offset, stride: self.stride, transposed: false }
    }
}

/// Plans the product for the operators of both sides of a cut.
pub fn superblock<A, B>(left: &EnlargedOperators<A>, right: &EnlargedOperators<B>, layout: &WaveLayout) -> TwoStages {
    let mut first = RecordStage::default();
    let block_of = |s: &PairedSector| RecordGroup { offset: s.offset, length: s.rows * s.columns, records: Vec::new() };
    let mut second = RecordStage { groups: layout.sectors.iter().map(block_of).collect(), length: layout.length };
    // Sector by sector, so that what cores read of the records follows each other.
    for (own, sector) in layout.sectors.iter().enumerate() {
        for (group, operators) in left.groups.iter().enumerate() {
            let (of_left, of_right) = (&left.blocks[operators[0]], &right.blocks[operators[0]]);
            let (Some(a), Some(b)) = (&of_left[sector.left], &of_right[sector.right]) else { continue };
            let Some(target) = layout.of_left(a.row) else { continue };
            if operators.len() > 1 {
                let (of_a, of_b) = (left.side_by_side(group, sector.left), right.side_by_side(group, sector.right));
                let (x, y, count) = (layout.sectors[target], *sector, operators.len());
                TermsSideBySide { of_a, of_b, x, y, count }.records(&mut first, &mut second.groups[own].records);
                continue;
            }
            let x = Place { space: OperandSpace::Input, offset: sector.offset, rows: sector.rows, stride: sector.rows };
            let (rows, columns) = (layout.sectors[target].rows, layout.sectors[target].columns);
            let term = TermOfSectors { a, b, x, columns_in: sector.columns, rows, columns };
            term.records(&mut first, &mut second.groups[target].records);
        }
    }
    TwoStages { first, second }
}

/// Σ_k A_kᵀ x B_k from one sector of the wave function to another, which is Σ_k A_k x B_kᵀ because H is symmetric. In this order the
/// parts of the operators that come first fill one intermediate, and the others multiply it at once.
struct TermsSideBySide<A, B> {
    of_a: A,
    of_b: B,
    /// The sector of x: the states that A and B map to.
    x: PairedSector,
    /// The sector of y: the states that they map from.
    y: PairedSector,
    /// How many operators.
    count: usize,
}

impl<A: Iterator<Item = SideBySide> + Clone, B: Iterator<Item = SideBySide> + Clone> TermsSideBySide<A, B> {
    fn records(self, first: &mut RecordStage, out: &mut Vec<Record>) {
        // Operations of either order, in units of 2 K.
        let area = |of: SideBySide| of.rows * of.columns;
        let (area_a, area_b) = (self.of_a.clone().map(area).sum::<usize>(), self.of_b.clone().map(area).sum::<usize>());
        let left_first = self.x.columns * area_a + self.y.rows * area_b;
        let right_first = self.x.rows * area_b + self.y.columns * area_a;
        if left_first <= right_first { self.by_left(first, out) } else { self.by_right(first, out) }
    }

    /// z = xᵀ A_k for the rows of each part of B, as columns k + K·column; y += zᵀ B.
    fn by_left(self, first: &mut RecordStage, out: &mut Vec<Record>) {
        let TermsSideBySide { of_a, of_b, x, y, count } = self;
        for b in of_b {
            let product = |a: SideBySide| {
                let offset = x.offset + a.first_row + b.first_row * x.rows;
                let input = Operand { space: OperandSpace::Input, offset, stride: x.rows, transposed: true };
                let record = Record::product(input, a.abreast(), a.rows, [b.rows, count * a.columns]);
                Record { coefficient: a.coefficient, first: b.rows * count * a.first_column, ..record }
            };
            let offset = first.push(b.rows * count * y.rows, of_a.clone().map(product).collect());
            let z = Operand { space: OperandSpace::Between, offset, stride: b.rows * count, transposed: true };
            let record = Record::product(z, b.stacked(), b.rows * count, [y.rows, b.columns]);
            out.push(Record { coefficient: b.coefficient, first: b.first_column * y.rows, ..record });
        }
    }

    /// z = x B_k for the rows of each part of A, as columns k + K·column; y += Aᵀ z.
    fn by_right(self, first: &mut RecordStage, out: &mut Vec<Record>) {
        let TermsSideBySide { of_a, of_b, x, y, count } = self;
        for a in of_a {
            let product = |b: SideBySide| {
                let offset = x.offset + a.first_row + b.first_row * x.rows;
                let input = Operand { space: OperandSpace::Input, offset, stride: x.rows, transposed: false };
                let record = Record::product(input, b.abreast(), b.rows, [a.rows, count * b.columns]);
                Record { coefficient: b.coefficient, first: a.rows * count * b.first_column, ..record }
            };
            let offset = first.push(a.rows * count * y.columns, of_b.clone().map(product).collect());
            let z = Operand { space: OperandSpace::Between, offset, stride: a.rows * count, transposed: false };
            let turned = Operand { transposed: true, ..a.stacked() };
            let record = Record::product(turned, z, a.rows * count, [a.columns, y.columns]);
            out.push(Record { coefficient: a.coefficient, first: a.first_column, stride: y.rows, ..record });
        }
    }
}

/// A_b x B_bᵀ from one sector of x to one of y.
struct TermOfSectors<'a> {
    a: &'a OperatorBlock,
    b: &'a OperatorBlock,
    x: Place,
    columns_in: usize,
    rows: usize,
    columns: usize,
}

impl TermOfSectors<'_> {
    fn records(&self, first: &mut RecordStage, out: &mut Vec<Record>) {
        let (dense_a, dense_b) = (self.a.dense_area(), self.b.dense_area());
        if dense_a == 0.0 || dense_b == 0.0 {
            for a in &self.a.pieces {
                self.b.pieces.iter().for_each(|b| out.push(self.direct(a, b)));
            }
            return;
        }
        let left_first = dense_a * self.columns_in as f64 + dense_b * self.rows as f64;
        let right_first = dense_b * self.x.rows as f64 + dense_a * self.columns as f64;
        if left_first <= right_first { self.by_left(first, out) } else { self.by_right(first, out) }
    }

    /// One product or copy from x to y, where one of the pieces is an identity.
    fn direct(&self, a: &Piece, b: &Piece) -> Record {
        let x = self.x.operand(a.first_column, b.first_column);
        let action = match (a.matrix, b.matrix) {
            (Some(matrix), _) => Action::Product { a: matrix, b: x, inner: a.columns },
            (None, Some(matrix)) => {
                let transposed = Operand { transposed: !matrix.transposed, ..matrix };
                Action::Product { a: x, b: transposed, inner: b.columns }
            }
            (None, None) => Action::Copy { a: x },
        };
        self.into(a, b, action, a.coefficient * b.coefficient)
    }

    fn into(&self, a: &Piece, b: &Piece, action: Action, coefficient: f64) -> Record {
        let first = a.first_row + b.first_row * self.rows;
        Record { action, coefficient, first, stride: self.rows, rows: a.rows, columns: b.rows }
    }

    /// z = (dense pieces of A) x, y += z Bᵀ; identities of A are multiplied directly.
    fn by_left(&self, first: &mut RecordStage, out: &mut Vec<Record>) {
        let (dense, plain): (Vec<&Piece>, Vec<&Piece>) = self.a.pieces.iter().partition(|p| p.matrix.is_some());
        let z = Place::between(first.length, self.rows);
        let records = dense.iter().map(|p| onto_columns(p, self.x.offset, self.x.rows, self.columns_in, z.stride));
        first.push(z.stride * self.columns_in, records.collect());
        for b in &self.b.pieces {
            let all = Piece { first_row: 0, first_column: 0, rows: self.rows, columns: self.rows, ..*b };
            let from = z.operand(0, b.first_column);
            let action = match b.matrix {
                Some(matrix) => {
                    let transposed = Operand { transposed: !matrix.transposed, ..matrix };
                    Action::Product { a: from, b: transposed, inner: b.columns }
                }
                None => Action::Copy { a: from },
            };
            out.push(self.into(&all, b, action, b.coefficient));
            plain.iter().for_each(|a| out.push(self.direct(a, b)));
        }
    }

    /// z = x (dense pieces of B)ᵀ, y += A z; identities of B are multiplied directly.
    fn by_right(&self, first: &mut RecordStage, out: &mut Vec<Record>) {
        let (dense, plain): (Vec<&Piece>, Vec<&Piece>) = self.b.pieces.iter().partition(|p| p.matrix.is_some());
        let z = Place::between(first.length, self.x.rows);
        let record = |b: &&Piece| onto_rows(b, self.x.offset, self.x.rows, z.stride);
        first.push(z.stride * self.columns, dense.iter().map(record).collect());
        for a in &self.a.pieces {
            let all = Piece { first_row: 0, first_column: 0, rows: self.columns, columns: self.columns, ..*a };
            let from = z.operand(a.first_column, 0);
            let action = match a.matrix {
                Some(matrix) => Action::Product { a: matrix, b: from, inner: a.columns },
                None => Action::Copy { a: from },
            };
            out.push(self.into(a, &all, action, a.coefficient));
            plain.iter().for_each(|b| out.push(self.direct(a, b)));
        }
    }
}
