//! Typed plans and the CUDA text made from them. A plan fixes every number; the text is a pure function of the plan.

#![warn(missing_docs)]

mod cards;
pub mod ci;
pub mod column_copies;
pub mod dmrg;
pub mod eigen;
pub mod exact;
mod fields;
mod files;
pub mod launch;
mod origin;
mod prototype;
mod scalar;
pub mod signature;
pub mod sparse;
pub mod su3;
mod sums;
mod text;
mod used;
pub mod vector_program;
mod warp;

pub use launch::{Launch, LaunchError};
pub use origin::TemplateLine;
pub use scalar::ScalarType;
pub use text::{Cost, ElementFunctionText, KernelText, TextError, prelude_of_numbers, ron, ron_of_depth};
pub use warp::{Warp, WarpError};
