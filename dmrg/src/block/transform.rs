//! White's transformation: expresses the wave function of a bond in the basis of the next bond, as the start vector of
//! its solve.
//!
//! In: ψ in the kept basis, C, and the kept states V of the block that gives up its site. Out: ψ of the next bond. To the
//! right: ψ'[(l', s), (s', r')] = Σ_r C[l', (s, r)] V[(s', r'), r] (White, Phys. Rev. Lett. 77, 3633 (1996)); to the left
//! mirrored. No sign appears, because the order of the sites does not change.

use super::blocks::{Enlarged, Side, WaveLayout};
use super::state::Isometry;
use super::truncate::Centre;
use crate::error::DmrgError;
use eigenforge_runtime::backend::{Backend, Operands};
use eigenforge_runtime::records::{Action, Operand, OperandSpace, Record, RecordGroup, RecordStage};

/// A step from one bond to the next.
pub(crate) struct TransformStep<'a, B> {
    /// The block that has grown.
    pub grown: Side,
    /// Layout of ψ at the old bond.
    pub old: &'a WaveLayout,
    /// The enlarged block on the other side of the old bond.
    pub old_other: &'a Enlarged,
    /// The states kept of the block that has grown.
    pub kept: &'a Isometry<B>,
    /// ψ in terms of them.
    pub centre: &'a Centre<B>,
    /// The kept states of the block that shrinks.
    pub given_up: &'a Isometry<B>,
    /// The next bond's enlarged block on the grown side.
    pub new_own: &'a Enlarged,
    /// Layout of ψ at the new bond.
    pub new: &'a WaveLayout,
}

impl<B> TransformStep<'_, B> {
    /// ψ of the next bond.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn wave<E: Backend<Buffer = B>>(&self, engine: &E) -> Result<B, DmrgError> {
        let group = |s: &super::blocks::PairedSector| RecordGroup {
            offset: s.offset,
            length: s.rows * s.columns,
            records: Vec::new(),
        };
        let mut stage = RecordStage { groups: self.new.sectors.iter().map(group).collect(), length: self.new.length };
        for (index, block) in self.centre.blocks.iter().enumerate() {
            if let Some(block) = block {
                self.sector(index, block.offset, (block.rows, block.columns), &mut stage);
            }
        }
        let (centre, given_up) = (&self.centre.data, &self.given_up.data);
        Ok(engine
            .run(&stage, Operands::default().set(OperandSpace::Input, centre).set(OperandSpace::Left, given_up))?)
    }

    fn sector(&self, index: usize, offset: usize, size: (usize, usize), stage: &mut RecordStage) {
        let old = &self.old.sectors[index];
        let (own, other) = match self.grown {
            Side::Left => (old.left, old.right),
            Side::Right => (old.right, old.left),
        };
        let Some(kept) = self.kept.block(own) else { return };
        for part in &self.old_other.parts[other] {
            let Some((sector, first)) = self.new_own.place(kept.kept_sector, part.state) else { continue };
            let Some(v) = self.given_up.blocks.iter().find(|block| block.kept_sector == part.block) else { continue };
            let matrix =
                |transposed| Operand { space: OperandSpace::Left, offset: v.offset, stride: v.rows, transposed };
            let c = |at: usize| Operand {
                space: OperandSpace::Input,
                offset: offset + at,
                stride: size.0,
                transposed: false,
            };
            let found = match self.grown {
                Side::Left => self.new.of_left(sector),
                Side::Right => self.new.of_left(v.enlarged_sector),
            };
            let Some(target) = found else { continue };
            let stride = self.new.sectors[target].rows;
            let (a, b, first, rows, columns) = match self.grown {
                Side::Left => (c(part.first * size.0), matrix(true), first, size.0, v.rows),
                Side::Right => (matrix(false), c(part.first), first * stride, v.rows, size.1),
            };
            let action = Action::Product { a, b, inner: part.dimension };
            let record = Record { action, coefficient: 1.0, first, stride, rows, columns };
            stage.groups[target].records.push(record);
        }
    }
}
