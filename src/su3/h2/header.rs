//! The head of an H2 file: orbitals, truncation, numbers of elements.
//!
//! In: a plan, or what a file says. Out: the orbitals by class, which pairs of them are states, how many elements there are. A
//! state has weights w_a ≤ w, w_b ≤ w of one nucleon and w_a + w_b ≤ w2 of two.

use super::super::channel::Channel;
use super::super::plan::Plan;
use super::super::space::orbits;
use super::order;

/// Room for rounding of weights, which are sums of few decimals.
const SLACK: f64 = 1e-4;

/// Version of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// Oscillator shells, given by two cut-offs.
    V0,
    /// Any orbitals; sectors pp, nn, pn.
    V15099,
    /// Any orbitals, numbered through; sectors pp, pn, nn.
    V15200,
}

impl Version {
    /// All of them.
    pub const ALL: [Version; 3] = [Version::V0, Version::V15099, Version::V15200];

    /// As files have it.
    pub fn number(self) -> u32 {
        match self {
            Version::V0 => 0,
            Version::V15099 => 15099,
            Version::V15200 => 15200,
        }
    }

    /// From a file's number; the error says what is known.
    pub fn from_number(number: i64) -> Result<Version, String> {
        let known = Version::ALL.into_iter().find(|version| i64::from(version.number()) == number);
        known.ok_or_else(|| format!("expected H2 version 0, 15099 or 15200, found {number}"))
    }

    /// The sectors, in the order of the file.
    pub fn sectors(self) -> [Channel; 3] {
        match self {
            Version::V0 | Version::V15099 => [Channel::Pp, Channel::Nn, Channel::Pn],
            Version::V15200 => [Channel::Pp, Channel::Pn, Channel::Nn],
        }
    }
}

/// An orbital of one class of nucleon.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Orbital {
    /// The radial number, from 0.
    pub radial: u32,
    pub l: u32,
    pub two_j: u32,
    pub weight: f64,
}

impl Orbital {
    pub fn shell(self) -> u32 {
        2 * self.radial + self.l
    }

    /// Whether l and 2j belong together, and all is of a size that can be.
    pub fn check(self) -> Result<(), String> {
        let Orbital { radial, l, two_j, weight } = self;
        let fits = (two_j + 1 == 2 * l || two_j == 2 * l + 1) && radial < 500 && l < 1000 && weight.is_finite();
        if fits {
            Ok(())
        } else {
            Err(format!("n l 2j = {radial} {l} {two_j} is no orbital: expected 2j = 2l − 1 or 2l + 1"))
        }
    }
}

/// Orbitals and truncation.
#[derive(Debug, Clone)]
pub(super) struct Header {
    pub version: Version,
    /// Protons, neutrons.
    pub orbitals: [Vec<Orbital>; 2],
    /// The largest weight of one proton, of one neutron.
    pub one_body: [f64; 2],
    /// The largest weight of two, by channel: pn, pp, nn.
    pub two_body: [f64; 3],
}

impl Header {
    /// That of a plan's space.
    pub fn of_plan(plan: &Plan, version: Version) -> Header {
        let space = plan.space();
        Header::of_shells(version, space.shell_max(), space.quanta_max())
    }

    /// Oscillator shells up to so many quanta of one and of two, j ascending in a shell.
    pub fn of_shells(version: Version, shell_max: u32, quanta_max: u32) -> Header {
        let of_shell = |n: u32| {
            let all = orbits(n).map(move |(l, two_j)| Orbital { radial: (n - l) / 2, l, two_j, weight: f64::from(n) });
            all.collect::<Vec<_>>()
        };
        let orbitals: Vec<Orbital> = (0..=shell_max).flat_map(of_shell).collect();
        let (one, two) = (f64::from(shell_max), f64::from(quanta_max));
        Header { version, orbitals: [orbitals.clone(), orbitals], one_body: [one; 2], two_body: [two; 3] }
    }

    /// Classes of the left and right nucleon: 0 protons, 1 neutrons.
    pub fn classes(channel: Channel) -> [usize; 2] {
        match channel {
            Channel::Pn => [0, 1],
            Channel::Pp => [0, 0],
            Channel::Nn => [1, 1],
        }
    }

    /// The orbitals a, b, c, d from their places in their classes.
    pub fn four(&self, channel: Channel, places: [usize; 4]) -> [Orbital; 4] {
        let classes = Header::classes(channel);
        let [a, b, c, d] = places;
        [(a, 0), (b, 1), (c, 0), (d, 1)].map(|(place, side)| self.orbitals[classes[side]][place])
    }

    /// States (a, b) of one J and parity, in lexicographic order.
    pub fn states(&self, channel: Channel, j: u32, parity: u32) -> Vec<[usize; 2]> {
        let [left, right] = Header::classes(channel);
        let identical = left == right;
        let mut states = Vec::new();
        for (a, one) in self.orbitals[left].iter().enumerate() {
            for (b, two) in self.orbitals[right].iter().enumerate().skip(if identical { a } else { 0 }) {
                let couples = one.two_j.abs_diff(two.two_j) <= 2 * j && 2 * j <= one.two_j + two.two_j;
                let allowed = !(identical && a == b && j % 2 == 1);
                let light = one.weight <= self.one_body[left] + SLACK && two.weight <= self.one_body[right] + SLACK;
                let lighter = one.weight + two.weight <= self.two_body[channel as usize] + SLACK;
                if couples && allowed && light && lighter && (one.l + two.l) % 2 == parity {
                    states.push([a, b]);
                }
            }
        }
        states
    }

    /// The largest J that two orbitals have.
    pub fn j_bound(&self) -> u32 {
        self.orbitals.iter().flatten().map(|orbital| orbital.two_j).max().unwrap_or(0)
    }

    /// Numbers of elements in the order of the sectors.
    pub fn counts(&self) -> [usize; 3] {
        self.version.sectors().map(|channel| {
            let sizes = (0..=self.j_bound()).flat_map(|j| [0, 1].map(|parity| self.states(channel, j, parity).len()));
            sizes.map(|n| n * (n + 1) / 2).sum()
        })
    }

    /// The largest 2J of a channel's states.
    pub fn two_j_max(&self, channel: Channel) -> u32 {
        let there = |j: &u32| [0, 1].iter().any(|parity| !self.states(channel, *j, *parity).is_empty());
        2 * (0..=self.j_bound()).rev().find(there).unwrap_or(0)
    }

    /// Whether the numbers of elements that a file states are those that its orbitals have.
    pub fn check_counts(&self, found: &[usize]) -> Result<(), String> {
        let expected = self.counts();
        let words = self.version.sectors().map(Channel::word).join(", ");
        if found == expected {
            return Ok(());
        }
        Err(format!(
            "the orbitals and weights of the header have {expected:?} elements of {words}, its line of sizes says {found:?}"
        ))
    }

    /// Calls `visit(a b c d, J)` for all elements of a channel in the order of the file.
    pub fn for_each<E>(&self, channel: Channel, visit: impl FnMut([usize; 4], u32) -> Result<(), E>) -> Result<(), E> {
        order::for_each(self, channel, visit)
    }
}
