//! The update of a block's operators when a site is added.
//!
//! In: the operators A_b of the enlarged block and the kept states U (one matrix per sector). Out: Uᵀ A_b U for every
//! operator of the cut, by records as for the superblock.

use super::enlarged::{EnlargedOperators, Piece};
use super::environment::{BlockOperator, DenseBlock, Environment};
use super::state::Isometry;
use crate::error::DmrgError;
use eigenforge_runtime::backend::{Backend, Operands};
use eigenforge_runtime::records::{Action, Operand, OperandSpace, Record, RecordStage, TwoStages};

impl<B> Environment<B> {
    /// Projects the operators of the enlarged block onto the kept states. `identity` is the operator of the cut that is
    /// the identity of this block.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn project<E: Backend<Buffer = B>>(
        engine: &E,
        enlarged: &EnlargedOperators<B>,
        operands: Operands<'_, B>,
        kept: &Isometry<B>,
        identity: Option<usize>,
    ) -> Result<Environment<B>, DmrgError> {
        let operands = operands.set(OperandSpace::Input, &kept.data);
        let (mut first, mut second) = (RecordStage::default(), RecordStage::default());
        let mut operators = vec![BlockOperator::Dense(Vec::new()); enlarged.blocks.len()];
        for (group, members) in enlarged.groups.iter().enumerate() {
            let (b, blocks) = (members[0], &enlarged.blocks[members[0]]);
            if identity == Some(b) {
                operators[b] = BlockOperator::Identity;
                continue;
            }
            if members.len() > 1 {
                enlarged.project_together(group, kept, &mut operators, [&mut first, &mut second]);
                continue;
            }
            let mut list = Vec::new();
            for block in blocks.iter().flatten() {
                let (Some(to), Some(from)) = (kept.block(block.row), kept.block(block.column)) else { continue };
                let (row, column) = (to.kept_sector, from.kept_sector);
                list.push(DenseBlock { row, column, offset: second.length, stride: to.columns });
                // Rows before and behind all pieces are zero.
                let begin = block.pieces.iter().map(|piece| piece.first_row).min().unwrap_or(0);
                let end = block.pieces.iter().map(|piece| piece.first_row + piece.rows).max().unwrap_or(0);
                let (rows, stride) = (end - begin, (end - begin).next_multiple_of(2));
                let onto = |piece: &Piece| {
                    let piece = Piece { first_row: piece.first_row - begin, ..*piece };
                    onto_columns(&piece, from.offset, from.rows, from.columns, stride)
                };
                let records = block.pieces.iter().map(onto).collect();
                let half = first.push(stride * from.columns, records);
                let a = Operand {
                    space: OperandSpace::Input,
                    offset: to.offset + begin,
                    stride: to.rows,
                    transposed: true,
                };
                let b = Operand { space: OperandSpace::Between, offset: half, stride, transposed: false };
                let record = Record {
                    action: Action::Product { a, b, inner: rows },
                    coefficient: 1.0,
                    first: 0,
                    stride: to.columns,
                    rows: to.columns,
                    columns: from.columns,
                };
                second.push(to.columns * from.columns, vec![record]);
            }
            operators[b] = BlockOperator::Dense(list);
        }
        let data = engine.run_both(&TwoStages { first, second }, operands)?;
        Ok(Environment { sectors: kept.kept.clone(), operators, data })
    }
}

/// piece · (columns of the input at `offset`), into a block of `rows_out` rows.
pub(crate) fn onto_columns(piece: &Piece, offset: usize, rows: usize, columns: usize, rows_out: usize) -> Record {
    let from = offset + piece.first_column;
    let b = Operand { space: OperandSpace::Input, offset: from, stride: rows, transposed: false };
    let action = match piece.matrix {
        Some(a) => Action::Product { a, b, inner: piece.columns },
        None => Action::Copy { a: b },
    };
    Record {
        action,
        coefficient: piece.coefficient,
        first: piece.first_row,
        stride: rows_out,
        rows: piece.rows,
        columns,
    }
}

/// (rows of the input at `offset`, all `rows` of them) · pieceᵀ, into a block of `rows_out` rows, at least as many.
pub(crate) fn onto_rows(piece: &Piece, offset: usize, rows: usize, rows_out: usize) -> Record {
    let a = Operand {
        space: OperandSpace::Input,
        offset: offset + piece.first_column * rows,
        stride: rows,
        transposed: false,
    };
    let action = match piece.matrix {
        Some(b) => Action::Product { a, b: Operand { transposed: !b.transposed, ..b }, inner: piece.columns },
        None => Action::Copy { a },
    };
    let first = piece.first_row * rows_out;
    Record { action, coefficient: piece.coefficient, first, stride: rows_out, rows, columns: piece.rows }
}
