//! Symmetries of a model on a lattice: generators with their eigenvalues in, a group with characters out.
//!
//! A sector of one-dimensional characters χ holds the states with U_g |ψ⟩ = χ(g) |ψ⟩ for every element g of a group. The group is the
//! closure of the generators. Each of these is checked against the Hamiltonian term by term, and the characters are checked to be a
//! representation, χ(gh) = χ(g) χ(h).
//!
//! | generator | as an operator on states | eigenvalue |
//! |---|---|---|
//! | translation of a periodic direction | T c†_r T⁻¹ = c†_{r+1} | e^(−2πik/L), k = 0 … L − 1 |
//! | reflection | x → L − 1 − x | ±1 |
//! | spin inversion | m → −m of every moment and qubit, ↑ ↔ ↓ of every electron | ±1 |
//! | exchange | ↑ ↔ ↓ of every electron | ±1 |
//! | any permutation | U c†_i U⁻¹ = c†_{p(i)} | a root of unity of its order |
//!
//! With N spins S and total spin S_tot, spin inversion is (−1)^(N S − S_tot); with N electrons, exchange is (−1)^(N/2 − S_tot). A
//! permutation of fermions has the sign of its effect on the order of the operators: all ↑ left of all ↓, sites ascending.

mod element;
mod error;
mod group;
mod trace;

pub(crate) use element::Element;
pub use error::SymmetryError;
pub(crate) use group::SymmetryGroup;

use super::{Charge, MatrixStorage, Operator};
use crate::lattice::Lattice;
use group::Generator;
use num_complex::Complex64;
use std::f64::consts::TAU;

/// The symmetry sector that is asked for: `Symmetry::new().k(&[0]).spin_inversion(1)`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Symmetry {
    k: Option<Vec<i64>>,
    reflection: Option<i64>,
    spin_inversion: Option<i64>,
    exchange: Option<i64>,
    generators: Vec<(Vec<usize>, Complex64)>,
    storage: MatrixStorage,
}

impl Symmetry {
    /// No generator so far.
    pub fn new() -> Symmetry {
        Symmetry::default()
    }

    /// Sets the momentum: a whole number from 0 to the length − 1 for each periodic direction of the model's lattice.
    pub fn k(mut self, k: &[i64]) -> Symmetry {
        self.k = Some(k.to_vec());
        self
    }

    /// Sets the eigenvalue, 1 or −1, of x → L − 1 − x ([`Lattice::reflection`]).
    pub fn reflection(mut self, eigenvalue: i64) -> Symmetry {
        self.reflection = Some(eigenvalue);
        self
    }

    /// Sets the eigenvalue, 1 or −1, of the inversion of every spin.
    pub fn spin_inversion(mut self, eigenvalue: i64) -> Symmetry {
        self.spin_inversion = Some(eigenvalue);
        self
    }

    /// Sets the eigenvalue, 1 or −1, of the exchange of ↑ and ↓ electrons.
    pub fn exchange(mut self, eigenvalue: i64) -> Symmetry {
        self.exchange = Some(eigenvalue);
        self
    }

    /// Adds a permutation of sites, site i going to `permutation[i]`, with its character.
    pub fn generator(mut self, permutation: &[usize], character: Complex64) -> Symmetry {
        self.generators.push((permutation.to_vec(), character));
        self
    }

    /// Sets how H is multiplied; by default by what suits the size.
    pub fn storage(mut self, storage: MatrixStorage) -> Symmetry {
        self.storage = storage;
        self
    }

    /// How H is multiplied.
    pub(crate) fn wanted_storage(&self) -> MatrixStorage {
        self.storage
    }

    /// Whether permutations were given with characters.
    pub(crate) fn has_generators(&self) -> bool {
        !self.generators.is_empty()
    }

    /// The group of this request for a reduced, checked operator in a sector of these charges.
    pub(crate) fn group(&self, operator: &Operator, charges: &[(Charge, i64)]) -> Result<SymmetryGroup, SymmetryError> {
        let sites = operator.kinds_or_implied().len();
        let mut generators = Vec::new();
        if let Some(k) = &self.k {
            generators.extend(translations(k, operator.lattice())?);
        }
        if let Some(sign) = self.reflection {
            let lattice = operator.lattice();
            let place = lattice.and_then(Lattice::reflection).ok_or_else(|| SymmetryError::NoReflection {
                lattice: lattice.map_or("a model without a lattice".into(), Lattice::describe),
            })?;
            generators.push(involution("reflection", sign, Element::permutation(&place))?);
        }
        let plain = Element::identity(sites);
        if let Some(sign) = self.spin_inversion {
            let element = Element { moments: true, electrons: true, ..plain.clone() };
            generators.push(involution("spin_inversion", sign, element)?);
        }
        if let Some(sign) = self.exchange {
            generators.push(involution("exchange", sign, Element { electrons: true, ..plain })?);
        }
        for (number, (permutation, character)) in self.generators.iter().enumerate() {
            let name = format!("generators[{number}]");
            check_permutation(&name, permutation, sites)?;
            let element = Element::permutation(permutation);
            let value = match (character.re, character.im) {
                (re, 0.0) => format!("{re:+}"),
                (re, im) => format!("{re:.6}{im:+.6}i"),
            };
            generators.push(Generator::new(name, value, element, *character)?);
        }
        SymmetryGroup::new(generators, operator, charges)
    }
}

/// The translations of the periodic directions with their momenta.
fn translations(k: &[i64], lattice: Option<&Lattice>) -> Result<Vec<Generator>, SymmetryError> {
    let directions = lattice.map_or_else(Vec::new, Lattice::periodic_directions);
    let Some(lattice) = lattice.filter(|_| !directions.is_empty()) else {
        let lattice = lattice.map_or("a model without a lattice".into(), Lattice::describe);
        return Err(SymmetryError::NotPeriodic { found: k.to_vec(), lattice });
    };
    let lengths: Vec<usize> = directions.iter().map(|direction| lattice.size()[*direction]).collect();
    if lengths.len() != k.len() {
        return Err(SymmetryError::MomentumCount { found: k.to_vec(), lengths });
    }
    let mut generators = Vec::new();
    for ((direction, length), k) in directions.iter().zip(&lengths).zip(k) {
        if !(0..*length as i64).contains(k) {
            return Err(SymmetryError::NoSuchMomentum { found: *k, length: *length });
        }
        let name = format!("translation along {}", if *direction == 0 { "x" } else { "y" });
        let place = lattice.translation(*direction).unwrap_or_else(|| unreachable!("the direction is periodic"));
        let character = Complex64::from_polar(1.0, -TAU * *k as f64 / *length as f64);
        let value = format!("k = {k} of 0 to {}", length - 1);
        generators.push(Generator::new(name, value, Element::permutation(&place), character)?);
    }
    Ok(generators)
}

/// A generator that is its own inverse.
fn involution(name: &str, sign: i64, element: Element) -> Result<Generator, SymmetryError> {
    if sign.abs() != 1 {
        return Err(SymmetryError::NotASign { generator: name.into(), found: sign });
    }
    Generator::new(name.into(), format!("{sign:+}"), element, Complex64::new(sign as f64, 0.0))
}

fn check_permutation(generator: &str, permutation: &[usize], sites: usize) -> Result<(), SymmetryError> {
    let refuse = |why: String| Err(SymmetryError::NotAPermutation { generator: generator.into(), sites, why });
    if permutation.len() != sites {
        return refuse(format!("{} numbers were found", permutation.len()));
    }
    let mut from = vec![None; sites];
    for (site, to) in permutation.iter().enumerate() {
        match from.get_mut(*to) {
            None => return refuse(format!("site {site} goes to {to}, which is no site")),
            Some(Some(first)) => return refuse(format!("sites {first} and {site} both go to {to}")),
            Some(none) => *none = Some(site),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
