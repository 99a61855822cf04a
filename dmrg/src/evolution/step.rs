//! A step in time of a matrix-product state: the time-dependent variational principle, two sites at a time.
//!
//! In: ψ at the first bond, a time. Out: ψ there, later. To the right and back (Haegeman, Lubich, Oseledets, Vandereycken, Verstraete, Phys.
//! Rev. B 94, 165116 (2016), section IV), each bond moves forward by half the time, its ψ is split, and the site ahead moves
//! back by half of it; the last bond moves by all of it at once. The error of a step is of third order in the time. Each exponential
//! keeps length and energy in real time.
//!
//! Complex ψ is x + iy as (x, y) on a chain with an auxiliary site at the left end. Its states and i times them stay together in
//! left blocks ([`super::split`]), so every space contains what −iH makes of ψ. The auxiliary site is never split: bonds begin at 1.

use super::exponential::{Evolved, exponential};
use super::reach::{Norms, join_reached};
use super::split::truncate_pairs;
use crate::block::blocks::Side;
use crate::block::bond::{TwoSiteBond, carried_over};
use crate::block::environment::Environment;
use crate::block::state::Isometry;
use crate::block::truncate::{Centre, CentreBlock, Truncated, TruncationLimits, perturbation};
use crate::chain::Chain;
use crate::engine::Engine;
use crate::error::DmrgError;
use crate::sweep::sweeper::Sweeper;
use eigenforge_runtime::backend::{Backend, HostBackend, slices};
use eigenforge_runtime::solvers::TimeAxis;
use faer::Mat;
use serde::{Deserialize, Serialize};
use std::rc::Rc;

/// A state that moves in time.
pub(super) struct MovingState<'c> {
    pub sweeper: Sweeper<'c>,
    pub axis: TimeAxis,
    /// States that may stay at a bond, and the weight that a truncation may drop.
    pub limits: TruncationLimits,
    /// Error of an exponential.
    pub precision: f64,
    pub tally: Tally,
    /// Of a chain with terms on distant sites.
    pub norms: Option<Rc<Norms>>,
    /// The time of the bonds' solves, in which those terms are to act.
    pub half: f64,
}

/// What steps have cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Tally {
    /// Weight that truncations have dropped.
    pub discarded: f64,
    /// Weight that states would have got which blocks lack for terms on distant sites.
    pub missing: f64,
    /// Bounds of all exponentials.
    pub bound: f64,
    /// ln ‖exp(−Ht) ψ(0)‖ in the units of the chain.
    pub log_norm: f64,
    /// Products with H.
    pub products: usize,
    /// The most states at a bond.
    pub states: usize,
}

const EVERYTHING: TruncationLimits = TruncationLimits { most: usize::MAX, least: 1, discarded: 0.0, factored: None };

impl<'c> MovingState<'c> {
    /// From the kept states of sites 2 … and ψ of the first bond, which of a complex chain is that of the auxiliary site.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(super) fn new(
        chain: &'c Chain,
        (kept, wave): (Vec<Option<Isometry>>, Vec<f64>),
        axis: TimeAxis,
        limits: TruncationLimits,
        precision: f64,
    ) -> Result<MovingState<'c>, DmrgError> {
        let mut sweeper = Sweeper::restored(HostBackend::default(), chain, kept, wave, 0)?;
        if chain.is_complex() {
            let frame = sweeper.frame(0);
            let identity = Isometry::new(&frame.left.sectors, &[Some(Mat::identity(2, 2))]);
            let end = sweeper.block(Side::Left, 0);
            let grown = carried_over(&sweeper.engine, chain, &chain.sum, Side::Left, 0, end, &frame.left, &identity)?;
            let mut blocks = Vec::new();
            for pair in &frame.layout.sectors {
                blocks.push(Some(CentreBlock { offset: pair.offset, rows: pair.rows, columns: pair.columns }));
            }
            let centre = Centre { blocks, data: std::mem::take(&mut sweeper.wave) };
            sweeper.advance(0, Side::Left, &frame, identity, vec![centre], grown)?;
        }
        let norms = Norms::new(chain).map(Rc::new);
        Ok(MovingState { sweeper, axis, limits, precision, tally: Tally::default(), norms, half: 0.0 })
    }

    fn chain(&self) -> &'c Chain {
        self.sweeper.chain
    }

    /// The first bond that is solved: behind the auxiliary site, if there is one.
    pub(super) fn first(&self) -> usize {
        usize::from(self.chain().is_complex())
    }

    /// The same state, to be moved in another way.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(super) fn duplicate(&self) -> Result<MovingState<'c>, DmrgError> {
        self.replaced(self.sweeper.kept.clone(), self.sweeper.wave.clone(), self.tally)
    }

    /// Another state of the same chain, with ψ at the first bond, to be moved in the same way.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(super) fn replaced(
        &self,
        kept: Vec<Option<Isometry>>,
        wave: Vec<f64>,
        tally: Tally,
    ) -> Result<MovingState<'c>, DmrgError> {
        let sweeper = Sweeper::restored(HostBackend::default(), self.chain(), kept, wave, self.first())?;
        let norms = self.norms.clone();
        Ok(MovingState { sweeper, norms, tally, ..*self })
    }

    /// The state with ψ at the first bond of the chain, to be read off.
    ///
    /// # Errors
    /// A number is not finite.
    pub(super) fn snapshot(&self) -> Result<Sweeper<'c>, DmrgError> {
        let first = self.first();
        let bare = |block: &Environment| Environment { operators: Vec::new(), data: Vec::new(), ..block.clone() };
        let mut copy = Sweeper::empty(HostBackend::default(), self.chain())?;
        (copy.kept, copy.wave) = (self.sweeper.kept.clone(), self.sweeper.wave.clone());
        copy.left[first] = Some(bare(self.sweeper.block(Side::Left, first)));
        copy.right[first + 2] = Some(bare(self.sweeper.block(Side::Right, first + 2)));
        if first > 0 {
            let frame = copy.frame(first);
            let Truncated { kept, centre, .. } =
                copy.engine.truncate(frame.wave(&copy.wave), Side::Right, EVERYTHING)?;
            let grown = Environment { sectors: kept.kept.clone(), operators: Vec::new(), data: Vec::new() };
            copy.advance(first, Side::Right, &frame, kept, vec![centre], grown)?;
        }
        Ok(copy)
    }

    /// ⟨H⟩ in the units of the chain.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(super) fn energy(&self) -> Result<f64, DmrgError> {
        let (chain, p, engine) = (self.chain(), self.first(), &self.sweeper.engine);
        let (left, right) = self.sweeper.environments(p);
        let bond = TwoSiteBond::new(engine, chain, &chain.sum, p, left, right)?;
        Ok(engine.expectation(&bond.superblock(), bond.operands(left, right), &self.sweeper.wave)?)
    }

    /// Gives blocks the states that terms on distant sites need in the first step, of this time.
    ///
    /// # Errors
    /// A number is not finite.
    pub(super) fn prepare(&mut self, time: f64) -> Result<(), DmrgError> {
        if self.norms.is_none() {
            return Ok(());
        }
        self.half = 0.5 * time.abs();
        let (first, last) = (self.first(), self.chain().sites - 2);
        for p in first..last {
            self.bond(p, Side::Left, 0.0, 0.0)?;
        }
        for p in (first + 1..=last).rev() {
            self.bond(p, Side::Right, 0.0, 0.0)?;
        }
        self.tally.missing = 0.0;
        Ok(())
    }

    /// Moves the state by a time, in the units of the chain.
    ///
    /// # Errors
    /// A number is not finite.
    pub(super) fn step(&mut self, time: f64) -> Result<(), DmrgError> {
        let (first, last) = (self.first(), self.chain().sites - 2);
        let half = 0.5 * time;
        self.half = half.abs();
        for p in first..last {
            self.bond(p, Side::Left, half, half)?;
        }
        if last > first {
            self.bond(last, Side::Right, time, half)?;
            for p in (first + 1..last).rev() {
                self.bond(p, Side::Right, half, half)?;
            }
        }
        let whole = if last > first { half } else { time };
        let (left, right) = self.sweeper.environments(first);
        let bond = TwoSiteBond::new(&self.sweeper.engine, self.chain(), &self.chain().sum, first, left, right)?;
        let wave = std::mem::take(&mut self.sweeper.wave);
        self.sweeper.wave = self.propagate(&bond, (first, first + 2), wave, whole)?;
        Ok(())
    }

    /// ψ between the blocks that end at these cuts, later.
    fn propagate(
        &mut self,
        bond: &TwoSiteBond,
        (left, right): (usize, usize),
        wave: Vec<f64>,
        time: f64,
    ) -> Result<Vec<f64>, DmrgError> {
        let (left, right) = (self.sweeper.block(Side::Left, left), self.sweeper.block(Side::Right, right));
        let (superblock, buffers) = (bond.superblock(), slices(bond.operands(left, right)));
        let mut between = Vec::new();
        let multiply = |x: &[f64]| {
            let mut y = vec![0.0; x.len()];
            superblock.multiply(buffers, x, &mut between, &mut y);
            y
        };
        let is_complex = self.chain().is_complex();
        let Evolved { vector, log_norm, bound, products, .. } =
            exponential(multiply, wave, (self.axis, time), is_complex, self.precision)?;
        self.tally.bound += bound;
        self.tally.products += products;
        self.tally.log_norm += log_norm;
        Ok(vector)
    }

    /// Moves bond `p` forward, splits it, moves the site ahead back, and goes on to the next bond.
    fn bond(&mut self, p: usize, grows: Side, forward: f64, back: f64) -> Result<(), DmrgError> {
        let chain = self.chain();
        let (left, right) = self.sweeper.environments(p);
        let bond = TwoSiteBond::new(&self.sweeper.engine, chain, &chain.sum, p, left, right)?;
        let wave = std::mem::take(&mut self.sweeper.wave);
        let wave = self.propagate(&bond, (p, p + 2), wave, forward)?;
        let (truncated, left_out) = self.split(&bond, p, &wave, grows)?;
        self.tally.missing += left_out;
        let Truncated { kept, mut centre, discarded, .. } = truncated;
        self.tally.discarded += discarded;
        // Right states of a complex chain are real, and as many as complex ones or up to twice that.
        if !chain.is_complex() || grows == Side::Left {
            self.tally.states = self.tally.states.max(kept.kept.total() / chain.copies());
        }
        let (left, right) = self.sweeper.environments(p);
        let operators = if grows == Side::Left { &bond.left_operators } else { &bond.right_operators };
        let cut = if grows == Side::Left { p } else { p + 2 };
        let identity = Chain::identity(&chain.sum, grows, cut);
        let grown = Environment::project(&self.sweeper.engine, operators, bond.operands(left, right), &kept, identity)?;
        // The site between the grown block and the one ahead.
        let TwoSiteBond { frame, left_operators, right_operators } = bond;
        let (site, around, cuts) = match grows {
            Side::Left => {
                self.sweeper.left[p + 1] = Some(grown);
                (self.sweeper.site_frame(p + 1, Side::Right), right_operators, (p + 1, p + 2))
            }
            Side::Right => {
                self.sweeper.right[p + 1] = Some(grown);
                (self.sweeper.site_frame(p, Side::Left), left_operators, (p, p + 1))
            }
        };
        let around = self.sweeper.around(&site, around)?;
        centre.data = self.propagate(&around, cuts, centre.data, -back)?;
        let grown = match grows {
            Side::Left => self.sweeper.left[p + 1].take(),
            Side::Right => self.sweeper.right[p + 1].take(),
        };
        let grown = grown.unwrap_or_else(|| unreachable!("it was stored above"));
        self.sweeper.advance(p, grows, &frame, kept, vec![centre], grown)
    }

    /// The states of the growing block that stay, and the weight of those that terms on distant sites lack.
    fn split(&self, bond: &TwoSiteBond, p: usize, wave: &Vec<f64>, grows: Side) -> Result<(Truncated, f64), DmrgError> {
        let (chain, wave, engine) = (self.chain(), bond.frame.wave(wave), &self.sweeper.engine);
        let in_pairs = chain.is_complex() && grows == Side::Left;
        // Real right states span the real and the imaginary parts of complex ones.
        let widened = chain.is_complex() && !in_pairs;
        let most = self.limits.most.saturating_mul(if widened { 2 } else { 1 });
        let limits = TruncationLimits { most, ..self.limits };
        let truncated = if in_pairs { truncate_pairs(wave, limits)? } else { engine.truncate(wave, grows, limits)? };
        let Some(norms) = &self.norms else { return Ok((truncated, 0.0)) };
        let (left, right) = self.sweeper.environments(p);
        let operators = if grows == Side::Left { &bond.left_operators } else { &bond.right_operators };
        let partner_norms = norms.partner_norms(grows, p + 1);
        let weight = |b: usize| (self.half * partner_norms[b]).powi(2);
        let density = perturbation(wave, grows, operators, slices(bond.operands(left, right)), weight);
        join_reached(wave, grows, truncated, &density, in_pairs, limits)
    }
}
