//! What a run launches, and what `inspect` shows: the kernels that a run on a simulated card compiled, beside the dumped files.

use super::command::{command, run, stderr, stdout};
use super::gallery::root;
use eigenforge_runtime::testing;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The texts that a simulated run kept in this cache, by name.
fn compiled(cache: &Path) -> BTreeMap<String, String> {
    let folders = |path: &Path| fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    let mut found = BTreeMap::new();
    let mut open = vec![cache.to_path_buf()];
    while let Some(folder) = open.pop() {
        for path in folders(&folder).into_iter().filter(|path| path.is_dir()) {
            if let Ok(text) = fs::read_to_string(path.join("kernel.cu")) {
                let name = path.file_name().unwrap().to_str().unwrap().rsplit_once('-').unwrap().0.to_string();
                found.insert(name, text);
            }
            open.push(path);
        }
    }
    found
}

/// The programs of the solver of a file, each with when it is launched, as `inspect` heads them.
fn solver_programs(input: &str) -> Vec<(String, String)> {
    let output = run(&["inspect", input, "--stage", "cuda"]);
    let heading = |line: &str| {
        let (name, when) = line.strip_prefix("// ======== ")?.strip_suffix(" ========")?.split_once(", ")?;
        (when != "for averages" && when != "for blocks of vectors").then(|| (name.to_string(), when.to_string()))
    };
    stdout(&output).lines().filter_map(heading).collect()
}

/// Whether a block operation has a size that follows the course of a search.
fn is_tile(name: &str) -> bool {
    ["gram_", "combine_", "add_"].iter().any(|tile| name.starts_with(tile))
}

/// Pairs of strings with their averages, a diagonal that is computed and not stored, several states by thick restarts.
#[test]
fn every_kernel_of_a_run_is_dumped_with_its_text() {
    if testing::simulator().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let ring = "[lattice]\nkind = \"chain\"\nsize = 6\nboundary = \"periodic\"\n";
    let pairs = format!(
        "[model]\nname = \"hubbard\"\nt = 1.0\nu = 4.0\n{ring}[sector]\nup = 3\ndown = 3\nexchange = 1\n\
         [symmetry]\nstorage = \"direct\"\n[solve]\nsolver = \"lanczos\"\n"
    );
    let spins = format!(
        "[model]\nname = \"xxz\"\njxy = 1.0\njz = 1.0\n{}[sector]\ntwo_sz = 0\n[solve]\nsolver = \"lanczos\"\nstates = 2\n",
        ring.replace("size = 6", "size = 8")
    );
    let water = root().join("kernels_generated/water_full_ci/model.toml");
    let mut files = vec![water];
    for (name, text) in [("pairs", pairs), ("spins", spins)] {
        let path = folder.path().join(format!("{name}.toml"));
        fs::write(&path, text).unwrap();
        files.push(path);
    }
    for file in files {
        let (cache, dump) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let input = file.to_str().unwrap();
        let solve = command(&["solve", input, "--device", "sim", "--json"])
            .env("EIGENFORGE_CACHE", cache.path().join("cache"))
            .output();
        let solve = solve.unwrap();
        assert_eq!(solve.status.code(), Some(0), "{input}: {}", stderr(&solve));
        let report: Value = serde_json::from_str(stdout(&solve)).unwrap();
        let names: Vec<&str> =
            report["kernels"].as_array().unwrap().iter().filter_map(|kernel| kernel["name"].as_str()).collect();
        let to = dump.path().join("files");
        let output = run(&["inspect", input, "--dump", to.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(0), "{input}: {}", stderr(&output));
        let compiled = compiled(cache.path());
        assert!(names.len() > 5 && compiled.len() >= names.len(), "{input}: {names:?}, {:?}", compiled.keys());
        let programs = solver_programs(input);
        let is_launched = |name: &str| names.contains(&name) && !is_tile(name);
        let launched: Vec<&(String, String)> = programs.iter().filter(|(name, _)| is_launched(name)).collect();
        // What a card compiles ahead is what runs, but for a program or two that follow the course of a search.
        let ahead = ["in every solve", "where the diagonal dominates", "in long searches"];
        let late: Vec<_> = launched.iter().filter(|(_, when)| !ahead.contains(&when.as_str())).collect();
        assert!(launched.len() > 3 && late.len() < 3, "{input}: launched {launched:?}, not compiled ahead {late:?}");
        for name in names {
            let dumped = fs::read_to_string(to.join(format!("{name}.cu")));
            let dumped = dumped.unwrap_or_else(|error| panic!("{input}: {name} ran and is not dumped: {error}"));
            assert!(compiled[name] == dumped, "{input}: {name} ran with another text than is dumped");
        }
    }
}
