//! What every family of problems starts from: lattices, operators on their sites, bases of their sectors, observables; and what every
//! family hands on: the stages of a problem's path, files that are whole or not there, words for people.
//!
//! | module | in → out |
//! |---|---|
//! | `lattice` | sizes and boundaries → sites and bonds |
//! | `operator` | a sum of products → a checked operator, with its symmetries |
//! | `basis` | an operator and a sector → states and their numbers |
//! | `observable` | texts and names → operators that are averaged |
//! | `models` | lattice and couplings → built-in models |
//! | `path` | the stages of a problem that can be shown, and why one can't |
//! | `files`, `words`, `processes` | outputs; numbers and lists in messages; processes that work together |
//!
//! Users reach all of it as modules of `eigenforge`.

#![warn(missing_docs, unreachable_pub)]

// The attribute macro names the library, and the built-in models use it here.
extern crate self as eigenforge;

pub mod basis;
pub mod files;
pub mod lattice;
pub mod models;
pub mod observable;
pub mod operator;
pub mod path;
pub mod processes;
pub mod words;
