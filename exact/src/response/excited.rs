//! A|ψ⟩ on the states of another sector, on the host.
//!
//! In: a state of one sector, an operator, another sector. Out: the amplitudes ⟨t|A|ψ⟩ of its states t. Each is a sum over the states s to which A†
//! takes t, so that every amplitude is written by one thread and nothing is added up between them. Of a symmetry sector the states t are the
//! representatives r, with amplitudes √(|G|/|S_r|) ⟨r|A|ψ⟩ of r̃, and ψ(s) is that of the representative of s
//! (core/src/basis/representatives.rs). States that are their own conjugates have real coefficients: A|ψ⟩ has two of them each, of the part that
//! is its own conjugate and of i times the other.

use super::super::model::Model;
use super::super::solve::{RunError, Solution};
use super::super::symmetric::SymmetricSector;
use super::target::ResponseTarget;
use eigenforge_core::basis::{Basis, FlipImages, Orbits, OtherPart, Reached};
use eigenforge_core::operator::{Factor, Operator, OperatorError, SiteLayout, Spin, Transition, Word};
use eigenforge_runtime::{Scalar, trace};
use num_complex::Complex64;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Orthonormal states of a level, with the model whose they are.
#[derive(Debug)]
pub struct LevelStates {
    /// The model.
    pub model: Model,
    /// The level's energy, the constant of the sector included.
    pub energy: f64,
    /// What of it all states share as they were solved; in another gauge not that of the model.
    pub constant: f64,
    /// The energy without it, so that differences of energies lose no digits to it.
    pub energy_without_constant: f64,
    /// Amplitudes in the order of the model's basis, a state after the other.
    pub states: Vec<Vec<Complex64>>,
    /// The last symmetry sector that was reached: the lists of representatives of others are made from its.
    pub(in super::super) last: Mutex<Option<Arc<Orbits>>>,
}

impl<T: Scalar> Solution<'_, T> {
    /// The states of a level, as far as it was found: those that were returned, and those that certification found.
    ///
    /// # Errors
    /// Copies from the device; several ranks.
    pub fn level_states(&self, level: usize) -> Result<LevelStates, RunError> {
        let energy = self.levels().get(level).map_or(f64::NAN, |level| level.value);
        let energy_without_constant = self.eigenpairs().levels.get(level).map_or(f64::NAN, |level| level.value);
        let (model, states) = (self.model().clone(), self.complex_states(level)?);
        let constant = self.constant();
        Ok(LevelStates { model, energy, constant, energy_without_constant, states, last: Mutex::default() })
    }
}

/// Where the amplitude of a state stands in a vector.
enum Place<'a> {
    /// At its number.
    Plain(&'a Basis),
    /// At that of its representative.
    Orbits(&'a Orbits, f64),
}

impl<'a> Place<'a> {
    fn new(model: &'a Model) -> Result<Place<'a>, OperatorError> {
        let Some(sector) = model.symmetric() else { return Ok(Place::Plain(model.basis())) };
        sector.check_list()?;
        sector.orbits().prepare();
        Ok(Place::Orbits(sector.orbits(), sector.orbits().actions().elements() as f64))
    }

    /// ψ(s); `reached` is the representative of s where it is known.
    #[inline]
    fn amplitude(&self, values: &[Complex64], word: u128, reached: Option<Reached>) -> Complex64 {
        match self {
            Place::Plain(basis) => basis.index(word).map_or(Complex64::ZERO, |index| values[index as usize]),
            Place::Orbits(orbits, elements) => {
                let reached = reached.unwrap_or_else(|| orbits.actions().reached(word));
                let Some(place) = orbits.index(reached.word) else { return Complex64::ZERO };
                let share = (f64::from(orbits.stabilisers()[place as usize]) / elements).sqrt();
                let found = reached.factor.conj() * values[place as usize] * share;
                debug_assert!(!reached.conjugates, "only working models have such elements");
                found
            }
        }
    }

    /// ψ of a word that an element takes to a representative.
    #[inline]
    fn amplitude_by(&self, values: &[Complex64], place: usize, (word, element): (u128, usize)) -> Complex64 {
        match self {
            Place::Plain(_) => values[place],
            Place::Orbits(orbits, elements) => {
                let share = (f64::from(orbits.stabilisers()[place]) / elements).sqrt();
                orbits.actions().factor(element, word).conj() * values[place] * share
            }
        }
    }

    /// The word of a state, and what ψ of it is multiplied by to be its amplitude.
    #[inline]
    fn state(&self, number: usize) -> (u128, f64) {
        match self {
            Place::Plain(basis) => (basis.state(number as u64), 1.0),
            Place::Orbits(orbits, elements) => {
                (orbits.words()[number], (elements / f64::from(orbits.stabilisers()[number])).sqrt())
            }
        }
    }
}

/// Where the amplitude stands of a state that an operator's diagonal part leaves as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unmoved {
    /// At its own number: both models are one.
    AtItsNumber,
    /// In a list of the same representatives, of which some have no state.
    InTheOtherList,
    /// It is looked for like any other.
    Anywhere,
}

impl Unmoved {
    fn new(from: &Place<'_>, to: &Place<'_>) -> Unmoved {
        match (from, to) {
            (Place::Plain(from), Place::Plain(to)) if std::ptr::eq(*from, *to) => Unmoved::AtItsNumber,
            (Place::Orbits(from, _), Place::Orbits(to, _)) if std::ptr::eq(*from, *to) => Unmoved::AtItsNumber,
            (Place::Orbits(from, _), Place::Orbits(to, _)) if from.shares_words(to) => Unmoved::InTheOtherList,
            _ => Unmoved::Anywhere,
        }
    }
}

/// A place in a list that is gone through with ascending words.
struct Cursor<'a> {
    orbits: &'a Orbits,
    next: usize,
}

impl<'a> Cursor<'a> {
    fn new(orbits: &'a Orbits, first: u128) -> Cursor<'a> {
        Cursor { orbits, next: orbits.words().partition_point(|word| *word < first) }
    }

    /// The number of a word that is not less than those before.
    fn index(&mut self, word: u128) -> Option<usize> {
        let words = self.orbits.words();
        while words.get(self.next).is_some_and(|own| *own < word) {
            self.next += 1;
        }
        (words.get(self.next) == Some(&word)).then_some(self.next)
    }
}

/// The words of a model's states.
pub(in super::super) fn layout_of(model: &Model) -> SiteLayout {
    let layout = SiteLayout::new(&model.site_kinds());
    match model.basis().word() {
        Word::Fermions { .. } => layout.by_species(Spin::Up),
        Word::Spins { .. } | Word::Sites(_) => layout,
    }
}

/// Transitions that flip the same bits, with what each is multiplied by.
type OfFlip = (u128, Vec<(Transition<u128>, Complex64)>);

/// A† as transitions by the bits that they flip: those of one state lead to one state, whose amplitude is looked up once.
fn adjoint_transitions(operator: &Operator, layout: &SiteLayout) -> Vec<OfFlip> {
    let adjoint = operator.adjoint();
    let of_term = |(product, coefficient): (&[Factor], f64)| {
        // ⟨t|A|s⟩ is the conjugate of ⟨s|A†|t⟩.
        let (product, factor) = match product {
            [factors @ .., Factor::ImaginaryUnit] => (factors, -Complex64::I),
            factors => (factors, Complex64::ONE),
        };
        let list = layout.transitions(product, coefficient).into_iter();
        list.map(move |transition| (transition, factor)).collect::<Vec<_>>()
    };
    let mut by_flip: BTreeMap<u128, Vec<(Transition<u128>, Complex64)>> = BTreeMap::new();
    for (transition, factor) in adjoint.terms().flat_map(of_term) {
        by_flip.entry(transition.flip).or_default().push((transition, factor));
    }
    by_flip.into_iter().collect()
}

/// States that a thread makes at a time.
const STATES: usize = 1 << 12;

impl LevelStates {
    /// Makes the list of a symmetry sector from one that is there, where the groups differ by their characters alone.
    fn adopt_list(&self, model: &Model) {
        let Some(orbits) = model.symmetric().map(SymmetricSector::orbits) else { return };
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.model.symmetric().map(SymmetricSector::orbits);
        // Its amplitudes are looked up in it.
        known.into_iter().for_each(|own| own.prepare());
        known.into_iter().chain(last.iter()).for_each(|other| orbits.adopt_list(other));
        *last = Some(orbits.clone());
    }

    /// A|a⟩ of one of the states on the states of a target.
    ///
    /// # Errors
    /// No room for a list of representatives.
    pub fn excited(&self, state: usize, target: &ResponseTarget) -> Result<Vec<Complex64>, OperatorError> {
        self.excited_in(state, &target.operator, &target.model)
    }

    /// A|a⟩ of one of the states in the basis of a model in the sector that A leads to.
    ///
    /// # Errors
    /// No room for a list of representatives.
    pub(super) fn excited_in(
        &self,
        state: usize,
        operator: &Operator,
        model: &Model,
    ) -> Result<Vec<Complex64>, OperatorError> {
        let _making = trace::span("response", "act on a state");
        self.adopt_list(model);
        Ok(Action::new(operator, &self.model, model)?.applied(&self.states[state]))
    }
}

/// An operator between the states of two models, prepared for many vectors.
pub(crate) struct Action<'a> {
    from: Place<'a>,
    to: Place<'a>,
    transitions: Vec<OfFlip>,
    unmoved: Unmoved,
    /// The unitary element of `from` that moves words as the first antiunitary one of `to` does, where both have the same representatives.
    mirror: Option<usize>,
    /// The images of what A flips, where it leads to several words of a symmetry sector.
    flips: Option<FlipImages>,
    /// The words of both, where they differ.
    moved: Option<(SiteLayout, SiteLayout)>,
    states: usize,
}

impl<'a> Action<'a> {
    /// Of an operator all of whose terms lead from one model's sector to that of the other.
    ///
    /// # Errors
    /// No room for a list of representatives.
    pub(crate) fn new(operator: &Operator, from: &'a Model, to: &'a Model) -> Result<Action<'a>, OperatorError> {
        let (layout, own) = (layout_of(to), layout_of(from));
        let transitions = adjoint_transitions(operator, &layout);
        let (states, moved) = (to.states() as usize, (own != layout).then_some((layout, own)));
        let (from, to) = (Place::new(from)?, Place::new(to)?);
        let unmoved = if moved.is_none() { Unmoved::new(&from, &to) } else { Unmoved::Anywhere };
        let mirror = match (&from, &to, unmoved) {
            (Place::Orbits(from, _), Place::Orbits(to, _), Unmoved::InTheOtherList) => {
                to.conjugation().and_then(|element| from.actions().element_like(to.actions(), element))
            }
            _ => None,
        };
        let flips = match &from {
            Place::Orbits(orbits, _)
                if moved.is_none() && transitions.iter().filter(|(flip, _)| *flip != 0).count() > 1 =>
            {
                let flips: Vec<u128> = transitions.iter().map(|(flip, _)| *flip).collect();
                orbits.actions().flip_images(&flips)
            }
            _ => None,
        };
        Ok(Action { from, to, transitions, unmoved, mirror, flips, moved, states })
    }

    /// ψ of a state that A leaves as it is, and its place among those of ψ where it is known. Of one that represents its orbit the amplitude has no
    /// phase.
    #[inline]
    fn unmoved(&self, values: &[Complex64], (place, word): (Option<usize>, u128)) -> Complex64 {
        match (self.unmoved, place) {
            (Unmoved::Anywhere, _) => self.from.amplitude(values, word, None),
            (_, Some(place)) => values[place] / self.from.state(place).1,
            (_, None) => Complex64::ZERO,
        }
    }

    /// The same of the image of the state by the conjugation.
    #[inline]
    fn unmoved_image(&self, values: &[Complex64], place: Option<usize>, word: u128) -> Complex64 {
        match (self.mirror, place) {
            (Some(element), Some(place)) => self.from.amplitude_by(values, place, (word, element)),
            (Some(_), None) => Complex64::ZERO,
            (None, _) => self.from.amplitude(values, word, None),
        }
    }

    /// ⟨s|A|ψ⟩ of a word; `unmoved` gives ψ of a word that A leaves as it is.
    #[inline]
    fn amplitude(&self, values: &[Complex64], word: u128, mut unmoved: impl FnMut() -> Complex64) -> Complex64 {
        let mut sum = Complex64::ZERO;
        let images = match (&self.from, &self.flips) {
            (Place::Orbits(orbits, _), Some(flips)) => {
                Some((orbits.actions(), flips, orbits.actions().word_images(word)))
            }
            _ => None,
        };
        for (number, (flip, own)) in self.transitions.iter().enumerate() {
            let of_term =
                |(transition, times): &(Transition<u128>, Complex64)| Some(times * transition.amplitude_in(word)?);
            let element: Complex64 = own.iter().filter_map(of_term).sum();
            if element == Complex64::ZERO {
                continue;
            }
            if *flip == 0 && self.moved.is_none() {
                sum += element * unmoved();
            } else {
                let moved = self.moved.as_ref();
                let before = moved.map_or(word ^ flip, |(from, to)| to.word(&from.configuration(word ^ flip)));
                let by_flip =
                    images.as_ref().map(|(actions, flips, own)| actions.reached_by(own, flips, number, before));
                sum += element * self.from.amplitude(values, before, by_flip);
            }
        }
        sum
    }

    /// Gives `visit` each state of a task: its word, √|orbit|, its place among those of ψ where A may leave it as it is, and ⟨s|A|ψ⟩.
    fn of_task(
        &self,
        values: &[Complex64],
        states: Range<usize>,
        mut visit: impl FnMut(usize, (u128, f64), Option<usize>, Complex64),
    ) {
        let mut cursor = match (&self.from, self.unmoved) {
            (Place::Orbits(orbits, _), Unmoved::InTheOtherList) => {
                Some(Cursor::new(orbits, self.to.state(states.start).0))
            }
            _ => None,
        };
        for number in states {
            let (word, factor) = self.to.state(number);
            let place = match (self.unmoved, &mut cursor) {
                (Unmoved::AtItsNumber, _) => Some(number),
                (_, Some(cursor)) => cursor.index(word),
                (_, None) => None,
            };
            let amplitude = self.amplitude(values, word, || self.unmoved(values, (place, word)));
            visit(number, (word, factor), place, amplitude);
        }
    }

    /// A|ψ⟩, in states that are their own conjugates with the coefficients of both parts of each.
    pub(crate) fn applied(&self, values: &[Complex64]) -> Vec<Complex64> {
        if let Place::Orbits(orbits, _) = &self.to
            && let Some(conjugation) = orbits.conjugation()
        {
            return self.in_own_conjugates(values, orbits, conjugation);
        }
        let mut made = vec![Complex64::ZERO; self.states];
        made.par_chunks_mut(STATES).enumerate().for_each(|(task, part)| {
            let first = task * STATES;
            self.of_task(values, first..first + part.len(), |number, (_, factor), _, amplitude| {
                part[number - first] = factor * amplitude;
            });
        });
        made
    }

    /// A|ψ⟩ = |ψ₁⟩ + i |ψ₂⟩ with ψ₁ and ψ₂ that are their own conjugates: of each state the coefficient of the real part, then of those that are no
    /// lines that of the imaginary part. With K the conjugation, |ψ₁⟩ = (1 + K) A|ψ⟩ / 2 and |ψ₂⟩ = (1 − K) A|ψ⟩ / 2i.
    fn in_own_conjugates(&self, values: &[Complex64], orbits: &Orbits, conjugation: usize) -> Vec<Complex64> {
        let (actions, states) = (orbits.actions(), orbits.states() as usize);
        let mut made = vec![Complex64::ZERO; orbits.elements(true) as usize];
        let (mut re, mut im) = made.split_at_mut(states);
        let mut tasks = Vec::new();
        for first in (0..states).step_by(STATES) {
            let end = states.min(first + STATES);
            let (own, behind) = re.split_at_mut(end - first);
            let imaginary = orbits.imaginary_before(end) - orbits.imaginary_before(first);
            let (others, after) = im.split_at_mut(imaginary);
            (re, im) = (behind, after);
            tasks.push((first, own, others));
        }
        tasks.into_par_iter().for_each(|(first, own, others)| {
            let mut others = others.iter_mut();
            self.of_task(values, first..first + own.len(), |number, (word, factor), place, amplitude| {
                let there = actions.image(conjugation, word);
                let image = self.amplitude(values, there, || self.unmoved_image(values, place, there));
                let conjugate = actions.factor(conjugation, word).conj() * image.conj();
                let first_part = 0.5 * factor * (amplitude + conjugate);
                let second_part = -0.5 * factor * Complex64::I * (amplitude - conjugate);
                let place = number - first;
                match orbits.other_part(number, usize::MAX) {
                    OtherPart::Along(direction) => {
                        let along = |part: Complex64| (direction.conj() * part).re;
                        own[place] = Complex64::new(along(first_part), along(second_part));
                    }
                    OtherPart::None | OtherPart::Imaginary(_) => {
                        own[place] = Complex64::new(first_part.re, second_part.re);
                        let other = others.next().unwrap_or_else(|| unreachable!("counted above"));
                        *other = Complex64::new(first_part.im, second_part.im);
                    }
                }
            });
        });
        made
    }
}
