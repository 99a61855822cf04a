//! `"all"` of charges in `[sector]`: the whole spectrum over all numbers of particles and 2Sz, alone and by `--sectors all`; which sectors
//! are joined, which signs they have, and what is refused.

use super::command::{failed, stderr, stdout};
use super::symmetries::{solve, texts, tower};
use eigenforge::exact::Dense;
use eigenforge::input::{InputFile, ModelFile};
use eigenforge::report::ParameterSweepRecord;
use eigenforge::runtime::Device;
use std::path::Path;

fn lattice(kind: &str, size: &str, boundary: &str) -> String {
    format!("[lattice]\nkind = \"{kind}\"\nsize = {size}\nboundary = \"{boundary}\"\n")
}

const HUBBARD: &str = "[model]\nname = \"hubbard\"\nt = 1.0\nu = 3.3\n";
const XXZ: &str = "[model]\nname = \"xxz\"\njxy = 0.9\njz = 0.7\n";

fn terms(site: &str, h: &str) -> String {
    format!("[model]\nname = \"terms\"\nsite = \"{site}\"\nH = \"{h}\"\n")
}

fn file(text: &str) -> ModelFile {
    match InputFile::parse("one", text, Path::new("")) {
        Ok(InputFile::Lattice(file)) => *file,
        Ok(other) => panic!("{other:?}"),
        Err(error) => panic!("{text}\n{:?}", miette::Report::new(error)),
    }
}

/// All energies of a file, dense.
fn spectrum(text: &str) -> Vec<f64> {
    let model = file(text).to_model().unwrap();
    Dense::new(&model).states(model.states() as usize).certify(false).run(&Device::cpu()).unwrap().energies().to_vec()
}

fn swept(text: &str) -> Vec<(String, String)> {
    match InputFile::parse("all", text, Path::new("")) {
        Ok(InputFile::Sweep(sweep)) => {
            sweep.points.iter().map(|point| (point.values.join(" "), texts(&point.joined))).collect()
        }
        Ok(other) => panic!("{other:?}"),
        Err(error) => panic!("{text}\n{:?}", miette::Report::new(error)),
    }
}

/// Every sector of every charge, joined ones counted, against the plain sectors that the text stands for.
#[test]
fn all_charges_together_are_the_whole_spectrum() {
    let counts = |most: usize| (0..=most).map(|number| number.to_string()).collect::<Vec<_>>();
    let hop = "sum(<i, j> in bonds, s in [Up, Down]; -1.0 * (cdag(i, s) * c(j, s) + h.c.))";
    let tj = terms("tj", &format!("{hop} + sum(<i, j> in bonds; 0.4 * sdots(i, j))"));
    let bosons =
        terms("boson 2", "sum(<i, j> in bonds; -1.0 * (bdag(i) * b(j) + h.c.)) + sum(i in sites; 0.8 * n(i) * n(i))");
    let ising = terms("spin 1/2", "sum(<i, j> in bonds; (sp(i) * sp(j) + h.c.) + 0.4 * sz(i) * sz(j))");
    let by_two = |most: i64| {
        (-most..=most).filter(|value| (value - most) % 2 == 0).map(|value| value.to_string()).collect::<Vec<_>>()
    };
    let ring = |sites: &str| lattice("chain", sites, "periodic");
    let field = XXZ.replace("jz = 0.7\n", "jz = 0.7\nfield = 0.35\n");
    for (text, keys, values, whole) in [
        (format!("{HUBBARD}{}", ring("4")), vec!["up", "down"], vec![counts(4), counts(4)], 256),
        (format!("{XXZ}spin = 1\n{}", ring("4")), vec!["two_sz"], vec![by_two(8)], 81),
        (format!("{field}{}", ring("5")), vec!["two_sz"], vec![by_two(5)], 32),
        (format!("{tj}{}", lattice("chain", "4", "open")), vec!["up", "down"], vec![counts(4), counts(4)], 81),
        (format!("{bosons}{}", ring("4")), vec!["bosons"], vec![counts(8)], 81),
        (format!("{ising}{}", ring("6")), vec!["parity"], vec![vec!["1".into(), "-1".into()]], 64),
        (
            format!("{HUBBARD}{}", lattice("square", "[2, 2]", "open")),
            vec!["up", "down"],
            vec![counts(4), counts(4)],
            256,
        ),
    ] {
        let sector = |values: &[&str]| {
            let lines = keys.iter().zip(values).map(|(key, value)| format!("{key} = {value}\n"));
            format!("{text}[sector]\n{}", lines.collect::<String>())
        };
        let mut combined: Vec<Vec<&str>> = vec![Vec::new()];
        for list in &values {
            combined = combined
                .iter()
                .flat_map(|own| list.iter().map(move |value| [&own[..], &[&value[..]]].concat()))
                .collect();
        }
        let has_states = |values: &&Vec<&str>| InputFile::parse("one", &sector(values), Path::new("")).is_ok();
        let mut expected: Vec<f64> =
            combined.iter().filter(has_states).flat_map(|values| spectrum(&sector(values))).collect();
        expected.sort_by(f64::total_cmp);
        assert_eq!(expected.len(), whole, "{text}");
        let all = sector(&vec!["\"all\""; keys.len()]);
        let more = ["--states", "1000", "--solver", "dense"];
        let by_symmetries = tower(&all, &more);
        // And without lattice symmetries.
        let output = solve(&all, &[&["--device", "cpu"], &more[..]].concat());
        assert!(output.status.success(), "{all}\n{}", stderr(&output));
        let alone: ParameterSweepRecord = serde_json::from_slice(&output.stdout).unwrap();
        let mut energies = Vec::new();
        for point in &alone.points {
            energies.extend(point.energies.iter().map(|energy| (*energy, 1 + point.joined.len())));
        }
        energies.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (found, table) in [by_symmetries, (energies, alone)] {
            let spread: Vec<f64> = found.iter().flat_map(|(energy, times)| vec![*energy; *times]).collect();
            assert_eq!((spread.len(), table.whole), (whole, Some(whole as u64)), "{text}");
            for (a, b) in spread.iter().zip(&expected) {
                assert!((a - b).abs() < 1e-9, "{text}: {a} and {b}");
            }
            assert!(table.levels.iter().all(|level| level.complete), "{text}");
            assert_eq!(table.levels.iter().map(|level| level.states).sum::<u64>() as usize, whole, "{text}");
            let told = table.summary();
            assert!(told.contains(&format!("lowest levels of all sectors ({whole} of the {whole} states")), "{told}");
        }
    }
}

/// Opposite 2Sz are joined where H has no field; a sign stands where the sector has it.
#[test]
fn sectors_of_charges_have_their_signs_and_their_partners() {
    let ring = |model: &str, sector: &str| format!("{model}{}{sector}", lattice("chain", "4", "periodic"));
    let spins = swept(&ring(XXZ, "[sector]\ntwo_sz = \"all\"\n[symmetry]\nspin_inversion = \"all\"\n"));
    let expected = [("0 1", ""), ("0 -1", ""), ("2 none", "two_sz = -2"), ("4 none", "two_sz = -4")];
    assert_eq!(spins, expected.map(|(a, b)| (a.to_string(), b.to_string())));
    let field = XXZ.replace("jz = 0.7\n", "jz = 0.7\nfield = 0.35\n");
    let apart = swept(&ring(&field, "[sector]\ntwo_sz = \"all\"\n"));
    assert_eq!(apart.iter().map(|(values, _)| values.as_str()).collect::<Vec<_>>(), ["0", "2", "-2", "4", "-4"]);
    // With a sign in the file, the sectors that have it.
    let fixed = swept(&ring(XXZ, "[sector]\ntwo_sz = \"all\"\n[symmetry]\nk = 0\nspin_inversion = -1\n"));
    assert_eq!(fixed, [("0".to_string(), String::new())]);
    let momenta = swept(&ring(XXZ, "[sector]\ntwo_sz = \"all\"\n[symmetry]\nk = \"all\"\n"));
    assert!(momenta.contains(&("2 1".into(), "3; two_sz = -2; two_sz = -2, k = 3".into())), "{momenta:?}");
    let electrons = "[sector]\nup = \"all\"\ndown = 2\n[symmetry]\nexchange = \"all\"\nparticle_hole = \"all\"\n";
    let values: Vec<String> = swept(&ring(HUBBARD, electrons)).into_iter().map(|(values, _)| values).collect();
    let half = ["2 1 1", "2 1 -1", "2 -1 1", "2 -1 -1"];
    assert_eq!(values, [&["0 none none", "1 none none"], &half[..], &["3 none none", "4 none none"]].concat());
    // Fewer states than are asked for, and a point's file that can be solved alone.
    let few = ring(XXZ, "[sector]\ntwo_sz = \"all\"\n[solve]\nstates = 3\n");
    let InputFile::Sweep(few) = InputFile::parse("few", &few, Path::new("")).unwrap() else { panic!("{few}") };
    let states = |point: &eigenforge::input::SweptPoint| file(point.file.text()).solve.states;
    assert_eq!(few.points.iter().map(states).collect::<Vec<_>>(), [3, 3, 1]);
}

#[test]
fn a_table_of_charges_names_partners_once() {
    let text = format!("{XXZ}{}[sector]\ntwo_sz = \"all\"\n[solve]\nstates = 2\n", lattice("chain", "6", "periodic"));
    let (_, table) = tower(&text, &[]);
    let told = table.summary();
    for part in ["two_sz", "also", "all at two_sz = -2", "and at two_sz = -2", "states of these charges"] {
        assert!(told.contains(part), "{part}\n{told}");
    }
    let output = solve(&text.replace("jz = 0.7", "jz = 0.9"), &["--device", "cpu", "--sectors", "all"]);
    let isotropic: ParameterSweepRecord = serde_json::from_slice(&output.stdout).unwrap();
    // A singlet, then a triplet with members of 2Sz = 0, 2 and −2.
    assert_eq!(isotropic.levels.iter().take(2).map(|level| level.states).collect::<Vec<_>>(), [1, 3]);
}

#[test]
fn charges_that_do_not_run_are_refused() {
    let ring = lattice("chain", "4", "periodic");
    let ising = terms("spin 1/2", "sum(<i, j> in bonds; sz(i) * sz(j)) + sum(i in sites; 0.4 * sx(i))");
    let flavours = terms("flavours 2", "sum(<i, j> in bonds; cdag(i, Flavour(0)) * c(j, Flavour(0)) + h.c.)");
    for (text, said) in [
        (format!("{ising}{ring}[sector]\ntwo_sz = \"all\"\n"), "changes the total Sz"),
        (
            format!("{XXZ}{}[sector]\ntwo_sz = \"all\"\n", ring.replace("size = 4", "size = { sweep = [4, 6] }")),
            "lattice",
        ),
        (format!("{XXZ}{ring}[sector]\ntwo_sz = \"all\"\n[dmrg]\nstates = 8\n"), "a whole number"),
        (format!("{flavours}{ring}[sector]\nflavours = \"all\"\n"), "flavours"),
        (format!("{XXZ}{ring}[sector]\ntwo_sz = \"every\"\n"), "a whole number"),
        (format!("{XXZ}spin = 0.3\n{ring}[sector]\ntwo_sz = \"all\"\n"), "spin"),
    ] {
        let output = solve(&text, &["--device", "cpu"]);
        assert_eq!(failed(&output), 2, "{text}");
        let told = stdout(&output).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(said), "{text}\n{told}");
    }
}
