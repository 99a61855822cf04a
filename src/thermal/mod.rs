//! Thermal averages: `eigenforge thermal MODEL.toml`.
//!
//! ```text
//! [thermal] → sectors of the ensemble → Tr A e^(−H/T) of each → sums, jackknife → report, files
//!              sectors.rs                run.rs, exact::SectorTrace  averages.rs     record.rs, files.rs
//! ```
//!
//! With K = H, in the grand ensemble K = H − µN, and M the total Sᶻ: Z = Tr e^(−K/T), E = ⟨H⟩, C = (⟨K²⟩ − ⟨K⟩²)/T², S = ⟨K⟩/T + ln Z,
//! χ = (⟨M²⟩ − ⟨M⟩²)/T, ∂N/∂µ = (⟨N²⟩ − ⟨N⟩²)/T, all of the whole cluster, k_B = 1. Traces run over every state of the ensemble: each sector of
//! conserved numbers and momentum is solved, those with the same levels by symmetry once.

mod averaged;
mod averages;
mod files;
mod places;
mod record;
mod run;
mod sectors;

use crate::Error;
use crate::input::InputFile;
use crate::problem::run::RunContext;

pub use record::{ThermalCurve, ThermalPlaces, ThermalRecord, ThermalSectorRecord};
pub use run::thermal;
pub(crate) use run::{ThermalRun, sector_files};
pub(crate) use sectors::{EnsembleSectors, JoinedSectors};

/// The thermal averages of a file's lattice model.
///
/// # Errors
/// Another family, a sweep; those of [`thermal()`].
pub fn file_thermal(file: InputFile, context: &RunContext) -> Result<ThermalRecord, Error> {
    match file {
        InputFile::Lattice(file) => thermal(*file, context),
        other => Err(Error::without_curves::<ThermalRecord>(&other)),
    }
}
