//! How many states a symmetry sector has, without a list: the trace of its projector.
//!
//! In: a group with characters, sites, charges. Out: 1/|G| Σ_g χ(g)* Tr U_g over the states with these charges. An element moves the
//! sites in cycles, and of a state that it leaves as it is one site of a cycle determines the others; so a trace is a product over
//! cycles of sums over the local states of one site, each a term of a polynomial in the charges.

use super::super::{Charge, SiteKind};
use super::element::Element;
use super::group::SymmetryGroup;
use std::collections::HashMap;

/// A cycle of sites: what they carry, and how many there are.
type Cycle = (SiteKind, usize);

impl SymmetryGroup {
    /// The number of states of the sector with these charges, where no state is forbidden.
    pub(crate) fn states(&self, kinds: &[SiteKind], charges: &[(Charge, i64)]) -> u64 {
        let mut known: HashMap<(bool, bool, Vec<Cycle>), i128> = HashMap::new();
        let of_element = |(element, character): (&Element, num_complex::Complex64)| {
            let cycles = cycles(element, kinds);
            let key = (element.moments, element.electrons, cycles);
            let trace = *known.entry(key).or_insert_with_key(|(.., cycles)| trace(element, cycles, charges));
            character.re * trace as f64
        };
        let sum: f64 = self.elements.iter().zip(self.characters()).map(of_element).sum();
        (sum / self.elements.len() as f64).round() as u64
    }
}

/// The cycles of an element, sorted.
fn cycles(element: &Element, kinds: &[SiteKind]) -> Vec<Cycle> {
    let (mut seen, mut cycles) = (vec![false; kinds.len()], Vec::new());
    for (start, kind) in kinds.iter().enumerate() {
        let (mut site, mut length) = (start, 0);
        while !std::mem::replace(&mut seen[site], true) {
            site = element.place[site] as usize;
            length += 1;
        }
        if length > 0 {
            cycles.push((*kind, length));
        }
    }
    cycles.sort_unstable_by_key(|(kind, length)| (kind.to_string(), *length));
    cycles
}

/// The sum of signs over the states with these charges that an element leaves as they are.
fn trace(element: &Element, cycles: &[Cycle], charges: &[(Charge, i64)]) -> i128 {
    let none = vec![0i64; charges.len()];
    let mut sums: HashMap<Vec<i64>, i128> = HashMap::from([(none, 1)]);
    for (kind, length) in cycles {
        let terms = terms(element, *kind, *length, charges);
        let mut next: HashMap<Vec<i64>, i128> = HashMap::new();
        for (sum, number) in &sums {
            for (values, sign) in &terms {
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

/// Of each state of a cycle that stays as it is: its charges, and its sign.
fn terms(element: &Element, kind: SiteKind, length: usize, charges: &[(Charge, i64)]) -> Vec<(Vec<i64>, i64)> {
    let of_state = |first: u64| {
        let (mut state, mut values, mut fermions) = (first, vec![0; charges.len()], 0);
        for _ in 0..length {
            values.iter_mut().zip(charges).for_each(|(value, (charge, _))| *value += kind.charge(*charge, state));
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
