//! A state of a chain as a function of time.
//!
//! In: a chain, a start, times. Out: at each time averages, the weights and entropies of all cuts, ⟨H⟩ and ⟨ψ(0)|ψ(t)⟩, and what the steps may
//! have cost: the weight that truncations dropped, the bounds of the exponentials, an estimate of what the length of the steps costs.
//!
//! | file | question it answers |
//! |---|---|
//! | `start.rs` | kept states of a product of local states, and of a written state |
//! | `exponential.rs` | exp(−iHt) ψ of a bond or a site |
//! | `split.rs` | which states of a left block stay, of complex ψ |
//! | `reach.rs` | which states blocks need for terms on distant sites |
//! | `step.rs` | a step of all bonds there and back |
//! | `checkpoint.rs` | from where a killed run goes on |
//! | `progress.rs` | how far an evolution is |
//! | `end_state.rs` | ψ at the end, to take away |
//! | `course.rs` | all steps, what is measured on the way, what they may have cost |

mod checkpoint;
mod course;
mod end_state;
mod exponential;
mod progress;
mod reach;
mod split;
mod start;
mod step;

pub use course::{ChainEvolution, ChainEvolved, evolve_chain};
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
mod tests;
