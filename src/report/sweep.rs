//! What a sweep of parameters leaves behind: a row for each point, with the whole report of the point behind it.
//!
//! In: the [`Outcome`] of each point. Out: a table for a terminal, JSON, `sweep.csv`, and `energies.svg` where one number changes.

use super::levels::SectorLevel;
use super::outcome::text_file;
use super::picture_style::{BLUE, Fault, RED};
use super::states::NOT_CERTIFIED;
use super::{EnergyFormat, FamilyRecord, LevelRecord, LevelSpinRecord, Outcome, ReportError};
use crate::input::{label_of, short};
use crate::su3::ChannelSummary;
use plotters::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};

/// One point of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweptOutcome {
    /// The value of each key, as written in the file.
    pub values: Vec<String>,
    /// Momenta, irreps and charges whose sectors have the same energies and were not solved again: "9", "two_sz = -2, k = 9".
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joined: Vec<String>,
    /// States of the sector or determinants of the space; 0 of a chain and of a transformation.
    #[serde(default)]
    pub dimension: u64,
    /// How often each of its levels is there: the states of its irrep.
    #[serde(default = "super::lattice::one", skip_serializing_if = "super::lattice::is_one")]
    pub degeneracy: usize,
    /// The lowest energies; none of a transformation.
    #[serde(deserialize_with = "super::record::nullable")]
    pub energies: Vec<f64>,
    /// Their levels, with the total spins; none of DMRG and of a transformation.
    pub levels: Vec<LevelRecord>,
    /// How far each energy may be off; empty of DMRG and of a transformation.
    #[serde(deserialize_with = "super::record::nullable")]
    pub uncertainties: Vec<f64>,
    /// What rounding may leave between equal energies, from the norm of H.
    pub rounding: f64,
    /// Σ C² of the strengths of a transformation, by channel.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub norms: BTreeMap<String, f64>,
    /// ‖Hx − λx‖ of each energy, of DMRG its variance, of a transformation its defect; `null` where it was not computed.
    pub certificates: Vec<Option<f64>>,
    /// Whether all states meet the tolerance.
    pub converged: bool,
    /// The lowest level's averages of the observables that have one value.
    pub observables: BTreeMap<String, f64>,
    /// Seconds of the point, from its model to its report.
    pub seconds: f64,
    /// The whole report of the point.
    pub report: serde_json::Value,
}

/// What shows how good a result is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Certificate {
    /// ‖Hx − λx‖.
    #[default]
    Residual,
    /// ⟨H²⟩ − ⟨H⟩² of a matrix-product state.
    Variance,
    /// How far the coefficients of a transformation are from orthogonal.
    Defect,
}

impl fmt::Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// A sweep when it ends, and after each point.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ParameterSweepRecord {
    /// Name of the model file.
    pub file: String,
    /// Its text.
    pub text: String,
    /// The keys that change, such as "model.u".
    pub keys: Vec<String>,
    /// What the certificates are.
    pub certificate: Certificate,
    /// How many texts of a generated multiply the points share; 0 where no generated kernel ran.
    pub shared_texts: usize,
    /// The points so far.
    pub points: Vec<SweptOutcome>,
    /// States of the sectors whose symmetry sectors the points are; `None` where anything else changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<u64>,
    /// The lowest levels of those sectors, at the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<SectorLevel>,
    /// What must be known of these levels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// From start to end.
    pub seconds: f64,
}

impl SweptOutcome {
    /// The row of an outcome.
    ///
    /// # Errors
    /// A report that does not fit JSON.
    pub fn of(values: &[String], joined: &[String], outcome: &Outcome) -> Result<SweptOutcome, ReportError> {
        let certificates = outcome.certificates();
        let averages = outcome.observables.averages.iter();
        let observables = averages.filter_map(|(name, _)| {
            let value = outcome.observables.averages.whole(name)?;
            Some((name.to_string(), value))
        });
        let channels = match &outcome.family {
            FamilyRecord::Tensors(tensors) => &tensors.summary.channels[..],
            _ => &[],
        };
        let norm = |channel: &ChannelSummary| (channel.channel.word().to_string(), channel.norm_of_strengths);
        Ok(SweptOutcome {
            values: values.to_vec(),
            joined: joined.to_vec(),
            dimension: outcome.dimension(),
            degeneracy: outcome.degeneracy(),
            energies: outcome.energies.clone(),
            levels: outcome.spectrum().map_or(Vec::new(), |spectrum| spectrum.levels.clone()),
            uncertainties: outcome.spectrum().map_or(Vec::new(), |spectrum| spectrum.uncertainties.clone()),
            rounding: outcome.spectrum().map_or(0.0, |spectrum| spectrum.rounding),
            norms: channels.iter().map(norm).collect(),
            certificates,
            converged: outcome.converged(),
            observables: observables.collect(),
            seconds: outcome.seconds.total,
            report: serde_json::to_value(outcome)?,
        })
    }

    /// The total spins of each energy's level, "0 1 1"; nothing where they are unknown.
    fn spins_text(&self) -> String {
        let text = |level: &LevelRecord| level.spin.as_ref().map_or("?".into(), LevelSpinRecord::text);
        let known = self.levels.iter().filter(|_| self.has_spins());
        let texts: Vec<String> = known.flat_map(|level| std::iter::repeat_n(text(level), level.returned)).collect();
        texts.join(" ")
    }

    fn has_spins(&self) -> bool {
        self.levels.iter().any(|level| level.spin.is_some())
    }
}

impl ParameterSweepRecord {
    /// Whether every point converged.
    pub fn converged(&self) -> bool {
        self.points.iter().all(|point| point.converged)
    }

    /// The record as JSON, indented.
    ///
    /// # Errors
    /// A value that the serialiser refuses.
    pub fn to_json(&self) -> Result<String, ReportError> {
        Ok(serde_json::to_string_pretty(self)?)
    }

    /// The table for a terminal, ending in a newline.
    pub fn summary(&self) -> String {
        let energies = |energies: &[(f64, f64)]| {
            let format = EnergyFormat::of(energies.iter().map(|(energy, known)| (*energy, *known)));
            energies.iter().map(|(energy, known)| format.text(*energy, *known)).collect()
        };
        let rows = self.rows(energies, ("", |yes| if yes { String::new() } else { "NOT CONVERGED".into() }));
        let columns = rows.first().map_or(0, Vec::len);
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut out = String::new();
        for row in &rows {
            let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}")).collect();
            out = out + "  " + cells.join("   ").trim_end() + "\n";
        }
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

    /// "u = 4, jz = 1" of a point.
    pub fn label(&self, point: usize) -> String {
        label_of(&self.keys, &self.points[point].values)
    }

    /// Comma-separated values: a line for each point, its numbers with all their digits.
    pub fn to_csv(&self) -> String {
        let rows = self.rows(
            |all| all.iter().map(|(number, _)| format!("{number:?}")).collect(),
            ("converged", |yes| yes.to_string()),
        );
        let quoted = |cell: &String| match cell.contains([',', '"', '\n']) {
            true => format!("\"{}\"", cell.replace('"', "\"\"")),
            false => cell.clone(),
        };
        let line = |row: &Vec<String>| row.iter().map(quoted).collect::<Vec<_>>().join(",") + "\n";
        rows.iter().map(line).collect()
    }

    /// Whether the points have sectors of several sizes.
    fn has_dimensions(&self) -> bool {
        self.points.iter().any(|point| point.dimension != self.points[0].dimension)
    }

    /// The heading and a row for each point; `write` writes a column of (number, how far it may be off), `mark` whether a point
    /// converged, in a column of the heading `converged`.
    fn rows(
        &self,
        write: impl Fn(&[(f64, f64)]) -> Vec<String>,
        (converged, mark): (&str, fn(bool) -> String),
    ) -> Vec<Vec<String>> {
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
        heading.extend((0..states).map(|state| format!("energy {state}")));
        heading.extend(channels.iter().map(|channel| format!("norm {channel}")));
        heading.push(format!("largest {}", self.certificate));
        heading.extend(names.iter().map(|name| format!("<{name}>")));
        heading.extend(["seconds".into(), converged.into()]);
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
            let mut row = point.values.clone();
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
            row.extend(columns.iter().map(|column| column[number].clone()));
            let known: Vec<f64> = point.certificates.iter().copied().flatten().collect();
            let largest = known.iter().copied().reduce(f64::max);
            row.push(largest.map_or("not computed".into(), |largest| format!("{largest:.1e}")));
            row.extend(averages.iter().map(|column| column[number].clone()));
            row.push(format!("{:.2}", point.seconds));
            row.push(mark(point.converged));
            row
        };
        std::iter::once(heading).chain(self.points.iter().enumerate().map(row)).collect()
    }

    /// Writes `folder`/sweep.csv, which is quick enough to be done after every point.
    ///
    /// # Errors
    /// A folder that cannot be made or written.
    pub fn write_table(&self, folder: &Path) -> Result<PathBuf, ReportError> {
        text_file(&folder.join("sweep.csv"), &self.to_csv())
    }

    /// Writes `folder`/sweep.csv, sweep.json and, where one number changes, energies.svg; returns their paths.
    ///
    /// # Errors
    /// A folder that cannot be made or written.
    pub fn write(&self, folder: &Path) -> Result<Vec<PathBuf>, ReportError> {
        let json = text_file(&folder.join("sweep.json"), &(self.to_json()? + "\n"))?;
        let mut files = vec![self.write_table(folder)?, json];
        if let Some(picture) = self.energies_svg()? {
            files.push(text_file(&folder.join("energies.svg"), &picture)?);
        }
        Ok(files)
    }

    /// The energies against the one number that changes, of all symmetry sectors against k; `None` without energies, where several
    /// keys change, or one that is no number.
    ///
    /// # Errors
    /// An error of the drawing library.
    pub fn energies_svg(&self) -> Result<Option<String>, ReportError> {
        let momentum = self.keys.iter().position(|key| self.whole.is_some() && key == "symmetry.k");
        let Some(key) = momentum.or((self.keys.len() == 1).then_some(0)) else { return Ok(None) };
        if self.points.iter().all(|point| point.energies.is_empty()) {
            return Ok(None);
        }
        // A joined sector may have another irrep: "9 as B2".
        let number = |value: &str| value.split(" as ").next()?.replace('_', "").parse::<f64>().ok();
        // Each value with its point; of a momentum those that have the same energies too.
        let values = self.points.iter().enumerate().flat_map(|(row, point)| {
            let joined = if momentum.is_some() { point.joined_places() } else { Vec::new() };
            std::iter::once(&point.values[key][..]).chain(joined).map(move |value| (value, row))
        });
        let at = values.map(|(value, row)| Some((number(value)?, row))).collect::<Option<Vec<_>>>();
        let Some(at) = at else { return Ok(None) };
        let mut text = String::new();
        self.draw(&mut text, short(&self.keys[key]), &at).map_err(|error| ReportError::Picture(error.to_string()))?;
        Ok(Some(text))
    }

    fn draw<'a>(&self, text: &'a mut String, name: &str, at: &[(f64, usize)]) -> Result<(), Fault<'a>> {
        let states = self.points.iter().map(|point| point.energies.len()).max().unwrap_or(0);
        let line = |state: usize| -> Vec<(f64, f64)> {
            let points = at.iter().filter_map(|(x, row)| Some((*x, *self.points[*row].energies.get(state)?)));
            let mut points: Vec<(f64, f64)> = points.filter(|(_, energy)| energy.is_finite()).collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            points
        };
        let all = || (0..states).flat_map(line);
        let around = |low: f64, high: f64| {
            let margin = if high > low { 0.05 * (high - low) } else { low.abs().max(1.0) * 0.05 };
            low - margin..high + margin
        };
        let range = |values: &[f64]| {
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            if low.is_finite() { around(low, high) } else { around(0.0, 1.0) }
        };
        let (xs, ys): (Vec<f64>, Vec<f64>) = all().unzip();
        let root = SVGBackend::with_string(text, (800, 480)).into_drawing_area();
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&root)
            .margin(16)
            .caption(format!("{}: energies", self.file), ("sans-serif", 20))
            .x_label_area_size(44)
            .y_label_area_size(88)
            .build_cartesian_2d(range(&xs), range(&ys))?;
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .x_desc(name)
            .y_desc("energy")
            .label_style(("sans-serif", 14))
            .draw()?;
        for state in 0..states {
            let colour = if state == 0 { BLUE } else { RED };
            if self.keys.len() == 1 {
                chart.draw_series(LineSeries::new(line(state), colour.stroke_width(2)).point_size(3))?;
            } else {
                // Sectors of several kinds have the same k.
                chart.draw_series(line(state).into_iter().map(|at| Circle::new(at, 3, colour.filled())))?;
            }
        }
        root.present()
    }
}
