//! What is wanted of an evolution, and the limits that follow from it.

use super::start::FirstBond;
use super::step::MovingState;
use super::time_engine::TimeEngine;
use crate::block::truncate::TruncationLimits;
use crate::chain::Chain;
use crate::error::DmrgError;
use crate::options::UpdateChoice;
use eigenforge_core::observable::Observable;
use eigenforge_runtime::solvers::{CheckpointOptions, TimeAxis};

/// What is wanted of an evolution.
#[derive(Clone, Debug, PartialEq)]
pub struct ChainEvolution {
    /// Times at which the state is wanted, ascending from 0 on, in ħ over the unit of the model.
    pub times: Vec<f64>,
    /// The longest step.
    pub step: f64,
    /// How many sites move at once.
    pub update: UpdateChoice,
    /// Complex states kept at a bond at most.
    pub states: usize,
    /// Weight that a truncation may drop although more states are allowed; `None` for a small part of the tolerance.
    pub discarded: Option<f64>,
    /// The weight 1 − |⟨ψ|exact⟩|² that may be lost.
    pub tolerance: f64,
    /// Whether time is real.
    pub axis: TimeAxis,
    /// What is averaged.
    pub observables: Vec<Observable>,
    /// Whether the state at the end is wanted.
    pub state: bool,
    /// Where the run is saved between two steps. Its `identity` is not read: the chain says which it is.
    pub checkpoint: Option<CheckpointOptions>,
}

/// Parts of the first step behind the shortest, which is shorter than the step by 2 to this power, and loses less by 8 to it.
pub(super) const DOUBLINGS: i32 = 4;
/// Part of the tolerance that truncations to less than the allowed states drop altogether.
const SMALL_PART: f64 = 0.1;
/// The same of its root for the exponentials.
pub(super) const EXPONENTIALS: f64 = 1e-3;
/// Weight that a truncation may drop in imaginary time: rounding alone, since what is dropped would grow.
const ROUNDING: f64 = 1e-28;

impl ChainEvolution {
    pub(super) fn check(&self) -> Result<(), DmrgError> {
        let wrong = |option, expected, found: String| Err(DmrgError::Option { option, expected, found });
        let ascend = self.times.windows(2).all(|pair| pair[0] < pair[1]);
        let in_range =
            self.times.first().is_some_and(|first| *first >= 0.0) && self.times.iter().all(|t| t.is_finite());
        if !(ascend && in_range) {
            return wrong("times", "finite times from 0 on, each above the one before", format!("{:?}", self.times));
        }
        if !(self.step > 0.0 && self.step.is_finite()) {
            return wrong("step", "a time above 0", self.step.to_string());
        }
        if !(self.tolerance > 0.0 && self.tolerance < 1.0) {
            return wrong("tolerance", "a weight between 0 and 1, such as 1e-8", self.tolerance.to_string());
        }
        if self.states == 0 {
            return wrong("states", "at least 1", "0".into());
        }
        let steps = self.steps();
        if steps > MOST_STEPS {
            return wrong(
                "step",
                "a time that makes at most 10,000,000 steps until the last time",
                format!("{:e}", self.step),
            );
        }
        Ok(())
    }

    /// Steps from a time to the next.
    pub(super) fn steps_between(&self, from: f64, to: f64) -> f64 {
        ((to - from) / self.step * (1.0 - 1e-12)).ceil().max(1.0)
    }

    /// ψ at time 0, with the limits of its truncations and exponentials.
    pub(super) fn moving_state<'c, E: TimeEngine>(
        &self,
        engine: E,
        chain: &'c Chain,
        first: FirstBond,
    ) -> Result<MovingState<'c, E>, DmrgError> {
        // Each step, and each part of the first, truncates every bond there and back.
        let truncations = 2.0 * (self.steps().max(1.0) + f64::from(DOUBLINGS)) * chain.sites as f64;
        let usual = match self.axis {
            TimeAxis::Real => SMALL_PART * self.tolerance / truncations,
            TimeAxis::Imaginary => ROUNDING,
        };
        let discarded = self.discarded.unwrap_or(usual);
        let limits = TruncationLimits { most: self.states, least: 1, discarded, factored: None };
        let precision = (EXPONENTIALS * self.tolerance.sqrt() / (2.0 * truncations)).clamp(1e-14, 1e-8);
        let expands = self.update == UpdateChoice::Expanding;
        MovingState::new(engine, chain, first, (self.axis, expands), limits, precision)
    }

    /// All steps.
    pub(super) fn steps(&self) -> f64 {
        let times = || std::iter::once(0.0).chain(self.times.iter().copied());
        times().zip(times().skip(1)).filter(|(from, to)| to > from).map(|(from, to)| self.steps_between(from, to)).sum()
    }
}

/// Steps of a run at most.
const MOST_STEPS: f64 = 1e7;
