//! ⟨S²⟩ of configuration-interaction vectors, and the spins of a level.
//!
//! In: a space, vectors in it. Out: ⟨S²⟩ = Sz (Sz + 1) + ⟨S₋S₊⟩, exact in every space. With S₊ = Σ_q a†_qα a_qβ
//!
//! S₋S₊ = n_β − Σ_pq a†_qα a_pα a†_pβ a_qβ:
//!
//! p = q counts the doubly occupied orbitals; p ≠ q moves an α electron from p to q and a β electron from q to p, which
//! requires p and q singly occupied, so the work grows as (singly occupied orbitals)² per row. S₊ leads out of the space,
//! but S₋S₊ has an expectation value within it: the part outside is orthogonal to the state. Of all determinants S₊ψ itself is made (`raised`),
//! which takes about a quarter of the work.
//!
//! A space has whole spins if S₋S₊ does not lead out of it: a full space, or one of all determinants up to a level from a closed shell.
//! H, which conserves the spin, then has a basis of each level in which every state has a definite one ([`SharpLevel`]), whatever
//! mixture a solver returns. In a space that lacks some determinants of a configuration eigenstates are spin-contaminated.

use super::density::{DensityError, norms, rows};
use super::orbital_number::OrbitalNumber;
use super::raised;
use super::slater_condon::is_odd;
use super::space::Space;
use super::strings::occupied;
use ndarray::{Array2, ArrayRef2};
use rayon::prelude::*;

/// Rows per task; fixed, so that sums do not depend on the number of threads.
const CHUNK: usize = 4096;

/// Deviations up to this are compatible with definite spin. A vector of residual r contains states at distance g with a
/// weight of up to (r/g)²: r = 1e-8 and g = 1e-5 Hartree make 1e-6, times the difference of two S (S + 1), which is 2 to
/// 12.
pub(super) const PURE: f64 = 1e-5;

/// Total spin of a state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StateSpin {
    /// ⟨S²⟩.
    pub square: f64,
    /// 2S of the nearest spin possible for this number of electrons.
    pub two_s: usize,
    /// ⟨S²⟩ − S (S + 1) of that spin.
    pub deviation: f64,
}

impl StateSpin {
    fn new(square: f64, space: &Space) -> StateSpin {
        let (up, down) = (space.alpha().electrons(), space.beta().electrons());
        // 4 S (S + 1) + 1 = (2S + 1)²; 2S is |2Sz| or larger by an even number.
        let lowest = up.abs_diff(down);
        let exact = (4.0 * square.max(0.0) + 1.0).sqrt() - 1.0;
        let raised = ((exact - lowest as f64) / 2.0).round().max(0.0) as usize;
        let two_s = lowest + 2 * raised.min(up.min(down));
        let s = two_s as f64 / 2.0;
        StateSpin { square, two_s, deviation: square - s * (s + 1.0) }
    }

    /// 2S + 1.
    pub fn multiplicity(&self) -> usize {
        self.two_s + 1
    }

    /// Whether it has definite spin.
    pub fn is_pure(&self) -> bool {
        self.deviation.abs() <= PURE
    }
}

/// The states of a level, each with a definite spin as far as the space has whole spins.
#[derive(Clone, Debug, PartialEq)]
pub struct SharpLevel<T = f64> {
    /// The eigenstates of S² within the level, one per row: an orthonormal basis.
    pub states: Array2<T>,
    /// Their spins, ascending.
    pub spins: Vec<StateSpin>,
    /// Whether S² leads out of the space nowhere.
    pub has_whole_spins: bool,
}

impl<T: OrbitalNumber> SharpLevel<T> {
    /// The level of the rows of `vectors` (k × dimension, orthonormal). It does not depend on the choice of basis.
    ///
    /// # Errors
    /// No vectors, a vector of another length, a norm of 0.
    pub fn new(space: &Space, vectors: Array2<T>) -> Result<SharpLevel<T>, DensityError> {
        let count = vectors.nrows();
        let (squares, has_whole_spins) = squares(space, &vectors, |_| 0..count)?;
        let (values, directions) = T::eigen(count, &squares)?;
        let spins = values.into_iter().map(|square| StateSpin::new(square, space)).collect();
        if count == 1 {
            return Ok(SharpLevel { states: vectors, spins, has_whole_spins });
        }
        let mut states = Array2::from_elem(vectors.dim(), T::default());
        for (mut state, direction) in states.rows_mut().into_iter().zip(&directions) {
            for (c, row) in direction.iter().zip(vectors.rows()) {
                state.iter_mut().zip(row).for_each(|(sum, value)| *sum += *c * *value);
            }
        }
        Ok(SharpLevel { states, spins, has_whole_spins })
    }

    /// 2S of each state, ascending; `None` where they have no definite spins.
    pub fn two_s(&self) -> Option<Vec<u32>> {
        let two_s = |spin: &StateSpin| spin.is_pure().then_some(spin.two_s as u32);
        self.spins.iter().map(two_s).collect()
    }

    /// A warning, if a state does not have definite spin; `complete` says whether all states of the level are known.
    pub fn warning(&self, state: usize, complete: bool) -> Option<String> {
        let spin = self.spins.get(state).filter(|spin| !spin.is_pure())?;
        let StateSpin { square, deviation, .. } = spin;
        let why = match (self.has_whole_spins, complete) {
            (false, _) => "the space lacks determinants that this spin needs",
            (true, false) => "not all states of its level are known",
            (true, true) => {
                "its vectors mix states of levels that are closer than their residuals, or a state of the level was missed: lower \
                 the tolerance, or ask for more states"
            }
        };
        Some(format!("<S²> = {square:.6} is off by {deviation:.1e} from 2S + 1 = {}: {why}", spin.multiplicity()))
    }
}

/// ⟨S²⟩ of each row of `vectors`, k × dimension.
///
/// # Errors
/// No vectors, a vector of another length, a norm of 0.
pub fn spins<T: OrbitalNumber>(space: &Space, vectors: &ArrayRef2<T>) -> Result<Vec<StateSpin>, DensityError> {
    let (squares, _) = squares(space, vectors, |k| k..k + 1)?;
    Ok(squares.into_iter().map(|square| StateSpin::new(square.real(), space)).collect())
}

/// ⟨k|S²|l⟩ for each vector k and all l in `partners(k)`, one row after another; whether S² leads out of the space nowhere.
fn squares<T: OrbitalNumber>(
    space: &Space,
    vectors: &ArrayRef2<T>,
    partners: impl Fn(usize) -> std::ops::Range<usize> + Sync,
) -> Result<(Vec<T>, bool), DensityError> {
    let vectors = vectors.as_standard_layout();
    let vectors = rows(&vectors);
    let norms = norms(space, &vectors)?;
    let pairs: Vec<(usize, usize)> = (0..vectors.len()).flat_map(|k| partners(k).map(move |l| (k, l))).collect();
    let dimension = space.len() as usize;
    if raised::is_grid(space) {
        let sums = raised::products(space, &vectors, &pairs);
        return Ok((completed(space, &norms, &pairs, &sums), true));
    }
    let parts: Vec<(Vec<T>, bool)> = (0..dimension.div_ceil(CHUNK))
        .into_par_iter()
        .map(|chunk| {
            let zero = T::default();
            let (mut sums, mut images, mut whole) = (vec![zero; pairs.len()], vec![zero; vectors.len()], true);
            for row in chunk * CHUNK..((chunk + 1) * CHUNK).min(dimension) {
                images.fill(zero);
                whole &= raised_and_lowered(space, row as u64, |column, value| {
                    for (image, vector) in images.iter_mut().zip(&vectors) {
                        *image += vector[column as usize] * value;
                    }
                });
                for (sum, (k, l)) in sums.iter_mut().zip(&pairs) {
                    *sum += vectors[*k][row].conjugate() * images[*l];
                }
            }
            (sums, whole)
        })
        .collect();
    let sums: Vec<T> = (0..pairs.len()).map(|pair| parts.iter().map(|(sums, _)| sums[pair]).sum()).collect();
    Ok((completed(space, &norms, &pairs, &sums), parts.iter().all(|(_, whole)| *whole)))
}

/// ⟨k|S²|l⟩ of vectors of length 1, from ⟨k|S₋S₊|l⟩ of vectors as they are.
fn completed<T: OrbitalNumber>(space: &Space, norms: &[f64], pairs: &[(usize, usize)], sums: &[T]) -> Vec<T> {
    let sz = (space.alpha().electrons() as f64 - space.beta().electrons() as f64) / 2.0;
    let total = |((k, l), sum): (&(usize, usize), &T)| {
        let sum = *sum * (1.0 / (norms[*k] * norms[*l]));
        if k == l { T::from(sz * (sz + 1.0)) + sum } else { sum }
    };
    pairs.iter().zip(sums).map(total).collect()
}

/// Calls `found` with column and value of each element of S₋S₊ in a row; returns whether the space has all of them.
fn raised_and_lowered(space: &Space, row: u64, mut found: impl FnMut(u64, f64)) -> bool {
    let (up, down) = space.determinant(row);
    let mut has_all = true;
    found(row, f64::from((down & !up).count_ones()));
    for p in occupied(up & !down) {
        for q in occupied(down & !up) {
            let moved = 1 << p | 1 << q;
            match space.row(up ^ moved, down ^ moved) {
                Some(column) => {
                    let odd = is_odd(up, p, q) != is_odd(down, q, p);
                    found(column, if odd { 1.0 } else { -1.0 });
                }
                None => has_all = false,
            }
        }
    }
    has_all
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_complex::Complex64;

    /// S₊ψ of whole rows gives the elements of S₋S₊ between determinants, for every number of electrons of each spin.
    #[test]
    fn raised_vectors_have_the_products_of_elements_between_determinants() {
        let mut seed = 1u64;
        let mut number = || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        };
        for (orbitals, up, down) in
            [(4, 2, 2), (5, 3, 1), (5, 1, 4), (4, 4, 1), (3, 0, 2), (3, 2, 0), (1, 1, 1), (2, 0, 0), (6, 3, 3)]
        {
            let space = Space::full(orbitals, up, down).unwrap();
            assert!(raised::is_grid(&space));
            let n = space.len() as usize;
            let vectors: Vec<Vec<Complex64>> =
                (0..2).map(|_| (0..n).map(|_| Complex64::new(number(), number())).collect()).collect();
            let pairs = [(0, 0), (0, 1), (1, 0), (1, 1)];
            let found = raised::products(&space, &vectors.iter().map(Vec::as_slice).collect::<Vec<_>>(), &pairs);
            for ((k, l), found) in pairs.into_iter().zip(found) {
                let mut expected = Complex64::ZERO;
                for row in 0..n {
                    let whole = raised_and_lowered(&space, row as u64, |column, value| {
                        expected += vectors[k][row].conj() * vectors[l][column as usize] * value;
                    });
                    assert!(whole);
                }
                assert!((found - expected).norm() < 1e-12 * n as f64, "{orbitals} {up} {down}: {found} {expected}");
            }
        }
    }
}
