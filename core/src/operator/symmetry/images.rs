//! The symmetry that a state has behind an operator.
//!
//! In: the group of a sector, with U_g |a⟩ = χ(g) |a⟩; an operator A; the sector of charges that A leads to. Out: the group of A|a⟩: of the
//! elements that take A to a multiple of itself, U_g A U_g⁻¹ = c A, and are symmetries of H there, since
//!
//! U_g A |a⟩ = c χ(g) A |a⟩.
//!
//! Translations are those of a momentum that is known.

use super::super::{Charge, Factor, Operator, Product, SiteKind};
use super::element::GroupElement;
use super::error::SymmetryError;
use super::group::{Generator, SymmetryGroup, shown};
use super::translations;
use num_complex::Complex64;
use std::collections::{BTreeMap, HashMap};

/// Coefficients of an image count as a multiple of the operator's if they differ by less, in parts of the largest.
const SAME: f64 = 1e-12;

impl SymmetryGroup {
    /// The group of what an operator makes of the states of this sector of a reduced H, in a sector of these charges; `None` without any
    /// symmetry. `momentum` is that of what the operator makes.
    ///
    /// # Errors
    /// A momentum that the lattice has not.
    pub fn behind(
        &self,
        acting: &Operator,
        operator: &Operator,
        charges: &[(Charge, i64)],
        momentum: Option<&[i64]>,
    ) -> Result<Option<SymmetryGroup>, SymmetryError> {
        let mut group = match momentum {
            Some(k) => Some(SymmetryGroup::new(translations(k, operator.lattice())?, operator, charges)?),
            None => None,
        };
        let kinds = operator.kinds_or_implied();
        let own = OperatorImage::new(&self.elements[0], acting, &kinds);
        for (element, character) in self.elements.iter().zip(self.characters()) {
            let is_known = |group: &SymmetryGroup| group.elements.contains(element);
            if element.conjugates || *element == self.elements[0] || group.as_ref().is_some_and(is_known) {
                continue;
            }
            let Some(factor) = OperatorImage::new(element, acting, &kinds).multiple_of(&own) else { continue };
            let named = self.generators.iter().find(|generator| generator.element == *element);
            let name = named.map_or_else(|| "a symmetry of the operator".into(), |generator| generator.name.clone());
            let character = factor * character;
            let made = Generator::new(name, shown(character), element.clone(), character);
            let Some(made) = made.ok().filter(|made| made.check(operator, charges).is_ok()) else { continue };
            let generators = group.iter().flat_map(|group| group.generators.iter().cloned()).chain([made]).collect();
            // One that has no character beside the others is left out.
            group = SymmetryGroup::new(generators, operator, charges).ok().or(group);
        }
        Ok(group.map(|group| group.with_momentum(momentum)))
    }

    /// Whether a symmetry of H takes the states of the sector to states of it: products with its inverse around have the same characters, behind an
    /// antiunitary one their conjugates.
    pub fn is_kept_by(&self, element: &GroupElement) -> bool {
        // Holes commute with some permutations up to a sign only.
        if self.elements.iter().any(|own| own.holes.is_some()) {
            return self.elements.contains(element);
        }
        let characters: HashMap<_, _> = self.elements.iter().zip(self.characters()).collect();
        let (inverse, plain) = (element.inverse(), |own| GroupElement { conjugates: false, ..own });
        self.generators.iter().filter(|own| !own.element.conjugates).all(|own| {
            let (found, character) = (plain(element.after(&own.element).after(&inverse)), own.character());
            let wanted = if element.conjugates { character.conj() } else { character };
            characters.get(&found).is_some_and(|character| (character - wanted).norm() < SAME)
        })
    }

    /// Whether its sector has all that of another has: every unitary element of that is here, with the same character.
    pub fn has_sector_in(&self, other: &SymmetryGroup) -> bool {
        let own: HashMap<_, _> = self.elements.iter().zip(self.characters()).collect();
        let mut each = other.elements.iter().zip(other.characters()).filter(|(element, _)| !element.conjugates);
        each.all(|(element, character)| own.get(element).is_some_and(|own| (own - character).norm() < SAME))
    }
}

/// U_g A U_g⁻¹ of an operator: its reduced products with their coefficients.
#[derive(Clone, Debug)]
pub struct OperatorImage(BTreeMap<Product, Complex64>);

impl OperatorImage {
    /// Of a reduced operator on such sites.
    pub fn new(element: &GroupElement, acting: &Operator, kinds: &[SiteKind]) -> OperatorImage {
        let mut sums = BTreeMap::new();
        for (product, coefficient) in acting.terms() {
            for (mut image, factor) in element.image(kinds, product) {
                let is_imaginary = image.contains(&Factor::ImaginaryUnit);
                image.retain(|factor| *factor != Factor::ImaginaryUnit);
                let value = Complex64::from(coefficient * factor);
                *sums.entry(image).or_insert(Complex64::ZERO) +=
                    if is_imaginary { Complex64::I * value } else { value };
            }
        }
        OperatorImage(sums)
    }

    /// The number that another is to be multiplied by to be this one; `None` where none is.
    pub fn multiple_of(&self, other: &OperatorImage) -> Option<Complex64> {
        let (largest, value) = other.0.iter().max_by(|a, b| a.1.norm_sqr().total_cmp(&b.1.norm_sqr()))?;
        let factor = self.0.get(largest)? / value;
        let most = SAME * value.norm();
        let part = |image: &OperatorImage, product: &Product| image.0.get(product).copied().unwrap_or_default();
        let is_so = |product: &Product| (part(self, product) - factor * part(other, product)).norm() <= most;
        other.0.keys().chain(self.0.keys()).all(is_so).then_some(factor)
    }
}
