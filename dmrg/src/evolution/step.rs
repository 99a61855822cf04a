//! A step in time of a matrix-product state: the time-dependent variational principle, two sites at a time. (`site_step.rs`: one.)
//!
//! In: ψ at the first bond, a time. Out: ψ there, later. To the right and back (Haegeman, Lubich, Oseledets, Vandereycken, Verstraete, Phys.
//! Rev. B 94, 165116 (2016), section IV), each bond moves forward by half the time, its ψ is split, and the site ahead moves
//! back by half of it; the last bond moves by all of it at once. The error of a step is of third order in the time. Each exponential
//! keeps length and energy in real time.
//!
//! Complex ψ is x + iy as (x, y) on a chain with an auxiliary site at the left end. Its states and i times them stay together in
//! left blocks ([`super::split`]), so every space contains what −iH makes of ψ. The auxiliary site is never split: bonds begin at 1.

use super::exponential::Evolved;
use super::reach::{Norms, join_reached, reached};
use super::split::truncate_pairs;
use super::time_engine::{ExponentialOf, TimeEngine};
use crate::block::blocks::Side;
use crate::block::bond::{TwoSiteBond, carried_over};
use crate::block::environment::Environment;
use crate::block::state::Isometry;
use crate::block::truncate::{Centre, CentreBlock, Truncated, TruncationLimits, Wave};
use crate::chain::Chain;
use crate::engine::Engine;
use crate::error::DmrgError;
use crate::sweep::eviction::Evictable;
use crate::sweep::sweeper::Sweeper;
use eigenforge_runtime::backend::HostBackend;
use eigenforge_runtime::solvers::TimeAxis;
use faer::Mat;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::rc::Rc;

/// States that stay, and ψ in terms of them.
type KeptWave<B> = (Isometry<B>, Centre<B>);

/// A state that moves in time.
pub(super) struct MovingState<'c, E: TimeEngine> {
    pub sweeper: Sweeper<'c, E>,
    pub axis: TimeAxis,
    /// States that may stay at a bond, and the weight that a truncation may drop.
    pub limits: TruncationLimits,
    /// Error of an exponential.
    pub precision: f64,
    /// Whether one site moves at a time, whose bonds grow.
    pub expands: bool,
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
    /// ∫ of the part of H that is a number, which turns the phase.
    pub phase: f64,
    /// Products with H.
    pub products: usize,
    /// The most states at a bond.
    pub states: usize,
}

const EVERYTHING: TruncationLimits = TruncationLimits { most: usize::MAX, least: 1, discarded: 0.0, factored: None };

impl<'c, E: TimeEngine> MovingState<'c, E> {
    /// From the kept states of sites 2 … and ψ of the first bond, which of a complex chain is that of the auxiliary site.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(super) fn new(
        engine: E,
        chain: &'c Chain,
        (kept, wave): (Vec<Option<Isometry>>, Vec<f64>),
        (axis, expands): (TimeAxis, bool),
        limits: TruncationLimits,
        precision: f64,
    ) -> Result<MovingState<'c, E>, DmrgError> {
        let mut sweeper = Sweeper::restored(engine, chain, kept, wave, 0)?;
        if chain.is_complex() {
            let frame = sweeper.frame(0);
            let identity = Isometry::new(&frame.left.sectors, &[Some(Mat::identity(2, 2))]);
            let identity = identity.carried(|data| sweeper.engine.upload(data))?;
            let end = sweeper.block(Side::Left, 0);
            let grown = carried_over(&sweeper.engine, chain, &chain.sum, Side::Left, 0, end, &frame.left, &identity)?;
            let mut blocks = Vec::new();
            for pair in &frame.layout.sectors {
                blocks.push(Some(CentreBlock { offset: pair.offset, rows: pair.rows, columns: pair.columns }));
            }
            let centre = Centre { blocks, data: sweeper.take_wave()? };
            sweeper.advance(0, Side::Left, &frame, identity, vec![centre], grown)?;
        }
        let norms = Norms::new(chain).map(Rc::new);
        Ok(MovingState { sweeper, axis, limits, precision, expands, tally: Tally::default(), norms, half: 0.0 })
    }

    pub(super) fn chain(&self) -> &'c Chain {
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
    pub(super) fn duplicate(&self) -> Result<MovingState<'c, E>, DmrgError> {
        let (kept, wave) = self.numbers()?;
        self.replaced(kept, wave, self.tally)
    }

    /// The kept states of all sites and ψ, on the host.
    fn numbers(&self) -> Result<(Vec<Option<Isometry>>, Vec<f64>), DmrgError> {
        let engine = &self.sweeper.engine;
        let kept = self.sweeper.kept.iter().map(|kept| kept.as_ref().map(|kept| kept.downloaded(engine)).transpose());
        Ok((kept.collect::<Result<_, _>>()?, engine.download(&self.sweeper.wave)?.into_owned()))
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
    ) -> Result<MovingState<'c, E>, DmrgError> {
        let engine = self.sweeper.engine.another()?;
        let sweeper = Sweeper::restored(engine, self.chain(), kept, wave, self.first())?;
        let MovingState { axis, limits, precision, expands, half, .. } = *self;
        Ok(MovingState { sweeper, axis, limits, precision, expands, tally, norms: self.norms.clone(), half })
    }

    /// The same state under the H of another chain of the same sites and charges.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(super) fn on_chain<'d>(&self, chain: &'d Chain) -> Result<MovingState<'d, E>, DmrgError> {
        let (kept, wave) = self.numbers()?;
        let sweeper = Sweeper::restored(self.sweeper.engine.another()?, chain, kept, wave, self.first())?;
        let MovingState { axis, limits, precision, expands, tally, half, .. } = *self;
        let norms = Norms::new(chain).map(Rc::new);
        Ok(MovingState { sweeper, axis, limits, precision, expands, tally, norms, half })
    }

    /// The state with ψ at the first bond of the chain, to be read off.
    ///
    /// # Errors
    /// A number is not finite.
    pub(super) fn snapshot(&self) -> Result<Sweeper<'c, HostBackend>, DmrgError> {
        let first = self.first();
        let bare = |side: Side, cut: usize| {
            let sectors = self.sweeper.block(side, cut).sectors.clone();
            Some(Environment { sectors, operators: Vec::new(), data: Vec::new() })
        };
        let mut copy = Sweeper::empty(HostBackend::default(), self.chain())?;
        (copy.kept, copy.wave) = self.numbers()?;
        copy.left[first] = bare(Side::Left, first);
        copy.right[first + 2] = bare(Side::Right, first + 2);
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
    pub(super) fn energy(&mut self) -> Result<f64, DmrgError> {
        self.fetch_blocks(self.first(), self.first() + 2)?;
        let (chain, p, engine) = (self.chain(), self.first(), &self.sweeper.engine);
        let (left, right) = self.sweeper.environments(p);
        let bond = TwoSiteBond::new(engine, chain, &chain.sum, p, left, right)?;
        Ok(engine.expectation(&bond.superblock(), bond.operands(left, right), &self.sweeper.wave)?)
    }

    /// Gives blocks the states that terms on distant sites need in a step of this time which is the first with them.
    ///
    /// # Errors
    /// A number is not finite.
    pub(super) fn prepare(&mut self, time: f64) -> Result<(), DmrgError> {
        if self.norms.is_none() {
            return Ok(());
        }
        self.half = 0.5 * time.abs();
        let missing = self.tally.missing;
        let (first, last) = (self.first(), self.chain().sites - 2);
        for p in first..last {
            self.bond(p, Side::Left, 0.0, 0.0)?;
        }
        for p in (first + 1..=last).rev() {
            self.bond(p, Side::Right, 0.0, 0.0)?;
        }
        self.tally.missing = missing;
        Ok(())
    }

    /// Moves the state by a time, in the units of the chain.
    ///
    /// # Errors
    /// A number is not finite.
    pub(super) fn step(&mut self, time: f64) -> Result<(), DmrgError> {
        if self.expands {
            return self.step_by_sites(time);
        }
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
        self.fetch_blocks(first, first + 2)?;
        let (left, right) = self.sweeper.environments(first);
        let bond = TwoSiteBond::new(&self.sweeper.engine, self.chain(), &self.chain().sum, first, left, right)?;
        let wave = self.sweeper.take_wave()?;
        self.sweeper.wave = self.propagate(&bond, (first, first + 2), wave, whole)?;
        Ok(())
    }

    /// Brings the blocks that end at these cuts into the engine's memory.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(super) fn fetch_blocks(&mut self, left: usize, right: usize) -> Result<(), DmrgError> {
        self.sweeper.ensure_resident(Evictable::Block(Side::Left, left))?;
        self.sweeper.ensure_resident(Evictable::Block(Side::Right, right))
    }

    /// ψ between the blocks that end at these cuts, later.
    pub(super) fn propagate(
        &mut self,
        bond: &TwoSiteBond<E::Buffer>,
        (left, right): (usize, usize),
        wave: E::Buffer,
        time: f64,
    ) -> Result<E::Buffer, DmrgError> {
        let (left, right) = (self.sweeper.block(Side::Left, left), self.sweeper.block(Side::Right, right));
        let (axis, is_complex, tolerance) = (self.axis, self.chain().is_complex(), self.precision);
        let of = ExponentialOf { axis, time, is_complex, tolerance };
        let found = self.sweeper.engine.exponential(bond, bond.operands(left, right), wave, of)?;
        let Evolved { vector, log_norm, bound, products } = found;
        self.tally.bound += bound;
        self.tally.products += products;
        self.tally.log_norm += log_norm;
        Ok(vector)
    }

    /// Moves bond `p` forward, splits it, moves the site ahead back, and goes on to the next bond.
    fn bond(&mut self, p: usize, grows: Side, forward: f64, back: f64) -> Result<(), DmrgError> {
        let chain = self.chain();
        self.fetch_blocks(p, p + 2)?;
        let (left, right) = self.sweeper.environments(p);
        let bond = TwoSiteBond::new(&self.sweeper.engine, chain, &chain.sum, p, left, right)?;
        let wave = self.sweeper.take_wave()?;
        let wave = self.propagate(&bond, (p, p + 2), wave, forward)?;
        let (kept, mut centre) = self.split(&bond, [p, p + 1, p + 2], &wave, grows)?;
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

    /// How many states may stay of a block, pairs of them where they are in pairs.
    pub(super) fn limits_of(&self, grows: Side) -> (TruncationLimits, bool) {
        let in_pairs = self.chain().is_complex() && grows == Side::Left;
        // Real right states span the real and the imaginary parts of complex ones.
        let widened = self.chain().is_complex() && !in_pairs;
        let most = self.limits.most.saturating_mul(if widened { 2 } else { 1 });
        (TruncationLimits { most, ..self.limits }, in_pairs)
    }

    /// The states of the growing block that stay, and ψ in terms of them; ψ lies between the blocks that end at the outer cuts, the grown
    /// block ends at the middle one.
    pub(super) fn split(
        &mut self,
        bond: &TwoSiteBond<E::Buffer>,
        [left, middle, right]: [usize; 3],
        wave: &E::Buffer,
        grows: Side,
    ) -> Result<KeptWave<E::Buffer>, DmrgError> {
        let (wave, engine) = (bond.frame.wave(wave), &self.sweeper.engine);
        let (limits, in_pairs) = self.limits_of(grows);
        let here = |data: E::Buffer| engine.download(&data).map(Cow::into_owned);
        let truncated = match (&self.norms, in_pairs) {
            (None, false) => engine.truncate(wave, grows, limits)?,
            (norms, _) => {
                let truncated = if in_pairs {
                    let data = engine.download(wave.data)?;
                    truncate_pairs(
                        Wave { layout: wave.layout, data: &data, left: wave.left, right: wave.right },
                        limits,
                    )?
                } else {
                    engine.truncate(wave, grows, limits)?.carried(here)?
                };
                let truncated = match norms {
                    None => truncated,
                    Some(norms) => {
                        let (left, right) =
                            (self.sweeper.block(Side::Left, left), self.sweeper.block(Side::Right, right));
                        let operators = if grows == Side::Left { &bond.left_operators } else { &bond.right_operators };
                        let partner_norms = norms.partner_norms(grows, middle);
                        let weight = |b: usize| (self.half * partner_norms[b]).powi(2);
                        let density = reached(engine, wave, grows, operators, bond.operands(left, right), weight)?;
                        let (truncated, left_out) = join_reached(wave, grows, truncated, &density, in_pairs, limits)?;
                        self.tally.missing += left_out;
                        truncated
                    }
                };
                truncated.carried(|data| engine.upload(data))?
            }
        };
        let Truncated { kept, centre, discarded, .. } = truncated;
        self.tally.discarded += discarded;
        // Right states of a complex chain are real, and as many as complex ones or up to twice that.
        if !self.chain().is_complex() || grows == Side::Left {
            self.tally.states = self.tally.states.max(kept.kept.total() / self.chain().copies());
        }
        Ok((kept, centre))
    }
}
