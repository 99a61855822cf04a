//! A stored matrix as an operator of the solvers, on the host, in the plainest way.

use eigenforge::runtime::solvers::{SolveOptions, Solver, solve};
use eigenforge::runtime::{Device, LinearOperator, Result, Vector};
use eigenforge::sparse::Csr;
use eigenforge_templates::Cost;
use ndarray::Array2;
use rayon::prelude::*;

/// A matrix on the host.
struct Host {
    matrix: Csr,
    device: Device,
}

impl LinearOperator<f64> for Host {
    fn dimension(&self) -> usize {
        self.matrix.rows()
    }
    fn device(&self) -> &Device {
        &self.device
    }
    fn apply(&self, x: &Vector<f64>, y: &mut Vector<f64>) -> Result<f64> {
        let (x, y) = (x.as_host().unwrap(), y.as_host_mut().unwrap());
        y.par_iter_mut().enumerate().for_each(|(row, y)| {
            let (columns, values) = self.matrix.row(row);
            *y = columns.iter().zip(values).map(|(column, value)| value * x[*column as usize]).sum();
        });
        Ok(x.iter().zip(y).map(|(x, y)| x * *y).sum())
    }
    fn norm_bound(&self) -> f64 {
        let row = |row| self.matrix.row(row).1.iter().map(|value| value.abs()).sum::<f64>();
        (0..self.matrix.rows()).map(row).fold(0.0, f64::max)
    }
    fn cost(&self) -> Cost {
        Cost { flops: 2.0 * self.matrix.non_zeros() as f64, bytes: 12.0 * self.matrix.non_zeros() as f64 }
    }
}

/// The lowest eigenvalues, by Lanczos.
pub fn lowest(matrix: Csr, states: usize) -> Vec<f64> {
    lowest_states(matrix, states).0
}

/// The lowest eigenvalues and their vectors; those of a level that `states` would cut are all there.
pub fn lowest_states(matrix: Csr, states: usize) -> (Vec<f64>, Vec<Vec<f64>>) {
    let host = Host { matrix, device: Device::cpu() };
    let states = states.min(host.matrix.rows());
    let options =
        SolveOptions { states, tolerance: 1e-7 / LinearOperator::<f64>::norm_bound(&host), ..SolveOptions::default() };
    let found = solve(&host, Solver::Lanczos, &options).unwrap();
    assert!(found.residuals.iter().all(|residual| *residual <= 1e-7));
    let vectors = found.vectors.iter().chain(&found.extra_vectors).map(|vector| vector.as_host().unwrap().to_vec());
    (found.values.iter().chain(&found.extra_values).copied().collect(), vectors.collect())
}

/// Vectors of one length as the rows of a matrix.
pub fn stacked<V: AsRef<[f64]>>(vectors: &[V]) -> Array2<f64> {
    let all: Vec<f64> = vectors.iter().flat_map(|vector| vector.as_ref().iter().copied()).collect();
    let length = vectors.first().map_or(0, |vector| vector.as_ref().len());
    Array2::from_shape_vec((vectors.len(), length), all).unwrap()
}
