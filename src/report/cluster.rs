//! A lattice and a symmetry sector as data: what a program needs to take Fourier sums and to draw.
//!
//! In: a [`Lattice`], a [`SymmetryGroup`]. Out: positions, bonds, primitive vectors, momenta; generators with their characters. Lengths are in
//! units of the nearest-neighbour distance. A momentum is q with T ψ = e^(−iq·a) ψ for the translation T by a, so that q·a1 and q·a2 are 2π times
//! the two numbers of `fraction`; along open directions both are 0.

use crate::lattice::{Bond, Boundary, Lattice, LatticeKind, Momenta};
use crate::operator::SymmetryGroup;
use serde::{Deserialize, Serialize};
use std::f64::consts::TAU;

/// The most bonds that a report lists: of all pairs of 360 sites.
const MOST_BONDS: usize = 1 << 16;

/// A lattice as data.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ClusterRecord {
    /// One line: kind, lengths, boundaries, numbering of the sites.
    pub text: String,
    /// The kind by its name in a model file; `null` in reports of old.
    pub kind: Option<LatticeKind>,
    /// Number of sites.
    pub sites: usize,
    /// Its lengths in cells, one per direction.
    pub size: Vec<usize>,
    /// One per direction.
    pub boundary: Vec<Boundary>,
    /// The period vectors of the torus, in cells; only those of periodic directions.
    pub periods: Vec<[i64; 2]>,
    /// The primitive vectors a1 and a2; none of a list of edges.
    pub vectors: Vec<[f64; 2]>,
    /// The reciprocal vectors b1 and b2, a_i·b_j = 2π δ_ij.
    pub reciprocal_vectors: Vec<[f64; 2]>,
    /// (x, y) of each site; none of a list of edges.
    pub positions: Vec<[f64; 2]>,
    /// The names of the kinds of nearest-neighbour bond; further neighbours have the numbers that follow.
    pub bond_kinds: Vec<String>,
    /// Every bond once; `null` where there are more than 65,536.
    pub bonds: Option<Vec<Bond>>,
    /// All momenta of the cluster; none where all is open.
    pub momenta: Vec<MomentumRecord>,
}

/// A momentum of a cluster.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct MomentumRecord {
    /// As `k` in `[symmetry]`: a whole number for each translation.
    pub k: Vec<i64>,
    /// q·a1/2π and q·a2/2π, from 0 to 1.
    pub fraction: [f64; 2],
    /// q, in one over the nearest-neighbour distance.
    pub cartesian: [f64; 2],
    /// The point of high symmetry, "Gamma", "M", that it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point: Option<String>,
}

/// A complex number.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ComplexRecord {
    /// The real part.
    pub re: f64,
    /// The imaginary part.
    pub im: f64,
}

/// A symmetry sector as data.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SymmetryRecord {
    /// One line: generators with their eigenvalues, the order of the group, the dimensions with and without it.
    pub text: String,
    /// The momentum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub momentum: Option<MomentumRecord>,
    /// The irrep by its name, "A1".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub irrep: Option<String>,
    /// The group that it is of, "D4": the rotations and mirrors that leave the momentum and H as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub point_group: Option<String>,
    /// Eigenvalue of x → L − 1 − x.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reflection: Option<i64>,
    /// Eigenvalue of the inversion of all spins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spin_inversion: Option<i64>,
    /// Eigenvalue of the exchange of ↑ and ↓ electrons.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exchange: Option<i64>,
    /// Eigenvalue of the particle–hole symmetry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub particle_hole: Option<i64>,
    /// Elements of the group.
    pub elements: usize,
    /// States of the sector without the symmetry.
    pub sector_dimension: u64,
    /// What the group is made of.
    pub generators: Vec<GeneratorRecord>,
}

/// A generator of a symmetry group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GeneratorRecord {
    /// What it is: "translation along x", "reflection", "spin_inversion", …
    pub name: String,
    /// The new place of each site.
    pub permutation: Vec<usize>,
    /// After how often it is the identity.
    pub order: u64,
    /// Its eigenvalue.
    pub character: ComplexRecord,
}

impl ClusterRecord {
    /// The data of a lattice.
    pub fn new(lattice: &Lattice) -> ClusterRecord {
        let geometric = lattice.kind() != LatticeKind::Edges;
        let vectors = lattice.primitive_vectors();
        let momenta = Momenta::new(lattice);
        let periodic = lattice.periodic_directions();
        let along = |direction: usize| {
            let mut period = [0; 2];
            period[direction] = lattice.size()[direction] as i64;
            period
        };
        ClusterRecord {
            text: lattice.describe(),
            kind: Some(lattice.kind()),
            sites: lattice.sites().len(),
            size: lattice.size().to_vec(),
            boundary: lattice.boundaries().to_vec(),
            periods: lattice.tilt().map_or_else(|| periodic.iter().map(|d| along(*d)).collect(), |rows| rows.to_vec()),
            vectors: if geometric { vectors.to_vec() } else { Vec::new() },
            reciprocal_vectors: if geometric { reciprocal(vectors).to_vec() } else { Vec::new() },
            positions: lattice.sites().filter(|_| geometric).map(|site| lattice.position(site)).collect(),
            bond_kinds: lattice.kind().bond_kinds().iter().map(|name| name.to_string()).collect(),
            bonds: (lattice.bonds().len() <= MOST_BONDS).then(|| lattice.bonds().to_vec()),
            momenta: match momenta.orders().is_empty() {
                true => Vec::new(),
                false => momenta.all().iter().map(|k| MomentumRecord::new(lattice, &momenta, k)).collect(),
            },
        }
    }
}

impl ClusterRecord {
    /// q of its parts of a turn along a1 and a2.
    pub(crate) fn cartesian(&self, fraction: [f64; 2]) -> [f64; 2] {
        let [b1, b2] = self.reciprocal_vectors[..] else { return [0.0; 2] };
        [0, 1].map(|axis| fraction[0] * b1[axis] + fraction[1] * b2[axis])
    }

    /// The wave vectors of all its cells: its momenta, and along open directions those of a periodic one. None of a list of edges.
    pub(crate) fn wave_vectors(&self) -> Vec<MomentumRecord> {
        if self.reciprocal_vectors.is_empty() || self.boundary.iter().all(|boundary| *boundary == Boundary::Periodic) {
            return self.momenta.clone();
        }
        let along = |direction: usize| self.size.get(direction).copied().unwrap_or(1).max(1);
        let part = |number: usize, direction: usize| number as f64 / along(direction) as f64;
        let all = (0..along(0)).flat_map(|x| (0..along(1)).map(move |y| [x, y]));
        all.map(|[x, y]| {
            let k = [x as i64, y as i64][..self.size.len().clamp(1, 2)].to_vec();
            let fraction = [part(x, 0), part(y, 1)];
            MomentumRecord { k, fraction, cartesian: self.cartesian(fraction), point: None }
        })
        .collect()
    }
}

/// b1 and b2.
fn reciprocal([a1, a2]: [[f64; 2]; 2]) -> [[f64; 2]; 2] {
    let area = a1[0] * a2[1] - a1[1] * a2[0];
    [[a2[1], -a2[0]], [-a1[1], a1[0]]].map(|vector| vector.map(|part| TAU * part / area + 0.0))
}

impl MomentumRecord {
    fn new(lattice: &Lattice, momenta: &Momenta, k: &[i64]) -> MomentumRecord {
        let fraction = momenta.fraction(k);
        let [b1, b2] = reciprocal(lattice.primitive_vectors());
        let cartesian = [0, 1].map(|axis| fraction[0] * b1[axis] + fraction[1] * b2[axis]);
        let point = lattice.symmetry_points().into_iter().find(|point| point.momenta.iter().any(|own| own == k));
        MomentumRecord { k: k.to_vec(), fraction, cartesian, point: point.map(|point| point.name.to_string()) }
    }
}

impl SymmetryRecord {
    /// The data of a group on a lattice; the sector has so many states without it.
    pub(crate) fn new(text: String, group: &SymmetryGroup, lattice: &Lattice, sector_dimension: u64) -> SymmetryRecord {
        let generators: Vec<GeneratorRecord> = group
            .generators
            .iter()
            .map(|generator| {
                let character = generator.character();
                GeneratorRecord {
                    name: generator.name.clone(),
                    permutation: generator.element.place.iter().map(|site| usize::from(*site)).collect(),
                    order: generator.order,
                    character: ComplexRecord { re: character.re, im: character.im },
                }
            })
            .collect();
        let sign = |name: &str| {
            let found = generators.iter().find(|generator| generator.name == name)?;
            Some(if found.character.re < 0.0 { -1 } else { 1 })
        };
        SymmetryRecord {
            text,
            momentum: group.momentum().map(|k| MomentumRecord::new(lattice, &Momenta::new(lattice), k)),
            irrep: group.irrep().map(|(label, _)| label.to_string()),
            point_group: group.irrep().map(|(_, group)| group.to_string()),
            reflection: sign("reflection"),
            spin_inversion: sign("spin_inversion"),
            exchange: sign("exchange"),
            particle_hole: sign("particle_hole"),
            elements: group.elements.len(),
            sector_dimension,
            generators,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every translation multiplies a plane wave of a momentum by e^(−iq·a), by positions and by permutations alike.
    #[test]
    fn momenta_are_those_of_positions_and_translations() {
        let tilted = Lattice::tilted(LatticeKind::Kagome, [[4, -2], [2, 2]]);
        let straight = [LatticeKind::Square, LatticeKind::Triangular, LatticeKind::Honeycomb, LatticeKind::Kagome];
        let lattices = straight.map(|kind| Lattice::named(kind, &[3, 4]).periodic()).into_iter().chain([tilted]);
        for lattice in lattices.chain([Lattice::chain(5).periodic(), Lattice::ladder([4, 2]).periodic()]) {
            let record = ClusterRecord::new(&lattice);
            assert_eq!(record.positions.len(), lattice.sites().len());
            for momentum in &record.momenta {
                for (translation, k) in lattice.translations().iter().zip(&momentum.k) {
                    let a: [f64; 2] = [0, 1]
                        .map(|axis| (0..2).map(|d| translation.step[d] as f64 * record.vectors[d][axis]).sum::<f64>());
                    let turns = (momentum.cartesian[0] * a[0] + momentum.cartesian[1] * a[1]) / TAU;
                    let expected = *k as f64 / translation.order as f64;
                    let off = turns - expected;
                    assert!((off - off.round()).abs() < 1e-12, "{lattice}: {momentum:?}, {turns} for {expected}");
                }
            }
            let bonds = record.bonds.unwrap();
            assert_eq!(bonds, lattice.bonds());
            assert!(bonds.iter().all(|bond| bond.kind < record.bond_kinds.len()));
        }
    }

    #[test]
    fn a_list_of_edges_has_no_geometry() {
        let record = ClusterRecord::new(&Lattice::from_edges(3, &[(0, 1, 1.0), (2, 1, 0.5)]).unwrap());
        assert_eq!((record.sites, record.positions.len(), record.vectors.len(), record.momenta.len()), (3, 0, 0, 0));
        assert_eq!(record.bonds.unwrap()[1], Bond { i: 2, j: 1, weight: 0.5, kind: 0 });
    }
}
