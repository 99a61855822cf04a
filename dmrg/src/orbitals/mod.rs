//! The orbitals of a molecule: in which order they make a chain, and how strongly they are entangled in a state.
//!
//! | file | question it answers |
//! |---|---|
//! | `fiedler` | which order puts orbitals that belong together side by side? |
//! | `pair_density` | which averages give the density matrix of two orbitals, with fermionic signs? |
//! | `entropies` | what are the entropy of each orbital and the mutual information of each pair? |

pub(crate) mod entropies;
pub(crate) mod fiedler;
pub(crate) mod pair_density;
