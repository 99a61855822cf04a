//! `spectrum`, `thermal` and `evolve` of a file with a sweep: every point has the numbers of the file that has its value; finished points are kept.

use super::command::{run, stderr, stdout, words};
use serde_json::Value;
use std::path::Path;

const RING: &str =
    "[model]\nname = \"xxz\"\njxy = 1.0\njz = VALUE\n[lattice]\nkind = \"chain\"\nsize = 6\nboundary = \"periodic\"\n";
const SPECTRUM: &str =
    "[sector]\ntwo_sz = 0\n[spectrum]\nof = \"Sz\"\nq = [1, 3]\nomega = { from = 0.0, to = 3.0, points = 7 }\n";
const THERMAL: &str = "[thermal]\ntemperatures = [0.5, 2.0]\n";
const EVOLVE: &str =
    "[sector]\ntwo_sz = 0\n[evolve]\nstart = { up = [0, 2, 4] }\nuntil = 1.0\ntimes = 3\nrecord = [\"sz\"]\n";

fn report(folder: &Path, verb: &str, text: &str, more: &[&str]) -> Value {
    let path = folder.join("model.toml");
    std::fs::write(&path, text).unwrap();
    let output = run(&[&[verb, path.to_str().unwrap(), "--device", "cpu", "--json"], more].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    serde_json::from_str(stdout(&output)).unwrap()
}

/// The numbers of the curves of a report.
fn curves(report: &Value) -> Vec<f64> {
    let lists = match report {
        _ if report["curves"].is_array() => {
            report["curves"].as_array().unwrap().iter().map(|own| &own["curve"]).collect()
        }
        _ if report["quantities"].is_array() => {
            report["quantities"].as_array().unwrap().iter().map(|own| &own["values"]).collect()
        }
        _ => vec![&report["energy"], &report["echo"]],
    };
    lists.iter().flat_map(|list| list.as_array().unwrap()).map(|number| number.as_f64().unwrap()).collect()
}

/// Rows of a table as text.
fn rows(path: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| line.split(',').map(str::to_string).collect()).collect()
}

#[test]
fn every_point_has_the_curves_of_its_own_file() {
    for (verb, section, table) in [
        ("spectrum", SPECTRUM, "spectrum.csv"),
        ("thermal", THERMAL, "thermal.csv"),
        ("evolve", EVOLVE, "evolution.csv"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (text, out) = (format!("{RING}{section}"), folder.path().join("out"));
        let swept = text.replace("VALUE", "{ sweep = [0.5, 2.0] }");
        let sweep = report(folder.path(), verb, &swept, &["--output", out.to_str().unwrap()]);
        assert_eq!((&sweep["verb"], &sweep["keys"]), (&Value::from(verb), &serde_json::json!(["model.jz"])));
        let written: Value = serde_json::from_str(&std::fs::read_to_string(out.join("sweep.json")).unwrap()).unwrap();
        assert_eq!(written, sweep);
        let picture = std::fs::read_to_string(out.join("sweep.svg")).unwrap();
        assert!(picture.contains(&format!("model: {verb} over jz")) && picture.contains("jz = 2.0"), "{picture}");
        let (points, all) = (rows(&out.join("sweep.csv")), rows(&out.join("curves.csv")));
        assert!(
            points.len() == 3 && points[0][0] == "jz" && points[0].ends_with(&["seconds".into(), "converged".into()])
        );
        let mut lines = 1;
        for (number, value) in ["0.5", "2.0"].into_iter().enumerate() {
            let point = &sweep["points"][number];
            assert_eq!(
                (&point["label"], &point["values"]["model.jz"]),
                (&Value::from(format!("jz = {value}")), &Value::from(value.parse::<f64>().unwrap()))
            );
            let alone = report(folder.path(), verb, &text.replace("VALUE", value), &[]);
            let (found, wanted) = (curves(&point["report"]), curves(&alone));
            assert!(
                found.len() == wanted.len() && found.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-9),
                "{verb} {value}"
            );
            // Its lines in curves.csv are those of its own table, behind the value.
            let own = rows(&out.join(format!("jz={value}")).join(table));
            assert_eq!(all[0][1..], own[0]);
            for row in &own[1..] {
                assert_eq!((&all[lines][0][..], &all[lines][1..]), (value, &row[..]));
                lines += 1;
            }
        }
        assert_eq!(all.len(), lines);
        std::fs::write(folder.path().join("model.toml"), &swept).unwrap();
        let shown = run(&[verb, folder.path().join("model.toml").to_str().unwrap(), "--device", "cpu"]);
        let said = stdout(&shown).to_string();
        let heading = said.lines().any(|line| line.trim_start().starts_with("jz ") && line.ends_with("seconds"));
        assert!(said.contains("2 points in") && heading, "{said}");
    }
}

/// Points that another run has finished are taken from it; a changed file, or another start, makes them anew. What depends on time is swept too.
#[test]
fn finished_points_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let before = folder.path().join("before.toml");
    let start = format!("{}[sector]\ntwo_sz = 0\n", RING.replace("VALUE", "0.3"));
    std::fs::write(&before, &start).unwrap();
    let text = format!("{RING}{EVOLVE}").replace("{ up = [0, 2, 4] }", "{ model = \"before.toml\" }");
    let text = text.replace("VALUE", "\"1.0 + 0.5 * time\"").replace("jxy = 1.0", "jxy = { sweep = [1.0, 2.0] }");
    let saved = folder.path().join("saved");
    let kept = ["--checkpoint", saved.to_str().unwrap(), "--resume"];
    let seconds = |sweep: &Value| [0, 1].map(|point| sweep["points"][point]["seconds"].as_f64().unwrap());
    let first = report(folder.path(), "evolve", &text, &kept);
    let again = report(folder.path(), "evolve", &text, &kept);
    assert!(first["points"] == again["points"] && seconds(&first) == seconds(&again));
    assert_ne!(curves(&first["points"][0]["report"]), curves(&first["points"][1]["report"]));
    std::fs::write(&before, start.replace("0.3", "0.9")).unwrap();
    let other = report(folder.path(), "evolve", &text, &["--checkpoint", saved.to_str().unwrap()]);
    assert_ne!(curves(&other["points"][0]["report"]), curves(&first["points"][0]["report"]));
}

/// A point that fails ends the sweep, with what was found before it.
#[test]
fn a_point_that_fails_leaves_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let text =
        format!("{RING}{SPECTRUM}").replace("VALUE", "1.0").replace("q = [1, 3]", "q = { sweep = [[1], [7], [3]] }");
    let path = folder.path().join("model.toml");
    std::fs::write(&path, text).unwrap();
    let output = run(&["spectrum", path.to_str().unwrap(), "--device", "cpu", "--output", out.to_str().unwrap()]);
    let said = words(&stderr(&output));
    assert!(
        output.status.code() == Some(2) && said.contains("the point q = [7] of the sweep was not solved"),
        "{said}"
    );
    assert_eq!(rows(&out.join("sweep.csv")).len(), 2);
    assert_eq!(rows(&out.join("curves.csv")).len(), 8);
}

/// What a sweep launches is shown with its curves.
#[test]
fn inspect_shows_the_curves_of_a_sweep() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.toml");
    let shown = |text: &str| {
        std::fs::write(&path, text).unwrap();
        let output = run(&["inspect", path.to_str().unwrap(), "--stage", "cuda"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stdout(&output).matches("// ======== ").count()
    };
    let text = format!("{RING}{SPECTRUM}").replace("VALUE", "{ sweep = [0.5, 2.0] }");
    let solved = text[..text.find("[spectrum]").unwrap()].to_string();
    assert!(shown(&text) > shown(&solved));
}
