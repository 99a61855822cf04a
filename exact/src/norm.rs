//! How large H is in its sector, which scales every tolerance.
//!
//! In: a prepared multiply. Out: bounds of the norm of H and of its off-diagonal part. What acts on no state of the sector counts for
//! nothing: in sectors of up to [`LISTED`] states the diagonal is taken from its elements and the moves from the rows; in larger
//! ones from what the terms allow with the sector's particle numbers.

use eigenforge_core::basis::LinTables;
use eigenforge_product::{Multiply, NormBounds};
use eigenforge_templates::exact::{DiagonalPlan, FlipGroup};
use rayon::prelude::*;

/// States of sectors whose elements are looked at one by one.
const LISTED: usize = 1 << 18;
/// Terms of all rows that are looked at.
const MOST_TERMS: usize = 1 << 26;

/// Bounds of a multiply with this diagonal, `particles` electrons of each spin, and moves of which `moving` is a bound.
pub(super) fn bounds(multiply: &dyn Multiply, diagonal: &DiagonalPlan, particles: [u32; 2], moving: f64) -> NormBounds {
    let largest = largest_element(multiply).unwrap_or_else(|| {
        let (low, high) = diagonal.range(particles);
        low.abs().max(high.abs())
    });
    NormBounds { whole: largest + moving, moving }
}

/// The largest |D|, from the elements.
fn largest_element(multiply: &dyn Multiply) -> Option<f64> {
    let dimension = multiply.dimension();
    if dimension > LISTED {
        return None;
    }
    let host = multiply.host().ok()?;
    Some((0..dimension).into_par_iter().map(|index| host.diagonal(index).abs()).reduce(|| 0.0, f64::max))
}

/// The largest row sum of |moves|, from the rows where they are few.
pub(super) fn largest_row_sum(groups: &[FlipGroup], tables: &LinTables) -> f64 {
    let terms: usize = groups.iter().map(|group| group.terms.len()).sum();
    let dimension = tables.dimension() as usize;
    if dimension > LISTED || dimension.saturating_mul(terms) > MOST_TERMS {
        return groups.iter().map(FlipGroup::norm_bound).sum();
    }
    let row = |index: usize| {
        let state = tables.state(index as u64);
        let acting = |group: &FlipGroup| -> f64 {
            let terms = group.terms.iter().filter(|term| state & term.care == term.pattern);
            terms.map(|term| term.amplitude.abs()).sum()
        };
        groups.iter().map(acting).sum::<f64>()
    };
    (0..dimension).into_par_iter().map(row).reduce(|| 0.0, f64::max)
}
