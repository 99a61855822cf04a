//! Configuration interaction without a matrix: plans of σ = H C straight from integrals, and their CUDA text.
//!
//! * [`FullCiPlan`]: strings, classes of strings, groups of orbital pairs, and the shape of a block ([`FullCiShape`]).
//! * [`SlabPlan`]: the same where a class of strings is too long for shared memory, slab by slab ([`SlabShape`]).
//! * [`RowsPlan`]: any other space of strings, with every row of H recomputed in each product.
//! * [`SpinTransformPlan`]: configuration state functions to determinants before a product of these, and back after it.
//!
//! Every number of a plan is a constant in its text; the tables of strings and integrals are given at the launch.

mod check;
mod diagonal;
mod launches;
mod plan;
mod rows;
mod shape;
mod slabs;
mod spin_transform;
mod text;

pub use check::FullCiPlanError;
pub use plan::{FullCiPlan, GroupPlan, StringTableCounts};
pub use rows::{KeptElements, RowsCounts, RowsPlan};
pub use shape::{FieldShape, FullCiShape, StringCounts, grouped};
pub use slabs::{SIDE, SlabCounts, SlabLaunches, SlabPlan, SlabShape, slab_groups};
pub use spin_transform::{SpinPanelPlan, SpinTransformPlan};
