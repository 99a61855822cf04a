//! Numbers of the strings D: those of one orbit of the group stand together, so that an element of the group, and each hop with its images,
//! take consecutive strings to places that are near each other.
//!
//! In: strings, ascending, and the group on them. Out: a number and a sign of each. The strings of an orbit are those to which the
//! elements take its least one, in the order of the elements, and string n with its sign, ε_n |D_n⟩, is U_g of the orbit's first for the
//! first g that leads there: images of strings that only the identity leaves as they are have no further signs.

use super::SIGN;
use eigenforge_core::basis::{WordActions, WordRanks};
use rayon::prelude::*;

/// A number that is not given yet.
const NONE: u32 = u32::MAX;

/// The strings by their numbers.
#[derive(Debug)]
pub(super) struct Numbers {
    /// The string of each number.
    pub(super) words: Vec<u64>,
    /// ε of each number is −1.
    pub(super) minus: Vec<bool>,
    /// The number of each string in ascending order.
    pub(super) of_rank: Vec<u32>,
    ranks: WordRanks,
}

impl Numbers {
    /// Numbers of all strings of one number of electrons.
    pub(super) fn new(ascending: &[u64], sites: usize, actions: &WordActions) -> Numbers {
        let ranks = WordRanks::new(sites, ascending.first().map_or(0, |word| word.count_ones() as usize));
        let (mut words, mut minus) = (Vec::with_capacity(ascending.len()), Vec::with_capacity(ascending.len()));
        let mut of_rank = vec![NONE; ascending.len()];
        for (rank, first) in ascending.iter().enumerate() {
            if of_rank[rank] != NONE {
                continue;
            }
            for element in 0..actions.elements() {
                let word = actions.image(element, (*first).into()) as u64;
                let number = &mut of_rank[ranks.rank(word) as usize];
                if *number == NONE {
                    *number = words.len() as u32;
                    words.push(word);
                    minus.push(actions.is_odd(element, (*first).into()));
                }
            }
        }
        Numbers { words, minus, of_rank, ranks }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    /// The number of a string.
    pub(super) fn number(&self, word: u64) -> usize {
        self.of_rank[self.ranks.rank(word) as usize] as usize
    }

    /// ε of a number.
    pub(super) fn sign(&self, number: usize) -> f64 {
        if self.minus[number] { -1.0 } else { 1.0 }
    }

    /// Of each element and number n that of the image, with the sign σ_g(D) ε_n ε_gn.
    pub(super) fn images(&self, actions: &WordActions) -> Vec<u32> {
        let image = |element: usize, number: usize| {
            let word = self.words[number].into();
            let to = self.number(actions.image(element, word) as u64);
            let odd = actions.is_odd(element, word) ^ self.minus[number] ^ self.minus[to];
            to as u32 | if odd { SIGN } else { 0 }
        };
        let image = &image;
        let mut images = Vec::with_capacity(actions.elements() * self.len());
        for element in 0..actions.elements() {
            images.par_extend((0..self.len()).into_par_iter().map(move |number| image(element, number)));
        }
        images
    }
}
