//! Olsen: one state with two vectors, x and y = A x, for operators whose vectors fill the memory.
//!
//! In an iteration x moves against its residual r = y − θ x, each element divided by its distance from the operator's diagonal D
//! to θ, and kept at right angles to x by the same division of x (Olsen, Jørgensen and Simons 1990, eqs. 5 and 6):
//!
//! d = −(K r − ε K x),  K = 1 / |D − θ|,  ε = x·K r / x·K x,  x ← x + λ d,  y ← A x.
//!
//! One multiply and two passes over x and y, in which K r and K x are made again element by element: nothing else is stored. With
//! D − θ itself, as published, which is the same once θ lies below all of D, a search that begins higher ends at an excited state;
//! with the distance d always leads downwards.
//!
//! **The step λ.** The best λ of the last direction is the lower root of a matrix of two rows once d·(A − θ) d is known, and the
//! next product gives that: x'·(A − θ) x' = 2 λ r·d + λ² d·(A − θ) d. It is taken for the next step, as the best of that one is
//! not known before its product. So the value need not fall in every iteration, and the steps are of different lengths, which is
//! what makes them better than λ = 1. Where rounding hides x'·(A − θ) x', the last steps are taken again in turn. For full CI of
//! hydrogen peroxide (11 orbitals) from the lowest 400 determinants, iterations to 1e-6 and 1e-9 Hartree: Davidson with all
//! vectors 4 and 8, with three 5 and 9, this 5 and 10; λ = 1 diverges.
//!
//! Davidson's method is the better one where its vectors fit: it does not depend on a good diagonal.

use super::algebra::parse;
use super::checkpoint::Saver;
use super::davidson::LEAST_DIVISOR;
use super::run::{Main, Run};
use super::start::SHARE;
use super::{SolvePhase, Solver, Start, StartUsed, StopReason, check_states};
use crate::device::{ElementFunction, Vector, random_start};
use crate::error::SolveError;
use crate::operator::LinearOperator;
use crate::scalar::Scalar;
use crate::vector_program::{Bind, Program};
use eigenforge_templates::vector_program::VectorProgram;

/// x and A x.
pub(super) const VECTORS: usize = 2;

/// All that a step needs to know of x and y.
const LOOK: &str = "program olsen_look\nvectors x y : in\nscalars theta least\nfunctions diagonal\nlet gap = abs(diagonal - theta)\n\
    let divisor = select(gap < least, least, gap)\nlet r = y - theta * x\n\
    let kr = r / divisor\nlet kx = x / divisor\nsum xx = x * x\nsum xr = x * r\nsum rr = r * r\nsum x_kr = x * kr\nsum x_kx = x * kx\n\
    sum r_kr = r * kr\nsum kr_kr = kr * kr\nsum kr_kx = kr * kx\nsum kx_kx = kx * kx\n";

/// x ← scale (x + step d).
const STEP: &str = "program olsen_step\nvectors x : inout\nvectors y : in\nscalars theta least step epsilon scale\nfunctions diagonal\n\
    let gap = abs(diagonal - theta)\nlet divisor = select(gap < least, least, gap)\n\
    let r = y - theta * x\nx = scale * (x + step * (epsilon * x - r) / divisor)\n";

/// Sums of the diagonal's deviations from a number, and how many elements lie below another.
const SPREAD: &str = "program olsen_spread\nvectors x : in\nscalars center bound\nfunctions diagonal\nlet off = diagonal - center\n\
    sum shift = off\nsum square = off * off\nsum below = select(diagonal < bound, 1, 0)\n";

/// A random vector with most weight where the diagonal is low.
const LOW: &str = "program olsen_low\nvectors x : out\nscalars low width\nfunctions diagonal random_start\n\
    x = random_start * width / (abs(diagonal - low) + width)\nsum xx = x * x\n";

/// The operator's guess with such a vector beside it.
const GUESSED: &str = "program olsen_guessed\nvectors x : out\nscalars low width share\nfunctions guess diagonal random_start\n\
    x = guess + share * random_start * width / (abs(diagonal - low) + width)\n";

/// The basis states with the lowest elements of the diagonal, likewise.
const LOWEST: &str = "program olsen_lowest\nvectors x : out\nscalars low width share\nfunctions diagonal random_start\n\
    x = select(diagonal < low, 1, 0) + share * random_start * width / (abs(diagonal - low) + width)\n";

/// Distance from the lowest diagonal element, in units of the spread, at which the random part's weight is a half.
const WIDTH: f64 = 1e-2;
/// Bounds of λ. An upper bound of 2, 4, 8, 16 took 114, 81, 65, 58 iterations to 1e-8 of the norm for a random matrix of 900 rows
/// whose diagonal says little, and as many as each other where it dominates; the lower bound hardly counts.
const STEPS: [f64; 2] = [0.1, 16.0];
/// Steps that are taken again. With 1, 4, 8, 16 of them the same matrix took 282, 182, 196, 175 iterations to 1e-11.
const REMEMBERED: usize = 8;
/// Where steps are taken again, a residual so many times the least asks for the shortest of them.
const GROWN: f64 = 2.0;
/// Rounding errors of a value, in units of |θ| and the diagonal's spread.
const ROUNDING: f64 = 16.0;
/// Iterations without a lower residual after which the search has stagnated.
const PATIENCE: usize = 100;

/// The programs of this file that every iteration runs.
pub(super) fn programs() -> Vec<VectorProgram> {
    [LOOK, STEP].map(parse).to_vec()
}

/// The operator's diagonal, and how far its elements are apart.
struct Diagonal {
    function: ElementFunction,
    /// Just above the lowest element, by up to a thousandth of the spread; so many elements are below.
    low: f64,
    lowest: f64,
    /// Standard deviation.
    spread: f64,
}

/// Where x has been led.
struct Steps {
    taken: Option<Taken>,
    /// The last ones, the next first.
    lengths: Vec<f64>,
}

/// A direction that was taken.
#[derive(Clone, Copy)]
struct Taken {
    theta: f64,
    step: f64,
    /// x·x before, r·d and d·d.
    xx: f64,
    rd: f64,
    dd: f64,
}

/// Sums of [`LOOK`].
struct Look {
    xx: f64,
    xr: f64,
    rr: f64,
    x_kr: f64,
    x_kx: f64,
    r_kr: f64,
    kr_kr: f64,
    kr_kx: f64,
    kx_kx: f64,
}

/// The lowest state.
pub(super) fn search<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
    saver: &mut Saver,
) -> Result<Main<T>, SolveError> {
    let options = run.options;
    check_states(Solver::Olsen, options.states)?;
    run.plan_memory(operator, "Olsen", VECTORS, "")?;
    let device = operator.device();
    let mut x = device.zeros::<T>(operator.dimension())?;
    let diagonal = Diagonal::new(run, operator, &x)?;
    let function = || diagonal.function.clone().named("diagonal");
    let look = device.program(&parse(LOOK), T::TYPE, &[function()])?;
    let step = device.program(&parse(STEP), T::TYPE, &[function()])?;
    let least = LEAST_DIVISOR * diagonal.spread;
    let (mut iteration, mut steps) = (0, Steps { taken: None, lengths: vec![1.0] });
    match saver.take_resumed() {
        Some(saved) => {
            iteration = saved.iteration;
            saved.vectors.first().map_or(Ok(()), |vector| vector.restore(&mut x))?;
            steps = Steps::read(&saved.scalars).unwrap_or(steps);
        }
        None => start(run, operator, &diagonal, &mut x)?,
    }
    let mut y = device.zeros::<T>(operator.dimension())?;
    let mut history = Vec::new();
    let (mut best, mut best_at) = (f64::INFINITY, iteration);
    let (theta, residual, stop) = loop {
        let _iteration = device.span("solver", "iteration");
        let xy = run.finite(run.apply(operator, &x, &mut y)?, iteration)?;
        let theta = xy / run.algebra.dot(&x, &x)?;
        let found = {
            let _products = device.span("solver", "inner products");
            Look::new(&look, &x, &y, theta, least)?
        };
        let residual = run.finite((found.rr / found.xx).sqrt(), iteration)?;
        history.push((iteration, theta, residual));
        run.progress(SolvePhase::Olsen, iteration, &[theta], residual, false);
        if residual <= run.tolerance {
            break (theta, residual, StopReason::Converged);
        }
        if residual < 0.9 * best {
            (best, best_at) = (residual, iteration);
        } else if iteration - best_at >= PATIENCE {
            break (theta, residual, StopReason::Stagnated);
        }
        if iteration >= options.max_iterations {
            break (theta, residual, StopReason::MaxIterations);
        }
        let rounding = ROUNDING * T::EPSILON * (theta.abs() + diagonal.spread);
        let length = steps.next(theta, &found, rounding, residual > GROWN * best);
        let _update = device.span("solver", "update");
        steps.taken = Some(found.move_on(&step, (&mut x, &y), (theta, least), length)?);
        iteration += 1;
        if saver.due()? {
            saver.save("olsen", iteration, &steps.written(), &[&x])?;
        }
    };
    run.progress(SolvePhase::Olsen, iteration, &[theta], residual, true);
    saver.save("olsen", iteration, &steps.written(), &[&x])?;
    let norm = run.algebra.dot(&x, &x)?.sqrt();
    run.algebra.scale(&mut x, 1.0 / norm)?;
    Ok(Main::new(vec![theta], vec![x], (iteration, stop), history))
}

/// Overwrites `x`: the operator's guess, or the basis states where the diagonal is lowest, and random numbers where it is low.
fn start<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
    diagonal: &Diagonal,
    x: &mut Vector<T>,
) -> Result<(), SolveError> {
    let (device, seed) = (operator.device(), run.options.seed);
    let (low, width) = (diagonal.low, WIDTH * diagonal.spread);
    let function = diagonal.function.clone().named("diagonal");
    let program = device.program(&parse(LOW), T::TYPE, &[function.clone(), random_start(seed)])?;
    let length = program.run(&mut [Bind::Out(x)], &[low, width])?[0].sqrt();
    let guess = match run.options.start {
        Start::Guess => operator.guess()?,
        Start::Random => None,
    };
    let Some(guess) = guess else {
        let share = SHARE * diagonal.lowest.sqrt() / length;
        let program = device.program(&parse(LOWEST), T::TYPE, &[function, random_start(seed)])?;
        program.run(&mut [Bind::Out(x)], &[low, width, share])?;
        return Ok(());
    };
    run.started_from.set(StartUsed::Guess);
    let functions = [guess.named("guess"), function, random_start(seed)];
    let program = device.program(&parse(GUESSED), T::TYPE, &functions)?;
    program.run(&mut [Bind::Out(x)], &[low, width, SHARE / length])?;
    Ok(())
}

impl Diagonal {
    /// The diagonal of the operator; `x` only has the length.
    ///
    /// # Errors
    /// There is none, or all its elements are equal.
    fn new<T: Scalar>(
        run: &Run<'_, T>,
        operator: &dyn LinearOperator<T>,
        x: &Vector<T>,
    ) -> Result<Diagonal, SolveError> {
        let expected = "lanczos, which needs no diagonal: olsen divides by this operator's, which is missing or the same everywhere";
        let useless = || SolveError::Option { name: "solver", value: "olsen".into(), expected };
        let function = operator.diagonal().ok_or_else(useless)?;
        let program = operator.device().program(&parse(SPREAD), T::TYPE, &[function.clone().named("diagonal")])?;
        let sums = |center: f64, bound: f64| -> Result<[f64; 3], SolveError> {
            let sums = program.run(&mut [Bind::In(x)], &[center, bound])?;
            Ok([sums[0], sums[1], sums[2]])
        };
        let n = operator.dimension() as f64;
        let mean = sums(0.0, 0.0)?[0] / n;
        let spread = (sums(mean, mean)?[1] / n).sqrt();
        if spread.is_nan() || spread <= 4.0 * T::EPSILON * run.norm {
            return Err(useless());
        }
        // No element is below −‖A‖, and one is at the mean or below.
        let (mut below, mut low) = (-run.norm - spread, mean + 1e-3 * spread);
        while low - below > 1e-3 * spread {
            let middle = 0.5 * (below + low);
            let half = if sums(mean, middle)?[2] > 0.0 { &mut low } else { &mut below };
            *half = middle;
        }
        Ok(Diagonal { function, low, lowest: sums(mean, low)?[2], spread })
    }
}

impl Look {
    fn new<T: Scalar>(
        program: &Program,
        x: &Vector<T>,
        y: &Vector<T>,
        theta: f64,
        least: f64,
    ) -> Result<Look, SolveError> {
        let sums = program.run(&mut [Bind::In(x), Bind::In(y)], &[theta, least])?;
        let [xx, xr, rr, x_kr, x_kx, r_kr, kr_kr, kr_kx, kx_kx] = sums[..] else {
            unreachable!("the program has ten sums")
        };
        Ok(Look { xx, xr, rr, x_kr, x_kx, r_kr, kr_kr, kr_kx, kx_kx })
    }

    /// x ← (x + λ d) / ‖x + λ d‖.
    fn move_on<T: Scalar>(
        &self,
        program: &Program,
        (x, y): (&mut Vector<T>, &Vector<T>),
        (theta, least): (f64, f64),
        step: f64,
    ) -> Result<Taken, SolveError> {
        let epsilon = self.x_kr / self.x_kx;
        let xd = epsilon * self.x_kx - self.x_kr;
        // r·K x is x·K r.
        let rd = epsilon * self.x_kr - self.r_kr;
        let dd = self.kr_kr - 2.0 * epsilon * self.kr_kx + epsilon * epsilon * self.kx_kx;
        let xx = self.xx + 2.0 * step * xd + step * step * dd;
        let scale = 1.0 / xx.sqrt();
        program.run(&mut [Bind::Out(x), Bind::In(y)], &[theta, least, step, epsilon, scale])?;
        let squared = scale * scale;
        Ok(Taken { theta, step, xx: squared * self.xx, rd: squared * rd, dd: squared * dd })
    }
}

impl Steps {
    /// The length of the next step, from what was found at θ; a short one if the residual has grown.
    fn next(&mut self, theta: f64, found: &Look, rounding: f64, grown: bool) -> f64 {
        match self.taken.and_then(|taken| taken.best_step(theta, found, rounding)) {
            Some(better) => {
                self.lengths.insert(0, better.clamp(STEPS[0], STEPS[1]));
                self.lengths.truncate(REMEMBERED);
            }
            None if grown => {
                let shortest = (0..self.lengths.len()).min_by(|i, j| self.lengths[*i].total_cmp(&self.lengths[*j]));
                self.lengths[..=shortest.unwrap_or(0)].rotate_right(1);
            }
            None => self.lengths.rotate_right(1),
        }
        self.lengths[0]
    }

    /// As a checkpoint has them.
    fn written(&self) -> Vec<f64> {
        let taken = self.taken.map_or([0.0; 5], |Taken { theta, step, xx, rd, dd }| [theta, step, xx, rd, dd]);
        taken.into_iter().chain(self.lengths.iter().copied()).collect()
    }

    fn read(scalars: &[f64]) -> Option<Steps> {
        let (&[theta, step, xx, rd, dd], lengths) = scalars.split_first_chunk()?;
        let taken = (xx > 0.0).then_some(Taken { theta, step, xx, rd, dd });
        (!lengths.is_empty()).then(|| Steps { taken, lengths: lengths.to_vec() })
    }
}

impl Taken {
    /// The best step in this direction, from what was found after it at θ'; `None` if rounding hides it.
    fn best_step(&self, theta: f64, found: &Look, rounding: f64) -> Option<f64> {
        // x'·(A − θ) x', of which x'·r' is summed element by element.
        let moved = found.xr + (theta - self.theta) * found.xx;
        if moved.abs() <= rounding * found.xx {
            return None;
        }
        let curvature = (moved - 2.0 * self.step * self.rd) / (self.step * self.step * self.dd);
        let slope = self.rd / (self.xx * self.dd).sqrt();
        // The lower root of [[0, slope], [slope, curvature]] and its vector.
        let root = 0.5 * (curvature - (curvature * curvature + 4.0 * slope * slope).sqrt());
        let step = root / slope * (self.xx / self.dd).sqrt();
        step.is_finite().then_some(step)
    }
}
