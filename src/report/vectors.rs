//! vectors.npz: eigenvectors with their basis states, for other programs.
//!
//! In: energies, eigenvectors, basis states. Out: an uncompressed .npz (NumPy: `numpy.load("vectors.npz")`) of
//!
//! * `energies`, f64 \[k\], ascending;
//! * `vectors`, f64 (complex128 if H is complex) \[k, dimension\], row s the normalised eigenvector of `energies[s]`;
//! * fermions: `up_states` u64 \[d↑\] and `down_states` u64 \[d↓\]; element a + d↑ · b of a vector is the amplitude of
//!   up_states\[a\], down_states\[b\] (the up index runs fastest);
//! * determinants: `alpha_states`, `beta_states` u64 \[dimension\], the occupied orbitals of each; orbital 0 is the least
//!   significant bit;
//! * spins and sites of any kind: `states` u64 \[dimension\]; element a is the amplitude of states\[a\]. States of more than 64
//!   bits: u64 \[dimension, 2\], the low 64 bits first.
//!
//! Site 0 is the least significant bit of a state, 1 is occupied or spin up. Operators are ordered all up left of all
//! down, sites ascending: |n⟩ = Π c†_i↑ Π c†_j↓ |0⟩.

use super::{ReportError, publish};
use ndarray::{Array2, ArrayView1, ArrayView2};
use ndarray_npy::NpzWriter;
use num_complex::Complex64;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// Which basis state each element of a vector belongs to.
#[derive(Debug, Clone, Copy)]
pub enum BasisStates<'a> {
    /// A product of up and down configurations; the up index runs fastest.
    Product {
        /// Up configurations.
        up: &'a [u64],
        /// Down configurations.
        down: &'a [u64],
    },
    /// One word a state.
    List(&'a [u64]),
    /// One word of up to 128 bits a state.
    LongList(&'a [u128]),
    /// The α and the β word of each determinant.
    Determinants(&'a [[u64; 2]]),
}

/// Eigenvectors, k × dimension: one per row.
#[derive(Debug, Clone, Copy)]
pub enum VectorList<'a> {
    /// Of a real H: f64.
    Real(ArrayView2<'a, f64>),
    /// Of a complex H: complex128.
    Complex(ArrayView2<'a, Complex64>),
}

impl VectorList<'_> {
    /// The number of vectors, and of their elements.
    fn shape(&self) -> (usize, usize) {
        match self {
            VectorList::Real(vectors) => vectors.dim(),
            VectorList::Complex(vectors) => vectors.dim(),
        }
    }
}

/// What vectors.npz holds.
#[derive(Debug, Clone, Copy)]
pub struct VectorFile<'a> {
    /// Eigenvalues, ascending.
    pub energies: &'a [f64],
    /// One eigenvector an energy.
    pub vectors: VectorList<'a>,
    /// The basis.
    pub states: BasisStates<'a>,
}

impl VectorFile<'_> {
    /// Writes `folder`/vectors.npz.
    ///
    /// # Errors
    /// Lengths that do not belong together; a folder that cannot be written.
    pub fn write(&self, folder: &Path) -> Result<PathBuf, ReportError> {
        self.check()?;
        let path = folder.join("vectors.npz");
        publish(&path, |file| {
            let mut npz = NpzWriter::new(BufWriter::new(file));
            let mut write = || {
                npz.add_array("energies", &ArrayView1::from(self.energies))?;
                match self.vectors {
                    VectorList::Real(vectors) => npz.add_array("vectors", &vectors)?,
                    VectorList::Complex(vectors) => npz.add_array("vectors", &vectors)?,
                }
                match self.states {
                    BasisStates::Product { up, down } => {
                        npz.add_array("up_states", &ArrayView1::from(up))?;
                        npz.add_array("down_states", &ArrayView1::from(down))?;
                    }
                    BasisStates::Determinants(words) => {
                        let column = |spin: usize| words.iter().map(|word| word[spin]).collect::<Vec<u64>>();
                        npz.add_array("alpha_states", &ArrayView1::from(&column(0)))?;
                        npz.add_array("beta_states", &ArrayView1::from(&column(1)))?;
                    }
                    BasisStates::List(states) => npz.add_array("states", &ArrayView1::from(states))?,
                    BasisStates::LongList(states) => {
                        let half = |(state, half): (usize, usize)| (states[state] >> (64 * half)) as u64;
                        npz.add_array("states", &Array2::from_shape_fn((states.len(), 2), half))?;
                    }
                }
                Ok(())
            };
            write()
                .and_then(|()| npz.finish().map(drop))
                .map_err(|source| ReportError::Arrays { file: path.clone(), source })
        })
    }

    /// Whether all lengths agree.
    fn check(&self) -> Result<(), ReportError> {
        let dimension = match self.states {
            BasisStates::Product { up, down } => up.len() * down.len(),
            BasisStates::List(states) => states.len(),
            BasisStates::LongList(states) => states.len(),
            BasisStates::Determinants(words) => words.len(),
        };
        let (rows, length) = self.vectors.shape();
        for (what, found, expected) in [("vectors", rows, self.energies.len()), ("an eigenvector", length, dimension)] {
            if found != expected {
                return Err(ReportError::Shape { what, found, expected });
            }
        }
        Ok(())
    }
}
