//! From a description (kind, lengths, boundaries) to sites, positions and bonds.
//!
//! In: a [`Spec`]. Out: a [`Lattice`], or why it cannot be built. Site numbers are those of [`Spec::site`]. Each pair
//! appears once, in the order of its two site numbers, lower first; a bond points as in its unit cell, across a boundary
//! too.

use super::cell::{primitive_vectors, unit_cell};
use super::distance::{SAME, shells};
use super::torus;
use super::{Bond, Boundary, Lattice, LatticeError, LatticeKind, MOST_BONDS, MOST_SHELLS, MOST_SITES};
use std::collections::BTreeMap;

/// Everything a named lattice is made from.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Spec {
    pub(super) kind: LatticeKind,
    /// Lengths, one per direction; of a tilted cluster those of its rows of cells.
    pub(super) size: Vec<usize>,
    /// The cell (x + twist, y + ly) is the cell (x, y).
    pub(super) twist: usize,
    /// The period vectors of a tilted cluster, in cells, as they were given.
    pub(super) tilt: Option<[[i64; 2]; 2]>,
    /// Boundaries, one per direction.
    pub(super) boundary: Vec<Boundary>,
    /// A pair reached twice around a short torus gets weight 2 (else 1).
    pub(super) double_bonds: bool,
    /// A weight for each kind of nearest-neighbour bond; empty means 1.
    pub(super) weights: Vec<f64>,
    /// Weights of the second, third, … neighbours' bonds.
    pub(super) further: Vec<f64>,
}

impl Spec {
    pub(super) fn new(kind: LatticeKind, size: Vec<usize>) -> Spec {
        let boundary = vec![Boundary::Open; size.len()];
        Spec { kind, size, twist: 0, tilt: None, boundary, double_bonds: false, weights: vec![], further: vec![] }
    }

    /// A torus by its two period vectors, in cells.
    pub(super) fn tilted(kind: LatticeKind, rows: [[i64; 2]; 2]) -> Spec {
        let (size, twist) = torus::rows_with_twist(rows, MOST_SITES);
        let boundary = vec![Boundary::Periodic; 2];
        Spec { twist, tilt: Some(rows), boundary, ..Spec::new(kind, size.to_vec()) }
    }

    /// Lengths in both directions; 1 for a missing direction.
    pub(super) fn lengths(&self) -> [usize; 2] {
        [self.size.first().copied().unwrap_or(1), self.size.get(1).copied().unwrap_or(1)]
    }

    /// Whether each direction is periodic.
    pub(super) fn periodic(&self) -> [bool; 2] {
        [0, 1].map(|direction| self.boundary.get(direction) == Some(&Boundary::Periodic))
    }

    /// The vectors in cells that lead back to the same cell, where the directions are periodic: (lx, 0) and (twist, ly).
    pub(super) fn periods(&self) -> [[i64; 2]; 2] {
        let [lx, ly] = self.lengths().map(|length| length as i64);
        [[lx, 0], [self.twist as i64, ly]]
    }

    /// The two shortest periods in cells, the shorter one first; zero for an open direction.
    pub(super) fn shortest_periods(&self) -> [[i64; 2]; 2] {
        let (periods, periodic) = (self.periods(), self.periodic());
        let around = [0, 1].map(|d| if periodic[d] { periods[d] } else { [0, 0] });
        torus::shortest(around, primitive_vectors(self.kind))
    }

    /// Number of basis site `basis` of cell (x, y): basis + nb (x + lx y); on a ladder y + legs x.
    pub(super) fn site(&self, basis: usize, bases: usize, x: usize, y: usize) -> usize {
        let [lx, ly] = self.lengths();
        let cell = if self.kind == LatticeKind::Ladder { y + ly * x } else { x + lx * y };
        basis + bases * cell
    }

    /// Basis site and cell of a site: the inverse of [`Spec::site`].
    pub(super) fn place(&self, site: usize, bases: usize) -> (usize, [usize; 2]) {
        let ([lx, ly], cell) = (self.lengths(), site / bases);
        let cell = if self.kind == LatticeKind::Ladder { [cell / ly, cell % ly] } else { [cell % lx, cell / lx] };
        (site % bases, cell)
    }

    fn check(&self, kinds: &[&str]) -> Result<usize, LatticeError> {
        let (kind, size) = (self.kind, self.size.clone());
        if let Some(rows) = self.tilt {
            if !kind.tilts() {
                return Err(LatticeError::NoTilt { kind });
            }
            if size.contains(&0) {
                return Err(LatticeError::ParallelPeriods { kind, rows });
            }
        }
        if size.contains(&0) {
            return Err(LatticeError::EmptyDirection { kind, size });
        }
        let sites = kind.sites(&size);
        if sites > MOST_SITES {
            return Err(LatticeError::TooManySites { sites, most: MOST_SITES });
        }
        if self.boundary.len() != size.len() {
            return Err(LatticeError::BoundaryCount { kind, expected: size.len(), found: self.boundary.clone() });
        }
        if let Some(rows) = self.tilt {
            if self.periodic() != [true; 2] {
                return Err(LatticeError::TiltedBoundary { kind, rows, found: self.boundary.clone() });
            }
            let [period, _] = self.shortest_periods();
            let [length, cell] = [period, [1, 0]].map(|cells| torus::cartesian(cells, primitive_vectors(kind)));
            if torus::dot(length, length) < torus::dot(cell, cell) + SAME {
                return Err(LatticeError::PeriodOfOneCell { kind, rows, period });
            }
        } else if let Some(direction) = (0..size.len()).find(|d| size[*d] == 1 && self.periodic()[*d]) {
            return Err(LatticeError::PeriodicLengthOne { kind, size, direction });
        }
        if !self.weights.is_empty() && self.weights.len() != kinds.len() {
            let (expected, found) = (kinds.len(), self.weights.len());
            return Err(LatticeError::WeightCount { kind, expected, names: kinds.join(", "), found });
        }
        for (number, weight) in self.weights.iter().enumerate() {
            finite(*weight, || format!("the weight of bond kind {number} ({})", kinds[number]))?;
        }
        if self.further.len() > MOST_SHELLS {
            return Err(LatticeError::TooManyShells { found: self.further.len(), most: MOST_SHELLS });
        }
        for (number, weight) in self.further.iter().enumerate() {
            finite(*weight, || format!("the weight of neighbour shell {}", number + 2))?;
        }
        Ok(sites)
    }

    /// Sites and bonds, or the error.
    pub(super) fn build(self) -> Result<Lattice, LatticeError> {
        let cell = unit_cell(self.kind);
        let bases = cell.basis.len();
        let sites = self.check(cell.kinds)?;
        let [lx, ly] = self.lengths();
        let (mut xs, mut ys) = (vec![0.0; sites], vec![0.0; sites]);
        let mut found = Pairs::default();
        for (x, y) in (0..ly).flat_map(|y| (0..lx).map(move |x| (x, y))) {
            let straight = [x as f64, y as f64];
            let picture = |rows| torus::in_parallelogram(rows, [x as i64, y as i64]);
            let ([a1, a2], [along_1, along_2]) = (cell.vectors, self.tilt.map_or(straight, picture));
            for (basis, offset) in cell.basis.iter().enumerate() {
                let site = self.site(basis, bases, x, y);
                xs[site] = along_1 * a1[0] + along_2 * a2[0] + offset[0];
                ys[site] = along_1 * a1[1] + along_2 * a2[1] + offset[1];
            }
            for bond in &cell.bonds {
                let Some([x2, y2]) = self.step([x, y], bond.step) else { continue };
                found.add(self.site(bond.from, bases, x, y), self.site(bond.to, bases, x2, y2), bond.kind);
            }
        }
        let met_twice = found.met_twice();
        let nearest = found.bonds(self.double_bonds);
        let mut lattice = Lattice { spec: self, sites, xs, ys, nearest, bonds: vec![], met_twice, error: None };
        lattice.bonds = lattice.weighted(cell.kinds.len())?;
        Ok(lattice)
    }

    /// The cell reached by `step`, around periodic directions; `None` beyond an open edge.
    pub(super) fn step(&self, cell: [usize; 2], step: [i64; 2]) -> Option<[usize; 2]> {
        self.wrap([0, 1].map(|d| cell[d] as i64 + step[d]))
    }

    /// The cell of the cluster that a cell of the plane is, around periodic directions; `None` beyond an open edge.
    pub(super) fn wrap(&self, [x, y]: [i64; 2]) -> Option<[usize; 2]> {
        let (lengths, periodic) = (self.lengths().map(|length| length as i64), self.periodic());
        let turns = if periodic[1] { y.div_euclid(lengths[1]) } else { 0 };
        let x = x - turns * self.twist as i64;
        let cell = [if periodic[0] { x.rem_euclid(lengths[0]) } else { x }, y - turns * lengths[1]];
        let inside = (0..2).all(|d| (0..lengths[d]).contains(&cell[d]));
        inside.then(|| cell.map(|place| place as usize))
    }
}

/// Bound pairs of sites, counting every way around a torus.
#[derive(Default)]
pub(super) struct Pairs {
    /// By (lower, higher) site: the bond of the lowest kind, the first found of these, and how often the pair was found.
    found: BTreeMap<(usize, usize), (Bond, usize)>,
}

impl Pairs {
    /// Adds a bond that points from i to j.
    pub(super) fn add(&mut self, i: usize, j: usize, kind: usize) {
        let bond = Bond { i, j, weight: 1.0, kind };
        let (first, times) = self.found.entry((i.min(j), i.max(j))).or_insert((bond, 0));
        *times += 1;
        if kind < first.kind {
            *first = bond;
        }
    }

    pub(super) fn met_twice(&self) -> bool {
        self.found.values().any(|(_, times)| *times > 1)
    }

    /// In the order of the pairs; with `double` the weight is the number of ways around.
    pub(super) fn bonds(self, double: bool) -> Vec<Bond> {
        let weight = |times: usize| if double { times as f64 } else { 1.0 };
        self.found.into_values().map(|(bond, times)| Bond { weight: weight(times), ..bond }).collect()
    }
}

impl Lattice {
    /// The nearest-neighbour bonds with their weights and the requested further shells, ordered by their two sites.
    fn weighted(&self, kinds: usize) -> Result<Vec<Bond>, LatticeError> {
        let weight = |kind: usize| self.spec.weights.get(kind).copied().unwrap_or(1.0);
        let mut bonds: Vec<Bond> =
            self.nearest.iter().map(|bond| Bond { weight: bond.weight * weight(bond.kind), ..*bond }).collect();
        if !self.spec.further.is_empty() {
            let shells = shells(self.spec.kind, self.spec.further.len() + 1);
            let each = shells[1..].iter().flat_map(|shell| shell.vectors.iter().map(move |v| self.starts(shell, v)));
            let expected = each.fold(bonds.len(), usize::saturating_add);
            if expected > MOST_BONDS {
                return Err(LatticeError::TooManyBonds { bonds: expected, most: MOST_BONDS });
            }
            let mut first_kind = kinds;
            for (number, (factor, shell)) in self.spec.further.iter().zip(&shells[1..]).enumerate() {
                let of_shell = self.bonds_of(shell);
                if of_shell.is_empty() && *factor != 0.0 {
                    return Err(LatticeError::EmptyShell { shell: number + 2, weight: *factor });
                }
                bonds.extend(of_shell.into_iter().map(|bond| Bond {
                    weight: bond.weight * factor,
                    kind: bond.kind + first_kind,
                    ..bond
                }));
                first_kind += shell.angles.len();
            }
        }
        bonds.sort_by_key(|bond| (bond.i.min(bond.j), bond.i.max(bond.j)));
        Ok(bonds)
    }
}

pub(super) fn finite(value: f64, what: impl FnOnce() -> String) -> Result<(), LatticeError> {
    if value.is_finite() { Ok(()) } else { Err(LatticeError::WeightNotFinite { what: what(), found: value }) }
}

/// The bonds of an explicit edge list, in the order and direction given.
pub(super) fn from_edges(sites: usize, edges: &[(usize, usize, f64)]) -> Result<Vec<Bond>, LatticeError> {
    if sites == 0 {
        return Err(LatticeError::NoSites);
    }
    if sites > MOST_SITES {
        return Err(LatticeError::TooManySites { sites, most: MOST_SITES });
    }
    let mut seen = BTreeMap::new();
    let mut bonds = Vec::with_capacity(edges.len());
    for (edge, &(i, j, weight)) in edges.iter().enumerate() {
        if let Some(missing) = [i, j].into_iter().find(|site| *site >= sites) {
            return Err(LatticeError::EdgeToMissingSite { edge, i, j, missing, sites });
        }
        if i == j {
            return Err(LatticeError::EdgeToItself { edge, site: i });
        }
        if let Some(first) = seen.insert((i.min(j), i.max(j)), edge) {
            return Err(LatticeError::RepeatedEdge { edge, first, i, j });
        }
        finite(weight, || format!("the weight of edge {edge}, [{i}, {j}],"))?;
        bonds.push(Bond { i, j, weight, kind: 0 });
    }
    Ok(bonds)
}
