//! Operation records of DMRG on a card: the plan of one kernel that computes all output blocks of a stage, and its text.
//!
//! The text is independent of the bond: records and tiles come in a table at the launch ([`ProductRecord`], [`Tile`]), so
//! one compilation serves a run. The shape of a block of threads is fixed ([`GroupedProductsPlan`]; for large matrices
//! [`StreamedProductsPlan`], which reads copies with even strides, [`MatrixCopiesPlan`]). [`OperatorAssemblyPlan`] adds operators of a block up to
//! those of the block and a site.

mod assembly;
mod copies;
mod plan;
mod streamed;
mod table;
mod text;

pub use assembly::{AssemblySizes, OperatorAssemblyPlan, PartWords, TermWords};
pub use copies::{CopiedPart, MatrixCopiesPlan};
pub use plan::{GroupedProductsPlan, GroupedProductsPlanError, StageSizes};
pub use streamed::StreamedProductsPlan;
pub use table::{Fragments, Place, ProductRecord, RecordKind, Tile, WORDS};
