//! Vᵀw of a few long vectors: one sweep over all of them and w (Nemes et al. 2014, Algorithm 4), beside cuBLAS `dgemv`.
//!
//! In: how many vectors, how long. Out: milliseconds of one such product on data that is in no cache: each run takes
//! other vectors of a pool several times the second-level cache. Both programs' sums are compared first. The bytes are
//! those of V and w, once.

use super::DmrgBenchError;
use super::belts::{BELT, Belts};
use crate::{median, seeded, vendor};
use eigenforge_runtime::{Device, Vector};
use std::fmt;

/// Bytes of the pool: six times the second-level cache of an H200.
const POOL: usize = 300 << 20;
/// Most sets of a pool; with vectors of 1e5 elements still twice that cache.
const MOST_SETS: usize = 64;

/// How many vectors, and how long.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Elements of a vector.
    pub length: usize,
    /// Vectors of V.
    pub width: usize,
}

impl Shape {
    /// Sets of width + 1 vectors in the pool.
    pub fn sets(self) -> usize {
        (POOL / (8 * self.length * (self.width + 1))).clamp(2, MOST_SETS)
    }

    /// Bytes that a product must read.
    fn bytes(self) -> f64 {
        8.0 * self.length as f64 * (self.width + 1) as f64
    }
}

/// What a product takes.
#[derive(Clone, Debug)]
pub struct Belt {
    shape: Shape,
    milliseconds: f64,
    /// cuBLAS's, where it is there.
    vendor: Option<f64>,
    sums: Vec<f64>,
}

impl Belt {
    /// Compares and times.
    ///
    /// # Errors
    /// A device that fails, sums that disagree.
    pub fn time(shape: Shape, device: &Device, ordinal: usize, repeats: usize) -> Result<Belt, DmrgBenchError> {
        let (sets, each) = (shape.sets(), shape.width + 1);
        let vector = |k: usize| device.upload(&seeded::vector(shape.length, k as u64));
        let pool = (0..sets * each).map(vector).collect::<Result<Vec<Vector<f64>>, _>>()?;
        let belts = Belts::new(device);
        let run = |set: usize| {
            let set: Vec<&Vector<f64>> = pool[set * each..][..each].iter().collect();
            // More vectors than a belt holds are several belts.
            set[..shape.width].chunks(BELT).try_for_each(|v| belts.queue(v, set[shape.width]))
        };
        let mut ours = Vec::with_capacity(shape.width);
        {
            let first: Vec<&Vector<f64>> = pool[..each].iter().collect();
            for v in first[..shape.width].chunks(BELT) {
                belts.queue(v, first[shape.width])?;
                ours.extend(belts.sums(v.len())?);
            }
        }
        let (done, _) = device.time(|| (0..sets).try_for_each(run))?;
        done?;
        let mut times = Vec::with_capacity(repeats);
        for _ in 0..repeats {
            let (done, milliseconds) = device.time(|| (0..sets).try_for_each(run))?;
            done?;
            times.push(milliseconds / sets as f64);
        }
        drop(pool);
        let vendor = if device.is_cuda() {
            let theirs = vendor::belt(shape, ordinal, repeats)?;
            agree(shape, &ours, &theirs.sums)?;
            Some(theirs.milliseconds)
        } else {
            None
        };
        Ok(Belt { shape, milliseconds: median(&times), vendor, sums: ours })
    }

    /// Median seconds of one product.
    pub fn seconds(&self) -> f64 {
        1e-3 * self.milliseconds
    }

    /// Those of cuBLAS, where it is there.
    pub fn vendor_seconds(&self) -> Option<f64> {
        self.vendor.map(|milliseconds| 1e-3 * milliseconds)
    }

    /// The products of the first vectors.
    pub fn sums(&self) -> &[f64] {
        &self.sums
    }
}

/// Sums of n products of numbers below 1, in two orders.
fn agree(shape: Shape, ours: &[f64], theirs: &[f64]) -> Result<(), DmrgBenchError> {
    let Shape { length, width } = shape;
    for (number, (&expected, &found)) in ours.iter().zip(theirs).enumerate() {
        let close = (expected - found).abs() <= 1e-13 * length as f64;
        if !close {
            return Err(DmrgBenchError::Disagree { width, length, number, found, expected });
        }
    }
    Ok(())
}

impl fmt::Display for Belt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let speed = |milliseconds: f64| 1e-9 * self.shape.bytes() / milliseconds;
        let Shape { length, width } = self.shape;
        write!(f, "| {width} | {length} | {:.4} | {:.2} |", self.milliseconds, speed(self.milliseconds))?;
        match self.vendor {
            Some(vendor) => write!(f, " {vendor:.4} | {:.2} | {:.2} x |", speed(vendor), vendor / self.milliseconds),
            None => write!(f, " - | - | - |"),
        }
    }
}
