//! density.npz: density matrices and natural occupations for use elsewhere.
//!
//! In: γ, and if wanted Γ and natural orbitals. Out: an uncompressed .npz (NumPy: `numpy.load("density.npz")`) of
//!
//! * `gamma_alpha`, `gamma_beta`, f64 \[n, n\]: \[p, q\] is ⟨a†_pσ a_qσ⟩;
//! * `gamma_two`, f64 \[n, n, n, n\]: \[p, q, r, s\] is Σ_στ ⟨a†_pσ a†_rτ a_sτ a_qσ⟩, the index order of (pq|rs), so
//!   that E = E_core + Σ h\[p, q\] γ\[p, q\] + ½ Σ (pq|rs) Γ\[p, q, r, s\];
//! * `occupations`, f64 \[n\], descending, and `natural_orbitals`, f64 \[n, n\], row k the natural orbital of
//!   `occupations[k]` in the orbitals of γ.
//!
//! Orbitals count from 0 in the order of the integrals.

use super::{DensityError, OneBody, TwoBody};
use crate::ci::natural::NaturalOrbitals;
use crate::files::{ReportError, publish};
use ndarray::{Array, Array1, Array2, Array4, Dimension};
use ndarray_npy::NpzWriter;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// Writes `folder`/density.npz.
///
/// # Errors
/// Matrices of different numbers of orbitals; a folder that cannot be written.
pub fn write_densities(
    folder: &Path,
    one: &OneBody,
    two: Option<&TwoBody>,
    natural: Option<&NaturalOrbitals>,
) -> Result<PathBuf, DensityError> {
    let n = one.orbitals;
    let alpha: Array2<f64> = array("gamma_alpha", &one.alpha, [n, n])?;
    let beta: Array2<f64> = array("gamma_beta", &one.beta, [n, n])?;
    let two: Option<Array4<f64>> = two.map(|two| array("gamma_two", &two.values, [n, n, n, n])).transpose()?;
    let natural = natural.map(|natural| -> Result<(Array1<f64>, Array2<f64>), DensityError> {
        let orbitals = natural.orbitals.concat();
        Ok((array("occupations", &natural.occupations, [n])?, array("natural_orbitals", &orbitals, [n, n])?))
    });
    let natural = natural.transpose()?;
    let path = folder.join("density.npz");
    let published = publish(&path, |file| {
        let mut npz = NpzWriter::new(BufWriter::new(file));
        let mut write = || {
            npz.add_array("gamma_alpha", &alpha)?;
            npz.add_array("gamma_beta", &beta)?;
            if let Some(two) = &two {
                npz.add_array("gamma_two", two)?;
            }
            if let Some((occupations, orbitals)) = &natural {
                npz.add_array("occupations", occupations)?;
                npz.add_array("natural_orbitals", orbitals)?;
            }
            Ok(())
        };
        write()
            .and_then(|()| npz.finish().map(drop))
            .map_err(|source| ReportError::Arrays { file: path.clone(), source })
    });
    Ok(published?)
}

/// The values as an array, if there are as many as it has elements.
fn array<const D: usize, S: Dimension>(
    what: &'static str,
    values: &[f64],
    shape: [usize; D],
) -> Result<Array<f64, S>, DensityError>
where
    [usize; D]: ndarray::IntoDimension<Dim = S>,
{
    let (found, expected) = (values.len(), shape.iter().product());
    Array::from_shape_vec(shape, values.to_vec()).map_err(|_| DensityError::Elements { what, found, expected })
}
