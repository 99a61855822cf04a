//! One- and two-electron integrals over real orbitals, each stored once.
//!
//! Both spins have the same orbitals, or each its own ([`BetaIntegrals`]). Electrons of one spin have eightfold symmetry, (pq|rs) = (qp|rs)
//! = (rs|pq); between an α and a β electron, each in its own orbitals, (pq|rs) = (qp|rs) = (pq|sr) remains, pq those of the α electron.

use super::fcidump::{FcidumpError, check_spins};
use eigenforge_core::operator::Spin;

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
    /// h_pq for p ≥ q at [`pair`]`(p, q)`; of α electrons if β electrons have other orbitals.
    pub one: Vec<f64>,
    /// (pq|rs) for pq ≥ rs at [`pair`]`(pair(p, q), pair(r, s))`; likewise.
    pub two: Vec<f64>,
    /// The integrals of β electrons, if these have other orbitals.
    pub beta: Option<Box<BetaIntegrals>>,
}

/// What unrestricted orbitals, one set for each spin, have besides the integrals of α electrons.
#[derive(Clone, Debug, PartialEq)]
pub struct BetaIntegrals {
    /// h_pq of β electrons for p ≥ q at [`pair`]`(p, q)`.
    pub one: Vec<f64>,
    /// (pq|rs) of two β electrons for pq ≥ rs at [`pair`]`(pair(p, q), pair(r, s))`.
    pub two: Vec<f64>,
    /// (pq|rs) with pq of an α and rs of a β electron at `pair(p, q) * n (n + 1) / 2 + pair(r, s)`, n the number of orbitals.
    pub mixed: Vec<f64>,
}

impl BetaIntegrals {
    /// Every integral 0.
    pub fn zero(orbitals: usize) -> BetaIntegrals {
        let pairs = triangle(orbitals);
        BetaIntegrals { one: vec![0.0; pairs], two: vec![0.0; triangle(pairs)], mixed: vec![0.0; pairs * pairs] }
    }
}

/// The integrals of electrons of one spin.
#[derive(Clone, Copy)]
pub(super) struct SpinIntegrals<'a> {
    pub(super) orbitals: usize,
    pub(super) one: &'a [f64],
    pub(super) two: &'a [f64],
}

impl SpinIntegrals<'_> {
    /// h_pq.
    pub(super) fn one(&self, p: usize, q: usize) -> f64 {
        self.one[pair(p, q)]
    }

    /// (pq|rs).
    pub(super) fn two(&self, p: usize, q: usize, r: usize, s: usize) -> f64 {
        self.two[pair(pair(p, q), pair(r, s))]
    }
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
            beta: None,
        }
    }

    /// Whether each spin has its own orbitals.
    pub fn is_unrestricted(&self) -> bool {
        self.beta.is_some()
    }

    /// Those of electrons of one spin.
    pub(super) fn of_spin(&self, spin: Spin) -> SpinIntegrals<'_> {
        let (one, two) = match &self.beta {
            Some(beta) if spin == Spin::Down => (&beta.one, &beta.two),
            _ => (&self.one, &self.two),
        };
        SpinIntegrals { orbitals: self.orbitals, one, two }
    }

    /// (pq|rs) with pq of an α and rs of a β electron, by pairs of orbitals.
    pub(super) fn between(&self, left: usize, right: usize) -> f64 {
        match &self.beta {
            Some(beta) => beta.mixed[left * triangle(self.orbitals) + right],
            None => self.two[pair(left, right)],
        }
    }

    /// Σ_r (pq|rr) of the electrons r of the other spin, with pq of an electron of `spin`.
    pub(super) fn felt(&self, spin: Spin, pq: usize, others: impl Iterator<Item = usize>) -> f64 {
        let value = |r: usize| match spin {
            Spin::Down => self.between(pair(r, r), pq),
            _ => self.between(pq, pair(r, r)),
        };
        others.map(value).sum()
    }

    /// All h_pq, and all (pq|rs).
    pub(super) fn lists(&self) -> [Vec<&[f64]>; 2] {
        let (mut one, mut two): (Vec<&[f64]>, Vec<&[f64]>) = (vec![&self.one], vec![&self.two]);
        if let Some(beta) = &self.beta {
            one.push(&beta.one);
            two.extend([beta.two.as_slice(), &beta.mixed]);
        }
        [one, two]
    }

    /// All h_pq and (pq|rs), each once.
    pub(super) fn values(&self) -> impl Iterator<Item = f64> {
        self.lists().into_iter().flatten().flatten().copied()
    }

    /// h_pq; of α electrons if β electrons have other orbitals.
    pub fn one(&self, p: usize, q: usize) -> f64 {
        self.one[pair(p, q)]
    }

    /// (pq|rs) in chemist order; likewise.
    pub fn two(&self, p: usize, q: usize, r: usize, s: usize) -> f64 {
        self.two[pair(pair(p, q), pair(r, s))]
    }

    /// The scale of integrals: the largest |(pq|rs)|, or the largest |h_pq| if there is none.
    pub fn unit(&self) -> f64 {
        let [one, two] = self.lists().map(|lists| {
            lists.into_iter().flatten().fold(0.0f64, |largest, value| largest.max(value.abs()))
        });
        if two > 0.0 { two } else { one }
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
        let is_whole = |one: &[f64], two: &[f64]| one.len() == pairs && two.len() == triangle(pairs);
        let beta = self.beta.as_ref().is_none_or(|beta| is_whole(&beta.one, &beta.two) && beta.mixed.len() == pairs * pairs);
        is_whole(&self.one, &self.two) && beta && irreps && known
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
        let forbidden = |values: &[f64], left: u8| {
            let others = values.iter().zip(&product).filter(|(_, right)| **right != left);
            others.map(|(value, _)| value.abs()).fold(0.0, f64::max)
        };
        let mut largest = 0.0f64;
        for spin in [Spin::Up, Spin::Down] {
            let SpinIntegrals { one, two, .. } = self.of_spin(spin);
            largest = largest.max(forbidden(one, 0));
            for (pq, left) in product.iter().enumerate() {
                largest = largest.max(forbidden(&two[triangle(pq)..=triangle(pq) + pq], *left));
            }
        }
        if let Some(beta) = &self.beta {
            let rows = beta.mixed.chunks(product.len().max(1)).zip(&product);
            largest = rows.map(|(row, left)| forbidden(row, *left)).fold(largest, f64::max);
        }
        largest
    }
}
