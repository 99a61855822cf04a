//! Vᵀw by cuBLAS `dgemv`, on the same pool of seeded vectors as ours.

use super::blas::Blas;
use super::device::{Buffer, Context};
use super::{VendorError, median, seeded};
use crate::dmrg::belt::Shape;

/// What `dgemv` came to.
pub struct VendorBelt {
    /// Median milliseconds of one product.
    pub milliseconds: f64,
    /// Those of the first set of vectors.
    pub sums: Vec<f64>,
}

/// Runs and times it on device `ordinal`: V column after column, then w, set after set.
pub fn belt(shape: Shape, ordinal: usize, repeats: usize) -> Result<VendorBelt, VendorError> {
    let context = Context::open(ordinal)?;
    let (sets, each) = (shape.sets(), shape.width + 1);
    context.must_hold(8 * sets * each * shape.length + (64 << 20))?;
    let pool: Vec<f64> = (0..sets * each).flat_map(|k| seeded::vector(shape.length, k as u64)).collect();
    let pool = Buffer::upload(&pool)?;
    let mut sums = Buffer::upload(&vec![f64::NAN; shape.width])?;
    let blas = Blas::new()?;
    let mut run = |set: usize| blas.products(&pool, set * each * shape.length, shape.length, shape.width, &mut sums);
    run(0)?;
    context.synchronize()?;
    let times = context.time(repeats, || (0..sets).try_for_each(&mut run))?;
    run(0)?;
    let mut first = vec![f64::NAN; shape.width];
    sums.read(&mut first)?;
    Ok(VendorBelt { milliseconds: median(&times) / sets as f64, sums: first })
}
