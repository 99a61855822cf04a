//! The correction t = −r / (D − θ) of a Ritz vector: its residual r over the operator's diagonal D less the Ritz value
//! θ (Davidson 1975).
//!
//! In: r. Out: t in its place, and both norms, from one pass. Divisors are bounded away from zero, keeping their sign,
//! since D − θ is negative where a basis state lies below an excited one. Without a diagonal t = r, and the search is a
//! block Lanczos with full orthogonalisation.

use super::super::algebra::parse;
use super::super::run::Run;
use super::start::Diagonal;
use crate::device::Vector;
use crate::error::SolveError;
use crate::operator::LinearOperator;
use crate::scalar::Scalar;
use crate::vector_program::{Bind, Program};

/// The pass.
pub(super) const CORRECTION: &str = "program davidson_correction\nvectors t : inout\nscalars theta least\n\
    functions diagonal\nlet r = t\nlet gap = diagonal - theta\n\
    t = -r / select(abs(gap) < least, select(gap < 0, -least, least), gap)\nsum rr = r * r\nsum tt = t * t\n";

/// The least divisor, as a fraction of the diagonal's standard deviation: an element that happens to lie at θ must not
/// dominate t, which would cost an iteration. With 0.1 the multiplies of stretched N2 grow by a quarter; 0.001 changes
/// nothing.
pub(in super::super) const LEAST: f64 = 1e-2;

/// The pass, compiled for an operator that has a diagonal.
pub(super) struct Correction {
    divide: Option<(Program, f64)>,
}

/// Norms of a residual and of its correction.
pub(super) struct Norms {
    pub residual: f64,
    pub correction: f64,
}

impl Correction {
    pub(super) fn new<T: Scalar>(
        operator: &dyn LinearOperator<T>,
        diagonal: Option<&Diagonal>,
    ) -> Result<Correction, SolveError> {
        let divide = match diagonal {
            Some(diagonal) => {
                let function = diagonal.function.clone().named("diagonal");
                Some((operator.device().program(&parse(CORRECTION), T::TYPE, &[function])?, LEAST * diagonal.spread))
            }
            None => None,
        };
        Ok(Correction { divide })
    }

    /// t ← −r / (D − θ), where t holds r.
    pub(super) fn apply<T: Scalar>(
        &self,
        run: &Run<'_, T>,
        t: &mut Vector<T>,
        theta: f64,
    ) -> Result<Norms, SolveError> {
        let (rr, tt) = match &self.divide {
            Some((program, least)) => {
                let sums = program.run(&mut [Bind::Out(t)], &[theta, *least])?;
                (sums[0], sums[1])
            }
            None => {
                let rr = run.algebra.dot(t, t)?;
                (rr, rr)
            }
        };
        Ok(Norms { residual: rr.sqrt(), correction: tt.sqrt() })
    }

    /// Whether t differs from r.
    pub(super) fn divides(&self) -> bool {
        self.divide.is_some()
    }
}
