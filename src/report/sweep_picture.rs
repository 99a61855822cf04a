//! The pictures of a sweep: energies.svg, observables.svg, tower.svg and magnetisation.svg.
//!
//! In: the record of a sweep. Out: SVG texts.
//!
//! | picture | there is one where | x | y |
//! |---|---|---|---|
//! | energies.svg | one number changes, or momenta are among what changes | the number, the momentum | the energies, with a mark for each total spin where it is known |
//! | observables.svg | one number changes, and observables have one value | the number | ⟨O⟩ of the lowest level, a panel each |
//! | tower.svg | the levels of symmetry sectors have total spins | S (S + 1) | the energies, with a mark for each momentum and irrep |
//! | magnetisation.svg | sectors of several 2Sz were solved | the field h of H − h Sz | Sz of the lowest state |

use super::magnetisation::Magnetisation;
use super::plot::{Axis, SIZE, Series, Style, chart, picture};
use super::units::{energy_label, key_label};
use super::{KeyValues, MomentumRecord, ParameterSweepRecord, ReportError, SweptOutcome};
use serde_json::Value;
use std::collections::BTreeMap;

/// The pictures that a sweep may have.
pub(super) const PICTURES: [&str; 4] = ["energies.svg", "observables.svg", "tower.svg", "magnetisation.svg"];

/// Width and height of a panel of observables.
const PANEL: (u32, u32) = (480, 320);

/// The most panels.
const MOST_PANELS: usize = 12;

/// Marks of a tower at one S(S + 1) stand beside each other, so many, this far apart.
const BESIDE: usize = 7;
const ASIDE: f64 = 0.06;

/// The most lines of states without spins.
const MOST_LINES: usize = 12;

impl ParameterSweepRecord {
    /// File names and SVG texts.
    pub(super) fn pictures(&self) -> Result<Vec<(&'static str, String)>, ReportError> {
        let all = [
            ("energies.svg", self.energies_svg()?),
            ("observables.svg", self.observables_svg()?),
            ("tower.svg", self.tower_svg()?),
            ("magnetisation.svg", self.magnetisation_svg()?),
        ];
        Ok(all.into_iter().filter_map(|(name, picture)| Some((name, picture?))).collect())
    }

    /// The energies against the one number that changes, of all symmetry sectors against the momentum; `None` without energies, where
    /// several keys change, or one that is no number.
    ///
    /// # Errors
    /// An error of the drawing library.
    pub fn energies_svg(&self) -> Result<Option<String>, ReportError> {
        if self.points.iter().all(|point| point.energies.is_empty()) {
            return Ok(None);
        }
        let Some((axis, rows)) = self.against_momentum().or_else(|| self.against_number()) else { return Ok(None) };
        let title = format!("{}: energies", self.short_name());
        let energy = Axis::new(self.energy_label());
        let series = self.energy_series(&rows);
        picture(SIZE, |area| Ok(chart(area, &title, [&axis, &energy], &series).map_err(|error| error.to_string())?))
            .map(Some)
    }

    /// ⟨O⟩ of the lowest level against the one number that changes; `None` where there is no such number or no observable of one value.
    ///
    /// # Errors
    /// An error of the drawing library.
    pub fn observables_svg(&self) -> Result<Option<String>, ReportError> {
        let mut names: Vec<&String> = self.points.iter().flat_map(|point| point.observables.keys()).collect();
        names.sort();
        names.dedup();
        names.truncate(MOST_PANELS);
        let Some((axis, rows)) = self.against_number().filter(|_| !names.is_empty()) else { return Ok(None) };
        let columns = names.len().min(2);
        let size = (PANEL.0 * columns as u32, PANEL.1 * names.len().div_ceil(columns) as u32);
        let draw = |name: &String| {
            let value = |(x, point): &(f64, &SweptOutcome)| Some((*x, *point.observables.get(name)?));
            let points = rows.iter().filter_map(value).collect();
            (Axis::new(format!("⟨{name}⟩")), [Series { name: String::new(), points, style: Style::Joined }])
        };
        let panels: Vec<_> = names.iter().map(|name| draw(name)).collect();
        picture(size, |area| {
            for (area, (value, series)) in
                area.split_evenly((names.len().div_ceil(columns), columns)).iter().zip(&panels)
            {
                chart(area, "", [&axis, value], series).map_err(|error| error.to_string())?;
            }
            Ok(())
        })
        .map(Some)
    }

    /// The levels against S (S + 1); `None` where no level has a total spin.
    ///
    /// # Errors
    /// An error of the drawing library.
    pub fn tower_svg(&self) -> Result<Option<String>, ReportError> {
        // A series for each sector that was solved: those with the same energies have the same marks.
        let mut series: BTreeMap<usize, Vec<(f64, f64)>> = BTreeMap::new();
        for level in &self.levels {
            for sector in &level.sectors {
                for spin in sector.spins.iter().flatten() {
                    let (at, points) =
                        ((spin.s * (spin.s + 1.0), level.energy), series.entry(sector.point).or_default());
                    if !points.contains(&at) {
                        points.push(at);
                    }
                }
            }
        }
        let mut named: Vec<Series> = Vec::new();
        for (point, points) in series {
            let values = &self.points[point].values;
            let name = sector_name(values, self.points[point].momentum_of(values).as_ref());
            match named.iter_mut().find(|known| known.name == name) {
                // Signs and charges have no mark of their own.
                Some(known) => known.points.extend(points),
                None => named.push(Series { name, points, style: Style::Marks }),
            }
        }
        let lowest = |series: &Series| series.points.iter().map(|point| point.1).fold(f64::INFINITY, f64::min);
        named.sort_by(|a, b| lowest(a).total_cmp(&lowest(b)));
        if named.iter().map(|series| series.points.len()).sum::<usize>() < 2 {
            return Ok(None);
        }
        // Marks of one energy would hide each other.
        for (number, series) in named.iter_mut().enumerate() {
            series
                .points
                .iter_mut()
                .for_each(|point| point.0 += ASIDE * ((number % BESIDE) as f64 - 0.5 * (BESIDE - 1) as f64));
        }
        if let [alone] = &mut named[..] {
            alone.name = String::new();
        }
        let series = named;
        let (spin, energy) = (Axis::new("S(S + 1)"), Axis::new(self.energy_label()));
        let title = format!("{}: levels by total spin", self.short_name());
        picture(SIZE, |area| Ok(chart(area, &title, [&spin, &energy], &series).map_err(|error| error.to_string())?))
            .map(Some)
    }

    /// Sz of the lowest state against the field; `None` where 2Sz has one value alone.
    ///
    /// # Errors
    /// An error of the drawing library.
    pub fn magnetisation_svg(&self) -> Result<Option<String>, ReportError> {
        let Some(Magnetisation { steps, .. }) = self.magnetisation() else { return Ok(None) };
        let Some(last) = steps.last().filter(|_| steps.len() > 1) else { return Ok(None) };
        // The line goes on above saturation by a tenth.
        let end = 1.1 * last.from;
        let points = steps.iter().flat_map(|step| {
            let m = 0.5 * step.two_sz as f64;
            [(step.from, m), (step.to.unwrap_or(end).min(end), m)]
        });
        let series = [Series { name: String::new(), points: points.collect(), style: Style::Line }];
        let energy = self.energy_label();
        let unit = energy.strip_prefix('E').unwrap_or_default();
        let axes = [Axis::new(format!("h{unit}")), Axis::new("Sz")];
        let title = format!("{}: lowest state of H − h Sz", self.short_name());
        picture(SIZE, |area| Ok(chart(area, &title, [&axes[0], &axes[1]], &series).map_err(|error| error.to_string())?))
            .map(Some)
    }

    /// The points by the one number that changes, ascending.
    fn against_number(&self) -> Option<(Axis, Vec<(f64, &SweptOutcome)>)> {
        let [key] = &self.keys[..] else { return None };
        let rows = self.points.iter().map(|point| Some((point.values.get(key)?.as_f64()?, point)));
        let mut rows = rows.collect::<Option<Vec<_>>>()?;
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        Some((Axis::new(key_label(key, &self.energy_label())), rows))
    }

    /// The points of symmetry sectors by their momenta, those of joined sectors too, in the order of the list.
    fn against_momentum(&self) -> Option<(Axis, Vec<(f64, &SweptOutcome)>)> {
        self.keys.iter().find(|key| *key == "symmetry.k").filter(|_| self.whole.is_some())?;
        let mut places: BTreeMap<Vec<i64>, (String, Vec<&SweptOutcome>)> = BTreeMap::new();
        for point in &self.points {
            let values = std::iter::once(&point.values).chain(point.joined.iter().map(|joined| &joined.values));
            for values in values {
                let momentum = point.momentum_of(values)?;
                let place = places.entry(momentum.k.clone()).or_insert_with(|| (momentum_name(&momentum), Vec::new()));
                place.1.push(point);
            }
        }
        let one_number = places.keys().all(|k| k.len() == 1);
        let x = |number: usize, k: &[i64]| if one_number { k[0] as f64 } else { number as f64 };
        let mut axis = Axis::new(if one_number { "k · L/2π" } else { "k" });
        if !one_number {
            // Names of every momentum where there is room for them.
            let every = places.len().div_ceil(12).max(1);
            let names: Vec<&String> = places.values().map(|(name, _)| name).collect();
            let ticks = places.iter().enumerate().filter(|(number, _)| number % every == 0);
            axis.ticks = ticks.map(|(number, (k, (name, _)))| (number as f64, unique_name(name, k, &names))).collect();
        }
        let rows = places.iter().enumerate().flat_map(|(number, (k, (_, points)))| {
            points.iter().map(move |point| (x(number, k), *point)).collect::<Vec<_>>()
        });
        Some((axis, rows.collect()))
    }

    /// A series for each total spin, and lines through states of the same number where one key changes; without spins a line for each state.
    fn energy_series(&self, rows: &[(f64, &SweptOutcome)]) -> Vec<Series> {
        let alone = self.keys.len() == 1;
        let states = rows.iter().map(|(_, point)| point.energies.len()).max().unwrap_or(0);
        let line = |state: usize| -> Vec<(f64, f64)> {
            let energy = |(x, point): &(f64, &SweptOutcome)| Some((*x, *point.energies.get(state)?));
            rows.iter().filter_map(energy).filter(|(_, energy)| energy.is_finite()).collect()
        };
        if !self.points.iter().any(SweptOutcome::has_spins) {
            let style = if alone { Style::Joined } else { Style::Marks };
            let name = |state: usize| if states == 1 { String::new() } else { format!("state {state}") };
            return (0..states.min(MOST_LINES))
                .map(|state| Series { name: name(state), points: line(state), style })
                .collect();
        }
        let guide = |state| Series { name: String::new(), points: line(state), style: Style::Guide };
        let mut series: Vec<Series> = (0..states).filter(|_| alone).map(guide).collect();
        let mut by_spin: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
        for (x, point) in rows {
            for (state, energy) in point.energies.iter().enumerate().filter(|(_, energy)| energy.is_finite()) {
                by_spin.entry(spin_name(point.s.get(state).copied().flatten())).or_default().push((*x, *energy));
            }
        }
        let named = by_spin.into_iter().map(|(name, points)| Series { name, points, style: Style::Marks });
        series.extend(named);
        series
    }

    /// The name of the file without its folder and ending.
    fn short_name(&self) -> String {
        std::path::Path::new(&self.file).file_stem().map_or(String::new(), |name| name.to_string_lossy().into_owned())
    }

    /// The label of energies: "E / J".
    fn energy_label(&self) -> String {
        let labels = self.points.iter().filter_map(|point| {
            let model = &point.report["model"];
            Some(energy_label(point.report["family"].as_str()?, model["name"].as_str()?, model["text"].as_str()?))
        });
        let mut labels: Vec<&str> = labels.collect();
        labels.dedup();
        if let [one] = labels[..] { one.into() } else { "E".into() }
    }
}

/// "S = 1/2"; of several or unknown spins "S unknown".
fn spin_name(s: Option<f64>) -> String {
    match s.map(|s| (2.0 * s).round() as i64) {
        Some(twice) if twice % 2 == 0 => format!("S = {}", twice / 2),
        Some(twice) => format!("S = {twice}/2"),
        None => "several S".into(),
    }
}

/// "Γ", "M", "(0, 1)".
fn momentum_name(momentum: &MomentumRecord) -> String {
    let numbers = || momentum.k.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
    match momentum.point.as_deref() {
        Some("Gamma") => "Γ".into(),
        Some("Pi") => "π".into(),
        Some(name) => name.into(),
        None if momentum.k.len() == 1 => format!("k = {}", numbers()),
        None => format!("({})", numbers()),
    }
}

/// "Γ"; with its integers where several momenta have the name: "M (1, 0)".
fn unique_name(name: &str, k: &[i64], names: &[&String]) -> String {
    let numbers: Vec<String> = k.iter().map(i64::to_string).collect();
    match names.iter().filter(|other| **other == name).count() {
        0 | 1 => name.into(),
        _ => format!("{name} ({})", numbers.join(", ")),
    }
}

/// "Γ A1": momentum and irrep; "π, reflection −" with the sign of a mirror.
fn sector_name(values: &KeyValues, momentum: Option<&MomentumRecord>) -> String {
    let place = momentum.map(momentum_name);
    let irrep = values.get("symmetry.irrep").and_then(Value::as_str).map(String::from);
    let place: Vec<String> = [place, irrep].into_iter().flatten().collect();
    let sign = values.get("symmetry.reflection").and_then(Value::as_i64);
    let reflection = sign.map(|sign| format!("reflection {}", if sign > 0 { "+" } else { "−" }));
    let parts: Vec<String> =
        Some(place.join(" ")).filter(|place| !place.is_empty()).into_iter().chain(reflection).collect();
    if parts.is_empty() { "levels".into() } else { parts.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn momenta_of_one_name_have_their_integers_and_signs_say_of_what() {
        let names = ["Γ", "M", "M", "(1, 1)"].map(String::from);
        let names: Vec<&String> = names.iter().collect();
        assert_eq!(unique_name("M", &[1, 0], &names), "M (1, 0)");
        assert_eq!(unique_name("Γ", &[0, 0], &names), "Γ");
        let values = |value: serde_json::Value| value.as_object().unwrap().clone();
        let pi = MomentumRecord { k: vec![4], point: Some("Pi".into()), ..MomentumRecord::default() };
        let sector = values(json!({"symmetry.k": 4, "symmetry.reflection": -1, "symmetry.spin_inversion": 1}));
        assert_eq!(sector_name(&sector, Some(&pi)), "π, reflection −");
        assert_eq!(sector_name(&values(json!({"symmetry.irrep": "A1"})), Some(&pi)), "π A1");
        assert_eq!(sector_name(&values(json!({"symmetry.spin_inversion": 1})), None), "levels");
    }
}
