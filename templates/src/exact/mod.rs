//! Exact diagonalisation: plans of the Hamiltonian multiply and their CUDA text.
//!
//! * [`KroneckerPlan`]: H = D + I ⊗ A↑ + A↓ ⊗ I, for models whose hops stay within one spin species.
//! * [`GeneralPlan`]: any Hermitian operator, matrix-free: transitions grouped by flip mask, ranks by Lin tables.
//! * [`SymmetryPlan`]: any Hermitian operator between the representatives of a symmetry sector, matrix-free.
//! * [`PartnersPlan`]: the same from a table of the places that the elements of a row stand at, made once and kept.
//! * [`StringsPlan`]: electrons whose hops stay within one spin, in a symmetry sector: strings of the one spin under the group.
//! * [`PairsPlan`]: a Kronecker sum that is the same for both spins, in a sector of their exchange: pairs of strings.
//! * [`AveragesPlan`]: expectation values for all pairs of sites, from the vector on its device.
//! * [`DiagonalPlan`]: the diagonal, computed from the state words when needed and never stored.

mod averages;
mod coefficients;
mod diagonal;
mod elements;
mod exchange;
mod expression;
mod general;
mod kronecker;
mod launches;
mod lists;
mod pairs;
mod partners;
mod runs;
mod runs_text;
mod shape;
mod sharing;
mod staged;
mod strings;
mod symmetry;
mod torus;
mod vectors;

pub use averages::{AveragesPlan, AveragesSizes, MOST_TERMS};
pub use coefficients::{CoefficientArguments, CollectedCoefficients};
pub use diagonal::{
    CountGroup, DiagonalPlan, DigitFactor, DigitFunction, DigitTerm, LevelTerm, ProductTerm, StateWord,
};
pub use elements::{Amplitudes, ElementList, IndexWord, UP_ZEROS};
pub use exchange::Exchange;
pub use expression::{ExpressionParameter, ExpressionPlan};
pub use general::{FlipGroup, FlipTables, GeneralPlan, MaskedTerm, PredictedTimes, TableSizes};
pub use kronecker::{Hop, KroneckerPlan, SpeciesPlan};
pub use launches::{AT_ONCE, NeighbourWords};
pub use lists::ColumnLists;
pub use pairs::{PairOrder, PairsPlan, PairsShape};
pub use partners::{KeptRows, MOST_VALUES, PartnersPlan, SlotCodes, gathered_milliseconds};
pub use runs::RunTables;
pub use shape::{DownShape, GeneralShape, GeneralStrategy, KroneckerShape, LONGEST_STAGED, Staging};
pub use strings::StringsPlan;
pub use symmetry::{GroupStep, LineCounts, MaskedShift, SymmetryPlan, WordAction};
pub use torus::{ImageStep, MOST_IMAGES, MOST_LINES, MOST_ROW_BITS, MOST_WINDOW_BITS, TURN_AT, TURNS_AT, TorusRows};
pub use vectors::{MOST_VECTORS, VectorDivision};
