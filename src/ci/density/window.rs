//! Density matrices in all orbitals, those of a window given.
//!
//! In: γ and Γ in the orbitals that were left after [`Integrals::freeze`](crate::ci::Integrals::freeze) and
//! [`keep`](crate::ci::Integrals::keep), how many were frozen and how many there were. Out: the same state in all orbitals.
//! Frozen orbitals i, j hold two electrons, deleted ones none (Helgaker, Jørgensen and Olsen 2000, section 12.5):
//!
//! γ^σ_ij = δ_ij; Γ_iijj = 4 and Γ_ijji = −2 (their sum 2 for i = j); Γ_iipq = Γ_pqii = 2 γ_pq; Γ_ipqi = Γ_qiip = −γ_qp.

use super::{DensityError, OneBody, TwoBody};
use eigenforge_runtime::Device;

impl OneBody {
    /// The same in `orbitals` orbitals, of which `frozen` stand in front; what is behind the window is empty.
    pub fn in_all_orbitals(&self, frozen: usize, orbitals: usize) -> Result<OneBody, DensityError> {
        check(frozen, self.orbitals, orbitals)?;
        let widen = |window: &[f64]| {
            let mut matrix = vec![0.0; orbitals * orbitals];
            (0..frozen).for_each(|i| matrix[i * orbitals + i] = self.overlap);
            for (p, row) in window.chunks(self.orbitals.max(1)).enumerate() {
                let first = (frozen + p) * orbitals + frozen;
                matrix[first..first + row.len()].copy_from_slice(row);
            }
            matrix
        };
        Ok(OneBody { orbitals, alpha: widen(&self.alpha), beta: widen(&self.beta), overlap: self.overlap })
    }
}

impl TwoBody {
    /// The same in `orbitals` orbitals, of which `frozen` stand in front; `one` is the window's γ of the same state.
    pub fn in_all_orbitals(&self, one: &OneBody, frozen: usize, orbitals: usize) -> Result<TwoBody, DensityError> {
        let (n, window) = (orbitals, self.orbitals);
        check(frozen, window, n)?;
        if one.orbitals != window {
            let what = "the two-body matrix";
            return Err(DensityError::Orbitals { what, found: window, expected: one.orbitals });
        }
        let bytes = 8 * (n as u64).pow(4);
        Device::cpu().check_memory(&format!("a two-body density matrix of {n} orbitals"), bytes)?;
        let mut all = TwoBody { orbitals: n, values: vec![0.0; n.pow(4)] };
        let mut add = |p: usize, q: usize, r: usize, s: usize, value: f64| {
            all.values[((p * n + q) * n + r) * n + s] += value;
        };
        let total = one.total();
        for i in 0..frozen {
            for j in 0..frozen {
                add(i, i, j, j, 4.0 * one.overlap);
                add(i, j, j, i, -2.0 * one.overlap);
            }
            for (k, value) in total.iter().enumerate() {
                let (p, q) = (frozen + k / window, frozen + k % window);
                add(i, i, p, q, 2.0 * value);
                add(p, q, i, i, 2.0 * value);
                add(p, i, i, q, -value);
                add(i, q, p, i, -value);
            }
        }
        for (k, row) in self.values.chunks(window.max(1)).enumerate() {
            let (p, q, r) = (k / (window * window), k / window % window, k % window);
            let first = (((frozen + p) * n + frozen + q) * n + frozen + r) * n + frozen;
            all.values[first..first + row.len()].copy_from_slice(row);
        }
        Ok(all)
    }
}

fn check(frozen: usize, window: usize, orbitals: usize) -> Result<(), DensityError> {
    match frozen.checked_add(window) {
        Some(needed) if needed <= orbitals => Ok(()),
        _ => Err(DensityError::Window { frozen, window, orbitals }),
    }
}
