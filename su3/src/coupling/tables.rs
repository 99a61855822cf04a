//! What the triples of irreps share: branching tables, projections and Clebsch–Gordan coefficients, each made once.
//!
//! A [`Coupler`] owns them; there is no global state. It can be used from many threads at once.

use super::block::{Block, Request};
use crate::branching::{Branching, Projection};
use crate::error::LabelError;
use crate::extremal::Extremal;
use crate::irrep::{Irrep, multiplicity};
use crate::wigner::Symbols;
use rayon::prelude::*;
use std::collections::HashMap;
use std::hash::Hash;
use std::ops::RangeInclusive;
use std::sync::{Arc, PoisonError, RwLock};

/// Computes coupling coefficients and keeps what they share.
///
/// ```
/// use eigenforge_su3::{Coupler, Irrep};
/// # fn main() -> Result<(), eigenforge_su3::LabelError> {
/// let coupler = Coupler::new();
/// let [first, second, third] = [Irrep::new(6, 1), Irrep::new(2, 1), Irrep::new(5, 2)];
/// let block = coupler.block(first, second, third, 0..=7)?;
/// let value = block.value([1, 2], [1, 3], [2, 3], 1)?; // ⟨(6 1)1 2; (2 1)1 3 ‖ (5 2)2 3⟩, ρ = 1
/// assert!((value + 0.463_029_649_436_104_0).abs() < 1e-14);
/// # Ok(()) }
/// ```
#[derive(Debug, Default)]
pub struct Coupler {
    symbols: Symbols,
    branchings: Cache<Irrep, Branching>,
    projections: Cache<(Irrep, u32), Projection>,
    /// ⟨Λ1 M1/2 Λ2 (K3−M1)/2|Λ3 K3/2⟩ by (2Λ3, K3).
    spins: Cache<(u32, i64), ClebschTable>,
    /// ⟨L1 M1 L2 K3−M1|L3 K3⟩ by (L3, K3).
    orbitals: Cache<(u32, i64), ClebschTable>,
}

impl Coupler {
    /// With empty tables.
    pub fn new() -> Coupler {
        Coupler::default()
    }

    /// All coefficients of a triple with L3 in a range.
    ///
    /// # Errors
    ///
    /// `third` is not in `first` × `second`.
    pub fn block(
        &self,
        first: Irrep,
        second: Irrep,
        third: Irrep,
        l3: RangeInclusive<u32>,
    ) -> Result<Block, LabelError> {
        if multiplicity(first, second, third) == 0 {
            return Err(LabelError::NotInProduct { first, second, third });
        }
        Ok(self.block_in_product([first, second, third], l3))
    }

    /// The same for a triple that is known to couple.
    pub(super) fn block_in_product(&self, [first, second, third]: [Irrep; 3], l3: RangeInclusive<u32>) -> Block {
        let l3: Vec<u32> = l3.filter(|l| third.kappa_max(*l) > 0).collect();
        let projections: Vec<Arc<Projection>> = l3.iter().map(|l| self.projection(third, *l)).collect();
        let extremal = Extremal::new(first, second, third, third.uses_highest());
        let request = Request {
            branchings: [self.branching(first), self.branching(second)],
            extremal,
            third,
            projections,
            coupler: self,
        };
        request.block()
    }

    /// Blocks of many triples, on all cores.
    ///
    /// # Errors
    ///
    /// A triple whose third irrep is not in the product of the first two.
    pub fn blocks(&self, triples: &[[Irrep; 3]], l3: RangeInclusive<u32>) -> Result<Vec<Block>, LabelError> {
        let of = |[first, second, third]: &[Irrep; 3]| self.block(*first, *second, *third, l3.clone());
        triples.par_iter().map(of).collect()
    }

    /// The branching table of an irrep.
    pub fn branching(&self, irrep: Irrep) -> Arc<Branching> {
        self.branchings.get(irrep, |_| true, || Branching::new(irrep))
    }

    /// How states of (λ3 μ3) and L3 are projected: of each κ3 its K, and the factors O_{κj} d_j of the sums with K_j, j ≤ κ3.
    pub fn projected(&self, irrep: Irrep, l: u32) -> Vec<(i64, Vec<f64>)> {
        if irrep.kappa_max(l) == 0 {
            return Vec::new();
        }
        let projection = self.projection(irrep, l);
        let turn =
            |kappa: usize| (0..=kappa).map(|j| projection.orthonormal(kappa, j) * projection.rotation(j)).collect();
        (0..projection.kappa_max()).map(|kappa| (projection.k(kappa), turn(kappa))).collect()
    }

    /// SU(2) symbols in f64.
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    fn projection(&self, irrep: Irrep, l: u32) -> Arc<Projection> {
        self.projections.get((irrep, l), |_| true, || Projection::new(irrep, l))
    }

    /// Canonical coefficients' spins: 2Λ1, 2Λ2 up to `reach`.
    pub(super) fn spin_table(&self, two_lambda3: u32, k3: i64, reach: u32) -> Arc<ClebschTable> {
        let make = || ClebschTable::new(&self.symbols, i64::from(two_lambda3), k3, reach.next_multiple_of(8), 1);
        self.spins.get((two_lambda3, k3), |table| table.reach >= reach, make)
    }

    /// Orbital angular momenta: L1, L2 up to `reach`.
    pub(super) fn orbital_table(&self, l3: u32, k3: i64, reach: u32) -> Arc<ClebschTable> {
        let make = || ClebschTable::new(&self.symbols, i64::from(l3), k3, reach.next_multiple_of(8), 2);
        self.orbitals.get((l3, k3), |table| table.reach >= reach, make)
    }
}

/// Values by key, made once each, or again when one made before does not suffice.
#[derive(Debug)]
struct Cache<K, V> {
    values: RwLock<HashMap<K, Arc<V>>>,
}

impl<K, V> Default for Cache<K, V> {
    fn default() -> Cache<K, V> {
        Cache { values: RwLock::default() }
    }
}

impl<K: Hash + Eq, V> Cache<K, V> {
    fn get(&self, key: K, suffices: impl Fn(&V) -> bool, make: impl FnOnce() -> V) -> Arc<V> {
        let known = self.values.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(known) = known.filter(|value| suffices(value)) {
            return known;
        }
        let made = Arc::new(make()); // two threads may both make it; the values are the same
        self.values.write().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::clone(&made));
        made
    }
}

/// ⟨j1 m1 j2 m3−m1|j3 m3⟩ for one j3 and m3, all j1, j2 up to a reach and all m1.
///
/// Labels are in units of 1/`per`: spins come doubled (`per` = 1), orbital angular momenta as they are (`per` = 2).
#[derive(Debug)]
pub(super) struct ClebschTable {
    reach: u32,
    values: Vec<f64>,
    /// Numbers a j2: m1 in steps that keep its parity.
    per: i64,
}

impl ClebschTable {
    fn new(symbols: &Symbols, j3: i64, m3: i64, reach: u32, per: i64) -> ClebschTable {
        let n = i64::from(reach);
        let mut table = ClebschTable { reach, values: Vec::new(), per };
        table.values = vec![0.0; table.position(n, n + 1, n)];
        for (j1, j2) in (0..=n).flat_map(|j1| (0..=n).map(move |j2| (j1, j2))) {
            let open = per == 1 && (j1 + j2 + j3) % 2 != 0;
            if open || (j1 - j2).abs() > j3 || j3 > j1 + j2 {
                continue;
            }
            for m1 in (-j1..=j1).step_by(if per == 1 { 2 } else { 1 }) {
                let m2 = m3 - m1;
                if m2.abs() <= j2 {
                    let at = table.position(j1, j2, m1);
                    let doubled = |x: [i64; 3]| x.map(|label| label * per);
                    let value = symbols.clebsch_gordan(doubled([j1, j2, j3]), doubled([m1, m2, m3]));
                    table.values[at] = value.unwrap_or_default(); // the labels are projections of their own
                }
            }
        }
        table
    }

    fn position(&self, j1: i64, j2: i64, m1: i64) -> usize {
        let n = i64::from(self.reach) + 1;
        let (numbers, m) = if self.per == 1 { (n, (m1 + j1) / 2) } else { (2 * n, m1 + j1) };
        ((j1 * numbers + m) * n + j2) as usize
    }

    /// ⟨j1 m1 j2 m3−m1|j3 m3⟩ of labels within reach.
    pub(super) fn get(&self, j1: i64, j2: i64, m1: i64) -> f64 {
        self.values[self.position(j1, j2, m1)]
    }
}
