//! Elements or strengths, one group of quadruples at a time, from any source.
//!
//! In: a group of the plan. Out: its numbers, one vector per channel. What does not fit into memory at once is read or
//! computed on demand: [`super::binary`] files by position, relative motion by rotation; tables of text are held in
//! memory.

use super::channel::{ByChannel, Channel};
use super::csv::TableError;
use super::plan::{Group, Plan};
use super::rotation::RotatedElements;

/// A source of numbers by group.
pub trait TensorSource: Send + Sync {
    /// The channels, in the order of the vectors.
    fn channels(&self) -> Vec<Channel>;

    /// Numbers of a group in the plan's layout, from the group's start.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or a number is not finite.
    fn group(&self, group: &Group) -> Result<Vec<Vec<f64>>, TableError>;

    /// Rows beyond N_max, which are ignored.
    fn left_out(&self) -> usize {
        0
    }

    /// Bytes held permanently.
    fn resident(&self) -> u64;

    /// How the numbers are obtained, in words.
    fn describe(&self) -> &'static str;
}

impl TensorSource for ByChannel {
    fn channels(&self) -> Vec<Channel> {
        self.vectors.iter().map(|(channel, _)| *channel).collect()
    }

    fn group(&self, group: &Group) -> Result<Vec<Vec<f64>>, TableError> {
        Ok(self.vectors.iter().map(|(_, vector)| vector[group.start..][..group.length].to_vec()).collect())
    }

    fn left_out(&self) -> usize {
        self.left_out
    }

    fn resident(&self) -> u64 {
        self.vectors.iter().map(|(_, vector)| 8 * vector.len() as u64).sum()
    }

    fn describe(&self) -> &'static str {
        "held in memory"
    }
}

/// Elements of an interaction with other terms of a Hamiltonian added to each of its channels.
pub(super) struct HamiltonianElements {
    pub interaction: Box<dyn TensorSource>,
    pub terms: RotatedElements,
}

impl TensorSource for HamiltonianElements {
    fn channels(&self) -> Vec<Channel> {
        self.interaction.channels()
    }

    fn group(&self, group: &Group) -> Result<Vec<Vec<f64>>, TableError> {
        let mut numbers = self.interaction.group(group)?;
        let terms = self.terms.group(group)?;
        for (channel, vector) in self.channels().into_iter().zip(&mut numbers) {
            vector.iter_mut().zip(&terms[channel as usize]).for_each(|(sum, term)| *sum += term);
        }
        Ok(numbers)
    }

    fn left_out(&self) -> usize {
        self.interaction.left_out()
    }

    fn resident(&self) -> u64 {
        self.interaction.resident() + self.terms.resident()
    }

    fn describe(&self) -> &'static str {
        self.interaction.describe()
    }
}

impl ByChannel {
    /// All numbers of a plan at once.
    ///
    /// # Errors
    ///
    /// Errors of the source.
    pub fn of_source(plan: &Plan, source: &dyn TensorSource) -> Result<ByChannel, TableError> {
        let channels = source.channels();
        let mut vectors = vec![Vec::with_capacity(plan.length); channels.len()];
        for group in &plan.groups {
            for (all, part) in vectors.iter_mut().zip(source.group(group)?) {
                all.extend(part);
            }
        }
        Ok(ByChannel { vectors: channels.into_iter().zip(vectors).collect(), left_out: source.left_out() })
    }
}
