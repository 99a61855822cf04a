//! stub
pub mod basis;
pub mod exact;
pub mod lattice;
pub mod operator;
