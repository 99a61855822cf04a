//! x = V y by cuBLAS `dgemv`, on the same pool of seeded vectors as ours.

use super::blas::Blas;
use super::device::{Buffer, Context};
use super::{VendorError, median, seeded};
use crate::dmrg::belt::Shape;

/// What `dgemv` came to.
pub struct VendorCombination {
    /// Median milliseconds of one product.
    pub milliseconds: f64,
    /// x of the first set of vectors.
    pub vector: Vec<f64>,
}

/// Runs and times it on device `ordinal`: V column after column, then x, set after set.
///
/// # Errors
/// A library that is missing, a card that is too small.
pub fn combination(shape: Shape, y: &[f64], ordinal: usize, repeats: usize) -> Result<VendorCombination, VendorError> {
    let context = Context::open(ordinal)?;
    let Shape { length, width } = shape;
    let (sets, each) = (shape.sets(), width + 1);
    context.must_hold(8 * sets * each * length + (64 << 20))?;
    let pool: Vec<f64> = (0..sets * each).flat_map(|k| seeded::vector(length, k as u64)).collect();
    let mut pool = Buffer::upload(&pool)?;
    let y = Buffer::upload(y)?;
    let blas = Blas::new()?;
    let mut run = |set: usize| blas.combination(&mut pool, set * each * length, length, width, &y);
    (0..sets).try_for_each(&mut run)?;
    context.synchronize()?;
    let times = context.time(repeats, || (0..sets).try_for_each(&mut run))?;
    let mut all = vec![f64::NAN; pool.len()];
    pool.read(&mut all)?;
    Ok(VendorCombination {
        milliseconds: median(&times) / sets as f64,
        vector: all[width * length..][..length].to_vec(),
    })
}

/// Seconds of Vᵀw and of V y for V of 1 to `most` vectors of `length` elements, all of `numbers`.
///
/// # Errors
/// A library that is missing, a card that is too small.
pub fn matrix_vector(
    numbers: &[f64],
    length: usize,
    most: usize,
    ordinal: usize,
    repeats: usize,
) -> Result<Vec<[f64; 2]>, VendorError> {
    let context = Context::open(ordinal)?;
    context.must_hold(8 * (most + 1) * length + (64 << 20))?;
    let pool: Vec<f64> = (0..=most).flat_map(|k| &numbers[k..k + length]).copied().collect();
    let mut pool = Buffer::upload(&pool)?;
    let (mut sums, y) = (Buffer::upload(&vec![0.0; most])?, Buffer::upload(&seeded::vector(most, 7))?);
    let blas = Blas::new()?;
    let of_width = |width: usize| {
        let transposed = context.time(repeats, || blas.products(&pool, 0, length, width, &mut sums))?;
        let plain = context.time(repeats, || blas.combination(&mut pool, 0, length, width, &y))?;
        Ok([&transposed, &plain].map(|times| 1e-3 * median(times)))
    };
    (1..=most).map(of_width).collect()
}
