//! The inner loops: lanes are α strings side by side, eight per register; sums stay in registers.
//!
//! A packed row holds the coefficients of one β string for all lanes. A number of a β matrix then multiplies contiguous
//! numbers, and every sum runs over the same moves in the same order for any lanes and groups, so results do not depend
//! on how work is divided. Products are not fused into sums, so that processors agree on the bits.

use super::super::vector_number::{LANES, VectorNumber};
use super::alpha::Lane;
use super::beta::{Beta, Single};
use super::transpose;
use multiversion::multiversion;
use multiversion::target::match_target;

/// Eight lanes in a cache line; of complex numbers two lines.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Line<T: VectorNumber>(pub T::Lanes);

/// Line m of each packed row ← sign × C of up to eight lanes; a missing lane repeats the first.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
pub(super) fn pack<T: VectorNumber, const M: usize>(x: &[f64], lanes: &[Lane], m: usize, out: &mut [[Line<T>; M]]) {
    let len = out.len();
    let lane = |k: usize| lanes.get(k).unwrap_or(&lanes[0]);
    let rows: [&[f64]; LANES] = std::array::from_fn(|k| &x[T::PARTS * lane(k).source..][..T::PARTS * len]);
    let signs: [f64; LANES] = std::array::from_fn(|k| lane(k).sign);
    let (blocks, rest) = out.as_chunks_mut::<LANES>();
    for (block, to) in blocks.iter_mut().enumerate() {
        let from: [[T; LANES]; LANES] = std::array::from_fn(|lane| {
            let row = &rows[lane][T::PARTS * block * LANES..][..T::PARTS * LANES];
            std::array::from_fn(|k| T::read(row, k) * signs[lane])
        });
        let lines = T::lines(&from, |rows| {
            match_target! {
                // SAFETY: this version runs where there is AVX-512.
            "x86_64+avx512f" => unsafe { transpose::transpose_registers(rows) },
                _ => transpose::transpose_numbers(rows),
            }
        });
        for (to, line) in to.iter_mut().zip(lines) {
            to[m].0 = line;
        }
    }
    let whole = len - rest.len();
    for (k, to) in rest.iter_mut().enumerate() {
        to[m].0 = T::lanes(|lane| T::read(rows[lane], whole + k) * signs[lane]);
    }
}

/// The matrix of β strings that multiplies a batch.
pub(super) enum Factor<'a, T: VectorNumber, const M: usize> {
    /// G_pq: moves of one irrep, ± (pq|rs) of each, and the diagonal if there is one.
    Both {
        /// Irrep of the moves.
        irrep: usize,
        /// ± (pq|rs).
        coulomb: &'a [T],
        /// Σ_{r in K} (pq|rr).
        felt: Option<&'a [T]>,
    },
    /// H_ββ, and ± Σ_{p in I} (pp|rs) of each lane.
    Beta {
        /// One per single.
        onlookers: &'a [[Line<T>; M]],
    },
}

/// σ(lane, K) += Σ_L factor(K, L) packed(L, lane) for the β strings of the rows, from `first` on.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
pub(super) fn multiply<T: VectorNumber, const M: usize>(
    beta: &Beta<T>,
    first: usize,
    factor: &Factor<'_, T, M>,
    packed: &[[Line<T>; M]],
    lanes: &[Lane],
    rows: &mut [&mut [f64]],
) {
    let width = rows[0].len() / T::PARTS;
    for start in (0..width).step_by(LANES) {
        let mut block = [[T::ZEROS; M]; LANES];
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
            let of_line: [T::Lanes; LANES] = std::array::from_fn(|k| block[k][m]);
            let lanes = &lanes[(m * LANES).min(lanes.len())..];
            scatter::<T>(&of_line, &lanes[..lanes.len().min(LANES)], start, height, rows);
        }
    }
}

/// Σ ± (pq|rs) packed(L), and the diagonal's share.
#[inline(always)]
fn both<T: VectorNumber, const M: usize>(
    singles: &[Single],
    coulomb: &[T],
    own: Option<(T, &[Line<T>; M])>,
    packed: &[[Line<T>; M]],
) -> [T::Lanes; M] {
    let mut sum = [T::ZEROS; M];
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
fn one<T: VectorNumber, const M: usize>(
    same: &[(u32, T)],
    singles: &[Single],
    onlookers: &[[Line<T>; M]],
    packed: &[[Line<T>; M]],
) -> [T::Lanes; M] {
    let mut sum = [T::ZEROS; M];
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
fn add_scaled<T: VectorNumber, const M: usize>(sum: &mut [T::Lanes; M], value: T, from: &[Line<T>; M]) {
    for (sum, from) in sum.iter_mut().zip(from) {
        value.add_scaled(sum, &from.0);
    }
}

/// One number per lane.
#[inline(always)]
fn add_product<T: VectorNumber, const M: usize>(sum: &mut [T::Lanes; M], values: &[Line<T>; M], from: &[Line<T>; M]) {
    for (sum, (values, from)) in sum.iter_mut().zip(values.iter().zip(from)) {
        T::add_product(sum, &values.0, &from.0);
    }
}

/// Transposes eight β strings of eight lanes and adds them to the lanes' rows. A separate function, because otherwise the
/// compiler spills the registers of the sums.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
fn scatter<T: VectorNumber>(
    block: &[T::Lanes; LANES],
    lanes: &[Lane],
    start: usize,
    height: usize,
    rows: &mut [&mut [f64]],
) {
    let turned = T::rows(block, |lines| {
        match_target! {
            // SAFETY: this version runs where there is AVX-512.
        "x86_64+avx512f" => unsafe { transpose::transpose_registers(lines) },
            _ => transpose::transpose_numbers(lines),
        }
    });
    for (lane, turned) in lanes.iter().zip(&turned) {
        let out = &mut rows[lane.row as usize][T::PARTS * start..][..T::PARTS * height];
        let add = |out: &mut [f64], row: usize| (T::read(out, row) + turned[row]).write(out, row);
        match out.get_mut(..T::PARTS * LANES) {
            // A length that the compiler knows.
            Some(out) => (0..LANES).for_each(|row| add(out, row)),
            None => (0..height).for_each(|row| add(out, row)),
        }
    }
}

/// σ(I, K) += Σ_J H_αα(I, J) C(J, K) for N columns per step, from column `start` on, in whole steps; returns the first
/// column not done. `same` gives for each row the first element of J's row and the value.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
pub(super) fn alpha_rows<T: VectorNumber, const N: usize>(
    x: &[f64],
    same: &[&[(usize, T)]],
    start: usize,
    rows: &mut [&mut [f64]],
) -> usize {
    let width = rows[0].len() / T::PARTS;
    let mut at = start;
    while at + N <= width {
        for (same, row) in same.iter().zip(&mut *rows) {
            let mut sum = [T::default(); N];
            for (source, value) in *same {
                let from = &x[T::PARTS * (source + at)..][..T::PARTS * N];
                for (k, sum) in sum.iter_mut().enumerate() {
                    *sum += *value * T::read(from, k);
                }
            }
            let out = &mut row[T::PARTS * at..][..T::PARTS * N];
            for (k, sum) in sum.into_iter().enumerate() {
                (T::read(out, k) + sum).write(out, k);
            }
        }
        at += N;
    }
    at
}

/// x·y in a fixed order; of complex vectors its real part.
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
