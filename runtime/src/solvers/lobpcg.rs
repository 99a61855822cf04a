//! LOBPCG for one state, fused: eleven passes over memory and one multiply per iteration.
//!
//! Variant: Knyazev (2001), with the recurrences for A x and A p of Yamada, Machida and Imamura (2020), Figure 3. Their
//! Figures 5 and 6 (the update) and 4 (ten inner products) are one vector program here: it forms p, A p, x, A x and w and
//! computes every inner product without A w in the same sweep (w·A x = x·A w by symmetry); the only other one, w·A w,
//! comes from the multiply. Nothing is scaled in memory: the 3 × 3 pencil is scaled by its diagonal instead. w is the
//! residual for the Ritz value; the paper's average of it with the Rayleigh quotient adds a multiple of x to w, which is
//! in the basis anyway, so without a preconditioner the subspace is the same.
//!
//! What could go wrong: w or p nearly dependent on x (the pencil's whitening drops the direction); drift of the
//! recurrences (A x and A p are recomputed every [`REFRESH`] iterations and before convergence is accepted).

use super::algebra::parse;
use super::checkpoint::{SavedVector, Saver};
use super::ritz::rayleigh_ritz;
use super::run::Main;
use super::run::Run;
use super::{Preconditioner, SolvePhase, StopReason};
use crate::device::Vector;
use crate::error::SolveError;
use crate::operator::LinearOperator;
use crate::scalar::Scalar;
use crate::trace;
use crate::vector_program::{Bind, Program};
use eigenforge_templates::vector_program::VectorProgram;

/// Iterations between two recomputations of the products of x and p: two more multiplies per hundred.
const REFRESH: usize = 100;
/// Iterations without a lower residual after which the search has stagnated, if the value stands still too.
const PATIENCE: usize = 150;
/// Vectors held: x, A x, p, A p, w, A w.
pub(super) const VECTORS: usize = 6;

/// The two sweeps: `update` forms new p, A p, x, A x and w; `refresh` only normalises x and forms w. Both end with all
/// inner products. With Jacobi, w is the preconditioned residual and rr the squared norm of the residual.
fn sweep(name: &str, preconditioner: Preconditioner) -> String {
    let (suffix, scalars, functions, residual) = match preconditioner {
        Preconditioner::None => ("", "", "", "w  = ax - theta * x\n"),
        Preconditioner::Jacobi => (
            "_jacobi",
            " shift least",
            "functions diagonal\n",
            "let r = ax - theta * x\nw  = r / max(diagonal - shift, least)\nsum rr = r * r\n",
        ),
    };
    let (declarations, update) = if name == "update" {
        (
            format!("vectors x ax p ap w : inout\nvectors aw : in\nscalars alpha beta gamma theta{scalars}\n"),
            "p  = alpha * w  + gamma * p\nap = alpha * aw + gamma * ap\nx  = beta * x  + p\nax = beta * ax + ap\n",
        )
    } else {
        (
            format!("vectors x ax : inout\nvectors p ap : in\nvectors w : out\nscalars beta theta{scalars}\n"),
            "x  = beta * x\nax = beta * ax\n",
        )
    };
    format!(
        "program lobpcg_{name}{suffix}\n{declarations}{functions}{update}{residual}\
         sum ww = w * w\nsum wx = w * x\nsum wp = w * p\nsum xx = x * x\nsum xp = x * p\nsum pp = p * p\n\
         sum xax = x * ax\nsum xap = x * ap\nsum pap = p * ap\nsum wax = w * ax\nsum wap = w * ap\n"
    )
}

/// All sweeps; the first is the fused update without preconditioner.
pub(super) fn sweeps() -> Vec<VectorProgram> {
    let kinds = [Preconditioner::None, Preconditioner::Jacobi];
    kinds.iter().flat_map(|kind| ["update", "refresh"].map(|name| parse(&sweep(name, *kind)))).collect()
}

/// Inner products of x, w, p and their images, as the update computes them.
#[derive(Clone, Copy, Default)]
struct Products {
    ww: f64,
    wx: f64,
    wp: f64,
    xx: f64,
    xp: f64,
    pp: f64,
    xax: f64,
    xap: f64,
    pap: f64,
    wax: f64,
    wap: f64,
}

/// Parameters of one search.
pub(super) struct Search {
    pub preconditioner: Preconditioner,
    pub max_iterations: usize,
}

struct State<'a, T: Scalar> {
    run: &'a Run<'a, T>,
    operator: &'a dyn LinearOperator<T>,
    update: Program,
    refresh: Program,
    jacobi: bool,
    x: Vector<T>,
    ax: Vector<T>,
    p: Vector<T>,
    ap: Vector<T>,
    w: Vector<T>,
    aw: Vector<T>,
    products: Products,
    theta: f64,
    residual: f64,
    has_p: bool,
}

/// Searches the lowest eigenpair from the start `x` (any length but 0).
pub(super) fn search<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
    x: Vector<T>,
    search: &Search,
    saver: &mut Saver,
) -> Result<Main<T>, SolveError> {
    let mut state = State::start(run, operator, x, search.preconditioner)?;
    let mut first = 0;
    if let Some(saved) = saver.take_resumed() {
        first = saved.iteration;
        state.resume(&saved.vectors)?;
    }
    let (tolerance, floor) = (run.tolerance, run.floor());
    let (mut best, mut best_at, mut best_value, mut doubts) = (state.residual, first, state.theta, 0);
    let mut history = vec![(first, state.theta, state.residual)];
    let mut iteration = first;
    let stop = loop {
        run.progress(SolvePhase::Lobpcg, iteration, &[state.theta], state.residual, false);
        if state.residual <= tolerance || state.residual <= floor {
            state.refresh(iteration)?;
            if state.residual <= tolerance {
                break StopReason::Converged;
            }
            doubts += 1;
            if doubts >= 5 {
                break StopReason::Stagnated;
            }
        }
        if iteration >= search.max_iterations {
            state.refresh(iteration)?;
            break if state.residual <= tolerance { StopReason::Converged } else { StopReason::MaxIterations };
        }
        iteration += 1;
        let mut span = trace::span("solver", "iteration");
        span.note("iteration", iteration);
        state.step(iteration)?;
        if iteration % REFRESH == 0 {
            state.refresh(iteration)?;
        }
        span.note("energy", state.theta);
        span.note("residual", state.residual);
        drop(span);
        history.push((iteration, state.theta, state.residual));
        let lower = best_value - state.theta > 8.0 * T::EPSILON * run.norm;
        if state.residual < 0.9 * best || lower {
            (best, best_at) = (best.min(state.residual), iteration);
            best_value = best_value.min(state.theta);
        } else if iteration - best_at >= PATIENCE {
            state.refresh(iteration)?;
            break if state.residual <= tolerance { StopReason::Converged } else { StopReason::Stagnated };
        } else if (iteration - best_at) % 50 == 0 {
            // Progress stalls: drop the direction and restart from x.
            state.drop_p(iteration)?;
        }
        if saver.due()? {
            saver.save("lobpcg", iteration, &[state.theta], &[&state.x, &state.p])?;
        }
    };
    saver.save("lobpcg", iteration, &[state.theta], &[&state.x, &state.p])?;
    run.progress(SolvePhase::Lobpcg, iteration, &[state.theta], state.residual, true);
    let mut vector = state.x;
    run.algebra.scale(&mut vector, 1.0 / state.products.xx.sqrt())?;
    let (values, vectors) = (vec![state.theta], vec![vector]);
    Ok(Main::new(values, vectors, (iteration, stop), history))
}

impl<'a, T: Scalar> State<'a, T> {
    fn start(
        run: &'a Run<'a, T>,
        operator: &'a dyn LinearOperator<T>,
        x: Vector<T>,
        preconditioner: Preconditioner,
    ) -> Result<Self, SolveError> {
        let device = operator.device();
        let jacobi = preconditioner == Preconditioner::Jacobi;
        let functions = match preconditioner {
            Preconditioner::None => vec![],
            Preconditioner::Jacobi => vec![operator.diagonal().ok_or(SolveError::NoDiagonal)?.named("diagonal")],
        };
        let program = |name| device.program(&parse(&sweep(name, preconditioner)), T::TYPE, &functions);
        let (update, refresh) = (program("update")?, program("refresh")?);
        let n = operator.dimension();
        let zeros = || device.zeros::<T>(n);
        let (ax, p, ap, w, aw) = (zeros()?, zeros()?, zeros()?, zeros()?, zeros()?);
        let (theta, residual) = (f64::NAN, f64::INFINITY);
        let products = Products { xx: run.algebra.dot(&x, &x)?, ..Products::default() };
        let mut state = State {
            run,
            operator,
            update,
            refresh,
            jacobi,
            x,
            ax,
            p,
            ap,
            w,
            aw,
            products,
            theta,
            residual,
            has_p: false,
        };
        state.refresh(0)?;
        Ok(state)
    }

    /// Resumes from a saved x and p.
    fn resume(&mut self, vectors: &[SavedVector]) -> Result<(), SolveError> {
        for (vector, saved) in [&mut self.x, &mut self.p].into_iter().zip(vectors) {
            saved.restore(vector)?;
        }
        self.has_p = true;
        self.products.xx = self.run.algebra.dot(&self.x, &self.x)?;
        self.refresh(0)
    }

    /// Recomputes the products of x and p, normalises x, and forms w and all inner products again.
    fn refresh(&mut self, iteration: usize) -> Result<(), SolveError> {
        let _refresh = trace::span("solver", "refresh");
        let value = self.run.apply(self.operator, &self.x, &mut self.ax)?;
        self.run.finite(value, iteration)?;
        if self.has_p {
            self.run.multiply(self.operator, &self.p, &mut self.ap)?;
        }
        let (beta, theta) = (1.0 / self.products.xx.sqrt(), value / self.products.xx);
        let mut scalars = vec![beta, theta];
        scalars.extend(self.shift(theta));
        let mut binds = [
            Bind::Out(&mut self.x),
            Bind::Out(&mut self.ax),
            Bind::In(&self.p),
            Bind::In(&self.ap),
            Bind::Out(&mut self.w),
        ];
        let sums = self.refresh.run(&mut binds, &scalars)?;
        self.take_products(&sums, theta);
        Ok(())
    }

    /// Restarts from x alone.
    fn drop_p(&mut self, iteration: usize) -> Result<(), SolveError> {
        self.has_p = false;
        self.refresh(iteration)
    }

    /// Jacobi's shift and the least divisor. The Ritz value minus the residual norm lies below a nearby eigenvalue, so
    /// diagonal − shift is positive at the low end (HPhi's LOBCG shifts in the same way); the clamp bounds the rest.
    fn shift(&self, theta: f64) -> Vec<f64> {
        if !self.jacobi {
            return vec![];
        }
        let margin = if self.residual.is_finite() { self.residual } else { self.run.norm };
        vec![theta - margin, 0.1 * margin.max(1e-2 * self.run.norm)]
    }

    /// Runs the update sweep.
    fn update(&mut self, alpha: f64, beta: f64, gamma: f64, theta: f64) -> Result<(), SolveError> {
        let _update = self.operator.device().span("solver", "update");
        let mut scalars = vec![alpha, beta, gamma, theta];
        scalars.extend(self.shift(theta));
        let mut binds = [
            Bind::Out(&mut self.x),
            Bind::Out(&mut self.ax),
            Bind::Out(&mut self.p),
            Bind::Out(&mut self.ap),
            Bind::Out(&mut self.w),
            Bind::In(&self.aw),
        ];
        let sums = self.update.run(&mut binds, &scalars)?;
        self.take_products(&sums, theta);
        Ok(())
    }

    /// Sums of a sweep in the order of its text.
    fn take_products(&mut self, sums: &[f64], theta: f64) {
        let mut sums = sums.iter().copied();
        let mut next = || sums.next().unwrap_or(f64::NAN);
        let rr = if self.jacobi { next() } else { f64::NAN };
        let [ww, wx, wp, xx, xp, pp] = [next(), next(), next(), next(), next(), next()];
        let [xax, xap, pap, wax, wap] = [next(), next(), next(), next(), next()];
        let rr = if self.jacobi { rr } else { ww };
        self.products = Products { ww, wx, wp, xx, xp, pp, xax, xap, pap, wax, wap };
        self.theta = theta;
        self.residual = (rr / xx).sqrt();
    }

    /// One iteration: A w, the 3 × 3 pencil, the update.
    fn step(&mut self, iteration: usize) -> Result<(), SolveError> {
        let waw = self.run.apply(self.operator, &self.w, &mut self.aw)?;
        self.run.finite(waw, iteration)?;
        let q = self.products;
        let (mut a, mut b) = (vec![vec![q.xax, q.wax], vec![q.wax, waw]], vec![vec![q.xx, q.wx], vec![q.wx, q.ww]]);
        if self.has_p && q.pp > 0.0 {
            let (ap, bp) = ([q.xap, q.wap, q.pap], [q.xp, q.wp, q.pp]);
            for (matrix, column) in [(&mut a, ap), (&mut b, bp)] {
                matrix.iter_mut().zip(column).for_each(|(row, v)| row.push(v));
                matrix.push(column.to_vec());
            }
        }
        let ritz = rayleigh_ritz(&a, &b, 1)?;
        let c = |i: usize| ritz.coefficients.get(i).and_then(|row| row.first()).copied().unwrap_or(0.0);
        let sign = if c(0) < 0.0 { -1.0 } else { 1.0 };
        let (beta, alpha, gamma) = (sign * c(0), sign * c(1), sign * c(2));
        let theta = ritz.values.first().copied().unwrap_or(f64::NAN);
        if beta == 0.0 || !theta.is_finite() {
            return self.drop_p(iteration);
        }
        self.has_p = true;
        self.update(alpha, beta, gamma, theta)
    }
}
