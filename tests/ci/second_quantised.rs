//! Matrices of random integrals, element by element against operators on Fock space, in every kind of space.

use super::oracle;
use super::random::Random;
use eigenforge::ci::{
    self, CiHamiltonian, Integrals, MatrixError, Occupation, OrbitalWindow, Space, WindowError, matrix_element,
};

/// Every element of the matrix is the oracle's, and none above the threshold is missing. Returns the non-zeros.
fn check(integrals: &Integrals, space: &Space, what: &str) -> u64 {
    let matrix = ci::matrix(integrals, space, 1e-12).unwrap();
    assert_eq!(matrix.rows() as u64, space.len(), "{what}");
    matrix.check_symmetric(1e-12).unwrap();
    let hamiltonian = CiHamiltonian::new(integrals, space, 1e-12).unwrap();
    for row in 0..space.len() {
        let determinant = space.determinant(row);
        assert_eq!(space.row(determinant.0, determinant.1), Some(row), "{what}");
        let expected = oracle::column(integrals, determinant);
        let inside = |other: &(Occupation, Occupation)| space.row(other.0, other.1);
        let mut counted = 0;
        for (other, value) in &expected {
            assert!((matrix_element(integrals, determinant, *other) - value).abs() < 1e-12, "{what}");
            if let Some(column) = inside(other) {
                let found = matrix.element(row as usize, column as u32);
                assert!((found - value).abs() < 1e-12, "{what}: ({row}, {column}) is {found}, expected {value}");
                counted += usize::from(value.abs() > 1e-12);
            }
        }
        assert_eq!(matrix.row(row as usize).0.len(), counted, "{what}, row {row}");
        assert!((hamiltonian.diagonal(row) - expected[&determinant]).abs() < 1e-12, "{what}");
    }
    matrix.non_zeros()
}

#[test]
fn every_element_is_that_of_second_quantisation() {
    let mut random = Random(20261120);
    for (orbitals, up, down) in
        [(1, 1, 0), (2, 1, 1), (3, 2, 1), (3, 0, 2), (3, 3, 3), (4, 2, 2), (4, 1, 3), (4, 4, 1), (5, 2, 2), (5, 3, 2)]
    {
        let plain = random.integrals(orbitals, up, down);
        let symmetric = random.integrals_with_irreps(orbitals, up, down);
        let unrestricted = random.unrestricted(orbitals, up, down);
        let both = random.unrestricted_with_irreps(orbitals, up, down);
        for (integrals, kind) in [
            (&plain, "no irreps"),
            (&symmetric, "irreps"),
            (&unrestricted, "unrestricted"),
            (&both, "unrestricted, irreps"),
        ] {
            let what = format!("{orbitals} orbitals, {up} up, {down} down, {kind}");
            let full = Space::full(orbitals, up, down).unwrap();
            let all = check(integrals, &full, &what);
            for level in 0..=up + down {
                let space = Space::excitations(orbitals, up, down, level).unwrap();
                check(integrals, &space, &format!("{what}, level {level}"));
            }
            // Any half of the determinants in any order.
            let mut list: Vec<_> = (0..full.len()).map(|row| full.determinant(row)).collect();
            random.shuffle(&mut list);
            list.truncate(list.len().div_ceil(2));
            check(integrals, &Space::from_determinants(orbitals, &list).unwrap(), &format!("{what}, listed"));
            if !integrals.irreps.is_empty() {
                let mut blocks = 0;
                for irrep in 1..=8 {
                    let Ok(block) = full.clone().in_irrep(&integrals.irreps, irrep) else { continue };
                    blocks += check(integrals, &block, &format!("{what}, irrep {irrep}"));
                    let truncated = Space::excitations(orbitals, up, down, 2).unwrap();
                    if let Ok(block) = truncated.in_irrep(&integrals.irreps, irrep) {
                        check(integrals, &block, &format!("{what}, level 2, irrep {irrep}"));
                    }
                    let listed = Space::from_determinants(orbitals, &list).unwrap();
                    if let Ok(block) = listed.in_irrep(&integrals.irreps, irrep) {
                        check(integrals, &block, &format!("{what}, listed, irrep {irrep}"));
                    }
                }
                assert_eq!(blocks, all, "{what}: the blocks of all irreps hold every non-zero");
            }
        }
    }
}

/// Where one forbidden integral is not 0, the irreps say nothing, and nothing may be skipped for them.
#[test]
fn integrals_that_break_their_irreps_are_taken_as_they_are() {
    let mut random = Random(3);
    let mut integrals = random.integrals(4, 2, 2);
    integrals.irreps = vec![1, 2, 1, 3];
    assert!(!integrals.obey_irreps());
    let full = Space::full(4, 2, 2).unwrap();
    check(&integrals, &full, "broken irreps");
    let block = full.in_irrep(&integrals.irreps, 1).unwrap();
    let error = ci::matrix(&integrals, &block, 1e-12).unwrap_err();
    assert!(matches!(error, MatrixError::Irreps { largest } if largest > 0.1), "{error}");
}

/// A list of active orbitals is the window of the same orbitals in another order: cores first, then the active ones.
#[test]
fn listed_orbitals_are_the_window_of_reordered_integrals() {
    let mut random = Random(10);
    for (orbitals, up, down, list, core) in [
        (6, 3, 2, vec![3, 5, 6], vec![0, 1]),
        (6, 3, 3, vec![6, 2], vec![0, 2]),
        (5, 2, 1, vec![1, 2, 3, 4, 5], vec![]),
        (5, 0, 2, vec![5, 1, 2], vec![]),
        (5, 2, 2, vec![4], vec![0, 1]),
    ] {
        let integrals = random.integrals_with_irreps(orbitals, up, down);
        let window = OrbitalWindow::listed(orbitals, &list, (up, down)).unwrap();
        assert_eq!(window.core, core, "{list:?}");
        let mut active: Vec<usize> = list.iter().map(|number| number - 1).collect();
        active.sort_unstable();
        let rest = (0..orbitals).filter(|orbital| !core.contains(orbital) && !active.contains(orbital));
        let order: Vec<usize> = core.iter().chain(&active).copied().chain(rest).collect();
        let mut turned = Integrals::zero(orbitals);
        (turned.electrons, turned.two_sz, turned.core) = (integrals.electrons, integrals.two_sz, integrals.core);
        turned.irreps = order.iter().map(|orbital| integrals.irreps[*orbital]).collect();
        for p in 0..orbitals {
            for q in 0..=p {
                turned.one[ci::pair(p, q)] = integrals.one(order[p], order[q]);
                for (r, s) in (0..orbitals).flat_map(|r| (0..=r).map(move |s| (r, s))) {
                    let place = ci::pair(ci::pair(p, q), ci::pair(r, s));
                    turned.two[place] = integrals.two(order[p], order[q], order[r], order[s]);
                }
            }
        }
        let expected = OrbitalWindow::lowest(orbitals, core.len(), Some(active.len()), (up, down)).unwrap();
        assert_eq!(integrals.in_window(&window), turned.in_window(&expected), "{list:?}");
    }
    let refused = |list: &[usize]| OrbitalWindow::listed(6, list, (3, 2)).unwrap_err();
    assert!(refused(&[3, 7]).to_string().contains("from 1 to 6, the file's, each once, found 7"));
    assert!(refused(&[0, 3]).to_string().contains("found 0"));
    assert!(refused(&[3, 4, 3]).to_string().contains("found 3 twice"));
    assert!(refused(&[]).to_string().contains("found none"));
    assert!(matches!(refused(&[1, 2]), WindowError::Open { orbital: 3, .. }));
}

/// Frozen cores: the same as the determinants of all orbitals in which the core is full, energies included.
#[test]
fn freezing_is_restricting_the_determinants() {
    let mut random = Random(9);
    for (orbitals, up, down, frozen, kept) in [(5, 3, 2, 1, 4), (5, 3, 3, 2, 2), (4, 2, 2, 2, 1), (5, 2, 2, 0, 3)] {
        let integrals = random.integrals_with_irreps(orbitals, up, down);
        let window = integrals.in_window(&OrbitalWindow::lowest(orbitals, frozen, Some(kept), (up, down)).unwrap());
        assert_eq!(window.spins(), (up - frozen, down - frozen));
        assert_eq!(window.irreps, integrals.irreps[frozen..frozen + kept]);
        let space = Space::full(kept, up - frozen, down - frozen).unwrap();
        let core = (1 << frozen) - 1;
        let list: Vec<_> = (0..space.len())
            .map(|row| space.determinant(row))
            .map(|(up, down)| (up << frozen | core, down << frozen | core))
            .collect();
        let all = ci::matrix(&integrals, &Space::from_determinants(orbitals, &list).unwrap(), 0.0).unwrap();
        let small = ci::matrix(&window, &space, 0.0).unwrap();
        for row in 0..small.rows() {
            for column in 0..small.rows() as u32 {
                let core = if row == column as usize { (window.core, integrals.core) } else { (0.0, 0.0) };
                let difference = small.element(row, column) + core.0 - all.element(row, column) - core.1;
                assert!(difference.abs() < 1e-12, "{row} {column}: {difference:e}");
            }
        }
    }
    let refused = |frozen, kept| OrbitalWindow::lowest(4, frozen, kept, (3, 2)).unwrap_err().to_string();
    assert!(refused(3, None).contains("fill at most 2"));
    assert!(refused(0, Some(2)).contains("3 electrons of one spin"));
    assert!(refused(0, Some(5)).contains("there are 4"));
}
