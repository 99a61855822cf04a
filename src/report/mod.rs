//! What a run leaves behind: one record, printed for people, as JSON for programs, and as files.
//!
//! In: what a run found. Out: an [`Outcome`] (`--json`, report.json) with the part of its family, its
//! [summary](Outcome::summary) for a terminal, pictures, [vectors.npz](StateVectors), and a [trace](chrome_trace) of where the time
//! went. Files are written beside and renamed, so that a name never holds half a file.
//!
//! | file | question it answers |
//! |---|---|
//! | `outcome` | what does every report say, and how is it printed and written? |
//! | `record` | which parts do all reports share? |
//! | `spectrum`, `states` | what certifies eigenvalues, and what must a careful reader know of them? |
//! | `lattice`, `molecule`, `matrix`, `chain`, `tensors` | what does each family add? |
//! | `orbitals` | what does a chain of orbitals add? |
//! | `level_spin` | which total spins has a level? |
//! | `curves`, `curve_sweep` | what do reports of spectra, temperature and time share, and what does a sweep of them leave behind? |
//! | `sweep`, `levels` | what does a sweep of parameters leave behind, and one of all symmetry sectors? |
//! | `picture`, `chain_picture`, `irreps` | what do the pictures show? |
//! | `vectors`, `trace` | how are vectors and traces written? |

mod chain;
mod chain_picture;
mod cluster;
mod curve_sweep;
mod curve_sweep_picture;
mod curves;
mod digits;
mod entanglement;
mod irreps;
pub(crate) mod json;
mod lattice;
mod level_spin;
mod level_statistics;
mod levels;
mod magnetisation;
mod matrix;
mod matrix_product;
mod method;
mod molecule;
mod orbitals;
mod outcome;
mod picture;
mod picture_style;
pub(crate) mod plot;
mod record;
mod spectrum;
mod states;
mod structure_factor;
mod sweep;
mod sweep_csv;
mod sweep_picture;
mod sweep_table;
mod tensors;
mod trace;
mod units;
mod vectors;

pub use crate::files::{ReportError, SCHEMA, check_file, check_folder, publish};
pub use chain::ChainRecord;
pub use cluster::{ClusterRecord, ComplexRecord, GeneratorRecord, MomentumRecord, SymmetryRecord};
pub use curve_sweep::{CurveSweepRecord, SweptCurve};
pub use curves::CurveReport;
pub use digits::{EnergyFormat, energy_text};
pub use entanglement::EntanglementRecord;
pub(crate) use entanglement::{LevelDensityMatrix, write_level_density_matrices};
pub use lattice::LatticeRecord;
pub use level_spin::{LevelSpinRecord, SpinCount};
pub use level_statistics::LevelStatistics;
pub use levels::{LevelSector, SectorLevel};
pub use magnetisation::{Magnetisation, MagnetisationStep};
pub use matrix::MatrixRecord;
pub use matrix_product::MATRIX_PRODUCTS;
pub(crate) use matrix_product::{read_matrix_products, write_matrix_products};
pub use method::{Method, Stop};
pub use molecule::{MoleculeRecord, TransitionRecord};
pub use orbitals::OrbitalsRecord;
pub(crate) use outcome::text_file;
pub use outcome::{FamilyRecord, LevelAverages, Outcome};
pub use picture_style::{BLUE, RED, draw_key, stroke};
pub use record::{
    Bound, CostRecord, CountedWork, HistoryPoint, KernelRecord, LevelRecord, MemoryItem, MemoryRecord, ModelRecord,
    Seconds, ShapeRecord,
};
pub use spectrum::Spectrum;
pub(crate) use states::StatesFound;
pub use structure_factor::{StructureFactor, StructureFactorValue};
pub use sweep::{Certificate, JoinedSector, KeyValues, ParameterSweepRecord, SweptOutcome};
pub use tensors::TensorRecord;
pub use trace::{chrome_trace, write_trace};
pub use vectors::{BasisStates, NamedArray, StateVectors, VectorRows};

#[cfg(test)]
mod tests;
