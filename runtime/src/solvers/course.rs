//! Which vector programs chains and evolutions launch on a card: found, as those of a [solve](super::rehearse) are, by running them with
//! small matrices in place of the user's.

use super::lanczos::{self, EvolutionOptions, EvolvedState, OperatorCombination, evolve, evolve_driven, krylov_chain};
use super::rehearsal::{Case, LaunchedProgram, MatrixOutline, StandIn, note};
use crate::device::Device;
use crate::error::SolveError;
use crate::operator::LinearOperator;
use crate::trace;

/// What is done with a matrix in f64 that is not solved for its states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    /// [`krylov_chain`], with overlaps where others are given.
    Chain {
        /// Whether others are given.
        overlaps: bool,
    },
    /// [`evolve`].
    Evolution {
        /// Whether in imaginary time.
        imaginary: bool,
    },
    /// [`evolve_driven`].
    DrivenEvolution,
}

const CHAIN: &str = "in every chain";
const LONG: &str = "in chains of long vectors";
const EVOLUTION: &str = "in every evolution";

/// Rows of the short matrix, and of a long one: those of chains whose vectors are not kept.
const ROWS: [usize; 2] = [160, lanczos::SHORT + 1];
/// Steps of the long one.
const LONG_STEPS: usize = 4;

/// The programs of a course, in the order in which they are first launched.
pub fn rehearse_course(course: Course, outline: &MatrixOutline) -> Vec<LaunchedProgram> {
    trace::unrecorded(|| {
        let mut launched = Vec::new();
        let mut run = |rows: usize, when: &'static str, steps: usize| {
            let device = Device::recording();
            let case = Case { when, rows, blocks: 1, spread: 3.0, keep: None };
            let matrix = || StandIn::new(&case, rows, outline, &device);
            // What was launched until something was refused counts all the same.
            let _ = launch(course, &matrix, steps);
            note(&mut launched, &device, when);
        };
        match course {
            Course::Chain { .. } => {
                run(ROWS[0], CHAIN, ROWS[0]);
                if outline.dimension > lanczos::SHORT as u64 {
                    run(ROWS[1], LONG, LONG_STEPS);
                }
            }
            Course::Evolution { .. } | Course::DrivenEvolution => run(ROWS[0], EVOLUTION, 0),
        }
        launched
    })
}

fn launch(course: Course, matrix: &dyn Fn() -> StandIn, steps: usize) -> Result<(), SolveError> {
    let matrix_of_one = matrix();
    let operator: &dyn LinearOperator<f64> = &matrix_of_one;
    let start: Vec<f64> = (0..operator.dimension()).map(|row| ((row * 29 + 7) % 31) as f64 - 15.0).collect();
    let options = |imaginary| EvolutionOptions { imaginary, ..EvolutionOptions::new(vec![0.0, 1.0, 4.0], 1e-8) };
    let unseen = |_: &EvolvedState<'_, f64>| Ok::<(), SolveError>(());
    match course {
        Course::Chain { overlaps } => {
            let others: &[&[f64]] = if overlaps { &[&start] } else { &[] };
            krylov_chain(operator, &start, others, steps, |_| false).map(drop)
        }
        Course::Evolution { imaginary } => evolve(operator, [&start, &start], &options(imaginary), unseen).map(drop),
        Course::DrivenEvolution => {
            let terms: Vec<(Box<dyn LinearOperator<f64>>, f64)> =
                vec![(Box::new(matrix_of_one), 0.0), (Box::new(matrix()), 0.5)];
            let sum = OperatorCombination::new(terms)?;
            let drive = |time: f64| vec![1.0, time.sin()];
            evolve_driven(&sum, &drive, [&start, &start], &options(false), unseen).map(drop)
        }
    }
}
