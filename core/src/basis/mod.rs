//! The basis of a sector: its state words, their order, and the conversion from word to index and back.
//!
//! * Fermions (n↑, n↓): index = i + n · j, with i the rank of the up word and j that of the down word among words of
//!   that many set bits, ascending. The vector is the matrix V of the Hubbard papers, column-major in the up index.
//! * Local moments (2Sᶻ): words ascending.
//! * Sites of any kind with any charges ([`Basis::on_sites`]): words ascending, in the layout of [`SiteLayout`].
//! * Of both, where solvers work on them: by the charge of the high part of the word (`LinTables::by_charge`).
//!
//! Kernels treat both in the same way, by [`LinTables`] (H. Q. Lin, Phys. Rev. B 42, 6561 (1990)): the word is cut in
//! two, and index = high_offset[high part] + low_index[low part], because all words with one high part are consecutive
//! and contain every low part that completes the charge.
//!
//! Everything is counted and listed by sector, never over all words of that many sites: one magnon on 64 sites is 64
//! states with tables of some kilobytes. Words of up to 64 bits have tables. Longer ones, of at most 128 bits, stand in one
//! list (`listed.rs`), so their sectors must be small. Representatives of symmetry sectors are listed when one is asked for (`orbits.rs`). The word of one electron species has at most 64 bits.

mod combinations;
mod digits;
mod flips;
mod lin;
mod listed;
mod listing;
mod number;
mod orbits;
mod representatives;
mod sector;
mod sites;

use crate::operator::{Charge, OperatorError, SiteLayout, Word};
use std::sync::Arc;

pub use crate::operator::low_mask;
pub use combinations::{WordRanks, count};
pub use flips::{FlipImages, WordImages};
use lin::ChargeOfWord;
pub use lin::CutShape;
pub use lin::{DirectTables, HighPart, LinTables};
use number::MOST_STATES;
pub use orbits::{Orbits, OtherPart, StateLine};
pub use representatives::{Reached, WordActions};
pub use sector::Sector;

/// Number of up electrons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Up(pub usize);

/// Number of down electrons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Down(pub usize);

/// The states of one sector on a number of sites.
#[derive(Clone, Debug)]
pub struct Basis {
    word: Word,
    sector: Sector,
    dimension: u64,
    states: States,
}

#[derive(Clone, Debug)]
enum States {
    Fermions { up: Vec<u64>, down: Vec<u64> },
    Tables(LinTables),
    Listed(Vec<u128>),
    Orbits(Arc<Orbits>),
}

/// Largest number of words of one species for which tables are made (1 GiB of words).
const LARGEST_SPECIES: u64 = 1 << 27;

/// Bits of a state word that has tables.
const WORD_BITS: u32 = u64::BITS;

/// Bits of a state word in a list.
pub const LISTED_BITS: u32 = u128::BITS;

impl Basis {
    /// The basis of a sector; `two_s` matters for local moments only.
    ///
    /// # Errors
    /// A sector without states, words of more than 64 bits, lists that would be too long; found before anything is
    /// listed. Longer words are those of sites of any kind ([`Basis::on_sites`]).
    pub fn new(sites: usize, two_s: u32, sector: Sector) -> Result<Basis, OperatorError> {
        let word = Word::new(sites, two_s, &sector)?;
        let named = sector.to_string();
        let empty = |reason: String| OperatorError::EmptySector { sector: named.clone(), sites, reason };
        match sector {
            Sector::Fermions { up, down } => {
                for (count, name) in [(up, "up"), (down, "down")] {
                    if count > sites {
                        return Err(empty(format!("{count} {name} electrons need at least {count} sites")));
                    }
                }
                let (n_up, n_down) = (combinations::count(sites, up), combinations::count(sites, down));
                let dimension = u128::from(n_up) * u128::from(n_down);
                if n_up.max(n_down) > LARGEST_SPECIES || dimension > MOST_STATES {
                    return Err(OperatorError::TooLarge { dimension: dimension as f64 });
                }
                let states =
                    States::Fermions { up: combinations::words(sites, up), down: combinations::words(sites, down) };
                Ok(Basis { word, sector, dimension: n_up * n_down, states })
            }
            Sector::Charges(_) | Sector::Flavours(_) => unreachable!("`Word::new` refuses them"),
            Sector::Spins { two_sz } => {
                // In 128 bits, because 2S may be any 32-bit number.
                let (largest, two_sz) = (sites as i128 * i128::from(two_s), i128::from(two_sz));
                if two_sz.abs() > largest {
                    return Err(empty(format!("2Sz lies between -{largest} and {largest}")));
                }
                if (two_sz + largest) % 2 != 0 {
                    let parity = if largest % 2 == 0 { "even" } else { "odd" };
                    return Err(empty(format!("{sites} moments of spin {} have {parity} 2Sz", half(two_s))));
                }
                let Word::Spins { width, .. } = word else { unreachable!("a spin sector has spin words") };
                let tables = LinTables::spins(sites, two_s, width, ((two_sz + largest) / 2) as u64)?;
                Ok(Basis { word, sector, dimension: tables.dimension(), states: States::Tables(tables) })
            }
        }
    }

    /// The basis of the states on sites of any kind that have these charges. States of more than 64 bits are listed.
    ///
    /// # Errors
    /// No such state, words of more than 128 bits, lists that would be too long.
    pub fn on_sites(layout: Arc<SiteLayout>, charges: Vec<(Charge, i64)>) -> Result<Basis, OperatorError> {
        if layout.bits() > WORD_BITS {
            return Basis::listed(layout, charges);
        }
        if let Some(dimension) = number::number(&layout, &charges).filter(|number| *number > MOST_STATES) {
            return Err(OperatorError::TooLarge { dimension: dimension as f64 });
        }
        let tables = LinTables::on_sites(&layout, &charges)?;
        Basis::of_states(layout, charges, tables.dimension(), States::Tables(tables))
    }

    /// The same in a list, whatever the number of bits.
    ///
    /// # Errors
    /// As of [`Basis::on_sites`].
    pub fn listed(layout: Arc<SiteLayout>, charges: Vec<(Charge, i64)>) -> Result<Basis, OperatorError> {
        if layout.bits() > LISTED_BITS {
            let (sites, bits) = (layout.kinds().len(), layout.bits().into());
            return Err(OperatorError::TooManySites { sites, bits, limit: LISTED_BITS });
        }
        let words = listed::words(&layout, &charges)?;
        Basis::of_states(layout, charges, words.len() as u64, States::Listed(words))
    }

    /// The orbits of a symmetry sector, by their representatives, ascending; of a complex layout once for real and once for imaginary
    /// parts, with antiunitary elements those with imaginary parts again. Listed when a state is first asked for.
    pub fn of_orbits(
        layout: Arc<SiteLayout>,
        charges: Vec<(Charge, i64)>,
        orbits: Arc<Orbits>,
    ) -> Result<Basis, OperatorError> {
        let dimension = orbits.elements(layout.is_complex());
        Basis::of_states(layout, charges, dimension, States::Orbits(orbits))
    }

    fn of_states(
        layout: Arc<SiteLayout>,
        charges: Vec<(Charge, i64)>,
        dimension: u64,
        states: States,
    ) -> Result<Basis, OperatorError> {
        let sector = Sector::Charges(charges);
        if dimension == 0 {
            let (sector, found) = (sector.to_string(), crate::operator::kind_names(layout.kinds()));
            let reason = format!("no combination of local states of sites of kind {found} has these charges");
            return Err(OperatorError::EmptySector { sector, sites: layout.kinds().len(), reason });
        }
        Ok(Basis { word: Word::Sites(layout), sector, dimension, states })
    }

    /// Whether the states stand in a list, as those of more than 64 bits do.
    pub fn is_listed(&self) -> bool {
        matches!(self.states, States::Listed(_) | States::Orbits(_))
    }

    /// Layout of the state words.
    pub fn word(&self) -> &Word {
        &self.word
    }

    /// The sector.
    pub fn sector(&self) -> &Sector {
        &self.sector
    }

    /// Number of states.
    pub fn dimension(&self) -> u64 {
        self.dimension
    }

    /// The words of the up and of the down electrons, ascending; `None` for local moments.
    pub fn species(&self) -> Option<(&[u64], &[u64])> {
        match &self.states {
            States::Fermions { up, down } => Some((up, down)),
            States::Tables(_) | States::Listed(_) | States::Orbits(_) => None,
        }
    }

    /// The state word of an index below the dimension: of fermions the up word with the down word above it.
    #[inline]
    pub fn state(&self, index: u64) -> u128 {
        match (&self.states, &self.word) {
            (States::Fermions { up, down }, Word::Fermions { sites }) => {
                let n_up = up.len() as u64;
                let (up, down) = (up[(index % n_up) as usize], down[(index / n_up) as usize]);
                u128::from(up) | u128::from(down) << *sites
            }
            (States::Tables(tables), _) => tables.state(index).into(),
            (States::Listed(words), _) => words[index as usize],
            (States::Orbits(orbits), word) => {
                let (state, imaginary) = orbits.state_of(index as usize);
                let complex = matches!(word, Word::Sites(layout) if layout.is_complex());
                orbits.words()[state] | if imaginary && complex { 1 << (word.bits() - 1) } else { 0 }
            }
            _ => unreachable!("words and states are made together"),
        }
    }

    /// The index of a state word; `None` if it is not in the sector.
    #[inline]
    pub fn index(&self, state: u128) -> Option<u64> {
        match (&self.states, &self.word) {
            (States::Fermions { up, down }, Word::Fermions { sites }) => {
                let (u, d) = (state as u64 & low_mask(*sites as u32), u64::try_from(state >> *sites).ok()?);
                let (i, j) = (up.binary_search(&u).ok()?, down.binary_search(&d).ok()?);
                Some(i as u64 + j as u64 * up.len() as u64)
            }
            (States::Tables(tables), _) => tables.checked_index(u64::try_from(state).ok()?),
            (States::Listed(words), _) => Some(words.binary_search(&state).ok()? as u64),
            (States::Orbits(orbits), Word::Sites(layout)) if layout.is_complex() => {
                let imaginary = 1 << (layout.bits() - 1);
                let index = orbits.index(state & !imaginary)?;
                Some(if state & imaginary == 0 { index } else { index + orbits.states() })
            }
            (States::Orbits(orbits), _) => orbits.index(state),
            _ => unreachable!("words and states are made together"),
        }
    }

    /// The tables for ranking in a matrix-free multiply; of words of at most 64 bits, so for fermions on at most 32 sites.
    pub fn lin_tables(&self) -> Result<LinTables, OperatorError> {
        match (&self.states, &self.word) {
            (States::Fermions { .. }, word) if word.bits() > WORD_BITS => Err(word.too_long()),
            (States::Fermions { up, down }, Word::Fermions { sites }) => Ok(LinTables::fermions(*sites, up, down)),
            (States::Tables(tables), _) => Ok(tables.clone()),
            (States::Listed(_) | States::Orbits(_), word) => Err(word.too_long()),
            _ => unreachable!("words and states are made together"),
        }
    }

    /// The same states by the charge of their high part ([`LinTables::by_charge`]); `None` where that is the order that they have, or
    /// they have no tables.
    pub fn by_charge(&self) -> Option<Basis> {
        let charge = match &self.word {
            Word::Fermions { .. } => return None,
            Word::Spins { width, .. } => ChargeOfWord { width: *width, by_bits: false, turn: None },
            Word::Sites(layout) => {
                let (kinds, first) = (layout.kinds(), layout.kinds().first()?);
                let by_bits = kinds.iter().any(|kind| kind.bits() != first.bits() || !kind.modes().is_empty());
                let turn = layout.is_complex().then(|| layout.bits() - 1);
                ChargeOfWord { width: if by_bits { 1 } else { first.bits() }, by_bits, turn }
            }
        };
        let tables = self.own_tables()?.by_charge(charge)?;
        Some(Basis { states: States::Tables(tables), ..self.clone() })
    }

    /// Whether its states stand by the charge of their high part.
    pub fn is_by_charge(&self) -> bool {
        self.own_tables().is_some_and(LinTables::is_by_charge)
    }

    /// The tables of its own states; `None` of fermions and of states in a list.
    pub fn own_tables(&self) -> Option<&LinTables> {
        match &self.states {
            States::Tables(tables) => Some(tables),
            States::Fermions { .. } | States::Listed(_) | States::Orbits(_) => None,
        }
    }

    /// Of [`Basis::lin_tables`]: bits of the low part, low parts in the list, high parts.
    pub fn half_counts(&self) -> (u32, usize, usize) {
        match &self.states {
            States::Fermions { up, down } => (self.word.bits() / 2, up.len(), down.len()),
            States::Tables(tables) => (tables.low_bits, tables.low_states.len(), tables.parts.len()),
            States::Listed(words) => (0, 1, words.len()),
            States::Orbits(orbits) => (0, 1, orbits.states() as usize),
        }
    }

    /// Whether places are looked up in tables, not searched in lists.
    pub fn has_direct_tables(&self) -> bool {
        match &self.states {
            States::Fermions { .. } => true,
            States::Tables(tables) => tables.direct.is_some(),
            States::Listed(_) | States::Orbits(_) => false,
        }
    }

    /// Bytes of [`Basis::lin_tables`], or of the list.
    pub fn lin_table_bytes(&self) -> u64 {
        match (&self.states, &self.word) {
            (States::Fermions { up, down }, Word::Fermions { sites }) => {
                lin::fermion_bytes(*sites, up.len(), down.len())
            }
            (States::Tables(tables), _) => tables.bytes(),
            (States::Listed(words), _) => size_of_val(&words[..]) as u64,
            (States::Orbits(orbits), _) => orbits.list_bytes(),
            _ => unreachable!("words and states are made together"),
        }
    }

    /// Occupations or levels of a state, site by site as [`Operator::apply`](crate::operator::Operator::apply) has them.
    pub fn configuration(&self, index: u64) -> Vec<u32> {
        let state = self.state(index);
        let (digits, width): (usize, u32) = match &self.word {
            Word::Fermions { sites } => (2 * sites, 1),
            Word::Spins { sites, width, .. } => (*sites, *width),
            Word::Sites(layout) => return layout.configuration(state),
        };
        (0..digits as u32).map(|digit| (state >> (digit * width)) as u32 & low_mask(width) as u32).collect()
    }

    /// The index of a configuration; `None` if it is not in the sector.
    pub fn index_of(&self, configuration: &[u32]) -> Option<u64> {
        let width = match &self.word {
            Word::Fermions { .. } => 1,
            Word::Spins { width, .. } => *width,
            Word::Sites(layout) => return self.index(layout.word(configuration)),
        };
        let pack = |state, (digit, level): (usize, &u32)| state | u128::from(*level) << (digit as u32 * width);
        self.index(configuration.iter().enumerate().fold(0u128, pack))
    }
}

impl Word {
    /// The layout of a sector's words.
    ///
    /// # Errors
    /// More than 64 bits: one per site for an electron species, bits per site times sites for local moments. A sector of
    /// any charges or of flavours: [`Basis::on_sites`] has its words.
    pub fn new(sites: usize, two_s: u32, sector: &Sector) -> Result<Word, OperatorError> {
        let (word, bits) = match sector {
            Sector::Fermions { .. } => (Word::Fermions { sites }, sites as u128),
            Sector::Spins { .. } => {
                let width = u32::BITS - two_s.leading_zeros();
                (Word::Spins { sites, two_s, width }, sites as u128 * u128::from(width.max(1)))
            }
            Sector::Charges(_) | Sector::Flavours(_) => {
                let (found, expected) = ("electrons or local moments", "sites of any kind");
                return Err(OperatorError::WrongSector { found, expected, advice: "use `Basis::on_sites`" });
            }
        };
        if bits > u128::from(WORD_BITS) {
            return Err(OperatorError::TooManySites { sites, bits, limit: WORD_BITS });
        }
        Ok(word)
    }

    /// The error of a word that does not fit.
    fn too_long(&self) -> OperatorError {
        let sites = match self {
            Word::Fermions { sites } | Word::Spins { sites, .. } => *sites,
            Word::Sites(layout) => layout.kinds().len(),
        };
        OperatorError::TooManySites { sites, bits: self.bits().into(), limit: WORD_BITS }
    }
}

fn half(two_s: u32) -> String {
    if two_s.is_multiple_of(2) { format!("{}", two_s / 2) } else { format!("{two_s}/2") }
}
