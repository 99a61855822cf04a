//! Expectation values in a multiplet: densities, double occupancy, and the correlation matrices ⟨SᶻSᶻ⟩, ⟨n n⟩, ⟨S·S⟩.
//!
//! All are averages over an orthonormal basis of the multiplet (trace / g), so they do not depend on which vectors of a
//! degenerate level a solver happened to return. Units: ħ = 1, S = σ/2.
//!
//! Fermions use the product form of the basis: densities come from the weights w(up, dn) = v², and
//! S⁺ᵢS⁻ⱼ = −(c†ᵢ↑cⱼ↑)(c†ⱼ↓cᵢ↓) is one hop in each species. Local moments go through the transitions of S⁺ᵢS⁻ⱼ.

use super::model::Model;
use crate::basis::{LinTables, Sector};
use crate::operator::build;
use crate::operator::transition::{Word, transitions};
use ndarray::Array2;
use rayon::prelude::*;

/// Averages over a multiplet; rows and columns of a matrix are sites.
#[derive(Clone, Debug, PartialEq)]
pub struct Observables {
    /// ⟨n_{i↑}⟩; fermions only.
    pub n_up: Option<Vec<f64>>,
    /// ⟨n_{i↓}⟩; fermions only.
    pub n_dn: Option<Vec<f64>>,
    /// ⟨n_{i↑} n_{i↓}⟩; fermions only.
    pub double_occupancy: Option<Vec<f64>>,
    /// ⟨Sᶻᵢ⟩.
    pub sz: Vec<f64>,
    /// ⟨Sᶻᵢ Sᶻⱼ⟩.
    pub szsz: Array2<f64>,
    /// ⟨nᵢ nⱼ⟩ with n = n↑ + n↓; fermions only.
    pub nn: Option<Array2<f64>>,
    /// ⟨Sᵢ · Sⱼ⟩.
    pub sdots: Array2<f64>,
}

impl Observables {
    /// Averages over orthonormal vectors of the model's sector.
    pub fn of(model: &Model, multiplet: &[&[f64]]) -> Result<Observables, crate::operator::OperatorError> {
        let share = 1.0 / multiplet.len().max(1) as f64;
        match (model.sector(), model.basis().species()) {
            (Sector::Fermions { .. }, Some((up, down))) => {
                let mut moments = Moments::new(model.sites());
                for vector in multiplet {
                    moments.add(up, down, vector, share);
                }
                Ok(moments.observables())
            }
            _ => moments_of_spins(model, multiplet, share),
        }
    }
}

/// Second moments of fermion occupations.
struct Moments {
    up_up: Array2<f64>,
    down_down: Array2<f64>,
    /// ⟨n_{i↑} n_{j↓}⟩
    up_down: Array2<f64>,
    /// ⟨S⁺ᵢ S⁻ⱼ⟩, i ≠ j
    exchange: Array2<f64>,
}

impl Moments {
    fn new(sites: usize) -> Moments {
        let zero = || Array2::zeros((sites, sites));
        Moments { up_up: zero(), down_down: zero(), up_down: zero(), exchange: zero() }
    }

    fn add(&mut self, up: &[u64], down: &[u64], vector: &[f64], share: f64) {
        let (sites, n_up) = (self.up_up.nrows(), up.len());
        if n_up == 0 || down.is_empty() {
            return;
        }
        // For each down state: its weight, and ⟨n_{i↑}⟩ within it. Columns in blocks of a fixed size, summed in order.
        let column = |column: &[f64]| -> Vec<f64> {
            let mut densities = vec![0.0; sites];
            for (word, v) in up.iter().zip(column) {
                let (weight, mut bits) = (v * v, *word);
                while bits != 0 {
                    densities[bits.trailing_zeros() as usize] += weight;
                    bits &= bits - 1;
                }
            }
            densities
        };
        let densities: Vec<Vec<f64>> = vector.par_chunks(n_up).map(column).collect();
        let down_weights: Vec<f64> = vector.par_chunks(n_up).map(|c| c.iter().map(|v| v * v).sum()).collect();
        let block = |first: usize| -> Vec<f64> {
            let mut weights = vec![0.0; n_up.min(first + 4096) - first];
            for column in vector.chunks_exact(n_up) {
                let run = &column[first..first + weights.len()];
                weights.iter_mut().zip(run).for_each(|(weight, v)| *weight += v * v);
            }
            weights
        };
        let blocks: Vec<usize> = (0..n_up).step_by(4096).collect();
        let up_weights: Vec<f64> = blocks.into_par_iter().flat_map_iter(block).collect();
        add_pairs(&mut self.up_up, up, &up_weights, share);
        add_pairs(&mut self.down_down, down, &down_weights, share);
        for (word, densities) in down.iter().zip(&densities) {
            for j in set_bits(*word) {
                for (i, density) in densities.iter().enumerate() {
                    self.up_down[[i, j]] += share * density;
                }
            }
        }
        for i in 0..sites {
            for j in i + 1..sites {
                let value = share * exchange(up, down, vector, i, j);
                self.exchange[[i, j]] += value;
                self.exchange[[j, i]] += value;
            }
        }
    }

    fn observables(self) -> Observables {
        let Moments { up_up, down_down, up_down, exchange } = self;
        let sites = up_up.nrows();
        let (n_up, n_dn) = (up_up.diag().to_vec(), down_down.diag().to_vec());
        let transposed = up_down.t();
        let szsz = 0.25 * (&up_up + &down_down - &up_down - transposed);
        let nn = &up_up + &down_down + &up_down + transposed;
        let mut sdots = &szsz + &exchange;
        for i in 0..sites {
            // S² of one site: three times Sz².
            sdots[[i, i]] = 3.0 * szsz[[i, i]];
        }
        Observables {
            sz: n_up.iter().zip(&n_dn).map(|(up, dn)| 0.5 * (up - dn)).collect(),
            double_occupancy: Some(up_down.diag().to_vec()),
            n_up: Some(n_up),
            n_dn: Some(n_dn),
            szsz,
            nn: Some(nn),
            sdots,
        }
    }
}

fn set_bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (word != 0).then(|| {
            let bit = word.trailing_zeros() as usize;
            word &= word - 1;
            bit
        })
    })
}

fn add_pairs(moments: &mut Array2<f64>, words: &[u64], weights: &[f64], share: f64) {
    for (word, weight) in words.iter().zip(weights) {
        for i in set_bits(*word) {
            for j in set_bits(*word) {
                moments[[i, j]] += share * weight;
            }
        }
    }
}

/// ⟨S⁺ᵢS⁻ⱼ⟩ = −Σ v(u', d') v(u, d) over up hops j → i and down hops i → j, with the signs of both.
fn exchange(up: &[u64], down: &[u64], vector: &[f64], i: usize, j: usize) -> f64 {
    let ups = hops(up, j, i);
    let downs = hops(down, i, j);
    let n_up = up.len();
    let column = |(from, to, sign): &(usize, usize, f64)| -> f64 {
        let (a, b) = (&vector[from * n_up..][..n_up], &vector[to * n_up..][..n_up]);
        sign * ups.iter().map(|(u, reached, sign)| sign * a[*u] * b[*reached]).sum::<f64>()
    };
    let columns: Vec<f64> = downs.par_iter().map(column).collect();
    -columns.iter().sum::<f64>()
}

/// Hops of one electron between two sites: (index, index reached, fermion sign).
fn hops(words: &[u64], from: usize, to: usize) -> Vec<(usize, usize, f64)> {
    let (a, b) = (1u64 << from, 1u64 << to);
    let between = (a.max(b) - 1) & !(2 * a.min(b) - 1);
    let hop = |(k, word): (usize, &u64)| {
        let allowed = word & a != 0 && word & b == 0;
        let reached = words.binary_search(&(word ^ a ^ b)).ok().filter(|_| allowed)?;
        Some((k, reached, if (word & between).count_ones() % 2 == 1 { -1.0 } else { 1.0 }))
    };
    words.iter().enumerate().filter_map(hop).collect()
}

fn moments_of_spins(
    model: &Model,
    multiplet: &[&[f64]],
    share: f64,
) -> Result<Observables, crate::operator::OperatorError> {
    let sites = model.sites();
    let tables = model.basis().lin_tables()?;
    let (word, two_s) = (model.basis().word(), model.operator().two_s());
    let Word::Spins { width, .. } = word else { unreachable!("only spin words come here") };
    let s = 0.5 * f64::from(two_s);
    let level_mask = (1u64 << width) - 1;
    let (mut sz, mut szsz, mut sdots) =
        (vec![0.0; sites], Array2::zeros((sites, sites)), Array2::zeros((sites, sites)));
    for vector in multiplet {
        for (index, v) in vector.iter().enumerate() {
            let state = tables.state(index as u64);
            let z: Vec<f64> = (0..sites as u32).map(|site| (state >> (site * width) & level_mask) as f64 - s).collect();
            let weight = share * v * v;
            for i in 0..sites {
                sz[i] += weight * z[i];
                for j in 0..sites {
                    szsz[[i, j]] += weight * z[i] * z[j];
                }
            }
        }
    }
    let pairs: Vec<(usize, usize)> = (0..sites).flat_map(|i| (i + 1..sites).map(move |j| (i, j))).collect();
    let flips: Vec<f64> = pairs
        .par_iter()
        .map(|(i, j)| {
            let (_, moves) = transitions(&(build::sp(*i) * build::sm(*j)).spin(two_s).reduced(), word);
            share * multiplet.iter().map(|vector| transition_average(&tables, &moves, vector)).sum::<f64>()
        })
        .collect();
    for ((i, j), flip) in pairs.into_iter().zip(flips) {
        sdots[[i, j]] = flip + szsz[[i, j]];
        sdots[[j, i]] = sdots[[i, j]];
    }
    for i in 0..sites {
        sdots[[i, i]] = if multiplet.is_empty() { 0.0 } else { s * (s + 1.0) };
    }
    Ok(Observables { n_up: None, n_dn: None, double_occupancy: None, sz, szsz, nn: None, sdots })
}

fn transition_average(tables: &LinTables, moves: &[crate::operator::transition::Transition], vector: &[f64]) -> f64 {
    let mut sum = 0.0;
    for (index, v) in vector.iter().enumerate() {
        let state = tables.state(index as u64);
        for t in moves.iter().filter(|t| state & t.care == t.pattern) {
            sum += t.amplitude * v * vector[tables.index(state ^ t.flip) as usize];
        }
    }
    sum
}
