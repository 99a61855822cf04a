//! A vector in an archive: of real numbers, complex numbers or quaternions.
//!
//! In: an array of the shape (n,), or (n, 4) of quaternions. Out: the real parts of each number side by side, as a matrix multiplies them; and
//! back.

use super::super::NumberKind;
use super::{Archive, NpzError};
use eigenforge_core::files::{ReportError, publish};
use ndarray::{Array1, Array2};
use ndarray_npy::NpzWriter;
use num_complex::Complex64;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// A vector by its real parts.
#[derive(Clone, Debug, PartialEq)]
pub struct HypercomplexVector {
    /// The kind of its numbers.
    pub kind: NumberKind,
    /// The real parts of each number side by side.
    pub parts: Vec<f64>,
}

impl HypercomplexVector {
    /// Reads the vector that a matrix of such numbers and so many columns multiplies. Its numbers are of the kind of the matrix, or of one
    /// with more parts where the file has such.
    ///
    /// # Errors
    /// No such array; another length; numbers that are not finite.
    pub fn read(
        file: &Path,
        array: &'static str,
        (kind, columns): (NumberKind, usize),
    ) -> Result<HypercomplexVector, NpzError> {
        let mut archive = Archive::open(file)?;
        let own = archive.read(array, |header, _| header.parts())?;
        let values = archive.read(array, |header, rest| header.parts_in_turn(rest))?;
        let wrong = |reason: String| NpzError::Vector { file: file.into(), array, reason };
        if values.len() != own * columns {
            return Err(wrong(format!("has {} numbers; the matrix has {columns} columns", values.len() / own)));
        }
        if let Some(place) = values.iter().position(|value| !value.is_finite()) {
            return Err(wrong(format!("has {} at {}, which is not finite", values[place], place / own)));
        }
        let kinds = [NumberKind::Real, NumberKind::Complex, NumberKind::Quaternion];
        let kind = kinds.into_iter().find(|wider| wider.parts() >= own.max(kind.parts())).unwrap_or(kind);
        let mut parts = vec![0.0; kind.parts() * columns];
        values.iter().enumerate().for_each(|(place, value)| parts[place / own * kind.parts() + place % own] = *value);
        Ok(HypercomplexVector { kind, parts })
    }

    /// Writes an archive with this vector as its only array.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, file: &Path, array: &'static str) -> Result<PathBuf, ReportError> {
        let rows = self.parts.len() / self.kind.parts();
        let part = |row: usize, part: usize| self.parts[row * self.kind.parts() + part];
        publish(file, |opened| {
            let mut npz = NpzWriter::new(BufWriter::new(opened));
            let added = match self.kind {
                NumberKind::Real => npz.add_array(array, &Array1::from(self.parts.clone())),
                NumberKind::Complex => {
                    npz.add_array(array, &Array1::from_shape_fn(rows, |row| Complex64::new(part(row, 0), part(row, 1))))
                }
                NumberKind::Quaternion => {
                    npz.add_array(array, &Array2::from_shape_fn((rows, 4), |(row, unit)| part(row, unit)))
                }
            };
            let written = added.and_then(|()| npz.finish().map(drop));
            written.map_err(|source| ReportError::Arrays { file: file.into(), source })
        })
    }
}
