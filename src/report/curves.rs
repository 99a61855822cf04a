//! What reports of curves share: report.json, an array file, a table and a picture.

use super::{ReportError, json, text_file};
use crate::input::Family;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A report of a verb that makes curves.
pub trait CurveReport: Serialize + DeserializeOwned + Sized {
    /// The verb that makes it: "spectrum".
    const VERB: &'static str;

    /// The families of files that it is made of, and the sentence that says so.
    const FAMILIES: (&'static [Family], &'static str);

    /// The names of its files: report, arrays, table, picture.
    const FILES: [&'static str; 4];

    /// Text for a terminal, ending in a newline.
    fn summary(&self) -> String;

    /// What a careful reader must know.
    fn warnings(&self) -> &[String];

    /// Whether everything has converged.
    fn converged(&self) -> bool;

    /// Writes the arrays, and returns the path.
    ///
    /// # Errors
    /// A file that cannot be written.
    fn write_arrays(&self, path: &Path) -> Result<PathBuf, ReportError>;

    /// Writes the states that the file or the command line asks for, and returns the path; unless written, there are none.
    ///
    /// # Errors
    /// A file that cannot be written.
    fn write_states(&self, _folder: &Path) -> Result<Option<PathBuf>, ReportError> {
        Ok(None)
    }

    /// The columns of the table with their headings, equally long; the first is what the curves are functions of.
    fn table(&self) -> Vec<(String, Vec<f64>)>;

    /// Curves over the first column of the table, by name, that the picture of a sweep shows, the most telling first.
    fn drawn(&self) -> Vec<(String, Vec<f64>)>;

    /// Numbers that stand for all of it in a row of a sweep, by name.
    fn headline(&self) -> Vec<(&'static str, f64)>;

    /// The table as comma-separated values, with all digits.
    fn to_csv(&self) -> String {
        let columns = self.table();
        let headings: Vec<&str> = columns.iter().map(|(heading, _)| &heading[..]).collect();
        let mut out = headings.join(",") + "\n";
        for row in 0..columns.first().map_or(0, |(_, values)| values.len()) {
            for (number, (_, values)) in columns.iter().enumerate() {
                // Writing to a String cannot fail.
                let _ = write!(out, "{}{:?}", if number > 0 { "," } else { "" }, values[row]);
            }
            out.push('\n');
        }
        out
    }

    /// The picture.
    ///
    /// # Errors
    /// An error of the drawing library.
    fn svg(&self) -> Result<String, ReportError>;

    /// The record as JSON, in lines.
    ///
    /// # Errors
    /// The serialiser refuses a value, which no record contains.
    fn to_json(&self) -> Result<String, ReportError> {
        json::text(self)
    }

    /// Writes all files into a folder, and returns their paths.
    ///
    /// # Errors
    /// A folder that cannot be made or written.
    fn write(&self, folder: &Path) -> Result<Vec<PathBuf>, ReportError> {
        let [report, arrays, table, picture] = Self::FILES.map(|name| folder.join(name));
        let mut written = vec![
            text_file(&report, &(self.to_json()? + "\n"))?,
            self.write_arrays(&arrays)?,
            text_file(&table, &self.to_csv())?,
            text_file(&picture, &self.svg()?)?,
        ];
        written.extend(self.write_states(folder)?);
        Ok(written)
    }
}
