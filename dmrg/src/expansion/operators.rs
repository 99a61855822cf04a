//! The operators of a block in a basis that has grown.
//!
//! In: the operators in the kept states V, and the new states N outside them. Out: those in (V, N). Of each only the parts of N are
//! computed, (V, N)ᵀ A N and Nᵀ A V; Vᵀ A V is copied. With few new states that costs a fraction of a projection of the whole.

use super::sketch::{copy, kept_operand, plain, transpose_piece, transposed};
use crate::block::blocks::Side;
use crate::block::enlarged::{EnlargedOperators, OperatorBlock};
use crate::block::environment::{BlockOperator, DenseBlock, Environment};
use crate::block::projection::onto_columns;
use crate::block::state::{Isometry, KeptBlock};
use crate::engine::Engine;
use crate::error::DmrgError;
use eigenforge_runtime::backend::Operands;
use eigenforge_runtime::records::{OperandSpace, Record, RecordStage};

/// A block before its basis grew.
pub(super) struct Narrower<'a, B> {
    /// Its operators in V.
    pub(super) block: &'a Environment<B>,
    /// V.
    pub(super) states: &'a Isometry<B>,
    /// Its side.
    pub(super) side: Side,
}

/// The states of a sector, old ones first.
struct SectorStates<'a> {
    all: &'a KeptBlock,
    /// Number of old ones.
    old: usize,
    /// The sector of the old ones.
    old_sector: Option<usize>,
}

impl SectorStates<'_> {
    fn new_count(&self) -> usize {
        self.all.columns - self.old
    }

    /// The first element of the new ones.
    fn new_offset(&self) -> usize {
        self.all.offset + self.old * self.all.rows
    }
}

impl<B> Narrower<'_, B> {
    fn sector<'s>(&self, states: &'s Isometry<B>, sector: usize) -> Option<SectorStates<'s>> {
        let old = self.states.block(sector);
        let all = states.block(sector)?;
        Some(SectorStates {
            all,
            old: old.map_or(0, |block| block.columns),
            old_sector: old.map(|block| block.kept_sector),
        })
    }

    /// The operators `enlarged` of the enlarged block in `states`, V and the new ones; `identity` is the operator of the cut that is the
    /// identity of the block.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(super) fn widen<E: Engine<Buffer = B>>(
        &self,
        engine: &E,
        (enlarged, operands): (&EnlargedOperators<B>, Operands<'_, B>),
        states: &Isometry<B>,
        identity: Option<usize>,
    ) -> Result<Environment<B>, DmrgError> {
        // The place of the other side's operators, which no piece of this one reads.
        let (old_space, _) = if self.side == Side::Left { Side::Right.spaces() } else { Side::Left.spaces() };
        let (mut first, mut second) = (RecordStage::default(), RecordStage::default());
        let mut operators = vec![BlockOperator::Dense(Vec::new()); enlarged.blocks.len()];
        for members in &enlarged.groups {
            if identity == Some(members[0]) {
                operators[members[0]] = BlockOperator::Identity;
                continue;
            }
            let mut lists = vec![Vec::new(); members.len()];
            for column in 0..enlarged.blocks[members[0]].len() {
                let Some(OperatorBlock { row, .. }) = enlarged.blocks[members[0]][column] else { continue };
                let (Some(to), Some(from)) = (self.sector(states, row), self.sector(states, column)) else { continue };
                let (rows, columns) = (to.all.columns, from.all.columns);
                let (offset, stride) = (second.length, rows * members.len());
                let mut together = Vec::new();
                for (k, (b, list)) in members.iter().zip(&mut lists).enumerate() {
                    let BlockOperator::Dense(before) = &self.block.operators[*b] else {
                        return Environment::project(engine, enlarged, operands, states, identity);
                    };
                    let Some(block) = enlarged.block(*b, column) else { continue };
                    let held = before
                        .iter()
                        .find(|dense| Some(dense.row) == to.old_sector && Some(dense.column) == from.old_sector);
                    let mut records: Vec<Record> = held
                        .map(|held| copy(plain(old_space, held.offset, held.stride), [to.old, from.old]))
                        .into_iter()
                        .collect();
                    records.extend(new_columns(&block, &to, &from, &mut first));
                    records.extend(new_rows(&block, &to, &from, &mut first));
                    // A record's first element is given in a matrix of `rows` rows.
                    let placed = |record: Record| {
                        let (row, column) = (record.first % rows, record.first / rows);
                        Record { first: k * rows + row + column * stride, stride, ..record }
                    };
                    together.extend(records.into_iter().map(placed));
                    let (row, column) = (to.all.kept_sector, from.all.kept_sector);
                    list.push(DenseBlock { row, column, offset: offset + k * rows, stride });
                }
                second.push(stride * columns, together);
            }
            for (b, list) in members.iter().zip(lists) {
                operators[*b] = BlockOperator::Dense(list);
            }
        }
        let operands = operands.set(OperandSpace::Input, &states.data);
        let between = engine.run(&first, operands)?;
        let operands = Operands::default().set(OperandSpace::Input, &states.data).set(OperandSpace::Between, &between);
        let data = engine.run(&second, operands.set(old_space, &self.block.data))?;
        Ok(Environment { sectors: states.kept.clone(), operators, data })
    }
}

/// (V, N)ᵀ (A N).
fn new_columns(
    block: &OperatorBlock,
    to: &SectorStates<'_>,
    from: &SectorStates<'_>,
    first: &mut RecordStage,
) -> Option<Record> {
    let (count, rows) = (from.new_count(), to.all.rows);
    if count == 0 {
        return None;
    }
    let onto = |piece| onto_columns(piece, from.new_offset(), from.all.rows, count, rows);
    let half = first.push(rows * count, block.pieces.iter().map(onto).collect());
    let (a, b) = (transposed(kept_operand(OperandSpace::Input, to.all)), plain(OperandSpace::Between, half, rows));
    Some(Record { first: to.all.columns * from.old, ..Record::product(a, b, rows, [to.all.columns, count]) })
}

/// (Aᵀ N)ᵀ V.
fn new_rows(
    block: &OperatorBlock,
    to: &SectorStates<'_>,
    from: &SectorStates<'_>,
    first: &mut RecordStage,
) -> Option<Record> {
    let (count, rows) = (to.new_count(), from.all.rows);
    if count == 0 || from.old == 0 {
        return None;
    }
    let onto = |piece| onto_columns(&transpose_piece(piece), to.new_offset(), to.all.rows, count, rows);
    let half = first.push(rows * count, block.pieces.iter().map(onto).collect());
    let (a, b) = (transposed(plain(OperandSpace::Between, half, rows)), kept_operand(OperandSpace::Input, from.all));
    let record = Record::product(a, b, rows, [count, from.old]);
    Some(Record { first: to.old, stride: to.all.columns, ..record })
}
