//! What a sweep of spectra, thermal averages or evolutions leaves behind: a row for each point, with its whole report.
//!
//! In: the report of each point. Out: JSON, a table for a terminal, and in a folder sweep.json, sweep.csv (a line for each point) and curves.csv
//! (the tables of all points below each other, each line with the values of the keys), and sweep.svg ([`super::curve_sweep_picture`]).

use super::sweep_csv::{Columns, number};
use super::sweep_table::table_text;
use super::{CurveReport, KeyValues, ReportError, SCHEMA, json, text_file};
use crate::input::{ParameterSweep, short, value_of};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Headings of sweep.csv that are not those of keys, beside the names of [`CurveReport::headline`].
const RESERVED: [&str; 2] = ["seconds", "converged"];

/// A point of such a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweptCurve<R> {
    /// "u = 4, jz = 1".
    pub label: String,
    /// The value of each key.
    pub values: KeyValues,
    /// The same as written in the file, in the order of the keys.
    pub texts: Vec<String>,
    /// The folder with its report, in that of the sweep; `None` where none was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Whether everything at the point has converged.
    pub converged: bool,
    /// Seconds of the point, from its model to its report.
    pub seconds: f64,
    /// The whole report of the point.
    pub report: R,
}

impl<R: CurveReport> SweptCurve<R> {
    /// The row of a point.
    pub(crate) fn new(sweep: &ParameterSweep, point: usize, report: R, seconds: f64) -> SweptCurve<R> {
        let texts = sweep.points[point].values.clone();
        let values = sweep.keys.iter().cloned().zip(texts.iter().map(|text| value_of(text))).collect();
        let (label, converged) = (sweep.label(point), report.converged());
        SweptCurve { label, values, texts, folder: None, converged, seconds, report }
    }

    /// "energy -1.5, weight 0.25".
    pub fn headline_text(&self) -> String {
        let numbers = self.report.headline().into_iter();
        numbers.map(|(name, value)| format!("{name} {}", short_number(value))).collect::<Vec<_>>().join(", ")
    }
}

/// A sweep when it ends, and after each point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CurveSweepRecord<R> {
    /// The version of the fields, [`super::SCHEMA`].
    pub schema: u32,
    /// "spectrum", "thermal" or "evolve".
    pub verb: String,
    /// Name of the model file.
    pub file: String,
    /// Its text.
    pub text: String,
    /// The keys that change, such as "model.u".
    pub keys: Vec<String>,
    /// The points that were found, in the order of the list.
    pub points: Vec<SweptCurve<R>>,
    /// Seconds from start to end.
    pub seconds: f64,
}

/// A number for a table of people: eight digits behind the point, of small ones three digits.
fn short_number(value: f64) -> String {
    match value.abs() {
        size if size != 0.0 && !(1e-4..1e8).contains(&size) => format!("{value:.2e}"),
        _ => format!("{value:.8}"),
    }
}

impl<R: CurveReport> CurveSweepRecord<R> {
    /// A sweep of which no point is found yet.
    pub(crate) fn new(sweep: &ParameterSweep) -> CurveSweepRecord<R> {
        CurveSweepRecord {
            schema: SCHEMA,
            verb: R::VERB.into(),
            file: sweep.name.clone(),
            text: sweep.text.clone(),
            keys: sweep.keys.clone(),
            points: Vec::new(),
            seconds: 0.0,
        }
    }

    /// Whether every point converged.
    pub fn converged(&self) -> bool {
        self.points.iter().all(|point| point.converged)
    }

    /// The warnings of all points, each with its point.
    pub fn warnings(&self) -> Vec<String> {
        let of = |point: &SweptCurve<R>| {
            point.report.warnings().iter().map(|text| format!("{}: {text}", point.label)).collect::<Vec<_>>()
        };
        self.points.iter().flat_map(of).collect()
    }

    /// The table for a terminal, ending in a newline.
    pub fn summary(&self) -> String {
        let names = self.names();
        let mut heading: Vec<String> = self.keys.iter().map(|key| short(key).to_string()).collect();
        heading.extend(names.iter().map(|name| name.to_string()));
        heading.extend(["seconds".into(), String::new()]);
        let row = |point: &SweptCurve<R>| {
            let mut row = point.texts.clone();
            row.extend(names.iter().map(|name| point.number(name).map_or(String::new(), short_number)));
            row.push(format!("{:.2}", point.seconds));
            row.push(if point.converged { String::new() } else { "NOT CONVERGED".into() });
            row
        };
        let rows: Vec<Vec<String>> = std::iter::once(heading).chain(self.points.iter().map(row)).collect();
        let (count, several) = (self.points.len(), if self.points.len() == 1 { "point" } else { "points" });
        let warnings: String = self.warnings().iter().map(|warning| format!("warning: {warning}\n")).collect();
        format!("{}\n{count} {several} in {:.2} s\n{warnings}", table_text(&rows), self.seconds)
    }

    /// The record as JSON, indented.
    ///
    /// # Errors
    /// A value that the serialiser refuses.
    pub fn to_json(&self) -> Result<String, ReportError> {
        json::text(self)
    }

    /// Comma-separated values: a line for each point, its numbers with all their digits.
    pub fn to_csv(&self) -> String {
        let (mut columns, names) = (Columns::default(), self.names());
        let values: Vec<&KeyValues> = self.points.iter().map(|point| &point.values).collect();
        columns.add_keys(&self.keys, &values, |key| RESERVED.contains(&key) || names.contains(&key));
        for name in &names {
            columns.add(name, self.points.iter().map(|point| number(point.number(name))).collect());
        }
        columns.add("seconds", self.points.iter().map(|point| number(Some(point.seconds))).collect());
        columns.add("converged", self.points.iter().map(|point| point.converged.to_string()).collect());
        columns.text()
    }

    /// Comma-separated values: a line for each line of the table of each point. A column that a point has not is empty there.
    pub fn curves_csv(&self) -> String {
        let tables: Vec<_> = self.points.iter().map(|point| point.report.table()).collect();
        let rows = |table: &[(String, Vec<f64>)]| table.first().map_or(0, |(_, values)| values.len());
        let mut headings: Vec<&str> = Vec::new();
        for (heading, _) in tables.iter().flatten() {
            if !headings.contains(&&heading[..]) {
                headings.push(heading);
            }
        }
        let of_points = self.points.iter().zip(&tables);
        let values: Vec<&KeyValues> =
            of_points.flat_map(|(point, table)| std::iter::repeat_n(&point.values, rows(table))).collect();
        let mut columns = Columns::default();
        columns.add_keys(&self.keys, &values, |key| headings.contains(&key));
        for heading in headings {
            let cells = tables.iter().flat_map(|table| {
                let own = table.iter().find(|(name, _)| name == heading);
                (0..rows(table)).map(move |row| number(own.map(|(_, values)| values[row])))
            });
            columns.add(heading, cells.collect());
        }
        columns.text()
    }

    /// Writes `folder`/sweep.csv and curves.csv, which is quick enough to be done after every point; returns their paths.
    ///
    /// # Errors
    /// A folder that cannot be made or written.
    pub fn write_tables(&self, folder: &Path) -> Result<Vec<PathBuf>, ReportError> {
        Ok(vec![
            text_file(&folder.join("sweep.csv"), &self.to_csv())?,
            text_file(&folder.join("curves.csv"), &self.curves_csv())?,
        ])
    }

    /// Writes `folder`/sweep.json, sweep.csv, curves.csv and sweep.svg; returns their paths.
    ///
    /// # Errors
    /// A folder that cannot be made or written.
    pub fn write(&self, folder: &Path) -> Result<Vec<PathBuf>, ReportError> {
        let mut files = self.write_tables(folder)?;
        files.push(text_file(&folder.join("sweep.json"), &(self.to_json()? + "\n"))?);
        if let Some(picture) = self.svg()? {
            files.push(text_file(&folder.join("sweep.svg"), &picture)?);
        }
        Ok(files)
    }

    /// The names of the numbers that stand for a point, of all points.
    fn names(&self) -> Vec<&'static str> {
        let mut names = Vec::new();
        for (name, _) in self.points.iter().flat_map(|point| point.report.headline()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

impl<R: CurveReport> SweptCurve<R> {
    /// A number of the headline.
    fn number(&self, name: &str) -> Option<f64> {
        self.report.headline().into_iter().find(|(own, _)| *own == name).map(|(_, value)| value)
    }
}
