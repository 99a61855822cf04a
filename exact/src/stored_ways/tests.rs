//! Made = kept as a table = stored as a matrix = dense, for every kind of model, on cores and on a simulated card.

use crate::samples::{hubbard, hubbard_operator, xxz};
use crate::{InSector, Model, Solve};
use eigenforge_core::basis::{Down, Up};
use eigenforge_core::lattice::Lattice;
use eigenforge_core::operator::{Charge, MatrixStorage, Operator, SiteKind, Spin, Symmetry, build};
use eigenforge_product::{STORED, TABLE};
use eigenforge_runtime::simulate::Schedule;
use eigenforge_runtime::solvers::Solver;
use eigenforge_runtime::testing::devices_of_many_launches;
use eigenforge_runtime::{Device, LinearOperator, seeded};
use eigenforge_templates::ScalarType;

const WORDS: [MatrixStorage; 4] =
    [MatrixStorage::Auto, MatrixStorage::Direct, MatrixStorage::Stored, MatrixStorage::Table];

fn plus_adjoint(term: Operator) -> Operator {
    term.clone() + term.adjoint()
}

/// y = H x over NaN with x·y, against the dense matrix.
fn agrees(what: &str, model: &Model, device: &Device) {
    let dense = model.dense().unwrap();
    let x = seeded::vector(dense.nrows(), 3);
    let exact: Vec<f64> = dense.rows().into_iter().map(|row| row.iter().zip(&x).map(|(h, x)| h * x).sum()).collect();
    let scale = exact.iter().fold(1e-300f64, |scale, value| scale.max(value.abs()));
    let hamiltonian = model.hamiltonian(model.multiply(ScalarType::F64).unwrap(), device).unwrap();
    let mut y = device.upload(&vec![f64::NAN; x.len()]).unwrap();
    let dot = hamiltonian.apply(&device.upload(&x).unwrap(), &mut y).unwrap();
    for (row, (y, exact)) in y.download().unwrap().iter().zip(&exact).enumerate() {
        assert!((y - exact).abs() <= 1e-13 * scale, "{what}, row {row}: {y}, expected {exact}");
    }
    let expected: f64 = exact.iter().zip(&x).map(|(a, b)| a * b).sum();
    assert!((dot - expected).abs() <= 1e-13 * scale * x.len() as f64, "{what}: {dot}, expected {expected}");
}

/// All words for a model, or a symmetry sector of it, that makes its rows as it multiplies, or whose states are listed.
fn all_words(name: &str, model: &Model, symmetry: Option<&Symmetry>, devices: &[Device]) {
    for word in WORDS {
        let own = model.clone().with_storage(word).and_then(|own| match symmetry {
            Some(symmetry) => own.symmetry(symmetry),
            None => Ok(own),
        });
        let own = match own {
            Ok(own) => own,
            Err(error) => {
                assert!(word == MatrixStorage::Direct && error.to_string().contains("\"table\""), "{name}: {error}");
                continue;
            }
        };
        for device in devices {
            let what = format!("{name}, {word:?} on {}", device.name());
            agrees(&what, &own, device);
            let plan = own.multiply(ScalarType::F64).unwrap();
            let way = own.hamiltonian(plan, device).unwrap().way_name();
            match word {
                MatrixStorage::Stored => assert_eq!(way, STORED, "{what}"),
                MatrixStorage::Table => assert_eq!(way, TABLE, "{what}"),
                MatrixStorage::Direct => assert!(![STORED, TABLE].contains(&way), "{what}: {way}"),
                MatrixStorage::Auto => {}
            }
        }
    }
}

/// Spins in a field whose every site is another, electrons with and without pair hops, a flux, bosons beside spins, states that are
/// forbidden, and words of more than 64 bits.
#[test]
fn every_word_has_the_same_numbers() {
    use build::{b, bdag, c, cdag, imaginary_unit, scalar, sdots, sm, sp, sx, sz};
    let (cores, mut both) = ([Device::cpu()], devices_of_many_launches(Schedule::Forward));
    both.truncate(1);
    both.push(Device::cpu());
    let ring = Lattice::chain(8).periodic();
    let bonds = |of: &dyn Fn(usize, usize) -> Operator| -> Operator {
        ring.bonds().iter().map(|bond| of(bond.i, bond.j)).sum::<Operator>().on_lattice(&ring)
    };
    all_words("ring", &xxz(&ring, 1.0, 0.7, 0), None, &both);
    let fields = bonds(&sdots) + (0..8).map(|i| 0.1 * i as f64 * sz(i)).sum::<Operator>();
    all_words("fields", &fields.two_sz(2).unwrap(), None, &cores);
    let turned = bonds(&|i, j| plus_adjoint((scalar(0.5) + 0.21 * imaginary_unit()) * sp(i) * sm(j)) + sz(i) * sz(j));
    all_words("flux", &turned.two_sz(0).unwrap(), None, &both);
    all_words("Hubbard", &hubbard(&Lattice::square([2, 3]).open(), 4.0, 3, 2), None, &both);
    let hop = |spin: Spin| cdag(0, spin) * c(1, spin);
    let pairs = hubbard_operator(&Lattice::chain(5), 3.0) + plus_adjoint(0.3 * (hop(Spin::Up) * hop(Spin::Down)));
    all_words("pair hops", &pairs.sector(Up(2), Down(3)).unwrap(), None, &cores);
    // Excited neighbours are forbidden: with and without a momentum.
    let flips = (0..8).map(|i| 0.9 * sx(i)).sum::<Operator>() + bonds(&|i, j| 0.2 * (sz(i) * sz(j)));
    let flips = flips.on_kinds(&[SiteKind::Moments { two_s: 1 }; 8]).on_lattice(&ring);
    let forbidden = ring.bonds().iter().fold(flips, |h, bond| h.forbid(&[(bond.i, 1), (bond.j, 1)]));
    let forbidden = forbidden.charges(&[]).unwrap();
    all_words("forbidden states", &forbidden, None, &both);
    all_words("forbidden states, k = 0", &forbidden, Some(&Symmetry::new().k(&[0])), &both);
    all_words("forbidden states, k = 1", &forbidden, Some(&Symmetry::new().k(&[1])), &cores);
    let long = Lattice::chain(66).periodic();
    let long: Operator = long.bonds().iter().map(|bond| sdots(bond.i, bond.j)).sum::<Operator>().on_lattice(&long);
    let long = long.two_sz(62).unwrap();
    assert!(long.basis().word().bits() > 64);
    all_words("two magnons on 66 sites, k = 3", &long, Some(&Symmetry::new().k(&[3])), &cores);
    all_words("one magnon on 66 sites", &long.in_other_sector(one_magnon(), None).unwrap().unwrap(), None, &both);
    // Bosons and spins in turn.
    let kinds: Vec<SiteKind> = (0..6)
        .map(|i| if i % 2 == 0 { SiteKind::Bosons { most: 2 } } else { SiteKind::Moments { two_s: 1 } })
        .collect();
    let hops = (0..3).map(|i| plus_adjoint(-(bdag(2 * i) * b((2 * i + 2) % 6)))).sum::<Operator>();
    let beside = (0..3).map(|i| 0.4 * (sz(2 * i + 1) * (bdag(2 * i) * b(2 * i)))).sum::<Operator>();
    let flips = (0..3).map(|i| plus_adjoint(0.5 * (sp(2 * i + 1) * sm((2 * i + 3) % 6)))).sum::<Operator>();
    let mixed = (hops + beside + flips).on_kinds(&kinds).charges(&[(Charge::Bosons, 3)]).unwrap();
    let shift: Vec<usize> = (0..6).map(|i| (i + 2) % 6).collect();
    all_words("bosons and spins", &mixed, None, &cores);
    let turn = Symmetry::new().generator(&shift, 1.0.into());
    all_words("bosons and spins, turned", &mixed, Some(&turn), &both);
}

fn one_magnon() -> eigenforge_core::basis::Sector {
    eigenforge_core::basis::Sector::Charges(vec![(Charge::TwoSz, 64)])
}

/// Of a symmetry sector whose table a card makes, the cores make one of their own.
#[test]
fn sectors_keep_tables_on_cores_too() {
    for symmetry in [Symmetry::new().k(&[0]).reflection(1), Symmetry::new().k(&[3])] {
        all_words("ring of 12", &xxz(&Lattice::chain(12).periodic(), 1.0, 0.7, 0), Some(&symmetry), &[Device::cpu()]);
    }
}

/// Levels of all words, in the user's states: a complex H in a gauge, and one in an order of its own.
#[test]
fn levels_and_vectors_are_those_of_the_users_basis() {
    let model = hubbard(&Lattice::chain(4).periodic(), 2.0, 2, 2);
    let energies = |word| {
        let model = model.clone().with_storage(word).unwrap();
        Solve::new(&model, Solver::Lanczos).run(&Device::cpu()).unwrap().energies()[0]
    };
    let direct = energies(MatrixStorage::Direct);
    for word in [MatrixStorage::Stored, MatrixStorage::Table] {
        assert!((energies(word) - direct).abs() < 1e-9, "{word:?}");
    }
}

/// More values than codes, two words for one sector, and words of states that no kernel makes.
#[test]
fn what_a_table_lacks_is_refused() {
    use build::{sdots, sm, sp};
    let all = |value: &dyn Fn(usize, usize) -> f64| -> Model {
        let pairs = (0..12usize).flat_map(|i| (0..i).map(move |j| (i, j)));
        let h = pairs.map(|(i, j)| plus_adjoint(value(i, j) * (sp(i) * sm(j)))).sum::<Operator>();
        h.on_sites(12).two_sz(0).unwrap()
    };
    let few = all(&|i, j| 1.0 + (i + j) as f64).with_storage(MatrixStorage::Table).unwrap();
    agrees("few values", &few, &Device::cpu());
    // Three-site terms give each flip as many values as sites, all different.
    let many: Operator = (0..12usize)
        .flat_map(|i| (0..i).flat_map(move |j| (0..12).map(move |k| (i, j, k))))
        .filter(|(i, j, k)| i != k && j != k)
        .map(|(i, j, k)| {
            let value = 0.1 + ((i * 13 + j) as f64).sqrt() + (k as f64 + 2.0).ln();
            plus_adjoint(value * (sp(i) * sm(j) * build::sz(k)))
        })
        .sum();
    let many = many.on_sites(12).two_sz(0).unwrap().with_storage(MatrixStorage::Table).unwrap();
    let refused = many.hamiltonian(many.multiply(ScalarType::F64).unwrap(), &Device::cpu()).err().unwrap().to_string();
    assert!(refused.contains("at most 1023 distinct values") && refused.contains("\"stored\""), "{refused}");
    let ring = Lattice::chain(8).periodic();
    let model = xxz(&ring, 1.0, 1.0, 0).with_storage(MatrixStorage::Table).unwrap();
    let sector = model.symmetry(&Symmetry::new().k(&[0]).storage(MatrixStorage::Stored)).unwrap_err().to_string();
    assert!(sector.contains("contradict"), "{sector}");
    let long: Operator = (0..69).map(|i| sdots(i, i + 1)).sum();
    let refused = long.on_sites(70).two_sz(68).unwrap().with_storage(MatrixStorage::Direct).unwrap_err().to_string();
    assert!(refused.contains("these have 70") && refused.contains("\"table\""), "{refused}");
}
