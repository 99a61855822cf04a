//! Where a matrix comes from: the word on the command line, and the matrix behind it; a file of a matrix to be diagonalised.

use super::section::{ParsedText, Section, Source};
use super::{InputError, InputFile, OutputSpec, SolveSpec, Wrong, checked, solve};
use crate::ci::{self, MatrixError, Molecule, MoleculeError};
use crate::path::FamilyError;
use crate::sparse::{Csr, CsrError, MatrixMarketError, NpzError, NumberKind, SYMMETRY, Triangle};
use crate::words::grouped;
use eigenforge_product::{HermitianMatrix, MatrixFault};
use eigenforge_runtime::input_file::{FileKind, OpenedFile, STANDARD_INPUT, TextFile, shown_name};
use eigenforge_runtime::say;
use eigenforge_templates::ScalarType;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Where a matrix comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MatrixSource {
    /// A Matrix Market file.
    MatrixMarket(PathBuf),
    /// A SciPy archive.
    Npz(PathBuf),
    /// The Hamiltonian of a file with `[ci]`.
    Molecule(PathBuf),
    /// Any of the above on standard input, known by its first bytes.
    StandardInput,
}

/// A name that is none of a matrix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a matrix; expected FILE.mtx or FILE.mtx.gz (Matrix Market), FILE.npz (scipy.sparse.save_npz of a CSR or CSC \
     matrix), FILE.toml with [ci], or - for standard input"
)]
pub struct MatrixNameError(String);

/// Why a matrix cannot be read or made.
#[derive(Debug, thiserror::Error)]
pub enum MatrixFileError {
    /// No such file, or none that may be read.
    #[error(
        "{}: {source}; expected the path of a matrix: FILE.mtx (Matrix Market), FILE.npz (scipy.sparse.save_npz of a CSR or CSC \
         matrix) or FILE.toml with [ci]", file.display()
    )]
    Missing {
        /// The file.
        file: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A Matrix Market file.
    #[error("{}: {wrong}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        wrong: MatrixMarketError,
    },
    /// A SciPy archive.
    #[error(transparent)]
    Npz(#[from] NpzError),
    /// Arrays that are no valid matrix.
    #[error(transparent)]
    Matrix(#[from] CsrError),
    /// Numbers that are not real.
    #[error("{}: a matrix of {kind} numbers where real ones are needed", file.display())]
    NotReal {
        /// The file.
        file: PathBuf,
        /// Its numbers.
        kind: NumberKind,
    },
    /// A matrix that is not Hermitian.
    #[error("{}: {fault}", file.display())]
    NotHermitian {
        /// The file.
        file: PathBuf,
        /// Why.
        fault: MatrixFault,
    },
    /// A model file.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A model file without `[ci]`, or with `[dmrg]` beside it.
    #[error(
        "{}: expected a file with [ci] and without [dmrg]; the Hamiltonian of a chain or of a model on a lattice is not stored as a matrix",
        file.display()
    )]
    NoMolecule {
        /// The file.
        file: PathBuf,
    },
    /// Integrals or determinants.
    #[error(transparent)]
    Molecule(#[from] MoleculeError),
    /// Matrix elements.
    #[error(transparent)]
    Elements(#[from] MatrixError),
}

impl FamilyError for MatrixFileError {
    fn is_of_the_input(&self) -> bool {
        !matches!(self, MatrixFileError::Elements(MatrixError::Memory(_)))
    }
}

impl FromStr for MatrixSource {
    type Err = MatrixNameError;
    fn from_str(text: &str) -> Result<MatrixSource, MatrixNameError> {
        let path = PathBuf::from(text);
        let unpacked = Path::new(text.strip_suffix(".gz").unwrap_or(text));
        match unpacked.extension().and_then(|extension| extension.to_str()) {
            _ if text == STANDARD_INPUT => Ok(MatrixSource::StandardInput),
            Some("mtx") => Ok(MatrixSource::MatrixMarket(path)),
            Some("npz") if unpacked == path => Ok(MatrixSource::Npz(path)),
            Some("toml") => Ok(MatrixSource::Molecule(path)),
            _ => Err(MatrixNameError(text.to_string())),
        }
    }
}

impl fmt::Display for MatrixSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MatrixSource::MatrixMarket(path) | MatrixSource::Npz(path) | MatrixSource::Molecule(path) => {
                let packed = path.extension().is_some_and(|extension| extension == "gz");
                let path = if packed { &path.with_extension("") } else { path };
                write!(f, "{}", path.file_stem().map_or_else(|| "matrix".into(), |name| name.to_string_lossy()))
            }
            MatrixSource::StandardInput => write!(f, "standard input"),
        }
    }
}

impl MatrixSource {
    /// Reads or makes a real matrix.
    ///
    /// # Errors
    /// The file's; numbers that are not real.
    pub fn read(&self, triangle: Triangle) -> Result<Csr, MatrixFileError> {
        let matrix = self.read_numbers(triangle)?;
        let kind = matrix.kind();
        matrix.into_real().ok_or_else(|| MatrixFileError::NotReal { file: self.path().into(), kind })
    }

    /// Reads or makes a matrix of any numbers.
    ///
    /// # Errors
    /// The file's.
    pub fn read_numbers(&self, triangle: Triangle) -> Result<Csr, MatrixFileError> {
        let source = self.opened()?;
        let matrix = source.numbers(triangle)?;
        match &source {
            MatrixSource::Npz(path) => {
                told_if_not_hermitian(path, &matrix, "; if the file holds the upper triangle, give --upper");
            }
            MatrixSource::MatrixMarket(path) => told_if_not_hermitian(path, &matrix, ""),
            MatrixSource::Molecule(_) | MatrixSource::StandardInput => {}
        }
        Ok(matrix)
    }

    /// The source with standard input told by its first bytes, if it can be opened.
    fn opened(&self) -> Result<MatrixSource, MatrixFileError> {
        if *self == MatrixSource::StandardInput {
            return MatrixSource::on_standard_input();
        }
        let path = self.path();
        OpenedFile::open(path, FileKind::MATRIX)
            .map_err(|source| MatrixFileError::Missing { file: path.into(), source })?;
        Ok(self.clone())
    }

    /// Its path.
    fn path(&self) -> &Path {
        match self {
            MatrixSource::MatrixMarket(path) | MatrixSource::Npz(path) | MatrixSource::Molecule(path) => path,
            MatrixSource::StandardInput => Path::new(STANDARD_INPUT),
        }
    }

    /// Reads or makes the matrix of an opened source.
    fn numbers(&self, triangle: Triangle) -> Result<Csr, MatrixFileError> {
        Ok(match self {
            MatrixSource::StandardInput => return MatrixSource::on_standard_input()?.numbers(triangle),
            MatrixSource::Npz(path) => Csr::read_npz(path, triangle)?,
            MatrixSource::Molecule(path) => {
                let molecule = read_molecule(path)?;
                match &molecule.csfs {
                    Some(csfs) => csfs.matrix(&molecule.integrals)?,
                    None => match &molecule.complex {
                        Some(complex) => ci::matrix(&**complex, &molecule.space, ci::THRESHOLD)?,
                        None => ci::matrix(&molecule.integrals, &molecule.space, ci::THRESHOLD)?,
                    },
                }
            }
            MatrixSource::MatrixMarket(path) => {
                let text = TextFile::open(path, FileKind::MATRIX)
                    .map_err(|source| MatrixFileError::Missing { file: path.clone(), source })?;
                let read = Csr::read_matrix_market(text);
                read.map_err(|wrong| MatrixFileError::File { file: path.clone(), wrong })?
            }
        })
    }

    fn on_standard_input() -> Result<MatrixSource, MatrixFileError> {
        let path = PathBuf::from(STANDARD_INPUT);
        let mut start = Vec::new();
        let missing = |source| MatrixFileError::Missing { file: path.clone(), source };
        let file = OpenedFile::open(&path, FileKind::MATRIX).map_err(missing)?;
        file.take(2).read_to_end(&mut start).map_err(missing)?;
        if start == b"PK" {
            return Ok(MatrixSource::Npz(path));
        }
        start.clear();
        TextFile::open(&path, FileKind::MATRIX)
            .and_then(|text| text.take(2).read_to_end(&mut start))
            .map_err(missing)?;
        Ok(match start.as_slice() {
            b"%%" => MatrixSource::MatrixMarket(path),
            _ => MatrixSource::Molecule(path),
        })
    }
}

/// A Hermitian matrix in a file, to be diagonalised.
#[derive(Debug, Clone)]
pub struct MatrixFile {
    /// Name of the file, as error messages and reports show it.
    pub name: String,
    /// What it holds, in a line, with a hash of the elements: kept for the report.
    pub text: String,
    /// The matrix.
    pub matrix: HermitianMatrix,
    /// How to solve: defaults, and what the command line changes.
    pub solve: SolveSpec,
    /// What to write.
    pub output: OutputSpec,
}

impl MatrixFile {
    /// Reads a file whose ending is that of a matrix, .mtx, .mtx.gz or .npz; `None` of other files, which are not opened.
    ///
    /// # Errors
    /// The file's; a matrix that is not Hermitian.
    pub fn read(path: &Path) -> Result<Option<MatrixFile>, MatrixFileError> {
        let source = path.to_str().and_then(|text| text.parse::<MatrixSource>().ok());
        let Some(source @ (MatrixSource::MatrixMarket(_) | MatrixSource::Npz(_))) = source else { return Ok(None) };
        let numbers = source.opened()?.numbers(Triangle::Full)?;
        Ok(Some(MatrixFile { name: shown_name(path), ..MatrixFile::new(path, numbers)? }))
    }

    /// A matrix of the caller's by the name that messages have for it.
    ///
    /// # Errors
    /// A matrix that is not Hermitian.
    pub fn new(name: impl AsRef<Path>, numbers: Csr) -> Result<MatrixFile, MatrixFileError> {
        let name = name.as_ref();
        let fault = |fault| MatrixFileError::NotHermitian { file: name.into(), fault };
        let matrix = HermitianMatrix::new(numbers).map_err(fault)?;
        let text = format!("{}, elements {}", MatrixFile::words(&matrix), matrix.identity());
        let (name, solve, output) = (name.display().to_string(), SolveSpec::default(), OutputSpec::default());
        Ok(MatrixFile { name, text, matrix, solve, output })
    }

    /// The same with the keys of `[solve]` and `[output]` in a text.
    ///
    /// # Errors
    /// Everything that is wrong with the text, each problem at its place.
    pub fn with_keys(self, text: &str) -> Result<MatrixFile, InputError> {
        let parsed = ParsedText::new(Source { text, folder: Path::new("") });
        let (solve, output) = checked(&self.name, text, |problems| {
            let keys = Section::new("", parsed.table(problems)?, 0..0, problems);
            let solve = keys.open("solve").map_or_else(SolveSpec::default, |section| solve::read(section, problems));
            if solve.precision != ScalarType::F64 {
                let why = "matrices are multiplied in f64 only; leave `precision` out";
                problems.add(keys.place("solve"), Wrong::Conflict { key: "precision", other: "a matrix", why });
            }
            if solve.storage.is_some() {
                let why = "the elements of a file are stored as they are: leave `storage` out";
                problems.add(keys.place("solve"), Wrong::Conflict { key: "storage", other: "a matrix", why });
            }
            let output = keys.open("output").map_or_else(OutputSpec::default, solve::read_output);
            keys.finish("section", |_| None);
            Some((solve, output))
        })?;
        Ok(MatrixFile { solve, output, ..self })
    }

    /// "complex Hermitian matrix of 144 rows, 576 non-zeros".
    fn words(matrix: &HermitianMatrix) -> String {
        let (rows, non_zeros) = (grouped(matrix.rows().into()), grouped(matrix.non_zeros().into()));
        let kind = match matrix.kind() {
            NumberKind::Real => "real symmetric matrix".into(),
            _ if matrix.is_times_i() => "i times a real skew-symmetric matrix".into(),
            kind => format!("{kind} Hermitian matrix"),
        };
        format!("{kind} of {rows} rows, {non_zeros} non-zeros")
    }

    /// What it holds, in words.
    pub fn describe(&self) -> String {
        MatrixFile::words(&self.matrix)
    }
}

/// The molecule of a model file.
///
/// # Errors
/// The file's.
pub fn read_molecule(path: &Path) -> Result<Molecule, MatrixFileError> {
    let InputFile::Ci(file) = InputFile::read(path)? else {
        return Err(MatrixFileError::NoMolecule { file: path.into() });
    };
    Ok(Molecule::read(&file.ci)?)
}

/// Says so if a file's matrix is not Hermitian: it may be multiplied, but it is no Hamiltonian.
fn told_if_not_hermitian(file: &Path, matrix: &Csr, hint: &str) {
    if let Err(wrong) = matrix.check_hermitian(SYMMETRY) {
        say!("{}: {wrong} (rows and columns from 0){hint}", file.display());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_told_by_their_names() {
        let source = |text: &str| text.parse::<MatrixSource>();
        assert_eq!(source("a/b.mtx").unwrap().to_string(), "b");
        assert!(matches!(source("water.npz"), Ok(MatrixSource::Npz(_))));
        assert_eq!(source("a/b.mtx.gz").unwrap().to_string(), "b");
        assert!(source("water.npz.gz").is_err());
        for wrong in ["water.txt", "synthetic:32768:7"] {
            let said = source(wrong).unwrap_err().to_string();
            assert!(said.contains(wrong) && said.contains("expected FILE.mtx"), "{said}");
        }
    }
}
