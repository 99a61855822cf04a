//! The states whose values are nearest to σ, wherever in the spectrum that is.
//!
//! In: an operator, σ. Out: its eigenpairs by |E − σ|, level by level, the nearest first. A small matrix is diagonalised as a whole. Of another,
//! a short Lanczos chain tells the density of states around σ, and a [filter](super::filter) is made whose lowest states are those nearest
//! to σ; these are searched for and certified as any lowest states, and are made eigenvectors of A within their span. Residuals are those of A.
//! Since the order by the filter is that by |E − σ|, its certificate is the one that no nearer state was missed. Beyond the bound of the norm
//! the nearest states are the highest or the lowest.

use super::certify::{State, true_states};
use super::filter::{Filter, VECTORS, Window};
use super::highest::part_options;
use super::lanczos::krylov_chain;
use super::levels::{BoundedEnergy, group_levels};
use super::run::Run;
use super::{
    Eigenpairs, Level, Preconditioner, Progress, SolveOptions, Solver, SpectrumPart, Start, StopReason, solve_lowest,
};
use crate::device::Vector;
use crate::error::{DeviceError, SolveError};
use crate::operator::LinearOperator;
use crate::scalar::Scalar;
use std::sync::Arc;

/// States that are searched for beside those wanted, so that the last of these is no mixture with the next.
const BESIDE: usize = 2;
/// Steps of the chain that tells the density of states.
const STEPS: usize = 120;
/// States inside the first cut: so many, and so many for each that is searched for.
const INSIDE: [f64; 2] = [16.0, 2.0];
/// The widest cut, in parts of the reach: beyond, the square of the distance is the filter.
const WIDEST: f64 = 0.7;
/// Multiplies by the filter before a cut may be too narrow: so many, and so many for each state that is searched for.
const PATIENCE: [usize; 2] = [40, 8];
/// Rounds of the filter on its states, where their residuals are too large.
const ROUNDS: usize = 4;

/// The options of the search for the lowest states of the filter.
pub(super) fn filter_options(options: &SolveOptions, dimension: usize) -> SolveOptions {
    let states = options.states.saturating_add(BESIDE).min(dimension);
    let (start, preconditioner) = (Start::Random, Preconditioner::None);
    let mut own = SolveOptions { states, start, preconditioner, taken_out: 0.0, ..part_options(options) };
    // Its values are no energies.
    if let Some(report) = options.progress.clone() {
        own.progress = Some(Arc::new(move |progress: &Progress| {
            report(&Progress { energies: Vec::new(), ..progress.clone() });
        }));
    }
    own
}

/// The `options.states` eigenpairs nearest to `value`.
pub(super) fn solve<T: Scalar>(
    operator: &dyn LinearOperator<T>,
    solver: Solver,
    options: &SolveOptions,
    value: f64,
) -> Result<Eigenpairs<T>, SolveError> {
    if !value.is_finite() {
        return Err(SolveError::Option { name: "near", value: value.to_string(), expected: "a finite energy" });
    }
    let dense = |options: &SolveOptions| {
        solve_lowest(operator, Solver::Dense, &SolveOptions { part: options.part, ..part_options(options) })
    };
    if matches!(solver, Solver::Davidson | Solver::Olsen) {
        let expected = "lanczos, lobpcg or dense: the others correct by the diagonal, which a filter has not";
        return Err(SolveError::Option { name: "solver", value: solver.name().into(), expected });
    }
    // Beyond the spectrum the nearest states are those of that end, and a filter would have no digits.
    if value.abs() > operator.norm_bound() {
        let part = if value > 0.0 { SpectrumPart::Highest } else { SpectrumPart::Lowest };
        return super::solve_typed(operator, solver, &SolveOptions { part, ..options.clone() });
    }
    if solver == Solver::Dense {
        return dense(options);
    }
    options.check(operator.dimension())?;
    if operator.device().ranks().is_some() {
        let (what, instead) = ("`near` with a filter".into(), "run it in one process, or by solver = \"dense\"".into());
        return Err(DeviceError::NotOverRanks { what, instead }.into());
    }
    let own = filter_options(options, operator.dimension());
    let run = Run::new(operator, options);
    run.plan_memory(operator, "a filter", VECTORS + own.states, "")?;
    let mut window = first_window(operator, &own, value)?;
    let patience = PATIENCE[0] + PATIENCE[1] * own.states;
    loop {
        let filter = Filter::new(operator, window)?;
        let whole = window.cut == 0.0;
        if !whole {
            // Another window is another operator, and has no state of the search to go on from.
            let max_iterations = own.max_iterations.min(patience);
            let trial = SolveOptions { max_iterations, checkpoint: None, ..own.clone() };
            let found = solve_lowest(&filter, solver, &trial)?;
            // The filter is −1 at the cut.
            if found.values.last().is_none_or(|last| *last >= -1.0) {
                window = wider(window);
                continue;
            }
            if found.stop != StopReason::MaxIterations || max_iterations == own.max_iterations {
                return finish(&run, operator, &filter, found, value);
            }
        }
        let mut last = own;
        if let Some(checkpoint) = &mut last.checkpoint {
            checkpoint.identity += &format!(" by {window:?}");
        }
        return finish(&run, operator, &filter, solve_lowest(&filter, solver, &last)?, value);
    }
}

/// The window with twice the cut; the whole spectrum beyond the widest.
fn wider(window: Window) -> Window {
    let cut = 2.0 * window.cut;
    Window { cut: if cut > WIDEST * window.reach { 0.0 } else { cut }, ..window }
}

/// A window around σ with about as many states as are wanted, and some more, by the density of states of a chain from a random vector.
fn first_window<T: Scalar>(
    operator: &dyn LinearOperator<T>,
    options: &SolveOptions,
    centre: f64,
) -> Result<Window, SolveError> {
    let n = operator.dimension();
    let mut random = operator.device().zeros::<T>(n)?;
    operator.device().fill_random(&mut random, options.seed ^ 0x6e65_6172)?;
    let chain = krylov_chain(operator, &random.download()?, &[], STEPS, |_| false)?;
    let poles = chain.poles()?;
    let (Some(first), Some(last)) = (poles.first(), poles.last()) else {
        return Err(SolveError::NotFinite { value: f64::NAN, iteration: 0 });
    };
    // Values end at the outermost poles, and at most the last β beyond (Y. Zhou and R.-C. Li, Linear Algebra Appl. 435, 480 (2011)).
    let (width, beyond) = (last[0] - first[0], chain.beta.last().copied().unwrap_or(0.0));
    let norm = operator.norm_bound();
    let size = norm + centre.abs();
    let least = if size > 0.0 { f64::EPSILON.sqrt() * size } else { 1.0 };
    let beyond = beyond.min(0.05 * width) + 1e-3 * width;
    let reach = (last[0] + beyond - centre).abs().max((centre - first[0] + beyond).abs()).max(least);
    // Poles are as wide as they are apart.
    let blur = (1.5 * width / poles.len() as f64).max(least);
    let below = |energy: f64, pole: f64| 1.0 / (1.0 + ((pole - energy) / blur).exp());
    let inside = |cut: f64| {
        let share = |[pole, weight]: &[f64; 2]| weight * (below(centre + cut, *pole) - below(centre - cut, *pole));
        n as f64 * poles.iter().map(share).sum::<f64>() / chain.weight.max(f64::MIN_POSITIVE)
    };
    let wanted = INSIDE[0] + INSIDE[1] * options.states as f64;
    let (mut low, mut high) = (0.0, WIDEST * reach);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if inside(middle) < wanted { low = middle } else { high = middle }
    }
    // The same on every device, whose numbers differ by rounding.
    let rounded = |length: f64| ((8.0 * length.log2()).round() / 8.0).exp2();
    let (cut, reach) = (rounded(high.max(1e-9 * reach)), rounded(1.1 * reach));
    Ok(Window { centre, cut: if inside(WIDEST * reach) < wanted { 0.0 } else { cut }, reach })
}

/// Eigenpairs of A from states of its filter.
fn finish<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
    filter: &Filter<'_, T>,
    found: Eigenpairs<T>,
    value: f64,
) -> Result<Eigenpairs<T>, SolveError> {
    let filtered = |count: usize| count * filter.multiplies();
    let is_complete = found.levels.iter().all(|level| level.complete);
    let mut multiplies = filtered(found.multiplies);
    let vectors: Vec<Vector<T>> = found.vectors.into_iter().chain(found.extra_vectors).collect();
    let mut pairs = assemble(run, true_states(run, operator, vectors)?, is_complete, value);
    let mut rest = pairs.1;
    for _ in 0..ROUNDS {
        if pairs.0.residuals.iter().all(|residual| *residual <= run.tolerance) {
            break;
        }
        let Eigenpairs { vectors, extra_vectors, .. } = pairs.0;
        let mut sharper: Vec<Vector<T>> = Vec::new();
        for vector in vectors.into_iter().chain(extra_vectors).chain(rest) {
            let mut image = operator.device().zeros::<T>(operator.dimension())?;
            filter.multiply(&vector, &mut image)?;
            multiplies += filtered(1);
            run.algebra.orthonormalise(&mut image, &sharper.iter().collect::<Vec<_>>())?;
            sharper.push(image);
        }
        pairs = assemble(run, true_states(run, operator, sharper)?, is_complete, value);
        rest = pairs.1;
    }
    let pairs = pairs.0;
    let converged = pairs.residuals.iter().all(|residual| *residual <= 1.01 * run.tolerance);
    let stop = match found.stop {
        StopReason::Converged if !converged => StopReason::Stagnated,
        StopReason::Stagnated if converged => StopReason::Converged,
        stop => stop,
    };
    let mut notes = found.notes;
    if !is_complete {
        notes.push(format!("it is not certified that no state nearer to {value} was missed"));
    }
    notes.extend(pairs.notes);
    Ok(Eigenpairs {
        advice: (stop != StopReason::Converged).then(|| {
            format!(
                "the filter around {value} has degree {}; what helps: more `states`, max_iterations raised, or solver = \"dense\"",
                filter.multiplies()
            )
        }),
        start: found.start,
        iterations: found.iterations,
        multiplies: multiplies + run.multiplies(),
        stop,
        seconds: run.elapsed(),
        notes,
        ..pairs
    })
}

/// The k states nearest to `value`, level by level, with the rest of the level that k cuts; and the vectors of all further states. `found`
/// ascends.
pub(super) fn assemble<T: Scalar>(
    run: &Run<'_, T>,
    found: Vec<State<T>>,
    is_complete: bool,
    value: f64,
) -> (Eigenpairs<T>, Vec<Vector<T>>) {
    let (k, rounding, unconverged) = (run.options.states, run.rounding(), 0.5 * run.joining_distance());
    let bounded: Vec<BoundedEnergy> = found
        .iter()
        .map(|state| BoundedEnergy { energy: state.value, error: state.residual.min(unconverged), rounding })
        .collect();
    let groups = group_levels(&bounded);
    let undecided = groups.undecided.filter(|_| run.options.certify);
    let mut rest = found.into_iter();
    let mut by_level: Vec<Vec<State<T>>> =
        groups.sizes.into_iter().map(|size| rest.by_ref().take(size).collect()).collect();
    let mean = |level: &[State<T>]| level.iter().map(|state| state.value).sum::<f64>() / level.len().max(1) as f64;
    by_level.sort_by(|a, b| (mean(a) - value).abs().total_cmp(&(mean(b) - value).abs()));
    let (mut levels, mut states, mut further) = (Vec::new(), Vec::new(), Vec::new());
    for level in by_level {
        let first = states.len();
        if first >= k {
            further.extend(level.into_iter().map(|state| state.vector));
            continue;
        }
        let (multiplicity, returned) = (level.len(), level.len().min(k - first));
        levels.push(Level { value: mean(&level), multiplicity, complete: is_complete, returned });
        states.extend(level);
    }
    let all = |of: fn(&State<T>) -> f64| states.iter().map(of).collect::<Vec<f64>>();
    let (mut values, mut residuals) = (all(|state| state.value), all(|state| state.residual));
    let mut vectors: Vec<Vector<T>> = states.into_iter().map(|state| state.vector).collect();
    let cut = k.min(values.len());
    let (extra_values, extra_vectors) = (values.split_off(cut), vectors.split_off(cut));
    residuals.truncate(cut);
    let pairs = Eigenpairs {
        errors: residuals.clone(),
        values,
        residuals,
        vectors,
        levels,
        extra_vectors,
        extra_values,
        norm: run.norm,
        tolerance: run.tolerance,
        advice: None,
        next: None,
        start: run.started_from.get(),
        iterations: 0,
        multiplies: run.multiplies(),
        stop: StopReason::Converged,
        history: Vec::new(),
        seconds: run.elapsed(),
        notes: undecided.map(|gap| gap.warning()).into_iter().collect(),
    };
    (pairs, further)
}
