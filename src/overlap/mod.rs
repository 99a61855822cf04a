//! Overlaps of the states of two runs: ⟨a_i|b_j⟩, and the fidelity of their levels.
//!
//! In: two vectors.npz of one basis, or two mps.npz of one chain, with the report.json of their runs where it stands beside them. Out: an [`OverlapRecord`]. Which vectors a
//! run has of a degenerate level is its solver's choice; what is not is tr(P_a P_b) of the projectors of two levels, Σ |⟨a_i|b_j⟩|² over their
//! states. The fidelity of levels is this over the larger number of states: 1 where both are the same subspace, of two single states
//! |⟨a|b⟩|² (R. Jozsa, J. Mod. Opt. 41, 2315 (1994)).
//!
//! | file | question it answers |
//! |---|---|
//! | `file` | which vectors, in which basis, are in a file? |
//! | `mod` | what are their overlaps? |

mod file;

use crate::report::{ComplexRecord, SCHEMA, energy_text};
use file::{RunSide, VectorFile};
use ndarray::Array2;
use num_complex::Complex64;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Why two files have no overlaps.
#[derive(Debug, thiserror::Error)]
pub enum OverlapError {
    /// A file that cannot be read, or is no vectors.npz.
    #[error("{} is not read: {why}; expected a vectors.npz or mps.npz of `eigenforge solve --vectors`, or its folder", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// Why.
        why: String,
    },
    /// Two bases.
    #[error("the files are not of one basis: {what} is {first} in {} and {second} in {}; give both runs the same", files[0].display(), files[1].display())]
    Basis {
        /// What is different.
        what: &'static str,
        /// In the first file.
        first: String,
        /// In the second.
        second: String,
        /// The files.
        files: [PathBuf; 2],
    },
}

eigenforge_core::errors_of_the_input!(OverlapError);

/// The overlaps of two levels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LevelFidelity {
    /// The numbers of the levels, from 0, in the first file and in the second.
    pub levels: [usize; 2],
    /// Their energies.
    pub energies: [f64; 2],
    /// How many of their states are in the files.
    pub states: [usize; 2],
    /// Σ |⟨a_i|b_j⟩|² over them, by the larger number of states: between 0 and 1.
    pub fidelity: f64,
}

/// The overlaps of two files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OverlapRecord {
    /// The version of the fields, [`SCHEMA`].
    pub schema: u32,
    /// The files.
    pub files: [PathBuf; 2],
    /// States of the basis; 0 of matrix-product states.
    pub dimension: usize,
    /// Energies of the vectors of each file.
    pub energies: [Vec<f64>; 2],
    /// ⟨a_i|b_j⟩ at \[i\]\[j\].
    pub overlaps: Vec<Vec<ComplexRecord>>,
    /// |⟨a_i|b_j⟩|².
    pub weights: Vec<Vec<f64>>,
    /// The fidelity of every level of the first with every level of the second.
    pub levels: Vec<LevelFidelity>,
    /// What a careful reader must know.
    pub warnings: Vec<String>,
}

/// The overlaps of the vectors of two files, each a vectors.npz or its folder.
///
/// # Errors
/// A file that is no vectors.npz; files of two bases, with the difference: the kind of states, their number, the lattice, the sector, the
/// symmetry, what a site carries.
pub fn overlap(first: &Path, second: &Path) -> Result<OverlapRecord, OverlapError> {
    let files = [VectorFile::read(first)?, VectorFile::read(second)?];
    let order = VectorFile::order(&files)?;
    let [a, b] = &files;
    let ordered = match order {
        None => b.vectors.clone(),
        Some(places) => Array2::from_shape_fn(b.vectors.dim(), |(row, element)| b.vectors[[row, places[element]]]),
    };
    let overlaps = match a.states.is_empty() {
        true => overlaps_of_vectors(&a.vectors, &ordered),
        false => overlaps_of_products(&files)?,
    };
    let weight = |i: usize, j: usize| overlaps[[i, j]].norm_sqr();
    let sides = [RunSide::new(a), RunSide::new(b)];
    let mut levels = Vec::new();
    for (i, left) in sides[0].levels.iter().enumerate() {
        for (j, right) in sides[1].levels.iter().enumerate() {
            let shared: f64 =
                left.clone().flat_map(|i| right.clone().map(move |j| (i, j))).map(|(i, j)| weight(i, j)).sum();
            levels.push(LevelFidelity {
                levels: [i, j],
                energies: [a.energies[left.start], b.energies[right.start]],
                states: [left.len(), right.len()],
                fidelity: shared / left.len().max(right.len()) as f64,
            });
        }
    }
    let record = |value: &Complex64| ComplexRecord { re: value.re, im: value.im };
    Ok(OverlapRecord {
        schema: SCHEMA,
        dimension: a.vectors.ncols(),
        overlaps: overlaps.rows().into_iter().map(|row| row.iter().map(record).collect()).collect(),
        weights: overlaps.rows().into_iter().map(|row| row.iter().map(Complex64::norm_sqr).collect()).collect(),
        levels,
        warnings: sides.into_iter().flat_map(|side| side.warnings).collect(),
        energies: [a.energies.clone(), b.energies.clone()],
        files: files.map(|file| file.path),
    })
}

/// ⟨a_i|b_j⟩ of vectors in one order.
fn overlaps_of_vectors(a: &Array2<Complex64>, b: &Array2<Complex64>) -> Array2<Complex64> {
    let mut overlaps = a.mapv(|amplitude| amplitude.conj()).dot(&b.t());
    // Vectors of f32 are of length 1 to 1e-7.
    let lengths = |vectors: &Array2<Complex64>| -> Vec<f64> {
        vectors.rows().into_iter().map(|row| row.iter().map(Complex64::norm_sqr).sum::<f64>().sqrt()).collect()
    };
    let [left, right] = [lengths(a), lengths(b)];
    overlaps.indexed_iter_mut().for_each(|((i, j), overlap)| *overlap /= left[i] * right[j]);
    overlaps
}

/// The same of matrix-product states.
fn overlaps_of_products(files: &[VectorFile; 2]) -> Result<Array2<Complex64>, OverlapError> {
    let [a, b] = files;
    let mut overlaps = Array2::zeros((a.states.len(), b.states.len()));
    for (i, own) in a.states.iter().enumerate() {
        for (j, other) in b.states.iter().enumerate() {
            let differ = |what| {
                let why = format!("its chain is not that of {}: {what} differ", a.path.display());
                OverlapError::Read { file: b.path.clone(), why }
            };
            let [re, im] = own.overlap(other).map_err(differ)?;
            overlaps[[i, j]] = Complex64::new(re, im);
        }
    }
    Ok(overlaps)
}

/// Rows and columns of a table that a terminal shows.
const SHOWN: usize = 8;

impl OverlapRecord {
    /// Text for a terminal.
    pub fn summary(&self) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = self.write_summary(&mut out);
        out
    }

    fn write_summary(&self, out: &mut String) -> std::fmt::Result {
        let [a, b] = &self.energies;
        let [rows, columns] = [a.len().min(SHOWN), b.len().min(SHOWN)];
        for (name, file, energies) in [("a", &self.files[0], a), ("b", &self.files[1], b)] {
            let kind = match self.dimension {
                0 => "matrix-product states".into(),
                dimension => format!("dimension {dimension}"),
            };
            writeln!(out, "{name}: {} states of {}, {kind}", energies.len(), file.display())?;
        }
        let heading: String = (0..columns).map(|j| format!("{:>14}", format!("b {j}"))).collect();
        writeln!(out, "\n  |<a|b>|^2{heading}")?;
        for i in 0..rows {
            let weights: String = self.weights[i][..columns].iter().map(|weight| format!("{weight:>14.10}")).collect();
            writeln!(out, "  {:<9}{weights}", format!("a {i}"))?;
        }
        if rows < a.len() || columns < b.len() {
            writeln!(out, "  the first {rows} and {columns} of {} and {}; all are in --json", a.len(), b.len())?;
        }
        writeln!(out, "\nfidelity of levels: sum of |<a|b>|^2 over their states, by the larger number of states")?;
        writeln!(
            out,
            "  {:>7} {:>17} {:>7}   {:>7} {:>17} {:>7}   {:>12}",
            "level a", "energy", "states", "level b", "energy", "states", "fidelity"
        )?;
        let shown = self.levels.iter().filter(|level| level.levels.iter().all(|number| *number < SHOWN));
        for LevelFidelity { levels, energies, states, fidelity } in shown {
            let [left, right] = energies.map(|energy| energy_text(energy, 1e-12));
            writeln!(
                out,
                "  {:>7} {left:>17} {:>7}   {:>7} {right:>17} {:>7}   {fidelity:>12.10}",
                levels[0], states[0], levels[1], states[1]
            )?;
        }
        self.warnings.iter().try_for_each(|warning| writeln!(out, "warning: {warning}"))
    }
}
