//! A step in time by single sites whose bonds grow: controlled bond expansion (J.-W. Li, A. Gleis, J. von Delft, Phys. Rev. Lett. 133, 026401
//! (2024)).
//!
//! In: ψ at the first bond, a time. Out: ψ there, later. To the right and back, as with two sites: before a site moves, the states of the bond
//! ahead of it are joined by the directions in which H leads out of them ([`expansion`](crate::expansion)); the site moves forward by half the
//! time, a truncation brings the bond back, what is left between the two blocks moves back by half of it, and joins the next site. The
//! last site moves by half of it on both ways: the way there ends in the states with which it moved back last, before new ones join them.
//! ψ of a site has d m (m + new) elements, that of a bond d² m².
//!
//! A direction whose weight in Hψ is w gets about (τ/2)² w within half a step τ. Those of less than a truncation may drop are left out, and
//! what is left out altogether, the projection error of the step, is estimated from further random rows and counted as missing.

use super::step::MovingState;
use super::time_engine::TimeEngine;
use crate::block::blocks::Side;
use crate::block::bond::TwoSiteBond;
use crate::block::one_site::OneSite;
use crate::error::DmrgError;
use crate::expansion::ExpansionLimits;

impl<E: TimeEngine> MovingState<'_, E> {
    /// Moves the state by a time, in the units of the chain.
    ///
    /// # Errors
    /// A number is not finite.
    pub(super) fn step_by_sites(&mut self, time: f64) -> Result<(), DmrgError> {
        let (first, last) = (self.first(), self.chain().sites - 1);
        let half = 0.5 * time;
        self.half = half.abs();
        let mut site = self.sweeper.fold(first, Side::Left)?;
        for _ in first..last {
            site = self.pass(site, Side::Left, [half, half])?;
        }
        // In the states that the way back has; new ones, which that did not have, are for the way ahead.
        let mut site = self.stay(site, Side::Right, half)?;
        for _ in first..last {
            site = self.pass(site, Side::Right, [half, half])?;
        }
        let site = self.stay(site, Side::Left, half)?;
        self.sweeper.leave_site(&site)
    }

    /// Moves a site at an end of the chain, in the states that its bond has.
    fn stay(&mut self, site: OneSite, with: Side, time: f64) -> Result<OneSite, DmrgError> {
        let site = self.sweeper.grouped(site, with)?;
        self.fetch_blocks(site.p, site.p + 1)?;
        let bond = self.sweeper.around(&site, self.sweeper.site_operators(&site)?)?;
        self.move_wave(&bond, &site, time)?;
        Ok(site)
    }

    /// ψ of a site, later.
    fn move_wave(&mut self, bond: &TwoSiteBond<E::Buffer>, site: &OneSite, time: f64) -> Result<(), DmrgError> {
        let wave = self.sweeper.take_wave()?;
        self.sweeper.wave = self.propagate(bond, (site.p, site.p + 1), wave, time)?;
        Ok(())
    }

    /// Moves a site forward, splits it, moves what is between the blocks back, and goes on to the next site.
    fn pass(&mut self, site: OneSite, grows: Side, [forward, back]: [f64; 2]) -> Result<OneSite, DmrgError> {
        let site = self.sweeper.grouped(site, grows)?;
        self.fetch_blocks(site.p, site.p + 1)?;
        let own = self.sweeper.site_operators(&site)?;
        let ahead = if grows == Side::Left { Side::Right } else { Side::Left };
        let (limits, in_pairs) = self.limits_of(ahead);
        let square = forward * forward;
        let limits = ExpansionLimits {
            most: limits.most,
            discarded: if square > 0.0 { limits.discarded / square } else { f64::INFINITY },
            in_pairs,
            in_time: true,
            seed: (self.tally.products as u64) << 16 | site.p as u64,
        };
        let (site, outside) = self.sweeper.expand(site, &own, limits)?;
        self.tally.missing += square * outside;
        let bond = self.sweeper.around(&site, own)?;
        self.move_wave(&bond, &site, forward)?;
        let cut = if grows == Side::Left { site.p + 1 } else { site.p };
        let wave = self.sweeper.take_wave()?;
        let (kept, mut centre) = self.split(&bond, [site.p, cut, site.p + 1], &wave, grows)?;
        let grown = self.sweeper.grown_block(&site, grows, &bond, &kept)?;
        match grows {
            Side::Left => self.sweeper.left[cut] = Some(grown),
            Side::Right => self.sweeper.right[cut] = Some(grown),
        }
        let between = self.sweeper.around_cut(cut)?;
        centre.data = self.propagate(&between, (cut, cut), centre.data, -back)?;
        let grown = match grows {
            Side::Left => self.sweeper.left[cut].take(),
            Side::Right => self.sweeper.right[cut].take(),
        };
        let grown = grown.unwrap_or_else(|| unreachable!("it was stored above"));
        self.sweeper.move_site(&site, grows, &bond.frame, (kept, centre), grown)
    }
}
