//! Warnings about a result.
//!
//! In: a run's result in the units of its chain. Out: sentences, each with the observation and advice. Zero variance only
//! proves an eigenstate. Whether it is the lowest is known if the sector was [diagonalised](super::check); a warning says
//! that it is unknown if the sweeps may have been unable to reach it.

use super::certificate::LEFT_OUT;
use super::result::{DmrgResult, ExcitedState};
use super::search::last_sweep;
use super::uncertainty::width;
use crate::chain::Chain;
use crate::chain::mobility::Mobility;
use crate::options::Options;
use crate::sweep::sweep_record::{SweepRecord, SweepStop};

/// An eigenstate that is merely truncated has a variance of some hundred times the weight dropped at a cut (open
/// Heisenberg and Hubbard chains of 16 to 100 sites, m = 16 to 128: 36 to 373 times), and as the square of the operators that act
/// across a cut (the Heisenberg cylinder of 6 x 12, m = 4,096: 23,000 times); far more means that it is not an eigenstate.
const VARIANCE_OF_DISCARDED: f64 = 1e4;
/// The same in what the truncations of a sweep cost, times the largest term that the units count (open chains: 2 to 4 times).
const VARIANCE_OF_LOST: f64 = 1e3;
/// The residual variance of an eigenstate, in the same units.
const NO_VARIANCE: f64 = 1e-6;
/// The same in squares of the residuals of the last sweep, for each site.
const OF_RESIDUAL: f64 = 10.0;
/// A state that lost more than this at a cut is only a sketch, even if its energy has settled.
const MUCH_DISCARDED: f64 = 1e-4;
/// An energy further from the exact one than this fraction of the smallest coupling, and than so many roundings of the norm of H, gets a
/// warning,
const OFF: f64 = 1e-8;
const ROUNDINGS: f64 = 10.0;
/// unless truncation explains it, up to this fraction of the norm.
const MOST_EXPLAINED: f64 = 1e-6;
/// The same for a change of the energy by less than the tolerance that was asked for.
const OF_TOLERANCE: f64 = 10.0;

impl DmrgResult {
    /// Collects the warnings; everything is in the units of the chain.
    pub(crate) fn warn(&mut self, options: &Options, chain: &Chain) {
        if options.only_reads() {
            return;
        }
        let last = last_sweep(&self.sweeps, &self.growth);
        if self.stop == SweepStop::Sweeps {
            self.warnings.push(self.unsettled(options, chain));
        }
        if last.discarded > MUCH_DISCARDED {
            self.warnings.push(format!(
                "a cut discards {:.1e} of the weight: {} states are too few; raise `states`, or try another `order`",
                last.discarded, last.kept
            ));
        }
        match self.variance {
            // It has said why.
            None if self.warnings.iter().any(|said| said.starts_with(LEFT_OUT)) => {}
            None => self
                .warnings
                .push("the variance was not computed, because the kept states of a site are missing".into()),
            Some(variance) => self.warnings.extend(of_variance("", variance, &last, chain)),
        }
        for (number, state) in self.search.excited.iter().enumerate() {
            self.warnings.extend(of_excited(number + 1, state, &last, chain));
        }
        self.compare(&last, options, chain);
    }

    fn unsettled(&self, options: &Options, chain: &Chain) -> String {
        let change = match self.sweeps.as_slice() {
            [.., a, b] => {
                let change = a.compared_energy(options) - b.compared_energy(options);
                format!("the last sweep changed the energy by {:.1e}", chain.units.scale * change.abs())
            }
            _ => "two sweeps are needed for a comparison".into(),
        };
        let (sweeps, tolerance) = (self.sweeps.len(), chain.units.scale * options.tolerance);
        // Sweeps are compared once noise has ended and `states` has reached its end.
        let differs = match sweeps >= 2 && !options.is_settled(sweeps - 2) {
            true => ", and the sweep before it had noise or fewer states",
            false => "",
        };
        format!("not converged to {tolerance:.0e} after {sweeps} sweep(s): {change}{differs}; raise `sweeps`")
    }

    /// Compares with the exact levels, if they are known, or warns that nothing is known.
    fn compare(&mut self, last: &SweepRecord, options: &Options, chain: &Chain) {
        let Some(check) = &self.search.check else { return self.hindered(chain) };
        let units = &chain.units;
        let strict = (OFF * units.least).max(ROUNDINGS * units.rounding()).max(OF_TOLERANCE * options.tolerance);
        let found = std::iter::once((self.energy, last));
        let found =
            found.chain(self.search.excited.iter().map(|state| (state.energy, state.sweeps.last().unwrap_or(last))));
        for (state, ((found, last), (exact, error))) in found.zip(check.energies.iter().zip(&check.errors)).enumerate()
        {
            let allowed = strict + error + units.explained(last).min(MOST_EXPLAINED * units.norm);
            if (found - exact).abs() > allowed {
                self.warnings.push(format!(
                    "state {state} is {:.1e} away from the exact energy {:.10}, found by diagonalising all {} states of the \
                     sector; raise `states` or `sweeps`",
                    chain.units.scale * (found - exact),
                    chain.units.energy(*exact),
                    check.dimension
                ));
            }
        }
    }

    /// Warns of charges that sweeps cannot move in a sector too large to diagonalise.
    fn hindered(&mut self, chain: &Chain) {
        let Mobility { hidden, nearly_hidden } = Mobility::new(chain);
        let which = match self.excited.len() {
            0 => "this may not be the lowest state",
            _ => "these may not be the lowest states",
        };
        if hidden > 0 {
            self.warnings.push(format!(
                "{which}: H conserves {hidden} more charge(s) than the sector fixes (its \
                 off-diagonal terms do not connect all sites), sweeps cannot change them, and zero variance only proves an \
                 eigenstate; compare several seeds, more `noise`, or the separate parts"
            ));
        } else if nearly_hidden > 0 {
            self.warnings.push(format!(
                "{which}: {nearly_hidden} charge(s) change only through terms below a tenth of \
                 the largest, so sweeps change them slowly, and zero variance only proves an eigenstate; compare several \
                 seeds, or more `noise`"
            ));
        } else {
            return;
        }
        let starts = std::iter::once(self.starts).chain(self.excited.iter().map(|state| state.starts));
        let once: Vec<String> =
            starts.enumerate().filter(|(_, starts)| *starts < 2).map(|(state, _)| state.to_string()).collect();
        if !once.is_empty() {
            self.warnings.push(format!(
                "searched once, from one start: state(s) {}; the best of several starts is more likely the lowest, and the \
                 usual `start` and `mode` have them",
                once.join(", ")
            ));
        }
    }
}

fn of_excited(number: usize, state: &ExcitedState, last: &SweepRecord, chain: &Chain) -> Vec<String> {
    let mut said = Vec::new();
    if state.stop == SweepStop::Sweeps && !state.sweeps.is_empty() {
        said.push(format!("state {number} did not converge; raise `sweeps`"));
    }
    let last = state.sweeps.last().unwrap_or(last);
    if let Some(variance) = state.variance {
        said.extend(of_variance(&format!("state {number}: "), variance, last, chain));
    }
    said
}

/// The warning for a variance.
fn of_variance(of: &str, variance: f64, last: &SweepRecord, chain: &Chain) -> Option<String> {
    let (units, discarded) = (&chain.units, last.discarded);
    let unit = units.counted().powi(2);
    let shown = units.square(variance);
    let wider = width(chain);
    // Truncation always drops weights of rounding; where a penalty forbids them their variance is its square times that.
    let rounding = units.rounding() * units.norm;
    let solved = OF_RESIDUAL * chain.sites as f64 * last.residual * last.residual + rounding;
    let truncated = VARIANCE_OF_DISCARDED * wider * wider * discarded * unit;
    let truncated = truncated.min(VARIANCE_OF_LOST * wider * units.counted() * last.lost.unwrap_or(f64::INFINITY));
    (variance > solved + NO_VARIANCE * unit + truncated).then(|| {
        format!(
            "{of}the variance {shown:.1e} is far larger than the discarded weight {discarded:.1e} explains: the sweeps are \
             stuck in a state that is not an eigenstate; use noise in more sweeps, such as noise = [1e-3, 1e-4, 1e-5], or \
             another seed"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SearchRecord, SectorCheck};
    use eigenforge_core::basis::Sector;
    use eigenforge_core::lattice::Lattice;
    use eigenforge_core::models::xxz;

    fn chain(jxy: f64) -> Chain {
        let lattice = Lattice::chain(6).open();
        let operator = xxz(&lattice, &[jxy; 5], &[1.0; 5], &[0.0; 6], &[0.0; 6]);
        Chain::new(&operator, Sector::Spins { two_sz: 0 }, None).unwrap()
    }

    fn warned(found: DmrgResult, jxy: f64) -> Vec<String> {
        let mut found = found;
        found.warn(&Options::default(), &chain(jxy));
        found.warnings
    }

    /// The warnings for a run with this variance whose last sweep discarded this weight.
    fn warnings(variance: Option<f64>, discarded: f64, stop: SweepStop) -> Vec<String> {
        let sweep = SweepRecord { discarded, kept: 64, energy: -1.0, ..SweepRecord::default() };
        let search = SearchRecord { sweeps: vec![sweep, sweep], ..SearchRecord::default() };
        warned(DmrgResult { variance, stop, search, ..empty() }, 1.0)
    }

    #[test]
    fn a_variance_is_told_for_what_it_proves() {
        let stuck = warnings(Some(1e-3), 1e-10, SweepStop::Converged);
        assert!(stuck.len() == 1 && stuck[0].contains("stuck"), "{stuck:?}");
        assert!(warnings(Some(1e-3), 1e-5, SweepStop::Converged).is_empty(), "truncated");
        assert!(warnings(Some(1e-7), 1e-8, SweepStop::Converged).is_empty(), "good to seven digits");
        assert!(warnings(Some(1e-10), 0.0, SweepStop::Converged).is_empty(), "an eigenstate");
        let few = warnings(Some(0.0), 0.2, SweepStop::Converged);
        assert!(few.len() == 1 && few[0].contains("64 states are too few"), "{few:?}");
        assert!(warnings(None, 0.0, SweepStop::Sweeps).iter().any(|said| said.contains("raise `sweeps`")));
    }

    #[test]
    fn an_energy_that_is_not_the_exact_one_is_told() {
        let found = |energy| {
            let check = SectorCheck { dimension: 20, energies: vec![energy], errors: vec![0.0], seconds: 0.0 };
            let search = SearchRecord { check: Some(check), ..SearchRecord::default() };
            DmrgResult { variance: Some(0.0), search, ..empty() }
        };
        assert!(warned(found(-1.0), 1.0).is_empty());
        let said = warned(found(-1.001), 1.0);
        assert!(said.len() == 1 && said[0].contains("from the exact energy"), "{said:?}");
    }

    #[test]
    fn charges_that_no_sweep_can_move_are_told_where_nothing_else_is_known() {
        let found = || DmrgResult { variance: Some(0.0), ..empty() };
        assert!(warned(found(), 1.0).is_empty());
        assert!(warned(found(), 0.0)[0].contains("conserves 5 more charge(s)"));
        assert!(warned(found(), 1e-3)[0].contains("5 charge(s) change only through"));
    }

    fn empty() -> DmrgResult {
        DmrgResult {
            energy: -1.0,
            energy_error: None,
            variance: None,
            variance_error: None,
            stop: SweepStop::Converged,
            search: SearchRecord::default(),
            averages: eigenforge_core::observable::Averages::default(),
            state_averages: Vec::new(),
            states: Vec::new(),
            warnings: Vec::new(),
            starts: 2,
            sweeping: 0.0,
            certifying: 0.0,
            measuring: 0.0,
        }
    }
}
