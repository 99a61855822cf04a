//! The race of the shapes of one product, from the first comparison of numbers to the stored choice.
//!
//! In: shapes by name, the rule's first, each with its product y = A x; a device. Out: a [`Tuning`]. Every product is
//! compared with that of the rule's shape before it competes.

use super::{Choice, Choices, Conditions, Racer, Timing, race};
use crate::device::{Device, Vector};
use crate::error::{DeviceError, Result};
use crate::jit;
use crate::scalar::Scalar;
use crate::vector_program::Bind;
use eigenforge_templates::vector_program::VectorProgram;
use std::cell::RefCell;
use std::path::PathBuf;

/// A candidate must be faster than the rule's shape by this factor to replace it: less is noise.
const WORTH: f64 = 0.98;
/// How far y may be from the rule's y, relative to it: sums of some tens of terms in another order, in double precision.
const AGREEMENT: f64 = 1e-13;
/// The same in units of the vectors' rounding: two kernels may both write y.
const ROUNDINGS: f64 = 4.0;
/// Copies that are timed for the floor; the fastest counts.
const COPIES: usize = 5;
/// Pairs of vectors that rotate, at most.
const MOST_PAIRS: u64 = 64;

/// The result of a race.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// What was stored: the shape, its time, the rule's time.
    pub choice: Choice,
    /// Every candidate in the order tried, the rule's shape first.
    pub timings: Vec<Timing>,
    /// Candidates that this card could not run, and why.
    pub left_out: Vec<(String, String)>,
    /// Milliseconds that memory alone would take for one product, by a copy in the same race.
    pub floor: f64,
    /// The file that stores the choice, or why there is none.
    pub kept: std::result::Result<PathBuf, String>,
}

/// Where a plan's shape comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum ShapeSource {
    /// The rule; nothing was timed.
    Rule,
    /// An earlier `tune` on this card.
    Tuned(Box<Choice>),
}

/// The shape that a run took.
#[derive(Clone, Debug, PartialEq)]
pub struct ShapeUsed {
    /// Its name.
    pub name: String,
    /// Where it comes from.
    pub source: ShapeSource,
}

impl ShapeUsed {
    /// A shape by its name; from `choice`, if that names it.
    pub fn new(name: String, choice: Option<Choice>) -> ShapeUsed {
        let choice = choice.filter(|choice| choice.shape == name);
        ShapeUsed { name, source: choice.map_or(ShapeSource::Rule, |choice| ShapeSource::Tuned(Box::new(choice))) }
    }
}

/// y = A x of one shape; returns x·y if it is computed along the way.
pub type TimedProduct<'a, T = f64> = Box<dyn FnMut(&Vector<T>, &mut Vector<T>) -> Result<Option<f64>> + 'a>;

/// A product with several shapes.
pub struct ShapeRace<'a> {
    /// The problem's name, for display.
    pub name: &'a str,
    /// What determines the product in the rule's shape, such as its text.
    pub problem: &'a str,
    /// Length of x and y.
    pub length: usize,
    /// Bytes of one product at least.
    pub bytes: f64,
    /// Bytes of the tables of one shape.
    pub table_bytes: u64,
}

impl Choice {
    /// The fastest shape of a race on this device; the rule's, which is the first, unless another is faster by more than noise.
    ///
    /// # Panics
    /// Nothing was timed.
    pub fn fastest(problem: &str, name: &str, device: &Device, timings: &[Timing]) -> Choice {
        let fastest = timings.iter().min_by(|a, b| a.milliseconds.total_cmp(&b.milliseconds));
        let by_rule = &timings[0];
        let chosen = fastest.filter(|other| other.milliseconds < WORTH * by_rule.milliseconds).unwrap_or(by_rule);
        Choice {
            conditions: Conditions::new(problem, device),
            name: name.into(),
            shape: chosen.name.clone(),
            milliseconds: chosen.milliseconds,
            rule_milliseconds: by_rule.milliseconds,
            tried: timings.iter().map(|timing| (timing.name.clone(), timing.milliseconds)).collect(),
        }
    }

    /// The choice of an earlier race on this device of what `problem` determines; none on other devices than a card, or where edited
    /// texts run, which are those of the rule's shape.
    ///
    /// # Errors
    /// The errors of `problem`, or settings of the cache that cannot be read.
    pub fn earlier<E: From<DeviceError>>(
        device: &Device,
        problem: impl FnOnce() -> std::result::Result<String, E>,
    ) -> std::result::Result<Option<Choice>, E> {
        if !device.is_cuda() || device.has_overrides() {
            return Ok(None);
        }
        let choices = Choices::open(&jit::Settings::from_env().map_err(DeviceError::from)?);
        Ok(choices.find(&Conditions::new(&problem()?, device)))
    }
}

impl Conditions {
    /// The conditions of a problem on this device.
    fn new(problem: &str, device: &Device) -> Conditions {
        let driver = jit::driver_version().unwrap_or(0);
        Conditions {
            problem: blake3::hash(problem.as_bytes()).to_hex().to_string(),
            device: device.name(),
            driver: format!("{}.{}", driver / 1000, driver % 1000 / 10),
            generator: env!("CARGO_PKG_VERSION").into(),
        }
    }
}

/// Refuses a device on which tuning has no meaning.
///
/// # Errors
/// Another device than a card; edited kernels.
pub fn check_device(device: &Device) -> Result<()> {
    let refused = |what: &str, expected: &str, found| {
        Err(DeviceError::Arguments { what: what.into(), expected: expected.into(), found })
    };
    match device {
        Device::Cuda(_) if device.has_overrides() => {
            let found = "edited ones: leave out --override and unset EIGENFORGE_OVERRIDE";
            refused("tuning", "generated kernels only", found.into())
        }
        Device::Cuda(_) => Ok(()),
        other => refused("tuning times kernels on a card", "--device cuda", other.name()),
    }
}

impl ShapeRace<'_> {
    /// Times every shape and stores the fastest. A shape other than the rule's whose error `unfit` explains is left out.
    ///
    /// # Errors
    /// Too little memory; a shape that cannot be built; one whose numbers differ, which is a fault of eigenforge.
    pub fn run<'p, T: Scalar, E: From<DeviceError>>(
        &self,
        device: &Device,
        choices: &Choices,
        shapes: impl Iterator<Item = (String, std::result::Result<TimedProduct<'p, T>, E>)>,
        unfit: impl Fn(&E) -> Option<String>,
    ) -> std::result::Result<Tuning, E> {
        let n = self.length;
        let vector = (n as u64).saturating_mul(size_of::<T>() as u64);
        let needed = vector.saturating_mul(3).saturating_add(self.table_bytes);
        device.check_memory("tuning: three vectors and the tables", needed)?;
        let l2 = if let Device::Cuda(card) = device { card.l2_bytes()? } else { 0 };
        let pairs = (2 * l2).div_ceil(2 * vector.max(1)).clamp(1, MOST_PAIRS);
        let pairs = pairs.min(device.memory().free / 2 / (2 * vector).max(1)).max(1) as usize;

        let x: Vec<Vector<T>> = (0..pairs).map(|k| device.random(n, k as u64)).collect::<Result<_>>()?;
        let mut y: Vec<Vector<T>> = (0..pairs).map(|_| device.zeros(n)).collect::<Result<_>>()?;
        let mut reference = device.zeros::<T>(n)?;
        let (mut competing, mut left_out, mut dot) = (Vec::new(), Vec::new(), None);
        for (shape, product) in shapes {
            let mut product = match product {
                Ok(product) => product,
                Err(error) => match unfit(&error).filter(|_| dot.is_some()) {
                    Some(why) => {
                        left_out.push((shape, why));
                        continue;
                    }
                    None => return Err(error),
                },
            };
            let found = product(&x[0], &mut y[0])?;
            match dot {
                None => {
                    reference.copy_from(&y[0])?;
                    dot = Some(found);
                }
                Some(expected) => agree(&shape, &x[0], (&reference, expected), (&y[0], found))?,
            }
            competing.push((shape, product));
        }

        let timings = {
            let (x, y) = (&x, &RefCell::new(y));
            let mut racers = Vec::new();
            for (shape, product) in &mut competing {
                let run = move |pair: usize| product(&x[pair], &mut y.borrow_mut()[pair]).map(drop);
                racers.push(Racer { name: shape.clone(), run: Box::new(run) });
            }
            race(device, &mut racers, pairs)?
        };
        let mut copy = f64::INFINITY;
        for pair in 0..COPIES {
            let (done, milliseconds) = device.time(|| reference.copy_from(&x[pair % pairs]))?;
            done?;
            copy = copy.min(milliseconds);
        }
        let floor = copy * self.bytes / (2.0 * vector as f64);

        let choice = Choice::fastest(self.problem, self.name, device, &timings);
        let kept = choices.keep_or_say(&choice);
        Ok(Tuning { choice, timings, left_out, floor, kept })
    }
}

/// Compares a candidate's (y, x·y) with the rule's: y relative to ‖y‖, x·y relative to ‖x‖ ‖y‖.
fn agree<T: Scalar>(
    shape: &str,
    x: &Vector<T>,
    (expected, expected_dot): (&Vector<T>, Option<f64>),
    (found, found_dot): (&Vector<T>, Option<f64>),
) -> Result<()> {
    let program = VectorProgram::parse(
        "program compare\nvectors x expected found : in\nlet apart = found - expected\nsum distance = apart * apart\n\
         sum norm = expected * expected\nsum start = x * x\n",
    )
    .map_err(|error| DeviceError::Arguments {
        what: "the program that compares candidates".into(),
        expected: "a program".into(),
        found: error.to_string(),
    })?;
    let program = x.device().program(&program, T::TYPE, &[])?;
    let sums = program.run(&mut [Bind::In(x), Bind::In(expected), Bind::In(found)], &[])?;
    let [apart, norm, start] = [0, 1, 2].map(|k: usize| sums[k].sqrt());
    let off = found_dot.zip(expected_dot).map_or(0.0, |(found, expected)| (found - expected).abs());
    let agreement = AGREEMENT.max(ROUNDINGS * T::EPSILON);
    if apart <= agreement * norm && off <= agreement * norm * start {
        return Ok(());
    }
    Err(DeviceError::Arguments {
        what: format!("the product in the shape '{shape}' (a fault of eigenforge; `--no-tune` runs without it)"),
        expected: format!("the y of the rule's shape, of norm {norm:.3e}, and its x.y"),
        found: format!("y {apart:.3e} away from it, x.y {off:.3e}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A product y = 2 x whose last number is wrong by `error`.
    fn doubled(error: f64) -> std::result::Result<TimedProduct<'static>, DeviceError> {
        Ok(Box::new(move |x, y| {
            let mut numbers: Vec<f64> = x.download()?.iter().map(|x| 2.0 * x).collect();
            *numbers.last_mut().unwrap() += error;
            y.copy_from(&x.device().upload(&numbers)?)?;
            Ok(None)
        }))
    }

    fn run(shapes: Vec<(&str, std::result::Result<TimedProduct<'static>, DeviceError>)>) -> Result<Tuning> {
        let race = ShapeRace { name: "doubling", problem: "2 x", length: 100, bytes: 1600.0, table_bytes: 0 };
        let shapes = shapes.into_iter().map(|(name, product)| (name.to_string(), product));
        let unfit = |error: &DeviceError| matches!(error, DeviceError::UnknownDevice(_)).then(|| error.to_string());
        race.run(&Device::cpu(), &Choices::none(), shapes, unfit)
    }

    #[test]
    fn shapes_that_do_not_fit_are_left_out_and_wrong_ones_are_refused() {
        let unfit = || Device::parse("moon").map(|_| doubled(0.0).unwrap());
        let tuning = run(vec![("rule", doubled(0.0)), ("unfit", unfit()), ("other", doubled(0.0))]).unwrap();
        let names: Vec<&str> = tuning.timings.iter().map(|timing| timing.name.as_str()).collect();
        assert_eq!((names, tuning.left_out[0].0.as_str()), (vec!["rule", "other"], "unfit"));
        assert!(["rule", "other"].contains(&tuning.choice.shape.as_str()) && tuning.kept.is_err());
        assert!(run(vec![("rule", unfit())]).is_err(), "the rule's own shape must run");
        let wrong = run(vec![("rule", doubled(0.0)), ("wrong", doubled(1e-9))]).unwrap_err().to_string();
        assert!(wrong.contains("'wrong'"), "{wrong}");
        assert!(run(vec![("rule", doubled(0.0)), ("nan", doubled(f64::NAN))]).is_err());
    }

    /// Vectors of f32 agree to their own rounding.
    #[test]
    fn products_of_f32_agree_to_their_rounding() {
        let times = |factor: f64| -> Result<TimedProduct<'static, f32>> {
            Ok(Box::new(move |x, y| {
                let numbers: Vec<f32> = x.download()?.iter().map(|x| (factor * f64::from(*x)) as f32).collect();
                y.write(&numbers).map(|()| None)
            }))
        };
        let race = |factor: f64| {
            let shapes = [("rule", times(2.0)), ("other", times(factor))].map(|(name, product)| (name.into(), product));
            let race = ShapeRace { name: "doubling", problem: "2 x", length: 100, bytes: 800.0, table_bytes: 0 };
            race.run(&Device::cpu(), &Choices::none(), shapes.into_iter(), |_: &DeviceError| None)
        };
        assert_eq!(race(2.0 + 1e-7).unwrap().timings.len(), 2);
        assert!(race(2.0 + 1e-5).is_err());
    }

    #[test]
    fn only_a_card_is_tuned() {
        let refused = check_device(&Device::cpu()).unwrap_err().to_string();
        assert!(refused.contains("tuning times kernels on a card"), "{refused}");
        let never = || -> Result<String> { panic!("nothing is looked up for the CPU") };
        assert!(Choice::earlier(&Device::cpu(), never).unwrap().is_none());
    }
}
