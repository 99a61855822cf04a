//! Lattices: their sites, positions and bonds.
//!
//! In: a name, lengths and boundaries, or a list of edges. Out: a [`Lattice`]: numbered sites, positions in units of the
//! nearest-neighbour distance, and [`Bond`]s, each pair of sites once with its direction, weight and kind.
//!
//! | lattice | sites | number of a site | kinds of bond |
//! |---|---|---|---|
//! | [`Lattice::chain`] (L) | L | x | 0 |
//! | [`Lattice::ladder`] (\[length, legs\]) | length · legs | y + legs · x, rung after rung | 0 leg, 1 rung |
//! | [`Lattice::square`] (\[lx, ly\]) | lx · ly | x + lx · y | 0 along x, 1 along y |
//! | [`Lattice::triangular`] (\[lx, ly\]) | lx · ly | x + lx · y | 0 x, 1 y, 2 diagonal |
//! | [`Lattice::honeycomb`] (\[l1, l2\]) | 2 · l1 · l2 | b + 2 (x + l1 · y) | 0, 1, 2 by direction |
//! | [`Lattice::kagome`] (\[l1, l2\]) | 3 · l1 · l2 | b + 3 (x + l1 · y) | 0, 1, 2 by direction |
//! | [`Lattice::tilted`] (kind, \[T1, T2\]) | as many per cell \| det \| cells | as above, with its own l1 | as above |
//! | [`Lattice::from_edges`] | as given | as given | 0 |
//!
//! Pictures of all of them are in `cell.rs`. For example
//!
//! ```text
//!  square [3, 2], open           kagome [1, 1], open          triangular [2, 2], open
//!    3 ── 4 ── 5                        2                       2 ── 3
//!    │    │    │                       ╱ ╲                      │ ╱  │
//!    0 ── 1 ── 2                      0 ── 1                    0 ── 1
//! ```
//!
//! **Bonds point from i to j along +x or +y**, across a periodic boundary too: those of a ring of 4 are 0→1, 1→2, 2→3 and
//! 3→0, so that a current, a Peierls phase or any other odd bond term over `<i, j>` goes around the ring. Translated by a cell
//! along a periodic direction, a bond is another bond of the same kind and direction (a length of 2, where both ways around
//! join the same two sites, leaves an odd term without meaning: the bond points from the lower site). Edges of an explicit
//! list point as they are written.
//!
//! Boundaries are open until [`Lattice::periodic`] or [`Lattice::boundary`] says otherwise. **A periodic direction of
//! length 2** reaches the same neighbour both ways round: that is *one bond of weight 1* unless [`Lattice::double_bonds`]
//! asks for weight 2 (both are used in the literature, with different energies). A periodic direction of length 1 is
//! refused.
//!
//! **Tilted clusters** are tori with any two period vectors T1 and T2, written in cells: [`Lattice::tilted`] with the rows
//! \[\[4, −2\], \[2, 2\]\] has T1 = 4 a1 − 2 a2 and T2 = 2 a1 + 2 a2, and 4 · 2 + 2 · 2 = 12 cells. They are numbered in ly rows
//! of lx, which [`Lattice::size`] returns: ly is the greatest common divisor of the second components, and the periods
//! (lx, 0) and (s, ly) make the same torus, so that one turn along y shifts x by s. Positions lie between T1 and T2.
//!
//! ```
//! # extern crate eigenforge_core as eigenforge;
//! use eigenforge::lattice::{Lattice, LatticeKind};
//! let kagome = Lattice::tilted(LatticeKind::Kagome, [[4, -2], [2, 2]]);
//! assert_eq!((kagome.sites().len(), kagome.bonds().len(), kagome.size()), (36, 72, &[6, 2][..]));
//! assert_eq!(kagome.neighbors(0).len(), 4);
//! ```
//!
//! An example of the others:
//!
//! ```
//! # extern crate eigenforge_core as eigenforge;
//! use eigenforge::lattice::{Boundary, Lattice};
//! let open = Lattice::square([4, 4]).open();
//! assert_eq!((open.sites().len(), open.bonds().len()), (16, 24));
//! let cylinder = Lattice::square([4, 3]).boundary([Boundary::Open, Boundary::Periodic]);
//! assert_eq!(cylinder.distance(0, 8), 1.0);           // (0, 0) and (0, 2), around the cylinder
//! let j1_j2 = Lattice::chain(8).periodic().further(&[0.5]);
//! assert_eq!(j1_j2.bonds().len(), 16);
//! assert!(Lattice::square([0, 4]).check().is_err());  // no panic: `check` returns the error
//! ```

mod build;
mod cell;
mod distance;
mod error;
mod momenta;
mod order;
mod point_group;
mod points;
mod symmetry;
mod torus;

pub use error::LatticeError;
pub use momenta::Momenta;
pub use momenta::Translation;
pub use order::check_order;
pub use point_group::{PointGroup, PointIrrep};

use build::Spec;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;

/// The most sites a lattice may have.
pub const MOST_SITES: usize = 1 << 20;

/// The most shells of further neighbours that may have a weight: twice the distances of the longest chain of DMRG.
pub const MOST_SHELLS: usize = 1 << 14;

/// The most bonds that further neighbours may make: all pairs of some 2,900 sites.
pub const MOST_BONDS: usize = 1 << 22;

/// A pair of bound sites. It points from i to j: along +x or +y of the lattice, around a periodic direction too, so that i may
/// be the higher number; of an explicit edge list as written.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bond {
    /// Where it starts.
    pub i: usize,
    /// Where it ends.
    pub j: usize,
    /// Multiplies the model's amplitude (t, or Jxy and Jz) on this bond.
    pub weight: f64,
    /// Direction or type: the table in the [module's page](self).
    pub kind: usize,
}

/// What a sum over `<i, j>` runs over: a bond, or a pair of sites, of weight 1 unless a third number says otherwise.
pub trait Pair {
    /// The pair as a bond.
    fn bond(&self) -> Bond;
}

impl Pair for Bond {
    fn bond(&self) -> Bond {
        *self
    }
}

impl Pair for [usize; 2] {
    fn bond(&self) -> Bond {
        Bond { i: self[0], j: self[1], weight: 1.0, kind: 0 }
    }
}

impl Pair for (usize, usize) {
    fn bond(&self) -> Bond {
        [self.0, self.1].bond()
    }
}

impl Pair for (usize, usize, f64) {
    fn bond(&self) -> Bond {
        Bond { weight: self.2, ..[self.0, self.1].bond() }
    }
}

impl<P: Pair> Pair for &P {
    fn bond(&self) -> Bond {
        (**self).bond()
    }
}

/// What happens at the end of a direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Boundary {
    /// The lattice ends.
    Open,
    /// The last site is bound to the first.
    Periodic,
}

/// The named lattices, and an explicit list of edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are the documentation")]
pub enum LatticeKind {
    Chain,
    Ladder,
    Square,
    Triangular,
    Honeycomb,
    Kagome,
    /// [`Lattice::from_edges`].
    Edges,
}

impl LatticeKind {
    /// The lattices that have a name, in the order of the table above.
    pub const NAMED: [LatticeKind; 6] = [
        LatticeKind::Chain,
        LatticeKind::Ladder,
        LatticeKind::Square,
        LatticeKind::Triangular,
        LatticeKind::Honeycomb,
        LatticeKind::Kagome,
    ];

    /// Its name in a model file.
    pub fn name(self) -> &'static str {
        match self {
            LatticeKind::Chain => "chain",
            LatticeKind::Ladder => "ladder",
            LatticeKind::Square => "square",
            LatticeKind::Triangular => "triangular",
            LatticeKind::Honeycomb => "honeycomb",
            LatticeKind::Kagome => "kagome",
            LatticeKind::Edges => "edges",
        }
    }

    /// Number of lengths in a model file's `size`.
    pub fn directions(self) -> usize {
        match self {
            LatticeKind::Edges => 0,
            LatticeKind::Chain => 1,
            _ => 2,
        }
    }

    /// Whether it has [tilted clusters](Lattice::tilted).
    pub fn tilts(self) -> bool {
        use LatticeKind::{Honeycomb, Kagome, Square, Triangular};
        matches!(self, Square | Triangular | Honeycomb | Kagome)
    }

    /// Number of sites of a tilted cluster with these period vectors, without building it; at most `usize::MAX`.
    pub fn tilted_sites(self, rows: [[i64; 2]; 2]) -> usize {
        self.sites(&[usize::try_from(torus::cells(rows)).unwrap_or(usize::MAX)])
    }

    /// Number of sites of a lattice of these lengths, without building it; at most `usize::MAX`.
    pub fn sites(self, size: &[usize]) -> usize {
        let bases = cell::unit_cell(self).basis.len();
        size.iter().fold(bases, |product, length| product.saturating_mul(*length))
    }

    /// Names of the kinds of nearest-neighbour bond, in the order of [`Bond::kind`].
    pub fn bond_kinds(self) -> &'static [&'static str] {
        cell::unit_cell(self).kinds
    }
}

impl fmt::Display for LatticeKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// Sites, positions and bonds. Built by the constructors below; an impossible request (a length of zero) gives a lattice
/// without sites whose [`Lattice::check`] returns the error, so that building one needs no `?`.
#[derive(Debug, Clone, PartialEq)]
pub struct Lattice {
    spec: Spec,
    sites: usize,
    xs: Vec<f64>,
    ys: Vec<f64>,
    /// Nearest-neighbour bonds before `weights` and `further`.
    nearest: Vec<Bond>,
    bonds: Vec<Bond>,
    /// Whether some neighbour is reached more than one way around: by a periodic length of 2, or a short period.
    met_twice: bool,
    error: Option<LatticeError>,
}

impl Lattice {
    /// `length` sites in a row, open.
    pub fn chain(length: usize) -> Lattice {
        Lattice::named(LatticeKind::Chain, &[length])
    }

    /// `[length, legs]`: site = y + legs · x for rung x and leg y, open. [`Lattice::periodic`] closes the legs into rings
    /// and leaves the rungs open; a tube is `.boundary([Periodic, Periodic])`.
    pub fn ladder(size: [usize; 2]) -> Lattice {
        Lattice::named(LatticeKind::Ladder, &size)
    }

    /// `[lx, ly]`: site = x + lx · y, open.
    pub fn square(size: [usize; 2]) -> Lattice {
        Lattice::named(LatticeKind::Square, &size)
    }

    /// `[lx, ly]`: site = x + lx · y, open; a square lattice with the diagonal (x, y)–(x+1, y+1).
    pub fn triangular(size: [usize; 2]) -> Lattice {
        Lattice::named(LatticeKind::Triangular, &size)
    }

    /// `[l1, l2]` cells of two sites: site = b + 2 (x + l1 · y), open.
    pub fn honeycomb(size: [usize; 2]) -> Lattice {
        Lattice::named(LatticeKind::Honeycomb, &size)
    }

    /// `[l1, l2]` cells of three sites: site = b + 3 (x + l1 · y), open.
    pub fn kagome(size: [usize; 2]) -> Lattice {
        Lattice::named(LatticeKind::Kagome, &size)
    }

    /// A lattice by kind and lengths (as many as [`LatticeKind::directions`]), open.
    pub fn named(kind: LatticeKind, size: &[usize]) -> Lattice {
        Lattice::from_spec(Spec::new(kind, size.to_vec()))
    }

    /// A torus with any two period vectors: the rows T1 and T2, in cells. `Lattice::tilted(LatticeKind::Square, [[4, -2], [2, 2]])`
    /// has 12 sites. Periodic in both directions; a straight torus is `[[lx, 0], [0, ly]]`. Its cells are numbered in rows
    /// with a twist ([module's page](self)).
    pub fn tilted(kind: LatticeKind, rows: [[i64; 2]; 2]) -> Lattice {
        Lattice::from_spec(Spec::tilted(kind, rows))
    }

    /// Any graph: `edges` of (i, j, weight), each pair once in either direction. [`Lattice::bonds`] keeps the order and the
    /// directions of the list. There is no geometry: site i is put at x = i, and [`Lattice::distance`] counts edges.
    ///
    /// # Errors
    /// No sites, an edge to a missing site, to itself, or twice, a weight that is not finite.
    pub fn from_edges(sites: usize, edges: &[(usize, usize, f64)]) -> Result<Lattice, LatticeError> {
        let bonds = build::from_edges(sites, edges)?;
        Ok(Lattice {
            spec: Spec::new(LatticeKind::Edges, vec![]),
            sites,
            xs: (0..sites).map(|site| site as f64).collect(),
            ys: vec![0.0; sites],
            nearest: bonds.clone(),
            bonds,
            met_twice: false,
            error: None,
        })
    }

    /// Open in every direction (also what the constructors give).
    pub fn open(self) -> Lattice {
        let boundary = vec![Boundary::Open; self.spec.size.len()];
        self.boundary(boundary)
    }

    /// Periodic in every direction; of a ladder along its length only.
    pub fn periodic(self) -> Lattice {
        let mut boundary = vec![Boundary::Periodic; self.spec.size.len()];
        if self.spec.kind == LatticeKind::Ladder {
            boundary[1] = Boundary::Open;
        }
        self.boundary(boundary)
    }

    /// A boundary for each direction.
    pub fn boundary(self, boundary: impl AsRef<[Boundary]>) -> Lattice {
        let boundary = boundary.as_ref().to_vec();
        self.rebuild("boundary", |spec| spec.boundary = boundary)
    }

    /// Gives weight 2 to a bond that a periodic direction of length 2 makes twice (the default is weight 1); on a tilted cluster
    /// the weight is the number of ways around the torus.
    pub fn double_bonds(self) -> Lattice {
        self.rebuild("double_bonds", |spec| spec.double_bonds = true)
    }

    /// A weight for each kind of nearest-neighbour bond, in the order of [`LatticeKind::bond_kinds`]: on a ladder
    /// `.weights(&[1.0, 0.5])` halves the rungs.
    pub fn weights(self, weights: &[f64]) -> Lattice {
        let weights = weights.to_vec();
        self.rebuild("weights", |spec| spec.weights = weights)
    }

    /// Adds the bonds of the second, third, … neighbours with these weights (t'/t, J2/J1): `.further(&[0.5])`. Their
    /// kinds follow those of the nearest neighbours.
    pub fn further(self, weights: &[f64]) -> Lattice {
        let weights = weights.to_vec();
        self.rebuild("further", |spec| spec.further = weights)
    }

    fn rebuild(self, option: &'static str, change: impl FnOnce(&mut Spec)) -> Lattice {
        if self.spec.kind == LatticeKind::Edges {
            // The ends of a graph are given by its edges, so `.open()` on a graph changes nothing.
            let mut spec = self.spec.clone();
            change(&mut spec);
            let error = (spec != self.spec).then_some(LatticeError::NotForEdges { option });
            return Lattice { error: self.error.clone().or(error), ..self };
        }
        let mut spec = self.spec;
        change(&mut spec);
        Lattice::from_spec(spec)
    }

    fn from_spec(spec: Spec) -> Lattice {
        let kept = spec.clone();
        spec.build().unwrap_or_else(|error| Lattice {
            spec: kept,
            sites: 0,
            xs: vec![],
            ys: vec![],
            nearest: vec![],
            bonds: vec![],
            met_twice: false,
            error: Some(error),
        })
    }

    /// The lattice, or why it cannot be built.
    ///
    /// # Errors
    /// An error of the constructor or of a later call: a length of zero, a periodic length of 1, too many sites, …
    pub fn check(&self) -> Result<&Lattice, LatticeError> {
        self.error.clone().map_or(Ok(self), Err)
    }

    /// Site numbers, 0 to N − 1.
    pub fn sites(&self) -> Range<usize> {
        0..self.sites
    }

    /// Every bond once, in the order of its two site numbers, the lower one first (0-1, 3-0, 1-2, 2-3 on a ring of 4);
    /// for an explicit edge list in the order given. Each points along its direction ([`Bond`]). Lists with one value per
    /// bond (t, Jxy, Jz) follow this order.
    pub fn bonds(&self) -> &[Bond] {
        &self.bonds
    }

    /// The kind of lattice.
    pub fn kind(&self) -> LatticeKind {
        self.spec.kind
    }

    /// Its lengths, one per direction; of a tilted cluster \[lx, ly\], ly rows of lx cells.
    pub fn size(&self) -> &[usize] {
        &self.spec.size
    }

    /// The period vectors of a [tilted cluster](Lattice::tilted), in cells, as they were given.
    pub fn tilt(&self) -> Option<[[i64; 2]; 2]> {
        self.spec.tilt
    }

    /// Its boundaries, one per direction.
    pub fn boundaries(&self) -> &[Boundary] {
        &self.spec.boundary
    }

    /// The primitive vectors a1 and a2 of its cells, in units of the nearest-neighbour distance; of a chain and a list of edges the unit vectors.
    pub fn primitive_vectors(&self) -> [[f64; 2]; 2] {
        cell::primitive_vectors(self.spec.kind)
    }

    /// x coordinate of a site, in units of the nearest-neighbour distance.
    pub fn x(&self, site: usize) -> f64 {
        self.xs[site]
    }

    /// y coordinate of a site, in units of the nearest-neighbour distance.
    pub fn y(&self, site: usize) -> f64 {
        self.ys[site]
    }

    /// All x coordinates, by site.
    pub fn xs(&self) -> &[f64] {
        &self.xs
    }

    /// All y coordinates, by site.
    pub fn ys(&self) -> &[f64] {
        &self.ys
    }

    /// (x, y) of a site, in units of the nearest-neighbour distance.
    pub fn position(&self, site: usize) -> [f64; 2] {
        [self.xs[site], self.ys[site]]
    }

    /// One line for reports: kind, lengths, boundaries, numbering.
    pub fn describe(&self) -> String {
        if let Some(error) = &self.error {
            return format!("not a lattice: {error}");
        }
        let counts = format!("{} sites, {} bonds", self.sites, self.bonds.len());
        let lengths = || self.spec.size.iter().map(usize::to_string).collect::<Vec<_>>().join(" x ");
        let size = self.spec.tilt.map_or_else(lengths, |rows| format!("{rows:?}"));
        let ends: Vec<&str> = self
            .spec
            .boundary
            .iter()
            .map(|boundary| if *boundary == Boundary::Open { "open" } else { "periodic" })
            .collect();
        let [lx, ly] = self.spec.lengths();
        let number = match self.spec.kind {
            LatticeKind::Edges => return format!("edge list: {counts}"),
            LatticeKind::Chain => "site = x".to_string(),
            LatticeKind::Ladder => format!("site = y + {ly} x (leg y, rung x)"),
            LatticeKind::Square | LatticeKind::Triangular => format!("site = x + {lx} y"),
            LatticeKind::Honeycomb => format!("site = b + 2 (x + {lx} y)"),
            LatticeKind::Kagome => format!("site = b + 3 (x + {lx} y)"),
        };
        let mut text = format!("{} {size}, {}: {counts}; {number}", self.spec.kind, ends.join(" x "));
        if self.spec.tilt.is_some() {
            let twist = self.spec.twist;
            text += &format!(
                ", {ly} row(s) of {lx} cells; cells (x + {lx}, y) and (x + {twist}, y + {ly}) are cell (x, y)"
            );
        }
        text += match (self.met_twice, self.spec.tilt, self.spec.double_bonds) {
            (false, ..) => "",
            (true, None, true) => "; bonds around a periodic length of 2 have weight 2",
            (true, None, false) => "; bonds around a periodic length of 2 are counted once",
            (true, Some(_), true) => "; the weight of a bond is its number of ways around the torus",
            (true, Some(_), false) => "; bonds with several ways around the torus are counted once",
        };
        if !self.spec.weights.is_empty() {
            text += &format!("; weights {:?} by kind ({})", self.spec.weights, self.spec.kind.bond_kinds().join(", "));
        }
        if !self.spec.further.is_empty() {
            text += &format!("; further neighbours with weights {:?}", self.spec.further);
        }
        text
    }
}

impl fmt::Display for Lattice {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.describe())
    }
}

#[cfg(test)]
mod tests;
