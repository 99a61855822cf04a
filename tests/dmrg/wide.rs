//! Models whose operator sums are too wide to be squared: spins that all couple with all others.

use eigenforge::basis::Sector;
use eigenforge::dmrg::{Chain, Dmrg};
use eigenforge::models;
use eigenforge::prelude::*;

/// The variance comes with a standard error, and a state that keeps more has less of it.
#[test]
fn a_sum_too_wide_to_be_squared_has_a_variance() {
    let sites = 28;
    let pairs: Vec<(usize, usize, f64)> = (0..sites).flat_map(|a| (0..a).map(move |b| (b, a, 1.0))).collect();
    let couplings = eigenforge::runtime::seeded::vector(pairs.len(), 3);
    let lattice = Lattice::from_edges(sites, &pairs).unwrap();
    let operator = models::xxz(&lattice, &couplings, &couplings, &vec![0.0; sites], &vec![0.0; sites]);
    let chain = Chain::new(&operator, Sector::Spins { two_sz: 0 }, None).unwrap();
    assert!(chain.sum.width() > 40, "{} operators at a cut", chain.sum.width());
    let run = |states: usize| Dmrg::new(&chain).states([states, states]).sweeps(2).run(&Device::cpu()).unwrap();
    let (rough, better) = (run(8), run(24));
    for found in [&rough, &better] {
        let (variance, error) = (found.variance.unwrap(), found.variance_error.unwrap());
        assert!(error > 0.0 && error < 0.1 * variance, "{variance} +- {error}");
        assert!(found.warnings.iter().all(|warning| !warning.contains("not computed")), "{:?}", found.warnings);
    }
    assert!(better.energy < rough.energy && better.variance < rough.variance);
}
