//! Averages of observables in a multiplet of a model's sector.
//!
//! All are averages over an orthonormal basis of the multiplet (trace / g), so they do not depend on which vectors of a
//! degenerate level a solver happened to return. Units: ħ = 1, S = σ/2. What is computed of the vectors is averages of products,
//! by [`super::averages`].

use super::averages;
use super::model::Model;
use eigenforge_core::basis::Sector;
use eigenforge_core::observable::{self, Averages, Evaluation, Observable};
use eigenforge_core::operator::{OperatorError, Product, SiteKind};
use eigenforge_product::PrepareError;
use eigenforge_runtime::{Device, Scalar, Vector};
use std::borrow::Cow;

/// Averages of observables over orthonormal vectors of the model's sector, on the host.
///
/// # Errors
/// A sector without tables; an operator on sites that the model does not have, or of another kind.
pub fn averages_on_host<T: Scalar>(
    model: &Model,
    multiplet: &[&[T]],
    observables: &[Observable],
) -> Result<Averages, OperatorError> {
    // In numbers of one type, so that what follows is compiled here, for speed, and not with each caller.
    fn wide<T: Scalar>(vector: &[T]) -> Cow<'_, [f64]> {
        let copied = || vector.iter().map(|value| value.to_f64()).collect();
        T::as_f64(vector).map_or_else(|| Cow::Owned(copied()), Cow::Borrowed)
    }
    let wide: Vec<Cow<'_, [f64]>> = multiplet.iter().map(|vector| wide(vector)).collect();
    let views: Vec<&[f64]> = wide.iter().map(|vector| &vector[..]).collect();
    averages_of_numbers(model, &views, observables)
}

#[inline(never)]
fn averages_of_numbers(
    model: &Model,
    multiplet: &[&[f64]],
    observables: &[Observable],
) -> Result<Averages, OperatorError> {
    evaluate(model, observables, |products| averages::on_host(model, multiplet, products))
}

/// Averages of observables over orthonormal vectors where they are: by generated kernels on a device that runs them.
///
/// # Errors
/// As of [`averages_on_host`]; a device that does not compile the kernels or has no room for their tables.
pub fn averages_of<T: Scalar>(
    model: &Model,
    multiplet: &[&Vector<T>],
    device: &Device,
    observables: &[Observable],
) -> Result<Averages, PrepareError> {
    let on_host: Option<Vec<&[T]>> = multiplet.iter().map(|vector| vector.as_host()).collect();
    match on_host {
        Some(slices) => Ok(averages_on_host(model, &slices, observables)?),
        None => evaluate(model, observables, |products| averages::on_device(model, multiplet, device, products, None)),
    }
}

/// Averages for which the host has made what it can before the states are known.
#[derive(Debug)]
pub(super) struct PreparedAverages {
    evaluation: Evaluation,
    prepared: Option<averages::Prepared>,
}

impl PreparedAverages {
    /// Of observables in states of a working model.
    ///
    /// # Errors
    /// A sector without tables; an operator that the model's sites do not have.
    pub(super) fn new(model: &Model, observables: &[Observable]) -> Result<PreparedAverages, OperatorError> {
        let charges = model.sector().charges();
        let evaluation = Evaluation::new(observables, &model.site_kinds(), &charges, model.has_complex_states())?;
        let prepared = averages::Prepared::new(model, evaluation.products())?;
        Ok(PreparedAverages { evaluation, prepared })
    }

    /// The averages over orthonormal vectors on a device that runs kernels, of the observables that they were prepared for.
    ///
    /// # Errors
    /// As of [`averages_of`].
    pub(super) fn averages<T: Scalar>(
        &self,
        model: &Model,
        multiplet: &[&Vector<T>],
        device: &Device,
        observables: &[Observable],
    ) -> Result<Averages, PrepareError> {
        let products = self.evaluation.products();
        let values = averages::on_device(model, multiplet, device, products, self.prepared.as_ref())?;
        Ok(self.evaluation.averages(observables, &values))
    }
}

fn evaluate<E: From<OperatorError>>(
    model: &Model,
    observables: &[Observable],
    average: impl FnOnce(&[Product]) -> Result<Vec<f64>, E>,
) -> Result<Averages, E> {
    observable::evaluate(
        observables,
        &model.site_kinds(),
        &model.sector().charges(),
        model.has_complex_states(),
        average,
    )
}

impl Model {
    /// What each of its sites carries.
    pub fn site_kinds(&self) -> Vec<SiteKind> {
        let kind = match self.sector() {
            Sector::Fermions { .. } => SiteKind::Electrons,
            Sector::Spins { .. } => SiteKind::Moments { two_s: self.operator().two_s() },
            Sector::Charges(_) | Sector::Flavours(_) => return self.operator().kinds_or_implied(),
        };
        vec![kind; self.sites()]
    }

    /// The observables that every run reports: those of sites and of pairs of sites.
    pub fn standard_observables(&self) -> Vec<Observable> {
        let kinds = self.site_kinds();
        let mut list = observable::sites(&kinds);
        list.extend(observable::pairs(&kinds));
        list
    }
}
