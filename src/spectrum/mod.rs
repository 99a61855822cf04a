//! Spectra of a level: `eigenforge spectrum MODEL.toml`.
//!
//! ```text
//! [spectrum] → operator at each q → level, in every sector that has a part of it → A|a⟩, chains → curves, poles, sum rules → report, files
//!   operator.rs, current.rs, path.rs,  run.rs, partners.rs                          exact::Response   record.rs, files.rs
//!   plan.rs                                                                         joined.rs
//! ```
//!
//! A_q = N^(−1/2) Σ_j e^(−iq·r_j) O_j with r_j the position of site j; adding an electron is c†_k = N^(−1/2) Σ_j e^(+ik·r_j) c†_j, so that both it and
//! removing carry the momentum of the electron. S(q, ω) = (1/g) Σ_a Σ_n |⟨n|A_q|a⟩|² δ(ω − E_n + E) over the g states of the level. ω counts from
//! the level's energy; removing is drawn at −(E_n − E).
//! Of a molecule the operators are those of its orbitals, or the dipole (molecule.rs, molecule_states.rs).
//! Beside `[thermal]` it is the mean over an ensemble (ensemble.rs, ensemble_sums.rs).

mod conductivity;
mod current;
mod energy_bins;
mod ensemble;
mod ensemble_sums;
mod files;
mod joined;
mod molecule;
mod molecule_states;
mod operator;
mod partners;
mod path;
mod plan;
mod record;
mod run;

use crate::Error;
use crate::input::InputFile;
use crate::problem::run::RunContext;

pub use conductivity::ConductivityRecord;
use molecule::molecule_spectrum;
pub(crate) use plan::chain_files;
pub use record::{SpectrumCurve, SpectrumRecord};
pub use run::spectrum;

/// The spectrum of a file's level: of a lattice model or a molecule.
///
/// # Errors
/// Another family, a sweep, keys that its spectrum does not take; those of the device.
pub fn file_spectrum(file: InputFile, context: &RunContext) -> Result<SpectrumRecord, Error> {
    match file {
        InputFile::Lattice(file) => spectrum(*file, context),
        InputFile::Ci(file) => molecule_spectrum(*file, context),
        other => Err(Error::without_curves::<SpectrumRecord>(&other)),
    }
}
