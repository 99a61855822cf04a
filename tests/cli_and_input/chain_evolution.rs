//! `eigenforge evolve` of a file with `[dmrg]`: beside exact evolution, bad input by name, runs that stop, starts of all kinds; and written
//! states as starts of `solve`.

use super::command::{check_refusals, model_file, run, stderr, stdout, words};
use serde_json::Value;
use std::path::Path;

const CHAIN: &str = "[model]\nname = \"xxz\"\njxy = 1.0\njz = 0.7\n[lattice]\nkind = \"chain\"\nsize = 6\nboundary = \"open\"\n\
                     [sector]\ntwo_sz = 0\n";
const NEEL: &str = "start = { up = [0, 2, 4] }\n";

fn text_of(model: &str, dmrg: &str, evolve: &str) -> String {
    let dmrg = if dmrg.is_empty() { String::new() } else { format!("[dmrg]\n{dmrg}\n") };
    format!("{model}{dmrg}[evolve]\n{evolve}")
}

fn evolved(path: &Path, code: i32) -> Value {
    let output = run(&["evolve", path.to_str().unwrap(), "--device", "cpu", "--json"]);
    assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
    serde_json::from_str(stdout(&output)).unwrap()
}

fn solved(path: &Path, more: &[&str]) -> Value {
    let output = run(&[&["solve", path.to_str().unwrap(), "--device", "cpu", "--json"], more].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    serde_json::from_str(stdout(&output)).unwrap()
}

/// All numbers of a value, in its order.
fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(list) => list.iter().flat_map(numbers).collect(),
        Value::Object(map) => map.values().flat_map(numbers).collect(),
        value => value.as_f64().into_iter().collect(),
    }
}

fn distance(a: &Value, b: &Value) -> f64 {
    let (a, b) = (numbers(a), numbers(b));
    assert_eq!(a.len(), b.len());
    a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// Every recorded number beside that of exact vectors, with two sites and with one whose bonds grow: neighbours, distant terms, a ring with
/// flux, spin 1, bosons, no conserved charge.
#[test]
fn chains_move_as_exact_vectors_do() {
    let terms = |site: &str, h: &str, more: &str, sector: &str| {
        format!(
            "[model]\nname = \"terms\"\nsite = \"{site}\"\nH = \"{h}\"\n[lattice]\nkind = \"chain\"\nsize = 6\nboundary = \"open\"\n{more}\
             [sector]\n{sector}\n"
        )
    };
    let hop3 = "sum(i in 0..3; cdag(i, Up) * c(i + 3, Up) + h.c.) + 0.5 * sum(i in 0..3; n(i, Up) * n(i + 3, Down)) \
                + sum(i in 0..4; (0.3 + 0.4 * I) * cdag(i, Down) * c(i + 2, Down) + h.c.)";
    let cases = [
        (CHAIN.to_string(), NEEL, "\"sz\", \"szsz\""),
        (
            terms("electron", hop3, "", "up = 2\ndown = 2"),
            "start = { up = [0, 1], down = [2, 3] }\n",
            "\"n_up\", \"n_dn\"",
        ),
        (
            terms(
                "spin 1",
                "sum(i in 0..5; sdots(i, i + 1)) + 0.3 * sum(i in 0..4; sdots(i, i + 2))",
                "",
                "two_sz = 0",
            ),
            "start = { levels = [2, 0, 1, 2, 0, 1] }\n",
            "\"sz\"",
        ),
        (
            terms(
                "spin 1/2",
                "sum(i in 0..5; sz(i) * sz(i + 1)) + 0.8 * sum(i in sites; sx(i)) + 0.4 * sy(0) * sx(3)",
                "",
                "",
            ),
            "start = { up = [0, 3] }\n",
            "\"sz\"",
        ),
    ];
    for (number, (model, start, record)) in cases.into_iter().enumerate() {
        let keys = format!(
            "{start}until = 1.0\ntimes = [0.0, 0.35, 1.0]\nrecord = [\"energy\", \"echo\", {record}]\nentropy = [[0, 1, 2], [5]]\n"
        );
        let (_folder, path) = model_file(&text_of(&model, "", &keys));
        let exact = evolved(&path, 0);
        // A second each: one of two cases with both.
        for update in
            ["two-site", "expanding"].into_iter().skip(usize::from(number % 4 == 3)).take(1 + (number + 1) % 2)
        {
            // What grown bonds lack is estimated from random rows, from a product of local states by far too much.
            let (tolerance, discarded, bound) =
                if update == "two-site" { (1e-9, "", 1e-3) } else { (1e-3, "discarded = 1e-14\n", 3e-2) };
            let dmrg = format!("states = 64\n{discarded}update = \"{update}\"");
            let (_folder, path) =
                model_file(&text_of(&model, &dmrg, &format!("{keys}step = 0.02\ntolerance = {tolerance:e}\n")));
            let chain = evolved(&path, 0);
            assert_eq!(chain["chain"]["update"], update);
            let offs = [("energy", 1e-9), ("overlap", 2e-5), ("echo", 2e-5), ("averages", 2e-5), ("entropies", 2e-4)];
            for (key, off) in offs {
                let found = distance(&exact[key], &chain[key]);
                assert!(found < off, "{model} {update}: {key} is off by {found:e}; {}", chain["chain"]);
            }
            assert!(chain["bound"].as_f64().unwrap() < bound, "{model} {update}: {}", chain["bound"]);
            assert_eq!(chain["chain"]["cut_entropies"][0].as_array().unwrap().len(), 5);
        }
    }
}

/// H(t) of texts and of a vector potential beside exact vectors, also through a pulse shorter than a step.
#[test]
fn chains_move_under_h_of_t_as_exact_vectors_do() {
    let hubbard = "[model]\nname = \"hubbard\"\nt = 1.0\nu = \"3.0 * time\"\n[lattice]\nkind = \"chain\"\nsize = 5\nboundary = \"open\"\n\
                   [sector]\nup = 2\ndown = 2\n";
    let electrons = "start = { up = [0, 2], down = [1, 3] }\n";
    let light = "vector_potential = { form = \"pulse\", a0 = 0.8, omega = 6.0, t0 = 0.5, width = 0.2 }\n";
    let cases = [
        (CHAIN.replace("jz = 0.7", "jz = \"0.7 + sin(3.0 * time)\""), NEEL.to_string(), "\"sz\""),
        (
            CHAIN.replace("jz = 0.7", "jz = \"0.7 + 90.0 * exp(-((time - 0.513) / 0.004)^2)\""),
            NEEL.to_string(),
            "\"sz\"",
        ),
        (hubbard.to_string(), format!("{electrons}{light}"), "\"n_up\", \"n_dn\""),
    ];
    for (model, start, record) in cases {
        let keys = format!("{start}until = 1.0\ntimes = [0.0, 0.35, 1.0]\nrecord = [\"energy\", \"echo\", {record}]\n");
        let (_folder, path) = model_file(&text_of(&model, "", &keys));
        let exact = evolved(&path, 0);
        for update in ["two-site", "expanding"] {
            let dmrg = format!("states = 64\ndiscarded = 1e-14\nupdate = \"{update}\"");
            let (_folder, path) =
                model_file(&text_of(&model, &dmrg, &format!("{keys}step = 0.02\ntolerance = 1e-3\n")));
            let chain = evolved(&path, 0);
            assert!(chain["energy_drift"].is_null());
            // Observables of length up to 1 are off by at most twice what ψ is.
            let bound = 2.0 * chain["bound"].as_f64().unwrap() + 1e-6;
            for (key, most) in [("energy", 1e-2), ("overlap", 1e-3), ("echo", 1e-3), ("averages", 1e-3)] {
                let found = distance(&exact[key], &chain[key]);
                let off = if key == "energy" { most } else { bound.min(most) };
                assert!(found < off, "{model} {update}: {key} is off by {found:e}; {}", chain["chain"]);
            }
        }
    }
}

#[test]
fn imaginary_time_ends_in_the_ground_state_of_a_chain() {
    let (_folder, path) = model_file(&text_of(
        CHAIN,
        "states = 16\ndiscarded = 1e-16",
        &format!(
            "{NEEL}until = 30.0\ntimes = 3\nstep = 0.5\ntolerance = 1e-4\nimaginary = true\nrecord = [\"energy\"]\n"
        ),
    ));
    let found = evolved(&path, 0);
    let (_folder, path) = model_file(CHAIN);
    let energy = solved(&path, &[])["energies"][0].as_f64().unwrap();
    assert!((found["energy"][2].as_f64().unwrap() - energy).abs() < 1e-9, "{} {energy}", found["energy"]);
    // ln ‖exp(−Ht) ψ(0)‖ = −E₀ t + ln |⟨0|ψ(0)⟩| late.
    let log: Vec<f64> = numbers(&found["log_norm"]);
    assert!(((log[2] - log[1]) / 15.0 + energy).abs() < 1e-4, "{log:?} {energy}");
}

#[test]
fn what_is_wrong_of_a_chain_is_said() {
    let chain = |keys: &str| text_of(CHAIN, "states = 8", keys);
    let cases = [
        (format!("{CHAIN}[dmrg]\nstates = 8\n"), vec!["the section [evolve] is missing"]),
        (chain("until = 1.0\n"), vec!["`start` is missing from [evolve]"]),
        (chain(NEEL), vec!["`until` is missing from [evolve]"]),
        (chain(&format!("{NEEL}until = 1.0\nstep = 0.0\n")), vec!["`step` should be above 0", "found 0"]),
        (
            text_of(CHAIN, "", &format!("{NEEL}until = 1.0\nstep = 0.1\n")),
            vec!["`step` should be left out without [dmrg]"],
        ),
        (
            chain("start = { up = [0, 2] }\nuntil = 1.0\n"),
            vec!["the start: it should be a state with 2Sz = 0, found one with 2Sz = -2"],
        ),
        (chain("start = { levels = [1, 0] }\nuntil = 1.0\n"), vec!["a state for each of the 6 sites, found 2"]),
        (
            chain("start = { levels = [3, 0, 1, 0, 1, 0] }\nuntil = 1.0\n"),
            vec!["a state from 0 to 1 at site 0, found state 3"],
        ),
        (chain("start = { orbitals = \"lowest\" }\nuntil = 1.0\n"), vec!["begin from the model without interactions"]),
        (chain("start = { vectors = \"nothing.npz\" }\nuntil = 1.0\n"), vec!["the start", "nothing.npz"]),
        (
            chain(&format!("{NEEL}until = 1.0\nentropy = [[0, 2]]\n")),
            vec!["`entropy` should be the first or the last sites of the chain", "found [0, 2]"],
        ),
        (
            chain(&format!("{NEEL}until = 1.0\nvector_potential = {{ form = \"dc\", a0 = 0.3 }}\nimaginary = true\n")),
            vec!["imaginary time is of a constant H"],
        ),
        (
            chain(&format!("{NEEL}until = 1.0\n")).replace("jz = 0.7", "jz = \"1.0 / (time - 0.5)\""),
            vec!["it is inf at time = 0.5"],
        ),
        (chain(&format!("{NEEL}until = 1.0\n")).replace("jz = 0.7", "jz = \"0.7 + t\""), vec!["`t` is the hopping"]),
        (chain(&format!("{NEEL}until = 1.0\nrecord = [\"szz\"]\n")), vec!["`record` should be names among", "szz"]),
    ];
    check_refusals("evolve", &cases);
}

/// Too few states end the run where the weight passes the tolerance; a long step is flagged; what was found is kept.
#[test]
fn runs_that_lose_too_much_say_so() {
    let keys = format!("{NEEL}until = 4.0\ntimes = 9\ntolerance = 1e-6\n");
    let (_folder, path) = model_file(&text_of(CHAIN, "states = 3", &keys));
    let found = evolved(&path, 3);
    assert!(found["warnings"][0].as_str().unwrap().contains("stopped at t ="), "{}", found["warnings"]);
    let (times, stopped) = (numbers(&found["times"]), found["chain"]["stop_time"].as_f64().unwrap());
    assert!(times.len() > 1 && times.len() < 10 && *times.last().unwrap() == stopped, "{times:?} {stopped}");
    // A first step of which the shortest part is long.
    let keys = format!("{NEEL}until = 16.0\ntimes = 2\nstep = 16.0\n");
    let (_folder, path) = model_file(&text_of(CHAIN, "states = 20", &keys));
    let found = evolved(&path, 3);
    assert!(found["warnings"][0].as_str().unwrap().contains("take a smaller `step`"), "{}", found["warnings"]);
}

/// The state at the end is a start: two runs one after the other are one; `overlap` has the echo; a search for real states refuses it.
#[test]
fn a_state_at_the_end_is_written() {
    let keys = |start: &str, until: f64| {
        text_of(
            CHAIN,
            "states = 16",
            &format!("start = {start}\nuntil = {until:?}\ntimes = 2\nstep = 0.05\nrecord = [\"sz\"]\n"),
        )
    };
    let neel = "{ up = [0, 2, 4] }";
    let (folder, path) = model_file(&keys(neel, 1.0));
    let whole = evolved(&path, 0);
    let write = |text: String, to: &str| {
        std::fs::write(&path, text).unwrap();
        let to = folder.path().join(to);
        let output = run(&["evolve", path.to_str().unwrap(), "--vectors", "--output", to.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        to
    };
    let half = write(keys(neel, 0.5), "half");
    let next = write(keys("{ vectors = \"half/mps.npz\" }", 0.5), "next");
    let report: Value = serde_json::from_str(&std::fs::read_to_string(next.join("report.json")).unwrap()).unwrap();
    let last = |report: &Value| report["averages"][0]["values"][1].clone();
    assert!(distance(&last(&whole), &last(&report)) < 1e-6, "{} {}", last(&whole), last(&report));
    let output = run(&["overlap", half.to_str().unwrap(), next.to_str().unwrap(), "--json"]);
    let found: Value = serde_json::from_str(stdout(&output)).unwrap();
    // ⟨ψ(½)|ψ(1)⟩ = ⟨ψ(0)|ψ(½)⟩.
    assert!((numbers(&found["weights"])[0] - numbers(&report["echo"])[1]).abs() < 1e-8, "{found} {report}");
    std::fs::write(&path, format!("{CHAIN}[dmrg]\nstates = 16\nstart = {{ vectors = \"half/mps.npz\" }}\n")).unwrap();
    let output = run(&["solve", path.to_str().unwrap(), "--device", "cpu"]);
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    assert!(words(&stderr(&output)).contains("a real state, found a complex one"), "{}", stderr(&output));
}

/// The same state by local states, by another file and by a written state, which `solve` also begins from and reads off.
#[test]
fn written_states_are_starts() {
    let evolve = |start: &str| {
        text_of(CHAIN, "states = 16", &format!("start = {start}\nuntil = 0.5\ntimes = 3\nrecord = [\"sz\"]\n"))
    };
    let (folder, path) = model_file(&evolve("{ levels = [1, 0, 1, 0, 1, 0] }"));
    let by_levels = evolved(&path, 0);
    let field = CHAIN
        .replace("jxy = 1.0", "jxy = 1e-9")
        .replace("jz = 0.7", "jz = 0.0\nfield = [-1.0, 1.0, -1.0, 1.0, -1.0, 1.0]");
    let before = folder.path().join("before.toml");
    std::fs::write(&before, format!("{field}[dmrg]\nstates = 16\n")).unwrap();
    std::fs::write(&path, evolve("{ model = \"before.toml\" }")).unwrap();
    let by_model = evolved(&path, 0);
    let written = solved(&before, &["--vectors", "--output", folder.path().join("solved").to_str().unwrap()]);
    std::fs::write(&path, evolve("{ vectors = \"solved/mps.npz\" }")).unwrap();
    let by_vectors = evolved(&path, 0);
    for other in [&by_model, &by_vectors] {
        for key in ["echo", "energy", "averages"] {
            assert!(distance(&by_levels[key], &other[key]) < 1e-6, "{key}: {} {}", by_levels[key], other[key]);
        }
    }
    // Averages of a written state: those of its own run.
    let own = |keys: &str| format!("{field}[dmrg]\nstates = 16\nstart = {{ vectors = \"solved/mps.npz\" }}\n{keys}");
    std::fs::write(&path, own("sweeps = 0\n")).unwrap();
    let read = solved(&path, &[]);
    assert!(distance(&read["energies"], &written["energies"]) < 1e-10);
    assert!(distance(&read["observables"], &written["observables"]) < 1e-9);
    std::fs::write(&path, own("")).unwrap();
    assert!(distance(&solved(&path, &[])["energies"], &written["energies"]) < 1e-10);
    let cases = [
        (own("order = [1, 0, 2, 3, 4, 5]\n"), "sites in the order [1, 0, 2, 3, 4, 5], found [0, 1, 2, 3, 4, 5]"),
        (own("").replace("two_sz = 0", "two_sz = 2"), "a state with 2Sz = 2"),
        (
            own("").replace("size = 6", "size = 5").replace("two_sz = 0", "two_sz = 1").replace(", 1.0]", "]"),
            "a chain of 5 sites, found one of 6",
        ),
        (own("mode = \"infinite\"\n"), "mode should be \"finite\""),
        (own("").replace("mps.npz\"", "mps.npz\", state = 1"), "state = 1"),
    ];
    for (text, said) in cases {
        std::fs::write(&path, text).unwrap();
        let output = run(&["solve", path.to_str().unwrap(), "--device", "cpu"]);
        assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
        assert!(words(&stderr(&output)).contains(said), "{said}: {}", stderr(&output));
    }
}
