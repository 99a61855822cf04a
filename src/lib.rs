//! stub
pub mod lattice;
