//! A start state for sweeps that cannot move charge to where it belongs, in a sector too large to be
//! [diagonalised](crate::dmrg::run::check).
//!
//! In: a chain with conserved charges that were not declared, or with charges moved by weak terms only. Out: a sweeper
//! with ψ at the first bond.
//! Hops between neighbours along the chain are added to H. They start as large as the largest term of H and weaken from
//! sweep to sweep (annealing by quantum fluctuations: Kadowaki, Nishimori, Phys. Rev. E 58, 5355 (1998)). They carry
//! charge where H cannot; when they are gone, the charge is distributed with the least energy. The result is compared
//! with a random start after the same number of sweeps of H, and the lower of the two is used. This finds the lowest
//! state of most chains, but proves it for none.

use super::eviction::Evictable;
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
    wave: Vec<f64>,
    energy: f64,
}

/// Returns the better of an annealed and a random start.
///
/// # Errors
/// Errors of the engine.
pub(crate) fn start<'c, E: Engine>(
    engine: E,
    chain: &'c Chain,
    options: &Options,
    seed: u64,
) -> Result<Sweeper<'c, E>, DmrgError> {
    let most = options.states.iter().copied().max().unwrap_or(1).min(STATES);
    let mut sweeper = Sweeper::random(engine, chain, START_STATES, seed)?;
    let random = settle(&mut sweeper, most)?;
    let mut engine = sweeper.into_engine();
    let mut sweeper = Sweeper::random(engine, chain, START_STATES, seed)?;
    let mut state = sweeper.snapshot(f64::INFINITY)?;
    engine = sweeper.into_engine();
    for hops in HOPS {
        let joined = chain.joined(hops)?;
        let mut sweeper = Sweeper::restored(engine, &joined, state.kept, state.wave, 0)?;
        sweep(&mut sweeper, most, 0.0)?;
        state = sweeper.snapshot(f64::INFINITY)?;
        engine = sweeper.into_engine();
    }
    let mut sweeper = Sweeper::restored(engine, chain, state.kept, state.wave, 0)?;
    let annealed = settle(&mut sweeper, most)?;
    if annealed.energy <= random.energy {
        return Ok(sweeper);
    }
    Sweeper::restored(sweeper.into_engine(), chain, random.kept, random.wave, 0)
}

/// Runs some sweeps of H itself.
fn settle<E: Engine>(sweeper: &mut Sweeper<'_, E>, most: usize) -> Result<Snapshot, DmrgError> {
    let mut energy = f64::INFINITY;
    for number in 0..COMPARED {
        energy = sweep(sweeper, most, if number == 0 { NOISE } else { 0.0 })?;
    }
    sweeper.snapshot(energy)
}

/// Runs one sweep and returns the lowest energy of a bond.
fn sweep<E: Engine>(sweeper: &mut Sweeper<'_, E>, most: usize, noise: f64) -> Result<f64, DmrgError> {
    let limits = TruncationLimits { most, least: 1, discarded: 0.0, factored: None };
    let davidson = DavidsonLimits::new(1e-5, 40);
    let plan = SweepPlan { limits, factor_rows: 0, noise, davidson, random: None };
    Sweeper::<E>::path(sweeper.chain.sites)
        .try_fold(f64::INFINITY, |lowest, (p, grows)| Ok(lowest.min(sweeper.step(p, grows, &plan)?.energy)))
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
        let wave = self.engine.download(&self.wave)?.into_owned();
        Ok(Snapshot { kept, wave, energy })
    }
}
