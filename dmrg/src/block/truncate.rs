//! From the wave function of two enlarged blocks to the kept states of one of them.
//!
//! In: the wave function, the limits, for a noisy sweep the perturbation of the density matrix. Out: the kept states,
//! the wave function in terms of them, the weights.
//!
//! Without noise each sector ψ = U s Vᵀ is decomposed once: U and V are the eigenvectors of both density matrices (White
//! 1992), s² their weights, accurate far below the rounding of a density matrix. With noise the density matrix of the
//! growing block, ρ + (noise / tr P) P, is diagonalised, P = Σ_b A_b ψ ψᵀ A_bᵀ (White, Phys. Rev. B 72, 180403 (2005),
//! equation 5, with the operators that cross the cut), so that states not yet in ψ may enter.
//!
//! Cuts are made between different weights: the states of one multiplet, of which U(1) charges see only the members, stay
//! or go together, as far as the limits allow. If fewer weights exceed rounding than the smallest number of states, all
//! sectors are filled up with states of no weight in proportion: the work of a fixed m.

use super::blocks::{Enlarged, Sectors, Side, WaveLayout};
use super::bundled::SideBySide;
use super::enlarged::{EnlargedOperators, Piece};
use super::projection::{onto_columns, onto_rows};
use super::state::Isometry;
use crate::error::DmrgError;
use eigenforge_runtime::dense::{View, decompose, eigen, multiply_add};
use eigenforge_runtime::records::{Action, Buffers, Operand, OperandSpace, Record, RecordStage, run};
use faer::Mat;
use rayon::prelude::*;
use std::ops::Deref;

/// How many states may stay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TruncationLimits {
    /// Largest number.
    pub most: usize,
    /// Smallest number, however small the weights.
    pub least: usize,
    /// Weight that may be dropped.
    pub discarded: f64,
    /// Where density matrices may take the place of singular values, and factors theirs; `None`: nowhere.
    pub factored: Option<FactorLimits>,
}

impl TruncationLimits {
    /// Whether so many states that stay are as many as may, but for those that a cut between different weights leaves out.
    pub fn are_reached_by(&self, states: usize) -> bool {
        states.saturating_add(self.most / 8) >= self.most
    }
}

/// What the last visit of a bond showed of its weights, and from where on the density matrix of a sector is replaced by a factor of fewer
/// columns, on devices that run kernels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FactorLimits {
    /// Rows.
    pub rows: usize,
    /// About the smallest weight that will stay.
    pub weight: f64,
    /// The same as a part of the largest.
    pub relative: f64,
}

/// Weights closer than this, relatively, belong to one multiplet: Davidson's vectors are accurate to about 1e-6.
const SAME_WEIGHT: f64 = 1e-4;
/// Weights below this are rounding errors.
pub(crate) const NO_WEIGHT: f64 = 1e-30;
/// Eigenvalues of a density matrix below this fraction of the largest are rounding errors.
pub(crate) const ROUNDING: f64 = 1e-16;

/// A matrix of ψ in the kept basis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CentreBlock {
    /// Its first element.
    pub offset: usize,
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
}

/// The wave function in terms of the kept states.
pub struct Centre<B = Vec<f64>> {
    /// For each of its sectors (kept × columns) when the left block is kept, (rows × kept) when the right is; `None` if
    /// nothing is kept.
    pub blocks: Vec<Option<CentreBlock>>,
    /// The elements of all matrices, with norm 1.
    pub data: B,
}

/// The result of a truncation.
pub struct Truncated<B = Vec<f64>> {
    /// The kept states.
    pub kept: Isometry<B>,
    /// ψ in terms of them.
    pub centre: Centre<B>,
    /// Norm² of the dropped part.
    pub discarded: f64,
    /// Weights of the kept states, descending; from the density matrix with its noise in a noisy sweep.
    pub weights: Vec<f64>,
    /// The weights of every sector of the kept block, descending; empty in a noisy sweep, where they are not those of ψ.
    pub spectrum: Vec<Vec<f64>>,
}

impl<B> Truncated<B> {
    /// Moves its numbers to another buffer type.
    ///
    /// # Errors
    /// Errors of `carry`.
    pub fn carried<C, X>(self, mut carry: impl FnMut(B) -> Result<C, X>) -> Result<Truncated<C>, X> {
        let Truncated { kept, centre: Centre { blocks, data }, discarded, weights, spectrum } = self;
        let (kept, data) = (kept.carried(&mut carry)?, carry(data)?);
        Ok(Truncated { kept, centre: Centre { blocks, data }, discarded, weights, spectrum })
    }
}

/// The wave function with its layout and blocks.
pub struct Wave<'a, B = Vec<f64>> {
    /// Its layout.
    pub layout: &'a WaveLayout,
    /// Its elements, of norm 1.
    pub data: &'a B,
    /// The left enlarged block.
    pub left: &'a Enlarged,
    /// The right enlarged block.
    pub right: &'a Enlarged,
}

impl<B> Clone for Wave<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B> Copy for Wave<'_, B> {}

impl<'a, B: Deref<Target = [f64]>> Wave<'a, B> {
    /// The matrix of a sector.
    pub fn sector(&self, index: usize) -> View<'a> {
        let sector = &self.layout.sectors[index];
        View::new(&self.data[sector.offset..][..sector.rows * sector.columns], sector.rows, sector.columns)
    }
}

impl<'a, B> Wave<'a, B> {
    /// The sectors of the enlarged block on a side.
    pub(crate) fn sectors_of(&self, side: Side) -> &'a Sectors {
        match side {
            Side::Left => &self.left.sectors,
            Side::Right => &self.right.sectors,
        }
    }

    /// The sector of that block that belongs to a sector of ψ.
    pub fn block_sector(&self, side: Side, index: usize) -> usize {
        match side {
            Side::Left => self.layout.sectors[index].left,
            Side::Right => self.layout.sectors[index].right,
        }
    }
}

/// How many states of each list of descending weights stay.
pub(crate) fn choose(weights: &[&[f64]], limits: TruncationLimits) -> Vec<usize> {
    let mut all: Vec<(f64, usize)> = Vec::new();
    for (sector, list) in weights.iter().enumerate() {
        all.extend(list.iter().filter(|weight| **weight > NO_WEIGHT).map(|weight| (*weight, sector)));
    }
    // Equal weights are ordered by sector, so that a repeated run keeps the same states.
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut tail: f64 = 0.0;
    let mut by_weight = all.len();
    while by_weight > 0 && tail + all[by_weight - 1].0 <= limits.discarded {
        by_weight -= 1;
        tail += all[by_weight].0;
    }
    let wanted = by_weight.max(limits.least).min(limits.most).min(all.len()).max(1);
    let kept = at_a_gap(&all, wanted, limits);
    let mut counts = vec![0; weights.len()];
    all[..kept.min(all.len())].iter().for_each(|(_, sector)| counts[*sector] += 1);
    if kept >= all.len() {
        fill_up(&mut counts, weights, limits.least.min(limits.most).saturating_sub(all.len()));
    }
    counts
}

/// Adds states without weight from all sectors, in proportion to how many they have.
fn fill_up(counts: &mut [usize], weights: &[&[f64]], wanted: usize) {
    if wanted == 0 {
        return;
    }
    let mut left: Vec<(f64, usize)> = Vec::new();
    for (sector, (count, list)) in counts.iter().zip(weights).enumerate() {
        let empty = list.len() - count;
        left.extend((0..empty).map(|k| ((k as f64 + 0.5) / empty as f64, sector)));
    }
    left.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    left.iter().take(wanted).for_each(|(_, sector)| counts[*sector] += 1);
}

/// The number of states closest to `wanted`, within the limit, that splits no multiplet; `wanted` if there is none near.
fn at_a_gap(all: &[(f64, usize)], wanted: usize, limits: TruncationLimits) -> usize {
    let cuts = |count: usize| count > 0 && count < all.len() && all[count].0 > all[count - 1].0 * (1.0 - SAME_WEIGHT);
    let up = (wanted..=limits.most.min(all.len())).take(wanted / 8 + 2).find(|count| !cuts(*count));
    let down = (wanted - wanted / 8..=wanted).rev().find(|count| *count > 0 && !cuts(*count));
    match (up, down) {
        (Some(count), _) => count,
        (None, Some(count)) if count >= limits.least.min(wanted) => count,
        _ => wanted,
    }
}

/// How many states of each sector would stay if `most` could, where the weights show it: there are clearly more weights
/// than that, or they run out before ψ's rank.
pub(crate) fn foreseen(spectrum: &[Vec<f64>], layout: &WaveLayout, limits: TruncationLimits) -> Option<Vec<usize>> {
    let rank: usize = layout.sectors.iter().map(|sector| sector.rows.min(sector.columns)).sum();
    let count = spectrum.iter().flatten().filter(|weight| **weight > NO_WEIGHT).count();
    let enough = count > limits.most + limits.most / 4 || count + rank / 32 < rank;
    // States without weight do not appear in it.
    let tells = !spectrum.is_empty() && limits.least.min(limits.most) <= count && enough;
    tells.then(|| choose(&spectrum.iter().map(Vec::as_slice).collect::<Vec<_>>(), limits))
}

/// Decomposes every sector of ψ and keeps the best states of the block on `side`.
///
/// # Errors
/// A number is not finite.
pub(crate) fn truncate<B: Deref<Target = [f64]> + Sync>(
    wave: Wave<'_, B>,
    side: Side,
    limits: TruncationLimits,
) -> Result<Truncated, DmrgError> {
    let decomposed = (0..wave.layout.sectors.len())
        .into_par_iter()
        .map(|index| decompose(wave.sector(index)))
        .collect::<Result<Vec<_>, _>>()?;
    let squares: Vec<Vec<f64>> = decomposed.iter().map(|d| d.s.iter().map(|s| s * s).collect()).collect();
    let counts = choose(&squares.iter().map(Vec::as_slice).collect::<Vec<_>>(), limits);
    let own = wave.sectors_of(side);
    let mut matrices = vec![None; own.len()];
    let mut centre = Vec::with_capacity(counts.len());
    let (mut weights, mut dropped) = (Vec::<f64>::new(), 0.0);
    for (index, (found, &count)) in decomposed.iter().zip(&counts).enumerate() {
        weights.extend(&squares[index][..count]);
        dropped += squares[index][count..].iter().sum::<f64>();
        let (keep, other) = if side == Side::Left { (&found.u, &found.v) } else { (&found.v, &found.u) };
        matrices[wave.block_sector(side, index)] = Some(keep.get(.., ..count).to_owned());
        centre.push((count > 0).then(|| match side {
            Side::Left => Mat::from_fn(count, other.nrows(), |i, j| found.s[i] * other[(j, i)]),
            Side::Right => Mat::from_fn(other.nrows(), count, |i, j| found.s[j] * other[(i, j)]),
        }));
    }
    weights.sort_by(|a, b| b.total_cmp(a));
    let (centre, _) = normalised(centre);
    let mut spectrum = vec![Vec::new(); own.len()];
    squares.into_iter().enumerate().for_each(|(index, list)| spectrum[wave.block_sector(side, index)] = list);
    Ok(Truncated { kept: Isometry::new(own, &matrices), centre, discarded: dropped, weights, spectrum })
}

/// The same from the density matrix with a perturbation of relative size `noise`; `buffers` hold `operators`, the
/// operators of the block on `side`.
///
/// # Errors
/// A number is not finite.
pub(crate) fn truncate_with_noise<B: Deref<Target = [f64]>>(
    wave: Wave<'_, B>,
    side: Side,
    limits: TruncationLimits,
    operators: &EnlargedOperators<B>,
    buffers: Buffers<'_>,
    noise: f64,
) -> Result<Truncated, DmrgError> {
    let own = wave.sectors_of(side);
    let mut density = perturbation(wave, side, operators, buffers);
    let trace: f64 = density.iter().enumerate().map(|(q, p)| trace(p, own.dimension(q))).sum();
    let scale = if trace > 0.0 { noise / trace } else { 0.0 };
    density.iter_mut().flatten().for_each(|value| *value *= scale);
    for index in 0..wave.layout.sectors.len() {
        let q = wave.block_sector(side, index);
        let (d, psi) = (own.dimension(q), wave.sector(index));
        let (a, b) = if side == Side::Left { (psi, psi.transpose()) } else { (psi.transpose(), psi) };
        multiply_add(&mut density[q], d, d, d, 1.0, a, b);
    }
    let solve = |q: usize| eigen(View::new(&density[q], own.dimension(q), own.dimension(q)));
    let solved = (0..own.len()).into_par_iter().map(solve).collect::<Result<Vec<_>, _>>()?;
    let descending: Vec<Vec<f64>> = solved.iter().map(|(values, _)| values.iter().rev().copied().collect()).collect();
    let counts = choose(&descending.iter().map(Vec::as_slice).collect::<Vec<_>>(), limits);
    let keep = |q: usize| {
        let vectors = &solved[q].1;
        Mat::from_fn(own.dimension(q), counts[q], |i, j| vectors[(i, own.dimension(q) - 1 - j)])
    };
    let matrices: Vec<Option<Mat<f64>>> = (0..own.len()).map(|q| (counts[q] > 0).then(|| keep(q))).collect();
    let mut weights: Vec<f64> = (0..own.len()).flat_map(|q| descending[q][..counts[q]].iter().copied()).collect();
    weights.sort_by(|a, b| b.total_cmp(a));
    let kept = Isometry::new(own, &matrices);
    let mut centre = Vec::with_capacity(wave.layout.sectors.len());
    for (index, sector) in wave.layout.sectors.iter().enumerate() {
        let onto = |block: &super::state::KeptBlock| {
            let u = View::new(&kept.data[block.offset..][..block.rows * block.columns], block.rows, block.columns);
            let (rows, columns, a, b) = match side {
                Side::Left => (block.columns, sector.columns, u.transpose(), wave.sector(index)),
                Side::Right => (sector.rows, block.columns, wave.sector(index), u),
            };
            let mut c = vec![0.0; rows * columns];
            multiply_add(&mut c, rows, columns, rows, 1.0, a, b);
            Mat::from_fn(rows, columns, |i, j| c[i + j * rows])
        };
        centre.push(kept.block(wave.block_sector(side, index)).map(onto));
    }
    let (centre, square) = normalised(centre);
    Ok(Truncated { kept, centre, discarded: (1.0 - square).max(0.0), weights, spectrum: Vec::new() })
}

/// Scales the matrices to norm 1; also returns the old norm².
pub(crate) fn normalised(matrices: Vec<Option<Mat<f64>>>) -> (Centre, f64) {
    let square = matrices.iter().flatten().map(Mat::squared_norm_l2).sum::<f64>();
    let (factor, mut data) = (square.sqrt().recip(), Vec::new());
    let mut place = |matrix: Mat<f64>| {
        let block = CentreBlock { offset: data.len(), rows: matrix.nrows(), columns: matrix.ncols() };
        (0..block.columns).for_each(|j| data.extend(matrix.col(j).iter().map(|x| x * factor)));
        block
    };
    let blocks = matrices.into_iter().map(|matrix| matrix.map(&mut place)).collect();
    (Centre { blocks, data }, square)
}

fn trace(matrix: &[f64], dimension: usize) -> f64 {
    matrix.iter().step_by(dimension + 1).sum()
}

/// The stages of P = Σ_b A_b ψ ψᵀ A_bᵀ on a side, one group per sector; identities of the whole block are left out.
pub(crate) fn perturbation_stages<B>(
    wave: Wave<'_, B>,
    side: Side,
    operators: &EnlargedOperators<B>,
) -> (RecordStage, RecordStage) {
    weighted_stages(wave, side, operators, |_| 1.0)
}

/// The same with a weight for each operator.
pub(crate) fn weighted_stages<B>(
    wave: Wave<'_, B>,
    side: Side,
    operators: &EnlargedOperators<B>,
    weight: impl Fn(usize) -> f64,
) -> (RecordStage, RecordStage) {
    let own = wave.sectors_of(side);
    let (mut first, mut second) = (RecordStage::default(), RecordStage::default());
    for q in 0..own.len() {
        second.push(own.dimension(q).pow(2), Vec::new());
    }
    // Operators side by side with one weight are taken at once.
    let apart = |members: &Vec<usize>| members.len() < 2 || members.iter().any(|b| weight(*b) != weight(members[0]));
    for (group, members) in operators.groups.iter().enumerate().filter(|(_, members)| !apart(members)) {
        for (index, sector) in wave.layout.sectors.iter().enumerate() {
            let mut onto = |a: SideBySide| match side {
                Side::Left => (a, a.onto_columns(&mut first, (sector.offset, sector.rows, sector.columns))),
                Side::Right => (a, a.onto_rows(&mut first, sector.offset, sector.rows)),
            };
            let parts: Vec<_> = operators.side_by_side(group, wave.block_sector(side, index)).map(&mut onto).collect();
            let inner = members.len() * if side == Side::Left { sector.columns } else { sector.rows };
            for ((a, of_a), (b, of_b)) in parts.iter().flat_map(|one| parts.iter().map(move |other| (one, other))) {
                let (coefficient, stride) = (weight(members[0]), own.dimension(a.row));
                let product = Record::product(*of_a, Operand { transposed: true, ..*of_b }, inner, [a.rows, b.rows]);
                let first = a.first_row + b.first_row * stride;
                second.groups[a.row].records.push(Record { coefficient, first, stride, ..product });
            }
        }
    }
    for b in operators.groups.iter().filter(|members| apart(members)).flatten().copied() {
        for (index, sector) in wave.layout.sectors.iter().enumerate() {
            let Some(block) = operators.block(b, wave.block_sector(side, index)) else { continue };
            let d = own.dimension(block.row);
            if block.row == block.column && is_multiple_of_identity(&block.pieces, d) {
                continue;
            }
            let (length, records): (usize, Vec<Record>) = match side {
                Side::Left => {
                    let onto = |p| onto_columns(p, sector.offset, sector.rows, sector.columns, d);
                    (d * sector.columns, block.pieces.iter().map(onto).collect())
                }
                Side::Right => {
                    let onto = |p| onto_rows(p, sector.offset, sector.rows, sector.rows);
                    (d * sector.rows, block.pieces.iter().map(onto).collect())
                }
            };
            let offset = first.push(length, records);
            let (stride, inner) = if side == Side::Left { (d, sector.columns) } else { (sector.rows, sector.rows) };
            let operand = |transposed| Operand { space: OperandSpace::Between, offset, stride, transposed };
            let (one, other) = (operand(side == Side::Right), operand(side == Side::Left));
            let action = Action::Product { a: one, b: other, inner };
            let record = Record { action, coefficient: weight(b), first: 0, stride: d, rows: d, columns: d };
            second.groups[block.row].records.push(record);
        }
    }
    (first, second)
}

/// Whether the pieces are all of a sector of `d` states, on the diagonal. A site's operator between two of its states is one piece too.
pub(crate) fn is_multiple_of_identity(pieces: &[Piece], d: usize) -> bool {
    matches!(pieces, [piece] if piece.matrix.is_none() && piece.rows == d && piece.first_row == piece.first_column)
}

/// P, one matrix per sector.
fn perturbation<B: Deref<Target = [f64]>>(
    wave: Wave<'_, B>,
    side: Side,
    operators: &EnlargedOperators<B>,
    buffers: Buffers<'_>,
) -> Vec<Vec<f64>> {
    let (first, second) = perturbation_stages(wave, side, operators);
    let (mut between, mut out) = (vec![0.0; first.length], vec![0.0; second.length]);
    let buffers = buffers.set(OperandSpace::Input, wave.data);
    run(&first, buffers, &mut between);
    run(&second, buffers.set(OperandSpace::Between, &between), &mut out);
    second.groups.iter().map(|group| out[group.offset..][..group.length].to_vec()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: TruncationLimits = TruncationLimits { most: 4, least: 1, discarded: 0.0, factored: None };

    #[test]
    fn the_largest_weights_stay_whatever_their_sector() {
        assert_eq!(choose(&[&[0.5, 0.02], &[0.3, 0.1], &[0.05]], LIMITS), [1, 2, 1]);
    }

    #[test]
    fn weight_is_dropped_down_to_the_least_number() {
        let limits = TruncationLimits { discarded: 0.1, ..LIMITS };
        assert_eq!(choose(&[&[0.5, 0.02], &[0.3, 0.1], &[0.05]], limits), [1, 2, 0]);
        assert_eq!(choose(&[&[0.5, 0.02], &[0.3, 0.1], &[0.05]], TruncationLimits { least: 4, ..limits }), [1, 2, 1]);
    }

    #[test]
    fn a_multiplet_at_the_cut_goes_as_a_whole() {
        // Eight states and then a triplet across the limit of 9.
        let singles: Vec<f64> = (0..8).map(|k| 0.1 / f64::from(1 << k)).collect();
        let triplet = [1e-5];
        let lists = [&singles[..], &triplet, &triplet, &triplet];
        assert_eq!(choose(&lists, TruncationLimits { most: 9, ..LIMITS }), [8, 0, 0, 0]);
        assert_eq!(choose(&lists, TruncationLimits { most: 11, ..LIMITS }), [8, 1, 1, 1]);
    }

    #[test]
    fn states_without_weight_fill_up_every_sector_alike() {
        let lists: [&[f64]; 3] = [&[0.5, 1e-40, 0.0, 0.0, 0.0], &[0.4, 0.1], &[0.0, 0.0]];
        assert_eq!(choose(&lists, TruncationLimits { most: 9, ..LIMITS }), [1, 2, 0], "nothing is filled up unasked");
        assert_eq!(choose(&lists, TruncationLimits { most: 9, least: 6, ..LIMITS }), [3, 2, 1]);
        assert_eq!(choose(&lists, TruncationLimits { most: 5, least: 6, ..LIMITS }), [2, 2, 1]);
        assert_eq!(choose(&lists, TruncationLimits { most: 20, least: 20, ..LIMITS }), [5, 2, 2], "there are no more");
        // A limit on the weight does not drop states below the smallest number.
        assert_eq!(choose(&lists, TruncationLimits { most: 9, least: 6, discarded: 0.2, factored: None }), [3, 2, 1]);
    }

    #[test]
    fn a_limit_amid_a_large_multiplet_is_kept_to() {
        let equal = [0.1; 10];
        assert_eq!(choose(&[&equal], LIMITS), [4]);
    }
}
