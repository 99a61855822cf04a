//! The ways of configuration state functions without a matrix: y = Cᵀ H C x, with H as a way multiplies determinants.
//!
//! In: a space of functions with its determinants, and a way for these. Out: a [`Multiply`] with the functions' own diagonal. The change C takes
//! C(k, k/2 − M) f_k multiplications for each configuration of k open shells, and H some hundred for each determinant: of 10 electrons in 14
//! orbitals, singlets, 38 million there and back each, beside 1,250 million. Segment products (GUGA) take fewer operations on shorter vectors,
//! but walk graphs with them; the product of determinants is dense, and exists on cores and cards.
//!
//! | file | question it answers |
//! |---|---|
//! | `transform` | what is a vector of functions over determinants, and back? |
//! | `multiply` | the multiply on cores |
//! | `engine` | the multiply on a card |

mod engine;
mod multiply;
#[cfg(test)]
mod tests;
mod transform;

use super::CsfSpace;
use crate::error::CiError;
use crate::estimate::{Estimate, ProductKind, StorageTarget};
use crate::way::{Counted, NamedPlan, Request, Way};
use eigenforge_product::{Fit, Multiply};
use multiply::CsfMultiply;
use std::sync::Arc;
use transform::{MOST_ROWS, Transform};

/// Multiplications and additions of a core in the time of one of the change: the coefficients are read for each.
const OPERATIONS_A_COEFFICIENT: f64 = 8.0;
/// Bytes of a core's memory rate that a determinant takes, which is gathered twice: a line each time.
const BYTES_A_DETERMINANT: f64 = 2.0 * 64.0;

/// The functions of any space whose determinants this way multiplies, on cores or one card.
pub(in super::super) struct CsfDirectWay {
    /// The way of the determinants.
    pub(in super::super) determinants: &'static dyn Way,
    /// Its name in plans and reports.
    pub(in super::super) name: &'static str,
}

/// The same request for the determinants.
fn of_determinants<'r>(request: &Request<'r>) -> Request<'r> {
    Request { csfs: None, ..request.clone() }
}

impl Way for CsfDirectWay {
    fn kind(&self) -> ProductKind {
        self.determinants.kind()
    }

    fn name(&self) -> &'static str {
        self.name
    }

    fn fit(&self, request: &Request<'_>) -> Fit {
        match self.determinants.fit(&of_determinants(request)) {
            Fit::Takes if request.place.cards > 1 || request.place.ranks.is_some() => {
                Fit::Refuses("functions are expanded in determinants by one process, on cores or one card".into())
            }
            Fit::Takes if request.space.len() > MOST_ROWS => {
                Fit::Refuses(format!("{} determinants, and at most {MOST_ROWS} are numbered", request.space.len()))
            }
            other => other,
        }
    }

    fn estimate(&self, counted: &Counted<'_>, place: StorageTarget) -> Estimate {
        let rows = counted.space.len();
        let own = Counted { census: counted.determinants, rows, ..*counted };
        let of = self.determinants.estimate(&own, place);
        let coefficients = counted.csfs.map_or(0.0, |csfs| csfs.coefficients(counted.space));
        // On a card rows and signs of determinants, two vectors of these, the diagonal.
        let bytes = if place.card.is_some() { 20 * rows } else { Transform::host_bytes(rows) } + 8 * counted.rows;
        let change = match place.card {
            Some(card) => 64.0 * rows as f64 / card.memory_rate + 4.0 * coefficients / card.fp64_rate,
            None => {
                let operations = 4.0 * OPERATIONS_A_COEFFICIENT * coefficients / place.processor.core_rate;
                operations / place.cores() + BYTES_A_DETERMINANT * rows as f64 / place.processor.stream_rate()
            }
        };
        Estimate {
            what: format!("{}, rows of {rows} determinants", of.what),
            bytes: of.bytes.saturating_add(bytes),
            host_bytes: of.host_bytes.saturating_add(bytes),
            set_up: of.set_up + SECONDS_A_ROW * rows as f64 / place.cores(),
            product: of.product + change,
            ..of
        }
    }

    fn plan(&self, request: &Request<'_>) -> Result<Arc<dyn Multiply>, CiError> {
        let csfs = functions(request);
        let determinants = self.determinants.plan(&of_determinants(request))?;
        let transform = Transform::new(csfs, request.space)?;
        let diagonal = csfs.diagonal(request.integrals)?;
        Ok(Arc::new(CsfMultiply::new(determinants, transform, diagonal, (self.name, request.place.warp))))
    }

    fn shapes<'r>(&self, request: &'r Request<'r>) -> Result<Vec<NamedPlan<'r>>, CiError> {
        let names: Vec<String> = {
            let own = of_determinants(request);
            self.determinants.shapes(&own)?.into_iter().map(|(name, _)| name).collect()
        };
        let of = |name: String| -> NamedPlan<'r> {
            let shaped = Request { shape: Some(name.clone()), ..request.clone() };
            let way = CsfDirectWay { ..*self };
            (name, Box::new(move || way.plan(&shaped)))
        };
        Ok(names.into_iter().map(of).collect())
    }
}

/// Seconds of a core to find the row of a determinant.
const SECONDS_A_ROW: f64 = 1e-7;

fn functions<'r>(request: &Request<'r>) -> &'r CsfSpace {
    request.csfs.unwrap_or_else(|| unreachable!("the way is for them"))
}
