//! The model that solvers work on: the user's, made real where that can be, with sites in an order that suits the multiply.
//!
//! A complex H is made real by a gauge, a complex symmetry sector of a real H by states that are their own conjugates. A symmetry sector
//! of electrons has its states in the order of strings where it is multiplied by them.
//!
//! In: a model. Out: the one to solve, observables for its states, and its vectors as the user's. Each step is found when it is first
//! wanted, and left out where it changes nothing ([`super::gauged`], [`super::renumber`], [`super::symmetric`]).

use super::gauged::Gauged;
use super::model::Model;
use super::renumber::Renumbered;
use super::symmetric::{ByStrings, Conjugated, SymmetricSector};
use eigenforge_core::observable::Observable;
use eigenforge_core::operator::OperatorError;
use eigenforge_runtime::Scalar;
use num_complex::Complex64;
use std::sync::Arc;

impl Model {
    /// The model that solvers work on: this one, or the same in a gauge in which H is real and with sites, or the states of a symmetry
    /// sector, in an order that suits the multiply.
    pub fn working(&self) -> &Model {
        let real = self.in_real_gauge();
        real.renumbered().map_or_else(|| real.by_strings(), |renumbered| &renumbered.model)
    }

    /// The same symmetry sector with its states in the order of strings, where it is multiplied by them, or as pairs of strings.
    pub(super) fn by_strings(&self) -> &Model {
        self.ordered_by_strings().map_or(self, |ordered| &ordered.model)
    }

    /// The model in whose states averages are taken: [`Model::working`], or where its states are pairs of strings that without the symmetry.
    pub(super) fn averaged(&self) -> &Model {
        self.ordered_by_strings().map_or_else(|| self.working(), ByStrings::averaged)
    }

    /// A solver's vector as one of [`Model::averaged`]; `None` where it is one.
    pub(super) fn to_average<T: Scalar>(&self, vector: &[T]) -> Option<Vec<T>> {
        self.ordered_by_strings()?.to_average(vector)
    }

    /// Whether a solver's vectors may be in another order than the basis of [`Model::averaged`].
    pub(super) fn has_own_order(&self) -> bool {
        self.ordered_by_strings().is_some()
    }

    fn ordered_by_strings(&self) -> Option<&ByStrings> {
        let in_this_order = self.symmetric().is_none_or(SymmetricSector::is_by_species);
        let new = || if in_this_order { None } else { ByStrings::new(self).map(Arc::new) };
        self.found.in_strings.get_or_init(new).as_deref()
    }

    /// The same in a gauge, or in states of a symmetry sector, in which H is real, if there are any; its vectors are as long as those of
    /// [`Model::working`].
    pub fn in_real_gauge(&self) -> &Model {
        let gauged = self.gauged().map(|gauged| &gauged.model);
        gauged.or_else(|| self.conjugated().map(|conjugated| &conjugated.model)).unwrap_or(self)
    }

    /// The same symmetry sector in states that are their own conjugates, where it is complex and has such: vectors are real ones of half the
    /// length.
    pub fn in_own_conjugates(&self) -> &Model {
        self.conjugated().map_or(self, |conjugated| &conjugated.model)
    }

    /// A vector of [`Model::in_own_conjugates`] as complex amplitudes.
    pub(super) fn amplitudes_of(&self, vector: &[f64]) -> Vec<Complex64> {
        match self.conjugated() {
            Some(conjugated) => conjugated.amplitudes(self, vector),
            None => self.amplitudes(vector),
        }
    }

    /// Sectors that are multiplied by strings stay as they are.
    fn conjugated(&self) -> Option<&Conjugated> {
        let new = || if self.has_own_order() { None } else { Conjugated::new(self).map(Arc::new) };
        self.found.conjugated.get_or_init(new).as_deref()
    }

    /// Whether averages of states may be those of complex ones.
    pub(super) fn has_complex_states(&self) -> bool {
        self.is_complex() || self.is_in_own_conjugates()
    }

    /// Whether its states are their own conjugates.
    pub(super) fn is_in_own_conjugates(&self) -> bool {
        self.symmetric().is_some_and(|sector| sector.group().conjugates())
    }

    fn gauged(&self) -> Option<&Gauged> {
        // The elements of a symmetry group act on the user's states.
        let new = || if self.symmetric().is_some() { None } else { Gauged::new(self).map(Arc::new) };
        self.found.in_gauge.get_or_init(new).as_deref()
    }

    fn renumbered(&self) -> Option<&Renumbered> {
        self.found.in_order.get_or_init(|| Renumbered::new(self).map(Arc::new)).as_deref()
    }

    /// What a solver does about complex coefficients, if there are any.
    pub fn numbers(&self) -> Option<String> {
        let real = |gauged: &Gauged| {
            format!("real: a gauge removes the phases; states found there are multiplied by {}", gauged.gauge())
        };
        let why = if self.symmetric().is_some() {
            "characters of the symmetry sector or coefficients of H are complex"
        } else {
            "no gauge removes the phases"
        };
        let conjugated = |_: &Conjugated| {
            "real: states are their own conjugates, after an inversion or a mirror of the lattice".into()
        };
        let complex = || self.is_complex().then(|| format!("complex: {why}"));
        self.gauged().map(real).or_else(|| self.conjugated().map(conjugated)).or_else(complex)
    }

    /// Observables as they act on states of the working model.
    pub(super) fn working_observables(&self, observables: &[Observable]) -> Result<Vec<Observable>, OperatorError> {
        let mut list = observables.to_vec();
        if let Some(gauged) = self.gauged() {
            list = list.iter().map(|observable| gauged.observable(self, observable)).collect::<Result<_, _>>()?;
        }
        if let Some(renumbered) = self.in_real_gauge().renumbered() {
            list = list.iter().map(|observable| renumbered.observable(observable)).collect();
        }
        Ok(list)
    }

    /// A vector of the working model in the user's basis.
    pub(super) fn users_vector<T: Scalar>(&self, mut vector: Vec<T>) -> Vec<T> {
        let real = self.in_real_gauge();
        if let Some(renumbered) = real.renumbered() {
            vector = renumbered.vector(real, &vector);
        } else if let Some(ordered) = real.ordered_by_strings() {
            vector = ordered.vector(real, &vector);
        }
        match (self.gauged(), self.conjugated()) {
            (Some(gauged), _) => gauged.vector(self, &vector),
            (None, Some(conjugated)) => conjugated.vector(self, &vector),
            (None, None) => vector,
        }
    }
}
