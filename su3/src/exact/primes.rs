//! Products and quotients of factorials, as exponents of primes.
//!
//! In: factorials with integer exponents. Out: the exact rational ∏ p^e. The exponent of p in n! is ⌊n/p⌋ + ⌊n/p²⌋ + …
//! (Legendre). Multiplying is adding exponents and nothing is ever divided: the method of Johansson and Forssén, SIAM J.
//! Sci. Comput. 38 (2016) A376.

use num_bigint::BigUint;
use num_traits::One;

/// ∏ p^e over the primes p; exponents may be negative.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PrimePowers {
    /// (prime, exponent), primes ascending, without gaps.
    powers: Vec<(u32, i32)>,
}

impl PrimePowers {
    /// One.
    pub(crate) fn one() -> PrimePowers {
        PrimePowers::default()
    }

    /// Multiplies by (n!)^exponent.
    pub(crate) fn factorial(&mut self, n: u32, exponent: i32) -> &mut PrimePowers {
        self.extend_to(n);
        for (prime, power) in &mut self.powers {
            let mut rest = n / *prime;
            while rest > 0 {
                *power += exponent * rest as i32;
                rest /= *prime;
            }
        }
        self
    }

    /// Multiplies by n^exponent, n ≥ 1.
    #[cfg(test)]
    pub(crate) fn number(&mut self, n: u32, exponent: i32) -> &mut PrimePowers {
        self.factorial(n, exponent).factorial(n - 1, -exponent)
    }

    /// Multiplies by other^exponent.
    pub(crate) fn power(&mut self, other: &PrimePowers, exponent: i32) -> &mut PrimePowers {
        if let Some((last, _)) = other.powers.last() {
            self.extend_to(*last);
        }
        for ((_, power), (_, factor)) in self.powers.iter_mut().zip(&other.powers) {
            *power += exponent * factor;
        }
        self
    }

    /// The largest number that divides all of them with an integer quotient: the least exponent of each prime.
    pub(crate) fn greatest_common_divisor(all: &[PrimePowers]) -> PrimePowers {
        let longest = all.iter().map(|one| one.powers.len()).max().unwrap_or(0);
        let primes = all.iter().find(|one| one.powers.len() == longest).map_or(&[][..], |one| &one.powers);
        let least = |index: usize| all.iter().map(|one| one.powers.get(index).map_or(0, |p| p.1)).min().unwrap_or(0);
        PrimePowers { powers: primes.iter().enumerate().map(|(index, (prime, _))| (*prime, least(index))).collect() }
    }

    /// Numerator and denominator, without a common factor.
    pub(crate) fn fraction(&self) -> (BigUint, BigUint) {
        let product = |sign: i32| {
            let factors = self.powers.iter().filter(|(_, power)| power * sign > 0);
            factors.fold(BigUint::one(), |all, (prime, power)| all * BigUint::from(*prime).pow(power.unsigned_abs()))
        };
        (product(1), product(-1))
    }

    /// Adds the primes up to n, with exponent 0.
    fn extend_to(&mut self, n: u32) {
        let mut next = self.powers.last().map_or(2, |(prime, _)| prime + 1);
        while next <= n {
            let is_prime =
                self.powers.iter().map(|(p, _)| *p).take_while(|p| p * p <= next).all(|p| !next.is_multiple_of(p));
            if is_prime {
                self.powers.push((next, 0));
            }
            next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factorials_and_their_quotients() {
        let mut ten = PrimePowers::one();
        ten.factorial(10, 1);
        assert_eq!(ten.fraction(), (3_628_800u32.into(), 1u32.into()));
        ten.factorial(12, -1).number(6, 2);
        assert_eq!(ten.fraction(), (3u32.into(), 11u32.into())); // 36 / (11 · 12)
        let mut half = PrimePowers::one();
        half.number(2, -1);
        let common = PrimePowers::greatest_common_divisor(&[ten.clone(), half.clone()]);
        let quotient = |one: &PrimePowers| one.clone().power(&common, -1).fraction();
        assert_eq!(quotient(&ten), (6u32.into(), 1u32.into())); // both in units of 1/22
        assert_eq!(quotient(&half), (11u32.into(), 1u32.into()));
    }
}
