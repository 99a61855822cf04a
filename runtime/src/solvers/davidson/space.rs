//! The basis V of the search, W = A V, and the projected matrix VᵀW.
//!
//! New directions are written to the places after the basis and added by [`Space::take_in`]: made orthogonal to V and to
//! each other, twice, and multiplied by A. A times any combination of V is the same combination of W.
//!
//! | operation | passes, for a basis of m and t new directions |
//! |---|---|
//! | residuals W s − θ V s of t ≤ 4 roots | 2 m and t (m / 2) |
//! | t directions orthogonal to V, twice | 4 m and t m |
//! | t new columns of VᵀW | m and t (m / 4) |
//! | collapse to c ≤ 4 combinations | 2 m and c (m / 2) |

use super::super::orthonormal::{fill_up, filled_up, orthonormalise};
use super::super::ritz::symmetric_eigen;
use super::super::run::Run;
use super::sizes::Sizes;
use crate::device::Vector;
use crate::error::SolveError;
use crate::operator::LinearOperator;
use crate::scalar::Scalar;
use crate::trace;
use faer::Mat;

pub(super) type Matrix = Vec<Vec<f64>>;

/// A former Ritz vector with less than this outside the others is rounding error.
const OUTSIDE: f64 = 1e-10;

/// Ritz values ascending, and Ritz vectors by columns: `coefficients[i][j]` is the component of basis vector i in
/// vector j.
pub(super) struct Ritz {
    pub values: Vec<f64>,
    pub coefficients: Matrix,
}

pub(super) struct Space<'a, T: Scalar> {
    run: &'a Run<'a, T>,
    operator: &'a dyn LinearOperator<T>,
    sizes: Sizes,
    /// The basis, and places for new directions after it.
    v: Vec<Vector<T>>,
    /// A times the basis.
    w: Vec<Vector<T>>,
    /// Target of combinations of vectors.
    scratch: Vec<Vector<T>>,
    /// Basis vectors.
    size: usize,
    projected: Matrix,
    /// Ritz vectors of the previous iteration, in the basis, by columns.
    former: Matrix,
}

impl<'a, T: Scalar> Space<'a, T> {
    /// Allocates the minimum.
    pub(super) fn new(
        run: &'a Run<'a, T>,
        operator: &'a dyn LinearOperator<T>,
        sizes: Sizes,
    ) -> Result<Space<'a, T>, SolveError> {
        let zeros = |count: usize| {
            (0..count).map(|_| operator.device().zeros::<T>(operator.dimension())).collect::<Result<Vec<_>, _>>()
        };
        let (least, columns) = (3 * sizes.columns, sizes.columns);
        let (v, w, scratch) = (zeros(least)?, zeros(least)?, zeros(2 * columns)?);
        Ok(Space { run, operator, sizes, v, w, scratch, size: 0, projected: vec![], former: vec![] })
    }

    /// Whether memory has room for the smallest basis only.
    pub(super) fn is_cramped(&self) -> bool {
        self.sizes.capacity <= 3 * self.sizes.columns && self.sizes.capacity < self.operator.dimension()
    }

    /// Vectors in the basis.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Places for `count` vectors after the basis, allocated if necessary; fewer if memory ends. If another program has
    /// taken the memory, the basis stops growing, but the solve continues.
    pub(super) fn places(&mut self, count: usize) -> &mut [Vector<T>] {
        let wanted = (self.size + count).min(self.sizes.capacity);
        let (device, n) = (self.operator.device(), self.operator.dimension());
        while self.v.len() < wanted {
            match (device.zeros::<T>(n), device.zeros::<T>(n)) {
                (Ok(v), Ok(w)) => {
                    self.v.push(v);
                    self.w.push(w);
                }
                (Err(refused), _) | (_, Err(refused)) => {
                    tracing::debug!("the basis stays at {} vectors: {refused}", self.v.len());
                    self.sizes.capacity = self.v.len();
                    break;
                }
            }
        }
        let end = self.v.len().min(self.size + count);
        &mut self.v[self.size..end]
    }

    /// The number of new directions, up to `count`, for which there can be places.
    pub(super) fn room(&mut self, count: usize) -> usize {
        self.places(count).len().min(self.scratch(count))
    }

    /// Whether `count` directions fit after the basis.
    pub(super) fn holds(&mut self, count: usize) -> bool {
        self.places(count).len() == count
    }

    /// The same for scratch; returns how many there are.
    fn scratch(&mut self, count: usize) -> usize {
        while self.scratch.len() < count {
            match self.operator.device().zeros::<T>(self.operator.dimension()) {
                Ok(vector) => self.scratch.push(vector),
                Err(refused) => {
                    tracing::debug!("a collapse keeps {} vectors: {refused}", self.scratch.len());
                    break;
                }
            }
        }
        self.scratch.len().min(count)
    }

    /// Eigenpairs of the projected matrix.
    pub(super) fn ritz(&self) -> Result<Ritz, SolveError> {
        let _small = trace::span("solver", "small problem");
        let (m, p) = (self.size, &self.projected);
        let (values, s) = symmetric_eigen(&Mat::from_fn(m, m, |i, j| 0.5 * (p[i][j] + p[j][i])))?;
        Ok(Ritz { values, coefficients: (0..m).map(|i| (0..m).map(|j| s[(i, j)]).collect()).collect() })
    }

    /// r = W s − θ V s of some Ritz pairs, into the places after the basis. A basis vector and its image enter the same
    /// sum, so that a shift of A, however large, cancels before rounding to `T`.
    pub(super) fn residuals(&mut self, ritz: &Ritz, roots: &[usize]) -> Result<&mut [Vector<T>], SolveError> {
        let _residuals = self.operator.device().span("solver", "residuals");
        self.places(roots.len());
        let (basis, places) = self.v.split_at_mut(self.size);
        let mut inputs = Vec::new();
        let mut weights: Matrix = Vec::new();
        for ((v, w), s) in basis.iter().zip(&self.w).zip(&ritz.coefficients) {
            inputs.extend([v, w]);
            weights.push(roots.iter().map(|&root| -ritz.values[root] * s[root]).collect());
            weights.push(roots.iter().map(|&root| s[root]).collect());
        }
        fill_up(&mut inputs, &mut weights);
        self.run.algebra.combine(&mut places[..roots.len()], &inputs, &weights, false)?;
        Ok(&mut places[..roots.len()])
    }

    /// Adds the first `lengths.len()` vectors after the basis, which have these lengths: orthogonal to all of V and to
    /// each other, and multiplied by A. Dependent ones are dropped; returns how many were added.
    pub(super) fn take_in(&mut self, lengths: &[f64], iteration: usize) -> Result<usize, SolveError> {
        let count = self.orthonormalise(lengths)?;
        let (run, first) = (self.run, self.size);
        let new: Vec<&Vector<T>> = self.v[first..first + count].iter().collect();
        let images = &mut self.w[first..first + count];
        let values = run.apply_block(self.operator, &new, images)?;
        values.iter().try_for_each(|value| run.finite(*value, iteration).map(drop))?;
        let _columns = self.operator.device().span("solver", "inner products");
        let basis = filled_up(&self.v[..first + count].iter().collect::<Vec<_>>());
        let columns = run.algebra.gram(&basis, &self.w[first..first + count].iter().collect::<Vec<_>>())?;
        for (i, row) in self.projected.iter_mut().enumerate() {
            row.extend(&columns[i]);
        }
        for j in 0..count {
            let before = (0..first).map(|i| columns[i][j]);
            self.projected.push(before.chain(columns[first + j].iter().copied()).collect());
        }
        self.size += count;
        Ok(count)
    }

    /// Makes the new directions orthonormal to V and to each other; returns how many remain.
    fn orthonormalise(&mut self, lengths: &[f64]) -> Result<usize, SolveError> {
        let _orthonormalise = self.operator.device().span("solver", "orthogonalise");
        let (basis, places) = self.v.split_at_mut(self.size);
        let basis: Vec<&Vector<T>> = basis.iter().collect();
        orthonormalise(&self.run.algebra, &basis, (places, &mut self.scratch), lengths)
    }

    /// V ← V C and W ← W C, where C has the lowest Ritz vectors and the parts of the previous ones outside them: with
    /// both, the search directions survive as in conjugate gradients (Stathopoulos and Saad 1998).
    pub(super) fn collapse(&mut self, ritz: &Ritz) -> Result<(), SolveError> {
        let _collapse = self.operator.device().span("solver", "collapse");
        let room = self.scratch(self.sizes.after_collapse());
        let weights = self.restart_coefficients(ritz, room);
        let count = weights[0].len();
        for image in [false, true] {
            let block = if image { &mut self.w } else { &mut self.v };
            let (mut inputs, mut c): (Vec<&Vector<T>>, Matrix) = (block[..self.size].iter().collect(), weights.clone());
            fill_up(&mut inputs, &mut c);
            self.run.algebra.combine(&mut self.scratch[..count], &inputs, &c, false)?;
            for (old, new) in block.iter_mut().zip(&mut self.scratch[..count]) {
                std::mem::swap(old, new);
            }
        }
        self.projected = transposed_product(&weights, &product(&self.projected, &weights));
        self.former = transposed_product(&weights, &self.former);
        self.size = count;
        Ok(())
    }

    /// Collapses, and recomputes an orthonormal V and W = A V, removing accumulated rounding.
    pub(super) fn refresh(&mut self, ritz: &Ritz, iteration: usize) -> Result<(), SolveError> {
        let _refresh = trace::span("solver", "refresh");
        self.collapse(ritz)?;
        let count = std::mem::take(&mut self.size);
        (self.projected, self.former) = (vec![], vec![]);
        self.take_in(&vec![1.0; count], iteration).map(drop)
    }

    /// Stores the Ritz vectors as those of the previous iteration.
    pub(super) fn remember(&mut self, ritz: &Ritz) {
        self.former = ritz.coefficients.iter().map(|row| row[..row.len().min(self.sizes.columns)].to_vec()).collect();
    }

    /// The state to resume from: the lowest Ritz vectors, and the parts of the previous ones outside them.
    pub(super) fn state(&mut self, ritz: &Ritz) -> Result<&[Vector<T>], SolveError> {
        let weights = self.restart_coefficients(ritz, 2 * self.sizes.columns);
        self.combined(weights)
    }

    /// The lowest Ritz vectors.
    pub(super) fn lowest(mut self, ritz: &Ritz, count: usize) -> Result<Vec<Vector<T>>, SolveError> {
        self.combined(ritz.coefficients.iter().map(|row| row[..count].to_vec()).collect())?;
        self.scratch.truncate(count);
        Ok(self.scratch)
    }

    /// V C in scratch.
    fn combined(&mut self, mut weights: Matrix) -> Result<&[Vector<T>], SolveError> {
        let count = weights.first().map_or(0, Vec::len);
        let mut inputs: Vec<&Vector<T>> = self.v[..self.size].iter().collect();
        fill_up(&mut inputs, &mut weights);
        self.run.algebra.combine(&mut self.scratch[..count], &inputs, &weights, false)?;
        Ok(&self.scratch[..count])
    }

    /// Coefficients of the lowest Ritz vectors, as many as leave room for the former ones, and of the parts of the former
    /// ones outside them.
    fn restart_coefficients(&self, ritz: &Ritz, room: usize) -> Matrix {
        let lowest = (room - self.sizes.columns).min(self.sizes.ritz()).min(self.size);
        let column = |matrix: &Matrix, j: usize| -> Vec<f64> {
            (0..self.size).map(|i| matrix.get(i).and_then(|row| row.get(j)).copied().unwrap_or(0.0)).collect()
        };
        let mut columns: Vec<Vec<f64>> = (0..lowest).map(|j| column(&ritz.coefficients, j)).collect();
        for j in 0..self.sizes.columns.min(self.size - lowest) {
            let mut former = column(&self.former, j);
            for _ in 0..2 {
                for kept in &columns {
                    let overlap: f64 = kept.iter().zip(&former).map(|(a, b)| a * b).sum();
                    former.iter_mut().zip(kept).for_each(|(a, b)| *a -= overlap * b);
                }
            }
            let length = former.iter().map(|a| a * a).sum::<f64>().sqrt();
            if length > OUTSIDE {
                former.iter_mut().for_each(|a| *a /= length);
                columns.push(former);
            }
        }
        (0..self.size).map(|i| columns.iter().map(|column| column[i]).collect()).collect()
    }
}

/// A B.
fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let columns = b.first().map_or(0, Vec::len);
    let element = |row: &Vec<f64>, j: usize| row.iter().zip(b).map(|(x, other)| x * other[j]).sum();
    a.iter().map(|row| (0..columns).map(|j| element(row, j)).collect()).collect()
}

/// Aᵀ B; rows that B lacks are 0.
fn transposed_product(a: &Matrix, b: &Matrix) -> Matrix {
    let (rows, columns) = (a.first().map_or(0, Vec::len), b.first().map_or(0, Vec::len));
    let element = |i: usize, j: usize| a.iter().zip(b).map(|(x, y)| x[i] * y[j]).sum();
    (0..rows).map(|i| (0..columns).map(|j| element(i, j)).collect()).collect()
}
