//! Majoranas a and b with H = i Σ M a b, in states of one parity.
//!
//! In: the matrix M and the parity Π (−i a b), the product over all pairs. Out: every energy. With M = U σ Vᵀ, H = −Σ σ s where s = −i a′ b′ is
//! 1 or −1, and the parity is det U det V Π s.

use super::free;

/// Singular values of a square matrix, and the sign of its determinant.
fn singular_values(matrix: &[Vec<f64>]) -> (Vec<f64>, f64) {
    let n = matrix.len();
    let mut doubled = vec![vec![0.0; 2 * n]; 2 * n];
    for (i, row) in matrix.iter().enumerate() {
        for (j, value) in row.iter().enumerate() {
            (doubled[i][n + j], doubled[n + j][i]) = (*value, *value);
        }
    }
    let values = free::eigenvalues(doubled).split_off(n);
    let (mut rows, mut sign) = (matrix.to_vec(), 1.0f64);
    for k in 0..n {
        let pivot = (k..n).max_by(|a, b| rows[*a][k].abs().total_cmp(&rows[*b][k].abs())).unwrap();
        if pivot != k {
            rows.swap(k, pivot);
            sign = -sign;
        }
        sign *= rows[k][k].signum();
        for lower in k + 1..n {
            let factor = if rows[k][k] == 0.0 { 0.0 } else { rows[lower][k] / rows[k][k] };
            let above = rows[k].clone();
            rows[lower].iter_mut().zip(above).skip(k).for_each(|(value, above)| *value -= factor * above);
        }
    }
    (values, sign)
}

/// Energies −Σ σ_m s_m of Majoranas coupled by a matrix, s_m = ±1, whose product times the sign of the determinant is the parity.
pub fn majoranas(matrix: &[Vec<f64>], parity: f64) -> Vec<f64> {
    let (values, sign) = singular_values(matrix);
    let states = (0..1usize << values.len()).filter(|flips| {
        let product = if flips.count_ones() % 2 == 0 { 1.0 } else { -1.0 };
        product == parity * sign
    });
    let flipped = |flips: usize, m: usize| flips >> m & 1 == 1;
    let energy = |flips| (0..values.len()).map(|m| if flipped(flips, m) { values[m] } else { -values[m] }).sum();
    states.map(energy).collect()
}
