//! Which states of a left block stay, of complex ψ.
//!
//! In: ψ of a bond of a chain with an auxiliary site, whose left states come in pairs (u, iu). Out: the kept states, again in pairs, and ψ in
//! them. Rows of pairs that follow each other are complex numbers as they lie, so a sector is a complex matrix M = U S V†; its pairs are the
//! columns U and iU as real vectors, and ψ in them is U† M. The right block's states are real: those of the real matrix, by the
//! engine's truncation.
//!
//! Real right states span the real and the imaginary parts of the complex ones, so there may be twice as many, and left blocks hold m pairs.

use crate::block::blocks::{PairedSector, Side};
use crate::block::state::Isometry;
use crate::block::truncate::{Truncated, TruncationLimits, Wave, choose, normalised};
use crate::error::DmrgError;
use eigenforge_runtime::BackendError;
use faer::{Mat, c64};
use rayon::prelude::*;
use std::ops::Deref;

/// Weights of this size are known to a hundredth from the squares of a matrix.
const RESOLVED: f64 = 1e-14;

/// A sector of ψ as a complex matrix.
fn complex<B: Deref<Target = [f64]>>(wave: Wave<'_, B>, pair: &PairedSector) -> Mat<c64> {
    let at = |i: usize, j: usize| pair.offset + 2 * i + j * pair.rows;
    Mat::from_fn(pair.rows / 2, pair.columns, |i, j| c64::new(wave.data[at(i, j)], wave.data[at(i, j) + 1]))
}

/// A complex matrix with its rows in pairs (re, im).
fn row_pairs(matrix: &Mat<c64>) -> Mat<f64> {
    Mat::from_fn(2 * matrix.nrows(), matrix.ncols(), |i, j| {
        let value = matrix[(i / 2, j)];
        if i.is_multiple_of(2) { value.re } else { value.im }
    })
}

/// Its columns and i times them, as real vectors.
pub(super) fn column_pairs(matrix: &Mat<c64>) -> Mat<f64> {
    let turned = |j: usize| if j.is_multiple_of(2) { c64::new(1.0, 0.0) } else { c64::new(0.0, 1.0) };
    row_pairs(&Mat::from_fn(matrix.nrows(), 2 * matrix.ncols(), |i, j| turned(j) * matrix[(i, j / 2)]))
}

/// Keeps the best pairs of states of the left block; limits count pairs.
///
/// # Errors
/// A number is not finite.
pub(super) fn truncate_pairs<B: Deref<Target = [f64]> + Sync>(
    wave: Wave<'_, B>,
    limits: TruncationLimits,
) -> Result<Truncated, DmrgError> {
    let sectors = &wave.layout.sectors;
    let decomposed = sectors
        .par_iter()
        .map(|pair| {
            let matrix = complex(wave, pair);
            let (rows, columns) = (matrix.nrows(), matrix.ncols());
            let fault = || BackendError::Decomposition { rows, columns };
            if limits.discarded >= RESOLVED && rows <= columns {
                // U and S² of M M†, a matrix of as many rows.
                let square = &matrix * matrix.adjoint();
                let found = square.self_adjoint_eigen(faer::Side::Lower).map_err(|_| fault())?;
                let values = found.S().column_vector();
                let weights = (0..rows).rev().map(|k| values[k].re.max(0.0)).collect::<Vec<f64>>();
                let states = Mat::from_fn(rows, rows, |i, j| found.U()[(i, rows - 1 - j)]);
                return Ok((matrix, states, weights));
            }
            let svd = matrix.thin_svd().map_err(|_| fault())?;
            let weights = svd.S().column_vector().iter().map(|s| s.re * s.re).collect::<Vec<f64>>();
            Ok((matrix, svd.U().to_owned(), weights))
        })
        .collect::<Result<Vec<_>, DmrgError>>()?;
    let lists: Vec<&[f64]> = decomposed.iter().map(|(.., weights)| weights.as_slice()).collect();
    let counts = choose(&lists, limits);
    let own = wave.sectors_of(Side::Left);
    let (mut matrices, mut spectrum) = (vec![None; own.len()], vec![Vec::new(); own.len()]);
    let (mut centre, mut weights, mut discarded) = (Vec::with_capacity(counts.len()), Vec::<f64>::new(), 0.0);
    for ((pair, (matrix, states, list)), count) in sectors.iter().zip(&decomposed).zip(counts) {
        weights.extend(&list[..count]);
        discarded += list[count..].iter().sum::<f64>();
        let kept = states.get(.., ..count).to_owned();
        centre.push((count > 0).then(|| row_pairs(&(kept.adjoint() * matrix))));
        matrices[pair.left] = Some(column_pairs(&kept));
        spectrum[pair.left] = list.clone();
    }
    weights.sort_by(|a, b| b.total_cmp(a));
    let (centre, _) = normalised(centre);
    Ok(Truncated { kept: Isometry::new(own, &matrices), centre, discarded, weights, spectrum })
}
