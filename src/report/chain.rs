//! The part of a report that a DMRG run adds, and its summary for a terminal.
//!
//! Sites are those of the lattice; cuts are numbered along the order of the run.

use super::{ClusterRecord, EnergyFormat, OrbitalsRecord, Outcome, Stop, StructureFactor};
use crate::basis::Sector;
use crate::dmrg::{Extrapolated, MemoryUse, Phases, Restart, SearchRecord, SweepRecord, SweepStop};
use crate::input::{DmrgSpec, sector_keys, sector_text};
use crate::words::size;
use eigenforge_runtime::residency::Usage;
use eigenforge_runtime::solvers::lean::CardWork;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// What only a chain has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChainRecord {
    /// Its `[dmrg]`, with what the command line changed.
    pub dmrg: DmrgSpec,
    /// The lattice.
    pub lattice: ClusterRecord,
    /// Conserved quantum numbers.
    #[serde(with = "sector_keys")]
    pub sector: Sector,
    /// The structure factor of spins, where pairs of spins were averaged and the sites have positions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structure_factor: Option<StructureFactor>,
    /// The molecule, where H is that of an FCIDUMP file; its active orbitals are the sites.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub molecule: Option<OrbitalsRecord>,
    /// The lattice site at each position of the chain.
    pub order: Vec<usize>,
    /// Whether the states are complex: an auxiliary site at the left end, which `order` and `cuts` leave out, carried their phases.
    #[serde(default)]
    pub complex: bool,
    /// The longest bond along that order.
    pub longest_bond: usize,
    /// Most operators at a cut.
    pub operator_sum_width: usize,
    /// How far each energy may be off; `null` where it is not known.
    #[serde(default)]
    pub energy_errors: Vec<Option<f64>>,
    /// ⟨H²⟩ − ⟨H⟩² of each state; `null` where it was not computed.
    pub variances: Vec<Option<f64>>,
    /// Standard errors of those that were computed from few vectors; `null` for those that are good to rounding.
    #[serde(default)]
    pub variance_errors: Vec<Option<f64>>,
    /// The largest weight dropped at a cut in the last sweep.
    pub discarded: f64,
    /// How the search went.
    #[serde(flatten)]
    pub search: SearchRecord,
}

impl ChainRecord {
    /// Whether the sweeps of every state above the lowest settled.
    pub(super) fn excited_converged(&self) -> bool {
        self.search.excited.iter().all(|state| state.stop != SweepStop::Sweeps)
    }

    pub(super) fn write_summary(&self, outcome: &Outcome, out: &mut String) -> std::fmt::Result {
        match &self.molecule {
            Some(molecule) => writeln!(out, "{}", molecule.space)?,
            None => writeln!(out, "{} on {}, {}", outcome.model.name, self.lattice.text, sector_text(&self.sector))?,
        }
        writeln!(out)?;
        self.write_growth(outcome, out)?;
        if self.search.sweeps.is_empty() {
            return self.write_result(outcome, out);
        }
        let text = energies_of_states(outcome);
        writeln!(
            out,
            "  sweep   states    noise              energy       after the cut   discarded   products   seconds"
        )?;
        for (number, sweep) in self.search.sweeps.iter().enumerate() {
            let noise = if sweep.noise == 0.0 { "0".into() } else { format!("{:.0e}", sweep.noise) };
            let kept = sweep.kept_energy.map_or(String::new(), &text);
            writeln!(
                out,
                "  {number:>5}   {:>6}   {noise:>6}   {:>17}   {kept:>17}   {:>9.2e}   {:>8}   {:>7.2}",
                sweep.kept,
                text(sweep.energy),
                sweep.discarded,
                sweep.products,
                sweep.seconds
            )?;
        }
        writeln!(out)?;
        self.write_result(outcome, out)
    }

    /// The last steps of growth: the energy of each length, and what a site adds.
    fn write_growth(&self, outcome: &Outcome, out: &mut String) -> std::fmt::Result {
        const SHOWN: usize = 8;
        if self.search.growth.is_empty() {
            return Ok(());
        }
        let text = self.energies_as(outcome);
        writeln!(out, "  sites   states              energy        per site   discarded   products   seconds")?;
        for step in &self.search.growth[self.search.growth.len().saturating_sub(SHOWN)..] {
            let per_site = step.energy_per_site.map_or(String::new(), &text);
            writeln!(
                out,
                "  {:>5}   {:>6}   {:>17}   {per_site:>13}   {:>9.2e}   {:>8}   {:>7.2}",
                step.sites,
                step.kept,
                text(step.energy),
                step.discarded,
                step.products,
                step.seconds
            )?;
        }
        writeln!(out)
    }

    /// Where truncation ended the sweeps, and not the tolerance: by how much the last one changed the energy.
    fn write_end(&self, outcome: &Outcome, out: &mut String) -> std::fmt::Result {
        let [.., before, last] = self.search.sweeps.as_slice() else { return Ok(()) };
        let change = (before.energy - last.energy).abs();
        if !outcome.converged() || outcome.stop == Stop::Grown || change < outcome.tolerance * outcome.norm {
            return Ok(());
        }
        writeln!(
            out,
            "the last sweep changed the energy by {change:.1e}, less than {} of the discarded weight: more `states` improve it, \
             more sweeps do not",
            self.dmrg.options.improvement
        )
    }

    /// Writes energies of any size as those of the outcome are written, with the digits that the least certain of them has.
    fn energies_as(&self, outcome: &Outcome) -> impl Fn(f64) -> String {
        let format = EnergyFormat::new(outcome.energies.iter().map(|energy| (*energy, 0.0)));
        let error = self.shown_error(outcome, format);
        move |energy| format.text(energy, error)
    }

    /// The largest error of an energy, or so much more that each has the text of the exact one beside it.
    fn shown_error(&self, outcome: &Outcome, format: EnergyFormat) -> f64 {
        let largest =
            self.energy_errors.iter().flatten().copied().filter(|error| error.is_finite()).fold(0.0, f64::max);
        let exact = self.search.check.as_ref().map_or(&[][..], |check| &check.energies);
        let are_equal = |error: f64| {
            outcome
                .energies
                .iter()
                .zip(exact)
                .all(|(found, exact)| format.text(*found, error) == format.text(*exact, error))
        };
        let coarser = (0..ROUNDED_DIGITS).map(|digits| largest * 10f64.powi(digits));
        coarser.into_iter().find(|error| are_equal(*error)).unwrap_or(largest)
    }

    fn write_result(&self, outcome: &Outcome, out: &mut String) -> std::fmt::Result {
        let text = self.energies_as(outcome);
        let flag = if outcome.converged() { "" } else { "   NOT CONVERGED" };
        writeln!(out, "energy       {:>17}{flag}", text(lowest(outcome)))?;
        match self.energy_errors.first().copied().flatten() {
            Some(error) => writeln!(out, "uncertainty  {error:>17.1e} at most")?,
            None => writeln!(out, "uncertainty  not known")?,
        }
        match self.variances.first().copied().flatten() {
            Some(variance) => match self.variance_errors.first().copied().flatten() {
                Some(error) => writeln!(out, "variance     {variance:>17.2e} +- {error:.0e} from few vectors")?,
                None => writeln!(out, "variance     {variance:>17.2e}")?,
            },
            None => writeln!(out, "variance     not computed")?,
        }
        self.write_width(outcome, out)?;
        self.write_table_energy(outcome, out)?;
        if let Some(polish) = self.search.polish {
            writeln!(
                out,
                "one-site     {:>17} sweeps, the last changed the energy by {:.1e}",
                polish.sweeps, polish.change
            )?;
        }
        for (number, state) in self.search.excited.iter().enumerate() {
            let variance = state.variance.map_or("not computed".into(), |variance| format!("{variance:.2e}"));
            writeln!(out, "state {:<6} {:>17}   variance {variance}", number + 1, text(state.energy))?;
        }
        if let Some(average) = self.search.average {
            writeln!(out, "average      {:>17} of the energies by their weights", text(average))?;
        }
        if let Some(Extrapolated { energy, error, points }) = self.search.extrapolated {
            let format = EnergyFormat::new([(energy, error)]);
            let energy = format.text(energy, error);
            writeln!(out, "extrapolated {energy:>17} +- {error:.1e} from {points} numbers of states")?;
        } else if let Some(why) = &self.search.not_extrapolated {
            writeln!(out, "extrapolated {:>17}: {why}", "no")?;
        }
        self.write_check(outcome, out)?;
        let cuts = self.search.cuts.iter();
        let most =
            cuts.fold((0, 0.0), |most, cut| if cut.entropy > most.1 { (cut.left_sites, cut.entropy) } else { most });
        writeln!(out, "entropy      {:>17.10} at most, behind {} sites", most.1, most.0)?;
        if self.complex {
            writeln!(out, "numbers      complex: states of sweeps include an auxiliary site that carries the phases")?;
        }
        match &self.molecule {
            Some(molecule) => molecule.write_summary(out)?,
            None => write_averages(outcome, out)?,
        }
        outcome.write_observables(out)?;
        let how = match (outcome.converged(), outcome.stop) {
            (true, Stop::Grown) => "grown",
            (true, _) => "converged",
            _ => "STOPPED at the number of sweeps",
        };
        let sweeps = || self.search.sweeps.iter().chain(self.search.excited.iter().flat_map(|state| &state.sweeps));
        let grown = self.search.growth.iter().map(|step| step.products).sum::<usize>();
        let products = sweeps().map(|sweep| sweep.products).sum::<usize>() + grown;
        writeln!(out, "{how} by dmrg on {}: {} sweeps, {products} products", outcome.device, sweeps().count(),)?;
        self.write_end(outcome, out)?;
        let solve = outcome.seconds.solve;
        let rate = if solve > 0.0 { outcome.cost.flops / solve / 1e9 } else { 0.0 };
        outcome.write_seconds(out, &format!(" ({rate:.1} GFLOP/s in products)"))?;
        outcome.write_cost(out)?;
        self.write_phases(out)?;
        if let Some(MemoryUse { plan, taken, peak, measured }) = self.search.memory {
            let taken = size(taken);
            writeln!(out, "memory: planned {}; taken {taken}, held {} at most", plan.describe(), usage(peak))?;
            if measured.memory > peak.memory {
                writeln!(out, "memory: {} while the variance and averages were measured", usage(measured))?;
            }
        }
        Ok(())
    }

    /// Where the time of the last sweep went, and of all sweeps what each card did of the products that are long enough to be timed.
    fn write_phases(&self, out: &mut String) -> std::fmt::Result {
        if let Some(SweepRecord { phases, seconds, .. }) = self.search.sweeps.last() {
            let Phases { plan, solve, truncate, carry } = phases;
            writeln!(
                out,
                "last sweep {seconds:.2} s: {solve:.2} Davidson, {truncate:.2} truncation, {carry:.2} carrying over, {plan:.2} planning"
            )?;
        }
        for CardWork { device, flops, products, waiting, received } in
            self.search.cards.iter().filter(|card| card.flops > 0.0)
        {
            let others = match self.search.cards.len() {
                1 => String::new(),
                _ => format!("; {waiting:.2} s until x had come, {} received", size(*received)),
            };
            writeln!(
                out,
                "{device}: {products:.2} s of products at {:.1} TFLOP/s{others}",
                flops / products.max(1e-12) / 1e12
            )?;
        }
        Ok(())
    }

    /// What the variance proves, where truncation leaves one that the uncertainty does not cover.
    fn write_width(&self, outcome: &Outcome, out: &mut String) -> std::fmt::Result {
        let [variance, error] = [&self.variances, &self.energy_errors].map(|list| list.first().copied().flatten());
        let width = variance.map_or(0.0, |variance| variance.max(0.0).sqrt());
        match error {
            Some(error) if width > error && width > 1e-6 * outcome.norm => {
                writeln!(
                    out,
                    "             it proves an eigenvalue within {width:.1e}; truncation leaves that much, and more `states` lower it"
                )
            }
            _ => Ok(()),
        }
    }

    /// Why the table ends with another energy, where it does.
    fn write_table_energy(&self, outcome: &Outcome, out: &mut String) -> std::fmt::Result {
        let Some(last) =
            self.search.sweeps.last().filter(|last| (last.energy - lowest(outcome)).abs() > 1e-9 * outcome.norm)
        else {
            return Ok(());
        };
        let text = energies_of_states(outcome);
        writeln!(
            out,
            "             the sweeps' {} is the lowest of a bond that is not truncated;\n\
             \x20            {} is <H> of the state that is kept, of which all else is measured",
            text(last.energy),
            text(lowest(outcome))
        )
    }

    /// What is known of the sector by another path, and what was done about it.
    fn write_check(&self, outcome: &Outcome, out: &mut String) -> std::fmt::Result {
        let Some(check) = &self.search.check else { return Ok(()) };
        let text = self.energies_as(outcome);
        let energies: Vec<String> = check.energies.iter().copied().map(&text).collect();
        writeln!(
            out,
            "checked      by exact diagonalisation of the sector's {} states: {}",
            check.dimension,
            energies.join(", ")
        )?;
        self.search.restarts.iter().try_for_each(|Restart { state, energy_before }| {
            let before = text(*energy_before);
            writeln!(
                out,
                "             state {state}: the sweeps had ended at {before} and were done again from the exact state"
            )
        })
    }
}

/// Digits by which two numbers that agree may round apart.
const ROUNDED_DIGITS: i32 = 3;

/// Writes energies of states, which are known to rounding however far they are from a level.
fn energies_of_states(outcome: &Outcome) -> impl Fn(f64) -> String {
    let format = EnergyFormat::new(outcome.energies.iter().map(|energy| (*energy, 0.0)));
    move |energy| format.text(energy, 0.0)
}

/// The energy of the lowest state.
fn lowest(outcome: &Outcome) -> f64 {
    outcome.energies.first().copied().unwrap_or(f64::NAN)
}

/// What the standard averages come to.
fn write_averages(outcome: &Outcome, out: &mut String) -> std::fmt::Result {
    let averages = &outcome.observables.averages;
    let mean = |name: &str| averages.sites(name).map(|values| values.sum() / values.len().max(1) as f64);
    match (mean("n_up"), mean("n_dn"), mean("double_occupancy")) {
        (Some(up), Some(down), Some(double)) => {
            writeln!(out, "average of a site: <n> {:.6}, <n_up n_dn> {double:.6}", up + down)?;
        }
        (_, _, Some(pairs)) => {
            let n = (0..).map_while(|flavour| mean(&format!("n_{flavour}"))).sum::<f64>();
            writeln!(out, "average of a site: <n> {n:.6}, pairs {pairs:.6}")?;
        }
        _ => {}
    }
    let largest = |sz: ndarray::ArrayView1<'_, f64>| sz.iter().fold(0.0f64, |largest, sz| largest.max(sz.abs()));
    averages.sites("sz").map_or(Ok(()), |sz| writeln!(out, "largest |<Sz>| of a site: {:.2e}", largest(sz)))
}

/// "1.23 GiB, 0.75 GiB beside it on other cards, 0.50 GiB beside it in host memory, 2.00 GiB on disk".
fn usage(peak: Usage) -> String {
    let mut text = size(peak.memory);
    let cards = (peak.other_cards, "beside it on other cards");
    for (bytes, place) in [cards, (peak.host, "beside it in host memory"), (peak.disk, "on disk")] {
        if bytes > 0 {
            text += &format!(", {} {place}", size(bytes));
        }
    }
    text
}
