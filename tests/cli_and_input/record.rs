//! Results as data: the fields of report.json, sweep.json and the tables are those of docs/record.md, numbers are numbers, and the recipes give
//! what their pages print.

use super::command::{run, stderr};
use super::gallery::root;
use serde_json::Value;
use std::path::Path;

/// Solves a file of the repository into a folder.
fn solved(file: &str, more: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let file = root().join(file).display().to_string();
    let arguments = ["solve", &file, "--device", "cpu", "--output", folder.path().to_str().unwrap()];
    let output = run(&[&arguments[..], more].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    folder
}

fn json(folder: &Path, name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder.join(name)).unwrap()).unwrap()
}

/// The heading of a table and its rows, each with as many cells.
fn table(folder: &Path, name: &str) -> (Vec<String>, Vec<Vec<String>>) {
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    assert!(!text.contains("\"\"") && !text.contains("NaN"), "{text}");
    let mut lines = text.lines().map(|line| line.split(',').map(String::from).collect::<Vec<_>>());
    let heading = lines.next().unwrap();
    let rows: Vec<Vec<String>> = lines.collect();
    assert!(rows.iter().all(|row| row.len() == heading.len()), "{text}");
    (heading, rows)
}

/// The numbers of a column; empty cells are NaN.
fn column((heading, rows): &(Vec<String>, Vec<Vec<String>>), name: &str) -> Vec<f64> {
    let place = heading.iter().position(|own| own == name).unwrap_or_else(|| panic!("{name}: {heading:?}"));
    let number = |row: &Vec<String>| match &row[place][..] {
        "" => f64::NAN,
        cell => cell.parse().unwrap_or_else(|_| panic!("{name}: {cell}")),
    };
    rows.iter().map(number).collect()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

/// A field of the page, "levels[].spin", is in an object.
fn has_field(value: &Value, field: &str) -> bool {
    let (name, rest) = field.split_once('.').map_or((field, None), |(name, rest)| (name, Some(rest)));
    let inner = match name.strip_suffix("[]") {
        Some(name) => value.get(name).and_then(|list| list.get(0)),
        None => value.get(name),
    };
    inner.is_some_and(|inner| rest.is_none_or(|rest| has_field(inner, rest)))
}

/// A section of a page, to the next heading.
fn section<'p>(page: &'p str, heading: &str) -> &'p str {
    let section = &page[page.find(heading).unwrap() + heading.len()..];
    &section[..section.find("\n#").unwrap_or(section.len())]
}

fn page(name: &str) -> String {
    std::fs::read_to_string(root().join("docs").join(name)).unwrap()
}

/// Whether a cell lists families and one of them is not this one.
fn is_of_others(cell: &str, family: &str) -> bool {
    let letters: Vec<&str> = cell.split_whitespace().collect();
    !letters.is_empty()
        && letters.iter().all(|one| ["L", "M", "A", "C", "T"].contains(one))
        && !letters.contains(&family)
}

/// The fields that a section of the page has in its tables for a family, each with whether it may be missing.
fn all_fields(heading: &str, family: &str) -> Vec<(String, bool)> {
    let page = page("record.md");
    let rows = section(&page, heading).lines().filter(|line| line.starts_with("| `"));
    let rows = rows.filter(|line| !is_of_others(line.split('|').nth(2).unwrap(), family));
    let cells = rows.filter_map(|line| line.split('|').nth(1)).flat_map(|cell| {
        let parent = cell.split_once("[].").map(|(parent, _)| parent.trim().trim_start_matches('`').to_string());
        let full = move |name: &str| match &parent {
            Some(parent) if !name.contains("[].") => format!("{parent}[].{}", name.trim_matches('`')),
            _ => name.trim_matches('`').to_string(),
        };
        let names = cell.split(", ").map(str::trim);
        names.map(|name| (full(name.trim_end_matches('?')), name.ends_with('?'))).collect::<Vec<_>>()
    });
    cells.collect()
}

/// Those without which there is no such object.
fn fields(heading: &str, family: &str) -> Vec<String> {
    all_fields(heading, family).into_iter().filter(|(_, optional)| !optional).map(|(name, _)| name).collect()
}

/// The names in code of a text.
fn words_in_code(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// That every field of a report is on the page for its family or in the table of reports, and that those of the page are in it.
fn check_report(report: &Value, family: &str) {
    let (running, known) = (page("running.md"), all_fields("## One run", family));
    let table = words_in_code(section(&running, "## The report"));
    let is_known =
        |name: &str| table.contains(&name) || known.iter().any(|(field, _)| field.split("[].").next() == Some(name));
    let own = ["lattice", "symmetry", "structure_factor"];
    for name in report.as_object().unwrap().keys().filter(|name| !own.contains(&&name[..])) {
        assert!(is_known(name), "{family}: {name} is not described");
    }
    for field in fields("## One run", family) {
        assert!(has_field(report, &field), "{family}: the report has no {field}");
    }
    // What is in the small objects stands in their line.
    let record = page("record.md");
    for name in ["memory", "cost"] {
        let line = record.lines().find(|line| line.starts_with(&format!("| `{name}`"))).unwrap();
        for inner in report[name].as_object().unwrap().keys() {
            assert!(words_in_code(line).contains(&&inner[..]), "{name}.{inner} is not described");
        }
    }
}

/// A small run of each family has the fields that the page says, and no others.
#[test]
fn reports_of_every_family_have_the_fields_of_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let ring =
        "[model]\nname = \"xxz\"\njxy = 1.0\njz = 1.0\n[lattice]\nkind = \"chain\"\nsize = 6\n[sector]\ntwo_sz = 0\n";
    let integrals = root().join("tests/data/ci/H2_sto3g_0.74.FCIDUMP").display().to_string();
    let strengths = folder.path().join("strengths.csv").display().to_string();
    let force = "[force]\nhw = 15.0\nminnesota = { u = 1.0 }\n";
    for (family, text) in [
        ("L", ring.to_string()),
        ("C", format!("{ring}[dmrg]\nstates = [8, 16]\n")),
        ("M", format!("[ci]\nfcidump = {integrals:?}\n")),
        ("T", format!("[su3]\nn_max = 1\noutput = {strengths:?}\n{force}")),
    ] {
        let path = folder.path().join("model.toml");
        std::fs::write(&path, text).unwrap();
        let output = run(&["solve", path.to_str().unwrap(), "--device", "cpu", "--json"]);
        assert!(output.status.success(), "{}", stderr(&output));
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        check_report(&report, family);
        if family == "T" {
            let known: Vec<String> = all_fields("## One run", "T").into_iter().map(|(name, _)| name).collect();
            for name in report["channels"][0].as_object().unwrap().keys() {
                assert!(known.contains(&format!("channels[].{name}")), "channels[].{name} is not described");
            }
        }
    }
}

#[test]
fn the_report_of_a_matrix_has_the_fields_of_the_page() {
    let matrix = root().join("tests/data/matrices/hofstadter12x12_1_4.npz").display().to_string();
    let output = run(&["solve", &matrix, "--device", "cpu", "--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    check_report(&report, "A");
    assert_eq!((report["real_dimension"].as_u64(), report["multiplicities"][0].as_u64()), (Some(288), Some(4)));
}

/// Sectors without states have neither row nor folder; every row says where its report is, and levels say in which rows they are.
#[test]
fn rows_lead_to_their_folders_and_levels_to_their_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ring.toml");
    let text = "[model]\nname = \"xxz\"\njxy = 1.0\njz = 1.0\n[lattice]\nkind = \"square\"\nsize = [3, 3]\nboundary = \"periodic\"\n\
                [sector]\ntwo_sz = 7\n[solve]\nstates = 2\n";
    std::fs::write(&path, text).unwrap();
    let out = folder.path().join("out");
    let arguments = ["solve", path.to_str().unwrap(), "--device", "cpu", "--sectors", "all", "--output"];
    let output = run(&[&arguments[..], &[out.to_str().unwrap()]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let sweep = json(&out, "sweep.json");
    let points = sweep["points"].as_array().unwrap();
    let mut folders: Vec<&str> = points.iter().map(|point| point["folder"].as_str().unwrap()).collect();
    for (point, folder) in points.iter().zip(&folders) {
        assert_eq!(json(&out.join(folder), "report.json"), point["report"], "{folder}");
    }
    let first_gap = (0..folders.len()).find(|row| folders[*row] != format!("point_{row:04}"));
    assert!(first_gap.is_some(), "no sector was empty: {folders:?}");
    folders.sort_unstable();
    folders.dedup();
    assert_eq!(folders.len(), points.len());
    for level in sweep["levels"].as_array().unwrap() {
        for sector in level["sectors"].as_array().unwrap() {
            let row = &points[sector["point"].as_u64().unwrap() as usize];
            let joined = row["joined"].as_array().into_iter().flatten().map(|joined| &joined["values"]);
            assert!(
                std::iter::once(&row["values"]).chain(joined).any(|values| *values == sector["values"]),
                "{sector}"
            );
        }
    }
}

#[test]
fn a_tower_has_its_fields_its_table_and_its_picture() {
    let folder = solved("examples/recipes/tower.toml", &["--sectors", "all"]);
    let sweep = json(folder.path(), "sweep.json");
    assert_eq!(sweep["schema"], 1);
    let known = all_fields("## A sweep", "L");
    let is_known = |name: &str| known.iter().any(|(field, _)| field == name);
    assert!(sweep.as_object().unwrap().keys().all(|name| is_known(name)), "{:?}", sweep.as_object().unwrap().keys());
    for name in sweep["points"][0].as_object().unwrap().keys() {
        assert!(is_known(&format!("points[].{name}")), "points[].{name} is not described");
    }
    for field in fields("## A sweep", "L") {
        let optional = ["points[].joined", "levels[].sectors", "points[].observables"].contains(&&field[..]);
        assert!(optional || has_field(&sweep, &field), "sweep.json has no {field}");
    }
    let report = &sweep["points"][0]["report"];
    for field in fields("### `lattice` (lattice, chain)", "L") {
        assert!(has_field(&report["lattice"], &field), "lattice has no {field}");
    }
    for field in fields("### `symmetry`? (lattice)", "L") {
        assert!(has_field(&report["symmetry"], &field), "symmetry has no {field}");
    }
    check_report(report, "L");
    assert_eq!(report["sector"], serde_json::json!({ "two_sz": 0 }));
    // Every state of the sector is in the sectors of the levels, each with its spin, which the picture has.
    let levels = sweep["levels"].as_array().unwrap();
    for level in levels {
        let states: u64 = level["sectors"].as_array().unwrap().iter().map(|own| own["states"].as_u64().unwrap()).sum();
        assert_eq!(level["states"].as_u64(), Some(states), "{level}");
    }
    let tower = table(folder.path(), "tower.csv");
    let (energies, s, squares) = (column(&tower, "energy"), column(&tower, "s"), column(&tower, "s_s_plus_1"));
    assert!(energies.is_sorted() && (energies[0] + 7.323_961_625_3).abs() < 1e-9, "{energies:?}");
    assert!(s.iter().zip(&squares).all(|(s, square)| s * (s + 1.0) == *square), "{s:?}");
    // E of S = 1 at Γ and K, twice: momenta of cos q·a = 1 and −1/2 along all three bonds.
    let triplets: Vec<usize> = (0..s.len()).filter(|row| s[*row] == 1.0).take(3).collect();
    let (q_x, q_y) = (column(&tower, "q_x"), column(&tower, "q_y"));
    let cosines = triplets.iter().map(|row| (q_x[*row].cos() * 1e6).round() / 1e6 + 0.0 * q_y[*row]);
    let mut cosines: Vec<f64> = cosines.collect();
    cosines.sort_by(f64::total_cmp);
    assert_eq!(cosines, [-0.5, -0.5, 1.0]);
    let picture = std::fs::read_to_string(folder.path().join("tower.svg")).unwrap();
    for part in ["S(S + 1)", "E / J", "Γ A1", "<polygon"] {
        assert!(picture.contains(part), "{part}");
    }
}

/// The corners of E(Sz) of a ring of 12: its gap first, saturation at h = 2J, where a magnon at k = π costs nothing.
#[test]
fn a_magnetisation_has_its_steps() {
    let folder = solved("examples/recipes/magnetisation.toml", &[]);
    let sweep = json(folder.path(), "sweep.json");
    let steps = sweep["magnetisation"]["steps"].as_array().unwrap();
    let two_sz: Vec<i64> = steps.iter().map(|step| step["two_sz"].as_i64().unwrap()).collect();
    assert_eq!(two_sz, [0, 2, 4, 6, 8, 10, 12]);
    let from: Vec<f64> = steps.iter().map(|step| step["from"].as_f64().unwrap()).collect();
    assert!((from[1] - 0.355_848).abs() < 1e-6 && (from[6] - 2.0).abs() < 1e-9, "{from:?}");
    assert!(from.is_sorted() && steps[6]["to"].is_null());
    let found = table(folder.path(), "sweep.csv");
    assert_eq!(column(&found, "two_sz"), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
    assert_eq!(column(&found, "sectors"), [1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0]);
    let picture = std::fs::read_to_string(folder.path().join("magnetisation.svg")).unwrap();
    assert!(picture.contains("h / J") && picture.contains("Sz"), "{picture}");
}

#[test]
fn a_structure_factor_is_that_of_the_averages() {
    let folder = solved("examples/recipes/structure_factor.toml", &[]);
    let run = json(folder.path(), "report.json");
    assert_eq!((&run["schema"], &run["structure_factor"]["observable"]), (&Value::from(1), &Value::from("sdots")));
    let values = run["structure_factor"]["values"].as_array().unwrap();
    let positions: Vec<Vec<f64>> = run["lattice"]["positions"].as_array().unwrap().iter().map(numbers).collect();
    let pairs: Vec<Vec<f64>> = run["observables"]["sdots"].as_array().unwrap().iter().map(numbers).collect();
    for found in values {
        let q = numbers(&found["cartesian"]);
        let phase =
            |i: usize, j: usize| (0..2).map(|axis| q[axis] * (positions[i][axis] - positions[j][axis])).sum::<f64>();
        let all = (0..16).flat_map(|i| (0..16).map(move |j| (i, j)));
        let sum: f64 = all.map(|(i, j)| phase(i, j).cos() * pairs[i][j]).sum::<f64>() / 16.0;
        assert!((found["value"].as_f64().unwrap() - sum).abs() < 1e-10, "{found}");
    }
    let at_m = values.iter().find(|found| found["point"] == "M").unwrap();
    assert!((at_m["value"].as_f64().unwrap() - 4.424_434).abs() < 1e-6, "{at_m}");
    assert!(folder.path().join("structure_factor.svg").is_file());
    // Each translation has its permutation, and e^(−2πik/L) with k = 0.
    let generators = run["symmetry"]["generators"].as_array().unwrap();
    assert_eq!(generators[0]["permutation"].as_array().unwrap().len(), 16);
    assert_eq!(generators[0]["character"], serde_json::json!({ "re": 1.0, "im": 0.0 }));
    assert_eq!(run["lattice"]["bonds"].as_array().unwrap().len(), 32);
}

#[test]
fn gaps_are_columns() {
    let folder = solved("examples/recipes/gap.toml", &[]);
    let found = table(folder.path(), "sweep.csv");
    assert_eq!(column(&found, "size"), [4.0, 6.0, 8.0, 10.0]);
    let gaps = column(&found, "energy_1").into_iter().zip(column(&found, "energy_0")).map(|(high, low)| high - low);
    for (gap, expected) in gaps.zip([1.0, 0.720_627, 0.593_555, 0.524_808]) {
        assert!((gap - expected).abs() < 1e-6, "{gap}");
    }
    let picture = std::fs::read_to_string(folder.path().join("energies.svg")).unwrap();
    assert!(picture.contains("E / J") && picture.contains("state 1"));
}

/// A sweep of molecules has ⟨S²⟩ and multiplicities, in the table and as columns.
#[test]
fn molecules_have_spins_and_multiplicities_in_sweeps() {
    let file = |name: &str| format!("{:?}", root().join(format!("tests/data/ci/{name}.FCIDUMP")).display().to_string());
    let text = format!(
        "[ci]\nfcidump = {{ sweep = [{}, {}] }}\n[solve]\nstates = 2\n",
        file("H2_sto3g_0.74"),
        file("HF_sto3g_0.92")
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("molecules.toml");
    std::fs::write(&path, text).unwrap();
    let output = run(&[
        "solve",
        path.to_str().unwrap(),
        "--device",
        "cpu",
        "--output",
        folder.path().join("out").to_str().unwrap(),
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.contains("<S^2>") && shown.contains("multiplicity"), "{shown}");
    let found = table(&folder.path().join("out"), "sweep.csv");
    assert_eq!(column(&found, "s_0"), [0.0, 0.0]);
    assert_eq!(column(&found, "s_1"), [1.0, 1.0], "the lowest excitations are triplets");
    assert!(column(&found, "s_squared_1").iter().all(|square| (square - 2.0).abs() < 1e-6));
    assert_eq!(column(&found, "multiplicity_0"), [1.0, 1.0]);
}

/// An irrep without determinants costs the sweep nothing, and one with fewer than are asked for is solved for all.
#[test]
fn an_empty_irrep_of_a_molecule_has_no_row() {
    let file = root().join("tests/data/ci/H2_sto3g_0.74.FCIDUMP").display().to_string();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("irreps.toml");
    let text =
        |irreps: &str| format!("[ci]\nfcidump = {file:?}\nirrep = {{ sweep = {irreps} }}\n[solve]\nstates = 4\n");
    std::fs::write(&path, text("[1, 2, 3, 5]")).unwrap();
    let output = run(&["solve", path.to_str().unwrap(), "--device", "cpu", "--json"]);
    assert!(output.status.success() && stderr(&output).contains("no determinant"), "{}", stderr(&output));
    let sweep: Value = serde_json::from_slice(&output.stdout).unwrap();
    let points = sweep["points"].as_array().unwrap();
    let irreps: Vec<&Value> = points.iter().map(|point| &point["values"]["ci.irrep"]).collect();
    assert_eq!(irreps, [1, 5]);
    assert!(points.iter().all(|point| point["energies"].as_array().unwrap().len() == 2), "{points:?}");
    std::fs::write(&path, text("[2, 3]")).unwrap();
    let refused = run(&["solve", path.to_str().unwrap(), "--device", "cpu"]);
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
}
