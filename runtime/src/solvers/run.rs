//! State shared by all phases of one solve: the clock, the count of multiplies, the progress line, block operations; and
//! the results of its main search.

use super::algebra::Algebra;
use super::{Progress, SolveOptions, SolvePhase, StartUsed, StopReason};
use crate::device::{Device, Memory, Vector};
use crate::error::SolveError;
use crate::operator::LinearOperator;
use crate::scalar::Scalar;
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::time::Instant;

/// Seconds between two lines of progress.
const PROGRESS_SECONDS: f64 = 0.25;

/// How much more of the diagonal than of the rest of A counts for the tolerance: with r = 1e-10 of that, r²/gap is far below the digits
/// of any energy that the rest of A makes.
const SEEN: f64 = 1e3;
/// Residual norms of so many roundings of the norm are always reached.
const ATTAINABLE: f64 = 50.0;

/// One solve from start to report.
pub(super) struct Run<'a, T: Scalar> {
    pub options: &'a SolveOptions,
    pub algebra: Algebra,
    /// Upper bound of ‖A‖, which scales every threshold.
    pub norm: f64,
    /// Residual norms up to this count as converged: the requested tolerance times the norm that the low states see.
    pub tolerance: f64,
    started: Instant,
    multiplies: Cell<usize>,
    /// The start of the main search.
    pub started_from: Cell<StartUsed>,
    last_line: Cell<f64>,
    /// Phase, when it began, and its first residual: the basis of the predicted time left.
    slope: RefCell<(Option<SolvePhase>, f64, f64)>,
    scalar: PhantomData<T>,
}

impl<'a, T: Scalar> Run<'a, T> {
    pub(super) fn new(operator: &dyn LinearOperator<T>, options: &'a SolveOptions) -> Run<'a, T> {
        let norm = operator.norm_bound();
        // The low states of a large diagonal are where it is small: they see as much of it as the rest of A can move.
        let moving = operator.moving_bound();
        let scale = if moving > 0.0 { norm.min(SEEN * moving) } else { norm };
        let attainable = (ATTAINABLE * T::EPSILON * norm).min(options.tolerance * norm);
        Run {
            options,
            algebra: Algebra::new(operator.device()),
            norm,
            tolerance: (options.tolerance * scale).max(attainable),
            started: Instant::now(),
            multiplies: Cell::new(0),
            started_from: Cell::new(StartUsed::Random),
            last_line: Cell::new(f64::NEG_INFINITY),
            slope: RefCell::new((None, 0.0, f64::NAN)),
            scalar: PhantomData,
        }
    }

    /// A search within this solve, with its own options; [`Run::take_in`] adds its multiplies.
    pub(super) fn nested<'b>(&self, operator: &dyn LinearOperator<T>, options: &'b SolveOptions) -> Run<'b, T> {
        Run { started: self.started, last_line: self.last_line.clone(), ..Run::new(operator, options) }
    }

    /// The same with another residual norm that counts as converged.
    pub(super) fn with_tolerance(self, tolerance: f64) -> Run<'a, T> {
        Run { tolerance, ..self }
    }

    /// Adds the multiplies of a search within this solve.
    pub(super) fn take_in(&self, search: &Run<'_, T>) {
        self.multiplies.set(self.multiplies.get() + search.multiplies());
    }

    pub(super) fn elapsed(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    pub(super) fn multiplies(&self) -> usize {
        self.multiplies.get()
    }

    /// y = A x, counted.
    pub(super) fn apply(
        &self,
        operator: &dyn LinearOperator<T>,
        x: &Vector<T>,
        y: &mut Vector<T>,
    ) -> Result<f64, SolveError> {
        self.multiplies.set(self.multiplies.get() + 1);
        let _multiply = operator.device().span("solver", "multiply");
        Ok(operator.apply(x, y)?)
    }

    /// y = A x without x·y, counted.
    pub(super) fn multiply(
        &self,
        operator: &dyn LinearOperator<T>,
        x: &Vector<T>,
        y: &mut Vector<T>,
    ) -> Result<(), SolveError> {
        self.multiplies.set(self.multiplies.get() + 1);
        let _multiply = operator.device().span("solver", "multiply");
        Ok(operator.multiply(x, y)?)
    }

    /// y_j = A x_j, counted.
    pub(super) fn apply_block(
        &self,
        operator: &dyn LinearOperator<T>,
        x: &[&Vector<T>],
        y: &mut [Vector<T>],
    ) -> Result<Vec<f64>, SolveError> {
        self.multiplies.set(self.multiplies.get() + x.len());
        let mut multiply = operator.device().span("solver", "multiply");
        multiply.note("vectors", x.len());
        Ok(operator.apply_block(x, y)?)
    }

    /// The same without x_j·y_j.
    pub(super) fn multiply_block(
        &self,
        operator: &dyn LinearOperator<T>,
        x: &[&Vector<T>],
        y: &mut [Vector<T>],
    ) -> Result<(), SolveError> {
        self.multiplies.set(self.multiplies.get() + x.len());
        let mut multiply = operator.device().span("solver", "multiply");
        multiply.note("vectors", x.len());
        Ok(operator.multiply_block(x, y)?)
    }

    /// Detects NaN coefficients, which would look like slow convergence.
    pub(super) fn finite(&self, value: f64, iteration: usize) -> Result<f64, SolveError> {
        if value.is_finite() { Ok(value) } else { Err(SolveError::NotFinite { value, iteration }) }
    }

    /// Residual norms up to this may be rounding errors.
    pub(super) fn floor(&self) -> f64 {
        2.0 * T::EPSILON * self.norm
    }

    /// What rounding may leave between equal values.
    pub(super) fn rounding(&self) -> f64 {
        super::levels::rounding::<T>(self.norm)
    }

    /// States of the complement up to this far above the k-th value are sought, and it is decided when they are found whether they are of
    /// its level: a value is off by at most its residual norm, so two of one level differ by at most two tolerances, which is
    /// doubled here; plus rounding.
    pub(super) fn joining_distance(&self) -> f64 {
        (4.0 * self.tolerance).max(self.rounding())
    }

    /// The residual norm that resolves the k lowest states from those above: the tolerance, or a small part of the width of the low
    /// end of the spectrum where that is less, as where penalties make the norm and with it the tolerance large.
    pub(super) fn resolving(&self, ritz_values: &[f64], k: usize) -> f64 {
        /// Ritz values above the k-th that are the low end.
        const LOW: usize = 7;
        /// Part of their width.
        const PART: f64 = 1e-3;
        let high = ritz_values.get((k - 1 + LOW).min(ritz_values.len().saturating_sub(1)));
        let width = high.map_or(0.0, |high| high - ritz_values[k - 1]);
        if width > self.rounding() { self.tolerance.min(PART * width) } else { self.tolerance }
    }

    /// The distance from the k-th of ascending Ritz values to the next that rounding tells from it.
    pub(super) fn gap(&self, ritz_values: &[f64], k: usize) -> Option<f64> {
        let last = *ritz_values.get(k - 1)?;
        let apart = ritz_values[k..].iter().map(|value| value - last);
        apart.into_iter().find(|apart| *apart > self.rounding())
    }

    /// Refuses, with the numbers, what does not fit in the device's memory or under the set limit.
    pub(super) fn plan_memory(
        &self,
        operator: &dyn LinearOperator<T>,
        solver: &str,
        vectors: usize,
        alternative: &str,
    ) -> Result<(), SolveError> {
        let each = vector_bytes::<T>(operator);
        let needed = each.saturating_mul(vectors as u64);
        let mut memory = operator.device().memory();
        if let Some(limit) = self.options.memory_limit {
            memory.free = memory.free.min(limit);
        }
        if needed <= memory.free {
            return Ok(());
        }
        let fitting = memory.free / (vectors as u64 * size_of::<T>() as u64).max(1);
        Err(SolveError::Device(crate::DeviceError::Memory {
            what: format!("{solver} ({vectors} vectors of {} elements)", operator.dimension()),
            device: operator.device().name(),
            needed,
            free: memory.free,
            total: memory.total,
            fits: format!("{} such vectors fit, or a dimension of {fitting}{alternative}", memory.free / each.max(1)),
        }))
    }

    /// How many vectors may be kept in addition to the `needed` ones, none of which is allocated yet.
    pub(super) fn spare(&self, operator: &dyn LinearOperator<T>, needed: usize) -> usize {
        spare(operator.device(), vector_bytes::<T>(operator), needed, 0, self.options.memory_limit)
    }

    /// How many more vectors fit now.
    pub(super) fn room(&self, operator: &dyn LinearOperator<T>, held: usize) -> usize {
        let each = vector_bytes::<T>(operator).max(1);
        let free = operator.device().memory().free;
        let limited =
            self.options.memory_limit.map_or(free, |limit| free.min(limit.saturating_sub(each * held as u64)));
        (limited / each) as usize
    }

    /// Prints a line of progress, at intervals or `always`.
    pub(super) fn progress(&self, phase: SolvePhase, iteration: usize, energies: &[f64], residual: f64, always: bool) {
        let Some(report) = &self.options.progress else { return };
        let elapsed = self.elapsed();
        let mut slope = self.slope.borrow_mut();
        if slope.0 != Some(phase) || slope.2.is_nan() {
            *slope = (Some(phase), elapsed, residual);
        }
        if !always && elapsed - self.last_line.get() < PROGRESS_SECONDS {
            return;
        }
        self.last_line.set(elapsed);
        let (_, began, first) = *slope;
        let fallen = (first / residual).ln();
        let left = (residual / self.tolerance).ln().max(0.0);
        let remaining = (fallen > 1.0).then(|| (elapsed - began) * left / fallen);
        let energies = energies.iter().map(|energy| energy + self.options.taken_out).collect();
        let tolerance = self.tolerance;
        report(&Progress { phase, iteration, energies, residual, tolerance, elapsed, remaining });
    }
}

fn vector_bytes<T: Scalar>(operator: &dyn LinearOperator<T>) -> u64 {
    (operator.dimension() as u64).saturating_mul(size_of::<T>() as u64)
}

/// How many vectors of `each` bytes may be kept, if `needed` others and `other` bytes are still to come.
pub(super) fn spare(device: &Device, each: u64, needed: usize, other: u64, limit: Option<u64>) -> usize {
    let left = room_for_vectors(device, other, limit).saturating_sub(each.saturating_mul(needed as u64));
    usize::try_from(left / each.max(1)).unwrap_or(usize::MAX)
}

/// Bytes that a solver may fill with vectors, if `other` bytes are still to come. A card is filled except for 1/64, far more than programs
/// loaded later and their sums need; of a host's memory, which is shared with everything else, half is left free.
pub fn room_for_vectors(device: &Device, other: u64, limit: Option<u64>) -> u64 {
    let Memory { free, total } = device.memory();
    let free = free.saturating_sub(other);
    let share = if device.is_cuda() { free.saturating_sub(total / 64) } else { free / 2 };
    limit.map_or(share, |limit| share.min(limit))
}

/// The results of the main search.
pub(super) struct Main<T: Scalar> {
    pub values: Vec<f64>,
    pub vectors: Vec<Vector<T>>,
    pub iterations: usize,
    pub stop: StopReason,
    pub history: Vec<(usize, f64, f64)>,
    pub notes: Vec<String>,
    /// The distance from the last state to the next Ritz value, if the search has one.
    pub gap: Option<f64>,
    /// Whether it had fewer vectors than it could have used.
    pub few_vectors: bool,
}

impl<T: Scalar> Main<T> {
    /// States, the number of iterations and why they ended.
    pub(super) fn new(
        values: Vec<f64>,
        vectors: Vec<Vector<T>>,
        (iterations, stop): (usize, StopReason),
        history: Vec<(usize, f64, f64)>,
    ) -> Main<T> {
        Main { values, vectors, iterations, stop, history, notes: Vec::new(), gap: None, few_vectors: false }
    }
}
