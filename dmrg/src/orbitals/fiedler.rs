//! The order of orbitals along a chain from how strongly each pair is coupled.
//!
//! In: symmetric weights K_pq ≥ 0, such as exchange integrals |(pq|qp)| or mutual information. Out: the orbitals by ascending components of
//! the Fiedler vector, that of the second eigenvalue of the Laplacian L = diag(Σ_q K_pq) − K (Fiedler 1973; Barcza, Legeza, Marti and
//! Reiher 2011), which nearly minimises Σ K_pq |i_p − i_q|².
//!
//! The vector's sign, and its direction where the eigenvalue is degenerate (π orbitals of linear molecules), are arbitrary: it is the
//! projection of the numbers of the orbitals onto the eigenspace. Equal components stand in the order of their numbers.

use crate::error::DmrgError;
use eigenforge_runtime::dense::{View, eigen};

/// Components and eigenvalues closer than this, in parts of the largest, are equal.
const EQUAL: f64 = 1e-9;

/// The orbitals in the order of a chain.
///
/// # Errors
/// A weight that is not finite.
pub fn fiedler_order(weights: &[Vec<f64>]) -> Result<Vec<usize>, DmrgError> {
    let n = weights.len();
    if n < 3 {
        return Ok((0..n).collect());
    }
    let element = |p: usize, q: usize| 0.5 * (weights[p][q] + weights[q][p]);
    let degree = |p: usize| (0..n).filter(|q| *q != p).map(|q| element(p, q)).sum::<f64>();
    let laplacian: Vec<f64> =
        (0..n * n).map(|k| if k / n == k % n { degree(k % n) } else { -element(k / n, k % n) }).collect();
    let (values, vectors) = eigen(View::new(&laplacian, n, n))?;
    let near = |k: usize| (values[k] - values[1]).abs() <= EQUAL * values[n - 1].abs();
    // The constant vector of eigenvalue 0 says nothing of the order; it may be mixed with others where the orbitals fall into groups.
    let space: Vec<Vec<f64>> = (0..n).filter(|k| near(*k)).map(|k| (0..n).map(|p| vectors[(p, k)]).collect()).collect();
    let projected = |power: i32| -> Vec<f64> {
        let mean = (0..n).map(|p| (p as f64).powi(power)).sum::<f64>() / n as f64;
        let wanted: Vec<f64> = (0..n).map(|p| (p as f64).powi(power) - mean).collect();
        let mut sum = vec![0.0; n];
        for vector in &space {
            let part: f64 = vector.iter().zip(&wanted).map(|(x, y)| x * y).sum();
            sum.iter_mut()
                .zip(vector)
                .for_each(|(sum, x)| *sum += part * x / wanted.iter().map(|y| y * y).sum::<f64>().sqrt());
        }
        sum
    };
    let largest = |vector: &[f64]| vector.iter().fold(0.0f64, |most, x| most.max(x.abs()));
    // A vector that is symmetric in the numbers has no part of the numbers themselves.
    let vector = (1..=n as i32).map(projected).find(|vector| largest(vector) > 1e-6).unwrap_or(vec![0.0; n]);
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|p, q| vector[*p].total_cmp(&vector[*q]));
    let apart = |p: &usize, q: &usize| (vector[*p] - vector[*q]).abs() <= EQUAL * largest(&vector);
    order.chunk_by_mut(apart).for_each(<[usize]>::sort_unstable);
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(n: usize, list: &[(usize, usize, f64)]) -> Vec<Vec<f64>> {
        let mut matrix = vec![vec![0.0; n]; n];
        for (p, q, value) in list {
            matrix[*p][*q] = *value;
            matrix[*q][*p] = *value;
        }
        matrix
    }

    #[test]
    fn a_path_is_found_from_its_couplings() {
        // The path 3-0-4-1-2, from its end with the smaller numbers.
        let path = weights(5, &[(3, 0, 1.0), (0, 4, 1.0), (4, 1, 1.0), (1, 2, 1.0)]);
        let order = fiedler_order(&path).unwrap();
        let reversed: Vec<usize> = order.iter().rev().copied().collect();
        assert!([&order, &reversed].contains(&&vec![3, 0, 4, 1, 2]), "{order:?}");
    }

    #[test]
    fn a_degenerate_vector_has_one_order() {
        // A ring: both vectors of its second eigenvalue will do, and rounding must not choose.
        let ring = |shift: f64| weights(6, &[0, 1, 2, 3, 4, 5].map(|p| (p, (p + 1) % 6, 1.0 + shift * p as f64)));
        assert_eq!(fiedler_order(&ring(0.0)).unwrap(), fiedler_order(&ring(1e-14)).unwrap());
        assert_eq!(fiedler_order(&weights(4, &[])).unwrap(), [0, 1, 2, 3]);
        assert_eq!(fiedler_order(&weights(2, &[])).unwrap(), [0, 1]);
    }
}
