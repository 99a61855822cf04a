//! Symmetries of a named lattice as permutations of its sites.
//!
//! In: a lattice. Out: the reflection of the first direction, and the rotations and mirrors that the cluster has. A permutation is
//! written as the new place of every site: site i goes to `permutation[i]`. Weights that differ from bond to bond are not looked at;
//! whether a Hamiltonian is invariant is checked term by term where it is used.

use super::cell::unit_cell;
use super::{Lattice, LatticeKind};

/// A rotation or mirror of a lattice about a centre.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PointOperation {
    /// Where the step of one cell along each direction goes, in cells.
    pub steps: [[i64; 2]; 2],
    /// Where every site goes.
    pub place: Vec<usize>,
}

impl Lattice {
    /// The rotations and mirrors of a named lattice that its lengths and boundaries allow, all about one centre, so that products of
    /// them are among them: of a square and a triangular torus a site, of honeycomb and kagome the middle of a hexagon, along an open
    /// direction the middle of the cluster. None of a list of edges.
    pub fn point_operations(&self) -> Vec<PointOperation> {
        if self.kind() == LatticeKind::Edges || self.check().is_err() {
            return Vec::new();
        }
        let mut best = Vec::new();
        for centre in self.centres() {
            let found = self.operations_about(centre);
            if found.len() > best.len() {
                best = found;
            }
        }
        best
    }

    /// Places in cells that may be the centre of rotations, the likeliest first.
    fn centres(&self) -> Vec<[f64; 2]> {
        let cell = self.cell_in_cells();
        let middle = |d: usize| {
            let places = || cell.iter().map(|place| place[d]);
            (places().fold(f64::INFINITY, f64::min) + places().fold(f64::NEG_INFINITY, f64::max)) / 2.0
        };
        let usual = match self.kind() {
            LatticeKind::Honeycomb => 2.0 / 3.0,
            LatticeKind::Kagome => 0.5,
            _ => 0.0,
        };
        let (lengths, periodic) = (self.spec.lengths(), self.spec.periodic());
        let along = |d: usize| match (periodic[d], periodic[1 - d]) {
            (true, true) => vec![usual, middle(d), 0.0, 0.5],
            // Beside an open direction, of which only the middle is fixed.
            (true, false) => [usual, middle(d)].into_iter().chain((0..12).map(|part| f64::from(part) / 12.0)).collect(),
            (false, _) => vec![(lengths[d] as f64 - 1.0) / 2.0 + middle(d)],
        };
        along(0).iter().flat_map(|x| along(1).into_iter().map(move |y| [*x, y])).collect()
    }

    /// The operations about a centre.
    fn operations_about(&self, centre: [f64; 2]) -> Vec<PointOperation> {
        let entries = || (0..9i64).map(|number| [number / 3 - 1, number % 3 - 1]);
        let all = entries().flat_map(|x| entries().map(move |y| [x, y]));
        // Of a chain the second direction has no meaning.
        let flat = self.size().len() < 2;
        let fits = |steps: &[[i64; 2]; 2]| self.keeps_lengths(*steps) && (!flat || steps[1] == [0, 1]);
        all.filter(fits).filter_map(|steps| self.point_operation(steps, centre)).collect()
    }

    /// Whether a map of the steps is an isometry that takes the periods to periods, and open directions to open ones.
    fn keeps_lengths(&self, steps: [[i64; 2]; 2]) -> bool {
        let vectors = unit_cell(self.kind()).vectors;
        let image = steps.map(|step| cartesian(step.map(|cells| cells as f64), vectors));
        let dot = |a: [f64; 2], b: [f64; 2]| a[0] * b[0] + a[1] * b[1];
        let same = |a: usize, b: usize| (dot(image[a], image[b]) - dot(vectors[a], vectors[b])).abs() < 1e-9;
        let periodic = self.spec.periodic();
        // A step around the cylinder stays one.
        let unmixed = [[0, 1], [1, 0]].iter().all(|[d, e]| !periodic[*d] || periodic[*e] || steps[*d][*e] == 0);
        let period = |d: usize| {
            let period = self.spec.periods()[d];
            [0, 1].map(|e| period[0] * steps[0][e] + period[1] * steps[1][e])
        };
        let periods = (0..2).all(|d| !periodic[d] || self.spec.wrap(period(d)) == Some([0, 0]));
        same(0, 0) && same(0, 1) && same(1, 1) && unmixed && periods
    }

    /// Positions of the basis in cells.
    fn cell_in_cells(&self) -> Vec<[f64; 2]> {
        let cell = unit_cell(self.kind());
        let [a, b] = cell.vectors;
        let area = a[0] * b[1] - a[1] * b[0];
        let in_cells = |[x, y]: &[f64; 2]| [(x * b[1] - y * b[0]) / area, (a[0] * y - a[1] * x) / area];
        cell.basis.iter().map(in_cells).collect()
    }

    /// The operation of these steps about a centre, if it takes sites to sites.
    fn point_operation(&self, steps: [[i64; 2]; 2], centre: [f64; 2]) -> Option<PointOperation> {
        let basis = self.cell_in_cells();
        let lengths = self.spec.lengths();
        let mut place = vec![usize::MAX; self.sites];
        for (x, y) in (0..lengths[1]).flat_map(|y| (0..lengths[0]).map(move |x| (x, y))) {
            for (site, [basis_x, basis_y]) in basis.iter().enumerate() {
                let from = [x as f64 + basis_x - centre[0], y as f64 + basis_y - centre[1]];
                let to = [0, 1].map(|e| from[0] * steps[0][e] as f64 + from[1] * steps[1][e] as f64 + centre[e]);
                // The basis site there, and in which cell.
                let (there, cell) = basis.iter().enumerate().find_map(|(there, own)| {
                    let cells = [to[0] - own[0], to[1] - own[1]];
                    let whole = cells.map(f64::round);
                    let fits = (0..2).all(|e| (cells[e] - whole[e]).abs() < 1e-6);
                    fits.then(|| (there, whole.map(|cells| cells as i64)))
                })?;
                let [to_x, to_y] = self.spec.wrap(cell)?;
                place[self.spec.site(site, basis.len(), x, y)] = self.spec.site(there, basis.len(), to_x, to_y);
            }
        }
        Some(PointOperation { steps, place })
    }

    /// The reflection x → L − 1 − x of the first direction, of a chain, ladder or straight square lattice: site i goes to place `[i]`.
    /// `None` of the other lattices, whose mirrors mix the directions.
    pub fn reflection(&self) -> Option<Vec<usize>> {
        let has_one = matches!(self.kind(), LatticeKind::Chain | LatticeKind::Ladder | LatticeKind::Square);
        let [lx, _] = self.spec.lengths();
        (has_one && self.tilt().is_none() && self.check().is_ok()).then(|| self.moved(|[x, y]| [lx - 1 - x, y]))
    }

    /// The new place of every site if cells move.
    pub(super) fn moved(&self, to: impl Fn([usize; 2]) -> [usize; 2]) -> Vec<usize> {
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
    use super::super::Boundary;
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
