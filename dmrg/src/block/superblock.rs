//! H of two enlarged blocks as operation records: y = Σ_b A_b x B_bᵀ.
//!
//! In: the operators of both enlarged blocks. Out: at most two stages. If A_b or B_b is an identity (whole, or placed by
//! a matrix element of a site) a term is one product or one copy, straight from x to y; if both are dense, an
//! intermediate A x or x Bᵀ, whichever costs fewer operations, is computed first and used for every piece of the other
//! operator. Operators that stand [side by side](super::bundled) are one term. All records of one sector of y form one group.

use super::blocks::WaveLayout;
use super::bundled::{SideBySide, abreast_at};
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
    let block_of = |s: &super::blocks::PairedSector| RecordGroup {
        offset: s.offset,
        length: s.rows * s.columns,
        records: Vec::new(),
    };
    let mut second = RecordStage { groups: layout.sectors.iter().map(block_of).collect(), length: layout.length };
    for (group, operators) in left.groups.iter().enumerate() {
        let (of_left, of_right) = (&left.blocks[operators[0]], &right.blocks[operators[0]]);
        for sector in &layout.sectors {
            let (Some(a), Some(b)) = (&of_left[sector.left], &of_right[sector.right]) else { continue };
            let Some(target) = layout.of_left(a.row) else { continue };
            let x = Place { space: OperandSpace::Input, offset: sector.offset, rows: sector.rows, stride: sector.rows };
            let together = (left.side_by_side(group, sector.left), right.side_by_side(group, sector.right));
            if let (Some(a), Some(b)) = together {
                terms_side_by_side((&a, &b), (x, sector.columns), &mut first, &mut second.groups[target].records);
                continue;
            }
            let (rows, columns) = (layout.sectors[target].rows, layout.sectors[target].columns);
            let term = TermOfSectors { a, b, x, columns_in: sector.columns, rows, columns };
            term.records(&mut first, &mut second.groups[target].records);
        }
    }
    TwoStages { first, second }
}

/// Σ_k A_k x B_kᵀ of one sector `x` of the wave function.
fn terms_side_by_side(
    (a, b): (&SideBySide, &SideBySide),
    (x, columns): (Place, usize),
    first: &mut RecordStage,
    out: &mut Vec<Record>,
) {
    let turned = |operand: Operand| Operand { transposed: true, ..operand };
    // Operations of either order, in units of 2 K.
    let left_first = a.rows * columns * (x.rows + b.rows);
    let right_first = b.rows * x.rows * (columns + a.rows);
    let (from, to, inner) = if left_first <= right_first {
        let z = a.onto_columns(first, (x.offset, x.stride, columns));
        (abreast_at(z, a.rows), turned(b.abreast()), a.count * columns)
    } else {
        let z = b.onto_rows(first, x.offset, x.rows);
        (a.abreast(), turned(abreast_at(z, b.rows)), a.count * x.rows)
    };
    out.push(Record::product(from, to, inner, [a.rows, b.rows]));
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
