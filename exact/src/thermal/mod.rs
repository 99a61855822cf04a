//! Traces over a sector, Tr A e^(−H/T), from which all of its thermodynamics follows.
//!
//! In: a model in its sector, operators A that lead back to it. Out: a [`SectorTrace`], energies with their parts of Tr 1 and of Tr A.
//!
//! ```text
//! small sector ─ dense ─────────────────────────────→ all levels ──┐
//! large sector ─ lowest levels, solved ─────────────→ those ───────┼→ SectorTrace: Tr A e^(−H/T) = Σ values · e^(−energy/T)
//!              └ random vectors without them, chains → Ritz values ┘
//! ```
//!
//! Finite-temperature Lanczos (J. Jaklič and P. Prelovšek, Phys. Rev. B 49, 5065 (1994)): for a random vector |r⟩ of length 1, evenly
//! distributed over all directions, the mean of ⟨r| f(H) A |r⟩ is Tr f(H) A / D. Here D counts the states beside the levels that are known,
//! which are taken out of |r⟩. f(H)|r⟩ is that of the Krylov space of |r⟩. Vectors of a complex sector are real in states
//! that are their own conjugates, where it has such; else they are real pairs, whose traces are twice as large as are their dimensions.

mod levels;
mod random;
mod real_states;
mod samples;
mod transitions;

pub use samples::{SampleOptions, SectorTrace, TraceLine, TraceSample};
pub use transitions::{KnownLevels, TransitionSample, TransitionSamples, Transitions};

#[cfg(test)]
mod tests;
