//! ⟨S²⟩ of configuration-interaction vectors, and the spins of a level.
//!
//! In: a space, vectors in it. Out: ⟨S²⟩ = Sz (Sz + 1) + ⟨S₋S₊⟩, exact in every space. With S₊ = Σ_q a†_qα a_qβ
//!
//! S₋S₊ = n_β − Σ_pq a†_qα a_pα a†_pβ a_qβ:
//!
//! p = q counts the doubly occupied orbitals; p ≠ q moves an α electron from p to q and a β electron from q to p, which
//! requires p and q singly occupied, so the work grows as (singly occupied orbitals)² per row. S₊ leads out of the space,
//! but S₋S₊ has an expectation value within it: the part outside is orthogonal to the state.
//!
//! A full space, or one of all determinants up to a level from a closed shell, has eigenstates of definite spin. A space
//! that lacks some determinants of a configuration has spin-contaminated states, and a level of several spins has vectors
//! that mix them ([`level_spins`]).

use super::density::{DensityError, norms, rows};
use super::slater_condon::is_odd;
use super::space::Space;
use super::strings::occupied;
use eigenforge_runtime::solvers::symmetric_eigen;
use ndarray::ArrayRef2;
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

    /// A warning, if the state does not have definite spin.
    pub fn warning(&self) -> Option<String> {
        (self.deviation.abs() > PURE).then(|| {
            let StateSpin { square, deviation, .. } = self;
            format!(
                "<S²> = {square:.6} is off by {deviation:.1e} from 2S + 1 = {}: the space lacks determinants that this \
                 spin needs, or the vector mixes states of nearly one energy",
                self.multiplicity()
            )
        })
    }
}

/// ⟨S²⟩ of each row of `vectors`, k × dimension.
///
/// # Errors
/// No vectors, a vector of another length, a norm of 0.
pub fn spins(space: &Space, vectors: &ArrayRef2<f64>) -> Result<Vec<StateSpin>, DensityError> {
    let vectors = vectors.as_standard_layout();
    let squares = squares(space, &rows(&vectors), |k| k..k + 1)?;
    Ok(squares.into_iter().map(|square| StateSpin::new(square, space)).collect())
}

/// The spins of a level: eigenvalues, ascending, of S² in the span of the rows of `vectors` (k × dimension, orthonormal),
/// independent of the choice of basis.
///
/// # Errors
/// No vectors, a vector of another length, a norm of 0.
pub fn level_spins(space: &Space, vectors: &ArrayRef2<f64>) -> Result<Vec<StateSpin>, DensityError> {
    let count = vectors.nrows();
    let vectors = vectors.as_standard_layout();
    let squares = squares(space, &rows(&vectors), |_| 0..count)?;
    let (values, _) = symmetric_eigen(count, &squares)?;
    Ok(values.into_iter().map(|square| StateSpin::new(square, space)).collect())
}

/// ⟨k|S²|l⟩ for each vector k and all l in `partners(k)`, one row after another.
fn squares(
    space: &Space,
    vectors: &[&[f64]],
    partners: impl Fn(usize) -> std::ops::Range<usize> + Sync,
) -> Result<Vec<f64>, DensityError> {
    let norms = norms(space, vectors)?;
    let pairs: Vec<(usize, usize)> = (0..vectors.len()).flat_map(|k| partners(k).map(move |l| (k, l))).collect();
    let rows = space.len() as usize;
    let parts: Vec<Vec<f64>> = (0..rows.div_ceil(CHUNK))
        .into_par_iter()
        .map(|chunk| {
            let (mut sums, mut images) = (vec![0.0; pairs.len()], vec![0.0; vectors.len()]);
            for row in chunk * CHUNK..((chunk + 1) * CHUNK).min(rows) {
                images.fill(0.0);
                raised_and_lowered(space, row as u64, |column, value| {
                    for (image, vector) in images.iter_mut().zip(vectors) {
                        *image += value * vector[column as usize];
                    }
                });
                for (sum, (k, l)) in sums.iter_mut().zip(&pairs) {
                    *sum += vectors[*k][row] * images[*l];
                }
            }
            sums
        })
        .collect();
    let sz = (space.alpha().electrons() as f64 - space.beta().electrons() as f64) / 2.0;
    let total = |(at, (k, l)): (usize, &(usize, usize))| {
        let sum = parts.iter().map(|part| part[at]).sum::<f64>() / (norms[*k] * norms[*l]);
        if k == l { sz * (sz + 1.0) + sum } else { sum }
    };
    Ok(pairs.iter().enumerate().map(total).collect())
}

/// Calls `found` with column and value of each element of S₋S₊ in a row.
fn raised_and_lowered(space: &Space, row: u64, mut found: impl FnMut(u64, f64)) {
    let (up, down) = space.determinant(row);
    found(row, f64::from((down & !up).count_ones()));
    for p in occupied(up & !down) {
        for q in occupied(down & !up) {
            let moved = 1 << p | 1 << q;
            if let Some(column) = space.row(up ^ moved, down ^ moved) {
                let odd = is_odd(up, p, q) != is_odd(down, q, p);
                found(column, if odd { 1.0 } else { -1.0 });
            }
        }
    }
}
