//! Tuning: which of several shapes of the same computation is fastest on this card, timed once and kept.
//!
//! ```text
//! candidates (a family's shapes, the rule's own first) → race → Choice → a file beside the kernel cache → later runs
//! ```
//!
//! Candidates compute the same terms in the same precision; whoever holds the race checks their results against each
//! other before they compete. A family names its shapes and finds them again by name; nothing of physics is here.
//!
//! A choice holds for one problem (the hash of the text that the rule's shape gives, so a changed template is another
//! problem), one card, one driver and one version of eigenforge. Anything else, a torn file, or a shape that is no
//! candidate any more, counts as never tuned.

mod race;
mod store;

pub use race::{Racer, Timing, race};
pub use store::{Choice, Choices, Conditions};
