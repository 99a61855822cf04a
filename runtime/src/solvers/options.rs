//! What a solver is asked for and what it gives back.

use crate::device::Vector;
use crate::error::SolveError;
use crate::scalar::Scalar;
use std::path::PathBuf;
use std::sync::Arc;

/// Which solver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Solver {
    /// Locally optimal block preconditioned conjugate gradients: fused for one state, a block for several.
    Lobpcg,
    /// Lanczos: a three-term recurrence for one state, thick restart for several.
    Lanczos,
    /// Davidson: a basis of corrections that the operator's diagonal makes; for matrices that it dominates.
    Davidson,
    /// The whole matrix on the host.
    Dense,
}

impl Solver {
    /// All of them, by the words of a model file, of `--solver` and of reports.
    pub const WORDS: [(&'static str, Solver); 4] = [
        ("lobpcg", Solver::Lobpcg),
        ("lanczos", Solver::Lanczos),
        ("davidson", Solver::Davidson),
        ("dense", Solver::Dense),
    ];

    /// Its word.
    pub fn name(self) -> &'static str {
        word_of(&Solver::WORDS, self)
    }
}

/// The word of a value.
fn word_of<T: Copy + PartialEq>(words: &[(&'static str, T)], value: T) -> &'static str {
    words.iter().find(|(_, known)| *known == value).map_or("", |(word, _)| word)
}

/// Preconditioner of LOBPCG.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preconditioner {
    /// The residual as it is.
    #[default]
    None,
    /// Point Jacobi: the residual over diagonal − shift; needs the operator's diagonal.
    Jacobi,
}

impl Preconditioner {
    /// Both, by the words of a model file.
    pub const WORDS: [(&'static str, Preconditioner); 2] =
        [("none", Preconditioner::None), ("jacobi", Preconditioner::Jacobi)];

    /// Its word.
    pub fn name(self) -> &'static str {
        word_of(&Preconditioner::WORDS, self)
    }
}

/// Where and how often the state is saved.
#[derive(Clone, Debug)]
pub struct CheckpointOptions {
    /// The folder; made if it is not there.
    pub folder: PathBuf,
    /// Seconds between two saves.
    pub every_seconds: f64,
    /// Go on from the folder's last good state, if there is one.
    pub resume: bool,
    /// What makes this problem this problem (model, sector, operator); a checkpoint of another one is refused.
    pub identity: String,
}

/// Called with each line of progress.
pub type ProgressFn = Arc<dyn Fn(&Progress) + Send + Sync>;

/// What a solver is asked for.
#[derive(Clone)]
pub struct SolveOptions {
    /// How many of the lowest eigenpairs.
    pub states: usize,
    /// On the residual norm ‖A x − λ x‖ of each unit vector x, in parts of the operator's
    /// [norm](crate::LinearOperator::norm_bound): between 0 and 1.
    pub tolerance: f64,
    /// Iterations of one search (certification's searches each have as many).
    pub max_iterations: usize,
    /// Extra vectors of a block; by default chosen from `states`.
    pub guard: Option<usize>,
    /// Of the random start.
    pub seed: u64,
    /// Where a search for one state starts.
    pub start: Start,
    /// Of LOBPCG.
    pub preconditioner: Preconditioner,
    /// Search what is orthogonal to the states found for missed ones and for the rest of their multiplets.
    pub certify: bool,
    /// Save and resume.
    pub checkpoint: Option<CheckpointOptions>,
    /// Called about four times a second and at the end of each phase.
    pub progress: Option<ProgressFn>,
    /// Bytes of device memory that may be used; by default what is free.
    pub memory_limit: Option<u64>,
    /// Vectors that Lanczos for one state keeps at most, beside the four it needs; by default what memory allows. Any
    /// number gives the same energy; fewer cost up to twice the multiplies.
    pub keep_vectors: Option<usize>,
    /// A constant that was taken out of the operator beforehand: added to the energies of progress lines, and to nothing else.
    pub taken_out: f64,
}

impl Default for SolveOptions {
    /// One state to 1e-10 of the norm, certified.
    fn default() -> SolveOptions {
        SolveOptions {
            states: 1,
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
            taken_out: 0.0,
        }
    }
}

impl SolveOptions {
    /// Refuses what makes no sense for a matrix of this dimension.
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

    /// Vectors of a block: the states asked for and the guard, no more than there are dimensions.
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
    /// From the operator's guess with a small random part, if it has one; else at random.
    Guess,
    /// At random.
    Random,
}

impl Start {
    /// Both, by the words of a model file.
    pub const WORDS: [(&'static str, Start); 2] = [("auto", Start::Guess), ("random", Start::Random)];
}

/// One line of progress.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// What is going on, such as `lobpcg` or `certify`.
    pub phase: &'static str,
    /// Iterations of this phase so far.
    pub iteration: usize,
    /// The lowest values so far.
    pub energies: Vec<f64>,
    /// The largest residual norm among the states asked for.
    pub residual: f64,
    /// The residual norm at which they have converged.
    pub tolerance: f64,
    /// Seconds since the solve began.
    pub elapsed: f64,
    /// Seconds left, from the slope of the residual; `None` while there is none.
    pub remaining: Option<f64>,
}

/// Why a solver stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// Every residual is below the tolerance.
    Converged,
    /// Out of iterations; the residuals say how far it came.
    MaxIterations,
    /// Rounding stops further progress above the tolerance; the residuals say where.
    Stagnated,
    /// The whole matrix was diagonalised on the host.
    Dense,
}

/// A group of equal eigenvalues.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// The mean of its values.
    pub value: f64,
    /// How many states with this value were found; the true number if `complete`.
    pub multiplicity: usize,
    /// Whether a search of everything orthogonal found no further state of this level.
    pub complete: bool,
    /// How many of them are among the states returned; fewer than `multiplicity` means k cuts the level.
    pub returned: usize,
}

/// The states found, with what is needed to trust them.
#[derive(Debug)]
pub struct Eigenpairs<T: Scalar> {
    /// The k lowest eigenvalues, ascending.
    pub values: Vec<f64>,
    /// ‖A x − λ x‖ of each, from a fresh multiply, summed in f64.
    pub residuals: Vec<f64>,
    /// Orthonormal eigenvectors.
    pub vectors: Vec<Vector<T>>,
    /// The levels that hold these states, ascending.
    pub levels: Vec<Level>,
    /// Further states that certification found, members of a level that k cuts; orthonormal to `vectors`.
    pub extra_vectors: Vec<Vector<T>>,
    /// Their eigenvalues.
    pub extra_values: Vec<f64>,
    /// Two values closer than this are one level.
    pub degeneracy_tolerance: f64,
    /// The upper bound of ‖A‖ that all thresholds are shares of.
    pub norm: f64,
    /// Residual norms up to this have converged: the tolerance asked for, times the norm.
    pub tolerance: f64,
    /// The lowest value that was met above all of these, where the search for missed states ended at one.
    pub next: Option<f64>,
    /// What the main search began with: "random", "guess" (the operator's, with 3 % random), or "none" of a dense solve.
    pub start: &'static str,
    /// Iterations in all phases.
    pub iterations: usize,
    /// Multiplies by A in all phases.
    pub multiplies: usize,
    /// Why the main search stopped.
    pub stop: StopReason,
    /// (iteration, lowest value, its residual norm) of the main search.
    pub history: Vec<(usize, f64, f64)>,
    /// Wall clock.
    pub seconds: f64,
    /// Anything a reader should know: a solver chosen automatically, certification skipped, and why.
    pub notes: Vec<String>,
}

impl<T: Scalar> Eigenpairs<T> {
    /// How far each value may be off: its residual norm r, or r² over the distance to the next level where that is known
    /// and smaller (Kato 1949; Temple 1928), and rounding.
    pub fn uncertainties(&self) -> Vec<f64> {
        let certified = self.levels.iter().all(|level| level.complete);
        let of = |(value, residual): (&f64, &f64)| {
            let apart = |other: &f64| (other - value).abs();
            let others = self.values.iter().chain(&self.extra_values).map(apart);
            // Half the way to the next value is what its own residual norm allows at the least.
            let gap = others.filter(|apart| *apart > self.degeneracy_tolerance);
            let gap = gap.chain(self.next.map(|next| 0.5 * apart(&next))).fold(f64::INFINITY, f64::min);
            let gap = if gap.is_finite() { gap } else { self.degeneracy_tolerance };
            let second_order = if certified && gap > 0.0 { residual * residual / gap } else { f64::INFINITY };
            residual.min(second_order).max(f64::EPSILON * self.norm)
        };
        self.values.iter().zip(&self.residuals).map(of).collect()
    }

    /// An orthonormal basis of the lowest level, also of the part that k cuts off; complete if `levels[0].complete`.
    pub fn ground_multiplet(&self) -> Vec<&Vector<T>> {
        let limit = self.values.first().map_or(f64::NAN, |ground| ground + self.degeneracy_tolerance);
        let own = self.values.iter().zip(&self.vectors);
        let all = own.chain(self.extra_values.iter().zip(&self.extra_vectors));
        all.filter(|(value, _)| **value <= limit).map(|(_, vector)| vector).collect()
    }
}
