//! How far an evolution is: what was read off at the times so far, and what the steps may have cost.

use super::step::Tally;
use eigenforge_core::observable::Averages;
use serde::{Deserialize, Serialize};

/// A chain at a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChainPoint {
    /// The time.
    pub time: f64,
    /// ⟨H⟩.
    pub energy: f64,
    /// ⟨ψ(0)|ψ(t)⟩, real and imaginary part.
    pub overlap: [f64; 2],
    /// ln ‖exp(−Ht) ψ(0)‖ in imaginary time, else 0.
    pub log_norm: f64,
    /// Averages of the observables.
    pub averages: Averages,
    /// −Σ w ln w of the weights w of each cut, from left to right.
    pub cut_entropies: Vec<f64>,
    /// What the steps so far may have cost.
    pub steps: ChainSteps,
}

/// What steps took, and what they may have cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChainSteps {
    /// Steps.
    pub steps: usize,
    /// Products with H of a bond or a site.
    pub products: usize,
    /// The most complex states at a bond.
    pub states: usize,
    /// Weight that truncations dropped, all together.
    pub discarded: f64,
    /// Bounds of the exponentials of bonds, all together.
    pub bound: f64,
    /// Estimate of ‖ψ − exact‖ by the length of the steps, from some of them.
    pub splitting: f64,
    /// Weight that states would get within a step which blocks lack, for terms on sites that are no neighbours, all together.
    pub missing: f64,
    /// In imaginary time ‖ψ − exact‖ by all of these, each as it has grown since.
    pub grown: Option<f64>,
    /// The time at which the weight passed the tolerance, if it did.
    pub stop_time: Option<f64>,
}

impl ChainSteps {
    /// Estimate of ‖ψ − exact‖.
    pub fn error(&self) -> f64 {
        self.grown.unwrap_or((self.discarded + self.missing).sqrt() + self.bound + self.splitting)
    }
}

/// What the length of steps costs: c τ³ for a step of time τ, with c from trials.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Splitting {
    /// Of all steps before the last trial.
    before: f64,
    /// c of the step that was tried last.
    last: f64,
    /// Σ τ³ of the steps since.
    since: f64,
    /// The length of the step that was tried last.
    pub(super) tried: f64,
}

impl Splitting {
    /// A step of this time was tried, and costs so much.
    pub(super) fn tried(&mut self, time: f64, error: f64) {
        let cost = error / time.powi(3);
        // The larger of both ends for the steps between.
        self.before += self.since * self.last.max(cost);
        (self.last, self.since, self.tried) = (cost, 0.0, time);
    }

    /// A step of this time was made.
    pub(super) fn record_step(&mut self, time: f64) {
        self.since += time.powi(3);
    }

    /// What a step of this time costs.
    pub(super) fn of_step(&self, time: f64) -> f64 {
        self.last * time.powi(3)
    }

    pub(super) fn error(&self) -> f64 {
        self.before + self.since * self.last
    }
}

/// What errors become in imaginary time, which makes ψ shorter and them less so: ‖exp(−Ht) e‖ ≤ exp(−E₀t) ‖e‖.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Growth {
    /// E₀ in the units of the chain.
    pub(super) lowest: f64,
    /// ‖ψ − exact‖ of ψ of length 1.
    pub(super) error: f64,
}

/// How far an evolution is.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct SavedCourse {
    /// The time, by its number, to which it is on its way.
    pub(super) time: usize,
    /// Steps since the time before.
    pub(super) done: usize,
    /// All steps.
    pub(super) steps: usize,
    /// What they have cost.
    pub(super) tally: Tally,
    pub(super) splitting: Splitting,
    /// The coefficients of H(t) at the last trial.
    pub(super) coefficients: Vec<f64>,
    /// In imaginary time.
    pub(super) growth: Option<Growth>,
    /// What was measured, if the run is saved.
    pub(super) points: Vec<ChainPoint>,
}
