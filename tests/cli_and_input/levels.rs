//! Levels, not vectors: averages, spins and multiplicities of a level are the same for every seed and solver, in symmetry sectors and
//! without them, and a level of several spins is told as one.

use super::command::{run, stderr, stdout};
use super::symmetries::tower;
use serde_json::Value;
use std::path::Path;

/// Runs a text with a `[solve]` and returns the report.
fn solved(folder: &Path, text: &str, solve: &str) -> Value {
    let path = folder.join("model.toml");
    std::fs::write(&path, format!("{text}[solve]\n{solve}\n")).unwrap();
    let output = run(&["solve", path.to_str().unwrap(), "--device", "cpu", "--json"]);
    assert!(output.status.success(), "{text}{solve}\n{}", stderr(&output));
    serde_json::from_str(stdout(&output)).unwrap()
}

/// All numbers of a value, one after the other.
fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(list) => list.iter().flat_map(numbers).collect(),
        Value::Object(map) => map.values().flat_map(numbers).collect(),
        value => value.as_f64().into_iter().collect(),
    }
}

fn assert_close(what: &str, a: &Value, b: &Value, tolerance: f64) {
    let (a, b) = (numbers(a), numbers(b));
    assert_eq!(a.len(), b.len(), "{what}");
    a.iter().zip(&b).for_each(|(a, b)| assert!((a - b).abs() < tolerance, "{what}: {a} and {b}"));
}

/// A level at energy 0, which a share of |E| split: 6 states in one sector, found in sectors of 4 and 2.
#[test]
fn a_level_at_zero_is_one_level_in_symmetry_sectors_too() {
    let text = "[model]\nname = \"terms\"\nsite = \"spin 1/2\"\n\
                H = \"\"\"\nsum(<i, j> in bonds; 0.431 * sdots(i, j))\n\
                + sum(<i, j> in lattice.bonds_at(2); -0.759 * (sp(i) * sm(j) + h.c.) + -0.39 * sz(i) * sz(j))\n\"\"\"\n\
                [lattice]\nkind = \"triangular\"\nsize = [[2, 0], [1, 4]]\n[sector]\ntwo_sz = 4\n";
    let folder = tempfile::tempdir().unwrap();
    let plain = solved(folder.path(), text, "states = 28");
    let (_, table) = tower(text, &["--states", "28"]);
    let levels = plain["levels"].as_array().unwrap();
    assert_eq!(table.levels.len(), levels.len());
    for (level, plain) in table.levels.iter().zip(levels) {
        assert!(level.complete && plain["complete"] == true);
        assert_eq!(level.states, plain["multiplicity"].as_u64().unwrap(), "{level:?}");
        assert!((level.energy - plain["energy"].as_f64().unwrap()).abs() < 1e-13);
    }
    assert!(table.levels.iter().any(|level| level.states == 6 && level.energy.abs() < 1e-14));
}

/// Rings of electrons, of complex vectors, of spins without a fixed Sᶻ: every average and spin of every level, cut or not, by every
/// solver and some seeds.
#[test]
fn averages_and_spins_of_levels_do_not_depend_on_solver_and_seed() {
    let folder = tempfile::tempdir().unwrap();
    let hubbard = "[model]\nname = \"hubbard\"\nt = 1.0\nu = 4.0\n[lattice]\nkind = \"chain\"\nsize = 6\nboundary = \"periodic\"\n\
                   [sector]\nup = 3\ndown = 2\n[observables]\npair = \"n(0) * n(1)\"\nhop = \"cdag(i, Up) * c(j, Up)\"\n";
    let spins = "[model]\nname = \"terms\"\nsite = \"spin 1/2\"\nH = \"sum(<i, j> in bonds; sdots(i, j))\"\n[lattice]\n\
                 kind = \"chain\"\nsize = 8\nboundary = \"periodic\"\n[sector]\n[observables]\nlocal = \"sz(0) * sz(1) * sz(2) * sz(3)\"\n";
    let momentum = format!("{spins}[symmetry]\nk = 1\n");
    for (text, states, spin) in [(hubbard, 5, 0.5), (spins, 6, 1.0), (&momentum, 5, 1.0)] {
        let mut first: Option<Value> = None;
        for (solver, seeds) in [("dense", 1..2), ("lanczos", 1..4), ("lobpcg", 4..6), ("davidson", 6..8)] {
            for seed in seeds {
                let solve = format!("solver = \"{solver}\"\nseed = {seed}\nstates = {states}");
                let found = solved(folder.path(), text, &solve);
                assert!(found["levels"].as_array().unwrap().iter().all(|level| level["complete"] == true), "{found}");
                let what = format!("{text}{solve}");
                let first = first.get_or_insert_with(|| found.clone());
                for key in ["energies", "levels", "observables", "state_observables"] {
                    assert_close(&format!("{what}: {key}"), &first[key], &found[key], 1e-7);
                }
            }
        }
        let first = first.unwrap();
        let levels = first["levels"].as_array().unwrap();
        let degenerate = levels.iter().find(|level| level["multiplicity"].as_u64().unwrap() > 1).unwrap();
        assert_eq!(degenerate["spin"]["spins"][0]["s"], spin, "{degenerate}");
        let returned: u64 = levels.iter().map(|level| level["returned"].as_u64().unwrap()).sum();
        assert_eq!(returned, states);
    }
}

/// Four sites between which nothing hops, two electrons of each spin: six states, one of them of S = 2, three of 1 and two of 0.
const SITES_APART: &str =
    "&FCI NORB=4,NELEC=4,MS2=0, &END\n0.5 1 1 1 1\n0.5 2 2 2 2\n0.5 3 3 3 3\n0.5 4 4 4 4\n0.0 0 0 0 0\n";

#[test]
fn a_level_of_several_spins_is_told_as_one() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("apart.FCIDUMP"), SITES_APART).unwrap();
    let text = "[ci]\nfcidump = \"apart.FCIDUMP\"\n[observables]\npair = \"n(0) * n(1)\"\n";
    let spins = serde_json::json!([{"s": 0.0, "states": 2}, {"s": 1.0, "states": 3}, {"s": 2.0, "states": 1}]);
    for (solver, seed, states) in
        [("dense", 1, 6), ("lanczos", 1, 1), ("lanczos", 2, 4), ("davidson", 3, 1), ("lobpcg", 4, 3)]
    {
        let solve = format!("solver = \"{solver}\"\nseed = {seed}\nstates = {states}");
        let found = solved(folder.path(), text, &solve);
        assert_eq!(found["levels"][0]["spin"]["spins"], spins, "{solve}");
        let expected = [0.0, 0.0, 2.0, 2.0, 2.0, 6.0];
        assert_close(&solve, &found["s_squared"], &serde_json::json!(expected[..states]), 1e-8);
        assert_close(&solve, &found["natural_occupations"], &serde_json::json!([1.0, 1.0, 1.0, 1.0]), 1e-8);
        assert_close(&solve, &found["state_observables"][states - 1]["pair"], &serde_json::json!(1.0), 1e-8);
        let warnings = found["warnings"].to_string();
        assert!(!warnings.contains("lacks determinants") && !warnings.contains("<S"), "{warnings}");
    }
    // In words, and on a lattice.
    let hubbard = "[model]\nname = \"hubbard\"\nt = 0.0\nu = 1.0\n[lattice]\nkind = \"chain\"\nsize = 4\n[sector]\nup = 2\ndown = 2\n";
    std::fs::write(folder.path().join("apart.toml"), hubbard).unwrap();
    std::fs::write(folder.path().join("molecule.toml"), text).unwrap();
    for file in ["apart.toml", "molecule.toml"] {
        let output = run(&["solve", folder.path().join(file).to_str().unwrap(), "--device", "cpu"]);
        let said = "has states of several spins: S = 0 (2 states), 1 (3 states), 2 (1 state)";
        assert!(stdout(&output).contains(said), "{}{}", stdout(&output), stderr(&output));
    }
}

/// A share of the random models: symmetry sectors, iterative solvers, whole spectra.
#[test]
fn levels_of_random_models_by_sectors_and_solvers_are_those_of_the_whole_spectrum() {
    let output = run(&["bench", "levels", "--models", "25", "--seed", "46"]);
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    assert!(
        stdout(&output).contains("25 models, ") && stdout(&output).contains("; 0 models differ"),
        "{}",
        stdout(&output)
    );
}
