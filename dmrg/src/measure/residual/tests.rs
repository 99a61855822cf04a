//! The variance from few vectors against that by the operator sum of H², and over many seeds; by the generated kernels.

use super::*;
use crate::measure::expectations;
use crate::options::Options;
use eigenforge_core::basis::Sector;
use eigenforge_core::lattice::{Boundary, Lattice};
use eigenforge_core::models::{hubbard, xxz};
use eigenforge_runtime::backend::{DeviceBackend, HostBackend};
use eigenforge_runtime::simulate::Schedule;
use eigenforge_runtime::testing::card_or_simulated;

/// A state after two sweeps with so many kept states.
fn swept(chain: &Chain, states: usize) -> Sweeper<'_> {
    let mut sweeper = Sweeper::random(HostBackend::default(), chain, 6, 11).unwrap();
    let plan = Options { states: vec![states], noise: Some(vec![0.0]), ..Options::default() }.plan(2);
    for (p, grows) in (0..2).flat_map(|_| Sweeper::<HostBackend>::path(chain.sites)) {
        sweeper.step(p, grows, &plan).unwrap();
    }
    sweeper.finish(plan.davidson).unwrap();
    sweeper
}

/// ⟨H²⟩ − ⟨H⟩² by the operator sum of H², with the rounding of ⟨H⟩².
fn by_squares(chain: &Chain, sweeper: &mut Sweeper<'_>) -> (f64, f64) {
    let none = |sum: &crate::chain::operator_sum::OperatorSum| {
        sum.cuts.iter().map(|cut| vec![None; cut.width()]).collect::<Vec<_>>()
    };
    let square = chain.sum.squared(&chain.local);
    let energy = expectations(chain, sweeper, &chain.sum, &none(&chain.sum)).unwrap().unwrap()[0];
    let squares = expectations(chain, sweeper, &square, &none(&square)).unwrap().unwrap()[0];
    (squares - energy * energy, 1e-13 * energy * energy)
}

fn cylinder(length: usize, circumference: usize, two_sz: i64) -> Chain {
    let lattice = Lattice::square([length, circumference]).boundary([Boundary::Open, Boundary::Periodic]);
    let (bonds, none) = (vec![1.0; lattice.bonds().len()], vec![0.0; lattice.sites().len()]);
    let order = crate::chain::ordering::narrow_order(&lattice);
    Chain::new(&xxz(&lattice, &bonds, &bonds, &none, &none), Sector::Spins { two_sz }, Some(order)).unwrap()
}

fn ladder() -> Chain {
    let lattice = Lattice::square([3, 2]).open();
    let bonds = lattice.bonds().len();
    let operator = hubbard(&lattice, &vec![1.0; bonds], &[4.0; 6], &[0.1; 6], 0.0, &vec![0.2; bonds]);
    Chain::new(&operator, Sector::Fermions { up: 3, down: 2 }, None).unwrap()
}

/// Where all rows fit, and where terms are between neighbours, the numbers are those of H².
#[test]
fn without_random_rows_it_is_the_variance() {
    let lattice = Lattice::chain(24).open();
    let couplings = eigenforge_runtime::seeded::vector(23, 5);
    let long = xxz(&lattice, &couplings, &[0.7; 23], &[0.1; 24], &[0.0; 24]);
    let long = Chain::new(&long, Sector::Spins { two_sz: 2 }, None).unwrap();
    for (chain, states) in [(cylinder(3, 3, 1), 6), (ladder(), 12), (long, 14)] {
        let mut sweeper = swept(&chain, states);
        let (expected, rounding) = by_squares(&chain, &mut sweeper);
        let found = variances(&chain, &mut sweeper, RowLimits::FEW).unwrap().0[0];
        assert!((found.value - expected).abs() < rounding + 1e-9 * expected, "{found:?} is not {expected}");
        assert!(found.error.is_none_or(|error| error < 1e-9 * expected), "{found:?}");
        assert!(expected > 1e-6, "{expected} shows nothing");
    }
}

/// `cargo test --lib dmrg::measure -- --nocapture` prints the numbers.
#[test]
fn few_vectors_give_the_variance_of_a_cylinder_within_their_error() {
    for (chain, states) in [(cylinder(8, 4, 0), 40), (cylinder(5, 6, 0), 60)] {
        let mut sweeper = swept(&chain, states);
        let (expected, _) = by_squares(&chain, &mut sweeper);
        let found = variances(&chain, &mut sweeper, RowLimits::FEW).unwrap().0[0];
        let error = found.error.unwrap();
        println!("{} sites: {expected:.6e} by H², {found:?}", chain.sites);
        assert!((found.value - expected).abs() < 5.0 * error, "{found:?} is not {expected}");
        assert!(error > 0.0 && error < 0.02 * expected, "{found:?} beside {expected}");
    }
}

/// Over many seeds the mean is the variance, and the deviations are as large as the standard errors say, even with so few rows
/// that a single result is rough.
#[test]
fn the_mean_over_seeds_is_the_variance_and_the_errors_are_right() {
    for (chain, states) in [(cylinder(4, 4, 0), 16), (ladder(), 12)] {
        let mut sweeper = swept(&chain, states);
        let (expected, _) = by_squares(&chain, &mut sweeper);
        let of = |seed| {
            let limits = RowLimits { exact: 6, random: 3, seed };
            let found = variances(&chain, &mut sweeper, limits).unwrap().0[0];
            (found.value, found.error.unwrap())
        };
        let found: Vec<(f64, f64)> = (1..=60).map(of).collect();
        let count = found.len() as f64;
        let mean = found.iter().map(|(value, _)| value).sum::<f64>() / count;
        let deviation = (found.iter().map(|(value, _)| (value - expected).powi(2)).sum::<f64>() / count).sqrt();
        let error = (found.iter().map(|(_, error)| error * error).sum::<f64>() / count).sqrt();
        println!("{expected:.4e} by H²; {mean:.4e} over {count} seeds, deviations {deviation:.1e}, errors {error:.1e}");
        assert!((mean - expected).abs() < 4.0 * deviation / count.sqrt(), "{mean} is not {expected} to {deviation}");
        assert!((0.5..2.0).contains(&(deviation / error)), "deviations {deviation}, errors {error}");
        assert!(error > 0.005 * expected, "{error} of {expected} tests nothing");
    }
}

/// By the generated kernels: the same numbers where no row is random. Random rows depend on the signs of eigenvectors, so with
/// them the numbers agree to their errors.
#[test]
fn a_device_finds_the_same_variance() {
    let Some(device) = card_or_simulated(Schedule::Forward) else { return };
    let chain = cylinder(3, 2, 0);
    for limits in [RowLimits::FEW, RowLimits { exact: 4, random: 2, seed: 1 }] {
        let mut host = swept(&chain, 5);
        let (kept, wave) = (host.isometries().to_vec(), host.wave().clone());
        let expected = variances(&chain, &mut host, limits).unwrap().0[0];
        let mut sweeper = Sweeper::restored(DeviceBackend::new(&device).unwrap(), &chain, kept, wave, 0).unwrap();
        let found = variances(&chain, &mut sweeper, limits).unwrap().0[0];
        let allowed = 6.0 * expected.error.unwrap_or(0.0).max(found.error.unwrap_or(0.0)) + 1e-12;
        assert!((found.value - expected.value).abs() < allowed, "{found:?} is not {expected:?}");
        assert_eq!(found.error.is_none(), limits.exact == RowLimits::FEW.exact);
    }
}

/// Twenty-eight spins that all couple with all others: an operator sum too wide to be squared. A state that keeps more has less
/// variance, and so few states have sectors of hardly any weight.
#[test]
fn a_sum_too_wide_to_be_squared_has_a_variance() {
    let sites = 28;
    let pairs: Vec<(usize, usize, f64)> = (0..sites).flat_map(|a| (0..a).map(move |b| (b, a, 1.0))).collect();
    let couplings = eigenforge_runtime::seeded::vector(pairs.len(), 3);
    let lattice = Lattice::from_edges(sites, &pairs).unwrap();
    let operator = xxz(&lattice, &couplings, &couplings, &vec![0.0; sites], &vec![0.0; sites]);
    let chain = Chain::new(&operator, Sector::Spins { two_sz: 0 }, None).unwrap();
    assert!(chain.sum.width() > 40, "{} operators at a cut", chain.sum.width());
    let found = [8, 24].map(|states| {
        let options = Options { states: vec![states, states], sweeps: 2, ..Options::default() };
        crate::run(&chain, &options, None, |_| {}).unwrap()
    });
    for found in &found {
        let (variance, error) = (found.variance.unwrap(), found.variance_error.unwrap());
        println!("{variance} +- {error} at {}", found.energy);
        assert!(error > 0.0 && error < 0.1 * variance, "{variance} +- {error}");
        assert!(found.warnings.iter().all(|warning| !warning.contains("not computed")), "{:?}", found.warnings);
    }
    assert!(found[1].energy < found[0].energy && found[1].variance < found[0].variance);
}
