//! What is known of a sweep, and why the sweeps ended.

use crate::chain::units::Units;
use crate::options::Options;
use crate::sweep::{BondRecord, Phases};
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
    /// The lowest energy of a state that was kept, after the cut; `None` if unknown.
    #[serde(default)]
    pub kept_energy: Option<f64>,
    /// The lowest average of the energies of a superblock, of states that share their kept states.
    #[serde(default)]
    pub average: Option<f64>,
    /// The largest weight dropped at a cut.
    pub discarded: f64,
    /// By how much truncations raised the energy, all bonds together; `None` where this is unknown, as with noise.
    #[serde(default)]
    pub lost: Option<f64>,
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
    /// The same by phase.
    #[serde(default)]
    pub phases: Phases,
}

impl SweepRecord {
    pub(crate) fn begin(options: &Options, sweep: usize) -> SweepRecord {
        let (states, noise) = (options.states_of(sweep), options.noise_of(sweep));
        SweepRecord { states, noise, energy: f64::INFINITY, ..SweepRecord::default() }
    }

    /// What truncation costs, in the units of the chain: the weight that a cut discarded, or less where the energy rose by less. (The
    /// discarded states of a chain with penalties obey them.)
    pub(crate) fn truncation(&self) -> f64 {
        self.discarded.min(self.lost.unwrap_or(f64::INFINITY))
    }

    /// The energy that is compared from sweep to sweep. Of bonds that grow it is that of the state that is kept: which states join a bond is
    /// random to a small part, and so is its energy before the cut.
    pub(crate) fn compared_energy(&self, options: &Options) -> f64 {
        self.kept_energy.filter(|_| options.expands()).unwrap_or(self.energy)
    }

    pub(crate) fn add(&mut self, bond: &BondRecord) {
        self.energy = self.energy.min(bond.energy);
        self.kept_energy = lower(self.kept_energy, bond.before);
        self.average = lower(self.average, bond.average);
        self.kept = self.kept.max(bond.kept);
        self.discarded = self.discarded.max(bond.discarded);
        self.lost = bond.lost.map(|lost| lost + self.lost.unwrap_or(0.0)).or(self.lost);
        self.residual = self.residual.max(bond.residual);
        self.dimension = self.dimension.max(bond.dimension);
        self.products += bond.products;
        self.phases += bond.seconds;
        self.flops += bond.products as f64 * bond.flops;
    }
}

/// The lower of two values, if any is known.
fn lower(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Why the sweeps ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SweepStop {
    /// A sweep without noise changed the energy by less than the tolerance, or by less than a
    /// [fraction](crate::Options::improvement) of the weight that truncation drops.
    Converged,
    /// As many sweeps as were allowed.
    Sweeps,
    /// The chain has its length, and no sweeps were asked for.
    Grown,
}

impl BondRecord {
    /// The same in the units of the model.
    pub(crate) fn in_units(&self, units: &Units) -> BondRecord {
        let (energy, average) = (units.energy(self.energy), self.average.map(|average| units.energy(average)));
        let (residual, lost) = (units.scale * self.residual, self.lost.map(|lost| units.scale * lost));
        let before = self.before.map(|before| units.energy(before));
        BondRecord { energy, before, average, residual, lost, ..*self }
    }
}

impl SweepRecord {
    /// The same in the units of the model.
    pub(crate) fn in_units(&self, units: &Units) -> SweepRecord {
        let (energy, average) = (units.energy(self.energy), self.average.map(|average| units.energy(average)));
        let (residual, lost) = (units.scale * self.residual, self.lost.map(|lost| units.scale * lost));
        let kept_energy = self.kept_energy.map(|kept| units.energy(kept));
        SweepRecord { energy, kept_energy, average, residual, lost, ..*self }
    }
}
