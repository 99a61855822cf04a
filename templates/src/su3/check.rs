//! Checks that the text can be written for a plan. A plan may come from a file.

use super::plan::{SLAB_THREADS, TransformPlan};
use super::tables::LAYOUT;

/// An inconsistent plan, or a problem too large for the text's numbers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the plan of {name} has {what} = {found}; it must be {expected}")]
pub struct TransformPlanError {
    /// The problem.
    pub name: String,
    /// Name of the number.
    pub what: String,
    /// Its value.
    pub found: u64,
    /// The allowed values.
    pub expected: &'static str,
}

impl TransformPlan {
    /// Returns an error that names the first invalid number.
    pub fn check(&self) -> Result<(), TransformPlanError> {
        let refuse = |what: &str, found: u64, expected| {
            Err(TransformPlanError { name: self.name.clone(), what: what.into(), found, expected })
        };
        if !(1..=3).contains(&self.channels) {
            return refuse("channels", u64::from(self.channels), "1 to 3");
        }
        if self.n_max > 250 {
            return refuse("n_max", u64::from(self.n_max), "at most 250, for labels of irreps are 8-bit numbers");
        }
        if self.widest == 0 || self.widest >= 0xffff {
            return refuse("widest", u64::from(self.widest), "1 to 65,534, for columns are 16-bit numbers");
        }
        if self.counts.slabs > u64::from(u32::MAX) || self.counts.tiles > u64::from(u32::MAX) {
            return refuse("slabs or tiles", self.counts.slabs.max(self.counts.tiles), "below 2^32");
        }
        for class in &self.slabs {
            let threads = u64::from(class.threads);
            if class.threads == 0 || !class.threads.is_multiple_of(self.warp.lanes()) || class.threads > SLAB_THREADS {
                return refuse("threads of a slab", threads, "whole warps, at most 256");
            }
        }
        for class in &self.tiles {
            let fits = |tile: u32, part: u32| part > 0 && tile.is_multiple_of(part) && tile > 0 && tile <= 64;
            if !fits(class.rows, class.deep) || !fits(class.columns, class.wide) {
                return refuse("rows of a tile", u64::from(class.rows), "at most 64, a multiple of what a thread sums");
            }
            if !class.threads().is_multiple_of(self.warp.lanes()) {
                return refuse("threads of a tile", u64::from(class.threads()), "whole warps");
            }
        }
        let factors = 6 * self.l_count() * 15;
        if self.spin_factors.len() as u64 != factors {
            return refuse("spin_factors", self.spin_factors.len() as u64, "90 for each L");
        }
        for (name, _, _) in LAYOUT.iter().filter(|_| !self.layout.is_empty()) {
            let found = self.layout.iter().find(|table| table.name == *name).map_or(0, |table| table.values.len());
            if found as u64 != self.layout_length(name) {
                return refuse(name, found as u64, "as long as the counts say");
            }
        }
        Ok(())
    }
}
