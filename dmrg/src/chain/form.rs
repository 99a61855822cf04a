//! The form of a block's operators in H x: which products of matrices the records of a bond are.
//!
//! In: the operator sum of a chain, or a choice. Out: whether an operator of block and site is summed into one matrix, and whether these
//! stand side by side. The paper compares two forms (Nemes, Barcza, Nagy, Legeza and Szolgay 2014, section 4); in runs of users each
//! operator takes the one that is predicted to be quicker, or all stand side by side where they are many. The other forms are for
//! `eigenforge bench` and tests.

use super::operator_sum::OperatorSum;

/// Operators of a cut from which on they stand side by side.
const MANY: usize = 100;

/// How H of a bond is written as products. The result is the same but for rounding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SuperblockForm {
    /// Operator by operator what takes fewer operations, where each product counts as some more; identities are noticed.
    #[default]
    Planned,
    /// Two enlarged blocks (equation 9): each operator of block and site is one dense matrix a pair of sectors, as in the
    /// paper's runs. Identities are multiplied by as well, except that of the whole block.
    LeftRight,
    /// Two blocks and two sites (equation 12): an operator of block and site stays matrices of the block, placed where the site's
    /// elements put them.
    FourParts,
    /// Two enlarged blocks whose operators of one change of charges stand side by side, for chains of many operators.
    Bundled,
}

impl SuperblockForm {
    /// All of them.
    pub const ALL: [SuperblockForm; 4] =
        [SuperblockForm::Planned, SuperblockForm::LeftRight, SuperblockForm::FourParts, SuperblockForm::Bundled];

    /// That of a chain's runs.
    pub(crate) fn planned_for(sum: &OperatorSum) -> SuperblockForm {
        if sum.width() >= MANY { SuperblockForm::Bundled } else { SuperblockForm::Planned }
    }

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            SuperblockForm::Planned => "planned",
            SuperblockForm::LeftRight => "LR",
            SuperblockForm::FourParts => "l-1-1-r",
            SuperblockForm::Bundled => "side by side",
        }
    }
}
