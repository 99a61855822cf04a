//! What a solve of a model found: energies, vectors in the model's basis, averages.

use super::super::observables::PreparedAverages;
use super::super::{ShapeSource, averages_of};
use super::{Model, RunError};
use eigenforge_core::observable::{Averages, Observable};
use eigenforge_product::{Eigenstates, LevelPartners, PlannedChoice, RealImage};
use eigenforge_runtime::{Device, DeviceError, Scalar, SolveError, Vector, trace};
use num_complex::Complex64;
use std::ops::Deref;

/// The result of a solve: its [`Eigenstates`], whose vectors are in the order of the basis of [`Model::working`], or in that of
/// [`StringRows`](crate::StringRows) or [`PairRows`](crate::PairRows); with vectors in that of the model, and averages.
#[derive(Debug)]
pub struct Solution<'m, T: Scalar = f64> {
    pub(super) model: &'m Model,
    pub(super) states: Eigenstates<T>,
    /// Of a complex H: the other real vectors of each level.
    pub(super) partners: LevelPartners<T>,
    pub(super) shape: String,
    pub(super) way: &'static str,
    pub(super) source: ShapeSource,
    /// The announced observables, and what their averages need.
    pub(super) prepared: Option<(Vec<Observable>, PreparedAverages)>,
}

impl<T: Scalar> Deref for Solution<'_, T> {
    type Target = Eigenstates<T>;

    fn deref(&self) -> &Eigenstates<T> {
        &self.states
    }
}

impl<T: Scalar> Solution<'_, T> {
    /// The launch shape of the generated multiply and where it comes from; `None` if no generated kernels ran.
    pub fn shape(&self) -> Option<(&str, &ShapeSource)> {
        self.device().runs_kernels().then_some((self.shape.as_str(), &self.source))
    }

    /// How H was multiplied: [`Model::multiply_choice`], with the way that the device took.
    pub fn multiply_choice(&self) -> PlannedChoice {
        self.model.in_real_gauge().multiply_choice().with_taken(self.way, &self.device().name())
    }

    /// A state vector in the order of the model's basis; of a complex H all real parts, then all imaginary parts.
    pub fn vector(&self, state: usize) -> Result<Vec<f64>, DeviceError> {
        let vector = self.downloaded(state)?;
        Ok(match T::as_f64(&vector) {
            Some(values) => values.to_vec(),
            None => vector.into_iter().map(T::to_f64).collect(),
        })
    }

    /// A state vector in the order of the model's basis.
    fn downloaded(&self, state: usize) -> Result<Vec<T>, DeviceError> {
        Ok(self.model.users_vector(self.eigenpairs().vectors[state].download()?))
    }

    /// The orthonormal vectors of a complex H, in the order of the states.
    ///
    /// # Errors
    /// Those of copies from the device.
    pub fn complex_vectors(&self) -> Result<Vec<Vec<Complex64>>, DeviceError> {
        let vectors = (0..self.eigenpairs().vectors.len())
            .map(|state| self.downloaded(state))
            .collect::<Result<Vec<Vec<T>>, _>>()?;
        let pairs = self.eigenpairs();
        Ok(RealImage::LATTICE.complex_vectors(&vectors, (&pairs.values, pairs.norm)))
    }

    /// The orthonormal states of a level, as far as it was found, in the order of the model's basis.
    pub(crate) fn complex_states(&self, level: usize) -> Result<Vec<Vec<Complex64>>, DeviceError> {
        let of_vector = |vector: &&Vector<T>| Ok(self.model.users_vector(vector.download()?));
        let vectors = self
            .eigenpairs()
            .level_vectors(level)
            .iter()
            .map(of_vector)
            .collect::<Result<Vec<Vec<T>>, DeviceError>>()?;
        let real = |vector: &Vec<T>| vector.iter().map(|v| v.to_f64().into()).collect();
        // One value for all: orthonormal among each other, whatever lies near.
        Ok(if self.model.is_complex() {
            RealImage::LATTICE.complex_vectors(&vectors, (&vec![0.0; vectors.len()], 1.0))
        } else {
            vectors.iter().map(real).collect()
        })
    }

    /// The standard averages over the whole ground multiplet of the sector, as far as it was found: densities and spins of
    /// every site, correlations of every pair.
    pub fn observables(&self) -> Result<Averages, RunError> {
        self.level_averages(&self.model.standard_observables())
    }

    /// The model.
    pub(crate) fn model(&self) -> &Model {
        self.model
    }

    /// Orthonormal vectors of a level, as far as it was found; of a complex H two real ones for each state.
    pub(crate) fn level_vectors(&self, level: usize) -> Vec<&Vector<T>> {
        let partners = self.partners.get(level).into_iter().flatten();
        self.eigenpairs().level_vectors(level).into_iter().chain(partners).collect()
    }

    /// Averages of observables over the whole ground multiplet of the sector, as far as it was found. Of several ranks the first has
    /// them; every rank asks.
    ///
    /// # Errors
    /// An operator that the model's sites do not have; the device's.
    pub fn level_averages(&self, observables: &[Observable]) -> Result<Averages, RunError> {
        self.averages_in(0, observables)
    }

    /// Averages of observables over the whole level of one of the states that were found, as far as the level was found: what a single
    /// vector of several has is the solver's choice.
    ///
    /// # Errors
    /// A state that was not found; as of [`Solution::level_averages`].
    pub fn state_averages(&self, state: usize, observables: &[Observable]) -> Result<Averages, RunError> {
        let mut end = 0;
        let level = self.levels().iter().position(|level| {
            end += level.returned;
            state < end
        });
        let not_found = || SolveError::Option {
            name: "state",
            value: state.to_string(),
            expected: "the number of a state that was found, from 0",
        };
        self.averages_in(level.ok_or_else(not_found)?, observables)
    }

    fn averages_in(&self, level: usize, observables: &[Observable]) -> Result<Averages, RunError> {
        let _observing = trace::span("observables", "observables");
        let announced = self.prepared.as_ref().filter(|(announced, _)| announced == observables);
        let prepared = announced.map(|(_, prepared)| prepared);
        self.with_whole(&self.level_vectors(level), |device, vectors| {
            self.averages_on(device, vectors, observables, prepared)
        })
    }

    /// What is made of whole vectors, on the device that has them. Of several ranks the first gathers them and makes something of them; the
    /// other ranks have nothing.
    pub(crate) fn with_whole<R: Default>(
        &self,
        vectors: &[&Vector<T>],
        make: impl FnOnce(&Device, &[&Vector<T>]) -> Result<R, RunError>,
    ) -> Result<R, RunError> {
        let Some(ranks) = self.device().ranks() else { return make(self.device(), vectors) };
        let here = Device::cpu();
        let mut whole = Vec::new();
        for vector in vectors {
            let (mut gathered, mut first) = (here.zeros(if ranks.is_first() { vector.len() } else { 0 })?, 0);
            vector.to_first(|slab| {
                first += slab.len();
                gathered.write_part(first - slab.len(), slab)
            })?;
            whole.push(gathered);
        }
        match ranks.is_first() {
            true => make(&here, &whole.iter().collect::<Vec<_>>()),
            false => Ok(R::default()),
        }
    }

    pub(crate) fn averages_on(
        &self,
        device: &Device,
        vectors: &[&Vector<T>],
        observables: &[Observable],
        prepared: Option<&PreparedAverages>,
    ) -> Result<Averages, RunError> {
        let averaged = self.model.averaged();
        let in_order = |vector: &&Vector<T>| -> Result<Vector<T>, DeviceError> {
            let values = vector.download()?;
            device.upload(&self.model.to_average(&values).unwrap_or(values))
        };
        let ordered = match self.model.has_own_order() {
            true => vectors.iter().map(in_order).collect::<Result<Vec<_>, _>>()?,
            false => Vec::new(),
        };
        let ordered: Vec<&Vector<T>> = ordered.iter().collect();
        let vectors = if ordered.is_empty() { vectors } else { &ordered };
        Ok(match prepared {
            Some(prepared) => prepared.averages(averaged, vectors, device, observables)?,
            None => averages_of(averaged, vectors, device, &self.model.working_observables(observables)?)?,
        })
    }

    /// ⟨O⟩ over the whole ground multiplet of the sector.
    ///
    /// # Errors
    /// As of [`Solution::level_averages`].
    pub fn expectation(&self, operator: eigenforge_core::operator::Operator) -> Result<f64, RunError> {
        let averages = self.level_averages(&[Observable::scalar("O", operator)])?;
        Ok(averages.scalar("O").unwrap_or(f64::NAN))
    }
}
