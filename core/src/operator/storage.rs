//! How H is multiplied where it may be stored as a matrix or not.

use serde::{Deserialize, Serialize};

/// Whether the elements of H are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MatrixStorage {
    /// As suits the size, the memory and the device.
    #[default]
    Auto,
    /// As a sparse matrix.
    Stored,
    /// Without a matrix: elements are computed in each multiply.
    Direct,
    /// As a table, made once: of the elements that a card computes, or of their places with codes of their values.
    Table,
}

impl MatrixStorage {
    /// Their names in model files.
    pub const WORDS: [(&'static str, MatrixStorage); 4] = [
        ("auto", MatrixStorage::Auto),
        ("stored", MatrixStorage::Stored),
        ("direct", MatrixStorage::Direct),
        ("table", MatrixStorage::Table),
    ];

    /// Its name in model files.
    pub fn word(self) -> &'static str {
        MatrixStorage::WORDS.iter().find(|(_, storage)| *storage == self).map_or("auto", |(word, _)| word)
    }
}
