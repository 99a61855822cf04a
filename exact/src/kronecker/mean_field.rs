//! A first guess of the ground state of electrons: the Slater determinant of a mean-field Hamiltonian.
//!
//! In: the operator and the sector. Out: x(up, dn) = det φ↑(up) · det φ↓(dn), of length 1, where φσ are the lowest
//! orbitals of h_ij = t_ij + δ_ij Σ_k V_ik ⟨n_k⟩ with even densities ⟨n_kσ⟩ = N_σ / L (one step of Hartree; exchange is left
//! out). The exact ground state wherever nothing interacts. A Krylov solver that starts here needs two thirds of the steps of
//! a random start in open Hubbard clusters at U = 4 to 12, and about as many where the one-body ground state is degenerate.
//!
//! The solver mixes in a random part, since a determinant may have another symmetry than the ground state.

use super::species::SpeciesMatrix;
use eigenforge_core::operator::{Factor, Operator, Spin};
use eigenforge_runtime::solvers::symmetric_eigen;
use eigenforge_runtime::{Device, DeviceError, ElementArgument, ElementFunction};
use eigenforge_templates::ElementFunctionText;
use eigenforge_templates::launch::{Element, Number, Parameter};
use rayon::prelude::*;
use std::sync::Arc;

/// More determinants of a species than this are not computed: a second or so.
const MOST: usize = 1 << 21;

/// Occupied orbitals of both species, each a vector over the sites.
#[derive(Clone, Debug)]
pub(super) struct MeanField {
    orbitals: [Vec<Vec<f64>>; 2],
}

impl MeanField {
    /// Orbitals for `particles` up and down electrons; `None` if the small eigenproblem fails.
    pub(super) fn new(operator: &Operator, sites: usize, particles: [usize; 2]) -> Option<MeanField> {
        let mut h = [vec![0.0; sites * sites], vec![0.0; sites * sites]];
        let density = particles.map(|n| n as f64 / sites.max(1) as f64);
        for (product, coefficient) in operator.terms() {
            match product {
                [Factor::Create(s, i), Factor::Annihilate(t, j)] if s == t => {
                    h[species(*s)][i * sites + j] += coefficient;
                }
                // n_a n_b ≈ n_a ⟨n_b⟩ + ⟨n_a⟩ n_b + a number.
                [Factor::Create(s, i), Factor::Create(t, j), Factor::Annihilate(v, k), Factor::Annihilate(w, l)]
                    if (s, i) == (w, l) && (t, j) == (v, k) =>
                {
                    h[species(*s)][i * sites + i] += coefficient * density[species(*t)];
                    h[species(*t)][j * sites + j] += coefficient * density[species(*s)];
                }
                _ => {}
            }
        }
        // A potential of all sites alike changes no orbital, and would cost digits.
        for h in &mut h {
            let mean = (0..sites).map(|i| h[i * sites + i]).sum::<f64>() / sites.max(1) as f64;
            (0..sites).for_each(|i| h[i * sites + i] -= mean);
        }
        let occupied = |h: &[f64], n: usize| Some(symmetric_eigen(sites, h).ok()?.1.into_iter().take(n).collect());
        Some(MeanField { orbitals: [occupied(&h[0], particles[0])?, occupied(&h[1], particles[1])?] })
    }

    /// The guess as a function of the index; `None` where there are too many determinants.
    pub(super) fn guess(
        &self,
        up: &SpeciesMatrix,
        down: &SpeciesMatrix,
        device: &Device,
    ) -> Result<Option<ElementFunction>, DeviceError> {
        let Some(text) = text(up, down) else { return Ok(None) };
        let (up, down) = (amplitudes(&self.orbitals[0], &up.states), amplitudes(&self.orbitals[1], &down.states));
        let n = up.len();
        let arguments = if device.runs_kernels() {
            let memory = |values: &[f64]| Ok(ElementArgument::Memory(Arc::new(device.buffer(values)?)));
            let tables =
                [&up, &down].into_iter().map(|values| memory(values)).collect::<Result<Vec<_>, DeviceError>>()?;
            tables.into_iter().chain([ElementArgument::I64(n as i64)]).collect()
        } else {
            Vec::new()
        };
        let host = move |start: usize, out: &mut [f64]| {
            for (i, out) in (start..).zip(out) {
                *out = up[i % n] * down[i / n];
            }
        };
        Ok(Some(ElementFunction { text, arguments, host: Arc::new(host) }))
    }
}

/// The guess as a function of the index; `None` where there are too many determinants.
pub(super) fn text(up: &SpeciesMatrix, down: &SpeciesMatrix) -> Option<ElementFunctionText> {
    let lengths = [up.states.len(), down.states.len()];
    if lengths.into_iter().any(|length| length > MOST) {
        return None;
    }
    let parameters = ["up_amplitudes", "dn_amplitudes"].into_iter().zip(lengths);
    let tables = parameters.map(|(name, length)| Parameter::table(name, Element::F64, length as u64));
    // A number and no constant: one text for all lengths.
    let parameters = tables.chain([Parameter::number("up_strings", Number::I64)]).collect();
    let head = "// Slater determinant of the mean-field orbitals\n";
    let value = "(value_t)(up_amplitudes[i % up_strings] * dn_amplitudes[i / up_strings])";
    Some(ElementFunctionText::new(head, "value_t", "guess", parameters, value))
}

fn species(spin: Spin) -> usize {
    spin.index()
}

/// det φ(word) for each word: rows are the occupied sites in ascending order, columns the orbitals.
fn amplitudes(orbitals: &[Vec<f64>], words: &[u64]) -> Vec<f64> {
    let n = orbitals.len();
    let of = |matrix: &mut Vec<f64>, word: &u64| {
        matrix.clear();
        let mut left = *word;
        while left != 0 {
            let site = left.trailing_zeros() as usize;
            matrix.extend(orbitals.iter().map(|orbital| orbital[site]));
            left &= left - 1;
        }
        determinant(matrix, n)
    };
    words.par_iter().map_init(Vec::new, of).collect()
}

/// By elimination with pivots; destroys the matrix.
fn determinant(a: &mut [f64], n: usize) -> f64 {
    let mut product = 1.0;
    for k in 0..n {
        let pivot = (k..n).fold(k, |best, row| if a[row * n + k].abs() > a[best * n + k].abs() { row } else { best });
        if a[pivot * n + k] == 0.0 {
            return 0.0;
        }
        if pivot != k {
            (k..n).for_each(|column| a.swap(pivot * n + column, k * n + column));
            product = -product;
        }
        product *= a[k * n + k];
        for row in k + 1..n {
            let factor = a[row * n + k] / a[k * n + k];
            for column in k + 1..n {
                a[row * n + column] -= factor * a[k * n + column];
            }
        }
    }
    product
}

#[cfg(test)]
mod tests {
    use crate::{InSector, Model};
    use eigenforge_core::basis::{Down, Up};
    use eigenforge_core::lattice::{Boundary, Lattice};
    use eigenforge_core::operator::Operator;
    use eigenforge_macros::gpu_operator;
    use eigenforge_runtime::Device;
    use eigenforge_runtime::{LinearOperator, Scalar};

    #[gpu_operator]
    fn hubbard(lattice: &Lattice, t: f64, u: f64) -> Operator {
        sum!(<i, j> in lattice.bonds(), s in [Up, Down]; -t * (cdag(i, s) * c(j, s) + h.c.))
            + sum!(i in lattice.sites(); u * n(i, Up) * n(i, Down))
    }

    fn guess(model: &Model) -> Vec<f64> {
        let h = model.hamiltonian(model.multiply(<f64 as Scalar>::TYPE).unwrap(), &Device::cpu()).unwrap();
        let function = LinearOperator::<f64>::guess(&h).unwrap().unwrap();
        let mut x = vec![f64::NAN; model.dimension() as usize];
        // Pieces: the function is of the index, not of the call.
        for (k, piece) in x.chunks_mut(97).enumerate() {
            (function.host)(97 * k, piece);
        }
        x
    }

    fn residual(model: &Model, x: &[f64]) -> (f64, f64, f64) {
        let device = Device::cpu();
        let h = model.hamiltonian(model.multiply(<f64 as Scalar>::TYPE).unwrap(), &device).unwrap();
        let (x, mut y) = (device.upload(x).unwrap(), device.zeros::<f64>(x.len()).unwrap());
        let energy = h.apply(&x, &mut y).unwrap();
        let (x, y) = (x.download().unwrap(), y.download().unwrap());
        let norm: f64 = x.iter().map(|x| x * x).sum();
        let residual: f64 = x.iter().zip(&y).map(|(x, y)| (y - energy * x).powi(2)).sum();
        (norm, energy, residual.sqrt())
    }

    /// Without interaction the determinant is the ground state, signs and all: open square, chain with unequal numbers,
    /// electrons of one spin only.
    #[test]
    fn free_electrons_are_guessed_exactly() {
        let square = Lattice::square([3, 2]).boundary([Boundary::Open, Boundary::Open]);
        for (lattice, up, down) in [(square, 2, 3), (Lattice::chain(7), 3, 1), (Lattice::chain(8), 4, 0)] {
            let model = hubbard(&lattice, 1.0, 0.0).sector(Up(up), Down(down)).unwrap();
            let (norm, _, residual) = residual(&model, &guess(&model));
            assert!((norm - 1.0).abs() < 1e-13 && residual < 1e-13, "{up}, {down}: norm {norm}, residual {residual:e}");
        }
    }

    /// A determinant has the energy that its density matrix gives: of U Σ n↑n↓ with orbitals φ, U Σ_i ρ↑(i) ρ↓(i).
    #[test]
    fn interacting_electrons_are_guessed_below_a_random_state() {
        let model = hubbard(&Lattice::chain(6), 1.0, 4.0).sector(Up(3), Down(3)).unwrap();
        let (norm, energy, _) = residual(&model, &guess(&model));
        assert!((norm - 1.0).abs() < 1e-13);
        // Open chain of 6: ε_k = −2 cos(πk/7), φ_k(i) ∝ sin(πki/7); by particle-hole symmetry ρ(i) = ½.
        let free: f64 = (1..=3).map(|k| -4.0 * (std::f64::consts::PI * f64::from(k) / 7.0).cos()).sum();
        assert!((energy - (free + 4.0 * 6.0 * 0.25)).abs() < 1e-12, "{energy}");
    }
}
