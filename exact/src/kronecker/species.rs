//! One species' hopping matrix: rows for the host, packed rows for the down kernel by tiles. (`slices.rs` packs for the up
//! kernel.)

use eigenforge_core::basis::WordRanks;
use eigenforge_core::operator::Transition;
use eigenforge_templates::exact::{Amplitudes, Hop, IndexWord, SpeciesPlan, UP_ZEROS};
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
        let ranks = WordRanks::new(sites, particles);
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
        let amplitudes = Amplitudes::new(distinct);
        let values = amplitudes.reals();
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
        let values = self.amplitudes.reals();
        let row = |row: usize| self.row(row).map(|(_, number)| values[number as usize].abs()).sum::<f64>();
        (0..self.rows()).map(row).fold(0.0, f64::max)
    }

    /// What the plan says of it. The index has room for the padding, [`UP_ZEROS`] values more.
    pub fn plan(&self) -> SpeciesPlan {
        let index_bits = 64 - (self.rows() as u64 + UP_ZEROS - 1).leading_zeros();
        let widest = self.row_start.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
        SpeciesPlan {
            particles: self.particles as u32,
            states: self.rows() as u64,
            elements: self.elements() as u64,
            widest_row: widest as u32,
            index_bits,
            word: IndexWord::narrowest(index_bits + self.amplitudes.bits()),
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
}
