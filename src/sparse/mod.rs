//! Sparse symmetric matrices: read from a file or built by [`crate::ci`], stored in the format that costs the fewest
//! bytes, multiplied by a kernel generated for exactly that format.
//!
//! | file | question it answers |
//! |---|---|
//! | `csr` | what is a matrix before a format is chosen? |

mod csr;

pub use csr::{Csr, CsrError};
