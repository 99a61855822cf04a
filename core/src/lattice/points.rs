//! Momenta of high symmetry by the names of their points.
//!
//! In: a lattice. Out: the points that the cluster has, each with its momenta. A point is written by the parts f of a turn that a step
//! along a1 and one along a2 have there, T ψ = e^(−2πi f) ψ:
//!
//! | lattices | point | f along a1, a2 |
//! |---|---|---|
//! | all with a periodic direction | Gamma (Γ) | 0, 0 |
//! | chain, ladder | Pi (π) | 1/2, 0 |
//! | square | X; Y; M | 1/2, 0; 0, 1/2; 1/2, 1/2 |
//! | triangular, a1 and a2 at 120° | K; K' | 1/3, 1/3; 2/3, 2/3 |
//! | honeycomb and kagome, a1 and a2 at 60° | K; K' | 1/3, 2/3; 2/3, 1/3 |
//! | triangular, honeycomb, kagome | M | 1/2, 0, or 0, 1/2, or 1/2, 1/2 |
//!
//! The three M are taken to each other by the rotations of a cluster that has them; the first that there is stands for all.

use super::{Lattice, LatticeKind, Momenta};

/// A point of high symmetry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymmetryPoint {
    /// Its name.
    pub name: &'static str,
    /// The momenta that have the name, at least one; the first is meant where none is given.
    pub momenta: Vec<Vec<i64>>,
}

/// Parts of a turn along a1 and a2, in sixths.
type Sixths = [i64; 2];

const GAMMA: (&str, &[Sixths]) = ("Gamma", &[[0, 0]]);
const PI: (&str, &[Sixths]) = ("Pi", &[[3, 0]]);
const X: (&str, &[Sixths]) = ("X", &[[3, 0]]);
const Y: (&str, &[Sixths]) = ("Y", &[[0, 3]]);
const CORNER: (&str, &[Sixths]) = ("M", &[[3, 3]]);
const MIDDLES: (&str, &[Sixths]) = ("M", &[[3, 0], [0, 3], [3, 3]]);

impl Lattice {
    /// The points of high symmetry that are momenta of the cluster; none where all is open and of a list of edges.
    pub fn symmetry_points(&self) -> Vec<SymmetryPoint> {
        let momenta = Momenta::new(self);
        let known: &[(&'static str, &[Sixths])] = match self.kind() {
            _ if momenta.orders().is_empty() => &[],
            LatticeKind::Edges => &[],
            LatticeKind::Chain | LatticeKind::Ladder => &[GAMMA, PI],
            LatticeKind::Square => &[GAMMA, X, Y, CORNER],
            LatticeKind::Triangular => &[GAMMA, ("K", &[[2, 2]]), ("K'", &[[4, 4]]), MIDDLES],
            LatticeKind::Honeycomb | LatticeKind::Kagome => &[GAMMA, ("K", &[[2, 4]]), ("K'", &[[4, 2]]), MIDDLES],
        };
        let point = |&(name, places): &(&'static str, &[Sixths])| {
            let found: Vec<_> = places.iter().filter_map(|sixths| momenta.find(*sixths)).collect();
            (!found.is_empty()).then_some(SymmetryPoint { name, momenta: found })
        };
        known.iter().filter_map(point).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Boundary;
    use super::*;

    /// The momenta of the points of a cluster by their names.
    #[test]
    fn points_are_those_of_the_cluster() {
        let square = Lattice::square([4, 4]).periodic();
        let rows = |kind, rows| Lattice::tilted(kind, rows);
        for (lattice, points) in [
            (Lattice::chain(6).periodic(), &[("Gamma", &[0][..]), ("Pi", &[3])][..]),
            (Lattice::chain(5).periodic(), &[("Gamma", &[0])]),
            (Lattice::chain(5), &[]),
            (Lattice::ladder([4, 2]).boundary([Boundary::Periodic, Boundary::Open]), &[("Gamma", &[0]), ("Pi", &[2])]),
            (square, &[("Gamma", &[0, 0]), ("X", &[2, 0]), ("Y", &[0, 2]), ("M", &[2, 2])]),
            (Lattice::square([4, 3]).periodic(), &[("Gamma", &[0, 0]), ("X", &[2, 0])]),
            (Lattice::square([4, 3]).boundary([Boundary::Open, Boundary::Periodic]), &[("Gamma", &[0])]),
            (Lattice::triangular([3, 3]).periodic(), &[("Gamma", &[0, 0]), ("K", &[1, 1]), ("K'", &[2, 2])]),
            (
                Lattice::triangular([6, 6]).periodic(),
                &[("Gamma", &[0, 0]), ("K", &[2, 2]), ("K'", &[4, 4]), ("M", &[3, 0])],
            ),
            (Lattice::triangular([3, 4]).periodic(), &[("Gamma", &[0, 0]), ("M", &[0, 2])]),
            (Lattice::honeycomb([3, 3]).periodic(), &[("Gamma", &[0, 0]), ("K", &[1, 2]), ("K'", &[2, 1])]),
            (Lattice::kagome([2, 2]).periodic(), &[("Gamma", &[0, 0]), ("M", &[1, 0])]),
            (rows(LatticeKind::Square, [[3, 1], [-1, 3]]), &[("Gamma", &[0]), ("M", &[5])]),
        ] {
            let found = lattice.symmetry_points();
            let first: Vec<(&str, &[i64])> = found.iter().map(|point| (point.name, &point.momenta[0][..])).collect();
            assert_eq!(first, points, "{lattice}");
        }
    }

    /// Rotations and mirrors about K leave it as it is: of six rotations three, of six mirrors three.
    #[test]
    fn little_groups_of_k_have_six_elements() {
        for lattice in [Lattice::triangular([6, 6]), Lattice::honeycomb([3, 3]), Lattice::kagome([3, 3])] {
            let lattice = lattice.periodic();
            let momenta = Momenta::new(&lattice);
            let points = lattice.symmetry_points();
            let k = &points.iter().find(|point| point.name == "K").unwrap().momenta[0];
            let fixed =
                lattice.point_operations().into_iter().filter(|own| momenta.turned(k, own.steps).as_ref() == Some(k));
            assert_eq!(fixed.count(), 6, "{lattice}");
        }
    }
}
