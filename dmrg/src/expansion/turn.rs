//! From ψ of a bond to ψ of one of its sites, and back.

use crate::block::blocks::Side;
use crate::block::bond::carried_over;
use crate::block::one_site::OneSite;
use crate::block::truncate::TruncationLimits;
use crate::engine::Engine;
use crate::error::DmrgError;
use crate::sweep::eviction::Evictable;
use crate::sweep::sweeper::Sweeper;

/// Nothing but states without weight is dropped.
const EVERYTHING: TruncationLimits = TruncationLimits { most: usize::MAX, least: 1, discarded: 0.0, factored: None };

impl<E: Engine> Sweeper<'_, E> {
    /// Goes from ψ of bond `p` to ψ of its site on the side that grows; the other site joins the block behind it.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn fold(&mut self, p: usize, grows: Side) -> Result<OneSite, DmrgError> {
        self.ensure_resident(Evictable::Block(Side::Left, p))?;
        self.ensure_resident(Evictable::Block(Side::Right, p + 2))?;
        let (chain, frame) = (self.chain, self.frame(p));
        let (side, joins, cut) = match grows {
            Side::Left => (Side::Right, p + 1, p + 2),
            Side::Right => (Side::Left, p, p),
        };
        let truncated = self.engine.truncate(frame.wave(&self.wave), side, EVERYTHING)?;
        let enlarged = if side == Side::Left { &frame.left } else { &frame.right };
        let (behind, states) = (self.block(side, cut), truncated.kept);
        let grown = carried_over(&self.engine, chain, &chain.sum, side, cut, behind, enlarged, &states)?;
        for companion in &mut self.below {
            companion.carry(&self.engine, chain, side, joins, &states, enlarged)?;
        }
        match side {
            Side::Left => self.left[p + 1] = Some(grown),
            Side::Right => self.right[p + 1] = Some(grown),
        }
        self.kept[joins] = Some(states);
        let site = self.site_frame(if grows == Side::Left { p } else { p + 1 }, grows);
        self.wave = site.taken_over(&self.engine, &truncated.centre)?;
        Ok(site)
    }

    /// Goes from ψ of a site, if it is at one, to ψ of the bond ahead of it.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn unfold(&mut self) -> Result<(), DmrgError> {
        let Some(site) = self.site.take() else { return Ok(()) };
        let ahead = if site.with == Side::Left { Side::Right } else { Side::Left };
        let site = self.grouped(site, ahead)?;
        self.leave_site(&site)
    }
}
