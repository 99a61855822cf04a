//! Memory of several cards under one range of addresses: card k of n holds the k-th part, so that a kernel reads and writes a
//! vector as if it were in one memory.
//!
//! CUDA's virtual memory management maps the physical memory of each card into the range and opens it to all of them. Parts end
//! where a page ends, so they are equal up to a page.

use super::context::{Context, driver};
use super::mapping::{Piece, granularity, reserve};
use crate::error::Result;
use cudarc::driver::sys;
use std::sync::Arc;

/// Addresses with a part on every card.
pub(super) struct Striped {
    base: u64,
    room: usize,
    /// Physical memory in the order of addresses: that of the leader, of card 1, and so on.
    pieces: Vec<Piece>,
    context: Arc<Context>,
}

impl Striped {
    /// Memory for `bytes` bytes on all cards of the leader's team; `None` where there are no others, or no whole page for each.
    pub(super) fn new(leader: &Arc<Context>, bytes: usize) -> Result<Option<Striped>> {
        let Some(team) = leader.team() else { return Ok(None) };
        let page = granularity(leader)?;
        let (cards, pages) = (team.cards(), bytes.div_ceil(page));
        if pages < cards {
            return Ok(None);
        }
        let users: Vec<_> = (0..cards).map(|card| leader.card(card).device()).collect();
        leader.enter()?;
        let base = reserve(pages * page)?;
        let mut striped =
            Striped { base, room: pages * page, pieces: Vec::with_capacity(cards), context: leader.clone() };
        for card in 0..cards {
            let [first, end] = [card, card + 1].map(|card| pages * card / cards * page);
            // What was mapped before a failure is given back when `striped` is dropped.
            striped.pieces.push(Piece::map(base + first as u64, end - first, leader.card(card), &users)?);
        }
        Ok(Some(striped))
    }

    /// The first address.
    pub(super) fn base(&self) -> u64 {
        self.base
    }

    /// The range of bytes on each card, in the order of the cards; the last ends with the whole pages.
    pub(super) fn parts(&self) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
        self.pieces.iter().scan(0, |first, piece| {
            let start = *first;
            *first += piece.bytes();
            Some(start..*first)
        })
    }
}

impl Drop for Striped {
    fn drop(&mut self) {
        // Queued kernels may still use it: `enter` has the leader's stream wait for the other cards.
        if self.context.enter().is_err() || self.context.synchronize().is_err() {
            return;
        }
        let mut address = self.base;
        for piece in &self.pieces {
            piece.unmap(address);
            address += piece.bytes() as u64;
        }
        // SAFETY: reserved in `new`, and nothing is mapped any more.
        let _ = unsafe { sys::cuMemAddressFree(self.base, self.room) }.result().map_err(driver("cuMemAddressFree"));
    }
}
