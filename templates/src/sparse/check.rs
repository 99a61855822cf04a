//! Checks that the text can be written for a plan. A plan may come from a file.

use super::{ColumnWord, DictionaryPlan, PartPlan, RowStorage, SparsePlan};

/// An inconsistent plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SparsePlanError {
    /// An invalid number.
    #[error("the plan of {name} has {what} = {found}; it must be {expected}")]
    Number {
        /// The matrix.
        name: String,
        /// Name of the field.
        what: String,
        /// Its value.
        found: u64,
        /// The allowed values.
        expected: &'static str,
    },
    /// The upper triangle combined with something its kernels do not support.
    #[error(
        "the plan of {name} stores the upper triangle of a symmetric matrix; that takes real numbers, one part, one vector, absolute \
         columns counted from 0, and no window of x in shared memory"
    )]
    Half {
        /// The matrix.
        name: String,
    },
    /// A plan without parts.
    #[error("the plan of {name} has no parts; even a matrix without non-zeros has an empty one")]
    NoParts {
        /// The matrix.
        name: String,
    },
}

/// Local rows of a block have 15 bits, with one number for "none", and a bit for "nothing in this part".
pub(super) const MOST_BLOCK_ROWS: u32 = 32_736;

/// Most real numbers of a row of x: sums of all of them are in registers.
const MOST_WIDTH: u64 = 8;

impl SparsePlan {
    /// Returns an error that names the first invalid number.
    pub fn check(&self) -> Result<(), SparsePlanError> {
        let refuse = |what: &str, found: u64, expected| {
            Err(SparsePlanError::Number { name: self.name.clone(), what: what.into(), found, expected })
        };
        let warp = self.warp.lanes();
        if self.rows > u64::from(u32::MAX) {
            return refuse("rows", self.rows, "below 2^32, for columns are 32 bits wide");
        }
        if !(1..=8).contains(&self.vectors) {
            return refuse("vectors", u64::from(self.vectors), "1 to 8");
        }
        if u64::from(self.width()) > MOST_WIDTH {
            return refuse("vectors", u64::from(self.vectors), "at most 4 of complex numbers, 2 of quaternions");
        }
        let coded = self.parts.iter().any(|part| part.columns == ColumnWord::Coded32);
        let room = self.dictionary.map(|DictionaryPlan { numbers, column_bits }| {
            let (columns, codes) = (1u64 << column_bits.min(32), 1u64 << 32u32.saturating_sub(column_bits));
            self.rows <= columns && (1..=codes).contains(&u64::from(numbers))
        });
        if room != coded.then_some(true) {
            let found = self.dictionary.map_or(0, |dictionary| u64::from(dictionary.numbers));
            return refuse(
                "dictionary.numbers",
                found,
                "those that codes have bits for beside the columns; none without codes",
            );
        }
        if self.threads == 0 || !self.threads.is_multiple_of(warp) || self.threads > 1024 {
            return refuse("threads", u64::from(self.threads), "whole warps, at most 1024");
        }
        if self.block_rows == 0 || !self.block_rows.is_multiple_of(warp) || self.block_rows > MOST_BLOCK_ROWS {
            return refuse("block_rows", u64::from(self.block_rows), "whole warps of rows, at most 32,736");
        }
        if u64::from(self.blocks) * u64::from(self.block_rows) < self.rows {
            return refuse("blocks", u64::from(self.blocks), "enough for all rows at block_rows each");
        }
        if let Some(halo) = self.halo {
            if !(2..=self.blocks).contains(&halo.cards) {
                return refuse("halo.cards", u64::from(halo.cards), "several, and no more than blocks");
            }
            let end = |part: &PartPlan| u64::from(part.first_column) + u64::from(part.staged);
            if halo.room < halo.most.max(self.parts.iter().map(end).max().unwrap_or(0)) {
                return refuse("halo.room", halo.room, "enough for what a card collects, and for windows of x");
            }
            if self.is_half() {
                return refuse("halo.cards", u64::from(halo.cards), "left out for half of a symmetric matrix");
            }
        }
        if self.parts.is_empty() {
            return Err(SparsePlanError::NoParts { name: self.name.clone() });
        }
        for (number, part) in self.parts.iter().enumerate() {
            let field = |name: &str| format!("parts[{number}].{name}");
            if !part.lanes.is_power_of_two() || part.lanes > warp {
                return refuse(&field("lanes"), u64::from(part.lanes), "a power of two, at most a warp");
            }
            if ![1, 2, 4].contains(&part.pack) {
                return refuse(&field("pack"), u64::from(part.pack), "1, 2 or 4");
            }
            let end = u64::from(part.first_column) + u64::from(part.staged);
            if end > self.rows {
                return refuse(&field("staged"), u64::from(part.staged), "a window within x");
            }
            if part.storage == RowStorage::UpperCsr {
                let alone = self.parts.len() == 1 && self.vectors == 1;
                let absolute = matches!(part.columns, ColumnWord::Absolute16 | ColumnWord::Absolute32);
                let plain = part.staged == 0 && part.first_column == 0 && absolute;
                if !alone || !plain || !self.numbers.is_real() {
                    return Err(SparsePlanError::Half { name: self.name.clone() });
                }
            }
            if let RowStorage::Ell { steps } = part.storage {
                let packs = self.slots() * u64::from(part.lanes) * u64::from(steps);
                if part.packs != packs {
                    return refuse(&field("packs"), part.packs, "rows, filled up to whole warps, x lanes x steps");
                }
            }
        }
        Ok(())
    }
}
