//! Tables of labels and values as comma-separated text, read strictly.
//!
//! In: a path and the required columns. Out: rows, one at a time, whose field errors say line, column, what was expected
//! and what was found. Every line ends with a line feed. Lines that begin with `#` may precede the header; `# rows = N`
//! among them is a promise that reveals a file truncated between two lines.

use eigenforge_runtime::input_file::{FileKind, Lines, TextFile, real_number};
use std::path::{Path, PathBuf};

/// Largest accepted label: a label of ten digits is a typing error, and no space has a quantum number beyond this.
pub(super) const LARGEST_LABEL: u32 = 10_000;

/// Why a table cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// An I/O error.
        source: std::io::Error,
    },
    /// There is no header.
    #[error("{}: expected a header with the columns {columns}, but {found}", path.display())]
    NoHeader {
        /// The file.
        path: PathBuf,
        /// The columns that are read.
        columns: String,
        /// What there is.
        found: &'static str,
    },
    /// A column is not in the header.
    #[error("{}: expected a column `{column}` in the header, found `{found}`", path.display())]
    Header {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
        /// The header.
        found: String,
    },
    /// A column appears twice in the header.
    #[error("{}: the column `{column}` appears twice in the header; remove one", path.display())]
    ColumnTwice {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
    },
    /// A line has more or fewer fields than the header.
    #[error("{}, line {line}: expected {expected} fields as in the header, found {found}", path.display())]
    Fields {
        /// The file.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// Fields of the header.
        expected: usize,
        /// Fields of the line.
        found: usize,
    },
    /// A field cannot be read.
    #[error("{}, line {line}, column `{column}`: expected {expected}, found `{found}`", path.display())]
    Field {
        /// The file.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// Name of the column.
        column: String,
        /// The accepted values.
        expected: String,
        /// The text.
        found: String,
    },
    /// Labels that do not fit together.
    #[error("{}, line {line}: {reason}", path.display())]
    Labels {
        /// The file.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// What is wrong with them.
        reason: String,
    },
    /// A row appears twice.
    #[error("{}, line {line}: {labels} appears twice; expected each row once", path.display())]
    Twice {
        /// The file.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// The labels.
        labels: String,
    },
    /// A row is missing.
    #[error(
        "{}: {count} of {of} rows of channel {channel} are missing, first {labels}; N_max = {n_max} needs all states with \
         na + nb <= {} and na, nb <= {}", path.display(), n_max + 2, n_max + 1
    )]
    Missing {
        /// The file.
        path: PathBuf,
        /// pn, pp or nn.
        channel: &'static str,
        /// Number of missing rows.
        count: usize,
        /// Number of required rows.
        of: usize,
        /// Labels of the first missing row.
        labels: String,
        /// N_max.
        n_max: u32,
    },
    /// The file ends below N_max.
    #[error(
        "{}: its largest na + nb is {found}, but N_max = {n_max} needs {}: use --n-max {} or a larger file", path.display(),
        n_max + 2, found.saturating_sub(2)
    )]
    Truncation {
        /// The file.
        path: PathBuf,
        /// N_max.
        n_max: u32,
        /// The largest na + nb.
        found: u32,
    },
    /// The header of a binary file differs from what is needed.
    #[error("{}, {what}: expected {expected}, found {found}", path.display())]
    Binary {
        /// The file.
        path: PathBuf,
        /// Name of the entry.
        what: String,
        /// What is needed.
        expected: u64,
        /// What it says.
        found: u64,
    },
    /// The content of a binary file is invalid.
    #[error("{}: {reason}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The place, what was expected and what was found.
        reason: String,
    },
    /// NaN or infinity in a binary file.
    #[error("{}: number {at} of channel {channel} is not finite", path.display())]
    NotFinite {
        /// The file.
        path: PathBuf,
        /// pn, pp or nn.
        channel: &'static str,
        /// Position in the layout.
        at: usize,
    },
    /// The number of rows differs from the promise.
    #[error("{}: expected {expected} rows, as its line `# rows = {expected}` says, found {found}; the file may be cut off", path.display())]
    Rows {
        /// The file.
        path: PathBuf,
        /// Rows found.
        found: u64,
        /// Rows promised.
        expected: u64,
    },
    /// No rows.
    #[error("{}: expected rows after the header, found none", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

/// Reads a table line by line.
pub(super) struct Reader {
    path: PathBuf,
    lines: Lines<TextFile>,
    header: String,
    names: Vec<String>,
    /// Position in a line of each requested column.
    positions: Vec<usize>,
    width: usize,
    line: String,
    number: usize,
    fields: Vec<(usize, usize)>,
    rows: u64,
    promised: Option<u64>,
}

/// One line of a [`Reader`].
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    reader: &'a Reader,
}

impl Reader {
    /// Opens a file; `columns` must be in its header, in any order; others are ignored.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or a column is missing.
    pub(super) fn open(path: &Path, columns: &[&str]) -> Result<Reader, TableError> {
        let read = |source| TableError::Read { path: path.to_path_buf(), source };
        let mut lines = Lines::new(TextFile::open(path, FileKind::TABLE).map_err(read)?);
        let mut promised = None;
        let header = loop {
            let Some(line) = lines.next().map_err(read)? else { break String::new() };
            let text = line.text().map_err(read)?.trim_end();
            match text.strip_prefix('#') {
                Some(comment) => promised = promise(comment).or(promised),
                None => break text.to_string(),
            }
        };
        if header.is_empty() {
            let columns = columns.iter().map(|column| format!("`{column}`")).collect::<Vec<_>>().join(", ");
            let found = if lines.number() == 0 { "the file is empty" } else { "there is none" };
            return Err(TableError::NoHeader { path: path.to_path_buf(), columns, found });
        }
        let found: Vec<&str> = header.split(',').map(str::trim).collect();
        let position = |column: &&str| {
            let mut at = found.iter().enumerate().filter(|(_, name)| *name == column).map(|(at, _)| at);
            let (first, second) = (at.next(), at.next());
            if second.is_some() {
                return Err(TableError::ColumnTwice { path: path.to_path_buf(), column: (*column).into() });
            }
            let missing =
                || TableError::Header { path: path.to_path_buf(), column: (*column).into(), found: header.clone() };
            first.ok_or_else(missing)
        };
        let positions = columns.iter().map(position).collect::<Result<Vec<_>, _>>()?;
        let names = columns.iter().map(|name| name.to_string()).collect();
        let width = found.len();
        let (path, line) = (path.to_path_buf(), String::new());
        let (number, fields, rows) = (lines.number() as usize, Vec::new(), 0);
        Ok(Reader { path, lines, names, positions, width, line, number, fields, header, rows, promised })
    }

    /// Requests one more column; `None` if the header has none of this name. Its index is that of the next column.
    pub(super) fn also(&mut self, column: &str) -> Option<usize> {
        let position = self.header.split(',').position(|name| name.trim() == column)?;
        self.positions.push(position);
        self.names.push(column.into());
        Some(self.positions.len() - 1)
    }

    /// The header line.
    pub(super) fn header(&self) -> &str {
        &self.header
    }

    /// N of a line `# rows = N` before the header.
    pub(super) fn promised(&self) -> Option<u64> {
        self.promised
    }

    /// The next line that is not blank; `None` at the end.
    ///
    /// # Errors
    ///
    /// The file cannot be read, a line has another number of fields than the header, or the number of lines differs from
    /// the file's promise.
    pub(super) fn next_row(&mut self) -> Result<Option<Row<'_>>, TableError> {
        let read = |source| TableError::Read { path: self.path.clone(), source };
        let Some(line) = self.lines.next_filled().map_err(read)? else { return self.finish() };
        self.line.clear();
        self.line.push_str(line.text().map_err(read)?);
        self.number = line.number as usize;
        self.rows += 1;
        self.fields.clear();
        let mut start = 0;
        for field in self.line.trim_end().split(',') {
            self.fields.push((start, start + field.len()));
            start += field.len() + 1;
        }
        if self.fields.len() != self.width {
            let (line, found) = (self.number, self.fields.len());
            return Err(TableError::Fields { path: self.path.clone(), line, expected: self.width, found });
        }
        Ok(Some(Row { reader: self }))
    }

    /// The end, after checking that all promised rows came.
    fn finish(&self) -> Result<Option<Row<'_>>, TableError> {
        match self.promised {
            Some(expected) if expected != self.rows => {
                Err(TableError::Rows { path: self.path.clone(), found: self.rows, expected })
            }
            _ => Ok(None),
        }
    }
}

/// N of a comment `rows = N`.
fn promise(comment: &str) -> Option<u64> {
    comment.trim().strip_prefix("rows")?.trim_start().strip_prefix('=')?.trim().parse().ok()
}

impl Row<'_> {
    /// The line as it stands.
    pub(super) fn line(&self) -> &str {
        self.reader.line.trim_end()
    }

    /// Number of the line, from 1.
    pub(super) fn number(&self) -> usize {
        self.reader.number
    }

    /// Text of the `index`-th requested column.
    pub(super) fn text(&self, index: usize) -> &str {
        let (start, end) = self.reader.fields[self.reader.positions[index]];
        self.reader.line[start..end].trim()
    }

    /// A whole number, 0 or more.
    ///
    /// # Errors
    ///
    /// It is something else.
    pub(super) fn non_negative(&self, index: usize) -> Result<u32, TableError> {
        self.text(index).parse().map_err(|_| self.wrong(index, "a whole number, 0 or more"))
    }

    /// A label: a whole number whose sums and products with others stay within 32 bits.
    ///
    /// # Errors
    ///
    /// It is something else, or above [`LARGEST_LABEL`].
    pub(super) fn label(&self, index: usize) -> Result<u32, TableError> {
        let label = self.non_negative(index)?;
        if label <= LARGEST_LABEL {
            Ok(label)
        } else {
            Err(self.wrong(index, &format!("a label up to {LARGEST_LABEL}")))
        }
    }

    /// A whole number of either sign.
    ///
    /// # Errors
    ///
    /// It is something else.
    pub(super) fn integer(&self, index: usize) -> Result<i64, TableError> {
        self.text(index).parse().map_err(|_| self.wrong(index, "a whole number"))
    }

    /// A finite number.
    ///
    /// # Errors
    ///
    /// It is something else, NaN or infinity among it.
    pub(super) fn real(&self, index: usize) -> Result<f64, TableError> {
        let value = real_number(self.text(index)).filter(|value| value.is_finite());
        value.ok_or_else(|| self.wrong(index, "a finite number"))
    }

    /// The error of a field.
    pub(super) fn wrong(&self, index: usize, expected: &str) -> TableError {
        TableError::Field {
            path: self.reader.path.clone(),
            line: self.reader.number,
            column: self.reader.names[index].clone(),
            expected: expected.into(),
            found: self.text(index).into(),
        }
    }

    /// The error of labels that do not fit together.
    pub(super) fn labels(&self, reason: impl ToString) -> TableError {
        let (path, line) = (self.reader.path.clone(), self.reader.number);
        TableError::Labels { path, line, reason: reason.to_string() }
    }

    /// The error of a repeated row.
    pub(super) fn twice(&self, labels: String) -> TableError {
        TableError::Twice { path: self.reader.path.clone(), line: self.reader.number, labels }
    }
}
