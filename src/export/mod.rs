//! H of a model as a file for other programs.
//!
//! In: a [`Model`]. Out: one file, which appears whole or not at all.
//!
//! | [`ExportFormat`] | contents |
//! |---|---|
//! | `matrix-market` | the elements of H in its sector: the lower triangle, `real symmetric` or `complex hermitian`; the basis in comments `%states` |
//! | `npz` | the elements as SciPy's compressed rows (`scipy.sparse.load_npz`), and the arrays `states`, or `up_states` and `down_states` |
//! | `pauli` | H on all states as OpenFermion's text: `0.5 [X0 Y1] +` |
//! | `terms` | H as a model file of products at sites, with its sector: `-1.0 [cdag_up(0) c_up(1)] +` |
//! | `qiskit` | the same as labels with their coefficients: `YX 0.5`; the last letter is qubit 0 |
//!
//! Row k of a matrix belongs to state k of the basis, as in vectors.npz; a complex H has complex elements. All of H is written, with
//! the constant that solvers leave out. Rows are made one after another and never held together.

mod matrix_market;
mod npz;
mod pauli;
mod rows;
mod terms;

use crate::exact::Model;
use crate::files::ReportError;
use crate::operator::{SiteKind, Word};
use crate::words::{grouped, size};
use eigenforge_runtime::DeviceError;
use std::fmt;
use std::path::{Path, PathBuf};

/// A format that H can be written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// Matrix Market, coordinate.
    MatrixMarket,
    /// SciPy's archive of compressed rows.
    Npz,
    /// Pauli strings as OpenFermion prints them.
    Pauli,
    /// Pauli strings as labels of Qiskit.
    Qiskit,
    /// A model file of products at sites.
    Terms,
}

impl ExportFormat {
    /// Every format with its word on the command line.
    pub const WORDS: [(&'static str, ExportFormat); 5] = [
        ("matrix-market", ExportFormat::MatrixMarket),
        ("npz", ExportFormat::Npz),
        ("pauli", ExportFormat::Pauli),
        ("qiskit", ExportFormat::Qiskit),
        ("terms", ExportFormat::Terms),
    ];

    /// The format that the ending of a file's name stands for: `.mtx`, `.npz` or `.toml`.
    pub fn of_name(file: &Path) -> Option<ExportFormat> {
        match file.extension()?.to_str()? {
            "mtx" => Some(ExportFormat::MatrixMarket),
            "npz" => Some(ExportFormat::Npz),
            "toml" => Some(ExportFormat::Terms),
            _ => None,
        }
    }
}

/// Why H was not written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// Sites that are no qubits.
    #[error(
        "Pauli strings are for sites \"qubit\", \"spin 1/2\" and \"boson 1\", or for \"electron\", \"spinless\" or flavours on all sites, \
         found {kinds}; --format matrix-market and npz take sites of any kind"
    )]
    NoQubits {
        /// What was found.
        kinds: String,
    },
    /// States that are left out of the basis.
    #[error(
        "Pauli strings act on all states, but [[forbid]] leaves some out; --format matrix-market and npz write the matrix on the \
         states that are left"
    )]
    Constrained,
    /// A symmetry sector.
    #[error("H of a symmetry sector is not written ({symmetry}); leave [symmetry] out to write H of the whole sector")]
    Symmetric {
        /// The symmetry sector.
        symmetry: String,
    },
    /// More qubits than a string has bits for.
    #[error("{qubits} qubits: a Pauli string has at most {most}")]
    TooManyQubits {
        /// Qubits of the model.
        qubits: usize,
        /// Bits of a string.
        most: usize,
    },
    /// Sites without words for all factors.
    #[error(
        "products at sites have no words for the factors of qubits, X = S+ + S- and Y = i (S+ - S-) apart; --format pauli writes H as Pauli \
         strings, which a model file takes as `pauli`"
    )]
    NoWords,
    /// A model file that no run would read.
    #[error(
        "a model file of {} products has {}, and one of more than {} is not read; --format matrix-market and npz write the matrix of the \
         sector", grouped((*products).into()), size(*bytes), size(*most)
    )]
    TooLong {
        /// Products of H.
        products: u64,
        /// Bytes of the file.
        bytes: u64,
        /// The most that are read.
        most: u64,
    },
    /// The disk has no room.
    #[error(
        "{} rows and {} elements need {} in {}, but its disk has {} left; fix more in [sector], or write to another disk",
        grouped((*rows).into()), elements.map_or("at least as many".into(), |elements| grouped(elements.into())), size(*needed),
        file.display(), size(*free)
    )]
    Disk {
        /// The file.
        file: PathBuf,
        /// Rows of the matrix.
        rows: u64,
        /// Elements to be written, once they are counted.
        elements: Option<u64>,
        /// Bytes of the file, at least.
        needed: u64,
        /// Bytes left.
        free: u64,
    },
    /// Memory.
    #[error(transparent)]
    Memory(#[from] DeviceError),
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] ReportError),
}

impl ExportError {
    /// Whether the model or the format is at fault, not the machine.
    pub fn is_of_the_input(&self) -> bool {
        !matches!(self, ExportError::Memory(_) | ExportError::Write(_))
    }
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// The file.
    pub file: PathBuf,
    /// Its bytes; `None` of a pipe or device, which keeps none.
    pub bytes: Option<u64>,
    /// Rows of the matrix, or qubits, or sites.
    pub rows: u64,
    /// Elements, strings or products in the file.
    pub elements: u64,
    /// Whether H is complex.
    pub complex: bool,
    contents: String,
}

impl fmt::Display for Exported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.bytes.map_or(String::new(), |bytes| format!(", {}", size(bytes)));
        writeln!(f, "{}: {}{bytes}", self.file.display(), self.contents)
    }
}

/// Writes H.
///
/// # Errors
/// A symmetry sector; sites that the format cannot describe; a matrix that the disk has no room for; the file system's.
pub fn export(model: &Model, format: ExportFormat, file: &Path) -> Result<Exported, ExportError> {
    if let Some(symmetry) = model.symmetry_text() {
        return Err(ExportError::Symmetric { symmetry });
    }
    let (written, rows, elements, contents) = match format {
        ExportFormat::MatrixMarket => matrix_market::write(model, file)?,
        ExportFormat::Npz => npz::write(model, file)?,
        ExportFormat::Pauli | ExportFormat::Qiskit => pauli::write(model, format, file)?,
        ExportFormat::Terms => terms::write(model, file)?,
    };
    let bytes = std::fs::metadata(&written).ok().filter(|data| data.is_file()).map(|data| data.len());
    let complex = model.operator().is_complex();
    Ok(Exported { file: written, bytes, rows, elements, complex, contents })
}

/// The file, rows, qubits or sites, elements, and what it holds in words.
type Written = (PathBuf, u64, u64, String);

/// Which bits of a state word belong to which site, in a sentence.
fn bits_of(model: &Model) -> String {
    let sites = model.sites();
    match model.basis().word() {
        Word::Fermions { .. } => {
            format!("bit i of a state is the up electron of site i, bit {sites} + i its down electron")
        }
        Word::Spins { width, .. } => format!("site i has {width} bits from bit {width} i on, the level m + S"),
        Word::Sites(layout) => {
            let widths: Vec<u32> = layout.kinds().iter().map(|kind| SiteKind::bits(*kind)).collect();
            match widths.iter().all(|width| *width == widths[0]) {
                true => format!("site i has {0} bits from bit {0} i on, its local state by number", widths[0]),
                false => {
                    let list: Vec<String> = widths.iter().map(u32::to_string).collect();
                    format!("site 0 has the lowest bits; bits by site: {}", list.join(" "))
                }
            }
        }
    }
}

/// Refuses a file that its disk has no room for.
fn check_disk(file: &Path, rows: u64, elements: Option<u64>, needed: u64) -> Result<(), ExportError> {
    match free_bytes(file) {
        Some(free) if free < needed => Err(ExportError::Disk { file: file.into(), rows, elements, needed, free }),
        _ => Ok(()),
    }
}

/// Bytes that are left where the file goes, if the system says.
#[cfg(unix)]
fn free_bytes(file: &Path) -> Option<u64> {
    let folder =
        file.ancestors().skip(1).map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
    let disk = folder.filter(|folder| folder.exists()).find_map(|folder| rustix::fs::statvfs(folder).ok())?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(not(unix))]
fn free_bytes(_: &Path) -> Option<u64> {
    None
}
