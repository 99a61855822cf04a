//! The states in which a sector has random vectors: its own, or where it is complex and has such those that are their own conjugates.
//!
//! In: a model in its sector. Out: vectors there, amplitudes of its own states, operators from these to vectors there. In states that are their
//! own conjugates H is real, and vectors have half the length. An operator A need not be real: A|r⟩ has a real and an imaginary part, and of
//! Tr f(H) A for a Hermitian A the second has no share.

use super::super::model::Model;
use super::super::response::{Action, LevelStates};
use super::random::normal;
use eigenforge_core::operator::{Operator, OperatorError};
use num_complex::Complex64;
use rayon::prelude::*;

/// A sector, and the model of its vectors.
#[derive(Clone, Copy)]
pub(super) struct RealStates<'m> {
    sector: &'m Model,
    /// The model of the vectors.
    pub(super) model: &'m Model,
}

impl<'m> RealStates<'m> {
    pub(super) fn new(sector: &'m Model) -> RealStates<'m> {
        RealStates { sector, model: sector.in_own_conjugates() }
    }

    /// The amplitudes of a vector in the sector's own states.
    pub(super) fn amplitudes(&self, vector: &[f64]) -> Vec<Complex64> {
        self.sector.amplitudes_of(vector)
    }

    /// Operators, prepared for amplitudes of the sector's own states.
    pub(super) fn actions(&self, operators: &[Operator]) -> Result<Vec<Action<'m>>, OperatorError> {
        operators.iter().map(|operator| Action::new(operator, self.sector, self.model)).collect()
    }

    /// The vector of what an operator has made of such amplitudes.
    pub(super) fn image(&self, action: &Action<'_>, amplitudes: &[Complex64]) -> Vec<f64> {
        self.model.real_vector(&action.applied(amplitudes))
    }

    /// The directions of the states of levels among vectors, orthonormal: of a complex H also those of i times the states.
    pub(super) fn directions(&self, levels: &[LevelStates]) -> Result<Vec<Vec<f64>>, OperatorError> {
        let moved = !std::ptr::eq(self.sector, self.model);
        let identity = moved.then(|| Action::new(&(Operator::zero() + 1.0), self.sector, self.model)).transpose()?;
        let mut found = Vec::new();
        for level in levels {
            let parts = level.states.iter().flat_map(|state| self.parts(identity.as_ref(), state)).collect();
            let states = if self.model.is_complex() { 2 * level.states.len() } else { level.states.len() };
            found.extend(longest(parts, states));
        }
        Ok(found)
    }

    /// A random vector of length 1 without the directions that are taken.
    pub(super) fn random(&self, seed: u64, taken: &[Vec<f64>]) -> Vec<f64> {
        let mut vector = normal(seed, self.model.dimension() as usize);
        // The second time takes out what rounding has left.
        taken.iter().chain(taken).for_each(|direction| take_out(&mut vector, direction));
        normalise(&mut vector);
        vector
    }

    /// The real and the imaginary part of a state; of a complex H the state and i times it.
    fn parts(&self, identity: Option<&Action<'_>>, state: &[Complex64]) -> [Vec<f64>; 2] {
        let moved = identity.map(|identity| identity.applied(state));
        let own = moved.as_deref().unwrap_or(state);
        let turned: Vec<Complex64> = own.iter().map(|a| -Complex64::I * a).collect();
        [self.model.real_vector(own), self.model.real_vector(&turned)]
    }
}

/// So many orthonormal combinations of vectors that span no more: what is longest beside those before, one after the other.
fn longest(mut vectors: Vec<Vec<f64>>, count: usize) -> Vec<Vec<f64>> {
    let mut found: Vec<Vec<f64>> = Vec::new();
    for _ in 0..count {
        let norm = |vector: &Vec<f64>| dot(vector, vector);
        let Some(place) = (0..vectors.len()).max_by(|a, b| norm(&vectors[*a]).total_cmp(&norm(&vectors[*b]))) else {
            break;
        };
        let mut next = vectors.swap_remove(place);
        normalise(&mut next);
        vectors.iter_mut().for_each(|vector| take_out(vector, &next));
        found.push(next);
    }
    found
}

/// Takes a direction out of a vector.
fn take_out(vector: &mut [f64], direction: &[f64]) {
    let overlap = dot(direction, vector);
    vector.par_iter_mut().zip(direction).with_min_len(1 << 14).for_each(|(v, own)| *v -= overlap * own);
}

fn normalise(vector: &mut [f64]) {
    let length = dot(vector, vector).sqrt();
    vector.par_iter_mut().with_min_len(1 << 14).for_each(|v| *v /= length);
}

/// Σ a b, in parts of the same length whatever the threads.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let parts = a.par_chunks(1 << 14).zip(b.par_chunks(1 << 14));
    let sums: Vec<f64> = parts.map(|(a, b)| a.iter().zip(b).map(|(a, b)| a * b).sum()).collect();
    sums.iter().sum()
}
