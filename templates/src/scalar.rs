//! The number type of vectors and values, a parameter of the whole pipeline.

use crate::launch::Element;
use serde::{Deserialize, Serialize};

/// Number type of vectors and matrix elements. Sums are always in f64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ScalarType {
    /// IEEE double precision.
    F64,
    /// IEEE single precision.
    F32,
}

impl ScalarType {
    /// The CUDA type.
    pub fn cuda(self) -> &'static str {
        match self {
            ScalarType::F64 => "double",
            ScalarType::F32 => "float",
        }
    }

    /// Bytes of one element.
    pub fn bytes(self) -> usize {
        match self {
            ScalarType::F64 => 8,
            ScalarType::F32 => 4,
        }
    }

    /// The same type as the element of a vector.
    pub fn element(self) -> Element {
        match self {
            ScalarType::F64 => Element::F64,
            ScalarType::F32 => Element::F32,
        }
    }
}
