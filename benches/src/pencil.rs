//! The smallest eigenpair of a symmetric pencil of order 2 or 3, S_A v = μ S_B v, as LOBPCG meets it.
//!
//! In: S_A and S_B of the leading `order` rows and columns, S_B to be positive definite.
//! Out: μ and v with vᵀ S_B v = 1, or nothing when S_B is not safely positive definite.
//! By Cholesky S_B = L Lᵀ and cyclic Jacobi rotations on L⁻¹ S_A L⁻ᵀ (Golub and Van Loan, 8.5 and 8.7).

/// A symmetric matrix of order 3; smaller ones use the leading block.
pub type Matrix3 = [[f64; 3]; 3];

/// The smallest eigenvalue and its vector, `None` when a pivot of S_B falls under 1e-12 of its diagonal.
pub fn smallest(a: &Matrix3, b: &Matrix3, order: usize) -> Option<(f64, [f64; 3])> {
    let lower = cholesky(b, order)?;
    // rows of S_A are its columns: L⁻¹ on each, turned over, and once more
    let half = transposed(&a.map(|row| forward(&lower, row, order)));
    let reduced = half.map(|row| forward(&lower, row, order));
    let (values, vectors) = jacobi(reduced, order);
    let lowest = (0..order).min_by(|&i, &j| values[i].total_cmp(&values[j]))?;
    let vector = backward(&lower, std::array::from_fn(|row| vectors[row][lowest]), order);
    values[lowest].is_finite().then_some((values[lowest], vector))
}

fn transposed(a: &Matrix3) -> Matrix3 {
    std::array::from_fn(|row| std::array::from_fn(|column| a[column][row]))
}

fn cholesky(b: &Matrix3, order: usize) -> Option<Matrix3> {
    let mut lower = [[0.0; 3]; 3];
    for i in 0..order {
        for j in 0..=i {
            let rest: f64 = (0..j).map(|k| lower[i][k] * lower[j][k]).sum();
            if i == j {
                let pivot = b[i][i] - rest;
                if pivot.is_nan() || pivot <= 1e-12 * b[i][i].abs() {
                    return None;
                }
                lower[i][i] = pivot.sqrt();
            } else {
                lower[i][j] = (b[i][j] - rest) / lower[j][j];
            }
        }
    }
    Some(lower)
}

fn forward(lower: &Matrix3, mut v: [f64; 3], order: usize) -> [f64; 3] {
    for i in 0..order {
        let rest: f64 = (0..i).map(|k| lower[i][k] * v[k]).sum();
        v[i] = (v[i] - rest) / lower[i][i];
    }
    v
}

fn backward(lower: &Matrix3, mut v: [f64; 3], order: usize) -> [f64; 3] {
    for i in (0..order).rev() {
        let rest: f64 = (i + 1..order).map(|k| lower[k][i] * v[k]).sum();
        v[i] = (v[i] - rest) / lower[i][i];
    }
    (order..3).for_each(|i| v[i] = 0.0);
    v
}

/// Eigenvalues and eigenvectors (in columns) by cyclic Jacobi rotations.
fn jacobi(mut a: Matrix3, order: usize) -> ([f64; 3], Matrix3) {
    let mut vectors = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    for _sweep in 0..30 {
        let off: f64 = (0..order).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| a[i][j] * a[i][j]).sum();
        let diagonal: f64 = (0..order).map(|i| a[i][i] * a[i][i]).sum();
        if off <= 1e-40 * diagonal {
            break;
        }
        for p in 0..order {
            for q in p + 1..order {
                if a[p][q] == 0.0 {
                    continue;
                }
                let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
                let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
                let c = 1.0 / t.hypot(1.0);
                let s = t * c;
                let rotate = |row: &mut [f64; 3]| (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
                a.iter_mut().for_each(rotate);
                a = transposed(&a);
                a.iter_mut().for_each(rotate);
                vectors.iter_mut().for_each(rotate);
            }
        }
    }
    (std::array::from_fn(|i| a[i][i]), vectors)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S_A v = μ S_B v holds, v is normalised, and no trial vector has a smaller Rayleigh quotient.
    #[test]
    fn it_is_the_smallest_pair() {
        let a = [[2.0, -1.0, 0.3], [-1.0, 0.5, 0.7], [0.3, 0.7, -1.5]];
        let b = [[1.0, 0.2, -0.1], [0.2, 1.0, 0.4], [-0.1, 0.4, 1.0]];
        for order in 1..=3 {
            let (value, v) = smallest(&a, &b, order).expect("b is positive definite");
            let times = |m: &Matrix3, v: [f64; 3]| -> [f64; 3] {
                std::array::from_fn(|i| (0..order).map(|j| m[i][j] * v[j]).sum())
            };
            let dot = |u: [f64; 3], v: [f64; 3]| -> f64 { (0..order).map(|i| u[i] * v[i]).sum() };
            let (av, bv) = (times(&a, v), times(&b, v));
            (0..order).for_each(|i| assert!((av[i] - value * bv[i]).abs() < 1e-14, "order {order}"));
            assert!((dot(v, bv) - 1.0).abs() < 1e-14);
            for trial in [[1.0, 0.0, 0.0], [0.3, 0.9, -0.5], [-0.2, 0.1, 1.0], [0.0, 1.0, 1.0]] {
                let quotient = dot(trial, times(&a, trial)) / dot(trial, times(&b, trial));
                assert!(quotient.is_nan() || quotient >= value - 1e-13);
            }
        }
    }

    #[test]
    fn a_dependent_pair_is_refused() {
        let b = [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        assert_eq!(smallest(&b, &b, 2), None);
        assert_eq!(smallest(&b, &[[f64::NAN; 3]; 3], 3), None);
    }
}
