//! What a run leaves behind: one record, printed for people, as JSON for programs, and as files.
//!
//! In: what the solver and the observables found. Out: a [`RunReport`] (`--json`, report.json), its
//! [summary](RunReport::summary) for a terminal, [convergence.svg](RunReport::convergence_svg), and
//! [vectors.npz](VectorFile), and a [trace](chrome_trace) of where the time went. Files are written beside and renamed, so that a name never holds half a file.
//!
//! Numbers that are not finite (a diverged residual) are `null` in JSON, come back as NaN, and are named in `warnings`.

mod ci;
mod digits;
mod dmrg;
mod dmrg_picture;
mod irreps;
mod picture;
pub mod picture_style;
mod record;
mod states;
mod summary;
mod trace;
mod vectors;

pub use crate::files::{ReportError, publish};
pub use ci::{CiReport, CiSeconds};
pub use digits::{EnergyFormat, energy_text};
pub use dmrg::{DmrgReport, DmrgSeconds, SiteAverages};
use record::text_file;
pub use record::{
    CostRecord, HistoryPoint, KernelRecord, LevelRecord, MemoryItem, MemoryRecord, ModelRecord, Observables, RunReport,
    Seconds, ShapeRecord,
};
pub(crate) use states::StatesFound;
pub use trace::{chrome_trace, write_trace};
pub use vectors::{BasisStates, VectorFile};

#[cfg(test)]
mod tests;
