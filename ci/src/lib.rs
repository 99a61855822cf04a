//! Configuration interaction: integrals → determinants → matrix elements → energies, spins and densities.
//!
//! H = E_core + Σ h_pq a†_pσ a_qσ + ½ Σ (pq|rs) a†_pσ a†_rτ a_sτ a_qσ over real orbitals, chemist order (Szabo and
//! Ostlund 1996, section 2.3). |I⟩ = Π a†_pα Π a†_qβ |0⟩, all α left of all β, orbitals ascending; orbital 0 is the
//! least significant bit. Matrices leave E_core out: total energy = eigenvalue + [`Integrals::core`].
//!
//! # A Hamiltonian of your own
//!
//! `#[gpu_operator]` also takes coefficients from integrals, and [`Integrals::from_operator`] converts the operator back
//! to integrals, so that a molecule with additional terms (a level shift, a field, another repulsion) or any model of
//! two-body forces (Hubbard's, or Pariser, Parr and Pople's, in any real orbitals) is solved like a file.
//!
//! An operator without integrals (a field along z, three-body terms, pair hopping without an exchange of the same
//! strength) is refused with its first such term, and can still be diagonalised exactly. [`electrons`] is the Hamiltonian
//! above without the shift, and says for how many orbitals this is suitable.
//!
//! | file | question it answers |
//! |---|---|
//! | `orbital_number` | what is different over complex orbitals? |
//! | `integrals` | what are h_pq and (pq\|rs), and how are they stored? |
//! | `fcidump` | what does an FCIDUMP file contain? |
//! | `leading` | which determinants does a state mostly consist of? |
//! | `orbital_window` | what remains when cores are frozen and virtuals deleted? |
//! | `operator` | what is H as an operator, and which integrals has an operator? |
//! | `count` | how many determinants and configuration state functions are there, level by level? |
//! | `csf` | which combinations of determinants have one spin, and what is their matrix? |
//! | `strings` | which orbitals may the electrons of one spin occupy? |
//! | `space` | which pairs of strings, in which order? |
//! | `slater_condon` | what is ⟨I\|H\|J⟩? |
//! | `vector_number` | how do products read real and complex numbers from vectors? |
//! | `links` | which strings of a list does a string reach by one or two moves? |
//! | `string_table` | what are the targets of one or two moves from each string? |
//! | `matrix` | which elements has a row, and the whole matrix? |
//! | `way`, `ways` | which ways to multiply are there, and what is each asked? |
//! | `stored` | the way of a stored matrix |
//! | `direct` | the ways of a full space, without a matrix |
//! | `on_the_fly` | the ways of any space, with rows recomputed in each product |
//! | `non_zeros` | how many elements has the matrix, before it is made? |
//! | `estimate`, `storage` | stored or from the integrals: what does each cost, and which is used? |
//! | `guess` | what does the lowest state look like, before anything is solved? |
//! | `molecule` | which integrals and determinants does a file request? |
//! | `solve`, `used` | what are the lowest states, and how was H multiplied? |
//! | `spin` | what is ⟨S²⟩ of a state, and which spins has a level? |
//! | `density` | what are ⟨a†_p a_q⟩ and ⟨a†_p a†_r a_s a_q⟩? |
//! | `natural` | which orbitals diagonalise γ, and what are their occupations? |

#![warn(missing_docs, unreachable_pub)]

// What `#[gpu_operator]` generates names the library.
extern crate eigenforge_core as eigenforge;

mod constant;
mod count;
mod csf;
mod density;
mod direct;
mod error;
mod estimate;
mod excited;
mod fcidump;
mod guess;
mod integrals;
mod leading;
mod links;
mod matrix;
mod molecule;
mod natural;
mod non_zeros;
mod on_the_fly;
mod operator;
mod orbital_number;
mod orbital_window;
mod raised;
mod slater_condon;
mod solve;
mod space;
mod spec;
mod spin;
mod storage;
mod stored;
mod string_table;
mod strings;
mod tune;
mod used;
mod vector_number;
mod way;
mod ways;

pub use count::{CountError, Reference, StateCounts};
pub use csf::{CsfError, CsfSpace};
pub use density::products as density_products;
pub use density::{DensityError, OneBody, SpinTwoBody, TwoBody, TwoBodyElements, write_densities};
pub use direct::{DirectError, full_ci, full_ci_shape};
pub use eigenforge_product::Hamiltonian;
pub use error::CiError;
pub use estimate::{Estimate, PRODUCTS, ProductKind, StorageError};
pub use excited::{LadderOperator, flip_spin, one_electron_product};
pub use fcidump::{
    AbelianGroup, FcidumpError, FcidumpHeader, FileIntegrals, IrrepLabel, OneElectron, OneElectronError,
    OrbitalSymmetry, Orbsym, OrbsymError, SymmetryKeys,
};
pub use integrals::{BetaIntegrals, Integrals};
pub use leading::LeadingDeterminant;
pub use matrix::{CiHamiltonian, MatrixError, THRESHOLD, matrix};
pub use molecule::{Molecule, MoleculeError};
pub use natural::{NaturalOrbitals, natural_orbitals};
pub use non_zeros::Census;
pub use on_the_fly::{OnTheFlyError, element_table, row_by_row};
pub use operator::{LoweringError, electrons};
pub use orbital_number::{OrbitalNumber, pair};
pub use orbital_window::{OrbitalWindow, WindowError};
pub use slater_condon::matrix_element;
pub use solve::{CiPlan, CiProblem, CiSolution, CiSolve, csf_product};
pub use space::{FileError, RestrictedActiveSpace, Space, SpaceError};
pub use spec::{CiBasis, CiSpec, SpaceSpec};
pub use spin::{SharpLevel, StateSpin, spins};
pub use storage::{Storage, StoragePlan};
pub use stored::stored;
pub use strings::{Occupation, Strings};
pub use used::StorageUsed;
