//! The way of the CPU: rows of σ of all α strings, or of those of a rank.

use super::super::estimate::{Estimate, StorageTarget};
use super::super::integrals::Integrals;
use super::super::vector_number::VectorNumber;
use super::super::way::{Counted, Request, Source, Way};
use super::{CiError, DirectError, Moves, THRESHOLD, Tables, estimate, in_shape, wanted_shape};
use eigenforge_product::ranks::part_range;
use eigenforge_product::{CoresMultiply, Fit, HostProduct, HostRows, Multiply, PrepareError};
use eigenforge_runtime::{PerScalar, Scalar};
use eigenforge_templates::Cost;
use std::marker::PhantomData;
use std::sync::Arc;

/// The name of this way in plans and reports.
const WAY: &str = "groups of strings on the cores";

/// Complete spaces on cores, and on cards of more ranks than there are α strings.
pub(in super::super) struct CoresWay;

impl Way for CoresWay {
    fn name(&self) -> &'static str {
        WAY
    }

    fn fit(&self, request: &Request<'_>) -> Fit {
        match (request.space.is_complete(), request.is_on_card()) {
            (false, _) => Fit::Foreign,
            (true, true) if wanted_shape(request).is_some() => Fit::Refuses("a card multiplies".into()),
            (true, true) if request.complex.is_some() => Fit::Refuses("over complex orbitals a card makes rows".into()),
            _ => Fit::Takes,
        }
    }

    fn estimate(&self, counted: &Counted<'_>, place: StorageTarget) -> Estimate {
        estimate::by_strings(counted, place)
    }

    fn plan(&self, request: &Request<'_>) -> Result<Arc<dyn Multiply>, CiError> {
        Ok(in_shape(request, None)?)
    }
}

/// All rows, or those of a rank with numbers of all.
pub(super) fn plan(request: &Request<'_>) -> Result<Arc<dyn Multiply>, DirectError> {
    match request.complex {
        Some(complex) => plan_of(complex, request),
        None => plan_of(request.integrals, request),
    }
}

fn plan_of<N: VectorNumber>(integrals: &Integrals<N>, request: &Request<'_>) -> Result<Arc<dyn Multiply>, DirectError> {
    let (space, strings) = (request.space, request.space.alpha().words().len());
    let own = request.ranks.map_or(0..strings, |ranks| part_range(strings, ranks.rank(), ranks.count()));
    let tables = Moves::new(integrals, space, THRESHOLD)?.into_cpu_tables(own)?;
    let mut norm = tables.norm_parts();
    let bytes = 16 * N::PARTS * tables.alpha.own_elements().len();
    let mut work = [N::KIND.product_flops() as f64 * tables.elements(), bytes as f64];
    if let Some(ranks) = request.ranks {
        for part in &mut norm {
            *part = ranks.largest("a part of the norm", *part)?;
        }
        ranks.add_up("the work of a product", 0, &mut work)?;
    }
    let (cost, norm) = (Cost { flops: work[0], bytes: work[1] }, norm.iter().sum());
    let rows = HostFullCi(Arc::new(tables));
    Ok(Arc::new(CoresMultiply { rows, norm, cost, shape: WAY }))
}

/// The rows on the host of what is planned for cards.
pub(super) fn host(source: &Source) -> Result<Box<dyn HostProduct>, PrepareError> {
    let strings = source.space.alpha().words().len();
    let tables = Moves::new(&source.integrals, &source.space, THRESHOLD)?.into_cpu_tables(0..strings)?;
    Ok(Box::new(HostFullCi(Arc::new(tables))))
}

/// The rows that the tables make.
#[derive(Clone)]
struct HostFullCi<N>(Arc<Tables<N>>);

/// A multiply of one type of vectors.
struct MakeRows<N>(PhantomData<N>);

impl<N: VectorNumber> PerScalar for MakeRows<N> {
    type Of<T: Scalar> = fn(&Tables<N>, &[T], &mut [T]) -> f64;
}

/// Vectors of single precision are multiplied in double precision.
fn multiply_widened<N: VectorNumber>(tables: &Tables<N>, x: &[f32], y: &mut [f32]) -> f64 {
    let x: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
    let mut wide = vec![0.0; y.len()];
    let dot = tables.multiply(&x, &mut wide);
    f32::store(&wide, y);
    dot
}

impl<N: VectorNumber> HostRows for HostFullCi<N> {
    fn dimension(&self) -> usize {
        N::PARTS * self.0.alpha.row_start(self.0.alpha.len())
    }

    /// The rows that the tables make: those of the share that they were planned for.
    fn rows<T: Scalar>(&self, x: &[T], first: usize, y: &mut [T]) -> f64 {
        debug_assert_eq!(first, N::PARTS * self.0.alpha.own_elements().start);
        debug_assert_eq!(y.len(), N::PARTS * self.0.alpha.own_elements().len());
        T::choose::<MakeRows<N>>(Tables::multiply, multiply_widened)(&self.0, x, y)
    }

    fn diagonal(&self, index: usize) -> f64 {
        let mut element = [0.0];
        self.0.diagonal(index / N::PARTS, &mut element);
        element[0]
    }

    /// The first and the last number may be there in part.
    fn diagonals(&self, first: usize, out: &mut [f64]) {
        if N::PARTS == 1 {
            return self.0.diagonal(first, out);
        }
        let start = first / N::PARTS;
        let mut elements = vec![0.0; (first + out.len()).div_ceil(N::PARTS) - start];
        self.0.diagonal(start, &mut elements);
        out.iter_mut().enumerate().for_each(|(part, out)| *out = elements[(first + part) / N::PARTS - start]);
    }

    /// Between the rows of α strings.
    fn cut(&self, shares: usize) -> Vec<usize> {
        let alpha = &self.0.alpha;
        let start = |rank| alpha.row_start(part_range(alpha.len(), rank, shares).start);
        (0..=shares).map(|rank| N::PARTS * start(rank)).collect()
    }
}
