//! Saves an evolution between two steps, so that a killed run goes on to the same numbers.
//!
//! In: ψ at the first bond, how far the run is, and what it has measured. Out: a state `step-N` on disk
//! ([`eigenforge_runtime::state_folder`]): a sealed header and the numbers ([`crate::run::saved_numbers`]). The states of another chain, or of
//! a run with other settings, are refused by what differs.

use super::progress::SavedCourse;
use crate::block::state::Isometry;
use crate::chain::Chain;
use crate::engine::Engine;
use crate::error::DmrgError;
use crate::run::saved_numbers::{NUMBERS, SavedTables, compare, read_header, read_numbers, write_numbers};
use crate::sweep::sweeper::Sweeper;
use eigenforge_runtime::interrupt;
use eigenforge_runtime::lock::Lock;
use eigenforge_runtime::solvers::CheckpointOptions;
use eigenforge_runtime::state_folder::{self, StateFolder};
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// Version of the layout.
const SCHEMA: u32 = 2;

#[derive(Serialize, Deserialize)]
struct Header {
    schema: u32,
    /// blake3 of operator, sector and order.
    model: String,
    /// What else must be the same, by name.
    settings: Vec<(String, String)>,
    course: SavedCourse,
    numbers: SavedTables,
}

/// A saved state: kept states of all sites, ψ, how far the run is.
type Saved = (Vec<Option<Isometry>>, Vec<f64>, SavedCourse);

/// Saves an evolution from time to time; does nothing without a folder.
pub(super) struct EvolutionSaver(Option<OpenSaver>);

struct OpenSaver {
    states: StateFolder,
    options: CheckpointOptions,
    model: String,
    last: Instant,
    _lock: Option<Lock>,
}

impl EvolutionSaver {
    /// Opens the folder, if there is one, and returns the state from which the run goes on, if that is asked for.
    ///
    /// # Errors
    /// A folder that is in use or cannot be read; states of another run.
    pub(super) fn open(
        options: Option<&CheckpointOptions>,
        chain: &Chain,
        model: String,
    ) -> Result<(EvolutionSaver, Option<Saved>), DmrgError> {
        let Some(options) = options else { return Ok((EvolutionSaver(None), None)) };
        let folder = &options.folder;
        let fault = |source| DmrgError::Checkpoint { path: folder.clone(), source };
        let Some(states) = StateFolder::open(folder, "step-").map_err(fault)? else {
            return Ok((EvolutionSaver(None), None));
        };
        let lock = Lock::of_folder(folder)?;
        let found = states.list().map_err(fault)?;
        let saver = OpenSaver { states, options: options.clone(), model, last: Instant::now(), _lock: lock };
        // ψ is at the first bond between two steps, which of a complex chain is behind the auxiliary site.
        let bond = usize::from(chain.is_complex());
        let mut saved = None;
        for (_, path) in found.iter().rev() {
            let Some(header) = read_header::<Header>(folder, path, SCHEMA, 0)? else { continue };
            for (what, expected) in &options.settings {
                let found = header.settings.iter().find(|(key, _)| key == what).map_or("unknown", |(_, value)| value);
                compare(folder, what, expected, found)?;
            }
            compare(folder, "model", &saver.model, &header.model)?;
            if !options.resume {
                break;
            }
            if let Some((kept, mut waves)) = read_numbers(path, header.numbers, chain, bond) {
                saved = Some((kept, waves.swap_remove(0), header.course));
                break;
            }
            state_folder::pass_over(path, NUMBERS);
        }
        Ok((EvolutionSaver(Some(saver)), saved))
    }

    /// Whether states are saved.
    pub(super) fn is_open(&self) -> bool {
        self.0.is_some()
    }

    /// From now on a signal waits for the end of a step.
    pub(super) fn hold_signals(&mut self) {
        self.0.iter_mut().for_each(|saver| saver.states.hold_signals());
    }

    /// From now on a signal ends the process at once.
    ///
    /// # Errors
    /// A signal that came since the last save.
    pub(super) fn let_signals_end(&mut self) -> Result<(), DmrgError> {
        match &mut self.0 {
            Some(saver) => Ok(saver.states.let_signals_end()?),
            None => Ok(()),
        }
    }

    /// Saves the state between two steps, if it is time or a signal waits.
    ///
    /// # Errors
    /// Errors of the engine; a signal.
    pub(super) fn save_if_due<E: Engine>(
        &mut self,
        sweeper: &Sweeper<'_, E>,
        course: &SavedCourse,
    ) -> Result<(), DmrgError> {
        let Some(OpenSaver { states, options, model, last, .. }) = &mut self.0 else { return Ok(()) };
        if last.elapsed().as_secs_f64() < options.every_seconds && interrupt::pending().is_none() {
            return Ok(());
        }
        *last = Instant::now();
        let (model, settings, course) = (model.clone(), options.settings.clone(), course.clone());
        let saved = states.save(|folder| {
            let numbers = write_numbers(folder, sweeper)?;
            Ok(Header { schema: SCHEMA, model, settings, course, numbers })
        });
        saved.map(drop)
    }
}
