//! Where numbers live, and who runs records on them: knows no blocks, no bonds and no states.
//!
//! A [`Backend`] owns flat buffers of column-major f64. Nothing crosses to the host but what a method says it returns.

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
    /// With a buffer in its place.
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
    /// Numbers in its memory.
    type Buffer;

    /// Takes numbers over from the host.
    ///
    /// # Errors
    /// Not enough memory.
    fn upload(&self, data: Vec<f64>) -> Result<Self::Buffer, DmrgError>;

    /// The numbers, on the host.
    ///
    /// # Errors
    /// The device fails.
    fn download<'b>(&self, buffer: &'b Self::Buffer) -> Result<Cow<'b, [f64]>, DmrgError>;

    /// The output of a stage: what its groups add up to, everything else zero.
    ///
    /// # Errors
    /// The device fails.
    fn run(&self, stage: &RecordStage, operands: Operands<'_, Self::Buffer>) -> Result<Self::Buffer, DmrgError>;

    /// Told of numbers that the sweep will not read before it comes back this way: their room is others' if they need it.
    ///
    /// # Errors
    /// The device fails, or the disk is full.
    fn mark_evictable(&self, _: &mut Self::Buffer) -> Result<(), DmrgError> {
        Ok(())
    }

    /// Told of numbers that will be read in so many bonds: they may begin to come back.
    ///
    /// # Errors
    /// See [`Backend::ensure_resident`].
    fn prefetch(&self, _: &mut Self::Buffer, _bonds: usize) -> Result<(), DmrgError> {
        Ok(())
    }

    /// Told of numbers that are about to be read, which may have left.
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

    /// The eigenvalues, descending, of symmetric matrices inside a buffer, given by first element and rows.
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
