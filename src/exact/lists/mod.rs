//! The elements of H by columns, for blocks that hold columns in shared memory ([`eigenforge_templates::exact::ColumnLists`]).
//!
//! In: terms by the bits they flip, and Lin's tables. Out: lists in the words of the kernel.
//!
//! | file | question it answers |
//! |---|---|
//! | `columns` | where is the state word cut, and which columns have the same low parts? |
//! | `terms` | what does each term do to both parts, and which elements does that give? |
//! | `packed` | how do elements stand in memory? |

mod columns;
mod packed;
mod terms;

use columns::Columns;
pub(super) use columns::cut_for_blocks;
use packed::{Numbered, Slices, StartedList, narrowed, of_classes};
use terms::{ColumnElements, Terms};

use crate::basis::LinTables;
use eigenforge_templates::Warp;
use eigenforge_templates::exact::{ColumnLists, FlipGroup, IndexWord, UP_ZEROS};
use std::collections::BTreeMap;

/// Columns with neighbouring high parts, whose blocks run at about the same time.
const NEIGHBOURS: u64 = 1 << 8;

/// The mark of a column in a task whose first whole column is the other one of its pair.
const BESIDE: u32 = 1 << 31;

/// The tasks of blocks.
pub struct Tasks {
    /// The columns of each task, [`u32::MAX`] where it has fewer: neighbouring columns of one class together, and pairs of
    /// which each takes the other; of complex vectors those of the real parts.
    pub columns: Vec<u32>,
    /// The list of whole columns, those of pairs at the front.
    pub whole: Vec<u64>,
}

/// The lists of a model.
#[derive(Clone, Debug)]
pub struct ListTables {
    /// Lin's tables, cut for them.
    pub tables: LinTables,
    /// What the plan knows of them.
    pub sizes: ColumnLists,
    /// Of each column, or pair of them: its class.
    class_of: Vec<u32>,
    /// Of each class: its first slice.
    first_slice: Vec<u32>,
    /// Elements within the low part.
    pub(super) low: Slices,
    /// Whole columns.
    pub(super) whole: StartedList,
    /// Elements across.
    pub(super) cross: StartedList,
    /// The factor of each element across.
    pub(super) cross_factor: Vec<u32>,
    /// For each factor and low part the row it leads to, with the sign in the top bit.
    pub(super) factor_row: Vec<u64>,
}

impl ListTables {
    /// The lists of terms; `None` where columns do not serve. `turn` is the bit of the state that tells imaginary from real parts.
    pub fn new(groups: &[FlipGroup], tables: &LinTables, turn: Option<u32>, warp: Warp) -> Option<ListTables> {
        let tables = cut_for_blocks(tables, turn.is_some())?;
        let columns = Columns::new(&tables, turn)?;
        let terms = Terms::of(groups, &columns);
        let low_rows = terms.low_rows(&columns);
        let factors = terms.factor_rows(&columns)?;
        let elements = terms.columns(&columns, &factors);

        let numbered = [
            Numbered::of(low_rows.iter().flatten().map(|(_, amplitude)| *amplitude)),
            Numbered::of(elements.iter().flat_map(|own| &own.whole).map(|(_, amplitude)| *amplitude)),
            Numbered::of(elements.iter().flat_map(|own| &own.cross).map(|(.., amplitude)| *amplitude)),
        ];
        let row_bits = u64::BITS - (columns.longest() + UP_ZEROS - 1).leading_zeros();
        let place_bits = u64::BITS - tables.dimension().leading_zeros();
        let mut low = numbered[0].list(row_bits)?;
        let (mut whole, mut cross) = (numbered[1].list(place_bits)?, numbered[2].list(place_bits)?);

        let of_low = Slices::new(&low_rows, &numbered[0], &mut low, &columns, warp);
        let of_whole = StartedList::new(&elements, |own| own.whole.clone(), &numbered[1], &mut whole)?;
        let across = |own: &ColumnElements| own.cross.iter().map(|(from, _, amplitude)| (*from, *amplitude)).collect();
        let of_cross = StartedList::new(&elements, across, &numbered[2], &mut cross)?;
        let cross_factor = elements.iter().flat_map(|own| own.cross.iter().map(|(_, factor, _)| *factor)).collect();

        let slices = of_classes(&columns, warp);
        let first_slice =
            (0..columns.classes.len() as u32).map(|class| slices.partition_point(|(own, _)| *own < class) as u32);
        let factor_word = IndexWord::of(row_bits + 1);
        let sizes = ColumnLists {
            classes: columns.counts(),
            complex: columns.turn != 0,
            longest: columns.longest(),
            slices: slices.len() as u64,
            low,
            whole,
            cross,
            factors: terms.factors.len() as u64,
            factor_word,
            factor_signs: factors.signs,
        };
        Some(ListTables {
            sizes,
            first_slice: first_slice.collect(),
            low: of_low,
            whole: of_whole,
            cross: of_cross,
            cross_factor,
            factor_row: factors.rows.iter().map(|row| narrowed(*row, factor_word)).collect(),
            class_of: columns.class_of,
            tables,
        })
    }

    /// What blocks take that hold `columns` columns of real numbers.
    pub fn tasks(&self, columns: u32) -> Tasks {
        let taken = self.sizes.taken(columns) as usize;
        let mut of_class: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (column, class) in self.class_of.iter().enumerate() {
            of_class.entry(*class).or_default().push(column as u32);
        }
        let mut whole = self.whole.words.clone();
        let beside = if self.sizes.has_pairs(columns) { self.beside(&mut whole) } else { Vec::new() };
        let mut tasks: Vec<(u64, u32, Vec<u32>)> = Vec::new();
        for (class, mut list) in of_class {
            if !beside.is_empty() {
                // Pairs, by the first of the two, then columns without a second.
                let of = |column: u32| beside[column as usize].map_or(column, |other| other.min(column));
                list.sort_by_key(|column| (beside[*column as usize].is_none(), of(*column), *column));
            }
            tasks.extend(list.chunks(taken).map(|task| {
                let near = self.tables.parts[task[0] as usize].high / NEIGHBOURS;
                let mark = |column: &u32| match beside.get(*column as usize) {
                    Some(Some(_)) => *column | BESIDE,
                    _ => *column,
                };
                let mut task: Vec<u32> = task.iter().map(mark).collect();
                task.resize(taken, u32::MAX);
                (near, class, task)
            }));
        }
        tasks.sort_by_key(|(near, class, task)| (*near, *class, task[0] & !BESIDE));
        Tasks { columns: tasks.into_iter().flat_map(|(.., task)| task).collect(), whole }
    }

    /// For each column another that takes it whole, as near as there is one left; its element is moved to the front.
    fn beside(&self, whole: &mut [u64]) -> Vec<Option<u32>> {
        let place = |word: u64| word & ((1 << self.sizes.whole.index_bits) - 1);
        let mut found: Vec<Option<u32>> = vec![None; self.class_of.len()];
        for column in 0..found.len() {
            let own = self.whole.start[column] as usize..self.whole.start[column + 1] as usize;
            let others = self.whole.words[own]
                .iter()
                .filter_map(|word| self.tables.parts.binary_search_by_key(&place(*word), |part| part.start).ok());
            let nearest = others.filter(|other| *other > column && found[*other].is_none()).min();
            if let Some(other) = nearest.filter(|_| found[column].is_none()) {
                (found[column], found[other]) = (Some(other as u32), Some(column as u32));
            }
        }
        for (column, other) in found.iter().enumerate() {
            let own = &mut whole[self.whole.start[column] as usize..self.whole.start[column + 1] as usize];
            let start = other.map(|other| self.tables.parts[other as usize].start);
            if let Some(at) = own.iter().position(|word| Some(place(*word)) == start) {
                own.swap(0, at);
            }
        }
        found
    }

    /// Of each column: the first slice of its class.
    pub fn part_slice(&self) -> Vec<u32> {
        self.class_of.iter().map(|class| self.first_slice[*class as usize]).collect()
    }
}
