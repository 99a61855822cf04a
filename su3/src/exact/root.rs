//! Exact numbers of the form ±√(n/d), the values of all Wigner symbols of SU(2).
//!
//! In: an integer sum and a radicand as prime powers. Out: sign, the square as a reduced fraction, and the nearest f64.

use super::primes::PrimePowers;
use num_bigint::{BigInt, BigUint, Sign};
use num_integer::Integer;
use num_traits::{One, ToPrimitive, Zero};
use std::fmt;

/// sign · √(numerator / denominator), reduced; zero is 0 · √(0/1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedRoot {
    sign: i8,
    numerator: BigUint,
    denominator: BigUint,
}

impl SignedRoot {
    /// Exactly zero.
    pub fn zero() -> SignedRoot {
        SignedRoot { sign: 0, numerator: BigUint::zero(), denominator: BigUint::one() }
    }

    /// sum · √radicand.
    pub(crate) fn new(sum: &BigInt, radicand: &PrimePowers) -> SignedRoot {
        let sign = match sum.sign() {
            Sign::Minus => -1,
            Sign::NoSign => return SignedRoot::zero(),
            Sign::Plus => 1,
        };
        let (numerator, denominator) = radicand.fraction();
        let numerator = numerator * sum.magnitude() * sum.magnitude();
        let common = numerator.gcd(&denominator);
        SignedRoot { sign, numerator: numerator / &common, denominator: denominator / common }
    }

    /// −1, 0 or 1.
    pub fn sign(&self) -> i8 {
        self.sign
    }

    /// The square: numerator and denominator without a common factor.
    pub fn square(&self) -> (&BigUint, &BigUint) {
        (&self.numerator, &self.denominator)
    }

    /// The same with the other sign.
    pub fn negated(mut self) -> SignedRoot {
        self.sign = -self.sign;
        self
    }

    /// Divided by √number, number ≥ 1.
    pub(crate) fn over_root_of(mut self, number: u32) -> SignedRoot {
        let denominator = self.denominator * number;
        let common = self.numerator.gcd(&denominator);
        self.numerator /= &common;
        self.denominator = denominator / common;
        if self.sign == 0 { SignedRoot::zero() } else { self }
    }

    /// The nearest f64: an integer root of at least 64 bits with a sticky last bit, rounded once.
    pub fn to_f64(&self) -> f64 {
        if self.sign == 0 {
            return 0.0;
        }
        // root = ⌊√(n 4^shift / d)⌋ has 64 bits: 2^63 ≤ root < 2^64 needs a radicand of 127 or 128 bits.
        let bits = self.numerator.bits() as i64 - self.denominator.bits() as i64;
        let mut shift = (128 - bits).div_euclid(2);
        let (root, exact) = loop {
            let (above, below) = (shift.max(0) as u64 * 2, shift.min(0).unsigned_abs() * 2);
            let (radicand, rest) = (&self.numerator << above).div_rem(&(&self.denominator << below));
            let root = radicand.sqrt();
            if root.bits() > 64 {
                shift -= 1;
                continue;
            }
            let exact = rest.is_zero() && &root * &root == radicand;
            break (root.to_u64().unwrap_or(u64::MAX), exact);
        };
        let rounded = (root | u64::from(!exact)) as f64;
        f64::from(self.sign) * scale(rounded, -shift)
    }
}

/// x · 2^exponent, in two steps so that no intermediate power is out of range.
fn scale(x: f64, exponent: i64) -> f64 {
    let half = exponent.clamp(-2000, 2000) as i32 / 2;
    x * 2f64.powi(half) * 2f64.powi(exponent.clamp(-2000, 2000) as i32 - half)
}

impl fmt::Display for SignedRoot {
    /// `-√(13/41580)`; a perfect square without the root, `1/560`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.sign == 0 {
            return f.write_str("0");
        }
        let sign = if self.sign < 0 { "-" } else { "" };
        let (n, d) = (self.numerator.sqrt(), self.denominator.sqrt());
        if &n * &n == self.numerator && &d * &d == self.denominator {
            return if d.is_one() { write!(f, "{sign}{n}") } else { write!(f, "{sign}{n}/{d}") };
        }
        if self.denominator.is_one() {
            return write!(f, "{sign}√{}", self.numerator);
        }
        write!(f, "{sign}√({}/{})", self.numerator, self.denominator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(sum: i64, numbers: &[(u32, i32)]) -> SignedRoot {
        let mut radicand = PrimePowers::one();
        for (n, exponent) in numbers {
            radicand.number(*n, *exponent);
        }
        SignedRoot::new(&BigInt::from(sum), &radicand)
    }

    #[test]
    fn the_nearest_double_of_a_root() {
        for (n, d) in [(2u32, 1u32), (1, 3), (13, 41_580), (999_983, 7), (1, 999_983)] {
            let value = root(-1, &[(n, 1), (d, -1)]).to_f64();
            // The square of the nearest double is within one rounding of n/d.
            let error = (value * value / (f64::from(n) / f64::from(d)) - 1.0).abs();
            assert!(error <= 4.5e-16 && value < 0.0, "{n}/{d}: {error:e}");
        }
        assert_eq!(root(3, &[(4, -1)]).to_f64(), 1.5);
        assert_eq!(root(1, &[(2, -600)]).to_f64(), 2f64.powi(-300));
        assert_eq!(root(1, &[(2, 2000)]).to_f64(), 2f64.powi(1000));
        assert_eq!(SignedRoot::zero().to_f64(), 0.0);
    }

    #[test]
    fn texts() {
        let texts = [(root(-1, &[(13, 1), (41_580, -1)])), root(1, &[(4, -1)]), root(0, &[]), root(1, &[(3, 1)])]
            .map(|root| root.to_string());
        assert_eq!(texts, ["-√(13/41580)", "1/2", "0", "√3"]);
    }
}
