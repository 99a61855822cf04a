//! States of good angular momentum in the canonical basis: SU(3) ⊃ SO(3) beside SU(3) ⊃ U(1) × SU(2).
//!
//! In: an irrep. Out: u(εΛ; κL M), the canonical states' part of |(λμ) κ L M⟩ with the SU(2) rotation taken out:
//!
//! ```text
//! ⟨(λμ) ε Λ M_Λ|(λμ) κ L M⟩ = d^Λ_{M/2, M_Λ}(π/2) u(εΛ; κL M)
//! ```
//! since L_0 acts inside a multiplet of SU(2). For each M, u is a square orthogonal matrix between the multiplets with
//! 2Λ ≥ |M|, 2Λ + M even, and the pairs (κ, L) with L ≥ |M|. A canonical multiplet is (p, q), 0 ≤ p ≤ λ, 0 ≤ q ≤ μ, with
//! ε = 2λ + μ − 3(p + q) and 2Λ = μ + p − q.
//!
//! κ resolves repeated L by Elliott's K: projections P^L_{MK} of the highest-weight state if λ < μ and of the lowest-weight
//! state otherwise, orthonormalised from the lowest K on with a positive diagonal (Draayer and Akiyama 1973, section IV).

mod overlap;
mod projection;

pub(crate) use projection::Projection;

use crate::exact::Binomials;
use crate::irrep::Irrep;
use num_bigint::BigInt;
use overlap::{Overlaps, Whole, fits_128_bits};

/// u(εΛ; κL M) of an irrep, for all M ≥ 0.
#[derive(Debug)]
pub struct Branching {
    irrep: Irrep,
    /// (L, κ) of each column, L ascending and then κ.
    columns: Vec<(u32, u32)>,
    /// Number of columns with a smaller L, at [L]; one more entry than λ + μ + 1.
    first_column: Vec<usize>,
    blocks: Vec<Block>,
}

/// The square matrix of one M, stored with all columns; those with L < M are zero.
#[derive(Debug)]
struct Block {
    /// Row of the multiplet (p, q), at [p (μ+1) + q]; `NO_ROW` where 2Λ < M or 2Λ + M is odd.
    row: Vec<u32>,
    values: Vec<f64>,
}

const NO_ROW: u32 = u32::MAX;

impl Branching {
    /// Computes the whole table.
    pub fn new(irrep: Irrep) -> Branching {
        let [a, b] = smaller_first(irrep);
        let real = Binomials::up_to(2 * (a + b) as usize + 1);
        if fits_128_bits(a, b, a + b) {
            Branching::from_overlaps(irrep, &Overlaps::<i128>::new(a, b, a + b, &real))
        } else {
            Branching::from_overlaps(irrep, &Overlaps::<BigInt>::new(a, b, a + b, &real))
        }
    }

    fn from_overlaps<T: Whole>(irrep: Irrep, overlaps: &Overlaps<T>) -> Branching {
        let mut columns = Vec::new();
        let mut first_column = Vec::new();
        for l in 0..=irrep.l_max() {
            first_column.push(columns.len());
            columns.extend((1..=irrep.kappa_max(l)).map(|kappa| (l, kappa)));
        }
        first_column.push(columns.len());
        let width = columns.len();
        let mut blocks: Vec<Block> = (0..=irrep.l_max()).map(|m| Block::empty(irrep, m, width)).collect();
        for (l, kappa_max) in irrep.angular_momenta() {
            let projection = Projection::from_overlaps(irrep, l, overlaps);
            for m in 0..=l {
                let block = &mut blocks[m as usize];
                let first = first_column[l as usize];
                for j in 0..kappa_max as usize {
                    add_projected(irrep, overlaps, &projection, j, m, |state, overlap| {
                        let row = block.row[state] as usize * width + first;
                        for i in j..kappa_max as usize {
                            block.values[row + i] += projection.orthonormal(i, j) * overlap;
                        }
                    });
                }
            }
        }
        Branching { irrep, columns, first_column, blocks }
    }

    /// Bytes that the table of an irrep takes, a little more than it needs: to ask before it is made.
    pub fn bytes(irrep: Irrep) -> u64 {
        let [l, m] = [u128::from(irrep.lambda), u128::from(irrep.mu)];
        // Every M has at most half of the (λ+1)(μ+1) multiplets, and their number falls with M.
        let multiplets = (l + 1) * (m + 1) / 2 + 1;
        u64::try_from(8 * multiplets * multiplets * (l + m + 1)).unwrap_or(u64::MAX)
    }

    /// The irrep.
    pub fn irrep(&self) -> Irrep {
        self.irrep
    }

    /// (L, κ) of all columns, L ascending and then κ.
    pub fn columns(&self) -> &[(u32, u32)] {
        &self.columns
    }

    /// u of the multiplet (p, q); zero where a label does not exist.
    pub fn value(&self, [p, q]: [u32; 2], kappa: u32, l: u32, m: i32) -> f64 {
        let Irrep { lambda, mu } = self.irrep;
        let exists = p <= lambda && q <= mu && kappa >= 1 && kappa <= self.irrep.kappa_max(l) && m.unsigned_abs() <= l;
        if !exists {
            return 0.0;
        }
        let Some(row) = self.row(m.unsigned_abs(), (p * (mu + 1) + q) as usize) else {
            return 0.0;
        };
        let odd = (lambda + mu + p + l) % 2 == 1;
        let value = row[self.first_column[l as usize] + kappa as usize - 1];
        if m < 0 && odd { -value } else { value } // u(−M) = (−1)^{λ+μ+p+L} u(M)
    }

    /// The matrix of one M ≥ 0: row of each multiplet, at [p (μ+1) + q] (`u32::MAX` where 2Λ < M or 2Λ + M is odd), and its numbers,
    /// at [row · columns + column]. Empty beyond λ + μ.
    pub fn rows(&self, m: u32) -> (&[u32], &[f64]) {
        self.blocks.get(m as usize).map_or((&[], &[]), |block| (&block.row, &block.values))
    }

    /// All columns of a multiplet at M ≥ 0; `None` where 2Λ < M or 2Λ + M is odd.
    pub(crate) fn row(&self, m: u32, state: usize) -> Option<&[f64]> {
        let block = &self.blocks[m as usize];
        let row = block.row[state];
        let width = self.columns.len();
        (row != NO_ROW).then(|| &block.values[row as usize * width..][..width])
    }

    /// The columns with angular momenta from `first` to `last`.
    pub(crate) fn columns_of(&self, first: u32, last: u32) -> std::ops::Range<usize> {
        let at = |l: u32| self.first_column[(l as usize).min(self.first_column.len() - 1)];
        at(first)..at(last + 1)
    }
}

impl Block {
    fn empty(irrep: Irrep, m: u32, width: usize) -> Block {
        let Irrep { lambda, mu } = irrep;
        let mut rows = 0;
        let states = (0..=lambda).flat_map(|p| (0..=mu).map(move |q| mu + p - q));
        let number = |two_lambda: u32| {
            let exists = two_lambda >= m && (two_lambda + m).is_multiple_of(2);
            rows += u32::from(exists);
            if exists { rows - 1 } else { NO_ROW }
        };
        let row = states.map(number).collect();
        Block { row, values: vec![0.0; rows as usize * width] }
    }
}

/// (a, b) = (min, max) of the labels: those of the formula, see [`overlap`].
fn smaller_first(irrep: Irrep) -> [i64; 2] {
    let (a, b) = if irrep.uses_highest() { (irrep.lambda, irrep.mu) } else { (irrep.mu, irrep.lambda) };
    [i64::from(a), i64::from(b)]
}

/// Calls `add(index of (p, q), u of P^L_{MK_j}|E⟩ before orthonormalisation)` for every multiplet with this M.
fn add_projected<T: Whole>(
    irrep: Irrep,
    overlaps: &Overlaps<T>,
    projection: &Projection,
    j: usize,
    m: u32,
    mut add: impl FnMut(usize, f64),
) {
    let [a, b] = smaller_first(irrep);
    let (k, l, m) = (projection.k(j), i64::from(projection.l()), i64::from(m));
    // 2Λ = b + p − q ≡ M (mod 2) fixes the parity of p + q.
    for sum in ((b + m) % 2..=a + b).step_by(2) {
        let inner_sums = overlaps.inner_sums(sum, k, l, m);
        for p in 0.max(sum - b)..=a.min(sum) {
            let q = sum - p;
            let t = b + p - q;
            if t < m {
                continue;
            }
            let overlap = overlaps.overlap([p, q], [k, l, m], &inner_sums, overlaps.front([p, q]));
            add(state_index(irrep, [p, q]), projected_sign(irrep, k, t, m) * overlap);
        }
    }
}

/// Where the formula's state (p, q) is among the irrep's: itself, or (μ − q, λ − p) exchanged back.
fn state_index(irrep: Irrep, [p, q]: [i64; 2]) -> usize {
    let (lambda, mu) = (i64::from(irrep.lambda), i64::from(irrep.mu));
    let [p, q] = if irrep.uses_highest() { [p, q] } else { [lambda - q, mu - p] };
    (p * (mu + 1) + q) as usize
}

/// (−1)^{(a+K)/2}, and for the lowest-weight state also (−1)^{(t+M)/2} of d^Λ_{M/2,−Λ}(π/2).
fn projected_sign(irrep: Irrep, k: i64, t: i64, m: i64) -> f64 {
    let [a, _] = smaller_first(irrep);
    let power = (a + k) / 2 + if irrep.uses_highest() { 0 } else { (t + m) / 2 };
    if power % 2 == 0 { 1.0 } else { -1.0 }
}
