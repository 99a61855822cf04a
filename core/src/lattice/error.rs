//! Errors of lattices. Every message says what was expected, what was found and what to do.

use super::{Boundary, LatticeKind};

/// Why a lattice cannot be built.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LatticeError {
    /// A direction of length zero.
    #[error("a {kind} lattice of size {size:?} has no sites: every length must be at least 1")]
    EmptyDirection {
        /// Which lattice.
        kind: LatticeKind,
        /// The requested lengths.
        size: Vec<usize>,
    },
    /// An edge list with zero sites.
    #[error("a lattice needs at least one site, found sites = 0")]
    NoSites,
    /// More sites than `Lattice` supports.
    #[error("{sites} sites: a lattice holds at most {most} (an exact vector ends at 64, a DMRG chain at 8,192)")]
    TooManySites {
        /// Requested sites (saturated at `usize::MAX`).
        sites: usize,
        /// The limit, [`super::MOST_SITES`].
        most: usize,
    },
    /// More weights of further neighbours than `Lattice` supports.
    #[error("`further` has {found} weights, one for each shell of neighbours from the second on: give at most {most}")]
    TooManyShells {
        /// Weights given.
        found: usize,
        /// The limit, [`super::MOST_SHELLS`].
        most: usize,
    },
    /// A weight for a shell in which no two sites of the lattice are neighbours.
    #[error(
        "`further` has the weight {weight} for shell {shell} of neighbours, in which this lattice has no bond: leave it out, or take a \
         larger lattice"
    )]
    EmptyShell {
        /// The shell; the nearest neighbours are 1.
        shell: usize,
        /// Its weight.
        weight: f64,
    },
    /// More bonds than `Lattice` supports.
    #[error(
        "this lattice would have about {bonds} bonds; the limit is {most}: give fewer weights in `further`, or fewer sites"
    )]
    TooManyBonds {
        /// Requested bonds.
        bonds: usize,
        /// The limit, [`super::MOST_BONDS`].
        most: usize,
    },
    /// A periodic direction of length 1: each site would be bound to itself.
    #[error(
        "direction {direction} of the {kind} lattice {size:?} is periodic with length 1, which joins a site to \
         itself: make it open, or at least 2 long"
    )]
    PeriodicLengthOne {
        /// Which lattice.
        kind: LatticeKind,
        /// The lengths.
        size: Vec<usize>,
        /// 0 or 1.
        direction: usize,
    },
    /// Period vectors for a lattice that has no tilted clusters.
    #[error(
        "a {kind} lattice has no tilted clusters: give its length(s), or take a square, triangular, honeycomb or kagome \
         lattice"
    )]
    NoTilt {
        /// Which lattice.
        kind: LatticeKind,
    },
    /// Two period vectors that span no area.
    #[error(
        "the rows of the {kind} lattice {rows:?} are parallel: the two period vectors of a torus must span an area, as in \
         [[4, -2], [2, 2]]"
    )]
    ParallelPeriods {
        /// Which lattice.
        kind: LatticeKind,
        /// The period vectors, in cells.
        rows: [[i64; 2]; 2],
    },
    /// A tilted cluster with an open boundary.
    #[error(
        "the {kind} lattice {rows:?} is a torus, found boundary {found:?}: make it periodic, or give two lengths, as in [4, 4]"
    )]
    TiltedBoundary {
        /// Which lattice.
        kind: LatticeKind,
        /// The period vectors, in cells.
        rows: [[i64; 2]; 2],
        /// What was given.
        found: Vec<Boundary>,
    },
    /// A tilted cluster with a period of one cell: sites would be bound to themselves.
    #[error(
        "the {kind} lattice {rows:?} has the period {period:?}, one cell, which joins a site to itself: choose rows that \
         do not combine to a step of one cell"
    )]
    PeriodOfOneCell {
        /// Which lattice.
        kind: LatticeKind,
        /// The period vectors, in cells.
        rows: [[i64; 2]; 2],
        /// The short period, in cells.
        period: [i64; 2],
    },
    /// The number of boundaries differs from the number of directions.
    #[error("a {kind} lattice has {expected} direction(s), found {} boundary word(s) {found:?}: give one per direction", found.len())]
    BoundaryCount {
        /// Which lattice.
        kind: LatticeKind,
        /// Directions it has.
        expected: usize,
        /// What was given.
        found: Vec<Boundary>,
    },
    /// An option that has no meaning for an explicit edge list.
    #[error(
        "`{option}` has no meaning for an explicit edge list: write the edges, with their weights, as they should be"
    )]
    NotForEdges {
        /// Name of the option.
        option: &'static str,
    },
    /// The number of weights differs from the number of bond kinds.
    #[error(
        "a {kind} lattice has {expected} kind(s) of bond ({names}), found {found} weight(s): give one per kind, in this order"
    )]
    WeightCount {
        /// Which lattice.
        kind: LatticeKind,
        /// Kinds of nearest-neighbour bond.
        expected: usize,
        /// Their names in order.
        names: String,
        /// How many weights were given.
        found: usize,
    },
    /// A weight that is NaN or infinite.
    #[error("{what} is {found}: a bond's weight must be a finite number")]
    WeightNotFinite {
        /// Which weight.
        what: String,
        /// Its value.
        found: f64,
    },
    /// An edge to a site that does not exist.
    #[error("edge {edge}, [{i}, {j}], names site {missing}, but the sites are 0 to {}", sites - 1)]
    EdgeToMissingSite {
        /// Position in the edge list, from 0.
        edge: usize,
        /// First end.
        i: usize,
        /// Second end.
        j: usize,
        /// The end that is missing.
        missing: usize,
        /// Number of sites.
        sites: usize,
    },
    /// An edge from a site to itself.
    #[error(
        "edge {edge}, [{site}, {site}], joins site {site} to itself: write a one-site term as `potential` or `field`"
    )]
    EdgeToItself {
        /// Position in the edge list, from 0.
        edge: usize,
        /// The site.
        site: usize,
    },
    /// The same pair twice, in either direction.
    #[error(
        "edge {edge}, [{i}, {j}], repeats edge {first}: list each pair once, in either direction, and add the weights if a \
         doubled bond is meant"
    )]
    RepeatedEdge {
        /// Position in the edge list, from 0.
        edge: usize,
        /// Position of the first occurrence.
        first: usize,
        /// First end as written.
        i: usize,
        /// Second end as written.
        j: usize,
    },
}
