//! One element of a symmetry group: where every site goes, and whether spins are inverted and particles made holes on the way.
//!
//! As an operator U on states: U c†_{iσ} U⁻¹ = c†_{p(i)σ'} with σ' the other spin if electrons are exchanged; U takes level m of a
//! moment (or a qubit's bit) at i to level m, or −m if moments are inverted, at p(i); U|0⟩ = |0⟩ of the fermions. With holes the element is
//! P U with P c†_{iσ} P⁻¹ = ε_i c_{iσ} and P|0⟩ the state with all modes occupied ([`super::holes`]). So products of elements are products
//! of operators, without further signs: of elements with holes because a group has them only where P² = 1 and P U = U P. An antiunitary
//! element is U K with K the complex conjugation of amplitudes, which commutes with all U ([`super::conjugation`]).

use super::super::normal::{order_into, reduce_spin_into};
use super::super::{Carrier, Factor, Product, SiteKind, Spin};
use super::holes::{self, Colours};
use std::collections::BTreeMap;

/// A permutation of sites with or without an inversion of spins, and with particles or holes in their place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GroupElement {
    /// The new place of each site.
    pub place: Vec<u16>,
    /// Whether moments and qubits are inverted.
    pub moments: bool,
    /// Whether ↑ and ↓ electrons are exchanged.
    pub electrons: bool,
    /// Whether particles become holes, and the sites where c becomes −c†.
    pub holes: Option<Colours>,
    /// Whether amplitudes become their conjugates.
    pub conjugates: bool,
}

impl GroupElement {
    /// The element that changes nothing.
    pub fn identity(sites: usize) -> GroupElement {
        let place = (0..sites as u16).collect();
        GroupElement { place, moments: false, electrons: false, holes: None, conjugates: false }
    }

    /// A permutation of sites.
    pub fn permutation(place: &[usize]) -> GroupElement {
        let place = place.iter().map(|site| *site as u16).collect();
        GroupElement { place, ..GroupElement::identity(0) }
    }

    /// This after another.
    pub fn after(&self, first: &GroupElement) -> GroupElement {
        GroupElement {
            place: first.place.iter().map(|site| self.place[*site as usize]).collect(),
            moments: self.moments ^ first.moments,
            electrons: self.electrons ^ first.electrons,
            holes: match (&self.holes, &first.holes) {
                (Some(_), Some(_)) => None,
                (own, other) => own.as_ref().or(other.as_ref()).cloned(),
            },
            conjugates: self.conjugates ^ first.conjugates,
        }
    }

    /// Its inverse.
    pub fn inverse(&self) -> GroupElement {
        let mut place = vec![0; self.place.len()];
        self.place.iter().enumerate().for_each(|(site, there)| place[*there as usize] = site as u16);
        GroupElement { place, ..self.clone() }
    }

    /// How often it is applied until nothing has changed: the least common multiple of its cycles; `None` beyond 64 bits.
    pub fn order(&self) -> Option<u64> {
        let twice = self.moments || self.electrons || self.holes.is_some() || self.conjugates;
        let mut order = if twice { 2 } else { 1 };
        let mut seen = vec![false; self.place.len()];
        for start in 0..self.place.len() {
            let (mut site, mut length) = (start, 0);
            while !std::mem::replace(&mut seen[site], true) {
                site = self.place[site] as usize;
                length += 1;
            }
            order = least_common_multiple(order, length.max(1))?;
        }
        Some(order)
    }

    /// Whether a site of this kind is inverted.
    pub fn inverts(&self, kind: SiteKind) -> bool {
        match kind.carrier() {
            Carrier::Spin => self.moments,
            Carrier::Electrons => self.electrons,
            Carrier::Flavours | Carrier::Bosons => false,
        }
    }

    /// Whether particles of a site of this kind become holes.
    pub fn empties(&self, kind: SiteKind) -> bool {
        self.holes.is_some() && kind.has_holes()
    }

    /// Whether the one digit of a site without fermions is inverted, subtracted from its largest value.
    pub fn inverts_level(&self, kind: SiteKind) -> bool {
        kind.modes().is_empty() && self.inverts(kind) != self.empties(kind)
    }

    /// The local state that a site of this kind goes to.
    pub fn local(&self, kind: SiteKind, state: u64) -> u64 {
        if kind.modes().is_empty() {
            return if self.inverts_level(kind) { u64::from(kind.top()) - state } else { state };
        }
        let moved = if self.inverts(kind) { (state & 1) << 1 | state >> 1 } else { state };
        if self.empties(kind) { kind.states().end() - moved } else { moved }
    }

    /// The mode that a fermion mode goes to.
    pub fn mode(&self, kind: SiteKind, spin: Spin) -> Spin {
        match spin {
            Spin::Up if self.inverts(kind) => Spin::Down,
            Spin::Down if self.inverts(kind) => Spin::Up,
            spin => spin,
        }
    }

    /// The modes whose creator P takes to minus their annihilator, up to the signs of the order: an occupied mode that comes to one of them
    /// changes the sign of a state. None without holes.
    pub fn odd_modes(&self, kinds: &[SiteKind]) -> Vec<(Spin, usize)> {
        let Some(colours) = &self.holes else { return Vec::new() };
        let modes = holes::modes(kinds);
        let signs = holes::mode_signs(colours, &modes);
        modes.into_iter().zip(signs).filter(|(_, odd)| *odd).map(|(mode, _)| mode).collect()
    }

    /// U · product · U⁻¹ of a reduced product, as reduced products with coefficients.
    pub fn image(&self, kinds: &[SiteKind], product: &[Factor]) -> BTreeMap<Product, f64> {
        let mut sign = 1.0;
        let moved = product.iter().map(|factor| {
            if *factor == Factor::ImaginaryUnit {
                sign = if self.conjugates { -sign } else { sign };
                return *factor;
            }
            let (kind, there) = (kinds[factor.site()], self.place[factor.site()] as usize);
            if self.holes.as_ref().is_some_and(|colours| factor.is_fermion() && colours[there]) {
                sign = -sign;
            }
            match factor {
                Factor::Create(spin, _) if self.empties(kind) => Factor::Annihilate(self.mode(kind, *spin), there),
                Factor::Annihilate(spin, _) if self.empties(kind) => Factor::Create(self.mode(kind, *spin), there),
                Factor::CreateBoson(_) if self.empties(kind) => Factor::AnnihilateBoson(there),
                Factor::AnnihilateBoson(_) if self.empties(kind) => Factor::CreateBoson(there),
                Factor::Create(spin, _) => Factor::Create(self.mode(kind, *spin), there),
                Factor::Annihilate(spin, _) => Factor::Annihilate(self.mode(kind, *spin), there),
                Factor::Raise(_) if self.inverts(kind) => Factor::Lower(there),
                Factor::Lower(_) if self.inverts(kind) => Factor::Raise(there),
                Factor::Sz(_) if self.inverts(kind) => {
                    sign = -sign;
                    Factor::Sz(there)
                }
                factor => factor.moved(there),
            }
        });
        let moved: Product = moved.collect();
        let (mut ordered, mut reduced) = (BTreeMap::new(), BTreeMap::new());
        order_into(&mut ordered, moved, sign);
        for (product, coefficient) in &ordered {
            let two_s = |site: usize| kinds[site].two_s();
            for (product, factor) in holes::without_pairs(kinds, product) {
                reduce_spin_into(&mut reduced, &product, factor * coefficient, &two_s, false);
            }
        }
        reduced.retain(|_, coefficient| *coefficient != 0.0);
        reduced
    }
}

/// `None` beyond 64 bits.
pub(super) fn least_common_multiple(a: u64, b: u64) -> Option<u64> {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x).checked_mul(b)
}
