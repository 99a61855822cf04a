//! Whether a state at or below a level is hidden from the states found.
//!
//! In: the states found, the level. Out: nothing is hidden, and where the next level may begin; or a hidden state. A
//! [chain](super::chain) begins at a random vector g outside the states found. A hidden state has some part of g, and every step
//! bounds it ([`quadrature`](super::quadrature)): the search ends once that bound is so far below the part that a state of this level has on
//! average that a random g has so little of it once in a million searches ([`chance`]). A hidden state keeps the bound up, and comes out
//! as the lowest Ritz vector.

use super::super::SolvePhase;
use super::super::lanczos::Projected;
use super::chain::{Chain, Subject};
use super::metric::Expected;
use super::quadrature::{Christoffel, empty_up_to};
use crate::device::Vector;
use crate::error::SolveError;
use crate::scalar::Scalar;

/// Steps between two looks at the lowest Ritz value; in the first this many it is looked at in every step.
const LOOK: usize = 5;
/// Growth of rounding errors, squared, between two times that they are taken out; in f32 they are taken out in every step.
const GROWN: f64 = 1e4;
/// The residual of a Ritz vector in the metric from which on it is finished elsewhere.
const RESOLVED: f64 = 1e-5;
/// Part of what a state has of g on average, squared, that says where the next level begins.
const NEXT: f64 = 1e-6;
/// Part of the weight in the metric that members of the level have, which the next level is taken to have at least.
const OTHER_WEIGHT: f64 = 0.25;
/// Most vectors of a chain that are kept, where a state is expected.
const KEPT: usize = 64;

/// The square of the part that a random start has of a state, relative to its mean, below which no state is expected: a normally
/// distributed part is as small once in 10⁶ searches, in vectors of 10⁹ elements once in 10⁴.
pub(super) fn chance(dimension: usize) -> f64 {
    (1e-17 * dimension as f64).max(1e-12)
}

/// What decides a search.
pub(super) struct Decision {
    /// What a hidden state would have.
    pub(super) expected: Expected,
    /// How small its part may be, squared and relative to the mean.
    pub(super) chance: f64,
    /// The lowest energy found, less the level.
    pub(super) lowest: f64,
    /// Energies up to this far above the level are those of hidden states.
    pub(super) near: f64,
    /// Whether to keep vectors for the state that is likely to be found.
    pub(super) is_likely: bool,
}

/// What a search found.
pub(super) enum Answer<T: Scalar> {
    /// No state, and the distance within which no other level is expected.
    Nothing { next: f64 },
    /// A state, close to an eigenvector.
    State(Vector<T>),
    /// The limit of iterations came first.
    Unfinished { steps: usize },
}

/// The steps so far.
#[derive(Default)]
struct Steps {
    alpha: Vec<f64>,
    beta: Vec<f64>,
    purged: Vec<bool>,
}

impl Steps {
    /// The lowest Ritz value, its vector and its residual.
    fn lowest(&self) -> (f64, Vec<f64>, f64) {
        let (value, s) = Projected::chain(self.alpha.clone(), self.beta.clone()).lowest();
        let residual = self.beta.last().copied().unwrap_or(0.0) * s.last().map_or(0.0, |s| s.abs());
        (value, s, residual)
    }
}

/// Searches for a hidden state; also returns the number of steps.
pub(super) fn search<T: Scalar>(
    subject: &Subject<'_, T>,
    decision: &Decision,
) -> Result<(Answer<T>, usize), SolveError> {
    let run = subject.run;
    let mut chain = Chain::begin(subject)?;
    let enough = (decision.expected.ratio(chain.square) / decision.chance).ln();
    let in_metric = |energy: f64| energy / decision.expected.weight;
    let (near, floor) = (in_metric(decision.near), in_metric(run.floor()));
    let resolved = if subject.metric.is_some() { RESOLVED } else { (0.5 * run.tolerance).max(floor) };
    let (mut at_level, mut at_lowest) = (Christoffel::new(floor), Christoffel::new(in_metric(decision.lowest)));
    let (mut steps, mut purged_at, mut kept) = (Steps::default(), 0.0, decision.is_likely.then(Vec::new));
    loop {
        let count = steps.alpha.len();
        keep(&chain, &mut kept)?;
        let grown = at_lowest.growth() - purged_at > GROWN.ln() || size_of::<T>() < 8;
        let is_purged =
            grown || (steps.purged.last() == Some(&true) && steps.purged.iter().rev().nth(1) != Some(&true));
        let (alpha, beta) = chain.advance(count, is_purged)?;
        steps.alpha.push(alpha);
        steps.beta.push(beta);
        steps.purged.push(is_purged);
        if grown {
            purged_at = at_lowest.growth();
        }
        let is_exhausted = beta <= floor;
        let (taken, last) = (beta.max(f64::MIN_POSITIVE), count + 1 >= run.options.max_iterations);
        at_level.push(alpha, taken);
        at_lowest.push(alpha, taken);
        let is_empty = at_level.logarithm() >= enough;
        if !(is_empty || is_exhausted || last || count < LOOK || count % LOOK == 0) {
            continue;
        }
        let (value, s, residual) = steps.lowest();
        let energies = [subject.level + decision.expected.weight * value];
        run.progress(SolvePhase::Certify, count + 1, &energies, residual, is_empty);
        // A state that has come out makes rounding errors of the polynomials grow, as nothing at the level would.
        if value <= near && (residual <= resolved || is_exhausted || is_empty) {
            return Ok((Answer::State(state(subject, chain, &steps, &s, kept)?), count + 1));
        }
        if is_empty || is_exhausted {
            let next = match is_exhausted {
                true => value,
                false => {
                    let enough = (decision.expected.ratio(chain.square) / NEXT).ln();
                    empty_up_to(&steps.alpha, &steps.beta, (0.0, value), enough)
                }
            };
            let share = if subject.metric.is_some() { OTHER_WEIGHT } else { 1.0 };
            return Ok((Answer::Nothing { next: share * decision.expected.weight * next }, count + 1));
        }
        if last {
            return Ok((Answer::Unfinished { steps: count + 1 }, count + 1));
        }
    }
}

/// Keeps the newest vector, unless there are too many.
fn keep<T: Scalar>(chain: &Chain<'_, T>, kept: &mut Option<Vec<Vector<T>>>) -> Result<(), SolveError> {
    let Some(list) = kept else { return Ok(()) };
    let room = list.len() < KEPT;
    match room.then(|| chain.empty_vector()).transpose() {
        Ok(Some(mut vector)) => {
            chain.copy_to(&mut vector)?;
            list.push(vector);
        }
        Ok(None) | Err(_) => *kept = None,
    }
    Ok(())
}

/// x = M⁻¹ Σ s_j v_j, from the vectors kept or from the start once more.
fn state<T: Scalar>(
    subject: &Subject<'_, T>,
    chain: Chain<'_, T>,
    steps: &Steps,
    s: &[f64],
    kept: Option<Vec<Vector<T>>>,
) -> Result<Vector<T>, SolveError> {
    let mut x = chain.empty_vector()?;
    if let Some(kept) = kept.filter(|kept| kept.len() == s.len()) {
        let weights: Vec<Vec<f64>> = s.iter().map(|s| vec![*s]).collect();
        let vectors: Vec<&Vector<T>> = kept.iter().collect();
        subject.run.algebra.combine(std::slice::from_mut(&mut x), &vectors, &weights, false)?;
        return chain.state(x);
    }
    drop(chain);
    let mut chain = Chain::begin(subject)?;
    for (j, weight) in s.iter().enumerate() {
        chain.add_to(&mut x, *weight)?;
        if j + 1 < s.len() {
            chain.advance(j, steps.purged[j])?;
        }
    }
    chain.state(x)
}
