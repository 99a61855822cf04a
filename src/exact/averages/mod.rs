//! What averages over all pairs of sites need of a state: moments of the weights v², and ⟨S⁺ᵢS⁻ⱼ⟩.
//!
//! In: a model and the vectors of a multiplet, on the host or on their device. Out: [`PairSums`]. A vector is a matrix
//! ([`halves`]); v² is summed along its rows and columns, and ⟨S⁺ᵢS⁻ⱼ⟩ is a sum of products of one short list of pairs of columns
//! and one of pairs of rows ([`moves`]), so that no state is ranked. On the CPU ([`host`]) and in generated kernels
//! ([`device`]); on a device the vector stays where it is.
//!
//! Work: two flops for each product, of which two sites have at most D/4 (spin 1/2, fermions); all pairs of a ring of N
//! sites are some N/8 multiplies with its H.

mod device;
mod halves;
mod host;
mod moves;
#[cfg(test)]
mod tests;

pub(super) use device::{generated, on_device};

use super::model::Model;
use crate::operator::OperatorError;
use halves::Halves;
use moves::{Exchange, MoveTables, batches, exchanges};
use ndarray::Array2;

/// Sums of v².
struct Weights {
    /// Σ v² a_i(l) b_j(h), with a_0 = b_0 = 1 and levels of the sites from 1 on.
    moments: Array2<f64>,
    /// Σ v² of each low word, over the columns of its class.
    rows: Vec<f64>,
    /// Σ v² of each column.
    columns: Vec<f64>,
}

impl Weights {
    fn new(halves: &Halves) -> Weights {
        let [low, high] = halves.sites;
        Weights {
            moments: Array2::zeros((low + 1, high + 1)),
            rows: vec![0.0; halves.lows.len()],
            columns: vec![0.0; halves.columns.len()],
        }
    }
}

/// What a multiplet's averages are made of: averages over its vectors.
pub(super) struct PairSums {
    /// ⟨a_i b_j⟩: i = 0 and j = 0 stand for 1, the others for the levels of the low and of the high sites.
    pub cross: Array2<f64>,
    /// ⟨a_i a_i'⟩ of low sites.
    pub low: Array2<f64>,
    /// ⟨b_j b_j'⟩ of high sites.
    pub high: Array2<f64>,
    /// ⟨S⁺ᵢS⁻ⱼ⟩, i < j; zero elsewhere.
    pub exchange: Array2<f64>,
}

impl PairSums {
    fn new(halves: &Halves, sites: usize) -> PairSums {
        let [low, high] = halves.sites;
        PairSums {
            cross: Array2::zeros((low + 1, high + 1)),
            low: Array2::zeros((low, low)),
            high: Array2::zeros((high, high)),
            exchange: Array2::zeros((sites, sites)),
        }
    }

    fn add_weights(&mut self, halves: &Halves, weights: &Weights, share: f64) {
        self.cross.scaled_add(share, &weights.moments);
        let columns = halves.columns.iter().map(|column| column.word);
        add_moments(&mut self.low, halves, halves.lows.iter().copied().zip(weights.rows.iter().copied()), share);
        add_moments(&mut self.high, halves, columns.zip(weights.columns.iter().copied()), share);
    }

    fn add_exchanges(&mut self, exchanges: &[Exchange], sums: &[f64], share: f64) {
        for (Exchange { sites, factor, .. }, sum) in exchanges.iter().zip(sums) {
            self.exchange[*sites] += share * factor * sum;
        }
    }
}

/// Adds Σ weight level_i(word) level_j(word).
fn add_moments(moments: &mut Array2<f64>, halves: &Halves, weighted: impl Iterator<Item = (u64, f64)>, share: f64) {
    let sites = moments.nrows();
    let mut levels = vec![0.0; sites];
    for (word, weight) in weighted {
        levels.iter_mut().enumerate().for_each(|(site, level)| *level = f64::from(halves.level(word, site)));
        for i in (0..sites).filter(|i| levels[*i] != 0.0) {
            for j in 0..sites {
                moments[[i, j]] += share * weight * levels[i] * levels[j];
            }
        }
    }
}

/// The sums over orthonormal vectors on the host.
pub(super) fn on_host(model: &Model, multiplet: &[&[f64]]) -> Result<PairSums, OperatorError> {
    let halves = Halves::new(model.basis())?;
    let (mut sums, share) = (PairSums::new(&halves, model.sites()), 1.0 / multiplet.len().max(1) as f64);
    for vector in multiplet {
        sums.add_weights(&halves, &host::weights(&halves, vector), share);
    }
    for part in batches(&halves, &exchanges(&halves)) {
        let tables = MoveTables::new(&halves, part);
        for vector in multiplet {
            sums.add_exchanges(part, &host::transitions(&halves, &tables, vector), share);
        }
    }
    Ok(sums)
}
