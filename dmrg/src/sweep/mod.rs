//! Finite-lattice two-site DMRG: one bond, and the sweep over all of them (White 1992, 1993).
//!
//! State: the blocks on both sides, the kept states of every site, ψ of the bond in between. A step solves the superblock
//! of two blocks and two sites, keeps the best states of the growing block, updates its operators and transforms ψ to the
//! next bond.

pub(crate) mod anneal;
pub(super) mod averaged;
pub(crate) mod cut_weight;
pub(crate) mod eviction;
pub(super) mod growth;
pub(crate) mod one_site;
pub(super) mod polish;
pub(super) mod reference;
pub(crate) mod restored;
pub(crate) mod sweep_record;
pub(super) mod sweeper;

use crate::block::blocks::Side;
use crate::block::bond::{Frame, TwoSiteBond};
use crate::block::environment::Environment;
use crate::block::start::{Random, random_blocks};
use crate::block::state::Isometry;
use crate::block::transform::TransformStep;
use crate::block::truncate::{self, Centre, Wave};
use crate::chain::Chain;
use crate::chain::charges::Charges;
use crate::engine::Engine;
use crate::error::DmrgError;
use crate::sweep_plan::SweepPlan;
use averaged::solve_all;
use cut_weight::CutWeight;
use eigenforge_runtime::solvers::lean::{BasisChoice, DavidsonLimits};
use eviction::Evictable;
use reference::{ReferenceOverlaps, ReferenceState};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::AddAssign;
use std::time::Instant;
use sweeper::{Sweeper, neighbour_blocks};

/// The result of a bond.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BondRecord {
    /// Position of its left site.
    pub bond: usize,
    /// The lowest eigenvalue of the superblock, in the [units](crate::Units) of the chain.
    pub energy: f64,
    /// The energy of the state that was kept at the bond before, after its cut, if that is known.
    pub before: Option<f64>,
    /// The average energy of states that share their kept states; `None` if they do not all fit.
    pub average: Option<f64>,
    /// ‖Hψ − Eψ‖ there.
    pub residual: f64,
    /// Elements of ψ.
    pub dimension: usize,
    /// States kept.
    pub kept: usize,
    /// Weight dropped.
    pub discarded: f64,
    /// By how much the energy had risen since the solve of the bond before, by its truncation, if that is known.
    pub lost: Option<f64>,
    /// Products with H.
    pub products: usize,
    /// Operations of one of them.
    pub flops: f64,
    /// Time per phase.
    pub seconds: Phases,
}

/// Wall-clock seconds of a bond, or of all bonds of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Phases {
    /// Operators of both sides, records, the diagonal.
    pub plan: f64,
    /// Davidson's method.
    pub solve: f64,
    /// Decomposition and choice of states.
    pub truncate: f64,
    /// The growing block, and ψ at the next bond.
    pub carry: f64,
}

impl AddAssign for Phases {
    fn add_assign(&mut self, other: Phases) {
        self.plan += other.plan;
        self.solve += other.solve;
        self.truncate += other.truncate;
        self.carry += other.carry;
    }
}

impl<'c, E: Engine> Sweeper<'c, E> {
    /// Starts from random blocks of `states` states, with ψ at the first bond.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn random(engine: E, chain: &'c Chain, states: usize, seed: u64) -> Result<Sweeper<'c, E>, DmrgError> {
        let mut sweeper = Sweeper::empty(engine, chain)?;
        let n = chain.sites;
        let mut random = Random::new(seed);
        for (made, block) in random_blocks(chain, states, &mut random)?.into_iter().enumerate() {
            let (p, engine) = (n - 1 - made, &sweeper.engine);
            let (block, kept) =
                (block.block.carried(|data| engine.upload(data))?, block.kept.carried(|data| engine.upload(data))?);
            (sweeper.right[p], sweeper.kept[p]) = (Some(block), Some(kept));
            sweeper.mark_evictable(&[Evictable::Kept(p), Evictable::Block(Side::Right, p + 1)])?;
        }
        let length = sweeper.frame(0).layout.length;
        sweeper.wave = sweeper.engine.upload((0..length).map(|_| random.number()).collect())?;
        Ok(sweeper)
    }

    /// Solves bond `p`, truncates, and moves to the next bond in the direction of growth.
    ///
    /// # Errors
    /// A number is not finite.
    pub fn step(&mut self, p: usize, grows: Side, plan: &SweepPlan) -> Result<BondRecord, DmrgError> {
        if let Some(seed) = plan.random {
            self.settled = None;
            let mut random = Random::new(seed.wrapping_mul(self.chain.sites as u64).wrapping_add(p as u64));
            let length = self.frame(p).layout.length;
            self.wave = self.engine.upload((0..length).map(|_| random.number()).collect())?;
            if let Some(averaged) = &mut self.averaged {
                averaged.others.clear();
            }
        }
        let mut whole = self.engine.span("bond");
        self.prefetch_ahead(p, grows)?;
        let (bond, mut record) = self.solve(p, plan.davidson)?;
        self.settled = self.settled.filter(|_| plan.noise == 0.0);
        let begun = Instant::now();
        let truncating = self.engine.span("truncation");
        let (left, right) = self.environments(p);
        let operands = bond.operands(left, right);
        let operators = if grows == Side::Left { &bond.left_operators } else { &bond.right_operators };
        let limits = truncate::TruncationLimits { factored: self.factor_limits(p, grows, plan), ..plan.limits };
        let truncate = |wave: Wave<'_, E::Buffer>| {
            if plan.noise > 0.0 {
                self.engine.truncate_with_noise(wave, grows, limits, operators, operands, plan.noise)
            } else {
                self.engine.truncate(wave, grows, limits)
            }
        };
        let (truncated, apart) = match &self.averaged {
            None => (truncate(bond.frame.wave(&self.wave))?, None),
            Some(averaged) => {
                let frame = &bond.frame;
                let (stack, data) = averaged.stacked(&self.engine, &frame.layout, grows, &self.wave)?;
                let (left, right) = (&frame.left, &frame.right);
                let truncated = truncate(Wave { layout: &stack.layout, data: &data, left, right })?;
                let centres = stack.apart(&self.engine, &truncated.centre)?;
                (truncated, Some(centres))
            }
        };
        let truncate::Truncated { kept, centre, discarded, weights, spectrum } = truncated;
        let centres = apart.unwrap_or_else(|| vec![centre]);
        (record.kept, record.discarded) = (kept.kept.total(), discarded);
        record.seconds.truncate = begun.elapsed().as_secs_f64();
        drop(truncating);
        let carrying = self.engine.span("carrying over");
        let cut = if grows == Side::Left { p } else { p + 2 };
        let identity = Chain::identity(&self.chain.sum, grows, cut);
        let grown = Environment::project(&self.engine, operators, operands, &kept, identity)?;
        self.cuts[p] = CutWeight::new(&weights, plan.limits);
        self.foreseen[p + 1] = self.foresee(&bond.frame, grows, &spectrum, plan.limits);
        self.advance(p, grows, &bond.frame, kept, centres, grown)?;
        drop(carrying);
        if let Some(whole) = &mut whole {
            whole.note("bond", p);
            whole.note("states", record.kept);
            whole.note("products", record.products);
            whole.note("elements", record.dimension);
            whole.note("energy in units of the chain", record.energy);
            whole.note("discarded", record.discarded);
        }
        record.seconds.carry = begun.elapsed().as_secs_f64() - record.seconds.truncate;
        Ok(record)
    }

    /// From where on density matrices take the place of singular values, and on a card factors that of long ones: where the smallest
    /// weight that stays can be told, and nobody asks which states more of them would keep. The weights of a bond are those of its last
    /// visit; on the first, about those of the bond before.
    pub(crate) fn factor_limits(&self, p: usize, grows: Side, plan: &SweepPlan) -> Option<truncate::FactorLimits> {
        let (rows, most) = (plan.factor_rows, plan.limits.most);
        if rows == 0 || self.foresees > most {
            return None;
        }
        let before = if grows == Side::Left { p.checked_sub(1) } else { Some(p + 1) };
        let known = |bond: usize| self.cuts.get(bond)?.filter(|cut| cut.most == most);
        let guessed = || known(before?).map(|cut| (NEXT * cut.smallest, NEXT * cut.relative));
        let (weight, relative) = known(p).map(|cut| (cut.smallest, cut.relative)).or_else(guessed)?;
        Some(truncate::FactorLimits { rows, weight, relative })
    }

    /// The states of a block that would stay if more were allowed.
    pub(crate) fn foresee(
        &self,
        frame: &Frame,
        grows: Side,
        spectrum: &[Vec<f64>],
        limits: truncate::TruncationLimits,
    ) -> Option<BTreeMap<Charges, f64>> {
        if self.foresees <= limits.most {
            return None;
        }
        let limits = truncate::TruncationLimits { most: self.foresees, ..limits };
        let counts = truncate::foreseen(spectrum, &frame.layout, limits)?;
        let (sectors, total) = match grows {
            Side::Left => (&frame.left.sectors, None),
            Side::Right => (&frame.right.sectors, Some(self.chain.total)),
        };
        let charges = |q: usize| total.map_or(sectors.charges(q), |total| total - sectors.charges(q));
        Some(counts.iter().enumerate().map(|(q, count)| (charges(q), *count as f64)).collect())
    }

    /// The lowest state of bond `p`, starting from ψ, or the lowest few.
    fn solve(&mut self, p: usize, limits: DavidsonLimits) -> Result<(TwoSiteBond<E::Buffer>, BondRecord), DmrgError> {
        let begun = Instant::now();
        let limits = self.chain.units.limits(limits);
        let waiting = self.engine.span("wait for blocks");
        self.ensure_resident(Evictable::Block(Side::Left, p))?;
        self.ensure_resident(Evictable::Block(Side::Right, p + 2))?;
        drop(waiting);
        let planning = self.engine.span("plan of the bond");
        if let Some(averaged) = &mut self.averaged {
            let (left, right) = neighbour_blocks(&self.left, &self.right, p);
            let length = Frame::new(self.chain, p, &left.sectors, &right.sectors).layout.length;
            averaged.complete(&self.engine, length)?;
        }
        let (left, right) = neighbour_blocks(&self.left, &self.right, p);
        let bond = TwoSiteBond::new(&self.engine, self.chain, &self.chain.sum, p, left, right)?;
        let superblock = bond.superblock();
        let operands = bond.operands(left, right);
        let diagonal = self.engine.diagonal(&bond, left, right)?;
        let planned = begun.elapsed().as_secs_f64();
        drop(planning);
        let _solving = self.engine.span("Davidson");
        let against = self.below.iter().map(|companion| companion.vector(&self.engine, self.chain, p, &bond.frame));
        let mut against = against.collect::<Result<Vec<_>, _>>()?;
        // If there are as many lower states as dimensions, nothing is left to search: the highest are dropped.
        against.truncate(bond.frame.layout.length.saturating_sub(1));
        let below: Vec<&E::Buffer> = against.iter().collect();
        let mut others = self.averaged.as_mut();
        let basis = others.as_ref().map_or(BasisChoice::Each, |averaged| averaged.basis);
        let mut waves: Vec<&mut E::Buffer> = vec![&mut self.wave];
        waves.extend(others.iter_mut().flat_map(|averaged| &mut averaged.others));
        let is_common = basis.is_common(superblock.flops(), bond.frame.layout.length, waves.len());
        let limits = (limits, is_common);
        let found = solve_all(&mut self.engine, &superblock, operands, &diagonal, &mut waves, limits, &below)?;
        let levels: Vec<f64> = found.iter().map(|found| found.value).collect();
        let average = others.and_then(|averaged| {
            averaged.levels.clone_from(&levels);
            averaged.average()
        });
        let energy = levels[0];
        if !energy.is_finite() {
            return Err(self.chain.not_finite([p, p + 1]));
        }
        let residual = found.iter().fold(0.0f64, |largest, found| largest.max(found.residual));
        let products = found.iter().map(|found| found.products).sum();
        let (dimension, flops) = (bond.frame.layout.length, superblock.flops());
        let seconds = Phases { plan: planned, solve: begun.elapsed().as_secs_f64() - planned, ..Phases::default() };
        let (kept, discarded) = (0, 0.0);
        // What the truncation of the bond before cost; unknown where noise changed ψ, or a new start.
        let before = Some(found[0].first).filter(|first| first.is_finite());
        let lost = self.settled.zip(before).map(|(settled, before)| (before - settled).max(0.0));
        self.settled = Some(energy);
        let record = BondRecord {
            bond: p,
            energy,
            before,
            average,
            residual,
            dimension,
            kept,
            discarded,
            lost,
            products,
            flops,
            seconds,
        };
        Ok((bond, record))
    }

    /// Stores the kept states and moves ψ to the next bond; `centres` are ψ and the states beside it in the kept basis.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn advance(
        &mut self,
        p: usize,
        grows: Side,
        frame: &Frame,
        kept: Isometry<E::Buffer>,
        centres: Vec<Centre<E::Buffer>>,
        grown: Environment<E::Buffer>,
    ) -> Result<(), DmrgError> {
        let next = if grows == Side::Left { p + 1 } else { p - 1 };
        // The block and kept states that the bond no longer needs, and those of the site it moves to.
        let (site, given_up) = if grows == Side::Left { (p, p + 2) } else { (p + 1, p - 1) };
        let sectors = &kept.kept;
        let new = match grows {
            Side::Left => Frame::new(self.chain, next, sectors, &self.block(Side::Right, next + 2).sectors),
            Side::Right => Frame::new(self.chain, next, &self.block(Side::Left, next).sectors, sectors),
        };
        let (old_other, new_own) =
            if grows == Side::Left { (&frame.right, &new.left) } else { (&frame.left, &new.right) };
        self.ensure_resident(Evictable::Kept(given_up))?;
        let v = self.kept[given_up].take().expect("states of every site away from the bond are kept");
        let moved = |centre: &Centre<E::Buffer>| {
            let (old, new) = (&frame.layout, &new.layout);
            let step = TransformStep { grown: grows, old, old_other, kept: &kept, centre, given_up: &v, new_own, new };
            step.wave(&self.engine)
        };
        let mut waves = centres.iter().map(moved).collect::<Result<Vec<_>, _>>()?.into_iter();
        if let Some(wave) = waves.next() {
            self.wave = wave;
        }
        if let Some(averaged) = &mut self.averaged {
            averaged.others = waves.collect();
        }
        let enlarged = if grows == Side::Left { &frame.left } else { &frame.right };
        for companion in &mut self.below {
            companion.carry(&self.engine, self.chain, grows, site, &kept, enlarged)?;
        }
        self.kept[site] = Some(kept);
        // The shrinking block is recomputed on the way back; until then it would only take memory.
        match grows {
            Side::Left => (self.left[next], self.right[next + 1]) = (Some(grown), None),
            Side::Right => (self.right[next + 2], self.left[next + 1]) = (Some(grown), None),
        }
        self.mark_evictable(&[
            Evictable::Kept(site),
            Evictable::Block(grows, if grows == Side::Left { p } else { p + 2 }),
        ])
    }

    /// Solves the first bond without truncation, for the reported state.
    ///
    /// # Errors
    /// A number is not finite.
    pub fn finish(&mut self, limits: DavidsonLimits) -> Result<BondRecord, DmrgError> {
        Ok(self.solve(0, limits)?.1)
    }

    /// ⟨H⟩ of ψ at the first bond.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn energy_of_first_bond(&self) -> Result<f64, DmrgError> {
        let (left, right) = self.environments(0);
        let bond = TwoSiteBond::new(&self.engine, self.chain, &self.chain.sum, 0, left, right)?;
        Ok(self.engine.expectation(&bond.superblock(), bond.operands(left, right), &self.wave)?)
    }

    /// Keeps ψ, at bond `p`, orthogonal to these states in the following solves.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn stay_orthogonal_to(
        &mut self,
        states: Vec<ReferenceState<E::Buffer>>,
        p: usize,
    ) -> Result<(), DmrgError> {
        if states.is_empty() {
            return Ok(());
        }
        for site in 0..self.chain.sites {
            self.ensure_resident(Evictable::Kept(site))?;
        }
        let beside = |state| ReferenceOverlaps::new(&self.engine, self.chain, state, &self.kept, p);
        self.below = states.into_iter().map(beside).collect::<Result<_, _>>()?;
        (0..self.chain.sites).try_for_each(|site| self.mark_evictable(&[Evictable::Kept(site)]))
    }
}

/// The smallest weight of a bond as a part of that of the bond before: on a cylinder they rise and fall from column to column.
const NEXT: f64 = 0.3;
