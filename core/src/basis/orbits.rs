//! The states of a symmetry sector: how many there are is known by traces, and they are listed where one is asked for.
//!
//! In: the elements of the group on words, the sector without symmetry. Out: representatives, ascending, each with the number of
//! elements that leave it as it is, and where the parts of its amplitude stand in vectors:
//!
//! ```text
//! real        one number each
//! complex     all real parts, then all imaginary parts
//! conjugated  all real parts, then the imaginary parts of those that are no lines, in their order; of a line the number before its
//!             direction stands for the real part (operator/symmetry/conjugation.rs)
//! ```
//!
//! A multiply that makes its own list on a card needs none here.

use super::listing::Representatives;
use super::{Basis, WordActions};
use crate::operator::{Charge, SiteLayout, SymmetryGroup};
use eigenforge_runtime::{Scalar, trace};
use num_complex::Complex64;
use rayon::prelude::*;
use std::sync::OnceLock;

/// Representatives of a symmetry sector.
#[derive(Debug)]
pub struct Orbits {
    actions: WordActions,
    plain: Basis,
    states: u64,
    /// Where antiunitary elements make states real.
    lines: Option<Vec<StateLine>>,
    listed: OnceLock<Listed>,
}

/// A representative that an antiunitary element leaves as it is, and the direction of its amplitude.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StateLine {
    /// The word.
    pub word: u128,
    /// A number of magnitude 1.
    pub direction: Complex64,
}

/// Where the number stands that beside the real part makes the amplitude of a state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OtherPart {
    /// Amplitudes are real.
    None,
    /// The imaginary part is this element of a vector.
    Imaginary(usize),
    /// The amplitude is the real number times this direction.
    Along(Complex64),
}

/// The list.
#[derive(Debug)]
struct Listed {
    /// Representatives, ascending.
    all: Representatives,
    /// Where the words begin that have each value of their highest bits, and the end of the last: about one word a value.
    starts: Vec<usize>,
    /// The bits below.
    shift: u32,
    /// With lines: of each state how many before it are none; of a line its number, and [`LINE`].
    parts: Vec<u32>,
    /// The states that are no lines.
    pairs: Vec<u32>,
}

/// Values of the highest bits of a task.
const VALUES: usize = 1 << 14;

/// States whose places a task notes.
const PLACES: usize = 1 << 16;

/// The bit of a number that is that of a line.
const LINE: u32 = 1 << (u32::BITS - 1);

/// Of each word how many before it are no lines, or the number of its line and [`LINE`]; and the places of those that are none. `alone` says
/// that this thread does it.
fn places(words: &[u128], lines: &[StateLine], alone: bool) -> (Vec<u32>, Vec<u32>) {
    let of_part = |first: usize, words: &[u128]| {
        let mut line = words.first().map_or(0, |word| lines.partition_point(|own| own.word < *word));
        let (mut parts, mut pairs) = (Vec::with_capacity(words.len()), Vec::with_capacity(words.len()));
        for (place, word) in (first..).zip(words) {
            let is_line = lines.get(line).is_some_and(|own| own.word == *word);
            parts.push(if is_line { line as u32 | LINE } else { (place - line) as u32 });
            if is_line { line += 1 } else { pairs.push(place as u32) }
        }
        (parts, pairs)
    };
    if alone {
        return of_part(0, words);
    }
    let each = words.par_chunks(PLACES).enumerate().map(|(part, words)| of_part(part * PLACES, words));
    let each: Vec<(Vec<u32>, Vec<u32>)> = each.collect();
    let (parts, pairs): (Vec<_>, Vec<_>) = each.iter().map(|(parts, pairs)| (&parts[..], &pairs[..])).unzip();
    (parts.concat(), pairs.concat())
}

impl Listed {
    fn new(all: Representatives, bits: u32, lines: Option<&[StateLine]>, alone: bool) -> Listed {
        let words = &all.words;
        let (parts, pairs) = lines.map_or_else(Default::default, |lines| places(words, lines, alone));
        let shift = bits.saturating_sub(words.len().max(1).ilog2());
        let mut starts = vec![0; (1 << (bits - shift)) + 1];
        let fill = |(part, starts): (usize, &mut [usize])| {
            let first = (part * VALUES) as u128;
            let mut next = words.partition_point(|word| *word >> shift < first);
            for (value, start) in (first..).zip(starts) {
                *start = next;
                next += words[next..].iter().take_while(|word| *word >> shift == value).count();
            }
        };
        match alone {
            true => starts.chunks_mut(VALUES).enumerate().for_each(fill),
            false => starts.par_chunks_mut(VALUES).enumerate().for_each(fill),
        }
        Listed { all, starts, shift, parts, pairs }
    }

    fn index(&self, word: u128) -> Option<u64> {
        let value = (word >> self.shift) as usize;
        let (first, end) = (*self.starts.get(value)?, *self.starts.get(value + 1)?);
        Some((first + self.all.words[first..end].binary_search(&word).ok()?) as u64)
    }
}

impl Orbits {
    /// The orbits of a group in a sector; `states` is the number of its states, and where it is not known they are listed now.
    pub fn new(
        group: &SymmetryGroup,
        (layout, charges): (&SiteLayout, &[(Charge, i64)]),
        plain: Basis,
        states: Option<u64>,
    ) -> Orbits {
        let actions = WordActions::new(group, layout);
        let lines = group.conjugates().then(|| lines(&actions, group.words_of_lines(layout, charges)));
        let orbits = Orbits { actions, plain, states: 0, lines, listed: OnceLock::new() };
        let states = match (states, &orbits.lines) {
            (None, _) => orbits.words().len() as u64,
            // An orbit that is no line has two of the sector's states.
            (Some(states), Some(lines)) => (states + lines.len() as u64) / 2,
            (Some(states), None) => states,
        };
        Orbits { states, ..orbits }
    }

    /// Their number.
    #[inline]
    pub fn states(&self) -> u64 {
        self.states
    }

    /// The lines, ascending; `None` without antiunitary elements.
    pub fn lines(&self) -> Option<&[StateLine]> {
        self.lines.as_deref()
    }

    /// Elements of a vector: of amplitudes that are real, complex, or, with antiunitary elements, their own conjugates.
    pub fn elements(&self, complex: bool) -> u64 {
        match &self.lines {
            Some(lines) => 2 * self.states - lines.len() as u64,
            None => self.states * if complex { 2 } else { 1 },
        }
    }

    /// Where the other part of an amplitude stands in a vector of so many elements.
    #[inline]
    pub fn other_part(&self, place: usize, elements: usize) -> OtherPart {
        let states = self.states as usize;
        match &self.lines {
            None if elements == states => OtherPart::None,
            None => OtherPart::Imaginary(states + place),
            Some(lines) => match self.list().parts[place] {
                line if line & LINE != 0 => OtherPart::Along(lines[(line & !LINE) as usize].direction),
                pair => OtherPart::Imaginary(states + pair as usize),
            },
        }
    }

    /// Imaginary parts of the states before one, where amplitudes have them.
    pub fn imaginary_before(&self, place: usize) -> usize {
        let Some(lines) = &self.lines else { return place };
        match self.list().parts.get(place) {
            None => place - lines.len(),
            Some(line) if line & LINE != 0 => place - (line & !LINE) as usize,
            Some(pair) => *pair as usize,
        }
    }

    /// The amplitude of a state.
    #[inline]
    pub fn amplitude<T: Scalar>(&self, vector: &[T], place: usize) -> Complex64 {
        let re = vector[place].to_f64();
        match self.other_part(place, vector.len()) {
            OtherPart::None => re.into(),
            OtherPart::Imaginary(other) => Complex64::new(re, vector[other].to_f64()),
            OtherPart::Along(direction) => re * direction,
        }
    }

    /// The state whose part an element of a vector is, and whether that is an imaginary part.
    #[inline]
    pub fn state_of(&self, element: usize) -> (usize, bool) {
        match (element.checked_sub(self.states as usize), &self.lines) {
            (None, _) => (element, false),
            (Some(other), None) => (other, true),
            (Some(other), Some(_)) => (self.list().pairs[other] as usize, true),
        }
    }

    /// Bytes of the list: words, sizes of stabilisers, with lines where parts stand.
    pub fn list_bytes(&self) -> u64 {
        let parts = if self.lines.is_some() { 2 } else { 0 };
        self.states * (size_of::<u128>() + (1 + parts) * size_of::<u32>()) as u64
    }

    /// The sector without symmetry.
    pub fn plain(&self) -> &Basis {
        &self.plain
    }

    /// The group on words.
    #[inline]
    pub fn actions(&self) -> &WordActions {
        &self.actions
    }

    /// The first antiunitary element of the group, if it has one.
    pub fn conjugation(&self) -> Option<usize> {
        (0..self.actions.elements()).find(|element| self.actions.conjugates(*element))
    }

    /// Lists them now, by all cores: to be called before threads that share a work ask for them.
    pub fn prepare(&self) {
        self.list();
    }

    /// The representatives, ascending.
    #[inline]
    pub fn words(&self) -> &[u128] {
        &self.list().all.words
    }

    /// The place of a word in the list; `None` if it is no representative of an orbit with a state.
    #[inline]
    pub fn index(&self, word: u128) -> Option<u64> {
        self.list().index(word)
    }

    /// Whether the orbits of another sector are of the same words, with the same representatives but for those without a state.
    pub fn shares_words(&self, other: &Orbits) -> bool {
        self.plain.sector() == other.plain.sector()
            && self.plain.word() == other.plain.word()
            && self.actions.moves_alike(&other.actions)
    }

    /// Elements that leave each representative as it is.
    #[inline]
    pub fn stabilisers(&self) -> &[u32] {
        &self.list().all.stabilisers
    }

    /// Lists them by the list of another sector, if that has one and its group moves the same words alike: many times quicker.
    pub fn adopt_list(&self, other: &Orbits) {
        if self.listed.get().is_some() {
            return;
        }
        if let Some(listed) = other.listed.get().filter(|_| self.shares_words(other)) {
            self.listed.get_or_init(|| {
                let alone = is_of_a_pool();
                self.listed_words(self.actions.representatives_from(&listed.all, alone), alone)
            });
        }
    }

    fn listed_words(&self, list: Representatives, alone: bool) -> Listed {
        debug_assert!(self.states == 0 || list.words.len() as u64 == self.states, "traces count the states");
        Listed::new(list, self.plain.word().bits(), self.lines.as_deref(), alone)
    }

    fn list(&self) -> &Listed {
        self.listed.get_or_init(|| {
            let _listing = trace::span("set up", "representatives");
            let alone = is_of_a_pool();
            self.listed_words(self.actions.representatives(&self.plain, alone), alone)
        })
    }
}

/// Whether this thread makes a list by itself: one of a pool that shared the work would wait for tasks that wait for the list.
fn is_of_a_pool() -> bool {
    rayon::current_thread_index().is_some()
}

/// The lines that words belong to, if they have a state.
fn lines(actions: &WordActions, words: Vec<u128>) -> Vec<StateLine> {
    let _listing = trace::span("set up", "states that are their own conjugates");
    let mut least: Vec<u128> = words.into_par_iter().map(|word| actions.least(word).0).collect();
    least.par_sort_unstable();
    least.dedup();
    let line = |word: u128| {
        actions.stabiliser(word)?;
        let direction = actions.direction(word).unwrap_or_else(|| unreachable!("an antiunitary element leaves it"));
        Some(StateLine { word, direction })
    };
    least.into_par_iter().filter_map(line).collect()
}
