//! A state of a chain as a function of time.
//!
//! In: a chain, a start, times. Out: at each time averages, the weights and entropies of all cuts, ⟨H⟩ and ⟨ψ(0)|ψ(t)⟩, and what the steps may
//! have cost: the weight that truncations dropped, the bounds of the exponentials, an estimate of what the length of the steps costs.
//!
//! | file | question it answers |
//! |---|---|
//! | `start.rs` | kept states of a product of local states, and of a written state |
//! | `exponential.rs` | exp(−iHt) ψ of a bond or a site |
//! | `limits.rs` | what is wanted, and the limits of truncations and exponentials |
//! | `krylov.rs` | vectors of a Krylov space, and where they are |
//! | `time_engine.rs` | the engines on which states move |
//! | `split.rs` | which states of a left block stay, of complex ψ |
//! | `reach.rs` | which states blocks need for terms on distant sites |
//! | `step.rs` | a step of all bonds there and back |
//! | `site_step.rs` | a step of all sites, whose bonds grow |
//! | `driven.rs` | H(t), and which chain a step has |
//! | `checkpoint.rs` | from where a killed run goes on |
//! | `progress.rs` | how far an evolution is |
//! | `end_state.rs` | ψ at the end, to take away |
//! | `course.rs` | all steps, what is measured on the way, what they may have cost |

mod checkpoint;
mod course;
mod driven;
mod end_state;
mod exponential;
mod krylov;
mod limits;
mod progress;
mod reach;
mod site_step;
mod split;
mod start;
mod step;
mod time_engine;

pub use course::{ChainEvolved, evolve_chain, evolve_driven_chain};
pub use driven::DrivenChain;
pub use limits::ChainEvolution;
pub use progress::{ChainPoint, ChainSteps};

use crate::matrix_product::MatrixProductState;

/// The state of a chain at time 0.
#[derive(Clone, Debug, PartialEq)]
pub enum ChainStart {
    /// A product: the number of the local state of each site of the lattice.
    Product(Vec<usize>),
    /// A matrix-product state of the chain.
    State(MatrixProductState),
}

#[cfg(test)]
mod exact_tests;
#[cfg(test)]
mod tests;
