//! Reduced density matrices themselves, in the local states of their sites.
//!
//! In: the states of a level, sets of sites A. Out: ρ_A = tr_rest, the mean over the states of the level, with the local states of A that each
//! row stands for: of modes of fermions |n_A⟩ = Π c†_i↑ Π c†_j↓ |0⟩ over the sites of A, ascending, as in the whole system.

use super::entanglement::{EntanglementError, LARGEST_MATRIX, Matrix, PlainLevel};
use super::model::Model;
use ndarray::Array2;
use num_complex::Complex64;
use std::collections::HashMap;

/// ρ_A of a set of sites A.
#[derive(Debug, Clone, PartialEq)]
pub struct DensityMatrix {
    /// The number of each site's local state, one row per state of A, one column per site in the order of the set; electrons: 0 empty, 1 up,
    /// 2 down, 3 both.
    pub levels: Array2<u64>,
    /// ⟨a| ρ_A |a'⟩ at \[a, a'\].
    pub elements: Array2<Complex64>,
}

impl Model {
    /// The density matrices of sets of sites in a state of length 1, or the means over several such states; only states of A that occur have
    /// rows. A set that has none says why.
    ///
    /// # Errors
    /// No room for the sector without its symmetry.
    pub fn density_matrices(
        &self,
        states: &[Vec<Complex64>],
        subsets: &[Vec<usize>],
    ) -> Result<Vec<Result<DensityMatrix, EntanglementError>>, EntanglementError> {
        let level = PlainLevel::new(self, states)?;
        let of_subset = |sites: &Vec<usize>| density_matrix(&level, sites);
        Ok(subsets.iter().map(of_subset).collect())
    }
}

fn density_matrix(level: &PlainLevel<'_>, sites: &[usize]) -> Result<DensityMatrix, EntanglementError> {
    let Matrix { rows, columns, elements } = level.matrix(sites)?;
    let count = rows.0.len();
    if count > LARGEST_MATRIX {
        return Err(EntanglementError::Matrix { states: count });
    }
    let mut words: Vec<(u128, usize)> = rows.0.into_iter().map(|((_, word), row)| (word, row)).collect();
    words.sort_unstable();
    let places: HashMap<usize, usize> = words.iter().enumerate().map(|(place, (_, row))| (*row, place)).collect();
    let local = |row: usize, column: usize| -> u64 {
        let digits = level.layout.digits().iter().filter(|digit| digit.site == sites[column]);
        // Modes are the bits of a local state's number.
        let values = digits.enumerate().map(|(mode, digit)| {
            let value = (words[row].0 >> digit.shift) as u64 & ((1 << digit.width) - 1);
            value << if digit.mode.is_some() { mode } else { 0 }
        });
        values.sum()
    };
    let levels = Array2::from_shape_fn((count, sites.len()), |(row, column)| local(row, column));
    let mut by_column: Vec<Vec<(usize, Complex64)>> = vec![Vec::new(); columns];
    elements.into_iter().for_each(|(row, column, value)| by_column[column].push((places[&row], value)));
    let mut matrix = Array2::zeros((count, count));
    for column in by_column {
        for (a, left) in &column {
            column.iter().for_each(|(b, right)| matrix[[*a, *b]] += left * right.conj());
        }
    }
    Ok(DensityMatrix { levels, elements: matrix })
}
