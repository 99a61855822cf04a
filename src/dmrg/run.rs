//! A whole run: sweeps by plan until the energy settles, then what is read off the state.

use super::blocks::Side;
use super::chain::Chain;
use super::checkpoint::{Checkpoint, Progress, Saver};
use super::correlations::Correlations;
use super::engine::Engine;
use super::error::DmrgError;
use super::extrapolate::{Extrapolated, extrapolate};
use super::host::Host;
use super::measure::{self, Cut, SiteAverages};
use super::options::{Options, START_STATES};
use super::sweep::{BondRecord, Sweeper};
use eigenforge_runtime::trace;
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// A sweep, there and back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SweepRecord {
    /// States allowed.
    pub states: usize,
    /// Most states kept anywhere.
    pub kept: usize,
    /// Relative noise.
    pub noise: f64,
    /// The lowest energy of a superblock.
    pub energy: f64,
    /// The largest weight dropped at a cut.
    pub discarded: f64,
    /// The largest residual of a superblock's solve.
    pub residual: f64,
    /// The longest ψ.
    pub dimension: usize,
    /// Products with H.
    pub products: usize,
    /// Operations of them.
    pub flops: f64,
    /// Wall-clock time.
    pub seconds: f64,
}

impl SweepRecord {
    fn begin(options: &Options, sweep: usize) -> SweepRecord {
        let (states, noise) = (options.states_of(sweep), options.noise_of(sweep));
        SweepRecord { states, noise, energy: f64::INFINITY, ..SweepRecord::default() }
    }

    fn add(&mut self, bond: &BondRecord) {
        self.energy = self.energy.min(bond.energy);
        self.kept = self.kept.max(bond.kept);
        self.discarded = self.discarded.max(bond.discarded);
        self.residual = self.residual.max(bond.residual);
        self.dimension = self.dimension.max(bond.dimension);
        self.products += bond.products;
        self.flops += bond.products as f64 * bond.flops;
    }
}

/// Why the sweeps ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// A sweep without noise changed the energy by less than the tolerance.
    Converged,
    /// As many sweeps as were allowed.
    Sweeps,
}

/// What is told while it runs.
#[derive(Clone, Copy, Debug)]
pub struct Told<'a> {
    /// The sweep, from 0.
    pub sweep: usize,
    /// Sweeps at most.
    pub sweeps: usize,
    /// The part of the sweep that is done.
    pub part: f64,
    /// The bond just solved.
    pub bond: &'a BondRecord,
    /// The sweep so far; whole if `part` is 1.
    pub record: &'a SweepRecord,
    /// Seconds since the run began.
    pub elapsed: f64,
}

/// What a run found.
#[derive(Clone, Debug)]
pub struct Found {
    /// ⟨H⟩ of the state.
    pub energy: f64,
    /// ⟨H²⟩ − ⟨H⟩²; `None` where the operator sum is too wide to be squared.
    pub variance: Option<f64>,
    /// The energy at no discarded weight, if sweeps settled at two numbers of states.
    pub extrapolated: Option<Extrapolated>,
    /// The sweeps.
    pub sweeps: Vec<SweepRecord>,
    /// Why they ended.
    pub stop: Stop,
    /// The cuts, left to right.
    pub cuts: Vec<Cut>,
    /// Averages by position.
    pub sites: Vec<SiteAverages>,
    /// Correlations by position, if they were asked for.
    pub correlations: Option<Correlations>,
    /// What a careful reader must know.
    pub warnings: Vec<String>,
    /// Sweeps that a checkpoint had already done.
    pub resumed: usize,
    /// Seconds of the sweeps.
    pub sweeping: f64,
    /// Seconds of variance, entropies and averages.
    pub measuring: f64,
}

/// Runs DMRG along a chain on the CPU.
///
/// # Errors
/// An option out of its range, a checkpoint of another run, numbers that are not finite.
pub fn run(
    chain: &Chain,
    options: &Options,
    checkpoint: Option<&Checkpoint>,
    tell: impl FnMut(&Told<'_>),
) -> Result<Found, DmrgError> {
    run_on(Host::default(), chain, options, checkpoint, tell)
}

/// Runs DMRG along a chain with an engine. A checkpoint of one engine is good for every other.
///
/// # Errors
/// Those of [`run`], and of the engine.
pub fn run_on<E: Engine>(
    engine: E,
    chain: &Chain,
    options: &Options,
    checkpoint: Option<&Checkpoint>,
    mut tell: impl FnMut(&Told<'_>),
) -> Result<Found, DmrgError> {
    options.check()?;
    let start = Instant::now();
    let (mut saver, saved) = match checkpoint {
        Some(checkpoint) => {
            let (saver, saved) = Saver::open(checkpoint, chain)?;
            (Some(saver), saved)
        }
        None => (None, None),
    };
    let (mut sweeper, mut progress) = match saved {
        Some(saved) => (Sweeper::restored(engine, chain, saved.kept, saved.wave, saved.bond)?, saved.progress),
        None => {
            let _warming = trace::span("dmrg", "random start");
            let progress = Progress { sweeps: Vec::new(), half: None };
            (Sweeper::random(engine, chain, START_STATES, options.seed)?, progress)
        }
    };
    let resumed = progress.sweeps.len();
    let mut stop = settled(options, &progress.sweeps);
    while stop.is_none() {
        let sweep = progress.sweeps.len();
        let _sweeping = trace::span("dmrg", "sweep");
        let begun = Instant::now();
        let half = progress.half.take();
        let before = half.map_or(0.0, |record| record.seconds);
        let mut record = half.unwrap_or_else(|| SweepRecord::begin(options, sweep));
        let plan = options.plan(sweep);
        let bonds = 2 * (chain.sites - 2);
        for (done, (p, grows)) in Sweeper::<E>::path(chain.sites).enumerate() {
            if half.is_some() && grows == Side::Left {
                continue;
            }
            let bond = sweeper.step(p, grows, &plan)?;
            record.add(&bond);
            record.seconds = before + begun.elapsed().as_secs_f64();
            let part = (done + 1) as f64 / bonds as f64;
            let elapsed = start.elapsed().as_secs_f64();
            tell(&Told { sweep, sweeps: options.sweeps, part, bond: &bond, record: &record, elapsed });
            if let (Some(saver), true) = (&mut saver, 2 * (done + 1) == bonds) {
                saver.save(&sweeper, &Progress { half: Some(record), ..progress.clone() })?;
            }
        }
        progress.sweeps.push(record);
        if let Some(saver) = &mut saver {
            saver.save(&sweeper, &progress)?;
        }
        stop = settled(options, &progress.sweeps);
    }
    let sweeping = start.elapsed().as_secs_f64();
    let _measuring = trace::span("dmrg", "measure");
    let last = sweeper.finish(options.davidson(options.sweeps.max(progress.sweeps.len())))?;
    let variance = measure::variance(chain, &sweeper, last.energy - chain.sum.constant)?;
    let walked = measure::walk(chain, sweeper, options.correlations)?;
    let mut found = Found {
        energy: last.energy,
        variance,
        extrapolated: extrapolate(&settled_points(options, &progress.sweeps)),
        sweeps: progress.sweeps,
        stop: stop.unwrap_or(Stop::Sweeps),
        cuts: walked.cuts,
        sites: walked.sites,
        correlations: walked.correlations,
        warnings: Vec::new(),
        resumed,
        sweeping,
        measuring: start.elapsed().as_secs_f64() - sweeping,
    };
    found.warn(options);
    Ok(found)
}

/// Whether the sweeps done are enough.
fn settled(options: &Options, sweeps: &[SweepRecord]) -> Option<Stop> {
    if let [.., before, last] = sweeps {
        let comparable = options.is_settled(sweeps.len() - 2);
        if comparable && (before.energy - last.energy).abs() < options.tolerance {
            return Some(Stop::Converged);
        }
    }
    (sweeps.len() >= options.sweeps).then_some(Stop::Sweeps)
}

/// (discarded weight, energy) at each number of states that two sweeps without noise agree on to a hundredth of the
/// discarded weight, or to the tolerance.
fn settled_points(options: &Options, sweeps: &[SweepRecord]) -> Vec<(f64, f64)> {
    let mut points: Vec<(usize, f64, f64)> = Vec::new();
    for pair in sweeps.windows(2) {
        let [before, last] = pair else { continue };
        let same = before.states == last.states && before.noise == 0.0 && last.noise == 0.0;
        let close = (before.energy - last.energy).abs() <= (0.01 * last.discarded).max(options.tolerance);
        if same && close && last.discarded > 0.0 {
            points.retain(|(states, ..)| *states != last.states);
            points.push((last.states, last.discarded, last.energy));
        }
    }
    points.into_iter().map(|(_, discarded, energy)| (discarded, energy)).collect()
}

/// An eigenstate that is only truncated has a variance of some hundred times the weight dropped at a cut (open Heisenberg
/// and Hubbard chains of 16 to 100 sites, m = 16 to 128: 36 to 373 times); far more means that it is none.
const VARIANCE_OF_DISCARDED: f64 = 1e4;

impl Found {
    fn warn(&mut self, options: &Options) {
        let last = self.sweeps.last().copied().unwrap_or_default();
        if self.stop == Stop::Sweeps {
            let change = match self.sweeps.as_slice() {
                [.., a, b] => format!("the last one changed the energy by {:.1e}", (a.energy - b.energy).abs()),
                _ => "there was only one".into(),
            };
            let sweeps = self.sweeps.len();
            self.warnings.push(format!(
                "stopped after {sweeps} sweeps without settling to {:.0e}: {change}; raise `sweeps`",
                options.tolerance
            ));
        }
        match self.variance {
            None => self.warnings.push(
                "the variance was not computed: the operator sum of this model is too wide to be squared".into(),
            ),
            Some(variance) if variance > 1e-6 + VARIANCE_OF_DISCARDED * last.discarded => self.warnings.push(format!(
                "the variance {variance:.1e} is far above what the discarded weight {:.1e} explains: the sweeps are stuck \
                 in a state that is no eigenstate; give noise for more sweeps, such as noise = [1e-3, 1e-4, 1e-5], or \
                 another seed",
                last.discarded
            )),
            Some(_) => {}
        }
    }
}
