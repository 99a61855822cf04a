//! The chain as two blocks with ψ between them: what a sweep changes, and how it is read.

use super::averaged::Averaged;
use super::cut_weight::CutWeight;
use super::reference::{ReferenceOverlaps, ReferenceState};
use crate::block::blocks::Side;
use crate::block::bond::Frame;
use crate::block::environment::Environment;
use crate::block::one_site::OneSite;
use crate::block::state::Isometry;
use crate::chain::Chain;
use crate::chain::charges::Charges;
use crate::engine::Engine;
use crate::error::DmrgError;
use eigenforge_runtime::backend::HostBackend;
use eigenforge_runtime::solvers::lean::BasisChoice;
use std::collections::BTreeMap;

/// The chain as two blocks with ψ between them.
pub struct Sweeper<'c, E: Engine = HostBackend> {
    pub(crate) engine: E,
    pub(crate) chain: &'c Chain,
    /// `left[p]`: sites 0 … p−1.
    pub(crate) left: Vec<Option<Environment<E::Buffer>>>,
    /// `right[p]`: sites p … N−1.
    pub(crate) right: Vec<Option<Environment<E::Buffer>>>,
    /// `kept[p]`: states of site p with the block beside it, away from the bond of ψ.
    pub(crate) kept: Vec<Option<Isometry<E::Buffer>>>,
    pub(crate) wave: E::Buffer,
    /// The site of ψ, in sweeps of one site on their way; `None` if ψ is that of a bond.
    pub(crate) site: Option<OneSite>,
    /// The other states that share the kept states of ψ.
    pub(crate) averaged: Option<Averaged<E::Buffer>>,
    /// States to which ψ stays orthogonal.
    pub(crate) below: Vec<ReferenceOverlaps<E::Buffer>>,
    /// The energy of the bond solved last, if ψ is what was kept of it.
    pub(crate) settled: Option<f64>,
    /// At each bond the smallest weight that its last truncation kept, where the number of states limited it.
    pub(crate) cuts: Vec<Option<CutWeight>>,
    /// The number of states for which it records which would stay; 0 for none.
    pub(crate) foresees: usize,
    /// At each cut the states of each sector that would stay, by charge of the left part, where the weights show it.
    pub(crate) foreseen: Vec<Option<BTreeMap<Charges, f64>>>,
}

/// One block per cut.
pub(crate) type Blocks<B> = [Option<Environment<B>>];

/// The blocks on both sides of bond `p`.
pub(crate) fn neighbour_blocks<'a, B>(
    left: &'a Blocks<B>,
    right: &'a Blocks<B>,
    p: usize,
) -> (&'a Environment<B>, &'a Environment<B>) {
    let there = "blocks beside the bond of ψ are kept up to date";
    (left[p].as_ref().expect(there), right[p + 2].as_ref().expect(there))
}

impl<'c, E: Engine> Sweeper<'c, E> {
    /// Two ends without sites, and no ψ.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn empty(engine: E, chain: &'c Chain) -> Result<Sweeper<'c, E>, DmrgError> {
        let n = chain.sites;
        let none = |count: usize| (0..count).map(|_| None).collect::<Vec<Option<Environment<E::Buffer>>>>();
        let (mut left, mut right) = (none(n + 1), none(n + 1));
        (left[0], right[n]) = (Some(Environment::end_on(&engine)?), Some(Environment::end_on(&engine)?));
        let (wave, kept) = (engine.upload(Vec::new())?, (0..n).map(|_| None).collect());
        let (averaged, below, foreseen) = (None, Vec::new(), vec![None; n + 1]);
        Ok(Sweeper {
            engine,
            chain,
            left,
            right,
            kept,
            wave,
            site: None,
            averaged,
            below,
            settled: None,
            cuts: vec![None; n],
            foresees: 0,
            foreseen,
        })
    }

    pub(crate) fn environments(&self, p: usize) -> (&Environment<E::Buffer>, &Environment<E::Buffer>) {
        neighbour_blocks(&self.left, &self.right, p)
    }

    /// The engine.
    pub fn engine(&self) -> &E {
        &self.engine
    }

    /// The frame of bond `p`.
    pub(crate) fn frame(&self, p: usize) -> Frame {
        let (left, right) = self.environments(p);
        Frame::new(self.chain, p, &left.sectors, &right.sectors)
    }

    /// The bonds of a sweep with the growing side at each: right, then left, back to the first bond.
    pub fn path(sites: usize) -> impl Iterator<Item = (usize, Side)> {
        let there = (0..sites - 2).map(|p| (p, Side::Left));
        there.chain((1..sites - 1).rev().map(|p| (p, Side::Right)))
    }

    /// From now on, shares the kept states among states with these weights. ψ is the first of them; `others` are starting
    /// vectors at the same bond.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn share_among(
        &mut self,
        weights: &[f64],
        (seed, basis): (u64, BasisChoice),
        others: impl IntoIterator<Item = Vec<f64>>,
    ) -> Result<(), DmrgError> {
        let mut averaged = Averaged::new(weights, seed, basis);
        averaged.others = others.into_iter().map(|wave| self.engine.upload(wave)).collect::<Result<_, _>>()?;
        self.averaged = Some(averaged);
        Ok(())
    }

    /// The energies of the last bond for states that share their kept states, without the constant of H.
    pub(crate) fn levels(&self) -> &[f64] {
        self.averaged.as_ref().map_or(&[], |averaged| &averaged.levels)
    }

    /// Their average, if the bond had room for all.
    pub(crate) fn average(&self) -> Option<f64> {
        self.averaged.as_ref().and_then(Averaged::average)
    }

    /// For each state, the largest |⟨ψ_j|ψ_i⟩| with the earlier states that share its kept states.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn overlaps(&self) -> Result<Vec<f64>, DmrgError> {
        let waves: Vec<&E::Buffer> = self.waves().collect();
        let largest = |i: usize| {
            let with = |largest: f64, wave: &&E::Buffer| Ok(largest.max(self.engine.dot(wave, waves[i])?.abs()));
            waves[..i].iter().try_fold(0.0, with)
        };
        (0..waves.len()).map(largest).collect()
    }

    /// Drops the states that share the kept states with ψ.
    pub(crate) fn keep_lowest(&mut self) {
        self.averaged = None;
    }

    /// ψ at its bond, and the states that share its kept states.
    pub(crate) fn waves(&self) -> impl Iterator<Item = &E::Buffer> {
        std::iter::once(&self.wave).chain(self.averaged.iter().flat_map(|averaged| &averaged.others))
    }

    /// The block of a side that ends at cut `p`.
    pub(crate) fn block(&self, side: Side, p: usize) -> &Environment<E::Buffer> {
        let list = if side == Side::Left { &self.left } else { &self.right };
        list[p].as_ref().expect("blocks on the way of a sweep are kept up to date")
    }

    /// The largest |⟨below|ψ⟩|, with ψ at the first bond.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn largest_overlap(&self) -> Result<f64, DmrgError> {
        let frame = self.frame(0);
        // Of a complex chain the overlaps with ψ and iψ are the parts of one complex number.
        self.below.chunks(self.chain.copies()).try_fold(0.0f64, |largest, of_state| {
            let overlap = |size: f64, companion: &ReferenceOverlaps<E::Buffer>| -> Result<f64, DmrgError> {
                let vector = companion.vector(&self.engine, self.chain, 0, &frame)?;
                Ok(size.hypot(self.engine.dot(&vector, &self.wave)?))
            };
            Ok(largest.max(of_state.iter().try_fold(0.0, overlap)?))
        })
    }

    /// Takes the states to which ψ was kept orthogonal.
    pub(crate) fn take_references(&mut self) -> Vec<ReferenceState<E::Buffer>> {
        std::mem::take(&mut self.below).into_iter().map(ReferenceOverlaps::into_reference).collect()
    }

    /// The engine, for another search.
    pub(crate) fn into_engine(self) -> E {
        self.engine
    }

    /// ψ at its current bond.
    pub(crate) fn wave(&self) -> &E::Buffer {
        &self.wave
    }

    /// The states kept of each site.
    pub(crate) fn isometries(&self) -> &[Option<Isometry<E::Buffer>>] {
        &self.kept
    }

    /// ψ, at the first bond, and of a complex chain iψ, as states to which other searches stay orthogonal.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn references(&self) -> Result<Vec<ReferenceState<E::Buffer>>, DmrgError> {
        let frame = self.frame(0);
        let of = |turned| ReferenceState::new(&self.engine, self.chain, &frame, (&self.wave, &self.kept), turned);
        (0..self.chain.copies()).map(|copy| of(copy == 1)).collect()
    }
}
