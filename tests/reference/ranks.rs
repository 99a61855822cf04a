//! Exact diagonalisation by several ranks, each with a share of every vector: multiplies, levels, averages and saved states are those
//! of one process.
//!
//! In: models of every kind of multiply, ranks as threads. `tests/cli_and_input` and `tests/su3` start real processes.

use super::ours;
use eigenforge::exact::{KroneckerMultiply, Model, RankPlan, Solution, Solve};
use eigenforge::input::ModelFile;
use eigenforge::observable::Average;
use eigenforge::runtime::simulate::Schedule;
use eigenforge::runtime::solvers::{Preconditioner, Solver, StopReason};
use eigenforge::runtime::testing::on_ranks as on_devices;
use eigenforge::runtime::{Device, LinearOperator, Scalar, Vector, testing};
use eigenforge_templates::ScalarType;

/// What each rank returns, on CPU cores.
fn on_ranks<R: Send>(count: usize, run: impl Fn(&Device) -> R + Sync) -> Vec<R> {
    on_devices(&Device::cpu(), count, run)
}

/// A card, if one is asked for, or the simulator.
fn card() -> Option<Device> {
    testing::card_or_simulated(Schedule::Reverse)
}

fn model(text: &str) -> Model {
    ModelFile::parse("ranks.toml", text).unwrap().to_model().unwrap()
}

fn hubbard(sites: usize, up: usize, down: usize, rest: &str) -> Model {
    model(&format!(
        "[model]\nname = \"hubbard\"\nt = 1.0\nu = 4.0\n[lattice]\nkind = \"chain\"\nsize = {sites}\n{rest}[sector]\nup = {up}\n\
         down = {down}\n"
    ))
}

fn ring(sites: usize, symmetry: &str) -> Model {
    model(&format!(
        "[model]\nname = \"xxz\"\njxy = 1.0\njz = 0.7\n[lattice]\nkind = \"chain\"\nsize = {sites}\nboundary = \"periodic\"\n[sector]\n\
         two_sz = 0\n{symmetry}"
    ))
}

/// One of each multiply: a Kronecker sum, columns with and without couplings, complex columns, a stored matrix, rows made as they are
/// multiplied, strings; the last three with real and complex vectors; pairs of strings.
fn models() -> Vec<Model> {
    let hop = "sum(<i, j> in bonds; -1.0 * ((0.8 + 0.6 * I) * cdag(i) * c(j) + h.c.) + 0.7 * n(i) * n(j))";
    let terms = model(
        "[model]\nname = \"terms\"\nsite = \"electron\"\nH = \"sum(<i, j> in bonds, s in [Up, Down]; -1.0 * (cdag(i, s) * c(j, s) + h.c.)) + \
         sum(<i, j> in bonds; 0.6 * sdots(i, j)) + sum(i in sites; (0.3 + 0.1 * i) * n(i, Up))\"\n[lattice]\nkind = \"square\"\nsize = [3, 2]\n\
         [sector]\nup = 3\ndown = 2\n",
    );
    let complex = model(&format!(
        "[model]\nname = \"terms\"\nsite = \"spinless\"\nH = \"{hop}\"\n[lattice]\nkind = \"triangular\"\nsize = [3, 3]\n[sector]\nparticles = 4\n"
    ));
    let mut models = vec![hubbard(6, 3, 2, ""), ring(10, ""), terms, complex];
    for k in [0, 1] {
        models.push(ring(12, &format!("[symmetry]\nk = {k}\n")));
        models.push(ring(12, &format!("[symmetry]\nk = {k}\nstorage = \"direct\"\n")));
        let strings = format!("boundary = \"periodic\"\n[symmetry]\nk = {k}\nstorage = \"direct\"\n");
        models.push(hubbard(6, 3, 3, &strings));
    }
    // On pairs of strings.
    models.extend(
        [1, -1].map(|sign| hubbard(6, 3, 3, &format!("[symmetry]\nexchange = {sign}\nstorage = \"direct\"\n"))),
    );
    models
}

fn product<T: Scalar>(model: &Model, device: &Device) -> (Vec<f64>, f64) {
    let n = ours::dimension(model);
    let hamiltonian = model.hamiltonian(model.multiply(T::TYPE).unwrap(), device).unwrap();
    let device = LinearOperator::<T>::device(&hamiltonian);
    let x: Vector<T> = device.random(n, 11).unwrap();
    let mut y: Vector<T> = device.upload(&vec![T::from_f64(f64::NAN); n]).unwrap();
    let dot = hamiltonian.apply(&x, &mut y).unwrap();
    assert_eq!(dot.to_bits(), hamiltonian.apply(&x, &mut y).unwrap().to_bits(), "{}", model.name());
    let zero: Vector<T> = device.zeros(n).unwrap();
    let mut of_zero: Vector<T> = device.upload(&vec![T::from_f64(f64::NAN); n]).unwrap();
    assert_eq!(hamiltonian.apply(&zero, &mut of_zero).unwrap(), 0.0, "{}: of x {dot}", model.name());
    assert!(of_zero.download().unwrap().iter().all(|y| y.to_f64() == 0.0));
    (y.download().unwrap().into_iter().map(T::to_f64).collect(), dot)
}

fn check_multiply<T: Scalar>(model: &Model, ranks: usize, tolerance: f64) {
    check_multiply_on::<T>(&Device::cpu(), model, ranks, tolerance);
    let plan = model.multiply(T::TYPE).unwrap();
    if plan.way::<KroneckerMultiply>().is_some() {
        // By transposes.
        return;
    }
    // One code makes all rows and a share of them.
    let bits = |y: Vec<f64>| y.into_iter().map(f64::to_bits).collect::<Vec<_>>();
    let expected = bits(product::<T>(model, &Device::cpu()).0);
    for (y, _) in on_devices(&Device::cpu(), ranks, |device| product::<T>(model, device)) {
        assert_eq!(bits(y), expected, "{} by {ranks} ranks", model.name());
    }
}

fn check_multiply_on<T: Scalar>(device: &Device, model: &Model, ranks: usize, tolerance: f64) {
    let (exact, exact_dot) = product::<T>(model, &Device::cpu());
    let found = on_devices(device, ranks, |device| product::<T>(model, device));
    let scale = exact.iter().fold(1.0f64, |scale, y| scale.max(y.abs()));
    for (y, dot) in &found {
        let worst = y.iter().zip(&exact).map(|(y, exact)| (y - exact).abs());
        let worst = worst.fold(0.0f64, |worst, error| if error.is_nan() { error } else { worst.max(error) });
        assert!(worst <= tolerance * scale, "{} by {ranks} ranks: off by {worst:e}", model.name());
        assert!((dot - exact_dot).abs() <= 64.0 * tolerance * exact_dot.abs().max(exact.len() as f64));
        assert_eq!((y, dot.to_bits()), (&found[0].0, found[0].1.to_bits()), "the same on all ranks");
    }
}

#[test]
fn every_multiply_is_that_of_one_process() {
    for model in models() {
        let working = model.working();
        for ranks in [2, 3, 5] {
            check_multiply::<f64>(working, ranks, 1e-13);
        }
        check_multiply::<f32>(working, 3, 1e-5);
    }
}

/// The kernels of a card make a rank's rows, or hop within its columns; what no kernel makes is made by its cores.
#[test]
fn every_multiply_on_cards_is_that_of_one_process() {
    let Some(device) = card() else { return };
    for (number, model) in models().iter().enumerate() {
        let working = model.working();
        check_multiply_on::<f64>(&device, working, 2 + number % 2, 1e-13);
    }
    for model in [hubbard(6, 3, 2, ""), ring(10, "")] {
        check_multiply_on::<f32>(&device, model.working(), 2, 1e-5);
    }
    // A sector of sixteen symmetries, whose rows a card makes.
    let sector = ring(12, "[symmetry]\nk = 0\nreflection = 1\nspin_inversion = 1\nstorage = \"direct\"\n");
    check_multiply_on::<f64>(&device, sector.working(), 3, 1e-13);
    // Couplings of nothing, tiny and huge.
    for u in ["0.0", "1e-200", "1e140"] {
        let text = "[model]\nname = \"hubbard\"\nt = 1.0\nu = U\n[lattice]\nkind = \"chain\"\nsize = 4\n[sector]\nup = 2\ndown = 1\n";
        check_multiply_on::<f64>(&device, model(&text.replace('U', u)).working(), 2, 1e-13);
    }
    // Columns of one number of up spins, which are not neighbours: ranks make elements of each other's shares.
    let exact = "[model]\nname = \"xxz\"\njxy = 1.0\njz = 0.7\n[lattice]\nkind = \"triangular\"\nsize = [4, 3]\n[sector]\ntwo_sz = 0\n";
    check_multiply_on::<f64>(&device, model(exact).working(), 3, 1e-13);
    for model in [hubbard(2, 1, 1, ""), hubbard(3, 0, 1, ""), ring(4, "")] {
        check_multiply_on::<f64>(&device, model.working(), 5, 1e-13);
    }
    // Cards had a text each: their own rows of this ring of many.
    let ring = ring(10, "");
    let used = on_devices(&device, 3, |device| {
        product::<f64>(ring.working(), device);
        device.kernels_used().into_iter().map(|kernel| kernel.name).collect::<Vec<_>>()
    });
    assert!(used.iter().flatten().any(|name| name.contains("_card_1_of_3")), "{used:?}");
}

/// Fewer columns, rows or states than ranks: some have nothing.
#[test]
fn more_ranks_than_rows() {
    for model in [hubbard(2, 1, 1, ""), hubbard(3, 0, 1, ""), ring(4, ""), ring(4, "[symmetry]\nk = 0\n")] {
        check_multiply::<f64>(model.working(), 7, 1e-13);
    }
    let pair = hubbard(2, 1, 1, "");
    let alone = Solve::new(&pair, Solver::Lanczos).run(&Device::cpu()).unwrap().energy();
    for solver in [Solver::Lanczos, Solver::Lobpcg] {
        let energies = on_ranks(7, |device| Solve::new(&pair, solver).run(device).unwrap().energy());
        assert!(energies.iter().all(|energy| (energy - alone).abs() < 1e-10), "{energies:?} {alone}");
    }
}

/// Random shares of what the plan says: what a rank keeps and sends.
#[test]
fn the_plan_counts_what_is_kept_and_sent() {
    // 20 columns of 15 rows; of 3 ranks the largest share is 7 columns, and 5 rows after the transpose.
    let plan_of = |model: &Model| Solve::new(model, Solver::Lanczos).over_ranks(3, false);
    let plan = plan_of(&hubbard(6, 2, 3, ""));
    let expected =
        RankPlan { ranks: 3, largest_share: 105, transposes: true, in_pieces: false, kept: 210, sent: 7 * 10 + 5 * 13 };
    assert_eq!(plan, Some(expected));
    // 252 states, of which a rank has 84 and sends them to two others.
    let plan = plan_of(&ring(10, ""));
    let expected = RankPlan { ranks: 3, largest_share: 84, transposes: false, in_pieces: false, kept: 252, sent: 168 };
    assert_eq!(plan, Some(expected.clone()));
    // A card has the rows that it makes beside its share.
    let on_cards = Solve::new(&ring(10, ""), Solver::Lanczos).over_ranks(3, true);
    assert_eq!(on_cards, Some(RankPlan { kept: 336, ..expected }));
    assert_eq!(Solve::new(&ring(10, ""), Solver::Dense).over_ranks(3, false), None, "each rank does it by itself");
}

fn numbers(average: &Average) -> Vec<f64> {
    match average {
        Average::Whole(value) => vec![*value],
        Average::Sites(values) => values.to_vec(),
        Average::Pairs(values) => values.iter().copied().collect(),
    }
}

/// Energies, levels, residuals, how it stopped, and on rank 0 the averages.
fn levels(model: &Model, solver: Solver, states: usize, device: &Device) -> (Vec<f64>, Vec<(usize, bool)>, Vec<f64>) {
    let jacobi = if solver == Solver::Lobpcg { Preconditioner::Jacobi } else { Preconditioner::None };
    let solve = Solve::new(model, solver).states(states).tolerance(1e-10).preconditioner(jacobi);
    let solution = solve.run(device).unwrap();
    assert!([StopReason::Converged, StopReason::Dense].contains(&solution.stop()), "{solver:?}");
    let largest = solution.residuals().iter().fold(0.0f64, |largest, residual| largest.max(*residual));
    assert!(largest < 1e-8, "{solver:?}: a residual of {largest:e}");
    let averages = solution.observables().unwrap();
    let averages = averages.iter().flat_map(|(_, found)| numbers(found)).collect();
    let levels = solution.levels().iter().map(|level| (level.multiplicity, level.complete)).collect();
    (solution.energies().to_vec(), levels, averages)
}

#[test]
fn levels_and_averages_are_those_of_one_process() {
    let cases: [(usize, &[(Solver, usize)]); 4] = [
        (
            0,
            &[(Solver::Lanczos, 1), (Solver::Lobpcg, 1), (Solver::Davidson, 2), (Solver::Olsen, 1), (Solver::Dense, 2)],
        ),
        (1, &[(Solver::Lanczos, 4), (Solver::Lobpcg, 3)]),
        (3, &[(Solver::Lanczos, 1), (Solver::Davidson, 1)]),
        (4, &[(Solver::Lanczos, 2)]),
    ];
    let models = models();
    for (number, solvers) in cases {
        for (solver, states) in solvers {
            let alone = levels(&models[number], *solver, *states, &Device::cpu());
            let found = on_ranks(3, |device| levels(&models[number], *solver, *states, device));
            assert!(!alone.2.is_empty() && found[0].2.len() == alone.2.len());
            for (energies, levels, averages) in &found {
                assert_eq!(energies.len(), *states);
                let close = |a: &[f64], b: &[f64], error: f64| a.iter().zip(b).all(|(a, b)| (a - b).abs() < error);
                assert!(close(energies, &alone.0, 1e-9), "{solver:?}: {energies:?} {:?}", alone.0);
                assert_eq!(levels, &alone.1, "{solver:?}");
                assert!(close(averages, &alone.2, 1e-7), "{solver:?}");
                let bits = |energies: &[f64]| energies.iter().map(|energy| energy.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(energies), bits(&found[0].0), "the same bits on all ranks");
            }
        }
    }
}

/// Solvers, certification, the diagonal as a preconditioner, averages and states saved by ranks on cards.
#[test]
fn levels_on_cards_are_those_of_one_process() {
    let Some(device) = card() else { return };
    let models = [
        hubbard(4, 2, 2, ""),
        ring(10, ""),
        ring(8, "[symmetry]\nk = 1\n"),
        ring(10, "[symmetry]\nk = 0\nstorage = \"direct\"\n"),
    ];
    let cases = [
        (0, Solver::Lobpcg, 1),
        (0, Solver::Olsen, 1),
        (1, Solver::Lanczos, 2),
        (2, Solver::Davidson, 1),
        (3, Solver::Lobpcg, 1),
    ];
    for (number, solver, states) in cases {
        let alone = levels(&models[number], solver, states, &Device::cpu());
        for (energies, levels, averages) in
            &on_devices(&device, 2, |device| levels(&models[number], solver, states, device))
        {
            let close = |a: &[f64], b: &[f64], error: f64| a.iter().zip(b).all(|(a, b)| (a - b).abs() < error);
            assert!(close(energies, &alone.0, 1e-9), "{solver:?}: {energies:?} {:?}", alone.0);
            assert!(levels == &alone.1 && close(averages, &alone.2, 1e-7), "{solver:?}");
        }
    }
    let (model, folder) = (&models[0], tempfile::tempdir().unwrap());
    let save = |device: &Device| {
        let solve = Solve::new(model, Solver::Lanczos).max_iterations(10).checkpoint(folder.path(), 0.0, false);
        solve.run(device).unwrap().stop()
    };
    assert!(on_devices(&device, 2, save).iter().all(|stop| *stop != StopReason::Converged));
    let resumed = Solve::new(model, Solver::Lanczos).checkpoint(folder.path(), 1e9, true).run(&Device::cpu()).unwrap();
    let whole = Solve::new(model, Solver::Lanczos).run(&Device::cpu()).unwrap();
    assert!(resumed.eigenpairs().iterations >= 10 && (resumed.energy() - whole.energy()).abs() < 1e-9);
}

/// A solve ends at a limit of iterations and leaves its state; another number of ranks, or one process, goes on from there.
#[test]
fn a_saved_state_is_taken_up_by_another_number_of_ranks() {
    let model = hubbard(8, 4, 3, "");
    let solve = |solver, states| Solve::new(&model, solver).states(states).tolerance(1e-10);
    for (solver, states, iterations) in [
        (Solver::Lanczos, 1, 40),
        (Solver::Lobpcg, 1, 30),
        (Solver::Lobpcg, 2, 20),
        (Solver::Lanczos, 2, 150),
        (Solver::Davidson, 1, 20),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let save = |device: &Device| {
            let limited = solve(solver, states).max_iterations(iterations).checkpoint(folder.path(), 0.0, false);
            limited.run(device).unwrap().eigenpairs().multiplies
        };
        let before = on_ranks(3, save)[0];
        let whole = solve(solver, states).run(&Device::cpu()).unwrap();
        let go_on = |device: &Device| {
            let solution = solve(solver, states).checkpoint(folder.path(), 1e9, true).run(device).unwrap();
            (solution.energies().to_vec(), solution.eigenpairs().iterations, solution.stop())
        };
        let copy = tempfile::tempdir().unwrap();
        for state in std::fs::read_dir(folder.path()).unwrap().flatten().filter(|entry| entry.path().is_dir()) {
            let to = copy.path().join(state.file_name());
            std::fs::create_dir(&to).unwrap();
            for file in std::fs::read_dir(state.path()).unwrap().flatten() {
                std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
            }
        }
        let by_two = on_ranks(2, go_on).remove(0);
        let alone = {
            let resumed = solve(solver, states).checkpoint(copy.path(), 1e9, true).run(&Device::cpu()).unwrap();
            (resumed.energies().to_vec(), resumed.eigenpairs().iterations, resumed.stop())
        };
        for (energies, done, stop) in [&by_two, &alone] {
            assert_eq!(*stop, StopReason::Converged, "{solver:?}");
            let worst = energies.iter().zip(whole.energies()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(worst < 1e-9, "{solver:?} {states}: {energies:?} {:?}", whole.energies());
            assert!(
                *done >= iterations.min(before),
                "{solver:?} {states}: counted on from {iterations}, {done} in all"
            );
        }
    }
}

/// What a rank would take for the whole vector is refused, and a complex state has its partner.
#[test]
fn a_share_is_never_taken_for_a_vector() {
    let model = hubbard(6, 3, 2, "");
    on_ranks(2, |device| {
        let solution: Solution<'_> = Solve::new(&model, Solver::Lanczos).run(device).unwrap();
        let vector = &solution.eigenpairs().vectors[0];
        assert!(vector.as_host().is_none());
        let whole = solution.vector(0).unwrap();
        assert_eq!(whole.len(), ours::dimension(&model));
        let norm: f64 = whole.iter().map(|x| x * x).sum();
        assert!((norm - 1.0).abs() < 1e-12);
        let equal = Device::cpu().over_ranks(device.ranks().unwrap(), 2).unwrap();
        let mut other: Vector<f64> = equal.zeros(whole.len()).unwrap();
        let hamiltonian = model.hamiltonian(model.multiply(ScalarType::F64).unwrap(), device).unwrap();
        // 20 columns of 15 are cut at 150, and so are equal shares of 300: of 3 + 2 electrons both are the same.
        assert_eq!(other.here() == vector.here(), hamiltonian.apply(vector, &mut other).is_ok());
    });
}
