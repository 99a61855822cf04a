//! The transformation as published: Algorithm 4 of Oberhuber et al. (2021), one sum over all labels per strength.
//!
//! Same input and output as [`super::forward`], which is 10³ to 10⁴ times cheaper; this one is for comparison and checks.
//! Every matrix element meets every tensor of its quadruple:
//!
//! ```text
//! C += (−1)^{Sf+Si+S0+J+1} Ŝ0 (2J+1) {Lf Li S0; Si Sf J} A_f A_i u Σ_{κf κi} W^f W^i W⁰(κf Lf κi Li; κ0 ρ0)
//! ```
//! for each element (la ja lb jb, lc jc ld jd, J), tensor (λf μf) (λi μi) (λ0 μ0), spins, Lf and Li. Line 13 of the
//! printed algorithm loads (λ0 μ0) from the index of W^f, and the element and the phases of the ket are missing in line
//! 25; eq. 7 has 2J+1 under a root. They are corrected here.

use super::plan::{Group, IrrepPair, Plan, SPINS, spins_of};
use super::tables::{PairTables, Tables};
use eigenforge_su3::{Row, SquareTable};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// Strengths of one channel from its elements, and how often the innermost term was added.
pub fn published_sum(plan: &Plan, tables: &Tables, elements: &[f64]) -> (Vec<f64>, u64) {
    let mut strengths = vec![0.0; plan.length];
    let mut terms = 0;
    for group in &plan.groups {
        let range = group.start..group.start + group.length;
        terms += forward_group(group, tables, &elements[range.clone()], &mut strengths[range]);
    }
    (strengths, terms)
}

/// The same for one group.
pub(super) fn forward_group(group: &Group, tables: &Tables, elements: &[f64], strengths: &mut [f64]) -> u64 {
    let terms = AtomicU64::new(0);
    let mut slices = Vec::with_capacity(group.products.len());
    let mut rest = strengths;
    for product in &group.products {
        let (slice, after) = std::mem::take(&mut rest).split_at_mut(product.length);
        slices.push(slice);
        rest = after;
    }
    group.products.par_iter().zip(slices).for_each(|(product, strengths)| {
        terms.fetch_add(tensors(group, product, tables, elements, strengths), Ordering::Relaxed);
    });
    terms.into_inner()
}

/// All strengths of two irreps; returns the number of terms.
fn tensors(group: &Group, product: &IrrepPair, tables: &Tables, elements: &[f64], strengths: &mut [f64]) -> u64 {
    let squares = &tables.products[&[product.bra_irrep(), product.ket_irrep()]];
    let mut terms = 0;
    for (b, bra) in product.bras.iter().enumerate() {
        for (k, ket) in product.kets.iter().enumerate() {
            let pairs = [&tables.pairs[&group.bras[*bra]], &tables.pairs[&group.kets[*ket]]];
            for (spin, [_, _, s0]) in SPINS.into_iter().enumerate() {
                let (square, block) = (&squares[s0 as usize], &product.tensors[s0 as usize]);
                let mut sums = vec![0.0; block.rows];
                let quadruple = &group.quadruples[bra * group.kets.len() + ket];
                for j_block in &quadruple.blocks {
                    let u = &elements[quadruple.offset + j_block.offset..][..j_block.rows * j_block.columns];
                    let of_j = OfJ { tables, pairs, product, square, spin, j: j_block.j };
                    terms += of_j.add(u, j_block.columns, &mut sums);
                }
                let spins = spins_of(s0);
                let column = (b * product.kets.len() + k) * spins.len();
                let Some(place) = spins.iter().position(|other| *other == spin) else {
                    unreachable!("the spins of S0 = {s0} hold spin {spin}");
                };
                let column = column + place;
                for (row, sum) in sums.into_iter().enumerate() {
                    strengths[block.offset + row * block.columns + column] = sum;
                }
            }
        }
    }
    terms
}

/// Elements of one quadruple and J, tensors of one product and spin.
struct OfJ<'a> {
    tables: &'a Tables,
    pairs: [&'a PairTables; 2],
    product: &'a IrrepPair,
    square: &'a SquareTable,
    spin: usize,
    j: u32,
}

/// What a jj state has in one (S, L): A, and the position of (la, lb) among those that couple to L.
struct LsPart {
    jj: usize,
    l: u32,
    orbital: usize,
    a: f64,
}

impl OfJ<'_> {
    /// Adds the elements' terms; returns their number.
    fn add(&self, u: &[f64], columns: usize, sums: &mut [f64]) -> u64 {
        let [sf, si, _] = SPINS[self.spin];
        let (left, right) = (parts(self.pairs[0], self.j, sf), parts(self.pairs[1], self.j, si));
        let mut terms = 0;
        for f in &left {
            for i in &right {
                if f.l.abs_diff(i.l) > self.square.l3 || self.square.l3 > f.l + i.l {
                    continue;
                }
                let factor = f64::from(2 * self.j + 1) * self.tables.spins.get(self.spin, f.l, i.l, self.j);
                terms += self.add_one(factor * f.a * i.a * u[f.jj * columns + i.jj], f, i, sums);
            }
        }
        terms
    }

    /// One element and (Lf, Li): all κf, κi, (λ0 μ0), κ0, ρ0.
    fn add_one(&self, u: f64, f: &LsPart, i: &LsPart, sums: &mut [f64]) -> u64 {
        let [bra, ket] = [&self.pairs[0].bra[f.l as usize], &self.pairs[1].ket[i.l as usize]];
        let (irrep_f, irrep_i) = (self.product.bra_irrep(), self.product.ket_irrep());
        let (Some(row_f), Some(row_i)) = (bra.first_of(irrep_f), ket.first_of(irrep_i)) else { return 0 };
        let n = self.square.rows.len();
        let mut terms = 0;
        for kappa_f in 0..irrep_f.kappa_max(f.l) {
            let first = Row { l1: f.l, kappa1: kappa_f + 1, l2: i.l, kappa2: 1 };
            let Ok(first) = self.square.rows.binary_search(&first) else { continue };
            let wf = bra.values[(row_f + kappa_f as usize) * bra.order + f.orbital];
            for kappa_i in 0..irrep_i.kappa_max(i.l) as usize {
                let wi = ket.values[(row_i + kappa_i) * ket.order + i.orbital];
                let weight = u * wf * wi;
                let w0 = self.square.values[first + kappa_i..].iter().step_by(n);
                sums.iter_mut().zip(w0).for_each(|(sum, w0)| *sum += weight * w0);
                terms += sums.len() as u64;
            }
        }
        terms
    }
}

fn parts(pair: &PairTables, j: u32, s: u32) -> Vec<LsPart> {
    let recoupling = &pair.recoupling[j as usize];
    let mut parts = Vec::new();
    for group in recoupling.groups.iter().filter(|group| group.s == s) {
        for orbital in 0..group.length {
            let terms = &recoupling.terms[group.start + orbital];
            parts.extend(terms.iter().map(|(jj, a)| LsPart { jj: *jj as usize, l: group.l, orbital, a: *a }));
        }
    }
    parts
}
