//! What `record` and `entropy` name.
//!
//! In: a file with `[evolve]`. Out: the observables and sets of sites to measure, or which name is not known.

use crate::exact::{EvolutionMeasures, Model};
use crate::input::{EvolveSpec, InputError, InputProblem, ModelFile, Wrong};
use crate::observable::Observable;
use std::ops::Range;

/// Names that are no observables.
pub(super) const OF_STATES: [&str; 2] = ["energy", "echo"];

/// What is measured of a file's states.
///
/// # Errors
/// A name that is not known.
pub(super) fn measures(file: &ModelFile, spec: &EvolveSpec, model: &Model) -> Result<EvolutionMeasures, InputError> {
    let known = model.standard_observables().into_iter().chain(file.observed.iter().cloned()).collect();
    Ok(EvolutionMeasures { observables: known_measures(file, spec, known)?, entropies: spec.entropy.clone() })
}

/// A key whose value is none of what was expected.
pub(super) fn refused_key(
    file: &ModelFile,
    key: &str,
    (expected, found): (String, String),
    span: &Range<usize>,
) -> InputError {
    let what = Wrong::OutOfRange { key: key.into(), expected, found };
    file.refused(InputProblem { what, span: span.clone() })
}

/// Those of the known observables that a file records.
///
/// # Errors
/// A name that is not known.
pub(super) fn known_measures(
    file: &ModelFile,
    spec: &EvolveSpec,
    known: Vec<Observable>,
) -> Result<Vec<Observable>, InputError> {
    let mut observables: Vec<Observable> = Vec::new();
    for (name, span) in &spec.record {
        if OF_STATES.contains(&name.as_str()) || observables.iter().any(|observable| observable.name == *name) {
            continue;
        }
        match known.iter().find(|observable| observable.name == *name) {
            Some(observable) => observables.push(observable.clone()),
            None => {
                let names: Vec<&str> =
                    OF_STATES.into_iter().chain(known.iter().map(|observable| observable.name.as_str())).collect();
                let near = crate::input::nearest_word(name, &names);
                let near = near.map_or(String::new(), |near| format!("; did you mean \"{near}\"?"));
                let expected = format!("names among {}{near}", names.join(", "));
                return Err(refused_key(file, "record", (expected, format!("\"{name}\"")), span));
            }
        }
    }
    Ok(observables)
}
