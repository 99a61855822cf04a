//! Lists of elements in the words that kernels read: a place in the low bits, the number of the amplitude above.

use super::columns::Columns;
use super::terms::RowElements;
use crate::kronecker::packed_slice;
use eigenforge_templates::Warp;
use eigenforge_templates::exact::{Amplitudes, ElementList, IndexWord};
use num_complex::Complex64;
use rayon::prelude::*;
use std::collections::{BTreeSet, HashMap};

/// Elements of the rows of all classes, a warp of rows side by side.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slices {
    /// Where each slice begins, in groups of four words a lane.
    pub(crate) start: Vec<u32>,
    /// Row in the column, and number of the amplitude.
    pub(crate) words: Vec<u64>,
}

/// Elements of each column.
#[derive(Clone, Debug, Default)]
pub(crate) struct StartedList {
    /// Where those of a column begin; one more than there are columns.
    pub(crate) start: Vec<u32>,
    /// Place in x, and number of the amplitude.
    pub(crate) words: Vec<u64>,
}

/// Distinct amplitudes and their numbers.
pub(super) struct Numbered {
    amplitudes: Amplitudes,
    numbers: HashMap<[u64; 2], u32>,
}

/// The bits of a value, by which it is found; −0 is 0.
fn key(value: Complex64) -> [u64; 2] {
    [value.re, value.im].map(|part| (part + 0.0).to_bits())
}

impl Numbered {
    pub(super) fn new(values: impl Iterator<Item = Complex64>) -> Numbered {
        let distinct: BTreeSet<[u64; 2]> = values.map(key).collect();
        let amplitudes = Amplitudes::of_complex(distinct.into_iter().map(|bits| bits.map(f64::from_bits)).collect());
        // Of equal values (i and −(−i)) the first, whose sign is none.
        let mut numbers = HashMap::new();
        for (number, [re, im]) in (0..).zip(amplitudes.values()) {
            numbers.entry(key(Complex64::new(re, im))).or_insert(number);
        }
        Numbered { amplitudes, numbers }
    }

    fn number(&self, value: Complex64) -> u32 {
        self.numbers[&key(value)]
    }

    fn word(&self, place: u64, value: Complex64, shift: u32) -> u64 {
        place | u64::from(self.number(value)) << shift
    }

    /// A list of places of this many bits, empty yet; `None` if place and number do not fit a word.
    pub(super) fn list(&self, index_bits: u32) -> Option<ElementList> {
        let (bits, amplitudes) = (index_bits + self.amplitudes.bits(), self.amplitudes.clone());
        (bits <= u64::BITS).then(|| ElementList { words: 0, index_bits, word: IndexWord::narrowest(bits), amplitudes })
    }
}

impl Slices {
    /// Packs the rows of all classes, and counts the words in the list.
    pub(super) fn new(
        rows: &RowElements,
        numbered: &Numbered,
        list: &mut ElementList,
        columns: &Columns<'_>,
        warp: Warp,
    ) -> Slices {
        let lanes = warp.lanes() as usize;
        let shift = list.number_shift();
        let slice = |(class, first): (u32, usize)| {
            let (start, count) = columns.classes[class as usize];
            let row = |row: usize| -> Vec<(u32, u32)> {
                let own = rows[start as usize..][..count as usize].get(row).map_or(&[][..], Vec::as_slice);
                own.iter().map(|(to, amplitude)| (*to, numbered.number(*amplitude))).collect()
            };
            packed_slice(&(first..first + lanes).map(row).collect::<Vec<_>>(), count as usize, shift)
        };
        let packed: Vec<Vec<u64>> = of_classes(columns, warp).into_par_iter().map(slice).collect();
        let mut slices = Slices { start: vec![0], words: Vec::new() };
        for slice in packed {
            slices.words.extend(slice);
            slices.start.push((slices.words.len() / (4 * lanes)) as u32);
        }
        list.words = slices.words.len() as u64;
        slices
    }
}

/// All slices: class and first row of each.
pub(super) fn of_classes(columns: &Columns<'_>, warp: Warp) -> Vec<(u32, usize)> {
    let of_class = |(class, (_, count)): (u32, &(u64, u64))| {
        (0..*count as usize).step_by(warp.lanes() as usize).map(move |first| (class, first)).collect::<Vec<_>>()
    };
    (0..).zip(&columns.classes).flat_map(of_class).collect()
}

impl StartedList {
    /// Packs the elements of all columns, and counts the words in the list; `None` if there are too many.
    pub(super) fn new<E>(
        columns: &[E],
        elements: impl Fn(&E) -> Vec<(u64, Complex64)>,
        numbered: &Numbered,
        list: &mut ElementList,
    ) -> Option<StartedList> {
        let shift = list.number_shift();
        let mut started = StartedList { start: vec![0], words: Vec::new() };
        for column in columns {
            let of_column = elements(column);
            started.words.extend(of_column.iter().map(|(place, value)| numbered.word(*place, *value, shift)));
            started.start.push(u32::try_from(started.words.len()).ok()?);
        }
        list.words = started.words.len() as u64;
        Some(started)
    }
}

/// Elements at the same place are one; those that cancel are none.
pub(super) fn merged<T: Ord + Copy>(mut elements: Vec<(T, Complex64)>) -> Vec<(T, Complex64)> {
    elements.sort_by_key(|(place, _)| *place);
    elements.dedup_by(|later, first| {
        let same = later.0 == first.0;
        if same {
            first.1 += later.1;
        }
        same
    });
    elements.retain(|(_, amplitude)| *amplitude != Complex64::ZERO);
    elements
}

/// A row with its sign in the top bit of a narrower word.
pub(super) fn narrowed(row: u64, word: IndexWord) -> u64 {
    let bits = 8 * word.bytes() as u32;
    let mask = (1u64 << (bits - 1)) - 1;
    (row & mask) | (row >> 63) << (bits - 1)
}
