//! Thick restart with full reorthogonalisation, for several states (Wu and Simon 2000).
//!
//! In: the number k of states. Out: their Ritz vectors. The basis is filled to m vectors, the lowest Ritz vectors are kept
//! with the last residual direction, and so on.

use super::super::checkpoint::Saver;
use super::super::ritz::symmetric_eigen;
use super::super::run::Main;
use super::super::run::Run;
use super::super::{SolvePhase, StopReason};
use crate::device::Vector;
use crate::error::SolveError;
use crate::operator::LinearOperator;
use crate::scalar::Scalar;
use crate::trace;
use faer::Mat;

/// Size of the basis for k states, and how much of it a restart keeps: enough for the Krylov space between restarts to
/// separate close levels. A basis that spans the whole space is never restarted.
fn sizes(states: usize, dimension: usize) -> (usize, usize) {
    let m = (2 * states + 16).max(24).min(dimension);
    (m, (states + (m - states) / 3).min(m.saturating_sub(2)).max(states))
}

/// A next direction shorter than this, in units of the norm, has lost its orthogonality to rounding when normalised.
const SHORT: f64 = 1e-6;

/// Number of vectors of the thick restart.
pub(in super::super) fn thick_vectors(states: usize, dimension: usize) -> usize {
    let (m, keep) = sizes(states, dimension);
    m + 1 + keep
}

pub(super) fn thick_restart<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
    saver: &mut Saver,
) -> Result<Main<T>, SolveError> {
    let (device, n, options) = (operator.device(), operator.dimension(), run.options);
    let k = options.states;
    let ((m, keep), algebra) = (sizes(k, n), &run.algebra);
    run.plan_memory(operator, "thick-restart Lanczos", thick_vectors(k, n), "")?;
    // v[0..m] and, in v[m], the next direction; `kept` takes the Ritz vectors at a restart.
    let mut v = (0..=m).map(|_| device.zeros::<T>(n)).collect::<Result<Vec<_>, _>>()?;
    let mut kept = (0..keep).map(|_| device.zeros::<T>(n)).collect::<Result<Vec<_>, _>>()?;
    device.fill_random(&mut v[0], options.seed)?;
    algebra.orthonormalise(&mut v[0], &[])?;
    let mut projected = Mat::<f64>::zeros(m, m);
    let (mut filled, mut steps) = (0, 0);
    if let Some(saved) = saver.take_resumed() {
        // The kept Ritz vectors and the next direction.
        filled = saved.vectors.len() - 1;
        steps = saved.iteration;
        for (vector, saved) in v.iter_mut().zip(&saved.vectors) {
            saved.restore(vector)?;
        }
        for j in 0..filled {
            projected[(j, j)] = saved.scalars[j];
            projected[(j, filled)] = saved.scalars[filled + j];
            projected[(filled, j)] = saved.scalars[filled + j];
        }
    }
    let floor = run.floor();
    let (mut history, mut best, mut idle) = (Vec::new(), f64::INFINITY, 0);
    loop {
        let mut beta = 0.0;
        // A signal is handled at a restart, which may come early once there is more than it keeps.
        while filled < m && !(filled > keep && saver.is_interrupted()?) {
            // v[filled+1] = A v[filled], orthogonalised against everything before; its overlaps fill the matrix.
            let (before, rest) = v.split_at_mut(filled + 1);
            let image = &mut rest[0];
            let alpha = run.apply(operator, &before[filled], image)?;
            projected[(filled, filled)] = run.finite(alpha, steps)?;
            steps += 1;
            let _orthogonalise = device.span("solver", "orthogonalise");
            let basis: Vec<&Vector<T>> = before.iter().collect();
            for _ in 0..2 {
                let c: Vec<Vec<f64>> = algebra.gram(&basis, &[image])?.iter().map(|r| vec![-r[0]]).collect();
                algebra.combine(std::slice::from_mut(image), &basis, &c, true)?;
            }
            beta = algebra.dot(image, image)?.sqrt();
            if filled + 1 == n {
                // The whole space: there is no next direction.
                beta = 0.0;
            } else if beta <= floor {
                // An invariant space: continue with a new, uncoupled direction.
                beta = 0.0;
                device.fill_random(image, options.seed.wrapping_add(77 + steps as u64))?;
                algebra.orthonormalise(image, &basis)?;
            } else {
                algebra.scale(image, 1.0 / beta)?;
                if beta <= SHORT * run.norm {
                    algebra.orthonormalise(image, &basis)?;
                }
            }
            filled += 1;
            if filled < m {
                projected[(filled, filled - 1)] = beta;
                projected[(filled - 1, filled)] = beta;
            }
        }
        let (whole, m) = (m, filled);
        let small = trace::span("solver", "small problem");
        let (values, s) = symmetric_eigen(&projected.submatrix(0, 0, m, m).to_owned())?;
        drop(small);
        let residuals: Vec<f64> = (0..k).map(|j| (beta * s[(m - 1, j)]).abs()).collect();
        let worst = residuals.iter().fold(0.0f64, |a, r| a.max(*r));
        history.push((steps, values[0], residuals[0]));
        let converged = worst <= (0.5 * run.tolerance).max(floor);
        run.progress(SolvePhase::Lanczos, steps, &values[..k], worst, converged);
        idle = if worst < 0.9 * best { 0 } else { idle + 1 };
        best = best.min(worst);
        let stop = match () {
            () if converged && worst <= run.tolerance => Some(StopReason::Converged),
            () if converged || idle >= 40 => Some(StopReason::Stagnated),
            () if steps >= options.max_iterations => Some(StopReason::MaxIterations),
            () => None,
        };
        let count = if stop.is_some() { k } else { keep };
        let c: Vec<Vec<f64>> = (0..m).map(|i| (0..count).map(|j| s[(i, j)]).collect()).collect();
        let basis: Vec<&Vector<T>> = v[..m].iter().collect();
        algebra.combine(&mut kept[..count], &basis, &c, false)?;
        if let Some(stop) = stop {
            kept.truncate(k);
            let values = values[..k].to_vec();
            return Ok(Main { values, vectors: kept, iterations: steps, stop, history, notes: Vec::new() });
        }
        for (to, from) in v.iter_mut().zip(kept.iter_mut()) {
            std::mem::swap(to, from);
        }
        v.swap(keep, m);
        projected = Mat::zeros(whole, whole);
        let couplings: Vec<f64> = (0..keep).map(|j| beta * s[(m - 1, j)]).collect();
        for j in 0..keep {
            projected[(j, j)] = values[j];
            projected[(j, keep)] = couplings[j];
            projected[(keep, j)] = couplings[j];
        }
        filled = keep;
        if saver.due()? {
            let scalars: Vec<f64> = values[..keep].iter().chain(&couplings).copied().collect();
            saver.save("lanczos", steps, &scalars, &v[..=keep].iter().collect::<Vec<_>>())?;
        }
    }
}
