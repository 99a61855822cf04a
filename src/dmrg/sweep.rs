//! Finite-lattice two-site DMRG: one bond, and the sweep over all of them (White 1992, 1993).
//!
//! State: the blocks on both sides, the kept states of every site, ψ of the bond in between. A step solves the
//! superblock of two blocks and two sites, keeps the best states of the block that grows, carries its operators over
//! and transforms ψ to the next bond.

use super::blocks::Side;
use super::bond::{Bond, Frame, carried_over};
use super::chain::Chain;
use super::davidson::{self, Davidson};
use super::environment::Environment;
use super::error::DmrgError;
use super::start::{Random, random_blocks};
use super::state::Isometry;
use super::superblock::Superblock;
use super::transform::Step;
use super::truncate::{self, Truncated, truncate, truncate_with_noise};

/// How a sweep is done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SweepPlan {
    /// What may be kept.
    pub limits: truncate::Limits,
    /// Relative size of the perturbation of density matrices; 0 for none.
    pub noise: f64,
    /// Of each bond's solve.
    pub davidson: davidson::Limits,
}

/// What a bond gave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BondRecord {
    /// Its left site's position.
    pub bond: usize,
    /// The lowest eigenvalue of the superblock.
    pub energy: f64,
    /// ‖Hψ − Eψ‖ there.
    pub residual: f64,
    /// Elements of ψ.
    pub dimension: usize,
    /// States kept.
    pub kept: usize,
    /// Weight dropped.
    pub discarded: f64,
    /// Products with H.
    pub products: usize,
    /// Operations of one of them.
    pub flops: f64,
}

/// The chain in two blocks with ψ between them.
pub struct Sweeper<'c> {
    chain: &'c Chain,
    /// `left[p]`: sites 0 … p−1.
    left: Vec<Option<Environment>>,
    /// `right[p]`: sites p … N−1.
    right: Vec<Option<Environment>>,
    /// `kept[p]`: states of site p with the block beside it, away from the bond of ψ.
    kept: Vec<Option<Isometry>>,
    wave: Vec<f64>,
    davidson: Davidson,
    between: Vec<f64>,
}

impl<'c> Sweeper<'c> {
    /// From random blocks of `states` states; ψ at the first bond.
    pub fn random(chain: &'c Chain, states: usize, seed: u64) -> Sweeper<'c> {
        let mut sweeper = Sweeper::empty(chain);
        let n = chain.sites;
        let mut random = Random::new(seed);
        for (made, block) in random_blocks(chain, states, &mut random).into_iter().enumerate() {
            let p = n - 1 - made;
            (sweeper.right[p], sweeper.kept[p]) = (Some(block.block), Some(block.kept));
        }
        let length = sweeper.frame(0).layout.length;
        sweeper.wave = (0..length).map(|_| random.number()).collect();
        sweeper
    }

    fn empty(chain: &'c Chain) -> Sweeper<'c> {
        let n = chain.sites;
        let none = |count: usize| (0..count).map(|_| None).collect::<Vec<Option<Environment>>>();
        let mut sweeper = Sweeper {
            chain,
            left: none(n + 1),
            right: none(n + 1),
            kept: (0..n).map(|_| None).collect(),
            wave: Vec::new(),
            davidson: Davidson::default(),
            between: Vec::new(),
        };
        sweeper.left[0] = Some(Environment::end());
        sweeper.right[n] = Some(Environment::end());
        sweeper
    }

    pub(super) fn environments(&self, p: usize) -> (&Environment, &Environment) {
        let there = "blocks beside the bond of ψ are kept up to date";
        (self.left[p].as_ref().expect(there), self.right[p + 2].as_ref().expect(there))
    }

    /// The blocks beside bond `p`.
    pub(super) fn frame(&self, p: usize) -> Frame {
        let (left, right) = self.environments(p);
        Frame::new(self.chain, p, &left.sectors, &right.sectors)
    }

    /// The bonds of a sweep with the side that grows at each: right, then left, back to the first bond.
    pub fn path(sites: usize) -> impl Iterator<Item = (usize, Side)> {
        let there = (0..sites - 2).map(|p| (p, Side::Left));
        there.chain((1..sites - 1).rev().map(|p| (p, Side::Right)))
    }

    /// Solves bond `p`, truncates, and goes on to the next bond on the other side of what grows.
    ///
    /// # Errors
    /// Numbers that are not finite.
    pub fn step(&mut self, p: usize, grows: Side, plan: &SweepPlan) -> Result<BondRecord, DmrgError> {
        let (bond, mut record) = self.solve(p, plan.davidson)?;
        let (left, right) = self.environments(p);
        let buffers = bond.buffers(left, right);
        let wave = bond.frame.wave(&self.wave);
        let operators = if grows == Side::Left { &bond.left_operators } else { &bond.right_operators };
        let truncated = if plan.noise > 0.0 {
            truncate_with_noise(wave, grows, plan.limits, operators, buffers, plan.noise)?
        } else {
            truncate(wave, grows, plan.limits)?
        };
        (record.kept, record.discarded) = (truncated.kept.kept.total(), truncated.discarded);
        let cut = if grows == Side::Left { p } else { p + 2 };
        let identity = Chain::identity(&self.chain.sum, grows, cut);
        let grown = Environment::project(operators, buffers, &truncated.kept, identity);
        self.advance(p, grows, &bond.frame, truncated, grown);
        Ok(record)
    }

    /// The lowest state of bond `p`, from ψ as it is.
    fn solve(&mut self, p: usize, limits: davidson::Limits) -> Result<(Bond, BondRecord), DmrgError> {
        let (mut davidson, mut between, mut wave) =
            (std::mem::take(&mut self.davidson), std::mem::take(&mut self.between), std::mem::take(&mut self.wave));
        let (left, right) = self.environments(p);
        let bond = Bond::new(self.chain, &self.chain.sum, p, left, right);
        let superblock = Superblock::new(&bond.left_operators, &bond.right_operators, &bond.frame.layout);
        let buffers = bond.buffers(left, right);
        let diagonal = bond.diagonal(left, right);
        let multiply = |x: &[f64], y: &mut [f64]| superblock.multiply(buffers, x, &mut between, y);
        let found = davidson.solve(multiply, &diagonal, &mut wave, limits)?;
        (self.davidson, self.between, self.wave) = (davidson, between, wave);
        let energy = found.value + self.chain.sum.constant;
        if !energy.is_finite() {
            return Err(DmrgError::NotFinite { first: self.chain.order[p], second: self.chain.order[p + 1] });
        }
        let (residual, products) = (found.residual, found.products);
        let (dimension, flops) = (bond.frame.layout.length, superblock.flops());
        let record = BondRecord { bond: p, energy, residual, dimension, kept: 0, discarded: 0.0, products, flops };
        Ok((bond, record))
    }

    /// Takes over what was kept and moves ψ to the next bond.
    pub(super) fn advance(&mut self, p: usize, grows: Side, frame: &Frame, truncated: Truncated, grown: Environment) {
        let next = if grows == Side::Left { p + 1 } else { p - 1 };
        // The block and kept states that the bond leaves behind, and those of the site it takes up.
        let (site, given_up) = if grows == Side::Left { (p, p + 2) } else { (p + 1, p - 1) };
        let sectors = &truncated.kept.kept;
        let new = match grows {
            Side::Left => Frame::new(self.chain, next, sectors, &self.block(Side::Right, next + 2).sectors),
            Side::Right => Frame::new(self.chain, next, &self.block(Side::Left, next).sectors, sectors),
        };
        let (old_other, new_own) =
            if grows == Side::Left { (&frame.right, &new.left) } else { (&frame.left, &new.right) };
        let v = self.kept[given_up].take().unwrap_or_default();
        let step = Step {
            grown: grows,
            old: &frame.layout,
            old_other,
            truncated: &truncated,
            given_up: &v,
            new_own,
            new: &new.layout,
        };
        self.wave = step.wave();
        self.kept[site] = Some(truncated.kept);
        // The block that shrinks is made anew on the way back; until then it would only take memory.
        match grows {
            Side::Left => (self.left[next], self.right[next + 1]) = (Some(grown), None),
            Side::Right => (self.right[next + 2], self.left[next + 1]) = (Some(grown), None),
        }
    }

    fn block(&self, side: Side, p: usize) -> &Environment {
        let list = if side == Side::Left { &self.left } else { &self.right };
        list[p].as_ref().expect("blocks on the way of a sweep are kept up to date")
    }

    /// Solves the first bond without truncation: the state that is reported.
    ///
    /// # Errors
    /// Numbers that are not finite.
    pub fn finish(&mut self, limits: davidson::Limits) -> Result<BondRecord, DmrgError> {
        Ok(self.solve(0, limits)?.1)
    }

    /// ψ of the bond it is at.
    pub(super) fn wave(&self) -> &[f64] {
        &self.wave
    }

    /// The states kept of each site.
    pub(super) fn kept(&self) -> &[Option<Isometry>] {
        &self.kept
    }

    /// Takes up a state that was saved with ψ at bond `p`: the blocks are made again from the states kept.
    pub(super) fn restored(
        chain: &'c Chain,
        kept: Vec<Option<Isometry>>,
        wave: Vec<f64>,
        p: usize,
    ) -> Option<Sweeper<'c>> {
        let mut sweeper = Sweeper::empty(chain);
        (sweeper.kept, sweeper.wave) = (kept, wave);
        for site in 0..p {
            let block = sweeper.regrown(Side::Left, site)?;
            sweeper.left[site + 1] = Some(block);
        }
        for site in (p + 2..chain.sites).rev() {
            let block = sweeper.regrown(Side::Right, site)?;
            sweeper.right[site] = Some(block);
        }
        (sweeper.frame(p).layout.length == sweeper.wave.len()).then_some(sweeper)
    }

    /// The block that the kept states of a site belong to; `None` if they do not fit.
    fn regrown(&self, side: Side, site: usize) -> Option<Environment> {
        let cut = if side == Side::Left { site } else { site + 1 };
        let behind = self.block(side, cut);
        let kept = self.kept[site].as_ref()?;
        let enlarged = self.chain.enlarge(side, &behind.sectors, cut);
        kept.fits(&enlarged.sectors).then_some(())?;
        Some(carried_over(self.chain, &self.chain.sum, side, cut, behind, &enlarged, kept))
    }
}
