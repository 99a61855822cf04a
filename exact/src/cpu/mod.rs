//! The multiply by H on the CPU.
//!
//! The sector is a matrix, a column for each high word and a row for each low word ([`eigenforge_core::basis::LinTables`]). Columns that
//! leave the same charge to the low word share their rows: they are a block. Within a block H is a Kronecker sum,
//! D + I ⊗ A_low + A_high ⊗ I, whose two passes are made of contiguous runs and go at vector speed (`within` and `among`); terms
//! that change both words couple columns (`couplings`). The low word of electrons is that of the up electrons and all columns are
//! one block, so a Hubbard model is a block without couplings.
//!
//! ```text
//! split  →  blocks: within, couplings, among  →  y, x·y
//! diagonal
//! ```
//!
//! Five passes over a vector are the floor: x twice, y three times. Where the tables of the blocks would be larger than vectors,
//! the multiply goes row by row (`by_rows`). Work is cut by sizes, never by the number of threads, and partial sums of xᵀy are
//! added in a fixed order: the bits do not depend on the number of threads. What was tried: docs/notes/kronecker-kernels.md.

mod among;
mod blocks;
mod by_rows;
mod couplings;
mod diagonal;
mod lines;
mod runs;
mod split;
#[cfg(test)]
mod tests;
mod within;

pub(super) use blocks::Blocks;
pub(super) use by_rows::ByRows;

use super::model::Model;
use super::structure::Moves;

/// Bytes of the tables of a model's blocks, if it multiplies by blocks and is no Kronecker sum.
pub(super) fn block_table_bytes(model: &Model) -> u64 {
    match &model.structure().moves {
        Moves::General(groups) => {
            let counts = model.basis().half_counts();
            blocks::table_bytes(counts, model.dimension(), &model.structure().diagonal, groups)
        }
        Moves::Kronecker { .. } | Moves::Listed(_) => 0,
    }
}
