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
//! #[gpu_operator]    operator      (eigenforge_templates)  (eigenforge_runtime)  report
//! input (TOML)       basis   exact
//! ```
//!
//! [`lattice`] → [`operator`] → [`basis`] → [`exact`] → [`report`]; [`input`] reads model files into [`models`]. Molecules
//! come from FCIDUMP files, or from `#[gpu_operator]` with additional terms: [`ci`] → [`sparse`] (or no matrix at all) →
//! the same solvers. Chains too long for a vector go from the same operator IR to [`dmrg`]. Nucleon–nucleon interactions
//! become SU(3) tensors in [`su3`], with the coefficients of `eigenforge_su3`; sparse matrices of any origin are multiplied and
//! timed by [`spmv`], and [`export`] writes H of a model for other programs. Each
//! stage is plain data and can be printed: `eigenforge inspect MODEL.toml --stage ir|plan|cuda|ptx|sass|resources|cost`.
//!
//! This crate reads model files, runs problems and writes reports. What it gives on comes from the crates below it: `eigenforge_core`
//! (lattices, operators, bases, observables), `eigenforge_product` (y = H x) and one for each family; they do not know each other.
//!
//! # Conventions
//!
//! H = −t Σ (c†c + h.c.) + U Σ n↑n↓ with the minus inside; H = +J Σ S·S with S = σ/2. Site 0 is the least significant
//! bit. |n⟩ = Π c†_{i↑} Π c†_{j↓} |0⟩. Residuals are ‖Hx − λx‖ for unit x, recomputed after the solve.

#![warn(missing_docs, unreachable_pub)]

// The attribute macro names this crate from outside, and its tests use it from inside.
extern crate self as eigenforge;

mod error;
pub mod evolve;
pub mod export;
pub mod input;
pub mod inspection;
pub mod overlap;
pub mod problem;
pub mod report;
pub mod spectrum;
pub mod spmv;
pub mod thermal;

/// Full CI of a file of integrals:
///
/// ```
/// use eigenforge::ci::{self, Integrals, Space};
///
/// # fn main() -> eigenforge::Result<()> {
/// // H2 in a minimal basis, 0.74 Å; `Integrals::read(path)` reads a file.
/// let text = "&FCI NORB=2,NELEC=2,MS2=0,ORBSYM=1,5,ISYM=1 &END
///      0.6747559268   1 1 1 1
///      0.1812104620   2 1 2 1
///      0.6637114014   2 2 1 1
///      0.6976515045   2 2 2 2
///     -1.2533097866   1 1 0 0
///     -0.4750688488   2 2 0 0
///      0.7151043391   0 0 0 0
/// ";
/// let integrals = Integrals::read_from(text.as_bytes())?;
/// let (up, down) = integrals.spins();
/// let space = Space::full(integrals.orbitals, up, down)?.in_irrep(&integrals.irreps, 1)?;
/// let matrix = ci::matrix(&integrals, &space, ci::THRESHOLD)?;
/// assert_eq!((matrix.rows(), matrix.non_zeros()), (2, 4)); // both electrons in orbital 1, or both in orbital 2
/// let (a, b, c) = (matrix.element(0, 0), matrix.element(0, 1), matrix.element(1, 1));
/// let energy = integrals.core + (a + c) / 2.0 - ((a - c).powi(2) / 4.0 + b * b).sqrt();
/// assert!((energy + 1.1372838345).abs() < 1e-9); // full CI, PySCF
/// # Ok(()) }
/// ```
///
/// Two states of a molecule:
///
/// ```
/// use eigenforge::ci::{CiSolve, Integrals, Space};
/// use eigenforge::runtime::Device;
///
/// # fn main() -> eigenforge::Result<()> {
/// // Two electrons in two orbitals: H2 in a minimal basis, 0.74 Å.
/// let mut h2 = Integrals::zero(2);
/// (h2.electrons, h2.core) = (2, 0.7151043391);
/// h2.one = vec![-1.2533097866, 0.0, -0.4750688488]; // h_11, h_21, h_22
/// h2.two = vec![0.6747559268, 0.0, 0.1812104620, 0.6637114014, 0.0, 0.6976515045];
/// let space = Space::full(2, 1, 1)?;
/// let solution = CiSolve::new(&h2, &space).states(2).run(&Device::cpu())?;
/// assert!((solution.energies()[0] + 1.1372838345).abs() < 1e-9); // full CI, PySCF
/// # Ok(()) }
/// ```
///
/// A Hamiltonian of your own:
///
/// ```
/// use eigenforge::ci::{CiSolve, Integrals, Space};
/// use eigenforge::prelude::*;
///
/// /// H = Σ h_pq c†_pσ c_qσ + ½ Σ (pq|rt) c†_pσ c†_rυ c_tυ c_qσ + λ n_last + E_core
/// #[gpu_operator(conserves(Up, Down))]
/// fn shifted(integrals: &Integrals, shift: f64) -> Operator {
///     let m = integrals.orbitals;
///     sum!(p in 0..m, q in 0..m, s in [Up, Down]; integrals.one(p, q) * cdag(p, s) * c(q, s))
///         + sum!(p in 0..m, q in 0..m, r in 0..m, t in 0..m, s in [Up, Down], u in [Up, Down];
///             0.5 * integrals.two(p, q, r, t) * cdag(p, s) * cdag(r, u) * c(t, u) * c(q, s))
///         + sum!(s in [Up, Down]; shift * n(m - 1, s))
///         + integrals.core
/// }
///
/// # fn main() -> eigenforge::Result<()> {
/// let mut h2 = Integrals::zero(2); // a minimal basis, 0.74 Å; `Integrals::read(path)` reads a file
/// (h2.electrons, h2.core) = (2, 0.7151043391);
/// h2.one = vec![-1.2533097866, 0.0, -0.4750688488];
/// h2.two = vec![0.6747559268, 0.0, 0.1812104620, 0.6637114014, 0.0, 0.6976515045];
///
/// let integrals = Integrals::from_operator(&shifted(&h2, 0.0), Up(1), Down(1))?;
/// let space = Space::full(2, 1, 1)?;
/// let ground = CiSolve::new(&integrals, &space).run(&Device::cpu())?;
/// assert!((ground.energies()[0] + 1.1372838345).abs() < 1e-9); // full CI, PySCF
///
/// // The same operator, diagonalised exactly as a lattice model is.
/// let model = shifted(&h2, 0.3).sector(Up(1), Down(1))?;
/// let exact = Dense::new(&model).run(&Device::cpu())?;
/// let integrals = Integrals::from_operator(&shifted(&h2, 0.3), Up(1), Down(1))?;
/// let ci = CiSolve::new(&integrals, &space).run(&Device::cpu())?;
/// assert!((ci.energies()[0] - exact.energy()).abs() < 1e-9);
/// # Ok(()) }
/// ```
#[doc(inline)]
pub use eigenforge_ci as ci;
#[doc(inline)]
pub use eigenforge_core::{basis, lattice, models, observable, operator, path, processes, words};
/// A chain:
///
/// ```
/// use eigenforge::basis::Sector;
/// use eigenforge::dmrg::{Chain, Dmrg};
/// use eigenforge::prelude::*;
///
/// /// Heisenberg chain.
/// #[gpu_operator(conserves(Sz))]
/// fn heisenberg(lattice: &Lattice, j: f64) -> Operator {
///     sum!(<a, b> in lattice.bonds(); j * sdots(a, b))
/// }
///
/// # fn main() -> Result<()> {
/// let model = heisenberg(&Lattice::chain(20).open(), 1.0);
/// let chain = Chain::new(&model, Sector::Spins { two_sz: 0 }, None)?;
/// let found = Dmrg::new(&chain).states([64]).run(&Device::cpu())?;
/// assert!((found.energy + 8.682473334399).abs() < 1e-9); // Bethe ansatz
/// assert!(found.variance.unwrap() < 1e-9);
/// # Ok(()) }
/// ```
#[doc(inline)]
pub use eigenforge_dmrg as dmrg;
/// Models that differ in their coefficients share their kernels:
///
/// ```
/// use eigenforge::exact::share_kernels;
/// use eigenforge::prelude::*;
///
/// /// Hubbard model.
/// #[gpu_operator]
/// fn hubbard(lattice: &Lattice, t: f64, u: f64) -> Operator {
///     sum!(<i, j> in lattice.bonds(), s in [Up, Down]; -t * (cdag(i, s) * c(j, s) + h.c.))
///         + sum!(i in lattice.sites(); u * n(i, Up) * n(i, Down))
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let ring = Lattice::chain(6).periodic();
/// let model = |u: f64| hubbard(&ring, 1.0, u).sector(Up(3), Down(3));
/// let mut models = [1.0, 2.0, 4.0].map(|u| model(u).unwrap());
/// assert_eq!(share_kernels::<f64>(&mut models)?, 1); // compiled once
/// for model in &models {
///     println!("{}", Lobpcg::new(model).run(&Device::cpu())?.energy());
/// }
/// # Ok(()) }
/// ```
#[doc(inline)]
pub use eigenforge_exact as exact;
#[doc(inline)]
pub use eigenforge_product::sparse;
/// An interaction as SU(3) tensors:
///
/// ```
/// use eigenforge::prelude::*;
/// use eigenforge::su3::Transform;
///
/// # fn main() -> Result<()> {
/// let jisp16 = Transform::new("tests/data/su3/jisp16_Nmax20_hw20.0_rel.dat", 2).run(&Device::cpu())?;
/// let [pn, _, _] = &jisp16.summary.channels[..] else { unreachable!("relative motion gives pn, pp and nn") };
/// assert!((pn.norm_of_strengths / pn.norm_of_elements - 1.0).abs() < 1e-12); // the map is orthogonal
///
/// let (_, strengths) = &jisp16.numbers.vectors[0];
/// let mut central = 0.0; // Σ C² of the tensors with S0 = 0
/// jisp16.plan.for_each_strength(|place, label| {
///     if label.spins[2] == 0 {
///         central += strengths[place] * strengths[place];
///     }
/// });
/// assert!((central / pn.norm_by_s0[0] - 1.0).abs() < 1e-12);
/// # Ok(()) }
/// ```
#[doc(inline)]
pub use eigenforge_tensors as su3;

use eigenforge_core::files;

pub use error::{Error, Result};

pub use eigenforge_macros::gpu_operator;
pub use eigenforge_runtime as runtime;

/// The names that most programs need.
pub mod prelude {
    pub use crate::basis::{Down, Sector, Up};
    pub use crate::dmrg::{Chain, Dmrg};
    pub use crate::exact::{Davidson, Dense, InSector, Lanczos, Lobpcg, Model, Olsen, Solution};
    pub use crate::lattice::{Boundary, Lattice};
    pub use crate::observable::Observable;
    pub use crate::operator::Operator;
    pub use crate::path::Stage;
    pub use crate::{Error, Result};
    pub use eigenforge_macros::{gpu_operator, sum};
    pub use eigenforge_runtime::Device;
}
