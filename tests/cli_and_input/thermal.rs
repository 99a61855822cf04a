//! `eigenforge thermal`: bad input by name and at its place, what ends with exit code 3, files.

use super::command::{check_refusals, model_file, run, stderr, stdout};
use serde_json::Value;

const RING: &str =
    "[model]\nname = \"xxz\"\njxy = 1.0\njz = 1.0\n[lattice]\nkind = \"chain\"\nsize = 8\nboundary = \"periodic\"\n";
const ELECTRONS: &str =
    "[model]\nname = \"hubbard\"\nt = 1.0\nu = 4.0\n[lattice]\nkind = \"chain\"\nsize = 4\nboundary = \"periodic\"\n";
const LIST: &str = "temperatures = [0.1, 1.0]\n";

#[test]
fn what_is_wrong_is_said_with_what_was_expected() {
    let ring = |keys: &str| format!("{RING}[thermal]\n{keys}");
    let with_sector = |sector: &str, keys: &str| format!("{ELECTRONS}[sector]\n{sector}\n[thermal]\n{LIST}{keys}");
    let cases = [
        (format!("{RING}[sector]\ntwo_sz = 0\n"), vec!["the section [thermal] is missing"]),
        (ring(""), vec!["`temperatures` is missing from [thermal]"]),
        (ring("temperatures = []\n"), vec!["`temperatures` should be at least one temperature", "an empty list"]),
        (ring("temperatures = [0.1, 0.0]\n"), vec!["`temperatures` should be above 0", "found 0"]),
        (ring("temperatures = { from = -1.0, to = 2.0 }\n"), vec!["`temperatures.from` should be above 0", "found -1"]),
        (ring("temperatures = { from = 2.0, to = 1.0 }\n"), vec!["`temperatures.to` should be above `from`, 2"]),
        (ring("temperatures = { from = 1.0, to = 2.0, spacing = \"cubic\" }\n"), vec!["cubic", "log", "linear"]),
        (ring("temperatures = [nan]\n"), vec!["must be a finite number"]),
        (ring(&format!("{LIST}samples = 0\n")), vec!["`samples`", "2 or more"]),
        (ring(&format!("{LIST}steps = 0\n")), vec!["`steps`", "2 or more"]),
        (ring(&format!("{LIST}method = \"kpm\"\n")), vec!["kpm", "auto", "ftlm", "exact"]),
        (ring(&format!("{LIST}mu = 1.0\n")), vec!["`mu` and `ensemble = \"canonical\"` cannot both be given"]),
        (ring(&format!("{LIST}ensemble = \"grand\"\n")), vec!["`mu` is missing from [thermal]"]),
        (
            ring(&format!("{LIST}ensemble = \"grand\"\nmu = 1.0\n")),
            vec!["`ensemble` should be \"canonical\": no site of this model has particles"],
        ),
        (
            format!("{RING}[sector]\ntwo_sz = 0\n[thermal]\n{LIST}"),
            vec!["`two_sz` and `thermal` cannot both be given", "all Sz"],
        ),
        (
            format!("{RING}[symmetry]\nk = 0\n[thermal]\n{LIST}"),
            vec!["`thermal` and `symmetry` cannot both be given", "leave [symmetry] out"],
        ),
        (
            format!("{RING}[sector]\ntwo_sz = 0\n[dmrg]\nstates = 8\n[thermal]\n{LIST}"),
            vec!["`thermal` and `dmrg` cannot both be given"],
        ),
        (format!("[ci]\nfcidump = \"a\"\n[thermal]\n{LIST}"), vec!["`thermal` and `ci` cannot both be given"]),
        (format!("[su3]\n[thermal]\n{LIST}"), vec!["`thermal` and `su3` cannot both be given"]),
        (
            format!("{ELECTRONS}[thermal]\n{LIST}"),
            vec!["`particles` should be a number in [sector]", "ensemble = \"grand\""],
        ),
        (with_sector("up = 2", ""), vec!["`particles` is missing from [sector]", "whose sum is meant"]),
        (with_sector("particles = 9", ""), vec!["9 fermions has no state"]),
        (with_sector("particles = 4\ntwo_sz = 0", ""), vec!["`two_sz` and `thermal` cannot both be given"]),
        (
            with_sector("particles = 4", "ensemble = \"grand\"\nmu = 2.0\n"),
            vec!["`particles` and `ensemble = \"grand\"` cannot both be given"],
        ),
        (
            format!("{RING}[thermal]\n{LIST}[observables]\nenergy = \"sz(0)\"\n"),
            vec!["the observable `energy`", "a thermal report has a quantity of this name"],
        ),
        (ring("temperatures = { sweep = [[0.5], [-1.0]] }\n"), vec!["`temperatures` should be above 0", "found -1"]),
        (
            ring(&format!("{LIST}method = \"exact\"\n")).replace("size = 8", "size = 16").replace("periodic", "open"),
            vec!["`method` should be \"auto\" or \"ftlm\" for sectors of more than 4096 states"],
        ),
    ];
    check_refusals("thermal", &cases);
}

/// Averages in thermal pure quantum states are those of all states within their errors, also of operators that do not commute with H, and Z, E and C
/// are those of the same vectors by finite-temperature Lanczos.
#[test]
fn pure_states_have_the_averages_of_the_ensemble() {
    let found = |keys: &str| -> Value {
        let text = format!(
            "{RING}[thermal]\ntemperatures = [0.5, 2.0]\n{keys}[observables]\nbonds = \"sz(0) * sz(1) + sp(2) * sm(4) + sp(4) * sm(2)\"\n"
        );
        let (_folder, path) = model_file(&text);
        let output = run(&["thermal", path.to_str().unwrap(), "--device", "cpu", "--json"]);
        assert!([Some(0), Some(3)].contains(&output.status.code()), "{}", stderr(&output));
        serde_json::from_str(stdout(&output)).unwrap()
    };
    let [exact, pure, traces] =
        ["", "method = \"tpq\"\nsamples = 40\n", "method = \"ftlm\"\nsamples = 40\n"].map(found);
    let quantity = |record: &Value, name: &str, part: &str| -> Vec<f64> {
        let all = record["quantities"].as_array().unwrap();
        let own = all.iter().find(|own| own["name"] == name).unwrap();
        own[part].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
    };
    for name in ["ln_z", "energy", "heat_capacity", "entropy", "bonds"] {
        let (values, errors, wanted) =
            (quantity(&pure, name, "values"), quantity(&pure, name, "errors"), quantity(&exact, name, "values"));
        for ((value, error), wanted) in values.iter().zip(&errors).zip(&wanted) {
            assert!(
                *error > 0.0 && (value - wanted).abs() < 6.0 * error + 1e-9,
                "{name}: {value} ± {error} for {wanted}"
            );
        }
        if name != "bonds" {
            let other = quantity(&traces, name, "values");
            assert!(values.iter().zip(&other).all(|(a, b)| (a - b).abs() < 1e-9 * (1.0 + b.abs())), "{name}");
        }
    }
    assert_ne!(quantity(&pure, "bonds", "values"), quantity(&traces, "bonds", "values"));
}

/// Chains that are too short are flagged, as are large errors.
#[test]
fn exit_codes_say_whether_averages_have_converged() {
    let ring = RING.replace("size = 8", "size = 10");
    let (_folder, path) = model_file(&format!("{ring}[thermal]\n{LIST}exact_below = 5\nsteps = 4\nsamples = 2\n"));
    let output = run(&["thermal", path.to_str().unwrap(), "--device", "cpu", "--json"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let record: Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_eq!(record["converged"], false);
    let warnings: Vec<&str> = record["warnings"].as_array().unwrap().iter().map(|own| own.as_str().unwrap()).collect();
    assert!(warnings.iter().any(|own| own.contains("more `steps` than 4")), "{warnings:?}");
    // The entropy cannot be below that of the lowest level, even so.
    let entropy = record["quantities"].as_array().unwrap().iter().find(|own| own["name"] == "entropy").unwrap();
    assert!(entropy["values"][0].as_f64().unwrap() >= 0.0);
    let (_folder, path) =
        model_file(&format!("{ring}[thermal]\n{LIST}exact_below = 5\nmethod = \"ftlm\"\nsamples = 2\n"));
    let output = run(&["thermal", path.to_str().unwrap(), "--device", "cpu"]);
    assert!(stdout(&output).contains("more `samples` than 2"), "{}", stdout(&output));
}

/// The files have what the report has; a solve of the file says which verb makes the curves, and finds the lowest state of all Sz.
#[test]
fn files_hold_the_averages() {
    let keys = "temperatures = { from = 0.1, to = 10.0, points = 5 }\n";
    let (folder, path) = model_file(&format!("{ELECTRONS}[sector]\nparticles = 3\n[thermal]\n{keys}"));
    let out = folder.path().join("out");
    let output = run(&["thermal", path.to_str().unwrap(), "--device", "cpu", "--output", out.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("canonical, not grand canonical; 3 fermions"), "{}", stdout(&output));
    let record: Value = serde_json::from_str(&std::fs::read_to_string(out.join("report.json")).unwrap()).unwrap();
    let table = std::fs::read_to_string(out.join("thermal.csv")).unwrap();
    let names = ["ln_z", "energy", "heat_capacity", "entropy", "susceptibility", "double_occupancy"];
    let headings: String = names.iter().map(|name| format!(",{name},{name}_error")).collect();
    assert_eq!(table.lines().next().unwrap(), format!("temperature{headings}"));
    let row: Vec<f64> = table.lines().nth(3).unwrap().split(',').map(|cell| cell.parse().unwrap()).collect();
    assert!((row[0] - 1.0).abs() < 1e-12);
    let mut arrays = ndarray_npy::NpzReader::new(std::fs::File::open(out.join("thermal.npz")).unwrap()).unwrap();
    for (place, name) in names.iter().enumerate() {
        assert_eq!(record["quantities"][place]["name"], *name);
        assert_eq!(record["quantities"][place]["values"][2].as_f64().unwrap(), row[1 + 2 * place]);
        let values: ndarray::Array1<f64> = arrays.by_name(name).unwrap();
        assert_eq!(values[2], row[1 + 2 * place]);
    }
    assert!(std::fs::read_to_string(out.join("thermal.svg")).unwrap().contains("hubbard: C"));
    let solved = run(&["solve", path.to_str().unwrap(), "--device", "cpu"]);
    assert!(stdout(&solved).contains("`eigenforge thermal` makes its curves"), "{}", stdout(&solved));
    let lowest = record["lowest"].as_f64().unwrap();
    assert!(stdout(&solved).contains(&format!("{lowest:.10}")), "{lowest}: {}", stdout(&solved));
}

/// Averages by site and by pair, which symmetry makes of few operators, are those of single operators that have no symmetry.
#[test]
fn averages_by_place_are_those_of_single_operators() {
    let found = |text: &str| -> Value {
        let (_folder, path) = model_file(text);
        let output = run(&["thermal", path.to_str().unwrap(), "--device", "cpu", "--json"]);
        assert!([Some(0), Some(3)].contains(&output.status.code()), "{}", stderr(&output));
        serde_json::from_str(stdout(&output)).unwrap()
    };
    let values = |own: &Value| -> Vec<f64> {
        own["values"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
    };
    let at = |record: &Value, name: &str, place: usize| -> Vec<f64> {
        let own = record["places"].as_array().unwrap().iter().find(|own| own["name"] == name).unwrap();
        values(&own["curves"][own["curve_of"][place].as_u64().unwrap() as usize])
    };
    let ring = RING.replace("size = 8", "size = 6").replace("jz = 1.0", "jz = 0.4\nfield = 0.3");
    let open = RING.replace("size = 8", "size = 5").replace("periodic", "open");
    let electrons = format!("{}[sector]\nparticles = 3\n", ELECTRONS.replace("u = 4.0", "u = 3.0"));
    let (i, j) = (1, 3);
    let spins = [("sz", "sz(1)"), ("szsz", "sz(1) * sz(3)"), ("sdots", "sdots(1, 3)")];
    let charges = [("n_up", "n(1, Up)"), ("nn", "n(1) * n(3)"), ("szsz", "sz(1) * sz(3)")];
    for (model, sites, names) in [(&ring, 6, spins), (&open, 5, spins), (&electrons, 4, charges)] {
        let keys = format!("{LIST}record = {:?}\n", names.map(|(name, _)| name));
        // Observables of the file need no name in `record`.
        let hops = if sites == 4 { "[observables]\nhop = \"cdag(i, Up) * c(j, Up)\"\n" } else { "" };
        let all = found(&format!("{model}[thermal]\n{keys}{hops}"));
        let text: String = names.iter().map(|(name, text)| format!("one_{name} = \"{text}\"\n")).collect();
        let single = found(&format!("{model}[thermal]\n{LIST}[observables]\n{text}"));
        let sectors = |record: &Value| record["sectors"].as_array().unwrap().len();
        assert!(sectors(&all) <= sectors(&single));
        for (name, _) in names {
            let one = single["quantities"].as_array().unwrap().iter().find(|own| own["name"] == format!("one_{name}"));
            let by = all["places"].as_array().unwrap().iter().find(|own| own["name"] == name).unwrap();
            let place = if by["by"] == "pair" { i * sites + j } else { i };
            let (found, wanted) = (at(&all, name, place), values(one.unwrap()));
            assert!(found.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-11), "{name}: {found:?} {wanted:?}");
            assert!(wanted.iter().any(|value| value.abs() > 1e-4) || (name, sites) == ("sz", 5), "{name}: {wanted:?}");
        }
        if !hops.is_empty() {
            let text = "one_hop = \"cdag(1, Up) * c(2, Up)\"\n";
            let single = found(&format!("{model}[thermal]\n{LIST}[observables]\n{text}"));
            let one = single["quantities"].as_array().unwrap().iter().find(|own| own["name"] == "one_hop").unwrap();
            let (found, wanted) = (at(&all, "hop", sites + 2), values(one));
            assert!(wanted.iter().all(|value| value.abs() > 1e-3), "{wanted:?}");
            assert!(found.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-11), "{found:?} {wanted:?}");
        }
    }
    // Sampled, the bonds of H add up to its energy within the errors; observables of the file stand beside them.
    let text = format!("{RING}[thermal]\n{LIST}exact_below = 5\nsamples = 6\nrecord = \"sdots\"\n");
    let sampled = found(&format!("{text}[observables]\nstep = \"sz(i) * sz(i + 2)\"\n").replace("i + 2", "j"));
    let energy = sampled["quantities"].as_array().unwrap().iter().find(|own| own["name"] == "energy").unwrap();
    let (bond, energies, errors) = (at(&sampled, "sdots", 1), values(energy), &energy["errors"]);
    for (k, energy) in energies.iter().enumerate() {
        let error = errors[k].as_f64().unwrap();
        assert!((8.0 * bond[k] - energy).abs() <= 1e-9 + 6.0 * error, "{bond:?} {energies:?}");
    }
    assert!(at(&sampled, "step", 2).len() == 2 && sampled["places"].as_array().unwrap().len() == 2);
    check_refusals("thermal", &[(format!("{RING}[thermal]\n{LIST}record = [\"szz\"]\n"), vec!["`record`", "szsz"])]);
}

/// Arrays have a number for each place, tables a column for places that are joined.
#[test]
fn files_hold_averages_by_place() {
    let (folder, path) =
        model_file(&format!("{RING}[thermal]\n{LIST}record = [\"sz\", \"szsz\"]\n").replace("size = 8", "size = 4"));
    let out = folder.path().join("out");
    let output = run(&["thermal", path.to_str().unwrap(), "--device", "cpu", "--output", out.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let mut arrays = ndarray_npy::NpzReader::new(std::fs::File::open(out.join("thermal.npz")).unwrap()).unwrap();
    let (sz, szsz): (ndarray::Array2<f64>, ndarray::Array3<f64>) =
        (arrays.by_name("sz").unwrap(), arrays.by_name("szsz").unwrap());
    let errors: ndarray::Array3<f64> = arrays.by_name("szsz_error").unwrap();
    assert_eq!((sz.dim(), szsz.dim(), errors.dim()), ((2, 4), (2, 4, 4), (2, 4, 4)));
    assert!(sz.iter().chain(&errors).all(|value| *value == 0.0), "{sz}");
    for t in 0..2 {
        assert!((szsz[[t, 0, 0]] - 0.25).abs() < 1e-12 && szsz[[t, 0, 1]] < -1e-3);
        assert!(
            (0..4)
                .all(|i| szsz[[t, i, (i + 1) % 4]] == szsz[[t, 0, 1]] && szsz[[t, (i + 2) % 4, i]] == szsz[[t, 0, 2]])
        );
    }
    let table = std::fs::read_to_string(out.join("thermal.csv")).unwrap();
    let heading = table.lines().next().unwrap();
    assert!(
        heading.ends_with(",sz_0,sz_0_error,szsz_0_0,szsz_0_0_error,szsz_0_1,szsz_0_1_error,szsz_0_2,szsz_0_2_error"),
        "{heading}"
    );
}
