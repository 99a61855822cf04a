//! Sectors of any conserved charges: flavours of spin-F fermions, electrons by number alone, no charge at all.

use super::random::Random;
use eigenforge::basis::Sector;
use eigenforge::dmrg::{Chain, Options, conserved_charges, run};
use eigenforge::exact::{Lanczos, Model};
use eigenforge::lattice::Lattice;
use eigenforge::models::{hubbard, spin_hubbard};
use eigenforge::operator::{Charge, Factor, Operator, Spin};
use eigenforge::runtime::Device;

fn energy(operator: &Operator, numbers: Sector, states: usize) -> f64 {
    let chain = Chain::new(operator, numbers, None).unwrap();
    let options = Options { states: vec![states], tolerance: 1e-11, ..Options::default() };
    let found = run(&chain, &options, None, |_| {}).unwrap();
    let variance = found.variance.expect("a narrow operator sum");
    assert!(variance.abs() < 1e-9, "variance {variance}");
    found.energy
}

fn flavoured(sites: usize, flavours: usize, u: f64) -> Operator {
    let lattice = Lattice::chain(sites).open();
    spin_hubbard(&lattice, flavours, &vec![1.0; sites - 1], &vec![u; sites], &vec![0.0; sites], 0.0)
}

/// Energies by two independent exact diagonalisations (tests/data/dmrg/flavours.json).
#[test]
fn spin_f_hubbard_chains_have_their_exact_energies() {
    let file: serde_json::Value = serde_json::from_str(&super::data("flavours.json")).unwrap();
    for case in file["cases"].as_array().unwrap() {
        let sites = case["L"].as_u64().unwrap() as usize;
        let numbers: Vec<usize> =
            case["n_flavour"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap() as usize).collect();
        let bonds = case["edges"].as_array().unwrap().iter().map(|edge| {
            let at = |k: usize| edge[k].as_f64().unwrap();
            (at(0) as usize, at(1) as usize, at(2))
        });
        if sites < 3 || case["large"].as_bool() == Some(true) {
            continue;
        }
        let lattice = Lattice::from_edges(sites, &bonds.collect::<Vec<_>>()).unwrap();
        let (one, u) = (vec![1.0; lattice.bonds().len()], vec![case["U"].as_f64().unwrap(); sites]);
        let operator = spin_hubbard(&lattice, numbers.len(), &one, &u, &vec![0.0; sites], 0.0);
        let found = energy(&operator, Sector::Flavours(numbers), 1200);
        let expected = case["energy"].as_f64().unwrap();
        assert!((found - expected).abs() < 1e-9, "{}: {found} is not {expected}", case["id"]);
    }
}

/// Two flavours are electrons under another name, on the same bonds with the same disorder.
#[test]
fn two_flavours_are_electrons() {
    let mut random = Random::new(31);
    let n = 6;
    let lattice = Lattice::chain(n).periodic();
    let (t, u, potential) = (random.numbers(n), random.numbers(n), random.numbers(n));
    let electrons = hubbard(&lattice, &t, &u, &potential, 0.2, &vec![0.0; n]);
    let flavours = spin_hubbard(&lattice, 2, &t, &u, &potential, 0.2);
    let model = Model::new(electrons, Sector::Fermions { up: 3, down: 2 }).unwrap();
    let expected = Lanczos::new(&model).tolerance(1e-10).run(&Device::cpu()).unwrap().energy();
    let found = energy(&flavours, Sector::Flavours(vec![3, 2]), 200);
    assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
}

/// All configurations of `modes` fermion modes with this many particles of each flavour.
fn configurations(sites: usize, numbers: &[usize]) -> Vec<Vec<u32>> {
    let modes = sites * numbers.len();
    let of = |word: u64| (0..modes).map(|mode| (word >> mode & 1) as u32).collect::<Vec<u32>>();
    let fits = |occupation: &Vec<u32>| {
        numbers.iter().enumerate().all(|(f, n)| occupation[f * sites..][..sites].iter().sum::<u32>() as usize == *n)
    };
    (0..1u64 << modes).map(of).filter(fits).collect()
}

/// Random products of three flavours, hopping from any flavour to any other: only the number of fermions is conserved. The
/// oracle applies the factors one by one (`Operator::apply`).
#[test]
fn flavours_that_turn_into_each_other_conserve_their_sum() {
    let (mut random, sites, flavours) = (Random::new(33), 3, 3);
    let mut operator = Operator::zero().on_sites(sites);
    for _ in 0..24 {
        let mut mode = || (Spin::flavour(random.below(flavours)), random.below(sites));
        let ((f, i), (g, j), (h, k)) = (mode(), mode(), mode());
        let hop = [Factor::Create(f, i), Factor::Annihilate(g, j)];
        let dressed = [hop[0], Factor::Create(h, k), Factor::Annihilate(h, k), hop[1]];
        let product = Operator::product(&hop) * random.number() + Operator::product(&dressed) * random.number();
        operator = operator + product.clone() + product.adjoint();
    }
    let kept = conserved_charges(&operator);
    assert_eq!(kept, [Charge::Particles]);
    let states: Vec<Vec<u32>> = (0..=sites)
        .flat_map(|a| (0..=sites).map(move |b| (a, b)))
        .filter(|(a, b)| a + b <= 4 && 4 - a - b <= sites)
        .flat_map(|(a, b)| configurations(sites, &[a, b, 4 - a - b]))
        .collect();
    let place = |state: &Vec<u32>| states.iter().position(|other| other == state).unwrap();
    let mut matrix = faer::Mat::<f64>::zeros(states.len(), states.len());
    for (column, state) in states.iter().enumerate() {
        for (reached, amplitude) in operator.apply(sites, state) {
            matrix[(place(&reached), column)] += amplitude;
        }
    }
    let expected: f64 = matrix.self_adjoint_eigen(faer::Side::Lower).unwrap().S()[0];
    let found = energy(&operator, Sector::Charges(vec![(Charge::Particles, 4)]), 300);
    assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
}

/// With the number of electrons alone the lowest energy of all Sz is found; with N↑ − N↓ alone, that of all numbers.
#[test]
fn fewer_charges_find_the_lowest_of_their_sectors() {
    let n = 5;
    let lattice = Lattice::chain(n).open();
    // A field along z that polarises, and a chemical potential that empties.
    let mut operator = hubbard(&lattice, &vec![1.0; n - 1], &vec![6.0; n], &vec![0.0; n], 0.7, &vec![0.0; n - 1]);
    for i in 0..n {
        let number = |spin| Operator::product(&[Factor::Create(spin, i), Factor::Annihilate(spin, i)]);
        operator = operator + 0.35 * (number(Spin::Down) - number(Spin::Up));
    }
    let lowest = |fits: &dyn Fn(usize, usize) -> bool| {
        let all = (0..=n).flat_map(|up| (0..=n).map(move |down| (up, down))).filter(|(up, down)| fits(*up, *down));
        let energy = |(up, down): (usize, usize)| {
            let model = Model::new(operator.clone(), Sector::Fermions { up, down }).unwrap();
            Lanczos::new(&model).tolerance(1e-10).run(&Device::cpu()).unwrap().energy()
        };
        all.map(energy).fold(f64::INFINITY, f64::min)
    };
    assert_eq!(conserved_charges(&operator), [Charge::Up, Charge::Down]);
    let electrons = energy(&operator, Sector::Charges(vec![(Charge::Particles, 4)]), 200);
    assert!((electrons - lowest(&|up, down| up + down == 4)).abs() < 1e-9, "{electrons}");
    let polarised = energy(&operator, Sector::Charges(vec![(Charge::Polarisation, 1)]), 200);
    assert!((polarised - lowest(&|up, down| up == down + 1)).abs() < 1e-9, "{polarised}");
    let any = energy(&operator, Sector::Charges(Vec::new()), 300);
    assert!((any - lowest(&|_, _| true)).abs() < 1e-9, "{any}");
}

/// The Ising chain in a transverse field conserves no charge: −Σ SzSz·4 − h Σ 2Sx at h = 1 has E = 1 − 1/sin(π/(4N + 2))
/// (Pfeuty 1970, free ends).
#[test]
fn a_model_without_charges() {
    let n = 16;
    let mut operator = Operator::zero().on_sites(n);
    for i in 0..n {
        operator = operator - (Operator::product(&[Factor::Raise(i)]) + Operator::product(&[Factor::Lower(i)]));
        if i > 0 {
            operator = operator - 4.0 * Operator::product(&[Factor::Sz(i - 1), Factor::Sz(i)]);
        }
    }
    assert_eq!(conserved_charges(&operator), []);
    let found = energy(&operator, Sector::Charges(Vec::new()), 60);
    let expected = 1.0 - 1.0 / (std::f64::consts::PI / (4.0 * n as f64 + 2.0)).sin();
    assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
}

#[test]
fn charges_of_another_kind_and_too_many_particles_are_refused_by_name() {
    let operator = flavoured(4, 4, 4.0);
    let why = |numbers: Sector| Chain::new(&operator, numbers, None).err().expect("accepted").to_string();
    let full = why(Sector::Flavours(vec![5, 1, 1, 1]));
    assert!(full.contains("5 fermions of flavour 0 need at least 5 sites"), "{full}");
    let electrons = why(Sector::Fermions { up: 1, down: 1 });
    assert!(electrons.contains("[0]") && electrons.contains("flavours"), "{electrons}");
    let moments = why(Sector::Spins { two_sz: 0 });
    assert!(moments.contains("a number of fermions for each flavour"), "{moments}");
    let refused = Model::new(operator.clone(), Sector::Fermions { up: 1, down: 1 }).unwrap_err().to_string();
    assert!(refused.contains("DMRG"), "{refused}");
    let mixed = operator.clone() + Operator::product(&[Factor::Create(Spin::Up, 0), Factor::Annihilate(Spin::Up, 0)]);
    let said = Chain::new(&mixed, Sector::Charges(Vec::new()), None).err().unwrap().to_string();
    assert!(said.contains("in two ways"), "{said}");
    // One flavour turned into another breaks both, and the message names the first.
    let turn = Operator::product(&[Factor::Create(Spin::flavour(0), 2), Factor::Annihilate(Spin::flavour(3), 1)]);
    let broken = operator + turn.clone() + turn.adjoint();
    let said = Chain::new(&broken, Sector::Flavours(vec![1, 1, 1, 1]), None).err().unwrap().to_string();
    assert!(said.contains("c†_2[0] c_1[3]") || said.contains("c†_1[3] c_2[0]"), "{said}");
    assert!(said.contains("the number of fermions of flavour 0 by"), "{said}");
}
