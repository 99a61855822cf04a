//! Chains of orbitals: `[dmrg]` beside `[ci]`.
//!
//! In: tests/data/dmrg/orbitals.json (entropies, mutual information and Schmidt values of full CI vectors, in several orders) and the
//! FCIDUMP files of tests/data/ci. Out: energies to 1e-9, entropies to 1e-8; energies of every spin and irrep, densities and dipoles as full
//! CI has them; what is refused.

use eigenforge::dmrg::fiedler_order;
use eigenforge::input::InputFile;
use eigenforge::problem::run::{RunContext, Silent, solvable};
use eigenforge::report::{FamilyRecord, OrbitalsRecord, Outcome};
use ndarray::{Array2, Array4};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

fn folder() -> PathBuf {
    let root = std::env::var("EIGENFORGE_ROOT").unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/..").into());
    Path::new(&root).join("tests/data/ci")
}

fn parsed(text: &str) -> Result<InputFile, String> {
    InputFile::parse("orbitals.toml", text, &folder()).map_err(|error| format!("{error}: {error:?}"))
}

/// Solves a file and writes its files, if there is a folder for them.
fn outcome_on(device: &str, text: &str, output: Option<&Path>) -> Result<Outcome, String> {
    let problem = solvable(parsed(text)?).map_err(|error| error.to_string())?;
    let context = RunContext::new(Instant::now(), device, Arc::new(Silent));
    let solved = problem.solve(&context).map_err(|error| error.to_string())?;
    let outcome = solved.outcome.clone();
    solved.write(output).map_err(|error| error.to_string())?;
    Ok(outcome)
}

fn outcome(text: &str) -> Outcome {
    outcome_on("cpu", text, None).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

fn molecule(outcome: &Outcome) -> &OrbitalsRecord {
    let FamilyRecord::Chain(chain) = &outcome.family else { panic!("not a chain") };
    chain.molecule.as_ref().expect("a molecule")
}

fn assert_near(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < tolerance, "{what}: {found}, not {expected}");
    }
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

fn cases() -> Vec<Value> {
    let all: Value = serde_json::from_str(&super::data("orbitals.json")).unwrap();
    all["cases"].as_array().unwrap().clone()
}

/// A converged search: entropies follow the state to first order.
const CONVERGED: &str = "tolerance = 1e-14\nimprovement = 0.0";

/// Energies, entropies of orbitals and cuts, mutual information and Schmidt values in each order of the reference and in our own.
#[test]
fn entropies_equal_those_of_full_ci_vectors_in_every_order() {
    for case in cases() {
        let (name, reference) = (case["fcidump"].as_str().unwrap(), &case["orders"][0]);
        // O2 is a triplet of B1g.
        let irrep = if name.starts_with("O2") { 4 } else { 1 };
        let given = case["orders"].as_array().unwrap().iter();
        for order in given.map(Some).chain([None]) {
            let key = order.map_or(String::new(), |order| format!("order = {}", order["order"]));
            let text = format!("[ci]\nfcidump = {name:?}\nirrep = {irrep}\n[dmrg]\nstates = 256\n{CONVERGED}\n{key}\n");
            let outcome = outcome(&text);
            let (molecule, what) = (molecule(&outcome), format!("{name} {key}"));
            assert_near(&outcome.energies, &[reference["energy_total"].as_f64().unwrap()], 1e-9, &what);
            assert_near(&molecule.s_squared, &[reference["S2"].as_f64().unwrap()], 1e-8, &what);
            let entropies = numbers(&reference["single_orbital_entropies"]);
            assert_near(&molecule.orbital_entropies, &entropies, 1e-8, &what);
            for pair in reference["mutual_information_upper"].as_array().unwrap() {
                let (p, q) = (pair[0].as_u64().unwrap() as usize, pair[1].as_u64().unwrap() as usize);
                let found = [molecule.mutual_information[p][q], molecule.mutual_information[q][p]];
                assert_near(&found, &[pair[2].as_f64().unwrap(); 2], 2e-8, &what);
            }
            let Some(order) = order else { continue };
            assert_eq!(serde_json::to_value(&molecule.order).unwrap(), order["order"]);
            let FamilyRecord::Chain(chain) = &outcome.family else { panic!("not a chain") };
            for (cut, bond) in chain.search.cuts.iter().zip(order["bonds"].as_array().unwrap()) {
                assert_near(&[cut.entropy], &[bond["entropy"].as_f64().unwrap()], 1e-8, &what);
                let schmidt = numbers(&bond["first_schmidt_values"]);
                let found: Vec<f64> = cut.weights.iter().take(schmidt.len()).map(|weight| weight.sqrt()).collect();
                // A small Schmidt value has the error of its vector over itself.
                assert_near(&found, &schmidt[..found.len()], 1e-7, &what);
            }
        }
    }
}

/// No state of m discards less than the exact tail, and a converged one hardly more.
#[test]
fn the_discarded_weight_is_the_tail_of_the_schmidt_spectrum() {
    let case = &cases()[0];
    for m in [16, 32] {
        let text = format!(
            "[ci]\nfcidump = {}\n[dmrg]\nstates = [{m}]\nnoise = 0.0\norder = {}\n{CONVERGED}\n",
            case["fcidump"], case["orders"][0]["order"]
        );
        let outcome = outcome(&text);
        let FamilyRecord::Chain(chain) = &outcome.family else { panic!("not a chain") };
        let bonds = case["orders"][0]["bonds"].as_array().unwrap().iter();
        let tail = bonds.map(|bond| bond["discarded_weight_if_m"][m.to_string()].as_f64().unwrap()).fold(0.0, f64::max);
        let ratio = chain.discarded / tail;
        assert!((0.999..1.15).contains(&ratio), "m = {m}: {}, the exact tail is {tail}", chain.discarded);
    }
}

/// The order by the reference's mutual information is the reference's, forwards or backwards, where no components are equal.
#[test]
fn the_fiedler_order_of_the_mutual_information() {
    for case in cases().iter().filter(|case| case["id"].as_str().is_some_and(|id| id.starts_with('H'))) {
        let reference = &case["orders"][0];
        let n = case["norb"].as_u64().unwrap() as usize;
        let mut weights = vec![vec![0.0; n]; n];
        for pair in reference["mutual_information_upper"].as_array().unwrap() {
            let (p, q) = (pair[0].as_u64().unwrap() as usize, pair[1].as_u64().unwrap() as usize);
            (weights[p][q], weights[q][p]) = (pair[2].as_f64().unwrap(), pair[2].as_f64().unwrap());
        }
        let expected: Vec<usize> =
            numbers(&reference["fiedler_order_from_I"]).iter().map(|number| *number as usize - 1).collect();
        let mut found = fiedler_order(&weights).unwrap();
        if found != expected {
            found.reverse();
        }
        assert_eq!(found, expected, "{}", case["id"]);
    }
}

/// Every spin projection and irrep of small molecules, against full CI of the same keys.
#[test]
fn energies_of_every_spin_and_irrep_equal_full_ci() {
    let molecules = [
        ("LiH_sto3g_1.6", vec![0, 2, 4], vec![1, 2, 3, 4]),
        ("H6_chain_sto3g_1.0", vec![0, 2, 4, 6], vec![1, 5]),
        ("H2O_sto3g_0.96", vec![0, 2, 4], vec![1, 2, 3, 4]),
        ("NH2_sto3g_1.03", vec![1, 3], vec![1, 2, 3, 4]),
        ("H4_square_sto3g_1.2", vec![0, 2], vec![1, 2, 3, 4]),
    ];
    for (name, spins, irreps) in molecules {
        for two_sz in spins {
            let all = irreps.iter().map(|irrep| format!("irrep = {irrep}\n"));
            for irrep in all.chain([String::new()]) {
                let ci = format!("[ci]\nfcidump = \"{name}.FCIDUMP\"\ntwo_sz = {two_sz}\n{irrep}averages = false\n");
                let exact = outcome_on("cpu", &ci, None);
                let found = outcome_on("cpu", &format!("{ci}[dmrg]\nstates = 100\n"), None);
                match (exact, found) {
                    (Ok(exact), Ok(found)) => assert_near(&found.energies, &exact.energies, 1e-9, &ci),
                    (Err(_), Err(error)) => assert!(error.contains("has no state"), "{ci}{error}"),
                    (exact, found) => panic!("{ci}: {:?} and {:?}", exact.map(|_| ()), found.map(|_| ())),
                }
            }
        }
    }
}

fn arrays(folder: &Path) -> (Array2<f64>, Array2<f64>, Array4<f64>) {
    let file = std::fs::File::open(folder.join("density.npz")).unwrap();
    let mut npz = ndarray_npy::NpzReader::new(file).unwrap();
    let mut matrix = |name: &str| npz.by_name(name).unwrap();
    let (alpha, beta) = (matrix("gamma_alpha"), matrix("gamma_beta"));
    (alpha, beta, npz.by_name("gamma_two").unwrap())
}

/// Densities, natural occupations and dipole of a frozen core as configuration interaction has them, and E = Σ h γ + ½ Σ (pq|rs) Γ.
#[test]
fn densities_and_dipoles_equal_those_of_full_ci() {
    let temporary = tempfile::tempdir().unwrap();
    let dipole = temporary.path().join("dipole.txt");
    let one: String = (1..=7).map(|p| format!("{}.5 {p} {p} 0 0\n", p)).collect();
    std::fs::write(&dipole, format!("{one}0.5 0 0 0 0\n").repeat(3)).unwrap();
    for (name, keys) in [
        ("H2O_sto3g_0.96", "frozen = 1\norbitals = 5\nirrep = 1"),
        ("H2O_sto3g_0.96", "frozen = 1"),
        ("CH2_triplet_sto3g_1.08", "two_sz = 2\nirrep = 3"),
    ] {
        let ci = format!("[ci]\nfcidump = \"{name}.FCIDUMP\"\n{keys}\ndensity = true\ndipole = {dipole:?}\n");
        let [exact, found] = ["exact", "chain"].map(|name| temporary.path().join(name));
        let expected = outcome_on("cpu", &format!("{ci}[solve]\ntolerance = 1e-12\n"), Some(&exact)).unwrap();
        let outcome = outcome_on("cpu", &format!("{ci}[dmrg]\nstates = 200\n{CONVERGED}\n"), Some(&found)).unwrap();
        let FamilyRecord::Molecule(record) = &expected.family else { panic!("not a molecule") };
        let chain = molecule(&outcome);
        assert_near(&chain.natural_occupations, &record.natural_occupations, 1e-7, &ci);
        assert_near(chain.dipole.as_ref().unwrap(), record.dipole.as_ref().unwrap(), 1e-7, &ci);
        let ((alpha, beta, two), (own_alpha, own_beta, own_two)) = (arrays(&exact), arrays(&found));
        for (own, other) in [(&own_alpha, &alpha), (&own_beta, &beta)] {
            assert_near(own.as_slice().unwrap(), other.as_slice().unwrap(), 1e-7, &ci);
        }
        assert_near(own_two.as_slice().unwrap(), two.as_slice().unwrap(), 1e-7, &ci);
        if keys.contains("orbitals") {
            continue;
        }
        let integrals = eigenforge::ci::Integrals::read(folder().join(format!("{name}.FCIDUMP"))).unwrap();
        let (one, two) = (
            eigenforge::ci::OneBody { alpha: own_alpha, beta: own_beta, overlap: 1.0 },
            eigenforge::ci::TwoBody { values: own_two },
        );
        let energy = two.energy(&one, &integrals).unwrap();
        assert_near(&[energy], &outcome.energies, 1e-9, &ci);
    }
}

/// Several roots, and the same numbers from generated kernels on a simulated card.
#[test]
fn several_roots_and_the_simulated_card() {
    let ci = "[ci]\nfcidump = \"LiH_sto3g_1.6.FCIDUMP\"\nfrozen = 1\norbitals = 4\nirrep = 1\n";
    let exact = outcome(&format!("{ci}[solve]\nstates = 3\n"));
    let chain = format!("{ci}[dmrg]\nstates = 40\ntargets = 3\n");
    let cpu = outcome(&chain);
    assert_near(&cpu.energies, &exact.energies, 1e-9, "targets");
    let card = outcome_on("sim", &format!("{ci}[dmrg]\nstates = [16]\nsweeps = 4\n"), None).unwrap();
    let cpu = outcome(&format!("{ci}[dmrg]\nstates = [16]\nsweeps = 4\n"));
    assert_near(&card.energies, &cpu.energies, 1e-10, "card");
    assert_near(&molecule(&card).orbital_entropies, &molecule(&cpu).orbital_entropies, 1e-8, "card");
    assert_near(&molecule(&card).s_squared, &molecule(&cpu).s_squared, 1e-9, "card");
}

/// `fcidump` in `[model]` of terms: the same chain and the same report, with sites for orbitals.
#[test]
fn integrals_of_terms_take_the_same_road() {
    let fcidump = "fcidump = \"H2O_sto3g_0.96.FCIDUMP\"\n";
    let dmrg = format!("[dmrg]\nstates = 100\n{CONVERGED}\n");
    let terms = outcome(&format!(
        "[model]\nname = \"terms\"\nsite = \"electron\"\n{fcidump}[lattice]\nsites = 7\nedges = []\n{dmrg}"
    ));
    let ci = outcome(&format!("[ci]\n{fcidump}{dmrg}"));
    assert_near(&terms.energies, &ci.energies, 1e-10, "terms");
    let (terms, ci) = (molecule(&terms), molecule(&ci));
    assert_near(&terms.orbital_entropies, &ci.orbital_entropies, 1e-8, "terms");
    // Sites count from 0, orbitals from 1.
    assert_eq!(terms.order.iter().map(|site| site + 1).collect::<Vec<_>>(), ci.order);
}

/// Three orbitals, which one site at a time does not always bring to the lowest state.
#[test]
fn three_orbitals_are_solved_with_two_sites_at_once() {
    let text = "[ci]\nfcidump = \"H2O_sto3g_0.96.FCIDUMP\"\nactive = [4, 5, 6]\n";
    let exact = outcome(text);
    let found = outcome(&format!("{text}[dmrg]\nstates = 50\nupdate = \"expanding\"\n"));
    assert_near(&found.energies, &exact.energies, 1e-9, "three orbitals");
}

#[test]
fn what_is_refused_is_named() {
    let refused = |keys: &str, rest: &str| -> String {
        let text = format!("[ci]\nfcidump = \"H2O_sto3g_0.96.FCIDUMP\"\n{keys}\n[dmrg]\nstates = 16\n{rest}\n");
        outcome_on("cpu", &text, None).map(|_| ()).expect_err(&text)
    };
    for key in
        ["space = \"cisd\"", "basis = \"csf\"", "storage = \"stored\"", "format = \"csr\"", "states = 2", "two_s = 2"]
    {
        let said = refused(key, "");
        let name = key.split(' ').next().unwrap();
        assert!(said.contains(&format!("`{name}` and `dmrg` cannot both be given")), "{said}");
    }
    let expect = |keys: &str, rest: &str, words: &[&str]| {
        let said = refused(keys, rest);
        assert!(words.iter().all(|word| said.contains(word)), "{said}");
    };
    expect("", "order = [1, 2, 3, 4, 5, 6, 8]", &["each of the 7 orbitals once, 1 to 7", "8, which is none of them"]);
    expect("frozen = 1", "order = [2, 3, 4, 5, 6, 6]", &["2 to 7", "6 twice"]);
    expect("frozen = 1", "order = [2, 3, 4, 5, 7]", &["2 to 7", "a list without 6"]);
    expect("", "mode = \"infinite\"", &["orbitals repeat nowhere"]);
    expect("irrep = \"Q\"", "", &["Q"]);
    expect("frozen = 6", "", &["6"]);
    expect("frozen = 2\norbitals = 2", "", &["2"]);
    expect("two_sz = 1", "", &["MS2 = 1"]);
    expect("", "[lattice]\nkind = \"chain\"", &["`lattice` and `ci`"]);
    expect("", "[solve]\nstates = 2", &["`solve` and `dmrg`"]);
    expect("active = [3, 4, 9]", "", &["`active`", "from 1 to 7", "found 9"]);
    expect("active = [3, 4]\nfrozen = 1", "", &["`frozen` and `active` cannot both be given"]);
    expect(
        "active = [3, 5, 6, 7]",
        "order = [3, 5, 6, 4]",
        &["each of the 4 orbitals once: 3, 5, 6, 7", "4, which is none"],
    );
    expect("dipole = \"nope\"", "", &["`dipole`", "nope"]);
    // Irreps that the integrals do not have: what they forbid is not left out.
    let text = std::fs::read_to_string(folder().join("H2O_sto3g_0.96.FCIDUMP")).unwrap();
    let line = text.lines().find(|line| line.contains("ORBSYM")).unwrap();
    let turned = text.replace(line, "  ORBSYM=1,3,1,1,2,1,3");
    assert_ne!(turned, text);
    let temporary = tempfile::tempdir().unwrap();
    let wrong = temporary.path().join("wrong.FCIDUMP");
    std::fs::write(&wrong, turned).unwrap();
    let keys = format!("[ci]\nfcidump = {wrong:?}\norbsym = \"molpro\"\nirrep = 1\n[dmrg]\nstates = 16\n");
    let said = parsed(&keys).unwrap_err();
    assert!(said.contains("ORBSYM does not fit the integrals"), "{said}");
    let temporary = tempfile::tempdir().unwrap();
    let many = temporary.path().join("many.FCIDUMP");
    std::fs::write(&many, "&FCI NORB=40,NELEC=4,MS2=0,\n&END\n1.0 1 1 1 1\n0.0 0 0 0 0\n").unwrap();
    let said = parsed(&format!("[ci]\nfcidump = {many:?}\n[dmrg]\nstates = 16\n")).unwrap_err();
    assert!(said.contains("at most 30 orbitals, found 40") && said.contains("`frozen`"), "{said}");
}
