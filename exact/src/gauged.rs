//! A complex H in a gauge in which it is real.
//!
//! Solvers then work on vectors of half the length, with real kernels; energies are the same, and states, averages and vectors keep the
//! user's phases.
//!
//! In: a model. Out: the same model with real coefficients, and the way back; none if H is real as it is, or if a flux is left that
//! no gauge removes ([`eigenforge_core::operator`], `gauge.rs`).

use super::model::Model;
use eigenforge_core::observable::Observable;
use eigenforge_core::operator::{Gauge, OperatorError, Word};
use eigenforge_runtime::Scalar;
use rayon::prelude::*;

/// A model in another gauge.
#[derive(Debug)]
pub(super) struct Gauged {
    /// The real model.
    pub model: Model,
    gauge: Gauge,
}

impl Gauged {
    pub(super) fn new(model: &Model) -> Option<Gauged> {
        let (gauge, operator) = Gauge::find(model.operator())?;
        // Without the angles, so that models that differ in them share a text.
        let remark = "H is real here: a gauge has removed the phases of the model".to_string();
        Some(Gauged { model: model.rewritten(operator, remark).ok()?, gauge })
    }

    /// How the states of the real model become the user's.
    pub(crate) fn gauge(&self) -> &Gauge {
        &self.gauge
    }

    /// An observable in the gauge of the real model.
    pub(super) fn observable(&self, user: &Model, observable: &Observable) -> Result<Observable, OperatorError> {
        let reduced = observable.reduced(&user.site_kinds())?;
        let operators = reduced.iter().map(|operator| self.gauge.real_part(operator)).collect();
        Ok(Observable { operators, ..observable.clone() })
    }

    /// A vector of the real model as one of the user's: all real parts, then all imaginary parts.
    pub(super) fn vector<T: Scalar>(&self, user: &Model, vector: &[T]) -> Vec<T> {
        let (basis, digits) = (self.model.basis(), user.basis().configuration(0).len() - 1);
        // Electrons with a basis of their own have all up modes first.
        let places: Vec<usize> = match basis.word() {
            Word::Fermions { sites } => (0..digits).map(|digit| digit % 2 * sites + digit / 2).collect(),
            _ => (0..digits).collect(),
        };
        let element = |index: usize| {
            let state = user.basis().configuration(index as u64);
            let mut there = vec![0; digits];
            places.iter().zip(&state).for_each(|(place, value)| there[*place] = *value);
            let phase = self.gauge.phase(&state[..digits]);
            // Both models have the same states.
            let value = basis.index_of(&there).map_or(f64::NAN, |place| vector[place as usize].to_f64());
            T::from_f64(value * if state[digits] == 0 { phase.re } else { phase.im })
        };
        (0..2 * vector.len()).into_par_iter().map(element).collect()
    }
}
