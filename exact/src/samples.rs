//! Models of this crate's tests.

use super::{InSector, Model};
use eigenforge_core::basis::{Down, Up};
use eigenforge_core::lattice::Lattice;
use eigenforge_core::models;
use eigenforge_core::operator::Operator;

/// An XXZ model with equal couplings in a sector of 2Sᶻ.
pub(crate) fn xxz(lattice: &Lattice, jxy: f64, jz: f64, two_sz: i64) -> Model {
    let (bonds, sites) = (lattice.bonds().len(), lattice.sites().len());
    let still = vec![0.0; sites];
    models::xxz(lattice, &vec![jxy; bonds], &vec![jz; bonds], &still, &still).two_sz(two_sz).unwrap()
}

/// The operator of a Hubbard model with t = 1.
pub(crate) fn hubbard_operator(lattice: &Lattice, u: f64) -> Operator {
    let (bonds, sites) = (lattice.bonds().len(), lattice.sites().len());
    models::hubbard(lattice, &vec![1.0; bonds], &vec![u; sites], &vec![0.0; sites], 0.0, &[])
}

/// A Hubbard model with t = 1 in a sector.
pub(crate) fn hubbard(lattice: &Lattice, u: f64, up: usize, down: usize) -> Model {
    hubbard_operator(lattice, u).sector(Up(up), Down(down)).unwrap()
}
