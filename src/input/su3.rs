//! `[su3]`: which interaction, in which space, and where its tensors go.
//!
//! docs/su3.md, "Commands and model file", has the table of its keys, with meanings and defaults.

use super::problem::Wrong;
use super::section::Section;
use crate::su3::{
    Direction, Force, ForceError, InteractionError, InteractionInput, MOST_N_MAX, NuclearTerms, Su3Spec, TensorFormat,
};
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

/// Reads `[hamiltonian]` beside `[su3]`; `force` as of [`read`]: its ħω and mass are those of the other terms.
pub(super) fn hamiltonian(section: Section<'_>, force: Option<&Option<Force>>) -> Option<NuclearTerms> {
    if force.is_none() {
        section.require("hw", "the ħω in MeV of the oscillator functions of the interaction, such as hw = 20.0");
    }
    let why = "[force] has it for all terms; leave it out here";
    for key in ["hw", "hbar2_over_m"].into_iter().filter(|key| force.is_some() && section.has(key)) {
        section.problem(key, Wrong::Conflict { key, other: "force", why });
    }
    let number = |key, default| section.number(key).map_or(default, |number| number.value);
    let common = force.and_then(Option::as_ref);
    // Without a number of its own the section has a problem already.
    let plain = NuclearTerms::new(number("hw", common.map_or(1.0, |force| force.hw)));
    let nucleons = section.count("nucleons", 2).map_or(Some(plain.nucleons), |a| u32::try_from(a.value).ok());
    let terms = NuclearTerms {
        kinetic: section.flag("kinetic").unwrap_or(plain.kinetic),
        coulomb: section.flag("coulomb").unwrap_or(plain.coulomb),
        lawson: number("lawson", plain.lawson),
        oscillator: number("oscillator", plain.oscillator),
        nucleons: nucleons.unwrap_or(u32::MAX),
        hbar2_over_m: number("hbar2_over_m", common.map_or(plain.hbar2_over_m, |force| force.hbar2_over_m)),
        ..plain
    };
    if let Err(InteractionError::Hamiltonian { key, expected, found }) = terms.check() {
        section
            .problem(key, Wrong::OutOfRange { key: key.into(), expected: expected.into(), found: found.to_string() });
    }
    section.finish("key", |_| None);
    Some(terms)
}

/// Reads `[su3]`; `force` is that of the file, if it has such a section: `None` within if the section is wrong. `hamiltonian` likewise.
pub(super) fn read(
    section: Section<'_>,
    force: Option<Option<Force>>,
    hamiltonian: Option<NuclearTerms>,
) -> Option<Su3Spec> {
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
    if inverse && hamiltonian.is_some() {
        let why = "[hamiltonian] adds terms to matrix elements, and `inverse` starts from strengths; leave one of the two out";
        section.problem("inverse", Wrong::Conflict { key: "inverse", other: "hamiltonian", why });
    }
    let interaction = force.map_or(file, |force| force.map(|force| InteractionInput::Force(Box::new(force))));
    let format = section.choice("format", &TensorFormat::WORDS).map(|word| word.value);
    let memory = section.bytes("memory");
    section.finish("key", |_| None);
    let direction = if inverse { Direction::Inverse } else { Direction::Forward };
    Some(Su3Spec { interaction: interaction?, n_max: n_max?, output: output?, format, direction, memory, hamiltonian })
}
