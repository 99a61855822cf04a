//! The record of a DMRG run: every field of its report.json, and its summary for a terminal.
//!
//! Energies are in the units of the model's amplitudes (t, J), times in seconds, memory in bytes. Sites are those of the
//! lattice; cuts are numbered along the order of the run.

use super::{KernelRecord, MemoryRecord, ModelRecord, ReportError, text_file};
use crate::dmrg::refine::MemoryUse;
use crate::dmrg::{
    Correlations, CutRecord, ExcitedState, Extrapolated, GrowthRecord, PolishRecord, Restart, SectorCheck, SweepRecord,
    SweepStop,
};
use crate::input::{DmrgSpec, SectorSpec};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Everything that is known of a run when it ends.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DmrgReport {
    /// The model file.
    pub model: ModelRecord,
    /// Its `[dmrg]`, with what the command line changed.
    pub dmrg: DmrgSpec,
    /// One line: kind, lengths, boundaries, numbering of the sites.
    pub lattice: String,
    /// Conserved quantum numbers.
    pub sector: SectorSpec,
    /// The lattice site at each position of the chain.
    pub order: Vec<usize>,
    /// The longest bond along that order.
    pub longest_bond: usize,
    /// Most operators at a cut.
    pub operator_sum_width: usize,
    /// An upper bound of the norm of H without its constants, Σ |coefficient| Π ‖one-site operator‖: what `tolerance` is relative to.
    pub norm: f64,
    /// ⟨H⟩ of every state that was asked for, ascending, as in the report of a diagonalisation: `energy` and those of `excited`.
    pub energies: Vec<f64>,
    /// ⟨H²⟩ − ⟨H⟩² of each; `null` where it was not computed.
    pub variances: Vec<Option<f64>>,
    /// ⟨H⟩ of the lowest state that was found: an upper bound.
    pub energy: f64,
    /// Σ w_i E_i of states that share their kept states; `null` where each has its own.
    pub average: Option<f64>,
    /// ⟨H²⟩ − ⟨H⟩²; `null` where it was not computed.
    pub variance: Option<f64>,
    /// At no discarded weight, where sweeps settled at several numbers of states.
    pub extrapolated: Option<Extrapolated>,
    /// The largest weight dropped at a cut in the last sweep.
    pub discarded: f64,
    /// "converged", "sweeps", or "grown" where no sweeps were asked for.
    pub stop: String,
    /// Steps of the infinite-lattice algorithm; empty unless the chain was grown.
    pub growth: Vec<GrowthRecord>,
    /// One a sweep.
    pub sweeps: Vec<SweepRecord>,
    /// One-site sweeps at the end, if they were asked for.
    pub polish: Option<PolishRecord>,
    /// The states above the lowest, if they were asked for.
    pub excited: Vec<ExcitedState>,
    /// The lowest levels of the whole sector, where it was small enough to be diagonalised beside the sweeps; else `null`.
    pub check: Option<SectorCheck>,
    /// Searches that had ended above their states and were done again from the exact ones.
    pub restarts: Vec<Restart>,
    /// Sweeps that came from a checkpoint.
    pub resumed_sweeps: usize,
    /// One a cut, from left to right: entropy and the largest weights.
    pub cuts: Vec<CutRecord>,
    /// Averages by lattice site.
    pub sites: SiteAverages,
    /// Correlations by lattice site, if they were asked for.
    pub correlations: Option<Correlations>,
    /// Where it ran.
    pub device: String,
    /// The generated kernels that ran.
    pub kernels: Vec<KernelRecord>,
    /// Where the time went.
    pub seconds: DmrgSeconds,
    /// Operations of all products with H.
    pub flops: f64,
    /// Versions by name.
    pub versions: BTreeMap<String, String>,
    /// What a careful reader must know.
    pub warnings: Vec<String>,
    /// What the planner said would be resident.
    pub memory: MemoryRecord,
    /// The plan that was made when the sectors were known, and what was held at most.
    pub memory_held: Option<MemoryUse>,
}

/// Averages of each site of the lattice.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct SiteAverages {
    /// ⟨n↑⟩; `null` for moments.
    pub n_up: Option<Vec<f64>>,
    /// ⟨n↓⟩.
    pub n_dn: Option<Vec<f64>>,
    /// ⟨n_f⟩ of each flavour of spin-F fermions, `[flavour][site]`.
    pub n_flavour: Option<Vec<Vec<f64>>>,
    /// ⟨n↑n↓⟩; of flavours Σ_{f<g} ⟨n_f n_g⟩.
    pub double_occupancy: Option<Vec<f64>>,
    /// ⟨Sᶻ⟩.
    pub sz: Vec<f64>,
}

/// Wall-clock seconds of each phase.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct DmrgSeconds {
    /// Operator sum, charges.
    pub setup: f64,
    /// Sweeps.
    pub sweeps: f64,
    /// Variance, entropies, averages.
    pub measure: f64,
    /// From start to report.
    pub total: f64,
}

impl DmrgReport {
    /// Whether the sweeps of every state settled, where there were to be any.
    pub fn converged(&self) -> bool {
        self.stop != "sweeps" && self.excited.iter().all(|state| state.stop != SweepStop::Sweeps)
    }

    /// The record as JSON, indented.
    ///
    /// # Errors
    /// A value that the serialiser refuses; there is none in a report today.
    pub fn to_json(&self) -> Result<String, ReportError> {
        Ok(serde_json::to_string_pretty(self)?)
    }

    /// Writes `folder`/report.json, energy.svg and entropy.svg; returns their paths.
    ///
    /// # Errors
    /// A folder that cannot be made or written.
    pub fn write(&self, folder: &Path) -> Result<Vec<PathBuf>, ReportError> {
        let mut files = vec![text_file(&folder.join("report.json"), &(self.to_json()? + "\n"))?];
        if !self.sweeps.is_empty() {
            files.push(text_file(&folder.join("energy.svg"), &self.energy_svg()?)?);
        }
        files.push(text_file(&folder.join("entropy.svg"), &self.entropy_svg()?)?);
        Ok(files)
    }

    /// Text for a terminal, without colours, ending in a newline.
    pub fn summary(&self) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = self.write_summary(&mut out);
        out
    }

    fn write_summary(&self, out: &mut String) -> std::fmt::Result {
        let edited: Vec<&str> = self.kernels.iter().filter(|k| k.overridden).map(|k| k.name.as_str()).collect();
        if !edited.is_empty() {
            writeln!(out, "OVERRIDDEN: edited kernels ran in place of generated ones, and these are their numbers")?;
            writeln!(out, "            {}\n", edited.join(", "))?;
        }
        writeln!(out, "{} on {}, {}", self.model.name, self.lattice, self.sector.describe())?;
        writeln!(out)?;
        self.write_growth(out)?;
        if self.sweeps.is_empty() {
            return self.write_result(out);
        }
        writeln!(out, "  sweep   states    noise              energy   discarded   products   seconds")?;
        for (number, sweep) in self.sweeps.iter().enumerate() {
            let noise = if sweep.noise == 0.0 { "0".into() } else { format!("{:.0e}", sweep.noise) };
            writeln!(
                out,
                "  {number:>5}   {:>6}   {noise:>6}   {:>17.10}   {:>9.2e}   {:>8}   {:>7.2}",
                sweep.kept, sweep.energy, sweep.discarded, sweep.products, sweep.seconds
            )?;
        }
        writeln!(out)?;
        self.write_result(out)
    }

    /// The last steps of growth: the energy of each length, and what a site adds.
    fn write_growth(&self, out: &mut String) -> std::fmt::Result {
        const SHOWN: usize = 8;
        if self.growth.is_empty() {
            return Ok(());
        }
        writeln!(out, "  sites   states              energy        per site   discarded   products   seconds")?;
        for step in &self.growth[self.growth.len().saturating_sub(SHOWN)..] {
            let per_site = step.energy_per_site.map_or(String::new(), |energy| format!("{energy:.10}"));
            writeln!(
                out,
                "  {:>5}   {:>6}   {:>17.10}   {per_site:>13}   {:>9.2e}   {:>8}   {:>7.2}",
                step.sites, step.kept, step.energy, step.discarded, step.products, step.seconds
            )?;
        }
        writeln!(out)
    }

    fn write_result(&self, out: &mut String) -> std::fmt::Result {
        let flag = if self.converged() { "" } else { "   NOT CONVERGED" };
        writeln!(out, "energy       {:>17.10}{flag}", self.energy)?;
        match self.variance {
            Some(variance) => writeln!(out, "variance     {variance:>17.2e}")?,
            None => writeln!(out, "variance     not computed")?,
        }
        self.write_table_energy(out)?;
        if let Some(polish) = self.polish {
            writeln!(
                out,
                "one-site     {:>17} sweeps, the last changed the energy by {:.1e}",
                polish.sweeps, polish.change
            )?;
        }
        for (number, state) in self.excited.iter().enumerate() {
            let variance = state.variance.map_or("not computed".into(), |variance| format!("{variance:.2e}"));
            writeln!(out, "state {:<6} {:>17.10}   variance {variance}", number + 1, state.energy)?;
        }
        if let Some(average) = self.average {
            writeln!(out, "average      {average:>17.10} of the energies by their weights")?;
        }
        if let Some(Extrapolated { energy, error, points }) = self.extrapolated {
            writeln!(out, "extrapolated {energy:>17.10} +- {error:.1e} from {points} numbers of states")?;
        }
        self.write_check(out)?;
        let most = self
            .cuts
            .iter()
            .fold((0, 0.0), |most, cut| if cut.entropy > most.1 { (cut.left_sites, cut.entropy) } else { most });
        writeln!(out, "entropy      {:>17.10} at most, behind {} sites", most.1, most.0)?;
        self.write_averages(out)?;
        let how = match (self.converged(), self.stop.as_str()) {
            (true, "grown") => "grown",
            (true, _) => "converged",
            _ => "STOPPED at the number of sweeps",
        };
        let sweeps = || self.sweeps.iter().chain(self.excited.iter().flat_map(|state| &state.sweeps));
        let grown = self.growth.iter().map(|step| step.products).sum::<usize>();
        let products = sweeps().map(|sweep| sweep.products).sum::<usize>() + grown;
        writeln!(
            out,
            "{how} by dmrg on {}: {} sweeps, {products} products by strategy {}{}",
            self.device,
            sweeps().count(),
            self.dmrg.strategy.name(),
            self.dmrg.cpu_share.describe().map_or(String::new(), |share| format!(", {share}"))
        )?;
        let DmrgSeconds { setup, sweeps, measure, total } = self.seconds;
        let rate = if sweeps > 0.0 { self.flops / sweeps / 1e9 } else { 0.0 };
        writeln!(
            out,
            "{total:.2} s: setup {setup:.2}, sweeps {sweeps:.2} ({rate:.1} GFLOP/s in products), measure {measure:.2}"
        )?;
        if let Some(MemoryUse { plan, taken, peak, measured }) = self.memory_held {
            let taken = crate::words::size(taken);
            writeln!(out, "memory: planned {}; taken {taken}, held {} at most", plan.describe(), peak.describe())?;
            if measured.memory > peak.memory {
                writeln!(out, "memory: {} while the variance and averages were measured", measured.describe())?;
            }
        }
        self.warnings.iter().try_for_each(|warning| writeln!(out, "warning: {warning}"))
    }

    /// Why the table ends with another energy, where it does.
    fn write_table_energy(&self, out: &mut String) -> std::fmt::Result {
        let Some(last) = self.sweeps.last().filter(|last| (last.energy - self.energy).abs() > 1e-9 * self.norm) else {
            return Ok(());
        };
        writeln!(
            out,
            "             the sweeps' {:.10} is the lowest of a bond whose two sites are not truncated;\n\
             \x20            {:.10} is <H> of the state that is kept, of which all else is measured",
            last.energy, self.energy
        )
    }

    /// What is known of the sector by another path, and what was done about it.
    fn write_check(&self, out: &mut String) -> std::fmt::Result {
        let Some(check) = &self.check else { return Ok(()) };
        let energies: Vec<String> = check.energies.iter().map(|energy| format!("{energy:.10}")).collect();
        writeln!(
            out,
            "checked      by exact diagonalisation of the sector's {} states: {}",
            check.dimension,
            energies.join(", ")
        )?;
        self.restarts.iter().try_for_each(|Restart { state, energy_before }| {
            writeln!(
                out,
                "             state {state}: the sweeps had ended at {energy_before:.10} and were done again from the exact state"
            )
        })
    }

    fn write_averages(&self, out: &mut String) -> std::fmt::Result {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
        let sites = &self.sites;
        if let (Some(up), Some(down), Some(double)) = (&sites.n_up, &sites.n_dn, &sites.double_occupancy) {
            let (n, double) = (mean(up) + mean(down), mean(double));
            writeln!(out, "average of a site: <n> {n:.6}, <n_up n_dn> {double:.6}")?;
        }
        if let (Some(flavours), Some(pairs)) = (&sites.n_flavour, &sites.double_occupancy) {
            let n = flavours.iter().map(|density| mean(density)).sum::<f64>();
            writeln!(out, "average of a site: <n> {n:.6}, pairs {:.6}", mean(pairs))?;
        }
        let largest = sites.sz.iter().fold(0.0f64, |largest, sz| largest.max(sz.abs()));
        writeln!(out, "largest |<Sz>| of a site: {largest:.2e}")
    }
}
