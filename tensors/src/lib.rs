//! Nucleon–nucleon interactions as SU(3) × SU(2) tensors: Oberhuber, Dytrych, Launey, Langr, Draayer, Discrete Contin. Dyn.
//! Syst. S 14 (2021) 1111. The coupling coefficients are [`eigenforge_su3`]'s.
//!
//! ```text
//! N_max → OscillatorSpace → Plan (offsets, shapes) → Tables (W^f, W^i, W⁰) ─┐
//! file, force → TensorSource of elements u, by group ─ forward, inverse ────┴→ strengths C → Partial → file, Summary
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
//! | `paper` | how did the authors compute it? For tests and `eigenforge bench`; no run of a user takes it |
//! | `interaction`, `output`, `files` | which format is it, and which files? |
//! | `team`, `flow` | how do the workers of a run share it: cores, cards, other processes? |
//! | `local`, `cards`, `processes`, `mpi` | which workers are there? |
//! | `shares`, `memory` | which portions do they get, and what is held? |
//! | `source`, `work`, `partial` | how is a portion read, done, kept on the disk, and resumed? |
//! | `tune` | which shape of the kernels is the faster one on this card? |
//! | `spec`, `choice`, `run`, `stages`, `error` | what is asked for, how does it run from request to file, what does it tell? |
//! | `builder` | how does a Rust program get the strengths in memory? |
//! | `channel`, `csv`, `element`, `elements`, `h2`, `me2j`, `strengths`, `binary`, `recoupler` | how do files store them? |
//! | `relative`, `brackets`, `rotation` | how does an interaction of relative motion become two-body elements? |
//! | `hamiltonian` | which terms stand beside the interaction? |
//! | `force` | which interaction do Gaussians make? |
//! | `foreign` | what is a file that no reader knows? |
//! | `hermitian` | what are the strengths that a file of half of them leaves out? |
//! | `ranked` | how is an operator of rank J0 transformed? |
//! | `levels` | which levels of two nucleons do the tensors have? |
//! | `summary` | what is the result? |
//! | `label_table` | what is the value of a coefficient that a table names? |
//!
//! The paper's eq. 7 is a sum over all labels at once for every strength, 1.4 · 10¹⁴ operations at N_max = 14. Each of its
//! factors depends on a few labels only and is an orthogonal matrix between them, so the sum is a chain of matrix products,
//! 1.1 · 10¹⁰ operations: jj → LS, J → S0, W^f, W^i, W⁰ (see [`forward`]). Two places of the printed equation do not hold
//! for ordinary matrix elements: 2J+1 must be replaced by its root, and normalised elements of identical nucleons are
//! multiplied by √(1+δ), not divided.

#![warn(missing_docs, unreachable_pub)]

mod binary;
mod brackets;
mod builder;
mod cards;
mod channel;
mod choice;
mod csv;
mod device;
mod element;
mod elements;
mod error;
mod exchange;
mod files;
mod flow;
mod force;
mod foreign;
mod h2;
mod hamiltonian;
mod hermitian;
mod interaction;
mod label_table;
mod levels;
mod local;
mod matrices;
mod me2j;
mod memory;
#[cfg(feature = "mpi")]
mod mpi;
mod output;
mod paper;
mod partial;
mod plan;
mod processes;
mod ranked;
mod recoupler;
mod recoupling;
mod relative;
mod rotation;
mod run;
mod shares;
mod source;
mod space;
mod spec;
mod stage;
mod stages;
mod strengths;
mod summary;
mod table_cache;
mod tables;
mod team;
mod transform;
mod tune;
mod work;

pub use binary::TensorKind;
pub use builder::{Transform, TransformResult};
pub use cards::CardRecord;
pub use channel::{ByChannel, Channel};
pub use csv::TableError;
#[doc(hidden)]
pub use device::DevicePaper;
pub use device::{DeviceCoefficients, DeviceTransform, DeviceTransformError, coefficients_on_cpu};
pub use error::TransformError;
pub use files::{companion_files, format_of, refuse_to_overwrite};
pub use force::{Force, ForceError, Gaussian, Minnesota};
pub use h2::H2Version;
pub use hamiltonian::NuclearTerms;
pub use interaction::{InteractionError, InteractionInput, open_interaction};
pub use label_table::LabelTable;
pub use levels::{CoupledComponent, LevelRequest, NuclearLevel, NuclearLevels};
pub use me2j::{MScheme, MState};
pub use output::TensorFormat;
#[doc(hidden)]
pub use paper::published_sum;
pub use plan::{Group, IrrepPair, JBlock, Plan, Quadruple, TensorBlock};
pub use processes::{Processes, TeamError};
pub use ranked::{RankNorm, RankedChannel, RankedSummary};
pub use relative::Relative;
pub use run::{TransformRun, Transformed};
pub use shares::describe as describe_shares;
pub use source::TensorSource;
pub use space::{Counts, JjState, OscillatorSpace, ShellPair};
pub use spec::{MOST_N_MAX, Su3Spec};
pub use strengths::Label;
pub use summary::{ChannelSummary, IrrepNorm, Overflow, Strength, Summary};
pub use table_cache::{CacheCounts, Factors, TableCache, TableFile};
pub use tables::Tables;
pub use transform::{forward, inverse};
pub use tune::tune;
pub use work::Direction;
