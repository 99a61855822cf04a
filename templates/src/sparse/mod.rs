//! Sparse matrix times vector: plans of y = A x for one matrix, and their CUDA text.
//!
//! * [`SparsePlan`]: the matrix as a few [`PartPlan`]s, one after the other in each row: a part has a storage, a width of
//!   column words, lanes per row, and perhaps a window of x in shared memory. CSR is one part, sliced ELLPACK is one part, the
//!   hybrid of Mahmoud, Hoffmann and Reza (2018, Algorithms 6 and 7) is an ELLPACK part and a CSR part.
//!   Its upper triangle alone, for a symmetric matrix, is one CSR part with a text of its own (symmetric.cu.jinja).
//!
//! The elements are real, complex or quaternion numbers ([`NumberKind`]); x and y hold the real parts of each number side by side.
//!
//! Every number of a plan is a constant in its text; the tables are given at the launch.

mod check;
mod launches;
mod loads;
mod number;
mod plan;
mod symmetric;
mod text;

pub use check::SparsePlanError;
pub use number::NumberKind;
pub use plan::{ColumnWord, DictionaryPlan, HaloPlan, PartPlan, RowStorage, SparsePlan};
