//! The CPU engine: buffers in host memory, records run by rayon and faer.

use super::backend::{Backend, Operands};
use super::blocks::Side;
use super::bond::TwoSiteBond;
use super::cpu_share::CpuShare;
use super::davidson::{self, Davidson};
use super::engine::Engine;
use super::enlarged::EnlargedOperators;
use super::environment::Environment;
use super::error::DmrgError;
use super::long_vectors::dot;
use super::records::{self, Buffers, RecordStage, SPACE_LIST};
use super::strategy::Strategy;
use super::superblock::Superblock;
use super::truncate::{self, Truncated, TruncationLimits, Wave};
use eigenforge_runtime::Device;
use std::borrow::Cow;
use std::ops::Deref;

/// Uses all cores of this machine.
#[derive(Default)]
pub struct HostEngine {
    davidson: Davidson,
    between: Vec<f64>,
}

/// The slices that records read.
pub fn slices<'a, B: Deref<Target = [f64]>>(operands: Operands<'a, B>) -> Buffers<'a> {
    let with =
        |buffers: Buffers<'a>, space| operands.get(space).map_or(buffers, |data: &'a B| buffers.with(space, data));
    SPACE_LIST.into_iter().fold(Buffers::default(), with)
}

impl HostEngine {
    /// Allocates vectors of `n` elements and an intermediate of `between`, so that a solve allocates nothing.
    pub(super) fn reserve(&mut self, n: usize, between: usize) {
        self.davidson.reserve(n);
        if self.between.capacity() < between {
            self.between = Vec::new();
            self.between.reserve_exact(between);
        }
    }

    /// Bytes that [`HostEngine::reserve`] would add.
    pub(super) fn missing(&self, n: usize, between: usize) -> u64 {
        let vectors = 2 * self.davidson.width().min(n) + 1;
        (8 * (vectors * n + between) as u64).saturating_sub(self.bytes())
    }

    /// Bytes that are kept from bond to bond.
    pub(super) fn bytes(&self) -> u64 {
        self.davidson.bytes() + 8 * self.between.capacity() as u64
    }

    /// Releases the memory kept from bond to bond.
    pub(super) fn release(&mut self) {
        (self.davidson, self.between) = (Davidson::of_width(self.davidson.width()), Vec::new());
    }

    /// Sets the number of basis vectors before a restart.
    pub(super) fn set_width(&mut self, width: usize) {
        if width != self.davidson.width() {
            self.davidson = Davidson::of_width(width);
        }
    }

    /// The lowest eigenvector of a superblock among those orthogonal to `against`, in place of `wave`.
    pub(super) fn solve_slices(
        &mut self,
        superblock: &Superblock,
        buffers: Buffers<'_>,
        diagonal: &[f64],
        wave: &mut [f64],
        limits: davidson::DavidsonLimits,
        against: &[&[f64]],
    ) -> Result<davidson::DavidsonResult, DmrgError> {
        let between = &mut self.between;
        let multiply = |x: &[f64], y: &mut [f64]| superblock.multiply(buffers, x, between, y);
        self.davidson.solve_against(multiply, diagonal, wave, limits, against)
    }
}

impl Backend for HostEngine {
    type Buffer = Vec<f64>;

    fn upload(&self, data: Vec<f64>) -> Result<Vec<f64>, DmrgError> {
        Ok(data)
    }

    fn download<'b>(&self, buffer: &'b Vec<f64>) -> Result<Cow<'b, [f64]>, DmrgError> {
        Ok(Cow::Borrowed(buffer))
    }

    fn run(&self, stage: &RecordStage, operands: Operands<'_, Vec<f64>>) -> Result<Vec<f64>, DmrgError> {
        let mut output = vec![0.0; stage.length];
        records::run(stage, slices(operands), &mut output);
        Ok(output)
    }

    fn dot(&self, x: &Vec<f64>, y: &Vec<f64>) -> Result<f64, DmrgError> {
        Ok(dot(x, y))
    }
}

impl Engine for HostEngine {
    fn configure(&mut self, strategy: Strategy, share: CpuShare) -> Result<(), DmrgError> {
        strategy.check(&Device::cpu())?;
        share.check(&Device::cpu())
    }

    fn diagonal(
        &self,
        bond: &TwoSiteBond<Vec<f64>>,
        left: &Environment<Vec<f64>>,
        right: &Environment<Vec<f64>>,
    ) -> Result<Vec<f64>, DmrgError> {
        Ok(bond.diagonal(left, right))
    }

    fn solve(
        &mut self,
        superblock: &Superblock,
        operands: Operands<'_, Vec<f64>>,
        diagonal: &Vec<f64>,
        wave: &mut Vec<f64>,
        limits: davidson::DavidsonLimits,
    ) -> Result<davidson::DavidsonResult, DmrgError> {
        self.solve_slices(superblock, slices(operands), diagonal, wave, limits, &[])
    }

    fn solve_against(
        &mut self,
        superblock: &Superblock,
        operands: Operands<'_, Vec<f64>>,
        diagonal: &Vec<f64>,
        wave: &mut Vec<f64>,
        limits: davidson::DavidsonLimits,
        against: &[&Vec<f64>],
    ) -> Result<davidson::DavidsonResult, DmrgError> {
        let against: Vec<&[f64]> = against.iter().map(|phi| phi.as_slice()).collect();
        self.solve_slices(superblock, slices(operands), diagonal, wave, limits, &against)
    }

    fn truncate(&self, wave: Wave<'_>, side: Side, limits: TruncationLimits) -> Result<Truncated, DmrgError> {
        truncate::truncate(wave, side, limits)
    }

    fn truncate_with_noise(
        &self,
        wave: Wave<'_>,
        side: Side,
        limits: TruncationLimits,
        operators: &EnlargedOperators,
        operands: Operands<'_, Vec<f64>>,
        noise: f64,
    ) -> Result<Truncated, DmrgError> {
        truncate::truncate_with_noise(wave, side, limits, operators, slices(operands), noise)
    }
}
