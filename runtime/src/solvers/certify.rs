//! Certification: true residuals, and a search of the orthogonal complement of the states found.
//!
//! Degenerate or missed states are the oldest complaint about iterative eigensolvers. After any of them the operator is
//! deflated, A + Σ (top − λ_i) q_i q_iᵀ, which moves the states found away from the low end, and its lowest level is
//! searched from a random start, by Davidson if the main search used the diagonal and by Lanczos otherwise:
//! - below or at the k-th value found: a state was missed, or belongs to its level. It is converged and kept, and the
//!   search continues, so levels are completed also beyond k;
//! - above: nothing is missing. The search ends as soon as ‖r‖ ≤ 10⁻³ (θ − λ_k): were a state at or below λ_k hidden in
//!   the search vector with weight ε, it alone would add ε (θ − λ_k) to the residual, so ε ≤ 10⁻³; and a search vector
//!   loses the lowest states last, since every iteration amplifies them over those at θ. This is evidence from a random
//!   start, not a proof; the probability of a start without the component is zero, and small at finite precision.
//!
//! Where a symmetry makes another eigenvector of one that was found ([`LinearOperator::partner`]), that one is not searched for.

use super::algebra::Algebra;
use super::checkpoint::Saver;
use super::run::{Main, Run};
use super::{Eigenpairs, Level, Preconditioner, SolveOptions, SolvePhase, Solver, StopReason, davidson, lanczos};
use crate::device::{Device, ElementFunction, Vector};
use crate::error::{Result, SolveError};
use crate::operator::LinearOperator;
use crate::scalar::Scalar;
use crate::trace;
use eigenforge_templates::Cost;

/// At most this many states beyond k are searched; a larger level stays marked as incomplete.
const EXTRA: usize = 64;
/// Fraction of the distance to the k-th value at which the residual of a higher level ends the search.
const FAR_ENOUGH: f64 = 1e-3;

/// The same for Davidson, which does not amplify the lowest states before others as a Krylov space does, so a hidden
/// component must be smaller.
const FAR_ENOUGH_BY_DIAGONAL: f64 = 1e-6;

/// Distance above the last locked state at which Davidson's search sees the locked states, in units of the norm: at the
/// upper end of the spectrum they would dominate its corrections. Full CI of water (245,025 determinants) with 1, 0.1,
/// 0.01 took 84, 131, 51 multiplies.
const NEAR: f64 = 0.01;

/// A + Σ (top − λ_i) q_i q_iᵀ: the locked states sit at `top`, above the level that is searched for more.
struct Deflated<'a, T: Scalar> {
    top: f64,
    inner: &'a dyn LinearOperator<T>,
    algebra: &'a Algebra,
    values: &'a [f64],
    locked: &'a [Vector<T>],
}

impl<T: Scalar> LinearOperator<T> for Deflated<'_, T> {
    fn dimension(&self) -> usize {
        self.inner.dimension()
    }
    fn device(&self) -> &Device {
        self.inner.device()
    }
    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<f64> {
        let value = self.inner.apply(x, y)?;
        let locked: Vec<&Vector<T>> = self.locked.iter().collect();
        let overlaps = self.algebra.gram(&locked, &[x])?;
        let shift = |i: usize| self.top - self.values[i];
        let c: Vec<Vec<f64>> = overlaps.iter().enumerate().map(|(i, row)| vec![shift(i) * row[0]]).collect();
        self.algebra.combine(std::slice::from_mut(y), &locked, &c, true)?;
        Ok(value + overlaps.iter().zip(&c).map(|(o, c)| o[0] * c[0]).sum::<f64>())
    }
    fn diagonal(&self) -> Option<ElementFunction> {
        self.inner.diagonal()
    }
    fn norm_bound(&self) -> f64 {
        self.inner.norm_bound()
    }
    fn cost(&self) -> Cost {
        let pass = (self.dimension() * size_of::<T>()) as f64;
        let work = Cost { flops: 4.0 * pass * self.locked.len() as f64, bytes: pass * (3 + self.locked.len()) as f64 };
        self.inner.cost() + work
    }
}

/// How the search of the complement ended.
enum Search {
    /// Everything at or below the k-th value is known; the lowest value found above it.
    Complete(Option<f64>),
    /// The search is incomplete, for this reason.
    Incomplete(String),
}

/// A warning if values that count as one level are known to be different: they are further apart than their residual norms and
/// rounding allow. Values are ascending, each with its residual norm.
fn merged_levels(found: &[(f64, f64)], tolerance: f64, rounding: f64) -> Option<String> {
    let apart = |pair: &[(f64, f64)]| {
        let gap = pair[1].0 - pair[0].0;
        (gap <= tolerance && gap > pair[0].1 + pair[1].1 + rounding).then_some(gap)
    };
    let gap = found.windows(2).find_map(apart)?;
    Some(format!(
        "values up to {tolerance:.1e} apart count as one level, and here some are {gap:.1e} apart, which their residuals tell apart: \
         multiplicities and averages join them; lower `tolerance`, or take precision = \"f64\", to have levels of their own"
    ))
}

/// Completes the levels found by the main search and makes the report.
pub(super) fn complete<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
    solver: Solver,
    mut main: Main<T>,
) -> Result<Eigenpairs<T>, SolveError> {
    let _certify = trace::span("solver", "certify");
    let k = run.options.states;
    let mut notes = std::mem::take(&mut main.notes);
    let outcome = match main.stop {
        _ if !run.options.certify => Search::Incomplete("certification was switched off".into()),
        StopReason::Converged | StopReason::Dense => search_complement(run, operator, solver, &mut main)?,
        _ => Search::Incomplete("the main search did not converge".into()),
    };
    let (complete, next) = match outcome {
        Search::Complete(next) => (true, next),
        Search::Incomplete(why) => {
            notes.push(format!("multiplicities are lower bounds: {why}"));
            (false, None)
        }
    };
    // True values and residuals from recomputed products.
    let _residuals = trace::span("solver", "residuals");
    let (mut values, mut found) = (Vec::new(), Vec::new());
    let mut scratch = operator.device().zeros::<T>(operator.dimension())?;
    for vector in main.vectors {
        let value = run.apply(operator, &vector, &mut scratch)? / run.algebra.dot(&vector, &vector)?;
        let residual = run.algebra.residual(&mut scratch, &vector, value)?.sqrt();
        found.push((value, residual, vector));
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    let tolerance = run.degeneracy_tolerance();
    let last = found[k - 1].0;
    found.retain(|f| f.0 <= last + tolerance);
    notes.extend(merged_levels(&found.iter().map(|f| (f.0, f.1)).collect::<Vec<_>>(), tolerance, run.floor()));
    let extra = found.split_off(k);
    let all: Vec<f64> = found.iter().chain(&extra).map(|f| f.0).collect();
    let mut residuals = Vec::new();
    let mut vectors = Vec::new();
    for (value, residual, vector) in found {
        values.push(value);
        residuals.push(residual);
        vectors.push(vector);
    }
    let mut stop = main.stop;
    if stop == StopReason::Converged && residuals.iter().any(|r| *r > 1.01 * run.tolerance) {
        stop = StopReason::Stagnated;
    }
    Ok(Eigenpairs {
        levels: levels(&all, k, tolerance, complete),
        values,
        residuals,
        vectors,
        extra_values: extra.iter().map(|f| f.0).collect(),
        extra_vectors: extra.into_iter().map(|f| f.2).collect(),
        degeneracy_tolerance: tolerance,
        norm: run.norm,
        tolerance: run.tolerance,
        next,
        start: run.started_from.get(),
        iterations: main.iterations,
        multiplies: run.multiplies(),
        stop,
        history: main.history,
        seconds: run.elapsed(),
        notes,
    })
}

/// Searches until the complement contains nothing at or below the k-th value. States found are added to `main`.
fn search_complement<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
    solver: Solver,
    main: &mut Main<T>,
) -> Result<Search, SolveError> {
    let (k, n) = (run.options.states, operator.dimension());
    let uses_diagonal =
        matches!(solver, Solver::Davidson | Solver::Olsen) || run.options.preconditioner != Preconditioner::None;
    let by_diagonal = uses_diagonal && operator.diagonal().is_some();
    for extra in 0.. {
        add_partners(run, operator, main)?;
        if main.vectors.len() == n {
            return Ok(Search::Complete(None));
        }
        if extra == EXTRA {
            return Ok(Search::Incomplete(format!(
                "{EXTRA} states beyond the first {k} were found and there may be more"
            )));
        }
        let needed = if by_diagonal { davidson::LEAST_VECTORS } else { lanczos::VECTORS };
        if run.room(operator, main.vectors.len()) < 1 + needed {
            return Ok(Search::Incomplete("the search needs more memory than is free".into()));
        }
        let mut sorted = main.values.clone();
        sorted.sort_by(f64::total_cmp);
        let last = sorted[k - 1];
        let limit = last + run.degeneracy_tolerance();
        let share = if by_diagonal { FAR_ENOUGH_BY_DIAGONAL } else { FAR_ENOUGH };
        let enough = |value: f64, residual: f64| value > limit && residual <= share * (value - last);
        let top = if by_diagonal { last + NEAR * (run.norm + last.abs()) } else { run.norm };
        let deflated =
            Deflated { top, inner: operator, algebra: &run.algebra, values: &main.values, locked: &main.vectors };
        let seed = run.options.seed.wrapping_add(0x9e37_79b9).wrapping_mul(2 * extra as u64 + 3);
        let by_diagonal = match by_diagonal {
            true => {
                let options = SolveOptions { states: 1, guard: Some(0), seed, ..run.options.clone() };
                let within = run.within(&deflated, &options);
                let found = davidson::search(&within, &deflated, davidson::Goal::Enough(&enough), &mut Saver::off())?;
                run.take_in(&within);
                main.iterations += found.iterations;
                // A search that ended so soon has hardly left its start and shows nothing.
                let soon = found.iterations < davidson::LEAST && found.values.iter().all(|value| *value > limit);
                (!soon).then_some(found)
            }
            false => None,
        };
        let found = match by_diagonal {
            Some(found) => found,
            None => {
                let locked: Vec<&Vector<T>> = main.vectors.iter().collect();
                let start = |x: &mut Vector<T>| -> std::result::Result<(), SolveError> {
                    operator.device().fill_random(x, seed)?;
                    run.algebra.orthonormalise(x, &locked)?;
                    Ok(())
                };
                // Keeps no vectors: usually the search ends without one.
                let phase = SolvePhase::Certify;
                let how = lanczos::Search { phase, enough: Some(&enough), capacity: 0, start: &start };
                let found = lanczos::search_lowest(run, &deflated, &how, &mut Saver::off())?;
                main.iterations += found.iterations;
                found
            }
        };
        let value = found.values.first().copied().unwrap_or(f64::NAN);
        if found.stop != StopReason::Converged {
            return Ok(Search::Incomplete(format!(
                "the search of the complement ended at {value:?} with residual {:.1e}",
                found.history.last().map_or(f64::NAN, |(_, _, residual)| *residual)
            )));
        }
        let Some(mut vector) = found.vectors.into_iter().next().filter(|_| value <= limit) else {
            return Ok(Search::Complete(Some(value)));
        };
        if value < last - (limit - last) {
            main.notes.push(format!("certification found a state at {value:?} that the main search had missed"));
        }
        run.algebra.orthonormalise(&mut vector, &main.vectors.iter().collect::<Vec<_>>())?;
        main.values.push(value);
        main.vectors.push(vector);
    }
    Ok(Search::Complete(None))
}

/// Square of the part of a partner that is not in the states found, below which it is taken for known or left to the search.
const NEW_PART: f64 = 0.1;

/// Adds the eigenvectors that a symmetry gives beside those found.
fn add_partners<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
    main: &mut Main<T>,
) -> Result<(), SolveError> {
    for k in 0..main.vectors.len() {
        let Some(mut partner) = operator.partner(&main.vectors[k])? else { return Ok(()) };
        let known: Vec<&Vector<T>> = main.vectors.iter().collect();
        let overlaps = run.algebra.gram(&known, &[&partner])?;
        let inside: f64 = overlaps.iter().map(|row| row[0] * row[0]).sum();
        if 1.0 - inside > NEW_PART {
            run.algebra.orthonormalise(&mut partner, &known)?;
            main.values.push(main.values[k]);
            main.vectors.push(partner);
        }
    }
    Ok(())
}

/// Groups ascending values within `tolerance` of the first of their group; returns groups with a member below index k.
pub(super) fn levels(values: &[f64], k: usize, tolerance: f64, complete: bool) -> Vec<Level> {
    let mut levels = Vec::new();
    let mut start = 0;
    while start < values.len().min(k) {
        let end = start + values[start..].iter().take_while(|v| **v - values[start] <= tolerance).count();
        let multiplicity = end - start;
        let value = values[start..end].iter().sum::<f64>() / multiplicity as f64;
        levels.push(Level { value, multiplicity, complete, returned: end.min(k) - start });
        start = end;
    }
    levels
}

/// ‖A x − λ x‖ of each unit vector, from a recomputed product, summed in f64.
pub(super) fn residuals<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
    values: &[f64],
    vectors: &[Vector<T>],
) -> Result<Vec<f64>, SolveError> {
    let mut scratch = operator.device().zeros::<T>(operator.dimension())?;
    let mut residuals = Vec::with_capacity(values.len());
    for (value, vector) in values.iter().zip(vectors) {
        run.apply(operator, vector, &mut scratch)?;
        residuals.push(run.algebra.residual(&mut scratch, vector, *value)?.sqrt());
    }
    Ok(residuals)
}

#[cfg(test)]
mod tests {
    use super::merged_levels;

    #[test]
    fn values_that_their_residuals_tell_apart_are_not_joined_in_silence() {
        assert_eq!(merged_levels(&[(-1.0, 1e-9), (-1.0 + 1e-10, 1e-9), (2.0, 1e-9)], 1e-8, 1e-14), None);
        let warning = merged_levels(&[(-1.0, 1e-9), (-0.999, 1e-9)], 1e-2, 1e-14).unwrap();
        assert!(warning.contains("1.0e-3 apart"), "{warning}");
        // Levels of their own are none of its business.
        assert_eq!(merged_levels(&[(-1.0, 1e-9), (-0.9, 1e-9)], 1e-2, 1e-14), None);
    }
}
