//! The part of a report that a transformation into SU(3) tensors adds, and its summary for a terminal.

use super::{Outcome, ShapeRecord};
use crate::su3::{CacheCounts, CardRecord, Su3Spec, Summary};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// What only a transformation has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TensorRecord {
    /// Its `[su3]`, with what the command line changed.
    pub su3: Su3Spec,
    /// Norms by channel, the largest tensors.
    #[serde(flatten)]
    pub summary: Summary,
    /// The shape of the generated kernels, where one set of them did everything; else `null`.
    pub shape: Option<ShapeRecord>,
    /// What each card did; empty on the CPU and of several processes.
    #[serde(default)]
    pub cards: Vec<CardRecord>,
    /// Groups of quadruples that an earlier run had done.
    pub resumed_groups: usize,
    /// Seconds of stages that follow each other.
    pub stages: Vec<(String, f64)>,
    /// Seconds of the work within the pieces, which runs side by side: more in all than the pieces took.
    pub overlapping: Vec<(String, f64)>,
    /// Tables of coefficients that were read from the cache and made.
    pub tables: CacheCounts,
}

impl TensorRecord {
    pub(super) fn write_summary(&self, outcome: &Outcome, out: &mut String) -> std::fmt::Result {
        writeln!(out, "{}", self.summary)?;
        if self.summary.left_out > 0 {
            writeln!(out, "{} rows beyond N_max = {} left out", self.summary.left_out, self.summary.n_max)?;
        }
        writeln!(out, "{} by {} on {}", outcome.stop, outcome.solver, outcome.device)?;
        outcome.write_seconds(out, "")?;
        if let Some(shape) = &self.shape {
            writeln!(out, "kernels with {shape}")?;
        }
        if self.cards.len() > 1 {
            self.cards.iter().try_for_each(|card| writeln!(out, "{card}"))?;
        }
        outcome.write_cost(out)
    }
}
