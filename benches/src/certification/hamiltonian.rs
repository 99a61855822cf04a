//! Random sparse Hamiltonians whose lowest level has members in several symmetry sectors.
//!
//! Of two kinds. *Sectors*: random blocks, some of which have the same lowest eigenvalue, the others a higher one. *Atoms*: a Kronecker sum
//! of two or three atoms that have a lowest level of 1 to 3 sectors each, so that the level has up to 27 states of different
//! sectors. The states are numbered at random, so that no solver can see the blocks, and the diagonal is wide or narrow beside the rest.

use crate::dice::Dice;
use eigenforge::sparse::Csr;
use eigenforge_runtime::solvers::symmetric_eigen;

/// A Hamiltonian and its lowest level.
pub struct Hamiltonian {
    /// The matrix.
    pub matrix: Csr,
    /// The lowest eigenvalue.
    pub energy: f64,
    /// How often it is there.
    pub multiplicity: usize,
}

/// A dense symmetric matrix, by rows.
struct Block {
    size: usize,
    elements: Vec<f64>,
}

impl Block {
    /// Random elements, some of them zero, beside a diagonal of this width, shifted so that the lowest eigenvalue is `lowest`.
    fn random(dice: &mut Dice, size: usize, width: f64, lowest: f64) -> Block {
        let mut elements = vec![0.0; size * size];
        for i in 0..size {
            for j in 0..i {
                let value = if size > 8 && dice.below(3) > 0 { 0.0 } else { dice.value() };
                elements[i * size + j] = value;
                elements[j * size + i] = value;
            }
            elements[i * size + i] = width * dice.value();
        }
        // A chain, so that no block falls apart.
        for i in 1..size {
            let value = 0.3 + 0.5 * dice.value().abs();
            elements[i * size + i - 1] = value;
            elements[(i - 1) * size + i] = value;
        }
        let found = symmetric_eigen(size, &elements).map_or(0.0, |(values, _)| values[0]);
        (0..size).for_each(|i| elements[i * size + i] += lowest - found);
        Block { size, elements }
    }

    /// Blocks on the diagonal of one.
    fn direct_sum(blocks: &[Block]) -> Block {
        let size = blocks.iter().map(|block| block.size).sum();
        let (mut elements, mut first) = (vec![0.0; size * size], 0);
        for block in blocks {
            for i in 0..block.size {
                for j in 0..block.size {
                    elements[(first + i) * size + first + j] = block.elements[i * block.size + j];
                }
            }
            first += block.size;
        }
        Block { size, elements }
    }

    /// A ⊗ 1 + 1 ⊗ B.
    fn kronecker_sum(&self, other: &Block) -> Block {
        let size = self.size * other.size;
        let mut elements = vec![0.0; size * size];
        for a in 0..self.size {
            for b in 0..other.size {
                let row = a * other.size + b;
                (0..self.size).for_each(|c| {
                    elements[row * size + c * other.size + b] += self.elements[a * self.size + c];
                });
                (0..other.size).for_each(|c| {
                    elements[row * size + a * other.size + c] += other.elements[b * other.size + c];
                });
            }
        }
        Block { size, elements }
    }

    /// The same states in a random order.
    fn shuffled(&self, dice: &mut Dice) -> Csr {
        let mut order: Vec<usize> = (0..self.size).collect();
        (1..self.size).rev().for_each(|i| order.swap(i, dice.below(i + 1)));
        let (mut row_start, mut columns, mut values) = (vec![0u64], Vec::new(), Vec::new());
        for &i in &order {
            for (column, &j) in order.iter().enumerate() {
                let value = self.elements[i * self.size + j];
                if value != 0.0 {
                    columns.push(column as u32);
                    values.push(value);
                }
            }
            row_start.push(columns.len() as u64);
        }
        Csr::new(row_start, columns, values).unwrap_or_else(|error| unreachable!("a matrix of its own making: {error}"))
    }
}

/// Blocks of which `members` have the lowest eigenvalue and `others` a higher one.
fn sectors(dice: &mut Dice, (members, others): (usize, usize), sizes: (usize, usize), lowest: f64) -> Block {
    let width = [0.5, 3.0, 20.0][dice.below(3)];
    let blocks: Vec<Block> = (0..members + others)
        .map(|place| {
            let above = if place < members { 0.0 } else { [0.02, 0.3, 2.0][dice.below(3)] * (1.1 + dice.value()) };
            let size = dice.between(sizes.0, sizes.1);
            Block::random(dice, size, width, lowest + above)
        })
        .collect();
    Block::direct_sum(&blocks)
}

impl Hamiltonian {
    /// Number `number` of a seed.
    pub fn random(seed: u64, number: u64) -> Hamiltonian {
        let mut dice = Dice::of_case(seed, number);
        let energy = 10.0 * dice.value();
        let (block, multiplicity) = if dice.below(2) == 0 {
            let members = dice.between(1, 12);
            let others = dice.below(5);
            (sectors(&mut dice, (members, others), (3, 60), energy), members)
        } else {
            let atoms = dice.between(2, 3);
            let largest = if atoms == 2 { 9 } else { 4 };
            let mut multiplicity = 1;
            let mut whole: Option<Block> = None;
            for atom in 0..atoms {
                let members = dice.between(1, 3);
                let others = dice.below(2);
                multiplicity *= members;
                let own = if atom == 0 { energy } else { 0.0 };
                let block = sectors(&mut dice, (members, others), (2, largest), own);
                whole = Some(match whole {
                    Some(before) => before.kronecker_sum(&block),
                    None => block,
                });
            }
            (whole.unwrap_or(Block { size: 0, elements: Vec::new() }), multiplicity)
        };
        Hamiltonian { matrix: block.shuffled(&mut dice), energy, multiplicity }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_level_is_what_it_is_said_to_be() {
        for number in 0..6 {
            let Hamiltonian { matrix, energy, multiplicity } = Hamiltonian::random(3, number);
            let n = matrix.rows();
            let dense: Vec<f64> = (0..n * n).map(|at| matrix.element(at / n, (at % n) as u32)).collect();
            let (values, _) = symmetric_eigen(n, &dense).unwrap();
            let count = values.iter().filter(|value| (**value - energy).abs() < 1e-10).count();
            assert_eq!(count, multiplicity, "Hamiltonian {number} of {n} states: {:?}", &values[..multiplicity.min(n)]);
        }
    }
}
