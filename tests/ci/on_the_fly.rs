//! Products row by row against the stored matrix: on the CPU, on the simulated device under every check, and on the card
//! where `EIGENFORGE_TEST_DEVICE=cuda`.

use super::data;
use super::operators::{diagonal, element_table, row_by_row};
use super::random::Random;
use eigenforge::ci::{self, Census, CiProblem, Integrals, OnTheFlyError, ProductKind, Space, Storage};
use eigenforge::runtime::simulate::Schedule;
use eigenforge::runtime::testing::{devices_of_many_launches, kernel_devices, simulated_with_warps_of};
use eigenforge::runtime::{Device, LinearOperator};

/// Row by row to 1e-13 of Σ |H x| of the stored matrix's row; x·σ, diagonal and norm beside it; the same bits again.
#[track_caller]
fn compare(what: &str, integrals: &Integrals, space: &Space, lanes: Option<u32>, device: &Device) {
    let what = format!("{what}, lanes {lanes:?}");
    compare_operator(&what, integrals, space, &row_by_row(integrals, space, lanes, device), device);
}

#[track_caller]
fn compare_operator(what: &str, integrals: &Integrals, space: &Space, ours: &dyn LinearOperator<f64>, device: &Device) {
    let what = format!("{what}, {}", device.name());
    let matrix = ci::matrix(integrals, space, 0.0).unwrap();
    assert_eq!(ours.dimension(), space.len() as usize, "{what}");
    let x = Random(81).vector(space.len());
    let (on_device, mut y) = (device.upload(&x).unwrap(), device.upload(&vec![f64::NAN; x.len()]).unwrap());
    let dot = ours.apply(&on_device, &mut y).unwrap();
    let y = y.download().unwrap();
    let (mut expected_dot, mut size_of_dot, mut norm) = (0.0, 0.0, 0.0f64);
    for (row, found) in y.iter().enumerate() {
        let (columns, values) = matrix.row(row);
        let products = || columns.iter().zip(values).map(|(column, value)| value * x[*column as usize]);
        let (expected, size) = (products().sum::<f64>(), products().map(f64::abs).sum::<f64>());
        let message = format!("{what}, row {row}: {found} instead of {expected}");
        assert!((found - expected).abs() <= 1e-13 * size.max(1.0), "{message}");
        expected_dot += x[row] * expected;
        size_of_dot += x[row].abs() * size;
        norm = norm.max(values.iter().map(|value| value.abs()).sum());
    }
    assert!((dot - expected_dot).abs() <= 1e-13 * size_of_dot.max(1.0), "{what}: {dot} instead of {expected_dot}");
    assert!((ours.norm_bound() - norm).abs() <= 1e-12 * norm, "{what}: {} instead of {norm}", ours.norm_bound());
    for (row, found) in diagonal(ours).iter().enumerate() {
        let expected = matrix.element(row, row as u32);
        assert!((found - expected).abs() <= 1e-12 * expected.abs().max(1.0), "{what}: {found} instead of {expected}");
    }
    let mut again = device.upload(&vec![1e300; x.len()]).unwrap();
    ours.multiply(&on_device, &mut again).unwrap();
    assert!(y.iter().zip(again.download().unwrap()).all(|(a, b)| a.to_bits() == b.to_bits()), "{what}: other bits");
}

fn with_cpu(schedule: Schedule) -> Vec<Device> {
    std::iter::once(Device::cpu()).chain(kernel_devices(schedule)).collect()
}

#[test]
fn warps_of_another_width() {
    let Some(device) = simulated_with_warps_of(16, Schedule::Forward) else { return };
    let space = Space::excitations(6, 3, 2, 2).unwrap();
    for lanes in [None, Some(16)] {
        compare("6 orbitals, 3 + 2", &Random(42).integrals(6, 3, 2), &space, lanes, &device);
    }
}

#[test]
fn spaces_by_level_and_irrep_of_random_integrals() {
    let mut random = Random(41);
    let mut cut = 0;
    for device in with_cpu(Schedule::Forward) {
        for (orbitals, up, down, level) in
            [(5, 2, 2, 1), (6, 3, 2, 2), (6, 2, 3, 3), (5, 0, 2, 2), (4, 4, 2, 2), (1, 1, 1, 1), (6, 1, 4, 9)]
        {
            // Every text is compiled for the simulation: few irreps there.
            let simulated = device.runs_kernels() && !device.is_cuda();
            let irreps = match (simulated, level) {
                (false, _) => 1..=8,
                (true, 2) => 1..=2,
                (true, _) => 1..=1,
            };
            let what = format!("{orbitals} orbitals, {up} + {down}, level {level}");
            let space = Space::excitations(orbitals, up, down, level).unwrap();
            compare(&what, &random.integrals(orbitals, up, down), &space, None, &device);
            let integrals = random.integrals_with_irreps(orbitals, up, down);
            compare(&format!("{what}, irreps kept"), &integrals, &space, None, &device);
            for irrep in irreps {
                let Ok(space) = space.clone().in_irrep(&integrals.irreps, irrep) else { continue };
                compare(&format!("{what}, irrep {irrep}"), &integrals, &space, None, &device);
                cut += 1;
            }
        }
        let full = Space::full(5, 2, 3).unwrap();
        compare("full", &random.integrals(5, 2, 3), &full, None, &device);
        let (space, integrals) = (Space::excitations(6, 3, 2, 3).unwrap(), random.unrestricted_with_irreps(6, 3, 2));
        for lanes in [None, Some(4)].into_iter().take(if device.runs_kernels() { 2 } else { 1 }) {
            compare("unrestricted, irreps kept", &integrals, &space, lanes, &device);
        }
        compare("unrestricted", &random.unrestricted(5, 2, 3), &full, None, &device);
    }
    assert!(cut > 15, "{cut}");
}

#[test]
fn every_number_of_lanes_gives_the_same_product_under_memcheck() {
    let mut random = Random(42);
    let integrals = random.integrals_with_irreps(6, 3, 3);
    let space = Space::excitations(6, 3, 3, 3).unwrap();
    for device in kernel_devices(Schedule::Random { seed: 6 }) {
        for lanes in [1, 2, 4, 8, 16, 32] {
            compare("6 orbitals, 3 + 3", &integrals, &space, Some(lanes), &device);
        }
        let error = ci::row_by_row(&integrals, &space, Some(3), &device).map(drop).unwrap_err();
        assert!(error.to_string().contains("lanes = 3; it must be a power of two, at most a warp"), "{error}");
    }
}

/// A table of all rows, of some, of the first alone, and of none.
#[test]
fn a_table_of_elements_gives_the_same_product_whole_and_in_part() {
    let mut random = Random(44);
    for device in kernel_devices(Schedule::Random { seed: 7 }) {
        for (orbitals, up, down, level, cut) in
            [(6, 3, 3, 3, true), (6, 3, 2, 2, false), (1, 1, 1, 1, false), (5, 0, 2, 2, false)]
        {
            let integrals = match cut {
                true => random.integrals_with_irreps(orbitals, up, down),
                false => random.integrals(orbitals, up, down),
            };
            let space = Space::excitations(orbitals, up, down, level).unwrap();
            let space = if cut { space.in_irrep(&integrals.irreps, 1).unwrap() } else { space };
            let elements = Census::new(&space, &vec![0; orbitals]).non_zeros as u64;
            for most in [None, Some(6 * elements), Some(12 + 12 * 64), Some(11), Some(0)] {
                let what = format!("{orbitals} orbitals, {up} + {down}, level {level}, a table of {most:?} bytes");
                let ours = element_table(&integrals, &space, most, &device);
                compare_operator(&what, &integrals, &space, &ours, &device);
            }
        }
    }
}

#[test]
fn lists_run_on_the_cpu_and_are_refused_where_kernels_run() {
    let mut random = Random(43);
    let integrals = random.integrals(7, 3, 3);
    let full = Space::full(7, 3, 3).unwrap();
    let list: Vec<_> = (0..full.len()).step_by(3).map(|row| full.determinant(row)).collect();
    let space = Space::from_determinants(7, &list).unwrap();
    compare("a list", &integrals, &space, None, &Device::cpu());
    for device in kernel_devices(Schedule::Forward) {
        let error = ci::row_by_row(&integrals, &space, None, &device).map(drop).unwrap_err();
        assert!(matches!(error, OnTheFlyError::List { rows: 409 }), "{error}");
        let solve = CiProblem::new(&integrals, &space).storage(Storage::Direct).solve();
        assert!(solve.run(&device).unwrap_err().to_string().contains("a list of 409 determinants"));
        let table = |space| {
            CiProblem::new(&integrals, space).storage(Storage::Table).solve().run(&device).unwrap_err().to_string()
        };
        assert!(table(&space).contains("a list of determinants, not all of a level"), "{}", table(&space));
        assert!(table(&full).contains("full CI is multiplied by its strings"), "{}", table(&full));
    }
}

/// Molecules whose spaces are solved in simulation, where every space is a text of its own: as many electrons as holes, few holes, an
/// odd number of electrons, a triplet.
const SIMULATED: [&str; 4] = ["H4_square_sto3g_1.2", "HF_sto3g_0.92", "OH_sto3g_0.97", "O2_triplet_sto3g_1.208"];

/// Energies of the reference data (PySCF) by level, in the reference's irrep, on every device: nothing is stored.
#[test]
fn energies_by_level_of_the_reference_data_without_a_matrix() {
    for device in std::iter::once(Device::cpu()).chain(devices_of_many_launches(Schedule::Forward)) {
        let simulated = device.runs_kernels() && !device.is_cuda();
        let most = if device.is_cuda() {
            u64::MAX
        } else if simulated {
            60
        } else {
            2000
        };
        let mut solved = 0;
        for case in data::energies().iter().filter(|case| !simulated || SIMULATED.contains(&case.id.as_str())) {
            for truncated in case.truncated.iter().filter(|truncated| truncated.dets <= most) {
                let integrals = data::integrals(&case.id);
                let whole = Space::excitations(case.norb, case.n_alpha, case.n_beta, truncated.level).unwrap();
                let irrep = whole.reference_irrep(&integrals.irreps).unwrap();
                let space = whole.in_irrep(&integrals.irreps, irrep).unwrap();
                let first = solved == 0 && device.runs_kernels() && !space.is_complete();
                let table = first.then_some((Storage::Table, ProductKind::Table));
                for (storage, kind) in std::iter::once((Storage::Direct, ProductKind::Direct)).chain(table) {
                    let solve = CiProblem::new(&integrals, &space).storage(storage).solve().certify(false);
                    let found = solve.run(&device).unwrap();
                    assert_eq!(found.storage_used().storage, kind, "{}", case.id);
                    let (found, expected, level) = (found.energies()[0], truncated.energy, truncated.level);
                    assert!((found - expected).abs() < 1e-9, "{}, {level}: {found} instead of {expected}", case.id);
                }
                solved += 1;
            }
        }
        assert!(solved >= 12, "{solved} on {}", device.name());
    }
}
