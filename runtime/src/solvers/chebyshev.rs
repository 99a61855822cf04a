//! Chebyshev moments of the spectrum of a vector, and the curve that a kernel makes of them.
//!
//! In: A, a vector φ. Out: µ_n = ⟨φ| T_n((A − b)/a) |φ⟩, with the spectrum of A between b − a and b + a, and
//!
//! S(E) = ⟨φ| δ(E − A) |φ⟩ ≈ [g_0 µ_0 + 2 Σ_n g_n µ_n T_n(x)] / (π a √(1 − x²)),   x = (E − b)/a
//!
//! (A. Weiße, G. Wellein, A. Alvermann and H. Fehske, Rev. Mod. Phys. 78, 275 (2006), equation 26). A multiply gives two moments, by
//! T_2n = 2 T_n² − 1 (equations 35 and 36). Every term of S is positive for the kernel of Jackson, and ∫ S dE is µ_0; of
//! Lorentz the tails that reach the ends are flattened there.

use super::SolveOptions;
use super::lanczos::{IN_PLACE, krylov_chain};
use super::run::Run;
use crate::error::SolveError;
use crate::operator::LinearOperator;
use crate::scalar::Scalar;
use crate::solvers::algebra::parse;
use crate::vector_program::Bind;
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

/// Vectors: T_n φ, T_(n−1) φ, and A T_n φ.
const VECTORS: usize = 3;
/// Steps of the chain that tells where the spectrum ends.
const STEPS: usize = 60;
/// The part of the width by which the ends are moved out, beside the error of the chain.
const MARGIN: f64 = 0.01;
/// |T_n φ|² above this part of |φ|² shows that the spectrum is wider.
const OUTSIDE: f64 = 1.0 + 1e-8;
/// By how much the width grows then.
const WIDER: f64 = 1.25;
/// λ of the Lorentz kernel; the paper takes 3 to 5.
const LAMBDA: f64 = 4.0;

/// What damps the moments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Damping {
    /// Equation 71: peaks are nearly Gaussian, of standard deviation πa/M √(1 − x²).
    Jackson,
    /// Equation 79: peaks are Lorentzian in the middle, of half width 4a/M √(1 − x²); some values may be negative.
    Lorentz,
}

impl Damping {
    /// The width of a peak at the centre of the spectrum, for one moment and a half width of 1.
    fn width(self) -> f64 {
        match self {
            Damping::Jackson => PI,
            Damping::Lorentz => LAMBDA,
        }
    }

    /// How many moments make a peak at the centre as narrow as `eta`.
    pub fn moments(self, half_width: f64, eta: f64) -> usize {
        // At least so many that moments 0 to 2 are there.
        (self.width() * half_width / eta).ceil().max(4.0) as usize
    }

    /// g_n of M moments.
    fn factor(self, n: usize, moments: usize) -> f64 {
        let (n, m) = (n as f64, moments as f64);
        match self {
            Damping::Jackson => {
                let angle = PI / (m + 1.0);
                ((m - n + 1.0) * (angle * n).cos() + (angle * n).sin() / angle.tan()) / (m + 1.0)
            }
            Damping::Lorentz => (LAMBDA * (1.0 - n / m)).sinh() / LAMBDA.sinh(),
        }
    }
}

/// The moments of a vector.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChebyshevMoments {
    /// b.
    pub centre: f64,
    /// a.
    pub half_width: f64,
    /// µ_n.
    pub moments: Vec<f64>,
    /// Multiplies, those for the ends of the spectrum included.
    pub multiplies: usize,
}

impl ChebyshevMoments {
    /// The width of a peak at the centre of the spectrum.
    pub fn resolution(&self, damping: Damping) -> f64 {
        damping.width() * self.half_width / self.moments.len().max(1) as f64
    }

    /// S at an energy; 0 outside of the spectrum.
    pub fn density(&self, energy: f64, damping: Damping) -> f64 {
        let x = (energy - self.centre) / self.half_width;
        let root = (1.0 - x * x).sqrt();
        // NaN outside.
        if root.is_nan() || root <= 0.0 {
            return 0.0;
        }
        let (angle, count) = (x.acos(), self.moments.len());
        // What the kernel leaves at the ends, of Lorentz its tails, the root would make a pole of.
        let width = damping.width() / count.max(1) as f64;
        let root = root.max(if damping == Damping::Lorentz { width.sqrt() } else { width });
        let term = |(n, moment): (usize, &f64)| {
            let twice = if n == 0 { 1.0 } else { 2.0 };
            twice * damping.factor(n, count) * moment * (n as f64 * angle).cos()
        };
        self.moments.iter().enumerate().map(term).sum::<f64>() / (PI * self.half_width * root)
    }

    /// ∫ S dE, ∫ (E − zero) S dE and ∫ (E − zero)² S dE, exact.
    pub fn powers(&self, zero: f64) -> [f64; 3] {
        let [weight, first, second, ..] = self.moments[..] else { return [0.0; 3] };
        let (a, b) = (self.half_width, self.centre - zero);
        [weight, b * weight + a * first, b * b * weight + 2.0 * a * b * first + 0.5 * a * a * (second + weight)]
    }
}

/// The moments of `start`: as many as `wanted` says for the half width of the spectrum, which is taken to be `least` where it is less.
///
/// # Errors
/// No room for the vectors; numbers that are not finite.
pub fn chebyshev_moments<T: Scalar>(
    operator: &dyn LinearOperator<T>,
    start: &[T],
    least: f64,
    wanted: impl Fn(f64) -> usize,
) -> Result<ChebyshevMoments, SolveError> {
    let options = SolveOptions::default();
    let run = Run::new(operator, &options);
    run.plan_memory(operator, "moments", VECTORS, "")?;
    let (centre, mut half_width, before) = ends(operator, start)?;
    if before == 0 {
        return Ok(ChebyshevMoments { centre, half_width: least, moments: vec![0.0; 4], multiplies: 0 });
    }
    half_width = half_width.max(least);
    loop {
        let found = moments(&run, operator, start, (centre, half_width), wanted(half_width))?;
        if let Some(moments) = found {
            return Ok(ChebyshevMoments { centre, half_width, moments, multiplies: before + run.multiplies() });
        }
        half_width *= WIDER;
    }
}

/// The centre and half of the width of the spectrum, from a chain of the vector, and its steps; none of a vector that is zero.
fn ends<T: Scalar>(operator: &dyn LinearOperator<T>, start: &[T]) -> Result<(f64, f64, usize), SolveError> {
    let chain = krylov_chain(operator, start, &[], STEPS, |_| false)?;
    let n = chain.alpha.len();
    if n == 0 {
        return Ok((0.0, 0.0, 0));
    }
    let (values, vectors) = chain.ritz(n)?;
    let out = if chain.closed { 0.0 } else { chain.beta[n - 1] };
    let residual = |k: usize| out * vectors[k][n - 1].abs();
    let (low, high) = (values[0] - residual(0), values[n - 1] + residual(n - 1));
    let bound = operator.norm_bound();
    let (low, high) = (low.max(-bound), high.min(bound));
    let rounding = 64.0 * T::EPSILON * bound;
    Ok((0.5 * (low + high), (0.5 * (1.0 + MARGIN) * (high - low)).max(rounding), n))
}

/// So many moments; `None` if the spectrum is wider.
fn moments<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
    start: &[T],
    (b, a): (f64, f64),
    count: usize,
) -> Result<Option<Vec<f64>>, SolveError> {
    let device = operator.device();
    let program = device.program(&parse(IN_PLACE), T::TYPE, &[])?;
    let (mut newest, mut before, mut y) =
        (device.upload(start)?, device.zeros(operator.dimension())?, device.zeros(operator.dimension())?);
    let mut square = run.finite(run.algebra.dot(&newest, &newest)?, 0)?;
    let weight = square;
    let mut found = vec![weight];
    // ⟨T_(n+1) φ| T_n φ⟩ of the newest n.
    let mut product = 0.0;
    for n in 0.. {
        if found.len() >= count {
            break;
        }
        let mean = run.finite(run.apply(operator, &newest, &mut y)?, n)?;
        let (twice, kept) = if n == 0 { (1.0, 0.0) } else { (2.0, 1.0) };
        let scalars = [twice / a, twice * b / a, kept];
        let sums = program.run(&mut [Bind::Out(&mut before), Bind::In(&y), Bind::In(&newest)], &scalars)?;
        std::mem::swap(&mut newest, &mut before);
        product = twice / a * (mean - b * square) - kept * product;
        square = run.finite(sums[0], n)?;
        if square > OUTSIDE * weight {
            return Ok(None);
        }
        match n {
            0 => found.push(product),
            _ => found.push(2.0 * product - found[1]),
        }
        found.push(2.0 * square - weight);
    }
    found.truncate(count);
    Ok(Some(found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{Device, Vector};
    use crate::error::Result;
    use eigenforge_templates::Cost;

    /// A diagonal matrix.
    struct Levels(Vec<f64>, Device);

    impl LinearOperator<f64> for Levels {
        fn dimension(&self) -> usize {
            self.0.len()
        }
        fn device(&self) -> &Device {
            &self.1
        }
        fn apply(&self, x: &Vector<f64>, y: &mut Vector<f64>) -> Result<f64> {
            let x = x.download()?;
            let made: Vec<f64> = x.iter().zip(&self.0).map(|(x, level)| x * level).collect();
            y.write_part(0, &made)?;
            Ok(x.iter().zip(&made).map(|(x, y)| x * y).sum())
        }
        fn norm_bound(&self) -> f64 {
            self.0.iter().fold(0.0, |largest, level| level.abs().max(largest))
        }
        fn cost(&self) -> Cost {
            Cost { flops: 0.0, bytes: 0.0 }
        }
    }

    fn levels(count: usize, scale: f64, from: f64) -> (Levels, Vec<f64>) {
        let number = |k: usize, prime: usize| ((k * prime + 13) % 1009) as f64 / 1009.0;
        let values = (0..count).map(|k| from + scale * number(k, 7919)).collect();
        (Levels(values, Device::cpu()), (0..count).map(|k| number(k, 127) - 0.4).collect())
    }

    /// Moments are Σ w T_n(x) of all levels, powers are theirs, and the curve is the series of the paper.
    #[test]
    fn moments_are_those_of_all_levels() {
        for (count, scale, from) in [(1, 1.0, 3.0), (2, 1e-3, 0.0), (40, 5.0, -9.0), (300, 1e6, 1e3), (300, 1e-9, 0.0)]
        {
            let (operator, start) = levels(count, scale, from);
            let least = 1e-3 * scale;
            let found = chebyshev_moments(&operator, &start, least, |_| 101).unwrap();
            let weights: Vec<f64> = start.iter().map(|x| x * x).collect();
            let total: f64 = weights.iter().sum();
            let x = |level: &f64| (level - found.centre) / found.half_width;
            for (n, moment) in found.moments.iter().enumerate() {
                let of_level = |(level, weight): (&f64, &f64)| weight * (n as f64 * x(level).acos()).cos();
                let wanted: f64 = operator.0.iter().zip(&weights).map(of_level).sum();
                assert!((moment - wanted).abs() < 1e-6 * total, "{count} {scale} {n}: {moment} {wanted}");
            }
            let zero = from - scale;
            for (power, own) in found.powers(zero).into_iter().enumerate() {
                let of_level = |(level, weight): (&f64, &f64)| weight * (level - zero).powi(power as i32);
                let wanted: f64 = operator.0.iter().zip(&weights).map(of_level).sum();
                let size = total * (2.0 * scale).powi(power as i32);
                assert!((own - wanted).abs() < 1e-6 * size, "{count} {scale}, power {power}: {own} {wanted}");
            }
        }
    }

    /// Peaks are as wide as `eta`, and no weight is lost.
    #[test]
    fn kernels_resolve_what_is_asked_for() {
        let operator = Levels(vec![-4.0, 0.0, 4.0], Device::cpu());
        let start = [1e-3, 1.0, 1e-3];
        for (damping, eta) in [(Damping::Jackson, 0.1), (Damping::Jackson, 0.02), (Damping::Lorentz, 0.1)] {
            let found = chebyshev_moments(&operator, &start, eta, |half| damping.moments(half, eta)).unwrap();
            assert!(found.resolution(damping) <= eta && found.resolution(damping) > 0.9 * eta);
            let at = |energy: f64| found.density(energy, damping);
            let height = match damping {
                Damping::Jackson => 1.0 / ((2.0 * PI).sqrt() * eta),
                Damping::Lorentz => 1.0 / (PI * eta),
            };
            assert!((at(0.0) / height - 1.0).abs() < 0.08, "{damping:?} {eta}: {} {height}", at(0.0));
            let (fall, part) = if damping == Damping::Jackson { ((-0.5f64).exp(), eta) } else { (0.5, eta) };
            assert!((at(part) / at(0.0) - fall).abs() < 0.04, "{damping:?} {eta}: {} of {}", at(part), at(0.0));
            let step = 8.4 / 20_000.0;
            let sum: f64 = (0..20_000).map(|k| step * at(-4.2 + (k as f64 + 0.5) * step)).sum();
            // The tails of a Lorentzian that reach the ends of the spectrum are flattened there.
            let lost = if damping == Damping::Jackson { 1e-3 } else { 3e-3 };
            assert!((sum - 1.0).abs() < lost, "{damping:?} {eta}: {sum}");
            let highest = (0..2000).map(|k| at(-4.2 + 0.0042 * f64::from(k))).fold(0.0, f64::max);
            let edge = found.centre + found.half_width * (1.0 - 1e-15);
            assert!(at(edge).abs() < 0.05 * highest, "{damping:?} {eta}: {} at the end", at(edge));
            if damping == Damping::Jackson {
                assert!((0..2000).all(|k| at(-4.2 + 0.0042 * f64::from(k)) >= -1e-12));
            }
        }
    }

    /// A vector in which the ends of the spectrum are hidden: its moments are bounded all the same.
    #[test]
    fn a_spectrum_that_is_wider_than_it_seemed_is_found() {
        let values: Vec<f64> = (0..2000).map(|k| (k as f64 * 0.7).sin()).chain([40.0, -30.0]).collect();
        let operator = Levels(values, Device::cpu());
        let mut start = vec![1.0; 2000];
        start.extend([1e-13, 1e-13]);
        let found = chebyshev_moments(&operator, &start, 0.01, |_| 400).unwrap();
        assert!(found.moments.iter().all(|moment| moment.abs() <= 2000.0 * (1.0 + 1e-6)), "{found:?}");
        let zero = chebyshev_moments(&operator, &vec![0.0; 2002], 0.01, |_| 400).unwrap();
        assert!(zero.moments.iter().all(|moment| *moment == 0.0) && zero.density(0.1, Damping::Jackson) == 0.0);
    }
}
