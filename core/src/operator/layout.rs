//! The state word of sites of any kind, and terms as transitions of it.
//!
//! Site 0 has the lowest bits, and each site as many as its kind needs ([`SiteKind::bits`]). A **digit** is a fermion mode, one
//! bit of its site, or the level of a site that has levels. Modes are ordered as in the operator algebra, all ↑ before all ↓
//! (flavour by flavour), sites ascending, so the sign of a mode is the parity of a mask of bits, wherever these are in the word.
//!
//! A complex vector is a real one of twice the length: a last digit, above all sites, says whether an element is a real or an
//! imaginary part, and i is the real matrix that takes (Re, Im) to (−Im, Re). H is then real and symmetric, and has every
//! eigenvalue twice, for v and for i v.
//!
//! Some local states may be forbidden ([`SiteLayout::forbid`]); H is then P H P with the projector P on the states that are left, and
//! a transition is cut into those that stay among them.

use super::dense::level_element;
use super::transition::{DiagonalTerm, Transition, by_levels, fermion_transition_of, is_diagonal, local_element};
use super::{Charge, Factor, Operator, SiteKind, Spin};
use eigenforge_templates::exact::{DigitFactor, DigitFunction};
use std::collections::BTreeMap;

/// One fermion mode or one level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digit {
    /// Its site.
    pub site: usize,
    /// The fermion mode that it is.
    pub mode: Option<Spin>,
    /// Its lowest bit.
    pub shift: u32,
    /// Its bits.
    pub width: u32,
    /// Its largest value.
    pub top: u32,
}

impl Digit {
    /// Part of a word as the digit's value.
    fn value(&self, word: u128) -> u32 {
        (word >> self.shift) as u32 & low_mask(self.width) as u32
    }
}

/// A local pattern that no state has: the bits of `mask` are those of `pattern`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Forbidden {
    /// Bits to compare.
    pub mask: u128,
    /// Their values.
    pub pattern: u128,
}

/// Where each degree of freedom sits in the state word of sites of any kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteLayout {
    kinds: Vec<SiteKind>,
    digits: Vec<Digit>,
    /// The first digit of each site, and the number of all.
    first: Vec<usize>,
    /// What no state has, beside what its sites forbid.
    forbidden: Vec<Forbidden>,
    bits: u32,
    complex: bool,
    /// Of electrons alone: the spin whose bits are the lower half of a word, if those of a site are no neighbours.
    low_species: Option<Spin>,
}

impl SiteLayout {
    /// The layout of these sites. More than 128 bits are refused where a basis is made.
    pub fn new(kinds: &[SiteKind]) -> SiteLayout {
        let (mut digits, mut first, mut bits) = (Vec::new(), vec![0], 0u32);
        for (site, kind) in kinds.iter().enumerate() {
            let modes = kind.modes();
            match modes.is_empty() {
                true => digits.push(Digit { site, mode: None, shift: bits, width: kind.bits(), top: kind.top() }),
                false => digits.extend((bits..).zip(&modes).map(|(shift, mode)| Digit {
                    site,
                    mode: Some(*mode),
                    shift,
                    width: 1,
                    top: 1,
                })),
            }
            bits += kind.bits();
            first.push(digits.len());
        }
        SiteLayout {
            kinds: kinds.to_vec(),
            digits,
            first,
            forbidden: Vec::new(),
            bits,
            complex: false,
            low_species: None,
        }
    }

    /// The same for complex vectors, with a digit above all sites for real and imaginary parts.
    #[must_use]
    pub fn complex(mut self) -> SiteLayout {
        self.digits.push(Digit { site: self.kinds.len(), mode: None, shift: self.bits, width: 1, top: 1 });
        self.bits += 1;
        self.first.push(self.digits.len());
        self.complex = true;
        self
    }

    /// The same for electrons alone and real vectors, with the bits of the one spin, site by site, below all those of the other.
    #[must_use]
    pub fn by_species(mut self, low: Spin) -> SiteLayout {
        let sites = self.kinds.len() as u32;
        for digit in &mut self.digits {
            digit.shift = digit.site as u32 + if digit.mode == Some(low) { 0 } else { sites };
        }
        self.low_species = Some(low);
        self
    }

    /// The spin whose bits are the lower half of a word, if words are by species.
    pub fn low_species(&self) -> Option<Spin> {
        self.low_species
    }

    /// Forbids states in which each of these sites has this local state.
    pub fn forbid(&mut self, states: &[(usize, u64)]) {
        let (mut mask, mut pattern) = (0, 0);
        for (site, state) in states {
            let shift = self.shift(*site);
            mask |= u128::from(low_mask(self.kinds[*site].bits())) << shift;
            pattern |= u128::from(*state) << shift;
        }
        self.forbidden.push(Forbidden { mask, pattern });
        self.forbidden.sort_unstable();
        self.forbidden.dedup();
    }

    /// What each site carries.
    pub fn kinds(&self) -> &[SiteKind] {
        &self.kinds
    }

    /// Whether vectors are complex.
    pub fn is_complex(&self) -> bool {
        self.complex
    }

    /// Bits of a state.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Parts of the word that have local states: the sites and, above them, the part of a complex number.
    pub(crate) fn parts(&self) -> usize {
        self.first.len() - 1
    }

    /// The local states of a part, each with the values of charges.
    pub(crate) fn local_states(&self, part: usize, charges: &[Charge]) -> Vec<(u64, Vec<i64>)> {
        match self.kinds.get(part) {
            Some(kind) => {
                let values = |state: u64| charges.iter().map(|charge| kind.charge(*charge, part, state)).collect();
                kind.states().map(|state| (state, values(state))).collect()
            }
            None => (0..2).map(|state| (state, vec![0; charges.len()])).collect(),
        }
    }

    /// The lowest bit of a part; of the number of parts, all bits.
    pub fn shift(&self, site: usize) -> u32 {
        self.digits.get(self.first[site]).map_or(self.bits, |digit| digit.shift)
    }

    /// The digits, by site.
    pub fn digits(&self) -> &[Digit] {
        &self.digits
    }

    /// What is forbidden beside the states that a site does not have.
    pub fn forbidden(&self) -> &[Forbidden] {
        &self.forbidden
    }

    /// The number of a factor's digit.
    fn digit(&self, factor: Factor) -> usize {
        if factor == Factor::ImaginaryUnit {
            return self.digits.len() - 1;
        }
        let of_site = self.first[factor.site()]..self.first[factor.site() + 1];
        match factor {
            Factor::Create(spin, _) | Factor::Annihilate(spin, _) => {
                let found = of_site.clone().find(|digit| self.digits[*digit].mode == Some(spin));
                found.unwrap_or_else(|| unreachable!("checked: the site has this mode"))
            }
            _ => of_site.start,
        }
    }

    /// How much a product changes each digit.
    pub fn change(&self, product: &[Factor]) -> Vec<i64> {
        let mut change = vec![0; self.digits.len()];
        for factor in product {
            let by = match factor {
                Factor::Create(..) | Factor::Raise(_) | Factor::CreateBoson(_) => 1,
                Factor::Annihilate(..) | Factor::Lower(_) | Factor::AnnihilateBoson(_) => -1,
                Factor::Sz(_) | Factor::ImaginaryUnit => continue,
            };
            change[self.digit(*factor)] += by;
        }
        change
    }

    /// The place of a fermion mode's bit.
    pub fn mode_shift(&self, spin: Spin, site: usize) -> u32 {
        self.digits[self.digit(Factor::Create(spin, site))].shift
    }

    /// The bit of a fermion mode, and the bits of the modes before it.
    fn mode(&self, spin: Spin, site: usize) -> (u128, u128) {
        let bit = 1u128 << self.mode_shift(spin, site);
        let before = |digit: &&Digit| digit.mode.is_some_and(|mode| (mode, digit.site) < (spin, site));
        (bit, self.digits.iter().filter(before).fold(0, |mask, digit| mask | 1 << digit.shift))
    }

    /// The terms of a reduced, checked operator that move something.
    pub fn moves(&self, operator: &Operator) -> Vec<Transition<u128>> {
        let moving = operator.terms().filter(|(product, _)| !is_diagonal(product));
        moving.flat_map(|(product, coefficient)| self.transitions(product, coefficient)).collect()
    }

    /// One normal-ordered product as transitions, diagonal ones too.
    pub fn transitions(&self, product: &[Factor], coefficient: f64) -> Vec<Transition<u128>> {
        let fermions: Vec<Factor> = product.iter().copied().filter(|factor| factor.is_fermion()).collect();
        let mut partial = vec![fermion_transition_of(&fermions, coefficient, |spin, site| self.mode(spin, site))];
        for (digit, factors) in self.by_level(product) {
            let Digit { shift, width, top, .. } = self.digits[digit];
            partial = by_levels(&partial, (shift, width, top), &factors);
        }
        partial.retain(|transition| transition.amplitude != 0.0);
        partial.into_iter().flat_map(|transition| self.allowed(transition)).collect()
    }

    /// The factors of each digit that has levels.
    fn by_level(&self, product: &[Factor]) -> BTreeMap<usize, Vec<Factor>> {
        let mut factors: BTreeMap<usize, Vec<Factor>> = BTreeMap::new();
        for factor in product.iter().filter(|factor| !factor.is_fermion()) {
            factors.entry(self.digit(*factor)).or_default().push(*factor);
        }
        factors
    }

    /// A transition as those that end in states that are not forbidden.
    fn allowed(&self, transition: Transition<u128>) -> Vec<Transition<u128>> {
        let doubles = self.kinds.iter().enumerate().filter(|(_, kind)| **kind == SiteKind::Tj);
        let doubles = doubles.map(|(site, _)| {
            let mask = 0b11 << self.shift(site);
            Forbidden { mask, pattern: mask }
        });
        let mut kept = vec![transition];
        for Forbidden { mask, pattern } in doubles.chain(self.forbidden.iter().copied()) {
            // A state that begins outside is none, so a pattern that the transition does not touch stays away.
            if transition.flip & mask == 0 {
                continue;
            }
            let before = pattern ^ (transition.flip & mask);
            kept = kept.into_iter().flat_map(|transition| exclude_pattern(transition, mask, before)).collect();
        }
        kept
    }

    /// The diagonal terms of a reduced operator.
    pub fn diagonal_terms(&self, operator: &Operator) -> Vec<DiagonalTerm<u128>> {
        let diagonal = operator.terms().filter(|(product, _)| is_diagonal(product));
        let mut occupied: BTreeMap<u128, f64> = BTreeMap::new();
        let mut terms = Vec::new();
        for (product, coefficient) in diagonal {
            let modes = product.iter().filter_map(|factor| match factor {
                Factor::Create(spin, site) => Some(self.mode(*spin, *site).0),
                _ => None,
            });
            let mask = modes.fold(0, |mask, bit| mask | bit);
            let levels = self.by_level(product);
            let halves = levels.keys().all(|digit| self.digits[*digit].width == 1)
                && levels.values().flatten().all(|factor| matches!(factor, Factor::Sz(_)));
            let spins: Vec<u128> = levels.keys().map(|digit| 1u128 << self.digits[*digit].shift).collect();
            if halves && mask == 0 && !spins.is_empty() {
                let factor = 0.5f64.powi(spins.len() as i32);
                terms.push(DiagonalTerm::Parity { mask: spins.iter().sum(), coefficient: coefficient * factor });
            } else if halves {
                // Π (n − ½), multiplied out.
                for subset in 0..1usize << spins.len() {
                    let chosen = spins.iter().enumerate().filter(|(k, _)| subset >> k & 1 == 1);
                    let chosen = chosen.fold(mask, |mask, (_, bit)| mask | bit);
                    let rest = spins.len() as i32 - subset.count_ones() as i32;
                    *occupied.entry(chosen).or_insert(0.0) += coefficient * (-0.5f64).powi(rest);
                }
            } else {
                terms.extend(self.level_terms(mask, &levels, coefficient));
            }
        }
        terms.extend(
            occupied
                .into_iter()
                .filter(|(_, coefficient)| *coefficient != 0.0)
                .map(|(mask, coefficient)| DiagonalTerm::Word { mask, coefficient }),
        );
        terms
    }

    /// A diagonal product with levels: powers where the levels' values are those of a power, else one term a level.
    fn level_terms(
        &self,
        modes: u128,
        levels: &BTreeMap<usize, Vec<Factor>>,
        coefficient: f64,
    ) -> Vec<DiagonalTerm<u128>> {
        let occupied = (0..u128::BITS).filter(|bit| modes >> bit & 1 == 1);
        let occupation = DigitFunction::Power { twice_centre: 0, power: 1 };
        let first = occupied.map(|bit| DigitFactor { shift: bit, width: 1, function: occupation }).collect();
        let mut terms = vec![(coefficient, first)];
        for (digit, factors) in levels {
            let Digit { site, shift, width, top, .. } = self.digits[*digit];
            let value = |level: u32| local_element(factors, level, top).map_or(0.0, |(_, value)| value);
            let twice_centre = if matches!(self.kinds[site], SiteKind::Bosons { .. }) { 0 } else { top };
            let centre = 0.5 * f64::from(twice_centre);
            let is_power = |power: &i32| {
                (0..=top).all(|level| {
                    let (found, expected) = (value(level), (f64::from(level) - centre).powi(*power));
                    (found - expected).abs() <= 1e-13 * expected.abs().max(1.0)
                })
            };
            let functions: Vec<(f64, DigitFunction)> = match (1..=factors.len() as i32).find(is_power) {
                Some(power) => vec![(1.0, DigitFunction::Power { twice_centre, power: power as u32 })],
                None => (0..=top).map(|level| (value(level), DigitFunction::Equals(level))).collect(),
            };
            let with = |(coefficient, before): &(f64, Vec<DigitFactor>)| {
                let joined = |(factor, function): &(f64, DigitFunction)| {
                    let mut all = before.clone();
                    all.push(DigitFactor { shift, width, function: *function });
                    (coefficient * factor, all)
                };
                functions.iter().map(joined).filter(|(coefficient, _)| *coefficient != 0.0).collect::<Vec<_>>()
            };
            terms = terms.iter().flat_map(with).collect();
        }
        terms.into_iter().map(|(coefficient, factors)| DiagonalTerm::Digits { factors, coefficient }).collect()
    }

    /// A state word as its digits.
    pub fn configuration(&self, state: u128) -> Vec<u32> {
        self.digits.iter().map(|digit| digit.value(state)).collect()
    }

    /// Digits as a state word.
    pub fn word(&self, configuration: &[u32]) -> u128 {
        self.digits.iter().zip(configuration).fold(0, |word, (digit, value)| word | u128::from(*value) << digit.shift)
    }

    /// Applies one factor to a configuration, mode by mode and with the textbook's matrix elements: the reference.
    pub fn apply_factor(&self, factor: Factor, configuration: &mut [u32]) -> f64 {
        let digit = self.digit(factor);
        match factor {
            Factor::Create(spin, site) | Factor::Annihilate(spin, site) => {
                let creates = matches!(factor, Factor::Create(..));
                if (configuration[digit] == 1) == creates {
                    return 0.0;
                }
                configuration[digit] = u32::from(creates);
                let before = self.digits.iter().zip(&*configuration);
                let passed =
                    before.filter(|(digit, _)| digit.mode.is_some_and(|mode| (mode, digit.site) < (spin, site)));
                let passed: u32 = passed.map(|(_, occupation)| occupation).sum();
                if passed % 2 == 1 { -1.0 } else { 1.0 }
            }
            Factor::ImaginaryUnit => {
                configuration[digit] ^= 1;
                if configuration[digit] == 1 { 1.0 } else { -1.0 }
            }
            _ => {
                let (reached, element) = level_element(factor, configuration[digit], self.digits[digit].top);
                configuration[digit] = reached;
                element
            }
        }
    }
}

/// The lowest `bits` bits.
pub fn low_mask(bits: u32) -> u64 {
    if bits >= u64::BITS { u64::MAX } else { (1 << bits) - 1 }
}

/// A transition as those that do not begin where the bits of `mask` are those of `pattern`.
fn exclude_pattern(transition: Transition<u128>, mask: u128, pattern: u128) -> Vec<Transition<u128>> {
    if (transition.pattern ^ pattern) & mask & transition.care != 0 {
        return vec![transition];
    }
    // One for each free bit: it differs, and those before it are equal.
    let (mut parts, mut equal) = (Vec::new(), transition);
    for bit in (0..u128::BITS).map(|bit| 1u128 << bit).filter(|bit| mask & !transition.care & bit != 0) {
        parts.push(fixed(equal, bit, !pattern & bit));
        equal = fixed(equal, bit, pattern & bit);
    }
    parts
}

/// A transition with one more bit that must have a value.
fn fixed(transition: Transition<u128>, bit: u128, value: u128) -> Transition<u128> {
    let odd = transition.sign & bit & value != 0;
    Transition {
        care: transition.care | bit,
        pattern: transition.pattern | value,
        flip: transition.flip,
        sign: transition.sign & !bit,
        amplitude: if odd { -transition.amplitude } else { transition.amplitude },
    }
}
