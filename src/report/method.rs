//! What found the energies or strengths, and why it ended: the words of reports.

use crate::dmrg::SweepStop;
use eigenforge_runtime::solvers::{Solver, StopReason};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What found the energies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Locally optimal block preconditioned conjugate gradients.
    Lobpcg,
    /// Lanczos.
    Lanczos,
    /// Davidson.
    Davidson,
    /// Olsen, with two vectors.
    Olsen,
    /// Diagonalisation of the whole matrix.
    Dense,
    /// Density-matrix renormalisation.
    Dmrg,
    /// SU(3) tensors by factorised sums.
    Factorised,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// Every residual, or the change of the energy by a sweep, is below the tolerance.
    Converged,
    /// An eigensolver did as many iterations as were allowed.
    MaxIterations,
    /// Rounding prevents further progress above the tolerance.
    Stagnated,
    /// The whole matrix was diagonalised.
    Dense,
    /// DMRG did as many sweeps as were allowed.
    Sweeps,
    /// The chain has its length, and no sweeps were requested.
    Grown,
    /// A finite sum is done.
    Finished,
}

impl From<Solver> for Method {
    fn from(solver: Solver) -> Method {
        match solver {
            Solver::Lobpcg => Method::Lobpcg,
            Solver::Lanczos => Method::Lanczos,
            Solver::Davidson => Method::Davidson,
            Solver::Olsen => Method::Olsen,
            Solver::Dense => Method::Dense,
        }
    }
}

impl From<StopReason> for Stop {
    fn from(stop: StopReason) -> Stop {
        match stop {
            StopReason::Converged => Stop::Converged,
            StopReason::MaxIterations => Stop::MaxIterations,
            StopReason::Stagnated => Stop::Stagnated,
            StopReason::Dense => Stop::Dense,
        }
    }
}

impl From<SweepStop> for Stop {
    fn from(stop: SweepStop) -> Stop {
        match stop {
            SweepStop::Converged => Stop::Converged,
            SweepStop::Sweeps => Stop::Sweeps,
            SweepStop::Grown => Stop::Grown,
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}
