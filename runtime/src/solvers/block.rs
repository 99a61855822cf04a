//! Block LOBPCG: k states and some guard vectors at once, with soft locking.
//!
//! Variant: Knyazev (2001) with the basis of Duersch, Shao, Yang and Gu (2018): the new P is made orthogonal to the new X
//! in the coefficients of the Rayleigh–Ritz step, so the basis [X W P] stays well conditioned. Converged columns stay in
//! X but add no W (soft locking); the others' is made orthonormal to X and P. Guard vectors, beyond the k requested, prevent slow convergence of the k-th state when
//! the next level is close. The pencil is whitened and nearly dependent directions are dropped, so an indefinite pencil
//! costs directions and never the run; if too few remain, X is orthonormalised again, with random vectors in place of
//! collapsed columns.
//!
//! Memory: X, A X, W, A W, P, A P and one scratch block, 7 (k + guard) vectors.

use super::algebra::parse;
use super::checkpoint::{SavedVector, Saver};
use super::orthonormal::orthonormalise;
use super::ritz::{Ritz, rayleigh_ritz};
use super::run::Main;
use super::run::Run;
use super::{Preconditioner, SolvePhase, StopReason};
use crate::device::Vector;
use crate::error::SolveError;
use crate::operator::LinearOperator;
use crate::scalar::Scalar;
use crate::trace;
use crate::vector_program::{Bind, Program};

/// Iterations between two recomputations of the products of X and P.
const REFRESH: usize = 50;
/// Iterations without a lower residual or value after which the search has stagnated.
const PATIENCE: usize = 150;
/// Iterations between two recomputations that check convergence.
const BETWEEN_CHECKS: usize = 4;
/// Blocks held.
pub(super) const BLOCKS: usize = 7;

type Matrix = Vec<Vec<f64>>;

struct Block<'a, T: Scalar> {
    run: &'a Run<'a, T>,
    operator: &'a dyn LinearOperator<T>,
    preconditioner: Option<Program>,
    x: Vec<Vector<T>>,
    ax: Vec<Vector<T>>,
    w: Vec<Vector<T>>,
    aw: Vec<Vector<T>>,
    p: Vec<Vector<T>>,
    ap: Vec<Vector<T>>,
    scratch: Vec<Vector<T>>,
    /// Columns of P in use.
    directions: usize,
    values: Vec<f64>,
    residuals: Vec<f64>,
}

/// The k lowest states, in a block of `columns` columns.
pub(super) fn search<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
    columns: usize,
    saver: &mut Saver,
) -> Result<Main<T>, SolveError> {
    let (k, tolerance, scale) = (run.options.states, run.tolerance, run.norm);
    let mut block = Block::start(run, operator, columns)?;
    let mut iteration = 0;
    if let Some(saved) = saver.take_resumed() {
        iteration = saved.iteration;
        block.resume(saved.scalars.len(), &saved.vectors)?;
    }
    let floor = run.floor();
    let (mut best, mut best_value, mut best_at) = (f64::INFINITY, f64::INFINITY, iteration);
    let mut next_check = iteration;
    let mut history = Vec::new();
    let stop = loop {
        let worst = block.residuals[..k].iter().fold(0.0f64, |m, r| m.max(*r));
        history.push((iteration, block.values[0], block.residuals[0]));
        run.progress(SolvePhase::Lobpcg, iteration, &block.values[..k], worst, false);
        if (worst <= tolerance || worst <= floor) && iteration >= next_check {
            block.refresh(iteration)?;
            if block.residuals[..k].iter().all(|r| *r <= tolerance) {
                break StopReason::Converged;
            }
            // If k cuts a multiplet, Rayleigh–Ritz may exchange the k-th vector with a guard of the same level that has
            // converged less: both continue.
            next_check = iteration + BETWEEN_CHECKS;
        }
        if iteration >= run.options.max_iterations {
            block.refresh(iteration)?;
            break StopReason::MaxIterations;
        }
        iteration += 1;
        let mut span = trace::span("solver", "iteration");
        span.note("iteration", iteration);
        block.step(iteration)?;
        if iteration % REFRESH == 0 {
            block.refresh(iteration)?;
        }
        span.note("energy", block.values[0]);
        span.note("residual", block.residuals[..k].iter().fold(0.0f64, |m, r| m.max(*r)));
        drop(span);
        let value: f64 = block.values[..k].iter().sum();
        if worst < 0.9 * best || best_value - value > 8.0 * T::EPSILON * scale * k as f64 {
            (best, best_value, best_at) = (best.min(worst), best_value.min(value), iteration);
        } else if iteration - best_at >= PATIENCE {
            block.refresh(iteration)?;
            let done = block.residuals[..k].iter().all(|r| *r <= tolerance);
            break if done { StopReason::Converged } else { StopReason::Stagnated };
        } else if (iteration - best_at) % 50 == 0 {
            block.directions = 0;
        }
        if saver.due()? {
            block.save(saver, iteration)?;
        }
    };
    block.save(saver, iteration)?;
    let worst = block.residuals[..k].iter().fold(0.0f64, |m, r| m.max(*r));
    run.progress(SolvePhase::Lobpcg, iteration, &block.values[..k], worst, true);
    let gap = run.gap(&block.values, k);
    block.x.truncate(k);
    block.values.truncate(k);
    let main = Main::new(block.values, block.x, (iteration, stop), history);
    Ok(Main { gap, ..main })
}

impl<'a, T: Scalar> Block<'a, T> {
    fn start(run: &'a Run<'a, T>, operator: &'a dyn LinearOperator<T>, m: usize) -> Result<Self, SolveError> {
        let (device, n) = (operator.device(), operator.dimension());
        let preconditioner = match run.options.preconditioner {
            Preconditioner::None => None,
            Preconditioner::Jacobi => {
                let text = "program jacobi\nvectors w : inout\nscalars shift least\nfunctions diagonal\n\
                            w = w / max(diagonal - shift, least)\n";
                let diagonal = operator.diagonal().ok_or(SolveError::NoDiagonal)?.named("diagonal");
                Some(device.program(&parse(text), T::TYPE, &[diagonal])?)
            }
        };
        let zeros = || (0..m).map(|_| device.zeros::<T>(n)).collect::<Result<Vec<_>, _>>();
        let mut x = zeros()?;
        for (j, x) in x.iter_mut().enumerate() {
            device.fill_random(x, run.options.seed.wrapping_add(j as u64 * 0x51ed_270b))?;
        }
        let mut block = Block {
            run,
            operator,
            preconditioner,
            x,
            ax: zeros()?,
            w: zeros()?,
            aw: zeros()?,
            p: zeros()?,
            ap: zeros()?,
            scratch: zeros()?,
            directions: 0,
            values: vec![f64::NAN; m],
            residuals: vec![f64::INFINITY; m],
        };
        block.restart(0)?;
        Ok(block)
    }

    /// Resumes from a saved X and P.
    /// From a block of `columns` columns: their Ritz vectors, then directions, which fit a block of as many columns only.
    fn resume(&mut self, columns: usize, vectors: &[SavedVector]) -> Result<(), SolveError> {
        let (found, directions) = vectors.split_at(columns.min(vectors.len()));
        for (vector, saved) in self.x.iter_mut().zip(found) {
            saved.restore(vector)?;
        }
        let directions = if found.len() == self.x.len() { directions } else { &[] };
        for (vector, saved) in self.p.iter_mut().zip(directions) {
            saved.restore(vector)?;
        }
        self.directions = directions.len().min(self.p.len());
        self.refresh(0)
    }

    fn save(&self, saver: &mut Saver, iteration: usize) -> Result<(), SolveError> {
        let vectors: Vec<&Vector<T>> = self.x.iter().chain(&self.p[..self.directions]).collect();
        saver.save("lobpcg", iteration, &self.values, &vectors)
    }

    /// Orthonormalises X from scratch, with random vectors in place of collapsed columns, and drops P.
    fn restart(&mut self, iteration: usize) -> Result<(), SolveError> {
        self.directions = 0;
        for j in 0..self.x.len() {
            let (before, rest) = self.x.split_at_mut(j);
            let before: Vec<&Vector<T>> = before.iter().collect();
            let mut left = self.run.algebra.orthonormalise(&mut rest[0], &before)?;
            let mut again = 0;
            while left < 1e-8 && again < 3 {
                again += 1;
                let seed = self.run.options.seed ^ (((iteration * 64 + j) as u64) << 8 | again);
                self.operator.device().fill_random(&mut rest[0], seed)?;
                left = self.run.algebra.orthonormalise(&mut rest[0], &before)?;
            }
        }
        self.refresh(iteration)
    }

    /// Recomputes the products of X and P, solves Rayleigh–Ritz in X alone and forms the residuals.
    fn refresh(&mut self, iteration: usize) -> Result<(), SolveError> {
        let _refresh = trace::span("solver", "refresh");
        let x: Vec<&Vector<T>> = self.x.iter().collect();
        let values = self.run.apply_block(self.operator, &x, &mut self.ax)?;
        values.iter().try_for_each(|v| self.run.finite(*v, iteration).map(drop))?;
        let p: Vec<&Vector<T>> = self.p[..self.directions].iter().collect();
        self.run.multiply_block(self.operator, &p, &mut self.ap[..self.directions])?;
        let ax: Vec<&Vector<T>> = self.ax.iter().collect();
        let (a, b) = (self.run.algebra.gram(&x, &ax)?, self.run.algebra.gram(&x, &x)?);
        let ritz = rayleigh_ritz(&a, &b, x.len())?;
        if ritz.values.len() < self.x.len() {
            return self.restart(iteration + 1);
        }
        for block in [&mut self.x, &mut self.ax] {
            let inputs: Vec<&Vector<T>> = block.iter().collect();
            self.run.algebra.combine(&mut self.scratch, &inputs, &ritz.coefficients, false)?;
            std::mem::swap(block, &mut self.scratch);
        }
        self.values = ritz.values;
        self.form_residuals()
    }

    /// W = A X − X Θ, and the norms.
    fn form_residuals(&mut self) -> Result<(), SolveError> {
        for j in 0..self.x.len() {
            let rr = self.run.algebra.residual_of(&mut self.w[j], &self.ax[j], &self.x[j], self.values[j])?;
            self.residuals[j] = rr.sqrt();
        }
        Ok(())
    }

    /// Moves the residuals of unconverged columns to the front of W and preconditions them; returns how many.
    fn activate(&mut self) -> Result<usize, SolveError> {
        let mut active = 0;
        for j in 0..self.x.len() {
            if self.residuals[j] <= 0.3 * self.run.tolerance {
                continue;
            }
            self.w.swap(active, j);
            if let Some(jacobi) = &self.preconditioner {
                let margin = self.residuals[j];
                let least = 0.1 * margin.max(1e-2 * self.run.norm);
                jacobi.run(&mut [Bind::Out(&mut self.w[active])], &[self.values[j] - margin, least])?;
            }
            active += 1;
        }
        Ok(active)
    }

    /// Makes W orthonormal to X and P: combinations of an orthonormal basis have small coefficients, so that the products, which are
    /// combined like the vectors, stay products. Where nothing is left a random direction takes its place.
    fn independent(&mut self, active: usize, iteration: usize) -> Result<usize, SolveError> {
        let _orthogonalise = self.operator.device().span("solver", "orthogonalise");
        let basis = join(&self.x, &self.p[..self.directions], &[]);
        let room = self.operator.dimension().saturating_sub(basis.len());
        let algebra = &self.run.algebra;
        let dot = |w: &Vector<T>| Ok(algebra.dot(w, w)?.sqrt());
        let lengths = self.w[..active].iter().map(dot).collect::<Result<Vec<_>, SolveError>>()?;
        let count = orthonormalise(algebra, &basis, (&mut self.w, &mut self.scratch), &lengths)?;
        if count > 0 || room == 0 {
            return Ok(count.min(room));
        }
        let seed = self.run.options.seed ^ ((iteration as u64) << 9 | 3);
        self.operator.device().fill_random(&mut self.w[0], seed)?;
        let length = dot(&self.w[0])?;
        orthonormalise(algebra, &basis, (&mut self.w, &mut self.scratch), &[length])
    }

    /// One iteration.
    fn step(&mut self, iteration: usize) -> Result<(), SolveError> {
        let active = self.activate()?;
        let active = self.independent(active, iteration)?;
        let (m, algebra) = (self.x.len(), &self.run.algebra);
        let w: Vec<&Vector<T>> = self.w[..active].iter().collect();
        let values = self.run.apply_block(self.operator, &w, &mut self.aw[..active])?;
        values.iter().try_for_each(|v| self.run.finite(*v, iteration).map(drop))?;
        let gram = self.operator.device().span("solver", "inner products");
        let basis = join(&self.x, &self.w[..active], &self.p[..self.directions]);
        let images = join(&self.ax, &self.aw[..active], &self.ap[..self.directions]);
        let (b, a) = (self.gram(&basis, &basis)?, self.gram(&basis, &images)?);
        drop(gram);
        let ritz = rayleigh_ritz(&a, &b, m)?;
        if ritz.values.len() < m {
            return self.restart(iteration);
        }
        let (p_coefficients, minus_x) = directions(&ritz, &b, m)?;
        let count = p_coefficients.first().map_or(0, Vec::len);
        let _update = self.operator.device().span("solver", "update");
        let p_rows: Matrix = p_coefficients.into_iter().chain(minus_x).collect();
        // X' = [X W P] C, then P' = [W P] Z − X' E, each into the scratch block, which then changes place.
        for image in [false, true] {
            let (x, w, p) =
                if image { (&mut self.ax, &self.aw, &mut self.ap) } else { (&mut self.x, &self.w, &mut self.p) };
            let inputs = join(x, &w[..active], &p[..self.directions]);
            algebra.combine(&mut self.scratch, &inputs, &ritz.coefficients, false)?;
            std::mem::swap(x, &mut self.scratch);
            let mut inputs = join(&w[..active], &p[..self.directions], &[]);
            inputs.extend(x.iter());
            algebra.combine(&mut self.scratch[..count], &inputs, &p_rows, false)?;
            std::mem::swap(p, &mut self.scratch);
        }
        self.directions = count;
        self.values = ritz.values;
        self.form_residuals()
    }

    /// The symmetric Gram matrix of basis and images; only tiles on and above the diagonal are computed.
    fn gram(&self, basis: &[&Vector<T>], images: &[&Vector<T>]) -> Result<Matrix, SolveError> {
        let n = basis.len();
        let mut gram = vec![vec![0.0; n]; n];
        for from in (0..n).step_by(4) {
            let to = n.min(from + 4);
            let tile = self.run.algebra.gram(&basis[from..to], &images[from..])?;
            for (i, row) in tile.iter().enumerate() {
                for (j, value) in row.iter().enumerate() {
                    gram[from + i][from + j] = *value;
                    gram[from + j][from + i] = *value;
                }
            }
        }
        Ok(gram)
    }
}

fn join<'v, T: Scalar>(a: &'v [Vector<T>], b: &'v [Vector<T>], c: &'v [Vector<T>]) -> Vec<&'v Vector<T>> {
    a.iter().chain(b).chain(c).collect()
}

/// Coefficients of P' = [W P] Z − X' E: the part of the Ritz vectors outside X, made orthogonal to X' and orthonormal in
/// the metric of the Gram matrix `b`. Returns (Z, −E); nearly dependent directions are dropped.
fn directions(ritz: &Ritz, b: &Matrix, m: usize) -> Result<(Matrix, Matrix), SolveError> {
    let n = b.len();
    let c = &ritz.coefficients;
    let product =
        |left: &dyn Fn(usize, usize) -> f64, right: &dyn Fn(usize, usize) -> f64, rows: usize, columns: usize| {
            let mut out = vec![vec![0.0; columns]; rows];
            for (i, row) in out.iter_mut().enumerate() {
                for (j, value) in row.iter_mut().enumerate() {
                    *value = (0..n).map(|l| left(i, l) * right(l, j)).sum();
                }
            }
            out
        };
    let outside = |l: usize, j: usize| if l < m { 0.0 } else { c[l][j] };
    let b_outside = product(&|i, l| b[i][l], &outside, n, m);
    // E = X'ᵀ (outside), in the metric of b.
    let e = product(&|i, l| c[l][i], &|l, j| b_outside[l][j], m, m);
    let left = |l: usize, j: usize| outside(l, j) - (0..m).map(|i| c[l][i] * e[i][j]).sum::<f64>();
    let d: Matrix = (0..n).map(|l| (0..m).map(|j| left(l, j)).collect()).collect();
    let b_d = product(&|i, l| b[i][l], &|l, j| d[l][j], n, m);
    let metric = product(&|i, l| d[l][i], &|l, j| b_d[l][j], m, m);
    // Whitening of the columns: the pencil (metric, metric) has the orthonormal combinations as Ritz vectors.
    let white = rayleigh_ritz(&metric, &metric, m)?.coefficients;
    let count = white.first().map_or(0, Vec::len);
    let times = |row: &dyn Fn(usize) -> f64, j: usize| (0..m).map(|i| row(i) * white[i][j]).sum::<f64>();
    let z = (m..n).map(|l| (0..count).map(|j| times(&|i| c[l][i], j)).collect()).collect();
    let minus_e = (0..m).map(|r| (0..count).map(|j| -times(&|i| e[r][i], j)).collect()).collect();
    Ok((z, minus_e))
}
