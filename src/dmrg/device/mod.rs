//! DMRG on a device that runs kernels: operation records in one launch a stage.
//!
//! ```text
//! Stage → tiles (cutting.rs) → shares of blocks, table (table.rs) → one launch (products.rs)
//! ```

mod cutting;
pub mod products;
mod table;

pub use products::{DeviceBuffers, Prepared, Products};
