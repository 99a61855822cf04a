//! The part of a report that a configuration-interaction run adds, and its summary for a terminal.
//!
//! Energies are total, in Hartree, the core energy included. In the observables of the report sites are the orbitals of the space.

use super::spectrum::first_word;
use super::units::write_dipole;
use super::{Outcome, ShapeRecord, Spectrum, energy_text};
use crate::ci::{CiBasis, CiSpec, LeadingDeterminant, ProductKind};
use crate::sparse::Format;
use crate::words::grouped;
use eigenforge_product::PlannedChoice;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// What only a molecule has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MoleculeRecord {
    /// Its `[ci]`.
    pub ci: CiSpec,
    /// The space in words.
    pub space: String,
    /// Orbitals of the space.
    pub orbitals: usize,
    /// Electrons of each spin in them.
    pub electrons: [usize; 2],
    /// Determinants, or configuration state functions.
    pub dimension: u64,
    /// Energy of nuclei and frozen cores.
    pub core_energy: f64,
    /// Certificates of the energies.
    #[serde(flatten)]
    pub spectrum: Spectrum,
    /// The determinants of the largest amplitudes of each state. Those of a degenerate level are of the states of vectors.npz.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leading_determinants: Vec<Vec<LeadingDeterminant>>,
    /// ⟨S²⟩ of each state; those of a degenerate level are eigenstates of S² within it.
    pub s_squared: Vec<f64>,
    /// Occupations of the natural orbitals, descending, averaged over the lowest level.
    pub natural_occupations: Vec<f64>,
    /// Dipole moment of the lowest level in e a₀, x y z, where its integrals are given.
    pub dipole: Option<Vec<f64>>,
    /// Dipole moments of all levels, averaged over each, where its integrals are given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dipoles: Vec<Vec<f64>>,
    /// Transition dipoles between levels, if asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transitions: Vec<TransitionRecord>,
    /// How H was multiplied, and why not in other ways.
    #[serde(default)]
    pub multiply: Option<PlannedChoice>,
    /// Whether H is a stored matrix, or multiplied from the integrals.
    pub storage: ProductKind,
    /// The format of a stored matrix.
    pub format: Option<Format>,
    /// Why this format.
    pub format_reason: Option<String>,
    /// Elements of a stored matrix.
    pub non_zeros: Option<u64>,
    /// The shape of the generated product; `null` on a CPU.
    pub shape: Option<ShapeRecord>,
}

/// A transition between two levels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TransitionRecord {
    /// The number of the lower level.
    pub from: usize,
    /// The number of the upper level.
    pub to: usize,
    /// The difference of their energies, in Hartree.
    pub energy: f64,
    /// Σ |⟨a|µ|b⟩|² over the states of both as far as they were returned, in e² a₀².
    pub strength: f64,
    /// 2/3 of energy × strength, for each state of the lower level: absorption from it.
    pub oscillator_strength: f64,
    /// ⟨a|µ|b⟩, x y z, up to its sign, where each level has one state; over complex orbitals its real parts, with the phase that makes the
    /// largest component real and positive.
    pub dipole: Option<Vec<f64>>,
    /// Over complex orbitals its imaginary parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imaginary: Option<Vec<f64>>,
    /// Whether the multiplicities of both levels are certain, as of each level.
    pub complete: bool,
    /// Whether `states` cuts one of both levels, so that `strength` and `oscillator_strength` are too small.
    #[serde(default)]
    pub cut: bool,
}

/// Determinants that a summary shows of a state, and states.
const SHOWN: [usize; 2] = [3, 10];

impl MoleculeRecord {
    /// The leading determinants, and transitions from the lowest level.
    fn write_states(&self, out: &mut String) -> std::fmt::Result {
        for (state, list) in self.leading_determinants.iter().enumerate().take(SHOWN[1]) {
            let shown = |own: &LeadingDeterminant| {
                let imaginary = own.imaginary.map_or(String::new(), |imaginary| format!("{imaginary:+.4}i"));
                format!("{:+.4}{imaginary} {}", own.amplitude, own.occupation)
            };
            let shown: Vec<String> = list.iter().take(SHOWN[0]).map(shown).collect();
            writeln!(out, "state {state}: {}", shown.join("  "))?;
        }
        let of_first = |transition: &&TransitionRecord| transition.from == 0 || transition.to == 0;
        for TransitionRecord { from, to, energy, oscillator_strength, .. } in
            self.transitions.iter().filter(of_first).take(SHOWN[1])
        {
            writeln!(out, "level {from} to {to}: {energy:.8} Hartree, oscillator strength {oscillator_strength:.6}")?;
        }
        Ok(())
    }

    pub(super) fn write_summary(&self, outcome: &Outcome, out: &mut String) -> std::fmt::Result {
        let [up, down] = self.electrons;
        let dimension = grouped(u128::from(self.dimension));
        writeln!(out, "{} of {up} + {down} electrons in {} orbitals", self.space, self.orbitals)?;
        let functions = match (self.ci.basis, self.ci.two_s) {
            (CiBasis::Determinants, None) => "determinants",
            (CiBasis::Csf, _) | (_, Some(_)) => "configuration state functions",
        };
        writeln!(out, "{dimension} {functions}, core energy {} Hartree\n", energy_text(self.core_energy, 0.0))?;
        // Rounding may leave −1e-15 of a singlet, which would print as −0.
        let spin = |spin: &f64| format!("{:>7.4}", if spin.abs() < 5e-7 { 0.0 } else { *spin });
        let spins: Vec<String> = self.s_squared.iter().map(spin).collect();
        let spins = (!spins.is_empty()).then_some(("  <S^2>".into(), spins));
        outcome.write_states(out, (" / Hartree", 16), spins)?;
        if !self.natural_occupations.is_empty() {
            let shown: Vec<String> = self.natural_occupations.iter().map(|n| format!("{n:.4}")).collect();
            let first = first_word(self.spectrum.which);
            writeln!(out, "natural occupations of the {first} level: {}", shown.join(" "))?;
        }
        write_dipole(out, self.dipole.as_deref())?;
        self.write_states(out)?;
        outcome.write_observables(out)?;
        outcome.write_stop(out)?;
        let reason = self.format_reason.as_ref().map_or(String::new(), |reason| format!(" ({reason})"));
        match (&self.format, self.non_zeros) {
            (Some(format), Some(non_zeros)) => {
                writeln!(out, "matrix of {} non-zeros, {format}{reason}", grouped(u128::from(non_zeros)))?;
            }
            _ => writeln!(out, "no matrix: each product straight from the integrals{reason}")?,
        }
        outcome.write_seconds(out, "")?;
        outcome.write_cost(out)?;
        self.shape.as_ref().map_or(Ok(()), |shape| writeln!(out, "product {shape}"))
    }
}
