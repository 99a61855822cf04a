//! `"all"` in `[sector]`: every value of a charge.
//!
//! In: the file, a key of `[sector]` that is `"all"`. Out: the values that the lattice can have, nearest to 0 first: 0 to the number of sites
//! for `up`, 0, 2, −2, 4 … for `two_sz` of an even number of spins ½. They follow from what the sites carry, which is read from the file
//! without the keys that have several values.

use super::problem::Wrong;
use super::section::{Problems, Section, Source};
use super::{ModelFile, sweep};
use crate::operator::Charge;
use std::collections::BTreeSet;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// The keys that may be "all".
const KEYS: [(&str, Charge); 6] = [
    ("up", Charge::Up),
    ("down", Charge::Down),
    ("particles", Charge::Particles),
    ("bosons", Charge::Bosons),
    ("two_sz", Charge::TwoSz),
    ("parity", Charge::Parity),
];

/// The section of charges with the dot behind it, as it begins the names of swept keys.
pub(super) const SECTION: &str = "sector.";

/// Whether a key of `[sector]` may be "all"; not for DMRG, whose energies have no multiplicities.
pub(super) fn may_be_all(file: &DeTable<'_>, key: &str) -> bool {
    KEYS.iter().any(|(own, _)| *own == key) && file.get("dmrg").is_none()
}

/// All values of a key, as texts.
pub(super) fn values(
    file: &DeTable<'_>,
    key: &str,
    place: Range<usize>,
    source: Source<'_>,
    problems: &Problems,
) -> Option<Vec<String>> {
    let (_, charge) = *KEYS.iter().find(|(own, _)| *own == key)?;
    let swept = |section: &str, keys: Option<[&str; 2]>| {
        let table = file.get(section).and_then(|value| value.get_ref().as_table());
        let own = |key: &str| keys.is_none_or(|keys| keys.contains(&key));
        table.is_some_and(|table| table.iter().any(|(key, value)| own(key.get_ref()) && sweep::is_sweep(value)))
    };
    if swept("lattice", None) || swept("model", Some(["site", "spin"])) {
        let expected = "the values themselves, { sweep = [0, 1, 2] }, while the lattice or what its sites carry is swept, since \
                        \"all\" are those of one lattice";
        let found = "\"all\"".into();
        problems.add(place, Wrong::OutOfRange { key: key.into(), expected: expected.into(), found });
        return None;
    }
    let kinds = probe(file, source, problems)?.operator().kinds_or_implied();
    let mut reached = BTreeSet::from([0]);
    for kind in &kinds {
        let local: BTreeSet<i64> = kind.states().map(|state| kind.charge(charge, 0, state)).collect();
        reached = reached.iter().flat_map(|sum| local.iter().map(move |value| charge.folded(sum + value))).collect();
    }
    let mut values: Vec<i64> = reached.into_iter().collect();
    values.sort_by_key(|value| (value.abs(), *value < 0));
    // A parity is written as its sign.
    let written = |value: &i64| if charge == Charge::Parity { 1 - 2 * value } else { *value };
    Some(values.iter().map(|value| written(value).to_string()).collect())
}

/// The model with the first value of each key that has several, in some sector.
fn probe(file: &DeTable<'_>, source: Source<'_>, problems: &Problems) -> Option<ModelFile> {
    // Spins need a 2Sz of their parity.
    let read = |number: &'static str, problems: &Problems| {
        let table = with_one_value(file, number);
        ModelFile::collect_from(Section::new("", &table, 0..0, problems), "", source, problems)
            .filter(|_| problems.is_empty())
    };
    let numbers = ["n = 0", "n = 1"];
    let fewest = |number: &&'static str| {
        let found = Problems::default();
        read(number, &found);
        found.len()
    };
    read(numbers.into_iter().min_by_key(fewest)?, problems)
}

/// The file without what does not say what its sites carry; a charge that is "all" has this value, and of sites of any kind is left out.
fn with_one_value<'t>(file: &DeTable<'t>, number: &'static str) -> DeTable<'t> {
    let mut table = file.clone();
    ["symmetry", "solve", "observables", "output"].into_iter().for_each(|section| drop(table.remove(section)));
    let of_any_kind = file
        .get("model")
        .and_then(|model| model.get_ref().as_table()?.get("name")?.get_ref().as_str())
        .is_some_and(|name| name == "terms");
    for (name, section) in table.iter_mut() {
        let DeValue::Table(keys) = section.get_mut() else { continue };
        let is_sector = name.get_ref() == "sector";
        let is_all = |key: &str, value: &DeValue<'_>| {
            is_sector && value.as_str() == Some("all") && KEYS.iter().any(|(own, _)| *own == key)
        };
        if of_any_kind {
            for (own, _) in KEYS {
                if keys.get(own).is_some_and(|value| is_all(own, value.get_ref())) {
                    keys.remove(own);
                }
            }
        }
        for (key, value) in keys.iter_mut() {
            if is_all(key.get_ref(), value.get_ref()) {
                let parsed = DeTable::parse_recoverable(number).0.into_inner();
                parsed.get("n").into_iter().for_each(|one| *value.get_mut() = one.get_ref().clone());
            } else if sweep::is_sweep(value)
                && let Some(first) = first_of(value.get_ref())
            {
                *value = first;
            }
        }
    }
    table
}

/// The first value of a sweep.
fn first_of<'t>(sweep: &DeValue<'t>) -> Option<toml::Spanned<DeValue<'t>>> {
    match sweep.as_table()?.get("sweep")?.get_ref() {
        DeValue::Array(items) => items.first().cloned(),
        DeValue::Table(range) => range.get("from").cloned(),
        _ => None,
    }
}
