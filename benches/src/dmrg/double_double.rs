//! Numbers of twice the digits of a double: x = high + low with |low| ≤ ulp(high) / 2.
//!
//! In: doubles. Out: sums, products, quotients and roots good to some 1e-31 (Dekker, Numer. Math. 18, 224 (1971); Knuth, TAOCP 2, 4.2.2).
//! With them a matrix whose elements differ by twenty orders has levels that are right to the smallest.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// An unevaluated sum of two doubles.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct DoubleDouble {
    /// The nearest double.
    pub high: f64,
    /// The rest.
    pub low: f64,
}

/// a + b, exactly.
fn two_sum(a: f64, b: f64) -> DoubleDouble {
    let high = a + b;
    let part = high - a;
    DoubleDouble { high, low: (a - (high - part)) + (b - part) }
}

/// The same where |a| ≥ |b|.
fn quick(a: f64, b: f64) -> DoubleDouble {
    let high = a + b;
    DoubleDouble { high, low: b - (high - a) }
}

impl From<f64> for DoubleDouble {
    fn from(high: f64) -> DoubleDouble {
        DoubleDouble { high, low: 0.0 }
    }
}

impl DoubleDouble {
    /// √x of a number that is not negative.
    pub fn sqrt(self) -> DoubleDouble {
        if self.high <= 0.0 {
            return DoubleDouble::default();
        }
        let root = self.high.sqrt();
        let rest = self - DoubleDouble::from(root) * root.into();
        quick(root, rest.high / (2.0 * root))
    }

    /// |x|.
    pub fn abs(self) -> DoubleDouble {
        if self.high < 0.0 { -self } else { self }
    }
}

impl Neg for DoubleDouble {
    type Output = DoubleDouble;

    fn neg(self) -> DoubleDouble {
        DoubleDouble { high: -self.high, low: -self.low }
    }
}

impl Add for DoubleDouble {
    type Output = DoubleDouble;

    fn add(self, other: DoubleDouble) -> DoubleDouble {
        let (high, low) = (two_sum(self.high, other.high), two_sum(self.low, other.low));
        let sum = quick(high.high, high.low + low.high);
        quick(sum.high, sum.low + low.low)
    }
}

impl Sub for DoubleDouble {
    type Output = DoubleDouble;

    fn sub(self, other: DoubleDouble) -> DoubleDouble {
        self + -other
    }
}

impl Mul for DoubleDouble {
    type Output = DoubleDouble;

    fn mul(self, other: DoubleDouble) -> DoubleDouble {
        let high = self.high * other.high;
        let low = self.high.mul_add(other.high, -high);
        quick(high, low + (self.high * other.low + self.low * other.high))
    }
}

impl Div for DoubleDouble {
    type Output = DoubleDouble;

    fn div(self, other: DoubleDouble) -> DoubleDouble {
        let first = self.high / other.high;
        let rest = self - other * first.into();
        let second = rest.high / other.high;
        let rest = rest - other * second.into();
        quick(first, second) + (rest.high / other.high).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirty_digits_survive() {
        let (one, tiny) = (DoubleDouble::from(1.0), DoubleDouble::from(1e-25));
        assert_eq!((one + tiny - one).high, 1e-25);
        let third = one / 3.0.into();
        assert!((third * 3.0.into() - one).abs().high < 1e-31);
        let root = DoubleDouble::from(2.0).sqrt();
        assert!((root * root - 2.0.into()).abs().high < 1e-31);
    }
}
