//! `eigenforge bench`: our numbers beside the memory's speed and the vendor's libraries, in the same run.
//!
//! In: a case, a device. Out: a table or JSON with milliseconds, ratios and multiples of the memory floor, and
//! numbers by which results are compared (x·x, x·Hx, z·Hx, ‖Hx‖ of seeded vectors).

pub mod case;
pub mod certification;
pub mod ci;
pub mod ci_direct;
pub mod devices;
mod dice;
pub mod dmrg;
mod error;
pub mod hubbard;
pub mod kronecker;
pub mod levels;
pub mod numbers;
pub mod paper;
pub mod peers;
mod pencil;
pub mod report;
pub mod results;
pub mod resume;
pub mod sizes;
pub mod spins;
pub mod su3;
pub mod symmetries;
pub mod synthetic;
pub mod vendor;

use eigenforge_runtime::{seeded, timing::median};
use serde::{Deserialize, Serialize};

/// Four numbers of y = H x by which two programs' multiplies are compared, x and z the seeded vectors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// x·x.
    pub x_x: f64,
    /// x·Hx.
    pub x_hx: f64,
    /// z·Hx.
    pub z_hx: f64,
    /// ‖Hx‖.
    pub hx_norm: f64,
}

impl Fingerprint {
    /// The fingerprint of x and y = H x, with z the seeded vector [`seeded::SEED_Z`].
    pub fn new(x: &[f64], y: &[f64]) -> Fingerprint {
        // chunks of fixed length, added in order: the same bits on any number of cores
        const CHUNK: usize = 1 << 16;
        let sum = |term: &(dyn Fn(usize) -> f64 + Sync)| -> f64 {
            use rayon::prelude::*;
            let chunk = |start: usize| (start..(start + CHUNK).min(x.len())).map(term).sum::<f64>();
            let sums: Vec<f64> = (0..x.len().div_ceil(CHUNK)).into_par_iter().map(|k| chunk(k * CHUNK)).collect();
            sums.iter().sum()
        };
        Fingerprint {
            x_x: sum(&|i| x[i] * x[i]),
            x_hx: sum(&|i| x[i] * y[i]),
            z_hx: sum(&|i| seeded::element(seeded::SEED_Z, i as u64) * y[i]),
            hx_norm: sum(&|i| y[i] * y[i]).sqrt(),
        }
    }

    /// Largest difference of the two, relative to ‖x‖ ‖Hx‖.
    pub fn difference(&self, other: &Fingerprint) -> f64 {
        let scale = self.x_x.sqrt() * self.hx_norm;
        if scale == 0.0 {
            return (self.hx_norm - other.hx_norm).abs().max((self.x_x - other.x_x).abs());
        }
        let pairs = [(self.x_hx, other.x_hx), (self.z_hx, other.z_hx)];
        let products = pairs.iter().map(|(a, b)| (a - b).abs() / scale);
        let norms = [(self.hx_norm - other.hx_norm).abs() / self.hx_norm, (self.x_x - other.x_x).abs() / self.x_x];
        // not f64::max, which would drop a NaN
        products.chain(norms).fold(0.0, |worst, d| if d > worst || d.is_nan() { d } else { worst })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wrong element or a NaN anywhere in the result shows.
    #[test]
    fn the_fingerprint_sees_one_wrong_element() {
        let x = seeded::vector(100_000, seeded::SEED_X);
        let y = seeded::vector(100_000, 7);
        let right = Fingerprint::new(&x, &y);
        assert_eq!(right.difference(&Fingerprint::new(&x, &y)), 0.0);
        for wrong in [1e-3, f64::NAN] {
            let mut changed = y.clone();
            changed[70_001] += wrong;
            let difference = right.difference(&Fingerprint::new(&x, &changed));
            assert!(difference > 1e-12 || difference.is_nan(), "{difference}");
        }
    }
}
