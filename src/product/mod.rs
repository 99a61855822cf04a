//! y = H x, for every family: what a way to multiply is, and where it runs.
//!
//! ```text
//! a family's list of ways  →  Multiply      plan, text, tables, host rows
//! Multiply × Device        →  Engine        cores, one card or several, one of several ranks
//! ```
//!
//! | file | question it answers |
//! |---|---|
//! | `multiply` | what does a way to multiply say of itself? |
//! | `plan` | what does a user see of it? |
//! | `engine` | how is it put on a device? |
//! | `host` | rows of y on the cores, for all rows and for a share |
//! | `kernels` | the launches of one multiply, and of several vectors at once |
//! | `several` | which multiplies of several vectors are there? |
//! | `traffic`, `received` | what does a card need of the others, and how much is it? |
//! | `rank` | what does one of several ranks make? |

mod engine;
mod error;
mod host;
mod kernels;
mod multiply;
mod plan;
mod rank;
mod received;
mod several;
mod traffic;

pub(crate) use engine::{Engine, place};
pub use error::PrepareError;
pub(crate) use host::host_diagonal;
pub(crate) use host::{HostProduct, HostRows};
pub(crate) use kernels::ProductKernels;
pub(crate) use multiply::{CompileText, GeneratedKernels, Multiply, NormBounds, ShownText};
pub(crate) use multiply::{answers_of_plan, launches_of_plan};
pub use plan::MultiplyPlan;
pub(crate) use rank::{RankRows, RankRowsOf};
pub use received::Received;
pub(crate) use several::SeveralPlans;
pub(crate) use traffic::Traffic;
