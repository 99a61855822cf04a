//! Density matrices in all orbitals, those of a window given.
//!
//! In: γ and Γ in the orbitals that were left after [`Integrals::freeze`](crate::Integrals::freeze) and
//! [`keep`](crate::Integrals::keep), how many were frozen and how many there were. Out: the same state in all
//! orbitals. Frozen orbitals i, j hold two electrons, deleted ones none (Helgaker, Jørgensen and Olsen 2000, section
//! 12.5):
//!
//! γ^σ_ij = δ_ij; Γ_iijj = 4 and Γ_ijji = −2 (their sum 2 for i = j); Γ_iipq = Γ_pqii = 2 γ_pq and
//! Γ_piiq = Γ_iqpi = −γ_pq.

use super::{DensityError, OneBody, TwoBody};
use eigenforge_runtime::Device;
use ndarray::{Array2, Array4, s};

impl OneBody {
    /// The same in `orbitals` orbitals, of which `frozen` stand in front; what is behind the window is empty.
    pub fn in_all_orbitals(&self, frozen: usize, orbitals: usize) -> Result<OneBody, DensityError> {
        check(frozen, self.orbitals(), orbitals)?;
        let kept = frozen..frozen + self.orbitals();
        let widen = |window: &Array2<f64>| {
            let mut matrix = Array2::zeros((orbitals, orbitals));
            (0..frozen).for_each(|i| matrix[[i, i]] = self.overlap);
            matrix.slice_mut(s![kept.clone(), kept.clone()]).assign(window);
            matrix
        };
        Ok(OneBody { alpha: widen(&self.alpha), beta: widen(&self.beta), overlap: self.overlap })
    }
}

impl TwoBody {
    /// The same in `orbitals` orbitals, of which `frozen` stand in front; `one` is the window's γ of the same state.
    pub fn in_all_orbitals(&self, one: &OneBody, frozen: usize, orbitals: usize) -> Result<TwoBody, DensityError> {
        let (n, window) = (orbitals, self.orbitals());
        check(frozen, window, n)?;
        if one.orbitals() != window {
            let what = "the two-body matrix";
            return Err(DensityError::Orbitals { what, found: window, expected: one.orbitals() });
        }
        let bytes = 8 * (n as u64).pow(4);
        Device::cpu().check_memory(&format!("a two-body density matrix of {n} orbitals"), bytes)?;
        let mut all = Array4::zeros([n; 4]);
        let mut add = |p: usize, q: usize, r: usize, s: usize, value: f64| {
            all[[p, q, r, s]] += value;
        };
        let total = one.total();
        for i in 0..frozen {
            for j in 0..frozen {
                add(i, i, j, j, 4.0 * one.overlap);
                add(i, j, j, i, -2.0 * one.overlap);
            }
            for ((p, q), value) in total.indexed_iter() {
                let (p, q) = (frozen + p, frozen + q);
                add(i, i, p, q, 2.0 * value);
                add(p, q, i, i, 2.0 * value);
                add(p, i, i, q, -value);
                add(i, q, p, i, -value);
            }
        }
        let kept = || frozen..frozen + window;
        all.slice_mut(s![kept(), kept(), kept(), kept()]).assign(&self.values);
        Ok(TwoBody { values: all })
    }
}

fn check(frozen: usize, window: usize, orbitals: usize) -> Result<(), DensityError> {
    match frozen.checked_add(window) {
        Some(needed) if needed <= orbitals => Ok(()),
        _ => Err(DensityError::Window { frozen, window, orbitals }),
    }
}
