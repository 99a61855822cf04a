//! What a caller can ask wrongly.

use crate::irrep::Irrep;

/// Labels that name no state or no coefficient.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LabelError {
    /// A negative angular momentum.
    #[error("2{name} = {found}: an angular momentum cannot be negative; expected twice its value: 0, 1, 2, …")]
    NegativeSpin {
        /// Which of them, such as `j3`.
        name: &'static str,
        /// Twice its value.
        found: i64,
    },
    /// An angular momentum beyond what the exact sums hold.
    #[error("2{name} = {found}: expected at most {limit}, twice the largest angular momentum supported")]
    LargeSpin {
        /// Which of them.
        name: &'static str,
        /// Twice its value.
        found: i64,
        /// Twice the largest.
        limit: i64,
    },
    /// A projection that its angular momentum does not have.
    #[error(
        "2{name} = {two_m} is not a projection of 2j = {two_j}: expected one of -{two_j}, -{two_j} + 2, …, {two_j}, of the \
         same parity"
    )]
    Projection {
        /// Which of them, such as `m2`.
        name: &'static str,
        /// Twice the angular momentum.
        two_j: i64,
        /// Twice the projection found.
        two_m: i64,
    },
    /// An irrep that is not in the product.
    #[error("{third} is not in the product {first} x {second}; `product` lists the irreps that are")]
    NotInProduct {
        /// Left factor.
        first: Irrep,
        /// Right factor.
        second: Irrep,
        /// The irrep asked for.
        third: Irrep,
    },
    /// An outer multiplicity index out of range.
    #[error("rho = {rho}: {first} x {second} contains {third} {rho_max} times; expected rho from 1 to {rho_max}")]
    Rho {
        /// Left factor.
        first: Irrep,
        /// Right factor.
        second: Irrep,
        /// The product.
        third: Irrep,
        /// What was asked for.
        rho: u32,
        /// How often it occurs.
        rho_max: u32,
    },
    /// κ or L that the irrep does not have.
    #[error(
        "kappa = {kappa}, L = {l}: {irrep} has {kappa_max} states with L = {l}{}",
        if *kappa_max == 0 { String::new() } else { format!("; expected kappa from 1 to {kappa_max}") }
    )]
    Kappa {
        /// The irrep.
        irrep: Irrep,
        /// What was asked for.
        kappa: u32,
        /// Angular momentum.
        l: u32,
        /// How often L occurs.
        kappa_max: u32,
    },
    /// L1, L2, L3 that no triangle has.
    #[error("L = {0}, {1}, {2}: expected |L1 - L2| <= L3 <= L1 + L2")]
    Triangle(u32, u32, u32),
}
