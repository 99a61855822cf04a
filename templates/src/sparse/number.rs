//! The kinds of numbers that a matrix may have.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The kind of numbers of a matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NumberKind {
    /// Real numbers.
    #[default]
    Real,
    /// Complex numbers: parts of 1 and i.
    Complex,
    /// Quaternions: parts of 1, i, j and k.
    Quaternion,
}

impl NumberKind {
    /// Real parts of a number.
    #[inline]
    pub fn parts(self) -> usize {
        match self {
            NumberKind::Real => 1,
            NumberKind::Complex => 2,
            NumberKind::Quaternion => 4,
        }
    }

    /// Operations of one product that is added to a sum: two for each pair of parts.
    pub fn product_flops(self) -> u64 {
        2 * (self.parts() * self.parts()) as u64
    }

    /// Whether numbers have one part.
    pub fn is_real(&self) -> bool {
        *self == NumberKind::Real
    }
}

impl fmt::Display for NumberKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NumberKind::Real => "real",
            NumberKind::Complex => "complex",
            NumberKind::Quaternion => "quaternion",
        })
    }
}
