//! What an evolution leaves behind: printed for people, as JSON for programs.

use crate::dmrg::MatrixProductState;
use crate::observable::Average;
use crate::report::{ClusterRecord, KernelRecord, ModelRecord};
use crate::words::grouped;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// An evolution and how it was obtained. Times are in ħ over the unit of the model's amplitudes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvolutionRecord {
    /// The version of the fields.
    pub schema: u32,
    /// The model file.
    pub model: ModelRecord,
    /// The lattice.
    pub lattice: ClusterRecord,
    /// The sector.
    pub sector: String,
    /// Its states.
    pub states: u64,
    /// The start in words.
    pub start: String,
    /// Whether time is imaginary: exp(−Ht) ψ of length 1.
    pub imaginary: bool,
    /// `record` of the file.
    pub record: Vec<String>,
    /// The times.
    pub times: Vec<f64>,
    /// ⟨H⟩ at each time.
    pub energy: Vec<f64>,
    /// The largest change of ⟨H⟩ from its first value, of a constant H in real time; else `null`.
    pub energy_drift: Option<f64>,
    /// |⟨ψ(0)|ψ(t)⟩|².
    pub echo: Vec<f64>,
    /// ⟨ψ(0)|ψ(t)⟩: real and imaginary part.
    pub overlap: Vec<[f64; 2]>,
    /// ln ‖exp(−Ht) ψ(0)‖ in imaginary time; else `null`.
    pub log_norm: Option<Vec<f64>>,
    /// Averages of the observables that are recorded.
    pub averages: Vec<RecordedAverages>,
    /// Entropies of sets of sites.
    pub entropies: Vec<RecordedEntropy>,
    /// The sum of the steps' bounds of ‖ψ − exact‖ up to each time.
    pub bounds: Vec<f64>,
    /// The same at the end.
    pub bound: f64,
    /// The part of it that is an estimate, of a H(t).
    pub estimated: f64,
    /// What it was to stay below.
    pub tolerance: f64,
    /// Steps in time.
    pub steps: usize,
    /// Multiplies with H in the steps.
    pub multiplies: usize,
    /// Vectors that a basis of a step had room for.
    pub basis: usize,
    /// Whether the bound stayed below the tolerance, and the start has converged.
    pub converged: bool,
    /// The device's name.
    pub device: String,
    /// Generated kernels that ran; empty on a CPU.
    #[serde(default)]
    pub kernels: Vec<KernelRecord>,
    /// Seconds to the start, and from there to the end.
    pub seconds: [f64; 2],
    /// Of a matrix-product state what truncations and steps may have cost; else `null`.
    #[serde(default)]
    pub chain: Option<ChainEvolutionRecord>,
    /// The matrix-product state at the end, if it is to be written; no part of the report.
    #[serde(skip)]
    pub state: Option<MatrixProductState>,
    /// What a careful reader must know.
    pub warnings: Vec<String>,
}

/// What an evolution of a matrix-product state took, and what it may have cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChainEvolutionRecord {
    /// The sites in the order of the chain.
    pub order: Vec<usize>,
    /// The longest step in time.
    pub step: f64,
    /// How many sites move at once: "two-site", or "expanding" for one whose bonds grow.
    #[serde(default)]
    pub update: String,
    /// Complex states that a bond may keep.
    pub most_states: usize,
    /// The most that a bond kept up to each time.
    pub states: Vec<usize>,
    /// Weight that truncations dropped up to each time, all together.
    pub discarded: Vec<f64>,
    /// Estimate of ‖ψ − exact‖ by the length of the steps, from some of them.
    pub splitting: f64,
    /// The sum of the bounds of the exponentials of bonds.
    pub exponentials: f64,
    /// Weight that states would get within a step which bonds lack, for terms on sites that are no neighbours in the chain, or beside those that
    /// join a bond which grows, all together.
    pub missing: f64,
    /// The time at which the weight passed the tolerance, where the run ended before `until`; else `null`.
    pub stop_time: Option<f64>,
    /// The entropy of each cut of the chain from left to right, at each time.
    pub cut_entropies: Vec<Vec<f64>>,
}

/// An observable as a function of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordedAverages {
    /// Its name.
    pub name: String,
    /// Its values at each time.
    pub values: Vec<Average>,
}

/// The entropy of a set of sites as a function of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordedEntropy {
    /// The sites.
    pub sites: Vec<usize>,
    /// −tr ρ ln ρ at each time.
    pub values: Vec<f64>,
}

impl RecordedEntropy {
    /// "S_0_1_2".
    pub fn name(&self) -> String {
        self.sites.iter().fold("S".into(), |name, site| format!("{name}_{site}"))
    }
}

/// Rows of the printed table at most.
const MOST_ROWS: usize = 12;
/// Digits behind the point of a time of it.
const FEWEST_DIGITS: usize = 4;
const MOST_DIGITS: usize = 10;
/// Columns of it beside the time.
const MOST_COLUMNS: usize = 6;

/// A time with as many digits as tell all of the list apart.
pub(super) fn time_text(time: f64, times: &[f64]) -> String {
    let gap = times.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min);
    let is_kept = |digits: usize| {
        times
            .iter()
            .all(|time| format!("{time:.digits$}").parse().is_ok_and(|short: f64| (short - time).abs() <= 1e-3 * gap))
    };
    let shortest = (FEWEST_DIGITS..=MOST_DIGITS).find(|digits| is_kept(*digits));
    shortest.map_or_else(|| format!("{time:.6e}"), |digits| format!("{time:.digits$}"))
}

impl EvolutionRecord {
    /// Every quantity that is one number or one a site, with its values at each time: energy, echo, averages, entropies.
    pub(super) fn columns(&self) -> Vec<(String, Vec<f64>)> {
        let mut columns = vec![("energy".to_string(), self.energy.clone()), ("echo".into(), self.echo.clone())];
        for RecordedAverages { name, values } in &self.averages {
            let Some(first) = values.first() else { continue };
            let at = |place: usize| values.iter().map(|value| value.values()[place]).collect::<Vec<f64>>();
            match first {
                Average::Whole(_) => columns.push((name.clone(), at(0))),
                Average::Sites(sites) => {
                    columns.extend((0..sites.len()).map(|site| (format!("{name}_{site}"), at(site))));
                }
                Average::Pairs(pairs) => {
                    let sites = pairs.nrows();
                    let pair = |place: usize| (format!("{name}_{}_{}", place / sites, place % sites), at(place));
                    columns.extend((0..sites * sites).map(pair));
                }
            }
        }
        columns.extend(self.entropies.iter().map(|entropy| (entropy.name(), entropy.values.clone())));
        columns
    }

    /// Text for a terminal, ending in a newline.
    pub(super) fn text(&self) -> String {
        let mut out = KernelRecord::overridden_text(&self.kernels);
        let line = |out: &mut String, text: &str| {
            let _ = writeln!(out, "{text}");
        };
        line(&mut out, &format!("start    {}", self.start));
        line(&mut out, &format!("sector   {}: {} states\n", self.sector, grouped(self.states.into())));
        let columns = self.columns();
        let shown = &columns[..columns.len().min(MOST_COLUMNS)];
        let heading: String = shown.iter().map(|(name, _)| format!(" {name:>18}")).collect();
        line(&mut out, &format!("{:>10}{heading}", "t"));
        let step = self.times.len().div_ceil(MOST_ROWS).max(1);
        let last = self.times.len().saturating_sub(1);
        for place in (0..self.times.len()).filter(|place| place % step == 0 || *place == last) {
            let values: String = shown.iter().map(|(_, values)| format!(" {:>18.10}", values[place])).collect();
            line(&mut out, &format!("{:>10}{values}", time_text(self.times[place], &self.times)));
        }
        let hidden = columns.len() - shown.len();
        if hidden > 0 || step > 1 {
            let more = if hidden > 0 { format!(", and {hidden} more quantities") } else { String::new() };
            line(&mut out, &format!("    (all {} times{more}: --output DIR, or --json)", self.times.len()));
        }
        if let Some(chain) = &self.chain {
            line(&mut out, &chain.text(self));
            self.warnings.iter().for_each(|warning| line(&mut out, &format!("warning: {warning}")));
            return out;
        }
        let drift = self.energy_drift.map_or(String::new(), |drift| format!("; energy drift {drift:.1e}"));
        let estimated = if self.estimated > 0.0 {
            format!(" (of which {:.1e} is an estimate by halved steps)", self.estimated)
        } else {
            String::new()
        };
        line(
            &mut out,
            &format!("\nerror    at most {:.1e}{estimated}, tolerance {:e}{drift}", self.bound, self.tolerance),
        );
        line(
            &mut out,
            &format!(
                "steps    {}, with {} multiplies, bases of up to {} vectors",
                self.steps, self.multiplies, self.basis
            ),
        );
        let [start, steps] = self.seconds;
        line(&mut out, &format!("on {}; {:.2} s, of them the steps {steps:.2}", self.device, start + steps));
        self.warnings.iter().for_each(|warning| line(&mut out, &format!("warning: {warning}")));
        out
    }
}

impl ChainEvolutionRecord {
    /// The last lines of the text.
    fn text(&self, of: &EvolutionRecord) -> String {
        let drift = of.energy_drift.map_or(String::new(), |drift| format!("; energy drift {drift:.1e}"));
        let (discarded, states) = (self.discarded.last().copied().unwrap_or(0.0), self.states.last().unwrap_or(&0));
        let missing = match self.missing {
            0.0 => String::new(),
            missing => format!(", {missing:.1e} by states that bonds lack"),
        };
        let [start, steps] = of.seconds;
        format!(
            "\nweight   {discarded:.1e} discarded{missing}, tolerance {:e}{drift}\nerror    of ψ about {:.1e}: steps in time {:.1e}, exponentials \
             {:.1e}, and the root of the weight\nsteps    {} of at most {}, with {} products; at most {states} of {} states\n\
             on {}; {:.2} s, of them the steps {steps:.2}",
            of.tolerance,
            of.bound,
            self.splitting,
            self.exponentials,
            of.steps,
            self.step,
            of.multiplies,
            self.most_states,
            of.device,
            start + steps
        )
    }
}

#[cfg(test)]
mod tests {
    use super::time_text;

    #[test]
    fn times_have_the_digits_that_tell_them_apart() {
        let text = |times: &[f64]| times.iter().map(|time| time_text(*time, times)).collect::<Vec<_>>();
        assert_eq!(text(&[0.0, 0.1, 0.2]), ["0.0000", "0.1000", "0.2000"]);
        assert_eq!(text(&[0.0, 1e-5, 2e-5]), ["0.00000", "0.00001", "0.00002"]);
        assert_eq!(text(&[0.0, 1.0 / 3.0]), ["0.0000", "0.3333"]);
        assert_eq!(text(&[0.0, 1e-12, 3e-12]), ["0.000000e0", "1.000000e-12", "3.000000e-12"]);
        assert_eq!(text(&[5.0, 5.000_01])[1], "5.00001");
        assert_eq!(text(&[0.0]), ["0.0000"]);
    }
}
