//! `eigenforge solve` and `inspect` on files with `[dmrg]`: energies, files, a killed run, and what is refused.

use super::command::{command, run, stderr, stdout};
use serde_json::Value;
use std::path::Path;
use std::time::{Duration, Instant};

/// Writes a Heisenberg chain with these lines in `[dmrg]`.
fn chain(folder: &Path, sites: usize, dmrg: &str) -> String {
    let path = folder.join("chain.toml");
    let text = format!(
        "[model]\nname = \"xxz\"\njxy = 1.0\njz = 1.0\n[lattice]\nkind = \"chain\"\nsize = {sites}\n[sector]\n\
         two_sz = 0\n[dmrg]\n{dmrg}\n"
    );
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().into()
}

fn solved(arguments: &[&str]) -> Value {
    let output = run(&[&["solve", "--json"], arguments].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    serde_json::from_str(stdout(&output)).unwrap()
}

/// Bethe ansatz (tests/data/bethe_exact.json).
const HEISENBERG_32: f64 = -13.997315618224327;

#[test]
fn a_chain_far_beyond_a_vector_has_its_energy_variance_and_entropies() {
    let folder = tempfile::tempdir().unwrap();
    let input = chain(folder.path(), 32, "states = 128\ncorrelations = true");
    let out = folder.path().join("out");
    let found = solved(&[&input, "--output", out.to_str().unwrap()]);
    assert!((found["energy"].as_f64().unwrap() - HEISENBERG_32).abs() < 1e-9, "{}", found["energy"]);
    assert!(found["variance"].as_f64().unwrap().abs() < 1e-9);
    assert_eq!(found["cuts"].as_array().unwrap().len(), 31);
    assert_eq!(found["sites"]["sz"].as_array().unwrap().len(), 32);
    assert_eq!(found["stop"], "converged");
    // The sum over neighbours of <S.S> is the energy.
    let sdots = |i: usize| found["correlations"]["sdots"][i][i + 1].as_f64().unwrap();
    assert!(((0..31).map(sdots).sum::<f64>() - HEISENBERG_32).abs() < 1e-8);
    let written: Value = serde_json::from_slice(&std::fs::read(out.join("report.json")).unwrap()).unwrap();
    assert_eq!(written["energy"], found["energy"]);
    let text = run(&["solve", &input]);
    let summary = stdout(&text);
    assert!(summary.contains("-13.99731561") && summary.contains("variance"), "{summary}");
    assert!(stderr(&text).contains("sweep   0  bond"), "{}", stderr(&text));
}

#[test]
fn too_few_sweeps_are_said_and_set_the_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let input = chain(folder.path(), 16, "states = 32\nsweeps = 2");
    let output = run(&["solve", &input]);
    assert_eq!(output.status.code(), Some(3));
    assert!(stdout(&output).contains("NOT CONVERGED") && stdout(&output).contains("raise `sweeps`"));
}

#[test]
fn a_killed_run_goes_on_to_the_same_energy() {
    let folder = tempfile::tempdir().unwrap();
    let input = chain(folder.path(), 64, "states = 96");
    let saved = folder.path().join("saved");
    let checkpoint = ["--checkpoint", saved.to_str().unwrap()];
    let whole = solved(&[&input]);
    let mut child = command(&[&["solve", "--json", &input][..], &checkpoint].concat());
    let mut child = child.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    let third = saved.join("half-000003");
    let start = Instant::now();
    while !third.exists() && start.elapsed() < Duration::from_secs(120) {
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap(); // SIGKILL
    child.wait().unwrap();
    assert!(third.exists(), "no checkpoint in two minutes");
    let resumed = solved(&[&[input.as_str()][..], &checkpoint, &["--resume"]].concat());
    assert!(resumed["resumed_sweeps"].as_u64().unwrap() >= 1);
    let (found, expected) = (resumed["energy"].as_f64().unwrap(), whole["energy"].as_f64().unwrap());
    assert!((found - expected).abs() < 1e-10, "{found} is not {expected}");
    let other = chain(folder.path(), 62, "states = 96");
    let refused = run(&[&["solve", other.as_str()][..], &checkpoint].concat());
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("of another model"), "{}", stderr(&refused));
}

#[test]
fn options_of_a_diagonalisation_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let input = chain(folder.path(), 8, "states = 16");
    for (options, said) in [
        (vec!["--solver", "lanczos"], "--solver is not for a file with [dmrg]"),
        (vec!["--states", "3"], "`states`, the states kept"),
        (vec!["--vectors"], "no vector over a basis"),
    ] {
        let output = run(&[&["solve", input.as_str()][..], &options].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
    }
    for stage in ["cuda", "ptx", "sass", "resources", "ir-ron"] {
        let output = run(&["inspect", &input, "--stage", stage]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("--stage ir, plan and cost"), "{}", stderr(&output));
    }
    let build = run(&["build", &input, "--arch", "sm_90"]);
    assert_eq!(build.status.code(), Some(2), "{}", stderr(&build));
}

#[test]
fn inspect_shows_the_operator_sum_the_records_and_their_cost() {
    let folder = tempfile::tempdir().unwrap();
    let input = chain(folder.path(), 12, "states = 32");
    let shown = |stage: &str| {
        let output = run(&["inspect", &input, "--stage", stage]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stdout(&output).to_string()
    };
    let ir = shown("ir");
    assert!(ir.contains("5 x 5 operators, as before") && ir.contains("S⁺"), "{ir}");
    let cost = shown("cost");
    assert!(cost.contains("one multiply:") && cost.contains("5 operators at the cut"), "{cost}");
    assert!(shown("plan").contains("Product"), "no records");
}
