//! Levels of a run or of a sweep over symmetry sectors, and in what they differ from those of the whole spectrum.

use eigenforge::observable::Averages;
use eigenforge::report::{Outcome, ParameterSweepRecord, SpinCount};

/// Averages of a level by different ways may be this far from each other: a residual over the distance to the next level, squared twice.
const AVERAGES: f64 = 1e-6;

/// A level as one way found it.
pub(super) struct FoundLevel {
    pub energy: f64,
    /// How far that may be off.
    pub error: f64,
    pub states: u64,
    pub complete: bool,
    /// `None` where H does not conserve the spin, or the level is too large to be taken apart.
    pub spins: Option<Vec<SpinCount>>,
    /// Of a run: averages of the file's own observables.
    pub averages: Option<Averages>,
}

/// Ascending levels.
pub(super) struct Levels(pub Vec<FoundLevel>);

impl Levels {
    pub(super) fn of_run(outcome: &Outcome) -> Levels {
        let (mut levels, mut state) = (Vec::new(), 0);
        let Some(spectrum) = outcome.spectrum() else { return Levels(levels) };
        for level in &spectrum.levels {
            let errors = spectrum.uncertainties.iter().skip(state).take(level.returned);
            levels.push(FoundLevel {
                energy: level.energy,
                error: errors.fold(0.0, |most: f64, error| most.max(*error)) + spectrum.rounding,
                states: level.multiplicity as u64,
                complete: level.complete,
                spins: level.spin.as_ref().and_then(|spin| spin.spins.clone()),
                averages: outcome.state_observables.get(state).cloned(),
            });
            state += level.returned;
        }
        Levels(levels)
    }

    pub(super) fn of_tower(record: &ParameterSweepRecord) -> Levels {
        let level = |level: &eigenforge::report::SectorLevel| FoundLevel {
            energy: level.energy,
            error: level.residual,
            states: level.states,
            complete: level.complete,
            spins: level.spins.clone(),
            averages: None,
        };
        Levels(record.levels.iter().map(level).collect())
    }
}

/// The levels of one way beside those of the whole spectrum, from the lowest on; a line for each difference.
pub(super) fn differences(way: &str, found: &Levels, whole: &Levels) -> Vec<String> {
    let mut lines = Vec::new();
    if found.0.is_empty() {
        lines.push(format!("{way}: no level"));
    }
    for (number, level) in found.0.iter().enumerate() {
        let Some(other) = whole.0.get(number) else {
            lines.push(format!("{way}: level {number} at {} is one too many", level.energy));
            break;
        };
        let apart = (level.energy - other.energy).abs();
        let is_wrong_count = if level.complete { level.states != other.states } else { level.states > other.states };
        if apart > level.error + other.error || is_wrong_count {
            lines.push(format!(
                "{way}: level {number} at {:?} has {} states, {:?} has {} ({apart:.1e} apart)",
                level.energy, level.states, other.energy, other.states
            ));
            break;
        }
        if let (Some(own), Some(spins), true) = (&level.spins, &other.spins, level.complete) {
            let told: u64 = own.iter().map(|spin| spin.states).sum();
            if own != spins || told != level.states {
                lines.push(format!("{way}: level {number} at {} has spins {own:?}, {spins:?}", level.energy));
            }
        }
        if let (Some(own), Some(averages), true) = (&level.averages, &other.averages, level.complete) {
            lines.extend(own.iter().filter_map(|(name, average)| {
                let pairs = average.values().into_iter().zip(averages.get(name)?.values());
                let most = pairs.fold(0.0f64, |most, (a, b)| most.max((a - b).abs()));
                (most.is_nan() || most > AVERAGES)
                    .then(|| format!("{way}: <{name}> of level {number} at {} differs by {most:.1e}", level.energy))
            }));
        }
    }
    lines
}
