//! Exchange symmetry: vanishing parts of an interaction are not transformed.
//!
//! In: elements of a group (or strengths). Out: the result of [`super::transform::forward_group`], from fewer quadruples. Any u is
//! the
//! sum of four parts, even or odd under the exchange of a and b, and of c and d,
//!
//! ```text
//! u_st(ab, cd; J) = ¼ [u(ab, cd) + s p u(ba, cd) + t q u(ab, dc) + s t p q u(ba, dc)],   p = −(−1)^{ja+jb−J}, q likewise, s, t = ±1
//! C_st(nb na …) = s (−1)^{μf+Sf} C_st(na nb …),   C_st(… nd nc) = t (−1)^{λi+Si} C_st(… nc nd)
//! ```
//! and each needs the quadruples with na ≤ nb, nc ≤ nd alone, a quarter of the work. Two protons, or two neutrons, have the part
//! s = t = 1; a proton and a neutron with charge symmetry s = t = ±1, T = 1 and 0. With all four there, nothing is split.

use super::plan::{Group, IrrepPair, SPINS, spins_of};
use super::space::{JjState, ShellPair};
use super::tables::Tables;
use super::transform::{forward_group, inverse_group};

/// (s, t) of the parts.
const PARTS: [[f64; 2]; 4] = [[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]];

/// Strengths of a group from its elements, for one channel; W⁰ of the group must be loaded.
pub(super) fn forward(group: &Group, tables: &Tables, elements: &[f64], strengths: &mut [f64]) {
    let halves = Halves::new(group);
    let parts = halves.parts_of_elements(elements);
    if parts.len() == PARTS.len() {
        return forward_group(group, tables, elements, strengths);
    }
    strengths.fill(0.0);
    for (signs, part) in parts {
        let mut half = vec![0.0; halves.half.length];
        forward_group(&halves.half, tables, &part, &mut half);
        halves.for_strengths(signs, false, |at, from, sign| strengths[at] += sign * half[from]);
    }
}

/// Elements of a group from its strengths.
pub(super) fn inverse(group: &Group, tables: &Tables, strengths: &[f64], elements: &mut [f64]) {
    let halves = Halves::new(group);
    let parts = halves.parts_of_strengths(strengths);
    if parts.len() == PARTS.len() {
        return inverse_group(group, tables, strengths, elements);
    }
    elements.fill(0.0);
    for (signs, part) in parts {
        let mut half = vec![0.0; halves.half.length];
        inverse_group(&halves.half, tables, &part, &mut half);
        halves.for_elements(signs, false, |at, from, sign| elements[at] += sign * half[from]);
    }
}

/// A group, and the group of its quadruples with na ≤ nb and nc ≤ nd.
struct Halves<'a> {
    group: &'a Group,
    half: Group,
    /// Each pair of the half.
    bras: Vec<Exchanged>,
    kets: Vec<Exchanged>,
}

/// A pair with na ≤ nb in its two orders.
struct Exchanged {
    /// Positions among the pairs of the group: unchanged, and exchanged.
    places: [usize; 2],
    /// By J, for each state: its position in the exchanged pair, and −(−1)^{ja+jb−J}.
    states: Vec<Vec<(usize, f64)>>,
}

/// Position in `all`. The exchanged item is always present: both orders of a pair are in every group and contain the same
/// irreps, for any input.
fn found<T: Ord + std::fmt::Debug>(all: &[T], wanted: &T, what: &str) -> usize {
    all.binary_search(wanted).unwrap_or_else(|_| unreachable!("the exchange of {wanted:?} has no {what}"))
}

impl Exchanged {
    fn new(pair: ShellPair, pairs: &[ShellPair]) -> Exchanged {
        let place = |pair: ShellPair| found(pairs, &pair, "pair of shells in its group");
        let of_j = |j: u32| {
            let others = pair.exchanged().jj_states(j);
            let of = |state: JjState| {
                let even = ((state.two_ja + state.two_jb) / 2 + j).is_multiple_of(2);
                let other = found(&others, &state.exchanged(), "state in the exchanged pair");
                (other, if even { -1.0 } else { 1.0 })
            };
            pair.jj_states(j).into_iter().map(of).collect()
        };
        Exchanged { places: [place(pair), place(pair.exchanged())], states: (0..=pair.j_max()).map(of_j).collect() }
    }

    /// Orders to visit: all, or only the distinct ones.
    fn orders(&self, all: bool) -> usize {
        if all || self.places[0] != self.places[1] { 2 } else { 1 }
    }
}

impl<'a> Halves<'a> {
    fn new(group: &'a Group) -> Halves<'a> {
        let ordered = |pairs: &'a [ShellPair]| pairs.iter().copied().filter(|pair| pair.a <= pair.b);
        let quanta = [group.bra_quanta, group.ket_quanta];
        let half = Group::of_pairs(quanta, ordered(&group.bras), ordered(&group.kets), 0);
        let [bras, kets] = [(&half.bras, &group.bras), (&half.kets, &group.kets)]
            .map(|(once, pairs)| once.iter().map(|pair| Exchanged::new(*pair, pairs)).collect());
        Halves { group, half, bras, kets }
    }

    /// The parts of elements that do not vanish.
    fn parts_of_elements(&self, elements: &[f64]) -> Vec<([f64; 2], Vec<f64>)> {
        let of = |signs: [f64; 2]| {
            let mut part = vec![0.0; self.half.length];
            self.for_elements(signs, true, |at, half, sign| part[half] += 0.25 * sign * elements[at]);
            part.iter().any(|number| *number != 0.0).then_some((signs, part))
        };
        PARTS.into_iter().filter_map(of).collect()
    }

    fn parts_of_strengths(&self, strengths: &[f64]) -> Vec<([f64; 2], Vec<f64>)> {
        let of = |signs: [f64; 2]| {
            let mut part = vec![0.0; self.half.length];
            self.for_strengths(signs, true, |at, half, sign| part[half] += 0.25 * sign * strengths[at]);
            part.iter().any(|number| *number != 0.0).then_some((signs, part))
        };
        PARTS.into_iter().filter_map(of).collect()
    }

    /// Calls `visit(place, place in the half, sign)` for the elements that the exchanges map an element of the half to.
    fn for_elements(&self, [s, t]: [f64; 2], all: bool, mut visit: impl FnMut(usize, usize, f64)) {
        for (at, quadruple) in self.half.quadruples.iter().enumerate() {
            let (bra, ket) = (&self.bras[at / self.kets.len()], &self.kets[at % self.kets.len()]);
            for (x, y) in (0..bra.orders(all)).flat_map(|x| (0..ket.orders(all)).map(move |y| (x, y))) {
                let full = &self.group.quadruples[bra.places[x] * self.group.kets.len() + ket.places[y]];
                for (block, of_full) in quadruple.blocks.iter().zip(&full.blocks) {
                    let (rows, columns) = (&bra.states[block.j as usize], &ket.states[block.j as usize]);
                    let (from, to) = (quadruple.offset + block.offset, full.offset + of_full.offset);
                    for (row, (other_row, p)) in rows.iter().enumerate() {
                        let (to_row, p) = if x == 0 { (row, 1.0) } else { (*other_row, s * p) };
                        for (column, (other_column, q)) in columns.iter().enumerate() {
                            let (to_column, q) = if y == 0 { (column, 1.0) } else { (*other_column, t * q) };
                            let place = to + to_row * block.columns + to_column;
                            visit(place, from + row * block.columns + column, p * q);
                        }
                    }
                }
            }
        }
    }

    /// The same for strengths.
    fn for_strengths(&self, signs: [f64; 2], all: bool, mut visit: impl FnMut(usize, usize, f64)) {
        for (product, half) in self.group.products.iter().zip(&self.half.products) {
            for s0 in 0..3 {
                let (block, half_block) = (&product.tensors[s0], &half.tensors[s0]);
                let columns = self.columns(product, half, s0, signs, all);
                for row in 0..block.rows {
                    let to = product.offset + block.offset + row * block.columns;
                    let from = half.offset + half_block.offset + row * half_block.columns;
                    columns.iter().for_each(|(column, other, sign)| visit(to + column, from + other, *sign));
                }
            }
        }
    }

    /// (column, column in the half, sign) of one product and S0.
    fn columns(
        &self,
        product: &IrrepPair,
        half: &IrrepPair,
        s0: usize,
        [s, t]: [f64; 2],
        all: bool,
    ) -> Vec<(usize, usize, f64)> {
        let spins = spins_of(s0 as u32);
        let parity = |number: u32| if number.is_multiple_of(2) { 1.0 } else { -1.0 };
        let mut columns = Vec::new();
        for (b, bra) in half.bras.iter().map(|b| &self.bras[*b]).enumerate() {
            for (k, ket) in half.kets.iter().map(|k| &self.kets[*k]).enumerate() {
                for (x, y) in (0..bra.orders(all)).flat_map(|x| (0..ket.orders(all)).map(move |y| (x, y))) {
                    // A pair and its exchange contain the same irreps.
                    let row = found(&product.bras, &bra.places[x], "pair in the product");
                    let column = found(&product.kets, &ket.places[y], "pair in the product");
                    for (position, spin) in spins.iter().enumerate() {
                        let [sf, si, _] = SPINS[*spin];
                        let p = if x == 0 { 1.0 } else { s * parity(product.bra[1] + sf) };
                        let q = if y == 0 { 1.0 } else { t * parity(product.ket[0] + si) };
                        let at = (row * product.kets.len() + column) * spins.len() + position;
                        columns.push((at, (b * half.kets.len() + k) * spins.len() + position, p * q));
                    }
                }
            }
        }
        columns
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::Plan;
    use super::super::space::OscillatorSpace;
    use super::*;

    /// Random elements with each set of parts: the same numbers as the whole group gives, there and back.
    #[test]
    fn parts_add_up_to_the_whole() {
        let plan = Plan::new(OscillatorSpace { n_max: 3 });
        let tables = Tables::new(&plan).expect("small labels");
        let mut state = 5u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        };
        let mut split = 0;
        for group in plan.groups.iter().filter(|group| group.length > 20) {
            let halves = Halves::new(group);
            let random: Vec<f64> = (0..group.length).map(|_| next()).collect();
            let parts = halves.parts_of_elements(&random);
            if parts.len() < PARTS.len() {
                continue; // the lowest shells alone
            }
            for wanted in [&PARTS[..1], &PARTS[..2], &PARTS[1..4], &PARTS[..]] {
                let mut u = vec![0.0; group.length];
                // Multiples of a power of two: what ought to cancel does so exactly.
                let coarse = |number: f64| (number * 1_048_576.0).round() / 1_048_576.0;
                for (signs, part) in parts.iter().filter(|(signs, _)| wanted.contains(signs)) {
                    halves.for_elements(*signs, false, |at, half, sign| u[at] += sign * coarse(part[half]));
                }
                let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-13);
                let whole = u.iter().zip(&random).all(|(u, random)| (u - random).abs() < 1e-5);
                assert_eq!(whole, wanted.len() == 4, "all parts are the whole");
                assert!(halves.parts_of_elements(&u).len() <= wanted.len());
                split += usize::from(halves.parts_of_elements(&u).len() < 4);
                let [mut c, mut whole, mut back] = [0; 3].map(|_| vec![f64::NAN; group.length]);
                forward(group, &tables, &u, &mut c);
                forward_group(group, &tables, &u, &mut whole);
                assert!(close(&c, &whole), "{} {}", group.bra_quanta, group.ket_quanta);
                inverse(group, &tables, &c, &mut back);
                assert!(close(&back, &u));
            }
        }
        assert!(split > 20);
    }
}
