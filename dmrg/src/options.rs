//! The options of a run, and the sweeps that follow from them.
//!
//! In: [`Options`]. Out: a [`SweepPlan`] for each sweep. A single number of states is reached in three stages: two noisy
//! sweeps at a quarter of it, a noisy and a clean one at half, then clean ones at the full number until the energy
//! settles. A list of numbers has one per sweep, the last one repeated; so does a list of noises, with no noise after its
//! end. A chain grown by the infinite-lattice algorithm keeps all states from the first sweep on, without noise.

use crate::block::truncate;
use crate::chain::units::Units;
use crate::error::DmrgError;
use crate::matrix_product::MatrixProductState;
use crate::sweep_plan::SweepPlan;
use eigenforge_core::observable::Observable;
use eigenforge_runtime::solvers::lean::{BasisChoice, DavidsonLimits, TextChoice};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The options of a run; as data, the keys of `[dmrg]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// Largest number of kept states: one number, or one per sweep.
    pub states: Vec<usize>,
    /// Largest number of sweeps, there and back.
    pub sweeps: usize,
    /// Weight that a truncation may drop even if more states are allowed.
    pub discarded: f64,
    /// Smallest number of kept states, whatever their weight.
    #[serde(rename = "min_states")]
    pub least: usize,
    /// Relative perturbation of the density matrices, one per sweep; `None` for the default of a single number of states.
    pub noise: Option<Vec<f64>>,
    /// The run ends when a sweep without noise changes the energy by less than this fraction of the norm of H
    /// ([`Units::norm`](crate::Units::norm)).
    pub tolerance: f64,
    /// The run also ends when a sweep without noise changes the energy by less than this fraction of the largest weight that the
    /// sweep discarded, in units of the largest term of H: from then on the number of states limits the energy, and not the number
    /// of sweeps. 0: only [`tolerance`](Options::tolerance) ends it.
    #[serde(default)]
    pub improvement: f64,
    /// Seed of the random start.
    pub seed: u64,
    /// Whether to measure the standard correlations of every pair of sites, and the one-particle density matrix.
    pub correlations: bool,
    /// Whether to measure the standard averages of every site.
    #[serde(skip)]
    pub standard: bool,
    /// Observables beside the standard ones, measured in every state.
    #[serde(skip)]
    pub observables: Vec<Observable>,
    /// How the chain gets its first state.
    pub mode: Mode,
    /// How many sites a bond's solve has.
    #[serde(default)]
    pub update: UpdateChoice,
    /// The start vector of each bond's solve.
    pub start: StartVectors,
    /// Number of lowest states wanted, each orthogonal to those below.
    pub targets: usize,
    /// Weight of each target: all are found in one set of kept states, those of Σ w_i ρ_i; `None` searches for each
    /// separately.
    pub weights: Option<Vec<f64>>,
    /// Whether to end with one-site sweeps.
    pub polish: bool,
    /// Rows from which on a card finds the kept states of a sector by way of a factor of its density matrix, in sweeps with the most
    /// states and where a small part of them stays; 0: it decomposes all of them whole.
    #[serde(default = "factor_rows")]
    pub factor_rows: usize,
    /// Whose text Davidson's sweeps over its vectors have on a card. Both give the same bits.
    #[serde(default)]
    pub text: TextChoice,
    /// Whether states with `weights` share a basis in the solve of each bond.
    #[serde(default)]
    pub basis: BasisChoice,
    /// The state that the lowest target's sweeps begin from, in place of a start of their own.
    #[serde(skip)]
    pub written: Option<Arc<MatrixProductState>>,
    /// Whether a run returns its states ([`DmrgResult::states`](crate::DmrgResult::states)).
    #[serde(skip)]
    pub vectors: bool,
    /// Whether a sector that is small enough is also diagonalised whole, and a search that ended above its state done again.
    #[serde(skip)]
    pub check: bool,
}

/// Of a record without the key.
fn factor_rows() -> usize {
    FACTOR_ROWS
}

/// How the chain gets its first state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// A random state of the whole chain.
    #[default]
    Finite,
    /// Growth from both ends by the infinite-lattice algorithm, followed by sweeps, if any.
    Infinite,
}

/// The start vector of each bond's solve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartVectors {
    /// The last bond's ψ, transformed (White) or predicted (McCulloch).
    #[default]
    Carried,
    /// A random vector, as in the paper's runs.
    Random,
}

/// How many sites the solve of a bond has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UpdateChoice {
    /// Two sites.
    #[default]
    Auto,
    /// Both sites of the bond (White 1992).
    TwoSite,
    /// One site, whose bond is first joined by the strongest states that two sites would add (Gleis, Li, von Delft 2023).
    Expanding,
}

impl UpdateChoice {
    /// All of them.
    pub const ALL: [UpdateChoice; 3] = [UpdateChoice::Auto, UpdateChoice::TwoSite, UpdateChoice::Expanding];

    /// What it is for a state in time.
    pub fn in_time(self) -> UpdateChoice {
        if self == UpdateChoice::Expanding { self } else { UpdateChoice::TwoSite }
    }

    /// Its word in model files.
    pub fn name(self) -> &'static str {
        match self {
            UpdateChoice::Auto => "auto",
            UpdateChoice::TwoSite => "two-site",
            UpdateChoice::Expanding => "expanding",
        }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            states: vec![256],
            sweeps: 20,
            discarded: 0.0,
            least: 1,
            noise: None,
            tolerance: 1e-11,
            improvement: IMPROVEMENT,
            seed: 1,
            correlations: false,
            standard: true,
            observables: Vec::new(),
            mode: Mode::default(),
            update: UpdateChoice::default(),
            start: StartVectors::default(),
            targets: 1,
            weights: None,
            polish: false,
            factor_rows: FACTOR_ROWS,
            text: TextChoice::default(),
            basis: BasisChoice::default(),
            written: None,
            vectors: false,
            check: true,
        }
    }
}

/// Most sweeps of a run: a schedule is looked through sweep by sweep.
const MOST_SWEEPS: usize = 100_000;

/// Noise of the first sweeps: enough to escape a wrong filling, and gone before it costs accuracy.
const NOISE: [f64; 3] = [1e-4, 1e-5, 1e-6];
/// Fewer states than this are not worth a sweep of their own.
const FEW: usize = 16;
/// Largest number of products from a random start: the paper's runs need 60 to 122.
const RANDOM_PRODUCTS: usize = 300;
/// Energy changes below this fraction of the norm of H are rounding errors.
const FINEST: f64 = 1e-14;
/// Changes of the energy below this fraction of the discarded weight are not worth a sweep. The energy error of a truncated state is
/// some ten times the weight, so what is left is a thousandth of it; an extrapolation takes energies that have settled this far.
pub const IMPROVEMENT: f64 = 0.01;
/// Rows of a density matrix from which on a card takes a factor of it: shorter ones are decomposed together in a few milliseconds.
pub const FACTOR_ROWS: usize = 1024;
/// States of the random start.
pub const START_STATES: usize = 16;

impl Options {
    /// Checks the ranges of all options.
    ///
    /// # Errors
    /// The option, its allowed values, and its value.
    pub fn check(&self) -> Result<(), DmrgError> {
        let wrong = |option, expected, found: String| Err(DmrgError::Option { option, expected, found });
        if self.states.is_empty() || self.states.contains(&0) {
            return wrong("states", "one number of at least 1, or one per sweep", format!("{:?}", self.states));
        }
        if self.sweeps > MOST_SWEEPS {
            return wrong("sweeps", "at most 100,000", self.sweeps.to_string());
        }
        if self.sweeps == 0 && self.mode == Mode::Finite && self.written.is_none() {
            return wrong(
                "sweeps",
                "at least 1, or 0 with mode = \"infinite\" or a written state as start",
                "0".into(),
            );
        }
        if self.written.is_some() {
            if self.mode == Mode::Infinite {
                return wrong("mode", "\"finite\" where a written state is the start", "\"infinite\"".into());
            }
            if let Some(weights) = &self.weights {
                let expected = "left out where a written state is the start, which is one state";
                return wrong("weights", expected, format!("{weights:?}"));
            }
        }
        if self.targets == 0 {
            return wrong("targets", "at least 1, the number of lowest states", "0".into());
        }
        if let Some(weights) = &self.weights {
            let positive = weights.iter().all(|weight| weight.is_finite() && *weight > 0.0);
            if weights.len() != self.targets || !positive {
                return wrong("weights", "a positive number for each of `targets`", format!("{weights:?}"));
            }
            if self.polish {
                return wrong(
                    "polish",
                    "false with `weights`, because one-site sweeps improve a single state",
                    "true".into(),
                );
            }
        }
        if self.update == UpdateChoice::Expanding {
            if let Some(weights) = &self.weights {
                let expected = "left out with update = \"expanding\", which finds states of a single target; or update = \"two-site\"";
                return wrong("weights", expected, format!("{weights:?}"));
            }
            if self.start == StartVectors::Random {
                let expected =
                    "\"auto\" with update = \"expanding\", which continues from the last ψ; or update = \"two-site\"";
                return wrong("start", expected, "\"random\"".into());
            }
            if self.sweeps == 0 {
                let expected = "at least 1 with update = \"expanding\", because growth has two sites";
                return wrong("sweeps", expected, "0".into());
            }
        }
        if self.targets > 1 && self.sweeps == 0 {
            return wrong("sweeps", "at least 1 with more than one target", "0".into());
        }
        if !(0.0..1.0).contains(&self.discarded) {
            return wrong("discarded", "a weight from 0 to below 1", self.discarded.to_string());
        }
        let noise = self.noise.iter().flatten().find(|noise| !(0.0..1.0).contains(*noise));
        if let Some(noise) = noise {
            return wrong("noise", "from 0 to below 1", noise.to_string());
        }
        if self.tolerance.is_nan() || self.tolerance <= 0.0 {
            return wrong("tolerance", "a positive number such as 1e-11", self.tolerance.to_string());
        }
        if !(0.0..1.0).contains(&self.improvement) {
            return wrong("improvement", "a fraction from 0 to below 1", self.improvement.to_string());
        }
        Ok(())
    }

    /// The same with the tolerance in the units of a chain, no finer than the rounding of its energy.
    pub fn in_units(&self, units: &Units) -> Options {
        let resolution = units.resolution();
        Options { tolerance: (resolution * self.tolerance.max(FINEST)).max(units.rounding()), ..self.clone() }
    }

    /// The same for a search that starts from a good state: all states from the first sweep on, without noise.
    pub(super) fn prepared(&self) -> Options {
        let most = self.states.iter().copied().max().unwrap_or(1);
        let (mode, start) = (Mode::Finite, StartVectors::Carried);
        Options { states: vec![most, most], noise: Some(Vec::new()), mode, start, ..self.clone() }
    }

    /// Whether a written state is only read off: no sweeps are asked for.
    pub(crate) fn only_reads(&self) -> bool {
        self.written.is_some() && self.sweeps == 0
    }

    /// States kept in a sweep.
    pub fn states_of(&self, sweep: usize) -> usize {
        match self.states.as_slice() {
            // A grown chain has a state that deserves all of them.
            [most] if self.mode == Mode::Infinite => *most,
            [most] => {
                let part = [most / 4, most / 4, most / 2, most / 2].get(sweep).copied().unwrap_or(*most);
                part.max(FEW).min(*most)
            }
            list => list[sweep.min(list.len() - 1)],
        }
    }

    /// Noise of a sweep.
    pub fn noise_of(&self, sweep: usize) -> f64 {
        let usual: &[f64] = if self.mode == Mode::Infinite { &[] } else { &NOISE };
        let list = self.noise.as_deref().unwrap_or(usual);
        list.get(sweep).copied().unwrap_or(0.0)
    }

    /// Whether a sweep from `first` up to `behind` has noise.
    pub(crate) fn has_noise(&self, first: usize, behind: usize) -> bool {
        (first..behind).any(|sweep| self.noise_of(sweep) > 0.0)
    }

    /// The first sweep that may keep all states, or the number of sweeps if there is none.
    pub fn first_whole(&self) -> usize {
        let most = self.states.iter().copied().max();
        (0..self.sweeps).find(|sweep| Some(self.states_of(*sweep)) == most).unwrap_or(self.sweeps)
    }

    /// Whether the energies of this sweep and the next are comparable: no noise, all states.
    pub fn is_settled(&self, sweep: usize) -> bool {
        let last = self.states.last().copied().unwrap_or(0);
        self.noise_of(sweep) + self.noise_of(sweep + 1) == 0.0
            && self.states_of(sweep) == last
            && self.states_of(sweep + 1) == last
    }

    /// Sweeps at the start that have noise.
    pub(crate) fn noisy_sweeps(&self) -> usize {
        (0..self.sweeps).take_while(|sweep| self.noise_of(*sweep) > 0.0).count()
    }

    /// Limits of each bond's solve in a sweep: the energy error is about the squared residual over the gap.
    pub fn davidson(&self, sweep: usize) -> DavidsonLimits {
        let best = (0.1 * self.tolerance.sqrt()).clamp(1e-9, 1e-4);
        if self.start == StartVectors::Random {
            return DavidsonLimits::new(best, RANDOM_PRODUCTS);
        }
        let first = if self.mode == Mode::Infinite { 1e-5 } else { 1e-3 };
        let tolerance = best.max(first * 0.1f64.powi(sweep.min(9) as i32));
        DavidsonLimits::new(tolerance, if sweep == 0 { 40 } else { 20 })
    }

    /// Limits of each growth step: as tight as in the last sweeps, because a step is not revisited.
    pub(super) fn growth_davidson(&self) -> DavidsonLimits {
        let tolerance = (0.1 * self.tolerance.sqrt()).clamp(1e-9, 1e-4);
        DavidsonLimits::new(tolerance, RANDOM_PRODUCTS)
    }

    /// Whether the bonds of sweeps of one site grow; `Auto` has two sites.
    pub(crate) fn expands(&self) -> bool {
        self.update == UpdateChoice::Expanding
    }

    /// The plan of a sweep.
    pub fn plan(&self, sweep: usize) -> SweepPlan {
        let most = self.states_of(sweep);
        let limits =
            truncate::TruncationLimits { most, least: self.least.min(most), discarded: self.discarded, factored: None };
        let random = (self.start == StartVectors::Random).then_some(self.seed.wrapping_add(sweep as u64));
        let (noise, davidson) = (self.noise_of(sweep), self.davidson(sweep));
        let expands = self.expands();
        SweepPlan { limits, factor_rows: self.factor_rows, noise, davidson, expands, random }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_number_of_states_is_reached_in_steps_and_a_list_is_kept_to() {
        let one = Options { states: vec![128], ..Options::default() };
        assert_eq!((0..6).map(|k| one.states_of(k)).collect::<Vec<_>>(), [32, 32, 64, 64, 128, 128]);
        assert_eq!((0..5).map(|k| one.noise_of(k)).collect::<Vec<_>>(), [1e-4, 1e-5, 1e-6, 0.0, 0.0]);
        assert!(!one.is_settled(3) && one.is_settled(4));
        let few = Options { states: vec![20], ..Options::default() };
        assert_eq!((0..5).map(|k| few.states_of(k)).collect::<Vec<_>>(), [16, 16, 16, 16, 20]);
        let list = Options { states: vec![10, 20], noise: Some(vec![0.5]), ..Options::default() };
        assert_eq!((0..3).map(|k| list.states_of(k)).collect::<Vec<_>>(), [10, 20, 20]);
        assert_eq!((0..3).map(|k| list.noise_of(k)).collect::<Vec<_>>(), [0.5, 0.0, 0.0]);
    }

    #[test]
    fn impossible_options_are_refused_by_name() {
        let check = |options: Options| options.check().unwrap_err().to_string();
        assert!(check(Options { states: vec![0], ..Options::default() }).starts_with("states"));
        assert!(check(Options { sweeps: 0, ..Options::default() }).starts_with("sweeps"));
        assert!(
            check(Options { sweeps: usize::MAX / 2, noise: Some(vec![1e-3]), ..Options::default() })
                .starts_with("sweeps")
        );
        assert!(check(Options { discarded: f64::NAN, ..Options::default() }).starts_with("discarded"));
        assert!(check(Options { noise: Some(vec![-1.0]), ..Options::default() }).starts_with("noise"));
        assert!(check(Options { tolerance: 0.0, ..Options::default() }).starts_with("tolerance"));
        assert!(check(Options { improvement: -0.1, ..Options::default() }).starts_with("improvement"));
        assert!(check(Options { targets: 0, ..Options::default() }).starts_with("targets"));
        let grown = Options { sweeps: 0, mode: Mode::Infinite, ..Options::default() };
        grown.check().unwrap();
        assert!(check(Options { targets: 2, ..grown }).starts_with("sweeps"));
        let weights = |list: &[f64]| Options { targets: 2, weights: Some(list.to_vec()), ..Options::default() };
        for wrong in [&[1.0][..], &[1.0, 0.0], &[1.0, f64::NAN]] {
            assert!(check(weights(wrong)).starts_with("weights"));
        }
        assert!(check(Options { polish: true, ..weights(&[1.0, 2.0]) }).starts_with("polish"));
        weights(&[1.0, 2.0]).check().unwrap();
        let expanding = |options: Options| check(Options { update: UpdateChoice::Expanding, ..options });
        assert!(expanding(weights(&[1.0, 2.0])).starts_with("weights"));
        assert!(expanding(Options { start: StartVectors::Random, ..Options::default() }).starts_with("start"));
        assert!(expanding(Options { sweeps: 0, mode: Mode::Infinite, ..Options::default() }).starts_with("sweeps"));
        Options::default().check().unwrap();
    }
}
