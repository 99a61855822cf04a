//! The multiply row by row: matrix-free, terms by flip mask, ranks by Lin's tables.

use eigenforge_core::basis::LinTables;
use eigenforge_product::HostRows;
use eigenforge_runtime::Scalar;
use eigenforge_templates::exact::{DiagonalPlan, FlipGroup};
use rayon::prelude::*;
use std::sync::Arc;

/// Any operator, with no table but those of the sector.
pub(crate) struct ByRows {
    tables: Arc<LinTables>,
    diagonal: DiagonalPlan,
    groups: Vec<FlipGroup>,
}

/// Rows a task works on; fixed, so that the order of sums does not depend on the number of threads.
const ROWS: usize = 2048;

impl ByRows {
    /// From the structure of an operator.
    pub(crate) fn new(tables: Arc<LinTables>, diagonal: DiagonalPlan, groups: Vec<FlipGroup>) -> ByRows {
        ByRows { tables, diagonal, groups }
    }

    /// The elements of `K` vectors from `before` on: states, amplitudes and ranks are found once for all.
    fn several<T: Scalar, const K: usize>(&self, x: [&[T]; K], y: [&mut [T]; K], before: usize) -> [f64; K] {
        let rows = y.first().map_or(0, |y| y.len());
        let mut parts = y.map(|y| y.chunks_mut(ROWS));
        let tasks: Vec<[&mut [T]; K]> = (0..rows.div_ceil(ROWS))
            .map(|_| parts.each_mut().map(|chunks| chunks.next().unwrap_or_default()))
            .collect();
        let task = |(k, y): (usize, [&mut [T]; K])| -> [f64; K] {
            let (first, mut dots) = (before + k * ROWS, [0.0; K]);
            let states = self.states_from(first as u64);
            for (row, state) in (0..y[0].len()).zip(states) {
                let own = x.map(|x| x[first + row].to_f64());
                let diagonal = self.diagonal.of_state(state);
                let mut sums = own.map(|x| diagonal * x);
                for group in &self.groups {
                    let mut amplitude = 0.0;
                    for term in &group.terms {
                        if state & term.care == term.pattern {
                            let odd = (state & term.sign).count_ones() & 1 == 1;
                            amplitude += if odd { -term.amplitude } else { term.amplitude };
                        }
                    }
                    if amplitude != 0.0 {
                        let from = self.tables.index(state ^ group.flip) as usize;
                        sums.iter_mut().zip(x).for_each(|(sum, x)| *sum += amplitude * x[from].to_f64());
                    }
                }
                for (vector, sum) in sums.into_iter().enumerate() {
                    y[vector][row] = T::from_f64(sum);
                    dots[vector] += own[vector] * sum;
                }
            }
            dots
        };
        let dots: Vec<[f64; K]> = tasks.into_par_iter().enumerate().map(task).collect();
        std::array::from_fn(|vector| dots.iter().map(|dots| dots[vector]).sum())
    }

    /// States in order, from an index on.
    fn states_from(&self, index: u64) -> impl Iterator<Item = u64> {
        let part = self.tables.part_of(index);
        let skipped = index - self.tables.parts[part].start;
        let states = move |(k, part): (usize, &eigenforge_core::basis::HighPart)| {
            let skip = if k == 0 { skipped } else { 0 };
            let lows = part.first_low as usize + skip as usize..(part.first_low + part.count) as usize;
            (part.high << self.tables.low_bits, lows)
        };
        let parts = self.tables.parts[part..].iter().enumerate().map(states);
        parts.flat_map(|(high, lows)| self.tables.low_states[lows].iter().map(move |low| high | low))
    }
}

impl HostRows for ByRows {
    fn dimension(&self) -> usize {
        self.tables.dimension() as usize
    }

    fn rows<T: Scalar>(&self, x: &[T], first: usize, y: &mut [T]) -> f64 {
        self.several([x], [y], first)[0]
    }

    /// Four vectors at a time: what is found out about a row serves them all.
    fn block<T: Scalar>(&self, x: &[&[T]], y: &mut [&mut [T]]) -> Vec<f64> {
        let group = |(x, y): (&[&[T]], &mut [&mut [T]])| match (x, y) {
            ([a], [p]) => self.several([a], [p], 0).to_vec(),
            ([a, b], [p, q]) => self.several([a, b], [p, q], 0).to_vec(),
            ([a, b, c], [p, q, r]) => self.several([a, b, c], [p, q, r], 0).to_vec(),
            ([a, b, c, d], [p, q, r, s]) => self.several([a, b, c, d], [p, q, r, s], 0).to_vec(),
            _ => Vec::new(),
        };
        x.chunks(4).zip(y.chunks_mut(4)).flat_map(group).collect()
    }

    fn diagonal(&self, index: usize) -> f64 {
        self.diagonal.of_state(self.tables.state(index as u64))
    }
}
