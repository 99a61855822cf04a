//! Kept states by the smaller density matrix of each sector: products, and decompositions of half the size and less.
//!
//! In: ψ, limits on what stays, and from the last visit of the bond that weights far below the largest do not matter. Out: the kept
//! states, or nothing where the weights turn out to reach the rounding of a density matrix, whose sector is then
//! [decomposed](super::truncate) by singular values.
//!
//! Of a sector of r × c the smaller of ψ ψᵀ and ψᵀ ψ = W Λ Wᵀ is decomposed. The kept states of the smaller side are the best columns of
//! W; those of the larger are ψ W Λ^(−1/2), a step of a subspace iteration from the states of the other block, made orthonormal by steps
//! of Newton and Schulz, Y ← Y (3 − Yᵀ Y) / 2 (Björck, Bowie 1971). Weights are good to the rounding of the largest.

use super::blocks::{PairedSector, Side};
use super::state::Isometry;
use super::truncate::{Truncated, TruncationLimits, Wave, choose, normalised};
use crate::error::DmrgError;
use eigenforge_runtime::dense::{View, eigen, multiply_add};
use faer::Mat;
use rayon::prelude::*;
use std::ops::Deref;

/// The smallest weight that stays as a part of the largest: of weights below, density matrices have only rounding. Just above, states
/// that stay are mixed with some that do not, which costs a part of a weight that small.
pub(crate) const PRECISE: f64 = 1e-15;
/// ‖Yᵀ Y − 1‖² whose next is rounding.
const NEARLY: f64 = 1e-15;
/// Steps towards orthonormal states; two are usual.
const STEPS: usize = 8;

/// A sector's smaller density matrix, decomposed.
struct Decomposed {
    /// Eigenvalues, descending.
    weights: Vec<f64>,
    /// Its eigenvectors, ascending.
    vectors: Mat<f64>,
}

fn product(a: View<'_>, b: View<'_>, [rows, columns]: [usize; 2]) -> Vec<f64> {
    let mut c = vec![0.0; rows * columns];
    multiply_add(&mut c, rows, columns, rows, 1.0, a, b);
    c
}

fn decomposed(psi: View<'_>, sector: &PairedSector) -> Result<Decomposed, DmrgError> {
    let (n, gram) = match sector.rows <= sector.columns {
        true => (sector.rows, product(psi, psi.transpose(), [sector.rows; 2])),
        false => (sector.columns, product(psi.transpose(), psi, [sector.columns; 2])),
    };
    let (values, vectors) = eigen(View::new(&gram, n, n))?;
    Ok(Decomposed { weights: values.into_iter().rev().map(|value| value.max(0.0)).collect(), vectors })
}

/// The best `count` vectors of a density matrix in the block that is kept, (rows, elements); `None` if they did not become orthonormal.
fn states(psi: View<'_>, found: &Decomposed, side: Side, count: usize) -> Option<(usize, Vec<f64>)> {
    let n = found.vectors.nrows();
    let smaller = if psi.rows <= psi.columns { Side::Left } else { Side::Right };
    let scaled = |k: usize, factor: f64| found.vectors.col(n - 1 - k).iter().map(move |x| factor * x);
    if smaller == side {
        return Some((n, (0..count).flat_map(|k| scaled(k, 1.0)).collect()));
    }
    let (own, rows) = if side == Side::Left { (psi, psi.rows) } else { (psi.transpose(), psi.columns) };
    let columns: Vec<f64> = (0..count).flat_map(|k| scaled(k, found.weights[k].sqrt().recip())).collect();
    let mut y = product(own, View::new(&columns, n, count), [rows, count]);
    for _ in 0..STEPS {
        let view = View::new(&y, rows, count);
        let mut overlap = product(view.transpose(), view, [count, count]);
        (0..count).for_each(|k| overlap[k + k * count] -= 1.0);
        let error: f64 = overlap.iter().map(|x| x * x).sum();
        let mut next = y.clone();
        multiply_add(&mut next, rows, count, rows, -0.5, view, View::new(&overlap, count, count));
        y = next;
        if error <= NEARLY {
            return Some((rows, y));
        }
    }
    None
}

/// Keeps the best states of the block on `side` by density matrices. `None` where their rounding matters, or nothing is dropped.
///
/// # Errors
/// A number is not finite.
pub(crate) fn truncate_thin<B: Deref<Target = [f64]> + Sync>(
    wave: Wave<'_, B>,
    side: Side,
    limits: TruncationLimits,
) -> Result<Option<Truncated>, DmrgError> {
    let sectors = &wave.layout.sectors;
    let of = |index: usize| decomposed(wave.sector(index), &sectors[index]);
    let found = (0..sectors.len()).into_par_iter().map(of).collect::<Result<Vec<_>, _>>()?;
    let lists: Vec<&[f64]> = found.iter().map(|found| found.weights.as_slice()).collect();
    let counts = choose(&lists, limits);
    let largest = lists.iter().filter_map(|list| list.first()).fold(0.0f64, |most, weight| most.max(*weight));
    let stay = || lists.iter().zip(&counts).filter(|(_, count)| **count > 0).map(|(list, count)| list[count - 1]);
    let all: usize = lists.iter().map(|list| list.len()).sum();
    let total = counts.iter().sum::<usize>();
    if total == all || !limits.are_reached_by(total) || stay().any(|weight| weight <= PRECISE * largest) {
        return Ok(None);
    }
    let kept = |index: usize| match counts[index] {
        0 => Some(None),
        count => {
            let (psi, (rows, y)) =
                (wave.sector(index), states(wave.sector(index), &found[index], side, counts[index])?);
            let view = View::new(&y, rows, count);
            let size @ [height, width] = if side == Side::Left { [count, psi.columns] } else { [psi.rows, count] };
            let centre = match side {
                Side::Left => product(view.transpose(), psi, size),
                Side::Right => product(psi, view, size),
            };
            let centre = Mat::from_fn(height, width, |i, j| centre[i + j * height]);
            Some(Some((Mat::from_fn(rows, count, |i, j| y[i + j * rows]), centre)))
        }
    };
    let Some(kept) = (0..sectors.len()).into_par_iter().map(kept).collect::<Option<Vec<_>>>() else { return Ok(None) };
    let own = wave.sectors_of(side);
    let (mut matrices, mut centre) = (vec![None; own.len()], Vec::with_capacity(sectors.len()));
    for (index, found) in kept.into_iter().enumerate() {
        let (states, of_psi) = found.unzip();
        matrices[wave.block_sector(side, index)] = states;
        centre.push(of_psi);
    }
    let (mut weights, mut discarded, mut spectrum) = (Vec::<f64>::new(), 0.0, vec![Vec::new(); own.len()]);
    for (index, (Decomposed { weights: list, .. }, count)) in found.into_iter().zip(counts).enumerate() {
        weights.extend(&list[..count]);
        discarded += list[count..].iter().sum::<f64>();
        spectrum[wave.block_sector(side, index)] = list;
    }
    weights.sort_by(|a, b| b.total_cmp(a));
    let (centre, _) = normalised(centre);
    Ok(Some(Truncated { kept: Isometry::new(own, &matrices), centre, discarded, weights, spectrum }))
}

#[cfg(test)]
mod tests {
    use super::super::blocks::{WaveLayout, facing};
    use super::super::truncate::truncate;
    use super::*;
    use eigenforge_runtime::seeded::vector;

    /// Sectors of every shape with weights that fall: what stays is what singular values keep, to the rounding of the weights.
    #[test]
    fn thin_sectors_keep_what_singular_values_keep() {
        let (left, right, total) = facing(&[40, 24, 9], &[31, 45, 9]);
        let layout = WaveLayout::new(&left.sectors, &right.sectors, total);
        let mut data = vec![0.0; layout.length];
        for (index, sector) in layout.sectors.iter().enumerate() {
            let rank = sector.rows.min(sector.columns);
            let (x, y) =
                (vector(sector.rows * rank, 5 + index as u64), vector(sector.columns * rank, 50 + index as u64));
            let scaled: Vec<f64> =
                x.iter().enumerate().map(|(e, x)| x * 0.6f64.powi((e / sector.rows) as i32)).collect();
            let (x, y) = (View::new(&scaled, sector.rows, rank), View::new(&y, sector.columns, rank));
            data[sector.offset..][..sector.rows * sector.columns].copy_from_slice(&product(
                x,
                y.transpose(),
                [sector.rows, sector.columns],
            ));
        }
        let norm = data.iter().map(|x| x * x).sum::<f64>().sqrt();
        data.iter_mut().for_each(|x| *x /= norm);
        for side in [Side::Left, Side::Right] {
            let wave = Wave { layout: &layout, data: &data, left: &left, right: &right };
            let limits = TruncationLimits { most: 30, least: 1, discarded: 0.0, factored: None };
            let (found, expected) =
                (truncate_thin(wave, side, limits).unwrap().unwrap(), truncate(wave, side, limits).unwrap());
            assert_eq!(found.kept.kept, expected.kept.kept);
            assert!(expected.discarded > 1e-9 && (found.discarded - expected.discarded).abs() < 1e-14, "{side:?}");
            let square: f64 = found.centre.data.iter().map(|x| x * x).sum();
            assert!((square - 1.0).abs() < 1e-13, "{square}");
            for (own, other) in found.kept.blocks.iter().zip(&expected.kept.blocks) {
                let of = |kept: &Truncated, block: &super::super::state::KeptBlock| {
                    Mat::from_fn(block.rows, block.columns, |i, j| kept.kept.data[block.offset + i + j * block.rows])
                };
                let (y, u) = (of(&found, own), of(&expected, other));
                let overlap = y.transpose() * &y;
                let both = u.transpose() * &y;
                for (i, j) in (0..own.columns).flat_map(|i| (0..own.columns).map(move |j| (i, j))) {
                    let one = if i == j { 1.0 } else { 0.0 };
                    assert!((overlap[(i, j)] - one).abs() < 1e-13, "{side:?} {i} {j}");
                }
                // The same space: every column has norm 1 in the other's.
                (0..own.columns)
                    .for_each(|j| assert!((both.col(j).squared_norm_l2() - 1.0).abs() < 1e-6, "{side:?} {j}"));
            }
            let all = TruncationLimits { most: 1000, ..limits };
            assert!(truncate_thin(wave, side, all).unwrap().is_none(), "nothing is dropped");
        }
    }
}
