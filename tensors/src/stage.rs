//! One quadruple of shells: jj elements ↔ elements between irreps, not yet coupled.
//!
//! In: u^J of a quadruple. Out: Z_{Sf Si S0}[(λf μf) κf Lf; (λi μi) κi Li] = W^f Y W^iᵀ with Y of [`super::recoupling`];
//! and the transpose of both steps. Every step is orthogonal if the elements are multiplied by √(2J+1).

use super::matrices::{multiply, multiply_by_transpose, transpose_multiply};
use super::plan::{Quadruple, SPINS};
use super::recoupling::{LsGroup, Recoupling};
use super::tables::{PairTables, Tables};

/// Positions of each (spin, Lf, Li) in Y and Z of a quadruple.
#[derive(Debug)]
pub(super) struct SpinLayout {
    /// At [(spin · (L_max + 1) + Lf) · 5 + Li + 2 − Lf].
    offsets: Vec<usize>,
    l_count: usize,
    pub length: usize,
}

impl SpinLayout {
    pub(super) fn new(bra: &PairTables, ket: &PairTables) -> SpinLayout {
        let l_count = bra.bra.len();
        let mut layout = SpinLayout { offsets: vec![usize::MAX; SPINS.len() * l_count * 5], l_count, length: 0 };
        for (spin, [_, _, s0]) in SPINS.into_iter().enumerate() {
            for lf in 0..l_count {
                for li in lf.saturating_sub(s0 as usize)..=lf + s0 as usize {
                    if li >= ket.ket.len() || lf + li < s0 as usize {
                        continue;
                    }
                    let at = layout.index(spin, lf as u32, li as u32);
                    layout.offsets[at] = layout.length;
                    layout.length += bra.bra[lf].order * ket.ket[li].order;
                }
            }
        }
        layout
    }

    /// First number of a matrix [Lf states] × [Li states], if the labels couple.
    pub(super) fn offset(&self, spin: usize, lf: u32, li: u32) -> Option<usize> {
        Some(self.offsets[self.index(spin, lf, li)]).filter(|offset| *offset != usize::MAX)
    }

    /// (spin, Lf, Li, offset) of all matrices.
    fn matrices(&self) -> impl Iterator<Item = (usize, usize, usize, usize)> {
        self.offsets.iter().enumerate().filter(|(_, offset)| **offset != usize::MAX).map(|(at, offset)| {
            let (spin, lf) = (at / 5 / self.l_count, at / 5 % self.l_count);
            (spin, lf, lf + at % 5 - 2, *offset)
        })
    }

    fn index(&self, spin: usize, lf: u32, li: u32) -> usize {
        (spin * self.l_count + lf as usize) * 5 + (li + 2 - lf) as usize
    }
}

/// u → Z.
pub(super) fn forward(tables: &Tables, quadruple: &Quadruple, pairs: [&PairTables; 2], u: &[f64]) -> Vec<f64> {
    let [bra, ket] = pairs;
    let layout = SpinLayout::new(bra, ket);
    let mut y = vec![0.0; layout.length];
    let mut x = Vec::new();
    for block in &quadruple.blocks {
        let (left, right) = (&bra.recoupling[block.j as usize], &ket.recoupling[block.j as usize]);
        let elements = &u[block.offset..][..block.rows * block.columns];
        to_ls(left, right, elements, block.columns, &mut x);
        for (f, i) in groups(left, right) {
            for_spins(f, i, |spin| {
                let Some(target) = layout.offset(spin, f.l, i.l) else { return };
                let factor = f64::from(2 * block.j + 1) * tables.spins.get(spin, f.l, i.l, block.j);
                for row in 0..f.length {
                    let source = &x[(f.start + row) * block.columns + i.start..][..i.length];
                    let sums = &mut y[target + row * i.length..][..i.length];
                    sums.iter_mut().zip(source).for_each(|(sum, x)| *sum += factor * x);
                }
            });
        }
    }
    let mut half = Vec::new();
    for (_, lf, li, offset) in layout.matrices() {
        let (wf, wi) = (&bra.bra[lf], &ket.ket[li]);
        let y = &mut y[offset..][..wf.order * wi.order];
        half.resize(y.len(), 0.0);
        multiply(&wf.values, y, &mut half, [wf.order, wf.order, wi.order]);
        multiply_by_transpose(&half, &wi.values, y, [wf.order, wi.order, wi.order]);
    }
    y
}

/// Z → u.
pub(super) fn inverse(
    tables: &Tables,
    quadruple: &Quadruple,
    pairs: [&PairTables; 2],
    layout: &SpinLayout,
    mut z: Vec<f64>,
    u: &mut [f64],
) {
    let [bra, ket] = pairs;
    let mut half = Vec::new();
    for (_, lf, li, offset) in layout.matrices() {
        let (wf, wi) = (&bra.bra[lf], &ket.ket[li]);
        let z = &mut z[offset..][..wf.order * wi.order];
        half.resize(z.len(), 0.0);
        transpose_multiply(&wf.values, z, &mut half, [wf.order, wf.order, wi.order]);
        multiply(&half, &wi.values, z, [wf.order, wi.order, wi.order]);
    }
    let mut x = Vec::new();
    for block in &quadruple.blocks {
        let (left, right) = (&bra.recoupling[block.j as usize], &ket.recoupling[block.j as usize]);
        x.clear();
        x.resize(block.rows * block.columns, 0.0);
        for (f, i) in groups(left, right) {
            for_spins(f, i, |spin| {
                let Some(source) = layout.offset(spin, f.l, i.l) else { return };
                // The transpose of 2J+1 times the factor, divided by 2J+1 because √(2J+1) u is rotated.
                let factor = tables.spins.get(spin, f.l, i.l, block.j);
                for row in 0..f.length {
                    let y = &z[source + row * i.length..][..i.length];
                    let sums = &mut x[(f.start + row) * block.columns + i.start..][..i.length];
                    sums.iter_mut().zip(y).for_each(|(sum, y)| *sum += factor * y);
                }
            });
        }
        from_ls(left, right, &x, block.columns, &mut u[block.offset..][..block.rows * block.columns]);
    }
}

fn groups<'a>(left: &'a Recoupling, right: &'a Recoupling) -> impl Iterator<Item = (LsGroup, LsGroup)> + 'a {
    left.groups.iter().flat_map(|f| right.groups.iter().map(|i| (*f, *i)))
}

/// The spins of (Sf, Si) allowed by |Lf − Li|.
fn for_spins(f: LsGroup, i: LsGroup, mut visit: impl FnMut(usize)) {
    for (spin, [sf, si, s0]) in SPINS.into_iter().enumerate() {
        if [sf, si] == [f.s, i.s] && f.l.abs_diff(i.l) <= s0 {
            visit(spin);
        }
    }
}

/// x = A V Aᵀ; a pair and J have as many LS as jj states.
pub(super) fn to_ls(left: &Recoupling, right: &Recoupling, v: &[f64], columns: usize, x: &mut Vec<f64>) {
    x.clear();
    x.resize(v.len(), 0.0);
    let mut row = vec![0.0; columns];
    for (terms, target) in left.terms.iter().zip(x.chunks_exact_mut(columns)) {
        row.fill(0.0);
        for (jj, a) in terms {
            let source = &v[*jj as usize * columns..][..columns];
            row.iter_mut().zip(source).for_each(|(sum, v)| *sum += a * v);
        }
        for (sum, terms) in target.iter_mut().zip(&right.terms) {
            *sum = terms.iter().map(|(jj, a)| a * row[*jj as usize]).sum();
        }
    }
}

/// v = Aᵀ x A.
pub(super) fn from_ls(left: &Recoupling, right: &Recoupling, x: &[f64], columns: usize, v: &mut [f64]) {
    v.fill(0.0);
    let mut row = vec![0.0; columns];
    for (terms, source) in left.terms.iter().zip(x.chunks_exact(columns)) {
        row.fill(0.0);
        for (x, terms) in source.iter().zip(&right.terms) {
            terms.iter().for_each(|(jj, a)| row[*jj as usize] += a * x);
        }
        for (jj, a) in terms {
            let target = &mut v[*jj as usize * columns..][..columns];
            target.iter_mut().zip(&row).for_each(|(sum, x)| *sum += a * x);
        }
    }
}
