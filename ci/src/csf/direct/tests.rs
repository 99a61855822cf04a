use crate::csf::CsfSpace;
use crate::csf::tests::{dense, possible, random};
use crate::estimate::ProductKind;
use crate::integrals::Integrals;
use crate::space::{RestrictedActiveSpace, Space};
use crate::way::{NAME, Request};
use crate::ways;
use eigenforge_product::{Hamiltonian, MultiplyPlan};
use eigenforge_runtime::simulate::Schedule;
use eigenforge_runtime::testing::kernel_devices;
use eigenforge_runtime::{Device, LinearOperator, seeded};

/// y and x·y without a matrix on a device, and the diagonal and the bound, against the stored matrix.
fn compare(what: &str, integrals: &Integrals, (csfs, space): (&CsfSpace, &Space), kind: ProductKind, device: &Device) {
    let request = Request::on_device(integrals, space, Some(csfs), device);
    let way = ways::way(kind, &request).unwrap_or_else(|| panic!("{what}: no way on {}", device.name()));
    let multiply = way.plan(&request).unwrap();
    let what = format!("{what}, {} on {}", multiply.way_name(), device.name());
    let diagonal: Vec<f64> = {
        let host = multiply.host().unwrap();
        (0..csfs.len() as usize).map(|row| host.diagonal(row)).collect()
    };
    let operator = Hamiltonian::new(MultiplyPlan(multiply), NAME, device).unwrap();
    let (n, h) = (csfs.len() as usize, dense(&csfs.matrix(integrals).unwrap()));
    let x = seeded::vector(n, 3);
    let (on_device, mut y) = (device.upload(&x).unwrap(), device.upload(&vec![f64::NAN; n]).unwrap());
    // A second multiply of other numbers leaves nothing behind.
    operator.apply(&device.upload(&seeded::vector(n, 4)).unwrap(), &mut y).unwrap();
    let dot = operator.apply(&on_device, &mut y).unwrap();
    let found = y.download().unwrap();
    let scale = h.iter().fold(0.0f64, |most, value| most.max(value.abs())) * (n as f64).sqrt();
    let expected: Vec<f64> = h.chunks(n).map(|row| row.iter().zip(&x).map(|(h, x)| h * x).sum()).collect();
    for (row, (found, expected)) in found.iter().zip(&expected).enumerate() {
        assert!((found - expected).abs() <= 1e-12 * scale, "{what}, row {row}: {found} {expected}");
    }
    let expected_dot: f64 = x.iter().zip(&expected).map(|(x, y)| x * y).sum();
    assert!((dot - expected_dot).abs() <= 1e-11 * scale * n as f64, "{what}: {dot} {expected_dot}");
    for (row, found) in diagonal.iter().enumerate() {
        assert!((found - h[row * n + row]).abs() <= 1e-12 * scale, "{what}, diagonal {row}: {found}");
    }
    let rows = h.chunks(n).map(|row| row.iter().map(|value| value * value).sum::<f64>().sqrt());
    let longest = rows.fold(0.0, f64::max);
    assert!(LinearOperator::<f64>::norm_bound(&operator) >= longest * (1.0 - 1e-12), "{what}");
}

/// The spaces of every kind: full, of one irrep, levels from a closed shell, RAS, and lists, which levels from open shells are.
fn spaces(orbitals: usize, electrons: usize, two_s: usize, irreps: &[u8]) -> Vec<(String, CsfSpace)> {
    let full = CsfSpace::full(orbitals, electrons, two_s).unwrap();
    let levels = (2..3).filter_map(|level| CsfSpace::excitations(orbitals, electrons, two_s, level).ok());
    let mut found: Vec<(String, CsfSpace)> = levels.map(|space| ("levels".into(), space)).collect();
    let ras =
        RestrictedActiveSpace { ras1: 1, holes: 1, ras3: 2.min(orbitals - 1), electrons: 2.min(2 * (orbitals - 1)) };
    found.extend(CsfSpace::ras(orbitals, electrons, two_s, ras).ok().map(|space| ("levels".into(), space)));
    found.extend((1..=2).filter_map(|irrep| Some(("irrep".into(), full.clone().in_irrep(irreps, irrep).ok()?))));
    found.push(("full".into(), full));
    found
}

/// Every space, spin and projection gives the numbers of the stored matrix on cores.
#[test]
fn products_on_cores_are_those_of_the_matrix() {
    let irreps = [1, 2, 1, 3, 2, 4];
    for (orbitals, electrons, seed) in [(4, 4, 1), (5, 3, 2), (5, 5, 3), (5, 6, 4), (2, 4, 6), (3, 0, 7), (1, 1, 8)] {
        let irreps = &irreps[..orbitals];
        let integrals = random(orbitals, irreps, seed);
        for two_s in possible(orbitals, electrons) {
            for (kind, csfs) in spaces(orbitals, electrons, two_s, irreps) {
                for two_sz in (-(two_s as i64)..=two_s as i64).step_by(2) {
                    let space = csfs.determinants(two_sz).unwrap();
                    let what =
                        format!("{orbitals} orbitals, {electrons} electrons, 2S = {two_s}, 2Sz = {two_sz}, {kind}");
                    compare(&what, &integrals, (&csfs, &space), ProductKind::Direct, &Device::cpu());
                }
            }
        }
    }
}

/// The same by generated kernels, also from a table of elements.
#[test]
fn products_by_kernels_are_those_of_the_matrix() {
    let irreps = [1, 2, 1, 3, 2, 4];
    for device in kernel_devices(Schedule::Reverse) {
        for (orbitals, electrons, two_s, two_sz, seed) in [(6, 4, 0, 0, 1), (5, 5, 1, -1, 2), (5, 6, 2, 0, 3)] {
            let integrals = random(orbitals, &irreps[..orbitals], seed);
            for (kind, csfs) in spaces(orbitals, electrons, two_s, &irreps[..orbitals]) {
                let space = csfs.determinants(two_sz).unwrap();
                if space.is_list() {
                    let request = Request::on_device(&integrals, &space, Some(&csfs), &device);
                    assert!(ways::way(ProductKind::Direct, &request).is_none());
                    continue;
                }
                let what = format!("{orbitals} orbitals, {electrons} electrons, 2S = {two_s}, {kind}");
                compare(&what, &integrals, (&csfs, &space), ProductKind::Direct, &device);
                if kind == "levels" {
                    compare(&what, &integrals, (&csfs, &space), ProductKind::Table, &device);
                }
            }
        }
    }
}
