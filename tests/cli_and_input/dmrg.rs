//! `eigenforge solve` and `inspect` on files with `[dmrg]`: energies, files, a killed run, and what is refused.

use super::command::{command, run, stderr, stdout, words};
use eigenforge::exact::Model;
use eigenforge::path::OperatorIr;
use eigenforge::prelude::{Dense, Device};
use eigenforge::runtime::jit::{Disassembler, Jit, Settings};
use serde_json::Value;
use std::path::Path;
use std::time::{Duration, Instant};

/// Writes a Heisenberg chain with these lines in `[dmrg]`.
fn chain(folder: &Path, sites: usize, dmrg: &str) -> String {
    let path = folder.join("chain.toml");
    let text = format!(
        "[model]\nname = \"xxz\"\njxy = 1.0\njz = 1.0\n[lattice]\nkind = \"chain\"\nsize = {sites}\n[sector]\n\
         two_sz = 0\n[dmrg]\n{dmrg}\n"
    );
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().into()
}

fn solved(arguments: &[&str]) -> Value {
    let output = run(&[&["solve", "--json"], arguments].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    serde_json::from_str(stdout(&output)).unwrap()
}

/// Bethe ansatz (tests/data/bethe_exact.json).
const HEISENBERG_32: f64 = -13.997315618224327;

#[test]
fn a_chain_far_beyond_a_vector_has_its_energy_variance_and_entropies() {
    let folder = tempfile::tempdir().unwrap();
    let input = chain(folder.path(), 32, "states = 128\ncorrelations = true");
    let out = folder.path().join("out");
    let found = solved(&[&input, "--output", out.to_str().unwrap()]);
    assert!((found["energies"][0].as_f64().unwrap() - HEISENBERG_32).abs() < 1e-9, "{}", found["energies"][0]);
    assert!(found["variances"][0].as_f64().unwrap().abs() < 1e-9);
    assert_eq!(found["cuts"].as_array().unwrap().len(), 31);
    assert_eq!(found["observables"]["sz"].as_array().unwrap().len(), 32);
    assert_eq!(found["stop"], "converged");
    // The sum over neighbours of <S.S> is the energy.
    let sdots = |i: usize| found["observables"]["sdots"][i][i + 1].as_f64().unwrap();
    assert!(((0..31).map(sdots).sum::<f64>() - HEISENBERG_32).abs() < 1e-8);
    let written: Value = serde_json::from_slice(&std::fs::read(out.join("report.json")).unwrap()).unwrap();
    assert_eq!(written["energies"][0], found["energies"][0]);
    let text = run(&["solve", &input]);
    let summary = stdout(&text);
    assert!(summary.contains("-13.99731561") && summary.contains("variance"), "{summary}");
    assert!(stderr(&text).contains("sweep   0  bond"), "{}", stderr(&text));
}

#[test]
fn energies_of_tiny_couplings_keep_their_digits_on_every_line() {
    let folder = tempfile::tempdir().unwrap();
    let input = chain(folder.path(), 8, "states = 32");
    let text = std::fs::read_to_string(&input).unwrap();
    std::fs::write(&input, text.replace("1.0", "1e-12")).unwrap();
    let output = run(&["solve", &input]);
    let summary = stdout(&output);
    // -3.3749325987 J of the open chain of eight spins.
    let lines: Vec<&str> = summary.lines().filter(|line| line.contains("-3.374932598")).collect();
    assert!(lines.len() >= 3 && lines.iter().all(|line| line.contains("e-12")), "{summary}");
}

#[test]
fn too_few_sweeps_are_said_and_set_the_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let input = chain(folder.path(), 16, "states = 32\nsweeps = 2");
    let output = run(&["solve", &input]);
    assert_eq!(output.status.code(), Some(3));
    assert!(stdout(&output).contains("NOT CONVERGED") && stdout(&output).contains("raise `sweeps`"));
}

#[test]
fn a_killed_run_goes_on_to_the_same_energy() {
    let folder = tempfile::tempdir().unwrap();
    let input = chain(folder.path(), 64, "states = 96");
    let saved = folder.path().join("saved");
    let checkpoint = ["--checkpoint", saved.to_str().unwrap()];
    let whole = solved(&[&input]);
    let mut child = command(&[&["solve", "--json", &input][..], &checkpoint].concat());
    let mut child = child.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    let third = saved.join("half-00000003");
    let start = Instant::now();
    while !third.exists() && start.elapsed() < Duration::from_secs(120) {
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap(); // SIGKILL
    child.wait().unwrap();
    assert!(third.exists(), "no checkpoint in two minutes");
    let resumed = solved(&[&[input.as_str()][..], &checkpoint, &["--resume"]].concat());
    assert!(resumed["resumed_sweeps"].as_u64().unwrap() >= 1);
    let (found, expected) = (resumed["energies"][0].as_f64().unwrap(), whole["energies"][0].as_f64().unwrap());
    assert!((found - expected).abs() < 1e-10, "{found} is not {expected}");
    let other = chain(folder.path(), 62, "states = 96");
    let refused = run(&[&["solve", other.as_str()][..], &checkpoint].concat());
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    assert!(words(&stderr(&refused)).contains("its model is another"), "{}", stderr(&refused));
}

/// Killed while it looks for the second of two states.
#[test]
fn a_killed_run_of_two_states_goes_on_to_the_same_energies() {
    let folder = tempfile::tempdir().unwrap();
    let input = chain(folder.path(), 32, "states = 64\ntargets = 2\npolish = true");
    let saved = folder.path().join("saved");
    let checkpoint = ["--checkpoint", saved.to_str().unwrap()];
    let whole = solved(&[&input]);
    let mut child = command(&[&["solve", "--json", &input][..], &checkpoint].concat());
    let mut child = child.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    let second = saved.join("state-1").join("half-00000002");
    let start = Instant::now();
    while !second.exists() && start.elapsed() < Duration::from_secs(120) {
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap(); // SIGKILL
    child.wait().unwrap();
    assert!(second.exists(), "no checkpoint in two minutes");
    let resumed = solved(&[&[input.as_str()][..], &checkpoint, &["--resume"]].concat());
    let sweeps = whole["sweeps"].as_array().unwrap().len() as u64;
    assert!(resumed["resumed_sweeps"].as_u64().unwrap() > sweeps, "all of the lowest and one of the other");
    let level = |of: &Value, state: usize| match state {
        0 => of["energies"][0].as_f64().unwrap(),
        _ => of["excited"][0]["energy"].as_f64().unwrap(),
    };
    for state in 0..2 {
        let (found, expected) = (level(&resumed, state), level(&whole, state));
        assert!((found - expected).abs() < 1e-8, "state {state}: {found} is not {expected}");
    }
}

/// `weights`: both states from one set of kept states, named in the summary with their average.
#[test]
fn averaged_states_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let (together, apart) = ("states = 64\ntargets = 2\nweights = 1.0", "states = 64\ntargets = 2");
    let found = solved(&[&chain(folder.path(), 12, together)]);
    let expected = solved(&[&chain(folder.path(), 12, apart)]);
    let next = |of: &Value| of["excited"][0]["energy"].as_f64().unwrap();
    let lowest = |of: &Value| of["energies"][0].as_f64().unwrap();
    assert!((lowest(&found) - lowest(&expected)).abs() < 1e-9 && (next(&found) - next(&expected)).abs() < 1e-9);
    assert!((found["average"].as_f64().unwrap() - 0.5 * (lowest(&found) + next(&found))).abs() < 1e-12);
    assert!(expected["average"].is_null());
    let text = run(&["solve", &chain(folder.path(), 12, together)]);
    assert!(stdout(&text).contains("in one set of kept states, by weights [1.0, 1.0]"), "{}", stdout(&text));
    assert!(stdout(&text).contains("average"), "{}", stdout(&text));
    for basis in ["common", "each"] {
        let one = solved(&[&chain(folder.path(), 12, &format!("{together}\nbasis = \"{basis}\""))]);
        assert!((lowest(&found) - lowest(&one)).abs() < 1e-9 && (next(&found) - next(&one)).abs() < 1e-9, "{basis}");
    }
    let plan = run(&["inspect", &chain(folder.path(), 12, together), "--stage", "cost"]);
    let said = "bases of the 2 states: one each\n";
    assert!(stdout(&plan).contains(said), "{}", stdout(&plan));
    for (wrong, said) in [
        ("targets = 2\nweights = [1.0]", "a positive number for each of the 2 targets"),
        ("targets = 2\nweights = [1.0, 0.0]", "a positive number for each of the 2 targets"),
        ("targets = 2\nweights = 1.0\npolish = true", "kept states of its own"),
    ] {
        let output = run(&["solve", &chain(folder.path(), 12, &format!("states = 8\n{wrong}"))]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        let found = stderr(&output).split_whitespace().collect::<Vec<_>>().join(" ").replace("│ ", "");
        assert!(found.contains(said), "{}", stderr(&output));
    }
}

/// A run that is short of memory is killed with numbers on disk: nothing is left there, and it goes on to the same energy.
#[test]
fn a_killed_run_with_numbers_on_disk_leaves_none_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let whole = solved(&[&chain(folder.path(), 64, "states = 96")]);
    let held = &whole["memory_held"]["plan"];
    let number = |name: &str| held[name].as_u64().unwrap();
    let limit = number("whole") - (number("blocks") + number("kept")) / 2;
    let (scratch, saved) = (folder.path().join("scratch"), folder.path().join("saved"));
    std::fs::create_dir(&scratch).unwrap();
    let lines = format!("states = 96\nmemory = \"{limit}\"\nscratch = {scratch:?}");
    let input = chain(folder.path(), 64, &lines);
    let checkpoint = ["--checkpoint", saved.to_str().unwrap()];
    let mut child = command(&[&["solve", "--json", &input][..], &checkpoint].concat());
    let mut child = child.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    let third = saved.join("half-00000009");
    let start = Instant::now();
    while !third.exists() && start.elapsed() < Duration::from_secs(120) {
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap(); // SIGKILL
    child.wait().unwrap();
    assert!(std::fs::read_dir(&scratch).unwrap().next().is_none(), "a scratch file was left behind");
    let resumed = solved(&[&[input.as_str()][..], &checkpoint, &["--resume"]].concat());
    assert!(resumed["resumed_sweeps"].as_u64().unwrap() >= 1);
    assert!(resumed["memory_held"]["peak"]["disk"].as_u64().unwrap() > 0, "{}", resumed["memory_held"]);
    let (found, expected) = (resumed["energies"][0].as_f64().unwrap(), whole["energies"][0].as_f64().unwrap());
    assert!((found - expected).abs() < 1e-10, "{found} is not {expected}");
}

/// A run on two cards within less than the first would hold: the second keeps what leaves it, and the numbers are the same. Plan and
/// report say so.
#[test]
fn a_run_that_is_short_of_memory_uses_that_of_other_cards() {
    let folder = tempfile::tempdir().unwrap();
    let on_two = |memory: &str| {
        let input = chain(folder.path(), 8, &format!("states = 6\nsweeps = 1\nnoise = 0.0\n{memory}"));
        let out = folder.path().join("out");
        let output = run(&["solve", &input, "--device", "sim:2", "--output", out.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(3), "one sweep does not converge: {}", stderr(&output));
        let report = std::fs::read(out.join("report.json")).unwrap();
        (serde_json::from_slice::<Value>(&report).unwrap(), stdout(&output).to_string())
    };
    let peak = |of: &Value, place: &str| of["memory_held"]["peak"][place].as_u64().unwrap();
    let (whole, said) = on_two("");
    assert_eq!((peak(&whole, "other_cards"), peak(&whole, "host")), (0, 0), "{}", whole["memory_held"]);
    assert!(!said.contains("beside it"), "{said}");
    // Enough for the vectors, in free stretches that are long enough, and not for all blocks beside them.
    let limit = 71 << 9;
    assert!(peak(&whole, "memory") > limit, "{}", whole["memory_held"]);
    let (found, said) = on_two(&format!("memory = \"{limit}\""));
    assert!(peak(&found, "memory") <= limit, "{}", found["memory_held"]);
    assert!(peak(&found, "other_cards") >= 1024 && peak(&found, "host") == 0, "{}", found["memory_held"]);
    assert_eq!((&found["energies"], &found["variances"]), (&whole["energies"], &whole["variances"]));
    assert!(said.contains("on other cards at most: operators of all blocks"), "{said}");
    assert!(said.contains("beside it on other cards at most"), "{said}");
}

#[test]
fn options_of_a_diagonalisation_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let input = chain(folder.path(), 8, "states = 16");
    for (options, said) in [
        (vec!["--solver", "lanczos"], "--solver is not available for DMRG (a file with [dmrg])"),
        (vec!["--states", "3"], "`states`, the states kept"),
        (vec!["--vectors"], "--vectors needs a folder to write to"),
        (vec!["--checkpoint", "saved", "--checkpoint-every", "5"], "DMRG saves after every"),
    ] {
        let output = run(&[&["solve", input.as_str()][..], &options].concat());
        assert_eq!(output.status.code(), Some(2));
        let text = stderr(&output).split_whitespace().collect::<Vec<_>>().join(" ").replace("│ ", "");
        assert!(text.contains(said), "{text}");
    }
}

/// The operator as data is that of exact diagonalisation: the same terms, and its model has the same ground state.
#[test]
fn the_operator_of_a_chain_comes_back_from_its_data() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(&["inspect", &chain(folder.path(), 8, "states = 16"), "--stage", "ir-ron"]);
    let ir = OperatorIr::parse(stdout(&output)).unwrap();
    let model = Model::from_ir(&ir).unwrap();
    assert_eq!((model.ir().dimension, model.ir().terms), (ir.dimension, ir.terms));
    let energy = Dense::new(&model).run(&Device::cpu()).unwrap().energy();
    assert!((energy + 3.374932598687893).abs() < 1e-10, "{energy}"); // the open chain of 8 sites
}

#[test]
fn inspect_shows_the_operator_sum_the_records_and_their_cost() {
    let folder = tempfile::tempdir().unwrap();
    let input = chain(folder.path(), 12, "states = 32");
    let shown = |stage: &str| {
        let output = run(&["inspect", &input, "--stage", stage]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stdout(&output).to_string()
    };
    let ir = shown("ir");
    assert!(ir.contains("5 x 5 operators, the same as at the last site") && ir.contains("S⁺"), "{ir}");
    let cost = shown("cost");
    assert!(cost.contains("one product:") && cost.contains("5 operators at the cut"), "{cost}");
    assert!(!cost.contains("FPGA") && cost.contains("predicted for a bond of"), "{cost}");
    assert!(shown("plan").contains("Product"), "no records");
}

/// PTX, machine code and resources of all five texts, of one, and of an edited one that does not compile.
#[test]
fn inspect_compiles_the_texts_of_a_chain_for_any_architecture() {
    let settings = Settings::from_env().unwrap();
    if Jit::for_tests(&settings).is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let input = chain(folder.path(), 8, "states = 16");
    let inspect = |more: &[&str]| run(&[&["inspect", &input], more].concat());
    let output = inspect(&["--stage", "resources"]);
    let text = stdout(&output);
    assert_eq!(text.matches("// ======== dmrg_").count(), 7, "{text}{}", stderr(&output));
    for kernel in [
        "grouped_products",
        "streamed_products",
        "matrix_copies",
        "operator_assembly",
        "corrected",
        "appended",
        "reduced",
        "merged",
        "pivoted_cholesky",
    ] {
        let line = text.lines().find(|line| line.split_whitespace().next() == Some(kernel)).expect(kernel);
        assert!(line.contains(" registers, 0 bytes spilled"), "{line}");
    }
    assert!(text.contains("256 threads and") && text.contains("bytes dynamic shared a block:"), "{text}");
    let output = inspect(&["--stage", "ptx", "--arch", "sm_80", "--kernel", "corrected"]);
    let ptx = stdout(&output);
    assert!(ptx.contains(".target sm_80") && ptx.contains(".entry corrected("), "{}", stderr(&output));
    assert!(!ptx.contains(".entry grouped_products("), "one text: that of the kernel");
    if Disassembler::find(&settings).is_ok() {
        let output = inspect(&["--stage", "sass", "--kernel", "dmrg_grouped_products"]);
        let sass = stdout(&output);
        assert!(sass.contains("grouped_products") && sass.contains("DMMA"), "{}", stderr(&output));
    }
    let output = inspect(&["--stage", "ptx", "--arch", "gpu"]);
    assert!(output.status.code() != Some(0) && stderr(&output).contains("gpu"), "{}", stderr(&output));
    let edits = folder.path().join("edits");
    let edits = edits.to_str().unwrap();
    let dumped = inspect(&["--dump", edits]);
    assert!(stdout(&dumped).contains("--stage resources --override"), "{}", stdout(&dumped));
    let file = Path::new(edits).join("dmrg_davidson.cu");
    let text = std::fs::read_to_string(&file).unwrap();
    let (before, edited) = ("const sum_t t = r / (", "const sum_t t = rr / (");
    std::fs::write(&file, text.replacen(before, edited, 1)).unwrap();
    let output = inspect(&["--stage", "cuda", "--override", edits]);
    assert!(stdout(&output).contains("dmrg_davidson (overridden by ") && stdout(&output).contains(edited));
    let output = inspect(&["--stage", "resources", "--override", edits]);
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
    assert!(stderr(&output).contains("identifier \"rr\" is undefined"), "{}", stderr(&output));
    let output = inspect(&["--stage", "plan", "--override", edits]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

/// The texts are written; an edited one runs in the simulator in place of the generated one, and the report says so.
#[test]
fn the_kernels_are_dumped_edited_and_run() {
    let folder = tempfile::tempdir().unwrap();
    let input = chain(folder.path(), 4, "states = 4\nsweeps = 2\nnoise = 0.0");
    let edits = folder.path().join("edits");
    let dump = |more: &[&str]| run(&[&["inspect", &input, "--dump", edits.to_str().unwrap()], more].concat());
    let one = dump(&["--kernel", "corrected"]);
    assert!(stdout(&one).contains("dmrg_davidson.cu") && !stdout(&one).contains("products"), "{}", stdout(&one));
    assert_eq!(dump(&[]).status.code(), Some(0));
    let named = |stem: &str| edits.join(format!("dmrg_{stem}.cu"));
    let stems =
        ["davidson", "eigenpairs", "grouped_products", "matrix_copies", "operator_assembly", "pivoted_cholesky"];
    for stem in stems.into_iter().chain(["streamed_products"]) {
        assert!(named(stem).exists() && named(stem).with_extension("ron").exists(), "{stem}");
    }
    let unknown = dump(&["--kernel", "nonesuch"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).contains("corrected"), "{}", stderr(&unknown));
    // A correction of the wrong size is no worse a direction.
    let text = std::fs::read_to_string(named("davidson")).unwrap();
    let (before, after) = ("const sum_t t = r / (", "const sum_t t = 2.0 * r / (");
    assert!(text.contains(before));
    std::fs::write(named("davidson"), text.replacen(before, after, 1)).unwrap();
    assert_eq!(dump(&[]).status.code(), Some(2), "an edited file is not written over");
    let solve = |more: &[&str]| run(&[&["solve", &input, "--device", "sim"], more].concat());
    let edited = solve(&["--override", edits.to_str().unwrap()]);
    let shown = stdout(&edited);
    assert!(shown.contains("OVERRIDDEN") && shown.contains("dmrg_davidson"), "{shown}{}", stderr(&edited));
    let energy = |text: &str| -> f64 {
        let line = text.lines().find(|line| line.starts_with("energy ")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    // -(3 + 2 sqrt 3) / 4 (Bethe ansatz of the open chain of four; exactly).
    assert!((energy(shown) + (3.0 + 2.0 * 3f64.sqrt()) / 4.0).abs() < 1e-7, "{shown}");
    assert!(!stdout(&solve(&[])).contains("OVERRIDDEN"));
}

/// Files that say something impossible: the key, what it may be, and the exit code of bad input.
#[test]
fn impossible_files_are_refused_at_the_place() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |input: &str, said: &str| {
        let output = run(&["solve", input]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        let found = stderr(&output).split_whitespace().collect::<Vec<_>>().join(" ").replace("│ ", "");
        assert!(found.contains(said), "{said}: {}", stderr(&output));
    };
    refused(&chain(folder.path(), 8, "states = 0"), "`states` should be");
    refused(
        &chain(folder.path(), 2, "states = 8"),
        "a chain of 2 site(s) is too short: two-site DMRG needs at least 3",
    );
    refused(&chain(folder.path(), 7, "states = 8"), "two_sz = 0 is even, but 7 sites");
    refused(&chain(folder.path(), 8, "states = 8\nsweeps = 0"), "`sweeps` should be");
    refused(&chain(folder.path(), 8, "states = 8\ntargets = 0"), "`targets` should be");
    refused(&chain(folder.path(), 8, "states = 8\ntargets = 100"), "at most the number of states of the sector");
    refused(&chain(folder.path(), 8, "states = 8\nmode = \"endless\""), "endless");
    for key in ["cpu_share = 0.5", "strategy = \"4streams\"", "strategy = \"planned\"", "superblock = \"LR\""] {
        let name = key.split(' ').next().unwrap();
        let said = format!("unknown key `{name}` in [dmrg]");
        refused(&chain(folder.path(), 8, &format!("states = 8\n{key}")), &said);
    }
    refused(
        &chain(folder.path(), 8, "states = 8\ntargets = 2\nbasis = \"common\""),
        "`basis` should be none without `weights`, because states with searches of their own have a basis each",
    );
    refused(&chain(folder.path(), 8, "states = 8\nweights = 2\nbasis = \"one\""), "unknown basis `one` in [dmrg]");
    refused(&chain(folder.path(), 4, "states = 8\nmode = \"infinite\"\nstart = \"warm\""), "warm");
    // More than any machine has: the numbers, and what fits.
    refused(&chain(folder.path(), 400, "states = 100000000"), "states would fit; lower `states`");
    refused(&chain(folder.path(), 8, "states = 8\nmemory = \"many\""), "a size such as");
    refused(&chain(folder.path(), 40, "states = 64\nmemory = \"1 KB\""), "raise `memory`");
}

/// What computes H x is said in the plan. The ways of the paper are no keys, and no report names them.
#[test]
fn a_plan_says_how_products_are_computed_and_reports_have_no_keys_of_the_paper() {
    let folder = tempfile::tempdir().unwrap();
    let input = chain(folder.path(), 8, "states = 8");
    let cost = run(&["inspect", &input, "--stage", "cost"]);
    let said = "H x      records of a stage in one launch of a generated kernel";
    assert!(stdout(&cost).contains(said), "{}", stdout(&cost));
    let report = solved(&[&input]);
    assert_eq!(report["dmrg"]["states"], serde_json::json!([8]));
    for key in ["strategy", "cpu_share", "superblock"] {
        assert!(report["dmrg"].get(key).is_none(), "{key}");
    }
    let summary = run(&["solve", &input]);
    assert!(stdout(&summary).contains(" products\n"), "{}", stdout(&summary));
}

/// Growth alone: the energy per site by length, and the picture of the entropies (Bethe ansatz for 32 sites).
#[test]
fn a_chain_is_grown_without_sweeps() {
    let folder = tempfile::tempdir().unwrap();
    let input = chain(folder.path(), 32, "states = 96\nmode = \"infinite\"\nsweeps = 0");
    let out = folder.path().join("out");
    let found = solved(&[&input, "--output", out.to_str().unwrap()]);
    assert!((found["energies"][0].as_f64().unwrap() - HEISENBERG_32).abs() < 1e-6, "{}", found["energies"][0]);
    assert_eq!(found["stop"], "grown");
    let growth = found["growth"].as_array().unwrap();
    assert_eq!(growth.last().unwrap()["sites"], 32);
    assert!((growth.last().unwrap()["energy_per_site"].as_f64().unwrap() + 0.4434).abs() < 1e-3);
    assert!(out.join("entropy.svg").exists() && !out.join("energy.svg").exists());
    let text = run(&["solve", &input]);
    assert!(stdout(&text).contains("per site") && stdout(&text).contains("grown by dmrg"), "{}", stdout(&text));
    assert!(stderr(&text).contains("growth"), "{}", stderr(&text));
}

/// Several states, one-particle density matrices and pictures of a flavoured chain (exact diagonalisation of the reference
/// data: four flavours on four sites, one each, U = 4).
#[test]
fn flavours_from_a_file_with_pictures_and_states_above() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flavours.toml");
    let text = "[model]\nname = \"spin_hubbard\"\nspin = 1.5\nt = 1.0\nu = 4.0\n[lattice]\nkind = \"chain\"\nsize = 4\n[sector]\n\
                flavours = [1, 1, 1, 1]\n";
    std::fs::write(&path, format!("{text}[dmrg]\nstates = [64, 128, 256]\ntargets = 2\ncorrelations = true\n"))
        .unwrap();
    let (input, out) = (path.to_str().unwrap(), folder.path().join("out"));
    let found = solved(&[input, "--output", out.to_str().unwrap()]);
    assert!((found["energies"][0].as_f64().unwrap() + 2.6274270093).abs() < 1e-9, "{}", found["energies"][0]);
    let next = found["excited"][0]["energy"].as_f64().unwrap();
    assert_eq!(found["energies"][1], next, "as other reports have them");
    assert!((next + 2.3194913044).abs() < 1e-9, "{next}");
    // Tr of each flavour's density matrix is its number; the flavours are equivalent.
    for flavour in 0..4 {
        let at = |i: usize| found["observables"][format!("cdag_c_{flavour}")][i][i].as_f64().unwrap();
        assert!(((0..4).map(at).sum::<f64>() - 1.0).abs() < 1e-9);
        assert!((at(0) - 0.2391248).abs() < 1e-5, "{}", at(0));
    }
    assert_eq!(found["cuts"][1]["charges"][0].as_array().unwrap().len(), 4);
    for picture in ["energy.svg", "entropy.svg"] {
        let svg = std::fs::read_to_string(out.join(picture)).unwrap();
        assert!(svg.starts_with("<svg") && svg.contains("polyline"), "{picture}");
    }
    std::fs::write(&path, text).unwrap();
    let refused = run(&["solve", input]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("[dmrg]"), "{}", stderr(&refused));
}
