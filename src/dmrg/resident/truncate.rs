//! Kept states on a device: one decomposition per sector; only the weights come to the host.
//!
//! The density matrix of the growing block is diagonalised sector by sector, all in the same launches
//! ([`decompose`](super::decompose)). Weights are accurate to the rounding of the largest, so those below that are
//! dropped; together they are too small to affect the energy. The kept states U are its best eigenvectors; ψ becomes Uᵀψ
//! or ψU, by records.

use super::super::backend::{Backend, Operands};
use super::super::blocks::Side;
use super::super::enlarged::EnlargedOperators;
use super::super::records::{Action, Operand, OperandSpace, Record, RecordGroup, RecordStage};
use super::super::state::Isometry;
use super::super::truncate::{
    Centre, CentreBlock, ROUNDING, Truncated, TruncationLimits, Wave, choose, perturbation_stages,
};
use super::decompose::Spectrum;
use super::{DeviceEngine, ResidentBuffer};
use eigenforge_runtime::DeviceError;

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

impl DeviceEngine {
    /// Decomposes every sector of ψ and keeps the best states of the block on `side`.
    pub(super) fn keep_best(
        &self,
        wave: Wave<'_, ResidentBuffer>,
        side: Side,
        limits: TruncationLimits,
    ) -> Result<Truncated<ResidentBuffer>, DeviceError> {
        let own = wave.sectors_of(side);
        let (mut list, mut of_sectors, mut stage) = (Vec::new(), Vec::new(), RecordStage::default());
        for (index, sector) in wave.layout.sectors.iter().enumerate() {
            let q = wave.own(side, index);
            let (rows, columns, d) = (sector.rows, sector.columns, own.dimension(q));
            list.push((stage.length, d));
            of_sectors.push((q, rows.min(columns)));
            let records = vec![density(side, sector.offset, rows, columns)];
            stage.groups.push(RecordGroup { offset: stage.length, length: d * d, records });
            stage.length += d * d;
        }
        let mut densities = self.stage(&stage, Operands::default().with(OperandSpace::Input, wave.data))?;
        let found = self.decompose(&mut densities, &list)?;
        let largest = found.iter().filter_map(|spectrum| spectrum.values.first()).fold(0.0f64, |a, b| a.max(*b));
        let mut solved = vec![Solved::default(); own.len()];
        for (((q, rank), spectrum), (offset, _)) in of_sectors.into_iter().zip(found).zip(list) {
            let Spectrum { values: mut weights, ascending } = spectrum;
            weights.truncate(rank);
            weights.iter_mut().filter(|w| **w < ROUNDING * largest).for_each(|w| *w = 0.0);
            solved[q] = Solved { weights, offset, ascending };
        }
        self.kept(wave, side, limits, &solved, &densities, false)
    }

    /// The same from the density matrix with a perturbation of relative size `noise`.
    pub(super) fn keep_best_with_noise(
        &self,
        wave: Wave<'_, ResidentBuffer>,
        side: Side,
        limits: TruncationLimits,
        operators: &EnlargedOperators<ResidentBuffer>,
        operands: Operands<'_, ResidentBuffer>,
        noise: f64,
    ) -> Result<Truncated<ResidentBuffer>, DeviceError> {
        let own = wave.sectors_of(side);
        let (first, mut second) = perturbation_stages(wave, side, operators);
        let operands = operands.with(OperandSpace::Input, wave.data);
        let between = self.stage(&first, operands)?;
        // tr P = Σ_b ‖A_b ψ‖².
        let trace = self.dot(&between, &between).map_err(device_error)?;
        let scale = if trace > 0.0 { noise / trace } else { 0.0 };
        second.groups.iter_mut().flat_map(|g| &mut g.records).for_each(|record| record.coefficient *= scale);
        for (index, sector) in wave.layout.sectors.iter().enumerate() {
            let group = &mut second.groups[wave.own(side, index)];
            group.records.push(density(side, sector.offset, sector.rows, sector.columns));
        }
        let mut densities = self.stage(&second, operands.with(OperandSpace::Between, &between))?;
        let list: Vec<(usize, usize)> = (0..own.len()).map(|q| (second.groups[q].offset, own.dimension(q))).collect();
        let found = self.decompose(&mut densities, &list)?;
        let of = |(Spectrum { values, ascending }, (offset, _)): (Spectrum, &(usize, usize))| Solved {
            weights: values,
            offset: *offset,
            ascending,
        };
        let solved: Vec<Solved> = found.into_iter().zip(&list).map(of).collect();
        self.kept(wave, side, limits, &solved, &densities, true)
    }

    /// Chooses states, gathers them, and expresses ψ in them. With noise the weights are not those of ψ.
    fn kept(
        &self,
        wave: Wave<'_, ResidentBuffer>,
        side: Side,
        limits: TruncationLimits,
        solved: &[Solved],
        vectors: &ResidentBuffer,
        noisy: bool,
    ) -> Result<Truncated<ResidentBuffer>, DeviceError> {
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
            gather.groups.push(RecordGroup { offset: gather.length, length: rows * columns, records: vec![record] });
            gather.length += rows * columns;
        }
        let data = self.stage(&gather, Operands::default().with(OperandSpace::Left, vectors))?;
        let mut weights: Vec<f64> =
            lists.iter().zip(&counts).flat_map(|(list, n)| list[..*n].iter().copied()).collect();
        weights.sort_by(|a, b| b.total_cmp(a));
        let dropped: f64 = lists.iter().zip(&counts).flat_map(|(list, n)| list[*n..].iter().copied()).sum();
        let factor = if noisy { 1.0 } else { weights.iter().sum::<f64>().sqrt().recip() };
        let (blocks, stage) = centre(wave, side, &tables, factor);
        let operands = Operands::default().with(OperandSpace::Input, wave.data).with(OperandSpace::Left, &data);
        let mut centre = Centre { blocks, data: self.stage(&stage, operands)? };
        let mut discarded = dropped.max(0.0);
        if noisy {
            let square = self.dot(&centre.data, &centre.data).map_err(device_error)?;
            discarded = (1.0 - square).max(0.0);
            let (blocks, stage) = self::centre(wave, side, &tables, square.sqrt().recip());
            centre = Centre { blocks, data: self.stage(&stage, operands)? };
        }
        let kept = tables.carried(|()| Ok::<_, DeviceError>(data))?;
        let spectrum = if noisy { Vec::new() } else { solved.iter().map(|sector| sector.weights.clone()).collect() };
        Ok(Truncated { kept, centre, discarded, weights, spectrum })
    }
}

/// Converts DMRG's error to the device error it contains.
fn device_error(error: super::super::error::DmrgError) -> DeviceError {
    match error {
        super::super::error::DmrgError::Device(error) => error,
        other => DeviceError::Library { library: "DMRG", call: "an inner product", message: other.to_string() },
    }
}

/// ψψᵀ or ψᵀψ of a sector.
fn density(side: Side, offset: usize, rows: usize, columns: usize) -> Record {
    let psi = |transposed| Operand { space: OperandSpace::Input, offset, stride: rows, transposed };
    let (d, inner) = if side == Side::Left { (rows, columns) } else { (columns, rows) };
    let (a, b) = (psi(side == Side::Right), psi(side == Side::Left));
    Record { action: Action::Product { a, b, inner }, coefficient: 1.0, first: 0, stride: d, rows: d, columns: d }
}

/// factor Uᵀψ or factor ψU of every sector.
fn centre(
    wave: Wave<'_, ResidentBuffer>,
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
        blocks.push(Some(CentreBlock { offset: stage.length, rows, columns }));
        stage.groups.push(RecordGroup { offset: stage.length, length: rows * columns, records: vec![record] });
        stage.length += rows * columns;
    }
    (blocks, stage)
}
