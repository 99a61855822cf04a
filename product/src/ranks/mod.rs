//! y = H x over several ranks: what lattice models and molecules share.
//!
//! Each rank has a share of every vector, in the memory of its cores or of its card, and makes some rows of y of a whole x.
//!
//! | file | question it answers |
//! |---|---|
//! | `diagonal` | where is the diagonal of rows that cores make for a card? |
//! | `plan` | what does a rank hold, keep and send? |
//! | `rows` | how do the kernels of one card make rows of a whole x? |
//! | `shares` | what does every multiply over ranks do: all of x for a rank, x·y of all? |
//! | `room` | which memory is kept from multiply to multiply? |

mod diagonal;
mod plan;
mod room;
mod rows;
mod shares;

pub use diagonal::table_of_share;
pub use plan::RankPlan;
pub use room::{Kept, Room, get_or_make, here};
pub use rows::{RowKernels, joined, part_range};
pub use shares::{RankShares, split};
