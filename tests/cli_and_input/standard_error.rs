//! A standard error that is closed or full costs nothing; what is said there has one door.

use super::command::{command, failed, run, stderr, stdout};
use super::gallery::root;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A chain or ring of spins with these sections.
fn model(folder: &Path, name: &str, sections: &str) -> String {
    let path = folder.join(name);
    let text =
        "[model]\nname = \"xxz\"\njxy = 1.0\njz = 1.0\n[lattice]\nkind = \"chain\"\nsize = 12\n[sector]\ntwo_sz = 0\n";
    fs::write(&path, format!("{text}{sections}\n")).unwrap();
    path.to_str().unwrap().into()
}

/// The command by a shell, after `before`, with `redirection`.
pub fn by_shell(before: &str, arguments: &[&str], redirection: &str) -> Output {
    let program = command(&[]).get_program().to_os_string();
    let mut shell = Command::new("sh");
    shell.current_dir(root()).arg("-c").arg(format!("{before} exec \"$0\" \"$@\" {redirection}"));
    shell.arg(program).args(arguments).output().unwrap()
}

/// Everything that the command does, once with a standard error that takes nothing and once without any.
#[test]
fn a_full_or_closed_standard_error_costs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let lobpcg = model(folder.path(), "ed.toml", "[solve]\nsolver = \"lobpcg\"");
    let dmrg = model(folder.path(), "dmrg.toml", "[dmrg]\nstates = 64");
    let molecule = at("molecule.toml");
    let integrals = root().join("tests/data/ci/H2O_sto3g_0.96.FCIDUMP");
    fs::write(&molecule, format!("[ci]\nfcidump = {integrals:?}\n")).unwrap();
    let wrong = model(folder.path(), "wrong.toml", "[solve]\nsolver = \"guess\"");
    let (trace, output, saved, strengths) = (at("trace.json"), at("out"), at("saved"), at("strengths.csv"));
    let jisp16 = "tests/data/su3/jisp16_Nmax20_hw20.0_rel.dat";
    let transform = [
        "su3",
        "transform",
        "--interaction",
        jisp16,
        "--n-max",
        "1",
        "--output",
        &strengths,
        "--device",
        "cpu",
        "--json",
    ];
    for (arguments, code) in [
        (&["solve", &lobpcg, "--device", "cpu", "--json", "--trace", &trace, "--output", &output][..], 0),
        (&["solve", &lobpcg, "--device", "cpu", "--json", "--checkpoint", &saved, "--checkpoint-every", "0"], 0),
        (&["solve", &molecule, "--device", "cpu", "--json"], 0),
        (&["solve", &dmrg, "--device", "cpu", "--json"], 0),
        (&transform, 0),
        (&["solve", "no_such_file.toml", "--json"], 2),
        (&["solve", &wrong, "--json"], 2),
        (&["solve", &lobpcg, "--device", "nowhere", "--json"], 2),
        (&["solve", &lobpcg, "--no-such-option", "--json"], 2),
        (&["cache", "clear", "--no-such-option", "--json"], 2),
    ] {
        for redirection in ["2>/dev/full", "2>&-", "2>&- 0<&-"] {
            let output = by_shell("", arguments, redirection);
            assert_eq!(output.status.code(), Some(code), "{arguments:?} {redirection}: {}", stdout(&output));
            let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            assert!(found.is_object(), "{arguments:?} {redirection}");
            let _ = fs::remove_dir_all(&saved);
        }
    }
}

/// The command has a stack of its own, whatever the shell allows.
#[test]
fn small_stacks_are_enough() {
    let output = by_shell("ulimit -s 64;", &["solve", "examples/hubbard_edges.toml", "--device", "cpu", "--json"], "");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let output = by_shell("ulimit -s 64;", &["solve", "--help"], "");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn errors_are_json_where_results_would_be() {
    for (arguments, code, kind, part) in [
        (&["solve", "no_such_file.toml", "--json"][..], 2, "input", "no_such_file.toml"),
        (&["solve", "examples/hubbard_edges.toml", "--frob", "--json"], 2, "command line", "unexpected argument"),
        (&["su3", "count", "--n-max", "x", "--json"], 2, "command line", "invalid value"),
        (&["solve", "examples/hubbard_edges.toml", "--device", "cuda:77", "--json"], 1, "fault", "CUDA"),
    ] {
        let output = run(arguments);
        assert_eq!(failed(&output), code, "{}", stderr(&output));
        let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(object["kind"], kind, "{object}");
        assert!(object["error"].as_str().unwrap().contains(part), "{object}");
        assert!(!stderr(&output).is_empty());
    }
    let help = run(&["solve", "--help", "--json"]);
    assert!(help.status.success() && stdout(&help).contains("Usage"));
    for arguments in [
        &["inspect", "examples/hubbard_edges.toml", "--arch", "sm_1"][..],
        &["inspect", "examples/hubbard_edges.toml", "--stage", "ptx", "--arch", "sm_999999999999"],
        &["build", "examples/hubbard_edges.toml", "--arch", "foo"],
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains("expected a name like sm_90"), "{}", stderr(&output));
    }
}

/// Sources of a folder, those of tests left out.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            sources(&path, found);
        } else if name.ends_with(".rs") && name != "tests.rs" {
            found.push(path);
        }
    }
}

/// Lines of a program that write to standard output or error by a macro that panics where they cannot; tests may.
fn forbidden(text: &str) -> Vec<(usize, &str)> {
    let words = ["print!(", "println!(", "eprint!(", "eprintln!(", "dbg!("];
    let program = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let is_hit = |code: &str| {
        let is_word = |at: usize| !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        !code.starts_with("//") && words.iter().any(|word| code.match_indices(word).any(|(at, _)| is_word(at)))
    };
    let lines = program.lines().map(str::trim_start).enumerate();
    lines.filter(|(_, code)| is_hit(code)).map(|(at, code)| (at + 1, code)).collect()
}

/// `eprintln!` and its kin panic where nobody can read them; `say!` does not, and `output::print` gives an error.
#[test]
fn standard_output_and_error_have_one_door_each() {
    let sample = "//! println!(\"of a program of yours\");\nfn f() {\n    eprintln!(\"x\");\n    try_print!(1); say!(\"y\");\n}\n\
        #[cfg(test)]\nmod tests { println!(\"z\"); }\n";
    assert_eq!(forbidden(sample), [(3, "eprintln!(\"x\");")]);
    let mut files = Vec::new();
    for folder in [
        "src",
        "core/src",
        "product/src",
        "exact/src",
        "ci/src",
        "dmrg/src",
        "tensors/src",
        "benches/src",
        "command/src",
        "runtime/src",
        "su3/src",
        "templates/src",
        "macros/src",
        "grammar/src",
    ] {
        sources(&root().join(folder), &mut files);
    }
    assert!(files.len() > 300, "{} files", files.len());
    let mut found = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        found.extend(forbidden(&text).into_iter().map(|(line, code)| format!("{}:{line}: {code}", file.display())));
    }
    assert!(found.is_empty(), "use eigenforge_runtime::say! or output::print:\n{}", found.join("\n"));
}
