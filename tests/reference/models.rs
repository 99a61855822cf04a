//! Models on sites of any kind: the files of examples/models against an independent construction, and random operators on
//! random sites against their dense matrices.
//!
//! In: examples/models/*.toml, tests/data/models/answers.json (made by make.py beside it, which builds each matrix from
//! Kronecker products without reading the files). Out: dimension, trace and norm of the dense matrix, the multiply, the lowest
//! energies, averages; spectra of sectors against that of all states.

use super::{free, ours};
use eigenforge::exact::{InSector, Lanczos, Model, Solution, Solve, averages_on_host};
use eigenforge::input::ModelFile;
use eigenforge::operator::build::imaginary_unit;
use eigenforge::operator::{Charge, Factor, Operator, OperatorError, SiteKind};
use eigenforge_runtime::seeded;
use num_complex::Complex64;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(Deserialize)]
struct Answer {
    dimension: u64,
    energies: Vec<f64>,
    trace: f64,
    norm: f64,
}

pub fn root() -> PathBuf {
    std::env::var_os("EIGENFORGE_ROOT").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from)
}

pub fn random(seed: u64, count: usize) -> Vec<f64> {
    (0..count as u64).map(|k| seeded::element(seed, k)).collect()
}

/// The multiply on every device against the dense matrix.
pub fn multiply_agrees(name: &str, model: &Model, dense: &[Vec<f64>]) {
    let x = random(3, dense.len());
    let size = dense.iter().flatten().fold(1.0f64, |largest, value| largest.max(value.abs()));
    for device in ours::devices() {
        let y = ours::multiply(model, &x, &device);
        for (k, (row, y)) in dense.iter().zip(&y).enumerate() {
            let exact: f64 = row.iter().zip(&x).map(|(a, x)| a * x).sum();
            let close = (y - exact).abs() <= 1e-12 * size * (x.len() as f64).sqrt();
            assert!(close, "{name}, row {k} on {}: {y} and {exact}", device.name());
        }
    }
}

/// Averages of the standard observables in a random vector against dense matrices.
fn averages_agree(name: &str, model: &Model) {
    let vector = random(5, model.dimension() as usize);
    let observables = model.standard_observables();
    let averages = averages_on_host(model, &[vector.as_slice()], &observables).unwrap();
    for observable in observables {
        let values = averages.get(&observable.name).unwrap().values();
        for (place, operator) in observable.operators.iter().enumerate() {
            // The Hermitian part has the same average in a real vector.
            let hermitian = 0.5 * (operator.clone() + operator.adjoint());
            let operator =
                model.operator().kinds().map_or(hermitian.clone(), |kinds| hermitian.clone().on_kinds(kinds));
            let exact = match Model::new(operator.on_sites(model.sites()), model.sector().clone()) {
                Ok(observable) if observable.dimension() == model.dimension() => {
                    let dense = ours::dense(&observable);
                    let row = |row: &Vec<f64>| row.iter().zip(&vector).map(|(a, v)| a * v).sum::<f64>();
                    dense.iter().zip(&vector).map(|(of_row, v)| v * row(of_row)).sum::<f64>()
                }
                Ok(_) | Err(OperatorError::NotConserved { .. } | OperatorError::WrongSector { .. }) => continue,
                Err(error) => panic!("{name}, {}: {error}", observable.name),
            };
            let scale = vector.iter().map(|v| v * v).sum::<f64>().max(1.0);
            let close = (values[place] - exact).abs() <= 1e-10 * scale;
            assert!(close, "{name}, {} {place}: {} and {exact}", observable.name, values[place]);
        }
    }
}

#[test]
fn example_models_have_the_answers_of_an_independent_construction() {
    let answers = std::fs::read_to_string(root().join("tests/data/models/answers.json")).unwrap();
    let answers: BTreeMap<String, Answer> = serde_json::from_str(&answers).unwrap();
    let mut files: Vec<String> = std::fs::read_dir(root().join("examples/models"))
        .unwrap()
        .filter_map(|entry| entry.ok()?.path().file_stem().map(|stem| stem.to_string_lossy().into_owned()))
        .collect();
    files.sort();
    assert_eq!(files, answers.keys().cloned().collect::<Vec<_>>(), "each file has an answer");
    let mut faults = Vec::new();
    for (name, answer) in &answers {
        let path = root().join(format!("examples/models/{name}.toml"));
        let file = match ModelFile::read(&path) {
            Ok(file) => file,
            Err(error) => {
                faults.push(format!("{name}: {error:?}"));
                continue;
            }
        };
        let model = match file.to_model() {
            Ok(model) => model,
            Err(error) => {
                faults.push(format!("{name}: {error}"));
                continue;
            }
        };
        if model.states() != answer.dimension || file.dimension() != Some(answer.dimension.into()) {
            faults.push(format!("{name}: dimension {} instead of {}", model.dimension(), answer.dimension));
            continue;
        }
        let dense = ours::dense(&model);
        // A complex matrix stands as a real one of twice the dimension.
        let copies = (model.dimension() / model.states()) as f64;
        let trace = dense.iter().enumerate().map(|(k, row)| row[k]).sum::<f64>() / copies;
        let norm = dense.iter().flatten().map(|value| value * value).sum::<f64>() / copies;
        let scale = norm.max(1.0);
        if (trace - answer.trace).abs() > 1e-11 * scale || (norm - answer.norm).abs() > 1e-11 * scale {
            faults.push(format!("{name}: trace {trace} ({}), norm {norm} ({})", answer.trace, answer.norm));
            continue;
        }
        multiply_agrees(name, &model, &dense);
        if model.dimension() <= 600 {
            averages_agree(name, &model);
        }
        let device = ours::devices().pop().unwrap();
        for states in [1, answer.energies.len().min(4)] {
            let solved = Lanczos::new(&model).states(states).run(&device).unwrap();
            let energies = solved.energies();
            let wrong = |(found, expected): (&f64, &f64)| (found - expected).abs() > 1e-8;
            if energies.len() != states || energies.iter().zip(&answer.energies).any(wrong) {
                faults.push(format!("{name}: energies {energies:?} instead of {:?}", answer.energies));
            }
            for level in solved.levels().iter().filter(|level| level.complete) {
                let equal = answer.energies.iter().filter(|energy| (*energy - level.value).abs() < 1e-7).count();
                let last = answer.energies.last().is_some_and(|last| (last - level.value).abs() < 1e-7);
                if level.multiplicity != equal && !last {
                    faults.push(format!("{name}: multiplicity {} instead of {equal}", level.multiplicity));
                }
            }
            if model.is_complex() {
                complex_vectors_are_eigenvectors(name, &dense, &solved);
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Complex eigenvectors: orthonormal, with small residuals by the dense matrix.
pub fn complex_vectors_are_eigenvectors(name: &str, dense: &[Vec<f64>], solved: &Solution<'_>) {
    let vectors = solved.complex_vectors().unwrap();
    let half = dense.len() / 2;
    for (k, (vector, energy)) in vectors.iter().zip(solved.energies()).enumerate() {
        for (j, other) in vectors.iter().enumerate() {
            let product: Complex64 = other.iter().zip(vector).map(|(a, b)| a.conj() * b).sum();
            let expected = if j == k { 1.0 } else { 0.0 };
            assert!((product - expected).norm() < 1e-7, "{name}: states {j} and {k}: {product}");
        }
        let row = |s: usize| -> Complex64 {
            let element = |t: usize| Complex64::new(dense[s][t], dense[half + s][t]);
            (0..half).map(|t| element(t) * vector[t]).sum()
        };
        let residual: f64 = (0..half).map(|s| (row(s) - energy * vector[s]).norm_sqr()).sum();
        let reported = (solved.residuals(), solved.levels(), solved.stop(), solved.energies());
        // What a search that stagnates among many equal eigenvalues leaves, its report says; members of a level are mixed.
        let most = 1e-6f64.max(10.0 * solved.residuals()[k]);
        assert!(residual.sqrt() < most, "{name}: residual {} of state {k}: {reported:?}", residual.sqrt());
    }
}

/// Every factor of a site.
pub fn factors(kind: SiteKind, site: usize) -> Vec<Factor> {
    let mut all: Vec<Factor> = kind
        .modes()
        .into_iter()
        .flat_map(|spin| [Factor::Create(spin, site), Factor::Annihilate(spin, site)])
        .collect();
    let others = [
        Factor::Raise(site),
        Factor::Sz(site),
        Factor::Lower(site),
        Factor::CreateBoson(site),
        Factor::AnnihilateBoson(site),
    ];
    all.extend(others.into_iter().filter(|factor| kind.has(*factor)));
    all
}

/// Numbers below `most`, from a seed.
pub struct Draw(pub u64, pub u64);

impl Draw {
    pub fn below(&mut self, most: usize) -> usize {
        self.1 += 1;
        let unit = 0.5 * (seeded::element(self.0, self.1) + 1.0);
        ((unit.abs() * most as f64) as usize).min(most - 1)
    }

    pub fn number(&mut self) -> f64 {
        self.1 += 1;
        seeded::element(self.0, self.1)
    }
}

pub const KINDS: [SiteKind; 9] = [
    SiteKind::Electrons,
    SiteKind::Tj,
    SiteKind::Flavours(1),
    SiteKind::Flavours(3),
    SiteKind::Moments { two_s: 1 },
    SiteKind::Moments { two_s: 2 },
    SiteKind::Qubits,
    SiteKind::Bosons { most: 2 },
    SiteKind::Bosons { most: 3 },
];

/// Random Hermitian operators on random sites: their matrices, multiplies and averages, with and without forbidden states, and
/// the spectra of the sectors of every charge that they conserve, which together are the whole spectrum.
#[test]
fn random_operators_on_random_sites() {
    let (mut sectors, mut constrained, mut complexes) = (0, 0, 0);
    // A second or two each, on a card too, where every sector is a text of its own.
    const STEP: usize = 11;
    for seed in (0..220u64).step_by(STEP) {
        let mut draw = Draw(seed, 0);
        let mut kinds = Vec::new();
        let mut states = 1;
        for _ in 0..1 + draw.below(6) {
            let kind = KINDS[draw.below(KINDS.len())];
            states *= kind.states().count();
            if states > 400 {
                break;
            }
            kinds.push(kind);
        }
        if kinds.is_empty() {
            continue;
        }
        let all: Vec<Factor> = kinds.iter().enumerate().flat_map(|(site, kind)| factors(*kind, site)).collect();
        // Some operators conserve everything, some a charge, some nothing.
        let kept: Vec<Charge> = [Charge::Particles, Charge::TwoSz, Charge::Bosons, Charge::Parity]
            .into_iter()
            .filter(|_| draw.below(3) == 0)
            .collect();
        let complex = draw.below(3) == 0;
        let mut operator = Operator::zero().on_kinds(&kinds);
        let mut products = 0;
        for _ in 0..400 {
            let chosen: Vec<Factor> = (0..1 + draw.below(4)).map(|_| all[draw.below(all.len())]).collect();
            let fermions = chosen.iter().filter(|factor| factor.is_fermion()).count();
            let keeps = |charge: &Charge| change(&chosen, *charge, &kinds) == 0;
            if fermions % 2 == 1 || !kept.iter().all(keeps) || products >= 8 {
                continue;
            }
            products += 1;
            let mut term = draw.number() * Operator::product(&chosen);
            if complex && draw.below(2) == 0 {
                term = imaginary_unit() * term;
            }
            let adjoint = term.adjoint();
            operator = operator + term + adjoint;
        }
        if draw.below(3) == 0 && kinds.len() > 1 {
            for _ in 0..1 + draw.below(3) {
                let (i, j) = (draw.below(kinds.len()), draw.below(kinds.len()));
                let state = |site: usize, draw: &mut Draw| draw.below(kinds[site].states().count()) as u64;
                if i != j {
                    operator = operator.forbid(&[(i, state(i, &mut draw)), (j, state(j, &mut draw))]);
                    constrained += 1;
                }
            }
        }
        let name = format!("seed {seed}, {kinds:?}");
        let whole = match operator.clone().charges(&[]) {
            Ok(model) => model,
            Err(OperatorError::EmptySector { .. }) => continue,
            Err(error) => panic!("{name}: {error}"),
        };
        let dense = ours::dense(&whole);
        multiply_agrees(&name, &whole, &dense);
        super::listed::agrees_with_tables(&name, &whole, &dense);
        if seed % 4 == 0 && dense.len() <= 120 {
            averages_agree(&name, &whole);
        }
        let spectrum = free::eigenvalues(dense.clone());
        if whole.is_complex() {
            complexes += 1;
            folded_spectrum(&name, &whole, &dense, &spectrum);
        }
        for charge in [Charge::Up, Charge::Flavour(0), Charge::Particles, Charge::TwoSz, Charge::Bosons, Charge::Parity]
        {
            let mut parts = Vec::new();
            let mut refused = false;
            for value in -40..=40 {
                match operator.clone().charges(&[(charge, value)]) {
                    Ok(model) => {
                        sectors += 1;
                        let dense = ours::dense(&model);
                        multiply_agrees(&format!("{name}, {charge} {value}"), &model, &dense);
                        super::listed::agrees_with_tables(&format!("{name}, {charge} {value}"), &model, &dense);
                        let values = free::eigenvalues(dense);
                        // A sector in which nothing imaginary acts is complex all the same.
                        assert_eq!(model.is_complex(), whole.is_complex());
                        parts.extend(values);
                    }
                    Err(OperatorError::EmptySector { .. }) => {}
                    Err(OperatorError::NotConserved { .. } | OperatorError::NoSuchCharge { .. }) => refused = true,
                    Err(error) => panic!("{name}, {charge} {value}: {error}"),
                }
                if charge == Charge::Parity && value == 1 {
                    break;
                }
                if charge == Charge::Parity && value < 0 {
                    parts.clear();
                }
            }
            if refused {
                continue;
            }
            parts.sort_by(f64::total_cmp);
            assert_eq!(parts.len(), spectrum.len(), "{name}: states by {charge}");
            let size = spectrum.iter().fold(1.0f64, |size, value| size.max(value.abs()));
            for (part, value) in parts.iter().zip(&spectrum) {
                assert!((part - value).abs() < 1e-9 * size, "{name}, by {charge}: {part} and {value}");
            }
        }
    }
    let found = format!("{sectors} sectors, {constrained} forbidden patterns, {complexes} complex");
    assert!(sectors * STEP > 300 && constrained * STEP > 20 && complexes * STEP > 20, "{found}");
}

/// Every eigenvalue of the real matrix comes twice, and a solve gives each once, with its multiplicity and its vectors.
fn folded_spectrum(name: &str, model: &Model, dense: &[Vec<f64>], spectrum: &[f64]) {
    let size = spectrum.iter().fold(1.0f64, |size, value| size.max(value.abs()));
    assert!(spectrum.chunks(2).all(|pair| (pair[0] - pair[1]).abs() < 1e-9 * size), "{name}: {spectrum:?}");
    let energies: Vec<f64> = spectrum.iter().step_by(2).copied().collect();
    for solver in ours::SOLVERS {
        for states in [1, 3] {
            if states > energies.len() {
                continue;
            }
            let solved = Solve::new(model, solver).states(states).run(&ours::devices()[0]).unwrap();
            assert_eq!(solved.energies().len(), states, "{name} by {solver:?}");
            for (found, expected) in solved.energies().iter().zip(&energies) {
                assert!((found - expected).abs() < 1e-8 * size, "{name} by {solver:?}: {found} and {expected}");
            }
            for level in solved.levels().iter().filter(|level| level.complete) {
                let equal = energies.iter().filter(|energy| (*energy - level.value).abs() < 1e-7 * size).count();
                assert_eq!(level.multiplicity, equal, "{name} by {solver:?}, {states} states: level {}", level.value);
            }
            complex_vectors_are_eigenvectors(name, dense, &solved);
        }
    }
}

/// How much a product changes a charge, from the charges of local states.
fn change(product: &[Factor], charge: Charge, kinds: &[SiteKind]) -> i64 {
    let of = |factor: &Factor| {
        let kind = kinds[factor.site()];
        let bit = |spin| kind.modes().iter().position(|mode| *mode == spin).map_or(0, |bit| 1u64 << bit);
        match *factor {
            Factor::Create(spin, _) => kind.charge(charge, 0, bit(spin)) - kind.charge(charge, 0, 0),
            Factor::Annihilate(spin, _) => kind.charge(charge, 0, 0) - kind.charge(charge, 0, bit(spin)),
            Factor::Raise(_) | Factor::CreateBoson(_) => kind.charge(charge, 0, 1) - kind.charge(charge, 0, 0),
            Factor::Lower(_) | Factor::AnnihilateBoson(_) => kind.charge(charge, 0, 0) - kind.charge(charge, 0, 1),
            Factor::Sz(_) | Factor::ImaginaryUnit => 0,
        }
    };
    let change: i64 = product.iter().map(of).sum();
    if charge == Charge::Parity { change % 2 } else { change }
}
