//! Reproducible test vectors: x_i from a hash of (seed, i), uniform in [-1, 1).
//!
//! In: a length and a seed. Out: x_i = splitmix64(seed + (i + 1) γ) with γ = 0x9E3779B97F4A7C15, its upper 53 bits as a
//! number in [-1, 1) (Steele, Lea, Flood 2014). `benches/cpu_peers.py` generates the same numbers.

use rayon::prelude::*;

/// Seed of the vector that is multiplied.
pub const SEED_X: u64 = 1;
/// Seed of the vector that the product is multiplied with for checking.
pub const SEED_Z: u64 = 2;

/// Element `i` of the vector with this seed.
#[inline]
pub fn element(seed: u64, i: u64) -> f64 {
    let mut z = seed.wrapping_add((i.wrapping_add(1)).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^= z >> 31;
    (z >> 11) as f64 * 2f64.powi(-52) - 1.0
}

/// The first `length` elements.
pub fn vector(length: usize, seed: u64) -> Vec<f64> {
    (0..length as u64).into_par_iter().map(|i| element(seed, i)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first output of splitmix64 seeded with 0 is 0xE220A8397B1DCDAF (the reference implementation's).
    #[test]
    fn it_is_splitmix64() {
        let expected = (0xE220_A839_7B1D_CDAFu64 >> 11) as f64 / 2f64.powi(52) - 1.0;
        assert_eq!(element(0, 0), expected);
    }

    #[test]
    fn it_fills_the_interval() {
        let x = vector(100_000, SEED_X);
        let (mean, square) = (x.iter().sum::<f64>() / 1e5, x.iter().map(|x| x * x).sum::<f64>() / 1e5);
        assert!(mean.abs() < 0.01 && (square - 1.0 / 3.0).abs() < 0.01, "mean {mean}, mean square {square}");
        assert!(x.iter().all(|x| (-1.0..1.0).contains(x)));
    }
}
