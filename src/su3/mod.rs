//! Nucleon–nucleon interactions as SU(3) × SU(2) tensors: Oberhuber, Dytrych, Launey, Langr, Draayer, Discrete Contin. Dyn.
//! Syst. S 14 (2021) 1111. The coupling coefficients are [`eigenforge_su3`]'s.
//!
//! ```text
//! N_max → Space → Plan (offsets, shapes) → Tables (W^f, W^i, W⁰) ─┐
//! file, force → Source of elements u, by group ─ forward, inverse ┴→ strengths C → Partial → file, Summary
//! ```
//!
//! | file | question it answers |
//! |---|---|
//! | `space` | which states are there, and how many? |
//! | `plan` | where is every number? |
//! | `recoupling`, `tables` | which coefficients does a plan need? |
//! | `table_cache` | which of them were computed by an earlier run? |
//! | `stage`, `transform` | how do elements become strengths, and back? |
//! | `exchange` | what does exchange symmetry save? |
//! | `paper` | how did the authors compute it? |
//! | `interaction`, `output` | which format is it? |
//! | `source`, `work`, `flow`, `partial` | how is it done piece by piece, and resumed? |
//! | `team`, `mpi` | how do several processes share it? |
//! | `channel`, `csv`, `elements`, `h2`, `strengths`, `binary`, `recoupler` | how do files store them? |
//! | `brackets`, `relative` | how does an interaction of relative motion become two-body elements? |
//! | `force` | which interaction do Gaussians make? |
//! | `summary` | what is the result? |
//! | `label_table` | what is the value of a coefficient that a table names? |
//!
//! The paper's eq. 7 is a sum over all labels at once for every strength, 1.4 · 10¹⁴ operations at N_max = 14. Each of its
//! factors depends on a few labels only and is an orthogonal matrix between them, so the sum is a chain of matrix products,
//! 1.1 · 10¹⁰ operations: jj → LS, J → S0, W^f, W^i, W⁰ (see [`forward`]). Two places of the printed equation do not hold
//! for ordinary matrix elements: 2J+1 must be replaced by its root, and normalised elements of identical nucleons are
//! multiplied by √(1+δ), not divided.

pub mod binary;
mod brackets;
pub mod channel;
pub mod csv;
pub mod device;
pub mod elements;
mod exchange;
pub mod flow;
pub mod force;
pub mod h2;
pub mod interaction;
pub mod label_table;
mod matrices;
#[cfg(feature = "mpi")]
pub mod mpi;
pub mod output;
pub mod paper;
pub mod partial;
pub mod plan;
pub mod recoupler;
mod recoupling;
pub mod relative;
pub mod source;
pub mod space;
mod stage;
pub mod strengths;
pub mod summary;
pub mod table_cache;
mod tables;
pub mod team;
mod transform;
pub mod work;

pub use channel::{ByChannel, Channel};
pub use csv::TableError;
pub use plan::Plan;
pub use space::{Counts, Space};
pub use summary::Summary;
pub use table_cache::TableCache;
pub use tables::Tables;
pub use transform::{forward, forward_group, inverse, inverse_group};
