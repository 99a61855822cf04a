//! Sweeps on this machine's cores: the diagonal of H by loops, truncation by singular values, or where the last visit of a bond showed
//! that its weights are far above rounding by density matrices.

use super::Engine;
use crate::block::blocks::{PairedSector, Side, WaveLayout};
use crate::block::bond::TwoSiteBond;
use crate::block::enlarged::EnlargedOperators;
use crate::block::environment::Environment;
use crate::block::thin::truncate_thin;
use crate::block::truncate::{self, Truncated, TruncationLimits, Wave, perturbation_stages};
use crate::error::DmrgError;
use eigenforge_runtime::backend::{Backend, BoundedHostBackend, HostBackend, Operands, slices};
use std::ops::Deref;

/// A backend whose buffers are slices.
pub trait SliceBackend: Backend<Buffer: Deref<Target = [f64]> + Sync> {}

impl SliceBackend for HostBackend {}
impl SliceBackend for BoundedHostBackend {}

/// Elements of the workspace for decomposing ψ: singular vectors of both sides, and both copies of the kept states.
pub(crate) fn decomposing(layout: &WaveLayout, kept: usize, centre: usize) -> usize {
    let of = |s: &PairedSector| (s.rows + s.columns) * s.rows.min(s.columns);
    layout.sectors.iter().map(of).sum::<usize>() + 2 * (kept + centre)
}

/// The same with noise: the perturbation's products, and three copies of the density matrices with their eigenvectors.
pub(crate) fn decomposing_with_noise(between: usize, densities: usize, kept: usize, centre: usize) -> usize {
    between + 4 * densities + 2 * (kept + centre)
}

/// Truncates within the backend's memory; `workspace` is the number of elements, from those of the kept states and of ψ.
fn counted<M: SliceBackend>(
    backend: &M,
    workspace: impl Fn(usize, usize) -> usize,
    truncate: impl FnOnce() -> Result<Truncated, DmrgError>,
) -> Result<Truncated<M::Buffer>, DmrgError> {
    backend.make_room(workspace(0, 0))?;
    let truncated = truncate()?;
    backend.count_work(workspace(truncated.kept.data.len(), truncated.centre.data.len()))?;
    Ok(truncated.carried(|data| backend.upload(data))?)
}

impl<M: SliceBackend> Engine for M {
    fn diagonal(
        &self,
        bond: &TwoSiteBond<M::Buffer>,
        left: &Environment<M::Buffer>,
        right: &Environment<M::Buffer>,
    ) -> Result<M::Buffer, DmrgError> {
        Ok(self.upload(bond.diagonal(left, right))?)
    }

    fn truncate(
        &self,
        wave: Wave<'_, M::Buffer>,
        side: Side,
        limits: TruncationLimits,
    ) -> Result<Truncated<M::Buffer>, DmrgError> {
        let workspace = |kept, centre| decomposing(wave.layout, kept, centre);
        let thin = || match limits.factored {
            Some(_) => truncate_thin(wave, side, limits),
            None => Ok(None),
        };
        counted(self, workspace, || thin()?.map_or_else(|| truncate::truncate(wave, side, limits), Ok))
    }

    fn truncate_with_noise(
        &self,
        wave: Wave<'_, M::Buffer>,
        side: Side,
        limits: TruncationLimits,
        operators: &EnlargedOperators<M::Buffer>,
        operands: Operands<'_, M::Buffer>,
        noise: f64,
    ) -> Result<Truncated<M::Buffer>, DmrgError> {
        let (first, second) = perturbation_stages(wave, side, operators);
        let workspace = |kept, centre| decomposing_with_noise(first.length, second.length, kept, centre);
        let noisy = || truncate::truncate_with_noise(wave, side, limits, operators, slices(operands), noise);
        counted(self, workspace, noisy)
    }
}
