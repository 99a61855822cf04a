//! One- and two-electron integrals over real or complex orbitals, each stored once.
//!
//! Over complex orbitals (pq|rs) = (rs|pq) = (qp|sr)* in place of what follows ([`OrbitalNumber`]).
//!
//! Both spins have the same orbitals, or each its own ([`BetaIntegrals`]). Electrons of one spin have eightfold symmetry, (pq|rs) = (qp|rs)
//! = (rs|pq); between an α and a β electron, each in its own orbitals, (pq|rs) = (qp|rs) = (pq|sr) remains, pq those of the α electron.

use super::fcidump::{FcidumpError, check_spins};
use super::orbital_number::OrbitalNumber;
pub(super) use super::orbital_number::{pair, triangle};
use eigenforge_core::operator::Spin;

/// Integrals of a molecule, or of any model with two-body forces. Energies in Hartree. `T` is `f64` over real orbitals, and a complex
/// number over complex ones, whose pairs (p, q) are numbered p n + q, n the number of orbitals.
#[derive(Clone, Debug, PartialEq)]
pub struct Integrals<T = f64> {
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
    /// h_pq at the number of the pair, for p ≥ q at [`pair`]`(p, q)`; of α electrons if β electrons have other orbitals.
    pub one: Vec<T>,
    /// (pq|rs) at [`pair`] of the numbers of both pairs; likewise.
    pub two: Vec<T>,
    /// The integrals of β electrons, if these have other orbitals.
    pub beta: Option<Box<BetaIntegrals<T>>>,
}

/// What unrestricted orbitals, one set for each spin, have besides the integrals of α electrons.
#[derive(Clone, Debug, PartialEq)]
pub struct BetaIntegrals<T = f64> {
    /// h_pq of β electrons, as of [`Integrals::one`](field@Integrals::one).
    pub one: Vec<T>,
    /// (pq|rs) of two β electrons, as of [`Integrals::two`](field@Integrals::two).
    pub two: Vec<T>,
    /// (pq|rs) with pq of an α and rs of a β electron: the number of pq times that of all pairs, plus the number of rs.
    pub mixed: Vec<T>,
}

impl<T: OrbitalNumber> BetaIntegrals<T> {
    /// Every integral 0.
    pub fn zero(orbitals: usize) -> BetaIntegrals<T> {
        let (pairs, zero) = (T::pairs(orbitals), T::default());
        BetaIntegrals { one: vec![zero; pairs], two: vec![zero; triangle(pairs)], mixed: vec![zero; pairs * pairs] }
    }
}

/// The integrals of electrons of one spin.
#[derive(Clone, Copy)]
pub(super) struct SpinIntegrals<'a, T = f64> {
    pub(super) orbitals: usize,
    pub(super) one: &'a [T],
    pub(super) two: &'a [T],
}

impl<T: OrbitalNumber> SpinIntegrals<'_, T> {
    /// h_pq.
    pub(super) fn one(&self, p: usize, q: usize) -> T {
        self.one[T::pair(self.orbitals, p, q)]
    }

    /// (pq|rs).
    pub(super) fn two(&self, p: usize, q: usize, r: usize, s: usize) -> T {
        self.two[pair(T::pair(self.orbitals, p, q), T::pair(self.orbitals, r, s))]
    }
}

impl<T: OrbitalNumber> Integrals<T> {
    /// No electrons, and every integral 0.
    pub fn zeros(orbitals: usize) -> Integrals<T> {
        let pairs = T::pairs(orbitals);
        Integrals {
            orbitals,
            electrons: 0,
            two_sz: 0,
            irreps: Vec::new(),
            core: 0.0,
            one: vec![T::default(); pairs],
            two: vec![T::default(); triangle(pairs)],
            beta: None,
        }
    }

    /// Whether each spin has its own orbitals.
    pub fn is_unrestricted(&self) -> bool {
        self.beta.is_some()
    }

    /// Those of electrons of one spin.
    pub(super) fn of_spin(&self, spin: Spin) -> SpinIntegrals<'_, T> {
        let (one, two) = match &self.beta {
            Some(beta) if spin == Spin::Down => (&beta.one, &beta.two),
            _ => (&self.one, &self.two),
        };
        SpinIntegrals { orbitals: self.orbitals, one, two }
    }

    /// (pq|rs) with pq of an α and rs of a β electron, by pairs of orbitals.
    pub(super) fn between(&self, left: usize, right: usize) -> T {
        match &self.beta {
            Some(beta) => beta.mixed[left * T::pairs(self.orbitals) + right],
            None => self.two[pair(left, right)],
        }
    }

    /// Σ_r (pq|rr) of the electrons r of the other spin, with pq of an electron of `spin`.
    pub(super) fn felt(&self, spin: Spin, pq: usize, others: impl Iterator<Item = usize>) -> T {
        let density = |r| T::pair(self.orbitals, r, r);
        let value = |r: usize| match spin {
            Spin::Down => self.between(density(r), pq),
            _ => self.between(pq, density(r)),
        };
        others.map(value).sum()
    }

    /// The numbers of orbitals and electrons, irreps and core energy, without values.
    pub(super) fn without_values(&self) -> Integrals {
        let Integrals { orbitals, electrons, two_sz, ref irreps, core, .. } = *self;
        let (one, two) = (Vec::new(), Vec::new());
        Integrals { orbitals, electrons, two_sz, irreps: irreps.clone(), core, one, two, beta: None }
    }

    /// All h_pq, and all (pq|rs).
    pub(super) fn lists(&self) -> [Vec<&[T]>; 2] {
        let (mut one, mut two): (Vec<&[T]>, Vec<&[T]>) = (vec![&self.one], vec![&self.two]);
        if let Some(beta) = &self.beta {
            one.push(&beta.one);
            two.extend([beta.two.as_slice(), &beta.mixed]);
        }
        [one, two]
    }

    /// All h_pq and (pq|rs), each once.
    pub(super) fn values(&self) -> impl Iterator<Item = T> {
        self.lists().into_iter().flatten().flatten().copied()
    }

    /// The scale of integrals: the largest |(pq|rs)|, or the largest |h_pq| if there is none.
    pub fn unit(&self) -> f64 {
        let [one, two] = self
            .lists()
            .map(|lists| lists.into_iter().flatten().fold(0.0f64, |largest, value| largest.max(value.size())));
        if two > 0.0 { two } else { one }
    }

    /// n_α and n_β: (N + 2Sz) / 2 and (N − 2Sz) / 2, at least 0.
    pub fn spins(&self) -> (usize, usize) {
        let electrons = self.electrons as i64;
        (((electrons + self.two_sz) / 2).max(0) as usize, ((electrons - self.two_sz) / 2).max(0) as usize)
    }

    /// The same integrals for n_α − n_β = `two_sz`, which must have the parity of the number of electrons.
    pub fn with_two_sz(mut self, two_sz: i64) -> Result<Integrals<T>, FcidumpError> {
        check_spins(self.orbitals, self.electrons as u64, two_sz)?;
        self.two_sz = two_sz;
        Ok(self)
    }

    /// Whether the numbers of values and irreps match the orbitals, and all irreps exist.
    pub fn is_whole(&self) -> bool {
        let pairs = T::pairs(self.orbitals);
        let irreps = self.irreps.is_empty() || self.irreps.len() == self.orbitals;
        let known = self.irreps.iter().all(|irrep| (1..=8).contains(irrep));
        let is_whole = |one: &[T], two: &[T]| one.len() == pairs && two.len() == triangle(pairs);
        let beta =
            self.beta.as_ref().is_none_or(|beta| is_whole(&beta.one, &beta.two) && beta.mixed.len() == pairs * pairs);
        is_whole(&self.one, &self.two) && beta && irreps && known
    }

    /// Whether every integral forbidden by the orbitals' irreps is exactly 0. False without irreps.
    pub fn obey_irreps(&self) -> bool {
        !self.irreps.is_empty() && self.largest_forbidden(&self.irreps) == 0.0
    }

    /// The largest |h_pq| or |(pq|rs)| that symmetry forbids: the product of its orbitals' irreps (one per orbital, from
    /// 1) is not totally symmetric.
    pub fn largest_forbidden(&self, irreps: &[u8]) -> f64 {
        let pairs = T::pair_list(self.orbitals).into_iter();
        let product: Vec<u8> = pairs.map(|(p, q)| (irreps[p] - 1) ^ (irreps[q] - 1)).collect();
        let forbidden = |values: &[T], left: u8| {
            let others = values.iter().zip(&product).filter(|(_, right)| **right != left);
            others.map(|(value, _)| value.size()).fold(0.0, f64::max)
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

impl Integrals {
    /// Over real orbitals no electrons, and every integral 0.
    pub fn zero(orbitals: usize) -> Integrals {
        Integrals::zeros(orbitals)
    }

    /// h_pq; of α electrons if β electrons have other orbitals.
    pub fn one(&self, p: usize, q: usize) -> f64 {
        self.one[pair(p, q)]
    }

    /// (pq|rs) in chemist order; likewise.
    pub fn two(&self, p: usize, q: usize, r: usize, s: usize) -> f64 {
        self.two[pair(pair(p, q), pair(r, s))]
    }
}
