//! How large H is in its sector, which scales every tolerance.
//!
//! In: a prepared multiply. Out: bounds of the norm of H and of its off-diagonal part. What acts on no state of the sector counts for
//! nothing: in sectors of up to [`LISTED`] states the diagonal is taken from its elements and the moves from the rows; in larger
//! ones from what the terms allow with the sector's particle numbers.

use super::cpu::HostMultiply;
use super::model::Model;
use super::prepared::Prepared;
use crate::basis::{Basis, Sector};
use eigenforge_templates::exact::{DiagonalPlan, FlipGroup};
use rayon::prelude::*;

/// States of sectors whose elements are looked at one by one.
const LISTED: usize = 1 << 18;
/// Terms of all rows that are looked at.
const MOST_TERMS: usize = 1 << 26;

/// Upper bounds of spectral norms.
#[derive(Clone, Copy, Debug)]
pub(super) struct NormBounds {
    /// Of H without the model's constant.
    pub(super) whole: f64,
    /// Of H without its diagonal.
    pub(super) moving: f64,
}

impl NormBounds {
    /// Of what nothing is known; a solve refuses it.
    pub(super) const UNKNOWN: NormBounds = NormBounds { whole: f64::NAN, moving: f64::NAN };

    /// The largest |D| and the largest row sum of |moves|. `None` of a stored matrix, which the operator on the device bounds by its rows.
    pub(super) fn new(prepared: &Prepared, model: &Model) -> Option<NormBounds> {
        let (diagonal, moving) = match prepared {
            Prepared::Kronecker { plan, up, down } => (&plan.diagonal, up.norm_bound() + down.norm_bound()),
            Prepared::General { plan, .. } => (&plan.diagonal, rows_of(&plan.groups, model.basis())),
            Prepared::Symmetric(rows) => {
                let groups = rows.plan().groups.iter().chain(&rows.plan().imaginary);
                (&rows.plan().diagonal, groups.map(FlipGroup::norm_bound).sum())
            }
            Prepared::Strings(rows) => (&rows.plan().diagonal, rows.moves_bound()),
            Prepared::Pairs(rows) => (&rows.plan().diagonal, rows.moves_bound()),
            Prepared::Stored(_) => return None,
        };
        let largest = largest_element(prepared).unwrap_or_else(|| largest_allowed(diagonal, model));
        Some(NormBounds { whole: largest + moving, moving })
    }
}

/// The largest |D|, from the elements.
fn largest_element(prepared: &Prepared) -> Option<f64> {
    let dimension = prepared.dimension();
    if dimension > LISTED {
        return None;
    }
    let host = HostMultiply::new(prepared);
    Some((0..dimension).into_par_iter().map(|index| host.diagonal(index).abs()).reduce(|| 0.0, f64::max))
}

/// The largest |D| that the terms allow.
fn largest_allowed(diagonal: &DiagonalPlan, model: &Model) -> f64 {
    let particles = match model.sector() {
        Sector::Fermions { up, down } => [*up as u32, *down as u32],
        Sector::Spins { .. } | Sector::Charges(_) => [u32::MAX; 2],
    };
    let (low, high) = diagonal.range(particles);
    low.abs().max(high.abs())
}

/// The largest row sum of |moves|, from the rows where they are few.
fn rows_of(groups: &[FlipGroup], basis: &Basis) -> f64 {
    let terms: usize = groups.iter().map(|group| group.terms.len()).sum();
    let dimension = basis.dimension() as usize;
    if dimension > LISTED || dimension.saturating_mul(terms) > MOST_TERMS {
        return groups.iter().map(FlipGroup::norm_bound).sum();
    }
    let row = |index: usize| {
        let state = basis.state(index as u64) as u64;
        let acting = |group: &FlipGroup| -> f64 {
            let terms = group.terms.iter().filter(|term| state & term.care == term.pattern);
            terms.map(|term| term.amplitude.abs()).sum()
        };
        groups.iter().map(acting).sum::<f64>()
    };
    (0..dimension).into_par_iter().map(row).reduce(|| 0.0, f64::max)
}
