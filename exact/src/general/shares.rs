//! What one of several cards does of a general multiply: the rows that it makes, and the elements that it reads of others.

use super::GeneralMultiply;
use eigenforge_product::Received;
use eigenforge_product::ranks::{joined, part_range};
use eigenforge_templates::exact::GeneralStrategy;
use rayon::prelude::*;
use std::iter::once;
use std::ops::Range;

/// Rows of a card that are looked at.
const SAMPLE: u64 = 1 << 14;

impl GeneralMultiply {
    /// The elements of y that the kernel of a card makes: blocks of rows, or columns of states with the same high part; of complex vectors
    /// the same elements of both parts.
    pub(super) fn rows_made(&self, card: usize, cards: usize) -> Vec<Range<usize>> {
        let (dimension, shape) = (self.plan.dimension as usize, self.plan.shape);
        let (Some(lists), GeneralStrategy::Staged { columns }) = (self.lists.as_deref(), shape.strategy) else {
            return joined(once(part_range(dimension, card, cards)).collect());
        };
        let rows = if lists.sizes.complex { dimension / 2 } else { dimension };
        let parts = &lists.tables.parts;
        let tasks = lists.task_columns(columns);
        let tasks: Vec<&[u32]> = tasks.chunks(lists.sizes.taken(columns) as usize).collect();
        let bound = |row: usize| tasks.partition_point(|task| (parts[task[0] as usize].start as usize) < row);
        let own = part_range(rows, card, cards);
        let columns = tasks[bound(own.start)..bound(own.end)].iter().flat_map(|task| task.iter());
        let column = |column: &u32| {
            let part = &parts[*column as usize];
            part.start as usize..(part.start + part.count) as usize
        };
        let runs: Vec<Range<usize>> = columns.filter(|column| **column != u32::MAX).map(column).collect();
        let imaginary = if lists.sizes.complex { &runs[..] } else { &[] };
        joined(runs.iter().cloned().chain(imaginary.iter().map(|run| run.start + rows..run.end + rows)).collect())
    }

    /// Bytes of elements that each card reads of others, counted in a sample of its rows, the same in every run.
    pub(super) fn elements_received(&self, cards: u32) -> Received {
        let (rows, tables, groups) = (self.plan.dimension, &self.tables, &self.plan.groups);
        // The rows of a card, but for pages.
        let part = |rows: u64, card: u64, cards: u64| {
            let first = |card: u64| (u128::from(rows) * u128::from(card) / u128::from(cards)) as u64;
            first(card)..first(card + 1)
        };
        let bytes = |card: u64| {
            let own = part(rows, card, cards.into());
            let length = own.end - own.start;
            let samples = SAMPLE.min(length);
            let elsewhere = |sample: u64| {
                let state = tables.state(own.start + part(length, sample, samples).start);
                let reached = groups
                    .iter()
                    .filter(|group| group.terms.iter().any(|term| state & term.care == term.pattern))
                    .map(|group| tables.index(state ^ group.flip));
                reached.filter(|row| !own.contains(row)).count() as u64
            };
            let counted: u64 = (0..samples).into_par_iter().map(elsewhere).sum();
            let element = self.plan.scalar.bytes() as f64;
            (counted as f64 / samples.max(1) as f64 * length as f64 * element).round() as u64
        };
        Received::elements((0..u64::from(cards)).map(bytes).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use eigenforge_core::lattice::Lattice;
    use eigenforge_templates::ScalarType;

    /// Small sectors are not sampled but counted: off-diagonal elements whose column is another card's.
    #[test]
    fn elements_of_other_cards_are_those_of_the_matrix() {
        let lattices = [Lattice::chain(9).open(), Lattice::square([3, 3]).open()];
        for (lattice, cards) in lattices.iter().flat_map(|lattice| [2, 3, 5].map(|cards| (lattice, cards))) {
            let model = samples::xxz(lattice, 1.0, 0.6, 1);
            let dense = model.working().dense().unwrap();
            let received = model.received(ScalarType::F32, cards).unwrap().unwrap();
            for (card, bytes) in received.bytes.iter().enumerate() {
                let own = part_range(model.dimension() as usize, card, cards as usize);
                let elsewhere = |(row, column): (usize, usize)| {
                    own.contains(&row) && !own.contains(&column) && dense[[row, column]] != 0.0
                };
                let expected = dense.indexed_iter().filter(|(place, _)| elsewhere(*place)).count() as u64;
                assert_eq!(*bytes, 4 * expected, "{lattice:?}, card {card} of {cards}");
            }
        }
    }
}
