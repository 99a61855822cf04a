//! Matrices with known spectra, multiplied on the host whatever the device of their vectors.

use eigenforge_runtime::{Device, ElementFunction, LinearOperator, Result, Scalar, Vector};
use eigenforge_templates::{Cost, ElementFunctionText};
use std::sync::Arc;

/// A sparse symmetric matrix by rows.
pub struct Sparse {
    pub device: Device,
    pub rows: Vec<Vec<(usize, f64)>>,
}

impl Sparse {
    pub fn new(device: &Device, n: usize, entries: impl IntoIterator<Item = (usize, usize, f64)>) -> Sparse {
        let mut rows = vec![Vec::new(); n];
        for (i, j, value) in entries {
            rows[i].push((j, value));
            if i != j {
                rows[j].push((i, value));
            }
        }
        Sparse { device: device.clone(), rows }
    }

    /// −Δ on a ring with hopping 1: eigenvalues −2 cos(2π k/n), pairs except at the ends.
    pub fn ring(device: &Device, n: usize) -> Sparse {
        Sparse::new(device, n, (0..n).map(|i| (i, (i + 1) % n, -1.0)))
    }

    /// A ⊗ 1 + 1 ⊗ A: sums of eigenvalues, every unequal pair twice.
    pub fn kronecker_sum(&self) -> Sparse {
        let n = self.rows.len();
        let mut rows = vec![Vec::new(); n * n];
        for (index, row) in rows.iter_mut().enumerate() {
            let (i, j) = (index / n, index % n);
            row.extend(self.rows[i].iter().map(|(k, v)| (k * n + j, *v)));
            row.extend(self.rows[j].iter().map(|(k, v)| (i * n + k, *v)));
        }
        Sparse { device: self.device.clone(), rows }
    }

    /// Diagonal 0, 1, …, spread over `width`, plus `count` random couplings a row of size `coupling`.
    pub fn random(device: &Device, n: usize, width: f64, count: usize, coupling: f64, seed: u64) -> Sparse {
        let mut state = seed;
        let mut next = move || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut entries: Vec<_> = (0..n).map(|i| (i, i, width * next())).collect();
        for i in 0..n {
            for _ in 0..count {
                let j = (next() * n as f64) as usize;
                if j != i {
                    entries.push((i, j, coupling * (2.0 * next() - 1.0)));
                }
            }
        }
        Sparse::new(device, n, entries)
    }

    pub fn entry(&self, i: usize) -> f64 {
        self.rows[i].iter().filter(|e| e.0 == i).map(|e| e.1).sum()
    }

    /// All eigenvalues, from the dense matrix.
    pub fn spectrum(&self) -> Vec<f64> {
        let n = self.rows.len();
        let unit = LinearOperator::<f64>::norm_bound(self).max(f64::MIN_POSITIVE);
        let mut matrix = faer::Mat::<f64>::zeros(n, n);
        for (i, row) in self.rows.iter().enumerate() {
            row.iter().for_each(|(j, v)| matrix[(i, *j)] += v / unit);
        }
        let values = matrix.self_adjoint_eigenvalues(faer::Side::Lower).expect("a symmetric matrix has eigenvalues");
        values.iter().map(|value| value * unit).collect()
    }
}

impl<T: Scalar> LinearOperator<T> for Sparse {
    fn dimension(&self) -> usize {
        self.rows.len()
    }
    fn device(&self) -> &Device {
        &self.device
    }
    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<f64> {
        let values: Vec<f64> = x.download()?.iter().map(|v| v.to_f64()).collect();
        let image: Vec<f64> = self.rows.iter().map(|row| row.iter().map(|(j, v)| v * values[*j]).sum()).collect();
        y.write(&image.iter().map(|v| T::from_f64(*v)).collect::<Vec<_>>())?;
        Ok(values.iter().zip(&image).map(|(x, y)| x * y).sum())
    }
    fn diagonal(&self) -> Option<ElementFunction> {
        if self.device.runs_kernels() {
            return None;
        }
        let values: Vec<f64> = (0..self.rows.len()).map(|i| self.entry(i)).collect();
        let text = ElementFunctionText { name: "diagonal".into(), source: String::new(), parameters: vec![] };
        let host = Arc::new(move |start: usize, out: &mut [f64]| out.copy_from_slice(&values[start..][..out.len()]));
        Some(ElementFunction { text, arguments: vec![], host })
    }
    fn norm_bound(&self) -> f64 {
        self.rows.iter().map(|row| row.iter().map(|e| e.1.abs()).sum::<f64>()).fold(0.0, f64::max)
    }
    fn cost(&self) -> Cost {
        let entries: usize = self.rows.iter().map(Vec::len).sum();
        Cost { flops: 2.0 * entries as f64, bytes: 16.0 * self.rows.len() as f64 }
    }
}
