//! Kept states on a device: one decomposition a sector, of which the weights alone come to the host.
//!
//! A sector of ψ whose shorter side is short is decomposed by generated one-sided Jacobi rotations, all such sectors in one
//! launch, small weights as exact as large ones. Of the others the density matrix of the block that grows is diagonalised
//! by the library: ten times quicker than its singular value decomposition, with weights good to the rounding of the
//! largest, so those below are dropped: together they weigh less than what the energy can show. The
//! kept states U are columns of what was decomposed; what is left of ψ is Uᵀψ or ψU, by records.

use super::super::blocks::Side;
use super::super::engine::{Engine, Operands};
use super::super::enlarged::EnlargedOperators;
use super::super::records::{Action, Group, Operand, Record, Space, Stage};
use super::super::state::Isometry;
use super::super::truncate::{Centre, CentreBlock, Limits, Truncated, Wave, choose, perturbation_stages};
use super::{Held, Resident};
use eigenforge_runtime::{Arguments, Device, DeviceError, Eigensolver, Kernel, SymmetricMatrix};
use eigenforge_templates::eigen::{DecompositionSizes, DecompositionsPlan, JOB_WORDS};

/// Weights below this part of the largest are rounding of a density matrix.
const ROUNDING: f64 = 1e-16;

/// The kernels and the library.
pub(super) struct Decomposer {
    kernel: Kernel,
    plan: DecompositionsPlan,
    eigensolver: Eigensolver,
}

/// A matrix to be decomposed: of it the vectors of one side are wanted.
#[derive(Clone, Copy)]
struct Job {
    /// First element in its buffer.
    first: usize,
    rows: usize,
    columns: usize,
    /// Whether the vectors of the right side are wanted.
    right: bool,
}

/// Vectors of several matrices in one buffer; of each matrix where they lie, and the squares of its singular values,
/// descending.
type Decomposed = (Held, Vec<(usize, Vec<f64>)>);

/// The decomposition of one sector of the block that grows.
#[derive(Clone, Default)]
struct Solved {
    /// Descending.
    weights: Vec<f64>,
    /// Which buffer its vectors lie in.
    space: Option<Space>,
    /// First element of its vectors.
    offset: usize,
    /// Whether they lie in ascending order of the weights.
    ascending: bool,
}

impl Solved {
    /// The first element of the best `count` of `all` vectors with `rows` elements.
    fn best(&self, count: usize, all: usize, rows: usize) -> usize {
        self.offset + if self.ascending { (all - count) * rows } else { 0 }
    }
}

impl Decomposer {
    pub(super) fn new(device: &Device) -> Result<Decomposer, DeviceError> {
        let plan = DecompositionsPlan::new("dmrg");
        Ok(Decomposer { kernel: device.compile(&plan.text()?)?, plan, eigensolver: Eigensolver::new(device)? })
    }
}

impl Resident {
    /// Decomposes matrices of `from` with a short side; for each the squares of its singular values, descending, and
    /// where its vectors lie in the buffer.
    fn decompose_small(&self, from: &Held, jobs: &[Job]) -> Result<Decomposed, DeviceError> {
        let mut words: Vec<u64> = Vec::with_capacity(JOB_WORDS * jobs.len());
        let mut sizes = DecompositionSizes { jobs: jobs.len(), matrices: from.len(), work: 0, vectors: 0, values: 0 };
        let mut places = Vec::with_capacity(jobs.len());
        for job in jobs {
            let (long, short) = (job.rows.max(job.columns), job.rows.min(job.columns));
            let height = if job.right { job.columns } else { job.rows };
            let numbers = [job.first, job.rows, job.columns, usize::from(job.right)];
            let numbers = numbers.into_iter().chain([sizes.work, sizes.vectors, sizes.values]);
            words.extend(numbers.map(|number| number as u64));
            places.push((sizes.vectors, sizes.values, short));
            sizes.work += long * short + short * short;
            sizes.vectors += height * short;
            sizes.values += short;
        }
        let mut vectors = self.pool.take(sizes.vectors)?;
        if jobs.is_empty() {
            return Ok((vectors, Vec::new()));
        }
        let (mut work, mut values) = (self.pool.take(sizes.work)?, self.pool.take(sizes.values)?);
        let table = self.device.buffer(&words)?;
        let arguments = Arguments::new()
            .read("matrices", from.vector())
            .read("jobs", &table)
            .write("work", work.vector_mut())
            .write("vectors", vectors.vector_mut())
            .write("values", values.vector_mut());
        self.decomposer.kernel.launch(&self.decomposer.plan.launch(sizes)?, arguments)?;
        let values = values.download()?;
        let of = |(first, value, short): (usize, usize, usize)| (first, values[value..][..short].to_vec());
        Ok((vectors, places.into_iter().map(of).collect()))
    }

    /// Diagonalises matrices in place; for each its eigenvalues, descending.
    fn diagonalise(&self, matrices: &mut Held, list: &[(usize, usize)]) -> Result<Vec<Vec<f64>>, DeviceError> {
        let mut at = 0;
        let place = |(first, size): &(usize, usize)| {
            at += size;
            SymmetricMatrix { first: *first, size: *size, values: at - size }
        };
        let list: Vec<SymmetricMatrix> = list.iter().map(place).collect();
        if list.is_empty() {
            return Ok(Vec::new());
        }
        let mut values = self.pool.take(at)?;
        self.decomposer.eigensolver.solve(&list, matrices.vector_mut(), values.vector_mut())?;
        let values = values.download()?;
        Ok(list.iter().map(|m| values[m.values..][..m.size].iter().rev().copied().collect()).collect())
    }

    /// Decomposes every sector of ψ and keeps the best states of the block on `side`.
    pub(super) fn keep_best(
        &self,
        wave: Wave<'_, Held>,
        side: Side,
        limits: Limits,
    ) -> Result<Truncated<Held>, DeviceError> {
        let own = wave.sectors_of(side);
        let (mut jobs, mut of_jobs, mut of_densities) = (Vec::new(), Vec::new(), Vec::new());
        let (mut list, mut stage) = (Vec::new(), Stage::default());
        for (index, sector) in wave.layout.sectors.iter().enumerate() {
            let q = wave.own(side, index);
            let (rows, columns) = (sector.rows, sector.columns);
            if rows.min(columns) <= self.decomposer.plan.most {
                jobs.push(Job { first: sector.offset, rows, columns, right: side == Side::Right });
                of_jobs.push(q);
            } else {
                let d = own.dimension(q);
                list.push((stage.length, d));
                of_densities.push((q, rows.min(columns)));
                let records = vec![density(side, sector.offset, rows, columns)];
                stage.groups.push(Group { offset: stage.length, length: d * d, records });
                stage.length += d * d;
            }
        }
        let mut densities = self.stage(&stage, Operands::default().with(Space::Input, wave.data))?;
        let (vectors, small) = self.decompose_small(wave.data, &jobs)?;
        let large = self.diagonalise(&mut densities, &list)?;
        let mut solved = vec![Solved::default(); own.len()];
        for (q, (offset, weights)) in of_jobs.into_iter().zip(small) {
            solved[q] = Solved { weights, space: Some(Space::Left), offset, ascending: false };
        }
        let largest = large.iter().filter_map(|weights| weights.first()).fold(0.0f64, |a, b| a.max(*b));
        for (((q, rank), mut weights), (offset, _)) in of_densities.into_iter().zip(large).zip(list) {
            weights.truncate(rank);
            weights.iter_mut().filter(|w| **w < ROUNDING * largest).for_each(|w| *w = 0.0);
            solved[q] = Solved { weights, space: Some(Space::Right), offset, ascending: true };
        }
        self.kept(
            wave,
            side,
            limits,
            &solved,
            Operands::default().with(Space::Left, &vectors).with(Space::Right, &densities),
            false,
        )
    }

    /// The same from the density matrix with a perturbation of relative size `noise`.
    pub(super) fn keep_best_with_noise(
        &self,
        wave: Wave<'_, Held>,
        side: Side,
        limits: Limits,
        operators: &EnlargedOperators<Held>,
        operands: Operands<'_, Held>,
        noise: f64,
    ) -> Result<Truncated<Held>, DeviceError> {
        let own = wave.sectors_of(side);
        let (first, mut second) = perturbation_stages(wave, side, operators);
        let operands = operands.with(Space::Input, wave.data);
        let between = self.stage(&first, operands)?;
        // tr P = Σ_b ‖A_b ψ‖².
        let trace = self.dot(&between, &between).map_err(device_error)?;
        let scale = if trace > 0.0 { noise / trace } else { 0.0 };
        second.groups.iter_mut().flat_map(|g| &mut g.records).for_each(|record| record.coefficient *= scale);
        for (index, sector) in wave.layout.sectors.iter().enumerate() {
            let group = &mut second.groups[wave.own(side, index)];
            group.records.push(density(side, sector.offset, sector.rows, sector.columns));
        }
        let mut densities = self.stage(&second, operands.with(Space::Between, &between))?;
        let most = self.decomposer.plan.most;
        let (few, many): (Vec<usize>, Vec<usize>) = (0..own.len()).partition(|q| own.dimension(*q) <= most);
        let first_of = |q: &usize| second.groups[*q].offset;
        let jobs: Vec<Job> = few
            .iter()
            .map(|q| Job { first: first_of(q), rows: own.dimension(*q), columns: own.dimension(*q), right: false })
            .collect();
        let list: Vec<(usize, usize)> = many.iter().map(|q| (first_of(q), own.dimension(*q))).collect();
        let (vectors, small) = self.decompose_small(&densities, &jobs)?;
        let large = self.diagonalise(&mut densities, &list)?;
        let mut solved = vec![Solved::default(); own.len()];
        for (q, (offset, squares)) in few.into_iter().zip(small) {
            // Singular values of a density matrix are its weights.
            let weights = squares.iter().map(|square| square.sqrt()).collect();
            solved[q] = Solved { weights, space: Some(Space::Left), offset, ascending: false };
        }
        for ((q, weights), (offset, _)) in many.into_iter().zip(large).zip(list) {
            solved[q] = Solved { weights, space: Some(Space::Right), offset, ascending: true };
        }
        self.kept(
            wave,
            side,
            limits,
            &solved,
            Operands::default().with(Space::Left, &vectors).with(Space::Right, &densities),
            true,
        )
    }

    /// Chooses states, gathers them, and expresses ψ in them. With noise the weights are not ψ's own.
    fn kept(
        &self,
        wave: Wave<'_, Held>,
        side: Side,
        limits: Limits,
        solved: &[Solved],
        found: Operands<'_, Held>,
        noisy: bool,
    ) -> Result<Truncated<Held>, DeviceError> {
        let own = wave.sectors_of(side);
        let lists: Vec<&[f64]> = solved.iter().map(|s| s.weights.as_slice()).collect();
        let counts = choose(&lists, limits);
        let tables = Isometry::tables_of(own, &counts);
        let mut gather = Stage::default();
        for block in &tables.blocks {
            let (q, rows, columns) = (block.enlarged_sector, block.rows, block.columns);
            let Some(space) = solved[q].space else { continue };
            let offset = solved[q].best(columns, rows, rows);
            let a = Operand { space, offset, stride: rows, transposed: false };
            let record = Record { action: Action::Copy { a }, coefficient: 1.0, first: 0, stride: rows, rows, columns };
            gather.groups.push(Group { offset: gather.length, length: rows * columns, records: vec![record] });
            gather.length += rows * columns;
        }
        let data = self.stage(&gather, found)?;
        let mut weights: Vec<f64> =
            lists.iter().zip(&counts).flat_map(|(list, n)| list[..*n].iter().copied()).collect();
        weights.sort_by(|a, b| b.total_cmp(a));
        let dropped: f64 = lists.iter().zip(&counts).flat_map(|(list, n)| list[*n..].iter().copied()).sum();
        let factor = if noisy { 1.0 } else { weights.iter().sum::<f64>().sqrt().recip() };
        let (blocks, stage) = centre(wave, side, &tables, factor);
        let operands = Operands::default().with(Space::Input, wave.data).with(Space::Left, &data);
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

/// A device's error inside that of DMRG.
fn device_error(error: super::super::error::DmrgError) -> DeviceError {
    match error {
        super::super::error::DmrgError::Device(error) => error,
        other => DeviceError::Library { library: "DMRG", call: "an inner product", message: other.to_string() },
    }
}

/// ψψᵀ or ψᵀψ of a sector.
fn density(side: Side, offset: usize, rows: usize, columns: usize) -> Record {
    let psi = |transposed| Operand { space: Space::Input, offset, stride: rows, transposed };
    let (d, inner) = if side == Side::Left { (rows, columns) } else { (columns, rows) };
    let (a, b) = (psi(side == Side::Right), psi(side == Side::Left));
    Record { action: Action::Product { a, b, inner }, coefficient: 1.0, first: 0, stride: d, rows: d, columns: d }
}

/// factor Uᵀψ or factor ψU of every sector.
fn centre(wave: Wave<'_, Held>, side: Side, kept: &Isometry<()>, factor: f64) -> (Vec<Option<CentreBlock>>, Stage) {
    let (mut blocks, mut stage) = (Vec::new(), Stage::default());
    for (index, sector) in wave.layout.sectors.iter().enumerate() {
        let Some(block) = kept.block(wave.own(side, index)) else {
            blocks.push(None);
            continue;
        };
        let psi = Operand { space: Space::Input, offset: sector.offset, stride: sector.rows, transposed: false };
        let u = |transposed| Operand { space: Space::Left, offset: block.offset, stride: block.rows, transposed };
        let (rows, columns, a, b) = match side {
            Side::Left => (block.columns, sector.columns, u(true), psi),
            Side::Right => (sector.rows, block.columns, psi, u(false)),
        };
        let action = Action::Product { a, b, inner: block.rows };
        let record = Record { action, coefficient: factor, first: 0, stride: rows, rows, columns };
        blocks.push(Some(CentreBlock { offset: stage.length, rows, columns }));
        stage.groups.push(Group { offset: stage.length, length: rows * columns, records: vec![record] });
        stage.length += rows * columns;
    }
    (blocks, stage)
}

#[cfg(test)]
mod tests {
    use super::super::super::dense::{View, decompose};
    use super::super::test_device;
    use super::*;
    use crate::bench::seeded::vector;

    /// Singular vectors of both sides of matrices of every shape, one of them with values from 1 to 1e-12, one of rank 2.
    #[test]
    fn memcheck_small_matrices_of_every_shape_in_one_launch() {
        let engine = Resident::new(&test_device()).unwrap();
        let shapes = [(1, 1), (1, 9), (9, 1), (5, 5), (12, 7), (7, 12), (33, 20), (40, 64)];
        let (mut data, mut jobs) = (vec![f64::NAN; 7], Vec::new());
        for (k, (rows, columns)) in shapes.into_iter().enumerate() {
            for right in [false, true] {
                jobs.push(Job { first: data.len(), rows, columns, right });
                let (a, b) = (vector(rows * columns, 2 * k as u64), vector(rows * columns, 2 * k as u64 + 1));
                let element = |e: usize| match k {
                    // Columns of falling size; rank 2.
                    4 => a[e] * 10f64.powi(-2 * (e / rows) as i32),
                    5 => a[e % rows] * b[e / rows] + b[e % rows] * a[e / rows],
                    _ => a[e],
                };
                data.extend((0..rows * columns).map(element));
            }
        }
        let from = engine.pool.upload(&data).unwrap();
        let (vectors, found) = engine.decompose_small(&from, &jobs).unwrap();
        let vectors = vectors.download().unwrap();
        for (job, (first, squares)) in jobs.iter().zip(found) {
            let Job { rows, columns, right, .. } = *job;
            let matrix = View::whole(&data[job.first..][..rows * columns], rows, columns);
            let expected = decompose(matrix).unwrap();
            let height = if right { columns } else { rows };
            let name = format!("{rows} x {columns}, right: {right}");
            let largest = expected.s[0];
            for (k, (square, s)) in squares.iter().zip(&expected.s).enumerate() {
                assert!((square.sqrt() - s).abs() < 1e-13 * largest, "{name}: value {k}, {} is not {s}", square.sqrt());
                if *s < 1e-14 * largest {
                    continue;
                }
                let u = &vectors[first + k * height..][..height];
                for (l, t) in expected.s.iter().enumerate().take(k + 1).filter(|(_, t)| **t > 1e-14 * largest) {
                    let other = &vectors[first + l * height..][..height];
                    let overlap: f64 = u.iter().zip(other).map(|(a, b)| a * b).sum();
                    let unit = if l == k { 1.0 } else { 0.0 };
                    assert!((overlap - unit).abs() < 1e-12, "{name}: {k} and {l} ({t}) overlap by {overlap}");
                }
                // ‖Aᵀu‖ or ‖Au‖ is the singular value, small ones to their own size.
                let element = |i: usize, j: usize| data[job.first + i + j * rows];
                let norm: f64 = if right {
                    (0..rows).map(|i| (0..columns).map(|j| element(i, j) * u[j]).sum::<f64>().powi(2)).sum()
                } else {
                    (0..columns).map(|j| (0..rows).map(|i| element(i, j) * u[i]).sum::<f64>().powi(2)).sum()
                };
                assert!((norm.sqrt() - square.sqrt()).abs() < 1e-14 * largest, "{name}: {k}");
            }
        }
    }
}
