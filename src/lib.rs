//! stub
pub mod input;
pub mod lattice;
