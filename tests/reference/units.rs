//! A change of the unit or of the zero of energy changes no digit of E / t, no multiplicity and no average, in any solver.
//!
//! Random models of every kind of multiply, in units of 1e-12 to 1e12; and the same models with what is constant in their
//! sector added: −μN with μ = 2e7, a field, charging and exchange energies of all pairs, numbers.

use eigenforge::basis::Sector;
use eigenforge::exact::{Lobpcg, Solution, Solve};
use eigenforge::lattice::Lattice;
use eigenforge::models;
use eigenforge::operator::build::{n, sz};
use eigenforge::operator::{Operator, Spin};
use eigenforge_runtime::solvers::{SolveOptions, StopReason};

use super::ours::{self, Device, Model, SOLVERS, Solver};

/// Numbers in [-1, 1), the same ones each time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    fn numbers(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.next()).collect()
    }
}

/// One model of each kind: name, operator, sector.
fn operators(seed: u64) -> Vec<(&'static str, Operator, Sector)> {
    let mut random = Random(seed);
    let ring = |sites: usize, weights: &[f64]| -> Vec<(usize, usize, f64)> {
        (0..sites).map(|i| (i, (i + 1) % sites, 1.0 + 0.5 * weights[i])).collect()
    };
    let edges = ring(6, &random.numbers(6));
    let u: Vec<f64> = random.numbers(6).iter().map(|r| 4.0 + 2.0 * r).collect();
    let hubbard = ours::hubbard(6, &edges, &u, Some(&random.numbers(6)), 3, 2);
    let even = ours::hubbard(6, &ring(6, &[0.0; 6]), &[4.0; 6], None, 3, 3);
    let exchange = ours::exchange(5, &ring(5, &random.numbers(5)), &u, 2, 2);
    let bonds = |weights: &[f64]| -> Vec<(usize, usize, f64, f64)> {
        (0..weights.len()).map(|i| (i, (i + 1) % weights.len(), 1.0, 1.0 + 0.3 * weights[i])).collect()
    };
    let halves = ours::xxz(10, 1, &bonds(&random.numbers(10)), Some(&random.numbers(10)), None, 0);
    let ones = ours::xxz(6, 2, &bonds(&[0.0; 6]), None, Some(&random.numbers(6)), 2);
    let list = [("hubbard", hubbard), ("even", even), ("exchange", exchange), ("halves", halves), ("ones", ones)];
    list.into_iter().map(|(name, model)| (name, model.operator().clone(), model.sector().clone())).collect()
}

fn model(operator: Operator, sites: usize, sector: &Sector) -> Model {
    Model::new(operator.on_sites(sites), sector.clone()).expect("a model")
}

/// Energies less the constant, multiplicities, and averages of a model of such a unit.
struct Found {
    values: Vec<f64>,
    levels: Vec<(usize, bool)>,
    averages: Vec<f64>,
}

fn found(model: &Model, solver: Solver, states: usize) -> Found {
    let solution = Solve::new(model, solver).states(states).run(&Device::cpu()).expect("a solvable model");
    let stop = if solver == Solver::Dense { StopReason::Dense } else { StopReason::Converged };
    assert_eq!(solution.stop(), stop, "{solver:?}: {:?}", solution.eigenpairs().notes);
    let averages = solution.observables().expect("averages");
    let list = |name: &str| averages.get(name).map(|average| average.values()).unwrap_or_default();
    let lists = ["n_up", "double_occupancy", "sz", "szsz"].map(list);
    for (energy, value) in solution.energies().iter().zip(&solution.eigenpairs().values) {
        assert_eq!(*energy, value + model.constant());
    }
    Found {
        values: solution.eigenpairs().values.clone(),
        levels: solution.levels().iter().map(|level| (level.multiplicity, level.complete)).collect(),
        averages: lists.concat(),
    }
}

#[track_caller]
fn compare(what: &str, found: &Found, reference: &Found, [unit, zero]: [f64; 2], size: f64) {
    for (a, b) in found.values.iter().zip(&reference.values) {
        let a = a / unit - zero;
        assert!((a - b).abs() < 1e-12 * size, "{what}: {a} instead of {b}");
    }
    assert_eq!(found.levels, reference.levels, "{what}");
    for (a, b) in found.averages.iter().zip(&reference.averages) {
        assert!((a - b).abs() < 1e-6, "{what}: an average of {a} instead of {b}");
    }
}

#[test]
fn the_unit_of_energy_changes_nothing() {
    for (name, operator, sector) in operators(1) {
        let sites = operator.sites();
        let reference = model(operator.clone(), sites, &sector);
        for (solver, states) in SOLVERS.into_iter().flat_map(|solver| [(solver, 1), (solver, 4)]) {
            let expected = found(&reference, solver, states);
            for unit in [1e-12, 3e-5, 1e12] {
                let scaled = model(unit * operator.clone(), sites, &sector);
                let what = format!("{name} by {solver:?}, {states} states, t = {unit:e}");
                compare(&what, &found(&scaled, solver, states), &expected, [unit, 0.0], 100.0);
            }
        }
    }
}

/// The value of [`constants`] in their sector.
fn value_of_constants(sector: &Sector, size: f64) -> f64 {
    match sector {
        Sector::Fermions { up, down } => {
            let (up, total) = (*up as f64, (up + down) as f64);
            size * (0.3 * up - total + 0.1 * total * total + 0.7)
        }
        Sector::Spins { two_sz } => {
            let total = 0.5 * *two_sz as f64;
            size * (total + 0.1 * total * total - 0.7)
        }
        Sector::Charges(_) | Sector::Flavours(_) => unreachable!("none of these models"),
    }
}

/// What is constant in a sector, of any size.
fn constants(sites: usize, sector: &Sector, size: f64) -> Operator {
    let all = |term: &dyn Fn(usize) -> Operator| (0..sites).map(term).sum::<Operator>();
    match sector {
        Sector::Fermions { .. } => {
            let (up, down) = (all(&|i| n(i, Spin::Up)), all(&|i| n(i, Spin::Down)));
            let total = up.clone() + down.clone();
            -size * total.clone() + 0.3 * size * up + 0.1 * size * (total.clone() * total) + 0.7 * size
        }
        Sector::Spins { .. } => {
            let total = all(&sz);
            size * total.clone() + 0.1 * size * (total.clone() * total) - 0.7 * size
        }
        Sector::Charges(_) | Sector::Flavours(_) => unreachable!("none of these models"),
    }
}

#[test]
fn what_is_constant_in_the_sector_changes_nothing() {
    for (name, operator, sector) in operators(3) {
        let sites = operator.sites();
        let reference = model(operator.clone(), sites, &sector);
        for (solver, states) in SOLVERS.into_iter().flat_map(|solver| [(solver, 1), (solver, 4)]) {
            let expected = found(&reference, solver, states);
            for size in [0.1, 2e7] {
                let shifted = model(operator.clone() + constants(sites, &sector, size), sites, &sector);
                let what = format!("{name} by {solver:?}, {states} states, constants of {size:e}");
                // Another part of the model's own potential may have been taken out with them.
                let zero = value_of_constants(&sector, size) + reference.constant() - shifted.constant();
                // A coefficient that is the sum of a large number and a small one has lost digits before we see it.
                compare(&what, &found(&shifted, solver, states), &expected, [1.0, zero], 100.0 + 1e-3 * size);
            }
        }
        let dense = |model: &Model| model.dense().expect("a small sector");
        let shifted = model(operator.clone() + constants(sites, &sector, 3.0), sites, &sector);
        let constant = value_of_constants(&sector, 3.0);
        for (at, (a, b)) in dense(&shifted).iter().zip(&dense(&reference)).enumerate() {
            let on_diagonal = at % (reference.dimension() as usize + 1) == 0;
            let expected = if on_diagonal { b + constant } else { *b };
            assert!((a - expected).abs() < 1e-9, "{name}: element {at}");
        }
    }
}

/// Fault F12: three levels 0.32 and 0.38 apart were one of multiplicity 14.
#[test]
fn a_chemical_potential_merges_no_levels() {
    let chain = |mu: f64| {
        let lattice = Lattice::chain(8);
        let bonds = lattice.bonds().len();
        let operator = models::hubbard(&lattice, &vec![1.0; bonds], &[4.0; 8], &[0.0; 8], mu, &vec![0.0; bonds]);
        model(operator, 8, &Sector::Fermions { up: 4, down: 4 })
    };
    let (plain, shifted) = (chain(0.0), chain(2e7));
    assert_eq!(shifted.constant(), -1.6e8);
    for solver in [Solver::Lobpcg, Solver::Lanczos, Solver::Davidson] {
        let run = |model| -> Solution<'_> {
            Solve::new(model, solver).states(3).tolerance(1e-5).run(&Device::cpu()).expect("a solvable model")
        };
        let (plain, shifted) = (run(&plain), run(&shifted));
        for solution in [&plain, &shifted] {
            let levels: Vec<_> = solution.levels().iter().map(|level| (level.multiplicity, level.complete)).collect();
            assert_eq!(levels, [(1, true), (1, true), (1, true)], "{solver:?}");
        }
        for (a, b) in shifted.eigenpairs().values.iter().zip(&plain.eigenpairs().values) {
            assert!((a - b).abs() < 1e-6, "{solver:?}: {a} instead of {b}");
        }
    }
}

/// Of a level of more states than are searched for, what is known is said, and no number asked for that cannot help.
#[test]
fn a_level_of_hundreds_of_states() {
    // Moments in a field and nothing else: 252 states of one energy.
    let operator = (0..10).map(|i| 0.5 * sz(i)).sum::<Operator>();
    let flat = model(operator, 10, &Sector::Spins { two_sz: 0 });
    assert_eq!(flat.dimension(), 252);
    let solution = Lobpcg::new(&flat).run(&Device::cpu()).expect("a solvable model");
    assert_eq!(solution.energies(), [0.0]);
    let level = &solution.levels()[0];
    assert!(level.multiplicity == 65 && !level.complete, "{level:?}");
    let whole = Solve::new(&flat, Solver::Dense).run(&Device::cpu()).expect("a solvable model");
    assert_eq!((whole.levels()[0].multiplicity, whole.levels()[0].complete), (252, true));
    assert_eq!(SolveOptions::default().tolerance, 1e-10);
}
