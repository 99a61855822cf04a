//! ψ around one site of a sweep: the operators beside it, and the way to the next site.
//!
//! In: a [`Sweeper`] whose ψ belongs to a site, ((l, s), r) or (l, (s, r)). Out: both blocks' operators for its solve, and after a
//! truncation the same around the next site. Sweeps that [polish](super::polish) and sweeps that
//! [expand](crate::expansion) share them.

use super::eviction::Evictable;
use super::sweeper::Sweeper;
use crate::block::blocks::{Enlarged, PairedSector, Side};
use crate::block::bond::{Frame, TwoSiteBond};
use crate::block::enlarged::{EnlargedOperators, Enlarging};
use crate::block::environment::Environment;
use crate::block::one_site::OneSite;
use crate::block::state::Isometry;
use crate::block::transform::TransformStep;
use crate::block::truncate::{Centre, Truncated};
use crate::chain::Chain;
use crate::chain::bundles::BundlesOfSite;
use crate::chain::form::SuperblockForm;
use crate::chain::operator_sum::Entry;
use crate::chain::terms::LocalOperators;
use crate::engine::Engine;
use crate::error::DmrgError;
use eigenforge_runtime::backend::Operands;
use eigenforge_runtime::records::{Action, Operand, OperandSpace, Record, RecordGroup, RecordStage};

impl<E: Engine> Sweeper<'_, E> {
    /// Groups the site of ψ with the block on `with`.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn grouped(&mut self, site: OneSite, with: Side) -> Result<OneSite, DmrgError> {
        if site.with == with {
            return Ok(site);
        }
        let to = self.site_frame(site.p, with);
        self.wave = site.regrouped(&to, &self.engine, &self.wave)?;
        Ok(to)
    }

    /// Site `p` between the blocks beside it.
    pub(crate) fn site_frame(&self, p: usize, with: Side) -> OneSite {
        let (left, right) = (&self.block(Side::Left, p).sectors, &self.block(Side::Right, p + 1).sectors);
        OneSite::new(self.chain, p, with, left, right)
    }

    /// The operators of the block that holds the site.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn site_operators(&self, site: &OneSite) -> Result<EnlargedOperators<E::Buffer>, DmrgError> {
        let (chain, frame, side) = (self.chain, &site.frame, site.with);
        let (cut, enlarged) = match side {
            Side::Left => (site.p, &frame.left),
            Side::Right => (site.p + 1, &frame.right),
        };
        let mut widths = vec![1; enlarged.sectors.len()];
        for pair in &frame.layout.sectors {
            match side {
                Side::Left => widths[pair.left] = pair.columns,
                Side::Right => widths[pair.right] = pair.rows,
            }
        }
        chain.operators(&self.engine, &chain.sum, side, cut, self.block(side, cut), enlarged, &widths)
    }

    /// Both blocks' operators around a site, from those of the block that holds it.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn around(
        &self,
        site: &OneSite,
        own: EnlargedOperators<E::Buffer>,
    ) -> Result<TwoSiteBond<E::Buffer>, DmrgError> {
        let OneSite { frame, .. } = self.site_frame(site.p, site.with);
        let (left_operators, right_operators) = match site.with {
            Side::Left => (own, self.bare_block(Side::Right, site.p + 1, &frame.right)?),
            Side::Right => (self.bare_block(Side::Left, site.p, &frame.left)?, own),
        };
        Ok(TwoSiteBond { frame, left_operators, right_operators })
    }

    /// Both blocks' operators at a cut, where ψ has no site of its own.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn around_cut(&self, cut: usize) -> Result<TwoSiteBond<E::Buffer>, DmrgError> {
        let (left, right) = (self.block(Side::Left, cut), self.block(Side::Right, cut));
        let frame = Frame::at_cut(self.chain, &left.sectors, &right.sectors);
        let left_operators = self.bare_block(Side::Left, cut, &frame.left)?;
        let right_operators = self.bare_block(Side::Right, cut, &frame.right)?;
        Ok(TwoSiteBond { frame, left_operators, right_operators })
    }

    /// The operators of a block without the site.
    fn bare_block(
        &self,
        side: Side,
        cut: usize,
        enlarged: &Enlarged,
    ) -> Result<EnlargedOperators<E::Buffer>, DmrgError> {
        let block = self.block(side, cut);
        let groups = self.chain.bundles(cut);
        let cut = &self.chain.sum.cuts[cut];
        let table: Vec<Entry> =
            (0..cut.width()).map(|k| Entry { from: k, to: k, coefficient: 1.0, operator: 0 }).collect();
        let operators = &LocalOperators::of_dimension(1);
        // Of one piece each, whatever multiplies them.
        let form = match self.chain.superblock {
            SuperblockForm::Bundled => SuperblockForm::Bundled,
            _ => SuperblockForm::Planned,
        };
        let widths = vec![1; enlarged.sectors.len()];
        let together =
            (form == SuperblockForm::Bundled).then_some(BundlesOfSite { cut: groups, behind: groups, lists: None });
        Enlarging { side, block, table: &table, operators, enlarged, cut, form, together }
            .operators(&self.engine, &widths)
    }

    /// The block that a site joins, in the states that stay of both.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn grown_block(
        &self,
        site: &OneSite,
        grows: Side,
        bond: &TwoSiteBond<E::Buffer>,
        kept: &Isometry<E::Buffer>,
    ) -> Result<Environment<E::Buffer>, DmrgError> {
        let (left, right) = (self.block(Side::Left, site.p), self.block(Side::Right, site.p + 1));
        let (operators, cut) = match grows {
            Side::Left => (&bond.left_operators, site.p),
            Side::Right => (&bond.right_operators, site.p + 1),
        };
        let identity = Chain::identity(&self.chain.sum, grows, cut);
        Environment::project(&self.engine, operators, bond.operands(left, right), kept, identity)
    }

    /// Stores the kept states of a site and moves ψ to the next one in the direction of growth.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn pass_site(
        &mut self,
        site: &OneSite,
        grows: Side,
        bond: &TwoSiteBond<E::Buffer>,
        truncated: Truncated<E::Buffer>,
    ) -> Result<OneSite, DmrgError> {
        let Truncated { kept, centre, .. } = truncated;
        let grown = self.grown_block(site, grows, bond, &kept)?;
        self.move_site(site, grows, &bond.frame, (kept, centre), grown)
    }

    /// Stores the kept states of a site with the block that has `grown`, and moves ψ in terms of them to the next site.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn move_site(
        &mut self,
        site: &OneSite,
        grows: Side,
        frame: &Frame,
        (kept, centre): (Isometry<E::Buffer>, Centre<E::Buffer>),
        grown: Environment<E::Buffer>,
    ) -> Result<OneSite, DmrgError> {
        let (chain, p) = (self.chain, site.p);
        let sectors = &kept.kept;
        let next = match grows {
            Side::Left => OneSite::new(chain, p + 1, Side::Right, sectors, &self.block(Side::Right, p + 2).sectors),
            Side::Right => OneSite::new(chain, p - 1, Side::Left, &self.block(Side::Left, p - 1).sectors, sectors),
        };
        let (old_other, new_own) = match grows {
            Side::Left => (&frame.right, &next.frame.left),
            Side::Right => (&frame.left, &next.frame.right),
        };
        self.ensure_resident(Evictable::Kept(next.p))?;
        let v = self.kept[next.p].take().expect("states of every site away from that of ψ are kept");
        let (old, new) = (&frame.layout, &next.frame.layout);
        let step =
            TransformStep { grown: grows, old, old_other, kept: &kept, centre: &centre, given_up: &v, new_own, new };
        self.wave = step.wave(&self.engine)?;
        let enlarged = if grows == Side::Left { &frame.left } else { &frame.right };
        for companion in &mut self.below {
            companion.carry(&self.engine, chain, grows, p, &kept, enlarged)?;
        }
        self.kept[p] = Some(kept);
        match grows {
            Side::Left => (self.left[p + 1], self.right[p + 1]) = (Some(grown), None),
            Side::Right => (self.right[p], self.left[p]) = (Some(grown), None),
        }
        self.mark_evictable(&[
            Evictable::Kept(p),
            Evictable::Block(grows, if grows == Side::Left { p } else { p + 1 }),
        ])?;
        Ok(next)
    }

    /// Goes from ψ of a site to ψ of a bond, writing out the kept states of the site on the other side of the block that holds it.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn leave_site(&mut self, site: &OneSite) -> Result<(), DmrgError> {
        let (p, written) = match site.with {
            Side::Left => (site.p, site.p + 1),
            Side::Right => (site.p - 1, site.p - 1),
        };
        self.ensure_resident(Evictable::Kept(written))?;
        let Some(states) = self.kept[written].take() else { return Ok(()) };
        let frame = self.frame(p);
        let group = |pair: &PairedSector| {
            let kept = states.block(if site.with == Side::Left { pair.right } else { pair.left })?;
            let source = site.frame.layout.sectors.iter().find(|source| match site.with {
                Side::Left => source.left == pair.left && source.right == kept.kept_sector,
                Side::Right => source.right == pair.right && source.left == kept.kept_sector,
            })?;
            let transposed = site.with == Side::Left;
            let v = Operand { space: OperandSpace::Left, offset: kept.offset, stride: kept.rows, transposed };
            let (space, stride) = (OperandSpace::Input, source.rows);
            let c = Operand { space, offset: source.offset, stride, transposed: false };
            let (a, b) = if transposed { (c, v) } else { (v, c) };
            let (rows, columns) = (pair.rows, pair.columns);
            let action = Action::Product { a, b, inner: kept.columns };
            Some(Record { action, coefficient: 1.0, first: 0, stride: rows, rows, columns })
        };
        let groups = frame.layout.sectors.iter().map(|pair| RecordGroup {
            offset: pair.offset,
            length: pair.rows * pair.columns,
            records: group(pair).into_iter().collect(),
        });
        let stage = RecordStage { groups: groups.collect(), length: frame.layout.length };
        let operands = Operands::default().set(OperandSpace::Left, &states.data).set(OperandSpace::Input, &self.wave);
        self.wave = self.engine.run(&stage, operands)?;
        match site.with {
            Side::Left => self.right[p + 1] = None,
            Side::Right => self.left[p + 1] = None,
        }
        Ok(())
    }
}
