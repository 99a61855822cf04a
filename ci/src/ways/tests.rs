//! Products over complex orbitals, without a matrix and with one, against Slater–Condon elements.

use super::way;
use crate::estimate::ProductKind;
use crate::integrals::{BetaIntegrals, Integrals, pair};
use crate::orbital_number::OrbitalNumber;
use crate::slater_condon::matrix_element;
use crate::space::{RestrictedActiveSpace, Space};
use crate::way::{NAME, Request};
use eigenforge_product::{Hamiltonian, MultiplyPlan};
use eigenforge_runtime::simulate::Schedule;
use eigenforge_runtime::testing::kernel_devices;
use eigenforge_runtime::{Device, LinearOperator, seeded};
use num_complex::Complex64;

type Complex = Integrals<Complex64>;

/// Hermitian integrals of fourfold symmetry without a pattern; those that irreps forbid are 0.
fn random(orbitals: usize, irreps: &[u8], unrestricted: bool, seed: u64) -> Complex {
    let mut integrals = Complex { irreps: irreps.to_vec(), ..Integrals::zeros(orbitals) };
    integrals.beta = unrestricted.then(|| Box::new(BetaIntegrals::zero(orbitals)));
    let list = Complex64::pair_list(orbitals);
    let pairs = list.len();
    let numbers = seeded::vector(8 * (1 + pairs * pairs) + 4 * pairs, seed);
    let mut numbers = numbers.chunks(2).map(|parts| Complex64::new(parts[0], parts[1]));
    let mut number = || numbers.next().unwrap();
    let turned = |pq: usize| Complex64::pair(orbitals, list[pq].1, list[pq].0);
    let irrep = |pq: usize| if irreps.is_empty() { 0 } else { (irreps[list[pq].0] - 1) ^ (irreps[list[pq].1] - 1) };
    let mut fill = |one: &mut [Complex64], two: &mut [Complex64]| {
        for pq in (0..pairs).filter(|pq| irrep(*pq) == 0) {
            one[pq] = number();
            one[turned(pq)] = one[pq].conj();
            if turned(pq) == pq {
                one[pq].im = 0.0;
            }
        }
        for (pq, rs) in (0..pairs).flat_map(|pq| (0..=pq).map(move |rs| (pq, rs))) {
            let (at, other) = (pair(pq, rs), pair(turned(pq), turned(rs)));
            if irrep(pq) == irrep(rs) {
                two[at] = number();
                two[other] = two[at].conj();
                if at == other {
                    two[at].im = 0.0;
                }
            }
        }
    };
    fill(&mut integrals.one, &mut integrals.two);
    if let Some(beta) = &mut integrals.beta {
        fill(&mut beta.one, &mut beta.two);
        for (pq, rs) in (0..pairs).flat_map(|pq| (0..pairs).map(move |rs| (pq, rs))) {
            let (at, other) = (pq * pairs + rs, turned(pq) * pairs + turned(rs));
            if irrep(pq) == irrep(rs) && at <= other {
                beta.mixed[at] = number();
                beta.mixed[other] = beta.mixed[at].conj();
                if at == other {
                    beta.mixed[at].im = 0.0;
                }
            }
        }
    }
    integrals
}

/// y and x·y on a device, of vectors of both types, the diagonal and the bound.
fn compare(what: &str, integrals: &Complex, space: &Space, kind: ProductKind, device: &Device) {
    let frame = integrals.without_values();
    let request = Request { complex: Some(integrals), ..Request::on_device(&frame, space, None, device) };
    let way = way(kind, &request).unwrap_or_else(|| panic!("{what}: no way on {}", device.name()));
    let multiply = way.plan(&request).unwrap();
    let what = format!("{what}, {} on {}", multiply.way_name(), device.name());
    let n = space.len() as usize;
    let words: Vec<_> = (0..space.len()).map(|row| space.determinant(row)).collect();
    let h: Vec<Complex64> = (0..n * n).map(|at| matrix_element(integrals, words[at / n], words[at % n])).collect();
    let size = h.iter().fold(1e-300f64, |most, value| most.max(value.norm()));
    {
        let host = multiply.host().unwrap();
        let mut all = vec![0.0; (2 * n).saturating_sub(2)];
        // From within the first number to within the last.
        host.diagonals(1, &mut all);
        for (part, found) in all.into_iter().enumerate().map(|(k, found)| (k + 1, found)) {
            let expected = h[part / 2 * (n + 1)].re;
            assert!(
                (found - expected).abs() <= 1e-12 * size && host.diagonal(part) == found,
                "{what}, diagonal {part}"
            );
        }
    }
    let operator = Hamiltonian::new(MultiplyPlan(multiply), NAME, device).unwrap().of_numbers(2);
    let x = seeded::vector(2 * n, 3);
    let number = |list: &[f64], row: usize| Complex64::new(list[2 * row], list[2 * row + 1]);
    let expected: Vec<Complex64> =
        h.chunks(n).map(|row| row.iter().enumerate().map(|(k, h)| h * number(&x, k)).sum()).collect();
    let (on_device, mut y) = (device.upload(&x).unwrap(), device.upload(&vec![f64::NAN; 2 * n]).unwrap());
    // A second multiply of other numbers leaves nothing behind.
    operator.apply(&device.upload(&seeded::vector(2 * n, 4)).unwrap(), &mut y).unwrap();
    let dot = operator.apply(&on_device, &mut y).unwrap();
    let (found, scale) = (y.download().unwrap(), size * (n as f64).sqrt());
    for (row, expected) in expected.iter().enumerate() {
        let found = number(&found, row);
        assert!((found - expected).norm() <= 1e-12 * scale, "{what}, row {row}: {found} {expected}");
    }
    let expected_dot: f64 = expected.iter().enumerate().map(|(row, y)| (number(&x, row).conj() * y).re).sum();
    assert!((dot - expected_dot).abs() <= 1e-11 * scale * n as f64, "{what}: {dot} {expected_dot}");
    let longest = h.chunks(n).map(|row| row.iter().map(Complex64::norm_sqr).sum::<f64>().sqrt()).fold(0.0, f64::max);
    assert!(LinearOperator::<f64>::norm_bound(&operator) >= longest * (1.0 - 1e-12), "{what}");
    // What single precision holds.
    if !device.runs_kernels() && (1e-20..1e20).contains(&size) {
        let short: Vec<f32> = x.iter().map(|x| *x as f32).collect();
        let (on_device, mut y) = (device.upload(&short).unwrap(), device.upload(&vec![f32::NAN; 2 * n]).unwrap());
        operator.apply(&on_device, &mut y).unwrap();
        for (row, (pair, expected)) in y.download().unwrap().chunks(2).zip(&expected).enumerate() {
            let found = Complex64::new(pair[0].into(), pair[1].into());
            assert!((found - expected).norm() <= 1e-5 * scale * (n as f64).sqrt(), "{what}, row {row} of f32");
        }
    }
}

/// Spaces of every kind: full, of one irrep, a level, restricted orbitals, a list.
fn spaces(orbitals: usize, up: usize, down: usize, irreps: &[u8]) -> Vec<(String, Space)> {
    let full = Space::full(orbitals, up, down).unwrap();
    let list: Vec<_> = (0..full.len()).step_by(2).map(|row| full.determinant(row)).collect();
    let level = Space::excitations(orbitals, up, down, 2).unwrap();
    let ras = RestrictedActiveSpace { ras1: 1, holes: 1, ras3: 1, electrons: 1 };
    let mut found = vec![("list".into(), Space::from_determinants(orbitals, &list).unwrap())];
    found.extend(Space::ras(orbitals, up, down, ras).ok().map(|space| ("restricted".into(), space)));
    for irrep in (1..=2).filter(|_| !irreps.is_empty()) {
        found.extend(full.clone().in_irrep(irreps, irrep).ok().map(|space| ("an irrep".into(), space)));
        found.extend(level.clone().in_irrep(irreps, irrep).ok().map(|space| ("an irrep of a level".into(), space)));
    }
    found.extend([("full".into(), full), ("level".into(), level)]);
    found
}

#[test]
fn complex_products_on_cores() {
    let irreps = [1, 2, 1, 3, 2];
    for orbitals in 1..=5 {
        let numbers = (0..=orbitals).flat_map(|up| (0..=orbitals).map(move |down| (up, down)));
        for (seed, (up, down)) in (1..).zip(numbers) {
            // Of five orbitals some alone, so that the test stays short.
            if orbitals == 5 && (up + 2 * down) % 4 != 0 {
                continue;
            }
            let irreps = if seed % 2 == 0 { &irreps[..orbitals] } else { &[] };
            let integrals = random(orbitals, irreps, seed % 3 == 0, seed);
            for (kind, space) in spaces(orbitals, up, down, irreps) {
                let what = format!("{orbitals} orbitals, {up} + {down} electrons, {kind}, seed {seed}");
                compare(&what, &integrals, &space, ProductKind::Direct, &Device::cpu());
            }
        }
    }
    let integrals = random(6, &[], false, 9);
    for (up, down) in [(3, 3), (5, 2)] {
        compare("six orbitals", &integrals, &Space::full(6, up, down).unwrap(), ProductKind::Direct, &Device::cpu());
    }
}

/// Zeros, and couplings of every size: y keeps its digits.
#[test]
fn complex_products_of_tiny_and_huge_couplings() {
    let space = Space::full(4, 2, 2).unwrap();
    for scale in [0.0, 1e-200, 1e-30, 1e30, 1e140] {
        let mut integrals = random(4, &[], false, 5);
        integrals.one.iter_mut().chain(&mut integrals.two).for_each(|value| *value *= scale);
        compare(&format!("times {scale:e}"), &integrals, &space, ProductKind::Direct, &Device::cpu());
    }
}

/// One text for each branch of the template, since each is compiled.
#[test]
fn complex_products_by_kernels() {
    let irreps = [1, 2, 1, 3];
    for device in kernel_devices(Schedule::Reverse) {
        let of_irreps = random(4, &irreps, false, 7);
        let of_each_spin = random(4, &[], true, 7);
        let wanted = [
            (&of_irreps, (2, 1), "an irrep of a level", ProductKind::Direct),
            (&of_irreps, (2, 1), "full", ProductKind::Table),
            (&of_each_spin, (3, 2), "level", ProductKind::Table),
            (&of_each_spin, (2, 0), "full", ProductKind::Direct),
        ];
        for (integrals, (up, down), kind, product) in wanted {
            let all = spaces(4, up, down, &integrals.irreps);
            for (_, space) in all.iter().filter(|(own, _)| own == kind).take(1) {
                compare(&format!("{up} + {down} electrons, {kind}"), integrals, space, product, &device);
            }
            let (_, list) = &all[0];
            let frame = integrals.without_values();
            let own = Request::on_device(&frame, list, None, &device);
            assert!(way(ProductKind::Direct, &Request { complex: Some(integrals), ..own }).is_none());
        }
    }
}
