//! Pairs of nucleons, and one vector per pair.

use super::csv::TableError;
use super::space::{OscillatorSpace, ShellPair};
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

/// The numbers of a table of labels as its rows are read: a vector for each channel that occurs, NaN where no row has a number.
pub(super) struct TableNumbers {
    length: usize,
    vectors: [Option<Vec<f64>>; Channel::ALL.len()],
    /// The most quanta in any row.
    largest: Option<u32>,
    left_out: usize,
}

impl TableNumbers {
    /// Of vectors of this length.
    pub(super) fn new(length: usize) -> TableNumbers {
        TableNumbers { length, vectors: Default::default(), largest: None, left_out: 0 }
    }

    /// Takes the number of a row with these pairs of shells, whose place is `None` beyond the space; false if an earlier row had it.
    pub(super) fn take(&mut self, channel: Channel, pairs: [ShellPair; 2], place: Option<usize>, value: f64) -> bool {
        self.largest = self.largest.max(Some(pairs[0].quanta().max(pairs[1].quanta())));
        let Some(place) = place else {
            self.left_out += 1;
            return true;
        };
        let vector = self.vectors[channel as usize].get_or_insert_with(|| vec![f64::NAN; self.length]);
        let is_new = vector[place].is_nan();
        vector[place] = value;
        is_new
    }

    /// All numbers of the table.
    ///
    /// # Errors
    ///
    /// A table without rows, or one that ends below N_max.
    pub(super) fn finish(self, path: &Path, space: OscillatorSpace) -> Result<ByChannel, TableError> {
        let found = self.largest.ok_or_else(|| TableError::Empty { path: path.to_path_buf() })?;
        if found < space.quanta_max() {
            return Err(TableError::Truncation { path: path.to_path_buf(), n_max: space.n_max, found });
        }
        let there = Channel::ALL.into_iter().zip(self.vectors);
        let vectors = there.filter_map(|(channel, vector)| Some((channel, vector?))).collect();
        Ok(ByChannel { vectors, left_out: self.left_out })
    }
}

/// Checks that no number of a channel is missing; `labels` says what stands in a place.
///
/// # Errors
///
/// The first that is missing.
pub(super) fn check_complete(
    path: &Path,
    space: OscillatorSpace,
    (channel, vector): (Channel, &[f64]),
    labels: impl Fn(usize) -> String,
) -> Result<(), TableError> {
    let Some(first) = vector.iter().position(|value| value.is_nan()) else { return Ok(()) };
    Err(TableError::Missing {
        path: path.to_path_buf(),
        channel: channel.word(),
        count: vector.iter().filter(|value| value.is_nan()).count(),
        of: vector.len(),
        labels: labels(first),
        n_max: space.n_max,
    })
}
