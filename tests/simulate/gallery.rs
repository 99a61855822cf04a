//! The problems of kernels_generated/ that are small enough for a dense matrix, and the paper's problem on fewer sites: the
//! multiply, and the fused updates with and without the model's own diagonal. (That the files there are this text is
//! another test's business: tests/cli_and_input/kernels.rs.)

use super::devices;
use super::multiply::check;
use super::update::{Run, run};
use eigenforge::exact::{LARGEST_DENSE, Model};
use eigenforge::input::{InputFile, ModelFile};
use eigenforge::runtime::{Device, Scalar, solvers};
use eigenforge_templates::ScalarType;
use eigenforge_templates::vector_program::VectorProgram;
use std::path::PathBuf;

pub fn root() -> PathBuf {
    std::env::var("EIGENFORGE_ROOT").unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").into()).into()
}

/// The fused LOBPCG updates, without a preconditioner and with the model's own diagonal.
pub fn check_updates<T: Scalar>(devices: &[Device], model: &Model) {
    let mut programs = solvers::vector_programs();
    programs.retain(|program| program.name.starts_with("lobpcg_update"));
    assert!(programs.iter().any(|program| program.functions.is_empty()));
    assert!(programs.iter().any(|program| program.functions == ["diagonal"]));
    programs.iter().for_each(|program| check_update::<T>(devices, model, program));
}

/// One program against the CPU device.
fn check_update<T: Scalar>(devices: &[Device], model: &Model, program: &VectorProgram) {
    let cpu = run::<T>(&Device::cpu(), model, program);
    let mut before: Option<Run> = None;
    for device in devices {
        let found = run::<T>(device, model, program);
        let n = found.vectors.first().map_or(0, Vec::len);
        for ((sum, wanted), name) in found.sums.iter().zip(&cpu.sums).zip(&program.sums) {
            assert!((sum - wanted).abs() <= 1e-12 * (n as f64 + wanted.abs()), "sum {name} = {sum}, expected {wanted}");
        }
        for ((vector, wanted), declared) in found.vectors.iter().zip(&cpu.vectors).zip(&program.vectors) {
            for (i, (a, b)) in vector.iter().zip(wanted).enumerate() {
                let close = (a - b).abs() <= 16.0 * T::EPSILON * (1.0 + b.abs());
                assert!(close, "{}: {}[{i}] = {a}, expected {b}", model.name(), declared.name);
            }
        }
        let same = before.as_ref().is_none_or(|before| before.bits().eq(found.bits()));
        assert!(same, "{} of {} differs between schedules", program.name, model.name());
        before = Some(found);
    }
}

/// The problems of the gallery that are small enough for a dense matrix, and the paper's on 2 x 3 sites.
pub fn small_problems() -> Vec<Model> {
    let mut folders: Vec<PathBuf> = std::fs::read_dir(root().join("kernels_generated"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|folder| folder.join("model.toml").exists())
        // A table of partners is on cards alone: `listed` compares it.
        .filter(|folder| !folder.ends_with("heisenberg_ring_table"))
        .collect();
    folders.sort();
    // Molecules, chains and interactions stand there too.
    let model = |folder: &PathBuf| match InputFile::read(&folder.join("model.toml")).unwrap() {
        InputFile::Lattice(file) => Some(file.to_model().unwrap()),
        _ => None,
    };
    let mut models: Vec<Model> =
        folders.iter().filter_map(model).filter(|model| model.dimension() <= LARGEST_DENSE).collect();
    assert!(models.len() >= 3, "only {} of {folders:?} are small enough", models.len());
    models.push(small_paper_problem());
    models
}

/// The paper's lattice is too large for a dense matrix; the same model on 2 x 3 sites has the same kernels.
pub fn small_paper_problem() -> Model {
    let file = std::fs::read_to_string(root().join("kernels_generated/hubbard_4x4_paper/model.toml")).unwrap();
    let small = file.replace("[4, 4]", "[2, 3]").replace("up = 7", "up = 3").replace("down = 7", "down = 2");
    let model = ModelFile::parse("hubbard_2x3.toml", &small).unwrap().to_model().unwrap();
    assert_eq!(model.dimension(), 300);
    model
}

#[test]
fn the_files_of_the_gallery() {
    let mut expressions = 0;
    for model in small_problems() {
        // A device keeps two processes a kernel file, so each problem has devices of its own.
        let devices = devices();
        let prepared = model.multiply(ScalarType::F64).unwrap();
        // A diagonal in the user's own words, its tables in constant memory.
        expressions += usize::from(prepared.text().unwrap().text.contains("namespace sum_0 {"));
        check::<f64>(&devices, &model, &prepared, &model.dense().unwrap());
        check_updates::<f64>(&devices, &model);
    }
    assert!(expressions > 0, "none has a diagonal in the user's own words");
}

#[test]
fn the_paper_s_problem_on_fewer_sites_in_single_precision() {
    let (devices, model) = (devices(), small_paper_problem());
    let prepared = model.multiply(ScalarType::F32).unwrap();
    check::<f32>(&devices, &model, &prepared, &model.dense().unwrap());
    check_updates::<f32>(&devices, &model);
}
