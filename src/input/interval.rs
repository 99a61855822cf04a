//! Numbers and intervals in formulas of time: one formula gives values, and bounds over a span of time.
//!
//! In: a formula of [`TimeNumber`]s. Out: of an `f64` its value; of an [`Interval`] one that holds all values (interval arithmetic: R. E. Moore,
//! Interval Analysis (1966)), up to rounding. Where a value may be infinite or no number the interval is all numbers.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// A number that a formula of time takes.
pub(crate) trait TimeNumber:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + From<f64>
{
    /// x^y.
    fn power(self, exponent: Self) -> Self;
    /// A function of this shape.
    fn apply(self, function: fn(f64) -> f64, shape: Shape) -> Self;

    /// e^x.
    fn exp(self) -> Self {
        self.apply(f64::exp, Shape::EXP)
    }

    /// cos x.
    fn cos(self) -> Self {
        self.apply(f64::cos, Shape::COS)
    }

    /// sin x.
    fn sin(self) -> Self {
        self.apply(f64::sin, Shape::SIN)
    }
}

/// Where a function of one number rises and falls.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Shape {
    /// It rises wherever it is defined: from `low` on, where it is `least`.
    Rising {
        /// Where it begins.
        low: f64,
        /// Its value there.
        least: f64,
    },
    /// Like |x|: it falls to 0 and rises.
    Even,
    /// Like sin(x + shift), of period 2π between −1 and 1.
    Wave {
        /// The phase.
        shift: f64,
    },
    /// Like tan: it rises between poles at (k + ½) π.
    Poles,
}

impl Shape {
    /// e^x.
    pub(crate) const EXP: Shape = Shape::Rising { low: f64::NEG_INFINITY, least: 0.0 };
    /// sin x.
    pub(crate) const SIN: Shape = Shape::Wave { shift: 0.0 };
    /// cos x.
    pub(crate) const COS: Shape = Shape::Wave { shift: std::f64::consts::FRAC_PI_2 };
}

impl TimeNumber for f64 {
    fn power(self, exponent: f64) -> f64 {
        self.powf(exponent)
    }

    fn apply(self, function: fn(f64) -> f64, _: Shape) -> f64 {
        function(self)
    }
}

/// All numbers between two, both included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Interval {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Interval {
    const ALL: Interval = Interval { low: f64::NEG_INFINITY, high: f64::INFINITY };

    /// From one number to another.
    pub(crate) fn between(low: f64, high: f64) -> Interval {
        Interval { low, high }
    }

    /// The smallest one with all of these; all numbers where one is not a number.
    fn hull(numbers: &[f64]) -> Interval {
        if numbers.iter().any(|number| number.is_nan()) {
            return Interval::ALL;
        }
        let (low, high) = numbers.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), n| (l.min(*n), h.max(*n)));
        Interval { low, high }
    }

    fn contains(self, number: f64) -> bool {
        self.low <= number && number <= self.high
    }

    /// Whether one of offset + k · period is inside.
    fn meets(self, offset: f64, period: f64) -> bool {
        offset + period * ((self.low - offset) / period).ceil() <= self.high
    }
}

impl From<f64> for Interval {
    fn from(number: f64) -> Interval {
        Interval::hull(&[number])
    }
}

impl Add for Interval {
    type Output = Interval;
    fn add(self, other: Interval) -> Interval {
        Interval::hull(&[self.low + other.low, self.high + other.high])
    }
}

impl Neg for Interval {
    type Output = Interval;
    fn neg(self) -> Interval {
        Interval { low: -self.high, high: -self.low }
    }
}

impl Sub for Interval {
    type Output = Interval;
    fn sub(self, other: Interval) -> Interval {
        self + -other
    }
}

impl Mul for Interval {
    type Output = Interval;
    fn mul(self, other: Interval) -> Interval {
        let [a, b] = [self, other];
        Interval::hull(&[a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high])
    }
}

impl Div for Interval {
    type Output = Interval;
    fn div(self, other: Interval) -> Interval {
        if other.contains(0.0) {
            return Interval::ALL;
        }
        let [a, b] = [self, other];
        Interval::hull(&[a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high])
    }
}

impl TimeNumber for Interval {
    fn power(self, exponent: Interval) -> Interval {
        let ends = |exponent: f64| Interval::hull(&[self.low.powf(exponent), self.high.powf(exponent)]);
        let n = exponent.low;
        if exponent.high == n && n.fract() == 0.0 {
            return match (n % 2.0 == 0.0, self.contains(0.0)) {
                (_, true) if n < 0.0 => Interval::ALL,
                (true, true) if n > 0.0 => Interval { low: 0.0, ..ends(n) },
                _ => ends(n),
            };
        }
        if self.low > 0.0 || self.low == 0.0 && exponent.low > 0.0 {
            let corners = [self.low, self.high].map(|x| [x.powf(exponent.low), x.powf(exponent.high)]);
            return Interval::hull(&corners.concat());
        }
        Interval::ALL
    }

    fn apply(self, function: fn(f64) -> f64, shape: Shape) -> Interval {
        let ends = || Interval::hull(&[function(self.low), function(self.high)]);
        let finite = self.low.is_finite() && self.high.is_finite();
        match shape {
            Shape::Rising { low, .. } if self.high < low => Interval::ALL,
            Shape::Rising { low, least } if self.low <= low => Interval { low: least, high: function(self.high) },
            Shape::Rising { .. } => ends(),
            Shape::Even if self.contains(0.0) => Interval { low: function(0.0), ..ends() },
            Shape::Even => ends(),
            Shape::Wave { .. } if !finite => Interval { low: -1.0, high: 1.0 },
            Shape::Wave { shift } => {
                let whole = 2.0 * std::f64::consts::PI;
                let quarter = 0.5 * std::f64::consts::PI;
                let mut found = ends();
                if self.meets(quarter - shift, whole) {
                    found.high = 1.0;
                }
                if self.meets(-quarter - shift, whole) {
                    found.low = -1.0;
                }
                found
            }
            Shape::Poles if !finite || self.meets(0.5 * std::f64::consts::PI, std::f64::consts::PI) => Interval::ALL,
            Shape::Poles => ends(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::TimeFunction;

    /// Bounds hold all values, approach them where the span does, and are exact where the time stands once.
    #[test]
    fn bounds_hold_all_values() {
        let once = [
            "3",
            "time^2",
            "2^time",
            "-time^3 + 1",
            "exp(-(time - 1)^2)",
            "sin(7 * time)",
            "cos(-3 * time)",
            "abs(time)",
            "tanh(time)",
            "1 / (time + 9)",
            "sqrt(time + 9)",
            "ln(time + 9)",
            "time^-2",
            "(time + 9)^0.5",
            "tan(time / 9)",
        ];
        let twice = ["time - time", "sin(time)^2 + cos(time)^2", "time * sin(5 * time)", "(time + 9)^(time / 9)"];
        for text in once.into_iter().chain(twice) {
            let function = TimeFunction::new(text).unwrap();
            for (from, to) in [(-3.0, 4.0), (0.2, 0.3), (1.0, 1.0), (-1.0, -0.5), (0.0, 1e-9)] {
                let [low, high] = function.bounds(from, to);
                let values = (0..=500).map(|k| function.value(from + (to - from) * f64::from(k) / 500.0));
                let (least, most) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
                let size = 1e-12 * (1.0 + least.abs().max(most.abs()).min(1e6));
                assert!(low <= least + size && most <= high + size, "{text} {from} {to}: {low} {least} {most} {high}");
                let is_narrow = to - from < 1e-6 && from > 0.5;
                if is_narrow || once.contains(&text) && most < 10.0 && least > -10.0 {
                    assert!(
                        least - low < 0.01 && high - most < 0.01,
                        "{text} {from} {to}: {low} {least} {most} {high}"
                    );
                }
            }
        }
    }
}
