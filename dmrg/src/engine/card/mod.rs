//! Sweeps on a device that runs kernels: the diagonal of H as records, truncation by density matrices. Only the weights of
//! each truncation come to the host.

mod diagonal;
mod factored;
mod thin;
mod truncate;

pub(crate) use diagonal::stages as diagonal_stages;

use super::Engine;
use crate::block::blocks::Side;
use crate::block::bond::TwoSiteBond;
use crate::block::enlarged::EnlargedOperators;
use crate::block::environment::Environment;
use crate::block::truncate::{Truncated, TruncationLimits, Wave};
use crate::error::DmrgError;
use eigenforge_runtime::backend::{DeviceBackend, Operands, most_projected};
use eigenforge_runtime::residency::PoolBuffer;

/// The most targets that a device can find: a search stays orthogonal to all others.
pub fn most_targets() -> usize {
    most_projected() + 1
}

impl Engine for DeviceBackend {
    fn diagonal(
        &self,
        bond: &TwoSiteBond<PoolBuffer>,
        left: &Environment<PoolBuffer>,
        right: &Environment<PoolBuffer>,
    ) -> Result<PoolBuffer, DmrgError> {
        Ok(diagonal::diagonal(self, bond, left, right)?)
    }

    fn weighs_by_density(&self) -> bool {
        true
    }

    fn truncate(
        &self,
        wave: Wave<'_, PoolBuffer>,
        side: Side,
        limits: TruncationLimits,
    ) -> Result<Truncated<PoolBuffer>, DmrgError> {
        if limits.factored.is_some()
            && let Some(found) = thin::keep_best_thin(self, wave, side, limits)?
        {
            return Ok(found);
        }
        Ok(truncate::keep_best(self, wave, side, limits)?)
    }

    fn truncate_with_noise(
        &self,
        wave: Wave<'_, PoolBuffer>,
        side: Side,
        limits: TruncationLimits,
        operators: &EnlargedOperators<PoolBuffer>,
        operands: Operands<'_, PoolBuffer>,
        noise: f64,
    ) -> Result<Truncated<PoolBuffer>, DmrgError> {
        Ok(truncate::keep_best_with_noise(self, wave, side, limits, operators, operands, noise)?)
    }
}
