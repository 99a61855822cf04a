//! stub
extern crate self as eigenforge;
pub mod basis;
pub mod bench;
pub mod exact;
pub mod input;
pub mod lattice;
pub mod models;
pub mod operator;
pub mod report;
pub use eigenforge_macros::gpu_operator;
