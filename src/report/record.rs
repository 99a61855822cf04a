//! The record of a run: every field of report.json.
//!
//! Energies are in the units of the model's amplitudes (t, J), times in seconds, memory in bytes.

use super::{ReportError, StatesFound, publish};
use crate::input::SectorSpec;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Everything that is known of a run when it ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// The model file.
    pub model: ModelRecord,
    /// One line: kind, lengths, boundaries, numbering of the sites.
    pub lattice: String,
    /// Conserved quantum numbers.
    pub sector: SectorSpec,
    /// States of the sector.
    pub dimension: u64,
    /// The k lowest eigenvalues, ascending.
    #[serde(deserialize_with = "nullable")]
    pub energies: Vec<f64>,
    /// ‖Hx − λx‖ of each, recomputed in f64.
    #[serde(deserialize_with = "nullable")]
    pub residuals: Vec<f64>,
    /// How far each energy may be off: its residual, or less where the distance to other levels is known.
    #[serde(default, deserialize_with = "nullable")]
    pub uncertainties: Vec<f64>,
    /// What all states of the sector have in common, such as -mu N; in the energies, taken out before the solve.
    #[serde(default)]
    pub constant: f64,
    /// The energies less the constant, with the digits that a large constant costs them.
    #[serde(default, deserialize_with = "nullable")]
    pub energies_without_constant: Vec<f64>,
    /// One an energy: the multiplicity of its level in this sector.
    pub multiplicities: Vec<usize>,
    /// The levels, each energy once.
    pub levels: Vec<LevelRecord>,
    /// Averages over the ground multiplet.
    pub observables: Observables,
    /// Iterations of the solver.
    pub iterations: usize,
    /// Multiplications with H, certification included.
    pub multiplies: usize,
    /// "converged", "max_iterations", "stagnated" or "dense".
    pub stop: String,
    /// "lobpcg", "lanczos", "davidson" or "dense"; what "auto" chose.
    pub solver: String,
    /// Why "auto" chose it; `null` where the solver was named.
    #[serde(default)]
    pub solver_reason: Option<String>,
    /// The device's name.
    pub device: String,
    /// Generated kernels that ran; empty on a CPU.
    pub kernels: Vec<KernelRecord>,
    /// The shape of the generated multiply; `null` on a CPU.
    pub shape: Option<ShapeRecord>,
    /// Where the time went.
    pub seconds: Seconds,
    /// Versions by name: eigenforge, and of what was used nvrtc, driver, …
    pub versions: BTreeMap<String, String>,
    /// Seed of the start vectors.
    pub seed: u64,
    /// What the search began with: "random", "guess" (a Slater determinant with 3 % random), or "none" of a dense solve.
    #[serde(default)]
    pub start: String,
    /// Tolerance on the residual norms, in parts of the norm of H.
    pub tolerance: f64,
    /// The norm of H without the constant, as computed: an upper bound. (1 in reports of old, whose tolerance was absolute.)
    #[serde(default = "one")]
    pub norm: f64,
    /// What a careful reader must know, such as a multiplet that `states` cuts.
    pub warnings: Vec<String>,
    /// What the planner said would be resident.
    pub memory: MemoryRecord,
    /// Least work of one multiplication, and what it took.
    pub cost: CostRecord,
    /// Lowest energy and largest residual by iteration.
    pub history: Vec<HistoryPoint>,
}

/// The model as the user wrote it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ModelRecord {
    /// "hubbard", "xxz", or the name of a user's function.
    pub name: String,
    /// Name of the model file; empty if there was none.
    pub file: String,
    /// The whole text of the model file.
    pub text: String,
}

/// One energy level of the sector.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LevelRecord {
    /// Its energy.
    #[serde(deserialize_with = "nullable_number")]
    pub energy: f64,
    /// Its multiplicity in this sector, as far as is known.
    pub multiplicity: usize,
    /// How many of its states are among the energies above.
    pub returned: usize,
    /// Whether the multiplicity is certain (else it is a lower bound).
    pub complete: bool,
}

/// Averages over all states of the lowest level of the sector. `null` where a quantity has no meaning for the model.
/// Matrices are \[site i\]\[site j\].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Observables {
    /// How many states the averages run over.
    pub averaged_over: usize,
    /// ⟨n_i↑⟩.
    pub n_up: Option<Vec<f64>>,
    /// ⟨n_i↓⟩.
    pub n_dn: Option<Vec<f64>>,
    /// ⟨n_i↑ n_i↓⟩.
    pub double_occupancy: Option<Vec<f64>>,
    /// ⟨Sz_i⟩.
    pub sz: Option<Vec<f64>>,
    /// ⟨Sz_i Sz_j⟩.
    pub szsz: Option<Vec<Vec<f64>>>,
    /// ⟨n_i n_j⟩, n = n_↑ + n_↓.
    pub nn: Option<Vec<Vec<f64>>>,
    /// ⟨S_i·S_j⟩.
    pub sdots: Option<Vec<Vec<f64>>>,
}

/// A generated kernel that ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelRecord {
    /// Human name.
    pub name: String,
    /// Cache key.
    pub key: String,
    /// Whether the cubin came from the cache.
    pub cached: bool,
    /// Whether an edited source ran in place of the generated one.
    pub overridden: bool,
}

/// The shape of the generated multiply: tiles, threads, strategies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShapeRecord {
    /// In words.
    pub shape: String,
    /// Whether `eigenforge tune` chose it on this card; else it is the rule's.
    pub tuned: bool,
    /// Milliseconds of a multiply in that race.
    pub milliseconds: Option<f64>,
    /// Milliseconds of the rule's shape in the same race.
    pub rule_milliseconds: Option<f64>,
}

/// Wall-clock seconds of each phase.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Seconds {
    /// Model, basis and tables.
    pub setup: f64,
    /// Kernels: text to loaded module.
    pub compile: f64,
    /// Iterations.
    pub solve: f64,
    /// Search for missed members of multiplets.
    pub certify: f64,
    /// Observables.
    pub observables: f64,
    /// From start to report.
    pub total: f64,
}

/// Resident memory as planned before the run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct MemoryRecord {
    /// What is resident.
    pub items: Vec<MemoryItem>,
    /// Sum of the items.
    pub planned_bytes: u64,
    /// What the device had free.
    pub available_bytes: u64,
}

/// A resident thing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemoryItem {
    /// What it is: "6 vectors", "hopping tables", …
    pub name: String,
    /// Its size.
    pub bytes: u64,
}

/// Least work of one multiplication with H against what was measured.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct CostRecord {
    /// Floating-point operations of one multiplication.
    pub multiply_flops: f64,
    /// Bytes that one multiplication must move.
    pub multiply_bytes: f64,
    /// Measured seconds of one multiplication, where it was measured.
    pub multiply_seconds: Option<f64>,
    /// multiply_bytes over the device's bandwidth, where that is known.
    pub floor_seconds: Option<f64>,
}

/// State of the solver after an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HistoryPoint {
    /// Iteration, from 0.
    pub iteration: usize,
    /// Lowest energy.
    #[serde(deserialize_with = "nullable_number")]
    pub energy: f64,
    /// Largest residual of the states asked for.
    #[serde(deserialize_with = "nullable_number")]
    pub residual: f64,
}

fn one() -> f64 {
    1.0
}

fn nullable_number<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(from)?.unwrap_or(f64::NAN))
}

fn nullable<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
    let numbers = Vec::<Option<f64>>::deserialize(from)?;
    Ok(numbers.into_iter().map(|number| number.unwrap_or(f64::NAN)).collect())
}

impl Observables {
    /// The quantities that have a value, flattened, with their names.
    fn numbers(&self) -> Vec<(&'static str, Vec<f64>)> {
        let sites = [
            ("n_up", &self.n_up),
            ("n_dn", &self.n_dn),
            ("double_occupancy", &self.double_occupancy),
            ("sz", &self.sz),
        ];
        let pairs = [("szsz", &self.szsz), ("nn", &self.nn), ("sdots", &self.sdots)];
        let sites = sites.into_iter().filter_map(|(name, values)| Some((name, values.clone()?)));
        let pairs = pairs.into_iter().filter_map(|(name, matrix)| Some((name, matrix.clone()?.concat())));
        sites.chain(pairs).collect()
    }

    fn forget(&mut self, name: &str) {
        match name {
            "n_up" => self.n_up = None,
            "n_dn" => self.n_dn = None,
            "double_occupancy" => self.double_occupancy = None,
            "sz" => self.sz = None,
            "szsz" => self.szsz = None,
            "nn" => self.nn = None,
            _ => self.sdots = None,
        }
    }
}

impl RunReport {
    /// The multiplicity of each returned energy, from the levels in ascending order.
    pub fn multiplicities_of(levels: &[LevelRecord]) -> Vec<usize> {
        levels.iter().flat_map(|level| std::iter::repeat_n(level.multiplicity, level.returned)).collect()
    }

    /// Whether every returned state meets the tolerance.
    pub fn converged(&self) -> bool {
        self.states().converged()
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

    /// Adds what a careful reader must know: cut multiplets, multiplicities that are only bounds, states that did not
    /// converge, numbers that are not finite. To be called once, when everything else is filled in.
    #[must_use]
    pub fn with_warnings(mut self) -> RunReport {
        let mut warnings = self.states().warnings();
        if let Some(state) = self.energies.iter().position(|energy| !energy.is_finite()) {
            warnings.push(format!("the energy of state {state} is not a finite number; it is null in JSON"));
        }
        for (name, values) in self.observables.numbers() {
            if values.iter().any(|value| !value.is_finite()) {
                warnings.push(format!("the observable {name} is not finite and was left out"));
                self.observables.forget(name);
            }
        }
        self.warnings.extend(warnings);
        self
    }

    /// The record as JSON, indented.
    ///
    /// # Errors
    /// A value that the serialiser refuses; there is none in a report today.
    pub fn to_json(&self) -> Result<String, ReportError> {
        Ok(serde_json::to_string_pretty(self)?)
    }

    /// A record read back.
    ///
    /// # Errors
    /// Text that is not such a record.
    pub fn from_json(text: &str) -> Result<RunReport, ReportError> {
        Ok(serde_json::from_str(text)?)
    }

    /// Writes `folder`/report.json and, if there is a history, `folder`/convergence.svg; returns their paths.
    ///
    /// # Errors
    /// A folder that cannot be made or written.
    pub fn write(&self, folder: &Path) -> Result<Vec<PathBuf>, ReportError> {
        let text = self.to_json()? + "\n";
        let mut files = vec![text_file(&folder.join("report.json"), &text)?];
        if !self.history.is_empty() {
            files.push(text_file(&folder.join("convergence.svg"), &self.convergence_svg()?)?);
        }
        Ok(files)
    }
}

pub(super) fn text_file(path: &Path, text: &str) -> Result<PathBuf, ReportError> {
    publish(path, |file| {
        file.write_all(text.as_bytes()).map_err(|source| ReportError::Write { file: path.into(), source })
    })
}
