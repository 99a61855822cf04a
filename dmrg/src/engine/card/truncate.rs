//! Kept states on a device: one decomposition per sector; only the weights come to the host.
//!
//! The density matrix of the growing block is diagonalised sector by sector, all in the same launches
//! ([`DeviceBackend::decompose`]), long ones by way of a factor (`factored.rs`). Weights are accurate to the rounding of the largest, so those below that are
//! dropped; together they are too small to affect the energy. The kept states U are its best eigenvectors; ψ becomes Uᵀψ
//! or ψU, by records.

use super::Engine;
use super::factored::{Density, Factored, Long};
use crate::block::blocks::Side;
use crate::block::enlarged::EnlargedOperators;
use crate::block::state::{Isometry, KeptBlock};
use crate::block::truncate::{
    Centre, CentreBlock, FactorLimits, ROUNDING, Truncated, TruncationLimits, Wave, choose, perturbation_stages,
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
    /// Rows of its vectors, and vectors: of the density matrix, or columns of its factor.
    rows: usize,
    /// Whether the vectors are in ascending order of the weights.
    ascending: bool,
    /// The number of its density matrix.
    index: usize,
}

impl Solved {
    /// The first element of the best `count` vectors.
    fn best(&self, count: usize) -> usize {
        self.offset + if self.ascending { (self.rows - count) * self.rows } else { 0 }
    }
}

/// The largest part of a block's states that stay where factors of its density matrices pay.
const KEPT: f64 = 0.4;

/// Weights of factors are precise to the rounding of the largest; those that matter must be far above.
const PRECISE: f64 = 1e-13;

/// Density matrices of the growing block.
struct Densities {
    /// All of them.
    data: PoolBuffer,
    /// Their places.
    list: Vec<Density>,
    /// The sector of the block and the rank of each.
    of: Vec<(usize, usize)>,
}

/// Their decompositions.
struct Decomposed {
    /// By sector of the block.
    solved: Vec<Solved>,
    /// The vectors, if they are not where the density matrices were.
    vectors: Option<PoolBuffer>,
    /// Factors of long sectors.
    factored: Option<Factored>,
}

/// Decomposes every sector of ψ and keeps the best states of the block on `side`.
pub(super) fn keep_best(
    engine: &DeviceBackend,
    wave: Wave<'_, PoolBuffer>,
    side: Side,
    limits: TruncationLimits,
) -> Result<Truncated<PoolBuffer>, BackendError> {
    let own = wave.sectors_of(side);
    let (mut list, mut of, mut stage) = (Vec::new(), Vec::new(), RecordStage::default());
    for (index, sector) in wave.layout.sectors.iter().enumerate() {
        let q = wave.block_sector(side, index);
        let (rows, columns, d) = (sector.rows, sector.columns, own.dimension(q));
        list.push(Density { offset: stage.push(d * d, vec![density(side, sector.offset, rows, columns)]), rows: d });
        of.push((q, rows.min(columns)));
    }
    let data = engine.run(&stage, Operands::default().set(OperandSpace::Input, wave.data))?;
    choose_states(engine, wave, side, limits, Densities { data, list, of }, false)
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
    let operands = operands.set(OperandSpace::Input, wave.data);
    let between = engine.run(&first, operands)?;
    // tr P = Σ_b ‖A_b ψ‖².
    let trace = engine.dot(&between, &between)?;
    let scale = if trace > 0.0 { noise / trace } else { 0.0 };
    second.groups.iter_mut().flat_map(|g| &mut g.records).for_each(|record| record.coefficient *= scale);
    for (index, sector) in wave.layout.sectors.iter().enumerate() {
        let group = &mut second.groups[wave.block_sector(side, index)];
        group.records.push(density(side, sector.offset, sector.rows, sector.columns));
    }
    let data = engine.run(&second, operands.set(OperandSpace::Between, &between))?;
    let list = (0..own.len()).map(|q| Density { offset: second.groups[q].offset, rows: own.dimension(q) }).collect();
    let of = (0..own.len()).map(|q| (q, own.dimension(q))).collect();
    choose_states(engine, wave, side, limits, Densities { data, list, of }, true)
}

/// Weights and vectors of all sectors; long ones by their factors where the limits allow it.
fn decomposed(
    engine: &DeviceBackend,
    densities: &mut Densities,
    sectors: usize,
    limits: TruncationLimits,
    noisy: bool,
) -> Result<Decomposed, BackendError> {
    // Of two states of a spin one stays, of four of an electron one: there the factor is short enough to pay.
    let rows: usize = densities.list.iter().map(|density| density.rows).sum();
    let pays = |of: &FactorLimits| of.relative > PRECISE && limits.most as f64 <= KEPT * rows as f64;
    let factored = match limits.factored.filter(pays) {
        Some(limits) => Factored::new(engine, &densities.data, &densities.list, limits)?,
        None => None,
    };
    let (factored, mut vectors, places) = match factored {
        Some((factored, left)) => (Some(factored), Some(left.data), left.places),
        None => (None, None, densities.list.iter().map(|density| (density.offset, density.rows)).collect()),
    };
    let decomposing = engine.span("decompositions");
    let found = engine.decompose(vectors.as_mut().unwrap_or(&mut densities.data), &places)?;
    drop(decomposing);
    let largest = found.iter().filter_map(|spectrum| spectrum.values.first()).fold(0.0f64, |a, b| a.max(*b));
    let mut solved = vec![Solved::default(); sectors];
    for (index, (MatrixSpectrum { values: mut weights, ascending }, (offset, rows))) in
        found.into_iter().zip(places).enumerate()
    {
        let (q, rank) = densities.of[index];
        weights.truncate(rank);
        let factored = factored.as_ref().is_some_and(|factored| factored.has(index));
        if !noisy || factored {
            weights.iter_mut().filter(|w| **w < ROUNDING * largest).for_each(|w| *w = 0.0);
        }
        solved[q] = Solved { weights, offset, rows, ascending, index };
    }
    Ok(Decomposed { solved, vectors, factored })
}

/// Chooses states, gathers them, and expresses ψ in them. With noise the weights are not those of ψ.
fn choose_states(
    engine: &DeviceBackend,
    wave: Wave<'_, PoolBuffer>,
    side: Side,
    limits: TruncationLimits,
    mut densities: Densities,
    noisy: bool,
) -> Result<Truncated<PoolBuffer>, BackendError> {
    let own = wave.sectors_of(side);
    let whole = TruncationLimits { factored: None, ..limits };
    let mut found = decomposed(engine, &mut densities, own.len(), limits, noisy)?;
    let (counts, tables, data) = loop {
        let Decomposed { solved, vectors, factored } = &found;
        let vectors = vectors.as_ref().unwrap_or(&densities.data);
        let lists: Vec<&[f64]> = solved.iter().map(|s| s.weights.as_slice()).collect();
        let counts = choose(&lists, limits);
        let tables = Isometry::tables_of(own, &counts);
        let states = match factored {
            None => Some(gathered(engine, &tables, solved, vectors, None)?),
            // Where fewer stay than may, a factor may have hidden others.
            Some(factored) if limits.are_reached_by(counts.iter().sum()) => {
                by_factors(engine, &densities, &tables, solved, vectors, factored)?
            }
            Some(_) => None,
        };
        match states {
            Some(data) => break (counts, tables, data),
            None => found = decomposed(engine, &mut densities, own.len(), whole, noisy)?,
        }
    };
    let Decomposed { solved, factored, .. } = found;
    let (mut weights, mut dropped) = (Vec::new(), 0.0);
    for (sector, count) in solved.iter().zip(counts) {
        let (kept, left) = sector.weights.split_at(count);
        weights.extend_from_slice(kept);
        dropped += left.iter().sum::<f64>();
    }
    weights.sort_by(|a, b| b.total_cmp(a));
    // The weights of factors are a little less than those of ψ in the states that they gave.
    let measured = noisy || factored.is_some();
    let factor = if measured { 1.0 } else { weights.iter().sum::<f64>().sqrt().recip() };
    let (blocks, stage) = centre_of(wave, side, &tables, factor);
    let operands = Operands::default().set(OperandSpace::Input, wave.data).set(OperandSpace::Left, &data);
    let mut centre = Centre { blocks, data: engine.run(&stage, operands)? };
    let mut discarded = dropped.max(0.0);
    if measured {
        let square = engine.dot(&centre.data, &centre.data)?;
        discarded = (1.0 - square).max(0.0);
        let (blocks, stage) = centre_of(wave, side, &tables, square.sqrt().recip());
        centre = Centre { blocks, data: engine.run(&stage, operands)? };
    }
    let kept = tables.carried(|()| Ok::<_, BackendError>(data))?;
    let spectrum = if noisy { Vec::new() } else { solved.into_iter().map(|sector| sector.weights).collect() };
    Ok(Truncated { kept, centre, discarded, weights, spectrum })
}

/// The chosen vectors of all sectors, or where they are given those of long ones.
fn gathered(
    engine: &DeviceBackend,
    tables: &Isometry<()>,
    solved: &[Solved],
    vectors: &PoolBuffer,
    long: Option<(&Factored, &PoolBuffer)>,
) -> Result<PoolBuffer, BackendError> {
    let (mut gather, mut of_long) = (RecordStage::default(), 0);
    for KeptBlock { enlarged_sector, rows, columns, .. } in &tables.blocks {
        let sector = &solved[*enlarged_sector];
        let (space, offset) = match long {
            Some((factored, _)) if factored.has(sector.index) => (OperandSpace::Right, of_long),
            _ => (OperandSpace::Left, sector.best(*columns)),
        };
        if space == OperandSpace::Right {
            of_long += rows * columns;
        }
        let a = Operand { space, offset, stride: *rows, transposed: false };
        let (rows, columns) = (*rows, *columns);
        let record = Record { action: Action::Copy { a }, coefficient: 1.0, first: 0, stride: rows, rows, columns };
        gather.push(rows * columns, vec![record]);
    }
    let mut operands = Operands::default().set(OperandSpace::Left, vectors);
    if let Some((_, states)) = long {
        operands = operands.set(OperandSpace::Right, states);
    }
    engine.run(&gather, operands)
}

/// The chosen states where long sectors have factors; `None` where the factors do not suffice for them.
fn by_factors(
    engine: &DeviceBackend,
    densities: &Densities,
    tables: &Isometry<()>,
    solved: &[Solved],
    vectors: &PoolBuffer,
    factored: &Factored,
) -> Result<Option<PoolBuffer>, BackendError> {
    let kept = |block: &KeptBlock| {
        let sector = &solved[block.enlarged_sector];
        Long { index: sector.index, vectors: sector.best(block.columns), weights: &sector.weights[..block.columns] }
    };
    let all: Vec<Long<'_>> = tables.blocks.iter().map(kept).collect();
    let smallest = all.iter().filter_map(|kept| kept.weights.last()).fold(f64::INFINITY, |least, w| least.min(*w));
    if !factored.is_enough_for(smallest) {
        return Ok(None);
    }
    let _states = engine.span("states of factors");
    let long: Vec<Long<'_>> = all.into_iter().filter(|kept| factored.has(kept.index)).collect();
    let states = factored.states(engine, &densities.data, &densities.list, vectors, &long)?;
    let Some(states) = states else { return Ok(None) };
    gathered(engine, tables, solved, vectors, Some((factored, &states))).map(Some)
}

/// ψψᵀ or ψᵀψ of a sector.
pub(super) fn density(side: Side, offset: usize, rows: usize, columns: usize) -> Record {
    let psi = |transposed| Operand { space: OperandSpace::Input, offset, stride: rows, transposed };
    let (d, inner) = if side == Side::Left { (rows, columns) } else { (columns, rows) };
    let (a, b) = (psi(side == Side::Right), psi(side == Side::Left));
    Record { action: Action::Product { a, b, inner }, coefficient: 1.0, first: 0, stride: d, rows: d, columns: d }
}

/// factor Uᵀψ or factor ψU of every sector.
pub(super) fn centre_of(
    wave: Wave<'_, PoolBuffer>,
    side: Side,
    kept: &Isometry<()>,
    factor: f64,
) -> (Vec<Option<CentreBlock>>, RecordStage) {
    let (mut blocks, mut stage) = (Vec::new(), RecordStage::default());
    for (index, sector) in wave.layout.sectors.iter().enumerate() {
        let Some(block) = kept.block(wave.block_sector(side, index)) else {
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
