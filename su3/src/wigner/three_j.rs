//! 3j symbols and Clebsch–Gordan coefficients.
//!
//! ```text
//! ⟨j1 m1 j2 m2|j3 m3⟩ = √( C(2j1, a) C(2j2, a) / [C(j1+j2+j3+1, a) C(2j1, j1−m1) C(2j2, j2−m2) C(2j3, j3−m3)] )
//!                       · Σ_z (−1)^z C(a, z) C(b, j1−m1−z) C(c, j2+m2−z),   a = j1+j2−j3, b = j1−j2+j3, c = −j1+j2+j3
//! ```
//! Racah's sum (A. R. Edmonds, Angular Momentum in Quantum Mechanics, 1957, eq. 3.6.11) written in binomials; Condon and
//! Shortley's phase.

use super::{binomial, check_spins, sign, triangle};
use crate::error::LabelError;
use crate::exact::{PrimePowers, SignedRoot};
use num_bigint::BigInt;
use num_traits::Zero;

/// ⟨j1 m1 j2 m2|j3 m3⟩ from doubled arguments; zero unless m1 + m2 = m3 and the triangle closes.
///
/// # Errors
///
/// Negative j, or a projection that its angular momentum does not have.
pub fn clebsch_gordan(two_j: [i64; 3], two_m: [i64; 3]) -> Result<SignedRoot, LabelError> {
    check_projections(two_j, two_m)?;
    let ([j1, j2, j3], [m1, m2, m3]) = (two_j, two_m);
    if m1 + m2 != m3 || !triangle(j1, j2, j3) {
        return Ok(SignedRoot::zero());
    }
    let [a, b, c] = [(j1 + j2 - j3) / 2, (j1 - j2 + j3) / 2, (j2 + j3 - j1) / 2];
    let (first, second) = ((j1 - m1) / 2, (j2 + m2) / 2);
    let mut sum = BigInt::zero();
    for z in 0.max(first - b).max(second - c)..=a.min(first).min(second) {
        sum += sign(z) * binomial(a, z) * binomial(b, first - z) * binomial(c, second - z);
    }
    let mut radicand = PrimePowers::one();
    for (n, k, exponent) in [
        (j1, a, 1),
        (j2, a, 1),
        ((j1 + j2 + j3) / 2 + 1, a, -1),
        (j1, first, -1),
        (j2, second, -1),
        (j3, (j3 - m3) / 2, -1),
    ] {
        radicand.factorial(n as u32, exponent).factorial(k as u32, -exponent).factorial((n - k) as u32, -exponent);
    }
    Ok(SignedRoot::new(&sum, &radicand))
}

/// The 3j symbol (j1 j2 j3; m1 m2 m3) = (−1)^{j1−j2−m3} ⟨j1 m1 j2 m2|j3 −m3⟩ / √(2j3+1), from doubled arguments.
///
/// ```
/// # fn main() -> Result<(), eigenforge_su3::LabelError> {
/// let symbol = eigenforge_su3::wigner_3j([2, 2, 4], [0, 0, 0])?; // (1 1 2; 0 0 0)
/// assert_eq!(symbol.to_string(), "√(2/15)");
/// # Ok(()) }
/// ```
///
/// # Errors
///
/// The errors of [`clebsch_gordan`].
pub fn wigner_3j(two_j: [i64; 3], two_m: [i64; 3]) -> Result<SignedRoot, LabelError> {
    let [j1, j2, j3] = two_j;
    let coefficient = clebsch_gordan(two_j, [two_m[0], two_m[1], -two_m[2]])?;
    let scaled = coefficient.over_root_of(j3 as u32 + 1);
    let phase = (j1 - j2 - two_m[2]) / 2;
    Ok(if sign(phase) < 0 { scaled.negated() } else { scaled })
}

fn check_projections(two_j: [i64; 3], two_m: [i64; 3]) -> Result<(), LabelError> {
    check_spins(["j1", "j2", "j3"], two_j)?;
    for ((name, two_j), two_m) in ["m1", "m2", "m3"].into_iter().zip(two_j).zip(two_m) {
        if two_m.abs() > two_j || (two_j + two_m) % 2 != 0 {
            return Err(LabelError::Projection { name, two_j, two_m });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Condon and Shortley (1935), table 3³: ½ × 1.
    #[test]
    fn the_table_of_condon_and_shortley() {
        let text = |j, m| clebsch_gordan(j, m).unwrap().to_string();
        assert_eq!(text([2, 1, 3], [2, 1, 3]), "1");
        assert_eq!(text([2, 1, 3], [0, 1, 1]), "√(2/3)");
        assert_eq!(text([2, 1, 1], [0, 1, 1]), "-√(1/3)");
        assert_eq!(text([2, 1, 1], [2, -1, 1]), "√(2/3)");
        assert_eq!(text([2, 2, 0], [2, -2, 0]), "√(1/3)");
    }

    #[test]
    fn wrong_labels_are_errors_and_open_triangles_are_zero() {
        assert!(matches!(wigner_3j([2, 2, -2], [0, 0, 0]), Err(LabelError::NegativeSpin { name: "j3", found: -2 })));
        assert!(matches!(wigner_3j([2, 2, 2], [1, -1, 0]), Err(LabelError::Projection { name: "m1", .. })));
        assert!(matches!(wigner_3j([2, 2, 2], [0, 4, -4]), Err(LabelError::Projection { name: "m2", .. })));
        assert_eq!(wigner_3j([2, 2, 6], [0, 0, 0]).unwrap(), SignedRoot::zero());
        assert_eq!(wigner_3j([2, 2, 2], [0, 0, 0]).unwrap(), SignedRoot::zero());
    }
}
