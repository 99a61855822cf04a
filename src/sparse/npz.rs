//! SciPy's `save_npz`: a CSR or CSC matrix as an archive of NumPy arrays `data`, `indices`, `indptr`, `shape`, `format`.
//!
//! In: the file, and whether it holds the whole matrix or the upper triangle of a symmetric one (A = U + triu(U, 1)ᵀ). Out:
//! a [`Csr`]. Values may be f64 or f32, indices 32 or 64 bits; rows may come with columns in any order, equal ones add up.

use super::{Csr, CsrError};
use ndarray::ArrayD;
use ndarray_npy::{ReadNpyExt, ReadableElement};
use rayon::prelude::*;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use zip::ZipArchive;

/// Which elements of a symmetric matrix a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Triangle {
    /// All of them.
    Full,
    /// Those on and above the diagonal; the others are their mirror images.
    Upper,
}

/// Why an archive is no matrix.
#[derive(Debug, thiserror::Error)]
pub enum NpzError {
    /// The file cannot be opened or is no archive.
    #[error("{}: {reason}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// What the system or the archive's reader says.
        reason: String,
    },
    /// An array is missing or of another type.
    #[error("{}: array `{array}` {reason}; expected what scipy.sparse.save_npz writes for a CSR or CSC matrix", file.display())]
    Array {
        /// The file.
        file: PathBuf,
        /// The array's name.
        array: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// More columns than rows, or fewer.
    #[error("{}: the matrix has {rows} rows and {columns} columns; it must be square", file.display())]
    NotSquare {
        /// The file.
        file: PathBuf,
        /// Rows.
        rows: i64,
        /// Columns.
        columns: i64,
    },
    /// An element below the diagonal of a file that should have none there.
    #[error(
        "{}: element ({row}, {column}) is below the diagonal, but the file was said to hold an upper triangle; read it as \
         a whole matrix", file.display()
    )]
    BelowDiagonal {
        /// The file.
        file: PathBuf,
        /// Row.
        row: usize,
        /// Column.
        column: u32,
    },
    /// The arrays make no matrix.
    #[error("{}: {source}", file.display())]
    Matrix {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        source: CsrError,
    },
}

/// Reads a matrix.
///
/// # Errors
/// A file that is not what `save_npz` writes, or whose arrays make no square matrix of finite numbers.
pub fn read_npz(file: &Path, triangle: Triangle) -> Result<Csr, NpzError> {
    let mut archive = Archive::open(file)?;
    let shape = archive.integers("shape")?;
    let [rows, columns] = shape[..] else {
        return Err(archive.wrong("shape", format!("has {} numbers instead of 2", shape.len())));
    };
    if rows != columns {
        return Err(NpzError::NotSquare { file: file.into(), rows, columns });
    }
    let by_columns = archive.is_by_columns()?;
    let indptr = archive.integers("indptr")?;
    let indices = archive.integers("indices")?;
    let values = archive.reals("data")?;
    if indptr.len() as i64 != rows + 1 {
        return Err(archive.wrong("indptr", format!("has {} numbers for {rows} rows", indptr.len())));
    }
    if indices.len() != values.len() {
        return Err(archive.wrong("indices", format!("has {} numbers for {} values", indices.len(), values.len())));
    }
    if let Some(index) = indices.iter().find(|index| !(0..rows).contains(index)) {
        return Err(archive.wrong("indices", format!("has {index}, outside of 0..{rows}")));
    }
    let ends = indptr.first() == Some(&0) && indptr.last() == Some(&(values.len() as i64));
    if !ends || indptr.windows(2).any(|pair| pair[0] > pair[1]) {
        return Err(archive.wrong("indptr", format!("does not ascend from 0 to {}", values.len())));
    }
    let mut triplets = Vec::with_capacity(values.len());
    for (line, pair) in indptr.windows(2).enumerate() {
        for k in pair[0] as usize..pair[1] as usize {
            let (row, column) = (line as u32, indices[k] as u32);
            let (row, column) = if by_columns { (column, row) } else { (row, column) };
            triplets.push((row, column, values[k]));
            if triangle == Triangle::Upper {
                if column < row {
                    return Err(NpzError::BelowDiagonal { file: file.into(), row: row as usize, column });
                }
                if column > row {
                    triplets.push((column, row, values[k]));
                }
            }
        }
    }
    of_triplets(rows as usize, triplets).map_err(|source| NpzError::Matrix { file: file.into(), source })
}

/// A vector beside a matrix, such as the `x` and `y` = A x of a reference file.
///
/// # Errors
/// No such array, or not one of real numbers.
pub fn read_npz_vector(file: &Path, array: &'static str) -> Result<Vec<f64>, NpzError> {
    Archive::open(file)?.reals(array)
}

/// Compressed rows of (row, column, value) in any order; what meets in one place is added, in the order given.
pub(super) fn of_triplets(rows: usize, mut triplets: Vec<(u32, u32, f64)>) -> Result<Csr, CsrError> {
    triplets.par_sort_by_key(|(row, column, _)| (*row, *column)); // stable
    triplets.dedup_by(|next, kept| {
        let same = (next.0, next.1) == (kept.0, kept.1);
        if same {
            kept.2 += next.2;
        }
        same
    });
    let mut row_start = vec![0u64; rows + 1];
    triplets.iter().for_each(|(row, ..)| row_start[*row as usize + 1] += 1);
    (0..rows).for_each(|row| row_start[row + 1] += row_start[row]);
    let columns = triplets.iter().map(|(_, column, _)| *column).collect();
    Csr::new(row_start, columns, triplets.iter().map(|(.., value)| *value).collect())
}

/// An open archive.
struct Archive<'a> {
    file: &'a Path,
    archive: ZipArchive<File>,
}

impl Archive<'_> {
    fn open(file: &Path) -> Result<Archive<'_>, NpzError> {
        let failed = |reason: String| NpzError::File { file: file.into(), reason };
        let opened = File::open(file).map_err(|error| failed(error.to_string()))?;
        let archive = ZipArchive::new(opened).map_err(|error| failed(error.to_string()))?;
        Ok(Archive { file, archive })
    }

    fn wrong(&self, array: &'static str, reason: String) -> NpzError {
        NpzError::Array { file: self.file.into(), array, reason }
    }

    /// The bytes of one array's file.
    fn bytes(&mut self, array: &'static str) -> Result<Vec<u8>, NpzError> {
        let mut bytes = vec![];
        let read = match self.archive.by_name(&format!("{array}.npy")) {
            Ok(mut member) => member.read_to_end(&mut bytes).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        read.map_err(|reason| self.wrong(array, format!("cannot be read ({reason})")))?;
        Ok(bytes)
    }

    /// CSC or CSR, from the array of one byte string that SciPy writes.
    fn is_by_columns(&mut self) -> Result<bool, NpzError> {
        let bytes = self.bytes("format")?;
        // The name stands alone behind the header, whose last character is a line feed; in UTF-32 where it was a str.
        let behind = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let name: String = bytes[behind..].iter().filter(|byte| **byte != 0).map(|byte| char::from(*byte)).collect();
        match name.as_str() {
            "csr" => Ok(false),
            "csc" => Ok(true),
            _ => Err(self.wrong("format", format!("says '{name}' instead of csr or csc (convert it with .tocsr())"))),
        }
    }

    fn array<T: ReadableElement>(bytes: &[u8]) -> Option<Vec<T>> {
        ArrayD::<T>::read_npy(bytes).ok().map(|array| array.into_raw_vec_and_offset().0)
    }

    fn integers(&mut self, array: &'static str) -> Result<Vec<i64>, NpzError> {
        let bytes = self.bytes(array)?;
        let narrow = || Some(Archive::array::<i32>(&bytes)?.into_iter().map(i64::from).collect());
        let found = Archive::array::<i64>(&bytes).or_else(narrow);
        found.ok_or_else(|| self.wrong(array, "is not one of 32- or 64-bit integers".into()))
    }

    fn reals(&mut self, array: &'static str) -> Result<Vec<f64>, NpzError> {
        let bytes = self.bytes(array)?;
        let single = || Some(Archive::array::<f32>(&bytes)?.into_iter().map(f64::from).collect());
        let found = Archive::array::<f64>(&bytes).or_else(single);
        found.ok_or_else(|| self.wrong(array, "is not one of real numbers (f64 or f32)".into()))
    }
}
