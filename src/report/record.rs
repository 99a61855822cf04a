//! The parts that reports of all families are made of.
//!
//! Energies are in the units of the model's amplitudes (t, J; Hartree for molecules), times in seconds, memory in bytes.

use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

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

impl fmt::Display for ShapeRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ShapeRecord { shape, tuned, milliseconds, rule_milliseconds } = self;
        write!(f, "{shape} (")?;
        match (tuned, milliseconds, rule_milliseconds) {
            (true, Some(took), Some(rule)) => write!(f, "tuned on this card, {:.2} x the rule's speed)", rule / took),
            (true, ..) => write!(f, "tuned on this card)"),
            (false, ..) => write!(f, "by rule; `eigenforge tune` times others on a card)"),
        }
    }
}

/// Wall-clock seconds of each phase.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Seconds {
    /// From the start to a problem that is ready on its device: files, basis, integrals, tables, operator sum.
    pub setup: f64,
    /// Kernels: text to loaded module; part of the other phases.
    pub compile: f64,
    /// Iterations of an eigensolver, sweeps of DMRG.
    pub solve: f64,
    /// What certifies the energies: the search for missed members of multiplets, the variance of DMRG.
    pub certify: f64,
    /// Averages: observables, densities, spins, entropies.
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
    /// multiply_bytes over the device's bandwidth, if that is known.
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
    /// Largest residual of the requested states.
    #[serde(deserialize_with = "nullable_number")]
    pub residual: f64,
}

pub(super) fn nullable_number<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(from)?.unwrap_or(f64::NAN))
}

pub(super) fn nullable<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
    let numbers = Vec::<Option<f64>>::deserialize(from)?;
    Ok(numbers.into_iter().map(|number| number.unwrap_or(f64::NAN)).collect())
}
