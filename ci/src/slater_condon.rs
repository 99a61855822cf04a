//! Matrix elements between determinants (Slater 1929; Condon 1930; Szabo and Ostlund 1996, tables 2.5 and 2.6).
//!
//! In: integrals and determinants as words of occupied orbitals, |I⟩ = Π a†_pα Π a†_qβ |0⟩ with orbitals ascending. Out:
//! ⟨I|H|J⟩ without the core energy, in Hartree. a†_p a_q of one spin anticommutes past the electrons between p and q, and
//! past none of the other spin, so each spin has its own sign:
//!
//! I has p (and r) where J has q (and s):
//!
//! | J differs by | ⟨I\|H\|J⟩ |
//! |---|---|
//! | nothing | Σ h_pp + ½ Σ (pp\|qq) − ½ Σ same spin (pq\|qp) |
//! | p → q | ± [h_pq + Σ_r (pq\|rr) − Σ_r same spin (pr\|rq)] |
//! | p → q, r → s, one spin | ± [(pq\|rs) − (ps\|rq)] |
//! | p → q, r → s, both spins | ± (pq\|rs) |
//!
//! Where each spin has its own orbitals, every h_pq and (pq|rs) is that of the spins of its electrons.

use super::integrals::{Integrals, SpinIntegrals};
use super::orbital_number::OrbitalNumber;
use super::strings::{Occupation, occupied};
use eigenforge_core::operator::Spin;

/// Whether the sign of a†_to a_from on a word is −1: an odd number of electrons between both orbitals.
pub(super) fn is_odd(word: Occupation, from: usize, to: usize) -> bool {
    let (low, high) = (from.min(to), from.max(to));
    let between = ((1 << high) - 1) & !((1 << low) | ((1 << low) - 1));
    (word & between).count_ones() % 2 == 1
}

/// An excitation of one string by one electron.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Single {
    /// The orbital that is emptied.
    pub from: usize,
    /// The orbital that is filled.
    pub to: usize,
    /// Whether the sign is −1.
    pub odd: bool,
}

impl Single {
    /// The excitation between two words that differ in one orbital.
    pub(super) fn between(word: Occupation, other: Occupation) -> Single {
        let from = (word & !other).trailing_zeros() as usize;
        let to = (other & !word).trailing_zeros() as usize;
        Single { from, to, odd: is_odd(word, from, to) }
    }
}

fn signed<T: OrbitalNumber>(odd: bool, value: T) -> T {
    if odd { -value } else { value }
}

/// Σ h_pp + Σ_{p<q} [(pp|qq) − (pq|qp)]: energy of the electrons of one spin.
pub(super) fn same_spin_energy<T: OrbitalNumber>(integrals: SpinIntegrals<'_, T>, word: Occupation) -> f64 {
    let mut energy = 0.0;
    for p in occupied(word) {
        energy += integrals.one(p, p).real();
        for q in occupied(word).take_while(|q| *q < p) {
            energy += (integrals.two(p, p, q, q) - integrals.two(p, q, q, p)).real();
        }
    }
    energy
}

/// h_pq + Σ_r [(pq|rr) − (pr|rq)] without the sign: the same-spin part of ⟨I|H|J⟩ of a word I with p, where J has q.
pub(super) fn same_spin_single<T: OrbitalNumber>(
    integrals: SpinIntegrals<'_, T>,
    word: Occupation,
    single: Single,
) -> T {
    let (p, q) = (single.from, single.to);
    let mean = occupied(word).map(|r| integrals.two(p, q, r, r) - integrals.two(p, r, r, q));
    integrals.one(p, q) + mean.sum::<T>()
}

/// ± [(pq|rs) − (ps|rq)], ⟨I|H|J⟩ of a word I with p and r, where J has q and s, of one spin.
pub(super) fn same_spin_double<T: OrbitalNumber>(
    integrals: SpinIntegrals<'_, T>,
    word: Occupation,
    [p, r]: [usize; 2],
    [q, s]: [usize; 2],
) -> T {
    let moved = word & !(1 << p) | 1 << q;
    let odd = is_odd(word, p, q) != is_odd(moved, r, s);
    signed(odd, integrals.two(p, q, r, s) - integrals.two(p, s, r, q))
}

/// ⟨I|H|J⟩ without the core energy; determinants are (α word, β word).
pub fn matrix_element<T: OrbitalNumber>(
    integrals: &Integrals<T>,
    row: (Occupation, Occupation),
    column: (Occupation, Occupation),
) -> T {
    let pair = |p, q| T::pair(integrals.orbitals, p, q);
    let moved = |from: Occupation, to: Occupation| (from & !to).count_ones();
    let single = |spin, word, other, spectators| {
        let single = Single::between(word, other);
        let own = same_spin_single(integrals.of_spin(spin), word, single);
        signed(single.odd, own + integrals.felt(spin, pair(single.from, single.to), occupied(spectators)))
    };
    let double = |spin, word: Occupation, other: Occupation| {
        let (mut from, mut to) = (occupied(word & !other), occupied(other & !word));
        let two = |orbitals: &mut dyn Iterator<Item = usize>| [0; 2].map(|_| orbitals.next().unwrap_or(0));
        same_spin_double(integrals.of_spin(spin), word, two(&mut from), two(&mut to))
    };
    match (moved(row.0, column.0), moved(row.1, column.1)) {
        (0, 0) => {
            let own = |spin, word| same_spin_energy(integrals.of_spin(spin), word);
            let felt = |p| integrals.felt(Spin::Up, pair(p, p), occupied(row.1));
            T::from(own(Spin::Up, row.0) + own(Spin::Down, row.1)) + occupied(row.0).map(felt).sum::<T>()
        }
        (1, 0) => single(Spin::Up, row.0, column.0, row.1),
        (0, 1) => single(Spin::Down, row.1, column.1, row.0),
        (2, 0) => double(Spin::Up, row.0, column.0),
        (0, 2) => double(Spin::Down, row.1, column.1),
        (1, 1) => {
            let (up, down) = (Single::between(row.0, column.0), Single::between(row.1, column.1));
            signed(up.odd != down.odd, integrals.between(pair(up.from, up.to), pair(down.from, down.to)))
        }
        _ => T::default(),
    }
}
