//! Thick restart with full reorthogonalisation, for several states (Wu and Simon 2000).
//!
//! In: the number k of states. Out: their Ritz vectors. The basis is filled to m vectors, the lowest Ritz vectors are kept
//! with the last residual direction, and so on. Where restarts gain little, as with levels that are close in a wide spectrum, the
//! basis grows while memory has room: what a restart forgets is what separates them.

use super::super::checkpoint::Saver;
use super::super::ritz::symmetric_eigen;
use super::super::run::Main;
use super::super::run::Run;
use super::super::{SolveOptions, SolvePhase, StopReason};
use crate::device::Vector;
use crate::error::SolveError;
use crate::operator::LinearOperator;
use crate::scalar::Scalar;
use crate::trace;
use faer::Mat;

/// Sizes of a basis.
#[derive(Clone, Copy)]
struct Sizes {
    /// Its vectors.
    full: usize,
    /// The Ritz vectors that a restart keeps: enough for the Krylov space between restarts to separate close levels.
    kept: usize,
}

impl Sizes {
    /// The first sizes for k states. A basis that spans the whole space is never restarted.
    fn first(states: usize, dimension: usize) -> Sizes {
        Sizes::new((2 * states + 16).max(24), states, dimension)
    }

    fn new(full: usize, states: usize, dimension: usize) -> Sizes {
        let full = full.min(dimension);
        Sizes { full, kept: (states + full.saturating_sub(states) / 3).min(full.saturating_sub(2)).max(states) }
    }

    /// Sizes for a restart that keeps `kept` vectors at least.
    fn restored(self, kept: usize, states: usize, dimension: usize) -> Sizes {
        let full = (states + 3 * kept.saturating_sub(states)).max(kept + 1);
        Sizes::new(full.max(self.full), states, dimension)
    }

    /// The basis, the next direction, and room for a restart.
    fn vectors(self) -> usize {
        self.full + 1 + self.kept
    }
}

/// A next direction shorter than this, in units of the norm, has lost its orthogonality to rounding when normalised.
const SHORT: f64 = 1e-6;
/// The largest basis per state, and beside all: every vector of it costs passes in every step.
const MOST_PER_STATE: usize = 4;
const MOST: usize = 192;
/// A restart that leaves more than this part of the residual makes the basis grow by a half.
const SLOW: f64 = 0.5;
/// Restarts without a lower residual or value after which the search has stagnated.
const PATIENCE: usize = 40;

/// Number of vectors of the thick restart.
pub(in super::super) fn thick_vectors(states: usize, dimension: usize) -> usize {
    Sizes::first(states, dimension).vectors()
}

/// A search in progress.
struct Thick<'a, T: Scalar> {
    run: &'a Run<'a, T>,
    operator: &'a dyn LinearOperator<T>,
    sizes: Sizes,
    /// The basis and, behind `filled` vectors of it, the next direction.
    v: Vec<Vector<T>>,
    /// Takes the Ritz vectors at a restart.
    spare: Vec<Vector<T>>,
    projected: Mat<f64>,
    filled: usize,
    steps: usize,
    /// The length of the next direction.
    beta: f64,
    /// Whether memory had no room for a larger basis.
    is_cramped: bool,
    /// Energies and the largest residual of the last restart, for lines of progress.
    shown: (Vec<f64>, f64),
}

/// The eigenpairs of the projected matrix.
struct Ritz {
    values: Vec<f64>,
    vectors: Mat<f64>,
    /// Residual norms of the states asked for.
    residuals: Vec<f64>,
}

/// The `k` lowest states.
pub(super) fn thick_restart<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
    saver: &mut Saver,
) -> Result<Main<T>, SolveError> {
    let k = run.options.states;
    let mut search = Thick::begin(run, operator, saver)?;
    let (mut history, mut best, mut best_value, mut idle) = (Vec::new(), f64::INFINITY, f64::INFINITY, 0);
    loop {
        search.fill(saver)?;
        let ritz = search.ritz()?;
        let worst = ritz.residuals.iter().fold(0.0f64, |a, r| a.max(*r));
        history.push((search.steps, ritz.values[0], ritz.residuals[0]));
        let tolerance = run.resolving(&ritz.values, k);
        let converged = worst <= (0.5 * tolerance).max(run.floor());
        run.progress(SolvePhase::Lanczos, search.steps, &ritz.values[..k], worst, converged);
        search.shown = (ritz.values[..k].to_vec(), worst);
        let value: f64 = ritz.values[..k].iter().sum();
        let gains = best_value - value > 8.0 * T::EPSILON * run.norm * k as f64;
        idle = if worst < 0.9 * best || gains { 0 } else { idle + 1 };
        let is_slow = worst > SLOW * best;
        (best, best_value) = (best.min(worst), best_value.min(value));
        let stop = match () {
            () if converged && worst <= run.tolerance => Some(StopReason::Converged),
            () if converged || idle >= PATIENCE => Some(StopReason::Stagnated),
            () if search.steps >= run.options.max_iterations => Some(StopReason::MaxIterations),
            () => None,
        };
        if let Some(stop) = stop {
            let (steps, few_vectors) = (search.steps, search.is_cramped);
            let vectors = search.states(&ritz)?;
            let (gap, values) = (run.gap(&ritz.values, k), ritz.values[..k].to_vec());
            let main = Main::new(values, vectors, (steps, stop), history);
            return Ok(Main { gap, few_vectors, ..main });
        }
        if is_slow {
            search.grow();
        }
        search.restart(&ritz)?;
        if saver.due()? {
            search.save(saver)?;
        }
    }
}

impl<'a, T: Scalar> Thick<'a, T> {
    /// A random vector, or what was saved.
    fn begin(
        run: &'a Run<'a, T>,
        operator: &'a dyn LinearOperator<T>,
        saver: &mut Saver,
    ) -> Result<Thick<'a, T>, SolveError> {
        let (n, options) = (operator.dimension(), run.options);
        let saved = saver.take_resumed().filter(|saved| !saved.vectors.is_empty());
        let first = Sizes::first(options.states, n);
        // The kept Ritz vectors and the next direction of a basis that may have grown.
        let sizes = saved.as_ref().map_or(first, |saved| first.restored(saved.vectors.len() - 1, options.states, n));
        run.plan_memory(operator, "thick-restart Lanczos", sizes.vectors(), "")?;
        let projected = Mat::zeros(sizes.full, sizes.full);
        let (v, spare) = (Vec::new(), Vec::new());
        let mut search = Thick {
            run,
            operator,
            sizes,
            v,
            spare,
            projected,
            filled: 0,
            steps: 0,
            beta: 0.0,
            is_cramped: false,
            shown: (Vec::new(), f64::NAN),
        };
        search.allocate(sizes)?;
        match saved {
            None => {
                operator.device().fill_random(&mut search.v[0], options.seed)?;
                run.algebra.orthonormalise(&mut search.v[0], &[])?;
            }
            Some(saved) => {
                search.steps = saved.iteration;
                let kept = saved.vectors.len() - 1;
                search.v.iter_mut().zip(&saved.vectors).try_for_each(|(vector, saved)| saved.restore(vector))?;
                let (values, couplings) = saved.scalars.split_at(kept.min(saved.scalars.len()));
                search.begin_behind(values, couplings);
            }
        }
        Ok(search)
    }

    /// Memory for these sizes.
    fn allocate(&mut self, sizes: Sizes) -> Result<(), SolveError> {
        let (device, n) = (self.operator.device(), self.operator.dimension());
        for (list, count) in [(&mut self.v, sizes.full + 1), (&mut self.spare, sizes.kept)] {
            while list.len() < count {
                list.push(device.zeros::<T>(n)?);
            }
        }
        self.sizes = sizes;
        Ok(())
    }

    /// A basis half as large again, if memory has room.
    fn grow(&mut self) {
        let (k, n) = (self.run.options.states, self.operator.dimension());
        let most = MOST.max(MOST_PER_STATE * k);
        let sizes = Sizes::new((self.sizes.full + self.sizes.full / 2).min(most), k, n);
        let more = sizes.vectors().saturating_sub(self.v.len() + self.spare.len());
        if more == 0 {
            return;
        }
        let refused = match self.run.spare(self.operator, 0) < more {
            true => Some("the memory is full".into()),
            false => self.allocate(sizes).err().map(|refused| refused.to_string()),
        };
        if let Some(refused) = refused {
            self.is_cramped = true;
            tracing::debug!("the basis stays at {} vectors: {refused}", self.sizes.full);
        }
    }

    /// The projected matrix of kept Ritz vectors, coupled to the next direction.
    fn begin_behind(&mut self, values: &[f64], couplings: &[f64]) {
        let kept = values.len();
        self.projected = Mat::zeros(self.sizes.full, self.sizes.full);
        for (j, (value, coupling)) in values.iter().zip(couplings).enumerate() {
            self.projected[(j, j)] = *value;
            self.projected[(j, kept)] = *coupling;
            self.projected[(kept, j)] = *coupling;
        }
        self.filled = kept;
    }

    /// Fills the basis. A signal is handled at a restart, which may come early once there is more than it keeps. The last allowed step
    /// ends it too, with one more vector than states at least.
    fn fill(&mut self, saver: &Saver) -> Result<(), SolveError> {
        let SolveOptions { states, max_iterations, .. } = *self.run.options;
        self.beta = 0.0;
        while self.filled < self.sizes.full
            && !(self.filled > self.sizes.kept && saver.is_interrupted()?)
            && !(self.filled > states && self.steps >= max_iterations)
        {
            self.step()?;
            // A sign of life between restarts, with what the last one found.
            self.run.progress(SolvePhase::Lanczos, self.steps, &self.shown.0, self.shown.1, false);
        }
        Ok(())
    }

    /// v[filled + 1] = A v[filled], orthogonal to everything before; its overlaps fill the matrix.
    fn step(&mut self) -> Result<(), SolveError> {
        let Thick { run, operator, filled, steps, .. } = *self;
        let (algebra, n) = (&run.algebra, operator.dimension());
        let (before, rest) = self.v.split_at_mut(filled + 1);
        let image = &mut rest[0];
        let alpha = run.apply(operator, &before[filled], image)?;
        self.projected[(filled, filled)] = run.finite(alpha, steps)?;
        let _orthogonalise = operator.device().span("solver", "orthogonalise");
        let basis: Vec<&Vector<T>> = before.iter().collect();
        for _ in 0..2 {
            let c: Vec<Vec<f64>> = algebra.gram(&basis, &[image])?.iter().map(|r| vec![-r[0]]).collect();
            algebra.combine(std::slice::from_mut(image), &basis, &c, true)?;
        }
        let mut beta = algebra.dot(image, image)?.sqrt();
        if filled + 1 == n {
            // The whole space: there is no next direction.
            beta = 0.0;
        } else if beta <= run.floor() {
            // An invariant space: continue with a new, uncoupled direction.
            beta = 0.0;
            operator.device().fill_random(image, run.options.seed.wrapping_add(78 + steps as u64))?;
            algebra.orthonormalise(image, &basis)?;
        } else {
            algebra.scale(image, 1.0 / beta)?;
            if beta <= SHORT * run.norm {
                algebra.orthonormalise(image, &basis)?;
            }
        }
        (self.steps, self.filled, self.beta) = (steps + 1, filled + 1, beta);
        if self.filled < self.sizes.full {
            self.projected[(self.filled, filled)] = beta;
            self.projected[(filled, self.filled)] = beta;
        }
        Ok(())
    }

    fn ritz(&self) -> Result<Ritz, SolveError> {
        let _small = trace::span("solver", "small problem");
        let m = self.filled;
        let (values, vectors) = symmetric_eigen(&self.projected.submatrix(0, 0, m, m).to_owned())?;
        let residual = |j: usize| (self.beta * vectors[(m - 1, j)]).abs();
        let residuals = (0..self.run.options.states).map(residual).collect();
        Ok(Ritz { values, vectors, residuals })
    }

    /// The `count` lowest Ritz vectors, in `spare`.
    fn combine(&mut self, ritz: &Ritz, count: usize) -> Result<(), SolveError> {
        let m = self.filled;
        let c: Vec<Vec<f64>> = (0..m).map(|i| (0..count).map(|j| ritz.vectors[(i, j)]).collect()).collect();
        let basis: Vec<&Vector<T>> = self.v[..m].iter().collect();
        Ok(self.run.algebra.combine(&mut self.spare[..count], &basis, &c, false)?)
    }

    /// The states asked for.
    fn states(mut self, ritz: &Ritz) -> Result<Vec<Vector<T>>, SolveError> {
        let k = self.run.options.states;
        self.combine(ritz, k)?;
        self.spare.truncate(k);
        Ok(self.spare)
    }

    /// The lowest Ritz vectors and the next direction in place of the basis.
    fn restart(&mut self, ritz: &Ritz) -> Result<(), SolveError> {
        let (m, kept) = (self.filled, self.sizes.kept.min(self.filled));
        self.combine(ritz, kept)?;
        for (to, from) in self.v.iter_mut().zip(&mut self.spare[..kept]) {
            std::mem::swap(to, from);
        }
        self.v.swap(kept, m);
        let couplings: Vec<f64> = (0..kept).map(|j| self.beta * ritz.vectors[(m - 1, j)]).collect();
        self.begin_behind(&ritz.values[..kept], &couplings);
        Ok(())
    }

    /// Saves what a restart kept.
    fn save(&self, saver: &mut Saver) -> Result<(), SolveError> {
        let kept = self.filled;
        let values = (0..kept).map(|j| self.projected[(j, j)]);
        let couplings = (0..kept).map(|j| self.projected[(j, kept)]);
        let scalars: Vec<f64> = values.chain(couplings).collect();
        saver.save("lanczos", self.steps, &scalars, &self.v[..=kept].iter().collect::<Vec<_>>())
    }
}
