//! Nucleon–nucleon interactions as SU(3) × SU(2) tensors: Oberhuber, Dytrych, Launey, Langr, Draayer, Discrete Contin. Dyn.
//! Syst. S 14 (2021) 1111. The coupling coefficients are [`eigenforge_su3`]'s.
//!
//! ```text
//! N_max → Space → Plan (offsets, shapes) → Tables (W^f, W^i, W⁰) ─┐
//! file → elements u, by channel ──────────────── forward, inverse ┴→ strengths C → file, Summary
//! ```
//!
//! | file | question it answers |
//! |---|---|
//! | `space` | which states are there, and how many? |
//! | `plan` | where does every number stand? |
//! | `recoupling`, `tables` | which coefficients does a plan need? |
//! | `stage`, `transform` | how do elements become strengths, and back? |
//! | `paper` | how did the authors do it? |
//! | `channel`, `csv`, `elements`, `h2`, `strengths`, `binary` | how do files hold them? |
//! | `brackets`, `relative` | how does an interaction of relative motion become two-body elements? |
//! | `summary` | what came out? |
//! | `label_table` | what is the value of a coefficient that a table names? |
//!
//! The paper's eq. 7 is a sum over all labels at once for every strength, 1.4 · 10¹⁴ operations at N_max = 14. Each of its
//! factors depends on a few labels only and is an orthogonal matrix between them, so the sum is a chain of matrix products,
//! 1.1 · 10¹⁰ operations: jj → LS, J → S0, W^f, W^i, W⁰ (see [`forward`]). Two places of the equation as printed do not hold
//! for ordinary matrix elements: 2J+1 must stand for its root, and normalised elements of identical nucleons are
//! multiplied by √(1+δ), not divided.

pub mod binary;
mod brackets;
pub mod channel;
pub mod csv;
pub mod device;
pub mod elements;
pub mod h2;
pub mod label_table;
mod matrices;
pub mod paper;
pub mod plan;
mod recoupling;
pub mod relative;
pub mod space;
mod stage;
pub mod strengths;
pub mod summary;
mod tables;
mod transform;

pub use channel::{ByChannel, Channel};
pub use csv::TableError;
pub use plan::Plan;
pub use space::{Counts, Space};
pub use summary::Summary;
pub use tables::Tables;
pub use transform::{forward, inverse};
