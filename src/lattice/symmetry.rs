//! Symmetries of a named lattice as permutations of its sites.
//!
//! In: a lattice. Out: for each periodic direction the translation by one cell, the reflection of the first direction, and the
//! rotations and mirrors that the cluster has. A permutation is written as the new place of every site: site i goes to
//! `permutation[i]`. Weights that differ from bond to bond are not looked at; whether a Hamiltonian is invariant is checked term by
//! term where it is used.

use super::cell::unit_cell;
use super::{Boundary, Lattice, LatticeKind};

/// A rotation or mirror of a lattice, with the translation that takes sites to sites.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PointOperation {
    /// Where the step of one cell along each direction goes, in cells.
    pub steps: [[i64; 2]; 2],
    /// Where every site goes.
    pub place: Vec<usize>,
}

impl Lattice {
    /// The rotations and mirrors of a named lattice that its lengths and boundaries allow, each about one centre; none of a list of
    /// edges.
    pub(crate) fn point_operations(&self) -> Vec<PointOperation> {
        if self.kind() == LatticeKind::Edges || self.check().is_err() {
            return Vec::new();
        }
        let entries = || (0..9i64).map(|number| [number / 3 - 1, number % 3 - 1]);
        let all = entries().flat_map(|x| entries().map(move |y| [x, y]));
        let bases = unit_cell(self.kind()).basis.len();
        let mut found: Vec<PointOperation> = Vec::new();
        for steps in all.filter(|steps| self.keeps_lengths(*steps)) {
            let operation = (0..bases).find_map(|first| self.point_operation(steps, first));
            found.extend(operation.filter(|operation| !found.iter().any(|other| other.place == operation.place)));
        }
        found
    }

    /// Whether a map of the steps is an isometry that takes the periods to periods, and open directions to themselves.
    fn keeps_lengths(&self, steps: [[i64; 2]; 2]) -> bool {
        let vectors = unit_cell(self.kind()).vectors;
        let image = steps.map(|step| cartesian(step.map(|cells| cells as f64), vectors));
        let dot = |a: [f64; 2], b: [f64; 2]| a[0] * b[0] + a[1] * b[1];
        let same = |a: usize, b: usize| (dot(image[a], image[b]) - dot(vectors[a], vectors[b])).abs() < 1e-9;
        let lengths = self.spec.lengths().map(|length| length as i64);
        let periodic = self.spec.periodic();
        let pairs = [[0, 1], [1, 0]];
        let periods = (0..2).all(|d| (0..2).all(|e| lengths[d] * steps[d][e] % lengths[e] == 0));
        let open = pairs.iter().all(|[d, e]| (periodic[*d] && periodic[*e]) || steps[*d][*e] == 0);
        same(0, 0) && same(0, 1) && same(1, 1) && periods && open
    }

    /// The operation of these steps that takes basis site 0 to basis site `first`, if it takes sites to sites.
    fn point_operation(&self, steps: [[i64; 2]; 2], first: usize) -> Option<PointOperation> {
        let cell = unit_cell(self.kind());
        let turned = |cells: [f64; 2]| {
            let part = |e: usize| cells[0] * steps[0][e] as f64 + cells[1] * steps[1][e] as f64;
            [part(0), part(1)]
        };
        // Positions of the basis in cells.
        let [a, b] = cell.vectors;
        let area = a[0] * b[1] - a[1] * b[0];
        let in_cells = |[x, y]: [f64; 2]| [(x * b[1] - y * b[0]) / area, (a[0] * y - a[1] * x) / area];
        let basis: Vec<[f64; 2]> = cell.basis.iter().map(|site| in_cells(*site)).collect();
        let from = turned(basis[0]);
        let shift = [basis[first][0] - from[0], basis[first][1] - from[1]];
        // Where a basis site goes: the basis site there, and in which cell.
        let image = |site: &[f64; 2]| {
            let [x, y] = turned(*site);
            basis.iter().enumerate().find_map(|(there, place)| {
                let cells = [x + shift[0] - place[0], y + shift[1] - place[1]];
                let whole = cells.map(f64::round);
                (0..2).all(|e| (cells[e] - whole[e]).abs() < 1e-9).then(|| (there, whole.map(|cells| cells as i64)))
            })
        };
        let images = basis.iter().map(image).collect::<Option<Vec<_>>>()?;
        let (lengths, periodic) = (self.spec.lengths().map(|length| length as i64), self.spec.periodic());
        let mut place = vec![usize::MAX; self.sites];
        for (x, y) in (0..lengths[1]).flat_map(|y| (0..lengths[0]).map(move |x| (x, y))) {
            for (site, (there, cells)) in images.iter().enumerate() {
                let mut to = [0; 2];
                for e in 0..2 {
                    // Of an open direction that is turned round, the first cell becomes the last.
                    let last = if !periodic[e] && steps[e][e] < 0 { lengths[e] - 1 } else { 0 };
                    let cell = x * steps[0][e] + y * steps[1][e] + cells[e] + last;
                    if !periodic[e] && !(0..lengths[e]).contains(&cell) {
                        return None;
                    }
                    to[e] = cell.rem_euclid(lengths[e]) as usize;
                }
                let number = |basis: usize, x: usize, y: usize| self.spec.site(basis, images.len(), x, y);
                place[number(site, x as usize, y as usize)] = number(*there, to[0], to[1]);
            }
        }
        Some(PointOperation { steps, place })
    }

    /// The periodic directions, 0 along x and 1 along y.
    pub fn periodic_directions(&self) -> Vec<usize> {
        (0..self.size().len()).filter(|direction| self.boundaries()[*direction] == Boundary::Periodic).collect()
    }

    /// The translation by one cell along a direction: site i goes to place `[i]`. `None` if the direction is open or does not exist.
    pub fn translation(&self, direction: usize) -> Option<Vec<usize>> {
        if self.boundaries().get(direction) != Some(&Boundary::Periodic) || self.check().is_err() {
            return None;
        }
        let step = if direction == 0 { [1, 0] } else { [0, 1] };
        Some(self.moved(|cell| self.spec.step(cell, step).unwrap_or(cell)))
    }

    /// The reflection x → L − 1 − x of the first direction, of a chain, ladder or square lattice: site i goes to place `[i]`. `None` of
    /// the other lattices, whose mirrors mix the directions.
    pub fn reflection(&self) -> Option<Vec<usize>> {
        let has_one = matches!(self.kind(), LatticeKind::Chain | LatticeKind::Ladder | LatticeKind::Square);
        let [lx, _] = self.spec.lengths();
        (has_one && self.check().is_ok()).then(|| self.moved(|[x, y]| [lx - 1 - x, y]))
    }

    /// The new place of every site if cells move.
    fn moved(&self, to: impl Fn([usize; 2]) -> [usize; 2]) -> Vec<usize> {
        let bases = unit_cell(self.kind()).basis.len();
        let ([lx, ly], mut places) = (self.spec.lengths(), vec![0; self.sites]);
        for (x, y) in (0..ly).flat_map(|y| (0..lx).map(move |x| (x, y))) {
            let [there_x, there_y] = to([x, y]);
            for basis in 0..bases {
                places[self.spec.site(basis, bases, x, y)] = self.spec.site(basis, bases, there_x, there_y);
            }
        }
        places
    }
}

/// Cells as a vector.
fn cartesian(cells: [f64; 2], vectors: [[f64; 2]; 2]) -> [f64; 2] {
    [0, 1].map(|axis| cells[0] * vectors[0][axis] + cells[1] * vectors[1][axis])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The bonds of a lattice, whose sites have moved.
    fn bonds(lattice: &Lattice, place: &[usize]) -> BTreeSet<[usize; 2]> {
        let moved = lattice.bonds().iter().map(|bond| [place[bond.i], place[bond.j]]);
        moved.map(|[i, j]| [i.min(j), i.max(j)]).collect()
    }

    #[test]
    fn bonds_stay_bonds() {
        let lattices = [
            Lattice::chain(7).periodic(),
            Lattice::ladder([4, 2]).periodic(),
            Lattice::square([4, 3]).periodic(),
            Lattice::triangular([3, 4]).periodic(),
            Lattice::honeycomb([3, 2]).periodic(),
            Lattice::kagome([2, 3]).periodic(),
        ];
        for lattice in &lattices {
            let own: Vec<usize> = lattice.sites().collect();
            for direction in lattice.periodic_directions() {
                let place = lattice.translation(direction).unwrap();
                assert_eq!(bonds(lattice, &place), bonds(lattice, &own), "{lattice}");
                let length = lattice.size()[direction];
                let around = own.iter().map(|site| (0..length).fold(*site, |site, _| place[site]));
                assert_eq!(around.collect::<Vec<_>>(), own, "{lattice}");
            }
            if let Some(place) = lattice.reflection() {
                assert_eq!(bonds(lattice, &place), bonds(lattice, &own), "{lattice}");
            }
        }
        assert_eq!(Lattice::chain(4).periodic().translation(0).unwrap(), [1, 2, 3, 0]);
        assert_eq!(Lattice::ladder([3, 2]).reflection().unwrap(), [4, 5, 2, 3, 0, 1]);
        assert_eq!(Lattice::chain(4).translation(0), None);
        assert_eq!(Lattice::kagome([2, 2]).periodic().reflection(), None);
    }

    /// As many as the cluster has, each a permutation that keeps the bonds and turns translations into translations.
    #[test]
    fn rotations_and_mirrors_are_found() {
        for (lattice, count) in [
            (Lattice::chain(7).periodic(), 2),
            (Lattice::chain(6), 2),
            (Lattice::ladder([5, 2]).periodic(), 4),
            (Lattice::square([5, 5]).periodic(), 8),
            (Lattice::square([6, 4]).periodic(), 4),
            (Lattice::square([5, 3]).boundary([Boundary::Periodic, Boundary::Open]), 4),
            (Lattice::triangular([4, 4]).periodic(), 12),
            (Lattice::triangular([6, 3]).periodic(), 4),
            (Lattice::honeycomb([4, 4]).periodic(), 12),
            (Lattice::kagome([3, 3]).periodic(), 12),
        ] {
            let own: Vec<usize> = lattice.sites().collect();
            let found = lattice.point_operations();
            assert_eq!(found.len(), count, "{lattice}");
            for PointOperation { steps, place } in &found {
                let mut sorted = place.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, own, "{lattice} {steps:?}");
                assert_eq!(bonds(&lattice, place), bonds(&lattice, &own), "{lattice} {steps:?}");
                for direction in lattice.periodic_directions() {
                    // place T place⁻¹ is the translation by the turned step.
                    let turned = lattice.moved(|cell| lattice.spec.step(cell, steps[direction]).unwrap());
                    let step = lattice.translation(direction).unwrap();
                    assert!(own.iter().all(|site| place[step[*site]] == turned[place[*site]]), "{lattice} {steps:?}");
                }
            }
        }
        assert!(Lattice::from_edges(2, &[(0, 1, 1.0)]).unwrap().point_operations().is_empty());
    }
}
