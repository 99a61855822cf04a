//! eigenforge as these tests use it: models from plain numbers, solved on a device, brought back to the host.
//!
//! Residuals are taken here with a multiply of the test's own call, not from the solver's account.

use eigenforge::basis::{Down, Up};
use eigenforge::exact::{Hamiltonian, InSector, averages_on_host};
use eigenforge::lattice::Lattice;
use eigenforge::models;
use eigenforge::operator::build::{c, cdag, electron_sdots, n};
use eigenforge::operator::{Operator, Spin};
use eigenforge_runtime::solvers::{self, Level, SolveOptions, StopReason};
use eigenforge_runtime::{LinearOperator, Vector};
use eigenforge_templates::ScalarType;

use super::compare::TOLERANCE;

pub use eigenforge::exact::Model;
pub use eigenforge_runtime::Device;
pub use eigenforge_runtime::solvers::Solver;
/// The CPU, and the card where there is one.
pub use eigenforge_runtime::testing::host_and_card as devices;

/// Dimension up to which a solver for few states is not worth its start.
const DENSE_LIMIT: usize = 300;
/// Dimension up to which the CPU also runs block LOBPCG and Davidson for several states; Lanczos takes a third of their time.
const CPU_BLOCK_LIMIT: usize = 10_000;

/// −Σ w (c†c + h.c.) + Σ U n↑n↓ + Σ ε n in one sector.
pub fn hubbard(
    sites: usize,
    edges: &[(usize, usize, f64)],
    u: &[f64],
    eps: Option<&[f64]>,
    up: usize,
    down: usize,
) -> Model {
    let lattice = Lattice::from_edges(sites, edges).expect("edges of the reference");
    let (t, v, zero) = (vec![1.0; edges.len()], vec![0.0; edges.len()], vec![0.0; sites]);
    let operator = models::hubbard(&lattice, &t, u, eps.unwrap_or(&zero), 0.0, &v);
    operator.sector(Up(up), Down(down)).expect("a Hubbard model of the reference")
}

/// Electrons with exchange S·S on the edges and hopping that feels the other spin: nothing splits by species.
pub fn exchange(sites: usize, edges: &[(usize, usize, f64)], u: &[f64], up: usize, down: usize) -> Model {
    let correlated = |&(i, j, w): &(usize, usize, f64)| {
        let hop = cdag(i, Spin::Up) * c(j, Spin::Up) + cdag(j, Spin::Up) * c(i, Spin::Up);
        w * electron_sdots(i, j) + 0.7 * w * (hop * (n(i, Spin::Down) + n(j, Spin::Down)))
    };
    let bonds: Operator = edges.iter().map(correlated).sum();
    let pairs: Operator = (0..sites).map(|i| u[i] * (n(i, Spin::Up) * n(i, Spin::Down))).sum();
    (bonds + pairs).on_sites(sites).sector(Up(up), Down(down)).expect("a random model")
}

/// Σ Jxy (SxSx + SySy) + Jz SzSz + Σ h Sz + Σ D Sz² at one 2Sz.
pub fn xxz(
    sites: usize,
    two_s: u32,
    edges: &[(usize, usize, f64, f64)],
    field: Option<&[f64]>,
    single_ion: Option<&[f64]>,
    two_sz: i64,
) -> Model {
    let pairs: Vec<_> = edges.iter().map(|&(i, j, ..)| (i, j, 1.0)).collect();
    let lattice = Lattice::from_edges(sites, &pairs).expect("edges of the reference");
    let (jxy, jz): (Vec<f64>, Vec<f64>) = edges.iter().map(|edge| (edge.2, edge.3)).unzip();
    let zero = vec![0.0; sites];
    let operator = models::xxz(&lattice, &jxy, &jz, field.unwrap_or(&zero), single_ion.unwrap_or(&zero));
    operator.spin(two_s).two_sz(two_sz).expect("a spin model of the reference")
}

/// Number of states.
pub fn dimension(model: &Model) -> usize {
    model.dimension() as usize
}

/// H by the dense oracle, row by row.
pub fn dense(model: &Model) -> Vec<Vec<f64>> {
    let matrix = model.dense().expect("a small sector");
    matrix.rows().into_iter().map(|row| row.to_vec()).collect()
}

fn hamiltonian(model: &Model, device: &Device) -> Hamiltonian<'static> {
    model.hamiltonian(model.multiply(ScalarType::F64).unwrap(), device).expect("a model that can be planned")
}

/// H x on a device, the result written over NaN.
pub fn multiply(model: &Model, x: &[f64], device: &Device) -> Vec<f64> {
    let mut y: Vector<f64> = device.upload(&vec![f64::NAN; x.len()]).expect("a small vector");
    hamiltonian(model, device).apply(&device.upload(x).expect("a small vector"), &mut y).expect("a multiply");
    y.download().expect("a small vector")
}

/// What a solver found, on the host.
pub struct Solved {
    pub values: Vec<f64>,
    /// ‖H x − λ x‖ by a multiply of ours.
    pub residuals: Vec<f64>,
    pub levels: Vec<Level>,
    pub converged: bool,
    pub stop: String,
    /// An orthonormal basis of the lowest level.
    pub ground: Vec<Vec<f64>>,
}

/// To a residual norm of [`TOLERANCE`].
fn options(states: usize, operator: &Hamiltonian) -> SolveOptions {
    let tolerance = TOLERANCE / LinearOperator::<f64>::norm_bound(operator).max(1.0);
    SolveOptions { states, tolerance, max_iterations: 5_000, ..SolveOptions::default() }
}

/// The solvers that a case of several states is given to, the first one being enough for a ground state.
pub fn solvers(model: &Model, device: &Device) -> Vec<Solver> {
    match dimension(model) {
        n if n <= DENSE_LIMIT => vec![Solver::Dense],
        n if n <= CPU_BLOCK_LIMIT || device.is_cuda() => vec![Solver::Lanczos, Solver::Lobpcg, Solver::Davidson],
        _ => vec![Solver::Lanczos],
    }
}

/// The lowest `states` by one solver, certified.
pub fn solve(model: &Model, states: usize, solver: Solver, device: &Device) -> Solved {
    let operator = hamiltonian(model, device);
    let found = solvers::solve::<f64>(&operator, solver, &options(states, &operator)).expect("a solvable model");
    let mut y: Vector<f64> = device.zeros(dimension(model)).expect("room for a vector");
    let residual = |(x, value): (&Vector<f64>, &f64)| {
        operator.apply(x, &mut y).expect("a multiply");
        let (x, y) = (x.download().expect("a vector"), y.download().expect("a vector"));
        let norm: f64 = x.iter().map(|x| x * x).sum();
        let square: f64 = x.iter().zip(&y).map(|(x, y)| (y - value * x).powi(2)).sum();
        (square / norm).sqrt()
    };
    let residuals = found.vectors.iter().zip(&found.values).map(residual).collect();
    Solved {
        residuals,
        converged: matches!(found.stop, StopReason::Converged | StopReason::Dense),
        stop: format!("{:?} after {} iterations; {}", found.stop, found.iterations, found.notes.join("; ")),
        ground: found.ground_multiplet().iter().map(|x| x.download().expect("a vector")).collect(),
        values: found.values,
        levels: found.levels,
    }
}

/// The solvers that every small model is given to.
pub const SOLVERS: [Solver; 4] = [Solver::Lobpcg, Solver::Lanczos, Solver::Davidson, Solver::Dense];

/// The lowest energy by one solver, nothing else asked for.
pub fn ground_energy(model: &Model, solver: Solver, device: &Device) -> f64 {
    let operator = hamiltonian(model, device);
    let options = SolveOptions { certify: false, ..options(1, &operator) };
    let found = solvers::solve::<f64>(&operator, solver, &options).expect("a solvable model");
    let expected = if solver == Solver::Dense { StopReason::Dense } else { StopReason::Converged };
    assert_eq!(found.stop, expected, "{solver:?}");
    assert!(found.residuals[0] <= 10.0 * TOLERANCE, "{solver:?}: residual {:e}, {:?}", found.residuals[0], found.stop);
    found.values[0]
}

/// Averages over the lowest level, as plain lists.
pub struct Averages {
    pub n_up: Vec<f64>,
    pub n_dn: Vec<f64>,
    pub double_occupancy: Vec<f64>,
    pub sz: Vec<f64>,
    pub szsz: Vec<Vec<f64>>,
    pub nn: Vec<Vec<f64>>,
    pub sdots: Vec<Vec<f64>>,
}

/// Observables of the ground multiplet; what a kind of model does not have stays empty.
pub fn averages(model: &Model, solved: &Solved) -> Averages {
    let multiplet: Vec<&[f64]> = solved.ground.iter().map(Vec::as_slice).collect();
    let found = averages_on_host(model, &multiplet, &model.standard_observables()).expect("observables");
    let list = |name: &str| found.sites(name).map(|values| values.to_vec()).unwrap_or_default();
    let rows = |name: &str| -> Vec<Vec<f64>> {
        found.pairs(name).map(|matrix| matrix.rows().into_iter().map(|row| row.to_vec()).collect()).unwrap_or_default()
    };
    Averages {
        n_up: list("n_up"),
        n_dn: list("n_dn"),
        double_occupancy: list("double_occupancy"),
        sz: list("sz"),
        szsz: rows("szsz"),
        nn: rows("nn"),
        sdots: rows("sdots"),
    }
}
