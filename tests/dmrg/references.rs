//! Energies of exact solutions and of a converged other program, with entropies of a third.

use eigenforge::basis::Sector;
use eigenforge::dmrg::{Chain, DmrgResult, Options, run};
use eigenforge::lattice::Lattice;
use eigenforge::models::{hubbard, xxz};
use eigenforge::operator::Operator;
use serde::Deserialize;

#[derive(Deserialize)]
struct File {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[allow(non_snake_case, reason = "the names of the file")]
struct Case {
    id: String,
    L: usize,
    /// [i, j, Jxy, Jz] or [i, j, t].
    edges: Vec<Vec<f64>>,
    twoS: Option<u32>,
    twoSz: Option<i64>,
    U: Option<f64>,
    nup: Option<usize>,
    ndn: Option<usize>,
    energy: f64,
    entropies: Vec<f64>,
}

impl Case {
    fn operator(&self) -> (Operator, Sector) {
        let n = self.L;
        let edges: Vec<_> = self.edges.iter().map(|e| (e[0] as usize, e[1] as usize, 1.0)).collect();
        let lattice = Lattice::from_edges(n, &edges).unwrap();
        let column = |k: usize| self.edges.iter().map(|edge| edge[k]).collect::<Vec<f64>>();
        match (self.nup, self.ndn) {
            (Some(up), Some(down)) => {
                let (u, none) = (vec![self.U.unwrap(); n], vec![0.0; edges.len()]);
                (hubbard(&lattice, &column(2), &u, &vec![0.0; n], 0.0, &none), Sector::Fermions { up, down })
            }
            _ => {
                let operator = xxz(&lattice, &column(2), &column(3), &vec![0.0; n], &vec![0.0; n]);
                (operator.spin(self.twoS.unwrap()), Sector::Spins { two_sz: self.twoSz.unwrap() })
            }
        }
    }
}

fn found(id: &str, states: usize) -> (Case, DmrgResult) {
    let file: File = serde_json::from_str(&super::data("references.json")).unwrap();
    let case = file.cases.into_iter().find(|case| case.id == id).unwrap();
    let (operator, sector) = case.operator();
    let chain = Chain::new(&operator, sector, None).unwrap();
    let options = Options { states: vec![states], tolerance: 1e-12, ..Options::default() };
    let found = run(&chain, &options, None, |_| {}).unwrap();
    (case, found)
}

/// Energy to 1e-9 and a variance below 1e-9; entropies of every cut to `entropy`.
fn check(id: &str, states: usize, entropy: f64) {
    let (case, found) = found(id, states);
    let variance = found.variance.unwrap();
    assert!((found.energy - case.energy).abs() < 1e-9, "{id}: {} is not {}", found.energy, case.energy);
    assert!(variance.abs() < 1e-9, "{id}: variance {variance}");
    assert_eq!(found.warnings, Vec::<String>::new(), "{id}");
    // White's transformation leaves a converged bond with a product or two.
    let last = found.sweeps.last().unwrap();
    assert!(last.products <= 4 * (case.L - 2), "{id}: {} products in the last sweep", last.products);
    assert_eq!(found.cuts.len(), case.entropies.len());
    for (cut, expected) in found.cuts.iter().zip(&case.entropies) {
        let at = cut.left_sites;
        assert!((cut.entropy - expected).abs() < entropy, "{id}, cut {at}: {} is not {expected}", cut.entropy);
    }
}

#[test]
fn heisenberg_chains_have_the_energies_of_the_bethe_ansatz() {
    check("heis_open16", 64, 1e-6);
    check("heis_open20", 80, 1e-6);
    check("heis_open32", 128, 1e-6);
}

#[test]
fn anisotropic_and_frustrated_chains() {
    check("xxz_open40_D0.5", 128, 1e-5);
    // Majumdar and Ghosh (1969): at J2 = J1/2 a product of singlets, −3/8 a site.
    check("j1j2_open32_0.5", 32, 1e-5);
}

#[test]
fn spin_one_chains() {
    check("spin1_open12_Sz0", 200, 1e-5);
    check("spin1_open32_Sz1", 256, 1e-5);
}

#[test]
fn hubbard_chains_have_the_energies_of_lieb_and_wu() {
    check("hub_open8_44_U4", 256, 1e-5);
    check("hub_open12_66_U4", 450, 1e-5);
    check("hub_open16_88_U8", 400, 1e-5);
}

/// A state that is truncated is an upper bound, and the reported variance and weight say how good it is.
#[test]
fn few_states_give_an_upper_bound_and_say_how_far_it_is() {
    let (case, found) = found("heis_open32", 16);
    let above = found.energy - case.energy;
    let variance = found.variance.unwrap();
    assert!(above > 1e-7 && above < 1e-3, "{above} above the exact energy");
    assert!(variance > 0.1 * above && variance < 1e2 * above, "variance {variance} for an error of {above}");
    assert!(found.sweeps.last().unwrap().discarded > 1e-9);
}
