//! The memory plan against what runs hold; runs with too little memory, whose numbers lie on other cards, in host memory and on disk:
//! the same numbers to the last bit.

use eigenforge::basis::Sector;
use eigenforge::dmrg::{
    Chain, DmrgError, DmrgResult, MemoryPlan, MemoryRequest, MemoryUse, Options, Sweeper, plan_memory, run, run_on,
};
use eigenforge::lattice::Boundary;
use eigenforge::models;
use eigenforge::prelude::*;
use eigenforge::runtime::DeviceError;
use eigenforge::runtime::backend::Backend;
use eigenforge::runtime::backend::BoundedHostBackend;
use eigenforge::runtime::backend::DeviceBackend;
use eigenforge::runtime::residency::MemoryLimits;
use eigenforge::runtime::residency::{Budget, ProcessorKind, Usage};
use eigenforge::runtime::simulate::Schedule;
use eigenforge::runtime::testing::{card_or_simulated, teams};
use std::path::Path;

fn moments(sites: usize, two_s: u32) -> Chain {
    let lattice = Lattice::chain(sites).open();
    let (one, none) = (vec![1.0; sites - 1], vec![0.0; sites]);
    let model = models::xxz(&lattice, &one, &one, &none, &none).spin(two_s);
    Chain::new(&model, Sector::Spins { two_sz: 0 }, None).unwrap()
}

fn hubbard(sites: usize) -> Chain {
    let lattice = Lattice::chain(sites).open();
    let (t, none) = (vec![1.0; sites - 1], vec![0.0; sites]);
    let model = models::hubbard(&lattice, &t, &vec![4.0; sites], &none, 0.0, &vec![0.0; sites - 1]);
    Chain::new(&model, Sector::Fermions { up: sites / 2, down: sites / 2 }, None).unwrap()
}

fn options(states: usize) -> Options {
    Options { states: vec![states], sweeps: 6, ..Options::default() }
}

/// A card if tests were asked to use one, else the simulator.
fn device() -> Option<Device> {
    card_or_simulated(Schedule::Forward)
}

/// What was taken of the memory where it computed is what was planned when the sectors were known, to 5 %.
fn keeps_to_its_plan(name: &str, found: &DmrgResult) -> MemoryUse {
    let held = found.memory.unwrap();
    assert!(held.plan.measured, "{name}: the plan is made again when the sectors are known");
    let ratio = held.taken as f64 / held.plan.reserved as f64;
    println!("{name}: {ratio:.4} of {:?}, held {:?}", held.plan, held.peak);
    assert!((0.95..=1.05).contains(&ratio), "{name}: taken {} of {:?}", held.taken, held.plan);
    assert!(held.peak.memory <= held.taken && (held.peak.host, held.peak.disk) == (0, 0), "{name}: {held:?}");
    held
}

#[test]
fn what_is_held_on_the_cpu_is_what_was_planned() {
    for (name, chain, states) in [
        ("Heisenberg, 40 sites", moments(40, 1), 128),
        ("Hubbard, 16 sites", hubbard(16), 256),
        ("spin 1, 20 sites", moments(20, 2), 100),
        ("spin 1, 30 sites", moments(30, 2), 200),
        ("spin 3/2, 20 sites", moments(20, 3), 120),
        // Weights run out before 200 states.
        ("Heisenberg, 24 sites", moments(24, 1), 200),
    ] {
        keeps_to_its_plan(name, &run(&chain, &options(states), None, |_| {}).unwrap());
    }
}

#[test]
fn what_is_taken_of_a_device_is_what_was_planned_and_nothing_leaves() {
    let Some(device) = device() else { return };
    let chains = if device.is_cuda() {
        vec![
            ("Heisenberg, 40 sites", moments(40, 1), 128),
            ("Hubbard, 16 sites", hubbard(16), 256),
            ("Hubbard, 16 sites", hubbard(16), 1024),
            ("spin 1, 30 sites", moments(30, 2), 200),
        ]
    } else {
        vec![("Heisenberg, 6 sites", moments(6, 1), 8)]
    };
    for (name, chain, states) in chains {
        let few = Options { states: vec![states / 2, states], sweeps: 4, noise: Some(vec![0.0]), ..Options::default() };
        // One sweep from a random state does not show the sectors of the ground state yet: it foresees by far too little.
        for options in if device.is_cuda() { vec![options(states), few] } else { vec![few] } {
            let engine = DeviceBackend::new(&device).unwrap();
            keeps_to_its_plan(name, &run_on(engine, &chain, &options, None, |_| {}).unwrap());
        }
    }
}

/// Energy of every sweep, and what is read off the state, in bits.
fn bits(found: &DmrgResult) -> Vec<u64> {
    let sweeps = found.sweeps.iter().map(|sweep| sweep.energy);
    let cuts = found.cuts.iter().map(|cut| cut.entropy);
    sweeps.chain([found.energy, found.variance.unwrap()]).chain(cuts).map(f64::to_bits).collect()
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().next().is_none()
}

#[test]
fn numbers_that_were_on_disk_are_the_same_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let (name, chain, options) = ("Heisenberg", moments(40, 1), options(96));
    let roomy = run(&chain, &options, None, |_| {}).unwrap();
    let MemoryUse { plan, peak: whole, .. } = roomy.memory.unwrap();
    // Half of what the blocks and states would take.
    let limit = whole.memory - (plan.blocks + plan.kept) / 2;
    let engine = BoundedHostBackend::new(limit, folder.path().into());
    let tight = run_on(engine, &chain, &options, None, |_| {}).unwrap();
    let MemoryUse { plan, peak: held, .. } = tight.memory.unwrap();
    println!("{name} within {limit}: {plan:?}, held {held:?}");
    assert!(held.disk > (whole.memory - limit) / 2 && held.memory <= limit, "{name}: {held:?} of {whole:?}");
    assert_eq!(bits(&tight), bits(&roomy), "{name}");
    assert!(is_empty(folder.path()), "{name}: nothing is left of the scratch file");
}

#[test]
fn a_scratch_folder_that_is_not_there_and_memory_for_no_bond_are_said() {
    let (chain, options) = (moments(40, 1), options(96));
    let plan = run(&chain, &options, None, |_| {}).unwrap().memory.unwrap().plan;
    let limit = plan.whole - (plan.blocks + plan.kept) / 2;
    let nowhere = BoundedHostBackend::new(limit, "/no/such/folder".into());
    let error = run_on(nowhere, &chain, &options, None, |_| {}).unwrap_err();
    assert!(matches!(error, DmrgError::Scratch(_)), "{error}");
    assert!(error.to_string().contains("`scratch`"), "{error}");
    let little = BoundedHostBackend::new(plan.vectors / 100, std::env::temp_dir());
    match run_on(little, &chain, &options, None, |_| {}).unwrap_err() {
        DmrgError::Memory { needed, free, states } => {
            assert!(needed > free && (1..96).contains(&states), "{needed} {free} {states}")
        }
        other => panic!("{other}"),
    }
}

/// What exceeds a card is planned for the others as far as they have room, and the report says how much.
#[test]
fn a_plan_fills_other_cards_before_the_host() {
    let chain = moments(40, 1);
    let planned = |memory, other_cards| {
        let request = MemoryRequest { states: 96, noisy: false, targets: 1, measured: false, expands: false };
        let budget = Budget { processor: ProcessorKind::Card, cards: 2, memory, other_cards, host: 0 };
        plan_memory(&chain, request, budget).unwrap()
    };
    let roomy = planned(u64::MAX, u64::MAX);
    assert_eq!((roomy.other_cards, roomy.evicted_bytes()), (0, 0));
    let memory = roomy.bond * 13 / 10;
    let evicted = planned(memory, 0).evicted_bytes();
    assert!(evicted > 1 << 20, "{roomy:?}");
    for (room, said) in [
        (0, "MiB and 1.5 MiB moved elsewhere for 96 states"),
        (1 << 20, "MiB, 1.0 MiB on other cards and "),
        (u64::MAX, "MiB and 1.5 MiB on other cards for 96 states"),
    ] {
        let plan = planned(memory, room);
        assert_eq!((plan.other_cards, plan.evicted_bytes()), (evicted.min(room), evicted));
        assert!(plan.describe().contains(said), "{}", plan.describe());
    }
}

/// Solves that are shared out leave the first card a part of V and W, so that a bond fits into less; small ones are its own.
#[test]
fn a_plan_of_several_cards_has_a_part_of_the_vectors_on_the_first() {
    let lattice = Lattice::square([6, 4]).boundary([Boundary::Open, Boundary::Periodic]);
    let (bonds, sites) = (lattice.bonds().len(), lattice.sites().count());
    let (one, u, none) = (vec![1.0; bonds], vec![8.0; sites], vec![0.0; sites]);
    let model = models::hubbard(&lattice, &one, &u, &none, 0.0, &vec![0.0; bonds]);
    let chain = Chain::new(&model, Sector::Fermions { up: 12, down: 12 }, None).unwrap();
    let planned = |states, cards, memory| {
        let request = MemoryRequest { states, noisy: false, targets: 1, measured: false, expands: false };
        let budget = Budget { processor: ProcessorKind::Card, cards, memory, other_cards: 0, host: 0 };
        plan_memory(&chain, request, budget)
    };
    let [one, four] = [1, 4].map(|cards| planned(4096, cards, u64::MAX).unwrap());
    assert_eq!((one.spread, one.vectors, one.elements()), (0, four.vectors, four.elements()));
    let part = four.spread as f64 / four.vectors as f64;
    assert!((part - 0.6875).abs() < 1e-3 && one.whole - four.whole == four.spread, "{four:?}");
    let sum: u64 = four.items().iter().map(|(_, bytes)| bytes).sum();
    assert!(sum == four.whole && four.items()[2].0.contains("part of V and W"), "{:?}", four.items());
    let memory = one.bond * 6 / 5 - one.vectors * 7 / 10;
    assert!(matches!(planned(4096, 1, memory), Ok(narrow) if narrow.width < 20) || planned(4096, 1, memory).is_err());
    assert_eq!(planned(4096, 4, memory).unwrap().width, 20);
    assert_eq!(planned(512, 4, u64::MAX).unwrap().spread, 0);
}

/// Sweeps of a chain on a device within so many bytes of its memory, of each other card's and of host memory, if a bond can be done with
/// that; `clears` has everything leave that a step leaves behind.
fn swept(
    device: &Device,
    chain: &Chain,
    (memory, other_cards, host): (u64, &[u64], u64),
    clears: bool,
) -> Option<(Vec<u64>, Usage)> {
    let (states, sweeps) = if device.is_cuda() { (100, 4) } else { (6, 1) };
    let scratch = tempfile::tempdir().unwrap();
    let limits = MemoryLimits { memory, host, scratch: scratch.path().into(), other_cards: other_cards.into() };
    let mut engine = DeviceBackend::of_cards(device, &device.members().unwrap(), limits).unwrap();
    // As many vectors in each of them, so that they take the same steps.
    let options = Options { states: vec![states], ..Options::default() };
    let everything = Budget { memory: u64::MAX, ..engine.limits() };
    let plan = plan_memory(chain, MemoryRequest::first(&options, states, 5, 6), everything).unwrap();
    let full = |error: DmrgError| assert!(matches!(error, DmrgError::Device(DeviceError::Memory { .. })), "{error}");
    engine.apply_plan(&MemoryPlan { reserved: memory, ..plan }.memory()).map_err(|error| full(error.into())).ok()?;
    let plan = options.plan(5);
    let mut sweeper = Sweeper::random(engine, chain, 4, 1).map_err(full).ok()?;
    let mut energies = Vec::new();
    for (p, grows) in (0..sweeps).flat_map(|_| Sweeper::<DeviceBackend>::path(chain.sites)) {
        energies.push(sweeper.step(p, grows, &plan).map_err(full).ok()?.energy.to_bits());
        if clears {
            sweeper.engine().pool().evict_all().unwrap();
        }
    }
    let (usage, pool) = (sweeper.engine().usage(), sweeper.engine().pool());
    assert!(usage.memory <= pool.reserved() && pool.reserved() <= memory.next_multiple_of(2 << 20));
    assert!(is_empty(scratch.path()));
    Some((energies, usage))
}

#[test]
fn numbers_that_left_a_device_are_the_same_numbers() {
    let Some(device) = device() else { return };
    let chain = if device.is_cuda() { moments(60, 1) } else { moments(6, 1) };
    let (expected, stayed) = swept(&device, &chain, (1 << 30, &[], u64::MAX), false).unwrap();
    assert_eq!((stayed.host, stayed.disk), (0, 0));
    let (by_host, beside) = swept(&device, &chain, (1 << 30, &[], u64::MAX), true).unwrap();
    let (by_disk, below) = swept(&device, &chain, (1 << 30, &[], 0), true).unwrap();
    assert!(beside.host > 0 && beside.disk == 0 && below.disk > 0, "{beside:?} {below:?}");
    assert_eq!((&by_host, &by_disk), (&expected, &expected));
}

/// All that a step leaves behind goes to another card, and to the host where that has too little room.
#[test]
fn numbers_that_other_cards_kept_are_the_same_numbers() {
    for team in teams(&[2]) {
        let chain = if team.is_cuda() { moments(60, 1) } else { moments(6, 1) };
        let (expected, stayed) = swept(&team, &chain, (1 << 30, &[1 << 28], u64::MAX), false).unwrap();
        assert_eq!((stayed.other_cards, stayed.host, stayed.disk), (0, 0, 0));
        let (found, there) = swept(&team, &chain, (1 << 30, &[1 << 28], u64::MAX), true).unwrap();
        assert!(there.other_cards > 0 && (there.host, there.disk) == (0, 0), "{there:?}");
        assert_eq!(found, expected);
        let (found, usage) = swept(&team, &chain, (1 << 30, &[there.other_cards / 8], 0), true).unwrap();
        assert!(usage.other_cards > 0 && usage.other_cards < there.other_cards, "{usage:?} of {there:?}");
        assert!(usage.host > 0 && usage.disk > 0, "{usage:?}");
        assert_eq!(found, expected);
    }
}

/// Of a card: within parts of what everything takes, down to what one bond does.
#[test]
fn a_run_within_less_memory_takes_the_same_steps() {
    let Some(device) = device() else { return };
    if !device.is_cuda() {
        return;
    }
    let chain = moments(60, 1);
    let (expected, stayed) = swept(&device, &chain, (1 << 30, &[], u64::MAX), false).unwrap();
    let mut done = 0;
    for (part, host) in [(0.9, u64::MAX), (0.9, 0), (0.8, u64::MAX), (0.8, 0), (0.75, u64::MAX), (0.75, 0)] {
        let memory = (part * stayed.memory as f64) as u64;
        let Some((found, usage)) = swept(&device, &chain, (memory, &[], host), false) else { continue };
        println!("{part} of {stayed:?}: {usage:?}");
        assert!(found == expected && usage.host > 0 && (usage.disk > 0) == (host == 0), "within {part}: {usage:?}");
        done += 1;
    }
    assert!(done > 3, "{done} of six had enough for a bond");
}
