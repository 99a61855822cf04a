//! Coupling coefficients: ⟨Q μ|E_pq|P λ⟩ of one move q → p, and those of two moves one after the other.
//!
//! In: how many electrons q and p have, how many open shells there are, and between which of them q and p stand. Out: a small
//! matrix with a row per function λ of P and a column per function μ of Q. Doubly occupied orbitals between are even, and change
//! nothing. The matrix of one move is made from determinants with M = S, on which E_pq acts with fermionic signs; that of two moves
//! is the product of both. Both are made when they are first wanted, and shared by all threads.

use super::MOST_OPEN;
use super::configurations::Configuration;
use super::spin_functions::SpinFunctions;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Open shells that may stand between two moves.
const MOST_BETWEEN: usize = MOST_OPEN + 2;

/// Bytes of products of moves that are kept; others are made again at each use.
const MOST_BYTES: u64 = 2 << 30;

/// One move of an electron as its coefficients see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Move {
    /// Its place in the table.
    place: u32,
    /// Its place among the moves from as many open shells.
    own: u32,
    /// Open shells before, and after.
    pub(super) open: [u8; 2],
}

/// Moves from k open shells: occupations of q and p, and where these stand among the k + 1 places between open shells.
const fn moves_from(open: usize) -> usize {
    8 * (open + 1) * (open + 1)
}

/// Moves from fewer than k open shells.
fn first_move(open: usize) -> usize {
    (0..open).map(moves_from).sum()
}

impl Move {
    /// The move of an electron of a configuration from orbital q to orbital p.
    pub(super) fn new(word: Configuration, q: usize, p: usize) -> Move {
        let others = word.singly & !(1 << q | 1 << p);
        let below = |orbital: usize| (others & ((1 << orbital) - 1)).count_ones() as usize;
        Move::from_geometry(word.open(), [word.electrons(q), word.electrons(p)], [below(q), below(p)], q < p)
    }

    /// By the electrons of q and p before, and the other open shells below each.
    fn from_geometry(open: usize, electrons: [usize; 2], below: [usize; 2], ascends: bool) -> Move {
        let kind = 2 * (electrons[0] - 1) + electrons[1];
        let own = ((kind * (open + 1) + below[0]) * (open + 1) + below[1]) * 2 + usize::from(ascends);
        let after = match electrons {
            [2, 0] => open + 2,
            [1, 1] => open - 2,
            _ => open,
        };
        Move { place: (first_move(open) + own) as u32, own: own as u32, open: [open as u8, after as u8] }
    }

    /// Electrons of q and p before, the other open shells below each, and whether q is below p.
    fn geometry(self) -> ([usize; 2], [usize; 2], bool) {
        let (sides, own) = (usize::from(self.open[0]) + 1, self.own as usize);
        let (rest, ascends) = (own / 2, own % 2 == 1);
        let (kind, q, p) = (rest / sides / sides, rest / sides % sides, rest % sides);
        ([kind / 2 + 1, kind % 2], [q, p], ascends)
    }
}

/// Coefficients of one move, sparse.
#[derive(Debug)]
pub(super) struct Single {
    pub(super) columns: usize,
    start: Vec<u32>,
    elements: Vec<(u16, f64)>,
}

impl Single {
    /// The non-zero coefficients of a function, by column.
    pub(super) fn row(&self, row: usize) -> &[(u16, f64)] {
        &self.elements[self.start[row] as usize..self.start[row + 1] as usize]
    }

    pub(super) fn rows(&self) -> usize {
        self.start.len() - 1
    }
}

/// Coefficients of two moves, dense, row by row.
#[derive(Debug)]
pub(super) struct Double {
    pub(super) values: Box<[f64]>,
    /// Which are not 0, a bit each.
    pub(super) mask: Box<[u64]>,
}

impl Double {
    /// The product of two moves.
    fn new(first: &Single, second: &Single) -> Double {
        let mut values = vec![0.0; first.rows() * second.columns].into_boxed_slice();
        add_product(&mut values, (second.columns, 0), 1.0, first, second);
        // What cancels leaves rounding.
        values.iter_mut().filter(|value| value.abs() < 1e-13).for_each(|value| *value = 0.0);
        let mut mask = vec![0; values.len().div_ceil(64)].into_boxed_slice();
        values
            .iter()
            .enumerate()
            .filter(|(_, value)| **value != 0.0)
            .for_each(|(at, _)| mask[at / 64] |= 1 << (at % 64));
        Double { values, mask }
    }
}

/// Adds c times the product of two moves to a block of rows `width` apart that begins at a column.
pub(super) fn add_product(
    block: &mut [f64],
    (width, column): (usize, usize),
    factor: f64,
    first: &Single,
    second: &Single,
) {
    for (row, sums) in block.chunks_mut(width.max(1)).enumerate().take(first.rows()) {
        for (middle, left) in first.row(row) {
            for (target, right) in second.row(usize::from(*middle)) {
                sums[column + usize::from(*target)] += factor * left * right;
            }
        }
    }
}

/// The coefficients of a space's spin.
#[derive(Debug)]
pub(super) struct Couplings {
    two_s: usize,
    functions: Vec<OnceLock<SpinFunctions>>,
    singles: Vec<OnceLock<Single>>,
    doubles: Vec<OnceLock<Box<[OnceLock<Double>]>>>,
    /// Bytes of products that may still be kept.
    room: AtomicU64,
}

impl Couplings {
    /// Without coefficients yet.
    pub(super) fn new(two_s: usize) -> Couplings {
        fn slots<V>(count: usize) -> Vec<OnceLock<V>> {
            (0..count).map(|_| OnceLock::new()).collect()
        }
        let moves = first_move(MOST_BETWEEN + 1);
        let (singles, doubles) = (slots(moves), slots(moves));
        Couplings { two_s, functions: slots(MOST_BETWEEN + 1), singles, doubles, room: AtomicU64::new(MOST_BYTES) }
    }

    /// The functions of k open shells with M = S.
    fn functions(&self, open: usize) -> &SpinFunctions {
        self.functions[open].get_or_init(|| SpinFunctions::new(open, self.two_s, self.two_s as i64))
    }

    /// The coefficients of one move.
    pub(super) fn single(&self, step: Move) -> &Single {
        self.singles[step.place as usize].get_or_init(|| self.make(step))
    }

    /// Those of two moves; `None` where there is no room to keep them.
    pub(super) fn double(&self, [first, second]: [Move; 2]) -> Option<&Double> {
        let row = self.doubles[first.place as usize].get_or_init(|| {
            let count = moves_from(usize::from(first.open[1]));
            (0..count).map(|_| OnceLock::new()).collect()
        });
        let slot = &row[second.own as usize];
        if let Some(kept) = slot.get() {
            return Some(kept);
        }
        let (left, right) = (self.single(first), self.single(second));
        let bytes = 9 * (left.rows() * right.columns) as u64 + 64;
        let taken = self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |room| room.checked_sub(bytes));
        taken.ok().map(|_| slot.get_or_init(|| Double::new(left, right)))
    }

    /// E_pq on every determinant of the open shells, q and p, between the functions of both sides.
    fn make(&self, step: Move) -> Single {
        let (electrons, below, ascends) = step.geometry();
        let [before, after] = step.open.map(|open| self.functions(usize::from(open)));
        let others = usize::from(step.open[0]) - usize::from(electrons[0] == 1) - usize::from(electrons[1] == 1);
        // Orbitals in order: the other open shells, with q and p in their places.
        let q = below[0] + usize::from(below[1] < below[0] || below[0] == below[1] && !ascends);
        let p = below[1] + usize::from(below[0] < below[1] || below[0] == below[1] && ascends);
        let is_open = |orbital: usize, electrons: [usize; 2]| match orbital {
            orbital if orbital == q => electrons[0] == 1,
            orbital if orbital == p => electrons[1] == 1,
            _ => true,
        };
        let mut sums = vec![0.0; before.count * after.count];
        for (place, pattern) in before.patterns.iter().enumerate() {
            let mut shells = 0..;
            let mut word = 0u64;
            for orbital in 0..others + 2 {
                let held = match orbital {
                    orbital if is_open(orbital, electrons) => {
                        let is_up = pattern >> shells.next().unwrap_or(0) & 1 == 1;
                        if is_up { 1 } else { 2 }
                    }
                    orbital if orbital == q => 3,
                    _ => 0,
                };
                word |= held << (2 * orbital);
            }
            for spin in [0, 1] {
                let Some((moved, negative)) = moved(word, 2 * q + spin, 2 * p + spin) else { continue };
                let (mut target, mut shells) = (0, 0..);
                for orbital in (0..others + 2).filter(|o| is_open(*o, [electrons[0] - 1, electrons[1] + 1])) {
                    target |= ((moved >> (2 * orbital) & 1) as u32) << shells.next().unwrap_or(0);
                }
                let Some(target) = after.place(target) else { continue };
                for (row, left) in before.row(place) {
                    for (column, right) in after.row(target) {
                        let value = if negative { -left * right } else { left * right };
                        sums[usize::from(*row) * after.count + usize::from(*column)] += value;
                    }
                }
            }
        }
        sparse(&sums, before.count, after.count)
    }
}

/// a†_p a_q of one spin on the spin orbitals of a word, and whether its sign is −1.
fn moved(word: u64, q: usize, p: usize) -> Option<(u64, bool)> {
    if word >> q & 1 == 0 {
        return None;
    }
    let without = word & !(1 << q);
    if without >> p & 1 == 1 {
        return None;
    }
    let passed = |word: u64, orbital: usize| (word & ((1 << orbital) - 1)).count_ones();
    Some((without | 1 << p, (passed(word, q) + passed(without, p)) % 2 == 1))
}

fn sparse(sums: &[f64], rows: usize, columns: usize) -> Single {
    let (mut start, mut elements) = (vec![0], Vec::new());
    for row in 0..rows {
        let own = sums[row * columns..(row + 1) * columns].iter().zip(0u16..);
        elements.extend(own.filter(|(value, _)| value.abs() > 1e-13).map(|(value, column)| (column, *value)));
        start.push(elements.len() as u32);
    }
    Single { columns, start, elements }
}
