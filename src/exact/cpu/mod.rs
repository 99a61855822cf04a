//! The multiply by H on the CPU.
//!
//! The sector is a matrix, a column for each high word and a row for each low word ([`crate::basis::LinTables`]). Columns that
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

use super::model::Model;
use super::prepared::Prepared;
use super::species::SpeciesMatrix;
use super::structure::Moves;
use super::symmetric::{HostPairs, HostRows, HostStrings};
use blocks::Blocks;
use by_rows::ByRows;
use eigenforge_runtime::Scalar;
use eigenforge_runtime::ranks::{equal, nearest};
use eigenforge_templates::exact::DiagonalPlan;

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

/// H on the CPU.
pub(super) enum HostMultiply {
    /// By blocks.
    Blocks(Box<Blocks>),
    /// Row by row.
    ByRows(Box<ByRows>),
    /// Row by row, in a symmetry sector.
    Symmetric(Box<HostRows>),
    /// By strings of electrons, in a symmetry sector.
    Strings(Box<HostStrings>),
    /// On pairs of strings, in a sector of the exchange of spins.
    Pairs(Box<HostPairs>),
}

impl HostMultiply {
    /// The multiply of a plan.
    pub(super) fn new(prepared: &Prepared) -> HostMultiply {
        match prepared {
            Prepared::Kronecker { plan, up, down } => {
                HostMultiply::Blocks(Box::new(Blocks::of_species(up, down, &plan.diagonal)))
            }
            Prepared::General { plan, tables, .. } => match Blocks::of_tables(tables, &plan.diagonal, &plan.groups) {
                Some(blocks) => HostMultiply::Blocks(Box::new(blocks)),
                None => {
                    let rows = ByRows::new(tables.clone(), plan.diagonal.clone(), plan.groups.clone());
                    HostMultiply::ByRows(Box::new(rows))
                }
            },
            Prepared::Symmetric(rows) => HostMultiply::Symmetric(Box::new(rows.host().listed())),
            Prepared::Strings(rows) => HostMultiply::Strings(Box::new(rows.host().clone())),
            Prepared::Pairs(rows) => HostMultiply::Pairs(Box::new(rows.host().clone())),
            Prepared::Stored(_) => unreachable!("a stored matrix multiplies by itself"),
        }
    }

    /// y = H x; returns xᵀy.
    pub(super) fn apply<T: Scalar>(&self, x: &[T], y: &mut [T]) -> f64 {
        match self {
            HostMultiply::Blocks(host) => host.apply(x, y),
            HostMultiply::ByRows(host) => host.apply(x, y),
            HostMultiply::Symmetric(host) => host.apply(x, y),
            HostMultiply::Strings(host) => host.apply(x, y),
            HostMultiply::Pairs(host) => host.apply(x, y),
        }
    }

    /// What each column does by itself: hops of one species and a diagonal.
    pub(super) fn within_columns(low: &SpeciesMatrix, highs: &[u64], diagonal: &DiagonalPlan) -> HostMultiply {
        HostMultiply::Blocks(Box::new(Blocks::within_columns(low, highs, diagonal)))
    }

    /// The same for a share of the rows, of so many ranks, and where all shares are cut: between columns where it goes by blocks.
    pub(super) fn of_share(self, dimension: usize, ranks: usize, rank: usize) -> (HostMultiply, Vec<usize>) {
        match self {
            HostMultiply::Blocks(host) => {
                let bounds = nearest(&host.places(), ranks);
                let share = bounds[rank]..bounds[rank + 1];
                (HostMultiply::Blocks(Box::new(host.making(share))), bounds)
            }
            other => (other, equal(dimension, ranks)),
        }
    }

    /// The elements of y from `first` on, of a whole x, as [`HostMultiply::of_share`] cuts them; returns their part of xᵀy.
    pub(super) fn apply_part<T: Scalar>(&self, x: &[T], first: usize, y: &mut [T]) -> f64 {
        match self {
            HostMultiply::Blocks(host) => host.apply(x, y),
            HostMultiply::ByRows(host) => host.apply_part(x, first, y),
            HostMultiply::Symmetric(host) => host.apply_part(x, first, y),
            HostMultiply::Strings(host) => host.apply_part(x, first, y),
            HostMultiply::Pairs(host) => host.apply_part(x, first, y),
        }
    }

    /// y_j = H x_j; returns all x_jᵀy_j, each with the bits of a multiply of its own. Row by row what is found out about a row serves
    /// several vectors; by blocks it serves the columns of one already.
    pub(super) fn apply_block<T: Scalar>(&self, x: &[&[T]], y: &mut [&mut [T]]) -> Vec<f64> {
        match self {
            HostMultiply::ByRows(host) => host.apply_block(x, y),
            _ => x.iter().zip(y).map(|(x, y)| self.apply(x, y)).collect(),
        }
    }

    /// The diagonal element of an index.
    pub(super) fn diagonal(&self, index: usize) -> f64 {
        match self {
            HostMultiply::Blocks(host) => host.diagonal(index),
            HostMultiply::ByRows(host) => host.diagonal(index),
            HostMultiply::Symmetric(host) => host.diagonal(index),
            HostMultiply::Strings(host) => host.diagonal(index),
            HostMultiply::Pairs(host) => host.diagonal(index),
        }
    }
}
