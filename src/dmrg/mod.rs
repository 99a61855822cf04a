//! Density-matrix renormalisation on a chain of sites.
pub mod blocks;
pub mod chain;
pub mod charges;
mod cover;
pub mod davidson;
pub mod dense;
pub mod enlarged;
pub mod environment;
mod error;
pub mod operator_sum;
pub mod ordering;
pub mod records;
pub mod site;
pub mod start;
pub mod state;
pub mod superblock;
pub mod sweep;
pub mod terms;
pub mod transform;
pub mod truncate;

pub use error::DmrgError;

#[cfg(test)]
mod tests;
