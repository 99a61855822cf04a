//! The paper's multiplies against a plain loop, on the CPU and as kernels; LOBPCG in both ways against the dense ground state.

use super::super::published::{Paper, tables};
use super::lobpcg::{Operations, Others};
use super::multiply::{PaperMultiply, Variant, baseline};
use super::{Setup, measure};
use crate::kronecker::{Hubbard, KroneckerProblem};
use eigenforge_runtime::jit::{Arch, CacheFolder, Jit, Settings};
use eigenforge_runtime::simulate::Schedule;
use eigenforge_runtime::{Device, seeded, testing};
use eigenforge_templates::signature::Signature;

/// A ring of `sites` with different U on its sites, so that V has no symmetry that hides a transpose.
fn ring(sites: usize, up: usize, down: usize) -> KroneckerProblem {
    KroneckerProblem::new(Hubbard {
        hopping: (0..sites).map(|i| (i, (i + 1) % sites, -1.0 - 0.1 * i as f64)).collect(),
        interaction: (0..sites).map(|i| 4.0 + i as f64).collect(),
        potential: (0..sites).map(|i| 0.3 * i as f64).collect(),
        up,
        down,
        ..Hubbard::default()
    })
}

fn plain(problem: &KroneckerProblem, x: &[f64]) -> Vec<f64> {
    let mut y = vec![0.0; x.len()];
    problem.multiply(&problem.diagonal(), x, &mut y);
    y
}

#[test]
fn the_papers_multiplies_are_the_plain_one() {
    let mut devices = testing::kernel_devices(Schedule::Reverse);
    devices.push(Device::cpu());
    // Fewer states than a tile, whole tiles, and tiles that stand over on both sides.
    for problem in [ring(4, 1, 2), ring(4, 4, 1), ring(7, 3, 2), ring(6, 2, 3)] {
        let x = seeded::vector(problem.dimension(), seeded::SEED_X);
        let expected = plain(&problem, &x);
        for variant in [Variant::Conventional, Variant::Tuned] {
            let mut whole = vec![f64::NAN; x.len()];
            baseline(&problem, variant).multiply_on_host(&x, &mut whole);
            for device in &devices {
                let mut multiply = PaperMultiply::new(&problem, variant, device).unwrap();
                let on_device = device.upload(&x).unwrap();
                let mut y = device.upload(&vec![f64::NAN; x.len()]).unwrap();
                multiply.run(&on_device, &mut y).unwrap_or_else(|error| panic!("{variant:?}: {error}"));
                for (y, expected) in y.download().unwrap().iter().chain(&whole).zip(expected.iter().cycle()) {
                    assert!((y - expected).abs() < 1e-12, "{variant:?}, {}: {y} {expected}", device.name());
                }
            }
        }
    }
}

#[test]
fn the_text_compiles_and_declares_what_is_launched() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut settings = Settings::from_env().expect("settings");
    settings.cache = CacheFolder::At(folder.path().into());
    let jit = Jit::for_tests(&settings);
    for variant in [Variant::Conventional, Variant::Tuned] {
        let (text, launches) = baseline(&ring(7, 3, 2), variant).launches().unwrap();
        for launch in &launches {
            let signature = Signature::read(&text.text, &launch.entry).expect("the kernel");
            signature.check(launch).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(signature.threads, Some(launch.block), "{}", launch.entry);
        }
        for arch in [80, 90, 100] {
            let Some(jit) = &jit else { continue };
            let compiled = jit.compile(&text, Arch(arch));
            assert!(!compiled.unwrap_or_else(|error| panic!("{error}")).image.is_empty());
        }
    }
}

/// The dimer at half filling: U/2 - sqrt(U²/4 + 4 t²) (Ashcroft and Mermin, problem 32.5), by both ways on the CPU.
#[test]
fn lobpcg_finds_the_dimers_ground_state_in_both_ways() {
    let dimer = KroneckerProblem::new(Hubbard {
        hopping: vec![(0, 1, -1.0)],
        interaction: vec![4.0; 2],
        potential: vec![0.0; 2],
        up: 1,
        down: 1,
        ..Hubbard::default()
    });
    let device = Device::cpu();
    let operations = Operations::new(&device).unwrap();
    for others in [Others::OneByOne, Others::Fused] {
        let mut multiply = PaperMultiply::new(&dimer, Variant::Tuned, &device).unwrap();
        let x = device.upload(&[0.9, 0.4, 0.5, 0.7]).unwrap();
        let run = operations.run(&mut |x, y| multiply.run(x, y), x, others, 12).unwrap();
        assert!((run.energy - (2.0 - 8f64.sqrt())).abs() < 1e-9, "{others:?}: {}", run.energy);
    }
}

#[test]
fn the_tables_are_redrawn_on_the_cpu() {
    let setup = Setup { device: Device::cpu(), ordinal: 0, scale: Some(6), repeats: 2 };
    let table = |number: usize| measure(&tables(Paper::Hubbard)[number - 1], &setup);
    let parts = table(1).unwrap();
    let conventional = &parts.measured[0];
    assert!(conventional.cells.len() == 5 && conventional.cells.iter().all(Option::is_some), "{parts}");
    assert!(parts.measured[1].cells[0].is_none() && parts.measured[1].cells[1].is_some(), "{parts}");
    assert!(parts.notes[0].contains("2 + 2 electrons instead of 7 + 7"), "{parts}");
    let runs = table(3).unwrap();
    assert_eq!(runs.measured.len(), 5, "{runs}");
    for column in &runs.measured {
        assert!(column.cells[0] == Some(164.0) && column.cells[2].is_some_and(|gflops| gflops > 0.0), "{runs}");
    }
    assert!(table(2).unwrap_err().to_string().contains("doctor"));
}
