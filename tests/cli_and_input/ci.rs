//! `eigenforge solve` on files with `[ci]`: energies, spins, files, and what is refused.

use super::command::{run, stderr, stdout};
use eigenforge::exact::Model;
use eigenforge::path::OperatorIr;
use eigenforge::prelude::{Dense, Device};
use eigenforge::runtime::testing;
use num_complex::Complex64;
use serde_json::Value;
use std::path::Path;

/// Writes a file with `[ci]` for one of tests/data/ci.
fn file(folder: &Path, molecule: &str, more: &str) -> String {
    let fcidump = super::gallery::root().join(format!("tests/data/ci/{molecule}.FCIDUMP"));
    let path = folder.join("molecule.toml");
    std::fs::write(&path, format!("[ci]\nfcidump = {fcidump:?}\n{more}")).unwrap();
    path.to_str().unwrap().into()
}

fn solved(arguments: &[&str]) -> Value {
    let output = run(&[&["solve", "--json"], arguments].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    serde_json::from_str(stdout(&output)).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

fn assert_close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < tolerance, "{found} is not {expected}");
    }
}

/// Full CI of water, PySCF 2.14 (tests/data/ci/energies.json): singlet, triplet, singlet, triplet.
#[test]
fn full_ci_of_water_with_spins_and_files() {
    let folder = tempfile::tempdir().unwrap();
    let input = file(folder.path(), "H2O_631g_fc_0.96", "states = 4\ndensity = true\n[solve]\ncertify = false\n");
    let out = folder.path().join("out");
    let found = solved(&[&input, "--device", "cpu", "--output", out.to_str().unwrap(), "--vectors"]);
    let energies = [-76.12014020338404, -75.83603815561695, -75.80908152841268, -75.75464559269936];
    assert_close(&numbers(&found["energies"]), &energies, 1e-9);
    assert_close(&numbers(&found["s_squared"]), &[0.0, 2.0, 0.0, 2.0], 1e-6);
    let occupations = numbers(&found["natural_occupations"]);
    assert!((occupations.iter().sum::<f64>() - 8.0).abs() < 1e-10);
    assert_eq!((found["storage"].as_str(), found["dimension"].as_u64()), (Some("direct"), Some(245_025)));
    for name in ["report.json", "vectors.npz", "density.npz"] {
        assert!(out.join(name).is_file(), "{name}");
    }
}

/// The same energies with a stored matrix on the CPU, and by the generated kernels on the simulated device; a dipole file
/// whose operator is 1 on every orbital counts electrons.
#[test]
fn stored_and_simulated_agree_with_direct() {
    let folder = tempfile::tempdir().unwrap();
    let dipole: String = (1..=7).map(|p| format!("1.0 {p} {p} 0 0\n")).collect();
    std::fs::write(folder.path().join("one.txt"), format!("{dipole}0.5 0 0 0 0\n").repeat(3)).unwrap();
    let input = file(folder.path(), "H2O_sto3g_0.96", "states = 2\nfrozen = 1\ndipole = \"one.txt\"\n");
    let direct = solved(&[&input, "--device", "cpu"]);
    assert_close(&numbers(&direct["dipole"]), &[10.5; 3], 1e-9);
    let folder_of_half = tempfile::tempdir().unwrap();
    for device in ["cpu", "sim"] {
        if device == "sim" && testing::simulator().is_none() {
            continue;
        }
        // The search for missing states is several times as long as the solve, and `the_simulated_device_solves` does it for a lattice.
        let certify = device == "cpu";
        let wish = format!("states = 2\nfrozen = 1\nstorage = \"stored\"\n[solve]\ncertify = {certify}\n");
        let stored = file(folder.path(), "H2O_sto3g_0.96", &wish);
        let wish = wish.replace("[solve]", "format = \"symmetric\"\n[solve]");
        let half = file(folder_of_half.path(), "H2O_sto3g_0.96", &wish);
        let found = solved(&[&stored, "--device", device, "--solver", "davidson"]);
        assert_close(&numbers(&found["energies"]), &numbers(&direct["energies"]), 1e-9);
        assert_eq!(found["storage"].as_str(), Some("stored"));
        let found = solved(&[&half, "--device", device, "--solver", "davidson"]);
        assert_close(&numbers(&found["energies"]), &numbers(&direct["energies"]), 1e-9);
        assert_eq!(found["format"].as_str(), Some("symmetric half"));
        let items = found["memory"]["items"].as_array().unwrap();
        assert!(items[0]["name"].as_str().unwrap().contains("half of a matrix"), "{items:?}");
    }
    // Where kernels run full CI takes none either, unless asked to, and says why; the plan of memory has its tables.
    if testing::simulator().is_some() {
        let input = file(
            folder.path(),
            "LiH_sto3g_1.6",
            "states = 2\nirrep = 1\n[solve]\nsolver = \"davidson\"\ncertify = false\n",
        );
        let (here, there) = (solved(&[&input, "--device", "cpu"]), solved(&[&input, "--device", "sim"]));
        assert_close(&numbers(&there["energies"]), &numbers(&here["energies"]), 1e-9);
        assert_eq!(there["storage"].as_str(), Some("direct"));
        assert!(there["format_reason"].as_str().unwrap().contains("by model: stored"), "{there}");
        let items = there["memory"]["items"].as_array().unwrap();
        assert!(items[0]["name"].as_str().unwrap().contains("tables of strings"), "{items:?}");
        assert!(there["kernels"].as_array().unwrap().iter().any(|kernel| kernel["name"] == "ci_full_ci"), "{there}");
    }
}

/// Active orbitals by a list are those of `frozen` and `orbitals` where they stand one after the other, on each device.
#[test]
fn listed_active_orbitals_are_a_window() {
    let folder = tempfile::tempdir().unwrap();
    let solve = |wish: &str| solved(&[&file(folder.path(), "H2O_sto3g_0.96", wish), "--device", "cpu"]);
    let (window, list) =
        (solve("frozen = 2\norbitals = 4\nstates = 3\n"), solve("active = [4, 3, 6, 5]\nstates = 3\n"));
    assert_eq!(numbers(&window["energies"]), numbers(&list["energies"]));
    assert_eq!(window["space"], list["space"]);
    // Orbital 4 stays full between active ones: fewer determinants, and no lower energy than with it.
    let (less, more) = (solve("active = [3, 5, 6, 7]\n"), solve("active = [3, 4, 5, 6, 7]\n"));
    assert!(numbers(&less["energies"])[0] > numbers(&more["energies"])[0] + 1e-6);
    assert_eq!(less["electrons"], serde_json::json!([2, 2]));
    assert!(less["space"].as_str().unwrap().contains("3 orbitals frozen, active 3 5 6 7"), "{less}");
    let names = &less["leading_determinants"][0][0]["occupation"];
    assert_eq!(names, "2200", "{less}");
}

/// Transitions by the files of a run: strengths from the density matrices and the dipole's integrals, leading determinants from the vectors.
#[test]
fn transitions_and_leading_determinants_follow_from_the_files() {
    let folder = tempfile::tempdir().unwrap();
    let n = 7;
    let element = |axis: usize, p: usize, q: usize| ((axis + 1) * (p.min(q) + 2) + 3 * p.max(q)) as f64 / 50.0 - 0.3;
    let mut text = String::new();
    for axis in 0..3 {
        for (p, q) in (1..=n).flat_map(|p| (1..=p).map(move |q| (p, q))) {
            text += &format!("{} {p} {q} 0 0\n", element(axis, p - 1, q - 1));
        }
        text += "0.7 0 0 0 0\n";
    }
    std::fs::write(folder.path().join("dipole.txt"), text).unwrap();
    let wish = "frozen = 1\nstates = 4\ndipole = \"dipole.txt\"\ntransitions = true\ndensity = true\n";
    let input = file(folder.path(), "H2O_sto3g_0.96", wish);
    let out = folder.path().join("out");
    let found = solved(&[&input, "--device", "cpu", "--output", out.to_str().unwrap(), "--vectors"]);
    let mut npz = ndarray_npy::NpzReader::new(std::fs::File::open(out.join("density.npz")).unwrap()).unwrap();
    let mut read = |name: &str| -> ndarray::Array4<f64> { npz.by_name(name).unwrap() };
    let total = read("transition_alpha") + read("transition_beta");
    assert_eq!(total.shape(), [4, 4, n, n]);
    let moment = |axis: usize, i: usize, j: usize| -> f64 {
        let of_nuclei = if i == j { 0.7 } else { 0.0 };
        (0..n)
            .flat_map(|p| (0..n).map(move |q| (p, q)))
            .fold(of_nuclei, |sum, (p, q)| sum + element(axis, p, q) * total[[i, j, p, q]])
    };
    let energies = numbers(&found["energies"]);
    let transitions = found["transitions"].as_array().unwrap();
    assert_eq!(transitions.len(), 6, "{transitions:?}");
    for transition in transitions {
        let [from, to] = ["from", "to"].map(|key| transition[key].as_u64().unwrap() as usize);
        let strength: f64 = (0..3).map(|axis| moment(axis, from, to).powi(2)).sum();
        let number = |key: &str| transition[key].as_f64().unwrap();
        assert_close(&[number("strength")], &[strength], 1e-10);
        let oscillator = 2.0 / 3.0 * (energies[to] - energies[from]) * strength;
        assert_close(&[number("oscillator_strength")], &[oscillator], 1e-10);
    }
    // From a singlet to a triplet nothing leads, and between states of one spin something does.
    let spins = numbers(&found["s_squared"]);
    let strong = |transition: &&Value| transition["strength"].as_f64().unwrap() > 1e-6;
    assert!(transitions.iter().any(|transition| strong(&transition)), "{transitions:?}");
    for transition in transitions.iter().filter(strong) {
        let [from, to] = ["from", "to"].map(|key| transition[key].as_u64().unwrap() as usize);
        assert_close(&[spins[from]], &[spins[to]], 1e-6);
    }
    // From the other end of the spectrum the lower level of a pair is still the one that absorbs.
    let wish = format!("{wish}[solve]\nwhich = \"highest\"\n");
    let highest = solved(&[&file(folder.path(), "H2O_sto3g_0.96", &wish), "--device", "cpu"]);
    for transition in highest["transitions"].as_array().unwrap() {
        let [from, to] = ["from", "to"].map(|key| transition[key].as_u64().unwrap());
        assert!(from > to && transition["energy"].as_f64().unwrap() > 0.0, "{transition}");
        assert!(transition["oscillator_strength"].as_f64().unwrap() >= 0.0, "{transition}");
    }
    for (state, dipole) in found["dipoles"].as_array().unwrap().iter().enumerate() {
        let own: Vec<f64> = (0..3).map(|axis| moment(axis, state, state)).collect();
        assert_close(&numbers(dipole), &own, 1e-9);
    }
    let mut npz = ndarray_npy::NpzReader::new(std::fs::File::open(out.join("vectors.npz")).unwrap()).unwrap();
    let vectors: ndarray::Array2<f64> = npz.by_name("vectors").unwrap();
    let words: [ndarray::Array1<u64>; 2] = ["alpha_states", "beta_states"].map(|name| npz.by_name(name).unwrap());
    for (state, list) in found["leading_determinants"].as_array().unwrap().iter().enumerate() {
        let row = vectors.row(state);
        let mut sizes: Vec<f64> = row.iter().map(|value| value.abs()).collect();
        sizes.sort_by(|a, b| b.total_cmp(a));
        let list = list.as_array().unwrap();
        assert!(list.len() > 1 && list.len() <= 10);
        for (place, leading) in list.iter().enumerate() {
            let amplitude = leading["amplitude"].as_f64().unwrap();
            assert_close(&[amplitude.abs()], &[sizes[place]], 1e-10);
            let occupation = leading["occupation"].as_str().unwrap();
            let word = |signs: &[char]| {
                let has = occupation.chars().enumerate().filter(|(_, sign)| signs.contains(sign));
                has.fold(0u64, |word, (orbital, _)| word | 1 << orbital)
            };
            let (alpha, beta) = (word(&['2', 'u']), word(&['2', 'd']));
            let there = (0..row.len()).find(|at| words[0][*at] == alpha && words[1][*at] == beta).unwrap();
            assert_close(&[row[there].abs()], &[amplitude.abs()], 1e-12);
        }
        assert!(list[0]["amplitude"].as_f64().unwrap() > 0.0);
    }
}

/// Full CI, stored matrices and rows made in each product, on two cards as one device; what takes one card says so.
#[test]
fn several_cards_find_the_energies_of_the_cpu() {
    if testing::simulator().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let cisd = "space = \"cisd\"\norbitals = 6\nstorage = ";
    for more in [
        "space = \"fci\"\norbitals = 5\n".to_string(),
        format!("{cisd}\"stored\"\nformat = \"csr\"\n"),
        format!("{cisd}\"direct\"\n"),
    ] {
        let input =
            file(folder.path(), "H2O_631g_fc_0.96", &(more + "[solve]\nsolver = \"davidson\"\ncertify = false\n"));
        let (here, there) = (solved(&[&input, "--device", "cpu"]), solved(&[&input, "--device", "sim:2"]));
        assert_close(&numbers(&there["energies"]), &numbers(&here["energies"]), 1e-9);
        assert!(there["device"].as_str().unwrap().contains("for 2 cards as one device"), "{there}");
    }
    let matrix = super::gallery::root().join("tests/data/ci_matrices/H2O_sto3g_0.96_det_levfull.npz");
    let matrix = matrix.to_str().unwrap();
    for arguments in [&["spmv", matrix, "--device", "sim:2"][..], &["bench", "hubbard", "--device", "sim:2"]] {
        let output = run(arguments);
        let said = stderr(&output).replace('│', " ").split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains("takes one card"), "{arguments:?}: {said}");
    }
}

/// CISD of the lithium hydride reference, and an irrep of it.
#[test]
fn truncated_spaces_and_irreps() {
    let folder = tempfile::tempdir().unwrap();
    let input = file(folder.path(), "H2O_631g_fc_0.96", "space = \"cisd\"\nstates = 3\n");
    let found = solved(&[&input, "--device", "cpu"]);
    // PySCF and an explicit matrix: CISD_lowest_roots_no_symmetry
    assert_close(&numbers(&found["energies"]), &[-76.11335625368594, -75.76096553832076, -75.73465996670754], 1e-9);
    assert_eq!(found["storage"].as_str(), Some("stored"));
    for storage in ["stored", "direct"] {
        let more = format!("space = {{ excitations = 2 }}\nirrep = 1\nstorage = \"{storage}\"\n");
        let irrep = file(folder.path(), "H2O_631g_fc_0.96", &more);
        let found = solved(&[&irrep, "--device", "cpu"]);
        assert_close(&numbers(&found["energies"]), &[-76.11335625368594], 1e-9);
        assert_eq!(found["storage"].as_str(), Some(storage));
    }
    if testing::simulator().is_some() {
        let more = "space = { excitations = 2 }\nirrep = 1\nstorage = \"table\"\naverages = false\n";
        let found = solved(&[&file(folder.path(), "H2O_631g_fc_0.96", more), "--device", "sim"]);
        assert_close(&numbers(&found["energies"]), &[-76.11335625368594], 1e-9);
        assert_eq!(found["storage"].as_str(), Some("table"));
    }
}

#[test]
fn what_cannot_be_solved_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    std::fs::write(path.join("one.txt"), "1000000 1000000\n").unwrap();
    std::fs::write(path.join("some.txt"), "1111100 1111100\n1111100 1111010\n").unwrap();
    for (more, arguments, part) in [
        ("states = 442\n", &[][..], "441 determinants: ask for at most 441"),
        ("frozen = 6\n", &[], "frozen"),
        ("active = [2, 8]\n", &[], "expected orbitals from 1 to 7, the file's, each once, found 8"),
        ("active = [4, 5, 4]\n", &[], "found 4 twice"),
        ("active = []\n", &[], "found none"),
        ("active = [4, 6]\nfrozen = 2\n", &[], "the list says which orbitals are active"),
        ("active = [6, 7]\ntwo_sz = 2\n", &[], "orbital 5 has one electron in the reference (6 α and 4 β"),
        ("transitions = true\n", &[], "the integrals of the dipole for the moments, or density = true"),
        ("two_sz = 1\n", &[], "do not fit together"),
        ("space = { file = \"nothing.txt\" }\n", &[], "nothing.txt"),
        ("irrep = 8\n", &[], "irrep"),
        ("dipole = \"nothing.txt\"\n", &[], "nothing.txt"),
        (
            "space = \"cisd\"\nstorage = \"table\"\n",
            &[],
            "for a card; tables are of spaces up to a level of excitation",
        ),
        ("storage = \"table\"\n", &[], "full CI is multiplied by its strings"),
        ("space = { file = \"one.txt\" }\n", &[], "1 + 1 electrons, the integrals 5 + 5"),
        (
            "basis = \"csf\"\ntwo_s = 6\n",
            &[],
            "10 electrons in 7 orbitals cannot have 2S = 6: expected a number from 0 to 4",
        ),
        ("basis = \"csf\"\ntwo_s = 1\n", &[], "cannot have 2S = 1"),
        ("basis = \"csf\"\ntwo_s = -2\n", &[], "cannot have 2S = -2"),
        ("basis = \"csf\"\nfrozen = 4\ntwo_s = 4\ntwo_sz = 0\n", &[], "2 electrons in 3 orbitals cannot have 2S = 4"),
        ("basis = \"csf\"\ntwo_s = 2\ntwo_sz = 4\n", &[], "two_sz = 4 is not a projection of 2S = 2"),
        ("basis = \"csf\"\ntwo_s = 2\ntwo_sz = 1\n", &[], "two_sz = 1 is not a projection of 2S = 2"),
        ("two_s = 6\n", &[], "10 electrons in 7 orbitals cannot have 2S = 6"),
        ("two_s = 2\ntwo_sz = 4\n", &[], "two_sz = 4 is not a projection of 2S = 2"),
        ("two_s = 0\nstates = 197\n", &[], "196 configuration state functions: ask for at most 196"),
        ("two_s = 2\ntwo_sz = 2\nspace = \"cisd\"\n", &[], "the space is not spin-complete: it has the determinant"),
        (
            "two_s = 0\nspace = { file = \"some.txt\" }\n",
            &[],
            "lacks `1111010 1111100`, which occupies the same orbitals",
        ),
        ("space = { ras1 = 2, holes = 5 }\n", &[], "holes = 5 in ras1 = 2 orbitals: expected at most 4"),
        ("space = { ras3 = 1, electrons = 3 }\n", &[], "electrons = 3 in ras3 = 1 orbitals: expected at most 2"),
        (
            "space = { ras1 = 4, holes = 2, ras3 = 4, electrons = 2 }\n",
            &[],
            "ras1 = 4 and ras3 = 4 of 7 orbitals: expected at most 7 together",
        ),
        ("space = { ras3 = 4, electrons = 2 }\n", &[], "no determinant of 5 + 5 electrons in 7 orbitals is in a RAS"),
        (
            "basis = \"csf\"\nstorage = \"table\"\n",
            &[],
            "full CI is multiplied by its strings, without rows; use storage =",
        ),
        ("basis = \"csf\"\nstates = 197\n", &[], "196 configuration state functions: ask for at most 196"),
        (
            "basis = \"csf\"\nspace = { file = \"some.txt\" }\n",
            &[],
            "lacks `1111010 1111100`, which occupies the same orbitals",
        ),
    ] {
        let input = file(path, "H2O_sto3g_0.96", more);
        let output = run(&[&["solve", &input, "--device", "cpu"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{more}: {}", stderr(&output));
        // As it was written, without the frame's line breaks.
        let said = stderr(&output).replace('\n', " ").replace("│", " ");
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(part), "{more}: {said}");
    }
    std::fs::write(path.join("ghf"), "&FCI NORB=2,NELEC=2,MS2=0,GHF=1 &END\n").unwrap();
    std::fs::write(path.join("ghf.toml"), "[ci]\nfcidump = \"ghf\"\n").unwrap();
    let output = run(&["solve", path.join("ghf.toml").to_str().unwrap(), "--device", "cpu"]);
    assert!(output.status.code() == Some(2) && stderr(&output).contains("spin-orbital"), "{}", stderr(&output));
    std::fs::write(path.join("three.txt"), "0.0 0 0 0 0\n".repeat(3)).unwrap();
    for (more, part) in [
        ("basis = \"csf\"\n", "basis = \"csf\" needs one set of orbitals for both spins"),
        ("dipole = \"three.txt\"\n", "six components, x, y and z over the orbitals of α electrons"),
        ("[dmrg]\nstates = 20\n", "leave [dmrg] out"),
    ] {
        let input = file(path, "NH2_sto3g_uhf", more);
        let output = run(&["solve", &input, "--device", "cpu"]);
        let said = stderr(&output).replace('\n', " ").replace("│", " ");
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(output.status.code() == Some(2) && said.contains(part), "{more}: {said}");
    }
}

/// Orbitals of each spin: PySCF's energies and dipole (tests/data/ci/unrestricted.json) in every storage on cores and the simulated card;
/// no spins, densities by spin; `count` and `inspect`.
#[test]
fn unrestricted_orbitals() {
    let folder = tempfile::tempdir().unwrap();
    let root = super::gallery::root().join("tests/data/ci");
    let cases: Value = serde_json::from_str(&std::fs::read_to_string(root.join("unrestricted.json")).unwrap()).unwrap();
    let case = &cases["cases"][1];
    let dipole = root.join("NH2_sto3g_uhf.dipole");
    for (device, storage) in [("cpu", "direct"), ("cpu", "stored"), ("sim", "direct")] {
        if device == "sim" && testing::simulator().is_none() {
            continue;
        }
        let out = folder.path().join(format!("{device}_{storage}"));
        let certify = device == "cpu";
        let more = format!(
            "states = 3\nstorage = \"{storage}\"\ndipole = {dipole:?}\ndensity = true\n[solve]\ncertify = {certify}\n"
        );
        let input = file(folder.path(), "NH2_sto3g_uhf", &more);
        let found = solved(&[&input, "--device", device, "--output", out.to_str().unwrap(), "--vectors"]);
        assert_close(&numbers(&found["energies"]), &numbers(&case["energies"]), 1e-8);
        assert_close(&numbers(&found["dipole"]), &numbers(&case["dipole"]), 1e-6);
        assert_eq!((numbers(&found["s_squared"]), numbers(&found["natural_occupations"])), (vec![], vec![]));
        assert_eq!(found["storage"], storage, "{found}");
        assert!(found["warnings"].to_string().contains("no <S^2> and no natural occupations"), "{found}");
        let mut npz = ndarray_npy::NpzReader::new(std::fs::File::open(out.join("density.npz")).unwrap()).unwrap();
        let names = ["gamma_alpha", "gamma_beta", "gamma_two_alpha", "gamma_two_beta", "gamma_two_mixed"];
        assert!(names.iter().all(|name| npz.by_name::<ndarray::OwnedRepr<f64>, ndarray::IxDyn>(name).is_ok()));
    }
    let input = file(folder.path(), "NH2_sto3g_uhf", "space = \"cisd\"\n");
    for stage in ["ir", "cost", "plan", "cuda"] {
        let output = run(&["inspect", &input, "--stage", stage]);
        assert_eq!(output.status.code(), Some(0), "{stage}: {}", stderr(&output));
    }
    for one_spin in ["basis = \"csf\"\n", "two_s = 1\n"] {
        let output = run(&["solve", &file(folder.path(), "NH2_sto3g_uhf", one_spin), "--device", "cpu"]);
        let said = super::command::words(&stderr(&output));
        assert!(output.status.code() == Some(2) && said.contains("leave `basis` and `two_s` out"), "{said}");
    }
    let output = run(&["count", "--fcidump", root.join("NH2_sto3g_uhf.FCIDUMP").to_str().unwrap()]);
    let said = stdout(&output);
    assert!(said.contains("unrestricted, 2Sz = 1") && said.contains("735"), "{said}");
}

/// H2 in orbitals turned by phases and a complex rotation: the energies of the real ones, complex vectors and densities, and what is refused.
#[test]
fn complex_orbitals() {
    let folder = tempfile::tempdir().unwrap();
    let real = super::gallery::root().join("tests/data/ci/H2_sto3g_0.74.FCIDUMP");
    let integrals = eigenforge::ci::Integrals::read(&real).unwrap();
    let (c, s) = (0.6, 0.8);
    let i = Complex64::new(0.0, 1.0);
    let u = [[Complex64::from(c), s * i], [s * i, Complex64::from(c)]];
    let pairs = [(0, 0), (0, 1), (1, 0), (1, 1)];
    let mut text = String::from("&FCI NORB=2,NELEC=2,MS2=0\n&END\n");
    for (p, q) in pairs {
        for (r, t) in pairs {
            let terms = pairs.iter().flat_map(|(a, b)| pairs.iter().map(move |(x, y)| (*a, *b, *x, *y)));
            let value: Complex64 = terms
                .map(|(a, b, x, y)| u[p][a].conj() * u[q][b] * u[r][x].conj() * u[t][y] * integrals.two(a, b, x, y))
                .sum();
            text += &format!("({:e},{:e}) {} {} {} {}\n", value.re, value.im, p + 1, q + 1, r + 1, t + 1);
        }
    }
    for (p, q) in pairs {
        let value: Complex64 = pairs.iter().map(|(a, b)| u[p][*a].conj() * u[q][*b] * integrals.one(*a, *b)).sum();
        text += &format!("({:e},{:e}) {} {} 0 0\n", value.re, value.im, p + 1, q + 1);
    }
    text += &format!("({:e},0.0) 0 0 0 0\n", integrals.core);
    let path = folder.path().join("turned.FCIDUMP");
    std::fs::write(&path, text).unwrap();
    let file = |more: &str| {
        let input = folder.path().join("turned.toml");
        std::fs::write(&input, format!("[ci]\nfcidump = \"turned.FCIDUMP\"\n{more}")).unwrap();
        input.to_str().unwrap().to_string()
    };
    let usual = self::file(folder.path(), "H2_sto3g_0.74", "states = 4\n");
    let expected = solved(&[&usual, "--device", "cpu"]);
    let out = folder.path().join("out");
    let input = file("states = 4\ndensity = true\n");
    let found = solved(&[&input, "--device", "cpu", "--output", out.to_str().unwrap(), "--vectors"]);
    assert_close(&numbers(&found["energies"]), &numbers(&expected["energies"]), 1e-9);
    assert_close(&numbers(&found["s_squared"]), &numbers(&expected["s_squared"]), 1e-7);
    assert_close(&numbers(&found["natural_occupations"]), &numbers(&expected["natural_occupations"]), 1e-7);
    assert_eq!((found["storage"].as_str(), found["dimension"].as_u64()), (Some("direct"), Some(4)));
    let devices = if testing::simulator().is_some() { &["cpu", "sim"][..] } else { &["cpu"] };
    for (storage, devices) in [("stored", devices), ("direct", devices), ("table", &devices[1..])] {
        for device in devices {
            let other = solved(&[
                &file(&format!("states = 3\nstorage = \"{storage}\"\n[solve]\ncertify = false\n")),
                "--device",
                device,
            ]);
            assert_close(&numbers(&other["energies"]), &numbers(&expected["energies"])[..3], 1e-9);
            assert_eq!(other["storage"].as_str(), Some(storage));
        }
    }
    complex_dipole(folder.path(), &file, u);
    let mut npz = ndarray_npy::NpzReader::new(std::fs::File::open(out.join("density.npz")).unwrap()).unwrap();
    let gamma: ndarray::Array2<Complex64> = npz.by_name("gamma_alpha").unwrap();
    assert!((gamma[[0, 1]] - gamma[[1, 0]].conj()).norm() < 1e-12 && gamma[[0, 1]].im.abs() > 0.1, "{gamma}");
    let mut npz = ndarray_npy::NpzReader::new(std::fs::File::open(out.join("vectors.npz")).unwrap()).unwrap();
    let vectors: ndarray::Array2<Complex64> = npz.by_name("vectors").unwrap();
    assert_eq!(vectors.dim(), (4, 4));
    for stage in ["ir", "cost", "plan", "cuda"] {
        let output = run(&["inspect", &input, "--stage", stage]);
        assert_eq!(output.status.code(), Some(0), "{stage}: {}", stderr(&output));
    }
    for (more, part) in [
        ("storage = \"table\"\n", "tables are of spaces up to a level of excitation, on one card"),
        ("storage = \"direct\"\nformat = \"csr\"\n", "a format is of a stored matrix"),
        ("format = \"symmetric\"\n", "format = \"symmetric\" needs real orbitals"),
        ("basis = \"csf\"\n", "basis = \"csf\" needs real orbitals"),
        ("two_s = 0\n", "`two_s` needs real orbitals"),
        ("dipole = \"turned.FCIDUMP\"\n", "line 1: `&FCI` is not a number"),
        ("dipole = \"imaginary.dipole\"\n", "line 1: h(1, 1) = (5e-1,1e-1) of a one-"),
        ("dipole = \"conflict.dipole\"\n", "lines 1 and 2 of one component disagree on h(1, 2)"),
        ("states = 2\n[solve]\nsolver = \"olsen\"\n", "states = 2"),
        ("states = 5\n", "ask for at most 4"),
        ("[dmrg]\nstates = 20\n", "complex orbitals"),
    ] {
        let output = run(&["solve", &file(more), "--device", "cpu"]);
        let said = stderr(&output).replace('\n', " ").replace("│", " ");
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(output.status.code() == Some(2) && said.contains(part), "{more}: {said}");
    }
}

/// A dipole over turned orbitals: the moments and strengths of the real ones, on every device; density.npz has transitions.
fn complex_dipole(folder: &Path, file: &dyn Fn(&str) -> String, u: [[Complex64; 2]; 2]) {
    let real = [[[0.3, 0.9], [0.9, -0.2]], [[0.0, -0.4], [-0.4, 0.7]], [[0.1, 0.0], [0.0, 0.1]]];
    let pairs = [(0, 0), (0, 1), (1, 0), (1, 1)];
    let (mut plain, mut turned) = (String::new(), String::new());
    for component in real {
        for (p, q) in pairs {
            let value: Complex64 = pairs.iter().map(|(a, b)| u[p][*a].conj() * u[q][*b] * component[*a][*b]).sum();
            turned += &format!("({:e},{:e}) {} {} 0 0\n", value.re, value.im, p + 1, q + 1);
            plain += &format!("{} {} {} 0 0\n", component[p][q], p + 1, q + 1);
        }
        turned += "0.25 0 0 0 0\n";
        plain += "0.25 0 0 0 0\n";
    }
    std::fs::write(folder.join("plain.dipole"), plain).unwrap();
    std::fs::write(folder.join("turned.dipole"), turned).unwrap();
    std::fs::write(folder.join("imaginary.dipole"), "(0.5,0.1) 1 1 0 0\n0 0 0 0 0\n").unwrap();
    std::fs::write(folder.join("conflict.dipole"), "(0.5,0.1) 2 1 0 0\n(0.5,0.1) 1 2 0 0\n0 0 0 0 0\n").unwrap();
    let wish = |dipole: &str| format!("states = 4\ntransitions = true\ndensity = true\ndipole = \"{dipole}\"\n");
    let usual = self::file(folder, "H2_sto3g_0.74", &wish("plain.dipole"));
    let expected = solved(&[&usual, "--device", "cpu"]);
    let notes = |found: &Value| {
        found["warnings"].as_array().unwrap().iter().any(|note| note.to_string().contains("give --output DIR"))
    };
    assert!(notes(&expected), "{}", expected["warnings"]);
    let (input, out) = (file(&wish("turned.dipole")), folder.join("moments"));
    let found = solved(&[&input, "--device", "cpu", "--output", out.to_str().unwrap()]);
    assert!(!notes(&found));
    for (level, expected) in expected["dipoles"].as_array().unwrap().iter().enumerate() {
        assert_close(&numbers(&found["dipoles"][level]), &numbers(expected), 1e-7);
    }
    let list = |report: &Value| report["transitions"].as_array().unwrap().clone();
    assert_eq!(list(&found).len(), 6);
    let mut strongest = 0.0f64;
    for (found, expected) in list(&found).iter().zip(&list(&expected)) {
        let strength = expected["strength"].as_f64().unwrap();
        strongest = strongest.max(strength);
        assert_close(&[found["strength"].as_f64().unwrap()], &[strength], 1e-7);
        assert_eq!((found["complete"].as_bool(), found["cut"].as_bool()), (Some(true), Some(false)));
        let sum = |key: &str| numbers(&found[key]).iter().map(|part| part * part).sum::<f64>();
        assert_close(&[sum("dipole") + sum("imaginary")], &[strength], 1e-7);
    }
    assert!(strongest > 0.1, "{strongest}");
    let mut npz = ndarray_npy::NpzReader::new(std::fs::File::open(out.join("density.npz")).unwrap()).unwrap();
    let transition: ndarray::Array4<Complex64> = npz.by_name("transition_alpha").unwrap();
    for ((i, j, p, q), value) in transition.indexed_iter() {
        assert!((value - transition[[j, i, q, p]].conj()).norm() < 1e-12);
    }
    assert!(transition.iter().any(|value| value.im.abs() > 0.1));
}

/// Configuration state functions: the triplets of water, with whole numbers of ⟨S²⟩ where determinants with the same 2Sz have singlets too,
/// in any component, from a list of determinants, on the simulated device, and with densities; PySCF's energies as above.
#[test]
fn configuration_state_functions_of_water() {
    let folder = tempfile::tempdir().unwrap();
    let triplets = "basis = \"csf\"\ntwo_s = 2\nstates = 2\n";
    // tests/data/ci/csf.json: the two lowest of 2S = 2.
    let energies = [-74.617439138845, -74.513999055758];
    for (number, more) in (0..).zip([
        "",
        "two_sz = 0\n",
        "two_sz = -2\n",
        "storage = \"stored\"\nformat = \"hybrid\"\n[solve]\nsolver = \"davidson\"\n",
        "density = true\n",
        "storage = \"direct\"\n[solve]\nsolver = \"davidson\"\n",
        "storage = \"direct\"\n# sim\n[solve]\nsolver = \"davidson\"\n",
    ]) {
        let input = file(folder.path(), "H2O_sto3g_0.96", &format!("{triplets}{more}"));
        let out = folder.path().join(format!("out{number}"));
        let device = if more.contains("hybrid") || more.contains("# sim") { "sim" } else { "cpu" };
        let found = solved(&[&input, "--device", device, "--output", out.to_str().unwrap(), "--vectors"]);
        assert_close(&numbers(&found["energies"]), &energies, 1e-9);
        assert_close(&numbers(&found["s_squared"]), &[2.0, 2.0], 1e-9);
        let occupations = numbers(&found["natural_occupations"]);
        assert!((occupations.iter().sum::<f64>() - 10.0).abs() < 1e-10);
        assert_eq!(found["dimension"].as_u64(), Some(210));
        let asked = ["stored", "direct"].into_iter().find(|storage| more.contains(&format!("storage = \"{storage}\"")));
        assert!(asked.is_none() || found["storage"].as_str() == asked, "{more}");
        assert_eq!((found["ci"]["basis"].as_str(), found["ci"]["two_s"].as_u64()), (Some("csf"), Some(2)));
        assert!(out.join("vectors.npz").is_file());
    }
    let input = file(folder.path(), "H2O_sto3g_0.96", triplets);
    let shown = run(&["inspect", &input, "--stage", "cost"]);
    let text = stdout(&shown);
    assert!(text.contains("210 configuration state functions of") && text.contains("non-zeros"), "{text}");
    // By a list: the open-shell singlet of two orbitals has one function, and with it the closed shell.
    let list = "1111100 1111100\n1111010 1111100\n1111100 1111010\n";
    std::fs::write(folder.path().join("list.txt"), list).unwrap();
    for (two_s, dimension) in [(0, 2), (2, 1)] {
        let more = format!("basis = \"csf\"\ntwo_s = {two_s}\ntwo_sz = 0\nspace = {{ file = \"list.txt\" }}\n");
        let found = solved(&[&file(folder.path(), "H2O_sto3g_0.96", &more), "--device", "cpu"]);
        assert_eq!(found["dimension"].as_u64(), Some(dimension));
    }
}

/// Roots of one spin among determinants: the singlets and triplets of water one by one (csf.json), which without `two_s` stand between each
/// other, by both bases, whole and of an irrep, and of restricted orbitals where all holes and electrons are allowed.
#[test]
fn states_of_one_spin_among_determinants() {
    let folder = tempfile::tempdir().unwrap();
    let solved = |more: &str| {
        let input = file(folder.path(), "H2O_sto3g_0.96", more);
        let found = solved(&[&input, "--device", "cpu"]);
        (numbers(&found["energies"]), numbers(&found["s_squared"]), found)
    };
    let all = solved("states = 8\n");
    let of = |square: f64| -> Vec<f64> {
        let own = all.0.iter().zip(&all.1).filter(|(_, found)| (*found - square).abs() < 1e-4);
        own.map(|(energy, _)| *energy).collect()
    };
    let restricted = "space = { ras1 = 2, holes = 4, ras3 = 2, electrons = 4 }\n";
    for (two_s, square, dimension) in [(0, 0.0, 196), (2, 2.0, 210)] {
        let expected = of(square);
        assert!(expected.len() >= 3, "{all:?}");
        let states = expected.len();
        for more in ["", "two_sz = 0\n", "basis = \"csf\"\n", "storage = \"direct\"\n", restricted] {
            let (energies, squares, found) = solved(&format!("two_s = {two_s}\nstates = {states}\n{more}"));
            assert_close(&energies, &expected, 1e-9);
            assert_close(&squares, &vec![square; states], 1e-8);
            assert_eq!(found["dimension"].as_u64(), Some(dimension));
        }
    }
    // Singlets of irrep 2, tests/data/ci/csf.json.
    let (energies, squares, _) = solved("two_s = 0\nirrep = 2\nstates = 2\n");
    assert_close(&energies, &[-74.557897787694, -73.929725368205], 1e-9);
    assert_close(&squares, &[0.0, 0.0], 1e-9);
    // Levels of a closed shell have triplets too; both bases of a restricted space have the same.
    let level = solved("space = \"cisd\"\nstates = 6\n");
    let triplets: Vec<f64> = level.0.iter().zip(&level.1).filter(|(_, s)| **s > 1.0).map(|(e, _)| *e).collect();
    let (energies, ..) = solved(&format!("space = \"cisd\"\ntwo_s = 2\nstates = {}\n", triplets.len()));
    assert_close(&energies, &triplets, 1e-9);
    let restricted = "space = { ras1 = 3, holes = 1, ras3 = 2, electrons = 2 }\ntwo_s = 0\nstates = 3\n";
    let [first, second] = ["determinants", "csf"].map(|basis| solved(&format!("{restricted}basis = \"{basis}\"\n")).0);
    assert_close(&first, &second, 1e-9);
}

/// Table 1 of Mahmoud, Hoffmann and Reza (2018): H2O in 6-31G(d), 10 electrons in 19 orbitals.
#[test]
fn the_paper_s_counts() {
    let output = run(&["count", "--orbitals", "19", "--electrons", "10"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let rows: Vec<Vec<String>> = stdout(&output)
        .lines()
        .map(|line| line.split_whitespace().map(|word| word.replace(',', "")).collect())
        .collect();
    let table = [71, 2556, 42596, 391126, 2114666, 7147876, 15836556, 24490201, 29044751, 30046752];
    for (level, expected) in (1..).zip(table) {
        assert!(
            rows.iter().any(|row| row.len() == 3 && row[0] == format!("{level}") && row[1] == format!("{expected}"))
        );
    }
    let output = run(&["count", "--orbitals", "2", "--electrons", "5"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

/// Spins, occupations and observables may be left out, which is told where some were asked for; density matrices then are refused.
#[test]
fn averages_may_be_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let solve = |rest: &str| {
        let input = file(folder.path(), "H2_sto3g_0.74", rest);
        run(&["solve", &input, "--device", "cpu", "--json"])
    };
    let (whole, without) = (solve(""), solve("averages = false\n[observables]\npair = \"n(0, Up) * n(0, Down)\"\n"));
    let read = |output| -> Value { serde_json::from_str(stdout(output)).unwrap() };
    let (whole, without) = (read(&whole), read(&without));
    assert_eq!(whole["energies"], without["energies"]);
    assert!(!whole["s_squared"].as_array().unwrap().is_empty());
    assert_eq!(without["s_squared"], serde_json::json!([]));
    assert_eq!(without["natural_occupations"], serde_json::json!([]));
    assert!(without["warnings"].to_string().contains("averages = false"), "{}", without["warnings"]);
    let refused = solve("averages = false\ndensity = true\n");
    assert_eq!(refused.status.code(), Some(2));
    assert!(stdout(&refused).contains("density matrices are averages"), "{}", stdout(&refused));
}

/// What is stored, its plan, its text and its operator.
#[test]
fn the_matrix_can_be_inspected() {
    let folder = tempfile::tempdir().unwrap();
    let input = file(folder.path(), "H2O_631g_fc_0.96", "space = \"cisd\"\nformat = \"hybrid\"\n");
    let inspect = |stage: &str| run(&["inspect", &input, "--stage", stage]);
    let cost = stdout(&inspect("cost")).to_string();
    for part in ["98617 non-zeros", "ELLPACK", "hybrid, BOUNDARY", "as stored", "flop/byte"] {
        assert!(cost.contains(part), "{part}: {cost}");
    }
    assert!(stdout(&inspect("cuda")).contains("__global__") && stdout(&inspect("plan")).contains("rows: 1425"));
    // What several cards would send each other, by the card.
    let cards = stdout(&run(&["inspect", &input, "--stage", "plan", "--cards", "3"])).to_string();
    assert!(cards.contains("cards    3: each ") && cards.contains("from other cards a multiply"), "{cards}");
    assert!(cards.contains("card 2: ") && cards.contains("rows: 1425"), "{cards}");
    // Without a format its rows are computed in each product, on a card.
    let input_rows = file(folder.path(), "H2O_631g_fc_0.96", "space = \"cisd\"\n");
    let inspect_rows = |stage: &str| stdout(&run(&["inspect", &input_rows, "--stage", stage])).to_string();
    let cost = inspect_rows("cost");
    for part in ["stored ", "one warp per row", "direct, by model", "at most 9.8"] {
        assert!(cost.contains(part), "{part}: {cost}");
    }
    assert!(inspect_rows("plan").contains("slots: ") && inspect_rows("cuda").contains("first_row"));
    // Full CI goes without a matrix; the counts of both ways stand beside each other.
    let input_full = file(folder.path(), "H2O_sto3g_0.96", "frozen = 1\n");
    let inspect_full = |stage: &str| stdout(&run(&["inspect", &input_full, "--stage", stage])).to_string();
    let cost = inspect_full("cost");
    for part in ["stored ", "direct ", "a matrix of at most", "direct, by model", "one use", "tables as they are"] {
        assert!(cost.contains(part), "{part}: {cost}");
    }
    assert!(inspect_full("plan").contains("pair_tile: ") && inspect_full("cuda").contains("F_kl(L) = sum_J"));
    let input = file(folder.path(), "H2O_631g_fc_0.96", "space = \"cisd\"\nformat = \"hybrid\"\n");
    let inspect = |stage: &str| run(&["inspect", &input, "--stage", stage]);
    let operator = stdout(&inspect("ir")).to_string();
    for part in ["solved in CISD of 4 + 4 electrons: 1,425 determinants", "245025 states", "normal-ordered terms"] {
        assert!(operator.contains(part), "{part}: {operator}");
    }
}

/// The operator as data is that of exact diagonalisation, which finds the same ground state.
#[test]
fn the_operator_of_a_molecule_comes_back_from_its_data() {
    let folder = tempfile::tempdir().unwrap();
    let input = file(folder.path(), "H2_631g_1.20", "");
    let output = run(&["inspect", &input, "--stage", "ir-ron"]);
    let model = Model::from_ir(&OperatorIr::parse(stdout(&output)).unwrap()).unwrap();
    let energy = Dense::new(&model).run(&Device::cpu()).unwrap().energy();
    let solved = run(&["solve", &input, "--device", "cpu", "--json"]);
    let report: Value = serde_json::from_slice(&solved.stdout).unwrap();
    assert!((energy - report["energies"][0].as_f64().unwrap()).abs() < 1e-10, "{energy}: {report}");
}

/// The product's text of each way of multiplying is written; an edited one runs in the simulator and the report says so.
#[test]
fn the_kernels_of_a_molecule_are_dumped_edited_and_run() {
    if testing::simulator().is_none() {
        return;
    }
    let stored = "storage = \"stored\"\nformat = \"symmetric\"\n";
    for more in ["", "space = { excitations = 2 }\nstorage = \"direct\"\n", stored] {
        let folder = tempfile::tempdir().unwrap();
        let input = file(folder.path(), "H2_631g_1.20", more);
        let edits = folder.path().join("edits");
        let output = run(&["inspect", &input, "--dump", edits.to_str().unwrap(), "--kernel", "multiply"]);
        assert_eq!(output.status.code(), Some(0), "{more}: {}", stderr(&output));
        let mut files: Vec<_> = std::fs::read_dir(&edits).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.retain(|path| path.extension().is_some_and(|extension| extension == "cu"));
        assert_eq!(files.len(), 1, "{more}: {files:?}");
        let text = std::fs::read_to_string(&files[0]).unwrap();
        assert!(text.contains("multiply_finish"), "{more}");
        std::fs::write(&files[0], text + "\n// edited by hand\n").unwrap();
        let solve = ["solve", &input, "--device", "sim", "--override", edits.to_str().unwrap()];
        let output = run(&[&solve[..], &["--solver", "davidson"]].concat());
        let shown = stdout(&output);
        assert_eq!(output.status.code(), Some(0), "{more}: {shown}{}", stderr(&output));
        assert!(shown.starts_with("model") && shown.contains("OVERRIDDEN"), "{more}: {shown}{}", stderr(&output));
    }
}

/// Of a stored matrix a run takes one text for each number of vectors at once. All of them are dumped, under names of their own;
/// the report says of each whether the edited one ran, and the edited product is what the solver sees.
#[test]
fn every_text_of_a_stored_matrix_is_dumped_and_may_be_edited() {
    if testing::simulator().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let input = file(folder.path(), "H2_631g_1.20", "storage = \"stored\"\nformat = \"csr\"\n");
    let edits = folder.path().join("edits");
    let output = run(&["inspect", &input, "--dump", edits.to_str().unwrap(), "--kernel", "multiply"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let path = |name: &str| edits.join(format!("{name}.cu"));
    let names: Vec<String> =
        std::iter::once("ci_spmv".into()).chain((2..=8).map(|n| format!("ci_spmv_of_{n}"))).collect();
    let there = std::fs::read_dir(&edits).unwrap().count();
    assert!(there == 2 * names.len() && names.iter().all(|name| path(name).is_file()), "{there}");
    let solve = ["--device", "sim", "--solver", "davidson"];
    let as_generated = solved(&[&[input.as_str()], &solve[..]].concat());
    let taken = |report: &Value, name: &str| {
        let kernels = report["kernels"].as_array().unwrap();
        kernels.iter().find(|kernel| kernel["name"] == name).map(|kernel| kernel["overridden"].clone())
    };
    let ran: Vec<&String> = names.iter().filter(|name| taken(&as_generated, name).is_some()).collect();
    assert!(ran.len() > 1 && ran.iter().any(|name| name.as_str() == "ci_spmv"), "{ran:?}");
    // Every text that ran, and no other, is edited: each must be taken, whatever the number of vectors.
    for name in &ran {
        let text = std::fs::read_to_string(path(name)).unwrap();
        let mut doubled = text.replace("(value_t)sums[", "(value_t)2.0 * sums[");
        for vector in 0..8 {
            let read = format!("const sum_t sum_{vector} = ");
            doubled = doubled.replace(&format!("{read}sums["), &format!("{read}2.0 * sums["));
        }
        assert_ne!(doubled, text, "{name}");
        std::fs::write(path(name), doubled).unwrap();
    }
    let edited = solved(&[&[input.as_str(), "--override", edits.to_str().unwrap()], &solve[..]].concat());
    for name in ran {
        assert_eq!(
            (taken(&as_generated, name), taken(&edited, name)),
            (Some(false.into()), Some(true.into())),
            "{name}"
        );
    }
    // Twice H has twice its eigenvalue.
    let lowest = |report: &Value| numbers(&report["energies_without_constant"])[0];
    assert_close(&[lowest(&edited)], &[2.0 * lowest(&as_generated)], 1e-9);
}

/// π orbitals of N2 in PySCF's numbering, 6 7 2 3: the lowest energy of each irrep as PySCF 2.14 finds it with `wfnsym`. No determinant
/// has B2g: that point is told, and the sweep goes on.
#[test]
fn irreps_by_name_in_a_sweep() {
    let folder = tempfile::tempdir().unwrap();
    let more = "orbsym = \"pyscf\"\nirrep = { sweep = [\"Ag\", \"B1g\", \"B2g\", \"B1u\", \"Au\"] }\n";
    let input = file(folder.path(), "N2_sto3g_pi_pyscf", more);
    let output = run(&["solve", "--json", &input, "--device", "cpu"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("no determinant of the space has irrep 6"), "{}", stderr(&output));
    let record: Value = serde_json::from_str(stdout(&output)).unwrap();
    let found: Vec<f64> =
        record["points"].as_array().unwrap().iter().map(|point| numbers(&point["energies"])[0]).collect();
    assert_close(&found, &[-107.59948674776321, -106.91752838829859, -107.29847434742487, -107.23859828232817], 1e-9);

    let input = file(folder.path(), "N2_sto3g_pi_pyscf", "irrep = 1\n");
    let report = solved(&[&input, "--device", "cpu"]);
    assert!(report["warnings"].to_string().contains("Molpro's numbering"), "{}", report["warnings"]);
    let input = file(folder.path(), "N2_sto3g_pi_pyscf", "irrep = \"B1u\"\n");
    let output = run(&["solve", &input, "--device", "cpu"]);
    assert!(output.status.code() == Some(2) && stderr(&output).contains("point_group"), "{}", stderr(&output));

    // The same keys where the integrals are a term.
    let fcidump = super::gallery::root().join("tests/data/ci/N2_sto3g_pi_pyscf.FCIDUMP");
    let model = |keys: &str| {
        let path = folder.path().join("terms.toml");
        let lattice = "[lattice]\nsites = 4\nedges = []\n";
        let text = format!("[model]\nname = \"terms\"\nsite = \"electron\"\nfcidump = {fcidump:?}\n{keys}\n{lattice}");
        std::fs::write(&path, text).unwrap();
        run(&["solve", "--json", path.to_str().unwrap(), "--device", "cpu"])
    };
    let output = model("orbsym = \"pyscf\"\npoint_group = \"D2h\"");
    let report: Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_close(&numbers(&report["energies"]), &[-107.59948674776321], 1e-9);
    let output = model("point_group = \"C2v\"");
    // Lines are broken where the path of the checkout lets them.
    let said = super::command::words(&stderr(&output));
    assert!(output.status.code() == Some(2) && said.contains("ORBSYM = 6,7,2,3"), "{said}");
}
