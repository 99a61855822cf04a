//! A matrix in the parts of a [`Layout`]: the tables that a generated multiply reads, and its plan.
//!
//! In: compressed rows and a layout. Out: [`Stored`]. Elements of a slice are stored step by step, 32 lanes of a pack per
//! step; the rest of a step holds zeros at the row's last column, so that it reads nothing new of x: an infinite or
//! undefined x reaches only rows that have a non-zero there. A row without non-zeros in a slice is marked in its slot,
//! and its sum is left out; ELLPACK with such rows is stored as sliced ELLPACK. All parts are filled in parallel, slice
//! by slice.

use super::dictionary::Dictionary;
use super::halo::Halo;
use super::layout::{Layout, PartLayout, StorageKind};
use super::{Csr, CsrError};
use eigenforge_templates::exact::IndexWord;
use eigenforge_templates::sparse::{ColumnWord, NumberKind, PartPlan, RowStorage, SparsePlan, SparsePlanError};
use eigenforge_templates::{ScalarType, Warp};
use rayon::prelude::*;

/// Marks a slot without a row, past the last row of a block.
const NO_ROW: u16 = u16::MAX;
/// Most lanes of a row: those of the widest warp.
const MOST_LANES: usize = Warp::NVIDIA.lanes() as usize;
/// Flag added to the number of a row that has nothing in its part.
const EMPTY: u16 = 1 << 15;

/// Values of a part in the type that the kernels read.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Double precision.
    F64(Vec<f64>),
    /// Single precision.
    F32(Vec<f32>),
}

/// Column words of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Columns {
    /// Absolute or steps of 16 bits.
    U16(Vec<u16>),
    /// Absolute, 32 bits, or such with codes.
    U32(Vec<u32>),
}

/// The tables of one part.
#[derive(Clone, Debug, PartialEq)]
pub struct PartTables {
    /// Values, padding included: the parts of each number side by side; of quaternions in double precision the first halves of all before
    /// the second. None where columns have codes.
    pub values: Values,
    /// Columns.
    pub columns: Columns,
    /// First column of each lane, where columns are steps.
    pub base: Vec<u32>,
    /// Packs before each row (CSR) or steps before each slice (sliced ELLPACK).
    pub start: Vec<u64>,
    /// Row of its block at each slot (sliced ELLPACK).
    pub order: Vec<u16>,
}

/// A matrix as read by its kernels.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// The plan.
    pub plan: SparsePlan,
    /// First row of each block, and the number of rows.
    pub block_start: Vec<u32>,
    /// Tables of each part.
    pub parts: Vec<PartTables>,
    /// The distinct values, where columns have codes.
    pub dictionary: Option<Values>,
    /// How the cards of a device get x, where it is spread over several.
    pub halo: Option<Box<Halo>>,
}

/// Allowed relative difference between A(i, j) and A(j, i) for storing half of a matrix.
pub const SYMMETRY: f64 = 1e-12;

/// Why a layout does not fit a matrix.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LayoutError {
    /// Half of a matrix that is not symmetric.
    #[error("format \"symmetric\" keeps the upper triangle of a symmetric matrix: {0}; take another format")]
    Asymmetric(CsrError),
    /// Half of a matrix of other than real numbers.
    #[error("format \"symmetric\" keeps half of a real matrix, and this one has {0} numbers; take another format")]
    HalfOfNumbers(NumberKind),
    /// Codes for more values than there are codes.
    #[error(
        "the matrix has more distinct values, those of the diagonal counted, than there are codes beside columns in 32 bits: 1,024 at \
         most; store the values (storage = \"stored\" in a model file)"
    )]
    ManyValues,
    /// The plan contradicts itself.
    #[error(transparent)]
    Plan(#[from] SparsePlanError),
    /// A column too far from its reference.
    #[error(
        "row {row}: column {column} does not fit 16 bits, counted from {from}; take 32-bit columns for this part of the \
         rows"
    )]
    Column {
        /// Row.
        row: usize,
        /// Its column.
        column: u32,
        /// The reference: the part's first column, or the previous column.
        from: u32,
    },
    /// A column outside of the window of x in shared memory.
    #[error(
        "row {row}: column {column} is outside the window {first}..{end} of x that its part keeps in shared memory"
    )]
    Window {
        /// Row.
        row: usize,
        /// Its column.
        column: u32,
        /// First column of the window.
        first: u32,
        /// Its end.
        end: u64,
    },
}

impl Stored {
    /// Stores a matrix. `scalar` is the number type of the vectors, `values` that of the stored values.
    ///
    /// # Errors
    /// A layout that is inconsistent or does not fit this matrix.
    pub fn new(
        name: &str,
        matrix: &Csr,
        layout: &Layout,
        scalar: ScalarType,
        values: ScalarType,
    ) -> Result<Stored, LayoutError> {
        let upper = if layout.is_half() {
            if !matrix.kind().is_real() {
                return Err(LayoutError::HalfOfNumbers(matrix.kind()));
            }
            matrix.check_symmetric(SYMMETRY).map_err(LayoutError::Asymmetric)?;
            Some(matrix.upper_triangle())
        } else {
            None
        };
        let matrix = upper.as_ref().unwrap_or(matrix);
        let block_start = layout.block_start(matrix);
        let most = block_start.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
        let blocks = block_start.len() as u32 - 1;
        // The name goes into comments and file names.
        let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let coded = layout.parts.iter().any(|part| part.columns == ColumnWord::Coded32);
        let dictionary = coded.then(|| Dictionary::new(matrix).ok_or(LayoutError::ManyValues)).transpose()?;
        let fill = |number: usize| {
            let (part, block_start, dictionary) = (layout.parts[number], &block_start, dictionary.as_ref());
            Filling { matrix, layout, number, part, block_start, dictionary }.part(values)
        };
        let filled: Vec<(PartPlan, PartTables)> = (0..layout.parts.len()).map(fill).collect::<Result<_, _>>()?;
        let (parts, tables): (Vec<PartPlan>, Vec<PartTables>) = filled.into_iter().unzip();
        let largest = tables.iter().filter_map(|table| table.start.last().copied()).max().unwrap_or(0);
        let plan = SparsePlan {
            name,
            scalar,
            warp: layout.warp,
            values,
            numbers: matrix.kind(),
            dictionary: dictionary.as_ref().map(Dictionary::plan),
            rows: matrix.rows() as u64,
            vectors: 1,
            threads: layout.threads,
            blocks,
            block_rows: most.next_multiple_of(layout.warp.lanes()).max(layout.warp.lanes()),
            starts: start_word(largest),
            parts,
            halo: None,
        };
        let dictionary = dictionary.map(|dictionary| Values::new(dictionary.values, values));
        Ok(Stored { plan: plan.checked()?, block_start, parts: tables, dictionary, halo: None })
    }

    /// Stores a matrix for several cards that work as one device: each collects the elements of x that its rows use. As for one where
    /// there are fewer blocks than cards, or half of the matrix is stored.
    ///
    /// # Errors
    /// As of [`Stored::new`].
    pub fn on_cards(
        name: &str,
        matrix: &Csr,
        layout: &Layout,
        scalar: ScalarType,
        values: ScalarType,
        cards: u32,
    ) -> Result<Stored, LayoutError> {
        let halo = match layout.is_half() {
            true => None,
            false => Halo::new(matrix, &layout.block_start(matrix), cards, scalar),
        };
        let Some(halo) = halo else { return Stored::new(name, matrix, layout, scalar, values) };
        let renumbered = halo.renumbered(matrix);
        let (stored, halo) = match Stored::new(name, renumbered.as_ref().unwrap_or(matrix), layout, scalar, values) {
            // Columns that are counted otherwise may be in other windows than the layout has.
            Err(LayoutError::Column { .. } | LayoutError::Window { .. }) => {
                (Stored::new(name, matrix, layout, scalar, values)?, halo.with_copies(matrix))
            }
            stored => (stored?, halo),
        };
        let end = |part: &PartPlan| u64::from(part.first_column) + u64::from(part.staged);
        let windows = stored.plan.parts.iter().map(end).max().unwrap_or(0);
        let plan = SparsePlan { halo: Some(halo.plan(windows)), ..stored.plan };
        Ok(Stored { plan: plan.checked()?, halo: Some(Box::new(halo)), ..stored })
    }
}

impl Values {
    /// Values in the type that is asked for.
    fn new(values: Vec<f64>, scalar: ScalarType) -> Values {
        match scalar {
            ScalarType::F64 => Values::F64(values),
            ScalarType::F32 => Values::F32(values.par_iter().map(|value| *value as f32).collect()),
        }
    }
}

/// Quaternions with the first halves of all before the second halves, so that a warp reads each in one piece.
fn in_halves(values: &[f64]) -> Vec<f64> {
    let half = |from: usize| values.par_chunks_exact(4).flat_map_iter(move |number| [number[from], number[from + 1]]);
    half(0).chain(half(2)).collect()
}

/// The type that holds every start up to `largest`, including what a loop adds before it detects the end.
pub fn start_word(largest: u64) -> IndexWord {
    if largest <= u64::from(u32::MAX) - 4096 { IndexWord::U32 } else { IndexWord::U64 }
}

/// One part being filled.
struct Filling<'a> {
    matrix: &'a Csr,
    layout: &'a Layout,
    number: usize,
    /// Its layout.
    part: PartLayout,
    block_start: &'a [u32],
    /// The codes of values, if a part has them.
    dictionary: Option<&'a Dictionary>,
}

/// The part of the tables for some rows.
struct Share<'a> {
    values: &'a mut [f64],
    columns: &'a mut [u32],
    base: &'a mut [u32],
}

impl Filling<'_> {
    fn part(&self, values: ScalarType) -> Result<(PartPlan, PartTables), LayoutError> {
        let warp = self.layout.warp.lanes() as usize;
        let (rows, slots) = (self.matrix.rows(), self.matrix.rows().next_multiple_of(warp));
        let lengths: Vec<u32> = (0..rows).into_par_iter().map(|row| self.row(row).0.len() as u32).collect();
        let mut part = self.part;
        if part.storage == StorageKind::Ell && lengths.contains(&0) && lengths.iter().any(|length| *length > 0) {
            part.storage = StorageKind::SlicedEll;
        }
        let part = &part;
        let filling = Filling { part: *part, ..*self };
        let wide = part.lanes * part.pack;
        let order = if part.storage == StorageKind::SlicedEll { self.order(&lengths) } else { vec![] };
        // Units of rows that are filled together: a slice, or a warp of rows of CSR; and the packs before each.
        let by_rows = matches!(part.storage, StorageKind::Csr | StorageKind::UpperCsr);
        let unit_rows = if by_rows { warp } else { warp / part.lanes as usize };
        let longest = lengths.par_iter().copied().max().unwrap_or(0);
        let unit_packs = |unit: usize| -> u64 {
            let slots = unit * unit_rows..((unit + 1) * unit_rows);
            let length = |slot: usize| self.row_at(&order, slot).map_or(0, |row| lengths[row]);
            match part.storage {
                StorageKind::Csr | StorageKind::UpperCsr => {
                    slots.map(|slot| u64::from(length(slot).div_ceil(part.pack))).sum()
                }
                StorageKind::Ell => warp as u64 * u64::from(longest.div_ceil(wide)),
                StorageKind::SlicedEll => warp as u64 * u64::from(slots.map(length).max().unwrap_or(0).div_ceil(wide)),
            }
        };
        let packs: Vec<u64> = (0..slots / unit_rows).into_par_iter().map(unit_packs).collect();
        let total: u64 = packs.iter().sum();
        let stored = (total * u64::from(part.pack)) as usize;
        let bases = if part.columns == ColumnWord::Delta16 { slots * part.lanes as usize } else { 0 };
        let numbers = if part.columns == ColumnWord::Coded32 { 0 } else { stored * self.matrix.parts() };
        let (mut all_values, mut all_columns, mut base) = (vec![0.0; numbers], vec![0u32; stored], vec![0u32; bases]);
        let unit = (unit_rows, if numbers == 0 { 0 } else { self.matrix.parts() });
        let shares = shares(&packs, part, unit, (&mut all_values, &mut all_columns, &mut base));
        shares
            .into_par_iter()
            .enumerate()
            .try_for_each(|(unit, share)| filling.fill(&order, unit * unit_rows, share))?;

        let starts_of = |counts: &mut dyn Iterator<Item = u64>| {
            let mut start = vec![0u64];
            counts.for_each(|count| start.push(start[start.len() - 1] + count));
            start
        };
        let start = match part.storage {
            StorageKind::Ell => vec![],
            StorageKind::SlicedEll => starts_of(&mut packs.iter().map(|packs| packs / warp as u64)),
            StorageKind::Csr | StorageKind::UpperCsr => {
                starts_of(&mut lengths.iter().map(|length| u64::from(length.div_ceil(part.pack))))
            }
        };
        let plan = PartPlan {
            storage: match part.storage {
                StorageKind::Ell => RowStorage::Ell { steps: longest.div_ceil(wide) },
                StorageKind::SlicedEll => RowStorage::SlicedEll,
                StorageKind::Csr => RowStorage::Csr,
                StorageKind::UpperCsr => RowStorage::UpperCsr,
            },
            columns: part.columns,
            lanes: part.lanes,
            pack: part.pack,
            first_column: part.first_column,
            staged: part.staged,
            shared_by_pairs: part.shared_by_pairs,
            packs: total,
            non_zeros: lengths.iter().map(|length| u64::from(*length)).sum(),
        };
        if self.matrix.kind() == NumberKind::Quaternion && values == ScalarType::F64 {
            all_values = in_halves(&all_values);
        }
        let values = Values::new(all_values, values);
        let columns = match part.columns {
            ColumnWord::Absolute32 | ColumnWord::Coded32 => Columns::U32(all_columns),
            _ => Columns::U16(all_columns.par_iter().map(|column| *column as u16).collect()),
        };
        Ok((plan, PartTables { values, columns, base, start, order }))
    }

    /// Columns and values of a row in this part.
    fn row(&self, row: usize) -> (&[u32], &[f64]) {
        let ((columns, values), parts) = (self.matrix.row(row), self.matrix.parts());
        let range = self.layout.range(columns, self.number);
        (&columns[range.clone()], &values[range.start * parts..range.end * parts])
    }

    /// The row at a slot, if there is one.
    fn row_at(&self, order: &[u16], slot: usize) -> Option<usize> {
        if order.is_empty() {
            return (slot < self.matrix.rows()).then_some(slot);
        }
        let block = self.block_start.partition_point(|start| *start as usize <= slot) - 1;
        (order[slot] != NO_ROW).then(|| self.block_start[block] as usize + (order[slot] & !EMPTY) as usize)
    }

    /// The rows of each block, the longest first; equal ones in their original order.
    fn order(&self, lengths: &[u32]) -> Vec<u16> {
        let mut order = vec![NO_ROW; self.matrix.rows().next_multiple_of(self.layout.warp.lanes() as usize)];
        for pair in self.block_start.windows(2) {
            let (first, end) = (pair[0] as usize, pair[1] as usize);
            let mut rows: Vec<u16> = (0..(end - first) as u16).collect();
            rows.sort_by_key(|row| std::cmp::Reverse(lengths[first + *row as usize]));
            rows.iter_mut().filter(|row| lengths[first + **row as usize] == 0).for_each(|row| *row |= EMPTY);
            order[first..end].copy_from_slice(&rows);
        }
        order
    }

    /// Fills the tables of a unit whose first slot is `slot`.
    fn fill(&self, order: &[u16], slot: usize, share: Share<'_>) -> Result<(), LayoutError> {
        let part = &self.part;
        let (lanes, pack, warp) = (part.lanes as usize, part.pack as usize, self.layout.warp.lanes() as usize);
        let parts = self.matrix.parts();
        if matches!(part.storage, StorageKind::Csr | StorageKind::UpperCsr) {
            let (mut at, mut base) = (0, share.base.chunks_mut(lanes));
            for row in slot..(slot + warp).min(self.matrix.rows()) {
                let stored = self.row(row).0.len().next_multiple_of(pack);
                let of_values = if share.values.is_empty() { 0..0 } else { at * parts..(at + stored) * parts };
                let (values, columns) = (&mut share.values[of_values], &mut share.columns[at..at + stored]);
                let place = |pack_number: usize| pack_number;
                let base = base.next().unwrap_or(&mut []);
                self.fill_row(row, (stored, row * lanes % warp), place, (values, columns, base))?;
                at += stored;
            }
            return Ok(());
        }
        let rows = warp / lanes;
        let stored = share.columns.len() / rows;
        let mut base = share.base.chunks_mut(lanes);
        for number in 0..rows {
            let Some(row) = self.row_at(order, slot + number) else {
                // Nothing is stored here: padding columns stay inside x, at the first of the part.
                base.next().into_iter().for_each(|base| base.fill(part.first_column));
                continue;
            };
            let place = |pack_number: usize| pack_number / lanes * warp + number * lanes + pack_number % lanes;
            let base = base.next().unwrap_or(&mut []);
            self.fill_row(row, (stored, number * lanes), place, (&mut *share.values, &mut *share.columns, base))?;
        }
        Ok(())
    }

    /// Writes `stored` elements of a row whose first lane is `first_lane` of its warp; pack k of the row goes to pack
    /// `place(k)` of the slices.
    fn fill_row(
        &self,
        row: usize,
        (stored, first_lane): (usize, usize),
        place: impl Fn(usize) -> usize,
        (values, columns, base): (&mut [f64], &mut [u32], &mut [u32]),
    ) -> Result<(), LayoutError> {
        let part = &self.part;
        let (pack, lanes, parts) = (part.pack as usize, part.lanes as usize, self.matrix.parts());
        let (row_columns, row_values) = self.row(row);
        let padding = row_columns.last().copied().unwrap_or(part.first_column);
        let turns = (part.residues > 1).then(|| in_turns(row_columns, part, first_lane));
        let source = |j: usize| turns.as_ref().map_or(j, |turns| turns.get(j).map_or(j, |from| *from as usize));
        base.fill(padding);
        let mut before: [Option<u32>; MOST_LANES] = [None; MOST_LANES];
        for j in 0..stored {
            let lane = j / pack % lanes;
            let stays = if part.columns == ColumnWord::Delta16 { before[lane].unwrap_or(padding) } else { padding };
            let column = row_columns.get(source(j)).copied().unwrap_or(stays);
            let to = place(j / pack) * pack + j % pack;
            let from = source(j) * parts;
            let number = row_values.get(from..from + parts).unwrap_or(&[]);
            if !values.is_empty() {
                values[to * parts..][..number.len()].copy_from_slice(number);
            }
            let from = match part.columns {
                ColumnWord::Delta16 => *before[lane].get_or_insert_with(|| {
                    base[lane] = column;
                    column
                }),
                _ => part.first_column,
            };
            before[lane] = Some(column);
            let end = u64::from(part.first_column) + u64::from(part.staged);
            if part.staged > 0 && (column < part.first_column || u64::from(column) >= end) {
                return Err(LayoutError::Window { row, column, first: part.first_column, end });
            }
            let narrow = matches!(part.columns, ColumnWord::Absolute16 | ColumnWord::Delta16);
            match column.checked_sub(from) {
                Some(word) if !narrow || word <= u32::from(u16::MAX) => {
                    columns[to] = match self.dictionary {
                        Some(dictionary) if part.columns == ColumnWord::Coded32 => dictionary.word(word, number),
                        _ => word,
                    }
                }
                _ => return Err(LayoutError::Column { row, column, from }),
            }
        }
        Ok(())
    }
}

/// An order of a row's non-zeros in which the lanes of a quarter-warp, which shared memory serves at once with 16 bytes
/// each, read columns of different remainders as far as possible.
///
/// Eight lanes read eight pieces of 16 bytes, and the banks are as wide as eight pieces. With P pairs of vectors a column
/// has P pieces, lane l reads piece l + s (mod P) at a time, and `residues` = 8 / P columns lie side by side in the
/// banks: lanes l and l + P need different remainders of the column by 8 / P.
fn in_turns(columns: &[u32], part: &PartLayout, first_lane: usize) -> Vec<u32> {
    let (residues, pack, lanes) = (part.residues as usize, part.pack as usize, part.lanes as usize);
    let pairs = (8 / residues).max(1);
    // A row of few lanes meets every remainder during its steps; one of many lanes at each step.
    let phases = (residues * pairs / lanes).max(1);
    let steps = columns.len().div_ceil(lanes * pack).max(1);
    let mut queues = vec![std::collections::VecDeque::new(); residues];
    for (at, column) in columns.iter().enumerate() {
        queues[(column - part.first_column) as usize % residues].push_back(at as u32);
    }
    let mut next = |j: usize| {
        let (lane, step) = (j / pack % lanes, j / pack / lanes);
        let wanted = ((first_lane + lane) / pairs + step * phases / steps) % residues;
        let fullest = (0..residues).max_by_key(|residue| queues[*residue].len()).unwrap_or(0);
        queues[wanted].pop_front().or_else(|| queues[fullest].pop_front()).unwrap_or(0)
    };
    (0..columns.len()).map(&mut next).collect()
}

/// Divides the tables among the units.
fn shares<'a>(
    packs: &[u64],
    part: &PartLayout,
    (unit_rows, parts): (usize, usize),
    (mut values, mut columns, mut base): (&'a mut [f64], &'a mut [u32], &'a mut [u32]),
) -> Vec<Share<'a>> {
    let bases = if base.is_empty() { 0 } else { unit_rows * part.lanes as usize };
    let mut cut = |packs: &u64| {
        let stored = (packs * u64::from(part.pack)) as usize;
        let (own_values, rest) = std::mem::take(&mut values).split_at_mut(stored * parts);
        values = rest;
        let (own_columns, rest) = std::mem::take(&mut columns).split_at_mut(stored);
        columns = rest;
        let (own_base, rest) = std::mem::take(&mut base).split_at_mut(bases);
        base = rest;
        Share { values: own_values, columns: own_columns, base: own_base }
    };
    packs.iter().map(&mut cut).collect()
}
