//! Runs of `su3 transform` beyond one process and one piece: killed and gone on with, cached tables, memory, formats, MPI.

use super::command::{command, path, root, succeed, text};
use eigenforge::runtime::testing;
use rustix::process::{Pid, Signal, kill_process};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

const JISP16: &str = "tests/data/su3/jisp16_Nmax20_hw20.0_rel.dat";

fn transform(folder: &Path, n_max: &str, name: &str, more: &[&str]) -> std::process::Command {
    let output = path(folder, name);
    let mut all = vec!["transform", "--interaction", JISP16, "--n-max", n_max, "--output", &output];
    all.extend(more);
    command(&all)
}

fn done(mut command: std::process::Command) -> String {
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stderr)
}

fn json(folder: &Path, name: &str) -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(folder.join(name)).unwrap()).unwrap()
}

/// A run is killed (SIGKILL), and another is ended (SIGTERM), when some groups stand; the next one takes these up and ends with
/// the bytes of an undisturbed run. On a busy machine a run may end before it is stopped: then all of it is tried again.
#[test]
fn a_killed_run_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    done(transform(folder.path(), "9", "whole.bin", &[]));
    let disturbed = (0..20).any(|_| {
        disturb(folder.path()).is_none_or(|early| {
            println!("{early}");
            std::fs::remove_file(folder.path().join("c.bin")).unwrap();
            false
        })
    });
    assert!(disturbed, "every run ended before it could be stopped");
}

/// The disturbed runs, and what holds after them; or what is in the way: a run that was quicker than its signal.
fn disturb(folder: &Path) -> Option<String> {
    const SMALL: [&str; 2] = ["--memory", "40MiB"];
    let journal = folder.join("c.bin.partial.done");
    let lines = || std::fs::read_to_string(&journal).map_or(0, |text| text.lines().count());
    let start =
        || transform(folder, "9", "c.bin", &SMALL).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut child = start();
    for (signal, number) in [(Signal::KILL, 9), (Signal::TERM, 15)] {
        // More groups than an earlier run left: it has begun.
        let least = lines() + 1;
        let started = Instant::now();
        let send = |child: &std::process::Child, signal| kill_process(Pid::from_child(child), signal).unwrap();
        while lines() < least {
            if child.try_wait().unwrap().is_some_and(|status| status.success()) {
                return Some(format!("a run ended before {least} groups were seen"));
            }
            assert!(started.elapsed() < Duration::from_secs(120) && child.try_wait().unwrap().is_none());
            std::thread::sleep(Duration::from_micros(200));
        }
        if signal == Signal::TERM {
            // It waits, with its lock; the signal that follows waits with it.
            send(&child, Signal::STOP);
            let second = transform(folder, "9", "c.bin", &SMALL).output().unwrap();
            let said = text(&second.stderr).split_whitespace().collect::<Vec<_>>().join(" ").replace("│ ", "");
            if second.status.success() {
                send(&child, Signal::KILL);
                child.wait().unwrap();
                return Some("the second run came first".into());
            }
            assert_eq!(second.status.code(), Some(1), "{said}");
            assert!(said.contains(&format!("in use by process {}", child.id())), "{said}");
        }
        send(&child, signal);
        send(&child, Signal::CONT);
        let output = child.wait_with_output().unwrap();
        let said = text(&output.stderr);
        if output.status.success() {
            return Some(format!("a run ended before its {signal:?}"));
        }
        assert_eq!(output.status.signal(), Some(number), "{said}");
        let told = said.contains("ended by SIGTERM") && said.contains("groups are saved in");
        assert_eq!(told, signal == Signal::TERM, "{said}");
        assert!(!folder.join("c.bin").exists() && lines() >= least);
        child = start();
    }
    let output = child.wait_with_output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("groups are saved in"), "{said}");
    assert!(["", ".done"].iter().all(|end| !folder.join(format!("c.bin.partial{end}")).exists()));
    assert!(!folder.join("c.bin.lock").exists());
    assert_eq!(std::fs::read(folder.join("c.bin")).unwrap(), std::fs::read(folder.join("whole.bin")).unwrap());
    let [went_on, whole] = ["c.json", "whole.json"].map(|name| json(folder, name));
    assert_eq!(went_on["channels"], whole["channels"]);
    assert_eq!(went_on["defect"], whole["defect"]);
    assert!(went_on["w0"].as_u64().unwrap() > 100_000 && went_on["w0"] == whole["w0"]);
    assert!(std::fs::read_to_string(folder.join("c.svg")).unwrap().matches("<circle").count() > 100);
    None
}

/// Many pieces that take turns, many side by side, and one give the same bytes. Stages by the clock add up to no more than the run;
/// the work within its pieces stands apart, since it overlaps.
#[test]
fn pieces_overlap_and_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut results = Vec::new();
    for (name, memory) in [("turns.bin", "18MiB"), ("many.bin", "60MiB"), ("one.bin", "8GiB")] {
        let started = Instant::now();
        let said = done(transform(folder.path(), "8", name, &["--memory", memory]));
        let elapsed = started.elapsed().as_secs_f64();
        assert!(said.contains("in memory at a time") && said.contains("overlapping work"), "{said}");
        let written = json(folder.path(), &name.replace("bin", "json"));
        let stages = |key: &str| -> Vec<(String, f64)> { serde_json::from_value(written[key].clone()).unwrap() };
        let names: Vec<String> = stages("overlapping").into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["read", "tables", "transform", "write"]);
        let seconds = stages("stages");
        assert!(seconds.iter().any(|(name, _)| name == "pieces"), "{seconds:?}");
        assert!(seconds.iter().map(|(_, seconds)| seconds).sum::<f64>() <= elapsed, "{seconds:?} in {elapsed}");
        results.push((said.matches("piece  ").count(), std::fs::read(folder.path().join(name)).unwrap()));
    }
    assert!(results[0].0 >= results[1].0 && results[1].0 > 3 && results[2].0 == 1, "pieces");
    assert!(results.iter().all(|(_, bytes)| *bytes == results[2].1));
}

#[test]
fn memory_is_planned() {
    let folder = tempfile::tempdir().unwrap();
    let little = transform(folder.path(), "9", "c.bin", &["--memory", "2MiB"]).output().unwrap();
    assert_eq!(little.status.code(), Some(2));
    let said = text(&little.stderr);
    assert!(said.contains("largest group of quadruples") && said.contains("2.0 MiB"), "{said}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    let wrong = transform(folder.path(), "1", "c.bin", &["--memory", "much"]).output().unwrap();
    assert!(wrong.status.code() == Some(2) && text(&wrong.stderr).contains("expected a size"));
    let said = done(transform(folder.path(), "4", "c.bin", &["--memory", "64MiB"]));
    assert!(said.contains("limit 64.0 MiB"), "{said}");
}

/// A model file for `solve`, the same with flags in place of its keys, and flags alone give the same bytes; the report has the fields
/// of all families, on standard output and beside the result.
#[test]
fn a_model_file_and_flags_are_one_path() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let model = path(folder, "m.toml");
    let input = root().join(JISP16);
    std::fs::write(&model, format!("[su3]\ninteraction = {input:?}\nn_max = 3\noutput = \"a.bin\"\n")).unwrap();
    let mut solve = std::process::Command::new(super::command::program());
    solve.current_dir(root()).env("EIGENFORGE_CACHE", "off").args(["solve", &model, "--device", "cpu", "--json"]);
    let output = solve.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report, json(folder, "a.json"));
    assert_eq!((report["family"].as_str(), report["stop"].as_str()), (Some("tensors"), Some("finished")));
    assert_eq!((report["solver"].as_str(), report["energies"].as_array().map(Vec::len)), (Some("factorised"), Some(0)));
    assert_eq!(
        (report["kernels"].as_array().map(Vec::len), report["warnings"].as_array().map(Vec::len)),
        (Some(0), Some(0))
    );
    assert!(report["model"]["text"].as_str().unwrap().contains("[su3]") && report["device"].is_string());
    assert!(report["versions"]["eigenforge"].is_string() && report["su3"]["direction"] == "forward");
    let seconds = |name: &str| report["seconds"][name].as_f64().unwrap();
    let phases: f64 = ["setup", "solve", "certify", "observables"].map(seconds).into_iter().sum();
    assert!(seconds("solve") > 0.0 && phases <= seconds("total"), "{}", report["seconds"]);
    let cost = |name: &str| report["cost"][name].as_f64().unwrap();
    assert!(cost("bytes") > 1e5 && cost("seconds") > 0.0 && cost("floor_seconds") > 0.0, "{}", report["cost"]);
    let memory = &report["memory"];
    let items = memory["items"].as_array().unwrap().iter().map(|item| item["bytes"].as_u64().unwrap());
    assert_eq!(items.sum::<u64>(), memory["planned_bytes"].as_u64().unwrap());
    let flags = path(folder, "b.bin");
    succeed(&["transform", &model, "--output", &flags, "--device", "cpu"]);
    done(transform(folder, "3", "c.bin", &[]));
    let [a, b, c] = ["a.bin", "b.bin", "c.bin"].map(|name| std::fs::read(folder.join(name)).unwrap());
    assert!(a == b && b == c);
    let smaller = path(folder, "d.bin");
    assert!(succeed(&["transform", &model, "--output", &smaller, "--n-max", "1"]).contains("N_max = 1"));
    let nothing = command(&["transform", "--n-max", "1"]).output().unwrap();
    assert!(nothing.status.code() == Some(2) && text(&nothing.stderr).contains("--interaction"));
}

/// Finished groups wait in a checkpoint folder when the result cannot be written; --resume takes them up, a run without it begins
/// again, and another transformation is refused.
#[test]
fn groups_wait_in_a_checkpoint_folder() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let check = path(folder, "check");
    let run = |n_max: &str, name: &str, extra: &[&str]| {
        let more = [&["--checkpoint", check.as_str()][..], extra].concat();
        transform(folder, n_max, name, &more).output().unwrap()
    };
    let blocked = |extra: &[&str]| {
        std::fs::create_dir_all(folder.join("in_the_way.csv/x")).unwrap();
        let output = run("2", "in_the_way.csv", extra);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        assert!(folder.join("check/groups.partial.done").exists() && !folder.join("in_the_way.csv.partial").exists());
        text(&output.stderr)
    };
    assert!(!blocked(&[]).contains("groups are saved in"));
    assert!(!blocked(&[]).contains("groups are saved in"), "without --resume it begins again");
    for resume in [&[][..], &["--resume"]] {
        let other = run("1", "c.csv", resume);
        let said = text(&other.stderr).split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ");
        assert!(other.status.code() == Some(2) && said.contains("groups of another transformation"), "{said}");
    }
    assert!(blocked(&["--resume"]).contains("groups are saved in"));
    let resumed = run("2", "c.csv", &["--resume"]);
    assert_eq!(resumed.status.code(), Some(0), "{}", text(&resumed.stderr));
    let report = json(folder, "c.json");
    assert!(report["resumed_groups"].as_u64().unwrap() > 3, "{report}");
    assert_eq!(std::fs::read_dir(&check).unwrap().count(), 0);
    done(transform(folder, "2", "whole.csv", &[]));
    let [a, b] = ["c.csv", "whole.csv"].map(|name| std::fs::read(folder.join(name)).unwrap());
    assert!(a == b && json(folder, "whole.json")["channels"] == report["channels"]);
}

/// Tables come from the cache the second time, with the same bits; a damaged file is made again.
#[test]
fn tables_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (folder, cache) = (folder.path(), tempfile::tempdir().unwrap());
    let run = |name: &str| {
        let mut command = transform(folder, "3", name, &[]);
        command.env("EIGENFORGE_CACHE", cache.path());
        done(command);
        json(folder, &name.replace("bin", "json"))["tables"].clone()
    };
    let count = |tables: &serde_json::Value, name: &str| tables[name].as_u64().unwrap();
    let cold = run("cold.bin");
    assert!(count(&cold, "made") > 10 && count(&cold, "damaged") == 0, "{cold}");
    let warm = run("warm.bin");
    assert!(count(&warm, "read") > 10 && count(&warm, "made") == 0, "{warm}");
    let some = std::fs::read_dir(cache.path().join("su3-tables")).unwrap().next().unwrap().unwrap().path();
    let mut bytes = std::fs::read(&some).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&some, bytes).unwrap();
    let verbs = |verb: &str| {
        let mut command = std::process::Command::new(super::command::program());
        let output = command.args(["cache", verb]).env("EIGENFORGE_CACHE", cache.path()).output().unwrap();
        (output.status.code(), text(&output.stdout))
    };
    let (code, said) = verbs("verify");
    assert!(code == Some(1) && said.contains("its key or content is altered") && said.contains("1 faulty"), "{said}");
    let mended = run("mended.bin");
    assert_eq!((count(&mended, "made"), count(&mended, "damaged")), (1, 1));
    assert_eq!(verbs("verify").0, Some(0));
    assert!(verbs("list").1.contains("tables of SU(3) coefficients"));
    let [cold, warm, mended] =
        ["cold", "warm", "mended"].map(|name| std::fs::read(folder.join(format!("{name}.bin"))).unwrap());
    assert!(cold == warm && warm == mended);
    assert!(verbs("clear").1.contains("entries removed") && verbs("list").1.contains("0 entries"));
}

/// LSU3shell's layout tells the strengths of the table of labels, κ0 outer, ρ0 inner, pp, nn, pn overlapping work.
#[test]
fn the_recouplers_layout_tells_the_strengths_of_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    done(transform(folder, "2", "c.csv", &[]));
    done(transform(folder, "2", "c.recoupler", &[]));
    let mut table = std::collections::HashMap::new();
    for line in std::fs::read_to_string(folder.join("c.csv")).unwrap().lines().skip(1) {
        let (labels, value) = line.rsplit_once(',').unwrap();
        table.insert(labels.to_string(), value.parse::<f64>().unwrap());
    }
    let layout = std::fs::read_to_string(folder.join("c.recoupler")).unwrap();
    let (mut told, mut labels, mut tensor) = (0.0, Vec::new(), 0);
    for line in layout.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.len() == 16 {
            labels = words.iter().map(|word| word.parse::<u32>().unwrap()).collect();
            tensor = 0;
            continue;
        }
        let [na, nb, nd, nc, _, lf, mf, two_sf, _, li, mi, two_si, rho_max, l0, m0, two_s0] = labels[..] else {
            panic!("{line}")
        };
        let (kappa, rho) = (tensor / rho_max + 1, tensor % rho_max + 1);
        tensor += 1;
        for (channel, word) in ["pp", "nn", "pn"].iter().zip(&words) {
            let [sf, si, s0] = [two_sf, two_si, two_s0].map(|two_s| two_s / 2);
            let key =
                format!("{channel},{na},{nb},{nc},{nd},{lf},{mf},{li},{mi},{l0},{m0},{sf},{si},{s0},{kappa},{rho}");
            let value: f64 = word.parse().unwrap();
            assert_eq!(table[&key], value, "{key}");
            told += value * value;
        }
    }
    let all: f64 = table.values().map(|value| value * value).sum();
    assert!(all > 1.0 && (told / all - 1.0).abs() < 1e-12, "what is left out is zero: {told} {all}");
    let only_pn = ["transform", "--interaction", "tests/data/su3/jisp16_hw20_N2_V.csv", "--n-max", "2"];
    let output = path(folder, "p.recoupler");
    let refused = command(&[&only_pn[..], &["--output", &output]].concat()).output().unwrap();
    assert!(text(&refused.stderr).contains("nn is missing"), "{}", text(&refused.stderr));
}

/// A force goes to H2 and from there to the same strengths, to the format's seven digits.
#[test]
fn elements_change_their_format() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let force = path(folder, "force.toml");
    std::fs::write(
        &force,
        "[force]\nhw = 15.0\nminnesota = { u = 1.0 }\ntensor = [{ strength = 20.0, range = 1.2 }]\n",
    )
    .unwrap();
    let elements = |output: &str, format: &[&str]| {
        let mut all = vec!["elements", "--interaction", &force, "--n-max", "2", "--output", output];
        all.extend(format);
        succeed(&all)
    };
    let (h2, records) = (path(folder, "v.dat"), path(folder, "v.bin"));
    assert!(elements(&h2, &[]).contains("2,760 elements of each of pn, pp, nn"));
    elements(&records, &["--format", "h2-15200"]);
    let strengths = |input: &str, output: &str| {
        let output = path(folder, output);
        succeed(&["transform", "--interaction", input, "--n-max", "2", "--output", &output]);
        let text = std::fs::read_to_string(&output).unwrap();
        text.lines().skip(1).map(|line| line.rsplit_once(',').unwrap().1.parse::<f64>().unwrap()).collect::<Vec<f64>>()
    };
    let (direct, by_text, by_records) =
        (strengths(&force, "a.csv"), strengths(&h2, "b.csv"), strengths(&records, "c.csv"));
    let largest = direct.iter().fold(0.0, |largest: f64, c| largest.max(c.abs()));
    for (name, other) in [("text", by_text), ("records", by_records)] {
        let worst = direct.iter().zip(&other).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(largest > 1.0 && worst < 1e-5 && worst > 0.0, "{name}: {worst:e}");
    }
    let wrong = command(&["transform", "--interaction", &force, "--n-max", "2", "--output", &h2, "--format", "h2-0"]);
    let wrong = { wrong }.output().unwrap();
    assert!(
        wrong.status.code() == Some(2) && text(&wrong.stderr).contains("is for elements"),
        "{}",
        text(&wrong.stderr)
    );
}

/// Four processes and one give the same file; a build without MPI that is started by a launcher says so.
#[test]
fn mpi_gives_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    if !cfg!(feature = "mpi") {
        let refused = transform(folder, "1", "c.bin", &[]).env("OMPI_COMM_WORLD_SIZE", "4").output().unwrap();
        assert!(refused.status.code() == Some(2) && text(&refused.stderr).contains("--features mpi"));
        return;
    }
    // The kernels' text as well, a few groups at a time, on the card where there is one.
    let card = testing::card_name();
    let kernels = card.as_deref().unwrap_or("sim");
    // The workers take the cards of a set in turn.
    for (device, alone_on, n_max, teams) in
        [("cpu", "cpu", "4", &["2", "4"][..]), (kernels, kernels, "1", &["3"]), ("sim:2", "sim", "1", &["4"])]
    {
        let one = format!("one-{device}.bin");
        let mut alone = transform(folder, n_max, &one, &["--device", alone_on]);
        // Simulated kernels, which are kept beside the cache, are compiled once for all processes; tables are not kept.
        let folder_of_cache = folder.join("cache");
        let cache = if device == "cpu" { std::ffi::OsStr::new("off") } else { folder_of_cache.as_os_str() };
        alone.env("EIGENFORGE_CACHE", cache);
        done(alone);
        let _ = std::fs::remove_dir_all(&folder_of_cache);
        for ranks in teams {
            let name = format!("{ranks}-{device}.bin");
            let mut command = std::process::Command::new("mpirun");
            command.current_dir(root()).env("EIGENFORGE_CACHE", cache).env("RAYON_NUM_THREADS", "1");
            command.args(["--allow-run-as-root", "--oversubscribe", "-n", ranks]).arg(super::command::program());
            let output = path(folder, &name);
            command.args(["su3", "transform", "--interaction", JISP16, "--n-max", n_max, "--output", &output]);
            command.args(["--device", device]);
            let said = done(command);
            assert!(said.contains("workers"), "{said}");
            assert_eq!(std::fs::read(&output).unwrap(), std::fs::read(folder.join(&one)).unwrap(), "{name}");
            let summary = |name: &str| json(folder, &name.replace("bin", "json"))["channels"].clone();
            assert_eq!(summary(&name), summary(&one));
        }
    }
}
