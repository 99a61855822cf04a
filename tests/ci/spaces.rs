//! Determinant spaces: order, counts, files, refusals.

use super::random::Random;
use eigenforge::ci::{
    self, CiHamiltonian, Integrals, MatrixError, RestrictedActiveSpace, Space, StateCounts, matrix_element,
};

#[test]
fn rows_are_ordered_and_numbered_both_ways() {
    let mut random = Random(5);
    for (orbitals, up, down) in [(1, 0, 0), (4, 4, 0), (5, 2, 3), (6, 3, 3), (7, 2, 1)] {
        let irreps: Vec<u8> = (0..orbitals).map(|_| 1 + random.below(8) as u8).collect();
        let occupied = |word: u128| (0..orbitals).filter(move |p| word >> p & 1 == 1);
        let product = |word| occupied(word).fold(0, |product, p| product ^ (irreps[p] - 1));
        let level_of = |(a, b): (u128, u128)| (a >> up).count_ones() + (b >> down).count_ones();
        for level in [None, Some(0), Some(1), Some(2), Some(3), Some(100)] {
            let space = match level {
                None => Space::full(orbitals, up, down).unwrap(),
                Some(level) => Space::excitations(orbitals, up, down, level).unwrap(),
            };
            let key = |row| {
                let pair: (u128, u128) = space.determinant(row);
                (level.map_or(0, |_| level_of(pair)), pair.0, pair.1)
            };
            for row in 0..space.len() {
                assert!(row == 0 || key(row - 1) < key(row));
                assert_eq!(space.row(key(row).1, key(row).2), Some(row));
            }
            let counts = StateCounts::determinants(orbitals, up, down, &irreps).unwrap();
            let at = level.unwrap_or(up + down).min(up + down);
            assert_eq!(u128::from(space.len()), counts.cumulative()[at]);
            for irrep in 1..=8 {
                let expected = counts.cumulative_in_irrep(irrep)[at];
                match space.clone().in_irrep(&irreps, irrep) {
                    Ok(block) => {
                        assert_eq!(u128::from(block.len()), expected);
                        let kept = (0..space.len()).map(|row| space.determinant(row));
                        let kept = kept.filter(|(up, down)| 1 + (product(*up) ^ product(*down)) == irrep);
                        assert!(kept.eq((0..block.len()).map(|row| block.determinant(row))), "order of irrep {irrep}");
                    }
                    Err(error) => assert!(expected == 0 && error.to_string().contains("no determinant"), "{error}"),
                }
            }
        }
    }
}

/// Restricted orbitals: the determinants of the full space that they allow, whole and by irrep, by holes, electrons and strings; H is the
/// full space's among them.
#[test]
fn restricted_active_spaces_are_what_they_allow_of_the_full_space() {
    let mut random = Random(6);
    for (orbitals, up, down) in [(1, 1, 0), (4, 2, 2), (5, 3, 2), (6, 3, 3), (6, 1, 4)] {
        let integrals = random.integrals_with_irreps(orbitals, up, down);
        let full = Space::full(orbitals, up, down).unwrap();
        for _ in 0..12 {
            let ras1 = random.below(orbitals + 1);
            let ras3 = random.below(orbitals - ras1 + 1);
            let most = |random: &mut Random, orbitals: usize| random.below(2 * orbitals + 1);
            let (holes, electrons) = (most(&mut random, ras1), most(&mut random, ras3));
            let ras = RestrictedActiveSpace { ras1, holes, ras3, electrons };
            let count = |word: u128, orbitals: std::ops::Range<usize>| orbitals.filter(|p| word >> p & 1 == 1).count();
            let counts = |(up, down): (u128, u128)| {
                let held = |range: std::ops::Range<usize>| count(up, range.clone()) + count(down, range);
                (2 * ras1 - held(0..ras1), held(orbitals - ras3..orbitals))
            };
            let allowed = |pair: &(u128, u128)| counts(*pair).0 <= holes && counts(*pair).1 <= electrons;
            let mut expected: Vec<_> = (0..full.len()).map(|row| full.determinant(row)).filter(allowed).collect();
            expected.sort_by_key(|pair| (counts(*pair), *pair));
            let space = match Space::ras(orbitals, up, down, ras) {
                Ok(space) => space,
                Err(error) => {
                    assert!(expected.is_empty() && error.to_string().contains("no determinant of"), "{error}");
                    continue;
                }
            };
            let found: Vec<_> = (0..space.len()).map(|row| space.determinant(row)).collect();
            assert_eq!(found, expected, "{ras}");
            assert!(!space.is_complete() && !space.is_list());
            let cut = (1..=8).filter_map(|irrep| space.clone().in_irrep(&integrals.irreps, irrep).ok());
            assert_eq!(cut.map(|cut| cut.len()).sum::<u64>(), space.len());
            let rows = CiHamiltonian::new(&integrals, &space, 0.0).unwrap();
            let matrix = rows.matrix().unwrap();
            for (row, pair) in found.iter().enumerate() {
                let (columns, values) = matrix.row(row);
                let mut of_row = vec![0.0; found.len()];
                columns.iter().zip(values).for_each(|(column, value)| of_row[*column as usize] = *value);
                for (other, value) in found.iter().zip(of_row) {
                    assert!((value - matrix_element(&integrals, *pair, *other)).abs() < 1e-12, "{ras}");
                }
            }
        }
    }
}

#[test]
fn restricted_orbitals_that_cannot_be_are_refused() {
    let refused = |ras1, holes, ras3, electrons| {
        Space::ras(6, 3, 3, RestrictedActiveSpace { ras1, holes, ras3, electrons }).unwrap_err().to_string()
    };
    assert!(refused(4, 1, 3, 1).contains("ras1 = 4 and ras3 = 3 of 6 orbitals: expected at most 6 together"));
    assert!(refused(usize::MAX, 1, 3, 1).contains("expected at most 6 together"));
    assert!(refused(2, 5, 2, 1).contains("holes = 5 in ras1 = 2 orbitals: expected at most 4"));
    assert!(refused(2, 1, 2, 5).contains("electrons = 5 in ras3 = 2 orbitals: expected at most 4"));
    assert!(refused(4, 1, 2, 4).contains("no determinant of 3 + 3 electrons in 6 orbitals is in a RAS"));
}

/// Over 65,535 strings a spin, and orbitals past 64.
#[test]
fn many_strings() {
    let space = Space::full(20, 10, 1).unwrap();
    assert_eq!((space.alpha().words().len(), space.len()), (184_756, 184_756 * 20));
    let last = space.determinant(space.len() - 1);
    assert_eq!(last, (0b1111111111 << 10, 1 << 19));
    assert_eq!(space.row(last.0, last.1), Some(space.len() - 1));
    let wide = Space::excitations(128, 2, 2, 2).unwrap();
    assert_eq!(u128::from(wide.len()), StateCounts::determinants(128, 2, 2, &[]).unwrap().cumulative()[2]);
    let (up, down) = wide.determinant(wide.len() - 1);
    assert_eq!(wide.row(up, down), Some(wide.len() - 1));
    assert_eq!(up, 3 << 126);
}

/// Rows of a space of 92,378 α strings, every element against Slater and Condon's rules, and none missing: of dense
/// integrals 9 · 10 + 18 singles, C(9, 2) C(10, 2) and 90 · 18 doubles and the diagonal.
#[test]
fn rows_among_many_strings() {
    let mut random = Random(65_536);
    let integrals = random.integrals(19, 9, 1);
    let space = Space::full(19, 9, 1).unwrap();
    let hamiltonian = CiHamiltonian::new(&integrals, &space, 0.0).unwrap();
    for row in [0, 65_536 * 19 + 7, 92_377 * 19 + 18, random.below(92_378 * 19) as u64] {
        let determinant = space.determinant(row);
        let mut columns = Vec::new();
        hamiltonian.for_each(row, |column, value| {
            let expected = matrix_element(&integrals, determinant, space.determinant(column));
            assert!((value - expected).abs() < 1e-12, "({row}, {column}) is {value}, expected {expected}");
            columns.push(column);
        });
        columns.sort_unstable();
        columns.dedup();
        assert_eq!(columns.len(), 1 + 90 + 18 + 36 * 45 + 90 * 18, "row {row}");
        assert!(columns.binary_search(&row).is_ok());
    }
}

#[test]
fn a_matrix_of_orbitals_past_64() {
    // A chain of 100 orbitals, one electron: the tight-binding matrix −t (|p⟩⟨p+1| + h.c.).
    let mut integrals = Integrals::zero(100);
    integrals.electrons = 1;
    integrals.two_sz = 1;
    for p in 1..100 {
        integrals.one[ci::pair(p, p - 1)] = -1.0;
    }
    let matrix = ci::matrix(&integrals, &Space::full(100, 1, 0).unwrap(), 1e-12).unwrap();
    assert_eq!((matrix.rows(), matrix.non_zeros()), (100, 198));
    assert_eq!((matrix.element(98, 99), matrix.element(64, 63), matrix.element(5, 5)), (-1.0, -1.0, 0.0));
}

#[test]
fn what_cannot_be_is_refused_with_numbers() {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    assert!(text(&Space::full(129, 1, 1).unwrap_err()).contains("129 orbitals"));
    assert!(text(&Space::full(3, 4, 1).unwrap_err()).contains("4 α and 1 β"));
    assert!(text(&Space::full(128, 64, 1).unwrap_err()).contains("23951146041928082866135587776380551750 strings"));
    assert!(text(&Space::full(40, 20, 1).unwrap_err()).contains("137846528820 strings"));
    let space = || Space::full(3, 1, 1).unwrap();
    assert!(text(&space().in_irrep(&[], 1).unwrap_err()).contains("ORBSYM"));
    assert!(text(&space().in_irrep(&[1, 1], 1).unwrap_err()).contains("2 irreps for 3"));
    assert!(text(&space().in_irrep(&[1, 1, 1], 2).unwrap_err()).contains("irrep 2"));
    assert!(text(&space().in_irrep(&[1, 1, 9], 1).unwrap_err()).contains("irrep 9"));
    assert!(text(&space().reference_irrep(&[]).unwrap_err()).contains("ORBSYM"));
    assert_eq!(Space::full(3, 2, 1).unwrap().reference_irrep(&[1, 4, 3]).unwrap(), 4);
    let cut = space().in_irrep(&[1, 2, 1], 1).unwrap();
    assert!(text(&cut.in_irrep(&[1, 2, 1], 2).unwrap_err()).contains("already"));
    assert!(text(&space().in_irrep(&[1, 1, 1], 0).unwrap_err()).contains("irrep 0"));
    for spoil in [
        |integrals: &mut Integrals| integrals.irreps = vec![1, 2],
        |integrals: &mut Integrals| integrals.irreps = vec![1, 2, 0],
        |integrals: &mut Integrals| integrals.one.truncate(5),
        |integrals: &mut Integrals| integrals.two.push(0.0),
    ] {
        let mut integrals = Integrals::zero(3);
        spoil(&mut integrals);
        assert!(text(&ci::matrix(&integrals, &space(), 0.0).unwrap_err()).contains("6 one-electron"));
    }
    let integrals = Integrals::zero(4);
    assert!(matches!(ci::matrix(&integrals, &space(), 0.0), Err(MatrixError::Orbitals { integrals: 4, space: 3 })));
    for threshold in [-1.0, f64::NAN, f64::INFINITY] {
        let refused = ci::matrix(&Integrals::zero(3), &space(), threshold);
        assert!(matches!(refused, Err(MatrixError::Threshold { .. })));
    }
    // 75,582² rows are more than 32 bits tell apart.
    let large = Space::full(19, 8, 8).unwrap();
    let rows = ci::matrix(&Integrals::zero(19), &large, 0.0).unwrap_err();
    assert!(text(&rows).contains(&large.len().to_string()), "{rows}");
    assert!(text(&Space::from_determinants(3, &[]).unwrap_err()).contains("no determinants"));
    assert!(
        text(&Space::from_determinants(3, &[(1, 1), (2, 1), (1, 1)]).unwrap_err())
            .contains("3 of the list repeats determinant 1")
    );
    assert!(text(&Space::from_determinants(3, &[(1, 1), (8, 1)]).unwrap_err()).contains("3 orbitals"));
    assert!(text(&Space::from_determinants(3, &[(1, 1), (3, 1)]).unwrap_err()).contains("2 α"));
}

#[test]
fn files_of_determinants() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("determinants.txt");
    let read = |text: &str| {
        std::fs::write(&path, text).unwrap();
        Space::from_file(&path)
    };
    let space = read("# two\n1100 1010 # the first\n\n 0110\t1010\n").unwrap();
    assert_eq!((space.orbitals(), space.len()), (4, 2));
    assert_eq!(space.determinant(0), (0b0011, 0b0101));
    assert_eq!(space.determinant(1), (0b0110, 0b0101));
    let refused = |text: &str, words: &[&str]| {
        let message = read(text).unwrap_err().to_string();
        assert!(words.iter().all(|word| message.contains(word)), "{message}");
    };
    refused("", &["determinants.txt", "no determinants"]);
    refused("1100\n", &["line 1", "`1100`"]);
    refused("1100 1010\n0110 1010", &["line 2", "line feed"]);
    refused("# determinants = 3\n1100 1010\n0110 1010\n", &["2 determinants instead of the 3"]);
    assert_eq!(read("1100 1010\n# determinants = 2\n0110 1010\n").unwrap().len(), 2);
    refused("1100 1010 1\n", &["line 1"]);
    refused("1100 1020\n", &["line 1", "1020"]);
    refused("110 1010\n", &["line 1", "4 orbitals"]);
    refused("1100 1010\n11000 10100\n", &["line 2", "5 orbitals", "has 4"]);
    refused("1100 1010\n1110 1010\n", &["line 2", "(3, 2)", "(2, 2)"]);
    refused("1100 1010\n\n1100 1010\n", &["line 3", "line 1"]);
    let long = "1".repeat(129);
    refused(&format!("{long} {long}\n"), &["129 orbitals"]);
    assert!(Space::from_file(folder.path().join("none")).unwrap_err().to_string().contains("none"));
}

/// A random list of determinants up to some excitations of the lowest one.
fn list(random: &mut Random, orbitals: usize, (up, down): (usize, usize), size: usize) -> Vec<(u128, u128)> {
    let mut found = std::collections::BTreeSet::new();
    let mut string = |electrons: usize, moves: usize| {
        let mut word = (1u128 << electrons) - 1;
        for _ in 0..moves {
            let (from, to) = (random.below(orbitals), random.below(orbitals));
            if word >> from & 1 == 1 && word >> to & 1 == 0 {
                word ^= 1 << from | 1 << to;
            }
        }
        word
    };
    for k in 0..20 * size {
        if found.len() < size {
            found.insert((string(up, k % 7), string(down, k / 7 % 7)));
        }
    }
    let mut list: Vec<_> = found.into_iter().collect();
    random.shuffle(&mut list);
    list
}

/// Every element of the matrix of a list is that of Slater and Condon, whatever links its strings.
#[test]
fn the_matrix_of_a_list_is_that_of_all_pairs() {
    let mut random = Random(11);
    for (orbitals, electrons, size) in
        [(4, (2, 1), 9), (6, (3, 3), 60), (7, (1, 0), 7), (9, (4, 5), 250), (20, (7, 6), 150), (70, (30, 28), 150)]
    {
        let integrals = random.integrals_with_irreps(orbitals, electrons.0, electrons.1);
        let list = list(&mut random, orbitals, electrons, size);
        let mut spaces = vec![Space::from_determinants(orbitals, &list).unwrap()];
        let irrep = spaces[0].reference_irrep(&integrals.irreps).unwrap();
        spaces.extend(spaces[0].clone().in_irrep(&integrals.irreps, irrep));
        for space in spaces {
            let matrix = ci::matrix(&integrals, &space, 0.0).unwrap();
            let mut others = 0;
            for row in 0..space.len() {
                for column in 0..space.len() {
                    let expected = matrix_element(&integrals, space.determinant(row), space.determinant(column));
                    let found = matrix.element(row as usize, column as u32);
                    assert!(
                        (found - expected).abs() < 1e-12 * orbitals as f64,
                        "{orbitals}: {row} {column}: {found} {expected}"
                    );
                    others += usize::from(row != column && expected != 0.0);
                }
            }
            assert!(others > 0 || size < 10, "{orbitals} orbitals: no links");
        }
    }
}
