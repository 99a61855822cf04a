//! What an operator A makes of a level: the resolvent of A|a⟩, its poles, its moments.
//!
//! G(ω) = (1/g) Σ_a ⟨a| A† (ω + iη + E − H)⁻¹ A |a⟩,   S(ω) = −Im G / π = (1/g) Σ_a Σ_n |⟨n|A|a⟩|² δ(ω − E_n + E),
//!
//! over the g states a of a level of energy E (E. Dagotto, Rev. Mod. Phys. 66, 763 (1994), section II.D). In: states of a model, A. Out: a
//! [`Response`]. A may change charges and the momentum:
//!
//! ```text
//! A ─ by change of charges → targets → A|a⟩ on the states of each → chain or moments there → Response: G, poles, moments
//!                            target.rs  excited.rs             chains.rs, series.rs
//! ```
//!
//! Of a real H the real and the imaginary part of A|a⟩ have a chain each, since ⟨u + iv| G |u + iv⟩ = ⟨u| G |u⟩ + ⟨v| G |v⟩ for a symmetric G; of a
//! complex one the vector of real and imaginary parts has one.

mod chains;
mod excited;
mod series;
mod target;

pub(crate) use chains::CHAIN_VECTORS;
pub use chains::{ChainOptions, ReachedSector, Response, ResponseChain, ResponseStarts};
pub(crate) use excited::Action;
pub use excited::LevelStates;
pub(super) use excited::layout_of;
pub use series::ResponseSeries;
pub use target::ResponseTarget;

#[cfg(test)]
mod tests;
