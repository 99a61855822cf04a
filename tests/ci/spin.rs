//! ⟨S²⟩ against S₊ on Fock space, in every kind of space, and against the reference data.

use super::operator::stacked;
use super::oracle::act;
use super::random::Random;
use super::{data, operator};
use eigenforge::ci::{self, SharpLevel, Space, spins};
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
            let found = SharpLevel::new(&space, stacked(&vectors[first..first + level])).unwrap();
            assert!(found.has_whole_spins);
            for (state, (spin, expected)) in found.spins.iter().zip(squares).enumerate() {
                assert!((spin.square - expected).abs() < 1e-9, "{} root {first}: {spin:?}, {expected}", case.id);
                assert!(spin.deviation.abs() < 1e-9 && found.warning(state, true).is_none());
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
        let level = SharpLevel::new(&space, stacked(&vectors)).unwrap();
        assert!((level.spins[0].square - by_raising(&space, &vectors[0])).abs() < 1e-12);
        level
    };
    let (closed, open) = (spin_of("H2O_sto3g_0.96"), spin_of("NH2_sto3g_1.03"));
    assert!(closed.has_whole_spins && !open.has_whole_spins);
    assert_eq!((closed.two_s(), closed.warning(0, true), open.two_s()), (Some(vec![0]), None, None));
    assert!(closed.spins[0].deviation.abs() < 1e-9, "{closed:?}");
    assert_eq!((open.spins[0].two_s, open.spins[0].multiplicity()), (1, 2));
    assert!(open.spins[0].deviation > 1e-5 && open.spins[0].deviation < 0.01, "{open:?}");
    let warning = open.warning(0, true).unwrap();
    assert!(warning.contains("2S + 1 = 2") && warning.contains("the space lacks determinants"), "{warning}");
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
    assert!(mixed.iter().all(|spin| (spin.square - 1.0).abs() < 1e-15 && !spin.is_pure()), "{mixed:?}");
    let level = SharpLevel::new(&space, stacked(&[&left, &right])).unwrap();
    assert_eq!(level.two_s(), Some(vec![0, 2]));
    assert!((0..2).all(|state| level.warning(state, true).is_none()));
    // Its states are those of the two spins.
    let again = spins(&space, &level.states).unwrap();
    assert!((again[0].square.abs() < 1e-14) && (again[1].square - 2.0).abs() < 1e-14, "{again:?}");
    // One of the two alone is part of a level: the space, full as it is, is not what it lacks.
    let part = SharpLevel::new(&space, stacked(&[&left])).unwrap();
    assert!(part.warning(0, false).unwrap().contains("not all states of its level are known"));
    assert!(part.warning(0, true).unwrap().contains("a state of the level was missed"));
    // |1α 2β⟩ + |2α 1β⟩ is the singlet: all α left of all β.
    assert!(spins(&space, &stacked(&[of((1, 2), (2, 1), 1.0)])).unwrap()[0].square.abs() < 1e-15);
    assert!((spins(&space, &stacked(&[of((1, 2), (2, 1), -3.0)])).unwrap()[0].square - 1.6).abs() < 1e-15);
}
