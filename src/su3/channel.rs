//! Pairs of nucleons, and one vector a pair.

use serde::{Deserialize, Serialize};

/// Which nucleons.
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

    /// As files have it.
    pub fn word(self) -> &'static str {
        match self {
            Channel::Pn => "pn",
            Channel::Pp => "pp",
            Channel::Nn => "nn",
        }
    }

    /// From a file's word.
    pub fn from_word(word: &str) -> Option<Channel> {
        Channel::ALL.into_iter().find(|channel| channel.word() == word)
    }
}

/// A vector in the layout of a plan for each channel that a file has, channels in the order of [`Channel::ALL`].
#[derive(Debug, Clone, PartialEq)]
pub struct ByChannel {
    /// The channels and their vectors.
    pub vectors: Vec<(Channel, Vec<f64>)>,
    /// Rows of the file beyond N_max, left out.
    pub left_out: usize,
}
