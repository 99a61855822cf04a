//! The table of a sweep for a terminal.
//!
//! In: the record of a sweep. Out: a row for each point, the lowest levels of all symmetry sectors, the warnings.

use super::states::NOT_CERTIFIED;
use super::{EnergyFormat, ParameterSweepRecord, SweptOutcome};
use crate::input::short;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Rows of a table with its columns lined up to the right.
pub(super) fn table_text(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}")).collect();
        out = out + "  " + cells.join("   ").trim_end() + "\n";
    }
    out
}

impl ParameterSweepRecord {
    /// The table for a terminal, ending in a newline.
    pub fn summary(&self) -> String {
        let energies = |energies: &[(f64, f64)]| {
            let format = EnergyFormat::new(energies.iter().copied().filter(|(energy, _)| energy.is_finite()));
            // A small sector has fewer states than others.
            let text = |(energy, known): &(f64, f64)| match energy.is_finite() {
                true => format.text(*energy, *known),
                false => String::new(),
            };
            energies.iter().map(text).collect()
        };
        let rows = self.rows(energies);
        let mut out = table_text(&rows);
        self.write_levels(&mut out);
        let several = if self.shared_texts == 1 { "text" } else { "texts" };
        let texts = match self.shared_texts {
            0 => String::new(),
            texts => format!("; {texts} {several} of the multiply for all points"),
        };
        // Writing to a String cannot fail.
        let (points, several) = (self.points.len(), if self.points.len() == 1 { "point" } else { "points" });
        let _ = write!(out, "\n{points} {several} in {:.2} s{texts}\n", self.seconds);
        self.write_warnings(&mut out);
        out
    }

    /// The warnings of all points, a line each; that multiplicities are bounds, where several points say so, in one line.
    fn write_warnings(&self, out: &mut String) {
        let of_point = |(point, row): (usize, &SweptOutcome)| {
            let warnings = row.report["warnings"].as_array().cloned().unwrap_or_default();
            warnings.into_iter().filter_map(move |text| Some((point, text.as_str()?.to_string()))).collect::<Vec<_>>()
        };
        let all: Vec<(usize, String)> = self.points.iter().enumerate().flat_map(of_point).collect();
        let (bounds, mut others): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|(_, text)| text.contains(NOT_CERTIFIED));
        let points: BTreeSet<usize> = bounds.iter().map(|(point, _)| *point).collect();
        if points.len() > 1 {
            let _ = writeln!(
                out,
                "warning: the numbers of states of {} levels at {} points are lower bounds: {NOT_CERTIFIED}, which \
                 `certify = true` in [solve] does",
                bounds.len(),
                points.len()
            );
        } else {
            others.extend(bounds);
            others.sort_by_key(|(point, _)| *point);
        }
        for (point, text) in others {
            let _ = writeln!(out, "warning: {}: {text}", self.label(point));
        }
        for text in &self.warnings {
            let _ = writeln!(out, "warning: {text}");
        }
    }

    /// Whether the points have sectors of several sizes.
    fn has_dimensions(&self) -> bool {
        self.points.iter().any(|point| point.dimension != self.points[0].dimension)
    }

    /// The heading and a row for each point; `write` writes a column of (number, how far it may be off).
    fn rows(&self, write: impl Fn(&[(f64, f64)]) -> Vec<String>) -> Vec<Vec<String>> {
        let states = self.points.iter().map(|point| point.energies.len()).max().unwrap_or(0);
        let all_names = |of: fn(&SweptOutcome) -> &BTreeMap<String, f64>| -> BTreeSet<&String> {
            self.points.iter().flat_map(|point| of(point).keys()).collect()
        };
        let (channels, names) = (all_names(|point| &point.norms), all_names(|point| &point.observables));
        let mut heading: Vec<String> = self.keys.iter().map(|key| short(key).to_string()).collect();
        let joined = self.points.iter().any(|point| !point.joined.is_empty());
        if joined {
            let of_momenta = !self.runs_over_charges() && self.keys.iter().all(|key| key != "symmetry.irrep");
            heading.push(if of_momenta { "also k" } else { "also" }.into());
        }
        let times = self.points.iter().any(|point| point.degeneracy > 1);
        if times {
            heading.push("times".into());
        }
        if self.has_dimensions() {
            heading.push("states".into());
        }
        let spins = self.points.iter().any(SweptOutcome::has_spins);
        if spins {
            heading.push("S".into());
        }
        let molecules = self.points.iter().any(|point| point.report["family"] == "molecule");
        if molecules {
            heading.extend(["<S^2>".into(), "multiplicity".into()]);
        }
        heading.extend((0..states).map(|state| format!("energy {state}")));
        heading.extend(channels.iter().map(|channel| format!("norm {channel}")));
        heading.push(format!("largest {}", self.certificate));
        heading.extend(names.iter().map(|name| format!("<{name}>")));
        heading.extend(["seconds".into(), String::new()]);
        let mut columns: Vec<Vec<String>> = (0..states)
            .map(|state| {
                let energy = |point: &SweptOutcome| {
                    let known = point.uncertainties.get(state).copied().unwrap_or(0.0);
                    (point.energies.get(state).copied().unwrap_or(f64::NAN), known)
                };
                write(&self.points.iter().map(energy).collect::<Vec<_>>())
            })
            .collect();
        columns.extend(channels.iter().map(|channel| {
            let norm = |point: &SweptOutcome| (point.norms.get(*channel).copied().unwrap_or(f64::NAN), 0.0);
            write(&self.points.iter().map(norm).collect::<Vec<_>>())
        }));
        let averages: Vec<Vec<String>> = names
            .iter()
            .map(|name| {
                // Below 1e-14 all is rounding of what symmetry makes 0.
                let value = |point: &SweptOutcome| (point.observables.get(*name).copied().unwrap_or(f64::NAN), 1e-14);
                write(&self.points.iter().map(value).collect::<Vec<_>>())
            })
            .collect();
        let row = |(number, point): (usize, &SweptOutcome)| {
            let mut row = point.texts.clone();
            if joined {
                let sectors = point.joined_sectors().into_iter().map(|text| format!("all at {text}"));
                let places = point.joined_places().into_iter().map(String::from);
                row.push(places.chain(sectors).collect::<Vec<_>>().join(", "));
            }
            if times {
                row.push(point.degeneracy.to_string());
            }
            if self.has_dimensions() {
                row.push(point.dimension.to_string());
            }
            if spins {
                row.push(point.spins_text());
            }
            if molecules {
                row.extend([point.squares_text(), point.multiplicities_text()]);
            }
            row.extend(columns.iter().map(|column| column[number].clone()));
            let known: Vec<f64> = point.certificates.iter().copied().flatten().collect();
            let largest = known.iter().copied().reduce(f64::max);
            row.push(largest.map_or("not computed".into(), |largest| format!("{largest:.1e}")));
            row.extend(averages.iter().map(|column| column[number].clone()));
            row.push(format!("{:.2}", point.seconds));
            row.push(if point.converged { String::new() } else { "NOT CONVERGED".into() });
            row
        };
        std::iter::once(heading).chain(self.points.iter().enumerate().map(row)).collect()
    }
}
