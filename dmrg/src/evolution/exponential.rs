//! exp(−iHt) ψ and exp(−Ht) ψ of the H of a bond or a site, by Lanczos.
//!
//! In: a product with H, ψ, a time, a tolerance. Out: the state of length 1, with a bound of its error: that of the tridiagonal matrix T of the
//! Krylov space ([`SmallExponential`]). A time that the largest space does not resolve is divided.
//!
//! Complex vectors lie as pairs (re, im), which is how rows of a chain with an auxiliary site lie where left blocks keep ψ and iψ together
//! ([`super::split`]). H commutes with i, so T is real.

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

/// Numbers that are summed beside each other, in vectors of the processor.
const LANES: usize = 8;

/// x · y; of complex vectors ⟨x|y⟩.
fn overlap(x: &[f64], y: &[f64], is_complex: bool) -> c64 {
    let (mut re, mut im) = ([0.0; LANES], [0.0; LANES]);
    let (chunks, rest) = (x.chunks_exact(LANES), x.chunks_exact(LANES).remainder());
    let of_y = y.chunks_exact(LANES);
    let last = of_y.remainder();
    for (a, b) in chunks.zip(of_y) {
        for lane in 0..LANES {
            re[lane] += a[lane] * b[lane];
        }
        if is_complex {
            for lane in 0..LANES {
                im[lane] += a[lane] * b[lane ^ 1];
            }
        }
    }
    let mut sum = c64::new(re.iter().sum(), 0.0);
    sum.re += rest.iter().zip(last).map(|(a, b)| a * b).sum::<f64>();
    if is_complex {
        sum.im = im.chunks_exact(2).map(|pair| pair[0] - pair[1]).sum();
        let pairs = rest.chunks_exact(2).zip(last.chunks_exact(2));
        sum.im += pairs.map(|(a, b)| a[0] * b[1] - a[1] * b[0]).sum::<f64>();
    }
    sum
}

/// y += factor · x.
fn add(y: &mut [f64], factor: c64, x: &[f64], is_complex: bool) {
    if !is_complex || factor.im == 0.0 {
        return y.iter_mut().zip(x).for_each(|(y, x)| *y += factor.re * x);
    }
    // By lanes (re, im): y += re x + im (−Im x, Re x).
    let signs: [f64; LANES] = std::array::from_fn(|lane| if lane % 2 == 0 { -factor.im } else { factor.im });
    let mut chunks = y.chunks_exact_mut(LANES);
    let of_x = x.chunks_exact(LANES);
    let last = of_x.remainder();
    for (y, x) in chunks.by_ref().zip(of_x) {
        for lane in 0..LANES {
            y[lane] += factor.re * x[lane] + signs[lane] * x[lane ^ 1];
        }
    }
    for (y, x) in chunks.into_remainder().chunks_exact_mut(2).zip(last.chunks_exact(2)) {
        let (re, im) = (factor.re * x[0] - factor.im * x[1], factor.re * x[1] + factor.im * x[0]);
        (y[0], y[1]) = (y[0] + re, y[1] + im);
    }
}

fn length(x: &[f64]) -> f64 {
    overlap(x, x, false).re.sqrt()
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

/// Evolves `vector` by `time`, which may be negative, with an error of at most `tolerance`.
///
/// # Errors
/// Errors of the product; numbers that are not finite.
pub(super) fn exponential(
    mut multiply: impl FnMut(&[f64]) -> Vec<f64>,
    vector: Vec<f64>,
    (axis, time): (TimeAxis, f64),
    is_complex: bool,
    tolerance: f64,
) -> Result<Evolved, DmrgError> {
    let mut evolved = Evolved { vector, ..Evolved::default() };
    let mut left = time;
    // Back in imaginary time is forward with −H.
    let sign = if axis == TimeAxis::Imaginary { time.signum() } else { 1.0 };
    while left != 0.0 {
        let start = length(&evolved.vector);
        evolved.vector.iter_mut().for_each(|x| *x /= start);
        let mut basis = vec![std::mem::take(&mut evolved.vector)];
        let (mut alphas, mut betas) = (Vec::new(), Vec::<f64>::new());
        let room = basis[0].len() / if is_complex { 2 } else { 1 };
        let (step, small, bound) = loop {
            let newest = &basis[basis.len() - 1];
            let mut next = multiply(newest);
            evolved.products += 1;
            next.iter_mut().for_each(|x| *x *= sign);
            let alpha = overlap(newest, &next, is_complex).re;
            alphas.push(alpha);
            // The recurrence, and what rounding leaves: twice in all is enough (Giraud, Langou, Rozložník, van den Eshof, Numer. Math. 101, 87
            // (2005)).
            add(&mut next, c64::new(-alpha, 0.0), newest, is_complex);
            if let [.., before, _] = &basis[..] {
                let beta = betas.last().copied().unwrap_or(0.0);
                add(&mut next, c64::new(-beta, 0.0), before, is_complex);
            }
            for own in &basis {
                let part = overlap(own, &next, is_complex);
                add(&mut next, -part, own, is_complex);
            }
            let beta = length(&next);
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
            next.iter_mut().for_each(|x| *x /= beta);
            basis.push(next);
        };
        if step.is_nan() || step < LEAST_PART * time.abs() && step < left.abs() {
            let (option, expected) = ("step", "a time in which H can be resolved: a smaller `step`");
            return Err(DmrgError::Option { option, expected, found: format!("{time:e}") });
        }
        let (state, log_norm) = coefficients(&small, axis, step * time.signum());
        let mut sum = vec![0.0; basis[0].len()];
        basis.iter().zip(&state).for_each(|(own, factor)| add(&mut sum, *factor, own, is_complex));
        if !sum.iter().all(|x| x.is_finite()) {
            let (option, expected) = ("step", "a time after which all numbers are finite: a smaller `step`");
            return Err(DmrgError::Option { option, expected, found: format!("{time:e}") });
        }
        evolved.vector = sum;
        evolved.log_norm += log_norm;
        evolved.bound += bound;
        left = if step >= left.abs() { 0.0 } else { left - step * time.signum() };
    }
    Ok(evolved)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::start::Random;
    use eigenforge_runtime::dense::{View, eigen};

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
                let there = exponential(&multiply, start.clone(), (TimeAxis::Real, time), true, 1e-11).unwrap();
                assert!((length(&there.vector) - 1.0).abs() < 1e-12 && there.bound <= 1e-11);
                let back = exponential(&multiply, there.vector.clone(), (TimeAxis::Real, -time), true, 1e-11).unwrap();
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
            let cold = exponential(&multiply, real.clone(), (TimeAxis::Imaginary, 0.02), false, 1e-11).unwrap();
            let warm = exponential(&multiply, cold.vector.clone(), (TimeAxis::Imaginary, -0.02), false, 1e-11).unwrap();
            assert!((cold.log_norm + warm.log_norm).abs() < 1e-6, "{n}: {} {}", cold.log_norm, warm.log_norm);
            let norm = length(&real);
            assert!((0..n).all(|k| (warm.vector[k] - real[k] / norm).abs() < 1e-5), "{n}");
        }
    }
}
