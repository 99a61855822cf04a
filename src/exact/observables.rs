//! Expectation values in a multiplet: densities, double occupancy, and the correlation matrices ⟨SᶻSᶻ⟩, ⟨n n⟩, ⟨S·S⟩.
//!
//! All are averages over an orthonormal basis of the multiplet (trace / g), so they do not depend on which vectors of a
//! degenerate level a solver happened to return. Units: ħ = 1, S = σ/2. The sums over the vectors are made by
//! [`super::averages`]; here they become matrices of sites.

use super::averages::{self, PairSums};
use super::model::Model;
use super::multiply::PrepareError;
use crate::basis::Sector;
use crate::operator::OperatorError;
use eigenforge_runtime::{Device, Vector};
use ndarray::Array2;

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
    /// Averages over orthonormal vectors of the model's sector, on the host.
    pub fn of(model: &Model, multiplet: &[&[f64]]) -> Result<Observables, OperatorError> {
        Ok(Observables::assemble(model, averages::on_host(model, multiplet)?))
    }

    /// Averages over orthonormal vectors where they are: by generated kernels on a device that runs them.
    ///
    /// # Errors
    /// A sector without tables; a device that does not compile the kernels or has no room for their tables.
    pub fn of_vectors(model: &Model, multiplet: &[&Vector<f64>], device: &Device) -> Result<Observables, PrepareError> {
        let on_host: Option<Vec<&[f64]>> = multiplet.iter().map(|vector| vector.as_host()).collect();
        match on_host {
            Some(slices) => Ok(Observables::of(model, &slices)?),
            None => Ok(Observables::assemble(model, averages::on_device(model, multiplet, device)?)),
        }
    }

    fn assemble(model: &Model, sums: PairSums) -> Observables {
        match model.sector() {
            Sector::Fermions { .. } => of_fermions(sums),
            Sector::Spins { .. } => of_spins(sums, 0.5 * f64::from(model.operator().two_s())),
        }
    }
}

/// Low sites are those of the up electrons, high sites those of the down electrons.
fn of_fermions(sums: PairSums) -> Observables {
    let PairSums { cross, low: up_up, high: down_down, exchange } = sums;
    let sites = up_up.nrows();
    let up_down = cross.slice(ndarray::s![1.., 1..]);
    let (n_up, n_dn) = (up_up.diag().to_vec(), down_down.diag().to_vec());
    let szsz = 0.25 * (&up_up + &down_down - up_down - up_down.t());
    let nn = &up_up + &down_down + up_down + up_down.t();
    let mut sdots = &szsz + &exchange + exchange.t();
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

/// Levels of all sites, the low ones first; Sz is the level less S.
fn of_spins(sums: PairSums, s: f64) -> Observables {
    let PairSums { cross, low, high, exchange } = sums;
    let (norm, sites, cut) = (cross[[0, 0]], low.nrows() + high.nrows(), low.nrows());
    let level = |i: usize| if i < cut { cross[[i + 1, 0]] } else { cross[[0, i - cut + 1]] };
    let both = |i: usize, j: usize| match (i < cut, j < cut) {
        (true, true) => low[[i, j]],
        (false, false) => high[[i - cut, j - cut]],
        (true, false) => cross[[i + 1, j - cut + 1]],
        (false, true) => cross[[j + 1, i - cut + 1]],
    };
    let szsz = Array2::from_shape_fn((sites, sites), |(i, j)| both(i, j) - s * (level(i) + level(j)) + s * s * norm);
    let mut sdots = &szsz + &exchange + exchange.t();
    for i in 0..sites {
        sdots[[i, i]] = s * (s + 1.0) * norm;
    }
    let sz = (0..sites).map(|i| level(i) - s * norm).collect();
    Observables { n_up: None, n_dn: None, double_occupancy: None, sz, szsz, nn: None, sdots }
}
