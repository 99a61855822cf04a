//! Classes of strings: one class for a space of all irreps, otherwise one per irrep.

use super::super::space::{self, Space};
use super::super::strings::Occupation;

/// Most irreps, and classes of strings.
pub(super) const IRREPS: usize = 8;

/// The strings' irreps from 0 if the space has a single irrep; otherwise one class for all.
pub(super) struct Classes {
    pub irreps: Option<Vec<u8>>,
    pub wanted: u8,
}

impl Classes {
    pub(super) fn new(space: &Space) -> Classes {
        let irreps = space.irreps().map(<[u8]>::to_vec);
        let wanted = irreps.as_ref().map_or(0, |irreps| space::irrep_of(irreps, space.determinant(0)) - 1);
        Classes { irreps, wanted }
    }

    /// Classes: 1, or one per irrep.
    pub(super) fn count(&self) -> usize {
        if self.irreps.is_some() { IRREPS } else { 1 }
    }

    /// Class of a string.
    pub(super) fn class(&self, word: Occupation) -> usize {
        self.irreps.as_ref().map_or(0, |irreps| usize::from(space::irrep_of(irreps, (word, 0)) - 1))
    }

    /// Class of the β strings paired with an α string.
    pub(super) fn partner(&self, word: Occupation) -> usize {
        self.class(word) ^ usize::from(self.wanted)
    }

    /// Target class of a move of this irrep.
    pub(super) fn moved(&self, class: usize, irrep: usize) -> usize {
        if self.irreps.is_some() { class ^ irrep } else { class }
    }
}
