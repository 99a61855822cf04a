//! Wigner's 3j, 6j and 9j symbols of SU(2) and Clebsch–Gordan coefficients, exactly.
//!
//! Arguments are doubled angular momenta, 2j. A symbol is ±√(n/d); [`SignedRoot`] holds n and d, and its f64 is the nearest
//! one. Symbols whose triangles do not close are exactly zero; labels that name no state are errors. The sums are over
//! integers only, the prefactors are prime powers: Johansson and Forssén, SIAM J. Sci. Comput. 38 (2016) A376.

mod fast;
mod nine_j;
mod six_j;
mod three_j;

pub use fast::Symbols;
pub use nine_j::wigner_9j;
pub use six_j::wigner_6j;
pub use three_j::{clebsch_gordan, wigner_3j};

use crate::error::LabelError;
use crate::exact::PrimePowers;
use num_bigint::BigInt;
use num_traits::{One, Zero};

/// Twice the largest angular momentum served; the time of a sum grows with its third power.
const LARGEST: i64 = 20_000;

/// Refuses what is no doubled angular momentum.
fn check_spins<const N: usize>(names: [&'static str; N], two_j: [i64; N]) -> Result<(), LabelError> {
    for (name, found) in names.into_iter().zip(two_j) {
        if found < 0 {
            return Err(LabelError::NegativeSpin { name, found });
        }
        if found > LARGEST {
            return Err(LabelError::LargeSpin { name, found, limit: LARGEST });
        }
    }
    Ok(())
}

/// Whether three doubled angular momenta couple.
pub(crate) fn triangle(a: i64, b: i64, c: i64) -> bool {
    (a + b + c) % 2 == 0 && (a - b).abs() <= c && c <= a + b
}

/// Multiplies by Δ²(abc)^exponent, Δ² = (a+b−c)! (a−b+c)! (−a+b+c)! / (a+b+c+1)!; doubled arguments that form a triangle.
fn delta_squared(powers: &mut PrimePowers, [a, b, c]: [i64; 3], exponent: i32) {
    let half = |sum: i64| (sum / 2) as u32;
    powers
        .factorial(half(a + b - c), exponent)
        .factorial(half(a - b + c), exponent)
        .factorial(half(b + c - a), exponent)
        .factorial(half(a + b + c) + 1, -exponent);
}

/// C(n, k), zero outside 0 ≤ k ≤ n.
fn binomial(n: i64, k: i64) -> BigInt {
    if k < 0 || k > n {
        return BigInt::zero();
    }
    (1..=k.min(n - k)).fold(BigInt::one(), |c, step| c * (n - step + 1) / step)
}

/// −1 to the power of an integer.
pub(crate) fn sign(power: i64) -> i64 {
    if power.rem_euclid(2) == 0 { 1 } else { -1 }
}
