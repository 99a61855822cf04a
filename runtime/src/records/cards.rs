//! y = H x over several cards: whole blocks of y to each, by cost.
//!
//! In: the records of y = H x, the number of cards. Out, for each card: the records of its blocks, with the intermediates that these
//! read, which stay on the card that makes them; the ranges of the operators that they read; and where its blocks belong. The costliest
//! block goes first, each to the card with the least so far (Graham 1969).
//!
//! ```text
//! x, y as one card has them   | block 0 | block 1 | block 2 | block 3 | …
//! a card's part of x and y    | block 1 | block 3 |                        (its blocks, ascending, without gaps)
//! x as every card collects it | part of card 0 | part of card 1 | …        (each from `start` on)
//! ```
//!
//! So every vector of a solver can be held in parts, one on each card: y is made where it stays, and only x is copied, once per product.

use super::split::{chosen_blocks, joined, move_operands, needed, operands, place, reads, work};
use super::{OperandSpace, SPACES, TwoStages};
use std::ops::Range;

/// Operations that take as long as a solver's own work on one element of a vector: some 25 reads of 8 bytes in an iteration, on cards
/// with ten operations per byte.
const FLOPS_OF_AN_ELEMENT: f64 = 2000.0;
/// Gaps between ranges of operators up to this many elements are copied: a copy over a link takes as long to start.
const GAP: usize = 1 << 15;
/// Ranges begin and end at multiples of this many elements, so that a copy is aligned as its source is.
const ALIGNED: usize = 32;

/// What one card computes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CardShare {
    /// Its blocks of y, from x as every card collects it.
    pub product: TwoStages,
    /// Elements of its part of a vector.
    pub length: usize,
    /// Where its part begins in x as every card collects it.
    pub start: usize,
    /// Its blocks: first element in its part, in the whole vector, and elements.
    pub stretches: Vec<[usize; 3]>,
    /// The ranges that it reads of each space of operators, ascending; their last one may end behind the buffer.
    pub reads: [Vec<Range<usize>>; SPACES],
}

/// y = H x over several cards.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CardShares {
    /// What each card does; every one has a block.
    pub cards: Vec<CardShare>,
    /// Elements of x as every card collects it.
    pub collected: usize,
}

/// A block of a vector: its first element, its elements, and the number of its group if it has records.
struct Block {
    first: usize,
    length: usize,
    group: Option<usize>,
    cost: f64,
}

impl CardShares {
    /// Shares out among at most `cards` cards; `None` where a second one has no block, or a record reads more than one block of x.
    pub(crate) fn new(whole: &TwoStages, cards: usize) -> Option<CardShares> {
        let needed = needed(whole);
        let blocks = blocks(whole, &needed);
        let owners = owners(&blocks, cards);
        let count = owners.iter().max().map_or(0, |last| last + 1);
        if count < 2 || !reads_within_blocks(whole, &blocks) {
            return None;
        }
        // Where each block is in the part of its card.
        let mut lengths = vec![0; count];
        let inside: Vec<usize> = blocks
            .iter()
            .zip(&owners)
            .map(|(block, owner)| {
                lengths[*owner] += block.length;
                lengths[*owner] - block.length
            })
            .collect();
        let mut collected = 0;
        let starts: Vec<usize> = lengths
            .iter()
            .map(|length| {
                let start = collected;
                collected += length.next_multiple_of(ALIGNED);
                start
            })
            .collect();
        let input = |element: usize| {
            let block = holder(&blocks, element);
            starts[owners[block]] + inside[block] + (element - blocks[block].first)
        };
        let card = |card: usize| {
            let mine = || (0..blocks.len()).filter(|block| owners[*block] == card);
            let kept: Vec<bool> = {
                let mut kept = vec![false; whole.second.groups.len()];
                mine().filter_map(|block| blocks[block].group).for_each(|group| kept[group] = true);
                kept
            };
            let mut product = chosen_blocks(whole, &needed, &kept);
            let places = mine().filter(|block| blocks[*block].group.is_some()).map(|block| inside[block]);
            product.second.groups.iter_mut().zip(places).for_each(|(group, at)| group.offset = at);
            product.second.length = lengths[card];
            for stage in [&mut product.first, &mut product.second] {
                move_operands(stage, |operand| (operand.space == OperandSpace::Input).then(|| input(operand.offset)));
            }
            let mut read = reads(&product);
            read[OperandSpace::Input as usize].clear();
            let reads = read.map(|ranges| joined(ranges, GAP).into_iter().map(aligned).collect());
            let stretches = mine().map(|block| [inside[block], blocks[block].first, blocks[block].length]);
            CardShare { product, length: lengths[card], start: starts[card], stretches: stretches.collect(), reads }
        };
        Some(CardShares { cards: (0..count).map(card).collect(), collected })
    }
}

impl CardShare {
    /// Bytes of the operators that it reads.
    pub(crate) fn operator_bytes(&self) -> u64 {
        self.reads.iter().flatten().map(|range| 8 * range.len() as u64).sum()
    }

    /// The same with operators that were copied side by side: [`CardShare::reads`] one after the other.
    pub(crate) fn of_copies(&self) -> TwoStages {
        let mut product = self.product.clone();
        for stage in [&mut product.first, &mut product.second] {
            move_operands(stage, |operand| {
                let is_operator = !matches!(operand.space, OperandSpace::Input | OperandSpace::Between);
                is_operator.then(|| place(&self.reads[operand.space as usize], operand.offset))
            });
        }
        product
    }
}

fn aligned(range: Range<usize>) -> Range<usize> {
    range.start / ALIGNED * ALIGNED..range.end.next_multiple_of(ALIGNED)
}

/// The blocks of y: its groups, and what no group writes, which is zero.
fn blocks(whole: &TwoStages, needed: &[Vec<usize>]) -> Vec<Block> {
    let (mut list, mut at) = (Vec::with_capacity(whole.second.groups.len()), 0);
    let own = |length: usize| FLOPS_OF_AN_ELEMENT * length as f64;
    let gap = |from: usize, to: usize| {
        (to > from).then(|| Block { first: from, length: to - from, group: None, cost: own(to - from) })
    };
    for (number, (group, of)) in whole.second.groups.iter().zip(needed).enumerate() {
        list.extend(gap(at, group.offset));
        let cost = work(whole, group, of) + own(group.length);
        list.push(Block { first: group.offset, length: group.length, group: Some(number), cost });
        at = group.offset + group.length;
    }
    list.extend(gap(at, whole.second.length));
    list
}

/// The card of each block; cards without any come last.
fn owners(blocks: &[Block], cards: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..blocks.len()).collect();
    order.sort_by(|a, b| blocks[*b].cost.total_cmp(&blocks[*a].cost));
    let (mut loads, mut owners) = (vec![(0.0f64, 0usize); cards.max(1)], vec![0; blocks.len()]);
    for block in order {
        // A card without a block is taken only by one that has elements.
        let least = |card: &usize| (ordered(loads[*card].0), loads[*card].1, *card);
        let card = (0..loads.len()).min_by_key(least).unwrap_or(0);
        let card = if blocks[block].length == 0 { 0 } else { card };
        loads[card] = (loads[card].0 + blocks[block].cost, loads[card].1 + blocks[block].length);
        owners[block] = card;
    }
    owners
}

/// A cost that is at least 0, as a number that can be sorted.
fn ordered(cost: f64) -> u64 {
    cost.to_bits()
}

/// The number of the block with an element.
fn holder(blocks: &[Block], element: usize) -> usize {
    blocks.partition_point(|block| block.first <= element).saturating_sub(1)
}

/// Whether each operand in x lies in one block.
fn reads_within_blocks(whole: &TwoStages, blocks: &[Block]) -> bool {
    let groups = whole.first.groups.iter().chain(&whole.second.groups);
    groups.flat_map(|group| &group.records).flat_map(operands).all(|(operand, extent)| {
        let block = &blocks[holder(blocks, operand.offset)];
        operand.space != OperandSpace::Input || operand.offset + extent <= block.first + block.length
    })
}

#[cfg(test)]
mod tests {
    use super::super::sample::{buffers, difference, sample};
    use super::*;
    use crate::seeded::vector;

    /// Parts of y from collected x and copied operators, put together, are the product; each intermediate is made once; the shares are
    /// as even as the largest block allows. One to more cards than blocks, two cards with an uneven number.
    #[test]
    fn parts_of_all_cards_are_the_product() {
        for (sectors, seed) in [(2, 5), (7, 6), (24, 7)] {
            let (whole, operators) = sample(sectors, 40, seed);
            let n = whole.second.length;
            let x = vector(n, seed + 10);
            let (mut between, mut expected) = (Vec::new(), vec![f64::NAN; n]);
            whole.multiply(buffers(&operators), &x, &mut between, &mut expected);
            assert_eq!(CardShares::new(&whole, 1), None);
            for cards in [2, 3, 5, 40] {
                let shares = CardShares::new(&whole, cards).unwrap();
                assert_eq!(shares.cards.len(), cards.min(sectors), "every card has a block");
                let mut collected = vec![f64::NAN; shares.collected];
                for share in &shares.cards {
                    for [at, from, count] in &share.stretches {
                        collected[share.start + at..][..*count].copy_from_slice(&x[*from..][..*count]);
                    }
                }
                let mut found = vec![f64::NAN; n];
                for share in &shares.cards {
                    let copied: Vec<(OperandSpace, Vec<f64>)> = operators
                        .iter()
                        .map(|(space, data)| {
                            let ranges = &share.reads[*space as usize];
                            let padded = |k: usize| data.get(k).copied().unwrap_or(f64::NAN);
                            (*space, ranges.iter().cloned().flatten().map(padded).collect())
                        })
                        .collect();
                    let mut y = vec![f64::NAN; share.length];
                    share.of_copies().multiply(buffers(&copied), &collected, &mut between, &mut y);
                    let mut in_place = vec![f64::NAN; share.length];
                    share.product.multiply(buffers(&operators), &collected, &mut between, &mut in_place);
                    assert_eq!(y, in_place, "copies change no bit");
                    for [at, to, count] in &share.stretches {
                        found[*to..][..*count].copy_from_slice(&y[*at..][..*count]);
                    }
                }
                assert!(difference(&found, &expected) < 1e-13, "{cards} cards: {}", difference(&found, &expected));
                let all: f64 = shares.cards.iter().map(|card| card.product.flops()).sum();
                assert!((all - whole.flops()).abs() < 1e-9 * all, "no intermediate is made twice");
                let needed = needed(&whole);
                let largest = blocks(&whole, &needed).iter().map(|block| block.cost).fold(0.0, f64::max);
                let loads: Vec<f64> =
                    shares.cards.iter().map(|c| c.product.flops() + FLOPS_OF_AN_ELEMENT * c.length as f64).collect();
                let mean = loads.iter().sum::<f64>() / cards as f64;
                assert!(loads.iter().all(|load| *load <= mean + largest), "{loads:?}");
            }
        }
    }

    /// What no group writes has a place too, and zero work goes somewhere; a record that reads two blocks is not shared out.
    #[test]
    fn gaps_and_records_of_two_blocks() {
        let (mut whole, _) = sample(6, 30, 9);
        whole.second.groups.remove(3);
        whole.second.length += 77;
        let shares = CardShares::new(&whole, 3).unwrap();
        let mut covered: Vec<Range<usize>> =
            shares.cards.iter().flat_map(|card| &card.stretches).map(|[_, at, count]| *at..at + count).collect();
        covered.sort_by_key(|range| range.start);
        assert!(covered.windows(2).all(|two| two[0].end == two[1].start));
        assert_eq!((covered[0].start, covered.last().unwrap().end), (0, whole.second.length));
        let (mut crossing, _) = sample(6, 30, 9);
        let end = crossing.second.groups[0].length;
        move_operands(&mut crossing.second, |operand| (operand.space == OperandSpace::Input).then_some(end - 1));
        assert_eq!(CardShares::new(&crossing, 3), None);
    }
}
