//! The specification of a molecule's problem: integrals, determinants, and how their matrix is stored.

use super::fcidump::{IrrepLabel, SymmetryKeys};
use super::space::RestrictedActiveSpace;
use eigenforge_core::operator::MatrixStorage as Storage;
use eigenforge_product::sparse::{FormatChoice, format_choice};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The determinants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpaceSpec {
    /// All.
    Full,
    /// Up to this many electrons away from the reference.
    Excitations(usize),
    /// The determinants of a file.
    File(PathBuf),
    /// What restricted orbitals allow.
    Ras(RestrictedActiveSpace),
}

impl SpaceSpec {
    /// Its usual name.
    pub fn describe(&self) -> String {
        let names = ["reference", "CIS", "CISD", "CISDT", "CISDTQ"];
        match self {
            SpaceSpec::Full => "full CI".into(),
            SpaceSpec::Excitations(level) => match names.get(*level) {
                Some(name) => (*name).into(),
                None => format!("up to {level} excitations"),
            },
            SpaceSpec::Ras(ras) => ras.to_string(),
            SpaceSpec::File(path) => format!("determinants of {}", path.display()),
        }
    }
}

/// The functions that vectors are over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CiBasis {
    /// Determinants of one Sz.
    #[default]
    Determinants,
    /// Configuration state functions of one S.
    Csf,
}

impl CiBasis {
    /// Its words in a model file.
    pub const WORDS: [(&'static str, CiBasis); 2] = [("determinants", CiBasis::Determinants), ("csf", CiBasis::Csf)];
}

fn yes() -> bool {
    true
}

/// `[ci]`, with defaults filled in; paths as written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CiSpec {
    /// `fcidump`.
    pub fcidump: PathBuf,
    /// `space`.
    pub space: SpaceSpec,
    /// `basis`.
    #[serde(default)]
    pub basis: CiBasis,
    /// `two_s`.
    #[serde(default)]
    pub two_s: Option<i64>,
    /// `frozen`.
    pub frozen: usize,
    /// `orbitals`.
    pub orbitals: Option<usize>,
    /// `active`: numbers of orbitals from 1.
    #[serde(default)]
    pub active: Option<Vec<usize>>,
    /// `two_sz`.
    pub two_sz: Option<i64>,
    /// `irrep`.
    pub irrep: Option<IrrepLabel>,
    /// `orbsym` and `point_group`.
    #[serde(flatten)]
    pub symmetry: SymmetryKeys,
    /// `storage`.
    pub storage: Storage,
    /// `format`.
    #[serde(with = "format_choice")]
    pub format: FormatChoice,
    /// `dipole`.
    pub dipole: Option<PathBuf>,
    /// `density`.
    pub density: bool,
    /// `transitions`.
    #[serde(default)]
    pub transitions: bool,
    /// `averages`.
    #[serde(default = "yes")]
    pub averages: bool,
}
