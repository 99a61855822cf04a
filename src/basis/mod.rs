//! The basis of a sector: which state words it holds, in which order, and how to go from word to index and back.
//!
//! * Fermions (n↑, n↓): index = i + n · j, with i the rank of the up word and j that of the down word among words of
//!   that many set bits, ascending. The vector is the matrix V of the Hubbard papers, column-major in the up index.
//! * Local moments (2Sᶻ): words ascending.
//!
//! Both are the same thing to a kernel, [`LinTables`] (H. Q. Lin, Phys. Rev. B 42, 6561 (1990)): the word is cut in two,
//! and index = high_offset[high part] + low_index[low part], because all words with one high part follow each other and
//! hold every low part that completes the charge.

pub mod combinations;
mod lin;

use crate::operator::OperatorError;
use crate::operator::transition::Word;
use serde::{Deserialize, Serialize};

pub use lin::{HighPart, LinTables};

/// Number of up electrons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Up(pub usize);

/// Number of down electrons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Down(pub usize);

/// The conserved numbers that fix a basis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sector {
    /// Numbers of up and down electrons.
    Fermions {
        /// n↑
        up: usize,
        /// n↓
        down: usize,
    },
    /// Twice the total Sᶻ of local moments.
    Spins {
        /// 2 Σ Sᶻ
        two_sz: i64,
    },
}

impl std::fmt::Display for Sector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Sector::Fermions { up, down } => write!(f, "{up} up, {down} down"),
            Sector::Spins { two_sz } => write!(f, "2Sz = {two_sz}"),
        }
    }
}

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
    Spins(LinTables),
}

/// Largest number of words of one species whose tables are still sensible to keep (1 GiB of words).
const LARGEST_SPECIES: u64 = 1 << 27;

impl Basis {
    /// The basis of a sector; `two_s` matters for local moments only.
    pub fn new(sites: usize, two_s: u32, sector: Sector) -> Result<Basis, OperatorError> {
        let empty = |reason: String| OperatorError::EmptySector { sector: sector.to_string(), sites, reason };
        match sector {
            Sector::Fermions { up, down } => {
                let word = Word::Fermions { sites };
                check_bits(sites, word)?;
                for (count, name) in [(up, "up"), (down, "down")] {
                    if count > sites {
                        return Err(empty(format!("{count} {name} electrons need at least {count} sites")));
                    }
                }
                let (n_up, n_down) = (combinations::count(sites, up), combinations::count(sites, down));
                if n_up.max(n_down) > LARGEST_SPECIES {
                    return Err(OperatorError::TooLarge { dimension: n_up as f64 * n_down as f64 });
                }
                let states =
                    States::Fermions { up: combinations::words(sites, up), down: combinations::words(sites, down) };
                Ok(Basis { word, sector, dimension: n_up * n_down, states })
            }
            Sector::Spins { two_sz } => {
                let width = 32 - two_s.leading_zeros();
                let word = Word::Spins { sites, two_s, width };
                check_bits(sites, word)?;
                let largest = sites as i64 * i64::from(two_s);
                if two_sz.abs() > largest {
                    return Err(empty(format!("2Sz lies between -{largest} and {largest}")));
                }
                if (two_sz + largest) % 2 != 0 {
                    let parity = if largest % 2 == 0 { "even" } else { "odd" };
                    return Err(empty(format!("{sites} moments of spin {} have {parity} 2Sz", half(two_s))));
                }
                let tables = LinTables::spins(sites, two_s, width, ((two_sz + largest) / 2) as u32)?;
                Ok(Basis { word, sector, dimension: tables.dimension(), states: States::Spins(tables) })
            }
        }
    }

    /// Layout of the state words.
    pub fn word(&self) -> Word {
        self.word
    }

    /// The sector.
    pub fn sector(&self) -> Sector {
        self.sector
    }

    /// Number of states.
    pub fn dimension(&self) -> u64 {
        self.dimension
    }

    /// The words of the up and of the down electrons, ascending; `None` for local moments.
    pub fn species(&self) -> Option<(&[u64], &[u64])> {
        match &self.states {
            States::Fermions { up, down } => Some((up, down)),
            States::Spins(_) => None,
        }
    }

    /// The state word of an index below the dimension.
    pub fn state(&self, index: u64) -> u64 {
        match (&self.states, self.word) {
            (States::Fermions { up, down }, Word::Fermions { sites }) => {
                let n_up = up.len() as u64;
                up[(index % n_up) as usize] | shifted(down[(index / n_up) as usize], sites)
            }
            (States::Spins(tables), _) => tables.state(index),
            _ => unreachable!("words and states are made together"),
        }
    }

    /// The index of a state word, `None` when it is not in the sector.
    pub fn index(&self, state: u64) -> Option<u64> {
        match (&self.states, self.word) {
            (States::Fermions { up, down }, Word::Fermions { sites }) => {
                let (u, d) = (state & low_mask(sites as u32), state.checked_shr(sites as u32).unwrap_or(0));
                let (i, j) = (up.binary_search(&u).ok()?, down.binary_search(&d).ok()?);
                Some(i as u64 + j as u64 * up.len() as u64)
            }
            (States::Spins(tables), _) => tables.checked_index(state),
            _ => unreachable!("words and states are made together"),
        }
    }

    /// The tables that a matrix-free multiply ranks with.
    pub fn lin_tables(&self) -> Result<LinTables, OperatorError> {
        match (&self.states, self.word) {
            (States::Fermions { up, down }, Word::Fermions { sites }) => LinTables::fermions(sites, up, down),
            (States::Spins(tables), _) => Ok(tables.clone()),
            _ => unreachable!("words and states are made together"),
        }
    }

    /// Occupations or levels of a state, site by site as [`crate::operator::dense`] has them.
    pub fn configuration(&self, index: u64) -> Vec<u32> {
        let state = self.state(index);
        let (digits, width) = match self.word {
            Word::Fermions { sites } => (2 * sites, 1),
            Word::Spins { sites, width, .. } => (sites, width),
        };
        (0..digits).map(|digit| (state >> (digit as u32 * width) & low_mask(width)) as u32).collect()
    }

    /// The index of a configuration, `None` when it is not in the sector.
    pub fn index_of(&self, configuration: &[u32]) -> Option<u64> {
        let width = match self.word {
            Word::Fermions { .. } => 1,
            Word::Spins { width, .. } => width,
        };
        let pack = |state, (digit, level): (usize, &u32)| state | u64::from(*level) << (digit as u32 * width);
        self.index(configuration.iter().enumerate().fold(0u64, pack))
    }
}

/// The lowest `bits` bits.
pub(crate) fn low_mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

fn shifted(word: u64, bits: usize) -> u64 {
    word.checked_shl(bits as u32).unwrap_or(0)
}

fn check_bits(sites: usize, word: Word) -> Result<(), OperatorError> {
    let limit = 64;
    if sites > 64 || word.bits() > limit {
        return Err(OperatorError::TooManySites { sites, bits: word.bits(), limit });
    }
    Ok(())
}

fn half(two_s: u32) -> String {
    if two_s.is_multiple_of(2) { format!("{}", two_s / 2) } else { format!("{two_s}/2") }
}
