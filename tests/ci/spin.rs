//! ⟨S²⟩ against S₊ on Fock space, in every kind of space, and against the reference data.

use super::operator::stacked;
use super::oracle::act;
use super::random::Random;
use super::{data, operator};
use eigenforge::ci::{self, Space, level_spins, spins};
use std::collections::HashMap;

/// Sz (Sz + 1) + ‖S₊ c‖² / ‖c‖², S₊ c wherever it lies.
fn by_raising(space: &Space, vector: &[f64]) -> f64 {
    let n = space.orbitals();
    let mut raised: HashMap<u64, f64> = HashMap::new();
    for (row, value) in vector.iter().enumerate() {
        let (up, down) = space.determinant(row as u64);
        for q in 0..n {
            if let Some((state, sign)) = act(up as u64 | (down as u64) << n, &[(false, n + q), (true, q)]) {
                *raised.entry(state).or_insert(0.0) += sign * value;
            }
        }
    }
    let sz = (space.alpha().electrons() as f64 - space.beta().electrons() as f64) / 2.0;
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>();
    sz * (sz + 1.0) + norm(&mut raised.into_values()) / norm(&mut vector.iter().copied())
}

#[test]
fn spin_is_what_raising_gives() {
    let mut random = Random(606);
    for (orbitals, up, down) in [(1, 1, 1), (2, 1, 1), (4, 2, 2), (4, 1, 3), (5, 3, 2), (6, 2, 3), (4, 0, 2), (3, 0, 0)]
    {
        let full = Space::full(orbitals, up, down).unwrap();
        let mut list: Vec<_> = (0..full.len()).map(|row| full.determinant(row)).collect();
        random.shuffle(&mut list);
        list.truncate(list.len().div_ceil(2));
        let mut spaces = vec![Space::from_determinants(orbitals, &list).unwrap()];
        let irreps: Vec<u8> = (0..orbitals).map(|_| 1 + random.below(4) as u8).collect();
        spaces.extend((1..=4).filter_map(|irrep| full.clone().in_irrep(&irreps, irrep).ok()));
        spaces.extend((0..4).map(|level| Space::excitations(orbitals, up, down, level).unwrap()));
        spaces.push(full);
        for space in &spaces {
            let vectors = [random.vector(space.len()), random.vector(space.len())];
            for (spin, vector) in spins(space, &stacked(&vectors)).unwrap().iter().zip(&vectors) {
                let expected = by_raising(space, vector);
                let what = format!("{orbitals} orbitals, {up} up, {down} down, {} rows", space.len());
                assert!((spin.square - expected).abs() < 1e-12, "{what}: {} instead of {expected}", spin.square);
            }
        }
    }
}

/// Full-CI roots: singlets to septets, doublets that are degenerate, levels apart from each other.
#[test]
fn roots_have_the_spins_of_the_reference() {
    let mut seen = [0; 5];
    for case in data::energies().into_iter().filter(|case| case.fci_dim <= 3100) {
        let integrals = data::integrals(&case.id);
        let (up, down) = integrals.spins();
        let space = Space::full(integrals.orbitals, up, down).unwrap();
        let matrix = ci::matrix(&integrals, &space, ci::THRESHOLD).unwrap();
        let expected = data::spin_squares(&case.id);
        let (values, vectors) = operator::lowest_states(matrix, expected.len());
        let mut first = 0;
        while first < expected.len() {
            let level = values[first..].iter().take_while(|value| (*value - values[first]).abs() < 1e-7).count();
            let mut squares = expected[first..(first + level).min(expected.len())].to_vec();
            squares.sort_by(f64::total_cmp);
            let found = level_spins(&space, &stacked(&vectors[first..first + level])).unwrap();
            for (spin, expected) in found.iter().zip(squares) {
                assert!((spin.square - expected).abs() < 1e-9, "{} root {first}: {spin:?}, {expected}", case.id);
                assert!(spin.deviation.abs() < 1e-9 && spin.warning().is_none());
                seen[spin.two_s] += 1;
            }
            first += level;
        }
    }
    assert!(seen[..4].iter().all(|count| *count > 1), "singlets to quartets: {seen:?}");
}

/// From an open shell CISD lacks determinants of its configurations; from a closed shell it does not.
#[test]
fn truncated_spaces_may_mix_spins() {
    let spin_of = |id: &str| {
        let integrals = data::integrals(id);
        let (up, down) = integrals.spins();
        let space = Space::excitations(integrals.orbitals, up, down, 2).unwrap();
        let (_, vectors) = operator::lowest_states(ci::matrix(&integrals, &space, ci::THRESHOLD).unwrap(), 1);
        let spin = spins(&space, &stacked(&vectors)).unwrap()[0];
        assert!((spin.square - by_raising(&space, &vectors[0])).abs() < 1e-12);
        spin
    };
    let (closed, open) = (spin_of("H2O_sto3g_0.96"), spin_of("NH2_sto3g_1.03"));
    assert!((closed.two_s, closed.deviation.abs() < 1e-9, closed.warning()) == (0, true, None), "{closed:?}");
    assert_eq!((open.two_s, open.multiplicity()), (1, 2));
    assert!(open.deviation > 1e-5 && open.deviation < 0.01, "{open:?}");
    assert!(open.warning().unwrap().contains("2S + 1 = 2"), "{open:?}");
}

/// Vectors that mix a singlet and a triplet have neither spin; the level has both.
#[test]
fn a_level_of_two_spins() {
    let space = Space::full(2, 1, 1).unwrap();
    let of = |first: (u128, u128), second: (u128, u128), ratio: f64| {
        let mut vector = vec![0.0; 4];
        vector[space.row(first.0, first.1).unwrap() as usize] = 1.0;
        vector[space.row(second.0, second.1).unwrap() as usize] = ratio;
        vector
    };
    let (left, right) = (of((1, 2), (2, 1), 0.0), of((2, 1), (1, 2), 0.0));
    let mixed = spins(&space, &stacked(&[&left, &right])).unwrap();
    assert!(mixed.iter().all(|spin| (spin.square - 1.0).abs() < 1e-15 && spin.warning().is_some()), "{mixed:?}");
    let level = level_spins(&space, &stacked(&[&left, &right])).unwrap();
    assert_eq!([level[0].two_s, level[1].two_s], [0, 2]);
    assert!(level.iter().all(|spin| spin.warning().is_none()));
    // |1α 2β⟩ + |2α 1β⟩ is the singlet: all α left of all β.
    assert!(spins(&space, &stacked(&[of((1, 2), (2, 1), 1.0)])).unwrap()[0].square.abs() < 1e-15);
    assert!((spins(&space, &stacked(&[of((1, 2), (2, 1), -3.0)])).unwrap()[0].square - 1.6).abs() < 1e-15);
}
