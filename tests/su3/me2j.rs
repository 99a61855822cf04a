//! Two-body elements in me2j files. `tiny_emax1.me2j` and `tiny_emax2.me2j` are made-up interactions of an independent writer, with the
//! energies of nuclei in them by an independent M-scheme code (`me2j.json`); units MeV.

use super::transform::{data, read};
use eigenforge::exact::Dense;
use eigenforge::export::{ExportFormat, export};
use eigenforge::input::ModelFile;
use eigenforge::su3::{
    ByChannel, Channel, Direction, OscillatorSpace, Plan, Relative, TensorFormat, TensorKind, Transform,
};
use eigenforge_runtime::Device;
use serde::Deserialize;
use std::path::Path;

#[derive(Deserialize)]
struct Reference {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    file: String,
    orbits: Vec<Orbit>,
    levels: Vec<Levels>,
}

#[derive(Deserialize)]
struct Orbit {
    two_j: usize,
}

#[derive(Deserialize)]
struct Levels {
    system: String,
    protons: usize,
    neutrons: usize,
    two_m: i64,
    parity: String,
    dimension: u64,
    energies: Vec<f64>,
}

fn reference() -> Vec<Case> {
    let text = std::fs::read_to_string(data("me2j.json")).unwrap();
    serde_json::from_str::<Reference>(&text).unwrap().cases
}

/// The file of a nucleus in an interaction, with 10 (2n + l + 3/2) MeV on every orbit as in the reference.
fn nucleus(interaction: &Path, sites: usize, levels: &Levels) -> String {
    let Levels { protons, neutrons, two_m, parity, .. } = levels;
    format!(
        "[model]\nname = \"terms\"\nsite = \"electron\"\nme2j = {interaction:?}\noscillator = 10.0\n[lattice]\nsites = {sites}\n\
         edges = []\n[sector]\nup = {protons}\ndown = {neutrons}\ncharges = {{ two_m = {two_m}, odd_l = {} }}\n",
        i32::from(parity == "-")
    )
}

fn check_energies(file: &ModelFile, levels: &Levels) {
    let name = format!("{} {}", levels.system, levels.parity);
    let model = file.to_model().unwrap();
    assert_eq!(model.states(), levels.dimension, "{name}");
    let found = Dense::new(&model).states(levels.energies.len()).run(&Device::cpu()).unwrap();
    for (found, expected) in found.energies().iter().zip(&levels.energies) {
        assert!((found - expected).abs() < 1e-6, "{name}: {found} and {expected}");
    }
}

fn plan(n_max: u32) -> Plan {
    Plan::new(OscillatorSpace { n_max })
}

fn write(path: &Path, plan: &Plan, elements: &ByChannel) -> Result<(), String> {
    let mut bytes = Vec::new();
    let written = TensorFormat::Me2j.write(&mut bytes, path, plan, TensorKind::Elements, elements);
    written.map_err(|error| error.to_string())?;
    std::fs::write(path, bytes).unwrap();
    Ok(())
}

/// ²H, ³He and ⁴He in both parities: tensors of terms, signs of fermions and the order of the file are right together.
#[test]
fn nuclei_have_the_energies_of_an_independent_code() {
    let mut count = 0;
    for case in reference() {
        let sites = case.orbits.iter().map(|orbit| orbit.two_j + 1).sum();
        for levels in &case.levels {
            let text = nucleus(&data(&case.file), sites, levels);
            check_energies(&ModelFile::parse("nucleus", &text).unwrap(), levels);
            count += 1;
        }
    }
    assert_eq!(count, 10);
}

/// An exported model has the same energies; so has the interaction that went through strengths of tensors and back.
#[test]
fn energies_survive_files_and_tensors() {
    let folder = tempfile::tempdir().unwrap();
    let case = reference().swap_remove(0);
    let helium = case.levels.iter().find(|levels| levels.system == "4He" && levels.parity == "-").unwrap();
    let file = ModelFile::parse("nucleus", &nucleus(&data(&case.file), 8, helium)).unwrap();
    let exported = folder.path().join("helium.toml");
    let written = export(&file.to_model().unwrap(), ExportFormat::Terms, &exported).unwrap();
    assert!(written.rows == 8 && written.elements == 680, "{written}");
    check_energies(&ModelFile::read(&exported).unwrap(), helium);

    let forward = Transform::new(data(&case.file), 0).run(&Device::cpu()).unwrap();
    let [strengths, back] = ["strengths.bin", "back.me2j"].map(|name| folder.path().join(name));
    let mut bytes = Vec::new();
    let (of_strengths, space) = (TensorKind::Strengths, plan(0));
    TensorFormat::Binary.write(&mut bytes, &strengths, &space, of_strengths, &forward.numbers).unwrap();
    std::fs::write(&strengths, bytes).unwrap();
    let inverse = Transform::new(&strengths, 0).inverse().run(&Device::cpu()).unwrap();
    write(&back, &space, &inverse.numbers).unwrap();
    check_energies(&ModelFile::parse("nucleus", &nucleus(&back, 8, helium)).unwrap(), helium);
}

/// The numbers of a text whose space is that of an N_max come back digit by digit; gzip files and those of 4 bytes hold the same.
#[test]
fn files_come_back_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let numbers = |path: &Path| -> Vec<String> {
        let text = std::fs::read_to_string(path).unwrap();
        text.lines().skip(1).flat_map(str::split_whitespace).map(String::from).collect()
    };
    let original = data("tiny_emax1.me2j");
    let elements = read(&original, &plan(0), Direction::Forward).unwrap();
    assert_eq!(elements.left_out, 0);
    let paths = ["a.me2j", "b.me2j.gz", "c.me2j.bin"].map(|name| folder.path().join(name));
    for path in &paths {
        write(path, &plan(0), &elements).unwrap();
        let again = read(path, &plan(0), Direction::Forward).unwrap();
        write(&paths[0], &plan(0), &again).unwrap();
        let (found, expected) = (numbers(&paths[0]), numbers(&original));
        let value = |word: &String| word.parse::<f64>().unwrap();
        match path == &paths[2] {
            // 4-byte numbers keep 7 digits.
            true => assert!(found.iter().zip(&expected).all(|(a, b)| (value(a) - value(b)).abs() < 1e-6)),
            false => assert_eq!(found, expected, "{}", path.display()),
        }
        assert_eq!(found.len(), 100);
    }
    assert_eq!(std::fs::metadata(&paths[2]).unwrap().len(), 255 + 4 * 100);
    // A part of a file: pairs up to three quanta of four.
    let part = read(&data("tiny_emax2.me2j"), &plan(1), Direction::Forward).unwrap();
    assert!(part.left_out > 0);
    write(&paths[0], &plan(1), &part).unwrap();
    assert_eq!(numbers(&paths[0]).len(), 424);
    let again = read(&paths[0], &plan(1), Direction::Forward).unwrap();
    for ((channel, u), (_, v)) in part.vectors.iter().zip(&again.vectors) {
        assert!(u.iter().zip(v).all(|(u, v)| (u - v).abs() < 1e-15), "{}", channel.word());
    }
}

/// A real interaction with orbits of radial number 1, of 7 decimals, beside its elements in H2 files, which are read by other code.
#[test]
fn jisp16_is_that_of_other_formats() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(2);
    let made = Relative::read(&data("jisp16_Nmax20_hw20.0_rel.dat")).unwrap().elements(&plan).unwrap();
    let path = folder.path().join("jisp16.me2j");
    write(&path, &plan, &made).unwrap();
    let found = read(&path, &plan, Direction::Forward).unwrap();
    for ((channel, u), (_, v)) in found.vectors.iter().zip(&made.vectors) {
        let worst = u.iter().zip(v).map(|(u, v)| (u - v).abs()).fold(0.0, f64::max);
        assert!(worst < 1.1e-7, "{}: {worst:e}", channel.word());
    }
    // ⟨1s½ 1s½|V|0s½ 0s½⟩ of the third line and others: the value of the H2 file times its norm, positive at the origin too.
    let text = std::fs::read_to_string(&path).unwrap();
    let numbers: Vec<f64> =
        text.lines().skip(1).flat_map(str::split_whitespace).map(|word| word.parse().unwrap()).collect();
    let h2 = std::fs::read_to_string(data("jisp16_Nmax02_h2v15099.dat")).unwrap();
    let line =
        |start: &str| h2.lines().find(|line| line.split_whitespace().collect::<Vec<_>>().join(" ").starts_with(start));
    let last = |line: &str| line.split_whitespace().last().unwrap().parse::<f64>().unwrap();
    let ground = last(line("1 1 1 1 0 0 22").unwrap());
    assert!((numbers[1] - 2.0 * ground).abs() < 3e-6, "{} and {ground}", numbers[1]);
    let radial = last(line("1 1 1 4 0 0 22").unwrap());
    let near = |value: f64| numbers.iter().any(|number| (number - value).abs() < 3e-6);
    assert!(radial.abs() > 0.1 && near(2.0f64.sqrt() * radial) && !near(-(2.0f64.sqrt()) * radial), "{radial}");
}

/// What the format cannot hold, and what is no file of it, with what was expected.
#[test]
fn what_is_wrong_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.me2j");
    let text = std::fs::read_to_string(data("tiny_emax1.me2j")).unwrap();
    let fault = |text: &[u8], name: &str, n_max: u32| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        read(&path, &plan(n_max), Direction::Forward).unwrap_err().to_string()
    };
    let lines: Vec<&str> = text.lines().collect();
    let cut = lines[..9].join("\n") + "\n";
    let moved = text.replacen("-6.8623886    0.0000000", " 0.0000000   -6.8623886", 1);
    for (text, name, n_max, said) in [
        (
            &text[..],
            "a.me2j",
            1,
            "those of e_max = 1, E2max = 2, but N_max = 1 needs e_max = 2, E2max = 3: use --n-max 0 or a larger file",
        ),
        (
            &cut,
            "a.me2j",
            0,
            "28 of e_max = 1, E2max = 1 or 100 of e_max = 1, E2max = 2, found 80 numbers: the file is cut off",
        ),
        (&text[..text.len() - 5], "a.me2j", 0, "does not end with a line feed"),
        (
            &text.replacen("-8.0277102", "NaN", 1),
            "a.me2j",
            0,
            "line 2: number 2 of the file: expected a finite number, found `NaN`",
        ),
        (&text.replacen("-8.0277102", "1e999", 1), "a.me2j", 0, "expected a finite number, found `1e999`"),
        (&text.replacen("-8.0277102", "-8.02x", 1), "a.me2j", 0, "expected a finite number, found `-8.02x`"),
        (
            &moved,
            "a.me2j",
            0,
            "expected 0 for T = 1 of the element with radial n l 2j = 0 0 1, 0 0 1 | 0 0 1, 0 0 1; J = 1",
        ),
        (&lines[1..].join("\n"), "a.me2j", 0, "does not end with a line feed"),
        (
            &(lines[1..].join("\n") + "\n"),
            "a.me2j",
            0,
            "found 90 numbers: the file is cut off, has no comment in its first line",
        ),
        (
            &text[..300],
            "a.me2j.bin",
            0,
            "expected 255 bytes of comment and numbers of 4 bytes, as in files .me2j.bin, found 300 bytes",
        ),
    ] {
        let error = fault(text.as_bytes(), name, n_max);
        assert!(error.contains(said), "{name}: {error}\nexpected: {said}");
    }
    let mut bytes = vec![b' '; 255];
    bytes.extend((0..100).flat_map(|k| (if k == 7 { f32::NAN } else { 0.0 }).to_le_bytes()));
    assert!(fault(&bytes, "a.me2j.bin", 0).contains("number 8: expected a finite number, found `NaN`"));

    // A proton and a neutron with an element between T = 0 and T = 1, as the Coulomb force has none and mass differences have.
    let mut mixed = read(&data("tiny_emax1.me2j"), &plan(0), Direction::Forward).unwrap();
    let labels = text_of(&mixed);
    let at = |words: &str| labels.iter().position(|line| line.starts_with(words)).unwrap();
    let diagonal = at("pn,0,1,0,1,0,1,1,1,0,1,1,1,0");
    mixed.vectors[Channel::Pn as usize].1[diagonal] += 0.5;
    let error = write(&path, &plan(0), &mixed).unwrap_err();
    assert!(error.contains("me2j has no element between T = 0 and T = 1"), "{error}");
    let alone = ByChannel { vectors: vec![mixed.vectors[0].clone()], left_out: 0 };
    let error = write(&path, &plan(0), &alone).unwrap_err();
    assert!(error.contains("an me2j file needs the channels pn, pp and nn, found only pn"), "{error}");
}

/// Lines of the table of labels of pn, in the order of the plan.
fn text_of(elements: &ByChannel) -> Vec<String> {
    let pn = ByChannel { vectors: vec![elements.vectors[Channel::Pn as usize].clone()], left_out: 0 };
    let mut bytes = Vec::new();
    TensorFormat::Labels.write(&mut bytes, Path::new("a.csv"), &plan(0), TensorKind::Elements, &pn).unwrap();
    String::from_utf8(bytes).unwrap().lines().skip(1).map(String::from).collect()
}
