//! The blocks of H between configurations: integrals times coupling coefficients.
//!
//! In: integrals, a space, a configuration P. Out: every configuration Q that H couples to it, with its terms:
//!
//! | Q | block ⟨Q μ\|H\|P λ⟩ |
//! |---|---|
//! | P | Σ h_pp n_p + ½ Σ (pp\|pp) n_p (n_p − 1) + Σ_{p<q} [(pp\|qq) n_p n_q − x_pq (pq\|qp)] + Σ_{p<q open} (pq\|qp) (E_pq E_qp − 1) |
//! | q → p | [h_pq + Σ_r (pq\|rr) (n_r − δ_rq) − Σ_{r doubly} (pr\|rq)] E_pq + Σ_{r open} (pr\|rq) E_rq E_pr, r ≠ p, q |
//! | q → p, s → r | (pq\|rs) E_pq E_rs + (ps\|rq) E_ps E_rq; one of both if p = r or q = s, and its half if both |
//!
//! with n of P, and x = 2 between doubly occupied orbitals, 1 between a doubly and a singly occupied one, otherwise 0.

use super::CsfSpace;
use super::configurations::Configuration;
use super::coupling::{Couplings, Move, add_product};
use crate::integrals::Integrals;
use crate::matrix::THRESHOLD;
use crate::space::Restriction;
use crate::strings::occupied;

/// The coefficients of a term.
#[derive(Clone, Copy, Debug)]
pub(super) enum Coupling {
    /// 1 on the diagonal.
    Identity,
    /// One move.
    One(Move),
    /// Two, the first first.
    Two([Move; 2]),
}

/// An integral, or a sum of them, and its coefficients.
pub(super) type Term = (f64, Coupling);

/// H in a space, block by block.
pub(super) struct Blocks<'a> {
    pub(super) integrals: &'a Integrals,
    pub(super) space: &'a CsfSpace,
    couplings: Couplings,
    /// Integrals up to this are 0.
    negligible: f64,
}

/// The configurations that H couples to one, ascending, with the terms of each.
#[derive(Default)]
pub(super) struct Coupled {
    /// The place of a configuration, and where its terms begin and end.
    pub(super) found: Vec<(u32, u32, u32)>,
    pub(super) terms: Vec<Term>,
}

impl Coupled {
    fn add(&mut self, place: usize, terms: impl IntoIterator<Item = Term>) {
        let begin = self.terms.len() as u32;
        self.terms.extend(terms);
        let end = self.terms.len() as u32;
        if end > begin {
            self.found.push((place as u32, begin, end));
        }
    }

    /// The terms of one that was found.
    pub(super) fn terms(&self, (_, begin, end): (u32, u32, u32)) -> &[Term] {
        &self.terms[begin as usize..end as usize]
    }
}

/// Where electrons of a configuration can leave and enter, and how this changes its level.
struct Levels {
    /// Levels that may still be added.
    room: usize,
    /// Orbitals that electrons can leave, and levels that this takes away.
    leaving: Vec<(usize, usize)>,
    /// The same of two electrons, which may be of one orbital.
    leaving_pairs: Vec<([usize; 2], usize)>,
    /// Orbitals that electrons can enter, and levels that this adds.
    entering: Vec<(usize, usize)>,
    entering_pairs: Vec<([usize; 2], usize)>,
}

impl Levels {
    fn new(space: &CsfSpace, word: Configuration) -> Levels {
        let excess = |p: usize, electrons: usize| electrons.saturating_sub(space.reference(p));
        let now = |p: usize| word.electrons(p);
        let leave = |p: usize, count: usize| excess(p, now(p)) - excess(p, now(p) - count);
        let enter = |p: usize, count: usize| excess(p, now(p) + count) - excess(p, now(p));
        let level: usize = (0..space.orbitals).map(|p| excess(p, now(p))).sum();
        let list = |fits: &dyn Fn(usize) -> bool, change: &dyn Fn(usize, usize) -> usize| {
            let orbitals = (0..space.orbitals).filter(|p| fits(*p));
            orbitals.map(|p| (p, change(p, 1))).collect::<Vec<_>>()
        };
        let leaving = list(&|p| now(p) > 0, &leave);
        let entering = list(&|p| now(p) < 2, &enter);
        let pairs = |one: &[(usize, usize)], twice: &dyn Fn(usize) -> bool, change: &dyn Fn(usize, usize) -> usize| {
            let mut found = Vec::new();
            for (at, (p, own)) in one.iter().enumerate() {
                if twice(*p) {
                    found.push(([*p, *p], change(*p, 2)));
                }
                found.extend(one[at + 1..].iter().map(|(r, other)| ([*p, *r], own + other)));
            }
            found
        };
        let leaving_pairs = pairs(&leaving, &|p| now(p) == 2, &leave);
        let entering_pairs = pairs(&entering, &|p| now(p) == 0, &enter);
        let most = if let Restriction::Level(most) = space.restriction { most } else { usize::MAX / 2 };
        let room = most.saturating_sub(level);
        Levels { room, leaving, leaving_pairs, entering, entering_pairs }
    }

    /// Whether a move stays within the space's level.
    fn allow(&self, leaves: usize, enters: usize) -> bool {
        enters <= self.room + leaves
    }
}

impl<'a> Blocks<'a> {
    /// The integrals and the space must have been checked to fit each other.
    pub(super) fn new(integrals: &'a Integrals, space: &'a CsfSpace) -> Blocks<'a> {
        let negligible = 0.1 * THRESHOLD * integrals.unit();
        Blocks { integrals, space, couplings: Couplings::new(space.two_s), negligible }
    }

    /// The configurations coupled to one; `wanted` chooses among them.
    pub(super) fn coupled(&self, place: usize, coupled: &mut Coupled, wanted: impl Fn(usize) -> bool) {
        coupled.found.clear();
        coupled.terms.clear();
        let word = self.space.configurations.words[place];
        if wanted(place) {
            coupled.add(place, self.diagonal(word));
        }
        let known = |other| self.space.configurations.place(other).filter(|place| wanted(*place));
        let levels = Levels::new(self.space, word);
        for (q, leaves) in &levels.leaving {
            for (p, _) in levels.entering.iter().filter(|(p, enters)| p != q && levels.allow(*leaves, *enters)) {
                if let Some(place) = known(word.moved(*q, *p)) {
                    coupled.add(place, self.one_move(word, *q, *p));
                }
            }
        }
        for (out, leaves) in &levels.leaving_pairs {
            for (into, enters) in &levels.entering_pairs {
                let [[q, s], [p, r]] = [*out, *into];
                if !levels.allow(*leaves, *enters) || [q, s].contains(&p) || [q, s].contains(&r) {
                    continue;
                }
                let integrals = self.two_electron_integrals(*out, *into);
                if integrals.iter().all(|value| value.abs() <= self.negligible) {
                    continue;
                }
                if let Some(place) = known(word.moved(q, p).moved(s, r)) {
                    coupled.add(place, self.two_moves(word, integrals, *out, *into));
                }
            }
        }
        coupled.found.sort_unstable();
    }

    fn term(&self, value: f64, coupling: impl FnOnce() -> Coupling) -> Option<Term> {
        (value.abs() > self.negligible).then(|| (value, coupling()))
    }

    /// The energy of a configuration without the exchange between open shells.
    pub(super) fn energy(&self, word: Configuration) -> f64 {
        let mut energy = 0.0;
        let held: Vec<usize> = occupied(word.doubly | word.singly).collect();
        for (at, p) in held.iter().copied().enumerate() {
            let n = word.electrons(p);
            energy += n as f64 * self.integrals.one(p, p);
            if n == 2 {
                energy += self.integrals.two(p, p, p, p);
            }
            for q in held[..at].iter().copied() {
                let m = word.electrons(q);
                energy += (n * m) as f64 * self.integrals.two(p, p, q, q);
                // 4 and 2 of n m.
                energy -= (n * m / 2) as f64 * self.integrals.two(p, q, q, p);
            }
        }
        energy
    }

    fn diagonal(&self, word: Configuration) -> impl Iterator<Item = Term> {
        let (mut constant, mut exchanges) = (self.energy(word), Vec::new());
        for p in occupied(word.singly) {
            for q in occupied(word.singly).take_while(|q| *q < p) {
                let exchange = self.integrals.two(p, q, q, p);
                constant -= exchange;
                let moves = || [Move::new(word, p, q), Move::new(word.moved(p, q), q, p)];
                exchanges.extend(self.term(exchange, || Coupling::Two(moves())));
            }
        }
        // Always there, so that every row has a diagonal.
        std::iter::once((constant, Coupling::Identity)).chain(exchanges)
    }

    /// The diagonal elements of a configuration's functions.
    pub(super) fn diagonal_elements(&self, place: usize, out: &mut [f64]) {
        out.fill(0.0);
        let mut block = Vec::new();
        for (value, coupling) in self.diagonal(self.space.configurations.words[place]) {
            let n = out.len();
            match coupling {
                Coupling::Two(steps) if self.couplings.double(steps).is_some() => {
                    let double = self.couplings.double(steps).map(|double| &double.values[..]).unwrap_or_default();
                    let own = double.iter().step_by(n + 1);
                    out.iter_mut().zip(own).for_each(|(out, c)| *out += value * c);
                }
                Coupling::Identity => out.iter_mut().for_each(|out| *out += value),
                _ => {
                    block.clear();
                    block.resize(n * n, 0.0);
                    self.add(&[(value, coupling)], &mut block, n, 0);
                    out.iter_mut().zip(block.iter().step_by(n + 1)).for_each(|(out, c)| *out += c);
                }
            }
        }
    }

    fn one_move(&self, word: Configuration, q: usize, p: usize) -> Vec<Term> {
        let mut mean = self.integrals.one(p, q);
        let mut terms = vec![(0.0, Coupling::One(Move::new(word, q, p)))];
        for r in occupied(word.doubly | word.singly) {
            let electrons = word.electrons(r) - usize::from(r == q);
            mean += electrons as f64 * self.integrals.two(p, q, r, r);
            if r == p || r == q {
                continue;
            }
            let exchange = self.integrals.two(p, r, r, q);
            if word.electrons(r) == 2 {
                mean -= exchange;
            } else {
                let moves = || [Move::new(word, r, p), Move::new(word.moved(r, p), q, r)];
                terms.extend(self.term(exchange, || Coupling::Two(moves())));
            }
        }
        terms[0].0 = mean;
        if mean.abs() <= self.negligible {
            terms.swap_remove(0);
        }
        terms
    }

    /// (pq|rs), of which half if p = r and q = s, and (ps|rq) if it is another integral, otherwise 0.
    fn two_electron_integrals(&self, [q, s]: [usize; 2], [p, r]: [usize; 2]) -> [f64; 2] {
        let share = if p == r && q == s { 0.5 } else { 1.0 };
        let is_other = p != r && q != s;
        [share * self.integrals.two(p, q, r, s), if is_other { self.integrals.two(p, s, r, q) } else { 0.0 }]
    }

    fn two_moves(
        &self,
        word: Configuration,
        integrals: [f64; 2],
        [q, s]: [usize; 2],
        [p, r]: [usize; 2],
    ) -> impl Iterator<Item = Term> {
        let moves = |[q, p]: [usize; 2], [s, r]: [usize; 2]| {
            Coupling::Two([Move::new(word, s, r), Move::new(word.moved(s, r), q, p)])
        };
        let first = self.term(integrals[0], || moves([q, p], [s, r]));
        let second = self.term(integrals[1], || moves([s, p], [q, r]));
        first.into_iter().chain(second)
    }

    /// Adds the terms of a block to rows `width` apart that begin at a column: a row per function of P, a column per function of Q.
    pub(super) fn add(&self, terms: &[Term], block: &mut [f64], width: usize, column: usize) {
        for (value, coupling) in terms {
            match coupling {
                Coupling::Identity => {
                    block.chunks_mut(width).enumerate().for_each(|(row, sums)| sums[column + row] += value);
                }
                Coupling::One(step) => {
                    let single = self.couplings.single(*step);
                    for (row, sums) in block.chunks_mut(width).enumerate() {
                        single.row(row).iter().for_each(|(at, c)| sums[column + usize::from(*at)] += value * c);
                    }
                }
                Coupling::Two(steps) => match self.couplings.double(*steps) {
                    Some(double) => {
                        let columns = self.couplings.single(steps[1]).columns;
                        if columns == 0 {
                            continue;
                        }
                        for (sums, own) in block.chunks_mut(width).zip(double.values.chunks(columns)) {
                            let sums = &mut sums[column..column + columns];
                            sums.iter_mut().zip(own).for_each(|(sum, c)| *sum += value * c);
                        }
                    }
                    None => {
                        let [first, second] = steps.map(|step| self.couplings.single(step));
                        add_product(block, (width, column), *value, first, second);
                    }
                },
            }
        }
    }

    /// Elements of a block that its terms can make non-zero.
    pub(super) fn elements(&self, terms: &[Term], rows: usize, columns: usize, mask: &mut Vec<u64>) -> u64 {
        mask.clear();
        mask.resize((rows * columns).div_ceil(64), 0);
        for (_, coupling) in terms {
            match coupling {
                Coupling::Identity => (0..rows).map(|row| row * columns + row).for_each(|at| set(mask, at)),
                Coupling::One(step) => {
                    let single = self.couplings.single(*step);
                    for row in 0..rows {
                        single.row(row).iter().for_each(|(at, _)| set(mask, row * columns + usize::from(*at)));
                    }
                }
                Coupling::Two(steps) => match self.couplings.double(*steps) {
                    Some(double) => mask.iter_mut().zip(&double.mask).for_each(|(all, own)| *all |= own),
                    None => return (rows * columns) as u64,
                },
            }
        }
        mask.iter().map(|bits| u64::from(bits.count_ones())).sum()
    }
}

fn set(mask: &mut [u64], at: usize) {
    mask[at / 64] |= 1 << (at % 64);
}
