//! Traces of models of every kind of site against their whole dense matrices.

use super::super::response::{Action, CHAIN_VECTORS, LevelStates};
use super::levels::inner;
use super::real_states::RealStates;
use super::*;
use crate::samples::{hubbard, xxz};
use crate::{InSector, Lanczos, Model};
use eigenforge_core::lattice::Lattice;
use eigenforge_core::operator::{Charge, Factor, Operator, SiteKind, Spin, Symmetry, Word, build};

use eigenforge_runtime::simulate::Schedule;
use eigenforge_runtime::solvers::symmetric_eigen;
use eigenforge_runtime::{Device, LinearOperator, testing};
use eigenforge_templates::ScalarType;
use num_complex::Complex64;

const TEMPERATURES: [f64; 3] = [0.3, 1.0, 8.0];

fn ring(sites: usize) -> Lattice {
    Lattice::chain(sites).periodic()
}

fn sum(operators: impl Iterator<Item = Operator>) -> Operator {
    operators.fold(Operator::zero(), |sum, own| sum + own)
}

/// Models of every kind of site, real and complex, with operators that lead back to their sectors in part.
fn samples() -> Vec<(Model, Vec<Operator>)> {
    let hermitian = |operator: Operator| operator.clone() + operator.adjoint();
    let flux = |phase: f64| {
        let hop = |i: usize, s| build::cdag(i, s) * build::c((i + 1) % 4, s);
        let bond = |i: usize| {
            let both = hop(i, Spin::Up) + hop(i, Spin::Down);
            hermitian(phase.cos() * both.clone() + phase.sin() * both.times_i())
        };
        let pairs = (0..4).map(|i| (1.0 + 0.3 * i as f64) * (build::n(i, Spin::Up) * build::n(i, Spin::Down)));
        sum((0..4).map(bond).chain(pairs))
    };
    // A gauge removes these phases.
    let gauged = {
        let bond = |i: usize| {
            let hop = build::cdag(i, Spin::Up) * build::c(i + 1, Spin::Up)
                + build::cdag(i, Spin::Down) * build::c(i + 1, Spin::Down);
            hermitian(0.8 * hop.clone() + 0.6 * hop.times_i())
        };
        let pairs =
            (0..3).map(|i| 3.0 * (build::n(i, Spin::Up) * build::n(i, Spin::Down)) + 0.5 * build::n(i, Spin::Up));
        sum((0..2).map(bond).chain(pairs))
    };
    let mixed = {
        let kinds = [SiteKind::Electrons, SiteKind::Moments { two_s: 2 }, SiteKind::Electrons, SiteKind::Qubits];
        let hop = hermitian(build::cdag(0, Spin::Up) * build::c(2, Spin::Up))
            + hermitian(build::cdag(0, Spin::Down) * build::c(2, Spin::Down));
        let kondo = hermitian(build::electron_sp(0) * build::sm(1)) + build::electron_sz(2) * build::sz(1);
        (hop + 0.7 * kondo + 0.4 * build::pauli_z(3) + 0.2 * build::pauli_x(3)).on_kinds(&kinds)
    };
    let bosons = {
        let kinds = [SiteKind::Bosons { most: 2 }; 3];
        let bond = |i: usize| -1.0 * hermitian(build::bdag(i) * build::b((i + 1) % 3));
        let number = |i: usize| build::bdag(i) * build::b(i);
        sum((0..3).map(bond).chain((0..3).map(|i| 0.9 * (number(i) * number(i))))).on_kinds(&kinds)
    };
    let tj = {
        let kinds = [SiteKind::Tj; 4];
        let hop = |i: usize, s| -1.0 * hermitian(build::cdag(i, s) * build::c((i + 1) % 4, s));
        let exchange = |i: usize| 0.2 * hermitian(build::electron_sp(i) * build::electron_sm((i + 1) % 4));
        sum((0..4).map(|i| hop(i, Spin::Up) + hop(i, Spin::Down) + exchange(i))).on_kinds(&kinds)
    };
    let flavours = {
        let kinds = [SiteKind::Flavours(3); 3];
        let hop = |i: usize, f: u8| {
            let (a, b) = (Spin::Flavour(f), Spin::Flavour(f));
            -1.0 * hermitian(build::cdag(i, a) * build::c(i + 1, b))
        };
        let pair = |i: usize| 2.0 * (build::n(i, Spin::Flavour(0)) * build::n(i, Spin::Flavour(2)));
        sum((0..2).flat_map(|i| (0..3).map(move |f| hop(i, f))).chain((0..3).map(pair))).on_kinds(&kinds)
    };
    let doubles = |sites: usize| sum((0..sites).map(|i| build::n(i, Spin::Up) * build::n(i, Spin::Down)));
    let current = hermitian((build::cdag(0, Spin::Up) * build::c(1, Spin::Up)).times_i());
    let spin_one = eigenforge_core::models::xxz(&ring(5), &[1.0; 5], &[0.7; 5], &[0.1; 5], &[0.3; 5]).spin(2);
    let neighbours = |sites: usize| sum((0..sites).map(|i| build::sz(i) * build::sz((i + 1) % sites)));
    vec![
        (xxz(&ring(8), 1.0, 0.4, 0), vec![neighbours(8), build::sz(2), build::sp(0) * build::sm(3), build::sp(1)]),
        (spin_one.two_sz(2).unwrap(), vec![build::sz(0) * build::sz(0), build::sp(0) * build::sm(1)]),
        (hubbard(&ring(4), 4.0, 2, 1), vec![doubles(4), current.clone()]),
        (flux(0.7).charges(&[(Charge::Up, 2), (Charge::Down, 1)]).unwrap(), vec![doubles(4), current.clone()]),
        (gauged.charges(&[(Charge::Up, 2), (Charge::Down, 1)]).unwrap(), vec![doubles(3), current]),
        (mixed.charges(&[(Charge::Particles, 2)]).unwrap(), vec![build::sz(1), build::n(0, Spin::Up)]),
        (bosons.charges(&[(Charge::Bosons, 3)]).unwrap(), vec![build::bdag(0) * build::b(1)]),
        (
            tj.charges(&[(Charge::Up, 2), (Charge::Down, 1)]).unwrap(),
            vec![build::n(0, Spin::Up) * build::n(1, Spin::Down)],
        ),
        (flavours.charges(&[(Charge::Particles, 4)]).unwrap(), vec![build::n(1, Spin::Flavour(1))]),
    ]
}

/// Complex sectors of momentum, with operators that have its symmetry; the last one of each takes no state that is its own conjugate to such.
fn sectors() -> Vec<(Model, Vec<Operator>)> {
    let hermitian = |operator: Operator| operator.clone() + operator.adjoint();
    let neighbours = |sites: usize| sum((0..sites).map(|i| build::sz(i) * build::sz((i + 1) % sites)));
    let turning = |sites: usize| {
        sum((0..sites).map(|i| hermitian((build::sp(i) * build::sm((i + 1) % sites)).times_i())))
            + sum((0..sites).map(|i| build::sz(i) * build::sz((i + 1) % sites) * build::sz((i + 3) % sites)))
    };
    let hopping =
        sum((0..6).map(|i| hermitian((build::cdag(i, Spin::Up) * build::c((i + 1) % 6, Spin::Up)).times_i())));
    let doubles = sum((0..6).map(|i| build::n(i, Spin::Up) * build::n(i, Spin::Down)));
    let at = |model: Model, k: i64| model.symmetry(&Symmetry::new().k(&[k])).unwrap();
    vec![
        (at(xxz(&ring(8), 1.0, 0.4, 0), 1), vec![neighbours(8), turning(8)]),
        (at(xxz(&ring(9), 1.0, 1.0, 1), 3), vec![neighbours(9), turning(9)]),
        (at(hubbard(&ring(6), 4.0, 2, 1), 2), vec![doubles, hopping]),
    ]
}

/// A of the sector by columns, each from its terms factor by factor.
fn dense_operator(model: &Model, operator: &Operator) -> Vec<Vec<Complex64>> {
    let kinds = model.site_kinds();
    let mut columns = vec![vec![Complex64::ZERO; model.states() as usize]; model.states() as usize];
    for (product, coefficient) in operator.clone().on_kinds(&kinds).reduced().terms() {
        let (factors, times) = match product {
            [factors @ .., Factor::ImaginaryUnit] => (factors, Complex64::I),
            factors => (factors, Complex64::ONE),
        };
        let two_s = model.operator().two_s();
        let term = Operator::recorded(&[(coefficient, factors.to_vec())], two_s, kinds.len(), vec![]);
        for (index, column) in columns.iter_mut().enumerate() {
            let mut configuration = model.basis().configuration(index as u64);
            let reached = match model.basis().word() {
                Word::Sites(layout) => {
                    configuration.truncate(layout.digits().len());
                    term.apply_on(layout, &configuration)
                }
                _ => term.apply(model.sites(), &configuration),
            };
            for (there, element) in reached {
                if let Some(place) = model.basis().index_of(&there) {
                    column[place as usize] += times * element;
                }
            }
        }
    }
    columns
}

/// Tr A e^(−H/T) with A by its elements and e^(−H/T) from the eigenvectors of a matrix of twice the size where H is complex.
fn oracle(model: &Model, operator: Option<&Operator>, temperature: f64) -> f64 {
    let n = model.dimension() as usize;
    let (values, vectors) = symmetric_eigen(n, model.dense().unwrap().as_slice().unwrap()).unwrap();
    let share = model.states() as f64 / n as f64;
    let columns = operator.map(|operator| dense_operator(model, operator));
    let mut sum = 0.0;
    for (value, vector) in values.iter().zip(&vectors) {
        let amplitudes = model.amplitudes(vector);
        let mean = columns.as_ref().map_or(1.0, |columns| {
            let mut mean = Complex64::ZERO;
            for (column, amplitude) in columns.iter().zip(&amplitudes) {
                mean += amplitude * column.iter().zip(&amplitudes).map(|(a, own)| own.conj() * a).sum::<Complex64>();
            }
            mean.re
        });
        sum += share * mean * (-value / temperature).exp();
    }
    sum
}

/// Σ over lines: Tr 1, then Tr A of each operator.
fn sums(lines: &[TraceLine], operators: usize, temperature: f64) -> Vec<f64> {
    let mut sums = vec![0.0; operators + 1];
    for line in lines {
        let factor = (-line.energy / temperature).exp();
        sums[0] += line.weight * factor;
        sums[1..].iter_mut().zip(&line.values).for_each(|(sum, value)| *sum += value * factor);
    }
    sums
}

fn close(found: f64, wanted: f64, scale: f64) -> bool {
    (found - wanted).abs() <= 1e-9 * wanted.abs().max(scale)
}

#[test]
fn dense_traces_are_those_of_the_matrices() {
    for (model, operators) in samples() {
        let with = model.whole_trace(&operators).unwrap();
        let without = model.whole_trace(&[]).unwrap();
        assert_eq!(with.states, model.states());
        for temperature in TEMPERATURES {
            let found = sums(&with.exact, operators.len(), temperature);
            let z = oracle(&model, None, temperature);
            assert!(
                close(found[0], z, 0.0) && close(sums(&without.exact, 0, temperature)[0], z, 0.0),
                "{}",
                model.name()
            );
            for (operator, found) in operators.iter().zip(&found[1..]) {
                let wanted = oracle(&model, Some(operator), temperature);
                assert!(close(*found, wanted, z), "{} at {temperature}: {found} for {wanted}", model.name());
            }
        }
    }
}

/// ⟨r| A† e^(−H/T) |r⟩ of the very vector, by all eigenvectors; half of the way by levels that are taken out. Of a pure state
/// ⟨r| e^(−H/2T) A e^(−H/2T) |r⟩.
#[test]
fn each_sample_is_the_element_of_its_vector() {
    let all = samples().into_iter().chain(sectors());
    for ((model, operators), pure_states) in all.flat_map(|own| [(own.clone(), false), (own, true)]) {
        let options = SampleOptions { samples: 1, steps: 300, seed: 5, pure_states };
        let part = if pure_states { 0.5 } else { 1.0 };
        let solution = Lanczos::new(&model).states(2).tolerance(1e-13).run(&Device::cpu()).unwrap();
        let level = solution.level_states(0).unwrap();
        let states = RealStates::new(&model);
        let n = states.model.dimension() as usize;
        assert!(n as u64 == model.states() || model.momentum().is_none(), "{}", model.name());
        let (values, vectors) = symmetric_eigen(n, states.model.dense().unwrap().as_slice().unwrap()).unwrap();
        let parts: Vec<Operator> = operators.iter().map(|operator| model.part_within(operator)).collect();
        let actions: Vec<Action<'_>> = parts.iter().map(|own| Action::new(own, &model, &model).unwrap()).collect();
        for levels in [vec![], vec![level]] {
            let found = model.sampled_trace(&operators, &levels, &options, &Device::cpu()).unwrap();
            let known: usize = levels.iter().map(|level| level.states.len()).sum();
            assert_eq!(found.exact.iter().map(|line| line.weight).sum::<f64>(), known as f64);
            let taken = states.directions(&levels).unwrap();
            assert_eq!(taken.len() as u64 * model.states(), known as u64 * n as u64);
            for (number, sample) in found.samples.iter().enumerate() {
                let seed = super::random::seed_of(options.seed, &model.sector_text(), number);
                let start = states.random(seed, &taken);
                let amplitudes = states.amplitudes(&start);
                let lines = sample.lines(sample.steps()).unwrap();
                let rest = (model.states() - known as u64) as f64;
                assert!((lines.iter().map(|line| line.weight).sum::<f64>() - rest).abs() < 1e-9 * rest);
                for temperature in TEMPERATURES {
                    let lowest = values[0];
                    let mut evolved = vec![0.0; n];
                    for (value, vector) in values.iter().zip(&vectors) {
                        let overlap: f64 = vector.iter().zip(&start).map(|(a, b)| a * b).sum();
                        let factor = overlap * (-part * (value - lowest) / temperature).exp();
                        evolved.iter_mut().zip(vector).for_each(|(sum, own)| *sum += factor * own);
                    }
                    let evolved = states.amplitudes(&evolved);
                    let amplitudes = if pure_states { &evolved } else { &amplitudes };
                    let scale = (-lowest / temperature).exp() * rest;
                    let got = sums(&lines, operators.len(), temperature);
                    let z = scale * inner(&evolved, amplitudes);
                    assert!(close(got[0], z, 0.0), "{} at {temperature}: {} for {z}", model.name(), got[0]);
                    for (action, got) in actions.iter().zip(&got[1..]) {
                        let wanted = scale * inner(&evolved, &action.applied(amplitudes));
                        assert!(close(*got, wanted, z), "{} at {temperature}: {got} for {wanted}", model.name());
                    }
                }
            }
        }
    }
}

/// The mean over many vectors is the trace, within five standard errors.
#[test]
fn the_mean_of_samples_is_the_trace() {
    let options = SampleOptions { samples: 150, steps: 40, seed: 11, pure_states: false };
    for (model, operators) in samples() {
        let found = model.sampled_trace(&operators, &[], &options, &Device::cpu()).unwrap();
        let temperature = 2.0;
        let each: Vec<Vec<f64>> = found
            .samples
            .iter()
            .map(|sample| sums(&sample.lines(options.steps).unwrap(), operators.len(), temperature))
            .collect();
        let count = each.len() as f64;
        for place in 0..=operators.len() {
            let mean = each.iter().map(|own| own[place]).sum::<f64>() / count;
            let spread = each.iter().map(|own| (own[place] - mean).powi(2)).sum::<f64>() / (count - 1.0);
            let wanted = oracle(&model, place.checked_sub(1).map(|k| &operators[k]), temperature);
            let error = (spread / count).sqrt();
            let name = format!("{} {place}: {mean} ± {error} for {wanted}", model.name());
            assert!((mean - wanted).abs() <= 5.0 * error + 1e-9 * wanted.abs(), "{name}");
        }
    }
}

/// Sectors of momentum, with all k: traces add up to that of the plain sector, also of an operator that does not commute with H.
#[test]
fn sectors_of_momentum_add_up() {
    let neighbours = sum((0..6).map(|i| build::sz(i) * build::sz((i + 1) % 6)));
    let doubles = sum((0..6).map(|i| build::n(i, Spin::Up) * build::n(i, Spin::Down)));
    let turning = sum((0..6).map(|i| build::sp(i) * build::sm((i + 1) % 6) * (build::sz((i + 2) % 6) + 0.3))).times_i();
    let turning = turning.clone() + turning.adjoint() + 0.5 * neighbours.clone();
    let cases = [
        (xxz(&ring(6), 1.0, 0.4, 2), neighbours),
        (xxz(&ring(6), 1.0, 0.4, 0), turning),
        (hubbard(&ring(6), 4.0, 2, 1), doubles),
    ];
    for (model, operator) in cases {
        let operators = std::slice::from_ref(&operator);
        let plain = model.whole_trace(operators).unwrap();
        let (mut states, mut dense) = (0, vec![0.0; 2]);
        for k in 0..6 {
            let sector = model.symmetry(&Symmetry::new().k(&[k])).unwrap();
            let own = sector.whole_trace(operators).unwrap();
            let alone = sector.whole_trace(&[]).unwrap();
            let sums = [sums(&own.exact, 1, 0.7), sums(&alone.exact, 0, 0.7)];
            assert!(close(sums[0][0], sums[1][0], 0.0));
            states += own.states;
            dense.iter_mut().zip(&sums[0]).for_each(|(sum, own)| *sum += own);
        }
        let wanted = sums(&plain.exact, 1, 0.7);
        assert_eq!(states, plain.states);
        assert!(close(dense[0], wanted[0], 0.0) && close(dense[1], wanted[1], wanted[0]), "{dense:?} for {wanted:?}");
    }
}

/// Vectors too long to be kept orthogonal: copies of converged poles appear, and the sums over all of them are right. e^(−H/T)|r⟩ by its series.
#[test]
fn long_chains_without_orthogonality_have_the_same_sums() {
    let model = xxz(&ring(17), 1.0, 0.6, 1);
    assert!(model.dimension() > 1 << 14);
    let operator = sum((0..17).map(|i| build::sz(i) * build::sz((i + 2) % 17))) + build::sz(3);
    let options = SampleOptions { samples: 1, steps: 250, seed: 3, pure_states: false };
    let found = model.sampled_trace(std::slice::from_ref(&operator), &[], &options, &Device::cpu()).unwrap();
    let lines = found.samples[0].lines(250).unwrap();
    let copies = lines.windows(2).filter(|pair| pair[1].energy - pair[0].energy < 1e-9).count();
    assert!(copies > 5, "{copies} copies: the chain was kept orthogonal");
    let start = RealStates::new(&model).random(super::random::seed_of(3, &model.sector_text(), 0), &[]);
    let device = Device::cpu();
    let hamiltonian = model.on_device(&device, ScalarType::F64, CHAIN_VECTORS).unwrap();
    let beta = 1.5;
    let (mut term, mut evolved) = (start.clone(), start.clone());
    let mut made = device.zeros(start.len()).unwrap();
    for order in 1..160 {
        hamiltonian.apply(&device.upload(&term).unwrap(), &mut made).unwrap();
        term = made.download().unwrap().iter().map(|y| -beta / order as f64 * y).collect();
        evolved.iter_mut().zip(&term).for_each(|(sum, own)| *sum += own);
    }
    let part = model.part_within(&operator);
    let image = Action::new(&part, &model, &model).unwrap().applied(&model.amplitudes(&start));
    let scale = model.states() as f64 * (-beta * model.constant()).exp();
    let z = scale * inner(&model.amplitudes(&evolved), &model.amplitudes(&start));
    let wanted = scale * inner(&model.amplitudes(&evolved), &image);
    let got = sums(&lines, 1, 1.0 / beta);
    assert!(close(got[0], z, 0.0) && (got[1] - wanted).abs() < 1e-8 * z, "{got:?} for {z} and {wanted}");
}

/// A device of generated kernels has the same lines.
#[test]
fn kernels_sample_as_the_host_does() {
    let options = SampleOptions { samples: 2, steps: 20, seed: 1, pure_states: false };
    for (model, operators) in samples().into_iter().skip(1).take(3) {
        let of_device = |device: &Device| {
            let level: LevelStates =
                Lanczos::new(&model).tolerance(1e-12).run(device).unwrap().level_states(0).unwrap();
            let found = model.sampled_trace(&operators, &[level], &options, device).unwrap();
            let lines = found.samples.iter().flat_map(|sample| sample.lines(20).unwrap());
            sums(&lines.chain(found.exact.clone()).collect::<Vec<_>>(), operators.len(), 0.5)
        };
        let on_host = of_device(&Device::cpu());
        for device in testing::kernel_devices(Schedule::Forward) {
            for (found, wanted) in of_device(&device).iter().zip(&on_host) {
                assert!(close(*found, *wanted, on_host[0]), "{} on {}", model.name(), device.name());
            }
        }
    }
}
