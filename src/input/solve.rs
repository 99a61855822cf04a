//! `[solve]` and `[output]`: how to solve and what to keep. Both may be left out.
//!
//! In: the sections. Out: [`SolveSpec`] and [`OutputSpec`], defaults filled in.

use super::problem::Wrong;
use super::section::{Problems, Section};
use crate::operator::MatrixStorage;
use eigenforge_runtime::solvers::{Preconditioner, SolveOptions, Solver, SpectrumPart, Start};
use eigenforge_templates::ScalarType;
use serde::Serialize;
use std::ops::Range;
use std::path::PathBuf;

/// The words of `solver` in a model file and of `--solver`; `None` is "auto", which chooses by dimension and number of states.
pub const SOLVERS: [(&str, Option<Solver>); 1 + Solver::WORDS.len()] = {
    let mut words = [("auto", None); 1 + Solver::WORDS.len()];
    let mut k = 0;
    while k < Solver::WORDS.len() {
        words[k + 1] = (Solver::WORDS[k].0, Some(Solver::WORDS[k].1));
        k += 1;
    }
    words
};

/// The words of `which`.
const PARTS: [(&str, SpectrumPart); 2] = [("lowest", SpectrumPart::Lowest), ("highest", SpectrumPart::Highest)];

/// The word of `states` for all of them.
pub const ALL_STATES: &str = "all";

/// The words of `precision`.
pub(super) const PRECISIONS: [(&str, ScalarType); 2] = [("f64", ScalarType::F64), ("f32", ScalarType::F32)];

/// The least `tolerance` that vectors of f32 allow, and the one they have unless given.
pub(super) const FINEST_IN_F32: f64 = 1e-6;
const USUAL_IN_F32: f64 = 1e-5;

/// How to solve. [`SolveSpec::default`] holds every default.
#[derive(Debug, Clone, PartialEq)]
pub struct SolveSpec {
    /// `solver`; none for "auto", which it is unless given.
    pub solver: Option<Solver>,
    /// `states`: how many eigenpairs; 1 unless given. Of "all" it is 1 until the dimension is known.
    pub states: usize,
    /// `states = "all"`: all states of the sector, by dense diagonalisation.
    pub all: bool,
    /// `which`, or `near`: the lowest eigenpairs unless given, the highest, or those nearest to an energy.
    pub part: SpectrumPart,
    /// `tolerance` on the residual norm ‖Hx − λx‖, in parts of the norm of H; 1e-10 unless given.
    pub tolerance: f64,
    /// `max_iterations`: 2000 unless given.
    pub max_iterations: usize,
    /// `seed` of the random start vectors: 1 unless given.
    pub seed: u64,
    /// `start` of a search for one state: "auto", a guess, unless given.
    pub start: Start,
    /// `guard`: extra vectors of a block that need not converge; chosen by the solver unless given.
    pub guard: Option<usize>,
    /// `preconditioner`: "none" unless given (Jacobi pays where the diagonal varies strongly, such as U much above t).
    pub preconditioner: Preconditioner,
    /// `precision` of the vectors, "f64" unless given; "f32" takes half the memory, for lattice models. Its `tolerance` is 1e-5
    /// unless given, and at least 1e-6.
    pub precision: ScalarType,
    /// `certify`: look for missed members of each level's multiplet afterwards; true unless given.
    pub certify: bool,
    /// `storage`: how H is multiplied, if it is given here, in `[symmetry]` or in `[ci]`.
    pub storage: Option<MatrixStorage>,
}

impl SolveSpec {
    /// The least tolerance that its vectors allow.
    pub fn least_tolerance(&self) -> f64 {
        if self.precision == ScalarType::F32 { FINEST_IN_F32 } else { 0.0 }
    }

    /// How H is multiplied; "auto" unless given.
    pub(crate) fn storage(&self) -> MatrixStorage {
        self.storage.unwrap_or_default()
    }

    /// Takes the word of another section too, which must be the same.
    pub(super) fn share_storage(
        &mut self,
        (other, word): (&'static str, Option<MatrixStorage>),
        place: Range<usize>,
        problems: &Problems,
    ) {
        if word.is_some_and(|word| self.storage.is_some_and(|own| own != word)) {
            let why = "the other section has another word for how H is multiplied: give it once";
            problems.add(place, Wrong::Conflict { key: "storage", other, why });
        }
        self.storage = self.storage.or(word);
    }

    /// As the solvers take it.
    pub(crate) fn options(&self) -> SolveOptions {
        SolveOptions {
            states: self.states,
            part: self.part,
            tolerance: self.tolerance,
            max_iterations: self.max_iterations,
            guard: self.guard,
            seed: self.seed,
            start: self.start,
            preconditioner: self.preconditioner,
            certify: self.certify,
            ..SolveOptions::default()
        }
    }

    /// What it asks of the solver that it names and that this one has not, as warnings.
    pub(crate) fn without_effect(&self) -> Vec<String> {
        let Some(solver) = self.solver else { return Vec::new() };
        let name = solver.name();
        let has_block = matches!(solver, Solver::Lobpcg | Solver::Davidson);
        let guard = (self.guard.is_some() && !has_block)
            .then(|| format!("`guard` has no effect: {name} has no block of vectors; lobpcg and davidson have"));
        let preconditioned = self.preconditioner != Preconditioner::None && solver != Solver::Lobpcg;
        let preconditioner =
            preconditioned.then(|| format!("`preconditioner` has no effect on the search by {name}; lobpcg takes it"));
        guard.into_iter().chain(preconditioner).collect()
    }

    /// Takes the number of all states of a sector, where the file wants all: dense diagonalisation finds them.
    pub(crate) fn resolve(&mut self, dimension: u64) {
        if self.all {
            self.states = usize::try_from(dimension).unwrap_or(usize::MAX);
            self.solver.get_or_insert(Solver::Dense);
        }
    }

    /// Why its solver does not find what it wants, with the key and what it is refused beside.
    fn refusal(&self) -> Option<(&'static str, &'static str, &'static str)> {
        let solver = self.solver?;
        let is_near = matches!(self.part, SpectrumPart::Nearest(_));
        match solver {
            Solver::Dense => None,
            _ if self.all => Some((
                "states",
                "solver",
                "all states take the whole spectrum: solver = \"dense\", or leave `solver` out",
            )),
            Solver::Davidson | Solver::Olsen if is_near => Some((
                "near",
                "solver",
                "the states nearest to an energy are found by \"lanczos\", \"lobpcg\" or \"dense\"",
            )),
            _ => None,
        }
    }

    /// Refuses, for a command line that changed it, a solver that does not find what is wanted.
    ///
    /// # Errors
    /// The reason, in words.
    pub fn check_solver(&self) -> Result<(), String> {
        self.refusal()
            .map_or(Ok(()), |(key, _, why)| Err(format!("`{key}` and solver \"{}\": {why}", self.solver_name())))
    }

    /// "1 state", "the 3 highest states", "all states", "the 3 states nearest to 0.3": what is looked for.
    pub(crate) fn states_text(&self) -> String {
        let many = |states: usize| if states == 1 { "1 state".into() } else { format!("{states} states") };
        match (self.all, self.part) {
            (true, SpectrumPart::Lowest) => "all states".into(),
            (true, SpectrumPart::Highest) => "all states, from the highest".into(),
            (true, SpectrumPart::Nearest(energy)) => format!("all states, from the nearest to {energy}"),
            (false, SpectrumPart::Lowest) => many(self.states),
            (false, SpectrumPart::Highest) => format!("{} from the highest", many(self.states)),
            (false, SpectrumPart::Nearest(energy)) => format!("{} nearest to {energy}", many(self.states)),
        }
    }

    /// The key that wants other states than some of the lowest, if there is one.
    pub(super) fn unusual_key(&self) -> Option<&'static str> {
        match self.part {
            SpectrumPart::Highest => Some("which"),
            SpectrumPart::Nearest(_) => Some("near"),
            SpectrumPart::Lowest => self.all.then_some("states"),
        }
    }

    /// The word of its solver.
    pub fn solver_name(&self) -> &'static str {
        self.solver.map_or("auto", Solver::name)
    }
}

impl Default for SolveSpec {
    fn default() -> SolveSpec {
        SolveSpec {
            solver: None,
            states: 1,
            all: false,
            part: SpectrumPart::Lowest,
            tolerance: 1e-10,
            max_iterations: 2000,
            seed: 1,
            start: Start::Guess,
            guard: None,
            preconditioner: Preconditioner::None,
            precision: ScalarType::F64,
            certify: true,
            storage: None,
        }
    }
}

/// What to write in addition to the printed summary.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct OutputSpec {
    /// `folder` for report.json and convergence.svg: nothing is written unless it is given here or by `--output`.
    pub folder: Option<PathBuf>,
    /// `vectors`: also write vectors.npz; false unless given.
    pub vectors: bool,
}

/// Reads `[solve]`.
pub(super) fn read(section: Section<'_>, problems: &Problems) -> SolveSpec {
    let default = SolveSpec::default();
    let precision = section.choice("precision", &PRECISIONS).map_or(default.precision, |precision| precision.value);
    let (least, usual, expected) = match precision {
        ScalarType::F64 => (0.0, default.tolerance, "between 0 and 1, a share of the norm of H, such as 1e-10"),
        ScalarType::F32 => (FINEST_IN_F32, USUAL_IN_F32, "between 1e-6, the least that vectors of f32 allow, and 1"),
    };
    let tolerance = section.number("tolerance").map_or(usual, |tolerance| {
        if tolerance.value <= 0.0 || tolerance.value < least || tolerance.value >= 1.0 {
            let (key, found) = ("tolerance".into(), tolerance.value.to_string());
            problems.add(tolerance.span, Wrong::OutOfRange { key, expected: expected.into(), found });
        }
        tolerance.value
    });
    let all = section.is_word("states") && section.choice("states", &[(ALL_STATES, ())]).is_some();
    let states = if section.is_word("states") { None } else { section.count("states", 1) };
    let which = section.choice("which", &PARTS).map(|part| part.value);
    let near = section.number("near").map(|energy| SpectrumPart::Nearest(energy.value));
    if which.is_some() && near.is_some() {
        let why = "`which` is one end of the spectrum, and `near` an energy anywhere in it: leave one of them out";
        section.problem("near", Wrong::Conflict { key: "near", other: "which", why });
    }
    if near.is_some() && precision == ScalarType::F32 {
        let why = "the states nearest to an energy need vectors of f64: leave `precision` out";
        section.problem("near", Wrong::Conflict { key: "near", other: "precision", why });
    }
    let spec = SolveSpec {
        all,
        part: near.or(which).unwrap_or(default.part),
        solver: section.choice("solver", &SOLVERS).map_or(default.solver, |solver| solver.value),
        states: states.map_or(default.states, |states| states.value),
        tolerance,
        max_iterations: section.count("max_iterations", 1).map_or(default.max_iterations, |number| number.value),
        seed: section.count("seed", 0).map_or(default.seed, |seed| seed.value as u64),
        start: section.choice("start", &Start::WORDS).map_or(default.start, |start| start.value),
        guard: section.count("guard", 0).map(|guard| guard.value),
        preconditioner: section
            .choice("preconditioner", &Preconditioner::WORDS)
            .map_or(default.preconditioner, |choice| choice.value),
        precision,
        certify: section.flag("certify").unwrap_or(default.certify),
        storage: section.choice("storage", &MatrixStorage::WORDS).map(|word| word.value),
    };
    if let Some((key, other, why)) = spec.refusal() {
        section.problem(key, Wrong::Conflict { key, other, why });
    }
    section.finish("key", |_| None);
    spec
}

/// Reads `[output]`.
pub(super) fn read_output(section: Section<'_>) -> OutputSpec {
    let folder = section.word("folder", "the path of a folder, in quotes").map(|path| PathBuf::from(path.value));
    let vectors = section.flag("vectors").unwrap_or(false);
    section.finish("key", |_| None);
    OutputSpec { folder, vectors }
}
