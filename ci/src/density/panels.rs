//! The Gram matrix by dense panels, for spaces in which nearly every α string meets every β string.
//!
//! In: an α remainder A and all β remainders K. Out: its share of G. The columns of a panel are what leaves, x = (α step i, β label r), its rows
//! the β remainders: D_Kx = ± ψ(A + i, K + r), 0 where r is occupied in K. The share is Dᵀ D, scattered to the labels of the steps.
//!
//! Work of n orbitals with n/2 electrons of each spin: (n/2 · n)² products an (A, K), four times those that the zeros leave, in a matrix product;
//! sorting the rows by K takes longer than both.

use super::gram::Product;
use super::removal::{Addition, Removal, Step};
use crate::space::Space;
use eigenforge_runtime::dense::{View, add_gram, multiply_add};

/// Numbers of a panel at most, which stay in a core's cache.
const NUMBERS: usize = 1 << 16;
/// β remainders of a panel at least.
const LEAST_ROWS: usize = 32;
/// Parts of all pairs of strings that a space has at least for its panels to pay.
const FILLED: u64 = 4;

/// Where the β strings of each label are: for each label, K by K, the string in the upper bits and in the lowest whether the sign is −1.
pub(super) struct Panels {
    labels: usize,
    remainders: usize,
    strings: usize,
    places: Vec<u32>,
}

/// What a task works in.
#[derive(Default)]
pub(super) struct Room {
    rows: [Vec<f64>; 2],
    panels: [Vec<f64>; 2],
    share: Vec<f64>,
}

impl Panels {
    /// Of a space that is filled well enough.
    pub(super) fn new(space: &Space, right: &Removal) -> Option<Panels> {
        let pairs = space.alpha().words().len() as u64 * space.beta().words().len() as u64;
        let has_room = right.labels.checked_mul(right.remainders).is_some() && space.beta().words().len() < 1 << 31;
        (space.is_complete() && space.len().saturating_mul(FILLED) >= pairs && has_room)
            .then(|| Panels::of_any(space, right))
    }

    /// Of any space.
    pub(super) fn of_any(space: &Space, right: &Removal) -> Panels {
        let strings = space.beta().words().len();
        // Behind the last string stands a 0.
        let mut places = vec![(strings as u32) << 1; right.labels * right.remainders];
        for string in 0..strings as u32 {
            for step in right.remainders(string) {
                places[usize::from(step.label) * right.remainders + step.string as usize] =
                    string << 1 | u32::from(step.odd);
            }
        }
        Panels { labels: right.labels, remainders: right.remainders, strings, places }
    }

    /// Bytes of the places, and of what a task works in.
    pub(super) fn bytes(&self, left: &Addition, remainders: usize) -> [u64; 2] {
        let steps = (0..remainders).map(|remainder| left.strings(remainder).len()).max().unwrap_or(0);
        let columns = steps * self.labels;
        let room = 2 * (steps * (self.strings + 1) + columns * self.rows(columns)) + columns * columns;
        [self.places.len() as u64 * 4, room as u64 * 8]
    }

    /// β remainders of a panel of so many columns.
    fn rows(&self, columns: usize) -> usize {
        (NUMBERS / columns.max(1)).max(LEAST_ROWS).min(self.remainders)
    }

    /// Adds the share of an α remainder; the upper triangle only where bra and ket are the same.
    pub(super) fn add(
        &self,
        space: &Space,
        steps: &[Step],
        (product, symmetric): (&Product<'_>, bool),
        room: &mut Room,
        part: &mut [f64],
    ) {
        let columns = steps.len() * self.labels;
        let is_same = symmetric || std::ptr::eq(product.bra, product.ket);
        let vectors = [product.ket, product.bra];
        let vectors = &vectors[..if is_same { 1 } else { 2 }];
        for (vector, rows) in vectors.iter().zip(&mut room.rows) {
            self.expand(space, steps, vector, rows);
        }
        room.share.clear();
        room.share.resize(columns * columns, 0.0);
        let height = self.rows(columns);
        for first in (0..self.remainders).step_by(height.max(1)) {
            let height = height.min(self.remainders - first);
            for (rows, panel) in room.rows.iter().zip(&mut room.panels).take(vectors.len()) {
                self.fill(rows, steps.len(), first..first + height, panel);
            }
            let [ket, bra] = &room.panels;
            let ket = View::new(ket, height, columns);
            if symmetric {
                add_gram(&mut room.share, product.weight, ket);
                continue;
            }
            let bra = if is_same { ket } else { View::new(bra, height, columns) };
            multiply_add(&mut room.share, columns, columns, columns, product.weight, bra.transpose(), ket);
        }
        self.scatter(steps, symmetric, &room.share, part);
    }

    /// The amplitudes of each α string that A is a remainder of, by β string, with the sign of its step, and a 0 behind them.
    fn expand(&self, space: &Space, steps: &[Step], vector: &[f64], rows: &mut Vec<f64>) {
        rows.clear();
        rows.resize(steps.len() * (self.strings + 1), 0.0);
        for (step, row) in steps.iter().zip(rows.chunks_exact_mut(self.strings + 1)) {
            let sign = if step.odd { -1.0 } else { 1.0 };
            space.rows_of(step.string, |beta, at| row[beta as usize] = sign * vector[at as usize]);
        }
    }

    /// The panel of a range of β remainders.
    fn fill(&self, rows: &[f64], steps: usize, range: std::ops::Range<usize>, panel: &mut Vec<f64>) {
        panel.clear();
        for row in rows.chunks_exact(self.strings + 1).take(steps) {
            for places in self.places.chunks_exact(self.remainders) {
                let value =
                    |place: &u32| f64::from_bits(row[(place >> 1) as usize].to_bits() ^ (u64::from(place & 1) << 63));
                panel.extend(places[range.clone()].iter().map(value));
            }
        }
    }

    /// Adds the column-major share to the row-major matrix of all labels.
    fn scatter(&self, steps: &[Step], symmetric: bool, share: &[f64], part: &mut [f64]) {
        let (columns, all) = (steps.len() * self.labels, part.len().isqrt());
        let label = |at: usize| usize::from(steps[at / self.labels].label) * self.labels + at % self.labels;
        let labels: Vec<usize> = (0..columns).map(label).collect();
        for (column, shares) in share.chunks_exact(columns.max(1)).enumerate() {
            let first = if symmetric { column } else { 0 };
            for (row, value) in shares.iter().enumerate().skip(first) {
                let (x, y) = (labels[row], labels[column]);
                let (x, y) = if symmetric { (x.min(y), x.max(y)) } else { (x, y) };
                part[x * all + y] += value;
            }
        }
    }
}
