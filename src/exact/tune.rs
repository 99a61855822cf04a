//! Choosing the shape of a multiply on the card it will run on, and finding the choice again.
//!
//! In: a model and a CUDA device. Out: the quickest of [`Prepared::candidates`], kept beside the kernel cache for later
//! runs ([`eigenforge_runtime::tune`]). Every candidate's y = H x and x·y are compared with those of the rule's shape
//! before it competes.

use super::{Hamiltonian, Model, PrepareError, Prepared, RunError};
use eigenforge_runtime::jit::{self, Settings};
use eigenforge_runtime::tune::{Choice, Choices, Conditions, Racer, Timing, race};
use eigenforge_runtime::{Bind, Device, DeviceError, LinearOperator, Vector};
use eigenforge_templates::ScalarType;
use eigenforge_templates::vector_program::VectorProgram;
use std::cell::RefCell;
use std::path::PathBuf;

/// A candidate must be quicker than the rule's shape by this much to take its place: less is noise.
const WORTH: f64 = 0.98;
/// How far y may be from the rule's y, relative to it: sums of some tens of terms in another order.
const AGREEMENT: f64 = 1e-13;
/// Copies that are timed for the floor; the quickest counts.
const COPIES: usize = 5;
/// Pairs of vectors that rotate, at most.
const MOST_PAIRS: u64 = 64;

/// What a race found.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// What was kept: the shape, its time, the rule's time.
    pub choice: Choice,
    /// Every candidate in the order tried, the rule's shape first.
    pub timings: Vec<Timing>,
    /// Candidates that this card could not run, and why.
    pub left_out: Vec<(String, String)>,
    /// Milliseconds that memory alone would take for one multiply, by a copy in the same race.
    pub floor: f64,
    /// The file that keeps the choice, or why none does.
    pub kept: Result<PathBuf, String>,
}

/// Where a plan's shape comes from.
#[derive(Clone, Debug)]
pub enum ShapeSource {
    /// The rule; nothing was timed.
    Rule,
    /// An earlier `tune` on this card.
    Tuned(Box<Choice>),
}

impl Prepared {
    /// The plan in the shape that was tuned for this device, if one was, else in the rule's.
    pub fn tuned(model: &Model, scalar: ScalarType, device: &Device) -> Result<(Prepared, ShapeSource), PrepareError> {
        let prepared = Prepared::new(model, scalar)?;
        // An edited text is that of the rule's shape.
        if !device.is_cuda() || device.has_overrides() {
            return Ok((prepared, ShapeSource::Rule));
        }
        let choices = Choices::open(&Settings::from_env().map_err(DeviceError::from)?);
        let Some(choice) = choices.find(&conditions(&prepared, device)?) else {
            return Ok((prepared, ShapeSource::Rule));
        };
        let chosen = prepared.candidates().into_iter().find(|candidate| candidate.shape() == choice.shape);
        // A shape that is no candidate any more counts as never tuned.
        Ok(chosen.map_or((prepared, ShapeSource::Rule), |chosen| (chosen, ShapeSource::Tuned(Box::new(choice)))))
    }
}

/// Times every candidate on the device and keeps the quickest.
///
/// # Errors
/// Another device than a CUDA card; a model that does not fit; a candidate whose numbers differ, which is a fault of
/// eigenforge.
pub fn tune(model: &Model, device: &Device) -> Result<Tuning, RunError> {
    let Device::Cuda(card) = device else {
        return Err(DeviceError::Arguments {
            what: "tuning times kernels on a card".into(),
            expected: "--device cuda".into(),
            found: device.name(),
        }
        .into());
    };
    if device.has_overrides() {
        return Err(DeviceError::Arguments {
            what: "tuning".into(),
            expected: "generated kernels only".into(),
            found: "edited ones: leave out --override and unset EIGENFORGE_OVERRIDE".into(),
        }
        .into());
    }
    let rule = Prepared::new(model, ScalarType::F64).map_err(PrepareError::from)?;
    let n = usize::try_from(model.dimension()).unwrap_or(usize::MAX);
    let vector = (n as u64).saturating_mul(8);
    device.check_memory(
        "tuning: three vectors and the tables",
        vector.saturating_mul(3).saturating_add(model.table_bytes()),
    )?;
    let pairs = (2 * card.l2_bytes()?).div_ceil(2 * vector.max(1)).clamp(1, MOST_PAIRS);
    let pairs = pairs.min(device.memory().free / 2 / (2 * vector).max(1)).max(1) as usize;

    let x: Vec<Vector<f64>> = (0..pairs).map(|k| device.random(n, k as u64)).collect::<Result<_, _>>()?;
    let mut y: Vec<Vector<f64>> = (0..pairs).map(|_| device.zeros(n)).collect::<Result<_, _>>()?;
    let mut reference = device.zeros(n)?;
    let (mut competing, mut left_out, mut dot) = (Vec::new(), Vec::new(), None);
    for candidate in rule.candidates() {
        let shape = candidate.shape();
        let hamiltonian = match Hamiltonian::with_plan(model, candidate, device) {
            Ok(hamiltonian) => hamiltonian,
            Err(PrepareError::Device(DeviceError::Launch(why))) if dot.is_some() => {
                left_out.push((shape, why.to_string()));
                continue;
            }
            Err(other) => return Err(other.into()),
        };
        let found = hamiltonian.apply(&x[0], &mut y[0])?;
        match dot {
            None => {
                reference.copy_from(&y[0])?;
                dot = Some(found);
            }
            Some(expected) => agree(&shape, &x[0], (&reference, expected), (&y[0], found))?,
        }
        competing.push((shape, hamiltonian));
    }

    let timings = {
        let (x, y) = (&x, &RefCell::new(y));
        let mut racers = Vec::new();
        for (shape, hamiltonian) in &competing {
            let run = move |pair: usize| hamiltonian.apply(&x[pair], &mut y.borrow_mut()[pair]).map(drop);
            racers.push(Racer { name: shape.clone(), run: Box::new(run) });
        }
        race(device, &mut racers, pairs)?
    };
    let mut copies = Vec::new();
    for pair in 0..COPIES {
        let (done, milliseconds) = device.time(|| reference.copy_from(&x[pair % pairs]))?;
        done?;
        copies.push(milliseconds);
    }
    let copy = copies.into_iter().fold(f64::INFINITY, f64::min);
    let floor = copy * rule.cost().bytes / (2.0 * vector as f64);

    let quickest = timings.iter().min_by(|a, b| a.milliseconds.total_cmp(&b.milliseconds));
    let by_rule = &timings[0];
    let chosen = quickest.filter(|other| other.milliseconds < WORTH * by_rule.milliseconds).unwrap_or(by_rule);
    let choice = Choice {
        conditions: conditions(&rule, device)?,
        name: model.name().into(),
        shape: chosen.name.clone(),
        milliseconds: chosen.milliseconds,
        rule_milliseconds: by_rule.milliseconds,
        tried: timings.iter().map(|timing| (timing.name.clone(), timing.milliseconds)).collect(),
    };
    let choices = Choices::open(&Settings::from_env().map_err(DeviceError::from)?);
    let kept = match choices.keep(&choice) {
        Ok(Some(file)) => Ok(file),
        Ok(None) => {
            Err("the kernel cache is off, and choices are kept beside it: name a folder in EIGENFORGE_CACHE".into())
        }
        Err(error) => Err(format!("{error}; name a writable folder in EIGENFORGE_CACHE")),
    };
    Ok(Tuning { choice, timings, left_out, floor, kept })
}

/// What a choice for this problem on this device holds for.
fn conditions(rule: &Prepared, device: &Device) -> Result<Conditions, PrepareError> {
    let driver = jit::driver_version().unwrap_or(0);
    Ok(Conditions {
        problem: blake3::hash(rule.text()?.text.as_bytes()).to_hex().to_string(),
        device: device.name(),
        driver: format!("{}.{}", driver / 1000, driver % 1000 / 10),
        generator: env!("CARGO_PKG_VERSION").into(),
    })
}

/// Compares a candidate's (y, x·y) with the rule's: y relative to ‖y‖, x·y relative to ‖x‖ ‖y‖.
fn agree(
    shape: &str,
    x: &Vector<f64>,
    (expected, expected_dot): (&Vector<f64>, f64),
    (found, found_dot): (&Vector<f64>, f64),
) -> Result<(), DeviceError> {
    let program = VectorProgram::parse(
        "program compare\nvectors x expected found : in\nlet apart = found - expected\nsum distance = apart * apart\n\
         sum norm = expected * expected\nsum start = x * x\n",
    )
    .map_err(|error| DeviceError::Arguments {
        what: "the program that compares candidates".into(),
        expected: "a program".into(),
        found: error.to_string(),
    })?;
    let program = x.device().program(&program, ScalarType::F64, &[])?;
    let sums = program.run(&mut [Bind::In(x), Bind::In(expected), Bind::In(found)], &[])?;
    let [apart, norm, start] = [0, 1, 2].map(|k: usize| sums[k].sqrt());
    let close = apart <= AGREEMENT * norm && (found_dot - expected_dot).abs() <= AGREEMENT * norm * start;
    if close {
        return Ok(());
    }
    Err(DeviceError::Arguments {
        what: format!("the multiply in the shape '{shape}' (a fault of eigenforge; `--no-tune` solves without it)"),
        expected: format!("the y of the rule's shape, of norm {norm:.3e}, and x.y = {expected_dot:.12e}"),
        found: format!("{apart:.3e} away from it, and {found_dot:.12e}"),
    })
}
