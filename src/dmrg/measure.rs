//! What is read off a converged state: weights and entropy of every cut, populations of every site, the energy variance.
//!
//! In: a [`Sweeper`] with ψ at the first bond. Out: by carrying ψ once to the other end, without truncation,
//!
//! * the weights w of each cut (squares of the singular values), with the charges of the left part, and S = −Σ w ln w;
//! * the probability of each state of each site, whence ⟨n⟩, ⟨n↑n↓⟩, ⟨Sᶻ⟩;
//!
//! * on request, [correlations](super::correlations) of every pair of sites;
//!
//! and with the operator sum of H², ⟨H²⟩ − ⟨H⟩², which is zero for an eigenstate and for no other state.

use super::blocks::{PairedSector, Part, Side};
use super::bond::{Bond, Frame, carried_over};
use super::chain::Chain;
use super::charges::Charges;
use super::correlations::{Correlations, Correlator};
use super::engine::{Engine, Operands};
use super::environment::Environment;
use super::error::DmrgError;
use super::left_behind::Item;
use super::records::Space;
use super::site::{Kind, Site};
use super::superblock::Superblock;
use super::sweep::Sweeper;
use super::truncate::{Limits, NO_WEIGHT};
use eigenforge_runtime::trace;
use rayon::prelude::*;
use serde::Serialize;

/// A cut of the chain.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cut {
    /// Sites to its left.
    pub left_sites: usize,
    /// −Σ w ln w.
    pub entropy: f64,
    /// Number of weights.
    pub states: usize,
    /// The largest weights, descending: the entanglement spectrum is −ln of them.
    pub weights: Vec<f64>,
    /// The charges of the left part in each of these states, in the order of the run's charges.
    pub charges: Vec<Vec<i32>>,
}

/// Averages of one site.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SiteAverages {
    /// ⟨n_σ⟩ of fermions: ↑ and ↓, or flavour by flavour.
    pub densities: Option<Vec<f64>>,
    /// Σ_{σ<σ'} ⟨n_σ n_σ'⟩ of fermions, for electrons ⟨n↑n↓⟩.
    pub pairs: Option<f64>,
    /// ⟨Sᶻ⟩; flavour f of spin-F fermions has m = F − f.
    pub sz: f64,
}

/// Weights that are reported of a cut.
const SHOWN_WEIGHTS: usize = 32;
/// Wider operator sums are not squared: pairs of operators would cost more than the run.
const WIDEST_SQUARE: usize = 40;

/// ⟨H²⟩ − ⟨H⟩² of each state with ψ at the first bond and eigenvalues `energies` there (without the constant); `None` where
/// the operator sum is too wide to be squared.
///
/// # Errors
/// Those of the engine.
pub fn variances<E: Engine>(
    chain: &Chain,
    sweeper: &mut Sweeper<'_, E>,
    energies: &[f64],
) -> Result<Option<Vec<f64>>, DmrgError> {
    if chain.sum.width() > WIDEST_SQUARE {
        return Ok(None);
    }
    let _variance = trace::span("dmrg", "variance");
    let square = chain.sum.squared(&chain.site);
    let end = Environment::end_on(sweeper.engine())?;
    let mut right = Environment::end_on(sweeper.engine())?;
    for site in (2..chain.sites).rev() {
        let enlarged = chain.enlarge(Side::Right, &right.sectors, site + 1);
        if sweeper.kept_here(site)?.is_none() {
            return Ok(None);
        }
        let (engine, Some(kept)) = (sweeper.engine(), &sweeper.kept()[site]) else { return Ok(None) };
        right = carried_over(engine, chain, &square, Side::Right, site + 1, &right, &enlarged, kept)?;
        sweeper.leave_behind(&[Item::Kept(site)])?;
    }
    let engine = sweeper.engine();
    let bond = Bond::new(engine, chain, &square, 0, &end, &right)?;
    let superblock = Superblock::new(&bond.left_operators, &bond.right_operators, &bond.frame.layout);
    let variance = |(wave, energy): (&E::Buffer, &f64)| {
        let mean = expectation(engine, &superblock, bond.operands(&end, &right), wave)?;
        Ok(mean - energy * energy)
    };
    sweeper.waves().zip(energies).map(variance).collect::<Result<Vec<_>, _>>().map(Some)
}

/// ψᵀ O ψ.
pub(super) fn expectation<E: Engine>(
    engine: &E,
    operator: &Superblock,
    operands: Operands<'_, E::Buffer>,
    psi: &E::Buffer,
) -> Result<f64, DmrgError> {
    let operands = operands.with(Space::Input, psi);
    let between = engine.run(&operator.first, operands)?;
    let product = engine.run(&operator.second, operands.with(Space::Between, &between))?;
    engine.dot(psi, &product)
}

/// What the walk along the chain gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Walked {
    /// Cuts 1 … N−1.
    pub cuts: Vec<Cut>,
    /// Averages by position.
    pub sites: Vec<SiteAverages>,
    /// Pairs of positions, if they were asked for.
    pub correlations: Option<Correlations>,
}

/// Carries ψ from the first bond to the last and reads off what there is at each.
///
/// # Errors
/// Numbers that are not finite.
pub fn walk<E: Engine>(chain: &Chain, sweeper: &mut Sweeper<'_, E>, correlations: bool) -> Result<Walked, DmrgError> {
    let _walking = trace::span("dmrg", "averages");
    let everything = Limits { most: usize::MAX, least: 1, discarded: 0.0 };
    let mut walked = Walked { cuts: Vec::new(), sites: Vec::new(), correlations: None };
    let mut correlator = if correlations { Correlator::new(chain, sweeper.engine())? } else { None };
    for p in 0..chain.sites - 1 {
        let frame = sweeper.frame(p);
        let last = p + 2 == chain.sites;
        let psi = sweeper.engine().download(sweeper.wave())?;
        for (site, side) in [(p, Side::Left), (p + 1, Side::Right)].into_iter().take(1 + usize::from(last)) {
            let probability = populations(&frame, &psi, side);
            walked.sites.push(averages(&chain.site, &probability));
            correlator.iter_mut().for_each(|correlator| correlator.site(site, &probability));
        }
        let (right, engine) = (sweeper.environments(p).1, sweeper.engine());
        let pairs = correlator.as_mut().map(|correlator| correlator.bond(engine, &frame, sweeper.wave(), right, p));
        let pairs = pairs.transpose()?;
        let truncated = engine.truncate(frame.wave(sweeper.wave()), Side::Left, everything)?;
        walked.cuts.push(cut(chain, p + 1, &weights_of(&frame, &truncated.spectrum)));
        if let (Some(correlator), Some(pairs)) = (&mut correlator, &pairs) {
            correlator.carry(engine, pairs, &truncated.kept)?;
        }
        if !last {
            let sectors = truncated.kept.kept.clone();
            let empty = Environment { sectors, operators: Vec::new(), data: engine.upload(Vec::new())? };
            sweeper.advance(p, Side::Left, &frame, truncated.kept, vec![truncated.centre], empty)?;
        }
    }
    walked.correlations = correlator.map(Correlator::finish);
    Ok(walked)
}

/// The weights of ψ at a bond with the charges of its left part, descending.
fn weights_of(frame: &Frame, spectrum: &[Vec<f64>]) -> Vec<(f64, Charges)> {
    let of = |(sector, list): (usize, &Vec<f64>)| {
        let charges = frame.left.sectors.charges(sector);
        list.iter().filter(|weight| **weight > NO_WEIGHT).map(move |weight| (*weight, charges)).collect::<Vec<_>>()
    };
    let mut weights: Vec<(f64, Charges)> = spectrum.iter().enumerate().flat_map(of).collect();
    weights.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    weights
}

fn cut(chain: &Chain, left_sites: usize, weights: &[(f64, Charges)]) -> Cut {
    let entropy = weights.iter().filter(|(w, _)| *w > 0.0).map(|(w, _)| -w * w.ln()).sum::<f64>().max(0.0);
    let shown = &weights[..weights.len().min(SHOWN_WEIGHTS)];
    let used = chain.numbers.0.len();
    Cut {
        left_sites,
        entropy,
        states: weights.len(),
        weights: shown.iter().map(|(weight, _)| *weight).collect(),
        charges: shown.iter().map(|(_, charges)| charges.0[..used].to_vec()).collect(),
    }
}

/// The probability of each state of the site next to the block on a side: norms² of the rows of ψ, or of its columns, that
/// belong to the state.
fn populations(frame: &Frame, wave: &[f64], side: Side) -> Vec<f64> {
    let enlarged = if side == Side::Left { &frame.left } else { &frame.right };
    let square = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>();
    let of = |sector: &PairedSector| -> Vec<(usize, f64)> {
        let block = &wave[sector.offset..][..sector.rows * sector.columns];
        let part = |part: &Part| {
            let (first, end) = (part.first, part.first + part.dimension);
            let weight = match side {
                Side::Left => block.chunks_exact(sector.rows).map(|column| square(&column[first..end])).sum(),
                Side::Right => square(&block[first * sector.rows..end * sector.rows]),
            };
            (part.state, weight)
        };
        let own = if side == Side::Left { sector.left } else { sector.right };
        enlarged.parts[own].iter().map(part).collect()
    };
    let squares: Vec<Vec<(usize, f64)>> = frame.layout.sectors.par_iter().map(of).collect();
    let mut probability = Vec::new();
    for (state, weight) in squares.into_iter().flatten() {
        probability.resize(probability.len().max(state + 1), 0.0);
        probability[state] += weight;
    }
    probability
}

fn averages(site: &Site, probability: &[f64]) -> SiteAverages {
    let of = |state: usize| probability.get(state).copied().unwrap_or(0.0);
    let mean = |value: &dyn Fn(usize) -> f64| (0..site.dimension()).map(|state| value(state) * of(state)).sum::<f64>();
    if let Kind::Moment { two_s } = site.kind {
        let sz = mean(&|level| level as f64 - 0.5 * f64::from(two_s));
        return SiteAverages { densities: None, pairs: None, sz };
    }
    let modes = site.kind.modes().len();
    let filled = |state: usize, mode: usize| (state >> mode & 1) as f64;
    let densities: Vec<f64> = (0..modes).map(|mode| mean(&|state| filled(state, mode))).collect();
    let pairs = mean(&|state| {
        let n = f64::from(state.count_ones());
        0.5 * n * (n - 1.0)
    });
    let m = |mode: usize| 0.5 * (modes as f64 - 1.0) - mode as f64;
    let sz = densities.iter().enumerate().map(|(mode, density)| m(mode) * density).sum();
    SiteAverages { densities: Some(densities), pairs: Some(pairs), sz }
}
