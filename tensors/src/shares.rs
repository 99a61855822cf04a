//! The groups of one transformation in portions, and divided among several cards.
//!
//! In: groups of quadruples, bytes of memory, a number of cards or processes. Out: portions for the workers of a [team](super::team);
//! for each card its groups, in the order of the plan, and what they take there. The cost of a group is the bytes of it in progress:
//! its numbers both ways and W⁰. Groups are independent, so the bits of the result do not depend on the division.

use super::device::{DeviceMemory, memory_plan, part_of};
use super::plan::{Group, Plan};
use super::work::Direction;
use eigenforge_core::words::size;
use std::cmp::Reverse;

/// A piece that fits into memory many times is still no larger: what is lost by a kill. With smaller ones reading and writing
/// overlap more; each ends with the disk's word that it has them.
pub(crate) const LARGEST_PIECE: u64 = 256 << 20;
/// Pieces under way where memory allows: read, waiting, worked on, written.
pub(crate) const UNDER_WAY: u64 = 4;
/// Approximate number of portions per process with a device: few texts to compile, and a short wait for the last.
const PORTIONS_A_WORKER: u64 = 3;

/// Bytes of a group in progress: input, output and intermediate numbers, and W⁰.
pub(crate) fn bytes_of(group: &Group, channels: usize) -> u64 {
    8 * (4 * (channels * group.length) as u64 + 2 * group.length as u64 + group.w0())
}

/// The same of several.
pub(crate) fn bytes_of_all(plan: &Plan, groups: &[usize], channels: usize) -> u64 {
    groups.iter().map(|at| bytes_of(&plan.groups[*at], channels)).sum()
}

/// Groups processed together: consecutive ones of `wanted` up to a limit in bytes, at least one group each.
pub(crate) fn pieces(plan: &Plan, wanted: &[usize], channels: usize, bytes: u64) -> Vec<Vec<usize>> {
    let (mut pieces, mut held): (Vec<Vec<usize>>, u64) = (Vec::new(), 0);
    for at in wanted {
        let needed = bytes_of(&plan.groups[*at], channels);
        match pieces.last_mut().filter(|_| held + needed <= bytes) {
            Some(piece) => {
                piece.push(*at);
                held += needed;
            }
            None => {
                pieces.push(vec![*at]);
                held = needed;
            }
        }
    }
    pieces
}

/// Groups that a card does as one plan, in the portions that go through host memory.
pub(crate) fn card_portions(
    plan: &Plan,
    groups: &[usize],
    channels: usize,
    room: u64,
    direction: Direction,
) -> Vec<Vec<usize>> {
    match direction.has_portions() {
        true => pieces(plan, groups, channels, LARGEST_PIECE.min(room / UNDER_WAY)),
        false => vec![groups.to_vec()],
    }
}

/// Portions for processes with devices: of about equal numbers, none larger than `bytes` unless it is a single group, those with the
/// most work first. They are larger than on CPUs, because each has its own text to compile and one launch does all of it.
pub(crate) fn device_portions(
    plan: &Plan,
    groups: &[usize],
    channels: usize,
    workers: usize,
    bytes: u64,
) -> Vec<Vec<usize>> {
    let share = bytes_of_all(plan, groups, channels).div_ceil(PORTIONS_A_WORKER * workers.max(1) as u64);
    let mut portions = pieces(plan, groups, channels, share.min(bytes));
    portions.sort_by_key(|portion| Reverse(bytes_of_all(plan, portion, channels)));
    portions
}

/// Portions for processes on CPUs: of one group each, those with the most multiplications first.
pub(crate) fn single_portions(plan: &Plan, groups: &[usize]) -> Vec<Vec<usize>> {
    let work = |group: &usize| -> u64 {
        let blocks = plan.groups[*group].products.iter().flat_map(|product| &product.tensors);
        blocks.map(|block| (block.rows * block.rows * block.columns) as u64).sum()
    };
    let mut groups = groups.to_vec();
    groups.sort_by_key(|group| Reverse(work(group)));
    groups.into_iter().map(|group| vec![group]).collect()
}

/// Divides groups among at most `cards` cards: the costliest first, each to the card with the least so far. No share is empty but the
/// only one of no groups.
pub(crate) fn shares(plan: &Plan, groups: &[usize], channels: usize, cards: usize) -> Vec<Vec<usize>> {
    let cost = |at: &usize| bytes_of(&plan.groups[*at], channels);
    let mut order = groups.to_vec();
    order.sort_by_key(|at| (Reverse(cost(at)), *at));
    let mut shares = vec![(0, Vec::new()); cards.min(groups.len()).max(1)];
    for at in order {
        let (least, share) =
            shares.iter_mut().min_by_key(|(least, _)| *least).unwrap_or_else(|| unreachable!("a card"));
        *least += cost(&at);
        share.push(at);
    }
    let sorted = |(_, mut share): (u64, Vec<usize>)| {
        share.sort_unstable();
        share
    };
    shares.into_iter().map(sorted).collect()
}

/// Its part of the cost of several shares.
pub(crate) fn fraction(plan: &Plan, share: &[usize], all: &[Vec<usize>], channels: usize) -> f64 {
    let of = |share: &[usize]| bytes_of_all(plan, share, channels) as f64;
    let whole: f64 = all.iter().map(|share| of(share)).sum();
    if whole > 0.0 { of(share) / whole } else { 1.0 }
}

/// Bytes of the numbers of some groups, in or out.
pub(crate) fn numbers(plan: &Plan, groups: &[usize], channels: usize) -> u64 {
    groups.iter().map(|at| 8 * (channels * plan.groups[*at].length) as u64).sum()
}

/// What some groups take of a card with so many bytes free.
pub(crate) fn memory(plan: &Plan, groups: &[usize], channels: usize, free: u64) -> DeviceMemory {
    memory_plan(&part_of(plan, groups), channels, free)
}

/// "5 of 9: there are 5 groups of quadruples to be done", or "2".
pub(crate) fn count(shares: &[Vec<usize>], cards: usize) -> String {
    match shares.len() {
        used if used < cards => format!("{used} of {cards}: there are no more groups of quadruples to be done"),
        used => used.to_string(),
    }
}

/// The division of all groups for people, without a card.
pub fn describe(plan: &Plan, channels: usize, cards: usize) -> String {
    let all: Vec<usize> = (0..plan.groups.len()).collect();
    let shares = shares(plan, &all, channels, cards);
    let mut largest = 0.0;
    let mut text = format!("cards    {}; groups of quadruples by the bytes that they take\n", count(&shares, cards));
    for (card, share) in shares.iter().enumerate() {
        let part = fraction(plan, share, &shares, channels);
        let needs = memory(plan, share, channels, u64::MAX);
        largest = f64::max(largest, part);
        text += &format!(
            "         card {card}, {:.1} % of the work: {} groups, {} in and as many out, {} of W0; {} of its memory\n",
            100.0 * part,
            share.len(),
            size(numbers(plan, share, channels)),
            size(needs.coefficients),
            size(needs.bytes())
        );
    }
    text + &format!("         the largest share is {:.1} %\n", 100.0 * largest)
}

#[cfg(test)]
mod tests {
    use super::super::space::OscillatorSpace;
    use super::*;

    #[test]
    fn pieces_keep_the_limit_and_hold_every_group_once() {
        let plan = Plan::new(OscillatorSpace { n_max: 4 });
        let of = |group: &usize| bytes_of(&plan.groups[*group], 3);
        let largest = (0..plan.groups.len()).map(|group| of(&group)).max().expect("groups");
        let all: Vec<usize> = (0..plan.groups.len()).collect();
        for limit in [0, largest, 3 * largest, u64::MAX] {
            let pieces = pieces(&plan, &all, 3, limit);
            assert_eq!(pieces.concat(), all);
            assert!(pieces.iter().all(|piece| piece.len() == 1 || piece.iter().map(of).sum::<u64>() <= limit));
            assert!(limit != 0 || pieces.len() == plan.groups.len());
            assert!(limit != u64::MAX || pieces.len() == 1);
        }
    }

    /// Every group once, in the order of the plan; no card has more than the even share and one group; more cards than groups take as
    /// many as there are.
    #[test]
    fn groups_are_divided_evenly() {
        for (n_max, groups) in [(0, 5), (1, 8), (9, 0)] {
            let plan = Plan::new(OscillatorSpace { n_max });
            assert!(groups == 0 || plan.groups.len() == groups, "{}", plan.groups.len());
            let wanted: Vec<usize> = (0..plan.groups.len()).filter(|at| n_max == 0 || at % 5 != 1).collect();
            let costs: Vec<u64> = plan.groups.iter().map(|group| bytes_of(group, 3)).collect();
            for cards in [1, 2, 3, 8, 200] {
                let shares = shares(&plan, &wanted, 3, cards);
                assert_eq!(shares.len(), cards.min(wanted.len()));
                let mut all = shares.concat();
                all.sort_unstable();
                assert!(all == wanted && shares.iter().all(|share| !share.is_empty() && share.is_sorted()));
                let of = |share: &Vec<usize>| share.iter().map(|at| costs[*at]).sum::<u64>();
                let (most, whole) =
                    (shares.iter().map(of).max().unwrap(), wanted.iter().map(|at| costs[*at]).sum::<u64>());
                let largest = wanted.iter().map(|at| costs[*at]).max().unwrap();
                assert!(most <= whole / shares.len() as u64 + largest, "{cards} cards: {most} of {whole}");
                let parts: f64 = shares.iter().map(|share| fraction(&plan, share, &shares, 3)).sum();
                assert!((parts - 1.0).abs() < 1e-12);
            }
        }
        let plan = Plan::new(OscillatorSpace { n_max: 0 });
        assert_eq!(shares(&plan, &[], 3, 4), [Vec::<usize>::new()], "a run that has nothing left to do");
        let text = describe(&plan, 3, 9);
        assert!(text.contains("cards    5 of 9: there are no more") && text.contains("card 4, "), "{text}");
        assert!(!describe(&plan, 3, 5).contains(" of 5:"));
    }
}
