//! A start state for sweeps that cannot move charge to where it belongs, in a sector too large to be
//! [diagonalised](crate::dmrg::run::check).
//!
//! In: a chain with conserved charges that were not declared, or with charges moved by weak terms only; the states below the
//! one that is searched, or the weights of states that are searched together. Out: a sweeper with ψ at the first bond.
//! Hops between neighbours along the chain are added to H. They start as large as the largest term of H and weaken from
//! sweep to sweep (annealing by quantum fluctuations: Kadowaki, Nishimori, Phys. Rev. E 58, 5355 (1998)). They carry
//! charge where H cannot; when they are gone, the charge is distributed with the least energy. All the while ψ stays
//! orthogonal to the states below, so that what is left is the next one above them. The result is compared with a random
//! start after the same number of sweeps of H, and the lower of the two is used. This finds the states of most chains, but
//! proves it for none.

use super::eviction::Evictable;
use super::reference::ReferenceState;
use super::sweeper::Sweeper;
use crate::dmrg::block::state::Isometry;
use crate::dmrg::block::truncate::TruncationLimits;
use crate::dmrg::chain::Chain;
use crate::dmrg::engine::Engine;
use crate::dmrg::error::DmrgError;
use crate::dmrg::options::{Options, START_STATES};
use crate::dmrg::sweep_plan::SweepPlan;
use eigenforge_runtime::solvers::lean::DavidsonLimits;

/// Strength of the added hops in each sweep, in units of the largest term.
const HOPS: [f64; 9] = [1.0, 0.6, 0.4, 0.2, 0.1, 0.05, 0.02, 0.01, 0.003];
/// Largest number of kept states: this is a start state, not a result.
const STATES: usize = 64;
/// Sweeps of H itself before the two starts are compared; the first of them has noise.
const COMPARED: usize = 3;
const NOISE: f64 = 1e-4;

/// A state between two sweeps, on the host.
struct Snapshot {
    kept: Vec<Option<Isometry>>,
    /// ψ, and the states that share its kept states.
    waves: Vec<Vec<f64>>,
    energy: f64,
}

/// Starts that [`start`] compares.
pub(crate) const STARTS: usize = 3;

/// A way to a start.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    seed: u64,
    is_annealed: bool,
    /// States beside ψ that share its kept states on the way.
    beside: usize,
}

fn candidates() -> Vec<Candidate> {
    let text = std::env::var("EF_STARTS").unwrap_or("R0,A0".into());
    let of = |word: &str| {
        let seed = word[1..].parse().unwrap();
        let beside = if word.starts_with('T') { 2 } else { 0 };
        Candidate { seed, is_annealed: !word.starts_with('R'), beside }
    };
    text.split(',').map(of).collect()
}

/// Returns the better of an annealed and a random start, orthogonal to the states below.
///
/// # Errors
/// Errors of the engine.
pub(crate) fn start<'c, E: Engine>(
    engine: E,
    chain: &'c Chain,
    options: &Options,
    seed: u64,
    below: Vec<ReferenceState<E::Buffer>>,
) -> Result<Sweeper<'c, E>, DmrgError> {
    let most = options.states.iter().copied().max().unwrap_or(1).min(STATES);
    let joined = HOPS.into_iter().map(|size| chain.joined(size)).collect::<Result<Vec<_>, _>>()?;
    let mut passed = Passed { options, beside: 0, below };
    let (mut engine, mut best): (E, Option<Snapshot>) = (engine, None);
    for candidate in candidates() {
        let room = chain.dimension() - (passed.below.len() / chain.copies()) as f64;
        let beside = if options.weights.is_some() { 0 } else { candidate.beside };
        passed.beside = beside.min((room - 1.0).max(0.0) as usize);
        let mut sweeper = passed.random(engine, chain, seed.wrapping_add(1000 * candidate.seed))?;
        if candidate.is_annealed {
            let mut state = sweeper.snapshot(f64::INFINITY)?;
            engine = passed.release(sweeper);
            for joined in &joined {
                let mut sweeper = passed.restored(engine, joined, state)?;
                sweep(&mut sweeper, most, 0.0)?;
                state = sweeper.snapshot(f64::INFINITY)?;
                engine = passed.release(sweeper);
            }
            sweeper = passed.restored(engine, chain, state)?;
        }
        if passed.beside > 0 {
            sweep(&mut sweeper, most, NOISE)?;
            sweep(&mut sweeper, most, 0.0)?;
            sweeper.keep_lowest();
            passed.beside = 0;
        }
        let found = settle(&mut sweeper, most)?;
        if std::env::var("EF_TELL").is_ok() {
            eprintln!("start {candidate:?} {}", found.energy);
        }
        engine = passed.release(sweeper);
        if best.as_ref().is_none_or(|best| found.energy < best.energy) {
            best = Some(found);
        }
    }
    let best = best.expect("there is a candidate");
    passed.restored(engine, chain, best)
}

/// What passes from one sweeper of a search to the next.
struct Passed<'a, B> {
    options: &'a Options,
    beside: usize,
    below: Vec<ReferenceState<B>>,
}

impl<B> Passed<'_, B> {
    /// A random state.
    fn random<'c, E: Engine<Buffer = B>>(
        &mut self,
        engine: E,
        chain: &'c Chain,
        seed: u64,
    ) -> Result<Sweeper<'c, E>, DmrgError> {
        let sweeper = Sweeper::random(engine, chain, START_STATES, seed)?;
        self.with_others(sweeper, Vec::new())
    }

    /// A state of a snapshot, with H of this chain.
    fn restored<'c, E: Engine<Buffer = B>>(
        &mut self,
        engine: E,
        chain: &'c Chain,
        state: Snapshot,
    ) -> Result<Sweeper<'c, E>, DmrgError> {
        let mut waves = state.waves.into_iter();
        let sweeper = Sweeper::restored(engine, chain, state.kept, waves.next().unwrap_or_default(), 0)?;
        self.with_others(sweeper, waves.collect())
    }

    fn with_others<'c, E: Engine<Buffer = B>>(
        &mut self,
        mut sweeper: Sweeper<'c, E>,
        others: Vec<Vec<f64>>,
    ) -> Result<Sweeper<'c, E>, DmrgError> {
        let weights = match &self.options.weights {
            Some(weights) => Some(weights.clone()),
            None => (self.beside > 0).then(|| vec![1.0; 1 + self.beside]),
        };
        if let Some(weights) = weights {
            sweeper.share_among(&weights, (self.options.seed, self.options.basis), others)?;
        }
        sweeper.stay_orthogonal_to(std::mem::take(&mut self.below), 0)?;
        Ok(sweeper)
    }

    /// The engine of a sweeper that is no longer needed.
    fn release<E: Engine<Buffer = B>>(&mut self, mut sweeper: Sweeper<'_, E>) -> E {
        self.below = sweeper.take_references();
        sweeper.into_engine()
    }
}

/// Runs some sweeps of H itself.
fn settle<E: Engine>(sweeper: &mut Sweeper<'_, E>, most: usize) -> Result<Snapshot, DmrgError> {
    let mut energy = f64::INFINITY;
    for number in 0..COMPARED {
        energy = sweep(sweeper, most, if number == 0 { NOISE } else { 0.0 })?;
    }
    sweeper.snapshot(energy)
}

/// Runs one sweep and returns the lowest energy of a bond, or the lowest average of states that share their kept states.
fn sweep<E: Engine>(sweeper: &mut Sweeper<'_, E>, most: usize, noise: f64) -> Result<f64, DmrgError> {
    let limits = TruncationLimits { most, least: 1, discarded: 0.0, factored: None };
    let davidson = DavidsonLimits { tolerance: 1e-5, products: 40 };
    let plan = SweepPlan { limits, factor_rows: 0, noise, davidson, random: None };
    let is_averaged = sweeper.averaged.is_some();
    Sweeper::<E>::path(sweeper.chain.sites).try_fold(f64::INFINITY, |lowest, (p, grows)| {
        let bond = sweeper.step(p, grows, &plan)?;
        // A bond without room for all states has no average.
        Ok(lowest.min(if is_averaged { bond.average.unwrap_or(f64::INFINITY) } else { bond.energy }))
    })
}

impl<E: Engine> Sweeper<'_, E> {
    /// Copies the state, with ψ at the first bond, to the host.
    fn snapshot(&mut self, energy: f64) -> Result<Snapshot, DmrgError> {
        let mut kept = Vec::with_capacity(self.chain.sites);
        for site in 0..self.chain.sites {
            self.ensure_resident(Evictable::Kept(site))?;
            let copy = |own: &Isometry<E::Buffer>| {
                let data = self.engine.download(&own.data)?.into_owned();
                own.tables().carried(|_| Ok::<_, DmrgError>(data))
            };
            kept.push(self.kept[site].as_ref().map(copy).transpose()?);
            self.mark_evictable(&[Evictable::Kept(site)])?;
        }
        let waves = self.waves().map(|wave| Ok(self.engine.download(wave)?.into_owned()));
        let waves = waves.collect::<Result<_, DmrgError>>()?;
        Ok(Snapshot { kept, waves, energy })
    }
}
