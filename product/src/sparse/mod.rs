//! Sparse matrices of real, complex or quaternion numbers: read from a file or made by rows of determinants, stored in the format that costs
//! the fewest bytes, multiplied by a kernel generated for that format.
//!
//! ```text
//! .mtx, .npz → Csr → Choice → Layout → Stored (plan + tables) → text → SparseOperator on a device
//! ```
//!
//! | file | question it answers |
//! |---|---|
//! | `csr` | what is a matrix before a format is chosen? |
//! | `number` | how are complex numbers and quaternions multiplied? |
//! | `matrix_market`, `npz` | which sources are there? |
//! | `statistics` | how long are its rows, and what would each format take? |
//! | `layout` | how is it cut into parts and blocks? |
//! | `choose` | which layout, by modelled bytes? |
//! | `hybrid` | what do the kernels read? |
//! | `dictionary` | which distinct values has it, where they are few? |
//! | `halo` | what do the rows of each of several cards need of x? |
//! | `made` | how are rows made by all cores? |
//! | `coded` | what do cores read where values are few? |
//! | `operator`, `host`, `kernels` | y = A x on a device |
//! | `symmetric` | the same from the upper triangle alone |

mod choose;
mod coded;
mod csr;
mod dictionary;
mod halo;
mod host;
mod hybrid;
mod kernels;
mod layout;
mod made;
mod matrix_market;
mod npz;
mod number;
mod operator;
mod race;
mod statistics;
mod symmetric;

pub(crate) use coded::CodedRows;
pub(crate) use host::CoreRows;
pub(crate) use number::Number;

pub use choose::add_seconds;
pub use choose::format_choice;
pub use choose::{Candidate, FormatChoice, FormatName, FormatRanking, FormatRequest};
pub use csr::{Csr, CsrError};
pub use eigenforge_templates::sparse::NumberKind;
pub use halo::{CardRows, Halo};
pub use hybrid::{Columns, LayoutError, PartTables, SYMMETRY, Stored, Values, start_word};
pub use kernels::plans_by_vectors;
pub use layout::{Format, Layout, PartLayout, RowCut, StorageKind, Target};
pub use made::MadeRows;
pub use matrix_market::{MatrixMarketError, read_matrix_market};
pub use npz::{HypercomplexVector, NpzError, Triangle, read_npz, read_npz_vector};
pub use number::Quaternion;
pub use operator::{SparseError, SparseOperator};
pub use statistics::{CountedFormat, FormatBytes, RowStatistics, memory_table};
