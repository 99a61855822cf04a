//! States that a block needs for terms of H on sites further apart than two.
//!
//! In: ψ of a bond, the states that a split keeps of a block, the operators A_b of the block, a time τ. Out: the same states joined by those
//! that H makes of ψ within τ, which have no weight yet. Two sites in one solve let neighbours change together; a term on distant sites
//! changes ψ only if the blocks between have the states for it, and nothing else would ever bring them in. They are the eigenvectors of
//! Q P Q with Q the projector beside the kept states and P = τ² Σ_b β_b² A_b ψ ψ† A_b†, where β_b bounds the norm of what H multiplies A_b with.
//! As of a perturbed density matrix (White, Phys. Rev. B 72, 180403 (2005)), but ψ itself stays as it is.
//!
//! Eigenvalues are weights that ψ might get within τ. States below the limit of a truncation are left out, as they would be dropped by the
//! next one; what is left out is counted like weight that is dropped.

use super::split::column_pairs;
use crate::block::blocks::Side;
use crate::block::enlarged::EnlargedOperators;
use crate::block::state::Isometry;
use crate::block::truncate::{Centre, CentreBlock, Truncated, TruncationLimits, Wave, weighted_stages};
use crate::chain::Chain;
use crate::engine::Engine;
use crate::error::DmrgError;
use eigenforge_runtime::BackendError;
use eigenforge_runtime::backend::Operands;
use eigenforge_runtime::records::OperandSpace;
use faer::{Mat, c64};

/// Bounds of the norms of the operators of each cut, of the left and the right part.
pub(super) struct Norms {
    left: Vec<Vec<f64>>,
    right: Vec<Vec<f64>>,
}

impl Norms {
    /// `None` where no term acts on sites further apart than neighbours.
    pub(super) fn new(chain: &Chain) -> Option<Norms> {
        // Blocks keep i times each state, so the auxiliary site is next to every site.
        let auxiliary = chain.sites - chain.order.len();
        let span = |positions: &mut dyn Iterator<Item = usize>| {
            let (least, most) = positions.fold((usize::MAX, 0), |(least, most), p| (least.min(p), most.max(p)));
            most.saturating_sub(least)
        };
        let is_far = chain.terms.iter().any(|term| {
            span(&mut term.operators.iter().map(|(position, _)| *position).filter(|position| *position >= auxiliary))
                > 1
        });
        if !is_far {
            return None;
        }
        let (sum, n) = (&chain.sum, chain.sites);
        let mut left: Vec<Vec<f64>> = sum.cuts.iter().map(|cut| vec![0.0; cut.width()]).collect();
        let mut right = left.clone();
        (left[0], right[n]) = (vec![1.0], vec![1.0]);
        let size = |operator| if operator == 0 { 1.0 } else { sum.operators.get(operator).matrix.norm_bound() };
        for p in 0..n {
            for entry in &sum.sites[p] {
                let part = entry.coefficient.abs() * size(entry.operator) * left[p][entry.from];
                left[p + 1][entry.to] += part;
            }
        }
        for p in (0..n).rev() {
            for entry in &sum.sites[p] {
                let part = entry.coefficient.abs() * size(entry.operator) * right[p + 1][entry.to];
                right[p][entry.from] += part;
            }
        }
        Some(Norms { left, right })
    }

    /// β_b of the operators of a block on `side` that ends at a cut.
    pub(super) fn partner_norms(&self, side: Side, cut: usize) -> &[f64] {
        match side {
            Side::Left => &self.right[cut],
            Side::Right => &self.left[cut],
        }
    }
}

/// Q P Q of a sector, its eigenvectors with descending eigenvalues, as real columns; of pairs with i times each.
fn directions(p: &[f64], kept: &Mat<f64>, in_pairs: bool) -> Result<(Vec<f64>, Vec<Mat<f64>>), DmrgError> {
    let d = kept.nrows();
    let width = if in_pairs { 2 } else { 1 };
    let (rows, columns) = (d / width, kept.ncols() / width);
    let element = |i: usize, j: usize| p[i + j * d];
    let whole = Mat::from_fn(rows, rows, |i, j| match in_pairs {
        false => c64::new(element(i, j), 0.0),
        true => c64::new(
            element(2 * i, 2 * j) + element(2 * i + 1, 2 * j + 1),
            element(2 * i + 1, 2 * j) - element(2 * i, 2 * j + 1),
        ),
    });
    let states = Mat::from_fn(rows, columns, |i, j| match in_pairs {
        false => c64::new(kept[(i, j)], 0.0),
        true => c64::new(kept[(2 * i, 2 * j)], kept[(2 * i + 1, 2 * j)]),
    });
    let beside = |matrix: &Mat<c64>| matrix - &states * (states.adjoint() * matrix);
    let once = beside(&whole);
    let twice = beside(&once.adjoint().to_owned());
    let found = twice.self_adjoint_eigen(faer::Side::Lower);
    let found = found.map_err(|_| BackendError::Decomposition { rows, columns: rows })?;
    let values: Vec<f64> = found.S().column_vector().iter().rev().map(|value| value.re.max(0.0)).collect();
    let column = |k: usize| {
        let vector = found.U().col(rows - 1 - k);
        // Again beside the kept states, for weights that are small.
        let vector = Mat::from_fn(rows, 1, |i, _| vector[i]);
        let vector = beside(&beside(&vector));
        let norm = vector.norm_l2();
        if in_pairs {
            column_pairs(&Mat::from_fn(rows, 1, |i, _| vector[(i, 0)] / norm))
        } else {
            Mat::from_fn(rows, 1, |i, _| vector[(i, 0)].re / norm)
        }
    };
    let columns = (0..rows.saturating_sub(columns)).map(column).collect();
    Ok((values, columns))
}

/// P of an engine's operators on the host, one matrix per sector of the block on `side`; `weight` is that of each operator.
///
/// # Errors
/// Errors of the engine.
pub(super) fn reached<E: Engine>(
    engine: &E,
    wave: Wave<'_, E::Buffer>,
    side: Side,
    operators: &EnlargedOperators<E::Buffer>,
    operands: Operands<'_, E::Buffer>,
    weight: impl Fn(usize) -> f64,
) -> Result<Vec<Vec<f64>>, DmrgError> {
    let (first, second) = weighted_stages(wave, side, operators, weight);
    let operands = operands.set(OperandSpace::Input, wave.data);
    let between = engine.run(&first, operands)?;
    let found = engine.run(&second, operands.set(OperandSpace::Between, &between))?;
    let found = engine.download(&found)?;
    Ok(second.groups.iter().map(|group| found[group.offset..][..group.length].to_vec()).collect())
}

/// Joins the kept states by what H makes of ψ; `density` is P, one matrix per sector of the block on `side`. Also returns the weight of
/// what is left out.
///
/// # Errors
/// A number is not finite.
pub(super) fn join_reached<B>(
    wave: Wave<'_, B>,
    side: Side,
    truncated: Truncated,
    density: &[Vec<f64>],
    in_pairs: bool,
    limits: TruncationLimits,
) -> Result<(Truncated, f64), DmrgError> {
    let own = wave.sectors_of(side);
    let width = if in_pairs { 2 } else { 1 };
    let kept_of = |q: usize| match truncated.kept.block(q) {
        Some(block) => {
            Mat::from_fn(block.rows, block.columns, |i, j| truncated.kept.data[block.offset + i + j * block.rows])
        }
        None => Mat::zeros(own.dimension(q), 0),
    };
    let kept: Vec<Mat<f64>> = (0..own.len()).map(kept_of).collect();
    let mut found = Vec::new();
    for (q, states) in kept.iter().enumerate() {
        let is_whole = states.ncols() == states.nrows() || density[q].iter().all(|value| *value == 0.0);
        found.push(if is_whole { (Vec::new(), Vec::new()) } else { directions(&density[q], states, in_pairs)? });
    }
    let mut all: Vec<(f64, usize)> = Vec::new();
    for (q, (values, columns)) in found.iter().enumerate() {
        all.extend(values.iter().take(columns.len()).map(|value| (*value, q)));
    }
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let room = limits.most.saturating_sub(truncated.kept.kept.total() / width);
    let mut counts = vec![0; own.len()];
    let mut left_out = 0.0;
    for (place, (weight, q)) in all.iter().enumerate() {
        if place < room && *weight > limits.discarded {
            counts[*q] += 1;
        } else {
            left_out += weight;
        }
    }
    if counts.iter().all(|count| *count == 0) {
        return Ok((truncated, left_out));
    }
    let matrices: Vec<Option<Mat<f64>>> = kept
        .iter()
        .zip(&found)
        .zip(&counts)
        .map(|((states, (_, columns)), count)| {
            let more: Vec<&Mat<f64>> = columns.iter().take(*count).collect();
            let (rows, before) = (states.nrows(), states.ncols());
            Some(Mat::from_fn(rows, before + width * count, |i, j| match j.checked_sub(before) {
                None => states[(i, j)],
                Some(j) => more[j / width][(i, j % width)],
            }))
        })
        .collect();
    let (mut data, mut blocks) = (Vec::new(), Vec::new());
    for (index, pair) in wave.layout.sectors.iter().enumerate() {
        let q = wave.block_sector(side, index);
        let columns = kept[q].ncols() + width * counts[q];
        if columns == 0 {
            blocks.push(None);
            continue;
        }
        let (rows, columns) = if side == Side::Left { (columns, pair.columns) } else { (pair.rows, columns) };
        let offset = data.len();
        data.resize(offset + rows * columns, 0.0);
        if let Some(before) = truncated.centre.blocks[index] {
            for column in 0..before.columns {
                let from = before.offset + column * before.rows;
                data[offset + column * rows..][..before.rows]
                    .copy_from_slice(&truncated.centre.data[from..from + before.rows]);
            }
        }
        blocks.push(Some(CentreBlock { offset, rows, columns }));
    }
    let (kept, centre) = (Isometry::new(own, &matrices), Centre { blocks, data });
    Ok((Truncated { kept, centre, ..truncated }, left_out))
}
