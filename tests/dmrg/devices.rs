//! DMRG resident on a device: the energies of the CPU and of exact solutions, noise and growth included; a run that is
//! saved by one engine and taken up by the other. Without a card the kernels' texts run in the simulator, on chains that it can do.

use eigenforge::basis::Sector;
use eigenforge::dmrg::{
    BasisChoice, Chain, Checkpoint, DmrgResult, Options, SuperblockForm, Sweeper, TextChoice, UpdateChoice, run, run_on,
};
use eigenforge::models;
use eigenforge::prelude::*;
use eigenforge::runtime::Checks;
use eigenforge::runtime::backend::DeviceBackend;
use eigenforge::runtime::records::{CpuShare, Strategy};
use eigenforge::runtime::residency::MemoryLimits;
use eigenforge::runtime::seeded;
use eigenforge::runtime::simulate::Schedule;
use eigenforge::runtime::testing::{card_or_simulated, card_or_skip, simulated};

fn heisenberg(sites: usize, two_s: u32) -> Operator {
    let lattice = Lattice::chain(sites).open();
    let one = vec![1.0; sites - 1];
    let none = vec![0.0; sites];
    models::xxz(&lattice, &one, &one, &none, &none).spin(two_s)
}

fn hubbard(lattice: &Lattice, u: f64) -> Operator {
    let (sites, bonds) = (lattice.sites().count(), lattice.bonds().len());
    models::hubbard(lattice, &vec![1.0; bonds], &vec![u; sites], &vec![0.0; sites], 0.0, &vec![0.0; bonds])
}

fn solve(device: &Device, chain: &Chain, options: &Options) -> DmrgResult {
    run_on(DeviceBackend::new(device).unwrap(), chain, options, None, |_| {}).unwrap()
}

/// The same by a product of the paper of 2014, as `bench paper dmrg` and `bench dmrg` set it.
fn solve_as_in_the_paper(
    device: &Device,
    chain: &Chain,
    options: &Options,
    (strategy, share): (Strategy, CpuShare),
) -> DmrgResult {
    let mut engine = DeviceBackend::new(device).unwrap();
    engine.set_paper_product(strategy, share).unwrap();
    run_on(engine, chain, options, None, |_| {}).unwrap()
}

/// The same chain by both engines: energies, variance, entropies, averages.
fn agree(device: &Device, operator: &Operator, sector: Sector, options: &Options) {
    let chain = Chain::new(operator, sector, None).unwrap();
    let (expected, found) = (run(&chain, options, None, |_| {}).unwrap(), solve(device, &chain, options));
    assert!((found.energy - expected.energy).abs() < 1e-9, "{} is not {}", found.energy, expected.energy);
    assert!((found.variance.unwrap() - expected.variance.unwrap()).abs() < 1e-8);
    for (a, b) in found.cuts.iter().zip(&expected.cuts) {
        assert!((a.entropy - b.entropy).abs() < 1e-5, "cut {}: {} is not {}", a.left_sites, a.entropy, b.entropy);
    }
    let sz = |found: &DmrgResult| found.averages.sites("sz").unwrap().to_vec();
    for (a, b) in sz(&found).iter().zip(sz(&expected)) {
        assert!((a - b).abs() < 1e-5);
    }
}

#[test]
fn small_chains_with_noise_and_without_in_the_simulator_or_on_a_card() {
    let Some(device) = card_or_simulated(Schedule::Forward) else { return };
    let options =
        Options { states: vec![4, 8], sweeps: 2, noise: Some(vec![1e-4]), tolerance: 1e-8, ..Options::default() };
    agree(&device, &heisenberg(4, 1), Sector::Spins { two_sz: 0 }, &options);
}

/// Operators that stand side by side, of spins that all pairs couple, with noise and by both updates. The name has compute-sanitizer run it.
#[test]
fn memcheck_operators_side_by_side_on_a_card() {
    let Some(device) = card_or_simulated(Schedule::Forward) else { return };
    let sites = 6;
    let pairs: Vec<(usize, usize, f64)> = (0..sites).flat_map(|i| (i + 1..sites).map(move |j| (i, j, 1.0))).collect();
    let lattice = Lattice::from_edges(sites, &pairs).unwrap();
    let [along, across] = [7, 8].map(|seed| seeded::vector(pairs.len(), seed));
    let model = models::xxz(&lattice, &along, &across, &[0.1; 6], &[0.0; 6]);
    let chain = Chain::new(&model, Sector::Spins { two_sz: 0 }, None).unwrap();
    let chain = chain.with_superblock(SuperblockForm::Bundled);
    for update in [UpdateChoice::TwoSite, UpdateChoice::Expanding] {
        let noise = Some(vec![1e-4]);
        let options = Options { states: vec![4], sweeps: 2, noise, tolerance: 1e-8, update, ..Options::default() };
        let (expected, found) = (run(&chain, &options, None, |_| {}).unwrap(), solve(&device, &chain, &options));
        assert!((found.energy - expected.energy).abs() < 1e-9, "{} is not {}", found.energy, expected.energy);
        let [a, b] = [&found, &expected].map(|found| found.variance.unwrap());
        assert!((a - b).abs() < 1e-8, "{a} is not {b}");
        assert!(device.kernels_used().iter().any(|kernel| kernel.name.contains("operator_assembly")));
    }
}

/// Davidson's sweeps with a text for the chain's settled bonds: the same bits as with that for every chain, for every structure of charges,
/// and the energy of the CPU.
#[test]
fn a_chains_own_text_changes_no_bit() {
    let Some(device) = card_or_simulated(Schedule::Forward) else { return };
    let (two, three) = (Lattice::chain(3).open(), Lattice::chain(4).open());
    let flavours = models::spin_hubbard(&two, 4, &[1.0; 2], &[4.0; 3], &[0.0; 3], 0.0);
    let field = models::xxz(&three, &[1.0; 3], &[0.7; 3], &[0.3, -0.2, 0.1, 0.4], &[0.0; 4]);
    let cases: [(&str, Operator, Sector); 4] = [
        ("spins", heisenberg(4, 1), Sector::Spins { two_sz: 0 }),
        ("electrons", hubbard(&two, 4.0), Sector::Fermions { up: 2, down: 1 }),
        ("flavours", flavours, Sector::Flavours(vec![1, 1, 0, 0])),
        ("no charge", field, Sector::Charges(Vec::new())),
    ];
    for (name, operator, numbers) in cases {
        let chain = Chain::new(&operator, numbers, None).unwrap();
        let with = |text| Options {
            states: vec![6],
            sweeps: 3,
            noise: Some(Vec::new()),
            tolerance: 1e-10,
            text,
            ..Options::default()
        };
        let cpu = run(&chain, &with(TextChoice::Planned), None, |_| {}).unwrap();
        let [general, own] = [TextChoice::General, TextChoice::Chain].map(|text| solve(&device, &chain, &with(text)));
        assert!((general.energy - cpu.energy).abs() < 1e-9, "{name}: {} is not {}", general.energy, cpu.energy);
        assert_eq!(general.energy.to_bits(), own.energy.to_bits(), "{name}");
        assert_eq!(general.variance.map(f64::to_bits), own.variance.map(f64::to_bits), "{name}");
        let ran = device.kernels_used().iter().any(|kernel| kernel.name.contains("davidson_chain"));
        assert!(ran, "{name}: the chain's own text ran");
    }
}

/// Long sectors by way of a factor, with noise and without: kept states that are as good, with charges and with none.
#[test]
fn factors_of_density_matrices_give_the_same_energies() {
    let Some(device) = card_or_simulated(Schedule::Forward) else { return };
    let cases: [(&str, Operator, Sector, usize); 2] = [
        ("electrons", hubbard(&Lattice::chain(4).open(), 4.0), Sector::Fermions { up: 2, down: 2 }, 6),
        ("spins of 1, no charge", heisenberg(4, 2), Sector::Charges(Vec::new()), 3),
    ];
    for (name, operator, numbers, states) in cases {
        let chain = Chain::new(&operator, numbers, None).unwrap();
        let with = |factor_rows| Options {
            states: vec![states; 2],
            sweeps: 2,
            noise: Some(vec![1e-4]),
            tolerance: 1e-10,
            factor_rows,
            ..Options::default()
        };
        let (whole, by_factors) = (run(&chain, &with(0), None, |_| {}).unwrap(), solve(&device, &chain, &with(4)));
        let discarded = whole.sweeps.last().unwrap().discarded;
        let difference = (by_factors.energy - whole.energy).abs();
        assert!(difference < 1e-10 + discarded, "{name}: {} is not {}", by_factors.energy, whole.energy);
        assert!(discarded > 1e-12, "{name}: the number of states limits this chain");
        let ran = device.kernels_used().iter().any(|kernel| kernel.name.contains("pivoted_cholesky"));
        assert!(ran, "{name}: sectors had factors");
    }
}

/// Two pairs that nothing couples: −3/4 each, and one weight at the cut between them. The other states are kept where a number
/// is asked for at least, on a device as on the CPU.
#[test]
fn states_without_weight_are_kept_where_they_are_asked_for() {
    let Some(device) = card_or_simulated(Schedule::Forward) else { return };
    let (j, none) = ([1.0, 0.0, 1.0], [0.0; 4]);
    let chain =
        Chain::new(&models::xxz(&Lattice::chain(4).open(), &j, &j, &none, &none), Sector::Spins { two_sz: 0 }, None)
            .unwrap();
    for (least, kept) in [(1, 2), (3, 3), (4, 4), (8, 4)] {
        let options = Options {
            states: vec![8],
            least,
            sweeps: 2,
            noise: Some(Vec::new()),
            tolerance: 1e-8,
            ..Options::default()
        };
        for found in [run(&chain, &options, None, |_| {}).unwrap(), solve(&device, &chain, &options)] {
            assert!((found.energy + 1.5).abs() < 1e-9, "{}", found.energy);
            assert_eq!(found.sweeps.last().unwrap().kept, kept, "at least {least}");
        }
    }
}

/// States above the lowest, each orthogonal to those below.
fn levels_agree(device: &Device, operator: &Operator, sector: Sector, options: &Options) {
    let chain = Chain::new(operator, sector, None).unwrap();
    let (expected, found) = (run(&chain, options, None, |_| {}).unwrap(), solve(device, &chain, options));
    let levels = |found: &DmrgResult| -> Vec<f64> {
        std::iter::once(found.energy).chain(found.excited.iter().map(|state| state.energy)).collect()
    };
    let (expected, levels) = (levels(&expected), levels(&found));
    assert_eq!(levels.len(), options.targets);
    for (state, (found, expected)) in levels.iter().zip(&expected).enumerate() {
        assert!((found - expected).abs() < 1e-9, "state {state}: {found} is not {expected}");
    }
    assert!(found.excited.iter().all(|state| state.overlap < 1e-5 && state.variance.unwrap().abs() < 1e-8));
}

/// A field that differs from site to site, so that no level is degenerate.
fn disordered(sites: usize) -> Operator {
    let lattice = Lattice::chain(sites).open();
    let field: Vec<f64> = (0..sites).map(|i| 0.7 * ((3 * i * i + i) as f64).sin()).collect();
    let one = vec![1.0; sites - 1];
    models::xxz(&lattice, &one, &one, &field, &vec![0.0; sites])
}

#[test]
fn states_above_the_lowest_in_the_simulator_or_on_a_card() {
    let Some(device) = card_or_simulated(Schedule::Forward) else { return };
    let options = Options { states: vec![8], sweeps: 3, targets: 3, tolerance: 1e-9, ..Options::default() };
    levels_agree(&device, &disordered(4), Sector::Spins { two_sz: 0 }, &options);
}

/// The same states in one set of kept states, with noise in the first sweep.
#[test]
fn averaged_states_in_the_simulator_or_on_a_card() {
    let Some(device) = card_or_simulated(Schedule::Forward) else { return };
    let weights = Some(vec![2.0, 1.0]);
    let noise = Some(vec![1e-4]);
    let options =
        Options { states: vec![8], sweeps: 2, noise, targets: 2, weights, tolerance: 1e-9, ..Options::default() };
    for basis in [BasisChoice::Common, BasisChoice::Each] {
        levels_agree(&device, &disordered(4), Sector::Spins { two_sz: 0 }, &Options { basis, ..options.clone() });
    }
}

#[test]
fn several_states_of_longer_chains_as_on_the_cpu() {
    let Some(device) = card_or_skip() else { return };
    let options = Options { states: vec![200], targets: 4, tolerance: 1e-11, ..Options::default() };
    levels_agree(&device, &disordered(14), Sector::Spins { two_sz: 0 }, &options);
    let polished = Options { polish: true, ..options.clone() };
    levels_agree(&device, &disordered(12), Sector::Spins { two_sz: 0 }, &polished);
    let averaged = Options { weights: Some(vec![1.0; 4]), ..options.clone() };
    for basis in BasisChoice::ALL {
        levels_agree(&device, &disordered(14), Sector::Spins { two_sz: 0 }, &Options { basis, ..averaged.clone() });
    }
    let ladder = hubbard(&Lattice::ladder([2, 4]).open(), 8.0);
    let options = Options { states: vec![300], targets: 2, ..options };
    levels_agree(&device, &ladder, Sector::Fermions { up: 4, down: 3 }, &options);
}

#[test]
fn more_states_than_a_basis_on_the_device_holds_are_refused() {
    let Some(device) = simulated(Schedule::Forward, Checks::Watched) else { return };
    let chain = Chain::new(&disordered(8), Sector::Spins { two_sz: 0 }, None).unwrap();
    let options = Options { states: vec![4], targets: 18, ..Options::default() };
    let said = run_on(DeviceBackend::new(&device).unwrap(), &chain, &options, None, |_| {}).map(|_| ()).unwrap_err();
    assert!(said.to_string().contains("targets should be at most 17"), "{said}");
}

#[test]
fn what_does_not_fit_goes_to_host_memory_and_the_limit_is_kept_to() {
    let Some(device) = card_or_skip() else { return };
    let chain = Chain::new(&heisenberg(60, 1), Sector::Spins { two_sz: 0 }, None).unwrap();
    let plan = Options { states: vec![128], ..Options::default() }.plan(5);
    // V and W of some 15,000 elements take 5 MB, all blocks and states of 128 about as much.
    let sweeps = |engine: DeviceBackend| {
        let mut sweeper = Sweeper::random(engine, &chain, 16, 1).unwrap();
        let (mut energy, mut away) = (0.0f64, 0);
        for (p, grows) in (0..4).flat_map(|_| Sweeper::<DeviceBackend>::path(60)) {
            energy = sweeper.step(p, grows, &plan).unwrap().energy;
            let pool = sweeper.engine().pool();
            assert!(pool.used() <= pool.reserved() && pool.reserved() <= pool.limit());
            away = pool.evicted_bytes().max(away);
        }
        (energy, away)
    };
    let within = |memory: u64| {
        DeviceBackend::limited(&device, MemoryLimits::new(&device, Some(memory), None, std::env::temp_dir()))
    };
    let (roomy, none) = sweeps(within(1 << 30).unwrap());
    let (tight, some) = sweeps(within(12 << 20).unwrap());
    assert_eq!(none, 0);
    assert!(some > 1 << 20, "{some} bytes left the card");
    assert!((roomy - tight).abs() < 1e-9, "{roomy} and {tight}");
}

#[test]
fn energies_of_exact_solutions_on_a_card() {
    let Some(device) = card_or_skip() else { return };
    let options = |states: usize| Options { states: vec![states], ..Options::default() };
    let spins = Sector::Spins { two_sz: 0 };
    // Bethe ansatz; Lieb and Wu.
    let chain = Chain::new(&heisenberg(20, 1), spins, None).unwrap();
    let found = solve(&device, &chain, &options(128));
    assert!((found.energy + 8.682473334399).abs() < 1e-9, "{}", found.energy);
    assert!(found.variance.unwrap() < 1e-9);
    let chain =
        Chain::new(&hubbard(&Lattice::chain(16).open(), 4.0), Sector::Fermions { up: 8, down: 8 }, None).unwrap();
    let found = solve(&device, &chain, &options(512));
    assert!((found.energy + 8.818767454812).abs() < 1e-9, "{}", found.energy);
    assert!(found.variance.unwrap() < 1e-9);
}

/// Of a card: H x through cuBLAS in the ways of the paper gives the energies of the generated kernel.
#[test]
fn every_strategy_gives_the_same_energy() {
    let Some(device) = card_or_skip() else { return };
    let spins = Chain::new(&heisenberg(20, 1), Sector::Spins { two_sz: 0 }, None).unwrap();
    let ladder = hubbard(&Lattice::ladder([2, 4]).open(), 8.0);
    let ladder = Chain::new(&ladder, Sector::Fermions { up: 4, down: 4 }, None).unwrap();
    for (chain, states) in [(&spins, 128), (&ladder, 300)] {
        let options = Options { states: vec![states], ..Options::default() };
        let planned = solve(&device, chain, &options);
        for strategy in Strategy::ALL {
            let found = solve_as_in_the_paper(&device, chain, &options, (strategy, CpuShare::default()));
            let (name, energy) = (strategy.name(), planned.energy);
            assert!((found.energy - energy).abs() < 1e-9, "{name}: {} is not {energy}", found.energy);
        }
    }
}

/// cuBLAS has no simulation, and a share is a part of a product; the CPU has no kernels to set either beside.
#[test]
fn strategies_of_a_card_and_impossible_shares_are_refused_elsewhere() {
    assert!(DeviceBackend::new(&Device::cpu()).is_err());
    let Some(simulated) = simulated(Schedule::Forward, Checks::Watched) else { return };
    let mut engine = DeviceBackend::new(&simulated).unwrap();
    for strategy in &Strategy::ALL[1..] {
        let said = engine.set_paper_product(*strategy, CpuShare::default()).unwrap_err().to_string();
        assert!(said.contains("by cuBLAS") && said.contains("a card"), "{}: {said}", strategy.name());
        assert!(said.contains(&simulated.name()), "{}: {said}", strategy.name());
    }
    for part in [-0.1, 1.5, f64::NAN, f64::INFINITY] {
        let said = engine.set_paper_product(Strategy::Planned, CpuShare::Part(part)).unwrap_err().to_string();
        assert!(said.contains("a part from 0") && said.contains(&part.to_string()), "{said}");
    }
    for share in [CpuShare::Part(1.0), CpuShare::Auto] {
        engine.set_paper_product(Strategy::Planned, share).unwrap();
    }
}

/// Parts of H x on the CPU, of a random field's Heisenberg chain and a Hubbard chain: the energies of the CPU alone.
#[test]
fn a_share_of_the_cpu_leaves_the_energies_as_they_are_in_the_simulator_or_on_a_card() {
    let Some(device) = card_or_simulated(Schedule::Reverse) else { return };
    let fermions = hubbard(&Lattice::chain(4).open(), 3.0);
    for (operator, sector, shares) in [
        (disordered(5), Sector::Spins { two_sz: 1 }, &[0.3, 1.0][..]),
        (fermions, Sector::Fermions { up: 2, down: 2 }, &[0.3]),
    ] {
        let chain = Chain::new(&operator, sector, None).unwrap();
        let options =
            Options { states: vec![16], sweeps: 2, noise: Some(vec![]), tolerance: 1e-12, ..Options::default() };
        let expected = run(&chain, &options, None, |_| {}).unwrap().energy;
        for share in shares.iter().copied().map(CpuShare::Part) {
            let found = solve_as_in_the_paper(&device, &chain, &options, (Strategy::Planned, share)).energy;
            assert!((found - expected).abs() < 1e-10, "{share:?}: {found} is not {expected}");
        }
    }
}

/// The same on chains where sizes are timed and cuBLAS has the card's part.
#[test]
fn shares_of_longer_chains_and_of_the_paper_s_strategies_on_a_card() {
    let Some(device) = card_or_skip() else { return };
    let chain = Chain::new(&hubbard(&Lattice::chain(16).open(), 4.0), Sector::Fermions { up: 8, down: 8 }, None);
    let chain = chain.unwrap();
    let options = Options { states: vec![300], tolerance: 1e-11, ..Options::default() };
    let expected = solve(&device, &chain, &options).energy;
    for strategy in Strategy::ALL {
        for share in [CpuShare::Part(0.1), CpuShare::Part(0.5), CpuShare::Auto] {
            let found = solve_as_in_the_paper(&device, &chain, &options, (strategy, share)).energy;
            assert!((found - expected).abs() < 1e-9, "{strategy:?}, {share:?}: {found} is not {expected}");
        }
    }
}

#[test]
fn spin_one_chains_and_ladders_as_on_the_cpu() {
    let Some(device) = card_or_skip() else { return };
    let options = Options { states: vec![100], ..Options::default() };
    agree(&device, &heisenberg(12, 2), Sector::Spins { two_sz: 2 }, &options);
    let ladder = hubbard(&Lattice::ladder([2, 4]).open(), 8.0);
    agree(&device, &ladder, Sector::Fermions { up: 4, down: 4 }, &Options { states: vec![300], ..options });
}

#[test]
fn a_state_saved_on_a_card_goes_on_on_the_cpu() {
    let Some(device) = card_or_skip() else { return };
    let folder = tempfile::tempdir().unwrap();
    let chain = Chain::new(&heisenberg(20, 1), Sector::Spins { two_sz: 0 }, None).unwrap();
    let checkpoint = |resume| Checkpoint { folder: folder.path().into(), resume };
    let few = Options { states: vec![64], sweeps: 2, ..Options::default() };
    run_on(DeviceBackend::new(&device).unwrap(), &chain, &few, Some(&checkpoint(false)), |_| {}).unwrap();
    let found = run(&chain, &Options { sweeps: 20, ..few.clone() }, Some(&checkpoint(true)), |_| {}).unwrap();
    assert_eq!(found.resumed, 2);
    assert!((found.energy + 8.682473334399).abs() < 1e-9, "{}", found.energy);
    // And back.
    let more = Options { sweeps: found.sweeps.len() + 1, tolerance: 1e-14, ..few };
    let back = run_on(DeviceBackend::new(&device).unwrap(), &chain, &more, Some(&checkpoint(true)), |_| {}).unwrap();
    assert_eq!(back.resumed, found.sweeps.len());
    assert!((back.energy - found.energy).abs() < 1e-9);
}
