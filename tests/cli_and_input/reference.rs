//! Model files against the reference data: each small case is written as TOML (edges, one value per bond or site), read,
//! made a model and diagonalised as a whole; energies and correlations must be those of the independent programs that
//! made tests/data (QuSpin and SciPy; their `versions` and `methods` are in the files).

use super::gallery::root;
use eigenforge::exact::Dense;
use eigenforge::input::ModelFile;
use eigenforge_runtime::Device;
use serde_json::Value;

/// Larger sectors are the solvers' tests.
const LARGEST: u64 = 600;

fn cases(file: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(root().join("tests/data").join(file)).unwrap();
    let data: Value = serde_json::from_str(&text).unwrap();
    data["cases"].as_array().unwrap().clone()
}

/// A JSON number or list of numbers is TOML as it stands.
fn toml(value: &Value) -> String {
    value.to_string()
}

fn column(edges: &Value, column: usize) -> String {
    let values: Vec<String> = edges.as_array().unwrap().iter().map(|edge| edge[column].to_string()).collect();
    format!("[{}]", values.join(", "))
}

fn pairs(edges: &Value) -> String {
    let pairs: Vec<String> =
        edges.as_array().unwrap().iter().map(|edge| format!("[{}, {}]", edge[0], edge[1])).collect();
    format!("[{}]", pairs.join(", "))
}

fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        number => vec![number.as_f64().unwrap()],
    }
}

fn close(id: &str, what: &str, found: impl IntoIterator<Item = f64>, expected: &Value) {
    let (found, expected): (Vec<f64>, Vec<f64>) = (found.into_iter().collect(), numbers(expected));
    assert_eq!(found.len(), expected.len(), "{id}: {what}");
    for (found, expected) in found.iter().zip(&expected) {
        assert!((found - expected).abs() < 1e-9, "{id}: {what}: {found} is not {expected}");
    }
}

#[test]
fn hubbard_files_give_the_reference_energies_and_correlations() {
    let mut checked = 0;
    for case in cases("hubbard.json").iter().filter(|case| case["dim"].as_u64().unwrap() <= LARGEST) {
        let id = case["id"].as_str().unwrap();
        let potential =
            if case["eps"].is_null() { String::new() } else { format!("potential = {}\n", toml(&case["eps"])) };
        let energies = numbers(&case["eigenvalues"]);
        let text = format!(
            "[model]\nname = \"hubbard\"\nt = 1.0\nu = {}\n{potential}[lattice]\nsites = {}\nedges = {}\n[sector]\nup = {}\n\
             down = {}\n[solve]\nstates = {}\n",
            toml(&case["U"]),
            case["L"],
            toml(&case["edges"]),
            case["nup"],
            case["ndn"],
            energies.len(),
        );
        let file = ModelFile::parse(id, &text).unwrap_or_else(|error| panic!("{error:?}"));
        assert_eq!(file.dimension(), case["dim"].as_u64().map(u128::from), "{id}");
        let model = file.to_model().unwrap();
        let solution = Dense::new(&model).states(file.solve.states).run(&Device::cpu()).unwrap();
        close(id, "energies", solution.energies().to_vec(), &case["eigenvalues"]);
        assert_eq!(
            solution.levels()[0].multiplicity as u64,
            case["ground_degeneracy_in_sector"].as_u64().unwrap(),
            "{id}"
        );
        let (found, expected) = (solution.observables().unwrap(), &case["ground_observables"]);
        close(id, "n_up", found.get("n_up").unwrap().values(), &expected["n_up"]);
        close(id, "n_dn", found.get("n_dn").unwrap().values(), &expected["n_dn"]);
        close(id, "double occupancy", found.get("double_occupancy").unwrap().values(), &expected["double_occ"]);
        close(id, "SzSz", found.get("szsz").unwrap().values(), &expected["SzSz"]);
        close(id, "nn", found.get("nn").unwrap().values(), &expected["nn"]);
        close(id, "S.S", found.get("sdots").unwrap().values(), &expected["SdotS"]);
        checked += 1;
    }
    assert!(checked >= 10, "only {checked} cases");
}

#[test]
fn spin_files_give_the_reference_energies_and_correlations() {
    let mut checked = 0;
    for case in cases("spins.json") {
        let id = case["id"].as_str().unwrap();
        let per_site = |key: &str, name: &str| match &case[key] {
            Value::Null => String::new(),
            list => format!("{name} = {}\n", toml(list)),
        };
        for sector in case["sectors"].as_array().unwrap() {
            if sector["dim"].as_u64().unwrap() > LARGEST {
                continue;
            }
            let energies = numbers(&sector["eigenvalues"]);
            let text = format!(
                "[model]\nname = \"xxz\"\nspin = {}\njxy = {}\njz = {}\n{}{}[lattice]\nsites = {}\nedges = {}\n[sector]\n\
                 two_sz = {}\n[solve]\nstates = {}\n",
                0.5 * case["twoS"].as_f64().unwrap(),
                column(&case["edges"], 2),
                column(&case["edges"], 3),
                per_site("h", "field"),
                per_site("D", "single_ion"),
                case["N"],
                pairs(&case["edges"]),
                sector["twoSz"],
                energies.len(),
            );
            let file = ModelFile::parse(id, &text).unwrap_or_else(|error| panic!("{error:?}"));
            assert_eq!(file.dimension(), sector["dim"].as_u64().map(u128::from), "{id}");
            let model = file.to_model().unwrap();
            let solution = Dense::new(&model).states(energies.len()).run(&Device::cpu()).unwrap();
            close(id, "energies", solution.energies().to_vec(), &sector["eigenvalues"]);
            if sector["twoSz"] == case["ground_twoSz"] {
                let (found, expected) = (solution.observables().unwrap(), &case["ground_observables"]);
                close(id, "Sz", found.get("sz").unwrap().values(), &expected["Sz"]);
                close(id, "SzSz", found.get("szsz").unwrap().values(), &expected["SzSz"]);
                close(id, "S.S", found.get("sdots").unwrap().values(), &expected["SdotS"]);
            }
            checked += 1;
        }
    }
    assert!(checked >= 30, "only {checked} sectors");
}
