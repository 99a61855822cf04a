//! Products of small and large row-major matrices.

use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2, ShapeError};

fn product(
    a: Result<ArrayView2<f64>, ShapeError>,
    b: Result<ArrayView2<f64>, ShapeError>,
    c: &mut [f64],
    shape: [usize; 2],
) {
    // Cannot fail: the plan that makes the slices knows their shapes.
    let (Ok(a), Ok(b), Ok(mut c)) = (a, b, ArrayViewMut2::from_shape(shape, c)) else {
        unreachable!("a slice is shorter than its matrix of a product of shape {shape:?}");
    };
    general_mat_mul(1.0, &a, &b, 0.0, &mut c);
}

/// c = a b, a of [m, k], b of [k, n].
pub(super) fn multiply(a: &[f64], b: &[f64], c: &mut [f64], [m, k, n]: [usize; 3]) {
    product(ArrayView2::from_shape([m, k], a), ArrayView2::from_shape([k, n], b), c, [m, n]);
}

/// c = aᵀ b, a of [k, m], b of [k, n].
pub(super) fn transpose_multiply(a: &[f64], b: &[f64], c: &mut [f64], [k, m, n]: [usize; 3]) {
    let a = ArrayView2::from_shape([k, m], a).map(|a| a.reversed_axes());
    product(a, ArrayView2::from_shape([k, n], b), c, [m, n]);
}

/// c = a bᵀ, a of [m, k], b of [n, k].
pub(super) fn multiply_by_transpose(a: &[f64], b: &[f64], c: &mut [f64], [m, k, n]: [usize; 3]) {
    let b = ArrayView2::from_shape([n, k], b).map(|b| b.reversed_axes());
    product(ArrayView2::from_shape([m, k], a), b, c, [m, n]);
}
