//! Checks that the text can be written for a plan. A plan may come from a file.

use super::FullCiPlan;
use crate::exact::IndexWord;

/// An inconsistent plan, or a problem too large for the text's numbers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the plan of {name} has {what} = {found}; it must be {expected}")]
pub struct FullCiPlanError {
    /// The problem.
    pub name: String,
    /// Name of the number.
    pub what: &'static str,
    /// Its value.
    pub found: u64,
    /// The allowed values.
    pub expected: &'static str,
}

impl FullCiPlan {
    /// Returns an error that names the first invalid number.
    pub fn check(&self) -> Result<(), FullCiPlanError> {
        let refuse =
            |what, found: u64, expected| Err(FullCiPlanError { name: self.name.clone(), what, found, expected });
        if self.threads == 0 || !self.threads.is_multiple_of(self.warp.lanes()) || self.threads > 1024 {
            return refuse("threads", u64::from(self.threads), "whole warps, at most 1024");
        }
        if !(1..=16).contains(&self.pair_tile) {
            return refuse("pair_tile", u64::from(self.pair_tile), "1 to 16");
        }
        if !(1..=4).contains(&self.columns) {
            return refuse("columns", u64::from(self.columns), "1 to 4");
        }
        if self.chunk == 0 || self.chunk > 1024 {
            return refuse("chunk", u64::from(self.chunk), "1 to 1024");
        }
        if ![1, 2, 4, 8].contains(&self.irreps) {
            return refuse("irreps", u64::from(self.irreps), "1, 2, 4 or 8");
        }
        if self.classes.len() != 1 && self.classes.len() != 8 {
            return refuse("classes", self.classes.len() as u64, "one class, or one for each of 8 irreps");
        }
        if self.orbitals > 180 {
            return refuse("orbitals", u64::from(self.orbitals), "at most 180, for pairs are 15-bit numbers");
        }
        if let Some(group) = self.groups.iter().find(|group| group.irrep >= self.irreps || group.pairs == 0) {
            return refuse("irrep of a group", u64::from(group.irrep), "below irreps, in a group that is not empty");
        }
        let pairs: u64 = self.groups.iter().map(|group| u64::from(group.pairs)).sum();
        if pairs != self.pairs() {
            return refuse("pairs of all groups", pairs, "orbitals (orbitals + 1) / 2");
        }
        if self.field() >= self.most_field() {
            return refuse("field", self.field(), "below 2^31, or 2^15 where links are 16 bits wide");
        }
        if self.place == IndexWord::U16 && self.widest() > 1 << 16 {
            return refuse("strings of a class", self.widest(), "at most 65,536 where places are 16 bits wide");
        }
        if self.counts.link_steps.max(self.counts.beta_same_steps) > u64::from(u32::MAX) {
            return refuse("steps", self.counts.link_steps.max(self.counts.beta_same_steps), "below 2^32");
        }
        Ok(())
    }

    /// First index that a link cannot hold.
    fn most_field(&self) -> u64 {
        if self.link == IndexWord::U16 { 1 << 15 } else { 1 << 31 }
    }
}
