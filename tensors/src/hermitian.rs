//! The half of a Hermitian operator's strengths from which the others follow.
//!
//! In: strengths of the groups with na + nb ≥ nc + nd. Out: those of the others. The adjoint of a tensor mixes κ0 and ρ0, so it is
//! taken of the elements, u(cd, ab) = u(ab, cd): back to u, transposed, and forward again, group by group.

use super::channel::ByChannel;
use super::plan::{Group, Plan};
use super::table_cache::TableCache;
use super::tables::Tables;
use super::transform::{forward_group, inverse_group};
use eigenforge_su3::LabelError;
use std::collections::HashMap;
use std::io;

/// Σ C² of a group and its adjoint may differ by this part of it.
const ROUNDING: f64 = 1e-9;

/// Computes groups of which a table has no number from their adjoints, where it has all of these. Missing numbers are NaN.
///
/// # Errors
///
/// Angular momenta beyond the range of the coefficients.
pub(super) fn fill(plan: &Plan, read: &mut ByChannel) -> Result<(), LabelError> {
    let absent = |vector: &[f64], group: &Group| vector[group.start..][..group.length].iter().all(|c| c.is_nan());
    let whole = |vector: &[f64], group: &Group| vector[group.start..][..group.length].iter().all(|c| !c.is_nan());
    let mut tables: Option<Tables> = None;
    for group in plan.groups.iter().filter(|group| group.bra_quanta < group.ket_quanta) {
        let Some(adjoint) = plan.group(group.ket_quanta, group.bra_quanta) else { continue };
        let wanted = |vector: &[f64]| absent(vector, group) && whole(vector, adjoint);
        if !read.vectors.iter().any(|(_, vector)| wanted(vector)) {
            continue;
        }
        let tables = match &mut tables {
            Some(tables) => tables,
            empty => empty.insert(Tables::of_pairs(plan, TableCache::off())?),
        };
        tables.load_groups(&[group, adjoint]);
        for (_, vector) in read.vectors.iter_mut().filter(|(_, vector)| wanted(vector)) {
            let mut elements = vec![0.0; adjoint.length];
            inverse_group(adjoint, tables, &vector[adjoint.start..][..adjoint.length], &mut elements);
            let elements = transposed(adjoint, group, &elements);
            forward_group(group, tables, &elements, &mut vector[group.start..][..group.length]);
        }
    }
    Ok(())
}

/// Elements of a group from those of its adjoint.
fn transposed(adjoint: &Group, group: &Group, elements: &[f64]) -> Vec<f64> {
    let mut turned = vec![0.0; group.length];
    for (at, quadruple) in group.quadruples.iter().enumerate() {
        let (bra, ket) = (at / group.kets.len(), at % group.kets.len());
        let other = &adjoint.quadruples[ket * adjoint.kets.len() + bra];
        for (block, from) in quadruple.blocks.iter().zip(&other.blocks) {
            let (to, from) = (quadruple.offset + block.offset, other.offset + from.offset);
            for (row, column) in (0..block.rows).flat_map(|row| (0..block.columns).map(move |column| (row, column))) {
                turned[to + row * block.columns + column] = elements[from + column * block.rows + row];
            }
        }
    }
    turned
}

/// Σ C² of the groups that are left out, by quanta and channel.
#[derive(Default)]
pub(super) struct HermitianNorms {
    left_out: HashMap<(u32, u32), Vec<f64>>,
}

impl HermitianNorms {
    /// Whether a group belongs to the half; groups come in the order of the plan.
    ///
    /// # Errors
    ///
    /// A group whose norm is not that of its adjoint.
    pub(super) fn keeps(&mut self, group: &Group, vectors: &[Vec<f64>]) -> io::Result<bool> {
        let norms: Vec<f64> = vectors.iter().map(|vector| vector.iter().map(|c| c * c).sum()).collect();
        let (bra, ket) = (group.bra_quanta, group.ket_quanta);
        if bra < ket {
            self.left_out.insert((ket, bra), norms);
            return Ok(false);
        }
        let others = self.left_out.remove(&(bra, ket)).unwrap_or_else(|| norms.clone());
        let differs = |(a, b): (&f64, &f64)| (a - b).abs() > ROUNDING * (a + b) + f64::MIN_POSITIVE;
        match norms.iter().zip(&others).any(differs) {
            false => Ok(true),
            true => Err(io::Error::other(format!(
                "labels-half is for Hermitian operators, but the sum of C^2 for na + nb = {bra}, nc + nd = {ket} is {norms:?} by channel, \
                 and {others:?} for the adjoint: choose another --format"
            ))),
        }
    }
}
