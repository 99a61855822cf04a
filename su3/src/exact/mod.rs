//! Exact numbers: products of prime powers, signed roots of rationals, and floats with a wide exponent.

mod primes;
mod root;
mod scaled;

pub(crate) use primes::PrimePowers;
pub use root::SignedRoot;
pub(crate) use scaled::{Binomials, Scaled};
