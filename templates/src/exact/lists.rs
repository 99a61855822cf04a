//! The lists of a multiply with columns in shared memory (`staged`): what the plan knows of them.

use super::elements::{ElementList, IndexWord, UP_ZEROS};
use serde::{Deserialize, Serialize};

/// The lists of a model: lengths of the tables, and what of them the text needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ColumnLists {
    /// Columns of each class; of complex vectors pairs of them.
    pub classes: Vec<u64>,
    /// Whether columns come in pairs, of real and imaginary parts, and amplitudes are complex.
    pub complex: bool,
    /// Rows of the longest column.
    pub longest: u64,
    /// Slices of a warp of rows, of all classes together.
    pub slices: u64,
    /// Elements within the low part: places in the column.
    pub low: ElementList,
    /// Elements that leave the low part alone: places of columns in x.
    pub whole: ElementList,
    /// Elements across: places of columns in x, to which the factor adds a row.
    pub cross: ElementList,
    /// Distinct factors of the elements across.
    pub factors: u64,
    /// Type of a factor's rows: the top bit is a sign, all other bits set mean that the factor gives zero.
    pub factor_word: IndexWord,
    /// Whether some factor has signs.
    pub factor_signs: bool,
}

impl ColumnLists {
    /// Columns.
    pub(super) fn columns(&self) -> u64 {
        self.classes.iter().sum::<u64>() * u64::from(self.together())
    }

    /// Columns that are always together.
    pub fn together(&self) -> u32 {
        if self.complex { 2 } else { 1 }
    }

    /// Columns of real numbers, or pairs of them, that a task of `columns` columns takes.
    pub fn taken(&self, columns: u32) -> u32 {
        (columns / self.together()).max(1)
    }

    /// Tasks of blocks that take this many columns of a class at a time.
    pub fn tasks(&self, columns: u32) -> u64 {
        self.classes.iter().map(|of_class| of_class.div_ceil(u64::from(self.taken(columns)))).sum()
    }

    /// Elements from one column to the next in shared memory: the longest and its zeros.
    pub(super) fn stride(&self) -> u64 {
        self.longest + UP_ZEROS
    }

    /// Shared memory of a block.
    pub fn shared_bytes(&self, columns: u32, value_bytes: u64) -> u64 {
        u64::from(columns) * self.stride() * value_bytes
    }
}
