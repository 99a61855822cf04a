//! Resumes a sweep from a saved state: kept states of every site and ψ at a bond, from which the blocks are recomputed.

use super::eviction::Evictable;
use super::sweeper::Sweeper;
use crate::block::blocks::{Sectors, Side};
use crate::block::bond::{Frame, carried_over};
use crate::block::environment::Environment;
use crate::block::state::Isometry;
use crate::chain::Chain;
use crate::engine::Engine;
use crate::error::DmrgError;

impl<'c, E: Engine> Sweeper<'c, E> {
    /// Resumes a state saved with ψ at bond `p`: the blocks are recomputed from the kept states, which [`is_whole`] has
    /// accepted.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn restored(
        engine: E,
        chain: &'c Chain,
        kept: Vec<Option<Isometry>>,
        wave: Vec<f64>,
        p: usize,
    ) -> Result<Sweeper<'c, E>, DmrgError> {
        let mut sweeper = Sweeper::empty(engine, chain)?;
        for (site, kept) in kept.into_iter().enumerate() {
            sweeper.kept[site] = kept.map(|kept| kept.carried(|data| sweeper.engine.upload(data))).transpose()?;
            sweeper.mark_evictable(&[Evictable::Kept(site)])?;
        }
        sweeper.wave = sweeper.engine.upload(wave)?;
        for site in 0..p {
            sweeper.left[site + 1] = sweeper.regrown(Side::Left, site)?;
            sweeper.mark_evictable(&[Evictable::Kept(site), Evictable::Block(Side::Left, site)])?;
        }
        for site in (p + 2..chain.sites).rev() {
            sweeper.right[site] = sweeper.regrown(Side::Right, site)?;
            sweeper.mark_evictable(&[Evictable::Kept(site), Evictable::Block(Side::Right, site + 1)])?;
        }
        Ok(sweeper)
    }

    /// The block that the kept states of a site belong to.
    fn regrown(&mut self, side: Side, site: usize) -> Result<Option<Environment<E::Buffer>>, DmrgError> {
        let cut = if side == Side::Left { site } else { site + 1 };
        self.ensure_resident(Evictable::Kept(site))?;
        let behind = self.block(side, cut);
        let Some(kept) = self.kept[site].as_ref() else { return Ok(None) };
        let enlarged = self.chain.enlarge(side, &behind.sectors, cut);
        carried_over(&self.engine, self.chain, &self.chain.sum, side, cut, behind, &enlarged, kept).map(Some)
    }
}

/// Whether a saved state with ψ at bond `p` fits this chain: every site away from the bond has states that fit the block
/// behind it, and ψ has the matching length.
pub(crate) fn is_whole(chain: &Chain, kept: &[Option<Isometry>], wave: &[f64], p: usize) -> bool {
    let block = |side: Side, sites: Vec<usize>| {
        sites.into_iter().try_fold(Sectors::end(), |behind, site| {
            let cut = if side == Side::Left { site } else { site + 1 };
            let kept = kept[site].as_ref()?;
            kept.fits(&chain.enlarge(side, &behind, cut).sectors).then(|| kept.kept.clone())
        })
    };
    let (left, right) = (block(Side::Left, (0..p).collect()), block(Side::Right, (p + 2..chain.sites).rev().collect()));
    let (Some(left), Some(right)) = (left, right) else { return false };
    Frame::new(chain, p, &left, &right).layout.length == wave.len()
}
