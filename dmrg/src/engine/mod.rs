//! The interface between a sweep and the place where its numbers live.
//!
//! A sweep plans on the host (sectors, layouts, records, how many states stay) and computes through an [`Engine`]: a
//! [`Backend`] of the runtime, which owns flat buffers (operators of blocks, kept states, ψ), runs records and solves, with
//! the two steps of a bond that depend on where the numbers are. `host.rs` has them for this machine's cores, [`card`] for a
//! device that runs kernels, [`counting`](crate::memory::counting) for a dry run.

pub(super) mod card;
pub(super) mod host;

use crate::block::blocks::Side;
use crate::block::bond::TwoSiteBond;
use crate::block::enlarged::EnlargedOperators;
use crate::block::environment::Environment;
use crate::block::truncate::{Truncated, TruncationLimits, Wave};
use crate::error::DmrgError;
use eigenforge_runtime::DeviceSpan;
use eigenforge_runtime::backend::{Backend, Operands};

/// A backend on which a sweep can run. All matrices are column-major f64.
pub trait Engine: Backend {
    /// The diagonal of H over ψ: Σ_b diag(A_b)_i diag(B_b)_j.
    ///
    /// # Errors
    /// The device fails.
    fn diagonal(
        &self,
        bond: &TwoSiteBond<Self::Buffer>,
        left: &Environment<Self::Buffer>,
        right: &Environment<Self::Buffer>,
    ) -> Result<Self::Buffer, DmrgError>;

    /// Begins a span of a trace: a step of a bond, on the host and on the device's own track. `None` where nothing is computed.
    fn span(&self, name: &str) -> Option<DeviceSpan> {
        Some(self.device().span("dmrg", name))
    }

    /// Whether truncation weights are eigenvalues of density matrices, accurate to the rounding of the largest; otherwise
    /// they are squares of singular values, accurate far below that.
    fn weighs_by_density(&self) -> bool {
        false
    }

    /// Decomposes every sector of ψ and keeps the best states of the block on `side`.
    ///
    /// # Errors
    /// A number is not finite.
    fn truncate(
        &self,
        wave: Wave<'_, Self::Buffer>,
        side: Side,
        limits: TruncationLimits,
    ) -> Result<Truncated<Self::Buffer>, DmrgError>;

    /// The same from the density matrix with a perturbation of relative size `noise`; `operands` are the buffers of
    /// `operators`, the operators of the block on `side`.
    ///
    /// # Errors
    /// A number is not finite.
    fn truncate_with_noise(
        &self,
        wave: Wave<'_, Self::Buffer>,
        side: Side,
        limits: TruncationLimits,
        operators: &EnlargedOperators<Self::Buffer>,
        operands: Operands<'_, Self::Buffer>,
        noise: f64,
    ) -> Result<Truncated<Self::Buffer>, DmrgError>;
}
