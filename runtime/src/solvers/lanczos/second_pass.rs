//! Run 2: recomputes and adds up vectors that were not kept.
//!
//! In: the weights s of the basis, and all α and β of run 1. Out: x = Σ s_j v_j. Since α, β and so all lengths are known,
//! a step needs no norm and no x·y, waits for nothing, and adds its vector to x in the same pass: six passes. The new
//! vector is computed by the expression of run 1 in the same order, so it has the same bits.

use super::super::SolvePhase;
use super::super::algebra::parse;
use super::super::checkpoint::Saver;
use super::recurrence::{Recurrence, scale_of};
use crate::error::SolveError;
use crate::scalar::Scalar;
use crate::trace;
use crate::vector_program::Bind;

/// A step that writes v_{j+1} over v_{j−1} and adds it to x.
pub(super) const SECOND_PASS: &str = "program lanczos_again\nvectors before x : inout\nvectors y v : in\nscalars a b c s\n\
    before = a * y - b * v - c * before\nx = x + s * before\n";

/// The results of run 1: α and β of each step, the weights s of its vectors, and the first vector missing from x.
pub(super) struct Weights {
    pub alpha: Vec<f64>,
    pub beta: Vec<f64>,
    pub s: Vec<f64>,
    pub next: usize,
}

impl Weights {
    /// The numbers stored in a checkpoint.
    fn scalars(&self) -> Vec<f64> {
        [&[self.next as f64][..], &self.alpha, &self.beta, &self.s].concat()
    }

    /// From a checkpoint.
    pub(super) fn read(scalars: &[f64]) -> Option<Weights> {
        let (next, rest) = scalars.split_first()?;
        let mut lists = rest.chunks_exact(rest.len().checked_div(3).filter(|m| m * 3 == rest.len() && *m > 0)?);
        let mut list = || lists.next().map(<[f64]>::to_vec);
        Some(Weights { alpha: list()?, beta: list()?, s: list()?, next: *next as usize })
    }
}

/// Recomputes the vectors from `weights.next` on, from v_{next−1} and v_{next−2} in the loose places, and adds them to x
/// in the first slot. `done` is the number of steps for a checkpoint.
pub(super) fn run<T: Scalar>(
    recurrence: &mut Recurrence<'_, T>,
    mut weights: Weights,
    done: usize,
    saver: &mut Saver,
) -> Result<(), SolveError> {
    let (solve, operator) = (recurrence.run, recurrence.operator);
    let again = operator.device().program(&parse(SECOND_PASS), T::TYPE, &[])?;
    while weights.next < weights.s.len() {
        let (i, j) = (weights.next, weights.next - 1);
        let mut span = trace::span("solver", "step");
        span.note("step", i);
        let Recurrence { loose: [even, odd], slots, y, scale, scale_before, beta, .. } = recurrence;
        let (v, before) = if j.is_multiple_of(2) { (&*even, odd) } else { (&*odd, even) };
        solve.multiply(operator, v, y)?;
        let gather = operator.device().span("solver", "gather");
        let next_scale = scale_of(weights.beta[j]);
        // The same products as in run 1, to get the same bits.
        let scalars = [*scale, weights.alpha[j] * *scale, *beta * *scale_before, weights.s[i] * next_scale];
        again.run(&mut [Bind::Out(before), Bind::Out(&mut slots[0]), Bind::In(y), Bind::In(v)], &scalars)?;
        drop(gather);
        (*scale_before, *scale, *beta) = (*scale, next_scale, weights.beta[j]);
        weights.next += 1;
        solve.progress(SolvePhase::LanczosVector, i, &[], solve.tolerance, false);
        if saver.due()? {
            let scalars = [&recurrence.lengths(3.0)[..], &weights.scalars()].concat();
            saver.save(
                "run 2",
                done,
                &scalars,
                &[&recurrence.slots[0], &recurrence.loose[i % 2], &recurrence.loose[j % 2]],
            )?;
        }
    }
    Ok(())
}
