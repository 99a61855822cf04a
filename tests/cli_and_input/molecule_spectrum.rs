//! `eigenforge spectrum` of molecules: ionisation, attachment and dipole absorption, beside Lehmann sums over all states of the operator of the
//! same integrals, which knows no determinants of ours.

use super::command::{check_refusals, run, stderr, stdout};
use super::gallery::root;
use eigenforge::ci::Molecule;
use eigenforge::exact::{ChainOptions, LevelStates, Model, Response};
use eigenforge::input::{CiFile, InputFile};
use eigenforge::operator::{Operator, Spin, build};
use eigenforge::prelude::{Dense, Device, Sector};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;

/// The text of a file with `[ci]` for one of tests/data/ci.
fn of_data(molecule: &str, more: &str) -> String {
    let fcidump = root().join(format!("tests/data/ci/{molecule}.FCIDUMP"));
    format!("[ci]\nfcidump = {fcidump:?}\n{more}")
}

/// Numbers between −1 and 1 that repeat.
fn numbers(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

/// Integrals of four orbitals without symmetry, and a dipole; of each spin its own where `unrestricted`.
fn random_molecule(folder: &Path, electrons: usize, two_sz: i64, unrestricted: bool, seed: u64) -> String {
    let (n, mut next) = (4, numbers(seed));
    let iuhf = if unrestricted { "IUHF=1," } else { "" };
    let mut text = format!("&FCI NORB={n},NELEC={electrons},MS2={two_sz},{iuhf}\n&END\n");
    let pairs: Vec<(usize, usize)> = (1..=n).flat_map(|i| (1..=i).map(move |j| (i, j))).collect();
    for exchange in if unrestricted { vec![true, true, false] } else { vec![true] } {
        for (a, (i, j)) in pairs.iter().enumerate() {
            for (k, l) in &pairs[..if exchange { a + 1 } else { pairs.len() }] {
                let _ = writeln!(text, "{} {i} {j} {k} {l}", 0.3 * next() + f64::from(u8::from(i == j && k == l)));
            }
        }
        text += if unrestricted { "0.0 0 0 0 0\n" } else { "" };
    }
    let one = |next: &mut dyn FnMut() -> f64| {
        pairs.iter().fold(String::new(), |text, (i, j)| text + &format!("{} {i} {j} 0 0\n", next()))
    };
    for _ in 0..1 + usize::from(unrestricted) {
        text += &one(&mut next);
        text += if unrestricted { "0.0 0 0 0 0\n" } else { "" };
    }
    text += "-0.75 0 0 0 0\n";
    let components = if unrestricted { 6 } else { 3 };
    let dipole: String = (0..components).map(|_| one(&mut next) + "0.5 0 0 0 0\n").collect();
    std::fs::write(folder.join("random.dipole"), dipole).unwrap();
    let path = folder.join("random.FCIDUMP");
    std::fs::write(&path, text).unwrap();
    "[ci]\nfcidump = \"random.FCIDUMP\"\ndipole = \"random.dipole\"\n".to_string()
}

const WINDOW: &str = "omega = { from = -4.0, to = 4.0, points = 41 }\neta = 0.2\n";

/// What the command makes of a file.
fn spectrum(folder: &Path, text: &str, more: &[&str]) -> Value {
    let path = folder.join("molecule.toml");
    std::fs::write(&path, text).unwrap();
    let output = run(&[&["spectrum", path.to_str().unwrap(), "--json"], more].concat());
    assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
    serde_json::from_str(stdout(&output)).unwrap()
}

/// The lowest level of a sector at each of these 2Sz, by dense matrices.
fn lowest_level(molecule: &Molecule, two_sz: &[i64]) -> Vec<LevelStates> {
    let (electrons, device) = (molecule.integrals.electrons as i64, Device::cpu());
    let model = |two_sz: i64| {
        let [up, down] = [electrons + two_sz, electrons - two_sz].map(|twice| (twice / 2) as usize);
        Model::new(molecule.operator(), Sector::Fermions { up, down }).unwrap()
    };
    let energy = Dense::new(&model(molecule.integrals.two_sz)).run(&device).unwrap().energy();
    let of_sector = |two_sz: &i64| {
        let model = model(*two_sz);
        let solution = Dense::new(&model).states(model.states() as usize).run(&device).unwrap();
        let level = solution.levels().iter().position(|level| (level.value - energy).abs() < 1e-8).unwrap();
        let states = solution.level_states(level).unwrap();
        assert_eq!(states.states.len(), 1);
        states
    };
    two_sz.iter().map(of_sector).collect()
}

/// The response of a level to operators together, by the poles of all states.
fn oracle(level: &[LevelStates], operators: &[Operator], without_level: bool) -> Response {
    let options = ChainOptions { steps: usize::MAX, omega: Vec::new(), eta: 0.2, damping: None };
    let mut response = Response::default();
    for states in level {
        let left_out: Vec<_> = if without_level { vec![states] } else { Vec::new() };
        for operator in operators {
            let own = states.response(operator, None, &left_out, &options, &Device::cpu()).unwrap();
            response.add(own, 1.0 / level.len() as f64);
        }
    }
    response
}

fn molecule(folder: &Path, text: &str) -> Molecule {
    let InputFile::Ci(file) = InputFile::parse("molecule.toml", text, folder).unwrap() else { panic!("{text}") };
    let CiFile { ci, .. } = *file;
    Molecule::read(&ci).unwrap()
}

fn close(curve: &Value, wanted: &Response, removes: bool, what: &str) {
    let number = |value: &Value| value.as_f64().unwrap();
    let sign = if removes { -1.0 } else { 1.0 };
    let omega: Vec<f64> = (0..41).map(|point| sign * (-4.0 + 0.2 * f64::from(point))).collect();
    for (found, wanted) in curve["curve"].as_array().unwrap().iter().zip(wanted.curve(&omega, 0.2)) {
        assert!((number(found) - wanted).abs() < 1e-7, "{what}: {found} {wanted}");
    }
    let [weight, first, second] = wanted.moments();
    for (found, wanted) in curve["moments"].as_array().unwrap().iter().zip([weight, sign * first, second]) {
        assert!((number(found) - wanted).abs() < 1e-8, "{what}: {found} {wanted}");
    }
}

/// Doublets and triplets over all of their states, closed shells, unrestricted orbitals at one 2Sz; every orbital and the sum.
#[test]
fn electrons_leave_and_come_as_lehmann_sums_say() {
    let folder = tempfile::tempdir().unwrap();
    let cases = [(3, 1, false), (4, 2, false), (4, 0, false), (5, 1, true), (3, 3, true)];
    for (seed, (electrons, two_sz, unrestricted)) in cases.into_iter().enumerate() {
        let file = random_molecule(folder.path(), electrons, two_sz, unrestricted, 30 + seed as u64);
        let molecule = molecule(folder.path(), &file);
        let mut level = None;
        for (of, spin, removes) in [
            ("remove_up", Spin::Up, true),
            ("remove_dn", Spin::Down, true),
            ("add_up", Spin::Up, false),
            ("add_dn", Spin::Down, false),
        ] {
            let average = if unrestricted { "average = \"sector\"\n" } else { "" };
            let text = format!("{file}[spectrum]\nof = \"{of}\"\n{average}{WINDOW}");
            let device = if seed == 0 && of == "add_dn" { "sim" } else { "cpu" };
            let found = spectrum(folder.path(), &text, &["--device", device]);
            // The lowest level of four electrons may be of another spin at 2Sz = 0.
            let states: u64 =
                found["level"].as_array().unwrap().iter().map(|own| own["states"].as_u64().unwrap()).sum();
            let two_s = states as i64 - 1;
            assert!(unrestricted || two_s >= two_sz.abs(), "{states}");
            let every: Vec<i64> = (-two_s..=two_s).step_by(2).collect();
            let all = if unrestricted { vec![two_sz] } else { every };
            let level = level.get_or_insert_with(|| lowest_level(&molecule, &all));
            let what = format!("{electrons} electrons, {of}");
            let leads_somewhere = !removes || electrons as i64 > two_sz || spin == Spin::Up;
            assert!(found["converged"] == true && found["lattice"].is_null(), "{found}");
            assert_eq!(found["warnings"].as_array().unwrap().is_empty(), leads_somewhere, "{}", found["warnings"]);
            let curves = found["curves"].as_array().unwrap();
            let operator = |p: usize| if removes { build::c(p, spin) } else { build::cdag(p, spin) };
            for p in 0..4 {
                assert_eq!(curves[p + 1]["label"], format!("orbital {}", p + 1));
                close(&curves[p + 1], &oracle(level, &[operator(p)], false), removes, &what);
                let [rule, weight] =
                    [&curves[p + 1]["sum_rule"], &curves[p + 1]["moments"][0]].map(|n| n.as_f64().unwrap());
                assert!((rule - weight).abs() < 1e-10, "{what}");
            }
            let every: Vec<Operator> = (0..4).map(operator).collect();
            close(&curves[0], &oracle(level, &every, false), removes, &what);
        }
    }
}

/// µ between the level and all others, by direction and in all; oscillator strengths stand beside the poles, in files too.
#[test]
fn dipoles_absorb_as_lehmann_sums_say() {
    let folder = tempfile::tempdir().unwrap();
    for (seed, electrons, two_sz, unrestricted) in [(50, 3, 1, false), (51, 4, 0, true)] {
        let file = random_molecule(folder.path(), electrons, two_sz, unrestricted, seed);
        let molecule = molecule(folder.path(), &file);
        let average = if unrestricted { "average = \"sector\"\n" } else { "" };
        let text = format!("{file}[spectrum]\nof = \"dipole\"\nmethod = \"exact\"\n{average}{WINDOW}");
        let out = folder.path().join("out");
        let found = spectrum(folder.path(), &text, &["--device", "cpu", "--output", out.to_str().unwrap()]);
        let components = molecule.dipole.as_ref().unwrap();
        let operators: Vec<Operator> = components
            .iter()
            .map(|one| {
                let [alpha, beta] = one.submatrices(&[0, 1, 2, 3]);
                let term =
                    |((p, q), value): ((usize, usize), &f64), spin| *value * (build::cdag(p, spin) * build::c(q, spin));
                let alpha = alpha.indexed_iter().map(|own| term(own, Spin::Up));
                alpha
                    .chain(beta.indexed_iter().map(|own| term(own, Spin::Down)))
                    .fold(Operator::zero(), |sum, own| sum + own)
            })
            .collect();
        let level = lowest_level(&molecule, if unrestricted { &[0] } else { &[1, -1] });
        let curves = found["curves"].as_array().unwrap();
        for (number, operator) in operators.iter().enumerate() {
            assert_eq!(curves[number + 1]["label"], ["x", "y", "z"][number]);
            close(&curves[number + 1], &oracle(&level, std::slice::from_ref(operator), true), false, "µ");
        }
        let wanted = oracle(&level, &operators, true);
        close(&curves[0], &wanted, false, "µ");
        let poles = curves[0]["poles"].as_array().unwrap();
        let strengths: Vec<f64> =
            curves[0]["oscillator_strengths"].as_array().unwrap().iter().map(|f| f.as_f64().unwrap()).collect();
        for (pole, f) in poles.iter().zip(&strengths) {
            let [omega, weight] = [0, 1].map(|place| pole[place].as_f64().unwrap());
            assert!((f - 2.0 / 3.0 * omega * weight).abs() < 1e-12);
        }
        assert!((strengths.iter().sum::<f64>() - 2.0 / 3.0 * wanted.moments()[1]).abs() < 1e-8);
        let mut arrays = ndarray_npy::NpzReader::new(std::fs::File::open(out.join("spectrum.npz")).unwrap()).unwrap();
        let written: ndarray::Array1<f64> = arrays.by_name("oscillator_strengths").unwrap();
        let all = curves.iter().map(|curve| curve["poles"].as_array().unwrap().len()).sum::<usize>();
        assert!(written.len() == all && written.as_slice().unwrap()[..strengths.len()] == strengths[..]);
        assert!(std::fs::read_to_string(out.join("spectrum.csv")).unwrap().starts_with("omega,sum,x,y,z\n"));
    }
}

/// Active spaces, irreps, checkpoints: the same numbers by another road. H4 in a square has its poles by an own dense code (NumPy, Lehmann sums over
/// the 24 and 36 determinants of 3 and 4 electrons, written for this test).
#[test]
fn irreps_windows_and_checkpoints_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let ionised = |more: &str, of: &str| {
        format!("{more}[spectrum]\nof = \"{of}\"\nomega = {{ from = -0.5, to = -0.3, points = 2 }}\n")
    };
    let square = of_data("H4_square_sto3g_1.2", "");
    let found = spectrum(folder.path(), &ionised(&square, "remove_up"), &["--device", "cpu"]);
    let number = |value: &Value| value.as_f64().unwrap();
    for (curve, wanted) in [
        (0, [1.2481695701, 4.5687250334]),
        (1, [0.7480092122, 0.1336724413]),
        (2, [0.2469288929, 2.2163305000]),
        (4, [0.0063025721, 0.0023915921]),
    ] {
        for (found, wanted) in found["curves"][curve]["curve"].as_array().unwrap().iter().zip(wanted) {
            assert!((number(found) - wanted).abs() < 1e-8, "{curve}: {found} {wanted}");
        }
    }
    let lithium = |more: &str| of_data("LiH_sto3g_1.6", more);
    let curves = |found: &Value| {
        found["curves"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|c| c["curve"].as_array().unwrap().clone())
            .collect::<Vec<_>>()
    };
    let whole = spectrum(folder.path(), &ionised(&lithium(""), "add_up"), &["--device", "cpu"]);
    let saved = folder.path().join("saved");
    let kept = ["--device", "cpu", "--checkpoint", saved.to_str().unwrap(), "--checkpoint-every", "0"];
    let text = ionised(&lithium("irrep = 1\n"), "add_up").replace("[spectrum]\n", "[spectrum]\naverage = \"sector\"\n");
    let in_irrep = spectrum(folder.path(), &text, &kept);
    let again = spectrum(folder.path(), &text, &[&kept[..], &["--resume"]].concat());
    for ((a, b), c) in curves(&whole).iter().zip(curves(&in_irrep)).zip(curves(&again)) {
        assert!((number(a) - number(&b)).abs() < 1e-7 && (number(&b) - number(&c)).abs() < 1e-10, "{a} {b} {c}");
    }
    let active =
        spectrum(folder.path(), &ionised(&lithium("active = [2, 3, 4, 6]\n"), "remove_dn"), &["--device", "cpu"]);
    let labels: Vec<&str> =
        active["curves"].as_array().unwrap().iter().map(|curve| curve["label"].as_str().unwrap()).collect();
    assert_eq!(labels, ["sum", "orbital 2", "orbital 3", "orbital 4", "orbital 6"]);
    assert!((number(&active["total_weight"]) - 1.0).abs() < 1e-9);
}

#[test]
fn what_molecules_have_not_is_refused() {
    let file = |more: &str, keys: &str| format!("{}[spectrum]\n{keys}", of_data("LiH_sto3g_1.6", more));
    let removed = format!("of = \"remove_up\"\n{WINDOW}");
    let cases = [
        (file("", &format!("of = \"Sz\"\n{WINDOW}")), vec!["Sz", "remove_up, remove_dn, add_up, add_dn, dipole"]),
        (file("", &format!("of = \"dipole\"\n{WINDOW}")), vec!["`dipole` is missing from [ci]"]),
        (file("", &format!("q = [1]\n{removed}")), vec!["`q` and `ci` cannot both be given", "no momenta"]),
        (file("", &format!("direction = [1.0, 0.0]\n{removed}")), vec!["`direction` and `ci` cannot both be given"]),
        (file("", &format!("connected = true\n{removed}")), vec!["`connected` and `ci` cannot both be given"]),
        (file("space = \"cisd\"\n", &removed), vec!["spectrum is not available", "write space = \"fci\""]),
        (file("basis = \"csf\"\n", &removed), vec!["operators act on determinants"]),
        (file("", &format!("state = 900\n{removed}")), vec!["`state` should be from 0 to", "found 900"]),
        (file("", "of = \"remove_up\"\n"), vec!["`omega` is missing from [spectrum]"]),
    ];
    check_refusals("spectrum", &cases);
}
