//! The points of a sweep by several ranks, in rounds: in each, every rank solves as many points as it has cards, one on its CPU cores.
//!
//! In: the ranks and the name of the device. Out: the cards of this rank, its points of each round, and on rank 0 what all ranks found. A
//! round lasts as long as its longest point; points of like size follow each other, the largest first.

use super::sweep::is_empty_sector;
use crate::Error;
use crate::problem::sweep::Sharing;
use crate::report::{ReportError, SweptOutcome};
use eigenforge_runtime::ranks::Ranks;
use eigenforge_runtime::{Device, DeviceError};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A point with what was found, or why nothing was.
pub(super) type Point = (usize, Result<SweptOutcome, Error>);

/// What rank 0 hears of a point of another rank.
#[derive(Serialize, Deserialize)]
enum Told {
    Row(Box<SweptOutcome>),
    Missing { message: String, of_the_input: bool, no_states: bool },
}

/// The rounds, and this rank's part in them.
pub(super) struct Rounds<'r> {
    ranks: &'r Ranks,
    /// The devices of this rank, each for one point at a time.
    cards: Vec<String>,
    /// Its places of a round, and those of all ranks.
    own: Range<usize>,
    workers: usize,
}

impl<'r> Rounds<'r> {
    /// Every rank asks. Ranks of one machine take its cards in turn.
    ///
    /// # Errors
    /// More ranks on a machine than cards; no name of a device; a rank that failed.
    pub(super) fn new(ranks: &'r Ranks, device: &str) -> Result<Rounds<'r>, Error> {
        let cards = dealt(&cards_of(device)?, ranks.number_here(), ranks.on_this_machine())
            .map_err(|cards| too_few(device, cards, ranks.on_this_machine()))?;
        let places = ranks.all_of("the cards of each rank", cards.len() as f64)?;
        let places: Vec<usize> = places.into_iter().map(|places| places as usize).collect();
        let first = places[..ranks.rank()].iter().sum();
        Ok(Rounds { ranks, own: first..first + cards.len(), workers: places.iter().sum(), cards })
    }

    /// The devices of this rank.
    pub(super) fn cards(&self) -> &[String] {
        &self.cards
    }

    /// The same as one device.
    pub(super) fn all_cards(&self) -> String {
        match &self.cards[..] {
            [one] => one.clone(),
            several if several[0] == "sim" => format!("sim:{}", several.len()),
            several => {
                let numbers: Vec<&str> = several.iter().filter_map(|card| card.strip_prefix("cuda:")).collect();
                format!("cuda:{}", numbers.join(","))
            }
        }
    }

    /// Ranks that share this machine.
    pub(super) fn on_this_machine(&self) -> usize {
        self.ranks.on_this_machine()
    }

    /// Points of a round.
    pub(super) fn workers(&self) -> usize {
        self.workers
    }

    /// A line that says how points are shared.
    pub(super) fn heading(&self, sharing: &Sharing) -> String {
        sharing.rounds_heading(self.ranks.count())
    }

    /// The points of each round.
    pub(super) fn split<'o>(&self, order: &'o [usize]) -> impl Iterator<Item = &'o [usize]> {
        order.chunks(self.workers)
    }

    /// This rank's points of a round.
    pub(super) fn own_points<'o>(&self, round: &'o [usize]) -> &'o [usize] {
        &round[self.own.start.min(round.len())..self.own.end.min(round.len())]
    }

    /// What all ranks found in a round, on rank 0; on the others nothing.
    ///
    /// # Errors
    /// A rank that failed otherwise.
    pub(super) fn gather(&self, found: Vec<Point>) -> Result<Vec<Point>, Error> {
        if self.ranks.is_first() {
            let told = self.ranks.to_first("the points of a round", &[])?;
            let mut all = found;
            for (rank, bytes) in told.iter().enumerate().filter(|(_, bytes)| !bytes.is_empty()) {
                let told: Vec<(usize, Told)> = serde_json::from_slice(bytes).map_err(ReportError::from)?;
                all.extend(told.into_iter().map(|(number, told)| (number, heard(rank, told))));
            }
            return Ok(all);
        }
        let told: Vec<(usize, Told)> = found.into_iter().map(|(number, point)| (number, tell(point))).collect();
        let bytes = serde_json::to_vec(&told).map_err(ReportError::from)?;
        self.ranks.to_first("the points of a round", &bytes)?;
        Ok(Vec::new())
    }

    /// Whether rank 0 has heard of a failure, after which no round begins.
    ///
    /// # Errors
    /// A rank that failed otherwise.
    pub(super) fn has_failed(&self, own: bool) -> Result<bool, Error> {
        Ok(self.ranks.any("whether to go on", own)?)
    }
}

fn tell(point: Result<SweptOutcome, Error>) -> Told {
    match point {
        Ok(row) => Told::Row(Box::new(row)),
        Err(error) => Told::Missing {
            message: error.to_string(),
            of_the_input: error.is_of_the_input(),
            no_states: is_empty_sector(&error),
        },
    }
}

fn heard(rank: usize, told: Told) -> Result<SweptOutcome, Error> {
    match told {
        Told::Row(row) => Ok(*row),
        Told::Missing { message, of_the_input, no_states } => {
            let message = if no_states { message } else { format!("on rank {rank}: {message}") };
            Err(Error::OfRank { message, of_the_input, no_states })
        }
    }
}

/// The cards that a name stands for on this machine: without numbers all of them, where there is one.
pub(super) fn cards_of(device: &str) -> Result<Vec<String>, Error> {
    let has_cards = matches!(device, "auto" | "cuda") && Device::cards() > 0;
    Ok(Device::cards_of(if has_cards { "cuda:all" } else { device })?)
}

/// This rank's cards of a list: every so many. What is not a card, and the CPU, every rank has for itself. An error is the number
/// of cards where there are too few.
pub(super) fn dealt(cards: &[String], number: usize, ranks: usize) -> Result<Vec<String>, usize> {
    let is_list = cards.len() > 1 || cards[0].starts_with("cuda");
    if !is_list {
        return Ok(cards.to_vec());
    }
    if cards.len() < ranks {
        return Err(cards.len());
    }
    Ok(cards.iter().skip(number).step_by(ranks).cloned().collect())
}

pub(super) fn too_few(device: &str, cards: usize, ranks: usize) -> Error {
    let instead = format!(
        "{ranks} ranks are on this machine, and it names {cards} {}: start as many ranks there as cards, or fewer, or one process \
         with all cards",
        if cards == 1 { "card" } else { "cards" }
    );
    DeviceError::NotOverRanks { what: format!("--device {device}"), instead }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_of_a_machine_are_dealt_to_its_ranks() {
        let named = |name: &str| Device::cards_of(name).unwrap();
        let four = named("cuda:0-3");
        let of = |ranks: usize| (0..ranks).map(|number| dealt(&four, number, ranks).unwrap()).collect::<Vec<_>>();
        assert_eq!(of(2), [["cuda:0", "cuda:2"], ["cuda:1", "cuda:3"]]);
        assert_eq!(of(3).concat().len(), 4);
        assert_eq!(dealt(&four, 0, 5), Err(4));
        assert_eq!(dealt(&named("cuda"), 1, 2), Err(1));
        for alone in ["cpu", "sim", "auto"] {
            assert_eq!(dealt(&named(alone), 1, 2).unwrap(), [alone]);
        }
        let error = too_few("cuda:0-3", 4, 5).to_string();
        assert!(error.contains("5 ranks are on this machine, and it names 4 cards"), "{error}");
    }
}
