//! Saves a run to disk after every half sweep, so that a killed run resumes to the same energy.
//!
//! A state is a folder `half-N`: a sealed `header.ron` (what it belongs to, the tables of the kept states) and `data.bin`
//! (all numbers, little-endian; the header holds their blake3 sum), so that no changed byte goes unnoticed. A kill at any
//! moment leaves the last good state; a damaged state is skipped in favour of the one before. Blocks are not saved but
//! recomputed from the kept states. For how states are written and how a failing disk is handled see
//! [`eigenforge_runtime::state_folder`]. On a signal, the state is saved at the next bond rather than at the end of the
//! half sweep.
//!
//! States above the lowest have folders of their own: `state-1` and so on. Each of their headers names the last saved
//! checkpoint of every state below; if those have changed, the state is not reused because it would not be orthogonal to
//! them. What a run does with a state that was found with other keys is in [`settings`](super::settings).

use super::saved_numbers::{SavedTables, compare, identity, read_header, read_numbers, write_numbers};
use super::settings::{Difference, Leg, Settings};
use crate::block::state::Isometry;
use crate::chain::Chain;
use crate::engine::Engine;
use crate::error::DmrgError;
use crate::sweep::growth::GrowthRecord;
use crate::sweep::sweep_record::SweepRecord;
use crate::sweep::sweeper::Sweeper;
use eigenforge_runtime::interrupt;
use eigenforge_runtime::lock::{InUse, Lock};
use eigenforge_runtime::state_folder::{self, StateFolder};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// Version of the layout. Layouts before 4 had no seals, and those before 5 no settings.
const SCHEMA: u32 = 5;
const FIRST_SEALED: u32 = 4;

/// Where to save, and whether to resume.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// The folder.
    pub folder: PathBuf,
    /// Whether to resume from the newest state.
    pub resume: bool,
}

impl Checkpoint {
    /// Locks the folder against other runs; `None` if the folder does not exist and cannot be made, or if the file system
    /// has no locks.
    ///
    /// # Errors
    /// Another run holds the lock.
    pub(crate) fn lock(&self) -> Result<Option<Lock>, InUse> {
        let _ = fs::create_dir_all(&self.folder); // the first state's saver says why not
        Lock::of_folder(&self.folder)
    }

    /// The checkpoint of one target state; 0 is the lowest.
    pub(crate) fn of_state(&self, target: usize) -> Checkpoint {
        match target {
            0 => self.clone(),
            _ => Checkpoint { folder: self.folder.join(format!("state-{target}")), resume: self.resume },
        }
    }
}

/// The progress of a search.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct SearchProgress {
    /// Steps of the infinite-lattice algorithm before the sweeps.
    pub growth: Vec<GrowthRecord>,
    /// Sweeps done.
    pub sweeps: Vec<SweepRecord>,
    /// The sweep in progress; `None` between two sweeps.
    pub part: Option<SweepRecord>,
    /// Bonds of that sweep that are done.
    pub done: usize,
    /// The sweeps that count, and what they began from.
    pub(crate) leg: Leg,
    /// Starts that were compared, of which the best was swept on.
    pub(crate) starts: usize,
}

impl SearchProgress {
    /// Begins a leg with other settings. The rest of a sweep in progress is not counted.
    fn change(&mut self, differences: Vec<Difference>) {
        let first = self.sweeps.len() + usize::from(self.part.is_some());
        self.leg = std::mem::take(&mut self.leg).changed(first, differences);
    }

    /// The sweeps that count.
    pub(crate) fn counted(&self) -> &[SweepRecord] {
        &self.sweeps[self.leg.first.min(self.sweeps.len())..]
    }

    /// The bond where ψ is, on a chain of `sites` sites; a sweep goes there and back.
    pub(crate) fn bond(&self, sites: usize) -> usize {
        self.done.min((2 * (sites - 2)).saturating_sub(self.done))
    }
}

/// A saved state to resume from.
pub(crate) struct Saved {
    /// The states kept of each site.
    pub kept: Vec<Option<Isometry>>,
    /// ψ, one for each state that shares the kept states.
    pub waves: Vec<Vec<f64>>,
    /// The bond it is at.
    pub bond: usize,
    /// The progress of the run.
    pub progress: SearchProgress,
}

#[derive(Serialize, Deserialize)]
struct Header {
    schema: u32,
    /// blake3 of operator, sector and order.
    problem: String,
    /// The lattice site at each position.
    order: Vec<usize>,
    /// The keys that it depends on.
    settings: Settings,
    /// Sums of the last saved checkpoints of the states below.
    below: Vec<Option<String>>,
    progress: SearchProgress,
    kept: Vec<Option<Isometry>>,
    /// Elements of each ψ.
    waves: Vec<usize>,
    sum: String,
}

/// Saves the states of one run.
pub(crate) struct Saver {
    /// `None` if the disk cannot be written.
    states: Option<StateFolder>,
    folder: PathBuf,
    problem: String,
    order: Vec<usize>,
    settings: Settings,
    below: Vec<Option<String>>,
    last: Option<String>,
}

fn fault(path: &Path) -> impl Fn(std::io::Error) -> DmrgError + '_ {
    move |source| DmrgError::Checkpoint { path: path.into(), source }
}

impl Saver {
    /// Opens the folder and returns the run to resume, if that is requested and one exists. States of another model or
    /// version are refused, so that they are neither used nor overwritten; states that were saved above other states than
    /// `below` are skipped. A state with other settings begins a new [`Leg`].
    ///
    /// # Errors
    /// The folder cannot be read; it holds states of another model or version, or, to be resumed, of another start.
    pub(crate) fn open(
        options: &Checkpoint,
        chain: &Chain,
        settings: &Settings,
        below: &[Option<String>],
    ) -> Result<(Saver, Option<Saved>), DmrgError> {
        let folder = &options.folder;
        let states = StateFolder::open(folder, "half-").map_err(fault(folder))?;
        let found = states.as_ref().map_or(Ok(Vec::new()), StateFolder::list).map_err(fault(folder))?;
        let (folder, problem, below) = (folder.clone(), identity(chain), below.to_vec());
        let (order, settings) = (chain.order.clone(), settings.clone());
        let mut saver = Saver { states, folder, problem, order, settings, below, last: None };
        for (_, path) in found.iter().rev() {
            let read = read_header::<Header>(&saver.folder, path, SCHEMA, FIRST_SEALED)?;
            let Some(header) = read else { continue };
            if saver.problem != header.problem && saver.order.len() == header.order.len() {
                // Along another order the same model has other sums.
                compare(&saver.folder, "order", &format!("{:?}", saver.order), &format!("{:?}", header.order))?;
            }
            compare(&saver.folder, "model", &saver.problem, &header.problem)?;
            if !options.resume {
                return Ok((saver, None));
            }
            if header.below != saver.below {
                continue;
            }
            let differences = match saver.settings.compare(&header.settings) {
                Ok(differences) => differences,
                Err((key, of)) => {
                    return compare(&saver.folder, key, &of.here, &of.saved).map(|()| (saver, None));
                }
            };
            let sum = header.sum.clone();
            if let Some(mut state) = restore(path, header, chain) {
                saver.last = Some(sum);
                if !differences.is_empty() {
                    state.progress.change(differences);
                }
                return Ok((saver, Some(state)));
            }
            state_folder::pass_over(path, "data.bin");
        }
        Ok((saver, None))
    }

    /// The sum of the state that was last saved or restored.
    pub(crate) fn last(&self) -> Option<&str> {
        self.last.as_deref()
    }

    /// From now on a signal waits for the next bond.
    pub(crate) fn hold_signals(&mut self) {
        self.states.iter_mut().for_each(StateFolder::hold_signals);
    }

    /// From now on a signal ends the process at once.
    ///
    /// # Errors
    /// A signal came since the last bond.
    pub(crate) fn let_signals_end(&mut self) -> Result<(), DmrgError> {
        match &mut self.states {
            Some(states) => Ok(states.let_signals_end()?),
            None => Ok(()),
        }
    }

    /// Whether a signal waits for a state.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.states.is_some() && interrupt::pending().is_some()
    }

    /// Saves a state, with ψ at the bond given by `progress`. A disk that cannot be written is reported on standard error
    /// and is not an error.
    ///
    /// # Errors
    /// Errors of the engine; a signal that was waiting for this save.
    pub(crate) fn save<E: Engine>(
        &mut self,
        sweeper: &Sweeper<'_, E>,
        progress: &SearchProgress,
    ) -> Result<(), DmrgError> {
        let Some(states) = &mut self.states else { return Ok(()) };
        let (problem, below, mut written) = (self.problem.clone(), self.below.clone(), None);
        let (order, settings) = (self.order.clone(), self.settings.clone());
        let saved = states.save(|folder| {
            let SavedTables { kept, waves, sum } = write_numbers(folder, sweeper)?;
            written = Some(sum.clone());
            let progress = progress.clone();
            Ok(Header { schema: SCHEMA, problem, order, settings, below, progress, kept, waves, sum })
        });
        if let Ok(true) = saved {
            self.last = written;
        }
        saved.map(drop)
    }
}

/// Reads a saved run, if every byte is as it was written.
fn restore(path: &Path, header: Header, chain: &Chain) -> Option<Saved> {
    let Header { kept, waves, sum, progress, .. } = header;
    let bond = progress.bond(chain.sites);
    let (kept, waves) = read_numbers(path, SavedTables { kept, waves, sum }, chain, bond)?;
    Some(Saved { kept, waves, bond, progress })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Options, START_STATES};
    use eigenforge_core::basis::Sector;
    use eigenforge_core::lattice::Lattice;
    use eigenforge_core::models::xxz;
    use eigenforge_runtime::backend::BoundedHostBackend;

    const SITES: usize = 10;

    fn chain() -> Chain {
        let lattice = Lattice::chain(SITES).open();
        let (bonds, sites) = (vec![1.0; SITES - 1], vec![0.0; SITES]);
        Chain::new(&xxz(&lattice, &bonds, &bonds, &sites, &sites), Sector::Spins { two_sz: 0 }, None).unwrap()
    }

    fn checkpoint(folder: &Path, resume: bool) -> Checkpoint {
        Checkpoint { folder: folder.into(), resume }
    }

    fn resumed(folder: &Path, chain: &Chain) -> Option<Saved> {
        Saver::open(&checkpoint(folder, true), chain, &Settings::default(), &[]).ok().and_then(|(_, saved)| saved)
    }

    /// A sweep is interrupted at every bond, saved and resumed: it ends as if it had not been interrupted.
    #[test]
    fn a_sweep_goes_on_from_any_bond() {
        let (chain, options) = (chain(), Options { states: vec![64], ..Options::default() });
        let plan = options.plan(0);
        let path: Vec<_> = Sweeper::<BoundedHostBackend>::path(SITES).collect();
        let sweep = |sweeper: &mut Sweeper<'_, BoundedHostBackend>, bonds: &[_]| {
            bonds.iter().map(|(p, grows)| sweeper.step(*p, *grows, &plan).unwrap().energy).last().unwrap_or_default()
        };
        let begin = || Sweeper::random(BoundedHostBackend::default(), &chain, START_STATES, 3).unwrap();
        let whole = sweep(&mut begin(), &path);
        for done in 1..path.len() {
            let folder = tempfile::tempdir().unwrap();
            let mut sweeper = begin();
            sweep(&mut sweeper, &path[..done]);
            let progress =
                SearchProgress { part: Some(SweepRecord::begin(&options, 0)), done, ..SearchProgress::default() };
            Saver::open(&checkpoint(folder.path(), false), &chain, &Settings::default(), &[])
                .unwrap()
                .0
                .save(&sweeper, &progress)
                .unwrap();
            let Saved { kept, mut waves, bond, progress } = resumed(folder.path(), &chain).unwrap();
            assert_eq!((bond, progress.done), (path[done].0, done));
            let mut sweeper =
                Sweeper::restored(BoundedHostBackend::default(), &chain, kept, waves.remove(0), bond).unwrap();
            let found = sweep(&mut sweeper, &path[done..]);
            assert!((found - whole).abs() < 1e-9, "{done} bonds: {found} is not {whole}");
        }
    }

    /// Changing any byte of the header or any of the numbers prevents resuming.
    #[test]
    fn a_change_anywhere_is_refused() {
        let (chain, folder) = (chain(), tempfile::tempdir().unwrap());
        let sweeper = Sweeper::random(BoundedHostBackend::default(), &chain, START_STATES, 3).unwrap();
        let mut saver = Saver::open(&checkpoint(folder.path(), false), &chain, &Settings::default(), &[]).unwrap().0;
        saver.save(&sweeper, &SearchProgress::default()).unwrap();
        assert!(resumed(folder.path(), &chain).is_some());
        let state = folder.path().join("half-00000001");
        for (name, step) in [("header.ron", 1), ("data.bin", 97)] {
            let path = state.join(name);
            let good = fs::read(&path).unwrap();
            let write = |bytes: &[u8]| fs::write(&path, bytes).unwrap();
            for at in (0..good.len()).step_by(step) {
                let mut bytes = good.clone();
                bytes[at] ^= 1;
                write(&bytes);
                assert!(resumed(folder.path(), &chain).is_none(), "{name}, byte {at}");
            }
            for bytes in [&good[..good.len() - 1], &[&good[..], b"\n"].concat(), b""] {
                write(bytes);
                assert!(resumed(folder.path(), &chain).is_none(), "{name} of {} bytes", bytes.len());
            }
            write(&good);
        }
        assert!(resumed(folder.path(), &chain).is_some());
    }
}
