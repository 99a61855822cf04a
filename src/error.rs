//! One error for a program that uses several parts of the library: every error becomes an [`Error`] by `?`.
//!
//! Each part has an error of its own, whose variants carry the values at fault. [`Error`] has one variant for each of these, and
//! answers what a program asks of any of them: is the input at fault or the machine, and did a kernel not compile?

use crate::ci::{
    CiError, CountError, CsfError, DensityError, DirectError, FcidumpError, LoweringError, MatrixError, MoleculeError,
    OnTheFlyError, OneElectronError, SpaceError, StorageError, WindowError,
};
use crate::dmrg::DmrgError;
use crate::exact::{PrepareError, RunError, ShareError};
use crate::export::ExportError;
use crate::files::ReportError;
use crate::input::{Family, InputError, InputFile, MatrixFileError, TooManyStates};
use crate::lattice::LatticeError;
use crate::observable::ReadError;
use crate::operator::OperatorError;
use crate::path::{FamilyError, FamilyFault, IrError, StageError};
use crate::processes::WithoutMpi;
use crate::report::CurveReport;
use crate::sparse::{CsrError, LayoutError, MatrixMarketError, NpzError, SparseError};
use crate::spmv::SpmvError;
use crate::su3::{DeviceTransformError, InteractionError, Overflow, TableError, TeamError, TransformError};
use eigenforge_product::HermitianError;
use eigenforge_runtime::interrupt::Interrupted;
use eigenforge_runtime::jit::{CompileFailure, JitError};
use eigenforge_runtime::lock::InUse;
use eigenforge_runtime::trace::AlreadyRecording;
use eigenforge_runtime::{DeviceError, SolveError};
use eigenforge_su3::LabelError;

/// The result of what can fail with any error of the library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Any error of the library. A solve that did not converge is not an error; its result reports it.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum Error {
    /// A model file; shown with an excerpt of its text by programs that use `miette`.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Input(#[from] InputError),
    /// More states than the sector has.
    #[error(transparent)]
    States(#[from] TooManyStates),
    /// A lattice that cannot be built.
    #[error(transparent)]
    Lattice(#[from] LatticeError),
    /// An operator, or its sector.
    #[error(transparent)]
    Operator(#[from] OperatorError),
    /// The text of an observable.
    #[error(transparent)]
    Observable(#[from] ReadError),
    /// An operator in RON.
    #[error(transparent)]
    Ir(#[from] IrError),
    /// Processes that cannot work together.
    #[error(transparent)]
    Processes(#[from] WithoutMpi),
    /// Exact diagonalisation.
    #[error(transparent)]
    Exact(#[from] RunError),
    /// Files of a molecule: integrals, determinants, orbitals.
    #[error(transparent)]
    Molecule(#[from] MoleculeError),
    /// An operator that cannot be written with integrals of a molecule.
    #[error(transparent)]
    Lowering(#[from] LoweringError),
    /// Counting determinants.
    #[error(transparent)]
    Count(#[from] CountError),
    /// Configuration interaction.
    #[error(transparent)]
    Ci(#[from] CiError),
    /// A Hermitian matrix.
    #[error(transparent)]
    Hermitian(#[from] HermitianError),
    /// Density matrices.
    #[error(transparent)]
    Density(#[from] DensityError),
    /// DMRG.
    #[error(transparent)]
    Dmrg(#[from] DmrgError),
    /// Sparse matrices.
    #[error(transparent)]
    Sparse(#[from] SparseError),
    /// A Matrix Market file.
    #[error(transparent)]
    MatrixMarket(#[from] MatrixMarketError),
    /// Reading and timing a sparse matrix.
    #[error(transparent)]
    Spmv(#[from] SpmvError),
    /// Labels of SU(3) irreps.
    #[error(transparent)]
    Labels(#[from] LabelError),
    /// A table of matrix elements or strengths.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A nucleon–nucleon interaction.
    #[error(transparent)]
    Interaction(#[from] InteractionError),
    /// An SU(3) transform.
    #[error(transparent)]
    Transform(#[from] TransformError),
    /// An option or a verb that has no meaning for a kind of problem.
    #[error("{what} is not available for {family}: {why}")]
    NotOfFamily {
        /// What was asked for.
        what: String,
        /// The kind of problem.
        family: Family,
        /// Why it has no meaning.
        why: String,
    },
    /// Numbers too large to add up.
    #[error(transparent)]
    Overflow(#[from] Overflow),
    /// A stage of a problem that cannot be shown.
    #[error(transparent)]
    Stage(#[from] StageError),
    /// The device.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The eigensolver.
    #[error(transparent)]
    Solve(#[from] SolveError),
    /// The compiler of kernels, or its cache.
    #[error(transparent)]
    Jit(#[from] JitError),
    /// A report that cannot be written.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// H that cannot be written for other programs.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// Observables over complex orbitals.
    #[error("averages are taken over real orbitals, and these are complex; density = true writes γ and Γ")]
    ComplexOrbitals,
    /// Determinants of more than 64 orbitals, which vectors.npz cannot hold.
    #[error("{orbitals} orbitals: vectors.npz holds determinants as words of 64 bits; leave --vectors out")]
    WideStrings {
        /// Orbitals of the space.
        orbitals: usize,
    },
    /// A point of a sweep that was not solved.
    #[error("the point {at} of the sweep was not solved")]
    Point {
        /// "u = 4".
        at: String,
        /// Why.
        source: Box<Error>,
    },
    /// What stopped another rank.
    #[error("{message}")]
    OfRank {
        /// In its words.
        message: String,
        /// Whether its input was at fault.
        of_the_input: bool,
        /// Whether it was a symmetry sector without states.
        no_states: bool,
    },
    /// A folder that another run uses.
    #[error(transparent)]
    InUse(#[from] InUse),
    /// A signal ended the run.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// A trace is being recorded already.
    #[error(transparent)]
    Trace(#[from] AlreadyRecording),
    /// Reading or writing.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The error of a program that stands on the library, by [`Error::other`].
    #[error(transparent)]
    Other(FamilyFault),
}

impl Error {
    /// The error that an option or a verb has no meaning for a kind of problem.
    pub fn not_of_family(family: Family, what: impl Into<String>, why: impl Into<String>) -> Error {
        Error::NotOfFamily { what: what.into(), family, why: why.into() }
    }

    /// A file that is not of a family with curves of this kind, or is a sweep.
    pub(crate) fn without_curves<R: CurveReport>(file: &InputFile) -> Error {
        let why = match file {
            InputFile::Sweep(_) => "it is of one point: sweep_curves makes those of a sweep",
            _ => R::FAMILIES.1,
        };
        Error::not_of_family(Family::from_file(file), R::VERB, why)
    }

    /// Wraps the error of a program that stands on the library.
    pub fn other(error: impl FamilyError) -> Error {
        Error::Other(FamilyFault::new(error))
    }

    /// Whether the user's input is at fault, not the machine.
    pub fn is_of_the_input(&self) -> bool {
        let own = match self {
            Error::Input(_) | Error::WideStrings { .. } | Error::NotOfFamily { .. } | Error::Processes(_) => true,
            Error::Report(ReportError::Unusable { .. }) => true,
            Error::Report(ReportError::Write { source, .. }) => {
                source.raw_os_error().is_none() && source.kind() == std::io::ErrorKind::InvalidInput
            }
            Error::Stage(error) => error.is_of_the_input(),
            Error::Point { source, .. } => source.is_of_the_input(),
            Error::OfRank { of_the_input, .. } => *of_the_input,
            other => other.family().is_some_and(FamilyError::is_of_the_input),
        };
        // An edited kernel that does not fit is the user's.
        own || matches!(self.jit(), Some(JitError::Override(_)))
    }

    /// The compiler's error, if that was the cause.
    pub fn jit(&self) -> Option<&JitError> {
        match self {
            Error::Jit(error) => Some(error),
            Error::Stage(error) => error.jit(),
            Error::Point { source, .. } => source.jit(),
            other => other.family()?.device()?.jit(),
        }
    }

    /// Whether the device has too little memory.
    pub(crate) fn needs_more_memory(&self) -> bool {
        let device = self.family().and_then(FamilyError::device);
        matches!(device, Some(DeviceError::Memory { .. }))
    }

    /// Whether several cards were named for what takes one.
    pub(crate) fn takes_one_card(&self) -> bool {
        let device = self.family().and_then(FamilyError::device);
        matches!(device, Some(DeviceError::SeveralCards { .. }))
    }

    /// The kernel that did not compile, if that was the cause.
    pub fn compile_failure(&self) -> Option<&CompileFailure> {
        if let Some(JitError::Compile(failure)) = self.jit() { Some(failure) } else { None }
    }

    /// The error of the part it comes from.
    fn family(&self) -> Option<&dyn FamilyError> {
        Some(match self {
            Error::States(error) => error,
            Error::Lattice(error) => error,
            Error::Operator(error) => error,
            Error::Observable(error) => error,
            Error::Ir(error) => error,
            Error::Exact(error) => error,
            Error::Molecule(error) => error,
            Error::Lowering(error) => error,
            Error::Count(error) => error,
            Error::Ci(error) => error,
            Error::Hermitian(error) => error,
            Error::Dmrg(error) => error,
            Error::Sparse(error) => error,
            Error::MatrixMarket(error) => error,
            Error::Spmv(error) => error,
            Error::Table(error) => error,
            Error::Interaction(error) => error,
            Error::Transform(error) => error,
            Error::Overflow(error) => error,
            Error::Device(error) => error,
            Error::Solve(error) => error,
            Error::Export(error) => error,
            Error::Other(error) => error.family(),
            _ => return None,
        })
    }
}

eigenforge_core::errors_of_the_input!(InputError, TooManyStates);

impl FamilyError for Error {
    fn is_of_the_input(&self) -> bool {
        Error::is_of_the_input(self)
    }

    fn device(&self) -> Option<&DeviceError> {
        self.family()?.device()
    }
}

impl FamilyError for SpmvError {
    fn is_of_the_input(&self) -> bool {
        SpmvError::is_of_the_input(self)
    }

    fn device(&self) -> Option<&DeviceError> {
        match self {
            SpmvError::Device(error) => Some(error),
            SpmvError::Sparse(error) => error.device(),
            _ => None,
        }
    }
}

impl FamilyError for ExportError {
    fn is_of_the_input(&self) -> bool {
        ExportError::is_of_the_input(self)
    }
}

/// Errors of steps within a part.
macro_rules! within {
    ($($error:ty => $part:ty),* $(,)?) => {$(
        impl From<$error> for Error {
            fn from(error: $error) -> Error {
                <$part>::from(error).into()
            }
        }
    )*};
}
within!(
    PrepareError => RunError,
    ShareError => RunError,
    DeviceTransformError => TransformError,
    TeamError => TransformError,
    CsfError => MoleculeError,
    FcidumpError => MoleculeError,
    OneElectronError => MoleculeError,
    SpaceError => MoleculeError,
    WindowError => MoleculeError,
    MatrixError => CiError,
    DirectError => CiError,
    OnTheFlyError => CiError,
    StorageError => CiError,
    NpzError => MatrixFileError,
    CsrError => MatrixFileError,
    MatrixFileError => SpmvError,
    LayoutError => SparseError,
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::basis::{Down, Up};
    use crate::ci::Space;
    use crate::exact::InSector;
    use crate::input::InputFile;
    use crate::lattice::Lattice;
    use crate::operator::build;
    use crate::path::Stage;
    use eigenforge_runtime::Device;
    use std::error::Error as _;
    use std::path::Path;

    fn failure<T>(fails: impl FnOnce() -> Result<T>) -> Error {
        fails().err().unwrap()
    }

    #[test]
    fn every_part_fails_with_one_error_that_knows_whose_fault_it_is() {
        let missing = failure(|| Ok(InputFile::read(Path::new("/no/such/model.toml"))?));
        assert!(matches!(missing, Error::Input(_)) && missing.source().is_some(), "{missing}");
        let space = failure(|| Ok(Space::full(2, 3, 0)?));
        assert!(matches!(space, Error::Molecule(_)), "{space}");
        let lattice = failure(|| Ok(Lattice::square([0, 4]).check().map(drop)?));
        let sector = failure(|| Ok(build::sz(0).sector(Up(1), Down(0))?));
        let device = failure(|| Ok(Device::parse("tpu")?));
        for error in [missing, space, lattice, sector, device] {
            assert!(error.is_of_the_input() && error.jit().is_none(), "{error}");
        }
        let full = failure::<()>(|| Err(std::io::Error::other("the disk is full").into()));
        assert!(!full.is_of_the_input() && full.to_string() == "the disk is full", "{full}");
    }

    #[test]
    fn the_compilers_error_is_found_through_a_stage_and_a_device() {
        let model = build::sdots(0, 1).two_sz(0).unwrap();
        let stage = failure(|| Ok(model.inspect(Stage::Ptx, "sm_one")?));
        assert!(
            matches!(stage.jit(), Some(JitError::ArchName { .. })) && stage.compile_failure().is_none(),
            "{stage:?}"
        );
        let arch = || "sm_one".parse::<eigenforge_runtime::jit::Arch>().unwrap_err();
        let device = Error::from(RunError::Device(DeviceError::Jit(arch())));
        assert!(matches!(device.jit(), Some(JitError::ArchName { .. })) && !device.is_of_the_input(), "{device:?}");
    }

    #[test]
    fn a_program_has_errors_of_its_own() {
        #[derive(Debug, thiserror::Error)]
        #[error("the experiment disagrees")]
        struct Disagrees;
        impl FamilyError for Disagrees {}
        let error = Error::other(Disagrees);
        assert_eq!((error.to_string().as_str(), error.is_of_the_input()), ("the experiment disagrees", false));
    }
}
