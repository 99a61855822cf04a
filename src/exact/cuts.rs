//! Where the rows of a general multiply are cut for several cards.
//!
//! A vector has equal parts on all cards. In the order by charge the first and the last part reach fewer elements of the others than those in
//! between, so equal shares of the rows would not take equally long. Each card takes the columns that begin between two cuts; they are where
//! the rows before them cost as much as those of as many cards. In: the terms, the tables. Out: rows, ascending.

use crate::basis::LinTables;
use eigenforge_templates::exact::FlipGroup;
use rayon::prelude::*;

/// Rows that are looked at, each for all up to the next.
const SAMPLE: u64 = 1 << 14;
/// What an element of another card's memory costs beyond one of the card's own, which costs 1: four H200 take the time of the kernels and 0.4 of
/// that of the links (rings of 34 and 36 sites), 8 bytes at 331 GB/s beside 1.5 ps for each of 19 elements of a row.
const FROM_ELSEWHERE: f64 = 6.0;

/// The rows where each card begins, and the end.
pub(super) fn cuts(groups: &[FlipGroup], tables: &LinTables, rows: u64, cards: u32) -> Vec<u64> {
    let (samples, cards) = (SAMPLE.min(rows), u64::from(cards));
    let first = |part: u64, parts: u64| (u128::from(rows) * u128::from(part) / u128::from(parts.max(1))) as u64;
    let owner = |row: u64| (0..cards).rev().find(|card| first(*card, cards) <= row).unwrap_or(0);
    let cost = |sample: u64| {
        let row = first(sample, samples);
        let (state, own) = (tables.state(row), owner(row));
        let acts = |group: &&FlipGroup| group.terms.iter().any(|term| state & term.care == term.pattern);
        let reached = groups.iter().filter(acts).map(|group| tables.index(state ^ group.flip));
        reached.fold(1.0, |cost, row| cost + if owner(row) == own { 1.0 } else { 1.0 + FROM_ELSEWHERE })
    };
    let costs: Vec<f64> = (0..samples).into_par_iter().map(cost).collect();
    let total: f64 = costs.iter().sum();
    let mut found = vec![0];
    let mut before = 0.0;
    for (sample, cost) in costs.iter().enumerate() {
        before += cost;
        while (found.len() as u64) < cards && before >= total * found.len() as f64 / cards as f64 {
            found.push(first(sample as u64 + 1, samples));
        }
    }
    found.resize(cards as usize, rows);
    found.push(rows);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::{Model, Prepared};
    use crate::input::ModelFile;
    use eigenforge_templates::ScalarType;

    fn cuts_of(model: &Model, cards: u32) -> Vec<u64> {
        let prepared = Prepared::new(model.working(), ScalarType::F64).unwrap();
        let Prepared::General { plan, lists, .. } = &prepared else { panic!("a general multiply") };
        let tables = &lists.as_ref().expect("columns").tables;
        cuts(&plan.groups, tables, model.working().dimension(), cards)
    }

    fn ring(sites: usize) -> Model {
        let text = format!(
            "[model]\nname = \"xxz\"\njxy = 1.0\njz = 1.0\n[lattice]\nkind = \"chain\"\nsize = {sites}\nboundary = \"periodic\"\n[sector]\n\
             two_sz = 0\n"
        );
        ModelFile::parse("ring.toml", &text).unwrap().to_model().unwrap()
    }

    #[test]
    fn cards_in_the_middle_of_a_ring_take_fewer_rows() {
        let model = ring(18);
        let rows = model.working().dimension();
        for cards in [2, 3, 4, 7] {
            let cuts = cuts_of(&model, cards);
            assert!(
                cuts.len() == cards as usize + 1 && cuts.is_sorted() && (cuts[0], cuts[cards as usize]) == (0, rows)
            );
        }
        let cuts = cuts_of(&model, 4);
        let shares: Vec<u64> = cuts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(shares[0] > shares[1] && shares[3] > shares[2], "{shares:?}");
        assert!(shares.iter().all(|share| share.abs_diff(rows / 4) < rows / 20), "{shares:?}");
    }
}
