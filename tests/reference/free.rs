//! Exact values that need no many-body program: eigenvalues of the one-particle matrix by Jacobi rotations.
//!
//! In: bonds and on-site energies. Out: orbital energies, and for U = 0 the many-body energy as a sum of the
//! lowest ones of both spins.

/// Eigenvalues, ascending, of the symmetric matrix, by cyclic Jacobi rotations.
pub fn eigenvalues(mut a: Vec<Vec<f64>>) -> Vec<f64> {
    let n = a.len();
    for _sweep in 0..100 {
        let off: f64 = (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| a[i][j].powi(2)).sum();
        if off < 1e-30 {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                if a[p][q].abs() < 1e-300 {
                    continue;
                }
                let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
                let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
                let (c, s) = (1.0 / t.hypot(1.0), t / t.hypot(1.0));
                for row in a.iter_mut() {
                    (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
                }
                let (row_p, row_q) = (a[p].clone(), a[q].clone());
                for k in 0..n {
                    a[p][k] = c * row_p[k] - s * row_q[k];
                    a[q][k] = s * row_p[k] + c * row_q[k];
                }
            }
        }
    }
    let mut values: Vec<f64> = (0..n).map(|i| a[i][i]).collect();
    values.sort_by(f64::total_cmp);
    values
}

/// Ground state energy of free fermions: −Σ w (c†c + h.c.) + Σ ε n with n_up and n_dn electrons.
pub fn free_fermions(sites: usize, edges: &[(usize, usize, f64)], eps: &[f64], up: usize, down: usize) -> f64 {
    let mut one_particle = vec![vec![0.0; sites]; sites];
    for &(i, j, weight) in edges {
        one_particle[i][j] -= weight;
        one_particle[j][i] -= weight;
    }
    for (site, energy) in eps.iter().enumerate() {
        one_particle[site][site] += energy;
    }
    let orbitals = eigenvalues(one_particle);
    orbitals[..up].iter().sum::<f64>() + orbitals[..down].iter().sum::<f64>()
}
