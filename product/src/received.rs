//! What each card receives from the others in a multiply, known before anything runs.
//!
//! In: a multiply, a number of cards. Out: bytes by card and how they come, by the multiply's own [`Traffic`].

use super::traffic::Traffic;
use crate::sparse::Halo;
use eigenforge_core::words::size;
use std::fmt;

/// What cards receive in one multiply.
#[derive(Clone, Debug, PartialEq)]
pub struct Received {
    /// Bytes, of each card.
    pub bytes: Vec<u64>,
    how: How,
}

/// How it reaches a card.
#[derive(Clone, Debug, PartialEq)]
enum How {
    /// Rows of x are fetched for the down hops, and what these add is collected by the up hops.
    Exchange,
    /// Rows of x are fetched whole by panels, from a triangle, and what their hops add is collected by the rows of the triangle.
    Panels,
    /// Each card copies x.
    Copies,
    /// Elements of x are read where they lie; bytes by a sample.
    Elements,
    /// A stored matrix's own words.
    Halo(String),
    /// Rows do not need other cards.
    Nothing,
}

impl Received {
    /// That of vectors of so many bytes; `None` where kernels read elements one by one.
    pub(super) fn planned(traffic: Traffic, vector: u64, cards: u32) -> Option<Received> {
        Some(match traffic {
            Traffic::Elements => return None,
            Traffic::Nothing | Traffic::Staged(..) => Received::nothing(cards),
            Traffic::Copies(..) => Received::copies(cards, vector),
            Traffic::Exchanged(..) => Received::both_ways(cards, vector, How::Exchange),
            Traffic::Panels(..) => Received::both_ways(cards, vector, How::Panels),
        })
    }

    fn equal(cards: u32, bytes: u128, how: How) -> Received {
        Received { bytes: vec![u64::try_from(bytes).unwrap_or(u64::MAX); cards as usize], how }
    }

    /// No card needs another.
    pub fn nothing(cards: u32) -> Received {
        Received::equal(cards, 0, How::Nothing)
    }

    /// A whole copy of a vector of so many bytes on each card.
    pub fn copies(cards: u32, vector: u64) -> Received {
        if cards < 2 {
            return Received::nothing(cards);
        }
        let others = u128::from(vector) * u128::from(cards - 1) / u128::from(cards);
        Received::equal(cards, others, How::Copies)
    }

    /// A vector is turned, and what that adds is turned back: both ways each card receives what the others have of its rows.
    fn both_ways(cards: u32, vector: u64, how: How) -> Received {
        let n = u128::from(cards);
        Received::equal(cards, 2 * u128::from(vector) * (n - 1) / (n * n), how)
    }

    /// Elements that each card reads where they lie, in bytes.
    pub fn elements(bytes: Vec<u64>) -> Received {
        Received { bytes, how: How::Elements }
    }

    /// What the cards of a stored matrix collect, of elements of so many bytes.
    pub fn halo(halo: &Halo, element: u64) -> Received {
        let bytes = halo.cards.iter().map(|card| card.fetched * element).collect();
        Received { bytes, how: How::Halo(halo.to_string()) }
    }

    /// The same for people, with a line for each card.
    pub fn describe(&self) -> String {
        let card = |(number, bytes): (usize, &u64)| format!("         card {number}: {}\n", size(*bytes));
        let lines: String = self.bytes.iter().enumerate().map(card).collect();
        format!("cards    {}: {self}\n{lines}", self.bytes.len())
    }

    /// Bytes of all cards together.
    fn total(&self) -> u64 {
        self.bytes.iter().fold(0, |sum, bytes| sum.saturating_add(*bytes))
    }
}

impl fmt::Display for Received {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (least, most) = (self.bytes.iter().min().copied(), self.bytes.iter().max().copied());
        let (least, most) = (least.unwrap_or(0), most.unwrap_or(0));
        let each = match least == most {
            true => size(most),
            false => format!("{} to {}", size(least), size(most)),
        };
        let from = format!("each receives {each} from the others in a multiply, {} in all", size(self.total()));
        match &self.how {
            How::Exchange => write!(f, "{from}: rows of x for the down hops, and what these add for the up hops"),
            How::Panels => write!(f, "{from}: rows of x for panels, and what these add"),
            How::Copies => write!(f, "{from}: a copy of x, or without room for one as much as its rows read"),
            How::Elements => write!(f, "{from}: elements of x, read where they lie (by a sample of the rows)"),
            How::Halo(words) => f.write_str(words),
            How::Nothing => f.write_str("no row needs elements of other cards"),
        }
    }
}
