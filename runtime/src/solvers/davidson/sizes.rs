//! The number of basis vectors: the minimum, and what memory allows beyond.
//!
//! In: the options and the free memory. Out: the largest basis, and what a collapse keeps of it.

use super::super::SolveOptions;

/// A basis larger than this many vectors, or this many per column, is not used: every vector of it costs passes in every
/// iteration. For stretched N2 (full configuration interaction, 1,824 determinants, 1, 3 and 6 states to 1e-9) 12 and 4
/// took 47, 139 and 233 multiplies, 16 and 6 took 44, 120 and 203, these 43, 117 and 193; for water 22, 70 and 139
/// instead of 22, 72 and 146.
const MOST: usize = 24;
const MOST_A_COLUMN: usize = 8;

/// Minimum number of vectors per column.
const LEAST_VECTORS: usize = 8;

/// Minimum number of vectors of a search: V and A V of three vectors per column (Ritz vector, the previous one, and a new
/// direction), and two per column to combine them into.
pub(in super::super) fn vectors(options: &SolveOptions, dimension: usize) -> usize {
    LEAST_VECTORS * options.columns(dimension)
}

/// Useful vectors in addition to [`vectors`], if memory has room for `spare` more.
pub(in super::super) fn optional_vectors(options: &SolveOptions, dimension: usize, spare: usize) -> usize {
    let sizes = Sizes::new(options, dimension, spare);
    sizes.vectors() - vectors(options, dimension)
}

/// Sizes of one search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    /// Requested states plus guard vectors.
    pub columns: usize,
    /// The largest basis; at least three per column.
    pub capacity: usize,
}

impl Sizes {
    /// The largest that fits in addition to the minimum.
    pub(super) fn new(options: &SolveOptions, dimension: usize, spare: usize) -> Sizes {
        let columns = options.columns(dimension);
        let most = MOST.max(MOST_A_COLUMN * columns).min(dimension);
        let fits =
            |capacity: &usize| Sizes { columns, capacity: *capacity }.vectors() <= vectors(options, dimension) + spare;
        let capacity = (3 * columns..=most).rev().find(fits).unwrap_or(3 * columns);
        Sizes { columns, capacity }
    }

    /// Ritz vectors that a collapse keeps, the lowest: a quarter of the basis, so that information on higher states is
    /// not lost at every collapse.
    pub(super) fn ritz(&self) -> usize {
        self.columns.max(self.capacity / 4)
    }

    /// Vectors left after a collapse: those, and the former Ritz vectors of each column.
    pub(super) fn after_collapse(&self) -> usize {
        self.ritz() + self.columns
    }

    /// V, A V and what they are combined into.
    fn vectors(&self) -> usize {
        2 * self.capacity + self.after_collapse()
    }
}
