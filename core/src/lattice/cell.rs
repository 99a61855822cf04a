//! Unit cells: primitive vectors, sites of the basis and nearest-neighbour bonds of each lattice.
//!
//! In: a [`LatticeKind`]. Out: a [`UnitCell`]. Lengths are in units of the nearest-neighbour distance. Every bond points
//! along +x or +y; bonds of one kind are parallel.
//!
//! ```text
//!  chain                 ladder (3 rungs, 2 legs)        square
//!                          1 ── 3 ── 5                     3 ── 4 ── 5      y
//!  0 ── 1 ── 2 ── 3        │    │    │                     │    │    │      │
//!                          0 ── 2 ── 4                     0 ── 1 ── 2      └── x
//!
//!  triangular: a square lattice with one diagonal, (x, y)–(x+1, y+1)
//!     6 ── 7 ── 8            primitive vectors a1 = (1, 0), a2 = (−1/2, √3/2) at 120°,
//!     │ ╱  │ ╱  │            so that a1, a2 and the diagonal a1 + a2 have the same length
//!     3 ── 4 ── 5
//!     │ ╱  │ ╱  │
//!     0 ── 1 ── 2
//!
//!  honeycomb: cells of A (even numbers) and B (odd), a1 = (√3, 0), a2 = (√3/2, 3/2)
//!        A(0,1)      A(1,1)      A(x, y) → B(x, y)      kind 0, along +x
//!          │           │         B(x, y) → A(x+1, y)    kind 1, along +x
//!        B(0,0)      B(1,0)      B(x, y) → A(x, y+1)    kind 2, along +y
//!       ╱      ╲    ╱
//!   A(0,0)     A(1,0)
//!
//!  kagome: cells of sites 0, 1, 2, a1 = (2, 0), a2 = (1, √3)
//!            2          0→1, 0→2, 1→2 within the cell (triangle up)           kinds 0, 1, 2
//!           ╱ ╲         1→0(x+1, y), 2→0(x, y+1), 2→1(x−1, y+1) (triangle down), same kinds by direction
//!          0 ── 1
//! ```

use super::LatticeKind;

/// A bond of the unit cell: from basis site `from` of cell (x, y) to basis site `to` of cell (x, y) + `step`.
#[derive(Debug, Clone, Copy)]
pub(super) struct CellBond {
    pub from: usize,
    pub to: usize,
    pub step: [i64; 2],
    pub kind: usize,
}

/// One unit cell of an infinite lattice.
#[derive(Debug, Clone)]
pub(super) struct UnitCell {
    /// Primitive vectors a1, a2.
    pub vectors: [[f64; 2]; 2],
    /// Positions of the basis sites.
    pub basis: Vec<[f64; 2]>,
    /// Nearest-neighbour bonds, each once, in the direction in which they point.
    pub bonds: Vec<CellBond>,
    /// Name of each bond kind.
    pub kinds: &'static [&'static str],
}

const ROOT3: f64 = 1.732_050_807_568_877_2;

fn bond(from: usize, to: usize, step: [i64; 2], kind: usize) -> CellBond {
    CellBond { from, to, step, kind }
}

/// Primitive vectors a1 and a2 of a named lattice.
pub(super) fn primitive_vectors(kind: LatticeKind) -> [[f64; 2]; 2] {
    match kind {
        LatticeKind::Triangular => [[1.0, 0.0], [-0.5, ROOT3 / 2.0]],
        LatticeKind::Honeycomb => [[ROOT3, 0.0], [ROOT3 / 2.0, 1.5]],
        LatticeKind::Kagome => [[2.0, 0.0], [1.0, ROOT3]],
        _ => [[1.0, 0.0], [0.0, 1.0]],
    }
}

/// The cell of a named lattice; of an explicit edge list, an empty one.
pub(super) fn unit_cell(kind: LatticeKind) -> UnitCell {
    let vectors = primitive_vectors(kind);
    let origin = vec![[0.0, 0.0]];
    match kind {
        LatticeKind::Edges => UnitCell { vectors, basis: origin, bonds: vec![], kinds: &["edge"] },
        LatticeKind::Chain => {
            UnitCell { vectors, basis: origin, bonds: vec![bond(0, 0, [1, 0], 0)], kinds: &["chain"] }
        }
        LatticeKind::Ladder => UnitCell {
            vectors,
            basis: origin,
            bonds: vec![bond(0, 0, [1, 0], 0), bond(0, 0, [0, 1], 1)],
            kinds: &["leg", "rung"],
        },
        LatticeKind::Square => UnitCell {
            vectors,
            basis: origin,
            bonds: vec![bond(0, 0, [1, 0], 0), bond(0, 0, [0, 1], 1)],
            kinds: &["x", "y"],
        },
        LatticeKind::Triangular => UnitCell {
            vectors,
            basis: origin,
            bonds: vec![bond(0, 0, [1, 0], 0), bond(0, 0, [0, 1], 1), bond(0, 0, [1, 1], 2)],
            kinds: &["x", "y", "diagonal"],
        },
        LatticeKind::Honeycomb => UnitCell {
            vectors,
            basis: vec![[0.0, 0.0], [ROOT3 / 2.0, 0.5]],
            bonds: vec![bond(0, 1, [0, 0], 0), bond(1, 0, [1, 0], 1), bond(1, 0, [0, 1], 2)],
            kinds: &["z", "x", "y"],
        },
        LatticeKind::Kagome => UnitCell {
            vectors,
            basis: vec![[0.0, 0.0], [1.0, 0.0], [0.5, ROOT3 / 2.0]],
            bonds: vec![
                bond(0, 1, [0, 0], 0),
                bond(0, 2, [0, 0], 1),
                bond(1, 2, [0, 0], 2),
                bond(1, 0, [1, 0], 0),
                bond(2, 0, [0, 1], 1),
                bond(2, 1, [-1, 1], 2),
            ],
            kinds: &["0-1", "0-2", "1-2"],
        },
    }
}
