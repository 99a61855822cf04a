//! How far an energy may be off: the number that a result states beside it.
//!
//! In: ⟨H⟩ of a state, its variance, its last sweep, and the exact level where the sector was [diagonalised](super::check). Out: u with
//! |E − E_true| ≤ u, in the units of the chain.
//!
//! * Beside an exact level u is the distance from it, and what both may be off by rounding.
//! * Otherwise √variance bounds the distance to an eigenvalue. A state that truncation alone keeps from being one is off by less: by about
//!   what the truncations of a sweep cost, all together (open Heisenberg chain of 60 sites, m = 16 to 64: 0.6 of it; a Hubbard ladder:
//!   `cargo test --test dmrg uncertainty`). Its variance is that cost times the energy of what is discarded, a few of the largest terms.
//!   Of a variance beyond this the energy is off by variance / Δ at most (Temple 1928), with the [distance](Units::gap) Δ that is assumed.
//!
//! That the eigenvalue is the lowest is not part of it: where sweeps may miss it, a [warning](super::warnings) says so.

use crate::chain::Chain;
use crate::chain::units::Units;
use crate::sweep::sweep_record::SweepRecord;

/// Energy that a truncated state lacks, in what the truncations of its last sweep cost.
const OF_LOST: f64 = 4.0;
/// The same beside an exact level, where it explains a distance.
const MOST_OF_LOST: f64 = 10.0;
/// The same in terms of the largest weight that a cut discards, in units of the chain: some hundred times it.
const OF_DISCARDED: f64 = 1e3;
/// The energy of what is discarded, in the largest terms that the units count, for each five operators across a cut.
const DISCARDED_ENERGY: f64 = 10.0;
/// Operators across a cut of a Heisenberg chain, those of the blocks' own H included.
const WIDTH_OF_A_CHAIN: f64 = 5.0;
/// The largest term that the units count is below this.
const MOST_COUNTED: f64 = 2.0;

impl Units {
    /// The energy error that the truncations of a sweep explain.
    pub(crate) fn explained(&self, last: &SweepRecord) -> f64 {
        (OF_DISCARDED * last.discarded).min(MOST_OF_LOST * last.lost.unwrap_or(f64::INFINITY))
    }

    /// The largest term that the units count, of two at most.
    pub(crate) fn counted(&self) -> f64 {
        self.largest.clamp(f64::MIN_POSITIVE, MOST_COUNTED)
    }
}

/// How much wider an operator sum is than that of a Heisenberg chain.
pub(crate) fn width(chain: &Chain) -> f64 {
    (chain.sum.width() as f64 / WIDTH_OF_A_CHAIN).max(1.0)
}

/// An exact level and how far it may be off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ExactLevel {
    pub(crate) value: f64,
    pub(crate) error: f64,
}

/// How far an energy may be off; `None` if nothing is known of it.
pub(crate) fn energy_error(
    chain: &Chain,
    energy: f64,
    variance: Option<f64>,
    last: &SweepRecord,
    exact: Option<ExactLevel>,
) -> Option<f64> {
    let units = &chain.units;
    if let Some(ExactLevel { value, error }) = exact {
        return Some((energy - value).abs() + error + units.rounding());
    }
    let (variance, lost) = (variance?.max(0.0), last.lost.unwrap_or(0.0));
    let of_truncation = DISCARDED_ENERGY * width(chain) * units.counted() * lost;
    let mixed = OF_LOST * lost + (variance - of_truncation).max(0.0) / units.gap();
    Some(variance.sqrt().min(mixed) + units.rounding())
}
