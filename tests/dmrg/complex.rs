//! Chains with phases that no gauge removes, against exact diagonalisation and free fermions: the auxiliary site must show
//! nowhere but in the number of states.

use super::random::Random;
use eigenforge::basis::Sector;
use eigenforge::dmrg::{Chain, Checkpoint, DmrgResult, Mode, Options, plan_memory, run, run_on};
use eigenforge::exact::{Lanczos, Model};
use eigenforge::lattice::Lattice;
use eigenforge::observable::{Names, Observable, read_observable};
use eigenforge::operator::Spin::{Down, Flavour, Up};
use eigenforge::operator::build::{
    b, bdag, c, cdag, electron_sm, electron_sp, electron_sz, imaginary_unit, n, scalar, sdots, sm, sp, sx, sy, sz,
};
use eigenforge::operator::{Charge, Operator, SiteKind};
use eigenforge::runtime::Device;
use eigenforge::runtime::backend::DeviceBackend;
use eigenforge::runtime::simulate::Schedule;
use eigenforge::runtime::testing::card_or_simulated;
use eigenforge_runtime::dense::{View, eigen};

const HALF: SiteKind = SiteKind::Moments { two_s: 1 };

/// e^{iφ} O + h.c.
fn turned(phase: f64, operator: Operator) -> Operator {
    let term = (scalar(phase.cos()) + phase.sin() * imaginary_unit()) * operator;
    term.clone() + term.adjoint()
}

/// Eigenvalues of the Hermitian matrix with these elements, ascending: those of [[Re, −Im], [Im, Re]], of which every second is taken.
fn hermitian_eigenvalues(size: usize, element: impl Fn(usize, usize) -> (f64, f64)) -> Vec<f64> {
    let mut whole = vec![0.0; 4 * size * size];
    for (i, j) in (0..size).flat_map(|i| (0..size).map(move |j| (i, j))) {
        let (re, im) = element(i, j);
        let mut place = |row: usize, column: usize, value: f64| whole[row + 2 * size * column] = value;
        place(i, j, re);
        place(size + i, size + j, re);
        place(i, size + j, -im);
        place(size + i, j, im);
    }
    let (values, _) = eigen(View::new(&whole, 2 * size, 2 * size)).unwrap();
    values.into_iter().step_by(2).collect()
}

fn entropy_of(weights: impl IntoIterator<Item = f64>) -> f64 {
    weights.into_iter().filter(|w| *w > 1e-14).map(|w| -w * w.ln()).sum()
}

struct Case<'a> {
    name: &'a str,
    operator: Operator,
    charges: Vec<(Charge, i64)>,
    order: Option<Vec<usize>>,
    texts: &'a [(&'a str, &'a str)],
    targets: usize,
    /// Whether the lowest level is a single state, so that averages and entropies are its own.
    single: bool,
}

impl Case<'_> {
    fn options(&self, observables: &[Observable]) -> Options {
        Options {
            states: vec![256],
            tolerance: 1e-12,
            targets: self.targets,
            correlations: true,
            observables: observables.to_vec(),
            ..Options::default()
        }
    }

    fn observables(&self) -> Vec<Observable> {
        let kinds = self.operator.kinds().unwrap().to_vec();
        let lattice = Lattice::chain(kinds.len()).open();
        let names = Names::new(kinds, Some(&lattice), Vec::new());
        self.texts.iter().map(|(name, text)| read_observable(name, text, &names).unwrap()).collect()
    }

    fn compare(&self) -> DmrgResult {
        let (name, observables) = (self.name, self.observables());
        let sites = self.operator.kinds().unwrap().len();
        let sector = Sector::Charges(self.charges.clone());
        let model = Model::new(self.operator.clone(), sector.clone()).unwrap();
        let exact = Lanczos::new(&model).states(self.targets).tolerance(1e-10).run(&Device::cpu()).unwrap();
        let chain = Chain::new(&self.operator, sector, self.order.clone()).unwrap();
        assert!(chain.is_complex(), "{name}");
        let found = run(&chain, &self.options(&observables), None, |_| {}).unwrap();
        assert_eq!(found.warnings, Vec::<String>::new(), "{name}");
        let check = found.check.as_ref().unwrap();
        assert_eq!(check.dimension as u64, model.dimension() / 2, "{name}: the basis counts both parts");
        let energies: Vec<f64> =
            std::iter::once(found.energy).chain(found.excited.iter().map(|state| state.energy)).collect();
        assert_eq!(energies.len(), self.targets);
        for (state, (energy, expected)) in energies.iter().zip(exact.energies()).enumerate() {
            assert!((energy - expected).abs() < 1e-9, "{name}, state {state}: {energy} is not {expected}");
        }
        assert!(found.variance.unwrap().abs() < 1e-8, "{name}: variance {:?}", found.variance);
        for state in &found.excited {
            assert!(state.variance.unwrap().abs() < 1e-7 && state.overlap < 1e-5, "{name}: {state:?}");
        }
        assert_eq!(found.cuts.len(), sites - 1);
        for (place, cut) in found.cuts.iter().enumerate() {
            assert_eq!(cut.left_sites, place + 1, "{name}");
            let sum: f64 = cut.weights.iter().sum();
            assert!(cut.weights.len() == 32 || (sum - 1.0).abs() < 1e-9, "{name}: weights add up to {sum}");
        }
        if !self.single {
            return found;
        }
        let mut largest: f64 = 0.0;
        let expected = exact.state_averages(0, &observables).unwrap();
        for (text, _) in self.texts {
            let (found, expected) = (found.averages.get(text).unwrap(), expected.get(text).unwrap());
            for (place, (found, expected)) in found.values().iter().zip(expected.values()).enumerate() {
                assert!((found - expected).abs() < 2e-5, "{name}, {text} {place}: {found} is not {expected}");
                largest = largest.max(expected.abs());
            }
        }
        assert!(self.texts.is_empty() || largest > 1e-3, "{name}: {largest}");
        found
    }

    /// Entropies of every cut against the complex vector of sites with levels.
    fn compare_with_entropies(&self) {
        let found = self.compare();
        let model = Model::new(self.operator.clone(), Sector::Charges(self.charges.clone())).unwrap();
        let exact = Lanczos::new(&model).tolerance(1e-11).run(&Device::cpu()).unwrap();
        let vector = exact.complex_vectors().unwrap().swap_remove(0);
        let order: Vec<usize> = self.order.clone().unwrap_or_else(|| (0..found.cuts.len() + 1).collect());
        let configurations: Vec<Vec<u32>> = (0..vector.len()).map(|k| model.basis().configuration(k as u64)).collect();
        for cut in &found.cuts {
            let (left, right) = order.split_at(cut.left_sites);
            let mut numbers = [std::collections::BTreeMap::new(), std::collections::BTreeMap::new()];
            let mut elements = Vec::new();
            for (configuration, amplitude) in configurations.iter().zip(&vector) {
                let mut number = |side: usize, sites: &[usize]| {
                    let key: Vec<u32> = sites.iter().map(|site| configuration[*site]).collect();
                    let next = numbers[side].len();
                    *numbers[side].entry(key).or_insert(next)
                };
                elements.push((number(0, left), number(1, right), amplitude));
            }
            let rows = numbers[0].len();
            let mut density = vec![(0.0, 0.0); rows * rows];
            for (l, r, a) in &elements {
                for (m, _, b) in elements.iter().filter(|(_, s, _)| s == r) {
                    let at = &mut density[l * rows + m];
                    at.0 += a.re * b.re + a.im * b.im;
                    at.1 += a.im * b.re - a.re * b.im;
                }
            }
            let weights = hermitian_eigenvalues(rows, |i, j| density[i * rows + j]);
            let expected = entropy_of(weights.iter().copied());
            let place = cut.left_sites;
            assert!(
                (cut.entropy - expected).abs() < 1e-6,
                "{}, cut {place}: {} is not {expected}",
                self.name,
                cut.entropy
            );
            for (found, expected) in cut.weights.iter().zip(weights.iter().rev()).take(8) {
                assert!((found - expected).abs() < 1e-6, "{}, cut {place}: {found} is not {expected}", self.name);
            }
        }
    }
}

/// Heisenberg ring with a vector of Dzyaloshinskii and Moriya along z, in random fields.
fn dm_ring(sites: usize, d: f64, fields: &[f64]) -> Operator {
    let bonds = (0..sites).map(|i| {
        let j = (i + 1) % sites;
        sdots(i, j) + d * (sx(i) * sy(j) - sy(i) * sx(j))
    });
    let fields = fields.iter().enumerate().map(|(i, h)| *h * sz(i)).sum::<Operator>();
    (bonds.sum::<Operator>() + fields).on_kinds(&vec![HALF; sites])
}

fn dm_case(fields: &[f64]) -> Case<'static> {
    Case {
        name: "Heisenberg ring with DM",
        operator: dm_ring(8, 0.37, fields),
        charges: vec![(Charge::TwoSz, 0)],
        order: Some(vec![0, 7, 1, 6, 2, 5, 3, 4]),
        texts: &[
            ("sz", "sz(i)"),
            ("current", "I * (sp(2) * sm(3) - sp(3) * sm(2))"),
            ("flip", "sp(i) * sm(j)"),
            ("chirality", "I * (sp(0) * sm(1) * sz(5) - sp(1) * sm(0) * sz(5))"),
        ],
        targets: 3,
        single: true,
    }
}

#[test]
fn spin_rings_with_dm_interaction() {
    let mut random = Random::new(81);
    dm_case(&random.numbers(8)).compare_with_entropies();
    let clean = Case { texts: &[("current", "I * (sp(2) * sm(3) - sp(3) * sm(2))")], ..dm_case(&[0.0; 8]) };
    clean.compare_with_entropies();
}

/// Every level of an odd ring at Sᶻ = ½ in a chiral interaction: momenta k and −k are apart, degenerate levels stay so.
#[test]
fn levels_have_their_multiplicities() {
    let chirality = |i: usize, j: usize, k: usize| {
        let x = sx(i) * (sy(j) * sz(k) - sz(j) * sy(k));
        let y = sy(i) * (sz(j) * sx(k) - sx(j) * sz(k));
        let z = sz(i) * (sx(j) * sy(k) - sy(j) * sx(k));
        x + y + z
    };
    let ring = |j: f64| {
        let bonds = (0..6).map(|i| j * sdots(i, (i + 1) % 6) + chirality(i, (i + 1) % 6, (i + 2) % 6));
        bonds.sum::<Operator>().on_kinds(&[HALF; 6])
    };
    // Without fixed charges whole multiplets of the total spin appear.
    for (j, targets) in [(1.0, 7), (-0.3, 6)] {
        let case = Case {
            name: "chiral ring",
            operator: ring(j),
            charges: Vec::new(),
            order: None,
            texts: &[],
            targets,
            single: false,
        };
        case.compare();
    }
}

#[test]
fn hubbard_rings_with_a_flux() {
    let hop = |i: usize, j: usize, s| turned(0.3 / 5.0, -1.0 * (cdag(i, s) * c(j, s)));
    let hops = (0..5).flat_map(|i| [Up, Down].map(|s| hop(i, (i + 1) % 5, s))).sum::<Operator>();
    let sites = (0..5).map(|i| 3.0 * n(i, Up) * n(i, Down) + 0.2 * i as f64 * n(i, Up)).sum::<Operator>();
    let case = Case {
        name: "Hubbard ring, flux 0.3",
        operator: (hops + sites).on_kinds(&[SiteKind::Electrons; 5]),
        charges: vec![(Charge::Up, 3), (Charge::Down, 2)],
        order: Some(vec![0, 4, 1, 3, 2]),
        texts: &[
            ("density", "n(i, Up)"),
            ("current", "I * (cdag(0, Up) * c(1, Up) - cdag(1, Up) * c(0, Up))"),
            ("hop", "cdag(i, Down) * c(j, Down)"),
            ("pair", "cdag(0, Up) * cdag(0, Down) * c(3, Down) * c(3, Up)"),
        ],
        targets: 3,
        single: true,
    };
    case.compare();
}

/// Free fermions on a ring of 10 with flux 0.7, in a sector of 4: energies Σ −2 cos(k), entropies from the complex one-body density
/// matrix (Peschel, J. Phys. A 36, L205 (2003), equation 5).
#[test]
fn entropies_of_free_fermions_in_a_flux() {
    let (sites, particles, flux, f) = (10, 4, 0.7, Flavour(0));
    let ring: Operator =
        (0..sites).map(|i| turned(-flux / sites as f64, -1.0 * (cdag((i + 1) % sites, f) * c(i, f)))).sum();
    let operator = ring.on_kinds(&vec![SiteKind::Flavours(1); sites]);
    let chain = Chain::new(&operator, Sector::Charges(vec![(Charge::Particles, particles as i64)]), None).unwrap();
    let options = Options { states: vec![200], tolerance: 1e-13, ..Options::default() };
    let found = run(&chain, &options, None, |_| {}).unwrap();
    // c†_{j+1} c_j e^{−iφ/L} on e^{ikj}: −2 cos(k + φ/L).
    let momentum = |m: usize| 2.0 * std::f64::consts::PI * m as f64 / sites as f64;
    let energy = |m: usize| -2.0 * (momentum(m) + flux / sites as f64).cos();
    let mut filled: Vec<usize> = (0..sites).collect();
    filled.sort_by(|a, b| energy(*a).total_cmp(&energy(*b)));
    filled.truncate(particles);
    let expected: f64 = filled.iter().map(|m| energy(*m)).sum();
    assert!((found.energy - expected).abs() < 1e-10, "{} is not {expected}", found.energy);
    for cut in &found.cuts {
        let element = |i: usize, j: usize| {
            let parts = filled.iter().map(|m| (momentum(*m) * (i as f64 - j as f64)).sin_cos());
            parts.fold((0.0, 0.0), |sum, (s, c)| (sum.0 + c / sites as f64, sum.1 + s / sites as f64))
        };
        let occupied = hermitian_eigenvalues(cut.left_sites, element);
        let expected = entropy_of(occupied.iter().copied()) + entropy_of(occupied.iter().map(|w| 1.0 - w));
        assert!((cut.entropy - expected).abs() < 1e-6, "cut {}: {} is not {expected}", cut.left_sites, cut.entropy);
    }
}

/// Kitaev's honeycomb on a torus of eight sites in a field along (1, 1, 1): no charge at all, and no gauge.
#[test]
fn a_kitaev_honeycomb_in_a_field() {
    let bonds = [[(0, 1), (2, 3), (4, 5), (6, 7)], [(1, 2), (3, 0), (5, 6), (7, 4)], [(0, 5), (1, 4), (2, 7), (3, 6)]];
    let of = |kind: usize, i: usize| [sx(i), sy(i), sz(i)][kind].clone();
    let mut h = Operator::zero();
    for (kind, list) in bonds.iter().enumerate() {
        for (i, j) in list {
            h = h + (1.0 + 0.2 * kind as f64) * of(kind, *i) * of(kind, *j);
        }
    }
    let field = (0..8).map(|i| 0.21 * sx(i) + 0.17 * sy(i) + 0.19 * sz(i) * (1.0 + 0.1 * i as f64)).sum::<Operator>();
    let case = Case {
        name: "Kitaev",
        operator: (h + field).on_kinds(&[HALF; 8]),
        charges: Vec::new(),
        order: None,
        texts: &[("y", "sy(i)"), ("x", "sx(i)"), ("xy", "sx(0) * sy(5)"), ("yy", "sy(i) * sy(j)")],
        targets: 2,
        single: true,
    };
    case.compare_with_entropies();
}

/// Electrons on a triangle of Kondo sites with a flux, bosons with complex pairs: complex and mixed at once.
#[test]
fn mixed_chains_with_a_flux() {
    let kinds = [SiteKind::Electrons, HALF, SiteKind::Electrons, HALF, SiteKind::Electrons];
    let hops = [(0, 2), (2, 4), (4, 0)].into_iter().flat_map(|(i, j)| [Up, Down].map(|s| (i, j, s)));
    let hops = hops.map(|(i, j, s)| turned(0.4, -1.0 * (cdag(i, s) * c(j, s)))).sum::<Operator>();
    let exchange = [(0, 1), (2, 3)]
        .into_iter()
        .map(|(e, s)| 1.3 * (0.5 * (electron_sp(e) * sm(s) + electron_sm(e) * sp(s)) + electron_sz(e) * sz(s)));
    let sites = 1.1 * n(4, Up) * n(4, Down) + 0.3 * n(2, Up) + 0.1 * n(0, Down);
    let kondo = Case {
        name: "Kondo triangle",
        operator: (hops + exchange.sum::<Operator>() + sites).on_kinds(&kinds),
        charges: vec![(Charge::Particles, 3), (Charge::TwoSz, 1)],
        order: Some(vec![1, 0, 2, 3, 4]),
        texts: &[
            ("current", "I * (cdag(0, Up) * c(4, Up) - cdag(4, Up) * c(0, Up))"),
            ("mixed", "I * (cdag(2, Up) * c(2, Down) * sm(1) - h.c.)"),
            ("hop", "cdag(0, Down) * c(2, Down) + h.c."),
        ],
        targets: 3,
        single: true,
    };
    kondo.compare();
    let boson = SiteKind::Bosons { most: 2 };
    let ring = (0..4).map(|i| turned(0.9, -1.0 * (bdag(i) * b((i + 1) % 4)))).sum::<Operator>();
    let pairs = turned(0.2, 0.4 * (bdag(0) * bdag(1))) + turned(1.1, 0.3 * (bdag(2) * sp(4)));
    let bosons = Case {
        name: "bosons and a spin",
        operator: (ring + pairs + (0..4).map(|i| (0.3 + 0.1 * i as f64) * bdag(i) * b(i)).sum::<Operator>())
            .on_kinds(&[boson, boson, boson, boson, HALF]),
        charges: Vec::new(),
        order: None,
        texts: &[("n", "bdag(0) * b(0)"), ("i b", "I * (bdag(2) - b(2))"), ("y", "sy(4)")],
        targets: 3,
        single: true,
    };
    bosons.compare_with_entropies();
}

#[test]
fn random_complex_operators_on_random_sites() {
    let mut random = Random::new(83);
    let words = |random: &mut Random, kind: SiteKind, i: usize| -> Operator {
        match kind {
            SiteKind::Electrons | SiteKind::Tj => {
                [n(i, Up), cdag(i, Up) * c(i, Down), cdag(i, Down) * c(i, Up), n(i, Down)][random.below(4)].clone()
            }
            SiteKind::Bosons { .. } => [b(i), bdag(i), bdag(i) * b(i)][random.below(3)].clone(),
            _ => [sp(i), sm(i), sz(i)][random.below(3)].clone(),
        }
    };
    for round in 0..8 {
        let all = [SiteKind::Electrons, SiteKind::Tj, HALF, SiteKind::Moments { two_s: 2 }, SiteKind::Qubits];
        let mut kinds: Vec<SiteKind> = (0..5).map(|_| all[random.below(5)]).collect();
        kinds[random.below(5)] = SiteKind::Bosons { most: 2 };
        let mut h = Operator::zero();
        for _ in 0..14 {
            let (i, j) = (random.below(5), random.below(5));
            let (first, phase) = (words(&mut random, kinds[i], i), 3.0 * random.number());
            let second = if i == j { scalar(1.0) } else { words(&mut random, kinds[j], j) };
            h = h + turned(phase, random.number() * (first * second));
            let is_fermion = |site: usize| matches!(kinds[site], SiteKind::Electrons | SiteKind::Tj);
            if i != j && is_fermion(i) && is_fermion(j) {
                h = h + turned(3.0 * random.number(), random.number() * (cdag(i, Up) * c(j, Down)));
            }
        }
        let h = h.on_kinds(&kinds);
        if !Chain::new(&h, Sector::Charges(Vec::new()), None).unwrap().is_complex() {
            continue;
        }
        let mut order: Vec<usize> = (0..5).collect();
        order.swap(round % 5, (round + 2) % 5);
        let case = Case {
            name: "random",
            operator: h,
            charges: Vec::new(),
            order: Some(order),
            texts: &[],
            targets: 2,
            single: false,
        };
        let kinds = case.operator.kinds().unwrap().to_vec();
        println!("round {round}: {kinds:?}");
        case.compare();
    }
}

#[test]
fn the_simulator_or_a_card_gives_the_same() {
    let Some(device) = card_or_simulated(Schedule::Forward) else { return };
    let operator = dm_ring(4, 0.5, &[0.1, -0.3, 0.2, 0.4]);
    let chain = Chain::new(&operator, Sector::Spins { two_sz: 0 }, None).unwrap();
    let options = Options {
        states: vec![8, 16],
        sweeps: 2,
        targets: 2,
        noise: Some(vec![1e-4]),
        tolerance: 1e-9,
        ..Options::default()
    };
    let expected = run(&chain, &options, None, |_| {}).unwrap();
    let found = run_on(DeviceBackend::new(&device).unwrap(), &chain, &options, None, |_| {}).unwrap();
    assert!((found.energy - expected.energy).abs() < 1e-9, "{} is not {}", found.energy, expected.energy);
    assert!((found.excited[0].energy - expected.excited[0].energy).abs() < 1e-7);
    for (a, b) in found.cuts.iter().zip(&expected.cuts) {
        assert!((a.entropy - b.entropy).abs() < 1e-5, "cut {}: {} is not {}", a.left_sites, a.entropy, b.entropy);
    }
}

/// Saved after every half sweep, taken up again, and polished by one-site sweeps.
#[test]
fn checkpoints_polish_and_memory() {
    let chain = Chain::new(&dm_ring(8, 0.37, &[0.0; 8]), Sector::Spins { two_sz: 0 }, None).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let at = |resume| Checkpoint { folder: folder.path().into(), resume };
    let options = |sweeps| Options { states: vec![24], sweeps, targets: 2, polish: true, ..Options::default() };
    run(&chain, &options(2), Some(&at(false)), |_| {}).unwrap();
    let resumed = run(&chain, &options(12), Some(&at(true)), |_| {}).unwrap();
    let whole = run(&chain, &options(12), None, |_| {}).unwrap();
    assert!(resumed.resumed > 0);
    assert!((resumed.energy - whole.energy).abs() < 1e-7, "{} is not {}", resumed.energy, whole.energy);
    let budget = eigenforge::runtime::residency::Budget {
        processor: eigenforge::runtime::residency::ProcessorKind::Host,
        cards: 1,
        memory: u64::MAX,
        other_cards: 0,
        host: u64::MAX,
    };
    let request =
        |targets| eigenforge::dmrg::MemoryRequest { states: 24, noisy: true, targets, measured: false, expands: false };
    let planned = |targets| plan_memory(&chain, request(targets), budget).unwrap().whole;
    assert!(planned(2) > planned(1));
}

#[test]
fn what_complex_chains_do_not_have_is_named() {
    let chain = Chain::new(&dm_ring(8, 0.37, &[0.0; 8]), Sector::Spins { two_sz: 0 }, None).unwrap();
    let why = |options: Options| run(&chain, &options, None, |_| {}).unwrap_err().to_string();
    let grown = why(Options { mode: Mode::Infinite, ..Options::default() });
    assert!(grown.starts_with("mode should be \"finite\""), "{grown}");
    let averaged = why(Options { targets: 2, weights: Some(vec![1.0, 1.0]), ..Options::default() });
    assert!(averaged.starts_with("weights should be left out"), "{averaged}");
    let many = why(Options { targets: 71, ..Options::default() });
    assert!(many.contains("a sector with 70"), "{many}");
}
