//! The start of a search for one state: the operator's guess plus a small random part, or a random vector.

use super::algebra::parse;
use super::run::Run;
use super::{Start, StartUsed};
use crate::device::{Vector, random_start};
use crate::error::SolveError;
use crate::operator::LinearOperator;
use crate::scalar::Scalar;
use crate::vector_program::Bind;

/// Length of the random part relative to a guess of length 1: if the guess has another symmetry than the lowest state,
/// the random part contains that one. In 4 × 4 Hubbard clusters with 4 + 4 electrons Lanczos from a Slater determinant
/// takes 90 steps with a tenth, 75 with a hundredth, 140 from a random start alone.
pub(super) const SHARE: f64 = 0.03;

/// x = guess + share · random.
const MIXED: &str = "program start\nvectors x : out\nscalars share\nfunctions guess random_start\n\
    x = guess + share * random_start\n";

/// The first vector, of any length but 0.
pub(super) fn first<T: Scalar>(run: &Run<'_, T>, operator: &dyn LinearOperator<T>) -> Result<Vector<T>, SolveError> {
    let mut x = operator.device().zeros::<T>(operator.dimension())?;
    overwrite(run, operator, &mut x)?;
    Ok(x)
}

/// The same in memory that is there: every time the same vector.
pub(super) fn overwrite<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
    x: &mut Vector<T>,
) -> Result<(), SolveError> {
    let (device, n, seed) = (operator.device(), operator.dimension(), run.options.seed);
    let guess = match run.options.start {
        Start::Guess => operator.guess()?,
        Start::Random => None,
    };
    let Some(guess) = guess else { return Ok(device.fill_random(x, seed)?) };
    run.started_from.set(StartUsed::Guess);
    let program = device.program(&parse(MIXED), T::TYPE, &[guess.named("guess"), random_start(seed)])?;
    // A number uniform in [-1, 1) has the mean square 1/3.
    program.run(&mut [Bind::Out(x)], &[SHARE * (3.0 / n as f64).sqrt()])?;
    Ok(())
}
