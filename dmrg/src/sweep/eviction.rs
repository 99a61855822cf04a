//! Buffers that a sweep does not need for a while: blocks that it has passed, and kept states away from its bond.
//!
//! A sweep announces which buffers it will not read for a while, which it will read in a bond or two, and which it reads
//! now; the [engine](crate::engine) decides where they are in between.

use super::sweeper::Sweeper;
use crate::block::blocks::{Sectors, Side};
use crate::block::state::Isometry;
use crate::engine::Engine;
use crate::error::DmrgError;
use eigenforge_runtime::BackendError;
use eigenforge_runtime::residency::Evict;

/// A buffer that may be evicted between two uses by a sweep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Evictable {
    /// The block of a side that ends at a cut.
    Block(Side, usize),
    /// The states kept of a site.
    Kept(usize),
}

/// Bonds that a sweep looks ahead: the next bond's buffers come from other cards and host memory, those of the one after from disk.
const AHEAD: usize = 2;

impl<E: Engine> Sweeper<'_, E> {
    /// Applies an operation to an item's buffer, if there is one.
    fn update_buffer(
        &mut self,
        item: Evictable,
        work: impl FnOnce(&mut E::Buffer) -> Result<(), BackendError>,
    ) -> Result<(), DmrgError> {
        let buffer = match item {
            Evictable::Block(Side::Left, cut) => self.left[cut].as_mut().map(|block| &mut block.data),
            Evictable::Block(Side::Right, cut) => self.right[cut].as_mut().map(|block| &mut block.data),
            Evictable::Kept(site) => self.kept[site].as_mut().map(|kept| &mut kept.data),
        };
        Ok(buffer.map_or(Ok(()), work)?)
    }

    /// Marks items as evictable until the sweep returns to them.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn mark_evictable(&mut self, items: &[Evictable]) -> Result<(), DmrgError> {
        items.iter().try_for_each(|item| self.update_buffer(*item, E::Buffer::mark_evictable))
    }

    /// Ensures that an item is in the engine's memory.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn ensure_resident(&mut self, item: Evictable) -> Result<(), DmrgError> {
        self.update_buffer(item, E::Buffer::ensure_resident)
    }

    /// Prefetches what the end of this bond and the next bonds will need.
    pub(crate) fn prefetch_ahead(&mut self, p: usize, grows: Side) -> Result<(), DmrgError> {
        for bonds in 1..=AHEAD {
            let items = match grows {
                Side::Left => Some((p + 1 + bonds, Evictable::Block(Side::Right, p + 2 + bonds))),
                Side::Right => p.checked_sub(bonds).map(|site| (site, Evictable::Block(Side::Left, site))),
            };
            let Some((site, block)) = items.filter(|(site, _)| *site < self.chain.sites) else { continue };
            for item in [Evictable::Kept(site), block] {
                self.update_buffer(item, |buffer| buffer.prefetch(bonds))?;
            }
        }
        Ok(())
    }

    /// Drops the operators of all blocks and the solver's vectors, because the state is only read from now on.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn drop_operators(&mut self) -> Result<(), DmrgError> {
        for block in self.left.iter_mut().chain(&mut self.right).flatten() {
            (block.operators, block.data) = (Vec::new(), self.engine.upload(Vec::new())?);
        }
        self.engine.release();
        Ok(())
    }

    /// The states kept of a site, brought into the engine's memory.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn fetch_kept(&mut self, site: usize) -> Result<Option<&Isometry<E::Buffer>>, DmrgError> {
        self.ensure_resident(Evictable::Kept(site))?;
        Ok(self.kept[site].as_ref())
    }

    /// Takes the states kept of a site, read for the last time, and prefetches those of the next site.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn take_kept(&mut self, site: usize) -> Result<Isometry<E::Buffer>, DmrgError> {
        self.ensure_resident(Evictable::Kept(site))?;
        if site + 1 < self.chain.sites {
            self.update_buffer(Evictable::Kept(site + 1), |buffer| buffer.prefetch(1))?;
        }
        Ok(self.kept[site].take().expect("states of every site away from that of ψ are kept"))
    }

    /// The sectors of the states kept of all sites behind `site`.
    pub(crate) fn kept_behind(&self, site: usize) -> Sectors {
        self.kept.get(site + 1).and_then(Option::as_ref).map_or_else(Sectors::end, |kept| kept.kept.clone())
    }

    /// Takes ψ.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn take_wave(&mut self) -> Result<E::Buffer, DmrgError> {
        let nothing = self.engine.upload(Vec::new())?;
        Ok(std::mem::replace(&mut self.wave, nothing))
    }
}
