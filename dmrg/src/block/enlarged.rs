//! Operators of a block and the site next to it, as sums of pieces; products are formed only where needed.
//!
//! In: the operators of a block, the table of its site in the [operator sum](crate::chain::operator_sum), the states of the
//! enlarged block. Out: A_b = Σ_a L_a ⊗ w_ab for every operator b of the next cut (mirrored on the right), block by
//! block of charges, each block a list of [`Piece`]s: a dense matrix of the block or an identity, placed where the
//! matrix element of the site puts it. This is the l-1-1-r form of the paper (equation 12, with the fermion signs in
//! the elements). A block whose pieces cost more than their sum is summed into one dense matrix, the LR form
//! (equation 9); an operator that is identity ⊗ site then stays pieces of identities. A chain may ask for one
//! [form](SuperblockForm) throughout.

use super::blocks::{Enlarged, Sectors, Side};
use super::environment::{BlockOperator, DenseBlock, Environment};
use crate::chain::Chain;
use crate::chain::bundles::BundlesOfSite;
use crate::chain::form::SuperblockForm;
use crate::chain::operator_sum::{Entry, OperatorCut, OperatorSum};
use crate::chain::terms::LocalOperators;
use crate::error::DmrgError;
use eigenforge_runtime::backend::{Backend, Operands};
use eigenforge_runtime::records::{Action, Operand, OperandSpace, Record, RecordStage};
use std::borrow::Cow;
use std::ops::Deref;

/// Overhead of a product of small blocks, in operations: 0.04 to 0.2 µs per call on a core of 72 GFLOP/s (Intel Xeon with
/// AVX-512, square blocks of 8 to 32).
pub(crate) const CALL_FLOPS: f64 = 8000.0;

/// coefficient · (a matrix, or the identity) at a place of a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    /// First row in the block.
    pub first_row: usize,
    /// First column in the block.
    pub first_column: usize,
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// Its coefficient.
    pub coefficient: f64,
    /// The matrix; `None` for the identity.
    pub matrix: Option<Operand>,
}

/// An operator between two sectors of the enlarged block.
#[derive(Clone, Debug, PartialEq)]
pub struct OperatorBlock {
    /// The sector it maps to.
    pub row: usize,
    /// The sector it maps from.
    pub column: usize,
    /// The pieces whose sum it is.
    pub pieces: Vec<Piece>,
}

impl OperatorBlock {
    /// Elements of its dense pieces.
    pub(crate) fn dense_area(&self) -> f64 {
        let dense = self.pieces.iter().filter(|piece| piece.matrix.is_some());
        dense.map(|piece| (piece.rows * piece.columns) as f64).sum()
    }
}

/// All operators of a cut on an enlarged block.
pub struct EnlargedOperators<B = Vec<f64>> {
    /// `blocks[b][sector]`: the block of operator b that maps from a sector. Of operators side by side only the first of a group has them;
    /// [`block`](EnlargedOperators::block) gives those of all.
    pub blocks: Vec<Vec<Option<OperatorBlock>>>,
    /// Operators that stand side by side in `sums`; else each is alone.
    pub groups: Vec<Vec<usize>>,
    /// Group of each operator, and its number in it.
    pub(crate) places: Vec<(usize, usize)>,
    /// Blocks that were summed into dense matrices, in one buffer.
    pub sums: B,
    /// How many were summed, or groups of them.
    pub summed: usize,
}

/// The input of an enlargement.
pub(crate) struct Enlarging<'a, B = Vec<f64>> {
    /// Which end of the chain.
    pub side: Side,
    /// The block.
    pub block: &'a Environment<B>,
    /// The table of the site.
    pub table: &'a [Entry],
    /// The one-site operators.
    pub operators: &'a LocalOperators,
    /// States of block and site.
    pub enlarged: &'a Enlarged,
    /// The cut behind the site, away from the block.
    pub cut: &'a OperatorCut,
    /// The form of the operators.
    pub form: SuperblockForm,
    /// What stands side by side, in that form.
    pub(crate) together: Option<BundlesOfSite<'a>>,
}

impl Side {
    /// The spaces of the block's operators and of the summed ones.
    pub fn spaces(self) -> (OperandSpace, OperandSpace) {
        match self {
            Side::Left => (OperandSpace::Left, OperandSpace::LeftSum),
            Side::Right => (OperandSpace::Right, OperandSpace::RightSum),
        }
    }
}

impl Chain {
    /// The block that ends at cut `p` and the site next to it.
    pub fn enlarge(&self, side: Side, block: &Sectors, p: usize) -> Enlarged {
        let site = self.site(if side == Side::Left { p } else { p - 1 });
        Enlarged::at_cut(block, site.charges(), side, p, self.total, &self.reachable)
    }

    /// The operators of `sum` (this chain's, or its square) on an enlarged block.
    ///
    /// # Errors
    /// Errors of the engine.
    #[expect(clippy::too_many_arguments, reason = "a sum, a place and what stands there")]
    pub fn operators<E: Backend>(
        &self,
        engine: &E,
        sum: &OperatorSum,
        side: Side,
        p: usize,
        block: &Environment<E::Buffer>,
        enlarged: &Enlarged,
        widths: &[usize],
    ) -> Result<EnlargedOperators<E::Buffer>, DmrgError> {
        let (site, cut) = match side {
            Side::Left => (p, p + 1),
            Side::Right => (p - 1, p - 1),
        };
        // The choice is about H x; of the square of H every operator takes the cheaper form.
        let form = if std::ptr::eq(sum, &self.sum) { self.superblock } else { SuperblockForm::Planned };
        let enlarging = Enlarging {
            side,
            block,
            table: &sum.sites[site],
            operators: &sum.operators,
            enlarged,
            cut: &sum.cuts[cut],
            form,
            together: (form == SuperblockForm::Bundled).then(|| self.bundles_of_site(side == Side::Left, site)),
        };
        enlarging.operators(engine, widths)
    }

    /// The operator of `sum` behind the site next to cut `p` that is the identity on the enlarged block.
    pub fn identity(sum: &OperatorSum, side: Side, p: usize) -> Option<usize> {
        match side {
            Side::Left => sum.cuts[p + 1].left_identity,
            Side::Right => sum.cuts[p - 1].right_identity,
        }
    }
}

impl<B> Enlarging<'_, B> {
    /// Makes all operators; `widths[sector]` is the number of vectors that a block mapping from the sector will multiply.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn operators<E: Backend<Buffer = B>>(
        &self,
        engine: &E,
        widths: &[usize],
    ) -> Result<EnlargedOperators<B>, DmrgError> {
        if let Some(together) = &self.together {
            return self.bundled(engine, together);
        }
        let mut blocks = self.pieces();
        let mut forming = RecordStage::default();
        let identity = match self.side {
            Side::Left => self.cut.left_identity,
            Side::Right => self.cut.right_identity,
        };
        for (operator, list) in blocks.iter_mut().enumerate() {
            for block in list.iter_mut().flatten() {
                self.merge_identity(block);
                let is_summed = match self.form {
                    SuperblockForm::Planned => self.is_cheaper_summed(block, widths[block.column] as f64),
                    SuperblockForm::LeftRight => identity != Some(operator),
                    SuperblockForm::FourParts | SuperblockForm::Bundled => false,
                };
                if is_summed {
                    block.sum(&self.enlarged.sectors, self.side.spaces().1, &mut forming);
                }
            }
        }
        let (own, _) = self.side.spaces();
        let sums = engine.run(&forming, Operands::default().set(own, &self.block.data))?;
        Ok(EnlargedOperators::one_by_one(blocks, sums, forming.groups.len()))
    }

    fn pieces(&self) -> Vec<Vec<Option<OperatorBlock>>> {
        let mut blocks = vec![vec![None; self.enlarged.sectors.len()]; self.cut.width()];
        let sectors = &self.block.sectors;
        let (space, _) = self.side.spaces();
        for entry in self.table {
            let (inner, outer) = match self.side {
                Side::Left => (entry.from, entry.to),
                Side::Right => (entry.to, entry.from),
            };
            // A transpose reads the numbers of the original.
            let (source, factor, transposed) = match self.block.operators[inner] {
                BlockOperator::Transposed { of, factor } => (of, factor, true),
                _ => (inner, 1.0, false),
            };
            // The identity has one number on sites of any dimension.
            let elements = match entry.operator {
                0 => (0..self.enlarged.states()).map(|state| (state, state, 1.0)).collect(),
                operator => self.operators.get(operator).matrix.nonzeros(),
            };
            for (to, from, value) in elements {
                let coefficient = entry.coefficient * value * factor;
                let mut add = |row: usize, column: usize, matrix: Option<Operand>| {
                    let (Some((into, first_row)), Some((out_of, first_column))) =
                        (self.enlarged.place(row, to), self.enlarged.place(column, from))
                    else {
                        return;
                    };
                    let (rows, columns) = (sectors.dimension(row), sectors.dimension(column));
                    let block = blocks[outer][out_of].get_or_insert_with(|| OperatorBlock {
                        row: into,
                        column: out_of,
                        pieces: Vec::new(),
                    });
                    block.pieces.push(Piece { first_row, first_column, rows, columns, coefficient, matrix });
                };
                let list = match &self.block.operators[source] {
                    BlockOperator::Identity => {
                        (0..sectors.len()).for_each(|sector| add(sector, sector, None));
                        continue;
                    }
                    BlockOperator::Dense(list) => list,
                    BlockOperator::Transposed { .. } => unreachable!("an operator that is computed has numbers"),
                };
                for dense in list {
                    let DenseBlock { offset, stride, .. } = *dense;
                    let matrix = Some(Operand { space, offset, stride, transposed });
                    let (row, column) = if transposed { (dense.column, dense.row) } else { (dense.row, dense.column) };
                    add(row, column, matrix);
                }
            }
        }
        blocks
    }

    /// The identity of a whole sector is one piece.
    fn merge_identity(&self, block: &mut OperatorBlock) {
        let dimension = self.enlarged.sectors.dimension(block.column);
        let Some(first) = block.pieces.first().copied() else { return };
        let alike = |piece: &Piece| {
            piece.matrix.is_none()
                && piece.coefficient == first.coefficient
                && piece.first_row == piece.first_column
                && block.row == block.column
        };
        let covered: usize = block.pieces.iter().map(|piece| piece.rows).sum();
        let distinct = block.pieces.iter().map(|piece| piece.first_row).collect::<std::collections::BTreeSet<_>>();
        if block.pieces.iter().all(alike) && covered == dimension && distinct.len() == block.pieces.len() {
            let whole = Piece { first_row: 0, first_column: 0, rows: dimension, columns: dimension, ..first };
            block.pieces = vec![whole];
        }
    }

    fn is_cheaper_summed(&self, block: &OperatorBlock, width: f64) -> bool {
        let dense = block.dense_area();
        if dense == 0.0 || block.pieces.len() == 1 {
            return false;
        }
        let area = self.enlarged.sectors.dimension(block.row) * self.enlarged.sectors.dimension(block.column);
        let apart = 2.0 * dense * width + CALL_FLOPS * block.pieces.len() as f64;
        apart > 2.0 * area as f64 * width + CALL_FLOPS
    }
}

impl OperatorBlock {
    /// Sums the pieces into a dense matrix at the end of `space`, which `forming` fills.
    pub fn sum(&mut self, sectors: &Sectors, space: OperandSpace, forming: &mut RecordStage) {
        let (rows, columns) = (sectors.dimension(self.row), sectors.dimension(self.column));
        let record = |piece: &Piece| Record {
            action: piece.matrix.map_or(Action::Diagonal, |a| Action::Copy { a }),
            coefficient: piece.coefficient,
            first: piece.first_row + piece.first_column * rows,
            stride: rows,
            rows: piece.rows,
            columns: piece.columns,
        };
        let records = self.pieces.iter().map(record).collect();
        let offset = forming.push(rows * columns, records);
        let matrix = Some(Operand { space, offset, stride: rows, transposed: false });
        self.pieces = vec![Piece { first_row: 0, first_column: 0, rows, columns, coefficient: 1.0, matrix }];
    }
}

impl<B> EnlargedOperators<B> {
    /// Operators of which each is alone; `summed` of their blocks are in `sums`.
    pub fn one_by_one(blocks: Vec<Vec<Option<OperatorBlock>>>, sums: B, summed: usize) -> EnlargedOperators<B> {
        let (groups, places) = (0..blocks.len()).map(|b| (vec![b], (b, 0))).unzip();
        EnlargedOperators { blocks, groups, places, sums, summed }
    }

    /// Whether operator `b` has a block from a sector to itself.
    pub(crate) fn maps_to_itself(&self, b: usize, sector: usize) -> bool {
        let first = self.groups[self.places[b].0][0];
        self.blocks[first][sector].as_ref().is_some_and(|block| block.row == sector)
    }

    /// The block of operator `b` that maps from a sector.
    pub fn block(&self, b: usize, sector: usize) -> Option<Cow<'_, OperatorBlock>> {
        let (group, k) = self.places[b];
        let first = self.blocks[self.groups[group][0]][sector].as_ref()?;
        if k == 0 {
            return Some(Cow::Borrowed(first));
        }
        let mut own = first.clone();
        for piece in &mut own.pieces {
            let rows = piece.rows;
            piece.matrix.iter_mut().for_each(|matrix| matrix.offset += k * rows);
        }
        Some(Cow::Owned(own))
    }
}

impl<B: Deref<Target = [f64]>> EnlargedOperators<B> {
    /// Adds the diagonal of the block of operator `b` from a sector to itself to `diagonal`; `data` is the buffer of the
    /// block's operators.
    pub fn diagonal(&self, b: usize, sector: usize, data: &[f64], diagonal: &mut [f64]) -> bool {
        let Some(block) = self.block(b, sector).filter(|block| block.row == sector) else { return false };
        for piece in block.pieces.iter().filter(|piece| piece.first_row == piece.first_column) {
            let part = &mut diagonal[piece.first_row..piece.first_row + piece.rows];
            match piece.matrix {
                None => part.iter_mut().for_each(|d| *d += piece.coefficient),
                Some(matrix) => {
                    let summed = matches!(matrix.space, OperandSpace::LeftSum | OperandSpace::RightSum);
                    let from: &[f64] = if summed { &self.sums } else { data };
                    let along = from[matrix.offset..].iter().step_by(matrix.stride + 1);
                    part.iter_mut().zip(along).for_each(|(d, value)| *d += piece.coefficient * value);
                }
            }
        }
        true
    }
}
