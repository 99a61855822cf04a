//! What a device that computes on the cores would have launched on a card: its vector programs, noted as they are asked for.

use super::ElementFunction;
use eigenforge_templates::vector_program::VectorProgram;
use eigenforge_templates::{ElementFunctionText, ScalarType};
use std::sync::{Mutex, PoisonError};

/// A vector program with the functions that it calls.
#[derive(Clone, Debug)]
pub struct RecordedProgram {
    /// The program.
    pub program: VectorProgram,
    /// The type of its vectors.
    pub scalar: ScalarType,
    /// Its functions, in its order.
    pub functions: Vec<ElementFunctionText>,
}

/// The programs so far, each once.
#[derive(Debug, Default)]
pub struct Recorder(Mutex<Vec<RecordedProgram>>);

impl Recorder {
    pub(super) fn note(&self, program: &VectorProgram, scalar: ScalarType, functions: &[ElementFunction]) {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = |known: &RecordedProgram| known.program.name == program.name && known.scalar == scalar;
        if !noted.iter().any(is_known) {
            let functions = functions.iter().map(|function| function.text.clone()).collect();
            noted.push(RecordedProgram { program: program.clone(), scalar, functions });
        }
    }

    /// All of them, in the order in which they were first asked for.
    pub fn programs(&self) -> Vec<RecordedProgram> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
