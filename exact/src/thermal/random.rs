//! Random vectors of normally distributed numbers, whose directions are evenly distributed.
//!
//! Every number follows from the seed, the sector, the sample and its place alone, so that neither devices nor threads change it.

use rayon::prelude::*;
use std::f64::consts::TAU;

/// Numbers that a thread makes at a time; even.
const PART: usize = 1 << 14;

/// The seed of a sample of a sector: `sector` is its name.
pub(super) fn seed_of(seed: u64, sector: &str, sample: usize) -> u64 {
    // FNV-1a of the name.
    let named = sector
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    mixed(mixed(seed ^ named).wrapping_add(sample as u64))
}

/// `length` numbers of mean 0 and variance 1 (G. E. P. Box and M. E. Muller (1958)).
pub(super) fn normal(seed: u64, length: usize) -> Vec<f64> {
    let mut numbers = vec![0.0; length];
    numbers.par_chunks_mut(PART).enumerate().for_each(|(part, numbers)| {
        for (k, pair) in numbers.chunks_mut(2).enumerate() {
            let index = ((part * PART) / 2 + k) as u64;
            // In (0, 1], so that the logarithm is finite.
            let radius = (-2.0 * (1.0 - uniform(seed, 2 * index)).ln()).sqrt();
            let angle = TAU * uniform(seed, 2 * index + 1);
            pair.iter_mut().zip([angle.cos(), angle.sin()]).for_each(|(number, part)| *number = radius * part);
        }
    });
    numbers
}

/// In [0, 1).
fn uniform(seed: u64, index: u64) -> f64 {
    (mixed(seed.wrapping_add(index.wrapping_mul(0x9e37_79b9_7f4a_7c15))) >> 11) as f64 / (1u64 << 53) as f64
}

/// splitmix64 (G. L. Steele, D. Lea and C. H. Flood (2014)).
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_normal_distribution() {
        let numbers = normal(seed_of(7, "2Sz = 0", 3), 200_001);
        let mean = |power: i32| numbers.iter().map(|x| x.powi(power)).sum::<f64>() / numbers.len() as f64;
        for (power, wanted, error) in [(1, 0.0, 0.01), (2, 1.0, 0.015), (3, 0.0, 0.04), (4, 3.0, 0.1)] {
            assert!((mean(power) - wanted).abs() < error, "moment {power}: {}", mean(power));
        }
        let apart: f64 = numbers.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / numbers.len() as f64;
        assert!(apart.abs() < 0.01, "{apart}");
        assert_ne!(normal(seed_of(7, "2Sz = 0", 4), 8), numbers[..8]);
        assert_ne!(normal(seed_of(7, "2Sz = 2", 3), 8), numbers[..8]);
        assert_eq!(normal(seed_of(7, "2Sz = 0", 3), 8), numbers[..8]);
    }
}
