//! Complex Hamiltonians whose phases a gauge removes: solved as real ones, with the user's energies, vectors and averages.
//!
//! In: real models H, and the complex U H U† with U = exp(−i Σ θ n), made here term by term. Out: the spectrum of H, vectors that the
//! dense complex matrix confirms, averages of complex observables as the complex path has them; fluxes that no gauge removes.

use super::models::{Draw, KINDS, complex_vectors_are_eigenvectors, factors};
use super::{free, ours};
use eigenforge::basis::{Down, Up};
use eigenforge::exact::{Dense, InSector, Lanczos, Model, Solution, averages_on_host};
use eigenforge::input::ModelFile;
use eigenforge::lattice::Lattice;
use eigenforge::observable::{Averages, Observable};
use eigenforge::operator::build::{c, cdag, imaginary_unit, n, scalar, sm, sp, sz};
use eigenforge::operator::{Charge, Factor, Operator, OperatorError, SiteKind, Spin};
use std::collections::BTreeMap;
use std::f64::consts::PI;

/// e^{iφ}
fn cis(phi: f64) -> Operator {
    scalar(phi.cos()) + phi.sin() * imaginary_unit()
}

fn with_conjugate(term: Operator) -> Operator {
    let adjoint = term.adjoint();
    term + adjoint
}

/// Phases of the modes and levels, by site and mode.
struct Phases(BTreeMap<(usize, Option<Spin>), f64>);

impl Phases {
    fn random(kinds: &[SiteKind], draw: &mut Draw) -> Phases {
        let mut phases = BTreeMap::new();
        for (site, kind) in kinds.iter().enumerate() {
            for mode in kind.modes().into_iter().map(Some).chain([None]) {
                phases.insert((site, mode), PI * draw.number());
            }
        }
        Phases(phases)
    }

    /// The phase that U P U† has.
    fn phase(&self, product: &[Factor]) -> f64 {
        let of = |factor: &Factor| match *factor {
            Factor::Create(spin, site) => -self.0[&(site, Some(spin))],
            Factor::Annihilate(spin, site) => self.0[&(site, Some(spin))],
            Factor::Raise(site) | Factor::CreateBoson(site) => -self.0[&(site, None)],
            Factor::Lower(site) | Factor::AnnihilateBoson(site) => self.0[&(site, None)],
            Factor::Sz(_) | Factor::ImaginaryUnit => 0.0,
        };
        product.iter().map(of).sum()
    }
}

/// Averages by the complex path: in the user's vectors, with the user's model.
fn averages_agree(name: &str, model: &Model, solution: &Solution<'_>, observables: &[Observable]) {
    let states = solution.energies().len();
    let users: Vec<Vec<f64>> = (0..states).map(|state| solution.vector(state).unwrap()).collect();
    let compare = |what: &str, here: &Averages, there: &Averages| {
        for Observable { name: observable, .. } in observables {
            let (here, there) = (here.get(observable).unwrap().values(), there.get(observable).unwrap().values());
            assert_eq!(here.len(), there.len(), "{name}: {observable}");
            for (a, b) in here.iter().zip(&there) {
                assert!((a - b).abs() < 1e-9, "{name}, {what}: {observable}: {a}, by the complex path {b}");
            }
        }
    };
    let mut first = 0;
    for level in solution.levels() {
        let own = first..first + level.returned;
        if level.complete && level.returned == level.multiplicity {
            // Orthonormal vectors of a level have its averages, also those of two complex states in any real mixture.
            let vectors: Vec<&[f64]> = users[own.clone()].iter().map(Vec::as_slice).collect();
            let there = averages_on_host(model, &vectors, observables).unwrap();
            let is_orthonormal = !model.is_complex() || vectors.len() == 1;
            own.clone().filter(|_| is_orthonormal).for_each(|state| {
                compare(&format!("state {state}"), &solution.state_averages(state, observables).unwrap(), &there)
            });
        }
        first = own.end;
    }
    let lowest = solution.state_averages(0, observables).unwrap();
    assert_eq!(solution.level_averages(observables).unwrap(), lowest);
}

/// A real model, the same with random phases, and a sum that is neither Hermitian nor real.
struct Case {
    real: Operator,
    complex: Operator,
    current: Operator,
    /// Whether a product has a phase.
    turned: bool,
}

impl Case {
    fn random(kinds: &[SiteKind], draw: &mut Draw) -> Case {
        let all: Vec<Factor> = kinds.iter().enumerate().flat_map(|(site, kind)| factors(*kind, site)).collect();
        let phases = Phases::random(kinds, draw);
        let zero = Operator::zero().on_kinds(kinds);
        let mut case = Case { real: zero.clone(), complex: zero.clone(), current: zero, turned: false };
        let mut products = 0;
        while products < 9 {
            let chosen: Vec<Factor> = (0..1 + draw.below(4)).map(|_| all[draw.below(all.len())]).collect();
            if chosen.iter().filter(|factor| factor.is_fermion()).count() % 2 == 1 {
                continue;
            }
            products += 1;
            let (value, phase, product) = (draw.number(), phases.phase(&chosen), Operator::product(&chosen));
            case.turned |= phase.sin().abs() > 1e-3 && !product.is_empty();
            case.real = case.real + with_conjugate(value * product.clone());
            case.complex = case.complex + with_conjugate(cis(phase) * (value * product.clone()));
            case.current = case.current + with_conjugate(imaginary_unit() * product.clone()) + product;
        }
        if draw.below(4) == 0 {
            let state = |site: usize, draw: &mut Draw| (site, draw.below(kinds[site].states().count()) as u64);
            let pattern = [state(0, draw), state(1, draw)];
            (case.real, case.complex) = (case.real.forbid(&pattern), case.complex.forbid(&pattern));
        }
        case
    }

    /// Solves a sector both ways; whether it is one of a complex H.
    fn agrees(&self, name: &str, charges: &[(Charge, i64)]) -> bool {
        let model = match self.complex.clone().charges(charges) {
            Ok(model) => model,
            Err(
                OperatorError::EmptySector { .. }
                | OperatorError::NotConserved { .. }
                | OperatorError::NoSuchCharge { .. },
            ) => return false,
            Err(error) => panic!("{name}: {error}"),
        };
        if !model.is_complex() {
            return false;
        }
        assert!(!model.working().is_complex(), "{name}: a gauge was built in");
        let expected = free::eigenvalues(ours::dense(&self.real.clone().charges(charges).unwrap()));
        let solved = Dense::new(&model).states(expected.len().min(4)).run(&ours::Device::cpu()).unwrap();
        let size = expected.iter().fold(1.0f64, |size, value| size.max(value.abs()));
        for (found, expected) in solved.energies().iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-9 * size, "{name}: {found}, expected {expected}");
        }
        complex_vectors_are_eigenvectors(name, &ours::dense(&model), &solved);
        let mut observables = model.standard_observables();
        observables.push(Observable::scalar("current", self.current.clone()));
        averages_agree(name, &model, &solved, &observables);
        true
    }
}

#[test]
fn random_phases_of_every_kind_of_site_are_removed() {
    let (mut models, mut sectors, mut seen) = (0, 0, Vec::new());
    for seed in 1000..1160u64 {
        let mut draw = Draw(seed, 0);
        let (mut kinds, mut states) = (Vec::new(), 1);
        for _ in 0..2 + draw.below(5) {
            let kind = KINDS[draw.below(KINDS.len())];
            states *= kind.states().count();
            if states > 260 {
                break;
            }
            kinds.push(kind);
        }
        if kinds.len() < 2 {
            continue;
        }
        let case = Case::random(&kinds, &mut draw);
        let name = format!("seed {seed}, {kinds:?}");
        if case.agrees(&name, &[]) {
            models += 1;
            seen.extend(kinds.iter().copied());
        } else {
            assert!(!case.turned || case.complex.is_empty(), "{name}: the phases are lost");
        }
        for charge in [Charge::Up, Charge::Particles, Charge::TwoSz, Charge::Bosons] {
            sectors += (-4..=6).filter(|value| case.agrees(&name, &[(charge, *value)])).count();
        }
    }
    let kinds = KINDS.iter().filter(|kind| seen.contains(kind)).count();
    assert!(models > 80 && sectors > 40 && kinds == KINDS.len(), "{models} models, {sectors} sectors, {kinds} kinds");
}

/// Electrons on an open chain with a phase on every bond: the kernels of Hubbard models, and averages with the phases.
#[test]
fn an_open_hubbard_chain_with_phases_has_the_kernels_of_the_real_one() {
    let sites = 6;
    let phase = |i: usize, spin: Spin| 0.4 + 0.9 * i as f64 - 0.35 * spin.index() as f64;
    let bonds: Vec<(usize, Spin)> = (0..sites - 1).flat_map(|i| [Spin::Up, Spin::Down].map(|spin| (i, spin))).collect();
    let hop = |phi: f64, i: usize, spin: Spin| with_conjugate(cis(phi) * (cdag(i, spin) * c(i + 1, spin)));
    let on_site = |i: usize| 4.0 * (n(i, Spin::Up) * n(i, Spin::Down)) + 0.3 * i as f64 * n(i, Spin::Up);
    let chain = |phase: &dyn Fn(usize, Spin) -> f64| {
        let hops: Operator = bonds.iter().map(|(i, spin)| -1.0 * hop(phase(*i, *spin), *i, *spin)).sum();
        (hops + (0..sites).map(on_site).sum::<Operator>()).sector(Up(2), Down(3)).unwrap()
    };
    let (complex, real) = (chain(&phase), chain(&|_, _| 0.0));
    assert!(complex.is_complex() && complex.working().is_kronecker());
    assert_eq!((complex.dimension(), complex.working().dimension()), (600, 300));
    for device in ours::devices() {
        let (there, here) = (Lanczos::new(&real).run(&device).unwrap(), Lanczos::new(&complex).run(&device).unwrap());
        assert!((there.energy() - here.energy()).abs() < 1e-9);
        assert_eq!(there.levels()[0].multiplicity, here.levels()[0].multiplicity);
        complex_vectors_are_eigenvectors("chain", &ours::dense(&complex), &here);
        for (i, spin) in bonds.iter().copied() {
            let pair = || cdag(i, spin) * c(i + 1, spin);
            let current = |phi: f64| with_conjugate(imaginary_unit() * cis(phi) * pair());
            // The current that belongs to the hop vanishes; that without the phase does not.
            assert!(here.expectation(current(phase(i, spin))).unwrap().abs() < 1e-8);
            let found = here.expectation(current(0.0)).unwrap();
            let expected = 2.0 * there.expectation(pair()).unwrap() * phase(i, spin).sin();
            assert!((found - expected).abs() < 1e-7 && expected.abs() > 1e-3, "{found}, expected {expected}");
            assert_eq!(there.expectation(current(0.0)).unwrap(), 0.0, "no current in a real state");
        }
    }
}

/// Hofstadter's lattice in Landau's gauge.
fn hofstadter(size: [usize; 2], boundary: &str, flux: f64) -> Model {
    let phase = "((flux * lattice.x(i)).cos() + I * (flux * lattice.x(i)).sin())";
    let text = format!(
        "[model]\nname = \"terms\"\nsite = \"spinless\"\nH = \"\"\"
         sum(<i, j, w, kind> in bonds if kind == 0; -1.0 * (cdag(i) * c(j) + h.c.))
         + sum(<i, j, w, kind> in bonds if kind == 1; -1.0 * ({phase} * cdag(i) * c(j) + h.c.))
         \"\"\"\n[parameters]\nflux = {flux}\n[lattice]\nkind = \"square\"\nsize = {size:?}
         boundary = [\"{boundary}\", \"{boundary}\"]\n[sector]\nparticles = 3\n"
    );
    ModelFile::parse("hofstadter.toml", &text).unwrap().to_model().unwrap()
}

#[test]
fn a_flux_of_zero_or_pi_is_removed_and_no_other() {
    for (flux, real) in [(PI, true), (2.0 * PI, true), (3.0 * PI, true), (0.3, false), (PI / 2.0, false), (1e-9, false)]
    {
        assert_eq!(!hofstadter([4, 3], "open", flux).working().is_complex(), real, "flux {flux} a plaquette");
    }
    // A chain has no plaquette.
    let chain = hofstadter([6, 1], "open", 0.3);
    assert!(!chain.working().is_complex());
    // Three columns of a torus have a flux of 2π together, and 2π / 3 a plaquette.
    assert!(hofstadter([3, 3], "periodic", 2.0 * PI / 3.0).working().is_complex());
}

/// Spin-orbit coupling along a ring, about any axis in the plane.
#[test]
fn the_axis_of_a_rashba_ring_does_not_matter() {
    let ring = |phi: f64| {
        let hop = |i: usize, j: usize| {
            let straight = cdag(i, Spin::Up) * c(j, Spin::Up) + cdag(i, Spin::Down) * c(j, Spin::Down);
            let turned =
                cis(phi) * (cdag(i, Spin::Up) * c(j, Spin::Down)) - cis(-phi) * (cdag(i, Spin::Down) * c(j, Spin::Up));
            with_conjugate(-1.0 * straight + 0.4 * turned)
        };
        let h: Operator = (0..5).map(|i| hop(i, (i + 1) % 5)).sum();
        h.charges(&[(Charge::Particles, 3)]).unwrap()
    };
    let spectrum = |model: &Model| free::eigenvalues(ours::dense(model));
    let (along_y, turned) = (ring(0.0), ring(0.8));
    assert!(turned.is_complex() && !turned.working().is_complex());
    let (expected, complex) = (spectrum(&along_y), spectrum(&turned));
    for (k, found) in spectrum(turned.working()).into_iter().enumerate() {
        assert!((found - expected[k]).abs() < 1e-10 && (found - complex[2 * k]).abs() < 1e-10);
    }
}

/// A ring of spins whose energy depends on the flux: the gauge takes none of it.
#[test]
fn a_flux_that_stays_changes_the_energy() {
    let energy = |flux: f64| {
        let bond = |i: usize| {
            let j = (i + 1) % 8;
            with_conjugate(cis(flux / 8.0) * (0.5 * sp(i) * sm(j))) + sz(i) * sz(j)
        };
        let model = (0..8).map(bond).sum::<Operator>().two_sz(0).unwrap();
        let solved = Lanczos::new(&model).run(&ours::Device::cpu()).unwrap();
        (model.working().is_complex(), solved.energy())
    };
    let lattice = Lattice::chain(8).periodic();
    let twisted = |jxy: f64| {
        let mut couplings = [1.0; 8];
        couplings[3] = jxy;
        let h = eigenforge::models::xxz(&lattice, &couplings, &[1.0; 8], &[0.0; 8], &[0.0; 8]);
        free::eigenvalues(ours::dense(&h.two_sz(0).unwrap()))[0]
    };
    for (flux, jxy) in [(2.0 * PI, 1.0), (PI, -1.0)] {
        let (complex, found) = energy(flux);
        assert!(!complex && (found - twisted(jxy)).abs() < 1e-9, "flux {flux}: {found}");
    }
    let (complex, part) = energy(0.3);
    assert!(complex && part > twisted(1.0) + 1e-4 && part < twisted(-1.0) - 1e-4);
}
