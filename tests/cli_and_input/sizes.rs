//! `eigenforge bench hubbard --sizes` on the CPU: the table, the JSON, the picture, what is left out, wrong options.

use super::command::{run, stderr, stdout};
use serde_json::Value;

const BENCH: [&str; 7] = ["bench", "hubbard", "--sizes", "--device", "cpu", "--repeats", "3"];

fn bench(more: &[&str]) -> String {
    let output = run(&[&BENCH, more].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    stdout(&output).to_string()
}

/// 5x1:2,2 has C(5, 2)² = 100 states; each time is at least the floor's order and stands in one line of the table.
#[test]
fn the_table_has_a_line_for_every_size_and_the_picture_a_point() {
    let folder = tempfile::tempdir().unwrap();
    let picture = folder.path().join("new/multiply_sizes.svg");
    let said = bench(&["--largest", "20000", "--picture", picture.to_str().unwrap()]);
    let lines: Vec<&str> = said.lines().filter(|line| line.starts_with("| ") && line.contains(':')).collect();
    assert_eq!(lines.len(), 5, "{said}");
    let cells: Vec<&str> = lines[0].split('|').map(str::trim).collect();
    assert_eq!((cells[1], cells[2]), ("5x1:2,2", "100"), "{said}");
    assert!(cells[3].parse::<f64>().unwrap() > 0.0 && cells[7].ends_with(" x"), "{said}");
    assert!(cells[4].parse::<f64>().unwrap() > 0.0, "without the number: {said}");
    assert!(cells[5].parse::<f64>().unwrap() > 0.0, "a share of four: {said}");
    assert!(said.contains("left out: 10x1:4,4, dimension 44,100: more than the 20000 states of --largest"), "{said}");
    assert!(said.contains("cliff: "), "there is one or there is none: {said}");
    assert!(said.contains("floor: 5 passes"), "{said}");
    let svg = std::fs::read_to_string(&picture).unwrap();
    assert!(said.contains("picture: ") && svg.matches("<circle").count() == 5, "{svg}");
}

#[test]
fn json_is_one_object_whose_numbers_belong_together() {
    let found: Value = serde_json::from_str(&bench(&["--largest", "5000", "--json"])).unwrap();
    let sizes = found["sizes"].as_array().unwrap();
    assert_eq!((sizes.len(), found["left_out"].as_array().unwrap().len()), (4, 22));
    let least = found["least_milliseconds"].as_f64().unwrap();
    for size in sizes {
        let number = |name: &str| size[name].as_f64().unwrap();
        assert!(number("best_milliseconds") <= number("milliseconds"), "{size}");
        assert!(number("floor_milliseconds") >= least && least > 0.0, "{size}");
        let multiple = number("milliseconds") / number("floor_milliseconds");
        assert!((multiple / number("of_floor") - 1.0).abs() < 1e-12, "{size}");
        assert!(size["vendor_milliseconds"].is_null(), "no card, no cuSPARSE: {size}");
        assert!(["memory", "cache", "start"].contains(&size["limit"].as_str().unwrap()), "{size}");
    }
}

#[test]
fn options_that_do_not_go_together_are_refused() {
    for (arguments, part) in [
        (&["bench", "hubbard", "--picture", "a.svg"][..], "--sizes"),
        (&["bench", "hubbard", "--largest", "100"], "--sizes"),
        (&["bench", "hubbard", "--sizes", "--case", "2x2:1,1"], "--case"),
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(part), "{arguments:?}: {}", stderr(&output));
    }
    let folder = tempfile::NamedTempFile::new().unwrap();
    let inside_a_file = folder.path().join("a.svg");
    let output = run(&[&BENCH[..], &["--largest", "100", "--picture", inside_a_file.to_str().unwrap()]].concat());
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("cannot make the output folder"), "{}", stderr(&output));
}
