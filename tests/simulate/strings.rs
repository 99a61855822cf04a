//! Electrons in a symmetry sector by strings: the multiply on all cores and in the simulator against the elements of H between the same
//! representatives, made one by one from the orbits of words; vectors in the order of sites; averages.

use super::{
    devices,
    multiply::{check, start},
};
use eigenforge::basis::{Down, Up};
use eigenforge::exact::{
    Dense, InSector, Model, MultiplyPlan, SectorRows, StoredHamiltonian, StringRows, averages_of, averages_on_host,
};
use eigenforge::lattice::{Boundary, Lattice, LatticeKind};
use eigenforge::operator::build::{c, cdag, imaginary_unit, n, n_total, scalar};
use eigenforge::operator::{MatrixStorage, Operator, OperatorError, Spin, Symmetry, SymmetryError};
use eigenforge::runtime::Device;
use eigenforge_templates::ScalarType;
use ndarray::Array2;

const SPINS: [Spin; 2] = [Spin::Up, Spin::Down];

fn plus_adjoint(term: Operator) -> Operator {
    term.clone() + term.adjoint()
}

/// Hops with a phase along the direction of each bond, repulsion on sites and across bonds.
pub fn hubbard(lattice: &Lattice, phase: f64, v: f64) -> Operator {
    let turn = scalar(phase.cos()) + phase.sin() * imaginary_unit();
    let hop = |i, j, spin| match phase {
        0.0 => -1.0 * plus_adjoint(cdag(i, spin) * c(j, spin)),
        _ => -1.0 * plus_adjoint(turn.clone() * cdag(i, spin) * c(j, spin)),
    };
    let bond = |i, j| hop(i, j, Spin::Up) + hop(i, j, Spin::Down) + v * (n_total(i) * n_total(j));
    let bonds: Operator = lattice.bonds().iter().map(|b| b.weight * bond(b.i, b.j)).sum();
    let sites: Operator = lattice.sites().map(|i| 3.3 * (n(i, Spin::Up) * n(i, Spin::Down))).sum();
    (bonds + sites).on_lattice(lattice)
}

pub fn sector_of(model: &Model, symmetry: &Symmetry) -> Option<Model> {
    match model.symmetry(&symmetry.clone().storage(MatrixStorage::Direct)) {
        Ok(sector) => Some(sector),
        Err(OperatorError::Symmetry(error)) => match *error {
            SymmetryError::NoStates { .. } | SymmetryError::NoIrrep { .. } | SymmetryError::NoRepresentation { .. } => {
                None
            }
            error => panic!("{symmetry:?}: {error}"),
        },
        Err(error) => panic!("{symmetry:?}: {error}"),
    }
}

fn strings(working: &Model, scalar: ScalarType) -> MultiplyPlan {
    let prepared = working.multiply(scalar).unwrap();
    assert!(prepared.way::<StringRows>().is_some(), "{}", prepared.shape());
    prepared
}

/// The sector by strings; `None` if it has no state.
fn compare(model: &Model, symmetry: &Symmetry, devices: &[Device]) -> Option<(Model, MultiplyPlan)> {
    let sector = sector_of(model, symmetry)?;
    let working = sector.working();
    let prepared = strings(working, ScalarType::F64);
    let rows = prepared.way::<StringRows>().expect("checked");
    let dense = in_the_order_of_rows(&working.dense().unwrap(), |unit| rows.in_basis_order(unit));
    check::<f64>(&[Device::cpu()], working, &prepared, &dense);
    check::<f32>(&[Device::cpu()], working, &strings(working, ScalarType::F32), &dense);
    check::<f64>(devices, working, &prepared, &dense);
    let stored = prepared.stored().unwrap().unwrap();
    let matrix = stored.way::<StoredHamiltonian>().expect("a stored matrix");
    for (row, expected) in dense.rows().into_iter().enumerate() {
        let mut found = vec![0.0; dense.nrows()];
        let (columns, values) = matrix.elements().row(row);
        columns.iter().zip(values).for_each(|(column, value)| found[*column as usize] = *value);
        for (a, b) in found.iter().zip(expected) {
            assert!((a - b).abs() < 1e-13, "{}, stored row {row}: {a} and {b}", working.name());
        }
    }
    Some((sector.clone(), prepared))
}

/// H between the states of the basis as a matrix between those of the multiply, which differ in order and in phases: `in_basis_order` takes
/// a vector of the multiply to the basis.
pub fn in_the_order_of_rows(dense: &Array2<f64>, in_basis_order: impl Fn(&[f64]) -> Vec<f64>) -> Array2<f64> {
    let n = dense.nrows();
    let column = |k: usize| {
        let mut unit = vec![0.0; n];
        unit[k] = 1.0;
        let all = in_basis_order(&unit).into_iter().enumerate();
        all.filter(|(_, value)| *value != 0.0).collect::<Vec<(usize, f64)>>()
    };
    let columns: Vec<Vec<(usize, f64)>> = (0..n).map(column).collect();
    let mut found = vec![0; n];
    for column in &columns {
        assert!((column.iter().map(|(_, value)| value * value).sum::<f64>() - 1.0).abs() < 1e-12 && column.len() <= 2);
        column.iter().for_each(|(row, _)| found[*row] += 1);
    }
    assert!(found.iter().all(|count| (1..=2).contains(count)), "every state once");
    Array2::from_shape_fn((n, n), |(i, j)| {
        let pairs = columns[i].iter().flat_map(|a| columns[j].iter().map(move |b| (a, b)));
        pairs.map(|((a, left), (b, right))| left * right * dense[[*a, *b]]).sum()
    })
}

/// Every momentum of a lattice.
fn momenta(lattice: &Lattice) -> Vec<Vec<i64>> {
    let orders = lattice.translations().into_iter().map(|translation| translation.order as i64);
    orders.fold(vec![vec![]], |all, order| {
        all.iter().flat_map(|k| (0..order).map(move |next| [&k[..], &[next]].concat())).collect()
    })
}

const LABELS: [&str; 15] = ["A", "B", "E+", "E-", "E1+", "E1-", "E2+", "E2-", "A1", "A2", "B1", "B2", "E", "E1", "E2"];

/// Eigenvectors found by strings, in the order of sites, are those of H there; and together with their averages.
pub fn vectors_are_the_users(sector: &Model) {
    let (dense, states) = (sector.dense().unwrap(), sector.states() as usize);
    let solved = Dense::new(sector).states(states.min(3)).certify(false).run(&Device::cpu()).unwrap();
    let observables = sector.standard_observables();
    let alone =
        solved.levels().iter().flat_map(|level| vec![level.multiplicity == 1; level.returned]).collect::<Vec<_>>();
    for (state, energy) in solved.energies().iter().enumerate() {
        let vector = ndarray::Array1::from(solved.vector(state).unwrap());
        assert!((vector.dot(&vector) - 1.0).abs() < 1e-9);
        let rest = dense.dot(&vector) - *energy * &vector;
        assert!(rest.iter().all(|x| x.abs() < 1e-8), "{}: {energy}", sector.name());
        if !alone[state] {
            continue; // averages are the level's
        }
        let here = averages_on_host(sector, &[vector.as_slice().unwrap()], &observables).unwrap();
        let there = solved.state_averages(state, &observables).unwrap();
        for observable in &observables {
            let values = |averages: &eigenforge::observable::Averages| averages.get(&observable.name).unwrap().values();
            for (a, b) in values(&there).iter().zip(&values(&here)) {
                assert!((a - b).abs() < 1e-9, "{}, {}: {a} and {b}", sector.name(), observable.name);
            }
        }
    }
}

/// Momenta, point groups, all kinds of filling, on the cores: as many states with and without a stabiliser as small clusters have.
#[test]
fn sectors_of_small_clusters_on_the_cores() {
    let ring = |sites: usize| Lattice::chain(sites).periodic();
    let square = |size: [usize; 2]| Lattice::square(size).periodic();
    let (mut sectors, mut cut) = (0, 0);
    for (lattice, fillings, irreps) in [
        (ring(3), vec![(1, 1), (2, 1), (3, 2), (0, 1)], true),
        (ring(4), vec![(2, 2), (1, 2), (4, 2), (2, 0), (0, 0)], true),
        (ring(5), vec![(2, 3), (4, 1)], false),
        (ring(6), vec![(3, 3), (2, 4), (3, 1)], true),
        (square([2, 2]), vec![(2, 2), (1, 2), (2, 1)], true),
        (square([3, 2]), vec![(2, 3), (3, 3)], true),
        (square([3, 3]), vec![(1, 2), (3, 1), (6, 2)], true),
        (square([4, 2]), vec![(2, 2), (4, 1), (1, 4)], true),
        (Lattice::tilted(LatticeKind::Square, [[2, 1], [-1, 2]]), vec![(2, 2), (3, 2)], true),
        (Lattice::tilted(LatticeKind::Square, [[2, 2], [-2, 2]]), vec![(2, 2), (3, 1)], true),
        (Lattice::triangular([3, 2]).periodic(), vec![(2, 3)], true),
        (Lattice::honeycomb([2, 2]).periodic(), vec![(2, 2)], true),
        (Lattice::ladder([3, 2]).boundary([Boundary::Periodic, Boundary::Open]), vec![(3, 2)], false),
    ] {
        for (up, down) in fillings {
            let model = hubbard(&lattice, 0.0, 0.6).sector(Up(up), Down(down)).unwrap();
            for k in momenta(&lattice) {
                let alone = Symmetry::new().k(&k);
                let with_irreps = LABELS.iter().map(|label| alone.clone().irrep(label));
                let all: Vec<Symmetry> = std::iter::once(alone.clone()).chain(with_irreps.filter(|_| irreps)).collect();
                for symmetry in all {
                    let Some((sector, prepared)) = compare(&model, &symmetry, &[]) else { continue };
                    sectors += 1;
                    let rows = prepared.way::<StringRows>().expect("checked");
                    cut += usize::from(rows.plan().classes > 0);
                    if sectors % 7 == 0 && sector.dimension() < 300 {
                        vectors_are_the_users(&sector);
                    }
                }
            }
        }
    }
    assert!(sectors > 200 && cut > 100, "{sectors} sectors, {cut} with rows that are cut");
}

/// Phases along bonds that no gauge removes, hops that carry densities of the same spin, hops of pairs of one spin, weights.
#[test]
fn terms_of_one_spin_on_the_cores() {
    let ring = Lattice::chain(6).periodic();
    let torus = Lattice::square([3, 2]).periodic().weights(&[1.0, 0.7]);
    let assisted: Operator = (0..6)
        .flat_map(|i| SPINS.map(|s| plus_adjoint(0.3 * (cdag(i, s) * c((i + 2) % 6, s) * n((i + 1) % 6, s)))))
        .sum();
    let pairs: Operator = (0..6)
        .flat_map(|i| {
            let at = move |by: usize| (i + by) % 6;
            SPINS.map(|s| plus_adjoint(0.2 * (cdag(at(0), s) * cdag(at(1), s) * c(at(3), s) * c(at(4), s))))
        })
        .sum();
    let complex = hubbard(&ring, 0.3, 0.6);
    let square = Lattice::square([3, 3]).periodic();
    let (many, few) = ([(3, 3), (2, 3), (4, 1)], [(2, 2), (1, 3), (3, 1)]);
    for (operator, lattice, fillings) in [
        (complex.clone(), &ring, many),
        (hubbard(&ring, 0.0, 0.2) + assisted.clone() + pairs.clone(), &ring, many),
        (complex + assisted + pairs, &ring, many),
        (hubbard(&torus, 0.0, 0.0), &torus, many),
        (hubbard(&square, 0.25, 0.4), &square, few),
    ] {
        for (up, down) in fillings {
            let model = operator.clone().on_lattice(lattice).sector(Up(up), Down(down)).unwrap();
            for k in momenta(lattice) {
                let Some((sector, _)) = compare(&model, &Symmetry::new().k(&k), &[]) else { continue };
                if k[0] == 1 && sector.dimension() < 300 {
                    vectors_are_the_users(&sector);
                }
            }
        }
    }
}

/// The generated text, real and complex, with rows that are cut and without, and averages by the sector's own list.
#[test]
fn sectors_by_the_generated_text() {
    let ring = Lattice::chain(6).periodic();
    let (torus, small) = (Lattice::square([4, 2]).periodic(), Lattice::square([3, 3]).periodic());
    let tilted = Lattice::tilted(LatticeKind::Square, [[2, 2], [-2, 2]]);
    let k = |k: &[i64]| Symmetry::new().k(k);
    for (operator, up, down, symmetry) in [
        (hubbard(&ring, 0.0, 0.6), 3, 3, k(&[3])),
        (hubbard(&ring, 0.0, 0.6), 2, 4, k(&[1])),
        (hubbard(&ring, 0.3, 0.0), 3, 2, k(&[2])),
        (hubbard(&torus, 0.0, 0.6), 2, 4, k(&[0, 0]).irrep("A1")),
        (hubbard(&torus, 0.0, 0.6), 4, 2, k(&[2, 0])),
        (hubbard(&small, 0.0, 0.6), 3, 2, k(&[0, 0]).irrep("E")),
        (hubbard(&small, 0.0, 0.6), 2, 2, k(&[1, 0])),
        (hubbard(&tilted, 0.0, 0.0), 4, 2, k(&momenta(&tilted)[1])),
    ] {
        let model = operator.sector(Up(up), Down(down)).unwrap();
        let devices = devices();
        let Some((sector, _)) = compare(&model, &symmetry, &devices) else { panic!("{symmetry:?} has states") };
        let Some(device) = devices.first() else { continue };
        let working = sector.working();
        let x: Vec<f64> = start(working.dimension() as usize, 3);
        let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
        let x: Vec<f64> = x.iter().map(|x| x / norm).collect();
        let observables = working.standard_observables();
        let there = averages_of(working, &[&device.upload(&x).unwrap()], device, &observables).unwrap();
        let here = averages_on_host(working, &[&x[..]], &observables).unwrap();
        for observable in &observables {
            let values = |averages: &eigenforge::observable::Averages| averages.get(&observable.name).unwrap().values();
            for (a, b) in values(&there).iter().zip(&values(&here)) {
                assert!((a - b).abs() < 1e-12, "{}, {}: {a} and {b}", sector.name(), observable.name);
            }
        }
    }
}

/// Particle–hole symmetry complements both strings, each with signs of its own.
#[test]
fn sectors_with_holes() {
    let mut sectors = 0;
    for (lattice, half) in
        [(Lattice::chain(4).periodic(), 2), (Lattice::chain(6).periodic(), 3), (Lattice::square([4, 2]).periodic(), 4)]
    {
        let model = hubbard(&lattice, 0.0, 0.6).sector(Up(half), Down(half)).unwrap();
        for (k, sign) in momenta(&lattice).into_iter().flat_map(|k| [(k.clone(), 1), (k, -1)]) {
            if compare(&model, &Symmetry::new().k(&k).particle_hole(sign), &[]).is_some() {
                sectors += 1;
            }
        }
    }
    assert!(sectors > 8, "{sectors}");
}

/// Sizes, characters and the group are arguments: sectors of one model share their text, and so do clusters with the same diagonal.
#[test]
fn sectors_share_their_text() {
    let text = |lattice: &Lattice, up, down, symmetry: &Symmetry| {
        let model = hubbard(lattice, 0.0, 0.0).sector(Up(up), Down(down)).unwrap();
        let sector = sector_of(&model, symmetry).unwrap();
        let prepared = strings(sector.working(), ScalarType::F64);
        (prepared.text().unwrap().text, prepared.diagonal_text().source)
    };
    let torus = Lattice::square([4, 2]).periodic();
    let k = |x, y| Symmetry::new().k(&[x, y]);
    let real = text(&torus, 3, 3, &k(0, 0));
    assert_eq!(real, text(&torus, 4, 2, &k(2, 1)));
    assert_ne!(real, text(&torus, 3, 3, &k(1, 0)));
    assert_eq!(text(&torus, 2, 3, &k(3, 0)), text(&torus, 3, 3, &k(1, 0)));
}

/// What is not for strings is multiplied as before: exchange of spins, hops that see the other spin, a stored matrix.
#[test]
fn other_sectors_keep_their_multiply() {
    let ring = Lattice::chain(6).periodic();
    let plain = hubbard(&ring, 0.0, 0.6);
    let seen: Operator = (0..6)
        .flat_map(|i| {
            let j = (i + 1) % 6;
            [(Spin::Up, Spin::Down), (Spin::Down, Spin::Up)]
                .map(|(s, other)| plus_adjoint(0.4 * (cdag(i, s) * c(j, s) * (n(i, other) + n(j, other)))))
        })
        .sum();
    let model = |operator: &Operator| operator.clone().on_lattice(&ring).sector(Up(3), Down(3)).unwrap();
    let k = Symmetry::new().k(&[0]);
    for (model, symmetry) in [
        (model(&plain), k.clone().exchange(1)),
        (model(&plain), k.clone().spin_inversion(1)),
        (model(&(plain.clone() + seen)), k.clone()),
    ] {
        let sector = sector_of(&model, &symmetry).unwrap();
        let prepared = sector.working().multiply(ScalarType::F64).unwrap();
        assert!(prepared.way::<SectorRows>().is_some(), "{}", prepared.shape());
        assert!(sector.rows_text().unwrap().starts_with("on a card without a matrix"));
    }
    let stored = model(&plain).symmetry(&k.clone().storage(MatrixStorage::Stored)).unwrap();
    assert!(stored.working().multiply(ScalarType::F64).unwrap().way::<StoredHamiltonian>().is_some());
    let sector = sector_of(&model(&plain), &k).unwrap();
    let told = sector.rows_text().unwrap();
    assert!(told.starts_with("without a matrix, by strings: ") && told.contains("cut by a stabiliser"), "{told}");
    assert_ne!(sector.identity(), sector.working().identity(), "checkpoints have the order of their vectors");
}
