//! The options and the results of a solver.

use crate::device::Vector;
use crate::error::SolveError;
use crate::scalar::Scalar;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

/// A solver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Solver {
    /// Locally optimal block preconditioned conjugate gradients: fused for one state, a block for several.
    Lobpcg,
    /// Lanczos: a three-term recurrence for one state, thick restart for several.
    Lanczos,
    /// Davidson: a basis of corrections from the operator's diagonal; for diagonally dominant matrices.
    Davidson,
    /// Olsen: one state with two vectors, corrected by the operator's diagonal as in Davidson's method; for vectors that fill
    /// the memory.
    Olsen,
    /// Dense diagonalisation.
    Dense,
}

impl Solver {
    /// All of them, by their names in model files, `--solver` and reports.
    pub const WORDS: [(&'static str, Solver); 5] = [
        ("lobpcg", Solver::Lobpcg),
        ("lanczos", Solver::Lanczos),
        ("davidson", Solver::Davidson),
        ("olsen", Solver::Olsen),
        ("dense", Solver::Dense),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        word_of(&Solver::WORDS, self)
    }
}

/// The name of a value.
fn word_of<T: Copy + PartialEq>(words: &[(&'static str, T)], value: T) -> &'static str {
    words.iter().find(|(_, known)| *known == value).map_or("", |(word, _)| word)
}

/// Preconditioner of LOBPCG.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preconditioner {
    /// The unmodified residual.
    #[default]
    None,
    /// Point Jacobi: the residual over diagonal − shift; needs the operator's diagonal.
    Jacobi,
}

impl Preconditioner {
    /// Both, by their names in model files.
    pub const WORDS: [(&'static str, Preconditioner); 2] =
        [("none", Preconditioner::None), ("jacobi", Preconditioner::Jacobi)];

    /// Its name.
    pub fn name(self) -> &'static str {
        word_of(&Preconditioner::WORDS, self)
    }
}

/// Where and how often the state is saved.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckpointOptions {
    /// The folder; made if it is not there.
    pub folder: PathBuf,
    /// Seconds between two saves.
    pub every_seconds: f64,
    /// Whether to resume from the folder's last good state, if there is one.
    pub resume: bool,
    /// Identifies the problem (model, sector, operator); a checkpoint of another one is refused.
    pub identity: String,
    /// What else must be the same, by name: a checkpoint with another value is refused by that name.
    pub settings: Vec<(String, String)>,
}

/// Called with each line of progress.
pub type ProgressFn = Arc<dyn Fn(&Progress) + Send + Sync>;

/// Which eigenvalues are wanted, and in which order they come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpectrumPart {
    /// The lowest, ascending.
    #[default]
    Lowest,
    /// The highest, descending.
    Highest,
    /// Those nearest to this value of the operator, the nearest level first.
    Nearest(f64),
}

/// The options of a solver.
#[derive(Clone)]
pub struct SolveOptions {
    /// Number of eigenpairs.
    pub states: usize,
    /// Which eigenpairs of the operator.
    pub part: SpectrumPart,
    /// Tolerance on the residual norm ‖A x − λ x‖ of each unit vector x, relative to the operator's
    /// [norm](crate::LinearOperator::norm_bound): between 0 and 1.
    pub tolerance: f64,
    /// Most iterations of one search (each of certification's searches may take as many).
    pub max_iterations: usize,
    /// Extra vectors of a block; by default chosen from `states`.
    pub guard: Option<usize>,
    /// Seed of the random start.
    pub seed: u64,
    /// Where a search for one state starts.
    pub start: Start,
    /// Preconditioner of LOBPCG.
    pub preconditioner: Preconditioner,
    /// Whether to search the orthogonal complement for missed states and for the rest of their multiplets.
    pub certify: bool,
    /// Checkpoints: saving and resuming.
    pub checkpoint: Option<CheckpointOptions>,
    /// Called about four times a second and at the end of each phase.
    pub progress: Option<ProgressFn>,
    /// Limit on device memory in bytes; by default the free memory.
    pub memory_limit: Option<u64>,
    /// Most vectors that Lanczos for one state keeps, in addition to the three it needs; by default what memory allows. Fewer than 16
    /// count as none.
    /// Any number gives the same energy; fewer cost up to twice the multiplies.
    pub keep_vectors: Option<usize>,
    /// Rows above which a dense solve makes eigenvalues alone ([`Eigenpairs::vectors`] is empty); by default it makes vectors of all matrices.
    pub values_above: Option<usize>,
    /// A constant removed from the operator beforehand: added to the energies of progress lines only.
    pub taken_out: f64,
}

impl Default for SolveOptions {
    /// One state to 1e-10 of the norm, certified.
    fn default() -> SolveOptions {
        SolveOptions {
            states: 1,
            part: SpectrumPart::Lowest,
            tolerance: 1e-10,
            max_iterations: 2000,
            guard: None,
            seed: 1,
            start: Start::Guess,
            preconditioner: Preconditioner::None,
            certify: true,
            checkpoint: None,
            progress: None,
            memory_limit: None,
            keep_vectors: None,
            values_above: None,
            taken_out: 0.0,
        }
    }
}

impl SolveOptions {
    /// Refuses options that are invalid for a matrix of this dimension.
    pub fn check(&self, dimension: usize) -> Result<(), SolveError> {
        if self.states == 0 || self.states > dimension {
            return Err(SolveError::States { states: self.states, dimension });
        }
        if !(self.tolerance > 0.0 && self.tolerance < 1.0) {
            let value = format!("{:?}", self.tolerance);
            let expected = "a number between 0 and 1, a share of the norm of the operator, such as 1e-10";
            return Err(SolveError::Option { name: "tolerance", value, expected });
        }
        if self.max_iterations == 0 {
            return Err(SolveError::Option { name: "max_iterations", value: "0".into(), expected: "1 or more" });
        }
        Ok(())
    }

    /// Vectors of a block: the requested states and the guard, at most the dimension.
    pub(super) fn columns(&self, dimension: usize) -> usize {
        let guard = match (self.guard, self.states) {
            (Some(guard), _) => guard,
            (None, 1) => 0,
            // Two, and one more for every four.
            (None, states) => 2 + states / 4,
        };
        self.states.saturating_add(guard).min(dimension)
    }
}

/// Where a search for one state starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// From the operator's guess plus a small random part, if it has one; otherwise random.
    Guess,
    /// At random.
    Random,
}

impl Start {
    /// Both, by their names in model files.
    pub const WORDS: [(&'static str, Start); 2] = [("auto", Start::Guess), ("random", Start::Random)];
}

/// What the main search did start from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartUsed {
    /// From nothing: the whole matrix was diagonalised.
    #[default]
    None,
    /// From random numbers.
    Random,
    /// From the operator's guess, such as a Slater determinant, with 3 % random.
    Guess,
}

/// What a solver is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SolvePhase {
    /// Iterations of LOBPCG.
    Lobpcg,
    /// Iterations of Lanczos.
    Lanczos,
    /// The factors that make the vector of Lanczos for one state, where its basis was not kept.
    LanczosVector,
    /// Iterations of Davidson's method.
    Davidson,
    /// Iterations of Olsen's.
    Olsen,
    /// A dense diagonalisation.
    Dense,
    /// The search for missed states.
    Certify,
}

impl SolvePhase {
    /// Its name in lines of progress.
    pub fn name(self) -> &'static str {
        match self {
            SolvePhase::Lobpcg => "lobpcg",
            SolvePhase::Lanczos => "lanczos",
            SolvePhase::LanczosVector => "lanczos: vector",
            SolvePhase::Davidson => "davidson",
            SolvePhase::Olsen => "olsen",
            SolvePhase::Dense => "dense",
            SolvePhase::Certify => "certify",
        }
    }
}

/// One line of progress.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// The current phase.
    pub phase: SolvePhase,
    /// Iterations of this phase so far.
    pub iteration: usize,
    /// The lowest values so far.
    pub energies: Vec<f64>,
    /// The largest residual norm among the requested states.
    pub residual: f64,
    /// The residual norm at which they count as converged.
    pub tolerance: f64,
    /// Seconds since the solve began.
    pub elapsed: f64,
    /// Predicted seconds left, from the slope of the residual; `None` while unknown.
    pub remaining: Option<f64>,
}

/// Why a solver stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// Every residual is below the tolerance.
    Converged,
    /// The iteration limit was reached; see the residuals.
    MaxIterations,
    /// Rounding prevents further progress above the tolerance; see the residuals.
    Stagnated,
    /// The whole matrix was diagonalised.
    Dense,
}

/// A group of equal eigenvalues.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// The mean of its values.
    pub value: f64,
    /// Number of states found with this value; the true multiplicity if `complete`.
    pub multiplicity: usize,
    /// Whether a search of the orthogonal complement found no further state of this level.
    pub complete: bool,
    /// Number of them among the returned states; fewer than `multiplicity` means that k cuts the level.
    pub returned: usize,
}

/// The states found, with their certification.
#[derive(Debug)]
pub struct Eigenpairs<T: Scalar> {
    /// The k eigenvalues that were wanted, in the order of [`SpectrumPart`]: the lowest ascend.
    pub values: Vec<f64>,
    /// ‖A x − λ x‖ of each, from a recomputed product, summed in f64; of eigenvalues without vectors a bound of the distance to the
    /// spectrum.
    pub residuals: Vec<f64>,
    /// Orthonormal eigenvectors; none where [`SolveOptions::values_above`] is exceeded.
    pub vectors: Vec<Vector<T>>,
    /// The levels of these states, in the same order.
    pub levels: Vec<Level>,
    /// Further states found by certification, members of a level that k cuts; orthonormal to `vectors`.
    pub extra_vectors: Vec<Vector<T>>,
    /// Their eigenvalues.
    pub extra_values: Vec<f64>,
    /// A bound of the error of each value: its residual norm, or less where the rest of the spectrum is known to be far
    /// ([`levels`](super::levels)).
    pub errors: Vec<f64>,
    /// The upper bound of ‖A‖ that scales all thresholds.
    pub norm: f64,
    /// Residual norms up to this count as converged: the requested tolerance times the norm, or times a thousand bounds of A without
    /// its diagonal where that is less ([`LinearOperator::moving_bound`](crate::LinearOperator::moving_bound)).
    pub tolerance: f64,
    /// Why states did not converge and what would help.
    pub advice: Option<String>,
    /// Up to here (of the highest, down to here) certification expects no further eigenvalue; `None` if it does not know.
    pub next: Option<f64>,
    /// The start of the main search.
    pub start: StartUsed,
    /// Iterations in all phases.
    pub iterations: usize,
    /// Multiplies by A in all phases.
    pub multiplies: usize,
    /// Why the main search stopped.
    pub stop: StopReason,
    /// (iteration, lowest value, its residual norm) of the main search.
    pub history: Vec<(usize, f64, f64)>,
    /// Wall-clock time.
    pub seconds: f64,
    /// Remarks for the reader: a solver chosen automatically, certification skipped, and why.
    pub notes: Vec<String>,
}

impl<T: Scalar> Eigenpairs<T> {
    /// How far each value may be off: its error bound, and at least what rounding leaves.
    pub fn uncertainties(&self) -> Vec<f64> {
        /// Roundings of the norm by which values of small sectors were off, beside double doubles: up to five.
        const ROUNDINGS: f64 = 8.0;
        self.errors.iter().map(|error| error.max(ROUNDINGS * T::EPSILON * self.norm)).collect()
    }

    /// An orthonormal basis of a level, including the part that k cuts off; all of it if the level is complete.
    pub fn level_vectors(&self, level: usize) -> Vec<&Vector<T>> {
        let first: usize = self.levels.iter().take(level).map(|level| level.returned).sum();
        let Some(members) = self.levels.get(level) else { return Vec::new() };
        let own = self.vectors.iter().skip(first).take(members.returned);
        own.chain(self.extra_vectors.iter().take(members.multiplicity - members.returned)).collect()
    }

    /// An orthonormal basis of the first level: of the lowest, the ground multiplet.
    pub fn ground_multiplet(&self) -> Vec<&Vector<T>> {
        self.level_vectors(0)
    }
}
