//! DMRG on a device that runs kernels: operation records in one launch per stage, or through cuBLAS on a card.
//!
//! ```text
//! Stage → tiles (cutting.rs) → shares of blocks, table (table.rs) → one launch (products.rs)
//!                                        operands that stream (streams.rs, copies.rs) ↗
//!       → calls on streams (library.rs)
//! ```

mod copies;
mod cutting;
pub mod library;
pub mod products;
mod streams;
mod table;
mod tables;

pub use cutting::Loads;
pub use library::{LibraryProducts, LibraryStage};
pub use products::{DeviceBuffers, PreparedStage, Products};
pub(super) use tables::Tables;
