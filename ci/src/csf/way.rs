//! The way of configuration state functions: their matrix, stored.

use super::CsfSpace;
use crate::error::CiError;
use crate::estimate::{Estimate, ProductKind, StorageTarget};
use crate::matrix::MatrixError;
use crate::stored::{matrix_estimate, matrix_plan, matrix_shapes};
use crate::way::{Counted, NamedPlan, Request, Way};
use eigenforge_product::sparse::Csr;
use eigenforge_product::{Fit, Multiply};
use std::ops::Range;
use std::sync::Arc;

/// The name of this way in plans and reports.
const WAY: &str = "stored matrix of configuration state functions";

/// Any space of configuration state functions.
pub(in super::super) struct CsfWay;

/// Some rows of the matrix.
fn elements(request: &Request<'_>, rows: Range<usize>) -> Result<Csr, MatrixError> {
    let space: &CsfSpace = request.csfs.unwrap_or_else(|| unreachable!("the way is for them"));
    space.matrix_rows(request.integrals, rows)
}

impl Way for CsfWay {
    fn kind(&self) -> ProductKind {
        ProductKind::Stored
    }

    fn name(&self) -> &'static str {
        WAY
    }

    fn fit(&self, _: &Request<'_>) -> Fit {
        Fit::Takes
    }

    fn estimate(&self, counted: &Counted<'_>, place: StorageTarget) -> Estimate {
        matrix_estimate(counted, place)
    }

    fn plan(&self, request: &Request<'_>) -> Result<Arc<dyn Multiply>, CiError> {
        Ok(Arc::new(matrix_plan(request, |rows| elements(request, rows))?))
    }

    fn shapes<'r>(&self, request: &'r Request<'r>) -> Result<Vec<NamedPlan<'r>>, CiError> {
        Ok(matrix_shapes(matrix_plan(request, |rows| elements(request, rows))?))
    }
}
