//! The tables that kernels read for each ordered pair of shells: ranges of labels, W^f, W^i, jj ↔ LS.
//!
//! In: the pairs of a plan with their coefficients. Out: flat tables at [pair · count + label], as
//! [`eigenforge_templates::su3`] names them. A state has 16 terms: (S = 0, J = L), then S = 1 with J = L − 1, L, L + 1, four jj
//! states each; a jj state has 4 terms: (S = 0, L = J), then S = 1 with L = J − 1, J, J + 1.

use super::super::plan::Plan;
use super::super::plan::SPINS;
use super::super::space::ShellPair;
use super::super::tables::{OrbitalTable, PairTables, Tables};
use eigenforge_su3::Irrep;

/// Marks a missing matrix for this Lf.
const NONE: u16 = u16::MAX;

/// Flat tables by pair.
#[derive(Default)]
pub(super) struct ByPair {
    pub pairs: Vec<ShellPair>,
    pub order: Vec<u32>,
    pub first_state: Vec<u32>,
    pub matrix: Vec<u32>,
    pub jj_count: Vec<u32>,
    pub bra_label: Vec<u32>,
    pub ket_label: Vec<u32>,
    pub w_f: Vec<f64>,
    pub w_i: Vec<f64>,
    pub w_i_transposed: Vec<f64>,
    pub term_jj: Vec<u16>,
    pub term_a: Vec<f64>,
    pub jj_first: Vec<u32>,
    pub back_o: Vec<u16>,
    pub back_a: Vec<f64>,
    /// First column by [near = Li − Lf + 2][spins] of a ket for each Lf.
    pub column_of: Vec<u16>,
    pub width_of: Vec<u16>,
    l_count: usize,
    j_count: usize,
}

impl ByPair {
    pub(super) fn new(plan: &Plan, tables: &Tables) -> ByPair {
        let (l_count, j_count) = (plan.n_max as usize + 3, plan.n_max as usize + 4);
        let mut pairs: Vec<ShellPair> =
            plan.groups.iter().flat_map(|group| group.bras.iter().chain(&group.kets).copied()).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let mut by_pair = ByPair { l_count, j_count, ..ByPair::default() };
        for pair in &pairs {
            let tables = &tables.pairs[pair];
            (0..l_count).for_each(|l| by_pair.add_momentum(tables, l));
            (0..j_count).for_each(|j| by_pair.add_jj(*pair, tables, j));
        }
        by_pair.pairs = pairs;
        (0..by_pair.pairs.len()).for_each(|ket| (0..l_count).for_each(|lf| by_pair.add_columns(ket, lf)));
        by_pair
    }

    /// (la, lb) of a pair that couple to L.
    pub(super) fn order(&self, pair: usize, l: usize) -> usize {
        if l < self.l_count { self.order[pair * self.l_count + l] as usize } else { 0 }
    }

    /// Columns of a slab.
    pub(super) fn width(&self, ket: usize, lf: usize) -> usize {
        usize::from(self.width_of[ket * self.l_count + lf])
    }

    /// The index of a pair among all.
    pub(super) fn position(&self, pair: ShellPair) -> usize {
        let place = self.pairs.binary_search(&pair);
        place.unwrap_or_else(|_| unreachable!("every pair of the plan has tables, {pair:?} too"))
    }

    fn add_momentum(&mut self, tables: &PairTables, l: usize) {
        let order = tables.bra.get(l).map_or(0, |table| table.order);
        self.order.push(order as u32);
        self.first_state.push(self.bra_label.len() as u32);
        self.matrix.push(self.w_f.len() as u32);
        let (Some(bra), Some(ket)) = (tables.bra.get(l), tables.ket.get(l)) else { return };
        labels(bra, |irrep| irrep.mu, &mut self.bra_label);
        labels(ket, |irrep| irrep.lambda, &mut self.ket_label);
        self.w_f.extend(&bra.values);
        self.w_i.extend(&ket.values);
        for column in 0..order {
            self.w_i_transposed.extend((0..order).map(|row| ket.values[row * order + column]));
        }
        for orbital in 0..order {
            for (s, j) in [(0, l as i64), (1, l as i64 - 1), (1, l as i64), (1, l as i64 + 1)] {
                self.add_terms(tables, s, l as u32, j, orbital);
            }
        }
    }

    /// The jj states of one LS state; places without one have A = 0 and repeat the first.
    fn add_terms(&mut self, tables: &PairTables, s: u32, l: u32, j: i64, orbital: usize) {
        let recoupling = usize::try_from(j).ok().and_then(|j| tables.recoupling.get(j));
        let group = recoupling.and_then(|of_j| of_j.groups.iter().find(|group| (group.s, group.l) == (s, l)));
        let terms = match (recoupling, group) {
            (Some(of_j), Some(group)) => &of_j.terms[group.start + orbital][..],
            _ => &[],
        };
        let first = terms.first().map_or(0, |(jj, _)| *jj);
        for place in 0..4 {
            let (jj, a) = terms.get(place).copied().unwrap_or((first, 0.0));
            self.term_jj.push(jj as u16);
            self.term_a.push(a);
        }
    }

    fn add_jj(&mut self, pair: ShellPair, tables: &PairTables, j: usize) {
        let states = pair.jj_states(j as u32).len();
        self.jj_count.push(states as u32);
        let first = self.back_o.len() / 4;
        self.jj_first.push(first as u32);
        self.back_o.resize(4 * (first + states), 0);
        self.back_a.resize(4 * (first + states), 0.0);
        let Some(recoupling) = tables.recoupling.get(j) else { return };
        for group in &recoupling.groups {
            let which = if group.s == 0 { 0 } else { group.l as usize + 2 - j };
            for orbital in 0..group.length {
                for (jj, a) in &recoupling.terms[group.start + orbital] {
                    let at = 4 * (first + *jj as usize) + which;
                    (self.back_o[at], self.back_a[at]) = (orbital as u16, *a);
                }
            }
        }
    }

    fn add_columns(&mut self, ket: usize, lf: usize) {
        let mut width = 0;
        for near in 0..5 {
            for [_, _, s0] in SPINS {
                let li = (lf + near).checked_sub(2);
                let couples = |li: &usize| lf.abs_diff(*li) <= s0 as usize && lf + li >= s0 as usize;
                let columns = li.filter(couples).map_or(0, |li| self.order(ket, li));
                self.column_of.push(if columns > 0 { width as u16 } else { NONE });
                width += columns;
            }
        }
        self.width_of.push(width as u16);
    }

    /// Most columns of one Li and spin for any Lf.
    pub(super) fn most_orbitals(&self) -> usize {
        self.order.iter().copied().max().unwrap_or(0) as usize
    }

    /// Number of J values, from 0.
    pub(super) fn j_count(&self) -> usize {
        self.j_count
    }
}

/// 256 k + κ − 1 of each row.
fn labels(table: &OrbitalTable, k: impl Fn(&Irrep) -> u32, to: &mut Vec<u32>) {
    for (at, (irrep, first)) in table.first.iter().enumerate() {
        let end = table.first.get(at + 1).map_or(table.order, |(_, next)| *next);
        to.extend((0..end - first).map(|kappa| 256 * k(irrep) + kappa as u32));
    }
}
