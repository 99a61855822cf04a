//! Tuning: which of several kernel shapes is fastest on this card, timed once and stored.
//!
//! ```text
//! candidates (a family's shapes, the rule's own first) → race → Choice → a file beside the kernel cache → later runs
//! ```
//!
//! Candidates compute the same terms in the same precision; the caller checks their results against each other before the
//! race. A family names its shapes and finds them again by name; there is no physics here.
//!
//! A choice is valid for one problem (the hash of the text from the rule's shape, so a changed template is another
//! problem), one card, one driver and one version of eigenforge. Anything else, a torn file, or a shape that is no longer
//! a candidate, counts as not tuned.

mod race;
mod store;

pub use race::{Racer, Timing, race};
pub use store::{Choice, Choices, Conditions};
