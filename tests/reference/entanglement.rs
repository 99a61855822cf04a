//! Reduced density matrices of ground states beside explicit ones (tests/data/evolution/entanglement.json; at U = 0 also by the correlation
//! matrix, the ring of 12 also by QuSpin): von Neumann and second Rényi entropies, the largest eigenvalues, of contiguous and scattered sets.

use super::cases::{File, read};
use eigenforge::basis::{Down, Up};
use eigenforge::exact::{InSector, Lanczos, Model, second_renyi_entropy, von_neumann_entropy};
use eigenforge::operator::{Operator, Spin, build};
use eigenforge_runtime::Device;
use serde::Deserialize;

#[derive(Deserialize)]
struct Case {
    id: String,
    #[serde(rename = "N")]
    sites: usize,
    #[serde(default, rename = "twoS")]
    two_s: u32,
    #[serde(default, rename = "U")]
    u: f64,
    #[serde(default)]
    up: usize,
    #[serde(default)]
    dn: usize,
    edges: Vec<Vec<f64>>,
    #[serde(rename = "E0")]
    energy: f64,
    #[serde(default)]
    two_sz: i64,
    subsets: Vec<Subset>,
}

#[derive(Deserialize)]
struct Subset {
    sites: Vec<usize>,
    von_neumann: f64,
    renyi2: f64,
    rdm_eigenvalues: Vec<f64>,
}

/// e^(iφ) O + h.c.
fn turned(phase: f64, operator: Operator) -> Operator {
    let turned = phase.cos() * operator.clone() + phase.sin() * operator.times_i();
    turned.clone() + turned.adjoint()
}

impl Case {
    fn model(&self) -> Model {
        let place = |edge: &[f64]| (edge[0] as usize, edge[1] as usize);
        if self.two_s > 0 {
            let bond = |edge: &Vec<f64>| {
                let (i, j) = place(edge);
                let phase = edge.get(4).copied().unwrap_or(0.0);
                0.5 * edge[2] * turned(phase, build::sp(i) * build::sm(j)) + edge[3] * (build::sz(i) * build::sz(j))
            };
            let sum = self.edges.iter().map(bond).fold(Operator::zero(), |a, b| a + b);
            return sum.spin(self.two_s).on_sites(self.sites).two_sz(self.two_sz).unwrap();
        }
        let bond = |edge: &Vec<f64>| {
            let (i, j) = place(edge);
            let hop = |spin| build::cdag(i, spin) * build::c(j, spin);
            -edge[2] * turned(edge.get(3).copied().unwrap_or(0.0), hop(Spin::Up) + hop(Spin::Down))
        };
        let pairs = (0..self.sites).map(|i| self.u * (build::n(i, Spin::Up) * build::n(i, Spin::Down)));
        let sum = self.edges.iter().map(bond).chain(pairs).fold(Operator::zero(), |a, b| a + b);
        sum.on_sites(self.sites).sector(Up(self.up), Down(self.dn)).unwrap()
    }
}

#[test]
fn density_matrices_of_ground_states_are_the_explicit_ones() {
    let mut compared = 0;
    for case in read::<File<Case>>("evolution/entanglement.json").cases {
        let model = case.model();
        let level = Lanczos::new(&model).tolerance(1e-13).run(&Device::cpu()).unwrap().level_states(0).unwrap();
        assert!((level.energy - case.energy).abs() < 1e-9, "{}: {}", case.id, level.energy);
        assert_eq!(level.states.len(), 1, "{}", case.id);
        let subsets: Vec<Vec<usize>> = case.subsets.iter().map(|subset| subset.sites.clone()).collect();
        let spectra = model.entanglement_spectra(&level.states, &subsets).unwrap();
        let spectra = spectra.into_iter().map(Result::unwrap);
        for (subset, spectrum) in case.subsets.iter().zip(spectra) {
            let name = format!("{} {:?}", case.id, subset.sites);
            let entropy = von_neumann_entropy(&spectrum);
            assert!((entropy - subset.von_neumann).abs() < 1e-9, "{name}: {entropy}");
            let renyi = second_renyi_entropy(&spectrum);
            assert!((renyi - subset.renyi2).abs() < 1e-9, "{name}: {renyi}");
            let close = |(found, wanted): (&f64, &f64)| (found - wanted).abs() < 1e-10;
            assert!(spectrum.iter().zip(&subset.rdm_eigenvalues).all(close), "{name}: {spectrum:?}");
            compared += subset.rdm_eigenvalues.len();
        }
    }
    assert!(compared > 200, "{compared}");
}
