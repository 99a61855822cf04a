//! `eigenforge tune`: what is refused, and on a card what is timed, kept, taken by later runs and reported.

use super::command::{command, run, stderr, stdout};
use eigenforge::report::Outcome;
use eigenforge::runtime::testing::card_or_skip;
use serde_json::Value;
use std::path::Path;

#[test]
fn there_is_nothing_to_tune_where_nothing_is_generated() {
    let output = run(&["tune", "examples/hubbard_4x4.toml", "--device", "cpu"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let said = stderr(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("tuning times kernels on a card: expected --device cuda"), "{said}");
    let output = run(&["tune", "examples/hubbard_4x4.toml", "--device", "moon"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

#[test]
fn a_run_without_generated_kernels_has_no_shape() {
    let output = run(&["solve", "examples/hubbard_edges.toml", "--device", "cpu", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(Outcome::from_json(stdout(&output)).unwrap().lattice().unwrap().shape, None);
}

/// Runs the command with a cache of this test's own.
fn on_the_card(cache: &Path, arguments: &[&str]) -> Value {
    let output =
        command(arguments).args(["--device", "cuda", "--json"]).env("EIGENFORGE_CACHE", cache).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_card_s_choice_is_kept_taken_and_reported() {
    if card_or_skip().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("kernels");
    for model in ["examples/hubbard_4x4.toml", "examples/heisenberg_kagome.toml"] {
        let solve = |extra: &[&str]| on_the_card(&cache, &[&["solve", model], extra].concat());
        let shape = |report: &Value| report["shape"]["shape"].as_str().unwrap().to_string();
        let before = solve(&[]);
        assert_eq!(before["shape"]["tuned"], false, "{model}");
        let tuned = on_the_card(&cache, &["tune", model]);
        let tried = tuned["tried"].as_array().unwrap();
        assert!(tried.len() >= 4, "{model}: only {tried:?}");
        assert_eq!(tried[0][0].as_str().unwrap(), shape(&before), "the rule's shape is first");
        let milliseconds = |value: &Value| value.as_f64().filter(|ms| *ms > 0.0 && ms.is_finite()).unwrap();
        assert!(milliseconds(&tuned["milliseconds"]) <= milliseconds(&tuned["rule_milliseconds"]), "{tuned}");
        assert!(Path::new(tuned["kept"].as_str().unwrap()).is_file(), "{tuned}");
        let after = solve(&[]);
        assert_eq!(after["shape"]["tuned"], true, "{model}");
        assert_eq!(shape(&after), tuned["shape"].as_str().unwrap());
        let without = solve(&["--no-tune"]);
        assert_eq!((without["shape"]["tuned"].as_bool(), shape(&without)), (Some(false), shape(&before)));
        for report in [&after, &without] {
            let energy = |report: &Value| report["energies"][0].as_f64().unwrap();
            assert!((energy(report) - energy(&before)).abs() < 1e-9, "{model}");
        }
    }
}
