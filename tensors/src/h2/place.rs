//! One element of an H2 file and its places in a plan.
//!
//! In: four orbitals, J, a value. Out: u at every order of the pairs and with bra and ket exchanged, including signs and
//! phases; and the reverse, where all these must agree.

use super::super::channel::Channel;
use super::super::elements::{StateIndex, places};
use super::super::plan::Plan;
use super::super::space::{JjState, ShellPair};
use super::header::{Header, Orbital};

/// ⟨a b; J|V|c d; J⟩ of normalised states.
pub(super) struct Element {
    /// a, b, c, d.
    pub four: [Orbital; 4],
    pub j: u32,
    pub identical: bool,
    pub value: f64,
}

/// Elements of a plan that should be equal up to sign, but are not.
pub(super) struct Disagreement {
    labels: String,
    values: [f64; 2],
}

impl Disagreement {
    /// The error text, unless the difference is rounding.
    pub(super) fn explain(&self, largest: f64) -> String {
        let [one, other] = self.values;
        format!(
            "{} has {one:e} and by symmetry {other:e} (largest element {largest:e}); an H2 file holds half of a Hermitian force \
             between nucleons",
            self.labels
        )
    }
}

/// Relative difference of elements that counts as rounding, in a format of 7 digits.
const ROUNDING: f64 = 1e-6;

impl Element {
    /// From indices of orbitals in the header.
    pub(super) fn new(header: &Header, channel: Channel, four: [usize; 4], j: u32, value: f64) -> Element {
        Element { four: header.four(channel, four), j, identical: channel != Channel::Pn, value }
    }

    /// Checks that the state exists.
    pub(super) fn check(&self) -> Result<(), String> {
        for [a, b] in [[self.four[0], self.four[1]], [self.four[2], self.four[3]]] {
            if a.two_j.abs_diff(b.two_j) > 2 * self.j || 2 * self.j > a.two_j + b.two_j {
                return Err(format!("J = {} cannot be formed from 2j = {} and {}", self.j, a.two_j, b.two_j));
            }
            if self.identical && a == b && self.j % 2 == 1 {
                return Err(format!("two identical nucleons in one orbital need an even J, found {}", self.j));
            }
        }
        let quanta: u32 = self.four.iter().map(|orbital| orbital.shell()).sum();
        if quanta % 2 == 1 { Err("expected bra and ket of the same parity".into()) } else { Ok(()) }
    }

    /// The factor from the file's value to u: the phase of the radial functions and √((1+δab)(1+δcd)).
    fn factor(&self) -> f64 {
        let [a, b, c, d] = self.four;
        let radial: u32 = self.four.iter().map(|orbital| orbital.radial).sum();
        let phase = if radial.is_multiple_of(2) { 1.0 } else { -1.0 };
        let norm = if self.identical { (1 + u32::from(a == b)) * (1 + u32::from(c == d)) } else { 1 };
        phase * f64::from(norm).sqrt()
    }

    /// Its positions with their signs; `None` beyond the space.
    fn places(&self, plan: &Plan, states: &StateIndex) -> Vec<Option<(usize, f64)>> {
        let [a, b, c, d] = self.four;
        let mut all = Vec::new();
        for [bra, ket] in [[[a, b], [c, d]], [[c, d], [a, b]]] {
            for (left, left_sign) in self.orders(bra) {
                for (right, right_sign) in self.orders(ket) {
                    let [(bra, left), (ket, right)] = [left, right].map(|[x, y]| {
                        let pair = ShellPair { a: x.shell(), b: y.shell() };
                        (pair, JjState { la: x.l, two_ja: x.two_j, lb: y.l, two_jb: y.two_j })
                    });
                    let place = states.place(plan, [bra, ket], [left, right], self.j);
                    all.push(place.map(|place| (place, left_sign * right_sign)));
                }
            }
        }
        all
    }

    /// Writes u to all its positions; returns whether they are in the space, or an error if another value is there.
    pub(super) fn put(&self, plan: &Plan, states: &StateIndex, u: &mut [f64]) -> Result<bool, ()> {
        let value = self.factor() * self.value;
        let mut inside = true;
        for place in self.places(plan, states) {
            let Some((place, sign)) = place else {
                inside = false;
                continue;
            };
            if !u[place].is_nan() && u[place] != sign * value {
                return Err(());
            }
            u[place] = sign * value;
        }
        Ok(inside)
    }

    /// The file's value, from all its positions.
    pub(super) fn get(&self, plan: &Plan, states: &StateIndex, u: &[f64]) -> Result<f64, Disagreement> {
        let values: Vec<f64> = self.places(plan, states).into_iter().flatten().map(|(at, sign)| sign * u[at]).collect();
        let first = values.first().copied().unwrap_or(0.0);
        // Small elements next to large ones carry their rounding.
        let differs = |other: &&f64| (**other - first).abs() > ROUNDING * first.abs().max(1.0);
        match values.iter().find(differs) {
            None => Ok(first / self.factor()),
            Some(other) => {
                let [a, b, c, d] = self.four.map(|x| format!("{} {} {}", x.radial, x.l, x.two_j));
                let labels = format!("the element with radial n l 2j = {a}, {b} | {c}, {d}; J = {}", self.j);
                Err(Disagreement { labels, values: [first, *other] })
            }
        }
    }

    /// The distinct orders of a pair, and their signs.
    fn orders(&self, [x, y]: [Orbital; 2]) -> Vec<([Orbital; 2], f64)> {
        let mut orders = vec![([x, y], 1.0)];
        if self.identical && x != y {
            let sign = if ((x.two_j + y.two_j) / 2 + self.j).is_multiple_of(2) { -1.0 } else { 1.0 };
            orders.push(([y, x], sign));
        }
        orders
    }
}

/// Sets elements to zero where two like nucleons in one orbital would have odd J.
pub(super) fn fill_forbidden(plan: &Plan, u: &mut [f64]) {
    for (at, [bra, ket], j, left, right) in places(plan) {
        let same =
            |pair: ShellPair, state: JjState| pair.a == pair.b && (state.la, state.two_ja) == (state.lb, state.two_jb);
        if j % 2 == 1 && (same(bra, left) || same(ket, right)) && u[at].is_nan() {
            u[at] = 0.0;
        }
    }
}
