//! Eigenpairs of a complex H, which is solved as a real one of twice the dimension.
//!
//! In: eigenpairs of the real matrix, whose eigenvalues all come twice, for v and for i v ([`eigenforge_core::operator::SiteLayout`]). Out: one
//! of each, with multiplicities halved, and the other vectors of each level, so that an average over all of them is the
//! average over the level. A level with g > 1 complex states has 2g real ones in any mixture; those that are kept are the ones
//! whose complex lines are the furthest from those of the states before.

use eigenforge_runtime::solvers::{Eigenpairs, Level};
use eigenforge_runtime::{DeviceError, Scalar, Vector};
use num_complex::Complex64;
use std::cmp::Ordering::Equal;

/// How many states of the real matrix to ask for.
pub(super) fn real_states(states: usize) -> usize {
    // The second of one pair is known (`LinearOperator::is_complex`).
    if states == 1 { 1 } else { 2 * states }
}

/// The complex vector of a real one of twice the length.
fn joined<T: Scalar>(vector: &[T]) -> Vec<Complex64> {
    let (re, im) = vector.split_at(vector.len() / 2);
    re.iter().zip(im).map(|(re, im)| Complex64::new(re.to_f64(), im.to_f64())).collect()
}

fn product(a: &[Complex64], b: &[Complex64]) -> Complex64 {
    a.iter().zip(b).map(|(a, b)| a.conj() * b).sum()
}

/// Takes what lies in `others` out of a vector and returns the norm of the rest.
fn orthogonalise(vector: &mut [Complex64], others: &[Vec<Complex64>]) -> f64 {
    for other in others {
        let overlap = product(other, vector);
        vector.iter_mut().zip(other).for_each(|(v, o)| *v -= overlap * o);
    }
    product(vector, vector).re.sqrt()
}

/// Orthonormal complex vectors, of those of one level.
pub(super) fn orthonormal<T: Scalar>(vectors: &[Vec<T>]) -> Vec<Vec<Complex64>> {
    let mut found: Vec<Vec<Complex64>> = Vec::new();
    for vector in vectors {
        let mut vector = joined(vector);
        // Twice, because the first may cancel digits.
        orthogonalise(&mut vector, &found);
        let norm = orthogonalise(&mut vector, &found);
        vector.iter_mut().for_each(|v| *v /= norm);
        found.push(vector);
    }
    found
}

/// Numbers of the vectors to keep, at most `most` of a level's; first of those that were returned, whose residuals are known.
fn independent<T: Scalar>(vectors: &[&Vector<T>], returned: usize, most: usize) -> Result<Vec<usize>, DeviceError> {
    if most == 1 || vectors.len() <= 1 {
        return Ok((0..vectors.len().min(most)).collect());
    }
    let mut rest =
        vectors.iter().map(|vector| Ok(joined(&vector.download()?))).collect::<Result<Vec<_>, DeviceError>>()?;
    let mut chosen: Vec<usize> = Vec::new();
    while chosen.len() < most {
        let norm = |k: &usize| product(&rest[*k], &rest[*k]).re.sqrt();
        // What is left of i v after v is rounding; a small rest is mostly error of the vector.
        let left = (0..rest.len()).filter(|k| !chosen.contains(k) && norm(k) > 1e-3);
        let key = |k: &usize| (*k < returned && norm(k) > 0.1, norm(k));
        let Some(next) = left.max_by(|a, b| key(a).partial_cmp(&key(b)).unwrap_or(Equal)) else { break };
        let size = norm(&next);
        let unit: Vec<Complex64> = rest[next].iter().map(|v| v / size).collect();
        rest.iter_mut().for_each(|vector| {
            orthogonalise(vector, std::slice::from_ref(&unit));
        });
        chosen.push(next);
    }
    chosen.sort_unstable();
    Ok(chosen)
}

/// Of each level the real vectors that are not kept as its states.
pub(super) type LevelPartners<T> = Vec<Vec<Vector<T>>>;

/// One state of each pair, and the other vectors of each level.
///
/// # Errors
/// Those of copies from the device.
pub(super) fn folded<T: Scalar>(
    mut pairs: Eigenpairs<T>,
    states: usize,
) -> Result<(Eigenpairs<T>, LevelPartners<T>), DeviceError> {
    let values: Vec<f64> = pairs.values.iter().chain(&pairs.extra_values).copied().collect();
    let vectors: Vec<Vector<T>> = pairs.vectors.drain(..).chain(pairs.extra_vectors.drain(..)).collect();
    let (mut levels, mut kept, mut extra, mut ends) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut first = 0;
    for level in &pairs.levels {
        // The returned members, then those that certification found; values ascend through both.
        let members = first..(first + level.multiplicity).min(vectors.len());
        first = members.end;
        let most = if level.complete { level.multiplicity / 2 } else { level.multiplicity.div_ceil(2) }.max(1);
        let list: Vec<&Vector<T>> = vectors[members.clone()].iter().collect();
        let chosen: Vec<usize> =
            independent(&list, level.returned, most)?.into_iter().map(|k| members.start + k).collect();
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
