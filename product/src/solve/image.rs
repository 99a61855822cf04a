//! Eigenpairs of a complex or quaternion H, which is solved as a real matrix of two or four times the dimension.
//!
//! In: eigenpairs of the real image, whose eigenvalues all come twice, for v and v i
//! ([`eigenforge_core::operator::SiteLayout`]), or four times, for v, v i, v j and v k
//! ([`HermitianMatrix`](crate::HermitianMatrix)). Out: one of each, with multiplicities divided by that, and the other vectors of
//! each level, so that an average over all of them is the average over the level. A level with g > 1 states has 2g or 4g real ones in any
//! mixture; those that are kept are the ones whose lines, all multiples by numbers on the right, are the furthest from those of the states
//! before.
//!
//! Real vectors of two levels are orthogonal, but not their lines: those of levels a distance d apart overlap by the rounding 1e-16 ‖H‖ / d of
//! the vectors. Vectors of numbers are therefore made orthonormal across all levels that lie close together.

use crate::sparse::{Number, NumberKind, Quaternion};
use eigenforge_runtime::solvers::{Eigenpairs, Level};
use eigenforge_runtime::{DeviceError, PartOrder, Scalar, Vector};
use num_complex::Complex64;
use std::cmp::Ordering::Equal;

/// Levels closer than this part of ‖H‖ are made orthogonal to each other; vectors of others are to 1e-13.
const NEAR: f64 = 1e-3;

/// The real image of an H whose vectors are of such numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RealImage {
    numbers: NumberKind,
    order: PartOrder,
}

/// Of each level the real vectors that are not kept as its states.
pub type LevelPartners<T> = Vec<Vec<Vector<T>>>;

/// The vector of numbers of which a real one holds the parts.
fn joined<N: Number, T: Scalar>(vector: &[T], order: PartOrder) -> Vec<N> {
    let parts = N::PARTS;
    let rows = vector.len() / parts;
    let (of_row, of_part) = match order {
        PartOrder::Halves => (1, rows),
        PartOrder::Numbers(_) => (parts, 1),
    };
    let number = |row: usize| {
        let mut number = [0.0; 4];
        (0..parts).for_each(|part| number[part] = vector[row * of_row + part * of_part].to_f64());
        N::new(number)
    };
    (0..rows).map(number).collect()
}

fn product<N: Number>(a: &[N], b: &[N]) -> N {
    a.iter().zip(b).fold(N::new([0.0; 4]), |sum, (a, b)| sum.plus(a.conjugate().times(*b)))
}

/// Takes what lies in `others` out of a vector and returns the norm of the rest.
fn orthogonalise<'n, N: Number + 'n>(vector: &mut [N], others: impl Iterator<Item = &'n Vec<N>>) -> f64 {
    for other in others {
        let overlap = product(other, vector).scaled(-1.0);
        vector.iter_mut().zip(other).for_each(|(v, o)| *v = v.plus(o.times(overlap)));
    }
    product(vector, vector).re().sqrt()
}

/// Orthonormal vectors of states of these values of an H of this norm.
fn orthonormal<N: Number, T: Scalar>(
    vectors: &[Vec<T>],
    order: PartOrder,
    (values, norm): (&[f64], f64),
) -> Vec<Vec<N>> {
    let mut found: Vec<Vec<N>> = Vec::new();
    for (vector, value) in vectors.iter().zip(values) {
        let mut vector = joined(vector, order);
        let is_near = |(_, other): &(&Vec<N>, &f64)| (*other - value).abs() <= NEAR * norm;
        let others: Vec<&Vec<N>> = found.iter().zip(values).filter(is_near).map(|(other, _)| other).collect();
        // Twice, because the first may cancel digits.
        orthogonalise(&mut vector, others.iter().copied());
        let length = orthogonalise(&mut vector, others.into_iter());
        vector.iter_mut().for_each(|v| *v = v.scaled(1.0 / length));
        found.push(vector);
    }
    found
}

/// Numbers of the vectors to keep, at most `most` of a level's; first of those that were returned, whose residuals are known.
fn independent<N: Number, T: Scalar>(
    vectors: &[&Vector<T>],
    order: PartOrder,
    (returned, most): (usize, usize),
) -> Result<Vec<usize>, DeviceError> {
    if most == 1 || vectors.len() <= 1 {
        return Ok((0..vectors.len().min(most)).collect());
    }
    let mut rest = vectors
        .iter()
        .map(|vector| Ok(joined(&vector.download()?, order)))
        .collect::<Result<Vec<Vec<N>>, DeviceError>>()?;
    let mut chosen: Vec<usize> = Vec::new();
    while chosen.len() < most {
        let norm = |k: &usize| product(&rest[*k], &rest[*k]).re().sqrt();
        // What is left of v i after v is rounding; a small rest is mostly error of the vector.
        let left = (0..rest.len()).filter(|k| !chosen.contains(k) && norm(k) > 1e-3);
        let key = |k: &usize| (*k < returned && norm(k) > 0.1, norm(k));
        let Some(next) = left.max_by(|a, b| key(a).partial_cmp(&key(b)).unwrap_or(Equal)) else { break };
        let size = norm(&next);
        let unit: Vec<N> = rest[next].iter().map(|v| v.scaled(1.0 / size)).collect();
        rest.iter_mut().for_each(|vector| {
            orthogonalise(vector, std::iter::once(&unit));
        });
        chosen.push(next);
    }
    chosen.sort_unstable();
    Ok(chosen)
}

impl RealImage {
    /// Of a complex lattice model.
    pub const LATTICE: RealImage = RealImage { numbers: NumberKind::Complex, order: PartOrder::Halves };

    /// Of a matrix of such numbers.
    pub fn of_matrix(numbers: NumberKind) -> RealImage {
        RealImage { numbers, order: PartOrder::Numbers(numbers.parts()) }
    }

    /// Real vectors of one state.
    fn parts(self) -> usize {
        self.numbers.parts()
    }

    /// How many states of the image to ask for.
    pub fn states(self, states: usize) -> usize {
        // The others of one state are known, or found with its level (`LinearOperator::is_complex`).
        if states == 1 { 1 } else { self.parts().saturating_mul(states) }
    }

    /// Orthonormal complex vectors of states of these values of an H of this norm.
    pub fn complex_vectors<T: Scalar>(self, vectors: &[Vec<T>], spectrum: (&[f64], f64)) -> Vec<Vec<Complex64>> {
        orthonormal(vectors, self.order, spectrum)
    }

    /// The same of quaternions a + b i + c j + d k.
    pub fn quaternion_vectors<T: Scalar>(self, vectors: &[Vec<T>], spectrum: (&[f64], f64)) -> Vec<Vec<Quaternion>> {
        orthonormal(vectors, self.order, spectrum)
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
        match self.numbers {
            NumberKind::Real => Ok((pairs, Vec::new())),
            NumberKind::Complex => self.fold_numbers::<Complex64, T>(pairs, states),
            NumberKind::Quaternion => self.fold_numbers::<Quaternion, T>(pairs, states),
        }
    }

    fn fold_numbers<N: Number, T: Scalar>(
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
            let members = first..(first + level.multiplicity).min(values.len());
            first = members.end;
            let whole = if level.complete { level.multiplicity / parts } else { level.multiplicity.div_ceil(parts) };
            let most = whole.max(1);
            let chosen: Vec<usize> = match vectors.get(members.clone()) {
                Some(list) => {
                    let list: Vec<&Vector<T>> = list.iter().collect();
                    let chosen = independent::<N, T>(&list, self.order, (level.returned, most))?;
                    chosen.into_iter().map(|k| members.start + k).collect()
                }
                // Values without vectors.
                None => members.clone().step_by(parts).take(most).collect(),
            };
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
