//! DMRG on a device that runs kernels: operation records in one launch a stage.
//!
//! ```text
//! Stage → tiles (cutting.rs) → shares of blocks, table (table.rs) → one launch (products.rs)
//!                                        operands that stream (streams.rs, copies.rs) ↗
//! ```

mod copies;
mod cutting;
pub mod products;
mod streams;
mod table;

pub use cutting::Loads;
pub use products::{DeviceBuffers, Prepared, Products};
