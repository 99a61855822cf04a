//! What a site carries: its local states, the charges of these, and which operators it has.
//!
//! A site's local state is a number of [`SiteKind::bits`] bits:
//!
//! | kind | local states | bits |
//! |---|---|---|
//! | electrons | 0 empty, 1 ↑, 2 ↓, 3 both | 2 |
//! | t-J electrons | 0 empty, 1 ↑, 2 ↓ | 2 |
//! | fermions of q flavours (q = 1: spinless) | bit f is flavour f | q |
//! | moment of spin S | m + S, from 0 to 2S | those of 2S |
//! | qubit | the bit; \|1⟩ has Z = −1 | 1 |
//! | bosons with a cut | their number, from 0 to the cut | those of the cut |

use super::{Charge, Factor, Operator, Spin, build};
use serde::{Deserialize, Serialize};

/// What the sites of a model carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SiteKind {
    /// Electrons, ↑ and ↓.
    Electrons,
    /// Electrons of which a site holds at most one, as in t-J models.
    Tj,
    /// Fermions with this number of flavours; one flavour for spinless fermions.
    Flavours(usize),
    /// Local moments of 2S.
    Moments {
        /// 2S
        two_s: u32,
    },
    /// Qubits: Pauli operators, Z = −1 in the state |1⟩.
    Qubits,
    /// Bosons, at most so many on a site.
    Bosons {
        /// The cut.
        most: u32,
    },
}

/// What a site carries, whatever its numbers. Who treats kinds of site differently asks for it and names all, so that the compiler finds
/// what a new one lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// ↑ and ↓ electrons.
    Electrons,
    /// Fermions of flavours.
    Flavours,
    /// A local moment or a qubit: levels of Sᶻ.
    Spin,
    /// Bosons.
    Bosons,
}

/// The largest 2S and the largest cut of bosons.
pub const MOST_LEVELS: u32 = 60;

impl SiteKind {
    /// What the site carries.
    pub fn carrier(self) -> Carrier {
        match self {
            SiteKind::Electrons | SiteKind::Tj => Carrier::Electrons,
            SiteKind::Flavours(_) => Carrier::Flavours,
            SiteKind::Moments { .. } | SiteKind::Qubits => Carrier::Spin,
            SiteKind::Bosons { .. } => Carrier::Bosons,
        }
    }

    /// Whether particle–hole symmetry takes its particles to holes: each mode or level has at most one, and none is left out.
    pub fn has_holes(self) -> bool {
        match self {
            SiteKind::Electrons | SiteKind::Flavours(_) | SiteKind::Bosons { most: 1 } => true,
            SiteKind::Tj | SiteKind::Moments { .. } | SiteKind::Qubits | SiteKind::Bosons { .. } => false,
        }
    }

    /// Whether the site is one qubit in Pauli strings, without fermion signs.
    pub fn is_two_level(self) -> bool {
        match self.carrier() {
            Carrier::Spin | Carrier::Bosons => self.top() == 1,
            Carrier::Electrons | Carrier::Flavours => false,
        }
    }

    /// Whether Sᶻ is an observable of the site: of electrons, of moments and of several flavours.
    pub fn has_sz(self) -> bool {
        match self {
            SiteKind::Electrons | SiteKind::Tj | SiteKind::Moments { .. } | SiteKind::Flavours(2..) => true,
            SiteKind::Flavours(_) | SiteKind::Qubits | SiteKind::Bosons { .. } => false,
        }
    }

    /// Whether the site has a Z of Pauli's as its standard observable.
    pub fn has_pauli_z(self) -> bool {
        match self {
            SiteKind::Qubits => true,
            SiteKind::Electrons
            | SiteKind::Tj
            | SiteKind::Flavours(_)
            | SiteKind::Moments { .. }
            | SiteKind::Bosons { .. } => false,
        }
    }

    /// The operators of one site, with the local state whose weight they carry, that add up to any charge of it but for a constant.
    pub fn charge_carriers(self, site: usize) -> Vec<(Vec<Factor>, u64)> {
        match self.carrier() {
            Carrier::Spin => vec![(vec![Factor::Sz(site)], 1)],
            Carrier::Bosons => vec![(vec![Factor::CreateBoson(site), Factor::AnnihilateBoson(site)], 1)],
            Carrier::Electrons | Carrier::Flavours => {
                let number = |mode: Spin| vec![Factor::Create(mode, site), Factor::Annihilate(mode, site)];
                self.modes().into_iter().enumerate().map(|(bit, mode)| (number(mode), 1 << bit)).collect()
            }
        }
    }

    /// 2S of the moments; 1 if there are none.
    pub fn two_s(self) -> u32 {
        match self {
            SiteKind::Moments { two_s } => two_s,
            _ => 1,
        }
    }

    /// The largest level of a site that has levels; 1 for fermion modes and qubits.
    pub fn top(self) -> u32 {
        match self {
            SiteKind::Moments { two_s: top } | SiteKind::Bosons { most: top } => top,
            _ => 1,
        }
    }

    /// The fermion modes of a site; none of a moment, qubit or boson.
    pub fn modes(self) -> Vec<Spin> {
        match self {
            SiteKind::Electrons | SiteKind::Tj => vec![Spin::Up, Spin::Down],
            SiteKind::Flavours(flavours) => (0..flavours).map(Spin::flavour).collect(),
            _ => Vec::new(),
        }
    }

    /// Bits of a local state.
    pub fn bits(self) -> u32 {
        match self.modes().len() {
            0 => (u32::BITS - self.top().leading_zeros()).max(1),
            modes => modes as u32,
        }
    }

    /// The local states, ascending.
    pub fn states(self) -> std::ops::RangeInclusive<u64> {
        match self {
            SiteKind::Tj => 0..=2,
            kind if kind.modes().is_empty() => 0..=u64::from(kind.top()),
            kind => 0..=(1 << kind.bits()) - 1,
        }
    }

    /// The value of a charge in a local state of a site.
    pub fn charge(self, charge: Charge, site: usize, state: u64) -> i64 {
        let modes = self.modes();
        let level = state as i64;
        match (self, charge) {
            (_, Charge::OfSites(sum)) => sum.part(self, site, state),
            (SiteKind::Moments { two_s }, Charge::TwoSz) => 2 * level - i64::from(two_s),
            (SiteKind::Qubits, Charge::TwoSz) => 2 * level - 1,
            (SiteKind::Bosons { .. }, Charge::Bosons) => level,
            (_, Charge::Parity) if modes.is_empty() => level,
            (_, Charge::Parity) => i64::from(state.count_ones()),
            _ => {
                let of_mode = |(bit, mode): (usize, &Spin)| match (charge, mode) {
                    _ if state >> bit & 1 == 0 => 0,
                    (Charge::TwoSz, Spin::Flavour(number)) => modes.len() as i64 - 1 - 2 * i64::from(*number),
                    (Charge::TwoSz, spin) => Charge::Polarisation.of_fermion(*spin),
                    (charge, spin) => charge.of_fermion(*spin),
                };
                modes.iter().enumerate().map(of_mode).sum()
            }
        }
    }

    /// Whether the site has this charge at all.
    pub(crate) fn has_charge(self, charge: Charge, site: usize) -> bool {
        self.states().any(|state| self.charge(charge, site, state) != self.charge(charge, site, 0))
    }

    /// Whether the site has the operator.
    pub fn has(self, factor: Factor) -> bool {
        match factor {
            Factor::Create(spin, _) | Factor::Annihilate(spin, _) => self.modes().contains(&spin),
            Factor::Raise(_) | Factor::Sz(_) | Factor::Lower(_) => self.carrier() == Carrier::Spin,
            Factor::CreateBoson(_) | Factor::AnnihilateBoson(_) => self.carrier() == Carrier::Bosons,
            Factor::ImaginaryUnit => true,
        }
    }

    /// The operators of the site, as they are written in a model file.
    pub fn words(self) -> &'static str {
        match self {
            SiteKind::Electrons | SiteKind::Tj => {
                "cdag_up c_up cdag_dn c_dn n_up n_dn n Sx Sy Sz S+ S- in [[term]]; cdag(i, Up), n(i), sdots(i, j), … in a text"
            }
            SiteKind::Flavours(1) => "cdag c n in [[term]]; cdag(i), c(i), n(i) in a text",
            SiteKind::Flavours(_) => {
                "cdag_0 c_0 n_0 …, n and Sz in [[term]]; cdag(i, Flavour(0)), n(i, Flavour(0)), n(i), sz(i) in a text"
            }
            SiteKind::Moments { .. } => {
                "Sx Sy Sz S+ S- in [[term]]; sp(i), sm(i), sz(i), sx(i), sy(i), sdots(i, j), chirality(i, j, k) in a text"
            }
            SiteKind::Qubits => "X Y Z in [[term]]; X(i), Y(i), Z(i) in a text",
            SiteKind::Bosons { .. } => "bdag b n in [[term]]; bdag(i), b(i), n(i) in a text",
        }
    }

    /// n_i, of all modes or bosons; zero for a moment or qubit.
    pub fn number(self, site: usize) -> Operator {
        match self {
            SiteKind::Bosons { .. } => build::bdag(site) * build::b(site),
            _ => self.modes().into_iter().map(|mode| build::n(site, mode)).sum(),
        }
    }

    /// Sᶻ_i; of a qubit −Z/2, zero for bosons.
    pub fn sz(self, site: usize) -> Operator {
        let modes = self.modes();
        let f = 0.5 * (modes.len() as f64 - 1.0);
        match self {
            SiteKind::Bosons { .. } => Operator::zero(),
            _ if modes.is_empty() => build::sz(site),
            _ => {
                let weighted = modes.into_iter().enumerate();
                weighted.map(|(k, mode)| (f - k as f64) * build::n(site, mode)).sum()
            }
        }
    }

    /// The spin of the site: S⁺; `None` where there is none.
    pub(crate) fn raising(self, site: usize) -> Option<Operator> {
        match self {
            SiteKind::Electrons | SiteKind::Tj => Some(build::electron_sp(site)),
            SiteKind::Moments { .. } => Some(build::sp(site)),
            _ => None,
        }
    }

    /// S_i · S_j, also of an electron's spin with a moment; `None` where one of the sites has no spin.
    pub(crate) fn dot(self, site: usize, other: SiteKind, at: usize) -> Option<Operator> {
        let (raising, theirs) = (self.raising(site)?, other.raising(at)?);
        let flips = 0.5 * (raising.clone() * theirs.adjoint() + raising.adjoint() * theirs);
        Some(flips + self.sz(site) * other.sz(at))
    }

    /// (Sˣ, Sʸ, Sᶻ) of the site; `None` where there is no spin.
    pub(crate) fn vector(self, site: usize) -> Option<[Operator; 3]> {
        Some(build::vector(self.raising(site)?, self.sz(site)))
    }

    /// The operator of a word of a model file, such as `S+` or `cdag_up`.
    pub fn operator(self, word: &str, site: usize) -> Option<Operator> {
        let spin_of = |name: &str| -> Option<Spin> {
            let spin = match name {
                "up" => Spin::Up,
                "dn" | "down" => Spin::Down,
                number => Spin::Flavour(number.parse().ok()?),
            };
            self.modes().contains(&spin).then_some(spin)
        };
        let spinless = (self == SiteKind::Flavours(1)).then_some(Spin::Flavour(0));
        let of_fermion = |name: &str, spin: Option<Spin>| {
            let spin = spin?;
            Some(match name {
                "cdag" => build::cdag(site, spin),
                "c" => build::c(site, spin),
                "n" => build::n(site, spin),
                _ => return None,
            })
        };
        let is_boson = self.carrier() == Carrier::Bosons;
        match word {
            "n" if is_boson || !self.modes().is_empty() => Some(self.number(site)),
            "b" if is_boson => Some(build::b(site)),
            "bdag" if is_boson => Some(build::bdag(site)),
            "cdag" | "c" => of_fermion(word, spinless),
            "X" if self == SiteKind::Qubits => Some(build::pauli_x(site)),
            "Y" if self == SiteKind::Qubits => Some(build::pauli_y(site)),
            "Z" if self == SiteKind::Qubits => Some(build::pauli_z(site)),
            "Sz" if matches!(self, SiteKind::Flavours(2..)) => Some(self.sz(site)),
            "Sz" => self.raising(site).map(|_| self.sz(site)),
            "S+" => self.raising(site),
            "S-" => self.raising(site).map(|raising| raising.adjoint()),
            "Sx" => self.raising(site).map(|raising| 0.5 * (raising.clone() + raising.adjoint())),
            "Sy" => self.raising(site).map(|raising| (0.5 * (raising.adjoint() - raising)).times_i()),
            _ => word.split_once('_').and_then(|(name, spin)| of_fermion(name, spin_of(spin))),
        }
    }
}

impl std::fmt::Display for SiteKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SiteKind::Electrons => f.write_str("electron"),
            SiteKind::Tj => f.write_str("tj"),
            SiteKind::Flavours(1) => f.write_str("spinless"),
            SiteKind::Flavours(flavours) => write!(f, "flavours {flavours}"),
            SiteKind::Moments { two_s } if two_s.is_multiple_of(2) => write!(f, "spin {}", two_s / 2),
            SiteKind::Moments { two_s } => write!(f, "spin {two_s}/2"),
            SiteKind::Qubits => f.write_str("qubit"),
            SiteKind::Bosons { most } => write!(f, "boson {most}"),
        }
    }
}

/// Every spelling of a kind of site.
pub const SITE_WORDS: &str = "\"spin 1/2\" (or 1, 3/2, … up to 30), \"qubit\", \"electron\", \"tj\", \"spinless\", \"flavours 3\" (2 to 6), \"boson 4\" (1 to 60)";

impl std::str::FromStr for SiteKind {
    type Err = ();
    fn from_str(text: &str) -> Result<SiteKind, ()> {
        let (name, number) = match text.split_once(' ') {
            Some((name, number)) => (name, Some(number.trim())),
            None => (text, None),
        };
        let within = |text: &str, least: u32, most: u32| -> Result<u32, ()> {
            text.parse().ok().filter(|number| (least..=most).contains(number)).ok_or(())
        };
        Ok(match (name, number) {
            ("electron", None) => SiteKind::Electrons,
            ("tj", None) => SiteKind::Tj,
            ("spinless", None) => SiteKind::Flavours(1),
            ("qubit", None) => SiteKind::Qubits,
            ("flavours", Some(number)) => SiteKind::Flavours(within(number, 2, Spin::MOST_FLAVOURS as u32)? as usize),
            ("boson", Some(number)) => SiteKind::Bosons { most: within(number, 1, MOST_LEVELS)? },
            ("spin", Some(number)) => {
                let two_s = match number.split_once('/') {
                    Some((twice, "2")) => within(twice, 1, MOST_LEVELS)?,
                    Some(_) => return Err(()),
                    None => 2 * within(number, 1, MOST_LEVELS / 2)?,
                };
                SiteKind::Moments { two_s }
            }
            _ => return Err(()),
        })
    }
}
