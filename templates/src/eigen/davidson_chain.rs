//! Davidson's sweeps over V for one chain: their plan, text and launches.
//!
//! In: the largest vector of the chain's settled bonds, a number of columns of [F V]. Out: a text with four kernels in which that number
//! and the distance between columns are constants. They compute what the kernels of the same names in [`DavidsonPlan`]'s text do, to the
//! last bit. Each number of columns has a text of its own, so that the first is there while the others compile.

use super::davidson::{DavidsonPlan, Extent};
use crate::files;
use crate::launch::{Launch, LaunchError};
use crate::prototype::{Declarations, Prototype, entries};
use crate::text::{KernelText, TextError, render};
use serde::{Deserialize, Serialize};

/// Registers of a thread at most.
const MOST_REGISTERS: usize = 255;
/// Registers of the widest sweep, `corrected`, for each column (a sum, an element of the row, a load on its way) and for all else: above what
/// the compiler takes for up to 23 columns on sm_80 to sm_100; with 40 it spills.
const REGISTERS_OF_COLUMN: usize = 8;
const OTHER_REGISTERS: usize = 64;
/// Most columns with which two blocks of threads share a multiprocessor, as many as there are of a long vector.
const MOST_OF_TWO_BLOCKS: usize = 10;

/// Every number in the text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DavidsonChainPlan {
    /// The plan of the text for every chain, which has the other kernels.
    pub general: DavidsonPlan,
    /// Elements from one column to the next.
    pub stride: usize,
    /// Columns of F and V together; of V for `combined`.
    pub columns: usize,
}

#[derive(Serialize)]
struct View<'a> {
    plan: &'a DavidsonPlan,
    stride: usize,
    columns: usize,
    /// Blocks per multiprocessor that the registers are limited to.
    blocks: usize,
    prelude: String,
    kernels: Declarations,
}

impl DavidsonChainPlan {
    /// The names of the kernels.
    pub const ENTRIES: [&str; 4] = ["projected", "corrected", "orthogonalised", "combined"];

    /// A plan for each number of columns up to the width of the basis, for settled bonds of at most `elements` elements. A number that a
    /// thread's registers cannot hold has none.
    pub fn all(general: &DavidsonPlan, elements: usize) -> Vec<DavidsonChainPlan> {
        let plan =
            |columns| DavidsonChainPlan { general: general.clone(), stride: elements.next_multiple_of(32), columns };
        (1..=general.width).map(plan).filter(DavidsonChainPlan::fits).collect()
    }

    /// Whether the registers of a thread hold a row of this many columns and its sums.
    fn fits(&self) -> bool {
        REGISTERS_OF_COLUMN * self.columns + OTHER_REGISTERS <= MOST_REGISTERS
    }

    /// Elements up to which a thread of a sweep has one element at most. There a sweep's time is that of its start and of its sums, which a
    /// text of its own does not change.
    pub fn least_elements(general: &DavidsonPlan) -> usize {
        (general.blocks(usize::MAX) * u64::from(general.threads)) as usize
    }

    fn kernel(&self, entry: &str, extent: Extent) -> Prototype {
        self.general.kernel(entry, Extent { stride: self.stride, ..extent }, true)
    }

    /// The CUDA text.
    ///
    /// # Errors
    /// The template cannot be rendered.
    pub fn text(&self) -> Result<KernelText, TextError> {
        let DavidsonChainPlan { general, stride, columns } = self;
        // Lengths do not show in a text.
        let extent = Extent { n: 1, stride: 1, width: 1, below: 0 };
        let kernels = DavidsonChainPlan::ENTRIES.map(|entry| self.kernel(entry, extent));
        let view = View {
            plan: general,
            stride: *stride,
            columns: *columns,
            blocks: if *columns <= MOST_OF_TWO_BLOCKS { 2 } else { 1 },
            prelude: general.warp.prelude(),
            kernels: kernels.iter().collect(),
        };
        let text = render(files::DAVIDSON_CHAIN, &view)?;
        let name = format!("{}_davidson_chain_{columns}", general.name);
        Ok(KernelText { name, text, plan: crate::text::ron(self), entries: entries(&kernels) })
    }

    /// The columns that a kernel's text is for: `combined` reads those of the search alone, `orthogonalised` counts all as its width.
    /// `None` for a kernel that only the text for every chain has.
    pub fn columns_of(entry: &str, extent: Extent) -> Option<usize> {
        match entry {
            "combined" | "orthogonalised" => Some(extent.width),
            "projected" | "corrected" => Some(extent.below + extent.width),
            _ => None,
        }
    }

    /// The launch of a kernel, one of [`DavidsonChainPlan::ENTRIES`], for the columns and the distance of this plan.
    ///
    /// # Errors
    /// Never fails for lengths below 2⁶³.
    pub fn launch(&self, entry: &str, extent: Extent) -> Result<Launch, LaunchError> {
        self.kernel(entry, extent).launch(self.general.blocks(extent.n), self.general.threads, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_registers_cannot_hold_have_no_text() {
        let plans = DavidsonChainPlan::all(&DavidsonPlan { width: 60, ..DavidsonPlan::new("test") }, 1000);
        let columns: Vec<usize> = plans.iter().map(|plan| plan.columns).collect();
        assert_eq!((columns, plans[0].stride), ((1..24).collect(), 1024));
        assert_eq!(plans[4].text().unwrap().name, "test_davidson_chain_5");
    }

    #[test]
    fn a_launch_counts_the_columns_that_its_sweep_reads() {
        let columns = |entry| DavidsonChainPlan::columns_of(entry, Extent { n: 9, stride: 32, width: 3, below: 2 });
        let found = DavidsonPlan::ENTRIES.map(columns);
        assert_eq!(found, [Some(5), Some(5), None, Some(3), None, Some(3), None]);
    }
}
