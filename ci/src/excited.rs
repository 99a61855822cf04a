//! What operators make of a vector over determinants.
//!
//! In: a space, a vector over it, an operator, the space that it leads to. Out: the vector there. |n⟩ = Π c†_{pα} Π c†_{pβ} |0⟩ with orbitals
//! ascending (docs of the crate), so a β operator passes all α electrons. Every row is gathered from the rows that lead to it.

use super::Space;
use super::strings::{Occupation, occupied};
use ndarray::Array2;
use rayon::prelude::*;

/// a_pσ, or a†_pσ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LadderOperator {
    /// p, from 0.
    pub orbital: usize,
    /// Whether σ is β.
    pub is_beta: bool,
    /// Whether it adds an electron.
    pub adds: bool,
}

/// Whether an odd number of electrons stand below an orbital.
fn is_odd_below(word: Occupation, orbital: usize) -> bool {
    (word & ((1 << orbital) - 1)).count_ones() % 2 == 1
}

fn signed(value: f64, is_odd: bool) -> f64 {
    if is_odd { -value } else { value }
}

/// The value of each row of a space.
fn gathered(to: &Space, of: impl Fn((Occupation, Occupation)) -> f64 + Sync) -> Vec<f64> {
    let rows = 0..to.len() as usize;
    rows.into_par_iter().with_min_len(1 << 10).map(|row| of(to.determinant(row as u64))).collect()
}

impl LadderOperator {
    /// The α and β electrons of what it makes of so many; `None` where it makes nothing.
    pub fn electrons(self, (up, down): (usize, usize), orbitals: usize) -> Option<(usize, usize)> {
        let change = |electrons: usize| match self.adds {
            true => Some(electrons + 1).filter(|electrons| *electrons <= orbitals),
            false => electrons.checked_sub(1),
        };
        if self.is_beta { Some((up, change(down)?)) } else { Some((change(up)?, down)) }
    }

    /// What it makes of a vector over `from`, in a space with the determinants that it leads to.
    pub fn act(self, from: &Space, to: &Space, vector: &[f64]) -> Vec<f64> {
        let bit: Occupation = 1 << self.orbital;
        gathered(to, |(up, down)| {
            let own = if self.is_beta { down } else { up };
            if (own & bit != 0) != self.adds {
                return 0.0;
            }
            let (before, passed) =
                if self.is_beta { ((up, down ^ bit), up.count_ones()) } else { ((up ^ bit, down), 0) };
            let value = from.row(before.0, before.1).map_or(0.0, |row| vector[row as usize]);
            signed(value, is_odd_below(own, self.orbital) != (passed % 2 == 1))
        })
    }
}

/// S⁻ (or S⁺) of a vector over `from`, in the space with one β (α) electron more: Σ_p a†_pβ a_pα of one set of orbitals.
pub fn flip_spin(from: &Space, to: &Space, raises: bool, vector: &[f64]) -> Vec<f64> {
    gathered(to, |(up, down)| {
        // Orbitals with an electron of the new spin and none of the old.
        let (new, old) = if raises { (up, down) } else { (down, up) };
        // The operator that acts on β passes as many α electrons for every p.
        let passed = if raises { up.count_ones() - 1 } else { up.count_ones() } % 2 == 1;
        let of = |orbital: usize| {
            let bit = 1 << orbital;
            let row = from.row(up ^ bit, down ^ bit);
            let value = row.map_or(0.0, |row| vector[row as usize]);
            signed(value, is_odd_below(new, orbital) != is_odd_below(old, orbital))
        };
        signed(occupied(new & !old).map(of).sum::<f64>(), passed)
    })
}

/// Σ_pq o_pq a†_pσ a_qσ of a vector over `from`, in a space `to` of as many electrons; `one` has the matrices of α and of β electrons.
pub fn one_electron_product(from: &Space, to: &Space, one: &[Array2<f64>; 2], vector: &[f64]) -> Vec<f64> {
    let orbitals = from.orbitals();
    let all: Occupation = if orbitals == Occupation::BITS as usize { Occupation::MAX } else { (1 << orbitals) - 1 };
    gathered(to, |(up, down)| {
        let mut sum = 0.0;
        for (spin, word) in [up, down].into_iter().enumerate() {
            for p in occupied(word) {
                let left = word & !(1 << p);
                for q in occupied(all & !left) {
                    let element = one[spin][[p, q]];
                    if element == 0.0 {
                        continue;
                    }
                    let before = left | 1 << q;
                    let row = if spin == 0 { from.row(before, down) } else { from.row(up, before) };
                    let value = row.map_or(0.0, |row| vector[row as usize]);
                    sum += signed(element * value, is_odd_below(left, p) != is_odd_below(left, q));
                }
            }
        }
        sum
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(length: u64, seed: u64) -> Vec<f64> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        };
        (0..length).map(|_| next()).collect()
    }

    fn are_equal(a: &[f64], b: &[f64]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12)
    }

    /// a_p a†_q + a†_q a_p = δ_pq for every two, of equal and of different spin.
    #[test]
    fn ladder_operators_anticommute() {
        let (n, up, down) = (4, 2, 1);
        let space = Space::full(n, up, down).unwrap();
        let x = random(space.len(), 3);
        let all = || (0..n).flat_map(|p| [false, true].map(|spin| (p, spin)));
        for (first, second) in all().flat_map(|a| all().map(move |b| (a, b))) {
            let of = |adds: bool, (orbital, is_beta)| LadderOperator { orbital, is_beta, adds };
            let (take, put) = (of(false, first), of(true, second));
            let product = |one: LadderOperator, two: LadderOperator| {
                let between = one.electrons((up, down), n).unwrap();
                let end = two.electrons(between, n).unwrap();
                let [between, end] = [between, end].map(|(up, down)| Space::full(n, up, down).unwrap());
                two.act(&between, &end, &one.act(&space, &between, &x))
            };
            let sum: Vec<f64> = product(take, put).iter().zip(product(put, take)).map(|(a, b)| a + b).collect();
            let wanted = if first == second { x.clone() } else { vec![0.0; sum.len()] };
            assert!(are_equal(&sum, &wanted), "{first:?} {second:?}");
        }
        let none = LadderOperator { orbital: 0, is_beta: true, adds: false };
        assert_eq!((none.electrons((1, 0), 4), none.electrons((1, 1), 4)), (None, Some((1, 0))));
    }

    /// S⁻ and Σ o a†a are sums of products of two ladder operators.
    #[test]
    fn flips_and_one_electron_operators_are_products_of_two() {
        let (n, up, down) = (4, 2, 2);
        let space = Space::full(n, up, down).unwrap();
        let x = random(space.len(), 5);
        let product = |first: LadderOperator, second: LadderOperator| {
            let between = first.electrons((up, down), n).unwrap();
            let end = second.electrons(between, n).unwrap();
            let [between, end] = [between, end].map(|(up, down)| Space::full(n, up, down).unwrap());
            second.act(&between, &end, &first.act(&space, &between, &x))
        };
        let add = |sum: &mut Vec<f64>, part: Vec<f64>, factor: f64| {
            sum.resize(part.len(), 0.0);
            sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += factor * part);
        };
        for raises in [false, true] {
            let mut wanted = Vec::new();
            for orbital in 0..n {
                let take = LadderOperator { orbital, is_beta: raises, adds: false };
                add(&mut wanted, product(take, LadderOperator { orbital, is_beta: !raises, adds: true }), 1.0);
            }
            let end = if raises { (up + 1, down - 1) } else { (up - 1, down + 1) };
            let end = Space::full(n, end.0, end.1).unwrap();
            assert!(are_equal(&flip_spin(&space, &end, raises, &x), &wanted), "raises {raises}");
        }
        let numbers = random(2 * 16, 9);
        let one = [0, 1].map(|spin| Array2::from_shape_fn((n, n), |(p, q)| numbers[16 * spin + 4 * p + q]));
        let mut wanted = vec![0.0; x.len()];
        for (spin, matrix) in [false, true].into_iter().zip(&one) {
            for ((p, q), element) in matrix.indexed_iter() {
                let take = LadderOperator { orbital: q, is_beta: spin, adds: false };
                add(&mut wanted, product(take, LadderOperator { orbital: p, is_beta: spin, adds: true }), *element);
            }
        }
        assert!(are_equal(&one_electron_product(&space, &space, &one, &x), &wanted));
    }
}
