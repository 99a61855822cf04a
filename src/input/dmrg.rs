//! `[dmrg]`: how many states DMRG keeps, and how it sweeps.
//!
//! docs/dmrg.md, "The model file", has the table of its keys, with meanings and defaults.

use super::problem::Wrong;
use super::resolve_path;
use super::section::{Amount, Placed, Section};
use crate::dmrg::{BasisChoice, FACTOR_ROWS, IMPROVEMENT, Mode, Options, StartVectors, TextChoice, UpdateChoice};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// `[dmrg]`, with defaults filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DmrgSpec {
    /// What a run of the library takes.
    #[serde(flatten)]
    pub options: Options,
    /// `order`, if given; of orbitals in the numbers of their file.
    pub order: Option<Vec<usize>>,
    /// `memory` in bytes, if given.
    pub memory: Option<u64>,
    /// `host_memory` in bytes, if given.
    pub host_memory: Option<u64>,
    /// `scratch`, if given.
    pub scratch: Option<PathBuf>,
    /// The written state of `start`, if it names one.
    #[serde(default)]
    pub start_file: Option<WrittenStart>,
}

/// A state of a file of matrix-product states.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenStart {
    /// The file.
    pub path: PathBuf,
    /// Its state, 0 the lowest.
    pub state: usize,
}

impl WrittenStart {
    /// `{ vectors = "DIR/mps.npz", state = 0 }`.
    pub(super) fn read(section: Section<'_>, folder: &Path) -> Option<WrittenStart> {
        section.require("vectors", "the path of a written state: vectors = \"DIR/mps.npz\"");
        let path = section.word("vectors", "the path of a file of states: vectors = \"DIR/mps.npz\"");
        let state = section.count("state", 0).map_or(0, |state| state.value);
        section.finish("key", |_| None);
        Some(WrittenStart { path: resolve_path(folder, Path::new(path?.value)), state })
    }
}

/// The numbers that the sites of a chain have in `order`.
pub(super) struct SiteNumbers {
    /// Ascending.
    pub numbers: Vec<usize>,
    /// "site" or "orbital".
    pub what: &'static str,
}

/// Reads `[dmrg]` for a chain of these sites, if they are known.
pub(super) fn read(section: Section<'_>, sites: Option<SiteNumbers>, folder: &Path) -> DmrgSpec {
    section.require("states", "the number of states to keep: states = 256, or a list of one per sweep");
    let given = section.counts("states", 1).map(|states| states.value);
    let states = given.clone().unwrap_or(vec![1]);
    if states.is_empty() {
        let expected = "a number of states, or a list of one per sweep".into();
        section.problem("states", Wrong::OutOfRange { key: "states".into(), expected, found: "[]".into() });
    }
    let mode = section.choice("mode", &[("finite", Mode::Finite), ("infinite", Mode::Infinite)]);
    let mode = mode.map_or(Mode::Finite, |mode| mode.value);
    let written = section.is_table("start");
    let start_file =
        if written { section.open("start").and_then(|start| WrittenStart::read(start, folder)) } else { None };
    let of_words = || section.choice("start", &[("auto", StartVectors::Carried), ("random", StartVectors::Random)]);
    let start = if written { None } else { of_words() };
    let update = section.choice("update", &UpdateChoice::ALL.map(|choice| (choice.name(), choice)));
    let text = section.choice("text", &TextChoice::ALL.map(|choice| (choice.name(), choice)));
    let basis = section.choice("basis", &BasisChoice::ALL.map(|choice| (choice.name(), choice)));
    let targets = section.count("targets", 1).map_or(1, |targets| targets.value);
    let polish = section.flag("polish").unwrap_or(false);
    let weights = weights(&section, targets);
    if polish && weights.is_some() {
        let why = "one-site sweeps are for a state with kept states of its own: leave one of them out";
        section.problem("polish", Wrong::Conflict { key: "polish", other: "weights", why });
    }
    if let Some(basis) = basis.as_ref().filter(|_| weights.is_none()) {
        let expected = "none without `weights`, because states with searches of their own have a basis each".into();
        section.problem("basis", Wrong::OutOfRange { key: "basis".into(), expected, found: basis.value.name().into() });
    }
    let expands = update.as_ref().is_some_and(|update| update.value == UpdateChoice::Expanding);
    if expands {
        let starts_anew = start.as_ref().is_some_and(|start| start.value == StartVectors::Random);
        let conflicts = [
            (weights.is_some(), "weights", "bonds grow for a single state: leave one of them out"),
            (starts_anew, "start", "one-site sweeps continue from the last state: use start = \"auto\""),
        ];
        for (_, other, why) in conflicts.into_iter().filter(|(is_there, ..)| *is_there) {
            section.problem("update", Wrong::Conflict { key: "update", other, why });
        }
    }
    let least_sweeps = usize::from(mode == Mode::Finite && !written || targets > 1 || expands);
    let sweeps = section.count("sweeps", least_sweeps).map_or(20, |sweeps| sweeps.value);
    let min_states = section.count("min_states", 1);
    let above = |least: &&Placed<usize>| given.iter().flatten().any(|most| *most < least.value);
    if let Some(least) = min_states.as_ref().filter(above) {
        let (expected, found) = ("at most `states`".into(), least.value.to_string());
        section.problem("min_states", Wrong::OutOfRange { key: "min_states".into(), expected, found });
    }
    let tolerance = fraction(&section, "tolerance", false).unwrap_or(1e-11);
    let improvement = fraction(&section, "improvement", true).unwrap_or(IMPROVEMENT);
    let discarded = fraction(&section, "discarded", true).unwrap_or(0.0);
    let (noise, order) = (noise(&section), order(&section, sites));
    let options = Options {
        sweeps,
        tolerance,
        improvement,
        discarded,
        least: min_states.map_or(1, |least| least.value),
        noise,
        correlations: section.flag("correlations").unwrap_or(false),
        check: section.flag("check").unwrap_or(true),
        seed: section.count("seed", 0).map_or(1, |seed| seed.value as u64),
        mode,
        update: update.map_or(UpdateChoice::Auto, |update| update.value),
        start: start.map_or(StartVectors::Carried, |start| start.value),
        targets,
        weights,
        polish,
        text: text.map_or(TextChoice::Planned, |text| text.value),
        basis: basis.map_or(BasisChoice::Planned, |basis| basis.value),
        factor_rows: section.count("factor_rows", 0).map_or(FACTOR_ROWS, |rows| rows.value),
        states,
        ..Options::default()
    };
    let spec = DmrgSpec {
        options,
        order,
        memory: section.bytes("memory"),
        host_memory: section.bytes("host_memory"),
        scratch: section.word("scratch", "a folder").map(|word| PathBuf::from(word.value)),
        start_file,
    };
    section.finish("key", |key| {
        Some(match key.to_lowercase().as_str() {
            "bond_dim" | "bond_dimension" | "maxdim" | "max_bond_dim" | "maxm" | "chi" | "chi_max" | "m" | "d" => {
                "the states kept at most, the bond dimension, are `states`".into()
            }
            "cutoff" | "truncation" | "svd_min" | "svd_cutoff" | "trunc" | "eps" => {
                "the weight that a truncation may drop is `discarded`; `states` is the most that is kept".into()
            }
            "nsweeps" | "n_sweeps" | "max_sweeps" | "num_sweeps" => "the sweeps at most are `sweeps`".into(),
            "nstates" | "n_states" | "excited" | "roots" | "nroots" | "k" => {
                "the eigenstates wanted are `targets`".into()
            }
            "nsite" | "nsites" | "n_sites" | "num_sites" | "one_site" | "two_site" | "expansion" | "algorithm" => {
                "one site or two in the solve of a bond: `update`".into()
            }
            "mindim" | "minm" => "the states kept at least are `min_states`".into(),
            _ => return None,
        })
    });
    spec
}

/// A number below 1, positive or at least not negative.
fn fraction(section: &Section<'_>, key: &'static str, or_zero: bool) -> Option<f64> {
    let Placed { value, span: _ } = section.number(key)?;
    if !(0.0..1.0).contains(&value) || value == 0.0 && !or_zero {
        let expected = if or_zero { "from 0 to below 1" } else { "between 0 and 1, such as 1e-11" };
        section
            .problem(key, Wrong::OutOfRange { key: key.into(), expected: expected.into(), found: value.to_string() });
    }
    Some(value)
}

/// One a target; a single number is the weight of each.
fn weights(section: &Section<'_>, targets: usize) -> Option<Vec<f64>> {
    let (list, found) = match section.amount("weights")?.value {
        Amount::One(weight) => (vec![weight; targets], weight.to_string()),
        Amount::Each(list) => (list.clone(), format!("{list:?}")),
    };
    if list.len() != targets || list.iter().any(|weight| !weight.is_finite() || *weight <= 0.0) {
        let expected = format!("a positive number for each of the {targets} targets, or one for all");
        section.problem("weights", Wrong::OutOfRange { key: "weights".into(), expected, found });
    }
    Some(list)
}

fn noise(section: &Section<'_>) -> Option<Vec<f64>> {
    let list = match section.amount("noise")?.value {
        Amount::One(noise) => vec![noise],
        Amount::Each(list) => list,
    };
    if let Some(wrong) = list.iter().find(|noise| !(0.0..1.0).contains(*noise)) {
        let (expected, found) = ("from 0 to below 1, such as [1e-4, 1e-5]".into(), wrong.to_string());
        section.problem("noise", Wrong::OutOfRange { key: "noise".into(), expected, found });
    }
    Some(list)
}

/// Every site of the chain once.
fn order(section: &Section<'_>, sites: Option<SiteNumbers>) -> Option<Vec<usize>> {
    let order = section.counts("order", 0)?.value;
    let wrong = sites.and_then(|sites| Some((sites.fault(&order)?, sites)));
    if let Some((found, SiteNumbers { numbers, what })) = wrong {
        let expected = format!("each of the {} {what}s once{}", numbers.len(), range_text(&numbers));
        section.problem("order", Wrong::OutOfRange { key: "order".into(), expected, found });
    }
    Some(order)
}

impl SiteNumbers {
    /// What is wrong with an order.
    fn fault(&self, order: &[usize]) -> Option<String> {
        let mut seen = vec![false; self.numbers.len()];
        for number in order {
            match self.numbers.binary_search(number).map(|place| &mut seen[place]) {
                Err(_) => return Some(format!("{number}, which is none of them")),
                Ok(seen) if *seen => return Some(format!("{number} twice")),
                Ok(seen) => *seen = true,
            }
        }
        let missing = seen.iter().position(|seen| !seen);
        missing.map(|place| format!("a list without {}", self.numbers[place]))
    }
}

/// ", 2 to 7", or the numbers one by one; nothing of those from 0.
fn range_text(numbers: &[usize]) -> String {
    match (numbers.first(), numbers.last()) {
        (Some(0) | None, _) | (_, None) => String::new(),
        (Some(first), Some(last)) if last - first + 1 == numbers.len() => format!(", {first} to {last}"),
        _ => format!(": {}", numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}
