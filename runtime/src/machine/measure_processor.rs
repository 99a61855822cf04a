//! The rates of a processor: a triad (McCalpin's STREAM) on one core and on all, and a product of matrices on one core.
//!
//! In: the number of cores. Out: a [`Processor`]. Each rate is the best of several.

use super::Processor;
use crate::device::Device;
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};
use rayon::prelude::*;
use std::time::Instant;

/// Most elements of each of the triad's three vectors: 768 MiB together, larger than nearly all caches; at most a quarter of the free
/// memory.
const LENGTH: usize = 1 << 25;
/// Elements of one task.
const CHUNK: usize = 1 << 16;
/// Rows and columns of the matrices.
const ROWS: usize = 384;
/// Repetitions of a triad and of a product; the quickest counts, because other programs may run and a core needs time to reach its
/// highest clock.
const TRIADS: usize = 8;
const PRODUCTS: usize = 100;

/// Measures the processor with this number of cores.
pub(super) fn measure(cores: usize) -> Processor {
    // One core first: when all cores are busy, they clock lower.
    let core_rate = product_rate();
    let room = usize::try_from(Device::cpu().memory().free / 4 / 24).unwrap_or(LENGTH);
    let length = LENGTH.min(room).max(CHUNK);
    let mut vectors = [0.0, 1.0, 2.0].map(|value| vec![value; length]);
    let bytes = 24.0 * length as f64;
    let core_memory_rate = bytes / best(TRIADS, || triad(&mut vectors));
    let all = bytes / best(TRIADS, || triad_by_all(&mut vectors));
    // All cores together are at least as quick as one.
    let memory_rate = all.max(core_memory_rate);
    Processor { cores, core_rate, core_memory_rate, memory_rate }
}

/// Seconds of the quickest run, without the first.
fn best(repeats: usize, mut run: impl FnMut()) -> f64 {
    run();
    let seconds = |_| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64()
    };
    (0..repeats).map(seconds).fold(f64::INFINITY, f64::min).max(1e-9)
}

/// a = b + s c.
fn add(a: &mut [f64], b: &[f64], c: &[f64]) {
    a.iter_mut().zip(b).zip(c).for_each(|((a, b), c)| *a = b + 3.0 * c);
}

fn triad([a, b, c]: &mut [Vec<f64>; 3]) {
    add(a, b, c);
    std::hint::black_box(a);
}

fn triad_by_all([a, b, c]: &mut [Vec<f64>; 3]) {
    let chunks = a.par_chunks_mut(CHUNK).zip(b.par_chunks(CHUNK)).zip(c.par_chunks(CHUNK));
    chunks.for_each(|((a, b), c)| add(a, b, c));
    std::hint::black_box(a);
}

/// Operations per second of one core.
fn product_rate() -> f64 {
    let element = |row: usize, column: usize| 1.0 / (1 + row + column) as f64;
    let (a, b) = (Mat::from_fn(ROWS, ROWS, element), Mat::from_fn(ROWS, ROWS, element));
    let mut c = Mat::<f64>::zeros(ROWS, ROWS);
    let seconds = best(PRODUCTS, || matmul(c.as_mut(), Accum::Replace, a.as_ref(), b.as_ref(), 1.0, Par::Seq));
    std::hint::black_box(&c);
    2.0 * (ROWS as f64).powi(3) / seconds
}
