//! One rank's part of every vector of a device, and what the ranks of a device find out together.

use super::capacity::Memory;
use super::card_links::CardLinks;
use crate::error::Result;
use crate::ranks::{Ranks, equal};
use std::ops::Range;
use std::sync::Arc;

/// One rank's part.
#[derive(Clone)]
pub(crate) struct Part {
    ranks: Arc<Ranks>,
    /// Where vectors of the length that it ends with are cut; empty where all are cut into equal shares.
    bounds: Vec<usize>,
    /// Ranks that share the memory that this one computes in, this one included.
    sharing: usize,
    /// From card to card, where each rank has one.
    links: Option<Arc<CardLinks>>,
}

impl Part {
    /// Equal shares, of ranks of which so many share a memory.
    pub(super) fn new(ranks: &Arc<Ranks>, sharing: usize) -> Part {
        Part { ranks: ranks.clone(), bounds: Vec::new(), sharing: sharing.max(1), links: None }
    }

    /// The same with vectors of one length cut at these places.
    pub(super) fn cut_at(&self, bounds: Vec<usize>) -> Part {
        Part { bounds, ..self.clone() }
    }

    /// The same with links from card to card.
    pub(super) fn linked(&self, links: CardLinks) -> Part {
        Part { links: Some(Arc::new(links)), ..self.clone() }
    }

    /// Links from card to card.
    pub(super) fn links(&self) -> Option<&Arc<CardLinks>> {
        self.links.as_ref()
    }

    /// The ranks that it is one of.
    pub(super) fn ranks(&self) -> &Arc<Ranks> {
        &self.ranks
    }

    /// Where a vector of so many elements is cut.
    pub(super) fn bounds(&self, length: usize) -> Vec<usize> {
        match self.bounds.last() == Some(&length) {
            true => self.bounds.clone(),
            false => equal(length, self.ranks.count()),
        }
    }

    /// The elements of a vector of so many that are here.
    pub(super) fn local_range(&self, length: usize) -> Range<usize> {
        let (bounds, rank) = (self.bounds(length), self.ranks.rank());
        bounds[rank]..bounds[rank + 1]
    }

    /// The memory that all ranks have together, as if each had what the poorest has; `here` is what the ranks that share this one's have.
    pub(super) fn memory(&self, here: Memory) -> Memory {
        let share = |bytes: u64| -> Result<f64> {
            let own = bytes / self.sharing as u64;
            Ok(-self.ranks.largest("memory", -(own as f64))? * self.ranks.count() as f64)
        };
        // Ranks that no longer work together have nothing; the next step says why.
        let [free, total] = [here.free, here.total].map(|bytes| share(bytes).unwrap_or(0.0) as u64);
        Memory { free, total }
    }

    /// The longest time of all ranks.
    pub(super) fn longest(&self, milliseconds: f64) -> Result<f64> {
        self.ranks.largest("time", milliseconds)
    }
}
