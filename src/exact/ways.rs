//! The ways to multiply by H of a lattice model, a line each. A new way is a folder with a function `plan`, and its line here.

use super::model::Model;
use super::{general, kronecker, stored, symmetric};
use crate::operator::OperatorError;
use crate::product::{Multiply, MultiplyPlan};
use eigenforge_runtime::trace;
use eigenforge_templates::ScalarType;
use eigenforge_templates::exact::{CoefficientArguments, DiagonalPlan};
use std::sync::Arc;

/// Plans a multiply of a model; `None` where this way is not for it.
type Plan = fn(&Model, &Request<'_>) -> Result<Option<Arc<dyn Multiply>>, OperatorError>;

/// The first that is for a model is taken.
const WAYS: [Plan; 6] = [
    kronecker::plan,         // a Kronecker sum of one matrix for each spin
    general::plan,           // any terms on states that have ranks
    symmetric::strings_plan, // electrons in a symmetry sector, by strings of each spin
    symmetric::pairs_plan,   // electrons in a sector of the exchange of spins, on pairs of strings
    symmetric::orbits_plan,  // a symmetry sector, by rows that are made as they are multiplied
    stored::plan,            // a stored matrix of listed states
];

/// What a plan is asked for.
pub(super) struct Request<'a> {
    pub(super) scalar: ScalarType,
    /// Added to the diagonal, which a model's structure leaves out.
    pub(super) constant: f64,
    /// Coefficients that kernels take as arguments, where their text is the one that these are of.
    pub(super) arguments: Option<&'a CoefficientArguments>,
}

impl Request<'_> {
    /// The diagonal with the constant that is asked for.
    pub(super) fn complete(&self, diagonal: &mut DiagonalPlan) {
        if self.constant != 0.0 {
            diagonal.constant += self.constant;
            diagonal.taken_out = 0.0;
        }
    }
}

impl Model {
    /// The multiply by all of H, the [constant](Model::constant) of the sector included, for vectors of `scalar`.
    ///
    /// # Errors
    /// A plan that cannot be made, such as one of a stored matrix that does not fit in memory.
    pub fn multiply(&self, scalar: ScalarType) -> Result<MultiplyPlan, OperatorError> {
        self.planned(&Request { scalar, constant: self.constant(), arguments: self.shared() })
    }

    /// The same without the constant, which solvers add to energies.
    ///
    /// # Errors
    /// As of [`Model::multiply`].
    pub fn multiply_without_constant(&self, scalar: ScalarType) -> Result<MultiplyPlan, OperatorError> {
        self.planned(&Request { scalar, constant: 0.0, arguments: self.shared() })
    }

    /// The multiply that a request asks for.
    pub(super) fn planned(&self, request: &Request<'_>) -> Result<MultiplyPlan, OperatorError> {
        let _planning = trace::span("generate", "plan");
        for plan in WAYS {
            if let Some(multiply) = plan(self, request)? {
                return Ok(MultiplyPlan(multiply));
            }
        }
        unreachable!("a matrix is stored of any listed states")
    }
}
