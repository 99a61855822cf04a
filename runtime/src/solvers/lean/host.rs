//! The lean Davidson with V, W and the vector in host memory, on all cores.
//!
//! A correction is orthonormalised a second time if the first pass removes most of it (Daniel, Gragg, Kaufman, Stewart
//! 1976); the basis restarts from the best two Ritz vectors.

use super::{Basis, DavidsonLimits, DavidsonResult, Iteration, Next, WIDTH, search};
use crate::dense::long_vectors::{add_columns, dot, project};
use crate::dense::{View, eigen};
use crate::error::BackendError;
use crate::trace;

/// A correction with less than this fraction outside the basis is useless; the residual, which is orthogonal to the
/// basis, is used instead.
const IN_SPAN: f64 = 0.1;
/// A remainder of a vector below this fraction is rounding error.
const ROUNDING: f64 = 1e-13;

/// Basis and products, kept between calls.
pub struct HostDavidson {
    /// Basis vectors before a restart.
    width: usize,
    basis: Vec<Vec<f64>>,
    products: Vec<Vec<f64>>,
    residual: Vec<f64>,
    /// Orthonormal; the search stays orthogonal to them.
    against: Vec<Vec<f64>>,
}

impl Default for HostDavidson {
    fn default() -> HostDavidson {
        HostDavidson::of_width(WIDTH)
    }
}

/// An orthonormal basis of the span of vectors; nearly dependent ones are left out.
pub(super) fn orthonormalised(vectors: &[&[f64]]) -> Vec<Vec<f64>> {
    let mut found: Vec<Vec<f64>> = Vec::new();
    for vector in vectors {
        let mut vector = vector.to_vec();
        let whole = dot(&vector, &vector).sqrt();
        remove(&found, &mut vector);
        remove(&found, &mut vector);
        let norm = dot(&vector, &vector).sqrt();
        if norm > 1e-10 && norm > 1e-10 * whole {
            scale(&mut vector, 1.0 / norm);
            found.push(vector);
        }
    }
    found
}

/// x − Σ φ (φ · x).
pub(super) fn remove(basis: &[Vec<f64>], x: &mut [f64]) {
    if basis.is_empty() {
        return;
    }
    let overlaps: Vec<f64> = project(basis, x).iter().map(|s| -s).collect();
    add_columns(x, basis, &overlaps);
}

fn scale(x: &mut [f64], a: f64) {
    x.iter_mut().for_each(|x| *x *= a);
}

pub(super) fn normalise(x: &mut [f64]) {
    let norm = dot(x, x).sqrt();
    scale(x, 1.0 / norm);
}

impl HostDavidson {
    /// Keeps up to `width` basis vectors before a restart, at least 3: two of a restart, and one to continue.
    pub fn of_width(width: usize) -> HostDavidson {
        let (basis, products, residual, against) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        HostDavidson { width: width.max(3), basis, products, residual, against }
    }

    /// Basis vectors before a restart.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Allocates all vectors of `n` elements; vectors that are too short are released.
    pub(crate) fn reserve(&mut self, n: usize) {
        let width = self.width.min(n);
        for list in [&mut self.basis, &mut self.products] {
            list.resize_with(width.max(list.len()), Vec::new);
        }
        let vectors = self.basis.iter_mut().take(width).chain(self.products.iter_mut().take(width));
        for vector in vectors.chain([&mut self.residual]).filter(|vector| vector.capacity() < n) {
            *vector = Vec::new();
            vector.reserve_exact(n);
        }
    }

    /// The memory of all vectors.
    pub(super) fn take_vectors(&mut self) -> Vec<Vec<f64>> {
        self.basis.drain(..).chain(self.products.drain(..)).collect()
    }

    /// Gives memory back: as many vectors as a basis and its products have.
    pub(super) fn give_vectors(&mut self, v: Vec<Vec<f64>>, others: impl Iterator<Item = Vec<f64>>) {
        let mut list = v.into_iter().chain(others).take(2 * self.width);
        self.basis = list.by_ref().take(self.width).collect();
        self.products = list.collect();
        let length = self.basis.len().max(self.products.len());
        self.basis.resize_with(length, Vec::new);
        self.products.resize_with(length, Vec::new);
    }

    /// Bytes that are reserved.
    pub(crate) fn bytes(&self) -> u64 {
        let vectors = self.basis.iter().chain(&self.products).chain([&self.residual]);
        vectors.map(|vector| 8 * vector.capacity() as u64).sum()
    }

    /// Replaces `vector` by the lowest eigenvector of P H P with P = 1 − Σ |φ⟩⟨φ| over `against`, which may have any norms
    /// and overlaps. `multiply` is y = H x.
    ///
    /// # Errors
    /// A number is not finite.
    pub fn solve(
        &mut self,
        multiply: impl FnMut(&[f64], &mut [f64]),
        diagonal: &[f64],
        vector: &mut [f64],
        limits: DavidsonLimits,
        against: &[&[f64]],
    ) -> Result<DavidsonResult, BackendError> {
        self.against = orthonormalised(against);
        remove(&self.against, vector);
        normalise(vector);
        self.put(0, vector);
        let (projected, ritz) = (Vec::new(), Vec::new());
        search(&mut HostBasis { vectors: self, multiply, diagonal, vector, projected, ritz, exhausted: false }, limits)
    }

    fn put(&mut self, index: usize, vector: &[f64]) {
        if self.basis.len() <= index {
            self.basis.push(Vec::new());
            self.products.push(Vec::new());
        }
        self.basis[index].clear();
        self.basis[index].extend_from_slice(vector);
    }

    /// r = (H − λ) x of the Ritz vector with these coefficients.
    fn ritz(&mut self, y: &[f64], value: f64) {
        self.residual.clear();
        self.residual.resize(self.products[0].len(), 0.0);
        let shifted: Vec<f64> = y.iter().map(|coefficient| -value * coefficient).collect();
        add_columns(&mut self.residual, &self.products[..y.len()], y);
        add_columns(&mut self.residual, &self.basis[..y.len()], &shifted);
    }

    /// The correction r / (λ − D); denominators near zero are bounded.
    fn precondition(&mut self, diagonal: &[f64], value: f64) {
        for (r, d) in self.residual.iter_mut().zip(diagonal) {
            let gap = value - d;
            let held = if gap.abs() < 0.1 { 0.1f64.copysign(gap) } else { gap };
            *r /= held;
        }
    }

    /// Orthonormalises the correction and appends it to the basis; false if less than `least` of it is left.
    fn append(&mut self, width: usize, least: f64) -> bool {
        let before = dot(&self.residual, &self.residual).sqrt();
        let mut norm = before;
        for _ in 0..2 {
            let whole = norm;
            remove(&self.against, &mut self.residual);
            let overlaps: Vec<f64> = project(&self.basis[..width], &self.residual).iter().map(|s| -s).collect();
            add_columns(&mut self.residual, &self.basis[..width], &overlaps);
            norm = dot(&self.residual, &self.residual).sqrt();
            if norm > 0.7 * whole {
                break;
            }
        }
        if norm.partial_cmp(&(least * before)) != Some(std::cmp::Ordering::Greater) {
            return false;
        }
        scale(&mut self.residual, 1.0 / norm);
        let correction = std::mem::take(&mut self.residual);
        self.put(width, &correction);
        self.residual = correction;
        true
    }

    /// Keeps the lowest two Ritz vectors as the basis.
    fn restart(&mut self, values: &[f64], vectors: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let n = self.basis[0].len();
        let together = |from: &[Vec<f64>], y: &[f64]| {
            let mut sum = vec![0.0; n];
            combine(&mut sum, from, y);
            sum
        };
        let kept: Vec<_> =
            vectors.iter().take(2).map(|y| (together(&self.basis, y), together(&self.products, y))).collect();
        for (index, (v, w)) in kept.into_iter().enumerate() {
            self.basis[index].copy_from_slice(&v);
            self.products[index].copy_from_slice(&w);
        }
        (0..vectors.len().min(2)).map(|k| (0..=k).map(|i| if i == k { values[k] } else { 0.0 }).collect()).collect()
    }
}

/// One solve.
struct HostBasis<'a, F> {
    vectors: &'a mut HostDavidson,
    multiply: F,
    diagonal: &'a [f64],
    vector: &'a mut [f64],
    /// The lower rows of Vᵀ H V.
    projected: Vec<Vec<f64>>,
    /// Coefficients of the best vector so far; a restart makes it the first of the basis.
    ritz: Vec<f64>,
    exhausted: bool,
}

impl<F: FnMut(&[f64], &mut [f64])> Basis for HostBasis<'_, F> {
    fn complete(&self) -> usize {
        self.vector.len()
    }

    fn most(&self) -> usize {
        let (n, against) = (self.vector.len(), self.vectors.against.len());
        self.vectors.width.min(n - against.min(n)).max(1)
    }

    fn multiply(&mut self, column: usize) -> Result<(), BackendError> {
        let HostDavidson { basis, products, against, .. } = &mut *self.vectors;
        let _product = trace::span("dmrg", "product with H");
        products[column].resize(self.vector.len(), 0.0);
        (self.multiply)(&basis[column], &mut products[column]);
        remove(against, &mut products[column]);
        Ok(())
    }

    fn iterate(&mut self, width: usize, next: Next, limits: DavidsonLimits) -> Result<Iteration, BackendError> {
        let _vectors = trace::span("dmrg", "vectors of Davidson");
        let own = &mut *self.vectors;
        self.projected.push(project(&own.basis[..width], &own.products[width - 1]));
        let (values, mut vectors) = lowest(&self.projected)?;
        let value = values[0];
        own.ritz(&vectors[0], value);
        let residual = dot(&own.residual, &own.residual).sqrt();
        let mut width = width;
        if next == Next::Restart && !limits.end_at(residual, &values) {
            self.projected = own.restart(&values, &vectors);
            (self.ritz, width) = (vec![1.0], self.projected.len());
        } else {
            self.ritz = vectors.swap_remove(0);
        }
        if next != Next::Nothing && !limits.end_at(residual, &values) {
            own.precondition(self.diagonal, value);
            if !own.append(width, IN_SPAN) {
                // If the vector is a mixture of eigenvectors that the diagonal describes well, the correction equals the
                // mixture.
                own.ritz(&self.ritz, value);
                self.exhausted = !own.append(width, ROUNDING);
            }
        }
        Ok(Iteration { values, residual, exhausted: self.exhausted })
    }

    fn finish(&mut self, _: usize) -> Result<(), BackendError> {
        combine(self.vector, &self.vectors.basis, &self.ritz);
        if !self.exhausted {
            normalise(self.vector);
        }
        Ok(())
    }
}

fn combine(out: &mut [f64], from: &[Vec<f64>], y: &[f64]) {
    out.fill(0.0);
    add_columns(out, from, y);
}

/// The eigenvalues of a symmetric matrix given by its lower rows, ascending, and the two lowest eigenvectors.
fn lowest(rows: &[Vec<f64>]) -> Result<(Vec<f64>, Vec<Vec<f64>>), BackendError> {
    let k = rows.len();
    if k == 1 {
        return Ok((vec![rows[0][0]], vec![vec![1.0]]));
    }
    let mut matrix = vec![0.0; k * k];
    for (i, row) in rows.iter().enumerate() {
        row.iter().enumerate().for_each(|(j, value)| matrix[i + j * k] = *value);
    }
    let (values, vectors) = eigen(View::new(&matrix, k, k))?;
    let vector = |j: usize| (0..k).map(|i| vectors[(i, j)]).collect();
    Ok((values, (0..2).map(vector).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeded::vector;

    /// A random symmetric matrix with a diagonal that grows, so that the preconditioner means something.
    fn matrix(n: usize, seed: u64) -> Vec<f64> {
        let random = vector(n * n, seed);
        let element = |k: usize| {
            let (i, j) = (k % n, k / n);
            0.5 * (random[i + j * n] + random[j + i * n]) + if i == j { 0.3 * i as f64 } else { 0.0 }
        };
        (0..n * n).map(element).collect()
    }

    fn solve(a: &[f64], n: usize, limits: DavidsonLimits) -> (DavidsonResult, Vec<f64>) {
        let diagonal: Vec<f64> = (0..n).map(|i| a[i * (n + 1)]).collect();
        let multiply = |x: &[f64], y: &mut [f64]| {
            for (i, y) in y.iter_mut().enumerate() {
                *y = (0..n).map(|j| a[i + j * n] * x[j]).sum();
            }
        };
        let mut x = vector(n, 9);
        let found = HostDavidson::default().solve(multiply, &diagonal, &mut x, limits, &[]).unwrap();
        (found, x)
    }

    #[test]
    fn the_lowest_pair_of_random_matrices_also_across_restarts() {
        for (n, seed) in [(1, 1), (2, 2), (7, 3), (60, 4), (150, 5)] {
            let a = matrix(n, seed);
            let (values, _) = eigen(View::new(&a, n, n)).unwrap();
            let (found, x) = solve(&a, n, DavidsonLimits::new(1e-9, 400));
            assert!((found.value - values[0]).abs() < 1e-12 * n as f64, "n = {n}: {found:?}, {}", values[0]);
            assert!((dot(&x, &x) - 1.0).abs() < 1e-12);
            let residual = (0..n).map(|i| (0..n).map(|j| a[i + j * n] * x[j]).sum::<f64>() - found.value * x[i]);
            let residual = residual.map(|r| r * r).sum::<f64>().sqrt();
            assert!(residual < 2e-9, "n = {n}: {residual}");
            assert!(n < 100 || found.products > WIDTH, "the largest case is meant to restart");
        }
    }

    #[test]
    fn the_lowest_pair_orthogonal_to_given_vectors() {
        let (n, a) = (70, matrix(70, 7));
        let (values, vectors) = eigen(View::new(&a, n, n)).unwrap();
        let diagonal: Vec<f64> = (0..n).map(|i| a[i * (n + 1)]).collect();
        let multiply = |x: &[f64], y: &mut [f64]| {
            for (i, y) in y.iter_mut().enumerate() {
                *y = (0..n).map(|j| a[i + j * n] * x[j]).sum();
            }
        };
        // Not orthonormal, and one of them twice.
        let column = |k: usize, factor: f64| (0..n).map(|i| factor * vectors[(i, k)]).collect::<Vec<f64>>();
        let mixed: Vec<f64> = column(0, 0.3).iter().zip(column(1, 0.4)).map(|(a, b)| a + b).collect();
        let against = [column(0, 2.0), mixed, column(0, -1.0)];
        let given: Vec<&[f64]> = against.iter().map(|phi| phi.as_slice()).collect();
        let mut x = vector(n, 9);
        let limits = DavidsonLimits::new(1e-9, 400);
        let found = HostDavidson::default().solve(multiply, &diagonal, &mut x, limits, &given).unwrap();
        assert!((found.value - values[2]).abs() < 1e-11, "{found:?}, {}", values[2]);
        assert!(against.iter().all(|phi| dot(phi, &x).abs() < 1e-8));
    }

    #[test]
    fn it_stops_at_its_number_of_products_and_says_how_far_it_came() {
        let (found, _) = solve(&matrix(80, 6), 80, DavidsonLimits::new(1e-12, 5));
        assert_eq!(found.products, 5);
        assert!(found.residual > 1e-12);
    }
}
