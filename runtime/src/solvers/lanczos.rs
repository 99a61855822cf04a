//! Lanczos: two vectors and two runs for the ground state, thick restart for several states.
//!
//! **One state.** β_j v_{j+1} = A v_j − α_j v_j − β_{j−1} v_{j−1}: one multiply and four passes a step. Run 1 keeps only
//! the coefficients, until the estimate |β_j s_j| of the lowest Ritz pair of the tridiagonal matrix is below the
//! tolerance; run 2 makes the same vectors again from the same start (same program, same order, same bits) and adds up
//! x = Σ s_j v_j. Vectors carry their length as a number, so nothing is scaled in memory. Loss of orthogonality only
//! makes copies of converged values, which do not disturb the lowest. If the true residual is still above the tolerance
//! the pair of runs starts again from x. Four vectors. (Lanczos 1950; Cullum and Willoughby 1985.)
//!
//! **Several states.** Thick restart with full reorthogonalisation (Wu and Simon 2000): the basis is filled to m
//! vectors, the lowest Ritz vectors are kept with the last residual direction, and so on. A single start vector sees one
//! state of each degenerate level only; certification finds the others.

use super::StopReason;
use super::algebra::parse;
use super::certify::Main;
use super::checkpoint::Saver;
use super::dense::symmetric_eigen;
use super::run::Run;
use crate::device::Vector;
use crate::error::SolveError;
use crate::operator::LinearOperator;
use crate::scalar::Scalar;
use crate::trace;
use crate::vector_program::{Bind, Program};
use eigenforge_templates::vector_program::VectorProgram;
use faer::Mat;

/// Vectors of the two-vector form: v_j, v_{j−1}, A v_j and x.
pub(super) const VECTORS: usize = 4;
/// Steps between two looks at the tridiagonal matrix.
const LOOK: usize = 10;
/// Pairs of runs before giving up.
const RUNS: usize = 6;

const STEP: &str = "program lanczos_step\nvectors before : inout\nvectors y v : in\nscalars a b c\n\
    before = a * y - b * v - c * before\nsum norm2 = before * before\n";
const GATHER: &str = "program lanczos_gather\nvectors x : inout\nvectors v : in\nscalars s\nx = x + s * v\n";

/// The programs of this file.
pub(super) fn programs() -> [VectorProgram; 2] {
    [parse(STEP), parse(GATHER)]
}

/// The k lowest states.
pub(super) fn search<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
    saver: &mut Saver,
) -> Result<Main<T>, SolveError> {
    if run.options.states == 1 { ground(run, operator, saver) } else { thick_restart(run, operator, saver) }
}

/// The recurrence: u_j = length_j · v_j in memory.
struct Recurrence<'a, T: Scalar> {
    run: &'a Run<'a, T>,
    operator: &'a dyn LinearOperator<T>,
    step: Program,
    v: Vector<T>,
    before: Vector<T>,
    y: Vector<T>,
    /// v_j = scale · v, v_{j−1} = scale_before · before.
    scale: f64,
    scale_before: f64,
    beta: f64,
}

impl<T: Scalar> Recurrence<'_, T> {
    /// Starts from `v`, of any length but 0.
    fn begin(&mut self) -> Result<(), SolveError> {
        self.scale = 1.0 / self.run.algebra.dot(&self.v, &self.v)?.sqrt();
        (self.scale_before, self.beta) = (0.0, 0.0);
        Ok(())
    }

    /// The stage's number and the lengths, as a checkpoint has them.
    fn lengths(&self, stage: f64) -> [f64; 4] {
        [stage, self.scale, self.scale_before, self.beta]
    }

    /// One step; returns (α_j, β_j).
    fn advance(&mut self, iteration: usize) -> Result<(f64, f64), SolveError> {
        let mut span = trace::span("solver", "step");
        span.note("step", iteration);
        let value = self.run.apply(self.operator, &self.v, &mut self.y)?;
        let _update = self.operator.device().span("solver", "update");
        let alpha = self.run.finite(value, iteration)? * self.scale * self.scale;
        let mut binds = [Bind::Out(&mut self.before), Bind::In(&self.y), Bind::In(&self.v)];
        let scalars = [self.scale, alpha * self.scale, self.beta * self.scale_before];
        let beta = self.step.run(&mut binds, &scalars)?[0].sqrt();
        std::mem::swap(&mut self.v, &mut self.before);
        self.scale_before = self.scale;
        self.scale = if beta > 0.0 { 1.0 / beta } else { 0.0 };
        self.beta = beta;
        Ok((alpha, beta))
    }
}

/// Where a pair of runs is.
enum Stage {
    /// Nothing done yet; x is the start.
    Begin,
    /// Run 1, with the coefficients so far; x is the start.
    Coefficients { alpha: Vec<f64>, beta: Vec<f64> },
    /// Run 2, with the weights s and the next index; x is what is gathered so far.
    Vector { s: Vec<f64>, next: usize },
}

fn ground<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
    saver: &mut Saver,
) -> Result<Main<T>, SolveError> {
    run.plan_memory(operator, "Lanczos", VECTORS, "")?;
    let (device, n, options) = (operator.device(), operator.dimension(), run.options);
    let zeros = || device.zeros::<T>(n);
    let mut recurrence = Recurrence {
        run,
        operator,
        step: device.program(&parse(STEP), T::TYPE, &[])?,
        v: zeros()?,
        before: zeros()?,
        y: zeros()?,
        scale: 0.0,
        scale_before: 0.0,
        beta: 0.0,
    };
    let gather = device.program(&parse(GATHER), T::TYPE, &[])?;
    // The start of each pair of runs is kept in x: random, then the best state so far.
    let mut x = device.random::<T>(n, options.seed)?;
    let mut stage = Stage::Begin;
    let mut done = 0;
    if let Some(saved) = saver.take_resumed::<T>() {
        done = saved.iteration;
        stage = restore(&mut recurrence, &mut x, &saved.scalars, &saved.vectors)?;
    }
    let (mut history, mut best) = (Vec::new(), f64::INFINITY);
    for pair in 1.. {
        // Run 1: coefficients.
        let (mut alpha, mut beta, resumed) = match stage {
            Stage::Coefficients { alpha, beta } => (alpha, beta, None),
            Stage::Vector { s, next } => (Vec::new(), Vec::new(), Some((s, next))),
            Stage::Begin => {
                recurrence.v.copy_from(&x)?;
                recurrence.begin()?;
                (Vec::new(), Vec::new(), None)
            }
        };
        let (s, next) = match resumed {
            Some(inside) => inside,
            None => {
                let before = done - alpha.len().min(done);
                let s = coefficients(&mut recurrence, &mut alpha, &mut beta, before, &x, &mut history, saver)?;
                done = before + alpha.len();
                // Run 2: the same vectors again, gathered into x. The first is x itself.
                recurrence.v.copy_from(&x)?;
                recurrence.begin()?;
                run.algebra.scale(&mut x, s.first().copied().unwrap_or(1.0) * recurrence.scale)?;
                (s, 1)
            }
        };
        for (j, s_j) in s.iter().enumerate().skip(next) {
            recurrence.advance(j)?;
            let _gather = recurrence.operator.device().span("solver", "gather");
            gather.run(&mut [Bind::Out(&mut x), Bind::In(&recurrence.v)], &[s_j * recurrence.scale])?;
            run.progress("lanczos: vector", j, &[], options.tolerance, false);
            if saver.due() {
                let scalars = [&recurrence.lengths(2.0)[..], &[(j + 1) as f64], &s].concat();
                saver.save("run 2", done, &scalars, &[&x, &recurrence.v, &recurrence.before])?;
            }
        }
        let length = run.algebra.dot(&x, &x)?.sqrt();
        run.algebra.scale(&mut x, 1.0 / length)?;
        let value = run.apply(operator, &x, &mut recurrence.y)?;
        let residual = run.algebra.residual(&mut recurrence.y, &x, value)?.sqrt();
        history.push((done, value, residual));
        let stop = if residual <= options.tolerance {
            Some(StopReason::Converged)
        } else if residual > 0.5 * best || pair == RUNS {
            Some(StopReason::Stagnated)
        } else if s.len() >= options.max_iterations {
            Some(StopReason::MaxIterations)
        } else {
            None
        };
        best = best.min(residual);
        run.progress("lanczos", done, &[value], residual, true);
        saver.save("between runs", done, &recurrence.lengths(0.0), &[&x])?;
        if let Some(stop) = stop {
            return Ok(Main { values: vec![value], vectors: vec![x], iterations: done, stop, history, notes: vec![] });
        }
        stage = Stage::Begin;
    }
    unreachable!("the loop ends after {RUNS} pairs of runs at the latest")
}

/// Run 1, from where `alpha` and `beta` end, until the lowest Ritz pair is good enough; returns its weights s.
fn coefficients<T: Scalar>(
    recurrence: &mut Recurrence<'_, T>,
    alpha: &mut Vec<f64>,
    beta: &mut Vec<f64>,
    before: usize,
    x: &Vector<T>,
    history: &mut Vec<(usize, f64, f64)>,
    saver: &mut Saver,
) -> Result<Vec<f64>, SolveError> {
    let run = recurrence.run;
    let floor = 2.0 * T::EPSILON * recurrence.operator.norm_bound();
    loop {
        let (a, b) = recurrence.advance(alpha.len())?;
        alpha.push(a);
        beta.push(b);
        let j = alpha.len();
        let last = b <= floor || j >= run.options.max_iterations;
        if j.is_multiple_of(LOOK) || last {
            let small = trace::span("solver", "small problem");
            let (value, s) = lowest_of_tridiagonal(alpha, beta);
            drop(small);
            let estimate = b * s[j - 1].abs();
            history.push((before + j, value, estimate));
            run.progress("lanczos", before + j, &[value], estimate, false);
            if last || estimate <= (0.5 * run.options.tolerance).max(floor) {
                return Ok(s);
            }
        }
        if saver.due() {
            let scalars = [&recurrence.lengths(1.0)[..], alpha, beta].concat();
            saver.save("run 1", before + j, &scalars, &[x, &recurrence.v, &recurrence.before])?;
        }
    }
}

/// Puts a saved state back.
fn restore<T: Scalar>(
    recurrence: &mut Recurrence<'_, T>,
    x: &mut Vector<T>,
    scalars: &[f64],
    vectors: &[Vec<T>],
) -> Result<Stage, SolveError> {
    let ([stage, scale, scale_before, beta, rest @ ..], Some(first)) = (scalars, vectors.first()) else {
        return Ok(Stage::Begin);
    };
    x.write(first)?;
    let [_, v, before] = vectors else { return Ok(Stage::Begin) };
    recurrence.v.write(v)?;
    recurrence.before.write(before)?;
    (recurrence.scale, recurrence.scale_before, recurrence.beta) = (*scale, *scale_before, *beta);
    if let (2.0, [next, s @ ..]) = (*stage, rest) {
        return Ok(Stage::Vector { s: s.to_vec(), next: *next as usize });
    }
    let (alpha, beta) = rest.split_at(rest.len() / 2);
    Ok(Stage::Coefficients { alpha: alpha.to_vec(), beta: beta.to_vec() })
}

/// Lowest eigenvalue (bisection on Sturm counts) and unit eigenvector (inverse iteration) of the tridiagonal matrix with
/// diagonal α and off-diagonal β[..n-1].
fn lowest_of_tridiagonal(alpha: &[f64], beta: &[f64]) -> (f64, Vec<f64>) {
    let n = alpha.len();
    if n == 1 {
        return (alpha[0], vec![1.0]);
    }
    let off = |i: usize| if i + 1 < n { beta[i] } else { 0.0 };
    let radius = |i: usize| off(i).abs() + if i > 0 { beta[i - 1].abs() } else { 0.0 };
    let mut low = (0..n).map(|i| alpha[i] - radius(i)).fold(f64::INFINITY, f64::min);
    let mut high = (0..n).map(|i| alpha[i]).fold(f64::INFINITY, f64::min);
    let scale = low.abs().max(high.abs()).max(f64::MIN_POSITIVE);
    // Any eigenvalue below `at`: a negative pivot of T - at.
    let below = |at: f64| {
        let mut pivot = 1.0;
        (0..n).any(|i| {
            let coupling = if i > 0 { beta[i - 1] * beta[i - 1] } else { 0.0 };
            pivot = alpha[i] - at - if i > 0 { coupling / pivot } else { 0.0 };
            if pivot == 0.0 {
                pivot = f64::EPSILON * scale;
            }
            pivot < 0.0
        })
    };
    high += f64::EPSILON * scale;
    while high - low > 2.0 * f64::EPSILON * scale {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if below(middle) { high = middle } else { low = middle }
    }
    // T - low is positive definite up to rounding, so elimination needs no pivoting.
    let mut s = vec![1.0 / (n as f64).sqrt(); n];
    for _ in 0..4 {
        let mut pivots = vec![0.0; n];
        for i in 0..n {
            let coupling = if i > 0 { beta[i - 1] * beta[i - 1] / pivots[i - 1] } else { 0.0 };
            let pivot = alpha[i] - low - coupling;
            pivots[i] = if pivot.abs() < f64::EPSILON * scale { f64::EPSILON * scale } else { pivot };
        }
        for i in 1..n {
            s[i] -= beta[i - 1] / pivots[i - 1] * s[i - 1];
        }
        s[n - 1] /= pivots[n - 1];
        for i in (0..n - 1).rev() {
            s[i] = (s[i] - beta[i] * s[i + 1]) / pivots[i];
        }
        let largest = s.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        s.iter_mut().for_each(|v| *v /= largest);
        let length = s.iter().map(|v| v * v).sum::<f64>().sqrt();
        s.iter_mut().for_each(|v| *v /= length);
    }
    (0.5 * (low + high), s)
}

/// Size of the basis for k states, and how much of it a restart keeps: enough for the Krylov space between restarts to
/// tell close levels apart.
fn sizes(states: usize, dimension: usize) -> (usize, usize) {
    let m = (2 * states + 16).max(24).min(dimension - 1);
    (m, (states + (m - states) / 3).min(m - 2))
}

/// Vectors that the thick restart holds.
pub(super) fn thick_vectors(states: usize, dimension: usize) -> usize {
    let (m, keep) = sizes(states, dimension);
    m + 1 + keep
}

fn thick_restart<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
    saver: &mut Saver,
) -> Result<Main<T>, SolveError> {
    let (device, n, options) = (operator.device(), operator.dimension(), run.options);
    let k = options.states;
    let ((m, keep), algebra) = (sizes(k, n), &run.algebra);
    run.plan_memory(operator, "thick-restart Lanczos", thick_vectors(k, n), "")?;
    // v[0..m] and, in v[m], the next direction; `kept` takes the Ritz vectors at a restart.
    let mut v = (0..=m).map(|_| device.zeros::<T>(n)).collect::<Result<Vec<_>, _>>()?;
    let mut kept = (0..keep).map(|_| device.zeros::<T>(n)).collect::<Result<Vec<_>, _>>()?;
    device.fill_random(&mut v[0], options.seed)?;
    algebra.orthonormalise(&mut v[0], &[])?;
    let mut projected = Mat::<f64>::zeros(m, m);
    let (mut filled, mut steps) = (0, 0);
    if let Some(saved) = saver.take_resumed::<T>() {
        // The kept Ritz vectors and the next direction.
        filled = saved.vectors.len() - 1;
        steps = saved.iteration;
        for (vector, values) in v.iter_mut().zip(&saved.vectors) {
            vector.write(values)?;
        }
        for j in 0..filled {
            projected[(j, j)] = saved.scalars[j];
            projected[(j, filled)] = saved.scalars[filled + j];
            projected[(filled, j)] = saved.scalars[filled + j];
        }
    }
    let floor = 2.0 * T::EPSILON * operator.norm_bound();
    let (mut history, mut best, mut idle) = (Vec::new(), f64::INFINITY, 0);
    loop {
        let mut beta = 0.0;
        while filled < m {
            // v[filled+1] = A v[filled], orthogonalised against everything before; its overlaps fill the matrix.
            let (before, rest) = v.split_at_mut(filled + 1);
            let image = &mut rest[0];
            let alpha = run.apply(operator, &before[filled], image)?;
            projected[(filled, filled)] = run.finite(alpha, steps)?;
            steps += 1;
            let _orthogonalise = device.span("solver", "orthogonalise");
            let basis: Vec<&Vector<T>> = before.iter().collect();
            for _ in 0..2 {
                let c: Vec<Vec<f64>> = algebra.gram(&basis, &[image])?.iter().map(|r| vec![-r[0]]).collect();
                algebra.combine(std::slice::from_mut(image), &basis, &c, true)?;
            }
            beta = algebra.dot(image, image)?.sqrt();
            if beta <= floor {
                // An invariant space: go on with a direction of its own, uncoupled.
                beta = 0.0;
                device.fill_random(image, options.seed.wrapping_add(77 + steps as u64))?;
                algebra.orthonormalise(image, &basis)?;
            } else {
                algebra.scale(image, 1.0 / beta)?;
            }
            filled += 1;
            if filled < m {
                projected[(filled, filled - 1)] = beta;
                projected[(filled - 1, filled)] = beta;
            }
        }
        let small = trace::span("solver", "small problem");
        let (values, s) = symmetric_eigen(&projected)?;
        drop(small);
        let residuals: Vec<f64> = (0..k).map(|j| (beta * s[(m - 1, j)]).abs()).collect();
        let worst = residuals.iter().fold(0.0f64, |a, r| a.max(*r));
        history.push((steps, values[0], residuals[0]));
        let converged = worst <= (0.5 * options.tolerance).max(floor);
        run.progress("lanczos", steps, &values[..k], worst, converged);
        idle = if worst < 0.9 * best { 0 } else { idle + 1 };
        best = best.min(worst);
        let stop = match () {
            () if converged && worst <= options.tolerance => Some(StopReason::Converged),
            () if converged || idle >= 40 => Some(StopReason::Stagnated),
            () if steps >= options.max_iterations => Some(StopReason::MaxIterations),
            () => None,
        };
        let count = if stop.is_some() { k } else { keep };
        let c: Vec<Vec<f64>> = (0..m).map(|i| (0..count).map(|j| s[(i, j)]).collect()).collect();
        let basis: Vec<&Vector<T>> = v[..m].iter().collect();
        algebra.combine(&mut kept[..count], &basis, &c, false)?;
        if let Some(stop) = stop {
            kept.truncate(k);
            let values = values[..k].to_vec();
            return Ok(Main { values, vectors: kept, iterations: steps, stop, history, notes: Vec::new() });
        }
        for (to, from) in v.iter_mut().zip(kept.iter_mut()) {
            std::mem::swap(to, from);
        }
        v.swap(keep, m);
        projected = Mat::zeros(m, m);
        let couplings: Vec<f64> = (0..keep).map(|j| beta * s[(m - 1, j)]).collect();
        for j in 0..keep {
            projected[(j, j)] = values[j];
            projected[(j, keep)] = couplings[j];
            projected[(keep, j)] = couplings[j];
        }
        filled = keep;
        if saver.due() {
            let scalars: Vec<f64> = values[..keep].iter().chain(&couplings).copied().collect();
            saver.save("lanczos", steps, &scalars, &v[..=keep].iter().collect::<Vec<_>>())?;
        }
    }
}
