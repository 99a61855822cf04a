//! The multiply on pairs of strings on all cores of the host.
//!
//! As on cards: panels of whole rows S of √2 X are made, W = S A, and a pair gets W[a][b] and P W[b][a]. Some panels are at work at a time,
//! as many as fit [`AT_ONCE`]; what they add goes to all rows of y, shared out over the cores. Sizes do not depend on the number of cores, so
//! that it changes no bit.

use super::Pairs;
use eigenforge_product::HostRows;
use eigenforge_runtime::Scalar;
use eigenforge_runtime::ranks::nearest;
use eigenforge_templates::exact::{DiagonalPlan, PairOrder};
use multiversion::multiversion;
use rayon::prelude::*;
use std::f64::consts::SQRT_2;
use std::ops::Range;
use std::sync::Arc;

/// Rows of a panel: two lines of memory for each column.
const ROWS: usize = 16;
/// Bytes of the sums of panels that are at work at a time, and most of these.
const AT_ONCE: usize = 128 << 20;
const MOST_PANELS: usize = 64;
/// Rows of y that a task adds to.
const ROWS_OF_TASK: u64 = 64;
/// Elements of a part of xᵀy.
const PART: usize = 1 << 14;

/// H on the host.
#[derive(Clone)]
pub(super) struct HostPairs {
    pairs: Arc<Pairs>,
    diagonal: DiagonalPlan,
}

/// W of some panels, one after the other: each by columns, with the rows of a column side by side.
struct Sums {
    rows: Range<u64>,
    values: Vec<f64>,
}

impl Sums {
    /// W[a][b].
    fn element(&self, strings: usize, a: u64, b: u64) -> f64 {
        let row = (a - self.rows.start) as usize;
        self.values[(row / ROWS * strings + b as usize) * ROWS + row % ROWS]
    }
}

/// W = S A, all by columns of [`ROWS`] rows.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
fn multiply_panel(starts: &[u64], columns: &[u32], amplitudes: &[f64], panel: &[f64], sums: &mut [f64]) {
    for (range, out) in starts.windows(2).zip(sums.chunks_exact_mut(ROWS)) {
        let range = range[0] as usize..range[1] as usize;
        let mut sum = [0.0; ROWS];
        for (column, amplitude) in columns[range.clone()].iter().zip(&amplitudes[range]) {
            let from = &panel[*column as usize * ROWS..][..ROWS];
            sum.iter_mut().zip(from).for_each(|(sum, value)| *sum += amplitude * value);
        }
        out.copy_from_slice(&sum);
    }
}

impl HostPairs {
    pub(super) fn new(pairs: Arc<Pairs>, diagonal: DiagonalPlan) -> HostPairs {
        HostPairs { pairs, diagonal }
    }

    pub(super) fn pairs(&self) -> &Pairs {
        &self.pairs
    }

    fn diagonal_of(&self, a: u64, b: u64) -> f64 {
        let words = &self.pairs.hops.states;
        self.diagonal.of_state(words[a as usize] << self.pairs.sites | words[b as usize])
    }

    /// Whole rows of √2 X, by columns; 0 past the last row.
    fn panel<T: Scalar>(&self, x: &[T], rows: Range<u64>) -> Vec<f64> {
        let (order, sign) = (self.pairs.order, self.pairs.sign);
        let PairOrder { strings, first } = order;
        let mut panel = vec![0.0; strings as usize * ROWS];
        for (t, a) in rows.clone().enumerate() {
            let start = order.start(a) as usize;
            let distances = first..order.distances(a).max(first);
            let own = &x[start..start + (distances.end - first) as usize];
            for (d, value) in distances.zip(own) {
                let b = (a + d) % strings;
                panel[b as usize * ROWS + t] = if d == 0 { SQRT_2 * value.to_f64() } else { value.to_f64() };
            }
        }
        let (count, least) = (rows.end - rows.start, first.max(1));
        for (b, column) in (0..strings).zip(panel.chunks_exact_mut(ROWS)) {
            // Rows t of the panel that stand in row b: those with a distance from `least` to its last.
            let (ahead, end) = ((rows.start + strings - b) % strings, order.distances(b));
            let from = order.start(b) as usize;
            let mut copy = |t: Range<u64>, d: u64| {
                let at = from + (d - first) as usize;
                let values = &x[at..at + (t.end - t.start) as usize];
                let column = &mut column[t.start as usize..t.end as usize];
                column.iter_mut().zip(values).for_each(|(to, value)| *to = sign * value.to_f64());
            };
            // Distances go up from `ahead` and begin again at 0 behind the last string.
            let skipped = least.saturating_sub(ahead).min(count);
            let reached = end.saturating_sub(ahead).min(count);
            if skipped < reached {
                copy(skipped..reached, ahead + skipped);
            }
            let turn = strings - ahead;
            if turn + least < count {
                copy(turn + least..count.min(turn + end), least);
            }
        }
        panel
    }

    /// Adds the sums of panels to the rows of y from `first_row` on; the first of the two sums of a pair is written. `x` has the same rows.
    fn add<T: Scalar>(&self, sums: &Sums, own_rows: &Range<u64>, x: &[T], y: &mut [T]) {
        let order = self.pairs.order;
        let (mut tasks, mut rest) = (Vec::new(), y);
        for first in own_rows.clone().step_by(ROWS_OF_TASK as usize) {
            let rows = first..own_rows.end.min(first + ROWS_OF_TASK);
            let (own, others) = rest.split_at_mut((order.start(rows.end) - order.start(rows.start)) as usize);
            rest = others;
            tasks.push((rows, own));
        }
        let before = order.start(own_rows.start) as usize;
        tasks.into_par_iter().for_each(|(rows, mut y)| {
            for row in rows {
                let (start, end) = (order.start(row) as usize, order.start(row + 1) as usize);
                let (own, others) = y.split_at_mut(end - start);
                y = others;
                if sums.rows.contains(&row) {
                    self.add_own(sums, row, &x[start - before..end - before], own);
                } else {
                    self.add_other(sums, row, own);
                }
            }
        });
    }

    /// W[a][b] to row a, whose panel is at work.
    fn add_own<T: Scalar>(&self, sums: &Sums, a: u64, x: &[T], y: &mut [T]) {
        let PairOrder { strings, first } = self.pairs.order;
        for (d, (x, y)) in (first..).zip(x.iter().zip(y)) {
            let b = (a + d) % strings;
            let mut sum = sums.element(strings as usize, a, b);
            if sums.rows.contains(&b) {
                sum += self.pairs.sign * sums.element(strings as usize, b, a);
            }
            if d == 0 {
                sum /= SQRT_2;
            }
            sum += self.diagonal_of(a, b) * x.to_f64();
            *y = T::from_f64(if b < sums.rows.start { y.to_f64() + sum } else { sum });
        }
    }

    /// P W[a][b] of rows a that are at work to row b, which is not.
    fn add_other<T: Scalar>(&self, sums: &Sums, b: u64, y: &mut [T]) {
        let (order, sign) = (self.pairs.order, self.pairs.sign);
        let (strings, end) = (order.strings, order.distances(b));
        for a in sums.rows.clone() {
            let d = (a + strings - b) % strings;
            if d < order.first || d >= end {
                continue;
            }
            let (sum, y) = (sign * sums.element(strings as usize, a, b), &mut y[(d - order.first) as usize]);
            *y = T::from_f64(if b < sums.rows.start { y.to_f64() + sum } else { sum });
        }
    }
}

impl HostRows for HostPairs {
    fn dimension(&self) -> usize {
        self.pairs.order.pairs() as usize
    }

    /// Whole rows of pairs. A panel whose rows are not asked for is multiplied in the columns of those that are.
    fn rows<T: Scalar>(&self, x: &[T], first: usize, y: &mut [T]) -> f64 {
        let order = self.pairs.order;
        let strings = order.strings as usize;
        if y.is_empty() {
            return 0.0;
        }
        let rows = |place: usize| order.row_from(place as u64);
        let (own_rows, end) = (rows(first)..rows(first + y.len()), first + y.len());
        assert_eq!((order.start(own_rows.start), order.start(own_rows.end)), (first as u64, end as u64), "whole rows");
        let of_panel = strings * ROWS * size_of::<f64>();
        let at_once = (AT_ONCE / of_panel.max(1)).clamp(1, MOST_PANELS) * ROWS;
        for first_row in (0..strings).step_by(at_once) {
            let batch = first_row..strings.min(first_row + at_once);
            let is_own = own_rows.start < batch.end as u64 && (batch.start as u64) < own_rows.end;
            let columns = if is_own { 0..strings } else { own_rows.start as usize..own_rows.end as usize };
            let mut values = vec![0.0; batch.len().div_ceil(ROWS) * strings * ROWS];
            let panels = values.par_chunks_mut(strings * ROWS).enumerate();
            panels.for_each(|(k, sums)| {
                let start = batch.start + k * ROWS;
                let panel = self.panel(x, start as u64..batch.end.min(start + ROWS) as u64);
                let (hops, sums) = (&self.pairs.hops, &mut sums[columns.start * ROWS..columns.end * ROWS]);
                let starts = &hops.row_start[columns.start..=columns.end];
                multiply_panel(starts, &hops.columns, &self.pairs.amplitudes, &panel, sums);
            });
            let sums = Sums { rows: batch.start as u64..batch.end as u64, values };
            self.add(&sums, &own_rows, &x[first..end], y);
        }
        let product = |(x, y): (&[T], &[T])| x.iter().zip(y).map(|(x, y)| x.to_f64() * y.to_f64()).sum::<f64>();
        let parts: Vec<f64> = x[first..end].par_chunks(PART).zip(y.par_chunks(PART)).map(product).collect();
        parts.iter().sum()
    }

    fn diagonal(&self, index: usize) -> f64 {
        let (a, b) = self.pairs.order.pair(index as u64);
        self.diagonal_of(a, b)
    }

    /// Between rows of pairs.
    fn cut(&self, shares: usize) -> Vec<usize> {
        let order = self.pairs.order;
        let places: Vec<usize> = (0..=order.strings).map(|row| order.start(row) as usize).collect();
        nearest(&places, shares)
    }
}
