//! One DMRG on several cards: energies of all sweeps, averages and entropies of the CPU for every kind of site and search, and the same
//! bits for the same number of cards. Without cards the texts run in the simulator, one card after the other.

use eigenforge::basis::Sector;
use eigenforge::dmrg::{Chain, Dmrg, DmrgResult, Mode, Options, run};
use eigenforge::models;
use eigenforge::operator::SiteKind;
use eigenforge::operator::build::{sdots, sx, sy, sz};
use eigenforge::prelude::*;
use eigenforge::runtime::testing::teams;

fn options(states: &[usize], sweeps: usize) -> Options {
    let noise = Some(Vec::new());
    Options { states: states.to_vec(), sweeps, noise, tolerance: 1e-8, ..Options::default() }
}

fn solve(device: &Device, chain: &Chain, options: &Options) -> DmrgResult {
    Dmrg::new(chain).options(options.clone()).run(device).unwrap()
}

/// The energies of all levels and sweeps, entropies and averages of the CPU.
fn agree(device: &Device, chain: &Chain, options: &Options) -> DmrgResult {
    let (expected, found) = (run(chain, options, None, |_| {}).unwrap(), solve(device, chain, options));
    let levels = |of: &DmrgResult| [vec![of.energy], of.excited.iter().map(|state| state.energy).collect()].concat();
    let sweeps = |of: &DmrgResult| of.sweeps.iter().map(|sweep| sweep.energy).collect::<Vec<_>>();
    assert_eq!(found.sweeps.len(), expected.sweeps.len());
    for (what, found, expected) in
        [("level", levels(&found), levels(&expected)), ("sweep", sweeps(&found), sweeps(&expected))]
    {
        assert_eq!(found.len(), expected.len());
        for (number, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert!((found - expected).abs() < 1e-8, "{what} {number}: {found} is not {expected}");
        }
    }
    for (a, b) in found.cuts.iter().zip(&expected.cuts) {
        assert!((a.entropy - b.entropy).abs() < 1e-5, "cut {}: {} is not {}", a.left_sites, a.entropy, b.entropy);
    }
    for (name, values) in found.averages.iter() {
        let (found, expected) = (values.values(), expected.averages.get(name).unwrap().values());
        assert!(
            found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-5),
            "{name}: {found:?} is not {expected:?}"
        );
    }
    assert!(found.cards.len() == device.cards_at_work() as usize, "{:?}", found.cards);
    assert!(found.cards[1].received > 0, "{:?}", found.cards);
    found
}

fn disordered(sites: usize, two_s: u32) -> Operator {
    let lattice = Lattice::chain(sites).open();
    let field: Vec<f64> = (0..sites).map(|i| 0.7 * ((3 * i * i + i) as f64).sin()).collect();
    let one = vec![1.0; sites - 1];
    models::xxz(&lattice, &one, &one, &field, &vec![0.0; sites]).spin(two_s)
}

/// Spins with noise in a sweep and a truncation that drops weight, twice with the same bits; two states, each in a search of its own.
#[test]
fn spins_with_noise_give_the_energies_of_the_cpu_and_the_same_bits_again() {
    for team in teams(&[2]) {
        let chain = Chain::new(&disordered(4, 1), Sector::Spins { two_sz: 0 }, None).unwrap();
        let noisy = Options { noise: Some(vec![1e-4]), ..options(&[2, 3], 2) };
        let (found, again) = (agree(&team, &chain, &noisy), solve(&team, &chain, &noisy));
        assert_eq!(found.energy.to_bits(), again.energy.to_bits());
        let bits = |of: &DmrgResult| of.sweeps.iter().map(|sweep| sweep.energy.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&found), bits(&again));
        agree(&team, &chain, &Options { targets: 2, ..options(&[6], 1) });
    }
}

/// Electrons on more cards than most products have blocks, long sectors by way of factors; flavours; no charge at all, which is one block
/// and stays on the first card.
#[test]
fn electrons_flavours_and_no_charge() {
    let three = Lattice::chain(3).open();
    let electrons = models::hubbard(&three, &[1.0; 2], &[4.0; 3], &[0.0; 3], 0.0, &[0.0; 2]);
    let flavours = models::spin_hubbard(&three, 4, &[1.0; 2], &[4.0; 3], &[0.0; 3], 0.0);
    for team in teams(&[4]) {
        let chain = Chain::new(&electrons, Sector::Fermions { up: 2, down: 1 }, None).unwrap();
        agree(&team, &chain, &Options { factor_rows: 3, ..options(&[6], 1) });
        let chain = Chain::new(&flavours, Sector::Flavours(vec![1, 1, 0, 0]), None).unwrap();
        agree(&team, &chain, &options(&[6], 1));
        let chain = Chain::new(&disordered(3, 1), Sector::Charges(Vec::new()), None).unwrap();
        let found = solve(&team, &chain, &options(&[4], 1));
        let expected = run(&chain, &options(&[4], 1), None, |_| {}).unwrap();
        assert!((found.energy - expected.energy).abs() < 1e-9, "{} is not {}", found.energy, expected.energy);
    }
}

/// A chain that is grown first; states that share their kept states; a flux that no gauge removes.
#[test]
fn grown_chains_averaged_states_and_complex_hamiltonians() {
    for team in teams(&[2]) {
        let chain = Chain::new(&disordered(4, 1), Sector::Spins { two_sz: 0 }, None).unwrap();
        let plain = models::xxz(&Lattice::chain(8).open(), &[1.0; 7], &[1.0; 7], &[0.0; 8], &[0.0; 8]);
        let grown = Chain::new(&plain, Sector::Spins { two_sz: 0 }, None).unwrap();
        agree(&team, &grown, &Options { mode: Mode::Infinite, ..options(&[8], 0) });
        agree(&team, &chain, &Options { targets: 2, weights: Some(vec![2.0, 1.0]), ..options(&[8], 1) });
        let phase = 0.3 * (sx(2) * sy(0) - sy(2) * sx(0));
        let ring = sdots(0, 1) + sdots(1, 2) + sdots(2, 0) + phase + 0.2 * sz(0);
        let complex =
            Chain::new(&ring.on_kinds(&[SiteKind::Moments { two_s: 1 }; 3]), Sector::Spins { two_sz: 1 }, None)
                .unwrap();
        agree(&team, &complex, &options(&[8], 1));
    }
}
