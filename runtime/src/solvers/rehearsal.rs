//! Which vector programs a solve launches on a card: found by solving small matrices in its place.
//!
//! In: a solver with its options, and what is known of the matrix. Out: programs with the functions that they call, and when each is
//! launched. The matrices are tridiagonal blocks of up to some hundred rows; they make a solver do what it does in short and in long
//! searches, where levels have several states, and where vectors are scarce. The solver's own code chooses the programs, on a device that
//! notes them ([`Device::recording`]).

use super::{SolveOptions, Solver, SpectrumPart, algebra, highest, solve};
use crate::device::{Device, ElementFunction, RecordedProgram, Vector};
use crate::error::Result;
use crate::operator::LinearOperator;
use crate::scalar::Scalar;
use crate::trace;
use eigenforge_templates::{Cost, ElementFunctionText, ScalarType};
use std::sync::{Arc, Mutex, PoisonError};

/// What is known of a matrix before it is made.
#[derive(Clone, Debug)]
pub struct MatrixOutline {
    /// Rows.
    pub dimension: u64,
    /// The type of its vectors.
    pub scalar: ScalarType,
    /// Its diagonal as a function of the index; `None` if it has none.
    pub diagonal: Option<ElementFunctionText>,
    /// Its first guess of the lowest state; `None` if it has none.
    pub guess: Option<ElementFunctionText>,
    /// Whether each eigenvector has a partner, as those of a complex matrix have.
    pub is_complex: bool,
}

impl MatrixOutline {
    /// Of a stored matrix, whose diagonal is a table.
    pub fn stored(dimension: u64, scalar: ScalarType, is_complex: bool) -> MatrixOutline {
        let diagonal = Some(ElementFunctionText::stored_diagonal(dimension));
        MatrixOutline { dimension, scalar, diagonal, guess: None, is_complex }
    }
}

/// A program that a solve launches.
#[derive(Clone, Debug)]
pub struct LaunchedProgram {
    /// The program with its functions.
    pub recorded: RecordedProgram,
    /// When it is launched.
    pub when: &'static str,
}

/// A matrix that is solved in the place of the user's.
pub(super) struct Case {
    pub when: &'static str,
    /// Most rows of a block.
    pub rows: usize,
    /// Equal blocks: as many states has every level.
    pub blocks: usize,
    /// How far diagonal elements are apart; couplings are 1.
    pub spread: f64,
    /// As [`SolveOptions::keep_vectors`], where that is left to the memory.
    pub keep: Option<usize>,
}

/// When the programs of a common solve are launched, in this order.
pub(super) const COMMON: [&str; 3] = ["in every solve", "where the diagonal dominates", "in long searches"];

const CASES: [Case; 7] = [
    Case { when: COMMON[0], rows: 160, blocks: 1, spread: 3.0, keep: None },
    Case { when: COMMON[1], rows: 160, blocks: 1, spread: 200.0, keep: None },
    Case { when: "where the diagonal is constant", rows: 24, blocks: 2, spread: 0.0, keep: None },
    Case { when: "for levels of several states", rows: 120, blocks: 3, spread: 3.0, keep: None },
    Case { when: "for levels of several states", rows: 60, blocks: 7, spread: 200.0, keep: None },
    Case { when: COMMON[2], rows: 700, blocks: 1, spread: 1e-3, keep: Some(54) },
    Case { when: "where memory holds few vectors", rows: 200, blocks: 1, spread: 3.0, keep: Some(0) },
];

/// More rows than any rehearsed matrix has.
const MOST_ROWS: u64 = 2000;

/// Most rows that are diagonalised as a whole.
const DENSE_ROWS: usize = 60;

/// Most states and guard vectors of a rehearsal: blocks of more are cut into tiles of the same sizes.
const MOST_STATES: usize = 8;
const MOST_GUARDS: usize = 4;

/// When a block operation is launched that is not rehearsed.
pub const EVERY_SIZE: &str = "in sizes that follow the course of a search";

/// The block operations of all sizes: which of them a search launches follows its course.
pub fn block_operations(scalar: ScalarType) -> Vec<LaunchedProgram> {
    let launched = |program| LaunchedProgram {
        recorded: RecordedProgram { program, scalar, functions: Vec::new() },
        when: EVERY_SIZE,
    };
    algebra::every_size().into_iter().map(launched).collect()
}

/// The programs of a solve, in the order in which they are first launched. Block operations (`gram_…`, `combine_…`, `add_…`) stand for
/// those of [other sizes](block_operations).
pub fn rehearse(solver: Solver, options: &SolveOptions, outline: &MatrixOutline) -> Vec<LaunchedProgram> {
    rehearse_cases(solver, options, outline, false)
}

/// The same, of the [`COMMON`] cases alone if `is_common`.
pub(super) fn rehearse_cases(
    solver: Solver,
    options: &SolveOptions,
    outline: &MatrixOutline,
    is_common: bool,
) -> Vec<LaunchedProgram> {
    static REHEARSED: Mutex<Vec<(String, Vec<LaunchedProgram>)>> = Mutex::new(Vec::new());
    let options = SolveOptions {
        states: options.states.min(MOST_STATES),
        guard: options.guard.map(|guard| guard.min(MOST_GUARDS)),
        max_iterations: options.max_iterations.min(1000),
        seed: SolveOptions::default().seed,
        // A rehearsed matrix has its levels elsewhere.
        part: match options.part {
            SpectrumPart::Nearest(_) => SpectrumPart::Nearest(0.0),
            part => part,
        },
        taken_out: 0.0,
        memory_limit: None,
        checkpoint: None,
        progress: None,
        ..options.clone()
    };
    let SolveOptions {
        states,
        part,
        tolerance,
        max_iterations,
        guard,
        start,
        preconditioner,
        certify,
        keep_vectors,
        ..
    } = &options;
    let MatrixOutline { dimension, scalar, diagonal, guess, is_complex } = outline;
    // Points of a sweep differ in the texts of their functions alone.
    let key = format!(
        "{solver:?} {states} {part:?} {tolerance:?} {max_iterations} {guard:?} {start:?} {preconditioner:?} {certify} {keep_vectors:?} {} \
         {scalar:?} {} {} {is_complex} {is_common}",
        (*dimension).min(MOST_ROWS),
        diagonal.is_some(),
        guess.is_some()
    );
    let memory = || REHEARSED.lock().unwrap_or_else(PoisonError::into_inner);
    let known = memory().iter().find(|(known, _)| *known == key).map(|(_, launched)| launched.clone());
    // Not held meanwhile: a rehearsal shares the threads of whoever waits for it.
    let mut launched = known.unwrap_or_else(|| {
        let launched = trace::unrecorded(|| match scalar {
            ScalarType::F64 => rehearsal::<f64>(solver, &options, outline, is_common),
            ScalarType::F32 => rehearsal::<f32>(solver, &options, outline, is_common),
        });
        memory().push((key, launched.clone()));
        launched
    });
    for function in launched.iter_mut().flat_map(|launched| &mut launched.recorded.functions) {
        let own = [("diagonal", diagonal), ("guess", guess)].into_iter().find(|(name, _)| *name == function.name);
        if let Some((name, Some(text))) = own {
            let text = if *part == SpectrumPart::Highest { highest::negated_text(text) } else { text.clone() };
            *function = text.named(name);
        }
    }
    launched
}

fn rehearsal<T: Scalar>(
    solver: Solver,
    options: &SolveOptions,
    outline: &MatrixOutline,
    is_common: bool,
) -> Vec<LaunchedProgram> {
    let mut launched: Vec<LaunchedProgram> = Vec::new();
    for case in CASES.iter().filter(|case| !is_common || COMMON.contains(&case.when)) {
        let device = Device::recording();
        let most = if solver == Solver::Dense { DENSE_ROWS } else { case.rows * case.blocks };
        let matrix = StandIn::new(case, most, outline, &device);
        let options = SolveOptions {
            states: options.states.min(matrix.dimension),
            // Loose tolerances would end a rehearsal before its restarts.
            tolerance: options.tolerance.min(1e-6).max(16.0 * T::EPSILON),
            keep_vectors: options.keep_vectors.or(case.keep),
            ..options.clone()
        };
        // What was launched until a search was refused counts all the same.
        let _ = solve::<T>(&matrix, solver, &options);
        note(&mut launched, &device, case.when);
    }
    launched
}

/// Adds the programs that a device has noted and the list has not.
pub(super) fn note(launched: &mut Vec<LaunchedProgram>, device: &Device, when: &'static str) {
    for recorded in device.recorder().map(|recorder| recorder.programs()).unwrap_or_default() {
        if !launched.iter().any(|known| known.recorded.program.name == recorded.program.name) {
            launched.push(LaunchedProgram { recorded, when });
        }
    }
}

/// Equal tridiagonal blocks.
pub(super) struct StandIn {
    device: Device,
    dimension: usize,
    /// Of one block.
    diagonal: Arc<Vec<f64>>,
    outline: MatrixOutline,
}

impl StandIn {
    /// Of so many rows at most.
    pub(super) fn new(case: &Case, most: usize, outline: &MatrixOutline, device: &Device) -> StandIn {
        let whole = usize::try_from(outline.dimension).unwrap_or(usize::MAX);
        // Partners are in another block.
        let blocks = (if outline.is_complex { 2 * case.blocks } else { case.blocks }).min(whole.max(1));
        let rows = (most.min(whole) / blocks).max(1);
        let element = |row: usize| case.spread * ((row * 37 + 11) % 101) as f64 / 100.0;
        let diagonal = Arc::new((0..rows).map(element).collect());
        StandIn { device: device.clone(), dimension: rows * blocks, diagonal, outline: outline.clone() }
    }

    /// A function of the user's matrix with values of this one.
    fn function(
        &self,
        text: &Option<ElementFunctionText>,
        value: impl Fn(usize) -> f64 + Send + Sync + 'static,
    ) -> Option<ElementFunction> {
        let fill = move |start: usize, out: &mut [f64]| {
            out.iter_mut().enumerate().for_each(|(place, out)| *out = value(start + place));
        };
        Some(ElementFunction { host: Arc::new(fill), text: text.clone()?, arguments: Vec::new() })
    }
}

impl<T: Scalar> LinearOperator<T> for StandIn {
    fn dimension(&self) -> usize {
        self.dimension
    }

    fn device(&self) -> &Device {
        &self.device
    }

    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<f64> {
        let (x, y) = Vector::both_on_host("multiply by a stand-in", x, y)?;
        let (rows, mut dot) = (self.diagonal.len(), 0.0);
        for (index, y) in y.iter_mut().enumerate() {
            let row = index % rows;
            let mut sum = self.diagonal[row] * x[index].to_f64();
            if row > 0 {
                sum -= x[index - 1].to_f64();
            }
            if row + 1 < rows {
                sum -= x[index + 1].to_f64();
            }
            dot += x[index].to_f64() * sum;
            *y = T::from_f64(sum);
        }
        Ok(dot)
    }

    fn diagonal(&self) -> Option<ElementFunction> {
        let diagonal = self.diagonal.clone();
        self.function(&self.outline.diagonal, move |index| diagonal[index % diagonal.len()])
    }

    fn guess(&self) -> Result<Option<ElementFunction>> {
        let length = (self.dimension as f64).sqrt();
        Ok(self.function(&self.outline.guess, move |_| 1.0 / length))
    }

    fn is_complex(&self) -> bool {
        self.outline.is_complex
    }

    fn norm_bound(&self) -> f64 {
        self.diagonal.iter().fold(0.0, |largest: f64, element| largest.max(element.abs())) + 2.0
    }

    fn moving_bound(&self) -> f64 {
        2.0
    }

    fn cost(&self) -> Cost {
        Cost { flops: 5.0 * self.dimension as f64, bytes: 16.0 * self.dimension as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Preconditioner;
    use super::*;

    fn names(solver: Solver, states: usize, outline: &MatrixOutline) -> Vec<String> {
        let options = SolveOptions { states, ..SolveOptions::default() };
        rehearse(solver, &options, outline).into_iter().map(|launched| launched.recorded.program.name).collect()
    }

    fn outline(dimension: u64) -> MatrixOutline {
        let diagonal = ElementFunctionText::new("", "double", "diagonal", Vec::new(), "(double)(i % 7)");
        MatrixOutline { dimension, scalar: ScalarType::F64, diagonal: Some(diagonal), guess: None, is_complex: false }
    }

    /// Each solver's own programs and no other's, restarts and certification included.
    #[test]
    fn every_solver_launches_its_own_programs() {
        let own = [
            (Solver::Lanczos, "lanczos_step", "olsen_step"),
            (Solver::Davidson, "davidson_correction", "olsen_step"),
            (Solver::Olsen, "olsen_step", "lobpcg_update"),
            (Solver::Lobpcg, "lobpcg_update", "olsen_step"),
        ];
        for (solver, has, has_not) in own {
            let names = names(solver, 1, &outline(1 << 30));
            assert!(names.iter().any(|name| name == has), "{solver:?}: {names:?}");
            assert!(!names.iter().any(|name| name == has_not), "{solver:?}: {names:?}");
            assert!(names.iter().any(|name| name.starts_with("certify_step")), "{solver:?}: {names:?}");
        }
        let lanczos = names(Solver::Lanczos, 1, &outline(1 << 30));
        for name in ["mix_6", "add_16_to_6", "lanczos_factor", "certify_step_by_diagonal"] {
            assert!(lanczos.iter().any(|found| found == name), "{name} in {lanczos:?}");
        }
    }

    /// Matrices of any size, and options of every kind, give a list.
    #[test]
    fn small_matrices_and_rare_options_are_rehearsed() {
        for dimension in [1, 2, 3, 5, 40] {
            for solver in [Solver::Lanczos, Solver::Davidson, Solver::Olsen, Solver::Lobpcg, Solver::Dense] {
                let partners = MatrixOutline { is_complex: true, ..outline(2 * dimension) };
                assert!(!names(solver, 1, &outline(dimension)).is_empty(), "{solver:?} of {dimension}");
                let states = if solver == Solver::Olsen { 1 } else { 2 };
                assert!(!names(solver, states, &partners).is_empty(), "{solver:?} of {dimension} with partners");
            }
        }
        let options = SolveOptions { preconditioner: Preconditioner::Jacobi, states: 3, ..SolveOptions::default() };
        let launched = rehearse(Solver::Lobpcg, &options, &outline(1000));
        assert!(launched.iter().any(|launched| launched.recorded.program.name == "jacobi"));
    }
}
