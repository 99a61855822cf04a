//! Files that a run leaves behind: whole, or not there; and whether they can be written, before the run.

mod destination;
mod error;
mod publish;

pub use destination::{check_file, check_folder};
pub(crate) use destination::regular_place;
pub use error::ReportError;
pub use publish::publish;
