//! `[spectrum]`: an operator, momenta, a window of energies.
//!
//! docs/spectra.md has the table of its keys. In: the section. Out: [`SpectrumSpec`], whose operator and momenta are checked when model and
//! lattice are known ([`crate::spectrum`]).

use super::problem::Wrong;
use super::section::{Placed, Problems, Section};
use eigenforge_runtime::solvers::Damping;
use std::ops::Range;

/// What to draw a spectrum of.
#[derive(Debug, Clone, PartialEq)]
pub struct SpectrumSpec {
    /// `of`: the name of an operator, or its text.
    pub of: String,
    /// Where that is in the file, quotes included.
    pub of_span: Range<usize>,
    /// `q`: the momenta.
    pub q: WantedMomenta,
    /// Where that is in the file, or its section.
    pub q_span: Range<usize>,
    /// Whether it was given.
    pub q_is_given: bool,
    /// `omega`: the first energy, the last, and how many.
    pub omega: (f64, f64, usize),
    /// `eta`: the half width of a pole.
    pub eta: f64,
    /// `steps`: of a chain at most.
    pub steps: usize,
    /// `method`.
    pub method: SpectrumMethod,
    /// `connected`: whether the part of A|a⟩ within the level is left out.
    pub connected: bool,
    /// `state`: the number of the level that it starts from.
    pub state: usize,
    /// Where that is in the file, or its section.
    pub state_span: Range<usize>,
    /// `average`.
    pub average: AveragedStates,
    /// `direction` of a current or of dimers, of length 1, and where it is in the file.
    pub direction: Option<([f64; 2], Range<usize>)>,
}

impl SpectrumSpec {
    /// The direction of a current or of dimers: along x unless given.
    pub fn direction(&self) -> [f64; 2] {
        self.direction.as_ref().map_or([1.0, 0.0], |(direction, _)| *direction)
    }
}

/// Momenta of a spectrum.
#[derive(Debug, Clone, PartialEq)]
pub enum WantedMomenta {
    /// All of the lattice.
    All,
    /// Those on the lines between the points of high symmetry.
    Path,
    /// These, as `k` of `[symmetry]` has them.
    List(Vec<Vec<i64>>),
}

/// How a curve is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpectrumMethod {
    /// By Lanczos chains, until the curve no longer changes.
    Lanczos,
    /// By chains that are followed to their end: all poles.
    Exact,
    /// By Chebyshev moments and the kernel that damps them.
    Kpm(Damping),
}

impl SpectrumMethod {
    /// Their words.
    pub const WORDS: [(&'static str, SpectrumMethod); 3] = [
        ("lanczos", SpectrumMethod::Lanczos),
        ("exact", SpectrumMethod::Exact),
        ("kpm", SpectrumMethod::Kpm(Damping::Jackson)),
    ];

    /// The words of `kernel`.
    pub const KERNELS: [(&'static str, Damping); 2] = [("jackson", Damping::Jackson), ("lorentz", Damping::Lorentz)];

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            SpectrumMethod::Lanczos => "lanczos",
            SpectrumMethod::Exact => "exact",
            SpectrumMethod::Kpm(_) => "kpm",
        }
    }
}

/// Which states of a level a spectrum is the average over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AveragedStates {
    /// All of its states, in every sector that symmetry says has some.
    Level,
    /// Those in the sector of the file.
    Sector,
}

impl AveragedStates {
    /// Their words.
    pub const WORDS: [(&'static str, AveragedStates); 2] =
        [("level", AveragedStates::Level), ("sector", AveragedStates::Sector)];
}

/// Points of a curve at most.
const MOST_POINTS: usize = 1 << 20;

/// Operators of a molecule.
const OF_MOLECULES: [(&str, ()); 5] =
    [("remove_up", ()), ("remove_dn", ()), ("add_up", ()), ("add_dn", ()), ("dipole", ())];
/// Keys that a molecule has not.
const OF_LATTICES: [(&str, &str); 3] = [
    ("q", "a molecule has no momenta: there is a curve for each orbital or direction"),
    ("direction", "there is a curve for each direction of the dipole, and their sum"),
    ("connected", "the dipole's curves are without the level itself, and other operators lead to other sectors"),
];

/// Reads the section of a file with `[ci]`.
pub(super) fn read_of_molecule(section: Section<'_>, problems: &Problems) -> Option<SpectrumSpec> {
    for (key, why) in OF_LATTICES.into_iter().filter(|(key, _)| section.has(key)) {
        section.problem(key, Wrong::Conflict { key, other: "ci", why });
    }
    section.choice("of", &OF_MOLECULES);
    read(section, problems)
}

/// Reads the section.
pub(super) fn read(section: Section<'_>, problems: &Problems) -> Option<SpectrumSpec> {
    let before = problems.len();
    section.require("of", "the operator: of = \"Sz\", or a text such as \"sum(i in sites; phase(i) * sz(i))\"");
    section.require("omega", "the energies of the curve: omega = { from = -1.0, to = 8.0, points = 900 }");
    let of = section.word("of", "the name of an operator, or its text: of = \"Sz\"");
    let of_current = of.as_ref().is_some_and(|of| of.value == "current");
    let omega = section.open("omega").and_then(|omega| window(omega, problems));
    let eta = section.number("eta").map_or(0.05, |eta| positive(&eta, "eta", problems));
    let (q, q_span, q_is_given) = (momenta(&section), section.place("q"), section.has("q"));
    if matches!(&q, Some(WantedMomenta::List(list)) if list.is_empty()) {
        let (key, expected) = ("q".into(), "at least one momentum, \"all\" or \"path\"".into());
        problems.add(q_span.clone(), Wrong::OutOfRange { key, expected, found: "an empty list".into() });
    }
    let spec = SpectrumSpec {
        of: of.as_ref().map_or_else(String::new, |of| of.value.into()),
        of_span: of.map_or(0..0, |of| of.span),
        q: q.unwrap_or(WantedMomenta::All),
        q_span,
        q_is_given,
        omega: omega.unwrap_or((0.0, 1.0, 2)),
        eta,
        steps: section.count("steps", 1).map_or(300, |steps| steps.value),
        method: method(&section, of_current, problems),
        connected: section.flag("connected").unwrap_or(false),
        state: section.count("state", 0).map_or(0, |state| state.value),
        state_span: section.place("state"),
        average: section.choice("average", &AveragedStates::WORDS).map_or(AveragedStates::Level, |word| word.value),
        direction: section.numbers("direction").and_then(|numbers| unit(numbers, problems)),
    };
    section.finish("key", |_| None);
    (problems.len() == before).then_some(spec)
}

/// `method`, with `kernel`.
fn method(section: &Section<'_>, of_current: bool, problems: &Problems) -> SpectrumMethod {
    let place = section.place("method");
    let method = section.choice("method", &SpectrumMethod::WORDS).map_or(SpectrumMethod::Lanczos, |word| word.value);
    let kernel = section.choice("kernel", &SpectrumMethod::KERNELS);
    match (method, kernel) {
        (SpectrumMethod::Kpm(_), _) if of_current => {
            let why = "the Drude weight is a sum over poles, which moments have not: take method = \"lanczos\"";
            problems.add(place, Wrong::Conflict { key: "method = \"kpm\"", other: "of = \"current\"", why });
            method
        }
        (SpectrumMethod::Kpm(usual), kernel) => SpectrumMethod::Kpm(kernel.map_or(usual, |kernel| kernel.value)),
        (other, None) => other,
        (other, Some(kernel)) => {
            let why = "a kernel damps the moments of method = \"kpm\": leave `kernel` out, or take this method";
            problems.add(kernel.span, Wrong::Conflict { key: "kernel", other: "method", why });
            other
        }
    }
}

fn positive(number: &Placed<f64>, key: &str, problems: &Problems) -> f64 {
    if number.value <= 0.0 {
        let (expected, found) = ("above 0, half of the width of a pole".into(), number.value.to_string());
        problems.add(number.span.clone(), Wrong::OutOfRange { key: key.into(), expected, found });
    }
    number.value
}

/// A vector of two numbers, at length 1.
fn unit(numbers: Placed<Vec<f64>>, problems: &Problems) -> Option<([f64; 2], Range<usize>)> {
    if let [x, y] = numbers.value[..] {
        let length = x.hypot(y);
        if length > 0.0 && length.is_finite() {
            return Some(([x / length, y / length], numbers.span));
        }
    }
    let (key, expected) = ("direction".into(), "a vector of two numbers, such as [1.0, 0.0]".into());
    problems.add(numbers.span, Wrong::OutOfRange { key, expected, found: format!("{:?}", numbers.value) });
    None
}

/// `{ from = …, to = …, points = … }`.
fn window(omega: Section<'_>, problems: &Problems) -> Option<(f64, f64, usize)> {
    omega.require("from", "the lowest energy: from = -1.0");
    omega.require("to", "the highest energy: to = 8.0");
    let (from, to) = (omega.number("from"), omega.number("to"));
    let (points, place) = (omega.count("points", 2), omega.place("points"));
    omega.finish("key", |_| None);
    let (from, to, points) = (from?, to?, points.map_or(401, |points| points.value));
    if !(to.value - from.value).is_finite() {
        let (key, expected) = ("omega.to".into(), "a window whose width is a number".into());
        problems.add(to.span, Wrong::OutOfRange { key, expected, found: to.value.to_string() });
        return None;
    }
    if to.value <= from.value {
        let (key, expected) = ("omega.to".into(), format!("above `from`, {}", from.value));
        problems.add(to.span, Wrong::OutOfRange { key, expected, found: to.value.to_string() });
        return None;
    }
    if points > MOST_POINTS {
        let (key, expected) = ("omega.points".into(), format!("at most {MOST_POINTS}"));
        problems.add(place, Wrong::OutOfRange { key, expected, found: points.to_string() });
        return None;
    }
    Some((from.value, to.value, points))
}

/// "all", "path", a list of numbers where k has one, or a list of lists.
fn momenta(section: &Section<'_>) -> Option<WantedMomenta> {
    if section.is_list_of_lists("q") {
        let lists = section.lists_of_counts("q")?;
        return Some(WantedMomenta::List(
            lists.into_iter().map(|list| list.value.into_iter().map(|k| k as i64).collect()).collect(),
        ));
    }
    if section.is_list("q") {
        return Some(WantedMomenta::List(section.integers("q")?.into_iter().map(|k| vec![k]).collect()));
    }
    let is_path = section.choice("q", &[("all", false), ("path", true)])?.value;
    Some(if is_path { WantedMomenta::Path } else { WantedMomenta::All })
}
