//! The columns of a sector: the states with one high part. Columns with the same low parts are a class.

use eigenforge_core::basis::{CutShape, DirectTables, LinTables};
use eigenforge_templates::exact::LONGEST_STAGED;
use std::collections::{BTreeMap, HashMap};

/// Least rows of a column, on average, for which a block takes columns.
const LEAST_ROWS: u64 = 8;

/// Most columns: 1 GiB of them, of 6e10 states or more.
const MOST_COLUMNS: u64 = 1 << 25;

/// Lin's tables with the largest low part of which a column fits a block, of complex vectors its real and imaginary parts;
/// `None` where columns are too short, or places are searched.
pub(crate) fn cut_for_blocks(tables: &LinTables, complex: bool) -> Option<LinTables> {
    cut_to_room(tables, complex, LONGEST_STAGED)
}

/// The same for columns of `room` rows at most, of complex vectors both parts together.
pub(super) fn cut_to_room(tables: &LinTables, complex: bool, room: u64) -> Option<LinTables> {
    let longest = if complex { room / 2 } else { room };
    let shape = |bits: &u32| tables.shape_with_low_bits(*bits);
    let bits = (0..=tables.low_bits).rev().find(|bits| *bits == 0 || shape(bits).longest <= longest)?;
    let CutShape { columns, is_direct, .. } = shape(&bits);
    let long = tables.dimension() >= LEAST_ROWS * columns;
    if !long || !is_direct || columns > MOST_COLUMNS {
        return None;
    }
    let cut = if bits == tables.low_bits { tables.clone() } else { tables.with_low_bits(bits) };
    cut.direct.is_some().then_some(cut)
}

/// Columns and their classes.
pub(super) struct Columns<'a> {
    pub(super) tables: &'a LinTables,
    direct: &'a DirectTables,
    /// Of each class: its first low part, and how many it has.
    pub(super) classes: Vec<(u64, u64)>,
    /// Of each column, of complex vectors those of the real parts: its class.
    pub(super) class_of: Vec<u32>,
    /// Of each low part: its class, `u32::MAX` if no column has it.
    class_of_low: Vec<u32>,
    /// The bit of a high part that tells imaginary from real parts; 0 of real vectors.
    pub(super) turn: u64,
}

impl<'a> Columns<'a> {
    /// `turn` is the bit of the state that tells imaginary from real parts. `None` where places are searched.
    pub(super) fn new(tables: &'a LinTables, turn: Option<u32>) -> Option<Columns<'a>> {
        let direct = tables.direct.as_ref()?;
        let starts: BTreeMap<u64, u64> = tables.parts.iter().map(|part| (part.first_low, part.count)).collect();
        let number: HashMap<u64, u32> = starts.keys().enumerate().map(|(k, first)| (*first, k as u32)).collect();
        let classes: Vec<(u64, u64)> = starts.into_iter().collect();
        let mut class_of_low = vec![u32::MAX; tables.low_states.len()];
        for (class, (first, count)) in classes.iter().enumerate() {
            class_of_low[*first as usize..(first + count) as usize].fill(class as u32);
        }
        let turn = turn.map_or(0, |bit| 1u64 << bit >> tables.low_bits);
        let own = if turn == 0 { tables.parts.len() } else { tables.parts.len() / 2 };
        let class_of = tables.parts[..own].iter().map(|part| number[&part.first_low]).collect();
        let columns = Columns { tables, direct, classes, class_of, class_of_low, turn };
        columns.has_pairs().then_some(columns)
    }

    /// Whether the imaginary parts of each column are the same column of the second half, if there are any.
    fn has_pairs(&self) -> bool {
        let (re, im) = self.tables.parts.split_at(self.tables.parts.len() / 2);
        let pair = |(re, im): (&eigenforge_core::basis::HighPart, &eigenforge_core::basis::HighPart)| {
            re.high | self.turn == im.high && re.high & self.turn == 0
        };
        self.turn == 0 || (re.len() == im.len() && re.iter().zip(im).all(pair))
    }

    /// How many columns each class has; of complex vectors pairs of them.
    pub(super) fn counts(&self) -> Vec<u64> {
        let mut counts = vec![0; self.classes.len()];
        self.class_of.iter().for_each(|class| counts[*class as usize] += 1);
        counts
    }

    /// Rows of the longest column.
    pub(super) fn longest(&self) -> u64 {
        self.classes.iter().map(|(_, count)| *count).max().unwrap_or(0)
    }

    /// A low part by its place in the lists, and its class.
    pub(super) fn low(&self, place: usize) -> Option<(u64, u32)> {
        let class = self.class_of_low[place];
        (class != u32::MAX).then(|| (self.tables.low_states[place], class))
    }

    /// Class and row of a low word, if a column has it; `likely` is looked at first.
    pub(super) fn row_of(&self, likely: u32, low: u64) -> Option<(u32, u32)> {
        let row = *self.direct.low_index.get(low as usize)?;
        let here = |class: u32| {
            let (first, count) = self.classes[class as usize];
            u64::from(row) < count && self.tables.low_states[(first + u64::from(row)) as usize] == low
        };
        if row == u32::MAX {
            None
        } else if here(likely) {
            Some((likely, row))
        } else {
            (0..self.classes.len() as u32).find(|class| here(*class)).map(|class| (class, row))
        }
    }

    /// The beginning of the column of a high word in x, and its class; `None` if the sector has none. Of complex vectors the word
    /// is that of a real part.
    pub(super) fn column_of(&self, high: u64) -> Option<(u64, u32)> {
        let start = *self.direct.high_offset.get(high as usize)?;
        let column = self.tables.parts.binary_search_by_key(&start, |part| part.start).ok()?;
        Some((start, self.class_of[column]))
    }
}
