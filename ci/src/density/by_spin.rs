//! Two-body density matrices by the spins of both electrons, for unrestricted orbitals.
//!
//! In: a space, vectors in it. Out: Γ^στ_pqrs = ⟨a†_pσ a†_rτ a_sτ a_qσ⟩, p and q orbitals of spin σ, r and s of spin τ, so that
//! E = E_core + Σ_σ h^σ_pq γ^σ_pq + ½ Σ_σ (pq|rs)_σσ Γ^σσ_pqrs + Σ (pq|rs)_αβ Γ^αβ_pqrs.

use super::window::{add_core, check};
use super::{DensityError, OneBody, add_same_spin, four_indices, joined, products_of_parts};
use crate::OrbitalWindow;
use crate::integrals::Integrals;
use crate::orbital_number::OrbitalNumber;
use crate::space::Space;
use eigenforge_core::operator::Spin;
use eigenforge_runtime::Device;
use ndarray::{Array4, ArrayRef2};

/// Γ of two α, of two β, and of an α and a β electron; each n × n × n × n for n orbitals of each spin.
#[derive(Clone, Debug, PartialEq)]
pub struct SpinTwoBody<T = f64> {
    /// Γ^αα_pqrs at \[p, q, r, s\].
    pub alpha: Array4<T>,
    /// Γ^ββ_pqrs, likewise.
    pub beta: Array4<T>,
    /// Γ^αβ_pqrs, p and q orbitals of the α electron.
    pub mixed: Array4<T>,
}

impl<T: OrbitalNumber> SpinTwoBody<T> {
    /// Γ of a state, or averaged over several. `vectors` is k × dimension: each row is a state in the order of the space.
    ///
    /// # Errors
    /// No vectors, a vector of another length, a norm of 0; too little memory.
    pub fn new(space: &Space, vectors: &ArrayRef2<T>) -> Result<SpinTwoBody<T>, DensityError> {
        let n = space.orbitals();
        let parts = T::split(vectors);
        let [real, imaginary] = products_of_parts(space, vectors, &parts)?;
        Device::cpu().check_memory(
            &format!("two-body density matrices of {n} orbitals"),
            4 * size_of::<T>() as u64 * (n as u64).pow(4),
        )?;
        let same = |electrons| -> Result<Array4<T>, DensityError> {
            let mut values = vec![T::default(); n.pow(4)];
            add_same_spin(&joined(space, electrons, [&real, &imaginary], true)?, n, &mut values);
            Ok(four_indices(n, values))
        };
        let both: Vec<T> = joined(space, [1, 1], [&real, &imaginary], true)?;
        let mixed = Array4::from_shape_fn([n; 4], |(p, q, r, s)| both[(p * n + r) * n * n + q * n + s]);
        Ok(SpinTwoBody { alpha: same([2, 0])?, beta: same([0, 2])?, mixed })
    }

    /// Their arrays of density.npz, by name.
    pub fn arrays(&self) -> Vec<(&'static str, &Array4<T>)> {
        vec![("gamma_two_alpha", &self.alpha), ("gamma_two_beta", &self.beta), ("gamma_two_mixed", &self.mixed)]
    }

    /// The same in all orbitals of the file; `one` is γ of the same state in the active orbitals.
    ///
    /// # Errors
    /// A window of another number of active orbitals; no room.
    pub fn in_all_orbitals(&self, one: &OneBody<T>, window: &OrbitalWindow) -> Result<SpinTwoBody<T>, DensityError> {
        check(window, self.mixed.dim().0)?;
        check(window, one.orbitals())?;
        let bytes = 3 * size_of::<T>() as u64 * (window.all as u64).pow(4);
        Device::cpu().check_memory(&format!("two-body density matrices of {} orbitals", window.all), bytes)?;
        let widen = |own: &Array4<T>, left, right, exchange| {
            let mut all = Array4::from_elem([window.all; 4], T::default());
            add_core(&mut all, window, [left, right], (one.overlap, exchange));
            let place = |p: usize| window.active[p];
            own.indexed_iter()
                .for_each(|((p, q, r, s), value)| all[[place(p), place(q), place(r), place(s)]] += *value);
            all
        };
        Ok(SpinTwoBody {
            alpha: widen(&self.alpha, &one.alpha, &one.alpha, true),
            beta: widen(&self.beta, &one.beta, &one.beta, true),
            mixed: widen(&self.mixed, &one.alpha, &one.beta, false),
        })
    }

    /// The total energy of the state that the matrices are of.
    ///
    /// # Errors
    /// Integrals or γ of other orbitals.
    pub fn energy(&self, one: &OneBody<T>, integrals: &Integrals<T>) -> Result<f64, DensityError> {
        let n = self.mixed.dim().0;
        for (what, found) in [("the set of integrals", integrals.orbitals), ("the one-body matrix", one.orbitals())] {
            if found != n {
                return Err(DensityError::Orbitals { what, found, expected: n });
            }
        }
        let mut energy = integrals.core * one.overlap.real();
        for (spin, gamma, two) in [(Spin::Up, &one.alpha, &self.alpha), (Spin::Down, &one.beta, &self.beta)] {
            let own = integrals.of_spin(spin);
            energy += gamma.indexed_iter().map(|((p, q), value)| (own.one(p, q) * *value).real()).sum::<f64>();
            let pairs = two.indexed_iter().map(|((p, q, r, s), value)| (own.two(p, q, r, s) * *value).real());
            energy += 0.5 * pairs.sum::<f64>();
        }
        let between = |((p, q, r, s), value): ((usize, usize, usize, usize), &T)| {
            (integrals.between(T::pair(n, p, q), T::pair(n, r, s)) * *value).real()
        };
        Ok(energy + self.mixed.indexed_iter().map(between).sum::<f64>())
    }
}
