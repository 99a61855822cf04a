//! What a run found, sweep by sweep and in the end, and what a careful reader must be told of it.

use super::correlations::Correlations;
use super::extrapolate::Extrapolated;
use super::growth::GrowthRecord;
use super::measure::{Cut, SiteAverages};
use super::options::Options;
use super::polish::PolishRecord;
use super::refine::MemoryHeld;
use super::sweep::BondRecord;
use serde::{Deserialize, Serialize};

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
    /// The lowest average of the energies of a superblock, of states that share their kept states.
    #[serde(default)]
    pub average: Option<f64>,
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
    pub(super) fn begin(options: &Options, sweep: usize) -> SweepRecord {
        let (states, noise) = (options.states_of(sweep), options.noise_of(sweep));
        SweepRecord { states, noise, energy: f64::INFINITY, ..SweepRecord::default() }
    }

    pub(super) fn add(&mut self, bond: &BondRecord) {
        self.energy = self.energy.min(bond.energy);
        self.average = match (self.average, bond.average) {
            (Some(before), Some(now)) => Some(before.min(now)),
            (before, now) => before.or(now),
        };
        self.kept = self.kept.max(bond.kept);
        self.discarded = self.discarded.max(bond.discarded);
        self.residual = self.residual.max(bond.residual);
        self.dimension = self.dimension.max(bond.dimension);
        self.products += bond.products;
        self.flops += bond.products as f64 * bond.flops;
    }
}

/// Why the sweeps ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// A sweep without noise changed the energy by less than the tolerance.
    Converged,
    /// As many sweeps as were allowed.
    Sweeps,
    /// The chain has its length, and no sweeps were asked for.
    Grown,
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
    /// Steps of the infinite-lattice algorithm before them.
    pub growth: Vec<GrowthRecord>,
    /// Why they ended.
    pub stop: Stop,
    /// One-site sweeps at the end, if they were asked for.
    pub polish: Option<PolishRecord>,
    /// Σ w_i E_i, if states were asked for that share their kept states.
    pub average: Option<f64>,
    /// The states above this one, if they were asked for, ascending as they were found.
    pub excited: Vec<Excited>,
    /// The cuts, left to right.
    pub cuts: Vec<Cut>,
    /// Averages by position.
    pub sites: Vec<SiteAverages>,
    /// Correlations by position, if they were asked for.
    pub correlations: Option<Correlations>,
    /// What a careful reader must know.
    pub warnings: Vec<String>,
    /// The memory plan and what was taken and held, if the engine counts.
    pub memory: Option<MemoryHeld>,
    /// Sweeps that a checkpoint had already done.
    pub resumed: usize,
    /// Seconds of the sweeps.
    pub sweeping: f64,
    /// Seconds of variance, entropies and averages.
    pub measuring: f64,
}

/// A state above the lowest.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Excited {
    /// ⟨H⟩.
    pub energy: f64,
    /// ⟨H²⟩ − ⟨H⟩².
    pub variance: Option<f64>,
    /// The largest |⟨lower state|ψ⟩|.
    pub overlap: f64,
    /// Why its sweeps ended.
    pub stop: Stop,
    /// One-site sweeps at its end, if they were asked for.
    pub polish: Option<PolishRecord>,
    /// Its sweeps; none where it shared those of the lowest.
    pub sweeps: Vec<SweepRecord>,
}

/// (discarded weight, energy) at each number of states that two sweeps without noise agree on to a hundredth of the
/// discarded weight, or to the tolerance.
pub(super) fn settled_points(options: &Options, sweeps: &[SweepRecord]) -> Vec<(f64, f64)> {
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

/// A state that has lost more than this at a cut is a sketch, whatever its energy settled to.
const MUCH_DISCARDED: f64 = 1e-4;

impl Found {
    /// Takes up a state above; says where it is none, or below what was called the lowest.
    pub(super) fn add(&mut self, excited: Excited, target: usize, options: &Options) {
        let below = self.excited.last().map_or(self.energy, |last| last.energy);
        if excited.energy < below - options.tolerance.max(1e-9) {
            self.warnings.push(format!(
                "state {target} has the energy {:.10}, below state {}: the search for that one was stuck; give more noise, \
                 states or another seed",
                excited.energy,
                target - 1
            ));
        }
        if excited.stop == Stop::Sweeps && !excited.sweeps.is_empty() {
            self.warnings.push(format!("state {target} stopped without settling; raise `sweeps`"));
        }
        let discarded = excited.sweeps.last().or(self.sweeps.last()).map_or(0.0, |sweep| sweep.discarded);
        if excited.variance.is_some_and(|variance| variance > 1e-6 + VARIANCE_OF_DISCARDED * discarded) {
            self.warnings.push(format!("state {target} is no eigenstate to what its discarded weight explains"));
        }
        self.excited.push(excited);
    }

    pub(super) fn warn(&mut self, options: &Options) {
        let grown = self.growth.last().map(|_| self.growth.iter().map(|step| step.discarded).fold(0.0, f64::max));
        let grown = SweepRecord { discarded: grown.unwrap_or(0.0), ..SweepRecord::default() };
        let last = self.sweeps.last().copied().unwrap_or(grown);
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
        if last.discarded > MUCH_DISCARDED {
            self.warnings.push(format!(
                "a cut drops {:.1e} of the weight: {} states are too few for this state; raise `states`, or try another `order`",
                last.discarded, last.kept
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of a run whose last sweep discarded so much and whose state has this variance.
    fn warnings(variance: Option<f64>, discarded: f64, stop: Stop) -> Vec<String> {
        let sweep = SweepRecord { discarded, kept: 64, energy: -1.0, ..SweepRecord::default() };
        let mut found = Found { variance, sweeps: vec![sweep, sweep], stop, ..empty() };
        found.warn(&Options::default());
        found.warnings
    }

    #[test]
    fn a_variance_that_the_discarded_weight_does_not_explain_is_said_to_be_stuck() {
        let stuck = warnings(Some(1e-3), 1e-10, Stop::Converged);
        assert!(stuck.len() == 1 && stuck[0].contains("stuck"), "{stuck:?}");
        assert!(warnings(Some(1e-3), 1e-5, Stop::Converged).is_empty(), "explained by truncation");
        assert!(warnings(Some(1e-10), 0.0, Stop::Converged).is_empty(), "an eigenstate");
        let few = warnings(Some(0.5), 0.2, Stop::Converged);
        assert!(few.len() == 1 && few[0].contains("64 states are too few"), "{few:?}");
        assert!(warnings(None, 0.0, Stop::Sweeps).iter().any(|said| said.contains("raise `sweeps`")));
    }

    #[test]
    fn a_state_above_that_lies_below_betrays_a_search_that_was_stuck() {
        let mut found = empty();
        let above = |energy| Excited {
            energy,
            variance: Some(0.0),
            overlap: 0.0,
            stop: Stop::Converged,
            polish: None,
            sweeps: Vec::new(),
        };
        found.add(above(-0.5), 1, &Options::default());
        assert!(found.warnings.is_empty());
        found.add(above(-1.5), 2, &Options::default());
        assert!(found.warnings[0].contains("below state 1"), "{:?}", found.warnings);
    }

    fn empty() -> Found {
        Found {
            energy: -1.0,
            average: None,
            variance: None,
            extrapolated: None,
            sweeps: Vec::new(),
            growth: Vec::new(),
            stop: Stop::Converged,
            polish: None,
            excited: Vec::new(),
            cuts: Vec::new(),
            sites: Vec::new(),
            correlations: None,
            warnings: Vec::new(),
            memory: None,
            resumed: 0,
            sweeping: 0.0,
            measuring: 0.0,
        }
    }
}
