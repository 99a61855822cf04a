//! Why a search ended without its states, and what would help.
//!
//! In: the results of the main search. Out: a sentence that names the cause (rounding, a narrow gap, few vectors, a search that got no further) with
//! its numbers.

use super::run::{Main, Run};
use super::{Solver, StopReason};
use crate::scalar::Scalar;
use eigenforge_templates::ScalarType;

/// Residuals up to so many times what rounding alone may leave are rounding.
const ROUNDING: f64 = 1e3;
/// Levels closer than this part of the norm need many iterations.
const NARROW: f64 = 1e-3;

/// What to do about states whose largest residual norm is `worst`; `None` if they have converged.
pub(super) fn advice<T: Scalar>(run: &Run<'_, T>, solver: Solver, main: &Main<T>, worst: f64) -> Option<String> {
    match main.stop {
        StopReason::Dense => {
            Some("the whole matrix was diagonalised, so this is rounding: loosen the tolerance".into())
        }
        StopReason::Converged => None,
        StopReason::Stagnated if worst <= ROUNDING * run.floor() => Some(rounding(run)),
        StopReason::Stagnated | StopReason::MaxIterations => Some(slow(run, solver, main, worst)),
    }
}

fn rounding<T: Scalar>(run: &Run<'_, T>) -> String {
    let precision = match T::TYPE {
        ScalarType::F64 => "",
        ScalarType::F32 => ", or take precision = \"f64\"",
    };
    format!("rounding leaves about {:.0e} and allows no less: loosen the tolerance{precision}", run.floor())
}

fn slow<T: Scalar>(run: &Run<'_, T>, solver: Solver, main: &Main<T>, worst: f64) -> String {
    let mut said = Vec::new();
    let mut helps = Vec::new();
    if let Some(gap) = main.gap.filter(|gap| *gap < NARROW * run.norm) {
        said.push(format!(
            "the next level is only about {gap:.0e} away from the last state, a narrow gap beside the norm {:.0e}",
            run.norm
        ));
        helps.push("a few more `states`".to_string());
        if solver != Solver::Davidson {
            helps.push("solver = \"davidson\" if the diagonal is large".into());
        }
    }
    if main.few_vectors {
        said.push("memory had room for few vectors".into());
        helps.push("more memory, or fewer states".into());
    }
    match (main.stop, solver) {
        (StopReason::MaxIterations, _) => {
            let more = iterations_left(run, main, worst).map_or(String::new(), |more| format!(" by about {more}"));
            helps.push(format!("max_iterations raised{more}"));
        }
        (_, Solver::Olsen) => {
            said.push("the diagonal says too little of this operator for two vectors".into());
            helps.push("davidson or lanczos, which need more vectors".into());
        }
        (_, Solver::Lobpcg) => {
            said.push("the block got no further".into());
            helps.push("another `guard` or seed, or solver = \"lanczos\"".into());
        }
        _ => {
            said.push("the search got no further".into());
            helps.push("another seed or solver".into());
        }
    }
    let said = if said.is_empty() { String::new() } else { format!("{}; ", said.join(", and ")) };
    format!("{said}what helps: {}", helps.join(", "))
}

/// Iterations that the tolerance takes beyond these, by the slope of the second half.
fn iterations_left<T: Scalar>(run: &Run<'_, T>, main: &Main<T>, worst: f64) -> Option<usize> {
    let middle = main.history.get(main.history.len() / 2)?;
    let last = main.history.last()?;
    let fallen = (middle.2 / last.2).ln();
    let left = (worst / run.tolerance).ln();
    let taken = last.0.checked_sub(middle.0)? as f64;
    (fallen > 0.1 && left > 0.0).then(|| {
        let more = taken * left / fallen;
        let unit = 10f64.powi(more.max(10.0).log10() as i32);
        ((more / unit).ceil() * unit) as usize
    })
}
