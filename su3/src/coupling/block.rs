//! One triple of irreps: the sums, and the table that comes out.

use super::tables::Coupler;
use crate::branching::{Branching, Projection};
use crate::error::LabelError;
use crate::extremal::Extremal;
use crate::irrep::Irrep;
use std::sync::Arc;

/// Coefficients of a triple of irreps.
#[derive(Debug, Clone)]
pub struct Block {
    /// (λ1 μ1), (λ2 μ2), (λ3 μ3).
    pub irreps: [Irrep; 3],
    /// How often (λ3 μ3) occurs.
    pub rho_max: u32,
    /// By L3, ascending; L3 that (λ3 μ3) does not have are left out.
    pub by_l3: Vec<BlockOfL3>,
    /// max |Σ_{κ1L1κ2L2} ⟨…‖κ3⟩_ρ ⟨…‖κ3'⟩_ρ' − δ_{κ3κ3'} δ_{ρρ'}|: measured, not estimated.
    pub defect: f64,
}

/// Coefficients of one L3.
#[derive(Debug, Clone)]
pub struct BlockOfL3 {
    /// L3.
    pub l3: u32,
    /// How often (λ3 μ3) has L3.
    pub kappa_max: u32,
    /// Labels of the rows: L1, κ1, L2, κ2 ascending in this order.
    pub rows: Vec<Row>,
    /// At [(row κ_max + κ3 − 1) ρ_max + ρ − 1].
    pub values: Vec<f64>,
}

/// Labels of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Row {
    /// L1.
    pub l1: u32,
    /// κ1, from 1.
    pub kappa1: u32,
    /// L2.
    pub l2: u32,
    /// κ2, from 1.
    pub kappa2: u32,
}

impl Block {
    /// One coefficient; arguments are [κ, L] and ρ, counted from 1.
    ///
    /// # Errors
    ///
    /// Labels that an irrep does not have, an open triangle, ρ out of range, an L3 outside the range computed.
    pub fn value(&self, first: [u32; 2], second: [u32; 2], third: [u32; 2], rho: u32) -> Result<f64, LabelError> {
        for (irrep, [kappa, l]) in self.irreps.into_iter().zip([first, second, third]) {
            let kappa_max = irrep.kappa_max(l);
            if kappa == 0 || kappa > kappa_max {
                return Err(LabelError::Kappa { irrep, kappa, l, kappa_max });
            }
        }
        let [l1, l2, l3] = [first[1], second[1], third[1]];
        if l1.abs_diff(l2) > l3 || l3 > l1 + l2 {
            return Err(LabelError::Triangle(l1, l2, l3));
        }
        if rho == 0 || rho > self.rho_max {
            let [first, second, third] = self.irreps;
            return Err(LabelError::Rho { first, second, third, rho, rho_max: self.rho_max });
        }
        let row = Row { l1, kappa1: first[0], l2, kappa2: second[0] };
        let found = self.by_l3.iter().find(|block| block.l3 == l3);
        let position = found.and_then(|block| Some((block, block.rows.binary_search(&row).ok()?)));
        let Some((block, position)) = position else {
            let (irrep, kappa) = (self.irreps[2], third[0]);
            return Err(LabelError::Kappa { irrep, kappa, l: l3, kappa_max: 0 });
        };
        let at = position as u32 * block.kappa_max + third[0] - 1;
        Ok(block.values[(at * self.rho_max + rho - 1) as usize])
    }
}

/// Everything that one block is made from.
pub(super) struct Request<'a> {
    pub branchings: [Arc<Branching>; 2],
    pub extremal: Extremal,
    pub third: Irrep,
    /// One an L3.
    pub projections: Vec<Arc<Projection>>,
    pub coupler: &'a Coupler,
}

/// w before orthonormalisation, of one L3: at [(j ρ_max + ρ) rows + row].
struct Raw {
    /// First row of each column of the first irrep, minus its first column of the second.
    offset: Vec<usize>,
    /// Columns of the second irrep that couple with each column of the first.
    partners: Vec<std::ops::Range<usize>>,
    rows: usize,
    values: Vec<f64>,
}

/// An entry of G before the Clebsch–Gordan coefficient: (state 1, state 2, (−1)^{Λ1+Λ2−Λ3} W_ρ for all ρ) and 2Λ1, 2Λ2, p1, p2.
struct Entry {
    states: [u32; 2],
    two_lambda: [u32; 2],
    p: [u32; 2],
}

impl Request<'_> {
    pub(super) fn block(&self) -> Block {
        let rho_max = self.extremal.rho_max();
        let (entries, strengths) = self.entries();
        let mut raw: Vec<Raw> = self.projections.iter().map(|p| self.empty(p)).collect();
        let largest_k = self.projections.iter().map(|p| p.k(p.kappa_max() - 1)).max().unwrap_or(-1);
        let smallest_k = self.projections.iter().map(|p| p.k(0)).min().unwrap_or(0);
        for k3 in (smallest_k..=largest_k).step_by(2) {
            self.add(k3, &entries, &strengths, &mut raw);
        }
        let by_l3: Vec<BlockOfL3> =
            self.projections.iter().zip(&raw).map(|(projection, raw)| self.finish(projection, raw)).collect();
        let defect = by_l3.iter().map(|block| defect(block, rho_max)).fold(0.0, f64::max);
        let irreps = [self.branchings[0].irrep(), self.branchings[1].irrep(), self.third];
        Block { irreps, rho_max: rho_max as u32, by_l3, defect }
    }

    /// The support of W, and (−1)^{Λ1+Λ2−Λ3} W_ρ, ρ fastest.
    fn entries(&self) -> (Vec<Entry>, Vec<f64>) {
        let [first, second] = [self.branchings[0].irrep(), self.branchings[1].irrep()];
        let two_lambda3 = i64::from(self.two_lambda3());
        let (mut entries, mut strengths) = (Vec::new(), Vec::new());
        self.extremal.for_each(|[[p1, q1], [p2, q2]], values| {
            let two_lambda = [first.mu + p1 - q1, second.mu + p2 - q2];
            let phase = (i64::from(two_lambda[0] + two_lambda[1]) - two_lambda3) / 2;
            let sign = if phase % 2 == 0 { 1.0 } else { -1.0 };
            strengths.extend(values.iter().map(|w| sign * w));
            let states = [p1 * (first.mu + 1) + q1, p2 * (second.mu + 1) + q2];
            entries.push(Entry { states, two_lambda, p: [p1, p2] });
        });
        (entries, strengths)
    }

    /// 2Λ of the extremal state.
    fn two_lambda3(&self) -> u32 {
        if self.third.uses_highest() { self.third.lambda } else { self.third.mu }
    }

    fn empty(&self, projection: &Projection) -> Raw {
        let [one, two] = &self.branchings;
        let l3 = projection.l();
        let (mut offset, mut partners, mut rows) = (Vec::new(), Vec::new(), 0);
        for (l1, _) in one.columns() {
            let range = two.columns_of(l1.abs_diff(l3), l1 + l3);
            offset.push(rows);
            rows += range.len();
            partners.push(range);
        }
        Raw { offset, partners, rows, values: vec![0.0; rows * projection.kappa_max() * self.extremal.rho_max()] }
    }

    /// All M1 of one K3, for every L3 that has it.
    fn add(&self, k3: i64, entries: &[Entry], strengths: &[f64], raw: &mut [Raw]) {
        let [one, two] = &self.branchings;
        let (m1_max, m2_max) = (i64::from(one.irrep().l_max()), i64::from(two.irrep().l_max()));
        let reach = m1_max.max(m2_max) as u32;
        let spins = self.coupler.spin_table(self.two_lambda3(), k3, reach);
        // (position in `raw`, j, table) of the L3 that have this K3
        let users: Vec<_> = (0..raw.len())
            .filter_map(|index| {
                let projection = &self.projections[index];
                let j = (0..projection.kappa_max()).find(|j| projection.k(*j) == k3)?;
                Some((index, j, self.coupler.orbital_table(projection.l(), k3, reach)))
            })
            .collect();
        let mut workspace = Workspace::new(one, two);
        // For K3 = 0 the term of −M1 equals that of M1: every factor's sign is fixed by the labels of the product.
        let first = if k3 == 0 { 0 } else { (-m1_max).max(k3 - m2_max) };
        for m1 in first..=m1_max.min(k3 + m2_max) {
            let weight = if k3 == 0 && m1 > 0 { 2.0 } else { 1.0 };
            for rho in 0..self.extremal.rho_max() {
                let strength = |index: usize| weight * strengths[index * self.extremal.rho_max() + rho];
                workspace.multiply_second([one, two], entries, strength, [m1, k3 - m1], |t: [u32; 2]| {
                    spins.get(i64::from(t[0]), i64::from(t[1]), m1)
                });
                for (index, j, orbitals) in &users {
                    let raw = &mut raw[*index];
                    let at = (j * self.extremal.rho_max() + rho) * raw.rows;
                    workspace.multiply_first([one, two], [m1, k3 - m1], raw, at, |l1, l2| {
                        orbitals.get(i64::from(l1), i64::from(l2), m1)
                    });
                }
            }
        }
    }

    /// Rotation and orthonormalisation over κ3.
    fn finish(&self, projection: &Projection, raw: &Raw) -> BlockOfL3 {
        let (rho_max, kappa_max) = (self.extremal.rho_max(), projection.kappa_max());
        let [one, two] = &self.branchings;
        let mut values = vec![0.0; raw.values.len()];
        for kappa in 0..kappa_max {
            for j in 0..=kappa {
                let factor = projection.orthonormal(kappa, j) * projection.rotation(j);
                for rho in 0..rho_max {
                    let source = &raw.values[(j * rho_max + rho) * raw.rows..][..raw.rows];
                    for (row, w) in source.iter().enumerate() {
                        values[(row * kappa_max + kappa) * rho_max + rho] += factor * w;
                    }
                }
            }
        }
        let rows = one.columns().iter().zip(&raw.partners).flat_map(|((l1, kappa1), partners)| {
            let of = |(l2, kappa2): &(u32, u32)| Row { l1: *l1, kappa1: *kappa1, l2: *l2, kappa2: *kappa2 };
            two.columns()[partners.clone()].iter().map(of)
        });
        BlockOfL3 { l3: projection.l(), kappa_max: kappa_max as u32, rows: rows.collect(), values }
    }
}

/// G u2 of one (K3, M1, ρ).
struct Workspace {
    width: usize,
    /// At [state of the first irrep][column of the second].
    product: Vec<f64>,
    touched: Vec<bool>,
}

impl Workspace {
    fn new(one: &Branching, two: &Branching) -> Workspace {
        let states = ((one.irrep().lambda + 1) * (one.irrep().mu + 1)) as usize;
        let width = two.columns().len();
        Workspace { width, product: vec![0.0; states * width], touched: vec![false; states] }
    }

    /// product = G u2 at M2 = m[1], the sign of u(−M) with its part that depends on p only.
    fn multiply_second(
        &mut self,
        [one, two]: [&Branching; 2],
        entries: &[Entry],
        strength: impl Fn(usize) -> f64,
        m: [i64; 2],
        spin: impl Fn([u32; 2]) -> f64,
    ) {
        self.touched.fill(false);
        let columns = two.columns_of(m[1].unsigned_abs() as u32, two.irrep().l_max());
        let mirrored = |branching: &Branching, m: i64, p: u32| {
            m < 0 && (branching.irrep().l_max() + p) % 2 == 1 // (−1)^{λ+μ+p} of u(−M)
        };
        for (index, entry) in entries.iter().enumerate() {
            let [t1, t2] = entry.two_lambda.map(i64::from);
            if t1 < m[0].abs() || t2 < m[1].abs() || (t1 + m[0]) % 2 != 0 {
                continue;
            }
            let Some(row) = two.row(m[1].unsigned_abs() as u32, entry.states[1] as usize) else { continue };
            let odd = mirrored(one, m[0], entry.p[0]) != mirrored(two, m[1], entry.p[1]);
            let factor = strength(index) * spin(entry.two_lambda) * if odd { -1.0 } else { 1.0 };
            let state = entry.states[0] as usize;
            let target = &mut self.product[state * self.width..][columns.clone()];
            if !self.touched[state] {
                self.touched[state] = true;
                target.fill(0.0);
            }
            for (sum, u) in target.iter_mut().zip(&row[columns.clone()]) {
                *sum += factor * u;
            }
        }
    }

    /// Adds ⟨L1 M1 L2 M2|L3 K3⟩ u1ᵀ product to the rows of one L3.
    fn multiply_first(
        &self,
        [one, two]: [&Branching; 2],
        m: [i64; 2],
        raw: &mut Raw,
        at: usize,
        orbital: impl Fn(u32, u32) -> f64,
    ) {
        let [m1, m2] = m.map(|m| m.unsigned_abs() as u32);
        let lowest = two.columns_of(m2, m2).start;
        let mut sums = vec![0.0; self.width];
        for column1 in one.columns_of(m1, one.irrep().l_max()) {
            let (l1, _) = one.columns()[column1];
            let partners = &raw.partners[column1];
            let columns = partners.start.max(lowest)..partners.end;
            if columns.is_empty() {
                continue;
            }
            let sums = &mut sums[..columns.len()];
            sums.fill(0.0);
            for state in (0..self.touched.len()).filter(|state| self.touched[*state]) {
                let Some(row) = one.row(m1, state) else { continue };
                let u = row[column1];
                for (sum, g) in sums.iter_mut().zip(&self.product[state * self.width..][columns.clone()]) {
                    *sum += u * g;
                }
            }
            let target = at + raw.offset[column1] + columns.start - partners.start;
            for ((w, sum), (l2, _)) in raw.values[target..].iter_mut().zip(&*sums).zip(&two.columns()[columns]) {
                // (−1)^L of u(−M)
                let odd = (m[0] < 0 && l1 % 2 == 1) != (m[1] < 0 && l2 % 2 == 1);
                let coefficient = orbital(l1, *l2);
                *w += (if odd { -coefficient } else { coefficient }) * sum;
            }
        }
    }
}

/// max |Bᵀ B − 1| over the columns (κ3, ρ).
fn defect(block: &BlockOfL3, rho_max: usize) -> f64 {
    let columns = block.kappa_max as usize * rho_max;
    let mut gram = vec![0.0; columns * columns];
    for row in block.values.chunks_exact(columns) {
        for (i, left) in row.iter().enumerate() {
            for (sum, right) in gram[i * columns..].iter_mut().zip(&row[..=i]) {
                *sum += left * right;
            }
        }
    }
    let deviation = |i: usize, j: usize| (gram[i * columns + j] - if i == j { 1.0 } else { 0.0 }).abs();
    (0..columns).flat_map(|i| (0..=i).map(move |j| (i, j))).map(|(i, j)| deviation(i, j)).fold(0.0, f64::max)
}
