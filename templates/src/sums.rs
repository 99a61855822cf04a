//! How many blocks share a sum, on every card.
//!
//! A kernel that sums a vector adds in an order that depends on its number of blocks. Therefore that number depends on
//! the length alone: every card, and the simulation, gives the same bits (docs/inspecting.md, "The same bits on a GPU").
//! Measured rates never change it. A card with fewer multiprocessors takes the blocks in more rounds.

/// The unit in which the blocks of long sums are counted: with a block for each partial sum, a sum has a few times this many. It
/// is a constant of the results' bits, not a property of the card that runs: another number changes the last digits of every
/// sum. It was set to the multiprocessors of an H200, on which these blocks then make whole rounds.
pub(crate) const SUM_BLOCKS: u32 = 132;
