//! One element of a file that holds each once, and its places in a plan.
//!
//! In: four orbitals, J, a value. Out: u at every order of the pairs and with bra and ket exchanged, including signs and
//! phases; and the reverse, where all these must agree. Radial functions of files are positive at the origin, those of a plan
//! at infinity.
//!
//! ```text
//! |b a; J⟩ = −(−1)^{ja+jb−J} |a b; J⟩ for like nucleons,   positive at infinity = (−1)^{radial n} · positive at the origin
//! ```

use super::channel::{ByChannel, Channel};
use super::csv::TableError;
use super::elements::{StateIndex, complete, places};
use super::plan::Plan;
use super::space::{JjState, ShellPair, orbits};
use std::io;
use std::path::Path;

/// An orbital of one class of nucleon.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Orbital {
    /// The radial number, from 0.
    pub radial: u32,
    pub l: u32,
    pub two_j: u32,
    /// The weight by which a file truncates pairs; in oscillator shells 2n + l.
    pub weight: f64,
}

impl Orbital {
    /// The orbitals of an oscillator shell, l and then j ascending.
    pub(super) fn of_shell(n: u32) -> impl Iterator<Item = Orbital> {
        orbits(n).map(move |(l, two_j)| Orbital { radial: (n - l) / 2, l, two_j, weight: f64::from(n) })
    }

    pub(super) fn shell(self) -> u32 {
        2 * self.radial + self.l
    }

    /// Checks that l and 2j fit together and all values are in range.
    pub(super) fn check(self) -> Result<(), String> {
        let Orbital { radial, l, two_j, weight } = self;
        let fits = (two_j + 1 == 2 * l || two_j == 2 * l + 1) && radial < 500 && l < 1000 && weight.is_finite();
        if fits {
            Ok(())
        } else {
            Err(format!("n l 2j = {radial} {l} {two_j} is not an orbital: expected 2j = 2l − 1 or 2l + 1"))
        }
    }
}

/// ⟨a b; J|V|c d; J⟩.
pub(super) struct Element {
    /// a, b, c, d.
    pub four: [Orbital; 4],
    pub j: u32,
    pub identical: bool,
    /// Whether the value is that of normalised states; if not, of like nucleons it is √((1+δab)(1+δcd)) times as large.
    pub normalised: bool,
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
            "{} has {one:e} and by symmetry {other:e} (largest element {largest:e}); the file holds half of a Hermitian force \
             between nucleons",
            self.labels
        )
    }
}

/// Relative difference of elements that counts as rounding, in a format of 7 digits.
const ROUNDING: f64 = 1e-6;

impl Element {
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
        let norm =
            if self.identical && self.normalised { (1 + u32::from(a == b)) * (1 + u32::from(c == d)) } else { 1 };
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
        values.iter().try_for_each(|other| self.agree([first, *other]).map(|_| ()))?;
        Ok(first / self.factor())
    }

    /// The first of two values that should be equal. Small elements next to large ones carry their rounding.
    pub(super) fn agree(&self, values: [f64; 2]) -> Result<f64, Disagreement> {
        let [first, other] = values;
        if (other - first).abs() > ROUNDING * first.abs().max(1.0) {
            return Err(self.disagreement(values));
        }
        Ok(first)
    }

    fn disagreement(&self, values: [f64; 2]) -> Disagreement {
        let [a, b, c, d] = self.four.map(|x| format!("{} {} {}", x.radial, x.l, x.two_j));
        Disagreement { labels: format!("the element with radial n l 2j = {a}, {b} | {c}, {d}; J = {}", self.j), values }
    }

    /// The distinct orders of a pair, and their signs.
    fn orders(&self, [x, y]: [Orbital; 2]) -> Vec<([Orbital; 2], f64)> {
        let mut orders = vec![([x, y], 1.0)];
        if self.identical && x != y {
            orders.push(([y, x], exchange_sign([x, y], self.j)));
        }
        orders
    }
}

/// −(−1)^{ja+jb−J}, of two like nucleons or T = 1.
pub(super) fn exchange_sign([x, y]: [Orbital; 2], j: u32) -> f64 {
    if ((x.two_j + y.two_j) / 2 + j).is_multiple_of(2) { -1.0 } else { 1.0 }
}

/// Sets elements to zero where two like nucleons in one orbital would have odd J.
fn fill_forbidden(plan: &Plan, u: &mut [f64]) {
    for (at, [bra, ket], j, left, right) in places(plan) {
        let same =
            |pair: ShellPair, state: JjState| pair.a == pair.b && (state.la, state.two_ja) == (state.lb, state.two_jb);
        if j % 2 == 1 && (same(bra, left) || same(ket, right)) && u[at].is_nan() {
            u[at] = 0.0;
        }
    }
}

/// Elements being collected for a plan.
pub(super) struct Collected<'a> {
    plan: &'a Plan,
    states: StateIndex,
    /// By channel.
    vectors: [Vec<f64>; 3],
    left_out: usize,
    largest: u32,
}

impl<'a> Collected<'a> {
    pub(super) fn new(plan: &'a Plan) -> Collected<'a> {
        let vectors = [(); 3].map(|()| vec![f64::NAN; plan.length]);
        Collected { plan, states: StateIndex::new(plan), vectors, left_out: 0, largest: 0 }
    }

    /// Adds an element; the error text continues after a place.
    pub(super) fn take(&mut self, channel: Channel, element: &Element) -> Result<(), String> {
        element.check()?;
        let [a, b, c, d] = element.four.map(|orbital| orbital.shell());
        self.largest = self.largest.max(a + b).max(c + d);
        match element.put(self.plan, &self.states, &mut self.vectors[channel as usize]) {
            Ok(inside) => {
                self.left_out += usize::from(!inside);
                Ok(())
            }
            Err(()) => Err("this element appears twice with different values".into()),
        }
    }

    /// All channels.
    ///
    /// # Errors
    ///
    /// A file that ends below N_max; an element that is missing.
    pub(super) fn finish(mut self, path: &Path) -> Result<ByChannel, TableError> {
        let plan = self.plan;
        if self.largest < plan.space().quanta_max() {
            return Err(TableError::Truncation { path: path.to_path_buf(), n_max: plan.n_max, found: self.largest });
        }
        for channel in Channel::ALL {
            let vector = &mut self.vectors[channel as usize];
            if channel != Channel::Pn {
                fill_forbidden(plan, vector);
            }
            complete(path, plan, channel, vector)?;
        }
        let vectors = Channel::ALL.into_iter().zip(self.vectors).collect();
        Ok(ByChannel { vectors, left_out: self.left_out })
    }
}

/// Refuses elements that lack a channel.
///
/// # Errors
///
/// The channels that are there.
pub(super) fn check_channels(elements: &ByChannel, file: &str) -> io::Result<()> {
    let channels: Vec<Channel> = elements.vectors.iter().map(|(channel, _)| *channel).collect();
    if channels == Channel::ALL {
        return Ok(());
    }
    let words: Vec<&str> = channels.iter().map(|channel| channel.word()).collect();
    let message = format!("{file} needs the channels pn, pp and nn, found only {}", words.join(", "));
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}
