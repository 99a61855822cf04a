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
//! ([`backend`](eigenforge_runtime::backend)), on the CPU or a card; an [`engine`] is a backend on which a sweep can run.
//!
//! * The **state** is ψ at a bond between two [enlarged blocks](block::blocks), one matrix for each pair of sectors of the
//!   conserved [charges](chain::charges); the rest are [kept states](block::state).
//! * **H** is a sum of left ⊗ right operators at every cut, as few as possible ([`operator_sum`](chain::operator_sum)), derived from the IR of
//!   any model: chains, ladders, cylinders, long ranges. Identities are never multiplied, and site operators are
//!   coefficients ([`enlarged`](block::enlarged)); whether a block's pieces are multiplied separately (l-1-1-r) or summed first (LR) is
//!   decided block by block by predicted cost.
//! * With a card, the CPU may do a [share](CpuShare) of every product at the same time, with the same records.
//! * Along a [`sweep`] each bond starts from White's [transformation](block::transform) of the previous ψ; a chain may first be
//!   [grown](sweep::growth) from both ends, each step starting from McCulloch's prediction.
//! * Finally, one-site sweeps may [polish](mod@sweep::polish) the state at the kept width.
//! * **Excited states** are searched orthogonal to [those below](mod@sweep::reference), or all together in one set of kept
//!   states, from an [averaged](sweep::averaged) density matrix.
//! * H is solved in [units](chain::units) of its largest term, without the constant of the sector.
//! * Zero variance proves an eigenstate, but not the lowest one. A small enough sector is diagonalised exactly, and
//!   sweeps that ended too high are repeated from there ([check](run::check), [whole_sector](block::whole_sector)). In a larger sector the undeclared
//!   conserved charges are counted ([mobility](chain::mobility)); if there are any, the search starts from an annealed state and the
//!   report says so.
//! * **Sectors** fix any [charges](chain::charges) that the model conserves.
//! * **[Memory](memory)** is planned by a [dry run](memory::counting) without numbers; buffers that a sweep does not need for a
//!   while may move to host memory or disk ([`residency`](eigenforge_runtime::residency)).
//!
//! | folder | what it holds |
//! |---|---|
//! | `chain/` | a model laid out along a chain: sites, charges, terms, operator sum |
//! | `block/` | blocks of sites, ψ between them, H as records, which states stay |
//! | `engine/` | the backends on which sweeps run |
//! | `sweep/` | the sweep and what begins, accompanies and ends it |
//! | `memory/` | what a run will hold, and how long it will take |
//! | `measure/` | averages |
//! | `run/` | searches for all states that were asked for, checks, checkpoints, results |
//!
//! ```
//! use eigenforge::basis::Sector;
//! use eigenforge::dmrg::{Chain, Dmrg};
//! use eigenforge::prelude::*;
//!
//! /// Heisenberg chain.
//! #[gpu_operator(conserves(Sz))]
//! fn heisenberg(lattice: &Lattice, j: f64) -> Operator {
//!     sum!(<a, b> in lattice.bonds(); j * sdots(a, b))
//! }
//!
//! # fn main() -> Result<()> {
//! let model = heisenberg(&Lattice::chain(20).open(), 1.0);
//! let chain = Chain::new(&model, Sector::Spins { two_sz: 0 }, None)?;
//! let found = Dmrg::new(&chain).states([64]).run(&Device::cpu())?;
//! assert!((found.energy + 8.682473334399).abs() < 1e-9); // Bethe ansatz
//! assert!(found.variance.unwrap() < 1e-9);
//! # Ok(()) }
//! ```

pub mod block;
mod builder;
pub mod chain;
pub mod engine;
mod error;
pub mod measure;
pub mod memory;
pub mod options;
pub mod run;
pub mod sweep;
pub mod sweep_plan;

/// The most sites of a chain: each sweep passes all of them, and every table has an entry for each.
pub const MOST_SITES: usize = 1 << 13;

pub use builder::Dmrg;
pub use chain::Chain;
pub use chain::charges::QuantumNumbers;
pub use eigenforge_runtime::records::{CpuShare, Strategy};
pub use error::DmrgError;
pub use measure::CutRecord;
pub use options::{Mode, Options, StartVectors};
pub use run::check::{Restart, SectorCheck};
pub use run::checkpoint::Checkpoint;
pub use run::extrapolate::Extrapolated;
pub use run::result::{DmrgResult, ExcitedState};
pub use run::{SweepProgress, run, run_on};
pub use sweep::growth::GrowthRecord;
pub use sweep::polish::PolishRecord;
pub use sweep::sweep_record::{SweepRecord, SweepStop};
