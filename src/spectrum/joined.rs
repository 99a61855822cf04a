//! Momenta that have the same curve by symmetry.
//!
//! In: a file's problem, the states of the level in every sector, the operator at each momentum. Out: for each of these the first with the same
//! curve. A symmetry U of H that takes the level to itself and A_q to a multiple of A_q', U A_q U⁻¹ = c A_q' with |c| = 1, leaves none between
//! S(q, ω) and S(q', ω) to choose: rotations and mirrors of the lattice, and with a real H the conjugation K, which takes q to −q, and their
//! products.

use crate::exact::LevelStates;
use crate::operator::{GroupElement, Operator, OperatorImage, Symmetry};
use crate::problem::LatticeProblem;

/// How far from 1 rounding may take |c|.
const ROUNDING: f64 = 1e-12;

/// The number of the first operator with the same curve as each, its own where there is none before it. Of a level of which states may be missing
/// all are their own.
pub(super) fn joined(
    problem: &LatticeProblem,
    level: &[&LevelStates],
    complete: bool,
    operators: &[Operator],
) -> Vec<usize> {
    let elements = if complete { symmetries(problem, level) } else { Vec::new() };
    let (mut first, mut known): (Vec<usize>, Vec<(usize, OperatorImage)>) = (Vec::new(), Vec::new());
    let kinds = problem.model.site_kinds();
    for (number, operator) in operators.iter().enumerate() {
        // Of an operator that is zero on the last sites these are sites, too.
        let operator = operator.clone().on_kinds(&kinds).reduced();
        let image = |element: &GroupElement| OperatorImage::new(element, &operator, &kinds);
        let images: Vec<OperatorImage> = elements.iter().map(image).collect();
        let is_alike = |own: &OperatorImage| {
            let factors = images.iter().filter_map(|image| image.multiple_of(own));
            factors.into_iter().any(|factor| (factor.norm() - 1.0).abs() < ROUNDING)
        };
        let found = known.iter().find(|(_, own)| is_alike(own)).map(|(place, _)| *place);
        first.push(found.unwrap_or(number));
        if let (None, Some(own)) = (found, images.into_iter().next()) {
            known.push((number, own));
        }
    }
    first
}

/// Symmetries of H that take every part of the level to itself, the identity first.
fn symmetries(problem: &LatticeProblem, level: &[&LevelStates]) -> Vec<GroupElement> {
    let operator = problem.file.operator().reduced();
    let plain = GroupElement::identity(problem.model.site_kinds().len());
    let mut elements = vec![plain];
    if let Ok(group) = Symmetry::new().point_group_of(&operator, &problem.model.sector().charge_values()) {
        elements.extend(group.operations().map(|operation| GroupElement::permutation(&operation.place)));
    }
    if !operator.is_complex() {
        let conjugated = |own: &GroupElement| GroupElement { conjugates: true, ..own.clone() };
        elements.extend(elements.iter().map(conjugated).collect::<Vec<_>>());
    }
    let keeps = |element: &GroupElement| {
        let mut groups = level.iter().filter_map(|states| states.model.symmetry_group());
        groups.all(|(group, _)| group.is_kept_by(element))
    };
    elements.retain(keeps);
    elements
}
