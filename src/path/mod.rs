//! The path that every problem takes, and each of its stages as text, on any machine.
//!
//! ```text
//! operator IR → plan → CUDA text → PTX, cubin → machine code
//!  OperatorIr           GeneratedFile             KernelFootprint
//! ```
//!
//! | file | question it answers |
//! |---|---|
//! | `stage` | which stages are there, and by which names? |
//! | `ir` | which operator is it, in which sector? |
//! | `generated` | which texts are generated, with which launches and least work, and what do they look like at a stage? |
//! | `footprint` | what does a kernel take on the card? |
//! | `error` | why can a stage not be shown, and whose fault is that? |
//!
//! A family owns its operator and its plans; everything from the text on is here. [`crate::problem`] puts the two together.

mod error;
mod footprint;
mod generated;
mod ir;
mod stage;

pub use error::{FamilyError, FamilyFault, StageError};
pub use footprint::{KernelFootprint, footprints};
pub use generated::{GeneratedFile, named, shown, vector_programs};
pub use ir::{IrError, OperatorIr, StructureKind};
pub use stage::Stage;
