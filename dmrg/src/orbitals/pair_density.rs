//! The density matrix of two orbitals p < q, by averages.
//!
//! ρ_ab,a'b' = ⟨T⟩ with T = |a'b'⟩⟨ab| ⊗ 1, where |ab⟩ = A†_p B†_q |0⟩ and each orbital is empty, ↑, ↓ or ↑↓ = c†↑c†↓. As a product of
//! operators, T = A'†_p B'†_q (1 − n_p↑)(1 − n_p↓)(1 − n_q↑)(1 − n_q↓) B_q A_p, so the signs of the electrons between p and q in the chain
//! are those of any other average. In a sector of fixed N↑ and N↓, ρ is made of blocks in which both orbitals have the same electrons:
//! 16 diagonal elements and 10 others.

use eigenforge_core::observable::{Averages, Observable};
use eigenforge_core::operator::{Factor, Operator, Spin, build};

/// What the names of these observables begin with.
const NAME: &str = "pair_density";

/// States of one orbital: bit 0 is ↑, bit 1 ↓.
const STATES: usize = 4;

/// A symmetric block of the density matrix.
pub(crate) struct DensityBlock {
    /// Its states.
    pub states: Vec<[usize; 2]>,
    /// Its elements.
    pub values: Vec<f64>,
}

/// The states of two orbitals with the same electrons.
fn blocks() -> impl Iterator<Item = Vec<[usize; 2]>> {
    let electrons = |state: &[usize; 2], spin: usize| (state[0] >> spin & 1) + (state[1] >> spin & 1);
    let all = || (0..STATES * STATES).map(|k| [k / STATES, k % STATES]);
    let numbers = (0..9).map(|k| [k / 3, k % 3]);
    numbers.map(move |[up, down]| all().filter(|s| [electrons(s, 0), electrons(s, 1)] == [up, down]).collect())
}

/// The elements on and above the diagonal of a block.
fn elements(block: &[[usize; 2]]) -> impl Iterator<Item = ([usize; 2], [usize; 2])> {
    (0..block.len()).flat_map(move |row| (row..block.len()).map(move |column| (block[row], block[column])))
}

fn name(row: [usize; 2], column: [usize; 2]) -> String {
    format!("{NAME}_{}{}_{}{}", row[0], row[1], column[0], column[1])
}

/// c†↑, c†↓ in this order, of those in a state.
fn creators(orbital: usize, state: usize) -> Operator {
    let spins = [Spin::Up, Spin::Down].into_iter().enumerate().filter(|(bit, _)| state >> bit & 1 == 1);
    let factors: Vec<Factor> = spins.map(|(_, spin)| Factor::Create(spin, orbital)).collect();
    Operator::product(&factors)
}

/// (1 − n↑)(1 − n↓).
fn empty(orbital: usize) -> Operator {
    let hole = |spin: Spin| build::scalar(1.0) - build::n(orbital, spin);
    hole(Spin::Up) * hole(Spin::Down)
}

/// |to⟩⟨from| of two orbitals.
fn transfer(places: [usize; 2], to: [usize; 2], from: [usize; 2]) -> Operator {
    let both = |states: [usize; 2]| creators(places[0], states[0]) * creators(places[1], states[1]);
    both(to) * empty(places[0]) * empty(places[1]) * both(from).adjoint()
}

/// The observables whose averages are the density matrices of all pairs p < q of so many orbitals; others are 0.
pub fn pair_densities(orbitals: usize) -> Vec<Observable> {
    let of = |(row, column): ([usize; 2], [usize; 2])| {
        let element = |p: usize, q: usize| if p < q { transfer([p, q], column, row) } else { Operator::zero() };
        Observable::by_pair(&name(row, column), orbitals, element)
    };
    blocks().flat_map(|block| elements(&block).map(of).collect::<Vec<_>>()).collect()
}

/// Takes their averages out.
pub fn remove_pair_densities(averages: &mut Averages) {
    for block in blocks() {
        elements(&block).for_each(|(row, column)| drop(averages.remove(&name(row, column))));
    }
}

/// The density matrix of two orbitals, block by block; `None` without its averages.
pub(crate) fn density(averages: &Averages, [p, q]: [usize; 2]) -> Option<Vec<DensityBlock>> {
    let block = |states: Vec<[usize; 2]>| {
        let n = states.len();
        let mut values = vec![0.0; n * n];
        for row in 0..n {
            for column in row..n {
                let value = averages.pairs(&name(states[row], states[column]))?[[p, q]];
                (values[row * n + column], values[column * n + row]) = (value, value);
            }
        }
        Some(DensityBlock { states, values })
    };
    blocks().map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_sixteen_diagonal_elements_and_ten_others() {
        let list: Vec<_> = blocks().flat_map(|block| elements(&block).collect::<Vec<_>>()).collect();
        assert_eq!(list.iter().filter(|(row, column)| row == column).count(), 16);
        assert_eq!(list.len(), 26);
    }

    #[test]
    fn the_diagonal_elements_add_up_to_one() {
        let states = (0..STATES * STATES).map(|k| [k / STATES, k % STATES]);
        let sum: Operator = states.map(|state| transfer([0, 2], state, state)).sum();
        let rest = (sum - build::scalar(1.0)).reduced();
        assert!(rest.terms().all(|(_, coefficient)| coefficient == 0.0), "{rest}");
    }
}
