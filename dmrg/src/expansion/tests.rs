//! Sweeps whose bonds grow, on small chains.

use super::ExpansionLimits;
use crate::block::blocks::Side;
use crate::block::bond::carried_over;
use crate::block::one_site::OneSite;
use crate::block::start::Random;
use crate::chain::Chain;
use crate::options::{Options, UpdateChoice};
use crate::sweep::restored::is_whole;
use crate::sweep::sweep_record::SweepStop;
use crate::sweep::sweeper::Sweeper;
use eigenforge_core::basis::Sector;
use eigenforge_core::lattice::{Boundary, Lattice};
use eigenforge_core::models::{hubbard, xxz};
use eigenforge_core::operator::Operator;
use eigenforge_runtime::backend::{Backend, DeviceBackend, HostBackend};
use eigenforge_runtime::simulate::Schedule;
use eigenforge_runtime::testing::card_or_simulated;

fn heisenberg(lattice: &Lattice) -> Operator {
    let (bonds, sites) = (vec![1.0; lattice.bonds().len()], vec![0.0; lattice.sites().len()]);
    xxz(lattice, &bonds, &bonds, &sites, &sites)
}

fn spins(sites: usize) -> Chain {
    Chain::new(&heisenberg(&Lattice::chain(sites).open()), Sector::Spins { two_sz: 0 }, None).unwrap()
}

fn electrons(sites: usize, u: f64) -> Chain {
    let lattice = Lattice::chain(sites).open();
    let none = vec![0.0; sites];
    let operator = hubbard(&lattice, &vec![1.0; sites - 1], &vec![u; sites], &none, 0.0, &vec![0.0; sites - 1]);
    Chain::new(&operator, Sector::Fermions { up: sites / 2, down: sites / 2 }, None).unwrap()
}

/// Sweeps without noise from a product state; the energy of each.
fn swept(chain: &Chain, update: UpdateChoice, states: usize, sweeps: usize) -> Vec<f64> {
    let options = Options { states: vec![states; 2], noise: Some(Vec::new()), update, ..Options::default() };
    let mut sweeper = Sweeper::random(HostBackend::default(), chain, 1, 3).unwrap();
    (0..sweeps)
        .map(|sweep| {
            let plan = options.plan(sweep);
            for (p, grows) in Sweeper::<HostBackend>::path(chain.sites) {
                sweeper.update(p, grows, &plan).unwrap();
            }
            sweeper.finish(options.davidson(9)).unwrap().energy
        })
        .collect()
}

/// From one state at every cut the charges of the others are found without noise: 8 sites have all of their 16 states there.
#[test]
fn a_product_state_grows_to_the_exact_one_without_noise() {
    let chain = spins(8);
    let energies = swept(&chain, UpdateChoice::Expanding, 16, 6);
    let expected = swept(&chain, UpdateChoice::TwoSite, 16, 6);
    assert!(energies[0] > energies[5] + 1e-6, "a start that is far away: {energies:?}");
    assert!((energies[5] - expected[5]).abs() < 1e-11, "{energies:?} {expected:?}");
    let exact = crate::run::run(&chain, &Options { states: vec![16], ..Options::default() }, None, |_| {}).unwrap();
    let exact = exact.check.as_ref().unwrap().energies[0];
    assert!((chain.units.energy(energies[5]) - exact).abs() < 1e-10, "{energies:?}");
}

/// A sweep that is left at any bond and begun there again, as a checkpoint does it, ends as if it had not been.
#[test]
fn a_sweep_goes_on_from_any_bond() {
    let chain = spins(10);
    let options =
        Options { states: vec![12; 2], noise: Some(Vec::new()), update: UpdateChoice::Expanding, ..Options::default() };
    let plan = options.plan(0);
    let path: Vec<_> = Sweeper::<HostBackend>::path(chain.sites).collect();
    let sweep = |sweeper: &mut Sweeper<'_, HostBackend>, bonds: &[(usize, Side)]| {
        bonds.iter().map(|(p, grows)| sweeper.update(*p, *grows, &plan).unwrap().energy).last().unwrap_or_default()
    };
    let begin = || {
        let mut sweeper = Sweeper::random(HostBackend::default(), &chain, 12, 3).unwrap();
        (0..2).for_each(|_| _ = sweep(&mut sweeper, &path));
        sweeper
    };
    let whole = sweep(&mut begin(), &path);
    for done in 1..path.len() {
        let mut sweeper = begin();
        sweep(&mut sweeper, &path[..done]);
        sweeper.unfold().unwrap();
        let (kept, wave) = (sweeper.isometries().to_vec(), sweeper.wave().clone());
        assert!(is_whole(&chain, &kept, &wave, path[done].0), "{done}");
        let mut sweeper = Sweeper::restored(HostBackend::default(), &chain, kept, wave, path[done].0).unwrap();
        let found = sweep(&mut sweeper, &path[done..]);
        assert!((found - whole).abs() < 1e-9, "{done} bonds: {found} is not {whole}");
    }
}

/// The operators of a bond that grew are those that its states give anew.
#[test]
fn operators_in_a_grown_basis_are_those_of_its_states() {
    let chain = electrons(8, 4.0);
    let options =
        Options { states: vec![24; 2], noise: Some(Vec::new()), update: UpdateChoice::Expanding, ..Options::default() };
    let plan = options.plan(0);
    let mut sweeper = Sweeper::random(HostBackend::default(), &chain, 8, 5).unwrap();
    for (p, grows) in Sweeper::<HostBackend>::path(chain.sites).chain([(0, Side::Left), (1, Side::Left)]) {
        sweeper.update(p, grows, &plan).unwrap();
    }
    let site = sweeper.site.take().unwrap();
    let site = sweeper.grouped(site, Side::Left).unwrap();
    let (p, before) = (site.p, sweeper.kept[site.p + 1].as_ref().unwrap().kept.total());
    let own = sweeper.site_operators(&site).unwrap();
    let energy = |sweeper: &Sweeper<'_, HostBackend>, site: &OneSite| {
        let bond = sweeper.around(site, sweeper.site_operators(site).unwrap()).unwrap();
        let operands = bond.operands(sweeper.block(Side::Left, p), sweeper.block(Side::Right, p + 1));
        sweeper.engine().expectation(&bond.superblock(), operands, sweeper.wave()).unwrap()
    };
    let narrow = energy(&sweeper, &site);
    let (site, _) = sweeper.expand(site, &own, ExpansionLimits::of_solve(plan.limits.most, 3)).unwrap();
    assert!((energy(&sweeper, &site) - narrow).abs() < 1e-12, "ψ is as it was");
    let states = sweeper.kept[p + 1].as_ref().unwrap();
    assert!(states.kept.total() > before, "states were added");
    for block in &states.blocks {
        let column = |j: usize| &states.data[block.offset + j * block.rows..][..block.rows];
        for (i, j) in (0..block.columns).flat_map(|i| (0..=i).map(move |j| (i, j))) {
            let overlap: f64 = column(i).iter().zip(column(j)).map(|(a, b)| a * b).sum();
            assert!((overlap - if i == j { 1.0 } else { 0.0 }).abs() < 1e-13, "{i} {j}: {overlap}");
        }
    }
    let behind = sweeper.block(Side::Right, p + 2);
    let enlarged = chain.enlarge(Side::Right, &behind.sectors, p + 2);
    let expected =
        carried_over(sweeper.engine(), &chain, &chain.sum, Side::Right, p + 2, behind, &enlarged, states).unwrap();
    let found = sweeper.block(Side::Right, p + 1);
    assert_eq!((&found.sectors, &found.operators), (&expected.sectors, &expected.operators));
    let largest = found.data.iter().zip(&expected.data).fold(0.0f64, |most, (a, b)| most.max((a - b).abs()));
    assert!(largest < 1e-12, "{largest:e}");
}

/// Random couplings on random graphs, of spins, electrons, and products of four fermions; a field, a start, and charges.
fn random_chain(seed: u64) -> (Chain, Options) {
    let mut random = Random::new(977 * seed + 13);
    let mut below = |count: usize| (((random.number() + 1.0) / 2.0 * count as f64) as usize).min(count - 1);
    let (kind, sites) = (below(4), 4 + below(5));
    let sites = if kind == 2 { sites.min(6) } else { sites };
    let far: Vec<(usize, usize)> =
        (0..below(4)).map(|_| (below(sites), below(sites))).filter(|(i, j)| i + 1 < *j).collect();
    let mut edges: Vec<(usize, usize, f64)> = (1..sites).map(|j| (j - 1, j, 1.0)).collect();
    edges.extend(far.into_iter().map(|(i, j)| (i, j, 1.0)));
    edges.sort_by_key(|(i, j, _)| (*i, *j));
    edges.dedup_by_key(|(i, j, _)| (*i, *j));
    let lattice = Lattice::from_edges(sites, &edges).unwrap();
    let mut some = |count: usize, zeros: bool| -> Vec<f64> {
        (0..count).map(|_| if zeros && below(3) == 0 { 0.0 } else { below(2001) as f64 / 1000.0 - 1.0 }).collect()
    };
    let bonds = lattice.bonds().len();
    let (operator, sector) = match kind {
        0 | 1 => {
            let (jxy, jz) = (some(bonds, seed.is_multiple_of(3)), some(bonds, false));
            let operator = xxz(&lattice, &jxy, &jz, &some(sites, true), &some(sites, true));
            let two_s = 1 + kind as u32;
            let odd = (two_s as usize * sites % 2) as i64;
            (operator.spin(two_s), Sector::Spins { two_sz: odd })
        }
        _ => {
            let (t, v) = (some(bonds, seed.is_multiple_of(3)), some(bonds, true));
            let u: Vec<f64> = some(sites, false).iter().map(|u| 3.0 * (u + 1.0)).collect();
            let operator = hubbard(&lattice, &t, &u, &some(sites, true), 0.3, &v);
            (operator, Sector::Fermions { up: sites / 2, down: 1 + sites % 3 })
        }
    };
    let noise = if seed.is_multiple_of(2) { Some(Vec::new()) } else { None };
    let targets = if seed.is_multiple_of(5) { 2 } else { 1 };
    let (states, update) = (vec![256], UpdateChoice::Expanding);
    let options = Options { states, noise, targets, update, seed: 1 + seed % 7, ..Options::default() };
    (Chain::new(&operator, sector, None).unwrap(), options)
}

/// None is wrong without a word; `EIGENFORGE_RANDOM_CHAINS` takes more of them.
#[test]
fn random_chains_have_the_energies_of_their_whole_sectors() {
    let count = std::env::var("EIGENFORGE_RANDOM_CHAINS").ok().and_then(|count| count.parse().ok()).unwrap_or(60);
    let (mut restarted, mut warned) = (0, 0);
    for seed in 0..count {
        let (chain, options) = random_chain(seed);
        let found = crate::run::run(&chain, &options, None, |_| {}).unwrap();
        let check = found.check.as_ref().unwrap();
        let energies = std::iter::once(found.energy).chain(found.excited.iter().map(|state| state.energy));
        let pairs: Vec<(f64, f64)> = energies.zip(check.energies.iter().copied()).collect();
        assert_eq!(pairs.len(), options.targets, "seed {seed}");
        let is_right = pairs.iter().all(|(found, exact)| (found - exact).abs() < 1e-8);
        assert!(is_right || !found.warnings.is_empty(), "seed {seed}: {pairs:?}");
        restarted += usize::from(!found.restarts.is_empty());
        warned += usize::from(!found.warnings.is_empty());
    }
    println!("{count} chains: {restarted} searched again from the exact state, {warned} with warnings");
    assert!(20 * warned <= count as usize && 4 * restarted <= count as usize, "{restarted}, {warned} of {count}");
}

/// Truncated chains and a cylinder: sweeps settle, and the state that is kept is not above that of two sites, with noise and without.
#[test]
fn kept_energies_are_not_above_those_of_two_sites() {
    let lattice = Lattice::square([4, 4]).boundary([Boundary::Periodic, Boundary::Open]);
    let cylinder = Chain::new(&heisenberg(&lattice), Sector::Spins { two_sz: 0 }, None).unwrap();
    for (name, chain, states) in
        [("spins", spins(32), 32), ("electrons", electrons(12, 4.0), 64), ("a cylinder", cylinder, 64)]
    {
        for noise in [None, Some(Vec::new())] {
            let own = Options { noise, check: false, states: vec![states], ..Options::default() };
            let run = |update| crate::run::run(&chain, &Options { update, ..own.clone() }, None, |_| {}).unwrap();
            let (one, two) = (run(UpdateChoice::Expanding), run(UpdateChoice::TwoSite));
            let (last, of_two) = (one.sweeps.last().unwrap(), two.sweeps.last().unwrap());
            assert_eq!(one.stop, SweepStop::Converged, "{name}");
            assert!(of_two.discarded > 1e-9, "{name}: meant to be truncated");
            assert!(one.energy < two.energy + 2e-9, "{name}: {} is above {}", one.energy, two.energy);
            assert!(
                last.discarded > 0.0 && last.kept <= states && last.dimension < of_two.dimension,
                "{name}: {last:?}"
            );
            let kept = last.kept_energy.unwrap();
            assert!(last.energy <= kept && (kept - one.energy).abs() < 1e-6, "{name}: {kept}, {}", one.energy);
            assert_eq!(one.warnings, two.warnings, "{name}");
        }
    }
}

/// The cores and a card, or its simulation, find the same.
#[test]
fn memcheck_cores_and_cards_grow_the_same_bonds() {
    let Some(device) = card_or_simulated(Schedule::Forward) else { return };
    let chain = spins(6);
    let (states, update) = (vec![5, 6], UpdateChoice::Expanding);
    let options = Options { states, sweeps: 3, noise: Some(vec![1e-4]), update, tolerance: 1e-9, ..Options::default() };
    let cores = crate::run::run(&chain, &options, None, |_| {}).unwrap();
    let card = crate::run::run_on(DeviceBackend::new(&device).unwrap(), &chain, &options, None, |_| {}).unwrap();
    assert!((cores.energy - card.energy).abs() < 1e-8, "{} is not {}", card.energy, cores.energy);
    let (cores, card) = (cores.sweeps.last().unwrap(), card.sweeps.last().unwrap());
    assert_eq!((cores.kept, cores.dimension), (card.kept, card.dimension));
    assert!((cores.discarded - card.discarded).abs() < 1e-3 * cores.discarded + 1e-12, "{cores:?} {card:?}");
}
