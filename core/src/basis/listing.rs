//! The list of representatives of a sector: which words are the least of their orbits, found among all words.
//!
//! In: the elements of a group on words, the words of a sector, or the list of a group that moves words alike. Out: representatives, ascending.
//! Words that follow each other have their high bits in common. Where these alone make an image smaller, none of them is looked at; of the others
//! the part of their images that the common bits make is made once.

use super::Basis;
use super::representatives::{CommonImages, TableWord, Tables, WordActions, with_table};
use rayon::prelude::*;
use std::ops::Range;

/// Words that a task looks at.
const WORDS: u64 = 1 << 14;

/// Words of a part of a task, which are passed over together if their common bits are no representative's.
const TOGETHER: u64 = 1 << 9;

/// Representatives of a task that sorts them out anew.
const LISTED: usize = 1 << 16;

impl WordActions {
    /// Adds the representatives among words that follow each other.
    fn add_of(&self, plain: &Basis, range: Range<u64>, found: &mut Representatives) {
        let ends = [range.start, range.end - 1].map(|index| plain.state(index));
        match plain.own_tables() {
            Some(tables) => self.add_words(tables.states(range).map(u128::from), ends, found),
            None => self.add_words(range.map(|index| plain.state(index)), ends, found),
        }
    }

    fn add_words(&self, words: impl Iterator<Item = u128>, ends: [u128; 2], found: &mut Representatives) {
        with_table!(&self.tables, table => {
            let common = self.common_images(table, ends);
            found.extend(words.filter_map(|word| Some((word, self.least_word_by(table, word, &common)?))));
        });
    }

    /// What the runs that words have in common make of every element's image, for two words and all between them.
    fn common_images<W: TableWord>(&self, table: &[W], [first, last]: [u128; 2]) -> CommonImages<W> {
        let apart = u128::BITS - (first ^ last).leading_zeros();
        let open = self.runs.iter().take_while(|run| run.shift < apart).count();
        let (entries, runs) = self.entries(W::narrow(first));
        CommonImages { images: self.images_by(table, &entries[open..runs]), open }
    }

    /// The representatives of a sector with the sizes of their stabilisers, ascending, found by all cores, or by this thread alone.
    pub(super) fn representatives(&self, plain: &Basis, alone: bool) -> Representatives {
        let passes = |range: &Range<u64>| self.all_become_less(plain.state(range.start), plain.state(range.end - 1));
        let of_task = |task: u64| -> Representatives {
            let (mut found, end) = (Representatives::default(), plain.dimension().min((task + 1) * WORDS));
            let whole = task * WORDS..end;
            if !passes(&whole) {
                let parts = whole.step_by(TOGETHER as usize).map(|first| first..end.min(first + TOGETHER));
                parts.filter(|part| !passes(part)).for_each(|part| self.add_of(plain, part, &mut found));
            }
            found
        };
        let tasks = 0..plain.dimension().div_ceil(WORDS);
        match alone {
            true => Representatives::joined(&tasks.map(of_task).collect::<Vec<_>>(), alone),
            false => Representatives::joined(&tasks.into_par_iter().map(of_task).collect::<Vec<_>>(), alone),
        }
    }

    /// The same of a group that moves words alike, from its representatives: where an element leaves a word as it is, the characters decide.
    pub(super) fn representatives_from(&self, other: &Representatives, alone: bool) -> Representatives {
        let of_word =
            |word: u128| (word, self.least_word(word).unwrap_or_else(|| unreachable!("it is the least word")));
        let Representatives { words, stabilisers, stateless } = other;
        // Those without a state stand before the first word with one that is larger, the last in the last task.
        let tasks = words.len().div_ceil(LISTED).max(1);
        let before = |place: usize| match words.get(place) {
            Some(word) if place > 0 => stateless.partition_point(|own| own < word),
            Some(_) => 0,
            None => stateless.len(),
        };
        let of_task = |task: usize| -> Representatives {
            let own = task * LISTED..words.len().min((task + 1) * LISTED);
            let last = if task + 1 == tasks { stateless.len() } else { before(own.end) };
            let mut open = stateless[before(own.start).min(last)..last].iter().copied().peekable();
            let mut found = Representatives::default();
            found.words.reserve(own.len());
            found.stabilisers.reserve(own.len());
            for (word, stabiliser) in words[own.clone()].iter().zip(&stabilisers[own]) {
                while let Some(before) = open.next_if(|before| before < word) {
                    found.extend([of_word(before)]);
                }
                found.extend([if *stabiliser == 1 { (*word, (1, true)) } else { of_word(*word) }]);
            }
            found.extend(open.map(of_word));
            found
        };
        match alone {
            true => Representatives::joined(&(0..tasks).map(of_task).collect::<Vec<_>>(), alone),
            false => Representatives::joined(&(0..tasks).into_par_iter().map(of_task).collect::<Vec<_>>(), alone),
        }
    }
}

/// The least words of the orbits of a sector.
#[derive(Debug, Default)]
pub(super) struct Representatives {
    /// Those with a state, ascending.
    pub(super) words: Vec<u128>,
    /// Of each of these, how many elements leave it as it is.
    pub(super) stabilisers: Vec<u32>,
    /// Those without, ascending.
    pub(super) stateless: Vec<u128>,
}

impl Representatives {
    /// Adds larger words, each with its stabiliser's elements and whether it has a state.
    fn extend(&mut self, all: impl IntoIterator<Item = (u128, (u32, bool))>) {
        for (word, (stabiliser, has_state)) in all {
            if has_state {
                self.words.push(word);
                self.stabilisers.push(stabiliser);
            } else {
                self.stateless.push(word);
            }
        }
    }

    /// Lists that follow each other as one, copied by all cores or by this thread alone.
    fn joined(parts: &[Representatives], alone: bool) -> Representatives {
        Representatives {
            words: concatenated(parts.iter().map(|part| &part.words[..]), alone),
            stabilisers: concatenated(parts.iter().map(|part| &part.stabilisers[..]), alone),
            stateless: concatenated(parts.iter().map(|part| &part.stateless[..]), alone),
        }
    }
}

fn concatenated<'p, N: Copy + Default + Send + Sync + 'p>(
    parts: impl Iterator<Item = &'p [N]> + Clone,
    alone: bool,
) -> Vec<N> {
    let mut all = vec![N::default(); parts.clone().map(<[N]>::len).sum()];
    let (mut rest, mut pairs) = (&mut all[..], Vec::new());
    for part in parts {
        let (own, behind) = rest.split_at_mut(part.len());
        pairs.push((own, part));
        rest = behind;
    }
    match alone {
        true => pairs.into_iter().for_each(|(to, from)| to.copy_from_slice(from)),
        false => pairs.into_par_iter().for_each(|(to, from)| to.copy_from_slice(from)),
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::{GroupElement, SiteKind, SiteLayout, SymmetryGroup};

    /// Words that are passed over together are no representatives: the list is that of all least words, whatever the elements.
    #[test]
    fn lists_miss_no_representative() {
        use crate::basis::Sector;
        let sites = 14;
        let step =
            |place: &dyn Fn(usize) -> usize| GroupElement::permutation(&(0..sites).map(place).collect::<Vec<_>>());
        let (turn, mirror) = (step(&|i| (i + 1) % sites), step(&|i| sites - 1 - i));
        let inversion = GroupElement { moments: true, electrons: true, ..GroupElement::identity(sites) };
        let swap = step(&|i| [1, 0, 2, 3][i.min(3)] + i.saturating_sub(3));
        let powers = |element: &GroupElement, count: usize| {
            let next = |last: &GroupElement| Some(element.after(last));
            std::iter::successors(Some(GroupElement::identity(sites)), next).take(count).collect::<Vec<_>>()
        };
        let with = |list: &[GroupElement], other: &GroupElement| {
            list.iter().cloned().chain(list.iter().map(|own| other.after(own))).collect::<Vec<_>>()
        };
        let turns = powers(&turn, sites);
        let dihedral = with(&turns, &mirror);
        let groups = [turns, powers(&swap, 2), with(&dihedral, &inversion), powers(&turn, 1)];
        let kinds = vec![SiteKind::Moments { two_s: 1 }; sites];
        for elements in groups {
            for two_sz in [0, 4, 14] {
                let plain = Basis::new(sites, 1, Sector::Spins { two_sz }).unwrap();
                let layout = SiteLayout::new(&kinds);
                let actions = WordActions::new(&SymmetryGroup::of_elements(elements.clone()), &layout);
                let words = (0..plain.dimension()).map(|index| plain.state(index));
                let mut expected = Representatives::default();
                expected.extend(words.filter_map(|word| Some((word, actions.least_word(word)?))));
                for alone in [false, true] {
                    let found = actions.representatives(&plain, alone);
                    assert_eq!(found.words, expected.words, "{} elements, 2Sz = {two_sz}", elements.len());
                    assert_eq!((&found.stabilisers, &found.stateless), (&expected.stabilisers, &expected.stateless));
                    let again = actions.representatives_from(&found, alone);
                    assert_eq!((again.words, again.stateless), (found.words, found.stateless));
                }
            }
        }
    }
}
