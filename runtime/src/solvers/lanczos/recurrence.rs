//! One step of the recurrence, and where its vectors are.
//!
//! u_j = length_j · v_j is in memory, scale_j = 1 / length_j a number. Basis vector i is in `slots[i]` while it is kept,
//! otherwise in `loose[i % 2]`. After a restart the first slots hold Ritz vectors of length 1, and the chain continues
//! after them. Without slots the start is loose as well, and gone after two steps: it is made again for x.

use super::super::algebra::{INPUTS, parse};
use super::super::run::Run;
use super::projected::Projected;
use crate::device::{Device, Vector};
use crate::error::SolveError;
use crate::operator::LinearOperator;
use crate::scalar::Scalar;
use crate::trace;
use crate::vector_program::{Bind, Program};

/// A step that leaves v_{j−1} unchanged. (With another order of the vectors NVRTC 13 spills two registers on sm_90.)
pub(super) const STEP: &str = "program lanczos_step\nvectors before : in\nvectors next : out\nvectors y v : in\nscalars a b c\n\
    next = a * y - b * v - c * before\nsum norm2 = next * next\n";
/// A step that writes v_{j+1} over v_{j−1}.
pub(in super::super) const IN_PLACE: &str = "program lanczos_step_in_place\nvectors before : inout\nvectors y v : in\nscalars a b c\n\
    before = a * y - b * v - c * before\nsum norm2 = before * before\n";

/// The recurrence so far.
pub(super) struct Recurrence<'a, T: Scalar> {
    pub run: &'a Run<'a, T>,
    pub operator: &'a dyn LinearOperator<T>,
    step: Program,
    in_place: Program,
    /// Memory for kept vectors; the first `filled` hold basis vectors. slots[0] is the start, later x.
    pub slots: Vec<Vector<T>>,
    pub filled: usize,
    /// Largest number of slots.
    pub capacity: usize,
    /// The newest two vectors that are not kept.
    pub loose: Vec<Vector<T>>,
    pub y: Vector<T>,
    /// Scale of each filled slot.
    pub scales: Vec<f64>,
    /// The scale of the start.
    pub first_scale: f64,
    /// v_j = scale · u_j, v_{j−1} = scale_before · u_{j−1}, for the newest j.
    pub scale: f64,
    pub scale_before: f64,
    /// β_{j−1}; 0 at the beginning of a chain.
    pub beta: f64,
    pub projected: Projected,
}

impl<'a, T: Scalar> Recurrence<'a, T> {
    /// Memory for a chain of which `capacity` vectors may be kept.
    pub(super) fn new(
        run: &'a Run<'a, T>,
        operator: &'a dyn LinearOperator<T>,
        capacity: usize,
    ) -> Result<Recurrence<'a, T>, SolveError> {
        let (device, n) = (operator.device(), operator.dimension());
        let program = |text| device.program(&parse(text), T::TYPE, &[]);
        let zeros = |count| (0..count).map(|_| device.zeros(n)).collect::<Result<Vec<_>, _>>();
        Ok(Recurrence {
            run,
            operator,
            step: program(STEP)?,
            in_place: program(IN_PLACE)?,
            slots: zeros(capacity.min(1))?,
            filled: capacity.min(1),
            capacity,
            loose: zeros(2)?,
            y: device.zeros(n)?,
            scales: Vec::new(),
            first_scale: 0.0,
            scale: 0.0,
            scale_before: 0.0,
            beta: 0.0,
            projected: Projected::default(),
        })
    }

    /// Where the start belongs: the first slot or, without slots, the first loose place.
    pub(super) fn start(&mut self) -> &mut Vector<T> {
        self.slots.first_mut().unwrap_or(&mut self.loose[0])
    }

    /// Starts a new chain from the vector there, of any length but 0; up to `capacity` slots may be filled.
    pub(super) fn begin(&mut self) -> Result<(), SolveError> {
        self.filled = self.slots.len().min(1);
        let start = self.vector(0);
        self.scale = 1.0 / self.run.algebra.dot(start, start)?.sqrt();
        self.first_scale = self.scale;
        (self.scale_before, self.beta) = (0.0, 0.0);
        (self.scales, self.projected) = (vec![self.scale; self.filled], Projected::default());
        Ok(())
    }

    /// The lengths, behind a number for the stage, as a checkpoint has them.
    pub(super) fn lengths(&self, stage: f64) -> [f64; 4] {
        [stage, self.scale, self.scale_before, self.beta]
    }

    /// Basis vector i, which must be kept or one of the newest two.
    pub(super) fn vector(&self, i: usize) -> &Vector<T> {
        if i < self.filled { &self.slots[i] } else { &self.loose[i % 2] }
    }

    /// One step from the newest basis vector i: α, β and v_{i+1}, kept if there is room. `iteration` is for messages.
    pub(super) fn advance(&mut self, iteration: usize) -> Result<(), SolveError> {
        let mut span = trace::span("solver", "step");
        span.note("step", iteration);
        let i = self.projected.size();
        let v = if i < self.filled { &self.slots[i] } else { &self.loose[i % 2] };
        let value = self.run.apply(self.operator, v, &mut self.y)?;
        let alpha = self.run.finite(value, iteration)? * self.scale * self.scale;
        if self.projected.begins_behind_ritz_vectors() {
            // A v_i overlaps with every Ritz vector; after this step the overlaps are those of a chain.
            let c: Vec<f64> = self.projected.couplings().iter().map(|c| -c / self.scale).collect();
            sum(self.run, &mut self.y, &self.slots[..i], &c, &self.scales, true)?;
        }
        let keep = i + 1 < self.capacity && self.room_for(i + 1);
        let _update = self.operator.device().span("solver", "update");
        let scalars = [self.scale, alpha * self.scale, self.beta * self.scale_before];
        let y = &self.y;
        let sums = if keep {
            let (kept, free) = self.slots.split_at_mut(i + 1);
            // At the start there is no v_{i−1}, and its factor is 0.
            let before = &kept[i.saturating_sub(1)];
            self.step
                .run(&mut [Bind::In(before), Bind::Out(&mut free[0]), Bind::In(y), Bind::In(&kept[i])], &scalars)?
        } else {
            let (even, odd) = self.loose.split_at_mut(1);
            let (even, odd) = (&mut even[0], &mut odd[0]);
            let (target, other) = if (i + 1).is_multiple_of(2) { (even, &*odd) } else { (odd, &*even) };
            let v = if i < self.filled { &self.slots[i] } else { other };
            if i > self.filled || self.filled == 0 {
                // v_{i+1} overwrites v_{i−1}; in the first step a vector whose factor is 0.
                self.in_place.run(&mut [Bind::Out(target), Bind::In(y), Bind::In(v)], &scalars)?
            } else {
                let before = &self.slots[i.saturating_sub(1)];
                self.step.run(&mut [Bind::In(before), Bind::Out(target), Bind::In(y), Bind::In(v)], &scalars)?
            }
        };
        self.beta = sums[0].sqrt();
        self.scale_before = self.scale;
        self.scale = scale_of(self.beta);
        if keep {
            self.filled += 1;
            self.scales.push(self.scale);
        }
        self.projected.push(alpha, self.beta);
        Ok(())
    }

    /// Whether there is a slot i, allocated if necessary. If another program has taken the memory, no more vectors are
    /// kept, but the solve continues.
    fn room_for(&mut self, i: usize) -> bool {
        if i < self.slots.len() {
            return true;
        }
        let device: &Device = self.operator.device();
        match device.zeros::<T>(self.operator.dimension()) {
            Ok(slot) => self.slots.push(slot),
            Err(refused) => {
                tracing::debug!("{i} vectors are kept and no more: {refused}");
                self.capacity = i;
            }
        }
        i < self.slots.len()
    }

    /// Σ s_i v_i over the kept vectors, in the first slot.
    pub(super) fn gather(&mut self, s: &[f64]) -> Result<(), SolveError> {
        let _gather = self.operator.device().span("solver", "gather");
        let (first, rest) = self.slots.split_at_mut(1);
        self.run.algebra.scale(&mut first[0], s[0] * self.scales[0])?;
        sum(self.run, &mut first[0], &rest[..s.len() - 1], &s[1..], &self.scales[1..], true)
    }
}

/// to ← Σ s_i scale_i u_i, plus `to` itself if `add`.
pub(super) fn sum<T: Scalar>(
    run: &Run<'_, T>,
    to: &mut Vector<T>,
    u: &[Vector<T>],
    s: &[f64],
    scales: &[f64],
    add: bool,
) -> Result<(), SolveError> {
    sums(run, std::slice::from_mut(to), u, &[s], scales, add)
}

/// The same for several sums of the same vectors, which are read once. The last vector pads the list with weight 0, so that one
/// program serves every length.
pub(super) fn sums<T: Scalar>(
    run: &Run<'_, T>,
    to: &mut [Vector<T>],
    u: &[Vector<T>],
    s: &[&[f64]],
    scales: &[f64],
    add: bool,
) -> Result<(), SolveError> {
    let Some(last) = u.last() else { return Ok(()) };
    let count = u.len().next_multiple_of(INPUTS);
    let padded: Vec<&Vector<T>> = u.iter().chain(std::iter::repeat(last)).take(count).collect();
    let weight = |i: usize| if i < u.len() { scales[i] } else { 0.0 };
    let row = |i: usize| s.iter().map(|s| s.get(i).map_or(0.0, |s| s * weight(i))).collect::<Vec<f64>>();
    Ok(run.algebra.combine(to, &padded, &(0..count).map(row).collect::<Vec<_>>(), add)?)
}

/// The factor that normalises a vector of length β; 0 for β = 0.
pub(super) fn scale_of(beta: f64) -> f64 {
    if beta > 0.0 { 1.0 / beta } else { 0.0 }
}
