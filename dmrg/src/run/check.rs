//! Checks whether sweeps found the lowest states, where this can be known: a small enough sector is diagonalised exactly,
//! independently of the sweeps, from the same terms.
//!
//! In: the chain and the levels that searches found. Out: which of them lie too high, and a start from the eigenvectors
//! for better sweeps. A variance of zero proves an eigenstate, not the lowest one; this check proves the lowest.

use crate::block::prepared::Prepared;
use crate::block::start::Random;
use crate::block::whole_sector::{Levels, WholeSector};
use crate::chain::Chain;
use crate::chain::mobility::Mobility;
use crate::error::DmrgError;
use crate::options::Options;
use crate::sweep::sweep_record::SweepRecord;
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// Largest number of matrix elements: takes a fraction of a second.
const ELEMENTS: f64 = 4e6;
/// The same when charge is hindered from moving and sweeps may well be wrong.
const MOST_ELEMENTS: f64 = 6e7;
/// Most levels, a pair for each of a complex chain: each is searched orthogonal to all below it.
const MOST_TARGETS: usize = 16;
/// Most configurations.
const MOST_STATES: f64 = 5e5;
/// A level counts as missed if its error exceeds this fraction of the smallest coupling
const MISSED: f64 = 3e-9;
/// and so many roundings of the norm of H, and also what truncation explains.
const ROUNDINGS: f64 = 4.0;

/// The exact result for a sector that was diagonalised.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SectorCheck {
    /// Its number of states.
    pub dimension: usize,
    /// Its lowest energies, as many as were asked for.
    pub energies: Vec<f64>,
    /// How far each of them may be off.
    #[serde(default)]
    pub errors: Vec<f64>,
    /// Wall-clock time.
    pub seconds: f64,
}

/// A search that ended above its state and was repeated.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Restart {
    /// The state, 0 the lowest.
    pub state: usize,
    /// The energy that the first search reached.
    pub energy_before: f64,
}

/// A sector and its lowest levels, if it is small enough to diagonalise.
pub(crate) struct Check<'c> {
    chain: &'c Chain,
    whole: Option<(WholeSector, Levels)>,
    /// Energies in the units of the chain.
    pub sector: Option<SectorCheck>,
    pub restarts: Vec<Restart>,
}

impl<'c> Check<'c> {
    /// Whether the sector of a chain is small enough to diagonalise.
    pub(crate) fn is_possible(chain: &Chain, options: &Options) -> bool {
        let dimension = chain.reachable.dimension(&chain.local);
        let levels = chain.copies() * options.targets;
        let moving = chain.terms.iter().filter(|term| chain.sum.operators.moves(term)).count();
        let elements = dimension * (1 + moving) as f64;
        let most = if Mobility::new(chain).is_hindered() { MOST_ELEMENTS } else { ELEMENTS };
        options.check && !options.only_reads() && elements <= most && dimension <= MOST_STATES && levels <= MOST_TARGETS
    }

    /// Diagonalises the sector of a chain if it is small enough.
    ///
    /// # Errors
    /// A number is not finite.
    pub(crate) fn new(chain: &'c Chain, options: &Options) -> Result<Check<'c>, DmrgError> {
        let begun = Instant::now();
        let mut check = Check { chain, whole: None, sector: None, restarts: Vec::new() };
        if !Check::is_possible(chain, options) {
            return Ok(check);
        }
        let Some(sector) = WholeSector::new(chain, MOST_STATES as usize) else { return Ok(check) };
        let Some(levels) = sector.lowest(chain, chain.copies() * options.targets)? else { return Ok(check) };
        let dimension = sector.dimension() / chain.copies();
        let energies = levels.values.iter().copied().step_by(chain.copies()).collect();
        let error = |residual: &f64| chain.units.rounding() + residual.min(residual * residual / chain.units.gap());
        let errors = levels.residuals.iter().step_by(chain.copies()).map(error).collect();
        check.sector = Some(SectorCheck { dimension, energies, errors, seconds: begun.elapsed().as_secs_f64() });
        check.whole = Some((sector, levels));
        Ok(check)
    }

    /// Whether any of these levels, for states from number `first` on, lies too high by more than the truncations of the last sweep
    /// explain.
    pub(crate) fn is_missed(&self, first: usize, found: &[f64], last: &SweepRecord) -> bool {
        let Some(sector) = &self.sector else { return false };
        let units = &self.chain.units;
        let allowed = (MISSED * units.least).max(ROUNDINGS * units.rounding()) + units.explained(last);
        let exact = sector.energies.iter().zip(&sector.errors).skip(first);
        found.iter().zip(exact).any(|(found, (exact, error))| *found > exact + error + allowed)
    }

    /// A start for one state, orthogonal to whatever states lie below: a mixture of the levels up to its own.
    ///
    /// # Errors
    /// A number is not finite.
    pub(crate) fn start_of(&self, state: usize, options: &Options) -> Result<Option<Prepared>, DmrgError> {
        let Some(mut prepared) = self.start_of_all(self.chain.copies() * (state + 1), options)? else {
            return Ok(None);
        };
        let mut random = Random::new(options.seed);
        let mut mixture = vec![0.0; prepared.waves.first().map_or(0, Vec::len)];
        for wave in &prepared.waves {
            let part = 1.0 + 0.5 * random.number();
            mixture.iter_mut().zip(wave).for_each(|(sum, x)| *sum += part * x);
        }
        prepared.waves = vec![mixture];
        Ok(Some(prepared))
    }

    /// A start for the lowest states found together.
    ///
    /// # Errors
    /// A number is not finite.
    pub(crate) fn start_of_all(&self, count: usize, options: &Options) -> Result<Option<Prepared>, DmrgError> {
        let Some((sector, levels)) = &self.whole else { return Ok(None) };
        let vectors: Vec<&[f64]> = levels.vectors.iter().take(count).map(Vec::as_slice).collect();
        let most = options.states.iter().copied().max().unwrap_or(1);
        Prepared::new(self.chain, sector, &vectors, most).map(Some)
    }
}
