//! `eigenforge evolve`: bad input by name and at its place, what ends with exit code 3, starts of all kinds, files.

use super::command::{check_refusals, model_file, run, stderr, stdout, words};
use serde_json::Value;
use std::path::Path;

const CHAIN: &str = "[model]\nname = \"xxz\"\njxy = 1.0\njz = 0.7\n[lattice]\nkind = \"chain\"\nsize = 6\nboundary = \"open\"\n\
                     [sector]\ntwo_sz = 0\n";
const NEEL: &str = "start = { up = [0, 2, 4] }\n";

fn evolved(path: &Path) -> Value {
    let output = run(&["evolve", path.to_str().unwrap(), "--device", "cpu", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    serde_json::from_str(stdout(&output)).unwrap()
}

fn numbers(list: &Value) -> Vec<f64> {
    list.as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
}

#[test]
fn what_is_wrong_is_said_with_what_was_expected() {
    let evolve = |keys: &str| format!("{CHAIN}[evolve]\n{keys}");
    let started = |keys: &str| format!("{CHAIN}[evolve]\n{NEEL}{keys}");
    let timed = |text: &str| started("until = 1.0\n").replace("jz = 0.7", text);
    let cases = [
        (CHAIN.to_string(), vec!["the section [evolve] is missing"]),
        (evolve("until = 1.0\n"), vec!["`start` is missing from [evolve]"]),
        (started(""), vec!["`until` is missing from [evolve]"]),
        (started("until = 0.0\n"), vec!["`until` should be above 0", "found 0"]),
        (started("until = -1\n"), vec!["`until` should be above 0", "found -1"]),
        (started("until = 1.0\ntolerance = 0.0\n"), vec!["`tolerance` should be above 0", "found 0"]),
        (started("until = 1.0\ntimes = [0.0, 0.5, 0.5]\n"), vec!["`times` should be ascending times", "0.5 after 0.5"]),
        (started("until = 1.0\ntimes = [0.5, 2.0]\n"), vec!["`times` should be from 0 to `until`, 1", "found 2"]),
        (started("until = 1.0\ntimes = []\n"), vec!["a time at least"]),
        (started("until = 1.0\ntimes = 1\n"), vec!["`times` should be a whole number, 2 or more"]),
        (
            started("until = 1.0\nrecord = [\"enrgy\"]\n"),
            vec!["`record` should be names among energy, echo", "did you mean \"energy\"?", "found \"enrgy\""],
        ),
        (started("until = 1.0\nentropy = [[0, 6]]\n"), vec!["`entropy` should be sites from 0 to 5, found 6"]),
        (started("until = 1.0\nentropy = [[1, 1]]\n"), vec!["each site once"]),
        (started("until = 1.0\nsteps = 3\n"), vec!["unknown key `steps` in [evolve]"]),
        (evolve("start = { up = [0, 2] }\nuntil = 1.0\n"), vec!["the start: the state has 2Sz = -2", "sector 2Sz = 0"]),
        (evolve("start = { up = [0, 2, 7] }\nuntil = 1.0\n"), vec!["`up` has site 7, but the sites are 0 to 5"]),
        (
            evolve("start = { up = [0, 2, 4], down = [1, 3] }\nuntil = 1.0\n"),
            vec!["the spin of site 5 is in neither `up` nor `down`"],
        ),
        (evolve("start = { levels = [1, 0] }\nuntil = 1.0\n"), vec!["2 local states are given for 6 sites"]),
        (evolve("start = { levels = [3, 0, 1, 0, 1, 0] }\nuntil = 1.0\n"), vec!["local states are 0 to 1, found 3"]),
        (evolve("start = { orbitals = \"lowest\" }\nuntil = 1.0\n"), vec!["the start: orbitals are of electrons"]),
        (evolve("start = { orbitals = \"first\" }\nuntil = 1.0\n"), vec!["first", "lowest"]),
        (evolve("start = { }\nuntil = 1.0\n"), vec!["`start` should be one of", "found none of them"]),
        (
            evolve("start = { up = [0], levels = [1] }\nuntil = 1.0\n"),
            vec!["`start` should be one of", "found up and levels"],
        ),
        (evolve("start = { model = \"nothing.toml\" }\nuntil = 1.0\n"), vec!["cannot read", "nothing.toml"]),
        (evolve("start = { vectors = \"nothing.npz\" }\nuntil = 1.0\n"), vec!["the start: cannot read", "nothing.npz"]),
        (
            format!("{CHAIN}[symmetry]\nreflection = 1\n[evolve]\n{NEEL}until = 1.0\n"),
            vec!["of the start's length is not in the sector"],
        ),
        (
            started("until = 1.0\n").replace("two_sz = 0", "two_sz = { sweep = [0, 2] }"),
            vec!["the point two_sz = 2 of the sweep was not solved", "the start"],
        ),
        (timed("jz = \"0.7 + t\""), vec!["the parameter `jz`", "the time is `time`"]),
        (timed("jz = \"1 / (time - 0.5)\""), vec!["the parameter `jz`: it is inf at time = 0.5"]),
        (timed("jz = \"time\"\nspin = \"time\""), vec!["`spin` should be a number"]),
        (
            started("until = 1.0\nimaginary = true\n").replace("jz = 0.7", "jz = \"1 + time\""),
            vec!["imaginary time is of a constant H"],
        ),
        (
            started("until = 1.0\nvector_potential = { form = \"pulse\", a0 = 0.3, omega = 1.0 }\n"),
            vec!["`width` is missing"],
        ),
        (started("until = 1.0\nvector_potential = { form = \"step\", a0 = 0.3 }\n"), vec!["step", "pulse, ac, dc"]),
    ];
    check_refusals("evolve", &cases);
}

/// What depends on time is for this verb; elsewhere a text is refused and says where it belongs.
#[test]
fn other_verbs_refuse_what_depends_on_time() {
    let text = CHAIN.replace("jz = 0.7", "jz = \"0.7 + time\"");
    for (text, said) in [
        (format!("{text}[evolve]\n{NEEL}until = 1.0\n"), "a function of `time` for `eigenforge evolve`"),
        (text, "functions of `time` stand in a file with a section [evolve]"),
    ] {
        let (_folder, path) = model_file(&text);
        let output = run(&["solve", path.to_str().unwrap(), "--device", "cpu"]);
        assert_eq!(output.status.code(), Some(2));
        assert!(words(&stderr(&output)).contains(said), "{}", stderr(&output));
    }
}

/// A product of two functions of time is no sum of constant operators.
#[test]
fn functions_of_time_stand_in_h_linearly() {
    let text = "[model]\nname = \"terms\"\nsite = \"spin 1/2\"\nH = \"sum(<i, j> in bonds; a * b * sdots(i, j))\"\n[parameters]\n\
                a = \"time\"\nb = \"1 + time\"\n[lattice]\nkind = \"chain\"\nsize = 4\nboundary = \"open\"\n[sector]\ntwo_sz = 0\n\
                [evolve]\nstart = { up = [0, 2] }\nuntil = 1.0\n";
    let (_folder, path) = model_file(text);
    let output = run(&["evolve", path.to_str().unwrap(), "--device", "cpu"]);
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    assert!(
        words(&stderr(&output)).contains("H is not linear in the numbers that depend on time"),
        "{}",
        stderr(&output)
    );
    // One of them is what the other is not.
    let (_folder, path) = model_file(&text.replace("b = \"1 + time\"", "b = 2.0"));
    let found = evolved(&path);
    assert!(found["energy_drift"].is_null() && found["estimated"].as_f64().unwrap() > 0.0);
    // H(t) = f(t) H₀ leaves ⟨H₀⟩ as it is.
    for (energy, time) in numbers(&found["energy"]).iter().zip(numbers(&found["times"])) {
        assert!((energy + 1.5 * time).abs() < 1e-7, "{energy} at {time}");
    }
}

/// A tolerance below rounding is flagged.
#[test]
fn a_tolerance_that_is_not_reached_ends_with_three() {
    let (_folder, path) = model_file(&format!("{CHAIN}[evolve]\n{NEEL}until = 50.0\ntimes = 3\ntolerance = 1e-15\n"));
    let output = run(&["evolve", path.to_str().unwrap(), "--device", "cpu", "--json"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let record: Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_eq!(record["converged"], false);
    assert!(record["warnings"][0].as_str().unwrap().contains("above the tolerance"), "{}", record["warnings"]);
}

/// The same state by local states, by another file and by its vectors; the lowest of a degenerate level is refused.
#[test]
fn starts_of_all_kinds_give_the_same_state() {
    let evolve = |start: &str| format!("{CHAIN}[evolve]\nstart = {start}\nuntil = 2.0\ntimes = 5\nrecord = [\"sz\"]\n");
    let (folder, path) = model_file(&evolve("{ up = [0, 2, 4], down = [1, 3, 5] }"));
    let by_sites = evolved(&path);
    std::fs::write(&path, evolve("{ levels = [1, 0, 1, 0, 1, 0] }")).unwrap();
    let by_levels = evolved(&path);
    assert_eq!(by_sites["overlap"], by_levels["overlap"]);
    // Fields that no spin resists.
    let field = CHAIN
        .replace("jxy = 1.0", "jxy = 0.0")
        .replace("jz = 0.7", "jz = 0.0\nfield = [-1.0, 1.0, -1.0, 1.0, -1.0, 1.0]");
    let before = folder.path().join("before.toml");
    std::fs::write(&before, &field).unwrap();
    std::fs::write(&path, evolve("{ model = \"before.toml\" }")).unwrap();
    let by_model = evolved(&path);
    let output = run(&[
        "solve",
        before.to_str().unwrap(),
        "--device",
        "cpu",
        "--vectors",
        "--output",
        folder.path().join("solved").to_str().unwrap(),
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    std::fs::write(&path, evolve("{ vectors = \"solved/vectors.npz\" }")).unwrap();
    let by_vectors = evolved(&path);
    for other in [&by_model, &by_vectors] {
        for key in ["echo", "energy"] {
            let [own, there] = [&by_sites, other].map(|record| numbers(&record[key]));
            assert!(own.iter().zip(&there).all(|(a, b)| (a - b).abs() < 1e-9), "{key}: {own:?} {there:?}");
        }
    }
    std::fs::write(&before, CHAIN.replace("jxy = 1.0", "jxy = 0.0").replace("jz = 0.7", "jz = 1.0")).unwrap();
    std::fs::write(&path, evolve("{ model = \"before.toml\" }")).unwrap();
    let output = run(&["evolve", path.to_str().unwrap(), "--device", "cpu"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(words(&stderr(&output)).contains("has 2 states, and what follows depends on which"), "{}", stderr(&output));
    std::fs::write(&path, evolve("{ model = \"before.toml\", state = 1 }")).unwrap();
    let named = evolved(&path);
    assert!(named["warnings"][0].as_str().unwrap().contains("one of 2 of its level"), "{}", named["warnings"]);
    std::fs::write(&before, CHAIN.replace("two_sz = 0", "two_sz = 2")).unwrap();
    std::fs::write(&path, evolve("{ model = \"before.toml\" }")).unwrap();
    let output = run(&["evolve", path.to_str().unwrap(), "--device", "cpu"]);
    assert!(words(&stderr(&output)).contains("give both the same [sector]"), "{}", stderr(&output));
}

/// Free fermions: orbitals and the ground state at U = 0 are the same start, and U = 0 leaves it as it is.
#[test]
fn the_lowest_orbitals_are_the_ground_state_without_interactions() {
    let electrons = |u: f64| {
        let lattice = "[lattice]\nkind = \"chain\"\nsize = 5\nboundary = \"open\"\n[sector]\nup = 3\ndown = 2\n";
        format!("[model]\nname = \"hubbard\"\nt = 1.0\nu = {u:?}\npotential = [0.3, 0.0, -0.2, 0.0, 0.1]\n{lattice}")
    };
    let evolve = |u: f64, start: &str| format!("{}[evolve]\nstart = {start}\nuntil = 1.0\ntimes = 3\n", electrons(u));
    let (folder, path) = model_file(&evolve(6.0, "{ orbitals = \"lowest\" }"));
    let by_orbitals = evolved(&path);
    std::fs::write(folder.path().join("free.toml"), electrons(0.0) + "[solve]\ntolerance = 1e-13\n").unwrap();
    std::fs::write(&path, evolve(6.0, "{ model = \"free.toml\" }")).unwrap();
    let by_model = evolved(&path);
    for key in ["echo", "energy"] {
        let [own, there] = [&by_orbitals, &by_model].map(|record| numbers(&record[key]));
        assert!(own.iter().zip(&there).all(|(a, b)| (a - b).abs() < 1e-8), "{key}: {own:?} {there:?}");
    }
    std::fs::write(&path, evolve(0.0, "{ orbitals = \"lowest\" }")).unwrap();
    assert!(numbers(&evolved(&path)["echo"]).iter().all(|echo| (echo - 1.0).abs() < 1e-10));
}

/// H(t) within a sector of momentum is H(t) without it; a symmetry that some H(t) has not is refused with the term.
#[test]
fn h_of_time_evolves_in_symmetry_sectors() {
    let electrons = |symmetry: &str, u: &str, pulse: &str| {
        format!(
            "[model]\nname = \"hubbard\"\nt = 1.0\nu = {u}\n[lattice]\nkind = \"chain\"\nsize = 6\nboundary = \"periodic\"\n\
             [sector]\nup = 3\ndown = 3\n{symmetry}[evolve]\nstart = {{ orbitals = \"lowest\" }}\nuntil = 1.5\ntimes = 4\n\
             record = [\"energy\", \"echo\", \"double_occupancy\"]\n{pulse}"
        )
    };
    let pulse = "vector_potential = { form = \"pulse\", a0 = 0.4, omega = 3.0, t0 = 0.7, width = 0.4 }\n";
    let (_folder, path) = model_file(&electrons("", "\"2.0 + sin(2.0 * time)\"", pulse));
    let plain = evolved(&path);
    for symmetry in ["k = 0", "exchange = -1", "k = 0\nexchange = -1"] {
        let text = electrons(&format!("[symmetry]\n{symmetry}\n"), "\"2.0 + sin(2.0 * time)\"", pulse);
        std::fs::write(&path, text).unwrap();
        let within = evolved(&path);
        assert!(within["states"].as_u64() < plain["states"].as_u64());
        for key in ["energy", "echo"] {
            let [own, there] = [&within, &plain].map(|record| numbers(&record[key]));
            assert!(own.iter().zip(&there).all(|(a, b)| (a - b).abs() < 1e-6), "{symmetry}, {key}: {own:?} {there:?}");
        }
    }
    for (symmetry, u, said) in [
        ("reflection = 1", "4.0", vec!["reflection", "leave it out, or make the couplings symmetric"]),
        ("k = 1", "4.0", vec!["is not in the sector"]),
    ] {
        std::fs::write(&path, electrons(&format!("[symmetry]\n{symmetry}\n"), u, pulse)).unwrap();
        let output = run(&["evolve", path.to_str().unwrap(), "--device", "cpu"]);
        assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
        for word in said {
            assert!(words(&stderr(&output)).contains(word), "{}", stderr(&output));
        }
    }
}

/// An evolution that goes on from a checkpoint is the one that was not stopped; that of another file is refused by what differs.
#[test]
fn evolutions_go_on_from_checkpoints() {
    // More states than a basis has vectors, so that there are several steps.
    let (chain, start) = (CHAIN.replace("size = 6", "size = 10"), "start = { up = [0, 2, 4, 6, 8] }\n");
    let text = format!("{chain}[evolve]\n{start}until = 30.0\ntimes = 31\nrecord = [\"echo\", \"sz\", \"a\"]\n");
    let text = format!("{text}[observables]\na = \"sz(0)\"\n");
    let (folder, path) = model_file(&text);
    let saved = folder.path().join("saved");
    let run_of = |more: &[&str]| {
        let fixed = ["evolve", path.to_str().unwrap(), "--device", "cpu", "--json"];
        run(&[&fixed[..], more].concat())
    };
    let kept = ["--checkpoint", saved.to_str().unwrap(), "--checkpoint-every", "0"];
    let curves = |output: &std::process::Output| -> Value {
        assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
        let record: Value = serde_json::from_str(stdout(output)).unwrap();
        serde_json::json!([record["echo"], record["overlap"], record["averages"], record["bound"], record["steps"]])
    };
    let wanted = curves(&run_of(&[]));
    assert_eq!(curves(&run_of(&kept)), wanted);
    let mut states: Vec<_> = std::fs::read_dir(&saved).unwrap().map(|entry| entry.unwrap().path()).collect();
    states.retain(|path| path.is_dir());
    states.sort();
    std::fs::remove_dir_all(states.pop().unwrap()).unwrap();
    assert!(!states.is_empty(), "two states are kept");
    assert_eq!(curves(&run_of(&[&kept[..], &["--resume"]].concat())), wanted);
    for (from, to, said) in [
        ("times = 31", "times = 61", "its times is"),
        ("jz = 0.7", "jz = 0.8", "its problem is"),
        ("up = [0, 2, 4, 6, 8]", "up = [1, 3, 5, 7, 9]", "its start is"),
        ("sz(0)", "sz(1)", "its observables' operators is"),
    ] {
        std::fs::write(&path, text.replace(from, to)).unwrap();
        let refused = run_of(&[&kept[..], &["--resume"]].concat());
        assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
        assert!(words(&stderr(&refused)).contains(said), "{}", stderr(&refused));
    }
}

/// Imaginary time ends in the ground state.
#[test]
fn imaginary_time_ends_in_the_ground_state() {
    let (_folder, path) = model_file(&format!(
        "{CHAIN}[evolve]\n{NEEL}until = 40.0\ntimes = 3\nimaginary = true\nrecord = [\"energy\"]\n"
    ));
    let found = evolved(&path);
    let (_folder, path) = model_file(CHAIN);
    let output = run(&["solve", path.to_str().unwrap(), "--device", "cpu", "--json"]);
    let solved: Value = serde_json::from_str(stdout(&output)).unwrap();
    let energy = solved["energies"][0].as_f64().unwrap();
    assert!((found["energy"][2].as_f64().unwrap() - energy).abs() < 1e-9, "{} {energy}", found["energy"]);
}

/// The files have what the report has; a solve of the file says which verb evolves it.
#[test]
fn files_hold_the_curves() {
    let keys = "until = 1.0\ntimes = 11\nrecord = [\"energy\", \"sz\", \"szsz\"]\nentropy = [[0, 1, 2]]\n";
    let (folder, path) = model_file(&format!("{CHAIN}[evolve]\n{NEEL}{keys}"));
    let out = folder.path().join("out");
    let output = run(&["evolve", path.to_str().unwrap(), "--device", "cpu", "--output", out.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("energy drift"), "{}", stdout(&output));
    let record: Value = serde_json::from_str(&std::fs::read_to_string(out.join("report.json")).unwrap()).unwrap();
    let table = std::fs::read_to_string(out.join("evolution.csv")).unwrap();
    assert!(table.starts_with("t,energy,echo,sz_0,sz_1"), "{}", table.lines().next().unwrap());
    let row: Vec<f64> = table.lines().nth(4).unwrap().split(',').map(|cell| cell.parse().unwrap()).collect();
    assert_eq!(row[2], record["echo"][3].as_f64().unwrap());
    let mut arrays = ndarray_npy::NpzReader::new(std::fs::File::open(out.join("evolution.npz")).unwrap()).unwrap();
    let sz: ndarray::Array2<f64> = arrays.by_name("sz").unwrap();
    assert_eq!((sz.dim(), sz[[3, 0]]), ((11, 6), row[3]));
    let pairs: ndarray::Array3<f64> = arrays.by_name("szsz").unwrap();
    assert_eq!(pairs.dim(), (11, 6, 6));
    let entropy: ndarray::Array1<f64> = arrays.by_name("S_0_1_2").unwrap();
    assert!(entropy[0].abs() < 1e-14 && entropy[10] > 0.1, "{entropy}");
    let picture = std::fs::read_to_string(out.join("evolution.svg")).unwrap();
    assert!(picture.contains("time evolution") && picture.contains("sites 0 1 2"));
    let solved = run(&["solve", path.to_str().unwrap(), "--device", "cpu"]);
    assert!(stdout(&solved).contains("`eigenforge evolve` makes its curves"), "{}", stdout(&solved));
}
