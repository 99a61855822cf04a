//! Density-matrix renormalisation: the lowest state of a chain of sites far beyond exact diagonalisation.
//!
//! In: an operator of the IR, the fixed charges, an order of the sites, a number m of states to keep. Out: the lowest
//! energies with their variances, discarded weights, entropies, spectra and averages.
//!
//! ```text
//! operator IR → terms along the chain → operator sum → operators of blocks → records → y = H x → Davidson
//!               terms.rs, site.rs       operator_sum.rs  enlarged.rs,        superblock.rs      davidson.rs
//!               (fermion signs)         (cover.rs)       environment.rs      records.rs
//!                                                             ↑                                    ↓
//!                                                    sweep.rs, transform.rs   ←   truncate.rs (kept states: state.rs)
//! ```
//!
//! Two-site DMRG (White 1992, 1993) as formulated by Nemes, Barcza, Nagy, Legeza and Szolgay (2014) for many-core
//! processors: every product with the superblock's H, every update of a block and every change of basis is a list of
//! [operation records](records): plain data over flat buffers, sorted so that no two tasks write to one place. The CPU
//! runs them by rayon and faer ([`records::run`]); only an [`engine`] knows where the buffers are.
//!
//! * The **state** is ψ at a bond between two [enlarged blocks](blocks), one matrix for each pair of sectors of the
//!   conserved [charges]; the rest are [kept states](state).
//! * **H** is a sum of left ⊗ right operators at every cut, as few as possible ([`operator_sum`]), derived from the IR of
//!   any model: chains, ladders, cylinders, long ranges. Identities are never multiplied, and site operators are
//!   coefficients ([`enlarged`]); whether a block's pieces are multiplied separately (l-1-1-r) or summed first (LR) is
//!   decided block by block by predicted cost.
//! * With a card, the CPU may do a [share](cpu_share) of every product at the same time, with the same records.
//! * Along a [`sweep`] each bond starts from White's [transformation](transform) of the previous ψ; a chain may first be
//!   [grown](growth) from both ends, each step starting from McCulloch's prediction.
//! * Finally, one-site sweeps may [polish](mod@polish) the state at the kept width.
//! * **Excited states** are searched orthogonal to [those below](mod@reference), or all together in one set of kept
//!   states, from an [averaged] density matrix.
//! * H is solved in [units] of its largest term, without the constant of the sector.
//! * Zero variance proves an eigenstate, but not the lowest one. A small enough sector is diagonalised exactly, and
//!   sweeps that ended too high are repeated from there ([check], [whole_sector]). In a larger sector the undeclared
//!   conserved charges are counted ([mobility]); if there are any, the search starts from an annealed state and the
//!   report says so.
//! * **Sectors** fix any [charges] that the model conserves.
//! * **[Memory](memory)** is planned by a [dry run](counting) without numbers; buffers that a sweep does not need for a
//!   while may move to host memory or disk ([`storage`]).
//!
//! ```
//! use eigenforge::basis::Sector;
//! use eigenforge::dmrg::{Chain, Options, run};
//! use eigenforge::prelude::*;
//!
//! /// Heisenberg chain.
//! #[gpu_operator(conserves(Sz))]
//! fn heisenberg(lattice: &Lattice, j: f64) -> Operator {
//!     sum!(<a, b> in lattice.bonds(); j * sdots(a, b))
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let model = heisenberg(&Lattice::chain(20).open(), 1.0);
//! let chain = Chain::new(&model, Sector::Spins { two_sz: 0 }, None)?;
//! let found = run(&chain, &Options { states: vec![64], ..Options::default() }, None, |_| {})?;
//! assert!((found.energy + 8.682473334399).abs() < 1e-9); // Bethe ansatz
//! assert!(found.variance.unwrap() < 1e-9);
//! # Ok(()) }
//! ```

mod anneal;
pub mod averaged;
pub mod backend;
pub mod blocks;
pub mod bond;
pub mod bounded_host;
pub mod ceilings;
pub mod chain;
pub mod charges;
pub mod check;
pub mod checkpoint;
mod correlations;
pub mod counting;
mod cover;
pub mod cpu_share;
pub mod davidson;
pub mod dense;
pub mod device;
pub mod engine;
pub mod enlarged;
pub mod environment;
mod error;
mod eviction;
pub mod extrapolate;
pub mod forecast;
pub mod growth;
pub mod host;
pub mod inspect;
pub mod long_vectors;
pub mod measure;
pub mod memory;
mod memory_plan;
mod merged;
pub mod mobility;
mod observed;
mod one_site;
pub mod operator_sum;
pub mod options;
pub mod ordering;
pub mod polish;
pub mod predict;
mod prepared;
pub mod records;
pub mod reference;
pub mod refine;
pub mod repetition;
pub mod resident;
mod restored;
pub mod result;
pub mod run;
mod search;
pub mod shares;
pub mod site;
pub mod start;
pub mod state;
pub mod storage;
pub mod strategy;
pub mod superblock;
pub mod sweep;
pub mod sweep_plan;
pub mod terms;
pub mod transform;
pub mod truncate;
mod twins;
pub mod units;
mod warnings;
pub mod whole_sector;

/// The most sites of a chain: each sweep passes all of them, and every table has an entry for each.
pub const MOST_SITES: usize = 1 << 13;

pub use chain::Chain;
pub use charges::QuantumNumbers;
pub use check::{Restart, SectorCheck};
pub use checkpoint::Checkpoint;
pub use cpu_share::CpuShare;
pub use error::DmrgError;
pub use extrapolate::Extrapolated;
pub use growth::GrowthRecord;
pub use measure::CutRecord;
pub use options::{Mode, Options, StartVectors};
pub use polish::PolishRecord;
pub use result::{DmrgResult, ExcitedState, SweepRecord, SweepStop};
pub use run::{SweepProgress, run, run_on};
pub use strategy::Strategy;
