//! `eigenforge spectrum`: bad input by name and at its place, what ends with exit code 3, files.

use super::command::{check_refusals, model_file, run, stderr, stdout, words};
use serde_json::Value;

const RING: &str = "[model]\nname = \"xxz\"\njxy = 1.0\njz = 1.0\n[lattice]\nkind = \"chain\"\nsize = 8\nboundary = \"periodic\"\n\
                    [sector]\ntwo_sz = 0\n";
const WINDOW: &str = "omega = { from = 0.0, to = 4.0, points = 81 }\n";

#[test]
fn what_is_wrong_is_said_with_what_was_expected() {
    let spectrum = |keys: &str| format!("{RING}[spectrum]\n{keys}");
    let cases = [
        (RING.to_string(), vec!["the section [spectrum] is missing"]),
        (spectrum(WINDOW), vec!["`of` is missing from [spectrum]"]),
        (spectrum("of = \"Sz\"\n"), vec!["`omega` is missing from [spectrum]"]),
        (spectrum(&format!("of = \"Sz\"\neta = 0.0\n{WINDOW}")), vec!["`eta` should be above 0", "found 0"]),
        (
            spectrum("of = \"Sz\"\nomega = { from = 2.0, to = 1.0 }\n"),
            vec!["`omega.to` should be above `from`, 2", "found 1"],
        ),
        (
            spectrum(&format!("of = \"Sz\"\nq = [8]\n{WINDOW}")),
            vec!["`q` should be momenta from [0] to [7], found [8]"],
        ),
        (spectrum(&format!("of = \"add_up\"\n{WINDOW}")), vec!["site 0 is of kind", "which has no add_up"]),
        (
            spectrum(&format!("of = \"Sx\"\n{WINDOW}")),
            vec!["the observable `of`", "the names of operators are Sz, Sp, Sm"],
        ),
        (spectrum(&format!("of = \"Sz\"\nmethod = \"cg\"\n{WINDOW}")), vec!["cg", "lanczos", "exact", "kpm"]),
        (spectrum(&format!("of = \"Sz\"\nstate = 700\n{WINDOW}")), vec!["`state` should be from 0 to", "found 700"]),
        (spectrum(&format!("of = \"Sz\"\nq = []\n{WINDOW}")), vec!["at least one momentum"]),
        (
            spectrum(&format!("of = \"sum(i in sites; sz(i))\"\nq = [1]\n{WINDOW}")),
            vec!["`q` is given, and the text has no `phase(i)`"],
        ),
        (
            spectrum(&format!("of = \"Sz\"\n{WINDOW}")).replace("two_sz = 0", "two_sz = \"all\""),
            vec!["spectrum is not available", "{ sweep = [0, 1, 2] }"],
        ),
        (spectrum(&format!("of = \"Sz\"\nsteps = 0\n{WINDOW}")), vec!["`steps`"]),
        (
            spectrum(&format!("of = \"Sz\"\ndirection = [1.0, 0.0]\n{WINDOW}")),
            vec!["`direction` should be left out", "one beside of = \"Sz\""],
        ),
        (spectrum(&format!("of = \"dimer\"\ndirection = [0, 0]\n{WINDOW}")), vec!["a vector of two numbers"]),
        (
            spectrum(&format!("of = \"dimer\"\ndirection = [0.0, 1.0]\n{WINDOW}")),
            vec!["no bond points along [0.0, 1.0]", "bonds point along [1.0000, 0.0000]"],
        ),
        (spectrum(&format!("of = \"current\"\nq = [1]\n{WINDOW}")), vec!["the current is that of q = 0"]),
        (spectrum(&format!("of = \"current\"\nstate = 1\n{WINDOW}")), vec!["that of the lowest level"]),
        (
            spectrum(&format!("of = \"current\"\n{WINDOW}")).replace("size = 8", "size = 2"),
            vec!["how far", "two ways around the cluster are as short"],
        ),
        (
            spectrum(&format!("of = \"current\"\n{WINDOW}")).replace("size = 8", "size = 5").replace("= 0\n", "= 1\n"),
            vec!["the lowest level has 4 states, and D is defined for one"],
        ),
        (
            format!("{RING}[symmetry]\nk = 0\n[spectrum]\nof = \"sz(0)\"\n{WINDOW}"),
            vec!["it is of no momentum", "leave [symmetry] out"],
        ),
        (
            spectrum(&format!("of = \"Sz\"\nkernel = \"jackson\"\n{WINDOW}")),
            vec!["`kernel` and `method` cannot both be given", "damps the moments of method = \"kpm\""],
        ),
        (
            spectrum(&format!("of = \"Sz\"\nmethod = \"kpm\"\nkernel = \"fejer\"\n{WINDOW}")),
            vec!["fejer", "jackson", "lorentz"],
        ),
        (
            spectrum(&format!("of = \"current\"\nmethod = \"kpm\"\n{WINDOW}")),
            vec!["the Drude weight is a sum over poles, which moments have not"],
        ),
        (thermal("of = \"Sz\"\nstate = 1\n"), vec!["`state` and `thermal` cannot both be given"]),
        (thermal("of = \"Sz\"\nconnected = true\n"), vec!["`connected` and `thermal` cannot both be given"]),
        (thermal("of = \"Sz\"\nmethod = \"kpm\"\n"), vec!["`method` and `thermal` cannot both be given"]),
        (thermal("of = \"current\"\n"), vec!["a conductivity is that of the lowest level"]),
        (
            thermal("of = \"Sz\"\n").replace("[spectrum]", "[symmetry]\nk = 0\n[spectrum]"),
            vec!["an ensemble has the states of all symmetry sectors"],
        ),
        (
            format!("{RING}[dmrg]\nstates = 8\n[spectrum]\nof = \"Sz\"\n{WINDOW}"),
            vec!["`spectrum` and `dmrg` cannot both be given"],
        ),
    ];
    check_refusals("spectrum", &cases);
}

/// A ring of six at the temperatures of an ensemble.
fn thermal(keys: &str) -> String {
    let ring = RING.replace("size = 8", "size = 6").replace("[sector]\ntwo_sz = 0\n", "");
    format!("{ring}[thermal]\ntemperatures = [0.5, 1000.0]\n[spectrum]\n{keys}{WINDOW}")
}

/// Moments in place of chains: the same weights, poles as wide as was asked for, or the flag.
#[test]
fn moments_make_the_same_sums() {
    let found = |keys: &str, code: i32| -> Value {
        let text = format!("{RING}[spectrum]\nof = \"Sz\"\nq = [1, 4]\neta = 0.1\n{keys}{WINDOW}");
        let (_folder, path) = model_file(&text);
        let output = run(&["spectrum", path.to_str().unwrap(), "--device", "cpu", "--json"]);
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        serde_json::from_str(stdout(&output)).unwrap()
    };
    let (chains, moments) = (found("", 0), found("method = \"kpm\"\n", 0));
    assert_eq!((&chains["method"], &moments["method"]), (&Value::from("lanczos"), &Value::from("kpm")));
    for place in 0..2 {
        let [own, other] = [&moments, &chains].map(|record| &record["curves"][place]);
        for power in 0..3 {
            let [a, b] = [own, other].map(|curve| curve["moments"][power].as_f64().unwrap());
            assert!((a - b).abs() < 1e-9 * (1.0 + b.abs()), "{a} {b}");
        }
        assert!(own["resolution"].as_f64().unwrap() <= 0.1 && other["resolution"].is_null());
        assert!(own["curve"].as_array().unwrap().iter().all(|value| value.as_f64().unwrap() > -1e-9));
    }
    let few = found("method = \"kpm\"\nkernel = \"lorentz\"\nsteps = 5\n", 3);
    assert!(few["warnings"][0].as_str().unwrap().contains("more than eta"), "{}", few["warnings"]);
}

/// Over an ensemble: sums that are known at high temperature, detailed balance, and samples beside all states.
#[test]
fn ensembles_have_spectra_with_errors() {
    let found = |keys: &str| -> Value {
        let text = thermal("of = \"Sz\"\neta = 0.2\n").replace("[spectrum]", &format!("{keys}[spectrum]"));
        let (folder, path) = model_file(&text);
        let out = folder.path().join("out");
        let arguments = ["spectrum", path.to_str().unwrap(), "--device", "cpu", "--output", out.to_str().unwrap()];
        let output = run(&arguments);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let mut arrays = ndarray_npy::NpzReader::new(std::fs::File::open(out.join("spectrum.npz")).unwrap()).unwrap();
        let temperature: ndarray::Array1<f64> = arrays.by_name("temperature").unwrap();
        assert_eq!(temperature.as_slice().unwrap()[..2], [0.5, 1000.0]);
        let errors: ndarray::Array2<f64> = arrays.by_name("errors").unwrap();
        assert_eq!(errors.dim(), (12, 81));
        assert!(std::fs::read_to_string(out.join("spectrum.svg")).unwrap().contains("at T = 0.5"));
        serde_json::from_str(&std::fs::read_to_string(out.join("report.json")).unwrap()).unwrap()
    };
    let number = |value: &Value| value.as_f64().unwrap();
    let exact = found("");
    assert_eq!((&exact["method"], exact["curves"].as_array().unwrap().len()), (&Value::from("exact"), 12));
    for curve in exact["curves"].as_array().unwrap() {
        let weight = number(&curve["moments"][0]);
        // A†A and AA† are the same for Sz; of a free spin S(S + 1)/3.
        assert!((weight - number(&curve["reverse_weight"])).abs() < 1e-9, "{curve}");
        if curve["temperature"] == 1000.0 {
            assert!((weight - 0.25).abs() < 1e-3, "{weight}");
        }
    }
    let sampled = found("exact_below = 1\nsamples = 40\n");
    assert_eq!((&sampled["method"], &sampled["samples"]), (&Value::from("ftlm"), &Value::from(40)));
    for (own, wanted) in sampled["curves"].as_array().unwrap().iter().zip(exact["curves"].as_array().unwrap()) {
        let (curve, errors) = (own["curve"].as_array().unwrap(), own["errors"].as_array().unwrap());
        let largest = wanted["curve"].as_array().unwrap().iter().map(number).fold(0.0, f64::max);
        for ((a, error), b) in curve.iter().zip(errors).zip(wanted["curve"].as_array().unwrap()) {
            let (a, error, b) = (number(a), number(error), number(b));
            assert!((a - b).abs() < 6.0 * error + 1e-3 * largest, "{}: {a} {b} ± {error}", own["temperature"]);
        }
    }
}

/// A run that goes on from the finished momenta of another has the same curves; another run's are refused by what differs.
#[test]
fn finished_momenta_are_kept() {
    let text = format!("{RING}[spectrum]\nof = \"Sz\"\n{WINDOW}");
    let (folder, path) = model_file(&text);
    let saved = folder.path().join("saved");
    let run_of = |more: &[&str]| {
        let fixed = ["spectrum", path.to_str().unwrap(), "--device", "cpu", "--json"];
        run(&[&fixed[..], more].concat())
    };
    let kept = ["--checkpoint", saved.to_str().unwrap(), "--checkpoint-every", "0"];
    let curves = |output: &std::process::Output| -> Vec<f64> {
        assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
        let record: Value = serde_json::from_str(stdout(output)).unwrap();
        let all = record["curves"].as_array().unwrap().iter().flat_map(|curve| curve["curve"].as_array().unwrap());
        all.map(|value| value.as_f64().unwrap()).collect()
    };
    let same = |a: &[f64], b: &[f64]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9);
    let wanted = curves(&run_of(&[]));
    assert!(same(&curves(&run_of(&kept)), &wanted));
    // The last two states: of all momenta from 0 to π, which the others follow from, and of all but one.
    std::fs::remove_dir_all(saved.join("pieces-00000005")).unwrap();
    assert!(same(&curves(&run_of(&[&kept[..], &["--resume"]].concat())), &wanted));
    std::fs::write(&path, text.replace("\"Sz\"", "\"Sm\"")).unwrap();
    let refused = run_of(&[&kept[..], &["--resume"]].concat());
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    assert!(words(&stderr(&refused)).contains("its of is \"Sz\", this run's is \"Sm\""), "{}", stderr(&refused));
}

/// Momenta that a symmetry of H joins are made once, and have the curves that each has alone; where k and −k differ both are made.
#[test]
fn momenta_that_symmetry_joins_are_made_once() {
    let torus = RING
        .replace("\"chain\"", "\"square\"")
        .replace("size = 8", "size = [3, 3]")
        .replace("two_sz = 0", "two_sz = 1");
    let (torus, in_sectors) =
        (torus.replace("\"periodic\"", "[\"periodic\", \"periodic\"]"), "[symmetry]\nk = [0, 0]\n");
    let spiral = "[model]\nname = \"terms\"\nsite = \"spin 1/2\"\nH = \"sum(<i, j> in bonds; 0.5 * (0.8 + 0.6 * I) * sp(i) * sm(j) + h.c.) + \
                  sum(<i, j> in bonds; sz(i) * sz(j)) + 0.3 * sz(0) * sz(1) + 0.2 * sz(2)\"\n[lattice]\nkind = \"chain\"\nsize = 7\n\
                  boundary = \"periodic\"\n[sector]\ntwo_sz = 1\n";
    let open = RING.replace("periodic", "open").replace("size = 8", "size = 6");
    for (text, momenta, made) in [
        (RING.to_string(), 8, 5),
        (format!("{RING}[symmetry]\nk = 0\nreflection = 1\nspin_inversion = 1\n"), 8, 5),
        (torus.clone(), 9, 3),
        (format!("{torus}{in_sectors}"), 9, 3),
        (open, 6, 4),
        (spiral.to_string(), 7, 7),
    ] {
        let curves = |q: &str, saved: Option<&std::path::Path>| -> Vec<Value> {
            let (_folder, path) = model_file(&format!("{text}[spectrum]\nof = \"Sz\"\nq = {q}\neta = 0.2\n{WINDOW}"));
            let mut words = vec!["spectrum", path.to_str().unwrap(), "--device", "cpu", "--json"];
            words.extend(
                saved.iter().flat_map(|folder| ["--checkpoint", folder.to_str().unwrap(), "--checkpoint-every", "0"]),
            );
            let output = run(&words);
            assert_eq!(output.status.code(), Some(0), "{text}: {}", stderr(&output));
            let record: Value = serde_json::from_str(stdout(&output)).unwrap();
            record["curves"].as_array().unwrap().clone()
        };
        let folder = tempfile::tempdir().unwrap();
        let all = curves("\"all\"", Some(folder.path()));
        assert_eq!(all.len(), momenta, "{text}");
        let pieces = std::fs::read_dir(folder.path())
            .unwrap()
            .filter_map(|entry| entry.unwrap().file_name().to_str()?.strip_prefix("pieces-")?.parse::<usize>().ok());
        assert_eq!(pieces.max(), Some(made), "{text}");
        for curve in all.into_iter().step_by(3) {
            let alone = &curves(&format!("[{}]", curve["q"]["k"]), None)[0];
            let numbers = |curve: &Value| -> Vec<f64> {
                curve["curve"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
            };
            for (a, b) in numbers(&curve).into_iter().zip(numbers(alone)) {
                assert!((a - b).abs() < 1e-7, "{text} {}: {a} {b}", curve["q"]);
            }
        }
    }
}

/// An operator of the first sites alone has the curve of its image on the last ones.
#[test]
fn operators_of_a_few_sites_are_of_the_whole_cluster() {
    let curve = |of: &str| {
        let (_folder, path) = model_file(&format!("{RING}[spectrum]\nof = \"{of}\"\neta = 0.2\n{WINDOW}"));
        let output = run(&["spectrum", path.to_str().unwrap(), "--device", "cpu", "--json"]);
        assert_eq!(output.status.code(), Some(0), "{of}: {}", stderr(&output));
        let record: Value = serde_json::from_str(stdout(&output)).unwrap();
        let values = record["curves"][0]["curve"].as_array().unwrap().iter();
        values.map(|value| value.as_f64().unwrap()).collect::<Vec<f64>>()
    };
    let (first, last) = (curve("sz(0) * sz(1)"), curve("sz(6) * sz(7)"));
    assert!(first.iter().any(|value| *value > 1e-3));
    assert!(first.iter().zip(&last).all(|(a, b)| (a - b).abs() < 1e-9));
}

/// Too few steps are flagged; an operator that is zero on the state has an empty curve.
#[test]
fn exit_codes_say_whether_curves_have_converged() {
    let ring = RING.replace("size = 8", "size = 14");
    let (_folder, path) =
        model_file(&format!("{ring}[spectrum]\nof = \"Sz\"\nq = [7, 0]\nsteps = 4\neta = 0.02\n{WINDOW}"));
    let output = run(&["spectrum", path.to_str().unwrap(), "--device", "cpu", "--json"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let record: Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_eq!(record["converged"], false);
    assert!(record["warnings"][0].as_str().unwrap().contains("more `steps`"), "{}", record["warnings"]);
    let still = &record["curves"][1];
    assert!(still["curve"].as_array().unwrap().iter().all(|value| value == 0.0), "total Sz of a singlet is zero");
    assert!(still["poles"].as_array().unwrap().is_empty());
    // A step alone shows nothing, nor does a level that has not converged.
    for keys in ["steps = 1\neta = 0.1\n", "[solve]\nsolver = \"lanczos\"\nmax_iterations = 2\n"] {
        let (before, after) = if keys.starts_with('[') { ("", keys) } else { (keys, "") };
        let text = format!("{ring}[spectrum]\nof = \"Sz\"\nq = [3]\n{before}{WINDOW}{after}");
        let (_folder, path) = model_file(&text);
        let output = run(&["spectrum", path.to_str().unwrap(), "--device", "cpu"]);
        assert_eq!(output.status.code(), Some(3), "{}", stdout(&output));
    }
}

/// The files have what the report has; a solve of the file says which verb makes the curves.
#[test]
fn files_hold_the_curves() {
    let (folder, path) = model_file(&format!("{RING}[symmetry]\nk = 0\n[spectrum]\nof = \"Sz\"\n{WINDOW}"));
    let out = folder.path().join("out");
    let output = run(&["spectrum", path.to_str().unwrap(), "--device", "cpu", "--output", out.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let record: Value = serde_json::from_str(&std::fs::read_to_string(out.join("report.json")).unwrap()).unwrap();
    let table = std::fs::read_to_string(out.join("spectrum.csv")).unwrap();
    assert_eq!(table.lines().next(), Some("omega,q_0,q_1,q_2,q_3,q_4,q_5,q_6,q_7"));
    let row: Vec<f64> = table.lines().nth(31).unwrap().split(',').map(|cell| cell.parse().unwrap()).collect();
    for (q, value) in row[1..].iter().enumerate() {
        assert_eq!(record["curves"][q]["curve"][30].as_f64().unwrap(), *value);
    }
    let mut arrays = ndarray_npy::NpzReader::new(std::fs::File::open(out.join("spectrum.npz")).unwrap()).unwrap();
    let curve: ndarray::Array2<f64> = arrays.by_name("curve").unwrap();
    assert_eq!((curve.dim(), curve[[4, 30]]), ((8, 81), row[5]));
    let first: ndarray::Array1<u64> = arrays.by_name("first").unwrap();
    let weights: ndarray::Array1<f64> = arrays.by_name("weights").unwrap();
    assert_eq!(first.len(), 9);
    let sum: f64 = weights.iter().skip(first[4] as usize).take((first[5] - first[4]) as usize).sum();
    assert!((sum - record["curves"][4]["moments"][0].as_f64().unwrap()).abs() < 1e-10);
    assert!(std::fs::read_to_string(out.join("spectrum.svg")).unwrap().contains("spectrum of Sz"));
    let solved = run(&["solve", path.to_str().unwrap(), "--device", "cpu"]);
    assert!(stdout(&solved).contains("`eigenforge spectrum` makes its curves"), "{}", stdout(&solved));
}
