//! Two-body matrix elements into SU(3) × SU(2) tensors: plans of the transformation, and their CUDA text.
//!
//! * [`TransformPlan`]: the chain of orthogonal products, forward and back.
//! * [`CoefficientsPlan`]: all coupling coefficients W⁰.
//! * [`PaperPlan`]: the published sum over all labels at once, for tests and `eigenforge bench`.
//!
//! A plan's counts are constants in its text. The ranges and offsets of κ, ρ and L by pair of shells ([`LayoutTable`])
//! are constants too if they are few; coefficients are passed at the launch.

mod check;
mod coefficients;
mod launches;
mod paper;
mod plan;
mod tables;
mod text;

pub use check::TransformPlanError;
pub use coefficients::{CoefficientsPlan, TripleClass};
pub use paper::PaperPlan;
pub use plan::{JJ_THREADS, SLAB_THREADS, SlabClass, TableCounts, TileClass, TransformPlan};
pub use tables::{LAYOUT, LayoutTable, MOST_IN_TEXT};
pub use text::Ways;
