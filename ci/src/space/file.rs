//! A file of determinants: one per line, the α and then the β occupation string, orbital 1 leftmost.
//!
//! ```text
//! # water, minimal basis: 7 orbitals, 5 α and 5 β electrons
//! # determinants = 2
//! 1111100 1111100
//! 1111010 1111010
//! ```
//!
//! `#` begins a comment; blank lines are skipped. A comment `# determinants = N` is a promise that reveals a file
//! truncated between two lines. Every line ends with a line feed. All strings have the same length, all α strings the
//! same number of electrons, and so do all β strings; no determinant appears twice. Rows are in the order of the lines.

use crate::strings::{MAX_ORBITALS, Occupation};
use eigenforge_runtime::input_file::Lines;
use std::collections::HashMap;
use std::io::{self, BufRead};

/// Why a file is not a list of determinants.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// A line that cannot be read, is too long or has no line feed.
    #[error(transparent)]
    Text(#[from] io::Error),
    /// The number of determinants differs from the promise.
    #[error("{found} determinants instead of the {expected} that a line `# determinants = N` promises")]
    Count {
        /// What was found.
        found: usize,
        /// The promised number.
        expected: u64,
    },
    /// Not two strings of 0 and 1.
    #[error("line {line}: expected an α and a β occupation string such as `1110 1100`, found `{found}`")]
    Syntax {
        /// Line, from 1.
        line: usize,
        /// What was found.
        found: String,
    },
    /// Strings of different lengths, or too long.
    #[error(
        "line {line}: a string of {found} orbitals; the first line has {expected}, and at most {MAX_ORBITALS} are held"
    )]
    Length {
        /// Line, from 1.
        line: usize,
        /// Orbitals of this one.
        found: usize,
        /// Orbitals of the first line.
        expected: usize,
    },
    /// The number of electrons differs from the first line.
    #[error("line {line}: {found:?} α and β electrons; the first line has {expected:?}")]
    Electrons {
        /// Line, from 1.
        line: usize,
        /// α and β electrons of this line.
        found: (u32, u32),
        /// Electrons of the first line.
        expected: (u32, u32),
    },
    /// A determinant twice.
    #[error("line {second} repeats the determinant of line {first}")]
    Repeated {
        /// Its first line.
        first: usize,
        /// Its second line.
        second: usize,
    },
    /// No determinants.
    #[error("no determinants in the file: each line should be like `1110 1100`")]
    Empty,
}

/// Reads the text of a file of determinants: number of orbitals, and (α word, β word) of each.
///
/// One determinant per line: the α and then the β occupation string, orbital 1 leftmost, such as `1110 1100`; `#` begins
/// a comment.
///
/// # Errors
/// With the line: an invalid or repeated determinant; fewer or more than the file promises.
pub(crate) fn parse(text: impl BufRead) -> Result<(usize, Vec<(Occupation, Occupation)>), FileError> {
    let mut source = Lines::new(text);
    let mut promised = None;
    let mut determinants: Vec<(Occupation, Occupation)> = Vec::new();
    let mut lines: HashMap<(Occupation, Occupation), usize> = HashMap::new();
    let (mut orbitals, mut electrons) = (0, (0, 0));
    while let Some(line) = source.next()? {
        let (line, text) = (line.number as usize, line.text()?);
        let (text, comment) = text.split_once('#').unwrap_or((text, ""));
        promised = promise(comment).or(promised);
        let text = text.trim();
        if text.is_empty() {
            continue;
        }
        let wrong = || FileError::Syntax { line, found: text.chars().take(80).collect() };
        let mut fields = text.split_whitespace();
        let (Some(up), Some(down), None) = (fields.next(), fields.next(), fields.next()) else { return Err(wrong()) };
        if determinants.is_empty() {
            orbitals = up.len();
        }
        for field in [up, down] {
            if field.len() != orbitals || orbitals > MAX_ORBITALS {
                return Err(FileError::Length { line, found: field.len(), expected: orbitals });
            }
        }
        let determinant = word(up).zip(word(down)).ok_or_else(wrong)?;
        let found = (determinant.0.count_ones(), determinant.1.count_ones());
        if determinants.is_empty() {
            electrons = found;
        }
        if found != electrons {
            return Err(FileError::Electrons { line, found, expected: electrons });
        }
        if let Some(first) = lines.insert(determinant, line) {
            return Err(FileError::Repeated { first, second: line });
        }
        determinants.push(determinant);
    }
    match promised {
        Some(expected) if expected != determinants.len() as u64 => {
            Err(FileError::Count { found: determinants.len(), expected })
        }
        _ if determinants.is_empty() => Err(FileError::Empty),
        _ => Ok((orbitals, determinants)),
    }
}

/// N of a comment `determinants = N`.
fn promise(comment: &str) -> Option<u64> {
    comment.trim().strip_prefix("determinants")?.trim_start().strip_prefix('=')?.trim().parse().ok()
}

/// Orbital 1 leftmost.
fn word(text: &str) -> Option<Occupation> {
    let bit = |(orbital, byte)| match byte {
        b'0' => Some(0),
        b'1' => Some(Occupation::from(true) << orbital),
        _ => None,
    };
    text.bytes().enumerate().try_fold(0, |word, each| Some(word | bit(each)?))
}
