//! `eigenforge bench levels`: levels of random models, found in three ways, must be the same.
//!
//! In: how many models, a seed. Out: how many were compared, and each difference. Of every model the whole spectrum is diagonalised
//! (`cases` makes its text), its symmetry sectors are solved (`--sectors all`), and a few states are found by an iterative solver. Levels
//! that are told to be complete must have the energy, the number of states and the total spins of the whole spectrum, and averages in a
//! level those of any other solver and seed. A case depends on the seed and its number alone, so `--first N --models 1` repeats one.

mod cases;
mod compare;

use cases::Case;
use compare::{Levels, differences};
use eigenforge::input::InputFile;
use eigenforge::problem::run::{RunContext, Silent, solvable, solve_sweep};
use eigenforge::report::{Outcome, ParameterSweepRecord, ReportError};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Arguments of `bench levels`.
#[derive(Clone, Debug, clap::Args)]
pub struct LevelsArguments {
    /// Random models
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub models: u64,
    /// Seed of the models
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Number of the first model
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub first: u64,
    /// Print the text of each model
    #[arg(long)]
    pub print: bool,
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum LevelsBenchError {
    /// A model that cannot be solved.
    #[error("model {case}: {source}")]
    Model {
        /// Its number.
        case: u64,
        /// What failed.
        source: eigenforge::Error,
    },
    /// Levels differ.
    #[error(
        "{wrong} of {models} models have levels that differ: each is named above, and `--first N --models 1 --print` repeats it"
    )]
    Differ {
        /// Models that differ.
        wrong: u64,
        /// All of them.
        models: u64,
    },
    /// The result could not be written, or a model's text.
    #[error("writing the result")]
    Write(#[from] std::io::Error),
}

/// What was compared.
#[derive(Debug, Default)]
struct Counts {
    models: u64,
    /// Models whose symmetry sectors were solved.
    towers: u64,
    levels: u64,
    /// Levels with more than one state.
    degenerate: u64,
    /// Levels with several spins.
    mixed: u64,
    wrong: u64,
}

/// Runs it and writes what was found.
///
/// # Errors
/// A level that differs; a model that cannot be solved.
pub fn command(arguments: &LevelsArguments, out: &mut dyn Write) -> Result<(), LevelsBenchError> {
    let started = Instant::now();
    let folder = tempfile::tempdir()?;
    let mut counts = Counts::default();
    for number in arguments.first..arguments.first.saturating_add(arguments.models) {
        let case = Case::new(arguments.seed, number);
        if arguments.print {
            writeln!(out, "{}", case.text)?;
        }
        let found = one(&case, folder.path(), &mut counts)
            .map_err(|source| LevelsBenchError::Model { case: number, source })?;
        counts.models += 1;
        counts.wrong += u64::from(!found.is_empty());
        for text in found {
            writeln!(out, "model {number}: {text}")?;
        }
    }
    let Counts { models, towers, levels, degenerate, mixed, wrong } = counts;
    let seconds = started.elapsed().as_secs_f64();
    writeln!(
        out,
        "{models} models, {towers} of them by symmetry sectors: {levels} levels compared, {degenerate} degenerate, {mixed} of several \
         spins; {wrong} models differ ({seconds:.0} s)"
    )?;
    if wrong > 0 { Err(LevelsBenchError::Differ { wrong, models }) } else { Ok(()) }
}

/// What differs between the ways.
fn one(case: &Case, folder: &Path, counts: &mut Counts) -> Result<Vec<String>, eigenforge::Error> {
    let whole = Levels::of_run(&plain(&case.dense_text())?);
    counts.levels += whole.0.len() as u64;
    counts.degenerate += whole.0.iter().filter(|level| level.states > 1).count() as u64;
    counts.mixed +=
        whole.0.iter().filter(|level| level.spins.as_ref().is_some_and(|spins| spins.len() > 1)).count() as u64;
    let mut found = differences("the whole spectrum, spins", &whole, &whole);
    for text in case.few() {
        let some = Levels::of_run(&plain(&text)?);
        found.extend(differences(&format!("a few states ({})", cases::solver_of(&text)), &some, &whole));
    }
    if let Some(record) = tower(&case.by_sectors(), folder)? {
        counts.towers += 1;
        found.extend(differences("symmetry sectors", &Levels::of_tower(&record), &whole));
    }
    Ok(found)
}

fn context() -> RunContext {
    RunContext {
        start: Instant::now(),
        device: "cpu".into(),
        ranks: None,
        runs: 1,
        overrides: None,
        tuned: false,
        checkpoint: None,
        observer: Arc::new(Silent),
    }
}

fn plain(text: &str) -> Result<Outcome, eigenforge::Error> {
    let problem = solvable(InputFile::parse("random.toml", text, Path::new(""))?)?;
    Ok(problem.solve(&context())?.outcome)
}

/// All symmetry sectors; `None` where the model has no symmetry with a name.
fn tower(text: &str, folder: &Path) -> Result<Option<ParameterSweepRecord>, eigenforge::Error> {
    let path = folder.join("random.toml");
    std::fs::write(&path, text).map_err(|source| ReportError::Write { file: path.clone(), source })?;
    let (file, _) = InputFile::read_all_sectors(&path)?;
    let InputFile::Sweep(sweep) = file else { return Ok(None) };
    let (record, done) = solve_sweep(&sweep, &context(), None, &mut |_| {});
    done.map(|()| Some(record))
}
