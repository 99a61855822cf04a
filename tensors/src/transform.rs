//! The factorised transformation of two-body matrix elements into strengths of SU(3) × SU(2) tensors, and back.
//!
//! In: u^J of every quadruple of shells, in the layout of a [`Plan`]; u = V for a proton and a neutron, u =
//! √((1+δab)(1+δcd)) V for normalised states of two protons or two neutrons; radial functions positive at infinity. Out:
//! the strengths C of
//!
//! ```text
//! V = Σ C(na nb (λf μf) nc nd (λi μi) (λ0 μ0) Sf Si S0 κ0 ρ0) [[a†(na 0) × a†(nb 0)]^{(λf μf) Sf} × [ã(0 nd) × ã(0 nc)]^{(λi μi) Si}]^{ρ0 (λ0 μ0)}_{κ0 (S0 S0) 0}
//! ```
//! with a factor ¼ for identical nucleons (Oberhuber et al. 2021, eq. 3). Their eq. 7 is one sum; here it is three
//! products with orthogonal matrices, each over the labels it needs: jj → LS and J → S0, W^f and W^i per quadruple
//! ([`super::stage`]), then for each (λf μf), (λi μi), S0 one product C = W⁰ Z over the columns of all quadruples that
//! contain both irreps. √(2J+1) u → C is orthogonal, so the inverse is the transpose and Σ C² = Σ (2J+1) u².

use super::matrices::{multiply, transpose_multiply};
use super::plan::{Group, IrrepPair, Plan, spins_of};
use super::stage::{self, SpinLayout};
use super::tables::{PairTables, Tables};
use eigenforge_su3::{Irrep, SquareTable};
use rayon::prelude::*;

/// Strengths of a group from its elements, for one channel; W⁰ of the group must be loaded.
pub(super) fn forward_group(group: &Group, tables: &Tables, elements: &[f64], strengths: &mut [f64]) {
    GroupTables::new(group, tables).forward(elements, strengths);
}

/// Elements of a group from its strengths.
pub(super) fn inverse_group(group: &Group, tables: &Tables, strengths: &[f64], elements: &mut [f64]) {
    GroupTables::new(group, tables).inverse(strengths, elements);
}

/// Strengths of one channel from its elements; both in the plan's layout.
pub fn forward(plan: &Plan, tables: &Tables, elements: &[f64]) -> Vec<f64> {
    let mut strengths = vec![0.0; plan.length];
    let slices = by_group(plan, &mut strengths);
    plan.groups.par_iter().zip(slices).for_each(|(group, strengths)| {
        forward_group(group, tables, &elements[group.start..][..group.length], strengths);
    });
    strengths
}

/// Elements of one channel from its strengths.
pub fn inverse(plan: &Plan, tables: &Tables, strengths: &[f64]) -> Vec<f64> {
    let mut elements = vec![0.0; plan.length];
    let slices = by_group(plan, &mut elements);
    plan.groups.par_iter().zip(slices).for_each(|(group, elements)| {
        inverse_group(group, tables, &strengths[group.start..][..group.length], elements);
    });
    elements
}

/// A vector split at the groups' starts.
fn by_group<'a>(plan: &Plan, mut rest: &'a mut [f64]) -> Vec<&'a mut [f64]> {
    let mut slices = Vec::with_capacity(plan.groups.len());
    for group in &plan.groups {
        let (slice, after) = std::mem::take(&mut rest).split_at_mut(group.length);
        slices.push(slice);
        rest = after;
    }
    slices
}

/// The tables for the quadruples of a group.
struct GroupTables<'a> {
    group: &'a Group,
    tables: &'a Tables,
    bras: Vec<&'a PairTables>,
    kets: Vec<&'a PairTables>,
    /// At [bra · kets + ket].
    layouts: Vec<SpinLayout>,
}

impl<'a> GroupTables<'a> {
    fn new(group: &'a Group, tables: &'a Tables) -> GroupTables<'a> {
        let bras: Vec<&PairTables> = group.bras.iter().map(|pair| &tables.pairs[pair]).collect();
        let kets: Vec<&PairTables> = group.kets.iter().map(|pair| &tables.pairs[pair]).collect();
        let layouts = bras.iter().flat_map(|bra| kets.iter().map(|ket| SpinLayout::new(bra, ket))).collect();
        GroupTables { group, tables, bras, kets, layouts }
    }

    fn pairs(&self, quadruple: usize) -> [&'a PairTables; 2] {
        [self.bras[quadruple / self.kets.len()], self.kets[quadruple % self.kets.len()]]
    }

    fn forward(&self, elements: &[f64], strengths: &mut [f64]) {
        let quadruples = self.group.quadruples.par_iter().enumerate();
        let uncoupled: Vec<Vec<f64>> = quadruples
            .map(|(at, quadruple)| {
                let u = &elements[quadruple.offset..][..quadruple.length];
                stage::forward(self.tables, quadruple, self.pairs(at), u)
            })
            .collect();
        let mut slices = Vec::with_capacity(self.group.products.len());
        let mut rest = strengths;
        for product in &self.group.products {
            let (slice, after) = std::mem::take(&mut rest).split_at_mut(product.length);
            slices.push(slice);
            rest = after;
        }
        self.group.products.par_iter().zip(slices).for_each(|(product, strengths)| {
            let mut z = Vec::new();
            for (table, block) in self.squares(product).iter().zip(&product.tensors) {
                z.clear();
                z.resize(block.rows * block.columns, 0.0);
                self.for_each(product, table, |at, quadruple, position| z[at] = uncoupled[quadruple][position]);
                let target = &mut strengths[block.offset..][..z.len()];
                multiply(&table.values, &z, target, [block.rows, block.rows, block.columns]);
            }
        });
    }

    fn inverse(&self, strengths: &[f64], elements: &mut [f64]) {
        let coupled: Vec<Vec<f64>> = self
            .group
            .products
            .par_iter()
            .map(|product| {
                let mut z = vec![0.0; product.length];
                for (table, block) in self.squares(product).iter().zip(&product.tensors) {
                    let length = block.rows * block.columns;
                    let source = &strengths[product.offset + block.offset..][..length];
                    let target = &mut z[block.offset..][..length];
                    transpose_multiply(&table.values, source, target, [block.rows, block.rows, block.columns]);
                }
                z
            })
            .collect();
        let mut uncoupled: Vec<Vec<f64>> = self.layouts.iter().map(|layout| vec![0.0; layout.length]).collect();
        for (product, z) in self.group.products.iter().zip(&coupled) {
            for (table, block) in self.squares(product).iter().zip(&product.tensors) {
                let z = &z[block.offset..];
                self.for_each(product, table, |at, quadruple, position| uncoupled[quadruple][position] = z[at]);
            }
        }
        let mut slices = Vec::with_capacity(self.group.quadruples.len());
        let mut rest = elements;
        for quadruple in &self.group.quadruples {
            let (slice, after) = std::mem::take(&mut rest).split_at_mut(quadruple.length);
            slices.push(slice);
            rest = after;
        }
        let quadruples = self.group.quadruples.par_iter().enumerate().zip(slices).zip(uncoupled);
        quadruples.for_each(|(((at, quadruple), elements), z)| {
            stage::inverse(self.tables, quadruple, self.pairs(at), &self.layouts[at], z, elements);
        });
    }

    fn squares(&self, product: &IrrepPair) -> &'a [SquareTable] {
        &self.tables.products[&[product.bra_irrep(), product.ket_irrep()]]
    }

    /// Calls `visit(index in Z of the product, quadruple, index in Z of the quadruple)` for all numbers of one S0.
    fn for_each(&self, product: &IrrepPair, table: &SquareTable, mut visit: impl FnMut(usize, usize, usize)) {
        let spins = spins_of(table.l3);
        let columns = product.bras.len() * product.kets.len() * spins.len();
        let firsts = |positions: &[usize], pairs: &[&'a PairTables], irrep: Irrep, bra: bool| -> Vec<Vec<usize>> {
            let tables = |position: &usize| if bra { &pairs[*position].bra } else { &pairs[*position].ket };
            let of = |position| tables(position).iter().map(|l| l.first_of(irrep).unwrap_or(usize::MAX)).collect();
            positions.iter().map(of).collect()
        };
        let bra_rows = firsts(&product.bras, &self.bras, product.bra_irrep(), true);
        let ket_rows = firsts(&product.kets, &self.kets, product.ket_irrep(), false);
        for (b, bra) in product.bras.iter().enumerate() {
            for (k, ket) in product.kets.iter().enumerate() {
                let quadruple = bra * self.kets.len() + ket;
                let layout = &self.layouts[quadruple];
                let column = (b * product.kets.len() + k) * spins.len();
                for (number, row) in table.rows.iter().enumerate() {
                    let left = bra_rows[b][row.l1 as usize] + row.kappa1 as usize - 1;
                    let right = ket_rows[k][row.l2 as usize] + row.kappa2 as usize - 1;
                    let place = left * self.kets[*ket].ket[row.l2 as usize].order + right;
                    for (s, spin) in spins.iter().enumerate() {
                        if let Some(offset) = layout.offset(*spin, row.l1, row.l2) {
                            visit(number * columns + column + s, quadruple, offset + place);
                        }
                    }
                }
            }
        }
    }
}
