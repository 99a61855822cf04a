//! SciPy's `save_npz`: a CSR or CSC matrix as an archive of NumPy arrays `data`, `indices`, `indptr`, `shape`,
//! `format`.
//!
//! In: the file, and whether it holds the whole matrix or the upper triangle of a Hermitian one (A = U + triu(U, 1)†).
//! Out: a [`Csr`]. Values may be f64, f32 or integers, complex128 or complex64, or quaternions
//! as rows of four real numbers; indices 32 or 64 bits; rows may have columns in any order, and
//! equal ones are added. An archive without `format` holds a CSR matrix. Lengths are checked before anything is inflated, and memory is allocated only for data that are
//! present.

mod array;
mod vector;

pub use vector::HypercomplexVector;

use super::{Csr, CsrError, NumberKind};
use array::ArrayHeader;
use eigenforge_runtime::Device;
use eigenforge_runtime::input_file::{FileKind, OpenedFile};
use rayon::prelude::*;
use std::io::Read;
use std::path::{Path, PathBuf};
use zip::ZipArchive;

/// Bytes to which an array in a file of any length may inflate.
const ROOM: u64 = 16 << 20;
/// Additional bytes for each byte of the file: equal values are stored in a thousandth of their length.
const ROOM_PER_BYTE: u64 = 256;
/// Bytes per non-zero while a matrix is assembled, sorted and compressed.
pub(super) const BYTES_A_NON_ZERO: u64 = 64;

/// Which elements of a Hermitian matrix a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Triangle {
    /// All of them.
    Full,
    /// Those on and above the diagonal; the others are their conjugates.
    Upper,
}

/// Why an archive is not a matrix.
#[derive(Debug, thiserror::Error)]
pub enum NpzError {
    /// The file cannot be opened or is not an archive.
    #[error("{}: {reason}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The error of the system or of the archive's reader.
        reason: String,
    },
    /// An array is missing or of another type.
    #[error(
        "{}: array `{array}` {reason}; expected what scipy.sparse.save_npz writes for a CSR or CSC matrix", file.display()
    )]
    Array {
        /// The file.
        file: PathBuf,
        /// The array's name.
        array: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A vector that the matrix does not multiply.
    #[error("{}: array `{array}` {reason}", file.display())]
    Vector {
        /// The file.
        file: PathBuf,
        /// The array's name.
        array: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// Different numbers of rows and columns.
    #[error("{}: the matrix has {rows} rows and {columns} columns; it must be square", file.display())]
    NotSquare {
        /// The file.
        file: PathBuf,
        /// Rows.
        rows: i64,
        /// Columns.
        columns: i64,
    },
    /// An element below the diagonal in a file of the upper triangle.
    #[error(
        "{}: element ({row}, {column}) is below the diagonal, but the file was said to hold an upper triangle; read it \
         as a whole matrix", file.display()
    )]
    BelowDiagonal {
        /// The file.
        file: PathBuf,
        /// Row.
        row: usize,
        /// Column.
        column: u32,
    },
    /// The arrays do not form a valid matrix.
    #[error("{}: {source}", file.display())]
    Matrix {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        source: CsrError,
    },
}

/// Reads a matrix of real numbers.
///
/// # Errors
/// A file that `save_npz` does not write, or whose arrays do not form a square matrix of finite real numbers.
pub fn read_npz(file: &Path, triangle: Triangle) -> Result<Csr, NpzError> {
    let matrix = Csr::read_npz(file, triangle)?;
    let reason = format!("is of {} numbers where real ones are needed", matrix.kind());
    matrix.into_real().ok_or_else(|| NpzError::Array { file: file.into(), array: "data", reason })
}

impl Csr {
    /// Reads a matrix of real numbers, of complex128 or complex64, or of quaternions: `data` of the shape (n, 4); numbers
    /// whose other parts are all zero are taken as complex or real ones.
    ///
    /// # Errors
    /// A file that `save_npz` does not write, or whose arrays do not form a square matrix of finite numbers.
    pub fn read_npz(file: &Path, triangle: Triangle) -> Result<Csr, NpzError> {
        let mut archive = Archive::open(file)?;
        let rows = archive.rows()?;
        let by_columns = archive.is_by_columns()?;
        let parts = archive.read("data", |header, _| header.parts())?;
        let non_zeros = archive.read("data", |header, _| Ok(header.shape[0]))?;
        let [pointers, places] = ["indptr", "indices"].map(|array| archive.count(array));
        let (pointers, places) = (pointers?, places?);
        if i64::try_from(pointers).ok() != rows.checked_add(1) {
            return Err(archive.wrong("indptr", format!("has {pointers} numbers for {rows} rows")));
        }
        if places != non_zeros {
            return Err(archive.wrong("indices", format!("has {places} numbers for {non_zeros} values")));
        }
        let bytes =
            non_zeros.saturating_mul(BYTES_A_NON_ZERO * parts as u64).saturating_add(pointers.saturating_mul(16));
        let fits = Device::cpu().check_memory(&format!("a matrix of {non_zeros} non-zeros"), bytes);
        fits.map_err(|error| NpzError::File { file: file.into(), reason: error.to_string() })?;
        let indptr = archive.integers("indptr")?;
        let indices = archive.integers("indices")?;
        let values = archive.read("data", |header, rest| header.parts_in_turn(rest))?;
        if let Some(index) = indices.iter().find(|index| !(0..rows).contains(index)) {
            return Err(archive.wrong("indices", format!("has {index}, outside 0..{rows}")));
        }
        let ends = indptr.first() == Some(&0) && indptr.last() == Some(&(indices.len() as i64));
        if !ends || indptr.windows(2).any(|pair| pair[0] > pair[1]) {
            return Err(archive.wrong("indptr", format!("does not ascend from 0 to {}", indices.len())));
        }
        let stored = CompressedArrays { rows: rows as usize, by_columns, indptr, indices, values };
        let matrix = match parts {
            1 => stored.matrix::<1>(triangle, file)?,
            2 => stored.matrix::<2>(triangle, file)?,
            _ => stored.matrix::<4>(triangle, file)?,
        };
        Ok(matrix.with_fewest_parts())
    }
}

/// The arrays of a matrix, checked against each other.
struct CompressedArrays {
    rows: usize,
    by_columns: bool,
    indptr: Vec<i64>,
    indices: Vec<i64>,
    /// The parts of each number in turn.
    values: Vec<f64>,
}

impl CompressedArrays {
    /// The matrix of numbers of so many parts.
    fn matrix<const PARTS: usize>(&self, triangle: Triangle, file: &Path) -> Result<Csr, NpzError> {
        let mut triplets = Vec::with_capacity(self.indices.len());
        let (numbers, _) = self.values.as_chunks::<PARTS>();
        let conjugate = |mut number: [f64; PARTS]| {
            number[1..].iter_mut().for_each(|part| *part = -*part);
            number
        };
        for (line, pair) in self.indptr.windows(2).enumerate() {
            let own = pair[0] as usize..pair[1] as usize;
            for (index, value) in self.indices[own.clone()].iter().zip(&numbers[own]) {
                let (row, column, value) = (line as u32, *index as u32, *value);
                let (row, column) = if self.by_columns { (column, row) } else { (row, column) };
                triplets.push((row, column, value));
                if triangle == Triangle::Upper {
                    if column < row {
                        return Err(NpzError::BelowDiagonal { file: file.into(), row: row as usize, column });
                    }
                    if column > row {
                        triplets.push((column, row, conjugate(value)));
                    }
                }
            }
        }
        of_triplets(self.rows, triplets).map_err(|source| NpzError::Matrix { file: file.into(), source })
    }
}

/// A vector stored with a matrix, such as the `x` and `y` = A x of a reference file.
///
/// # Errors
/// No such array, or not one of real numbers.
pub fn read_npz_vector(file: &Path, array: &'static str) -> Result<Vec<f64>, NpzError> {
    Archive::open(file)?.reals(array)
}

/// Compressed rows from (row, column, value) in any order; repeated positions are added, in the order given.
pub(super) fn of_triplets<const PARTS: usize>(
    rows: usize,
    mut triplets: Vec<(u32, u32, [f64; PARTS])>,
) -> Result<Csr, CsrError> {
    triplets.par_sort_by_key(|(row, column, _)| (*row, *column)); // stable
    triplets.dedup_by(|next, kept| {
        let same = (next.0, next.1) == (kept.0, kept.1);
        if same {
            kept.2.iter_mut().zip(next.2).for_each(|(kept, next)| *kept += next);
        }
        same
    });
    let mut row_start = vec![0u64; rows + 1];
    triplets.iter().for_each(|(row, ..)| row_start[*row as usize + 1] += 1);
    (0..rows).for_each(|row| row_start[row + 1] += row_start[row]);
    let columns = triplets.iter().map(|(_, column, _)| *column).collect();
    let kind = match PARTS {
        1 => NumberKind::Real,
        2 => NumberKind::Complex,
        _ => NumberKind::Quaternion,
    };
    Csr::of_numbers(kind, row_start, columns, triplets.iter().flat_map(|(.., value)| value).copied().collect())
}

/// An open archive.
struct Archive<'a> {
    file: &'a Path,
    archive: ZipArchive<OpenedFile>,
    /// Limit on the inflated size of an array.
    room: u64,
}

impl Archive<'_> {
    /// Number of rows of a square matrix, from its shape.
    fn rows(&mut self) -> Result<i64, NpzError> {
        let numbers = self.count("shape")?;
        if numbers != 2 {
            return Err(self.wrong("shape", format!("has {numbers} numbers instead of 2")));
        }
        let shape = self.integers("shape")?;
        match shape[..] {
            [rows, columns] if rows == columns && (0..=i64::from(u32::MAX)).contains(&rows) => Ok(rows),
            [rows, columns] if rows != columns => Err(NpzError::NotSquare { file: self.file.into(), rows, columns }),
            _ => Err(self.wrong("shape", format!("is {shape:?}; expected 0 to {} rows", u32::MAX))),
        }
    }

    fn open(file: &Path) -> Result<Archive<'_>, NpzError> {
        let failed = |reason: String| NpzError::File { file: file.into(), reason };
        let opened = OpenedFile::open(file, FileKind::MATRIX).map_err(|error| failed(error.to_string()))?;
        let room = ROOM.saturating_add(opened.size().saturating_mul(ROOM_PER_BYTE));
        let archive = ZipArchive::new(opened).map_err(|error| failed(error.to_string()))?;
        Ok(Archive { file, archive, room })
    }

    fn wrong(&self, array: &'static str, reason: String) -> NpzError {
        NpzError::Array { file: self.file.into(), array, reason }
    }

    /// Reads the header of an array, checks it against the archive's length, and applies `take` to the rest.
    fn read<T>(
        &mut self,
        array: &'static str,
        take: impl FnOnce(&ArrayHeader, &mut dyn Read) -> Result<T, String>,
    ) -> Result<T, NpzError> {
        let room = self.room;
        let read = match self.archive.by_name(&format!("{array}.npy")) {
            Ok(mut member) => ArrayHeader::read(&mut member).and_then(|header| {
                let (promised, stored) = (header.bytes(), member.size());
                if promised != Some(stored) {
                    let promised = promised.map_or("over 2^64".into(), |bytes| bytes.to_string());
                    return Err(format!(
                        "promises {} numbers, {promised} bytes with its header, and has {stored}",
                        header.count
                    ));
                }
                if stored > room {
                    return Err(format!("would inflate to {stored} bytes; a file of this size may hold {room}"));
                }
                take(&header, &mut member)
            }),
            Err(error) => Err(format!("cannot be read ({error})")),
        };
        read.map_err(|reason| self.wrong(array, reason))
    }

    /// Number of elements of an array.
    fn count(&mut self, array: &'static str) -> Result<u64, NpzError> {
        self.read(array, |header, _| Ok(header.count))
    }

    /// Whether it is CSC, from the array of one string that SciPy writes; without it rows are compressed.
    fn is_by_columns(&mut self) -> Result<bool, NpzError> {
        if self.archive.index_for_name("format.npy").is_none() {
            return Ok(false);
        }
        let name = self.read("format", |header, rest| header.word(rest))?;
        match name.as_str() {
            "csr" => Ok(false),
            "csc" => Ok(true),
            _ => Err(self.wrong("format", format!("says '{name}' instead of csr or csc (convert it with .tocsr())"))),
        }
    }

    fn integers(&mut self, array: &'static str) -> Result<Vec<i64>, NpzError> {
        self.read(array, |header, rest| header.integers(rest))
    }

    fn reals(&mut self, array: &'static str) -> Result<Vec<f64>, NpzError> {
        self.read(array, |header, rest| header.reals(rest))
    }
}
