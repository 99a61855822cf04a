//! `[observables]` of a model file, in every family: values that are known, and errors at their place.

use super::command::{run, stderr, stdout};
use serde_json::Value;
use std::path::Path;

/// Runs a file and returns its report.
fn solved(folder: &Path, text: &str) -> Value {
    let path = folder.join("model.toml");
    std::fs::write(&path, text).unwrap();
    let output = run(&["solve", path.to_str().unwrap(), "--device", "cpu", "--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_str(stdout(&output)).unwrap()
}

const RING: &str = "[model]\nname = \"hubbard\"\nt = 1.0\nu = 4.0\n[lattice]\nkind = \"chain\"\nsize = 6\n\
                    boundary = \"periodic\"\n[sector]\nup = 3\ndown = 3\n";

const OBSERVABLES: &str = "[observables]\n\
    hopping = \"sum(<i, j> in bonds, s in [Up, Down]; -t * (cdag(i, s) * c(j, s) + h.c.))\"\n\
    repulsion = \"sum(i in sites; u[i] * n(i, Up) * n(i, Down))\"\n\
    doubles = \"n(i, Up) * n(i, Down)\"\n\
    hop = \"cdag(i, Up) * c(j, Up)\"\n\
    total_spin = \"sum(i in sites, j in sites; sdots(i, j))\"\n";

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

/// ⟨T⟩ + ⟨U⟩ is the energy, of every state; the standard averages agree with the same operators as text.
fn check(report: &Value, tolerance: f64) {
    let states = report["state_observables"].as_array().unwrap();
    assert_eq!(states.len(), report["energies"].as_array().unwrap().len());
    for (state, energy) in states.iter().zip(report["energies"].as_array().unwrap()) {
        let found = number(&state["hopping"]) + number(&state["repulsion"]);
        assert!((found - number(energy)).abs() < tolerance, "{found} is not {energy}");
    }
    let level = &report["observables"];
    assert_eq!(level["averaged_over"], 1);
    for i in 0..6 {
        let (own, standard) = (number(&level["doubles"][i]), number(&level["double_occupancy"][i]));
        assert!((own - standard).abs() < tolerance, "site {i}: {own} is not {standard}");
        let (hop, density) = (number(&level["hop"][i][i]), number(&level["n_up"][i]));
        assert!((hop - density).abs() < tolerance, "site {i}: {hop} is not {density}");
    }
    assert!(number(&level["total_spin"]).abs() < tolerance, "a singlet has spin {}", level["total_spin"]);
}

#[test]
fn observables_of_a_ring_are_the_same_by_diagonalisation_and_by_dmrg() {
    let folder = tempfile::tempdir().unwrap();
    let exact = solved(folder.path(), &format!("{RING}[solve]\nstates = 3\n{OBSERVABLES}"));
    check(&exact, 1e-8);
    let swept = solved(folder.path(), &format!("{RING}[dmrg]\nstates = 256\ntargets = 2\n{OBSERVABLES}"));
    // The energy of DMRG is good to the square of what its state is.
    check(&swept, 1e-5);
    for (i, j) in (0..6).flat_map(|i| (0..6).map(move |j| (i, j))) {
        let (a, b) = (number(&exact["observables"]["hop"][i][j]), number(&swept["observables"]["hop"][i][j]));
        assert!((a - b).abs() < 1e-5, "{i}, {j}: {a} and {b}");
    }
    let none = solved(folder.path(), &format!("{RING}[observables]\nstandard = false\n"));
    assert_eq!(none["observables"], serde_json::json!({"averaged_over": 1}));
}

/// Numbers of electrons, spin and pairs of the lowest state of water in CISD.
#[test]
fn observables_of_a_molecule_are_about_its_orbitals() {
    let folder = tempfile::tempdir().unwrap();
    let fcidump = super::gallery::root().join("tests/data/ci/H2O_631g_fc_0.96.FCIDUMP");
    let text = format!(
        "[ci]\nfcidump = \"{}\"\nspace = \"cisd\"\n[observables]\nelectrons = \"sum(i in sites; n(i))\"\n\
         pairs = \"n(i, Up) * n(i, Down)\"\nspin = \"sum(i in sites, j in sites; sdots(i, j))\"\n",
        fcidump.display()
    );
    let report = solved(folder.path(), &text);
    let level = &report["observables"];
    assert!((number(&level["electrons"]) - 8.0).abs() < 1e-9, "{}", level["electrons"]);
    assert!((number(&level["spin"]) - number(&report["s_squared"][0])).abs() < 1e-8, "{}", level["spin"]);
    let pairs: Vec<f64> = level["pairs"].as_array().unwrap().iter().map(number).collect();
    assert!(pairs[0] > 0.9 && pairs.iter().all(|pair| (0.0..=1.0).contains(pair)), "{pairs:?}");
    let path = folder.path().join("bad.toml");
    std::fs::write(&path, text.replace("n(i, Up) * n(i, Down)", "n(0) * n(1) * n(2)")).unwrap();
    let output = run(&["solve", path.to_str().unwrap(), "--device", "cpu"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("more than two electrons"), "{}", stderr(&output));
}

/// Vectors of f32 give the energy, the multiplicities and the averages of f64 to the digits that they claim, and no finer tolerance.
#[test]
fn vectors_of_f32_are_as_good_as_they_say() {
    let folder = tempfile::tempdir().unwrap();
    let ring = RING.replace("size = 6", "size = 8");
    let of = |more: &str| {
        solved(folder.path(), &format!("{ring}[solve]\nsolver = \"lanczos\"\nstates = 3\n{more}{OBSERVABLES}"))
    };
    let (double, single) = (of(""), of("precision = \"f32\"\n"));
    for state in 0..3 {
        let (a, b) = (number(&double["energies"][state]), number(&single["energies"][state]));
        let claimed = number(&single["uncertainties"][state]);
        assert!((a - b).abs() <= claimed && claimed < 1e-4, "state {state}: {a} and {b}, which says {claimed:e}");
        let (a, b) = (&double["state_observables"][state]["hopping"], &single["state_observables"][state]["hopping"]);
        assert!((number(a) - number(b)).abs() < 1e-4, "state {state}: {a} and {b}");
    }
    assert_eq!(double["multiplicities"], single["multiplicities"]);
    let path = folder.path().join("fine.toml");
    std::fs::write(&path, format!("{ring}[solve]\nprecision = \"f32\"\ntolerance = 1e-9\n")).unwrap();
    let output = run(&["solve", path.to_str().unwrap(), "--device", "cpu"]);
    assert!(stderr(&output).contains("the least that vectors of f32 allow"), "{}", stderr(&output));
}
