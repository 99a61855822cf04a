//! `eigenforge su3 solve`: from an interaction, from a model file, from strengths, and what it says of bad ones. That levels are those of
//! the basis of relative motion is tested with the crate itself (tensors/src/levels/tests.rs).

use super::command::{command, path, root, succeed, text};
use serde_json::Value;
use std::collections::HashSet;

const JISP16: &str = "tests/data/su3/jisp16_Nmax20_hw20.0_rel.dat";

fn levels(arguments: &[&str]) -> Value {
    serde_json::from_str(&succeed(&[&["solve", "--json"], arguments].concat())).unwrap()
}

fn energies(found: &Value) -> Vec<f64> {
    found["levels"].as_array().unwrap().iter().map(|level| level["energy"].as_f64().unwrap()).collect()
}

fn close(a: &[f64], b: &[f64], most: f64) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < most)
}

/// A message without its line ends.
fn unwrapped(message: &str) -> String {
    message.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ")
}

/// The interaction and the tensors of the whole Hamiltonian, as text and as numbers, have the same levels, and so do the tensors of the
/// interaction alone with T_rel added. The deuteron of JISP16 in N ≤ 4 is that of the basis of relative motion.
#[test]
fn tensors_of_the_hamiltonian_have_the_levels_of_the_interaction() {
    let folder = tempfile::tempdir().unwrap();
    let expected = levels(&["--interaction", JISP16, "--n-max", "4", "--hw", "20"]);
    assert_eq!(expected["levels"][0]["j"], 1);
    assert!((expected["levels"][0]["energy"].as_f64().unwrap() + 1.447_172_620_2).abs() < 1e-9);
    for (name, hamiltonian) in [("whole.csv", true), ("whole.bin", true), ("alone.bin", false)] {
        let output = path(folder.path(), name);
        let model = path(folder.path(), "model.toml");
        let jisp16 = root().canonicalize().unwrap().join(JISP16);
        let terms = if hamiltonian { "[hamiltonian]\nhw = 20.0\n" } else { "" };
        std::fs::write(&model, format!("[su3]\ninteraction = {jisp16:?}\nn_max = 4\noutput = {output:?}\n{terms}"))
            .unwrap();
        succeed(&["transform", &model, "--device", "cpu"]);
        let kinetic: &[&str] = if hamiltonian { &[] } else { &["--hw", "20"] };
        let found = levels(&[&["--strengths", &output, "--n-max", "4"], kinetic].concat());
        assert!(close(&energies(&found), &energies(&expected), 1e-9), "{name}");
    }
}

/// A file of the Hermitian half has the others by H† = H: the same elements, the same levels. Half of an operator that is not Hermitian, or
/// a half with a missing row, is refused.
#[test]
fn half_of_the_strengths_is_the_whole_of_a_hermitian_operator() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| path(folder.path(), name);
    let transform = |from: &str, to: &str, more: &[&str]| {
        let arguments = ["transform", "--interaction", from, "--n-max", "2", "--output", to, "--device", "cpu"];
        command(&[&arguments, more].concat()).output().unwrap()
    };
    let succeeds = |from: &str, to: &str, more: &[&str]| {
        let output = transform(from, to, more);
        assert_eq!(output.status.code(), Some(0), "{more:?}: {}", text(&output.stderr));
        std::fs::read_to_string(to).unwrap()
    };
    let whole = succeeds(JISP16, &file("whole.csv"), &[]);
    let half = succeeds(JISP16, &file("half.csv"), &["--format", "labels-half"]);
    let rows = |text: &str| text.lines().count() - 1;
    assert!(
        rows(&half) > rows(&whole) / 2 && rows(&half) < rows(&whole) * 9 / 10,
        "{} of {}",
        rows(&half),
        rows(&whole)
    );
    let inside: HashSet<&str> = half.lines().collect();
    assert!(whole.lines().filter(|line| inside.contains(line)).eq(half.lines()));
    let numbers = |text: &str| -> Vec<f64> {
        text.lines().skip(1).map(|line| line.rsplit_once(',').unwrap().1.parse().unwrap()).collect()
    };
    let [from_whole, from_half] = ["whole", "half"].map(|name| {
        numbers(&succeeds(&file(&format!("{name}.csv")), &file(&format!("{name}_back.csv")), &["--inverse"]))
    });
    assert!(close(&from_whole, &from_half, 1e-12) && rows(&whole) == from_half.len());
    let solved = |name: &str| energies(&levels(&["--strengths", &file(name), "--n-max", "2", "--hw", "20"]));
    assert!(close(&solved("whole.csv"), &solved("half.csv"), 1e-10));

    std::fs::write(file("cut.csv"), half.lines().take(rows(&half)).collect::<Vec<_>>().join("\n") + "\n").unwrap();
    let output = transform(&file("cut.csv"), &file("cut_back.csv"), &["--inverse"]);
    assert!(output.status.code() == Some(2) && text(&output.stderr).contains("missing"), "{}", text(&output.stderr));
    let elements = std::fs::read_to_string(file("whole_back.csv")).unwrap();
    let off_diagonal = elements.lines().find(|line| line.starts_with("pn,0,0,0,2,")).unwrap();
    let (labels, value) = off_diagonal.rsplit_once(',').unwrap();
    let other = format!("{labels},{:e}", value.parse::<f64>().unwrap() + 1.0);
    std::fs::write(file("skew.csv"), elements.replace(off_diagonal, &other)).unwrap();
    let output = transform(&file("skew.csv"), &file("skew_half.csv"), &["--format", "labels-half"]);
    let error = unwrapped(&text(&output.stderr));
    assert!(output.status.code() != Some(0) && error.contains("is for Hermitian operators"), "{error}");
}

/// One strength of a file is changed: its operator is no longer the Hamiltonian, and a level moves.
#[test]
fn a_tensor_changed_in_one_element_moves_a_level() {
    let folder = tempfile::tempdir().unwrap();
    let (output, model) = (path(folder.path(), "strengths.csv"), path(folder.path(), "model.toml"));
    let jisp16 = root().canonicalize().unwrap().join(JISP16);
    let keys = format!("interaction = {jisp16:?}\nn_max = 1\noutput = {output:?}\n");
    std::fs::write(&model, format!("[su3]\n{keys}[hamiltonian]\nhw = 20.0\n")).unwrap();
    succeed(&["transform", &model, "--device", "cpu"]);
    let solved = |file: &str| levels(&["--strengths", file, "--n-max", "1", "--centre", "9", "--levels", "1000"]);
    let expected = solved(&output);
    assert!(expected["asymmetry"].as_f64().unwrap() < 1e-12);
    let whole = std::fs::read_to_string(&output).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    let quanta = |line: &str| -> Vec<u32> { line.split(',').skip(1).take(4).map(|x| x.parse().unwrap()).collect() };
    let inside = |line: &str| {
        line.starts_with("pn,") && quanta(line)[0] + quanta(line)[1] < 3 && quanta(line)[2] + quanta(line)[3] < 3
    };
    let rows: Vec<usize> = (0..lines.len()).filter(|at| inside(lines[*at])).collect();
    let edited = path(folder.path(), "edited.csv");
    let (mut moved, mut silent) = (0, 0);
    for row in rows.iter().step_by(9) {
        let (labels, value) = lines[*row].rsplit_once(',').unwrap();
        let mut changed: Vec<String> = lines.iter().map(|line| line.to_string()).collect();
        changed[*row] = format!("{labels},{:e}", value.parse::<f64>().unwrap() + 3.0);
        std::fs::write(&edited, changed.join("\n") + "\n").unwrap();
        let found = solved(&edited);
        let shift = energies(&found).iter().zip(energies(&expected)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        if shift > 1e-3 { moved += 1 } else { silent += 1 }
    }
    assert!(moved > 10 && silent == 0, "{moved} {silent}");
}

#[test]
fn bad_input_says_what_was_expected() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let file = path(folder.path(), name);
        std::fs::write(&file, bytes).unwrap();
        file
    };
    let strengths = std::fs::read_to_string(root().join("tests/data/su3/jisp16_hw20_N2_C.csv")).unwrap();
    let at = strengths.lines().nth(7).unwrap();
    let nan = write("nan.csv", strengths.replace(at, &format!("{},nan", at.rsplit_once(',').unwrap().0)).as_bytes());
    let cut = write("cut.csv", strengths.replace(&format!("{at}\n"), "").as_bytes());
    let bytes = path(folder.path(), "strengths.bin");
    succeed(&["transform", "--interaction", JISP16, "--n-max", "1", "--output", &bytes, "--device", "cpu"]);
    let bytes = std::fs::read(&bytes).unwrap();
    let short = write("short.bin", &bytes[..bytes.len() - 8]);
    for (arguments, said) in [
        (&["--interaction", JISP16, "--n-max", "2"][..], "need the kinetic energy beside it"),
        (&["--interaction", JISP16, "--n-max", "2", "--hw", "nan"], "hw: expected a positive number, found NaN"),
        (&["--interaction", JISP16, "--n-max", "19", "--hw", "20"], "needs 21"),
        (&["--strengths", &nan, "--n-max", "2"], "line 8, column `value`"),
        (&["--strengths", &cut, "--n-max", "2"], "1 of 2760 rows of channel"),
        (&["--strengths", &short, "--n-max", "1"], "bytes"),
        (&["--strengths", "tests/data/su3/jisp16_hw20_N2_C.csv", "--n-max", "2", "--channel", "nn"], "no channel nn"),
        (&["examples/jisp16_su3.toml"], "need the kinetic energy beside it"),
    ] {
        let output = command(&[&["solve"], arguments].concat()).output().unwrap();
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(unwrapped(&error).contains(said), "{said} is not in {error}");
    }
}
