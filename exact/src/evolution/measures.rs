//! What is measured of a state at a time.
//!
//! In: the state on its device, real and imaginary parts. Out: an [`EvolutionPoint`]. Averages of a real product in ψ = a + ib are those in a and
//! in b together; of i P with a real P they are 2 ⟨b| P |a⟩ (for a Hermitian i P), for which ψ is taken as one vector of real and imaginary parts.

use super::super::averages;
use super::super::model::Model;
use super::super::observables::{averages_of, averages_on_host};
use super::super::response::{LevelStates, ResponseTarget};
use super::super::solve::RunError;
use crate::PrepareError;
use crate::entanglement::von_neumann_entropy;
use eigenforge_core::observable::{self, Average, Averages, Observable};
use eigenforge_core::operator::{Factor, Product, build};
use eigenforge_runtime::solvers::EvolvedState;
use eigenforge_runtime::{Device, LinearOperator, Vector, trace};
use ndarray::{Array1, Array2};
use num_complex::Complex64;

/// What is wanted of a state beside its energy and its overlap with the start.
#[derive(Clone, Debug, Default)]
pub struct EvolutionMeasures {
    /// Observables to average.
    pub observables: Vec<Observable>,
    /// Sets of sites whose entropies are wanted.
    pub entropies: Vec<Vec<usize>>,
}

/// A state at a time.
#[derive(Clone, Debug)]
pub struct EvolutionPoint {
    /// The time.
    pub time: f64,
    /// ⟨H⟩, of H(t) at this time, the constant of the sector included.
    pub energy: f64,
    /// ⟨ψ(0)|ψ(t)⟩; in imaginary time of the normalised state.
    pub overlap: Complex64,
    /// Averages.
    pub averages: Averages,
    /// Von Neumann entropies of the sets of sites.
    pub entropies: Vec<f64>,
    /// ln ‖exp(−Ht) ψ(0)‖ in imaginary time, else 0.
    pub log_norm: f64,
    /// The sum of the bounds so far.
    pub bound: f64,
}

/// A point in a checkpoint: its numbers, then each average with its name, its shape and its values.
type WrittenPoint = (Vec<f64>, Vec<(String, (usize, usize), Vec<f64>)>);

/// Points as text.
pub(super) fn written_points(points: &[EvolutionPoint]) -> String {
    let average = |(name, average): (&str, &Average)| {
        let shape = match average {
            Average::Whole(_) => (0, 0),
            Average::Sites(values) => (values.len(), 0),
            Average::Pairs(values) => values.dim(),
        };
        (name.to_string(), shape, average.values())
    };
    let point = |point: &EvolutionPoint| {
        let EvolutionPoint { time, energy, overlap, log_norm, bound, .. } = *point;
        let mut numbers = vec![time, energy, overlap.re, overlap.im, log_norm, bound];
        numbers.extend(&point.entropies);
        (numbers, point.averages.iter().map(average).collect())
    };
    let written: Vec<WrittenPoint> = points.iter().map(point).collect();
    ron::to_string(&written).unwrap_or_default()
}

/// Points from their text; `None` where it is none.
pub(super) fn read_points(text: &str) -> Option<Vec<EvolutionPoint>> {
    let average = |(name, shape, values): (String, (usize, usize), Vec<f64>)| {
        let average = match shape {
            (0, 0) => Average::Whole(*values.first()?),
            (_, 0) => Average::Sites(Array1::from(values)),
            shape => Average::Pairs(Array2::from_shape_vec(shape, values).ok()?),
        };
        Some((name, average))
    };
    let point = |(numbers, averages): WrittenPoint| {
        let [time, energy, re, im, log_norm, bound, ref entropies @ ..] = numbers[..] else { return None };
        let averages = averages.into_iter().map(average).collect::<Option<Averages>>()?;
        let (overlap, entropies) = (Complex64::new(re, im), entropies.to_vec());
        Some(EvolutionPoint { time, energy, overlap, averages, entropies, log_norm, bound })
    };
    ron::from_str::<Vec<WrittenPoint>>(text).ok()?.into_iter().map(point).collect()
}

fn is_imaginary(product: &Product) -> bool {
    product.last() == Some(&Factor::ImaginaryUnit)
}

/// A state's amplitudes, from the device.
pub(super) fn amplitudes(parts: &[&Vector<f64>]) -> Result<Vec<Complex64>, RunError> {
    let values = parts.iter().map(|part| part.download()).collect::<Result<Vec<_>, _>>()?;
    let joined = |re: &[f64], im: &[f64]| re.iter().zip(im).map(|(re, im)| Complex64::new(*re, *im)).collect();
    Ok(match &values[..] {
        [re, im] => joined(re, im),
        _ => {
            let whole = values.concat();
            let (re, im) = whole.split_at(whole.len() / 2);
            joined(re, im)
        }
    })
}

/// Measures states of a model on a device.
pub(super) struct Meter<'a> {
    pub model: &'a Model,
    pub device: &'a Device,
    pub wanted: &'a EvolutionMeasures,
    /// Where H ψ is made.
    pub scratch: Vector<f64>,
}

impl Meter<'_> {
    /// All of a state; `constant` and `phase` are those of what H leaves out.
    pub(super) fn point(
        &mut self,
        state: &EvolvedState<'_, f64>,
        hamiltonian: &dyn LinearOperator<f64>,
        constant: f64,
    ) -> Result<EvolutionPoint, RunError> {
        let _measuring = trace::span("observables", "a time");
        let mut energy = constant;
        for part in &state.parts {
            energy += hamiltonian.apply(part, &mut self.scratch)?;
        }
        let [re, im] = state.overlap;
        let entropies = match self.wanted.entropies.is_empty() {
            true => Vec::new(),
            false => {
                let spectra = self.model.entanglement_spectra(&[amplitudes(&state.parts)?], &self.wanted.entropies)?;
                let entropy = |spectrum: Result<Vec<f64>, _>| spectrum.map(|spectrum| von_neumann_entropy(&spectrum));
                spectra.into_iter().map(entropy).collect::<Result<_, _>>()?
            }
        };
        Ok(EvolutionPoint {
            time: state.time,
            energy,
            overlap: Complex64::new(re, im),
            averages: self.averages(&state.parts)?,
            entropies,
            log_norm: state.log_norm,
            bound: state.bound,
        })
    }

    fn averages(&self, parts: &[&Vector<f64>]) -> Result<Averages, PrepareError> {
        let observables = &self.wanted.observables;
        if observables.is_empty() {
            return Ok(Averages::default());
        }
        let on_host = || parts.iter().map(|part| part.download()).collect::<Result<Vec<_>, _>>();
        if self.model.is_complex() {
            // A card has its own order of a symmetry sector's states.
            if self.model.symmetric().is_some() {
                let values = on_host()?;
                let views: Vec<&[f64]> = values.iter().map(Vec::as_slice).collect();
                return Ok(averages_on_host(self.model, &views, observables)?);
            }
            return averages_of(self.model, parts, self.device, observables);
        }
        let (kinds, charges) = (self.model.site_kinds(), self.model.sector().charges());
        observable::evaluate(observables, &kinds, &charges, true, |products| {
            let pick = |imaginary: bool| products.iter().filter(move |product| is_imaginary(product) == imaginary);
            let [real, imaginary] = [false, true].map(|kind| pick(kind).cloned().collect::<Vec<Product>>());
            let mean = match (self.device.runs_kernels(), self.model.symmetric()) {
                (true, None) => averages::on_device(self.model, parts, self.device, &real, None)?,
                _ => {
                    let values = on_host()?;
                    let views: Vec<&[f64]> = values.iter().map(Vec::as_slice).collect();
                    averages::on_host(self.model, &views, &real)?
                }
            };
            // The mean over two vectors that have length 1 together.
            let mut real = mean.into_iter().map(|mean| 2.0 * mean);
            let mut imaginary = match imaginary.is_empty() {
                true => Vec::new(),
                false => self.imaginary(parts, &imaginary)?,
            }
            .into_iter();
            let next = |product: &Product| if is_imaginary(product) { imaginary.next() } else { real.next() };
            Ok::<_, PrepareError>(products.iter().map(next).map(|value| value.unwrap_or(f64::NAN)).collect())
        })
    }

    /// Averages of products with i, on the host.
    fn imaginary(&self, parts: &[&Vector<f64>], products: &[Product]) -> Result<Vec<f64>, PrepareError> {
        let values = parts.iter().map(|part| part.download()).collect::<Result<Vec<_>, _>>()?;
        let state = values[0].iter().zip(&values[1]).map(|(re, im)| Complex64::new(*re, *im)).collect();
        let whole = self.model.plain()?.on_complex_vectors()?;
        let target = ResponseTarget { model: whole.clone(), operator: build::scalar(1.0) };
        let made = LevelStates::new(self.model.clone(), vec![state]).excited(0, &target)?;
        let vector: Vec<f64> = made.iter().map(|v| v.re).chain(made.iter().map(|v| v.im)).collect();
        Ok(averages::on_host(&whole, &[&vector], products)?)
    }
}
