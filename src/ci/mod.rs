//! Configuration interaction: integrals → determinants → matrix elements → energies, spins and densities.
//!
//! H = E_core + Σ h_pq a†_pσ a_qσ + ½ Σ (pq|rs) a†_pσ a†_rτ a_sτ a_qσ over real orbitals, chemist order (Szabo and
//! Ostlund 1996, section 2.3). |I⟩ = Π a†_pα Π a†_qβ |0⟩, all α left of all β, orbitals ascending; orbital 0 is the least
//! significant bit.
//!
//! | file | question it answers |
//! |---|---|
//! | `integrals` | what are h_pq and (pq\|rs), and where do they lie? |
//! | `fcidump` | what does an FCIDUMP file say? |
//! | `orbital_window` | what is left when cores are frozen and virtuals deleted? |

pub mod count;
pub mod fcidump;
pub mod integrals;
pub mod matrix;
mod orbital_window;
pub mod slater_condon;
pub mod space;
mod string_table;
pub mod strings;

pub use fcidump::FcidumpError;
pub use integrals::Integrals;
pub use matrix::{Hamiltonian, MatrixError, THRESHOLD, matrix};
pub use orbital_window::WindowError;
pub use space::{Space, SpaceError};
