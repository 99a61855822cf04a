//! 6j symbols.
//!
//! ```text
//! {j1 j2 j3; j4 j5 j6} = Δ(123) Δ(156) Δ(426) Δ(453) (α1+1)! / [(β1−α2)! (β2−α3)! (β3−α4)!]
//!                        · Σ_t (−1)^t C(t+1, t−α1) C(β1−α2, t−α2) C(β2−α3, t−α3) C(β3−α4, t−α4)
//! α = j1+j2+j3, j1+j5+j6, j4+j2+j6, j4+j5+j3;   β = j1+j2+j4+j5, j2+j3+j5+j6, j3+j1+j6+j4
//! ```
//! Racah's formula (Edmonds 1957, eq. 6.3.7) with the seven factorials of a term gathered into binomials.

use super::{binomial, check_spins, delta_squared, sign, triangle};
use crate::error::LabelError;
use crate::exact::{PrimePowers, SignedRoot};
use num_bigint::BigInt;
use num_traits::Zero;

/// The limits of Racah's sum and the orders of its binomials.
pub(super) struct RacahSum {
    pub alpha: [i64; 4],
    /// β1−α2, β2−α3, β3−α4.
    pub spans: [i64; 3],
    pub first: i64,
    pub last: i64,
}

impl RacahSum {
    /// Of doubled arguments whose four triangles close.
    pub(super) fn new([a, b, c, d, e, f]: [i64; 6]) -> RacahSum {
        let alpha = [a + b + c, a + e + f, d + b + f, d + e + c].map(|sum| sum / 2);
        let beta = [a + b + d + e, b + c + e + f, c + a + f + d].map(|sum| sum / 2);
        let [a1, a2, a3, a4] = alpha;
        let [b1, b2, b3] = beta;
        let spans = [b1 - a2, b2 - a3, b3 - a4];
        RacahSum { alpha, spans, first: a1.max(a2).max(a3).max(a4), last: b1.min(b2).min(b3) }
    }

    /// The sum over integers.
    pub(super) fn exact(&self) -> BigInt {
        let mut sum = BigInt::zero();
        for t in self.first..=self.last {
            let inner = (0..3).map(|i| binomial(self.spans[i], t - self.alpha[i + 1]));
            sum += inner.fold(sign(t) * binomial(t + 1, t - self.alpha[0]), |product, factor| product * factor);
        }
        sum
    }

    /// The factorials in front, to a power.
    pub(super) fn prefactor(&self, powers: &mut PrimePowers, exponent: i32) {
        powers.factorial(self.alpha[0] as u32 + 1, exponent);
        for span in self.spans {
            powers.factorial(span as u32, -exponent);
        }
    }
}

/// The four triads of a 6j symbol.
pub(super) fn triads([a, b, c, d, e, f]: [i64; 6]) -> [[i64; 3]; 4] {
    [[a, b, c], [a, e, f], [d, b, f], [d, e, c]]
}

/// The 6j symbol {j1 j2 j3; j4 j5 j6} from doubled arguments; zero unless all four triangles close.
///
/// # Errors
///
/// A negative angular momentum.
pub fn wigner_6j(two_j: [i64; 6]) -> Result<SignedRoot, LabelError> {
    check_spins(["j1", "j2", "j3", "j4", "j5", "j6"], two_j)?;
    if !triads(two_j).iter().all(|[a, b, c]| triangle(*a, *b, *c)) {
        return Ok(SignedRoot::zero());
    }
    let racah = RacahSum::new(two_j);
    let mut radicand = PrimePowers::one();
    for triad in triads(two_j) {
        delta_squared(&mut radicand, triad, 1);
    }
    racah.prefactor(&mut radicand, 2);
    Ok(SignedRoot::new(&racah.exact(), &radicand))
}
