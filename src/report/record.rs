//! The parts that reports of all families are made of.
//!
//! Energies are in the units of the model's amplitudes (t, J; Hartree for molecules), times in seconds, memory in bytes.

use super::LevelSpinRecord;
use eigenforge_runtime::machine::Machine;
use eigenforge_runtime::{Device, LoadedKernel};
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
    /// Its total spin, where H conserves it and averages were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spin: Option<LevelSpinRecord>,
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

impl KernelRecord {
    /// Those that ran on a device.
    pub(crate) fn list(device: &Device) -> Vec<KernelRecord> {
        let record = |kernel: LoadedKernel| KernelRecord {
            name: kernel.name,
            key: kernel.key,
            cached: kernel.cached,
            overridden: kernel.overridden.is_some(),
        };
        device.kernels_used().into_iter().map(record).collect()
    }

    /// The first lines of a text for a terminal where edited kernels ran; else nothing.
    pub(crate) fn overridden_text(kernels: &[KernelRecord]) -> String {
        let edited: Vec<&str> = kernels.iter().filter(|k| k.overridden).map(|k| k.name.as_str()).collect();
        if edited.is_empty() {
            return String::new();
        }
        let names = edited.join(", ");
        format!(
            "OVERRIDDEN: edited kernels ran in place of generated ones, and these are their numbers\n            {names}\n\n"
        )
    }
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

/// Least work of the main part of a run against the time that was measured.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct CostRecord {
    /// The part of the run that is counted.
    #[serde(default)]
    pub of: CountedWork,
    /// Its floating-point operations; 0 where only bytes are counted.
    #[serde(alias = "multiply_flops")]
    pub flops: f64,
    /// Bytes that it must move to and from memory; 0 where only operations are counted.
    #[serde(alias = "multiply_bytes")]
    pub bytes: f64,
    /// Its measured seconds, where they were measured.
    #[serde(alias = "multiply_seconds")]
    pub seconds: Option<f64>,
    /// The longer of `flops` and `bytes` at the rates of the device: double precision without tensor cores, and copies in memory.
    pub floor_seconds: Option<f64>,
    /// The longer one.
    #[serde(default)]
    pub bound: Bound,
}

/// The part of a run whose work is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CountedWork {
    /// One multiplication with H.
    #[default]
    Multiply,
    /// All products with H of the sweeps of DMRG.
    Sweeps,
    /// A transformation into SU(3) tensors, copies to and from a card included.
    Transformation,
}

/// What takes longer at the rates of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// Moving the bytes.
    #[default]
    Memory,
    /// The floating-point operations.
    Arithmetic,
}

impl CostRecord {
    /// The cost of some work on a machine; `seconds` were measured.
    pub fn new(machine: &Machine, of: CountedWork, (flops, bytes): (f64, f64), seconds: Option<f64>) -> CostRecord {
        let (by_flops, by_bytes) = (machine.seconds_by_rates(flops, 0.0), machine.seconds_by_rates(0.0, bytes));
        let bound = if by_flops > by_bytes { Bound::Arithmetic } else { Bound::Memory };
        CostRecord { of, flops, bytes, seconds, floor_seconds: Some(by_flops.max(by_bytes)), bound }
    }
}

impl fmt::Display for CostRecord {
    /// One line without its end; nothing where no time was measured.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Some(took), Some(floor)) = (self.seconds, self.floor_seconds.filter(|floor| *floor > 0.0)) else {
            return Ok(());
        };
        let of = match self.of {
            CountedWork::Multiply => "one multiply",
            CountedWork::Sweeps => "sweeps",
            CountedWork::Transformation => "transforming took",
        };
        let bound = match self.bound {
            Bound::Memory => "memory",
            Bound::Arithmetic => "arithmetic",
        };
        let (times, took, floor) = (took / floor, 1e3 * took, 1e3 * floor);
        write!(f, "{of} {took:.3} ms, {times:.1} times the {floor:.3} ms that {bound} alone would take")
    }
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
