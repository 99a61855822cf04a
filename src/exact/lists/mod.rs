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
    pub(super) low: Slices,
    /// Those between real and imaginary parts.
    pub(super) turned: Slices,
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
        let (low_rows, turned_rows) = (Terms::rows(&terms.low, &columns), Terms::rows(&terms.turned, &columns));
        let factors = terms.factor_rows(&columns)?;
        let elements = terms.columns(&columns, &factors);

        let amplitudes =
            |rows: &[Vec<(u32, f64)>]| Numbered::of(rows.iter().flatten().map(|(_, amplitude)| *amplitude));
        let numbered = [
            amplitudes(&low_rows),
            amplitudes(&turned_rows),
            Numbered::of(elements.iter().flat_map(|own| &own.whole).map(|(_, amplitude)| *amplitude)),
            Numbered::of(elements.iter().flat_map(|own| &own.cross).map(|(.., amplitude)| *amplitude)),
        ];
        let row_bits = u64::BITS - (columns.longest() + UP_ZEROS - 1).leading_zeros();
        let place_bits = u64::BITS - tables.dimension().leading_zeros();
        let (mut low, mut turned) = (numbered[0].list(row_bits)?, numbered[1].list(row_bits)?);
        let (mut whole, mut cross) = (numbered[2].list(place_bits)?, numbered[3].list(place_bits)?);

        let of_low = Slices::new(&low_rows, &numbered[0], &mut low, &columns, warp);
        let of_turned = Slices::new(&turned_rows, &numbered[1], &mut turned, &columns, warp);
        let of_whole = StartedList::new(&elements, |own| own.whole.clone(), &numbered[2], &mut whole)?;
        let across = |own: &ColumnElements| own.cross.iter().map(|(from, _, amplitude)| (*from, *amplitude)).collect();
        let of_cross = StartedList::new(&elements, across, &numbered[3], &mut cross)?;
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
            turned,
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
            turned: of_turned,
            whole: of_whole,
            cross: of_cross,
            cross_factor,
            factor_row: factors.rows.iter().map(|row| narrowed(*row, factor_word)).collect(),
            class_of: columns.class_of,
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
