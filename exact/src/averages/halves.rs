//! A sector as a matrix: a column for each high word, a row for each low word that completes the column's charge.
//!
//! Fermions: the low word is that of the up electrons, the high word that of the down electrons, and every column has the
//! same rows. Local moments: the state word is cut between two sites as in [`eigenforge_core::basis::LinTables`]; the columns that leave
//! the same charge to the low word share their rows and are a class.

use eigenforge_core::basis::{Basis, LinTables};
use eigenforge_core::operator::{OperatorError, SiteLayout, Word};
use std::ops::Range;
use std::sync::Arc;

/// The rows of some columns.
#[derive(Debug)]
pub(super) struct Class {
    /// Where its low words are in [`Halves::lows`].
    pub lows: Range<usize>,
    /// Its columns in [`Halves::columns`].
    pub columns: Range<usize>,
}

/// One column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    /// The high word.
    pub word: u64,
    /// Index of its first state.
    pub start: usize,
    /// Its class.
    pub class: usize,
}

/// The sector as a matrix.
#[derive(Debug)]
pub(super) struct Halves {
    /// Whether a move of one electron takes the sign of those it passes.
    pub fermions: bool,
    /// Twice the spin of a site; 1 for the occupation of fermions.
    pub two_s: u32,
    /// Bits a site.
    pub width: u32,
    /// Sites of the low and of the high word whose levels are summed; none on sites of any kind.
    pub sites: [usize; 2],
    /// The layout of sites of any kind, and the bits of the low word.
    pub layout: Option<(Arc<SiteLayout>, u32)>,
    /// Low words, class by class, ascending in each.
    pub lows: Vec<u64>,
    /// The classes.
    pub classes: Vec<Class>,
    /// The columns, class by class, ascending in each.
    pub columns: Vec<Column>,
    /// Columns by their words.
    columns_by_word: WordIndex,
    /// Rows, each in its class, by their low words.
    rows_by_word: WordIndex,
}

/// Finds the number of a word.
#[derive(Debug)]
enum WordIndex {
    /// By the word itself: short words.
    Direct(Vec<u32>),
    /// Words in ascending order with their numbers.
    Sorted(Vec<(u64, u32)>),
}

/// Marks a word without a number.
const NONE: u32 = u32::MAX;
/// The most bits of a word that is looked up directly: 16 MiB.
const DIRECT_BITS: u32 = 22;

impl WordIndex {
    fn new(bits: u32, numbered: impl Iterator<Item = (u64, u32)>) -> WordIndex {
        if bits > DIRECT_BITS {
            let mut sorted: Vec<(u64, u32)> = numbered.collect();
            sorted.sort_unstable();
            return WordIndex::Sorted(sorted);
        }
        let mut direct = vec![NONE; 1 << bits];
        numbered.for_each(|(word, number)| direct[word as usize] = number);
        WordIndex::Direct(direct)
    }

    #[inline]
    fn find(&self, word: u64) -> Option<usize> {
        match self {
            WordIndex::Direct(numbers) => {
                let number = *numbers.get(usize::try_from(word).ok()?)?;
                (number != NONE).then_some(number as usize)
            }
            WordIndex::Sorted(words) => {
                let found = words.binary_search_by_key(&word, |(word, _)| *word).ok()?;
                Some(words[found].1 as usize)
            }
        }
    }
}

impl Halves {
    /// Of a basis.
    pub(super) fn new(basis: &Basis) -> Result<Halves, OperatorError> {
        let tables;
        let mut layout = None;
        let (fermions, two_s, width, sites, bits, lin) = match basis.word() {
            Word::Fermions { sites } => (true, 1, 1, [*sites; 2], [*sites as u32; 2], None),
            Word::Spins { sites, two_s, width } => {
                tables = basis.lin_tables()?;
                let low = (tables.low_bits / width) as usize;
                let sites = [low, sites - low];
                (false, *two_s, *width, sites, sites.map(|sites| sites as u32 * width), Some(&tables))
            }
            Word::Sites(of_sites) => {
                tables = basis.lin_tables()?;
                layout = Some((of_sites.clone(), tables.low_bits));
                (false, 1, 1, [0; 2], [tables.low_bits, of_sites.bits() - tables.low_bits], Some(&tables))
            }
        };
        let (lows, mut parts) = match (lin, basis.species()) {
            (Some(tables), _) => of_tables(tables),
            (None, Some((up, down))) => of_species(up, down),
            (None, None) => unreachable!("fermions have species"),
        };
        parts.sort_by_key(|(class, word, _)| (*class, *word));
        let columns: Vec<Column> =
            parts.iter().map(|(class, word, start)| Column { word: *word, start: *start, class: *class }).collect();
        let mut classes = Vec::with_capacity(lows.len());
        let (mut words, mut first_column) = (Vec::new(), 0);
        for (class, low_words) in lows.into_iter().enumerate() {
            let count = columns[first_column..].iter().take_while(|column| column.class == class).count();
            let lows = words.len()..words.len() + low_words.len();
            words.extend(low_words);
            classes.push(Class { lows, columns: first_column..first_column + count });
            first_column += count;
        }
        let columns_by_word =
            WordIndex::new(bits[1], (0..).zip(&columns).map(|(number, column)| (column.word, number)));
        let rows = classes.iter().flat_map(|class| (0..).zip(&words[class.lows.clone()]));
        let rows_by_word = WordIndex::new(bits[0], rows.map(|(row, word)| (*word, row)));
        Ok(Halves {
            fermions,
            two_s,
            width,
            sites,
            layout,
            lows: words,
            classes,
            columns,
            columns_by_word,
            rows_by_word,
        })
    }

    /// Level of a site in a word of either half: 0 to 2S, or the occupation.
    pub(super) fn level(&self, word: u64, site: usize) -> u32 {
        self.level_at(word, site as u32 * self.width)
    }

    /// Level of the site that begins at a bit.
    #[inline]
    pub(super) fn level_at(&self, word: u64, shift: u32) -> u32 {
        (word >> shift & (u64::MAX >> (u64::BITS - self.width))) as u32
    }

    /// Rows of a class.
    pub(super) fn rows(&self, class: usize) -> &[u64] {
        &self.lows[self.classes[class].lows.clone()]
    }

    /// Rows of the longest column.
    pub(super) fn most_rows(&self) -> u64 {
        self.classes.iter().map(|class| class.lows.len() as u64).max().unwrap_or(0)
    }

    /// The elements of a column.
    pub(super) fn elements(&self, column: &Column) -> Range<usize> {
        column.start..column.start + self.classes[column.class].lows.len()
    }

    /// The number of the column of a high word.
    pub(super) fn column_of(&self, word: u64) -> Option<usize> {
        self.columns_by_word.find(word)
    }

    /// The row of a low word in its class.
    pub(super) fn row_of(&self, low: u64) -> Option<usize> {
        self.rows_by_word.find(low)
    }
}

/// The low words of each class, and (class, word, first index) of each column.
type Parts = (Vec<Vec<u64>>, Vec<(usize, u64, usize)>);

fn of_species(up: &[u64], down: &[u64]) -> Parts {
    let columns = down.iter().enumerate().map(|(k, word)| (0, *word, k * up.len())).collect();
    (vec![up.to_vec()], columns)
}

fn of_tables(tables: &LinTables) -> Parts {
    let mut firsts: Vec<(u64, u64)> = tables.parts.iter().map(|part| (part.first_low, part.count)).collect();
    firsts.sort_unstable();
    firsts.dedup();
    let words = |(first, count): &(u64, u64)| tables.low_states[*first as usize..(first + count) as usize].to_vec();
    let column = |part: &eigenforge_core::basis::HighPart| {
        let class = firsts.partition_point(|(first, _)| *first < part.first_low);
        (class, part.high, part.start as usize)
    };
    let columns = tables.parts.iter().map(column).collect();
    (firsts.iter().map(words).collect(), columns)
}
