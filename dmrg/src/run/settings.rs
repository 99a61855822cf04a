//! The keys of `[dmrg]` that a saved state depends on, and how a search goes on from a state that has other values of them.
//!
//! In: the options of a run, the settings beside a saved state. Out: the key that refuses the state, or the [`Leg`] of the
//! search that begins there. A key that decides the start (`seed`, `mode`, whether there are `weights`) is refused: the
//! sweeps from another start are another run. Every other key belongs to the sweeps: the state is swept with the new
//! values, no rule that ends the sweeps counts those before, and the report names what differs. `sweeps` and `targets`
//! say how far a run goes, so they are not compared.

use crate::options::Options;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Keys that decide where a search starts.
const STARTS: [&str; 3] = ["seed", "mode", "weights"];
/// Keys that decide which states are kept: after a change, noise lets other states in.
const KEPT: [&str; 4] = ["states", "min_states", "discarded", "noise"];
/// No value.
const NONE: &str = "none";
/// Values of `update`, as it was decided.
const TWO_SITE: &str = "two-site";
const EXPANDING: &str = "expanding";

/// The values of the keys that a state depends on, by their names in model files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Settings(Vec<(String, String)>);

/// A key whose value is not that of the saved state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Difference {
    /// The key.
    pub(crate) key: String,
    /// The value that the saved state was found with.
    pub(crate) saved: String,
    /// The value of this run.
    pub(crate) here: String,
}

impl Settings {
    pub(crate) fn new(options: &Options) -> Settings {
        let Options { states, least, discarded, noise, tolerance, improvement, seed, mode, .. } = options;
        let list = |list: &Option<Vec<f64>>, none: &str| list.as_ref().map_or(none.into(), |list| format!("{list:?}"));
        let values = [
            ("seed", seed.to_string()),
            ("mode", format!("{mode:?}").to_lowercase()),
            ("weights", list(&options.weights, NONE)),
            ("states", format!("{states:?}")),
            ("min_states", least.to_string()),
            ("discarded", format!("{discarded:e}")),
            ("noise", list(noise, "the usual")),
            ("tolerance", format!("{tolerance:e}")),
            ("improvement", format!("{improvement:e}")),
            ("start", format!("{:?}", options.start).to_lowercase()),
            ("update", if options.expands() { EXPANDING } else { TWO_SITE }.into()),
            ("polish", options.polish.to_string()),
        ];
        Settings(values.map(|(key, value)| (key.into(), value)).into())
    }

    /// The keys whose values in `saved` are others.
    fn differences(&self, saved: &Settings) -> Vec<Difference> {
        let of = |(key, here): &(String, String)| {
            // States saved before there was a choice are of two sites.
            let none = if key == "update" { TWO_SITE } else { NONE };
            let found = saved.0.iter().find(|(known, _)| known == key).map_or(none, |(_, value)| value);
            (found != here).then(|| Difference { key: key.clone(), saved: found.into(), here: here.clone() })
        };
        self.0.iter().filter_map(of).collect()
    }

    /// What differs from the settings of a saved state.
    ///
    /// # Errors
    /// A key that decides the start.
    pub(crate) fn compare(&self, saved: &Settings) -> Result<Vec<Difference>, (&'static str, Difference)> {
        let differences = self.differences(saved);
        for difference in &differences {
            let start = STARTS.into_iter().find(|key| *key == difference.key);
            // The states of all weights share what is kept; other weights of as many states are a matter of sweeps.
            let shared = difference.saved != NONE && difference.here != NONE;
            if let Some(key) = start.filter(|key| *key != "weights" || !shared) {
                return Err((key, difference.clone()));
            }
        }
        Ok(differences)
    }
}

/// The sweeps of a search that its stop rule counts, and what they began from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Leg {
    /// The first of them.
    pub(crate) first: usize,
    pub(crate) from: Origin,
}

/// What the sweeps of a leg began from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) enum Origin {
    /// The start that the options ask for.
    #[default]
    Start,
    /// A written state, which the options name.
    Written,
    /// The exact state, because an earlier search ended above it, at this energy.
    Exact { energy_before: f64 },
    /// The state of a run with other settings.
    Saved(Vec<Difference>),
}

impl Leg {
    /// The leg that begins after `first` sweeps with other settings than those before.
    pub(crate) fn changed(self, first: usize, differences: Vec<Difference>) -> Leg {
        let mut all = differences;
        if let Origin::Saved(before) = self.from {
            let is_new = |old: &Difference| all.iter().all(|new| new.key != old.key);
            let older: Vec<_> = before.into_iter().filter(is_new).collect();
            all.extend(older);
        }
        Leg { first, from: Origin::Saved(all) }
    }

    /// The options of its sweeps, which are numbered from its first.
    pub(crate) fn options<'o>(&self, options: &'o Options) -> Cow<'o, Options> {
        match &self.from {
            Origin::Start => Cow::Borrowed(options),
            Origin::Exact { .. } => Cow::Owned(options.prepared()),
            Origin::Written => {
                let noise = Some(options.noise.clone().unwrap_or_default());
                Cow::Owned(Options { noise, states: of_good_state(options), ..options.clone() })
            }
            Origin::Saved(differences) => {
                let is_of_kept = |difference: &Difference| KEPT.contains(&difference.key.as_str());
                let noise = if differences.iter().any(is_of_kept) { options.noise.clone() } else { Some(Vec::new()) };
                Cow::Owned(Options { states: of_good_state(options), noise, ..options.clone() })
            }
        }
    }

    /// Whether the leg begins from a state that coarse solves would spoil.
    pub(crate) fn begins_well(&self) -> bool {
        self.from != Origin::Start
    }

    /// The energy of the search before this one, if it ended above the exact state.
    pub(crate) fn energy_before(&self) -> Option<f64> {
        match self.from {
            Origin::Exact { energy_before } => Some(energy_before),
            _ => None,
        }
    }

    /// A sentence on what differs from the run that found the state.
    pub(crate) fn sentence(&self) -> Option<String> {
        let Origin::Saved(differences) = &self.from else { return None };
        let of = |Difference { key, saved, here }: &Difference| format!("{key} = {saved} (here {here})");
        let list: Vec<String> = differences.iter().map(of).collect();
        Some(format!(
            "resumed from a state of a run with {}; it was swept on with the values of this run, and a run from the start \
             may end elsewhere",
            list.join(", ")
        ))
    }
}

/// States by sweep from a state that deserves all of them.
fn of_good_state(options: &Options) -> Vec<usize> {
    match options.states.as_slice() {
        [most] => vec![*most; 2],
        list => list.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Mode, UpdateChoice};

    fn settings(change: impl Fn(&mut Options)) -> Settings {
        let mut options = Options::default();
        change(&mut options);
        Settings::new(&options)
    }

    #[test]
    fn another_start_is_refused_by_name_and_other_sweeps_are_told() {
        let here = settings(|_| {});
        assert_eq!(here.compare(&here), Ok(Vec::new()));
        let refused = |change: fn(&mut Options)| here.compare(&settings(change)).unwrap_err().0;
        assert_eq!(refused(|options| options.seed = 2), "seed");
        assert_eq!(refused(|options| options.mode = Mode::Infinite), "mode");
        assert_eq!(refused(|options| options.weights = Some(vec![1.0])), "weights");
        let weighted = |weight: f64| settings(|options| options.weights = Some(vec![1.0, weight]));
        assert_eq!(weighted(1.0).compare(&weighted(0.5)).unwrap().len(), 1);
        let found = here.compare(&settings(|options| (options.states, options.tolerance) = (vec![60], 1e-8))).unwrap();
        let said = Leg::default().changed(7, found).sentence().unwrap();
        assert!(said.contains("states = [60] (here [256]), tolerance = 1e-8 (here 1e-11)"), "{said}");
        let found = here.compare(&settings(|options| options.update = UpdateChoice::Expanding)).unwrap();
        let said = Leg::default().changed(2, found).sentence().unwrap();
        assert!(said.contains("update = expanding (here two-site)"), "{said}");
        let older = Settings(here.0.iter().filter(|(key, _)| key != "update").cloned().collect());
        assert_eq!(here.compare(&older), Ok(Vec::new()), "before there was a choice there were two sites");
        // How far a run goes is not compared.
        let found = here.compare(&settings(|options| (options.sweeps, options.targets) = (3, 2)));
        assert_eq!(found, Ok(Vec::new()));
    }

    #[test]
    fn a_leg_from_a_saved_state_has_all_states_at_once_and_noise_where_others_are_kept() {
        let options = Options { states: vec![128], ..Options::default() };
        let of = |change: fn(&mut Options)| {
            let found = Settings::new(&options).compare(&settings(change)).unwrap();
            Leg::default().changed(4, found).options(&options).into_owned()
        };
        let more = of(|options| options.states = vec![60]);
        assert_eq!((more.states_of(0), more.noise_of(0) > 0.0, more.is_settled(3)), (128, true, true));
        let tighter = of(|options| (options.states, options.tolerance) = (vec![128], 1e-6));
        assert_eq!((tighter.states_of(0), tighter.noise_of(0), tighter.is_settled(0)), (128, 0.0, true));
    }
}
