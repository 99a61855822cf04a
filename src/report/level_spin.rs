//! The total spin of a level in a report, as numbers and as text.
//!
//! In: ⟨S²⟩ over a level and 2S of its states. Out: how many states have each S, and texts: "1/2"; "0+1" of a level of several spins; "?"
//! of one whose states have none, as far as is known.

use serde::{Deserialize, Serialize};

/// The total spin of a level's states.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LevelSpinRecord {
    /// S, where all of its states have the same.
    #[serde(default)]
    pub s: Option<f64>,
    /// ⟨S²⟩, the mean over the level.
    #[serde(deserialize_with = "super::record::nullable_number")]
    pub s_squared: f64,
    /// How many of its states have each total spin, ascending. Empty where H conserves the spin and the states that were found have
    /// no definite one; `null` in a space that does not have whole spins, and of a level of several spins that is too large to be
    /// taken apart.
    pub spins: Option<Vec<SpinCount>>,
}

/// How many states have a spin.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SpinCount {
    /// The total spin S.
    pub s: f64,
    /// States of the level that have it.
    pub states: u64,
}

impl SpinCount {
    /// Of a list of 2S, how many have each.
    pub(crate) fn all(two_s: &[u32]) -> Vec<SpinCount> {
        let mut sorted = two_s.to_vec();
        sorted.sort_unstable();
        let of = |same: &[u32]| SpinCount { s: 0.5 * f64::from(same[0]), states: same.len() as u64 };
        sorted.chunk_by(|a, b| a == b).map(of).collect()
    }

    /// Two levels together, of which each state is there so many times.
    pub(super) fn add(sum: &mut Vec<SpinCount>, more: &[SpinCount], times: u64) {
        for SpinCount { s, states } in more {
            match sum.iter_mut().find(|known| known.s == *s) {
                Some(known) => known.states += times * states,
                None => sum.push(SpinCount { s: *s, states: times * states }),
            }
        }
        sum.sort_by(|a, b| a.s.total_cmp(&b.s));
    }
}

/// `1`, `3/2`.
fn spin_text(s: f64) -> String {
    let twice = (2.0 * s).round() as i64;
    if twice % 2 == 0 { (twice / 2).to_string() } else { format!("{twice}/2") }
}

/// "0+1" of several spins, "?" of none.
pub(super) fn spins_text(spins: &[SpinCount]) -> String {
    let texts: Vec<String> = spins.iter().map(|spin| spin_text(spin.s)).collect();
    if texts.is_empty() { "?".into() } else { texts.join("+") }
}

/// S of states that all have the same.
pub(super) fn one_spin(spins: Option<&[SpinCount]>) -> Option<f64> {
    match spins {
        Some([one]) => Some(one.s),
        _ => None,
    }
}

impl LevelSpinRecord {
    /// The spins of a level of this ⟨S²⟩.
    pub fn new(s_squared: f64, spins: Option<Vec<SpinCount>>) -> LevelSpinRecord {
        LevelSpinRecord { s: one_spin(spins.as_deref()), s_squared, spins }
    }

    /// The spins as text.
    pub(super) fn text(&self) -> String {
        spins_text(self.spins.as_deref().unwrap_or_default())
    }

    /// Whether the states that were found have no definite spin although H conserves it.
    pub(super) fn is_indefinite(&self) -> bool {
        self.spins.as_ref().is_some_and(Vec::is_empty)
    }

    /// "S = 0 (2 states), 1 (1 state)", where there are several spins.
    pub(super) fn several(&self) -> Option<String> {
        let spins = self.spins.as_ref().filter(|spins| spins.len() > 1)?;
        let of = |SpinCount { s, states }: &SpinCount| {
            format!("{} ({states} {})", spin_text(*s), if *states == 1 { "state" } else { "states" })
        };
        Some(format!("S = {}", spins.iter().map(of).collect::<Vec<_>>().join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spins_are_counted_and_written() {
        let record = |two_s: &[u32]| LevelSpinRecord::new(0.0, Some(SpinCount::all(two_s)));
        assert_eq!((record(&[1]).s, record(&[0, 2]).s, record(&[]).s), (Some(0.5), None, None));
        assert_eq!((record(&[3, 3]).text().as_str(), record(&[3, 3]).several()), ("3/2", None));
        assert_eq!(record(&[2, 0, 0]).text(), "0+1");
        assert_eq!(record(&[2, 0, 0]).several().unwrap(), "S = 0 (2 states), 1 (1 state)");
        assert_eq!(record(&[]).text(), "?");
        assert_eq!(LevelSpinRecord::new(1.2, None).text(), "?");
        let mut sum = SpinCount::all(&[2]);
        SpinCount::add(&mut sum, &SpinCount::all(&[0, 2]), 3);
        assert_eq!(sum, [SpinCount { s: 0.0, states: 3 }, SpinCount { s: 1.0, states: 4 }]);
    }
}
