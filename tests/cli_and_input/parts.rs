//! Other states than the lowest: `which`, `near`, `states = "all"`, level statistics, overlaps of two runs, density matrices as files. Each
//! beside the whole spectrum, whose own moments are those of H as a matrix.

use super::command::{check_refusals, run, stderr, stdout, words};
use super::gallery::root;
use ndarray::{Array1, Array2};
use ndarray_npy::NpzReader;
use num_complex::Complex64;
use serde_json::Value;
use std::path::Path;

/// Models of many kinds with the states of their sectors: degenerate levels, random fields, electrons, complex H, momenta, spins 1, a molecule.
const MODELS: [(&str, &str, usize); 7] = [
    (
        "ring",
        "[model]\nname = \"heisenberg\"\nj = 1.0\n[lattice]\nkind = \"chain\"\nsize = 10\nboundary = \"periodic\"\n[sector]\ntwo_sz = 0\n",
        252,
    ),
    (
        "fields",
        "[model]\nname = \"xxz\"\njxy = 0.8\njz = -1.3\nfield = [0.3, -0.2, 0.7, 0.1, -0.9, 0.45, 0.05, -0.33, 0.21]\n[lattice]\n\
         kind = \"square\"\nsize = [3, 3]\n[sector]\ntwo_sz = 1\n",
        126,
    ),
    (
        "electrons",
        "[model]\nname = \"hubbard\"\nt = 1.0\nu = [4.0, 3.0, 5.0, 2.5, 4.5, 3.5]\nmu = 0.7\n[lattice]\nkind = \"ladder\"\nsize = [3, 2]\n\
         [sector]\nup = 3\ndown = 2\n",
        300,
    ),
    (
        "phases",
        "[model]\nname = \"terms\"\nsite = \"electron\"\nH = \"\"\"sum(<i, j> in bonds, s in [Up, Down]; -(exp(0.4 * I) * cdag(i, s) * c(j, s) + h.c.)) \
         + sum(i in sites; 3.0 * n(i, Up) * n(i, Down))\"\"\"\n[lattice]\nkind = \"chain\"\nsize = 5\nboundary = \"periodic\"\n[sector]\nup = 2\n\
         down = 2\n",
        100,
    ),
    (
        "momentum",
        "[model]\nname = \"heisenberg\"\nj = 1.0\n[lattice]\nkind = \"chain\"\nsize = 12\nboundary = \"periodic\"\nfurther = [0.4]\n[sector]\n\
         two_sz = 0\n[symmetry]\nk = 1\n",
        75,
    ),
    (
        "spins one",
        "[model]\nname = \"heisenberg\"\nspin = 1\nj = 1.0\nsingle_ion = 0.3\n[lattice]\nkind = \"chain\"\nsize = 5\n[sector]\ntwo_sz = 0\n",
        51,
    ),
    ("molecule", "[ci]\nfcidump = \"tests/data/ci/H2O_sto3g_0.96.FCIDUMP\"\n", 441),
];

/// Runs a text with a `[solve]` on a device and returns the report.
fn solved(folder: &Path, text: &str, solve: &str, more: &[&str]) -> Value {
    let path = folder.join("model.toml");
    let text = text.replace("tests/data", &root().join("tests/data").display().to_string());
    std::fs::write(&path, format!("{text}[solve]\n{solve}\n")).unwrap();
    let output = run(&[&["solve", path.to_str().unwrap(), "--json"], more].concat());
    assert_eq!(output.status.code(), Some(0), "{text}{solve}\n{}{}", stdout(&output), stderr(&output));
    serde_json::from_str(stdout(&output)).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

/// Energies and levels of a report are those of the whole spectrum in this order; the last level may be cut.
fn check(name: &str, report: &Value, spectrum: &[f64], key: impl Fn(f64) -> f64, states: usize) {
    let context = format!("{name}: {} {}", report["energies"], report["levels"]);
    let mut levels: Vec<(f64, usize)> = Vec::new();
    for energy in spectrum {
        match levels.last_mut() {
            Some((last, count)) if energy - *last < 1e-8 => *count += 1,
            _ => levels.push((*energy, 1)),
        }
    }
    levels.sort_by(|a, b| key(a.0).total_cmp(&key(b.0)));
    let mut left = states;
    for (found, (energy, count)) in report["levels"].as_array().unwrap().iter().zip(&levels) {
        assert!((found["energy"].as_f64().unwrap() - energy).abs() < 1e-8, "{energy} in {context}");
        assert_eq!(found["multiplicity"].as_u64().unwrap() as usize, *count, "{context}");
        assert!(
            found["complete"] == true && found["returned"].as_u64().unwrap() as usize == left.min(*count),
            "{context}"
        );
        left -= left.min(*count);
    }
    assert_eq!((left, report["energies"].as_array().unwrap().len()), (0, states), "{context}");
    let limit = report["tolerance"].as_f64().unwrap() * report["norm"].as_f64().unwrap();
    assert!(numbers(&report["residuals"]).iter().all(|residual| *residual <= 1.01 * limit), "{context}");
}

/// On the cores; the middle of the spectrum where two levels are not equally far by symmetry.
#[test]
fn other_states_of_models_of_every_kind_are_those_of_the_whole_spectrum() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text, dimension) in MODELS {
        let solve = |solve: &str| solved(folder.path(), text, solve, &["--device", "cpu"]);
        let whole = solve("states = \"all\"");
        let spectrum = numbers(&whole["energies"]);
        assert_eq!((spectrum.len(), whole["dimension"].as_u64().unwrap() as usize), (dimension, dimension), "{name}");
        assert!(spectrum.is_sorted() && whole["solver"] == "dense", "{name}");
        check(name, &whole, &spectrum, |energy| energy, dimension);
        let reversed = solve("states = \"all\"\nwhich = \"highest\"");
        check(name, &reversed, &spectrum, |energy| -energy, dimension);
        for solver in if name == "molecule" { ["davidson", "lobpcg"] } else { ["lanczos", "lobpcg"] } {
            let found = solve(&format!("solver = \"{solver}\"\nwhich = \"highest\"\nstates = 5"));
            check(&format!("{name} {solver}"), &found, &spectrum, |energy| -energy, 5);
            assert_eq!(found["which"], "highest");
        }
        let (low, high) = (spectrum[0], spectrum[dimension - 1]);
        // A filter takes thousands of multiplies: in the smaller sectors.
        let near = [("auto", 0.77, 3), ("lanczos", 0.04, 3), ("lobpcg", -0.2, 2)];
        for (solver, part, states) in near.into_iter().take(if dimension > 200 { 1 } else { 3 }) {
            let near = low + part * (high - low) + 0.00123;
            let found = solve(&format!("solver = \"{solver}\"\nnear = {near:?}\nstates = {states}"));
            check(&format!("{name} {solver} near {near}"), &found, &spectrum, |energy| (energy - near).abs(), states);
            assert_eq!(found["which"]["nearest"].as_f64(), Some(near));
        }
    }
}

/// The same numbers by the generated texts.
#[test]
fn other_states_on_the_simulated_card_are_those_of_the_cores() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text, _) in [MODELS[1], MODELS[5]] {
        let whole = numbers(&solved(folder.path(), text, "states = \"all\"", &["--device", "cpu"])["energies"]);
        let solve = |solve: &str| solved(folder.path(), text, solve, &["--device", "sim"]);
        for solver in ["lanczos", "davidson"] {
            let found = solve(&format!("solver = \"{solver}\"\nwhich = \"highest\"\nstates = 2"));
            check(name, &found, &whole, |energy| -energy, 2);
        }
        let near = whole[0] + 0.3;
        let found = solve(&format!("solver = \"lanczos\"\nnear = {near:?}\nstates = 2"));
        check(name, &found, &whole, |energy| (energy - near).abs(), 2);
    }
}

/// The highest state of a ferromagnet is that of the antiferromagnet with its sign turned; averages are over it.
#[test]
fn averages_and_sectors_begin_at_the_highest_level() {
    let folder = tempfile::tempdir().unwrap();
    let (_, ring, _) = MODELS[0];
    let lowest = solved(folder.path(), ring, "states = 2", &["--device", "cpu"]);
    let turned = ring.replace("j = 1.0", "j = -1.0");
    let highest = solved(folder.path(), &turned, "states = 2\nwhich = \"highest\"", &["--device", "cpu"]);
    for (low, high) in numbers(&lowest["energies"]).iter().zip(numbers(&highest["energies"])) {
        assert!((low + high).abs() < 1e-9, "{low} {high}");
    }
    let correlation = |report: &Value| report["observables"]["sdots"][0][1].as_f64().unwrap();
    assert!((correlation(&lowest) - correlation(&highest)).abs() < 1e-7);
    assert_eq!(highest["levels"][0]["spin"]["s"], lowest["levels"][0]["spin"]["s"]);
    let path = folder.path().join("model.toml");
    let output = run(&["solve", path.to_str().unwrap(), "--device", "cpu", "--sectors", "all", "--json"]);
    let table: Value = serde_json::from_str(stdout(&output)).unwrap();
    let levels = table["levels"].as_array().unwrap();
    assert!((levels[0]["energy"].as_f64().unwrap() + numbers(&lowest["energies"])[0]).abs() < 1e-9, "{levels:?}");
    assert!(levels.windows(2).all(|pair| pair[0]["energy"].as_f64() > pair[1]["energy"].as_f64()), "{levels:?}");
    let text = run(&["solve", path.to_str().unwrap(), "--device", "cpu", "--sectors", "all"]);
    assert!(stdout(&text).contains("highest levels of the whole sector"), "{}", stdout(&text));
}

/// A chain in weak random fields repels its levels as the orthogonal ensemble does; a whole ring, whose momenta mix, does not.
#[test]
fn level_statistics_tell_a_chaotic_sector_from_mixed_ones() {
    let file = root().join("examples/level_statistics.toml");
    let output = run(&["solve", file.to_str().unwrap(), "--device", "cpu", "--json"]);
    let report: Value = serde_json::from_str(stdout(&output)).unwrap();
    let statistics = &report["level_statistics"];
    let (ratio, error) = (statistics["mean_ratio"].as_f64().unwrap(), statistics["standard_error"].as_f64().unwrap());
    assert!((ratio - 0.5307).abs() < 4.0 * error && error < 0.015, "{statistics}");
    assert_eq!((statistics["levels"].as_u64(), statistics["degenerate"].as_u64()), (Some(462), Some(0)));
    let folder = tempfile::tempdir().unwrap();
    let ring = solved(folder.path(), MODELS[0].1, "states = \"all\"", &["--device", "cpu"]);
    let mixed = &ring["level_statistics"];
    assert!(mixed["degenerate"].as_u64().unwrap() > 20 && mixed["mean_ratio"].as_f64().unwrap() < 0.48, "{mixed}");
    assert_eq!(mixed["levels"].as_u64().unwrap() as usize, ring["levels"].as_array().unwrap().len());
    let some = solved(folder.path(), MODELS[0].1, "states = 5", &["--device", "cpu"]);
    assert!(some.get("level_statistics").is_none());
}

/// Vectors of a text in a folder of its own.
fn vectors(folder: &Path, name: &str, text: &str, solve: &str) -> String {
    let output = folder.join(name).display().to_string();
    solved(folder, text, solve, &["--device", "cpu", "--vectors", "--output", &output]);
    output
}

/// The overlaps of a run with itself under another seed, with another coupling, and with other bases.
#[test]
fn overlaps_are_those_of_subspaces_and_need_one_basis() {
    let folder = tempfile::tempdir().unwrap();
    let [ring, phases, molecule] = [MODELS[0].1, MODELS[3].1, MODELS[6].1];
    let overlaps = |a: &str, b: &str| -> Value {
        let output = run(&["overlap", a, b, "--json"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        serde_json::from_str(stdout(&output)).unwrap()
    };
    for (name, text) in [("ring", ring), ("phases", phases), ("molecule", molecule)] {
        let a = vectors(folder.path(), &format!("{name} a"), text, "states = 6\nsolver = \"lanczos\"");
        let b = vectors(folder.path(), &format!("{name} b"), text, "states = 6\nsolver = \"lanczos\"\nseed = 9");
        let found = overlaps(&a, &b);
        for level in found["levels"].as_array().unwrap() {
            let same = level["levels"][0] == level["levels"][1];
            let whole = level["states"][0] == level["states"][1];
            let is_last = level["energies"][0] == found["energies"][0][5];
            let fidelity = level["fidelity"].as_f64().unwrap();
            assert!(whole || !same, "{name} {level}");
            assert!(is_last || (fidelity - f64::from(u8::from(same))).abs() < 1e-8, "{name}: {level}");
        }
    }
    // Two sites of one electron each, by hand: |⟨a|b⟩|² of singlets at U = 0 and U = 4 is (cos(θ − π/4))², tan 2θ = 4t/U.
    let pair = |u: f64| {
        format!(
            "[model]\nname = \"hubbard\"\nt = 1.0\nu = {u:?}\n[lattice]\nkind = \"chain\"\nsize = 2\n[sector]\nup = 1\ndown = 1\n"
        )
    };
    let [free, bound] =
        [("free", 0.0), ("bound", 4.0)].map(|(name, u)| vectors(folder.path(), name, &pair(u), "states = 1"));
    let found = overlaps(&free, &bound);
    let angle = 0.5 * 1f64.atan();
    let expected = (angle - std::f64::consts::FRAC_PI_4).cos().powi(2);
    assert!((found["weights"][0][0].as_f64().unwrap() - expected).abs() < 1e-9, "{} and {expected}", found["weights"]);
    assert!((found["levels"][0]["fidelity"].as_f64().unwrap() - expected).abs() < 1e-9);

    let ring_a = folder.path().join("ring a").display().to_string();
    let momentum = |k: usize| {
        let text = MODELS[4].1.replace("k = 1", &format!("k = {k}"));
        vectors(folder.path(), &format!("k {k}"), &text, "states = 1")
    };
    let bosons = "[model]\nname = \"terms\"\nsite = \"boson 1\"\nH = \"sum(<i, j> in bonds; -(bdag(i) * b(j) + h.c.))\"\n[lattice]\n\
                  kind = \"chain\"\nsize = 10\n[sector]\nbosons = 5\n";
    let other_sector = ring.replace("two_sz = 0", "two_sz = 2");
    let shorter = ring.replace("size = 10", "size = 8");
    for (a, b, said) in [
        (&ring_a, &vectors(folder.path(), "sector", &other_sector, "states = 1"), "the sector is"),
        (&ring_a, &vectors(folder.path(), "shorter", &shorter, "states = 1"), "the number of sites is 10"),
        (&ring_a, &free, "the kind of basis states is words of sites"),
        (&ring_a, &vectors(folder.path(), "bosons", bosons, "states = 1"), "what a site carries is"),
        (&momentum(1), &momentum(2), "the symmetry is"),
        (&ring_a, &"examples/entanglement.toml".to_string(), "is not read"),
    ] {
        let output = run(&["overlap", a, b]);
        assert_eq!(output.status.code(), Some(2), "{a} {b}: {}", stdout(&output));
        assert!(words(&stderr(&output)).contains(said), "'{said}' is not in {}", stderr(&output));
    }
    // Without reports there are words alone.
    std::fs::remove_file(folder.path().join("ring a/report.json")).unwrap();
    let found = overlaps(&ring_a, &ring_a);
    assert!(found["warnings"][0].as_str().unwrap().contains("no report.json"), "{}", found["warnings"]);
}

/// A matrix of a file, real or complex.
fn matrix(npz: &mut NpzReader<std::fs::File>, name: &str) -> Array2<Complex64> {
    match npz.by_name(name) {
        Ok(matrix) => matrix,
        Err(_) => {
            let real: Array2<f64> = npz.by_name(name).unwrap();
            real.mapv(Complex64::from)
        }
    }
}

/// Trace 1, the eigenvalues of the report, and averages of operators on A: of spins ⟨Sz_i Sz_j⟩, of electrons with a phase ⟨c†_i c_j⟩.
#[test]
fn density_matrices_in_files_have_the_averages_of_their_sites() {
    let folder = tempfile::tempdir().unwrap();
    let entangled = "[entanglement]\nsites = [[0, 2], [1, 3, 4]]\nweights = 64\n";
    let own = "[observables]\nhop = \"cdag(i, Up) * c(j, Up)\"\n";
    for (name, text) in
        [("ring", format!("{}{entangled}", MODELS[0].1)), ("phases", format!("{}{entangled}{own}", MODELS[3].1))]
    {
        let output = folder.path().join(name).display().to_string();
        let report = solved(folder.path(), &text, "states = 2", &["--device", "cpu", "--output", &output]);
        let mut npz =
            NpzReader::new(std::fs::File::open(folder.path().join(name).join("entanglement.npz")).unwrap()).unwrap();
        for record in report["entanglement"].as_array().unwrap() {
            let level = record["level"].as_u64().unwrap();
            let sites: Vec<u64> =
                record["sites"].as_array().unwrap().iter().map(|site| site.as_u64().unwrap()).collect();
            let set = usize::from(sites.len() == 3);
            let kept: Array1<u64> = npz.by_name(&format!("sites_{set}")).unwrap();
            assert_eq!(kept.to_vec(), sites);
            let rho = matrix(&mut npz, &format!("rho_{level}_{set}"));
            let levels: Array2<u64> = npz.by_name(&format!("levels_{level}_{set}")).unwrap();
            assert_eq!(levels.dim(), (rho.nrows(), sites.len()), "{name}");
            let trace: Complex64 = rho.diag().sum();
            let purity: f64 = rho.iter().map(Complex64::norm_sqr).sum();
            assert!((trace - 1.0).norm() < 1e-9, "{name}: {trace}");
            assert!((-purity.ln() - record["renyi_2"].as_f64().unwrap()).abs() < 1e-8, "{name}: {record}");
            if level > 0 {
                continue;
            }
            let (first, last) = (sites[0] as usize, sites[sites.len() - 1] as usize);
            if name == "ring" {
                let spin = |row: usize, place: usize| levels[[row, place]] as f64 - 0.5;
                let found: f64 = (0..rho.nrows()).map(|a| rho[[a, a]].re * spin(a, 0) * spin(a, sites.len() - 1)).sum();
                let expected = report["observables"]["szsz"][first][last].as_f64().unwrap();
                assert!((found - expected).abs() < 1e-8, "{name}: {found} and {expected}");
                continue;
            }
            // ⟨c†_i↑ c_j↑⟩ = Σ ρ(a, a') ⟨a'| c†_i↑ c_j↑ |a⟩, with the sign of the up electrons between; other sites and spins stay.
            let mut found = Complex64::ZERO;
            for a in 0..rho.nrows() {
                let mut moved = levels.row(a).to_vec();
                let place = sites.len() - 1;
                if moved[place] & 1 == 0 || moved[0] & 1 == 1 {
                    continue;
                }
                let between = moved[1..place].iter().filter(|level| **level & 1 == 1).count();
                (moved[place], moved[0]) = (moved[place] - 1, moved[0] + 1);
                if let Some(b) = (0..rho.nrows()).find(|b| levels.row(*b).to_vec() == moved) {
                    found += rho[[a, b]] * if between % 2 == 0 { 1.0 } else { -1.0 };
                }
            }
            let expected = report["observables"]["hop"][first][last].as_f64().unwrap();
            assert!((found.re - expected).abs() < 1e-8 && expected.abs() > 1e-3, "{name}: {found} and {expected}");
        }
    }
    let none = solved(folder.path(), &format!("{}{entangled}", MODELS[0].1), "states = 1", &["--device", "cpu"]);
    assert!(none["entanglement"].as_array().unwrap().len() == 2);
}

/// What a command line changes is checked as a file is.
#[test]
fn a_command_line_asks_for_all_states_of_what_can_have_them() {
    let (_folder, path) = super::command::model_file(MODELS[5].1);
    let path = path.to_str().unwrap();
    let output = run(&["solve", path, "--states", "all", "--solver", "lanczos", "--device", "cpu"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(words(&stderr(&output)).contains("all states take the whole spectrum"), "{}", stderr(&output));
    let near = |solver: &str| {
        (format!("{}[solve]\nnear = 0.5\nsolver = \"{solver}\"\n", MODELS[5].1), vec!["`near`", "lanczos"])
    };
    check_refusals("solve", &["davidson", "olsen"].map(near));
    let with = |section: &str| format!("{}[solve]\nwhich = \"highest\"\n{section}", MODELS[0].1);
    let thermal = with("[thermal]\ntemperatures = [1.0]\n").replace("[sector]\ntwo_sz = 0\n", "");
    check_refusals("thermal", &[(thermal, vec!["`which` and `thermal`"])]);
    let evolve = with("[evolve]\nstart = { up = [0, 2, 4, 6, 8] }\nuntil = 1.0\ntimes = 3\n");
    check_refusals("evolve", &[(evolve, vec!["`which` and `evolve`"])]);
}
