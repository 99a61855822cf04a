//! The square orthogonal table of a product: ⟨(λ1μ1)κ1L1; (λ2μ2)κ2L2 ‖ (λ3μ3)κ3L3⟩_ρ for one L3 and every (λ3 μ3).
//!
//! In: two irreps, a range of L3. Out: for each L3 a matrix between the rows (L1 κ1 L2 κ2) and the columns (λ3 μ3) κ3 ρ.
//! Both are complete, so the matrix is orthogonal, and that is measured.

use super::block::{Block, Row};
use super::tables::Coupler;
use crate::irrep::{Irrep, product};
use std::ops::RangeInclusive;

/// An orthogonal matrix between uncoupled and coupled states of angular momentum L3.
#[derive(Debug, Clone)]
pub struct SquareTable {
    /// (λ1 μ1), (λ2 μ2).
    pub factors: [Irrep; 2],
    /// L3.
    pub l3: u32,
    /// The uncoupled states: L1, κ1, L2, κ2 ascending in this order.
    pub rows: Vec<Row>,
    /// The coupled states: λ3, μ3, κ3, ρ ascending in this order.
    pub columns: Vec<Column>,
    /// At [column · n + row], n = `rows.len()` = `columns.len()`.
    pub values: Vec<f64>,
    /// The larger of the blocks' defects (columns of one irrep against each other, all pairs) and of |Wᵀ W x − x| / |x|, largest
    /// component, for a fixed x without structure (irreps against each other).
    pub defect: f64,
}

/// A coupled state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Column {
    /// (λ3 μ3).
    pub irrep: Irrep,
    /// κ3, from 1.
    pub kappa: u32,
    /// ρ, from 1.
    pub rho: u32,
}

impl Coupler {
    /// The tables of `first` × `second` for each L3 of a range; an L3 that no pair of states couples to has an empty one.
    pub fn square_tables(&self, first: Irrep, second: Irrep, l3: RangeInclusive<u32>) -> Vec<SquareTable> {
        let mut tables: Vec<SquareTable> = l3.clone().map(|l3| SquareTable::empty(first, second, l3)).collect();
        for (third, _) in product(first, second) {
            if l3.clone().all(|l| third.kappa_max(l) == 0) {
                continue;
            }
            let block = self.block_in_product([first, second, third], l3.clone());
            tables.iter_mut().for_each(|table| table.append(&block));
        }
        for table in &mut tables {
            table.defect = table.defect.max(table.probe());
        }
        tables
    }
}

impl SquareTable {
    /// Stands for every choice that the numbers depend on, phases and order of operations alike; raised with each of them, so
    /// that tables kept on disk by another version are not taken for these.
    pub const VERSION: u32 = 1;

    /// The table of numbers that [`Coupler::square_tables`] made before; `None` if they are not as many as it has places.
    ///
    /// ```
    /// use eigenforge_su3::{Coupler, Irrep, SquareTable};
    /// let [first, second] = [Irrep::new(2, 1), Irrep::new(1, 3)];
    /// let made = Coupler::new().square_tables(first, second, 2..=2).remove(0);
    /// let again = SquareTable::from_values([first, second], 2, made.values.clone(), made.defect).unwrap();
    /// assert_eq!((again.rows, again.columns), (made.rows, made.columns));
    /// ```
    pub fn from_values(factors: [Irrep; 2], l3: u32, values: Vec<f64>, defect: f64) -> Option<SquareTable> {
        let [first, second] = factors;
        let mut table = SquareTable::empty(first, second, l3);
        for (irrep, rho_max) in product(first, second) {
            for kappa in 1..=irrep.kappa_max(l3) {
                table.columns.extend((1..=rho_max).map(|rho| Column { irrep, kappa, rho }));
            }
        }
        let square = table.rows.len() * table.columns.len();
        (values.len() == square).then_some(SquareTable { values, defect, ..table })
    }

    /// Numbers of a table.
    pub fn places(factors: [Irrep; 2], l3: u32) -> usize {
        let [first, second] = factors;
        let partners = |l1: u32| (l1.abs_diff(l3)..=(l1 + l3).min(second.l_max())).map(|l2| second.kappa_max(l2));
        let order: u32 = first.angular_momenta().map(|(l1, kappa)| kappa * partners(l1).sum::<u32>()).sum();
        (order as usize).pow(2)
    }

    fn empty(first: Irrep, second: Irrep, l3: u32) -> SquareTable {
        let mut rows = Vec::new();
        for (l1, kappa1_max) in first.angular_momenta() {
            for kappa1 in 1..=kappa1_max {
                for l2 in l1.abs_diff(l3)..=(l1 + l3).min(second.l_max()) {
                    rows.extend((1..=second.kappa_max(l2)).map(|kappa2| Row { l1, kappa1, l2, kappa2 }));
                }
            }
        }
        let values = Vec::with_capacity(rows.len() * rows.len());
        SquareTable { factors: [first, second], l3, rows, columns: Vec::new(), values, defect: 0.0 }
    }

    fn append(&mut self, block: &Block) {
        let Some(found) = block.by_l3.iter().find(|found| found.l3 == self.l3) else { return };
        let width = (found.kappa_max * block.rho_max) as usize;
        for kappa in 1..=found.kappa_max {
            self.columns.extend((1..=block.rho_max).map(|rho| Column { irrep: block.irreps[2], kappa, rho }));
        }
        for column in 0..width {
            self.values.extend(found.values.iter().skip(column).step_by(width));
        }
        self.defect = self.defect.max(block.defect);
    }

    /// max |Wᵀ W x − x| for x from a linear congruence; |x| ≤ 1.
    fn probe(&self) -> f64 {
        let n = self.rows.len();
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        };
        let x: Vec<f64> = (0..n).map(|_| next()).collect();
        let mut back = vec![0.0; n];
        for column in self.values.chunks_exact(n.max(1)) {
            let coupled: f64 = column.iter().zip(&x).map(|(w, x)| w * x).sum();
            back.iter_mut().zip(column).for_each(|(sum, w)| *sum += coupled * w);
        }
        back.iter().zip(&x).map(|(back, x)| (back - x).abs()).fold(0.0, f64::max)
    }
}
