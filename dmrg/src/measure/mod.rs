//! What is read off a converged state: weights and entropy of every cut, populations of every site, the energy variance.
//!
//! In: a [`Sweeper`] with ψ at the first bond. Out: by carrying ψ around one site (`one_site`) to the other end, without truncation,
//!
//! * the weights w of each cut (squares of the singular values; `complex` says what they are of a complex chain), with the
//!   charges of the left part, and S = −Σ w ln w;
//! * the probability of each state of each site, and pairs of sites where an observable needs them
//!   (`observed` says which);
//!
//! and ⟨H²⟩ − ⟨H⟩², which is zero for an eigenstate and for no other state: with the operator sum of H², or from the residual in few
//! vectors with a standard error (`residual`).

mod complex;
pub(crate) mod correlations;
pub(crate) mod observed;
pub(crate) mod residual;
mod rows;

use crate::block::blocks::{PairedSector, Side};
use crate::block::bond::{Frame, TwoSiteBond, carried_over};
use crate::block::environment::{BlockOperator, Environment};
use crate::block::one_site::{Density, OneSite, RowsOfSector, sums_by_state};
use crate::block::state::KeptBlock;
use crate::block::transform::TransformStep;
use crate::block::truncate::{NO_WEIGHT, ROUNDING, TruncationLimits};
use crate::chain::Chain;
use crate::chain::charges::Charges;
use crate::chain::operator_sum::OperatorSum;
use crate::chain::terms::Terms;
use crate::chain::twins::Twin;
use crate::engine::Engine;
use crate::error::DmrgError;
use crate::sweep::eviction::Evictable;
use crate::sweep::sweeper::Sweeper;
use complex::PhaseBlock;
use correlations::Correlator;
use eigenforge_core::observable::Averages;
use eigenforge_runtime::BackendError;
use eigenforge_runtime::trace;
use observed::{ObservedPlan, PairValues};
use serde::{Deserialize, Serialize};

/// A cut of the chain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CutRecord {
    /// Sites to its left.
    pub left_sites: usize,
    /// −Σ w ln w.
    pub entropy: f64,
    /// Number of weights.
    pub states: usize,
    /// The largest weights, descending: the entanglement spectrum is −ln of them.
    pub weights: Vec<f64>,
    /// The charges of the left part in each of these states, in the order of the run's charges; behind them its irrep, from 0, if it is
    /// conserved.
    pub charges: Vec<Vec<i32>>,
}

/// Weights that are reported of a cut.
const SHOWN_WEIGHTS: usize = 32;

/// ⟨H²⟩ − ⟨H⟩² of each state with ψ at the first bond and eigenvalues `energies` there (without the constant), by the operator sum
/// of H²; `None` where kept states are missing.
///
/// # Errors
/// An error of the engine.
pub(super) fn variances<E: Engine>(
    chain: &Chain,
    sweeper: &mut Sweeper<'_, E>,
    energies: &[f64],
) -> Result<Option<Vec<f64>>, DmrgError> {
    let square = chain.sum.squared(&chain.local);
    let Some(squares) = expectations(chain, sweeper, &square, &square.right_twins())? else { return Ok(None) };
    Ok(Some(squares.iter().zip(energies).map(|(square, energy)| square - energy * energy).collect()))
}

/// ⟨O⟩ of each state with ψ at the first bond; of the operators in `twins` the transposes are computed.
fn expectations<E: Engine>(
    chain: &Chain,
    sweeper: &mut Sweeper<'_, E>,
    sum: &OperatorSum,
    twins: &[Vec<Option<Twin>>],
) -> Result<Option<Vec<f64>>, DmrgError> {
    let computed = sum.remove_twins(twins);
    let end = Environment::end_on(sweeper.engine())?;
    let mut right = Environment::end_on(sweeper.engine())?;
    for site in (2..chain.sites).rev() {
        let enlarged = chain.enlarge(Side::Right, &right.sectors, site + 1);
        if sweeper.fetch_kept(site)?.is_none() {
            return Ok(None);
        }
        let (engine, Some(kept)) = (sweeper.engine(), &sweeper.isometries()[site]) else { return Ok(None) };
        right = carried_over(engine, chain, &computed, Side::Right, site + 1, &right, &enlarged, kept)?;
        for (operator, twin) in right.operators.iter_mut().zip(&twins[site]) {
            if let Some(Twin { of, factor }) = *twin {
                *operator = BlockOperator::Transposed { of, factor };
            }
        }
        sweeper.mark_evictable(&[Evictable::Kept(site)])?;
    }
    let engine = sweeper.engine();
    let bond = TwoSiteBond::new(engine, chain, sum, 0, &end, &right)?;
    let superblock = bond.superblock();
    let mean = |wave: &E::Buffer| engine.expectation(&superblock, bond.operands(&end, &right), wave);
    Ok(Some(sweeper.waves().map(mean).collect::<Result<_, BackendError>>()?))
}

/// ⟨O⟩ of every operator that a plan contracts with the whole chain: one list per state with ψ at the first bond.
///
/// # Errors
/// An error of the engine, or kept states that are missing.
pub(crate) fn contractions<E: Engine>(
    chain: &Chain,
    sweeper: &mut Sweeper<'_, E>,
    plan: &ObservedPlan<'_>,
) -> Result<Vec<Vec<f64>>, DmrgError> {
    let mut states = vec![Vec::with_capacity(plan.contracted.len()); sweeper.waves().count()];
    if plan.contracted.is_empty() {
        return Ok(states);
    }
    let _contracting = trace::span("dmrg", "observables");
    let positions = chain.positions();
    for operator in &plan.contracted {
        let terms = Terms::new(operator, &chain.local, &positions)?;
        let constant = terms.constant;
        let sum = (!terms.list.is_empty()).then(|| OperatorSum::new(terms, chain.sites));
        let values = match sum {
            Some(sum) => {
                let none: Vec<Vec<Option<Twin>>> = sum.cuts.iter().map(|cut| vec![None; cut.width()]).collect();
                expectations(chain, sweeper, &sum, &none)?
            }
            None => Some(vec![0.0; states.len()]),
        };
        // Without kept states nothing can be contracted: the average is not known.
        let values = values.unwrap_or(vec![f64::NAN; states.len()]);
        states.iter_mut().zip(values).for_each(|(state, value)| state.push(constant + value));
    }
    Ok(states)
}

/// What is measured of a state along the chain.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ChainMeasurements {
    /// Cuts 1 … N−1.
    pub cuts: Vec<CutRecord>,
    /// Averages on the sites of the lattice.
    pub averages: Averages,
}

/// What is read off while ψ is carried along the chain.
struct Walk {
    cuts: Vec<CutRecord>,
    /// The probability of each state of the site at each position.
    populations: Vec<Vec<f64>>,
    pairs: PairValues,
}

/// Reads off what there is at each site and cut, with ψ at the first bond; ψ and the kept states are used up. `contracted` are
/// the averages that [`contractions`] gave for this state.
///
/// Weights are squares of the singular values of ψ around one site; where the engine's are eigenvalues of density matrices anyhow,
/// and no pairs are asked for, they are those of the density matrix as it is carried from cut to cut.
///
/// # Errors
/// Numbers that are not finite.
pub(crate) fn walk<E: Engine>(
    chain: &Chain,
    sweeper: &mut Sweeper<'_, E>,
    plan: &ObservedPlan<'_>,
    contracted: &[f64],
) -> Result<ChainMeasurements, DmrgError> {
    let _walking = trace::span("dmrg", "averages");
    let by_density = plan.wanted.is_empty() && !chain.is_complex() && sweeper.engine().weighs_by_density();
    let Walk { cuts, populations, pairs } = walk_by(chain, sweeper, plan, by_density)?;
    Ok(ChainMeasurements { cuts, averages: plan.averages(&populations, &pairs, contracted) })
}

fn walk_by<E: Engine>(
    chain: &Chain,
    sweeper: &mut Sweeper<'_, E>,
    plan: &ObservedPlan<'_>,
    by_density: bool,
) -> Result<Walk, DmrgError> {
    let everything = TruncationLimits { most: usize::MAX, least: 1, discarded: 0.0, factored: None };
    let mut walked = Walk { cuts: Vec::new(), populations: Vec::new(), pairs: PairValues::new() };
    let mut correlator = Correlator::new(plan, sweeper.engine())?;
    let mut phases = chain.is_complex().then(|| PhaseBlock::new(sweeper.engine())).transpose()?;
    let (mut frame, mut wave) = (sweeper.frame(0), sweeper.take_wave()?);
    for p in 0..chain.sites {
        let engine = sweeper.engine();
        walked.populations.push(populations(engine, &frame, &wave)?);
        let pairs =
            correlator.as_mut().map(|correlator| correlator.around_site(engine, &frame, &wave, p)).transpose()?;
        if p + 1 == chain.sites {
            break;
        }
        if by_density && p == 1 {
            let density = Density::new(engine, &frame, &wave)?;
            drop(wave);
            walk_behind(chain, sweeper, density, &mut walked)?;
            break;
        }
        let truncated = engine.truncate(frame.wave(&wave), Side::Left, everything)?;
        match &mut phases {
            None => walked.cuts.push(cut(chain, p + 1, &weights_of(&frame, &truncated.spectrum))),
            Some(phases) => {
                phases.carry(engine, &frame, p, &truncated.kept)?;
                // Behind the auxiliary site there is no cut of the lattice.
                if p > 0 {
                    let weights = phases.weights(engine, &frame, &truncated)?;
                    walked.cuts.push(cut(chain, p, &descending(weights)));
                }
            }
        }
        if let (Some(correlator), Some(pairs)) = (&mut correlator, &pairs) {
            correlator.carry(engine, pairs, &truncated.kept)?;
        }
        let (kept, centre) = (&truncated.kept, &truncated.centre);
        let behind = sweeper.kept_behind(p + 1);
        let site = OneSite::new(chain, p + 1, Side::Right, &kept.kept, &behind);
        wave = if p == 0 {
            site.taken_over(engine, centre)?
        } else {
            let given_up = sweeper.take_kept(p + 1)?;
            let (old, new, new_own) = (&frame.layout, &site.frame.layout, &site.frame.left);
            let (grown, old_other) = (Side::Left, &frame.right);
            let step = TransformStep { grown, old, old_other, kept, centre, given_up: &given_up, new_own, new };
            step.wave(sweeper.engine())?
        };
        let regrouped = OneSite::new(chain, p + 1, Side::Left, &kept.kept, &behind);
        wave = site.regrouped(&regrouped, sweeper.engine(), &wave)?;
        frame = regrouped.frame;
    }
    walked.pairs = correlator.map(Correlator::finish).unwrap_or_default();
    Ok(walked)
}

/// The rest of the walk from cut 2 on, by the density matrix of the sites behind it.
fn walk_behind<E: Engine>(
    chain: &Chain,
    sweeper: &mut Sweeper<'_, E>,
    mut density: Density<E::Buffer>,
    walked: &mut Walk,
) -> Result<(), DmrgError> {
    for p in 2..chain.sites {
        let (kept, behind) = (sweeper.take_kept(p)?, sweeper.kept_behind(p));
        let (engine, enlarged) = (sweeper.engine(), chain.enlarge(Side::Right, &behind, p + 1));
        let product = density.onto_states(engine, &kept)?;
        walked.cuts.push(cut(chain, p, &density_weights(chain, density.eigenvalues(engine)?)));
        let matrix = |v: &KeptBlock| RowsOfSector {
            sector: v.enlarged_sector,
            offset: v.offset,
            rows: v.rows,
            columns: v.columns,
        };
        let matrices: Vec<RowsOfSector> = kept.blocks.iter().map(matrix).collect();
        let (states, both) = (chain.site(p).dimension(), (&kept.data, Some(&product)));
        walked.populations.push(sums_by_state(engine, &enlarged, &matrices, states, both)?);
        density = Density::behind(engine, &enlarged, &kept, &product, &behind)?;
    }
    Ok(())
}

/// Eigenvalues of the density matrix behind a cut with the charges of the left part, descending, without those that are rounding.
fn density_weights(chain: &Chain, eigenvalues: Vec<(Charges, Vec<f64>)>) -> Vec<(f64, Charges)> {
    let largest = eigenvalues.iter().flat_map(|(_, values)| values).fold(0.0f64, |most, w| most.max(*w));
    let of = |(charges, values): (Charges, Vec<f64>)| values.into_iter().map(move |w| (w, chain.total - charges));
    descending(eigenvalues.into_iter().flat_map(of).filter(|(weight, _)| *weight >= ROUNDING * largest).collect())
}

/// The weights of ψ with the charges of its left part, descending.
fn weights_of(frame: &Frame, spectrum: &[Vec<f64>]) -> Vec<(f64, Charges)> {
    let of = |(sector, list): (usize, &Vec<f64>)| {
        let charges = frame.left.sectors.charges(sector);
        list.iter().filter(|weight| **weight > NO_WEIGHT).map(move |weight| (*weight, charges)).collect::<Vec<_>>()
    };
    descending(spectrum.iter().enumerate().flat_map(of).collect())
}

fn descending(mut weights: Vec<(f64, Charges)>) -> Vec<(f64, Charges)> {
    weights.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    weights
}

fn cut(chain: &Chain, left_sites: usize, weights: &[(f64, Charges)]) -> CutRecord {
    let entropy = weights.iter().filter(|(w, _)| *w > 0.0).map(|(w, _)| -w * w.ln()).sum::<f64>().max(0.0);
    let shown = &weights[..weights.len().min(SHOWN_WEIGHTS)];
    let used = chain.numbers.len();
    let irrep = |charges: &Charges| chain.irreps.as_ref().map_or(Vec::new(), |_| vec![i32::from(charges.1)]);
    CutRecord {
        left_sites,
        entropy,
        states: weights.len(),
        weights: shown.iter().map(|(weight, _)| *weight).collect(),
        charges: shown.iter().map(|(_, charges)| [&charges.0[..used], &irrep(charges)[..]].concat()).collect(),
    }
}

/// The probability of each state of the site of the left block: norms² of the rows of ψ that belong to it.
fn populations<E: Engine>(engine: &E, frame: &Frame, wave: &E::Buffer) -> Result<Vec<f64>, DmrgError> {
    let matrix = |s: &PairedSector| RowsOfSector { sector: s.left, offset: s.offset, rows: s.rows, columns: s.columns };
    let matrices: Vec<RowsOfSector> = frame.layout.sectors.iter().map(matrix).collect();
    sums_by_state(engine, &frame.left, &matrices, frame.left.states(), (wave, None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::counting::CountingEngine;
    use crate::memory::shares::Shares;
    use crate::options::Options;
    use eigenforge_core::basis::Sector;
    use eigenforge_core::lattice::Lattice;
    use eigenforge_core::models::{hubbard, xxz};
    use eigenforge_runtime::backend::HostBackend;
    use eigenforge_runtime::dense::{View, decompose};
    use eigenforge_runtime::residency::ProcessorKind;

    /// A state of a few kept states after two sweeps.
    fn swept(chain: &Chain) -> Sweeper<'_> {
        let mut sweeper = Sweeper::random(HostBackend::default(), chain, 6, 11).unwrap();
        let plan = Options { states: vec![14], noise: Some(vec![0.0]), ..Options::default() }.plan(2);
        for (p, grows) in (0..2).flat_map(|_| Sweeper::<HostBackend>::path(chain.sites)) {
            sweeper.step(p, grows, &plan).unwrap();
        }
        sweeper.finish(plan.davidson).unwrap();
        sweeper
    }

    /// All d^N amplitudes of ψ at the first bond; the state of the first site counts most.
    fn amplitudes(chain: &Chain, sweeper: &Sweeper<'_>) -> Vec<f64> {
        let d = chain.site(0).dimension();
        // For each sector and state kept behind a cut, its amplitudes over the sites there.
        let mut behind: Vec<Vec<Vec<f64>>> = vec![vec![vec![1.0]]];
        let grown = |enlarged: &crate::block::blocks::Enlarged, q: usize, row: usize, behind: &[Vec<Vec<f64>>]| {
            let part = enlarged.parts[q].iter().find(|part| row < part.first + part.dimension).unwrap();
            let state = &behind[part.block][row - part.first];
            let mut long = vec![0.0; d * state.len()];
            long[part.state * state.len()..][..state.len()].copy_from_slice(state);
            long
        };
        for site in (2..chain.sites).rev() {
            let kept = sweeper.isometries()[site].as_ref().unwrap();
            let enlarged = chain.enlarge(Side::Right, &sweeper.kept_behind(site), site + 1);
            let mut here = vec![Vec::new(); kept.kept.len()];
            for v in &kept.blocks {
                here[v.kept_sector] = (0..v.columns)
                    .map(|k| {
                        let mut state = vec![0.0; d * behind[0][0].len()];
                        for row in 0..v.rows {
                            let amplitude = kept.data[v.offset + row + k * v.rows];
                            let long = grown(&enlarged, v.enlarged_sector, row, &behind);
                            state.iter_mut().zip(long).for_each(|(to, from)| *to += amplitude * from);
                        }
                        state
                    })
                    .collect();
            }
            behind = here;
        }
        let frame = sweeper.frame(0);
        let length = d * behind[0][0].len();
        let mut all = vec![0.0; d * length];
        for s in &frame.layout.sectors {
            for (row, column) in (0..s.rows).flat_map(|row| (0..s.columns).map(move |column| (row, column))) {
                let amplitude = sweeper.wave()[s.offset + row + column * s.rows];
                let first = frame.left.parts[s.left].iter().find(|part| row == part.first).unwrap().state;
                let long = grown(&frame.right, s.right, column, &behind);
                all[first * length..][..length].iter_mut().zip(long).for_each(|(to, from)| *to += amplitude * from);
            }
        }
        all
    }

    /// The weights of every cut, to the last reported, and the averages of every site are those of the vector of all amplitudes;
    /// by singular values down to weights of 1e-28, by the density matrix to its rounding.
    #[test]
    fn weights_of_every_cut_are_those_of_the_whole_vector() {
        let numbers = |n: usize, seed: u64| eigenforge_runtime::seeded::vector(n, seed);
        let lattice = Lattice::chain(8).open();
        let spins = xxz(&lattice, &numbers(7, 1), &numbers(7, 2), &numbers(8, 3), &[0.0; 8]);
        let lattice = Lattice::chain(5).open();
        let electrons = hubbard(&lattice, &numbers(4, 4), &[2.0; 5], &numbers(5, 5), 0.0, &[0.3; 4]);
        let three = xxz(&Lattice::chain(3).open(), &[1.0; 2], &[0.5; 2], &numbers(3, 6), &[0.0; 3]).spin(2);
        let sectors = [Sector::Spins { two_sz: 0 }, Sector::Fermions { up: 3, down: 2 }, Sector::Spins { two_sz: 2 }];
        for (operator, sector) in [spins, electrons, three].into_iter().zip(sectors) {
            let chain = Chain::new(&operator, sector.clone(), None).unwrap();
            let (d, all) = (chain.site(0).dimension(), amplitudes(&chain, &swept(&chain)));
            let norm: f64 = all.iter().map(|x| x * x).sum();
            assert!((norm - 1.0).abs() < 1e-13 && all.len() == d.pow(chain.sites as u32));
            for by_density in [false, true] {
                let plan = ObservedPlan::new(&chain, &[]).unwrap();
                let walked = walk_by(&chain, &mut swept(&chain), &plan, by_density).unwrap();
                assert_eq!((walked.cuts.len(), walked.populations.len()), (chain.sites - 1, chain.sites));
                for cut in &walked.cuts {
                    let rows = d.pow((chain.sites - cut.left_sites) as u32);
                    let exact = decompose(View::new(&all, rows, all.len() / rows)).unwrap().s;
                    let squares = || exact.iter().map(|s| s * s);
                    let entropy: f64 = squares().filter(|w| *w > NO_WEIGHT).map(|w| -w * w.ln()).sum();
                    assert!((cut.entropy - entropy).abs() < 1e-12, "{sector:?} {by_density}: {cut:?} is not {entropy}");
                    assert!(cut.states == cut.weights.len() && cut.states <= exact.len());
                    for (k, s) in exact.iter().enumerate() {
                        let w = cut.weights.get(k).copied().unwrap_or(0.0);
                        let error = if by_density { (w - s * s).abs() } else { (w.sqrt() - s).abs() };
                        assert!(
                            error < 2e-15,
                            "{sector:?} {by_density}, cut {}: {w:e} is not {:e}",
                            cut.left_sites,
                            s * s
                        );
                    }
                }
                for (p, found) in walked.populations.iter().enumerate() {
                    let place = d.pow((chain.sites - 1 - p) as u32);
                    let mut expected = vec![0.0; d];
                    all.iter().enumerate().for_each(|(k, x)| expected[k / place % d] += x * x);
                    for (found, expected) in found.iter().zip(&expected) {
                        assert!(
                            (found - expected).abs() < 1e-13,
                            "{sector:?} {by_density}, site {p}: {found} {expected}"
                        );
                    }
                }
            }
        }
    }

    fn heisenberg_cylinder(length: usize, circumference: usize) -> Chain {
        use eigenforge_core::lattice::Boundary::{Open, Periodic};
        let lattice = Lattice::square([length, circumference]).boundary([Open, Periodic]);
        let (bonds, none) = (vec![1.0; lattice.bonds().len()], vec![0.0; lattice.sites().len()]);
        let order = crate::chain::ordering::narrow_order(&lattice);
        Chain::new(&xxz(&lattice, &bonds, &bonds, &none, &none), Sector::Spins { two_sz: 0 }, Some(order)).unwrap()
    }

    /// Of a cylinder as in benches/results/dmrg.toml; `cargo test --lib dmrg::measure -- --nocapture` prints the numbers.
    #[test]
    fn transposes_save_two_fifths_of_the_variance() {
        let chain = heisenberg_cylinder(12, 6);
        let shares = Shares::estimated(&chain, 1024);
        let square = chain.sum.squared(&chain.local);
        let none: Vec<Vec<Option<Twin>>> = square.cuts.iter().map(|cut| vec![None; cut.width()]).collect();
        let flops = |twins: &[Vec<Option<Twin>>]| {
            let engine = CountingEngine::new(&chain, &shares, (ProcessorKind::Card, 1), 20, false);
            let mut sweeper = Sweeper::rehearsal(engine, &chain).unwrap();
            let before = sweeper.engine().flops.get();
            assert!(expectations(&chain, &mut sweeper, &square, twins).unwrap().is_some());
            sweeper.engine().flops.get() - before
        };
        let (all, computed) = (flops(&none), flops(&square.right_twins()));
        println!("{} operators at a cut; {all:.3e} operations, {computed:.3e} of them computed", square.width());
        assert!(computed < 0.65 * all, "{computed:e} of {all:e}");
    }

    /// Of both cylinders of benches/results/dmrg.toml: operations of the variance beside those of one product with H at each bond of a
    /// sweep; `cargo test --lib dmrg::measure -- --nocapture` prints the numbers.
    #[test]
    fn few_vectors_take_a_small_part_of_the_square_and_of_a_sweep() {
        use eigenforge_core::lattice::Boundary::{Open, Periodic};
        let electrons = || {
            let lattice = Lattice::square([8, 4]).boundary([Open, Periodic]);
            let (bonds, none) = (vec![1.0; lattice.bonds().len()], vec![0.0; lattice.sites().len()]);
            let order = crate::chain::ordering::narrow_order(&lattice);
            let operator = hubbard(&lattice, &bonds, &[8.0; 32], &none, 0.0, &vec![0.0; bonds.len()]);
            Chain::new(&operator, Sector::Fermions { up: 14, down: 14 }, Some(order)).unwrap()
        };
        for (chain, states) in [(heisenberg_cylinder(12, 6), 4096), (electrons(), 8192)] {
            let shares = Shares::estimated(&chain, states);
            let engine = CountingEngine::new(&chain, &shares, (ProcessorKind::Card, 1), 20, false);
            let mut sweeper = Sweeper::rehearsal(engine, &chain).unwrap();
            let before = sweeper.engine.flops.get();
            let square = chain.sum.squared(&chain.local);
            expectations(&chain, &mut sweeper, &square, &square.right_twins()).unwrap();
            let squared = sweeper.engine.flops.get() - before;
            let (_, few) = residual::variances(&chain, &mut sweeper, residual::RowLimits::FEW).unwrap();
            let plan = Options { states: vec![states], ..Options::default() }.plan(9);
            let mut swept = 0.0;
            for p in 0..chain.sites - 2 {
                sweeper.engine.cut.set(p + 1);
                swept += 2.0 * sweeper.step(p, Side::Left, &plan).unwrap().flops;
            }
            println!("H² {squared:.2e}, few vectors {few:.2e}, a product with H at each bond of a sweep {swept:.2e}");
            assert!(few < 0.06 * squared && few < 0.08 * swept, "{few:e} of {squared:e} and {swept:e}");
        }
    }
}
