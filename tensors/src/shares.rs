//! The groups of one transformation divided among several cards.
//!
//! In: groups of quadruples, a number of cards. Out: for each card its groups, in the order of the plan, and what they take there.
//! The cost of a group is the bytes of it in progress, as for the processes of a [team](super::team): its numbers both ways and W⁰.
//! Groups are independent, so the bits of the result do not depend on the division.

use super::device::{DeviceMemory, memory_plan, part_of};
use super::plan::Plan;
use super::work::bytes_of;
use eigenforge_core::words::size;
use std::cmp::Reverse;

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
    let of = |share: &[usize]| share.iter().map(|at| bytes_of(&plan.groups[*at], channels)).sum::<u64>() as f64;
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
