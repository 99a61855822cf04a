//! Errors of devices and solvers, one enum per stage.

use crate::jit::JitError;
use crate::simulate::SimulateError;
use eigenforge_templates::{LaunchError, TextError};

/// Result type of the device stage.
pub type Result<T, E = DeviceError> = std::result::Result<T, E>;

fn gib(bytes: &u64) -> String {
    match *bytes {
        b if b >= 1 << 30 => format!("{:.2} GiB", b as f64 / (1u64 << 30) as f64),
        b if b >= 1 << 20 => format!("{:.2} MiB", b as f64 / (1u64 << 20) as f64),
        b => format!("{b} bytes"),
    }
}

fn no_device(ordinal: usize, count: usize) -> String {
    match count {
        0 => "the driver sees no CUDA device (CUDA_VISIBLE_DEVICES can hide them); use --device cpu".into(),
        1 => format!("CUDA device {ordinal} was requested, but there is only one; use cuda:0, or cpu"),
        _ => format!(
            "CUDA device {ordinal} was requested, but there are {count}; use cuda:0 to cuda:{}, or cpu",
            count - 1
        ),
    }
}

/// Errors of devices, memory, kernels and vector programs.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// An allocation that would not fit; refused before it is attempted.
    #[error("{what} needs {} and {device} has {} free of {}: {fits}", gib(needed), gib(free), gib(total))]
    Memory {
        /// What was to be allocated.
        what: String,
        /// On which device.
        device: String,
        /// Requested bytes.
        needed: u64,
        /// Free bytes.
        free: u64,
        /// Total bytes.
        total: u64,
        /// Advice on what would fit.
        fits: String,
    },
    /// No CUDA driver library on this machine.
    #[error("no CUDA driver (libcuda) was found; install an NVIDIA driver or use --device cpu")]
    NoDriver,
    /// A CUDA device that does not exist.
    #[error("{}", no_device(*ordinal, *count))]
    NoDevice {
        /// The requested ordinal.
        ordinal: usize,
        /// Number of devices.
        count: usize,
    },
    /// The program that runs the library has ended its runs.
    #[error(transparent)]
    Interrupted(#[from] crate::interrupt::Interrupted),
    /// An unknown device name.
    #[error(
        "device '{0}' is not one of auto, cpu, cuda, cuda:N, cuda:FIRST-LAST, cuda:N,M,…, cuda:all, sim, sim:CARDS, sim:reverse, \
         sim:random:SEED"
    )]
    UnknownDevice(String),
    /// Several cards for what takes one.
    #[error("{what} takes one card, and {device} is several: name one, such as cuda:0")]
    SeveralCards {
        /// What would run there.
        what: String,
        /// The device.
        device: String,
    },
    /// Cards that cannot work as one device.
    #[error(
        "{card} and {other} do not see each other's memory (no peer access, or none with atomic operations), so they cannot work as one device: name one of them"
    )]
    NoPeers {
        /// A card.
        card: String,
        /// Another one.
        other: String,
    },
    /// Cards of two kinds.
    #[error(
        "{card} and {other} are cards of two kinds, which do not work as one device: the slower one would hold up the other; name one of them"
    )]
    UnlikeCards {
        /// A card.
        card: String,
        /// Another one.
        other: String,
    },
    /// The driver refused a call.
    #[error("the CUDA driver refused {call}: {name} ({message})")]
    Driver {
        /// The call, or the kernel that was to be launched with its shape.
        call: String,
        /// The driver's name of the error.
        name: String,
        /// The driver's message.
        message: String,
    },
    /// Evicting a buffer to free device memory failed.
    #[error(transparent)]
    Room(Box<BackendError>),
    /// A vendor library, or its replacement, failed.
    #[error("{library}, {call}: {message}")]
    Library {
        /// Which library.
        library: &'static str,
        /// The call.
        call: &'static str,
        /// Its message.
        message: String,
    },
    /// The driver refused a cubin.
    #[error("the driver could not load kernel '{kernel}' for {arch}: {message}\n{log}")]
    Load {
        /// The kernel file's name.
        kernel: String,
        /// The architecture it was compiled for.
        arch: String,
        /// The driver's message.
        message: String,
        /// The driver's JIT log.
        log: String,
    },
    /// A text for warps of another width.
    #[error(
        "kernel '{kernel}' is written for warps of {found} lanes, and {device} has warps of {width}: make the plan for this device"
    )]
    WarpWidth {
        /// The kernel file's name.
        kernel: String,
        /// The text's lanes.
        found: u32,
        /// The device's lanes.
        width: u32,
        /// The device.
        device: String,
    },
    /// NVRTC or its cache.
    #[error(transparent)]
    Jit(#[from] JitError),
    /// Template and plan disagree.
    #[error(transparent)]
    Text(#[from] TextError),
    /// A launch that no card would accept, or whose text's declaration differs from its plan.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The simulation found a fault in a kernel, or could not run it.
    #[error(transparent)]
    Simulate(#[from] SimulateError),
    /// A problem too large to simulate.
    #[error(
        "{what} takes {flops:.1e} operations, which the simulation would compute in about {seconds:.0} s each time; the limit \
         is {limit} s: choose a smaller lattice or sector, or --device cpu"
    )]
    TooSlow {
        /// What would be computed.
        what: String,
        /// Its floating-point operations.
        flops: f64,
        /// The predicted time in seconds.
        seconds: f64,
        /// The accepted time in seconds.
        limit: f64,
    },
    /// Arguments of a launch or a program that do not match its declaration.
    #[error("{what}: expected {expected}, found {found}")]
    Arguments {
        /// The kernel or program, and which of its arguments.
        what: String,
        /// What the declaration expects.
        expected: String,
        /// What was given.
        found: String,
    },
    /// A CUDA kernel requested from a CPU device, or memory of one device passed to another.
    #[error("{what} is on {found}, expected it on {expected}")]
    WrongDevice {
        /// Name of the argument.
        what: String,
        /// The expected device.
        expected: String,
        /// The actual device.
        found: String,
    },
    /// A rank failed, and all end.
    #[error("rank {rank} failed, and the other ranks end with it: {message}")]
    RankFailed {
        /// Its number.
        rank: usize,
        /// Its message.
        message: String,
    },
    /// A rank does something else than rank 0.
    #[error(
        "rank {rank} and rank 0 went different ways at '{what}', so their numbers would not belong together: all ranks must run one build of \
         eigenforge with the same command line, file and machine settings"
    )]
    RanksApart {
        /// Its number.
        rank: usize,
        /// What this rank was about to do.
        what: String,
    },
    /// A rank has ended.
    #[error("rank {rank} is gone")]
    RankGone {
        /// Its number.
        rank: usize,
    },
    /// A device that cannot be one of several ranks.
    #[error("{what} does not run on several ranks: {instead}")]
    NotOverRanks {
        /// What was asked for.
        what: String,
        /// What to do.
        instead: String,
    },
    /// An error reported by an operator, in its own words.
    #[error("{0}")]
    Operator(String),
}

impl DeviceError {
    /// The compiler's error, if that was the cause.
    pub fn jit(&self) -> Option<&JitError> {
        if let DeviceError::Jit(error) = self { Some(error) } else { None }
    }
}

/// Errors of backends: buffers of numbers, wherever they are, and dense algebra with them.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// The device failed.
    #[error(transparent)]
    Device(DeviceError),
    /// A matrix that has no decomposition.
    #[error("a block of {rows} x {columns} could not be decomposed: it holds numbers that are not finite")]
    Decomposition {
        /// Rows.
        rows: usize,
        /// Columns.
        columns: usize,
    },
    /// Evicted numbers could not be written to disk or read back.
    #[error(
        "numbers could not be {what} in the scratch folder {} ({} are there): {source}", folder.display(), gib(held)
    )]
    Scratch {
        /// The folder.
        folder: std::path::PathBuf,
        /// "written" or "read back".
        what: &'static str,
        /// Bytes stored there.
        held: u64,
        /// The I/O error.
        source: std::io::Error,
    },
}

impl From<DeviceError> for BackendError {
    /// What kept room from being made is an error of its own.
    fn from(error: DeviceError) -> BackendError {
        match error {
            DeviceError::Room(why) => *why,
            error => BackendError::Device(error),
        }
    }
}

impl From<BackendError> for DeviceError {
    fn from(error: BackendError) -> DeviceError {
        match error {
            BackendError::Device(error) => error,
            error => DeviceError::Room(Box::new(error)),
        }
    }
}

/// Eigensolvers.
#[derive(Debug, thiserror::Error)]
pub enum SolveError {
    /// The device stage failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// More states requested than the matrix has.
    #[error("{states} states were requested, but the matrix has dimension {dimension}; request 1 to {dimension}")]
    States {
        /// Requested number.
        states: usize,
        /// The dimension.
        dimension: usize,
    },
    /// An option with an invalid value.
    #[error("option {name} = {value}: expected {expected}")]
    Option {
        /// The option's name.
        name: &'static str,
        /// Its value.
        value: String,
        /// The accepted values.
        expected: &'static str,
    },
    /// The operator produced a value that is not finite.
    #[error("the operator gave {value} for x.Ax at iteration {iteration}; its coefficients must be finite numbers")]
    NotFinite {
        /// The value.
        value: f64,
        /// The iteration.
        iteration: usize,
    },
    /// An operator whose squares leave the range of numbers.
    #[error(
        "the norm of H is {norm:.1e} at most, and a search in vectors of {scalar} takes {:e} to {:e}: squares of smaller and larger numbers \
         are 0 or infinite. Give the couplings in another unit, in which they are near 1",
        range[0], range[1]
    )]
    Scale {
        /// The bound of the norm.
        norm: f64,
        /// Number type of the vectors.
        scalar: &'static str,
        /// The smallest and largest norm.
        range: [f64; 2],
    },
    /// The dense eigensolver failed.
    #[error("the dense eigensolver did not converge on a {0} x {0} matrix")]
    Dense(usize),
    /// Eigenvalues that are not those of the matrix.
    #[error(
        "the dense eigensolver returned other eigenvalues than those of its {rows} x {rows} matrix: their sum is {:e} and that of their squares \
         {:e}, where the matrix has the traces {:e} and {:e}; run it again with `--device cpu`",
        sums[0], sums[1], traces[0], traces[1]
    )]
    Traces {
        /// Σ λ and Σ λ².
        sums: [f64; 2],
        /// Tr A and Tr A².
        traces: [f64; 2],
        /// Rows of the matrix.
        rows: usize,
    },
    /// Jacobi was requested but the operator has no diagonal.
    #[error("the Jacobi preconditioner needs the operator's diagonal, which this operator does not provide; use none")]
    NoDiagonal,
    /// A checkpoint of another problem.
    #[error(
        "the checkpoint in {folder} belongs to another run: its {what} is {found}, this run's is {expected}; use another folder"
    )]
    OtherCheckpoint {
        /// The folder.
        folder: String,
        /// Which entry differs.
        what: String,
        /// The checkpoint's.
        found: String,
        /// This run's.
        expected: String,
    },
    /// A checkpoint written by another version of eigenforge.
    #[error(
        "the checkpoint {} is of schema {found}, but this eigenforge reads {expected}: continue with the version that wrote it, or name \
         another folder", path.display()
    )]
    OldCheckpoint {
        /// The state.
        path: std::path::PathBuf,
        /// Its schema.
        found: u32,
        /// This version's.
        expected: u32,
    },
    /// Another run uses the checkpoint folder.
    #[error(transparent)]
    InUse(#[from] crate::lock::InUse),
    /// A signal ended the run.
    #[error(transparent)]
    Interrupted(#[from] crate::interrupt::Interrupted),
    /// A folder of checkpoints could not be made or read.
    #[error("checkpoint {path}: {source}; choose a writable folder with room for the vectors")]
    Checkpoint {
        /// The file or folder.
        path: String,
        /// The I/O error.
        #[source]
        source: std::io::Error,
    },
}

impl SolveError {
    /// Whether the input is at fault; otherwise the error occurred while running.
    pub fn is_of_the_input(&self) -> bool {
        matches!(
            self,
            SolveError::Scale { .. }
                | SolveError::States { .. }
                | SolveError::Option { .. }
                | SolveError::OtherCheckpoint { .. }
                | SolveError::OldCheckpoint { .. }
        )
    }
}
