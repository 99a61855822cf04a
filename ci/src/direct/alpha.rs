//! Groups of α strings that are processed together, and the reads of each batch of them.
//!
//! In: the α strings, their table of moves, their classes. Out: where the row of each string begins, elements of H_αα,
//! and groups of strings of one class; for each pair of orbitals, the strings of a group that it can move form one batch,
//! with one lane per string, and share one matrix G_pq of the β strings.

use super::super::string_table::StringTable;
use super::super::strings::{Occupation, occupied};
use super::super::vector_number::{LANES, VectorNumber};
use super::beta::Beta;
use super::classes::{Classes, IRREPS};
use eigenforge_runtime::{Device, Result};
use std::ops::Range;

/// Most α strings of a group. Larger groups fill their batches better, smaller ones are more tasks.
const GROUP: usize = 64;

/// Target number of groups per thread, as long as they fill a register: results do not depend on the cut.
const GROUPS: usize = 8;

/// Most lanes of a batch: four registers of eight, so that a number of G_pq serves four operations.
pub(super) const BATCH: usize = 32;

/// A lane of a batch: the source of a row's string.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lane {
    /// Row within the group.
    pub row: u32,
    /// First element of the other string's row in C.
    pub source: usize,
    /// Sign of the move.
    pub sign: f64,
}

/// Strings of a group that one pair of orbitals moves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batch {
    /// The pair.
    pub pair: usize,
    /// Product of its irreps, from 0.
    pub irrep: usize,
    /// Class of the β strings in its source rows.
    pub class: usize,
    first: usize,
    end: usize,
}

/// Strings that are processed together.
pub(super) struct Group {
    /// Ranks of its strings.
    pub members: Vec<u32>,
    /// Class of the β strings in its rows.
    pub class: usize,
    pub batches: Vec<Batch>,
    lanes: Vec<Lane>,
}

impl Group {
    /// The lanes of a batch.
    pub(super) fn lanes(&self, batch: &Batch) -> &[Lane] {
        &self.lanes[batch.first..batch.end]
    }
}

/// Tables of the α strings.
pub(super) struct Alpha<T = f64> {
    /// Interaction energy of a string's electrons.
    pub energy: Vec<f64>,
    row_start: Vec<usize>,
    /// Class of the β strings of each row.
    class: Vec<u8>,
    /// Pairs (p, p) of the occupied orbitals, all strings' one after another.
    densities: Vec<u32>,
    electrons: usize,
    /// Off-diagonal elements of H_αα within a class: first element of the other row, value.
    same_start: Vec<u64>,
    same: Vec<(usize, T)>,
    /// Strings whose rows are made: all, or those of a rank. The others have no groups and no elements of H_αα.
    pub own: Range<usize>,
    pub groups: Vec<Group>,
}

impl<T: VectorNumber> Alpha<T> {
    pub(super) fn new(
        irreps: &[u8],
        words: &[Occupation],
        classes: &Classes,
        beta: &Beta<T>,
        table: &StringTable<T>,
        own: Range<usize>,
    ) -> Result<Alpha<T>> {
        let ranks = || own.start as u32..own.end as u32;
        let moves = ranks().map(|rank| table.singles(rank).target.len() as u64).sum::<u64>();
        let doubles = ranks().map(|rank| table.doubles(rank).0.len() as u64).sum::<u64>();
        let bytes = 80 * words.len() as u64
            + (2 * size_of::<Lane>() as u64 + 16) * moves
            + (8 + size_of::<T>() as u64) * doubles;
        Device::cpu().check_memory(&format!("moves of {} α strings", words.len()), bytes)?;
        let class: Vec<u8> = words.iter().map(|word| classes.partner(*word) as u8).collect();
        let mut row_start = vec![0];
        for class in &class {
            row_start.push(row_start[row_start.len() - 1] + beta.class(usize::from(*class)).len());
        }
        let density = |orbital| T::pair(irreps.len(), orbital, orbital) as u32;
        let densities = words.iter().flat_map(|word| occupied(*word).map(density)).collect();
        let electrons = words.first().map_or(0, |word| word.count_ones() as usize);
        let energy = table.energy.clone();
        let (same_start, same, groups) = (vec![0; own.start + 1], Vec::new(), Vec::new());
        let own_strings = own.clone();
        let mut alpha =
            Alpha { energy, row_start, class, densities, electrons, same_start, same, own: own_strings, groups };
        for rank in ranks() {
            let singles = table.runs(rank).iter().filter(|run| run.irrep == 0).map(|run| table.run(rank, run));
            let singles = singles.flat_map(|run| run.target.iter().copied().zip(run.own.iter().copied()));
            let doubles = table.doubles(rank);
            let doubles = doubles.0.iter().copied().zip(doubles.1.iter().copied());
            let rows = singles.chain(doubles).map(|(other, value)| (alpha.row_start[other as usize], value));
            alpha.same.extend(rows);
            alpha.same_start.push(alpha.same.len() as u64);
        }
        alpha.same_start.resize(words.len() + 1, alpha.same.len() as u64);
        let groups = GROUPS * rayon::current_num_threads();
        let most = own.len().div_ceil(groups).next_multiple_of(LANES).clamp(LANES, GROUP);
        for class in 0..IRREPS {
            let of_class = |rank: &u32| usize::from(alpha.class[*rank as usize]) == class;
            if beta.class(class).is_empty() {
                continue;
            }
            let members: Vec<u32> = ranks().filter(of_class).collect();
            let groups = members.chunks(most).map(|members| alpha.group(members, class, irreps, classes, beta, table));
            let groups: Vec<Group> = groups.collect();
            alpha.groups.extend(groups);
        }
        Ok(alpha)
    }

    fn group(
        &self,
        members: &[u32],
        class: usize,
        irreps: &[u8],
        classes: &Classes,
        beta: &Beta<T>,
        table: &StringTable<T>,
    ) -> Group {
        let mut moves: Vec<(usize, Lane)> = Vec::new();
        for (row, rank) in (0..).zip(members) {
            let singles = table.singles(*rank);
            for (k, other) in singles.target.iter().enumerate() {
                let source = self.row_start[*other as usize];
                moves.push((singles.pair(k), Lane { row, source, sign: singles.sign(k) }));
            }
        }
        moves.sort_by_key(|(pair, _)| *pair);
        let pairs = T::pair_list(irreps.len()).into_iter();
        let pair_irreps: Vec<usize> = pairs.map(|(p, q)| usize::from(irreps[p] ^ irreps[q])).collect();
        let mut group = Group { members: members.to_vec(), class, batches: Vec::new(), lanes: Vec::new() };
        for of_pair in moves.chunk_by(|a, b| a.0 == b.0) {
            let (pair, irrep) = (of_pair[0].0, pair_irreps[of_pair[0].0]);
            let class = classes.moved(class, irrep);
            if beta.class(class).is_empty() {
                continue;
            }
            for lanes in of_pair.chunks(BATCH) {
                let first = group.lanes.len();
                group.lanes.extend(lanes.iter().map(|(_, lane)| *lane));
                group.batches.push(Batch { pair, irrep, class, first, end: group.lanes.len() });
            }
        }
        group
    }

    /// α strings.
    pub(super) fn len(&self) -> usize {
        self.class.len()
    }

    /// First element of the row of a string.
    pub(super) fn row_start(&self, rank: usize) -> usize {
        self.row_start[rank]
    }

    /// The elements of the rows that are made.
    pub(super) fn own_elements(&self) -> Range<usize> {
        self.row_start[self.own.start]..self.row_start[self.own.end]
    }

    /// Rank of the string whose row holds an element.
    pub(super) fn rank_at(&self, element: usize) -> usize {
        self.row_start.partition_point(|start| *start <= element) - 1
    }

    /// Class of the β strings in a row.
    pub(super) fn class(&self, rank: usize) -> usize {
        usize::from(self.class[rank])
    }

    /// Pairs (p, p) of a string's orbitals.
    pub(super) fn densities(&self, rank: usize) -> &[u32] {
        &self.densities[rank * self.electrons..][..self.electrons]
    }

    /// Off-diagonal elements of H_αα: (first element of the other row, value).
    pub(super) fn same_spin(&self, rank: usize) -> &[(usize, T)] {
        &self.same[self.same_start[rank] as usize..self.same_start[rank + 1] as usize]
    }
}
