//! The state at time 0.
//!
//! In: `start` of a file, its model. Out: amplitudes in the order of the model's basis, and the start in words. A state of another file is solved
//! for, on the run's device.

use super::device::RunDevice;
use crate::Error;
use crate::exact::{Model, ModelProblem, Solution, Solve, StartError};
use crate::input::{EvolveSpec, InputFile, InputProblem, ModelFile, SolveSpec, StartSpec, Wrong};
use crate::operator::{Carrier, Factor, Operator, SiteKind, Word};
use crate::problem::LatticeProblem;
use eigenforge_runtime::solvers::Solver;
use ndarray::{Array1, Array2};
use ndarray_npy::NpzReader;
use num_complex::Complex64;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// The tolerance of a solve for orbitals.
const PRECISE: f64 = 1e-13;

/// A start.
pub(super) struct StartState {
    pub amplitudes: Vec<Complex64>,
    /// What it is.
    pub words: String,
    /// What a careful reader must know.
    pub warnings: Vec<String>,
    /// Whether a state that was solved for has converged.
    pub converged: bool,
}

/// The start of a file with `[evolve]`.
///
/// # Errors
/// A state that is not in the sector; another file that is wrong, or whose lowest level is degenerate; a file of other vectors.
pub(super) fn start_state(
    file: &ModelFile,
    spec: &EvolveSpec,
    model: &Model,
    chosen: &RunDevice<'_>,
) -> Result<StartState, Error> {
    let refused = |message: String| {
        let what = Wrong::Start(message);
        Error::from(file.refused(InputProblem { what, span: spec.start_span.clone() }))
    };
    let of_start = |error: StartError| match error {
        StartError::Operator(error) => error.into(),
        error => refused(error.to_string()),
    };
    let exact = |amplitudes: Vec<Complex64>, words: String| StartState {
        amplitudes,
        words,
        warnings: Vec::new(),
        converged: true,
    };
    match &spec.start {
        StartSpec::Occupied { up, down } => {
            let levels = occupied(&model.site_kinds(), up, down.as_deref()).map_err(refused)?;
            Ok(exact(model.product_state(&levels).map_err(of_start)?, "a product of local states".into()))
        }
        StartSpec::Levels(levels) => {
            Ok(exact(model.product_state(levels).map_err(of_start)?, "a product of local states".into()))
        }
        StartSpec::Vectors { path, state } => {
            let amplitudes = read_vectors(path, *state, model).map_err(refused)?;
            Ok(exact(amplitudes, format!("state {state} of {}", path.display())))
        }
        StartSpec::Model { path, state } => {
            let InputFile::Lattice(other) = InputFile::read(path)? else {
                let why = "it is no lattice model that is diagonalised, with one value for each key";
                return Err(refused(format!("{}: {why}", path.display())));
            };
            let other = LatticeProblem::new(*other)?;
            if other.model.site_kinds() != model.site_kinds() {
                return Err(of_start(StartError::OtherSites));
            }
            if other.model.sector().charge_values() != model.sector().charge_values() {
                let [there, here] = [&other.model, model].map(|model| model.sector().to_string());
                return Err(refused(format!(
                    "{} is in the sector {there}, and this file in {here}: give both the same [sector]",
                    path.display()
                )));
            }
            let (name, most) = (path.display().to_string(), other.model.states());
            let wanted = state.unwrap_or(0);
            if wanted as u64 >= most {
                return Err(refused(format!("state = {wanted}, but {name} has {most} states, from 0")));
            }
            eigenstate_start(
                &chosen.lowest(other.solve(), &other.file.solve, wanted + 1)?,
                (&name, *state),
                model,
                refused,
            )
        }
        StartSpec::Orbitals => {
            let free = one_body(&file.operator(), &model.site_kinds()).map_err(&refused)?;
            let plain = Model::new(free, model.sector().clone())?;
            let precise = SolveSpec { tolerance: PRECISE, ..SolveSpec::default() };
            let solve = Solve::new(ModelProblem::from(&plain), Solver::Lanczos).options(precise.options());
            let name = "H without interactions";
            let start = eigenstate_start(&chosen.lowest(solve, &precise, 1)?, (name, None), model, refused)?;
            Ok(StartState { words: format!("the lowest orbitals: {}", start.words), ..start })
        }
    }
}

/// The state of the lowest levels that `name` has, carried over; without a number the lowest, which must not be degenerate.
fn eigenstate_start(
    solution: &Solution<'_>,
    (name, state): (&str, Option<usize>),
    model: &Model,
    refused: impl Fn(String) -> Error,
) -> Result<StartState, Error> {
    let wanted = state.unwrap_or(0);
    let mut first = 0;
    let level = solution.levels().iter().position(|level| {
        first += level.returned;
        wanted < first
    });
    let Some(level) = level else {
        return Err(refused(format!("the solver found no state {wanted} of {name}")));
    };
    let own = &solution.levels()[level];
    let (energy, multiplicity) = (own.value, own.multiplicity);
    let within = wanted - (first - own.returned);
    if state.is_none() && multiplicity > 1 {
        return Err(refused(format!(
            "the lowest level of {name} has {multiplicity} states, and what follows depends on which: break the degeneracy, choose a smaller \
             sector, or name a state of another file with `state = 0`"
        )));
    }
    let mut warnings = Vec::new();
    if multiplicity > 1 {
        warnings.push(format!(
            "state {wanted} of {name} is one of {multiplicity} of its level: which one is the solver's choice"
        ));
    }
    if !own.complete {
        warnings.push(format!("the level of {name} may have more states than were found"));
    }
    let pairs = solution.eigenpairs();
    let residual = pairs.residuals.get(wanted).copied().unwrap_or(f64::NAN);
    let converged = residual <= 2.0 * pairs.tolerance;
    if !converged {
        warnings.push(format!(
            "the state of {name} has not converged (residual {residual:.1e}): more `max_iterations` or a larger `tolerance` in its [solve]"
        ));
    }
    let states = solution.level_states(level)?;
    let amplitudes = states.carried(within, model).map_err(|error| match error {
        StartError::Operator(error) => error.into(),
        error => refused(error.to_string()),
    })?;
    let words = format!("state {wanted} of {name}, E = {energy:.10}, residual {residual:.1e}");
    Ok(StartState { amplitudes, words, warnings, converged })
}

/// The terms of an operator that move one particle, or none.
fn one_body(operator: &Operator, kinds: &[SiteKind]) -> Result<Operator, String> {
    let fermions = |kind: &SiteKind| matches!(kind.carrier(), Carrier::Electrons | Carrier::Flavours);
    if !kinds.iter().all(|kind| fermions(kind) && *kind != SiteKind::Tj) {
        return Err(
            "orbitals are of electrons, or of fermions with flavours: give every site's local state with `levels`"
                .into(),
        );
    }
    let operator = operator.reduced();
    let particles = |product: &[Factor]| product.iter().filter(|factor| factor.is_fermion()).count();
    let terms: Vec<(f64, Vec<Factor>)> = operator
        .terms()
        .filter(|(product, _)| particles(product) <= 2)
        .map(|(product, coefficient)| (coefficient, product.to_vec()))
        .collect();
    Ok(Operator::recorded(&terms, operator.two_s(), kinds.len(), Vec::new()).on_kinds(kinds))
}

/// The local state of each site from the sites that are occupied, or whose spins are up.
pub(super) fn occupied(kinds: &[SiteKind], up: &[usize], down: Option<&[usize]>) -> Result<Vec<u64>, String> {
    for (name, list) in [("up", up), ("down", down.unwrap_or_default())] {
        for (place, site) in list.iter().enumerate() {
            if *site >= kinds.len() {
                return Err(format!("`{name}` has site {site}, but the sites are 0 to {}", kinds.len() - 1));
            }
            if list[..place].contains(site) {
                return Err(format!("`{name}` has site {site} twice"));
            }
        }
    }
    let is_down = |site: &usize| down.is_some_and(|down| down.contains(site));
    let of_site = |(site, kind): (usize, &SiteKind)| {
        let (up, down_here) = (up.contains(&site), is_down(&site));
        match (kind.carrier(), kind) {
            (Carrier::Electrons, SiteKind::Tj) if up && down_here => {
                Err(format!("site {site} holds one electron at most, and is in `up` and in `down`"))
            }
            (Carrier::Electrons, _) => Ok(u64::from(up) + 2 * u64::from(down_here)),
            (Carrier::Spin, SiteKind::Moments { two_s: 1 }) => match (up, down) {
                (true, Some(_)) if down_here => Err(format!("the spin of site {site} is in `up` and in `down`")),
                (false, Some(_)) if !down_here => Err(format!("the spin of site {site} is in neither `up` nor `down`")),
                _ => Ok(u64::from(up)),
            },
            _ => Err(format!(
                "site {site} is of kind \"{kind}\", which is neither up nor down: give every site's local state with `levels`"
            )),
        }
    };
    kinds.iter().enumerate().map(of_site).collect()
}

/// A row of vectors.npz in the order of the model's basis, of length 1.
fn read_vectors(path: &Path, state: usize, model: &Model) -> Result<Vec<Complex64>, String> {
    let shown = path.display();
    let opened = File::open(path).map_err(|error| format!("cannot read {shown}: {error}"))?;
    let mut npz =
        NpzReader::new(BufReader::new(opened)).map_err(|error| format!("{shown} is no .npz file: {error}"))?;
    let names = npz.names().map_err(|error| format!("{shown}: {error}"))?;
    let has = |name: &str| names.iter().any(|known| known.trim_end_matches(".npy") == name);
    if !has("vectors") {
        return Err(format!(
            "{shown} has no array `vectors`: it should be a vectors.npz of `eigenforge solve --vectors`"
        ));
    }
    let fault = |error: &dyn std::fmt::Display| format!("{shown}: {error}");
    let vectors: Array2<Complex64> = match npz.by_name("vectors") {
        Ok(vectors) => vectors,
        Err(_) => {
            let real: Array2<f64> = npz.by_name("vectors").map_err(|error| fault(&error))?;
            real.mapv(Complex64::from)
        }
    };
    if state >= vectors.nrows() {
        return Err(format!("state = {state}, but {shown} has {} vectors, from 0", vectors.nrows()));
    }
    let mut list = |name: &str| -> Result<Array1<u64>, ndarray_npy::ReadNpzError> { npz.by_name(name) };
    let words: Vec<(u128, u128)> = if has("up_states") && has("down_states") {
        let up: Array1<u64> = list("up_states").map_err(|error| fault(&error))?;
        let down: Array1<u64> = list("down_states").map_err(|error| fault(&error))?;
        down.iter().flat_map(|down| up.iter().map(move |up| (u128::from(*up), u128::from(*down)))).collect()
    } else if has("states") {
        let states: Array1<u64> = list("states").map_err(|_| {
            format!("{shown}: `states` of more than 64 bits are not read; take `model` in place of `vectors`")
        })?;
        states.iter().map(|word| (u128::from(*word), 0)).collect()
    } else {
        return Err(format!("{shown} has neither `states` nor `up_states` and `down_states`"));
    };
    let is_by_species = has("up_states");
    let row = vectors.row(state);
    let (states, dimension) = (model.states() as usize, row.len());
    if dimension != states || words.len() != states {
        return Err(format!("{shown} has vectors of {dimension} states, and the sector of this file {states}"));
    }
    let sites = model.sites();
    let bit = |word: u128, place: usize| (word >> place & 1) as u32;
    let index = |(first, second): (u128, u128)| match model.basis().word() {
        Word::Fermions { .. } => {
            let digits: Vec<u32> = match is_by_species {
                true => (0..sites).map(|i| bit(first, i)).chain((0..sites).map(|i| bit(second, i))).collect(),
                false => (0..2).flat_map(|s| (0..sites).map(move |i| bit(first, 2 * i + s))).collect(),
            };
            model.basis().index_of(&digits)
        }
        Word::Sites(_) if is_by_species => {
            let word = (0..sites).fold(0u128, |word, i| {
                word | u128::from(bit(first, i)) << (2 * i) | u128::from(bit(second, i)) << (2 * i + 1)
            });
            model.basis().index(word)
        }
        Word::Sites(_) | Word::Spins { .. } => model.basis().index(first),
    };
    let mut amplitudes = vec![Complex64::ZERO; states];
    let mut found = vec![false; states];
    for (word, value) in words.into_iter().zip(row) {
        let place = index(word).map(|place| place as usize).filter(|place| *place < states && !found[*place]);
        let Some(place) = place else {
            return Err(format!("{shown} has a state that is not in the sector of this file, {}", model.sector_text()));
        };
        (amplitudes[place], found[place]) = (*value, true);
    }
    let length = amplitudes.iter().map(Complex64::norm_sqr).sum::<f64>().sqrt();
    if !(length > 0.0 && length.is_finite()) {
        return Err(format!("state {state} of {shown} is zero or has numbers that are not finite"));
    }
    Ok(amplitudes.into_iter().map(|amplitude| amplitude / length).collect())
}
