//! The reference data as types: what `tests/data/*.json` hold.
//!
//! hubbard.json and spins.json: exact diagonalisation by two independent programs (own SciPy code, QuSpin), equal
//! to 12 digits or more. bethe_exact.json: Bethe ansatz. hubbard4x4.json: the 4×4 torus by momentum sectors.
//! Edges list each undirected pair once, weight included; eigenvalues ascend, counted with multiplicity.

use std::path::PathBuf;

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Reads one of the files, from EIGENFORGE_ROOT or this package's folder.
pub fn read<T: DeserializeOwned>(name: &str) -> T {
    let root =
        std::env::var_os("EIGENFORGE_ROOT").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    let path = root.join("tests").join("data").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A whole file of cases.
#[derive(Deserialize)]
pub struct File<Case> {
    pub cases: Vec<Case>,
}

/// A value for every site, or one for all.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
pub enum Sites {
    Same(f64),
    Each(Vec<f64>),
}

impl Sites {
    pub fn each(&self, sites: usize) -> Vec<f64> {
        match self {
            Sites::Same(value) => vec![*value; sites],
            Sites::Each(values) => values.clone(),
        }
    }
}

/// One Hubbard sector.
#[derive(Clone, Deserialize)]
pub struct HubbardCase {
    pub id: String,
    #[serde(rename = "L")]
    pub sites: usize,
    pub edges: Vec<(usize, usize, f64)>,
    #[serde(rename = "U")]
    pub u: Sites,
    pub nup: usize,
    pub ndn: usize,
    pub eps: Option<Vec<f64>>,
    pub dim: usize,
    pub eigenvalues: Vec<f64>,
    pub levels: Vec<(f64, usize)>,
    pub last_level_may_be_cut: bool,
    pub ground_degeneracy_in_sector: usize,
    pub ground_observables: HubbardObservables,
}

/// Averages over the ground multiplet of the sector.
#[derive(Clone, Deserialize)]
pub struct HubbardObservables {
    pub n_up: Vec<f64>,
    pub n_dn: Vec<f64>,
    pub double_occ: Vec<f64>,
    #[serde(rename = "SzSz")]
    pub szsz: Vec<Vec<f64>>,
    pub nn: Vec<Vec<f64>>,
    #[serde(rename = "SdotS")]
    pub sdots: Vec<Vec<f64>>,
}

/// One spin model with several sectors.
#[derive(Clone, Deserialize)]
pub struct SpinCase {
    pub id: String,
    #[serde(rename = "N")]
    pub sites: usize,
    #[serde(rename = "twoS")]
    pub two_s: u32,
    /// i, j, J_xy, J_z
    pub edges: Vec<(usize, usize, f64, f64)>,
    pub h: Option<Vec<f64>>,
    #[serde(rename = "D")]
    pub d: Option<Vec<f64>>,
    pub sectors: Vec<SpinSector>,
    #[serde(rename = "E0")]
    pub e0: f64,
    #[serde(rename = "ground_twoSz")]
    pub ground_two_sz: i64,
    pub ground_observables: SpinObservables,
}

/// One value of 2 Σ Sz.
#[derive(Clone, Deserialize)]
pub struct SpinSector {
    #[serde(rename = "twoSz")]
    pub two_sz: i64,
    pub dim: usize,
    pub eigenvalues: Vec<f64>,
    pub levels: Vec<(f64, usize)>,
}

/// Averages over the lowest multiplet of the sector `ground_two_sz`.
#[derive(Clone, Deserialize)]
pub struct SpinObservables {
    #[serde(rename = "Sz")]
    pub sz: Vec<f64>,
    #[serde(rename = "SzSz")]
    pub szsz: Vec<Vec<f64>>,
    #[serde(rename = "SdotS")]
    pub sdots: Vec<Vec<f64>>,
}

/// The Bethe-ansatz energies.
#[derive(Deserialize)]
pub struct Bethe {
    pub heisenberg_open: Vec<BetheSpins>,
    pub hubbard_open: Vec<BetheHubbard>,
    pub hubbard_ring: Vec<BetheHubbard>,
    pub xy_open: Vec<BetheSpins>,
}

/// An open spin-½ chain.
#[derive(Deserialize)]
pub struct BetheSpins {
    #[serde(rename = "N")]
    pub sites: usize,
    #[serde(rename = "E")]
    pub energy: f64,
}

/// A Hubbard chain or ring with N electrons, M of them down.
#[derive(Deserialize)]
pub struct BetheHubbard {
    #[serde(rename = "L")]
    pub sites: usize,
    #[serde(rename = "N")]
    pub electrons: usize,
    #[serde(rename = "M")]
    pub down: usize,
    #[serde(rename = "U")]
    pub u: f64,
    #[serde(rename = "E")]
    pub energy: f64,
}

/// The 4×4 torus.
#[derive(Deserialize)]
pub struct Torus {
    pub edges: Vec<(usize, usize, f64)>,
    pub cases: Vec<TorusCase>,
}

/// One filling of the torus; `e0` is the lowest of the scanned momenta.
#[derive(Deserialize)]
pub struct TorusCase {
    pub nup: usize,
    pub ndn: usize,
    #[serde(rename = "U")]
    pub u: f64,
    #[serde(rename = "E0_min_over_scanned_k")]
    pub e0: f64,
    #[serde(rename = "double_occ_per_site")]
    pub double_occ: f64,
}
