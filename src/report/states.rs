//! The states of a run for people: energies with the digits that they have, and what a careful reader must know of them.
//!
//! In: energies, residual norms, levels, tolerance and norm, as the record has them. Out: the columns of the table, the line
//! on the tolerance, warnings.

use super::digits::{EnergyFormat, aligned};
use super::{LevelRecord, LevelSpinRecord, Stop};

/// What a warning says of a level whose multiplicity is only a bound.
pub(super) const NOT_CERTIFIED: &str = "how many was not certified";

/// The states of a run, borrowed from its record.
pub(crate) struct StatesFound<'a> {
    pub energies: &'a [f64],
    pub residuals: &'a [f64],
    /// One per energy; without one, all digits are shown.
    pub uncertainties: &'a [f64],
    pub levels: &'a [LevelRecord],
    /// What all states have in common, part of the energies.
    pub constant: f64,
    /// The energies less the constant.
    pub without_constant: &'a [f64],
    /// On the residual norms, in parts of the norm.
    pub tolerance: f64,
    /// An upper bound of the norm of H without the constant.
    pub norm: f64,
    /// Why the eigensolver stopped.
    pub stop: Stop,
    /// What its solver says of that.
    pub advice: Option<&'a str>,
}

impl StatesFound<'_> {
    /// The largest residual norm that has converged.
    fn limit(&self) -> f64 {
        self.tolerance * self.norm
    }

    /// Whether the residual norm of a state meets the tolerance; one that is not a number does not.
    pub(crate) fn meets_tolerance(&self, state: usize) -> bool {
        self.residuals.get(state).is_some_and(|residual| *residual <= self.limit())
    }

    /// Whether all do.
    pub(crate) fn converged(&self) -> bool {
        (0..self.energies.len()).all(|state| self.meets_tolerance(state))
    }

    /// How far an energy may be off. Adding the constant rounds it.
    fn uncertainty(&self, state: usize) -> f64 {
        let own = self.uncertainties.get(state).copied().unwrap_or(0.0);
        own.max(0.5 * f64::EPSILON * self.constant.abs())
    }

    fn format(&self) -> EnergyFormat {
        let energies = self.energies.iter().enumerate();
        EnergyFormat::new(energies.map(|(state, energy)| (*energy, self.uncertainty(state))))
    }

    /// The energies as text, lined up to at least `width`.
    pub(crate) fn column(&self, width: usize) -> Vec<String> {
        let format = self.format();
        let text = |(state, energy): (usize, &f64)| format.text(*energy, self.uncertainty(state));
        aligned(&self.energies.iter().enumerate().map(text).collect::<Vec<_>>(), width)
    }

    /// A line on the energies less the constant, where adding it has cost them digits.
    pub(crate) fn constant_line(&self) -> Option<String> {
        let own = |state: usize| self.uncertainties.get(state).copied().unwrap_or(0.0);
        let known = self.without_constant.iter().enumerate().map(|(state, energy)| (*energy, own(state)));
        let cost = known.clone().enumerate().any(|(state, (_, uncertainty))| uncertainty < self.uncertainty(state));
        if self.constant == 0.0 || !cost {
            return None;
        }
        let (constant, texts) = (self.constant, self.texts(known).join(", "));
        Some(format!("all states share the constant {constant:?}; without it the energies are {texts}"))
    }

    fn texts(&self, known: impl Iterator<Item = (f64, f64)> + Clone) -> Vec<String> {
        let format = EnergyFormat::new(known.clone());
        known.map(|(energy, uncertainty)| format.text(energy, uncertainty)).collect()
    }

    /// What the residuals are measured by.
    pub(crate) fn tolerance_line(&self) -> String {
        let (tolerance, norm, limit) = (self.tolerance, self.norm, self.limit());
        format!("tolerance {tolerance:.1e} of the norm of H, which is {norm:.2e} at most: residuals up to {limit:.2e}")
    }

    /// The energies of levels whose states have several spins, with those.
    pub(crate) fn mixed_levels(&self) -> Vec<(String, String)> {
        let (format, mut first) = (self.format(), 0);
        let mut mixed = Vec::new();
        for level in self.levels {
            let spins = level.spin.as_ref().and_then(LevelSpinRecord::several);
            mixed.extend(spins.map(|spins| (format.text(level.energy, self.uncertainty(first)), spins)));
            first += level.returned;
        }
        mixed
    }

    /// Cut multiplets, multiplicities that are only bounds, states that did not converge.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = vec![];
        let (format, mut first) = (self.format(), 0);
        for level in self.levels {
            let energy = format.text(level.energy, self.uncertainty(first));
            let (of, returned) = (level.multiplicity, level.returned);
            if !level.complete {
                let averages = if of > 1 { "; averages run over those, and depend on the start" } else { "" };
                warnings.push(format!(
                    "the level at {energy} has at least {of} states in this sector: {NOT_CERTIFIED}{averages}"
                ));
            } else if returned < of {
                warnings.push(format!(
                    "the level at {energy} has {of} states in this sector and `states` cuts it after {returned}: ask for \
                     states = {} to have them all",
                    first + of
                ));
            }
            let converged = (first..first + returned).all(|state| self.meets_tolerance(state));
            if let Some(spin) = level.spin.as_ref().filter(|spin| converged && spin.is_indefinite()) {
                warnings.push(format!(
                    "the level at {energy} has no definite spin (<S²> = {:.6}), although H conserves it: its vectors mix states of \
                     levels that are closer than their residuals, or a state of the level was missed: lower the tolerance, or ask \
                     for more states",
                    spin.s_squared
                ));
            }
            first += returned;
        }
        let advice = self.advice.unwrap_or(match self.stop {
            Stop::Dense => "the whole matrix was diagonalised, so this is rounding: loosen the tolerance",
            _ => "raise max_iterations, or loosen the tolerance",
        });
        for state in (0..self.residuals.len()).filter(|state| !self.meets_tolerance(*state)) {
            warnings.push(format!(
                "state {state} did NOT converge: its residual {:.2e} is above {:.2e}, the tolerance {:.1e} times the norm \
                 of H (stopped: {}); {advice}",
                self.residuals[state], self.limit(), self.tolerance, self.stop
            ));
        }
        warnings
    }
}
