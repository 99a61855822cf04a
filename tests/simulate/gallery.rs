//! The problems of kernels_generated/ that are small enough for a dense matrix, and the paper's problem on fewer sites: the
//! multiply, and the fused updates with and without the model's own diagonal. (That the files there are this text is
//! another test's business: tests/cli_and_input/kernels.rs.)

use super::launch::{bytes, check, diagonal_tables, start};
use super::{SCHEDULES, simulator};
use eigenforge::exact::{Hamiltonian, LARGEST_DENSE, Model, Prepared};
use eigenforge::input::ModelFile;
use eigenforge::runtime::simulate::{Argument, Simulator};
use eigenforge::runtime::{Bind, Device, LinearOperator, Scalar, Vector, solvers};
use eigenforge_templates::ScalarType;
use eigenforge_templates::vector_program::{Access, THREADS, VectorProgram, blocks};
use std::path::PathBuf;

fn root() -> PathBuf {
    std::env::var("EIGENFORGE_ROOT").unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").into()).into()
}

/// The fused LOBPCG updates, without a preconditioner and with the model's own diagonal.
fn check_updates<T: Scalar>(simulator: &Simulator, model: &Model) {
    let mut programs = solvers::vector_programs();
    programs.retain(|program| program.name.starts_with("lobpcg_update"));
    assert!(programs.iter().any(|program| program.functions.is_empty()));
    assert!(programs.iter().any(|program| program.functions == ["diagonal"]));
    programs.iter().for_each(|program| check_update::<T>(simulator, model, program));
}

/// One program against the CPU device.
fn check_update<T: Scalar>(simulator: &Simulator, model: &Model, program: &VectorProgram) {
    let prepared = Prepared::new(model, T::TYPE).unwrap();
    let has_diagonal = !program.functions.is_empty();
    let functions = if has_diagonal { vec![prepared.diagonal_text()] } else { vec![] };
    let text = program.text(T::TYPE, &functions).unwrap();
    let simulated = simulator.build(&text).unwrap_or_else(|error| panic!("{error}"));
    let device = Device::cpu();
    let hamiltonian = Hamiltonian::new(model, T::TYPE, &device).unwrap();
    let diagonal = LinearOperator::<T>::diagonal(&hamiltonian).unwrap();
    let functions = if has_diagonal { vec![diagonal] } else { vec![] };
    let compiled = device.program(program, T::TYPE, &functions).unwrap();
    let n = LinearOperator::<T>::dimension(&hamiltonian);
    let scalars: Vec<f64> = (0..program.scalars.len()).map(|k| 0.7 - 0.45 * k as f64).collect();
    let first: Vec<Vec<T>> = (0..program.vectors.len()).map(|v| start(n, v)).collect();
    let mut expected: Vec<Vector<T>> = first.iter().map(|vector| device.upload(vector).unwrap()).collect();
    let mut binds: Vec<Bind<'_, T>> = expected
        .iter_mut()
        .zip(&program.vectors)
        .map(|(v, d)| if d.access == Access::In { Bind::In(v) } else { Bind::Out(v) })
        .collect();
    let expected_sums = compiled.run(&mut binds, &scalars).unwrap();
    let (grid, count) = (blocks(n, T::TYPE), program.sums.len());
    let tables = if has_diagonal { diagonal_tables(&prepared) } else { vec![] };
    let mut before: Option<(Vec<Vec<u8>>, Vec<u8>)> = None;
    for schedule in SCHEDULES {
        let mut vectors: Vec<Vec<u8>> = first.iter().map(|vector| bytes(vector)).collect();
        let (mut partials, mut sums) = (vec![0; 8 * count * grid as usize], vec![0; 8 * count]);
        let mut arguments: Vec<Argument<'_>> = Vec::new();
        for (vector, declared) in vectors.iter_mut().zip(&program.vectors) {
            arguments.push(match declared.access {
                Access::In => Argument::In(vector),
                Access::Out => Argument::Out(vector),
                Access::InOut => Argument::InOut(vector),
            });
        }
        arguments.extend(scalars.iter().map(|scalar| Argument::F64(*scalar)));
        arguments.extend(tables.iter().map(|table| Argument::In(table)));
        arguments.extend([Argument::Out(&mut partials), Argument::I64(n as i64)]);
        let name = &program.name;
        let fail = |error| panic!("{name} of {} under {schedule:?}: {error}", model.name());
        simulated.launch(name, [grid, 1, 1], [THREADS, 1, 1], 0, &mut arguments, schedule).unwrap_or_else(fail);
        drop(arguments);
        let mut arguments = [Argument::In(&partials), Argument::I32(grid as i32), Argument::Out(&mut sums)];
        let finish = format!("{name}_finish");
        simulated
            .launch(&finish, [count as u32, 1, 1], [THREADS, 1, 1], 0, &mut arguments, schedule)
            .unwrap_or_else(fail);
        for ((sum, wanted), name) in f64::read_bytes(&sums).iter().zip(&expected_sums).zip(&program.sums) {
            assert!((sum - wanted).abs() <= 1e-12 * (n as f64 + wanted.abs()), "sum {name} = {sum}, expected {wanted}");
        }
        for ((vector, wanted), declared) in vectors.iter().zip(&expected).zip(&program.vectors) {
            for (i, (a, b)) in T::read_bytes(vector).iter().zip(&wanted.download().unwrap()).enumerate() {
                let (a, b) = (a.to_f64(), b.to_f64());
                let close = (a - b).abs() <= 16.0 * T::EPSILON * (1.0 + b.abs());
                assert!(close, "{}: {}[{i}] = {a}, expected {b}", model.name(), declared.name);
            }
        }
        let found = (vectors, sums);
        assert!(before.as_ref().is_none_or(|before| *before == found), "{} differs between schedules", model.name());
        before = Some(found);
    }
}

#[test]
fn the_files_of_the_gallery() {
    let Some(simulator) = simulator() else { return };
    let (mut run, mut expressions) = (Vec::new(), 0);
    for entry in std::fs::read_dir(root().join("kernels_generated")).unwrap() {
        let folder = entry.unwrap().path();
        if !folder.join("model.toml").exists() {
            continue;
        }
        let model = ModelFile::read(&folder.join("model.toml")).unwrap().to_model().unwrap();
        if model.dimension() > LARGEST_DENSE {
            continue;
        }
        let prepared = Prepared::new(&model, ScalarType::F64).unwrap();
        // A diagonal in the user's own words, its tables in constant memory.
        expressions += usize::from(prepared.text().unwrap().text.contains("namespace sum_0 {"));
        check::<f64>(&simulator, &model, &prepared, &model.dense().unwrap());
        check_updates::<f64>(&simulator, &model);
        run.push(folder);
    }
    assert!(run.len() >= 3 && expressions > 0, "only {run:?} are small enough, {expressions} with expressions");
}

/// The paper's lattice is too large for a dense matrix; the same model on 2 x 3 sites has the same kernels.
#[test]
fn the_paper_s_problem_on_fewer_sites() {
    let Some(simulator) = simulator() else { return };
    let file = std::fs::read_to_string(root().join("kernels_generated/hubbard_4x4_paper/model.toml")).unwrap();
    let small = file.replace("[4, 4]", "[2, 3]").replace("up = 7", "up = 3").replace("down = 7", "down = 2");
    let model = ModelFile::parse("hubbard_2x3.toml", &small).unwrap().to_model().unwrap();
    assert_eq!(model.dimension(), 300);
    let dense = model.dense().unwrap();
    check::<f64>(&simulator, &model, &Prepared::new(&model, ScalarType::F64).unwrap(), &dense);
    check::<f32>(&simulator, &model, &Prepared::new(&model, ScalarType::F32).unwrap(), &dense);
    check_updates::<f64>(&simulator, &model);
    check_updates::<f32>(&simulator, &model);
}
