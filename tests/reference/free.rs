//! Exact values that need no many-body program: eigenvalues of the one-particle matrix, by way of its tridiagonal
//! form.
//!
//! In: bonds and on-site energies. Out: orbital energies, and for U = 0 the many-body energy as a sum of the
//! lowest ones of both spins.

/// Eigenvalues, ascending, of the symmetric matrix: Householder's tridiagonal form, then QL with implicit shifts (Martin, Reinsch and
/// Wilkinson 1968).
pub fn eigenvalues(mut a: Vec<Vec<f64>>) -> Vec<f64> {
    let n = a.len();
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    // Beside the diagonal: element i stands between i - 1 and i.
    let mut beside = vec![0.0; n];
    for i in (1..n).rev() {
        let scale = a[i][..i].iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
        beside[i] = a[i][i - 1];
        if i == 1 || scale == 0.0 {
            continue;
        }
        // A <- (1 - u u^T / h) A (1 - u u^T / h), of which the first i rows and columns stay to be done.
        let mut u: Vec<f64> = a[i][..i].iter().map(|value| value / scale).collect();
        let (last, length) = (u[i - 1], dot(&u, &u).sqrt().copysign(u[i - 1]));
        let h = length * (length + last);
        u[i - 1] += length;
        beside[i] = -scale * length;
        let mut p: Vec<f64> = a[..i].iter().map(|row| dot(row, &u) / h).collect();
        let half = dot(&u, &p) / (2.0 * h);
        p.iter_mut().zip(&u).for_each(|(p, u)| *p -= half * u);
        for (j, row) in a[..i].iter_mut().enumerate() {
            let (of_u, of_p) = (u[j], p[j]);
            row.iter_mut().zip(&u).zip(&p).for_each(|((value, u), p)| *value -= of_u * p + of_p * u);
        }
    }
    let mut values: Vec<f64> = a.iter().enumerate().map(|(i, row)| row[i]).collect();
    beside.rotate_left(1.min(n));
    let size = values.iter().chain(&beside).fold(0.0f64, |largest, value| largest.max(value.abs()));
    for l in 0..n {
        let mut rounds = 0;
        loop {
            let end = (l..n - 1).find(|m| beside[*m].abs() <= f64::EPSILON * size).unwrap_or(n - 1);
            if end == l {
                break;
            }
            rounds += 1;
            assert!(rounds < 100, "no eigenvalue {l} of {n}");
            let shift = (values[l + 1] - values[l]) / (2.0 * beside[l]);
            let mut g = values[end] - values[l] + beside[l] / (shift + shift.hypot(1.0).copysign(shift));
            let (mut s, mut c, mut p) = (1.0, 1.0, 0.0);
            let mut parted = false;
            for i in (l..end).rev() {
                let (f, b) = (s * beside[i], c * beside[i]);
                let r = f64::hypot(f, g);
                beside[i + 1] = r;
                if r == 0.0 {
                    values[i + 1] -= p;
                    beside[end] = 0.0;
                    parted = true;
                    break;
                }
                (s, c) = (f / r, g / r);
                g = values[i + 1] - p;
                let r = (values[i] - g) * s + 2.0 * c * b;
                p = s * r;
                values[i + 1] = g + p;
                g = c * r - b;
            }
            if !parted {
                values[l] -= p;
                beside[l] = g;
                beside[end] = 0.0;
            }
        }
    }
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
