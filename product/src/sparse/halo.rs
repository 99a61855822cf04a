//! What the rows of each card need of x, where several cards work as one device and have its elements in parts.
//!
//! In: a matrix, the first rows of its blocks, a number of cards. Out: for each card its rows and the columns that they use (its *halo*:
//! those of other cards), as a list that is made once; the matrix with its columns counted in the list of the card whose row it is.
//! Before each multiply a card collects the elements of its list into memory of its own, in ascending order, so that what it reads of
//! another card is read once and in runs; then its rows gather from there. The order of a row's terms, and so every bit, is that of
//! one card, unless the layout cuts rows at a column (panels), which is elsewhere in a list. Where most columns are used, a card copies
//! the whole of x instead, without a list.

use super::Csr;
use eigenforge_templates::ScalarType;
use eigenforge_templates::sparse::HaloPlan;
use rayon::prelude::*;
use std::fmt;
use std::ops::Range;

/// Bytes of a page of a card's memory: parts of a vector that begin at whole pages lie on one card each.
const PAGE: u64 = 2 << 20;
/// Lists are used if they fetch at most this part of what whole copies do.
const WORTH_A_LIST: f64 = 0.875;

/// A card's part of a multiply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardRows {
    /// Its rows.
    pub rows: Range<usize>,
    /// Elements of x that it collects.
    pub collected: u64,
    /// Those of them that other cards have.
    pub fetched: u64,
}

/// How the cards of a device get x.
#[derive(Clone, Debug, PartialEq)]
pub struct Halo {
    /// Each card's part.
    pub cards: Vec<CardRows>,
    /// Elements that whole copies of x would fetch.
    pub whole: u64,
    /// Bytes of a number of the vectors.
    number_bytes: u64,
    /// First of its list, length of it, place of its first own row there, that row: of each card.
    places: Vec<u64>,
    /// The lists, one after the other; empty where cards copy all of x.
    columns: Vec<u32>,
}

impl Halo {
    /// Of a matrix whose blocks begin at these rows; `None` if there are fewer blocks than cards.
    pub fn new(matrix: &Csr, block_start: &[u32], cards: u32, scalar: ScalarType) -> Option<Halo> {
        let blocks = block_start.len() - 1;
        let number_bytes = (matrix.parts() * scalar.bytes()) as u64;
        if cards < 2 || blocks < cards as usize {
            return None;
        }
        // The blocks of a card, as `templates/cuda/share.cuh` has them.
        let rows: Vec<Range<usize>> = (0..cards as usize)
            .map(|card| [card, card + 1].map(|card| block_start[blocks * card / cards as usize] as usize))
            .map(|[first, end]| first..end)
            .collect();
        let lists: Vec<Vec<u32>> = rows.par_iter().map(|rows| used(matrix, rows)).collect();
        let outside = |rows: &Range<usize>| (matrix.rows() - rows.len()) as u64;
        let fetched: u64 = rows.iter().zip(&lists).map(|(rows, list)| (list.len() - rows.len()) as u64).sum();
        let whole: u64 = rows.iter().map(outside).sum();
        if fetched as f64 > WORTH_A_LIST * whole as f64 {
            return Some(Halo::of_copies(rows, matrix.rows(), number_bytes));
        }
        let (mut places, mut first) = (Vec::with_capacity(4 * lists.len()), 0);
        for (own, list) in rows.iter().zip(&lists) {
            let place = list.partition_point(|column| (*column as usize) < own.start);
            places.extend([first, list.len(), place, own.start].map(|place| place as u64));
            first += list.len();
        }
        let of = |(rows, list): (&Range<usize>, &Vec<u32>)| CardRows {
            rows: rows.clone(),
            collected: list.len() as u64,
            fetched: (list.len() - rows.len()) as u64,
        };
        let cards = rows.iter().zip(&lists).map(of).collect();
        Some(Halo { cards, whole, number_bytes, places, columns: lists.concat() })
    }

    /// A whole copy of x on each card, of `all` elements.
    fn of_copies(rows: Vec<Range<usize>>, all: usize, number_bytes: u64) -> Halo {
        let places = rows.iter().flat_map(|own| [0, all, own.start, own.start]).map(|place| place as u64).collect();
        let of = |rows: Range<usize>| {
            let fetched = (all - rows.len()) as u64;
            CardRows { rows, collected: all as u64, fetched }
        };
        let cards: Vec<CardRows> = rows.into_iter().map(of).collect();
        let whole = cards.iter().map(|card| card.fetched).sum();
        Halo { cards, whole, number_bytes, places, columns: Vec::new() }
    }

    /// The same cards with a whole copy of x on each.
    pub(super) fn with_copies(self, matrix: &Csr) -> Halo {
        Halo::of_copies(self.cards.into_iter().map(|card| card.rows).collect(), matrix.rows(), self.number_bytes)
    }

    /// The matrix with columns as places in the list of the card that has the row, which ascend as before; `None` without lists.
    pub(super) fn renumbered(&self, matrix: &Csr) -> Option<Csr> {
        let of_card = |(card, place): (&CardRows, &[u64])| -> Vec<u32> {
            let mut places = vec![u32::MAX; matrix.rows()];
            let list = &self.columns[place[0] as usize..][..place[1] as usize];
            list.iter().enumerate().for_each(|(at, column)| places[*column as usize] = at as u32);
            let [first, end] = [card.rows.start, card.rows.end].map(|row| matrix.row_start()[row] as usize);
            matrix.columns()[first..end].iter().map(|column| places[*column as usize]).collect()
        };
        let columns =
            || -> Vec<Vec<u32>> { self.cards.par_iter().zip(self.places.par_chunks_exact(4)).map(of_card).collect() };
        (!self.columns.is_empty()).then(|| matrix.with_columns(columns().concat()))
    }

    /// Its plan, with room for windows of x that end at `windows`.
    pub(super) fn plan(&self, windows: u64) -> HaloPlan {
        let most = self.cards.iter().map(|card| card.collected).max().unwrap_or(0);
        let page = PAGE / self.number_bytes;
        HaloPlan {
            cards: self.cards.len() as u32,
            room: most.max(windows).max(1).next_multiple_of(page),
            most,
            listed: self.columns.len() as u64,
        }
    }

    /// The places of each card's list.
    pub(super) fn places(&self) -> &[u64] {
        &self.places
    }

    /// The lists.
    pub(super) fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// Bytes that go from card to card for one vector.
    pub fn bytes(&self) -> u64 {
        self.number_bytes * self.cards.iter().map(|card| card.fetched).sum::<u64>()
    }

    /// Its cards one by one, for people.
    pub fn describe(&self) -> String {
        let bytes = self.number_bytes;
        let card = |(number, card): (usize, &CardRows)| {
            format!(
                "         card {number}: rows {} to {}, {} of x, {} of that from other cards\n",
                card.rows.start,
                card.rows.end,
                megabytes(bytes * card.collected),
                megabytes(bytes * card.fetched)
            )
        };
        let lines: String = self.cards.iter().enumerate().map(card).collect();
        format!("cards    {}: {self}\n{lines}", self.cards.len())
    }
}

impl fmt::Display for Halo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = megabytes(self.number_bytes * self.whole);
        match self.columns.is_empty() {
            false => write!(
                f,
                "each collects the elements of x that its rows use, {} from other cards a multiply (whole copies: {whole})",
                megabytes(self.bytes())
            ),
            true => write!(f, "each copies all of x, {whole} from other cards a multiply: its rows use most of it"),
        }
    }
}

/// Bytes as memory tables have them.
fn megabytes(bytes: u64) -> String {
    format!("{:.3} MB", bytes as f64 / 1e6)
}

/// The columns of some rows, and the rows themselves, ascending.
fn used(matrix: &Csr, rows: &Range<usize>) -> Vec<u32> {
    let mut marks = vec![0u64; matrix.rows().div_ceil(64)];
    let mut mark = |column: usize| marks[column / 64] |= 1 << (column % 64);
    rows.clone().for_each(&mut mark);
    for row in rows.clone() {
        matrix.row(row).0.iter().for_each(|column| mark(*column as usize));
    }
    let of_word = |(word, marks): (usize, &u64)| {
        let mut left = *marks;
        std::iter::from_fn(move || {
            let bit = (left != 0).then(|| left.trailing_zeros())?;
            left &= left - 1;
            Some(64 * word as u32 + bit)
        })
    };
    marks.iter().enumerate().flat_map(of_word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(rows: usize, reach: usize) -> Csr {
        let (mut row_start, mut columns) = (vec![0u64], Vec::new());
        for row in 0..rows {
            columns.extend((row.saturating_sub(reach)..(row + reach + 1).min(rows)).map(|column| column as u32));
            row_start.push(columns.len() as u64);
        }
        let values = (0..columns.len()).map(|at| at as f64).collect();
        Csr::new(row_start, columns, values).unwrap()
    }

    /// A band needs what is near the ends of a card's rows; its columns are those of the list.
    #[test]
    fn a_band_fetches_its_ends_alone() {
        let matrix = chain(400, 3);
        let blocks: Vec<u32> = (0..=10).map(|block| 40 * block).collect();
        for cards in [2u32, 3, 4] {
            let halo = Halo::new(&matrix, &blocks, cards, ScalarType::F64).unwrap();
            let fetched: u64 = halo.cards.iter().map(|card| card.fetched).sum();
            assert_eq!((fetched, halo.bytes()), (6 * (u64::from(cards) - 1), 48 * (u64::from(cards) - 1)));
            assert_eq!(halo.cards.last().unwrap().rows.end, 400);
            let stored = halo.renumbered(&matrix).unwrap();
            for (card, place) in halo.cards.iter().zip(halo.places().chunks_exact(4)) {
                let [first, count, own, row] = [0, 1, 2, 3].map(|at| place[at] as usize);
                let list = &halo.columns()[first..first + count];
                assert!(list.is_sorted() && row == card.rows.start && list[own] as usize == row);
                for row in card.rows.clone() {
                    let found: Vec<u32> = stored.row(row).0.iter().map(|column| list[*column as usize]).collect();
                    assert_eq!((found.as_slice(), stored.row(row).1), matrix.row(row));
                }
            }
            assert!(halo.describe().contains("whole copies: "), "{}", halo.describe());
            let plan = halo.plan(7);
            assert_eq!((plan.cards, plan.room, plan.listed), (cards, 262_144, 400 + fetched));
        }
        assert_eq!(Halo::new(&matrix, &blocks, 11, ScalarType::F64), None, "fewer blocks than cards");
        assert_eq!(Halo::new(&matrix, &blocks, 1, ScalarType::F64), None);
        let dense = chain(400, 390);
        let halo = Halo::new(&dense, &blocks, 2, ScalarType::F32).unwrap();
        assert!(halo.columns().is_empty() && halo.renumbered(&dense).is_none() && halo.bytes() == 4 * 400);
        assert!(halo.to_string().contains("copies all of x"), "{halo}");
        let copies = Halo::new(&matrix, &blocks, 2, ScalarType::F64).unwrap().with_copies(&matrix);
        assert_eq!((copies.bytes(), copies.plan(0).listed), (8 * 400, 0));
    }
}
