//! An evolution is run: device, start, steps, record.
//!
//! In: a file with `[evolve]`, a [`RunContext`]. Out: an [`EvolutionRecord`].

use super::checkpoint::checkpoint_settings;
use super::device::RunDevice;
use super::hamiltonian::driven_model;
use super::measures::measures;
use super::record::{EvolutionRecord, RecordedAverages, RecordedEntropy, time_text};
use super::start::start_state;
use crate::Error;
use crate::exact::{DrivenModel, EvolutionMeasures, EvolutionPoint, evolve_driven_model, evolve_model};
use crate::input::{EvolveSpec, Family, InputProblem, ModelFile, Wrong};
use crate::problem::run::{CheckpointRequest, ChosenDevice, RunContext, choose_device};
use crate::problem::{LatticeProblem, Problem};
use crate::report::{ClusterRecord, KernelRecord, ModelRecord, SCHEMA};
use eigenforge_runtime::Device;
use eigenforge_runtime::machine::Machine;
use eigenforge_runtime::solvers::{CheckpointOptions, EvolutionOptions, EvolutionSteps};
use eigenforge_templates::ScalarType;
use num_complex::Complex64;
use std::time::Instant;

/// Lines that say how far a run is, at most.
const MOST_LINES: usize = 20;

/// The evolution that a file asks for.
///
/// # Errors
/// A file without `[evolve]`; a start that is not in its sector; names that are not known; no room for the bases of steps; the device's.
pub fn evolution(file: ModelFile, context: &RunContext) -> Result<EvolutionRecord, Error> {
    let Some(spec) = file.evolve.clone() else {
        let example = "[evolve]\nstart = { model = \"before.toml\" }\nuntil = 10.0";
        let what = Wrong::MissingTable { table: "evolve", example };
        return Err(file.refused(InputProblem { what, span: 0..0 }).into());
    };
    let problem = LatticeProblem::new(file)?;
    check(&problem)?;
    let (file, model) = (&problem.file, &problem.model);
    let wanted = measures(file, &spec, model)?;
    context.observer.plan(&described(&problem, &spec))?;
    let forecast = |machine: &Machine, device: Option<&Device>| {
        let solve = problem.solve();
        let solve = if file.solve.solver.is_none() { solve.choose(device.unwrap_or(&Device::cpu())).0 } else { solve };
        solve.forecast(machine, device)
    };
    let ChosenDevice { device, on_cpu, line } = choose_device(context, forecast)?;
    device.check_alone("evolve")?;
    context.observer.plan(&(line + &format!("device   {}\n", device.name())))?;
    let chosen = RunDevice { device, context };
    let driven = driven_model(file, &spec, model)?;
    // Of H(t) with complex parts the basis is one of complex vectors.
    let evolved = driven.as_ref().map_or(model, DrivenModel::basis_model);
    let start = start_state(file, &spec, evolved, &chosen)?;
    let start_seconds = context.start.elapsed().as_secs_f64();
    let started = Instant::now();
    let options = EvolutionOptions {
        imaginary: spec.imaginary,
        checkpoint: checkpoint(&problem, &spec, &wanted, context)?,
        ..EvolutionOptions::new(spec.times.clone(), spec.tolerance)
    };
    let mut points: Vec<EvolutionPoint> = Vec::new();
    let until = spec.times.last().copied().unwrap_or(0.0);
    let between = spec.times.len().div_ceil(MOST_LINES);
    let visit = |point: EvolutionPoint| {
        if points.len().is_multiple_of(between) {
            let time = time_text(point.time, &spec.times);
            context.observer.stage("evolve", &format!("t = {time} of {until}"));
        }
        points.push(point);
    };
    let course = match &driven {
        Some(driven) => evolve_driven_model(driven, &start.amplitudes, &options, &wanted, &chosen.device, visit),
        None => evolve_model(model, &start.amplitudes, &options, &wanted, &chosen.device, visit),
    }?;
    context.observer.finished();
    let mut warnings: Vec<String> = on_cpu.into_iter().chain(start.warnings).collect();
    warnings.extend(faults(&course, &spec));
    let averages = wanted.observables.iter().map(|observable| RecordedAverages {
        name: observable.name.clone(),
        values: points.iter().filter_map(|point| point.averages.get(&observable.name).cloned()).collect(),
    });
    let entropies = wanted.entropies.iter().enumerate().map(|(number, sites)| RecordedEntropy {
        sites: sites.clone(),
        values: points.iter().map(|point| point.entropies[number]).collect(),
    });
    let energy: Vec<f64> = points.iter().map(|point| point.energy).collect();
    let largest = |values: &[f64]| values.iter().map(|value| (value - values[0]).abs()).fold(0.0, f64::max);
    Ok(EvolutionRecord {
        schema: SCHEMA,
        model: ModelRecord { name: file.model.name().into(), file: file.name.clone(), text: file.text.clone() },
        lattice: ClusterRecord::new(&file.lattice),
        sector: model.sector_text(),
        states: model.states(),
        start: start.words,
        imaginary: spec.imaginary,
        record: spec.record.iter().map(|(name, _)| name.clone()).collect(),
        times: points.iter().map(|point| point.time).collect(),
        energy_drift: (!spec.imaginary && driven.is_none()).then(|| largest(&energy)),
        energy,
        echo: points.iter().map(|point| point.overlap.norm_sqr()).collect(),
        overlap: points.iter().map(|point| [point.overlap.re, point.overlap.im]).collect(),
        log_norm: spec.imaginary.then(|| points.iter().map(|point| point.log_norm).collect()),
        averages: averages.collect(),
        entropies: entropies.collect(),
        bounds: points.iter().map(|point| point.bound).collect(),
        bound: course.bound,
        estimated: course.estimated,
        tolerance: spec.tolerance,
        steps: course.steps,
        multiplies: course.multiplies,
        basis: course.vectors,
        converged: start.converged && course.bound <= spec.tolerance,
        device: chosen.device.name(),
        kernels: KernelRecord::list(&chosen.device),
        seconds: [start_seconds, started.elapsed().as_secs_f64()],
        chain: None,
        state: None,
        warnings,
    })
}

/// Where the evolution is saved, with what must be the same where it goes on.
fn checkpoint(
    problem: &LatticeProblem,
    spec: &EvolveSpec,
    wanted: &EvolutionMeasures,
    context: &RunContext,
) -> Result<Option<CheckpointOptions>, Error> {
    let Some(CheckpointRequest { folder, seconds, resume }) = context.checkpoint.clone() else { return Ok(None) };
    let settings = checkpoint_settings(&problem.file, spec, &wanted.observables);
    Ok(Some(CheckpointOptions { folder, every_seconds: seconds, resume, identity: problem.identity()?, settings }))
}

/// What has no evolution.
fn check(problem: &LatticeProblem) -> Result<(), Error> {
    let refuse = |why: &str| Err(Error::not_of_family(Family::Lattice, "evolve", why));
    if problem.model.symmetry_degeneracy() > 1 {
        return refuse(
            "its sector has one of several states of each level: leave `irrep` out, or take one of one dimension",
        );
    }
    if problem.file.solve.precision != ScalarType::F64 {
        return refuse("its vectors are of f64: leave `precision` out of [solve]");
    }
    // A start and its parts, as they are made.
    let amplitudes = (4 * size_of::<Complex64>() as u64).saturating_mul(problem.model.states());
    Ok(Device::cpu().check_memory("the amplitudes of a start, on the host", amplitudes)?)
}

fn described(problem: &LatticeProblem, spec: &EvolveSpec) -> String {
    let until = spec.times.last().copied().unwrap_or(0.0);
    let axis = if spec.imaginary { "imaginary time" } else { "time" };
    format!(
        "{}\nevolve   {axis} from 0 to {until}, {} times, tolerance {:e}\n",
        problem.describe(),
        spec.times.len(),
        spec.tolerance
    )
}

/// What a careful reader must know of the steps.
fn faults(course: &EvolutionSteps, spec: &EvolveSpec) -> Option<String> {
    let EvolutionSteps { bound, .. } = course;
    let why = match spec.imaginary {
        true => {
            "errors grow beside a state whose part in the lowest state is small, and rounding is counted: a smaller `until`, or a larger `tolerance`"
        }
        false => "rounding is counted: a smaller `until`, or a larger `tolerance`",
    };
    let is_reached = *bound <= spec.tolerance;
    (!is_reached)
        .then(|| format!("the sum of the bounds is {bound:.1e}, above the tolerance {:e}; {why}", spec.tolerance))
}
