//! One- and two-body density matrices of configuration-interaction vectors.
//!
//! In: a space of any kind, vectors in it. Out (Helgaker, Jørgensen and Olsen 2000, sections 1.7 and 2.7)
//!
//! * γ^σ_pq = ⟨a†_pσ a_qσ⟩, [`OneBody`]; of a transition ⟨bra| a†_pσ a_qσ |ket⟩;
//! * Γ_pqrs = Σ_στ ⟨a†_pσ a†_rτ a_sτ a_qσ⟩, [`TwoBody`], index order of (pq|rs), so that with real orbitals
//!   E = E_core + Σ h_pq γ_pq + ½ Σ (pq|rs) Γ_pqrs, γ = γ^α + γ^β ([`energy`]).
//!
//! Traces: Σ γ^σ_pp = n_σ, Σ_r Γ_pqrr = (N − 1) γ_pq. Several vectors are averaged: the states of one level, so that
//! the result does not depend on which vectors span it. Vectors count as if they were normalised.
//!
//! | file | question it answers |
//! |---|---|
//! | `removal` | what remains of a string when electrons leave? |
//! | `gram` | how are a state's remainders multiplied? |
//! | `products` | what is the average of a product of up to two electrons? |
//! | `window` | what are the matrices in all orbitals, frozen ones in front? |
//! | `file` | how are they written? |

mod error;
mod file;
mod gram;
mod products;
mod removal;
mod window;

use super::integrals::Integrals;
use super::space::Space;
use eigenforge_runtime::Device;
use gram::{Product, gram};
use rayon::prelude::*;
use removal::pair_label;

pub use error::DensityError;
pub use file::write_densities;
pub(crate) use products::products;

/// γ^α and γ^β.
#[derive(Clone, Debug, PartialEq)]
pub struct OneBody {
    /// Spatial orbitals.
    pub orbitals: usize,
    /// γ^α_pq at p × orbitals + q.
    pub alpha: Vec<f64>,
    /// γ^β_pq at p × orbitals + q.
    pub beta: Vec<f64>,
    /// ⟨bra|ket⟩: 1 for a state or an average; what operators without electrons, nuclei and frozen cores, count.
    pub overlap: f64,
}

/// Γ, summed over spins.
#[derive(Clone, Debug, PartialEq)]
pub struct TwoBody {
    /// Spatial orbitals.
    pub orbitals: usize,
    /// Γ_pqrs at ((p × orbitals + q) × orbitals + r) × orbitals + s.
    pub values: Vec<f64>,
}

impl OneBody {
    /// γ of a state, or averaged over several.
    pub fn of<V: AsRef<[f64]>>(space: &Space, vectors: &[V]) -> Result<OneBody, DensityError> {
        let products = average(space, vectors)?;
        let [alpha, beta] = [[1, 0], [0, 1]].map(|electrons| gram(space, electrons, &products, true));
        Ok(OneBody { orbitals: space.orbitals(), alpha: alpha?, beta: beta?, overlap: 1.0 })
    }

    /// γ_pq = ⟨bra| a†_p a_q |ket⟩ between two states of one space.
    pub fn transition(space: &Space, bra: &[f64], ket: &[f64]) -> Result<OneBody, DensityError> {
        let norms = norms(space, &[bra, ket])?;
        let weight = 1.0 / (norms[0] * norms[1]);
        let products = [Product { bra, ket, weight }];
        let [alpha, beta] = [[1, 0], [0, 1]].map(|electrons| gram(space, electrons, &products, false));
        let overlap = weight * bra.iter().zip(ket).map(|(bra, ket)| bra * ket).sum::<f64>();
        Ok(OneBody { orbitals: space.orbitals(), alpha: alpha?, beta: beta?, overlap })
    }

    /// γ = γ^α + γ^β, row-major.
    pub fn total(&self) -> Vec<f64> {
        self.alpha.iter().zip(&self.beta).map(|(alpha, beta)| alpha + beta).collect()
    }

    /// γ^α − γ^β, the spin density, row-major.
    pub fn spin(&self) -> Vec<f64> {
        self.alpha.iter().zip(&self.beta).map(|(alpha, beta)| alpha - beta).collect()
    }
}

impl TwoBody {
    /// Γ of a state, or averaged over several.
    pub fn of<V: AsRef<[f64]>>(space: &Space, vectors: &[V]) -> Result<TwoBody, DensityError> {
        let n = space.orbitals();
        let products = average(space, vectors)?;
        Device::cpu().check_memory(&format!("two-body density matrices of {n} orbitals"), 16 * (n as u64).pow(4))?;
        let mut values = vec![0.0; n.pow(4)];
        let both = gram(space, [1, 1], &products, true)?;
        values.par_chunks_mut(n.max(1)).enumerate().for_each(|(pqr, values)| {
            let (p, q, r) = (pqr / (n * n), pqr / n % n, pqr % n);
            for (s, value) in values.iter_mut().enumerate() {
                *value = both[(p * n + r) * n * n + q * n + s] + both[(r * n + p) * n * n + s * n + q];
            }
        });
        drop(both);
        let pairs = n * n.saturating_sub(1) / 2;
        for electrons in [[2, 0], [0, 2]] {
            let same = gram(space, electrons, &products, true)?;
            values.par_chunks_mut(n.max(1)).enumerate().for_each(|(pqr, values)| {
                let (p, q, r) = (pqr / (n * n), pqr / n % n, pqr % n);
                let Some((row, left)) = ordered(r, p) else { return };
                for (s, value) in values.iter_mut().enumerate() {
                    if let Some((column, right)) = ordered(s, q) {
                        *value += left * right * same[row * pairs + column];
                    }
                }
            });
        }
        Ok(TwoBody { orbitals: n, values })
    }

    /// Γ_pqrs.
    pub fn at(&self, p: usize, q: usize, r: usize, s: usize) -> f64 {
        let n = self.orbitals;
        self.values[((p * n + q) * n + r) * n + s]
    }

    /// E_core + Σ h_pq γ_pq + ½ Σ (pq|rs) Γ_pqrs, the total energy of the state that the matrices are of.
    pub fn energy(&self, one: &OneBody, integrals: &Integrals) -> Result<f64, DensityError> {
        let n = one.orbitals;
        for (what, found) in [("the set of integrals", integrals.orbitals), ("the two-body matrix", self.orbitals)] {
            if found != n {
                return Err(DensityError::Orbitals { what, found, expected: n });
            }
        }
        let total = one.total();
        let single: f64 = total.iter().enumerate().map(|(k, value)| integrals.one(k / n, k % n) * value).sum();
        let row = |pq: usize| -> f64 {
            let values = &self.values[pq * n * n..(pq + 1) * n * n];
            values.iter().enumerate().map(|(k, value)| integrals.two(pq / n, pq % n, k / n, k % n) * value).sum()
        };
        let double: Vec<f64> = (0..n * n).into_par_iter().map(row).collect();
        Ok(integrals.core * one.overlap + single + 0.5 * double.iter().sum::<f64>())
    }
}

/// Label of a_a a_b and its sign against that of the ordered pair; none where a = b.
fn ordered(a: usize, b: usize) -> Option<(usize, f64)> {
    match a.cmp(&b) {
        std::cmp::Ordering::Less => Some((pair_label(a, b), 1.0)),
        std::cmp::Ordering::Greater => Some((pair_label(b, a), -1.0)),
        std::cmp::Ordering::Equal => None,
    }
}

/// Equal weights that add up to 1, and make up for norms that are not 1.
fn average<'a, V: AsRef<[f64]>>(space: &Space, vectors: &'a [V]) -> Result<Vec<Product<'a>>, DensityError> {
    let norms = norms(space, vectors)?;
    let product = |(vector, norm): (&'a V, f64)| {
        let vector = vector.as_ref();
        Product { bra: vector, ket: vector, weight: 1.0 / (norm * norm * vectors.len() as f64) }
    };
    Ok(vectors.iter().zip(norms).map(product).collect())
}

/// Norms of vectors, all of which are states of the space.
pub(super) fn norms<V: AsRef<[f64]>>(space: &Space, vectors: &[V]) -> Result<Vec<f64>, DensityError> {
    if vectors.is_empty() {
        return Err(DensityError::NoVectors);
    }
    let norm = |(vector, values): (usize, &V)| {
        let values = values.as_ref();
        if values.len() as u64 != space.len() {
            return Err(DensityError::Length { vector, found: values.len(), expected: space.len() });
        }
        let norm = values.iter().map(|value| value * value).sum::<f64>().sqrt();
        if norm > 0.0 && norm.is_finite() { Ok(norm) } else { Err(DensityError::Norm { vector, norm }) }
    };
    vectors.iter().enumerate().map(norm).collect()
}
