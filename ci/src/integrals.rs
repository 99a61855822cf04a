//! One- and two-electron integrals over real orbitals, with eightfold symmetry, each stored once.

use super::fcidump::{FcidumpError, check_spins};

/// Integrals of a molecule, or of any model with two-body forces. Energies in Hartree.
#[derive(Clone, Debug, PartialEq)]
pub struct Integrals {
    /// Number of spatial orbitals.
    pub orbitals: usize,
    /// Number of electrons.
    pub electrons: usize,
    /// Twice Sz: n_α − n_β.
    pub two_sz: i64,
    /// Irreducible representation of each orbital in Molpro's numbering, from 1; empty if unknown.
    pub irreps: Vec<u8>,
    /// Energy without electrons: nuclei and frozen cores.
    pub core: f64,
    /// h_pq for p ≥ q at [`pair`]`(p, q)`.
    pub one: Vec<f64>,
    /// (pq|rs) for pq ≥ rs at [`pair`]`(pair(p, q), pair(r, s))`.
    pub two: Vec<f64>,
}

/// Index of (a, b) = (b, a) in a packed lower triangle.
pub fn pair(a: usize, b: usize) -> usize {
    let (high, low) = if a >= b { (a, b) } else { (b, a) };
    high * (high + 1) / 2 + low
}

/// Elements of a packed lower triangle of n rows.
pub(super) fn triangle(n: usize) -> usize {
    n * (n + 1) / 2
}

impl Integrals {
    /// No electrons, and every integral 0.
    pub fn zero(orbitals: usize) -> Integrals {
        let pairs = triangle(orbitals);
        Integrals {
            orbitals,
            electrons: 0,
            two_sz: 0,
            irreps: Vec::new(),
            core: 0.0,
            one: vec![0.0; pairs],
            two: vec![0.0; triangle(pairs)],
        }
    }

    /// h_pq.
    pub fn one(&self, p: usize, q: usize) -> f64 {
        self.one[pair(p, q)]
    }

    /// (pq|rs) in chemist order.
    pub fn two(&self, p: usize, q: usize, r: usize, s: usize) -> f64 {
        self.two[pair(pair(p, q), pair(r, s))]
    }

    /// The scale of integrals: the largest |(pq|rs)|, or the largest |h_pq| if there is none.
    pub fn unit(&self) -> f64 {
        let largest = |values: &[f64]| values.iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
        let two = largest(&self.two);
        if two > 0.0 { two } else { largest(&self.one) }
    }

    /// n_α and n_β: (N + 2Sz) / 2 and (N − 2Sz) / 2, at least 0.
    pub fn spins(&self) -> (usize, usize) {
        let electrons = self.electrons as i64;
        (((electrons + self.two_sz) / 2).max(0) as usize, ((electrons - self.two_sz) / 2).max(0) as usize)
    }

    /// The same integrals for n_α − n_β = `two_sz`, which must have the parity of the number of electrons.
    pub fn with_two_sz(mut self, two_sz: i64) -> Result<Integrals, FcidumpError> {
        check_spins(self.orbitals, self.electrons as u64, two_sz)?;
        self.two_sz = two_sz;
        Ok(self)
    }

    /// Whether the numbers of values and irreps match the orbitals, and all irreps exist.
    pub fn is_whole(&self) -> bool {
        let pairs = triangle(self.orbitals);
        let irreps = self.irreps.is_empty() || self.irreps.len() == self.orbitals;
        let known = self.irreps.iter().all(|irrep| (1..=8).contains(irrep));
        self.one.len() == pairs && self.two.len() == triangle(pairs) && irreps && known
    }

    /// Whether every integral forbidden by the orbitals' irreps is exactly 0. False without irreps.
    pub fn obey_irreps(&self) -> bool {
        !self.irreps.is_empty() && self.largest_forbidden(&self.irreps) == 0.0
    }

    /// The largest |h_pq| or |(pq|rs)| that symmetry forbids: the product of its orbitals' irreps (one per orbital, from
    /// 1) is not totally symmetric.
    pub fn largest_forbidden(&self, irreps: &[u8]) -> f64 {
        let pairs = (0..self.orbitals).flat_map(|p| (0..=p).map(move |q| (p, q)));
        let product: Vec<u8> = pairs.map(|(p, q)| (irreps[p] - 1) ^ (irreps[q] - 1)).collect();
        let one = self.one.iter().zip(&product).filter(|(_, product)| **product != 0).map(|(value, _)| value.abs());
        let mut largest = one.fold(0.0, f64::max);
        for (pq, left) in product.iter().enumerate() {
            let row = &self.two[triangle(pq)..=triangle(pq) + pq];
            let forbidden = row.iter().zip(&product).filter(|(_, right)| *right != left);
            largest = forbidden.map(|(value, _)| value.abs()).fold(largest, f64::max);
        }
        largest
    }
}
