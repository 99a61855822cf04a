//! An interaction between single m-states, for Hamiltonians in second quantisation.
//!
//! In: an me2j file. Out: m-states, orbit by orbit in the order of the file and m ascending, and the terms of
//!
//! ```text
//! V = Σ V_αβγδ a†_α a†_β a_δ a_γ,   V_αβγδ = Σ_J ⟨ja mα jb mβ|J M⟩ ⟨jc mγ jd mδ|J M⟩ V(ab, cd; J)
//! ```
//!
//! over pairs of states α ≠ β, each once, for two protons or two neutrons; over a proton in α and γ and a neutron in β and δ. V(ab, cd; J)
//! are the elements as the file has them, not normalised. Pairs beyond E2max have none.

use super::super::channel::Channel;
use super::super::csv::TableError;
use super::super::element::Orbital;
use super::CountedFile;
use eigenforge_su3::{LabelError, Symbols};
use std::collections::BTreeMap;
use std::path::Path;

/// A state of one nucleon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MState {
    /// The radial number, from 0.
    pub radial: u32,
    /// l.
    pub l: u32,
    /// 2j.
    pub two_j: u32,
    /// 2m.
    pub two_m: i32,
}

/// An interaction between m-states.
#[derive(Debug, Clone, PartialEq)]
pub struct MScheme {
    /// The most quanta of one nucleon in the file.
    pub e_max: u32,
    /// The most quanta of two.
    pub e2_max: u32,
    /// The states.
    pub states: Vec<MState>,
    /// Terms V a†_α a†_β a_δ a_γ: the nucleons, then α, β, γ, δ and V.
    pub terms: Vec<(Channel, [usize; 4], f64)>,
}

impl MScheme {
    /// Reads an me2j file of at most `most` m-states, before which it reads no element.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or has more states.
    pub fn read(path: &Path, most: usize) -> Result<MScheme, TableError> {
        let file = CountedFile::open(path)?;
        let orbits = file.truncation.orbits();
        let count: u32 = orbits.iter().map(|orbit| orbit.two_j + 1).sum();
        if count as usize > most {
            let reason = format!("expected at most {most} m-states, found {count} of {}", file.truncation);
            return Err(TableError::Content { path: path.to_path_buf(), reason });
        }
        let states: Vec<MState> = orbits.iter().flat_map(|orbit| states(*orbit)).collect();
        let mut uncoupled = Uncoupled { states: &states, symbols: Symbols::new(), sums: BTreeMap::new() };
        file.for_each(|element| {
            let [_, nn, _, pp] = element.values;
            let of = |value| vec![(element.four, value)];
            for (channel, orders) in
                [(Channel::Nn, of(nn)), (Channel::Pp, of(pp)), (Channel::Pn, element.proton_neutron())]
            {
                for (four, value) in &orders {
                    uncoupled.add(channel, *four, element.j, *value)?;
                    let [a, b, c, d] = *four;
                    let adjoint = [c, d, a, b];
                    if orders.iter().all(|(there, _)| *there != adjoint) {
                        uncoupled.add(channel, adjoint, element.j, *value)?;
                    }
                }
            }
            Ok(())
        })?;
        let terms = uncoupled.sums.into_iter().filter(|(_, value)| *value != 0.0);
        let terms = terms.map(|((channel, four), value)| (channel, four, value)).collect();
        Ok(MScheme { e_max: file.truncation.e_max, e2_max: file.truncation.e2_max, states, terms })
    }
}

/// The states of an orbit.
fn states(orbit: Orbital) -> impl Iterator<Item = MState> {
    let Orbital { radial, l, two_j, .. } = orbit;
    (0..=two_j).map(move |k| MState { radial, l, two_j, two_m: 2 * k as i32 - two_j as i32 })
}

/// The sums over J so far.
struct Uncoupled<'a> {
    states: &'a [MState],
    symbols: Symbols,
    sums: BTreeMap<(Channel, [usize; 4]), f64>,
}

impl Uncoupled<'_> {
    /// Adds one element in one order of its orbits.
    fn add(&mut self, channel: Channel, [a, b, c, d]: [Orbital; 4], j: u32, value: f64) -> Result<(), String> {
        let pairs = |pair| self.pairs(channel, pair, j).map_err(|error| error.to_string());
        let (bras, kets) = (pairs([a, b])?, pairs([c, d])?);
        for (bra, two_m, left) in &bras {
            for (ket, _, right) in kets.iter().filter(|(_, other, _)| other == two_m) {
                *self.sums.entry((channel, [bra[0], bra[1], ket[0], ket[1]])).or_insert(0.0) += left * right * value;
            }
        }
        Ok(())
    }

    /// Pairs of states with their 2M and their coefficient in J; of like nucleons in one orbit each pair once.
    fn pairs(&self, channel: Channel, [x, y]: [Orbital; 2], j: u32) -> Result<Vec<([usize; 2], i32, f64)>, LabelError> {
        let of = |orbit: Orbital| {
            let is_of =
                move |state: &MState| (state.radial, state.l, state.two_j) == (orbit.radial, orbit.l, orbit.two_j);
            self.states.iter().enumerate().filter(move |(_, state)| is_of(state))
        };
        let mut pairs = Vec::new();
        for (first, one) in of(x) {
            for (second, other) in of(y) {
                let two_m = one.two_m + other.two_m;
                if (channel != Channel::Pn && x == y && first >= second) || two_m.unsigned_abs() > 2 * j {
                    continue;
                }
                let two_j = [one.two_j, other.two_j, 2 * j].map(i64::from);
                let coefficient = self.symbols.clebsch_gordan(two_j, [one.two_m, other.two_m, two_m].map(i64::from))?;
                if coefficient != 0.0 {
                    pairs.push(([first, second], two_m, coefficient));
                }
            }
        }
        Ok(pairs)
    }
}
