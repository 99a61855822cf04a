//! What [`Su3Spec::levels`](crate::Su3Spec::levels) found, as data and as a table.

use super::LevelRequest;
use super::basis::CoupledBasis;
use crate::{Channel, NuclearTerms, Su3Spec};
use eigenforge_core::words::grouped;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// Version of the fields.
const SCHEMA: u32 = 1;

/// Levels of two nucleons.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NuclearLevels {
    /// Version of the fields.
    pub schema: u32,
    /// The nucleons.
    pub channel: Channel,
    /// N_max.
    pub n_max: u32,
    /// The most na + nb of the basis, and the most quanta of relative motion, N_max + 1.
    pub quanta: u32,
    /// The interaction, or the file of strengths.
    pub input: String,
    /// `[hamiltonian]`; `None` if the input is the whole of it.
    pub hamiltonian: Option<NuclearTerms>,
    /// Matrices, one per J and parity.
    pub matrices: usize,
    /// Rows of the largest.
    pub largest: usize,
    /// The largest |H − Hᵀ| relative to the largest |H|; levels are those of (H + Hᵀ)/2.
    pub asymmetry: f64,
    /// The largest |H| between T = 0 and T = 1 relative to the largest |H|.
    pub isospin_mixing: f64,
    /// The largest deviation from orthogonality of a coefficient matrix.
    pub defect: f64,
    /// What a careful reader must know.
    pub warnings: Vec<String>,
    /// By energy.
    pub levels: Vec<NuclearLevel>,
    /// Wall-clock seconds.
    pub seconds: f64,
}

/// A level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NuclearLevel {
    /// ⟨H⟩ in the unit of the input, MeV.
    pub energy: f64,
    /// J.
    pub j: u32,
    /// ±1.
    pub parity: i32,
    /// T; `None` if H mixes T = 0 and 1.
    pub isospin: Option<u32>,
    /// ⟨N_cm⟩.
    pub centre_quanta: f64,
    /// Weights, the largest first; those below 10⁻⁶ are left out.
    pub components: Vec<CoupledComponent>,
}

/// The weight of all states with some quantum numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CoupledComponent {
    /// λ.
    pub lambda: u32,
    /// μ.
    pub mu: u32,
    /// L.
    pub l: u32,
    /// S.
    pub s: u32,
    /// Σ |amplitude|².
    pub weight: f64,
}

impl NuclearLevels {
    pub(super) fn new(spec: &Su3Spec, request: &LevelRequest, bases: &[CoupledBasis], defect: f64) -> NuclearLevels {
        NuclearLevels {
            schema: SCHEMA,
            channel: request.channel,
            n_max: spec.n_max,
            quanta: spec.n_max + 1,
            input: spec.interaction.to_string(),
            hamiltonian: spec.hamiltonian,
            matrices: bases.len(),
            largest: bases.iter().map(|basis| basis.states.len()).max().unwrap_or(0),
            asymmetry: 0.0,
            isospin_mixing: 0.0,
            defect,
            warnings: Vec::new(),
            levels: Vec::new(),
            seconds: 0.0,
        }
    }
}

impl NuclearLevel {
    /// 1+
    fn spin_and_parity(&self) -> String {
        format!("{}{}", self.j, if self.parity > 0 { '+' } else { '-' })
    }

    /// Sums of the weights of each value of some label, the largest first.
    fn weights(&self, label: impl Fn(&CoupledComponent) -> String) -> String {
        let mut sums: BTreeMap<String, f64> = BTreeMap::new();
        self.components.iter().for_each(|component| *sums.entry(label(component)).or_default() += component.weight);
        let mut sums: Vec<(String, f64)> = sums.into_iter().filter(|(_, weight)| *weight >= 5e-4).collect();
        sums.sort_by(|a, b| b.1.total_cmp(&a.1));
        let words = sums.iter().take(3).map(|(name, weight)| format!("{name} {:.1}", 100.0 * weight));
        words.collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for NuclearLevels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (n_max, quanta, channel) = (self.n_max, self.quanta, self.channel.word());
        write!(f, "two nucleons ({channel}) from tensors of N_max = {n_max}: na + nb <= {quanta}, ")?;
        writeln!(f, "{} matrices of up to {} rows", self.matrices, grouped(self.largest as u128))?;
        match &self.hamiltonian {
            Some(terms) => writeln!(f, "H = {terms} + {}", self.input)?,
            None => writeln!(f, "H = {}", self.input)?,
        }
        writeln!(f, "\n{:>20}  {:>4}  {:>2}  {:>4}  {:<24}  (lambda mu) in %", "E", "J", "T", "Ncm", "L, S in %")?;
        for level in &self.levels {
            let isospin = level.isospin.map_or_else(|| "-".into(), |t| t.to_string());
            let terms = level.weights(|part| format!("{}{}", 2 * part.s + 1, letter(part.l)));
            let irreps = level.weights(|part| format!("({} {})", part.lambda, part.mu));
            let (energy, j, centre) = (level.energy, level.spin_and_parity(), level.centre_quanta.abs());
            writeln!(f, "{energy:>20.10}  {j:>4}  {isospin:>2}  {centre:>4.1}  {terms:<24}  {irreps}")?;
        }
        if self.levels.is_empty() {
            writeln!(f, "no level with these quantum numbers is in this space")?;
        }
        write!(f, "\n|H - H^T| {:.1e}, H between T = 0 and 1 {:.1e}, ", self.asymmetry, self.isospin_mixing)?;
        writeln!(f, "both of the largest |H|; defect of the coefficients {:.1e}", self.defect)?;
        self.warnings.iter().try_for_each(|warning| writeln!(f, "warning: {warning}"))?;
        writeln!(f, "{:.2} s", self.seconds)
    }
}

/// S, P, D, …
fn letter(l: u32) -> String {
    b"SPDFGHIKLMNOQRTUVWXYZ".get(l as usize).map_or_else(|| format!("[{l}]"), |letter| char::from(*letter).to_string())
}
