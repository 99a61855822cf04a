//! The parameters of a transformation: every number in its text.
//!
//! | kernel | input of a block | output |
//! |---|---|---|
//! | `jj_to_irreps` | a slab: four shells and one Lf | Y = Σ_J (2J+1) [6j] A u Aᵀ in shared memory, Z = W^f Y W^iᵀ |
//! | `couple_R` | R rows of C for (λf μf), (λi μi), S0 | C = W⁰ Z, over the columns of all shells that have both irreps |
//! | `couple_back_R` | the same of Z | Z = W⁰ᵀ C |
//! | `irreps_to_ls` | a slab | Y = W^fᵀ Z W^i |
//! | `ls_to_jj` | four shells | u = Aᵀ Y A |
//!
//! Channels (pn, pp, nn) are the second axis of every grid. Slabs are sorted by size, so that small ones get few threads
//! and little shared memory; the products C = W⁰ Z are sorted by the tile that they fill best.

use super::tables::LayoutTable;
use crate::text::Cost;
use crate::{ScalarType, Warp};
use serde::{Deserialize, Serialize};

/// Most threads of a slab's block.
pub const SLAB_THREADS: u32 = 256;
/// Threads of a block of `ls_to_jj`.
pub const JJ_THREADS: u32 = 128;

/// Slabs of one launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlabClass {
    /// Threads of a block.
    pub threads: u32,
    /// First slab.
    pub first: u64,
    /// Slabs.
    pub slabs: u64,
    /// Numbers of the largest slab.
    pub numbers: u64,
    /// Numbers of its product W^f Y that are stored at once.
    pub half: u64,
}

/// Tiles of C = W⁰ Z of one launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TileClass {
    /// Rows of a tile.
    pub rows: u32,
    /// Columns of a tile.
    pub columns: u32,
    /// Rows that a thread sums.
    pub deep: u32,
    /// Columns that a thread sums.
    pub wide: u32,
    /// First tile.
    pub first: u64,
    /// Tiles.
    pub tiles: u64,
}

impl TileClass {
    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        self.rows / self.deep * (self.columns / self.wide)
    }
}

/// Lengths of tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableCounts {
    /// Ordered pairs of shells.
    pub pairs: u64,
    /// (λ μ) of all quanta.
    pub irreps: u64,
    /// Orbital pairs (la, lb) of all pairs of shells and L.
    pub states: u64,
    /// Numbers of all W^f.
    pub matrices: u64,
    /// jj states of all pairs of shells and J.
    pub jj_states: u64,
    /// Quadruples of shells.
    pub quadruples: u64,
    /// Products (λf μf) × (λi μi), three values of S0 each.
    pub products: u64,
    /// Numbers W⁰.
    pub w0: u64,
    /// Slabs.
    pub slabs: u64,
    /// Tiles.
    pub tiles: u64,
}

/// Every number of a transformation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TransformPlan {
    /// Name of the problem, for display.
    pub name: String,
    /// Number type of the interactions.
    pub scalar: ScalarType,
    /// The width of a warp.
    pub warp: Warp,
    /// N_max.
    pub n_max: u32,
    /// Vectors transformed at once.
    pub channels: u32,
    /// Numbers of one vector.
    pub numbers: u64,
    /// Columns of the widest slab.
    pub widest: u32,
    /// Launches of slabs.
    pub slabs: Vec<SlabClass>,
    /// Launches of tiles.
    pub tiles: Vec<TileClass>,
    /// Lengths of tables.
    pub counts: TableCounts,
    /// (−1)^{Sf+Si+S0+J+1} Ŝ0 {Lf Li S0; Si Sf J} at [((spins · L_COUNT + Lf) 5 + Li − Lf + 2) 3 + J − Lf + 1].
    pub spin_factors: Vec<f64>,
    /// Ranges of the labels, if they are written into the text; empty if they are passed at the launch.
    pub layout: Vec<LayoutTable>,
    /// Multiplications and additions of one channel.
    pub flops: f64,
}

impl TransformPlan {
    /// The largest na + nb.
    pub fn quanta_max(&self) -> u32 {
        self.n_max + 2
    }

    /// Number of values L = 0 … na + nb.
    pub fn l_count(&self) -> u64 {
        u64::from(self.n_max) + 3
    }

    /// Number of values J = 0 … na + nb + 1.
    pub fn j_count(&self) -> u64 {
        u64::from(self.n_max) + 4
    }

    /// Numbers of all channels.
    pub fn all_numbers(&self) -> u64 {
        self.numbers * u64::from(self.channels)
    }

    /// Bytes of all tables.
    pub fn table_bytes(&self) -> u64 {
        self.all_tables().iter().map(|table| table.bytes()).sum()
    }

    /// Elements read, strengths written, W⁰ read: once each.
    pub fn cost(&self) -> Cost {
        let flops = f64::from(self.channels) * self.flops;
        Cost { flops, bytes: (16 * self.all_numbers() + 8 * self.counts.w0) as f64 }
    }
}
