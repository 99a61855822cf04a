//! Nothing is eaten: sectors, files and numbers that are too large are refused at once, with little memory, by name.

use super::command::{failed, run, stderr};
use super::standard_error::by_shell;
use std::fs;
use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant};

/// Address space of the command in KiB, of which the refusals themselves take less than a GiB, and seconds of a core.
const LIMIT: &str = "ulimit -v 4000000; ulimit -t 6;";

fn file(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().into()
}

fn message(output: &Output) -> String {
    stderr(output).split_whitespace().filter(|word| *word != "│" && *word != "×").collect::<Vec<_>>().join(" ")
}

fn terms(site: &str, h: &str, size: usize, more: &str) -> String {
    format!(
        "[model]\nname = \"terms\"\nsite = \"{site}\"\nH = \"{h}\"\n[lattice]\nkind = \"chain\"\nsize = {size}\n{more}"
    )
}

/// Sectors of every kind of site, far larger than any memory.
#[test]
fn sectors_are_counted_before_they_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let xxz = |size: usize| {
        format!(
            "[model]\nname = \"xxz\"\njxy = 1.0\njz = 1.0\n[lattice]\nkind = \"chain\"\nsize = {size}\n[sector]\ntwo_sz = 0\n"
        )
    };
    let hubbard = |size: usize, up: usize| {
        format!(
            "[model]\nname = \"hubbard\"\nt = 1.0\nu = 4.0\n[lattice]\nkind = \"chain\"\nsize = {size}\n[sector]\nup = {up}\ndown = {up}\n"
        )
    };
    let (sdots, hop) = ("sum(<i, j> in bonds; sdots(i, j))", "sum(<i, j> in bonds; bdag(i) * b(j) + h.c.)");
    let flavours = "sum(<i, j> in bonds, f in 0..6; -1.0 * (cdag(i, Flavour(f)) * c(j, Flavour(f)) + h.c.))";
    let electrons = "sum(<i, j> in bonds, s in [Up, Down]; cdag(i, s) * c(j, s) + h.c.)";
    let forbid = "[[forbid]]\nlevels = [1, 1]\non = { shell = 2 }\n";
    let cases = [
        ("xxz40", xxz(40), "states"),
        ("xxz44", xxz(44), "2104098963720"),
        ("xxz64", xxz(64), "1.833e18"),
        ("hubbard24", hubbard(24, 12), "states"),
        ("hubbard30", hubbard(30, 15), "2.406e16"),
        ("qubits40", terms("qubit", "sum(i in sites; X(i))", 40, "[sector]\n"), "states"),
        ("qubits49", terms("qubit", "sum(i in sites; X(i))", 49, "[sector]\n"), "5.629e14"),
        ("spins3", terms("spin 3/2", sdots, 24, "[sector]\ntwo_sz = 0\n"), "2.036e13"),
        ("bosons", terms("boson 3", hop, 30, "[sector]\nbosons = 30\n"), "states"),
        ("tj", terms("tj", electrons, 30, "[sector]\nup = 10\ndown = 10\n"), "states"),
        ("flavours", terms("flavours 6", flavours, 20, "[sector]\nflavours = [10, 10, 10, 10, 10, 10]\n"), "3.977e31"),
        ("parity", terms("electron", electrons, 24, "[sector]\nparticles = 24\ntwo_sz = 0\n"), "states"),
        ("blockade", terms("qubit", "sum(i in sites; X(i))", 60, &format!("[sector]\n{forbid}")), "states"),
        (
            "momentum",
            xxz(40).replace("size = 40", "size = 40\nboundary = \"periodic\"") + "[symmetry]\nk = 0\n",
            "states",
        ),
    ];
    for (name, text, part) in cases {
        let model = file(folder.path(), &format!("{name}.toml"), &text);
        let output = by_shell(LIMIT, &["solve", &model, "--device", "cpu"], "");
        let (code, said) = (output.status.code(), message(&output));
        assert!(matches!(code, Some(1 | 2)), "{name}: {code:?} {said}");
        assert!(said.contains(part), "{name}: {said}");
    }
}

/// Small sectors among very many states are still solved.
#[test]
fn small_sectors_of_many_sites_are_solved() {
    let folder = tempfile::tempdir().unwrap();
    let hop = "sum(<i, j> in bonds; -1.0 * (bdag(i) * b(j) + h.c.))";
    let rods = "[[forbid]]\nlevels = [1, 1]\non = \"bonds\"\n";
    for (name, text, states) in [
        ("bosons", terms("boson 1", hop, 60, "[sector]\nbosons = 2\n"), 60 * 59 / 2),
        ("rods", terms("boson 1", hop, 60, &format!("[sector]\nbosons = 2\n{rods}")), 59 * 58 / 2),
    ] {
        let model = file(folder.path(), &format!("{name}.toml"), &text);
        let output = run(&["solve", &model, "--device", "cpu", "--json"]);
        assert_eq!(output.status.code(), Some(0), "{name}: {}", message(&output));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["dimension"], states, "{name}");
    }
}

/// Each is refused at its place in the file, and none with a long wait.
#[test]
fn numbers_and_lists_without_bound_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let term = |term: &str| {
        format!(
            "[model]\nname = \"terms\"\nsite = \"spin 1/2\"\n[lattice]\nkind = \"chain\"\nsize = 40\n[sector]\n{term}"
        )
    };
    let words = vec!["Sx"; 40].join(" ");
    let each: Vec<String> = (0..40).map(|site| site.to_string()).collect();
    let qubits = |h: &str| terms("qubit", h, 4, "[sector]\n");
    for (name, text, part) in [
        ("shell", term("[[term]]\noperators = \"Sz Sz\"\non = { shell = 99999999999 }\n"), "shell 99999999999"),
        ("no_shell", term("[[term]]\noperators = \"Sz Sz\"\non = { shell = 40 }\n"), "shell 40"),
        ("empty", term("[[term]]\noperators = \"Sz Sz\"\non = []\n"), "at least one list of sites"),
        ("nothing", term("[[term]]\noperators = \"Sz\"\non = \"sites\"\ncoefficient = {}\n"), "coefficient"),
        ("words", term(&format!("[[term]]\noperators = \"{words}\"\non = [[{}]]\n", each.join(", "))), "terms"),
        ("text", terms("spin 1/2", "prod(i in sites; sx(i))", 40, "[sector]\n"), "terms"),
        ("ranges", terms("spin 1/2", "sum(i in 0..1000000, j in 0..1000000; sz(0))", 4, "[sector]\n"), "at most"),
        ("overflow", qubits("1e308 * X(0) + 1e308 * X(1)"), "1e308"),
        ("constant", qubits("1e308 + 1e308 + X(0)"), "inf"),
        ("large", qubits("1e200 + X(0)"), "another unit of energy"),
        ("imaginary", qubits("-0.7 * I * X(0)"), "coefficient -0.7 i"),
    ] {
        let model = file(folder.path(), &format!("{name}.toml"), &text);
        let output = by_shell(LIMIT, &["solve", &model, "--device", "cpu"], "");
        assert_eq!(output.status.code(), Some(2), "{name}: {}", message(&output));
        assert!(message(&output).contains(part), "{name}: {}", message(&output));
    }
    let chain = file(
        folder.path(),
        "chain.toml",
        &terms("spin 1/2", "sum(<i, j> in bonds; sdots(i, j))", 6, "[sector]\ntwo_sz = 0\n"),
    );
    let output = run(&["inspect", &chain, "--stage", "plan", "--cards", "99999999"]);
    assert_eq!(output.status.code(), Some(2), "{}", message(&output));
    let sweeps = "[dmrg]\nstates = 8\nsweeps = 9223372036854775807\nnoise = [1e-3]\n";
    let sweeps = terms("spin 1/2", "sum(<i, j> in bonds; sdots(i, j))", 6, &format!("[sector]\ntwo_sz = 0\n{sweeps}"));
    let output = run(&["solve", &file(folder.path(), "sweeps.toml", &sweeps), "--device", "cpu"]);
    assert_eq!(output.status.code(), Some(2), "{}", message(&output));
    assert!(message(&output).contains("sweeps"), "{}", message(&output));
}

/// In place of a line per line of the file.
#[test]
fn files_of_other_formats_are_told_in_one_message() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let rows: String = (1..8000).map(|row| format!("{row} {row} 1.0\n")).collect();
    let matrix = format!("%%MatrixMarket matrix coordinate real symmetric\n8000 8000 7999\n{rows}");
    fs::write(path("a_matrix"), matrix).unwrap();
    fs::write(path("a.FCIDUMP"), " &FCI NORB=2,NELEC=2,MS2=0,\n ORBSYM=1,1,\n ISYM=1,\n &END\n 0.5 1 1 1 1\n").unwrap();
    fs::write(path("an_archive"), b"PK\x03\x04rest").unwrap();
    fs::write(path("a.h5"), b"\x89HDF\r\n\x1a\nrest").unwrap();
    fs::write(path("a.gz"), b"\x1f\x8brest").unwrap();
    fs::write(path("utf16.toml"), b"\xff\xfe[\0m\0o\0").unwrap();
    fs::write(path("many.toml"), "x y z\n".repeat(5000)).unwrap();
    for (name, part) in [
        ("a_matrix", "eigenforge spmv"),
        ("a.FCIDUMP", "[ci]"),
        ("an_archive", "zip archive"),
        ("a.h5", "HDF5"),
        ("a.gz", "gzip"),
        ("utf16.toml", "UTF-16"),
        ("many.toml", "more"),
    ] {
        let output = by_shell(LIMIT, &["solve", path(name).to_str().unwrap()], "");
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert!(message(&output).contains(part), "{name}: {}", message(&output));
        assert!(stderr(&output).lines().count() < 150, "{name}: {} lines", stderr(&output).lines().count());
    }
}

#[test]
fn several_problems_are_listed_in_json() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[model]\nname = \"xxz\"\njxy = \"one\"\njz = 1.0\nfrob = 2\n[lattice]\nkind = \"chain\"\nsize = 4\n[sector]\ntwo_sz = 0\n";
    let model = file(folder.path(), "wrong.toml", text);
    let output = run(&["solve", &model, "--json"]);
    assert_eq!(failed(&output), 2);
    let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let problems = object["problems"].as_array().unwrap();
    assert_eq!(problems.len(), 2, "{object}");
    assert_eq!((&problems[0]["line"], &problems[1]["line"]), (&3.into(), &5.into()), "{object}");
    assert!(problems.iter().all(|problem| problem["error"].is_string()), "{object}");
}

/// Lists of other programs mean one thing, or are refused.
#[test]
fn lists_of_other_programs_are_read_strictly() {
    let folder = tempfile::tempdir().unwrap();
    let model = |key: &str, value: &str, more: &str| {
        format!(
            "[model]\nname = \"terms\"\nsite = \"spin 1/2\"\n{key} = '''{value}'''\n[lattice]\nkind = \"chain\"\nsize = 6\n[sector]\ntwo_sz = 0\n{more}"
        )
    };
    let solve = |name: &str, text: &str| run(&["solve", &file(folder.path(), name, text), "--device", "cpu", "--json"]);
    let energy = |output: &Output| {
        assert_eq!(output.status.code(), Some(0), "{}", message(output));
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()["energies"][0].as_f64().unwrap()
    };
    let twice = solve("twice.toml", &model("quspin", r#"{"pauli": 1, "static": [["z", [[1.0, 0]]]], "pauli": 0}"#, ""));
    assert_eq!(twice.status.code(), Some(2));
    assert!(message(&twice).contains("stands twice"), "{}", message(&twice));
    let after = "Interactions = [[\"J1\", \"SdotS\", 0, 5], [\"J1\", \"SdotS\", 0, 1]]\n";
    let before = "Interactions = [[\"HB\", \"J1\", 0, 5], [\"SdotS\", \"J1\", 0, 1]]\n";
    let value = "[parameters]\nJ1 = 1.5\n";
    let after = energy(&solve("after.toml", &model("xdiag", after, value)));
    let before = energy(&solve("before.toml", &model("xdiag", before, value)));
    assert_eq!(after, before);
}

#[test]
fn lanczos_for_several_states_stops_at_its_last_step() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[model]\nname = \"xxz\"\njxy = 1.0\njz = 1.0\n[lattice]\nkind = \"chain\"\nsize = 14\n[sector]\ntwo_sz = 0\n[solve]\n\
                solver = \"lanczos\"\nstates = 2\nmax_iterations = 3\ncertify = false\n";
    let output = run(&["solve", &file(folder.path(), "few.toml", text), "--device", "cpu", "--json"]);
    assert_eq!(output.status.code(), Some(3), "{}", message(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["iterations"], 3, "{report}");
}

/// 2Sz of electrons is N_up − N_down, with and without a number of electrons.
#[test]
fn electrons_with_two_sz_alone_are_solved_by_dmrg() {
    let folder = tempfile::tempdir().unwrap();
    let h = "sum(<i, j> in bonds, s in [Up, Down]; -1.0 * (cdag(i, s) * c(j, s) + h.c.)) + 4.0 * sum(i in sites; n(i, Up) * n(i, Down)) \
             - 1.0 * sum(i in sites; n(i))";
    let energy = |name: &str, more: &str| {
        let model = file(folder.path(), name, &terms("electron", h, 4, &format!("[sector]\ntwo_sz = 0\n{more}")));
        let output = run(&["solve", &model, "--device", "cpu", "--json"]);
        assert_eq!(output.status.code(), Some(0), "{}", message(&output));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        report["energy"].as_f64().or(report["energies"][0].as_f64()).unwrap()
    };
    let (exact, dmrg) = (energy("exact.toml", ""), energy("dmrg.toml", "[dmrg]\nstates = 64\n"));
    assert!((exact - dmrg).abs() < 1e-8, "{exact} {dmrg}");
}

/// A vector of a checkpoint that is a pipe is passed over, as a damaged one is.
#[test]
fn a_pipe_in_a_checkpoint_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[model]\nname = \"xxz\"\njxy = 1.0\njz = 1.0\n[lattice]\nkind = \"chain\"\nsize = 12\n[sector]\ntwo_sz = 0\n[solve]\nsolver = \"lanczos\"\n";
    let (model, saved) = (file(folder.path(), "model.toml", text), folder.path().join("saved"));
    let solve = [
        "solve",
        &model,
        "--device",
        "cpu",
        "--json",
        "--checkpoint",
        saved.to_str().unwrap(),
        "--checkpoint-every",
        "0",
    ];
    assert_eq!(run(&solve).status.code(), Some(0));
    let states = fs::read_dir(&saved).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let vectors: Vec<_> = states
        .flat_map(|state| fs::read_dir(state).unwrap().map(|entry| entry.unwrap().path()))
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vector")))
        .collect();
    assert!(!vectors.is_empty(), "a state with vectors was saved");
    for vector in &vectors {
        fs::remove_file(vector).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(vector).status().unwrap().success());
    }
    let started = Instant::now();
    let output = run(&[&solve[..], &["--resume"]].concat());
    assert!(output.status.code().is_some() && started.elapsed() < Duration::from_secs(30), "{}", message(&output));
}
