//! The operators of a block of sites in the kept basis, and their update when a site is added.
//!
//! In: the operators A_b of the enlarged block and the kept states U (one matrix per sector). Out: Uᵀ A_b U for every
//! operator of the cut, sector by sector, in one flat buffer with a table of blocks; by the same
//! [records](super::records) as the superblock.

use super::backend::{Backend, Operands};
use super::blocks::Sectors;
use super::enlarged::{EnlargedOperators, Piece};
use super::error::DmrgError;
use super::records::{Action, Operand, OperandSpace, Record, RecordGroup, RecordStage};
use super::state::Isometry;
use serde::{Deserialize, Serialize};

/// A dense block in the buffer of an environment, column-major.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DenseBlock {
    /// The sector it maps to.
    pub row: usize,
    /// The sector it maps from.
    pub column: usize,
    /// Its first element.
    pub offset: usize,
}

/// An operator of a block of sites.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum BlockOperator {
    /// The identity.
    Identity,
    /// Dense blocks; missing blocks are zero.
    Dense(Vec<DenseBlock>),
    /// A multiple of the transpose of another operator, which is not itself a transpose.
    Transposed {
        /// Number of the other operator.
        of: usize,
        /// The factor.
        factor: f64,
    },
}

/// A block of sites: its states by charge, and its part of every operator of the cut.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Environment<B = Vec<f64>> {
    /// States.
    pub sectors: Sectors,
    /// One per operator of the cut.
    pub operators: Vec<BlockOperator>,
    /// All dense blocks.
    pub data: B,
}

impl Environment {
    /// The empty block at the end of the chain.
    pub fn end() -> Environment {
        Environment { sectors: Sectors::end(), operators: vec![BlockOperator::Identity], data: Vec::new() }
    }

    /// Bytes of its blocks.
    pub fn bytes(&self) -> u64 {
        8 * self.data.len() as u64
    }
}

impl<B> Environment<B> {
    /// The empty block in an engine's memory.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn end_on<E: Backend<Buffer = B>>(engine: &E) -> Result<Environment<B>, DmrgError> {
        Environment::end().carried(|data| engine.upload(data))
    }

    /// Moves its numbers to another buffer type.
    ///
    /// # Errors
    /// Errors of `carry`.
    pub fn carried<C, X>(self, carry: impl FnOnce(B) -> Result<C, X>) -> Result<Environment<C>, X> {
        Ok(Environment { sectors: self.sectors, operators: self.operators, data: carry(self.data)? })
    }

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
        let operands = operands.with(OperandSpace::Input, &kept.data);
        let (mut operators, mut first, mut second) = (Vec::new(), RecordStage::default(), RecordStage::default());
        for (b, blocks) in enlarged.blocks.iter().enumerate() {
            if identity == Some(b) {
                operators.push(BlockOperator::Identity);
                continue;
            }
            let mut list = Vec::new();
            for block in blocks.iter().flatten() {
                let (Some(to), Some(from)) = (kept.block(block.row), kept.block(block.column)) else { continue };
                list.push(DenseBlock { row: to.kept_sector, column: from.kept_sector, offset: second.length });
                // Rows before and behind all pieces are zero.
                let begin = block.pieces.iter().map(|piece| piece.first_row).min().unwrap_or(0);
                let end = block.pieces.iter().map(|piece| piece.first_row + piece.rows).max().unwrap_or(0);
                let (half, rows, stride) = (first.length, end - begin, (end - begin).next_multiple_of(2));
                let group = |records, length, offset| RecordGroup { offset, length, records };
                let onto = |piece: &Piece| {
                    let piece = Piece { first_row: piece.first_row - begin, ..*piece };
                    onto_columns(&piece, from.offset, from.rows, from.columns, stride)
                };
                let records = block.pieces.iter().map(onto).collect();
                first.groups.push(group(records, stride * from.columns, half));
                first.length += stride * from.columns;
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
                second.groups.push(group(vec![record], to.columns * from.columns, second.length));
                second.length += to.columns * from.columns;
            }
            operators.push(BlockOperator::Dense(list));
        }
        let between = engine.run(&first, operands)?;
        let data = engine.run(&second, operands.with(OperandSpace::Between, &between))?;
        Ok(Environment { sectors: kept.kept.clone(), operators, data })
    }
}

/// piece · (columns of the input at `offset`), into a block of `rows_out` rows.
pub fn onto_columns(piece: &Piece, offset: usize, rows: usize, columns: usize, rows_out: usize) -> Record {
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
pub fn onto_rows(piece: &Piece, offset: usize, rows: usize, rows_out: usize) -> Record {
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
