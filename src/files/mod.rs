//! Files that a run leaves behind: whole, or not there.

mod error;
mod publish;

pub use error::ReportError;
pub use publish::publish;
