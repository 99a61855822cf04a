//! Files as they come from outside: pipes and devices, files that promise too much, standard input, and numbers on the
//! command line that nothing could hold. All are refused at once, by name.

use super::command::{command, run, stderr, stdout};
use super::gallery::root;
use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

/// Longest that a refusal may take, on a machine that does other things beside.
const AT_ONCE: Duration = Duration::from_secs(10);

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_string_lossy().into_owned()
}

/// The arguments of each verb that reads a file.
fn readers(file: &str, folder: &Path) -> Vec<Vec<String>> {
    let out = path(folder, "out.csv");
    let all: [&[&str]; 9] = [
        &["solve", file],
        &["inspect", file],
        &["spmv", file],
        &["count", "--fcidump", file],
        &["su3", "transform", "--n-max", "0", "--output", &out, "--interaction", file],
        &["su3", "transform", "--inverse", "--n-max", "0", "--output", &out, "--interaction", file],
        &["su3", "elements", "--n-max", "0", "--output", &out, "--interaction", file],
        &["su3", "coefficients", "--output", &out, "--table", file],
        &["su3", "wigner", "--output", &out, "--table", file],
    ];
    all.map(|arguments| arguments.iter().map(ToString::to_string).collect()).into()
}

fn with_standard_input(arguments: &[&str], bytes: &[u8]) -> Output {
    let mut child =
        command(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let bytes = bytes.to_vec();
    // The reader may stop early.
    let writer = std::thread::spawn(move || drop(input.write_all(&bytes)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

#[cfg(unix)]
#[test]
fn pipes_devices_and_folders_are_refused_by_every_verb() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["p.toml", "p.mtx", "p.npz", "p"] {
        assert!(std::process::Command::new("mkfifo").arg(path(folder.path(), name)).status().unwrap().success());
    }
    std::os::unix::fs::symlink("/dev/zero", folder.path().join("zero.mtx")).unwrap();
    std::fs::create_dir(folder.path().join("d.toml")).unwrap();
    let refused = |arguments: &[&str], name: &str| {
        let start = Instant::now();
        let output = run(arguments);
        let said = stderr(&output).replace("\n  │ ", " ").split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(name) && said.contains("expected a regular"), "{arguments:?}: {said}");
        assert!(start.elapsed() < AT_ONCE, "{arguments:?}");
    };
    for (file, name) in [("p.toml", "a named pipe"), ("p.mtx", "a named pipe"), ("zero.mtx", "a character device")] {
        for arguments in readers(&path(folder.path(), file), folder.path()) {
            refused(&arguments.iter().map(String::as_str).collect::<Vec<_>>(), name);
        }
    }
    refused(&["solve", &path(folder.path(), "d.toml")], "a folder");
    refused(&["spmv", &path(folder.path(), "p.npz")], "a named pipe");
    // Files that a model names.
    for (key, line) in [
        ("fcidump", "fcidump = \"p\"".to_string()),
        ("dipole", format!("fcidump = \"{}\"\ndipole = \"p\"", path(&root(), "tests/data/ci/H2_sto3g_0.74.FCIDUMP"))),
        (
            "file",
            format!(
                "fcidump = \"{}\"\nspace = {{ file = \"p\" }}",
                path(&root(), "tests/data/ci/H2_sto3g_0.74.FCIDUMP")
            ),
        ),
    ] {
        let model = path(folder.path(), &format!("{key}.toml"));
        std::fs::write(&model, format!("[ci]\n{line}\n")).unwrap();
        refused(&["solve", "--device", "cpu", &model], "a named pipe");
    }
}

#[test]
fn standard_input_stands_for_any_file() {
    let read = |file: &str| std::fs::read(root().join(file)).unwrap();
    let model = read("examples/heisenberg_kagome.toml");
    let solve = |arguments: &[&str], input: &[u8]| {
        let output = with_standard_input(&[&["solve", "--device", "cpu", "--json"], arguments].concat(), input);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        serde_json::from_str::<serde_json::Value>(stdout(&output)).unwrap()["energies"][0].as_f64().unwrap()
    };
    let named = solve(&["examples/heisenberg_kagome.toml"], b"");
    assert_eq!(solve(&["-"], &model), named);
    let fcidump = with_standard_input(&["count", "--fcidump", "-"], &read("tests/data/ci/H2O_sto3g_0.96.FCIDUMP"));
    assert!(stdout(&fcidump).contains("10 electrons in 7 orbitals"), "{}", stderr(&fcidump));
    let matrix = b"%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 2\n2 2 2\n3 1 -1\n";
    let archive = read("tests/data/ci_matrices/H2O_sto3g_0.96_det_levfull.npz");
    for (input, rows) in [(matrix.as_slice(), "3 rows"), (&archive, "441 rows")] {
        let output = with_standard_input(&["spmv", "-", "--device", "cpu", "--repeats", "1"], input);
        assert!(stdout(&output).contains(rows), "{}", stderr(&output));
    }
    let folder = tempfile::tempdir().unwrap();
    let elements = |file: &str, name: &str, input: &[u8]| {
        let out = path(folder.path(), name);
        let arguments = ["su3", "elements", "--n-max", "0", "--interaction", file, "--output", &out];
        let output = with_standard_input(&arguments, input);
        assert!(output.status.success(), "{}", stderr(&output));
        std::fs::read(&out).unwrap()
    };
    for file in ["tests/data/su3/jisp16_Nmax02_h2v15099.dat", "tests/data/su3/jisp16_Nmax02_h2v15099.bin"] {
        assert!(elements("-", "a.csv", &read(file)) == elements(file, "b.csv", b""), "{file}");
    }
    let table = with_standard_input(&["su3", "wigner", "--table", "-"], b"");
    assert_eq!(table.status.code(), Some(2));
    assert!(stderr(&table).contains("add --output"), "{}", stderr(&table));
    // The limit is that of the kind.
    let long = with_standard_input(&["solve", "-"], &vec![b'#'; (16 << 20) + 2]);
    assert!(stderr(&long).contains("16777216"), "{}", stderr(&long));
}

#[test]
fn numbers_that_nothing_could_hold() {
    let most = u64::MAX.to_string();
    for (arguments, said) in [
        (vec!["count", "--orbitals", &most, "--electrons", &most], most.as_str()),
        (vec!["count", "--orbitals", "1000000000000", "--electrons", "2"], "1000000000000 orbitals: at most 10000"),
        (vec!["count", "--orbitals", "10", "--electrons", &most], most.as_str()),
        (vec!["count", "--orbitals", "10", "--electrons", "2", "--two-s", &most], most.as_str()),
    ] {
        let start = Instant::now();
        let output = run(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        let shown = stderr(&output).replace("\n  │ ", " ");
        assert!(shown.contains(said), "{arguments:?}: {shown}");
        assert!(start.elapsed() < AT_ONCE, "{arguments:?}");
    }
}

#[test]
fn a_file_cannot_promise_more_than_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).unwrap();
        path(folder.path(), name)
    };
    let head = "%%MatrixMarket matrix coordinate real general";
    file("wide.FCIDUMP", "&FCI NORB=256,NELEC=2,MS2=0 &END\n1.0 0 0 0 0\n");
    file("wide.toml", "[ci]\nfcidump = \"wide.FCIDUMP\"\n");
    let out = path(folder.path(), "out.csv");
    let transform = ["su3", "transform", "--n-max", "0", "--output", &out, "--interaction"];
    let orbitals = format!("15200\n4000 4000\n{}", "1 0 0 1 1 0\n".repeat(10));
    let cases: Vec<(Vec<&str>, String, &str)> = vec![
        (vec!["spmv"], file("empty.mtx", &format!("{head}\n4000000000 4000000000 0\n")), "4000000000 rows and 0"),
        (vec!["spmv"], file("one.mtx", &format!("{head}\n400000000 400000000 1\n1 1 1\n")), "400000000 rows and 1"),
        (vec!["solve"], path(folder.path(), "wide.toml"), "256 orbitals: strings hold at most 128"),
        (
            transform.to_vec(),
            file("rel.dat", "# RELATIVE LSJT\n1\n0 0 0 0 0\n4000000000 4000000000\n"),
            "expected Nmax up to",
        ),
        (
            transform.to_vec(),
            file("rel2.dat", "# RELATIVE LSJT\n1\n0 0 0 0 0\n900 900\n"),
            "need more than 100002 elements",
        ),
        (transform.to_vec(), file("h2.dat", "0\n2\n60\n120\n1 1\n"), "its line of sizes says"),
        (transform.to_vec(), file("h2b.dat", &orbitals), "expected orbital 2"),
    ];
    for (mut arguments, file, said) in cases {
        arguments.push(&file);
        let start = Instant::now();
        let output = run(&arguments);
        let shown = stderr(&output).replace("\n  │ ", " ");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {shown}");
        assert!(shown.contains(said), "{arguments:?}: {shown}");
        assert!(start.elapsed() < AT_ONCE, "{arguments:?}");
    }
    // The namelist alone is enough to count.
    let namelist = file("namelist.FCIDUMP", "&FCI NORB=120,NELEC=2,MS2=0 &END\n1.0 0 0 0 0\n");
    let output = run(&["count", "--fcidump", &namelist]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

/// Σ C² of strengths near 1e308 is no number, and is not told as one.
#[test]
fn what_overflows_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let out = path(folder.path(), "out.csv");
    let large = |text: String| {
        let mut lines = text.lines();
        let mut scaled = lines.next().unwrap().to_string() + "\n";
        for line in lines {
            let (labels, _) = line.rsplit_once(',').unwrap();
            scaled += &format!("{labels},1e308\n");
        }
        scaled
    };
    for (source, inverse) in [("jisp16_hw20_N2_V.csv", false), ("jisp16_hw20_N2_C.csv", true)] {
        let text = std::fs::read_to_string(root().join("tests/data/su3").join(source)).unwrap();
        let input = path(folder.path(), source);
        std::fs::write(&input, large(text)).unwrap();
        let mut arguments = vec!["su3", "transform", "--n-max", "2", "--output", &out, "--interaction", &input];
        arguments.extend(inverse.then_some("--inverse"));
        let output = run(&arguments);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains("overflows"), "{}", stderr(&output));
        assert!(!Path::new(&out).exists() && !Path::new(&(out.clone() + ".partial")).exists());
    }
    let force = path(folder.path(), "force.toml");
    std::fs::write(&force, "[force]\nhw = 20.0\ncentral = [{ strength = 1e308, range = 1.5, majorana = 1.0 }]\n")
        .unwrap();
    let output = run(&["su3", "elements", "--n-max", "2", "--output", &out, "--interaction", &force]);
    assert!(!output.status.success() && stderr(&output).contains("overflows"), "{}", stderr(&output));
    assert!(!Path::new(&out).exists());
}

#[test]
fn a_fault_of_a_file_is_told_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = path(folder.path(), "nan.mtx");
    std::fs::write(&file, "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 nan\n").unwrap();
    let said = stderr(&run(&["spmv", &file]));
    assert_eq!(said.matches("not a finite number").count(), 1, "{said}");
    let said = stderr(&run(&["spmv", &path(folder.path(), "no.mtx")]));
    assert_eq!(said.matches("No such file").count(), 1, "{said}");
}
