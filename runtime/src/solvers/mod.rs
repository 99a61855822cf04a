//! Eigensolvers for the lowest states of a real symmetric operator, written once over [`crate::Device`]. The highest are the lowest of −A, and
//! those nearest to a value the lowest of a filter (`highest`, `nearest`).
//!
//! [`solve`] runs one of them and then certifies: true residuals, missed states, complete levels. Every threshold is a
//! fraction of ‖A‖ ([`LinearOperator::norm_bound`]), so the unit of A does not matter. The solvers are in `lobpcg` (one
//! state, fused), `block` (several), `lanczos/`, `davidson/`, `olsen` (two vectors) and `dense`; `algebra` has their block operations as vector
//! programs, `checkpoint` their state on disk.

mod advice;
mod ahead;
mod algebra;
mod block;
mod certify;
mod chebyshev;
mod checkpoint;
mod course;
mod davidson;
mod dense;
mod filter;
mod highest;
mod lanczos;
pub mod lean;
pub mod levels;
mod lobpcg;
mod nearest;
mod olsen;
mod options;
mod orthonormal;
mod rehearsal;
mod ritz;
mod run;
mod start;

pub use ahead::{common_texts, compile_ahead};
pub use chebyshev::{ChebyshevMoments, Damping, chebyshev_moments};
pub use course::{Course, rehearse_course};
pub use lanczos::{
    BoundedStep, EvolutionOptions, EvolutionSteps, EvolutionVisitor, EvolvedState, KrylovChain, OperatorCombination,
    RitzLine, SmallExponential, TimeAxis, TimeCoefficients, evolve, evolve_driven, hides_between, krylov_chain,
    krylov_vectors, longest_step,
};
pub use options::{
    CheckpointOptions, Eigenpairs, Level, Preconditioner, Progress, ProgressFn, SolveOptions, SolvePhase, Solver,
    SpectrumPart, Start, StartUsed, StopReason,
};
pub use rehearsal::{EVERY_SIZE, LaunchedProgram, MatrixOutline, block_operations, rehearse};
pub use run::room_for_vectors;

use crate::device::Device;
use crate::error::SolveError;
use crate::operator::LinearOperator;
use crate::scalar::{PerScalar, Scalar};
use crate::trace;
use checkpoint::{Owner, Saver, Settings};
use eigenforge_templates::ScalarType;
use eigenforge_templates::vector_program::VectorProgram;
use run::Run;

/// A solve for vectors of one type.
type SolveFn<T> = fn(&dyn LinearOperator<T>, Solver, &SolveOptions) -> Result<Eigenpairs<T>, SolveError>;

struct SolveOfType;

impl PerScalar for SolveOfType {
    type Of<T: Scalar> = SolveFn<T>;
}

/// The `options.states` lowest eigenpairs of `operator`, or those of another part of its spectrum, with true residuals and multiplicities.
pub fn solve<T: Scalar>(
    operator: &dyn LinearOperator<T>,
    solver: Solver,
    options: &SolveOptions,
) -> Result<Eigenpairs<T>, SolveError> {
    T::choose::<SolveOfType>(solve_f64, solve_f32)(operator, solver, options)
}

// The solvers are compiled here, once for each type, and not again in every crate that calls them.
fn solve_f64(
    operator: &dyn LinearOperator<f64>,
    solver: Solver,
    options: &SolveOptions,
) -> Result<Eigenpairs<f64>, SolveError> {
    solve_typed(operator, solver, options)
}

fn solve_f32(
    operator: &dyn LinearOperator<f32>,
    solver: Solver,
    options: &SolveOptions,
) -> Result<Eigenpairs<f32>, SolveError> {
    solve_typed(operator, solver, options)
}

fn solve_typed<T: Scalar>(
    operator: &dyn LinearOperator<T>,
    solver: Solver,
    options: &SolveOptions,
) -> Result<Eigenpairs<T>, SolveError> {
    match options.part {
        SpectrumPart::Lowest => solve_lowest(operator, solver, options),
        SpectrumPart::Highest => highest::solve(operator, solver, options),
        SpectrumPart::Nearest(value) => nearest::solve(operator, solver, options, value),
    }
}

/// The lowest states; by dense diagonalisation those of any part.
fn solve_lowest<T: Scalar>(
    operator: &dyn LinearOperator<T>,
    solver: Solver,
    options: &SolveOptions,
) -> Result<Eigenpairs<T>, SolveError> {
    let n = operator.dimension();
    options.check(n)?;
    let run = Run::new(operator, options);
    if !run.norm.is_finite() {
        return Err(SolveError::NotFinite { value: run.norm, iteration: 0 });
    }
    let range = norms(T::TYPE);
    if solver != Solver::Dense && run.norm > 0.0 && !(range[0]..=range[1]).contains(&run.norm) {
        return Err(SolveError::Scale { norm: run.norm, scalar: T::TYPE.cuda(), range });
    }
    let owner = Owner {
        solver: solver.name(),
        dimension: n,
        states: options.states,
        scalar: T::TYPE.cuda(),
        settings: Settings::new(solver, options),
    };
    let mut saver = Saver::open(options.checkpoint.as_ref(), &owner, operator.device())?;
    let main = match (solver, options.columns(n)) {
        (Solver::Dense, _) => return dense::solve(&run, operator, &mut saver),
        (Solver::Lanczos, _) => lanczos::search(&run, operator, &mut saver)?,
        (Solver::Davidson, _) => davidson::search(&run, operator, davidson::Goal::States, &mut saver)?,
        (Solver::Olsen, _) => olsen::search(&run, operator, &mut saver)?,
        (_, 1) => {
            run.plan_memory(operator, "LOBPCG", lobpcg::VECTORS, "; Lanczos needs 3")?;
            let start = start::first(&run, operator)?;
            let search =
                lobpcg::Search { preconditioner: options.preconditioner, max_iterations: options.max_iterations };
            lobpcg::search(&run, operator, start, &search, &mut saver)?
        }
        (_, columns) => {
            run.plan_memory(
                operator,
                "block LOBPCG",
                block::BLOCKS * columns,
                "; fewer states or guard vectors need less",
            )?;
            block::search(&run, operator, columns, &mut saver)?
        }
    };
    saver.search_has_ended()?;
    let mut pairs = certify::complete(&run, operator, solver, main)?;
    pairs.notes.extend(saver.difference().map(String::from));
    Ok(pairs)
}

/// Norms of operators that a search takes, for vectors of this type. Fourth powers of the norm, and squares of residuals of 1e-16 of
/// it, must be numbers: Lanczos ended a step early at 1e-120, LOBPCG had NaN at 1e110. Vectors of f32 hold H x itself.
fn norms(scalar: ScalarType) -> [f64; 2] {
    match scalar {
        ScalarType::F64 => [1e-75, 1e75],
        ScalarType::F32 => [1e-25, 1e30],
    }
}

/// Eigenvalues, ascending, and orthonormal eigenvectors of a small dense symmetric n × n matrix, given row by row; only
/// its lower triangle is read.
pub fn symmetric_eigen(n: usize, matrix: &[f64]) -> Result<(Vec<f64>, Vec<Vec<f64>>), SolveError> {
    let (values, vectors) = ritz::symmetric_eigen(&faer::Mat::from_fn(n, n, |i, j| matrix[i * n + j]))?;
    Ok((values, (0..n).map(|j| (0..n).map(|i| vectors[(i, j)]).collect()).collect()))
}

/// Seconds of one multiply, measured with a state that was found: the median of three, or the first where it takes long;
/// `None` where another vector would not fit.
///
/// # Errors
/// The device's.
pub fn time_multiply<T: Scalar>(
    operator: &dyn LinearOperator<T>,
    pairs: &Eigenpairs<T>,
) -> crate::error::Result<Option<f64>> {
    /// Longer multiplies are timed once.
    const LONG: f64 = 0.05;
    let _timing = trace::span("report", "time a multiply");
    let Some(x) = pairs.vectors.first() else { return Ok(None) };
    let Ok(mut y) = operator.device().zeros::<T>(x.len()) else { return Ok(None) };
    let mut times = Vec::new();
    while times.len() < 3 && times.first().is_none_or(|first| *first < LONG) {
        let (done, milliseconds) = operator.device().time(|| operator.apply(x, &mut y))?;
        done?;
        times.push(1e-3 * milliseconds);
    }
    times.sort_by(f64::total_cmp);
    Ok(Some(times[times.len() / 2]))
}

/// Refuses more states than a solver finds.
///
/// # Errors
/// More than one state by Olsen's method.
pub fn check_states(solver: Solver, states: usize) -> Result<(), SolveError> {
    if solver != Solver::Olsen || states <= 1 {
        return Ok(());
    }
    let expected = "1 with solver = \"olsen\", which has one vector; davidson finds several states";
    Err(SolveError::Option { name: "states", value: states.to_string(), expected })
}

/// Device memory of a solve in addition to the operator's tables: names and bytes. `element` is the size of a vector's
/// element.
pub fn resident(dimension: usize, element: usize, solver: Solver, options: &SolveOptions) -> (String, u64) {
    let nearest = matches!(options.part, SpectrumPart::Nearest(_)) && solver != Solver::Dense;
    let options = &if nearest { nearest::filter_options(options, dimension) } else { options.clone() };
    let columns = options.columns(dimension);
    let (name, vectors) = match solver {
        Solver::Dense => {
            return dense::memory(dimension, dense::makes_vectors(dimension, options));
        }
        Solver::Lobpcg if columns == 1 => ("LOBPCG", lobpcg::VECTORS),
        Solver::Lobpcg => ("block LOBPCG", block::BLOCKS * columns),
        Solver::Davidson => ("Davidson", davidson::vectors(options, dimension)),
        Solver::Olsen => ("Olsen", olsen::VECTORS),
        _ if options.states == 1 => ("Lanczos", lanczos::VECTORS),
        _ => ("thick-restart Lanczos", lanczos::thick_vectors(options.states, dimension)),
    };
    let vectors = vectors + if nearest { filter::VECTORS } else { 0 };
    let bytes = (vectors as u64).saturating_mul(dimension as u64).saturating_mul(element as u64);
    (format!("{vectors} vectors of {dimension} elements for {name}"), bytes)
}

/// Whether Lanczos for one state would multiply twice in each step, since so many bytes have no room for its basis.
pub fn lanczos_multiplies_twice(dimension: usize, element: usize, room: u64, options: &SolveOptions) -> bool {
    let each = (dimension as u64).saturating_mul(element as u64);
    let spare = usize::try_from(room / each.max(1)).unwrap_or(usize::MAX).saturating_sub(lanczos::VECTORS);
    options.states == 1 && lanczos::multiplies_twice(lanczos::optional_vectors(options, spare))
}

/// Optional device memory of a solve: vectors that save work, by name and bytes. `other` bytes will still be taken by the
/// operator's tables.
pub fn optional_vectors<T: Scalar>(
    device: &Device,
    dimension: usize,
    other: u64,
    solver: Solver,
    options: &SolveOptions,
) -> Option<(String, u64)> {
    let each = (dimension as u64).saturating_mul(size_of::<T>() as u64);
    let spare = |needed| run::spare(device, each, needed, other, options.memory_limit);
    let vectors = match solver {
        Solver::Lanczos if options.states == 1 => lanczos::optional_vectors(options, spare(lanczos::VECTORS)),
        Solver::Davidson => {
            davidson::optional_vectors(options, dimension, spare(davidson::vectors(options, dimension)))
        }
        _ => 0,
    };
    (vectors > 0).then(|| (format!("up to {vectors} more kept while there is room"), each * vectors as u64))
}

/// The vector programs of the solvers, for benchmarks, the gallery and tests that compile them. The first is the fused
/// LOBPCG update of eleven passes.
pub fn vector_programs() -> Vec<VectorProgram> {
    let mut programs = lobpcg::sweeps();
    programs.extend(algebra::largest());
    programs.extend(lanczos::programs());
    programs.extend(davidson::programs());
    programs.extend(olsen::programs());
    programs.extend(certify::programs());
    programs
}
