//! Evolutions of models against exponentials of dense matrices, sectors against plain ones, entropies against density matrices.

use super::*;
use crate::response::{LevelStates, ResponseTarget};
use crate::samples::{hubbard, hubbard_operator, xxz};
use crate::{InSector, Lanczos, Model, RunError, second_renyi_entropy, von_neumann_entropy};
use eigenforge_core::basis::{Down, Up};
use eigenforge_core::lattice::Lattice;
use eigenforge_core::observable::Observable;
use eigenforge_core::operator::{Charge, Operator, SiteKind, Spin, Symmetry, build};
use eigenforge_runtime::simulate::Schedule;
use eigenforge_runtime::solvers::{CheckpointOptions, EvolutionOptions, EvolutionSteps, symmetric_eigen};
use eigenforge_runtime::{Device, testing};
use num_complex::Complex64;

/// Numbers between −1 and 1 that repeat.
fn numbers(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

fn random_state(model: &Model, seed: u64, real: bool) -> Vec<Complex64> {
    let mut next = numbers(seed);
    let mut state: Vec<Complex64> =
        (0..model.states()).map(|_| Complex64::new(next(), if real { 0.0 } else { next() })).collect();
    let norm = state.iter().map(Complex64::norm_sqr).sum::<f64>().sqrt();
    state.iter_mut().for_each(|v| *v /= norm);
    state
}

/// exp(−iHt) ψ, or exp(−Ht) ψ of length 1, by all eigenvectors of the complex matrix.
fn dense(model: &Model, state: &[Complex64], time: f64, imaginary: bool) -> Vec<Complex64> {
    let n = model.dimension() as usize;
    let (values, vectors) = symmetric_eigen(n, model.dense().unwrap().as_slice().unwrap()).unwrap();
    let real = |state: &[Complex64]| -> Vec<Vec<f64>> {
        let (re, im): (Vec<f64>, Vec<f64>) = state.iter().map(|v| (v.re, v.im)).unzip();
        if model.is_complex() { vec![[re, im].concat()] } else { vec![re, im] }
    };
    let applied = |f: &dyn Fn(f64) -> f64| -> Vec<Complex64> {
        let made = real(state).into_iter().map(|x| {
            let mut sum = vec![0.0; n];
            for (value, vector) in values.iter().zip(&vectors) {
                let weight: f64 = f(*value) * vector.iter().zip(&x).map(|(v, x)| v * x).sum::<f64>();
                sum.iter_mut().zip(vector).for_each(|(sum, v)| *sum += weight * v);
            }
            sum
        });
        let whole: Vec<f64> = made.flatten().collect();
        let (re, im) = whole.split_at(whole.len() / 2);
        re.iter().zip(im).map(|(re, im)| Complex64::new(*re, *im)).collect()
    };
    if imaginary {
        let made = applied(&|value| (-(value - values[0]) * time).exp());
        let norm = made.iter().map(Complex64::norm_sqr).sum::<f64>().sqrt();
        return made.into_iter().map(|v| v / norm).collect();
    }
    let [cos, sin] = [applied(&|value| (value * time).cos()), applied(&|value| (value * time).sin())];
    cos.into_iter().zip(sin).map(|(c, s)| c - Complex64::I * s).collect()
}

/// O ψ on the states of the same sector.
fn acted(model: &Model, operator: &Operator, state: &[Complex64]) -> Vec<Complex64> {
    let operator = operator.clone().on_kinds(&model.site_kinds()).reduced();
    let target = ResponseTarget { model: model.clone(), operator };
    LevelStates::new(model.clone(), vec![state.to_vec()]).excited(0, &target).unwrap()
}

fn product(a: &[Complex64], b: &[Complex64]) -> Complex64 {
    a.iter().zip(b).map(|(a, b)| a.conj() * b).sum()
}

fn measured(
    model: &Model,
    start: &[Complex64],
    options: &EvolutionOptions,
    wanted: &EvolutionMeasures,
    device: &Device,
) -> (Vec<EvolutionPoint>, EvolutionSteps) {
    let mut points = Vec::new();
    let course = evolve_model(model, start, options, wanted, device, |point| points.push(point)).unwrap();
    (points, course)
}

fn scalars(list: &[(&str, Operator)]) -> EvolutionMeasures {
    let observables = list.iter().map(|(name, operator)| Observable::scalar(name, operator.clone())).collect();
    EvolutionMeasures { observables, ..EvolutionMeasures::default() }
}

/// Energy, overlap and averages of real and of imaginary products are those of the dense state.
fn check(name: &str, model: &Model, operators: &[(&str, Operator)], device: &Device) {
    for (seed, imaginary) in [(3, false), (4, true)] {
        let start = random_state(model, seed, seed == 3);
        let options = EvolutionOptions { imaginary, ..EvolutionOptions::new(vec![0.0, 0.4, 1.3], 1e-10) };
        let (points, course) = measured(model, &start, &options, &scalars(operators), device);
        assert!(course.bound < if imaginary { 1e-7 } else { 1e-10 }, "{name}: {course:?}");
        for point in &points {
            let state = dense(model, &start, point.time, imaginary);
            let close = |found: f64, wanted: f64| (found - wanted).abs() < 1e-8 * (1.0 + wanted.abs());
            let energy = product(&state, &acted(model, model.operator(), &state)).re;
            assert!(close(point.energy, energy), "{name}, t = {}: {} {energy}", point.time, point.energy);
            let overlap = product(&start, &state);
            assert!((point.overlap - overlap).norm() < 1e-8, "{name}: {} {overlap}", point.overlap);
            for (of, operator) in operators {
                let wanted = product(&state, &acted(model, operator, &state));
                assert!(wanted.im.abs() < 1e-12, "{name}: {of} is not Hermitian");
                let found = point.averages.scalar(of).unwrap();
                assert!(close(found, wanted.re), "{name}, t = {}: {of} = {found}, {wanted}", point.time);
            }
        }
        assert!((points[0].overlap - 1.0).norm() < 1e-12);
    }
}

fn hop(i: usize, j: usize, spin: Spin) -> Operator {
    build::cdag(i, spin) * build::c(j, spin)
}

/// −i (c†_j c_i − c†_i c_j): odd under conjugation.
fn current(i: usize, j: usize, spin: Spin) -> Operator {
    let forth = hop(j, i, spin).times_i();
    -1.0 * (forth.clone() + forth.adjoint())
}

fn flux_ring() -> Model {
    let bond = |i: usize| {
        let both = hop(i, (i + 1) % 4, Spin::Up) + hop(i, (i + 1) % 4, Spin::Down);
        let turned = 0.8 * both.clone() + 0.6 * both.times_i();
        turned.clone() + turned.adjoint() + 2.0 * (build::n(i, Spin::Up) * build::n(i, Spin::Down))
    };
    (0..4).map(bond).fold(Operator::zero(), |a, b| a + b).sector(Up(2), Down(1)).unwrap()
}

/// A name, a model, and operators with their names.
type Case = (&'static str, Model, Vec<(&'static str, Operator)>);

/// Models of every kind of site, real and complex.
fn models() -> Vec<Case> {
    let chain = |sites: usize| Lattice::chain(sites).periodic();
    let spin_currents = |i: usize, j: usize| {
        let forth = (build::sp(i) * build::sm(j)).times_i();
        forth.clone() + forth.adjoint()
    };
    let spin_one = {
        let spins = eigenforge_core::models::xxz(&chain(5), &[1.0; 5], &[0.7; 5], &[0.1; 5], &[0.3; 5]);
        spins.spin(2).two_sz(2).unwrap()
    };
    let field = (0..5)
        .map(|i| build::sz(i) * build::sz((i + 1) % 5) + 0.7 * build::sx(i) + 0.2 * build::sz(i))
        .sum::<Operator>()
        .on_kinds(&[SiteKind::Moments { two_s: 1 }; 5]);
    let bosons = {
        let bond = |i: usize| {
            let hop = build::bdag(i) * build::b((i + 1) % 4);
            -1.0 * (hop.clone() + hop.adjoint()) + 0.5 * (build::bdag(i) * build::bdag(i) * build::b(i) * build::b(i))
        };
        (0..4).map(bond).sum::<Operator>().on_kinds(&[SiteKind::Bosons { most: 3 }; 4])
    };
    let flavour = Spin::Flavour(0);
    let spinless = {
        let bond = |i: usize| {
            let hop = hop(i, (i + 1) % 6, flavour);
            -1.0 * (hop.clone() + hop.adjoint()) + 1.3 * (build::n(i, flavour) * build::n((i + 1) % 6, flavour))
        };
        (0..6).map(bond).sum::<Operator>().on_kinds(&[SiteKind::Flavours(1); 6])
    };
    // A moment between two electrons, and a term that keeps neither spin by itself.
    let mixed = {
        let flip = build::cdag(0, Spin::Up) * build::c(0, Spin::Down) * build::sm(1);
        let sum = flip.clone() + flip.adjoint();
        let hops = hop(0, 2, Spin::Up) + hop(0, 2, Spin::Down);
        let all = 0.9 * sum + hops.clone() + hops.adjoint() + 0.4 * (build::sz(1) * build::n(2, Spin::Up));
        all.on_kinds(&[SiteKind::Electrons, SiteKind::Moments { two_s: 1 }, SiteKind::Electrons])
    };
    let shifted = hubbard_operator(&chain(4), 3.0) - 1.7 * (0..4).map(|i| build::n(i, Spin::Up)).sum::<Operator>();
    vec![
        (
            "ring of spins",
            xxz(&chain(8), 1.0, 0.6, 0),
            vec![("j", spin_currents(1, 2)), ("zz", build::sz(0) * build::sz(3))],
        ),
        ("spins 1", spin_one, vec![("j", spin_currents(0, 1)), ("z", build::sz(2))]),
        ("all states", field.charges(&[]).unwrap(), vec![("x", build::sx(0)), ("z", build::sz(1))]),
        (
            "electrons with a constant",
            shifted.sector(Up(3), Down(1)).unwrap(),
            vec![("d", build::n(0, Spin::Up) * build::n(0, Spin::Down)), ("j", current(0, 1, Spin::Up))],
        ),
        ("a ring with flux", flux_ring(), vec![("n", build::n(0, Spin::Up)), ("j", current(2, 3, Spin::Down))]),
        ("bosons", bosons.charges(&[(Charge::Bosons, 4)]).unwrap(), vec![("n", build::bdag(0) * build::b(0))]),
        (
            "spinless fermions",
            spinless.charges(&[(Charge::Particles, 3)]).unwrap(),
            vec![("nn", build::n(0, flavour) * build::n(2, flavour)), ("j", current(4, 5, flavour))],
        ),
        (
            "electrons and a moment",
            mixed.charges(&[(Charge::Particles, 2)]).unwrap(),
            vec![("z", build::sz(1)), ("j", current(0, 2, Spin::Up))],
        ),
    ]
}

#[test]
fn states_of_every_kind_of_site_are_those_of_dense_exponentials() {
    for (name, model, operators) in models() {
        check(name, &model, &operators, &Device::cpu());
    }
}

#[test]
fn states_of_symmetry_sectors_are_those_of_dense_exponentials() {
    let ring = xxz(&Lattice::chain(8).periodic(), 1.0, 0.6, 0);
    let bonds = (0..8).map(|i| build::sdots(i, (i + 1) % 8)).sum::<Operator>();
    let flow = (0..8)
        .map(|i| (build::sp(i) * build::sm((i + 1) % 8)).times_i())
        .map(|forth| forth.clone() + forth.adjoint())
        .sum::<Operator>();
    for k in [0, 1, 4] {
        let sector = ring.symmetry(&Symmetry::new().k(&[k])).unwrap();
        check(&format!("k = {k}"), &sector, &[("bonds", bonds.clone()), ("flow", flow.clone())], &Device::cpu());
    }
    let electrons = hubbard(&Lattice::chain(6).periodic(), 4.0, 3, 3);
    let double = (0..6).map(|i| build::n(i, Spin::Up) * build::n(i, Spin::Down)).sum::<Operator>();
    for k in [0, 1] {
        let sector = electrons.symmetry(&Symmetry::new().k(&[k])).unwrap();
        check(&format!("electrons, k = {k}"), &sector, &[("double", double.clone())], &Device::cpu());
    }
}

/// A quench within a sector of momentum is the same without it, entropies and averages of single sites included.
#[test]
fn sectors_of_momentum_and_plain_ones_agree() {
    let ring = |jz: f64| xxz(&Lattice::chain(8).periodic(), 1.0, jz, 0);
    let before = ring(0.3);
    let found = Lanczos::new(&before).tolerance(1e-13).run(&Device::cpu()).unwrap().level_states(0).unwrap();
    let wanted = EvolutionMeasures {
        observables: vec![Observable::scalar("zz", build::sz(0) * build::sz(1)), Observable::scalar("z", build::sz(3))],
        entropies: vec![vec![0, 1, 2, 3], vec![0, 3, 5]],
    };
    let options = EvolutionOptions::new(vec![0.0, 0.5, 2.0], 1e-10);
    let plain = ring(2.0);
    let start = found.carried(0, &plain).unwrap();
    let (points, _) = measured(&plain, &start, &options, &wanted, &Device::cpu());
    let sector = plain.symmetry(&Symmetry::new().k(&[0])).unwrap();
    let start = found.carried(0, &sector).unwrap();
    let (within, _) = measured(&sector, &start, &options, &wanted, &Device::cpu());
    for (a, b) in points.iter().zip(&within) {
        assert!((a.energy - b.energy).abs() < 1e-9 && (a.overlap - b.overlap).norm() < 1e-9, "{a:?} {b:?}");
        for name in ["zz", "z"] {
            assert!((a.averages.scalar(name).unwrap() - b.averages.scalar(name).unwrap()).abs() < 1e-9, "{name}");
        }
        assert!(a.entropies.iter().zip(&b.entropies).all(|(a, b)| (a - b).abs() < 1e-8), "{a:?} {b:?}");
    }
    let error = found.carried(0, &plain.symmetry(&Symmetry::new().k(&[1])).unwrap()).unwrap_err();
    assert!(error.to_string().contains("is not in the sector"), "{error}");
}

/// exp(iHt) exp(−iHt) ψ = ψ, with −H for the way back.
#[test]
fn forward_and_back_is_the_start() {
    let model = flux_ring();
    let back = (-1.0 * model.operator().clone()).sector(Up(2), Down(1)).unwrap();
    let start = random_state(&model, 9, false);
    let state = dense(&model, &start, 2.5, false);
    let (points, course) = measured(
        &back,
        &state,
        &EvolutionOptions::new(vec![2.5], 1e-11),
        &EvolutionMeasures::default(),
        &Device::cpu(),
    );
    let returned = dense(&back, &state, 2.5, false);
    assert!((product(&start, &returned) - 1.0).norm() < 1e-11);
    assert!((points[0].overlap - product(&state, &returned)).norm() < 1e-11, "{course:?}");
}

/// Cards multiply and average in their own ways.
#[test]
fn cards_have_the_states_of_the_cores() {
    let all = models();
    for device in testing::kernel_devices(Schedule::Forward) {
        for name in ["electrons with a constant", "a ring with flux", "ring of spins"] {
            let (name, model, operators) = all.iter().find(|(known, ..)| *known == name).unwrap();
            check(name, model, operators, &device);
        }
    }
}

/// ρ_A of an operator algebra: ⟨ψ| O |ψ⟩ of all products on A is what it gives; here by S_A = S_rest and by free fermions.
#[test]
fn entropies_are_those_of_both_sides_and_of_free_fermions() {
    for (name, model, _) in models() {
        let state = random_state(&model, 17, false);
        let sites = model.sites();
        for own in [vec![0], vec![0, 2], vec![1, 2]] {
            let rest: Vec<usize> = (0..sites).filter(|site| !own.contains(site)).collect();
            let spectra = spectra(&model, std::slice::from_ref(&state), &[own.clone(), rest]);
            let [a, b] = [&spectra[0], &spectra[1]].map(|spectrum| von_neumann_entropy(spectrum));
            assert!((a - b).abs() < 1e-12 && a > 0.1, "{name}, {own:?}: {a} {b}");
            assert!((spectra[0].iter().sum::<f64>() - 1.0).abs() < 1e-13, "{name}");
        }
    }
    // Ring of 6 at U = 0, half filled: 2.772588722240 of the sites 0 and 2 with the signs of the fermions, by the correlation matrix.
    let ring = hubbard(&Lattice::chain(6).periodic(), 0.0, 3, 3);
    let ground = Lanczos::new(&ring).tolerance(1e-13).run(&Device::cpu()).unwrap().level_states(0).unwrap();
    let spectra_of_ring = spectra(&ring, &ground.states, &[vec![0, 2], vec![0, 1, 2], vec![]]);
    let found: Vec<f64> = spectra_of_ring.iter().map(|spectrum| von_neumann_entropy(spectrum)).collect();
    assert!((found[0] - 4.0 * 2f64.ln()).abs() < 1e-9 && (found[1] - 1.905596343203).abs() < 1e-9, "{found:?}");
    assert_eq!((spectra_of_ring[2].len(), found[2].abs() < 1e-12), (1, true));
    // A level of two states: no basis of it changes the mean.
    let odd = xxz(&Lattice::chain(5).periodic(), 1.0, 1.0, 1);
    let level = Lanczos::new(&odd).tolerance(1e-13).states(2).run(&Device::cpu()).unwrap().level_states(0).unwrap();
    let [a, b] = [&level.states[0], &level.states[1]];
    let mixed = |p: Complex64, q: Complex64| a.iter().zip(b).map(|(a, b)| p * a + q * b).collect::<Vec<_>>();
    let turned = [mixed(0.6.into(), Complex64::new(0.0, 0.8)), mixed(Complex64::new(0.0, 0.8), 0.6.into())];
    let [own, other] = [&level.states[..], &turned].map(|states| spectra(&odd, states, &[vec![0, 1]]));
    assert!(own[0].iter().zip(&other[0]).all(|(a, b)| (a - b).abs() < 1e-12), "{own:?} {other:?}");
    assert!((own[0].iter().sum::<f64>() - 1.0).abs() < 1e-12 && own[0].len() <= 8);
    // A set that has none leaves the others as they are.
    let found = ring.entanglement_spectra(&ground.states, &[vec![6], vec![0]]).unwrap();
    assert!(found[0].as_ref().is_err_and(|error| error.to_string().contains("site 6")) && found[1].is_ok());
    let all = spectra(&ring, &ground.states, &[(0..6).collect()]);
    assert_eq!((von_neumann_entropy(&all[0]), second_renyi_entropy(&all[0])), (0.0, 0.0));
}

/// The eigenvalues of the density matrices of sets that have them.
fn spectra(model: &Model, states: &[Vec<Complex64>], subsets: &[Vec<usize>]) -> Vec<Vec<f64>> {
    model.entanglement_spectra(states, subsets).unwrap().into_iter().map(Result::unwrap).collect()
}

#[test]
fn product_states_are_those_of_their_local_states() {
    let refused = |model: &Model, levels: &[u64]| model.product_state(levels).unwrap_err().to_string();
    let spins = xxz(&Lattice::chain(4).periodic(), 1.0, 1.0, 0);
    let state = spins.product_state(&[1, 0, 1, 0]).unwrap();
    let average = |site: usize| product(&state, &acted(&spins, &build::sz(site), &state)).re;
    assert_eq!([0, 1, 2, 3].map(average), [0.5, -0.5, 0.5, -0.5]);
    assert!(refused(&spins, &[1, 1, 1, 0]).contains("2Sz = 2"), "{}", refused(&spins, &[1, 1, 1, 0]));
    assert!(refused(&spins, &[1, 0]).contains("2 local states are given for 4 sites"));
    assert!(refused(&spins, &[2, 0, 1, 0]).contains("local states are 0 to 1, found 2"));
    let electrons = hubbard(&Lattice::chain(4).periodic(), 4.0, 2, 1);
    let state = electrons.product_state(&[3, 1, 0, 0]).unwrap();
    let average = |operator: Operator| product(&state, &acted(&electrons, &operator, &state)).re;
    assert_eq!([0, 1].map(|site| average(build::n(site, Spin::Up))), [1.0, 1.0]);
    assert_eq!([0, 1].map(|site| average(build::n(site, Spin::Down))), [1.0, 0.0]);
    assert!(refused(&electrons, &[3, 2, 0, 0]).contains("1 up, 2 down"));
    // In a sector of momentum it is one only if translations leave it alone.
    let momentum = spins.symmetry(&Symmetry::new().k(&[0])).unwrap();
    assert!(refused(&momentum, &[1, 0, 1, 0]).contains("not in the sector"));
    let full = xxz(&Lattice::chain(4).periodic(), 1.0, 1.0, 4).symmetry(&Symmetry::new().k(&[0])).unwrap();
    assert_eq!(full.product_state(&[1; 4]).unwrap(), [Complex64::ONE]);
}

/// A pulse: H(t) = H + cos(3t) V with a real and with a complex V against the dense product of many short steps.
#[test]
fn driven_models_are_those_of_many_short_steps() {
    let ring = hubbard_operator(&Lattice::chain(4).periodic(), 3.0);
    let flow = current(0, 1, Spin::Up) + current(0, 1, Spin::Down);
    let level = build::n(0, Spin::Up) - build::n(2, Spin::Down);
    for part in [flow, level] {
        let sector = |operator: &Operator| operator.clone().sector(Up(2), Down(1)).unwrap();
        let [first, second] = [sector(&ring), sector(&part.on_kinds(&[SiteKind::Electrons; 4]))];
        let driven = DrivenModel::new(vec![first, second], |t: f64| vec![1.0, 0.7 * (3.0 * t).cos()]).unwrap();
        let model = driven.basis_model();
        let start = random_state(model, 23, false);
        let by_steps = |steps: usize| {
            let h = 1.2 / steps as f64;
            (0..steps).fold(start.clone(), |state, step| {
                let weight = 0.7 * (3.0 * (step as f64 + 0.5) * h).cos();
                let whole = ring.clone() + weight * driven.parts()[1].operator().clone();
                let whole = sector(&whole);
                let whole = if model.is_complex() { whole.on_complex_vectors().unwrap() } else { whole };
                dense(&whole, &state, h, false)
            })
        };
        let [coarse, fine] = [by_steps(100), by_steps(200)];
        let wanted: Vec<Complex64> = coarse.iter().zip(&fine).map(|(a, b)| b + (b - a) / 3.0).collect();
        let mut points = Vec::new();
        let measures = scalars(&[("n", build::n(0, Spin::Up))]);
        let options = EvolutionOptions::new(vec![0.0, 0.5, 1.2], 1e-8);
        let course =
            evolve_driven_model(&driven, &start, &options, &measures, &Device::cpu(), |point| points.push(point));
        assert!(course.unwrap().bound <= 1e-8);
        let last = &points[2];
        assert!(
            (last.overlap - product(&start, &wanted)).norm() < 1e-7,
            "{} {}",
            last.overlap,
            product(&start, &wanted)
        );
        let average = product(&wanted, &acted(model, &build::n(0, Spin::Up), &wanted)).re;
        assert!((last.averages.scalar("n").unwrap() - average).abs() < 1e-7);
        let now = ring.clone() + 0.7 * (3.6f64).cos() * driven.parts()[1].operator().clone();
        let energy = product(&wanted, &acted(model, &now, &wanted)).re;
        assert!((last.energy - energy).abs() < 1e-6, "{} {energy}", last.energy);
    }
}

/// H(t) in sectors of momentum and of other groups, real and complex, on cores and cards, is H(t) without them; what some H(t) has not is refused.
#[test]
fn driven_models_in_symmetry_sectors_are_those_without() {
    let lattice = Lattice::chain(4).periodic();
    let [hops, repulsion] = [0.0, 1.0].map(|u| hubbard_operator(&lattice, u));
    let repulsion = repulsion - hops.clone();
    let flow =
        (0..4).map(|i| current(i, (i + 1) % 4, Spin::Up) + current(i, (i + 1) % 4, Spin::Down)).sum::<Operator>();
    let sector = |operator: &Operator| {
        let on_sites = operator.clone().on_kinds(&[SiteKind::Electrons; 4]).on_lattice(&lattice);
        on_sites.sector(Up(2), Down(2)).unwrap()
    };
    let driven = |last: &Operator| {
        let parts = [&hops, &repulsion, last].map(sector).to_vec();
        DrivenModel::new(parts, |t: f64| vec![1.0, 3.0 + t, 0.7 * (3.0 * t).cos()]).unwrap()
    };
    let measures = scalars(&[
        ("double", (0..4).map(|i| build::n(i, Spin::Up) * build::n(i, Spin::Down)).sum()),
        ("flow", flow.clone()),
    ]);
    let options = EvolutionOptions::new(vec![0.0, 0.1, 0.6], 1e-9);
    // A card is simulated, slowly.
    let short = EvolutionOptions::new(vec![0.0, 0.1], 1e-5);
    let evolved = |driven: &DrivenModel<'_>, start: &[Complex64], device: &Device| {
        let options = if device.runs_kernels() { &short } else { &options };
        let mut points = Vec::new();
        evolve_driven_model(driven, start, options, &measures, device, |point| points.push(point)).unwrap();
        points
    };
    let density = (0..4).map(|i| build::n(i, Spin::Up) * build::n((i + 1) % 4, Spin::Down)).sum::<Operator>();
    let cases = [
        (&flow, Symmetry::new().k(&[1]), true),
        (&flow, Symmetry::new().exchange(1), false),
        (&flow, Symmetry::new().k(&[0]).exchange(-1), false),
        (&density, Symmetry::new().k(&[2]), false),
        (&density, Symmetry::new().particle_hole(1), false),
    ];
    for (last, symmetry, on_cards) in cases {
        let within = driven(last).symmetry(&symmetry).unwrap();
        let start = random_state(within.basis_model(), 31, false);
        let plain = driven(last);
        let level = LevelStates::new(within.basis_model().clone(), vec![start.clone()]);
        let wanted = evolved(&plain, &level.carried(0, plain.basis_model()).unwrap(), &Device::cpu());
        let cards = testing::kernel_devices(Schedule::Forward).into_iter().filter(|_| on_cards);
        for device in std::iter::once(Device::cpu()).chain(cards) {
            let found = evolved(&within, &start, &device);
            for (a, b) in found.iter().zip(&wanted) {
                let close = if device.runs_kernels() { 1e-4 } else { 1e-7 };
                assert!((a.overlap - b.overlap).norm() < close, "{symmetry:?} on {}: {a:?} {b:?}", device.name());
                assert!((a.energy - b.energy).abs() < close, "{symmetry:?} on {}: {a:?} {b:?}", device.name());
                for name in ["double", "flow"] {
                    let [a, b] = [a, b].map(|point| point.averages.scalar(name).unwrap());
                    assert!((a - b).abs() < close, "{symmetry:?} on {}: {name} {a} {b}", device.name());
                }
            }
        }
    }
    let refused = |last: &Operator, symmetry: Symmetry| driven(last).symmetry(&symmetry).err().unwrap().to_string();
    let one = current(0, 1, Spin::Up);
    assert!(
        refused(&one, Symmetry::new().k(&[0])).contains("translation"),
        "{}",
        refused(&one, Symmetry::new().k(&[0]))
    );
    // The mirror of the ring turns its current around, and no other part has it.
    assert!(refused(&(1e-9 * flow), Symmetry::new().k(&[0]).reflection(1)).contains("reflection"));
}

/// An evolution that goes on from a checkpoint is the one that was never stopped, to the last bit; another one's is refused by what differs.
#[test]
fn evolutions_go_on_from_their_checkpoints() {
    let model = xxz(&Lattice::chain(8).periodic(), 1.0, 0.6, 0);
    let ring = xxz(&Lattice::chain(8).periodic(), 1.0, 0.0, 0);
    let driven = DrivenModel::new(vec![ring.clone(), flow_of_spins()], |t: f64| vec![1.0, t.sin()]).unwrap();
    let start = random_state(&model, 5, false);
    let measures = EvolutionMeasures {
        observables: vec![Observable::scalar("zz", build::sz(0) * build::sz(3))],
        entropies: vec![vec![0, 1, 2]],
    };
    let folder = tempfile::tempdir().unwrap();
    for (name, imaginary) in [("real", false), ("imaginary", true), ("driven", false)] {
        let saved = folder.path().join(name);
        let run = |folder: Option<&std::path::Path>, resume: bool, times: &str| {
            let checkpoint = folder.map(|folder| CheckpointOptions {
                folder: folder.into(),
                resume,
                settings: vec![("times".into(), times.into())],
                ..CheckpointOptions::default()
            });
            let until = EvolutionOptions::new((0..12).map(|time| f64::from(time) * 0.8).collect(), 1e-9);
            let options = EvolutionOptions { imaginary, vectors: Some(12), checkpoint, ..until };
            let mut points = Vec::new();
            let mut visit = |point: EvolutionPoint| points.push(format!("{point:?}"));
            let device = Device::cpu();
            let course = match name {
                "driven" => evolve_driven_model(&driven, &start, &options, &measures, &device, &mut visit),
                _ => evolve_model(&model, &start, &options, &measures, &device, &mut visit),
            };
            course.map(|course| (points, course))
        };
        let (wanted, course) = run(None, false, "a").unwrap();
        // A state is saved after every step: the last and the one before it are there.
        assert_eq!(run(Some(&saved), false, "a").unwrap().0, wanted, "{name}");
        let newest = |folder: &std::path::Path| {
            let mut all: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
            all.retain(|path| path.is_dir());
            all.sort();
            all.pop().unwrap()
        };
        std::fs::remove_dir_all(newest(&saved)).unwrap();
        let (found, again) = run(Some(&saved), true, "a").unwrap();
        assert_eq!((found, again.steps, again.multiplies), (wanted, course.steps, course.multiplies), "{name}");
        assert!(again.steps > 2, "{name}: {again:?}");
        let error = run(Some(&saved), true, "b").unwrap_err().to_string();
        assert!(error.contains("its times is a, this run's is b"), "{error}");
    }
}

fn flow_of_spins() -> Model {
    let forth = |i: usize| (build::sp(i) * build::sm((i + 1) % 8)).times_i();
    let flow = (0..8).map(|i| forth(i) + forth(i).adjoint()).sum::<Operator>();
    flow.on_kinds(&[SiteKind::Moments { two_s: 1 }; 8]).two_sz(0).unwrap()
}

/// What does not fit is refused with numbers, before anything is made.
#[test]
fn bases_without_room_are_refused_with_numbers() {
    let model = xxz(&Lattice::chain(8).periodic(), 1.0, 1.0, 0);
    let options = EvolutionOptions { memory_limit: Some(1000), ..EvolutionOptions::new(vec![1.0], 1e-8) };
    let start = random_state(&model, 1, true);
    let refused: RunError =
        evolve_model(&model, &start, &options, &EvolutionMeasures::default(), &Device::cpu(), |_| {}).unwrap_err();
    let text = refused.to_string();
    assert!(text.contains("an evolution (25 vectors of 70 elements)") && text.contains("such vectors fit"), "{text}");
}
