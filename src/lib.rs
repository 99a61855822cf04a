//! Quantum many-body eigenproblems on generated CUDA kernels.
//!
//! A model is written once, in second quantisation or in spin operators; eigenforge checks it, finds its structure,
//! writes the CUDA for its lattice and particle numbers, compiles that at run time with NVRTC, and solves it. Without a
//! GPU the same solvers run on all cores of the CPU, with the same numbers.
//!
//! ```
//! use eigenforge::prelude::*;
//!
//! /// Hubbard model with a repulsion of its own on each site.
//! #[gpu_operator]
//! fn hubbard(lattice: &Lattice, t: f64, u: &[f64]) -> Operator {
//!     sum!(<i, j> in lattice.bonds(), s in [Up, Down]; -t * (cdag(i, s) * c(j, s) + h.c.))
//!         + sum!(i in lattice.sites(); u[i] * n(i, Up) * n(i, Down))
//! }
//!
//! # fn main() -> Result<()> {
//! let model = hubbard(&Lattice::chain(6).periodic(), 1.0, &[4.0; 6]).sector(Up(3), Down(3))?;
//! let ground = Lobpcg::new(&model).tolerance(1e-10).run(&Device::cpu())?;
//! assert!((ground.energy() + 3.6687061788729576).abs() < 1e-8); // Bethe ansatz (Lieb, Wu 1968)
//! assert_eq!(ground.levels()[0].multiplicity, 1);
//! assert!(ground.residuals()[0] < 1e-8);
//!
//! let cuda = model.inspect(Stage::Cuda, "sm_90")?; // on any machine
//! assert!(cuda.contains("value += 4.0 * __popc(up & dn"));
//! # Ok(()) }
//! ```
//!
//! Local moments are as short:
//!
//! ```
//! use eigenforge::prelude::*;
//!
//! /// Heisenberg antiferromagnet in a field that grows along the chain.
//! #[gpu_operator(conserves(Sz))]
//! fn heisenberg(lattice: &Lattice, j: f64, slope: f64) -> Operator {
//!     sum!(<a, b> in lattice.bonds(); j * sdots(a, b)) + sum!(i in lattice.sites(); slope * i as f64 * sz(i))
//! }
//!
//! # fn main() -> Result<()> {
//! let chain = heisenberg(&Lattice::chain(10).periodic(), 1.0, 0.0).two_sz(0)?;
//! let ground = Lanczos::new(&chain).states(3).run(&Device::cpu())?;
//! assert!((ground.energy() + 4.515446354492).abs() < 1e-9);
//! # Ok(()) }
//! ```
//!
//! # The path of a problem
//!
//! ```text
//! model definition → operator IR → plan → CUDA text → cubin → solver → report
//! #[gpu_operator]    operator/     (eigenforge_templates)  (eigenforge_runtime)  report/
//! input/ (TOML)      basis/  exact/
//! ```
//!
//! [`lattice`] → [`operator`] → [`basis`] → [`exact`] → [`report`]; [`input`] reads model files into [`models`]. Molecules
//! come from FCIDUMP files, or from `#[gpu_operator]` with additional terms: [`ci`] → [`sparse`] (or no matrix at all) →
//! the same solvers. Chains too long for a vector go from the same operator IR to [`dmrg`]. Nucleon–nucleon interactions
//! become SU(3) tensors in [`su3`], with the coefficients of `eigenforge_su3`; sparse matrices of any origin are multiplied and
//! timed by [`spmv`], and [`export`] writes H of a model for other programs. The command and the benchmarks are members of their own that stand on this library. Each
//! stage is plain data and can be printed: `eigenforge inspect MODEL.toml --stage ir|plan|cuda|ptx|sass|resources|cost`.
//!
//! # Conventions
//!
//! H = −t Σ (c†c + h.c.) + U Σ n↑n↓ with the minus inside; H = +J Σ S·S with S = σ/2. Site 0 is the least significant
//! bit. |n⟩ = Π c†_{i↑} Π c†_{j↓} |0⟩. Residuals are ‖Hx − λx‖ for unit x, recomputed after the solve.

#![warn(missing_docs, unreachable_pub)]

// The attribute macro names this crate from outside, and the built-in models use it from inside.
extern crate self as eigenforge;

pub mod basis;
pub mod ci;
pub mod dmrg;
mod error;
pub mod exact;
pub mod export;
mod files;
pub mod input;
pub mod lattice;
pub mod models;
pub mod observable;
pub mod operator;
pub mod path;
pub mod problem;
pub mod processes;
mod product;
mod ranks;
pub mod report;
mod solve_options;
pub mod sparse;
pub mod spmv;
pub mod su3;
pub mod words;

pub use error::{Error, Result};

pub use eigenforge_macros::gpu_operator;
pub use eigenforge_runtime as runtime;

/// The names that most programs need.
pub mod prelude {
    pub use crate::basis::{Down, Sector, Up};
    pub use crate::dmrg::{Chain, Dmrg};
    pub use crate::exact::{Davidson, Dense, Lanczos, Lobpcg, Model, Olsen, Solution};
    pub use crate::lattice::{Boundary, Lattice};
    pub use crate::observable::Observable;
    pub use crate::operator::Operator;
    pub use crate::path::Stage;
    pub use crate::{Error, Result};
    pub use eigenforge_macros::{gpu_operator, sum};
    pub use eigenforge_runtime::Device;
}
