//! The reference matrices: every one of the determinant basis, row by row.

use super::{data, operator};
use eigenforge::ci::{self, Space};
use eigenforge::sparse::Csr;

/// The vector that the reference data were multiplied by.
fn x(row: usize) -> f64 {
    (((row as u64 * 2654435761 + 12345) % (1 << 32)) as f64) / (1u64 << 32) as f64 - 0.5
}

fn multiply(matrix: &Csr, row: usize) -> (f64, f64) {
    let (columns, values) = matrix.row(row);
    let products = columns.iter().zip(values).map(|(column, value)| value * x(*column as usize));
    products.fold((0.0, 0.0), |(sum, size), product| (sum + product, size + product.abs()))
}

#[test]
fn reference_matrices_row_by_row() {
    let y = data::matrix_y();
    let matrices = data::matrices();
    assert_eq!(matrices.len(), 7);
    for case in matrices {
        let integrals = data::integrals(case.fcidump.trim_end_matches(".FCIDUMP"));
        let (up, down) = integrals.spins();
        let level = case.max_excitation_level.as_u64().map_or(usize::MAX, |level| level as usize);
        let mut space = Space::excitations(integrals.orbitals, up, down, level).unwrap();
        if case.symmetry == "reference irrep only" {
            let irrep = space.reference_irrep(&integrals.irreps).unwrap();
            space = space.in_irrep(&integrals.irreps, irrep).unwrap();
        }
        assert_eq!(space.len(), case.dim as u64, "{}", case.name);
        let matrix = ci::matrix(&integrals, &space, ci::THRESHOLD).unwrap();
        assert_eq!(matrix.non_zeros(), case.non_zeros, "{}", case.name);
        let lengths = matrix.row_start().windows(2).map(|pair| pair[1] - pair[0]);
        let hash = lengths.fold(0u64, |hash, length| hash.wrapping_mul(1000003).wrapping_add(length) % (1 << 61));
        assert_eq!(hash, case.row_lengths_hash, "{}: lengths of rows", case.name);
        for (k, row) in (0..case.dim).step_by(case.y_step).enumerate() {
            let (found, size) = multiply(&matrix, row);
            let expected = y[case.first_y + k];
            assert!((found - expected).abs() <= 1e-12 * size.max(1.0), "{}, row {row}: {found} {expected}", case.name);
        }
        matrix.check_symmetric(1e-12).unwrap();
        assert!((integrals.core - case.ecore).abs() < 1e-12);
        if matrix.rows() < 4000 {
            let lowest = operator::lowest(matrix, 2);
            for (found, expected) in lowest.iter().zip(&case.lowest_eigenvalues) {
                assert!((found - expected).abs() < 1e-9, "{}: {found} instead of {expected}", case.name);
            }
        }
    }
}
