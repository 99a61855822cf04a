//! Buffers of numbers and the execution of records on them. A backend knows nothing of blocks, bonds or states.
//!
//! A [`Backend`] owns flat buffers of column-major f64. Only return values cross to the host.

use super::dense::{View, eigen};
use super::error::DmrgError;
use super::records::{OperandSpace, RecordStage, SPACES};
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
    pub fn with(mut self, space: OperandSpace, buffer: &'a B) -> Operands<'a, B> {
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
    type Buffer;

    /// Moves numbers from the host into the backend's memory.
    ///
    /// # Errors
    /// Not enough memory.
    fn upload(&self, data: Vec<f64>) -> Result<Self::Buffer, DmrgError>;

    /// Copies the numbers to the host.
    ///
    /// # Errors
    /// The device fails.
    fn download<'b>(&self, buffer: &'b Self::Buffer) -> Result<Cow<'b, [f64]>, DmrgError>;

    /// Runs a stage. Each output block is the sum of its group's records; everything else is zero.
    ///
    /// # Errors
    /// The device fails.
    fn run(&self, stage: &RecordStage, operands: Operands<'_, Self::Buffer>) -> Result<Self::Buffer, DmrgError>;

    /// Marks a buffer as evictable: the sweep does not read it before it returns here.
    ///
    /// # Errors
    /// The device fails, or the disk is full.
    fn mark_evictable(&self, _: &mut Self::Buffer) -> Result<(), DmrgError> {
        Ok(())
    }

    /// Starts to bring back a buffer that is needed in `_bonds` bonds.
    ///
    /// # Errors
    /// See [`Backend::ensure_resident`].
    fn prefetch(&self, _: &mut Self::Buffer, _bonds: usize) -> Result<(), DmrgError> {
        Ok(())
    }

    /// Ensures that a buffer is in the backend's memory because it is about to be read.
    ///
    /// # Errors
    /// Not enough memory; a file cannot be read back.
    fn ensure_resident(&self, _: &mut Self::Buffer) -> Result<(), DmrgError> {
        Ok(())
    }

    /// x · y.
    ///
    /// # Errors
    /// The device fails.
    fn dot(&self, x: &Self::Buffer, y: &Self::Buffer) -> Result<f64, DmrgError>;

    /// The eigenvalues, descending, of symmetric matrices in a buffer. Each matrix is given by its first element and its
    /// number of rows.
    ///
    /// # Errors
    /// A number is not finite.
    fn eigenvalues(&self, matrices: Self::Buffer, list: &[(usize, usize)]) -> Result<Vec<Vec<f64>>, DmrgError> {
        let matrices = self.download(&matrices)?;
        let of = |(first, rows): &(usize, usize)| {
            let (mut values, _) = eigen(View::whole(&matrices[*first..][..rows * rows], *rows, *rows))?;
            values.reverse();
            Ok(values)
        };
        list.iter().map(of).collect()
    }
}
