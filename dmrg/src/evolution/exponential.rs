//! exp(−iHt) ψ and exp(−Ht) ψ of the H of a bond or a site, by Lanczos.
//!
//! In: a product with H, ψ, a time, a tolerance. Out: the state of length 1, with a bound of its error: that of the tridiagonal matrix T of the
//! Krylov space ([`SmallExponential`]). A time that the largest space does not resolve is divided.
//!
//! Complex vectors lie as pairs (re, im), which is how rows of a chain with an auxiliary site lie where left blocks keep ψ and iψ together
//! ([`super::split`]). H commutes with i, so T is real. `krylov.rs` has the vectors.

use super::krylov::{KrylovVectors, length};
use crate::error::DmrgError;
use eigenforge_runtime::BackendError;
use eigenforge_runtime::solvers::{SmallExponential, TimeAxis, longest_step};
use faer::c64;

/// Vectors of a Krylov space at most.
const MOST: usize = 40;
/// A residual below this part of the size of H ends a space: it is invariant.
const NOTHING: f64 = 1e-14;
/// A step is at least this part of a time that is divided.
const LEAST_PART: f64 = 1e-12;

/// What an exponential gave.
pub(super) struct Evolved<V> {
    /// The state, of length 1.
    pub vector: V,
    /// ln of the length that it had.
    pub log_norm: f64,
    /// Bound of its error.
    pub bound: f64,
    /// Products with H.
    pub products: usize,
}

/// The coefficients of the state in its Krylov space, of length 1, with ln of the length that it had.
fn coefficients(small: &SmallExponential, axis: TimeAxis, time: f64) -> (Vec<c64>, f64) {
    match axis {
        TimeAxis::Real => {
            let [cosine, sine] = small.cosine_and_sine(time.abs());
            let turn = -time.signum();
            (cosine.iter().zip(&sine).map(|(re, im)| c64::new(*re, turn * im)).collect(), 0.0)
        }
        TimeAxis::Imaginary => {
            let decayed = small.decay(time.abs(), small.lowest());
            let norm = length(&decayed);
            let state = decayed.iter().map(|part| c64::new(part / norm, 0.0)).collect();
            (state, norm.ln() - small.lowest() * time.abs())
        }
    }
}

/// Evolves `vector`, of so many real or complex numbers, by `time`, which may be negative, with an error of at most `tolerance`.
///
/// # Errors
/// Errors of the product; numbers that are not finite.
pub(super) fn exponential<K: KrylovVectors>(
    space: &mut K,
    vector: K::Vector,
    room: usize,
    (axis, time): (TimeAxis, f64),
    tolerance: f64,
) -> Result<Evolved<K::Vector>, DmrgError> {
    let (mut log_norm, mut all_bounds, mut products) = (0.0, 0.0, 0);
    let (mut left, mut vector) = (time, vector);
    // Back in imaginary time is forward with −H.
    let sign = if axis == TimeAxis::Imaginary { time.signum() } else { 1.0 };
    while left != 0.0 {
        let start = space.length(&vector)?;
        let mut basis = vec![space.scaled(vector, start.recip())?];
        let (mut alphas, mut betas) = (Vec::new(), Vec::<f64>::new());
        let (step, small, bound) = loop {
            let newest = &basis[basis.len() - 1];
            let mut next = space.multiply(newest)?;
            products += 1;
            if sign < 0.0 {
                next = space.scaled(next, sign)?;
            }
            let alpha = space.dot(newest, &next)?;
            alphas.push(alpha);
            // The recurrence, and what rounding leaves: twice in all is enough (Giraud, Langou, Rozložník, van den Eshof, Numer. Math. 101, 87
            // (2005)).
            let mut terms = vec![(c64::new(-alpha, 0.0), newest)];
            if let [.., before, _] = &basis[..] {
                terms.push((c64::new(-betas.last().copied().unwrap_or(0.0), 0.0), before));
            }
            next = space.sum(next, &terms)?;
            next = space.orthogonal_part(next, &basis)?;
            let beta = space.length(&next)?;
            let size = alphas.iter().chain(&betas).fold(0.0f64, |most, x| most.max(x.abs()));
            let is_closed = beta <= NOTHING * size || basis.len() >= room;
            betas.push(if is_closed { NOTHING * size } else { beta });
            let n = alphas.len();
            let small = SmallExponential::new(&alphas, &betas, 1.0)
                .map_err(|_| BackendError::Decomposition { rows: n, columns: n })?;
            if is_closed {
                break (left.abs(), small, NOTHING * size * left.abs());
            }
            let allowed = |step: f64| tolerance * (step / time).abs();
            let found = longest_step(&[&small], axis, left.abs(), allowed);
            let is_resolved = found.step >= left.abs() && found.bound <= allowed(found.step);
            if is_resolved || basis.len() >= MOST {
                break (found.step, small, found.bound);
            }
            basis.push(space.scaled(next, beta.recip())?);
        };
        if step.is_nan() || step < LEAST_PART * time.abs() && step < left.abs() {
            let (option, expected) = ("step", "a time in which H can be resolved: a smaller `step`");
            return Err(DmrgError::Option { option, expected, found: format!("{time:e}") });
        }
        let (state, own_norm) = coefficients(&small, axis, step * time.signum());
        let terms: Vec<(c64, &K::Vector)> = state.into_iter().zip(&basis).collect();
        let sum = space.combination(&terms)?;
        if !space.length(&sum)?.is_finite() {
            let (option, expected) = ("step", "a time after which all numbers are finite: a smaller `step`");
            return Err(DmrgError::Option { option, expected, found: format!("{time:e}") });
        }
        vector = sum;
        log_norm += own_norm;
        all_bounds += bound;
        left = if step >= left.abs() { 0.0 } else { left - step * time.signum() };
    }
    Ok(Evolved { vector, log_norm, bound: all_bounds, products })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::start::Random;
    use crate::evolution::krylov::{HostVectors, add, overlap};
    use eigenforge_runtime::dense::{View, eigen};

    /// A random symmetric matrix of a real problem, or H ⊗ 1 in pairs of a complex one.
    fn product(matrix: &[f64], n: usize, is_complex: bool) -> impl Fn(&[f64]) -> Vec<f64> + '_ {
        let width = if is_complex { 2 } else { 1 };
        move |x| {
            let element = |k: usize| (0..n).map(|j| matrix[(k / width) * n + j] * x[j * width + k % width]).sum();
            (0..n * width).map(element).collect()
        }
    }

    fn evolved(
        multiply: impl Fn(&[f64]) -> Vec<f64>,
        vector: Vec<f64>,
        time: (TimeAxis, f64),
        is_complex: bool,
    ) -> Result<Evolved<Vec<f64>>, DmrgError> {
        let room = vector.len() / if is_complex { 2 } else { 1 };
        exponential(&mut HostVectors { multiply, is_complex }, vector, room, time, 1e-11)
    }

    #[test]
    fn a_time_and_its_reverse_give_the_state_back_and_a_dense_exponential_the_same() {
        let mut random = Random::new(3);
        for n in [1, 2, 7, 60] {
            let mut matrix = vec![0.0; n * n];
            for (row, column) in (0..n).flat_map(|row| (0..=row).map(move |column| (row, column))) {
                let value = 3.0 * random.number();
                (matrix[row * n + column], matrix[column * n + row]) = (value, value);
            }
            let start: Vec<f64> = (0..2 * n).map(|_| random.number()).collect();
            let norm = length(&start);
            let multiply = product(&matrix, n, true);
            for time in [0.1, 4.0, 60.0] {
                let there = evolved(&multiply, start.clone(), (TimeAxis::Real, time), true).unwrap();
                assert!((length(&there.vector) - 1.0).abs() < 1e-12 && there.bound <= 1e-11);
                let back = evolved(&multiply, there.vector.clone(), (TimeAxis::Real, -time), true).unwrap();
                let (values, vectors) = eigen(View::new(&matrix, n, n)).unwrap();
                let mut dense = vec![0.0; 2 * n];
                for (k, value) in values.iter().enumerate() {
                    let column: Vec<f64> = vectors.col(k).iter().flat_map(|x| [*x, 0.0]).collect();
                    let part = overlap(&column, &start, true) / norm * c64::new(0.0, -value * time).exp();
                    add(&mut dense, part, &column, true);
                }
                for k in 0..2 * n {
                    assert!((back.vector[k] - start[k] / norm).abs() < 1e-9, "{n} {time}");
                    assert!((there.vector[k] - dense[k]).abs() < 1e-9, "{n} {time}");
                }
            }
            let real: Vec<f64> = start[..n].to_vec();
            let multiply = product(&matrix, n, false);
            let cold = evolved(&multiply, real.clone(), (TimeAxis::Imaginary, 0.02), false).unwrap();
            let warm = evolved(&multiply, cold.vector.clone(), (TimeAxis::Imaginary, -0.02), false).unwrap();
            assert!((cold.log_norm + warm.log_norm).abs() < 1e-6, "{n}: {} {}", cold.log_norm, warm.log_norm);
            let norm = length(&real);
            assert!((0..n).all(|k| (warm.vector[k] - real[k] / norm).abs() < 1e-5), "{n}");
        }
    }
}
