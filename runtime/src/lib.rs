//! Compiles generated CUDA with NVRTC, runs it, and runs the eigensolvers. Knows no physics.
//!
//! Stages, each built on those before it: [`jit`] (text → cubin), [`Device`] (memory, kernels), [`Program`] (fused
//! vector updates and inner products on any device), [`LinearOperator`] (the matrix as a solver sees it), [`solvers`]
//! (LOBPCG, Lanczos, Davidson, dense; certification of multiplicities; checkpoints). Beside the solvers of one large
//! operator, for programs of many small products: [`residency`] (buffers on a card, in host memory, on disk), [`records`]
//! (grouped products of matrices as plain data, in one launch per stage), [`mod@dense`] (dense algebra on the host), and
//! [`backend`] (buffers, records, batched eigenvectors and a lean Davidson behind one trait, on the CPU and on a card). [`ranks`] are processes
//! that share one problem, each with a part of every vector. Below the devices [`simulate`] runs
//! the same CUDA text on a CPU, checked access by access; [`Device::simulated`] is a device that uses it. [`tune`]
//! chooses among shapes of a kernel on a card; [`machine`] holds the rates that choices are based on; [`trace`] records
//! where the time goes. Files that a user names are read through [`input_file`].

#![warn(missing_docs, unreachable_pub)]

pub mod backend;
pub mod dense;
mod device;
mod error;
pub mod free_list;
pub mod input_file;
pub mod interrupt;
pub mod jit;
pub mod lock;
pub mod machine;
mod operator;
mod overlapped;
pub mod private;
pub mod ranks;
pub mod records;
pub mod residency;
mod say;
mod scalar;
pub mod sealed;
pub mod seeded;
pub mod simulate;
pub mod solvers;
pub mod state_folder;
#[doc(hidden)]
pub mod testing;
pub mod timing;
pub mod trace;
pub mod tune;
mod vector_program;

pub use device::{
    Arena, Arguments, Buffer, CallerStream, CardLinks, Checks, ColumnCopies, CompilationAhead, Copies, Device,
    DeviceSpan, Eigensolver, ElementArgument, ElementFunction, Everywhere, HostTable, Kernel, LanePart, LaneTimes,
    Lanes, Launched, LoadedKernel, MappedMatrix, MatrixBlock, MatrixCall, MatrixOperand, MatrixPlace, MatrixProducts,
    Memory, NamedTables, OnDevice, Passage, PendingCopy, Pinned, RecordedProgram, Recorder, SharedMemory, SideCopies,
    StridedColumns, SymmetricMatrix, TableList, Transfer, Vector, Window, random_start, tensor_maps,
};
pub use error::{BackendError, DeviceError, Result, SolveError};
pub use operator::{LinearOperator, PartOrder};
pub use overlapped::overlapped;
pub use say::{be_silent, is_silent, say, say_once};
pub use scalar::{PerScalar, Pod, Scalar};
pub use vector_program::{Bind, Program};
