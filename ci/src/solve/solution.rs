//! What a solve of a molecule found: energies, and vectors in the order of the space.

use super::super::orbital_number::OrbitalNumber;
use super::super::used::StorageUsed;
use super::super::{CsfSpace, Integrals, Space};
use eigenforge_product::Eigenstates;
use eigenforge_runtime::{DeviceError, Vector};
use ndarray::{Array1, Array2, ArrayView1};
use std::ops::Deref;

/// The result of a solve: its [`Eigenstates`], with vectors in the order of the space.
#[derive(Debug)]
pub struct CiSolution<'a> {
    pub(super) integrals: &'a Integrals,
    pub(super) space: &'a Space,
    /// The functions that the eigenvectors are over, in place of determinants.
    pub(super) csfs: Option<&'a CsfSpace>,
    pub(super) states: Eigenstates,
    pub(super) how: StorageUsed,
}

impl Deref for CiSolution<'_> {
    type Target = Eigenstates;

    fn deref(&self) -> &Eigenstates {
        &self.states
    }
}

impl<'a> CiSolution<'a> {
    /// How H was multiplied.
    pub fn storage_used(&self) -> &StorageUsed {
        &self.how
    }

    /// The integrals.
    pub fn integrals(&self) -> &'a Integrals {
        self.integrals
    }

    /// The space.
    pub fn space(&self) -> &'a Space {
        self.space
    }

    /// The state of [`Eigenstates::energies`]\[`state`\], normalised: one number per determinant, in the order of the space; over complex
    /// orbitals two, the parts of each, and [`CiSolution::level_states`] has complex ones.
    ///
    /// # Errors
    /// The copy from the device fails.
    pub fn vector(&self, state: usize) -> Result<Array1<f64>, DeviceError> {
        Ok(self.over_determinants(self.eigenpairs().vectors[state].download()?)?.into())
    }

    /// All states, states × dimension: row k is [`CiSolution::vector`]`(k)`.
    ///
    /// # Errors
    /// A copy from the device fails.
    pub fn vectors(&self) -> Result<Array2<f64>, DeviceError> {
        self.matrix_of(&self.eigenpairs().vectors.iter().take(self.energies().len()).collect::<Vec<_>>())
    }

    /// An orthonormal basis of the lowest level, as far as known: multiplicity × dimension, one vector per row.
    ///
    /// # Errors
    /// A copy from the device fails.
    pub fn ground_multiplet(&self) -> Result<Array2<f64>, DeviceError> {
        self.level_vectors(0)
    }

    /// The same of any level, in the order of its levels.
    ///
    /// # Errors
    /// A copy from the device fails.
    pub fn level_vectors(&self, level: usize) -> Result<Array2<f64>, DeviceError> {
        self.matrix_of(&self.eigenpairs().level_vectors(level))
    }

    /// The same over real or complex orbitals, whichever the integrals have.
    ///
    /// # Errors
    /// A copy from the device fails.
    pub fn level_states<T: OrbitalNumber>(&self, level: usize) -> Result<Array2<T>, DeviceError> {
        let (pairs, real) = (self.eigenpairs(), self.level_vectors(level)?);
        let values = vec![pairs.levels[level].value; real.nrows()];
        Ok(T::states(real, (&values, pairs.norm)))
    }

    /// A vector of the eigenpairs in the order of the space.
    fn over_determinants(&self, vector: Vec<f64>) -> Result<Vec<f64>, DeviceError> {
        match self.csfs {
            Some(csfs) => csfs.to_determinants(self.space, &vector),
            None => Ok(vector),
        }
    }

    /// Of several ranks the first has whole vectors, and the others have rows of no elements.
    fn matrix_of(&self, vectors: &[&Vector<f64>]) -> Result<Array2<f64>, DeviceError> {
        // Over complex orbitals vectors have two real parts of each element.
        let length = |vector: &&Vector<f64>| self.csfs.map_or(vector.len(), |_| self.space.len() as usize);
        let length = vectors.first().map_or(0, length);
        if let Some(ranks) = self.device().ranks() {
            let own = if ranks.is_first() { length } else { 0 };
            let (mut whole, mut fault) = (Vec::with_capacity(vectors.len() * own), None);
            for vector in vectors {
                let mut all = Vec::new();
                vector.to_first(|slab| {
                    all.extend_from_slice(slab);
                    Ok::<_, DeviceError>(())
                })?;
                // Where the first fails the others still send what they have.
                if ranks.is_first() && fault.is_none() {
                    match self.over_determinants(all) {
                        Ok(vector) => whole.extend(vector),
                        Err(error) => fault = Some(error),
                    }
                }
            }
            if let Some(error) = fault {
                return Err(error);
            }
            return Ok(Array2::from_shape_vec((vectors.len(), own), whole)
                .unwrap_or_else(|error| unreachable!("every slab has come: {error}")));
        }
        let mut matrix = Array2::zeros((vectors.len(), length));
        for (mut row, vector) in matrix.rows_mut().into_iter().zip(vectors) {
            row.assign(&ArrayView1::from(&self.over_determinants(vector.download()?)?));
        }
        Ok(matrix)
    }
}
