//! How H of a model is multiplied, as a word: the wish of the model, and that of a symmetry sector of it.

use super::model::{Found, Model};
use super::symmetric::SymmetricSector;
use eigenforge_core::operator::{MatrixStorage, OperatorError, SymmetryError};

impl Model {
    /// The same model with H multiplied as this says, in its symmetry sectors too; one that is made already has the word of
    /// [`Symmetry::storage`](eigenforge_core::operator::Symmetry::storage).
    ///
    /// # Errors
    /// [`MatrixStorage::Direct`] for states of more than 64 bits; another word than that of a symmetry sector.
    pub fn with_storage(mut self, storage: MatrixStorage) -> Result<Model, OperatorError> {
        if let Some(sector) = self.symmetric() {
            let (own, other) = (sector.wanted_storage().word(), storage.word());
            return match storage {
                MatrixStorage::Auto => Ok(self),
                _ if own == other => Ok(self),
                _ => Err(SymmetryError::OtherStorage { own, other }.into()),
            };
        }
        if storage == MatrixStorage::Direct && self.basis().is_listed() {
            return Err(OperatorError::DirectNeedsShortWords { bits: self.basis().word().bits() });
        }
        (self.storage, self.found) = (storage, Found::default());
        Ok(self)
    }

    /// The word of this model and of a symmetry sector of it.
    ///
    /// # Errors
    /// Two that differ.
    pub(super) fn storage_with(&self, own: MatrixStorage) -> Result<MatrixStorage, OperatorError> {
        match (self.storage, own) {
            (storage, MatrixStorage::Auto) | (MatrixStorage::Auto, storage) => Ok(storage),
            (storage, own) if storage == own => Ok(own),
            (storage, own) => Err(SymmetryError::OtherStorage { own: own.word(), other: storage.word() }.into()),
        }
    }

    /// How H is multiplied, as it was asked for.
    pub(super) fn wanted_storage(&self) -> MatrixStorage {
        self.symmetric().map_or(self.storage, SymmetricSector::wanted_storage)
    }
}
