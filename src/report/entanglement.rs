//! The entanglement of the levels of a run: density matrices of sets of sites.
//!
//! entanglement.npz has the matrices themselves. Of set s, counted from 0 as in the file, `sites_s` u64 \[n\]; in level l
//!
//! * `rho_l_s`, f64 (complex128 if any element is complex) \[d, d\]: ⟨a| ρ |a'⟩ at \[a, a'\], the mean over the states of the level;
//! * `levels_l_s`, u64 \[d, n\]: the numbers of the local states of the n sites in the state a; electrons: 0 empty, 1 up, 2 down, 3 both.
//!
//! States of fermions are Π c†_i↑ Π c†_j↓ |0⟩ over the sites of the set, ascending.

use super::{ReportError, publish};
use ndarray::{Array1, Array2};
use ndarray_npy::NpzWriter;
use num_complex::Complex64;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// A density matrix for a file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LevelDensityMatrix {
    /// The number of the level, from 0.
    pub level: usize,
    /// The number of the set, from 0.
    pub set: usize,
    /// Its sites.
    pub sites: Vec<usize>,
    /// The local states of its sites, a row for each row of the matrix.
    pub levels: Array2<u64>,
    /// The matrix.
    pub elements: Array2<Complex64>,
}

/// Writes `folder`/entanglement.npz.
///
/// # Errors
/// A folder that cannot be written.
pub(crate) fn write_level_density_matrices(
    folder: &Path,
    matrices: &[LevelDensityMatrix],
) -> Result<PathBuf, ReportError> {
    let path = folder.join("entanglement.npz");
    publish(&path, |file| {
        let mut npz = NpzWriter::new(BufWriter::new(file));
        let mut write = || {
            let mut sets: Vec<usize> = Vec::new();
            matrices.iter().try_for_each(|LevelDensityMatrix { level, set, sites, levels, elements }| {
                if !sets.contains(set) {
                    sets.push(*set);
                    npz.add_array(
                        format!("sites_{set}"),
                        &sites.iter().map(|site| *site as u64).collect::<Array1<u64>>(),
                    )?;
                }
                npz.add_array(format!("levels_{level}_{set}"), levels)?;
                match elements.iter().any(|element| element.im != 0.0) {
                    true => npz.add_array(format!("rho_{level}_{set}"), elements),
                    false => npz.add_array(format!("rho_{level}_{set}"), &elements.mapv(|element| element.re)),
                }
            })
        };
        write()
            .and_then(|()| npz.finish().map(drop))
            .map_err(|source| ReportError::Arrays { file: path.clone(), source })
    })
}

/// The density matrix of a set of sites in a level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EntanglementRecord {
    /// The set.
    pub sites: Vec<usize>,
    /// The number of the level, from 0.
    pub level: usize,
    /// How many states of it were found: the matrix is the mean of theirs.
    pub states: usize,
    /// −tr ρ ln ρ.
    pub von_neumann: f64,
    /// −ln tr ρ².
    pub renyi_2: f64,
    /// The largest eigenvalues of ρ, descending.
    pub weights: Vec<f64>,
}

/// Eigenvalues that a line of the summary shows.
const SHOWN: usize = 4;

/// A line for each set and level.
pub(super) fn write_entanglement(records: &[EntanglementRecord], out: &mut String) -> std::fmt::Result {
    if records.is_empty() {
        return Ok(());
    }
    let set = |record: &EntanglementRecord| record.sites.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
    let width = records.iter().map(|record| set(record).len()).max().unwrap_or(0).max(5);
    writeln!(out, "  level   {:width$}      -tr rho ln rho      -ln tr rho^2   largest eigenvalues of rho", "sites")?;
    for record in records {
        let EntanglementRecord { level, von_neumann, renyi_2, .. } = record;
        let weights: Vec<String> = record.weights.iter().take(SHOWN).map(|weight| format!("{weight:.8}")).collect();
        let (set, weights) = (set(record), weights.join(" "));
        writeln!(out, "  {level:>5}   {set:width$}   {von_neumann:>17.10}   {renyi_2:>15.10}   {weights}")?;
    }
    writeln!(out)
}
