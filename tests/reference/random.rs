//! Random models: dense oracle = CPU = CUDA, for the multiply and for the lowest levels.
//!
//! Random graphs, weights, interactions, potentials and fillings of the Hubbard model (the Kronecker multiply); random
//! anisotropic exchange, fields and single-ion terms for spin ½ to 3/2, and electrons with exchange and correlated
//! hopping (the general multiply). The seeds are fixed: every run sees the same models.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::ours;

/// Runs `check` on `cases` values, the same ones each time.
fn on_random<S: Strategy>(cases: u32, strategy: S, check: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    if let Err(failure) = TestRunner::new_with_rng(config, rng).run(&strategy, check) {
        panic!("{failure}");
    }
}

/// Edges of a random graph: each pair once at most, in either direction.
fn edges(sites: usize) -> impl Strategy<Value = Vec<(usize, usize, f64)>> {
    let pairs: Vec<(usize, usize)> = (0..sites).flat_map(|i| (0..i).map(move |j| (i, j))).collect();
    let most = pairs.len().min(2 * sites);
    (prop::sample::subsequence(pairs, 0..=most), prop::collection::vec((-2.0..2.0f64, any::<bool>()), most)).prop_map(
        |(pairs, weights)| {
            let one = |((i, j), (weight, turned)): ((usize, usize), (f64, bool))| {
                if turned { (j, i, weight) } else { (i, j, weight) }
            };
            pairs.into_iter().zip(weights).map(one).collect()
        },
    )
}

#[derive(Debug, Clone)]
struct RandomHubbard {
    sites: usize,
    edges: Vec<(usize, usize, f64)>,
    u: Vec<f64>,
    eps: Vec<f64>,
    filling: (usize, usize),
}

fn hubbard_models() -> impl Strategy<Value = RandomHubbard> {
    (1usize..=6).prop_flat_map(|sites| {
        let each = || prop::collection::vec(-4.0..8.0f64, sites);
        let same = (-6.0..10.0f64).prop_map(move |u| vec![u; sites]);
        let u = prop_oneof![each(), same];
        (edges(sites), u, each(), (0..=sites, 0..=sites)).prop_map(move |(edges, u, eps, filling)| RandomHubbard {
            sites,
            edges,
            u,
            eps,
            filling,
        })
    })
}

#[derive(Debug, Clone)]
struct RandomSpins {
    sites: usize,
    two_s: u32,
    edges: Vec<(usize, usize, f64, f64)>,
    field: Vec<f64>,
    single_ion: Vec<f64>,
    two_sz: i64,
}

fn spin_models() -> impl Strategy<Value = RandomSpins> {
    (1u32..=3, 1usize..=6).prop_flat_map(|(two_s, sites)| {
        let sites = sites.min(if two_s == 1 { 6 } else { 4 });
        let each = || prop::collection::vec(-2.0..2.0f64, sites);
        let flipped = 0..=(two_s as i64 * sites as i64);
        (edges(sites), prop::collection::vec(-2.0..2.0f64, 12), each(), each(), flipped).prop_map(
            move |(edges, jz, field, single_ion, flipped)| RandomSpins {
                sites,
                two_s,
                edges: edges.into_iter().zip(jz.into_iter().cycle()).map(|((i, j, jxy), jz)| (i, j, jxy, jz)).collect(),
                field,
                single_ion,
                two_sz: two_s as i64 * sites as i64 - 2 * flipped,
            },
        )
    })
}

/// The multiply and the lowest levels of `model` on every device against its dense matrix.
fn agrees_with_its_dense_matrix(model: &ours::Model, seed: u64) -> Result<(), TestCaseError> {
    let dense = ours::dense(model);
    let n = dense.len();
    let x: Vec<f64> = (0..n as u64).map(|i| eigenforge::runtime::seeded::element(seed, i)).collect();
    let size = dense.iter().flatten().fold(1.0f64, |largest, value| largest.max(value.abs()));
    let exact: Vec<f64> = dense.iter().map(|row| row.iter().zip(&x).map(|(a, x)| a * x).sum()).collect();
    let spectrum = super::free::eigenvalues(dense.clone());
    for device in ours::devices() {
        let y = ours::multiply(model, &x, &device);
        prop_assert_eq!(y.len(), n);
        for (k, (y, exact)) in y.iter().zip(&exact).enumerate() {
            prop_assert!(
                (y - exact).abs() <= 1e-12 * size * (n as f64).sqrt(),
                "element {} on {}: {} and {}",
                k,
                device.name(),
                y,
                exact
            );
        }
        for solver in ours::SOLVERS {
            let solved = ours::solve(model, n.min(3), solver, &device);
            let place = format!("by {solver:?} on {}", device.name());
            for (k, value) in solved.values.iter().enumerate() {
                prop_assert!(
                    (value - spectrum[k]).abs() <= 1e-9 * size,
                    "level {k} {place}: {value} instead of {}",
                    spectrum[k]
                );
            }
            for level in solved.levels.iter().filter(|level| level.complete) {
                let exact = spectrum.iter().filter(|value| (*value - level.value).abs() < 1e-7 * size).count();
                prop_assert_eq!(level.multiplicity, exact, "level {} {}", level.value, place);
            }
        }
    }
    Ok(())
}

#[test]
fn random_hubbard_models() {
    on_random(96, hubbard_models(), |m| {
        let model = ours::hubbard(m.sites, &m.edges, &m.u, Some(&m.eps), m.filling.0, m.filling.1);
        agrees_with_its_dense_matrix(&model, 11)
    });
}

#[test]
fn random_spin_models() {
    on_random(96, spin_models(), |m| {
        let model = ours::xxz(m.sites, m.two_s, &m.edges, Some(&m.field), Some(&m.single_ion), m.two_sz);
        agrees_with_its_dense_matrix(&model, 12)
    });
}

/// Electrons with spin exchange and hopping that depends on the other spin: no Kronecker form, signs of both species.
#[test]
fn random_models_that_do_not_split() {
    on_random(64, hubbard_models(), |m| {
        let model = ours::exchange(m.sites, &m.edges, &m.u, m.filling.0, m.filling.1);
        agrees_with_its_dense_matrix(&model, 13)
    });
}
