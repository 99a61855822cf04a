//! All coefficients of a transformation, computed once and stored in the [`TableCache`].
//!
//! In: a [`Plan`] and the groups being processed. Out: jj → LS matrices of every pair of shells, W^f of every bra pair
//! and W^i of every ket pair as square orthogonal matrices per total L, W⁰ of every product of irreps as square
//! orthogonal matrices per S0, on all cores.
//!
//! ```text
//! W^f = ⟨(na 0) la; (nb 0) lb ‖ (λf μf) κf Lf⟩,  W^i = ⟨(0 nd) ld; (0 nc) lc ‖ (λi μi) κi Li⟩,
//! W⁰ = ⟨(λf μf) κf Lf; (λi μi) κi Li ‖ (λ0 μ0) κ0 S0⟩_ρ0
//! ```

use super::plan::{Group, Plan};
use super::recoupling::{Recoupling, SpinFactors};
use super::space::ShellPair;
use super::table_cache::{Factors, TableCache};
use eigenforge_su3::{Coupler, Irrep, LabelError, SquareTable};
use rayon::prelude::*;
use std::collections::HashMap;

/// The coefficients.
#[derive(Debug)]
pub struct Tables {
    pub(super) pairs: HashMap<ShellPair, PairTables>,
    /// Products of the groups loaded last.
    pub(super) products: HashMap<[Irrep; 2], Vec<SquareTable>>,
    pub(super) spins: SpinFactors,
    coupler: Coupler,
    cache: TableCache,
    /// The largest deviation from orthogonality of any matrix so far, measured when it was computed.
    pub defect: f64,
    /// Numbers W⁰ so far.
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
    /// Computes those of a whole plan.
    ///
    /// # Errors
    ///
    /// Angular momenta beyond what the exact sums serve.
    pub fn new(plan: &Plan) -> Result<Tables, LabelError> {
        let mut tables = Tables::of_pairs(plan, TableCache::off())?;
        tables.load_groups(&plan.groups.iter().collect::<Vec<_>>());
        Ok(tables)
    }

    /// The coefficients of the pairs of shells, without W⁰.
    ///
    /// # Errors
    ///
    /// Angular momenta beyond what the exact sums serve.
    pub fn of_pairs(plan: &Plan, cache: TableCache) -> Result<Tables, LabelError> {
        let coupler = Coupler::new();
        let quanta_max = plan.space().quanta_max();
        let of_quanta: Vec<Vec<SquareTable>> =
            (0..=quanta_max).into_par_iter().map(|quanta| orbital_tables(&coupler, &cache, quanta)).collect();
        let of_pair: Vec<(ShellPair, &[SquareTable], &[SquareTable])> = (0..=quanta_max)
            .flat_map(|quanta| plan.space().pairs_of(quanta))
            .map(|pair| {
                let one = pair.quanta() as usize + 1;
                let tables = &of_quanta[pair.quanta() as usize][2 * one * pair.a as usize..][..2 * one];
                (pair, &tables[..one], &tables[one..])
            })
            .collect();
        let pairs = of_pair
            .par_iter()
            .map(|(pair, bra, ket)| PairTables::new(&coupler, *pair, bra, ket).map(|tables| (*pair, tables)));
        let pairs = pairs.collect::<Result<HashMap<_, _>, _>>()?;
        let defect = of_quanta.iter().flatten().map(|table| table.defect).fold(0.0, f64::max);
        let spins = SpinFactors::new(coupler.symbols(), quanta_max)?;
        Ok(Tables { pairs, products: HashMap::new(), spins, coupler, cache, defect, w0: 0 })
    }

    /// Loads W⁰ of some groups, replacing those loaded before; (λf μf) and (λi μi) determine their group.
    pub(crate) fn load_groups(&mut self, groups: &[&Group]) {
        self.products.clear();
        let (coupler, cache) = (&self.coupler, &self.cache);
        let made: Vec<Vec<SquareTable>> = groups.par_iter().map(|group| w0_tables(coupler, cache, group)).collect();
        for (group, tables) in groups.iter().zip(made) {
            self.w0 += tables.iter().map(|table| table.values.len()).sum::<usize>();
            self.defect = tables.iter().map(|table| table.defect).fold(self.defect, f64::max);
            let mut tables = tables.into_iter();
            for product in &group.products {
                let key = [product.bra_irrep(), product.ket_irrep()];
                self.products.insert(key, tables.by_ref().take(1 + S0_MAX as usize).collect());
            }
        }
    }

    /// The largest deviation of a loaded group's W⁰.
    pub(super) fn defect_of(&self, group: &Group) -> f64 {
        let tables =
            group.products.iter().flat_map(|product| &self.products[&[product.bra_irrep(), product.ket_irrep()]]);
        tables.map(|table| table.defect).fold(0.0, f64::max)
    }

    /// Number of pairs of shells.
    pub fn pairs(&self) -> usize {
        self.pairs.len()
    }

    /// Bytes of the coefficients of pairs, which are held permanently.
    pub fn resident(&self) -> u64 {
        let orbital = |tables: &[OrbitalTable]| tables.iter().map(|table| 8 * table.values.len()).sum::<usize>();
        let of_pair = |pair: &PairTables| {
            let terms = pair.recoupling.iter().flat_map(|of_j| &of_j.terms).map(|terms| 16 * terms.len() + 24);
            orbital(&pair.bra) + orbital(&pair.ket) + terms.sum::<usize>()
        };
        self.pairs.values().map(of_pair).sum::<usize>() as u64
    }

    /// The coupler that computes them.
    pub(super) fn coupler(&self) -> &Coupler {
        &self.coupler
    }

    /// The cache of tables.
    pub(super) fn cache(&self) -> &TableCache {
        &self.cache
    }
}

/// The largest rank of a tensor's spin.
const S0_MAX: u32 = 2;

/// W⁰ of a group's products, which are determined by its quanta alone, for any N_max.
fn w0_tables(coupler: &Coupler, cache: &TableCache, group: &Group) -> Vec<SquareTable> {
    let factors = group.products.iter().map(|product| [product.bra_irrep(), product.ket_irrep()]);
    let factors: Vec<Factors> = factors.map(|irreps| Factors { irreps, l3_max: S0_MAX }).collect();
    cache.tables(&format!("w0-{}-{}", group.bra_quanta, group.ket_quanta), coupler, &factors)
}

/// For each pair (a, quanta − a) in turn ⟨(a 0)l; (b 0)l' ‖ …⟩ and ⟨(0 b)l'; (0 a)l ‖ …⟩, by L = 0, …, quanta.
pub(super) fn orbital_tables(coupler: &Coupler, cache: &TableCache, quanta: u32) -> Vec<SquareTable> {
    let pair = |a: u32| {
        let b = quanta - a;
        [[Irrep::new(a, 0), Irrep::new(b, 0)], [Irrep::new(0, b), Irrep::new(0, a)]]
    };
    let factors: Vec<Factors> = (0..=quanta).flat_map(pair).map(|irreps| Factors { irreps, l3_max: quanta }).collect();
    cache.tables(&format!("wf-wi-{quanta}"), coupler, &factors)
}

impl PairTables {
    fn new(
        coupler: &Coupler,
        pair: ShellPair,
        bra: &[SquareTable],
        ket: &[SquareTable],
    ) -> Result<PairTables, LabelError> {
        let recoupling = (0..=pair.j_max()).map(|j| Recoupling::new(coupler.symbols(), pair, j));
        let recoupling = recoupling.collect::<Result<Vec<_>, _>>()?;
        let bra = bra.iter().map(|table| OrbitalTable::new(table, |row| (row.l1, row.l2))).collect();
        let ket = ket.iter().map(|table| OrbitalTable::new(table, |row| (row.l2, row.l1))).collect();
        Ok(PairTables { recoupling, bra, ket })
    }
}

impl OrbitalTable {
    /// From a table whose rows have the orbital angular momenta `momenta`, reordered to l and l' ascending.
    pub(super) fn new(table: &SquareTable, momenta: impl Fn(&eigenforge_su3::Row) -> (u32, u32)) -> OrbitalTable {
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
    pub(super) fn first_of(&self, irrep: Irrep) -> Option<usize> {
        self.first.iter().find(|(found, _)| *found == irrep).map(|(_, at)| *at)
    }
}
