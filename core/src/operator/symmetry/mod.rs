//! Symmetries of a model on a lattice: generators with their eigenvalues in, a group with characters out.
//!
//! A sector of one-dimensional characters χ holds the states with U_g |ψ⟩ = χ(g) |ψ⟩ for every element g of a group. The group is the
//! closure of the generators. Each of these is checked against the Hamiltonian term by term, and the characters are checked to be a
//! representation, χ(gh) = χ(g) χ(h).
//!
//! | generator | as an operator on states | eigenvalue |
//! |---|---|---|
//! | translation of a periodic direction | T c†_r T⁻¹ = c†_{r+1} | e^(−2πik/L), k = 0 … L − 1 |
//! | rotation and mirror of an irrep of the point group ([`crate::lattice`]) | about one centre | as its table says |
//! | reflection | x → L − 1 − x | ±1 |
//! | spin inversion | m → −m of every moment and qubit, ↑ ↔ ↓ of every electron | ±1 |
//! | exchange | ↑ ↔ ↓ of every electron | ±1 |
//! | particle–hole | c_i → ε_i c†_i of every fermion, b_i → b†_i of hard-core bosons | ±1 |
//! | any permutation | U c†_i U⁻¹ = c†_{p(i)} | a root of unity of its order |
//!
//! Beside k, an irrep is one of the little group: of the rotations and mirrors that leave k as it is. Of an irrep of two states one is
//! solved for, and the report says that each of its levels is there twice.
//!
//! With N spins S and total spin S_tot, spin inversion is (−1)^(N S − S_tot); with N electrons, exchange is (−1)^(N/2 − S_tot). A
//! permutation of fermions has the sign of its effect on the order of the operators: all ↑ left of all ↓, sites ascending.
//!
//! A generator leaves H as it is in the sector: up to multiples of the sector's charges less their values, which vanish there.

mod conjugation;
mod element;
mod error;
mod group;
mod holes;
mod images;
mod trace;
mod vanishing;

pub use element::GroupElement;
pub use error::SymmetryError;
pub use group::SymmetryGroup;
pub use images::OperatorImage;

use super::{Charge, MatrixStorage, Operator};
use crate::lattice::{Lattice, LatticeKind, Momenta, PointGroup, PointIrrep, Translation};
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
    particle_hole: Option<i64>,
    point_group: Option<String>,
    irrep: Option<String>,
    generators: Vec<(Vec<usize>, Complex64)>,
    storage: MatrixStorage,
}

impl Symmetry {
    /// No generator so far.
    pub fn new() -> Symmetry {
        Symmetry::default()
    }

    /// Sets the momentum: a whole number from 0 to the order − 1 for each of the lattice's [`Lattice::translations`], which are one a
    /// periodic direction of a straight cluster.
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

    /// Sets the eigenvalue, 1 or −1, of P: c_i → ε_i c†_i of every electron and fermion of flavours, with ε_i = ±1 such that hops stay as
    /// they are, and b_i → b†_i of bosons of which a site holds at most one. P takes the empty state to c†_1 … c†_M |0⟩, all modes in their
    /// order. The sector is half filled.
    pub fn particle_hole(mut self, eigenvalue: i64) -> Symmetry {
        self.particle_hole = Some(eigenvalue);
        self
    }

    /// Sets the irreducible representation, "A1", "B2", "E" …, of the rotations and mirrors of the lattice that leave H and k as they are;
    /// "trivial" is the one of which all characters are 1. With the name of a point before it, "Gamma.A1", "M.B2" or "K.E", it sets the
    /// momentum too.
    pub fn irrep(mut self, label: &str) -> Symmetry {
        self.irrep = Some(label.into());
        self
    }

    /// Sets the point group, "D4" or "C3", whose irrep is meant; by default the largest under which H is invariant.
    pub fn point_group(mut self, name: &str) -> Symmetry {
        self.point_group = Some(name.into());
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
    pub fn wanted_storage(&self) -> MatrixStorage {
        self.storage
    }

    /// The momentum, if there is one.
    pub fn momentum(&self) -> Option<&[i64]> {
        self.k.as_deref()
    }

    /// Whether translations, and what acts within sites, are all that is asked for.
    pub fn is_of_translations(&self) -> bool {
        let Symmetry { reflection, irrep, point_group, generators, .. } = self;
        reflection.is_none() && irrep.is_none() && point_group.is_none() && generators.is_empty()
    }

    /// Particle–hole symmetry by itself, if it is asked for.
    pub fn particle_hole_alone(&self) -> Option<Symmetry> {
        Some(Symmetry { particle_hole: Some(self.particle_hole?), ..Symmetry::default() })
    }

    /// Whether any symmetry is asked for.
    pub fn has_generator(&self) -> bool {
        *self != Symmetry { storage: self.storage, ..Symmetry::default() }
    }

    /// The charges of the sector to which the inversion of all spins takes these, if H stays as it is without regard to its sector.
    pub fn inverted_charges(operator: &Operator, charges: &[(Charge, i64)]) -> Option<Vec<(Charge, i64)>> {
        Symmetry::charges_behind(operator, charges, false)
    }

    /// The same of the inversion of all spins with the conjugation of amplitudes: time reversal, up to a rotation about z.
    pub fn time_reversed_charges(operator: &Operator, charges: &[(Charge, i64)]) -> Option<Vec<(Charge, i64)>> {
        Symmetry::charges_behind(operator, charges, true)
    }

    fn charges_behind(operator: &Operator, charges: &[(Charge, i64)], conjugates: bool) -> Option<Vec<(Charge, i64)>> {
        let plain = GroupElement::identity(operator.kinds_or_implied().len());
        let element = GroupElement { moments: true, electrons: true, conjugates, ..plain };
        let inversion = Generator::new("spin_inversion".into(), String::new(), element, Complex64::ONE).ok()?;
        inversion.check(operator, &[]).ok()?;
        inversion.image_of(operator, charges)
    }

    /// Whether there is an eigenvalue of the exchange of electrons.
    pub fn has_exchange(&self) -> bool {
        self.exchange.is_some()
    }

    /// Whether permutations were given with characters.
    pub fn has_generators(&self) -> bool {
        !self.generators.is_empty()
    }

    /// The group of this request for a reduced, checked operator in a sector of these charges.
    pub fn group(&self, operator: &Operator, charges: &[(Charge, i64)]) -> Result<SymmetryGroup, SymmetryError> {
        self.with_momentum_of_point(operator.lattice())?.group_of(operator, charges)
    }

    /// The same with a momentum and a label where the irrep is written with the name of a point: "M.B2".
    fn with_momentum_of_point(&self, lattice: Option<&Lattice>) -> Result<Symmetry, SymmetryError> {
        let named = self.irrep.as_ref().and_then(|irrep| Some((irrep, irrep.split_once('.')?)));
        let Some((irrep, (point, label))) = named else { return Ok(self.clone()) };
        let name = match point {
            "Γ" => "Gamma",
            "Π" | "π" => "Pi",
            name => name,
        };
        let points = lattice.map_or_else(Vec::new, Lattice::symmetry_points);
        let Some(found) = points.iter().find(|known| known.name == name) else {
            let names = points.iter().map(|known| known.name.into()).collect();
            let lattice = lattice.map_or("a model without a lattice".into(), Lattice::describe);
            return Err(SymmetryError::NoPoint { irrep: irrep.clone(), point: point.into(), names, lattice });
        };
        let k = match &self.k {
            None => found.momenta[0].clone(),
            Some(k) if found.momenta.contains(k) => k.clone(),
            Some(k) => {
                let (irrep, momenta) = (irrep.clone(), found.momenta.clone());
                return Err(SymmetryError::OtherPoint { irrep, momenta, found: k.clone() });
            }
        };
        Ok(Symmetry { k: Some(k), irrep: Some(label.into()), ..self.clone() })
    }

    /// The group where the irrep has no name of a point.
    fn group_of(&self, operator: &Operator, charges: &[(Charge, i64)]) -> Result<SymmetryGroup, SymmetryError> {
        let sites = operator.kinds_or_implied().len();
        let mut generators = Vec::new();
        if let Some(k) = &self.k {
            generators.extend(translations(k, operator.lattice())?);
        }
        let mut little = None;
        if let Some((group, irrep)) = self.little_irrep(operator, charges)? {
            if irrep.degeneracy > 1 && self.has_generators() {
                return Err(SymmetryError::GeneratorsBesideIrrep { irrep: irrep.label, states: irrep.degeneracy });
            }
            for (name, place, character) in &irrep.generators {
                let value = shown(*character);
                generators.push(Generator::new(name.clone(), value, GroupElement::permutation(place), *character)?);
            }
            little = Some((irrep, group));
        }
        if let (Some(_), Some(irrep)) = (self.reflection, &self.irrep) {
            return Err(SymmetryError::ReflectionBesideIrrep { irrep: irrep.clone() });
        }
        if let Some(sign) = self.reflection {
            let lattice = operator.lattice();
            let place = lattice.and_then(Lattice::reflection).ok_or_else(|| SymmetryError::NoReflection {
                lattice: lattice.map_or("a model without a lattice".into(), Lattice::describe),
            })?;
            generators.push(involution("reflection", sign, GroupElement::permutation(&place))?);
        }
        let plain = GroupElement::identity(sites);
        if let Some(sign) = self.spin_inversion {
            let element = GroupElement { moments: true, electrons: true, ..plain.clone() };
            generators.push(involution("spin_inversion", sign, element)?);
        }
        if let Some(sign) = self.exchange {
            generators.push(involution("exchange", sign, GroupElement { electrons: true, ..plain })?);
        }
        if let Some(sign) = self.particle_hole {
            let holes = Some(holes::colours(operator)?);
            generators.push(involution(
                "particle_hole",
                sign,
                GroupElement { holes, ..GroupElement::identity(sites) },
            )?);
        }
        for (number, (permutation, character)) in self.generators.iter().enumerate() {
            let name = format!("generators[{number}]");
            check_permutation(&name, permutation, sites)?;
            let element = GroupElement::permutation(permutation);
            generators.push(Generator::new(name, shown(*character), element, *character)?);
        }
        let group = SymmetryGroup::new(generators, operator, charges)?.with_momentum(self.momentum());
        Ok(match little {
            Some((irrep, point)) => group.in_irrep(&irrep, &point),
            None => group,
        })
    }

    /// The rotations and mirrors of the operator's lattice that are meant: those of the point group that is named, else all under which H
    /// is invariant in this sector.
    pub fn point_group_of(&self, operator: &Operator, charges: &[(Charge, i64)]) -> Result<PointGroup, SymmetryError> {
        let all = operator.lattice().map_or_else(Vec::new, Lattice::point_operations);
        let of_cluster = PointGroup::largest(&all);
        let refused = |found: PointGroup, whose| {
            let lattice = operator.lattice().map_or("a model without a lattice".into(), Lattice::describe);
            let edges = operator.lattice().is_none_or(|lattice| lattice.kind() == LatticeKind::Edges);
            let names = if found.is_trivial() { Vec::new() } else { found.names() };
            Err(SymmetryError::NoPointGroup { asked: self.point_group.clone(), whose, names, edges, lattice })
        };
        let check = |name: &str, place: &[usize]| {
            let made = Generator::new(name.into(), String::new(), GroupElement::permutation(place), Complex64::ONE)?;
            made.check(operator, charges)
        };
        match &self.point_group {
            Some(name) => {
                // All of its elements, also of a representation of two states, whose generators are fewer. Of several groups with the name
                // the first that H has.
                let checked = |group: PointGroup| {
                    group.generators().iter().try_for_each(|(name, place)| check(name, place)).map(|()| group)
                };
                let found: Vec<_> = of_cluster.all_named(name).into_iter().map(checked).collect();
                let first = found.iter().position(Result::is_ok).unwrap_or(0);
                found.into_iter().nth(first).unwrap_or_else(|| refused(of_cluster, "the cluster"))
            }
            None => {
                let found = of_cluster.subgroup(|operation| check("rotation", &operation.place).is_ok());
                if found.is_trivial() { refused(found, "H on the cluster") } else { Ok(found) }
            }
        }
    }

    /// The little group of k and its irrep that is asked for; `None` where none is.
    fn little_irrep(
        &self,
        operator: &Operator,
        charges: &[(Charge, i64)],
    ) -> Result<Option<(PointGroup, PointIrrep)>, SymmetryError> {
        if self.irrep.is_none() && self.point_group.is_none() {
            return Ok(None);
        }
        let mut group = self.point_group_of(operator, charges)?;
        if let (Some(k), Some(lattice)) = (&self.k, operator.lattice()) {
            let momenta = Momenta::new(lattice);
            group = group.subgroup(|operation| momenta.turned(k, operation.steps).as_ref() == Some(k));
        }
        let irreps = group.irreps();
        let labels = irreps.iter().map(|irrep| irrep.label.clone()).collect();
        let Some(label) = &self.irrep else {
            return Err(SymmetryError::IrrepMissing { group: group.name(), labels });
        };
        match irreps.into_iter().find(|irrep| irrep.label == *label || label == TRIVIAL) {
            Some(irrep) => Ok(Some((group, irrep))),
            None => {
                Err(SymmetryError::NoIrrep { asked: label.clone(), group: group.name(), k: self.k.clone(), labels })
            }
        }
    }
}

/// The name of the irrep of which all characters are 1, of every group.
const TRIVIAL: &str = "trivial";

/// A character as it is printed.
fn shown(character: Complex64) -> String {
    match (character.re, character.im) {
        (re, im) if im.abs() < 1e-12 => format!("{re:+}"),
        (re, im) => format!("{re:.6}{im:+.6}i"),
    }
}

/// The translations of the lattice with their momenta.
fn translations(k: &[i64], lattice: Option<&Lattice>) -> Result<Vec<Generator>, SymmetryError> {
    let translations = lattice.map_or_else(Vec::new, Lattice::translations);
    if translations.is_empty() {
        let lattice = lattice.map_or("a model without a lattice".into(), Lattice::describe);
        return Err(SymmetryError::NotPeriodic { found: k.to_vec(), lattice });
    }
    if translations.len() != k.len() {
        let lengths = translations.iter().map(|translation| translation.order).collect();
        return Err(SymmetryError::MomentumCount { found: k.to_vec(), lengths });
    }
    let mut generators = Vec::new();
    for (Translation { step, order, place }, k) in translations.iter().zip(k) {
        if !(0..*order as i64).contains(k) {
            return Err(SymmetryError::NoSuchMomentum { found: *k, length: *order });
        }
        let name = match step {
            [1, 0] => "translation along x".to_string(),
            [0, 1] => "translation along y".into(),
            [x, y] => format!("translation by [{x}, {y}]"),
        };
        let character = Complex64::from_polar(1.0, -TAU * *k as f64 / *order as f64);
        let value = format!("k = {k} of 0 to {}", order - 1);
        generators.push(Generator::new(name, value, GroupElement::permutation(place), character)?);
    }
    Ok(generators)
}

/// A generator that is its own inverse.
fn involution(name: &str, sign: i64, element: GroupElement) -> Result<Generator, SymmetryError> {
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
