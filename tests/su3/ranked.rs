//! `eigenforge su3 transform` of operators of rank J0: there and back, the report, and what bad files and options are told.

use super::command::{command, path, root, succeed, text};
use std::path::Path;

const QUADRUPOLE: &str = "tests/data/su3/quadrupole_N0.csv";

/// The rows of a table: labels, value.
fn rows(file: &str) -> Vec<(String, f64)> {
    let table = std::fs::read_to_string(file).unwrap();
    let split = |line: &str| line.rsplit_once(',').map(|(labels, value)| (labels.to_string(), value.parse().unwrap()));
    table.lines().skip(1).map(|line| split(line).unwrap()).collect()
}

fn transform(folder: &Path, input: &str, output: &str, more: &[&str]) -> String {
    let output = path(folder, output);
    succeed(&[&["transform", "--interaction", input, "--n-max", "0", "--output", &output], more].concat())
}

/// r² Y2 in the shells 0 and 1 is a generator: (1 1) with L0 = 2, S0 = 0; the inverse gives every element back.
#[test]
fn the_quadrupole_operator_goes_to_tensors_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let said = transform(folder.path(), QUADRUPOLE, "c.csv", &[]);
    assert!(
        said.contains("operator of J0 = 2, even parity, N_max = 0") && said.contains("143 reduced elements"),
        "{said}"
    );
    assert!(said.contains("pn: where the norm sits in (λ0 μ0): (1 1) 100.0 %; in L0 S0: 2 0 100.0 %"), "{said}");
    let (strengths, json) = (path(folder.path(), "c.csv"), path(folder.path(), "c.json"));
    let report: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap();
    assert_eq!((&report["j0"], &report["parity"], &report["elements"]), (&2.into(), &1.into(), &143.into()));
    let channels = report["channels"].as_array().unwrap();
    assert_eq!(channels.len(), 3);
    for channel in channels {
        let [of_elements, of_strengths] =
            ["norm_of_elements", "norm_of_strengths"].map(|name| channel[name].as_f64().unwrap());
        assert!(of_elements > 1.0 && (of_strengths / of_elements - 1.0).abs() < 1e-13, "{channel}");
    }
    let said = transform(folder.path(), &strengths, "back.csv", &["--inverse", "--json", "--memory", "100MB"]);
    let back: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!((&back["direction"], &report["direction"]), (&"inverse".into(), &"forward".into()));
    let [before, after] = [rows(&path(&root(), QUADRUPOLE)), rows(&path(folder.path(), "back.csv"))];
    assert_eq!(before.len(), 3 * 143);
    for ((labels, value), (other_labels, other)) in before.iter().zip(&after) {
        assert!(labels == other_labels && (value - other).abs() < 1e-13, "{labels}: {value}, {other_labels}: {other}");
    }
    // The page lists every field.
    let page = std::fs::read_to_string(root().join("docs/record.md")).unwrap();
    let section = page.split("## Operators of other rank").nth(1).unwrap().split("\n## ").next().unwrap();
    let fields = report.as_object().unwrap().keys().chain(channels[0].as_object().unwrap().keys());
    fields.for_each(|name| assert!(section.contains(&format!("{name}`")), "{name} is not on the page"));
}

/// Runs with exit code 2; the text of the error.
fn refused(arguments: &[&str]) -> String {
    let output = command(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output.stderr));
    let said = text(&output.stderr);
    said.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ")
}

#[test]
fn faults_of_operators_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let good = std::fs::read_to_string(root().join(QUADRUPOLE)).unwrap();
    let first = "pn,0,0,0,0,0,1,0,1,0,1,0,1,2,1,1,";
    assert!(good.lines().nth(1).unwrap().starts_with(first));
    let output = path(folder.path(), "out.csv");
    let strengths = {
        transform(folder.path(), QUADRUPOLE, "c.csv", &[]);
        std::fs::read_to_string(path(folder.path(), "c.csv")).unwrap()
    };
    let with = |row: &str| good.replacen('\n', &format!("\n{row}\n"), 1);
    let tail = |row: &str| format!("{good}{row}\n");
    for (name, table, verb, words) in [
        (
            "J0 beyond the space",
            with("pn,0,0,0,0,0,1,0,1,0,1,0,1,9,1,1,0"),
            "",
            &["`J0`", "J0 up to 6", "N_max = 0", "`9`"][..],
        ),
        (
            "no triangle",
            tail("pn,0,0,0,0,0,1,0,1,0,1,0,1,2,0,1,0"),
            "",
            &["Jbra = 0, Jket = 1 and J0 = 2", "no triangle"],
        ),
        ("no such Jbra", tail("pn,0,0,0,0,0,1,0,1,0,1,0,1,2,3,1,0"), "", &["Jbra = 3", "2j = 1 and 1"]),
        ("another J0", tail("pn,0,0,0,0,0,1,0,1,0,1,0,1,1,1,1,0"), "", &["J0 = 2 as in the first row", "`1`"]),
        ("another parity", tail("pn,0,0,0,1,0,1,0,1,0,1,1,1,2,1,1,0"), "", &["same parity", "nc + nd = 1"]),
        ("NaN", good.replacen(&format!("{first}0e0"), &format!("{first}nan"), 1), "", &["a finite number", "`nan`"]),
        ("a row twice", tail(&format!("{first}0")), "", &["J = 1 | 1", "twice"]),
        (
            "a missing row",
            good.replacen(&format!("{first}0e0\n"), "", 1),
            "",
            &["1 of 143 rows", "channel pn", "J = 1 | 1"],
        ),
        ("no rows", good.lines().next().unwrap().to_string() + "\n", "", &["expected rows"]),
        ("elements as strengths", good.clone(), "--inverse", &["a column `lf`"]),
        ("strengths as elements", strengths.clone(), "", &["a column `la`"]),
        (
            "a missing strength",
            strengths.trim_end().rsplit_once('\n').unwrap().0.to_string() + "\n",
            "--inverse",
            &["1 of 143 rows", "the tensor n = 1 1"],
        ),
        (
            "no such tensor",
            strengths.clone() + "pn,0,0,0,0,0,0,0,0,0,0,0,0,0,1,2,2,1,0\n",
            "--inverse",
            &["is not a tensor of J0 = 2"],
        ),
    ] {
        let input = path(folder.path(), "bad.csv");
        std::fs::write(&input, table).unwrap();
        let arguments = ["transform", "--interaction", &input, "--n-max", "0", "--output", &output, verb];
        let said = refused(&arguments[..arguments.len() - usize::from(verb.is_empty())]);
        words.iter().for_each(|word| assert!(said.contains(word), "{name}: {word} is not in {said}"));
    }
    let folder_of = path(folder.path(), "check");
    for (more, words) in [
        (&["--device", "cuda"][..], &["--device has no effect", "operator of rank J0"][..]),
        (&["--no-tune"], &["--no-tune has no effect"]),
        (&["--checkpoint", &folder_of], &["--checkpoint has no effect", "in memory"]),
        (&["--override", &folder_of], &["--override has no effect"]),
        (&["--trace", &folder_of], &["--trace has no effect"]),
        (&["--format", "binary"], &["--format binary is for scalars", "labels only"]),
        (&["--memory", "1000"], &["J0 = 2", "N_max = 0", "1.0 KiB", "--memory"]),
    ] {
        let said =
            refused(&[&["transform", "--interaction", QUADRUPOLE, "--n-max", "0", "--output", &output], more].concat());
        words.iter().for_each(|word| assert!(said.contains(word), "{more:?}: {word} is not in {said}"));
    }
    let said = refused(&["elements", "--interaction", QUADRUPOLE, "--n-max", "0", "--output", &output]);
    assert!(said.contains("a scalar was expected") && said.contains("su3 transform"), "{said}");
    let said = refused(&["transform", "--interaction", QUADRUPOLE, "--n-max", "1", "--output", &output]);
    assert!(said.contains("--n-max 0"), "{said}");
    let (model, table) = (path(folder.path(), "model.toml"), path(&root(), QUADRUPOLE));
    let terms = format!("[su3]\ninteraction = {table:?}\nn_max = 0\noutput = {output:?}\n[hamiltonian]\nhw = 20.0\n");
    std::fs::write(&model, terms).unwrap();
    let said = refused(&["transform", &model]);
    assert!(said.contains("[hamiltonian] are scalars"), "{said}");
    assert!(!Path::new(&output).exists());
}
