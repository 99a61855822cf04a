//! The recurrence of certification: Lanczos for (A − λ) from a random vector outside the states found, without keeping its basis.
//!
//! In the [metric](super::metric) M: β_{j+1} v_{j+1} = (A − λ) z_j − α_j v_j − β_j v_{j−1} with z_j = P M⁻¹ v_j, v_i·z_j = δ_ij, where P takes out the
//! states found. Vectors carry their length as a number, as in [`lanczos`](super::super::lanczos).

use super::super::algebra::parse;
use super::super::run::Run;
use super::metric::Metric;
use crate::device::Vector;
use crate::error::SolveError;
use crate::operator::LinearOperator;
use crate::scalar::Scalar;
use crate::trace;
use crate::vector_program::{Bind, Program};

/// The next vector in place of the one before, with its square for the plain metric.
pub(super) const STEP: &str = "program certify_step\nvectors before : inout\nvectors y v : in\nscalars a b c\n\
    before = a * y - b * v - c * before\nsum norm2 = before * before\n";
/// The same with z beside v.
pub(super) const STEP_BY_DIAGONAL: &str = "program certify_step_by_diagonal\nvectors before : inout\nvectors y z v : in\n\
    scalars a b c d\nbefore = a * y - d * z - b * v - c * before\n";

/// What a chain is about.
pub(super) struct Subject<'a, T: Scalar> {
    pub(super) run: &'a Run<'a, T>,
    pub(super) operator: &'a dyn LinearOperator<T>,
    /// The states found, orthonormal.
    pub(super) found: &'a [Vector<T>],
    pub(super) metric: Option<&'a Metric>,
    /// λ.
    pub(super) level: f64,
    pub(super) seed: u64,
}

/// The recurrence so far.
pub(super) struct Chain<'a, T: Scalar> {
    subject: &'a Subject<'a, T>,
    step: Program,
    /// v_{j−1} and v_j, times a length each.
    before: Vector<T>,
    v: Vector<T>,
    /// M⁻¹ v_j, and what it becomes under A.
    z: Option<Vector<T>>,
    y: Vector<T>,
    scale: f64,
    scale_before: f64,
    beta: f64,
    /// The square of the start, v·M⁻¹ v.
    pub(super) square: f64,
}

impl<'a, T: Scalar> Chain<'a, T> {
    /// Vectors that it holds.
    pub(super) fn vectors(metric: Option<&Metric>) -> usize {
        3 + usize::from(metric.is_some())
    }

    /// At its random start.
    pub(super) fn begin(subject: &'a Subject<'a, T>) -> Result<Chain<'a, T>, SolveError> {
        let (device, n) = (subject.operator.device(), subject.operator.dimension());
        let text = if subject.metric.is_some() { STEP_BY_DIAGONAL } else { STEP };
        let step = device.program(&parse(text), T::TYPE, &[])?;
        let [before, mut v, mut y] = [device.zeros(n)?, device.zeros(n)?, device.zeros(n)?];
        let z = subject.metric.map(|_| device.zeros(n)).transpose()?;
        device.fill_random(&mut v, subject.seed)?;
        if let Some(metric) = subject.metric {
            // The low states have most of their weight where the diagonal is low.
            metric.divide(&mut y, &v)?;
            std::mem::swap(&mut v, &mut y);
        }
        let mut chain = Chain { subject, step, before, v, z, y, scale: 0.0, scale_before: 0.0, beta: 0.0, square: 0.0 };
        for _ in 0..2 {
            chain.take_out_states()?;
        }
        let square = chain.subject.run.algebra.dot(&chain.v, &chain.v)?;
        chain.square = chain.divide(square)?;
        (chain.scale, chain.beta) = (scale(chain.square.sqrt()), 0.0);
        Ok(chain)
    }

    /// One step: α_j and β_{j+1}. `is_purged`: what rounding has brought of the states found into the new vector is taken out.
    pub(super) fn advance(&mut self, iteration: usize, is_purged: bool) -> Result<(f64, f64), SolveError> {
        let mut span = trace::span("solver", "step");
        span.note("step", iteration);
        let Subject { run, operator, level, .. } = *self.subject;
        let source = self.z.as_ref().unwrap_or(&self.v);
        let value = run.finite(run.apply(operator, source, &mut self.y)?, iteration)?;
        let update = operator.device().span("solver", "update");
        let (scale_now, alpha, sums) = match &self.z {
            None => {
                let alpha = value * self.scale * self.scale - level;
                let scalars = [self.scale, (alpha + level) * self.scale, self.beta * self.scale_before];
                let binds = &mut [Bind::Out(&mut self.before), Bind::In(&self.y), Bind::In(&self.v)];
                (self.scale, alpha, self.step.run(binds, &scalars)?)
            }
            Some(z) => {
                let alpha = (value - level * run.algebra.dot(z, z)?) * self.scale * self.scale;
                let scalars = [self.scale, alpha * self.scale, self.beta * self.scale_before, level * self.scale];
                let binds = &mut [Bind::Out(&mut self.before), Bind::In(&self.y), Bind::In(z), Bind::In(&self.v)];
                (self.scale, alpha, self.step.run(binds, &scalars)?)
            }
        };
        drop(update);
        std::mem::swap(&mut self.before, &mut self.v);
        let mut square = sums.first().copied().unwrap_or(0.0);
        if is_purged {
            self.take_out_states()?;
            square = if self.z.is_none() { run.algebra.dot(&self.v, &self.v)? } else { 0.0 };
        }
        self.beta = self.divide(square)?.max(0.0).sqrt();
        (self.scale_before, self.scale) = (scale_now, scale(self.beta));
        Ok((alpha, self.beta))
    }

    /// z = P M⁻¹ v and v·z; v·v, which is known, in the plain metric.
    fn divide(&mut self, square: f64) -> Result<f64, SolveError> {
        let (Some(metric), Some(z)) = (self.subject.metric, &mut self.z) else { return Ok(square) };
        metric.divide(z, &self.v)?;
        remove(self.subject, z)?;
        Ok(self.subject.run.algebra.dot(&self.v, z)?)
    }

    fn take_out_states(&mut self) -> Result<(), SolveError> {
        remove(self.subject, &mut self.v)
    }

    /// A vector of zeros.
    pub(super) fn empty_vector(&self) -> Result<Vector<T>, SolveError> {
        Ok(self.subject.operator.device().zeros(self.subject.operator.dimension())?)
    }

    /// x ← x + weight v_j.
    pub(super) fn add_to(&self, x: &mut Vector<T>, weight: f64) -> Result<(), SolveError> {
        let weights = [vec![weight * self.scale]];
        Ok(self.subject.run.algebra.combine(std::slice::from_mut(x), &[&self.v], &weights, true)?)
    }

    /// A copy of v_j of length 1, in `to`.
    pub(super) fn copy_to(&self, to: &mut Vector<T>) -> Result<(), SolveError> {
        let weights = [vec![self.scale]];
        Ok(self.subject.run.algebra.combine(std::slice::from_mut(to), &[&self.v], &weights, false)?)
    }

    /// x = M⁻¹ u, in the memory of y.
    pub(super) fn state(mut self, mut u: Vector<T>) -> Result<Vector<T>, SolveError> {
        if let Some(metric) = self.subject.metric {
            metric.divide(&mut self.y, &u)?;
            std::mem::swap(&mut u, &mut self.y);
        }
        let found: Vec<&Vector<T>> = self.subject.found.iter().collect();
        self.subject.run.algebra.orthonormalise(&mut u, &found)?;
        Ok(u)
    }
}

/// Takes the states found out of a vector.
fn remove<T: Scalar>(subject: &Subject<'_, T>, x: &mut Vector<T>) -> Result<(), SolveError> {
    if subject.found.is_empty() {
        return Ok(());
    }
    let algebra = &subject.run.algebra;
    let found: Vec<&Vector<T>> = subject.found.iter().collect();
    let overlaps: Vec<Vec<f64>> = algebra.gram(&found, &[x])?.iter().map(|row| vec![-row[0]]).collect();
    Ok(algebra.combine(std::slice::from_mut(x), &found, &overlaps, true)?)
}

/// The factor that normalises a vector of this length; 0 for 0.
fn scale(length: f64) -> f64 {
    if length > 0.0 { 1.0 / length } else { 0.0 }
}
