//! Energies of the reference data: full, truncated and single-irrep spaces of every molecule, on the CPU and, under
//! EIGENFORGE_TEST_DEVICE=cuda, on the GPU; with a stored matrix and straight from the integrals.

use super::data;
use super::random::Random;
use eigenforge::ci::{
    BetaIntegrals, CiProblem, CiSolution, CiSolve, Integrals, OneBody, OneElectron, Reference, Space, StateCounts,
    Storage, pair,
};
use eigenforge::runtime::Device;
use eigenforge::runtime::solvers::{Solver, StartUsed, StopReason};
use eigenforge::runtime::testing::card;

/// Largest spaces of several states and of one whose matrix the CPU's runs store; the GPU's runs store every one.
const CPU_STORED: [u64; 2] = [3_100, 40_000];

/// Every way to multiply on every device, a stored matrix on the CPU where it is not too large.
fn ways(space: &Space, states: usize) -> Vec<(Device, Storage)> {
    let cpu = |storage| (Device::cpu(), storage);
    let stored = (space.len() <= CPU_STORED[usize::from(states == 1)]).then(|| cpu(Storage::Stored));
    let direct = space.is_complete().then(|| cpu(Storage::Direct));
    let gpu = card().map(|device| (device, Storage::Auto));
    stored.into_iter().chain(direct).chain(gpu).collect()
}

/// The lowest states in every way, each with its residual and its whole multiplet.
#[track_caller]
fn check(what: &str, integrals: &Integrals, space: &Space, expected: &[f64]) {
    let states = expected.len().min(space.len() as usize);
    for (device, storage) in ways(space, states) {
        let what = format!("{what}, {storage:?} on {}", device.name());
        let solve = CiProblem::new(integrals, space).storage(storage).solve().states(states);
        let solution = solve.run(&device).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(matches!(solution.stop(), StopReason::Converged | StopReason::Dense), "{what}: {:?}", solution.stop());
        compare(&what, &solution, &expected[..states]);
    }
}

#[track_caller]
fn compare(what: &str, solution: &CiSolution, expected: &[f64]) {
    for (found, expected) in solution.energies().iter().zip(expected) {
        assert!((found - expected).abs() < 1e-9, "{what}: {found} instead of {expected}");
    }
    let limit = 1.01 * solution.eigenpairs().tolerance;
    assert!(limit < 1e-6 && solution.residuals().iter().all(|r| *r <= limit), "{what}: {:?}", solution.residuals());
    let core = solution.constant();
    let highest = expected.last().copied().unwrap_or_default();
    for level in &solution.eigenpairs().levels {
        let there = expected.iter().filter(|energy| (*energy - core - level.value).abs() < 1e-7).count();
        assert!(level.complete && level.multiplicity >= there, "{what}: {level:?}, {there} in the reference");
        // Only the highest level may go on behind what the reference lists.
        if level.value + core < highest - 1e-7 {
            assert_eq!(level.multiplicity, there, "{what}: {level:?}");
        }
    }
}

#[test]
fn every_file_says_what_the_reference_says() {
    let cases = data::energies();
    assert_eq!(cases.len(), 18);
    for case in cases {
        let integrals = data::integrals(&case.id);
        assert_eq!((integrals.orbitals, integrals.spins()), (case.norb, (case.n_alpha, case.n_beta)), "{}", case.id);
        assert!((integrals.core - case.ecore).abs() < 1e-12, "{}", case.id);
        assert!(integrals.largest_forbidden(&integrals.irreps) < 1e-9, "{}", case.id);
        let (up, down) = integrals.spins();
        assert_eq!(Space::full(integrals.orbitals, up, down).unwrap().len(), case.fci_dim, "{}", case.id);
        let determinants = StateCounts::determinants(case.norb, up, down, &integrals.irreps).unwrap();
        assert_eq!(determinants.per_level(), case.dets_per_excitation_level, "{}", case.id);
        let reference = Reference::high_spin(up + down, up - down);
        let states =
            StateCounts::configuration_state_functions(case.norb, up + down, up - down, reference, &[]).unwrap();
        assert_eq!(states.cumulative().last(), Some(&case.csf_total), "{}", case.id);
        if let Some(expected) = case.csf_per_level {
            assert_eq!(states.per_level(), expected, "{}", case.id);
        }
    }
}

/// Full spaces of more states, of which there is one, are solved on a card alone here. On the CPU the command finds its four roots:
/// `full_ci_of_water_with_spins_and_files`.
const LARGEST_ON_CORES: u64 = 100_000;

#[test]
fn full_ci_roots() {
    let most = if card().is_some() { u64::MAX } else { LARGEST_ON_CORES };
    for case in data::energies().into_iter().filter(|case| case.fci_dim <= most) {
        let integrals = data::integrals(&case.id);
        let (up, down) = integrals.spins();
        let space = Space::full(integrals.orbitals, up, down).unwrap();
        check(&case.id, &integrals, &space, &case.fci_roots);
    }
}

/// The lowest state by two vectors, from the integrals and with a stored matrix.
#[test]
fn lowest_states_with_two_vectors() {
    let most = if card().is_some() { u64::MAX } else { 20_000 };
    for case in data::energies().into_iter().filter(|case| case.fci_dim <= most) {
        let integrals = data::integrals(&case.id);
        let space = Space::full(case.norb, case.n_alpha, case.n_beta).unwrap();
        for (device, storage) in ways(&space, 2) {
            let what = format!("{}, {storage:?} on {}", case.id, device.name());
            let solve =
                CiProblem::new(&integrals, &space).storage(storage).solve().solver(Solver::Olsen).certify(false);
            let found = solve.run(&device).unwrap();
            println!("{what}: {} multiplies", found.eigenpairs().multiplies);
            assert_eq!(found.stop(), StopReason::Converged, "{what}: {:?}", found.residuals());
            assert!((found.energies()[0] - case.fci_roots[0]).abs() < 1e-9, "{what}: {:?}", found.energies());
            assert_eq!(found.eigenpairs().start, StartUsed::Guess, "{what}");
        }
    }
}

/// Where Davidson's vectors do not fit but two do, these are taken; not in place of another solver, nor for two states.
#[test]
fn fewer_vectors_where_more_do_not_fit() {
    let device = Device::cpu();
    let free = device.memory().free;
    let sizes = (12..26).flat_map(|orbitals| (3..8).flat_map(move |up| [up - 1, up].map(|down| (orbitals, up, down))));
    let length = |(orbitals, up, down): (usize, usize, usize)| {
        let strings = |n: usize| (0..n).fold(1u64, |count, k| count * (orbitals - k) as u64 / (k as u64 + 1));
        strings(up) * strings(down)
    };
    let between = |size: &(usize, usize, usize)| (20 * length(*size)..56 * length(*size)).contains(&free);
    let (orbitals, up, down) = sizes.filter(between).min_by_key(|size| size.0).unwrap();
    let integrals = Random(5).integrals(orbitals, up, down);
    let space = Space::full(orbitals, up, down).unwrap();
    let solve = || CiSolve::new(&integrals, &space);
    let (fitting, reason) = solve().choose(&device);
    assert_eq!(fitting.solver, Solver::Olsen, "{orbitals} orbitals, {up} + {down}, {free} bytes");
    assert_eq!(reason.unwrap(), "the vectors of davidson would not fit in memory");
    for other in [solve().states(2), solve().solver(Solver::Lanczos)] {
        let before = other.solver;
        let (after, reason) = other.choose(&device);
        assert_eq!((after.solver, reason), (before, None));
    }
    let small = Space::full(4, 2, 2).unwrap();
    let integrals = Random(5).integrals(4, 2, 2);
    assert_eq!(CiSolve::new(&integrals, &small).choose(&device).1, None);
}

#[test]
fn cisd_roots() {
    for case in data::energies() {
        let integrals = data::integrals(&case.id);
        let (up, down) = integrals.spins();
        if let Some(roots) = &case.cisd_roots {
            let space = Space::excitations(integrals.orbitals, up, down, 2).unwrap();
            check(&format!("{} CISD", case.id), &integrals, &space, roots);
        }
    }
}

/// The whole of a multiplet that the number of states cuts, with the multiplicities that the reference counts.
#[test]
fn degenerate_roots_are_complete() {
    // Oxygen's and stretched nitrogen's pairs, beryllium's triplet P (three components and Ms = 0 of it), the radical's
    // Π ground state.
    for (id, states) in
        [("O2_triplet_sto3g_1.208", 2), ("N2_sto3g_2.0", 5), ("Be_631g", 2), ("OH_sto3g_0.97", 1), ("LiH_sto3g_1.6", 4)]
    {
        let case = data::energies().into_iter().find(|case| case.id == id).unwrap();
        let integrals = data::integrals(id);
        let space = Space::full(case.norb, case.n_alpha, case.n_beta).unwrap();
        let last = case.fci_roots[states - 1];
        let there = case.fci_roots.iter().filter(|root| (*root - last).abs() < 1e-7).count();
        for (device, storage) in ways(&space, 1) {
            let what = format!("{id}, {storage:?} on {}", device.name());
            let solution =
                CiProblem::new(&integrals, &space).storage(storage).solve().states(states).run(&device).unwrap();
            compare(&what, &solution, &case.fci_roots[..states]);
            let level = solution.eigenpairs().levels.last().unwrap();
            assert!(there > level.returned, "{what}: the case cuts no multiplet");
            assert_eq!((level.multiplicity, level.complete), (there, true), "{what}");
        }
    }
}

/// Lowest energies of the reference's irrep, of those molecules whose place in the list leaves `part` of two.
fn truncated_spaces(part: usize) {
    for case in data::energies().into_iter().skip(part).step_by(2) {
        let integrals = data::integrals(&case.id);
        let (up, down) = integrals.spins();
        for truncated in &case.truncated {
            let space = Space::excitations(integrals.orbitals, up, down, truncated.level).unwrap();
            assert_eq!(space.len(), truncated.dets, "{} level {}", case.id, truncated.level);
            let irrep = space.reference_irrep(&integrals.irreps).unwrap();
            let space = space.in_irrep(&integrals.irreps, irrep).unwrap();
            let what = format!("{} level {}", case.id, truncated.level);
            check(&what, &integrals, &space, &[truncated.energy]);
        }
    }
}

#[test]
fn truncated_spaces_of_the_reference_irrep() {
    truncated_spaces(0);
}

#[test]
fn truncated_spaces_of_the_reference_irrep_of_the_other_molecules() {
    truncated_spaces(1);
}

/// Orbitals of each spin: PySCF's fci.direct_uhf (tests/data/ci/unrestricted.py), with densities and dipoles of what is not degenerate.
#[test]
fn unrestricted_molecules() {
    let cases = data::unrestricted();
    assert_eq!(cases.len(), 3);
    for case in cases {
        let integrals = data::integrals(&case.id);
        let space = Space::full(case.orbitals, case.alpha, case.beta).unwrap();
        assert!((integrals.core - case.core).abs() < 1e-12 && integrals.is_unrestricted());
        check(&case.id, &integrals, &space, &case.energies);
        if case.energies[1] - case.energies[0] < 1e-6 {
            continue;
        }
        let solve = CiProblem::new(&integrals, &space).solve().tolerance(1e-10);
        let solution = solve.run(&Device::cpu()).unwrap();
        let one = OneBody::new(&space, &solution.vectors().unwrap()).unwrap();
        for (found, expected) in [(&one.alpha, &case.gamma_alpha), (&one.beta, &case.gamma_beta)] {
            let close = found.diag().iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-6);
            assert!(close, "{}: {found}, {expected:?}", case.id);
        }
        let path = data::path(&format!("{}.dipole", case.id));
        for (component, expected) in
            OneElectron::read_dipole(path, case.orbitals, true).unwrap().iter().zip(&case.dipole)
        {
            let found = component.expectation(&one).unwrap();
            assert!((found - expected).abs() < 1e-6, "{}: {found}, {expected}", case.id);
        }
    }
}

/// The same H in other orbitals of each spin: turned orbitals of β leave every energy as it is.
#[test]
fn energies_do_not_depend_on_the_orbitals_of_a_spin() {
    let integrals = data::integrals("NH2_sto3g_1.03");
    let (n, (up, down)) = (integrals.orbitals, integrals.spins());
    let mut same = Integrals { irreps: Vec::new(), ..integrals.clone() };
    let pairs = n * (n + 1) / 2;
    let mixed = (0..pairs * pairs).map(|at| integrals.two[pair(at / pairs, at % pairs)]).collect();
    same.beta = Some(Box::new(BetaIntegrals { one: same.one.clone(), two: same.two.clone(), mixed }));
    // A Givens rotation of β orbitals 2 and 5.
    let (c, s) = (0.6, 0.8);
    let turn = |p: usize, q: usize| match (p, q) {
        (2, 2) | (5, 5) => c,
        (2, 5) => s,
        (5, 2) => -s,
        _ => f64::from(u8::from(p == q)),
    };
    let places = |q: usize| (0..n).filter(move |p| turn(*p, q) != 0.0).map(move |p| (p, turn(p, q)));
    let mut beta = BetaIntegrals::zero(n);
    let list: Vec<(usize, usize)> = (0..n).flat_map(|p| (0..=p).map(move |q| (p, q))).collect();
    let images = |(p, q): (usize, usize)| {
        places(p).flat_map(move |(a, x)| places(q).map(move |(b, y)| (pair(a, b), x * y))).collect::<Vec<_>>()
    };
    for (right, rs) in list.iter().enumerate() {
        beta.one[right] = images(*rs).iter().map(|(at, factor)| factor * integrals.one[*at]).sum();
        for left in 0..pairs {
            let value = |(at, factor): &(usize, f64)| factor * integrals.two[pair(left, *at)];
            beta.mixed[left * pairs + right] = images(*rs).iter().map(value).sum();
        }
        for (left, pq) in list.iter().enumerate().take(right + 1) {
            let both =
                images(*pq).into_iter().flat_map(|(a, x)| images(*rs).into_iter().map(move |(b, y)| (a, b, x * y)));
            beta.two[pair(left, right)] = both.map(|(a, b, factor)| factor * integrals.two[pair(a, b)]).sum();
        }
    }
    let turned = Integrals { beta: Some(Box::new(beta)), ..same.clone() };
    let space = Space::full(n, up, down).unwrap();
    let energies = |integrals: &Integrals| {
        CiProblem::new(integrals, &space).solve().states(4).run(&Device::cpu()).unwrap().energies().to_vec()
    };
    let expected = energies(&integrals);
    for (found, what) in [(energies(&same), "the same orbitals"), (energies(&turned), "turned orbitals")] {
        let close = found.iter().zip(&expected).all(|(found, expected)| (found - expected).abs() < 1e-9);
        assert!(close, "{what}: {found:?}, {expected:?}");
    }
}
