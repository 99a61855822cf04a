//! `[entanglement]`: sets of sites whose reduced density matrices a run reports.
//!
//! docs/lattices.md has the table of its keys. In: the section, and the number of sites. Out: [`EntanglementSpec`].

use super::problem::Wrong;
use super::section::{Placed, Problems, Section};

/// What to report of the entanglement of each level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntanglementSpec {
    /// `sites`: the sites of each set.
    pub sites: Vec<Vec<usize>>,
    /// `weights`: how many of the largest eigenvalues of a density matrix are reported.
    pub weights: usize,
}

/// Eigenvalues that are reported unless the file says how many.
const WEIGHTS: usize = 16;

/// Reads the section of a lattice of so many sites.
pub(super) fn read(section: Section<'_>, sites: usize, problems: &Problems) -> Option<EntanglementSpec> {
    section.require("sites", "the sites of each set: sites = [[0, 1, 2, 3]]");
    let sets = sets(&section, "sites", sites, problems);
    if sets.as_ref().is_some_and(Vec::is_empty) {
        let (expected, found) = ("one set of sites or more".into(), "an empty list".into());
        problems.add(section.place("sites"), Wrong::OutOfRange { key: "sites".into(), expected, found });
    }
    let weights = section.count("weights", 1).map_or(WEIGHTS, |weights| weights.value);
    section.finish("key", |_| None);
    Some(EntanglementSpec { sites: sets?, weights })
}

/// Sets of sites of a lattice of so many, each site once in a set.
pub(super) fn sets(
    section: &Section<'_>,
    key: &'static str,
    sites: usize,
    problems: &Problems,
) -> Option<Vec<Vec<usize>>> {
    let sets = section.lists_of_counts(key)?;
    for Placed { value: set, span } in &sets {
        let twice = set.iter().enumerate().find(|(place, site)| set[..*place].contains(site));
        let wrong = match (set.iter().find(|site| **site >= sites), twice) {
            (Some(site), _) => (format!("sites from 0 to {}", sites.saturating_sub(1)), site.to_string()),
            (None, Some((_, site))) => ("each site once".into(), format!("site {site} twice")),
            (None, None) => continue,
        };
        let (expected, found) = wrong;
        problems.add(span.clone(), Wrong::OutOfRange { key: key.into(), expected, found });
    }
    Some(sets.into_iter().map(|set| set.value).collect())
}
