//! Fewer orbitals: frozen cores below, deleted virtuals above.
//!
//! Removing orbitals i < n that are doubly occupied in every determinant gives (Helgaker, Jørgensen and Olsen 2000,
//! section 12.5) E_core += 2 Σ h_ii + Σ_ij [2 (ii|jj) − (ij|ij)] and h_pq += Σ_i [2 (pq|ii) − (pi|iq)]. Deleted orbitals
//! are empty in every determinant and contribute nothing.

use super::integrals::{Integrals, pair};

/// Why orbitals cannot be removed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WindowError {
    /// A frozen orbital would not be doubly occupied.
    #[error(
        "{frozen} orbitals cannot be frozen: {up} α and {down} β electrons fill at most {most} twice",
        most = up.min(down)
    )]
    Frozen {
        /// Orbitals to freeze.
        frozen: usize,
        /// α electrons.
        up: usize,
        /// β electrons.
        down: usize,
    },
    /// More orbitals than there are, or fewer than the electrons need.
    #[error("{kept} orbitals cannot be kept: there are {orbitals}, and {electrons} electrons of one spin need as many")]
    Kept {
        /// Orbitals to keep.
        kept: usize,
        /// Available orbitals.
        orbitals: usize,
        /// Electrons of the majority spin.
        electrons: usize,
    },
}

impl Integrals {
    /// Folds the lowest `frozen` orbitals, doubly occupied, into the core energy and h.
    pub fn freeze(&self, frozen: usize) -> Result<Integrals, WindowError> {
        let (up, down) = self.spins();
        if frozen > up.min(down) || frozen > self.orbitals {
            return Err(WindowError::Frozen { frozen, up, down });
        }
        let mut window = self.window(frozen, self.orbitals);
        window.electrons -= 2 * frozen;
        for i in 0..frozen {
            window.core += 2.0 * self.one(i, i);
            window.core += (0..frozen).map(|j| 2.0 * self.two(i, i, j, j) - self.two(i, j, i, j)).sum::<f64>();
        }
        for p in frozen..self.orbitals {
            for q in frozen..=p {
                let mean = (0..frozen).map(|i| 2.0 * self.two(p, q, i, i) - self.two(p, i, i, q)).sum::<f64>();
                window.one[pair(p - frozen, q - frozen)] += mean;
            }
        }
        Ok(window)
    }

    /// Keeps the lowest `kept` orbitals: an active space, once cores are frozen.
    pub fn keep(&self, kept: usize) -> Result<Integrals, WindowError> {
        let (up, down) = self.spins();
        let electrons = up.max(down);
        if kept > self.orbitals || kept < electrons.max(1) {
            return Err(WindowError::Kept { kept, orbitals: self.orbitals, electrons });
        }
        Ok(self.window(0, kept))
    }

    /// Integrals among orbitals first..end, unchanged.
    fn window(&self, first: usize, end: usize) -> Integrals {
        let mut window = Integrals::zero(end - first);
        window.electrons = self.electrons;
        window.two_sz = self.two_sz;
        window.irreps = self.irreps.get(first..end).unwrap_or_default().to_vec();
        window.core = self.core;
        for p in first..end {
            for q in first..=p {
                let pq = pair(p - first, q - first);
                window.one[pq] = self.one(p, q);
                for r in first..=p {
                    for s in (first..=r).take_while(|s| pair(r - first, s - first) <= pq) {
                        window.two[pair(pq, pair(r - first, s - first))] = self.two(p, q, r, s);
                    }
                }
            }
        }
        window
    }
}
