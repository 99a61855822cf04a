//! Several states from one basis on a device (Davidson–Liu): as [`HostDavidson::solve_together`](super::super::HostDavidson) in one column at
//! a time.
//!
//! The start vectors of all states are columns of V from the beginning. Then one state after the other, the lowest first, adds its corrections
//! until its residual is short; what they say of the other states is there already when their turn comes. A state whose eigenvalue moves
//! later, because another came below it, has its turn again, and at the end the residuals of all states are looked at in the last basis. A full basis
//! restarts from the lowest Ritz vectors, twice as many as there are states.

use super::super::block::{START_SEEDS, has_room};
use super::super::{DavidsonLimits, DavidsonResult, Next};
use super::{DeviceDavidson, Place};
use crate::error::BackendError;
use crate::records::card::RecordsMultiply;
use crate::residency::PoolBuffer;
use crate::seeded;
use crate::trace;
use eigenforge_templates::eigen::{DavidsonNumbers, Extent};

/// One state of a search.
#[derive(Clone, Copy)]
struct State {
    /// Its eigenvalue, and the basis vectors by then, when its residual was last looked at.
    seen: Option<(f64, usize)>,
    /// ‖Hx − λx‖ then.
    norm: f64,
    /// Whether it adds no more corrections.
    is_done: bool,
}

/// One search.
struct Together<'a, 'm> {
    kernels: &'a mut DeviceDavidson,
    multiply: &'a mut RecordsMultiply<'m>,
    diagonal: &'a PoolBuffer,
    v: PoolBuffer,
    w: PoolBuffer,
    place: Place,
    /// Columns of V for the vectors to stay orthogonal to.
    below: usize,
    /// Columns of the search.
    width: usize,
    /// Products so far, which also tell one basis from another.
    products: usize,
}

impl DeviceDavidson {
    /// Replaces `vectors` by the lowest eigenvectors among the vectors orthogonal to `against`, ascending. `None` if the basis has no room
    /// for so many; then nothing is changed.
    pub(crate) fn solve_together(
        &mut self,
        multiply: &mut RecordsMultiply<'_>,
        diagonal: &PoolBuffer,
        vectors: &mut [&mut PoolBuffer],
        limits: DavidsonLimits,
        against: &[&PoolBuffer],
    ) -> Result<Option<Vec<DavidsonResult>>, BackendError> {
        let (n, states) = (diagonal.len(), vectors.len());
        let place = self.place(n, against.len());
        let complete = n.saturating_sub(against.len());
        // The whole space has room wherever it fits.
        let room = if place.columns >= n { usize::MAX } else { place.columns.saturating_sub(against.len()) };
        if complete < states || !has_room(room, states) {
            return Ok(None);
        }
        let (mut v, w) = self.memory(place)?;
        let below = self.place_below(place.empty(), &mut v, against)?;
        let mut search = Together { kernels: self, multiply, diagonal, v, w, place, below, width: 0, products: 0 };
        let found = search.run(vectors, limits);
        let Together { v, w, .. } = search;
        self.pool.park([v, w]);
        found
    }
}

impl Together<'_, '_> {
    fn search_columns(&self) -> Extent {
        Extent { width: self.width, below: self.below, ..self.place.empty() }
    }

    fn all(&self) -> Extent {
        Extent { width: self.below + self.width, ..self.place.empty() }
    }

    /// Makes the column behind the others one of the search: its product, the new row of G and the eigenpairs.
    fn grow(&mut self) -> Result<(), BackendError> {
        let stride = self.place.stride;
        let product = self.kernels.device.span("dmrg", "product with H");
        self.kernels.clock.begin(self.multiply.flops())?;
        self.multiply.run(&self.v, (self.below + self.width) * stride, &mut self.w, self.width * stride)?;
        self.kernels.clock.end()?;
        drop(product);
        (self.width, self.products) = (self.width + 1, self.products + 1);
        Ok(self.kernels.project(self.search_columns(), &self.v, &self.w)?)
    }

    /// The start vectors as columns; random ones in place of those that depend on others.
    fn begin(&mut self, vectors: &mut [&mut PoolBuffer]) -> Result<bool, BackendError> {
        for vector in vectors.iter_mut() {
            if self.kernels.place_one(self.all(), &mut self.v, vector)? {
                self.grow()?;
            }
        }
        for seed in START_SEEDS {
            if self.width >= vectors.len() {
                break;
            }
            let mut random = self.kernels.pool.upload(&seeded::vector(self.place.n, seed))?;
            if self.kernels.place_one(self.all(), &mut self.v, &mut random)? {
                self.grow()?;
            }
        }
        Ok(self.width >= vectors.len())
    }

    /// The residual of a state, and what comes next for it. `scratch` takes the correction.
    fn iterate(
        &mut self,
        state: usize,
        (next, kept): (Next, usize),
        scratch: &mut PoolBuffer,
    ) -> Result<DavidsonNumbers, BackendError> {
        let own = self.search_columns();
        let vectors = self.kernels.device.span("dmrg", "vectors of Davidson");
        let scratch = scratch.vector_mut();
        self.kernels.correct(own, &self.v, &self.w, (self.diagonal.vector(), state), scratch)?;
        if next == Next::Restart {
            self.kernels.restart(own, &mut self.v, &mut self.w, kept)?;
            self.width = kept;
        }
        if next != Next::Nothing {
            self.kernels.orthogonalise(self.all(), &self.v, scratch)?;
            self.kernels.append(self.all(), &mut self.v, scratch)?;
        }
        drop(vectors);
        let _waiting = trace::span("dmrg", "wait for the device");
        let numbers = self.kernels.read_numbers()?;
        self.kernels.clock.read()?;
        Ok(numbers)
    }

    fn run(
        &mut self,
        vectors: &mut [&mut PoolBuffer],
        limits: DavidsonLimits,
    ) -> Result<Option<Vec<DavidsonResult>>, BackendError> {
        let count = vectors.len();
        if !self.begin(vectors)? {
            return Ok(None);
        }
        let complete = self.place.n.saturating_sub(self.below);
        let most = self.place.columns.saturating_sub(self.below);
        let kept = (2 * count).min(most - 1);
        let mut states = vec![State { seen: None, norm: f64::INFINITY, is_done: false }; count];
        let mut is_last = false;
        // The next state that is not done; if there is none, one whose residual is of an earlier basis.
        let next_of = |states: &[State], products: usize| {
            let open = states.iter().position(|state| !state.is_done);
            open.or_else(|| states.iter().position(|state| state.seen.is_none_or(|(_, then)| then != products)))
        };
        let mut values = Vec::new();
        while let Some(k) = next_of(&states, self.products) {
            is_last |= self.products >= limits.products.saturating_mul(count) || self.width >= complete;
            let next = match self.width {
                _ if is_last => Next::Nothing,
                width if width >= most => Next::Restart,
                _ => Next::Wider,
            };
            let numbers = self.iterate(k, (next, kept), vectors[0])?;
            values = numbers.values;
            let norm = numbers.residual_squared.sqrt();
            is_last |= !norm.is_finite();
            // A state that appears below others moves them up.
            for (state, value) in states.iter_mut().zip(&values) {
                let has_moved = state.seen.is_some_and(|(then, _)| (value - then).abs() > limits.tolerance);
                state.is_done &= !has_moved || is_last;
            }
            let is_done = limits.end_at(norm, &[]) || is_last || numbers.is_exhausted;
            states[k] = State { seen: Some((values[k], self.products)), norm, is_done };
            if !is_done {
                self.grow()?;
            }
        }
        let own = self.search_columns();
        for (k, vector) in vectors.iter_mut().enumerate() {
            self.kernels.combine(own, &self.v, vector.vector_mut(), k)?;
        }
        let shares = |k: usize| self.products / count + usize::from(k < self.products % count);
        let found = |k: usize| DavidsonResult {
            value: values[k],
            residual: states[k].norm,
            products: shares(k),
            first: f64::NAN,
        };
        Ok(Some((0..count).map(found).collect()))
    }
}
