//! `[su3]`: which interaction, in which space, and where its tensors go.
//!
//! docs/su3.md, "Commands and model file", has the table of its keys, with meanings and defaults.

use super::problem::Wrong;
use super::section::Section;
use crate::su3::{Direction, Force, ForceError, InteractionInput, MOST_N_MAX, Su3Spec, TensorFormat};
use std::path::PathBuf;

/// Reads `[force]` beside `[su3]`.
pub(super) fn force(file: &Section<'_>, name: &str, text: &str) -> Option<Force> {
    file.open("force")?;
    let message = match Force::of_model_file(name, text) {
        Ok(force) => return Some(force),
        Err(ForceError::Toml { source, .. }) => source.message().to_string(),
        Err(ForceError::Parameter { what, expected, found, .. }) => {
            format!("{what}: expected {expected}, found {found}")
        }
        Err(ForceError::Empty { .. }) => "expected at least one of minnesota, central, spin_orbit, tensor".into(),
        Err(other) => other.to_string(),
    };
    file.problem("force", Wrong::Force(message));
    None
}

/// Reads `[su3]`; `force` is that of the file, if it has such a section: `None` within if the section is wrong.
pub(super) fn read(section: Section<'_>, force: Option<Option<Force>>) -> Option<Su3Spec> {
    if force.is_none() {
        section.require("interaction", "the path of two-body matrix elements, such as interaction = \"jisp16.dat\"");
    } else if section.has("interaction") {
        let why = "the interaction is a file or the force of this file; leave one of them out";
        section.problem("interaction", Wrong::Conflict { key: "interaction", other: "force", why });
    }
    section.require("n_max", "the size of the space, such as n_max = 8");
    section.require("output", "the path of the strengths, such as output = \"strengths.csv\"");
    let path = |key, expected| section.word(key, expected).map(|word| PathBuf::from(word.value));
    let file = path("interaction", "the path of two-body matrix elements, in quotes").map(InteractionInput::File);
    let output = path("output", "the path of the strengths, in quotes");
    let n_max = section.count("n_max", 0).and_then(|n_max| {
        let inside = u32::try_from(n_max.value).ok().filter(|n_max| *n_max <= MOST_N_MAX);
        if inside.is_none() {
            let expected = format!("a whole number from 0 to {MOST_N_MAX}");
            let (key, found) = ("n_max".into(), n_max.value.to_string());
            section.problem("n_max", Wrong::OutOfRange { key, expected, found });
        }
        inside
    });
    let inverse = section.flag("inverse").unwrap_or(false);
    if inverse && force.is_some() {
        let why = "a force has matrix elements, and `inverse` starts from strengths; leave one of the two out";
        section.problem("inverse", Wrong::Conflict { key: "inverse", other: "force", why });
    }
    let interaction = force.map_or(file, |force| force.map(|force| InteractionInput::Force(Box::new(force))));
    let format = section.choice("format", &TensorFormat::WORDS).map(|word| word.value);
    let memory = section.bytes("memory");
    section.finish("key", |_| None);
    let direction = if inverse { Direction::Inverse } else { Direction::Forward };
    Some(Su3Spec { interaction: interaction?, n_max: n_max?, output: output?, format, direction, memory })
}
