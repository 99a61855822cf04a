//! Decompositions and factors of matrices on several cards: whole matrices, by the cube of their rows.
//!
//! In: matrices in a buffer of the first card. Out: as on one card. The others get copies of theirs, work on them at the same time, and what
//! they found comes back. Matrices of fewer rows than are worth that stay with the first card.

use super::cards::{Lent, OtherCards};
use super::eigenvectors::{CholeskyFactor, Decomposer, MatrixSpectrum, PivotedCholesky};
use super::one_card::OneCard;
use crate::device::{Arrival, CopiedRun, Mover, Vector};
use crate::error::{BackendError, DeviceError};
use crate::residency::{Pool, PoolBuffer};
use std::sync::Arc;

/// Matrices that were handed out.
struct HandedOut {
    /// The numbers of those of each card, the first card's first.
    shares: Vec<Vec<usize>>,
    /// First element and rows of each, by card, where it lies there.
    places: Vec<Vec<(usize, usize)>>,
    /// Memory of the other cards.
    lent: Vec<Lent>,
}

/// The card of each matrix: large ones by the cube of their rows, the largest first; the others stay with the first.
fn owners(rows: &[usize], least_rows: usize, cards: usize) -> Vec<usize> {
    let (mut owners, mut loads) = (vec![0; rows.len()], vec![0.0f64; cards]);
    let mut order: Vec<usize> = (0..rows.len()).filter(|k| rows[*k] >= least_rows.max(1)).collect();
    order.sort_by_key(|k| std::cmp::Reverse(rows[*k]));
    for k in order {
        let least = (0..cards).min_by(|a, b| loads[*a].total_cmp(&loads[*b])).unwrap_or(0);
        loads[least] += (rows[k] as f64).powi(3);
        owners[k] = least;
    }
    owners
}

impl OtherCards {
    /// Copies the matrices of the other cards, given by first element and rows, to them.
    fn hand_out(&self, matrices: &Vector<f64>, list: &[(usize, usize)]) -> Result<HandedOut, DeviceError> {
        let rows: Vec<usize> = list.iter().map(|(_, rows)| *rows).collect();
        let owners = owners(&rows, self.least_rows, 1 + self.count());
        let of = |card: usize| -> Vec<usize> { (0..list.len()).filter(|k| owners[*k] == card).collect() };
        let shares: Vec<Vec<usize>> = (0..=self.count()).map(of).collect();
        let (mut places, mut lent, mut runs) = (Vec::new(), Vec::new(), Vec::new());
        for (card, share) in shares.iter().enumerate() {
            let (mut at, mut own, mut copied) = (0, Vec::new(), Vec::<CopiedRun>::new());
            for (first, rows) in share.iter().map(|k| list[*k]) {
                own.push((if card == 0 { first } else { at }, rows));
                copied.push([first, at, rows * rows]);
                at += rows * rows;
            }
            places.push(own);
            if card > 0 {
                lent.push(self.lend(card, at)?);
                runs.push(copied);
            }
        }
        let mut arrivals = Vec::with_capacity(lent.len());
        for (number, (target, runs)) in lent.iter_mut().zip(runs).enumerate() {
            let (card, target, sources) = (1 + number, target.vector_mut(), vec![(0, matrices, runs)]);
            arrivals.push(Arrival { card, target, sources, mover: Mover::Source });
        }
        self.links.run(&mut arrivals)?;
        Ok(HandedOut { shares, places, lent })
    }
}

/// What each card finds, the first card's first, all at the same time.
fn on_each<R: Send>(
    first: impl FnOnce() -> Result<R, DeviceError>,
    others: &OtherCards,
    lent: &mut [Lent],
    places: &[Vec<(usize, usize)>],
    work: impl Fn(usize, &Decomposer, &Arc<Pool>, &mut Vector<f64>, &[(usize, usize)]) -> Result<R, DeviceError> + Sync,
) -> Result<Vec<R>, DeviceError> {
    std::thread::scope(|scope| {
        let (work, cards) = (&work, others.cards.iter().zip(lent).zip(&places[1..]).enumerate());
        let begun: Vec<_> = cards
            .map(|(card, ((own, lent), places))| {
                let (decomposer, pool) = (&own.decomposer, &own.pool);
                scope.spawn(move || work(1 + card, decomposer, pool, lent.vector_mut(), places))
            })
            .collect();
        let first = first();
        let joined = begun.into_iter().map(|found| found.join());
        let others = joined.map(|found| found.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        std::iter::once(first).chain(others).collect()
    })
}

impl OtherCards {
    /// Decomposes matrices on all cards; the spectra are in the order of the list.
    pub(super) fn decompose(
        &self,
        leader: &OneCard,
        matrices: &mut PoolBuffer,
        list: &[(usize, usize)],
    ) -> Result<Vec<MatrixSpectrum>, BackendError> {
        let HandedOut { shares, places, mut lent } = self.hand_out(matrices.vector(), list)?;
        let first = || leader.decomposer.decompose(&leader.pool, matrices.vector_mut(), &places[0]);
        let found = on_each(first, self, &mut lent, &places, |_, decomposer, pool, matrices, places| {
            decomposer.decompose(pool, matrices, places)
        })?;
        let back = |card: usize| -> Vec<CopiedRun> {
            let run = |(k, (at, rows)): (&usize, &(usize, usize))| [*at, list[*k].0, rows * rows];
            shares[card].iter().zip(&places[card]).map(run).collect()
        };
        let sources = lent.iter().enumerate().map(|(card, lent)| (1 + card, lent.vector(), back(1 + card))).collect();
        self.links.run(&mut [Arrival { card: 0, target: matrices.vector_mut(), sources, mover: Mover::Target }])?;
        let numbers = shares.into_iter().flatten();
        let mut spectra: Vec<(usize, MatrixSpectrum)> = numbers.zip(found.into_iter().flatten()).collect();
        spectra.sort_by_key(|(number, _)| *number);
        Ok(spectra.into_iter().map(|(_, spectrum)| spectrum).collect())
    }

    /// Factors of matrices on all cards, each given by its first element, its number of rows and the most columns of its factor; they are in
    /// the order of the list, in one buffer of the first card.
    pub(super) fn factorise(
        &self,
        leader: &OneCard,
        matrices: &PoolBuffer,
        list: &[(usize, usize, usize)],
        least: f64,
    ) -> Result<PivotedCholesky, BackendError> {
        let squares: Vec<(usize, usize)> = list.iter().map(|(first, rows, _)| (*first, *rows)).collect();
        let HandedOut { shares, places, mut lent } = self.hand_out(matrices.vector(), &squares)?;
        let with_most = |card: usize, places: &[(usize, usize)]| -> Vec<(usize, usize, usize)> {
            shares[card].iter().zip(places).map(|(k, (first, rows))| (*first, *rows, list[*k].2)).collect()
        };
        let first = || leader.decomposer.factorise(&leader.pool, matrices.vector(), &with_most(0, &places[0]), least);
        let found = on_each(first, self, &mut lent, &places, |card, decomposer, pool, matrices, places| {
            decomposer.factorise(pool, matrices, &with_most(card, places), least)
        })?;
        let mut factors: Vec<(usize, usize, CholeskyFactor)> = Vec::with_capacity(list.len());
        for (card, (share, found)) in shares.iter().zip(&found).enumerate() {
            factors.extend(share.iter().zip(&found.factors).map(|(k, factor)| (*k, card, *factor)));
        }
        factors.sort_by_key(|(number, ..)| *number);
        let (mut length, mut runs) = (0, vec![Vec::<CopiedRun>::new(); found.len()]);
        let mut placed = Vec::with_capacity(list.len());
        for (number, card, factor) in factors {
            let elements = list[number].1 * factor.stride;
            runs[card].push([factor.offset, length, elements]);
            placed.push(CholeskyFactor { offset: length, ..factor });
            length += elements;
        }
        let mut data = leader.pool.take(length)?;
        let sources = found.iter().zip(runs).enumerate().map(|(card, (found, runs))| (card, found.data.vector(), runs));
        let sources = sources.collect();
        self.links.run(&mut [Arrival { card: 0, target: data.vector_mut(), sources, mover: Mover::Target }])?;
        Ok(PivotedCholesky { data, factors: placed })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Backend;
    use super::super::cards::tests::{of_team, symmetric};
    use super::*;
    use crate::dense::{View, eigen};
    use crate::testing::teams;

    /// Spectra and vectors of matrices of many sizes, on more cards than there are large ones.
    #[test]
    fn memcheck_decompositions_over_cards_are_those_of_one() {
        for team in teams(&[3]) {
            let mut engine = of_team(&team);
            engine.others.iter_mut().for_each(|others| others.least_rows = 5);
            let sizes = [7, 1, 9, 5];
            let (mut data, mut list) = (vec![f64::NAN; 3], Vec::new());
            for (k, n) in sizes.into_iter().enumerate() {
                list.push((data.len(), n));
                data.extend(symmetric(n, 20 + k as u64));
                data.push(-7.5);
            }
            let mut matrices = engine.upload(data.clone()).unwrap();
            let found = engine.decompose(&mut matrices, &list).unwrap();
            let vectors = matrices.download().unwrap();
            for ((first, n), spectrum) in list.iter().copied().zip(found) {
                let a = &data[first..first + n * n];
                let (mut expected, _) = eigen(View::new(a, n, n)).unwrap();
                expected.reverse();
                for (k, (value, expected)) in spectrum.values.iter().zip(&expected).enumerate() {
                    assert!((value - expected).abs() < 1e-12 * n as f64, "{n}: {value} is not {expected}");
                    let column = if spectrum.ascending { n - 1 - k } else { k };
                    let x = &vectors[first + column * n..][..n];
                    for i in 0..n {
                        let product: f64 = (0..n).map(|j| a[i + j * n] * x[j]).sum();
                        assert!((product - value * x[i]).abs() < 1e-11 * n as f64, "{n}, {k}, {i}");
                    }
                }
                assert_eq!(vectors[first + n * n], -7.5, "beside the matrices nothing changes");
            }
        }
    }

    /// Factors of positive matrices on more cards than there are large ones: L Lᵀ is the matrix, in the places of the list.
    #[test]
    fn memcheck_factors_over_cards_are_those_of_one() {
        for team in teams(&[3]) {
            let mut engine = of_team(&team);
            engine.others.iter_mut().for_each(|others| others.least_rows = 4);
            let (mut data, mut list) = (vec![f64::NAN; 2], Vec::new());
            for (k, n) in [6usize, 3, 9].into_iter().enumerate() {
                let a = symmetric(n, 30 + k as u64);
                list.push((data.len(), n, n));
                let square = |e: usize| (0..n).map(|l| a[e % n + l * n] * a[e / n + l * n]).sum::<f64>();
                data.extend((0..n * n).map(square));
            }
            let matrices = engine.upload(data.clone()).unwrap();
            let found = engine.factorise(&matrices, &list, 1e-14).unwrap();
            let factors = found.data.download().unwrap();
            for ((first, n, _), factor) in list.iter().copied().zip(&found.factors) {
                assert!(factor.columns > 0 && factor.columns <= n, "{factor:?}");
                let row = |i: usize| &factors[factor.offset + i * factor.stride..][..factor.columns];
                for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
                    let product: f64 = row(i).iter().zip(row(j)).map(|(a, b)| a * b).sum();
                    assert!((product - data[first + i + j * n]).abs() < 1e-11, "{n}: {i}, {j}");
                }
            }
        }
    }

    #[test]
    fn the_largest_matrices_go_first_and_small_ones_stay() {
        let rows = [100, 600, 900, 512, 511, 700];
        assert_eq!(owners(&rows, 512, 3), [0, 2, 0, 2, 0, 1]);
        assert_eq!(owners(&rows, 1000, 3), [0; 6]);
        assert_eq!(owners(&[], 512, 3), [0usize; 0]);
    }
}
