//! Antiunitary elements: a complex sector of a real H, in states that are their own conjugates.
//!
//! In: a group with complex characters χ, a real operator. Out: the same group with A = P K and its products, where K conjugates amplitudes
//! and the permutation P, an inversion or a mirror of the lattice, leaves H as it is and takes every character to its conjugate,
//!
//! χ(P g P⁻¹) = χ(g)*,   P² in the group, χ(P²) = 1.
//!
//! A takes the sector to itself, commutes with H, and A² = 1. So the states with A|ψ⟩ = |ψ⟩ are a basis of the sector with real coefficients,
//! in which H is a real symmetric matrix: as many real numbers as the sector has complex ones (E. P. Wigner, Group Theory, Academic
//! Press 1959, chapter 26, type a). An orbit of the whole group has one complex amplitude; one that an antiunitary element leaves as it is,
//! a **line**, a real number times a direction u with u² = σ χ.

use super::super::{Charge, Operator, Product, SiteLayout};
use super::element::GroupElement;
use super::group::{Generator, SymmetryGroup};
use std::collections::{BTreeMap, HashMap, HashSet};

impl SymmetryGroup {
    /// The group with its antiunitary elements; `None` where H or characters need none, or no operation of the lattice is one.
    pub fn with_conjugation(&self, operator: &Operator, charges: &[(Charge, i64)]) -> Option<SymmetryGroup> {
        // Holes commute with some permutations up to a sign only.
        let has_holes = self.elements.iter().any(|element| element.holes.is_some());
        if operator.is_complex() || self.is_real() || has_holes || charges.len() > MOST_CHARGES {
            return None;
        }
        let numbers: HashMap<&GroupElement, usize> =
            self.elements.iter().enumerate().map(|(number, element)| (element, number)).collect();
        let phase = |element: &GroupElement| numbers.get(element).map(|number| self.phases[*number]);
        let negative = |phase: u64| (self.denominator - phase) % self.denominator;
        let takes_to_conjugates = |element: &GroupElement| {
            let inverse = element.inverse();
            let image = |own: &GroupElement| phase(&element.after(own).after(&inverse));
            phase(element).is_none()
                && phase(&element.after(element)) == Some(0)
                && self.generators.iter().all(|own| image(&own.element) == phase(&own.element).map(negative))
        };
        let operations = operator.lattice()?.point_operations();
        let mut found = operations.iter().map(|operation| GroupElement::permutation(&operation.place));
        let place = found.find(|element| {
            let symmetry = || Generator::new(String::new(), String::new(), element.clone(), 1.0.into());
            takes_to_conjugates(element)
                && leaves_every_term(element, operator)
                && symmetry().is_ok_and(|symmetry| symmetry.check(operator, charges).is_ok())
        })?;
        let own = GroupElement { conjugates: true, ..place };
        let conjugation = Generator::new("conjugation".into(), "+1".into(), own.clone(), 1.0.into()).ok()?;
        let mut group = self.clone();
        group.generators.push(conjugation);
        group.elements.extend(self.elements.iter().map(|element| element.after(&own)));
        group.phases.extend(self.phases.iter().map(|phase| negative(*phase)));
        Some(group)
    }

    /// Words of which each antiunitary element, or a conjugate of it by another, leaves one or more as they are: of every line at least one.
    pub fn words_of_lines(&self, layout: &SiteLayout, charges: &[(Charge, i64)]) -> Vec<u128> {
        let (mut seen, mut words) = (HashSet::new(), Vec::new());
        for element in self.elements.iter().filter(|element| element.conjugates) {
            if !seen.insert(element.clone()) {
                continue;
            }
            FixedWords::new(element, layout, charges).add(0, (0, 0), &mut words);
            // The class of the element.
            let mut class = vec![element.clone()];
            while let Some(own) = class.pop() {
                for Generator { element: by, .. } in &self.generators {
                    let conjugate = by.after(&own).after(&by.inverse());
                    if seen.insert(conjugate.clone()) {
                        class.push(conjugate);
                    }
                }
            }
        }
        let is_forbidden = |word: &u128| layout.forbidden().iter().any(|states| word & states.mask == states.pattern);
        words.retain(|word| !is_forbidden(word));
        words
    }
}

/// Whether the coefficient of every term stays as it is but for rounding of its own: nobody asked for this symmetry, and small terms that
/// break it count beside large ones.
fn leaves_every_term(element: &GroupElement, operator: &Operator) -> bool {
    let kinds = operator.kinds_or_implied();
    // As images are reduced, which H need not be.
    let nothing = GroupElement::identity(kinds.len());
    let mut terms: BTreeMap<Product, [f64; 2]> = BTreeMap::new();
    for (product, coefficient) in operator.terms() {
        for (place, by) in [&nothing, element].into_iter().enumerate() {
            for (image, factor) in by.image(&kinds, product) {
                terms.entry(image).or_default()[place] += factor * coefficient;
            }
        }
    }
    terms.values().all(|[own, image]| (own - image).abs() <= ROUNDING * own.abs().max(image.abs()))
}

/// The part of a coefficient that sums of a few numbers lose.
const ROUNDING: f64 = 64.0 * f64::EPSILON;
/// Bits of a charge in a number that holds all of them, so that sums of charges are sums of numbers.
const CHARGE_BITS: usize = 16;
/// Most charges of such a number.
const MOST_CHARGES: usize = 8;

/// Words that an element leaves as they are: what is left to choose is a state of each cycle of sites.
struct FixedWords<'c> {
    charges: &'c [(Charge, i64)],
    /// Of each cycle the bits of its states, and their charges.
    cycles: Vec<Vec<(u128, i128)>>,
    /// What the charges of the first cycles may be, so that others bring them to those of the sector.
    allowed: Vec<HashSet<i128>>,
}

impl FixedWords<'_> {
    fn new<'c>(element: &GroupElement, layout: &SiteLayout, charges: &'c [(Charge, i64)]) -> FixedWords<'c> {
        let (kinds, mut seen) = (layout.kinds(), vec![false; layout.kinds().len()]);
        let mut cycles = Vec::new();
        for (start, kind) in kinds.iter().enumerate() {
            let (mut sites, mut site) = (Vec::new(), start);
            while !std::mem::replace(&mut seen[site], true) {
                sites.push(site);
                site = element.place[site].into();
            }
            if sites.is_empty() {
                continue;
            }
            let of_state = |first: u64| {
                let (mut state, mut word, mut sum) = (first, 0, 0);
                for site in &sites {
                    word |= u128::from(state) << layout.shift(*site);
                    let each = charges.iter().enumerate();
                    sum += each.map(|(k, (charge, _))| field(kind.charge(*charge, *site, state), k)).sum::<i128>();
                    state = element.local(*kind, state);
                }
                (state == first).then_some((word, sum))
            };
            cycles.push(kind.states().filter_map(of_state).collect());
        }
        let mut words = FixedWords { charges, cycles, allowed: Vec::new() };
        words.find_allowed();
        words
    }

    fn find_allowed(&mut self) {
        let with = |sums: &HashSet<i128>, cycle: &[(u128, i128)], sign: i128| -> HashSet<i128> {
            sums.iter().flat_map(|sum| cycle.iter().map(move |(_, own)| sum + sign * own)).collect()
        };
        let all = self.cycles.iter().fold(HashSet::from([0]), |sums, cycle| with(&sums, cycle, 1));
        let is_wanted = |sum: &i128| {
            let mut each = self.charges.iter().enumerate();
            each.all(|(k, (charge, value))| charge.folded(charge_in(*sum, k)) == charge.folded(*value))
        };
        self.allowed = vec![all.into_iter().filter(is_wanted).collect()];
        for cycle in self.cycles.iter().rev() {
            self.allowed.push(with(&self.allowed[self.allowed.len() - 1], cycle, -1));
        }
        self.allowed.reverse();
    }

    /// Adds the words with these states of the first cycles.
    fn add(&self, cycle: usize, (word, sum): (u128, i128), found: &mut Vec<u128>) {
        if !self.allowed[cycle].contains(&sum) {
            return;
        }
        match self.cycles.get(cycle) {
            None => found.push(word),
            Some(states) => {
                states.iter().for_each(|(bits, own)| self.add(cycle + 1, (word | bits, sum + own), found));
            }
        }
    }
}

/// A charge in its place of a number.
fn field(value: i64, place: usize) -> i128 {
    i128::from(value) << (CHARGE_BITS * place)
}

/// The charge in a place of a sum; those below it may have borrowed from it.
fn charge_in(sum: i128, place: usize) -> i64 {
    let below = (0..place).fold(sum, |rest, _| (rest - i128::from(rest as i16)) >> CHARGE_BITS);
    (below as i16).into()
}
