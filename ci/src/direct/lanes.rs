//! The inner loops: lanes are α strings side by side, eight per register; sums stay in registers.
//!
//! A packed row holds the coefficients of one β string for all lanes. A number of a β matrix then multiplies contiguous
//! numbers, and every sum runs over the same moves in the same order for any lanes and groups, so results do not depend
//! on how work is divided. Products are not fused into sums, so that processors agree on the bits.

use super::alpha::Lane;
use super::beta::{Beta, Single};
use multiversion::multiversion;

/// Numbers per register, and per cache line.
pub(super) const LANES: usize = 8;

/// Eight lanes in a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Line(pub [f64; LANES]);

/// Line m of each packed row ← sign × C of up to eight lanes; a missing lane repeats the first.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
pub(super) fn pack<const M: usize>(x: &[f64], lanes: &[Lane], m: usize, out: &mut [[Line; M]]) {
    let len = out.len();
    let lane = |k: usize| lanes.get(k).unwrap_or(&lanes[0]);
    let rows: [&[f64]; LANES] = std::array::from_fn(|k| &x[lane(k).source..][..len]);
    let signs: [f64; LANES] = std::array::from_fn(|k| lane(k).sign);
    let (blocks, rest) = out.as_chunks_mut::<LANES>();
    for (block, to) in blocks.iter_mut().enumerate() {
        let from: [[f64; LANES]; LANES] = std::array::from_fn(|lane| {
            let row = &rows[lane][block * LANES..][..LANES];
            std::array::from_fn(|k| signs[lane] * row[k])
        });
        for (k, to) in to.iter_mut().enumerate() {
            to[m].0 = std::array::from_fn(|lane| from[lane][k]);
        }
    }
    let whole = len - rest.len();
    for (k, to) in rest.iter_mut().enumerate() {
        to[m].0 = std::array::from_fn(|lane| signs[lane] * rows[lane][whole + k]);
    }
}

/// The matrix of β strings that multiplies a batch.
pub(super) enum Factor<'a, const M: usize> {
    /// G_pq: moves of one irrep, ± (pq|rs) of each, and the diagonal if there is one.
    Both {
        /// Irrep of the moves.
        irrep: usize,
        /// ± (pq|rs).
        coulomb: &'a [f64],
        /// Σ_{r in K} (pq|rr).
        felt: Option<&'a [f64]>,
    },
    /// H_ββ, and ± Σ_{p in I} (pp|rs) of each lane.
    Beta {
        /// One per single.
        onlookers: &'a [[Line; M]],
    },
}

/// σ(lane, K) += Σ_L factor(K, L) packed(L, lane) for the β strings of the rows, from `first` on.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
pub(super) fn multiply<const M: usize>(
    beta: &Beta,
    first: usize,
    factor: &Factor<'_, M>,
    packed: &[[Line; M]],
    lanes: &[Lane],
    rows: &mut [&mut [f64]],
) {
    let width = rows[0].len();
    for start in (0..width).step_by(LANES) {
        let mut block = [[[0.0; LANES]; M]; LANES];
        let height = LANES.min(width - start);
        for (k, block) in (start..start + height).zip(&mut block) {
            *block = match factor {
                Factor::Both { irrep, coulomb, felt } => {
                    let own = felt.map(|felt| (felt[k], &packed[k]));
                    both(beta.singles(first + k, *irrep), coulomb, own, packed)
                }
                Factor::Beta { onlookers } => {
                    one(beta.same_spin(first + k), beta.singles(first + k, 0), onlookers, packed)
                }
            };
        }
        for m in 0..M {
            let of_line: [[f64; LANES]; LANES] = std::array::from_fn(|k| block[k][m]);
            let lanes = &lanes[(m * LANES).min(lanes.len())..];
            scatter(&of_line, &lanes[..lanes.len().min(LANES)], start, height, rows);
        }
    }
}

/// Σ ± (pq|rs) packed(L), and the diagonal's share.
#[inline(always)]
fn both<const M: usize>(
    singles: &[Single],
    coulomb: &[f64],
    own: Option<(f64, &[Line; M])>,
    packed: &[[Line; M]],
) -> [[f64; LANES]; M] {
    let mut sum = [[0.0; LANES]; M];
    if let Some((felt, own)) = own {
        add_scaled(&mut sum, felt, own);
    }
    for single in singles {
        add_scaled(&mut sum, coulomb[single.value as usize], &packed[single.target as usize]);
    }
    sum
}

/// Σ H_ββ packed(L), and what the α electrons of each lane add to the singles.
#[inline(always)]
fn one<const M: usize>(
    same: &[(u32, f64)],
    singles: &[Single],
    onlookers: &[[Line; M]],
    packed: &[[Line; M]],
) -> [[f64; LANES]; M] {
    let mut sum = [[0.0; LANES]; M];
    for (target, value) in same {
        add_scaled(&mut sum, *value, &packed[*target as usize]);
    }
    for single in singles {
        add_product(&mut sum, &onlookers[single.value as usize], &packed[single.target as usize]);
    }
    sum
}

/// One number for all lanes.
#[inline(always)]
fn add_scaled<const M: usize>(sum: &mut [[f64; LANES]; M], value: f64, from: &[Line; M]) {
    for (sum, from) in sum.iter_mut().zip(from) {
        sum.iter_mut().zip(&from.0).for_each(|(sum, from)| *sum += value * from);
    }
}

/// One number per lane.
#[inline(always)]
fn add_product<const M: usize>(sum: &mut [[f64; LANES]; M], values: &[Line; M], from: &[Line; M]) {
    for (sum, (value, from)) in sum.iter_mut().zip(values.iter().zip(from)) {
        sum.iter_mut().zip(value.0.iter().zip(&from.0)).for_each(|(sum, (value, from))| *sum += value * from);
    }
}

/// Transposes eight β strings of eight lanes and adds them to the lanes' rows. A separate function, because otherwise the
/// compiler spills the registers of the sums.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
fn scatter(block: &[[f64; LANES]; LANES], lanes: &[Lane], start: usize, height: usize, rows: &mut [&mut [f64]]) {
    for (k, lane) in lanes.iter().enumerate() {
        let turned: [f64; LANES] = std::array::from_fn(|row| block[row][k]);
        let out = &mut rows[lane.row as usize][start..][..height];
        match <&mut [f64; LANES]>::try_from(&mut *out) {
            Ok(out) => (0..LANES).for_each(|row| out[row] += turned[row]),
            Err(_) => out.iter_mut().zip(turned).for_each(|(out, sum)| *out += sum),
        }
    }
}

/// σ(I, K) += Σ_J H_αα(I, J) C(J, K) for N columns per step, from column `start` on, in whole steps; returns the first
/// column not done. `same` gives for each row the first element of J's row and the value.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
pub(super) fn alpha_rows<const N: usize>(
    x: &[f64],
    same: &[&[(usize, f64)]],
    start: usize,
    rows: &mut [&mut [f64]],
) -> usize {
    let width = rows[0].len();
    let mut at = start;
    while at + N <= width {
        for (same, row) in same.iter().zip(&mut *rows) {
            let mut sum = [0.0; N];
            for (source, value) in *same {
                let from = &x[source + at..][..N];
                for k in 0..N {
                    sum[k] += value * from[k];
                }
            }
            let out = &mut row[at..][..N];
            for k in 0..N {
                out[k] += sum[k];
            }
        }
        at += N;
    }
    at
}

/// x·y in a fixed order.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
pub(super) fn dot(x: &[f64], y: &[f64]) -> f64 {
    let mut sum = [0.0; 4 * LANES];
    let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<{ 4 * LANES }>(), y.as_chunks::<{ 4 * LANES }>());
    for (x, y) in x.iter().zip(y) {
        for lane in 0..4 * LANES {
            sum[lane] += x[lane] * y[lane];
        }
    }
    let rest: f64 = x_rest.iter().zip(y_rest).map(|(x, y)| x * y).sum();
    sum.iter().sum::<f64>() + rest
}
