//! `eigenforge bench paper hubbard|ci|dmrg|su3`: the tables and the measured figures of the four papers that eigenforge started
//! from, the printed numbers beside ours of the same run.
//!
//! In: a paper, perhaps a table's or a figure's number, a device, a scale. Out: each as text or JSON, a figure also as SVG, and a
//! table where the paper has a figure of the same numbers. What is not redrawn is refused by its name, with the reason.

mod baseline;
mod ci;
mod dmrg;
mod figure;
mod hubbard;
mod picture;
pub mod published;
mod published_sum;
mod su3;
mod table;
mod wanted;

pub use figure::{PaperFigure, Series};
pub use table::{MeasuredColumn, PaperTable};
pub use wanted::Figures;

use crate::hubbard::BenchError;
use eigenforge::ci::CountError;
use eigenforge::dmrg::DmrgError;
use eigenforge::report::ReportError;
use eigenforge::sparse::CsrError;
use eigenforge::spmv::SpmvError;
use eigenforge::su3::MOST_N_MAX;
use eigenforge_runtime::{Device, DeviceError, say};
use eigenforge_templates::vector_program::ProgramError;
use published::{Paper, PublishedTable};
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;
use wanted::{Item, check_figure, items};

/// Arguments of `bench paper`.
#[derive(Clone, Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("one").args(["table", "figure"]))]
pub struct PaperArguments {
    /// Which paper
    pub paper: Paper,
    /// One table by its number in the paper [default: all tables that are redrawn, no further figures]
    #[arg(long, value_name = "N")]
    pub table: Option<u32>,
    /// One measured figure by its number in the paper, or `all`
    #[arg(long, value_name = "N", conflicts_with_all = ["table", "published"])]
    pub figure: Option<Figures>,
    /// Every table and every figure, with what they share measured once
    #[arg(long, conflicts_with_all = ["one", "picture", "published"])]
    pub all: bool,
    /// The paper's own numbers alone, without measuring anything
    #[arg(long, conflicts_with_all = ["picture", "device", "scale", "repeats"])]
    pub published: bool,
    /// Draw the figure, or the paper's figure of this table
    #[arg(long, value_name = "FILE.svg", requires = "one", conflicts_with = "json")]
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
    /// A run of SU(3) by the published sum, which the tables of that paper start in a process of its own
    #[arg(long, hide = true, num_args = 3, value_names = ["ELEMENTS", "N_MAX", "OUT"])]
    pub published_sum: Option<Vec<String>>,
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
    /// A figure that is not redrawn.
    #[error("Figure {number} is not redrawn: {why}")]
    NoSuchFigure {
        /// The figure.
        number: u32,
        /// Why not, and which are.
        why: String,
    },
    /// A picture of all figures.
    #[error("--picture draws one figure: give its number in place of all; {known} can be drawn")]
    OnePicture {
        /// Their numbers.
        known: String,
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

/// Runs it and writes each table and figure as it is measured.
///
/// # Errors
/// A table or figure that does not exist or is not redrawn, a device that fails, a wrong result.
pub fn command(arguments: &PaperArguments, out: &mut dyn Write) -> Result<(), PaperError> {
    if let Some([elements, n_max, output]) = arguments.published_sum.as_deref() {
        let Some(n_max) = n_max.parse().ok().filter(|n_max| *n_max <= MOST_N_MAX) else {
            let said = format!("expected N_MAX as a whole number from 0 to {MOST_N_MAX}, found {n_max}");
            return Err(PaperError::Run { what: "--published-sum".into(), said });
        };
        let device = Device::parse(&arguments.device)?;
        device.check_alone("a bench")?;
        let terms = published_sum::transform(elements.as_ref(), n_max, output.as_ref(), &device)?;
        writeln!(out, "{terms} innermost terms")?;
        return Ok(());
    }
    let all = published::tables(arguments.paper);
    let wanted = items(arguments, all)?;
    let mut printer = Printer { json: arguments.json, out, written: 0 };
    if arguments.published {
        for item in &wanted {
            if let Item::Table(table) = item {
                printer.print(&PaperTable::published((*table).clone()))?;
            }
        }
        return printer.end();
    }
    if let (Some(_), [Item::Table(table)]) = (&arguments.picture, &wanted[..]) {
        check_figure(table, all)?;
    }
    let device = Device::parse(&arguments.device)?;
    device.check_alone("a bench")?;
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
    let mut session = Session { setup: &setup, dmrg: dmrg::Runs::new(&setup) };
    for item in &wanted {
        let measured = match item {
            Item::Table(table) => measure(table, &mut session).map(Redrawn::Table),
            Item::Figure(number) => dmrg::figure(*number, &mut session.dmrg).map(Redrawn::Figure),
        };
        let redrawn = match measured {
            Err(refused @ (PaperError::NotRedrawn { .. } | PaperError::NoSuchFigure { .. })) if wanted.len() > 1 => {
                say!("{refused}");
                continue;
            }
            measured => measured?,
        };
        if let Some(path) = &arguments.picture {
            std::fs::write(path, redrawn.picture()?)?;
        }
        match &redrawn {
            Redrawn::Table(table) => printer.print(table)?,
            Redrawn::Figure(figure) => printer.print(figure)?,
        }
    }
    printer.end()
}

/// A table or figure with our numbers.
enum Redrawn {
    Table(PaperTable),
    Figure(PaperFigure),
}

impl Redrawn {
    fn picture(&self) -> Result<String, ReportError> {
        match self {
            Redrawn::Table(table) => table.picture(),
            Redrawn::Figure(figure) => figure.picture(),
        }
    }
}

/// Writes one after the other, as text or as one JSON array.
struct Printer<'a> {
    json: bool,
    out: &'a mut dyn Write,
    written: usize,
}

impl Printer<'_> {
    fn print(&mut self, what: &(impl std::fmt::Display + Serialize)) -> Result<(), PaperError> {
        let (text, first, next) = match self.json {
            true => (serde_json::to_string_pretty(what).map_err(std::io::Error::from)?, "[\n", ",\n"),
            false => (what.to_string(), "", "\n"),
        };
        write!(self.out, "{}{text}", if self.written == 0 { first } else { next })?;
        self.out.flush()?;
        self.written += 1;
        Ok(())
    }

    fn end(self) -> Result<(), PaperError> {
        match (self.json, self.written) {
            (true, 0) => writeln!(self.out, "[]")?,
            (true, _) => writeln!(self.out, "\n]")?,
            (false, _) => {}
        }
        Ok(())
    }
}

/// What the tables and figures of one invocation share.
struct Session<'a> {
    setup: &'a Setup,
    dmrg: dmrg::Runs<'a>,
}

/// Measures our columns of a table.
fn measure(table: &PublishedTable, session: &mut Session<'_>) -> Result<PaperTable, PaperError> {
    match table.paper {
        Paper::Ci => ci::measure(table, session.setup),
        Paper::Hubbard => hubbard::measure(table, session.setup),
        Paper::Dmrg => dmrg::measure(table, &mut session.dmrg),
        Paper::Su3 => su3::measure(table, session.setup),
    }
}

/// The refusal of a table.
pub(crate) fn not_redrawn(table: &PublishedTable, reason: &str) -> PaperError {
    let PublishedTable { paper, number, caption, .. } = *table;
    PaperError::NotRedrawn { title: paper.title(), number, caption, reason: reason.into() }
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

    #[test]
    fn figures_are_measured_and_wrong_ones_are_refused() {
        let said = |line: &str| run(line).unwrap_err().to_string();
        let error = said("dmrg --figure 6");
        assert!(error.ends_with("Figure 7 is the same on the paper's second card"), "{error}");
        assert!(said("dmrg --figure 21").contains("1, 2, 3, 4, 5, 7, 8"), "21");
        assert!(said("ci --figure 2").contains("6, 7 are redrawn"), "ci");
        assert!(said("su3 --figure 1").contains("no figure of numbers that its tables do not have"), "su3");
        assert!(said("dmrg --figure all --picture a.svg").contains("give its number in place of all"), "all");
        assert!(said("dmrg --figure 17 --device cpu").contains("needs a device that runs kernels"), "17");
        for wrong in [
            "dmrg --figure some",
            "dmrg --figure 3 --table 1",
            "dmrg --picture a.svg",
            "ci --figure 6 --published",
            "ci --all --table 3",
        ] {
            assert!(Line::try_parse_from(format!("bench {wrong}").split(' ')).is_err(), "{wrong}");
        }

        let json = run("dmrg --figure 2 --device cpu --scale 512 --json").unwrap();
        let figures: serde_json::Value = serde_json::from_str(&json).unwrap();
        let points = figures[0]["points"].as_array().unwrap();
        assert_eq!(points.last().unwrap(), "8", "{json}");
        let sizes = |series: usize| figures[0]["series"][series]["values"][points.len() - 1].as_f64().unwrap();
        // Two blocks of eight states and two electron sites, and what the charges leave of that.
        assert_eq!(sizes(0), 32.0 * 32.0);
        assert!(sizes(1) < sizes(0) && sizes(2) < sizes(1), "{json}");

        let folder = std::env::temp_dir().join(format!("eigenforge-figure-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let picture = folder.join("speeds.svg");
        let text = run(&format!("dmrg --figure 8 --device cpu --scale 1000 --picture {}", picture.display())).unwrap();
        assert!(text.starts_with("Figure 8 of Nemes") && text.contains("100 rows (paper: 100000)"), "{text}");
        let drawn = std::fs::read_to_string(&picture).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(drawn.contains("Figure 8: V^T w of 1e5 rows, shuffles"), "{drawn}");
    }
}
