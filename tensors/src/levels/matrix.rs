//! The Hamiltonian in the SU(3)-coupled basis, from the strengths of its tensors.
//!
//! In: the strengths C of a group. Out: its part of the matrices of every J. Annihilators ã(0 nd) × ã(0 nc) contract with the creators of
//! the ket a†(nc 0) × a†(nd 0), whose irrep (λ μ) is the conjugate of (λi μi). Racah's theorem for SU(3) ⊃ SO(3) and the coupling of L
//! and S to J leave
//!
//! ```text
//! ⟨na nb (λf μf) κf Lf Sf; J|H|nc nd (λ μ) κ Li Si; J⟩ = Σ_{S0} (−1)^{Sf+Si+S0+J+1} Ŝ0 {Lf Li S0; Si Sf J} (−1)^{nc+nd+Li} Σ_{κi} M_{κ κi} Z
//! Z = Σ_{(λ0 μ0) κ0 ρ0} ⟨(λf μf)κf Lf; (λi μi)κi Li ‖ (λ0 μ0)κ0 S0⟩_ρ0 C
//! M_{κ κi} = (−1)^{λ+μ} √(dim(λ μ)/(2Li+1)) ⟨(λ μ)κ Li; (λi μi)κi Li ‖ (0 0) 1 0⟩
//! ```
//! (J. P. Draayer and Y. Akiyama, J. Math. Phys. 14 (1973) 1904; Oberhuber et al. 2021, eq. 3). M is the metric between an irrep and its
//! conjugate: the unit matrix unless λ = μ, where their states of good L are projected from different extremal states. No element in
//! another coupling is made.

use super::basis::{CoupledBasis, Place};
use crate::matrices::transpose_multiply;
use crate::plan::{Group, IrrepPair, SPINS, spins_of};
use crate::tables::Tables;
use eigenforge_su3::{Coupler, Irrep, LabelError};
use rayon::prelude::*;
use std::collections::HashMap;

/// The matrices of all J and parities.
pub(super) struct CoupledMatrices {
    pub bases: Vec<CoupledBasis>,
    /// Of each basis at [row][column].
    pub values: Vec<Vec<f64>>,
    conjugations: HashMap<Irrep, Conjugation>,
}

/// By L, then [κ][κi]: (−1)^L M.
type Conjugation = Vec<Vec<f64>>;

/// Numbers of a matrix for each (λf μf), (λi μi), by S0: in the layout of a [`crate::plan::TensorBlock`], with rows Lf κf Li κ.
type Uncoupled = [Vec<f64>; 3];

impl CoupledMatrices {
    /// Zero matrices up to some quanta.
    ///
    /// # Errors
    ///
    /// Angular momenta beyond the range of the coefficients.
    pub(super) fn new(quanta_max: u32, coupler: &Coupler) -> Result<CoupledMatrices, LabelError> {
        let all = (0..=quanta_max + 1).flat_map(|j| [false, true].map(|odd| (j, odd)));
        let bases = all.map(|(j, odd)| CoupledBasis::new(quanta_max, j, odd)).filter(|basis| !basis.states.is_empty());
        let bases: Vec<CoupledBasis> = bases.collect();
        let values = bases.iter().map(|basis| vec![0.0; basis.states.len().pow(2)]).collect();
        let irreps: Vec<Irrep> =
            (0..=quanta_max).flat_map(|n| (0..=n / 2).map(move |k| Irrep::new(n - 2 * k, k))).collect();
        let of = |irrep: &Irrep| conjugation(coupler, *irrep).map(|matrices| (*irrep, matrices));
        let conjugations = irreps.par_iter().map(of).collect::<Result<_, _>>()?;
        Ok(CoupledMatrices { bases, values, conjugations })
    }

    /// Bytes of the matrices up to some quanta.
    pub(super) fn bytes(quanta_max: u32) -> u64 {
        let all = (0..=quanta_max + 1).flat_map(|j| [false, true].map(|odd| (j, odd)));
        all.map(|(j, odd)| 8 * (CoupledBasis::new(quanta_max, j, odd).states.len() as u64).pow(2)).sum()
    }

    /// Adds what the tensors of a group contribute, times `factor`; W⁰ of the group must be loaded.
    pub(super) fn add(&mut self, group: &Group, tables: &Tables, strengths: &[f64], factor: f64) {
        let uncoupled: Vec<Uncoupled> =
            group.products.par_iter().map(|product| self.uncoupled(group, product, tables, strengths)).collect();
        let odd = group.bra_quanta % 2 == 1;
        let matrices = self.bases.par_iter().zip(&mut self.values).filter(|(basis, _)| basis.odd == odd);
        matrices.for_each(|(basis, matrix)| {
            for (product, z) in group.products.iter().zip(&uncoupled) {
                add_product(basis, matrix, (group, product), tables, z, factor);
            }
        });
    }

    /// (−1)^{nc+nd+Li} Σ_{κi} M Z.
    fn uncoupled(&self, group: &Group, product: &IrrepPair, tables: &Tables, strengths: &[f64]) -> Uncoupled {
        let squares = &tables.products[&[product.bra_irrep(), product.ket_irrep()]];
        let conjugation = &self.conjugations[&product.ket_irrep().conjugate()];
        let parity = if group.ket_quanta.is_multiple_of(2) { 1.0 } else { -1.0 };
        [0, 1, 2].map(|s0| {
            let (table, block) = (&squares[s0], &product.tensors[s0]);
            let width = block.columns;
            let mut z = vec![0.0; block.rows * width];
            let source = &strengths[product.offset + block.offset..][..z.len()];
            transpose_multiply(&table.values, source, &mut z, [block.rows, block.rows, width]);
            let mut turned = vec![0.0; z.len()];
            for (at, row) in table.rows.iter().enumerate() {
                let matrix = &conjugation[row.l2 as usize];
                let kappa_max = product.ket_irrep().kappa_max(row.l2) as usize;
                // The rows of one Lf κf Li follow each other with κi = 1, 2, …
                let first = at + 1 - row.kappa2 as usize;
                for kappa in 0..kappa_max {
                    let m = parity * matrix[kappa * kappa_max + row.kappa2 as usize - 1];
                    if m != 0.0 {
                        let sums = &mut turned[(first + kappa) * width..][..width];
                        sums.iter_mut().zip(&z[at * width..][..width]).for_each(|(sum, z)| *sum += m * z);
                    }
                }
            }
            turned
        })
    }
}

/// The metric of an irrep.
fn conjugation(coupler: &Coupler, irrep: Irrep) -> Result<Conjugation, LabelError> {
    let block = coupler.block(irrep, irrep.conjugate(), Irrep::new(0, 0), 0..=0)?;
    let of_l = |l: u32| {
        let kappa_max = irrep.kappa_max(l);
        let sign = if (irrep.lambda + irrep.mu + l).is_multiple_of(2) { 1.0 } else { -1.0 };
        let factor = sign * (irrep.dimension() as f64 / f64::from(2 * l + 1)).sqrt();
        let labels = (1..=kappa_max).flat_map(|kappa| (1..=kappa_max).map(move |other| (kappa, other)));
        labels.map(|(kappa, other)| Ok(factor * block.value([kappa, l], [other, l], [1, 0], 1)?)).collect()
    };
    (0..=irrep.l_max()).map(of_l).collect()
}

/// Where the states of one irrep are, by pair, S and L − J + 1.
fn places(
    basis: &CoupledBasis,
    pairs: impl Iterator<Item = crate::ShellPair>,
    irrep: Irrep,
) -> Vec<[[Option<Place>; 3]; 2]> {
    let of = |pair, s: u32, at: u32| {
        let l = (basis.j + at).checked_sub(1)?;
        basis.place(pair, irrep, [l, s])
    };
    pairs.map(|pair| [0, 1].map(|s| [0, 1, 2].map(|at| of(pair, s, at)))).collect()
}

fn add_product(
    basis: &CoupledBasis,
    matrix: &mut [f64],
    (group, product): (&Group, &IrrepPair),
    tables: &Tables,
    z: &Uncoupled,
    factor: f64,
) {
    let bras = places(basis, product.bras.iter().map(|b| group.bras[*b]), product.bra_irrep());
    let kets = places(basis, product.kets.iter().map(|k| group.kets[*k]), product.ket_irrep().conjugate());
    let (order, j) = (basis.states.len(), basis.j);
    let squares = &tables.products[&[product.bra_irrep(), product.ket_irrep()]];
    for (s0, z) in z.iter().enumerate() {
        let spins = spins_of(s0 as u32);
        for (row, z) in squares[s0].rows.iter().zip(z.chunks_exact(product.tensors[s0].columns.max(1))) {
            if row.l1.abs_diff(j) > 1 || row.l2.abs_diff(j) > 1 {
                continue;
            }
            let [lf, li] = [row.l1, row.l2].map(|l| (l + 1 - j) as usize);
            for (at, spin) in spins.iter().enumerate() {
                let [sf, si, _] = SPINS[*spin].map(|s| s as usize);
                let recoupling = factor * tables.spins.get(*spin, row.l1, row.l2, j);
                for (b, bra) in bras.iter().enumerate() {
                    let Some(bra) = &bra[sf][lf] else { continue };
                    for (k, ket) in kets.iter().enumerate() {
                        let Some(ket) = &ket[si][li] else { continue };
                        let value = recoupling * z[(b * kets.len() + k) * spins.len() + at];
                        for t in [0, 1] {
                            let start = (bra.first[t] + row.kappa1 as usize - 1) * order + row.kappa2 as usize - 1;
                            for u in [0, 1] {
                                matrix[start + ket.first[u]] += value * bra.amplitudes[t] * ket.amplitudes[u];
                            }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::PairTables;
    use crate::{OscillatorSpace, Plan, ShellPair};

    /// M takes the coefficients of creators to those of annihilators, also of self-conjugate irreps with two states of one L.
    #[test]
    fn the_metric_relates_an_irrep_to_its_conjugate() {
        let tables = Tables::of_pairs(&Plan::new(OscillatorSpace { n_max: 5 }), crate::TableCache::off()).unwrap();
        let mut repeated = 0;
        for (pair, PairTables { bra, ket, .. }) in &tables.pairs {
            let ShellPair { a, b } = *pair;
            for irrep in pair.irreps() {
                let metric = conjugation(tables.coupler(), irrep).unwrap();
                for l in 0..=irrep.l_max() {
                    let kappa_max = irrep.kappa_max(l) as usize;
                    if kappa_max == 0 {
                        continue;
                    }
                    let (wf, wi) = (&bra[l as usize], &ket[l as usize]);
                    let [f, i] = [wf.first_of(irrep).unwrap(), wi.first_of(irrep.conjugate()).unwrap()];
                    for (kappa, other) in (0..kappa_max).flat_map(|x| (0..kappa_max).map(move |y| (x, y))) {
                        let row = |values: &[f64], at: usize| values[at * wf.order..][..wf.order].to_vec();
                        let left = row(&wf.values, f + kappa);
                        let overlap: f64 = left.iter().zip(row(&wi.values, i + other)).map(|(x, y)| x * y).sum();
                        let parity = if (a + b) % 2 == 0 { 1.0 } else { -1.0 };
                        let expected = parity * metric[l as usize][kappa * kappa_max + other];
                        let found = (overlap - expected).abs();
                        assert!(found < 1e-13, "{a} {b} {irrep} L = {l}: {kappa} {other} {overlap} {expected}");
                        repeated += usize::from(irrep.lambda == irrep.mu && kappa_max > 1);
                    }
                }
            }
        }
        assert!(repeated > 0);
    }
}
