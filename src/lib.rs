//! stub
pub mod basis;
pub mod bench;
pub mod exact;
pub mod input;
pub mod lattice;
pub mod operator;
pub mod report;
