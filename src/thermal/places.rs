//! Averages by site and by pair of sites, by operators that have the symmetry of the ensemble.
//!
//! In: H, the charges that the ensemble fixes, observables. Out: the operators to average, and which of them each place has.
//!
//! An ensemble has every symmetry g of H that leaves its fixed numbers as they are, so ⟨O⟩ = ⟨g O g⁻¹⟩ = ⟨Ō⟩ with Ō = (1/|G|) Σ_g g O g⁻¹. Here G
//! has the lattice's translations, rotations and mirrors, and the inversion of all spins, as far as H has them. Ō leaves sectors of momentum as
//! they are, and is the same of all places that G takes to each other: of a ring of N sites a correlation has about N/2 operators, not N². Where
//! Ō is zero the average is too.

use super::record::{ThermalCurve, ThermalPlaces};
use crate::input::ModelFile;
use crate::observable::{Observable, Shape};
use crate::operator::{Charge, GroupElement, Operator, Product, SiteKind, Symmetry};
use num_complex::Complex64;
use std::collections::{BTreeMap, BTreeSet};

/// Elements of a group at most; of larger ones none is taken.
const MOST_ELEMENTS: usize = 1 << 14;
/// Coefficients this small, beside the largest, are rounding of the mean.
const ROUNDING: f64 = 1e-13;

/// An operator as a key: products with their coefficients in parts of 2⁻⁴⁰.
type Key = Vec<(Product, i64)>;

/// What a place has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AtPlace {
    /// The average is zero by symmetry.
    Zero,
    /// The observable is not there.
    Nothing,
    /// The average of the operator of this number, of all that are averaged.
    Operator(usize),
}

/// An observable with a value for each site or pair of sites.
#[derive(Clone, Debug)]
pub(super) struct PlacedObservable {
    name: String,
    shape: Shape,
    sites: usize,
    places: Vec<AtPlace>,
}

/// The symmetry group of an ensemble.
#[derive(Debug)]
pub(super) struct EnsembleSymmetry {
    kinds: Vec<SiteKind>,
    elements: Vec<GroupElement>,
}

impl EnsembleSymmetry {
    /// That of a file's ensemble.
    pub(super) fn new(file: &ModelFile) -> EnsembleSymmetry {
        let (operator, fixed) = (file.declared_operator(), file.ensemble_charges());
        let kinds = operator.kinds_or_implied();
        let identity = GroupElement::identity(kinds.len());
        let mut generators: Vec<GroupElement> = Vec::new();
        // Numbers of single sites are no numbers of all places.
        if !fixed.iter().any(|(charge, _)| matches!(charge, Charge::OfSites(_))) {
            let permuted = |place: &[usize]| {
                let group = Symmetry::new().generator(place, Complex64::ONE).group(&operator, &[]);
                group.is_ok().then(|| GroupElement::permutation(place))
            };
            generators.extend(file.lattice.translations().iter().filter_map(|step| permuted(&step.place)));
            if let Ok(point) = Symmetry::new().point_group_of(&operator, &[]) {
                generators.extend(point.operations().filter_map(|turn| permuted(&turn.place)));
            }
            if Symmetry::inverted_charges(&operator, &fixed).is_some_and(|images| images == fixed) {
                generators.push(GroupElement { moments: true, electrons: true, ..identity.clone() });
            }
        }
        let elements = closure(&identity, &generators).unwrap_or_else(|| vec![identity]);
        EnsembleSymmetry { kinds, elements }
    }

    /// An operator's image.
    fn image(&self, element: &GroupElement, operator: &Operator) -> BTreeMap<Product, f64> {
        let mut image = BTreeMap::new();
        for (product, coefficient) in operator.terms() {
            for (moved, own) in element.image(&self.kinds, product) {
                *image.entry(moved).or_insert(0.0) += coefficient * own;
            }
        }
        image
    }

    /// Adds the operators that the places of an observable take to those that are averaged.
    pub(super) fn place(&self, observable: &Observable, operators: &mut Vec<Operator>) -> PlacedObservable {
        let mut known: BTreeMap<Key, AtPlace> = BTreeMap::new();
        let place = |(number, operator): (usize, &Operator)| {
            if observable.left_out.contains(&number) {
                return AtPlace::Nothing;
            }
            let own = hermitian_part(operator, &self.kinds);
            if let Some(found) = known.get(&key(own.terms())) {
                return *found;
            }
            let mut mean: BTreeMap<Product, f64> = BTreeMap::new();
            let mut keys = BTreeSet::new();
            for element in &self.elements {
                let image = self.image(element, &own);
                keys.insert(key(image.iter().map(|(product, own)| (&product[..], *own))));
                for (product, coefficient) in image {
                    *mean.entry(product).or_insert(0.0) += coefficient / self.elements.len() as f64;
                }
            }
            let largest = own.terms().map(|(_, coefficient)| coefficient.abs()).fold(0.0, f64::max);
            mean.retain(|_, coefficient| coefficient.abs() > ROUNDING * largest);
            let found = if mean.is_empty() {
                AtPlace::Zero
            } else {
                let terms: Vec<(f64, Product)> = mean.into_iter().map(|(product, own)| (own, product)).collect();
                let mean = Operator::recorded(&terms, own.two_s(), self.kinds.len(), Vec::new());
                operators.push(mean.on_kinds(&self.kinds));
                AtPlace::Operator(operators.len() - 1)
            };
            known.extend(keys.into_iter().map(|key| (key, found)));
            found
        };
        let places = observable.operators.iter().enumerate().map(place).collect();
        let (name, shape, sites) = (observable.name.clone(), observable.shape, self.kinds.len());
        PlacedObservable { name, shape, sites, places }
    }
}

/// All products of generators; `None` of too many.
fn closure(identity: &GroupElement, generators: &[GroupElement]) -> Option<Vec<GroupElement>> {
    let mut found = vec![identity.clone()];
    let mut known: std::collections::HashSet<GroupElement> = found.iter().cloned().collect();
    let mut next = 0;
    while next < found.len() {
        for generator in generators {
            let made = generator.after(&found[next]);
            if known.insert(made.clone()) {
                found.push(made);
            }
        }
        next += 1;
        if found.len() > MOST_ELEMENTS {
            return None;
        }
    }
    Some(found)
}

/// (O + O†)/2, which has the real part of the average of O.
fn hermitian_part(operator: &Operator, kinds: &[SiteKind]) -> Operator {
    let own = operator.clone().on_kinds(kinds);
    let both = own.clone() + own.adjoint();
    (0.5 * both).on_kinds(kinds).reduced()
}

fn key<'p>(terms: impl Iterator<Item = (&'p [crate::operator::Factor], f64)>) -> Key {
    let unit = 2f64.powi(40);
    let rounded = terms.map(|(product, coefficient)| (product.to_vec(), (coefficient * unit).round() as i64));
    rounded.filter(|(_, coefficient)| *coefficient != 0).collect()
}

impl PlacedObservable {
    /// "szsz_0_3": the name of the curve of a place.
    fn curve_name(&self, place: usize) -> String {
        match self.shape {
            Shape::Pairs => format!("{}_{}_{}", self.name, place / self.sites, place % self.sites),
            Shape::Whole | Shape::Sites => format!("{}_{place}", self.name),
        }
    }

    /// Numbers its operators from that of this number on.
    pub(super) fn count_from(&mut self, first: usize) {
        for place in &mut self.places {
            if let AtPlace::Operator(number) = place {
                *number -= first;
            }
        }
    }

    /// The record, from the curves of all operators; `change` is in parts of the largest value of the whole observable.
    pub(super) fn record(&self, curves: &[ThermalCurve], halves: &[ThermalCurve], least: &[f64]) -> ThermalPlaces {
        let temperatures = curves.first().map_or(0, |curve| curve.values.len());
        let mut made: Vec<(AtPlace, ThermalCurve)> = Vec::new();
        let mut curve_of = Vec::with_capacity(self.places.len());
        let own =
            || self.places.iter().filter_map(|place| if let AtPlace::Operator(k) = place { Some(*k) } else { None });
        let values = own().flat_map(|number| &curves[number].values).map(|value| value.abs());
        let largest = own().map(|number| least[number]).chain(values).fold(0.0, f64::max);
        for (number, place) in self.places.iter().enumerate() {
            if *place == AtPlace::Nothing {
                curve_of.push(None);
                continue;
            }
            let found = made.iter().position(|(known, _)| known == place).unwrap_or_else(|| {
                let name = self.curve_name(number);
                let curve = match place {
                    AtPlace::Operator(operator) => {
                        let ThermalCurve { values, errors, .. } = &curves[*operator];
                        let pairs = values.iter().zip(&halves[*operator].values);
                        let apart = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                        let change = if apart == 0.0 { 0.0 } else { apart / largest };
                        ThermalCurve { name, values: values.clone(), errors: errors.clone(), change }
                    }
                    AtPlace::Zero | AtPlace::Nothing => {
                        let zeros = vec![0.0; temperatures];
                        ThermalCurve { name, values: zeros.clone(), errors: zeros, change: 0.0 }
                    }
                };
                made.push((*place, curve));
                made.len() - 1
            });
            curve_of.push(Some(found));
        }
        let by = if self.shape == Shape::Pairs { "pair" } else { "site" };
        let curves = made.into_iter().map(|(_, curve)| curve).collect();
        ThermalPlaces { name: self.name.clone(), by: by.into(), curve_of, curves }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observable::{pairs, sites};

    fn symmetry(text: &str) -> EnsembleSymmetry {
        let text = format!("{text}[thermal]\ntemperatures = [1.0]\n");
        EnsembleSymmetry::new(&ModelFile::parse("m.toml", &text).unwrap())
    }

    #[test]
    fn places_that_symmetry_joins_share_an_operator() {
        let ring = "[lattice]\nkind = \"chain\"\nsize = 6\nboundary = \"periodic\"\n";
        let found = symmetry(&format!("[model]\nname = \"xxz\"\njxy = 1.0\njz = 0.5\n{ring}"));
        assert!(found.elements.len() >= 12, "six places and spin inversion");
        let (sites, pairs, mut operators) = (sites(&found.kinds), pairs(&found.kinds), Vec::new());
        let sz = found.place(&sites[0], &mut operators);
        assert!(operators.is_empty() && sz.places.iter().all(|place| *place == AtPlace::Zero), "{sz:?}");
        let szsz = found.place(&pairs[0], &mut operators);
        assert_eq!(operators.len(), 4, "distances 0 to 3");
        let at = |i: usize, j: usize| szsz.places[6 * i + j];
        assert!(at(0, 1) == at(5, 0) && at(1, 3) == at(4, 2) && at(0, 3) != at(0, 2));
        // A field leaves no inversion, and a site with another exchange no translation.
        let field = symmetry(&format!("[model]\nname = \"xxz\"\njxy = 1.0\njz = 0.5\nfield = 0.3\n{ring}"));
        let mut operators = Vec::new();
        let sz = field.place(&sites[0], &mut operators);
        assert!(operators.len() == 1 && sz.places.iter().all(|place| *place == AtPlace::Operator(0)));
        let open = symmetry("[model]\nname = \"xxz\"\njxy = 1.0\njz = 0.5\n[lattice]\nkind = \"chain\"\nsize = 3\n");
        let mut operators = Vec::new();
        open.place(&pairs_of(&open), &mut operators);
        assert_eq!(operators.len(), 3, "1/4 at every site, 0-1 and 1-2, 0-2");
    }

    fn pairs_of(symmetry: &EnsembleSymmetry) -> Observable {
        pairs(&symmetry.kinds).remove(0)
    }
}
