//! Density matrices: every element against operators on Fock space, energies of eigenvectors, traces, frozen cores,
//! files.

use super::operator::stacked;
use super::oracle::act;
use super::random::Random;
use super::{data, operator};
use eigenforge::ci::{
    self, DensityError, Integrals, OneBody, OneElectron, OrbitalWindow, Space, SpinTwoBody, TwoBody, natural_orbitals,
    write_densities,
};
use ndarray::ArrayView1;
use std::collections::HashMap;

/// The same bits on one thread, two and five, in every kind of space.
#[test]
fn the_number_of_threads_changes_no_bit() {
    let mut random = Random(31);
    let full = Space::full(7, 4, 3).unwrap();
    for space in [Space::excitations(8, 3, 3, 3).unwrap(), full] {
        let states = [random.vector(space.len()), random.vector(space.len())];
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let (one, two) = pool.install(|| {
                (OneBody::new(&space, &stacked(&states)).unwrap(), TwoBody::new(&space, &stacked(&states)).unwrap())
            });
            let values = one.alpha.iter().chain(&one.beta).chain(&two.values);
            values.map(|value| value.to_bits()).collect::<Vec<_>>()
        };
        let expected = run(1);
        assert!(run(2) == expected && run(5) == expected, "the last digits depend on the number of threads");
    }
}

/// A vector as amplitudes of words of 2n modes, α below β; of norm 1.
fn amplitudes(space: &Space, vector: &[f64]) -> HashMap<u64, f64> {
    let norm = vector.iter().map(|value| value * value).sum::<f64>().sqrt();
    let amplitude = |(row, value): (usize, &f64)| {
        let (up, down) = space.determinant(row as u64);
        (up as u64 | (down as u64) << space.orbitals(), value / norm)
    };
    vector.iter().enumerate().map(amplitude).collect()
}

/// ⟨bra|operators|ket⟩, the first to act first.
fn expectation(bra: &HashMap<u64, f64>, ket: &HashMap<u64, f64>, operators: &[(bool, usize)]) -> f64 {
    let term = |(state, value): (&u64, &f64)| {
        let (image, sign) = act(*state, operators)?;
        Some(sign * value * bra.get(&image)?)
    };
    ket.iter().filter_map(term).sum()
}

#[track_caller]
fn close(what: &str, found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "{what}: {found} instead of {expected}");
}

fn check_one_body(found: &OneBody, bra: &HashMap<u64, f64>, ket: &HashMap<u64, f64>, what: &str) {
    let n = found.orbitals();
    for (matrix, spin) in [(&found.alpha, 0), (&found.beta, n)] {
        for p in 0..n {
            for q in 0..n {
                let expected = expectation(bra, ket, &[(false, q + spin), (true, p + spin)]);
                close(&format!("{what}: γ {p} {q}"), matrix[[p, q]], expected, 1e-13);
            }
        }
    }
}

/// All matrices of random vectors in a space.
fn check(random: &mut Random, space: &Space, what: &str) {
    let n = space.orbitals();
    let (bra, ket) = (random.vector(space.len()), random.vector(space.len()));
    let (left, right) = (amplitudes(space, &bra), amplitudes(space, &ket));
    check_one_body(&OneBody::new(space, &stacked(&[&ket])).unwrap(), &right, &right, what);
    let moved = OneBody::transition(space, &ArrayView1::from(&bra), &ArrayView1::from(&ket)).unwrap();
    check_one_body(&moved, &left, &right, what);
    close(what, moved.overlap, expectation(&left, &right, &[]), 1e-13);
    let two = TwoBody::new(space, &stacked(&[&ket])).unwrap();
    assert_eq!(two.values.len(), n.pow(4));
    for k in 0..n.pow(4) {
        let [p, q, r, s] = [k / n.pow(3), k / n.pow(2) % n, k / n % n, k % n];
        let spins = [(0, 0), (0, n), (n, 0), (n, n)];
        let operators = |(a, b)| [(false, q + a), (false, s + b), (true, r + b), (true, p + a)];
        let expected = spins.map(|spins| expectation(&right, &right, &operators(spins))).iter().sum();
        close(&format!("{what}: Γ {p} {q} {r} {s}"), two.values[[p, q, r, s]], expected, 1e-13);
    }
    let by_spin = SpinTwoBody::new(space, &stacked(&[&ket])).unwrap();
    let sum = |p, q, r, s| {
        let one_spin = by_spin.alpha[[p, q, r, s]] + by_spin.beta[[p, q, r, s]];
        one_spin + by_spin.mixed[[p, q, r, s]] + by_spin.mixed[[r, s, p, q]]
    };
    two.values.indexed_iter().for_each(|((p, q, r, s), value)| close(what, sum(p, q, r, s), *value, 1e-13));
    check_traces(
        space,
        &OneBody::new(space, &stacked(&[&bra, &ket])).unwrap(),
        &TwoBody::new(space, &stacked(&[&bra, &ket])).unwrap(),
        what,
    );
}

/// tr γ^σ = n_σ, Σ_r Γ_pqrr = (N − 1) γ_pq.
fn check_traces(space: &Space, one: &OneBody, two: &ci::TwoBody, what: &str) {
    let n = one.orbitals();
    let (up, down) = (space.alpha().electrons() as f64, space.beta().electrons() as f64);
    for (matrix, electrons) in [(&one.alpha, up), (&one.beta, down)] {
        close(what, (0..n).map(|p| matrix[[p, p]]).sum(), electrons, 1e-11);
    }
    for ((p, q), value) in one.total().indexed_iter() {
        let contracted = (0..n).map(|r| two.values[[p, q, r, r]]).sum();
        close(what, contracted, (up + down - 1.0) * value, 1e-10);
    }
}

#[test]
fn every_element_is_that_of_second_quantisation() {
    let mut random = Random(20261121);
    for (orbitals, up, down) in
        [(1, 1, 0), (1, 1, 1), (2, 1, 1), (3, 2, 1), (3, 0, 2), (3, 3, 3), (4, 2, 2), (4, 1, 3), (4, 4, 1), (3, 0, 0)]
    {
        let what = format!("{orbitals} orbitals, {up} up, {down} down");
        let full = Space::full(orbitals, up, down).unwrap();
        check(&mut random, &full, &what);
        for level in 0..3 {
            let space = Space::excitations(orbitals, up, down, level).unwrap();
            check(&mut random, &space, &format!("{what}, level {level}"));
        }
        let mut list: Vec<_> = (0..full.len()).map(|row| full.determinant(row)).collect();
        random.shuffle(&mut list);
        list.truncate(list.len().div_ceil(2));
        check(&mut random, &Space::from_determinants(orbitals, &list).unwrap(), &format!("{what}, listed"));
        let irreps: Vec<u8> = (0..orbitals).map(|_| 1 + random.below(4) as u8).collect();
        for irrep in 1..=4 {
            for space in [full.clone(), Space::excitations(orbitals, up, down, 2).unwrap()] {
                if let Ok(block) = space.in_irrep(&irreps, irrep) {
                    check(&mut random, &block, &format!("{what}, irrep {irrep}"));
                }
            }
        }
    }
}

/// Lowest states with energies and densities; total energies of the states from γ and Γ.
fn check_energies(integrals: &Integrals, space: &Space, states: usize, what: &str) {
    let matrix = ci::matrix(integrals, space, 0.0).unwrap();
    let (values, vectors) = operator::lowest_states(matrix, states);
    let total: Vec<f64> = values.iter().map(|value| value + integrals.core).collect();
    for (value, vector) in total.iter().zip(&vectors) {
        let (one, two) =
            (OneBody::new(space, &stacked(&[vector])).unwrap(), TwoBody::new(space, &stacked(&[vector])).unwrap());
        close(what, two.energy(&one, integrals).unwrap(), *value, 1e-10);
        check_traces(space, &one, &two, what);
    }
    let one = OneBody::new(space, &stacked(&vectors)).unwrap();
    let by_spin = SpinTwoBody::new(space, &stacked(&vectors)).unwrap();
    let average = total.iter().sum::<f64>() / total.len() as f64;
    close(&format!("{what}, average by spin"), by_spin.energy(&one, integrals).unwrap(), average, 1e-10);
    let two = TwoBody::new(space, &stacked(&vectors)).unwrap();
    close(&format!("{what}, average"), two.energy(&one, integrals).unwrap(), average, 1e-10);
}

/// Energies of unrestricted orbitals from densities by spin, in the active orbitals and with the frozen ones.
#[test]
fn densities_by_spin_of_unrestricted_orbitals() {
    let mut random = Random(53);
    for (orbitals, up, down, list) in
        [(4, 2, 2, vec![1, 2, 3, 4]), (6, 4, 3, vec![2, 4, 5, 6]), (5, 2, 3, vec![3, 4, 5])]
    {
        let integrals = random.unrestricted(orbitals, up, down);
        let window = OrbitalWindow::listed(orbitals, &list, (up, down)).unwrap();
        let own = integrals.in_window(&window);
        let cores = window.core.len();
        let space = Space::full(own.orbitals, up - cores, down - cores).unwrap();
        let matrix = ci::matrix(&own, &space, 0.0).unwrap();
        let (values, vectors) = operator::lowest_states(matrix, 2);
        for (value, vector) in values.iter().zip(&vectors) {
            let one = OneBody::new(&space, &stacked(&[vector])).unwrap();
            let two = SpinTwoBody::new(&space, &stacked(&[vector])).unwrap();
            close("active orbitals", two.energy(&one, &own).unwrap(), value + own.core, 1e-10);
            let all = two.in_all_orbitals(&one, &window).unwrap();
            let one = one.in_all_orbitals(&window).unwrap();
            close("all orbitals", all.energy(&one, &integrals).unwrap(), value + own.core, 1e-10);
        }
    }
}

#[test]
fn energies_of_molecules_from_their_density_matrices() {
    for case in data::energies() {
        let integrals = data::integrals(&case.id);
        let (up, down) = integrals.spins();
        if case.fci_dim <= 1300 {
            check_energies(&integrals, &Space::full(case.norb, up, down).unwrap(), 3, &case.id);
        }
        let space = Space::excitations(case.norb, up, down, 2).unwrap();
        let irrep = space.reference_irrep(&integrals.irreps).unwrap();
        let space = space.in_irrep(&integrals.irreps, irrep).unwrap();
        check_energies(&integrals, &space, 2, &format!("{} CISD", case.id));
    }
}

/// Vectors that span one level in another way give the same average; lengths do not count.
#[test]
fn averages_do_not_depend_on_the_vectors_of_a_level() {
    let mut random = Random(4);
    let space = Space::excitations(5, 3, 2, 3).unwrap();
    let (a, mut b) = (random.vector(space.len()), random.vector(space.len()));
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let along = dot(&a, &b) / dot(&a, &a);
    b.iter_mut().zip(&a).for_each(|(b, a)| *b -= along * a);
    let (la, lb) = (dot(&a, &a).sqrt(), dot(&b, &b).sqrt());
    let mix = |x: f64, y: f64| -> Vec<f64> { a.iter().zip(&b).map(|(a, b)| x * a / la + y * b / lb).collect() };
    let (one, two) =
        (OneBody::new(&space, &stacked(&[&a, &b])).unwrap(), TwoBody::new(&space, &stacked(&[&a, &b])).unwrap());
    let turned = [mix(0.6, -0.8), mix(0.8, 0.6)];
    let (other_one, other_two) =
        (OneBody::new(&space, &stacked(&turned)).unwrap(), TwoBody::new(&space, &stacked(&turned)).unwrap());
    let pairs = one.alpha.iter().zip(&other_one.alpha).chain(two.values.iter().zip(&other_two.values));
    pairs.for_each(|(found, expected)| close("average", *found, *expected, 1e-12));
    assert!((one.alpha[[0, 1]] - OneBody::new(&space, &stacked(&[&a])).unwrap().alpha[[0, 1]]).abs() > 1e-3);
}

/// Frozen cores and deleted virtuals: the matrices of the same determinants in all orbitals, energies included.
#[test]
fn windows_become_all_orbitals() {
    let mut random = Random(12);
    for (orbitals, up, down, frozen, kept) in [(5, 3, 2, 1, 4), (6, 3, 3, 2, 3), (4, 2, 2, 2, 1), (5, 2, 2, 0, 3)] {
        let integrals = random.integrals(orbitals, up, down);
        let place = OrbitalWindow::lowest(orbitals, frozen, Some(kept), (up, down)).unwrap();
        let window = integrals.in_window(&place);
        let space = Space::full(kept, up - frozen, down - frozen).unwrap();
        let core = (1 << frozen) - 1;
        let list: Vec<_> = (0..space.len())
            .map(|row| space.determinant(row))
            .map(|(up, down)| (up << frozen | core, down << frozen | core))
            .collect();
        let whole = Space::from_determinants(orbitals, &list).unwrap();
        let (bra, ket) = (random.vector(space.len()), random.vector(space.len()));
        let (one, two) =
            (OneBody::new(&space, &stacked(&[&ket])).unwrap(), TwoBody::new(&space, &stacked(&[&ket])).unwrap());
        let all_one = one.in_all_orbitals(&place).unwrap();
        let all_two = two.in_all_orbitals(&one, &place).unwrap();
        let moved = OneBody::transition(&space, &ArrayView1::from(&bra), &ArrayView1::from(&ket))
            .unwrap()
            .in_all_orbitals(&place)
            .unwrap();
        let expected_moved = OneBody::transition(&whole, &ArrayView1::from(&bra), &ArrayView1::from(&ket)).unwrap();
        let (expected_one, expected_two) =
            (OneBody::new(&whole, &stacked(&[&ket])).unwrap(), TwoBody::new(&whole, &stacked(&[&ket])).unwrap());
        let all = |one: &OneBody, moved: &OneBody, two: &TwoBody| -> Vec<f64> {
            let matrices = [&one.alpha, &one.beta, &moved.alpha, &moved.beta];
            matrices.into_iter().flatten().chain(&two.values).copied().collect()
        };
        let found = all(&all_one, &moved, &all_two);
        let expected = all(&expected_one, &expected_moved, &expected_two);
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            close("in all orbitals", *found, *expected, 1e-12);
        }
        let small = two.energy(&one, &window).unwrap();
        close("energy", all_two.energy(&all_one, &integrals).unwrap(), small, 1e-11);
        let less = OrbitalWindow { active: place.active[1..].to_vec(), ..place };
        let error = one.in_all_orbitals(&less).unwrap_err();
        assert!(matches!(error, DensityError::Orbitals { .. }), "{error}");
    }
}

/// Hellmann and Feynman: ⟨O⟩ = dE/dλ of H + λ O, by a central difference of fourth order.
#[test]
fn expectations_are_derivatives_of_the_energy() {
    let integrals = data::integrals("H2O_sto3g_0.96");
    let mut random = Random(77);
    let mut operator = OneElectron::zero(integrals.orbitals);
    operator.values.iter_mut().for_each(|value| *value = random.number());
    operator.nuclear = random.number();
    let (up, down) = integrals.spins();
    let space = Space::full(integrals.orbitals, up, down).unwrap();
    let ground = |strength: f64| {
        let mut turned = integrals.clone();
        turned.irreps.clear();
        turned.core += strength * operator.nuclear;
        turned.one.iter_mut().zip(&operator.values).for_each(|(h, o)| *h += strength * o);
        let (values, vectors) = operator::lowest_states(ci::matrix(&turned, &space, 0.0).unwrap(), 1);
        (values[0] + turned.core, vectors)
    };
    let step = 1e-3;
    let slope = |step: f64| (ground(step).0 - ground(-step).0) / (2.0 * step);
    let derivative = (4.0 * slope(step) - slope(2.0 * step)) / 3.0;
    let density = OneBody::new(&space, &stacked(&ground(0.0).1)).unwrap();
    close("⟨O⟩", operator.expectation(&density).unwrap(), derivative, 1e-8);
    let error = OneElectron::zero(3).expectation(&density).unwrap_err();
    assert!(error.to_string().contains("3 orbitals and the density matrix 7"), "{error}");
}

#[test]
fn files_hold_what_was_found() {
    use ndarray::{Array1, Array2, Array4};
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random(31);
    let space = Space::full(4, 2, 1).unwrap();
    let vector = random.vector(space.len());
    let (one, two) =
        (OneBody::new(&space, &stacked(&[&vector])).unwrap(), TwoBody::new(&space, &stacked(&[&vector])).unwrap());
    let natural = natural_orbitals(&one, &[]).unwrap();
    let path = write_densities(folder.path(), &one, &two.arrays(), Some(&natural), None).unwrap();
    let mut npz = ndarray_npy::NpzReader::new(std::fs::File::open(&path).unwrap()).unwrap();
    let (alpha, beta): (Array2<f64>, Array2<f64>) =
        (npz.by_name("gamma_alpha").unwrap(), npz.by_name("gamma_beta").unwrap());
    let gamma: Array4<f64> = npz.by_name("gamma_two").unwrap();
    let (occupations, orbitals): (Array1<f64>, Array2<f64>) =
        (npz.by_name("occupations").unwrap(), npz.by_name("natural_orbitals").unwrap());
    for (p, q, r, s) in [(0, 1, 2, 3), (3, 2, 0, 1), (1, 1, 2, 2), (2, 0, 0, 2)] {
        assert_eq!((alpha[[p, q]], beta[[r, s]]), (one.alpha[[p, q]], one.beta[[r, s]]));
        assert_eq!(gamma[[p, q, r, s]], two.values[[p, q, r, s]]);
        assert_eq!((occupations[p], orbitals[[p, q]]), (natural.occupations[p], natural.orbitals[[p, q]]));
    }
    write_densities(folder.path(), &one, &[], None, None).unwrap();
    let mut npz = ndarray_npy::NpzReader::new(std::fs::File::open(&path).unwrap()).unwrap();
    assert_eq!(npz.names().unwrap().len(), 2);
    let other = OneBody::new(&Space::full(3, 1, 1).unwrap(), &stacked(&[random.vector(9)])).unwrap();
    let error = write_densities(folder.path(), &other, &two.arrays(), None, None).unwrap_err();
    assert!(error.to_string().contains("the two-body matrix has 4 orbitals and the density matrix 3"), "{error}");
    assert!(path.exists());
}

#[test]
fn vectors_that_are_no_states_are_refused() {
    let space = Space::full(3, 1, 1).unwrap();
    let none: [Vec<f64>; 0] = [];
    assert!(matches!(OneBody::new(&space, &stacked(&none)), Err(DensityError::NoVectors)));
    let error = TwoBody::new(&space, &stacked(&[[1.0; 8], [1.0; 8]])).unwrap_err();
    assert!(matches!(error, DensityError::Length { vector: 0, found: 8, expected: 9 }), "{error}");
    for bad in [vec![0.0; 9], vec![f64::NAN; 9], vec![f64::INFINITY; 9]] {
        assert!(matches!(OneBody::new(&space, &stacked(&[bad])), Err(DensityError::Norm { vector: 0, .. })));
    }
    let (one, two) =
        (OneBody::new(&space, &stacked(&[[1.0; 9]])).unwrap(), TwoBody::new(&space, &stacked(&[[1.0; 9]])).unwrap());
    let error = two.energy(&one, &Integrals::zero(4)).unwrap_err();
    assert!(matches!(error, DensityError::Orbitals { found: 4, expected: 3, .. }), "{error}");
}
