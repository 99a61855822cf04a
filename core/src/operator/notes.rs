//! Possible misunderstandings in a definition: noted while its sums are enumerated, kept through all algebra, judged when
//! the operator becomes a model.
//!
//! | noted | judged |
//! |---|---|
//! | a bond whose weight is not 1, under `<i, j>` | an error |
//! | spins of electrons at a site where no sum has c†, c or n (a local moment beside electrons) | an error |
//! | Sᵢ·Sᵢ of electrons, at one site only (a local moment on the same site) | a warning |
//! | a square, as (Sᵢ·Sⱼ)² or (Sᶻ)², for moments of spin ½ (a forgotten `.spin(2)`) | a warning |

use super::{Factor, Operator, OperatorError, RecordedSum};
use std::collections::BTreeSet;

/// Position and text of a sum.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Place {
    file: String,
    line: u32,
    text: String,
}

impl Place {
    pub(super) fn new(sum: &RecordedSum) -> Place {
        Place { file: sum.file.clone(), line: sum.line, text: sum.text.clone() }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.text)
    }
}

/// The notes on one sum.
#[derive(Clone, Debug)]
pub(super) struct SumNotes {
    pub place: Place,
    /// The first bond whose weight is neither 1 nor used.
    pub weight: Option<(usize, usize, f64)>,
    /// Sites of c†, c and n.
    pub electrons: BTreeSet<usize>,
    /// Sites of operators for the spin of electrons.
    pub spins: BTreeSet<usize>,
    /// Whether every Sᵢ·Sⱼ of electrons had i = j; `None` without any.
    pub same_site: Option<bool>,
    /// The operator that is squared at one site.
    pub square: Option<String>,
}

impl SumNotes {
    pub(super) fn new(place: Place) -> SumNotes {
        let (electrons, spins) = (BTreeSet::new(), BTreeSet::new());
        SumNotes { place, weight: None, electrons, spins, same_site: None, square: None }
    }

    /// Whether there is nothing to note.
    pub(super) fn is_empty(&self) -> bool {
        let SumNotes { place: _, weight, electrons, spins, same_site, square } = self;
        weight.is_none() && electrons.is_empty() && spins.is_empty() && same_site.is_none() && square.is_none()
    }
}

/// Whether a product has an operator of a local moment twice, as squares do, for spin ½ or not.
fn has_square(product: &[Factor]) -> bool {
    product.windows(2).any(|pair| pair[0] == pair[1] && !pair[0].is_fermion())
}

impl Operator {
    /// Whether any term has an operator of a local moment twice at a site.
    pub(super) fn has_squares(&self) -> bool {
        self.terms().any(|(product, _)| has_square(product))
    }

    /// Marks the operator as that of a built-in model: its sums are named by the model and their number, because the user
    /// does not have their file.
    pub fn built_in(mut self, name: &str) -> Operator {
        let lines: BTreeSet<u32> = self.sums.iter().map(|sum| sum.line).collect();
        let number = |line: u32| lines.iter().position(|other| *other == line).map_or(0, |place| place as u32 + 1);
        for sum in &mut self.sums {
            (sum.file, sum.line) = (format!("built-in {name}"), number(sum.line));
        }
        for SumNotes { place, .. } in &mut self.notes {
            (place.file, place.line) = (format!("built-in {name}"), number(place.line));
        }
        self
    }

    /// Returns an error for notes that are certain mistakes.
    pub(super) fn check_notes(&self) -> Result<(), OperatorError> {
        for sum in &self.notes {
            if let Some((i, j, weight)) = sum.weight {
                return Err(OperatorError::WeightsLeftOut { sum: sum.place.to_string(), i, j, weight });
            }
        }
        let electrons: BTreeSet<usize> = self.notes.iter().flat_map(|sum| &sum.electrons).copied().collect();
        if electrons.is_empty() {
            return Ok(());
        }
        for sum in &self.notes {
            if let Some(site) = sum.spins.difference(&electrons).next() {
                return Err(OperatorError::MomentBesideElectrons { sum: sum.place.to_string(), site: *site });
            }
        }
        Ok(())
    }

    /// Returns warnings for likely mistakes, one sentence each, naming the sum.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for SumNotes { place, same_site, square, .. } in &self.notes {
            if *same_site == Some(true) {
                warnings.push(format!(
                    "{place} is S·S of the electrons with themselves, 3/4 (n_up - n_dn)², since the definition has electrons; \
                     it does not describe a local moment on the same site as electrons"
                ));
            }
            if let (Some(square), 1) = (square, self.two_s) {
                warnings.push(format!(
                    "{place} squares {square}, which is a constant for spin 1/2; for longer moments set the spin \
                     before the sector, `.spin(2)` for spin 1 (in a model file `spin = 1`)"
                ));
            }
        }
        // A sum that appears twice, as with its adjoint, warns once.
        let mut said = BTreeSet::new();
        warnings.retain(|warning| said.insert(warning.clone()));
        warnings
    }
}
