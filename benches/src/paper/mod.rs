//! `eigenforge bench paper hubbard|ci|dmrg|su3`: the tables of the four papers that eigenforge started from, the printed
//! numbers beside ours of the same run.
//!
//! In: a paper, perhaps a table's number, a device, a scale. Out: each table as text or JSON, and as SVG where the paper has a
//! figure of the same numbers. A table that is not redrawn is refused by its name, with the reason.

mod baseline;
mod ci;
mod dmrg;
mod hubbard;
mod picture;
pub mod published;
mod su3;
mod table;

pub use table::{MeasuredColumn, PaperTable};

use crate::hubbard::BenchError;
use eigenforge::ci::CountError;
use eigenforge::dmrg::DmrgError;
use eigenforge::report::ReportError;
use eigenforge::sparse::CsrError;
use eigenforge::spmv::SpmvError;
use eigenforge_runtime::{Device, DeviceError, say};
use eigenforge_templates::vector_program::ProgramError;
use published::{Paper, PublishedTable};
use std::io::Write;
use std::path::PathBuf;

/// Arguments of `bench paper`.
#[derive(Clone, Debug, clap::Args)]
pub struct PaperArguments {
    /// Which paper
    pub paper: Paper,
    /// One table by its number in the paper [default: all that are redrawn]
    #[arg(long, value_name = "N")]
    pub table: Option<u32>,
    /// The paper's own numbers alone, without measuring anything
    #[arg(long, conflicts_with_all = ["picture", "device", "scale", "repeats"])]
    pub published: bool,
    /// Draw the paper's figure of this table
    #[arg(long, value_name = "FILE.svg", requires = "table", conflicts_with = "json")]
    pub picture: Option<PathBuf>,
    /// auto, cpu, cuda, cuda:N or sim
    #[arg(long, default_value = "auto")]
    pub device: String,
    /// Make the problems smaller by this factor; each table says what that means [default: 1; with sim as much as it needs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub scale: Option<u32>,
    /// Timed samples [default: 11 on a card, 5 on the CPU, 1 with sim]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub repeats: Option<u32>,
    /// Print one JSON array instead of the tables
    #[arg(long)]
    pub json: bool,
}

/// Where and how a table is measured.
pub struct Setup {
    /// Where it runs.
    pub device: Device,
    /// Number of that device among the cards, for the vendor's libraries.
    pub ordinal: usize,
    /// Factor by which a problem is made smaller, if the user gave one.
    pub scale: Option<u32>,
    /// Timed samples.
    pub repeats: usize,
}

/// Why a table is not printed.
#[derive(Debug, thiserror::Error)]
pub enum PaperError {
    /// A number that the paper has no table of.
    #[error("{title} has the tables {known}, not {number}")]
    NoSuchTable {
        /// The paper.
        title: &'static str,
        /// The number asked for.
        number: u32,
        /// Numbers of its tables.
        known: String,
    },
    /// A table that no code measures.
    #[error(
        "Table {number} of {title} ({caption}) is not redrawn: {reason}; --published prints the paper's own numbers"
    )]
    NotRedrawn {
        /// The paper.
        title: &'static str,
        /// The table.
        number: u32,
        /// What it shows.
        caption: &'static str,
        /// Why not.
        reason: String,
    },
    /// A picture of a table that the paper has no figure of.
    #[error("Table {number} has no figure in the paper{instead}")]
    NoFigure {
        /// The table.
        number: u32,
        /// Tables that have one.
        instead: String,
    },
    /// A wrong product.
    #[error("{what}: row {row} of A x is {found:e} instead of {expected:e}; no time is reported for a wrong product")]
    Disagree {
        /// Whose product.
        what: String,
        /// The first row that is wrong.
        row: usize,
        /// What it came to.
        found: f64,
        /// The plain sum.
        expected: f64,
    },
    /// The device.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A random matrix.
    #[error(transparent)]
    Matrix(#[from] CsrError),
    /// Our multiply of it.
    #[error(transparent)]
    Spmv(#[from] SpmvError),
    /// A run of the command, or its words.
    #[error("{what}: {said}")]
    Run {
        /// What was run.
        what: String,
        /// What it said.
        said: String,
    },
    /// Two runs of SU(3) that differ.
    #[error(
        "N_max = {n_max}: the strengths of two runs differ by {difference:e} of the largest; no time is reported \
         for a wrong result"
    )]
    Strengths {
        /// N_max.
        n_max: u32,
        /// ‖a − b‖_∞ / ‖b‖_∞.
        difference: f64,
    },
    /// Two runs of DMRG that differ.
    #[error("{what}: the energy is {found:.12} instead of {expected:.12}; no time is reported for a wrong result")]
    Energies {
        /// The second run.
        what: String,
        /// The first one's energy.
        expected: f64,
        /// Its own.
        found: f64,
    },
    /// A chain of DMRG.
    #[error(transparent)]
    Dmrg(#[from] DmrgError),
    /// The Hubbard model.
    #[error(transparent)]
    Hubbard(#[from] BenchError),
    /// A program of vector operations.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The count of states.
    #[error(transparent)]
    Count(#[from] CountError),
    /// The picture.
    #[error(transparent)]
    Picture(#[from] ReportError),
    /// The table could not be written.
    #[error("writing the result")]
    Write(#[from] std::io::Error),
}

/// Runs it and writes the tables.
///
/// # Errors
/// A table that does not exist or is not redrawn, a device that fails, a wrong result.
pub fn command(arguments: &PaperArguments, out: &mut dyn Write) -> Result<(), PaperError> {
    let all = published::tables(arguments.paper);
    let wanted: Vec<&PublishedTable> = match arguments.table {
        None => all.iter().collect(),
        Some(number) => vec![all.iter().find(|table| table.number == number).ok_or_else(|| {
            let known: Vec<String> = all.iter().map(|table| table.number.to_string()).collect();
            PaperError::NoSuchTable { title: arguments.paper.title(), number, known: known.join(", ") }
        })?],
    };
    if arguments.published {
        let tables = wanted.into_iter().map(|table| PaperTable::published(table.clone())).collect::<Vec<_>>();
        return write(&tables, arguments.json, out);
    }
    if let (Some(_), Some(table)) = (&arguments.picture, wanted.first()) {
        check_figure(table, all)?;
    }
    let device = Device::parse(&arguments.device)?;
    let by_device = match &device {
        Device::Cuda(_) => 11,
        Device::Cpu(_) => 5,
        Device::Sim(_) => 1,
    };
    let setup = Setup {
        ordinal: arguments.device.strip_prefix("cuda:").and_then(|ordinal| ordinal.parse().ok()).unwrap_or(0),
        scale: arguments.scale,
        repeats: arguments.repeats.map_or(by_device, |repeats| repeats as usize),
        device,
    };
    let mut tables = vec![];
    for table in wanted {
        match measure(table, &setup) {
            Ok(redrawn) => tables.push(redrawn),
            Err(refused @ PaperError::NotRedrawn { .. }) if arguments.table.is_none() => say!("{refused}"),
            Err(other) => return Err(other),
        }
    }
    if let (Some(path), Some(table)) = (&arguments.picture, tables.first()) {
        std::fs::write(path, table.picture()?)?;
    }
    write(&tables, arguments.json, out)
}

/// Measures our columns of a table.
fn measure(table: &PublishedTable, setup: &Setup) -> Result<PaperTable, PaperError> {
    match table.paper {
        Paper::Ci => ci::measure(table, setup),
        Paper::Hubbard => hubbard::measure(table, setup),
        Paper::Dmrg => dmrg::measure(table, setup),
        Paper::Su3 => su3::measure(table, setup),
    }
}

/// The refusal of a table.
pub(crate) fn not_redrawn(table: &PublishedTable, reason: &str) -> PaperError {
    let PublishedTable { paper, number, caption, .. } = *table;
    PaperError::NotRedrawn { title: paper.title(), number, caption, reason: reason.into() }
}

fn check_figure(table: &PublishedTable, all: &[PublishedTable]) -> Result<(), PaperError> {
    if table.figure.is_some() {
        return Ok(());
    }
    let figures =
        all.iter().filter_map(|table| Some(format!("Figure {} with --table {}", table.figure?, table.number)));
    let figures: Vec<String> = figures.collect();
    let instead = if figures.is_empty() { String::new() } else { format!("; drawn are {}", figures.join(", ")) };
    Err(PaperError::NoFigure { number: table.number, instead })
}

fn write(tables: &[PaperTable], json: bool, out: &mut dyn Write) -> Result<(), PaperError> {
    if json {
        let text = serde_json::to_string_pretty(tables).map_err(std::io::Error::from)?;
        return Ok(writeln!(out, "{text}")?);
    }
    for (k, table) in tables.iter().enumerate() {
        write!(out, "{}{table}", if k > 0 { "\n" } else { "" })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: PaperArguments,
    }

    fn run(line: &str) -> Result<String, PaperError> {
        let parsed = Line::try_parse_from(format!("bench {line}").split(' ')).unwrap_or_else(|error| panic!("{error}"));
        let mut out = vec![];
        command(&parsed.arguments, &mut out)?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn every_table_of_every_paper_can_be_printed_and_wrong_numbers_are_refused() {
        for (paper, tables) in [("hubbard", 3), ("ci", 10), ("dmrg", 5), ("su3", 2)] {
            let text = run(&format!("{paper} --published")).unwrap();
            assert_eq!(text.matches("\nTable ").count() + usize::from(text.starts_with("Table ")), tables, "{text}");
            let error = run(&format!("{paper} --published --table 17")).unwrap_err().to_string();
            assert!(error.contains("not 17") && error.contains("has the tables 1, 2"), "{error}");
        }
        let json = run("ci --published --table 9 --json").unwrap();
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value[0]["columns"][1]["cells"][4], 8.1489);
        assert_eq!(value[0]["columns"][1]["unit"], "ms");
    }

    #[test]
    fn pictures_are_refused_where_the_paper_has_none() {
        let error = run("su3 --table 1 --picture a.svg").unwrap_err().to_string();
        assert_eq!(error, "Table 1 has no figure in the paper");
        let error = run("ci --table 5 --picture a.svg").unwrap_err().to_string();
        assert!(error.ends_with("drawn are Figure 6 with --table 9, Figure 7 with --table 10"), "{error}");
    }
}
