//! The down hops over several cards: who has which rows of V, and in which pieces they cross the links.
//!
//! A card holds some columns of V, which is all that the up hops need. A down hop reads another column of the same row. So each card fetches
//! its share of the rows from all columns, in chunks, the next one while the warps work on this one (`staged`, two chunks on each card), and
//! leaves what the down hops add in `across`, by rows. The up kernel then collects the rows of its own columns from all cards. Either way
//! a card receives (n − 1) / n² of a vector (n cards). Rows are dealt in whole warps.

use serde::Serialize;

/// Chunks of a card's rows. The first is waited for, and each costs a launch.
const CHUNKS: u64 = 8;
/// Bytes that a card's part of memory shared by cards is a multiple of: pages of several architectures.
const PAGE: u64 = 2 << 20;
/// Blocks that fetch a chunk; of the blocks that are resident at once on a card, about a fourth.
const FETCHING: u64 = 132;

/// How rows are dealt among cards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Exchange {
    /// Cards.
    pub cards: u32,
    /// Tiles of rows, a warp wide each, of a card.
    pub card_tiles: u64,
    /// Tiles of a chunk.
    pub chunk_tiles: u64,
    /// Chunks of a card.
    pub chunks: u64,
    /// Blocks that fetch the next chunk.
    pub fetching: u64,
    /// Elements of each card's part of `staged`.
    pub staged: u64,
    /// Elements of each card's part of `across`.
    pub across: u64,
}

impl Exchange {
    /// Bytes on all cards together, about, for vectors of so many.
    pub fn bytes_about(vector: u64) -> u64 {
        vector.saturating_add(2 * vector / CHUNKS)
    }

    /// Of V with so many rows and columns, with elements of so many bytes, in warps of `lanes` lanes, `warps` of them in a block.
    pub(super) fn new(cards: u32, [rows, columns]: [u64; 2], bytes: u64, [lanes, warps]: [u32; 2]) -> Exchange {
        let lanes = u64::from(lanes);
        let card_tiles = rows.div_ceil(lanes).div_ceil(cards.into());
        let chunk_tiles = card_tiles.div_ceil(CHUNKS);
        let part = |tiles: u64| (tiles * lanes * columns).next_multiple_of(PAGE / bytes);
        Exchange {
            cards,
            card_tiles,
            chunk_tiles,
            chunks: card_tiles.div_ceil(chunk_tiles),
            // A column for each warp, and a launch that gives each card a block.
            fetching: FETCHING.min(columns.div_ceil(warps.into())).max(cards.into()),
            staged: part(2 * chunk_tiles),
            across: part(card_tiles),
        }
    }
}
