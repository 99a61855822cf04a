//! The determinants that a state mostly consists of.
//!
//! In: a space, a vector in its order. Out: those of the largest amplitudes, the largest first, of equal ones that of the lower row. A
//! determinant is a word of one sign per active orbital: `2`, `u` and `d` for an electron of spin up or down, `0`. Signs of amplitudes are those
//! of vectors.npz (strings of α electrons before those of β, each ascending), with the largest made positive, by a phase over complex orbitals.

use super::orbital_number::OrbitalNumber;
use super::space::Space;
use ndarray::ArrayRef1;
use serde::{Deserialize, Serialize};

/// A determinant of a state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeadingDeterminant {
    /// One sign per active orbital: "2u0".
    pub occupation: String,
    /// Its amplitude in a state of length 1; over complex orbitals the real part.
    pub amplitude: f64,
    /// The imaginary part over complex orbitals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imaginary: Option<f64>,
}

impl LeadingDeterminant {
    /// At most `most` of a state, of at least the weight `least` each.
    pub fn list<T: OrbitalNumber>(
        space: &Space,
        vector: &ArrayRef1<T>,
        most: usize,
        least: f64,
    ) -> Vec<LeadingDeterminant> {
        let norm = vector.iter().map(|value| value.size() * value.size()).sum::<f64>().sqrt();
        let mut leading: Vec<(usize, T)> = Vec::new();
        for (row, value) in vector.iter().enumerate() {
            let amplitude = *value * (1.0 / norm);
            let is_full = leading.len() == most;
            if amplitude.size() * amplitude.size() < least
                || (is_full && leading.last().is_some_and(|last| last.1.size() >= amplitude.size()))
            {
                continue;
            }
            // Among amplitudes that differ by rounding the lower row comes first.
            let place = leading.partition_point(|known| known.1.size() >= amplitude.size() * (1.0 - 1e-9));
            leading.insert(place, (row, amplitude));
            leading.truncate(most);
        }
        let phase = leading.first().map_or(1.0.into(), |first| first.1.conjugate() * (1.0 / first.1.size()));
        let determinant = |(row, amplitude): (usize, T)| {
            let (up, down) = space.determinant(row as u64);
            let has = |word: super::Occupation, orbital: usize| word >> orbital & 1 == 1;
            let occupation = (0..space.orbitals()).map(|orbital| match (has(up, orbital), has(down, orbital)) {
                (true, true) => '2',
                (true, false) => 'u',
                (false, true) => 'd',
                (false, false) => '0',
            });
            let (amplitude, imaginary) = (amplitude * phase).re_and_im();
            LeadingDeterminant { occupation: occupation.collect(), amplitude, imaginary }
        };
        leading.into_iter().map(determinant).collect()
    }
}
