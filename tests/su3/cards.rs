//! One transformation on several cards, which are simulated: the bytes of one card, the numbers of the CPU, and what is told of each.

use super::command::{command, path, root, text};
use eigenforge::runtime::testing::simulator;
use std::path::Path;

const JISP16: &str = "tests/data/su3/jisp16_Nmax20_hw20.0_rel.dat";

fn run(folder: &Path, name: &str, more: &[&str]) -> std::process::Output {
    let output = path(folder, name);
    // Simulated kernels are kept beside the cache of one test.
    let cache = folder.join("cache");
    command(&[&["transform", "--output", &output], more].concat()).env("EIGENFORGE_CACHE", cache).output().unwrap()
}

/// What a run says, and its report.
fn done(folder: &Path, name: &str, more: &[&str]) -> (String, serde_json::Value) {
    let output = run(folder, name, more);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let (stem, _) = name.split_once('.').unwrap();
    let report = std::fs::read_to_string(folder.join(format!("{stem}.json"))).unwrap();
    (text(&output.stderr), serde_json::from_str(&report).unwrap())
}

fn bytes(folder: &Path, name: &str) -> Vec<u8> {
    std::fs::read(folder.join(name)).unwrap()
}

/// The numbers of a `.bin` file, behind its header.
fn numbers(folder: &Path, name: &str) -> Vec<f64> {
    let bytes = bytes(folder, name);
    bytes[32..].chunks_exact(8).map(|bytes| f64::from_le_bytes(bytes.try_into().unwrap())).collect()
}

/// Both directions: cards that share the groups evenly, unevenly, and more of them than there are groups.
#[test]
fn any_number_of_cards_gives_the_bytes_of_one() {
    if simulator().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let strengths = path(folder, "forward-cpu.bin");
    let forward = ["--interaction", JISP16, "--n-max", "0"];
    let back = ["--interaction", &strengths, "--n-max", "0", "--inverse"];
    for (name, what, sets) in [("forward", &forward[..], &["sim:2", "sim:6"][..]), ("back", &back, &["sim:2"])] {
        let on = |device: &str| {
            let file = format!("{name}-{}.bin", device.replace(':', "-"));
            let (said, report) = done(folder, &file, &[what, &["--device", device]].concat());
            (said, report, file)
        };
        let (_, cpu, of_cpu) = on("cpu");
        let (said, one, of_one) = on("sim");
        assert!(said.contains(" card  ") && one["cards"].as_array().unwrap().len() == 1, "{said}");
        assert_eq!(cpu["cards"].as_array().map(Vec::len), Some(0));
        let (expected, found) = (numbers(folder, &of_cpu), numbers(folder, &of_one));
        let largest = expected.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
        let worst = expected.iter().zip(&found).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(largest > 0.1 && worst < 1e-13 * largest, "{name}: {worst:e} of {largest:e}");
        for set in sets {
            let (said, report, file) = on(set);
            assert!(bytes(folder, &file) == bytes(folder, &of_one), "{name} on {set}");
            assert_eq!([&report["channels"], &report["defect"]], [&one["channels"], &one["defect"]], "{set}");
            let cards = report["cards"].as_array().unwrap();
            let asked: usize = set[4..].parse().unwrap();
            assert_eq!(cards.len(), asked.min(5), "there are five groups");
            assert_eq!(said.contains("cards  5 of 6: there are no more groups"), asked > 5, "{said}");
            assert!(said.contains("sim card 0: ") && said.contains(" of its memory, "), "{said}");
            let sum = |key: &str| cards.iter().map(|card| card[key].as_f64().unwrap()).sum::<f64>();
            assert!(sum("groups") == 5.0 && (sum("share") - 1.0).abs() < 1e-12, "{cards:?}");
            // Every number once in and once out.
            assert_eq!(sum("bytes"), one["cards"][0]["bytes"].as_f64().unwrap());
            assert!(cards.iter().all(|card| card["seconds_kernels"].as_f64().unwrap() > 0.0), "{cards:?}");
            assert!(report["device"].as_str().unwrap().starts_with(&format!("{} x ", cards.len())), "{report}");
        }
    }
}

/// A run that was ended goes on with another number of cards. A trace has tracks for the kernels and for both ways of the link of each.
#[test]
fn a_run_goes_on_with_other_cards_and_a_trace_has_tracks_for_each() {
    if simulator().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (check, trace) = (path(folder, "check"), path(folder, "trace.json"));
    let of = ["--interaction", JISP16, "--n-max", "1", "--device"];
    done(folder, "whole.csv", &[&of[..], &["sim"]].concat());
    // The result cannot be written, and its groups wait.
    std::fs::create_dir_all(folder.join("c.csv/x")).unwrap();
    let blocked = run(folder, "c.csv", &[&of[..], &["sim:2", "--checkpoint", &check, "--trace", &trace]].concat());
    assert_eq!(blocked.status.code(), Some(1), "{}", text(&blocked.stderr));
    let journal = folder.join("check/groups.partial.done");
    let lines: Vec<String> = std::fs::read_to_string(&journal).unwrap().lines().map(str::to_string).collect();
    assert_eq!(lines.len(), 9, "a line for the run, and one for each group");
    std::fs::write(&journal, lines[..6].join("\n") + "\n").unwrap();
    std::fs::remove_dir_all(folder.join("c.csv")).unwrap();
    let (said, report) = done(folder, "c.csv", &[&of[..], &["sim:3", "--checkpoint", &check, "--resume"]].concat());
    assert!(said.contains("5 of 8 groups are saved in") && report["resumed_groups"] == 5, "{said}");
    assert_eq!(report["cards"].as_array().map(Vec::len), Some(3));
    assert!(bytes(folder, "c.csv") == bytes(folder, "whole.csv"));
    let trace: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(trace).unwrap()).unwrap();
    let tracks: Vec<&str> =
        trace["traceEvents"].as_array().unwrap().iter().filter_map(|event| event["args"]["name"].as_str()).collect();
    for card in ["sim card 0", "sim card 1"] {
        for lane in ["", ": to it", ": from it"] {
            let track = format!("GPU: {card}{lane}");
            assert!(tracks.contains(&track.as_str()), "{track} is not among {tracks:?}");
        }
    }
}

/// The division is shown without a card; other files have none.
#[test]
fn the_division_among_cards_is_inspected() {
    let inspect = |file: &str, cards: &str| {
        let mut program = std::process::Command::new(super::command::program());
        program.current_dir(root()).args(["inspect", file, "--stage", "plan", "--cards", cards]).output().unwrap()
    };
    let shown = inspect("examples/jisp16_su3.toml", "3");
    assert_eq!(shown.status.code(), Some(0), "{}", text(&shown.stderr));
    let said = text(&shown.stdout);
    assert!(said.contains("cards    3; groups of quadruples") && said.contains("card 2, "), "{said}");
    assert!(said.contains("of W0; ") && said.contains("the largest share is 3"), "{said}");
    let model = inspect("examples/heisenberg_chain.toml", "3");
    assert!(model.status.success() && text(&model.stdout).contains("each receives"), "{}", text(&model.stderr));
}
