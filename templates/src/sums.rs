//! How many blocks share a sum, on every card.
//!
//! A kernel that sums a vector adds in an order that depends on its number of blocks. Therefore that number depends on
//! the length alone: every card, and the simulation, gives the same bits (docs/inspecting.md, "The same bits on a GPU").
//! Measured rates never change it. A card with fewer multiprocessors takes the blocks in more rounds.

/// Multiprocessors for which the number of blocks is chosen: an H200's.
pub(crate) const MULTIPROCESSORS: u32 = 132;
