//! `eigenforge inspect MOLECULE.toml`, for a file with `[ci]`: the stored matrix in numbers, its plan, its CUDA.

use super::arguments::StageName;
use super::error::CommandError;
use super::output::print;
use crate::ci::{self, CiError, Molecule};
use crate::input::CiFile;
use crate::sparse::{Choice, Format, RowStatistics, SparseError, Stored, Target, Wish, memory_table};
use std::fmt::Write;

/// Prints a stage.
pub(super) fn run(file: &CiFile, stage: StageName) -> Result<(), CommandError> {
    if ![StageName::Cost, StageName::Plan, StageName::Cuda].contains(&stage) {
        return Err(CommandError::StageOfMolecule { stage });
    }
    let molecule = Molecule::read(&file.ci)?;
    let matrix = ci::matrix(&molecule.integrals, &molecule.space, ci::THRESHOLD).map_err(CiError::from)?;
    let statistics = RowStatistics::of(&matrix);
    let wish = Wish { format: super::ci::format(file.ci.format), ..Wish::default() };
    let choice = Choice::new(&matrix, &statistics, Target::H200, wish);
    let best = choice.best();
    let stored = Stored::new("ci", &matrix, &best.layout, wish.scalar, wish.values);
    let stored = stored.map_err(|error| CiError::from(SparseError::from(error)))?;
    let text = match stage {
        StageName::Plan => eigenforge_templates::ron(&stored.plan) + "\n",
        StageName::Cuda => stored.plan.text().map_err(|error| CiError::from(SparseError::from(error)))?.text,
        _ => {
            let boundary = if let Format::Hybrid { boundary } = best.format { boundary } else { statistics.shortest };
            let mut out = format!("{}\n", molecule.describe());
            // Writing to a String cannot fail.
            let _ = writeln!(
                out,
                "{} non-zeros, {} to {} a row",
                matrix.non_zeros(),
                statistics.shortest,
                statistics.longest
            );
            for line in memory_table(&matrix, &statistics, boundary) {
                let _ = writeln!(out, "  {:<28} {:>12.2} MB", line.format, line.bytes as f64 / 1e6);
            }
            let bytes = stored.plan.matrix_bytes() as f64 / 1e6;
            let cost = stored.plan.cost();
            let _ = writeln!(out, "  {:<28} {bytes:>12.2} MB: {}", "as stored", stored.plan);
            let _ = writeln!(out, "one multiply: {:.3e} flop, {:.3e} bytes", cost.flops, cost.bytes);
            let _ = writeln!(out, "{}", choice.reason);
            out
        }
    };
    Ok(print(&text)?)
}
