//! Predicts ψ of a chain that has grown by two sites from the two previous steps (McCulloch, arXiv:0804.2509, section
//! III).
//!
//! In: ψ of the last step in the states kept on either side, S Vᵀ and U S, and the overlap s of the states kept on both
//! sides in the step before. Out: ψ'[(a, σ'), (σ, b)] = Σ_{r l} (S Vᵀ)[a, (σ', r)] s⁻¹[r, l] (U S)[(l, σ), b]: the two
//! sites between the blocks are inserted again between their grown copies, and s⁻¹ removes the bond that both factors
//! contain. Charges fit if the sectors of three steps are evenly spaced.

use super::blocks::Side;
use super::bond::Frame;
use super::truncate::{Centre, Truncated};
use crate::error::DmrgError;
use eigenforge_runtime::backend::{Backend, Operands};
use eigenforge_runtime::dense::{View, decompose};
use eigenforge_runtime::records::{Action, Operand, OperandSpace, Record, RecordGroup, RecordStage};

/// Singular values below this fraction of the largest are not inverted: weights of 1e-15 of the largest are rounding
/// errors.
const SMALLEST: f64 = 3e-8;

/// What a step stores for the prediction two steps later.
pub(crate) struct Overlap<B> {
    /// For each sector of the frame that kept states on both sides: (right kept sector, left kept sector, offset of s⁻¹).
    pairs: Vec<(usize, usize, usize)>,
    /// (right × left) matrices s⁻¹.
    inverse: B,
    /// States of the left kept sectors, by sector.
    left: Vec<usize>,
    right: Vec<usize>,
}

/// A bond of a growing chain after its truncation from both sides.
pub(crate) struct PredictionStep<'a, B> {
    /// Its blocks.
    pub frame: &'a Frame,
    /// The left block's states.
    pub left: &'a Truncated<B>,
    /// The right block's.
    pub right: &'a Truncated<B>,
}

impl<B> PredictionStep<'_, B> {
    /// s⁻¹ of the step, where s is ψ between the states kept on both sides.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn overlap<E: Backend<Buffer = B>>(&self, engine: &E) -> Result<Overlap<B>, DmrgError> {
        let (mut stage, mut sizes, mut pairs) = (RecordStage::default(), Vec::new(), Vec::new());
        for (sector, block) in self.frame.layout.sectors.iter().zip(&self.left.centre.blocks) {
            let (Some(c), Some(v)) = (block, self.right.kept.block(sector.right)) else { continue };
            let Some(u) = self.left.kept.block(sector.left) else { continue };
            let a = plain(OperandSpace::Input, c.offset, c.rows);
            let b = plain(OperandSpace::Right, v.offset, v.rows);
            let records = vec![product(a, b, v.rows, 0, c.rows, c.rows, v.columns)];
            pairs.push((v.kept_sector, u.kept_sector, stage.push(c.rows * v.columns, records)));
            sizes.push((c.rows, v.columns));
        }
        let operands = Operands::default().set(OperandSpace::Input, &self.left.centre.data);
        let overlaps = engine.run(&stage, operands.set(OperandSpace::Right, &self.right.kept.data))?;
        let overlaps = engine.download(&overlaps)?;
        let mut inverse = Vec::with_capacity(overlaps.len());
        for ((_, _, offset), (rows, columns)) in pairs.iter().zip(&sizes) {
            inverse.extend(pseudo_inverse(&overlaps[*offset..][..rows * columns], *rows, *columns)?);
        }
        let dimensions = |truncated: &Truncated<B>| {
            (0..truncated.kept.kept.len()).map(|q| truncated.kept.kept.dimension(q)).collect::<Vec<_>>()
        };
        let (left, right) = (dimensions(self.left), dimensions(self.right));
        Ok(Overlap { pairs, inverse: engine.upload(inverse)?, left, right })
    }

    /// ψ over the frame of the chain with two more sites.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn wave<E: Backend<Buffer = B>>(
        &self,
        engine: &E,
        before: &Overlap<B>,
        next: &Frame,
    ) -> Result<B, DmrgError> {
        let mut first = RecordStage::default();
        let group = |s: &super::blocks::PairedSector| RecordGroup {
            offset: s.offset,
            length: s.rows * s.columns,
            records: Vec::new(),
        };
        let mut second =
            RecordStage { groups: next.layout.sectors.iter().map(group).collect(), length: next.layout.length };
        // For each kept sector of a side, the sector of ψ whose centre contains it.
        let mut of_left = vec![None; self.left.kept.kept.len()];
        let mut of_right = vec![None; self.right.kept.kept.len()];
        for (index, sector) in self.frame.layout.sectors.iter().enumerate() {
            if let Some(kept) = self.left.kept.block(sector.left) {
                of_left[kept.kept_sector] = Some(index);
            }
            if let Some(kept) = self.right.kept.block(sector.right) {
                of_right[kept.kept_sector] = Some(index);
            }
        }
        for (index, target) in next.layout.sectors.iter().enumerate() {
            for a in &next.left.parts[target.left] {
                let Some(c) = self.factor(Side::Left, of_left[a.block], a.state) else { continue };
                let Some((_, l, inverse)) = before.pairs.iter().copied().find(|(r, ..)| *r == c.inner) else {
                    continue;
                };
                let (inner, width) = (before.right[c.inner], before.left[l]);
                let x = plain(OperandSpace::Left, c.offset, c.stride);
                let y = plain(OperandSpace::Input, inverse, inner);
                let records = vec![product(x, y, inner, 0, a.dimension, a.dimension, width)];
                let offset = first.push(a.dimension * width, records);
                for b in &next.right.parts[target.right] {
                    let Some(d) = self.factor(Side::Right, of_right[b.block], b.state) else { continue };
                    if d.inner != l {
                        continue;
                    }
                    let x = plain(OperandSpace::Between, offset, a.dimension);
                    let y = plain(OperandSpace::Right, d.offset, d.stride);
                    let at = a.first + b.first * target.rows;
                    let record = product(x, y, width, at, target.rows, a.dimension, b.dimension);
                    second.groups[index].records.push(record);
                }
            }
        }
        let operands = Operands::default()
            .set(OperandSpace::Left, &self.left.centre.data)
            .set(OperandSpace::Right, &self.right.centre.data)
            .set(OperandSpace::Input, &before.inverse);
        let between = engine.run(&first, operands)?;
        Ok(engine.run(&second, operands.set(OperandSpace::Between, &between))?)
    }

    /// The part of a centre with one state of the other side's site: columns (σ', r) of S Vᵀ, rows (l, σ) of U S.
    fn factor(&self, side: Side, sector: Option<usize>, state: usize) -> Option<Factor> {
        let index = sector?;
        let pair = &self.frame.layout.sectors[index];
        let (centre, parts): (&Centre<B>, _) = match side {
            Side::Left => (&self.left.centre, &self.frame.right.parts[pair.right]),
            Side::Right => (&self.right.centre, &self.frame.left.parts[pair.left]),
        };
        let block = centre.blocks[index]?;
        let part = parts.iter().find(|part| part.state == state)?;
        let inside = if side == Side::Left { part.first * block.rows } else { part.first };
        Some(Factor { inner: part.block, offset: block.offset + inside, stride: block.rows })
    }
}

/// A part of a centre.
struct Factor {
    /// The sector of the block beyond the site.
    inner: usize,
    offset: usize,
    stride: usize,
}

fn plain(space: OperandSpace, offset: usize, stride: usize) -> Operand {
    Operand { space, offset, stride, transposed: false }
}

fn product(a: Operand, b: Operand, inner: usize, first: usize, stride: usize, rows: usize, columns: usize) -> Record {
    Record { action: Action::Product { a, b, inner }, coefficient: 1.0, first, stride, rows, columns }
}

/// The (columns × rows) pseudo-inverse of a matrix. Kept states are ordered by descending weight, so only the first rows
/// and columns matter: at a fixed m larger than ψ needs, decomposing all of it would take longer than the step.
fn pseudo_inverse(matrix: &[f64], rows: usize, columns: usize) -> Result<Vec<f64>, DmrgError> {
    let (first_rows, first_columns) = significant(matrix, rows, columns);
    let mut inverse = vec![0.0; rows * columns];
    if first_rows == 0 || first_columns == 0 {
        return Ok(inverse);
    }
    let all = View::new(matrix, rows, columns);
    let found = decompose(View { rows: first_rows, columns: first_columns, ..all })?;
    let largest = found.s.first().copied().unwrap_or(0.0);
    for (j, column) in inverse.chunks_exact_mut(columns.max(1)).take(first_rows).enumerate() {
        for (n, s) in found.s.iter().enumerate().filter(|(_, s)| **s > SMALLEST * largest) {
            let factor = found.u[(j, n)] / s;
            (0..first_columns).for_each(|i| column[i] += factor * found.v[(i, n)]);
        }
    }
    Ok(inverse)
}

/// The number of leading rows and columns; none after them reaches the norm of an inverted singular value.
fn significant(matrix: &[f64], rows: usize, columns: usize) -> (usize, usize) {
    let (mut of_rows, mut of_columns) = (vec![0.0; rows], vec![0.0; columns]);
    for (column, square) in matrix.chunks_exact(rows.max(1)).zip(&mut of_columns) {
        of_rows.iter_mut().zip(column).for_each(|(sum, x)| *sum += x * x);
        *square = column.iter().map(|x| x * x).sum::<f64>();
    }
    // The largest singular value is at least the norm of a row.
    let least = of_rows.iter().fold(0.0f64, |most, square| most.max(*square)) * SMALLEST.powi(2);
    let first = |squares: &[f64]| squares.iter().rposition(|square| *square > least).map_or(0, |last| last + 1);
    (first(&of_rows), first(&of_columns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use eigenforge_runtime::seeded::vector;

    /// s⁻¹ s is the identity on the significant part, and states without weight after it change nothing.
    #[test]
    fn states_without_weight_take_no_part_in_the_inverse() {
        let (n, rows, columns) = (4, 7, 9);
        let random = vector(n * n, 5);
        let small: Vec<f64> = (0..n * n).map(|e| random[e] + if e % n == e / n { 3.0 } else { 0.0 }).collect();
        let mut large: Vec<f64> = vector(rows * columns, 6).iter().map(|x| 1e-14 * x).collect();
        (0..n * n).for_each(|e| large[e % n + e / n * rows] = small[e]);
        let (of_small, of_large) =
            (pseudo_inverse(&small, n, n).unwrap(), pseudo_inverse(&large, rows, columns).unwrap());
        for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let product: f64 = (0..n).map(|k| of_small[i + k * n] * small[k + j * n]).sum();
            assert!((product - if i == j { 1.0 } else { 0.0 }).abs() < 1e-12, "{i}, {j}: {product}");
        }
        for (i, j) in (0..columns).flat_map(|i| (0..rows).map(move |j| (i, j))) {
            let expected = if i < n && j < n { of_small[i + j * n] } else { 0.0 };
            assert!((of_large[i + j * columns] - expected).abs() < 1e-12, "{i}, {j}");
        }
    }
}
