//! Transitions against the responses of every eigenstate, and samples against all transitions.

use super::*;
use crate::InSector;
use crate::response::ChainOptions;
use crate::samples::{hubbard, xxz};
use eigenforge_core::basis::{Down, Up};
use eigenforge_core::lattice::Lattice;
use eigenforge_core::operator::{Operator, Spin, Symmetry, build};
use eigenforge_runtime::simulate::Schedule;
use eigenforge_runtime::testing;
use std::f64::consts::TAU;

/// N^(−1/2) Σ_j e^(−iqj) O_j with q = 2πk/N.
fn wave(sites: usize, k: i64, at: impl Fn(usize) -> Operator) -> Operator {
    let part = |j: usize| {
        let angle = -TAU * k as f64 * j as f64 / sites as f64;
        let length = (sites as f64).sqrt();
        angle.cos() / length * at(j) + angle.sin() / length * at(j).times_i()
    };
    (0..sites).map(part).sum()
}

fn flux_ring() -> Model {
    let hop = |i: usize, s| build::cdag(i, s) * build::c((i + 1) % 4, s);
    let bond = |i: usize| {
        let both = hop(i, Spin::Up) + hop(i, Spin::Down);
        let turned = 0.8 * both.clone() + 0.6 * both.times_i();
        turned.clone() + turned.adjoint() + 2.0 * (build::n(i, Spin::Up) * build::n(i, Spin::Down))
    };
    (0..4).map(bond).sum::<Operator>().sector(Up(2), Down(1)).unwrap()
}

/// Energies are counted from here; temperatures and places where sums are compared.
const PLACES: [(f64, Complex64); 3] =
    [(0.4, Complex64::new(0.7, 0.2)), (1.0, Complex64::new(-0.9, 0.3)), (9.0, Complex64::new(2.0, 0.4))];

/// Σ e^(−E_m/T) w / (z − E_n + E_m).
fn summed(found: &[Transitions], from: f64, (temperature, z): (f64, Complex64)) -> Complex64 {
    let of_one = |found: &Transitions| -> Complex64 {
        let rows = found.weights.chunks(found.final_states.len());
        let row = |(initial, row): (&f64, &[f64])| -> Complex64 {
            let parts = found.final_states.iter().zip(row);
            let sum: Complex64 = parts.map(|(energy, weight)| weight / (z - (energy - initial))).sum();
            (-(initial - from) / temperature).exp() * sum
        };
        found.initial.iter().zip(rows).map(row).sum()
    };
    found.iter().map(of_one).sum()
}

fn close(a: Complex64, b: Complex64) -> bool {
    (a - b).norm() < 1e-9 * (1.0 + b.norm())
}

/// A name, a model, an operator, and the momentum that it leads to.
type Case = (&'static str, Model, Operator, Option<Vec<i64>>);

fn cases() -> Vec<Case> {
    let spins = xxz(&Lattice::chain(6).periodic(), 1.0, 0.7, 0);
    let sector = |k: i64| spins.symmetry(&Symmetry::new().k(&[k])).unwrap();
    vec![
        ("spins", spins.clone(), wave(6, 1, build::sz), None),
        ("spins, S-", spins.clone(), wave(6, 2, build::sm), None),
        ("electrons", hubbard(&Lattice::chain(4).periodic(), 4.0, 2, 1), wave(4, 1, |j| build::c(j, Spin::Up)), None),
        ("flux", flux_ring(), wave(4, 1, |j| build::n(j, Spin::Down)), None),
        ("real to complex", sector(0), wave(6, 1, build::sz), Some(vec![5])),
        ("complex to real", sector(1), wave(6, 1, build::sz), Some(vec![0])),
        ("complex to complex", sector(2), wave(6, 1, build::sp), Some(vec![1])),
    ]
}

fn all_transitions(model: &Model, operator: &Operator, momentum: Option<&[i64]>) -> TransitionSample {
    let targets = [model.response_targets(operator, momentum).unwrap()];
    model.whole_transitions(&targets, &mut KnownLevels::default()).unwrap()
}

#[test]
fn transitions_are_the_responses_of_all_states() {
    for (name, model, operator, momentum) in cases() {
        let found = all_transitions(&model, &operator, momentum.as_deref());
        let states: f64 = found.lines.iter().map(|line| line[1]).sum();
        assert!((states - model.states() as f64).abs() < 1e-10, "{name}: {states}");
        let own = DenseLevels::new(&model).unwrap();
        let from = own.values[0];
        let options = ChainOptions { steps: usize::MAX, omega: Vec::new(), eta: 0.1, damping: None };
        for place in PLACES {
            let of_state = |(energy, vector): (&f64, &Vec<f64>)| {
                let mut level = LevelStates::new(model.clone(), vec![model.amplitudes_of(vector)]);
                (level.energy, level.constant) = (*energy, model.constant());
                level.energy_without_constant = energy - model.constant();
                let response = level.response(&operator, momentum.as_deref(), &[], &options, &Device::cpu()).unwrap();
                let at = response.resolvent(place.1.re, place.1.im);
                own.share * (-(energy - from) / place.0).exp() * at
            };
            let wanted: Complex64 = own.values.iter().zip(&own.vectors).map(of_state).sum();
            let sum = summed(&found.transitions[0], from, place);
            assert!(close(sum, wanted), "{name} at {place:?}: {sum} {wanted}");
        }
    }
}

/// S of A† at −ω is e^(−ω/T) S of A, line by line: the transitions of A† from all sectors are those of A backwards.
#[test]
fn detailed_balance_holds() {
    for (name, model, operator, momentum) in cases() {
        let target = model.response_targets(&operator, momentum.as_deref()).unwrap();
        let forth = all_transitions(&model, &operator, momentum.as_deref());
        let back_to = model.momentum().map(<[i64]>::to_vec);
        let back = all_transitions(&target[0].model, &operator.adjoint(), back_to.as_deref());
        let from = forth.lines[0][0].min(back.lines[0][0]);
        for (temperature, z) in PLACES {
            // e^(−E_n/T) in place of e^(−E_m/T).
            let turned = |found: &Transitions| {
                let columns = found.final_states.len();
                let at = |k: usize| found.weights[(k % found.initial.len()) * columns + k / found.initial.len()];
                Transitions {
                    initial: found.final_states.clone(),
                    final_states: found.initial.clone(),
                    weights: (0..found.weights.len()).map(at).collect(),
                }
            };
            let turned: Vec<Transitions> = forth.transitions[0].iter().map(turned).collect();
            let (own, wanted) =
                (summed(&turned, from, (temperature, z)), summed(&back.transitions[0], from, (temperature, z)));
            assert!(close(own, wanted), "{name}: {own} {wanted}");
        }
    }
}

/// Means over samples are within their errors of all transitions, with levels that are known taken out and without, on cores and cards.
#[test]
fn samples_stand_for_all_transitions() {
    let mut devices = testing::kernel_devices(Schedule::Forward);
    devices.push(Device::cpu());
    for (name, model, operator, momentum) in cases() {
        let exact = all_transitions(&model, &operator, momentum.as_deref());
        let from = exact.lines[0][0];
        let targets = [model.response_targets(&operator, momentum.as_deref()).unwrap()];
        for device in &devices {
            let on_host = !device.runs_kernels();
            if !on_host && name != "complex to real" {
                continue;
            }
            let options =
                SampleOptions { samples: if on_host { 100 } else { 2 }, steps: 200, seed: 5, pure_states: false };
            let mut sums: Vec<Vec<Complex64>> = Vec::new();
            let visit = |_: usize, found: TransitionSamples| {
                let own = PLACES.iter().map(|place| summed(&found.whole.transitions[0], from, *place));
                sums.push(own.collect());
                // Closed chains have no half.
                let half = summed(&found.half.transitions[0], from, PLACES[1]);
                assert!(close(half, sums[sums.len() - 1][1]), "{name}");
                let states: f64 = found.whole.lines.iter().map(|line| line[1]).sum();
                assert!((states - model.states() as f64).abs() < 1e-8, "{name}: {states}");
                Ok::<(), RunError>(())
            };
            model.sampled_transitions(&targets, &[], &options, device, visit).unwrap();
            for (place, at) in PLACES.iter().enumerate() {
                let wanted = summed(&exact.transitions[0], from, *at);
                let count = sums.len() as f64;
                let mean = sums.iter().map(|own| own[place]).sum::<Complex64>() / count;
                let spread = sums.iter().map(|own| (own[place] - mean).norm_sqr()).sum::<f64>();
                let error = (spread / (count * (count - 1.0))).sqrt();
                let allowed = if on_host { 5.0 } else { 50.0 };
                assert!((mean - wanted).norm() < allowed * error + 1e-8, "{name}: {mean} {wanted} ± {error}");
            }
        }
    }
}

/// A vector that is a whole sector by itself has no error at all; with its level known nothing is left to sample.
#[test]
fn a_level_that_is_known_is_not_sampled() {
    let model = xxz(&Lattice::chain(6).periodic(), 1.0, 0.7, 6);
    let operator = wave(6, 2, build::sm);
    let targets = [model.response_targets(&operator, None).unwrap()];
    let options = SampleOptions { samples: 2, steps: 50, seed: 1, pure_states: false };
    let exact = all_transitions(&model, &operator, None);
    let mut count = 0;
    let visit = |_: usize, found: TransitionSamples| {
        count += 1;
        let [own, wanted] =
            [&found.whole, &exact].map(|sample| summed(&sample.transitions[0], exact.lines[0][0], PLACES[0]));
        assert!(close(own, wanted), "{own} {wanted}");
        Ok::<(), RunError>(())
    };
    model.sampled_transitions(&targets, &[], &options, &Device::cpu(), visit).unwrap();
    assert_eq!(count, 2);
    let mut level = LevelStates::new(model.clone(), vec![vec![Complex64::ONE]]);
    level.energy = exact.lines[0][0];
    let none = |_: usize, _: TransitionSamples| -> Result<(), RunError> { panic!("nothing is left") };
    model.sampled_transitions(&targets, &[level], &options, &Device::cpu(), none).unwrap();
}
