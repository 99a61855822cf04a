//! Rows on the cores of a matrix with few distinct values: 4 bytes an element, where column and value take 12.
//!
//! In: a number of rows, and what gives the elements of each. Out: slots of 32 bits, the column in the lowest bits and above it the code
//! of the value in a list. Diagonal elements, which often all differ, stand by themselves.
//!
//! Rows stand by slices of [`LANES`] rows, their slots of one number beside each other: a core adds up so many rows at once, and no sum
//! waits for another. The rows that one core takes at a time stand by length, the longest first, so that those of a slice are about as long
//! (M. Kreutzer, G. Hager, G. Wellein, H. Fehske and A. R. Bishop, SIAM J. Sci. Comput. 36, C401 (2014)); where most elements have one value
//! they stand by how many others they have first. A slice has as many slots a row as its longest row; those of no element have the code 0, and
//! are left out of sums, so that an infinite x stays in the rows that read it.
//!
//! The elements of a row are added by value, those of one value by column, so a row has the same bits in every slice and on every core. Slots
//! that have the most frequent value in all rows of a slice then follow each other, and need no list of values.

use eigenforge_runtime::Scalar;
use rayon::prelude::*;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Rows of a slice.
const LANES: usize = 8;
/// Slots that one core takes at a time, about, and rows at most.
const PIECE_SLOTS: usize = 1 << 15;
const PIECE_ROWS: usize = 1 << 13;
/// Slots up to which one core is sooner done than the others have begun.
const ALONE: usize = 3 << 17;
/// Most slots of an element, with padding: at three, compressed rows would have as few bytes. The rows that one core takes at a time may have
/// twice as many.
const PADDED: f64 = 2.0;
/// From this part of elements on a value decides on the order of rows.
const MOSTLY: f64 = 0.75;
/// Bytes of compressed rows from which on they are coded: of fewer a multiply takes some microseconds in any form.
const FEW: u64 = 1 << 16;
/// Most distinct values: a list that stays in the nearest cache.
const MOST_VALUES: usize = 1 << 10;

/// Rows of a square matrix with few distinct values.
#[derive(Debug)]
pub(crate) struct CodedRows {
    /// Rows of the matrix.
    dimension: usize,
    /// Those that are here.
    rows: Range<usize>,
    /// Rows of all pieces but the last.
    piece_rows: usize,
    pieces: Vec<Piece>,
    elements: u64,
    /// By their codes; the first is that of no element.
    values: Box<[f64; MOST_VALUES]>,
    /// The code of the most frequent value.
    frequent: u32,
    index_bits: u32,
}

/// Rows that one core multiplies, by length.
#[derive(Debug, Default)]
struct Piece {
    /// The row at each place, counted from the first, and the place of each row.
    rows: Vec<u16>,
    places: Vec<u16>,
    /// Where the slots of each slice begin, and the end of the last.
    starts: Vec<u32>,
    /// Of each slice, how many of its slots have an element in all rows.
    full: Vec<u16>,
    /// Of each slice, the longest run of full slots that have the most frequent value in all rows.
    alike: Vec<[u16; 2]>,
    slots: Vec<u32>,
    diagonal: Vec<f64>,
}

/// The values found so far with their codes.
struct Codes {
    code_of: HashMap<u64, u32>,
    values: Vec<f64>,
}

impl Codes {
    /// With the code of no element.
    fn new() -> Codes {
        Codes { code_of: HashMap::new(), values: vec![0.0] }
    }

    fn code(&mut self, value: f64) -> u32 {
        let Codes { code_of, values } = self;
        *code_of.entry(value.to_bits()).or_insert_with(|| {
            values.push(value);
            (values.len() - 1) as u32
        })
    }

    /// The value that at least so large a part of elements has as [`MOSTLY`] says.
    fn most_frequent(&self, codes: impl Iterator<Item = u32>) -> Option<f64> {
        let (mut counts, mut all) = (vec![0u64; self.values.len()], 0);
        codes.for_each(|code| {
            counts[code as usize] += 1;
            all += 1;
        });
        let (count, value) = counts.iter().zip(&self.values).max_by_key(|(count, _)| **count)?;
        (*count as f64 >= MOSTLY * all as f64).then_some(*value)
    }
}

/// The longest run that is true: its first place, and the one behind its last.
fn longest_run(of_slots: impl Iterator<Item = bool>) -> [u16; 2] {
    let (mut longest, mut first) = ([0, 0], 0);
    for (place, is_true) in (0..).zip(of_slots) {
        if !is_true {
            first = place + 1;
        } else if place + 1 - first > longest[1] - longest[0] {
            longest = [first, place + 1];
        }
    }
    longest
}

impl CodedRows {
    /// Whether a matrix with so many bytes of compressed rows is large enough.
    pub(crate) fn pays(compressed_bytes: u64) -> bool {
        compressed_bytes > FEW
    }

    /// Rows of a matrix of so many rows, about so long; `row_of` puts the elements of one in place of what is in a list, columns
    /// ascending. `None` where there are too many values, or rows are too uneven.
    pub(crate) fn new(
        dimension: usize,
        rows: Range<usize>,
        row_length: f64,
        row_of: impl Fn(usize, &mut Vec<(u32, f64)>) + Sync,
    ) -> Option<CodedRows> {
        let made = CodedRows::padded(dimension, rows, row_length, Some(PADDED), row_of)?;
        let slots: usize = made.pieces.iter().map(|piece| piece.slots.len()).sum();
        (slots as f64 <= PADDED * made.elements as f64 + (LANES * LANES) as f64).then_some(made)
    }

    /// The same however uneven rows are; `None` where there are too many values.
    pub(crate) fn uneven(
        dimension: usize,
        rows: Range<usize>,
        row_length: f64,
        row_of: impl Fn(usize, &mut Vec<(u32, f64)>) + Sync,
    ) -> Option<CodedRows> {
        CodedRows::padded(dimension, rows, row_length, None, row_of)
    }

    /// Codes beside the columns of a matrix of so many rows; the first is that of no element. `None` where columns leave none.
    fn codes_beside(dimension: usize) -> Option<usize> {
        let index_bits = usize::BITS - dimension.saturating_sub(1).leading_zeros();
        Some(MOST_VALUES.min(1usize.checked_shl(u32::BITS.checked_sub(index_bits)?)?))
    }

    /// Most distinct values beside the diagonal of a matrix of so many rows.
    pub(crate) fn most_values(dimension: usize) -> usize {
        CodedRows::codes_beside(dimension).map_or(0, |codes| codes - 1)
    }

    /// The same with rows as uneven as they are, or where pieces of rows have at most so many slots an element, about.
    fn padded(
        dimension: usize,
        rows: Range<usize>,
        row_length: f64,
        most_slots: Option<f64>,
        row_of: impl Fn(usize, &mut Vec<(u32, f64)>) + Sync,
    ) -> Option<CodedRows> {
        let index_bits = usize::BITS - dimension.saturating_sub(1).leading_zeros();
        let most = CodedRows::codes_beside(dimension)?;
        let piece_rows = (PIECE_SLOTS as f64 / row_length.max(1.0)) as usize;
        let piece_rows = piece_rows.clamp(LANES, PIECE_ROWS) / LANES * LANES;
        let (codes, too_many) = (Mutex::new(Codes::new()), AtomicBool::new(false));
        let piece = |first: usize| {
            let end = rows.end.min(first + piece_rows);
            if too_many.load(Ordering::Relaxed) {
                return None;
            }
            let made = Piece::new(first..end, (index_bits, most, most_slots), &codes, &row_of);
            too_many.fetch_or(made.is_none(), Ordering::Relaxed);
            made
        };
        let firsts: Vec<usize> = rows.clone().step_by(piece_rows).collect();
        let made: Option<Vec<(Piece, usize)>> = firsts.into_par_iter().map(piece).collect();
        let (pieces, elements): (Vec<Piece>, Vec<usize>) = made?.into_iter().unzip();
        let elements = elements.iter().sum::<usize>() as u64;
        let mut values = Box::new([0.0; MOST_VALUES]);
        let found = codes.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).values;
        values[..found.len()].copy_from_slice(&found);
        let made = CodedRows { dimension, rows, piece_rows, pieces, elements, values, frequent: 0, index_bits };
        Some(made.with_frequent())
    }

    /// The same with the most frequent value, and how far each slice has no other.
    fn with_frequent(mut self) -> CodedRows {
        let (bits, mask, none) = (self.index_bits, self.index_mask(), [0u64; MOST_VALUES]);
        let count = |mut counts: [u64; MOST_VALUES], piece: &Piece| {
            for slot in &piece.slots {
                assert!(((slot & mask) as usize) < self.dimension, "a column behind the last");
                counts[(slot >> bits) as usize % MOST_VALUES] += 1;
            }
            counts
        };
        let add = |a: [u64; MOST_VALUES], b: [u64; MOST_VALUES]| std::array::from_fn(|code| a[code] + b[code]);
        let counts = self.pieces.par_iter().fold(|| none, count).reduce(|| none, add);
        let frequent = (1..MOST_VALUES).max_by_key(|code| counts[*code]).unwrap_or(1) as u32;
        self.frequent = frequent;
        self.pieces.par_iter_mut().for_each(|piece| {
            let is_alike = |slots: &[u32; LANES]| slots.iter().all(|slot| slot >> bits == frequent);
            let of_slice = |(start, full): (&[u32], &u16)| {
                let (slots, _) = piece.slots[start[0] as usize..start[1] as usize].as_chunks::<LANES>();
                longest_run(slots[..*full as usize].iter().map(is_alike))
            };
            piece.alike = piece.starts.windows(2).zip(&piece.full).map(of_slice).collect();
        });
        self
    }

    /// Rows of the matrix.
    pub(crate) fn dimension(&self) -> usize {
        self.dimension
    }

    /// The rows that are here.
    pub(crate) fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    /// Elements of these rows.
    pub(crate) fn elements(&self) -> u64 {
        self.elements
    }

    /// The largest sum of magnitudes of one of these rows; 0 without rows.
    pub(crate) fn largest_row_sum(&self) -> f64 {
        let sum = |row: usize| self.slots(row).map(|(_, value)| value.abs()).sum::<f64>() + self.diagonal(row).abs();
        self.rows().into_par_iter().map(sum).reduce(|| 0.0, f64::max)
    }

    /// Some of these rows alone.
    pub(crate) fn only(&self, rows: Range<usize>) -> CodedRows {
        let length = self.elements as f64 / self.rows.len().max(1) as f64;
        let own = CodedRows::uneven(self.dimension, rows, length, |row, elements| self.row(row, elements));
        own.unwrap_or_else(|| unreachable!("all rows have few values"))
    }

    /// Bytes of slots and diagonal.
    pub(crate) fn bytes(&self) -> u64 {
        let of_piece = |piece: &Piece| 4 * piece.slots.len() + 10 * piece.starts.len() + 12 * piece.diagonal.len();
        self.pieces.iter().map(|piece| of_piece(piece) as u64).sum()
    }

    /// A diagonal element of these rows.
    pub(crate) fn diagonal(&self, row: usize) -> f64 {
        let at = row - self.rows.start;
        let piece = &self.pieces[at / self.piece_rows];
        piece.diagonal[piece.places[at % self.piece_rows] as usize]
    }

    /// The elements of a row but that of the diagonal, in the order in which they are added.
    fn slots(&self, row: usize) -> impl Iterator<Item = (u32, f64)> {
        let at = row - self.rows.start;
        let piece = &self.pieces[at / self.piece_rows];
        let at = piece.places[at % self.piece_rows] as usize;
        let [first, end] = [0, 1].map(|k| piece.starts[at / LANES + k] as usize);
        let of_lane = piece.slots[first..end].iter().skip(at % LANES).step_by(LANES);
        let of_lane = of_lane.filter(|slot| **slot >> self.index_bits != 0);
        of_lane.map(|slot| (slot & self.index_mask(), self.values[(slot >> self.index_bits) as usize]))
    }

    /// The elements of a row, columns ascending.
    pub(crate) fn row(&self, row: usize, elements: &mut Vec<(u32, f64)>) {
        elements.clear();
        elements.extend(self.slots(row));
        elements.extend(Some(self.diagonal(row)).filter(|value| *value != 0.0).map(|value| (row as u32, value)));
        elements.sort_unstable_by_key(|(column, _)| *column);
    }

    fn index_mask(&self) -> u32 {
        (1u64 << self.index_bits).wrapping_sub(1) as u32
    }

    /// y_j = A x_j, the rows from `first` on; their parts of x_j·y_j.
    pub(crate) fn multiply<T: Scalar>(&self, x: &[&[T]], first: usize, y: &mut [&mut [T]]) -> Vec<f64> {
        assert!(x.iter().all(|x| x.len() == self.dimension), "a vector of {} elements", self.dimension);
        let count = y.first().map_or(0, |y| y.len());
        if (first..first + count) != self.rows {
            return x.iter().zip(y).map(|(x, y)| self.multiply_some(x, first, y)).collect();
        }
        // Each piece's share of every y.
        let mut shares: Vec<Vec<&mut [T]>> = self.pieces.iter().map(|_| Vec::with_capacity(x.len())).collect();
        for y in y {
            y.chunks_mut(self.piece_rows).zip(&mut shares).for_each(|(own, share)| share.push(own));
        }
        let task = |(number, mut y): (usize, Vec<&mut [T]>)| {
            let first = self.rows.start + number * self.piece_rows;
            self.multiply_piece(&self.pieces[number], x, first, &mut y)
        };
        let slots: usize = self.pieces.iter().map(|piece| piece.slots.len()).sum();
        let dots: Vec<Vec<f64>> = match slots * x.len() <= ALONE {
            true => shares.into_iter().enumerate().map(task).collect(),
            false => shares.into_par_iter().enumerate().map(task).collect(),
        };
        (0..x.len()).map(|v| dots.iter().map(|dots| dots[v]).sum()).collect()
    }

    fn multiply_piece<T: Scalar>(&self, piece: &Piece, x: &[&[T]], first: usize, y: &mut [&mut [T]]) -> Vec<f64> {
        // One sum a lane, so that none waits for another.
        let mut dots = vec![[0.0; LANES]; x.len()];
        for (slice, start) in piece.starts.windows(2).enumerate() {
            let (slots, _) = piece.slots[start[0] as usize..start[1] as usize].as_chunks::<LANES>();
            let places = slice * LANES..piece.rows.len().min((slice + 1) * LANES);
            let (rows, diagonal) = (&piece.rows[places.clone()], &piece.diagonal[places]);
            let (full, padded) = slots.split_at(piece.full[slice] as usize);
            let [alike, end] = piece.alike[slice].map(usize::from);
            for ((x, y), dots) in x.iter().zip(y.iter_mut()).zip(&mut dots) {
                let mut sums = [0.0; LANES];
                self.add_full(&mut sums, &full[..alike], x);
                self.add_alike(&mut sums, &full[alike..end], x);
                self.add_full(&mut sums, &full[end..], x);
                self.add_padded(&mut sums, padded, x);
                let lanes = rows.iter().zip(diagonal).zip(sums).zip(dots);
                for (((row, diagonal), sum), dot) in lanes {
                    let own = x[first + *row as usize].to_f64();
                    let sum = diagonal_product(*diagonal, own) + sum;
                    y[*row as usize] = T::from_f64(sum);
                    *dot += own * sum;
                }
            }
        }
        dots.iter().map(|dots| dots.iter().sum()).collect()
    }

    /// Adds slots with the most frequent value in all rows of a slice.
    #[inline]
    fn add_alike<T: Scalar>(&self, sums: &mut [f64; LANES], slots: &[[u32; LANES]], x: &[T]) {
        let (mask, frequent) = (self.index_mask(), self.values[self.frequent as usize % MOST_VALUES]);
        for slots in slots {
            // SAFETY: columns are below the dimension, as `with_frequent` saw, and x has as many elements, as `multiply` saw.
            let at = |slot: &u32| unsafe { x.get_unchecked((slot & mask) as usize) }.to_f64();
            sums.iter_mut().zip(slots).for_each(|(sum, slot)| *sum += frequent * at(slot));
        }
    }

    /// Adds slots with an element in all rows of a slice.
    #[inline]
    fn add_full<T: Scalar>(&self, sums: &mut [f64; LANES], slots: &[[u32; LANES]], x: &[T]) {
        for slots in slots {
            let value = |slot: &u32| self.values[(slot >> self.index_bits) as usize % MOST_VALUES];
            let at = |slot: &u32| x[(slot & self.index_mask()) as usize].to_f64();
            sums.iter_mut().zip(slots).for_each(|(sum, slot)| *sum += value(slot) * at(slot));
        }
    }

    /// Adds slots that some rows of a slice have no element in.
    fn add_padded<T: Scalar>(&self, sums: &mut [f64; LANES], slots: &[[u32; LANES]], x: &[T]) {
        for slots in slots {
            for (sum, slot) in sums.iter_mut().zip(slots) {
                let (code, column) = (slot >> self.index_bits, slot & self.index_mask());
                // Without a branch that would be guessed wrong.
                let is_element = i64::from((code as i32).wrapping_neg() >> 31) as u64;
                let product = self.values[code as usize % MOST_VALUES] * x[column as usize].to_f64();
                *sum += f64::from_bits(product.to_bits() & is_element);
            }
        }
    }

    /// Some rows, one by one.
    fn multiply_some<T: Scalar>(&self, x: &[T], first: usize, y: &mut [T]) -> f64 {
        let of_row = |(at, y): (usize, &mut T)| {
            let (row, own) = (first + at, x[first + at].to_f64());
            let sum = self.slots(row).fold(0.0, |sum, (column, value)| sum + value * x[column as usize].to_f64());
            let sum = diagonal_product(self.diagonal(row), own) + sum;
            *y = T::from_f64(sum);
            own * sum
        };
        y.iter_mut().enumerate().map(of_row).sum()
    }
}

/// A diagonal element times x; nothing where a row has no such element.
fn diagonal_product(element: f64, x: f64) -> f64 {
    if element == 0.0 { 0.0 } else { element * x }
}

impl Piece {
    /// Some rows, and how many elements they have; `None` if there are more than `most` values by now, or too many slots.
    fn new(
        rows: Range<usize>,
        (index_bits, most, most_slots): (u32, usize, Option<f64>),
        codes: &Mutex<Codes>,
        row_of: impl Fn(usize, &mut Vec<(u32, f64)>),
    ) -> Option<(Piece, usize)> {
        let (mut own, mut elements) = (Codes::new(), Vec::new());
        let mut piece = Piece { starts: vec![0], ..Piece::default() };
        // Columns and codes of the piece's own list, row by row.
        let (mut all, mut ends, mut diagonal, mut count) = (Vec::<(u32, u32)>::new(), vec![0], Vec::<f64>::new(), 0);
        for row in rows.clone() {
            row_of(row, &mut elements);
            let is_diagonal = |(column, _): &&(u32, f64)| *column as usize == row;
            diagonal.push(elements.iter().filter(is_diagonal).map(|(_, value)| value).sum());
            count += elements.len();
            elements.retain(|element| !is_diagonal(&element));
            elements.sort_unstable_by(|(a, own), (b, other)| own.total_cmp(other).then(a.cmp(b)));
            all.extend(elements.iter().map(|(column, value)| (*column, own.code(*value))));
            ends.push(all.len());
            if own.values.len() > most {
                return None;
            }
        }
        let length = |row: &u16| ends[*row as usize + 1] - ends[*row as usize];
        // How many elements have other values than the most frequent one, smaller and greater.
        let frequent = own.most_frequent(all.iter().map(|(_, code)| *code));
        let others = |row: &u16| {
            let value = |(_, code): &(u32, u32)| own.values[*code as usize];
            let row = &all[ends[*row as usize]..ends[*row as usize + 1]];
            let count = |is_other: fn(f64, f64) -> bool| match frequent {
                Some(frequent) => row.iter().filter(|element| is_other(value(element), frequent)).count(),
                None => 0,
            };
            [count(|value, frequent| value < frequent), count(|value, frequent| value > frequent)]
        };
        piece.rows = (0..rows.len() as u16).collect();
        piece.rows.sort_by_cached_key(|row| std::cmp::Reverse((others(row), length(row))));
        piece.diagonal = piece.rows.iter().map(|row| diagonal[*row as usize]).collect();
        piece.places = vec![0; rows.len()];
        (0..).zip(&piece.rows).for_each(|(place, row)| piece.places[*row as usize] = place);
        let longest = |slice: &[u16]| slice.iter().map(length).max().unwrap_or(0);
        let slots: usize = piece.rows.chunks(LANES).map(|slice| LANES * longest(slice)).sum();
        if most_slots.is_some_and(|most| slots as f64 > 2.0 * most * count as f64 + PIECE_SLOTS as f64) {
            return None;
        }
        let mut slots: Vec<(u32, u32)> = Vec::with_capacity(slots);
        for slice in piece.rows.chunks(LANES) {
            let shortest = if slice.len() == LANES { slice.iter().map(length).min().unwrap_or(0) } else { 0 };
            piece.full.push(u16::try_from(shortest).unwrap_or(u16::MAX));
            for slot in 0..longest(slice) {
                // What is no element reads the last row's own x.
                slots.extend((0..LANES).map(|lane| {
                    let row = slice.get(lane).unwrap_or(&slice[slice.len() - 1]);
                    let is_element = lane < slice.len() && slot < length(row);
                    if is_element { all[ends[*row as usize] + slot] } else { ((rows.start + *row as usize) as u32, 0) }
                }));
            }
            piece.starts.push(slots.len() as u32);
        }
        let code: Vec<u32> = {
            let mut all = codes.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let own = own.values.iter().skip(1).map(|value| all.code(*value));
            let code = std::iter::once(0).chain(own).collect();
            if all.values.len() > most {
                return None;
            }
            code
        };
        piece.slots = slots.iter().map(|(column, own)| column | code[*own as usize] << index_bits).collect();
        Some((piece, count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eigenforge_runtime::seeded;

    /// Some rows of a random matrix of so many values, the diagonal apart; uneven, some empty.
    fn elements(rows: usize, values: usize, seed: u64) -> Vec<Vec<(u32, f64)>> {
        let random = seeded::vector(8 * rows + values, seed);
        let list = |row: usize| {
            let length = ((random[row].abs() * 1e6) as usize + row) % 7;
            let column = |k: usize| ((random[rows + 7 * row + k].abs() * 1e9) as usize % rows) as u32;
            let mut columns: Vec<u32> = (0..length).map(column).collect();
            columns.sort_unstable();
            columns.dedup();
            let value = |column: &u32| match *column as usize == row {
                true => random[row],
                // Of eleven values one prevails, with smaller and greater ones beside it.
                false if values == 11 && !row.is_multiple_of(9) => random[8 * rows + 4],
                false => random[8 * rows + (*column as usize + 3 * row) % values],
            };
            columns.iter().map(|column| (*column, value(column))).collect()
        };
        (0..rows).map(list).collect()
    }

    fn coded(all: &[Vec<(u32, f64)>], rows: Range<usize>, length: f64) -> Option<CodedRows> {
        CodedRows::new(all.len(), rows, length, |row, elements| all[row].clone_into(elements))
    }

    #[test]
    fn rows_are_those_of_the_list_in_the_same_bits_on_every_share() {
        for (seed, rows) in [1usize, 2, 15, 16, 17, 33, 257, 4099].into_iter().enumerate() {
            for values in [1, 3, 11, 700] {
                let all = elements(rows, values, seed as u64 + 1);
                let whole = coded(&all, 0..rows, 3.0).expect("few values");
                assert_eq!(whole.elements(), all.iter().map(Vec::len).sum::<usize>() as u64);
                let vectors: Vec<Vec<f64>> = (0..3).map(|k| seeded::vector(rows, 50 + k)).collect();
                let x: Vec<&[f64]> = vectors.iter().map(Vec::as_slice).collect();
                let mut y = vec![vec![f64::NAN; rows]; 3];
                let dots = whole.multiply(&x, 0, &mut y.iter_mut().map(Vec::as_mut_slice).collect::<Vec<_>>());
                for ((x, y), dot) in x.iter().zip(&y).zip(&dots) {
                    for (row, elements) in all.iter().enumerate() {
                        let sum: f64 = elements.iter().map(|(column, value)| value * x[*column as usize]).sum();
                        assert!((sum - y[row]).abs() <= 1e-14 * 20.0, "{sum} {}", y[row]);
                    }
                    let sum: f64 = x.iter().zip(y).map(|(x, y)| x * y).sum();
                    assert!((sum - dot).abs() <= 1e-12 * rows as f64);
                }
                let mut of_row = Vec::new();
                for cut in [0, rows / 3, rows / 2 + 1] {
                    let (first, share) = (cut.min(rows), whole.only(cut.min(rows)..rows));
                    let (mut own, mut some) = (vec![f64::NAN; rows - first], vec![f64::NAN; rows - first]);
                    share.multiply(&x[..1], first, &mut [&mut own]);
                    whole.multiply(&x[..1], first, &mut [&mut some]);
                    for ((own, some), y) in own.iter().zip(&some).zip(&y[0][first..]) {
                        assert_eq!([own.to_bits(), some.to_bits()], [y.to_bits(); 2]);
                    }
                    (first..rows).for_each(|row| {
                        share.row(row, &mut of_row);
                        assert_eq!(of_row, all[row], "row {row}");
                    });
                }
                let norm = all.iter().map(|row| row.iter().map(|(_, value)| value.abs()).sum::<f64>());
                assert!((whole.largest_row_sum() - norm.fold(0.0, f64::max)).abs() < 1e-14);
            }
        }
    }

    #[test]
    fn many_values_and_uneven_rows_stay_compressed() {
        assert!(coded(&elements(4099, 4 * MOST_VALUES, 1), 0..4099, 3.0).is_none());
        // A slice is as long as its longest row; several long rows make one of their own.
        let long = |row: usize, few: usize| (0..if row < few { 1000 } else { 1 }).map(|column| (column, 1.0)).collect();
        for (few, is_even) in [(1, false), (16, true)] {
            let all: Vec<Vec<(u32, f64)>> = (0..1024).map(|row| long(row, few)).collect();
            assert_eq!(coded(&all, 0..1024, 2.0).is_some(), is_even, "{few} long rows");
        }
        assert!(coded(&[], 0..0, 0.0).is_some());
        // A share may be uneven where the whole is not.
        let length = |row: u32| match row {
            0..64 if !row.is_multiple_of(16) => 1,
            0..64 => 90,
            _ => 20,
        };
        let all: Vec<Vec<(u32, f64)>> = (0..512).map(|row| (0..length(row)).map(|k| (k, 1.0)).collect()).collect();
        let whole = coded(&all, 0..512, 20.0).expect("even enough");
        assert_eq!(whole.only(0..64).elements(), all[..64].iter().map(Vec::len).sum::<usize>() as u64);
    }

    #[test]
    fn an_infinite_x_stays_in_the_rows_that_read_it() {
        let all: Vec<Vec<(u32, f64)>> =
            (0..40u32).map(|row| (0..row % 5).map(|k| ((row + k + 1) % 40, 0.5)).collect()).collect();
        let mut x = vec![1.0; 40];
        x[7] = f64::INFINITY;
        let mut y = vec![0.0; 40];
        coded(&all, 0..40, 2.0).expect("one value").multiply(&[&x], 0, &mut [&mut y]);
        for (row, y) in y.iter().enumerate() {
            let reads = all[row].iter().any(|(column, _)| *column == 7);
            assert!(if reads { *y == f64::INFINITY } else { y.is_finite() }, "row {row}: {y}");
        }
    }

    #[test]
    fn a_diagonal_may_have_any_values() {
        let all: Vec<Vec<(u32, f64)>> = (0..5000).map(|row| vec![(row, f64::from(row).sin())]).collect();
        let rows = coded(&all, 0..5000, 1.0).expect("values beside the diagonal are few");
        let (x, mut y) = (vec![2.0f32; 5000], vec![f32::NAN; 5000]);
        rows.multiply(&[&x], 0, &mut [&mut y]);
        assert!((0..5000).all(|row| y[row] == (2.0 * (row as f64).sin()) as f32));
    }
}
