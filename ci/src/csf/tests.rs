use super::spin_functions::SpinFunctions;
use super::*;
use crate::count::spin_functions;
use crate::integrals::{Integrals, pair};
use crate::matrix::{THRESHOLD, matrix};
use crate::spin::spins;
use crate::strings::Occupation;
use eigenforge_product::sparse::Csr;
use eigenforge_runtime::seeded;
use eigenforge_runtime::solvers::symmetric_eigen;
use ndarray::Array2;

/// Integrals without a pattern; those that irreps forbid are 0.
pub(super) fn random(orbitals: usize, irreps: &[u8], seed: u64) -> Integrals {
    let mut integrals = Integrals { irreps: irreps.to_vec(), ..Integrals::zero(orbitals) };
    let numbers = seeded::vector(integrals.one.len() + integrals.two.len(), seed);
    let mut numbers = numbers.into_iter();
    let irrep = |p: usize, q: usize| if irreps.is_empty() { 0 } else { (irreps[p] - 1) ^ (irreps[q] - 1) };
    let pairs: Vec<(usize, usize)> = (0..orbitals).flat_map(|p| (0..=p).map(move |q| (p, q))).collect();
    for (at, (p, q)) in pairs.iter().enumerate() {
        let value = numbers.next().unwrap();
        if irrep(*p, *q) == 0 {
            integrals.one[pair(*p, *q)] = value;
        }
        for (other, (r, s)) in pairs[..=at].iter().enumerate() {
            let value = numbers.next().unwrap();
            if irrep(*p, *q) == irrep(*r, *s) {
                integrals.two[pair(at, other)] = value;
            }
        }
    }
    integrals
}

pub(super) fn dense(matrix: &Csr) -> Vec<f64> {
    let n = matrix.rows();
    let mut found = vec![0.0; n * n];
    for row in 0..n {
        let (columns, values) = matrix.row(row);
        columns.iter().zip(values).for_each(|(column, value)| found[row * n + *column as usize] = *value);
    }
    found
}

fn spectrum(matrix: &Csr) -> Vec<f64> {
    symmetric_eigen(matrix.rows(), &dense(matrix)).unwrap().0
}

fn close(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() < tolerance, "{what}: {a} {b}");
    }
}

/// 2S that electrons in orbitals can have.
pub(super) fn possible(orbitals: usize, electrons: usize) -> impl Iterator<Item = usize> {
    (electrons % 2..=electrons.min(2 * orbitals - electrons)).step_by(2)
}

/// The functions of each pattern of open shells are orthonormal for every projection, and there are as many as the formula has.
#[test]
fn spin_functions_are_orthonormal() {
    for open in 0..=9 {
        for two_s in (open % 2..=open).step_by(2) {
            for two_m in (-(two_s as i64)..=two_s as i64).step_by(2) {
                let functions = SpinFunctions::new(open, two_s, two_m);
                assert_eq!(functions.count as u128, spin_functions(open, two_s).unwrap());
                let mut overlap = Array2::<f64>::zeros((functions.count, functions.count));
                for place in 0..functions.patterns.len() {
                    for (a, left) in functions.row(place) {
                        for (b, right) in functions.row(place) {
                            overlap[[usize::from(*a), usize::from(*b)]] += left * right;
                        }
                    }
                }
                let worst =
                    (overlap - Array2::<f64>::eye(functions.count)).iter().fold(0.0f64, |worst, x| worst.max(x.abs()));
                assert!(worst < 1e-14, "{open} {two_s} {two_m}: {worst}");
            }
        }
    }
}

/// Every function over determinants, doubly occupied orbitals between the open ones included, is normalised, orthogonal to the others, and
/// has S² = S (S + 1), for every projection.
#[test]
fn every_function_has_its_spin() {
    for (orbitals, electrons) in [(6, 6), (6, 7), (7, 5)] {
        for two_s in possible(orbitals, electrons) {
            let csfs = CsfSpace::full(orbitals, electrons, two_s).unwrap();
            let n = csfs.len() as usize;
            for two_sz in
                [two_s as i64, two_s as i64 - 2, -(two_s as i64)].into_iter().filter(|m| m.abs() <= two_s as i64)
            {
                let space = csfs.determinants(two_sz).unwrap();
                let mut all = Array2::zeros((n, space.len() as usize));
                for (at, mut row) in all.rows_mut().into_iter().enumerate() {
                    let mut unit = vec![0.0; n];
                    unit[at] = 1.0;
                    row.assign(&ndarray::Array1::from(csfs.to_determinants(&space, &unit).unwrap()));
                }
                let overlap = all.dot(&all.t()) - Array2::<f64>::eye(n);
                assert!(overlap.iter().all(|x| x.abs() < 1e-14), "{orbitals} {electrons} {two_s} {two_sz}");
                let s = two_s as f64 / 2.0;
                for spin in spins(&space, &all).unwrap() {
                    assert!((spin.square - s * (s + 1.0)).abs() < 1e-12, "{spin:?} {two_s} {two_sz}");
                }
            }
        }
    }
}

/// Of random integrals the levels of all spins, each 2S + 1 times, are those of all determinants; an element of H is that
/// of the determinants.
#[test]
fn levels_of_all_spins_are_those_of_the_determinants() {
    for (orbitals, electrons, seed) in [(4usize, 3usize, 1), (4, 4, 2), (4, 6, 3), (5, 4, 4), (5, 5, 5)] {
        let integrals = random(orbitals, &[], seed);
        let lowest = (electrons % 2) as i64;
        let space = Space::full(orbitals, electrons.div_ceil(2), electrons / 2).unwrap();
        let whole = spectrum(&matrix(&integrals, &space, THRESHOLD).unwrap());
        let mut levels = Vec::new();
        for two_s in possible(orbitals, electrons) {
            let csfs = CsfSpace::full(orbitals, electrons, two_s).unwrap();
            let made = csfs.matrix(&integrals).unwrap();
            made.check_symmetric(0.0).unwrap();
            levels.extend(spectrum(&made));
            // C^T H C of the determinants, element by element.
            let determinants = csfs.determinants(lowest).unwrap();
            let of_determinants = matrix(&integrals, &determinants, THRESHOLD).unwrap();
            let n = csfs.len() as usize;
            let mut transform = Array2::zeros((n, determinants.len() as usize));
            for (at, mut row) in transform.rows_mut().into_iter().enumerate() {
                let mut unit = vec![0.0; n];
                unit[at] = 1.0;
                row.assign(&ndarray::Array1::from(csfs.to_determinants(&determinants, &unit).unwrap()));
            }
            let m = of_determinants.rows();
            let h = Array2::from_shape_vec((m, m), dense(&of_determinants)).unwrap();
            let expected = transform.dot(&h).dot(&transform.t());
            close(&dense(&made), expected.as_slice().unwrap(), 1e-11, "elements");
            assert_eq!(
                census(&integrals, &csfs, true).non_zeros,
                u128::from(made.non_zeros()),
                "{orbitals} {electrons} {two_s}"
            );
        }
        levels.sort_by(f64::total_cmp);
        close(&levels, &whole, 1e-10, "levels");
        let states: u128 = possible(orbitals, electrons)
            .map(|two_s| (two_s as u128 + 1) * u128::from(CsfSpace::full(orbitals, electrons, two_s).unwrap().len()))
            .sum();
        let all: u128 = (0..=electrons.min(orbitals))
            .filter(|up| electrons - up <= orbitals)
            .map(|up| u128::from(Space::full(orbitals, up, electrons - up).unwrap().len()))
            .sum();
        assert_eq!(states, all);
    }
}

/// A space up to a level has the levels of its determinants that have the spin; a list of these gives the same functions, in irreps too.
#[test]
fn levels_of_excitation_and_lists_agree_with_determinants() {
    let irreps = [1, 2, 1, 3, 2, 1];
    let integrals = random(6, &irreps, 9);
    for (electrons, two_s, level, irrep) in
        [(6, 0, 2, None), (6, 2, 2, None), (5, 1, 2, Some(2)), (4, 2, 1, None), (5, 3, 3, Some(1))]
    {
        let mut csfs = CsfSpace::excitations(6, electrons, two_s, level).unwrap();
        let reference = Reference::high_spin(electrons, two_s);
        let counts = StateCounts::configuration_state_functions(6, electrons, two_s, reference, &irreps).unwrap();
        let expected = irrep.map_or(counts.cumulative(), |irrep| counts.cumulative_in_irrep(irrep))[level];
        if let Some(irrep) = irrep {
            csfs = csfs.in_irrep(&irreps, irrep).unwrap();
        }
        assert_eq!(u128::from(csfs.len()), expected);
        let space = csfs.determinants(two_s as i64).unwrap();
        let all: Vec<(Occupation, Occupation)> = (0..space.len()).map(|row| space.determinant(row)).collect();
        let own = spectrum(&csfs.matrix(&integrals).unwrap());
        let whole = matrix(&integrals, &space, THRESHOLD).unwrap();
        let n = whole.rows();
        let (energies, states) = symmetric_eigen(n, &dense(&whole)).unwrap();
        let vectors = Array2::from_shape_vec((n, n), states.concat()).unwrap();
        let of_spin = energies.iter().zip(spins(&space, &vectors).unwrap()).filter(|(_, spin)| spin.two_s == two_s);
        close(&own, &of_spin.map(|(energy, _)| *energy).collect::<Vec<_>>(), 1e-10, "levels");
        let list = Space::from_determinants(6, &all).unwrap();
        let listed = CsfSpace::from_space(&list, two_s).unwrap();
        close(&spectrum(&listed.matrix(&integrals).unwrap()), &own, 1e-10, "a list");
        // Without one determinant of an open configuration it is refused.
        let open = all.iter().position(|(up, down)| (up ^ down).count_ones() as usize > two_s).unwrap();
        let fewer: Vec<_> = all.iter().enumerate().filter(|(at, _)| *at != open).map(|(_, pair)| *pair).collect();
        let error = CsfSpace::from_space(&Space::from_determinants(6, &fewer).unwrap(), two_s).unwrap_err();
        let string = |word: Occupation| (0..6).map(|p| if word >> p & 1 == 1 { '1' } else { '0' }).collect::<String>();
        let missing = format!("lacks `{} {}`", string(all[open].0), string(all[open].1));
        assert!(error.to_string().contains(&missing), "{error}, {missing}");
    }
}

/// Restricted orbitals: as many functions as the formula has, and the levels of the determinants by spin; with all holes and electrons
/// allowed they are those of the full space.
#[test]
fn restricted_active_spaces_agree_with_determinants() {
    let irreps = [1, 2, 1, 3, 2, 1];
    let integrals = random(6, &irreps, 12);
    for (electrons, two_s, ras, irrep) in [
        (6, 0, [2, 1, 2, 1], None),
        (6, 2, [1, 1, 3, 2], None),
        (5, 1, [2, 2, 2, 2], Some(2)),
        (4, 0, [0, 0, 4, 1], None),
        (7, 3, [3, 2, 0, 0], Some(1)),
        (6, 0, [3, 6, 3, 6], None),
    ] {
        let [ras1, holes, ras3, most] = ras;
        let ras = RestrictedActiveSpace { ras1, holes, ras3, electrons: most };
        let mut csfs = CsfSpace::ras(6, electrons, two_s, ras).unwrap();
        assert_eq!(u128::from(csfs.len()), csfs.count().unwrap(), "{ras}");
        if let Some(irrep) = irrep {
            csfs = csfs.in_irrep(&irreps, irrep).unwrap();
        }
        let space = csfs.determinants(two_s as i64).unwrap();
        let whole = matrix(&integrals, &space, THRESHOLD).unwrap();
        let n = whole.rows();
        let (energies, states) = symmetric_eigen(n, &dense(&whole)).unwrap();
        let vectors = Array2::from_shape_vec((n, n), states.concat()).unwrap();
        let of_spin = energies.iter().zip(spins(&space, &vectors).unwrap()).filter(|(_, spin)| spin.two_s == two_s);
        let own = spectrum(&csfs.matrix(&integrals).unwrap());
        close(&own, &of_spin.map(|(energy, _)| *energy).collect::<Vec<_>>(), 1e-10, &ras.to_string());
        // The functions of the determinants as a list.
        let listed = CsfSpace::from_space(&space, two_s).unwrap();
        close(&spectrum(&listed.matrix(&integrals).unwrap()), &own, 1e-10, "a list");
        if holes == 2 * ras1 && most == 2 * ras3 {
            assert_eq!(csfs.len(), CsfSpace::full(6, electrons, two_s).unwrap().len());
        }
    }
}

/// Products of moves that are not kept give the same matrix.
#[test]
fn rows_of_a_part_are_those_of_the_whole() {
    let integrals = random(6, &[], 4);
    let csfs = CsfSpace::full(6, 6, 0).unwrap();
    let whole = csfs.matrix(&integrals).unwrap();
    let part = csfs.matrix_rows(&integrals, 20..91).unwrap();
    for row in 0..whole.rows() {
        let expected = if (20..91).contains(&row) { whole.row(row) } else { (&[][..], &[][..]) };
        assert_eq!(part.row(row), expected, "{row}");
    }
}

/// A guess of all rows is the lowest state.
#[test]
fn a_guess_of_a_small_space_is_its_lowest_state() {
    let integrals = random(5, &[], 6);
    let csfs = CsfSpace::full(5, 5, 1).unwrap();
    let guess = csfs.guess(&integrals).unwrap();
    assert_eq!((guess.len() as u64, csfs.guess_rows(&integrals)), (csfs.len(), guess.len()));
    let h = dense(&csfs.matrix(&integrals).unwrap());
    let (n, lowest) = (guess.len(), symmetric_eigen(guess.len(), &h).unwrap().0[0]);
    for (row, (place, x)) in guess.iter().enumerate() {
        let y: f64 = h[row * n..(row + 1) * n].iter().zip(&guess).map(|(h, (_, x))| h * x).sum();
        assert!(*place == row as u64 && (y - lowest * x).abs() < 1e-10);
    }
}

#[test]
fn spins_and_projections_that_cannot_be_are_refused() {
    let text = |error: CsfError| error.to_string();
    let error = text(CsfSpace::full(4, 6, 4).unwrap_err());
    assert!(error.contains("cannot have 2S = 4: expected a number from 0 to 2 in steps of 2"), "{error}");
    assert!(text(CsfSpace::full(4, 7, 0).unwrap_err()).contains("cannot have 2S = 0: expected 1"));
    let error = text(CsfSpace::full(4, 4, 2).unwrap().determinants(4).unwrap_err());
    assert!(error.contains("two_sz = 4 is not a projection of 2S = 2"), "{error}");
    assert!(text(CsfSpace::full(4, 4, 2).unwrap().determinants(1).unwrap_err()).contains("two_sz = 1"));
    let error = text(CsfSpace::excitations(17, 16, 14, 1).unwrap_err());
    assert!(error.contains("16 singly occupied orbitals, and spins of at most 14 are coupled"), "{error}");
}
