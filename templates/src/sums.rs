//! How many blocks share a sum, whatever the card.
//!
//! A kernel that adds up a vector adds in an order that the number of its blocks decides. So that number depends on the length alone:
//! every card, and the simulation, has the same bits (docs/inspecting.md, "The same bits on a card"). Measured rates never
//! change it. A card of fewer multiprocessors takes the blocks in more rounds.

/// Multiprocessors that blocks are made for: an H200's.
pub(crate) const MULTIPROCESSORS: u32 = 132;
