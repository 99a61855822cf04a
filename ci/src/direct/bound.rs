//! An upper bound on eigenvalues, and the number of elements of H.
//!
//! Out: an upper bound of the largest row sum of |H|, and with it of the spectral norm (Gershgorin 1931), from the largest
//! sum of each part: a row of H is the sum of its parts, so the bound is their sum.

use super::super::vector_number::VectorNumber;
use super::Tables;
use super::classes::IRREPS;
use rayon::prelude::*;

impl<T: VectorNumber> Tables<T> {
    /// Largest |diagonal|, largest rows of H_αα, of H_ββ, and of single × onlookers with single × single, of the rows that are made: the
    /// bound is their sum.
    pub(super) fn norm_parts(&self) -> [f64; 4] {
        let largest = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
        let (alphas, betas) = (self.alpha.len(), self.beta.len());
        let diagonal = (0..alphas).into_par_iter().map_init(Vec::new, |row, rank| {
            row.resize(self.beta.class(self.alpha.class(rank)).len(), 0.0);
            self.diagonal(self.alpha.row_start(rank), row);
            row.iter().map(|value: &f64| value.abs()).fold(0.0, f64::max)
        });
        let diagonal = diagonal.reduce(|| 0.0, f64::max);
        let sum = |same: &mut dyn Iterator<Item = T>| same.map(T::size).sum::<f64>();
        let alpha =
            largest(&mut (0..alphas).map(|rank| sum(&mut self.alpha.same_spin(rank).iter().map(|same| same.1))));
        let beta = largest(&mut (0..betas).map(|k| sum(&mut self.beta.same_spin(k).iter().map(|same| same.1))));
        let of_pairs = self.beta.of_pairs(self.pairs, |left, right| self.coulomb(left)[2 * right]);
        let mut moves = vec![0.0; alphas];
        for group in &self.alpha.groups {
            for batch in &group.batches {
                let (both, felt) = of_pairs[batch.pair];
                for lane in group.lanes(batch) {
                    moves[group.members[lane.row as usize] as usize] += both + felt;
                }
            }
        }
        // What the α electrons of a row add to β moves: the row of each orbital's density.
        let onlookers = |rank: usize| {
            let densities = self.alpha.densities(rank).iter().map(|density| of_pairs[*density as usize].0);
            densities.sum::<f64>() + moves[rank]
        };
        [diagonal, alpha, beta, largest(&mut (0..alphas).map(onlookers))]
    }

    /// Elements of H in the rows that are made: a multiplication and an addition each.
    pub(super) fn elements(&self) -> f64 {
        let alphas = &self.alpha;
        let width = |class: usize| self.beta.class(class).len();
        let alone = alphas.own.clone().map(|rank| (alphas.same_spin(rank).len() + 1) * width(alphas.class(rank)));
        let mut elements = alone.sum::<usize>() as f64;
        for group in &alphas.groups {
            let class = self.beta.class(group.class);
            let singles = |irrep: usize| class.clone().map(|k| self.beta.singles(k, irrep).len()).sum::<usize>() as f64;
            let of_irrep: [f64; IRREPS] = std::array::from_fn(singles);
            let same = class.clone().map(|k| self.beta.same_spin(k).len()).sum::<usize>() as f64;
            elements += group.members.len() as f64 * (same + of_irrep[0]);
            let batch = |batch: &super::alpha::Batch| {
                let own = if batch.irrep == 0 { class.len() as f64 } else { 0.0 };
                group.lanes(batch).len() as f64 * (of_irrep[batch.irrep] + own)
            };
            elements += group.batches.iter().map(batch).sum::<f64>();
        }
        elements
    }
}
