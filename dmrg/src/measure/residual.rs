//! ⟨H²⟩ − ⟨H⟩² as ‖(H − E) ψ‖², with the left part of Hψ in few vectors and without the operator sum of H².
//!
//! In: ψ at the first bond, kept states V_p and right blocks of all sites. Out: the variance and its standard error. Because the kept
//! states are orthonormal, (H − E) ψ has one part within the first bond, the residual of its solve, and one for each site p ≥ 2
//! where the states behind it stay among the kept ones and those of site p do not:
//!
//! ```text
//! ‖(H − E) ψ‖² = ‖r‖² + Σ_p ‖D_p‖²,     D_p = Σ_b A_b Φ_p ⊗ (1 − V_p V_pᵀ) B_b V_p,     ψ = Φ_p V_p …
//! ```
//!
//! A_b and B_b are the operators of H at cut p. Nothing cancels, so small variances have all their digits, and operators of H
//! suffice: some 20 of a cylinder of six sites around, whose H² has 186. What would be large is the left part A_b Φ_p. It is known in
//!
//! * **exact rows**: orthonormal states K_p of the sites before p, grown site by site like kept states, those with the largest
//!   weight in ψ. As long as all states fit ([`RowLimits`]), everything is exact. They always hold what one site more can change, so that
//!   Σ ‖D_p‖² without the following is the two-site variance of Hubig, Haegeman and Schollwöck (Phys. Rev. B 97, 045125 (2018)),
//!   exact for terms between neighbours, where all states of ψ are rows;
//! * **random rows**: Ω x of the part x of A_b Φ_p outside of K_p, with independent signs Ω_ij = ±1/√r, so that E ‖Ω x‖² = ‖x‖²
//!   (Johnson, Lindenstrauss 1984; signs: Achlioptas 2003). Ω of a site acts on what is outside of K_p and on the random rows before.
//!
//! Several [groups](GROUPS) of random rows are independent: their mean is the result, their spread the standard error.

pub(crate) use super::rows::RowLimits;
use super::rows::{Counted, GROUPS, GrownRows, LeftRows, Rows, of_kept, of_wave};
use crate::block::blocks::Side;
use crate::block::bond::TwoSiteBond;
use crate::block::environment::Environment;
use crate::block::projection::onto_rows;
use crate::block::start::Random;
use crate::block::state::Isometry;
use crate::chain::Chain;
use crate::engine::Engine;
use crate::error::DmrgError;
use crate::sweep::eviction::Evictable;
use crate::sweep::sweeper::Sweeper;
use eigenforge_runtime::backend::Operands;
use eigenforge_runtime::records::{Action, Operand, OperandSpace, Record, RecordGroup, RecordStage};
use std::cell::Cell;
use std::collections::BTreeMap;

/// A variance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Variance {
    /// ⟨H²⟩ − ⟨H⟩².
    pub(crate) value: f64,
    /// Standard error; `None` where it was computed to rounding.
    pub(crate) error: Option<f64>,
}

/// The variance of each state with ψ at the first bond, whose right blocks are those of H, and the operations that it took.
///
/// # Errors
/// An error of the engine.
pub(crate) fn variances<E: Engine>(
    chain: &Chain,
    sweeper: &mut Sweeper<'_, E>,
    limits: RowLimits,
) -> Result<(Vec<Variance>, f64), DmrgError> {
    let states = sweeper.waves().count();
    let flops = Cell::new(0.0);
    let found = (0..states).map(|state| variance(chain, sweeper, state, limits, &flops)).collect::<Result<_, _>>()?;
    Ok((found, flops.get()))
}

fn variance<E: Engine>(
    chain: &Chain,
    sweeper: &mut Sweeper<'_, E>,
    state: usize,
    limits: RowLimits,
    flops: &Cell<f64>,
) -> Result<Variance, DmrgError> {
    let frame = sweeper.frame(0);
    let within = of_the_first_bond(chain, sweeper, state, flops)?;
    let mut groups = [within; GROUPS];
    let mut random = Random::new(limits.seed);
    let mut is_exact = true;
    let mut left = LeftRows::of_the_first_site(sweeper.engine(), chain, &frame)?;
    for site in 2..chain.sites {
        let items = [Evictable::Kept(site - 1), Evictable::Kept(site), Evictable::Block(Side::Right, site + 1)];
        items.into_iter().try_for_each(|item| sweeper.ensure_resident(item))?;
        let counted = Counted { engine: sweeper.engine(), flops };
        let (v, behind) = (isometry(sweeper, site), sweeper.block(Side::Right, site + 1));
        let given = chain.enlarge(Side::Right, &v.kept, site);
        let grown = if site == 2 {
            let wave = sweeper.waves().nth(state).unwrap_or_else(|| unreachable!("counted before"));
            left.grown(&counted, chain, 1, (&of_wave(&frame), wave), &given)?
        } else {
            let before = isometry(sweeper, site - 1);
            left.grown(&counted, chain, site - 1, (&of_kept(before), &before.data), &given)?
        };
        let norms = grown.norms(&counted, chain, site, v, behind)?;
        is_exact &= grown.is_exact();
        groups.iter_mut().zip(&norms.random).for_each(|(sum, random)| *sum += norms.exact + random);
        left = grown.compressed(&counted, chain, site, &v.kept, limits, &mut random)?;
        sweeper.mark_evictable(&items)?;
    }
    let value = groups.iter().sum::<f64>() / GROUPS as f64;
    let spread = groups.iter().map(|group| (group - value).powi(2)).sum::<f64>();
    let error = (spread / (GROUPS * (GROUPS - 1)) as f64).sqrt();
    Ok(Variance { value, error: (!is_exact).then_some(error) })
}

fn isometry<'a, E: Engine>(sweeper: &'a Sweeper<'_, E>, site: usize) -> &'a Isometry<E::Buffer> {
    sweeper.isometries()[site].as_ref().expect("states of every site away from that of ψ are kept")
}

/// ‖Hψ − Eψ‖² within the first bond.
fn of_the_first_bond<E: Engine>(
    chain: &Chain,
    sweeper: &mut Sweeper<'_, E>,
    state: usize,
    flops: &Cell<f64>,
) -> Result<f64, DmrgError> {
    sweeper.ensure_resident(Evictable::Block(Side::Right, 2))?;
    let counted = Counted { engine: sweeper.engine(), flops };
    let engine = counted.engine;
    let (left, right) = sweeper.environments(0);
    let bond = TwoSiteBond::new(engine, chain, &chain.sum, 0, left, right)?;
    let (superblock, operands) = (bond.superblock(), bond.operands(left, right));
    let wave = sweeper.waves().nth(state).unwrap_or_else(|| unreachable!("counted before"));
    let operands = operands.set(OperandSpace::Input, wave);
    let between = counted.run(&superblock.first, operands)?;
    let y = counted.run(&superblock.second, operands.set(OperandSpace::Between, &between))?;
    let energy = engine.dot(wave, &y)?;
    let length = bond.frame.layout.length;
    let copy = |space, coefficient| {
        let a = Operand { space, offset: 0, stride: length, transposed: false };
        Record { action: Action::Copy { a }, coefficient, first: 0, stride: length, rows: length, columns: 1 }
    };
    let mut stage = RecordStage::default();
    stage.push(length, vec![copy(OperandSpace::Input, 1.0), copy(OperandSpace::Between, -energy)]);
    let operands = Operands::default().set(OperandSpace::Input, &y).set(OperandSpace::Between, wave);
    let residual = counted.run(&stage, operands)?;
    Ok(engine.dot(&residual, &residual)?)
}

/// ‖D_p‖²: of the exact rows, and of each group of random ones.
struct Norms {
    exact: f64,
    random: [f64; GROUPS],
}

impl<B> GrownRows<B> {
    /// ‖D_p‖² of site `p`, whose kept states are `v` and behind which is the block `behind`.
    fn norms<E: Engine<Buffer = B>>(
        &self,
        counted: &Counted<'_, E>,
        chain: &Chain,
        p: usize,
        v: &Isometry<B>,
        behind: &Environment<B>,
    ) -> Result<Norms, DmrgError> {
        let engine = counted.engine;
        let enlarged = chain.enlarge(Side::Right, &behind.sectors, p + 1);
        let partner = |e: usize| self.enlarged.sectors.find(chain.total - enlarged.sectors.charges(e));
        let width = |e: usize| partner(e).map_or(1, |q| self.enlarged.sectors.dimension(q));
        let widths: Vec<usize> = (0..enlarged.sectors.len()).map(width).collect();
        let operators = chain.operators(engine, &chain.sum, Side::Right, p + 1, behind, &enlarged, &widths)?;
        // x = A_b Φ Vᵀ, y = Σ_b x B_bᵀ.
        let ket = of_kept(v);
        let (mut first, mut second) = (RecordStage::default(), RecordStage::default());
        let mut outs: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
        for block in &self.blocks {
            let Some(k) = ket.iter().find(|k| k.states == block.states) else { continue };
            let Some(to) = operators.block(operators.groups[block.group][0], k.enlarged) else { continue };
            let stacked = block.height * block.count;
            let x = first.push(
                stacked * k.rows,
                vec![Record::product(block.stacked(), k.transpose(0), k.columns, [stacked, k.rows])],
            );
            let (_, group) = *outs.entry(block.row).or_insert_with(|| {
                second.push(block.height * enlarged.sectors.dimension(to.row), Vec::new());
                (to.row, second.groups.len() - 1)
            });
            let records = &mut second.groups[group].records;
            if block.count > 1 {
                records.extend(operators.side_by_side(block.group, k.enlarged).map(|b| {
                    let (space, stride) = (OperandSpace::Input, block.height);
                    let offset = x + stacked * b.first_column;
                    let a = Operand { space, offset, stride, transposed: false };
                    let turned = Operand { transposed: true, ..b.abreast() };
                    let product = Record::product(a, turned, b.count * b.columns, [stride, b.rows]);
                    Record { coefficient: b.coefficient, first: b.first_row * stride, ..product }
                }));
            } else {
                records.extend(to.pieces.iter().map(|piece| onto_rows(piece, x, block.height, block.height)));
            }
        }
        let operands = Operands::default().set(OperandSpace::Input, &self.data).set(OperandSpace::Left, &v.data);
        let x = counted.run(&first, operands)?;
        let operands = Operands::default()
            .set(OperandSpace::Input, &x)
            .set(OperandSpace::Right, &behind.data)
            .set(OperandSpace::RightSum, &operators.sums);
        let y = counted.run(&second, operands)?;
        drop(x);
        // D = y − (y V) Vᵀ.
        let (mut onto, mut outside) = (RecordStage::default(), RecordStage::default());
        let mut matrices = Vec::new();
        for (row, (e, group)) in &outs {
            let RecordGroup { offset, length, .. } = second.groups[*group];
            let height = self.enlarged.sectors.dimension(*row);
            let y = Operand { space: OperandSpace::Input, offset, stride: height, transposed: false };
            let columns = length / height;
            let copy = Action::Copy { a: y };
            let mut records =
                vec![Record { action: copy, coefficient: 1.0, first: 0, stride: height, rows: height, columns }];
            if let Some(k) = ket.iter().find(|k| k.enlarged == *e) {
                let at =
                    onto.push(height * k.columns, vec![Record::product(y, k.matrix(0), k.rows, [height, k.columns])]);
                let a = Operand { space: OperandSpace::Between, offset: at, stride: height, transposed: false };
                let within = Record::product(a, k.transpose(0), k.columns, [height, columns]);
                records.push(Record { coefficient: -1.0, ..within });
            }
            matrices.push((*row, outside.push(height * columns, records), columns));
        }
        let operands = Operands::default().set(OperandSpace::Input, &y).set(OperandSpace::Left, &v.data);
        let u = counted.run(&onto, operands)?;
        let d = counted.run(&outside, operands.set(OperandSpace::Between, &u))?;
        let exact = self.norm(counted, &d, &matrices, |rows, q| (0, rows.exact[q]))?;
        let mut random = [0.0; GROUPS];
        for (group, norm) in random.iter_mut().enumerate() {
            let range = |rows: &Rows, q: usize| (rows.exact[q] + group * rows.random[q], rows.random[q]);
            *norm = self.norm(counted, &d, &matrices, range)?;
        }
        Ok(Norms { exact, random })
    }

    /// The norm² of some rows: `range` gives the first and their number among those of a sector before the site was added.
    fn norm<E: Engine<Buffer = B>>(
        &self,
        counted: &Counted<'_, E>,
        d: &B,
        matrices: &[(usize, usize, usize)],
        range: impl Fn(&Rows, usize) -> (usize, usize),
    ) -> Result<f64, DmrgError> {
        let mut stage = RecordStage::default();
        for (row, offset, columns) in matrices {
            let stride = self.enlarged.sectors.dimension(*row);
            for part in &self.enlarged.parts[*row] {
                let (first, rows) = range(&self.before, part.block);
                if rows > 0 {
                    let offset = offset + part.first + first;
                    let a = Operand { space: OperandSpace::Input, offset, stride, transposed: false };
                    let action = Action::Copy { a };
                    let record = Record { action, coefficient: 1.0, first: 0, stride: rows, rows, columns: *columns };
                    stage.push(rows * columns, vec![record]);
                }
            }
        }
        if stage.length == 0 {
            return Ok(0.0);
        }
        let rows = counted.run(&stage, Operands::default().set(OperandSpace::Input, d))?;
        Ok(counted.engine.dot(&rows, &rows)?)
    }
}

#[cfg(test)]
mod tests;
