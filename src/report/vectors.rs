//! Eigenvectors with their basis states, for other programs: vectors.npz, or arrays in memory.
//!
//! In: energies, eigenvectors, basis states. Out: arrays by their names, and the uncompressed .npz that holds them (NumPy:
//! `numpy.load("vectors.npz")`):
//!
//! * `energies`, f64 \[k\], ascending;
//! * `vectors`, f64 (complex128 if H is complex) \[k, dimension\], row s the normalised eigenvector of `energies[s]`; of quaternions
//!   f64 \[k, dimension, 4\], the parts of 1, i, j and k;
//! * fermions: `up_states` u64 \[d↑\] and `down_states` u64 \[d↓\]; element a + d↑ · b of a vector is the amplitude of
//!   up_states\[a\], down_states\[b\] (the up index runs fastest);
//! * determinants: `alpha_states`, `beta_states` u64 \[dimension\], the occupied orbitals of each; orbital 0 is the least
//!   significant bit;
//! * spins and sites of any kind, and rows of a matrix: `states` u64 \[dimension\]; element a is the amplitude of states\[a\]. States of more than 64
//!   bits: u64 \[dimension, 2\], the low 64 bits first.
//!
//! Site 0 is the least significant bit of a state, 1 is occupied or spin up. Operators are ordered all up left of all
//! down, sites ascending: |n⟩ = Π c†_i↑ Π c†_j↓ |0⟩.

use super::{ReportError, publish};
use crate::exact::Model;
use ndarray::{Array1, Array2, Array3};
use ndarray_npy::NpzWriter;
use num_complex::Complex64;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// Which basis state each element of a vector belongs to.
#[derive(Debug, Clone)]
pub enum BasisStates {
    /// A product of up and down configurations; the up index runs fastest.
    Product {
        /// Up configurations.
        up: Vec<u64>,
        /// Down configurations.
        down: Vec<u64>,
    },
    /// One word a state.
    List(Vec<u64>),
    /// One word of up to 128 bits a state.
    LongList(Vec<u128>),
    /// The α word of each determinant, and the β word.
    Determinants([Vec<u64>; 2]),
}

impl BasisStates {
    /// Number of states.
    pub fn count(&self) -> usize {
        match self {
            BasisStates::Product { up, down } => up.len() * down.len(),
            BasisStates::List(states) => states.len(),
            BasisStates::LongList(states) => states.len(),
            BasisStates::Determinants([up, _]) => up.len(),
        }
    }

    /// The arrays that hold them, by name.
    pub fn into_arrays(self) -> Vec<(&'static str, NamedArray)> {
        let list = |words: Vec<u64>| NamedArray::States(words.into());
        match self {
            BasisStates::Product { up, down } => vec![("up_states", list(up)), ("down_states", list(down))],
            BasisStates::Determinants([up, down]) => vec![("alpha_states", list(up)), ("beta_states", list(down))],
            BasisStates::List(states) => vec![("states", list(states))],
            BasisStates::LongList(states) => {
                let half = |(state, half): (usize, usize)| (states[state] >> (64 * half)) as u64;
                vec![("states", NamedArray::LongStates(Array2::from_shape_fn((states.len(), 2), half)))]
            }
        }
    }
}

impl From<&Model> for BasisStates {
    fn from(model: &Model) -> BasisStates {
        let basis = model.basis();
        let words = (0..model.states()).map(|index| basis.state(index));
        match basis.species() {
            Some((up, down)) => BasisStates::Product { up: up.to_vec(), down: down.to_vec() },
            None if basis.word().bits() > u64::BITS => BasisStates::LongList(words.collect()),
            None => BasisStates::List(words.map(|word| word as u64).collect()),
        }
    }
}

/// Eigenvectors, k × dimension: one per row.
#[derive(Debug, Clone)]
pub enum VectorRows {
    /// Of a real H: f64.
    Real(Array2<f64>),
    /// Of a complex H: complex128.
    Complex(Array2<Complex64>),
    /// Of a matrix of quaternions a + b i + c j + d k: f64, k × dimension × 4.
    Quaternion(Array3<f64>),
}

/// An array of a file.
#[derive(Debug, Clone)]
pub enum NamedArray {
    /// Energies.
    Numbers(Array1<f64>),
    /// Vectors.
    Vectors(VectorRows),
    /// Words of states.
    States(Array1<u64>),
    /// Words of states of more than 64 bits, the low 64 bits first.
    LongStates(Array2<u64>),
}

/// Eigenvectors in their basis.
#[derive(Debug, Clone)]
pub struct StateVectors {
    /// Eigenvalues, ascending.
    pub energies: Vec<f64>,
    /// One eigenvector an energy.
    pub vectors: VectorRows,
    /// The basis.
    pub states: BasisStates,
}

impl StateVectors {
    /// The arrays of the file, by name.
    ///
    /// # Errors
    /// Lengths that do not belong together.
    pub fn into_arrays(self) -> Result<Vec<(&'static str, NamedArray)>, ReportError> {
        let (rows, length) = match &self.vectors {
            VectorRows::Real(vectors) => vectors.dim(),
            VectorRows::Complex(vectors) => vectors.dim(),
            VectorRows::Quaternion(vectors) => (vectors.dim().0, vectors.dim().1),
        };
        let counts = [("vectors", rows, self.energies.len()), ("an eigenvector", length, self.states.count())];
        if let Some((what, found, expected)) = counts.into_iter().find(|(_, found, expected)| found != expected) {
            return Err(ReportError::Shape { what, found, expected });
        }
        let mut arrays = vec![
            ("energies", NamedArray::Numbers(self.energies.into())),
            ("vectors", NamedArray::Vectors(self.vectors)),
        ];
        arrays.extend(self.states.into_arrays());
        Ok(arrays)
    }

    /// Writes `folder`/vectors.npz.
    ///
    /// # Errors
    /// Lengths that do not belong together; a folder that cannot be written.
    pub fn write(self, folder: &Path) -> Result<PathBuf, ReportError> {
        let (path, arrays) = (folder.join("vectors.npz"), self.into_arrays()?);
        publish(&path, |file| {
            let mut npz = NpzWriter::new(BufWriter::new(file));
            let mut write = || {
                arrays.iter().try_for_each(|(name, array)| match array {
                    NamedArray::Numbers(numbers) => npz.add_array(*name, numbers),
                    NamedArray::Vectors(VectorRows::Real(vectors)) => npz.add_array(*name, vectors),
                    NamedArray::Vectors(VectorRows::Complex(vectors)) => npz.add_array(*name, vectors),
                    NamedArray::Vectors(VectorRows::Quaternion(vectors)) => npz.add_array(*name, vectors),
                    NamedArray::States(states) => npz.add_array(*name, states),
                    NamedArray::LongStates(states) => npz.add_array(*name, states),
                })
            };
            write()
                .and_then(|()| npz.finish().map(drop))
                .map_err(|source| ReportError::Arrays { file: path.clone(), source })
        })
    }
}
