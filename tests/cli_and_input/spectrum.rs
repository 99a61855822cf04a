//! `eigenforge spectrum`: bad input by name and at its place, what ends with exit code 3, files.

use super::command::{check_refusals, model_file, run, stderr, stdout};
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
        (spectrum(&format!("of = \"Sz\"\nmethod = \"kpm\"\n{WINDOW}")), vec!["kpm", "lanczos", "exact"]),
        (spectrum(&format!("of = \"Sz\"\nstate = 700\n{WINDOW}")), vec!["`state` should be from 0 to", "found 700"]),
        (spectrum(&format!("of = \"Sz\"\nq = []\n{WINDOW}")), vec!["at least one momentum"]),
        (
            spectrum(&format!("of = \"sum(i in sites; sz(i))\"\nq = [1]\n{WINDOW}")),
            vec!["`q` is given, and the text has no `phase(i)`"],
        ),
        (
            spectrum(&format!("of = \"Sz\"\n{WINDOW}")).replace("jz = 1.0", "jz = { sweep = [1.0, 2.0] }"),
            vec!["a spectrum of a sweep is not available"],
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
            format!("{RING}[dmrg]\nstates = 8\n[spectrum]\nof = \"Sz\"\n{WINDOW}"),
            vec!["`spectrum` and `dmrg` cannot both be given"],
        ),
    ];
    check_refusals("spectrum", &cases);
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
