//! Compiles generated CUDA with NVRTC, runs it, and runs the eigensolvers. Knows no physics.
//!
//! Stages, each standing on those before it: [`jit`] (text → cubin), [`device`] (memory, kernels), [`vector_program`]
//! (fused vector updates and inner products on either device), [`LinearOperator`] (what a solver needs of a matrix),
//! [`solvers`] (LOBPCG, Lanczos, dense; certification of multiplicities; checkpoints). Beside them [`simulate`] runs the
//! same CUDA text on a CPU, checked access by access; [`trace`] records where the time goes.

pub mod device;
mod error;
pub mod jit;
mod operator;
mod scalar;
pub mod simulate;
pub mod solvers;
pub mod trace;
pub mod vector_program;

pub use device::{
    Buffer, Device, ElementArgument, ElementFunction, Kernel, KernelArg, KernelRecord, Memory, OnDevice, Vector,
};
pub use error::{DeviceError, Result, SolveError};
pub use operator::LinearOperator;
pub use scalar::{Pod, Scalar};
pub use vector_program::{Bind, Program};
