//! Davidson: the k lowest states, in a basis of corrections from the operator's diagonal.
//!
//! In every iteration the operator is projected onto an orthonormal basis V, VᵀA V s = θ s, and each unconverged state
//! adds its correction t = −r / (D − θ) to V, where r = A V s − θ V s is its residual and D the diagonal of A. If D
//! dominates, as in configuration interaction, t is close to what the Ritz vector lacks, and some ten iterations suffice;
//! the cost is the multiplies, one per direction. (Davidson 1975; several states: Liu 1978.)
//!
//! - **Restart.** A full basis is collapsed to its lowest Ritz vectors, more than there are states, and to the parts of
//!   the previous iteration's Ritz vectors outside them, so that little is lost even if memory allows only three vectors
//!   per column (Stathopoulos and Saad 1998).
//! - **Locking** is soft: converged states add no directions but stay in the projection, and are checked again before the
//!   search ends. Guard vectors are further columns that start with a basis state of their own and survive a collapse; they
//!   keep the members of a multiplet together.
//! - **Orthogonality** is kept by classical Gram–Schmidt in blocks, twice; dependent directions are dropped. If none
//!   remains the residuals themselves are used, then a random vector.
//!
//! [`lean`](super::lean) is the other Davidson, for one solve among thousands. They have the correction's formula in common and nothing
//! that would be shorter in one place: here the vectors are the problem (every state keeps two, spare memory decides how many more, a
//! multiplet must not be cut, a run of hours is checkpointed), there the microseconds between two small products are.
//!
//! | file | question it answers |
//! |---|---|
//! | `sizes` | how many vectors has the basis? |
//! | `start` | where does the search begin? |
//! | `correction` | what does a Ritz vector lack? |
//! | `space` | how do directions become a basis, and the basis a small problem? |

mod correction;
mod sizes;
mod space;
mod start;

pub(super) use correction::LEAST as LEAST_DIVISOR;
pub(super) use sizes::{optional_vectors, vectors};

use super::checkpoint::Saver;
use super::run::Main;
use super::run::Run;
use super::{SolvePhase, StopReason};
use crate::device::Vector;
use crate::error::SolveError;
use crate::operator::LinearOperator;
use crate::scalar::Scalar;
use crate::trace;
use correction::Correction;
use eigenforge_templates::vector_program::VectorProgram;
use sizes::Sizes;
use space::{Ritz, Space};
use start::Diagonal;

/// Start vectors in addition to one per column, and a random vector.
const EXTRA: usize = 2;
/// Iterations without a lower residual or value after which the search has stagnated.
const PATIENCE: usize = 100;
/// How often convergence close to rounding may turn out to be false.
const DOUBTS: usize = 4;

/// The programs of this folder that every search runs.
pub(super) fn programs() -> Vec<VectorProgram> {
    vec![super::algebra::parse(correction::CORRECTION)]
}

/// A search in progress.
struct Search<'a, T: Scalar> {
    run: &'a Run<'a, T>,
    operator: &'a dyn LinearOperator<T>,
    space: Space<'a, T>,
    correction: Correction,
    iteration: usize,
    /// Residual of each requested state, when last computed.
    residuals: Vec<f64>,
    /// Ritz value at which a state has converged.
    locked: Vec<Option<f64>>,
}

/// The start of a search.
pub(super) enum Goal<'a, T: Scalar> {
    /// The k lowest states, from the lowest basis states.
    States,
    /// The k lowest states, from vectors close to them.
    From { vectors: &'a [&'a Vector<T>], phase: SolvePhase },
}

/// The k lowest states, or what the goal says.
pub(super) fn search<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
    goal: Goal<'_, T>,
    saver: &mut Saver,
) -> Result<Main<T>, SolveError> {
    let phase = match goal {
        Goal::States => SolvePhase::Davidson,
        Goal::From { phase, .. } => phase,
    };
    let (options, k, tolerance) = (run.options, run.options.states, run.tolerance);
    let needed = vectors(options, operator.dimension());
    run.plan_memory(operator, "Davidson", needed, "; fewer states or guard vectors need less")?;
    let sizes = Sizes::new(options, operator.dimension(), run.spare(operator, needed));
    let mut search = Search::start(run, operator, sizes, &goal, saver)?;
    let (scale, floor) = (run.norm, run.floor());
    let (mut best, mut best_value, mut best_at) = (f64::INFINITY, f64::INFINITY, search.iteration);
    let (mut history, mut doubts) = (Vec::new(), 0);
    let (ritz, stop) = loop {
        let mut span = trace::span("solver", "iteration");
        span.note("iteration", search.iteration);
        let (ritz, lengths) = search.look()?;
        let worst = search.residuals.iter().fold(0.0f64, |a, r| a.max(*r));
        span.note("energy", ritz.values[0]);
        span.note("residual", worst);
        history.push((search.iteration, ritz.values[0], search.residuals[0]));
        run.progress(phase, search.iteration, &ritz.values[..k], worst, false);
        let is_resolved = worst <= run.resolving(&ritz.values, k).max(floor);
        if worst <= tolerance.max(floor) && is_resolved {
            // W consists of combinations of A V and is not recomputed, except where rounding may matter.
            if worst <= tolerance && tolerance > 32.0 * floor {
                break (ritz, StopReason::Converged);
            }
            if doubts == DOUBTS {
                break (ritz, StopReason::Stagnated);
            }
            doubts += 1;
            search.space.refresh(&ritz, search.iteration)?;
            search.locked.fill(None);
            let (ritz, _) = search.look()?;
            if search.residuals.iter().all(|r| *r <= tolerance) {
                break (ritz, StopReason::Converged);
            }
            continue;
        }
        let value: f64 = ritz.values[..k].iter().sum();
        if worst < 0.9 * best || best_value - value > 8.0 * T::EPSILON * scale * k as f64 {
            (best, best_value, best_at) = (best.min(worst), best_value.min(value), search.iteration);
        } else if search.iteration - best_at >= PATIENCE {
            break (ritz, StopReason::Stagnated);
        }
        if search.iteration >= options.max_iterations {
            break (ritz, StopReason::MaxIterations);
        }
        search.expand(&ritz, &lengths)?;
        search.iteration += 1;
        if saver.due()? {
            search.save(saver)?;
        }
    };
    search.save(saver)?;
    let worst = search.residuals.iter().fold(0.0f64, |a, r| a.max(*r));
    run.progress(phase, search.iteration, &ritz.values[..k], worst, true);
    let iterations = search.iteration;
    let few_vectors = search.space.is_cramped();
    let vectors = search.space.lowest(&ritz, k)?;
    let main = Main::new(ritz.values[..k].to_vec(), vectors, (iterations, stop), history);
    Ok(Main { gap: run.gap(&ritz.values, k), few_vectors, ..main })
}

impl<'a, T: Scalar> Search<'a, T> {
    /// From a checkpoint, or from basis states and a random vector.
    fn start(
        run: &'a Run<'a, T>,
        operator: &'a dyn LinearOperator<T>,
        sizes: Sizes,
        goal: &Goal<'_, T>,
        saver: &mut Saver,
    ) -> Result<Search<'a, T>, SolveError> {
        let units = sizes.columns + EXTRA;
        let diagonal = Diagonal::scan(operator, units)?;
        let correction = Correction::new(operator, diagonal.as_ref())?;
        let mut space = Space::new(run, operator, sizes)?;
        let mut iteration = 0;
        let first = if let Some(saved) = saver.take_resumed() {
            iteration = saved.iteration;
            let count = space.room(saved.vectors.len());
            let places = space.places(count);
            places.iter_mut().zip(&saved.vectors).try_for_each(|(place, saved)| saved.restore(place))?;
            places
        } else if let Goal::From { vectors, .. } = goal {
            let count = space.room(vectors.len());
            let places = space.places(count);
            for (place, vector) in places.iter_mut().zip(*vectors) {
                run.algebra.combine(std::slice::from_mut(place), &[*vector], &[vec![1.0]], false)?;
            }
            places
        } else {
            let count = space.room(if diagonal.is_some() { units + 1 } else { sizes.columns });
            let places = space.places(count);
            start::fill(run, operator, diagonal.as_ref(), places)?;
            places
        };
        let lengths =
            first.iter().map(|x| Ok(run.algebra.dot(x, x)?.sqrt())).collect::<Result<Vec<_>, SolveError>>()?;
        space.take_in(&lengths, iteration)?;
        let k = run.options.states;
        let mut search = Search {
            run,
            operator,
            space,
            correction,
            iteration,
            residuals: vec![f64::INFINITY; k],
            locked: vec![None; k],
        };
        while search.space.size() < sizes.columns {
            search.random_direction()?;
        }
        Ok(search)
    }

    /// Solves the small problem, and puts the corrections of the unconverged states after the basis. Returns the
    /// corrections' lengths.
    fn look(&mut self) -> Result<(Ritz, Vec<f64>), SolveError> {
        let mut ritz = self.space.ritz()?;
        let k = self.residuals.len();
        let tolerance = self.run.resolving(&ritz.values, k).max(self.run.floor());
        // A state found below moves the others up.
        for (locked, (value, residual)) in self.locked.iter_mut().zip(ritz.values.iter().zip(&self.residuals)) {
            if locked.is_some_and(|locked| (value - locked).abs() > residual.max(T::EPSILON * value.abs())) {
                *locked = None;
            }
        }
        if !self.space.holds(k) {
            self.space.collapse(&ritz)?;
            ritz = self.space.ritz()?;
        }
        loop {
            let roots: Vec<usize> = (0..k).filter(|&root| self.locked[root].is_none()).collect();
            let mut open = Vec::new();
            let places = self.space.residuals(&ritz, &roots)?;
            for (at, &root) in roots.iter().enumerate() {
                let norms = self.correction.apply(self.run, &mut places[at], ritz.values[root])?;
                self.residuals[root] = self.run.finite(norms.residual, self.iteration)?;
                if norms.residual <= tolerance {
                    self.locked[root] = Some(ritz.values[root]);
                } else {
                    places.swap(open.len(), at);
                    open.push(norms.correction);
                }
            }
            if !open.is_empty() || roots.len() == k {
                return Ok((ritz, open));
            }
            // All have converged, some in an earlier iteration: check all once more.
            self.locked.fill(None);
        }
    }

    /// Adds the corrections to the basis; if they contain nothing new the residuals; if these do not either, a random
    /// vector.
    fn expand(&mut self, ritz: &Ritz, lengths: &[f64]) -> Result<(), SolveError> {
        self.space.remember(ritz);
        if self.space.take_in(lengths, self.iteration)? > 0 {
            return Ok(());
        }
        if self.correction.divides() {
            let roots: Vec<usize> = (0..self.locked.len()).filter(|&root| self.locked[root].is_none()).collect();
            let residuals = self.space.residuals(ritz, &roots)?;
            let dot = |r: &Vector<T>| Ok(self.run.algebra.dot(r, r)?.sqrt());
            let lengths = residuals.iter().map(dot).collect::<Result<Vec<_>, SolveError>>()?;
            if self.space.take_in(&lengths, self.iteration)? > 0 {
                return Ok(());
            }
        }
        self.random_direction()
    }

    fn random_direction(&mut self) -> Result<(), SolveError> {
        let seed = self.run.options.seed ^ ((self.iteration * 64 + self.space.size() + 1) as u64) << 8;
        let [place] = self.space.places(1) else { return Ok(()) };
        self.operator.device().fill_random(place, seed)?;
        let length = self.run.algebra.dot(place, place)?.sqrt();
        self.space.take_in(&[length], self.iteration).map(drop)
    }

    fn save(&mut self, saver: &mut Saver) -> Result<(), SolveError> {
        let ritz = self.space.ritz()?;
        let state = self.space.state(&ritz)?;
        saver.save("davidson", self.iteration, &ritz.values, &state.iter().collect::<Vec<_>>())
    }
}
