//! What can be wrong with a model file, and how it is shown: message, the place in the source, and what to do.
//!
//! All independent problems of a file are collected and shown together, in the order of the text.

use crate::lattice::LatticeError;
use crate::operator::{OperatorError, SymmetryError};
use crate::path::FamilyFault;
use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

/// Why a model file was refused.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is not text.
    #[error("{} is not UTF-8 text (byte {valid}): a model file is TOML, like those in examples/", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// Length of its valid beginning.
        valid: usize,
    },
    /// The file is of another format.
    #[error("{} is {found}, expected a model file (TOML): {advice}", path.display())]
    OtherFormat {
        /// The file.
        path: PathBuf,
        /// What it is.
        found: &'static str,
        /// Which verb or key takes it.
        advice: &'static str,
    },
    /// A file of a matrix.
    #[error(transparent)]
    Matrix(FamilyFault),
    /// The text is not a valid model.
    #[error("{}", headline(problems, text.name()))]
    Invalid {
        /// The text, with its name.
        text: NamedSource<String>,
        /// At least one, in the order of the text.
        problems: Vec<InputProblem>,
    },
}

impl InputError {
    /// The states of a sector of which more are asked for, if nothing else is wrong.
    pub(super) fn most_states(&self) -> Option<u128> {
        let InputError::Invalid { problems, .. } = self else { return None };
        match &problems[..] {
            [InputProblem { what: Wrong::TooManyStates(TooManyStates { dimension, .. }), .. }] => Some(*dimension),
            _ => None,
        }
    }

    /// Whether all that is wrong is that no state has the charges of the sector.
    pub(super) fn is_empty_sector(&self) -> bool {
        let is_empty =
            |problem: &InputProblem| matches!(problem.what, Wrong::Operator(OperatorError::EmptySector { .. }));
        matches!(self, InputError::Invalid { problems, .. } if problems.iter().all(is_empty))
    }

    /// Whether all that is wrong is that characters contradict each other.
    pub(super) fn is_no_representation(&self) -> bool {
        let contradicts = |problem: &InputProblem| match &problem.what {
            Wrong::Operator(OperatorError::Symmetry(why)) => {
                matches!(**why, SymmetryError::NoRepresentation { .. } | SymmetryError::NotARoot { .. })
            }
            _ => false,
        };
        matches!(self, InputError::Invalid { problems, .. } if problems.iter().all(contradicts))
    }
}

/// Most problems of a file that are shown one by one.
const MOST_SHOWN: usize = 10;

/// One problem speaks for itself; several get a line above them.
fn headline(problems: &[InputProblem], name: &str) -> String {
    match problems {
        [only] => only.to_string(),
        _ if problems.len() > MOST_SHOWN => {
            let more = problems.len() - MOST_SHOWN;
            format!("there are {} problems in {name}: the first {MOST_SHOWN}, and {more} more", problems.len())
        }
        _ => format!("there are {} problems in {name}", problems.len()),
    }
}

impl Diagnostic for InputError {
    fn source_code(&self) -> Option<&dyn SourceCode> {
        match self {
            InputError::Invalid { text, .. } => Some(text),
            _ => None,
        }
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        match self {
            InputError::Invalid { problems, .. } if problems.len() > 1 => {
                Some(Box::new(problems.iter().take(MOST_SHOWN).map(|problem| problem as &dyn Diagnostic)))
            }
            _ => None,
        }
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.only().and_then(Diagnostic::labels)
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        match self {
            InputError::Read { .. } => Some(Box::new(
                "give the path of a model file, such as examples/hubbard_4x4.toml, or - for standard input",
            )),
            _ => self.only().and_then(Diagnostic::help),
        }
    }
}

impl InputError {
    fn only(&self) -> Option<&InputProblem> {
        match self {
            InputError::Invalid { problems, .. } if problems.len() == 1 => problems.first(),
            _ => None,
        }
    }
}

/// One problem and the bytes of the text it is about.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{what}")]
pub struct InputProblem {
    /// What is wrong.
    pub what: Wrong,
    /// Where, in bytes from the start of the text.
    pub span: Range<usize>,
}

/// Lines of a place that are shown whole; of more only the first is.
const SHOWN_LINES: usize = 12;

impl InputProblem {
    /// The problem with a place that can be shown: of a long text its first line.
    pub(super) fn clipped(mut self, text: &str) -> InputProblem {
        let place = text.get(self.span.clone()).unwrap_or_default();
        if place.lines().count() > SHOWN_LINES {
            self.span.end = self.span.start + place.lines().next().map_or(0, str::len);
        }
        self
    }
}

impl Diagnostic for InputProblem {
    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let label = self.what.label();
        Some(Box::new(std::iter::once(LabeledSpan::new(Some(label), self.span.start, self.span.len()))))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.what.help().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }
}

/// Everything a model file can get wrong. The text says what was expected and what was found; [`Wrong::help`] what to do.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "the message of each variant names its fields")]
pub enum Wrong {
    #[error("this is not TOML: {message}")]
    Syntax { message: String },
    #[error("the file is empty")]
    Empty,
    #[error("the section [{table}] is missing")]
    MissingTable { table: &'static str, example: &'static str },
    #[error("`{key}` is missing from [{table}]")]
    MissingKey { table: String, key: &'static str, meaning: &'static str },
    #[error("unknown {what} `{found}`{}", within.as_ref().map(|table| format!(" in [{table}]")).unwrap_or_default())]
    Unknown {
        what: &'static str,
        found: String,
        within: Option<String>,
        nearest: Option<&'static str>,
        known: Vec<&'static str>,
        note: Option<String>,
    },
    #[error("`{key}` should be {expected}, found {found}")]
    WrongType { key: String, expected: String, found: String },
    #[error("`{key}` is {found}: it must be a finite number")]
    NotFinite { key: String, found: String },
    #[error("`{key}` should be {expected}, found {found}")]
    OutOfRange { key: String, expected: String, found: String },
    #[error("`{key}` should have {expected} values, one per {item}, found {found}")]
    WrongLength { key: String, item: &'static str, expected: usize, found: usize, order: String },
    #[error("`{key}` and `{other}` cannot both be given")]
    Conflict { key: &'static str, other: &'static str, why: &'static str },
    #[error("the observable `{name}`: {message}")]
    Observable { name: String, message: String },
    #[error("`{key}`: {message}")]
    Value { key: &'static str, message: String },
    #[error("the parameter `{name}`: {message}")]
    Parameter { name: String, message: String },
    #[error("the Hamiltonian: {0}")]
    Hamiltonian(String),
    #[error("the start: {0}")]
    Start(String),
    #[error("the force: {0}")]
    Force(String),
    #[error("{0}")]
    Operator(OperatorError),
    #[error("{0}")]
    Lattice(LatticeError),
    #[error("{0}")]
    TooManyBits(OperatorError),
    #[error("a chain of {sites} sites is too long: DMRG is limited to {most} sites")]
    ChainTooLong { sites: usize, most: usize },
    #[error("{found} {species} particles do not fit on {sites} sites: at most one {species} particle per site")]
    TooManyParticles { species: &'static str, found: usize, sites: usize },
    #[error("{found} particles of one flavour do not fit on {sites} sites: at most one of each flavour per site")]
    TooManyOfAFlavour { found: usize, sites: usize },
    #[error("two_sz = {two_sz} is beyond ±{most}, the most that {sites} sites of spin {spin} can have (2 S N)")]
    TooMuchSpin { two_sz: i64, most: i64, sites: usize, spin: String },
    #[error("two_sz = {two_sz} is {found}, but {sites} sites of spin {spin} have {expected} 2 Sz")]
    SpinParity { two_sz: i64, found: &'static str, expected: &'static str, sites: usize, spin: String },
    #[error("{0}")]
    TooManyStates(TooManyStates),
    #[error("a file with [ci] describes a molecule; this needs a model on a lattice")]
    Molecule,
    #[error(
        "exact diagonalisation takes electrons and local moments, not fermions with more flavours: solve spin_hubbard by DMRG"
    )]
    FlavoursNeedDmrg,
    #[error("a file with [dmrg] is solved by DMRG, but this diagonalises")]
    Dmrg,
}

/// More states are requested than the sector has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("states = {states}, but the sector has dimension {dimension}: ask for at most {dimension}")]
pub struct TooManyStates {
    /// Number of requested states.
    pub states: usize,
    /// How many there are.
    pub dimension: u128,
}

impl Wrong {
    /// What to do about it.
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Wrong::Syntax { .. } => {
                "a model file has sections [model], [lattice], [sector], [solve] of lines `key = value`; see examples/"
                    .into()
            }
            Wrong::Empty => "start from examples/hubbard_4x4.toml".into(),
            Wrong::MissingTable { example, .. } => format!("add it, for example\n\n{example}"),
            Wrong::MissingKey { meaning, .. } => format!("add {meaning}"),
            Wrong::Unknown { nearest, known, note, .. } => {
                let note = note.as_ref().map(|note| format!("\n{note}")).unwrap_or_default();
                match nearest {
                    Some(word) => format!("did you mean `{word}`? Known here: {}{note}", known.join(", ")),
                    None => format!("known here: {}{note}", known.join(", ")),
                }
            }
            Wrong::NotFinite { .. } => "write a number such as 1.0 or -0.25".into(),
            Wrong::WrongLength { order, .. } => format!("give one number for all, or a list in this order: {order}"),
            Wrong::Conflict { why, .. } => (*why).into(),
            Wrong::TooManyParticles { sites, .. } => format!("choose `up` and `down` from 0 to {sites}"),
            Wrong::TooManyOfAFlavour { sites, .. } => format!("choose numbers from 0 to {sites}"),
            Wrong::FlavoursNeedDmrg => {
                "add a section [dmrg], such as\n\n[dmrg]\nstates = 256\n\nor, for two flavours, take name = \"hubbard\""
                    .into()
            }
            Wrong::TooMuchSpin { most, .. } => format!("choose `two_sz` (twice the total Sz) from -{most} to {most}"),
            Wrong::SpinParity { expected, two_sz, .. } => {
                let near = if *two_sz > 0 { two_sz - 1 } else { two_sz + 1 };
                format!("`two_sz` is twice the total Sz; choose an {expected} number such as {near}")
            }
            Wrong::Molecule => "`eigenforge solve`, `inspect`, `build` and `spmv` take it".into(),
            Wrong::Dmrg => "`eigenforge solve`, `inspect` and `build` take it".into(),
            Wrong::ChainTooLong { most, .. } => format!("choose at most {most} sites"),
            Wrong::WrongType { found, .. } if found.starts_with("the text") && found.contains("time") => {
                "functions of `time` stand in a file with a section [evolve], for `eigenforge evolve`".into()
            }
            Wrong::WrongType { found, .. } if found == "a table" => {
                "to solve the file for several values, write { sweep = [1, 2, 4] }".into()
            }
            Wrong::WrongType { .. }
            | Wrong::OutOfRange { .. }
            | Wrong::Observable { .. }
            | Wrong::Parameter { .. }
            | Wrong::Value { .. }
            | Wrong::Hamiltonian(_)
            | Wrong::Start(_)
            | Wrong::Force(_)
            | Wrong::Operator(_)
            | Wrong::Lattice(_)
            | Wrong::TooManyBits(_)
            | Wrong::TooManyStates(_) => {
                return None;
            }
        })
    }

    /// The few words under the marked place.
    fn label(&self) -> String {
        match self {
            Wrong::Syntax { .. } => "here".into(),
            Wrong::Empty => "nothing here".into(),
            Wrong::MissingTable { .. } => "in this file".into(),
            Wrong::MissingKey { key, .. } => format!("no `{key}` in this section"),
            Wrong::Unknown { .. } => "not known".into(),
            Wrong::WrongType { expected, .. } | Wrong::OutOfRange { expected, .. } => format!("should be {expected}"),
            Wrong::NotFinite { .. } => "not finite".into(),
            Wrong::WrongLength { found, .. } => format!("{found} values"),
            Wrong::Conflict { other, .. } => format!("`{other}` is given too"),
            Wrong::Observable { .. }
            | Wrong::Parameter { .. }
            | Wrong::Value { .. }
            | Wrong::Hamiltonian(_)
            | Wrong::Start(_)
            | Wrong::Force(_)
            | Wrong::Operator(_) => "here".into(),
            Wrong::Lattice(_) => "this lattice cannot be built".into(),
            Wrong::TooManyBits(_) | Wrong::ChainTooLong { .. } => "too many sites".into(),
            Wrong::TooManyParticles { sites, .. } => format!("more than {sites}"),
            Wrong::TooManyOfAFlavour { sites, .. } => format!("more than {sites}"),
            Wrong::FlavoursNeedDmrg => "solved by DMRG only".into(),
            Wrong::TooMuchSpin { .. } => "too large".into(),
            Wrong::SpinParity { expected, .. } => format!("should be {expected}"),
            Wrong::Molecule => "in place of [model], [lattice], [sector]".into(),
            Wrong::Dmrg => "in place of [solve]".into(),
            Wrong::TooManyStates(states) => format!("more than {}", states.dimension),
        }
    }
}
