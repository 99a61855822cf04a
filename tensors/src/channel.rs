//! Pairs of nucleons, and one vector per pair.

use super::csv::TableError;
use super::plan::Plan;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The kind of nucleons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Channel {
    /// A proton, left, and a neutron, right.
    Pn,
    /// Two protons.
    Pp,
    /// Two neutrons.
    Nn,
}

impl Channel {
    /// In the order of files.
    pub const ALL: [Channel; 3] = [Channel::Pn, Channel::Pp, Channel::Nn];

    /// Its name in files.
    pub fn word(self) -> &'static str {
        match self {
            Channel::Pn => "pn",
            Channel::Pp => "pp",
            Channel::Nn => "nn",
        }
    }

    /// From its name in files.
    pub(super) fn from_word(word: &str) -> Option<Channel> {
        Channel::ALL.into_iter().find(|channel| channel.word() == word)
    }
}

/// One vector in the layout of a plan for each channel of a file, channels in the order of [`Channel::ALL`].
#[derive(Debug, Clone, PartialEq)]
pub struct ByChannel {
    /// The channels and their vectors.
    pub vectors: Vec<(Channel, Vec<f64>)>,
    /// Rows of the file beyond N_max, which are ignored.
    pub left_out: usize,
}

impl ByChannel {
    /// From a table of labels: a vector for each channel that occurs; `largest` is the most quanta in any row.
    ///
    /// # Errors
    ///
    /// A table without rows, or one that ends below the plan's N_max.
    pub(super) fn of_table(
        path: &Path,
        plan: &Plan,
        vectors: Vec<Option<Vec<f64>>>,
        largest: Option<u32>,
        left_out: usize,
    ) -> Result<ByChannel, TableError> {
        let largest = largest.ok_or_else(|| TableError::Empty { path: path.to_path_buf() })?;
        if largest < plan.space().quanta_max() {
            return Err(TableError::Truncation { path: path.to_path_buf(), n_max: plan.n_max, found: largest });
        }
        let there = Channel::ALL.into_iter().zip(vectors);
        let vectors = there.filter_map(|(channel, vector)| Some((channel, vector?))).collect();
        Ok(ByChannel { vectors, left_out })
    }
}
