//! Where the numbers of a run live, and who computes with them.
//!
//! A sweep plans on the host (sectors, layouts, [records](super::records), how many states stay) and computes through an
//! [`Engine`], which owns flat buffers: operators of blocks, kept states, ψ. [`Host`](super::host::Host) keeps them in host memory. Nothing
//! crosses to the host but what a method says it returns.

use super::blocks::Side;
use super::bond::Bond;
use super::cpu_share::CpuShare;
use super::davidson;
use super::dense::{View, eigen};
use super::enlarged::EnlargedOperators;
use super::environment::Environment;
use super::error::DmrgError;
use super::memory::{Budget, MemoryPlan, Usage};
use super::records::{SPACES, Space, Stage};
use super::strategy::Strategy;
use super::superblock::Superblock;
use super::truncate::{Limits, Truncated, Wave};
use std::borrow::Cow;

/// The buffers that the records of a stage read, by [`Space`].
pub struct Operands<'a, B> {
    of: [Option<&'a B>; SPACES],
}

impl<B> Clone for Operands<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B> Copy for Operands<'_, B> {}

impl<B> Default for Operands<'_, B> {
    fn default() -> Self {
        Operands { of: [None; SPACES] }
    }
}

impl<'a, B> Operands<'a, B> {
    /// With a buffer in its place.
    pub fn with(mut self, space: Space, buffer: &'a B) -> Operands<'a, B> {
        self.of[space as usize] = Some(buffer);
        self
    }

    /// The buffer of a space.
    pub fn get(&self, space: Space) -> Option<&'a B> {
        self.of[space as usize]
    }
}

/// What a sweep needs of the place where its numbers are. All matrices are column-major f64.
pub trait Engine {
    /// Numbers in its memory.
    type Buffer;

    /// Solves run H x by this strategy from now on, a part of it on the CPU.
    ///
    /// # Errors
    /// An engine that has no other than the planned one, or no CPU beside it; a library that is missing.
    fn take_up(&mut self, strategy: Strategy, share: CpuShare) -> Result<(), DmrgError> {
        let found = "an engine that runs records by itself".into();
        match (strategy, share) {
            (Strategy::Planned, CpuShare::Part(share)) if share != 0.0 => {
                Err(DmrgError::ShareNeedsCard { share, found })
            }
            (Strategy::Planned, _) => Ok(()),
            _ => Err(strategy.refused(found)),
        }
    }

    /// Takes numbers over from the host.
    ///
    /// # Errors
    /// Memory that is not there.
    fn upload(&self, data: Vec<f64>) -> Result<Self::Buffer, DmrgError>;

    /// The numbers, on the host.
    ///
    /// # Errors
    /// A device that fails.
    fn download<'b>(&self, buffer: &'b Self::Buffer) -> Result<Cow<'b, [f64]>, DmrgError>;

    /// The output of a stage: what its groups add up to, everything else zero.
    ///
    /// # Errors
    /// A device that fails.
    fn run(&self, stage: &Stage, operands: Operands<'_, Self::Buffer>) -> Result<Self::Buffer, DmrgError>;

    /// Told of numbers that the sweep will not read before it comes back this way: their room is others' if they need it.
    ///
    /// # Errors
    /// A device that fails, a disk that is full.
    fn leave(&self, _: &mut Self::Buffer) -> Result<(), DmrgError> {
        Ok(())
    }

    /// Told of numbers that will be read in so many bonds: they may begin to come back.
    ///
    /// # Errors
    /// Those of [`Engine::arrive`].
    fn expect(&self, _: &mut Self::Buffer, _bonds: usize) -> Result<(), DmrgError> {
        Ok(())
    }

    /// Told of numbers that are about to be read, which may have left.
    ///
    /// # Errors
    /// Memory that is not there; a file that cannot be read back.
    fn arrive(&self, _: &mut Self::Buffer) -> Result<(), DmrgError> {
        Ok(())
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
    /// Memory that is not there.
    fn hold_to(&mut self, _: &MemoryPlan) -> Result<(), DmrgError> {
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

    /// x · y.
    ///
    /// # Errors
    /// A device that fails.
    fn dot(&self, x: &Self::Buffer, y: &Self::Buffer) -> Result<f64, DmrgError>;

    /// The diagonal of H over ψ: Σ_b diag(A_b)_i diag(B_b)_j.
    ///
    /// # Errors
    /// A device that fails.
    fn diagonal(
        &self,
        bond: &Bond<Self::Buffer>,
        left: &Environment<Self::Buffer>,
        right: &Environment<Self::Buffer>,
    ) -> Result<Self::Buffer, DmrgError>;

    /// Replaces ψ by the lowest eigenvector of the superblock; `operands` are those of its bond.
    ///
    /// # Errors
    /// Numbers that are not finite.
    fn solve(
        &mut self,
        superblock: &Superblock,
        operands: Operands<'_, Self::Buffer>,
        diagonal: &Self::Buffer,
        wave: &mut Self::Buffer,
        limits: davidson::Limits,
    ) -> Result<davidson::Found, DmrgError>;

    /// Vectors that [`solve_against`](Engine::solve_against) takes at most.
    fn most_against(&self) -> usize {
        usize::MAX
    }

    /// [`solve`](Engine::solve) among the vectors orthogonal to `against`, of any norm and overlaps.
    ///
    /// # Errors
    /// Numbers that are not finite.
    fn solve_against(
        &mut self,
        superblock: &Superblock,
        operands: Operands<'_, Self::Buffer>,
        diagonal: &Self::Buffer,
        wave: &mut Self::Buffer,
        limits: davidson::Limits,
        against: &[&Self::Buffer],
    ) -> Result<davidson::Found, DmrgError>;

    /// Whether weights are eigenvalues of density matrices, good to the rounding of the largest; otherwise they are squares of
    /// singular values, good far below it.
    fn weighs_by_density(&self) -> bool {
        false
    }

    /// The eigenvalues, descending, of symmetric matrices inside a buffer, given by first element and rows.
    ///
    /// # Errors
    /// Numbers that are not finite.
    fn eigenvalues(&self, matrices: Self::Buffer, list: &[(usize, usize)]) -> Result<Vec<Vec<f64>>, DmrgError> {
        let matrices = self.download(&matrices)?;
        let of = |(first, rows): &(usize, usize)| {
            let (mut values, _) = eigen(View::whole(&matrices[*first..][..rows * rows], *rows, *rows))?;
            values.reverse();
            Ok(values)
        };
        list.iter().map(of).collect()
    }

    /// Decomposes every sector of ψ and keeps the best states of the block on `side`.
    ///
    /// # Errors
    /// Numbers that are not finite.
    fn truncate(
        &self,
        wave: Wave<'_, Self::Buffer>,
        side: Side,
        limits: Limits,
    ) -> Result<Truncated<Self::Buffer>, DmrgError>;

    /// The same from the density matrix with a perturbation of relative size `noise`; `operands` are those of
    /// `operators`, the operators of the block on `side`.
    ///
    /// # Errors
    /// Numbers that are not finite.
    fn truncate_with_noise(
        &self,
        wave: Wave<'_, Self::Buffer>,
        side: Side,
        limits: Limits,
        operators: &EnlargedOperators<Self::Buffer>,
        operands: Operands<'_, Self::Buffer>,
        noise: f64,
    ) -> Result<Truncated<Self::Buffer>, DmrgError>;
}
