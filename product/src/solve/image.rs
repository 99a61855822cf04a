//! Eigenpairs of a complex or quaternion H, which is solved as a real matrix of two or four times the dimension.
//!
//! In: eigenpairs of the real image, whose eigenvalues all come twice, for v and v i
//! ([`eigenforge_core::operator::SiteLayout`]), or four times, for v, v i, v j and v k
//! ([`HypercomplexMatrix`](crate::sparse::HypercomplexMatrix)). Out: one of each, with multiplicities divided by that, and the other vectors of
//! each level, so that an average over all of them is the average over the level. A level with g > 1 states has 2g or 4g real ones in any
//! mixture; those that are kept are the ones whose lines, all multiples by numbers on the right, are the furthest from those of the states
//! before.

use crate::sparse::NumberKind;
use eigenforge_runtime::solvers::{Eigenpairs, Level};
use eigenforge_runtime::{DeviceError, Scalar, Vector};
use num_complex::Complex64;
use std::cmp::Ordering::Equal;

/// The real image of an H whose vectors are of such numbers: all real parts, after them all parts of i, of j and of k.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RealImage(pub NumberKind);

/// Of each level the real vectors that are not kept as its states.
pub type LevelPartners<T> = Vec<Vec<Vector<T>>>;

/// A complex number or a quaternion.
trait ImageNumber: Copy {
    fn new(parts: [f64; 4]) -> Self;
    fn re(self) -> f64;
    /// Its conjugate times another.
    fn conjugate_times(self, other: Self) -> Self;
    fn plus(self, other: Self) -> Self;
    fn minus_product(self, a: Self, b: Self) -> Self;
    fn quotient(self, size: f64) -> Self;
}

impl ImageNumber for Complex64 {
    fn new([re, im, ..]: [f64; 4]) -> Complex64 {
        Complex64::new(re, im)
    }

    fn re(self) -> f64 {
        self.re
    }

    fn conjugate_times(self, other: Complex64) -> Complex64 {
        self.conj() * other
    }

    fn plus(self, other: Complex64) -> Complex64 {
        self + other
    }

    fn minus_product(self, a: Complex64, b: Complex64) -> Complex64 {
        self - a * b
    }

    fn quotient(self, size: f64) -> Complex64 {
        self / size
    }
}

/// a + b i + c j + d k.
type Quaternion = [f64; 4];

fn quaternion_product([a, b, c, d]: Quaternion, [e, f, g, h]: Quaternion) -> Quaternion {
    [
        a * e - b * f - c * g - d * h,
        a * f + b * e + c * h - d * g,
        a * g - b * h + c * e + d * f,
        a * h + b * g - c * f + d * e,
    ]
}

impl ImageNumber for Quaternion {
    fn new(parts: [f64; 4]) -> Quaternion {
        parts
    }

    fn re(self) -> f64 {
        self[0]
    }

    fn conjugate_times(self, other: Quaternion) -> Quaternion {
        let [a, b, c, d] = self;
        quaternion_product([a, -b, -c, -d], other)
    }

    fn plus(self, other: Quaternion) -> Quaternion {
        std::array::from_fn(|part| self[part] + other[part])
    }

    fn minus_product(self, a: Quaternion, b: Quaternion) -> Quaternion {
        let product = quaternion_product(a, b);
        std::array::from_fn(|part| self[part] - product[part])
    }

    fn quotient(self, size: f64) -> Quaternion {
        self.map(|part| part / size)
    }
}

/// The vector of numbers of so many parts of which a real one holds the parts.
fn joined<N: ImageNumber, T: Scalar>(vector: &[T], parts: usize) -> Vec<N> {
    let rows = vector.len() / parts;
    let number = |row: usize| {
        let mut number = [0.0; 4];
        (0..parts).for_each(|part| number[part] = vector[part * rows + row].to_f64());
        N::new(number)
    };
    (0..rows).map(number).collect()
}

fn product<N: ImageNumber>(a: &[N], b: &[N]) -> N {
    a.iter().zip(b).fold(N::new([0.0; 4]), |sum, (a, b)| sum.plus(a.conjugate_times(*b)))
}

/// Takes what lies in `others` out of a vector and returns the norm of the rest.
fn orthogonalise<N: ImageNumber>(vector: &mut [N], others: &[Vec<N>]) -> f64 {
    for other in others {
        let overlap = product(other, vector);
        vector.iter_mut().zip(other).for_each(|(v, o)| *v = v.minus_product(*o, overlap));
    }
    product(vector, vector).re().sqrt()
}

/// Orthonormal vectors, of those of one level.
fn orthonormal<N: ImageNumber, T: Scalar>(vectors: &[Vec<T>], parts: usize) -> Vec<Vec<N>> {
    let mut found: Vec<Vec<N>> = Vec::new();
    for vector in vectors {
        let mut vector = joined(vector, parts);
        // Twice, because the first may cancel digits.
        orthogonalise(&mut vector, &found);
        let norm = orthogonalise(&mut vector, &found);
        vector.iter_mut().for_each(|v| *v = v.quotient(norm));
        found.push(vector);
    }
    found
}

/// Numbers of the vectors to keep, at most `most` of a level's; first of those that were returned, whose residuals are known.
fn independent<N: ImageNumber, T: Scalar>(
    vectors: &[&Vector<T>],
    parts: usize,
    (returned, most): (usize, usize),
) -> Result<Vec<usize>, DeviceError> {
    if most == 1 || vectors.len() <= 1 {
        return Ok((0..vectors.len().min(most)).collect());
    }
    let mut rest = vectors
        .iter()
        .map(|vector| Ok(joined(&vector.download()?, parts)))
        .collect::<Result<Vec<Vec<N>>, DeviceError>>()?;
    let mut chosen: Vec<usize> = Vec::new();
    while chosen.len() < most {
        let norm = |k: &usize| product(&rest[*k], &rest[*k]).re().sqrt();
        // What is left of v i after v is rounding; a small rest is mostly error of the vector.
        let left = (0..rest.len()).filter(|k| !chosen.contains(k) && norm(k) > 1e-3);
        let key = |k: &usize| (*k < returned && norm(k) > 0.1, norm(k));
        let Some(next) = left.max_by(|a, b| key(a).partial_cmp(&key(b)).unwrap_or(Equal)) else { break };
        let size = norm(&next);
        let unit: Vec<N> = rest[next].iter().map(|v| v.quotient(size)).collect();
        rest.iter_mut().for_each(|vector| {
            orthogonalise(vector, std::slice::from_ref(&unit));
        });
        chosen.push(next);
    }
    chosen.sort_unstable();
    Ok(chosen)
}

impl RealImage {
    /// Real vectors of one state.
    fn parts(self) -> usize {
        self.0.parts()
    }

    /// How many states of the image to ask for.
    pub fn states(self, states: usize) -> usize {
        // The others of one state are known, or found with its level (`LinearOperator::is_complex`).
        if states == 1 { 1 } else { self.parts().saturating_mul(states) }
    }

    /// Orthonormal complex vectors, of those of one level.
    pub fn complex_vectors<T: Scalar>(vectors: &[Vec<T>]) -> Vec<Vec<Complex64>> {
        orthonormal(vectors, NumberKind::Complex.parts())
    }

    /// Orthonormal vectors of quaternions a + b i + c j + d k, of those of one level.
    pub fn quaternion_vectors<T: Scalar>(vectors: &[Vec<T>]) -> Vec<Vec<[f64; 4]>> {
        orthonormal(vectors, NumberKind::Quaternion.parts())
    }

    /// One of the real vectors of each state, as many states as are wanted, and the other vectors of each level.
    ///
    /// # Errors
    /// Those of copies from the device.
    pub fn fold<T: Scalar>(
        self,
        pairs: Eigenpairs<T>,
        states: usize,
    ) -> Result<(Eigenpairs<T>, LevelPartners<T>), DeviceError> {
        match self.0 {
            NumberKind::Real => Ok((pairs, Vec::new())),
            NumberKind::Complex => self.fold_numbers::<Complex64, T>(pairs, states),
            NumberKind::Quaternion => self.fold_numbers::<Quaternion, T>(pairs, states),
        }
    }

    fn fold_numbers<N: ImageNumber, T: Scalar>(
        self,
        mut pairs: Eigenpairs<T>,
        states: usize,
    ) -> Result<(Eigenpairs<T>, LevelPartners<T>), DeviceError> {
        let values: Vec<f64> = pairs.values.iter().chain(&pairs.extra_values).copied().collect();
        let vectors: Vec<Vector<T>> = pairs.vectors.drain(..).chain(pairs.extra_vectors.drain(..)).collect();
        let (mut levels, mut kept, mut extra, mut ends) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (mut first, parts) = (0, self.parts());
        for level in &pairs.levels {
            // The returned members, then those that certification found; values ascend through both.
            let members = first..(first + level.multiplicity).min(vectors.len());
            first = members.end;
            let whole = if level.complete { level.multiplicity / parts } else { level.multiplicity.div_ceil(parts) };
            let most = whole.max(1);
            let list: Vec<&Vector<T>> = vectors[members.clone()].iter().collect();
            let chosen: Vec<usize> = independent::<N, T>(&list, parts, (level.returned, most))?
                .into_iter()
                .map(|k| members.start + k)
                .collect();
            let returned = chosen.len().min(states - kept.len());
            extra.extend(&chosen[returned..]);
            kept.extend(&chosen[..returned]);
            if returned > 0 {
                let multiplicity = most.max(chosen.len());
                levels.push(Level { value: level.value, multiplicity, complete: level.complete, returned });
                ends.push(members.end);
            }
            if kept.len() == states {
                break;
            }
        }
        let of_states = |list: &[f64]| kept.iter().map(|k| list.get(*k).copied()).collect::<Option<Vec<f64>>>();
        let unknown = || vec![f64::NAN; kept.len()];
        let (residuals, errors) = (of_states(&pairs.residuals), of_states(&pairs.errors));
        pairs.errors = errors.unwrap_or_else(unknown);
        pairs.values = kept.iter().map(|k| values[*k]).collect();
        pairs.extra_values = extra.iter().map(|k| values[*k]).collect();
        pairs.residuals = residuals.unwrap_or_else(unknown);
        pairs.levels = levels;
        let mut partners: Vec<Vec<Vector<T>>> = ends.iter().map(|_| Vec::new()).collect();
        for (k, vector) in vectors.into_iter().enumerate() {
            if kept.contains(&k) {
                pairs.vectors.push(vector);
            } else if extra.contains(&k) {
                pairs.extra_vectors.push(vector);
            } else if let Some(level) = ends.iter().position(|end| k < *end) {
                partners[level].push(vector);
            }
        }
        Ok((pairs, partners))
    }
}
