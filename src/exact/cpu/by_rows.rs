//! The multiply row by row: matrix-free, terms by flip mask, ranks by Lin's tables.

use crate::basis::LinTables;
use eigenforge_runtime::Scalar;
use eigenforge_templates::exact::{DiagonalPlan, FlipGroup};
use rayon::prelude::*;

/// Any operator, with no table but those of the sector.
pub(in crate::exact) struct ByRows {
    tables: LinTables,
    diagonal: DiagonalPlan,
    groups: Vec<FlipGroup>,
}

/// Rows a task works on; fixed, so that the order of sums does not depend on the number of threads.
const ROWS: usize = 2048;

impl ByRows {
    /// From the structure of an operator.
    pub(super) fn new(tables: LinTables, diagonal: DiagonalPlan, groups: Vec<FlipGroup>) -> ByRows {
        ByRows { tables, diagonal, groups }
    }

    /// y = H x; returns xᵀy.
    pub(super) fn apply<T: Scalar>(&self, x: &[T], y: &mut [T]) -> f64 {
        let task = |(k, y): (usize, &mut [T])| -> f64 {
            let (first, mut dot) = (k * ROWS, 0.0);
            let mut states = self.states_from(first as u64);
            for (row, y) in y.iter_mut().enumerate() {
                let Some(state) = states.next() else { break };
                let x_row = x[first + row].to_f64();
                let mut sum = self.diagonal.of_state(state) * x_row;
                for group in &self.groups {
                    let mut amplitude = 0.0;
                    for term in &group.terms {
                        if state & term.care == term.pattern {
                            let odd = (state & term.sign).count_ones() & 1 == 1;
                            amplitude += if odd { -term.amplitude } else { term.amplitude };
                        }
                    }
                    if amplitude != 0.0 {
                        sum += amplitude * x[self.tables.index(state ^ group.flip) as usize].to_f64();
                    }
                }
                *y = T::from_f64(sum);
                dot += x_row * sum;
            }
            dot
        };
        let dots: Vec<f64> = y.par_chunks_mut(ROWS).enumerate().map(task).collect();
        dots.iter().sum()
    }

    /// States in order, from an index on.
    fn states_from(&self, index: u64) -> impl Iterator<Item = u64> {
        let part = self.tables.part_of(index);
        let skipped = index - self.tables.parts[part].start;
        let states = move |(k, part): (usize, &crate::basis::HighPart)| {
            let skip = if k == 0 { skipped } else { 0 };
            let lows = part.first_low as usize + skip as usize..(part.first_low + part.count) as usize;
            (part.high << self.tables.low_bits, lows)
        };
        let parts = self.tables.parts[part..].iter().enumerate().map(states);
        parts.flat_map(|(high, lows)| self.tables.low_states[lows].iter().map(move |low| high | low))
    }

    /// The diagonal element of an index.
    pub(super) fn diagonal(&self, index: usize) -> f64 {
        self.diagonal.of_state(self.tables.state(index as u64))
    }
}
