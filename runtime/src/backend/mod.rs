//! Where the buffers of a run live and its records run: on this machine's cores, or on a card.
//!
//! A [`Backend`] owns flat buffers of column-major f64, and only return values cross to the host. It runs stages of
//! [records](crate::records), adds up inner products, finds the lowest eigenvector of y = H x by the lean
//! [Davidson](crate::solvers::lean), and moves [evictable](Evict) buffers out of its memory and back.
//!
//! | file | question it answers |
//! |---|---|
//! | `host.rs`, `bounded_host.rs` | this machine's cores, without and with a limit on memory |
//! | `device.rs` | a device that runs kernels; everything stays in its memory |
//! | `cards.rs` | what several cards share, and what each has beside the one that leads |
//! | `matrices_over_cards.rs` | decompositions and factors on several cards |
//! | `one_card.rs` | what a run keeps on a card between solves |
//! | `eigenvectors.rs` | eigenvectors of many symmetric matrices on a device at once |
//! | `texts.rs` | the generated files of a device, for inspection |

mod bounded_host;
mod cards;
mod device;
mod eigenvectors;
mod host;
mod matrices_over_cards;
mod one_card;
mod texts;

pub use bounded_host::BoundedHostBackend;
pub use cards::{CardLoad, LEAST_SHARED_FLOPS, card_loads};
pub use device::{DeviceBackend, most_projected};
pub use eigenvectors::{CholeskyFactor, MatrixSpectrum, PivotedCholesky, workspace};
pub use host::{HostBackend, slices};
pub use texts::{generated, generated_for_chain};

use crate::dense::{View, eigen};
use crate::device::Device;
use crate::error::BackendError;
use crate::records::{Assembly, OperandSpace, RecordStage, SPACES, TwoStages};
use crate::residency::{Budget, Evict, PlannedMemory, Usage};
use crate::solvers::lean::{CardWork, DavidsonLimits, DavidsonResult, TextChoice};
use std::borrow::Cow;

/// The buffers that the records of a stage read, by [`OperandSpace`].
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
    /// Sets the buffer of a space.
    pub fn set(mut self, space: OperandSpace, buffer: &'a B) -> Operands<'a, B> {
        self.of[space as usize] = Some(buffer);
        self
    }

    /// The buffer of a space.
    pub fn get(&self, space: OperandSpace) -> Option<&'a B> {
        self.of[space as usize]
    }
}

/// Flat buffers, and stages of records that run on them.
pub trait Backend {
    /// A buffer in the backend's memory.
    type Buffer: Evict;

    /// The device that computes.
    fn device(&self) -> Device {
        Device::cpu()
    }

    /// Moves numbers from the host into the backend's memory.
    ///
    /// # Errors
    /// Not enough memory.
    fn upload(&self, data: Vec<f64>) -> Result<Self::Buffer, BackendError>;

    /// Copies the numbers to the host.
    ///
    /// # Errors
    /// The device fails.
    fn download<'b>(&self, buffer: &'b Self::Buffer) -> Result<Cow<'b, [f64]>, BackendError>;

    /// Runs a stage. Each output block is the sum of its group's records; everything else is zero.
    ///
    /// # Errors
    /// The device fails.
    fn run(&self, stage: &RecordStage, operands: Operands<'_, Self::Buffer>) -> Result<Self::Buffer, BackendError>;

    /// Runs two stages, of which the second reads what the first writes.
    ///
    /// # Errors
    /// The device fails.
    fn run_both(&self, stages: &TwoStages, operands: Operands<'_, Self::Buffer>) -> Result<Self::Buffer, BackendError> {
        let between = self.run(&stages.first, operands)?;
        self.run(&stages.second, operands.set(OperandSpace::Between, &between))
    }

    /// Matrices side by side from those of `source`, the buffer of a block's operators.
    ///
    /// # Errors
    /// Not enough memory; the device fails.
    fn assemble(&self, assembly: &Assembly, source: &Self::Buffer) -> Result<Self::Buffer, BackendError>;

    /// x · y.
    ///
    /// # Errors
    /// The device fails.
    fn dot(&self, x: &Self::Buffer, y: &Self::Buffer) -> Result<f64, BackendError>;

    /// xᵀ H x.
    ///
    /// # Errors
    /// The device fails.
    fn expectation(
        &self,
        product: &TwoStages,
        operands: Operands<'_, Self::Buffer>,
        x: &Self::Buffer,
    ) -> Result<f64, BackendError> {
        let y = self.run_both(product, operands.set(OperandSpace::Input, x))?;
        self.dot(x, &y)
    }

    /// The eigenvalues, descending, of symmetric matrices in a buffer. Each matrix is given by its first element and its
    /// number of rows.
    ///
    /// # Errors
    /// A number is not finite.
    fn eigenvalues(&self, matrices: Self::Buffer, list: &[(usize, usize)]) -> Result<Vec<Vec<f64>>, BackendError> {
        let matrices = self.download(&matrices)?;
        let of = |(first, rows): &(usize, usize)| {
            let (mut values, _) = eigen(View::new(&matrices[*first..][..rows * rows], *rows, *rows))?;
            values.reverse();
            Ok(values)
        };
        list.iter().map(of).collect()
    }

    /// The same with eigenvectors: for each matrix its eigenvalues, descending, and in their order its eigenvectors as columns.
    ///
    /// # Errors
    /// A number is not finite.
    #[expect(clippy::type_complexity, reason = "eigenvalues and eigenvectors of each matrix")]
    fn eigenpairs(
        &self,
        matrices: Self::Buffer,
        list: &[(usize, usize)],
    ) -> Result<Vec<(Vec<f64>, Vec<f64>)>, BackendError> {
        let matrices = self.download(&matrices)?;
        let of = |(first, rows): &(usize, usize)| {
            let (mut values, vectors) = eigen(View::new(&matrices[*first..][..rows * rows], *rows, *rows))?;
            values.reverse();
            Ok((values, (0..*rows).rev().flat_map(|k| vectors.col(k).iter().copied().collect::<Vec<_>>()).collect()))
        };
        list.iter().map(of).collect()
    }

    /// Replaces `vector` by the lowest eigenvector of y = H x among the vectors orthogonal to `against`, which may have any
    /// norms and overlaps. `operands` are the buffers that the records of H read.
    ///
    /// # Errors
    /// A number is not finite; the device fails.
    fn solve(
        &mut self,
        product: &TwoStages,
        operands: Operands<'_, Self::Buffer>,
        diagonal: &Self::Buffer,
        vector: &mut Self::Buffer,
        limits: DavidsonLimits,
        against: &[&Self::Buffer],
    ) -> Result<DavidsonResult, BackendError>;

    /// Replaces `vectors` by the lowest eigenvectors, ascending, from one basis (Davidson–Liu); `limits.products` is per vector. `None` where
    /// its basis has no room for so many: then nothing is changed, and each takes a [solve](Backend::solve).
    ///
    /// # Errors
    /// See [`Backend::solve`].
    fn solve_together(
        &mut self,
        product: &TwoStages,
        operands: Operands<'_, Self::Buffer>,
        diagonal: &Self::Buffer,
        vectors: &mut [&mut Self::Buffer],
        limits: DavidsonLimits,
        against: &[&Self::Buffer],
    ) -> Result<Option<Vec<DavidsonResult>>, BackendError>;

    /// The most vectors that [`solve`](Backend::solve) can stay orthogonal to.
    fn max_projected(&self) -> usize {
        usize::MAX
    }

    /// Releases what is kept from solve to solve, because nothing is solved for a while.
    fn release(&mut self) {}

    /// Evicts what can be where memory cannot grow, so that what is free lies together; it comes back when it is needed.
    ///
    /// # Errors
    /// The device fails, not enough host memory, or the disk is full.
    fn pack(&mut self) -> Result<(), BackendError> {
        Ok(())
    }

    /// Evicts buffers until `_elements` numbers of work outside buffers fit, or nothing evictable is left.
    ///
    /// # Errors
    /// The disk is full.
    fn make_room(&self, _elements: usize) -> Result<(), BackendError> {
        Ok(())
    }

    /// Counts work of `_elements` numbers outside buffers, which has ended.
    ///
    /// # Errors
    /// See [`Backend::make_room`].
    fn count_work(&self, _elements: usize) -> Result<(), BackendError> {
        Ok(())
    }

    /// The memory it may use; `None` if it does not count.
    fn budget(&self) -> Option<Budget> {
        None
    }

    /// Applies a memory plan from now on.
    ///
    /// # Errors
    /// Not enough memory.
    fn apply_plan(&mut self, _: &PlannedMemory) -> Result<(), BackendError> {
        Ok(())
    }

    /// The sectors of the sweeps are settled, and solves have vectors of at most `_elements` elements: a device may generate text for them.
    ///
    /// # Errors
    /// A template is faulty; a text that does not compile is a [warning](Backend::warnings).
    fn specialise(&mut self, _: TextChoice, _elements: usize) -> Result<(), BackendError> {
        Ok(())
    }

    /// Sentences for the report of a run.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// What each card did of the products with H.
    fn work(&self) -> Vec<CardWork> {
        Vec::new()
    }

    /// Bytes it has reserved of the memory where it computes.
    fn reserved(&self) -> u64 {
        0
    }

    /// The peak memory use.
    fn usage(&self) -> Usage {
        Usage::default()
    }
}

/// The device for the tests of buffers and kernels: a card if one is requested, else the simulator.
#[cfg(test)]
pub(crate) fn test_device() -> Option<Device> {
    crate::testing::card_or_simulated(crate::simulate::Schedule::Forward)
}
