//! What a run does and takes, as data: for `inspect`, for its JSON, and for programs.
//!
//! ```text
//! Problem → generated files ┐
//!         → PlanDetails     ┴→ RunPlan: identity, memory, work with its floor, choices with reasons, kernels with launches
//! ```
//!
//! A family's details are typed, and the text of `inspect --stage plan` and `cost` is printed from them.

use super::Problem;
use crate::path::StageError;
pub use eigenforge_product::{PlannedChoice, PlannedWay};
use eigenforge_runtime::machine::Machine;
use eigenforge_templates::{Cost, Launch};
use serde::Serialize;

/// An item of planned memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedBytes {
    /// What is held.
    pub what: String,
    /// Its bytes.
    pub bytes: u64,
}

/// Work, with its least time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedWork {
    /// What is computed, such as a use of a generated file.
    pub what: String,
    /// Floating-point operations.
    pub flops: f64,
    /// Bytes moved to and from memory at least; 0 where only operations are counted.
    pub bytes: f64,
    /// The longer of both by the rates of the machine.
    pub floor_seconds: f64,
}

impl PlannedWork {
    /// Work on a machine.
    pub fn new(machine: &Machine, what: impl Into<String>, Cost { flops, bytes }: Cost) -> PlannedWork {
        PlannedWork { what: what.into(), flops, bytes, floor_seconds: machine.seconds_by_rates(flops, bytes) }
    }
}

/// A generated file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedFile {
    /// Its name.
    pub name: String,
    /// The launches of its kernels, without lengths of packed neighbours.
    pub launches: Vec<Launch>,
}

/// The plan of a run on a machine, which need not be present.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunPlan {
    /// A hash of what determines the numbers ([`Problem::identity`]).
    pub identity: String,
    /// The machine.
    pub machine: String,
    /// Memory by item.
    pub memory: Vec<PlannedBytes>,
    /// Work: parts of the run, then one use of each generated file whose work does not depend on data.
    pub work: Vec<PlannedWork>,
    /// What was chosen, and why.
    pub choices: Vec<PlannedChoice>,
    /// The generated files.
    pub files: Vec<PlannedFile>,
}

impl RunPlan {
    /// The plan of a problem, with floors by the rates of a machine.
    ///
    /// # Errors
    /// The plan cannot be made.
    pub fn new(problem: &dyn Problem, machine: &Machine) -> Result<RunPlan, StageError> {
        let (details, generated) = (problem.details()?, problem.generated()?);
        let of_file = |file: &crate::path::GeneratedFile| Some((file.text.name.clone(), file.cost?));
        let of_files = generated.iter().filter_map(of_file);
        let work = details.work().into_iter().chain(of_files);
        Ok(RunPlan {
            identity: problem.identity()?,
            machine: machine.name().into(),
            memory: details.memory().into_iter().map(|(what, bytes)| PlannedBytes { what, bytes }).collect(),
            work: work.map(|(what, cost)| PlannedWork::new(machine, what, cost)).collect(),
            choices: details.choices(),
            files: generated
                .into_iter()
                .map(|file| PlannedFile { name: file.text.name, launches: file.launches })
                .collect(),
        })
    }
}

/// A family's part of a plan: what it holds, computes and chooses beyond its generated files. Its texts are printed from the same
/// numbers.
pub trait PlanDetails {
    /// Memory by item.
    fn memory(&self) -> Vec<(String, u64)> {
        Vec::new()
    }

    /// Work beyond one use of each generated file.
    fn work(&self) -> Vec<(String, Cost)> {
        Vec::new()
    }

    /// Choices with their reasons.
    fn choices(&self) -> Vec<PlannedChoice> {
        Vec::new()
    }

    /// What `--stage plan` prints before the choices and the plans of the generated files, such as records of operations.
    fn plan_text(&self) -> String {
        String::new()
    }

    /// What `--stage cost` prints before the costs of the generated files.
    fn cost_text(&self) -> String {
        String::new()
    }
}

/// The hash of parts that determine a problem.
pub(super) fn identity_of(parts: &[&str]) -> String {
    let mut hash = blake3::Hasher::new();
    for part in parts {
        hash.update(&(part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().to_hex().to_string()
}
