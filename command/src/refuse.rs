//! Options that a family does not take, refused by name.

use super::error::CommandError;
use eigenforge::problem::Family;

/// Refuses the first option of the list that was given: its name, whether it was given, why it means nothing here.
pub(super) fn options(family: Family, options: &[(&'static str, bool, &'static str)]) -> Result<(), CommandError> {
    match options.iter().find(|(_, given, _)| *given) {
        Some((option, _, why)) => Err(refusal(family, *option, *why)),
        None => Ok(()),
    }
}

/// The error that an option or verb is not for a family.
pub(super) fn refusal(family: Family, what: impl Into<String>, why: impl Into<String>) -> CommandError {
    CommandError::NotOfFamily { what: what.into(), family, why: why.into() }
}
