//! The `eigenforge` command as a user runs it: standard output, standard error, exit codes, files.

use super::gallery::root;
use eigenforge::report::{Outcome, Stop};
use eigenforge::runtime::testing;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

pub fn command(arguments: &[&str]) -> Command {
    // On a machine that has not built it, EIGENFORGE_BIN names the program.
    let program = std::env::var_os("EIGENFORGE_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_eigenforge").into());
    let mut command = Command::new(program);
    command.current_dir(root()).args(arguments).stdin(Stdio::null());
    command
}

pub fn run(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

pub fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A folder with a model file.
pub fn model_file(text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.toml");
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

/// Without the frame and the line breaks of a message.
pub fn words(text: &str) -> String {
    text.split_whitespace().filter(|word| !["│", "×"].contains(word)).collect::<Vec<_>>().join(" ")
}

/// Runs a verb on each text, which it must refuse with all of these words.
pub fn check_refusals(verb: &str, cases: &[(String, Vec<&str>)]) {
    for (text, said) in cases {
        let (_folder, path) = model_file(text);
        let output = run(&[verb, path.to_str().unwrap(), "--device", "cpu"]);
        assert_eq!(output.status.code(), Some(2), "{text}\n{}{}", stdout(&output), stderr(&output));
        let message = words(&stderr(&output));
        for part in said {
            assert!(message.contains(part), "'{part}' is not in {message}\n{text}");
        }
    }
}

/// The exit code of a command with `--json` that failed: standard output is one object, which says the same.
pub fn failed(output: &Output) -> i32 {
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    let code = output
        .status
        .code()
        .unwrap_or_else(|| 128 + std::os::unix::process::ExitStatusExt::signal(&output.status).unwrap());
    assert_eq!(object["code"], code, "{object}");
    let kinds: &[&str] = match code {
        1 => &["fault"],
        2 => &["command line", "input"],
        _ => &["interrupted"],
    };
    assert!(kinds.contains(&object["kind"].as_str().unwrap()), "{object}");
    assert!(object["error"].as_str().is_some_and(|error| error.len() > 10 && !error.contains('\u{1b}')), "{object}");
    code
}

fn solved(arguments: &[&str]) -> Outcome {
    let arguments: Vec<&str> =
        ["solve"].iter().chain(arguments).copied().chain(["--device", "cpu", "--json"]).collect();
    let output = run(&arguments);
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    Outcome::from_json(stdout(&output)).unwrap()
}

/// The report of each family is read back as it was written, to the last bit of every number.
#[test]
fn reports_of_all_families_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let (water, jisp) = (
        root().join("tests/data/ci/H2O_sto3g_0.96.FCIDUMP"),
        root().join("tests/data/su3/jisp16_Nmax20_hw20.0_rel.dat"),
    );
    let chain =
        "[model]\nname = \"xxz\"\njxy = 1.0\njz = 1.0\n[lattice]\nkind = \"chain\"\nsize = 8\n[sector]\ntwo_sz = 0\n";
    let observed = "[observables]\nring = \"sum(<i, j> in bonds; sz(i) * sz(j))\"\n";
    let output = folder.path().join("strengths.csv");
    for (family, text) in [
        ("lattice", format!("{chain}{observed}[solve]\nstates = 2\n")),
        ("molecule", format!("[ci]\nfcidump = {water:?}\n[solve]\nstates = 2\n")),
        ("molecule", format!("[ci]\nfcidump = {water:?}\nspace = \"cisd\"\nstorage = \"stored\"\n")),
        ("chain", format!("{chain}{observed}[dmrg]\nstates = 16\ntargets = 2\n")),
        ("chain", format!("{chain}[dmrg]\nstates = [8, 16]\nmode = \"infinite\"\npolish = true\n")),
        ("tensors", format!("[su3]\ninteraction = {jisp:?}\nn_max = 2\noutput = {output:?}\n")),
    ] {
        let model = folder.path().join("model.toml");
        std::fs::write(&model, text).unwrap();
        let printed = run(&["solve", model.to_str().unwrap(), "--device", "cpu", "--json"]);
        assert_eq!(printed.status.code(), Some(0), "{family}: {}", stderr(&printed));
        let report = Outcome::from_json(stdout(&printed)).unwrap_or_else(|error| panic!("{family}: {error}"));
        let written: Value = serde_json::from_str(&report.to_json().unwrap()).unwrap();
        assert_eq!(written, serde_json::from_slice::<Value>(&printed.stdout).unwrap(), "{family}");
        assert_eq!(written["family"], family);
    }
}

#[test]
fn json_is_one_object_with_the_promised_fields() {
    let output = run(&["solve", "examples/heisenberg_kagome.toml", "--device", "cpu", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let value: Value = serde_json::from_slice(&output.stdout).unwrap(); // refuses anything beside one value
    for field in ["model", "dimension", "energies", "residuals", "multiplicities", "observables", "iterations", "stop"]
    {
        assert!(!value[field].is_null(), "{field}");
    }
    for field in ["device", "kernels", "seconds", "seed", "tolerance", "versions", "sector"] {
        assert!(!value[field].is_null(), "{field}");
    }
    let report = Outcome::from_json(stdout(&output)).unwrap();
    // tests/data/spins.json, kagome2x2_pbc
    for (found, expected) in
        report.energies.iter().zip([-5.444875216971853, -5.328392404516178, -5.298236540155665, -5.298236540155662])
    {
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }
    assert_eq!(report.spectrum().unwrap().multiplicities, [1, 1, 2, 2]);
    assert_eq!(report.observables.averages.get("n_up"), None, "spins have no densities");
}

/// Its energy is that of exact diagonalisation; what the chain does not have is refused before anything is planned.
#[test]
fn a_ladder_with_a_flux_by_dmrg() {
    let output = run(&["solve", "examples/flux_ladder_dmrg.toml", "--device", "cpu", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report = Outcome::from_json(stdout(&output)).unwrap();
    assert!((report.energies[0] + 6.2815152654).abs() < 1e-7, "{}", report.energies[0]);
    let text = std::fs::read_to_string(root().join("examples/flux_ladder_dmrg.toml")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("infinite.toml");
    std::fs::write(&path, text + "mode = \"infinite\"\n").unwrap();
    let output = run(&["solve", path.to_str().unwrap(), "--device", "cpu"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("no gauge makes this H real") && stdout(&output).is_empty(),
        "{}",
        stdout(&output)
    );
}

#[test]
fn people_get_the_conventions_the_table_and_the_warnings() {
    let output = run(&["solve", "examples/hubbard_edges.toml", "--device", "cpu"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for part in [
        "H = -t Σ_<ij>σ w_ij (c†_iσ c_jσ + h.c.) + U Σ_i n_i↑ n_i↓ - μ Σ_i n_i",
        "3 up, 2 down",
        "dimension 100",
        "multiplicity",
        "warning: the level at -3.4791168067 has 2 states in this sector and `states` cuts it after 1",
    ] {
        assert!(stdout(&output).contains(part), "{part} is not in {}", stdout(&output));
    }
}

#[test]
fn the_cpu_in_place_of_a_gpu_is_explained_where_there_is_a_driver() {
    let arguments = ["solve", "examples/hubbard_edges.toml", "--device", "auto", "--json"];
    let output = command(&arguments).env("EIGENFORGE_NVRTC", "/no/such/nvrtc").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report = Outcome::from_json(stdout(&output)).unwrap();
    assert!(report.device.contains("threads"), "{}", report.device);
    let lines: Vec<String> =
        stderr(&output).lines().filter(|l| l.contains("using the CPU: ")).map(Into::into).collect();
    let warnings: Vec<_> = report.warnings.iter().filter(|warning| warning.contains("using the CPU: ")).collect();
    let with_driver = eigenforge_runtime::jit::driver_version().is_ok();
    assert_eq!((lines.len(), warnings.len()), if with_driver { (1, 1) } else { (0, 0) }, "{}", stderr(&output));
    // Named outright, CUDA is no wish but a demand.
    let output = command(&["solve", "examples/hubbard_edges.toml", "--device", "cuda", "--json"])
        .env("EIGENFORGE_NVRTC", "/no/such/nvrtc")
        .output()
        .unwrap();
    assert_eq!(failed(&output), 1, "{}", stderr(&output));
}

/// The CPU in place of a GPU, with the same solver, gives the energies of the CPU; the report says what ran.
#[test]
fn the_simulated_device_solves() {
    if testing::simulator().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("ring.toml");
    let ring = "[model]\nname = \"hubbard\"\nt = 1.0\nu = 4.0\n[lattice]\nkind = \"chain\"\nsize = 6\nboundary = \"periodic\"\n\
        [sector]\nup = 2\ndown = 2\n[solve]\nsolver = \"lobpcg\"\n";
    std::fs::write(&model, ring).unwrap();
    let model = model.to_str().unwrap();
    let uncertified = folder.path().join("uncertified.toml");
    std::fs::write(&uncertified, format!("{ring}certify = false\n")).unwrap();
    let uncertified = uncertified.to_str().unwrap();
    let cpu = solved(&[model]);
    for (solver, kernel) in [
        ("lobpcg", "lobpcg_update"),
        ("lanczos", "lanczos_step"),
        ("davidson", "davidson_correction"),
        ("olsen", "olsen_step"),
    ] {
        // Davidson's search for missing states takes several times as many texts as its solve; `several_cards` has it.
        let model = if ["davidson", "olsen"].contains(&solver) { uncertified } else { model };
        let output = run(&["solve", model, "--device", "sim:random:3", "--solver", solver, "--json"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let report = Outcome::from_json(stdout(&output)).unwrap();
        assert_eq!(
            (report.solver.to_string().as_str(), report.dimension(), report.stop),
            (solver, 225, Stop::Converged)
        );
        assert!((report.energies[0] - cpu.energies[0]).abs() < 1e-9, "{:?} is not {:?}", report.energies, cpu.energies);
        assert!(
            report.spectrum().unwrap().residuals[0] <= report.tolerance * report.norm,
            "{:?}",
            report.spectrum().unwrap().residuals
        );
        for part in ["simulation of the CUDA text", "random order, seed 3"] {
            assert!(report.device.contains(part), "{}", report.device);
        }
        let names: Vec<&str> = report.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
        assert!(names.contains(&kernel) && names.iter().any(|name| name.ends_with("_multiply")), "{names:?}");
        assert!(report.kernels.iter().all(|kernel| kernel.key.len() == 24));
    }
    // What would take hours is refused at once, with the time.
    let start = Instant::now();
    let output = run(&["solve", "examples/hubbard_4x4.toml", "--device", "sim", "--json"]);
    let said = stderr(&output);
    assert_eq!(failed(&output), 1, "{said}");
    assert!(said.contains("the simulation would compute in about") && said.contains("--device cpu"), "{said}");
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_simulated_device_without_a_compiler_says_what_to_install() {
    let arguments = ["solve", "examples/hubbard_edges.toml", "--device", "sim", "--json"];
    let output = command(&arguments).env("CXX", "/no/such/compiler").output().unwrap();
    assert_eq!(failed(&output), 1, "{}", stderr(&output));
    for part in ["no C++ compiler was found (/no/such/compiler)", "install g++ or clang++, or name one with CXX"] {
        assert!(stderr(&output).replace("\n  │ ", " ").contains(part), "{}", stderr(&output));
    }
    let output = run(&["solve", "examples/hubbard_edges.toml", "--device", "sim:sideways", "--json"]);
    assert_eq!(failed(&output), 2, "{}", stderr(&output));
}

/// "auto": the whole spectrum of what is small, else Lanczos; a block where it is asked for; and the report says why.
#[test]
fn the_choice_of_a_solver_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("chain.toml");
    let chain = |size: u32, solve: &str| {
        format!(
            "[model]\nname = \"xxz\"\njxy = 1.0\njz = 1.0\n[lattice]\nkind = \"chain\"\nsize = {size}\n\
             boundary = \"periodic\"\n[sector]\ntwo_sz = 0\n[solve]\n{solve}\n"
        )
    };
    for (size, solve, solver, reason) in [
        (8, "", "dense", Some("70 states")),
        (14, "", "lanczos", Some("one state")),
        (14, "states = 3", "lanczos", Some("3 states")),
        (14, "preconditioner = \"jacobi\"", "lobpcg", Some("preconditioner")),
        (14, "guard = 1", "lobpcg", Some("guard")),
        (14, "solver = \"lanczos\"", "lanczos", None),
    ] {
        std::fs::write(&model, chain(size, solve)).unwrap();
        let report = solved(&[model.to_str().unwrap()]);
        assert_eq!(report.solver.to_string(), solver, "{solve}");
        assert_eq!(report.solver_reason.is_some(), reason.is_some(), "{solve}");
        if let (Some(said), Some(reason)) = (&report.solver_reason, reason) {
            assert!(said.contains(reason), "{said}");
            let summary = report.summary();
            assert!(summary.contains(&format!("solver \"auto\" chose {solver}: {said}")), "{summary}");
        }
        let planned: u64 = report.memory.items.iter().map(|item| item.bytes).sum();
        assert!(planned == report.memory.planned_bytes && planned <= report.memory.available_bytes, "{solve}");
        let kept = report.memory.items.iter().any(|item| item.name.contains("102 more kept"));
        assert_eq!(kept, solver == "lanczos" && report.energies.len() == 1, "{:?}", report.memory);
    }
    // A solver that is named, with what it has not.
    for (solver, warned) in [("lanczos", 2), ("davidson", 1), ("lobpcg", 0)] {
        let solve = format!("solver = \"{solver}\"\nguard = 1\npreconditioner = \"jacobi\"");
        std::fs::write(&model, chain(10, &solve)).unwrap();
        let report = solved(&[model.to_str().unwrap()]);
        let warnings = report.warnings.iter().filter(|warning| warning.contains("has no effect")).count();
        assert_eq!(warnings, warned, "{solver}: {:?}", report.warnings);
    }
}

#[test]
fn the_command_line_takes_the_place_of_the_file() {
    let report =
        solved(&["examples/heisenberg_triangular.toml", "--states", "2", "--seed", "9", "--tolerance", "1e-7"]);
    assert_eq!((report.energies.len(), report.seed, report.tolerance), (2, 9, 1e-7));
}

#[test]
fn the_solvers_agree() {
    let by = |solver: &str| {
        let report = solved(&["examples/hubbard_disordered.toml", "--solver", solver, "--tolerance", "1e-9"]);
        assert_eq!(report.solver.to_string(), solver);
        let limit = 1e-9 * report.norm;
        assert!(
            report.spectrum().unwrap().residuals.iter().all(|residual| *residual <= limit),
            "{solver}: {:?}",
            report.spectrum().unwrap().residuals
        );
        report.energies
    };
    let lobpcg = by("lobpcg");
    for other in ["lanczos", "davidson"] {
        for (a, b) in lobpcg.iter().zip(&by(other)) {
            assert!((a - b).abs() < 1e-9, "{a} is not {b} by {other}");
        }
    }
}

#[test]
fn a_bad_file_or_command_line_is_exit_code_2_and_no_result() {
    for arguments in [
        &["solve", "tests/input/unknown_model.toml", "--json"][..],
        &["solve", "no_such_file.toml"],
        &["solve", "examples"],
        &["solve", "examples/hubbard_edges.toml", "--device", "tpu", "--json"],
        &["solve", "examples/hubbard_edges.toml", "--states", "101"],
        &["solve", "examples/hubbard_edges.toml", "--solver", "olsen", "--states", "2", "--json"],
        &["solve", "examples/hubbard_edges.toml", "--vectors", "--json"],
        &["solve", "examples/hubbard_edges.toml", "--resume"],
        &["solve"],
        &["inspect", "examples/hubbard_edges.toml", "--kernel", "no_such_kernel"],
        &["frobnicate"],
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(
            !stderr(&output).is_empty() && !stderr(&output).contains("panicked"),
            "{arguments:?}: {}",
            stderr(&output)
        );
        if arguments.contains(&"--json") {
            assert_eq!(failed(&output), 2, "{arguments:?}");
        } else {
            assert_eq!(stdout(&output), "", "{arguments:?}");
        }
    }
    let named = stderr(&run(&["solve", "tests/input/unknown_model.toml"]));
    assert!(named.contains("did you mean `hubbard`?"), "{named}");
}

#[test]
fn a_solve_that_does_not_converge_is_exit_code_3_and_flagged() {
    let arguments = [
        "solve",
        "examples/heisenberg_chain.toml",
        "--device",
        "cpu",
        "--solver",
        "lobpcg",
        "--states",
        "1",
        "--max-iterations",
        "3",
    ];
    let output = run(&arguments);
    assert_eq!(output.status.code(), Some(3), "{}{}", stdout(&output), stderr(&output));
    assert!(
        stdout(&output).contains("NOT CONVERGED") && stdout(&output).contains("did NOT converge"),
        "{}",
        stdout(&output)
    );
}

#[test]
fn output_writes_the_report_the_picture_and_on_request_the_vectors() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let out_text = out.to_str().unwrap();
    let report = solved(&[
        "examples/hubbard_disordered.toml",
        "--solver",
        "lobpcg",
        "--states",
        "1",
        "--output",
        out_text,
        "--vectors",
    ]);
    let mut names: Vec<String> =
        std::fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["convergence.svg", "report.json", "structure_factor.svg", "vectors.npz"]);
    assert_eq!(Outcome::from_json(&std::fs::read_to_string(out.join("report.json")).unwrap()).unwrap(), report);

    // The vectors are those of the energies: ⟨v|n_up|v⟩ from the file is the density in the report.
    let mut npz = ndarray_npy::NpzReader::new(std::fs::File::open(out.join("vectors.npz")).unwrap()).unwrap();
    let vectors: ndarray::Array2<f64> = npz.by_name("vectors").unwrap();
    let up: ndarray::Array1<u64> = npz.by_name("up_states").unwrap();
    let down: ndarray::Array1<u64> = npz.by_name("down_states").unwrap();
    assert_eq!((vectors.shape(), up.len(), down.len()), (&[1, 4900][..], 70, 70));
    let density = |site: usize, states: &ndarray::Array1<u64>, of: &dyn Fn(usize) -> usize| -> f64 {
        let occupied = |index: &usize| states[of(*index)] >> site & 1 == 1;
        (0..4900).filter(occupied).map(|index| vectors[[0, index]].powi(2)).sum()
    };
    for site in 0..8 {
        let expected = report.observables.averages.sites("n_up").unwrap()[site];
        assert!(
            (density(site, &up, &|index| index % 70) - expected).abs() < 1e-9,
            "site {site}: the up index runs fastest"
        );
        let expected = report.observables.averages.sites("n_dn").unwrap()[site];
        assert!((density(site, &down, &|index| index / 70) - expected).abs() < 1e-9, "site {site}");
    }
}

#[test]
fn an_output_folder_that_cannot_be_made_is_refused_before_the_solve() {
    let folder = tempfile::tempdir().unwrap();
    let blocked = folder.path().join("file");
    std::fs::write(&blocked, "").unwrap();
    let below = blocked.join("below");
    let output = run(&[
        "solve",
        "examples/hubbard_edges.toml",
        "--device",
        "cpu",
        "--json",
        "--output",
        below.to_str().unwrap(),
    ]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        Outcome::from_json(stdout(&output)).is_err() && stderr(&output).contains("which is a file"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn every_stage_that_needs_no_compiler_is_printed() {
    for (model, structure) in
        [("examples/hubbard_4x4.toml", "Kronecker sum"), ("examples/heisenberg_kagome.toml", "flip mask")]
    {
        for (stage, part) in [("ir", structure), ("plan", "("), ("cuda", "__global__"), ("cost", "bytes")] {
            let output = run(&["inspect", model, "--stage", stage]);
            assert_eq!(output.status.code(), Some(0), "{model} {stage}: {}", stderr(&output));
            assert!(stdout(&output).contains(part), "{model} {stage}: no {part}");
        }
    }
}

#[test]
fn the_cache_verbs_and_doctor_work_on_a_machine_with_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let with_cache = |arguments: &[&str]| {
        let output = command(arguments).env("EIGENFORGE_CACHE", folder.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
        stdout(&output).to_string()
    };
    assert!(with_cache(&["cache", "list"]).contains("0 entries"));
    assert_eq!(with_cache(&["cache", "list", "--json"]).trim(), "[]");
    assert!(with_cache(&["cache", "verify"]).contains("0 entries checked, 0 faulty"));
    assert!(with_cache(&["cache", "clear"]).contains("0 entries removed"));
    let doctor = run(&["doctor", "--json"]);
    let found: Value = serde_json::from_slice(&doctor.stdout).unwrap();
    assert!(found.get("nvrtc").is_some() && found.get("cache").is_some());
    assert!(stdout(&run(&["doctor"])).contains("driver"));
}

/// States in a folder of checkpoints.
pub fn states(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("state-")).count()
}

#[test]
fn a_killed_run_resumes_to_the_same_energy() {
    let folder = tempfile::tempdir().unwrap();
    let checkpoint = folder.path().join("checkpoint");
    // A ring of 16 sites, dimension 12,870, held up by a tolerance that takes many iterations.
    let model = folder.path().join("model.toml");
    std::fs::write(
        &model,
        "[model]\nname = \"xxz\"\njxy = 1.0\njz = 1.0\n[lattice]\nkind = \"chain\"\nsize = 16\nboundary = \"periodic\"\n\
         [sector]\ntwo_sz = 0\n[solve]\nsolver = \"lobpcg\"\ntolerance = 1e-10\ncertify = false\n",
    )
    .unwrap();
    let (model, place) = (model.to_str().unwrap(), checkpoint.to_str().unwrap());
    let arguments = ["solve", model, "--device", "cpu", "--checkpoint", place, "--checkpoint-every", "0"];
    let mut child = command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    while states(&checkpoint) == 0 && start.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(2));
    }
    std::thread::sleep(Duration::from_millis(20));
    child.kill().unwrap(); // SIGKILL
    child.wait().unwrap();
    assert!(states(&checkpoint) > 0, "no checkpoint was written");

    let output = run(&[&arguments[..], &["--resume", "--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let resumed = Outcome::from_json(stdout(&output)).unwrap();
    // tests/data/spins.json, heis_ring16
    assert!((resumed.energies[0] - -7.142296360616797).abs() < 1e-9, "{}", resumed.energies[0]);
    // The tolerance is a share of the norm, which is at most that of 16 bonds with |S·S| ≤ 3/4.
    assert!(resumed.spectrum().unwrap().residuals[0] <= 1e-10 * 12.0, "{:?}", resumed.spectrum().unwrap().residuals);
}
