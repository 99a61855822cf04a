//! Operators that other programs wrote, as keys of `[model]`.
//!
//! In: the value of a key, and what the sites carry. Out: an operator, or what is wrong with the text.
//!
//! | key | what it holds | the value |
//! |---|---|---|
//! | `pauli` | Pauli strings of OpenFermion or Qiskit | the text |
//! | `products` | products of the words of `[[term]]` at sites | the text |
//! | `quspin` | QuSpin's lists of couplings | JSON, or the name of a file |
//! | `xdiag` | XDiag's interactions | TOML, or the name of a file |
//! | `fcidump` | integrals over orbitals | the name of a file |
//! | `me2j` | an interaction of nucleons | the name of a file |
//!
//! Paths begin in the folder of the model file.

mod fcidump;
mod json;
mod me2j;
mod pauli;
mod products;
mod quspin;
mod xdiag;

use crate::ci::{Integrals, OrbitalSymmetry, SymmetryKeys};
use crate::observable::Names;
use crate::operator::{Charge, Operator, SiteKind, SiteSum};
use eigenforge_runtime::input_file::{FileKind, read_text};
use std::path::Path;

/// The program that wrote an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Program {
    /// OpenFermion or Qiskit.
    Pauli,
    /// Any that writes products of operators at sites.
    Products,
    /// QuSpin.
    QuSpin,
    /// XDiag, and Hydra before it.
    XDiag,
    /// Any program of quantum chemistry.
    Fcidump,
    /// Programs of nuclear structure.
    Me2j,
}

/// Keys beside those of files.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ImportKeys {
    /// What the model file says of ORBSYM.
    pub symmetry: SymmetryKeys,
    /// ħω of the one-body energies ħω (2n + l + 3/2) beside an interaction of nucleons.
    pub oscillator: f64,
}

/// What a text gives.
pub(super) struct Imported {
    /// The operator.
    pub operator: Operator,
    /// The operator in a line, for people.
    pub line: String,
    /// The sector that the text names, for a file without `[sector]`.
    pub sector: Vec<(Charge, i64)>,
    /// Integrals and irreps of a molecule.
    pub molecule: Option<(Integrals, OrbitalSymmetry)>,
    /// Charges that its sites have, for `charges` in `[sector]`.
    pub charges: Vec<SiteSum>,
}

impl Imported {
    /// An operator that names no sector.
    fn new(operator: Operator, line: String) -> Imported {
        Imported { operator, line, sector: Vec::new(), molecule: None, charges: Vec::new() }
    }
}

impl Program {
    /// All, with the key and what its value should be.
    pub(super) const ALL: [(Program, &'static str, &'static str); 6] = [
        (Program::Pauli, "pauli", "Pauli strings, such as \"0.5 [X0 Y1] + 0.2 [Z0]\""),
        (
            Program::Products,
            "products",
            "products at sites, such as \"-1.0 [cdag_up(0) c_up(1)] + 4.0 [n_up(0) n_dn(0)]\"",
        ),
        (Program::QuSpin, "quspin", "lists of QuSpin as JSON, or the name of a file that holds them"),
        (Program::XDiag, "xdiag", "interactions of XDiag as TOML, or the name of a file that holds them"),
        (Program::Fcidump, "fcidump", "the name of an FCIDUMP file"),
        (Program::Me2j, "me2j", "the name of an me2j file"),
    ];

    /// Reads the value of its key. `names` has the parameters of the model file, for couplings that have names; `keys` are those
    /// beside the file.
    ///
    /// # Errors
    /// What was expected and what was found.
    pub(super) fn read(
        self,
        value: &str,
        kinds: &[SiteKind],
        names: &Names<'_>,
        folder: &Path,
        keys: ImportKeys,
    ) -> Result<Imported, String> {
        match self {
            Program::Pauli => {
                let operator = pauli::read(value, kinds)?;
                let line = format!("{} Pauli strings", operator.len());
                Ok(Imported::new(operator, line))
            }
            Program::Products => {
                let operator = products::read(value, kinds)?;
                let line = format!("{} products of operators", operator.len());
                Ok(Imported::new(operator, line))
            }
            Program::QuSpin => {
                let text = text_of(value, folder)?;
                let (operator, count) = quspin::read(&text, kinds)?;
                let line = format!("{count} couplings in QuSpin's lists");
                Ok(Imported::new(operator, line))
            }
            Program::XDiag => {
                let (operator, count) = xdiag::read(&text_of(value, folder)?, kinds, names)?;
                let line = format!("{count} interactions of XDiag");
                Ok(Imported::new(operator, line))
            }
            Program::Fcidump => fcidump::read(&folder.join(value), kinds, keys.symmetry),
            Program::Me2j => me2j::read(&folder.join(value), kinds, keys.oscillator),
        }
    }
}

/// The text itself, or the content of the file that it names: a text has a line feed or begins with a bracket.
fn text_of(value: &str, folder: &Path) -> Result<String, String> {
    if value.contains('\n') || value.trim_start().starts_with(['[', '{']) {
        return Ok(value.into());
    }
    let path = folder.join(value);
    read_text(&path, FileKind::MODEL).map_err(|error| format!("{}: {error}", path.display()))
}
