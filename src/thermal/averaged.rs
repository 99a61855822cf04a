//! The operators that a file's thermal averages are of: those of quantities of their own first, then those of places.

use super::averages::{Quantity, Wanted};
use super::places::{EnsembleSymmetry, PlacedObservable};
use super::record::{ThermalCurve, ThermalPlaces};
use crate::Error;
use crate::input::{InputProblem, ModelFile, ThermalEnsemble, ThermalSpec, Wrong};
use crate::observable::{self, Observable, Shape};
use crate::operator::Operator;

/// What is averaged.
pub(super) struct Averaged {
    /// Of each operator; those of places have numbers.
    pub(super) names: Vec<String>,
    pub(super) operators: Vec<Operator>,
    /// Operators of quantities of their own, which stand first.
    whole: usize,
    placed: Vec<PlacedObservable>,
}

impl Averaged {
    /// Of a file.
    ///
    /// # Errors
    /// A name that a report has itself, or that is no standard average.
    pub(super) fn new(file: &ModelFile, spec: &ThermalSpec) -> Result<Averaged, Error> {
        let kinds = file.declared_operator().kinds_or_implied();
        let (mut names, mut operators) = (Vec::new(), Vec::new());
        let standard = if file.observables.standard { observable::sites(&kinds) } else { Vec::new() };
        if let Some(doubles) = standard.iter().find(|own| own.name == "double_occupancy") {
            names.push(doubles.name.clone());
            operators.push(doubles.operators.iter().cloned().sum());
        }
        let taken = Wanted {
            mu: matches!(spec.ensemble, ThermalEnsemble::Grand { .. }).then_some(0.0),
            susceptibility: true,
            operators: &[],
            temperatures: &[],
        };
        let taken = taken.names();
        let mut of_places = recorded(file, spec)?;
        for own in &file.observed {
            if taken.contains(&own.name) || own.name == "temperature" || own.name.ends_with("_error") {
                let message = "a thermal report has a quantity of this name: take another".into();
                let span = file
                    .observables
                    .texts
                    .iter()
                    .find(|text| text.name == own.name)
                    .map_or(0..0, |text| text.span.clone());
                let what = Wrong::Observable { name: own.name.clone(), message };
                return Err(file.refused(InputProblem { what, span }).into());
            }
            match (own.shape, &own.operators[..]) {
                (Shape::Whole, [operator]) => {
                    names.push(own.name.clone());
                    operators.push(operator.clone());
                }
                _ => of_places.push(own.clone()),
            }
        }
        let whole = operators.len();
        let mut placed = Vec::new();
        if !of_places.is_empty() {
            let symmetry = EnsembleSymmetry::new(file);
            placed.extend(of_places.iter().map(|own| symmetry.place(own, &mut operators)));
        }
        for placed in &mut placed {
            placed.count_from(whole);
        }
        names.extend((0..operators.len() - whole).map(|number| format!("place {number}")));
        Ok(Averaged { names, operators, whole, placed })
    }

    /// The averages by place; takes their operators out of the quantities.
    pub(super) fn records(
        &self,
        quantities: &mut Vec<ThermalCurve>,
        mut halves: Vec<Quantity>,
        least: &dyn Fn(&str) -> f64,
    ) -> Vec<ThermalPlaces> {
        let first = quantities.len() - self.operators.len();
        let (own, halves) = (quantities.split_off(first + self.whole), halves.split_off(first + self.whole));
        let least: Vec<f64> = own.iter().map(|curve| least(&curve.name)).collect();
        let halves: Vec<ThermalCurve> = halves.into_iter().map(ThermalCurve::from).collect();
        self.placed.iter().map(|placed| placed.record(&own, &halves, &least)).collect()
    }
}

impl From<Quantity> for ThermalCurve {
    fn from(Quantity { name, values, errors }: Quantity) -> ThermalCurve {
        ThermalCurve { name, values, errors, change: 0.0 }
    }
}

/// The standard averages that a file names.
fn recorded(file: &ModelFile, spec: &ThermalSpec) -> Result<Vec<Observable>, Error> {
    let kinds = file.declared_operator().kinds_or_implied();
    let mut known = observable::sites(&kinds);
    known.extend(observable::pairs(&kinds));
    // The sum over all sites has the name.
    known.retain(|own| own.name != "double_occupancy");
    let mut found: Vec<Observable> = Vec::new();
    for (name, span) in &spec.record {
        match known.iter().find(|own| own.name == *name) {
            Some(own) if !found.iter().any(|other| other.name == *name) => found.push(own.clone()),
            Some(_) => {}
            None => {
                let names: Vec<&str> = known.iter().map(|own| own.name.as_str()).collect();
                let near = crate::input::nearest_word(name, &names);
                let near = near.map_or(String::new(), |near| format!("; did you mean \"{near}\"?"));
                let expected = format!("names among {}{near}", names.join(", "));
                let what = Wrong::OutOfRange { key: "record".into(), expected, found: format!("\"{name}\"") };
                return Err(file.refused(InputProblem { what, span: span.clone() }).into());
            }
        }
    }
    Ok(found)
}
