//! A state under H(t) = Σ_k f_k(t) H_k: i ψ′ = H(t) ψ.
//!
//! In: the H_k on a device, the f_k, ψ(0). Out: ψ at each time. A step of length h is
//!
//! exp(−ih (a₂ A₁ + a₁ A₂)) exp(−ih (a₁ A₁ + a₂ A₂)),   A_{1,2} = H(t + (½ ∓ √3/6) h),   a_{1,2} = ¼ ± √3/6,
//!
//! of fourth order, without commutators (S. Blanes and P. C. Moan, Appl. Numer. Math. 56, 1519 (2006); A. Alvermann and H. Fehske, J. Comput.
//! Phys. 230, 5930 (2011)). Each is made once and in two halves; the halves are kept, and their error is about 1/15 of the difference. Steps end
//! at the times that are wanted. Nothing is compiled for a step: coefficients are numbers of one linear combination. A step that a f_k leaves
//! unseen, such as a pulse between the six places at which it looks, is halved before it is made (`time_coefficients`).

use super::super::run::Run;
use super::evolution::{EvolutionOptions, EvolutionSteps, EvolutionVisitor, Start, planned, solve_options};
use super::evolution_checkpoint::{EvolutionSaver, SavedEvolution};
use super::exponential::TimeAxis;
use super::propagator::{Parts, Propagator};
use super::time_coefficients::{TimeCoefficients, hides_between};
use crate::device::{Device, Vector};
use crate::error::{Result, SolveError};
use crate::operator::LinearOperator;
use crate::scalar::Scalar;
use crate::solvers::algebra::Algebra;
use eigenforge_templates::Cost;
use std::sync::{Mutex, PoisonError};

/// Of the error of two half steps, what their difference from a whole step is divided by: 15 for short steps, less to be safe.
const HALVES: f64 = 10.0;
/// The part of a step's tolerance that its exponentials have.
const EXPONENTIALS: f64 = 0.2;
/// A step is at most so many times as long as the one before, and at least so many times.
const CHANGES: [f64; 2] = [0.2, 3.0];
/// Steps shorter than this part of the time are no steps.
const SHORTEST: f64 = 1e-12;

/// Σ_k c_k (H_k + e_k), with coefficients that change.
pub struct OperatorCombination<'o, T: Scalar> {
    terms: Vec<(Box<dyn LinearOperator<T> + 'o>, f64)>,
    algebra: Algebra,
    coefficients: Mutex<Vec<f64>>,
    scratch: Mutex<Vector<T>>,
}

impl<'o, T: Scalar> OperatorCombination<'o, T> {
    /// Of operators with the constants e_k that are to be added to them, all of one size and on one device; all coefficients are 1.
    ///
    /// # Errors
    /// No term; no room for a vector.
    pub fn new(
        terms: Vec<(Box<dyn LinearOperator<T> + 'o>, f64)>,
    ) -> std::result::Result<OperatorCombination<'o, T>, SolveError> {
        let Some((first, _)) = terms.first() else {
            return Err(SolveError::Option { name: "terms", value: "none".into(), expected: "an operator at least" });
        };
        let (algebra, scratch) = (Algebra::new(first.device()), Mutex::new(first.device().zeros(first.dimension())?));
        let coefficients = Mutex::new(vec![1.0; terms.len()]);
        Ok(OperatorCombination { terms, algebra, coefficients, scratch })
    }

    /// Sets the c_k.
    pub fn set_coefficients(&self, values: &[f64]) {
        *self.coefficients.lock().unwrap_or_else(PoisonError::into_inner) = values.to_vec();
    }

    fn known(&self) -> Vec<f64> {
        self.coefficients.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Bounds of ‖H_k + e_k‖.
    fn norms(&self) -> Vec<f64> {
        self.terms.iter().map(|(term, e)| term.norm_bound() + e.abs()).collect()
    }

    fn first(&self) -> &dyn LinearOperator<T> {
        &*self.terms[0].0
    }
}

impl<T: Scalar> LinearOperator<T> for OperatorCombination<'_, T> {
    fn dimension(&self) -> usize {
        self.first().dimension()
    }
    fn device(&self) -> &Device {
        self.first().device()
    }
    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<f64> {
        self.multiply(x, y)?;
        self.algebra.dot(x, y)
    }
    fn multiply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<()> {
        let coefficients = self.known();
        let constant: f64 = self.terms.iter().zip(&coefficients).map(|((_, e), c)| c * e).sum();
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = self.terms.iter().zip(&coefficients).filter(|(_, c)| **c != 0.0);
        // y = constant · x, whatever it held.
        self.algebra.combine(std::slice::from_mut(y), &[x], &[vec![constant]], false)?;
        for ((term, _), c) in wanted {
            term.multiply(x, &mut scratch)?;
            self.algebra.combine(std::slice::from_mut(y), &[&*scratch], &[vec![*c]], true)?;
        }
        Ok(())
    }
    fn is_complex(&self) -> bool {
        self.first().is_complex()
    }
    fn norm_bound(&self) -> f64 {
        self.norms().iter().zip(self.known()).map(|(norm, c)| c.abs() * norm).sum()
    }
    fn cost(&self) -> Cost {
        self.terms.iter().fold(Cost { flops: 0.0, bytes: 0.0 }, |sum, (term, _)| {
            let own = term.cost();
            Cost { flops: sum.flops + own.flops, bytes: sum.bytes + own.bytes }
        })
    }
}

/// What a H(t) needs beside one that is constant: two states and the sum's vector.
fn more_vectors(is_complex: bool) -> usize {
    if is_complex { 3 } else { 5 }
}

/// Evolves a state under H(t) in real time; `coefficients` are the f_k. At a time of the visitor the sum's coefficients are those.
///
/// # Errors
/// As of [`evolve`](super::evolve); coefficients that are not finite; imaginary time.
pub fn evolve_driven<T: Scalar, V: EvolutionVisitor<T>>(
    operator: &OperatorCombination<'_, T>,
    coefficients: &dyn TimeCoefficients,
    start: [&[f64]; 2],
    options: &EvolutionOptions,
    mut visitor: V,
) -> std::result::Result<EvolutionSteps, V::Error> {
    options.check()?;
    if options.axis() == TimeAxis::Imaginary {
        let (value, expected) = ("true, for H(t)".into(), "false, or a H that does not depend on time");
        return Err(SolveError::Option { name: "imaginary", value, expected }.into());
    }
    let solve_options = solve_options(options);
    let run = Run::new(operator, &solve_options);
    let vectors = planned(&run, operator, options, more_vectors(operator.is_complex()))?;
    let mut saver = EvolutionSaver::open(operator, options)?;
    let (mut start, mut state) = Start::new(&run, operator, start)?;
    let mut course = saver.resume(&run, (&mut start, &mut state), &mut visitor)?.unwrap_or_default();
    let before = course.multiplies;
    let propagator = Propagator::new(&run, operator, TimeAxis::Real, vectors)?;
    let states = [Parts::zeros(operator)?, Parts::zeros(operator)?, Parts::zeros(operator)?];
    let mut driven = Driven { run: &run, operator, coefficients, propagator, state, states };
    let until = options.last_time();
    driven.set(&[(course.now, 1.0)])?;
    for time in options.times.iter().copied().skip(course.seen) {
        while course.now < time {
            let SavedEvolution { now, length, .. } = course;
            let left = time - now;
            // The first guess: a radian of the fastest phase.
            let length = if length.is_finite() { length } else { 1.0 / operator.norm_bound().max(1.0 / left) };
            let step = if length >= 0.99 * left { left } else { length };
            let allowed = options.tolerance * (step / until);
            let is_shortest = step <= SHORTEST * until;
            if !is_shortest && driven.hides(now, step, allowed) {
                course.length = 0.5 * step;
                continue;
            }
            let found = driven.step(now, step, allowed)?;
            let wanted = (1.0 - EXPONENTIALS) * allowed;
            if found.halved > wanted && !is_shortest {
                course.length = step * (0.9 * (wanted / found.halved).powf(0.25)).clamp(CHANGES[0], 0.9);
                continue;
            }
            driven.accept();
            course.bound += found.bound + found.halved;
            course.estimated += found.halved;
            // What rounding leaves says nothing of a longer step.
            let factor = if found.halved > 0.0 { 0.9 * (wanted / found.halved).powf(0.25) } else { CHANGES[1] };
            let longer = step * factor.clamp(CHANGES[0], CHANGES[1]);
            course.length = if step < length { length.max(longer) } else { longer };
            course.now = if step >= left { time } else { now + step };
            course.steps += 1;
            course.multiplies = before + run.multiplies();
            if course.now < time {
                saver.save_if_due(&course, &start, &driven.state, &visitor)?;
            }
        }
        driven.set(&[(course.now, 1.0)])?;
        visitor.visit(&start.evolved(&run, &driven.state, (course.now, 0.0, course.bound))?)?;
        course.seen += 1;
        saver.save_if_due(&course, &start, &driven.state, &visitor)?;
    }
    saver.ended()?;
    let SavedEvolution { steps, multiplies, bound, estimated, .. } = course;
    Ok(EvolutionSteps { steps, multiplies, vectors, bound, estimated })
}

/// The error of a step: the bound of its exponentials, and what halves of it changed.
struct StepErrors {
    bound: f64,
    halved: f64,
}

struct Driven<'a, 'o, T: Scalar> {
    run: &'a Run<'a, T>,
    operator: &'a OperatorCombination<'o, T>,
    coefficients: &'a dyn TimeCoefficients,
    propagator: Propagator<'a, T>,
    state: Parts<T>,
    /// The state after a whole step, after two halves, and one between.
    states: [Parts<T>; 3],
}

/// The two times of a step of the fourth order.
fn gauss_times(time: f64, step: f64) -> [f64; 2] {
    let root = 3f64.sqrt() / 6.0;
    [time + (0.5 - root) * step, time + (0.5 + root) * step]
}

impl<T: Scalar> Driven<'_, '_, T> {
    /// Whether the times of a step and of its halves miss something of the coefficients.
    fn hides(&self, time: f64, step: f64, allowed: f64) -> bool {
        let half = 0.5 * step;
        let places = [gauss_times(time, step), gauss_times(time, half), gauss_times(time + half, half)].concat();
        // What changes a state by less than its share.
        let norms = self.operator.norms();
        let share = allowed / norms.len() as f64;
        let slack: Vec<f64> = norms.iter().map(|norm| share / (norm * step).max(f64::MIN_POSITIVE)).collect();
        hides_between(self.coefficients, (time, step), &places, &slack)
    }

    /// Sets the coefficients to Σ w f(t).
    fn set(&self, list: &[(f64, f64)]) -> std::result::Result<(), SolveError> {
        let mut sum: Vec<f64> = Vec::new();
        for (time, weight) in list {
            let values = self.coefficients.values(*time);
            sum.resize(values.len(), 0.0);
            for (sum, value) in sum.iter_mut().zip(values) {
                if !value.is_finite() {
                    return Err(SolveError::NotFinite { value, iteration: 0 });
                }
                *sum += weight * value;
            }
        }
        self.operator.set_coefficients(&sum);
        Ok(())
    }

    /// One step of the fourth order from a state to another; returns the bound of its exponentials.
    fn fourth_order(
        &mut self,
        [from, to]: [usize; 2],
        (time, step): (f64, f64),
        allowed: f64,
    ) -> std::result::Result<f64, SolveError> {
        let root = 3f64.sqrt() / 6.0;
        let [first, second] = gauss_times(time, step);
        let [large, small] = [0.25 + root, 0.25 - root];
        let mut bound = 0.0;
        for (weights, from) in [([large, small], from), ([small, large], to)] {
            self.set(&[(first, weights[0]), (second, weights[1])])?;
            bound += self.exponential([from, to], step, 0.5 * allowed)?;
        }
        Ok(bound)
    }

    /// exp(−iH step) of a state, H as its coefficients are.
    fn exponential(&mut self, [from, to]: [usize; 2], step: f64, allowed: f64) -> std::result::Result<f64, SolveError> {
        let (mut done, mut bound, mut from) = (0.0, 0.0, from);
        while done < step {
            let left = step - done;
            let source = if from == 3 { &self.state } else { &self.states[from] };
            let share = |time: f64, bound: f64| allowed * ((done + time) / step) - bound;
            self.propagator.begin(source, left, share(left, bound))?;
            let found = self.propagator.longest_step(left, |time| share(time, bound));
            self.propagator.state(found.step, &mut self.states[to])?;
            bound += found.bound;
            let end = if found.step >= left { step } else { done + found.step };
            if end <= done {
                let (value, expected) = (format!("{allowed:e} in a step"), "a number that steps in time can reach");
                return Err(SolveError::Option { name: "tolerance", value, expected });
            }
            (done, from) = (end, to);
        }
        Ok(bound)
    }

    /// A step as a whole and in halves.
    fn step(&mut self, time: f64, step: f64, allowed: f64) -> std::result::Result<StepErrors, SolveError> {
        let allowed = EXPONENTIALS * allowed / 3.0;
        let half = 0.5 * step;
        self.fourth_order([3, 0], (time, step), allowed)?;
        let mut bound = self.fourth_order([3, 2], (time, half), allowed)?;
        bound += self.fourth_order([2, 1], (time + half, half), allowed)?;
        let mut difference = 0.0;
        let [whole, halves, between] = &mut self.states;
        for ((whole, halves), between) in whole.0.iter().zip(&halves.0).zip(&mut between.0) {
            difference += self.run.algebra.residual_of(between, whole, halves, 1.0)?;
        }
        // Rounding of both is in the bound.
        let difference = (self.run.finite(difference, 0)?.sqrt() - 2.0 * bound).max(0.0);
        Ok(StepErrors { bound, halved: difference / HALVES })
    }

    /// Takes the state of the halves.
    fn accept(&mut self) {
        std::mem::swap(&mut self.state, &mut self.states[1]);
    }
}
