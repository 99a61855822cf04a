//! Sweeps and all sectors on several cards, each point on one of them: the numbers and the order of one card, runs that go on with
//! another number of cards, and a point that fails. The cards are simulated.

use super::command::{command, failed, run, stderr, stdout};
use super::gallery::root;
use serde_json::Value;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A ring of spins whose energies are found on the host, so that little is simulated.
const RING: &str = "[model]\nname = \"xxz\"\njxy = 1.0\njz = JZ\n[lattice]\nkind = \"chain\"\nsize = 6\nboundary = \"periodic\"\n\
                    [sector]\ntwo_sz = 0\n[solve]\nstates = 2\nsolver = \"dense\"\n";

fn solve(folder: &Path, text: &str, options: &[&str]) -> std::process::Output {
    let path = folder.join("model.toml");
    std::fs::write(&path, text).unwrap();
    run(&[&["solve", path.to_str().unwrap(), "--json"], options].concat())
}

fn solved(folder: &Path, text: &str, options: &[&str]) -> Value {
    let output = solve(folder, text, options);
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_str(stdout(&output)).unwrap()
}

/// An object without what differs from run to run: times, what was free, what the cache had.
fn without_times(value: &Value) -> Value {
    const TIMES: [&str; 6] = ["seconds", "elapsed", "cached", "available_bytes", "cost", "multiply_seconds"];
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(name, _)| !TIMES.contains(&name.as_str()));
            kept.map(|(name, value)| (name.clone(), without_times(value))).collect()
        }
        Value::Array(values) => values.iter().map(without_times).collect(),
        value => value.clone(),
    }
}

#[test]
fn sectors_and_couplings_on_several_cards_are_those_of_one() {
    let folder = tempfile::tempdir().unwrap();
    let (tower, swept) = (RING.replace("JZ", "0.7"), RING.replace("JZ", "{ sweep = [0.5, 1.0, -0.3] }"));
    for (text, more) in [(&tower, &["--sectors", "all"][..]), (&swept, &[])] {
        let on = |device: &str| solved(folder.path(), text, &[&["--device", device], more].concat());
        let one = without_times(&on("sim"));
        assert!(one["points"].as_array().unwrap().len() > 2);
        for device in ["sim:2", "sim:4"] {
            assert_eq!(without_times(&on(device)), one, "{device}");
        }
    }
    // Progress names the card, and the beginning says how they share.
    let path = folder.path().join("model.toml");
    let output = run(&["solve", path.to_str().unwrap(), "--device", "sim:2"]);
    assert!(stdout(&output).contains("cards    2: each takes the next of 3 points"), "{}", stdout(&output));
    let said = stderr(&output);
    assert!(said.contains("sim card 0  jz = ") && said.contains("sim card 1  jz = "), "{said}");
    let rows: Vec<usize> = (1..=3).filter_map(|row| said.find(&format!("   {row} of 3  jz = "))).collect();
    assert!(rows.len() == 3 && rows.is_sorted(), "{said}");
}

/// The cards make the list of representatives, multiply and take averages together.
#[test]
fn one_symmetry_sector_is_shared_by_all_cards() {
    let folder = tempfile::tempdir().unwrap();
    for k in [0, 1] {
        let text = RING.replace("JZ", "1.0") + &format!("[symmetry]\nk = {k}\nstorage = \"direct\"\n");
        let on = |device: &str| solved(folder.path(), &text, &["--device", device]);
        let (one, three) = (on("sim"), on("sim:3"));
        let numbers = |report: &Value, key: &str| {
            let mut found = Vec::new();
            gather(&report[key], &mut found);
            found
        };
        for key in ["energies", "observables"] {
            let (one, three) = (numbers(&one, key), numbers(&three, key));
            assert!(!one.is_empty() && one.len() == three.len(), "{key}");
            for (a, b) in one.iter().zip(&three) {
                assert!((a - b).abs() < 1e-9, "k = {k}, {key}: {a} and {b}");
            }
        }
    }
}

/// All numbers of a value, in order.
fn gather(value: &Value, found: &mut Vec<f64>) {
    match value {
        Value::Number(number) => found.extend(number.as_f64()),
        Value::Array(list) => list.iter().for_each(|value| gather(value, found)),
        Value::Object(fields) => fields.values().for_each(|value| gather(value, found)),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

#[test]
fn a_run_that_was_killed_goes_on_with_another_number_of_cards() {
    let folder = tempfile::tempdir().unwrap();
    let states = folder.path().join("states");
    let text = RING.replace("JZ", "{ sweep = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6] }");
    let options = ["--checkpoint", states.to_str().unwrap()];
    let path = folder.path().join("model.toml");
    std::fs::write(&path, &text).unwrap();
    let begun = [&["solve", path.to_str().unwrap(), "--device", "sim:2"], &options[..]].concat();
    let mut child = command(&begun).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let finished = || -> Vec<std::path::PathBuf> {
        let points = std::fs::read_dir(&states).into_iter().flatten().map(|entry| entry.unwrap().path());
        points.map(|point| point.join("point.json")).filter(|file| file.is_file()).collect()
    };
    let start = Instant::now();
    while finished().is_empty() && child.try_wait().unwrap().is_none() {
        assert!(start.elapsed() < Duration::from_secs(120), "no point in two minutes");
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let kept: Vec<_> = finished().into_iter().map(|file| (file.clone(), std::fs::read(file).unwrap())).collect();
    assert!(!kept.is_empty());
    let on = |device: &str| solved(folder.path(), &text, &[&["--device", device, "--resume"], &options[..]].concat());
    let resumed = on("sim:4");
    for (file, bytes) in kept {
        assert!(std::fs::read(&file).unwrap() == bytes, "{} was solved again", file.display());
    }
    assert_eq!(resumed["points"], on("sim:2")["points"], "seconds and all: nothing was left to solve");
    // A point that was saved halfway takes fewer multiplies for the same energies.
    let energies = |sweep: &Value| -> Vec<(Value, Value)> {
        let points = sweep["points"].as_array().unwrap().iter();
        points.map(|point| (point["values"].clone(), point["energies"].clone())).collect()
    };
    assert_eq!(energies(&resumed), energies(&solved(folder.path(), &text, &["--device", "sim"])));
}

#[test]
fn a_point_that_fails_on_its_card_costs_none_that_were_found() {
    let folder = tempfile::tempdir().unwrap();
    let (out, states) = (folder.path().join("out"), folder.path().join("states"));
    let (later, path) = (folder.path().join("later"), folder.path().join("model.toml"));
    let hydrogen = root().join("tests/data/ci/H2_sto3g_0.74.FCIDUMP");
    let files = format!("[ci]\nfcidump = {{ sweep = [{hydrogen:?}, {later:?}, {hydrogen:?}] }}\n");
    std::fs::write(&path, files).unwrap();
    let arguments = ["solve", path.to_str().unwrap(), "--device", "sim:2", "--output", out.to_str().unwrap()];
    let arguments = [&arguments[..], &["--checkpoint", states.to_str().unwrap()]].concat();
    let output = run(&arguments);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("was not solved") && said.contains("later"), "{said}");
    // The first was at work, and the third may have been begun.
    let found = std::fs::read_to_string(out.join("sweep.csv")).unwrap().lines().count() - 1;
    let counted = if found == 1 { "1 point in" } else { "2 points in" };
    assert!(stdout(&output).contains(counted), "{}", stdout(&output));
    assert_eq!(failed(&run(&[&arguments[..], &["--json", "--resume"]].concat())), 2);
    std::fs::copy(&hydrogen, &later).unwrap();
    let output = run(&[&arguments[..], &["--json", "--resume"]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let sweep: Value = serde_json::from_str(stdout(&output)).unwrap();
    let energies: Vec<&Value> = sweep["points"].as_array().unwrap().iter().map(|point| &point["energies"]).collect();
    assert!(energies.len() == 3 && energies.iter().all(|energy| *energy == energies[0]), "{energies:?}");
}
