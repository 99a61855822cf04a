//! The generated CUDA text on a CPU. An unmodified [`KernelText`](eigenforge_templates::KernelText) is compiled by the
//! machine's C++ compiler with a header of ours (`host.hpp`); a launch changes the buffers, or is refused with a
//! [`Fault`] that names class, lines, block and thread. No CUDA driver, NVRTC or GPU is used.
//!
//! A warp has as many lanes as the text's prelude says ([`Warp`](eigenforge_templates::Warp)).
//!
//! The threads of a block are fibers that take turns at barriers and warp operations, in the order of a [`Schedule`].
//! Shared memory and outputs start as NaN. There are two checks ([`Check`]): all accesses to arguments and shared memory
//! watched (bounds, races, reads of memory never written), and AddressSanitizer; under both, arithmetic and indices that
//! C++ does not define are faults. A launch under both must leave the same bytes. Nothing is contracted
//! (`-ffp-contract=off`).
//!
//! A compiled file is a program per check, which stays running and forks for each launch: every launch starts with
//! freshly loaded memory, and a fault ends only that launch.
//!
//! [`Device::simulated`](crate::Device::simulated) makes such a device, for solvers and for `--device sim`.
//!
//! Not modelled: caches and the memory model beyond barriers, registers and occupancy, streams, and more than one block
//! at a time (a kernel whose blocks wait for each other is reported as endless).
//!
//! Linux only, with g++ or clang++ of C++17.

mod compile;
mod report;
mod request;
mod server;
mod simulated;

pub use compile::Simulator;
pub(crate) use request::MOST_SHARED_BYTES;

pub use report::{Fault, FaultClass, SourceLine};
pub use simulated::Simulated;

use std::path::PathBuf;

/// The order in which blocks and the threads of a block take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// By number.
    Forward,
    /// By number, the last first.
    Reverse,
    /// One warp after the other in random order, each as far as possible, its lanes in random order.
    Random {
        /// Seed of the random numbers.
        seed: u64,
    },
}

impl Schedule {
    /// `forward`, `reverse` or `random:SEED`.
    pub fn parse(word: &str) -> Option<Schedule> {
        match word {
            "forward" => Some(Schedule::Forward),
            "reverse" => Some(Schedule::Reverse),
            _ => Some(Schedule::Random { seed: word.strip_prefix("random:")?.parse().ok()? }),
        }
    }
}

impl std::fmt::Display for Schedule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Schedule::Forward => write!(f, "blocks and threads forward"),
            Schedule::Reverse => write!(f, "blocks and threads in reverse"),
            Schedule::Random { seed } => write!(f, "blocks and threads in random order, seed {seed}"),
        }
    }
}

/// What is checked while a kernel runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Every access to arguments and shared memory: bounds, alignment, races, reads of memory never written; indices of
    /// arrays, writes past local arrays, undefined integer arithmetic.
    Accesses,
    /// AddressSanitizer, which watches reads of local arrays by pointers as well; indices and arithmetic.
    Addresses,
}

impl Check {
    fn file(self) -> &'static str {
        match self {
            Check::Accesses => "watched",
            Check::Addresses => "sanitized",
        }
    }
}

/// One argument of a launch; buffers as bytes in the machine's order.
#[derive(Debug)]
pub enum Argument<'a> {
    /// A buffer that the kernel only reads.
    In(&'a [u8]),
    /// A buffer that the kernel reads and writes.
    InOut(&'a mut [u8]),
    /// A buffer that the kernel writes; it starts as NaN, and reading unwritten elements is a fault.
    Out(&'a mut [u8]),
    /// `i64`.
    I64(i64),
    /// `u64`.
    U64(u64),
    /// `int`.
    I32(i32),
    /// `u32`.
    U32(u32),
    /// `double`.
    F64(f64),
    /// `float`.
    F32(f32),
}

/// Why a kernel could not be run on the CPU, or what fault was found.
#[derive(Debug, thiserror::Error)]
pub enum SimulateError {
    /// No C++ compiler.
    #[error("no C++ compiler was found ({searched}); install g++ or clang++, or name one with CXX")]
    NoCompiler {
        /// What was tried.
        searched: String,
    },
    /// The compiler refused the text.
    #[error(
        "{compiler} refused {what}; expected g++ or clang++ of C++17 with its sanitizers (the sources are kept in {})\n{log}",
        folder.display()
    )]
    Compile {
        /// The kernel file, or the engine.
        what: String,
        /// The compiler.
        compiler: String,
        /// Its message.
        log: String,
        /// Where the sources are.
        folder: PathBuf,
    },
    /// An I/O or process error.
    #[error("{what}: {source}; the folder must be writable and the programs in it allowed to run")]
    System {
        /// What was attempted.
        what: String,
        /// The I/O error.
        #[source]
        source: std::io::Error,
    },
    /// A launch that no card would accept.
    #[error("launch of {entry}: expected {expected}, found {found}")]
    Launch {
        /// The kernel.
        entry: String,
        /// The accepted values.
        expected: String,
        /// The given value.
        found: String,
    },
    /// The kernel has a fault.
    #[error(transparent)]
    Fault(Box<Fault>),
    /// The run crashed in a way that no check explains.
    #[error("{entry} ended with {status} and no report; its output:\n{output}")]
    Crashed {
        /// The kernel.
        entry: String,
        /// How the process ended.
        status: String,
        /// What it printed.
        output: String,
    },
    /// The two checked builds left different bytes: the text depends on memory that is foreign or uninitialised.
    #[error(
        "{entry} leaves different bytes in argument {argument} under the two checks, so it depends on a variable that is never set"
    )]
    Unsteady {
        /// The kernel.
        entry: String,
        /// Which argument, from 0.
        argument: usize,
    },
}
