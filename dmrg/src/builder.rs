//! A run being put together, as the solvers of a lattice model are: `Dmrg::new(&chain).states([64]).run(&device)?`.

use super::run::several_cards::CardsPlan;
use super::run::{run, run_on};
use super::{Chain, Checkpoint, DmrgError, DmrgResult, Mode, Options, SweepProgress};
use eigenforge_core::observable::Observable;
use eigenforge_runtime::Device;
use eigenforge_runtime::backend::DeviceBackend;
use eigenforge_runtime::residency::MemoryLimits;
use std::path::PathBuf;
use std::sync::Arc;

/// Called with each bond of each sweep.
type ProgressFn = Arc<dyn Fn(&SweepProgress<'_>) + Send + Sync>;

/// The engine of a device that runs kernels.
fn engine(device: &Device, chain: &Chain, options: &Options) -> Result<DeviceBackend, DmrgError> {
    let cards = device.members()?;
    let mut limits = MemoryLimits::new(&cards[0], None, None, std::env::temp_dir());
    if cards.len() > 1 {
        let most = options.states.iter().copied().max().unwrap_or(1);
        limits = CardsPlan::new(chain, most, cards.len())?.limits(&cards, limits);
    }
    Ok(DeviceBackend::of_cards(device, &cards, limits)?)
}

/// A DMRG run being put together. Defaults: 256 kept states, at most 20 sweeps, the lowest state, tolerance 1e-11 on the change of
/// the energy in parts of the norm of H.
#[derive(Clone)]
pub struct Dmrg<'c> {
    chain: &'c Chain,
    options: Options,
    checkpoint: Option<Checkpoint>,
    progress: Option<ProgressFn>,
}

impl<'c> Dmrg<'c> {
    /// A run along a chain.
    pub fn new(chain: &'c Chain) -> Dmrg<'c> {
        Dmrg { chain, options: Options::default(), checkpoint: None, progress: None }
    }

    /// All options at once.
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// The largest number of kept states: one number, reached in steps, or one per sweep.
    pub fn states(mut self, states: impl Into<Vec<usize>>) -> Self {
        self.options.states = states.into();
        self
    }

    /// The largest number of sweeps, there and back.
    pub fn sweeps(mut self, sweeps: usize) -> Self {
        self.options.sweeps = sweeps;
        self
    }

    /// The change of the energy in a sweep, in parts of the norm of H, at which the run ends.
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.options.tolerance = tolerance;
        self
    }

    /// The change of the energy in a sweep at which the run also ends, as a fraction of the weight that the sweep discarded; 0 to end
    /// by the tolerance alone.
    pub fn improvement(mut self, improvement: f64) -> Self {
        self.options.improvement = improvement;
        self
    }

    /// The weight that a truncation may drop even if more states are allowed.
    pub fn discarded(mut self, weight: f64) -> Self {
        self.options.discarded = weight;
        self
    }

    /// How many of the lowest states, each orthogonal to those below.
    pub fn targets(mut self, targets: usize) -> Self {
        self.options.targets = targets;
        self
    }

    /// How the chain gets its first state.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.options.mode = mode;
        self
    }

    /// Whether to end with one-site sweeps.
    pub fn polish(mut self, polish: bool) -> Self {
        self.options.polish = polish;
        self
    }

    /// Whether to measure the standard correlations of every pair of sites.
    pub fn correlations(mut self, correlations: bool) -> Self {
        self.options.correlations = correlations;
        self
    }

    /// Observables to measure in every state beside the standard ones.
    pub fn observables(mut self, observables: impl Into<Vec<Observable>>) -> Self {
        self.options.observables = observables.into();
        self
    }

    /// Seed of the random start.
    pub fn seed(mut self, seed: u64) -> Self {
        self.options.seed = seed;
        self
    }

    /// Saves the state to a folder after every half sweep; with `resume`, continues from the newest one.
    pub fn checkpoint(mut self, folder: impl Into<PathBuf>, resume: bool) -> Self {
        self.checkpoint = Some(Checkpoint { folder: folder.into(), resume });
        self
    }

    /// Called with each bond of each sweep.
    pub fn progress(mut self, report: impl Fn(&SweepProgress<'_>) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(report));
        self
    }

    /// Runs on a device: on a card, several, or their simulation by generated kernels, otherwise on all cores of the CPU.
    ///
    /// # Errors
    /// An option out of its range, a checkpoint of another run, the device's errors.
    pub fn run(&self, device: &Device) -> Result<DmrgResult, DmrgError> {
        let (options, checkpoint) = (&self.options, self.checkpoint.as_ref());
        let tell = |progress: &SweepProgress<'_>| self.progress.iter().for_each(|report| report(progress));
        match device.runs_kernels() {
            true => run_on(engine(device, self.chain, options)?, self.chain, options, checkpoint, tell),
            false => run(self.chain, options, checkpoint, tell),
        }
    }
}
