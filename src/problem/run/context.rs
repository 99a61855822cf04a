//! What a run is given beside its problem, and who is told how it goes on.

use crate::dmrg::SweepProgress;
use eigenforge_runtime::ranks::Ranks;
use eigenforge_runtime::solvers::{Progress, SolvePhase};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// What a run is given beside its problem.
pub struct RunContext {
    /// When the run began: reports count from here.
    pub start: Instant,
    /// "auto", "cpu", "cuda", "cuda:1", "sim".
    pub device: String,
    /// The ranks that solve it together, of which this process is one; `None` where it is alone.
    pub ranks: Option<Arc<Ranks>>,
    /// Runs at the same time in this process, each of which has its share of the host's memory; 1 where it is alone.
    pub runs: usize,
    /// Folder of edited kernels, in place of the environment's.
    pub overrides: Option<PathBuf>,
    /// Whether shapes that `eigenforge tune` chose are used.
    pub tuned: bool,
    /// Where the state of the run is saved.
    pub checkpoint: Option<CheckpointRequest>,
    /// Who is told.
    pub observer: Arc<dyn RunObserver>,
}

impl RunContext {
    /// A run by itself on a device, with nothing else asked for.
    pub fn new(start: Instant, device: &str, observer: Arc<dyn RunObserver>) -> RunContext {
        RunContext {
            start,
            device: device.into(),
            ranks: None,
            runs: 1,
            overrides: None,
            tuned: true,
            checkpoint: None,
            observer,
        }
    }
}

/// Where the state of a run is saved, how often, and whether it goes on from there.
#[derive(Clone, Debug)]
pub struct CheckpointRequest {
    /// The folder.
    pub folder: PathBuf,
    /// Seconds between two saves of an eigensolver; DMRG saves after every half sweep.
    pub seconds: f64,
    /// Whether the run goes on from what is there.
    pub resume: bool,
}

/// Sees what a run plans and how it goes on. All methods do nothing unless written.
pub trait RunObserver: Send + Sync {
    /// Text that says what will be run, or what will be resident.
    ///
    /// # Errors
    /// A text that cannot be shown ends the run.
    fn plan(&self, _text: &str) -> std::io::Result<()> {
        Ok(())
    }

    /// Something that a user should read at once.
    fn remark(&self, _text: &str) {}

    /// An iteration of an eigensolver, or a phase of one.
    fn iteration(&self, _progress: &Progress) {}

    /// A stage of a transformation: its name, and what was done.
    fn stage(&self, _name: &str, _text: &str) {}

    /// A bond of a sweep.
    fn bond(&self, _progress: &SweepProgress<'_>) {}

    /// The iterations or sweeps have ended, well or not.
    fn finished(&self) {}

    /// Who is told of a run beside others; `what` names its card and its point. Unless written, nothing is shown of it.
    fn beside_others(&self, _what: &str) -> Arc<dyn RunObserver> {
        Arc::new(Silent)
    }
}

/// An observer that shows nothing.
pub struct Silent;

impl RunObserver for Silent {}

/// How long each phase of an eigensolver took.
#[derive(Default)]
pub(super) struct PhaseClock(Mutex<Vec<(SolvePhase, f64)>>);

impl PhaseClock {
    /// Takes note of the phase that the solver is in.
    pub(super) fn note(&self, progress: &Progress) {
        let mut phases = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if phases.last().is_none_or(|(phase, _)| *phase != progress.phase) {
            phases.push((progress.phase, progress.elapsed));
        }
    }

    /// Seconds of a phase, in all its parts, of a solve that took `total`.
    pub(super) fn seconds_of(&self, phase: SolvePhase, total: f64) -> f64 {
        let phases = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let ends = phases.iter().skip(1).map(|(_, start)| *start).chain([total]);
        let spans = phases.iter().zip(ends);
        // Not `sum`, whose empty sum of floats is −0.
        spans
            .filter(|((name, _), _)| *name == phase)
            .fold(0.0, |seconds, ((_, start), end)| seconds + (end - start).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use SolvePhase::{Certify, Dense, Lobpcg};

    #[test]
    fn seconds_are_told_apart_by_phase() {
        let clock = PhaseClock::default();
        for (phase, elapsed) in [(Lobpcg, 0.0), (Lobpcg, 2.0), (Certify, 3.0), (Certify, 4.0)] {
            let energies = vec![-1.5];
            let progress =
                Progress { phase, iteration: 7, energies, residual: 0.1, tolerance: 1e-8, elapsed, remaining: None };
            clock.note(&progress);
        }
        assert_eq!(clock.seconds_of(Lobpcg, 5.0), 3.0);
        assert_eq!(clock.seconds_of(Certify, 5.0), 2.0);
        assert_eq!(clock.seconds_of(Dense, 5.0), 0.0);
    }
}
