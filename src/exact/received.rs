//! What each card receives from the others in a multiply, known before anything runs.
//!
//! In: a model, a number of cards. Out: bytes by card and how they come, by the same rules as the multiply's ([`super::across`]). Where
//! kernels read elements of other cards one by one, they are counted in a sample of rows, the same in every run.

use super::model::Model;
use super::prepared::Prepared;
use super::structure::Moves;
use crate::basis::LinTables;
use crate::operator::OperatorError;
use crate::sparse::Halo;
use crate::words::size;
use eigenforge_templates::ScalarType;
use eigenforge_templates::exact::{FlipGroup, KroneckerPlan};
use rayon::prelude::*;
use std::fmt;
use std::ops::Range;

/// Rows of a card that are looked at.
const SAMPLE: u64 = 1 << 14;

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

/// The rows of a card of several, but for pages.
fn share(rows: u64, card: u64, cards: u64) -> Range<u64> {
    let first = |card: u64| (u128::from(rows) * u128::from(card) / u128::from(cards)) as u64;
    first(card)..first(card + 1)
}

impl Received {
    fn same(cards: u32, bytes: u128, how: How) -> Received {
        Received { bytes: vec![u64::try_from(bytes).unwrap_or(u64::MAX); cards as usize], how }
    }

    /// A whole copy of a vector of so many bytes on each card.
    pub fn copies(cards: u32, vector: u64) -> Received {
        if cards < 2 {
            return Received::same(cards, 0, How::Nothing);
        }
        let others = u128::from(vector) * u128::from(cards - 1) / u128::from(cards);
        Received::same(cards, others, How::Copies)
    }

    /// A vector is turned, and what that adds is turned back: both ways each card receives what the others have of its rows.
    fn turned(cards: u32, vector: u64, how: How) -> Received {
        let n = u128::from(cards);
        Received::same(cards, 2 * u128::from(vector) * (n - 1) / (n * n), how)
    }

    fn of_kronecker(plan: &KroneckerPlan, cards: u32, vector: u64) -> Received {
        match plan.exchange() {
            Some(_) => Received::turned(cards, vector, How::Exchange),
            None if plan.has_down() => Received::copies(cards, vector),
            None => Received::same(cards, 0, How::Nothing),
        }
    }

    fn of_elements(groups: &[FlipGroup], tables: &LinTables, rows: u64, cards: u32, element: u64) -> Received {
        let n = u64::from(cards);
        let of_card = |card: u64| {
            let own = share(rows, card, n);
            let len = own.end - own.start;
            let samples = SAMPLE.min(len);
            let elsewhere = |sample: u64| {
                let state = tables.state(own.start + share(len, sample, samples).start);
                let acts = |group: &&FlipGroup| group.terms.iter().any(|term| state & term.care == term.pattern);
                let reached = groups.iter().filter(acts).map(|group| tables.index(state ^ group.flip));
                reached.filter(|row| !own.contains(row)).count() as u64
            };
            let counted: u64 = (0..samples).into_par_iter().map(elsewhere).sum();
            (counted as f64 / samples.max(1) as f64 * len as f64 * element as f64).round() as u64
        };
        Received { bytes: (0..n).map(of_card).collect(), how: How::Elements }
    }

    /// Of a stored matrix.
    fn of_halo(halo: &Halo, element: u64) -> Received {
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

impl Model {
    /// What each of several cards receives from the others in a multiply of vectors of `scalar`, as
    /// [`working`](Model::working) has it; `None` where only a stored matrix knows.
    ///
    /// # Errors
    /// Too many states for tables.
    pub fn received(&self, scalar: ScalarType, cards: u32) -> Result<Option<Received>, OperatorError> {
        if cards < 2 {
            return Ok(Some(Received::same(cards, 0, How::Nothing)));
        }
        let (model, element) = (self.working(), scalar.bytes() as u64);
        let vector = model.dimension().saturating_mul(element);
        Ok(match &model.structure().moves {
            Moves::Kronecker { .. } => match Prepared::new(model, scalar)? {
                Prepared::Kronecker { mut plan, .. } => {
                    plan.share_among(cards);
                    Some(Received::of_kronecker(&plan, cards, vector))
                }
                _ => None,
            },
            Moves::General(groups) => {
                let tables = model.basis().lin_tables()?;
                Some(Received::of_elements(groups, &tables, model.dimension(), cards, element))
            }
            Moves::Listed(_) if model.pair_rows(scalar).is_some() => Some(Received::turned(cards, vector, How::Panels)),
            Moves::Listed(terms) => {
                let makes_rows = terms.symmetric.as_ref().is_some_and(|sector| sector.makes_rows());
                makes_rows.then(|| Received::copies(cards, vector))
            }
        })
    }

    /// The same where the matrix is stored, which is made for it; `None` if it is too small to be divided.
    ///
    /// # Errors
    /// As of [`Model::received`]; no room for the matrix.
    pub fn received_with_matrix(&self, scalar: ScalarType, cards: u32) -> Result<Option<Received>, OperatorError> {
        if let Some(received) = self.received(scalar, cards)? {
            return Ok(Some(received));
        }
        Ok(match Prepared::new(self.working(), scalar)? {
            Prepared::Stored(matrix) => matrix.halo(cards).map(|halo| Received::of_halo(&halo, scalar.bytes() as u64)),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::ModelFile;

    fn model(text: &str) -> Model {
        ModelFile::parse("links.toml", text).unwrap().to_model().unwrap()
    }

    /// Small sectors are not sampled but counted: off-diagonal elements whose column is another card's.
    #[test]
    fn elements_of_other_cards_are_those_of_the_matrix() {
        let lattices = ["kind = \"chain\"\nsize = 9", "kind = \"square\"\nsize = [3, 3]"];
        for (lattice, cards) in lattices.into_iter().flat_map(|lattice| [2, 3, 5].map(|cards| (lattice, cards))) {
            let model = model(&format!(
                "[model]\nname = \"xxz\"\njxy = 1.0\njz = 0.6\n[lattice]\n{lattice}\n[sector]\ntwo_sz = 1\n"
            ));
            let dense = model.working().dense().unwrap();
            let received = model.received(ScalarType::F32, cards).unwrap().unwrap();
            for (card, bytes) in received.bytes.iter().enumerate() {
                let own = share(model.dimension(), card as u64, cards.into());
                let elsewhere = |(row, column): (usize, usize)| {
                    own.contains(&(row as u64)) && !own.contains(&(column as u64)) && dense[[row, column]] != 0.0
                };
                let expected = dense.indexed_iter().filter(|(place, _)| elsewhere(*place)).count() as u64;
                assert_eq!(*bytes, 4 * expected, "{lattice}, card {card} of {cards}");
            }
        }
    }

    #[test]
    fn each_engine_says_what_it_sends() {
        let hubbard = "[model]\nname = \"hubbard\"\nt = 1.0\nu = 4.0\n[lattice]\nkind = \"chain\"\nsize = 6\n[sector]\nup = 3\ndown = 2\n";
        // Down hops by tiles take copies, those by runs rows.
        let plain = model(hubbard);
        let (vector, said) = (8 * plain.dimension(), plain.received(ScalarType::F64, 4).unwrap().unwrap());
        assert_eq!(said.bytes, [vector * 3 / 4; 4]);
        let large =
            hubbard.replace("size = 6", "size = 12").replace("up = 3", "up = 6").replace("down = 2", "down = 6");
        let large = model(&large);
        let (vector, said) = (8 * large.dimension(), large.received(ScalarType::F64, 4).unwrap().unwrap());
        assert_eq!(said.bytes, [2 * vector * 3 / 16; 4]);
        assert!(said.to_string().contains("rows of x for the down hops"), "{said}");
        assert_eq!(plain.received(ScalarType::F64, 1).unwrap().unwrap().bytes, [0]);
        let still = model(&hubbard.replace("down = 2", "down = 0"));
        assert_eq!(still.received(ScalarType::F64, 2).unwrap().unwrap().total(), 0);
        let ring = hubbard.replace("size = 6\n", "size = 6\nboundary = \"periodic\"\n");
        let sector = |storage: &str| model(&format!("{ring}[symmetry]\nk = 1\nstorage = \"{storage}\"\n"));
        let rows = sector("direct");
        let copies = rows.received(ScalarType::F64, 2).unwrap().unwrap();
        assert_eq!(copies.bytes, [4 * rows.working().dimension(); 2]);
        let stored = sector("stored");
        assert_eq!(stored.received(ScalarType::F64, 2).unwrap(), None);
        if let Some(halo) = stored.received_with_matrix(ScalarType::F64, 2).unwrap() {
            assert!(halo.total() > 0 && halo.to_string().contains("of x"), "{halo}");
        }
    }
}
