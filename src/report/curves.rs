//! What reports of curves share: report.json, an array file, a table and a picture.

use super::{ReportError, json, text_file};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// A report of a verb that makes curves.
pub trait CurveReport: Serialize + Sized {
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

    /// The table, with all digits.
    fn to_csv(&self) -> String;

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
