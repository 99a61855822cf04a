//! What the steps of an evolution launch.
//!
//! In: a model file with `[evolve]`, its model. Out: generated files: of H, or of the parts of H(t), each with its multiply.

use super::hamiltonian::driven_model;
use super::measures::measures;
use crate::exact::{DrivenModel, Model};
use crate::input::{EvolveSpec, ModelFile};
use crate::path::{GeneratedFile, StageError};
use eigenforge_runtime::solvers::Course;

/// The generated files of the steps, and of what is measured.
///
/// # Errors
/// As of [`evolution`](super::evolution).
pub(crate) fn step_files(file: &ModelFile, spec: &EvolveSpec, model: &Model) -> Result<Vec<GeneratedFile>, StageError> {
    let driven = driven_model(file, spec, model)?;
    let (parts, course) = match &driven {
        Some(driven) => (driven.parts(), Course::DrivenEvolution),
        None => (std::slice::from_ref(model), Course::Evolution { imaginary: spec.imaginary }),
    };
    let mut files = Vec::new();
    for part in parts {
        files.extend(part.course_files(course, "for the evolution")?);
    }
    if !measures(file, spec, model)?.observables.is_empty() {
        files.extend(driven.as_ref().map_or(model, DrivenModel::basis_model).average_file()?);
    }
    Ok(files)
}
