//! What thermal averages leave behind: printed for people, as JSON for programs.

use crate::report::{ClusterRecord, EnergyFormat, KernelRecord, ModelRecord};
use crate::words::grouped;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Thermal averages and how they were obtained. Energies and temperatures are in the unit of the model's amplitudes, k_B = 1; everything is of
/// the whole cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThermalRecord {
    /// The version of the fields.
    pub schema: u32,
    /// The model file.
    pub model: ModelRecord,
    /// The lattice.
    pub lattice: ClusterRecord,
    /// "canonical" or "grand".
    pub ensemble: String,
    /// What the ensemble fixes, in words; empty where it has all states.
    pub fixed: String,
    /// The chemical potential; `null` in the canonical ensemble.
    pub mu: Option<f64>,
    /// The states of the ensemble: ln Z at T → ∞ is the logarithm of their number.
    pub states: u64,
    /// The sectors that were solved, and how.
    pub sectors: Vec<ThermalSectorRecord>,
    /// Random vectors of each sampled sector; 0 where there is none.
    pub samples: usize,
    /// The lowest energy, less µN.
    pub lowest: f64,
    /// The states of that energy; `null` where it is not known exactly.
    pub degeneracy: Option<usize>,
    /// The temperatures, ascending.
    pub temperatures: Vec<f64>,
    /// Each quantity: `ln_z`, `energy` ⟨H⟩, `heat_capacity`, `entropy`, `susceptibility`, in the grand ensemble `grand_energy` ⟨H − µN⟩, `particles`
    /// and `dn_dmu`, then averages by their names.
    pub quantities: Vec<ThermalCurve>,
    /// Averages by site and by pair: those of `record`, and observables of the file that have a value for each.
    #[serde(default)]
    pub places: Vec<ThermalPlaces>,
    /// Whether each quantity changes less than by a thousandth from half of the steps of the chains to all, and all levels have converged.
    pub converged: bool,
    /// The device's name.
    pub device: String,
    /// Generated kernels that ran; empty on a CPU.
    #[serde(default)]
    pub kernels: Vec<KernelRecord>,
    /// Seconds from start to report.
    pub seconds: f64,
    /// What a careful reader must know.
    pub warnings: Vec<String>,
}

/// A sector that was solved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThermalSectorRecord {
    /// The sector.
    pub sector: String,
    /// Its states.
    pub states: u64,
    /// How many sectors have its levels by symmetry, itself among them.
    pub joined: usize,
    /// Its states whose energies are known exactly.
    pub exact: u64,
    /// Steps of the longest chain; 0 of a sector that was solved whole.
    pub steps: usize,
}

/// A quantity at all temperatures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThermalCurve {
    /// Its name.
    pub name: String,
    /// Its value at each temperature.
    pub values: Vec<f64>,
    /// The standard error of each; 0 where no random vector is used.
    pub errors: Vec<f64>,
    /// The most that a value changes from half of the steps of the chains to all, in parts of the largest value.
    pub change: f64,
}

/// An average of every site or pair of sites. Places that a symmetry of the ensemble joins share a curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThermalPlaces {
    /// Its name.
    pub name: String,
    /// "site" or "pair".
    pub by: String,
    /// The number in `curves` of each site, or of each ordered pair of sites, row by row; `null` where the observable is not defined.
    pub curve_of: Vec<Option<usize>>,
    /// The curves, each named by its first place; changes are in parts of the largest value of all.
    pub curves: Vec<ThermalCurve>,
}

impl ThermalPlaces {
    /// One number of each place at each temperature, temperature by temperature; NaN where the observable is not defined.
    pub(super) fn expanded(&self, part: impl Fn(&ThermalCurve) -> &[f64]) -> Vec<f64> {
        let temperatures = self.curves.first().map_or(0, |curve| curve.values.len());
        let at = |row: usize, curve: &Option<usize>| curve.map_or(f64::NAN, |curve| part(&self.curves[curve])[row]);
        (0..temperatures).flat_map(|row| self.curve_of.iter().map(move |curve| at(row, curve))).collect()
    }

    /// The shape of its array: temperatures, and one or two axes of sites.
    pub(super) fn dimensions(&self) -> Vec<usize> {
        let (temperatures, places) = (self.curves.first().map_or(0, |curve| curve.values.len()), self.curve_of.len());
        match self.by.as_str() {
            "pair" => vec![temperatures, places.isqrt(), places.isqrt()],
            _ => vec![temperatures, places],
        }
    }
}

/// A quantity that changes by less of its largest value from half of the steps to all has converged.
pub(super) const SAME: f64 = 1e-3;

/// Rows of the table on a terminal at most.
const MOST_ROWS: usize = 16;

/// Columns of the table, as they are headed.
const COLUMNS: [(&str, &str); 7] = [
    ("energy", "E"),
    ("heat_capacity", "C"),
    ("entropy", "S"),
    ("susceptibility", "chi"),
    ("particles", "N"),
    ("dn_dmu", "dN/dmu"),
    ("double_occupancy", "doublons"),
];

impl ThermalRecord {
    /// The curves of quantities and of places.
    pub(super) fn curves(&self) -> impl Iterator<Item = &ThermalCurve> {
        self.quantities.iter().chain(self.places.iter().flat_map(|own| &own.curves))
    }

    /// A quantity by its name.
    pub fn quantity(&self, name: &str) -> Option<&ThermalCurve> {
        self.quantities.iter().find(|quantity| quantity.name == name)
    }

    /// Text for a terminal, ending in a newline.
    pub(super) fn text(&self) -> String {
        let mut out = KernelRecord::overridden_text(&self.kernels);
        let line = |out: &mut String, text: std::fmt::Arguments<'_>| {
            let _ = writeln!(out, "{text}");
        };
        line(&mut out, format_args!("ensemble {}", self.ensemble_text()));
        let joined: usize = self.sectors.iter().map(|sector| sector.joined).sum();
        let whole = self.sectors.iter().filter(|sector| sector.exact == sector.states).count();
        let sampled = match self.sectors.len() - whole {
            0 => "all of them whole".into(),
            sampled => format!("{whole} of them whole, {sampled} by {} random vectors each", self.samples),
        };
        line(&mut out, format_args!("sectors  {joined}, of which {} differ; {sampled}", self.sectors.len()));
        let lowest = EnergyFormat::new([(self.lowest, 0.0)]).text(self.lowest, 0.0);
        let of = if self.mu.is_some() { "H - mu N" } else { "H" };
        let degeneracy = match self.degeneracy {
            Some(1) => ", 1 state".into(),
            Some(states) => format!(", {states} states"),
            None => ", by random vectors".to_string(),
        };
        line(&mut out, format_args!("lowest   {of} = {lowest}{degeneracy}"));
        line(
            &mut out,
            format_args!(
                "all quantities are of the whole cluster, k_B = 1; in brackets the standard error of the last digits"
            ),
        );
        line(&mut out, format_args!(""));
        let columns: Vec<(&ThermalCurve, &str)> =
            COLUMNS.iter().filter_map(|(name, heading)| Some((self.quantity(name)?, *heading))).collect();
        let headings: String = columns.iter().map(|(_, heading)| format!(" {heading:>18}")).collect();
        line(&mut out, format_args!("  {:>9}{headings}", "T"));
        let count = self.temperatures.len();
        let rows = count.min(MOST_ROWS);
        for row in 0..rows {
            // The first and the last among them.
            let place = if rows > 1 { row * (count - 1) / (rows - 1) } else { 0 };
            let cells: String = columns
                .iter()
                .map(|(curve, _)| format!(" {:>18}", with_error(curve.values[place], curve.errors[place])))
                .collect();
            line(&mut out, format_args!("  {:>9}{cells}", short(self.temperatures[place])));
        }
        if rows < count {
            line(&mut out, format_args!("  {rows} of {count} temperatures; --output DIR has all"));
        }
        line(&mut out, format_args!(""));
        for text in self.limits() {
            line(&mut out, format_args!("{text}"));
        }
        line(&mut out, format_args!("on {}; {:.2} s", self.device, self.seconds));
        for warning in &self.warnings {
            line(&mut out, format_args!("warning: {warning}"));
        }
        out
    }

    fn ensemble_text(&self) -> String {
        let states = grouped(self.states.into());
        let fixed =
            if self.fixed.is_empty() { "every state".into() } else { format!("{}, the rest summed over", self.fixed) };
        match self.mu {
            Some(mu) => format!("grand canonical, H - mu N with mu = {mu}; {fixed}: {states} states"),
            None => format!("canonical, not grand canonical; {fixed}: {states} states"),
        }
    }

    /// What is known at both ends, beside what was found.
    fn limits(&self) -> Vec<String> {
        let (Some(entropy), Some(lowest)) = (self.quantity("entropy"), self.temperatures.first()) else {
            return vec![];
        };
        let last = self.temperatures.len() - 1;
        let at = |place: usize| with_error(entropy.values[place], entropy.errors[place]);
        let high = format!(
            "S at T = {}: {}; at T → ∞ it is ln {} = {:.6}",
            short(self.temperatures[last]),
            at(last),
            grouped(self.states.into()),
            (self.states as f64).ln()
        );
        let low = self.degeneracy.map(|states| {
            format!("S at T = {}: {}; at T → 0 it is ln {states} = {:.6}", short(*lowest), at(0), (states as f64).ln())
        });
        low.into_iter().chain([high]).collect()
    }
}

/// "0.35", "1.2e-6".
fn short(number: f64) -> String {
    let size = number.abs();
    if size != 0.0 && !(1e-4..1e6).contains(&size) {
        format!("{number:.3e}")
    } else {
        format!("{}", (number * 1e6).round() / 1e6)
    }
}

/// "−4.5152(13)": the error in units of the last digits; without one six digits behind the point.
fn with_error(value: f64, error: f64) -> String {
    if !value.is_finite() || !error.is_finite() {
        return "-".into();
    }
    let size = value.abs();
    if error <= 1e-9 * size.max(1e-3) {
        return if size != 0.0 && size < 1e-3 { format!("{value:.5e}") } else { format!("{value:.6}") };
    }
    // Two digits of the error.
    let power = error.log10().floor() as i32 - 1;
    if power < -9 {
        return format!("{value:.4e}({:.0e})", error);
    }
    let digits = (-power).max(0) as usize;
    let unit = 10f64.powi(power);
    let counted = (error / unit).round() * if power > 0 { unit } else { 1.0 };
    format!("{value:.digits$}({counted:.0})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_stand_in_units_of_the_last_digits() {
        assert_eq!(with_error(-4.51523, 0.0013), "-4.5152(13)");
        assert_eq!(with_error(0.5, 0.25), "0.50(25)");
        assert_eq!(with_error(1234.0, 56.0), "1234(56)");
        assert_eq!(with_error(1.0, 0.0), "1.000000");
        assert_eq!(with_error(3.25e-7, 0.0), "3.25000e-7");
        assert_eq!(with_error(f64::NAN, 0.0), "-");
        assert_eq!(short(0.05), "0.05");
    }
}
