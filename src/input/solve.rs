//! `[solve]` and `[output]`: how to solve and what to keep. Both may be left out.
//!
//! In: the sections. Out: [`SolveSpec`] and [`OutputSpec`], defaults filled in.

use super::problem::Wrong;
use super::section::{Problems, Section};
use eigenforge_runtime::solvers::{Preconditioner, SolveOptions, Solver, Start};
use eigenforge_templates::ScalarType;
use serde::Serialize;
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
    /// `states`: how many of the lowest eigenpairs; 1 unless given.
    pub states: usize,
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
}

impl SolveSpec {
    /// The least tolerance that its vectors allow.
    pub fn least_tolerance(&self) -> f64 {
        if self.precision == ScalarType::F32 { FINEST_IN_F32 } else { 0.0 }
    }

    /// As the solvers take it.
    pub(crate) fn options(&self) -> SolveOptions {
        SolveOptions {
            states: self.states,
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
            tolerance: 1e-10,
            max_iterations: 2000,
            seed: 1,
            start: Start::Guess,
            guard: None,
            preconditioner: Preconditioner::None,
            precision: ScalarType::F64,
            certify: true,
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
    let spec = SolveSpec {
        solver: section.choice("solver", &SOLVERS).map_or(default.solver, |solver| solver.value),
        states: section.count("states", 1).map_or(default.states, |states| states.value),
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
    };
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
