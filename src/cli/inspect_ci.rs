//! `eigenforge inspect MOLECULE.toml`, for a file with `[ci]`: what would multiply on an H200, in numbers, its plan, its
//! CUDA: the stored matrix, or the product straight from the integrals.

use super::arguments::StageName;
use super::error::CommandError;
use super::output::print;
use crate::ci::{self, CiError, DirectFullCi, Molecule, OnTheFly, Solve, StoragePlan, Way};
use crate::input::CiFile;
use crate::sparse::{Choice, Format, RowStatistics, SparseError, Stored, Target, Wish, memory_table};
use std::fmt::Write;

/// Prints a stage.
pub(super) fn run(file: &CiFile, stage: StageName) -> Result<(), CommandError> {
    if ![StageName::Cost, StageName::Plan, StageName::Cuda].contains(&stage) {
        return Err(CommandError::StageOfMolecule { stage });
    }
    let molecule = Molecule::read(&file.ci)?;
    let solve = Solve::new(&molecule.integrals, &molecule.space)
        .storage(super::ci::storage(file.ci.storage))
        .format(super::ci::format(file.ci.format))
        .states(file.solve.states);
    let plan = solve.storage_plan_of_h200().map_err(CiError::from)?;
    let text = match plan.way {
        Way::Direct if molecule.space.is_complete() => direct(&molecule, &plan, stage)?,
        Way::Direct => on_the_fly(&molecule, &plan, stage)?,
        Way::Stored => stored(file, &molecule, &plan, stage)?,
    };
    Ok(print(&text)?)
}

/// Both ways' bytes and seconds, and which was chosen.
fn ways(molecule: &Molecule, plan: &StoragePlan) -> String {
    let mut out =
        format!("{}\non an H200, by counts alone, for a solve of {} products:\n", molecule.describe(), ci::PRODUCTS);
    // Writing to a String cannot fail.
    for way in &plan.ways {
        let _ = writeln!(
            out,
            "  {:<7} {:>10.2} MB  set up {:>8.3} s  product {:>9.4} ms  in all {:>8.3} s  {}",
            way.way.to_string(),
            way.bytes as f64 / 1e6,
            way.set_up,
            1e3 * way.product,
            way.seconds(),
            way.what
        );
    }
    let _ = writeln!(out, "{}", plan.reason);
    out
}

fn direct(molecule: &Molecule, plan: &StoragePlan, stage: StageName) -> Result<String, CommandError> {
    let kernel = DirectFullCi::plan(&molecule.integrals, &molecule.space, Target::H200).map_err(CiError::from)?;
    Ok(match stage {
        StageName::Plan => eigenforge_templates::ron(&kernel) + "\n",
        StageName::Cuda => kernel.text().map_err(|error| CiError::from(ci::DirectError::from(error)))?.text,
        _ => {
            let mut out = ways(molecule, plan);
            let (cost, bytes) = (kernel.cost(), kernel.table_bytes() as f64 / 1e6);
            let _ = writeln!(out, "tables as they are: {bytes:.2} MB, {kernel}");
            let _ = writeln!(out, "one product: {:.3e} flop, {:.3e} bytes", cost.flops, cost.bytes);
            out
        }
    })
}

fn on_the_fly(molecule: &Molecule, plan: &StoragePlan, stage: StageName) -> Result<String, CommandError> {
    let kernel = OnTheFly::plan(&molecule.integrals, &molecule.space, Target::H200).map_err(CiError::from)?;
    Ok(match stage {
        StageName::Plan => eigenforge_templates::ron(&kernel) + "\n",
        StageName::Cuda => kernel.text().map_err(|error| CiError::from(ci::OnTheFlyError::from(error)))?.text,
        _ => {
            let mut out = ways(molecule, plan);
            let bytes = kernel.table_bytes() as f64 / 1e6;
            let _ = writeln!(out, "tables as they are: {bytes:.2} MB, {kernel}");
            let _ = writeln!(out, "one product: at most {:.3e} elements, made anew", kernel.elements as f64);
            out
        }
    })
}

fn stored(file: &CiFile, molecule: &Molecule, plan: &StoragePlan, stage: StageName) -> Result<String, CommandError> {
    let matrix = ci::matrix(&molecule.integrals, &molecule.space, ci::THRESHOLD).map_err(CiError::from)?;
    let statistics = RowStatistics::of(&matrix);
    let wish = Wish { format: super::ci::format(file.ci.format), ..Wish::default() };
    let choice = Choice::new(&matrix, &statistics, Target::H200, wish);
    let best = choice.best();
    let stored = Stored::new("ci", &matrix, &best.layout, wish.scalar, wish.values);
    let stored = stored.map_err(|error| CiError::from(SparseError::from(error)))?;
    Ok(match stage {
        StageName::Plan => eigenforge_templates::ron(&stored.plan) + "\n",
        StageName::Cuda => stored.plan.text().map_err(|error| CiError::from(SparseError::from(error)))?.text,
        _ => {
            let boundary = if let Format::Hybrid { boundary } = best.format { boundary } else { statistics.shortest };
            let mut out = ways(molecule, plan);
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
    })
}
