//! mps.npz: a state of DMRG that one can take away.

use super::command::{run, stderr, stdout};
use ndarray::{Array1, Array2, Ix1, Ix2, OwnedRepr};
use ndarray_npy::NpzReader;
use serde_json::Value;
use std::fs::{self, File};
use std::path::Path;

/// A state of mps.npz as amplitudes of configurations, a state of each position each, by the documented layout alone.
fn amplitudes(file: &Path, state: usize) -> (Vec<usize>, Vec<(Vec<usize>, f64)>) {
    let mut npz = NpzReader::new(File::open(file).unwrap()).unwrap();
    let sites: Array1<i64> = npz.by_name::<OwnedRepr<i64>, Ix1>("sites").unwrap();
    let mut rows: Vec<(Vec<usize>, Vec<f64>)> = vec![(Vec::new(), vec![1.0])];
    for p in 0..sites.len() {
        let width = npz.by_name::<OwnedRepr<i64>, Ix2>(&format!("bond_{state}_{}", p + 1)).unwrap().nrows();
        let blocks: Array2<i64> = npz.by_name::<OwnedRepr<i64>, Ix2>(&format!("blocks_{state}_{p}")).unwrap();
        let values: Array1<f64> = npz.by_name::<OwnedRepr<f64>, Ix1>(&format!("values_{state}_{p}")).unwrap();
        let states = npz.by_name::<OwnedRepr<i64>, Ix2>(&format!("charges_{p}")).unwrap().nrows();
        let mut next = Vec::new();
        for (configuration, left) in &rows {
            for s in 0..states {
                let mut right = vec![0.0; width];
                for block in blocks.rows().into_iter().filter(|block| block[0] as usize == s) {
                    let [l, ls, r, rs, first] = [1, 2, 3, 4, 5].map(|k| block[k] as usize);
                    for (i, j) in (0..ls).flat_map(|i| (0..rs).map(move |j| (i, j))) {
                        right[r + j] += left[l + i] * values[first + i * rs + j];
                    }
                }
                if right.iter().any(|value| *value != 0.0) {
                    next.push(([&configuration[..], &[s]].concat(), right));
                }
            }
        }
        rows = next;
    }
    let sites = sites.iter().map(|site| *site as usize).collect();
    (sites, rows.into_iter().map(|(configuration, row)| (configuration, row[0])).collect())
}

/// The energy of states of a file whose positions hold electrons: |0⟩, |↑⟩, |↓⟩, |↑↓⟩; words and sign of a configuration in the order of
/// vectors.npz, all ↑ before all ↓, sites ascending.
fn electrons(sites: &[usize], configuration: &[usize]) -> ([u64; 2], f64) {
    let modes: Vec<(usize, usize)> = sites
        .iter()
        .zip(configuration)
        .flat_map(|(site, state)| (0..2).filter(move |spin| state >> spin & 1 == 1).map(move |spin| (spin, *site)))
        .collect();
    let swaps =
        (0..modes.len()).flat_map(|b| (0..b).map(move |a| (a, b))).filter(|(a, b)| modes[*a] > modes[*b]).count();
    let word = |spin: usize| modes.iter().filter(|mode| mode.0 == spin).fold(0u64, |word, mode| word | 1 << mode.1);
    ([word(0), word(1)], if swaps % 2 == 0 { 1.0 } else { -1.0 })
}

fn solved(folder: &Path, name: &str, text: &str) -> Value {
    let input = folder.join(format!("{name}.toml"));
    fs::write(&input, text).unwrap();
    let out = folder.join(name);
    let arguments = ["solve", input.to_str().unwrap(), "--device", "cpu", "--json", "--vectors", "--output"];
    let output = run(&[&arguments[..], &[out.to_str().unwrap()]].concat());
    assert_eq!(output.status.code(), Some(0), "{name}: {}", stderr(&output));
    serde_json::from_str(stdout(&output)).unwrap()
}

/// Electrons on a ring whose sites stand in another order along the chain: amplitudes, with their signs, are those of exact diagonalisation.
#[test]
fn a_written_state_of_electrons_is_the_exact_one() {
    let folder = tempfile::tempdir().unwrap();
    let model = "[model]\nname = \"hubbard\"\nt = 1.0\nu = 3.0\npotential = [0.3, 0.0, -0.2, 0.1, 0.4]\n[lattice]\nkind = \"chain\"\nsize = 5\nboundary = \"periodic\"\n[sector]\nup = 3\ndown = 2\n";
    let exact = solved(folder.path(), "exact", &format!("{model}[solve]\nsolver = \"dense\"\nstates = 100\n"));
    solved(folder.path(), "chain", &format!("{model}[dmrg]\nstates = 100\ntargets = 2\norder = [2, 0, 3, 1, 4]\n"));
    let mut npz = NpzReader::new(File::open(folder.path().join("exact/vectors.npz")).unwrap()).unwrap();
    let vectors: Array2<f64> = npz.by_name::<OwnedRepr<f64>, Ix2>("vectors").unwrap();
    let [up, down] = ["up_states", "down_states"].map(|name| npz.by_name::<OwnedRepr<u64>, Ix1>(name).unwrap());
    let file = folder.path().join("chain/mps.npz");
    let energies: Vec<f64> = serde_json::from_value(exact["energies"].clone()).unwrap();
    // |⟨n|ψ⟩|² of all exact states n.
    let weights_of = |file: &Path, state: usize| -> Vec<f64> {
        let (sites, amplitudes) = amplitudes(file, state);
        assert_eq!(sites, [2, 0, 3, 1, 4]);
        let mut overlaps = vec![0.0; energies.len()];
        for (configuration, amplitude) in &amplitudes {
            let (words, sign) = electrons(&sites, configuration);
            let place = |list: &Array1<u64>, word: u64| list.iter().position(|own| *own == word).unwrap();
            let element = place(&up, words[0]) + up.len() * place(&down, words[1]);
            let column = vectors.column(element);
            overlaps.iter_mut().zip(column).for_each(|(sum, own)| *sum += sign * amplitude * own);
        }
        overlaps.into_iter().map(|overlap| overlap * overlap).collect()
    };
    for state in 0..2 {
        let weights = weights_of(&file, state);
        assert!((weights[state] - 1.0).abs() < 1e-8, "state {state}: {}", weights[state]);
    }
    // A state of fewer kept states has the energy that its report says.
    let cut = solved(folder.path(), "less", &format!("{model}[dmrg]\nstates = 12\norder = [2, 0, 3, 1, 4]\n"));
    let weights = weights_of(&folder.path().join("less/mps.npz"), 0);
    assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-11, "{weights:?}");
    let mean: f64 = weights.iter().zip(&energies).map(|(weight, energy)| weight * energy).sum();
    let told = cut["energies"][0].as_f64().unwrap();
    assert!((mean - told).abs() < 1e-9, "{mean} is not {told}");
    // The verb finds the same overlaps, and refuses another basis.
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let overlap = |a: &str, b: &str| run(&["overlap", &path(a), &path(b), "--json"]);
    let found_weights = |a: &str, b: &str| -> Vec<Vec<f64>> {
        let found: Value = serde_json::from_str(stdout(&overlap(a, b))).unwrap();
        serde_json::from_value(found["weights"].clone()).unwrap()
    };
    let own = found_weights("chain", "chain");
    for (i, j) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        assert!((own[i][j] - if i == j { 1.0 } else { 0.0 }).abs() < 1e-8, "{own:?}");
    }
    let less = found_weights("less", "chain")[0][0];
    assert!((less - weights[0]).abs() < 1e-4 && less < 0.99, "{less} is not {}", weights[0]);
    for (a, b, word) in [("chain", "exact", "the kind of basis states"), ("chain", "other", "its chain is not that of")]
    {
        if b == "other" {
            solved(folder.path(), b, &format!("{model}[dmrg]\nstates = 12\n"));
        }
        let refused = overlap(a, b);
        assert_eq!(refused.status.code(), Some(2));
        assert!(stderr(&refused).replace('\n', " ").contains(word), "{}", stderr(&refused));
    }
}

/// Spins of a ladder on a simulated card or the CPU: right-canonical tensors whose charges fit their bonds.
#[test]
fn written_tensors_are_canonical_and_conserve_charges() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[model]\nname = \"heisenberg\"\nj = 1.0\nspin = 1.0\n[lattice]\nkind = \"chain\"\nsize = 8\nboundary = \"open\"\n[sector]\ntwo_sz = 2\n[dmrg]\nstates = 20\n";
    solved(folder.path(), "spins", text);
    let mut npz = NpzReader::new(File::open(folder.path().join("spins/mps.npz")).unwrap()).unwrap();
    let mut table = |name: String| npz.by_name::<OwnedRepr<i64>, Ix2>(&name).unwrap();
    let bonds: Vec<Array2<i64>> = (0..=8).map(|b| table(format!("bond_0_{b}"))).collect();
    let blocks: Vec<Array2<i64>> = (0..8).map(|p| table(format!("blocks_0_{p}"))).collect();
    let charges: Vec<Array2<i64>> = (0..8).map(|p| table(format!("charges_{p}"))).collect();
    assert_eq!((bonds[0][[0, 0]], bonds[8][[0, 0]]), (0, 2));
    assert_eq!(charges[3].column(0).to_vec(), [-2, 0, 2]);
    for p in 0..8 {
        let values = npz.by_name::<OwnedRepr<f64>, Ix1>(&format!("values_0_{p}")).unwrap();
        let width = bonds[p].nrows();
        let mut products = Array2::<f64>::zeros((width, width));
        for row in blocks[p].rows() {
            let [s, l, ls, r, rs, first] = [0, 1, 2, 3, 4, 5].map(|k| row[k] as usize);
            for left in l..l + ls {
                for right in r..r + rs {
                    assert_eq!(bonds[p][[left, 0]] + charges[p][[s, 0]], bonds[p + 1][[right, 0]], "position {p}");
                }
            }
            let block = values.slice(ndarray::s![first..first + ls * rs]).to_shape((ls, rs)).unwrap().to_owned();
            let own = block.dot(&block.t());
            let mut to = products.slice_mut(ndarray::s![l..l + ls, l..l + ls]);
            to += &own;
        }
        let difference =
            (&products - &Array2::<f64>::eye(width)).iter().fold(0.0f64, |most, value| most.max(value.abs()));
        assert!(difference < 1e-10, "position {p}: {difference:e}");
    }
}
