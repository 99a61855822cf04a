//! SU(3) coupling coefficients.
pub use branching::Branching;
pub use coupling::{Block, BlockOfL3, Column, Coupler, Row, SquareTable};
pub use error::LabelError;
pub use exact::SignedRoot;
pub use extremal::Extremal;
pub use irrep::{Irrep, multiplicity, product};
pub use wigner::{Symbols, clebsch_gordan, wigner_3j, wigner_6j, wigner_9j};

mod branching;
mod coupling;
mod error;
mod exact;
mod extremal;
mod irrep;
mod wigner;
