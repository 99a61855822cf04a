//! `[evolve]`: a start, times, what is recorded.
//!
//! docs/evolution.md has the table of its keys. In: the section. Out: [`EvolveSpec`], whose start and names are checked when model and lattice are
//! known ([`crate::evolve`]).

use super::entanglement;
use super::problem::Wrong;
use super::resolve_path;
use super::section::{Placed, Problems, Section, Source};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// An evolution in time.
#[derive(Debug, Clone, PartialEq)]
pub struct EvolveSpec {
    /// `start`.
    pub start: StartSpec,
    /// Where that is in the file.
    pub start_span: Range<usize>,
    /// `times`, the last of which is `until`.
    pub times: Vec<f64>,
    /// `tolerance`: of the state at the end.
    pub tolerance: f64,
    /// `record`: names, each with its place.
    pub record: Vec<(String, Range<usize>)>,
    /// `entropy`: the sites of each set.
    pub entropy: Vec<Vec<usize>>,
    /// `imaginary`: exp(−Ht) in place of exp(−iHt).
    pub imaginary: bool,
    /// `vector_potential`: what turns the hops.
    pub vector_potential: Option<VectorPotential>,
    /// Where that is in the file, or its section.
    pub potential_span: Range<usize>,
    /// `step`: the longest step in time of a chain; `None` for the usual one.
    pub step: Option<f64>,
    /// Where `entropy` is in the file, or its section.
    pub entropy_span: Range<usize>,
}

/// A(t) = a(t) n, which turns a hop whose displacement is d by e^(i A·d).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VectorPotential {
    /// `form`.
    pub form: PulseForm,
    /// `a0`: in units of phase on a bond of length 1 along the direction.
    pub a0: f64,
    /// `omega`: the frequency.
    pub omega: f64,
    /// `t0`: the time of the pulse's middle, or of the first zero.
    pub t0: f64,
    /// `width`: σ of the pulse.
    pub width: f64,
    /// `direction`: n.
    pub direction: [f64; 2],
}

/// a(t) as a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PulseForm {
    /// a₀ exp(−(t − t₀)² / (2 σ²)) cos(ω (t − t₀)).
    Pulse,
    /// a₀ sin(ω (t − t₀)).
    Ac,
    /// a₀ t.
    Dc,
}

impl PulseForm {
    /// Their words.
    pub const WORDS: [(&'static str, PulseForm); 3] =
        [("pulse", PulseForm::Pulse), ("ac", PulseForm::Ac), ("dc", PulseForm::Dc)];
}

/// What an evolution begins with.
#[derive(Debug, Clone, PartialEq)]
pub enum StartSpec {
    /// The sites with up electrons, or spins that are up, and those with down electrons.
    Occupied {
        /// `up`.
        up: Vec<usize>,
        /// `down`; of spins all other sites where it is left out.
        down: Option<Vec<usize>>,
    },
    /// The local state of each site by number.
    Levels(Vec<u64>),
    /// A state of another model.
    Model {
        /// Its file.
        path: PathBuf,
        /// The number of the state; without one the lowest, which must not be degenerate.
        state: Option<usize>,
    },
    /// The lowest orbitals of the one-particle part of H: its ground state without interactions.
    Orbitals,
    /// A state of a file of vectors.
    Vectors {
        /// The file.
        path: PathBuf,
        /// Its row.
        state: usize,
    },
}

impl StartSpec {
    /// A hash of the file that it names, by which another file of the same path is told apart; "none" without one.
    pub(crate) fn file_hash(&self) -> String {
        match self {
            StartSpec::Model { path, .. } | StartSpec::Vectors { path, .. } => std::fs::read(path)
                .map_or_else(|error| error.to_string(), |bytes| blake3::hash(&bytes).to_hex().to_string()),
            StartSpec::Occupied { .. } | StartSpec::Levels(_) | StartSpec::Orbitals => "none".into(),
        }
    }
}

/// What is recorded where `record` is left out.
const RECORDED: [&str; 2] = ["energy", "echo"];
/// Times at most.
const MOST_TIMES: usize = 1 << 20;
/// Times where they are left out.
const TIMES: usize = 101;
const STARTS: &str = "{ up = [0, 2], down = [1, 3] }, { levels = [0, 2, 1] }, { model = \"before.toml\" }, { orbitals = \"lowest\" } or { vectors = \"DIR/vectors.npz\" }";

/// Reads the section.
pub(super) fn read(
    section: Section<'_>,
    source: Source<'_>,
    (sites, is_chain): (usize, bool),
    problems: &Problems,
) -> Option<EvolveSpec> {
    let before = problems.len();
    section.require(
        "start",
        "the state at time 0: start = { model = \"before.toml\" }, or { up = [0, 2], down = [1, 3] }",
    );
    section.require("until", "the last time: until = 10.0");
    let start_span = section.place("start");
    let start = section.open("start").and_then(|start| read_start(start, source.folder, problems));
    let until = section.number("until").and_then(|until| positive(until, "until", "above 0, the last time", problems));
    let times = times(&section, until, problems);
    let tolerance = section.number("tolerance").map_or(Some(1e-8), |tolerance| {
        positive(tolerance, "tolerance", "above 0, the error of the state at `until`", problems)
    });
    let record = match section.words("record", "a list of names, such as [\"energy\", \"echo\"]") {
        Some(words) => words.value.into_iter().map(|word| (word.value.to_string(), word.span)).collect(),
        None => RECORDED.map(|name| (name.to_string(), section.place("record"))).to_vec(),
    };
    let step = section
        .number("step")
        .map(|step| positive(step, "step", "above 0, the longest step in time of a chain", problems));
    if !is_chain && step.is_some() {
        let expected = "left out without [dmrg]: steps of vectors are as long as `tolerance` allows".into();
        section.problem("step", Wrong::OutOfRange { key: "step".into(), expected, found: "a step".into() });
    }
    section.raw("entropy");
    let entropy_span = section.place("entropy");
    let sets = || entanglement::sets(&section, "entropy", sites, problems);
    let entropy = if section.has("entropy") { sets() } else { Some(Vec::new()) };
    let imaginary = section.flag("imaginary").unwrap_or(false);
    let potential_span = section.place("vector_potential");
    let vector_potential = section.open("vector_potential").and_then(|potential| read_potential(potential, problems));
    section.finish("key", |_| None);
    (problems.len() == before).then_some(())?;
    Some(EvolveSpec {
        start: start?,
        start_span,
        times: times?,
        tolerance: tolerance?,
        record,
        entropy: entropy?,
        imaginary,
        vector_potential,
        potential_span,
        step: step.flatten(),
        entropy_span,
    })
}

/// `{ form = …, a0 = …, … }`.
fn read_potential(potential: Section<'_>, problems: &Problems) -> Option<VectorPotential> {
    potential.require("form", "the form: form = \"pulse\", \"ac\" or \"dc\"");
    potential.require("a0", "the amplitude in units of phase a bond: a0 = 0.3");
    let form = potential.choice("form", &PulseForm::WORDS);
    let a0 = potential.number("a0");
    let is_dc = form.as_ref().is_some_and(|form| form.value == PulseForm::Dc);
    let is_pulse = form.as_ref().is_some_and(|form| form.value == PulseForm::Pulse);
    if !is_dc && form.is_some() {
        potential.require("omega", "the frequency: omega = 5.0");
    }
    if is_pulse {
        potential.require("width", "the width of the pulse: width = 0.5");
    }
    let [omega, t0] = ["omega", "t0"].map(|key| potential.number(key).map_or(0.0, |number| number.value));
    let width = potential
        .number("width")
        .map_or(Some(1.0), |width| positive(width, "width", "above 0, the width of the pulse in time", problems));
    let direction = match potential.numbers("direction") {
        None => Some([1.0, 0.0]),
        Some(list) => match list.value[..] {
            [x] => Some([x, 0.0]),
            [x, y] => Some([x, y]),
            _ => {
                let (key, found) = ("direction".into(), format!("{} numbers", list.value.len()));
                problems.add(list.span, Wrong::OutOfRange { key, expected: "x and y: [1.0, 0.0]".into(), found });
                None
            }
        },
    };
    potential.finish("key", |_| None);
    Some(VectorPotential { form: form?.value, a0: a0?.value, omega, t0, width: width?, direction: direction? })
}

fn positive(number: Placed<f64>, key: &str, expected: &str, problems: &Problems) -> Option<f64> {
    if number.value > 0.0 {
        return Some(number.value);
    }
    let (key, expected, found) = (key.into(), expected.into(), number.value.to_string());
    problems.add(number.span, Wrong::OutOfRange { key, expected, found });
    None
}

/// A count of times that are equally spaced from 0, or a list.
fn times(section: &Section<'_>, until: Option<f64>, problems: &Problems) -> Option<Vec<f64>> {
    let place = section.place("times");
    section.raw("times");
    let refuse = |expected: String, found: String| {
        problems.add(place.clone(), Wrong::OutOfRange { key: "times".into(), expected, found });
        None
    };
    if section.is_list("times") {
        let mut list = section.numbers("times")?.value;
        let until = until?;
        if list.is_empty() {
            return refuse("a time at least".into(), "an empty list".into());
        }
        if let Some(pair) = list.windows(2).find(|pair| pair[1] <= pair[0]) {
            return refuse("ascending times".into(), format!("{} after {}", pair[1], pair[0]));
        }
        if let Some(beyond) = list.iter().find(|time| **time < 0.0 || **time > until) {
            return refuse(format!("from 0 to `until`, {until}"), beyond.to_string());
        }
        if list.last().is_some_and(|last| *last < until) {
            list.push(until);
        }
        return Some(list);
    }
    let count = match section.has("times") {
        true => section.count("times", 2)?.value,
        false => TIMES,
    };
    if count > MOST_TIMES {
        return refuse(format!("at most {MOST_TIMES}"), count.to_string());
    }
    let until = until?;
    Some((0..count).map(|k| if k + 1 == count { until } else { until * k as f64 / (count - 1) as f64 }).collect())
}

fn read_start(start: Section<'_>, folder: &Path, problems: &Problems) -> Option<StartSpec> {
    let kinds =
        ["up", "levels", "model", "orbitals", "vectors"].into_iter().filter(|key| start.has(key)).collect::<Vec<_>>();
    let path = |key, expected| {
        let path = start.word(key, expected)?;
        Some(resolve_path(folder, Path::new(path.value)))
    };
    let found = match kinds[..] {
        ["up"] => {
            let up = start.counts("up", 0)?.value;
            let down = if start.has("down") { Some(start.counts("down", 0)?.value) } else { None };
            Some(StartSpec::Occupied { up, down })
        }
        ["levels"] => Some(StartSpec::Levels(start.counts("levels", 0)?.value.into_iter().map(|k| k as u64).collect())),
        ["model"] => {
            let path = path("model", "the path of a model file: model = \"before.toml\"");
            let state = if start.has("state") { Some(start.count("state", 0)?.value) } else { None };
            path.map(|path| StartSpec::Model { path, state })
        }
        ["orbitals"] => start.choice("orbitals", &[("lowest", ())]).map(|_| StartSpec::Orbitals),
        ["vectors"] => {
            let path = path("vectors", "the path of a file of vectors: vectors = \"DIR/vectors.npz\"");
            let state = start.count("state", 0).map_or(0, |state| state.value);
            path.map(|path| StartSpec::Vectors { path, state })
        }
        _ => {
            let found = if kinds.is_empty() { "none of them".into() } else { kinds.join(" and ") };
            for key in ["up", "down", "levels", "model", "orbitals", "vectors", "state"] {
                start.raw(key);
            }
            let (key, expected) = ("start".into(), format!("one of {STARTS}"));
            problems.add(start.span.clone(), Wrong::OutOfRange { key, expected, found });
            None
        }
    };
    start.finish("key", |key| match key {
        "down" => Some("`down` stands beside `up`".into()),
        "state" => Some("`state` stands beside `model` or `vectors`".into()),
        _ => None,
    });
    found
}
