//! `[thermal]`: temperatures, an ensemble, a method.
//!
//! docs/thermal.md has the table of its keys. In: the section, and `[sector]` beside it. Out: [`ThermalSpec`], and the numbers that the ensemble
//! fixes, which are the sector of the file.

use super::model::ModelKind;
use super::problem::{InputProblem, Wrong};
use super::section::{Placed, Problems, Section};
use super::{ModelFile, sector};
use crate::operator::Charge;
use std::ops::Range;

/// What to draw thermal averages of.
#[derive(Debug, Clone, PartialEq)]
pub struct ThermalSpec {
    /// `temperatures`, ascending; k_B = 1.
    pub temperatures: Vec<f64>,
    /// `ensemble`, with `mu`.
    pub ensemble: ThermalEnsemble,
    /// `method`.
    pub method: ThermalMethod,
    /// `samples`: random vectors of a sector.
    pub samples: usize,
    /// `steps`: of a chain at most.
    pub steps: usize,
    /// `record`: names of standard averages by site or by pair, each with its place.
    pub record: Vec<(String, Range<usize>)>,
    /// `exact_below`: the most states of a sector that "auto" diagonalises whole.
    pub exact_below: usize,
    /// Where the section is in the file.
    pub span: Range<usize>,
}

/// What an ensemble sums over.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ThermalEnsemble {
    /// The states of a number of particles, of all Sz.
    Canonical,
    /// All numbers of particles too, by H − µN.
    Grand {
        /// µ.
        mu: f64,
    },
}

/// How the sectors are summed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThermalMethod {
    /// Small sectors whole, large ones by their lowest levels and random vectors.
    Auto,
    /// Every sector by random vectors, without levels that are known.
    Ftlm,
    /// Every sector by thermal pure quantum states.
    Tpq,
    /// Every sector whole.
    Exact,
}

impl ThermalMethod {
    /// Their words.
    pub const WORDS: [(&'static str, ThermalMethod); 4] = [
        ("auto", ThermalMethod::Auto),
        ("ftlm", ThermalMethod::Ftlm),
        ("tpq", ThermalMethod::Tpq),
        ("exact", ThermalMethod::Exact),
    ];
}

/// Temperatures at most.
const MOST_TEMPERATURES: usize = 10_000;

/// An example of the key that is required.
const EXAMPLE: &str = "temperatures = { from = 0.05, to = 20.0, points = 60 }, or a list: temperatures = [0.1, 0.2]";

/// Reads the section; `span` is its place.
pub(super) fn read(section: Section<'_>, span: Range<usize>, problems: &Problems) -> Option<ThermalSpec> {
    let before = problems.len();
    section.require("temperatures", EXAMPLE);
    let temperatures = temperatures(&section, problems);
    let is_grand = section.choice("ensemble", &[("canonical", false), ("grand", true)]).is_some_and(|word| word.value);
    if is_grand {
        section.require("mu", "the chemical potential: mu = 2.0");
    } else if section.has("mu") {
        let why = "the canonical ensemble has one number of particles, where mu changes nothing: leave `mu` out, or write \
                   ensemble = \"grand\"";
        section.problem("mu", Wrong::Conflict { key: "mu", other: "ensemble = \"canonical\"", why });
    }
    let mu = section.number("mu").map_or(0.0, |mu| mu.value);
    let count = |key, least, default| section.count(key, least).map_or(default, |count: Placed<usize>| count.value);
    let named = section.words("record", "a list of names, such as [\"sz\", \"szsz\"]");
    let record = named
        .map_or(Vec::new(), |named| named.value.into_iter().map(|name| (name.value.to_string(), name.span)).collect());
    let spec = ThermalSpec {
        record,
        temperatures: temperatures.unwrap_or_default(),
        ensemble: if is_grand { ThermalEnsemble::Grand { mu } } else { ThermalEnsemble::Canonical },
        method: section.choice("method", &ThermalMethod::WORDS).map_or(ThermalMethod::Auto, |method| method.value),
        samples: count("samples", 2, 20),
        steps: count("steps", 2, 100),
        exact_below: count("exact_below", 1, 500),
        span,
    };
    section.finish("key", |_| None);
    (problems.len() == before).then_some(spec)
}

/// A list, or `{ from = …, to = …, points = …, spacing = … }`.
fn temperatures(section: &Section<'_>, problems: &Problems) -> Option<Vec<f64>> {
    let refused = |span, key: &str, expected: &str, found: String| {
        let (key, expected) = (key.to_string(), expected.to_string());
        problems.add(span, Wrong::OutOfRange { key, expected, found });
        None
    };
    let above = "above 0, in the units of energy of the model (k_B = 1)";
    if !section.is_table("temperatures") {
        let list = section.numbers("temperatures")?;
        if list.value.is_empty() {
            return refused(list.span, "temperatures", "at least one temperature", "an empty list".into());
        }
        if let Some(bad) = list.value.iter().find(|temperature| **temperature <= 0.0) {
            return refused(list.span, "temperatures", above, bad.to_string());
        }
        let mut sorted = list.value;
        sorted.sort_by(f64::total_cmp);
        sorted.dedup();
        return Some(sorted);
    }
    let range = section.open("temperatures")?;
    range.require("from", "the lowest temperature: from = 0.05");
    range.require("to", "the highest temperature: to = 20.0");
    let (from, to) = (range.number("from"), range.number("to"));
    let (points, place) = (range.count("points", 2), range.place("points"));
    let is_log = range.choice("spacing", &[("log", true), ("linear", false)]).is_none_or(|word| word.value);
    range.finish("key", |_| None);
    let (from, to, points) = (from?, to?, points.map_or(60, |points| points.value));
    if from.value <= 0.0 {
        return refused(from.span, "temperatures.from", above, from.value.to_string());
    }
    if to.value <= from.value {
        let expected = format!("above `from`, {}", from.value);
        return refused(to.span, "temperatures.to", &expected, to.value.to_string());
    }
    if points > MOST_TEMPERATURES {
        let expected = format!("at most {MOST_TEMPERATURES}");
        return refused(place, "temperatures.points", &expected, points.to_string());
    }
    let part = |point: usize| point as f64 / (points - 1) as f64;
    let (low, high) = (from.value, to.value);
    let of_point = |point: usize| match point {
        // The ends are those of the file to the last digit.
        0 => low,
        last if last + 1 == points => high,
        _ if is_log => (low.ln() + (high.ln() - low.ln()) * part(point)).exp(),
        _ => low + (high - low) * part(point),
    };
    Some((0..points).map(of_point).collect())
}

/// `[sector]` beside `[thermal]`: the numbers that the ensemble fixes.
pub(super) fn read_sector(
    section: Section<'_>,
    family: ModelKind,
    ensemble: Option<ThermalEnsemble>,
) -> Option<sector::Draft> {
    if section.has("two_sz") {
        let why = "an ensemble has the states of all Sz (in one alone χ is zero): leave `two_sz` out of [sector]";
        section.problem("two_sz", Wrong::Conflict { key: "two_sz", other: "thermal", why });
    }
    if let Some(ThermalEnsemble::Grand { .. }) = ensemble {
        let why = "the grand ensemble has the states of all numbers of particles: leave this out of [sector], or write ensemble = \
                   \"canonical\"";
        for key in ["up", "down", "flavours", "particles"].into_iter().filter(|key| section.has(key)) {
            section.problem(key, Wrong::Conflict { key, other: "ensemble = \"grand\"", why });
        }
    }
    let both = "the number of electrons of both spins: particles = 8 (or `up` and `down`, whose sum is meant)";
    if section.has("up") != section.has("down") {
        section.require("particles", both);
    }
    let (up, down) = (section.has("up"), section.has("down"));
    if up && section.has("particles") {
        let why = "both give the number of particles: leave `up` and `down` out";
        section.problem("particles", Wrong::Conflict { key: "particles", other: "up", why });
    }
    if family == ModelKind::Hubbard && up && down {
        let (up, down) = (section.count("up", 0), section.count("down", 0));
        section.finish("key", |_| None);
        return up.zip(down).map(|(up, down)| sector::Draft::Fermions { up, down });
    }
    let charges = sector::charges(&section);
    section.finish("key", |_| None);
    Some(sector::Draft::Charges { charges, named: Vec::new() })
}

impl ModelFile {
    /// The charges that the file's ensemble fixes: numbers of particles of all spins and flavours together.
    pub(crate) fn ensemble_charges(&self) -> Vec<(Charge, i64)> {
        let is_part =
            |charge: &Charge| matches!(charge, Charge::Up | Charge::Down | Charge::Flavour(_) | Charge::Particles);
        let (parts, mut others): (Vec<_>, Vec<_>) =
            self.exact_charges().into_iter().partition(|(charge, _)| is_part(charge));
        if !parts.is_empty() {
            others.insert(0, (Charge::Particles, parts.iter().map(|(_, number)| number).sum()));
        }
        others
    }

    /// What an ensemble of the file's model lacks.
    pub(super) fn check_ensemble(&self, spec: &ThermalSpec) -> Result<(), InputProblem> {
        let fixed = self.ensemble_charges();
        let operator = self.declared_operator();
        let kinds = operator.kinds_or_implied();
        let kept = operator.conserved_on(&kinds);
        let has =
            |charge: Charge| kinds.iter().any(|kind| kind.states().any(|state| kind.charge(charge, 0, state) != 0));
        let number = if has(Charge::Particles) { Charge::Particles } else { Charge::Bosons };
        let refused = |key: &str, expected: &str, found: &str| InputProblem {
            what: Wrong::OutOfRange { key: key.into(), expected: expected.into(), found: found.into() },
            span: spec.span.clone(),
        };
        let is_fixed = |charge: Charge| fixed.iter().any(|(own, _)| *own == charge);
        let key = if number == Charge::Particles { "particles" } else { "bosons" };
        match spec.ensemble {
            ThermalEnsemble::Grand { .. } if !has(number) => {
                Err(refused("ensemble", "\"canonical\": no site of this model has particles", "\"grand\""))
            }
            ThermalEnsemble::Grand { .. } if !kept.contains(&number) => Err(refused(
                "ensemble",
                "\"canonical\", with the chemical potential as a term of H, since H does not conserve the number of particles",
                "\"grand\"",
            )),
            ThermalEnsemble::Grand { .. } if is_fixed(number) => {
                Err(refused(key, "left out: the grand ensemble has the states of all numbers", "a number in [sector]"))
            }
            ThermalEnsemble::Canonical if kept.contains(&number) && !is_fixed(number) => {
                let expected = format!("a number in [sector], such as {key} = 4, or ensemble = \"grand\" in [thermal]");
                Err(refused(key, &expected, "none"))
            }
            _ if number == Charge::Particles && kept.contains(&Charge::Bosons) && !is_fixed(Charge::Bosons) => {
                Err(refused("bosons", "a number in [sector], since H conserves it: bosons = 4", "none"))
            }
            _ => Ok(()),
        }
    }
}
