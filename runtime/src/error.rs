//! What can go wrong on a device and in a solver, one enum a stage.

use crate::jit::JitError;
use crate::simulate::SimulateError;
use eigenforge_templates::{LaunchError, TextError};

/// Short for results of the device stage.
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
        1 => format!("CUDA device {ordinal} was asked for and there is one; use cuda:0, or cpu"),
        _ => format!(
            "CUDA device {ordinal} was asked for and there are {count}; use cuda:0 to cuda:{}, or cpu",
            count - 1
        ),
    }
}

/// Devices, memory, kernels and vector programs.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// An allocation that would not fit; refused before it is made.
    #[error("{what} needs {} and {device} has {} free of {}: {fits}", gib(needed), gib(free), gib(total))]
    Memory {
        /// What was to be allocated.
        what: String,
        /// On which device.
        device: String,
        /// Bytes asked for.
        needed: u64,
        /// Bytes free.
        free: u64,
        /// Bytes in all.
        total: u64,
        /// What would fit instead.
        fits: String,
    },
    /// No CUDA driver library on this machine.
    #[error("no CUDA driver (libcuda) was found; install an NVIDIA driver or use --device cpu")]
    NoDriver,
    /// A CUDA device that is not there.
    #[error("{}", no_device(*ordinal, *count))]
    NoDevice {
        /// The ordinal asked for.
        ordinal: usize,
        /// How many there are.
        count: usize,
    },
    /// A device name that is none of those there are.
    #[error("device '{0}' is not one of auto, cpu, cuda, cuda:N, sim, sim:reverse, sim:random:SEED")]
    UnknownDevice(String),
    /// The driver refused a call.
    #[error("the CUDA driver refused {call}: {name} ({message})")]
    Driver {
        /// The call, or the kernel that was to be launched with its shape.
        call: String,
        /// The driver's name of the error.
        name: String,
        /// The driver's account.
        message: String,
    },
    /// What was to make room in the device's memory could not.
    #[error("{0}")]
    Room(Box<dyn std::error::Error + Send + Sync>),
    /// A library of the vendor's, or one that stands in for it, failed.
    #[error("{library}, {call}: {message}")]
    Library {
        /// Which library.
        library: &'static str,
        /// The call.
        call: &'static str,
        /// Its account.
        message: String,
    },
    /// The driver refused a cubin.
    #[error("the driver could not load kernel '{kernel}' for {arch}: {message}\n{log}")]
    Load {
        /// The kernel file's name.
        kernel: String,
        /// The architecture it was compiled for.
        arch: String,
        /// The driver's account.
        message: String,
        /// The driver's JIT log.
        log: String,
    },
    /// NVRTC or its cache.
    #[error(transparent)]
    Jit(#[from] JitError),
    /// Template and plan disagree.
    #[error(transparent)]
    Text(#[from] TextError),
    /// A launch that no card would accept, or whose text declares something else than its plan.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The simulation found a fault in a kernel, or could not run it.
    #[error(transparent)]
    Simulate(#[from] SimulateError),
    /// A problem that the simulation would take too long for.
    #[error(
        "{what} takes {flops:.1e} operations, which the simulation would need some {seconds:.0} s for, each time; it takes \
         on up to {limit} s: choose a smaller lattice or sector, or --device cpu"
    )]
    TooSlow {
        /// What would be computed.
        what: String,
        /// Its floating-point operations.
        flops: f64,
        /// The time they are expected to take, in seconds.
        seconds: f64,
        /// The time that is accepted, in seconds.
        limit: f64,
    },
    /// Arguments of a launch or a program that do not match its declaration.
    #[error("{what}: expected {expected}, found {found}")]
    Arguments {
        /// The kernel or program, and which of its arguments.
        what: String,
        /// What its declaration says.
        expected: String,
        /// What was given.
        found: String,
    },
    /// A CUDA kernel asked of a CPU device, or memory of one device given to another.
    #[error("{what} is on {found}, expected it on {expected}")]
    WrongDevice {
        /// Which argument.
        what: String,
        /// Where it should be.
        expected: String,
        /// Where it is.
        found: String,
    },
    /// A fault found by an operator, in its own words.
    #[error("{0}")]
    Operator(String),
}

impl DeviceError {
    /// The compiler's error behind it, if it was the compiler's.
    pub fn jit(&self) -> Option<&JitError> {
        if let DeviceError::Jit(error) = self { Some(error) } else { None }
    }
}

/// Eigensolvers.
#[derive(Debug, thiserror::Error)]
pub enum SolveError {
    /// The device stage failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// More states than the matrix has.
    #[error("{states} states were asked for and the matrix has dimension {dimension}; ask for 1 to {dimension}")]
    States {
        /// How many were asked for.
        states: usize,
        /// The dimension.
        dimension: usize,
    },
    /// An option that makes no sense.
    #[error("option {name} = {value}: expected {expected}")]
    Option {
        /// The option's name.
        name: &'static str,
        /// Its value.
        value: String,
        /// What would do.
        expected: &'static str,
    },
    /// The operator produced a value that is not finite.
    #[error("the operator gave {value} for x.Ax at iteration {iteration}; its coefficients must be finite numbers")]
    NotFinite {
        /// The value.
        value: f64,
        /// When.
        iteration: usize,
    },
    /// The dense eigensolver failed.
    #[error("the dense eigensolver did not converge on a {0} x {0} matrix")]
    Dense(usize),
    /// Jacobi was asked for and the operator has no diagonal to give.
    #[error("the Jacobi preconditioner needs the operator's diagonal, which this operator does not provide; use none")]
    NoDiagonal,
    /// A checkpoint of another problem.
    #[error(
        "the checkpoint in {folder} is of another run: its {what} is {found}, this run's is {expected}; use another folder or start anew without resume"
    )]
    OtherCheckpoint {
        /// The folder.
        folder: String,
        /// Which entry differs.
        what: &'static str,
        /// The checkpoint's.
        found: String,
        /// This run's.
        expected: String,
    },
    /// A checkpoint of another version of eigenforge.
    #[error(
        "the checkpoint {} is of schema {found}, and this eigenforge reads {expected}: go on with the version that wrote it, or name \
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
    /// Another run is in the folder of checkpoints.
    #[error(transparent)]
    InUse(#[from] crate::lock::InUse),
    /// A signal ended the run.
    #[error(transparent)]
    Interrupted(#[from] crate::interrupt::Interrupted),
    /// A folder of checkpoints could not be made or read.
    #[error("checkpoint {path}: {source}; choose a folder that can be written, with room for the vectors")]
    Checkpoint {
        /// The file or folder.
        path: String,
        /// The system's account.
        #[source]
        source: std::io::Error,
    },
}
