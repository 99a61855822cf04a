//! One-site sweeps at the end of a run: the best state with the kept number of states, without further truncation.
//!
//! In: a [`Sweeper`] with ψ at the first bond. Out: the same, with an energy that is the expectation value of a matrix
//! product state of the kept width, stationary in every site (White, Phys. Rev. B 72, 180403 (2005); without his
//! correction, which helps to find states and not to refine them). The superblock is block • block with one site, so ψ
//! has d m² elements instead of d² m². The site is regrouped from one block to the other on the way: ((l, s), r) to
//! decompose to the right, (l, (s, r)) to the left; the other side is a block enlarged by a site with a single state, and
//! everything else is as with two sites.

use super::eviction::Evictable;
use super::sweeper::Sweeper;
use crate::block::blocks::Side;
use crate::block::bond::{TwoSiteBond, carried_over};
use crate::block::one_site::OneSite;
use crate::block::truncate::TruncationLimits;
use crate::engine::Engine;
use crate::error::DmrgError;
use eigenforge_runtime::solvers::lean::DavidsonLimits;
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// The result of the one-site sweeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PolishRecord {
    /// The energy at their end.
    pub energy: f64,
    /// Change of the energy in the last sweep.
    pub change: f64,
    /// ‖Hψ − Eψ‖ of the last solve.
    pub residual: f64,
    /// Weight dropped to reach the kept width at the first bond.
    pub discarded: f64,
    /// Sweeps, there and back.
    pub sweeps: usize,
    /// Products with H.
    pub products: usize,
    /// Operations of them.
    pub flops: f64,
    /// Wall-clock time.
    pub seconds: f64,
}

/// Most one-site sweeps; they converge quickly from a two-site state.
const SWEEPS: usize = 4;
const EVERYTHING: TruncationLimits = TruncationLimits { most: usize::MAX, least: 1, discarded: 0.0, factored: None };

impl<E: Engine> Sweeper<'_, E> {
    /// Runs one-site sweeps until the energy changes by less than `tolerance`, with at most `states` states.
    ///
    /// # Errors
    /// A number is not finite; errors of the engine.
    pub(crate) fn polish(
        &mut self,
        states: usize,
        limits: DavidsonLimits,
        tolerance: f64,
    ) -> Result<PolishRecord, DmrgError> {
        let begun = Instant::now();
        let (mut site, discarded) = self.enter(states)?;
        let mut record = PolishRecord { energy: f64::NAN, discarded, ..PolishRecord::default() };
        let last = self.chain.sites - 1;
        loop {
            let before = record.energy;
            while site.p < last {
                site = self.one_site(site, Side::Left, limits, &mut record)?;
            }
            while site.p > 1 {
                site = self.one_site(site, Side::Right, limits, &mut record)?;
            }
            record.sweeps += 1;
            record.change = (record.energy - before).abs();
            if record.change < tolerance || record.sweeps >= SWEEPS {
                break;
            }
        }
        site = self.grouped(site, Side::Right)?;
        self.solve_site(&site, limits, &mut record)?;
        self.leave_site(&site)?;
        record.seconds = begun.elapsed().as_secs_f64();
        Ok(record)
    }

    /// Goes from ψ of the first bond to ψ of site 1.
    fn enter(&mut self, states: usize) -> Result<(OneSite, f64), DmrgError> {
        self.ensure_resident(Evictable::Block(Side::Left, 0))?;
        let (chain, frame) = (self.chain, self.frame(0));
        let limits = TruncationLimits { most: states, ..EVERYTHING };
        let truncated = self.engine.truncate(frame.wave(&self.wave), Side::Left, limits)?;
        let kept = &truncated.kept;
        let (left, right) = self.environments(0);
        let grown = carried_over(&self.engine, chain, &chain.sum, Side::Left, 0, left, &frame.left, kept)?;
        let site = OneSite::new(chain, 1, Side::Right, &kept.kept, &right.sectors);
        for companion in &mut self.below {
            companion.carry(&self.engine, chain, Side::Left, 0, kept, &frame.left)?;
        }
        self.wave = site.taken_over(&self.engine, &truncated.centre)?;
        self.left[1] = Some(grown);
        self.kept[0] = Some(truncated.kept);
        Ok((site, truncated.discarded))
    }

    /// The lowest state of a site.
    fn solve_site(
        &mut self,
        site: &OneSite,
        limits: DavidsonLimits,
        record: &mut PolishRecord,
    ) -> Result<TwoSiteBond<E::Buffer>, DmrgError> {
        let limits = self.chain.units.limits(limits);
        self.ensure_resident(Evictable::Block(Side::Left, site.p))?;
        self.ensure_resident(Evictable::Block(Side::Right, site.p + 1))?;
        let bond = self.around(site, self.site_operators(site)?)?;
        let superblock = bond.superblock();
        let (left, right) = (self.left[site.p].as_ref(), self.right[site.p + 1].as_ref());
        let there = "blocks beside the site of ψ are kept up to date";
        let (left, right) = (left.expect(there), right.expect(there));
        let diagonal = self.engine.diagonal(&bond, left, right)?;
        let against = self
            .below
            .iter()
            .map(|companion| companion.vector_of_site(&self.engine, self.chain, site.p, site.with, &bond.frame));
        let against = against.collect::<Result<Vec<_>, _>>()?;
        let room = bond.frame.layout.length.saturating_sub(1);
        let below: Vec<&E::Buffer> = against.iter().take(room).collect();
        let operands = bond.operands(left, right);
        let found = self.engine.solve(&superblock, operands, &diagonal, &mut self.wave, limits, &below)?;
        record.energy = found.value;
        record.residual = found.residual;
        record.products += found.products;
        record.flops += found.products as f64 * superblock.flops();
        if !record.energy.is_finite() {
            return Err(self.chain.not_finite([site.p; 2]));
        }
        Ok(bond)
    }

    /// Solves a site and moves to the next one in the direction of growth.
    fn one_site(
        &mut self,
        site: OneSite,
        grows: Side,
        limits: DavidsonLimits,
        record: &mut PolishRecord,
    ) -> Result<OneSite, DmrgError> {
        let site = self.grouped(site, grows)?;
        let bond = self.solve_site(&site, limits, record)?;
        let truncated = self.engine.truncate(bond.frame.wave(&self.wave), grows, EVERYTHING)?;
        self.pass_site(&site, grows, &bond, truncated)
    }
}
