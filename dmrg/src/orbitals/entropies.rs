//! Entropies of orbitals and mutual information of pairs.
//!
//! In: the averages of [`pair_densities`](super::pair_density::pair_densities). Out: s_p = −Tr ρ_p ln ρ_p and I_pq = s_p + s_q − s_pq ≥ 0,
//! without the factor ½ of some papers (Legeza and Sólyom 2003; Rissler, Noack and White 2006).

use super::pair_density::{DensityBlock, density};
use crate::error::DmrgError;
use eigenforge_core::observable::Averages;
use eigenforge_runtime::dense::{View, eigen};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// How the orbitals of a state are entangled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OrbitalEntropies {
    /// s_p of each orbital.
    pub single: Vec<f64>,
    /// I_pq of each pair, 0 on the diagonal.
    pub mutual: Vec<Vec<f64>>,
}

impl OrbitalEntropies {
    /// Those of so many orbitals, from 3 on; `None` where the averages are missing or not known.
    ///
    /// # Errors
    /// A matrix cannot be decomposed.
    pub fn new(averages: &Averages, orbitals: usize) -> Result<Option<OrbitalEntropies>, DmrgError> {
        let mut single = vec![None; orbitals];
        let mut joint = HashMap::new();
        for p in 0..orbitals {
            for q in p + 1..orbitals {
                let Some(blocks) = density(averages, [p, q]) else { return Ok(None) };
                if blocks.iter().flat_map(|block| &block.values).any(|value| !value.is_finite()) {
                    return Ok(None);
                }
                let (mut weights, mut both) = ([[0.0; 4]; 2], 0.0);
                for DensityBlock { states, values } in &blocks {
                    let n = states.len();
                    for (row, [a, b]) in states.iter().enumerate() {
                        weights[0][*a] += values[row * n + row];
                        weights[1][*b] += values[row * n + row];
                    }
                    let (eigenvalues, _) = eigen(View::new(values, n, n))?;
                    both += entropy(&eigenvalues);
                }
                joint.insert([p, q], both);
                for (place, weights) in [p, q].into_iter().zip(weights) {
                    single[place].get_or_insert(entropy(&weights));
                }
            }
        }
        let single: Vec<f64> = single.into_iter().map(|entropy| entropy.unwrap_or(0.0)).collect();
        let mutual = |p: usize, q: usize| match p == q {
            true => 0.0,
            false => (single[p] + single[q] - joint[&[p.min(q), p.max(q)]]).max(0.0),
        };
        let mutual = (0..orbitals).map(|p| (0..orbitals).map(|q| mutual(p, q)).collect()).collect();
        Ok(Some(OrbitalEntropies { single, mutual }))
    }
}

/// −Σ w ln w; weights that are negative by rounding count as 0.
fn entropy(weights: &[f64]) -> f64 {
    weights.iter().filter(|w| **w > 0.0).map(|w| -w * w.ln()).sum::<f64>().max(0.0)
}
