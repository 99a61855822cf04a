//! Evolutions of chains against free fermions and exact vectors.

use super::*;
use crate::chain::Chain;
use crate::error::DmrgError;
use crate::options::UpdateChoice;
use eigenforge_core::basis::Sector;
use eigenforge_core::lattice::Lattice;
use eigenforge_core::models::xxz;
use eigenforge_core::observable::{Average, Observable, sites};
use eigenforge_core::operator::{Operator, Spin, build};
use eigenforge_runtime::Device;
use eigenforge_runtime::dense::{View, eigen};
use eigenforge_runtime::solvers::{CheckpointOptions, TimeAxis};

pub(super) fn options(until: f64, step: f64, states: usize, observables: Vec<Observable>) -> ChainEvolution {
    let (times, axis) = (vec![0.0, 0.5 * until, until], TimeAxis::Real);
    ChainEvolution {
        times,
        step,
        update: UpdateChoice::TwoSite,
        states,
        discarded: None,
        tolerance: 1e-8,
        axis,
        observables,
        state: false,
        checkpoint: None,
    }
}

/// An evolution on this machine's cores.
pub(super) fn evolved(
    chain: &Chain,
    start: &ChainStart,
    wanted: &ChainEvolution,
    visit: impl FnMut(ChainPoint),
) -> Result<ChainEvolved, DmrgError> {
    evolve_chain(chain, start, wanted, &Device::cpu(), visit)
}

pub(super) fn xx_chain(n: usize) -> Operator {
    let lattice = Lattice::chain(n).open();
    let (bonds, zeros, none) = (vec![1.0; n - 1], vec![0.0; n - 1], vec![0.0; n]);
    xxz(&lattice, &bonds, &zeros, &none, &none)
}

/// n_i(t) of the XX chain from sites 0, 2, …: Σ_j |[exp(−iht)]_ij|² with h = 1/2 between neighbours (Lieb, Schultz, Mattis, Ann. Phys. 16, 407
/// (1961)).
pub(super) fn free_fermions(n: usize, time: f64) -> Vec<f64> {
    let element = |k: usize| if (k / n).abs_diff(k % n) == 1 { 0.5 } else { 0.0 };
    let (values, vectors) = eigen(View::new(&(0..n * n).map(element).collect::<Vec<f64>>(), n, n)).unwrap();
    let amplitude = |i: usize, j: usize, part: fn(f64) -> f64| -> f64 {
        values.iter().enumerate().map(|(k, value)| vectors[(i, k)] * vectors[(j, k)] * part(value * time)).sum()
    };
    let at = |i: usize| {
        let of = |j: usize| amplitude(i, j, f64::cos).powi(2) + amplitude(i, j, f64::sin).powi(2);
        (0..n).step_by(2).map(of).sum::<f64>() - 0.5
    };
    (0..n).map(at).collect()
}

pub(super) fn site_averages(point: &ChainPoint, name: &str) -> Vec<f64> {
    match point.averages.get(name) {
        Some(Average::Sites(values)) => values.to_vec(),
        found => panic!("{name}: {found:?}"),
    }
}

#[test]
fn a_chain_of_free_fermions_moves_as_they_do() {
    let n = 10;
    let chain = Chain::with_phases(&xx_chain(n), Sector::Spins { two_sz: 0 }, None).unwrap();
    let up: Vec<usize> = (0..n).map(|i| usize::from(i % 2 == 0)).collect();
    let observables: Vec<Observable> = sites(&chain.kinds()).into_iter().filter(|o| o.name == "sz").collect();
    let off = |step: f64, update: UpdateChoice, discarded: Option<f64>| {
        let options = ChainEvolution { update, discarded, ..options(2.0, step, 100, observables.clone()) };
        let start = ChainStart::Product(up.clone());
        let mut largest = 0.0f64;
        let steps = evolved(&chain, &start, &options, |point| {
            let exact = free_fermions(n, point.time);
            let found = site_averages(&point, "sz");
            largest = found.iter().zip(&exact).map(|(a, b)| (a - b).abs()).fold(largest, f64::max);
            // One of the terms of a product state is zero, and energy is conserved.
            assert!(point.energy.abs() < 1e-10, "{}", point.energy);
        });
        let steps = steps.unwrap().steps;
        assert!(steps.discarded < 1e-9 && steps.stop_time.is_none() && steps.missing < 1e-6, "{steps:?}");
        assert!(largest < steps.error(), "{largest:e} {steps:?}");
        largest
    };
    for update in [UpdateChoice::TwoSite, UpdateChoice::Expanding] {
        // What truncations drop, whatever the steps; without it long steps are as good as short ones, but for the first.
        let (long, short) = (off(0.4, update, None), off(0.05, update, None));
        let exact = off(0.4, update, Some(1e-22));
        assert!(long < 2e-5 && short < 5e-6 && exact < 2e-7, "{update:?}: {long:e} {short:e} {exact:e}");
    }
}

/// Hops to the third neighbour alone: nothing that two neighbours do brings in the states between.
#[test]
fn terms_on_distant_sites_act_from_a_product_state() {
    let n = 7;
    let hops = (0..n - 3).map(|i| build::cdag(i, Spin::Up) * build::c(i + 3, Spin::Up));
    let operator: Operator = hops.map(|hop| hop.adjoint() + hop).sum();
    let chain = Chain::with_phases(&operator.on_sites(n), Sector::Fermions { up: 1, down: 0 }, None).unwrap();
    let observables: Vec<Observable> = sites(&chain.kinds()).into_iter().filter(|o| o.name == "n_up").collect();
    let mut levels = vec![0; n];
    levels[3] = 1;
    let options = options(1.0, 0.05, 20, observables);
    let mut last = Vec::new();
    let found = evolved(&chain, &ChainStart::Product(levels), &options, |point| {
        last = site_averages(&point, "n_up");
    });
    // Sites 0, 3, 6 are a chain of three: |⟨3|exp(−iht)|3⟩|² = cos²(√2 t).
    let middle = (2f64.sqrt() * 1.0).cos().powi(2);
    assert!((last[3] - middle).abs() < 1e-5 && (last[0] - 0.5 * (1.0 - middle)).abs() < 1e-5, "{last:?} {found:?}");
}

/// The same without charges: an operator of a site between two of its states is no identity.
#[test]
fn distant_terms_act_without_charges_too() {
    let flip = 0.5 * (build::sp(0) * build::sm(2));
    let operator: Operator = flip.adjoint() + flip;
    let chain = Chain::with_phases(&operator.on_sites(3), Sector::Charges(Vec::new()), None).unwrap();
    let mut last = [0.0; 2];
    let found = evolved(&chain, &ChainStart::Product(vec![1, 0, 0]), &options(1.0, 0.05, 8, Vec::new()), |point| {
        last = point.overlap;
    });
    assert!((last[0] - 0.5f64.cos()).abs() < 1e-6 && last[1].abs() < 1e-6, "{last:?} {found:?}");
}

/// From the highest state of a field the lowest grows out of next to nothing: exp(−Ht) is right or says how far it is off.
#[test]
fn imaginary_time_knows_what_errors_become() {
    let lattice = Lattice::chain(6).open();
    let field = [3.0, 3.0, 3.0, -3.0, -3.0, -3.0];
    let operator = xxz(&lattice, &[1.0; 5], &[1.0; 5], &field, &[0.0; 6]);
    let chain = Chain::new(&operator, Sector::Spins { two_sz: 0 }, None).unwrap();
    for (step, states) in [(0.02, 100), (0.006, 100), (0.02, 3)] {
        let wanted = ChainEvolution { axis: TimeAxis::Imaginary, ..options(3.0, step, states, Vec::new()) };
        let mut energy = 0.0;
        let start = ChainStart::Product(vec![1, 1, 1, 0, 0, 0]);
        let steps = evolved(&chain, &start, &wanted, |point| energy = point.energy).unwrap().steps;
        let off = (energy + 7.599_58).abs();
        // ⟨H⟩ of a state that is off by d is off by 2 ‖H‖ d at most.
        let is_told = steps.stop_time.is_some() || off < 2.0 * 12.0 * steps.error() + 1e-5;
        assert!(is_told && (states < 8 || off < 2e-2), "{step} {states}: {energy} {steps:?}");
    }
}

#[test]
fn starts_outside_the_sector_are_refused() {
    let chain = Chain::with_phases(&xx_chain(4), Sector::Spins { two_sz: 0 }, None).unwrap();
    let refused = |levels: &[usize]| {
        let found = evolved(&chain, &ChainStart::Product(levels.to_vec()), &options(1.0, 0.1, 4, Vec::new()), |_| {});
        found.unwrap_err().to_string()
    };
    assert!(refused(&[1, 1, 1, 0]).contains("2Sz = 0, found one with 2Sz = 2"), "{}", refused(&[1, 1, 1, 0]));
    assert!(refused(&[1, 0]).contains("a state for each of the 4 sites"));
    assert!(refused(&[2, 0, 1, 0]).contains("a state from 0 to 1 at site 0"));
}

/// A chain of electrons with a flux through its plaquettes, so that H is complex.
fn complex_chain() -> Chain {
    let hop = |i: usize, j: usize, phase: f64| {
        let bare = build::cdag(i, Spin::Up) * build::c(j, Spin::Up);
        let term = phase.cos() * bare.clone() + phase.sin() * (build::imaginary_unit() * bare);
        term.adjoint() + term
    };
    let hops = (0..5).map(|i| hop(i, i + 1, 0.3)).chain((0..4).map(|i| 0.4 * hop(i, i + 2, -0.9)));
    let repulsion = (0..5).map(|i| 1.3 * (build::n(i, Spin::Up) * build::n(i + 1, Spin::Up)));
    let operator: Operator = hops.chain(repulsion).sum();
    let operator = operator + 0.7 * build::n(2, Spin::Up);
    Chain::with_phases(&operator.on_sites(6), Sector::Fermions { up: 3, down: 0 }, None).unwrap()
}

fn product(levels: &[usize]) -> ChainStart {
    ChainStart::Product(levels.to_vec())
}

/// A state that is written and read goes on as if it had not been, with its phase; and back in time to the start.
#[test]
fn a_state_at_the_end_is_a_start() {
    let chain = complex_chain();
    let start = product(&[1, 0, 1, 0, 1, 0]);
    let run = |start: &ChainStart, until: f64| {
        let mut last = None;
        let wanted = ChainEvolution { state: true, tolerance: 1e-10, ..options(until, 0.02, 64, Vec::new()) };
        let found = evolved(&chain, start, &wanted, |point| last = Some(point)).unwrap();
        (found.state.unwrap(), last.unwrap())
    };
    let (half, first) = run(&start, 0.5);
    assert!(!half.imaginary.is_empty());
    let [re, im] = half.overlap(&half).unwrap();
    assert!((re - 1.0).abs() < 1e-12 && im.abs() < 1e-12, "{re} {im}");
    let (whole, _) = run(&start, 1.0);
    let (joined, second) = run(&ChainStart::State(half.clone()), 0.5);
    let [re, im] = whole.overlap(&joined).unwrap();
    assert!((re - 1.0).abs() < 1e-9 && im.abs() < 1e-6, "{re} {im}");
    assert!((first.energy - second.energy).abs() < 1e-9, "{} {}", first.energy, second.energy);
    // ⟨ψ(½)|ψ(1)⟩ = ⟨ψ(0)|ψ(½)⟩ of a constant H.
    let [re, im] = half.overlap(&whole).unwrap();
    for [a, b] in [[re, im], second.overlap] {
        assert!((a - first.overlap[0]).abs() < 1e-6 && (b - first.overlap[1]).abs() < 1e-6, "{a} {b} {first:?}");
    }
    let real = Chain::new(&xx_chain(6), Sector::Spins { two_sz: 0 }, None).unwrap();
    let refused = evolved(&real, &ChainStart::State(half), &options(0.1, 0.1, 4, Vec::new()), |_| {});
    assert!(refused.is_err());
}

/// A run that ends after any of its saves goes on to the same numbers; that of another chain or with other settings is refused.
#[test]
fn evolutions_of_chains_go_on_from_their_checkpoints() {
    let chain = complex_chain();
    let start = product(&[1, 0, 1, 0, 1, 0]);
    let observables = || sites(&chain.kinds()).into_iter().filter(|o| o.name == "n_up").collect::<Vec<_>>();
    let with = |folder: Option<&std::path::Path>, of: &str| {
        let checkpoint = folder.map(|folder| CheckpointOptions {
            folder: folder.into(),
            resume: true,
            settings: vec![("start".into(), of.into())],
            ..CheckpointOptions::default()
        });
        let times = vec![0.0, 0.2, 0.6];
        ChainEvolution { times, checkpoint, ..options(0.6, 0.1, 64, observables()) }
    };
    let run = |options: &ChainEvolution| {
        let mut points = Vec::new();
        evolved(&chain, &start, options, |point| points.push(point)).map(|found| (found.steps, points))
    };
    let (steps, points) = run(&with(None, "Neel")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let killed = || evolved(&chain, &start, &with(Some(folder.path()), "Neel"), |point| assert!(point.time < 0.6));
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(killed)).is_err());
    // The newest state is damaged: the run goes on from the one before.
    std::fs::write(folder.path().join("step-00000006/data.bin"), b"").unwrap();
    let (again, seen) = run(&with(Some(folder.path()), "Neel")).unwrap();
    assert!(again.steps == steps.steps && seen.len() == points.len(), "{again:?} {steps:?}");
    assert!((again.splitting - steps.splitting).abs() < 1e-9, "{again:?} {steps:?}");
    for (a, b) in points.iter().zip(&seen) {
        assert!(a.time == b.time && (a.overlap[0] - b.overlap[0]).abs() < 1e-10, "{a:?} {b:?}");
        let averages = [a, b].map(|point| site_averages(point, "n_up"));
        assert!(averages[0].iter().zip(&averages[1]).all(|(a, b)| (a - b).abs() < 1e-10));
    }
    let other = run(&with(Some(folder.path()), "domain wall")).unwrap_err().to_string();
    assert!(other.contains("its start is Neel, this run's is domain wall"), "{other}");
    let of_another = evolved(
        &Chain::with_phases(&xx_chain(6), Sector::Spins { two_sz: 0 }, None).unwrap(),
        &start,
        &with(Some(folder.path()), "Neel"),
        |_| {},
    );
    assert!(of_another.unwrap_err().to_string().contains("its model is another"));
}
