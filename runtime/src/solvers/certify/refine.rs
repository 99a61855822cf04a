//! Energies that are less exact than the low end of the spectrum deserves are improved.
//!
//! A residual r at a distance g from the next level makes an energy wrong by r²/g. The tolerance is a share of the norm, so where penalties
//! make the norm large beside the levels, r²/g may be a part of g that matters. All states found are then improved together by Davidson's
//! method until r²/g is [a small part](PART) of g, or rounding allows no less.

use super::super::checkpoint::Saver;
use super::super::run::Run;
use super::super::{Eigenpairs, SolveOptions, SolvePhase, davidson};
use crate::device::Vector;
use crate::error::SolveError;
use crate::operator::LinearOperator;
use crate::scalar::Scalar;

/// Errors of energies up to this part of the distance between levels are left as they are.
const PART: f64 = 1e-9;

/// The residual norm that makes all energies exact enough; `None` if they are, or if it is not known where the next level is.
pub(super) fn wanted_residual<T: Scalar>(run: &Run<'_, T>, pairs: &Eigenpairs<T>) -> Option<f64> {
    let (first, last) = (pairs.values.first()?, pairs.values.last()?);
    let inner = pairs.levels.windows(2).map(|pair| pair[1].value - pair[0].value);
    let gap = inner.chain([pairs.next? - last]).fold(f64::INFINITY, f64::min);
    let rounding = 10.0 * T::EPSILON * run.norm.max(first.abs());
    let allowed = (PART * gap).max(rounding);
    if gap <= rounding || pairs.errors.iter().all(|error| *error <= allowed) {
        return None;
    }
    let wanted = (0.1 * allowed * gap).sqrt().max(4.0 * run.floor());
    pairs.residuals.iter().any(|residual| *residual > 2.0 * wanted).then_some(wanted)
}

/// The states, improved to this residual norm; `None` if there is no room or no success.
pub(super) fn improve<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
    states: &[&Vector<T>],
    residual: f64,
) -> Result<Option<Vec<Vector<T>>>, SolveError> {
    let tolerance = residual / run.norm;
    let options = SolveOptions { states: states.len(), guard: Some(0), tolerance, ..run.options.clone() };
    let needed = davidson::vectors(&options, operator.dimension());
    if run.room(operator, states.len()) < needed {
        return Ok(None);
    }
    let within = run.nested(operator, &options).with_tolerance(residual);
    let goal = davidson::Goal::From { vectors: states, phase: SolvePhase::Certify };
    let found = davidson::search(&within, operator, goal, &mut Saver::off())?;
    run.take_in(&within);
    Ok((found.vectors.len() == states.len()).then_some(found.vectors))
}
