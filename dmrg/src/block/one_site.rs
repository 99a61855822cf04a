//! ψ around one site, and the density matrix of the sites behind a cut.
//!
//! In: what is left of ψ in terms of kept states. Out: ψ[(l, s), r] or ψ[l, (s, r)] of a site s between the states l of the block
//! before it and r of the block behind it, regrouped from one to the other: the other side is a block enlarged by a site of a
//! single state, and everything is as with two sites. It is as wide as what is kept; ψ of a bond is wider by the states of a site.
//!
//! The density matrix ρ[r, r'] = Σ ψ[(l, s), r] ψ[(l, s), r'] goes from cut to cut by the kept states V of the site between,
//! ρ'[r, r'] = Σ_s V[(s, r), k] ρ[k, k'] V[(s, r'), k']. Its eigenvalues are the weights of the cut, good to the rounding of the
//! largest; nothing is decomposed on the way.

use super::blocks::{Enlarged, Sectors, Side, WaveLayout};
use super::bond::Frame;
use super::state::Isometry;
use super::truncate::Centre;
use crate::chain::Chain;
use crate::chain::charges::Charges;
use crate::error::DmrgError;
use eigenforge_runtime::BackendError;
use eigenforge_runtime::backend::{Backend, Operands};
use eigenforge_runtime::records::{Action, Operand, OperandSpace, Record, RecordGroup, RecordStage};

/// A block with a site of one state and no charge.
fn bare(block: &Sectors) -> Enlarged {
    Enlarged::new(block, &[Charges::default()], |_| true)
}

impl Frame {
    /// Two blocks of these states that meet at a cut, with no site between them.
    pub(crate) fn at_cut(chain: &Chain, left: &Sectors, right: &Sectors) -> Frame {
        let (left, right) = (bare(left), bare(right));
        let layout = WaveLayout::new(&left.sectors, &right.sectors, chain.total);
        Frame { left, right, layout }
    }
}

/// Site `p` between the blocks beside it.
pub(crate) struct OneSite {
    /// Its position.
    pub p: usize,
    /// The block that holds it.
    pub with: Side,
    /// ψ: ((l, s), r) with the site in the left block, (l, (s, r)) in the right.
    pub frame: Frame,
}

impl OneSite {
    /// Between a block of these states up to site p − 1 and one from site p + 1 on.
    pub(crate) fn new(chain: &Chain, p: usize, with: Side, left: &Sectors, right: &Sectors) -> OneSite {
        let (left, right) = match with {
            Side::Left => (chain.enlarge(Side::Left, left, p), bare(right)),
            Side::Right => (bare(left), chain.enlarge(Side::Right, right, p + 1)),
        };
        let layout = WaveLayout::new(&left.sectors, &right.sectors, chain.total);
        OneSite { p, with, frame: Frame { left, right, layout } }
    }

    /// ψ with the site in the other block.
    ///
    /// # Errors
    /// An error of the engine.
    pub(crate) fn regrouped<E: Backend>(
        &self,
        to: &OneSite,
        engine: &E,
        wave: &E::Buffer,
    ) -> Result<E::Buffer, DmrgError> {
        let (from, into) = (&self.frame, &to.frame);
        let mut stage = RecordStage { groups: Vec::new(), length: into.layout.length };
        for pair in &into.layout.sectors {
            let mut records = Vec::new();
            for l in &into.left.parts[pair.left] {
                for r in &into.right.parts[pair.right] {
                    // (l, s) | r from l | (s, r), or back: the site's state is that of whichever part has it.
                    let state = if self.with == Side::Left { r.state } else { l.state };
                    let (of_left, of_right) = match self.with {
                        Side::Left => (from.left.place(l.block, state), from.right.place(r.block, 0)),
                        Side::Right => (from.left.place(l.block, 0), from.right.place(r.block, state)),
                    };
                    let (Some((sector, row)), Some((_, column))) = (of_left, of_right) else { continue };
                    let Some(index) = from.layout.of_left(sector) else { continue };
                    let source = &from.layout.sectors[index];
                    let offset = source.offset + row + column * source.rows;
                    let a = Operand { space: OperandSpace::Input, offset, stride: source.rows, transposed: false };
                    let first = l.first + r.first * pair.rows;
                    let (rows, columns) = (l.dimension, r.dimension);
                    let action = Action::Copy { a };
                    records.push(Record { action, coefficient: 1.0, first, stride: pair.rows, rows, columns });
                }
            }
            stage.groups.push(RecordGroup { offset: pair.offset, length: pair.rows * pair.columns, records });
        }
        Ok(engine.run(&stage, Operands::default().set(OperandSpace::Input, wave))?)
    }

    /// ψ of site 1 in the right block from what is left of ψ of the first bond.
    ///
    /// # Errors
    /// An error of the engine.
    pub(crate) fn taken_over<E: Backend>(
        &self,
        engine: &E,
        centre: &Centre<E::Buffer>,
    ) -> Result<E::Buffer, DmrgError> {
        let layout = &self.frame.layout;
        let mut stage = RecordStage { groups: Vec::new(), length: layout.length };
        for (pair, block) in layout.sectors.iter().zip(centre.blocks.iter().flatten()) {
            let a = Operand { space: OperandSpace::Input, offset: block.offset, stride: block.rows, transposed: false };
            let (rows, columns) = (block.rows, block.columns);
            let record = Record { action: Action::Copy { a }, coefficient: 1.0, first: 0, stride: rows, rows, columns };
            stage.groups.push(RecordGroup { offset: pair.offset, length: rows * columns, records: vec![record] });
        }
        Ok(engine.run(&stage, Operands::default().set(OperandSpace::Input, &centre.data))?)
    }
}

/// The density matrix of the sites behind a cut, one matrix for each sector of their states.
pub(crate) struct Density<B> {
    sectors: Sectors,
    data: B,
}

/// First element of each matrix of sectors, and all elements.
fn places(sectors: &Sectors) -> (Vec<usize>, usize) {
    let mut length = 0;
    let place = |q: usize| {
        length += sectors.dimension(q).pow(2);
        length - sectors.dimension(q).pow(2)
    };
    ((0..sectors.len()).map(place).collect(), length)
}

/// A stage with a group for each of them and nothing in it.
fn empty(sectors: &Sectors) -> RecordStage {
    let (offsets, length) = places(sectors);
    let group =
        |(q, offset): (usize, usize)| RecordGroup { offset, length: sectors.dimension(q).pow(2), records: Vec::new() };
    RecordStage { groups: offsets.into_iter().enumerate().map(group).collect(), length }
}

impl<B> Density<B> {
    /// The density of ψ around a site.
    ///
    /// # Errors
    /// An error of the engine.
    pub(crate) fn new<E: Backend<Buffer = B>>(engine: &E, frame: &Frame, wave: &B) -> Result<Density<B>, DmrgError> {
        let sectors = frame.right.sectors.clone();
        let mut stage = empty(&sectors);
        for sector in &frame.layout.sectors {
            let psi = |transposed| Operand {
                space: OperandSpace::Input,
                offset: sector.offset,
                stride: sector.rows,
                transposed,
            };
            let action = Action::Product { a: psi(true), b: psi(false), inner: sector.rows };
            let d = sector.columns;
            let record = Record { action, coefficient: 1.0, first: 0, stride: d, rows: d, columns: d };
            stage.groups[sector.right].records.push(record);
        }
        let data = engine.run(&stage, Operands::default().set(OperandSpace::Input, wave))?;
        Ok(Density { sectors, data })
    }

    /// V ρ for the kept states V of the site behind the cut, which lies as V does.
    ///
    /// # Errors
    /// An error of the engine.
    pub(crate) fn onto_states<E: Backend<Buffer = B>>(&self, engine: &E, kept: &Isometry<B>) -> Result<B, DmrgError> {
        let (offsets, _) = places(&self.sectors);
        let group = |v: &super::state::KeptBlock| {
            let a = Operand { space: OperandSpace::Right, offset: v.offset, stride: v.rows, transposed: false };
            let offset = offsets[v.kept_sector];
            let b = Operand { space: OperandSpace::Input, offset, stride: v.columns, transposed: false };
            let action = Action::Product { a, b, inner: v.columns };
            let (rows, columns) = (v.rows, v.columns);
            let record = Record { action, coefficient: 1.0, first: 0, stride: rows, rows, columns };
            RecordGroup { offset: v.offset, length: rows * columns, records: vec![record] }
        };
        let groups: Vec<RecordGroup> = kept.blocks.iter().map(group).collect();
        let length = groups.last().map_or(0, |group| group.offset + group.length);
        let stage = RecordStage { groups, length };
        let operands = Operands::default().set(OperandSpace::Right, &kept.data).set(OperandSpace::Input, &self.data);
        Ok(engine.run(&stage, operands)?)
    }

    /// That of the next cut, behind which the states `sectors` are kept, from V ρ.
    ///
    /// # Errors
    /// An error of the engine.
    pub(crate) fn behind<E: Backend<Buffer = B>>(
        engine: &E,
        enlarged: &Enlarged,
        kept: &Isometry<B>,
        product: &B,
        sectors: &Sectors,
    ) -> Result<Density<B>, DmrgError> {
        let mut stage = empty(sectors);
        for v in &kept.blocks {
            for part in &enlarged.parts[v.enlarged_sector] {
                let rows =
                    |space, transposed| Operand { space, offset: v.offset + part.first, stride: v.rows, transposed };
                let (a, b) = (rows(OperandSpace::Between, false), rows(OperandSpace::Right, true));
                let action = Action::Product { a, b, inner: v.columns };
                let d = part.dimension;
                let record = Record { action, coefficient: 1.0, first: 0, stride: d, rows: d, columns: d };
                stage.groups[part.block].records.push(record);
            }
        }
        let operands = Operands::default().set(OperandSpace::Between, product).set(OperandSpace::Right, &kept.data);
        Ok(Density { sectors: sectors.clone(), data: engine.run(&stage, operands)? })
    }

    /// Its eigenvalues in descending order, each list with the charges of its states.
    ///
    /// # Errors
    /// Numbers that are not finite.
    pub(crate) fn eigenvalues<E: Backend<Buffer = B>>(self, engine: &E) -> Result<Vec<(Charges, Vec<f64>)>, DmrgError> {
        let (offsets, _) = places(&self.sectors);
        let list: Vec<(usize, usize)> =
            offsets.into_iter().enumerate().map(|(q, offset)| (offset, self.sectors.dimension(q))).collect();
        let values = engine.eigenvalues(self.data, &list)?;
        Ok(values.into_iter().enumerate().map(|(q, values)| (self.sectors.charges(q), values)).collect())
    }
}

/// A matrix of numbers whose rows are the states of a sector of an enlarged block.
#[derive(Clone, Copy)]
pub(crate) struct RowsOfSector {
    /// The sector.
    pub sector: usize,
    /// First element.
    pub offset: usize,
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
}

/// For each state of the site of `enlarged`, the sum of x · y over the rows that belong to it.
///
/// # Errors
/// An error of the engine.
pub(crate) fn sums_by_state<E: Backend>(
    engine: &E,
    enlarged: &Enlarged,
    matrices: &[RowsOfSector],
    states: usize,
    (x, y): (&E::Buffer, Option<&E::Buffer>),
) -> Result<Vec<f64>, DmrgError> {
    let of = |state: usize| {
        let mut stage = RecordStage::default();
        for matrix in matrices {
            for part in enlarged.parts[matrix.sector].iter().filter(|part| part.state == state) {
                let offset = matrix.offset + part.first;
                let a = Operand { space: OperandSpace::Input, offset, stride: matrix.rows, transposed: false };
                let (rows, columns) = (part.dimension, matrix.columns);
                let action = Action::Copy { a };
                let record = Record { action, coefficient: 1.0, first: 0, stride: rows, rows, columns };
                stage.push(rows * columns, vec![record]);
            }
        }
        if stage.length == 0 {
            return Ok(0.0);
        }
        let rows_of = |buffer| engine.run(&stage, Operands::default().set(OperandSpace::Input, buffer));
        let x = rows_of(x)?;
        match y {
            Some(y) => engine.dot(&x, &rows_of(y)?),
            None => engine.dot(&x, &x),
        }
    };
    Ok((0..states).map(of).collect::<Result<_, BackendError>>()?)
}
