//! A state as a function of time: ψ(t) = exp(−iHt) ψ(0), or exp(−Ht) ψ(0) / ‖·‖.
//!
//! In: H, ψ(0), times, a tolerance. Out: ψ at each time, given to a visitor where it is, on the device, and the sum of the steps' bounds. Each
//! step is as long as its bound allows ([`super::exponential`]), with its share of the tolerance, and states within it are made from its basis
//! without another multiply.
//!
//! In imaginary time an error grows beside the state by at most exp(−E₀ t) / ‖exp(−Ht) ψ‖; that is counted with the lowest value of T that was
//! found in place of E₀.

use super::super::run::Run;
use super::super::{CheckpointOptions, SolveOptions};
use super::evolution_checkpoint::{EvolutionSaver, SavedEvolution};
use super::exponential::TimeAxis;
use super::propagator::{FEWEST, Parts, Propagator, VECTORS_BESIDE, most_vectors};
use crate::device::Vector;
use crate::error::SolveError;
use crate::operator::LinearOperator;
use crate::scalar::Scalar;

/// How a state evolves.
#[derive(Clone, Debug, PartialEq)]
pub struct EvolutionOptions {
    /// Times at which the state is wanted, ascending, 0 or more; the last ends the evolution.
    pub times: Vec<f64>,
    /// The sum of the steps' bounds stays below it, as far as rounding allows.
    pub tolerance: f64,
    /// Whether exp(−Ht) ψ, normalised, is wanted in place of exp(−iHt) ψ.
    pub imaginary: bool,
    /// Vectors of a basis at most; `None` for as many as pay.
    pub vectors: Option<usize>,
    /// Bytes of the device that may be used; `None` for what is free.
    pub memory_limit: Option<u64>,
    /// Where the state is saved, if it is.
    pub checkpoint: Option<CheckpointOptions>,
}

impl EvolutionOptions {
    /// In real time with bases as long as pay.
    pub fn new(times: Vec<f64>, tolerance: f64) -> EvolutionOptions {
        EvolutionOptions { times, tolerance, imaginary: false, vectors: None, memory_limit: None, checkpoint: None }
    }

    pub(super) fn axis(&self) -> TimeAxis {
        if self.imaginary { TimeAxis::Imaginary } else { TimeAxis::Real }
    }

    pub(super) fn last_time(&self) -> f64 {
        self.times.last().copied().unwrap_or(0.0)
    }

    /// Refuses times and tolerances that mean nothing.
    pub(super) fn check(&self) -> Result<(), SolveError> {
        let ascend = self.times.windows(2).all(|pair| pair[0] < pair[1]);
        let is_range = self.times.first().is_some_and(|first| *first >= 0.0) && self.last_time().is_finite();
        if !(ascend && is_range) {
            let (value, expected) = (format!("{:?}", self.times), "finite times from 0 on, each above the one before");
            return Err(SolveError::Option { name: "times", value, expected });
        }
        if !(self.tolerance > 0.0 && self.tolerance.is_finite()) {
            let (value, expected) = (self.tolerance.to_string(), "a number above 0");
            return Err(SolveError::Option { name: "tolerance", value, expected });
        }
        Ok(())
    }
}

/// A state of an evolution, of length 1.
#[derive(Debug)]
pub struct EvolvedState<'s, T: Scalar> {
    /// Its time.
    pub time: f64,
    /// Real and imaginary parts: two vectors, or of a complex H one that holds both.
    pub parts: Vec<&'s Vector<T>>,
    /// ⟨ψ(0)|ψ(t)⟩, real and imaginary part.
    pub overlap: [f64; 2],
    /// ln ‖exp(−Ht) ψ(0)‖ in imaginary time, else 0.
    pub log_norm: f64,
    /// The sum of the bounds so far.
    pub bound: f64,
}

/// How an evolution went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EvolutionSteps {
    /// Steps in time.
    pub steps: usize,
    /// Multiplies with H.
    pub multiplies: usize,
    /// Vectors that a basis had room for.
    pub vectors: usize,
    /// The sum of the steps' bounds of ‖ψ − ψ exact‖, rounding included.
    pub bound: f64,
    /// The part of it that is an estimate: of a H(t), what halves of a step changed.
    pub estimated: f64,
}

/// Vectors of the length of H beside those of a propagator: the newest state, the next, the start, and one for the visitor.
fn vectors_of_run(is_complex: bool) -> usize {
    if is_complex { 1 + 1 + 2 + 1 } else { 2 + 2 + 2 + 1 }
}

/// How many vectors a basis has room for; refuses, with the numbers, where they are too few.
pub(super) fn planned<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
    options: &EvolutionOptions,
    more: usize,
) -> Result<usize, SolveError> {
    let is_complex = operator.is_complex();
    let chains = if is_complex { 1 } else { 2 };
    let others = VECTORS_BESIDE + vectors_of_run(is_complex) + more;
    let fewest = FEWEST.min(operator.dimension());
    run.plan_memory(operator, "an evolution", others + chains * fewest, "; start it in a smaller sector")?;
    let spare = run.spare(operator, others) / chains;
    let most = most_vectors(operator, options.axis(), (options.last_time(), options.times.len()));
    Ok(options.vectors.unwrap_or(most).clamp(fewest, most.max(fewest)).min(spare.max(fewest)).max(1))
}

pub(super) fn solve_options(options: &EvolutionOptions) -> SolveOptions {
    SolveOptions { memory_limit: options.memory_limit, ..SolveOptions::default() }
}

/// ψ(0) on the device, for overlaps with it.
pub(super) struct Start<T: Scalar> {
    own: Parts<T>,
    /// J ψ(0) of a complex H.
    turned: Option<Vector<T>>,
}

impl<T: Scalar> Start<T> {
    /// A start of length 1.
    ///
    /// # Errors
    /// A vector that is zero or not finite.
    pub(super) fn new(
        run: &Run<'_, T>,
        operator: &dyn LinearOperator<T>,
        [re, im]: [&[f64]; 2],
    ) -> Result<(Start<T>, Parts<T>), SolveError> {
        let largest = re.iter().chain(im).fold(0.0f64, |largest, value| value.abs().max(largest));
        let all_finite = re.iter().chain(im).all(|value| value.is_finite());
        if !(all_finite && largest > 0.0) {
            let value = if all_finite { "a vector of zeros" } else { "a vector with numbers that are not finite" };
            return Err(SolveError::Option { name: "start", value: value.into(), expected: "a state" });
        }
        let square = |values: &[f64]| values.iter().map(|value| (value / largest).powi(2)).sum::<f64>();
        let length = (square(re) + square(im)).sqrt();
        // In two steps, for lengths whose squares leave the range of numbers.
        let scaled = |values: &[f64]| values.iter().map(|value| value / largest).collect::<Vec<f64>>();
        let mut state = Parts::zeros(operator)?;
        state.write([&scaled(re), &scaled(im)], length)?;
        let mut own = Parts(Vec::new());
        for vector in &state.0 {
            own.0.push(vector.duplicate()?);
        }
        let turned = operator.is_complex().then(|| run.algebra.turned(&state.0[0])).transpose()?;
        let is_real = im.iter().all(|value| *value == 0.0);
        if !operator.is_complex() && is_real {
            own.0.pop();
        }
        Ok((Start { own, turned }, state))
    }

    /// Its vectors.
    pub(super) fn vectors(&self) -> &Parts<T> {
        &self.own
    }

    /// The start whose vectors these are.
    pub(super) fn restored(run: &Run<'_, T>, own: Parts<T>, is_complex: bool) -> Result<Start<T>, SolveError> {
        let turned = is_complex.then(|| run.algebra.turned(&own.0[0])).transpose()?;
        Ok(Start { own, turned })
    }

    /// ⟨ψ(0)|ψ⟩.
    fn overlap(&self, run: &Run<'_, T>, state: &Parts<T>) -> Result<[f64; 2], SolveError> {
        let dot = |x: &Vector<T>, y: &Vector<T>| run.algebra.dot(x, y);
        Ok(match (&self.own.0[..], &state.0[..], &self.turned) {
            ([own], [whole], Some(turned)) => [dot(own, whole)?, dot(turned, whole)?],
            ([own], [re, im], _) => [dot(own, re)?, dot(own, im)?],
            ([a, b], [re, im], _) => [dot(a, re)? + dot(b, im)?, dot(a, im)? - dot(b, re)?],
            _ => unreachable!("one vector or two"),
        })
    }

    pub(super) fn evolved<'s>(
        &self,
        run: &Run<'_, T>,
        state: &'s Parts<T>,
        (time, log_norm, bound): (f64, f64, f64),
    ) -> Result<EvolvedState<'s, T>, SolveError> {
        let overlap = self.overlap(run, state)?;
        Ok(EvolvedState { time, parts: state.0.iter().collect(), overlap, log_norm, bound })
    }
}

/// Sees the states of an evolution. What it has seen stands in checkpoints as a text of its own.
pub trait EvolutionVisitor<T: Scalar> {
    /// What may go wrong.
    type Error: From<SolveError>;

    /// Sees a state.
    ///
    /// # Errors
    /// Its own, which end the evolution.
    fn visit(&mut self, state: &EvolvedState<'_, T>) -> Result<(), Self::Error>;

    /// What it has seen, for a checkpoint.
    fn notes(&self) -> String {
        String::new()
    }

    /// Takes what it had seen when these notes were made; says whether it could read them.
    fn restore(&mut self, _notes: &str) -> bool {
        true
    }
}

impl<T: Scalar, E: From<SolveError>, F: FnMut(&EvolvedState<'_, T>) -> Result<(), E>> EvolutionVisitor<T> for F {
    type Error = E;

    fn visit(&mut self, state: &EvolvedState<'_, T>) -> Result<(), E> {
        self(state)
    }
}

/// Evolves a state, given by the real and the imaginary parts of its amplitudes, of any length but 0. The visitor sees it at each of the times.
///
/// # Errors
/// A start that is zero or not finite, times that do not ascend; no room for a basis of six vectors; a checkpoint of another evolution, a signal
/// that waited for one; the device's and the visitor's.
pub fn evolve<T: Scalar, V: EvolutionVisitor<T>>(
    operator: &dyn LinearOperator<T>,
    start: [&[f64]; 2],
    options: &EvolutionOptions,
    mut visitor: V,
) -> Result<EvolutionSteps, V::Error> {
    options.check()?;
    let (solve_options, until) = (solve_options(options), options.last_time());
    let run = Run::new(operator, &solve_options);
    let vectors = planned(&run, operator, options, 0)?;
    let mut saver = EvolutionSaver::open(operator, options)?;
    let (mut start, mut state) = Start::new(&run, operator, start)?;
    let mut made = Parts::zeros(operator)?;
    let mut propagator = Propagator::new(&run, operator, options.axis(), vectors)?;
    let mut norm = NormOfState::new(options.axis());
    let mut course = SavedEvolution::default();
    if let Some(saved) = saver.resume(&run, (&mut start, &mut state), &mut visitor)? {
        (course, norm) = (saved, NormOfState { axis: options.axis(), ..saved.norm });
    }
    let before = course.multiplies;
    let mut wanted = options.times.iter().copied().skip(course.seen).peekable();
    if wanted.next_if(|time| *time <= 0.0).is_some() {
        visitor.visit(&start.evolved(&run, &state, (0.0, 0.0, 0.0))?)?;
        course.seen += 1;
    }
    while course.now < until {
        let SavedEvolution { now, bound, .. } = course;
        let left = until - now;
        // What all steps to then may have added, less what they have.
        let share = |tolerance: f64, time: f64| tolerance * ((now + time) / until) - bound;
        propagator.begin(&state, left, share(options.tolerance, left))?;
        norm.begin(&propagator);
        let tolerance = options.tolerance / norm.growth;
        let found = propagator.longest_step(left, |time| share(tolerance, time));
        let end = if found.step >= left { until } else { now + found.step };
        if end <= now {
            let (value, expected) = (format!("{:e}", options.tolerance), "a number that steps in time can reach");
            return Err(SolveError::Option { name: "tolerance", value, expected }.into());
        }
        while let Some(time) = wanted.next_if(|time| *time < end) {
            propagator.state(time - now, &mut made)?;
            let (log_norm, factor) = norm.normalised(&run, &mut made, time - now)?;
            visitor.visit(&start.evolved(&run, &made, (time, log_norm, factor * bound + found.bound))?)?;
            course.seen += 1;
        }
        propagator.state(end - now, &mut made)?;
        let (log_norm, factor) = norm.normalised(&run, &mut made, end - now)?;
        std::mem::swap(&mut state, &mut made);
        (course.bound, norm.log_norm, course.now) = (factor * bound + found.bound, log_norm, end);
        course.steps += 1;
        if wanted.next_if(|time| *time <= end).is_some() {
            visitor.visit(&start.evolved(&run, &state, (end, log_norm, course.bound))?)?;
            course.seen += 1;
        }
        (course.multiplies, course.norm) = (before + run.multiplies(), norm);
        saver.save_if_due(&course, &start, &state, &visitor)?;
    }
    saver.ended()?;
    let SavedEvolution { steps, multiplies, bound, .. } = course;
    Ok(EvolutionSteps { steps, multiplies, vectors, bound, estimated: 0.0 })
}

/// The norm of exp(−Ht) ψ(0), and by how much errors grow beside it. In real time nothing grows.
#[derive(Clone, Copy, Debug)]
pub(super) struct NormOfState {
    pub axis: TimeAxis,
    /// ln of the norm at the beginning of the step.
    pub log_norm: f64,
    /// The lowest value of all projected H, and that of the step.
    pub lowest: f64,
    pub shift: f64,
    /// By how much errors grow from the start to the end at most: 1 / |⟨lowest|ψ(0)⟩| in the first basis.
    pub growth: f64,
    pub is_first: bool,
}

/// The start has at least so much of the lowest state that errors are not asked to be less for it.
const MOST_GROWTH: f64 = 1e6;

impl NormOfState {
    pub(super) fn new(axis: TimeAxis) -> NormOfState {
        NormOfState { axis, log_norm: 0.0, lowest: f64::INFINITY, shift: 0.0, growth: 1.0, is_first: true }
    }

    /// Takes note of the bases of a step.
    fn begin<T: Scalar>(&mut self, propagator: &Propagator<'_, T>) {
        if self.axis == TimeAxis::Real {
            return;
        }
        let (lowest, weight) = propagator.lowest();
        (self.shift, self.lowest) = (lowest, self.lowest.min(lowest));
        if std::mem::take(&mut self.is_first) {
            self.growth = weight.recip().clamp(1.0, MOST_GROWTH);
        }
    }

    /// Gives a state of the step the length 1; returns ln ‖exp(−Ht) ψ(0)‖ and by how much earlier errors have grown beside it.
    fn normalised<T: Scalar>(
        &self,
        run: &Run<'_, T>,
        state: &mut Parts<T>,
        time: f64,
    ) -> Result<(f64, f64), SolveError> {
        if self.axis == TimeAxis::Real {
            return Ok((0.0, 1.0));
        }
        let length = run.finite(state.norm(run)?, 0)?;
        state.scale(run, 1.0 / length)?;
        let own = length.ln() - self.shift * time;
        Ok((self.log_norm + own, (-self.lowest * time - own).exp().max(1.0)))
    }
}

#[cfg(test)]
mod tests;
