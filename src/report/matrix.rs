//! The part of a report that a matrix adds.

use super::{ShapeRecord, Spectrum};
use crate::sparse::{Format, NumberKind};
use crate::words::grouped;
use serde::{Deserialize, Serialize};

/// What only a matrix has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MatrixRecord {
    /// The matrix in words.
    pub matrix: String,
    /// The kind of its numbers.
    pub numbers: NumberKind,
    /// Rows.
    pub dimension: u64,
    /// Real parts of the vectors on which it was solved: two or four times the rows for complex numbers or quaternions. On these each state
    /// stands as often; energies, levels and multiplicities count it once.
    pub real_dimension: u64,
    /// Stored elements, as its numbers.
    pub non_zeros: u64,
    /// Certificates of the eigenvalues.
    #[serde(flatten)]
    pub spectrum: Spectrum,
    /// The format that it is stored in.
    pub format: Format,
    /// Why this format.
    pub format_reason: Option<String>,
    /// The kernels of the format; `null` on a CPU.
    pub shape: Option<ShapeRecord>,
}

impl MatrixRecord {
    /// How it was solved, in a line of the summary.
    pub(super) fn solved_text(&self) -> String {
        let reason = self.format_reason.as_ref().map_or(String::new(), |reason| format!(" ({reason})"));
        let matrix = match self.numbers {
            NumberKind::Real => "matrix".into(),
            kind => {
                let length = grouped(self.real_dimension.into());
                format!("{kind} matrix on vectors of {length} real parts")
            }
        };
        format!("{matrix} in {}{reason}", self.format)
    }
}
