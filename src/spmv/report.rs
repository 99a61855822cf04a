//! What a multiply of one matrix came to, as an object, as text, and as a line of a table of several.
//!
//! Bandwidths in GB/s (1e9 bytes of the stored matrix and the vectors), bytes in MB (1e6).

use crate::sparse::{Format, FormatBytes, NumberKind, RowStatistics};
use crate::words::grouped;
use eigenforge_templates::ScalarType;
use serde::Serialize;
use std::fmt;

/// A candidate that was timed, or that could not run.
#[derive(Clone, Debug, Serialize)]
pub struct TimedCandidate {
    /// Its format and parts.
    pub shape: String,
    /// By the model.
    pub modelled_milliseconds: f64,
    /// Measured; nothing where this card refused it.
    pub milliseconds: Option<f64>,
}

/// Another program's multiply.
#[derive(Clone, Debug, Serialize)]
pub struct Other {
    /// Which.
    pub name: String,
    /// Median of one multiply of one vector; nothing where it does not run.
    pub milliseconds: Option<f64>,
    /// Why it does not.
    pub note: Option<String>,
}

/// Everything about one matrix and its multiply.
#[derive(Clone, Debug, Serialize)]
pub struct SpmvReport {
    /// The version of the fields, [`crate::files::SCHEMA`].
    pub schema: u32,
    /// The matrix.
    pub matrix: String,
    /// Its rows.
    pub statistics: RowStatistics,
    /// The kind of its numbers.
    pub numbers: NumberKind,
    /// Bytes of a non-zero in compressed rows: its column and its value in double precision.
    pub element_bytes: u64,
    /// Bytes of the formats as the paper counts them.
    pub memory: Vec<FormatBytes>,
    /// Bytes as it is stored here.
    pub stored_bytes: u64,
    /// The format chosen.
    pub format: Format,
    /// Parts, lanes, blocks.
    pub shape: String,
    /// Why.
    pub reason: String,
    /// Where it ran.
    pub device: String,
    /// Vectors at once.
    pub vectors: u32,
    /// Number type of the stored values.
    pub values: ScalarType,
    /// Median of one multiply of all vectors.
    pub milliseconds: f64,
    /// Bytes of the stored matrix and the vectors over that time.
    pub gb_per_second: f64,
    /// Speed of a copy in the same run.
    pub copy_gb_per_second: f64,
    /// The time over that of [`SpmvReport::element_bytes`] a non-zero and the vectors at the copy's speed.
    pub multiple_of_floor: f64,
    /// The same for the bytes that are really stored.
    pub multiple_of_stored: f64,
    /// What was timed to choose.
    pub candidates: Vec<TimedCandidate>,
    /// Others beside it.
    pub others: Vec<Other>,
}

impl fmt::Display for SpmvReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RowStatistics { rows, non_zeros, shortest, longest, mean, deviation, percentiles, empty, .. } =
            &self.statistics;
        writeln!(f, "{}: {} rows, {} non-zeros", self.matrix, grouped(*rows as u128), grouped(u128::from(*non_zeros)))?;
        let [p1, p10, p50, p90, p99] = percentiles;
        writeln!(
            f,
            "non-zeros a row: {shortest} to {longest}, mean {mean:.1}, deviation {deviation:.1}, {empty} empty rows"
        )?;
        writeln!(f, "  1, 10, 50, 90, 99 % of the rows have no more than {p1}, {p10}, {p50}, {p90}, {p99}")?;
        writeln!(f)?;
        let megabytes = |bytes: u64| bytes as f64 / 1e6;
        for FormatBytes { format, bytes } in &self.memory {
            writeln!(f, "  {format:<28} {:>12.2} MB", megabytes(*bytes))?;
        }
        let each = self.stored_bytes as f64 / (*non_zeros).max(1) as f64;
        let stored = megabytes(self.stored_bytes);
        writeln!(f, "  {:<28} {stored:>12.2} MB, {each:.1} bytes a non-zero", "as stored here")?;
        writeln!(f)?;
        writeln!(f, "{} on {}", self.format, self.device)?;
        writeln!(f, "  {}", self.shape)?;
        writeln!(f, "  {}", self.reason)?;
        for candidate in &self.candidates {
            let took = candidate.milliseconds.map_or("   refused".into(), |took| format!("{took:>10.4}"));
            writeln!(f, "  timed {took} ms, modelled {:.4}: {}", candidate.modelled_milliseconds, candidate.shape)?;
        }
        writeln!(f)?;
        let values = if self.values == ScalarType::F32 { ", values in single precision" } else { "" };
        let vectors = if self.vectors == 1 { String::new() } else { format!(" of {} vectors", self.vectors) };
        writeln!(f, "multiply{vectors}{values}: {:.4} ms, {:.0} GB/s", self.milliseconds, self.gb_per_second)?;
        writeln!(
            f,
            "  {:.2} x the floor of {} bytes a non-zero at a copy's {:.0} GB/s; {:.2} x that of what is stored",
            self.multiple_of_floor, self.element_bytes, self.copy_gb_per_second, self.multiple_of_stored
        )?;
        if self.multiple_of_stored < 1.0 {
            writeln!(
                f,
                "  less than once what is stored at a copy's speed: the matrix stayed in a cache between multiplies, while the \
                 copy is of memory"
            )?;
        } else if self.multiple_of_floor < 1.0 {
            writeln!(f, "  below that floor because less than {} bytes a non-zero are stored", self.element_bytes)?;
        }
        for other in &self.others {
            match (other.milliseconds, &other.note) {
                (Some(took), _) => {
                    let ratio = took * f64::from(self.vectors) / self.milliseconds;
                    writeln!(f, "  {:<34} {took:>10.4} ms, {ratio:.2} x as long a vector", other.name)?;
                }
                (None, note) => writeln!(f, "  {:<34} {}", other.name, note.as_deref().unwrap_or("did not run"))?,
            }
        }
        Ok(())
    }
}

/// One line a matrix: rows, non-zeros, format, time, multiple of the floor, and the quickest of the others.
pub fn table(reports: &[SpmvReport]) -> String {
    let mut out = format!(
        "| {:<30} | {:>10} | {:>12} | {:>10} | {:>7} | {:>24} |\n|{:-<32}|{:->12}|{:->14}|{:->12}|{:->9}|{:->26}|\n",
        "matrix", "rows", "non-zeros", "ms", "floor x", "quickest other", "", "", "", "", "", ""
    );
    for report in reports {
        let quickest = report.others.iter().filter_map(|other| other.milliseconds).reduce(f64::min);
        let other = quickest.map_or(String::new(), |took| {
            format!("{took:.4} ms, {:.2} x", took * f64::from(report.vectors) / report.milliseconds)
        });
        let RowStatistics { rows, non_zeros, .. } = &report.statistics;
        out += &format!(
            "| {:<30} | {:>10} | {:>12} | {:>10.4} | {:>7.2} | {other:>24} |\n",
            report.matrix,
            grouped(*rows as u128),
            grouped(u128::from(*non_zeros)),
            report.milliseconds,
            report.multiple_of_floor
        );
    }
    out
}
