//! density.npz: density matrices and natural occupations for use elsewhere.
//!
//! In: γ, and if wanted Γ, natural orbitals and transitions. Out: an uncompressed .npz (NumPy: `numpy.load("density.npz")`) of
//!
//! * `gamma_alpha`, `gamma_beta`, f64 \[n, n\]: \[p, q\] is ⟨a†_pσ a_qσ⟩;
//! * `gamma_two`, f64 \[n, n, n, n\]: \[p, q, r, s\] is Σ_στ ⟨a†_pσ a†_rτ a_sτ a_qσ⟩, the index order of (pq|rs), so
//!   that E = E_core + Σ h\[p, q\] γ\[p, q\] + ½ Σ (pq|rs) Γ\[p, q, r, s\];
//! * of unrestricted orbitals in its place `gamma_two_alpha`, `gamma_two_beta`, `gamma_two_mixed`, f64 \[n, n, n, n\]: \[p, q, r, s\] is
//!   ⟨a†_pσ a†_rτ a_sτ a_qσ⟩ of two α, of two β, and of an α (p, q) and a β electron (r, s);
//! * `transition_alpha`, `transition_beta`, f64 \[k, k, n, n\]: \[i, j, p, q\] is ⟨i| a†_pσ a_qσ |j⟩ of k states;
//! * `occupations`, f64 \[n\], descending, and `natural_orbitals`, f64 \[n, n\], row k the natural orbital of
//!   `occupations[k]` in the orbitals of γ.
//!
//! Over complex orbitals all but `occupations` are complex128, and bras are conjugated: `gamma_alpha`\[q, p\] = `gamma_alpha`\[p, q\]*.
//! Unrestricted orbitals have no `occupations` and `natural_orbitals`: the sum γ^α + γ^β needs the overlap of both sets.
//!
//! Orbitals count from 0 in the order of the integrals.

use super::{DensityError, OneBody};
use crate::natural::NaturalOrbitals;
use crate::orbital_number::OrbitalNumber;
use eigenforge_core::files::{ReportError, publish};
use ndarray::{Array4, Axis};
use ndarray_npy::{NpzWriter, WritableElement};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// Writes `folder`/density.npz; `two` are [`TwoBody::arrays`](super::TwoBody::arrays) or
/// [`SpinTwoBody::arrays`](super::SpinTwoBody::arrays), or nothing.
///
/// # Errors
/// Matrices of different numbers of orbitals; a folder that cannot be written.
pub fn write_densities<T: OrbitalNumber + WritableElement>(
    folder: &Path,
    one: &OneBody<T>,
    two: &[(&'static str, &Array4<T>)],
    natural: Option<&NaturalOrbitals<T>>,
    transitions: Option<&[Array4<T>; 2]>,
) -> Result<PathBuf, DensityError> {
    let expected = one.orbitals();
    let others = [
        ("the two-body matrix", two.first().map(|(_, values)| values.len_of(Axis(0)))),
        ("the list of natural orbitals", natural.map(|natural| natural.occupations.len())),
        ("the transitions", transitions.map(|[alpha, _]| alpha.len_of(Axis(3)))),
    ];
    for (what, found) in others {
        if let Some(found) = found.filter(|found| *found != expected) {
            return Err(DensityError::Orbitals { what, found, expected });
        }
    }
    let path = folder.join("density.npz");
    let published = publish(&path, |file| {
        let mut npz = NpzWriter::new(BufWriter::new(file));
        let mut write = || {
            npz.add_array("gamma_alpha", &one.alpha)?;
            npz.add_array("gamma_beta", &one.beta)?;
            for (name, values) in two {
                npz.add_array(*name, *values)?;
            }
            if let Some([alpha, beta]) = transitions {
                npz.add_array("transition_alpha", alpha)?;
                npz.add_array("transition_beta", beta)?;
            }
            if let Some(natural) = natural {
                npz.add_array("occupations", &natural.occupations)?;
                npz.add_array("natural_orbitals", &natural.orbitals)?;
            }
            Ok(())
        };
        write()
            .and_then(|()| npz.finish().map(drop))
            .map_err(|source| ReportError::Arrays { file: path.clone(), source })
    });
    Ok(published?)
}
