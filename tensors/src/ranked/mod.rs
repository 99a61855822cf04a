//! Operators of other rank than J0 = 0, of either parity, as SU(3) × SU(2) tensors, on all cores and in memory.
//!
//! In: reduced elements ⟨ab; J'‖O^{J0}‖cd; J⟩ as a table of labels, or strengths. Out: the other, and a [`RankedSummary`].
//!
//! ```text
//! file → Rank → RankedPlan (offsets) → RankedTables ─┐
//! file → reduced elements X, all groups ─ transform ─┴→ strengths C → file, RankedSummary
//! ```
//!
//! | file | question it answers |
//! |---|---|
//! | `layout` | where is every number? |
//! | `spins` | how do J' and J become L0 and S0? |
//! | `transform` | how do elements become strengths, and back? |
//! | `elements`, `strengths` | how do files store them? |
//! | `summary` | what is the result? |
//!
//! Shells, jj → LS, W^f and W^i are those of scalars ([`crate::Tables`]). W⁰ = ⟨(λf μf) κf Lf; (λi μi) κi Li ‖ (λ0 μ0) κ0 L0⟩_ρ0 is
//! computed product by product and not kept. Devices, processes and checkpoints serve scalars.

mod elements;
mod layout;
mod spins;
mod strengths;
mod summary;
#[cfg(test)]
mod tests;
mod transform;

pub use summary::{RankNorm, RankedChannel, RankedSummary};

use super::channel::ByChannel;
use super::error::TransformError;
use super::files::{companion_files, format_of, make_folder, refuse_to_overwrite};
use super::foreign::has_rank;
use super::interaction::InteractionError;
use super::memory::Memory;
use super::output::TensorFormat;
use super::work::Direction;
use super::{OscillatorSpace, Su3Spec, TableCache, TensorKind};
use eigenforge_core::files::{ReportError, check_file, publish};
use eigenforge_runtime::DeviceError;
use eigenforge_runtime::jit::Settings;
use eigenforge_runtime::lock::Lock;
use eigenforge_su3::{Irrep, SquareTable};
use layout::{Rank, RankedPlan};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;
use transform::RankedTables;

impl Su3Spec {
    /// Whether the input is an operator of rank J0: a table of labels with a column `J0`.
    pub fn is_ranked(&self) -> bool {
        self.interaction.file().is_some_and(has_rank)
    }

    /// Transforms an operator of rank J0 and writes the result.
    ///
    /// # Errors
    ///
    /// An input that is no such operator or has invalid numbers, a format other than labels, `hamiltonian`, what cannot be held or
    /// written.
    pub fn transform_ranked(&self) -> Result<RankedSummary, TransformError> {
        let started = Instant::now();
        let path = self.check_ranked()?;
        make_folder(&self.output)?;
        let _lock = Lock::of_output(&self.output)?;
        let (space, backwards) = (OscillatorSpace { n_max: self.n_max }, self.direction == Direction::Inverse);
        let (rank, channels) = match backwards {
            false => elements::rank(path, &elements::COLUMNS, 13, space)?,
            true => elements::rank(path, &strengths::COLUMNS, 16, space)?,
        };
        let limit = Memory::limit(self);
        let needed = bytes(space, rank, channels as u64);
        if needed > limit {
            return Err(TransformError::RankedMemory { n_max: self.n_max, j0: rank.j0, needed, limit });
        }
        let plan = RankedPlan::new(space, rank);
        let cache = TableCache::open(&Settings::from_env().map_err(DeviceError::from)?);
        let tables = RankedTables::new(&plan, cache)?;
        let input = if backwards { strengths::read(path, &plan)? } else { elements::read(path, &plan)? };
        let (output, w0, defect) = transformed(&plan, &tables, &input, backwards);
        tables.cache().evict();
        let (x, c) = if backwards { (&output, &input) } else { (&input, &output) };
        let summary = RankedSummary::new(&plan, self.direction, x, c)?;
        let failed = |source| ReportError::Write { file: self.output.clone(), source };
        publish(&self.output, |file| {
            let mut out = BufWriter::with_capacity(1 << 20, file);
            let write = if backwards { elements::write } else { strengths::write };
            write(&mut out, &plan, &output).and_then(|()| out.flush()).map_err(failed)
        })?;
        Ok(RankedSummary { w0, defect, seconds: started.elapsed().as_secs_f64(), ..summary })
    }

    /// Refuses what contradicts itself; the file.
    fn check_ranked(&self) -> Result<&Path, TransformError> {
        let path = self.interaction.file().ok_or(InteractionError::TermsOfRank)?;
        if self.hamiltonian.is_some() {
            return Err(InteractionError::TermsOfRank.into());
        }
        let json = companion_files(&self.output).json;
        for file in [&self.output, &json] {
            refuse_to_overwrite(path, file)?;
            check_file(file)?;
        }
        let kind = self.direction.output();
        let format = format_of(&self.output, kind, self.format)?;
        if format != TensorFormat::Labels {
            let found = match kind {
                TensorKind::Elements => "elements of rank J0, which have the format labels only",
                TensorKind::Strengths => "strengths of rank J0, which have the format labels only",
            };
            return Err(TransformError::Format { format, holds: "scalars", found });
        }
        Ok(path)
    }
}

/// The other numbers of all channels, how many W⁰ they took, and the largest defect.
fn transformed(
    plan: &RankedPlan,
    tables: &RankedTables,
    input: &ByChannel,
    backwards: bool,
) -> (ByChannel, usize, f64) {
    let mut vectors: Vec<Vec<f64>> = input.vectors.iter().map(|_| Vec::with_capacity(plan.length)).collect();
    let (mut w0, mut defect) = (0, tables.defect());
    for group in &plan.groups {
        let numbers: Vec<&[f64]> =
            input.vectors.iter().map(|(_, vector)| &vector[group.start..][..group.length]).collect();
        let result = tables.transform(plan, group, &numbers, backwards);
        vectors.iter_mut().zip(result.vectors).for_each(|(all, group)| all.extend(group));
        (w0, defect) = (w0 + result.w0, result.defect.max(defect));
    }
    let channels = input.vectors.iter().map(|(channel, _)| *channel);
    (ByChannel { vectors: channels.zip(vectors).collect(), left_out: input.left_out }, w0, defect)
}

/// Bytes of all numbers in and out, of the steps of the largest group, and of W⁰ of the largest product on every core.
fn bytes(space: OscillatorSpace, rank: Rank, channels: u64) -> u64 {
    let [all, largest] = rank.count(space);
    let quanta = |quanta: u32| (0..=quanta / 2).map(move |k| Irrep::new(quanta - 2 * k, k));
    let w0 = |f: Irrep, i: Irrep| rank.orbital_ranks().map(|l0| SquareTable::places([f, i], l0)).sum::<usize>();
    let [bra, ket] = [space.quanta_max(), space.quanta_max().saturating_sub(rank.parity)];
    let products = quanta(bra).flat_map(|f| quanta(ket).map(move |i| w0(f, i.conjugate())));
    // A table beside the blocks that it is made of.
    let tables = 2 * products.max().unwrap_or(0) * rayon::current_num_threads();
    8 * (channels * (2 * all + 3 * largest) + tables as u64)
}
