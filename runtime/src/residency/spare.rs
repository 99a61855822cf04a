//! Memory that was used before and is kept for reuse, because allocating it takes longer than using it.

use super::locked;
use std::sync::Mutex;

/// Pieces of memory that nobody uses.
pub(crate) struct Spare<M> {
    pieces: Mutex<Vec<M>>,
}

impl<M> Default for Spare<M> {
    fn default() -> Spare<M> {
        Spare { pieces: Mutex::default() }
    }
}

impl<M> Spare<M> {
    /// The shortest piece of at least `length` elements, if there is one; `len` gives the elements of a piece.
    pub(crate) fn take(&self, length: usize, len: impl Fn(&M) -> usize) -> Option<M> {
        let mut pieces = locked(&self.pieces);
        let fits = (0..pieces.len()).filter(|k| len(&pieces[*k]) >= length).min_by_key(|k| len(&pieces[*k]));
        fits.map(|k| pieces.swap_remove(k))
    }

    /// Keeps pieces for the next use.
    pub(crate) fn give_back(&self, pieces: impl IntoIterator<Item = M>) {
        locked(&self.pieces).extend(pieces);
    }

    /// Releases the shortest piece; `len` gives the elements of a piece.
    pub(crate) fn drop_shortest(&self, len: impl Fn(&M) -> usize) {
        let mut pieces = locked(&self.pieces);
        if let Some(shortest) = (0..pieces.len()).min_by_key(|k| len(&pieces[*k])) {
            let shortest = pieces.swap_remove(shortest);
            drop(pieces);
            drop(shortest);
        }
    }

    /// Releases all pieces.
    pub(crate) fn clear(&self) {
        locked(&self.pieces).clear();
    }
}
