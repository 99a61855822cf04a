//! The programs of a solve are compiled on all cores, while its tables are made, and not one after the other when it first launches each.
//!
//! In: a solver with its options, and what is known of the matrix. Out: the texts that the [rehearsal](super::rehearse) of a common solve
//! launched, in the order in which they are needed. The solve waits for a text only where it needs one that is not compiled yet.

use super::rehearsal::{self, MatrixOutline};
use super::{SolveOptions, Solver};
use crate::device::{CompilationAhead, Device};
use eigenforge_templates::vector_program::VectorProgram;
use eigenforge_templates::{KernelText, Warp};

/// The texts of the programs that a common solve launches on a card with warps of this width: in every solve, then where the diagonal
/// dominates, as that of a molecule does, and in long searches. What follows the course of a search, such as a level of several states, is
/// compiled where it is launched.
pub fn common_texts(solver: Solver, options: &SolveOptions, outline: &MatrixOutline, warp: Warp) -> Vec<KernelText> {
    let launched = rehearsal::rehearse_cases(solver, options, outline, true);
    let of = |when: &'static str| launched.iter().filter(move |launched| launched.when == when);
    let programs = rehearsal::COMMON.into_iter().flat_map(of).map(|launched| &launched.recorded);
    // A program without a text is refused where it is launched.
    let text = |program: &VectorProgram| VectorProgram { warp, ..program.clone() };
    programs.filter_map(|recorded| text(&recorded.program).text(recorded.scalar, &recorded.functions).ok()).collect()
}

/// Begins to compile a text that goes `beside` the multiply, and [`common_texts`], for a card. Nothing is compiled ahead where edited texts
/// may replace them, on a simulated card, which would compile for longer than it runs, or for one of several ranks, which share the cores.
pub fn compile_ahead(
    device: &Device,
    solver: Solver,
    options: &SolveOptions,
    outline: MatrixOutline,
    beside: Option<KernelText>,
) -> Option<CompilationAhead> {
    if !device.is_cuda() || device.ranks().is_some() || device.has_overrides() {
        return None;
    }
    // Nothing is saved and nobody is told of a rehearsal.
    let options = SolveOptions { checkpoint: None, progress: None, ..options.clone() };
    let warp = device.warp();
    let texts = move || beside.into_iter().chain(common_texts(solver, &options, &outline, warp)).collect();
    CompilationAhead::begin(device, texts)
}
