//! Compiles generated CUDA with NVRTC, runs it, and runs the eigensolvers. Knows no physics.
//!
//! Stages, each standing on those before it: [`jit`] (text → cubin), [`device`] (memory, kernels), [`vector_program`]
//! (fused vector updates and inner products on any device), [`LinearOperator`] (what a solver needs of a matrix),
//! [`solvers`] (LOBPCG, Lanczos, Davidson, dense; certification of multiplicities; checkpoints). Below the devices [`simulate`] runs
//! the same CUDA text on a CPU, checked access by access; [`Device::simulated`] is a device of it. [`tune`] chooses among
//! shapes of a kernel on a card; [`machine`] holds the rates that decisions are made by; [`trace`] records where the time goes. Files that a user names come in through
//! [`input_file`].

#![warn(missing_docs)]

pub mod device;
mod error;
pub mod input_file;
pub mod interrupt;
pub mod jit;
pub mod lock;
pub mod machine;
mod operator;
pub mod private;
mod say;
mod scalar;
pub mod sealed;
pub mod seeded;
pub mod simulate;
pub mod solvers;
pub mod state_folder;
pub mod stretches;
#[doc(hidden)]
pub mod testing;
pub mod timing;
pub mod trace;
pub mod tune;
pub mod vector_program;

pub use device::{
    Arena, Arguments, Buffer, Checks, Copies, Device, Eigensolver, ElementArgument, ElementFunction, Kernel,
    KernelRecord, MappedMatrix, MatrixBlock, MatrixCall, MatrixPlace, MatrixProducts, MatrixSource, Memory, OnDevice,
    Pinned, SideCopies, SymmetricMatrix, Transfer, Underway, Vector, tensor_maps,
};
pub use error::{DeviceError, Result, SolveError};
pub use operator::LinearOperator;
pub use say::{say, say_once};
pub use scalar::{Pod, Scalar};
pub use vector_program::{Bind, Program};
