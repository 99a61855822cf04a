//! How many states a symmetry sector has, without a list: the trace of its projector.
//!
//! In: a group with characters, sites, charges. Out: 1/|G| Σ_g χ(g)* Tr U_g over the states with these charges. An element moves the
//! sites in cycles, and of a state that it leaves as it is one site of a cycle determines the others; so a trace is a product over
//! cycles of sums over the local states of one site, each a term of a polynomial in the charges.
//!
//! Of an element with holes, P U, a state stays where every mode is full and the next one of its cycle empty, in turn: two states of each
//! cycle of fermion modes, none of a cycle of odd length. Cycles of even length are even operators, so their traces multiply; P is the
//! product of those of the cycles times the sign of the order of modes that follows the cycles.

use super::super::{Charge, SiteKind};
use super::element::GroupElement;
use super::group::SymmetryGroup;
use super::holes::{self, Colours};
use std::collections::HashMap;

/// Of each state of a cycle that stays as it is: its charges, and its sign.
type Terms = Vec<(Vec<i64>, i64)>;

impl SymmetryGroup {
    /// The number of states of the sector with these charges, where no state is forbidden: of real ones where the group has antiunitary
    /// elements, which are as many as complex ones without these.
    pub fn states(&self, kinds: &[SiteKind], charges: &[(Charge, i64)]) -> u64 {
        let (mut of_site_cycles, mut of_cycles) = (HashMap::new(), HashMap::new());
        let of_element = |(element, character): (&GroupElement, num_complex::Complex64)| {
            let (mut cycles, mut sign) = (Vec::new(), 1);
            for (kind, length) in site_cycles(element, kinds) {
                let key = (element.moments, element.electrons, element.holes.is_some(), kind, length);
                let terms = of_site_cycles.entry(key).or_insert_with(|| terms(element, kind, length, charges));
                cycles.push(Terms::clone(terms));
            }
            if let Some(colours) = &element.holes {
                sign = mode_cycles(element, colours, kinds, charges, &mut cycles);
            }
            cycles.sort_unstable();
            let trace = *of_cycles.entry(cycles).or_insert_with_key(|cycles| trace(cycles, charges));
            character.re * (sign * trace) as f64
        };
        let unitary = self.elements.iter().zip(self.characters()).filter(|(element, _)| !element.conjugates);
        (unitary.map(of_element).sum::<f64>() / self.order() as f64).round() as u64
    }
}

/// The cycles of an element: what their sites carry, and how many they are. With holes those of sites without fermions alone.
fn site_cycles(element: &GroupElement, kinds: &[SiteKind]) -> Vec<(SiteKind, usize)> {
    let (mut seen, mut cycles) = (vec![false; kinds.len()], Vec::new());
    for (start, kind) in kinds.iter().enumerate() {
        let (mut site, mut length) = (start, 0);
        while !std::mem::replace(&mut seen[site], true) {
            site = element.place[site] as usize;
            length += 1;
        }
        if length > 0 && (element.holes.is_none() || kind.modes().is_empty()) {
            cycles.push((*kind, length));
        }
    }
    cycles
}

/// The sum of signs over the states with these charges that stay in each cycle as they are.
fn trace(cycles: &[Terms], charges: &[(Charge, i64)]) -> i128 {
    let none = vec![0i64; charges.len()];
    let mut sums: HashMap<Vec<i64>, i128> = HashMap::from([(none, 1)]);
    for terms in cycles {
        let mut next: HashMap<Vec<i64>, i128> = HashMap::new();
        for (sum, number) in &sums {
            for (values, sign) in terms {
                let each = charges.iter().zip(sum.iter().zip(values));
                let sum = each.map(|((charge, _), (sum, value))| charge.folded(sum + value)).collect();
                *next.entry(sum).or_insert(0) += number * i128::from(*sign);
            }
        }
        sums = next;
    }
    let wanted: Vec<i64> = charges.iter().map(|(charge, value)| charge.folded(*value)).collect();
    sums.get(&wanted).copied().unwrap_or(0)
}

/// The states of a cycle of sites that stay as they are. No charge of a symmetry sector depends on the site.
fn terms(element: &GroupElement, kind: SiteKind, length: usize, charges: &[(Charge, i64)]) -> Terms {
    let of_state = |first: u64| {
        let (mut state, mut values, mut fermions) = (first, vec![0; charges.len()], 0);
        for _ in 0..length {
            values.iter_mut().zip(charges).for_each(|(value, (charge, _))| *value += kind.charge(*charge, 0, state));
            fermions += if kind.modes().is_empty() { 0 } else { state.count_ones() };
            state = element.local(kind, state);
        }
        // Occupied modes move in cycles of their own: as long as that of the sites, or twice as long where ↑ comes back as ↓.
        let cycles = fermions / if element.inverts(kind) && length % 2 == 1 { 2 * length } else { length } as u32;
        let sign = if (fermions - cycles) % 2 == 1 { -1 } else { 1 };
        (state == first).then_some((values, sign))
    };
    kind.states().filter_map(of_state).collect()
}

/// Adds the cycles of fermion modes of an element with holes; returns the sign of the order of modes that follows the cycles.
fn mode_cycles(
    element: &GroupElement,
    colours: &Colours,
    kinds: &[SiteKind],
    charges: &[(Charge, i64)],
    cycles: &mut Vec<Terms>,
) -> i128 {
    let modes = holes::modes(kinds);
    let moved = holes::moved_modes(element, kinds, &modes);
    let (mut seen, mut order) = (vec![false; modes.len()], Vec::new());
    for start in 0..modes.len() {
        let (mut cycle, mut at) = (Vec::new(), start);
        while !std::mem::replace(&mut seen[at], true) {
            cycle.push(at);
            at = moved[at];
        }
        if cycle.is_empty() {
            continue;
        }
        if cycle.len() % 2 == 1 {
            cycles.push(Terms::new());
        } else {
            let half = |first: usize| {
                let full: Vec<(crate::operator::Spin, usize)> =
                    cycle.iter().skip(first).step_by(2).map(|k| modes[*k]).collect();
                let value = |(charge, _): &(Charge, i64)| {
                    let of_mode = |(mode, site): &(_, usize)| {
                        let bit = kinds[*site].modes().iter().position(|own| own == mode).unwrap_or(0);
                        kinds[*site].charge(*charge, *site, 1 << bit)
                    };
                    full.iter().map(of_mode).sum::<i64>()
                };
                let odd = full.iter().filter(|(_, site)| colours[*site]).count();
                (charges.iter().map(value).collect::<Vec<i64>>(), odd)
            };
            // U takes each half to the other one, the second with the sign of a cycle of its modes; then P empties that with its ε, and
            // with a sign for each of the second half, before which an odd number of modes stands.
            let ((first, even), (second, odd)) = (half(0), half(1));
            let length = cycle.len() / 2;
            let sign = |minus: usize| if minus % 2 == 1 { -1 } else { 1 };
            cycles.push(vec![(first, sign(odd + length)), (second, sign(even + length - 1))]);
        }
        order.extend(cycle);
    }
    if holes::is_odd(&order) { -1 } else { 1 }
}
