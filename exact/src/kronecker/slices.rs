//! Neighbours of the up kernel, packed in slices of a warp of rows.
//!
//! **From memory and L2** ([`Staging::Global`]) a gather takes as many cycles as it meets lines. The lanes of a slot make the same move where
//! they can: words ascend, so their neighbours then stand side by side. Moves that most rows of a slice can make come first, each into the
//! slot in which most of its lanes are free.
//!
//! **From shared memory** gathers meet no bank twice. In each slot the lanes of a warp read one neighbour each: 8-byte words, 16 lanes at a
//! time, from 16 banks. Which of its neighbours a row has in which slot is free. Rows and banks are the two sides of a bipartite graph,
//! neighbours its edges, slots their colours: with as many colours as the longest row or fullest bank has edges, no two edges of a colour
//! share a row or a bank (König 1916), found by flipping alternating paths. A bank fuller than the slice is wide keeps conflicts for the
//! surplus. Lanes without a neighbour read a zero in a bank that is free.

use super::species::SpeciesMatrix;
use eigenforge_templates::Warp;
use eigenforge_templates::exact::{Staging, UP_ZEROS};
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Lanes that are served together, and banks of 8 bytes.
const BANKS: usize = 16;

impl SpeciesMatrix {
    /// (slice_start in groups of four, words by slice, group, lane and 4).
    ///
    /// A slice is as wide as its longest row, rounded to four. A word is the column with the number of the amplitude
    /// above it; shorter rows are padded with the indices from the number of rows on, [`UP_ZEROS`] of them, which are
    /// zeros.
    pub fn packed_slices(&self, warp: Warp, staging: Staging) -> (Vec<u32>, Vec<u64>) {
        let lanes = warp.lanes() as usize;
        let slice = |slice| self.slice(slice, lanes, staging);
        let slices: Vec<Vec<u64>> = (0..self.rows().div_ceil(lanes)).into_par_iter().map(slice).collect();
        let mut start = vec![0u32];
        let mut words = Vec::new();
        for slice in slices {
            words.extend(slice);
            start.push((words.len() / (4 * lanes)) as u32);
        }
        (start, words)
    }

    fn slice(&self, slice: usize, lanes: usize, staging: Staging) -> Vec<u64> {
        let row = |row: usize| if row < self.rows() { self.row(row).collect() } else { Vec::new() };
        let rows: Vec<Vec<(u32, u32)>> = (0..lanes).map(|lane| row(slice * lanes + lane)).collect();
        let shift = self.plan().number_shift();
        match staging {
            Staging::Shared => packed_slice(&rows, self.rows(), shift),
            Staging::Global => {
                let flip = |lane: usize, column: u32| self.states[slice * lanes + lane] ^ self.states[column as usize];
                words_of_slots(&rows, &slots_of_moves(&rows, flip), self.rows(), shift, |_| 0)
            }
        }
    }
}

/// Slots of a slice: those of its longest row, in whole groups of four.
fn width(rows: &[Vec<(u32, u32)>]) -> usize {
    rows.iter().map(Vec::len).max().unwrap_or(0).next_multiple_of(4)
}

/// The words of one slice without conflicts of banks: a warp of rows of (place, number), by group, lane and 4. The zeros begin at place
/// `zeros`.
pub(crate) fn packed_slice(rows: &[Vec<(u32, u32)>], zeros: usize, shift: u32) -> Vec<u64> {
    let width = width(rows);
    let slots: Vec<_> = rows.chunks(BANKS).flat_map(|rows| slots(rows, width)).collect();
    // A zero in a bank that the other lanes of its half leave free.
    let zero = |read: &[Option<(u32, u32)>]| {
        let taken = |bank: usize| read.iter().flatten().any(|(column, _)| *column as usize % BANKS == bank);
        (0..UP_ZEROS as usize).find(|zero| !taken((zeros + zero) % BANKS)).unwrap_or(0)
    };
    words_of_slots(rows, &slots, zeros, shift, zero)
}

/// The words of a slice by the place in its row of the neighbour in each slot; `zero` chooses one for those of a half warp without one.
fn words_of_slots(
    rows: &[Vec<(u32, u32)>],
    slots: &[Vec<Option<usize>>],
    zeros: usize,
    shift: u32,
    zero: impl Fn(&[Option<(u32, u32)>]) -> usize,
) -> Vec<u64> {
    let (width, lanes) = (width(rows), rows.len());
    let mut words = vec![0; width * lanes];
    for slot in 0..width {
        let read: Vec<_> = rows.iter().zip(slots).map(|(row, slots)| slots[slot].map(|edge| row[edge])).collect();
        for (half, read) in read.chunks(BANKS).enumerate() {
            let zero = (zeros + zero(read)) as u64;
            for (lane, read) in read.iter().enumerate() {
                let place = (slot / 4 * lanes + half * BANKS + lane) * 4 + slot % 4;
                words[place] = read.map_or(zero, |(column, number)| u64::from(column) | u64::from(number) << shift);
            }
        }
    }
    words
}

/// For each row and slot the neighbour that is read, by its place in the row: the lanes of a slot move alike where they can. A move is known
/// by the sites that it flips.
fn slots_of_moves(rows: &[Vec<(u32, u32)>], flip: impl Fn(usize, u32) -> u64) -> Vec<Vec<Option<usize>>> {
    let mut moves: BTreeMap<u64, Vec<(usize, usize)>> = BTreeMap::new();
    for (lane, row) in rows.iter().enumerate() {
        for (edge, (column, _)) in row.iter().enumerate() {
            moves.entry(flip(lane, *column)).or_default().push((lane, edge));
        }
    }
    let mut moves: Vec<_> = moves.into_values().collect();
    moves.sort_by_key(|lanes| Reverse(lanes.len()));
    let mut slots = vec![vec![None; width(rows)]; rows.len()];
    // The lanes that a slot has, as bits.
    let mut taken = vec![0u64; width(rows)];
    for mut rest in moves {
        while !rest.is_empty() {
            let lanes = rest.iter().fold(0u64, |lanes, (lane, _)| lanes | 1 << lane);
            // Of those in which as many are free the fullest.
            let best = (0..taken.len()).max_by_key(|slot| {
                let taken = taken[*slot];
                ((lanes & !taken).count_ones(), taken.count_ones(), Reverse(*slot))
            });
            let slot = best.expect("a row with a neighbour has slots");
            let fits = lanes & !taken[slot];
            taken[slot] |= fits;
            rest.retain(|(lane, edge)| {
                let fits = fits >> lane & 1 == 1;
                if fits {
                    slots[*lane][slot] = Some(*edge);
                }
                !fits
            });
        }
    }
    slots
}

/// For each row and slot the neighbour that is read, by its place in the row.
fn slots(rows: &[Vec<(u32, u32)>], width: usize) -> Vec<Vec<Option<usize>>> {
    let bank = |row: usize, edge: usize| rows[row][edge].0 as usize % BANKS;
    let mut of_row: Vec<Vec<Option<usize>>> = vec![vec![None; width]; rows.len()];
    let mut of_bank: Vec<Vec<Option<usize>>> = vec![vec![None; width]; BANKS]; // the row that reads it
    let mut surplus = Vec::new();
    let mut fullness = [0; BANKS];
    for (row, edges) in rows.iter().enumerate() {
        for edge in 0..edges.len() {
            let to = bank(row, edge);
            fullness[to] += 1;
            if fullness[to] > width {
                surplus.push((row, edge));
                continue;
            }
            let free = |slots: &[Option<usize>]| slots.iter().position(Option::is_none);
            let both = (0..width).find(|slot| of_row[row][*slot].is_none() && of_bank[to][*slot].is_none());
            let slot = match (both, free(&of_row[row]), free(&of_bank[to])) {
                (Some(slot), ..) => slot,
                (None, Some(at_row), Some(at_bank)) => {
                    // Free at the bank, taken at the row: swap both slots along the path that starts there.
                    let (mut row, mut path) = (row, Vec::new());
                    while let Some(edge) = of_row[row][at_bank] {
                        path.push((row, edge, at_bank));
                        let Some(next) = of_bank[bank(row, edge)][at_row] else { break };
                        let Some(back) = of_row[next][at_row] else { break };
                        path.push((next, back, at_row));
                        row = next;
                    }
                    for (row, edge, slot) in &path {
                        (of_row[*row][*slot], of_bank[bank(*row, *edge)][*slot]) = (None, None);
                    }
                    for (row, edge, slot) in path {
                        let other = if slot == at_bank { at_row } else { at_bank };
                        (of_row[row][other], of_bank[bank(row, edge)][other]) = (Some(edge), Some(row));
                    }
                    at_bank
                }
                _ => unreachable!("neither row nor bank has more edges than there are slots"),
            };
            (of_row[row][slot], of_bank[to][slot]) = (Some(edge), Some(row));
        }
    }
    for (row, edge) in surplus {
        let free = of_row[row].iter_mut().find(|slot| slot.is_none());
        *free.expect("a row has no more neighbours than there are slots") = Some(edge);
    }
    of_row
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::InSector;
    use std::collections::BTreeSet;

    /// Rows of neighbours as a hopping matrix has them, from a linear congruential generator.
    fn random(rows: usize, longest: u64, columns: u64, seed: u64) -> Vec<Vec<(u32, u32)>> {
        let mut state = seed;
        let mut next = move |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        let mut row = || {
            let length = next(longest + 1);
            let columns: BTreeSet<u32> = (0..length).map(|_| next(columns) as u32).collect();
            columns.into_iter().map(|column| (column, 0)).collect()
        };
        (0..rows).map(|_| row()).collect()
    }

    #[test]
    fn every_neighbour_has_a_slot_and_no_bank_is_met_twice_while_there_are_slots() {
        for seed in 0..200 {
            let rows = random(BANKS, 14, 11_440, seed);
            let mut fullness = [0; BANKS];
            rows.iter().flatten().for_each(|(column, _)| fullness[*column as usize % BANKS] += 1);
            let longest = rows.iter().map(Vec::len).max().unwrap();
            for width in [longest.max(fullness.into_iter().max().unwrap()), longest] {
                let slots = slots(&rows, width);
                for (row, slots) in rows.iter().zip(&slots) {
                    let found: BTreeSet<usize> = slots.iter().flatten().copied().collect();
                    assert_eq!(found, (0..row.len()).collect(), "each neighbour once");
                    assert_eq!(slots.iter().flatten().count(), row.len());
                }
                let met = |slot: usize| -> usize {
                    let read = rows.iter().zip(&slots).filter_map(|(row, slots)| Some(row[slots[slot]?].0));
                    let mut of_bank = [0usize; BANKS];
                    read.for_each(|column| of_bank[column as usize % BANKS] += 1);
                    of_bank.into_iter().map(|count| count.saturating_sub(1)).sum()
                };
                let twice: usize = (0..width).map(met).sum();
                let surplus: usize = fullness.iter().map(|count| count.saturating_sub(width)).sum();
                assert!(twice <= surplus, "seed {seed}, width {width}: {twice} conflicts, {surplus} cannot be avoided");
            }
        }
    }

    /// The places that each gather of a warp reads, on the problem of Yamada et al. (2020); padding included.
    fn gathers_of_the_paper_s_problem(staging: Staging) -> (usize, Vec<Vec<u64>>) {
        let lattice = eigenforge_core::lattice::Lattice::square([4, 4]).open();
        let (bonds, sites) = (lattice.bonds().len(), lattice.sites().len());
        let operator = eigenforge_core::models::hubbard(
            &lattice,
            &vec![1.0; bonds],
            &vec![4.0; sites],
            &vec![0.0; sites],
            0.0,
            &[],
        );
        let model = operator.sector(eigenforge_core::basis::Up(7), eigenforge_core::basis::Down(1)).unwrap();
        let multiply = model.multiply_without_constant(eigenforge_templates::ScalarType::F64).unwrap();
        let up = &multiply.way::<crate::KroneckerMultiply>().expect("it splits").up;
        let (start, words) = up.packed_slices(Warp::NVIDIA, staging);
        let mask = (1u64 << up.plan().index_bits) - 1;
        let lanes = Warp::NVIDIA.lanes() as usize;
        let of_slot = |(group, slot): (usize, usize)| -> Vec<u64> {
            (0..lanes).map(|lane| words[(group * lanes + lane) * 4 + slot] & mask).collect()
        };
        let groups = *start.last().unwrap() as usize;
        (up.rows(), (0..groups).flat_map(|group| (0..4).map(move |slot| (group, slot))).map(of_slot).collect())
    }

    /// Cycles of shared memory for one gather of a warp, 2 at best.
    #[test]
    fn gathers_of_the_paper_s_problem_have_hardly_a_conflict() {
        let (_, gathers) = gathers_of_the_paper_s_problem(Staging::Shared);
        let mut cycles = 0;
        for half in gathers.iter().flat_map(|read| read.chunks(BANKS)) {
            let distinct: BTreeSet<u64> = half.iter().copied().collect();
            let mut of_bank = [0; BANKS];
            distinct.iter().for_each(|column| of_bank[*column as usize % BANKS] += 1);
            cycles += of_bank.into_iter().max().unwrap_or(0);
        }
        let mean = f64::from(cycles) / gathers.len() as f64;
        assert!((2.0..2.05).contains(&mean), "{mean} cycles a gather");
    }

    /// Lines of 16 numbers that one gather from memory meets: 2 to 3 at best, as 32 rows rarely begin with a line.
    #[test]
    fn gathers_from_memory_meet_few_lines() {
        let mean = |staging| {
            let (rows, gathers) = gathers_of_the_paper_s_problem(staging);
            let lines = |read: &Vec<u64>| {
                let read = read.iter().filter(|column| **column < rows as u64);
                read.map(|column| column / 16).collect::<BTreeSet<u64>>().len()
            };
            gathers.iter().map(lines).sum::<usize>() as f64 / gathers.len() as f64
        };
        let (alike, by_banks) = (mean(Staging::Global), mean(Staging::Shared));
        assert!(alike < 3.5 && by_banks > 2.0 * alike, "{alike} lines a gather, {by_banks} by banks");
    }

    /// Every neighbour is read once, as it is with any other order.
    #[test]
    fn moves_have_slots() {
        for seed in 0..200 {
            let rows = random(32, 14, 97, seed);
            let slots = slots_of_moves(&rows, |lane, column| (lane as u64 + seed) ^ u64::from(column));
            for (row, slots) in rows.iter().zip(&slots) {
                let found: BTreeSet<usize> = slots.iter().flatten().copied().collect();
                assert_eq!(found, (0..row.len()).collect());
                assert_eq!(slots.iter().flatten().count(), row.len());
            }
        }
    }
}
