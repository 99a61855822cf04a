//! What a run found, sweep by sweep and in the end.

use super::check::{Restart, SectorCheck};
use super::extrapolate::{Extrapolated, extrapolate};
use super::search::{SearchResult, last_sweep};
use super::uncertainty::{ExactLevel, energy_error};
use crate::chain::Chain;
use crate::chain::units::Units;
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

/// What a run found.
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
    /// The energy at no discarded weight, if sweeps settled at two numbers of states.
    pub extrapolated: Option<Extrapolated>,
    /// The sweeps.
    pub sweeps: Vec<SweepRecord>,
    /// Steps of the infinite-lattice algorithm before them.
    pub growth: Vec<GrowthRecord>,
    /// Why they ended.
    pub stop: SweepStop,
    /// One-site sweeps at the end, if they were asked for.
    pub polish: Option<PolishRecord>,
    /// Σ w_i E_i, if states were asked for that share their kept states.
    pub average: Option<f64>,
    /// The states above this one, if they were asked for, ascending.
    pub excited: Vec<ExcitedState>,
    /// The cuts, left to right.
    pub cuts: Vec<CutRecord>,
    /// Averages in the lowest state, on the sites of the lattice: the standard ones and [`Options::observables`].
    pub averages: Averages,
    /// Averages of [`Options::observables`] in each state, the lowest first; empty if there are none.
    pub state_averages: Vec<Averages>,
    /// The lowest levels of the whole sector, where it is small enough to be diagonalised beside the sweeps.
    pub check: Option<SectorCheck>,
    /// Searches that had ended above their states and were done again.
    pub restarts: Vec<Restart>,
    /// What a careful reader must know.
    pub warnings: Vec<String>,
    /// The memory plan and what was taken and held, if the engine counts.
    pub memory: Option<MemoryUse>,
    /// What each card did of the products with H, the one that leads first; empty on the CPU.
    pub cards: Vec<CardWork>,
    /// Starts of the lowest state that were compared.
    pub starts: usize,
    /// Sweeps that a checkpoint had already done.
    pub resumed: usize,
    /// Seconds of the sweeps.
    pub sweeping: f64,
    /// Seconds of the variances, which certify the energies.
    pub certifying: f64,
    /// Seconds of entropies and averages.
    pub measuring: f64,
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

/// (discarded weight, energy) at each number of states that two sweeps without noise agree on to a hundredth of the
/// discarded weight, or to the tolerance.
pub(crate) fn settled_points(options: &Options, sweeps: &[SweepRecord]) -> Vec<(f64, f64)> {
    let mut points: Vec<(usize, f64, f64)> = Vec::new();
    for pair in sweeps.windows(2) {
        let [before, last] = pair else { continue };
        let same = before.states == last.states && before.noise == 0.0 && last.noise == 0.0;
        let close = (before.energy - last.energy).abs() <= (IMPROVEMENT * last.discarded).max(options.tolerance);
        if same && close && last.discarded > 0.0 {
            points.retain(|(states, ..)| *states != last.states);
            points.push((last.states, last.discarded, last.energy));
        }
    }
    points.into_iter().map(|(_, discarded, energy)| (discarded, energy)).collect()
}

impl SearchResult {
    /// What one search found, without what is known of other states.
    pub(crate) fn found(self, options: &Options, variance: Option<Variance>, walked: ChainMeasurements) -> DmrgResult {
        DmrgResult {
            energy: self.energy,
            energy_error: None,
            polish: self.polish,
            average: None,
            variance: variance.map(|of| of.value),
            variance_error: variance.and_then(|of| of.error),
            extrapolated: extrapolate(&settled_points(options, self.progress.counted())),
            starts: self.progress.starts,
            warnings: self.progress.leg.sentence().into_iter().collect(),
            growth: self.progress.growth,
            sweeps: self.progress.sweeps,
            stop: self.stop,
            excited: Vec::new(),
            cuts: walked.cuts,
            averages: walked.averages,
            state_averages: Vec::new(),
            check: None,
            restarts: Vec::new(),
            memory: None,
            cards: Vec::new(),
            resumed: self.resumed,
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
        for state in &mut self.excited {
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
