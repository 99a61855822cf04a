//! The spectrum of an ensemble: S(q, ω) at the temperatures of `[thermal]`.
//!
//! In: a file with `[spectrum]` and `[thermal]`. Out: a [`SpectrumRecord`] with a curve for each momentum and temperature. Every sector of the
//! ensemble is gone through once: a small one whole, of a large one the lowest levels by chains as at T = 0, and the rest by random vectors
//! ([`crate::exact::Transitions`]).

use super::ensemble_sums::{EnsembleSums, SumOf};
use super::plan::{SpectrumPlan, target_momentum};
use super::record::{SpectrumCurve, SpectrumRecord};
use super::run::window;
use crate::Error;
use crate::exact::{ChainOptions, KnownLevels, LevelStates, Model, ResponseTarget, TransitionSamples, Transitions};
use crate::input::{Family, InputProblem, ModelFile, SpectrumMethod, SpectrumSpec, ThermalMethod, ThermalSpec, Wrong};
use crate::problem::run::RunContext;
use crate::report::{ClusterRecord, KernelRecord, ModelRecord, SCHEMA};
use crate::thermal::{EnsembleSectors, JoinedSectors, ThermalRun};
use crate::words::grouped;
use eigenforge_runtime::{Device, trace};
use eigenforge_templates::ScalarType;

/// States of a target up to which it is diagonalised whole where the sector is: so many, and so many times `exact_below`.
const WHOLE_TARGET: [u64; 2] = [1024, 4];

/// What was found of a sector.
#[derive(Default)]
struct Course {
    /// Whether a sector was sampled.
    sampled: bool,
    /// Whether the lowest levels of all sectors have converged.
    converged: bool,
    sectors: Vec<String>,
    steps: usize,
}

/// The spectrum of an ensemble that a file asks for.
///
/// # Errors
/// What such a spectrum does not have; what a solve refuses; the device's.
pub(super) fn ensemble_spectrum(
    file: &ModelFile,
    spec: &SpectrumSpec,
    thermal: &ThermalSpec,
    context: &RunContext,
) -> Result<SpectrumRecord, Error> {
    check(file, spec, thermal, context)?;
    let run = ThermalRun { file, spec: thermal, operators: &[], context };
    let sectors = EnsembleSectors::unjoined(file)?;
    let models_of = |all: &[JoinedSectors]| -> Result<Vec<(Model, f64)>, Error> {
        let mut models = Vec::new();
        for sector in all {
            let number = sector.members.first().map_or(0, |member| member.number) as f64;
            models.extend(sectors.model(sector)?.map(|model| (model, run.mu() * number)));
        }
        Ok(models)
    };
    let mut all = sectors.joined(if thermal.method == ThermalMethod::Exact { usize::MAX } else { thermal.exact_below });
    let mut models = models_of(&all)?;
    // In a sector of momentum an operator must be of one; others lead from whole sectors of charges.
    let of_momentum = models.iter().find(|(model, _)| model.momentum().is_some());
    if of_momentum.is_some_and(|(model, _)| SpectrumPlan::new(file, model, spec).is_err()) {
        all = sectors.joined(usize::MAX);
        models = models_of(&all)?;
    }
    let of_momentum = models.iter().find(|(model, _)| model.momentum().is_some());
    let Some((first, _)) = of_momentum.or(models.first()) else {
        let why = "its ensemble has no state";
        return Err(Error::not_of_family(Family::Lattice, "spectrum", why));
    };
    let plan = SpectrumPlan::new(file, first, spec)?;
    context.observer.plan(&described(file, spec, thermal, (all.len(), plan.operators.len())))?;
    let mut warnings = Vec::new();
    let device = run.device(&sectors, &all, &mut warnings)?;
    let sign = if plan.excitation.removes() { -1.0 } else { 1.0 };
    let temperatures = &thermal.temperatures;
    let mut sums = EnsembleSums::new((temperatures, spec.eta, sign), plan.operators.len(), thermal.samples);
    let mut course = Course { converged: true, ..Course::default() };
    let (mut known, mut states) = (KnownLevels::default(), 0);
    for (number, (model, shift)) in models.iter().enumerate() {
        let _sector = trace::span("thermal", "a sector");
        let (name, own) = (model.sector_text(), model.states());
        let text = format!("{} of {}: {name}, {} states", number + 1, models.len(), grouped(own.into()));
        context.observer.stage("spectrum", &text);
        let targets = targets(file, &plan, model)?;
        let device = run.place(targets.iter().flatten().map(|target| &target.model).chain([model]), &device);
        let sector = EnsembleSector { run: &run, model, targets, shift: *shift, device: &device, spec };
        sector.add(&plan, &mut sums, &mut known, &mut course)?;
        course.sectors.push(name);
        states += u128::from(own);
    }
    context.observer.finished();
    if states != sectors.states {
        let why = format!("its sectors have {states} states together, and the ensemble {}", sectors.states);
        return Err(Error::not_of_family(Family::Lattice, "spectrum", why));
    }
    if !course.converged {
        let why = "the lowest levels of a sector have not converged, random vectors stand for them: more `max_iterations` in [solve]";
        warnings.push(why.into());
    }
    let omega = window(spec);
    let mut curves = Vec::new();
    for (number, q) in plan.list.iter().enumerate() {
        for (place, temperature) in temperatures.iter().enumerate() {
            let found = sums.curve(number, place, &omega);
            let (along, q) = q.clone().map_or((0.0, None), |(along, q)| (along, Some(q)));
            let [weight, first, second, reverse] = found.numbers;
            curves.push(SpectrumCurve {
                q,
                label: None,
                along,
                temperature: Some(*temperature),
                curve: found.curve,
                errors: course.sampled.then_some(found.errors),
                moments: [weight, first, second],
                moment_errors: course.sampled.then(|| [0, 1, 2].map(|power| found.number_errors[power])),
                reverse_weight: (run.mu() == 0.0 && reverse.is_finite()).then_some(reverse),
                sum_rule: None,
                sectors: Vec::new(),
                steps: course.steps,
                exact: !course.sampled,
                settled: !course.sampled,
                change: if course.sampled { found.change } else { 0.0 },
                resolution: None,
                poles: Vec::new(),
                oscillator_strengths: None,
            });
        }
    }
    warnings.extend(faults(&curves, thermal));
    Ok(SpectrumRecord {
        schema: SCHEMA,
        model: ModelRecord { name: file.model.name().into(), file: file.name.clone(), text: file.text.clone() },
        lattice: Some(ClusterRecord::new(&file.lattice)),
        of: spec.of.clone(),
        method: if course.sampled { "ftlm" } else { "exact" }.into(),
        energy: sums.lowest(),
        level: Vec::new(),
        temperatures: temperatures.clone(),
        samples: if course.sampled { thermal.samples } else { 0 },
        eta: spec.eta,
        omega,
        total_weight: curves
            .iter()
            .filter(|curve| curve.temperature == temperatures.first().copied())
            .map(|curve| curve.moments[0])
            .sum(),
        converged: course.converged && curves.iter().all(SpectrumCurve::converged),
        curves,
        conductivity: None,
        device: device.name(),
        kernels: KernelRecord::list(&device),
        seconds: [0.0, context.start.elapsed().as_secs_f64()],
        warnings,
    })
}

/// What such a spectrum does not have.
fn check(file: &ModelFile, spec: &SpectrumSpec, thermal: &ThermalSpec, context: &RunContext) -> Result<(), Error> {
    let refuse = |why: &str| Err(Error::not_of_family(Family::Lattice, "spectrum beside [thermal]", why));
    let at_zero = match () {
        () if spec.state > 0 => Some(("state", "an ensemble has all levels: leave `state` out")),
        () if spec.connected => Some(("connected", "it is of one level: leave `connected` out")),
        () if spec.method != SpectrumMethod::Lanczos => Some(("method", "[thermal] has the method: leave this out")),
        () if spec.of == "current" => {
            Some(("of = \"current\"", "a conductivity is that of the lowest level: leave [thermal] out"))
        }
        () => None,
    };
    if let Some((key, why)) = at_zero {
        let what = Wrong::Conflict { key, other: "thermal", why };
        return Err(file.refused(InputProblem { what, span: spec.of_span.clone() }).into());
    }
    if thermal.method == ThermalMethod::Tpq {
        return refuse("it is made by chains of random vectors: take method = \"auto\" or \"ftlm\" in [thermal]");
    }
    if file.symmetry.is_some() {
        return refuse("an ensemble has the states of all symmetry sectors: leave [symmetry] out");
    }
    if file.solve.precision != ScalarType::F64 {
        return refuse("its vectors are of f64: leave `precision` out of [solve]");
    }
    if context.checkpoint.is_some() {
        return refuse("its sums over sectors have no checkpoints: leave --checkpoint out");
    }
    Ok(())
}

fn described(
    file: &ModelFile,
    spec: &SpectrumSpec,
    thermal: &ThermalSpec,
    (sectors, operators): (usize, usize),
) -> String {
    let (low, high) = (thermal.temperatures[0], thermal.temperatures[thermal.temperatures.len() - 1]);
    format!(
        "{file}\nspectrum of {} at T from {low} to {high}: {operators} operators, {sectors} sectors, {} samples of {} steps, eta {}\n",
        spec.of, thermal.samples, thermal.steps, spec.eta
    )
}

/// The sectors that each operator leads to.
fn targets(file: &ModelFile, plan: &SpectrumPlan<'_>, model: &Model) -> Result<Vec<Vec<ResponseTarget>>, Error> {
    let of_operator = |(q, operator): (&Option<_>, &_)| {
        let momentum = target_momentum(file, model, q.as_ref(), &plan.excitation);
        Ok(model.response_targets(operator, momentum.as_deref())?)
    };
    plan.list.iter().zip(&plan.operators).map(of_operator).collect()
}

/// A sector with what it is gone through with.
struct EnsembleSector<'a> {
    run: &'a ThermalRun<'a>,
    model: &'a Model,
    targets: Vec<Vec<ResponseTarget>>,
    shift: f64,
    device: &'a Device,
    spec: &'a SpectrumSpec,
}

impl EnsembleSector<'_> {
    /// Adds its part of all sums.
    fn add(
        &self,
        plan: &SpectrumPlan<'_>,
        sums: &mut EnsembleSums<'_>,
        known: &mut KnownLevels,
        course: &mut Course,
    ) -> Result<(), Error> {
        let thermal = self.run.spec;
        let largest = self.targets.iter().flatten().map(|target| target.model.states()).max().unwrap_or(0);
        let [least, times] = WHOLE_TARGET;
        let is_whole = thermal.is_whole(self.model.states())
            && (largest <= least.max(times * thermal.exact_below as u64) || thermal.method == ThermalMethod::Exact);
        if is_whole {
            self.run.check_whole(self.model)?;
            self.targets.iter().flatten().try_for_each(|target| self.run.check_whole(&target.model))?;
            let found = self.model.whole_transitions(&self.targets, known)?;
            sums.add_sample(SumOf::Exact, &found, self.shift)?;
            return Ok(());
        }
        let (levels, converged) = match thermal.method {
            ThermalMethod::Ftlm | ThermalMethod::Tpq => (Vec::new(), true),
            ThermalMethod::Auto | ThermalMethod::Exact => {
                let (levels, converged, _) = self.run.levels(self.model, self.device)?;
                (levels, converged)
            }
        };
        course.converged &= converged;
        self.add_levels(plan, &levels, sums)?;
        course.sampled = true;
        let visit = |sample: usize, found: TransitionSamples| {
            course.steps = course.steps.max(found.whole.lines.len());
            sums.add_sample(SumOf::Sample(sample), &found.whole, self.shift)?;
            Ok::<(), Error>(sums.add_sample(SumOf::Halves, &found.half, self.shift)?)
        };
        self.model.sampled_transitions(&self.targets, &levels, &self.run.samples(), self.device, visit)
    }

    /// Adds the levels that are known, each by chains as at T = 0.
    fn add_levels(
        &self,
        plan: &SpectrumPlan<'_>,
        levels: &[LevelStates],
        sums: &mut EnsembleSums<'_>,
    ) -> Result<(), Error> {
        let (from, to, points) = self.spec.omega;
        // Where the curve is looked at, both ways, for removing is drawn with the other sign.
        let omega = (0..points).map(|point| from + (to - from) * point as f64 / (points - 1) as f64);
        let omega = omega.flat_map(|omega| [omega, -omega]).collect();
        let options = ChainOptions { steps: self.spec.steps, omega, eta: self.spec.eta, damping: None };
        for level in levels {
            let states = level.states.len() as f64;
            sums.add_states(SumOf::Exact, &[[level.energy, states]], self.shift);
            for (number, (q, operator)) in plan.list.iter().zip(&plan.operators).enumerate() {
                let target = target_momentum(self.run.file, self.model, q.as_ref(), &plan.excitation);
                let response = level.response(operator, target.as_deref(), &[], &options, self.device)?;
                let poles = response.poles()?;
                let found = Transitions {
                    initial: vec![level.energy],
                    final_states: poles.iter().map(|[omega, _]| level.energy + omega).collect(),
                    weights: poles.iter().map(|[_, weight]| states * weight).collect(),
                };
                sums.add_transitions(SumOf::Exact, number, &found, self.shift)?;
            }
        }
        Ok(())
    }
}

/// A standard error above this part of the largest value is said.
const LARGE_ERROR: f64 = 0.05;

/// What a careful reader must know of the curves.
fn faults(curves: &[SpectrumCurve], thermal: &ThermalSpec) -> Vec<String> {
    let mut found = Vec::new();
    for curve in curves {
        let name = format!("{} at T = {}", curve.name(), curve.temperature.unwrap_or(0.0));
        if !curve.converged() {
            found.push(format!(
                "{name}: the curve changes by {:.1e} of its largest value from half of the steps to all: more `steps` than {} in [thermal]",
                curve.change, thermal.steps
            ));
        }
        let largest = curve.curve.iter().map(|value| value.abs()).fold(0.0, f64::max);
        let error = curve.errors.iter().flatten().copied().fold(0.0, f64::max);
        if error > LARGE_ERROR * largest {
            found.push(format!(
                "{name}: the standard error is up to {:.0} % of the largest value: more `samples` than {} in [thermal]",
                100.0 * error / largest,
                thermal.samples
            ));
        }
    }
    found
}
