//! The elements of H by columns, for blocks that hold columns in shared memory ([`eigenforge_templates::exact::ColumnLists`]).
//!
//! In: terms by the bits they flip, and Lin's tables. Out: lists in the words of the kernel.
//!
//! | file | question it answers |
//! |---|---|
//! | `columns` | where is the state word cut, and which columns have the same low parts? |
//! | `terms` | what does each term do to both parts, and which elements does that give? |
//! | `packed` | how do elements stand in memory? |

pub(crate) mod columns;
mod packed;
mod terms;

use columns::{Columns, cut_for_blocks, cut_to_room};
use packed::{Numbered, Slices, StartedList, narrowed, of_classes};
use terms::{ColumnElements, Terms};

use eigenforge_core::basis::LinTables;
use eigenforge_templates::Warp;
use eigenforge_templates::exact::{ColumnLists, FlipGroup, IndexWord, UP_ZEROS};
use std::collections::BTreeMap;

/// The lists of a model.
#[derive(Clone, Debug)]
pub(super) struct ListTables {
    /// Lin's tables, cut for them.
    pub tables: LinTables,
    /// What the plan knows of them.
    pub sizes: ColumnLists,
    /// The bit of a state that tells imaginary from real parts.
    turn: Option<u32>,
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
    pub(super) fn new(groups: &[FlipGroup], tables: &LinTables, turn: Option<u32>, warp: Warp) -> Option<ListTables> {
        ListTables::cut(groups, cut_for_blocks(tables, turn.is_some())?, turn, warp)
    }

    /// The same with a smaller low part, whose columns have `rows` rows at most; `None` where they have, or columns do not serve.
    pub(super) fn cut_to_rows(&self, groups: &[FlipGroup], rows: u64, warp: Warp) -> Option<ListTables> {
        let tables = cut_to_room(&self.tables, self.turn.is_some(), rows)?;
        (tables.low_bits < self.tables.low_bits).then(|| ListTables::cut(groups, tables, self.turn, warp))?
    }

    /// The lists of terms with a given cut of the states.
    fn cut(groups: &[FlipGroup], tables: LinTables, turn: Option<u32>, warp: Warp) -> Option<ListTables> {
        let columns = Columns::new(&tables, turn)?;
        let terms = Terms::new(groups, &columns);
        let low_rows = terms.low_rows(&columns);
        let factors = terms.factor_rows(&columns)?;
        let elements = terms.columns(&columns, &factors);

        let numbered = [
            Numbered::new(low_rows.iter().flatten().map(|(_, amplitude)| *amplitude)),
            Numbered::new(elements.iter().flat_map(|own| &own.whole).map(|(_, amplitude)| *amplitude)),
            Numbered::new(elements.iter().flat_map(|own| &own.cross).map(|(.., amplitude)| *amplitude)),
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
        let factor_word = IndexWord::narrowest(row_bits + 1);
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
            turn,
            class_of: columns.class_of,
            tables,
        })
    }

    /// The columns of each task, [`u32::MAX`] where it has fewer, in the order of their first columns: neighbouring columns of one class
    /// together; of complex vectors those of the real parts.
    pub(super) fn task_columns(&self, columns: u32) -> Vec<u32> {
        let taken = self.sizes.taken(columns) as usize;
        let mut of_class: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (column, class) in self.class_of.iter().enumerate() {
            of_class.entry(*class).or_default().push(column as u32);
        }
        let mut tasks: Vec<Vec<u32>> =
            of_class.values().flat_map(|list| list.chunks(taken).map(<[u32]>::to_vec)).collect();
        tasks.sort_unstable();
        tasks.iter_mut().for_each(|task| task.resize(taken, u32::MAX));
        tasks.concat()
    }

    /// Of each column: the first slice of its class.
    pub(super) fn part_slice(&self) -> Vec<u32> {
        self.class_of.iter().map(|class| self.first_slice[*class as usize]).collect()
    }
}
