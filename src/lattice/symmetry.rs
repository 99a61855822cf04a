//! Symmetries of a named lattice as permutations of its sites.
//!
//! In: a lattice. Out: for each periodic direction the translation by one cell, and the reflection of the first direction. A
//! permutation is written as the new place of every site: site i goes to `permutation[i]`. Weights that differ from bond to bond are
//! not looked at; whether a Hamiltonian is invariant is checked term by term where it is used.

use super::cell::unit_cell;
use super::{Boundary, Lattice, LatticeKind};

impl Lattice {
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
}
