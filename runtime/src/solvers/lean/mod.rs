//! Davidson's method for one solve among thousands (Davidson 1975; Nemes et al. 2014, Algorithm 3).
//!
//! In: y = H x, the diagonal of H, a start vector, vectors to stay orthogonal to, a tolerance on ‖Hx − λx‖. Out: the
//! lowest eigenvalue, its unit eigenvector, the residual norm. A bond of a chain takes a millisecond and two to eight
//! products from a good start, so this solver is lean: one state or a few, no certificate, no checkpoint, and vectors that are
//! kept from solve to solve. [`super::solve`] has the others.
//!
//! `solvers::davidson` solves another problem: several states of one large operator, in blocks, with locking, guard vectors, a
//! basis sized by the memory that is left, and checkpoints, each step a vector program that is launched by itself. Here an iteration of a
//! few dozen microseconds must be one call that a memory can fuse, and the operator is a list of products on its buffers instead of a
//! [`LinearOperator`](crate::LinearOperator). The correction r / (D − λ) is all that both have.
//!
//! The search is written once, over the trait `Basis`. Its iteration is one call, so that a memory may fuse it: on the
//! host (`host.rs`) it ends before a correction that is not needed; on a device (`device.rs`) it is four launches and one
//! wait, and the last correction is wasted, which is cheaper than waiting before it.

mod basis;
mod block;
mod chain;
mod device;
mod host;

pub use basis::BasisChoice;
pub use chain::TextChoice;
pub use device::CardWork;
pub(crate) use device::{DeviceDavidson, most_below, over_cards};
pub use host::HostDavidson;

use crate::error::BackendError;

/// Basis vectors before a restart; the paper's runs keep 20.
pub const WIDTH: usize = 20;

/// The result of a solve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DavidsonResult {
    /// The eigenvalue.
    pub value: f64,
    /// ‖Hx − λx‖.
    pub residual: f64,
    /// Products with H.
    pub products: usize,
    /// xᵀHx / xᵀx of the start vector; NaN of states that were searched together.
    pub first: f64,
}

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DavidsonLimits {
    /// On the residual norm.
    pub tolerance: f64,
    /// Products at most.
    pub products: usize,
    /// On the eigenvalue, where H has far larger terms than those that set the distances of its levels.
    pub precision: Option<Precision>,
}

/// The precision of an eigenvalue whose error is ‖r‖² over the distance of the next level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precision {
    /// The largest error.
    pub error: f64,
    /// A distance of levels that is assumed until the Ritz values show one.
    pub gap: f64,
    /// A residual norm that is rounding.
    pub rounding: f64,
}

/// A second Ritz value lies above its level: the distance of the levels is assumed to be this part of what it shows.
const SEEN_GAP: f64 = 0.1;
/// Ritz vectors from which on the second Ritz value counts.
const SEEN_WIDTH: usize = 3;

impl DavidsonLimits {
    /// Limits on the residual norm and on the number of products.
    pub fn new(tolerance: f64, products: usize) -> DavidsonLimits {
        DavidsonLimits { tolerance, products, precision: None }
    }

    /// Whether a search ends at this residual norm, with these Ritz values: it has converged, or broken down.
    fn end_at(self, residual: f64, ritz: &[f64]) -> bool {
        !residual.is_finite()
            || residual <= self.tolerance && self.precision.is_none_or(|precision| precision.is_met(residual, ritz))
    }
}

impl Precision {
    fn is_met(self, residual: f64, ritz: &[f64]) -> bool {
        let seen = match ritz {
            [lowest, next, ..] if ritz.len() >= SEEN_WIDTH => SEEN_GAP * (next - lowest),
            _ => 0.0,
        };
        residual <= self.rounding || residual * residual <= self.error * self.gap.max(seen)
    }
}

/// What an iteration prepares, unless the search ends with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// Nothing: it is the last.
    Nothing,
    /// The correction, as one more basis vector.
    Wider,
    /// A basis of the two lowest Ritz vectors, and the correction behind them.
    Restart,
}

/// What an iteration found.
struct Iteration {
    /// The Ritz values, ascending: one for each vector of the basis.
    values: Vec<f64>,
    /// Its residual norm.
    residual: f64,
    /// Whether the basis spans the correction already, so that it cannot grow.
    exhausted: bool,
}

/// An orthonormal basis V with W = H V, in some memory; its first vector is the start vector.
trait Basis {
    /// Vectors that span the whole space.
    fn complete(&self) -> usize;

    /// Vectors before a restart.
    fn most(&self) -> usize;

    /// W of a column of V.
    fn multiply(&mut self, column: usize) -> Result<(), BackendError>;

    /// The lowest Ritz pair of `width` vectors; prepares what comes next.
    fn iterate(&mut self, width: usize, next: Next, limits: DavidsonLimits) -> Result<Iteration, BackendError>;

    /// Replaces the start vector by the Ritz vector of the last iteration, which left `width` vectors.
    fn finish(&mut self, width: usize) -> Result<(), BackendError>;
}

/// The lowest eigenpair.
fn search(basis: &mut impl Basis, limits: DavidsonLimits) -> Result<DavidsonResult, BackendError> {
    let (mut width, mut products, mut first) = (0, 0, f64::NAN);
    loop {
        basis.multiply(width)?;
        (width, products) = (width + 1, products + 1);
        let next = match width {
            _ if width >= basis.complete() || products >= limits.products => Next::Nothing,
            _ if width >= basis.most() => Next::Restart,
            _ => Next::Wider,
        };
        let Iteration { values, residual, exhausted } = basis.iterate(width, next, limits)?;
        let value = values.first().copied().unwrap_or(f64::NAN);
        if products == 1 {
            first = value;
        }
        if next == Next::Restart {
            width = width.min(2);
        }
        if next == Next::Nothing || exhausted || limits.end_at(residual, &values) {
            basis.finish(width)?;
            return Ok(DavidsonResult { value, residual, products, first });
        }
    }
}

#[cfg(test)]
mod tests;
