//! What a run launches, and what `inspect` shows: the kernels that a run on a simulated card compiled, beside the dumped files.

use super::command::{command, run, stderr, stdout};
use super::gallery::root;
use eigenforge_runtime::testing;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// The folders of a cache in which simulated runs keep their texts: NAME-KEY.
fn kept_texts(cache: &Path) -> PathBuf {
    let name = cache.file_name().unwrap().to_str().unwrap();
    cache.with_file_name(format!("{name}-simulate"))
}

/// The programs of the solver of a file, each with when it is launched, as `inspect` heads them.
fn solver_programs(input: &str) -> Vec<(String, String)> {
    let output = run(&["inspect", input, "--stage", "cuda"]);
    let heading = |line: &str| {
        let (name, when) = line.strip_prefix("// ======== ")?.strip_suffix(" ========")?.split_once(", ")?;
        (!["for averages", "for blocks of vectors", "before and after each multiply"].contains(&when))
            .then(|| (name.to_string(), when.to_string()))
    };
    stdout(&output).lines().filter_map(heading).collect()
}

/// Whether a block operation has a size that follows the course of a search.
fn is_tile(name: &str) -> bool {
    ["gram_", "combine_", "add_"].iter().any(|tile| name.starts_with(tile))
}

/// The section of a solver.
fn solver(name: &str, states: u32) -> String {
    format!("[solve]\nsolver = \"{name}\"\nstates = {states}\n")
}

/// Small files of every family: pairs of strings with their averages, a diagonal that is computed and not stored, several states by thick
/// restarts, each solver, a table of partners, rows of CI and full CI, a chain, tensors. Each with how many kernels it has at least, and
/// whether its solver's vector programs are compiled ahead.
fn files(folder: &Path) -> Vec<(PathBuf, usize, bool)> {
    let ring = |size: u32| format!("[lattice]\nkind = \"chain\"\nsize = {size}\nboundary = \"periodic\"\n");
    let hubbard = |size: u32, half: u32| {
        format!("[model]\nname = \"hubbard\"\nt = 1.0\nu = 4.0\n{}[sector]\nup = {half}\ndown = {half}\n", ring(size))
    };
    let xxz = |size: u32| format!("[model]\nname = \"xxz\"\njxy = 1.0\njz = 1.0\n{}[sector]\ntwo_sz = 0\n", ring(size));
    let written = [
        ("pairs", hubbard(6, 3) + "exchange = 1\n[symmetry]\nstorage = \"direct\"\n" + &solver("lanczos", 1), 5, true),
        ("spins", xxz(8) + &solver("lanczos", 2), 5, true),
        ("lobpcg", hubbard(4, 2) + &solver("lobpcg", 3), 5, false),
        ("davidson", hubbard(4, 2) + &solver("davidson", 3), 5, false),
        ("olsen", hubbard(4, 2) + &solver("olsen", 1), 5, false),
        ("dense", hubbard(4, 2) + &solver("dense", 3), 1, false),
        ("table", xxz(10) + "[symmetry]\nk = 0\nstorage = \"table\"\n" + &solver("lanczos", 2), 5, true),
        ("chain", xxz(8) + "[dmrg]\nstates = 16\nsweeps = 2\n", 1, false),
    ];
    let file = |(name, text, kernels, ahead): (&str, String, usize, bool)| {
        let path = folder.join(format!("{name}.toml"));
        fs::write(&path, text).unwrap();
        (path, kernels, ahead)
    };
    let generated = |name: &str| root().join("kernels_generated").join(name).join("model.toml");
    let there = [("water_full_ci", 5, true), ("water_cisd", 1, false), ("su3_n2", 1, false)];
    let there = there.map(|(name, kernels, ahead)| (generated(name), kernels, ahead));
    written.into_iter().map(file).chain(there).collect()
}

/// Files of curves with their verbs: chains of sectors with momenta and without, sampled sectors, H(t) and imaginary time.
fn curves(folder: &Path) -> Vec<(&'static str, PathBuf)> {
    let ring = "[lattice]\nkind = \"chain\"\nsize = 6\nboundary = \"periodic\"\n";
    let lanczos = solver("lanczos", 1);
    let spins = format!("[model]\nname = \"heisenberg\"\nj = 1.0\n{ring}{lanczos}");
    let spectrum = "[spectrum]\nof = \"Sm\"\nq = [[1], [3]]\nomega = { from = 0.0, to = 4.0, points = 9 }\n";
    let thermal = "[thermal]\ntemperatures = [1.0]\nexact_below = 2\nsamples = 2\nsteps = 4\n";
    let evolve = "[evolve]\nstart = { levels = [1, 0, 1, 0, 1, 0] }\nuntil = 0.5\ntimes = 2\ntolerance = 1e-6\n";
    let zero = "[sector]\ntwo_sz = 0\n";
    let driven = spins.replace("j = 1.0", "j = \"1.0 + 0.5 * sin(time)\"");
    let written = [
        ("spectrum", "plain", format!("{spins}{zero}{spectrum}")),
        ("spectrum", "momentum", format!("{spins}{zero}[symmetry]\nk = 3\n{spectrum}")),
        ("thermal", "sampled", format!("{spins}{thermal}")),
        ("evolve", "imaginary", format!("{spins}{zero}{evolve}imaginary = true\n")),
        ("evolve", "driven", format!("{driven}{zero}{evolve}record = [\"energy\", \"szsz\"]\n")),
    ];
    let file = |(verb, name, text): (&'static str, &str, String)| {
        let path = folder.join(format!("{name}.toml"));
        fs::write(&path, text).unwrap();
        (verb, path)
    };
    written.into_iter().map(file).collect()
}

/// Every text that a curve compiled is dumped, under its name or, of several texts of one name, under that and a part of a hash.
#[test]
fn every_kernel_of_a_curve_is_dumped_with_its_text() {
    if testing::simulator().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let cache = std::env::var_os("EIGENFORGE_CACHE").map_or_else(|| folder.path().join("cache"), PathBuf::from);
    let kept = kept_texts(&cache);
    for (verb, file) in curves(folder.path()) {
        let input = file.to_str().unwrap();
        let made =
            command(&[verb, input, "--device", "sim", "--json"]).env("EIGENFORGE_CACHE", &cache).output().unwrap();
        assert!([Some(0), Some(3)].contains(&made.status.code()), "{input}: {}", stderr(&made));
        let to = file.with_extension("dumped");
        let dump = run(&["inspect", input, "--dump", to.to_str().unwrap()]);
        assert_eq!(dump.status.code(), Some(0), "{input}: {}", stderr(&dump));
        let dumped = fs::read_dir(&to).unwrap().map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap());
        let dumped: Vec<String> = dumped.collect();
        let compiled = kernels_of(stdout(&made));
        assert!(compiled.len() > 3, "{input}: {compiled:?}");
        for (name, key) in compiled {
            let ran = fs::read_to_string(kept.join(format!("{name}-{key}")).join("kernel.cu")).unwrap();
            assert!(dumped.contains(&ran), "{input}: {name} ran and is not dumped");
        }
    }
}

/// Names and keys of the kernels of a report.
fn kernels_of(report: &str) -> Vec<(String, String)> {
    let report: Value = serde_json::from_str(report).unwrap();
    let word = |kernel: &Value, key: &str| kernel[key].as_str().unwrap().to_string();
    let kernels = report["kernels"].as_array().unwrap().iter();
    kernels.map(|kernel| (word(kernel, "name"), word(kernel, "key"))).collect()
}

/// What a run launched, by the keys of its report, is what is dumped, byte by byte.
#[test]
fn every_kernel_of_a_run_is_dumped_with_its_text() {
    if testing::simulator().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let cache = std::env::var_os("EIGENFORGE_CACHE").map_or_else(|| folder.path().join("cache"), PathBuf::from);
    let kept = kept_texts(&cache);
    for (file, least, ahead) in files(folder.path()) {
        let input = file.to_str().unwrap();
        let output = folder.path().join("strengths.csv");
        let arguments: &[&str] = match input.contains("su3") {
            true => &["su3", "transform", input, "--output", output.to_str().unwrap()],
            false => &["solve", input],
        };
        let arguments = [arguments, &["--device", "sim", "--json"]].concat();
        let solve = command(&arguments).env("EIGENFORGE_CACHE", &cache).output().unwrap();
        assert!([Some(0), Some(3)].contains(&solve.status.code()), "{input}: {}", stderr(&solve));
        let compiled = kernels_of(stdout(&solve));
        let names: Vec<&str> = compiled.iter().map(|(name, _)| name.as_str()).collect();
        let to = folder
            .path()
            .join("dumped")
            .join(file.parent().unwrap().file_name().unwrap())
            .join(file.file_stem().unwrap());
        let dump = run(&["inspect", input, "--dump", to.to_str().unwrap()]);
        assert_eq!(dump.status.code(), Some(0), "{input}: {}", stderr(&dump));
        assert!(names.len() >= least, "{input}: {names:?}");
        if ahead {
            let programs = solver_programs(input);
            let is_launched = |name: &str| names.contains(&name) && !is_tile(name);
            let launched: Vec<&(String, String)> = programs.iter().filter(|(name, _)| is_launched(name)).collect();
            // What a card compiles ahead is what runs, but for a program or two that follow the course of a search.
            let ahead = ["in every solve", "where the diagonal dominates", "in long searches"];
            let late: Vec<_> = launched.iter().filter(|(_, when)| !ahead.contains(&when.as_str())).collect();
            assert!(
                launched.len() > 3 && late.len() < 3,
                "{input}: launched {launched:?}, not compiled ahead {late:?}"
            );
        }
        for (name, key) in &compiled {
            let dumped = fs::read_to_string(to.join(format!("{name}.cu")));
            let dumped = dumped.unwrap_or_else(|error| panic!("{input}: {name} ran and is not dumped: {error}"));
            let ran = fs::read_to_string(kept.join(format!("{name}-{key}")).join("kernel.cu")).unwrap();
            assert!(ran == dumped, "{input}: {name} ran with another text than is dumped");
        }
    }
}
