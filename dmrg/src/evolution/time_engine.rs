//! The engines on which states move in time.
//!
//! In: H of a bond or a site as records, ψ. Out: ψ later. On this machine's cores vectors are slices; on a device that runs kernels everything
//! stays in its memory but for the decompositions of left states in pairs, which are made here ([`super::split`]).

use super::exponential::{Evolved, exponential};
use super::krylov::{EngineVectors, HostVectors};
use crate::block::bond::TwoSiteBond;
use crate::engine::Engine;
use crate::error::DmrgError;
use eigenforge_runtime::backend::{Backend, DeviceBackend, HostBackend, Operands, slices};
use eigenforge_runtime::solvers::TimeAxis;

/// An exponential that is wanted.
#[derive(Clone, Copy)]
pub(super) struct ExponentialOf {
    /// Whether time is real.
    pub(super) axis: TimeAxis,
    /// The time, which may be negative.
    pub(super) time: f64,
    /// Whether vectors are complex, as pairs.
    pub(super) is_complex: bool,
    /// Its error at most.
    pub(super) tolerance: f64,
}

/// An engine on which a state moves.
pub(super) trait TimeEngine: Engine + Sized {
    /// Another one in the same place.
    fn another(&self) -> Result<Self, DmrgError>;

    /// ψ later, of length 1.
    fn exponential(
        &self,
        bond: &TwoSiteBond<Self::Buffer>,
        operands: Operands<'_, Self::Buffer>,
        wave: Self::Buffer,
        of: ExponentialOf,
    ) -> Result<Evolved<Self::Buffer>, DmrgError>;
}

/// Real or complex numbers of ψ.
fn room<B>(bond: &TwoSiteBond<B>, of: ExponentialOf) -> usize {
    bond.frame.layout.length / if of.is_complex { 2 } else { 1 }
}

impl TimeEngine for HostBackend {
    fn another(&self) -> Result<HostBackend, DmrgError> {
        Ok(HostBackend::default())
    }

    fn exponential(
        &self,
        bond: &TwoSiteBond,
        operands: Operands<'_, Vec<f64>>,
        wave: Vec<f64>,
        of: ExponentialOf,
    ) -> Result<Evolved<Vec<f64>>, DmrgError> {
        let (superblock, buffers, mut between) = (bond.superblock(), slices(operands), Vec::new());
        let multiply = |x: &[f64]| {
            let mut y = vec![0.0; x.len()];
            superblock.multiply(buffers, x, &mut between, &mut y);
            y
        };
        let mut space = HostVectors { multiply, is_complex: of.is_complex };
        exponential(&mut space, wave, room(bond, of), (of.axis, of.time), of.tolerance)
    }
}

impl TimeEngine for DeviceBackend {
    fn another(&self) -> Result<DeviceBackend, DmrgError> {
        Ok(DeviceBackend::new(&self.device())?)
    }

    fn exponential(
        &self,
        bond: &TwoSiteBond<Self::Buffer>,
        operands: Operands<'_, Self::Buffer>,
        wave: Self::Buffer,
        of: ExponentialOf,
    ) -> Result<Evolved<Self::Buffer>, DmrgError> {
        let (product, length) = (bond.superblock(), bond.frame.layout.length);
        let mut space = EngineVectors { engine: self, product: &product, operands, is_complex: of.is_complex, length };
        exponential(&mut space, wave, room(bond, of), (of.axis, of.time), of.tolerance)
    }
}
