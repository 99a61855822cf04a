//! This machine's cores: buffers in host memory, records run by rayon and faer.

use super::{Backend, Operands};
use crate::dense::long_vectors::dot;
use crate::error::BackendError;
use crate::records::{self, Assembly, Buffers, RecordStage, SPACE_LIST, TwoStages};
use crate::solvers::lean::{DavidsonLimits, DavidsonResult, HostDavidson};
use std::borrow::Cow;
use std::ops::Deref;

/// All cores, without a limit on memory.
#[derive(Default)]
pub struct HostBackend {
    davidson: HostDavidson,
    between: Vec<f64>,
}

/// The slices that records read.
pub fn slices<'a, B: Deref<Target = [f64]>>(operands: Operands<'a, B>) -> Buffers<'a> {
    let with =
        |buffers: Buffers<'a>, space| operands.get(space).map_or(buffers, |data: &'a B| buffers.set(space, data));
    SPACE_LIST.into_iter().fold(Buffers::default(), with)
}

/// The output of a stage, in a vector of its length with any values.
pub(super) fn output<B: Deref<Target = [f64]>>(
    stage: &RecordStage,
    operands: Operands<'_, B>,
    mut output: Vec<f64>,
) -> Vec<f64> {
    records::run(stage, slices(operands), &mut output);
    output
}

/// The same of two stages.
pub(super) fn output_of_both<B: Deref<Target = [f64]>>(
    stages: &TwoStages,
    operands: Operands<'_, B>,
    mut output: Vec<f64>,
) -> Vec<f64> {
    stages.run(slices(operands), &mut Vec::new(), &mut output);
    output
}

/// The same of matrices side by side.
pub(super) fn assembled(assembly: &Assembly, source: &[f64], mut output: Vec<f64>) -> Vec<f64> {
    assembly.run(source, &mut output);
    output
}

impl HostBackend {
    /// Allocates vectors of `n` elements and an intermediate of `between`, so that a solve allocates nothing.
    pub(super) fn reserve(&mut self, n: usize, between: usize) {
        self.davidson.reserve(n);
        if self.between.capacity() < between {
            self.between = Vec::new();
            self.between.reserve_exact(between);
        }
    }

    /// Bytes that [`HostBackend::reserve`] would add.
    pub(super) fn missing(&self, n: usize, between: usize) -> u64 {
        let vectors = 2 * self.davidson.width().min(n) + 1;
        (8 * (vectors * n + between) as u64).saturating_sub(self.bytes())
    }

    /// Bytes that are kept from solve to solve.
    pub(super) fn bytes(&self) -> u64 {
        self.davidson.bytes() + 8 * self.between.capacity() as u64
    }

    /// Sets the number of basis vectors before a restart.
    pub(super) fn set_width(&mut self, width: usize) {
        if width != self.davidson.width() {
            self.davidson = HostDavidson::of_width(width);
        }
    }

    /// [`Backend::solve`] with slices.
    pub(super) fn solve_slices(
        &mut self,
        product: &TwoStages,
        buffers: Buffers<'_>,
        diagonal: &[f64],
        vector: &mut [f64],
        limits: DavidsonLimits,
        against: &[&[f64]],
    ) -> Result<DavidsonResult, BackendError> {
        let between = &mut self.between;
        let multiply = |x: &[f64], y: &mut [f64]| product.multiply(buffers, x, between, y);
        self.davidson.solve(multiply, diagonal, vector, limits, against)
    }

    /// [`Backend::solve_together`] with slices.
    pub(super) fn solve_slices_together(
        &mut self,
        product: &TwoStages,
        buffers: Buffers<'_>,
        diagonal: &[f64],
        vectors: &mut [&mut [f64]],
        limits: DavidsonLimits,
        against: &[&[f64]],
    ) -> Result<Option<Vec<DavidsonResult>>, BackendError> {
        let between = &mut self.between;
        let multiply = |x: &[f64], y: &mut [f64]| product.multiply(buffers, x, between, y);
        self.davidson.solve_together(multiply, diagonal, vectors, limits, against)
    }
}

impl Backend for HostBackend {
    type Buffer = Vec<f64>;

    fn upload(&self, data: Vec<f64>) -> Result<Vec<f64>, BackendError> {
        Ok(data)
    }

    fn download<'b>(&self, buffer: &'b Vec<f64>) -> Result<Cow<'b, [f64]>, BackendError> {
        Ok(Cow::Borrowed(buffer))
    }

    fn run(&self, stage: &RecordStage, operands: Operands<'_, Vec<f64>>) -> Result<Vec<f64>, BackendError> {
        Ok(output(stage, operands, vec![0.0; stage.length]))
    }

    fn run_both(&self, stages: &TwoStages, operands: Operands<'_, Vec<f64>>) -> Result<Vec<f64>, BackendError> {
        Ok(output_of_both(stages, operands, vec![0.0; stages.second.length]))
    }

    fn assemble(&self, assembly: &Assembly, source: &Vec<f64>) -> Result<Vec<f64>, BackendError> {
        Ok(assembled(assembly, source, vec![0.0; assembly.length]))
    }

    fn dot(&self, x: &Vec<f64>, y: &Vec<f64>) -> Result<f64, BackendError> {
        Ok(dot(x, y))
    }

    fn solve(
        &mut self,
        product: &TwoStages,
        operands: Operands<'_, Vec<f64>>,
        diagonal: &Vec<f64>,
        vector: &mut Vec<f64>,
        limits: DavidsonLimits,
        against: &[&Vec<f64>],
    ) -> Result<DavidsonResult, BackendError> {
        let against: Vec<&[f64]> = against.iter().map(|phi| phi.as_slice()).collect();
        self.solve_slices(product, slices(operands), diagonal, vector, limits, &against)
    }

    fn solve_together(
        &mut self,
        product: &TwoStages,
        operands: Operands<'_, Vec<f64>>,
        diagonal: &Vec<f64>,
        vectors: &mut [&mut Vec<f64>],
        limits: DavidsonLimits,
        against: &[&Vec<f64>],
    ) -> Result<Option<Vec<DavidsonResult>>, BackendError> {
        let against: Vec<&[f64]> = against.iter().map(|phi| phi.as_slice()).collect();
        let mut vectors: Vec<&mut [f64]> = vectors.iter_mut().map(|vector| vector.as_mut_slice()).collect();
        self.solve_slices_together(product, slices(operands), diagonal, &mut vectors, limits, &against)
    }

    fn release(&mut self) {
        (self.davidson, self.between) = (HostDavidson::of_width(self.davidson.width()), Vec::new());
    }
}
