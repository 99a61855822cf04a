//! The factorised transformation of reduced elements of rank J0 into strengths, and back: jj → LS, (J', J) → (L0, S0), W^f, W^i per
//! quadruple of shells, then C = W⁰ Z per product of irreps and (S0, L0).
//!
//! In: reduced elements (or strengths) of a group in the layout of a [`RankedPlan`], one vector per channel. Out: the strengths C of
//!
//! ```text
//! O^{J0} = Σ C [[a†(na 0) × a†(nb 0)]^{(λf μf) Sf} × [ã(0 nd) × ã(0 nc)]^{(λi μi) Si}]^{ρ0 (λ0 μ0)}_{κ0 (L0 S0) J0}
//! ```
//! with ¼ in front for identical nucleons. Every step but the factor 1/Ĵ0 is orthogonal, so Σ C² = Σ X² / (2J0+1).

use super::layout::{RankedGroup, RankedPlan, RankedProduct};
use super::spins::RankFactors;
use crate::matrices::{multiply, multiply_by_transpose, transpose_multiply};
use crate::recoupling::{LsGroup, Recoupling};
use crate::stage::{from_ls, to_ls};
use crate::tables::{PairTables, Tables};
use crate::{Plan, TableCache};
use eigenforge_su3::{LabelError, SquareTable};
use rayon::prelude::*;

/// All coefficients but W⁰, which is computed product by product.
#[derive(Debug)]
pub(super) struct RankedTables {
    tables: Tables,
    factors: RankFactors,
}

/// Of a group: what became of each channel, and of its W⁰ the numbers and the largest defect.
#[derive(Debug)]
pub(super) struct GroupResult {
    pub(super) vectors: Vec<Vec<f64>>,
    pub(super) w0: usize,
    pub(super) defect: f64,
}

/// Positions of the matrices [Lf states] × [Li states] of each coupling (Sf, Si, S0, L0) of a quadruple.
#[derive(Debug)]
struct CouplingLayout {
    /// At [(coupling · Lf count + Lf) · Li count + Li]; `usize::MAX` if the labels do not couple.
    offsets: Vec<usize>,
    counts: [usize; 2],
    length: usize,
}

/// A group and its coefficients.
struct GroupWork<'a> {
    plan: &'a RankedPlan,
    group: &'a RankedGroup,
    tables: &'a RankedTables,
    /// 1/Ĵ0 forward, Ĵ0 back.
    scale: f64,
    layouts: Vec<CouplingLayout>,
}

impl RankedTables {
    /// # Errors
    ///
    /// Angular momenta beyond the range of the symbols.
    pub(super) fn new(plan: &RankedPlan, cache: TableCache) -> Result<RankedTables, LabelError> {
        let tables = Tables::of_pairs(&Plan::new(plan.space), cache)?;
        let symbols = tables.coupler().symbols();
        let factors = RankFactors::new(symbols, plan.rank, &plan.tensors, plan.space.quanta_max())?;
        Ok(RankedTables { tables, factors })
    }

    /// Strengths of a group from its elements; or, `backwards`, elements from strengths. One vector per channel.
    pub(super) fn transform(
        &self,
        plan: &RankedPlan,
        group: &RankedGroup,
        vectors: &[&[f64]],
        backwards: bool,
    ) -> GroupResult {
        let hat = f64::from(2 * plan.rank.j0 + 1).sqrt();
        let scale = if backwards { hat } else { 1.0 / hat };
        let mut work = GroupWork { plan, group, tables: self, scale, layouts: Vec::new() };
        let layout = |at: usize| CouplingLayout::new(plan, work.pairs(at));
        work.layouts = (0..group.quadruples.len()).map(layout).collect();
        if backwards { work.inverse(vectors) } else { work.forward(vectors) }
    }

    /// The largest deviation from orthogonality of the coefficients of pairs.
    pub(super) fn defect(&self) -> f64 {
        self.tables.defect
    }

    /// The cache of tables.
    pub(super) fn cache(&self) -> &TableCache {
        self.tables.cache()
    }
}

impl CouplingLayout {
    fn new(plan: &RankedPlan, [bra, ket]: [&PairTables; 2]) -> CouplingLayout {
        let counts = [bra.bra.len(), ket.ket.len()];
        let mut layout = CouplingLayout { offsets: Vec::new(), counts, length: 0 };
        for tensor in &plan.tensors {
            for _ in tensor.spins() {
                for (lf, wf) in bra.bra.iter().enumerate() {
                    for (li, wi) in ket.ket.iter().enumerate() {
                        let l0 = tensor.l0 as usize;
                        let couples = lf.abs_diff(li) <= l0 && l0 <= lf + li;
                        layout.offsets.push(if couples { layout.length } else { usize::MAX });
                        layout.length += if couples { wf.order * wi.order } else { 0 };
                    }
                }
            }
        }
        layout
    }

    fn offset(&self, coupling: usize, [lf, li]: [u32; 2]) -> Option<usize> {
        let at = (coupling * self.counts[0] + lf as usize) * self.counts[1] + li as usize;
        Some(self.offsets[at]).filter(|offset| *offset != usize::MAX)
    }

    /// (Lf, Li, offset) of all matrices.
    fn matrices(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        let [lf_count, li_count] = self.counts;
        let there = self.offsets.iter().enumerate().filter(|(_, offset)| **offset != usize::MAX);
        there.map(move |(at, offset)| (at / li_count % lf_count, at % li_count, *offset))
    }
}

impl<'a> GroupWork<'a> {
    fn pairs(&self, quadruple: usize) -> [&'a PairTables; 2] {
        self.group.pairs(quadruple).map(|pair| &self.tables.tables.pairs[&pair])
    }

    fn forward(&self, elements: &[&[f64]]) -> GroupResult {
        let uncoupled: Vec<Vec<Vec<f64>>> = elements
            .iter()
            .map(|x| (0..self.group.quadruples.len()).into_par_iter().map(|at| self.uncouple(at, x)).collect())
            .collect();
        let mut result = GroupResult::new(elements.len(), self.group.length);
        let products = &self.group.products;
        let made = products.par_iter().map(|product| {
            let tables = self.w0(product);
            let strengths: Vec<Vec<f64>> = uncoupled
                .iter()
                .map(|uncoupled| {
                    let mut strengths = vec![0.0; product.length];
                    self.for_each_square(product, &tables, |rank, table, [first, rows, columns]| {
                        let mut z = vec![0.0; rows * columns];
                        self.for_each(product, rank, table, |at, quadruple, place| z[at] = uncoupled[quadruple][place]);
                        multiply(&table.values, &z, &mut strengths[first..][..z.len()], [rows, rows, columns]);
                    });
                    strengths
                })
                .collect();
            (strengths, of_tables(&tables))
        });
        for (product, (strengths, (w0, defect))) in products.iter().zip(made.collect::<Vec<_>>()) {
            for (vector, strengths) in result.vectors.iter_mut().zip(strengths) {
                vector[product.offset..][..product.length].copy_from_slice(&strengths);
            }
            result.count(w0, defect);
        }
        result
    }

    fn inverse(&self, strengths: &[&[f64]]) -> GroupResult {
        let mut result = GroupResult::new(strengths.len(), self.group.length);
        let empty = || self.layouts.iter().map(|layout| vec![0.0; layout.length]).collect::<Vec<_>>();
        let mut uncoupled: Vec<Vec<Vec<f64>>> = strengths.iter().map(|_| empty()).collect();
        let products = &self.group.products;
        let made = products.par_iter().map(|product| {
            let tables = self.w0(product);
            let z: Vec<Vec<f64>> = strengths
                .iter()
                .map(|strengths| {
                    let strengths = &strengths[product.offset..][..product.length];
                    let mut z = vec![0.0; product.length];
                    self.for_each_square(product, &tables, |_, table, [first, rows, columns]| {
                        let (source, target) = (&strengths[first..][..rows * columns], &mut z[first..]);
                        transpose_multiply(&table.values, source, &mut target[..rows * columns], [rows, rows, columns]);
                    });
                    z
                })
                .collect();
            let counted = of_tables(&tables);
            // Their labels are still needed.
            let labels: Vec<SquareTable> =
                tables.into_iter().map(|table| SquareTable { values: Vec::new(), ..table }).collect();
            (z, labels, counted)
        });
        for (product, (z, tables, (w0, defect))) in products.iter().zip(made.collect::<Vec<_>>()) {
            for (uncoupled, z) in uncoupled.iter_mut().zip(z) {
                self.for_each_square(product, &tables, |rank, table, [first, ..]| {
                    self.for_each(product, rank, table, |at, quadruple, place| {
                        uncoupled[quadruple][place] = z[first + at]
                    });
                });
            }
            result.count(w0, defect);
        }
        for (vector, uncoupled) in result.vectors.iter_mut().zip(uncoupled) {
            let elements: Vec<Vec<f64>> =
                uncoupled.into_par_iter().enumerate().map(|(at, z)| self.couple(at, z)).collect();
            for (quadruple, elements) in self.group.quadruples.iter().zip(elements) {
                vector[quadruple.offset..][..quadruple.length].copy_from_slice(&elements);
            }
        }
        result
    }

    /// X → Z of a quadruple; `elements` are those of the group.
    fn uncouple(&self, at: usize, elements: &[f64]) -> Vec<f64> {
        let (quadruple, [bra, ket], layout) = (&self.group.quadruples[at], self.pairs(at), &self.layouts[at]);
        let mut y = vec![0.0; layout.length];
        let (mut x, mut half) = (Vec::new(), Vec::new());
        for block in &quadruple.blocks {
            let [left, right] = [&bra.recoupling[block.j[0] as usize], &ket.recoupling[block.j[1] as usize]];
            let elements = &elements[quadruple.offset + block.offset..][..block.rows * block.columns];
            to_ls(left, right, elements, block.columns, &mut x);
            self.for_each_coupling([left, right], block.j, layout, |f, i, offset, factor| {
                for row in 0..f.length {
                    let source = &x[(f.start + row) * block.columns + i.start..][..i.length];
                    let sums = &mut y[offset + row * i.length..][..i.length];
                    sums.iter_mut().zip(source).for_each(|(sum, x)| *sum += factor * x);
                }
            });
        }
        for (lf, li, offset) in layout.matrices() {
            let (wf, wi) = (&bra.bra[lf], &ket.ket[li]);
            let y = &mut y[offset..][..wf.order * wi.order];
            half.resize(y.len(), 0.0);
            multiply(&wf.values, y, &mut half, [wf.order, wf.order, wi.order]);
            multiply_by_transpose(&half, &wi.values, y, [wf.order, wi.order, wi.order]);
        }
        y
    }

    /// Z → X of a quadruple.
    fn couple(&self, at: usize, mut z: Vec<f64>) -> Vec<f64> {
        let (quadruple, [bra, ket], layout) = (&self.group.quadruples[at], self.pairs(at), &self.layouts[at]);
        let mut elements = vec![0.0; quadruple.length];
        let (mut x, mut half) = (Vec::new(), Vec::new());
        for (lf, li, offset) in layout.matrices() {
            let (wf, wi) = (&bra.bra[lf], &ket.ket[li]);
            let z = &mut z[offset..][..wf.order * wi.order];
            half.resize(z.len(), 0.0);
            transpose_multiply(&wf.values, z, &mut half, [wf.order, wf.order, wi.order]);
            multiply(&half, &wi.values, z, [wf.order, wi.order, wi.order]);
        }
        for block in &quadruple.blocks {
            let [left, right] = [&bra.recoupling[block.j[0] as usize], &ket.recoupling[block.j[1] as usize]];
            x.clear();
            x.resize(block.rows * block.columns, 0.0);
            self.for_each_coupling([left, right], block.j, layout, |f, i, offset, factor| {
                for row in 0..f.length {
                    let y = &z[offset + row * i.length..][..i.length];
                    let sums = &mut x[(f.start + row) * block.columns + i.start..][..i.length];
                    sums.iter_mut().zip(y).for_each(|(sum, y)| *sum += factor * y);
                }
            });
            let target = &mut elements[block.offset..][..block.rows * block.columns];
            from_ls(left, right, &x, block.columns, target);
        }
        elements
    }

    /// Calls `visit(bra states, ket states, offset in Z, factor)` for the couplings of all LS states of J' and J.
    fn for_each_coupling(
        &self,
        [left, right]: [&Recoupling; 2],
        j: [u32; 2],
        layout: &CouplingLayout,
        mut visit: impl FnMut(LsGroup, LsGroup, usize, f64),
    ) {
        for tensor in &self.plan.tensors {
            for (at, spins) in tensor.spins().enumerate() {
                let coupling = tensor.first + at;
                for f in left.groups.iter().filter(|f| f.s == spins[0]) {
                    for i in right.groups.iter().filter(|i| i.s == spins[1]) {
                        if let Some(offset) = layout.offset(coupling, [f.l, i.l]) {
                            let factor = self.scale * self.tables.factors.get(coupling, [f.l, i.l], j);
                            visit(*f, *i, offset, factor);
                        }
                    }
                }
            }
        }
    }

    /// W⁰ of a product, by L0.
    fn w0(&self, product: &RankedProduct) -> Vec<SquareTable> {
        let [f, i] = product.irreps;
        self.tables.tables.coupler().square_tables(f, i, self.plan.rank.orbital_ranks())
    }

    /// Calls `visit(number of the rank, W⁰, [first strength, rows, columns])` for every (S0, L0) that has any.
    fn for_each_square(
        &self,
        product: &RankedProduct,
        tables: &[SquareTable],
        mut visit: impl FnMut(usize, &SquareTable, [usize; 3]),
    ) {
        for (at, (rank, [first, rows])) in self.plan.tensors.iter().zip(&product.tensors).enumerate() {
            if let Some(table) = tables.iter().find(|table| table.l3 == rank.l0).filter(|_| *rows > 0) {
                visit(at, table, [*first, *rows, product.columns(*rank)]);
            }
        }
    }

    /// Calls `visit(place in the matrix of a rank, quadruple, place in Z of the quadruple)` for all its numbers.
    fn for_each(
        &self,
        product: &RankedProduct,
        rank: usize,
        table: &SquareTable,
        mut visit: impl FnMut(usize, usize, usize),
    ) {
        let rank = self.plan.tensors[rank];
        let (spins, columns) = (rank.spins().len(), product.columns(rank));
        for (b, bra) in product.bras.iter().enumerate() {
            for (k, ket) in product.kets.iter().enumerate() {
                let quadruple = bra * self.group.kets.len() + ket;
                let ([left, right], layout) = (self.pairs(quadruple), &self.layouts[quadruple]);
                let column = (b * product.kets.len() + k) * spins;
                for (number, row) in table.rows.iter().enumerate() {
                    let (wf, wi) = (&left.bra[row.l1 as usize], &right.ket[row.l2 as usize]);
                    let (Some(f), Some(i)) = (wf.first_of(product.irreps[0]), wi.first_of(product.irreps[1])) else {
                        continue;
                    };
                    let place = (f + row.kappa1 as usize - 1) * wi.order + i + row.kappa2 as usize - 1;
                    for spin in 0..spins {
                        if let Some(offset) = layout.offset(rank.first + spin, [row.l1, row.l2]) {
                            visit(number * columns + column + spin, quadruple, offset + place);
                        }
                    }
                }
            }
        }
    }
}

/// Numbers and the largest defect of tables.
fn of_tables(tables: &[SquareTable]) -> (usize, f64) {
    tables.iter().fold((0, 0.0), |(count, defect), table| (count + table.values.len(), table.defect.max(defect)))
}

impl GroupResult {
    fn new(channels: usize, length: usize) -> GroupResult {
        GroupResult { vectors: vec![vec![0.0; length]; channels], w0: 0, defect: 0.0 }
    }

    fn count(&mut self, w0: usize, defect: f64) {
        self.w0 += w0;
        self.defect = self.defect.max(defect);
    }
}
