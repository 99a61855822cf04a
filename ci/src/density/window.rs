//! Density matrices in all orbitals, those of a window given.
//!
//! In: γ and Γ in the active orbitals of an [`OrbitalWindow`]. Out: the same state in all orbitals. Core orbitals i, j hold two
//! electrons, deleted ones none (Helgaker, Jørgensen and Olsen 2000, section
//! 12.5):
//!
//! γ^σ_ij = δ_ij; Γ_iijj = 4 and Γ_ijji = −2 (their sum 2 for i = j); Γ_iipq = Γ_pqii = 2 γ_pq and
//! Γ_piiq = Γ_iqpi = −γ_pq.

use super::{DensityError, OneBody, TwoBody};
use crate::OrbitalWindow;
use crate::orbital_number::OrbitalNumber;
use eigenforge_runtime::Device;
use ndarray::{Array2, Array4};

impl<T: OrbitalNumber> OneBody<T> {
    /// The same in all orbitals of the file, where this is in the active ones of a window.
    ///
    /// # Errors
    /// A window of another number of active orbitals.
    pub fn in_all_orbitals(&self, window: &OrbitalWindow) -> Result<OneBody<T>, DensityError> {
        check(window, self.orbitals())?;
        let widen = |own: &Array2<T>| {
            let mut matrix = Array2::from_elem((window.all, window.all), T::default());
            window.core.iter().for_each(|i| matrix[[*i, *i]] = self.overlap);
            own.indexed_iter().for_each(|((p, q), value)| matrix[[window.active[p], window.active[q]]] = *value);
            matrix
        };
        Ok(OneBody { alpha: widen(&self.alpha), beta: widen(&self.beta), overlap: self.overlap })
    }
}

impl<T: OrbitalNumber> TwoBody<T> {
    /// The same in all orbitals of the file; `one` is γ of the same state in the active orbitals.
    ///
    /// # Errors
    /// A window of another number of active orbitals; no room.
    pub fn in_all_orbitals(&self, one: &OneBody<T>, window: &OrbitalWindow) -> Result<TwoBody<T>, DensityError> {
        check(window, self.orbitals())?;
        if one.orbitals() != self.orbitals() {
            let what = "the two-body matrix";
            return Err(DensityError::Orbitals { what, found: self.orbitals(), expected: one.orbitals() });
        }
        let OrbitalWindow { active, all: n, .. } = window;
        let bytes = size_of::<T>() as u64 * (*n as u64).pow(4);
        Device::cpu().check_memory(&format!("a two-body density matrix of {n} orbitals"), bytes)?;
        let mut all = Array4::from_elem([*n; 4], T::default());
        let spins = [&one.alpha, &one.beta];
        for (left, gamma) in spins.iter().enumerate() {
            for (right, other) in spins.iter().enumerate() {
                add_core(&mut all, window, [gamma, other], (one.overlap, left == right));
            }
        }
        for ((p, q, r, s), value) in self.values.indexed_iter() {
            all[[active[p], active[q], active[r], active[s]]] += *value;
        }
        Ok(TwoBody { values: all })
    }
}

/// Adds the elements Γ^στ_pqrs of two electrons of which one at least is in the core: of γ^σ and γ^τ in the active orbitals, with
/// `overlap` the norm of the state, and with exchange if σ = τ.
pub(super) fn add_core<T: OrbitalNumber>(
    all: &mut Array4<T>,
    OrbitalWindow { core, active, .. }: &OrbitalWindow,
    [left, right]: [&Array2<T>; 2],
    (overlap, exchange): (T, bool),
) {
    let mut add = |p: usize, q: usize, r: usize, s: usize, value: T| all[[p, q, r, s]] += value;
    for i in core.iter().copied() {
        for j in core.iter().copied() {
            add(i, i, j, j, overlap);
            if exchange {
                add(i, j, j, i, -overlap);
            }
        }
        for ((p, q), value) in right.indexed_iter() {
            let (p, q) = (active[p], active[q]);
            add(i, i, p, q, *value);
            if exchange {
                add(p, i, i, q, -*value);
            }
        }
        for ((p, q), value) in left.indexed_iter() {
            let (p, q) = (active[p], active[q]);
            add(p, q, i, i, *value);
            if exchange {
                add(i, q, p, i, -*value);
            }
        }
    }
}

pub(super) fn check(window: &OrbitalWindow, expected: usize) -> Result<(), DensityError> {
    let (what, found) = ("the window", window.active.len());
    if found == expected { Ok(()) } else { Err(DensityError::Orbitals { what, found, expected }) }
}
