//! `mpirun -n N eigenforge solve MODEL.toml`: a lattice model or a molecule that all processes diagonalise together, each a rank with its share of
//! every vector; the points of a sweep, dealt out in rounds; or a transformation into SU(3) tensors, dealt out by rank 0.
//!
//! Rank 0 prints and writes. An error of any rank ends all, and rank 0 says whose it was.

use super::VerbEnd;
use super::arguments::SolveArguments;
use super::error::CommandError;
use super::failure::with_sources;
use super::{refuse, solve};
use eigenforge::input::InputFile;
use eigenforge::problem::Family;
use eigenforge::processes::{World, share_cores};
use eigenforge::su3::Processes;
use eigenforge_runtime::be_silent;
use eigenforge_runtime::ranks::Ranks;
use std::sync::Arc;

/// Runs the verb in one of several processes.
pub(super) fn run(arguments: &SolveArguments, world: World) -> Result<VerbEnd, CommandError> {
    let ranks = Arc::new(world.ranks());
    if !ranks.is_first() {
        be_silent();
    }
    let read = solve::read(arguments).and_then(|file| {
        ranks.check_same("the file", &Family::from_file(&file).to_string()).map_err(eigenforge::Error::from)?;
        Ok(file)
    });
    let done = match read {
        // Its master and workers have errors of their own.
        Ok(InputFile::Su3(file)) => {
            let team = Some(Processes::new(world));
            return solve::traced(arguments, |start, solved| solve::transform(arguments, *file, team, start, solved));
        }
        Ok(file) => together(arguments, file, &ranks),
        Err(error) => Err(error),
    };
    if let Err(error) = &done {
        ranks.fail(&with_sources(error));
    }
    // Rank 0 tells the launcher how it ended. One that failed before would have rank 0 ended before it has said why.
    let is_told = !ranks.is_first() && (done.is_ok() || ranks.has_ended());
    if is_told { Ok(VerbEnd::Done) } else { done }
}

fn together(arguments: &SolveArguments, file: InputFile, ranks: &Arc<Ranks>) -> Result<VerbEnd, CommandError> {
    match &file {
        InputFile::Lattice(_) | InputFile::Ci(_) | InputFile::Sweep(_) => {
            share_cores(ranks.on_this_machine());
            let first = if ranks.is_first() { arguments.trace.clone() } else { None };
            let own = SolveArguments { trace: first, ..arguments.clone() };
            let end =
                solve::traced(&own, |start, solved| solve::run_read(&own, file, Some(ranks.clone()), start, solved))?;
            // Whatever still went wrong on another rank is heard here.
            ranks.finish().map_err(eigenforge::Error::from)?;
            Ok(end)
        }
        _ => Err(refuse::refusal(Family::from_file(&file), "a run shared by several processes", only_one(&file))),
    }
}

/// Why several processes do not work on one problem together, other than a lattice model, a molecule or a sweep.
pub(super) fn only_one(file: &InputFile) -> &'static str {
    match file {
        InputFile::Dmrg(_) => {
            "a DMRG state is not cut into shares: start it as one process, with --device cuda if there is a card"
        }
        InputFile::Su3(_) => "rank 0 deals out its groups as it goes on, to each process that asks",
        _ => "only lattice models and molecules are diagonalised by several processes: start it as one process",
    }
}
