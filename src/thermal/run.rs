//! Thermal averages are run: sectors, their traces, sums over all of them.
//!
//! In: a file with `[thermal]`, a [`RunContext`]. Out: a [`ThermalRecord`]. Sectors of at most `exact_below` states are diagonalised whole. Of a
//! larger one the lowest levels are solved for, and random vectors without these stand for the rest.

use super::averaged::Averaged;
use super::averages::{NO_WEIGHT, Origin, Quantity, SectorLines, Wanted, change};
use super::record::{SAME, ThermalCurve, ThermalPlaces, ThermalRecord, ThermalSectorRecord};
use super::sectors::{EnsembleSectors, JoinedSectors};
use crate::Error;
use crate::exact::{LARGEST_DENSE, LevelStates, Model, ModelProblem, SampleOptions, SectorTrace, Solve, TraceLine};
use crate::input::{Family, InputProblem, ModelFile, ThermalEnsemble, ThermalMethod, ThermalSpec, Wrong};
use crate::operator::Operator;
use crate::path::{GeneratedFile, StageError};
use crate::problem::run::{ChosenDevice, PieceSaver, RunContext, choose_device, operators_setting, setting};
use crate::report::{ClusterRecord, KernelRecord, ModelRecord, SCHEMA};
use crate::words::grouped;
use eigenforge_runtime::machine::{Card, Machine};
use eigenforge_runtime::solvers::{Course, Solver};
use eigenforge_runtime::{Device, overlapped, trace};
use eigenforge_templates::ScalarType;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The most states of a sector that is diagonalised whole: some minutes of two cores.
const MOST_WHOLE: u64 = 4096;
/// Elements of a vector up to which chains are followed on cores: the launches of a card's steps take longer.
const SHORT_VECTORS: u64 = 1 << 14;
/// A standard error above this part of its value is said, where the value is above `OF_LARGEST` of the largest one.
const LARGE_ERROR: f64 = 0.05;
const OF_LARGEST: f64 = 0.01;
/// A line this far below the lowest level, in parts of the width of the spectrum, and with this weight, is of a level that was missed.
const MISSED: f64 = 1e-7;
const HAS_WEIGHT: f64 = 1e-6;
/// Averages by place are of the order of 1: errors are not compared with less.
const SMALL_AVERAGE: f64 = 1e-3;
/// Energies this close, in parts of the width of the spectrum, are one level.
const SAME_LEVEL: f64 = 1e-9;

/// The thermal averages that a file asks for.
///
/// # Errors
/// A file without `[thermal]`; what a solve refuses; a sector too large for the method; the device's.
pub fn thermal(file: ModelFile, context: &RunContext) -> Result<ThermalRecord, Error> {
    let Some(spec) = file.thermal.clone() else {
        let example = "[thermal]\ntemperatures = { from = 0.05, to = 20.0, points = 60 }";
        let what = Wrong::MissingTable { table: "thermal", example };
        return Err(file.refused(InputProblem { what, span: 0..0 }).into());
    };
    if file.solve.precision != ScalarType::F64 {
        let why = "its vectors are of f64: leave `precision` out of [solve]";
        return Err(Error::not_of_family(Family::Lattice, "thermal", why));
    }
    if file.symmetry.is_some() {
        let why =
            "an ensemble has the states of all symmetry sectors, and takes momenta by itself: leave [symmetry] out";
        let what = Wrong::Conflict { key: "thermal", other: "symmetry", why };
        return Err(file.refused(InputProblem { what, span: spec.span.clone() }).into());
    }
    let mut warnings = Vec::new();
    let averaged = Averaged::new(&file, &spec)?;
    let (names, operators) = (&averaged.names, &averaged.operators);
    let sectors = EnsembleSectors::new(&file, operators)?;
    if !sectors.has_sz && sectors.has_spins {
        let why = "H does not conserve the total Sz, and (⟨Sz²⟩ − ⟨Sz⟩²)/T is no susceptibility: chi is left out";
        warnings.push(why.into());
    }
    let joined = sectors.joined(spec.exact_below);
    context.observer.plan(&described(&file, &spec, &sectors, &joined))?;
    let run = ThermalRun { file: &file, spec: &spec, operators, context };
    let device = run.device(&sectors, &joined, &mut warnings)?;

    let mut saver = PieceSaver::open(context.checkpoint.as_ref(), run.settings(names))?;
    let mut found: Vec<SectorOutcome> = Vec::new();
    let mut ahead: Option<Model> = None;
    for (number, sector) in joined.iter().enumerate() {
        let model = match ahead.take() {
            Some(model) => Some(model),
            None => sectors.model(sector)?,
        };
        let Some(model) = model else { continue };
        let name = model.sector_text();
        let text = format!("{} of {}: {name}, {} states", number + 1, joined.len(), grouped(model.states().into()));
        context.observer.stage("thermal", &text);
        let runs_there = !spec.is_whole(model.states()) && run.place([&model], &device).runs_kernels();
        let next = joined.get(number + 1).filter(|_| runs_there);
        let trace: SolvedTrace = saver.piece_or(&name, || {
            let prepared = |next: &JoinedSectors| {
                let next = sectors.model(next).ok()??;
                run.prepare(&next, &model).ok()?;
                Some(next)
            };
            let (trace, found) = overlapped(|| run.trace(&model, &device), next.map(|next| || prepared(next)));
            ahead = found;
            trace
        })?;
        warnings.extend(trace.warning.clone());
        found.push(SectorOutcome { name, members: sector.members.clone(), trace });
    }
    context.observer.finished();
    let states: u128 = found.iter().map(|own| u128::from(own.trace.trace.states) * own.members.len() as u128).sum();
    if states != sectors.states {
        // Sectors that do not add up would be wrong at every temperature.
        let why = format!("its sectors have {states} states together, and the ensemble {}", sectors.states);
        return Err(Error::not_of_family(Family::Lattice, "thermal", why));
    }
    run.record(&sectors, &averaged, (&found, states), &device, warnings)
}

/// A sector with what was found of it.
struct SectorOutcome {
    name: String,
    members: Vec<super::sectors::Member>,
    trace: SolvedTrace,
}

/// A trace, and whether the levels in it have converged and are all of their multiplets.
#[derive(Serialize, Deserialize)]
struct SolvedTrace {
    trace: SectorTrace,
    converged: bool,
    complete: bool,
    warning: Option<String>,
}

/// What every sector is solved with.
pub(crate) struct ThermalRun<'a> {
    pub(crate) file: &'a ModelFile,
    pub(crate) spec: &'a ThermalSpec,
    /// What is averaged.
    pub(crate) operators: &'a [Operator],
    pub(crate) context: &'a RunContext,
}

impl ThermalSpec {
    /// Whether a sector of so many states is diagonalised whole.
    pub(crate) fn is_whole(&self, states: u64) -> bool {
        match self.method {
            ThermalMethod::Exact => true,
            ThermalMethod::Auto => states <= self.exact_below as u64,
            ThermalMethod::Ftlm | ThermalMethod::Tpq => false,
        }
    }
}

/// What a run launches in the sectors that are sampled: chains, and solves for their lowest levels. Of those with short vectors a simulated
/// device launches it.
///
/// # Errors
/// As of [`thermal`].
pub(crate) fn sector_files(file: &ModelFile, spec: &ThermalSpec) -> Result<Vec<GeneratedFile>, StageError> {
    let Averaged { operators, .. } = Averaged::new(file, spec)?;
    let sectors = EnsembleSectors::new(file, &operators)?;
    // Averages in pure states are taken on the host.
    let course = Course::Chain { overlaps: !operators.is_empty() && spec.method != ThermalMethod::Tpq };
    let mut files = Vec::new();
    for sector in sectors.joined(spec.exact_below) {
        let Some(model) = sectors.model(&sector)?.filter(|model| !spec.is_whole(model.states())) else { continue };
        files.extend(model.in_own_conjugates().course_files(course, "for the thermal averages")?);
        if spec.method == ThermalMethod::Auto {
            let solve = sector_solve(file, &model);
            let chosen = match file.solve.solver {
                Some(solver) => solve.solver(solver),
                None => ModelProblem::choose_on(solve, &Card::H200),
            };
            let of_solve = |file: GeneratedFile| match file.when {
                "" => file.launched("for the levels of sectors"),
                _ => file,
            };
            files.extend(ModelProblem::generated(&chosen)?.into_iter().map(of_solve));
        }
    }
    Ok(files)
}

/// The solve for the lowest levels of a sector, by Lanczos where the file leaves the solver out.
fn sector_solve<'m>(file: &ModelFile, model: &'m Model) -> Solve<'m> {
    let spec = &file.solve;
    let most = usize::try_from(model.states()).unwrap_or(usize::MAX);
    let asked = Solve::new(ModelProblem::from(model), spec.solver.unwrap_or(Solver::Lanczos));
    asked.options(spec.options()).states(spec.states.min(most))
}

impl ThermalRun<'_> {
    /// Where chains of some sectors are followed, and their levels solved for.
    pub(crate) fn place<'m>(&self, models: impl IntoIterator<Item = &'m Model>, device: &Device) -> Device {
        let have_short_vectors = |model: &Model| model.in_own_conjugates().dimension() <= SHORT_VECTORS;
        let on_cores = matches!(device, Device::Cuda(_)) && models.into_iter().all(have_short_vectors);
        if on_cores { Device::cpu() } else { device.clone() }
    }

    /// The lowest levels of a sector.
    fn solve<'m>(&self, model: &'m Model, device: &Device) -> Solve<'m> {
        let asked = sector_solve(self.file, model);
        let asked = if self.file.solve.solver.is_none() { asked.choose(device).0 } else { asked };
        let observer = Arc::clone(&self.context.observer);
        asked.tuned(self.context.tuned).progress(move |progress| observer.iteration(progress))
    }

    /// The device: of the largest sector that is sampled; the cores where all are solved whole.
    pub(crate) fn device(
        &self,
        sectors: &EnsembleSectors,
        joined: &[JoinedSectors],
        warnings: &mut Vec<String>,
    ) -> Result<Device, Error> {
        let largest = joined.iter().max_by_key(|sector| sectors.size(sector));
        let model = largest.map(|sector| sectors.model(sector)).transpose()?.flatten();
        let sampled = model.as_ref().filter(|model| !self.spec.is_whole(model.states()));
        let forecast = |machine: &Machine, device: Option<&Device>| {
            let Some(model) = sampled else { unreachable!("asked for where a sector is sampled") };
            self.solve(model, device.unwrap_or(&Device::cpu())).forecast(machine, device)
        };
        if sampled.is_none() && self.context.device == "auto" {
            return Ok(Device::cpu());
        }
        let ChosenDevice { device, on_cpu, line } = match sampled {
            Some(_) => choose_device(self.context, forecast)?,
            None => {
                let (device, on_cpu) = crate::problem::run::open_device(self.context)?;
                ChosenDevice { device, on_cpu, line: String::new() }
            }
        };
        device.check_alone("thermal")?;
        warnings.extend(on_cpu);
        let elsewhere = match device {
            Device::Cuda(_) => format!("; vectors of up to {} elements on the cores", grouped(SHORT_VECTORS.into())),
            _ => String::new(),
        };
        self.context.observer.plan(&(line + &format!("device   {}{elsewhere}\n", device.name())))?;
        Ok(device)
    }

    /// µ of the grand ensemble, else 0.
    pub(crate) fn mu(&self) -> f64 {
        match self.spec.ensemble {
            ThermalEnsemble::Canonical => 0.0,
            ThermalEnsemble::Grand { mu } => mu,
        }
    }

    /// Refuses a sector that is too large to be diagonalised whole.
    pub(crate) fn check_whole(&self, model: &Model) -> Result<(), Error> {
        if model.states() <= MOST_WHOLE && model.dimension() <= LARGEST_DENSE {
            return Ok(());
        }
        let key = if self.spec.method == ThermalMethod::Exact { "method" } else { "exact_below" };
        let expected = format!(
            "\"auto\" or \"ftlm\" for sectors of more than {MOST_WHOLE} states, with `exact_below` at most {MOST_WHOLE}"
        );
        let found = format!("{} states in {}", grouped(model.states().into()), model.sector_text());
        let what = Wrong::OutOfRange { key: key.into(), expected, found };
        Err(self.file.refused(InputProblem { what, span: self.spec.span.clone() }).into())
    }

    /// The model that a sector is solved in: without operators any states will do.
    fn solved<'m>(&self, model: &'m Model) -> &'m Model {
        if self.operators.is_empty() { model.in_own_conjugates() } else { model }
    }

    /// Lists the states of a sector now, by the lists of another where they are alike.
    fn prepare(&self, model: &Model, known: &Model) -> Result<(), Error> {
        self.solved(model).prepare_states(self.solved(known))?;
        Ok(model.in_own_conjugates().prepare_states(known.in_own_conjugates())?)
    }

    /// The trace of a sector.
    fn trace(&self, model: &Model, device: &Device) -> Result<SolvedTrace, Error> {
        let _sector = trace::span("thermal", "a sector");
        let model = self.solved(model);
        let device = &self.place([model], device);
        if self.spec.is_whole(model.states()) {
            self.check_whole(model)?;
            let trace = model.whole_trace(self.operators)?;
            return Ok(SolvedTrace { trace, converged: true, complete: true, warning: None });
        }
        let (levels, converged, complete) = match self.spec.method {
            ThermalMethod::Ftlm | ThermalMethod::Tpq => (Vec::new(), true, true),
            ThermalMethod::Auto | ThermalMethod::Exact => self.levels(model, device)?,
        };
        let warning = (!converged).then(|| {
            let name = model.sector_text();
            format!(
                "{name}: its lowest levels have not converged, random vectors stand for them: more `max_iterations` in [solve]"
            )
        });
        let trace = model.sampled_trace(self.operators, &levels, &self.samples(), device)?;
        Ok(SolvedTrace { trace, converged, complete, warning })
    }

    /// What a run must have the same to go on from the finished sectors of another.
    fn settings(&self, names: &[String]) -> Vec<(String, String)> {
        let (spec, solve) = (self.spec, &self.file.solve);
        vec![
            operators_setting("problem", [&self.file.declared_operator()]),
            setting("ensemble", (spec.ensemble, self.file.ensemble_charges())),
            setting("observables", names),
            operators_setting("operators", self.operators),
            setting("method", spec.method),
            setting("exact_below", spec.exact_below),
            setting("samples", spec.samples),
            setting("steps", spec.steps),
            setting("seed", solve.seed),
            setting("states", solve.states),
            setting("tolerance", solve.tolerance),
        ]
    }

    /// How sectors are sampled.
    pub(crate) fn samples(&self) -> SampleOptions {
        SampleOptions {
            samples: self.spec.samples,
            steps: self.spec.steps,
            seed: self.file.solve.seed,
            pure_states: self.spec.method == ThermalMethod::Tpq,
        }
    }

    /// The levels that have converged; whether all have, and whether the lowest is there with all of its states.
    pub(crate) fn levels(&self, model: &Model, device: &Device) -> Result<(Vec<LevelStates>, bool, bool), Error> {
        let solution = self.solve(model, device).run(device)?;
        let pairs = solution.eigenpairs();
        let (mut levels, mut state, mut converged) = (Vec::new(), 0, true);
        for (number, level) in solution.levels().iter().enumerate() {
            let residuals = &pairs.residuals[state..state + level.returned];
            state += level.returned;
            // What has not converged is no state to take out of others.
            converged &= residuals.iter().all(|residual| *residual <= 2.0 * pairs.tolerance);
            if !converged {
                break;
            }
            levels.push(solution.level_states(number)?);
        }
        let complete = solution.levels().first().is_some_and(|level| level.complete);
        Ok((levels, converged, complete))
    }

    /// Everything of all sectors.
    fn record(
        &self,
        sectors: &EnsembleSectors,
        averaged: &Averaged,
        (found, states): (&[SectorOutcome], u128),
        device: &Device,
        mut warnings: Vec<String>,
    ) -> Result<ThermalRecord, Error> {
        let (file, spec) = (self.file, self.spec);
        let lines = |half: bool| -> Result<Vec<SectorLines>, Error> {
            let of_sector = |own: &SectorOutcome| SectorLines::new(&own.members, &own.trace.trace, half);
            Ok(found.iter().map(of_sector).collect::<Result<_, _>>()?)
        };
        let (all, half) = (lines(false)?, lines(true)?);
        let mu = match spec.ensemble {
            ThermalEnsemble::Canonical => None,
            ThermalEnsemble::Grand { mu } => Some(mu),
        };
        let origin = Origin::new(&all, mu.unwrap_or(0.0));
        let wanted =
            Wanted { mu, susceptibility: sectors.has_sz, operators: &averaged.names, temperatures: &spec.temperatures };
        let quantities = wanted.quantities(&all, origin);
        let halves = wanted.quantities(&half, origin);
        let size = |operator: &Operator| operator.terms().map(|(_, coefficient)| coefficient.abs()).sum();
        let sizes: Vec<f64> = self.operators.iter().map(size).collect();
        let curve = |(own, half): (Quantity, Quantity)| {
            let change = change(&half, &own, wanted.scale(&own.name, origin, &sizes));
            ThermalCurve { name: own.name, values: own.values, errors: own.errors, change }
        };
        let least = |name: &str| wanted.scale(name, origin, &sizes)[1];
        let mut quantities: Vec<ThermalCurve> = quantities.into_iter().zip(halves.iter().cloned()).map(curve).collect();
        let places = averaged.records(&mut quantities, halves, &least);
        let degeneracy = degeneracy(&all, origin, mu.unwrap_or(0.0));
        let level_converged = found.iter().all(|own| own.trace.converged);
        if degeneracy.is_some() && found.iter().any(|own| !own.trace.complete) {
            warnings.push(
                "the lowest level of a sector may have more states than were found; random vectors stand for them"
                    .into(),
            );
        }
        warnings.extend(missed(found, &all));
        warnings.extend(faults(&quantities, spec, &least));
        warnings.extend(places.iter().flat_map(|own| faults_of_places(own, spec)));
        let record = |own: &SectorOutcome| {
            let SectorTrace { states, exact, samples } = &own.trace.trace;
            ThermalSectorRecord {
                sector: own.name.clone(),
                states: *states,
                joined: own.members.len(),
                exact: exact.iter().map(|line| line.weight).sum::<f64>().round() as u64,
                steps: samples.iter().map(|sample| sample.steps()).max().unwrap_or(0),
            }
        };
        let samples = found.iter().map(|own| own.trace.trace.samples.len()).max().unwrap_or(0);
        Ok(ThermalRecord {
            schema: SCHEMA,
            model: ModelRecord { name: file.model.name().into(), file: file.name.clone(), text: file.text.clone() },
            lattice: ClusterRecord::new(&file.lattice),
            ensemble: if mu.is_some() { "grand" } else { "canonical" }.into(),
            fixed: fixed(file),
            mu,
            states: u64::try_from(states).unwrap_or(u64::MAX),
            sectors: found.iter().map(record).collect(),
            samples,
            lowest: origin.k,
            degeneracy,
            temperatures: spec.temperatures.clone(),
            converged: level_converged
                && quantities.iter().all(ThermalCurve::converged)
                && places.iter().flat_map(|own| &own.curves).all(ThermalCurve::converged),
            quantities,
            places,
            device: device.name(),
            kernels: KernelRecord::list(device),
            seconds: self.context.start.elapsed().as_secs_f64(),
            warnings,
        })
    }
}

impl ThermalCurve {
    /// Whether more steps would not change it.
    fn converged(&self) -> bool {
        self.name == "ln_z" || self.change <= SAME
    }
}

/// What the ensemble fixes, in words.
fn fixed(file: &ModelFile) -> String {
    let charges = file.ensemble_charges();
    charges.iter().map(|(charge, value)| charge.valued(*value)).collect::<Vec<_>>().join(", ")
}

fn described(file: &ModelFile, spec: &ThermalSpec, sectors: &EnsembleSectors, joined: &[JoinedSectors]) -> String {
    let ensemble = match spec.ensemble {
        ThermalEnsemble::Canonical => "canonical".into(),
        ThermalEnsemble::Grand { mu } => format!("grand canonical, mu = {mu}"),
    };
    let fixed = fixed(file);
    let fixed = if fixed.is_empty() { "every state".into() } else { format!("{fixed}, all else summed over") };
    let (low, high) = (spec.temperatures[0], spec.temperatures[spec.temperatures.len() - 1]);
    format!(
        "model    {}: {}\n         {}\nlattice  {}\nthermal  {ensemble}: {fixed}; {} states in {} sectors of charges, {} to solve; T from {low} to {high}\n\n",
        file.model.name(),
        file.model.formula(),
        file.model.amplitudes(),
        file.lattice.describe(),
        grouped(sectors.states),
        sectors.count(),
        joined.len(),
    )
}

/// The states of the lowest energy, where they are known exactly.
fn degeneracy(sectors: &[SectorLines], origin: Origin, mu: f64) -> Option<usize> {
    let lines = sectors.iter().flat_map(|sector| {
        let number = sector.members.first().map_or(0, |member| member.number);
        let own = move |line: &TraceLine| line.energy - mu * number as f64;
        let exact = sector.exact.iter().map(move |line| (own(line), Some(line.weight * sector.members.len() as f64)));
        let sampled = sector.samples.iter().flatten().filter(|line| line.weight > NO_WEIGHT);
        exact.chain(sampled.map(move |line| (own(line), None)))
    });
    let lines: Vec<(f64, Option<f64>)> = lines.collect();
    let width = lines.iter().map(|(k, _)| k - origin.k).fold(0.0, f64::max);
    let near = || lines.iter().filter(|(k, _)| k - origin.k <= SAME_LEVEL * width);
    let states: Option<f64> = near().map(|(_, weight)| *weight).sum();
    states.map(|states| states.round() as usize)
}

/// Sectors where a random vector has found less energy than the solver.
fn missed(found: &[SectorOutcome], lines: &[SectorLines]) -> Vec<String> {
    let mut warnings = Vec::new();
    for (own, lines) in found.iter().zip(lines) {
        let Some(lowest) = lines.exact.iter().map(|line| line.energy).min_by(f64::total_cmp) else { continue };
        let of_samples = || lines.samples.iter().flatten();
        let width = of_samples().map(|line| (line.energy - lowest).abs()).fold(0.0, f64::max);
        let below = |line: &&TraceLine| line.energy < lowest - MISSED * width && line.weight > HAS_WEIGHT;
        if let Some(line) = of_samples().find(below) {
            warnings.push(format!(
                "{}: a random vector has energy {}, below the lowest level that was solved for, {lowest}: other `seed` or `solver` in [solve]",
                own.name, line.energy
            ));
        }
    }
    warnings
}

/// The same of averages by place: errors count in parts of the largest average.
fn faults_of_places(own: &ThermalPlaces, spec: &ThermalSpec) -> Vec<String> {
    let all = || own.curves.iter();
    let largest = all().flat_map(|curve| &curve.values).map(|value| value.abs()).fold(SMALL_AVERAGE, f64::max);
    let error = all().flat_map(|curve| &curve.errors).copied().fold(0.0, f64::max);
    let change = all().map(|curve| curve.change).fold(0.0, f64::max);
    let changes = (change > SAME).then(|| {
        format!(
            "{}: it changes by {change:.1e} of its largest value from half of the steps to all: more `steps` than {}",
            own.name, spec.steps
        )
    });
    let varies = (error > LARGE_ERROR * largest).then(|| {
        format!(
            "{}: standard errors are up to {:.0} % of its largest value: more `samples` than {}, or more `states` in [solve]",
            own.name,
            100.0 * error / largest,
            spec.samples
        )
    });
    changes.into_iter().chain(varies).collect()
}

/// What a careful reader must know of the curves.
fn faults(quantities: &[ThermalCurve], spec: &ThermalSpec, least: &dyn Fn(&str) -> f64) -> Vec<String> {
    let (mut found, temperatures) = (Vec::new(), &spec.temperatures);
    for curve in quantities.iter().filter(|curve| !curve.converged()) {
        found.push(format!(
            "{}: it changes by {:.1e} of its largest value from half of the steps to all: more `steps` than {}",
            curve.name, curve.change, spec.steps
        ));
    }
    for curve in quantities.iter().filter(|curve| curve.name != "ln_z") {
        let least = curve.values.iter().map(|value| OF_LARGEST * value.abs()).fold(least(&curve.name), f64::max);
        let part = |place: &usize| curve.errors[*place] / curve.values[*place].abs().max(least);
        let bad: Vec<usize> = (0..temperatures.len()).filter(|place| part(place) > LARGE_ERROR).collect();
        let Some((first, last)) = bad.first().zip(bad.last()) else { continue };
        let most = bad.iter().map(&part).fold(0.0, f64::max);
        found.push(format!(
            "{}: its standard error is up to {:.0} % of it between T = {} and {}: more `samples` than {}, or more `states` in [solve]",
            curve.name,
            100.0 * most,
            temperatures[*first],
            temperatures[*last],
            spec.samples
        ));
    }
    found
}
