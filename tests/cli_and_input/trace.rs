//! Where the time goes: `solve --trace`, the profiler lines, and the ranges that an attached profiler is told.

use super::command::{command, run, stderr, stdout};
use super::gallery::root;
use eigenforge::report::{FamilyRecord, Outcome};
use eigenforge::runtime::testing::card_or_skip;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One complete event: name, track, beginning and end in microseconds.
struct Span<'a> {
    name: &'a str,
    track: u64,
    start: f64,
    end: f64,
    json: &'a Value,
}

impl Span<'_> {
    fn holds(&self, other: &Span<'_>) -> bool {
        // Times come from one clock, but a microsecond's worth of digits may be rounded.
        self.track == other.track && self.start <= other.start + 1e-3 && other.end <= self.end + 1e-3
    }

    fn length(&self) -> f64 {
        self.end - self.start
    }
}

fn spans(json: &Value) -> Vec<Span<'_>> {
    let complete = json["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X");
    complete
        .map(|event| {
            let start = event["ts"].as_f64().unwrap();
            assert!(event["pid"].is_u64() && event["cat"].is_string() && event["args"].is_object(), "{event}");
            Span {
                name: event["name"].as_str().unwrap(),
                track: event["tid"].as_u64().unwrap(),
                start,
                end: start + event["dur"].as_f64().unwrap(),
                json: event,
            }
        })
        .collect()
}

/// Microseconds of `outer` that spans directly below it take.
fn covered(outer: &Span<'_>, all: &[Span<'_>]) -> f64 {
    let mut inside: Vec<&Span<'_>> =
        all.iter().filter(|span| !std::ptr::eq(*span, outer) && outer.holds(span) && span.name != outer.name).collect();
    inside.sort_by(|a, b| a.start.total_cmp(&b.start));
    let (mut sum, mut until) = (0.0, outer.start);
    for span in inside {
        if span.end > until {
            sum += span.end - span.start.max(until);
            until = span.end;
        }
    }
    sum
}

fn solve(folder: &Path, model: &str, options: &[&str]) -> (Value, Outcome, String) {
    let file = folder.join("trace.json");
    let arguments =
        [&["solve", model, "--device", "cpu", "--json", "--trace", file.to_str().unwrap()], options].concat();
    let output = run(&arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let json = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    (json, Outcome::from_json(stdout(&output)).unwrap(), stderr(&output))
}

/// The verbs of curves are recorded as a solve is.
#[test]
fn curves_have_a_timeline() {
    let folder = tempfile::tempdir().unwrap();
    let (model, file) = (folder.path().join("ring.toml"), folder.path().join("trace.json"));
    let text = "[model]\nname = \"xxz\"\njxy = 1.0\njz = 1.0\n[lattice]\nkind = \"chain\"\nsize = 8\nboundary = \"periodic\"\n\
                [sector]\ntwo_sz = 0\n[symmetry]\nk = [0]\n[spectrum]\nof = \"Sz\"\nomega = { from = 0.0, to = 4.0, points = 9 }\n";
    std::fs::write(&model, text).unwrap();
    let [model, file] = [&model, &file].map(|path| path.to_str().unwrap());
    let output = run(&["spectrum", model, "--device", "cpu", "--trace", file]);
    assert!(stderr(&output).contains("wrote") && output.status.success(), "{}", stderr(&output));
    let json: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let all = spans(&json);
    let whole = all.iter().find(|span| span.name == "eigenforge spectrum").unwrap();
    let momenta: Vec<&Span<'_>> = all.iter().filter(|span| span.name == "a momentum").collect();
    assert!(momenta.len() == 8 && momenta.iter().all(|span| whole.holds(span)), "{} momenta", momenta.len());
    // What is refused leaves an earlier timeline alone.
    std::fs::write(file, "kept").unwrap();
    assert_eq!(run(&["thermal", model, "--trace", file]).status.code(), Some(2));
    assert_eq!(std::fs::read_to_string(file).unwrap(), "kept");
}

#[test]
fn spans_nest() {
    let folder = tempfile::tempdir().unwrap();
    let checkpoint = folder.path().join("checkpoint");
    let options = ["--solver", "lobpcg", "--states", "1", "--checkpoint", checkpoint.to_str().unwrap()];
    let (json, report, _) = solve(folder.path(), "examples/hubbard_disordered.toml", &options);
    let all = spans(&json);
    for (k, a) in all.iter().enumerate() {
        for b in &all[..k] {
            let apart = a.end <= b.start + 1e-3 || b.end <= a.start + 1e-3;
            assert!(a.track != b.track || apart || a.holds(b) || b.holds(a), "{} and {} cross", a.name, b.name);
        }
    }
    let named = |name: &str| all.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("no span {name}"));
    let order = ["eigenforge solve", "read model", "set up", "plan", "solve", "iteration", "multiply", "small problem"];
    order.iter().chain(&["update", "refresh", "certify", "checkpoint", "observables", "report"]).for_each(|name| {
        assert!(named("eigenforge solve").holds(named(name)), "{name} is outside");
    });
    for (outer, inner) in [("set up", "plan"), ("solve", "iteration"), ("iteration", "multiply"), ("solve", "certify")]
    {
        assert!(all.iter().any(|span| span.name == inner && named(outer).holds(span)), "no {inner} in {outer}");
    }
    let whole = named("eigenforge solve");
    assert!(whole.length() >= 0.9e6 * report.seconds.total, "{} µs of {} s", whole.length(), report.seconds.total);

    // The main search and the certification's number theirs alike; the last of the main search is the report's.
    let iterations: Vec<&Value> =
        all.iter().filter(|span| span.name == "iteration").map(|span| &span.json["args"]).collect();
    let history = &report.spectrum().unwrap().history;
    assert!(iterations.len() >= history.len() - 1);
    let last = history.last().unwrap();
    let found = iterations.iter().find(|args| args["iteration"].as_u64() == Some(last.iteration as u64)).unwrap();
    assert_eq!((found["energy"].as_f64(), found["residual"].as_f64()), (Some(last.energy), Some(last.residual)));
}

/// Nine tenths of the time of a solve that is longer than the start of a program, unless the machine took the processor away
/// between two spans: in one of a few solves.
#[test]
fn spans_account_for_the_time_of_a_solve() {
    let folder = tempfile::tempdir().unwrap();
    let share = || {
        let options = ["--solver", "lobpcg", "--states", "1"];
        let (json, ..) = solve(folder.path(), "examples/heisenberg_chain.toml", &options);
        let all = spans(&json);
        let of = |name: &str| {
            let outer = all.iter().find(|span| span.name == name).unwrap();
            covered(outer, &all) / outer.length()
        };
        of("eigenforge solve").min(of("solve"))
    };
    let mut shares = Vec::new();
    while shares.len() < 5 && shares.last().is_none_or(|share| *share < 0.9) {
        shares.push(share());
    }
    assert!(shares.last().is_some_and(|share| *share >= 0.9), "{shares:?}");
}

#[test]
fn every_solver_says_what_it_does() {
    let folder = tempfile::tempdir().unwrap();
    for (options, expected) in [
        (&["--solver", "lobpcg", "--states", "3"][..], &["iteration", "multiply", "inner products", "update"][..]),
        (&["--solver", "lanczos", "--states", "1"], &["step", "multiply", "update", "gather", "small problem"]),
        (&["--solver", "lanczos", "--states", "2"], &["multiply", "orthogonalise", "small problem", "certify"]),
        (&["--solver", "davidson", "--states", "2"], &["iteration", "residuals", "orthogonalise", "small problem"]),
        (&["--solver", "olsen", "--states", "1"], &["iteration", "multiply", "inner products", "update"]),
        (&["--solver", "dense"], &["dense matrix", "diagonalise"]),
    ] {
        let (json, ..) = solve(folder.path(), "kernels_generated/spin_three_halves_octahedron/model.toml", options);
        let all = spans(&json);
        for name in expected {
            assert!(all.iter().any(|span| span.name == *name), "{options:?}: no {name}");
        }
    }
}

/// Sweeps, bonds and the steps of each.
#[test]
fn a_chain_says_what_its_bonds_do() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("chain.toml");
    let text = "[model]\nname = \"xxz\"\njxy = 1.0\njz = 1.0\n[lattice]\nkind = \"chain\"\nsize = 12\n[sector]\ntwo_sz = 0\n\
                [dmrg]\nstates = 32\n";
    std::fs::write(&model, text).unwrap();
    let (json, report, _) = solve(folder.path(), model.to_str().unwrap(), &[]);
    let all = spans(&json);
    let named = |name: &str| all.iter().filter(|span| span.name == name).collect::<Vec<_>>();
    let FamilyRecord::Chain(chain) = &report.family else { panic!("no chain") };
    let sweeps = chain.search.sweeps.len();
    let (bonds, swept) = (named("bond"), named("sweep"));
    assert_eq!((swept.len(), bonds.len()), (sweeps, sweeps * 2 * (12 - 2)));
    for name in ["plan of the bond", "Davidson", "truncation", "carrying over"] {
        let found = named(name).into_iter().filter(|step| bonds.iter().any(|bond| bond.holds(step))).count();
        assert_eq!(found, bonds.len(), "{name}");
    }
    let products = |bond: &&Span<'_>| bond.json["args"]["products"].as_u64().unwrap() as usize;
    let within = named("product with H").into_iter().filter(|product| bonds.iter().any(|bond| bond.holds(product)));
    assert_eq!(within.count(), bonds.iter().map(products).sum::<usize>());
    assert!(["variance", "averages"].iter().all(|name| named(name).len() == 1));
    let steps: f64 = swept.iter().map(|sweep| covered(sweep, &all)).sum();
    assert!(steps > 0.8 * swept.iter().map(|sweep| sweep.length()).sum::<f64>(), "bonds fill the sweeps");
}

/// On a machine with a GPU: what it did, on its own track and on the host's clock.
#[test]
fn a_gpu_has_a_track_of_its_own() {
    if card_or_skip().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.json");
    let model = "examples/hubbard_disordered.toml";
    let options = ["--device", "cuda", "--solver", "lobpcg", "--states", "1", "--trace", file.to_str().unwrap()];
    let output = run(&[&["solve", model], &options[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let json: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(json["otherData"]["notes"], serde_json::json!([]));
    let all = spans(&json);
    let events = json["traceEvents"].as_array().unwrap().iter();
    let mut tracks =
        events.filter(|event| event["args"]["name"].as_str().is_some_and(|name| name.starts_with("GPU: ")));
    let gpu = tracks.next().expect("a track named after the GPU")["tid"].as_u64().unwrap();
    let (device, host): (Vec<&Span<'_>>, Vec<&Span<'_>>) = all.iter().partition(|span| span.track == gpu);
    let named = |spans: &[&Span<'_>], name: &str| spans.iter().filter(|span| span.name == name).count();
    for name in ["multiply", "update"] {
        assert!(named(&device, name) > 20);
        assert_eq!(named(&device, name), named(&host, name), "each {name} was measured on both");
    }
    let of = |category: &str| host.iter().filter(|span| span.json["cat"] == category).count();
    assert!(of("compile") > 2 && of("load") == of("compile"), "{} compiled, {} loaded", of("compile"), of("load"));
    let whole = host.iter().find(|span| span.name == "eigenforge solve").unwrap();
    for pair in device.windows(2) {
        assert!(pair[0].end <= pair[1].start + 1.0, "one stream does one thing after the other");
    }
    for span in &device {
        let slack = 200.0; // microseconds between the two clocks
        assert!(
            span.length() > 0.0 && span.start >= whole.start - slack && span.end <= whole.end + slack,
            "{}",
            span.json
        );
    }
}

#[test]
fn the_profiler_lines_hold_the_user_s_own_words() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("my model.toml");
    std::fs::copy(root().join("kernels_generated/hubbard_bonds/model.toml"), &model).unwrap();
    let model = model.to_str().unwrap();
    let (_, _, told) = solve(folder.path(), model, &["--states", "2"]);
    let name = "hubbard_chain_6_3up_2dn";
    let tail = format!("solve '{model}' --device cpu --json --states 2");
    let line = |start: String| told.lines().find(|line| line.starts_with(&start) && line.ends_with(&tail)).is_some();
    assert!(line(format!("nsys profile --trace=cuda,nvtx -o {name} ")), "{told}");
    assert!(line("ncu --kernel-name multiply_up --launch-skip 3 --launch-count 1 --set full ".into()), "{told}");
    assert!(!told.contains("--trace ") && told.contains("ui.perfetto.dev"), "{told}");
}

/// Whatever the family, the first kernel of its first file.
#[test]
fn the_profiler_lines_are_there_for_every_family() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let data = |name: &str| root().join("tests/data").join(name);
    std::fs::write(path("m.toml"), format!("[ci]\nfcidump = {:?}\n", data("ci/H2_sto3g_0.74.FCIDUMP"))).unwrap();
    let spins =
        "[model]\nname = \"xxz\"\njxy = 1.0\njz = 1.0\n[lattice]\nkind = \"chain\"\nsize = 6\n[sector]\ntwo_sz = 0\n";
    std::fs::write(path("d.toml"), format!("{spins}[dmrg]\nstates = 8\n")).unwrap();
    let jisp = data("su3/jisp16_Nmax20_hw20.0_rel.dat");
    std::fs::write(path("s.toml"), format!("[su3]\ninteraction = {jisp:?}\nn_max = 2\noutput = \"o.csv\"\n")).unwrap();
    for name in ["m.toml", "d.toml", "s.toml"] {
        let (model, trace) = (path(name), path("trace.json"));
        let output = run(&["solve", model.to_str().unwrap(), "--device", "cpu", "--trace", trace.to_str().unwrap()]);
        assert!(output.status.success(), "{name}: {}", stderr(&output));
        assert!(stderr(&output).contains("ncu --kernel-name "), "{name}: {}", stderr(&output));
    }
}

#[test]
fn a_trace_that_cannot_be_written_is_refused_before_the_solve() {
    let folder = tempfile::tempdir().unwrap();
    let blocked = folder.path().join("file");
    std::fs::write(&blocked, "").unwrap();
    let below = blocked.join("trace.json");
    let arguments =
        ["solve", "examples/hubbard_edges.toml", "--device", "cpu", "--json", "--trace", below.to_str().unwrap()];
    let output = run(&arguments);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        Outcome::from_json(stdout(&output)).is_err() && stderr(&output).contains("which is a file"),
        "{}",
        stderr(&output)
    );
}

/// A profiler's half of NVTX, as far as it takes to write down what it is told.
const PROBE: &str = r#"
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
typedef void (*Function)(void);
typedef Function** Table;
typedef struct { size_t struct_size; int (*module_table)(int, Table*, unsigned int*); } Callbacks;
typedef struct { size_t struct_size; uint32_t version, reserved; void (*set_version)(uint32_t); } Version;
static FILE* told;
static int push(const char* name) { fprintf(told, "push %s\n", name); return 0; }
static int pop(void) { fprintf(told, "pop\n"); fflush(told); return 0; }
int InitializeInjectionNvtx2(const void* (*export_table)(uint32_t)) {
    const Version* version = (const Version*)export_table(3);
    const Callbacks* callbacks = (const Callbacks*)export_table(1);
    Table table = NULL;
    unsigned int size = 0;
    if (!version || version->struct_size < sizeof *version || version->version < 2) return 0;
    if (!callbacks || callbacks->struct_size < sizeof *callbacks) return 0;
    if (!callbacks->module_table(5, &table, &size) || size <= 15) return 0;
    if (!callbacks->module_table(1, &table, &size) || size <= 11 || table[0] != NULL) return 0;
    told = fopen(getenv("PROBE_FILE"), "w");
    if (!told) return 0;
    *table[9] = (Function)push;
    *table[11] = (Function)pop;
    return 1;
}
"#;

/// The probe as a library, or a printed line where there is no C compiler.
fn probe(folder: &Path) -> Option<PathBuf> {
    let (source, library) = (folder.join("probe.c"), folder.join("probe.so"));
    std::fs::write(&source, PROBE).unwrap();
    let compiled = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).output();
    match compiled {
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            Some(library)
        }
        Err(fault) => {
            println!("skipped: no C compiler: {fault}");
            None
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_attached_profiler_is_told_the_same_phases() {
    let folder = tempfile::tempdir().unwrap();
    let Some(library) = probe(folder.path()) else { return };
    let told = folder.path().join("told");
    let arguments =
        ["solve", "examples/heisenberg_chain.toml", "--device", "cpu", "--solver", "lobpcg", "--states", "1"];
    let output = command(&arguments).env("NVTX_INJECTION64_PATH", &library).env("PROBE_FILE", &told).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let told = std::fs::read_to_string(told).unwrap();
    let mut open: Vec<&str> = Vec::new();
    let mut nested = Vec::new();
    for line in told.lines() {
        match line.strip_prefix("push ") {
            Some(name) => {
                open.push(name);
                nested.push(open.join(" > "));
            }
            None => assert!(line == "pop" && open.pop().is_some(), "{line}"),
        }
    }
    assert!(open.is_empty(), "{open:?} never ends");
    for path in ["eigenforge solve > set up > plan", "eigenforge solve > solve > iteration > multiply"] {
        assert!(nested.iter().any(|found| found == path), "no {path}");
    }
}

#[test]
fn a_profiler_that_is_not_there_does_no_harm() {
    let arguments = ["solve", "examples/hubbard_edges.toml", "--device", "cpu", "--json"];
    let plain = run(&arguments);
    for path in ["", "/no/such/library.so", "README.md"] {
        let output = command(&arguments).env("NVTX_INJECTION64_PATH", path).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{path}: {}", stderr(&output));
        let energies = |output| Outcome::from_json(stdout(output)).unwrap().energies;
        assert_eq!(energies(&output), energies(&plain));
    }
}
