//! Levels that are known: all of a small sector, the lowest of a large one.
//!
//! In: a model, operators. Out: lines of a trace, each with ⟨n|A|n⟩ of its states.

use super::super::model::Model;
use super::super::response::{Action, LevelStates};
use super::super::solve::RunError;
use super::real_states::{RealStates, dot};
use super::samples::{SectorTrace, TraceLine};
use eigenforge_core::operator::{Charge, Operator, OperatorError, Product};
use eigenforge_runtime::solvers::symmetric_eigen;
use eigenforge_runtime::trace;
use num_complex::Complex64;

impl Model {
    /// The trace over the sector from all of its levels; `observables` are invariant under its symmetry group.
    ///
    /// # Errors
    /// More than 8,192 elements of a vector; an operator that the sites do not have.
    pub fn whole_trace(&self, observables: &[Operator]) -> Result<SectorTrace, RunError> {
        let _whole = trace::span("thermal", "a dense sector");
        // Without observables any basis will do.
        let gauged = observables.is_empty() && self.symmetric().is_none();
        let states = RealStates::new(if gauged { self.in_real_gauge() } else { self });
        let n = states.model.dimension() as usize;
        let matrix: Vec<f64> = states.model.dense()?.iter().copied().collect();
        let (values, vectors) = symmetric_eigen(n, &matrix)?;
        // Of a complex H each level is there twice.
        let share = self.states() as f64 / n as f64;
        let parts: Vec<Operator> = observables.iter().map(|operator| self.part_within(operator)).collect();
        let actions = states.actions(&parts)?;
        let line = |(energy, vector): (&f64, &Vec<f64>)| {
            let amplitudes = if actions.is_empty() { Vec::new() } else { states.amplitudes(vector) };
            let mean = |action| share * dot(vector, &states.image(action, &amplitudes));
            TraceLine { energy: *energy, weight: share, values: actions.iter().map(mean).collect() }
        };
        let exact = values.iter().zip(&vectors).map(line).collect();
        Ok(SectorTrace { states: self.states(), exact, samples: Vec::new() })
    }

    /// The part of an operator that leaves the charges of the sector as they are.
    pub(super) fn part_within(&self, operator: &Operator) -> Operator {
        let (kinds, charges) = (self.site_kinds(), self.sector().charge_values());
        let operator = operator.clone().on_kinds(&kinds).reduced();
        let stays =
            |product: &[_]| charges.iter().all(|(charge, _): &(Charge, i64)| charge.change_on(product, &kinds) == 0);
        let terms = operator.terms().filter(|(product, _)| stays(product));
        let terms: Vec<(f64, Product)> = terms.map(|(product, times)| (times, product.to_vec())).collect();
        Operator::recorded(&terms, operator.two_s(), kinds.len(), Vec::new()).on_kinds(&kinds)
    }

    /// Lines of a trace of levels that are known.
    pub(super) fn known_lines(
        &self,
        levels: &[LevelStates],
        observables: &[Operator],
    ) -> Result<Vec<TraceLine>, OperatorError> {
        let actions = observables.iter().map(|operator| Action::new(operator, self, self));
        let actions: Vec<Action<'_>> = actions.collect::<Result<_, _>>()?;
        let line = |level: &LevelStates| {
            let mean = |action: &Action<'_>| level.states.iter().map(|own| inner(own, &action.applied(own))).sum();
            let (energy, values) = (level.energy, actions.iter().map(mean).collect());
            TraceLine { energy, weight: level.states.len() as f64, values }
        };
        Ok(levels.iter().map(line).collect())
    }

    /// A vector as complex amplitudes.
    pub(in super::super) fn amplitudes(&self, vector: &[f64]) -> Vec<Complex64> {
        match self.is_complex() {
            true => {
                let (re, im) = vector.split_at(vector.len() / 2);
                re.iter().zip(im).map(|(re, im)| Complex64::new(*re, *im)).collect()
            }
            false => vector.iter().map(|re| Complex64::new(*re, 0.0)).collect(),
        }
    }

    /// Complex amplitudes as a vector; of a real H their real parts.
    pub(super) fn real_vector(&self, amplitudes: &[Complex64]) -> Vec<f64> {
        let re = amplitudes.iter().map(|a| a.re);
        if self.is_complex() { re.chain(amplitudes.iter().map(|a| a.im)).collect() } else { re.collect() }
    }
}

/// Re ⟨a|b⟩.
pub(super) fn inner(a: &[Complex64], b: &[Complex64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a.conj() * b).re).sum()
}
