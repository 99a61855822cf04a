//! Density-matrix renormalisation: the lowest state of a chain of sites far beyond exact diagonalisation.
//!
//! In: an operator of the IR, the fixed charges, an order of the sites, a number m of states to keep. Out: the lowest
//! energies with their variances, discarded weights, entropies, spectra and averages.
//!
//! ```text
//! operator IR → terms along the chain → operator sum → operators of blocks → records → y = H x → Davidson
//!               terms.rs, site.rs       operator_sum.rs  enlarged.rs,        superblock.rs      (runtime)
//!               (fermion signs)         (cover.rs)       environment.rs
//!                                                             ↑                                    ↓
//!                                                    sweep.rs, transform.rs   ←   truncate.rs (kept states: state.rs)
//! ```
//!
//! Two-site DMRG (White 1992, 1993) as formulated by Nemes, Barcza, Nagy, Legeza and Szolgay (2014) for many-core
//! processors: every product with the superblock's H, every update of a block and every change of basis is a list of
//! [operation records](eigenforge_runtime::records): plain data over flat buffers, sorted so that no two tasks write to
//! one place. The buffers, the records and Davidson's method are the runtime's
//! ([`backend`](eigenforge_runtime::backend)), on the CPU or a card; an [`Engine`] is a backend on which a sweep can run.
//!
//! * The **state** is ψ at a bond between two enlarged blocks, one matrix for each pair of sectors of the conserved
//!   [charges](eigenforge_core::basis::Sector); the rest are kept states (`block/state.rs`).
//! * **H** is a sum of left ⊗ right operators at every cut, as few as possible ([`OperatorSum`]), derived from the IR of any
//!   model: chains, ladders, cylinders, long ranges. Identities are never multiplied, and site operators are coefficients;
//!   whether a block's pieces are multiplied separately (l-1-1-r) or summed first (LR) is decided block by block by
//!   predicted cost (`block/enlarged.rs`).
//! * Along a sweep each bond starts from White's transformation of the previous ψ (`block/transform.rs`); a chain may first
//!   be [grown](Mode::Infinite) from both ends, each step starting from McCulloch's prediction.
//! * Sweeps may solve [one site](UpdateChoice::Expanding) whose bond is first joined by what two sites would add (`expansion/`).
//! * Finally, one-site sweeps may [polish](Options::polish) the state at the kept width.
//! * **Excited states** are searched orthogonal to those below (`sweep/reference.rs`), or all together in one set of kept
//!   states, from an averaged density matrix (`sweep/averaged.rs`).
//! * H is solved in units of its largest term ([`Chain::units`]), without the constant of the sector.
//! * Zero variance proves an eigenstate, but not the lowest one. A small enough sector is diagonalised exactly, and
//!   sweeps that ended too high are repeated from there ([`SectorCheck`]). In a larger sector the undeclared conserved
//!   charges are counted (`chain/mobility.rs`); if there are any, the search starts from an annealed state and the report
//!   says so.
//! * **Sites** may differ along a chain (`chain/site_list.rs`). A complex H that no gauge makes real is a real one with an
//!   auxiliary site of two states at the left end ([`Chain`]); reports speak of the lattice's sites alone, and the weights of cuts
//!   are those of the complex ψ (`measure/complex.rs`).
//! * **Sectors** fix any [charges](eigenforge_core::basis::Sector) that the model conserves, and the irrep of a molecule ([`SiteIrreps`]).
//! * **Memory** is [planned](plan_memory) by a dry run without numbers; buffers that a sweep does not need for a while may
//!   move to host memory or disk ([`residency`](eigenforge_runtime::residency)).
//!
//! | folder | what it holds |
//! |---|---|
//! | `chain/` | a model laid out along a chain: sites, charges, terms, operator sum |
//! | `block/` | blocks of sites, ψ between them, H as records, which states stay |
//! | `engine/` | the backends on which sweeps run |
//! | `sweep/` | the sweep and what begins, accompanies and ends it |
//! | `expansion/` | sweeps of one site whose bonds grow |
//! | `evolution/` | states as functions of time |
//! | `memory/` | what a run will hold, and how long it will take |
//! | `measure/` | averages |
//! | `orbitals/` | orbitals of a molecule: their order, entropies and mutual information |
//! | `run/` | searches for all states that were asked for, checks, checkpoints, results |

#![warn(missing_docs, unreachable_pub)]

// What the macros generate names the library.
#[cfg(test)]
extern crate eigenforge_core as eigenforge;

mod block;
mod builder;
mod chain;
mod engine;
mod error;
mod evolution;
mod expansion;
mod matrix_product;
mod measure;
mod memory;
mod options;
mod orbitals;
mod run;
mod sweep;
mod sweep_plan;

/// The most sites of a chain: each sweep passes all of them, and every table has an entry for each.
pub const MOST_SITES: usize = 1 << 13;

pub use builder::Dmrg;
pub use chain::Chain;
pub use chain::charges::conserved_charges;
pub use chain::irreps::SiteIrreps;
pub use chain::ordering::bandwidth;
pub use chain::ordering::narrow_order;
pub use chain::site::Site;
pub use chain::site_list::SiteList;
pub use chain::units::Units;
pub use eigenforge_runtime::solvers::lean::{BasisChoice, TextChoice};
pub use engine::card::most_targets;
pub use error::DmrgError;
pub use evolution::{ChainEvolution, ChainEvolved, ChainPoint, ChainStart, ChainSteps, DrivenChain};
pub use evolution::{evolve_chain, evolve_driven_chain};
pub use matrix_product::{MatrixProductState, SiteTensor, SiteTensorBlock};
pub use measure::CutRecord;
pub use memory::forecast::Forecast;
pub use memory::refine::MemoryUse;
pub use memory::{MemoryPlan, MemoryRequest, plan_memory};
pub use options::{FACTOR_ROWS, IMPROVEMENT};
pub use options::{Mode, Options, START_STATES, StartVectors, UpdateChoice};
pub use orbitals::entropies::OrbitalEntropies;
pub use orbitals::fiedler::fiedler_order;
pub use orbitals::pair_density::{pair_densities, remove_pair_densities};
pub use run::check::{Restart, SectorCheck};
pub use run::checkpoint::Checkpoint;
pub use run::extrapolate::Extrapolated;
pub use run::result::{DmrgResult, ExcitedState, SearchRecord};
pub use run::several_cards::CardsPlan;
pub use run::{RunEngine, SweepProgress, run, run_on};
pub use run::{check_complex, inspect};
pub use sweep::growth::{GrowthRecord, GrowthStep, grow, grow_observed};
pub use sweep::polish::PolishRecord;
pub use sweep::sweep_record::{SweepRecord, SweepStop};

// What a sweep is made of: for benchmarks of a single step or a single bond.
pub use block::blocks::{Sectors, Side};
pub use block::bond::Frame;
pub use block::enlarged::{EnlargedOperators, OperatorBlock};
pub use block::environment::{BlockOperator, DenseBlock, Environment};
pub use block::superblock::superblock;
#[doc(hidden)]
pub use chain::form::SuperblockForm;
pub use chain::operator_sum::OperatorSum;
pub use engine::Engine;
pub use sweep::sweeper::Sweeper;
pub use sweep::{BondRecord, Phases};
