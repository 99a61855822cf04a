//! What a spectrum leaves behind: printed for people, as JSON for programs.

use super::conductivity::ConductivityRecord;
use crate::report::{ClusterRecord, EnergyFormat, KernelRecord, ModelRecord, MomentumRecord};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// A spectrum and how it was obtained. Energies are in the unit of the model's amplitudes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpectrumRecord {
    /// The version of the fields.
    pub schema: u32,
    /// The model file.
    pub model: ModelRecord,
    /// The lattice; `null` of a molecule.
    pub lattice: Option<ClusterRecord>,
    /// `of` of the file.
    pub of: String,
    /// "lanczos", "exact" or "kpm"; of an ensemble "ftlm", or "exact" where no sector was sampled.
    #[serde(default)]
    pub method: String,
    /// The energy of the level that it starts from; of an ensemble the lowest H − µN.
    pub energy: f64,
    /// The sectors that have states of the level, each with how many; none of an ensemble.
    pub level: Vec<LevelSectorRecord>,
    /// The temperatures of an ensemble; none of a level.
    #[serde(default)]
    pub temperatures: Vec<f64>,
    /// Random vectors of each sector of an ensemble that is sampled; 0 where none is.
    #[serde(default)]
    pub samples: usize,
    /// Half of the width of a pole.
    pub eta: f64,
    /// The energies of the curves, from the level's energy; of removing with the other sign.
    pub omega: Vec<f64>,
    /// A curve for each momentum; one of an operator without; of a molecule the sum of all, then one for each orbital or direction.
    pub curves: Vec<SpectrumCurve>,
    /// The optical conductivity, of "current"; else `null`.
    pub conductivity: Option<ConductivityRecord>,
    /// Σ of the weights of all curves; of an ensemble of those at the lowest temperature; of a molecule the weight of the first curve.
    pub total_weight: f64,
    /// Whether each curve changes less than by a thousandth from half of its steps to all.
    pub converged: bool,
    /// The device's name.
    pub device: String,
    /// Generated kernels that ran; empty on a CPU.
    #[serde(default)]
    pub kernels: Vec<KernelRecord>,
    /// Seconds of the level, and of all from start to report.
    pub seconds: [f64; 2],
    /// What a careful reader must know.
    pub warnings: Vec<String>,
}

/// States of the level in a sector.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LevelSectorRecord {
    /// The sector.
    pub sector: String,
    /// Its states of the level.
    pub states: usize,
}

/// A curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpectrumCurve {
    /// The momentum; `null` of an operator without one.
    pub q: Option<MomentumRecord>,
    /// Of a molecule what the curve is of: "sum", "orbital 3", "x"; else `null`.
    #[serde(default)]
    pub label: Option<String>,
    /// The length of the path before it, or its place in the list.
    pub along: f64,
    /// The temperature; `null` of a level.
    #[serde(default)]
    pub temperature: Option<f64>,
    /// S(q, ω).
    pub curve: Vec<f64>,
    /// Standard errors of S(q, ω); `null` where no random vector was used.
    #[serde(default)]
    pub errors: Option<Vec<f64>>,
    /// ∫ S dω, ∫ ω S dω and ∫ ω² S dω, exact but for samples; of removing with ω of the drawn sign.
    pub moments: [f64; 3],
    /// Standard errors of the moments; `null` where no random vector was used.
    #[serde(default)]
    pub moment_errors: Option<[f64; 3]>,
    /// ∫ e^(−ω/T) S dω with ω = E_n − E_m, which detailed balance makes ⟨AA†⟩; `null` of a level and with a chemical potential.
    #[serde(default)]
    pub reverse_weight: Option<f64>,
    /// ⟨A†A⟩ by averages over the level, which is ∫ S dω; `null` where it was not taken.
    pub sum_rule: Option<f64>,
    /// The sectors that A leads to.
    pub sectors: Vec<String>,
    /// Steps of the longest chain.
    pub steps: usize,
    /// Whether the chains ended by themselves: then poles and curve are exact.
    pub exact: bool,
    /// Whether they ended by themselves, or because the curve no longer changed; by moments, whether poles are as narrow as `eta`.
    pub settled: bool,
    /// The largest change of the curve from half of the steps to all, in parts of its largest value; 0 by moments.
    pub change: f64,
    /// By moments: the width of a pole at the centre of the spectrum, at most `eta` where the steps are enough; `null` by chains.
    #[serde(default)]
    pub resolution: Option<f64>,
    /// (ω, weight) of poles: all where `exact`, else those of the chains, whose outer ones have converged; none by moments.
    pub poles: Vec<[f64; 2]>,
    /// Of a molecule's dipole the oscillator strength of each pole, 2/3 ω times its weight; else `null`.
    #[serde(default)]
    pub oscillator_strengths: Option<Vec<f64>>,
}

/// A curve that changes by less of its largest value from half of its steps to all has converged.
pub(super) const SAME: f64 = 1e-3;

/// How far ∫ S dω may be from its average.
const SUM_RULE: f64 = 1e-6;

impl SpectrumCurve {
    /// "(1, 2)", "Γ (0, 0)", "orbital 3".
    pub(super) fn name(&self) -> String {
        if let Some(label) = &self.label {
            return label.clone();
        }
        let Some(q) = &self.q else { return String::new() };
        let numbers: Vec<String> = q.k.iter().map(i64::to_string).collect();
        let numbers = numbers.join(", ");
        match q.point.as_deref() {
            Some("Gamma") => format!("Γ ({numbers})"),
            Some("Pi") => format!("π ({numbers})"),
            Some(point) => format!("{point} ({numbers})"),
            None => format!("({numbers})"),
        }
    }

    /// Whether the curve has converged.
    pub(super) fn converged(&self) -> bool {
        self.settled || (self.resolution.is_none() && self.change <= SAME)
    }

    /// Where ∫ S dω is not the average that it is.
    pub(super) fn breaks_sum_rule(&self) -> bool {
        let [weight, ..] = self.moments;
        self.sum_rule.is_some_and(|rule| (weight - rule).abs() > SUM_RULE * rule.abs().max(SUM_RULE))
    }
}

impl SpectrumRecord {
    /// Text for a terminal, ending in a newline.
    pub(super) fn text(&self) -> String {
        let mut out = KernelRecord::overridden_text(&self.kernels);
        let line = |out: &mut String, text: std::fmt::Arguments<'_>| {
            let _ = writeln!(out, "{text}");
        };
        let energy = EnergyFormat::new([(self.energy, 0.0)]).text(self.energy, 0.0);
        let states: usize = self.level.iter().map(|sector| sector.states).sum();
        let counted = if states == 1 { "1 state".into() } else { format!("{states} states") };
        match self.temperatures.first() {
            Some(_) if self.samples > 0 => {
                line(&mut out, format_args!("ensemble lowest E = {energy}, {} samples", self.samples));
            }
            Some(_) => line(&mut out, format_args!("ensemble lowest E = {energy}, all states")),
            None => line(&mut out, format_args!("level    E = {energy}, {counted}:")),
        }
        for sector in &self.level {
            line(&mut out, format_args!("         {} in {}", sector.states, sector.sector));
        }
        line(&mut out, format_args!("spectrum of {}, eta = {}", self.of, self.eta));
        line(&mut out, format_args!(""));
        // Of an ensemble the weight of A† by detailed balance stands where that of averages does.
        let of_ensemble = !self.temperatures.is_empty();
        let rule = if of_ensemble { "<AA+>" } else { "<A+A>" };
        let name = if self.lattice.is_some() { "q" } else { "curve" };
        let heading = format!("  {name:<16}      weight {rule:>10}       mean w      peak w   steps   change");
        let heading = heading + if of_ensemble { "        T" } else { "" };
        line(&mut out, format_args!("{heading}"));
        for curve in &self.curves {
            let [weight, first, _] = curve.moments;
            let rule = curve.sum_rule.or(curve.reverse_weight);
            let rule = rule.map_or_else(|| "-".into(), |rule| format!("{rule:.8}"));
            let mean = if weight > 0.0 { format!("{:.6}", first / weight) } else { "-".into() };
            let peak = curve.curve.iter().zip(&self.omega).max_by(|a, b| a.0.total_cmp(b.0));
            let peak =
                peak.filter(|(height, _)| **height > 0.0).map_or_else(|| "-".into(), |(_, at)| format!("{at:.4}"));
            let change = match curve.resolution {
                Some(width) => format!("width {width:.4}"),
                None if curve.exact => "exact".into(),
                None => format!("{:.1e}", curve.change),
            };
            let name = curve.name();
            let temperature = curve.temperature.map_or_else(String::new, |t| {
                format!("{:>width$}", format!("  {t}"), width = 17 - change.len().min(8))
            });
            line(
                &mut out,
                format_args!(
                    "  {name:<16} {weight:>11.8} {rule:>10} {mean:>12} {peak:>11} {:>7}   {change}{temperature}",
                    curve.steps
                ),
            );
        }
        line(&mut out, format_args!(""));
        if let Some(conductivity) = &self.conductivity {
            line(&mut out, format_args!("{conductivity}"));
        }
        let strengths = self.curves.first().and_then(|curve| curve.oscillator_strengths.as_ref());
        match strengths {
            Some(strengths) => {
                let sum = strengths.iter().fold(0.0, |sum, own| sum + own);
                line(&mut out, format_args!("oscillator strengths of all poles {sum:.8}"));
            }
            None => line(&mut out, format_args!("weight of all curves {:.8}", self.total_weight)),
        }
        let [level, total] = self.seconds;
        line(&mut out, format_args!("on {}; {total:.2} s, of them the level {level:.2}", self.device));
        for warning in &self.warnings {
            line(&mut out, format_args!("warning: {warning}"));
        }
        out
    }
}
