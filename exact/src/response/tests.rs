//! Responses against all eigenvectors of dense matrices, and sectors of momentum against plain ones.

use super::*;
use crate::samples::{hubbard, hubbard_operator, xxz};
use crate::{InSector, Lanczos, Model};
use eigenforge_core::basis::{Down, Up};
use eigenforge_core::lattice::Lattice;
use eigenforge_core::operator::{Factor, Operator, Spin, Symmetry, Word, build};
use eigenforge_runtime::simulate::Schedule;
use eigenforge_runtime::solvers::{ChebyshevMoments, Damping, symmetric_eigen};
use eigenforge_runtime::{Device, testing};
use num_complex::Complex64;
use std::f64::consts::{PI, TAU};

/// Σ_j e^(−iq j) O_j / √N with q = 2π k / N.
fn fourier(sites: usize, k: i64, sign: f64, at: impl Fn(usize) -> Operator) -> Operator {
    let part = |j: usize| {
        let angle = -sign * TAU * k as f64 * j as f64 / sites as f64;
        let (re, im) = (angle.cos() / (sites as f64).sqrt(), angle.sin() / (sites as f64).sqrt());
        re * at(j) + im * at(j).times_i()
    };
    (0..sites).map(part).fold(Operator::zero(), |sum, part| sum + part)
}

fn options(steps: usize) -> ChainOptions {
    ChainOptions { steps, omega: Vec::new(), eta: 0.1, damping: None }
}

/// ⟨φ|(z − H)⁻¹|φ⟩ of A applied factor by factor, over all eigenvectors of the target.
fn by_all_eigenvectors(level: &LevelStates, operator: &Operator, z: Complex64) -> Complex64 {
    let model = &level.model;
    let kinds = model.site_kinds();
    let mut sum = Complex64::ZERO;
    for target in model.response_targets(operator, None).unwrap() {
        let to = &target.model;
        let n = to.dimension() as usize;
        let dense = to.dense().unwrap();
        let (values, vectors) = symmetric_eigen(n, dense.as_slice().unwrap()).unwrap();
        for state in &level.states {
            let mut made = vec![Complex64::ZERO; to.states() as usize];
            for (product, coefficient) in operator.clone().on_kinds(&kinds).reduced().terms() {
                let (factors, times) = match product {
                    [factors @ .., Factor::ImaginaryUnit] => (factors, Complex64::I),
                    factors => (factors, Complex64::ONE),
                };
                let term = Operator::recorded(
                    &[(coefficient, factors.to_vec())],
                    model.operator().two_s(),
                    kinds.len(),
                    vec![],
                );
                for (index, amplitude) in state.iter().enumerate() {
                    let mut configuration = model.basis().configuration(index as u64);
                    let reached = match model.basis().word() {
                        Word::Sites(layout) => {
                            configuration.truncate(layout.digits().len());
                            term.apply_on(layout, &configuration)
                        }
                        _ => term.apply(model.sites(), &configuration),
                    };
                    for (there, element) in reached {
                        if let Some(place) = to.basis().index_of(&there) {
                            made[place as usize] += times * element * amplitude;
                        }
                    }
                }
            }
            let parts: Vec<Vec<f64>> = match to.is_complex() {
                true => vec![made.iter().map(|v| v.re).chain(made.iter().map(|v| v.im)).collect()],
                false => vec![made.iter().map(|v| v.re).collect(), made.iter().map(|v| v.im).collect()],
            };
            for part in parts {
                for (value, vector) in values.iter().zip(&vectors) {
                    let overlap: f64 = vector.iter().zip(&part).map(|(a, b)| a * b).sum();
                    sum += overlap * overlap / (z - value);
                }
            }
        }
    }
    sum / level.states.len() as f64
}

fn lowest(model: &Model) -> LevelStates {
    Lanczos::new(model).tolerance(1e-13).run(&Device::cpu()).unwrap().level_states(0).unwrap()
}

fn close(a: Complex64, b: Complex64) -> bool {
    (a - b).norm() <= 1e-9 * b.norm().max(1e-3)
}

#[test]
fn responses_are_those_of_all_eigenvectors() {
    let ring = |sites: usize| Lattice::chain(sites).periodic();
    let spin_one = {
        let spins = eigenforge_core::models::xxz(&ring(5), &[1.0; 5], &[0.7; 5], &[0.1; 5], &[0.3; 5]);
        spins.spin(2).two_sz(0).unwrap()
    };
    let flux = {
        let hop = |i: usize| build::cdag(i, Spin::Up) * build::c((i + 1) % 4, Spin::Up);
        let down = |i: usize| build::cdag(i, Spin::Down) * build::c((i + 1) % 4, Spin::Down);
        let bond = |i: usize| {
            let sum = hop(i) + down(i);
            let turned = 0.8 * sum.clone() + 0.6 * sum.times_i();
            turned.clone() + turned.adjoint() + 2.0 * (build::n(i, Spin::Up) * build::n(i, Spin::Down))
        };
        (0..4).map(bond).fold(Operator::zero(), |a, b| a + b).sector(Up(2), Down(1)).unwrap()
    };
    // A gauge removes these phases, and the diagonal has another constant there.
    let gauged = {
        let bond = |i: usize| {
            let hop = build::cdag(i, Spin::Up) * build::c(i + 1, Spin::Up)
                + build::cdag(i, Spin::Down) * build::c(i + 1, Spin::Down);
            let turned = 0.8 * hop.clone() + 0.6 * hop.times_i();
            turned.clone() + turned.adjoint()
        };
        let pairs =
            (0..3).map(|i| 3.0 * (build::n(i, Spin::Up) * build::n(i, Spin::Down)) + 0.5 * build::n(i, Spin::Up));
        (0..2).map(bond).chain(pairs).fold(Operator::zero(), |a, b| a + b).sector(Up(3), Down(2)).unwrap()
    };
    let shifted = (hubbard_operator(&ring(4), 5.0) - 1.7 * (0..4).map(|i| build::n(i, Spin::Up)).sum::<Operator>())
        .sector(Up(1), Down(2))
        .unwrap();
    for model in [xxz(&ring(7), 1.0, 0.4, 1), spin_one, hubbard(&ring(4), 4.0, 2, 2), shifted, flux, gauged] {
        let (level, sites) = (lowest(&model), model.sites());
        let electrons = model.site_kinds()[0].modes().len() == 2;
        let operators: Vec<Operator> = match electrons {
            true => vec![
                fourier(sites, 1, 1.0, build::electron_sz),
                fourier(sites, 1, -1.0, |j| build::cdag(j, Spin::Up)),
                fourier(sites, 2, 1.0, |j| build::c(j, Spin::Down)),
                fourier(sites, 1, 1.0, build::electron_sm) + 0.3 * build::electron_sz(1),
            ],
            false => vec![
                fourier(sites, 2, 1.0, build::sz),
                fourier(sites, 3, 1.0, build::sm),
                build::sp(0) * build::sz(2) + 0.2 * build::sm(1).times_i(),
            ],
        };
        for operator in operators {
            let found = level.response(&operator, None, &[], &options(400), &Device::cpu()).unwrap();
            assert!(found.is_closed());
            for omega in [-0.4, 0.9, 3.0] {
                let z = Complex64::new(omega + level.energy, 0.1);
                let wanted = by_all_eigenvectors(&level, &operator, z);
                let got = found.resolvent(omega, 0.1);
                assert!(close(got, wanted), "{} at {omega}: {got} for {wanted}", model.name());
            }
            let poles = found.poles().unwrap();
            let [m0, m1, m2] = found.moments();
            for (power, moment) in [m0, m1, m2].into_iter().enumerate() {
                let sum: f64 = poles.iter().map(|[omega, weight]| weight * omega.powi(power as i32)).sum();
                assert!((sum - moment).abs() <= 1e-8 * m0.max(m2).max(1e-3), "moment {power}: {sum} for {moment}");
            }
        }
    }
}

/// The level at momentum k₀; A_q leads to k₀ − q, and c†_k to k₀ + k.
#[test]
fn sectors_of_momentum_respond_as_plain_ones() {
    let ring = |sites: usize| Lattice::chain(sites).periodic();
    for (model, reflection) in [
        (xxz(&ring(8), 1.0, 1.0, 0), false),
        (hubbard(&ring(6), 4.0, 3, 3), false),
        (hubbard(&ring(6), 4.0, 2, 1), true),
    ] {
        let (sites, plain) = (model.sites() as i64, lowest(&model));
        let electrons = model.site_kinds()[0].modes().len() == 2;
        let mut of_momentum: Vec<(i64, LevelStates)> = Vec::new();
        for k in 0..sites {
            let sector = model.symmetry(&Symmetry::new().k(&[k])).unwrap();
            let level = lowest(&sector);
            if (level.energy - plain.energy).abs() < 1e-9 {
                of_momentum.push((k, level));
            }
        }
        let members: usize = of_momentum.iter().map(|(_, level)| level.states.len()).sum();
        assert_eq!(members, plain.states.len(), "all members have a momentum; with several: {reflection}");
        let operators: Vec<(i64, Operator)> = (0..sites)
            .flat_map(|q| {
                let own = |sign, at: fn(usize) -> Operator| fourier(sites as usize, q, sign, at);
                match electrons {
                    true => vec![
                        (-q, own(1.0, build::electron_sz)),
                        (q, own(-1.0, |j| build::cdag(j, Spin::Up))),
                        (-q, own(1.0, |j| build::c(j, Spin::Up))),
                    ],
                    false => vec![(-q, own(1.0, build::sz)), (-q, own(1.0, build::sm))],
                }
            })
            .collect();
        for (step, operator) in operators {
            let whole = plain.response(&operator, None, &[], &options(400), &Device::cpu()).unwrap();
            let mut sum = Complex64::ZERO;
            for (k, level) in &of_momentum {
                let target = [(k + step).rem_euclid(sites)];
                let own = level.response(&operator, Some(&target), &[], &options(400), &Device::cpu()).unwrap();
                sum += own.resolvent(1.3, 0.1) * level.states.len() as f64 / members as f64;
            }
            let wanted = whole.resolvent(1.3, 0.1);
            assert!(close(sum, wanted), "{} {step}: {sum} for {wanted}", model.name());
        }
    }
}

/// The resolvent of the lowest level of a symmetry sector is that of the same states without symmetry, also without the level itself; the sector
/// that is reached has so many states.
fn check_behind(model: &Model, symmetry: &Symmetry, operator: &Operator, momentum: Option<&[i64]>, reached: u64) {
    let sector = model.symmetry(symmetry).unwrap();
    let level = lowest(&sector);
    let states = (0..level.states.len()).map(|state| level.carried(state, model).unwrap()).collect();
    let plain = LevelStates {
        energy: level.energy,
        constant: level.constant,
        energy_without_constant: level.energy_without_constant,
        ..LevelStates::new(model.clone(), states)
    };
    let text = format!("{} {symmetry:?} {operator:?}", model.name());
    for left_out in [false, true] {
        let without = |level: &LevelStates, momentum: Option<&[i64]>| {
            let list = if left_out { vec![level] } else { Vec::new() };
            level.response(operator, momentum, &list, &options(400), &Device::cpu()).unwrap()
        };
        let (found, wanted) = (without(&level, momentum), without(&plain, None));
        assert!((found.moments()[0] - wanted.moments()[0]).abs() < 1e-11, "{text}: {:?}", found.moments());
        for omega in [0.3, 2.1] {
            let (found, wanted) = (found.resolvent(omega, 0.2), wanted.resolvent(omega, 0.2));
            assert!(
                (found - wanted).norm() < 1e-9,
                "{text} at {omega}, without the level {left_out}: {found} for {wanted}"
            );
        }
        assert_eq!(found.sectors.iter().map(|sector| sector.states).sum::<u64>(), reached, "{text}");
    }
}

/// What takes an operator to a multiple of itself is kept behind it; the rest is not.
#[test]
fn symmetries_of_the_operator_are_kept_behind_it() {
    let k = |momenta: &[i64]| Symmetry::new().k(momenta);
    let count = |model: &Model, symmetry: &Symmetry| model.symmetry(symmetry).unwrap().states();
    let ring = xxz(&Lattice::chain(10).periodic(), 1.0, 0.7, 0);
    let whole = k(&[5]).reflection(1).spin_inversion(-1);
    for q in [0, 3, 5] {
        let target = (5 - q as i64).rem_euclid(10);
        let behind = k(&[target]).spin_inversion(1);
        // x → 9 − x takes odd sites to even ones.
        let behind = if target % 5 == 0 { behind.reflection(if q == 5 { -1 } else { 1 }) } else { behind };
        let reached = count(&ring, &behind);
        check_behind(&ring, &whole, &fourier(10, q as i64, 1.0, build::sz), Some(&[target]), reached);
        let bond = |j: usize| build::sdots(j, (j + 1) % 10);
        let behind = k(&[target]).spin_inversion(-1);
        let behind = if target % 5 == 0 { behind.reflection(1) } else { behind };
        check_behind(&ring, &whole, &fourier(10, q as i64, 1.0, bond), Some(&[target]), count(&ring, &behind));
        // S⁺ leads out of the sectors that the inversion leaves.
        let raised = xxz(&Lattice::chain(10).periodic(), 1.0, 0.7, 2);
        let behind = k(&[target]);
        let behind = if target % 5 == 0 { behind.reflection(if q == 5 { -1 } else { 1 }) } else { behind };
        check_behind(&ring, &whole, &fourier(10, q as i64, 1.0, build::sp), Some(&[target]), count(&raised, &behind));
    }
    let open = xxz(&Lattice::chain(8), 1.0, 0.7, 0);
    let mirrored = Symmetry::new().reflection(1);
    for (operator, reached) in [
        (build::sz(0) + build::sz(7), count(&open, &Symmetry::new().reflection(1))),
        (build::sz(0) - build::sz(7), count(&open, &Symmetry::new().reflection(-1))),
        (build::sz(0), 70),
    ] {
        check_behind(&open, &mirrored, &operator, None, reached);
    }
    let electrons = hubbard(&Lattice::chain(6).periodic(), 4.0, 3, 3);
    let own = k(&[0]).exchange(1);
    let sz = fourier(6, 2, 1.0, build::electron_sz);
    check_behind(&electrons, &own, &sz, Some(&[4]), count(&electrons, &k(&[4]).exchange(-1)));
    let added = hubbard(&Lattice::chain(6).periodic(), 4.0, 4, 3);
    let adding = fourier(6, 2, -1.0, |j| build::cdag(j, Spin::Up));
    check_behind(&electrons, &own, &adding, Some(&[2]), count(&added, &k(&[2])));
    // Rotations and mirrors that leave q as it is: of (π, π) all, of (π, 0) those of a rectangle, of (π/2, 0) one mirror.
    let torus = xxz(&Lattice::square([4, 4]).periodic(), 1.0, 1.0, 0);
    let lowest = k(&[0, 0]).irrep("A1").spin_inversion(1);
    for q in [[2, 2], [2, 0], [1, 0]] {
        let part = |site: usize| {
            let angle = -TAU / 4.0 * (q[0] * (site as i64 % 4) + q[1] * (site as i64 / 4)) as f64;
            0.25 * angle.cos() * build::sz(site) + 0.25 * angle.sin() * build::sz(site).times_i()
        };
        let operator = (0..16).map(part).fold(Operator::zero(), |sum, part| sum + part);
        let target = q.map(|q: i64| (-q).rem_euclid(4));
        let behind = k(&target).spin_inversion(-1).irrep("A1");
        check_behind(&torus, &lowest, &operator, Some(&target), count(&torus, &behind));
    }
}

/// The elastic weight of a magnetised chain is the square of its magnetisation, and goes with `connected`.
#[test]
fn the_part_within_the_level_can_be_left_out() {
    let model = xxz(&Lattice::chain(6).periodic(), 1.0, 1.0, 2);
    let level = lowest(&model);
    let operator = fourier(6, 0, 1.0, build::sz);
    let with = level.response(&operator, None, &[], &options(100), &Device::cpu()).unwrap();
    assert!((with.moments()[0] - 1.0 / 6.0).abs() < 1e-10);
    let without = level.response(&operator, None, &[&level], &options(100), &Device::cpu()).unwrap();
    assert!(without.moments()[0] < 1e-20);
    assert!(without.poles().unwrap().is_empty() || without.moments()[0] < 1e-20);
}

/// A device of generated kernels has the same chain.
#[test]
fn kernels_respond_as_the_host_does() {
    let model = xxz(&Lattice::chain(8).periodic(), 1.0, 0.5, 0);
    let level = lowest(&model);
    let operator = fourier(8, 3, 1.0, build::sz);
    let on_host = level.response(&operator, None, &[], &options(30), &Device::cpu()).unwrap().resolvent(0.8, 0.1);
    for device in testing::kernel_devices(Schedule::Forward) {
        let found = level.response(&operator, None, &[], &options(30), &device).unwrap();
        assert!(close(found.resolvent(0.8, 0.1), on_host), "{}", device.name());
    }
}

/// What moments make of a pole: Σ_n g_n T_n(x) T_n(y), with the kernels of equations 71 and 79; and a Gaussian, narrower away from the centre.
fn kernel(of: &ChebyshevMoments, damping: Damping, energy: f64, pole: f64) -> [f64; 2] {
    let (half, count) = (of.half_width, of.moments.len() as f64);
    let [x, y] = [energy, pole].map(|energy| (energy - of.centre) / half);
    let term = |n: f64| {
        let q = PI / (count + 1.0);
        let g = match damping {
            Damping::Jackson => ((count - n + 1.0) * (q * n).cos() + (q * n).sin() / q.tan()) / (count + 1.0),
            Damping::Lorentz => (4.0 * (1.0 - n / count)).sinh() / 4f64.sinh(),
        };
        (if n == 0.0 { 1.0 } else { 2.0 }) * g * (n * x.acos()).cos() * (n * y.acos()).cos()
    };
    let sum: f64 = (0..of.moments.len()).map(|n| term(n as f64)).sum();
    let width = of.resolution(damping) * (1.0 - y * y).max(1e-4).sqrt();
    let gaussian = (-0.5 * ((energy - pole) / width).powi(2)).exp() / (TAU.sqrt() * width);
    let root = (1.0 - x * x).sqrt();
    let root = root.max(if damping == Damping::Lorentz { (4.0 / count).sqrt() } else { PI / count });
    [sum / (PI * half * root), gaussian]
}

/// Moments have the weights and mean energies of chains, and their kernels make curves of Gaussian or Lorentzian poles, on cores and cards.
#[test]
fn moments_make_the_curve_of_all_poles() {
    let ring = hubbard(&Lattice::chain(6).periodic(), 4.0, 3, 3);
    let spins = xxz(&Lattice::chain(8).periodic(), 1.0, 0.8, 0);
    let sector = spins.symmetry(&Symmetry::new().k(&[0])).unwrap();
    let adding = fourier(6, 1, 1.0, |j| build::cdag(j, Spin::Up));
    let cases = [
        (&ring, adding, None),
        (&spins, fourier(8, 3, -1.0, build::sz), None),
        (&sector, fourier(8, 3, -1.0, build::sz), Some(vec![3])),
    ];
    let mut devices = testing::kernel_devices(Schedule::Forward);
    devices.push(Device::cpu());
    for (model, operator, momentum) in cases {
        let level = lowest(model);
        let response = |options: &ChainOptions, device: &Device| {
            level.response(&operator, momentum.as_deref(), &[], options, device).unwrap()
        };
        let exact = response(&options(usize::MAX), &Device::cpu());
        let poles = exact.poles().unwrap();
        let middle = 0.5 * (poles[0][0] + poles[poles.len() - 1][0]);
        for (damping, eta) in [(Damping::Jackson, 0.1), (Damping::Lorentz, 0.3)] {
            let wanted = ChainOptions { steps: 2000, eta, damping: Some(damping), ..options(0) };
            let devices = devices.iter().filter(|device| damping == Damping::Jackson || !device.runs_kernels());
            for device in devices {
                let found = response(&wanted, device);
                assert!(found.is_settled() && found.resolution().unwrap() <= eta && !found.is_closed());
                for (a, b) in found.moments().into_iter().zip(exact.moments()) {
                    assert!((a - b).abs() < 1e-9 * (1.0 + b.abs()), "{damping:?}: {a} {b}");
                }
                let omega: Vec<f64> = (0..40).map(|k| middle + 0.05 * (f64::from(k) - 20.0)).collect();
                let curve = found.curve(&omega, eta);
                let (mut wanted, mut gaussian) = (vec![0.0; omega.len()], vec![0.0; omega.len()]);
                for (series, chain) in found.series.iter().zip(&exact.chains) {
                    for [value, weight] in chain.chain.poles().unwrap() {
                        for ((at, wanted), gaussian) in omega.iter().zip(&mut wanted).zip(&mut gaussian) {
                            let [kernel, shape] = kernel(&series.moments, damping, at + series.zero, value);
                            *wanted += chain.share * weight * kernel;
                            *gaussian += chain.share * weight * shape;
                        }
                    }
                }
                let largest = wanted.iter().copied().fold(0.0, f64::max);
                for ((a, b), c) in curve.iter().zip(&wanted).zip(&gaussian) {
                    assert!((a - b).abs() < 1e-7 * largest, "{damping:?} on {}: {a} {b}", device.name());
                    assert!(damping == Damping::Lorentz || (a - c).abs() < 0.15 * largest, "{a} {c}");
                }
            }
        }
        let few = ChainOptions { steps: 10, damping: Some(Damping::Jackson), ..options(0) };
        let found = response(&few, &Device::cpu());
        assert!(!found.is_settled() && found.resolution().unwrap() > 0.1);
    }
}
