//! `eigenforge su3` as a user runs it: output, files, exit codes, what bad files are told.

use eigenforge::runtime::testing;
use std::path::{Path, PathBuf};
use std::process::Output;

fn run(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

/// The program.
pub fn program() -> std::ffi::OsString {
    std::env::var_os("EIGENFORGE_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_eigenforge").into())
}

/// The command, with no cache but what a test gives it.
pub fn command(arguments: &[&str]) -> std::process::Command {
    let mut command = std::process::Command::new(program());
    command.current_dir(root()).env("EIGENFORGE_CACHE", "off").arg("su3").args(arguments);
    command
}

/// The published sum over all labels as `bench paper su3` starts it: a hidden option of its own.
fn published_sum(elements: &str, n_max: &str, output: &str, device: &str) -> std::process::Command {
    let mut command = std::process::Command::new(program());
    command.current_dir(root()).env("EIGENFORGE_CACHE", "off").args(["bench", "paper", "su3", "--device", device]);
    command.args(["--published-sum", elements, n_max, output]);
    command
}

/// A file of 8-byte numbers.
fn numbers(path: &str) -> Vec<f64> {
    let bytes = std::fs::read(path).unwrap();
    bytes.chunks_exact(8).map(|eight| f64::from_le_bytes(eight.try_into().unwrap())).collect()
}

pub fn root() -> PathBuf {
    std::env::var_os("EIGENFORGE_ROOT").map_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/..").into(), PathBuf::from)
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_string_lossy().into_owned()
}

/// Runs and gives standard output; the command must succeed.
pub fn succeed(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn count_prints_the_papers_number() {
    assert!(succeed(&["count", "--n-max", "8"]).contains("2,300,760"));
    let json: serde_json::Value = serde_json::from_str(&succeed(&["count", "--n-max", "14", "--json"])).unwrap();
    assert_eq!(json["elements"].as_u64().map(|n| 3 * n), Some(65_615_742));
}

#[test]
fn tables_of_coefficients_and_symbols_get_a_column() {
    let folder = tempfile::tempdir().unwrap();
    for (verb, table, rows, close) in [
        ("coefficients", "su3/tests/data/su3_reference.csv", 3014, 1e-14),
        ("wigner", "su3/tests/data/wigner6j9j.csv", 500, 0.0),
    ] {
        let output = path(folder.path(), verb);
        let said = succeed(&[verb, "--table", table, "--output", &output]);
        assert!(said.contains(&format!("{rows} rows")), "{said}");
        let written = std::fs::read_to_string(&output).unwrap();
        let source = std::fs::read_to_string(root().join(table)).unwrap();
        let column = source.lines().next().unwrap().split(',').position(|name| name == "value").unwrap();
        assert!(written.lines().next().unwrap().ends_with(",computed"));
        let mut compared = 0;
        for (old, new) in source.lines().zip(written.lines()).skip(1) {
            let (kept, computed) = new.rsplit_once(',').unwrap();
            assert_eq!(kept, old);
            let [computed, value] = [computed, old.split(',').nth(column).unwrap()].map(|x| x.parse::<f64>().unwrap());
            assert!((computed - value).abs() <= close, "{new}");
            compared += 1;
        }
        assert_eq!(compared, rows);
    }
}

/// The generated kernels in place of the CPU's program, both ways: the same table to rounding.
#[test]
fn the_command_takes_a_device() {
    let folder = tempfile::tempdir().unwrap();
    let card = testing::card_name();
    if card.is_none() && testing::simulator().is_none() {
        return;
    }
    let device = card.as_deref().unwrap_or("sim");
    let values = |path: &str| -> Vec<f64> {
        let text = std::fs::read_to_string(path).unwrap();
        text.lines().skip(1).map(|line| line.rsplit_once(',').unwrap().1.parse().unwrap()).collect()
    };
    // The simulator is compiled once for all of them; the CPU's tables are its own.
    let cache = path(folder.path(), "cache");
    let relative = "tests/data/su3/jisp16_Nmax20_hw20.0_rel.dat";
    let mut input = String::new();
    for (name, from, verb, n_max) in [
        ("labels", Some("tests/data/su3/jisp16_hw20_N2_V.csv"), &[][..], "2"),
        ("relative", Some(relative), &[], "1"),
        ("back", None, &["--inverse"], "1"),
    ] {
        // Without a file of its own: the strengths before it.
        input = from.map_or(input, str::to_string);
        let [ours, theirs] = [device, "cpu"].map(|device| {
            let output = path(folder.path(), &format!("{name}_{device}.csv"));
            let arguments =
                ["transform", "--interaction", &input, "--n-max", n_max, "--output", &output, "--device", device];
            let mut program = command(&[&arguments, verb].concat());
            let program = if device == "cpu" { &mut program } else { program.env("EIGENFORGE_CACHE", &cache) };
            let done = program.output().unwrap();
            assert_eq!(done.status.code(), Some(0), "{verb:?}, {device}: {}", text(&done.stderr));
            output
        });
        let (found, expected) = (values(&ours), values(&theirs));
        let largest = expected.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
        assert_eq!(found.len(), expected.len());
        let close = found.iter().zip(&expected).all(|(a, b)| (a - b).abs() <= 1e-13 * largest);
        assert!(close && largest > 1.0, "{name}, {device}");
        input = theirs;
    }
    // The published sum, which the bench of the paper alone has.
    let [ours, theirs] = [device, "cpu"].map(|device| {
        let output = path(folder.path(), &format!("published_{device}.bin"));
        let mut program = published_sum(relative, "1", &output, device);
        let program = if device == "cpu" { &mut program } else { program.env("EIGENFORGE_CACHE", &cache) };
        let done = program.output().unwrap();
        assert_eq!(done.status.code(), Some(0), "the published sum, {device}: {}", text(&done.stderr));
        numbers(&output)
    });
    let largest = theirs.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
    assert_eq!(ours.len(), theirs.len());
    let close = ours.iter().zip(&theirs).all(|(a, b)| (a - b).abs() <= 1e-13 * largest);
    assert!(close && largest > 1.0, "the published sum, {device}");
    let (input, output) = (relative, path(folder.path(), "none.csv"));
    let refused = run(&["transform", "--interaction", input, "--n-max", "2", "--output", &output, "--device", "gpu"]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
}

#[test]
fn an_interaction_goes_to_tensors_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let (tensors, back) = (path(folder.path(), "c.csv"), path(folder.path(), "v.csv"));
    let input = "tests/data/su3/jisp16_hw20_N2_V.csv";
    let said = succeed(&["transform", "--interaction", input, "--n-max", "2", "--output", &tensors]);
    assert!(said.contains("S0 = 2") && said.contains("(λ0 μ0)"), "{said}");
    let same = run(&["transform", "--interaction", &tensors, "--n-max", "2", "--output", &tensors]);
    assert_eq!(same.status.code(), Some(2), "an input is not written over");
    let json = std::fs::read_to_string(folder.path().join("c.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    for channel in json["channels"].as_array().unwrap() {
        let [before, after] = ["norm_of_elements", "norm_of_strengths"].map(|name| channel[name].as_f64().unwrap());
        assert!(before > 1.0 && (after / before - 1.0).abs() < 1e-13, "{channel}");
    }
    // C of an independent program, row by row, whatever the order.
    let read = |text: String| {
        let rows = text.lines().skip(1).map(|line| {
            let (labels, value) = line.rsplit_once(',').unwrap();
            (labels.to_string(), value.parse::<f64>().unwrap())
        });
        rows.collect::<std::collections::BTreeMap<_, _>>()
    };
    let expected = read(std::fs::read_to_string(root().join("tests/data/su3/jisp16_hw20_N2_C.csv")).unwrap());
    let found = read(std::fs::read_to_string(&tensors).unwrap());
    assert_eq!((expected.len(), found.len()), (5520, 5520));
    for (labels, value) in &expected {
        assert!((found[labels] - value).abs() < 1e-12, "{labels}: {} {value}", found[labels]);
    }
    succeed(&["transform", "--interaction", &tensors, "--n-max", "2", "--output", &back, "--inverse"]);
    let (original, returned) =
        (read(std::fs::read_to_string(root().join(input)).unwrap()), read(std::fs::read_to_string(&back).unwrap()));
    assert_eq!(original.len(), returned.len());
    assert!(original.iter().all(|(labels, value)| (returned[labels] - value).abs() < 1e-12));
    // The same from relative motion, and by way of the binary format.
    let (direct, binary) = (path(folder.path(), "r.csv"), path(folder.path(), "b.bin"));
    let interaction = "tests/data/su3/jisp16_Nmax20_hw20.0_rel.dat";
    succeed(&["transform", "--interaction", interaction, "--n-max", "2", "--output", &direct]);
    let from_relative = read(std::fs::read_to_string(&direct).unwrap());
    assert_eq!(from_relative.len(), 3 * 2760);
    assert!(expected.iter().all(|(labels, value)| (from_relative[labels] - value).abs() < 1e-11));
    succeed(&["transform", "--interaction", interaction, "--n-max", "2", "--output", &binary]);
    let returned = path(folder.path(), "w.csv");
    succeed(&["transform", "--interaction", &binary, "--n-max", "2", "--output", &returned, "--inverse"]);
    let returned = read(std::fs::read_to_string(&returned).unwrap());
    assert!(original.iter().all(|(labels, value)| (returned[labels] - value).abs() < 1e-11));
    let beyond = run(&["transform", "--interaction", interaction, "--n-max", "19", "--output", &binary]);
    assert_eq!(beyond.status.code(), Some(2));
    // Of an H2 file; its weights end at two quanta.
    let h2 = path(folder.path(), "h.csv");
    let file = "tests/data/su3/jisp16_Nmax02_h2v15099.dat";
    succeed(&["transform", "--interaction", file, "--n-max", "0", "--output", &h2]);
    let h2 = read(std::fs::read_to_string(&h2).unwrap());
    assert!(h2.iter().all(|(labels, value)| (from_relative[labels] - value).abs() < 1e-5) && h2.len() > 100);
    // The published algorithm, which is the bench's and no option.
    let [chain, paper] = ["q.bin", "p.bin"].map(|name| path(folder.path(), name));
    succeed(&["transform", "--interaction", input, "--n-max", "2", "--output", &chain]);
    let done = published_sum(input, "2", &paper, "cpu").output().unwrap();
    assert!(text(&done.stdout).ends_with(" innermost terms\n"), "{}", text(&done.stderr));
    let (chain, paper) = (numbers(&chain), numbers(&paper));
    // The file of the command begins with a header.
    let chain = &chain[chain.len() - paper.len()..];
    assert_eq!(paper.len(), 2 * 2760);
    assert!(chain.iter().zip(&paper).all(|(a, b)| (a - b).abs() < 1e-11));
    let refused =
        run(&["transform", "--interaction", input, "--n-max", "2", "--output", &back, "--algorithm", "paper"]);
    let said = text(&refused.stderr);
    assert!(refused.status.code() == Some(2) && said.contains("unexpected argument '--algorithm'"), "{said}");
    // A smaller space of the same file.
    let small = path(folder.path(), "small.csv");
    let said = succeed(&["transform", "--interaction", input, "--n-max", "1", "--output", &small]);
    assert!(said.contains("left out"), "{said}");
}

/// Each fault is named by its place, what was expected and what was found; nothing is written; exit code 2.
#[test]
fn faults_of_tables_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let good = std::fs::read_to_string(root().join("tests/data/su3/jisp16_hw20_N2_V.csv")).unwrap();
    let lines: Vec<&str> = good.lines().collect();
    let with = |number: usize, line: &str| {
        let mut lines = lines.clone();
        lines[number - 1] = line;
        lines.join("\n") + "\n"
    };
    let header = lines[0];
    for (file, n_max, said) in [
        (with(1, &header.replace("twojc", "jc")), "2", "expected a column `twojc`"),
        (
            with(2, "pn,0,0,0,0,0,1,0,1,0,1,0,1,0,nan"),
            "2",
            "line 2, column `value`: expected a finite number, found `nan`",
        ),
        (with(3, "pn,0,0,0,0,0,1,0,2,0,1,0,1,1,1"), "2", "line 3, column `twojb`: expected 2j = 1 of l = 0, found `2`"),
        (with(3, "pn,0,1,0,0,0,1,0,1,0,1,0,1,1,1"), "2", "line 3, column `lb`: expected l = 1"),
        (with(3, "pn,0,0,0,1,0,1,0,1,0,1,1,1,1,1"), "2", "expected bra and ket of the same parity"),
        (with(3, "pn,0,0,0,0,0,1,0,1,0,1,0,1,2,1"), "2", "J = 2 cannot be formed from"),
        (with(3, "np,0,0,0,0,0,1,0,1,0,1,0,1,1,1"), "2", "column `channel`: expected pn, pp or nn, found `np`"),
        (with(3, "pn,0,0,0,0,0,1,0,1,0,1,0,1,1"), "2", "line 3: expected 15 fields as in the header, found 14"),
        (with(3, lines[1]), "2", "n l 2j = 0 0 1, 0 0 1 | 0 0 1, 0 0 1; J = 0 appears twice"),
        (with(3, ""), "2", "1 of 2760 rows of channel pn are missing, first the element n l 2j = 0 0 1, 0 0 1"),
        (good.clone(), "4", "its largest na + nb is 4, but N_max = 4 needs 6: use --n-max 2"),
        (String::new(), "2", "but the file is empty"),
        (format!("{header}\n"), "2", "expected rows after the header, found none"),
        (good.trim_end().to_string(), "2", "does not end with a line feed"),
    ] {
        let (input, output) = (path(folder.path(), "in.csv"), path(folder.path(), "out.csv"));
        std::fs::write(&input, file).unwrap();
        let result = run(&["transform", "--interaction", &input, "--n-max", n_max, "--output", &output]);
        // miette wraps lines; compare without white space and frames
        let plain = |text: &str| text.chars().filter(|c| !c.is_whitespace() && *c != '│').collect::<String>();
        assert!(plain(&text(&result.stderr)).contains(&plain(said)), "{said}\nis not in\n{}", text(&result.stderr));
        assert_eq!(result.status.code(), Some(2));
        assert!(!Path::new(&output).exists());
    }
}

#[test]
fn faults_of_labels_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let header = "lambda1,mu1,kappa1,L1,lambda2,mu2,kappa2,L2,lambda3,mu3,kappa3,L3,rho\n";
    let symbols = "type,twoj1,twoj2,twoj3,twoj4,twoj5,twoj6,twoj7,twoj8,twoj9\n";
    for (verb, file, said) in [
        ("coefficients", format!("{header}2,0,1,2,2,0,1,2,5,0,1,2,1\n"), "(5 0) is not in the product (2 0) x (2 0)"),
        ("coefficients", format!("{header}2,0,1,1,2,0,1,2,4,0,1,2,1\n"), "(2 0) has 0 states with L = 1"),
        ("coefficients", format!("{header}2,0,1,2,2,0,1,0,4,0,1,4,1\n"), "|L1 - L2| <= L3"),
        ("coefficients", format!("{header}2,0,1,2,2,0,1,2,4,0,1,2,2\n"), "expected rho from 1 to 1"),
        (
            "coefficients",
            format!("{header}2,0,1,2,2,0,1,-2,4,0,1,2,1\n"),
            "line 2, column `L2`: expected a whole number",
        ),
        (
            "coefficients",
            format!("{header}9000,9000,1,0,0,0,1,0,9000,9000,1,0,1\n"),
            "the branching tables of (9000 9000) and (0 0) take",
        ),
        (
            "coefficients",
            format!("{header}2,4000000000,1,2,2,0,1,2,4,0,1,2,1\n"),
            "column `mu1`: expected a label up to 10000",
        ),
        ("wigner", format!("{symbols}6j,2,2,2,2,2,-2,,,\n"), "line 2: 2j6 = -2"),
        ("wigner", format!("{symbols}3j,2,2,2,1,-1,0,,,\n"), "2m1 = 1 is not a projection of 2j = 2"),
        ("wigner", format!("{symbols}12j,2,2,2,2,2,2,,,\n"), "column `type`: expected 3j, 6j or 9j, found `12j`"),
    ] {
        let input = path(folder.path(), "in.csv");
        std::fs::write(&input, &file).unwrap();
        let result = run(&[verb, "--table", &input]);
        let plain = |text: &str| text.chars().filter(|c| !c.is_whitespace() && *c != '│').collect::<String>();
        assert!(plain(&text(&result.stderr)).contains(&plain(said)), "{said}\nis not in\n{}", text(&result.stderr));
        assert_eq!(result.status.code(), Some(2), "{file}");
        assert!(!folder.path().join("in_computed.csv").exists());
    }
}
