//! The part of a report that a diagonalised lattice model adds, and its summary for a terminal.

use super::entanglement::{EntanglementRecord, write_entanglement};
use super::spectrum::first_word;
use super::{ClusterRecord, Outcome, ShapeRecord, Spectrum, StructureFactor, SymmetryRecord};
use crate::basis::Sector;
use crate::input::{sector_keys, sector_text};
use crate::words::grouped;
use eigenforge_product::PlannedChoice;
use eigenforge_runtime::solvers::SpectrumPart;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// What only a lattice model has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LatticeRecord {
    /// The lattice.
    pub lattice: ClusterRecord,
    /// Conserved quantum numbers.
    #[serde(with = "sector_keys")]
    pub sector: Sector,
    /// The symmetry sector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symmetry: Option<SymmetryRecord>,
    /// States of the sector; of a symmetry sector its own.
    pub dimension: u64,
    /// How often each level of the symmetry sector is there: the states of its irrep of the point group.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub degeneracy: usize,
    /// The structure factor of spins in the lowest level, where pairs of spins were averaged and the sites have positions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structure_factor: Option<StructureFactor>,
    /// Density matrices of the sets of sites of `[entanglement]`, level by level.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entanglement: Vec<EntanglementRecord>,
    /// Certificates of the energies.
    #[serde(flatten)]
    pub spectrum: Spectrum,
    /// How H was multiplied, and why not in other ways.
    #[serde(default)]
    pub multiply: Option<PlannedChoice>,
    /// The shape of the generated multiply; `null` on a CPU.
    pub shape: Option<ShapeRecord>,
}

pub(super) fn one() -> usize {
    1
}

pub(super) fn is_one(number: &usize) -> bool {
    *number == 1
}

impl LatticeRecord {
    pub(super) fn write_summary(&self, outcome: &Outcome, out: &mut String) -> std::fmt::Result {
        writeln!(out, "{} on {}", outcome.model.name, self.lattice.text)?;
        writeln!(out, "sector {}, dimension {}", sector_text(&self.sector), grouped(u128::from(self.dimension)))?;
        if let Some(symmetry) = &self.symmetry {
            writeln!(out, "symmetry {}", symmetry.text)?;
        }
        writeln!(out)?;
        let spins = self.spectrum.spin_texts().map(|texts| {
            let width = texts.iter().map(|text| text.chars().count()).max().unwrap_or(0).max(4);
            (format!("{:>width$}", "S"), texts.iter().map(|text| format!("{text:>width$}")).collect())
        });
        outcome.write_states(out, ("", 15), spins)?;
        write_averages(outcome, out)?;
        outcome.write_observables(out)?;
        write_entanglement(&self.entanglement, out)?;
        outcome.write_stop(out)?;
        outcome.write_seconds(out, "")?;
        outcome.write_cost(out)?;
        self.shape.as_ref().map_or(Ok(()), |shape| writeln!(out, "multiply {shape}"))
    }
}

/// What the standard averages come to, in a line.
fn write_averages(outcome: &Outcome, out: &mut String) -> std::fmt::Result {
    let level = &outcome.observables;
    let mean = |name: &str| level.averages.sites(name).map(|values| values.sum() / values.len().max(1) as f64);
    let mut parts = vec![];
    if let (Some(up), Some(down)) = (mean("n_up"), mean("n_dn")) {
        parts.push(format!("<n> {:.6}", up + down));
    }
    if let Some(double) = mean("double_occupancy") {
        parts.push(format!("<n_up n_dn> {double:.6}"));
    }
    if let Some(total) = outcome.total_spin_squared() {
        // Rounding may leave −1e-15 of a singlet, which would print as −0.
        let total = if total.abs() < 5e-7 { 0.0 } else { total };
        parts.push(format!("total S² {total:.6}"));
    }
    if !parts.is_empty() {
        let states = if level.averaged_over == 1 { "state" } else { "states" };
        let first = first_word(outcome.spectrum().map_or(SpectrumPart::Lowest, |spectrum| spectrum.which));
        let over = format!("{} {states} of the {first} level", level.averaged_over);
        writeln!(out, "average of a site over the {over}: {}", parts.join(", "))?;
    }
    Ok(())
}
