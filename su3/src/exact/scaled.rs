//! Floats with 53 bits and an exponent of 64 bits, and binomials in them.
//!
//! Prefactors of overlaps are products of binomials that leave the range of f64 for large irreps although their product
//! does not. In: correctly rounded factors. Out: products and roots, each rounded once.

use num_bigint::{BigInt, BigUint};
use num_traits::{One, ToPrimitive};

/// mantissa · 2^exponent with 1 ≤ |mantissa| < 2, or zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scaled {
    mantissa: f64,
    exponent: i64,
}

impl Scaled {
    /// Of a finite f64 that is not subnormal.
    pub(crate) fn new(value: f64) -> Scaled {
        if value == 0.0 {
            return Scaled { mantissa: 0.0, exponent: 0 };
        }
        let bits = value.to_bits();
        let exponent = ((bits >> 52) & 0x7ff) as i64 - 1023;
        Scaled { mantissa: f64::from_bits(bits & !(0x7ff << 52) | (1023 << 52)), exponent }
    }

    /// Of an integer of any size; bits below the 64 first become one sticky bit, so it is rounded once.
    pub(crate) fn integer(value: &BigInt) -> Scaled {
        let magnitude = value.magnitude();
        let drop = magnitude.bits().saturating_sub(64);
        let head = magnitude >> drop;
        let sticky = (&head << drop) != *magnitude;
        let head = head.to_u64().unwrap_or(u64::MAX) | u64::from(sticky);
        let sign = if value.sign() == num_bigint::Sign::Minus { -1.0 } else { 1.0 };
        Scaled::new(sign * head as f64).times_two_to(drop as i64)
    }

    /// self · other.
    pub(crate) fn times(self, other: Scaled) -> Scaled {
        Scaled::new(self.mantissa * other.mantissa).times_two_to(self.exponent + other.exponent)
    }

    /// self / other, other ≠ 0.
    pub(crate) fn quotient(self, other: Scaled) -> Scaled {
        Scaled::new(self.mantissa / other.mantissa).times_two_to(self.exponent - other.exponent)
    }

    /// self · 2^power.
    pub(crate) fn times_two_to(mut self, power: i64) -> Scaled {
        if self.mantissa != 0.0 {
            self.exponent += power;
        }
        self
    }

    /// self + other.
    pub(crate) fn plus(self, other: Scaled) -> Scaled {
        let (large, small) =
            if self.exponent_or_least() >= other.exponent_or_least() { (self, other) } else { (other, self) };
        let gap = large.exponent.saturating_sub(small.exponent);
        if small.mantissa == 0.0 || gap > 1000 {
            return large;
        }
        Scaled::new(large.mantissa + small.mantissa * 2f64.powi(-(gap as i32))).times_two_to(large.exponent)
    }

    /// |self|.
    pub(crate) fn absolute(self) -> Scaled {
        Scaled { mantissa: self.mantissa.abs(), ..self }
    }

    /// Whether |self| > |other|.
    pub(crate) fn exceeds(self, other: Scaled) -> bool {
        let key = |x: Scaled| (x.exponent_or_least(), x.mantissa.abs());
        key(self) > key(other)
    }

    /// ⌊log2 |self|⌋, and a very small number for zero.
    pub(crate) fn exponent_or_least(self) -> i64 {
        if self.mantissa == 0.0 { i64::MIN } else { self.exponent }
    }

    /// √self, self ≥ 0.
    pub(crate) fn root(self) -> Scaled {
        let odd = self.exponent.rem_euclid(2);
        let mantissa = if odd == 1 { 2.0 * self.mantissa } else { self.mantissa };
        Scaled::new(mantissa.sqrt()).times_two_to((self.exponent - odd) / 2)
    }

    /// As f64; out of range it becomes zero or infinite.
    pub(crate) fn to_f64(self) -> f64 {
        let exponent = self.exponent.clamp(-2200, 2200) as i32;
        self.mantissa * 2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2)
    }
}

/// C(n, k) for n up to a limit, each the nearest [`Scaled`].
#[derive(Debug)]
pub(crate) struct Binomials {
    rows: Vec<Vec<Scaled>>,
}

impl Binomials {
    /// Rows 0..=limit of Pascal's triangle, summed in integers.
    pub(crate) fn up_to(limit: usize) -> Binomials {
        let mut row = vec![BigUint::one()];
        let mut rows = Vec::with_capacity(limit + 1);
        for n in 0..=limit {
            rows.push(row.iter().map(|c| Scaled::integer(&BigInt::from(c.clone()))).collect());
            let inner = (1..=n).map(|k| &row[k - 1] + &row[k]);
            row = std::iter::once(BigUint::one()).chain(inner).chain([BigUint::one()]).collect();
        }
        Binomials { rows }
    }

    /// C(n, k), 0 ≤ k ≤ n.
    pub(crate) fn get(&self, n: i64, k: i64) -> Scaled {
        self.rows[n as usize][k as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_agrees_with_f64_and_goes_beyond_it() {
        for (a, b) in [(3.75, -1e10), (-0.1, 7e-300), (1e200, 3.0)] {
            assert_eq!(Scaled::new(a).times(Scaled::new(b)).to_f64(), a * b);
            assert_eq!(Scaled::new(a).quotient(Scaled::new(b)).to_f64(), a / b);
        }
        let huge = Scaled::new(1e200).times(Scaled::new(1e200));
        assert_eq!(huge.root().to_f64(), 1e200);
        assert_eq!(Scaled::new(0.0).times(huge).to_f64(), 0.0);
    }

    #[test]
    fn integers_are_rounded_once() {
        for value in [1i64, -3, (1 << 53) + 1, i64::MAX, -(1 << 62) - 513] {
            assert_eq!(Scaled::integer(&BigInt::from(value)).to_f64(), value as f64, "{value}");
        }
        // 2^80 + 2^27 is halfway between two doubles; the bit below it decides.
        let halfway: BigInt = (BigInt::one() << 80) + (BigInt::one() << 27);
        assert_eq!(Scaled::integer(&halfway).to_f64(), 2f64.powi(80));
        assert_eq!(Scaled::integer(&(halfway + 1)).to_f64(), 2f64.powi(80) + 2f64.powi(28));
    }

    #[test]
    fn pascals_triangle() {
        let table = Binomials::up_to(1100);
        assert_eq!(table.get(10, 3).to_f64(), 120.0);
        let sum = (0..=50).map(|k| table.get(50, k).to_f64()).sum::<f64>();
        assert_eq!(sum, 2f64.powi(50));
        // C(1100, 550) ≈ 2^1100 / √(550 π), beyond f64 but for its root
        let root = table.get(1100, 550).root().to_f64();
        let stirling = 2f64.powi(550) / (550.0 * std::f64::consts::PI).powf(0.25);
        assert!((root / stirling - 1.0).abs() < 2e-4);
    }
}
