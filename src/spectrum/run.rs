//! A spectrum is run: level, its states in every sector, responses, sum rules.
//!
//! In: a file with `[spectrum]`, a [`RunContext`]. Out: a [`SpectrumRecord`]. The level is that of the file's sector; others may have states of
//! it ([`super::partners`]).

use super::conductivity::ConductivityRecord;
use super::current::Current;
use super::ensemble::ensemble_spectrum;
use super::joined::joined;
use super::partners::{Spins, partners};
use super::path::OnPath;
use super::plan::{SpectrumPlan, target_momentum};
use super::record::{LevelSectorRecord, SpectrumCurve, SpectrumRecord};
use crate::Error;
use crate::exact::{ChainOptions, LevelStates, Model, ModelProblem, Response, ResponseStarts, Solution, Solve};
use crate::input::{AveragedStates, Family, InputProblem, ModelFile, SpectrumMethod, SpectrumSpec, Wrong};
use crate::observable::Observable;
use crate::operator::{Operator, SiteKind};
use crate::problem::run::{ChosenDevice, PieceSaver, RunContext, choose_device, operators_setting, setting};
use crate::problem::{LatticeProblem, Problem};
use crate::report::{ClusterRecord, KernelRecord, ModelRecord, SCHEMA};
use eigenforge_runtime::machine::Machine;
use eigenforge_runtime::solvers::Solver;
use eigenforge_runtime::{Device, overlapped, trace};
use eigenforge_templates::ScalarType;
use num_complex::Complex64;
use std::collections::BTreeMap;
use std::time::Instant;

/// Energies of one level in two sectors differ by at most so many residual norms that count as converged.
const SAME_LEVEL: f64 = 4.0;
/// Terms of an operator up to which ⟨A†A⟩ is taken.
const MOST_TERMS: usize = 512;

/// States of the level in a sector, and what A†A of each momentum has there.
struct Source {
    states: LevelStates,
    sum_rules: Vec<Option<f64>>,
    /// Those that are [`Wanted`].
    averages: Vec<f64>,
    /// The residual norm up to which its states count as converged, and whether they have.
    tolerance: f64,
    converged: bool,
    complete: bool,
}

/// What is asked of the states of a level.
struct Wanted {
    /// A of each momentum.
    operators: Vec<Operator>,
    /// Averages of one number.
    measured: Vec<Observable>,
}

impl Source {
    /// How far its energy is from that of another, and how far two of one level may be.
    fn distance(&self, other: &Source) -> (f64, f64) {
        let [own, there] =
            [&self.states, &other.states].map(|states| (states.energy_without_constant, states.constant));
        let constants = own.1 - there.1;
        let rounding = 16.0 * f64::EPSILON * own.1.abs().max(there.1.abs());
        let most = SAME_LEVEL * (self.tolerance + other.tolerance) + if constants == 0.0 { 0.0 } else { rounding };
        ((own.0 - there.0 + constants).abs(), most)
    }
}

/// The spectrum that a file asks for.
///
/// # Errors
/// A file without `[spectrum]`; an operator or a momentum that its lattice has not; what a solve refuses; the device's.
pub fn spectrum(file: ModelFile, context: &RunContext) -> Result<SpectrumRecord, Error> {
    let Some(spec) = file.spectrum.clone() else {
        let example = "[spectrum]\nof = \"Sz\"\nomega = { from = 0.0, to = 5.0, points = 501 }";
        let what = Wrong::MissingTable { table: "spectrum", example };
        return Err(file.refused(InputProblem { what, span: 0..0 }).into());
    };
    if let Some(thermal) = &file.thermal {
        return ensemble_spectrum(&file, &spec, thermal, context);
    }
    let problem = LatticeProblem::new(file)?;
    check(&problem)?;
    let SpectrumPlan { excitation, list, operators, current } =
        SpectrumPlan::new(&problem.file, &problem.model, &spec)?;
    let refused = |wrong| problem.file.refused(wrong);
    let own = problem.model.momentum().map(<[i64]>::to_vec);
    let measured = current.iter().flat_map(|Current { operator, kinetic }| {
        [("current", operator), ("kinetic", kinetic)].map(|(name, operator)| Observable::scalar(name, operator.clone()))
    });
    let wanted = Wanted { operators, measured: measured.collect() };
    context.observer.plan(&described(&problem, &spec, wanted.operators.len()))?;

    let started = Instant::now();
    let mut saver = PieceSaver::open(context.checkpoint.as_ref(), settings(&problem, &spec, &wanted.operators)?)?;
    let (mut warnings, mut sources) = (Vec::new(), Vec::new());
    let mut device = None;
    let (first, spins) = level(&problem, &spec, &wanted, (context, &saver), &mut device, &mut warnings)?;
    let device = device.unwrap_or_else(Device::cpu);
    let energy = first.states.energy;
    sources.push(first);
    if spec.average == AveragedStates::Level {
        for model in partners(&problem, own, spins, &mut warnings)? {
            match partner(&problem, &model, &sources[0], &wanted, (context, &saver), &device)? {
                Some(source) => sources.push(source),
                None => warnings.push(format!(
                    "no state of the level was found in the sector {}, where symmetry has some: it is left out of the average",
                    model.sector_text()
                )),
            }
        }
    }
    if sources.iter().any(|source| !source.complete) {
        warnings.push("the level may have more states than were found: the average is over those".into());
    }
    let level_converged = sources.iter().all(|source| source.converged);
    if !level_converged {
        warnings.push("the level has not converged: more `max_iterations` in [solve], or a larger `tolerance`".into());
    }
    let level_seconds = started.elapsed().as_secs_f64();

    let all: usize = sources.iter().map(|source| source.states.states.len()).sum();
    if current.is_some() && all > 1 {
        let message = format!(
            "the lowest level has {all} states, and D is defined for one: take a sector in which it has one, and average = \"sector\""
        );
        let what = Wrong::Observable { name: "of".into(), message };
        return Err(refused(InputProblem { what, span: spec.of_span.clone() }).into());
    }
    let connected = spec.connected || current.is_some();
    let omega = window(&spec);
    let sign = if excitation.removes() { -1.0 } else { 1.0 };
    let drawn: Vec<f64> = omega.iter().map(|omega| sign * omega).collect();
    let options = chain_options(&spec, &drawn);
    let left_out: Vec<&LevelStates> = sources.iter().filter(|_| connected).map(|source| &source.states).collect();
    let level_states: Vec<&LevelStates> = sources.iter().map(|source| &source.states).collect();
    let first = joined(&problem, &level_states, sources.iter().all(|source| source.complete), &wanted.operators);
    let part = |source: &Source| source.states.states.len() as f64 / all as f64;
    let starts = &|number: usize| -> Result<Vec<ResponseStarts>, Error> {
        let of_source = |source: &Source| {
            let q = list[number].as_ref();
            let target = target_momentum(&problem.file, &source.states.model, q, &excitation);
            Ok(source.states.starts(&wanted.operators[number], target.as_deref(), &left_out, &options)?)
        };
        sources.iter().map(of_source).collect()
    };
    let followed = |starts: &[ResponseStarts]| -> Result<Response, Error> {
        let mut response = Response::default();
        for (source, own) in sources.iter().zip(starts) {
            response.add(source.states.followed(own, &options, &device)?, part(source));
        }
        Ok(response)
    };
    // While a card has the chains of a momentum, the cores make the starts of the next.
    let mut ahead: Option<(usize, Vec<ResponseStarts>)> = None;
    let (mut curves, mut conductivity) = (Vec::new(), None);
    let mut responses: BTreeMap<usize, Response> = BTreeMap::new();
    for (number, q) in list.iter().enumerate() {
        let _curve = trace::span("response", "a momentum");
        let next = (number + 1..list.len()).find(|next| first[*next] == *next && device.runs_kernels());
        let mut make = || {
            saver.piece_or(&format!("q = {:?}", q.as_ref().map(|(_, q)| &q.k)), || {
                let own = match ahead.take() {
                    Some((known, own)) if known == number => own,
                    _ => starts(number)?,
                };
                // What has failed is tried again in its turn, where it is said.
                let made = next.map(|next| move || Some((next, starts(next).ok()?)));
                let (response, found) = overlapped(|| followed(&own), made);
                ahead = found;
                response
            })
        };
        let response = match responses.get(&first[number]) {
            Some(known) => known.clone(),
            None => make()?,
        };
        if first[number + 1..].contains(&number) {
            responses.insert(number, response.clone());
        }
        let rules = sources.iter().map(|source| Some(part(source) * source.sum_rules[number]?));
        let rule: Option<f64> = rules.sum();
        if current.is_some() {
            let [mean, kinetic] = [0, 1].map(|number| sources[0].averages[number]);
            let sites = problem.model.sites();
            let found = ConductivityRecord::new(&response, [mean, kinetic], sites, &spec, &omega)?;
            if !found.converged(sites) {
                let change = found.change;
                warnings.push(format!(
                    "the Drude weight changes by {change:.1e} from half of the steps to all: more `steps`"
                ));
            }
            conductivity = Some(found);
        }
        let curve = curve(q.clone(), &response, &drawn, &spec, (sign, rule.filter(|_| !connected)))?;
        context.observer.stage("spectrum", &format!("{} of {}: {}", number + 1, list.len(), curve.name()));
        curves.push(curve);
    }
    context.observer.finished();
    warnings.extend(faults(&curves));
    let record = |source: &Source| LevelSectorRecord {
        sector: source.states.model.sector_text(),
        states: source.states.states.len(),
    };
    let file = &problem.file;
    Ok(SpectrumRecord {
        schema: SCHEMA,
        model: ModelRecord { name: file.model.name().into(), file: file.name.clone(), text: file.text.clone() },
        lattice: Some(ClusterRecord::new(&file.lattice)),
        of: spec.of.clone(),
        method: spec.method.word().into(),
        energy,
        level: sources.iter().map(record).collect(),
        temperatures: Vec::new(),
        samples: 0,
        eta: spec.eta,
        omega,
        total_weight: curves.iter().map(|curve| curve.moments[0]).sum(),
        converged: level_converged && curves.iter().all(SpectrumCurve::converged),
        curves,
        conductivity,
        device: device.name(),
        kernels: KernelRecord::list(&device),
        seconds: [level_seconds, context.start.elapsed().as_secs_f64()],
        warnings,
    })
}

/// What has no spectrum.
fn check(problem: &LatticeProblem) -> Result<(), Error> {
    let refuse = |why: &str| Err(Error::not_of_family(Family::Lattice, "spectrum", why));
    if problem.model.symmetry_degeneracy() > 1 {
        return refuse(
            "its sector has one of several states of each level: leave `irrep` out, or take one of one dimension",
        );
    }
    if problem.file.solve.precision != ScalarType::F64 {
        return refuse("its vectors are of f64: leave `precision` out of [solve]");
    }
    let amplitudes = (size_of::<Complex64>() as u64).saturating_mul(problem.model.states());
    Ok(Device::cpu().check_memory("the amplitudes of a state, on the host", amplitudes)?)
}

fn described(problem: &LatticeProblem, spec: &SpectrumSpec, curves: usize) -> String {
    let (from, to, points) = spec.omega;
    let curves = if curves == 1 { "one curve".into() } else { format!("{curves} momenta") };
    format!(
        "{}\nspectrum of {}: {curves}, ω from {from} to {to} at {points} points, eta {}, at most {} steps\n",
        problem.describe(),
        spec.of,
        spec.eta,
        spec.steps
    )
}

pub(super) fn window(spec: &SpectrumSpec) -> Vec<f64> {
    let (from, to, points) = spec.omega;
    (0..points).map(|point| from + (to - from) * point as f64 / (points - 1) as f64).collect()
}

/// How far chains are followed for a curve at these energies.
pub(super) fn chain_options(spec: &SpectrumSpec, drawn: &[f64]) -> ChainOptions {
    let is_exact = spec.method == SpectrumMethod::Exact;
    ChainOptions {
        steps: if is_exact { usize::MAX } else { spec.steps },
        omega: if is_exact { Vec::new() } else { drawn.to_vec() },
        eta: spec.eta,
        damping: if let SpectrumMethod::Kpm(damping) = spec.method { Some(damping) } else { None },
    }
}

/// A curve from its response. Removing is drawn with the other sign of ω.
pub(super) fn curve(
    q: Option<OnPath>,
    response: &Response,
    drawn: &[f64],
    spec: &SpectrumSpec,
    (sign, sum_rule): (f64, Option<f64>),
) -> Result<SpectrumCurve, Error> {
    let [weight, first, second] = response.moments();
    let mut poles: Vec<[f64; 2]> =
        response.poles()?.into_iter().map(|[omega, weight]| [sign * omega, weight]).collect();
    poles.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let (along, q) = q.map_or((0.0, None), |(along, q)| (along, Some(q)));
    Ok(SpectrumCurve {
        q,
        label: None,
        along,
        temperature: None,
        curve: response.curve(drawn, spec.eta),
        errors: None,
        moments: [weight, sign * first, second],
        moment_errors: None,
        reverse_weight: None,
        sum_rule,
        sectors: response.sectors.iter().map(ToString::to_string).collect(),
        steps: response.steps(),
        exact: response.is_closed(),
        settled: response.is_settled(),
        change: response.change(drawn, spec.eta),
        resolution: response.resolution(),
        poles,
        oscillator_strengths: None,
    })
}

/// What a careful reader must know of the curves.
pub(super) fn faults(curves: &[SpectrumCurve]) -> Vec<String> {
    let mut found = Vec::new();
    for curve in curves {
        let name = Some(curve.name()).filter(|name| !name.is_empty()).unwrap_or_else(|| "the curve".into());
        if curve.sectors.is_empty() {
            found.push(format!("{name}: the operator leads to no state"));
        }
        if let (false, Some(resolution)) = (curve.converged(), curve.resolution) {
            found.push(format!(
                "{name}: {} steps make poles {resolution:.3e} wide, more than eta: more `steps`, or a larger `eta`",
                curve.steps
            ));
        } else if !curve.converged() {
            found.push(format!(
                "{name}: the curve changes by {:.1e} of its largest value from half of its {} steps to all: more `steps`, or a larger `eta`",
                curve.change, curve.steps
            ));
        }
        if curve.breaks_sum_rule() {
            let [weight, ..] = curve.moments;
            let rule = curve.sum_rule.unwrap_or(f64::NAN);
            found.push(format!("{name}: the weight {weight} is not ⟨A†A⟩ = {rule}: the level has states that are not averaged over, or has not converged"));
        }
    }
    found
}

/// The level of a file's sector: as many states as it takes to have all below it, too. With it the device, and the spins where H conserves them.
fn level(
    problem: &LatticeProblem,
    spec: &SpectrumSpec,
    wanted: &Wanted,
    (context, saver): (&RunContext, &PieceSaver),
    device: &mut Option<Device>,
    warnings: &mut Vec<String>,
) -> Result<(Source, Option<Spins>), Error> {
    let most = usize::try_from(problem.model.states()).unwrap_or(usize::MAX);
    let mut states = problem.file.solve.states.max(spec.state + 1).min(most);
    loop {
        let asked = problem.solve().states(states);
        let choose = |device: &Device| match problem.file.solve.solver {
            None => asked.clone().choose(device).0,
            Some(_) => asked.clone(),
        };
        if device.is_none() {
            let forecast = |machine: &Machine, device: Option<&Device>| {
                choose(device.unwrap_or(&Device::cpu())).forecast(machine, device)
            };
            let ChosenDevice { device: chosen, on_cpu, line } = choose_device(context, forecast)?;
            chosen.check_alone("spectrum")?;
            warnings.extend(on_cpu);
            context.observer.plan(&(line + &format!("device   {}\n", chosen.name())))?;
            *device = Some(chosen);
        }
        let chosen = device.as_ref().unwrap_or_else(|| unreachable!("set above"));
        let solve = saved(observed(choose(chosen), context), saver, format!("level-of-{states}"));
        let solution = solve.run(chosen)?;
        let levels = solution.levels().len();
        if levels <= spec.state && states < most {
            states = states.saturating_mul(2).min(most);
            continue;
        }
        if levels <= spec.state {
            let (expected, found) =
                (format!("from 0 to {}: the sector has {levels} levels", levels - 1), spec.state.to_string());
            let what = Wrong::OutOfRange { key: "state".into(), expected, found };
            return Err(problem.file.refused(InputProblem { what, span: spec.state_span.clone() }).into());
        }
        let two_s = match solution.level_spins(None) {
            Ok(spins) => spins.get(spec.state).and_then(|spin| spin.two_s.clone()),
            Err(_) => None,
        };
        let spins = match two_s.unwrap_or_default().into_iter().max() {
            Some(two_s) => two_sz(&solution, &problem.model.site_kinds(), spec.state)?
                .map(|two_sz| Spins { two_s: two_s.into(), two_sz }),
            None => None,
        };
        return Ok((source(&solution, spec.state, wanted)?, spins));
    }
}

/// The number of the first state of a level.
fn first_state(solution: &Solution<'_>, level: usize) -> usize {
    solution.levels().iter().take(level).map(|level| level.returned).sum()
}

/// 2Sz of a level, where its states have one.
fn two_sz(solution: &Solution<'_>, kinds: &[SiteKind], level: usize) -> Result<Option<i64>, Error> {
    let each = kinds.iter().enumerate().filter_map(|(site, kind)| kind.operator("Sz", site));
    let sz = each.fold(Operator::zero(), |sum, own| sum + own).on_kinds(kinds);
    let first = first_state(solution, level);
    let mean = solution.state_averages(first, &[Observable::scalar("2Sz", 2.0 * sz)])?.scalar("2Sz");
    Ok(mean.map(f64::round).filter(|mean| mean.is_finite()).map(|mean| mean as i64))
}

fn problem_converged(solution: &Solution<'_>) -> bool {
    let pairs = solution.eigenpairs();
    pairs.residuals.iter().all(|residual| *residual <= 2.0 * pairs.tolerance)
}

/// A solve that shows its iterations.
fn observed<'m>(solve: Solve<'m>, context: &RunContext) -> Solve<'m> {
    let observer = std::sync::Arc::clone(&context.observer);
    solve.tuned(context.tuned).progress(move |progress| observer.iteration(progress))
}

/// A solve that is saved in a folder of its own, where the run is.
fn saved<'m>(solve: Solve<'m>, saver: &PieceSaver, folder: String) -> Solve<'m> {
    match saver.part_request(&folder) {
        Some(request) => solve.checkpoint(request.folder, request.seconds, request.resume),
        None => solve,
    }
}

/// What a run must have the same to go on from the finished momenta of another.
fn settings(
    problem: &LatticeProblem,
    spec: &SpectrumSpec,
    operators: &[Operator],
) -> Result<Vec<(String, String)>, Error> {
    let model = blake3::hash(problem.identity()?.as_bytes()).to_hex().to_string();
    Ok(vec![
        ("problem".into(), model),
        setting("of", &spec.of),
        operators_setting("operators", operators),
        setting("direction", spec.direction()),
        setting("omega", spec.omega),
        setting("eta", spec.eta),
        setting("steps", spec.steps),
        setting("method", spec.method),
        setting("connected", spec.connected),
        setting("state", spec.state),
        setting("average", spec.average),
        setting("tolerance", problem.file.solve.tolerance),
    ])
}

/// The states of a level, with ⟨A†A⟩ of each operator and the averages that are wanted there.
fn source(solution: &Solution<'_>, level: usize, wanted: &Wanted) -> Result<Source, Error> {
    let Wanted { operators, measured } = wanted;
    let states = solution.level_states(level)?;
    let first = first_state(solution, level);
    let kinds = states.model.site_kinds();
    let taken = |operator: &Operator| operator.len() <= MOST_TERMS;
    // Where some states are left out of the basis A may lead to them, and A†A counts those.
    let is_whole = !kinds.contains(&SiteKind::Tj) && states.model.operator().forbidden().is_empty();
    let products =
        operators.iter().enumerate().filter(|(_, operator)| is_whole && taken(operator)).map(|(number, operator)| {
            let operator = operator.clone().on_kinds(&kinds).reduced();
            Observable::scalar(&format!("q{number}"), (operator.adjoint() * operator).on_kinds(&kinds))
        });
    let observables: Vec<Observable> = products.chain(measured.iter().cloned()).collect();
    let averages = solution.state_averages(first, &observables)?;
    let measured = measured.iter().map(|observable| averages.scalar(&observable.name).unwrap_or(f64::NAN)).collect();
    let sum_rules = (0..operators.len()).map(|number| averages.scalar(&format!("q{number}"))).collect();
    let found = &solution.levels()[level];
    let (tolerance, converged) = (solution.eigenpairs().tolerance, problem_converged(solution));
    Ok(Source { states, sum_rules, averages: measured, tolerance, converged, complete: found.complete })
}

/// The level in another sector: the one whose energy is closest, if it is the same.
fn partner(
    problem: &LatticeProblem,
    model: &Model,
    own: &Source,
    wanted: &Wanted,
    (context, saver): (&RunContext, &PieceSaver),
    device: &Device,
) -> Result<Option<Source>, Error> {
    let _partner = trace::span("response", "a partner");
    let most = usize::try_from(model.states()).unwrap_or(usize::MAX);
    let mut states = problem.file.solve.states.min(most);
    loop {
        let asked = Solve::new(ModelProblem::from(model), Solver::Lanczos).options(problem.file.solve.options());
        let asked = observed(asked.states(states).choose(device).0, context);
        let folder =
            format!("level-of-{states}-{}", model.sector_text().replace(|c: char| !c.is_ascii_alphanumeric(), "_"));
        let solution = saved(asked, saver, folder).run(device)?;
        let apart = |energy: f64| (energy - own.states.energy).abs();
        let levels = solution.levels().iter().enumerate();
        let closest = levels.min_by(|a, b| apart(a.1.value).total_cmp(&apart(b.1.value))).map(|(level, _)| level);
        if let Some(level) = closest {
            let found = source(&solution, level, wanted)?;
            let (distance, same) = own.distance(&found);
            if distance <= same {
                return Ok(Some(found));
            }
        }
        let highest = solution.levels().last().map_or(f64::INFINITY, |level| level.value);
        if highest > own.states.energy || states >= most {
            return Ok(None);
        }
        states = states.saturating_mul(2).min(most);
    }
}
