//! Two blocks and two sites: the layout of ψ over them, and the operators of both sides.
//!
//! In: the blocks at both sides of a bond, an operator sum. Out: their enlarged states, ψ's layout, the operators of the
//! cut on each side, and the diagonal of H for the preconditioner.

use super::blocks::{Enlarged, PairedSector, Sectors, Side, WaveLayout};
use super::enlarged::EnlargedOperators;
use super::environment::Environment;
use super::state::Isometry;
use super::superblock;
use super::truncate::Wave;
use crate::chain::Chain;
use crate::chain::operator_sum::OperatorSum;
use crate::error::DmrgError;
use eigenforge_runtime::backend::{Backend, Operands};
use eigenforge_runtime::records::{OperandSpace, TwoStages};
use rayon::prelude::*;
use std::ops::Deref;

/// Elements of ψ times operators from which on its diagonal is worth waking other threads for.
const WORTH_THREADS: usize = 1 << 20;

/// Two enlarged blocks and the layout of ψ over them.
pub struct Frame {
    /// The left block.
    pub left: Enlarged,
    /// The right block.
    pub right: Enlarged,
    /// The layout of ψ.
    pub layout: WaveLayout,
}

impl Frame {
    /// The frame of the blocks that end at cut `p` and begin at cut `p + 2`.
    pub fn new(chain: &Chain, p: usize, left: &Sectors, right: &Sectors) -> Frame {
        let (left, right) = (chain.enlarge(Side::Left, left, p), chain.enlarge(Side::Right, right, p + 2));
        let layout = WaveLayout::new(&left.sectors, &right.sectors, chain.total);
        Frame { left, right, layout }
    }

    /// A wave function with this layout.
    pub fn wave<'a, B>(&'a self, data: &'a B) -> Wave<'a, B> {
        Wave { layout: &self.layout, data, left: &self.left, right: &self.right }
    }
}

/// Two enlarged blocks with their operators.
pub struct TwoSiteBond<B = Vec<f64>> {
    /// Their states.
    pub frame: Frame,
    /// Operators of the left block.
    pub left_operators: EnlargedOperators<B>,
    /// Operators of the right block.
    pub right_operators: EnlargedOperators<B>,
}

impl<B> TwoSiteBond<B> {
    /// The superblock of the blocks that end at cut `p` and begin at cut `p + 2`, for the sum `sum`.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn new<E: Backend<Buffer = B>>(
        engine: &E,
        chain: &Chain,
        sum: &OperatorSum,
        p: usize,
        left: &Environment<B>,
        right: &Environment<B>,
    ) -> Result<TwoSiteBond<B>, DmrgError> {
        let frame = Frame::new(chain, p, &left.sectors, &right.sectors);
        let (mut of_left, mut of_right) = (vec![1; frame.left.sectors.len()], vec![1; frame.right.sectors.len()]);
        for sector in &frame.layout.sectors {
            of_left[sector.left] = sector.columns;
            of_right[sector.right] = sector.rows;
        }
        let left_operators = chain.operators(engine, sum, Side::Left, p, left, &frame.left, &of_left)?;
        let right_operators = chain.operators(engine, sum, Side::Right, p + 2, right, &frame.right, &of_right)?;
        Ok(TwoSiteBond { frame, left_operators, right_operators })
    }

    /// H as records.
    pub fn superblock(&self) -> TwoStages {
        superblock::superblock(&self.left_operators, &self.right_operators, &self.frame.layout)
    }

    /// The buffers that its records read.
    pub fn operands<'a>(&'a self, left: &'a Environment<B>, right: &'a Environment<B>) -> Operands<'a, B> {
        Operands::default()
            .set(OperandSpace::Left, &left.data)
            .set(OperandSpace::LeftSum, &self.left_operators.sums)
            .set(OperandSpace::Right, &right.data)
            .set(OperandSpace::RightSum, &self.right_operators.sums)
    }
}

impl<B: Deref<Target = [f64]> + Sync> TwoSiteBond<B> {
    /// The diagonal of H, for the preconditioner: Σ_b diag(A_b)_i diag(B_b)_j.
    pub fn diagonal(&self, left: &Environment<B>, right: &Environment<B>) -> Vec<f64> {
        let mut diagonal = vec![0.0; self.frame.layout.length];
        let (mut tasks, mut rest) = (Vec::with_capacity(self.frame.layout.sectors.len()), diagonal.as_mut_slice());
        for sector in &self.frame.layout.sectors {
            let (own, behind) = rest.split_at_mut(sector.rows * sector.columns);
            tasks.push((sector, own));
            rest = behind;
        }
        let add = |(sector, out): (&PairedSector, &mut [f64])| {
            let (mut a, mut b) = (vec![0.0; sector.rows], vec![0.0; sector.columns]);
            // Operators side by side have the same blocks.
            let remains = |group: &&Vec<usize>| self.left_operators.maps_to_itself(group[0], sector.left);
            for operator in self.left_operators.groups.iter().filter(remains).flatten().copied() {
                a.fill(0.0);
                b.fill(0.0);
                let there = self.left_operators.diagonal(operator, sector.left, &left.data, &mut a)
                    && self.right_operators.diagonal(operator, sector.right, &right.data, &mut b);
                if there {
                    for (column, b) in out.chunks_exact_mut(sector.rows).zip(&b) {
                        column.iter_mut().zip(&a).for_each(|(d, a)| *d += a * b);
                    }
                }
            }
        };
        if self.frame.layout.length * self.left_operators.blocks.len() > WORTH_THREADS {
            tasks.into_par_iter().with_max_len(1).for_each(add);
        } else {
            tasks.into_iter().for_each(add);
        }
        diagonal
    }
}

/// The operators of `sum` on the block behind cut `cut` plus the site next to it, projected onto the kept states.
#[expect(clippy::too_many_arguments, reason = "the chain, a sum, a place and what stands there")]
pub(crate) fn carried_over<E: Backend>(
    engine: &E,
    chain: &Chain,
    sum: &OperatorSum,
    side: Side,
    cut: usize,
    behind: &Environment<E::Buffer>,
    enlarged: &Enlarged,
    kept: &Isometry<E::Buffer>,
) -> Result<Environment<E::Buffer>, DmrgError> {
    let widths: Vec<usize> = (0..enlarged.sectors.len()).map(|q| kept.block(q).map_or(1, |b| b.columns)).collect();
    let operators = chain.operators(engine, sum, side, cut, behind, enlarged, &widths)?;
    let (own, summed) = side.spaces();
    let operands = Operands::default().set(own, &behind.data).set(summed, &operators.sums);
    Environment::project(engine, &operators, operands, kept, Chain::identity(sum, side, cut))
}
