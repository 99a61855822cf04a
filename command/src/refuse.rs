//! Options that a family does not take, refused by name.

use super::error::CommandError;
use eigenforge::Error;
use eigenforge::input::InputFile;
use eigenforge::problem::Family;

/// Refuses the first option of the list that was given: its name, whether it was given, why it means nothing here.
pub(super) fn options(family: Family, options: &[(&'static str, bool, &'static str)]) -> Result<(), CommandError> {
    match options.iter().find(|(_, given, _)| *given) {
        Some((option, _, why)) => Err(refusal(family, *option, *why)),
        None => Ok(()),
    }
}

/// Refuses edited kernels for a sweep: those that are named after one problem do not fit all of its points.
pub(super) fn edits_of_a_sweep(file: &InputFile, options: &[(&'static str, bool)]) -> Result<(), CommandError> {
    let given = options.iter().find(|(_, given)| *given && matches!(file, InputFile::Sweep(_)));
    match given {
        Some((option, _)) => {
            let why = "its points have texts and plans of their own; give every swept key one value";
            Err(refusal(Family::from_file(file), format!("{option} of a sweep"), why))
        }
        None => Ok(()),
    }
}

/// The error that an option or verb is not for a family.
pub(super) fn refusal(family: Family, what: impl Into<String>, why: impl Into<String>) -> CommandError {
    Error::not_of_family(family, what, why).into()
}
