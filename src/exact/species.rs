//! One species' hopping matrix: rows of packed neighbours for the host, slices for the up kernel, rows for the down one.

use crate::basis::combinations::Ranks;
use crate::operator::transition::Transition;
use eigenforge_templates::exact::{Amplitudes, Hop, IndexWord, SpeciesPlan};
use rayon::prelude::*;

/// A in compressed rows, an element being (column, number of its amplitude). Symmetric, because H is.
#[derive(Clone, Debug)]
pub struct SpeciesMatrix {
    /// Bits set in each state word.
    pub particles: usize,
    /// The state words, ascending.
    pub states: Vec<u64>,
    /// Where each row begins; one more than there are rows.
    pub row_start: Vec<u64>,
    /// Columns.
    pub columns: Vec<u32>,
    /// Number of the amplitude of each element.
    pub numbers: Vec<u32>,
    /// The amplitudes.
    pub amplitudes: Amplitudes,
    /// The terms it was made from.
    pub hops: Vec<Hop>,
}

impl SpeciesMatrix {
    /// Applies every transition to every state.
    pub fn new(sites: usize, particles: usize, states: &[u64], moves: &[Transition]) -> SpeciesMatrix {
        let ranks = Ranks::new(sites, particles);
        let row = |word: &u64| -> Vec<(u32, f64)> {
            let mut row: Vec<(u32, f64)> = Vec::new();
            for t in moves.iter().filter(|t| word & t.care == t.pattern) {
                let odd = (word & t.sign).count_ones() % 2 == 1;
                row.push((ranks.rank(word ^ t.flip) as u32, if odd { -t.amplitude } else { t.amplitude }));
            }
            row.sort_by_key(|(column, _)| *column);
            row.dedup_by(|later, first| {
                let same = later.0 == first.0;
                if same {
                    first.1 += later.1;
                }
                same
            });
            row.retain(|(_, amplitude)| *amplitude != 0.0);
            row
        };
        let rows: Vec<Vec<(u32, f64)>> = states.par_iter().map(row).collect();
        let mut distinct: Vec<f64> = Vec::new();
        let mut row_start = vec![0u64];
        let (mut columns, mut raw) = (Vec::new(), Vec::new());
        for row in &rows {
            for (column, amplitude) in row {
                columns.push(*column);
                raw.push(*amplitude);
            }
            row_start.push(columns.len() as u64);
        }
        distinct.extend(&raw);
        distinct.sort_by(f64::total_cmp);
        distinct.dedup();
        let amplitudes = Amplitudes::of(distinct);
        let values = amplitudes.values();
        let number = |amplitude: &f64| values.iter().position(|value| value == amplitude).unwrap_or(0) as u32;
        let numbers = match values.len() {
            0..=8 => raw.iter().map(number).collect(),
            _ => {
                // A table is sorted, so its numbers are found by bisection.
                let find = |amplitude: &f64| values.partition_point(|value| value < amplitude) as u32;
                raw.iter().map(find).collect()
            }
        };
        let hop = |t: &Transition| Hop {
            flip: t.flip,
            care: t.care,
            pattern: t.pattern,
            sign: t.sign,
            amplitude: t.amplitude,
        };
        let hops = moves.iter().map(hop).collect();
        SpeciesMatrix { particles, states: states.to_vec(), row_start, columns, numbers, amplitudes, hops }
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.states.len()
    }

    /// Elements.
    pub fn elements(&self) -> usize {
        self.columns.len()
    }

    /// The elements of one row: (column, number of its amplitude).
    pub fn row(&self, row: usize) -> impl Iterator<Item = (u32, u32)> {
        let range = self.row_start[row] as usize..self.row_start[row + 1] as usize;
        self.columns[range.clone()].iter().copied().zip(self.numbers[range].iter().copied())
    }

    /// Largest sum of |amplitude| over a row: a bound of the norm.
    pub fn norm_bound(&self) -> f64 {
        let values = self.amplitudes.values();
        let row = |row: usize| self.row(row).map(|(_, number)| values[number as usize].abs()).sum::<f64>();
        (0..self.rows()).map(row).fold(0.0, f64::max)
    }

    /// What the plan says of it. The index has room for one more value, the padding.
    pub fn plan(&self) -> SpeciesPlan {
        let index_bits = 64 - (self.rows() as u64).leading_zeros();
        let widest = self.row_start.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
        SpeciesPlan {
            particles: self.particles as u32,
            states: self.rows() as u64,
            elements: self.elements() as u64,
            widest_row: widest as u32,
            index_bits,
            word: IndexWord::of(index_bits + self.amplitudes.bits()),
            amplitudes: self.amplitudes.clone(),
            hops: self.hops.clone(),
        }
    }

    /// Rows of packed neighbours for the down kernel, whose blocks take runs of `run` columns: (starts, words), both in
    /// groups of four. The neighbours of column c within its own run, counted from the run's first column, stand at
    /// `starts[2c]..starts[2c+1]`, padded with `run`, a column of zeros; those outside follow up to `starts[2c+2]`, padded
    /// with the number of rows.
    pub fn packed_rows(&self, run: usize) -> (Vec<u32>, Vec<u64>) {
        let shift = self.plan().number_shift();
        let (mut starts, mut words) = (vec![0u32], Vec::with_capacity(2 * self.elements()));
        for row in 0..self.rows() {
            let first = (row / run * run) as u32;
            let within = |column: &u32| (first..first + run as u32).contains(column);
            let pack = |column: u32, number: u32| u64::from(column) | u64::from(number) << shift;
            let mut close = |padding: usize, words: &mut Vec<u64>| {
                words.resize(words.len().next_multiple_of(4), padding as u64);
                starts.push((words.len() / 4) as u32);
            };
            words.extend(self.row(row).filter(|(c, _)| within(c)).map(|(c, number)| pack(c - first, number)));
            close(run, &mut words);
            words.extend(self.row(row).filter(|(c, _)| !within(c)).map(|(c, number)| pack(c, number)));
            close(self.rows(), &mut words);
        }
        (starts, words)
    }

    /// Slices of 32 rows for the up kernel: (slice_start in groups of four, words by slice, group, lane and 4).
    ///
    /// A slice is as wide as its longest row, rounded to four; shorter rows are padded with the index one past the last
    /// row. Which of its neighbours a row has in which slot is free, so slots are filled such that the 16 lanes that
    /// read shared memory together hit different banks wherever they can.
    pub fn packed_slices(&self) -> (Vec<u32>, Vec<u64>) {
        let shift = self.plan().number_shift();
        let slices: Vec<Vec<u64>> = (0..self.rows().div_ceil(32))
            .into_par_iter()
            .map(|slice| self.slice(slice, shift, self.rows() as u64))
            .collect();
        let mut start = vec![0u32];
        let mut words = Vec::new();
        for slice in slices {
            words.extend(slice);
            start.push((words.len() / 128) as u32);
        }
        (start, words)
    }

    fn slice(&self, slice: usize, shift: u32, padding: u64) -> Vec<u64> {
        const LANES: usize = 32;
        const BANKS: usize = 16; // 8-byte words that one pass over the 32 four-byte banks serves
        let mut rest: Vec<Vec<(u32, u32)>> = (0..LANES)
            .map(|lane| slice * LANES + lane)
            .map(|row| if row < self.rows() { self.row(row).collect() } else { Vec::new() })
            .collect();
        let width = rest.iter().map(Vec::len).max().unwrap_or(0).next_multiple_of(4);
        let mut words = vec![padding; width * LANES];
        for slot in 0..width {
            for half in [0..LANES / 2, LANES / 2..LANES] {
                let mut taken: [Vec<u32>; BANKS] = Default::default();
                for lane in half {
                    // The same address costs nothing; a free bank is next best; then the least crowded one.
                    let crowd = |(column, _): &(u32, u32)| {
                        let bank = &taken[*column as usize % BANKS];
                        if bank.contains(column) { 0 } else { bank.len() }
                    };
                    // A row that is shorter than the slots left may wait for a better one.
                    let must = rest[lane].len() >= width - slot;
                    let best = (0..rest[lane].len()).min_by_key(|k| crowd(&rest[lane][*k]));
                    let Some(best) = best.filter(|best| must || crowd(&rest[lane][*best]) == 0) else { continue };
                    let (column, number) = rest[lane].swap_remove(best);
                    taken[column as usize % BANKS].push(column);
                    let place = (slot / 4 * LANES + lane) * 4 + slot % 4;
                    words[place] = u64::from(column) | u64::from(number) << shift;
                }
            }
        }
        words
    }
}
