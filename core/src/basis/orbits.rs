//! The states of a symmetry sector: how many there are is known by traces, and they are listed where one is asked for.
//!
//! In: the elements of the group on words, the sector without symmetry. Out: representatives, ascending, each with the number of
//! elements that leave it as it is. A multiply that makes its own list on a card needs none here.

use super::{Basis, WordActions};
use crate::operator::{SiteLayout, SymmetryGroup};
use eigenforge_runtime::trace;
use std::sync::OnceLock;

/// Representatives of a symmetry sector.
#[derive(Debug)]
pub struct Orbits {
    actions: WordActions,
    plain: Basis,
    states: u64,
    listed: OnceLock<Listed>,
}

/// The list.
#[derive(Debug)]
struct Listed {
    /// Representatives, ascending.
    words: Vec<u128>,
    stabilisers: Vec<u32>,
    /// Where the words begin that have each value of their highest bits, and the end of the last: about one word a value.
    starts: Vec<usize>,
    /// The bits below.
    shift: u32,
}

impl Listed {
    fn new((words, stabilisers): (Vec<u128>, Vec<u32>), bits: u32) -> Listed {
        let shift = bits.saturating_sub(words.len().max(1).ilog2());
        let (mut starts, mut next) = (Vec::with_capacity((1 << (bits - shift)) + 1), 0);
        for value in 0..1u128 << (bits - shift) {
            starts.push(next);
            next += words[next..].iter().take_while(|word| *word >> shift == value).count();
        }
        starts.push(next);
        Listed { words, stabilisers, starts, shift }
    }

    fn index(&self, word: u128) -> Option<u64> {
        let value = (word >> self.shift) as usize;
        let (first, end) = (*self.starts.get(value)?, *self.starts.get(value + 1)?);
        Some((first + self.words[first..end].binary_search(&word).ok()?) as u64)
    }
}

impl Orbits {
    /// The orbits of a group in a sector; `states` is their number, and where it is not known they are listed now.
    pub fn new(group: &SymmetryGroup, layout: &SiteLayout, plain: Basis, states: Option<u64>) -> Orbits {
        let orbits = Orbits { actions: WordActions::new(group, layout), plain, states: 0, listed: OnceLock::new() };
        let states = states.unwrap_or_else(|| orbits.words().len() as u64);
        Orbits { states, ..orbits }
    }

    /// Their number.
    #[inline]
    pub fn states(&self) -> u64 {
        self.states
    }

    /// Bytes of the list: words and sizes of stabilisers.
    pub fn list_bytes(&self) -> u64 {
        self.states * (size_of::<u128>() + size_of::<u32>()) as u64
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

    /// Lists them now, by all cores: to be called before threads that share a work ask for them.
    pub fn prepare(&self) {
        self.list();
    }

    /// The representatives, ascending.
    #[inline]
    pub fn words(&self) -> &[u128] {
        &self.list().words
    }

    /// The place of a word in the list; `None` if it is no representative of an orbit with a state.
    #[inline]
    pub fn index(&self, word: u128) -> Option<u64> {
        self.list().index(word)
    }

    /// Elements that leave each representative as it is.
    #[inline]
    pub fn stabilisers(&self) -> &[u32] {
        &self.list().stabilisers
    }

    fn list(&self) -> &Listed {
        self.listed.get_or_init(|| {
            let _listing = trace::span("set up", "representatives");
            // A thread of the pool that shared this work would wait for tasks that wait for the list.
            let alone = rayon::current_thread_index().is_some();
            let list = self.actions.representatives(&self.plain, alone);
            debug_assert!(self.states == 0 || list.0.len() as u64 == self.states, "traces count the states");
            Listed::new(list, self.plain.word().bits())
        })
    }
}
