//! Arithmetic of the numbers of a matrix: real, complex, quaternions a + b i + c j + d k with i j = k.
//!
//! A matrix element stands on the left of a vector's, so that A (v q) = (A v) q for every number q. Vectors hold the real parts of each
//! number side by side.

use eigenforge_runtime::Scalar;
use num_complex::Complex64;

/// A quaternion by its parts of 1, i, j and k.
pub type Quaternion = [f64; 4];

/// A real number, a complex number or a quaternion.
pub(crate) trait Number: Copy + Send + Sync {
    /// Its real parts, known where code is generated.
    const PARTS: usize;

    /// The number of these parts; those that it does not have are left out.
    fn new(parts: Quaternion) -> Self;

    /// Its parts.
    fn parts(self) -> Quaternion;

    /// Its conjugate.
    fn conjugate(self) -> Self;

    /// Its product with one on its right.
    fn times(self, other: Self) -> Self;

    /// Its sum with another.
    fn plus(self, other: Self) -> Self;

    /// Its real multiple.
    fn scaled(self, factor: f64) -> Self;

    /// The number at a place of a list of parts. (A copy of a part of an array would call `memcpy`, ten times as long as the arithmetic.)
    #[inline(always)]
    fn entry<T: Scalar>(list: &[T], place: usize) -> Self {
        let own = &list[Self::PARTS * place..][..Self::PARTS];
        Self::new(std::array::from_fn(|part| if part < Self::PARTS { own[part].to_f64() } else { 0.0 }))
    }

    /// Its part of 1.
    fn re(self) -> f64 {
        self.parts()[0]
    }
}

impl Number for f64 {
    const PARTS: usize = 1;

    fn new(parts: Quaternion) -> f64 {
        parts[0]
    }

    fn parts(self) -> Quaternion {
        [self, 0.0, 0.0, 0.0]
    }

    fn conjugate(self) -> f64 {
        self
    }

    fn times(self, other: f64) -> f64 {
        self * other
    }

    fn plus(self, other: f64) -> f64 {
        self + other
    }

    fn scaled(self, factor: f64) -> f64 {
        self * factor
    }
}

impl Number for Complex64 {
    const PARTS: usize = 2;

    #[inline(always)]
    fn new([re, im, ..]: Quaternion) -> Complex64 {
        Complex64::new(re, im)
    }

    #[inline(always)]
    fn parts(self) -> Quaternion {
        [self.re, self.im, 0.0, 0.0]
    }

    fn conjugate(self) -> Complex64 {
        self.conj()
    }

    #[inline(always)]
    fn times(self, other: Complex64) -> Complex64 {
        self * other
    }

    #[inline(always)]
    fn plus(self, other: Complex64) -> Complex64 {
        self + other
    }

    fn scaled(self, factor: f64) -> Complex64 {
        self * factor
    }
}

impl Number for Quaternion {
    const PARTS: usize = 4;

    #[inline(always)]
    fn new(parts: Quaternion) -> Quaternion {
        parts
    }

    #[inline(always)]
    fn parts(self) -> Quaternion {
        self
    }

    fn conjugate(self) -> Quaternion {
        let [a, b, c, d] = self;
        [a, -b, -c, -d]
    }

    #[inline(always)]
    fn times(self, [e, f, g, h]: Quaternion) -> Quaternion {
        let [a, b, c, d] = self;
        [
            a * e - b * f - c * g - d * h,
            a * f + b * e + c * h - d * g,
            a * g - b * h + c * e + d * f,
            a * h + b * g - c * f + d * e,
        ]
    }

    #[inline(always)]
    fn plus(self, other: Quaternion) -> Quaternion {
        std::array::from_fn(|part| self[part] + other[part])
    }

    fn scaled(self, factor: f64) -> Quaternion {
        self.map(|part| factor * part)
    }
}

/// Its magnitude: the square root of the sum of the squares of its parts.
pub(crate) fn magnitude(parts: &[f64]) -> f64 {
    match parts {
        [real] => real.abs(),
        _ => {
            // Squares of very large and very small parts would not fit.
            let largest = parts.iter().fold(0.0, |most: f64, part| most.max(part.abs()));
            let squares = |parts: &[f64]| parts.iter().map(|part| (part / largest).powi(2)).sum::<f64>();
            if largest == 0.0 { 0.0 } else { largest * squares(parts).sqrt() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_units_multiply_as_hamilton_has_them() {
        let [one, i, j, k]: [Quaternion; 4] =
            std::array::from_fn(|unit| std::array::from_fn(|part| f64::from(unit == part)));
        let minus = |x: Quaternion| x.map(|part| 0.0 - part);
        for (a, b, product) in [(i, j, k), (j, k, i), (k, i, j)] {
            assert_eq!((a.times(b), b.times(a)), (product, minus(product)));
            assert_eq!((a.times(a), a.times(one)), (minus(one), a));
        }
        let (p, q, x) = ([0.5, -1.0, 2.0, 3.0], [1.5, 0.25, -2.0, 1.0], [1.0, 2.0, -3.0, 0.5]);
        assert_eq!(p.times(q.times(x)), p.times(q).times(x));
        assert_eq!(p.conjugate().times(p), [14.25, 0.0, 0.0, 0.0]);
        // Without parts of j and k they are complex numbers.
        let (a, b) = (Complex64::new(0.5, -1.0), Complex64::new(1.5, 0.25));
        assert_eq!(Quaternion::new(a.parts()).times(b.parts()), a.times(b).parts());
    }

    #[test]
    fn magnitudes_do_not_overflow() {
        assert_eq!([magnitude(&[-3.0]), magnitude(&[3.0, 4.0]), magnitude(&[1.0; 4])], [3.0, 5.0, 2.0]);
        assert!((magnitude(&[3e200, 4e200]) / 5e200 - 1.0).abs() < 1e-15 && magnitude(&[0.0, 0.0]) == 0.0);
    }
}
