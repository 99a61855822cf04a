//! The record of a configuration-interaction run: every field of its report.json, and its summary for a terminal.
//!
//! Energies are total, in Hartree, the core energy included; times in seconds, memory in bytes.

use super::{
    HistoryPoint, KernelRecord, LevelRecord, MemoryRecord, ModelRecord, ReportError, StatesFound, energy_text,
    text_file,
};
use crate::ci::CiSpec;
use crate::words::grouped;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Debye in one e a₀ (CODATA 2018).
const DEBYE: f64 = 2.541_746_473;

/// Everything that is known of a run when it ends.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CiReport {
    /// The model file.
    pub model: ModelRecord,
    /// Its `[ci]`.
    pub ci: CiSpec,
    /// The space in words.
    pub space: String,
    /// Orbitals of the space.
    pub orbitals: usize,
    /// Electrons of each spin in them.
    pub electrons: [usize; 2],
    /// Determinants.
    pub dimension: u64,
    /// Energy of nuclei and frozen cores.
    pub core_energy: f64,
    /// The k lowest total energies, ascending.
    pub energies: Vec<f64>,
    /// ‖Hx − Ex‖ of each, recomputed in f64.
    pub residuals: Vec<f64>,
    /// How far each energy may be off: its residual, or less where the distance to other levels is known.
    pub uncertainties: Vec<f64>,
    /// What all states have in common, the core energy included; in the energies, taken out before the solve.
    pub constant: f64,
    /// The energies less the constant, with the digits that a large constant costs them.
    pub energies_without_constant: Vec<f64>,
    /// ⟨S²⟩ of each.
    pub s_squared: Vec<f64>,
    /// One an energy: the multiplicity of its level in this space.
    pub multiplicities: Vec<usize>,
    /// The levels, each energy once.
    pub levels: Vec<LevelRecord>,
    /// Occupations of the natural orbitals, descending, averaged over the lowest level.
    pub natural_occupations: Vec<f64>,
    /// Dipole moment of the lowest level in e a₀, x y z, where its integrals are given.
    pub dipole: Option<Vec<f64>>,
    /// Iterations of the solver.
    pub iterations: usize,
    /// Multiplications with H, certification included.
    pub multiplies: usize,
    /// "converged", "max_iterations", "stagnated" or "dense".
    pub stop: String,
    /// "davidson", "lobpcg", "lanczos" or "dense".
    pub solver: String,
    /// What the search began with.
    pub start: String,
    /// "stored" or "direct".
    pub storage: String,
    /// The format of a stored matrix.
    pub format: Option<String>,
    /// Why this format.
    pub format_reason: Option<String>,
    /// Elements of a stored matrix.
    pub non_zeros: Option<u64>,
    /// The device's name.
    pub device: String,
    /// Generated kernels that ran; empty on a CPU.
    pub kernels: Vec<KernelRecord>,
    /// Where the time went.
    pub seconds: CiSeconds,
    /// Versions by name.
    pub versions: BTreeMap<String, String>,
    /// Seed of random start vectors.
    pub seed: u64,
    /// Tolerance on the residual norms, in parts of the norm of H.
    pub tolerance: f64,
    /// The norm of H without the constant, as computed: an upper bound.
    pub norm: f64,
    /// What a careful reader must know.
    pub warnings: Vec<String>,
    /// What the planner said would be resident beside the matrix.
    pub memory: MemoryRecord,
    /// Lowest energy and largest residual by iteration.
    pub history: Vec<HistoryPoint>,
}

/// Wall-clock seconds of each phase.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct CiSeconds {
    /// Integrals and determinants.
    pub read: f64,
    /// Matrix elements, format, kernels.
    pub setup: f64,
    /// Iterations.
    pub solve: f64,
    /// Search for missed members of multiplets.
    pub certify: f64,
    /// Spins and densities.
    pub properties: f64,
    /// From start to report.
    pub total: f64,
}

impl CiReport {
    /// Whether every returned state meets the tolerance.
    pub fn converged(&self) -> bool {
        self.states().converged()
    }

    /// Adds what a careful reader must know of the states. To be called once, when everything else is filled in.
    #[must_use]
    pub fn with_warnings(mut self) -> CiReport {
        let warnings = self.states().warnings();
        self.warnings.extend(warnings);
        self
    }

    /// The states, as the table and the warnings show them.
    pub(super) fn states(&self) -> StatesFound<'_> {
        StatesFound {
            energies: &self.energies,
            residuals: &self.residuals,
            uncertainties: &self.uncertainties,
            levels: &self.levels,
            constant: self.constant,
            without_constant: &self.energies_without_constant,
            tolerance: self.tolerance,
            norm: self.norm,
            stop: &self.stop,
        }
    }

    /// The record as JSON, indented.
    ///
    /// # Errors
    /// A value that the serialiser refuses; there is none in a report today.
    pub fn to_json(&self) -> Result<String, ReportError> {
        Ok(serde_json::to_string_pretty(self)?)
    }

    /// Writes `folder`/report.json; returns its path.
    ///
    /// # Errors
    /// A folder that cannot be made or written.
    pub fn write(&self, folder: &Path) -> Result<PathBuf, ReportError> {
        text_file(&folder.join("report.json"), &(self.to_json()? + "\n"))
    }

    /// Text for a terminal, without colours, ending in a newline.
    pub fn summary(&self) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = self.write_summary(&mut out);
        out
    }

    fn write_summary(&self, out: &mut String) -> std::fmt::Result {
        let edited: Vec<&str> = self.kernels.iter().filter(|k| k.overridden).map(|k| k.name.as_str()).collect();
        if !edited.is_empty() {
            writeln!(out, "OVERRIDDEN: edited kernels ran in place of generated ones, and these are their numbers")?;
            writeln!(out, "            {}\n", edited.join(", "))?;
        }
        let [up, down] = self.electrons;
        let dimension = grouped(u128::from(self.dimension));
        writeln!(out, "{} of {up} + {down} electrons in {} orbitals", self.space, self.orbitals)?;
        writeln!(out, "{dimension} determinants, core energy {} Hartree", energy_text(self.core_energy, 0.0))?;
        writeln!(out, "\n  state   energy / Hartree     residual     <S^2>   multiplicity")?;
        let certain = self.levels.iter().flat_map(|level| std::iter::repeat_n(level.complete, level.returned));
        let certain: Vec<bool> = certain.collect();
        let states = self.states();
        for (state, energy) in states.column(16).iter().enumerate() {
            let residual = self.residuals.get(state).copied().unwrap_or(f64::NAN);
            let spin = self.s_squared.get(state).copied().unwrap_or(f64::NAN);
            // Rounding may leave −1e-15 of a singlet, which would print as −0.
            let spin = if spin.abs() < 5e-7 { 0.0 } else { spin };
            let multiplicity = self.multiplicities.get(state).map_or("?".into(), usize::to_string);
            let bound = if certain.get(state).copied().unwrap_or(false) { "  " } else { ">=" };
            let flag = if states.meets_tolerance(state) { "" } else { "   NOT CONVERGED" };
            writeln!(
                out,
                "  {state:>5}   {energy}   {residual:>10.2e}   {spin:>7.4}   {bound}{multiplicity:>10}{flag}"
            )?;
        }
        writeln!(out)?;
        if let Some(line) = states.constant_line() {
            writeln!(out, "{line}")?;
        }
        if !self.natural_occupations.is_empty() {
            let shown: Vec<String> = self.natural_occupations.iter().map(|n| format!("{n:.4}")).collect();
            writeln!(out, "natural occupations of the lowest level: {}", shown.join(" "))?;
        }
        if let Some(dipole) = &self.dipole {
            let shown: Vec<String> = dipole.iter().map(|component| format!("{component:.6}")).collect();
            let length = dipole.iter().map(|component| component * component).sum::<f64>().sqrt();
            writeln!(out, "dipole {} e a0, {:.4} Debye", shown.join(" "), length * DEBYE)?;
        }
        let (iterations, multiplies) = (self.iterations, self.multiplies);
        let how = match self.stop.as_str() {
            "dense" => "whole spectrum",
            "stagnated" => "STAGNATED above the tolerance",
            "max_iterations" => "STOPPED at max_iterations",
            other => other,
        };
        writeln!(out, "{how} by {} on {}: {iterations} iterations, {multiplies} multiplies", self.solver, self.device)?;
        writeln!(out, "{}", states.tolerance_line())?;
        match (&self.format, self.non_zeros) {
            (Some(format), Some(non_zeros)) => {
                let non_zeros = grouped(u128::from(non_zeros));
                let reason = self.format_reason.as_ref().map_or(String::new(), |reason| format!(" ({reason})"));
                writeln!(out, "matrix of {non_zeros} non-zeros, {format}{reason}")?;
            }
            _ => {
                let reason = self.format_reason.as_ref().map_or(String::new(), |reason| format!(" ({reason})"));
                writeln!(out, "no matrix: each product straight from the integrals{reason}")?;
            }
        }
        let CiSeconds { read, setup, solve, certify, properties, total } = self.seconds;
        writeln!(
            out,
            "{total:.2} s: read {read:.2}, setup {setup:.2}, solve {solve:.2}, certify {certify:.2}, properties {properties:.2}"
        )?;
        self.warnings.iter().try_for_each(|warning| writeln!(out, "warning: {warning}"))
    }
}
