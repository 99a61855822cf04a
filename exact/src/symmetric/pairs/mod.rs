//! Electrons in a sector of the exchange of their spins alone, on pairs of strings: the tables of the multiply, and the orders of vectors.
//!
//! In: a sector whose words have the up strings above the down strings, a group of the identity and the exchange, moving terms of one spin
//! each and the same for both. Out: the strings, their hops A, the sign P of Xᵀ = P X, and a multiply by panels of rows of X; equations and order
//! are in `eigenforge_templates::exact::PairsPlan`. P is the eigenvalue of the exchange times (−1)^n, n electrons of each spin: so often
//! do their operators pass each other.

mod host;
mod rows;
mod tables;

pub use rows::PairRows;
pub(crate) use rows::PairsWay;

use super::strings::by_halves;
use super::{SymmetricSector, moving};
use crate::kronecker::SpeciesMatrix;
use eigenforge_core::basis::{Basis, Sector};
use eigenforge_core::operator::{
    Charge, GroupElement, MatrixStorage, Operator, SiteKind, SiteLayout, Spin, SymmetryGroup, Transition,
};
use eigenforge_runtime::Scalar;
use eigenforge_templates::exact::PairOrder;
use rayon::prelude::*;

/// Most strings of a spin, those of 27 sites half filled.
const MOST_STRINGS: u64 = 1 << 27;
/// What amplitudes of the two spins may differ by, of the largest: sums of the same numbers in another order.
const ROUNDING: f64 = 1e-14;

/// Whether a group is that of the exchange of ↑ and ↓ alone.
pub(super) fn is_exchange(group: &SymmetryGroup) -> bool {
    let exchanges = |element: &GroupElement| {
        let stays = element.place.iter().enumerate().all(|(site, place)| site == usize::from(*place));
        element.electrons && element.holes.is_none() && stays
    };
    matches!(&group.elements[..], [_, element] if exchanges(element)) && group.is_real()
}

/// Whether a sector is multiplied on pairs, whatever its size: of electrons alone in real numbers, each term moving one spin.
pub(super) fn are_for(
    group: &SymmetryGroup,
    operator: &Operator,
    layout: &SiteLayout,
    charges: &[(Charge, i64)],
    storage: MatrixStorage,
) -> bool {
    let kinds = layout.kinds();
    let alone = kinds.iter().all(|kind| *kind == SiteKind::Electrons) && layout.forbidden().is_empty();
    let wanted = !matches!(storage, MatrixStorage::Stored | MatrixStorage::Table)
        && !operator.is_complex()
        && is_exchange(group);
    // A word has both strings, and a table has each in 32 bits.
    if !wanted || !alone || charges.len() != 2 || 2 * kinds.len() > u64::BITS as usize {
        return false;
    }
    let strings = eigenforge_core::basis::count(kinds.len(), electrons(charges));
    let species = SiteLayout::new(kinds).by_species(Spin::Down);
    let halves = by_halves(&moving(operator.terms(), &species), kinds.len() as u32);
    strings <= MOST_STRINGS && halves.is_some()
}

/// Electrons of each spin.
fn electrons(charges: &[(Charge, i64)]) -> usize {
    let up = charges.iter().find(|(charge, _)| *charge == Charge::Up);
    up.map_or(0, |(_, number)| (*number).max(0) as usize)
}

/// The tables of a sector.
#[derive(Debug)]
pub(super) struct Pairs {
    sites: u32,
    /// P.
    sign: f64,
    order: PairOrder,
    /// A, with the strings.
    hops: SpeciesMatrix,
    /// The amplitude of each element of A.
    amplitudes: Vec<f64>,
}

impl Pairs {
    /// The tables; `None` of another group, terms of both spins, or spins with other hops.
    pub(super) fn new(sector: &SymmetricSector) -> Option<Pairs> {
        let layout = sector.layout();
        if layout.low_species() != Some(Spin::Down) || !is_exchange(sector.group()) || sector.complex {
            return None;
        }
        let sites = layout.kinds().len();
        let halves = by_halves(&sector.moves, sites as u32)?;
        let Sector::Charges(charges) = sector.orbits.plain().sector() else { return None };
        let particles = electrons(charges);
        let strings = Basis::new(sites, 1, Sector::Fermions { up: particles, down: particles }).ok()?;
        let (words, _) = strings.species()?;
        let [hops, others] = halves.map(|moves| {
            let narrow: Vec<Transition> = moves.iter().map(|(transition, _)| transition.narrow()).collect();
            SpeciesMatrix::new(sites, particles, words, &narrow)
        });
        let of = |hops: &SpeciesMatrix| {
            let values = hops.amplitudes.reals();
            hops.numbers.iter().map(|number| values[*number as usize]).collect::<Vec<f64>>()
        };
        let (amplitudes, of_others) = (of(&hops), of(&others));
        let largest = amplitudes.iter().fold(0.0f64, |largest, amplitude| largest.max(amplitude.abs()));
        let same = (&hops.row_start, &hops.columns) == (&others.row_start, &others.columns);
        if !same || amplitudes.iter().zip(&of_others).any(|(a, b)| (a - b).abs() > ROUNDING * largest) {
            return None;
        }
        let character = sector.group().characters()[1].re;
        let sign = if particles.is_multiple_of(2) { character } else { -character }.signum();
        let order = PairOrder { strings: words.len() as u64, first: u64::from(sign < 0.0) };
        debug_assert_eq!(order.pairs(), sector.orbits.states(), "traces count the pairs");
        Some(Pairs { sites: sites as u32, sign, order, hops, amplitudes })
    }

    /// The place of a word's state and the factor of its element there, for words of the layout by species.
    pub(super) fn state_of(&self, word: u64) -> Option<(usize, f64)> {
        let low = word & ((1u64 << self.sites) - 1);
        let rank = |string: u64| self.hops.states.binary_search(&string).ok();
        let (a, b) = (rank(word >> self.sites)? as u64, rank(low)? as u64);
        let (place, of_b) = self.order.place(a, b)?;
        Some((place as usize, if of_b { self.sign } else { 1.0 }))
    }

    /// A vector with the representatives, (a, b) with a the lesser string, in the order of their words.
    pub(super) fn in_basis_order<T: Scalar>(&self, vector: &[T]) -> Vec<T> {
        let PairOrder { strings, first } = self.order;
        let of_row = |a: u64| (a + first..strings).filter_map(move |b| self.order.place(a, b));
        let element = |(place, of_b): (u64, bool)| {
            let value = vector[place as usize];
            if of_b { T::from_f64(self.sign * value.to_f64()) } else { value }
        };
        (0..strings).into_par_iter().flat_map_iter(|a| of_row(a).map(element)).collect()
    }

    /// The vector of all states without the symmetry: X[a][b] at a + b · strings, as a Kronecker sum has them.
    pub(super) fn without_symmetry<T: Scalar>(&self, vector: &[T]) -> Vec<T> {
        let (strings, root) = (self.order.strings, 0.5f64.sqrt());
        let element = |k: u64| {
            let (a, b) = (k % strings, k / strings);
            let Some((place, of_b)) = self.order.place(a, b) else { return T::from_f64(0.0) };
            let value = vector[place as usize].to_f64();
            let factor = if a == b { 1.0 } else { root };
            T::from_f64(if of_b { self.sign * factor * value } else { factor * value })
        };
        (0..strings * strings).into_par_iter().map(element).collect()
    }
}
