//! The model language: the text of a sum of second-quantised operators in, its syntax tree out.
//!
//! ```text
//! sum!(<i, j> in lattice.bonds(), s in [Up, Down]; -t * (cdag(i, s) * c(j, s) + h.c.))
//! ```
//!
//! Two readers share it: `#[gpu_operator]` reads Rust source at compile time and generates Rust and CUDA from the tree;
//! the observables of a model file are read from a string at run time and evaluated on its lattice. Both therefore
//! accept the same words and give the same errors.
//!
//! | module | question it answers |
//! |---|---|
//! | [`vocabulary`] | which operators and spins are there, and which was probably meant? |
//! | [`parse`] | what does a sum, a domain, an expression, an attribute say? |

#![warn(missing_docs, unreachable_pub)]

pub mod parse;
pub mod vocabulary;
