//! 9j symbols.
//!
//! ```text
//! {j1 j2 j3; j4 j5 j6; j7 j8 j9} = Σ_k (−1)^{2k} (2k+1) {j1 j4 j7; j8 j9 k} {j2 j5 j8; j4 k j6} {j3 j6 j9; k j1 j2}
//! ```
//! (Edmonds 1957, eq. 6.4.3). The triangle coefficients that contain k occur twice each, so every term is the same root
//! times a rational; the terms are brought to one denominator by their prime powers and summed in integers.

use super::six_j::{RacahSum, triads};
use super::{check_spins, delta_squared, sign, triangle};
use crate::error::LabelError;
use crate::exact::{PrimePowers, SignedRoot};
use num_bigint::BigInt;

/// The three 6j symbols of a term.
pub(super) fn factors([j1, j2, j3, j4, j5, j6, j7, j8, j9]: [i64; 9], k: i64) -> [[i64; 6]; 3] {
    [[j1, j4, j7, j8, j9, k], [j2, j5, j8, j4, k, j6], [j3, j6, j9, k, j1, j2]]
}

/// The values that 2k runs over, in steps of two.
pub(super) fn intermediate([j1, j2, _, j4, _, j6, _, j8, j9]: [i64; 9]) -> impl Iterator<Item = i64> {
    let first = (j1 - j9).abs().max((j4 - j8).abs()).max((j2 - j6).abs());
    (first..=(j1 + j9).min(j4 + j8).min(j2 + j6)).step_by(2)
}

/// Whether rows and columns are triangles.
pub(super) fn closes(j: [i64; 9]) -> bool {
    sides(j).iter().all(|[a, b, c]| triangle(*a, *b, *c))
}

fn sides(j: [i64; 9]) -> [[i64; 3]; 6] {
    let row = |r: usize| [j[3 * r], j[3 * r + 1], j[3 * r + 2]];
    let column = |c: usize| [j[c], j[c + 3], j[c + 6]];
    [row(0), row(1), row(2), column(0), column(1), column(2)]
}

/// The 9j symbol from doubled arguments, row by row; zero unless rows and columns are triangles.
///
/// # Errors
///
/// A negative angular momentum.
pub fn wigner_9j(two_j: [i64; 9]) -> Result<SignedRoot, LabelError> {
    check_spins(["j1", "j2", "j3", "j4", "j5", "j6", "j7", "j8", "j9"], two_j)?;
    if !closes(two_j) {
        return Ok(SignedRoot::zero());
    }
    let terms: Vec<(PrimePowers, BigInt)> = intermediate(two_j).map(|k| term(two_j, k)).collect();
    let rationals: Vec<PrimePowers> = terms.iter().map(|(rational, _)| rational.clone()).collect();
    let common = PrimePowers::greatest_common_divisor(&rationals);
    let mut sum = BigInt::default();
    for (mut rational, integer) in terms {
        let (multiple, _) = rational.power(&common, -1).fraction();
        sum += BigInt::from(multiple) * integer;
    }
    let mut radicand = PrimePowers::one();
    for side in sides(two_j) {
        delta_squared(&mut radicand, side, 1);
    }
    radicand.power(&common, 2);
    Ok(SignedRoot::new(&sum, &radicand))
}

/// A term without the six triangle coefficients that all terms share: a rational as prime powers, and an integer.
fn term(two_j: [i64; 9], k: i64) -> (PrimePowers, BigInt) {
    let mut rational = PrimePowers::one();
    let mut integer = BigInt::from(sign(k) * (k + 1));
    for six_j in factors(two_j, k) {
        let racah = RacahSum::new(six_j);
        racah.prefactor(&mut rational, 1);
        integer *= racah.exact();
    }
    let [first, second, _] = factors(two_j, k);
    // Each triad with k stands in two of the three symbols: Δ once from each.
    for triad in [triads(first)[1], triads(first)[2], triads(second)[1]] {
        delta_squared(&mut rational, triad, 1);
    }
    (rational, integer)
}
