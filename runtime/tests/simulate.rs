//! The CUDA text on a CPU: seeded bugs that must be caught, warp operations, complex
//! numbers, and the vector programs of the solvers.

#[path = "simulate/launches.rs"]
mod launches;
#[path = "simulate/numbers.rs"]
mod numbers;
#[path = "simulate/operations.rs"]
mod operations;
#[path = "simulate/programs.rs"]
mod programs;
#[path = "simulate/seeded_bugs.rs"]
mod seeded_bugs;

use eigenforge_runtime::Scalar;
use eigenforge_runtime::simulate::{Schedule, Simulator};
use eigenforge_templates::KernelText;

/// The host compiler, with a time limit for what it makes.
fn simulator() -> Option<Simulator> {
    Some(eigenforge_runtime::testing::simulator()?.time_limit(120))
}

/// A hand-written file behind the prelude; entries in order.
fn kernel(name: &str, code: &str, entries: &[&str]) -> KernelText {
    let text = format!("{}\n{code}", eigenforge_templates::Warp::NVIDIA.prelude());
    let entries = entries.iter().map(|entry| entry.to_string()).collect();
    KernelText { name: name.into(), text, plan: String::new(), entries }
}

/// Line of the text that carries the mark, from 1.
fn marked(text: &KernelText, mark: &str) -> u32 {
    let at = text.text.lines().position(|line| line.contains(mark));
    at.unwrap_or_else(|| panic!("{mark} is in {}", text.name)) as u32 + 1
}

fn bytes<T: Scalar>(values: &[T]) -> Vec<u8> {
    let mut out = Vec::new();
    T::write_bytes(values, &mut out);
    out
}

const SCHEDULES: [Schedule; 4] =
    [Schedule::Forward, Schedule::Reverse, Schedule::Random { seed: 1 }, Schedule::Random { seed: 2026 }];
