//! Lanczos: a three-term recurrence for the ground state, thick restart with full reorthogonalisation for several states.
//!
//! **One state.** β_j v_{j+1} = A v_j − α_j v_j − β_{j−1} v_{j−1}: one multiply and four passes per step. Vectors carry their
//! length as a number, so nothing is scaled in memory. What happens to v_j depends on the available memory:
//!
//! | vectors that fit | what is done | multiplies |
//! |---|---|---|
//! | all steps | they are kept, and x = Σ s_j v_j is added up at the end | one per step |
//! | some fifty or more | when the memory is full, it is replaced by the lowest Ritz vectors and the recurrence continues | one per step |
//! | fewer | the recurrence continues with two; x is made from the start by a factor for each Ritz value but the lowest (`factors`) | two per step |
//!
//! The estimate |β_j s_j| of the lowest Ritz pair of the projected matrix ends the steps. Loss of orthogonality only
//! creates copies of converged values, which do not disturb the lowest. If the true residual is still above the
//! tolerance, the search restarts from x. At least three vectors: two of the recurrence and A v_j. The start is not among them, since
//! it can be made again; nor is x, which is made when the recurrence has ended. (Lanczos 1950; Cullum and Willoughby 1985; restart: Wu
//! and Simon 2000.)
//!
//! **Several states.** The basis is filled to m vectors, each orthogonal to all others, the lowest Ritz vectors are kept
//! with the last residual direction, and so on. A single start vector sees one state of each degenerate level only;
//! certification finds the others.
//!
//! | file | question it answers |
//! |---|---|
//! | `ground` | in which order is one state computed, and how does it resume after an interruption? |
//! | `recurrence` | what is a step, and where are its vectors? |
//! | `factors` | how is x made from the start, without the basis? |
//! | `projected` | what is the lowest eigenpair of the small matrix? |
//! | `restart` | what replaces a full basis? |
//! | `several` | how are several states found? |
//! | `chain` | what is the tridiagonal matrix of a given vector? |
//! | `exponential` | what is exp(−iTt), and how good is the vector that it makes? |
//! | `propagator` | what is exp(−iHt) ψ in the bases of chains? |
//! | `evolution` | which steps lead from ψ(0) to ψ(t)? |
//! | `magnus` | and under H(t)? |
//! | `time_coefficients` | do the places at which a step looks show all that H(t) does? |
//! | `evolution_checkpoint` | from where does an evolution go on? |

mod chain;
mod evolution;
mod evolution_checkpoint;
mod exponential;
mod factors;
mod ground;
mod magnus;
mod projected;
mod propagator;
mod recurrence;
mod restart;
mod several;
mod time_coefficients;

pub(super) use chain::SHORT;
pub use chain::{KrylovChain, RitzLine, krylov_chain, krylov_vectors};
pub use evolution::{EvolutionOptions, EvolutionSteps, EvolutionVisitor, EvolvedState, evolve};
pub use exponential::{BoundedStep, SmallExponential, TimeAxis, longest_step};
pub(super) use ground::{Search, search as search_lowest};
pub use magnus::{OperatorCombination, evolve_driven};
pub(super) use projected::Projected;
pub(super) use recurrence::IN_PLACE;
pub(super) use several::thick_vectors;
pub use time_coefficients::{TimeCoefficients, hides_between};

use super::checkpoint::Saver;
use super::run::Main;
use super::run::Run;
use super::{SolveOptions, algebra::parse};
use crate::error::SolveError;
use crate::operator::LinearOperator;
use crate::scalar::Scalar;
use eigenforge_templates::vector_program::VectorProgram;

/// Minimum number of vectors for one state: two of the recurrence, and A v_j.
pub(super) const VECTORS: usize = 3;
/// Most kept vectors. A restart of m vectors costs 1.75 m passes, so about two passes per step for any m; a larger m
/// saves the restarts of a short run, and costs memory that must be allocated and cleared.
const MOST: usize = 102;

/// Vectors that are worth keeping: hardly a run has fewer steps.
const FEWEST: usize = 16;

/// The programs of this folder.
pub(super) fn programs() -> Vec<VectorProgram> {
    [recurrence::STEP, recurrence::IN_PLACE, factors::FACTOR].map(parse).to_vec()
}

/// Useful vectors in addition to [`VECTORS`], if memory has room for `spare` more: the start and those after it.
pub(super) fn optional_vectors(options: &SolveOptions, spare: usize) -> usize {
    let room = restart::slots(options.keep_vectors.unwrap_or(MOST).min(spare)).min(options.max_iterations);
    if room < FEWEST { 0 } else { room }
}

/// Whether a search that keeps so many vectors multiplies twice in each step: too few for the basis and for a restart, so that x is made
/// again from the start.
pub(super) fn multiplies_twice(kept: usize) -> bool {
    kept < restart::LEAST
}

/// The k lowest states.
pub(super) fn search<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
    saver: &mut Saver,
) -> Result<Main<T>, SolveError> {
    if run.options.states == 1 {
        ground::lowest(run, operator, saver)
    } else {
        several::thick_restart(run, operator, saver)
    }
}
