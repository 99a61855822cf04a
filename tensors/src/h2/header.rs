//! The head of an H2 file: orbitals, truncation, numbers of elements.
//!
//! In: a plan, or the numbers of a file. Out: the orbitals by class, which pairs of them are states, how many elements
//! there are. A state has weights w_a ≤ w, w_b ≤ w of one nucleon and w_a + w_b ≤ w2 of two.

use super::super::channel::Channel;
use super::super::element::{Element, Orbital};
use super::super::plan::Plan;
use super::order;

/// Tolerance for the rounding of weights, which are sums of few decimals.
const SLACK: f64 = 1e-4;

/// Largest accepted shell: beyond it a header is a typing error, and a table of its states would fill any memory.
pub(super) const LARGEST_SHELL: u32 = 60;

/// Most orbitals of a class, twice as many as [`LARGEST_SHELL`] has. Their pairs are counted one by one.
pub(super) const MOST_ORBITALS: u32 = 4_000;

/// H2Version of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum H2Version {
    /// Oscillator shells, given by two cut-offs.
    V0,
    /// Any orbitals; sectors pp, nn, pn.
    V15099,
    /// Any orbitals, numbered consecutively; sectors pp, pn, nn.
    V15200,
}

impl H2Version {
    /// All of them.
    pub const ALL: [H2Version; 3] = [H2Version::V0, H2Version::V15099, H2Version::V15200];

    /// Its number in files.
    pub fn number(self) -> u32 {
        match self {
            H2Version::V0 => 0,
            H2Version::V15099 => 15099,
            H2Version::V15200 => 15200,
        }
    }

    /// From a file's number; the error lists the known ones.
    pub(super) fn from_number(number: i64) -> Result<H2Version, String> {
        let known = H2Version::ALL.into_iter().find(|version| i64::from(version.number()) == number);
        known.ok_or_else(|| format!("expected H2 version 0, 15099 or 15200, found {number}"))
    }

    /// The sectors, in the order of the file.
    pub(super) fn sectors(self) -> [Channel; 3] {
        match self {
            H2Version::V0 | H2Version::V15099 => [Channel::Pp, Channel::Nn, Channel::Pn],
            H2Version::V15200 => [Channel::Pp, Channel::Pn, Channel::Nn],
        }
    }
}

/// Orbitals of each class, and the class and index in it of each orbital of a list.
pub(super) type ByClass = ([Vec<Orbital>; 2], Vec<[usize; 2]>);

/// Sorts a list with 2tz, in which the classes may alternate. The error text continues after a place.
pub(super) fn by_class(listed: Vec<(Orbital, i64)>, counts: [usize; 2]) -> Result<ByClass, String> {
    let mut orbitals = [Vec::new(), Vec::new()];
    let mut numbers = Vec::with_capacity(listed.len());
    for (at, (orbital, two_tz)) in listed.into_iter().enumerate() {
        let class = match two_tz {
            1 => 0,
            -1 => 1,
            found => return Err(format!("expected 2tz = 1 or -1 of orbital {}, found {found}", at + 1)),
        };
        numbers.push([class, orbitals[class].len()]);
        orbitals[class].push(orbital);
    }
    let found = [orbitals[0].len(), orbitals[1].len()];
    if found != counts {
        return Err(format!("expected {counts:?} orbitals of protons and neutrons, found {found:?} by their 2tz"));
    }
    Ok((orbitals, numbers))
}

/// The error of a file whose J0 g0 Tz0 are not those of a scalar.
pub(super) fn not_scalar(symmetry: &[i64]) -> String {
    format!(
        "expected a scalar, J0 g0 Tz0 = 0 0 0, found {symmetry:?}; an operator of other rank is read from a table of labels with columns \
         J0, Jbra, Jket"
    )
}

/// Orbitals and truncation.
#[derive(Debug, Clone)]
pub(super) struct Header {
    pub version: H2Version,
    /// Orbitals of protons, of neutrons.
    pub orbitals: [Vec<Orbital>; 2],
    /// Class and index in it of each orbital of the file, where these have one list.
    pub numbers: Vec<[usize; 2]>,
    /// The largest weight of one proton, of one neutron.
    pub one_body: [f64; 2],
    /// The largest weight of two, by channel: pn, pp, nn.
    pub two_body: [f64; 3],
}

impl Header {
    /// The header of a plan's space.
    pub(super) fn of_plan(plan: &Plan, version: H2Version) -> Header {
        let space = plan.space();
        Header::of_shells(version, space.shell_max(), space.quanta_max())
    }

    /// Oscillator shells up to the given quanta of one and of two nucleons, j ascending in a shell.
    pub(super) fn of_shells(version: H2Version, shell_max: u32, quanta_max: u32) -> Header {
        let orbitals: Vec<Orbital> = (0..=shell_max).flat_map(Orbital::of_shell).collect();
        let (one, two) = (f64::from(shell_max), f64::from(quanta_max));
        Header::of_orbitals(version, [orbitals.clone(), orbitals], [one; 2], [two; 3])
    }

    /// Any orbitals, protons before neutrons.
    pub(super) fn of_orbitals(
        version: H2Version,
        orbitals: [Vec<Orbital>; 2],
        one_body: [f64; 2],
        two_body: [f64; 3],
    ) -> Header {
        let numbers =
            [0, 1].into_iter().flat_map(|class| (0..orbitals[class].len()).map(move |at| [class, at])).collect();
        Header { version, orbitals, numbers, one_body, two_body }
    }

    /// Classes of the left and right nucleon: 0 protons, 1 neutrons.
    pub(super) fn classes(channel: Channel) -> [usize; 2] {
        match channel {
            Channel::Pn => [0, 1],
            Channel::Pp => [0, 0],
            Channel::Nn => [1, 1],
        }
    }

    /// The orbitals a, b, c, d from their indices in their classes.
    pub(super) fn four(&self, channel: Channel, places: [usize; 4]) -> [Orbital; 4] {
        let classes = Header::classes(channel);
        let [a, b, c, d] = places;
        [(a, 0), (b, 1), (c, 0), (d, 1)].map(|(place, side)| self.orbitals[classes[side]][place])
    }

    /// An element of normalised states, from indices of orbitals.
    pub(super) fn element(&self, channel: Channel, four: [usize; 4], j: u32, value: f64) -> Element {
        let identical = channel != Channel::Pn;
        Element { four: self.four(channel, four), j, identical, normalised: true, value }
    }

    /// Calls `visit(a, b, smallest J, largest J, parity, whether only even J)` for every pair of orbitals that is a
    /// state, in lexicographic order.
    fn for_each_pair(&self, channel: Channel, mut visit: impl FnMut([usize; 2], [u32; 2], usize, bool)) {
        let [left, right] = Header::classes(channel);
        let identical = left == right;
        let light = |class: usize| {
            let all = self.orbitals[class].iter().enumerate();
            all.filter(|(_, orbital)| orbital.weight <= self.one_body[class] + SLACK).collect::<Vec<_>>()
        };
        let (lefts, rights) = (light(left), light(right));
        for (a, one) in &lefts {
            for (b, two) in rights.iter().filter(|(b, _)| !identical || a <= b) {
                if one.weight + two.weight <= self.two_body[channel as usize] + SLACK {
                    let j = [one.two_j.abs_diff(two.two_j) / 2, (one.two_j + two.two_j) / 2];
                    visit([*a, *b], j, ((one.l + two.l) % 2) as usize, identical && a == b);
                }
            }
        }
    }

    /// Numbers of states by J and parity. Uses memory only for the J values, however many orbitals a header has.
    fn sizes(&self, channel: Channel) -> Vec<[usize; 2]> {
        // What starts at a J minus what ended before it.
        let mut changes = vec![[0i64; 2]; self.j_bound() as usize + 2];
        let mut sizes = vec![[0i64; 2]; self.j_bound() as usize + 2];
        self.for_each_pair(channel, |_, [least, most], parity, even| {
            if even {
                (least..=most).filter(|j| j % 2 == 0).for_each(|j| sizes[j as usize][parity] += 1);
            } else {
                changes[least as usize][parity] += 1;
                changes[most as usize + 1][parity] -= 1;
            }
        });
        let mut running = [0i64; 2];
        let of = |(changes, alone): (&[i64; 2], &[i64; 2])| {
            [0, 1].map(|parity| {
                running[parity] += changes[parity];
                (running[parity] + alone[parity]) as usize
            })
        };
        changes.iter().zip(&sizes).map(of).collect()
    }

    /// States (a, b) by J and parity, in lexicographic order.
    pub(super) fn states(&self, channel: Channel) -> Vec<[Vec<[usize; 2]>; 2]> {
        let mut states = vec![[Vec::new(), Vec::new()]; self.j_bound() as usize + 1];
        self.for_each_pair(channel, |pair, [least, most], parity, even| {
            let allowed = (least..=most).filter(|j| !even || j % 2 == 0);
            allowed.for_each(|j| states[j as usize][parity].push(pair));
        });
        states
    }

    /// The largest J that two orbitals have.
    fn j_bound(&self) -> u32 {
        self.orbitals.iter().flatten().map(|orbital| orbital.two_j).max().unwrap_or(0)
    }

    /// Numbers of elements in the order of the sectors.
    pub(super) fn counts(&self) -> [usize; 3] {
        let elements = |n: usize| n.saturating_mul(n + 1) / 2;
        self.version.sectors().map(|channel| self.sizes(channel).into_iter().flatten().map(elements).sum())
    }

    /// The largest 2J of a channel's states.
    pub(super) fn two_j_max(&self, channel: Channel) -> u32 {
        2 * self.sizes(channel).iter().rposition(|sizes| *sizes != [0; 2]).unwrap_or(0) as u32
    }

    /// Checks the numbers of elements in a file against its orbitals.
    pub(super) fn check_counts(&self, found: &[usize]) -> Result<(), String> {
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
    pub(super) fn for_each<E>(
        &self,
        channel: Channel,
        visit: impl FnMut([usize; 4], u32) -> Result<(), E>,
    ) -> Result<(), E> {
        order::for_each(self, channel, visit)
    }
}
