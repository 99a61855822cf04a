//! Everything that can stop the command, with its exit code.

use eigenforge::ci::count::CountError;
use eigenforge::ci::{CiError, DensityError, MoleculeError};
use eigenforge::dmrg::DmrgError;
use eigenforge::exact::{PrepareError, RunError};
use eigenforge::input::{InputError, TooManyStates};
use eigenforge::operator::OperatorError;
use eigenforge::path::{FamilyError, StageError};
use eigenforge::problem::Family;
use eigenforge::problem::run::SolveFailure;
use eigenforge::report::ReportError;
use eigenforge::sparse::SparseError;
use eigenforge::spmv::SpmvError;
use eigenforge::su3::TableError;
use eigenforge::su3::device::DeviceTransformError;
use eigenforge::su3::interaction::InteractionError;
use eigenforge::su3::output::Format;
use eigenforge::su3::summary::Overflow;
use eigenforge::su3::team::TeamError;
use eigenforge_benches::ci_direct::DirectBenchError;
use eigenforge_benches::dmrg::DmrgBenchError;
use eigenforge_benches::hubbard::BenchError;
use eigenforge_benches::su3::Su3BenchError;
use eigenforge_runtime::interrupt::Interrupted;
use eigenforge_runtime::jit::{CompileFailure, JitError};
use eigenforge_runtime::lock::InUse;
use eigenforge_runtime::trace::AlreadyRecording;
use eigenforge_runtime::{DeviceError, SolveError};
use eigenforge_su3::LabelError;
use miette::Diagnostic;
use std::path::PathBuf;

/// Why a verb did not do its work.
#[derive(Debug, thiserror::Error, Diagnostic)]
pub(super) enum CommandError {
    #[error(transparent)]
    #[diagnostic(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    States(#[from] TooManyStates),
    #[error(
        "--tolerance {tolerance:e} is less than vectors of f32 allow, {least:e}; give at least that, or leave precision = \"f32\" \
         out of the file"
    )]
    TooFine { tolerance: f64, least: f64 },
    #[error("--vectors needs a folder to write to: add --output DIR, or `folder` in the file's [output]")]
    VectorsWithoutFolder,
    #[error(
        "nothing was written, for these files are there and differ from what is generated, edited perhaps:\n  {}\nDump to \
         another folder, or overwrite them with --force", files.join("\n  ")
    )]
    WouldOverwrite { files: Vec<String> },
    #[error("{what} is not available for {family}: {why}")]
    NotOfFamily { what: String, family: Family, why: String },
    #[error("{option} has no effect {place}: {why}")]
    NoEffect { option: &'static str, place: String, why: String },
    #[error(
        "{option} times generated kernels, and the device is {device}, which runs none: run it on a card, --device cuda"
    )]
    NeedsCard { option: &'static str, device: String },
    #[error(transparent)]
    Dmrg(Box<DmrgError>),
    #[error(transparent)]
    Count(#[from] CountError),
    #[error(transparent)]
    Molecule(Box<MoleculeError>),
    #[error(transparent)]
    Density(Box<DensityError>),
    #[error("{orbitals} orbitals: vectors.npz holds determinants as words of 64 bits; leave --vectors out")]
    WideStrings { orbitals: usize },
    #[error(transparent)]
    Ci(Box<CiError>),
    #[error(transparent)]
    Model(Box<OperatorError>),
    #[error(transparent)]
    Prepare(Box<PrepareError>),
    #[error(transparent)]
    Run(Box<RunError>),
    #[error(transparent)]
    Device(Box<DeviceError>),
    #[error(transparent)]
    Stage(Box<StageError>),
    #[error(transparent)]
    Jit(Box<JitError>),
    #[error(transparent)]
    Report(#[from] ReportError),
    #[error(transparent)]
    Bench(Box<BenchError>),
    #[error(transparent)]
    DirectBench(Box<DirectBenchError>),
    #[error(transparent)]
    DmrgBench(Box<DmrgBenchError>),
    #[error(transparent)]
    Su3Bench(Box<Su3BenchError>),
    #[error(transparent)]
    Su3Device(Box<DeviceTransformError>),
    #[error(transparent)]
    Spmv(Box<SpmvError>),
    #[error(transparent)]
    Su3Table(Box<TableError>),
    #[error(transparent)]
    Su3Labels(Box<LabelError>),
    #[error("--algorithm paper is of elements into strengths; leave it or --inverse out")]
    Su3PaperInverse,
    #[error("{} is input and output at once; name another --output", path.display())]
    Su3SameFile { path: PathBuf },
    #[error("a table on standard input has no file beside which its output could stand: add --output OUT")]
    Su3NoOutput,
    #[error(transparent)]
    Su3Overflow(#[from] Overflow),
    #[error(
        "N_max = {n_max} needs {needed} for the largest group of quadruples (strengths are done group by group) beside {resident} \
         held all the time; {limit} are allowed: free memory or raise --memory, take a smaller --n-max, or give an input that is \
         not held, a .bin file or relative motion"
    )]
    Su3Memory { n_max: u32, needed: String, resident: String, limit: String },
    #[error(transparent)]
    Team(Box<TeamError>),
    #[error(
        "{size} processes were started together, and this eigenforge was built without MPI: build it with --features mpi, or \
         start one"
    )]
    WithoutMpi { size: usize },
    #[error("--format {} holds {holds}, what comes out are {found}", format.word())]
    Su3Format { format: Format, holds: &'static str, found: &'static str },
    #[error(transparent)]
    Su3Interaction(Box<InteractionError>),
    #[error(transparent)]
    Trace(#[from] AlreadyRecording),
    #[error(transparent)]
    InUse(#[from] InUse),
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    #[error("the cache in {}: {source}", folder.display())]
    Cache { folder: PathBuf, source: std::io::Error },
    #[error("cannot write to standard output: {0}")]
    Output(#[from] std::io::Error),
}

impl CommandError {
    /// 2 for what the user wrote, 1 for what happened.
    pub fn exit_code(&self) -> u8 {
        match self {
            CommandError::Input(_)
            | CommandError::States(_)
            | CommandError::VectorsWithoutFolder
            | CommandError::TooFine { .. }
            | CommandError::WouldOverwrite { .. }
            | CommandError::Molecule(_)
            | CommandError::Count(_)
            | CommandError::NotOfFamily { .. }
            | CommandError::NoEffect { .. }
            | CommandError::NeedsCard { .. }
            | CommandError::WideStrings { .. }
            | CommandError::Su3Table(_)
            | CommandError::Su3Format { .. }
            | CommandError::WithoutMpi { .. }
            | CommandError::Su3Interaction(_)
            | CommandError::Su3SameFile { .. }
            | CommandError::Su3PaperInverse
            | CommandError::Su3NoOutput
            | CommandError::Su3Overflow(_)
            | CommandError::Su3Memory { .. }
            | CommandError::Model(_) => 2,
            CommandError::Ci(error) if error.is_of_the_input() => 2,
            CommandError::Bench(error) if matches!(**error, BenchError::Input(_) | BenchError::NotHubbard { .. }) => 2,
            CommandError::Dmrg(error) if error.is_of_the_input() => 2,
            CommandError::Spmv(error) if error.is_of_the_input() => 2,
            CommandError::Stage(error) if error.is_of_the_input() => 2,
            _ if matches!(self.jit(), Some(JitError::Override(_))) => 2,
            CommandError::Device(error) if matches!(**error, DeviceError::UnknownDevice(_)) => 2,
            _ => 1,
        }
    }
}

impl CommandError {
    /// The compiler's error, through whichever stage it came.
    fn jit(&self) -> Option<&JitError> {
        match self {
            CommandError::Jit(error) => Some(error),
            CommandError::Device(error) => of_device(error),
            CommandError::Prepare(error) => of_prepare(error),
            CommandError::Ci(error) => error.device().and_then(of_device),
            CommandError::Stage(error) => error.jit(),
            CommandError::Dmrg(error) => error.device().and_then(of_device),
            CommandError::Run(error) => match &**error {
                RunError::Prepare(error) => of_prepare(error),
                RunError::Device(error) | RunError::Solve(SolveError::Device(error)) => of_device(error),
                _ => None,
            },
            CommandError::Bench(error) => match &**error {
                BenchError::Prepare(error) => of_prepare(error),
                BenchError::Device(error) | BenchError::Solve(SolveError::Device(error)) => of_device(error),
                _ => None,
            },
            CommandError::Su3Device(error) => match &**error {
                DeviceTransformError::Device(error) => of_device(error),
                _ => None,
            },
            CommandError::Spmv(error) => match &**error {
                SpmvError::Device(error) | SpmvError::Sparse(SparseError::Device(error)) => of_device(error),
                _ => None,
            },
            _ => None,
        }
    }

    /// A text that did not compile.
    pub fn compile_failure(&self) -> Option<&CompileFailure> {
        match self.jit() {
            Some(JitError::Compile(failure)) => Some(failure),
            _ => None,
        }
    }
}

fn of_device(error: &DeviceError) -> Option<&JitError> {
    if let DeviceError::Jit(error) = error { Some(error) } else { None }
}

fn of_prepare(error: &PrepareError) -> Option<&JitError> {
    if let PrepareError::Device(error) = error { of_device(error) } else { None }
}

impl From<SolveFailure> for CommandError {
    fn from(failure: SolveFailure) -> CommandError {
        match failure {
            SolveFailure::Input(error) => error.into(),
            SolveFailure::Run(error) => error.into(),
            SolveFailure::Ci(error) => error.into(),
            SolveFailure::Density(error) => error.into(),
            SolveFailure::Dmrg(error) => error.into(),
            SolveFailure::Device(error) => error.into(),
            SolveFailure::Report(error) => error.into(),
            SolveFailure::Output(error) => error.into(),
            SolveFailure::WideStrings { orbitals } => CommandError::WideStrings { orbitals },
        }
    }
}

/// Errors of the stages are large; boxed, a result stays small.
macro_rules! boxed {
    ($($variant:ident($error:ty)),* $(,)?) => {$(
        impl From<$error> for CommandError {
            fn from(error: $error) -> CommandError {
                CommandError::$variant(Box::new(error))
            }
        }
    )*};
}
boxed!(
    Molecule(MoleculeError),
    Ci(CiError),
    Density(DensityError),
    Dmrg(DmrgError),
    Model(OperatorError),
    Prepare(PrepareError),
    Run(RunError),
    Device(DeviceError),
    Stage(StageError),
    Jit(JitError),
    Bench(BenchError),
    Spmv(SpmvError),
    Su3Table(TableError),
    Su3Interaction(InteractionError),
    Team(TeamError),
    Su3Device(DeviceTransformError),
);
