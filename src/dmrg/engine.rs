//! The interface between a sweep and the place where its numbers live.
//!
//! A sweep plans on the host (sectors, layouts, [records](super::records), how many states stay) and computes through an
//! [`Engine`], which owns flat buffers: operators of blocks, kept states, ψ. [`HostEngine`](super::host::HostEngine)
//! keeps them in host memory. Only return values cross to the host.

use super::backend::{Backend, Operands};
use super::blocks::Side;
use super::bond::TwoSiteBond;
use super::cpu_share::CpuShare;
use super::davidson;
use super::enlarged::EnlargedOperators;
use super::environment::Environment;
use super::error::DmrgError;
use super::memory_plan::{Budget, MemoryPlan, Usage};
use super::strategy::Strategy;
use super::superblock::Superblock;
use super::truncate::{Truncated, TruncationLimits, Wave};

/// The operations a sweep needs from an engine. All matrices are column-major f64.
pub trait Engine: Backend {
    /// Sets the strategy by which solves compute H x, and the CPU's share of it.
    ///
    /// # Errors
    /// The engine has no strategy but the planned one, or no CPU beside it; a library is missing.
    fn configure(&mut self, strategy: Strategy, share: CpuShare) -> Result<(), DmrgError> {
        let found = "an engine that runs records by itself".into();
        match (strategy, share) {
            (Strategy::Planned, CpuShare::Part(share)) if share != 0.0 => {
                Err(DmrgError::ShareNeedsCard { share, found })
            }
            (Strategy::Planned, _) => Ok(()),
            _ => Err(strategy.refused(found)),
        }
    }

    /// Releases what it keeps from bond to bond, because no bond is solved for a while.
    fn release(&mut self) {}

    /// The memory it may use; `None` if the engine does not count.
    fn budget(&self) -> Option<Budget> {
        None
    }

    /// Applies a memory plan from now on.
    ///
    /// # Errors
    /// Not enough memory.
    fn apply_plan(&mut self, _: &MemoryPlan) -> Result<(), DmrgError> {
        Ok(())
    }

    /// Bytes it has reserved of the memory where it computes.
    fn reserved(&self) -> u64 {
        0
    }

    /// The peak memory use.
    fn usage(&self) -> Usage {
        Usage::default()
    }

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

    /// Replaces ψ by the lowest eigenvector of the superblock; `operands` are the buffers of its bond.
    ///
    /// # Errors
    /// A number is not finite.
    fn solve(
        &mut self,
        superblock: &Superblock,
        operands: Operands<'_, Self::Buffer>,
        diagonal: &Self::Buffer,
        wave: &mut Self::Buffer,
        limits: davidson::DavidsonLimits,
    ) -> Result<davidson::DavidsonResult, DmrgError>;

    /// The most vectors that [`solve_against`](Engine::solve_against) accepts.
    fn max_projected(&self) -> usize {
        usize::MAX
    }

    /// [`solve`](Engine::solve) among vectors orthogonal to `against`, which may have any norms and overlaps.
    ///
    /// # Errors
    /// A number is not finite.
    fn solve_against(
        &mut self,
        superblock: &Superblock,
        operands: Operands<'_, Self::Buffer>,
        diagonal: &Self::Buffer,
        wave: &mut Self::Buffer,
        limits: davidson::DavidsonLimits,
        against: &[&Self::Buffer],
    ) -> Result<davidson::DavidsonResult, DmrgError>;

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
