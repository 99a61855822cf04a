//! Single and double excitations of every string of one spin, listed by rank.
//!
//! In: strings, integrals. Out: for each string the targets of one-electron moves, with the pair of orbitals, the sign,
//! and the same-spin part of the element; and the targets of two-electron moves, with their whole matrix element, stored
//! only if it exceeds the threshold. Excitations are generated and looked up, so that work grows as strings × excitations; those of a list
//! are found among its strings where that costs less (`links`).

use super::integrals::SpinIntegrals;
use super::links;
use super::orbital_number::OrbitalNumber;
use super::slater_condon::{self, Single, same_spin_double, same_spin_energy, same_spin_single};
use super::strings::{MAX_ORBITALS, Occupation, Strings, occupied};
use eigenforge_runtime::{Device, Result};
use rayon::prelude::*;
use std::ops::Range;

/// Strings per task.
const CHUNK: usize = 64;

/// Singles of one string with a common product of irreps of the orbital pair and a common slot of the target.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// Product of both orbitals' irreps, from 0.
    pub irrep: u8,
    /// Slot of the targets (`Space::slot`).
    pub slot: u16,
    first: u32,
    end: u32,
}

/// Excitations of the strings of one spin.
#[derive(Debug)]
pub(super) struct StringTable<T = f64> {
    /// Interaction energy of a string's electrons.
    pub energy: Vec<f64>,
    single_start: Vec<u64>,
    /// Targets of singles, run by run, ascending in each.
    target: Vec<u32>,
    /// Pair of orbitals (lower 15 bits) and whether the sign is −1 (the highest).
    pair: Vec<u16>,
    /// ± [h_pq + Σ_r of the same spin], sign included.
    own: Vec<T>,
    run_start: Vec<u64>,
    runs: Vec<Run>,
    double_start: Vec<u64>,
    double_target: Vec<u32>,
    double_value: Vec<T>,
}

/// The singles of one run, or of one string.
#[derive(Clone, Copy)]
pub(super) struct Singles<'a, T = f64> {
    /// Ranks of their targets.
    pub target: &'a [u32],
    pair: &'a [u16],
    /// Same-spin part of the matrix element, including the sign.
    pub own: &'a [T],
}

impl<T> Singles<'_, T> {
    /// The pair of orbitals of single k, as [`OrbitalNumber::pair`] numbers them: over complex orbitals that which the move empties first.
    pub(super) fn pair(&self, k: usize) -> usize {
        usize::from(self.pair[k] & 0x7fff)
    }

    /// Pair and sign of each single: the pair in the lower 15 bits, −1 in the highest.
    pub(super) fn packed(&self) -> &[u16] {
        self.pair
    }

    /// +1 or −1.
    pub(super) fn sign(&self, k: usize) -> f64 {
        if self.pair[k] >> 15 == 1 { -1.0 } else { 1.0 }
    }
}

/// Selection of moves: those that stay within the space's level and, if the integrals obey them, irreps.
pub(super) struct Rules<'a, T = f64> {
    /// Integrals of the electrons' spin.
    pub integrals: SpinIntegrals<'a, T>,
    /// Irreps of the orbitals from 0 if every forbidden integral is 0; otherwise all 0.
    pub irreps: &'a [u8],
    /// Highest excitation level of a string.
    pub level: Option<usize>,
    /// Whether the strings are those of a list, which has no level.
    pub listed: bool,
    /// Matrix elements of double moves up to this are dropped; infinite: none is listed.
    pub threshold: f64,
}

impl<T: OrbitalNumber> StringTable<T> {
    /// Lists all excitations; `slot` of a string groups them.
    pub(super) fn new(
        strings: &Strings,
        rules: &Rules<'_, T>,
        slot: impl Fn(u32) -> u16 + Sync,
    ) -> Result<StringTable<T>> {
        let words = strings.words();
        let energy = words.par_iter().map(|word| same_spin_energy(rules.integrals, *word)).collect();
        let mut table = StringTable { energy, ..StringTable::empty() };
        let links: Option<Vec<Vec<u32>>> = (rules.listed && links::comparing_pays(strings, rules.integrals.orbitals))
            .then(|| words.par_iter().map(|word| links::linked(words, *word)).collect());
        let links_of = |rank: usize| links.as_ref().map(|links| links[rank].as_slice());
        // Two passes over the doubles, which may be many: counted, checked against memory, then filled.
        let count = |(rank, word): (usize, &Occupation)| rules.doubles(strings, *word, links_of(rank)).count() as u64;
        let double_counts: Vec<u64> = words.par_iter().enumerate().map(count).collect();
        table.double_start = starts(&double_counts);
        let doubles = *table.double_start.last().unwrap_or(&0);
        let holes = rules.integrals.orbitals.saturating_sub(strings.electrons());
        let singles = match &links {
            Some(links) => links.iter().map(|row| row.len() as u64).sum(),
            None => (words.len() * strings.electrons() * holes) as u64,
        };
        let number = size_of::<T>() as u64;
        let bytes = doubles * (4 + number) + singles * (8 + number);
        Device::cpu().check_memory(&format!("{doubles} double excitations of {} strings", words.len()), bytes)?;

        for (first, chunk) in (0..).step_by(CHUNK * 1024).zip(words.chunks(CHUNK * 1024)) {
            let row = |(k, word): (usize, &Occupation)| rules.singles(strings, *word, links_of(first + k), &slot);
            let rows: Vec<Vec<(Key, u32, u16, T)>> =
                chunk.par_iter().enumerate().with_min_len(CHUNK).map(row).collect();
            rows.iter().for_each(|row| table.push_singles(row));
        }
        table.double_target = vec![0; doubles as usize];
        table.double_value = vec![T::default(); doubles as usize];
        let targets = pieces(&table.double_start, CHUNK, &mut table.double_target);
        let values = pieces(&table.double_start, CHUNK, &mut table.double_value);
        let ranks = (0..words.len()).step_by(CHUNK).map(|first| first..(first + CHUNK).min(words.len()));
        let tasks: Vec<_> = ranks.zip(targets.into_iter().zip(values)).collect();
        tasks.into_par_iter().for_each(|(ranks, (targets, values))| {
            let found = ranks.flat_map(|rank| rules.doubles(strings, words[rank], links_of(rank)));
            for ((target, value), found) in targets.iter_mut().zip(values).zip(found) {
                (*target, *value) = found;
            }
        });
        Ok(table)
    }

    fn empty() -> StringTable<T> {
        StringTable {
            energy: Vec::new(),
            single_start: vec![0],
            target: Vec::new(),
            pair: Vec::new(),
            own: Vec::new(),
            run_start: vec![0],
            runs: Vec::new(),
            double_start: vec![0],
            double_target: Vec::new(),
            double_value: Vec::new(),
        }
    }

    fn push_singles(&mut self, row: &[(Key, u32, u16, T)]) {
        for (k, (key, target, pair, own)) in row.iter().enumerate() {
            if k == 0 || row[k - 1].0 != *key {
                self.runs.push(Run { irrep: key.0, slot: key.1, first: k as u32, end: k as u32 });
            }
            if let Some(run) = self.runs.last_mut() {
                run.end += 1;
            }
            self.target.push(*target);
            self.pair.push(*pair);
            self.own.push(*own);
        }
        self.single_start.push(self.target.len() as u64);
        self.run_start.push(self.runs.len() as u64);
    }

    /// All singles of a string.
    pub(super) fn singles(&self, rank: u32) -> Singles<'_, T> {
        self.slice(range(&self.single_start, rank))
    }

    /// The runs of a string's singles.
    pub(super) fn runs(&self, rank: u32) -> &[Run] {
        &self.runs[range(&self.run_start, rank)]
    }

    /// The singles of one run of a string.
    pub(super) fn run(&self, rank: u32, run: &Run) -> Singles<'_, T> {
        let first = self.single_start[rank as usize] as usize;
        self.slice(first + run.first as usize..first + run.end as usize)
    }

    /// Targets and matrix elements of a string's doubles.
    pub(super) fn doubles(&self, rank: u32) -> (&[u32], &[T]) {
        let range = range(&self.double_start, rank);
        (&self.double_target[range.clone()], &self.double_value[range])
    }

    fn slice(&self, range: Range<usize>) -> Singles<'_, T> {
        Singles { target: &self.target[range.clone()], pair: &self.pair[range.clone()], own: &self.own[range] }
    }
}

/// Irrep of the orbitals' pair and slot of the target.
type Key = (u8, u16);

impl<T: OrbitalNumber> Rules<'_, T> {
    fn empty_orbitals(&self, word: Occupation) -> impl Iterator<Item = usize> + Clone {
        let orbitals = self.integrals.orbitals;
        let all = if orbitals == MAX_ORBITALS { Occupation::MAX } else { (1 << orbitals) - 1 };
        occupied(all & !word)
    }

    /// Key, target, pair with sign, own part; ascending by key and target. `links` are the strings of a list that may be targets.
    fn singles(
        &self,
        strings: &Strings,
        word: Occupation,
        links: Option<&[u32]>,
        slot: &impl Fn(u32) -> u16,
    ) -> Vec<(Key, u32, u16, T)> {
        let mut row = Vec::new();
        let mut push = |from: usize, to: usize, target: u32| {
            let single = Single { from, to, odd: slater_condon::is_odd(word, from, to) };
            let own = same_spin_single(self.integrals, word, single);
            let key = (self.irreps[from] ^ self.irreps[to], slot(target));
            let packed = T::pair(self.integrals.orbitals, from, to) as u16 | u16::from(single.odd) << 15;
            row.push((key, target, packed, if single.odd { -own } else { own }));
        };
        if let Some(links) = links {
            for target in links {
                if let Some(([from], [to])) = links::moved(word, strings.words()[*target as usize]) {
                    push(from, to, *target);
                }
            }
        } else {
            for from in occupied(word) {
                for to in self.empty_orbitals(word) {
                    if let Some(target) = strings.rank(word ^ (1 << from | 1 << to)) {
                        push(from, to, target);
                    }
                }
            }
        }
        row.sort_unstable_by_key(|(key, target, ..)| (*key, *target));
        row
    }

    /// Target and matrix element of each double above the threshold.
    fn doubles<'b>(
        &'b self,
        strings: &'b Strings,
        word: Occupation,
        links: Option<&'b [u32]>,
    ) -> Box<dyn Iterator<Item = (u32, T)> + 'b> {
        match links {
            Some(links) => Box::new(links.iter().filter_map(move |target| {
                let other = strings.words()[*target as usize];
                Some((*target, self.double(word, links::moved(word, other)?)?))
            })),
            None => Box::new(self.generated_doubles(strings, word)),
        }
    }

    /// The matrix element of a double, if irreps allow it and it is above the threshold.
    fn double(&self, word: Occupation, (from, to): ([usize; 2], [usize; 2])) -> Option<T> {
        let irrep = |[q, s]: [usize; 2]| self.irreps[q] ^ self.irreps[s];
        let value = (irrep(from) == irrep(to)).then(|| same_spin_double(self.integrals, word, from, to))?;
        (value.size() > self.threshold).then_some(value)
    }

    fn generated_doubles<'b>(&'b self, strings: &'b Strings, word: Occupation) -> impl Iterator<Item = (u32, T)> + 'b {
        let lowest = super::strings::reference(strings.electrons());
        let level = self.level.unwrap_or(MAX_ORBITALS) as u32;
        let from = if self.threshold.is_finite() { self.pairs(occupied(word), lowest) } else { Vec::new() };
        // Pairs that raise the level least come first, so that those which raise it too far are never visited.
        let mut to = self.pairs(self.empty_orbitals(word), lowest);
        to.sort_by_key(|pair| pair.outside);
        from.into_iter().flat_map(move |Pair { orbitals: left, irrep, .. }| {
            let kept = word & !(1 << left[0] | 1 << left[1]);
            let room = level.checked_sub((kept & !lowest).count_ones());
            let end = room.map_or(0, |room| to.partition_point(|pair| pair.outside <= room));
            let found = to[..end].iter().filter(move |pair| pair.irrep == irrep).filter_map(move |pair| {
                let value = same_spin_double(self.integrals, word, left, pair.orbitals);
                let target = kept | 1 << pair.orbitals[0] | 1 << pair.orbitals[1];
                if value.size() > self.threshold { Some((strings.rank(target)?, value)) } else { None }
            });
            found.collect::<Vec<_>>()
        })
    }

    /// All pairs of some orbitals.
    fn pairs(&self, orbitals: impl Iterator<Item = usize>, lowest: Occupation) -> Vec<Pair> {
        let orbitals: Vec<usize> = orbitals.collect();
        let outside = |orbital: usize| u32::from(lowest >> orbital & 1 == 0);
        let pair = |q: usize, s: usize| Pair {
            orbitals: [q, s],
            irrep: self.irreps[q] ^ self.irreps[s],
            outside: outside(q) + outside(s),
        };
        let below = |(k, s): (usize, &usize)| orbitals[..k].iter().map(|q| pair(*q, *s)).collect::<Vec<_>>();
        orbitals.iter().enumerate().flat_map(below).collect()
    }
}

/// Two orbitals.
struct Pair {
    orbitals: [usize; 2],
    /// Product of their irreps, from 0.
    irrep: u8,
    /// How many of them are empty in the reference.
    outside: u32,
}

fn range(start: &[u64], rank: u32) -> Range<usize> {
    start[rank as usize] as usize..start[rank as usize + 1] as usize
}

/// Start of each row, followed by the total.
pub(super) fn starts(counts: &[u64]) -> Vec<u64> {
    let sums = counts.iter().scan(0, |sum, count| {
        *sum += count;
        Some(*sum)
    });
    std::iter::once(0).chain(sums).collect()
}

/// Cuts an array of rows into pieces of `rows` rows each.
pub(super) fn pieces<'a, T>(start: &[u64], rows: usize, mut array: &'a mut [T]) -> Vec<&'a mut [T]> {
    let mut pieces = Vec::with_capacity(start.len() / rows + 1);
    for first in (0..start.len().saturating_sub(1)).step_by(rows) {
        let end = (first + rows).min(start.len() - 1);
        let (piece, rest) = array.split_at_mut((start[end] - start[first]) as usize);
        pieces.push(piece);
        array = rest;
    }
    pieces
}
