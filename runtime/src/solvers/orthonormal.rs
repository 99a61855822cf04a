//! New directions of a search, made orthonormal to its basis and to each other.
//!
//! Classical Gram–Schmidt against the basis, then whitening of the Gram matrix that remains, and both again; dependence shows as a small
//! eigenvalue of that matrix, relative to the lengths before (Stathopoulos and Wu 2002).

use super::algebra::Algebra;
use super::ritz::{NEARLY_DEPENDENT, symmetric_eigen};
use crate::device::Vector;
use crate::error::SolveError;
use crate::scalar::Scalar;
use faer::Mat;

type Matrix = Vec<Vec<f64>>;

/// Lists of inputs are padded to a multiple of this, with weight 0, so that few programs serve a basis of any size.
const LIST: usize = 4;

/// Makes the first `lengths.len()` of `new`, which have these lengths, orthonormal to the basis and to each other. Dependent
/// ones are dropped; returns how many remain.
pub(super) fn orthonormalise<T: Scalar>(
    algebra: &Algebra,
    basis: &[&Vector<T>],
    (new, scratch): (&mut [Vector<T>], &mut [Vector<T>]),
    lengths: &[f64],
) -> Result<usize, SolveError> {
    let mut lengths = lengths.to_vec();
    let padded = filled_up(basis);
    // In the second round a direction keeps its length, unless it was rounding.
    for least in [NEARLY_DEPENDENT, 0.5] {
        let places = &mut new[..lengths.len()];
        if !basis.is_empty() {
            let mut overlaps = algebra.gram(&padded, &places.iter().collect::<Vec<_>>())?;
            overlaps[basis.len()..].iter_mut().for_each(|row| row.fill(0.0));
            overlaps.iter_mut().flatten().for_each(|overlap| *overlap = -*overlap);
            algebra.combine(places, &padded, &overlaps, true)?;
        }
        let list: Vec<&Vector<T>> = places.iter().collect();
        let white = whitening(&algebra.gram(&list, &list)?, &lengths, least)?;
        let count = white.first().map_or(0, Vec::len);
        if count == 0 {
            return Ok(0);
        }
        algebra.combine(&mut scratch[..count], &list, &white, false)?;
        for (place, made) in new.iter_mut().zip(&mut scratch[..count]) {
            std::mem::swap(place, made);
        }
        lengths = vec![1.0; count];
    }
    Ok(lengths.len())
}

/// Pads a list of vectors with its last, and their coefficients with 0.
pub(super) fn fill_up<T: Scalar>(inputs: &mut Vec<&Vector<T>>, weights: &mut Matrix) {
    let (Some(last), Some(row)) = (inputs.last().copied(), weights.first()) else { return };
    let (count, zeros) = (inputs.len().next_multiple_of(LIST), vec![0.0; row.len()]);
    inputs.resize(count, last);
    weights.resize(count, zeros);
}

/// A list of vectors, padded with its last.
pub(super) fn filled_up<'v, T: Scalar>(vectors: &[&'v Vector<T>]) -> Vec<&'v Vector<T>> {
    let mut list = vectors.to_vec();
    fill_up(&mut list, &mut vec![vec![]; vectors.len()]);
    list
}

/// Coefficients that orthonormalise vectors with this Gram matrix. The vectors are scaled by these lengths; combinations
/// whose squared length is `least` or below are dropped.
fn whitening(gram: &Matrix, lengths: &[f64], least: f64) -> Result<Matrix, SolveError> {
    let n = lengths.len();
    let scale: Vec<f64> = lengths.iter().map(|length| if *length > 0.0 { length.recip() } else { 0.0 }).collect();
    let scaled = Mat::from_fn(n, n, |i, j| 0.5 * (gram[i][j] + gram[j][i]) * scale[i] * scale[j]);
    let (squares, directions) = symmetric_eigen(&scaled)?;
    let kept: Vec<usize> = (0..n).filter(|&j| squares[j] > least).collect();
    let column = |i: usize, j: usize| directions[(i, j)] * scale[i] / squares[j].sqrt();
    Ok((0..n).map(|i| kept.iter().map(|&j| column(i, j)).collect()).collect())
}
