//! What a run found, sweep by sweep and in the end.

use super::check::{Restart, SectorCheck};
use super::extrapolate::{Extrapolated, Visited, extrapolate, reason, settled};
use super::search::{SearchResult, last_sweep};
use super::uncertainty::{ExactLevel, energy_error};
use crate::chain::Chain;
use crate::chain::units::Units;
use crate::matrix_product::MatrixProductState;
use crate::measure::residual::Variance;
use crate::measure::{ChainMeasurements, CutRecord};
use crate::memory::refine::MemoryUse;
use crate::options::{IMPROVEMENT, Options};
use crate::sweep::growth::GrowthRecord;
use crate::sweep::polish::PolishRecord;
use crate::sweep::sweep_record::{SweepRecord, SweepStop};
use eigenforge_core::observable::Averages;
use eigenforge_runtime::solvers::lean::CardWork;
use serde::{Deserialize, Serialize};
use std::ops::{Deref, DerefMut};

/// What a run found. Fields of its [`SearchRecord`] are read as its own.
#[derive(Clone, Debug)]
pub struct DmrgResult {
    /// ⟨H⟩ of the state.
    pub energy: f64,
    /// How far it may be off: |E − E_true| is at most this. `None` if unknown.
    pub energy_error: Option<f64>,
    /// ⟨H²⟩ − ⟨H⟩²; `None` if it is not known.
    pub variance: Option<f64>,
    /// Its standard error, where it was computed from few vectors; `None` where it is good to rounding.
    pub variance_error: Option<f64>,
    /// Why the sweeps ended.
    pub stop: SweepStop,
    /// How the search went.
    pub search: SearchRecord,
    /// Averages in the lowest state, on the sites of the lattice: the standard ones and [`Options::observables`].
    pub averages: Averages,
    /// Averages of [`Options::observables`] in each state, the lowest first; empty if there are none.
    pub state_averages: Vec<Averages>,
    /// The states, the lowest first, where [`Options::vectors`] wants them.
    pub states: Vec<MatrixProductState>,
    /// What a careful reader must know.
    pub warnings: Vec<String>,
    /// Starts of the lowest state that were compared.
    pub starts: usize,
    /// Seconds of the sweeps.
    pub sweeping: f64,
    /// Seconds of the variances, which certify the energies.
    pub certifying: f64,
    /// Seconds of entropies and averages.
    pub measuring: f64,
}

/// How a search went, as reports have it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchRecord {
    /// Σ w_i E_i of states that share their kept states; `None` where each has its own.
    pub average: Option<f64>,
    /// The energy at no discarded weight, if sweeps settled at two numbers of states.
    pub extrapolated: Option<Extrapolated>,
    /// Why it is missing, where truncation discarded something.
    #[serde(default)]
    pub not_extrapolated: Option<String>,
    /// Steps of the infinite-lattice algorithm; empty unless the chain was grown.
    pub growth: Vec<GrowthRecord>,
    /// The sweeps, in order.
    pub sweeps: Vec<SweepRecord>,
    /// One-site sweeps at the end, if they were asked for.
    pub polish: Option<PolishRecord>,
    /// The states above the lowest, if they were asked for, ascending.
    pub excited: Vec<ExcitedState>,
    /// The lowest levels of the whole sector, where it is small enough to be diagonalised beside the sweeps.
    pub check: Option<SectorCheck>,
    /// Searches that had ended above their states and were done again from the exact ones.
    pub restarts: Vec<Restart>,
    /// Sweeps that a checkpoint had already done.
    #[serde(rename = "resumed_sweeps")]
    pub resumed: usize,
    /// The cuts from left to right: entropy and the largest weights.
    pub cuts: Vec<CutRecord>,
    /// The memory plan and what was taken and held, if the engine counts.
    #[serde(rename = "memory_held")]
    pub memory: Option<MemoryUse>,
    /// What each card did of the products with H, the one that leads first; empty on the CPU.
    #[serde(default)]
    pub cards: Vec<CardWork>,
}

impl Deref for DmrgResult {
    type Target = SearchRecord;

    fn deref(&self) -> &SearchRecord {
        &self.search
    }
}

impl DerefMut for DmrgResult {
    fn deref_mut(&mut self) -> &mut SearchRecord {
        &mut self.search
    }
}

/// A state above the lowest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExcitedState {
    /// ⟨H⟩.
    pub energy: f64,
    /// How far it may be off.
    #[serde(default)]
    pub energy_error: Option<f64>,
    /// ⟨H²⟩ − ⟨H⟩².
    pub variance: Option<f64>,
    /// Its standard error, where it was computed from few vectors.
    #[serde(default)]
    pub variance_error: Option<f64>,
    /// The largest |⟨lower state|ψ⟩|.
    pub overlap: f64,
    /// Why its sweeps ended.
    pub stop: SweepStop,
    /// One-site sweeps at its end, if they were asked for.
    pub polish: Option<PolishRecord>,
    /// Its sweeps; none where it shared those of the lowest.
    pub sweeps: Vec<SweepRecord>,
    /// Starts that were compared.
    #[serde(default)]
    pub starts: usize,
}

/// (discarded weight, energy) at each number of states where the last two sweeps, without noise, [agree](settled).
pub(crate) fn settled_points(options: &Options, sweeps: &[SweepRecord]) -> Vec<(f64, f64)> {
    let mut visited: Vec<(usize, Visited)> = Vec::new();
    for pair in sweeps.windows(2) {
        let [before, last] = pair else { continue };
        if before.states == last.states && before.noise == 0.0 && last.noise == 0.0 && last.discarded > 0.0 {
            let (earlier, energy) = (before.compared_energy(options), last.compared_energy(options));
            let now = Visited { discarded: last.discarded, energy, change: (earlier - energy).abs() };
            visited.retain(|(states, _)| *states != last.states);
            visited.push((last.states, now));
        }
    }
    let visited: Vec<Visited> = visited.into_iter().map(|(_, visited)| visited).collect();
    settled(&visited, IMPROVEMENT, options.tolerance)
}

impl SearchResult {
    /// What one search found, without what is known of other states.
    pub(crate) fn found(self, options: &Options, variance: Option<Variance>, walked: ChainMeasurements) -> DmrgResult {
        let points = settled_points(options, self.progress.counted());
        let extrapolated = extrapolate(&points);
        let discarded = last_sweep(&self.progress.sweeps, &self.progress.growth).discarded;
        let search = SearchRecord {
            extrapolated,
            not_extrapolated: if extrapolated.is_some() {
                None
            } else {
                reason(&points, &options.states, options.noisy_sweeps(), discarded)
            },
            growth: self.progress.growth,
            sweeps: self.progress.sweeps,
            polish: self.polish,
            resumed: self.resumed,
            cuts: walked.cuts,
            ..SearchRecord::default()
        };
        DmrgResult {
            energy: self.energy,
            energy_error: None,
            variance: variance.map(|of| of.value),
            variance_error: variance.and_then(|of| of.error),
            stop: self.stop,
            search,
            averages: walked.averages,
            state_averages: Vec::new(),
            states: Vec::new(),
            warnings: self.progress.leg.sentence().into_iter().collect(),
            starts: self.progress.starts,
            sweeping: 0.0,
            certifying: 0.0,
            measuring: 0.0,
        }
    }
}

impl DmrgResult {
    /// States how far each energy may be off; everything is in the units of the chain.
    pub(crate) fn state_errors(&mut self, chain: &Chain) {
        let exact = |state: usize| {
            let check = self.check.as_ref()?;
            let (value, error) = (*check.energies.get(state)?, *check.errors.get(state)?);
            Some(ExactLevel { value, error })
        };
        let last = last_sweep(&self.sweeps, &self.growth);
        let of =
            |energy, variance, last: &SweepRecord, state| energy_error(chain, energy, variance, last, exact(state));
        let lowest = of(self.energy, self.variance, &last, 0);
        let excited = self
            .excited
            .iter()
            .enumerate()
            .map(|(k, state)| of(state.energy, state.variance, state.sweeps.last().unwrap_or(&last), k + 1));
        let excited: Vec<Option<f64>> = excited.collect();
        self.energy_error = lowest;
        self.excited.iter_mut().zip(excited).for_each(|(state, error)| state.energy_error = error);
    }

    /// From the units of the chain to those of the model.
    pub(crate) fn in_units(&mut self, units: &Units) {
        let energies =
            |sweeps: &mut Vec<SweepRecord>| sweeps.iter_mut().for_each(|sweep| *sweep = sweep.in_units(units));
        let polished = |polish: &mut Option<PolishRecord>| {
            *polish = polish.map(|polish| PolishRecord {
                energy: units.energy(polish.energy),
                change: units.scale * polish.change,
                residual: units.scale * polish.residual,
                ..polish
            });
        };
        let error =
            |error: &mut Option<f64>| *error = error.map(|error| units.scale * error + units.rounding_of_constants());
        error(&mut self.energy_error);
        self.energy = units.energy(self.energy);
        let square = |value: &mut Option<f64>| *value = value.map(|value| units.square(value));
        [&mut self.variance, &mut self.variance_error].into_iter().for_each(square);
        self.average = self.average.map(|average| units.energy(average));
        self.extrapolated = self.extrapolated.map(|found| Extrapolated {
            energy: units.energy(found.energy),
            error: units.scale * found.error,
            ..found
        });
        energies(&mut self.sweeps);
        polished(&mut self.polish);
        for step in &mut self.growth {
            step.energy = units.energy(step.energy);
            step.energy_per_site = step.energy_per_site.map(|energy| units.scale * energy);
            step.residual *= units.scale;
        }
        for state in &mut self.search.excited {
            state.energy = units.energy(state.energy);
            error(&mut state.energy_error);
            [&mut state.variance, &mut state.variance_error].into_iter().for_each(square);
            energies(&mut state.sweeps);
            polished(&mut state.polish);
        }
        if let Some(check) = &mut self.check {
            check.energies.iter_mut().for_each(|energy| *energy = units.energy(*energy));
            check.errors.iter_mut().for_each(|error| *error *= units.scale);
        }
        self.restarts.iter_mut().for_each(|restart| restart.energy_before = units.energy(restart.energy_before));
    }
}
