//! All coefficients of a transformation, computed once for a plan.
//!
//! In: a [`Plan`]. Out: jj → LS matrices of every pair of shells, W^f of every bra pair and W^i of every ket pair as square
//! orthogonal matrices a total L, W⁰ of every product of irreps as square orthogonal matrices an S0, on all cores.
//!
//! ```text
//! W^f = ⟨(na 0) la; (nb 0) lb ‖ (λf μf) κf Lf⟩,  W^i = ⟨(0 nd) ld; (0 nc) lc ‖ (λi μi) κi Li⟩,
//! W⁰ = ⟨(λf μf) κf Lf; (λi μi) κi Li ‖ (λ0 μ0) κ0 S0⟩_ρ0
//! ```

use super::plan::Plan;
use super::recoupling::{Recoupling, SpinFactors};
use super::space::ShellPair;
use eigenforge_su3::{Coupler, Irrep, LabelError, SquareTable};
use rayon::prelude::*;
use std::collections::HashMap;

/// The coefficients.
#[derive(Debug)]
pub struct Tables {
    pub(super) pairs: HashMap<ShellPair, PairTables>,
    pub(super) products: HashMap<[Irrep; 2], Vec<SquareTable>>,
    pub(super) spins: SpinFactors,
    /// The largest deviation from orthogonality of any matrix, measured.
    pub defect: f64,
    /// Numbers W⁰.
    pub w0: usize,
}

/// Coefficients of one pair of shells.
#[derive(Debug)]
pub(super) struct PairTables {
    /// By J.
    pub recoupling: Vec<Recoupling>,
    /// W^f by L, the pair taken as (a, b) of the bra.
    pub bra: Vec<OrbitalTable>,
    /// W^i by L, the pair taken as (c, d) of the ket.
    pub ket: Vec<OrbitalTable>,
}

/// A square orthogonal matrix of one L.
#[derive(Debug)]
pub(super) struct OrbitalTable {
    /// Order of the matrix.
    pub order: usize,
    /// First row of each irrep, whose rows are κ = 1, 2, …
    pub first: Vec<(Irrep, usize)>,
    /// At [(irrep κ) · order + (l l')], l and l' ascending in this order.
    pub values: Vec<f64>,
}

impl Tables {
    /// Computes them.
    ///
    /// # Errors
    ///
    /// Angular momenta beyond what the exact sums serve.
    pub fn new(plan: &Plan) -> Result<Tables, LabelError> {
        let coupler = Coupler::new();
        let l_max = plan.space().quanta_max();
        let mut pairs: Vec<ShellPair> = plan.groups.iter().flat_map(|group| group.bras.iter().copied()).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let with_tables = |pair: &ShellPair| PairTables::new(&coupler, *pair).map(|tables| (*pair, tables));
        let (pairs, defects): (HashMap<ShellPair, PairTables>, Vec<f64>) = pairs
            .par_iter()
            .map(with_tables)
            .collect::<Result<Vec<_>, _>>()?
            .into_iter()
            .map(|(pair, (tables, defect))| ((pair, tables), defect))
            .unzip();
        let mut factors: Vec<[Irrep; 2]> = Vec::new();
        for product in plan.groups.iter().flat_map(|group| &group.products) {
            factors.push([product.bra_irrep(), product.ket_irrep()]);
        }
        let products: HashMap<[Irrep; 2], Vec<SquareTable>> =
            factors.par_iter().map(|[f, i]| ([*f, *i], coupler.square_tables(*f, *i, 0..=2))).collect();
        let squares = || products.values().flatten();
        let defect = defects.into_iter().chain(squares().map(|table| table.defect)).fold(0.0, f64::max);
        let w0 = squares().map(|table| table.values.len()).sum();
        Ok(Tables { pairs, spins: SpinFactors::new(coupler.symbols(), l_max)?, defect, w0, products })
    }
}

impl PairTables {
    fn new(coupler: &Coupler, pair: ShellPair) -> Result<(PairTables, f64), LabelError> {
        let recoupling = (0..=pair.j_max()).map(|j| Recoupling::new(coupler.symbols(), pair, j));
        let recoupling = recoupling.collect::<Result<Vec<_>, _>>()?;
        let up_to = 0..=pair.quanta();
        let bra = coupler.square_tables(Irrep::new(pair.a, 0), Irrep::new(pair.b, 0), up_to.clone());
        let ket = coupler.square_tables(Irrep::new(0, pair.b), Irrep::new(0, pair.a), up_to);
        let defect = bra.iter().chain(&ket).map(|table| table.defect).fold(0.0, f64::max);
        let bra = bra.iter().map(|table| OrbitalTable::new(table, |row| (row.l1, row.l2))).collect();
        let ket = ket.iter().map(|table| OrbitalTable::new(table, |row| (row.l2, row.l1))).collect();
        Ok((PairTables { recoupling, bra, ket }, defect))
    }
}

impl OrbitalTable {
    /// From a table whose rows have the orbital angular momenta `momenta`, reordered to l and l' ascending.
    pub fn new(table: &SquareTable, momenta: impl Fn(&eigenforge_su3::Row) -> (u32, u32)) -> OrbitalTable {
        let order = table.rows.len();
        let mut positions: Vec<usize> = (0..order).collect();
        positions.sort_by_key(|row| momenta(&table.rows[*row]));
        let reordered = table.values.chunks_exact(order.max(1)).flat_map(|row| positions.iter().map(|at| row[*at]));
        let values = reordered.collect();
        let mut first: Vec<(Irrep, usize)> = Vec::new();
        for (at, column) in table.columns.iter().enumerate() {
            if first.last().is_none_or(|(irrep, _)| *irrep != column.irrep) {
                first.push((column.irrep, at));
            }
        }
        OrbitalTable { order, first, values }
    }

    /// The first row of an irrep, which the matrix must have.
    pub fn first_of(&self, irrep: Irrep) -> Option<usize> {
        self.first.iter().find(|(found, _)| *found == irrep).map(|(_, at)| *at)
    }
}
