//! Nucleon–nucleon interactions as SU(3) × SU(2) tensors. The group theory is [`eigenforge_su3`]'s.
pub mod channel;
pub mod csv;
pub mod elements;
mod matrices;
pub mod plan;
mod recoupling;
pub mod space;
mod stage;
pub mod strengths;
mod tables;
mod transform;
pub use tables::Tables;
pub use transform::{forward, inverse};
