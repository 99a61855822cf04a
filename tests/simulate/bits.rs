//! One file of bits, tests/data/bits.json, that the simulation and a card that contracts nothing are both held to.
//!
//! The simulation never contracts a multiplication and an addition; with `fmad` off NVRTC does not either. Sums are in a
//! fixed order, division and square root are rounded correctly on both, so every kernel leaves the same bits: the multiply
//! with x·y, the vector programs of the solvers with their sums, the random start. `UPDATE_EXPECT=1` writes the file anew
//! from the simulation.

use super::devices;
use super::gallery::{root, small_paper_problem, small_problems};
use super::multiply::{multiply, start};
use super::update::run;
use eigenforge::exact::Model;
use eigenforge::runtime::jit::Settings;
use eigenforge::runtime::testing::card_or_skip;
use eigenforge::runtime::{Device, Scalar, solvers};
use eigenforge_templates::ScalarType;
use eigenforge_templates::vector_program::VectorProgram;
use std::collections::BTreeMap;

/// What a run left, by kernel and problem: a hash of the vectors, and the sums as they are.
type Bits = BTreeMap<String, String>;

fn hash<T: Scalar>(values: &[T]) -> String {
    let mut hasher = blake3::Hasher::new();
    for value in values {
        hasher.update(&value.to_f64().to_le_bytes());
    }
    hasher.finalize().to_hex()[..16].to_string()
}

fn sums(sums: &[f64]) -> String {
    sums.iter().map(|sum| format!(" {:016x}", sum.to_bits())).collect()
}

/// In the rule's shape, and with a down kernel by runs where the rule takes tiles.
fn multiplies<T: Scalar>(bits: &mut Bits, device: &Device, model: &Model) {
    let rule = model.multiply(T::TYPE).unwrap();
    let other = rule.candidates().into_iter().skip(1).find(|candidate| candidate.shape().contains("runs of"));
    for (prepared, what) in
        [Some((rule, "multiply")), other.map(|other| (other, "multiply by runs"))].into_iter().flatten()
    {
        let hamiltonian = model.hamiltonian(prepared, device).unwrap_or_else(|error| panic!("{error}"));
        let x: Vec<T> = start(model.dimension() as usize, 0);
        let (y, dot) = multiply(&hamiltonian, &x).unwrap_or_else(|error| panic!("{error}"));
        bits.insert(format!("{} {}, {what}", model.name(), T::TYPE.cuda()), hash(&y) + &sums(&[dot]));
    }
}

/// Models that run every program with a diagonal in both number types: one of each structure.
const EVERY_PROGRAM: [&str; 2] = ["hubbard_square_2x3_3up_2dn", "xxz_triangular_3x4_2sz_0"];
/// The program that runs with the diagonal of every model, in double precision.
const OF_EVERY_MODEL: &str = "lobpcg_update_jacobi";

/// Those with the model's diagonal, or the others, which know nothing of the model but its dimension.
fn programs<T: Scalar>(bits: &mut Bits, device: &Device, model: &Model, diagonal: bool) {
    let every = EVERY_PROGRAM.contains(&model.name());
    let runs = |program: &&VectorProgram| {
        let chosen = every || (program.name == OF_EVERY_MODEL && T::TYPE == ScalarType::F64);
        program.functions.is_empty() != diagonal && chosen
    };
    for program in solvers::vector_programs().iter().filter(runs) {
        let found = run::<T>(device, model, program);
        let key = format!("{} {}, {}", model.name(), T::TYPE.cuda(), program.name);
        bits.insert(key, hash(&found.vectors.concat()) + &sums(&found.sums));
    }
}

fn random<T: Scalar>(bits: &mut Bits, device: &Device) {
    let values = device.random::<T>(1001, 7).unwrap_or_else(|error| panic!("{error}")).download().unwrap();
    bits.insert(format!("random start {}", T::TYPE.cuda()), hash(&values));
}

/// A device for each problem, since a simulated one keeps two processes a kernel file.
fn all_bits(device: impl Fn() -> Option<Device>) -> Option<Bits> {
    let mut bits = Bits::new();
    for model in small_problems() {
        let device = &device()?;
        multiplies::<f64>(&mut bits, device, &model);
        multiplies::<f32>(&mut bits, device, &model);
        programs::<f64>(&mut bits, device, &model, true);
        programs::<f32>(&mut bits, device, &model, true);
    }
    let (device, model) = (&device()?, small_paper_problem());
    programs::<f64>(&mut bits, device, &model, false);
    programs::<f32>(&mut bits, device, &model, false);
    random::<f64>(&mut bits, device);
    random::<f32>(&mut bits, device);
    Some(bits)
}

fn compare(found: &Bits, who: &str) {
    let file = std::fs::read_to_string(root().join("tests/data/bits.json")).unwrap_or_default();
    let recorded: Bits = serde_json::from_str(&file).unwrap_or_default();
    let keys: Vec<&String> = found.keys().chain(recorded.keys().filter(|key| !found.contains_key(*key))).collect();
    let other = keys.iter().filter(|key| found.get(**key) != recorded.get(**key));
    let other: Vec<String> =
        other.map(|key| format!("{key}: recorded {:?}, {who} has {:?}", recorded.get(*key), found.get(*key))).collect();
    assert!(other.is_empty(), "bits differ; if a kernel was changed on purpose, UPDATE_EXPECT=1\n{}", other.join("\n"));
}

#[test]
fn the_simulation_has_the_recorded_bits() {
    let Some(found) = all_bits(|| devices().pop()) else { return };
    assert!(
        found.len() > 30
            && EVERY_PROGRAM.iter().all(|name| {
                let of_model = |key: &&String| key.starts_with(&format!("{name} float, ")) && key.ends_with("_jacobi");
                found.keys().filter(of_model).count() == 2
            }),
        "{} cases",
        found.len()
    );
    if std::env::var("UPDATE_EXPECT").is_ok_and(|value| value == "1") {
        let text = serde_json::to_string_pretty(&found).unwrap() + "\n";
        std::fs::write(root().join("tests/data/bits.json"), text).unwrap();
    }
    compare(&found, "the simulation");
}

#[test]
fn a_card_that_contracts_nothing_has_the_recorded_bits() {
    if card_or_skip().is_none() {
        return;
    }
    let mut settings = Settings::from_env().unwrap();
    settings.fmad = false;
    let device = || Some(Device::cuda_with(0, &settings).expect("EIGENFORGE_TEST_DEVICE=cuda needs a CUDA device"));
    compare(&all_bits(device).unwrap(), "the card");
}
