//! Operations on a few long vectors at once, as in Davidson's method: s = Vᵀ x, y += V s, on all cores.
//!
//! Vectors are cut into chunks that stay in the first-level cache while all columns pass over them, so that V, x and y
//! are each read from memory once. Partial sums are added in chunk order, so the number of threads changes no bit. The
//! paper has a dedicated kernel for Vᵀ x (Nemes et al. 2014, Algorithm 4).

use multiversion::multiversion;
use rayon::prelude::*;

/// Elements per chunk: 16 KiB.
const CHUNK: usize = 2048;
/// Shorter vectors are not worth waking other threads for.
const PARALLEL: usize = 16 * CHUNK;
/// Independent partial sums, so that additions do not wait for each other.
const LANES: usize = 32;

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
fn dot_chunk(x: &[f64], y: &[f64]) -> f64 {
    let mut sums = [0.0f64; LANES];
    let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    for (a, b) in x.iter().zip(y) {
        for k in 0..LANES {
            sums[k] += a[k] * b[k];
        }
    }
    sums.iter().sum::<f64>() + x_rest.iter().zip(y_rest).map(|(a, b)| a * b).sum::<f64>()
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
fn add_chunk(y: &mut [f64], factor: f64, x: &[f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += factor * x);
}

/// x · y.
pub(crate) fn dot(x: &[f64], y: &[f64]) -> f64 {
    let pairs = || x.chunks(CHUNK).zip(y.chunks(CHUNK));
    if x.len() < PARALLEL || rayon::current_num_threads() == 1 {
        return pairs().map(|(x, y)| dot_chunk(x, y)).fold(0.0, |sum, part| sum + part);
    }
    let parts: Vec<f64> = x.par_chunks(CHUNK).zip(y.par_chunks(CHUNK)).map(|(x, y)| dot_chunk(x, y)).collect();
    parts.iter().fold(0.0, |sum, part| sum + part)
}

/// Vᵀ x for the columns of V.
pub(crate) fn project(columns: &[Vec<f64>], x: &[f64]) -> Vec<f64> {
    let chunk = |(index, x): (usize, &[f64])| -> Vec<f64> {
        columns.iter().map(|column| dot_chunk(&column[index * CHUNK..][..x.len()], x)).collect()
    };
    let add = |mut sums: Vec<f64>, parts: Vec<f64>| {
        sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
        sums
    };
    let nothing = vec![0.0; columns.len()];
    if x.len() < PARALLEL || rayon::current_num_threads() == 1 {
        return x.chunks(CHUNK).enumerate().map(chunk).fold(nothing, add);
    }
    let parts: Vec<Vec<f64>> = x.par_chunks(CHUNK).enumerate().map(chunk).collect();
    parts.into_iter().fold(nothing, add)
}

/// y += V s for the columns of V.
pub(crate) fn add_columns(y: &mut [f64], columns: &[Vec<f64>], s: &[f64]) {
    let chunk = |(index, y): (usize, &mut [f64])| {
        for (column, factor) in columns.iter().zip(s) {
            add_chunk(y, *factor, &column[index * CHUNK..][..y.len()]);
        }
    };
    if y.len() < PARALLEL || rayon::current_num_threads() == 1 {
        y.chunks_mut(CHUNK).enumerate().for_each(chunk);
    } else {
        y.par_chunks_mut(CHUNK).enumerate().for_each(chunk);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeded::vector;

    #[test]
    fn sums_and_combinations_are_those_of_plain_loops_at_every_length() {
        for n in [1, 31, 2048, 2049, PARALLEL - 1, PARALLEL + 1000] {
            let columns: Vec<Vec<f64>> = (0..3).map(|k| vector(n, 10 + k)).collect();
            let x = vector(n, 20);
            let plain = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let s = project(&columns, &x);
            for (column, found) in columns.iter().zip(&s) {
                assert!((found - plain(column, &x)).abs() < 1e-11, "n = {n}");
                assert_eq!(*found, dot(column, &x), "n = {n}: one order of additions");
            }
            let mut y = x.clone();
            add_columns(&mut y, &columns, &s);
            for (i, y) in y.iter().enumerate() {
                let expected = x[i] + (0..3).map(|k| s[k] * columns[k][i]).sum::<f64>();
                assert!((y - expected).abs() < 1e-11 * (1.0 + expected.abs()), "n = {n}, element {i}");
            }
        }
    }

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        let n = PARALLEL + 777;
        let (columns, x) = (vec![vector(n, 1), vector(n, 2)], vector(n, 3));
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut y = x.clone();
                add_columns(&mut y, &columns, &[0.3, -0.7]);
                (project(&columns, &x), dot(&x, &columns[0]), y)
            })
        };
        assert_eq!(with(1), with(3));
    }
}
