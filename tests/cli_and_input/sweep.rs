//! `{ sweep = [...] }` in a model file: every point has the numbers of the file that has its value, whatever the family; what was
//! finished is not done again; what is wrong is said at its place.

use super::command::{run, stderr, stdout};
use super::gallery::root;
use eigenforge::input::InputFile;
use serde_json::Value;
use std::path::Path;

const RING: &str = "[model]\nname = \"hubbard\"\nt = 1.0\nu = VALUE\n[lattice]\nkind = \"chain\"\nsize = 6\nboundary = \"periodic\"\n\
                    [sector]\nup = 3\ndown = 3\n[observables]\nrepulsion = \"sum(i in sites; n(i, Up) * n(i, Down))\"\n";

/// Runs a text with further options and returns the object on standard output.
fn solved(folder: &Path, text: &str, options: &[&str]) -> Value {
    let path = folder.join("model.toml");
    std::fs::write(&path, text).unwrap();
    let output = run(&[&["solve", path.to_str().unwrap(), "--json"], options].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_str(stdout(&output)).unwrap()
}

/// Every point of a sweep beside the file with its value; `tolerance` on the lowest energy.
fn check(text: &str, key: &str, values: &[&str], device: &str, tolerance: f64) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let list = format!("{{ sweep = [{}] }}", values.join(", "));
    let sweep = solved(folder.path(), &text.replacen(key, &list, 1), &["--device", device]);
    let points = sweep["points"].as_array().unwrap();
    assert_eq!(points.len(), values.len());
    for (point, value) in points.iter().zip(values) {
        let alone = solved(folder.path(), &text.replacen(key, value, 1), &["--device", device]);
        assert_eq!(point["texts"][0], *value);
        let (own, other) = (point["energies"][0].as_f64().unwrap(), alone["energies"][0].as_f64().unwrap());
        assert!((own - other).abs() <= tolerance, "{value}: {own} is not {other}");
        assert_eq!(point["report"]["model"]["text"], alone["model"]["text"], "{value}");
    }
    sweep
}

#[test]
fn points_have_the_numbers_of_their_files_in_every_family() {
    let sweep = check(RING, "VALUE", &["0.0", "1.0", "4.0", "-2.0"], "cpu", 0.0);
    assert_eq!(sweep["keys"], serde_json::json!(["model.u"]));
    for point in sweep["points"].as_array().unwrap() {
        let level = &point["report"]["observables"];
        assert_eq!(point["observables"]["repulsion"], level["repulsion"], "the column is the average");
    }
    let chain = format!("{RING}[dmrg]\nstates = 64\n").replace("boundary = \"periodic\"", "");
    check(&chain, "VALUE", &["1.0", "8.0"], "cpu", 0.0);
    let [hydrogen, fluoride] = ["H2_sto3g_0.74", "HF_sto3g_0.92"]
        .map(|name| format!("{:?}", root().join(format!("tests/data/ci/{name}.FCIDUMP")).display().to_string()));
    check("[ci]\nfcidump = FILE\n", "FILE", &[&hydrogen, &fluoride], "cpu", 0.0);
}

#[test]
fn a_folder_holds_the_table_the_picture_and_every_point() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let text = RING.replace("VALUE", "{ sweep = { from = 0, to = 4, points = 3 } }");
    let sweep = solved(folder.path(), &text, &["--device", "cpu", "--output", out.to_str().unwrap()]);
    let written: Value = serde_json::from_str(&std::fs::read_to_string(out.join("sweep.json")).unwrap()).unwrap();
    assert_eq!(written, sweep);
    let table = std::fs::read_to_string(out.join("sweep.csv")).unwrap();
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 4, "{table}");
    let heading = "u,dimension,energy_0,multiplicity_0,s_0,s_squared_0,largest_residual,repulsion,seconds,converged";
    assert_eq!(lines[0], heading);
    assert!(lines[3].starts_with("4.0,400,-3.66870617"), "{table}"); // Bethe ansatz (Lieb, Wu 1968)
    for line in &lines[1..] {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells.len(), heading.split(',').count(), "{table}");
        assert!(cells[..9].iter().all(|cell| cell.parse::<f64>().is_ok()) && cells[9] == "true", "{table}");
    }
    assert_eq!(sweep["schema"], 1);
    assert_eq!(sweep["points"][1]["values"], serde_json::json!({ "model.u": 2.0 }));
    for picture in ["energies.svg", "observables.svg"] {
        assert!(std::fs::read_to_string(out.join(picture)).unwrap().contains("<svg"), "{picture}");
    }
    assert!(std::fs::read_to_string(out.join("energies.svg")).unwrap().contains("<svg"));
    for value in ["0.0", "2.0", "4.0"] {
        assert!(out.join(format!("u={value}/report.json")).is_file(), "{value}");
    }
}

#[test]
fn a_run_that_goes_on_takes_finished_points_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let states = folder.path().join("states");
    let text = RING.replace("VALUE", "{ sweep = [1.0, 2.0] }");
    let options = ["--device", "cpu", "--checkpoint", states.to_str().unwrap()];
    let first = solved(folder.path(), &text, &options);
    let again = solved(folder.path(), &text, &[&options[..], &["--resume"]].concat());
    assert_eq!(first["points"], again["points"], "seconds and all");
    // What was saved for another file is neither taken nor written over.
    let other = folder.path().join("other.toml");
    std::fs::write(&other, text.replace("t = 1.0", "t = 2.0")).unwrap();
    let refused = run(&[&["solve", other.to_str().unwrap()], &options[..], &["--resume"]].concat());
    assert!(!refused.status.success() && stderr(&refused).contains("belongs to another run"), "{}", stderr(&refused));
    let kept = solved(folder.path(), &text, &[&options[..], &["--resume"]].concat());
    assert_eq!(first["points"], kept["points"]);
}

#[test]
fn a_point_that_cannot_be_solved_costs_none_that_were() {
    let folder = tempfile::tempdir().unwrap();
    let (out, states) = (folder.path().join("out"), folder.path().join("states"));
    let (later, path) = (folder.path().join("later"), folder.path().join("model.toml"));
    let hydrogen = root().join("tests/data/ci/H2_sto3g_0.74.FCIDUMP");
    std::fs::write(&path, format!("[ci]\nfcidump = {{ sweep = [{hydrogen:?}, {later:?}] }}\n")).unwrap();
    let arguments = ["solve", path.to_str().unwrap(), "--device", "cpu"];
    let folders = ["--output", out.to_str().unwrap(), "--checkpoint", states.to_str().unwrap()];
    let output = run(&[&arguments[..], &folders].concat());
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("was not solved") && said.contains("later"), "{said}");
    assert!(stdout(&output).contains("1 point in"), "the table of what was found: {}", stdout(&output));
    assert_eq!(std::fs::read_to_string(out.join("sweep.csv")).unwrap().lines().count(), 2);
    // With the file in place the run goes on from the second point.
    std::fs::copy(&hydrogen, &later).unwrap();
    let output = run(&[&arguments[..], &folders, &["--resume", "--json"]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let sweep: Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_eq!(sweep["points"][0]["energies"], sweep["points"][1]["energies"]);
}

#[test]
fn a_bad_point_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.toml");
    let fault = |text: &str| {
        std::fs::write(&path, text).unwrap();
        let output = run(&["solve", path.to_str().unwrap(), "--device", "cpu"]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        stderr(&output).to_string()
    };
    let said = fault(&RING.replace("up = 3", "up = { sweep = [3, 7] }").replace("VALUE", "1.0"));
    assert!(said.contains("(up = 7)") && said.contains("do not fit on 6 sites"), "{said}");
    let said = fault(&RING.replace("VALUE", "{ sweep = [] }"));
    assert!(said.contains("a list of at least one value"), "{said}");
    let said = fault(&(RING.replace("VALUE", "{ sweep = [1, 2] }") + "[solve]\nstates = 900\n"));
    assert!(said.contains("(u = 1)"), "{said}");
}

#[test]
fn verbs_show_a_sweep_by_its_first_point() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.toml");
    std::fs::write(&path, RING.replace("VALUE", "{ sweep = [1.0, 2.0, 3.0] }")).unwrap();
    let text = |options: &[&str]| {
        let output = run(&[&["inspect", path.to_str().unwrap()], options].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output).to_string()
    };
    assert!(text(&["--stage", "ir"]).contains("point 1 of 3: u = 1.0"));
    let plan = text(&["--stage", "plan"]);
    assert!(plan.contains("sweep    model.u = 1.0, 2.0, 3.0") && plan.contains("3 points"), "{plan}");
    let refused = run(&["inspect", path.to_str().unwrap(), "--stage", "ir-ron"]);
    assert_eq!(refused.status.code(), Some(2));
    let edits = folder.path().join("edits");
    let (model, edits) = (path.to_str().unwrap(), edits.to_str().unwrap());
    for (verb, option) in [("inspect", "--dump"), ("inspect", "--override"), ("solve", "--override")] {
        let refused = run(&[verb, model, option, edits]);
        let said = stderr(&refused);
        assert!(refused.status.code() == Some(2) && said.contains(&format!("{option} of a sweep")), "{verb}: {said}");
    }
    let tuned = run(&["tune", path.to_str().unwrap(), "--device", "cpu"]);
    assert_eq!(tuned.status.code(), Some(2), "{}", stderr(&tuned));
}

/// The generated text run on the CPU: one text for the points that differ in coefficients, with the numbers of each file.
#[test]
fn points_share_a_text_and_keep_their_numbers() {
    let small = RING.replace("size = 6", "size = 4").replace("up = 3\ndown = 3", "up = 2\ndown = 2");
    let sweep = check(&small, "VALUE", &["0.0", "1.0", "-2.0"], "sim", 1e-12);
    assert_eq!(sweep["shared_texts"], 2, "U = 0 has no term of U");
}

/// A sweep of an interaction: norms and defect of every point are those of its own file, and its strengths stand in a folder.
#[test]
fn an_interaction_is_swept_by_space_and_force() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[su3]\nn_max = SIZE\noutput = \"strengths.csv\"\n[force]\nhw = WIDTH\nminnesota = { u = 1.0 }\n";
    let swept = text.replace("SIZE", "{ sweep = [1, 2] }").replace("WIDTH", "{ sweep = [15.0, 20.0] }");
    let sweep = solved(folder.path(), &swept, &["--device", "cpu"]);
    assert_eq!(
        (&sweep["keys"], &sweep["certificate"]),
        (&serde_json::json!(["su3.n_max", "force.hw"]), &"defect".into())
    );
    let points = sweep["points"].as_array().unwrap();
    assert_eq!(points.len(), 4);
    for point in points {
        let (size, width) = (point["texts"][0].as_str().unwrap(), point["texts"][1].as_str().unwrap());
        let alone = solved(folder.path(), &text.replace("SIZE", size).replace("WIDTH", width), &["--device", "cpu"]);
        for channel in alone["channels"].as_array().unwrap() {
            assert_eq!(point["norms"][channel["channel"].as_str().unwrap()], channel["norm_of_strengths"]);
        }
        assert_eq!(point["certificates"], serde_json::json!([alone["defect"]]));
        let own = folder.path().join(format!("n_max={size},hw={width}/strengths.csv"));
        let (own, other) = (std::fs::read(own).unwrap(), std::fs::read(folder.path().join("strengths.csv")).unwrap());
        assert!(own == other, "strengths of N_max = {size}, hw = {width}");
    }
    let table = std::fs::read_to_string(folder.path().join("sweep.csv")).unwrap();
    assert!(table.starts_with("n_max,hw,norm_nn,norm_pn,norm_pp,largest_defect,seconds,converged\n"), "{table}");
    assert!(!folder.path().join("energies.svg").exists(), "there are no energies");
}

/// Terms of a Hamiltonian are swept too; a file in the working folder has its sweep there.
#[test]
fn the_hamiltonian_of_an_interaction_is_swept_in_the_working_folder() {
    let text = "[su3]\ninteraction = \"jisp16.dat\"\nn_max = 1\noutput = \"strengths.csv\"\n\
                [hamiltonian]\nhw = 20.0\nlawson = { sweep = [0.0, 10.0] }\n";
    let file = InputFile::parse("model.toml", text, Path::new("")).unwrap();
    let InputFile::Sweep(sweep) = file else { panic!("{file:?} is no sweep") };
    assert_eq!((sweep.folder(), sweep.keys), (Some(".".into()), vec!["hamiltonian.lawson".to_string()]));
}

#[test]
fn what_an_interaction_cannot_sweep_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.toml");
    let force = "[force]\nhw = 20.0\nminnesota = { u = 1.0 }\n";
    for (text, says) in [
        (format!("[su3]\nn_max = 2\noutput = {{ sweep = [\"a.csv\", \"b.csv\"] }}\n{force}"), "folder of its own"),
        (format!("[su3]\nn_max = 2\noutput = \"a.csv\"\ninteraction = \"b.dat\"\n{force}"), "the force of this file"),
        (format!("[su3]\nn_max = 2\noutput = \"a.csv\"\ninverse = true\n{force}"), "starts from strengths"),
        ("[su3]\nn_max = 2\noutput = \"a.csv\"\n[force]\nhw = -1.0\nminnesota = {}\n".into(), "a positive number"),
        (
            "[su3]\nn_max = 2\noutput = \"a.csv\"\n[force]\nhw = 1.0\nstrength = 2.0\n".into(),
            "unknown field `strength`",
        ),
        ("[su3]\nn_max = 2\noutput = \"a.csv\"\n".into(), "`interaction` is missing"),
    ] {
        std::fs::write(&path, &text).unwrap();
        let output = run(&["solve", path.to_str().unwrap(), "--device", "cpu"]);
        let said = stderr(&output).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(output.status.code() == Some(2) && said.contains(says), "{text}: {said}");
    }
}
