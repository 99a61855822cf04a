//! Kept states and new ones as one basis, and ψ in it.
//!
//! In: the kept states of a block, [directions](super::directions) outside them. Out: both together, the new ones of each sector last;
//! ψ with zeros for the new ones.

use super::directions::Directions;
use super::sketch::{copy, kept_operand, plain};
use crate::block::blocks::{Sectors, Side};
use crate::block::bond::Frame;
use crate::block::orthonormal::SectorColumns;
use crate::block::state::Isometry;
use crate::engine::Engine;
use crate::error::DmrgError;
use eigenforge_runtime::backend::Operands;
use eigenforge_runtime::records::{OperandSpace, Record, RecordStage};

/// The kept states of an enlarged block with these sectors, and the new ones.
///
/// # Errors
/// Errors of the engine.
pub(super) fn join_bases<E: Engine>(
    engine: &E,
    enlarged: &Sectors,
    states: &Isometry<E::Buffer>,
    new: &Directions<E::Buffer>,
) -> Result<Isometry<E::Buffer>, DmrgError> {
    let found = |sector: usize| new.blocks.iter().find(|block| block.sector == sector);
    let before = |sector: usize| states.block(sector).map_or(0, |block| block.columns);
    let counts: Vec<usize> =
        (0..enlarged.len()).map(|q| before(q) + found(q).map_or(0, |block| block.columns)).collect();
    let tables = Isometry::tables_of(enlarged, &counts);
    let mut stage = RecordStage::default();
    for block in &tables.blocks {
        let (rows, mut records) = (block.rows, Vec::new());
        if let Some(old) = states.block(block.enlarged_sector) {
            records.push(copy(kept_operand(OperandSpace::Left, old), [rows, old.columns]));
        }
        if let Some(SectorColumns { offset, columns, .. }) = found(block.enlarged_sector) {
            let first = (block.columns - columns) * rows;
            records.push(Record { first, ..copy(plain(OperandSpace::Right, *offset, rows), [rows, *columns]) });
        }
        stage.push(rows * block.columns, records);
    }
    let operands = Operands::default().set(OperandSpace::Left, &states.data).set(OperandSpace::Right, &new.data);
    let data = engine.run(&stage, operands)?;
    tables.carried(|()| Ok(data))
}

/// ψ of a site over a frame whose block away from it has more states.
///
/// # Errors
/// Errors of the engine.
pub(super) fn pad_wave<E: Engine>(
    engine: &E,
    near: Side,
    (before, wave): (&Frame, &E::Buffer),
    after: &Frame,
) -> Result<E::Buffer, DmrgError> {
    let mut stage = RecordStage::default();
    for pair in &after.layout.sectors {
        // The near block is as it was.
        let old = before.layout.sectors.iter().find(|old| match near {
            Side::Left => old.left == pair.left,
            Side::Right => old.right == pair.right,
        });
        let record = |old: &crate::block::blocks::PairedSector| Record {
            stride: pair.rows,
            ..copy(plain(OperandSpace::Input, old.offset, old.rows), [old.rows, old.columns])
        };
        stage.push(pair.rows * pair.columns, old.map(record).into_iter().collect());
    }
    Ok(engine.run(&stage, Operands::default().set(OperandSpace::Input, wave))?)
}
