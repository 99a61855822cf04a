//! Sweeps of one site whose bonds grow: controlled bond expansion.
//!
//! In: a [`Sweeper`] with ψ at a bond or at a site, the plan of the sweep. Out: the same one bond further. Before a site is solved, the
//! states of the bond ahead of it are joined by the strongest directions of what two sites would add to them, Hψ outside the kept
//! states, found at the cost of one site (`sketch.rs`, `directions.rs`, `basis.rs`); the solve is that of one site with so many more
//! states, and a truncation brings the bond back to m (Gleis, Li, von Delft, Phys. Rev. Lett. 130, 246402 (2023)). ψ has d m (m + new)
//! elements instead of d² m². The directions have every charge that two sites reach, so no noise is needed to find one.
//!
//! Between two sweeps, at both ends of the chain, and in checkpoints ψ is that of a bond as with two sites (`turn.rs`).

mod basis;
mod directions;
mod limits;
mod operators;
mod sketch;
#[cfg(test)]
mod tests;
mod turn;

pub(crate) use limits::ExpansionLimits;

use crate::block::blocks::Side;
use crate::block::bond::TwoSiteBond;
use crate::block::enlarged::EnlargedOperators;
use crate::block::one_site::OneSite;
use crate::block::state::Isometry;
use crate::block::truncate::TruncationLimits;
use crate::chain::Chain;
use crate::engine::Engine;
use crate::error::DmrgError;
use crate::sweep::cut_weight::CutWeight;
use crate::sweep::eviction::Evictable;
use crate::sweep::sweeper::Sweeper;
use crate::sweep::{BondRecord, Phases};
use crate::sweep_plan::SweepPlan;
use directions::Directions;
use eigenforge_runtime::backend::Operands;
use eigenforge_runtime::solvers::lean::{DavidsonLimits, DavidsonResult};
use limits::LEAST_NEW;
use operators::Narrower;
use sketch::Sketching;
use std::time::Instant;

impl<'c, E: Engine> Sweeper<'c, E> {
    /// Solves bond `p` with both of its sites, or with one of them and more states where the plan says so, truncates, and moves on in
    /// the direction of growth.
    ///
    /// # Errors
    /// A number is not finite; errors of the engine.
    pub fn update(&mut self, p: usize, grows: Side, plan: &SweepPlan) -> Result<BondRecord, DmrgError> {
        if plan.expands { self.step_expanding(p, grows, plan) } else { self.step(p, grows, plan) }
    }

    fn step_expanding(&mut self, p: usize, grows: Side, plan: &SweepPlan) -> Result<BondRecord, DmrgError> {
        let begun = Instant::now();
        let mut whole = self.engine.span("bond");
        self.prefetch_ahead(p, grows)?;
        let planning = self.engine.span("plan of the bond");
        let site = match self.site.take() {
            Some(site) => site,
            None => self.fold(p, grows)?,
        };
        let site = self.grouped(site, grows)?;
        [(Side::Left, site.p), (Side::Right, site.p + 1)]
            .into_iter()
            .try_for_each(|(side, cut)| self.ensure_resident(Evictable::Block(side, cut)))?;
        let own = self.site_operators(&site)?;
        drop(planning);
        let expanding = self.engine.span("expansion");
        let room = ExpansionLimits::of_solve(plan.limits.most, site.p as u64);
        let (site, _) = self.expand(site, &own, room)?;
        drop(expanding);
        let bond = self.around(&site, own)?;
        let planned = begun.elapsed().as_secs_f64();
        let (found, flops) = self.solve_alone(&site, &bond, plan.davidson)?;
        let energy = found.value;
        if !energy.is_finite() {
            return Err(self.chain.not_finite([p, p + 1]));
        }
        let first = Some(found.first).filter(|first| first.is_finite());
        let lost = self.settled.zip(first).map(|(before, first)| (first - before).max(0.0));
        self.settled = Some(energy).filter(|_| plan.noise == 0.0);
        let solved = begun.elapsed().as_secs_f64();
        let truncating = self.engine.span("truncation");
        let limits = TruncationLimits { factored: self.factor_limits(p, grows, plan), ..plan.limits };
        let wave = bond.frame.wave(&self.wave);
        let truncated = if plan.noise > 0.0 {
            let (left, right) = (self.block(Side::Left, site.p), self.block(Side::Right, site.p + 1));
            let operators = if grows == Side::Left { &bond.left_operators } else { &bond.right_operators };
            let operands = bond.operands(left, right);
            self.engine.truncate_with_noise(wave, grows, limits, operators, operands, plan.noise)?
        } else {
            self.engine.truncate(wave, grows, limits)?
        };
        drop(truncating);
        let truncation = begun.elapsed().as_secs_f64() - solved;
        let carrying = self.engine.span("carrying over");
        let (kept, discarded) = (truncated.kept.kept.total(), truncated.discarded);
        self.cuts[p] = CutWeight::new(&truncated.weights, plan.limits);
        self.foreseen[p + 1] = self.foresee(&bond.frame, grows, &truncated.spectrum, plan.limits);
        let next = self.pass_site(&site, grows, &bond, truncated)?;
        self.site = Some(next);
        // At both ends ψ is that of a bond, from which the way back begins.
        if (p == self.chain.sites - 3 && grows == Side::Left) || (p == 1 && grows == Side::Right) {
            self.unfold()?;
        }
        drop(carrying);
        let dimension = bond.frame.layout.length;
        if let Some(whole) = &mut whole {
            whole.note("bond", p);
            whole.note("states", kept);
            whole.note("products", found.products);
            whole.note("elements", dimension);
            whole.note("energy in units of the chain", energy);
            whole.note("discarded", discarded);
        }
        let seconds = Phases {
            plan: planned,
            solve: solved - planned,
            truncate: truncation,
            carry: begun.elapsed().as_secs_f64() - solved - truncation,
        };
        Ok(BondRecord {
            bond: p,
            energy,
            before: first,
            average: None,
            residual: found.residual,
            dimension,
            kept,
            discarded,
            lost,
            products: found.products,
            flops,
            seconds,
        })
    }

    /// Joins new states to those of the bond ahead of a site; `own` are the operators of the block that holds the site. Also returns an
    /// estimate of ‖Hψ‖² outside all of these states, if the limits say that it is wanted, else 0.
    ///
    /// # Errors
    /// A number is not finite; errors of the engine.
    pub(crate) fn expand(
        &mut self,
        site: OneSite,
        own: &EnlargedOperators<E::Buffer>,
        limits: ExpansionLimits,
    ) -> Result<(OneSite, f64), DmrgError> {
        let chain = self.chain;
        let (side, next, cut) = match site.with {
            Side::Left => (Side::Right, site.p + 1, site.p + 2),
            Side::Right => (Side::Left, site.p - 1, site.p - 1),
        };
        self.ensure_resident(Evictable::Kept(next))?;
        self.ensure_resident(Evictable::Block(side, cut))?;
        let (near, behind) = match site.with {
            Side::Left => (self.block(Side::Left, site.p), self.block(side, cut)),
            Side::Right => (self.block(Side::Right, site.p + 1), self.block(side, cut)),
        };
        let Some(states) = self.kept[next].as_ref() else { return Ok((site, 0.0)) };
        let (count, width) = (states.kept.total(), if limits.in_pairs { 2 } else { 1 });
        let room = limits.room(count / width);
        let far = chain.enlarge(side, &behind.sectors, cut);
        // Only the sketch and the new states are multiplied.
        let part = width as f64 * room as f64 / count.max(1) as f64;
        let width = |q: usize| states.block(q).map_or(1, |block| (part * block.columns as f64).ceil() as usize);
        let widths: Vec<usize> = (0..far.sectors.len()).map(width).collect();
        let engine = &self.engine;
        let far_operators = chain.operators(engine, &chain.sum, side, cut, behind, &far, &widths)?;
        let ((near_space, near_sums), (far_space, far_sums)) = (site.with.spaces(), side.spaces());
        let operands = Operands::default()
            .set(near_space, &near.data)
            .set(near_sums, &own.sums)
            .set(far_space, &behind.data)
            .set(far_sums, &far_operators.sums);
        let sketching = Sketching {
            near: site.with,
            frame: &site.frame,
            wave: &self.wave,
            operators: own,
            far: &far,
            far_operators: &far_operators,
            states,
            total: chain.total,
        };
        let outside = |kept: &Isometry<E::Buffer>| -> Result<f64, DmrgError> {
            if !limits.in_time {
                return Ok(0.0);
            }
            let rest = sketching.run(engine, (LEAST_NEW, !limits.seed), operands, kept)?;
            rest.map_or(Ok(0.0), |rest| rest.weight(engine))
        };
        let Some(sketch) = sketching.run(engine, (room, limits.seed), operands, states)? else {
            return Ok((site, 0.0));
        };
        let Some(new) = Directions::new(engine, &sketch, states, (room, limits))? else {
            let rest = outside(states)?;
            return Ok((site, rest));
        };
        let narrower =
            Narrower { block: self.block(side, if side == Side::Right { next } else { site.p }), states, side };
        let states = basis::join_bases(engine, &far.sectors, states, &new)?;
        let rest = outside(&states)?;
        let identity = Chain::identity(&chain.sum, side, cut);
        let grown = narrower.widen(engine, (&far_operators, operands), &states, identity)?;
        for companion in &mut self.below {
            companion.carry(engine, chain, side, next, &states, &far)?;
        }
        self.kept[next] = Some(states);
        match side {
            Side::Right => self.right[site.p + 1] = Some(grown),
            Side::Left => self.left[site.p] = Some(grown),
        }
        let wider = self.site_frame(site.p, site.with);
        self.wave = basis::pad_wave(&self.engine, site.with, (&site.frame, &self.wave), &wider.frame)?;
        Ok((wider, rest))
    }

    /// The lowest state of a site, and the operations of a product.
    fn solve_alone(
        &mut self,
        site: &OneSite,
        bond: &TwoSiteBond<E::Buffer>,
        limits: DavidsonLimits,
    ) -> Result<(DavidsonResult, f64), DmrgError> {
        let limits = self.chain.units.limits(limits);
        let superblock = bond.superblock();
        let (left, right) = (self.left[site.p].as_ref(), self.right[site.p + 1].as_ref());
        let there = "blocks beside the site of ψ are kept up to date";
        let (left, right) = (left.expect(there), right.expect(there));
        let diagonal = self.engine.diagonal(bond, left, right)?;
        let _solving = self.engine.span("Davidson");
        let against = self
            .below
            .iter()
            .map(|companion| companion.vector_of_site(&self.engine, self.chain, site.p, site.with, &bond.frame));
        let against = against.collect::<Result<Vec<_>, _>>()?;
        let below: Vec<&E::Buffer> = against.iter().take(bond.frame.layout.length.saturating_sub(1)).collect();
        let operands = bond.operands(left, right);
        let found = self.engine.solve(&superblock, operands, &diagonal, &mut self.wave, limits, &below)?;
        Ok((found, superblock.flops()))
    }
}
