//! Kept states on a device: one decomposition per sector; only the weights come to the host.
//!
//! The density matrix of the growing block is diagonalised sector by sector, all in the same launches
//! ([`DeviceBackend::decompose`]). Weights are accurate to the rounding of the largest, so those below that are
//! dropped; together they are too small to affect the energy. The kept states U are its best eigenvectors; ψ becomes Uᵀψ
//! or ψU, by records.

use crate::dmrg::block::blocks::Side;
use crate::dmrg::block::enlarged::EnlargedOperators;
use crate::dmrg::block::state::Isometry;
use crate::dmrg::block::truncate::{
    Centre, CentreBlock, ROUNDING, Truncated, TruncationLimits, Wave, choose, perturbation_stages,
};
use eigenforge_runtime::BackendError;
use eigenforge_runtime::backend::{Backend, DeviceBackend, MatrixSpectrum, Operands};
use eigenforge_runtime::records::{Action, Operand, OperandSpace, Record, RecordStage};
use eigenforge_runtime::residency::PoolBuffer;

/// The decomposition of one sector of the growing block.
#[derive(Clone, Default)]
struct Solved {
    /// Weights, descending.
    weights: Vec<f64>,
    /// First element of its vectors.
    offset: usize,
    /// Whether the vectors are in ascending order of the weights.
    ascending: bool,
}

impl Solved {
    /// The first element of the best `count` of `rows` vectors with as many elements.
    fn best(&self, count: usize, rows: usize) -> usize {
        self.offset + if self.ascending { (rows - count) * rows } else { 0 }
    }
}

/// Decomposes every sector of ψ and keeps the best states of the block on `side`.
pub(super) fn keep_best(
    engine: &DeviceBackend,
    wave: Wave<'_, PoolBuffer>,
    side: Side,
    limits: TruncationLimits,
) -> Result<Truncated<PoolBuffer>, BackendError> {
    let own = wave.sectors_of(side);
    let (mut list, mut of_sectors, mut stage) = (Vec::new(), Vec::new(), RecordStage::default());
    for (index, sector) in wave.layout.sectors.iter().enumerate() {
        let q = wave.own(side, index);
        let (rows, columns, d) = (sector.rows, sector.columns, own.dimension(q));
        list.push((stage.push(d * d, vec![density(side, sector.offset, rows, columns)]), d));
        of_sectors.push((q, rows.min(columns)));
    }
    let mut densities = engine.run(&stage, Operands::default().with(OperandSpace::Input, wave.data))?;
    let found = engine.decompose(&mut densities, &list)?;
    let largest = found.iter().filter_map(|spectrum| spectrum.values.first()).fold(0.0f64, |a, b| a.max(*b));
    let mut solved = vec![Solved::default(); own.len()];
    for (((q, rank), spectrum), (offset, _)) in of_sectors.into_iter().zip(found).zip(list) {
        let MatrixSpectrum { values: mut weights, ascending } = spectrum;
        weights.truncate(rank);
        weights.iter_mut().filter(|w| **w < ROUNDING * largest).for_each(|w| *w = 0.0);
        solved[q] = Solved { weights, offset, ascending };
    }
    kept(engine, wave, side, limits, &solved, &densities, false)
}

/// The same from the density matrix with a perturbation of relative size `noise`.
pub(super) fn keep_best_with_noise(
    engine: &DeviceBackend,
    wave: Wave<'_, PoolBuffer>,
    side: Side,
    limits: TruncationLimits,
    operators: &EnlargedOperators<PoolBuffer>,
    operands: Operands<'_, PoolBuffer>,
    noise: f64,
) -> Result<Truncated<PoolBuffer>, BackendError> {
    let own = wave.sectors_of(side);
    let (first, mut second) = perturbation_stages(wave, side, operators);
    let operands = operands.with(OperandSpace::Input, wave.data);
    let between = engine.run(&first, operands)?;
    // tr P = Σ_b ‖A_b ψ‖².
    let trace = engine.dot(&between, &between)?;
    let scale = if trace > 0.0 { noise / trace } else { 0.0 };
    second.groups.iter_mut().flat_map(|g| &mut g.records).for_each(|record| record.coefficient *= scale);
    for (index, sector) in wave.layout.sectors.iter().enumerate() {
        let group = &mut second.groups[wave.own(side, index)];
        group.records.push(density(side, sector.offset, sector.rows, sector.columns));
    }
    let mut densities = engine.run(&second, operands.with(OperandSpace::Between, &between))?;
    let list: Vec<(usize, usize)> = (0..own.len()).map(|q| (second.groups[q].offset, own.dimension(q))).collect();
    let found = engine.decompose(&mut densities, &list)?;
    let of = |(MatrixSpectrum { values, ascending }, (offset, _)): (MatrixSpectrum, &(usize, usize))| Solved {
        weights: values,
        offset: *offset,
        ascending,
    };
    let solved: Vec<Solved> = found.into_iter().zip(&list).map(of).collect();
    kept(engine, wave, side, limits, &solved, &densities, true)
}

/// Chooses states, gathers them, and expresses ψ in them. With noise the weights are not those of ψ.
fn kept(
    engine: &DeviceBackend,
    wave: Wave<'_, PoolBuffer>,
    side: Side,
    limits: TruncationLimits,
    solved: &[Solved],
    vectors: &PoolBuffer,
    noisy: bool,
) -> Result<Truncated<PoolBuffer>, BackendError> {
    let own = wave.sectors_of(side);
    let lists: Vec<&[f64]> = solved.iter().map(|s| s.weights.as_slice()).collect();
    let counts = choose(&lists, limits);
    let tables = Isometry::tables_of(own, &counts);
    let mut gather = RecordStage::default();
    for block in &tables.blocks {
        let (q, rows, columns) = (block.enlarged_sector, block.rows, block.columns);
        let offset = solved[q].best(columns, rows);
        let a = Operand { space: OperandSpace::Left, offset, stride: rows, transposed: false };
        let record = Record { action: Action::Copy { a }, coefficient: 1.0, first: 0, stride: rows, rows, columns };
        gather.push(rows * columns, vec![record]);
    }
    let data = engine.run(&gather, Operands::default().with(OperandSpace::Left, vectors))?;
    let mut weights: Vec<f64> = lists.iter().zip(&counts).flat_map(|(list, n)| list[..*n].iter().copied()).collect();
    weights.sort_by(|a, b| b.total_cmp(a));
    let dropped: f64 = lists.iter().zip(&counts).flat_map(|(list, n)| list[*n..].iter().copied()).sum();
    let factor = if noisy { 1.0 } else { weights.iter().sum::<f64>().sqrt().recip() };
    let (blocks, stage) = centre_of(wave, side, &tables, factor);
    let operands = Operands::default().with(OperandSpace::Input, wave.data).with(OperandSpace::Left, &data);
    let mut centre = Centre { blocks, data: engine.run(&stage, operands)? };
    let mut discarded = dropped.max(0.0);
    if noisy {
        let square = engine.dot(&centre.data, &centre.data)?;
        discarded = (1.0 - square).max(0.0);
        let (blocks, stage) = centre_of(wave, side, &tables, square.sqrt().recip());
        centre = Centre { blocks, data: engine.run(&stage, operands)? };
    }
    let kept = tables.carried(|()| Ok::<_, BackendError>(data))?;
    let spectrum = if noisy { Vec::new() } else { solved.iter().map(|sector| sector.weights.clone()).collect() };
    Ok(Truncated { kept, centre, discarded, weights, spectrum })
}

/// ψψᵀ or ψᵀψ of a sector.
fn density(side: Side, offset: usize, rows: usize, columns: usize) -> Record {
    let psi = |transposed| Operand { space: OperandSpace::Input, offset, stride: rows, transposed };
    let (d, inner) = if side == Side::Left { (rows, columns) } else { (columns, rows) };
    let (a, b) = (psi(side == Side::Right), psi(side == Side::Left));
    Record { action: Action::Product { a, b, inner }, coefficient: 1.0, first: 0, stride: d, rows: d, columns: d }
}

/// factor Uᵀψ or factor ψU of every sector.
fn centre_of(
    wave: Wave<'_, PoolBuffer>,
    side: Side,
    kept: &Isometry<()>,
    factor: f64,
) -> (Vec<Option<CentreBlock>>, RecordStage) {
    let (mut blocks, mut stage) = (Vec::new(), RecordStage::default());
    for (index, sector) in wave.layout.sectors.iter().enumerate() {
        let Some(block) = kept.block(wave.own(side, index)) else {
            blocks.push(None);
            continue;
        };
        let psi = Operand { space: OperandSpace::Input, offset: sector.offset, stride: sector.rows, transposed: false };
        let u =
            |transposed| Operand { space: OperandSpace::Left, offset: block.offset, stride: block.rows, transposed };
        let (rows, columns, a, b) = match side {
            Side::Left => (block.columns, sector.columns, u(true), psi),
            Side::Right => (sector.rows, block.columns, psi, u(false)),
        };
        let action = Action::Product { a, b, inner: block.rows };
        let record = Record { action, coefficient: factor, first: 0, stride: rows, rows, columns };
        blocks.push(Some(CentreBlock { offset: stage.push(rows * columns, vec![record]), rows, columns }));
    }
    (blocks, stage)
}
