//! Chains whose terms differ in size by orders: what is found beside the truth, and what is said of it.
//!
//! In: penalties of tests/data/dmrg/scales, Hubbard chains of any U, random files. The truth is that of double doubles
//! (`eigenforge_benches::dmrg::levels`), and each file's published or dense energy.

use eigenforge::basis::Sector;
use eigenforge::dmrg::{Chain, DmrgResult, Options, run};
use eigenforge::input::DmrgFile;
use eigenforge::lattice::Lattice;
use eigenforge::models::{hubbard, xxz};
use eigenforge::operator::{Charge, SiteKind};
use eigenforge_benches::dmrg::levels;
use eigenforge_benches::dmrg::scaled_chains::{ScaledTally, many};
use eigenforge_runtime::solvers::Solver;

fn solved(name: &str) -> DmrgResult {
    let file = DmrgFile::parse(name, &super::data(&format!("scales/{name}"))).unwrap();
    run(&file.chain().unwrap(), &file.options(), None, |_| {}).unwrap()
}

/// Energies of dense diagonalisation of the same files (of pxp.toml by Jacobi's method in 64-bit mantissas: in doubles the last four of these
/// digits are rounding); of the Gauss law it does not depend on the penalty.
#[test]
fn penalties_blockades_and_gauss_laws_cost_no_digit_but_those_of_rounding() {
    let cases = [
        ("pxp.toml", -4.601_183_447_745, 9e-9),
        ("blockade.toml", -3.927_494_916_1, 1e-8),
        ("gauss_law.toml", -2.431_763_778_216_6, 1e-9),
        ("penalty_on_sz.toml", -2.982_240_487_8, 5e-9),
        ("no_particles.toml", -4.365, 1e-12),
    ];
    for (name, exact, allowed) in cases {
        let found = solved(name);
        let error = (found.energy - exact).abs();
        assert!(error < allowed, "{name}: {} is not {exact}", found.energy);
        let stated = found.energy_error.unwrap();
        assert!(stated < 2e-8 && error < stated + 1e-9, "{name}: off by {error:e}, stated {stated:e}");
        assert!(found.variance.unwrap() >= 0.0 && found.variance.unwrap() < 1e-4, "{name}: {:?}", found.variance);
        assert_eq!(found.warnings, Vec::<String>::new(), "{name}");
    }
}

#[test]
fn a_hubbard_chain_of_any_u() {
    let charges = [(Charge::Up, 2), (Charge::Down, 2)];
    for u in [1e2, 1e3, 1e5, 1e8, 1e12] {
        let operator = hubbard(&Lattice::chain(4).open(), &[1.0; 3], &[u; 4], &[0.0; 4], 0.0, &[0.0; 3]);
        let exact = levels::lowest(&operator, &[SiteKind::Electrons; 4], &charges, 1).unwrap()[0];
        let chain = Chain::new(&operator, Sector::Fermions { up: 2, down: 2 }, None).unwrap();
        let found = run(&chain, &Options { states: vec![64], ..Options::default() }, None, |_| {}).unwrap();
        let error = (found.energy - exact).abs();
        assert!(error <= 1e-8f64.max(2e-15 * u), "U = {u:e}: {} is not {exact}", found.energy);
        assert!(error <= found.energy_error.unwrap(), "U = {u:e}: off by {error:e}, stated {:?}", found.energy_error);
        assert_eq!(found.warnings, Vec::<String>::new(), "U = {u:e}");
    }
}

/// A chain too large for an exact check: what its truncations cost says how far it is off, within a factor of 100.
#[test]
fn an_uncertainty_from_truncation_holds_and_is_close() {
    let operator = xxz(&Lattice::chain(40).open(), &[1.0; 39], &[1.0; 39], &[0.0; 40], &[0.0; 40]);
    let chain = Chain::new(&operator, Sector::Spins { two_sz: 0 }, None).unwrap();
    let with = |states| run(&chain, &Options { states: vec![states], ..Options::default() }, None, |_| {}).unwrap();
    let exact = with(160).energy;
    for states in [16, 32, 48] {
        let found = with(states);
        let (error, stated) = (found.energy - exact, found.energy_error.unwrap());
        assert!(error > 0.0 && error < stated && stated < 100.0 * error, "m = {states}: {error:e}, stated {stated:e}");
    }
}

/// A share of `eigenforge bench dmrg --random-chains N --scales`; `EIGENFORGE_SCALED_CHAINS` takes more of them.
#[test]
fn random_chains_with_scales_say_how_far_they_are_off() {
    let count = std::env::var("EIGENFORGE_SCALED_CHAINS").ok().and_then(|count| count.parse().ok()).unwrap_or(60);
    let mut shown = Vec::new();
    let tally = many((2027, 0, count), None, &mut shown).unwrap();
    let shown = String::from_utf8_lossy(&shown);
    let ScaledTally { compared, right, right_warned, wrong_warned, silent, close, .. } = tally;
    assert_eq!((silent, wrong_warned), (0, 0), "{shown}");
    assert!(100 * right_warned <= 3 * (right + right_warned), "{tally:?}\n{shown}");
    assert!(10 * close >= 9 * compared && 2 * compared > count as usize, "{tally:?}\n{shown}");
}

/// The same chains by the eigensolvers: right, or off by no more than they say.
#[test]
fn eigensolvers_say_how_far_they_are_off() {
    for solver in [Solver::Lanczos, Solver::Davidson, Solver::Lobpcg, Solver::Dense] {
        let mut shown = Vec::new();
        let tally = many((2028, 0, 40), Some(solver), &mut shown).unwrap();
        let shown = String::from_utf8_lossy(&shown);
        assert_eq!((tally.silent, tally.wrong_warned), (0, 0), "{}: {shown}", solver.name());
        assert!(tally.compared > 10, "{}: {tally:?}", solver.name());
    }
}
