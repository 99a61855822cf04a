//! Tables of the β strings of a row: targets of their moves, and their Coulomb field on α moves.
//!
//! In: the β strings, their table of moves, their classes. Out: strings in the order of rows (class by class, ascending
//! in each; [`Beta::class`]), every target as an index within its class.

use super::super::integrals::{Integrals, pair};
use super::super::orbital_number::OrbitalNumber;
use super::super::string_table::StringTable;
use super::super::strings::{Occupation, occupied};
use super::classes::{Classes, IRREPS};
use eigenforge_core::operator::Spin;
use eigenforge_runtime::{Device, Result};
use rayon::prelude::*;
use std::ops::Range;

/// A move to another string.
#[derive(Clone, Copy, Debug)]
pub(super) struct Single {
    /// Index of its target within the target's class.
    pub target: u32,
    /// 2 × pair of orbitals, + 1 if the sign is −1.
    pub value: u32,
}

/// Tables of the β strings; string k is the k-th in row order.
pub(super) struct Beta<T = f64> {
    /// First string of each class, followed by the number of strings.
    class_start: [usize; IRREPS + 1],
    /// Interaction energy of a string's electrons.
    pub energy: Vec<f64>,
    /// Σ_{r in K} (pq|rr) at [pq][k].
    felt: Vec<T>,
    /// First single of string k and irrep g at 8 k + g.
    single_start: Vec<u64>,
    singles: Vec<Single>,
    /// Off-diagonal elements of H_ββ within a class.
    same_start: Vec<u64>,
    same: Vec<(u32, T)>,
}

impl<T: OrbitalNumber> Beta<T> {
    pub(super) fn new(
        integrals: &Integrals<T>,
        words: &[Occupation],
        classes: &Classes,
        table: &StringTable<T>,
    ) -> Result<Beta<T>> {
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); IRREPS];
        let mut places = Vec::with_capacity(words.len());
        for (word, rank) in words.iter().zip(0..) {
            let class = &mut members[classes.class(*word)];
            places.push(class.len() as u32);
            class.push(rank);
        }
        let mut class_start = [0; IRREPS + 1];
        for class in 0..IRREPS {
            class_start[class + 1] = class_start[class] + members[class].len();
        }
        let order: Vec<u32> = members.concat();
        let orbital_pairs = T::pair_list(integrals.orbitals);
        let (pairs, same) = (orbital_pairs.len(), size_of::<(u32, T)>());
        let counts =
            |rank: &u32| (table.singles(*rank).target.len() * (8 + same) + table.doubles(*rank).0.len() * same) as u64;
        let bytes = (size_of::<T>() * pairs * words.len()) as u64 + order.iter().map(counts).sum::<u64>();
        Device::cpu().check_memory(&format!("moves of {} β strings", words.len()), bytes)?;

        let mut beta = Beta {
            class_start,
            energy: order.iter().map(|rank| table.energy[*rank as usize]).collect(),
            felt: vec![T::default(); pairs * words.len()],
            single_start: vec![0],
            singles: Vec::new(),
            same_start: vec![0],
            same: Vec::new(),
        };
        for rank in &order {
            beta.push(*rank, &places, table);
        }
        beta.felt.par_chunks_mut(words.len().max(1)).enumerate().for_each(|(pair, felt)| {
            for (felt, rank) in felt.iter_mut().zip(&order) {
                *felt = integrals.felt(Spin::Up, pair, occupied(words[*rank as usize]));
            }
        });
        Ok(beta)
    }

    fn push(&mut self, rank: u32, places: &[u32], table: &StringTable<T>) {
        let place = |target: u32| places[target as usize];
        let runs = table.runs(rank);
        for irrep in 0..IRREPS {
            for run in runs.iter().filter(|run| usize::from(run.irrep) == irrep) {
                let singles = table.run(rank, run);
                for (k, target) in singles.target.iter().enumerate() {
                    let value = 2 * singles.pair(k) as u32 + u32::from(singles.sign(k) < 0.0);
                    self.singles.push(Single { target: place(*target), value });
                    // A move of another irrep has no one-electron element.
                    if irrep == 0 {
                        self.same.push((place(*target), singles.own[k]));
                    }
                }
            }
            self.single_start.push(self.singles.len() as u64);
        }
        let (targets, values) = table.doubles(rank);
        self.same.extend(targets.iter().map(|target| place(*target)).zip(values.iter().copied()));
        self.same_start.push(self.same.len() as u64);
    }

    /// Strings.
    pub(super) fn len(&self) -> usize {
        self.class_start[IRREPS]
    }

    /// The strings of a class.
    pub(super) fn class(&self, class: usize) -> Range<usize> {
        self.class_start[class]..self.class_start[class + 1]
    }

    /// Σ_{r in K} (pq|rr) of the strings of a class.
    pub(super) fn felt(&self, pair: usize, class: usize) -> &[T] {
        &self.felt[pair * self.len()..][self.class(class)]
    }

    /// Moves of string k with orbital pairs of one irrep.
    pub(super) fn singles(&self, k: usize, irrep: usize) -> &[Single] {
        let at = IRREPS * k + irrep;
        &self.singles[self.single_start[at] as usize..self.single_start[at + 1] as usize]
    }

    /// For one α move of each pair of orbitals: the largest row sum over β moves, and over the β electrons' Coulomb field.
    /// `coulomb` gives (pq|rs) by pairs.
    pub(super) fn of_pairs(&self, pairs: usize, coulomb: impl Fn(usize, usize) -> T + Sync) -> Vec<(f64, f64)> {
        let of_pair = |pair: usize| {
            let row = |k: usize| {
                let singles = (0..IRREPS).flat_map(|irrep| self.singles(k, irrep));
                singles.map(|single| coulomb(pair, single.value as usize / 2).size()).sum::<f64>()
            };
            let felt = (0..IRREPS).flat_map(|class| self.felt(pair, class)).map(|felt| felt.size());
            ((0..self.len()).map(row).fold(0.0, f64::max), felt.fold(0.0, f64::max))
        };
        (0..pairs).into_par_iter().map(of_pair).collect()
    }

    /// Off-diagonal elements of H_ββ: (index within the same class, value).
    pub(super) fn same_spin(&self, k: usize) -> &[(u32, T)] {
        &self.same[self.same_start[k] as usize..self.same_start[k + 1] as usize]
    }
}

/// The pair of a real orbital with itself.
pub(super) fn density(orbital: usize) -> usize {
    pair(orbital, orbital)
}
