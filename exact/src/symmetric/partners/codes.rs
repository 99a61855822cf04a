//! The values of slots: which there are, and by which numbers kernels find the code of one.
//!
//! In: the flips of a plan, and the characters of its walk. Out: at most 256 values, each an amplitude of a flip times a character and
//! a sign, with i where the term has it, and whether it multiplies a conjugate; and the lists that lead from these to the code.

use eigenforge_templates::exact::{FlipGroup, MOST_VALUES, SymmetryPlan};
use num_complex::Complex64;
use std::collections::BTreeSet;

/// Sums of terms of one flip that are followed.
const MOST_SUMS: usize = 4096;
/// Relative difference of values that are the same.
const SAME: f64 = 1e-13;

/// What a slot does to the amplitude of its partner.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlotValue {
    /// What multiplies it.
    pub(super) factor: Complex64,
    /// Whether its conjugate is multiplied.
    pub(super) conjugates: bool,
}

/// The values of slots, and how kernels find the code of one.
#[derive(Debug)]
pub(super) struct Codes {
    /// Values by their codes; one where all slots have the same.
    pub(super) values: Vec<SlotValue>,
    /// Whether slots have codes.
    pub(super) coded: bool,
    /// What flips may have as amplitude, ascending; empty where all have the same.
    pub(super) amplitudes: Vec<f64>,
    /// Of each element of the walk the number of its character.
    pub(super) character_class: Vec<u8>,
    /// How many different characters there are.
    pub(super) character_classes: usize,
    /// Codes by amplitude, factor i, sign and character, the last fastest.
    pub(super) code_of: Vec<u8>,
    /// How many elements may leave a word as it is: the divisors of the order of the group.
    pub(super) orders: Vec<u32>,
}

impl Codes {
    /// The codes of a plan; `None` where there are more than 256 values, or as many characters.
    pub(super) fn new(plan: &SymmetryPlan, characters: &[f64]) -> Option<Codes> {
        let orders = divisors(plan.elements());
        let flips = || plan.groups.iter().chain(&plan.imaginary);
        let constant = plan.constant_amplitude().or_else(|| flips().next().is_none().then_some(1.0));
        let has_factors = plan.characters || plan.fermions;
        let coded = flips().next().is_some() && (constant.is_none() || has_factors || !plan.imaginary.is_empty());
        let amplitudes = match constant {
            Some(_) => Vec::new(),
            None => amplitudes(flips())?,
        };
        let (character_class, classes) = classes(characters, plan)?;
        let mut codes = Codes {
            values: Vec::new(),
            coded,
            amplitudes,
            character_class,
            character_classes: classes.len(),
            code_of: Vec::new(),
            orders,
        };
        if !coded {
            codes.values.push(SlotValue { factor: constant.unwrap_or(1.0).into(), conjugates: false });
            return Some(codes);
        }
        let each = constant.map_or_else(|| codes.amplitudes.clone(), |value| vec![value]);
        let (turns, signs) = (&[false, true][..1 + usize::from(plan.complex)], 1 + usize::from(plan.fermions));
        for amplitude in each {
            for times_i in turns {
                for sign in &[1.0, -1.0][..signs] {
                    for character in &classes {
                        let value = amplitude * *sign * character.factor;
                        // Conjugated, as the whole row is.
                        let factor = if *times_i { Complex64::new(value.im, -value.re) } else { value };
                        let code = codes.code(SlotValue { factor, ..*character })?;
                        codes.code_of.push(code);
                    }
                }
            }
        }
        Some(codes)
    }

    /// The code of a value, which is listed if it is new.
    fn code(&mut self, value: SlotValue) -> Option<u8> {
        let same = |known: &SlotValue| known.is_near(value);
        let place = self.values.iter().position(same).unwrap_or(self.values.len());
        if place == self.values.len() {
            self.values.push(value);
        }
        (place < MOST_VALUES).then_some(place as u8)
    }

    /// The values as kernels read them: real parts, then of complex vectors imaginary parts, and then where some conjugate −1 for these and 1
    /// for others.
    pub(super) fn parts(&self, complex: bool, conjugates: bool) -> Vec<f64> {
        let imaginary = self.values.iter().filter(|_| complex).map(|value| value.factor.im);
        let turn = |value: &SlotValue| if value.conjugates { -1.0 } else { 1.0 };
        let turns = self.values.iter().filter(|_| conjugates).map(turn);
        self.values.iter().map(|value| value.factor.re).chain(imaginary).chain(turns).collect()
    }
}

impl SlotValue {
    fn is_near(self, other: SlotValue) -> bool {
        self.conjugates == other.conjugates && (self.factor - other.factor).norm() <= SAME * other.factor.norm()
    }
}

/// The divisors of a number, ascending.
fn divisors(number: u64) -> Vec<u32> {
    (1..=number.min(u32::MAX.into())).filter(|divisor| number.is_multiple_of(*divisor)).map(|own| own as u32).collect()
}

/// The number of the character of each element, and the characters; one, 1, where kernels know none.
fn classes(characters: &[f64], plan: &SymmetryPlan) -> Option<(Vec<u8>, Vec<SlotValue>)> {
    let elements = plan.elements() as usize;
    if !plan.characters {
        return Some((vec![0; elements], vec![SlotValue { factor: 1.0.into(), conjugates: false }]));
    }
    let (mut own, mut found) = (Vec::with_capacity(elements), Vec::<SlotValue>::new());
    for number in 0..elements {
        let part = |part: usize| characters.get(part * elements + number).copied();
        let factor = Complex64::new(characters[number], part(1).unwrap_or(0.0));
        let character = SlotValue { factor, conjugates: part(2).is_some_and(|turn| turn < 0.0) };
        let place = found.iter().position(|known| known.is_near(character)).unwrap_or(found.len());
        if place == found.len() {
            found.push(character);
        }
        own.push(u8::try_from(place).ok()?);
    }
    Some((own, found))
}

/// Bits of a word that are known, and a sum of amplitudes.
type Known = (u64, u64, u64);

/// What flips may have as amplitude, ascending, each summed as kernels sum it: the terms that act on a word, in their order. Terms whose
/// conditions contradict each other do not act together. `None` if there are too many.
fn amplitudes<'a>(flips: impl Iterator<Item = &'a FlipGroup>) -> Option<Vec<f64>> {
    let mut all: Vec<f64> = Vec::new();
    for flip in flips {
        let mut sums: BTreeSet<Known> = [(0, 0, 0.0f64.to_bits())].into();
        for term in &flip.terms {
            let mut more = BTreeSet::new();
            for (care, pattern, sum) in &sums {
                let both = care & term.care;
                if pattern & both == term.pattern & both {
                    let known = (care | term.care, pattern | term.pattern);
                    let signs = if term.sign == 0 { &[1.0][..] } else { &[1.0, -1.0] };
                    let with =
                        |sign: &f64| (known.0, known.1, (f64::from_bits(*sum) + sign * term.amplitude).to_bits());
                    more.extend(signs.iter().map(with));
                }
            }
            sums.append(&mut more);
            if sums.len() > MOST_SUMS {
                return None;
            }
        }
        // A flip of which no term acts has no slot.
        all.extend(sums.into_iter().filter(|(care, ..)| *care != 0).map(|(.., sum)| f64::from_bits(sum)));
        all.sort_unstable_by(f64::total_cmp);
        all.dedup_by(|a, b| a == b);
    }
    (all.len() <= MOST_SUMS).then_some(all)
}
