//! Where the numbers of a run live, and who computes with them.
//!
//! A sweep plans on the host (sectors, layouts, [records](super::records), how many states stay) and computes through an
//! [`Engine`], which owns flat buffers: operators of blocks, kept states, ψ. [`HostEngine`](super::host::HostEngine) keeps them in host memory. Nothing
//! crosses to the host but what a method says it returns.

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

/// What a sweep needs of the place where its numbers are. All matrices are column-major f64.
pub trait Engine: Backend {
    /// Solves run H x by this strategy from now on, a part of it on the CPU.
    ///
    /// # Errors
    /// An engine that has no other than the planned one, or no CPU beside it; a library that is missing.
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

    /// Lets go of what it keeps from bond to bond: no bond is solved for a while.
    fn release(&mut self) {}

    /// What it may use; `None` for one that does not count.
    fn budget(&self) -> Option<Budget> {
        None
    }

    /// Keeps to a plan from now on.
    ///
    /// # Errors
    /// Not enough memory.
    fn apply_plan(&mut self, _: &MemoryPlan) -> Result<(), DmrgError> {
        Ok(())
    }

    /// Bytes that it has taken of the memory where it computes.
    fn reserved(&self) -> u64 {
        0
    }

    /// The most that it has held.
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

    /// Replaces ψ by the lowest eigenvector of the superblock; `operands` are those of its bond.
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

    /// Vectors that [`solve_against`](Engine::solve_against) takes at most.
    fn max_projected(&self) -> usize {
        usize::MAX
    }

    /// [`solve`](Engine::solve) among the vectors orthogonal to `against`, of any norm and overlaps.
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

    /// Whether weights are eigenvalues of density matrices, good to the rounding of the largest; otherwise they are squares of
    /// singular values, good far below it.
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

    /// The same from the density matrix with a perturbation of relative size `noise`; `operands` are those of
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
