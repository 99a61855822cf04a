//! `eigenforge bench paper` as a person runs it: whole runs of SU(3) in processes of their own, refusals by name.

use super::command::run;
use serde_json::Value;

/// N_max = 1 in every row: CPU, the device that runs kernels, the published sum.
#[test]
fn whole_runs_of_su3_are_redrawn() {
    let output = run(&["bench", "paper", "su3", "--table", "2", "--scale", "8", "--device", "cpu", "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tables: Value = serde_json::from_slice(&output.stdout).unwrap();
    let columns = tables[0]["columns"].as_array().unwrap();
    let ours: Vec<&Value> = columns.iter().filter(|column| column["from"] == "here").collect();
    assert_eq!(ours.iter().map(|column| &column["name"]).collect::<Vec<_>>(), ["CPU", "published sum, CPU"]);
    for column in ours {
        let cells = column["cells"].as_array().unwrap();
        assert!(
            cells.len() == 4 && cells.iter().all(|cell| cell.as_f64().is_some_and(|seconds| seconds > 0.0)),
            "{column}"
        );
    }
    let notes = tables[0]["notes"].as_array().unwrap();
    assert!(notes.iter().any(|note| note.as_str().is_some_and(|note| note.contains("divided by 8"))), "{notes:?}");
}

#[test]
fn tables_that_are_not_redrawn_are_refused_by_name() {
    for (arguments, said) in [
        (&["ci", "--table", "2"][..], "Table 2 of Mahmoud, Hoffmann, Reza (2018) (the card) is not redrawn"),
        (&["dmrg", "--table", "2"][..], "its strategies are cuBLAS's, which needs a card"),
        (&["dmrg", "--figure", "6"][..], "Figure 7 is the same on the paper's second card"),
        (&["hubbard", "--table", "4"][..], "has the tables 1, 2, 3, not 4"),
        (&["ci", "--table", "3", "--picture", "a.svg"][..], "drawn are Figure 6 with --table 9"),
    ] {
        let output = run(&[&["bench", "paper"], arguments, &["--device", "cpu"]].concat());
        let text = String::from_utf8_lossy(&output.stderr).replace("\n  │ ", " ");
        let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(output.status.code() == Some(2) && joined.contains(said), "{arguments:?}: {text}");
    }
}
