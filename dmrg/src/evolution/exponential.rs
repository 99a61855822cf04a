//! exp(−iHt) ψ and exp(−Ht) ψ of the H of a bond or a site, by Lanczos.
//!
//! In: a product with H, ψ, a time, a tolerance. Out: the state of length 1, with a bound of its error: ψ(t) = V exp(−iTt) e₁ with T of the
//! Krylov space V, and ‖error‖ ≤ β ∫₀ᵗ |[exp(−iTs) e₁]_k| ds (Saad, SIAM J. Numer. Anal. 29, 209 (1992), theorem 5.1), taken as β t times
//! the largest of the integrand, at times as close as T turns. A time that the largest space does not resolve is divided.
//!
//! Complex vectors lie as pairs (re, im), which is how rows of a chain with an auxiliary site lie where left blocks keep ψ and iψ together
//! ([`super::split`]). H commutes with i, so T is real.

use crate::error::DmrgError;
use eigenforge_runtime::dense::{View, eigen};
use faer::c64;

/// Vectors of a Krylov space at most.
const MOST: usize = 40;
/// A residual below this part of the size of H ends a space: it is invariant.
const NOTHING: f64 = 1e-14;
/// Times at which an integrand is looked at, at least, and more for a T that turns often.
const POINTS: usize = 4;
const MOST_POINTS: f64 = 60.0;
/// Halvings of a time; 2⁻⁴⁰ of it is below any rounding.
const HALVINGS: usize = 40;

/// Along which axis a state moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainTime {
    /// exp(−iHt).
    Real,
    /// exp(−Ht), of length 1.
    Imaginary,
}

/// What an exponential gave.
#[derive(Clone, Debug, Default)]
pub(super) struct Evolved {
    /// The state, of length 1.
    pub vector: Vec<f64>,
    /// ln of the length that it had.
    pub log_norm: f64,
    /// Bound of its error.
    pub bound: f64,
    /// Products with H.
    pub products: usize,
}

/// x · y; of complex vectors ⟨x|y⟩.
fn overlap(x: &[f64], y: &[f64], is_complex: bool) -> c64 {
    if !is_complex {
        return c64::new(x.iter().zip(y).map(|(a, b)| a * b).sum(), 0.0);
    }
    let pairs = x.chunks_exact(2).zip(y.chunks_exact(2));
    let (re, im) =
        pairs.fold((0.0, 0.0), |(re, im), (a, b)| (re + a[0] * b[0] + a[1] * b[1], im + a[0] * b[1] - a[1] * b[0]));
    c64::new(re, im)
}

/// y += factor · x.
fn add(y: &mut [f64], factor: c64, x: &[f64], is_complex: bool) {
    if !is_complex {
        return y.iter_mut().zip(x).for_each(|(y, x)| *y += factor.re * x);
    }
    for (y, x) in y.chunks_exact_mut(2).zip(x.chunks_exact(2)) {
        let (re, im) = (factor.re * x[0] - factor.im * x[1], factor.re * x[1] + factor.im * x[0]);
        (y[0], y[1]) = (y[0] + re, y[1] + im);
    }
}

fn length(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// T of a Krylov space, decomposed.
struct Projected {
    values: Vec<f64>,
    /// vectors[k][j]: component j of eigenvector k.
    vectors: Vec<Vec<f64>>,
}

impl Projected {
    fn new(alphas: &[f64], betas: &[f64]) -> Result<Projected, DmrgError> {
        let n = alphas.len();
        let mut matrix = vec![0.0; n * n];
        for (k, alpha) in alphas.iter().enumerate() {
            matrix[k * (n + 1)] = *alpha;
            if k + 1 < n {
                (matrix[k * n + k + 1], matrix[(k + 1) * n + k]) = (betas[k], betas[k]);
            }
        }
        let (values, vectors) = eigen(View::new(&matrix, n, n))?;
        let vectors = (0..n).map(|k| vectors.col(k).iter().copied().collect()).collect();
        Ok(Projected { values, vectors })
    }

    /// exp(−iTt) e₁, or exp(−Tt) e₁ of length 1 with ln of its length.
    fn state(&self, axis: ChainTime, time: f64) -> (Vec<c64>, f64) {
        let n = self.values.len();
        let edge = if time >= 0.0 { self.values[0] } else { self.values[n - 1] };
        let factor = |value: f64| match axis {
            ChainTime::Real => c64::new(0.0, -value * time).exp(),
            ChainTime::Imaginary => c64::new((-(value - edge) * time).exp(), 0.0),
        };
        let mut state = vec![c64::new(0.0, 0.0); n];
        for (value, vector) in self.values.iter().zip(&self.vectors) {
            let weight = factor(*value) * vector[0];
            state.iter_mut().zip(vector).for_each(|(sum, x)| *sum += weight * *x);
        }
        if axis == ChainTime::Real {
            return (state, 0.0);
        }
        let norm = state.iter().map(|x| x.norm_sqr()).sum::<f64>().sqrt();
        state.iter_mut().for_each(|x| *x /= norm);
        (state, norm.ln() - edge * time)
    }
}

impl Projected {
    /// The largest |[exp(−iTs) e₁]_k| up to a time.
    fn largest_end(&self, axis: ChainTime, time: f64) -> f64 {
        let n = self.values.len();
        let spread = (self.values[n - 1] - self.values[0]) * time.abs();
        let points = POINTS + spread.min(MOST_POINTS) as usize;
        let at = |point: usize| {
            let (state, _) = self.state(axis, time * point as f64 / points as f64);
            state[n - 1].norm()
        };
        (1..=points).map(at).fold(0.0, f64::max)
    }
}

/// Evolves `vector` by `time`, which may be negative, with an error of at most `tolerance`.
///
/// # Errors
/// Errors of the product; numbers that are not finite.
pub(super) fn exponential(
    mut multiply: impl FnMut(&[f64]) -> Vec<f64>,
    vector: Vec<f64>,
    (axis, time): (ChainTime, f64),
    is_complex: bool,
    tolerance: f64,
) -> Result<Evolved, DmrgError> {
    let mut evolved = Evolved { vector, ..Evolved::default() };
    let mut left = time;
    while left != 0.0 {
        let share = tolerance * (left / time).abs();
        let start = length(&evolved.vector);
        evolved.vector.iter_mut().for_each(|x| *x /= start);
        let mut basis = vec![std::mem::take(&mut evolved.vector)];
        let (mut alphas, mut betas) = (Vec::new(), Vec::<f64>::new());
        let room = basis[0].len() / if is_complex { 2 } else { 1 };
        let (step, state, log_norm, bound) = loop {
            let newest = &basis[basis.len() - 1];
            let mut next = multiply(newest);
            evolved.products += 1;
            let alpha = overlap(newest, &next, is_complex).re;
            alphas.push(alpha);
            // Twice is enough (Giraud, Langou, Rozložník, van den Eshof, Numer. Math. 101, 87 (2005)).
            for _ in 0..2 {
                for own in &basis {
                    let part = overlap(own, &next, is_complex);
                    add(&mut next, -part, own, is_complex);
                }
            }
            let beta = length(&next);
            let size = alphas.iter().chain(&betas).fold(0.0f64, |most, x| most.max(x.abs()));
            let projected = Projected::new(&alphas, &betas)?;
            if beta <= NOTHING * size || basis.len() >= room {
                let (state, log_norm) = projected.state(axis, left);
                break (left, state, log_norm, NOTHING * size * left.abs());
            }
            let mut halved = left;
            let halvings = if basis.len() < MOST { 1 } else { HALVINGS };
            let found = (0..halvings).find_map(|_| {
                let (state, log_norm) = projected.state(axis, halved);
                let bound = beta * halved.abs() * projected.largest_end(axis, halved);
                let allowed = share * (halved / left).abs();
                let found = (bound <= allowed).then_some((halved, state, log_norm, bound));
                halved *= 0.5;
                found
            });
            if let Some(found) = found {
                break found;
            }
            if basis.len() >= MOST {
                let (option, expected) = ("step", "a time in which H can be resolved: a smaller `step`");
                return Err(DmrgError::Option { option, expected, found: format!("{time:e}") });
            }
            next.iter_mut().for_each(|x| *x /= beta);
            betas.push(beta);
            basis.push(next);
        };
        let mut sum = vec![0.0; basis[0].len()];
        basis.iter().zip(&state).for_each(|(own, factor)| add(&mut sum, *factor, own, is_complex));
        if !sum.iter().all(|x| x.is_finite()) {
            let (option, expected) = ("step", "a time after which all numbers are finite: a smaller `step`");
            return Err(DmrgError::Option { option, expected, found: format!("{time:e}") });
        }
        evolved.vector = sum;
        evolved.log_norm += log_norm;
        evolved.bound += bound;
        left = if step == left { 0.0 } else { left - step };
    }
    Ok(evolved)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::start::Random;

    /// A random symmetric matrix of a real problem, or H ⊗ 1 in pairs of a complex one.
    fn product(matrix: &[f64], n: usize, is_complex: bool) -> impl Fn(&[f64]) -> Vec<f64> + '_ {
        let width = if is_complex { 2 } else { 1 };
        move |x| {
            let element = |k: usize| (0..n).map(|j| matrix[(k / width) * n + j] * x[j * width + k % width]).sum();
            (0..n * width).map(element).collect()
        }
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
                let there = exponential(&multiply, start.clone(), (ChainTime::Real, time), true, 1e-11).unwrap();
                assert!((length(&there.vector) - 1.0).abs() < 1e-12 && there.bound <= 1e-11);
                let back = exponential(&multiply, there.vector.clone(), (ChainTime::Real, -time), true, 1e-11).unwrap();
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
            let cold = exponential(&multiply, real.clone(), (ChainTime::Imaginary, 0.02), false, 1e-11).unwrap();
            let warm =
                exponential(&multiply, cold.vector.clone(), (ChainTime::Imaginary, -0.02), false, 1e-11).unwrap();
            assert!((cold.log_norm + warm.log_norm).abs() < 1e-6, "{n}: {} {}", cold.log_norm, warm.log_norm);
            let norm = length(&real);
            assert!((0..n).all(|k| (warm.vector[k] - real[k] / norm).abs() < 1e-5), "{n}");
        }
    }
}
