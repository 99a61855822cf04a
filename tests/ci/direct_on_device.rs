//! The generated product of full CI against the CPU's and against the stored matrix, on the simulated device under every
//! check, and on the card where `EIGENFORGE_TEST_DEVICE=cuda`.

use super::data;
use super::operators::{diagonal, full_ci};
use super::random::Random;
use eigenforge::ci::{self, DirectError, Integrals, ProductKind, Space, Storage};
use eigenforge::runtime::simulate::Schedule;
use eigenforge::runtime::testing::{devices_of_many_launches, kernel_devices, simulated_with_warps_of, teams};
use eigenforge::runtime::{Device, LinearOperator};
use eigenforge::sparse::Target;
use eigenforge_templates::ci::{FieldShape, FullCiShape, SlabShape};

/// σ and x·σ, written over NaN.
fn product(operator: &dyn LinearOperator<f64>, x: &[f64]) -> (Vec<f64>, f64) {
    let device = operator.device();
    let (x, mut y) = (device.upload(x).unwrap(), device.upload(&vec![f64::NAN; x.len()]).unwrap());
    let dot = operator.apply(&x, &mut y).unwrap();
    (y.download().unwrap(), dot)
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// ‖σ − σ_CPU‖ ≤ 1e-13 ‖H‖ ‖x‖ in every element's own row, x·σ and the bound of the norm beside it.
#[track_caller]
fn compare(what: &str, integrals: &Integrals, space: &Space, shape: Option<FullCiShape>, device: &Device) {
    let cpu = full_ci(integrals, space, None, &Device::cpu());
    let ours = full_ci(integrals, space, shape, device);
    let what = format!("{what}, {shape:?}, {}", device.name());
    assert_eq!(ours.dimension(), cpu.dimension(), "{what}");
    let x = Random(71).vector(space.len());
    let ((y, dot), (expected, expected_dot)) = (product(&ours, &x), product(&cpu, &x));
    let scale = norm(&expected).max(norm(&x)) / (x.len() as f64).sqrt();
    for (row, (found, expected)) in y.iter().zip(&expected).enumerate() {
        let message = format!("{what}, row {row}: {found} instead of {expected}");
        assert!((found - expected).abs() <= 1e-13 * (10.0 * scale + expected.abs()), "{message}");
    }
    assert!(
        (dot - expected_dot).abs() <= 1e-13 * norm(&x) * norm(&expected).max(1e-3),
        "{what}: {dot}, {expected_dot}"
    );
    // An upper bound still, and no wild one.
    let (bound, least) = (ours.norm_bound(), norm(&expected) / norm(&x));
    assert!(bound >= least && bound <= 3.0 * cpu.norm_bound() + 1.0, "{what}: {least} {bound} {}", cpu.norm_bound());
    // The same bits without x·y, over other contents, and again.
    let (on_device, mut again) = (device.upload(&x).unwrap(), device.upload(&vec![1e300; x.len()]).unwrap());
    ours.multiply(&on_device, &mut again).unwrap();
    let again = again.download().unwrap();
    assert!(y.iter().zip(&again).all(|(a, b)| a.to_bits() == b.to_bits()), "{what}: other bits");
}

fn shape(pair_tile: u32, columns: u32, chunk: u32, threads: u32, resident: u32) -> Option<FullCiShape> {
    Some(FullCiShape::Fields(FieldShape { pair_tile, columns, chunk, threads, resident }))
}

fn slabs(both_warps: u32, stages: u32, alone_across: u32, panel: u32) -> Option<FullCiShape> {
    Some(FullCiShape::Slabs(SlabShape { both_warps, stages, alone_across, panel, piece: 1536 }))
}

#[test]
fn random_integrals_with_few_electrons_and_many() {
    let mut random = Random(31);
    for device in kernel_devices(Schedule::Forward) {
        for (orbitals, up, down) in
            [(4, 2, 2), (5, 0, 2), (5, 3, 0), (4, 0, 0), (5, 1, 1), (5, 5, 2), (1, 1, 1), (6, 1, 4), (6, 3, 2)]
        {
            let integrals = random.integrals(orbitals, up, down);
            let space = Space::full(orbitals, up, down).unwrap();
            let what = format!("{orbitals} orbitals, {up} + {down}");
            compare(&what, &integrals, &space, None, &device);
            compare(&what, &integrals, &space, slabs(1, 2, 1, 32), &device);
        }
        for (orbitals, up, down) in [(5, 3, 2), (6, 2, 3)] {
            let space = Space::full(orbitals, up, down).unwrap();
            let whole = random.unrestricted(orbitals, up, down);
            let irreps = random.unrestricted_with_irreps(orbitals, up, down);
            for (integrals, shape) in [(&whole, None), (&whole, slabs(1, 2, 1, 32)), (&irreps, slabs(2, 4, 2, 64))] {
                compare(
                    &format!("{orbitals} orbitals, {up} + {down}, unrestricted"),
                    integrals,
                    &space,
                    shape,
                    &device,
                );
            }
        }
    }
}

/// Slices of 16 strings for warps of 16 lanes, with classes that do not fill them.
#[test]
fn warps_of_another_width() {
    let Some(device) = simulated_with_warps_of(16, Schedule::Reverse) else { return };
    let integrals = Random(35).integrals_with_irreps(7, 3, 4);
    let space = Space::full(7, 3, 4).unwrap();
    compare("7 orbitals, 3 + 4", &integrals, &space, None, &device);
    compare("7 orbitals, 3 + 4", &integrals, &space, shape(5, 3, 64, 48, 1), &device);
    let refused = ci::full_ci(&integrals, &space, slabs(1, 2, 1, 32), &device).map(drop).unwrap_err();
    assert!(refused.to_string().contains("lanes of a warp = 16; it must be 32"), "{refused}");
}

#[test]
fn every_shape_gives_the_same_product() {
    let mut random = Random(32);
    let integrals = random.integrals_with_irreps(7, 3, 4);
    let space = Space::full(7, 3, 4).unwrap();
    for device in kernel_devices(Schedule::Reverse) {
        for (tile, columns, chunk, threads, resident) in
            [(4, 1, 3, 32, 32), (6, 2, 64, 32, 2), (12, 2, 5, 64, 1), (5, 3, 64, 32, 1), (16, 4, 2, 96, 2)]
        {
            let shape = shape(tile, columns, chunk, threads, resident);
            compare("7 orbitals, 3 + 4", &integrals, &space, shape, &device);
        }
        // Several slabs of a class, several panels, warps below each other and side by side.
        for shape in [slabs(1, 2, 1, 32), slabs(2, 4, 2, 64), slabs(3, 3, 1, 96)] {
            compare("7 orbitals, 3 + 4", &integrals, &space, shape, &device);
        }
    }
}

/// Several cards as one device, each with its rows and pieces of C, also where there are fewer α strings than cards: the numbers of one.
#[test]
fn cards_that_share_a_product() {
    let mut random = Random(36);
    for device in teams(&[2, 3]) {
        // On real cards vectors long enough to be spread.
        let sizes: &[_] =
            if device.is_cuda() { &[(13, 5, 5), (14, 4, 6)] } else { &[(6, 3, 3), (7, 2, 4), (5, 5, 2), (5, 0, 2)] };
        for &(orbitals, up, down) in sizes {
            let integrals = random.integrals_with_irreps(orbitals, up, down);
            let full = Space::full(orbitals, up, down).unwrap();
            let irrep = full.clone().in_irrep(&integrals.irreps, 3).ok();
            for space in [full].into_iter().chain(irrep) {
                compare(
                    &format!("{orbitals} orbitals, {up} + {down}"),
                    &integrals,
                    &space,
                    slabs(1, 2, 1, 32),
                    &device,
                );
            }
        }
    }
}

#[test]
fn the_whole_space_and_each_irrep() {
    let mut random = Random(33);
    let mut spaces = 0;
    for device in kernel_devices(Schedule::Forward) {
        for (orbitals, up, down) in [(5, 2, 3), (6, 4, 1), (6, 3, 3)] {
            let integrals = random.integrals_with_irreps(orbitals, up, down);
            let full = || Space::full(orbitals, up, down).unwrap();
            let what = format!("{orbitals} orbitals, {up} + {down}");
            compare(&what, &integrals, &full(), None, &device);
            compare(&what, &integrals, &full(), slabs(2, 3, 1, 32), &device);
            for irrep in 1..=8 {
                let Ok(space) = full().in_irrep(&integrals.irreps, irrep) else { continue };
                let what = format!("{orbitals} orbitals, {up} + {down}, irrep {irrep}");
                compare(&what, &integrals, &space, slabs(1, 2, 1, 32).filter(|_| irrep % 2 == 0), &device);
                spaces += 1;
            }
        }
        assert!(spaces > 6, "{spaces}");
    }
}

/// Row by row to 1e-13 of Σ |H x| of the stored matrix's row; the name has compute-sanitizer run it.
#[test]
fn molecules_against_the_stored_matrix_under_memcheck() {
    for device in kernel_devices(Schedule::Random { seed: 5 }) {
        for id in ["H2_631g_1.20", "LiH_sto3g_1.6", "BeH2_sto3g_1.33"] {
            let integrals = data::integrals(id);
            let (up, down) = integrals.spins();
            let full = Space::full(integrals.orbitals, up, down).unwrap();
            let irrep = full.reference_irrep(&integrals.irreps).unwrap();
            for space in [full.clone(), full.in_irrep(&integrals.irreps, irrep).unwrap()] {
                let matrix = ci::matrix(&integrals, &space, 0.0).unwrap();
                let ours = full_ci(&integrals, &space, None, &device);
                let x = Random(72).vector(space.len());
                let (y, dot) = product(&ours, &x);
                let (mut expected_dot, mut size_of_dot) = (0.0, 0.0);
                for (row, found) in y.iter().enumerate() {
                    let (columns, values) = matrix.row(row);
                    let products = || columns.iter().zip(values).map(|(column, value)| value * x[*column as usize]);
                    let (expected, size) = (products().sum::<f64>(), products().map(f64::abs).sum::<f64>());
                    let message = format!("{id}, row {row}: {found} instead of {expected}");
                    assert!((found - expected).abs() <= 1e-13 * size.max(1.0), "{message}");
                    expected_dot += x[row] * expected;
                    size_of_dot += x[row].abs() * size;
                }
                assert!((dot - expected_dot).abs() <= 1e-13 * size_of_dot, "{id}: {dot} instead of {expected_dot}");
            }
        }
    }
}

/// 75,582 β strings, more than 16 bits tell apart and shared memory holds, and as many α strings: few integrals, so that tables stay small.
#[test]
fn more_strings_than_16_bits_tell_apart() {
    let mut random = Random(34);
    let (orbitals, electrons) = (19, 8);
    for (up, down) in [(orbitals, electrons), (electrons, orbitals)] {
        let mut integrals =
            Integrals { irreps: (0..orbitals).map(|k| 1 + (k % 8) as u8).collect(), ..Integrals::zero(orbitals) };
        (integrals.electrons, integrals.two_sz) = (up + down, up as i64 - down as i64);
        for p in 0..orbitals {
            for q in 0..=p {
                if p % 8 == q % 8 {
                    integrals.one[ci::pair(p, q)] = random.number();
                }
                integrals.two[ci::pair(ci::pair(p, p), ci::pair(q, q))] = random.number();
                integrals.two[ci::pair(ci::pair(p, q), ci::pair(p, q))] = random.number();
            }
        }
        let space = Space::full(orbitals, up, down).unwrap();
        assert_eq!(space.len(), 75_582);
        let shape = ci::full_ci_shape(&integrals, &space, Target::H200).unwrap();
        assert_eq!(matches!(shape, FullCiShape::Slabs(_)), down == electrons, "{shape:?}");
        // 75,582 blocks of one spin or of the other take the simulation minutes.
        for device in devices_of_many_launches(Schedule::Forward).into_iter().filter(Device::is_cuda) {
            compare(&format!("{up} + {down}"), &integrals, &space, None, &device);
        }
    }
}

#[test]
fn shapes_that_cannot_be_are_refused() {
    let integrals = Random(35).integrals(4, 2, 2);
    let space = Space::full(4, 2, 2).unwrap();
    let Some(device) = kernel_devices(Schedule::Forward).into_iter().next() else { return };
    for (shape, part) in [
        (shape(4, 2, 4, 33, 1), "threads = 33; it must be whole warps"),
        (shape(17, 2, 4, 32, 1), "pair_tile = 17; it must be 1 to 16"),
        (shape(4, 9, 4, 32, 1), "columns = 9; it must be 1 to 4"),
        (shape(4, 2, 0, 32, 1), "chunk = 0; it must be 1 to 1024"),
    ] {
        let error = ci::full_ci(&integrals, &space, shape, &device).map(drop).unwrap_err();
        assert!(matches!(error, DirectError::Plan(_)) && error.to_string().contains(part), "{error}");
    }
}

/// Integrals of any size: a power of two times them gives the same bits times it, none at all gives zeros.
#[test]
fn tiny_huge_and_no_couplings() {
    let integrals = Random(41).integrals(6, 3, 3);
    let space = Space::full(6, 3, 3).unwrap();
    let x = Random(42).vector(space.len());
    for device in kernel_devices(Schedule::Forward) {
        for shape in [None, slabs(1, 2, 1, 32)] {
            let of = |factor: f64| {
                let mut scaled = integrals.clone();
                scaled.one.iter_mut().chain(&mut scaled.two).for_each(|value| *value *= factor);
                product(&full_ci(&scaled, &space, shape, &device), &x)
            };
            let (one, dot) = of(1.0);
            for factor in [0.0, 2f64.powi(-600), 2f64.powi(600)] {
                let (found, found_dot) = of(factor);
                let same = found.iter().zip(&one).all(|(found, one)| *found == factor * one);
                assert!(same && found_dot == factor * dot, "{shape:?}, {factor:e} on {}", device.name());
            }
        }
    }
}

/// The diagonal that vector programs compute, of both products, in whole spaces and in one irrep, on one card and on several.
#[test]
fn the_diagonal_is_that_of_the_cpu() {
    let mut random = Random(12);
    let integrals = random.integrals_with_irreps(7, 3, 4);
    let whole = Space::full(7, 3, 4).unwrap();
    let irrep = whole.clone().in_irrep(&integrals.irreps, integrals.irreps[0]).unwrap();
    // No electron of one spin.
    let polarised = Space::full(7, 0, 2).unwrap();
    let devices = kernel_devices(Schedule::Forward).into_iter().chain(teams(&[2])).collect::<Vec<_>>();
    for space in [&whole, &irrep, &polarised] {
        let expected = diagonal(&full_ci(&integrals, space, None, &Device::cpu()));
        for (device, shape) in devices.iter().flat_map(|device| [None, slabs(1, 2, 1, 32)].map(|shape| (device, shape)))
        {
            let operator = full_ci(&integrals, space, shape, device);
            for (row, (found, expected)) in diagonal(&operator).iter().zip(&expected).enumerate() {
                let what = format!("{shape:?}, {}, row {row}: {found}, {expected}", device.name());
                assert!((found - expected).abs() <= 1e-13 * (1.0 + expected.abs()), "{what}");
            }
        }
    }
}

/// Full CI of the reference data (PySCF): small molecules in simulation, all of them on a card, which takes no matrix.
#[test]
fn energies_of_the_reference_data_without_a_matrix() {
    for device in devices_of_many_launches(Schedule::Forward) {
        let most = if device.is_cuda() { u64::MAX } else { 40 };
        let mut solved = 0;
        for case in data::energies().iter().filter(|case| case.fci_dim <= most) {
            let integrals = data::integrals(&case.id);
            let space = Space::full(case.norb, case.n_alpha, case.n_beta).unwrap();
            let states = case.fci_roots.len().min(2).min(space.len() as usize);
            let solve =
                ci::CiProblem::new(&integrals, &space).storage(Storage::Direct).solve().states(states).certify(false);
            let found = solve.run(&device).unwrap();
            assert_eq!(found.storage_used().storage, ProductKind::Direct, "{}", case.id);
            for (found, expected) in found.energies().iter().zip(&case.fci_roots) {
                assert!((found - expected).abs() < 1e-9, "{}: {found} instead of {expected}", case.id);
            }
            solved += 1;
        }
        assert!(solved >= 2, "{solved}");
    }
}
