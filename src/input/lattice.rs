//! `[lattice]`: a named lattice, or sites and edges.
//!
//! In: the section, and how many sites there may be. Out: a valid [`Lattice`], or problems with their places. Too many sites
//! are refused before anything of their number is made.

use super::problem::{InputError, Wrong};
use super::section::{ParsedText, Placed, Problems, Section, Source};
use super::{SiteLimit, checked};
use crate::lattice::{Boundary, Lattice, LatticeError, LatticeKind};
use std::path::Path;

/// Checks the text of a `[lattice]` alone: `kind = "square"`, …; `name` is what errors call it.
///
/// # Errors
/// Everything that is wrong with the text, each problem at its place.
pub fn parse_lattice(name: &str, text: &str) -> Result<Lattice, InputError> {
    let parsed = ParsedText::new(Source { text, folder: Path::new("") });
    checked(name, text, |problems| {
        read(Section::new("lattice", parsed.table(problems)?, 0..0, problems), SiteLimit::Chain, problems)
    })
}

/// Reads the section.
pub(super) fn read(section: Section<'_>, most: SiteLimit, problems: &Problems) -> Option<Lattice> {
    let by_edges = section.has("edges") || (section.has("sites") && !section.has("kind"));
    let lattice = if by_edges { edge_list(&section, most, problems) } else { named(&section, most, problems) };
    section.finish("key", |key| match key {
        "sites" | "edges" => Some("a lattice has either `kind` and `size`, or `sites` and `edges`".into()),
        "kind" | "size" | "boundary" | "double_bonds" | "weights" | "further" if by_edges => Some(format!(
            "an explicit edge list has no `{key}`: write the edges, with their weights, as they should be"
        )),
        _ => None,
    });
    lattice
}

fn edge_list(section: &Section<'_>, most: SiteLimit, problems: &Problems) -> Option<Lattice> {
    section.require("sites", "the number of sites: sites = 16");
    section.require("edges", "the edges: edges = [[0, 1, 1.0], [1, 2, 1.0]] (weight 1 if left out)");
    let (sites, edges) = (section.count("sites", 1), section.edges("edges"));
    let (sites, edges) = (sites?, edges?);
    if let Err(wrong) = most.check(sites.value) {
        problems.add(sites.span, wrong);
        return None;
    }
    let list: Vec<(usize, usize, f64)> = edges.value.iter().map(|edge| edge.value).collect();
    Lattice::from_edges(sites.value, &list)
        .map_err(|error| {
            let span = match &error {
                LatticeError::EdgeToMissingSite { edge, .. }
                | LatticeError::EdgeToItself { edge, .. }
                | LatticeError::RepeatedEdge { edge, .. } => edges.value[*edge].span.clone(),
                _ => sites.span.clone(),
            };
            problems.add(span, Wrong::Lattice(error));
        })
        .ok()
}

fn named(section: &Section<'_>, most: SiteLimit, problems: &Problems) -> Option<Lattice> {
    section.require(
        "kind",
        "the lattice: kind = \"square\" and size = [4, 4], or sites = 16 and edges = [[0, 1, 1.0], …]",
    );
    let words: Vec<(&'static str, LatticeKind)> = LatticeKind::NAMED.iter().map(|kind| (kind.name(), *kind)).collect();
    let kind = section.choice("kind", &words).map(|kind| kind.value);
    if section.has("kind") {
        section.require("size", "the lengths: size = [4, 4] (of a chain size = 10)");
    }
    let (size, boundary) = (size(section), boundaries(section, kind));
    let (double_bonds, weights, further) =
        (section.flag("double_bonds"), section.numbers("weights"), section.one_or_more("further"));
    let (kind, size, boundary) = (kind?, size?, boundary?);

    let sites = match &size.value {
        Size::Lengths(lengths) if lengths.len() != kind.directions() => {
            let tilted = if kind.tilts() { ", or two periods such as [[4, -2], [2, 2]]" } else { "" };
            let expected = format!("{} length(s), as a {kind} lattice has{tilted}", kind.directions());
            let found = format!("{lengths:?}");
            problems.add(size.span, Wrong::OutOfRange { key: "size".into(), expected, found });
            return None;
        }
        Size::Lengths(lengths) => kind.sites(lengths),
        Size::Periods(rows) => kind.tilted_sites(*rows),
    };
    if let Err(wrong) = most.check(sites) {
        problems.add(size.span, wrong);
        return None;
    }
    let mut lattice = match size.value {
        Size::Lengths(lengths) => Lattice::named(kind, &lengths),
        Size::Periods(rows) => Lattice::tilted(kind, rows),
    };
    lattice = match boundary.as_slice() {
        [] => lattice,
        [Boundary::Open] => lattice.open(),
        [Boundary::Periodic] => lattice.periodic(),
        each => lattice.boundary(each),
    };
    if double_bonds == Some(true) {
        lattice = lattice.double_bonds();
    }
    if let Some(weights) = weights {
        lattice = lattice.weights(&weights.value);
    }
    if let Some(further) = further {
        lattice = lattice.further(&further.value);
    }
    if let Err(error) = lattice.check() {
        let key = match &error {
            LatticeError::EmptyDirection { .. }
            | LatticeError::TooManySites { .. }
            | LatticeError::NoTilt { .. }
            | LatticeError::ParallelPeriods { .. }
            | LatticeError::PeriodOfOneCell { .. } => "size",
            LatticeError::PeriodicLengthOne { .. }
            | LatticeError::BoundaryCount { .. }
            | LatticeError::TiltedBoundary { .. } => "boundary",
            LatticeError::WeightCount { .. } => "weights",
            LatticeError::TooManyShells { .. } | LatticeError::TooManyBonds { .. } => "further",
            _ => "kind",
        };
        problems.add(section.place(key), Wrong::Lattice(error));
        return None;
    }
    Some(lattice)
}

/// `size`: one length per direction, or the two periods of a tilted cluster.
enum Size {
    Lengths(Vec<usize>),
    Periods([[i64; 2]; 2]),
}

fn size(section: &Section<'_>) -> Option<Placed<Size>> {
    if section.is_list_of_lists("size") {
        let rows = section.two_rows("size")?;
        return Some(Placed { value: Size::Periods(rows.value), span: rows.span });
    }
    let lengths = section.counts("size", 1)?;
    Some(Placed { value: Size::Lengths(lengths.value), span: lengths.span })
}

/// No word (open; a tilted cluster: periodic), one word for all directions, or one per direction.
fn boundaries(section: &Section<'_>, kind: Option<LatticeKind>) -> Option<Vec<Boundary>> {
    let expected = "\"open\", \"periodic\", or a list with one word per direction";
    if !section.has("boundary") {
        section.words("boundary", expected); // makes the key known
        return Some(vec![]);
    }
    let words = section.words("boundary", expected)?;
    let known = [("open", Boundary::Open), ("periodic", Boundary::Periodic)];
    let place = |word: Placed<&str>| section.chosen("boundary", word, &known).map(|boundary| boundary.value);
    let boundaries: Vec<Option<Boundary>> = words.value.into_iter().map(place).collect();
    let boundaries: Vec<Boundary> = boundaries.into_iter().collect::<Option<_>>()?;
    // A list of one is a word in brackets only where there is one direction.
    let counts = [1, kind.map_or(boundaries.len(), LatticeKind::directions)];
    if !counts.contains(&boundaries.len()) {
        let kind = kind?;
        let error = LatticeError::BoundaryCount { kind, expected: kind.directions(), found: boundaries };
        section.problem("boundary", Wrong::Lattice(error));
        return None;
    }
    Some(boundaries)
}
