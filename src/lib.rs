//! stub
pub mod input;
pub mod lattice;
pub mod report;
