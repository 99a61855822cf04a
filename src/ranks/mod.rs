//! y = H x over several ranks: what lattice models and molecules share.
//!
//! Each rank has a share of every vector, in the memory of its cores or of its card, and makes some rows of y of a whole x.
//!
//! | file | question it answers |
//! |---|---|
//! | `gather` | how does a rank get all of x on the host? |
//! | `diagonal` | where is the diagonal of rows that cores make for a card? |
//! | `plan` | what does a rank hold, keep and send? |
//! | `rows` | how do the kernels of one card make rows of a whole x? |
//! | `room` | which memory is kept from multiply to multiply? |

mod diagonal;
mod gather;
mod plan;
mod room;
mod rows;

pub(crate) use diagonal::table_of_share;
pub(crate) use gather::{gather, split};
pub use plan::RankPlan;
pub(crate) use room::{Kept, Room, here, kept, written};
pub(crate) use rows::{ReadByRows, RowKernels, joined, share};
