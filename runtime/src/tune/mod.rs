//! Tuning: which of several kernel shapes is fastest on this card, timed once and stored.
//!
//! ```text
//! candidates (a family's shapes, the rule's own first) → race → Choice → a file beside the kernel cache → later runs
//! ```
//!
//! Candidates compute the same terms in the same precision; their results are compared before the race. A family names its
//! shapes and finds them again by name; there is no physics here.
//!
//! A choice is valid for one problem (a hash of what determines the product: for lattices and SU(3) the text in the rule's shape,
//! so that a changed template is another problem; for molecules integrals, determinants and storage), one card, one driver
//! and one version of eigenforge. Anything else, a torn file, or a shape that is no longer a candidate, counts as not tuned.

mod race;
mod shapes;
mod store;

pub use race::{Racer, Timing, race};
pub use shapes::{ShapeRace, ShapeSource, ShapeUsed, TimedProduct, Tuning, check_device};
pub use store::{Choice, Choices, Conditions};
