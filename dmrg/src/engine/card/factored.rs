//! Long sectors by way of a factor: the kept states without a decomposition of the whole density matrix.
//!
//! A sector of n states keeps k of them, a third or less, and a decomposition takes a few times n³ operations, most of them one column
//! after the other. Instead ρ = L Lᵀ + R by Cholesky's method with pivots (Higham 1990; Harbrecht, Peters, Schneider 2012), ended where no diagonal
//! element of R is above a part of the smallest weight that is kept; L has c < n columns. The weights are those of the c × c matrix
//! Lᵀ L = W Θ Wᵀ, decomposed with the short sectors in the same launches. The best k states are L W_k Θ^(-1/2) but for what R has of
//! them, and one step ρ L W_k Θ^(-3/2) of a subspace iteration leaves about a hundredth of that; it is nearly orthonormal already, and
//! Y ← Y (3 − Yᵀ Y) / 2 (Newton and Schulz; Björck, Bowie 1971) makes it so to rounding. All of it but the factor is products.
//!
//! Random density matrices whose weights fall as those of chains discard by it 0.05 to 2 % more than the least that any k states discard
//! where c = 1.25 k, and less where c is larger; chains of several thousand states have c = 1.2 to 1.9 k (docs/notes/dmrg-on-a-card.md).

use crate::block::truncate::FactorLimits;
use crate::engine::Engine;
use eigenforge_runtime::BackendError;
use eigenforge_runtime::backend::{Backend, CholeskyFactor, DeviceBackend, Operands, PivotedCholesky};
use eigenforge_runtime::records::{Action, Operand, OperandSpace, Record, RecordStage};
use eigenforge_runtime::residency::PoolBuffer;

/// A density matrix in a buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Density {
    /// Its first element.
    pub offset: usize,
    /// Rows.
    pub rows: usize,
}

/// What may be left of a diagonal element, and what is trusted, as parts of the smallest weight that is expected to stay, and that does.
const LEFT: f64 = 0.2;
const TRUSTED: f64 = 0.5;
/// Most columns of a factor as a part of the rows: beyond, a decomposition of the whole takes less.
const MOST: f64 = 0.8;
/// Weights of columns that are scaled together differ by less than this.
const TOGETHER: f64 = 1.15;
/// Largest length of a column before it is orthonormal, by which all are divided: it converges below √3.
const LONGEST: f64 = 1.3;
/// Steps towards orthonormal columns; six are usual.
const STEPS: usize = 12;
/// |Yᵀ Y − 1|² (Frobenius) whose next is rounding.
const NEARLY: f64 = 1e-14;

/// The factors of long sectors.
pub(super) struct Factored {
    cholesky: PivotedCholesky,
    /// By density matrix; `None` for those that are decomposed whole.
    of: Vec<Option<usize>>,
}

/// The matrices that are left to decompose, in the order of the sectors: Lᵀ L, and density matrices of the other sectors as they are.
pub(super) struct LeftToDecompose {
    /// All of them.
    pub data: PoolBuffer,
    /// First element and rows of each.
    pub places: Vec<(usize, usize)>,
}

/// Kept states of a long sector.
pub(super) struct Long<'a> {
    /// Number of the density matrix.
    pub index: usize,
    /// First element of the best vector of Lᵀ L, which has as many elements as L columns; the others follow.
    pub vectors: usize,
    /// Their weights, descending, positive.
    pub weights: &'a [f64],
}

fn matrix(space: OperandSpace, offset: usize, stride: usize) -> Operand {
    Operand { space, offset, stride, transposed: false }
}

fn transposed(operand: Operand) -> Operand {
    Operand { transposed: true, ..operand }
}

fn product(a: Operand, b: Operand, inner: usize, coefficient: f64, [rows, columns]: [usize; 2]) -> Record {
    Record { action: Action::Product { a, b, inner }, coefficient, first: 0, stride: rows, rows, columns }
}

fn copy(a: Operand, [rows, columns]: [usize; 2]) -> Record {
    Record { action: Action::Copy { a }, coefficient: 1.0, first: 0, stride: rows, rows, columns }
}

impl Factored {
    /// Factors of the sectors that are long enough, with the matrices that are left to decompose. `None` where no sector is long, or none
    /// has a short factor.
    pub(super) fn new(
        engine: &DeviceBackend,
        densities: &PoolBuffer,
        list: &[Density],
        limits: FactorLimits,
    ) -> Result<Option<(Factored, LeftToDecompose)>, BackendError> {
        let most = |rows: usize| (MOST * rows as f64) as usize;
        let is_long = |rows: usize| rows >= limits.rows.max(2) && engine.factorises(rows, most(rows));
        let long: Vec<usize> = (0..list.len()).filter(|index| is_long(list[*index].rows)).collect();
        if long.is_empty() {
            return Ok(None);
        }
        let places: Vec<_> = long.iter().map(|i| (list[*i].offset, list[*i].rows, most(list[*i].rows))).collect();
        let span = engine.span("factors");
        let cholesky = engine.factorise(densities, &places, LEFT * limits.weight)?;
        drop(span);
        let mut of = vec![None; list.len()];
        for (place, index) in long.iter().enumerate() {
            let CholeskyFactor { columns, stride, .. } = cholesky.factors[place];
            of[*index] = (columns < stride).then_some(place);
        }
        if of.iter().all(Option::is_none) {
            return Ok(None);
        }
        let (mut stage, mut left) = (RecordStage::default(), Vec::with_capacity(list.len()));
        for (density, place) in list.iter().zip(&of) {
            let (size, record) = match place {
                Some(place) => {
                    let factor = &cholesky.factors[*place];
                    let l = matrix(OperandSpace::Left, factor.offset, factor.stride);
                    let size = factor.columns;
                    (size, product(l, transposed(l), density.rows, 1.0, [size, size]))
                }
                None => {
                    let own = matrix(OperandSpace::Right, density.offset, density.rows);
                    (density.rows, copy(own, [density.rows, density.rows]))
                }
            };
            left.push((stage.push(size * size, vec![record]), size));
        }
        let operands = Operands::default().set(OperandSpace::Left, &cholesky.data).set(OperandSpace::Right, densities);
        let data = engine.run(&stage, operands)?;
        Ok(Some((Factored { cholesky, of }, LeftToDecompose { data, places: left })))
    }

    /// Whether a density matrix has a factor.
    pub(super) fn has(&self, index: usize) -> bool {
        self.of[index].is_some()
    }

    /// Whether nothing that is left could matter beside this smallest weight that stays.
    pub(super) fn is_enough_for(&self, smallest: f64) -> bool {
        let factors = self.of.iter().flatten().map(|place| &self.cholesky.factors[*place]);
        factors.fold(0.0f64, |most, factor| most.max(factor.rest)) <= TRUSTED * smallest
    }

    /// The kept states of long sectors, orthonormal, rows × states of each behind those of the one before; `None` if they did not become
    /// so.
    pub(super) fn states(
        &self,
        engine: &DeviceBackend,
        densities: &PoolBuffer,
        list: &[Density],
        vectors: &PoolBuffer,
        long: &[Long<'_>],
    ) -> Result<Option<PoolBuffer>, BackendError> {
        let (mut scaled, mut of_factor, mut step) =
            (RecordStage::default(), RecordStage::default(), RecordStage::default());
        let (mut overlaps, mut next) = (RecordStage::default(), RecordStage::default());
        for Long { index, vectors: first, weights } in long {
            let Some(place) = self.of[*index] else { continue };
            let (Density { offset, rows }, factor) = (list[*index], &self.cholesky.factors[place]);
            let (inner, count) = (factor.columns, weights.len());
            let at = scaled.push(inner * count, scaled_columns(*first, inner, weights, -1.5));
            let l = transposed(matrix(OperandSpace::Left, factor.offset, factor.stride));
            let s = matrix(OperandSpace::Input, at, inner);
            let at = of_factor.push(rows * count, vec![product(l, s, inner, 1.0, [rows, count])]);
            let (density, t) = (matrix(OperandSpace::Right, offset, rows), matrix(OperandSpace::Input, at, rows));
            step.push(rows * count, vec![product(density, t, rows, 1.0 / LONGEST, [rows, count])]);
            let yy = product(transposed(t), t, rows, 1.0, [count, count]);
            let one = Record { action: Action::Diagonal, coefficient: -1.0, ..yy };
            let of = overlaps.push(count * count, vec![yy, one]);
            let overlap = matrix(OperandSpace::Between, of, count);
            let change = product(t, overlap, count, -0.5, [rows, count]);
            next.push(rows * count, vec![copy(t, [rows, count]), change]);
        }
        let columns = engine.run(&scaled, Operands::default().set(OperandSpace::Left, vectors))?;
        let columns = engine.run(&of_factor, input(&columns).set(OperandSpace::Left, &self.cholesky.data))?;
        let mut columns = engine.run(&step, input(&columns).set(OperandSpace::Right, densities))?;
        let _orthonormal = engine.span("orthonormal columns");
        for _ in 0..STEPS {
            let overlap = engine.run(&overlaps, input(&columns))?;
            let error = engine.dot(&overlap, &overlap)?;
            columns = engine.run(&next, input(&columns).set(OperandSpace::Between, &overlap))?;
            if error <= NEARLY {
                return Ok(Some(columns));
            }
        }
        Ok(None)
    }
}

fn input(buffer: &PoolBuffer) -> Operands<'_, PoolBuffer> {
    Operands::default().set(OperandSpace::Input, buffer)
}

/// Copies of vectors times a power of their weights, those of about the same weight together.
pub(super) fn scaled_columns(first: usize, rows: usize, weights: &[f64], power: f64) -> Vec<Record> {
    let (mut records, mut begin) = (Vec::new(), 0);
    while begin < weights.len() {
        let is_near = |weight: &&f64| weights[begin] < TOGETHER * **weight && **weight < TOGETHER * weights[begin];
        let together = weights[begin..].iter().take_while(is_near).count().max(1);
        let mean = (weights[begin] * weights[begin + together - 1]).sqrt();
        let a = matrix(OperandSpace::Left, first + begin * rows, rows);
        let part = Record { coefficient: mean.powf(power), first: begin * rows, ..copy(a, [rows, together]) };
        records.push(part);
        begin += together;
    }
    records
}

#[cfg(test)]
mod tests {
    use super::super::truncate::keep_best;
    use super::*;
    use crate::block::blocks::{Side, WaveLayout, facing};
    use crate::block::truncate::{Truncated, TruncationLimits, Wave};
    use eigenforge_runtime::dense::{View, orthonormal};
    use eigenforge_runtime::seeded::vector;
    use eigenforge_runtime::simulate::Schedule;
    use eigenforge_runtime::testing::card_or_simulated;

    /// ψ of norm 1 whose sectors have singular values exp(-fall (ln i)² / 2) times 1, 1/2, 1/4, …, in random orthonormal states.
    fn falling(layout: &WaveLayout, fall: f64, seed: u64) -> Vec<f64> {
        let mut wave = vec![0.0; layout.length];
        for (index, sector) in layout.sectors.iter().enumerate() {
            let (rows, columns, rank) = (sector.rows, sector.columns, sector.rows.min(sector.columns));
            let states = |n: usize, seed: u64| orthonormal(View::new(&vector(n * rank, seed), n, rank));
            let (u, v) = (states(rows, seed + 2 * index as u64), states(columns, seed + 2 * index as u64 + 1));
            for k in 0..rank {
                let value = (-0.5 * fall * ((1 + k) as f64).ln().powi(2)).exp() * 0.5f64.powi(index as i32);
                for (i, j) in (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))) {
                    wave[sector.offset + i + j * rows] += value * u[(i, k)] * v[(j, k)];
                }
            }
        }
        let norm = wave.iter().map(|x| x * x).sum::<f64>().sqrt();
        wave.iter_mut().for_each(|x| *x /= norm);
        wave
    }

    /// Largest error of the orthonormality of kept states.
    fn overlap_error(found: &Truncated<Vec<f64>>) -> f64 {
        let mut most = 0.0f64;
        for block in &found.kept.blocks {
            let column = |j: usize| &found.kept.data[block.offset + j * block.rows..][..block.rows];
            for (i, j) in (0..block.columns).flat_map(|i| (0..=i).map(move |j| (i, j))) {
                let overlap: f64 = column(i).iter().zip(column(j)).map(|(a, b)| a * b).sum();
                most = most.max((overlap - if i == j { 1.0 } else { 0.0 }).abs());
            }
        }
        most
    }

    /// By factors nearly as little is discarded as by decompositions of the whole, of sectors of every shape and spectra that fall fast
    /// and slowly; what is kept is orthonormal, and ψ in it has norm 1. A factor that is not enough changes no bit of the whole.
    #[test]
    fn memcheck_by_factors_nearly_as_little_is_discarded() {
        let Some(device) = card_or_simulated(Schedule::Forward) else { return };
        let engine = DeviceBackend::new(&device).unwrap();
        let scale = if device.is_cuda() { 9 } else { 1 };
        let sizes = |list: [usize; 4]| list.map(|n| scale * n);
        let mut by_factors = 0;
        for (case, fall) in [0.2, 0.6, 1.5].into_iter().enumerate() {
            let (left, right, total) = facing(&sizes([40, 24, 3, 7]), &sizes([33, 45, 20, 2]));
            let layout = WaveLayout::new(&left.sectors, &right.sectors, total);
            let data = engine.upload(falling(&layout, fall, 10 * case as u64)).unwrap();
            for side in [Side::Left, Side::Right] {
                let wave = Wave { layout: &layout, data: &data, left: &left, right: &right };
                let whole = TruncationLimits { most: 24 * scale, least: 1, discarded: 0.0, factored: None };
                let host = |found: Truncated<PoolBuffer>| {
                    found.carried(|data| engine.download(&data).map(std::borrow::Cow::into_owned)).unwrap()
                };
                let expected = host(keep_best(&engine, wave, side, whole).unwrap());
                let smallest = *expected.weights.last().unwrap();
                for (weight, enough) in [(smallest, true), (1.7 * smallest, true), (1e3 * smallest, false)] {
                    let factored = Some(FactorLimits { rows: 16, weight, relative: 1.0 });
                    let found = host(keep_best(&engine, wave, side, TruncationLimits { factored, ..whole }).unwrap());
                    let said = format!("fall {fall}, {side:?}, weight {weight:e}");
                    if !enough {
                        assert!(found.kept.data == expected.kept.data, "{said}");
                        continue;
                    }
                    by_factors += usize::from(found.kept.data != expected.kept.data);
                    assert!(overlap_error(&found) < 1e-13, "{said}: {:e}", overlap_error(&found));
                    let (discarded, least) = (found.discarded, expected.discarded);
                    assert!(discarded >= least - 1e-13, "{said}: {discarded:e} is less than the least, {least:e}");
                    assert!(discarded <= 1.2 * least + 1e-13, "{said}: {discarded:e} is not {least:e}");
                    let square: f64 = found.centre.data.iter().map(|x| x * x).sum();
                    assert!((square - 1.0).abs() < 1e-13, "{said}: {square}");
                    // Weights of factors are less than those of ψ by what is left in every row at most.
                    let kept: f64 = found.weights.iter().sum();
                    let hidden =
                        0.4 * smallest * layout.sectors.iter().map(|s| s.rows.max(s.columns)).sum::<usize>() as f64;
                    let missing = 1.0 - least - kept;
                    assert!(missing > -1e-12 && missing < hidden, "{said}: {missing:e} of {hidden:e} is missing");
                }
            }
        }
        assert!(by_factors >= 6, "{by_factors} of 12 had factors that were short");
    }
}
