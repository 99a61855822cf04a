//! Natural orbitals: the orbitals in which γ = γ^α + γ^β is diagonal, and their occupations (Löwdin 1955).
//!
//! In: γ of a state, optionally the orbitals' irreps. Out: occupations from 2 down to 0, their orbitals, and irreps. If γ
//! respects the irreps each is diagonalised separately, so that orbitals of equal occupation and different irreps, such
//! as π_x and π_y, are not mixed.

use super::density::{DensityError, OneBody};
use super::orbital_number::OrbitalNumber;
use ndarray::{Array1, Array2};

/// Allowed asymmetry of γ: it is symmetric, but may have been through a file.
const ROUNDING: f64 = 1e-10;

/// Elements of γ between irreps up to this are a solver's error and dropped: the error enters linearly, a residual of
/// 1e-7 giving 1e-5 if states of another irrep are 0.01 Hartree away; occupations change by at most 1e-5.
const MIXING: f64 = 1e-5;

/// Orbitals that diagonalise γ.
#[derive(Clone, Debug, PartialEq)]
pub struct NaturalOrbitals<T = f64> {
    /// Electrons in each of the n orbitals, descending.
    pub occupations: Array1<f64>,
    /// Coefficients in the orbitals of γ, n × n: row k is the natural orbital of `occupations[k]`. The rows are orthonormal, the
    /// largest coefficient of each is positive.
    pub orbitals: Array2<T>,
    /// Irrep of each in Molpro's numbering; empty if none were given or γ mixes them.
    pub irreps: Vec<u8>,
}

/// Diagonalises γ of a state or an average; `irreps` of its orbitals, or none.
pub fn natural_orbitals<T: OrbitalNumber>(
    density: &OneBody<T>,
    irreps: &[u8],
) -> Result<NaturalOrbitals<T>, DensityError> {
    let n = density.orbitals();
    if !irreps.is_empty() && irreps.len() != n {
        return Err(DensityError::Orbitals { what: "ORBSYM", found: irreps.len(), expected: n });
    }
    let gamma = density.total();
    let pairs = || (0..n).flat_map(|p| (0..p).map(move |q| (p, q)));
    let largest = pairs().map(|(p, q)| (gamma[[p, q]] - gamma[[q, p]].conjugate()).size()).fold(0.0, f64::max);
    if largest > ROUNDING {
        return Err(DensityError::Transition { largest });
    }
    let mixed = |(p, q): (usize, usize)| irreps[p] != irreps[q] && gamma[[p, q]].size() > MIXING;
    let kept = !irreps.is_empty() && !pairs().any(mixed);
    let irrep_of = |p: usize| if kept { irreps[p] } else { 0 };
    let mut found: Vec<(f64, Array1<T>, u8)> = Vec::with_capacity(n);
    for irrep in 0..=8 {
        let members: Vec<usize> = (0..n).filter(|p| irrep_of(*p) == irrep).collect();
        let block: Vec<T> = members.iter().flat_map(|p| members.iter().map(|q| gamma[[*p, *q]])).collect();
        if members.is_empty() {
            continue;
        }
        let (values, vectors) = T::eigen(members.len(), &block)?;
        for (value, vector) in values.into_iter().zip(vectors) {
            let mut orbital = Array1::from_elem(n, T::default());
            members.iter().zip(&vector).for_each(|(p, coefficient)| orbital[*p] = *coefficient);
            found.push((value, with_phase(orbital), irrep));
        }
    }
    found.sort_by(|one, other| other.0.total_cmp(&one.0));
    let mut orbitals = Array2::from_elem((n, n), T::default());
    orbitals.rows_mut().into_iter().zip(&found).for_each(|(mut row, (_, orbital, _))| row.assign(orbital));
    Ok(NaturalOrbitals {
        occupations: found.iter().map(|(value, ..)| *value).collect(),
        irreps: if kept { found.iter().map(|(.., irrep)| *irrep).collect() } else { Vec::new() },
        orbitals,
    })
}

/// Sign, or over complex orbitals phase, chosen so that the first of the largest coefficients is positive.
fn with_phase<T: OrbitalNumber>(mut orbital: Array1<T>) -> Array1<T> {
    // Coefficients equal by symmetry differ in their last digits; the sign must not depend on those.
    let largest = orbital.iter().fold(0.0, |largest: f64, value| largest.max(value.size()));
    let first = orbital.iter().find(|value| value.size() > (1.0 - 1e-6) * largest).copied();
    if let Some(first) = first.filter(|first| *first != T::from(first.size())) {
        let phase = first.conjugate() * (1.0 / first.size());
        orbital.mapv_inplace(|value| value * phase);
    }
    orbital
}
