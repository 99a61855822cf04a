//! How far an energy may be off: the number that a result states beside it.
//!
//! In: ⟨H⟩ of a state, its variance, its last sweep, and the exact level where the sector was [diagonalised](super::check). Out: u with
//! |E − E_true| ≤ u, in the units of the chain.
//!
//! * Beside an exact level u is the distance from it, and what both may be off by rounding.
//! * Otherwise √variance bounds the distance to an eigenvalue. An energy is off by less, by variance / Δ (Temple 1928), where Δ is the
//!   energy of what the state is mixed with. Truncation shows it: by `lost` the energy rises when the weight `discarded` is dropped.
//!
//! That the eigenvalue is the lowest is not part of it: where sweeps may miss it, a [warning](super::warnings) says so.

use crate::dmrg::chain::units::Units;
use crate::dmrg::sweep::sweep_record::SweepRecord;

/// Part of the energy of what is discarded that Δ is taken for.
const PART_OF_LOST: f64 = 0.02;
/// The largest term that the units count is below this.
const MOST_COUNTED: f64 = 2.0;
/// Weights below this are rounding, and show nothing.
const NO_WEIGHT: f64 = 1e-14;
/// The energy that a truncated state lacks is up to this many times what the truncations of a sweep cost.
const OF_LOST: f64 = 10.0;
/// The same in terms of the largest weight that a cut discards, in units of the chain: some hundred times it.
const OF_DISCARDED: f64 = 1e3;

impl Units {
    /// The energy error that the truncations of a sweep explain.
    pub(crate) fn explained(&self, last: &SweepRecord) -> f64 {
        (OF_DISCARDED * last.discarded).min(OF_LOST * last.lost.unwrap_or(f64::INFINITY))
    }

    /// The energy of what a state is mixed with: at least the smallest coupling, at most the largest that the units count.
    pub(crate) fn seen(&self, last: &SweepRecord) -> f64 {
        let shown = last.lost.filter(|_| last.discarded > NO_WEIGHT).map(|lost| lost / last.discarded);
        let most = self.largest.clamp(f64::MIN_POSITIVE, MOST_COUNTED);
        shown.unwrap_or(most).clamp(self.least.clamp(f64::MIN_POSITIVE, most), most)
    }
}

/// An exact level and how far it may be off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ExactLevel {
    pub(crate) value: f64,
    pub(crate) error: f64,
}

/// How far an energy may be off; `None` if nothing is known of it.
pub(crate) fn energy_error(
    units: &Units,
    energy: f64,
    variance: Option<f64>,
    last: &SweepRecord,
    exact: Option<ExactLevel>,
) -> Option<f64> {
    if let Some(ExactLevel { value, error }) = exact {
        return Some((energy - value).abs() + error + units.rounding());
    }
    let variance = variance?.max(0.0);
    let mixed = variance / (PART_OF_LOST * units.seen(last));
    Some(variance.sqrt().min(mixed) + units.rounding())
}
