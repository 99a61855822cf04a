//! Numbers of integrals and matrix elements: real, or complex over complex orbitals.
//!
//! Over real orbitals (pq|rs) has eightfold symmetry, and pairs of orbitals have no order: {p, q} has the number p (p + 1) / 2 + q, p ≥ q. Over
//! complex ones (pq|rs) = (rs|pq) = (qp|sr)* remains, and pairs are ordered: (p, q) has the number p n + q. Elements are stored by the numbers
//! of both pairs, which may be exchanged.

use eigenforge_product::RealImage;
use eigenforge_product::sparse::NumberKind;
use eigenforge_runtime::SolveError;
use eigenforge_runtime::solvers::symmetric_eigen;
use ndarray::{Array1, Array2, ArrayRef2};
use num_complex::Complex64;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Neg, Sub};

/// Index of (a, b) = (b, a) in a packed lower triangle.
pub fn pair(a: usize, b: usize) -> usize {
    let (high, low) = if a >= b { (a, b) } else { (b, a) };
    high * (high + 1) / 2 + low
}

/// Elements of a packed lower triangle of n rows.
pub(super) fn triangle(n: usize) -> usize {
    n * (n + 1) / 2
}

/// Eigenvalues that differ by less than this part of the largest are one.
const NEAR: f64 = 1e-12;

/// A number of integrals.
pub trait OrbitalNumber:
    Copy
    + Send
    + Sync
    + Default
    + PartialEq
    + Sum
    + Add<Output = Self>
    + Sub<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + Mul<Self, Output = Self>
    + Mul<f64, Output = Self>
    + From<f64>
{
    /// Its kind in stored matrices.
    const KIND: NumberKind;

    /// The number of a pair of `orbitals`.
    fn pair(orbitals: usize, p: usize, q: usize) -> usize;

    /// Pairs of so many orbitals.
    fn pairs(orbitals: usize) -> usize;

    /// All pairs, by their numbers.
    fn pair_list(orbitals: usize) -> Vec<(usize, usize)>;

    /// Its magnitude.
    fn size(self) -> f64;

    /// Its real part.
    fn real(self) -> f64;

    /// Its real part, and over complex orbitals its imaginary part.
    fn re_and_im(self) -> (f64, Option<f64>);

    /// Its conjugate.
    fn conjugate(self) -> Self;

    /// That of a file, whose imaginary part is 0 over real orbitals.
    fn from_complex(value: Complex64) -> Self;

    /// It in digits, for a message.
    fn text(self) -> String;

    /// Real vectors of the real parts of some vectors, and of the imaginary parts over complex orbitals.
    fn split(vectors: &ArrayRef2<Self>) -> Vec<Array2<f64>>
    where
        Self: Sized;

    /// A number of its real part and its imaginary part, which is left out over real orbitals.
    fn join(re: f64, im: f64) -> Self;

    /// Eigenvalues, ascending, and orthonormal eigenvectors of a Hermitian matrix of n rows.
    ///
    /// # Errors
    /// Numbers that are not finite.
    fn eigen(n: usize, matrix: &[Self]) -> Result<(Vec<f64>, Vec<Vec<Self>>), SolveError>
    where
        Self: Sized;

    /// States in rows from real vectors, whose parts stand side by side; over complex orbitals they are made orthonormal. The values of all,
    /// and the norm of H.
    fn states(real: Array2<f64>, spectrum: (&[f64], f64)) -> Array2<Self>
    where
        Self: Sized;

    /// Appends its real parts.
    fn push(self, parts: &mut Vec<f64>);
}

impl OrbitalNumber for f64 {
    const KIND: NumberKind = NumberKind::Real;

    fn pair(_: usize, p: usize, q: usize) -> usize {
        pair(p, q)
    }

    fn pairs(orbitals: usize) -> usize {
        triangle(orbitals)
    }

    fn pair_list(orbitals: usize) -> Vec<(usize, usize)> {
        (0..orbitals).flat_map(|p| (0..=p).map(move |q| (p, q))).collect()
    }

    fn size(self) -> f64 {
        self.abs()
    }

    fn real(self) -> f64 {
        self
    }

    fn re_and_im(self) -> (f64, Option<f64>) {
        (self, None)
    }

    fn conjugate(self) -> f64 {
        self
    }

    fn split(vectors: &ArrayRef2<f64>) -> Vec<Array2<f64>> {
        vec![vectors.to_owned()]
    }

    fn join(re: f64, _: f64) -> f64 {
        re
    }

    fn eigen(n: usize, matrix: &[f64]) -> Result<(Vec<f64>, Vec<Vec<f64>>), SolveError> {
        symmetric_eigen(n, matrix)
    }

    fn states(real: Array2<f64>, _: (&[f64], f64)) -> Array2<f64> {
        real
    }

    fn from_complex(value: Complex64) -> f64 {
        value.re
    }

    fn text(self) -> String {
        format!("{self:e}")
    }

    fn push(self, parts: &mut Vec<f64>) {
        parts.push(self);
    }
}

impl OrbitalNumber for Complex64 {
    const KIND: NumberKind = NumberKind::Complex;

    fn pair(orbitals: usize, p: usize, q: usize) -> usize {
        p * orbitals + q
    }

    fn pairs(orbitals: usize) -> usize {
        orbitals * orbitals
    }

    fn pair_list(orbitals: usize) -> Vec<(usize, usize)> {
        (0..orbitals).flat_map(|p| (0..orbitals).map(move |q| (p, q))).collect()
    }

    fn size(self) -> f64 {
        self.norm()
    }

    fn real(self) -> f64 {
        self.re
    }

    fn re_and_im(self) -> (f64, Option<f64>) {
        (self.re, Some(self.im))
    }

    fn conjugate(self) -> Complex64 {
        self.conj()
    }

    fn split(vectors: &ArrayRef2<Complex64>) -> Vec<Array2<f64>> {
        vec![vectors.mapv(|value| value.re), vectors.mapv(|value| value.im)]
    }

    fn join(re: f64, im: f64) -> Complex64 {
        Complex64::new(re, im)
    }

    /// By the real matrix of twice the rows, [re, −im; im, re], whose eigenvalues come twice, for v and i v.
    fn eigen(n: usize, matrix: &[Complex64]) -> Result<(Vec<f64>, Vec<Vec<Complex64>>), SolveError> {
        let part = |row: usize, column: usize| {
            let value = matrix[row % n * n + column % n];
            match (row < n, column < n) {
                (true, true) | (false, false) => value.re,
                (true, false) => -value.im,
                (false, true) => value.im,
            }
        };
        let image: Vec<f64> = (0..4 * n * n).map(|at| part(at / (2 * n), at % (2 * n))).collect();
        let (values, vectors) = symmetric_eigen(2 * n, &image)?;
        let joined = |vector: &Vec<f64>| (0..n).map(|row| Complex64::new(vector[row], vector[n + row])).collect();
        let mut rest: Vec<Vec<Complex64>> = vectors.iter().map(joined).collect();
        let scale = values.iter().fold(1.0f64, |scale, value| scale.max(value.abs()));
        let mut found: Vec<(f64, Vec<Complex64>)> = Vec::new();
        let mut first = 0;
        while first < values.len() {
            // Those of one eigenvalue, as far as rounding tells: half of their lines are independent.
            let near = values[first..].iter().take_while(|value| *value - values[first] <= NEAR * scale).count();
            let group = first..first + near.next_multiple_of(2).min(values.len() - first);
            for kept in 0..group.len() / 2 {
                let norm = |vector: &Vec<Complex64>| vector.iter().map(Complex64::norm_sqr).sum::<f64>();
                let best = group.clone().max_by(|a, b| norm(&rest[*a]).total_cmp(&norm(&rest[*b]))).unwrap_or(first);
                let length = norm(&rest[best]).sqrt();
                let unit: Vec<Complex64> = rest[best].iter().map(|value| value / length).collect();
                for other in &mut rest[group.clone()] {
                    let overlap: Complex64 = unit.iter().zip(&*other).map(|(a, b)| a.conj() * b).sum();
                    other.iter_mut().zip(&unit).for_each(|(b, a)| *b -= overlap * a);
                }
                found.push((values[group.start + 2 * kept], unit));
            }
            first = group.end;
        }
        Ok(found.into_iter().unzip())
    }

    fn states(real: Array2<f64>, spectrum: (&[f64], f64)) -> Array2<Complex64> {
        let vectors: Vec<Vec<f64>> = real.rows().into_iter().map(|row| row.to_vec()).collect();
        let found = RealImage::of_matrix(NumberKind::Complex).complex_vectors(&vectors, spectrum);
        let mut rows = Array2::from_elem((found.len(), real.ncols() / 2), Complex64::ZERO);
        rows.rows_mut().into_iter().zip(found).for_each(|(mut row, vector)| row.assign(&Array1::from(vector)));
        rows
    }

    fn from_complex(value: Complex64) -> Complex64 {
        value
    }

    fn text(self) -> String {
        format!("({:e},{:e})", self.re, self.im)
    }

    fn push(self, parts: &mut Vec<f64>) {
        parts.extend([self.re, self.im]);
    }
}
