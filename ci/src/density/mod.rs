//! One- and two-body density matrices of configuration-interaction vectors.
//!
//! In: a space of any kind, vectors in it. Out (Helgaker, Jørgensen and Olsen 2000, sections 1.7 and 2.7)
//!
//! * γ^σ_pq = ⟨a†_pσ a_qσ⟩, [`OneBody`]; of a transition ⟨bra| a†_pσ a_qσ |ket⟩;
//! * Γ_pqrs = Σ_στ ⟨a†_pσ a†_rτ a_sτ a_qσ⟩, [`TwoBody`], index order of (pq|rs), so that with real orbitals
//!   E = E_core + Σ h_pq γ_pq + ½ Σ (pq|rs) Γ_pqrs, γ = γ^α + γ^β ([`energy`]).
//!
//! Traces: Σ γ^σ_pp = n_σ, Σ_r Γ_pqrr = (N − 1) γ_pq. Several vectors are averaged: the states of one level, so that
//! the result does not depend on which vectors span it. Vectors count as if they were normalised. Over complex orbitals
//! vectors, γ and Γ are complex: γ_pq = ⟨a†_p a_q⟩, where the bra is conjugated, so γ_qp = γ_pq*. Where each spin has its own orbitals, γ and Γ
//! have no sum over spins: γ^α, γ^β, and Γ by the spins of both electrons ([`SpinTwoBody`]).
//!
//! | file | question it answers |
//! |---|---|
//! | `removal` | what remains of a string when electrons leave? |
//! | `gram` | how are a state's remainders multiplied? |
//! | `panels` | how, where all strings meet? |
//! | `products` | what is the average of a product of up to two electrons? |
//! | `elements` | which elements of Γ are distinct? |
//! | `by_spin` | what are the two-body matrices where each spin has its own orbitals? |
//! | `window` | what are the matrices in all orbitals, frozen ones in front? |
//! | `file` | how are they written? |

mod by_spin;
mod elements;
mod error;
mod file;
mod gram;
mod panels;
mod products;
mod removal;
mod window;

use super::integrals::Integrals;
use super::orbital_number::OrbitalNumber;
use super::space::Space;
use eigenforge_core::operator::Spin;
use eigenforge_runtime::Device;
use gram::{Product, gram};
use ndarray::{Array2, Array4, ArrayRef1, ArrayRef2, ArrayView1, CowArray, Ix2, s};
use rayon::prelude::*;
use removal::pair_label;

pub use by_spin::SpinTwoBody;
pub use elements::TwoBodyElements;
pub use error::DensityError;
pub use file::write_densities;
pub use products::products;

/// γ^α and γ^β.
#[derive(Clone, Debug, PartialEq)]
pub struct OneBody<T = f64> {
    /// γ^α_pq at \[p, q\]; n × n for n spatial orbitals.
    pub alpha: Array2<T>,
    /// γ^β_pq at \[p, q\], of the same shape.
    pub beta: Array2<T>,
    /// ⟨bra|ket⟩: 1 for a state or an average; what operators without electrons, nuclei and frozen cores, count.
    pub overlap: T,
}

/// Γ, summed over spins.
#[derive(Clone, Debug, PartialEq)]
pub struct TwoBody<T = f64> {
    /// Γ_pqrs at \[p, q, r, s\]; n × n × n × n for n spatial orbitals.
    pub values: Array4<T>,
}

impl<T: OrbitalNumber> OneBody<T> {
    /// γ of a state, or averaged over several. `vectors` is k × dimension: each row is a state in the order of the space.
    ///
    /// # Errors
    /// No vectors, a vector of another length, a norm of 0; too little memory.
    pub fn new(space: &Space, vectors: &ArrayRef2<T>) -> Result<OneBody<T>, DensityError> {
        let parts = T::split(vectors);
        let [real, imaginary] = products_of_parts(space, vectors, &parts)?;
        let n = space.orbitals();
        let of = |electrons| -> Result<Array2<T>, DensityError> {
            Ok(square(n, joined(space, electrons, [&real, &imaginary], true)?))
        };
        Ok(OneBody { alpha: of([1, 0])?, beta: of([0, 1])?, overlap: 1.0.into() })
    }

    /// Spatial orbitals.
    pub fn orbitals(&self) -> usize {
        self.alpha.nrows()
    }

    /// γ = γ^α + γ^β, n × n.
    pub fn total(&self) -> Array2<T> {
        Array2::from_shape_fn(self.alpha.dim(), |at| self.alpha[at] + self.beta[at])
    }
}

impl<T: OrbitalNumber> OneBody<T> {
    /// γ_pq = ⟨bra| a†_p a_q |ket⟩ between two states of one space, each a vector in its order; the bra is conjugated.
    ///
    /// # Errors
    /// A vector of another length, a norm of 0; too little memory.
    pub fn transition(space: &Space, bra: &ArrayRef1<T>, ket: &ArrayRef1<T>) -> Result<OneBody<T>, DensityError> {
        let [bra, ket] = [bra, ket].map(|vector| vector.to_vec());
        let norms = norms(space, &[&bra, &ket])?;
        let weight = 1.0 / (norms[0] * norms[1]);
        let overlap = bra.iter().zip(&ket).map(|(bra, ket)| bra.conjugate() * *ket).sum::<T>() * weight;
        // The real part of each, and over complex orbitals the imaginary part.
        let parts = [bra, ket].map(|vector| vector.into_iter().map(T::re_and_im).unzip::<_, _, Vec<_>, Vec<_>>());
        let [(bra, bra_im), (ket, ket_im)] = parts;
        let imaginary = |list: Vec<Option<f64>>| list.into_iter().collect::<Option<Vec<f64>>>();
        let imaginary = [bra_im, ket_im].map(imaginary);
        let product = |bra, ket, weight| Product { bra, ket, weight };
        let products = match &imaginary {
            [Some(bra_im), Some(ket_im)] => [
                vec![product(&bra, &ket, weight), product(bra_im, ket_im, weight)],
                vec![product(&bra, ket_im, weight), product(bra_im, &ket, -weight)],
            ],
            _ => [vec![product(&bra, &ket, weight)], Vec::new()],
        };
        let of = |electrons| -> Result<Array2<T>, DensityError> {
            Ok(square(space.orbitals(), joined(space, electrons, products.each_ref().map(Vec::as_slice), false)?))
        };
        Ok(OneBody { alpha: of([1, 0])?, beta: of([0, 1])?, overlap })
    }
}

impl OneBody {
    /// γ^α − γ^β, the spin density, n × n.
    pub fn spin(&self) -> Array2<f64> {
        &self.alpha - &self.beta
    }
}

impl<T: OrbitalNumber> TwoBody<T> {
    /// Γ of a state, or averaged over several. `vectors` is k × dimension: each row is a state in the order of the space.
    ///
    /// # Errors
    /// No vectors, a vector of another length, a norm of 0; too little memory.
    pub fn new(space: &Space, vectors: &ArrayRef2<T>) -> Result<TwoBody<T>, DensityError> {
        let n = space.orbitals();
        let parts = T::split(vectors);
        let [real, imaginary] = products_of_parts(space, vectors, &parts)?;
        let bytes = 2 * (n as u64).pow(4) * size_of::<T>() as u64;
        Device::cpu().check_memory(&format!("two-body density matrices of {n} orbitals"), bytes)?;
        let mut values = vec![T::default(); n.pow(4)];
        let both: Vec<T> = joined(space, [1, 1], [&real, &imaginary], true)?;
        values.par_chunks_mut(n.max(1)).enumerate().for_each(|(pqr, values)| {
            let (p, q, r) = (pqr / (n * n), pqr / n % n, pqr % n);
            for (s, value) in values.iter_mut().enumerate() {
                *value = both[(p * n + r) * n * n + q * n + s] + both[(r * n + p) * n * n + s * n + q];
            }
        });
        drop(both);
        for electrons in [[2, 0], [0, 2]] {
            add_same_spin(&joined(space, electrons, [&real, &imaginary], true)?, n, &mut values);
        }
        Ok(TwoBody { values: four_indices(n, values) })
    }

    /// Its array of density.npz, by name.
    pub fn arrays(&self) -> Vec<(&'static str, &Array4<T>)> {
        vec![("gamma_two", &self.values)]
    }

    /// Spatial orbitals.
    pub fn orbitals(&self) -> usize {
        self.values.dim().0
    }

    /// E_core + Σ h_pq γ_pq + ½ Σ (pq|rs) Γ_pqrs, the total energy of the state that the matrices are of.
    pub fn energy(&self, one: &OneBody<T>, integrals: &Integrals<T>) -> Result<f64, DensityError> {
        let n = one.orbitals();
        for (what, found) in [("the set of integrals", integrals.orbitals), ("the two-body matrix", self.orbitals())] {
            if found != n {
                return Err(DensityError::Orbitals { what, found, expected: n });
            }
        }
        let own = integrals.of_spin(Spin::Up);
        let single: f64 = one.total().indexed_iter().map(|((p, q), value)| (own.one(p, q) * *value).real()).sum();
        let row = |pq: usize| -> f64 {
            let (p, q) = (pq / n, pq % n);
            let values = self.values.slice(s![p, q, .., ..]);
            values.indexed_iter().map(|((r, s), value)| (own.two(p, q, r, s) * *value).real()).sum()
        };
        let double: Vec<f64> = (0..n * n).into_par_iter().map(row).collect();
        Ok(integrals.core * one.overlap.real() + single + 0.5 * double.iter().sum::<f64>())
    }
}

/// Γ or γ of electrons that leave, G_xy = ⟨A_x† A_y⟩, from the products of real and of imaginary parts: Re G = G(a, a) + G(b, b) and
/// Im G = G(a, b) − G(b, a) of a state a + i b. Bras equal kets where `symmetric` says so.
fn joined<T: OrbitalNumber>(
    space: &Space,
    electrons: [usize; 2],
    [real, imaginary]: [&[Product<'_>]; 2],
    symmetric: bool,
) -> Result<Vec<T>, DensityError> {
    let re = gram(space, electrons, real, symmetric)?;
    if imaginary.is_empty() {
        return Ok(re.into_iter().map(|re| T::join(re, 0.0)).collect());
    }
    let im = gram(space, electrons, imaginary, false)?;
    Ok(re.into_iter().zip(im).map(|(re, im)| T::join(re, im)).collect())
}

/// The products of real vectors that the real and the imaginary part of an average are made of, with equal weights that add up to 1. `parts`
/// are the real parts of all states, and over complex orbitals their imaginary parts.
fn products_of_parts<'a, T: OrbitalNumber>(
    space: &Space,
    vectors: &ArrayRef2<T>,
    parts: &'a [Array2<f64>],
) -> Result<[Vec<Product<'a>>; 2], DensityError> {
    let whole = vectors.as_standard_layout();
    let norms = norms(space, &rows(&whole))?;
    let lists: Vec<Vec<&[f64]>> = parts.iter().map(|part| part.rows().into_iter().map(row_slice).collect()).collect();
    let count = lists[0].len();
    let (mut real, mut imaginary) = (Vec::new(), Vec::new());
    for (state, norm) in norms.iter().enumerate() {
        let weight = 1.0 / (norm * norm * count as f64);
        real.extend(lists.iter().map(|list| Product { bra: list[state], ket: list[state], weight }));
        if let [re, im] = &lists[..] {
            imaginary.push(Product { bra: re[state], ket: im[state], weight });
            imaginary.push(Product { bra: im[state], ket: re[state], weight: -weight });
        }
    }
    Ok([real, imaginary])
}

/// A row of a matrix in standard layout.
fn row_slice(row: ArrayView1<'_, f64>) -> &[f64] {
    row.to_slice().unwrap_or_default()
}

/// Γ_pqrs += ⟨a†_p a†_r a_s a_q⟩ of electrons of one spin, from the Gram matrix of two that leave.
fn add_same_spin<T: OrbitalNumber>(same: &[T], n: usize, values: &mut [T]) {
    let pairs = n * n.saturating_sub(1) / 2;
    values.par_chunks_mut(n.max(1)).enumerate().for_each(|(pqr, values)| {
        let (p, q, r) = (pqr / (n * n), pqr / n % n, pqr % n);
        let Some((row, left)) = ordered(r, p) else { return };
        for (s, value) in values.iter_mut().enumerate() {
            if let Some((column, right)) = ordered(s, q) {
                *value += same[row * pairs + column] * (left * right);
            }
        }
    });
}

/// An n × n × n × n array of its elements.
fn four_indices<T>(n: usize, values: Vec<T>) -> Array4<T> {
    Array4::from_shape_vec([n; 4], values).unwrap_or_else(|_| unreachable!("it was allocated for these orbitals"))
}

/// Label of a_a a_b and its sign against that of the ordered pair; none where a = b.
fn ordered(a: usize, b: usize) -> Option<(usize, f64)> {
    match a.cmp(&b) {
        std::cmp::Ordering::Less => Some((pair_label(a, b), 1.0)),
        std::cmp::Ordering::Greater => Some((pair_label(b, a), -1.0)),
        std::cmp::Ordering::Equal => None,
    }
}

/// The rows of a matrix in standard layout, as slices.
pub(super) fn rows<'a, T>(matrix: &'a CowArray<'_, T, Ix2>) -> Vec<&'a [T]> {
    let (values, width) = (matrix.as_slice().unwrap_or_default(), matrix.ncols());
    (0..matrix.nrows()).map(|row| &values[row * width..(row + 1) * width]).collect()
}

/// An n × n matrix of its rows one after the other.
fn square<T>(n: usize, values: Vec<T>) -> Array2<T> {
    Array2::from_shape_vec((n, n), values).unwrap_or_else(|_| unreachable!("one electron leaves n orbitals in n ways"))
}

/// Equal weights that add up to 1, and make up for norms that are not 1.
fn average<'a>(space: &Space, vectors: &[&'a [f64]]) -> Result<Vec<Product<'a>>, DensityError> {
    let norms = norms(space, vectors)?;
    let product = |(vector, norm): (&&'a [f64], f64)| Product {
        bra: vector,
        ket: vector,
        weight: 1.0 / (norm * norm * vectors.len() as f64),
    };
    Ok(vectors.iter().zip(norms).map(product).collect())
}

/// Norms of vectors, all of which are states of the space.
pub(super) fn norms<T: OrbitalNumber>(space: &Space, vectors: &[&[T]]) -> Result<Vec<f64>, DensityError> {
    if vectors.is_empty() {
        return Err(DensityError::NoVectors);
    }
    let norm = |(vector, values): (usize, &&[T])| {
        if values.len() as u64 != space.len() {
            return Err(DensityError::Length { vector, found: values.len(), expected: space.len() });
        }
        let norm = values.iter().map(|value| value.size() * value.size()).sum::<f64>().sqrt();
        if norm > 0.0 && norm.is_finite() { Ok(norm) } else { Err(DensityError::Norm { vector, norm }) }
    };
    vectors.iter().enumerate().map(norm).collect()
}
