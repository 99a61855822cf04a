//! Translations of a lattice and its momenta.
//!
//! In: a lattice. Out: translations that generate all others, each with its order n, and the momenta k: of each generator a whole number
//! from 0 to n − 1, with T ψ = e^(−2πi k/n) ψ. Of a straight cluster the generators are the steps along its periodic directions. Of a
//! tilted one they are the shortest steps that generate the group, the one of the highest order first: the torus Z² / M has orders whose
//! product is |det M| and of which one divides the other (the Smith form of M); where the other is 1 it is left out.

use super::{Boundary, Lattice};

/// A generator of the translations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Translation {
    /// By how many cells along a1 and a2.
    pub step: [i64; 2],
    /// After how many of them every site is where it was.
    pub order: usize,
    /// Where every site goes.
    pub place: Vec<usize>,
}

/// The momenta of a lattice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Momenta {
    /// Orders of the generators.
    orders: Vec<i64>,
    /// The steps of the generators.
    steps: Vec<[i64; 2]>,
    /// How many of each generator a step along a1 and one along a2 are.
    unit: [Vec<i64>; 2],
}

/// Longest step of a generator that is looked for, in cells.
const REACH: i64 = 3;

impl Lattice {
    /// Generators of the translations that the boundaries allow: one a periodic direction, of a tilted cluster one or two; none where
    /// all is open and of a list of edges.
    pub fn translations(&self) -> Vec<Translation> {
        if self.check().is_err() {
            return Vec::new();
        }
        let steps = match self.tilt() {
            Some(_) => self.generators(),
            None => self.periodic_directions().into_iter().map(|d| if d == 0 { [1, 0] } else { [0, 1] }).collect(),
        };
        let of_step = |step| Translation { step, order: self.order_of(step), place: self.translated(step) };
        steps.into_iter().map(of_step).collect()
    }

    /// The periodic directions, 0 along x and 1 along y.
    pub fn periodic_directions(&self) -> Vec<usize> {
        (0..self.size().len()).filter(|direction| self.boundaries()[*direction] == Boundary::Periodic).collect()
    }

    /// The translation by one cell along a direction: site i goes to place `[i]`. `None` if the direction is open or does not exist.
    pub fn translation(&self, direction: usize) -> Option<Vec<usize>> {
        if self.boundaries().get(direction) != Some(&Boundary::Periodic) || self.check().is_err() {
            return None;
        }
        Some(self.translated(if direction == 0 { [1, 0] } else { [0, 1] }))
    }

    /// Where every site goes by a step along periodic directions.
    fn translated(&self, step: [i64; 2]) -> Vec<usize> {
        self.moved(|cell| self.spec.step(cell, step).unwrap_or(cell))
    }

    /// How many steps lead around the torus to where they began.
    fn order_of(&self, step: [i64; 2]) -> usize {
        let home = |times: &usize| self.spec.wrap(step.map(|cells| cells * *times as i64)) == Some([0, 0]);
        (1..).find(home).unwrap_or(1)
    }

    /// Short steps that generate the translations of a torus.
    fn generators(&self) -> Vec<[i64; 2]> {
        let [lx, ly] = self.spec.lengths();
        let cells = lx * ly;
        let near = (-REACH..=REACH).flat_map(|y| (-REACH..=REACH).map(move |x| [x, y]));
        // Beyond them every cell of the torus, so that nothing is missed.
        let all = (0..ly as i64).flat_map(|y| (0..lx as i64).map(move |x| [x, y]));
        let mut steps: Vec<([i64; 2], usize)> = near.chain(all).map(|step| (step, self.order_of(step))).collect();
        steps.sort_by_key(|([x, y], _)| (x * x + y * y, -x, -y));
        let highest = steps.iter().map(|(_, order)| *order).max().unwrap_or(1);
        let Some((first, _)) = steps.iter().find(|(_, order)| *order == highest) else { return Vec::new() };
        let of_first = |times: usize| self.spec.wrap(first.map(|part| part * times as i64));
        let own: Vec<_> = (0..highest).map(of_first).collect();
        // None of its multiples but the whole turn is one of the first's.
        let apart = |step: &[i64; 2], order: usize| {
            (1..order).all(|times| !own.contains(&self.spec.wrap(step.map(|part| part * times as i64))))
        };
        let rest = cells / highest;
        let second = steps.iter().find(|(step, order)| rest > 1 && *order == rest && apart(step, *order));
        [Some(*first), second.map(|(step, _)| *step)].into_iter().flatten().collect()
    }
}

impl Momenta {
    /// The momenta of a lattice.
    pub fn new(lattice: &Lattice) -> Momenta {
        let translations = lattice.translations();
        let orders: Vec<i64> = translations.iter().map(|translation| translation.order as i64).collect();
        let steps: Vec<[i64; 2]> = translations.iter().map(|translation| translation.step).collect();
        let all = numbers(&orders);
        let unit = [[1, 0], [0, 1]].map(|unit| {
            let sum = |times: &Vec<i64>| {
                [0, 1].map(|d| times.iter().zip(&steps).map(|(times, step)| times * step[d]).sum::<i64>())
            };
            // A step along an open direction is none of them.
            let found = all.iter().find(|times| lattice.spec.wrap(sum(times)) == lattice.spec.wrap(unit));
            found.cloned().unwrap_or_else(|| vec![0; orders.len()])
        });
        Momenta { orders, steps, unit }
    }

    /// The orders of the generators: k has as many numbers, each below its order.
    pub fn orders(&self) -> &[i64] {
        &self.orders
    }

    /// All, the last number fastest.
    pub fn all(&self) -> Vec<Vec<i64>> {
        numbers(&self.orders)
    }

    /// The parts of a turn of a step along a1 and of one along a2, from 0 to 1; open directions have 0.
    pub fn fraction(&self, k: &[i64]) -> [f64; 2] {
        let whole: i64 = self.orders.iter().product();
        [[1, 0], [0, 1]].map(|step| self.phase(k, step) as f64 / whole.max(1) as f64)
    }

    /// The momentum at which a step along a1 and one along a2 have these parts of a turn, in sixths; open directions have 0.
    pub fn find(&self, sixths: [i64; 2]) -> Option<Vec<i64>> {
        let whole: i64 = self.orders.iter().product();
        let phases = |k: &Vec<i64>| [self.phase(k, [1, 0]), self.phase(k, [0, 1])];
        self.all().into_iter().find(|k| phases(k).map(|phase| 6 * phase) == sixths.map(|part| part * whole))
    }

    /// −k.
    pub fn negative(&self, k: &[i64]) -> Vec<i64> {
        k.iter().zip(&self.orders).map(|(k, order)| (-k).rem_euclid(*order)).collect()
    }

    /// The momentum that a state of momentum k has after an operation that takes the steps of one cell to these: T of a turned step has
    /// there the eigenvalue of T of the step.
    pub fn turned(&self, k: &[i64], steps: [[i64; 2]; 2]) -> Option<Vec<i64>> {
        let turned = |step: [i64; 2]| [0, 1].map(|e| step[0] * steps[0][e] + step[1] * steps[1][e]);
        let fits =
            |there: &Vec<i64>| self.steps.iter().all(|step| self.phase(there, turned(*step)) == self.phase(k, *step));
        self.all().into_iter().find(fits)
    }

    /// The phase of a step at k in parts of a whole turn, of which there are as many as the orders' product.
    fn phase(&self, k: &[i64], step: [i64; 2]) -> i64 {
        let whole: i64 = self.orders.iter().product();
        let of_unit = |d: usize| {
            let each = self.unit[d].iter().zip(k).zip(&self.orders);
            each.map(|((times, k), order)| times * k * (whole / order)).sum::<i64>()
        };
        (step[0] * of_unit(0) + step[1] * of_unit(1)).rem_euclid(whole.max(1))
    }
}

/// All lists of numbers below these, the last fastest.
fn numbers(below: &[i64]) -> Vec<Vec<i64>> {
    let more = |all: Vec<Vec<i64>>, length: &i64| {
        all.iter().flat_map(|k| (0..*length).map(move |last| [&k[..], &[last]].concat())).collect()
    };
    below.iter().fold(vec![Vec::new()], more)
}
