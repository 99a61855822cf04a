//! The elements of H by columns, for blocks that hold columns in shared memory ([`eigenforge_templates::exact::ColumnLists`]).
//!
//! In: terms by the bits they flip, and Lin's tables cut so that columns fit. Out: the elements within the low part, for each class
//! of columns; those that leave it alone and those across, for each column; and what the terms across do to the low parts.

use super::slices::{LANES, packed_slice};
use crate::basis::LinTables;
use eigenforge_templates::exact::{
    Amplitudes, ColumnLists, ElementList, FlipGroup, IndexWord, LONGEST_STAGED, MaskedTerm, UP_ZEROS,
};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Least rows of a column, on average, for which a block takes columns.
const LEAST_ROWS: u64 = 8;
/// Columns with neighbouring high parts, whose blocks run at about the same time.
const NEIGHBOURS: u64 = 1 << 8;

/// The lists of a model.
#[derive(Clone, Debug)]
pub struct ListTables {
    /// Lin's tables, cut for them.
    pub tables: LinTables,
    /// What the plan knows of them.
    pub sizes: ColumnLists,
    /// Of each column: its class.
    class_of: Vec<u32>,
    /// Of each class: its first slice.
    first_slice: Vec<u32>,
    /// Elements within the low part.
    pub low: Slices,
    /// Those between real and imaginary parts.
    pub turned: Slices,
    /// Whole columns.
    pub whole: StartedList,
    /// Elements across.
    pub cross: StartedList,
    /// The factor of each element across.
    pub cross_factor: Vec<u32>,
    /// For each factor and low part the row it leads to, with the sign in the top bit.
    pub factor_row: Vec<u64>,
}

/// Elements of the rows of all classes, 32 rows side by side.
#[derive(Clone, Debug, Default)]
pub struct Slices {
    /// Where each slice begins, in groups of four words a lane.
    pub start: Vec<u32>,
    /// Row in the column, and number of the amplitude.
    pub words: Vec<u64>,
}

/// Elements of each column.
#[derive(Clone, Debug, Default)]
pub struct StartedList {
    /// Where those of a column begin; one more than there are columns.
    pub start: Vec<u32>,
    /// Place in x, and number of the amplitude.
    pub words: Vec<u64>,
}

/// What a term does to the low part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Factor {
    care: u64,
    pattern: u64,
    sign: u64,
    flip: u64,
}

/// A term beyond the low part.
struct Term {
    /// What it does to the high part.
    high: Factor,
    /// Its factor; `None` if it leaves the low part alone.
    factor: Option<u32>,
    amplitude: f64,
}

impl Factor {
    /// The part of a term that `part` takes out of each word.
    fn of(term: &MaskedTerm, flip: u64, part: impl Fn(u64) -> u64) -> Factor {
        Factor { care: part(term.care), pattern: part(term.pattern), sign: part(term.sign), flip: part(flip) }
    }

    /// Where it leads from a word, and whether with a minus.
    fn apply(&self, word: u64) -> Option<(u64, bool)> {
        (word & self.care == self.pattern).then(|| (word ^ self.flip, (word & self.sign).count_ones() % 2 == 1))
    }

    fn is_one(&self) -> bool {
        self.care == 0 && self.sign == 0 && self.flip == 0
    }
}

/// Lin's tables with the largest low part of which a column fits a block, of complex vectors its real and imaginary parts;
/// `None` where columns are too short, or places are searched.
pub(super) fn cut_for_blocks(tables: &LinTables, complex: bool) -> Option<LinTables> {
    let longest = if complex { LONGEST_STAGED / 2 } else { LONGEST_STAGED };
    let fits = |tables: &LinTables| tables.parts.iter().all(|part| part.count <= longest);
    let mut bits = tables.low_bits;
    let mut cut = tables.clone();
    while !fits(&cut) && bits > 0 {
        bits -= 1;
        cut = tables.with_low_bits(bits);
    }
    let long = cut.dimension() >= LEAST_ROWS * cut.parts.len() as u64;
    (cut.direct.is_some() && long).then_some(cut)
}

impl ListTables {
    /// The lists of terms; `None` where columns do not serve. `turn` is the bit of the state that tells imaginary from real parts.
    pub fn new(groups: &[FlipGroup], tables: &LinTables, turn: Option<u32>) -> Option<ListTables> {
        let tables = cut_for_blocks(tables, turn.is_some())?;
        let direct = tables.direct.as_ref()?;
        let low_bits = tables.low_bits;
        let low_part = |bits: u64| bits & ((1 << low_bits) - 1);
        let high_part = |bits: u64| bits >> low_bits;

        // The imaginary parts of a column are the same column of the second half.
        let turn = turn.map_or(0, |bit| 1u64 << bit >> low_bits);
        let pairs = tables.parts.len() / 2;
        if turn != 0 {
            let (re, im) = tables.parts.split_at(pairs);
            if re.len() != im.len()
                || re.iter().zip(im).any(|(re, im)| re.high | turn != im.high || re.high & turn != 0)
            {
                return None;
            }
        }

        // Classes in the order of their lists.
        let starts: BTreeMap<u64, u64> = tables.parts.iter().map(|part| (part.first_low, part.count)).collect();
        let number: HashMap<u64, u32> = starts.keys().enumerate().map(|(k, first)| (*first, k as u32)).collect();
        let class_of: Vec<u32> = tables.parts.iter().map(|part| number[&part.first_low]).collect();
        let classes: Vec<(u64, u64)> = starts.into_iter().collect();
        let mut columns = vec![0u64; classes.len()];
        let counted = if turn == 0 { &class_of[..] } else { &class_of[..pairs] };
        counted.iter().for_each(|class| columns[*class as usize] += 1);
        // Of each low part: its class.
        let mut class_of_low = vec![u32::MAX; tables.low_states.len()];
        for (class, (first, count)) in classes.iter().enumerate() {
            class_of_low[*first as usize..(first + count) as usize].fill(class as u32);
        }
        // The row of a low word and its class, if it is one.
        let row_of = |class_hint: u32, low: u64| -> Option<(u32, u32)> {
            let row = *direct.low_index.get(low as usize)?;
            if row == u32::MAX {
                return None;
            }
            let here = |class: u32| {
                let (first, count) = classes[class as usize];
                u64::from(row) < count && tables.low_states[(first + u64::from(row)) as usize] == low
            };
            if here(class_hint) {
                return Some((class_hint, row));
            }
            (0..classes.len() as u32).find(|class| here(*class)).map(|class| (class, row))
        };

        let all = groups.iter().flat_map(|group| group.terms.iter().map(|term| (term, group.flip)));
        let (mut low_terms, mut turned_terms) = (Vec::new(), Vec::new());
        let (mut terms, mut factors) = (Vec::new(), Vec::<Factor>::new());
        let mut factor_number = BTreeMap::new();
        for (term, flip) in all {
            let (low, high) = (Factor::of(term, flip, low_part), Factor::of(term, flip, high_part));
            if high.is_one() {
                low_terms.push((low, term.amplitude));
                continue;
            }
            if turn != 0 && high.flip == turn && (high.care | high.sign) & !turn == 0 {
                // In the row of a real part; that of the imaginary part has the opposite sign, since H is Hermitian.
                if high.pattern == 0 {
                    turned_terms.push((low, term.amplitude));
                }
                continue;
            }
            let factor = (!low.is_one()).then(|| {
                *factor_number.entry(low).or_insert_with(|| {
                    factors.push(low);
                    factors.len() as u32 - 1
                })
            });
            terms.push(Term { high, factor, amplitude: term.amplitude });
        }

        // Within the low part.
        let rows_by = |terms: &[(Factor, f64)]| -> Vec<Vec<(u32, f64)>> {
            let row = |place: usize| {
                let (class, low) = (class_of_low[place], tables.low_states[place]);
                if class == u32::MAX {
                    return Vec::new();
                }
                let to = terms.iter().filter_map(|(factor, amplitude)| {
                    let (word, minus) = factor.apply(low)?;
                    let (to, row) = row_of(class, word)?;
                    (to == class).then_some((row, if minus { -amplitude } else { *amplitude }))
                });
                merged(to.collect())
            };
            (0..tables.low_states.len()).into_par_iter().map(row).collect()
        };
        let (low_rows, turned_rows) = (rows_by(&low_terms), rows_by(&turned_terms));

        // The rows that factors lead to. A factor leads from one class to one class.
        let mut factor_row = Vec::new();
        let mut leads_to = Vec::new();
        let mut factor_signs = false;
        for factor in &factors {
            let mut to_class = vec![u32::MAX; classes.len()];
            for (place, low) in tables.low_states.iter().enumerate() {
                let class = class_of_low[place];
                let hint = to_class.get(class as usize).copied().filter(|hint| *hint != u32::MAX).unwrap_or(0);
                let found = factor.apply(*low).and_then(|(word, minus)| Some((row_of(hint, word)?, minus)));
                factor_row.push(match found {
                    Some(((to, row), minus)) if class != u32::MAX => {
                        if to_class[class as usize] == u32::MAX {
                            to_class[class as usize] = to;
                        } else if to_class[class as usize] != to {
                            return None;
                        }
                        factor_signs |= minus;
                        u64::from(row) | u64::from(minus) << 63
                    }
                    _ => u64::MAX >> 1,
                });
            }
            leads_to.push(to_class);
        }

        // What each column takes from others.
        let of_column = |column: usize| {
            let (part, class) = (&tables.parts[column], class_of[column]);
            let (mut whole, mut cross) = (Vec::new(), BTreeMap::<(u64, u32), f64>::new());
            for term in &terms {
                let Some((high, minus)) = term.high.apply(part.high) else { continue };
                let Some(from) = direct.high_offset.get(high as usize).copied().filter(|from| *from != u64::MAX) else {
                    continue;
                };
                let Ok(source) = tables.parts.binary_search_by_key(&from, |part| part.start) else { continue };
                let amplitude = if minus { -term.amplitude } else { term.amplitude };
                match term.factor {
                    None if class_of[source] == class => whole.push((from, amplitude)),
                    Some(factor) if leads_to[factor as usize][class as usize] == class_of[source] => {
                        *cross.entry((from, factor)).or_insert(0.0) += amplitude;
                    }
                    _ => {}
                }
            }
            let cross: Vec<(u64, u32, f64)> =
                cross.into_iter().filter(|(_, a)| *a != 0.0).map(|((from, factor), a)| (from, factor, a)).collect();
            (merged(whole), cross)
        };
        type OfColumn = (Vec<(u64, f64)>, Vec<(u64, u32, f64)>);
        let columns_lists: Vec<OfColumn> = (0..tables.parts.len()).into_par_iter().map(of_column).collect();

        let amplitudes_of =
            |rows: &[Vec<(u32, f64)>]| Numbered::of(rows.iter().flatten().map(|(_, amplitude)| *amplitude));
        let (low_amplitudes, turned_amplitudes) = (amplitudes_of(&low_rows), amplitudes_of(&turned_rows));
        let whole_amplitudes =
            Numbered::of(columns_lists.iter().flat_map(|(whole, _)| whole).map(|(_, amplitude)| *amplitude));
        let cross_amplitudes =
            Numbered::of(columns_lists.iter().flat_map(|(_, cross)| cross).map(|(.., amplitude)| *amplitude));
        let longest = classes.iter().map(|(_, count)| *count).max().unwrap_or(0);
        let place_bits = u64::BITS - (longest + UP_ZEROS - 1).leading_zeros();
        let (mut low, mut turned) = (low_amplitudes.list(place_bits), turned_amplitudes.list(place_bits));
        let bits_of_x = u64::BITS - tables.dimension().leading_zeros();
        let (mut whole, mut cross) = (whole_amplitudes.list(bits_of_x), cross_amplitudes.list(bits_of_x));
        if [&whole, &cross].iter().any(|list| list.index_bits + list.amplitudes.bits() > u64::BITS) {
            return None;
        }

        // Slices of each class.
        let (mut first_slice, mut tasks) = (Vec::new(), Vec::new());
        for (class, (_, count)) in classes.iter().enumerate() {
            first_slice.push(tasks.len() as u32);
            tasks.extend((0..*count as usize).step_by(LANES).map(|first| (class, first)));
        }
        let sliced = |elements: &[Vec<(u32, f64)>], numbered: &Numbered, shift: u32| -> Slices {
            let slice = |(class, first): &(usize, usize)| {
                let (start, count) = classes[*class];
                let row = |row: usize| -> Vec<(u32, u32)> {
                    let own = elements[start as usize..][..count as usize].get(row).map_or(&[][..], Vec::as_slice);
                    own.iter().map(|(to, amplitude)| (*to, numbered.number(*amplitude))).collect()
                };
                let rows: Vec<Vec<(u32, u32)>> = (*first..first + LANES).map(row).collect();
                packed_slice(&rows, count as usize, shift)
            };
            let packed: Vec<Vec<u64>> = tasks.par_iter().map(slice).collect();
            let mut slices = Slices { start: vec![0], words: Vec::new() };
            for slice in packed {
                slices.words.extend(slice);
                slices.start.push((slices.words.len() / (4 * LANES)) as u32);
            }
            slices
        };
        let low_slices = sliced(&low_rows, &low_amplitudes, low.number_shift());
        let turned_slices = sliced(&turned_rows, &turned_amplitudes, turned.number_shift());

        let (mut whole_list, mut cross_list) = (StartedList::new(), StartedList::new());
        let mut cross_factor = Vec::new();
        let (whole_shift, cross_shift) = (whole.number_shift(), cross.number_shift());
        for (of_whole, of_cross) in &columns_lists {
            let word =
                |(from, amplitude): &(u64, f64)| from | u64::from(whole_amplitudes.number(*amplitude)) << whole_shift;
            whole_list.push(of_whole.iter().map(word));
            let word = |(from, _, amplitude): &(u64, u32, f64)| {
                from | u64::from(cross_amplitudes.number(*amplitude)) << cross_shift
            };
            cross_list.push(of_cross.iter().map(word));
            cross_factor.extend(of_cross.iter().map(|(_, factor, _)| *factor));
        }
        (low.words, turned.words) = (low_slices.words.len() as u64, turned_slices.words.len() as u64);
        (whole.words, cross.words) = (whole_list.words.len() as u64, cross_list.words.len() as u64);
        let factor_word = IndexWord::of(place_bits + 1);
        let sizes = ColumnLists {
            classes: columns,
            complex: turn != 0,
            longest,
            slices: tasks.len() as u64,
            low,
            turned,
            whole,
            cross,
            factors: factors.len() as u64,
            factor_word,
            factor_signs,
        };
        Some(ListTables {
            sizes,
            class_of,
            first_slice,
            low: low_slices,
            turned: turned_slices,
            whole: whole_list,
            cross: cross_list,
            cross_factor,
            factor_row: factor_row.into_iter().map(|row| narrowed(row, factor_word)).collect(),
            tables,
        })
    }

    /// The columns of each task, [`u32::MAX`] where it has fewer: neighbouring columns of one class together.
    pub fn task_columns(&self, columns: u32) -> Vec<u32> {
        let (columns, together) = (columns as usize, self.sizes.together() as usize);
        let own = self.class_of.len() / together;
        let mut of_class: BTreeMap<u32, Vec<Vec<u32>>> = BTreeMap::new();
        for (column, class) in self.class_of[..own].iter().enumerate() {
            let pair = (0..together).map(|part| (column + part * own) as u32).collect();
            of_class.entry(*class).or_default().push(pair);
        }
        let mut tasks: Vec<(u64, u32, Vec<u32>)> = Vec::new();
        for (class, list) in of_class {
            tasks.extend(list.chunks(columns / together).map(|task| {
                let mut task = task.concat();
                let near = self.tables.parts[task[0] as usize].high / NEIGHBOURS;
                task.resize(columns, u32::MAX);
                (near, class, task)
            }));
        }
        tasks.sort();
        tasks.into_iter().flat_map(|(.., task)| task).collect()
    }

    /// Of each column: the first slice of its class.
    pub fn part_slice(&self) -> Vec<u32> {
        self.class_of.iter().map(|class| self.first_slice[*class as usize]).collect()
    }
}

impl StartedList {
    fn new() -> StartedList {
        StartedList { start: vec![0], words: Vec::new() }
    }

    fn push(&mut self, words: impl Iterator<Item = u64>) {
        self.words.extend(words);
        self.start.push(self.words.len() as u32);
    }
}

/// Distinct amplitudes and their numbers.
struct Numbered {
    amplitudes: Amplitudes,
    numbers: HashMap<u64, u32>,
}

impl Numbered {
    fn of(values: impl Iterator<Item = f64>) -> Numbered {
        let distinct: BTreeSet<u64> = values.map(f64::to_bits).collect();
        let amplitudes = Amplitudes::of(distinct.into_iter().map(f64::from_bits).collect());
        let numbers = (0..).zip(amplitudes.values()).map(|(number, value)| (value.to_bits(), number)).collect();
        Numbered { amplitudes, numbers }
    }

    fn number(&self, value: f64) -> u32 {
        self.numbers[&value.to_bits()]
    }

    /// A list of places of this many bits, empty yet.
    fn list(&self, index_bits: u32) -> ElementList {
        let word = IndexWord::of(index_bits + self.amplitudes.bits());
        ElementList { words: 0, index_bits, word, amplitudes: self.amplitudes.clone() }
    }
}

/// Elements at the same place are one; those that cancel are none.
fn merged<T: Ord + Copy>(mut elements: Vec<(T, f64)>) -> Vec<(T, f64)> {
    elements.sort_by_key(|(place, _)| *place);
    elements.dedup_by(|later, first| {
        let same = later.0 == first.0;
        if same {
            first.1 += later.1;
        }
        same
    });
    elements.retain(|(_, amplitude)| *amplitude != 0.0);
    elements
}

/// A row with its sign in the top bit of a narrower word.
fn narrowed(row: u64, word: IndexWord) -> u64 {
    let bits = 8 * word.bytes() as u32;
    let mask = (1u64 << (bits - 1)) - 1;
    (row & mask) | (row >> 63) << (bits - 1)
}
