//! Small dense eigenproblems and Davidson's vectors on a card: plans and their texts.

mod davidson;
mod decompositions;

pub use davidson::{DavidsonPlan, Extent, SMALL_NUMBERS};
pub use decompositions::{DecompositionSizes, DecompositionsPlan, JOB_WORDS};
