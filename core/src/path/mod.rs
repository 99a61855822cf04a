//! The stages common to all problems, each as text, on any machine.
//!
//! ```text
//! operator IR → plan → CUDA text → PTX, cubin → machine code
//!  OperatorIr           GeneratedFile             KernelFootprint
//! ```
//!
//! | file | question it answers |
//! |---|---|
//! | `stage` | which stages are there, and what are their names? |
//! | `ir` | which operator is it, and in which sector? |
//! | `generated` | which texts are generated, with which launches and minimal work, and how are they shown at a stage? |
//! | `footprint` | which resources does a kernel use? |
//! | `error` | why can a stage not be shown, and who is at fault? |
//!
//! A family owns its operator and its plans; everything from the text on is here. Problems (of the crate `eigenforge`) combine the two.

mod error;
mod footprint;
mod generated;
mod ir;
mod stage;

pub use error::{FamilyError, FamilyFault, StageError};
pub use footprint::{KernelFootprint, footprints};
pub use generated::{GeneratedFile, block_operations, named, shown, solver_programs};
pub use ir::{IrError, OperatorIr, StructureKind};
pub use stage::Stage;
