//! The states P^L_{MK}|E⟩ of one irrep and L, orthonormalised over K.
//!
//! In: overlaps. Out: |κ⟩ = Σ_{j ≤ κ} O_{κj} |K_j⟩, O the inverse of the lower Cholesky factor of A_ij = ⟨E|K_i L, M = K_j⟩,
//! and the rotation d^{Λ_E}_{K/2, M_E}(π/2) of the extremal state E for each K.

use super::overlap::{Overlaps, Whole, fits_128_bits};
use super::{projected_sign, smaller_first};
use crate::exact::Binomials;
use crate::irrep::Irrep;
use num_bigint::BigInt;

/// Elliott's K, their rotations and the orthonormalisation of (λ μ) L.
#[derive(Debug, Clone)]
pub(crate) struct Projection {
    l: u32,
    /// K_1 < K_2 < … in steps of two.
    k: Vec<i64>,
    /// d^{Λ_E}_{K/2, M_E}(π/2).
    rotation: Vec<f64>,
    /// O, row by row, square.
    orthonormal: Vec<f64>,
}

impl Projection {
    /// Without the whole branching table: what the product irrep of a coupling needs.
    pub(crate) fn new(irrep: Irrep, l: u32) -> Projection {
        let [a, b] = smaller_first(irrep);
        let real = Binomials::up_to((2 * l as usize).max((a + b) as usize + 1));
        if fits_128_bits(a, b, i64::from(l)) {
            Projection::from_overlaps(irrep, l, &Overlaps::<i128>::new(a, b, i64::from(l), &real))
        } else {
            Projection::from_overlaps(irrep, l, &Overlaps::<BigInt>::new(a, b, i64::from(l), &real))
        }
    }

    pub(super) fn from_overlaps<T: Whole>(irrep: Irrep, l: u32, overlaps: &Overlaps<T>) -> Projection {
        let first = i64::from(irrep.lowest_k(l));
        let k: Vec<i64> = (0..i64::from(irrep.kappa_max(l))).map(|kappa| first + 2 * kappa).collect();
        let [a, b] = smaller_first(irrep);
        let front = overlaps.front([a, b]);
        let rotation: Vec<f64> = k.iter().map(|k| extremal_rotation(irrep, *k, overlaps)).collect();
        let mut gram = vec![0.0; k.len() * k.len()];
        for (i, row) in k.iter().enumerate() {
            for (j, column) in k.iter().enumerate().take(i + 1) {
                // The extremal state is (p, q) = (a, b) with t = a.
                let inner_sums = overlaps.inner_sums(a + b, *row, i64::from(l), *column);
                let overlap = overlaps.overlap([a, b], [*row, i64::from(l), *column], &inner_sums, front);
                gram[i * k.len() + j] = rotation[j] * projected_sign(irrep, *row, a, *column) * overlap;
            }
        }
        Projection { l, orthonormal: inverse_of_cholesky(&gram, k.len()), k, rotation }
    }

    /// The angular momentum.
    pub(crate) fn l(&self) -> u32 {
        self.l
    }

    /// Number of K.
    pub(crate) fn kappa_max(&self) -> usize {
        self.k.len()
    }

    /// The j-th K, from 0.
    pub(crate) fn k(&self, j: usize) -> i64 {
        self.k[j]
    }

    /// d^{Λ_E}_{K_j/2, M_E}(π/2).
    pub(crate) fn rotation(&self, j: usize) -> f64 {
        self.rotation[j]
    }

    /// O_ij.
    pub(crate) fn orthonormal(&self, i: usize, j: usize) -> f64 {
        self.orthonormal[i * self.k.len() + j]
    }
}

/// d^{a/2}_{K/2, ±a/2}(π/2) = (±1)^{(a+K)/2} 2^{−a/2} √C(a, (a+K)/2), the lower sign for the highest-weight state.
fn extremal_rotation<T: Whole>(irrep: Irrep, k: i64, overlaps: &Overlaps<T>) -> f64 {
    let [a, _] = smaller_first(irrep);
    let size = overlaps.real_binomial(a, (a + k) / 2).times_two_to(-a).root().to_f64();
    if irrep.uses_highest() && (a + k) / 2 % 2 == 1 { -size } else { size }
}

/// The inverse of the lower factor C of gram = C Cᵀ; only the lower triangle of `gram` is read.
fn inverse_of_cholesky(gram: &[f64], n: usize) -> Vec<f64> {
    let mut lower = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let done: f64 = (0..j).map(|k| lower[i * n + k] * lower[j * n + k]).sum();
            let rest = gram[i * n + j] - done;
            lower[i * n + j] = if i == j { rest.sqrt() } else { rest / lower[j * n + j] };
        }
    }
    let mut inverse = vec![0.0; n * n];
    for column in 0..n {
        for i in column..n {
            let unit = if i == column { 1.0 } else { 0.0 };
            let done: f64 = (column..i).map(|k| lower[i * n + k] * inverse[k * n + column]).sum();
            inverse[i * n + column] = (unit - done) / lower[i * n + i];
        }
    }
    inverse
}
