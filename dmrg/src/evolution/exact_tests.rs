//! Evolutions of random chains beside exact vectors, with two sites and with one whose bonds grow.

use super::end_state::end_state;
use super::tests::{evolved, options};
use super::*;
use crate::block::prepared::Prepared;
use crate::block::start::Random;
use crate::block::whole_sector::WholeSector;
use crate::chain::Chain;
use crate::options::UpdateChoice;
use crate::sweep::sweeper::Sweeper;
use eigenforge_core::basis::Sector;
use eigenforge_core::operator::{Operator, SiteKind, Spin, build};
use eigenforge_runtime::Device;
use eigenforge_runtime::backend::HostBackend;
use eigenforge_runtime::dense::{View, eigen};
use eigenforge_runtime::simulate::Schedule;
use eigenforge_runtime::solvers::TimeAxis;
use eigenforge_runtime::testing::card_or_simulated;

/// Hops with phases between all sites within a range, repulsions and a field, of fermions, spins, or spins without a charge.
fn random_operator(seed: u64, sites: usize) -> (Operator, Sector, Vec<usize>) {
    let mut random = Random::new(71 * seed + 5);
    let range = 1 + seed as usize % 3;
    let mut terms = Vec::new();
    for (i, j) in (0..sites).flat_map(|i| (i + 1..sites.min(i + range + 1)).map(move |j| (i, j))) {
        let (phase, size, repulsion) = (3.0 * random.number(), random.number(), random.number());
        let bare = match seed % 2 {
            0 => build::cdag(i, Spin::Up) * build::c(j, Spin::Up),
            _ => build::sp(i) * build::sm(j),
        };
        let hop = phase.cos() * bare.clone() + phase.sin() * (build::imaginary_unit() * bare);
        terms.push(size * (hop.adjoint() + hop));
        terms.push(match seed % 2 {
            0 => repulsion * (build::n(i, Spin::Up) * build::n(j, Spin::Up)),
            _ => repulsion * (build::sz(i) * build::sz(j)),
        });
    }
    for i in 0..sites {
        let field = random.number();
        terms.push(if seed.is_multiple_of(2) { field * build::n(i, Spin::Up) } else { field * build::sz(i) });
        if seed % 4 == 3 {
            terms.push(0.4 * (build::sp(i) + build::sm(i)));
        }
    }
    let levels: Vec<usize> = (0..sites).map(|i| (i + seed as usize) % 2).collect();
    let up: usize = levels.iter().sum();
    let sector = match seed % 4 {
        0 | 2 => Sector::Fermions { up, down: 0 },
        1 => Sector::Spins { two_sz: 2 * up as i64 - sites as i64 },
        _ => Sector::Charges(Vec::new()),
    };
    (terms.into_iter().sum::<Operator>().on_sites(sites), sector, levels)
}

/// exp(−iHt) of a product state, by eigenvectors of the whole sector, as a state of the chain.
fn exact_state(chain: &Chain, levels: &[usize], axis: TimeAxis, time: f64) -> MatrixProductState {
    let sector = WholeSector::new(chain, 4000).unwrap();
    let (matrix, n) = (sector.matrix(chain).unwrap(), sector.dimension());
    let mut full = vec![0.0; n * n];
    for row in 0..n {
        let (columns, values) = matrix.row(row);
        columns.iter().zip(values).for_each(|(column, value)| full[row + *column as usize * n] = *value);
    }
    let (values, vectors) = eigen(View::new(&full, n, n)).unwrap();
    let auxiliary = chain.sites - chain.order.len();
    let is_start = |code: u128| {
        let own = chain.order.iter().enumerate().all(|(p, site)| sector.state(code, p + auxiliary) == levels[*site]);
        own && (auxiliary == 0 || sector.state(code, 0) == 0)
    };
    let start = sector.codes.iter().position(|code| is_start(*code)).unwrap();
    let applied = |function: &dyn Fn(f64) -> f64| -> Vec<f64> {
        let part = |i: usize| (0..n).map(|k| vectors[(i, k)] * vectors[(start, k)] * function(values[k])).sum();
        (0..n).map(part).collect()
    };
    let time = chain.units.scale * time;
    let vector = match axis {
        TimeAxis::Imaginary => applied(&|value| (-value * time).exp()),
        TimeAxis::Real => {
            // i takes (x, y) to (−y, x), and the auxiliary site is the first digit.
            let (cosine, sine) = (applied(&|value| (value * time).cos()), applied(&|value| (value * time).sin()));
            let half = n / 2;
            (0..n).map(|i| cosine[i] + if i < half { sine[i + half] } else { -sine[i - half] }).collect()
        }
    };
    let phase = if axis == TimeAxis::Real { -chain.units.energy(0.0) * time / chain.units.scale } else { 0.0 };
    state_of(chain, &sector, &vector, phase)
}

/// A vector over the configurations of a chain as a state of it, times e^(i phase).
fn state_of(chain: &Chain, sector: &WholeSector, vector: &[f64], phase: f64) -> MatrixProductState {
    let norm = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
    let vector: Vec<f64> = vector.iter().map(|x| x / norm).collect();
    let Prepared { kept, mut waves } = Prepared::new(chain, sector, &[&vector], usize::MAX).unwrap();
    let sweeper = Sweeper::restored(HostBackend::default(), chain, kept, waves.remove(0), 0).unwrap();
    end_state(&sweeper, phase).unwrap()
}

/// ‖ψ − exact‖ and what the run says of it.
fn off(seed: u64, sites: usize, axis: TimeAxis, wanted: &ChainEvolution) -> (f64, ChainSteps) {
    let (operator, sector, levels) = random_operator(seed, sites);
    let chain = match axis {
        TimeAxis::Real => Chain::with_phases(&operator, sector, None).unwrap(),
        TimeAxis::Imaginary => Chain::new(&operator, sector, None).unwrap(),
    };
    let found = evolved(&chain, &ChainStart::Product(levels.clone()), wanted, |_| {}).unwrap();
    let until = found.steps.stop_time.unwrap_or(*wanted.times.last().unwrap());
    let exact = exact_state(&chain, &levels, axis, until);
    let [re, im] = exact.overlap(&found.state.unwrap()).unwrap();
    assert!(re.hypot(im) < 1.0 + 1e-10);
    ((2.0 - 2.0 * re).max(0.0).sqrt(), found.steps)
}

/// Both updates of random chains move as exact vectors do, or say by how much they may not; shorter steps are better.
#[test]
fn random_chains_move_as_exact_vectors_do_with_both_updates() {
    let count = std::env::var("EIGENFORGE_RANDOM_CHAINS").ok().and_then(|count| count.parse().ok()).unwrap_or(3);
    for seed in 0..count {
        for update in [UpdateChoice::TwoSite, UpdateChoice::Expanding] {
            let run = |step: f64, states: usize| {
                let own = options(0.6, step, states, Vec::new());
                // Without a limit on weights what little each truncation drops adds up with one sign.
                let wanted = ChainEvolution { update, state: true, discarded: Some(1e-18), tolerance: 1e-3, ..own };
                off(seed, 5 + seed as usize % 2, TimeAxis::Real, &wanted)
            };
            let (long, short, narrow) = (run(0.1, 40), run(0.05, 40), run(0.1, 3));
            for (times, (found, steps)) in [(1.2, &long), (1.2, &short), (3.0, &narrow)] {
                assert!(*found < times * steps.error() + 1e-6, "{seed} {update:?}: {found:e} {steps:?}");
            }
            assert!(short.0 < 3e-3 && short.0 < 0.5 * long.0 + 1e-7, "{seed} {update:?}: {long:?} {short:?}");
        }
    }
}

type Coefficients = Box<dyn Fn(f64) -> Vec<f64> + Send + Sync>;

/// Coefficients of H(t) beside exact vectors: a smooth drive, and a pulse far shorter than the longest step.
#[test]
fn driven_chains_move_as_short_steps_of_exact_vectors_do() {
    let (operator, sector, levels) = random_operator(1, 5);
    let kinds = Chain::with_phases(&operator, sector.clone(), None).unwrap().kinds();
    let field: Operator = (0..5).map(|i| (0.7 * i as f64 - 1.0) * build::sz(i)).sum();
    let coupling: Operator = (0..4).map(|i| build::sp(i) * build::sm(i + 1)).map(|hop| hop.adjoint() + hop).sum();
    let pulse = |time: f64| (-((time - 0.613) / 0.004).powi(2)).exp() * 90.0;
    let cases: [(&str, f64, Coefficients); 3] = [
        ("smooth", 0.05, Box::new(|time: f64| vec![1.0, (3.0 * time).sin(), 0.4 * time * time])),
        ("nothing at the start", 0.05, Box::new(|time: f64| vec![time, time.powi(2), 0.0])),
        ("a short pulse", 0.1, Box::new(move |time: f64| vec![1.0, pulse(time), 0.0])),
    ];
    for (name, step, coefficients) in cases {
        // Exact: H at the middle of each of many short steps.
        let parts = vec![operator.clone(), field.clone(), coupling.clone()];
        let exact = |steps: usize| {
            let values: Vec<Vec<f64>> = (0..steps).map(|k| coefficients((k as f64 + 0.5) / steps as f64)).collect();
            driven_vector(&parts, &sector, &kinds, &levels, &values)
        };
        let exact = exact(1500);
        for update in [UpdateChoice::TwoSite, UpdateChoice::Expanding] {
            let driven = DrivenChain::new(parts.clone(), &coefficients, &kinds, sector.clone(), None).unwrap();
            let own = options(1.0, step, 40, Vec::new());
            let wanted = ChainEvolution { update, state: true, discarded: Some(1e-18), tolerance: 1e-3, ..own };
            let found =
                evolve_driven_chain(&driven, &ChainStart::Product(levels.clone()), &wanted, &Device::cpu(), |_| {})
                    .unwrap();
            let [re, _] = exact.overlap(&found.state.unwrap()).unwrap();
            let off = (2.0 - 2.0 * re).max(0.0).sqrt();
            assert!(
                off < 1.5 * found.steps.error() + 1e-5 && off < 1e-2,
                "{name} {update:?}: {off:e} {:?}",
                found.steps
            );
        }
    }
}

/// exp(−iH(t_n) τ) … exp(−iH(t_1) τ) of a product state at the times whose coefficients are given, together a time of 1.
fn driven_vector(
    parts: &[Operator],
    sector: &Sector,
    kinds: &[SiteKind],
    levels: &[usize],
    values: &[Vec<f64>],
) -> MatrixProductState {
    let chain_of =
        |operator: &Operator| Chain::with_phases(&operator.clone().on_kinds(kinds), sector.clone(), None).unwrap();
    let chains: Vec<Chain> = parts.iter().map(chain_of).collect();
    let whole = WholeSector::new(&chains[0], 4000).unwrap();
    let n = whole.dimension();
    let dense = |chain: &Chain| {
        let matrix = whole.matrix(chain).unwrap();
        let mut full = vec![0.0; n * n];
        for row in 0..n {
            let (columns, values) = matrix.row(row);
            columns
                .iter()
                .zip(values)
                .for_each(|(column, value)| full[row + *column as usize * n] = chain.units.scale * value);
            full[row + row * n] += chain.units.energy(0.0);
        }
        full
    };
    let dense: Vec<Vec<f64>> = chains.iter().map(dense).collect();
    let is_start = |code: u128| {
        whole.state(code, 0) == 0 && levels.iter().enumerate().all(|(p, level)| whole.state(code, p + 1) == *level)
    };
    let mut psi: Vec<f64> = whole.codes.iter().map(|code| f64::from(u8::from(is_start(*code)))).collect();
    let (half, tau) = (n / 2, 1.0 / values.len() as f64);
    for values in values {
        // −iH ψ by a Taylor series: i takes (x, y) to (−y, x).
        let apply = |x: &[f64]| -> Vec<f64> {
            let y: Vec<f64> = (0..n)
                .map(|i| {
                    (0..n).map(|j| dense.iter().zip(values).map(|(h, c)| c * h[i + j * n]).sum::<f64>() * x[j]).sum()
                })
                .collect();
            (0..n).map(|i| if i < half { y[i + half] } else { -y[i - half] }).collect()
        };
        let (mut term, mut sum) = (psi.clone(), psi.clone());
        for order in 1..=6 {
            term = apply(&term).iter().map(|x| x * tau / f64::from(order)).collect();
            sum.iter_mut().zip(&term).for_each(|(sum, x)| *sum += x);
        }
        psi = sum;
    }
    state_of(&chains[0], &whole, &psi, 0.0)
}

/// The cores and a card, or its simulation, move a state alike, also with terms on distant sites.
#[test]
fn memcheck_cores_and_cards_move_alike() {
    let Some(device) = card_or_simulated(Schedule::Forward) else { return };
    let (operator, sector, levels) = random_operator(1, 3);
    let chain = Chain::with_phases(&operator, sector, None).unwrap();
    for update in [UpdateChoice::TwoSite, UpdateChoice::Expanding] {
        let own = options(0.1, 0.1, 8, Vec::new());
        let wanted = ChainEvolution { update, times: vec![0.1], discarded: Some(1e-16), state: true, ..own };
        let start = ChainStart::Product(levels.clone());
        let [cores, card] = [Device::cpu(), device.clone()].map(|device| {
            let mut points = Vec::new();
            let found = evolve_chain(&chain, &start, &wanted, &device, |point| points.push(point)).unwrap();
            (found, points)
        });
        let [re, im] = cores.0.state.unwrap().overlap(&card.0.state.unwrap()).unwrap();
        assert!((re - 1.0).abs() < 1e-10 && im.abs() < 1e-8, "{update:?}: {re} {im}");
        assert_eq!((cores.0.steps.states, cores.0.steps.steps), (card.0.steps.states, card.0.steps.steps));
        for (a, b) in cores.1.iter().zip(&card.1) {
            assert!((a.energy - b.energy).abs() < 1e-9 && (a.overlap[0] - b.overlap[0]).abs() < 1e-9, "{a:?} {b:?}");
        }
    }
}
