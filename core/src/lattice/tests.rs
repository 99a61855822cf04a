//! Lattices against the edge lists of the reference data, against geometry, and against one another.

mod tilted;

use super::*;
use Boundary::{Open, Periodic};

/// (i, j, weight).
type Edge = (usize, usize, f64);

/// Edges of every case of a reference file, by case id.
fn reference(file: &str) -> Vec<(String, usize, Vec<Edge>)> {
    let root = std::env::var("EIGENFORGE_ROOT").unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").into());
    let path = std::path::Path::new(&root).join("tests/data").join(file);
    let data: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let cases = data["cases"].as_array().unwrap();
    cases
        .iter()
        .map(|case| {
            let sites = case.get("L").or(case.get("N")).unwrap().as_u64().unwrap() as usize;
            let site = |end: &serde_json::Value| end.as_u64().unwrap() as usize;
            let edges = case["edges"].as_array().unwrap().iter();
            let edges = edges.map(|edge| (site(&edge[0]), site(&edge[1]), edge[2].as_f64().unwrap())).collect();
            (case["id"].as_str().unwrap().to_string(), sites, edges)
        })
        .collect()
}

/// The pairs, without their directions.
fn edges(lattice: &Lattice) -> Vec<Edge> {
    lattice.check().unwrap();
    lattice.bonds().iter().map(|bond| (bond.i.min(bond.j), bond.i.max(bond.j), bond.weight)).collect()
}

#[test]
fn the_reference_edge_lists_come_out_bond_for_bond() {
    let torus = |size| Lattice::square(size).periodic();
    let ring = |length| Lattice::chain(length).periodic();
    let expected: Vec<(&str, &str, Lattice)> = vec![
        ("hubbard.json", "dimer_U4_1_1", Lattice::chain(2)),
        ("hubbard.json", "site1_11", Lattice::chain(1)),
        ("hubbard.json", "chain6_obc_33_U4", Lattice::chain(6).open()),
        ("hubbard.json", "chain6_pbc_33_U4", ring(6)),
        ("hubbard.json", "sq2x2_single_22_U4", torus([2, 2])),
        ("hubbard.json", "sq2x2_double_22_U4", torus([2, 2]).double_bonds()),
        ("hubbard.json", "sq2x4_single_44_U4", torus([2, 4])),
        ("hubbard.json", "sq2x4_single_44_U4", Lattice::ladder([4, 2]).periodic()),
        ("hubbard.json", "sq2x4_double_44_U4", torus([2, 4]).double_bonds()),
        ("hubbard.json", "sq3x3_pbc_44_U4", torus([3, 3])),
        ("hubbard.json", "sq3x3_obc_44_U4", Lattice::square([3, 3])),
        ("hubbard.json", "sq3x4_obc_66_U4", Lattice::square([3, 4]).open()),
        ("hubbard.json", "sq3x4_pbc_44_U8", torus([3, 4])),
        ("hubbard.json", "sq4x4_pbc_33_U4", torus([4, 4])),
        ("hubbard.json", "ladder2x5_obc_55_U6", Lattice::ladder([5, 2]).weights(&[1.0, 0.7])),
        ("hubbard.json", "chain8_pbc_tp_44_U4", ring(8).further(&[-0.3])),
        ("hubbard.json", "sq3x3_obc_tp_44_U5", Lattice::square([3, 3]).further(&[-0.25])),
        ("spins.json", "heis_ring20", ring(20)),
        ("spins.json", "MG_ring12", ring(12).further(&[0.5])),
        ("spins.json", "j1j2_open14_0.7", Lattice::chain(14).further(&[0.7])),
        ("spins.json", "ladder2x6_obc", Lattice::ladder([6, 2])),
        ("spins.json", "ladder2x8_pbc_J0.5", Lattice::ladder([8, 2]).periodic().weights(&[1.0, 0.5])),
        ("spins.json", "tri3x3_pbc", Lattice::triangular([3, 3]).periodic()),
        ("spins.json", "tri3x4_pbc", Lattice::triangular([3, 4]).periodic()),
        ("spins.json", "kagome2x2_pbc", Lattice::kagome([2, 2]).periodic()),
    ];
    for (file, id, lattice) in expected {
        let cases = reference(file);
        let (_, sites, listed) = cases.iter().find(|case| case.0 == id).unwrap_or_else(|| panic!("no case {id}"));
        assert_eq!(lattice.sites().len(), *sites, "{id}");
        assert_eq!(&edges(&lattice), listed, "{id}");
    }
}

#[test]
fn every_reference_edge_list_is_accepted_and_kept_in_order() {
    for file in ["hubbard.json", "spins.json"] {
        for (id, sites, listed) in reference(file) {
            let lattice = Lattice::from_edges(sites, &listed).unwrap_or_else(|error| panic!("{id}: {error}"));
            assert_eq!(edges(&lattice), listed, "{id}");
        }
    }
}

#[test]
fn nearest_neighbours_are_at_distance_one() {
    for kind in LatticeKind::NAMED {
        for ends in [[Open, Open], [Periodic, Open], [Open, Periodic], [Periodic, Periodic]] {
            let d = kind.directions();
            let lattice = Lattice::named(kind, &[3, 4][..d]).boundary(&ends[..d]);
            lattice.check().unwrap();
            let bound: Vec<(usize, usize)> = edges(&lattice).iter().map(|(i, j, _)| (*i, *j)).collect();
            for i in lattice.sites() {
                for j in i + 1..lattice.sites().len() {
                    let near = (lattice.distance(i, j) - 1.0).abs() < 1e-9;
                    assert_eq!(near, bound.contains(&(i, j)), "{lattice}: {i}, {j}");
                }
            }
        }
    }
}

#[test]
fn coordination_and_bond_kinds_on_a_torus() {
    for (kind, neighbors) in [
        (LatticeKind::Chain, 2),
        (LatticeKind::Square, 4),
        (LatticeKind::Triangular, 6),
        (LatticeKind::Honeycomb, 3),
        (LatticeKind::Kagome, 4),
    ] {
        let lattice = Lattice::named(kind, &[5, 4][..kind.directions()]).periodic();
        assert!(lattice.sites().all(|site| lattice.neighbors(site).len() == neighbors), "{lattice}");
        for number in 0..kind.bond_kinds().len() {
            let count = lattice.bonds().iter().filter(|bond| bond.kind == number).count();
            assert_eq!(count * kind.bond_kinds().len(), lattice.bonds().len(), "{lattice}, kind {number}");
        }
    }
    let ladder = Lattice::ladder([5, 3]);
    assert_eq!(ladder.bonds().iter().filter(|bond| bond.kind == 0).count(), 12);
    assert_eq!(ladder.bonds().iter().filter(|bond| bond.kind == 1).count(), 10);
}

/// The displacement is as long as the distance, leads back, and is none where two ways around are as short.
#[test]
fn displacements_are_the_shortest_vectors() {
    for kind in LatticeKind::NAMED {
        let lattice = Lattice::named(kind, &[5, 3][..kind.directions()]).periodic();
        for (i, j) in lattice.sites().flat_map(|i| lattice.sites().map(move |j| (i, j))) {
            let Some([x, y]) = lattice.displacement(i, j) else { continue };
            assert!((x.hypot(y) - lattice.distance(i, j)).abs() < 1e-9, "{lattice}: {i} to {j}");
            let [back_x, back_y] = lattice.displacement(j, i).unwrap();
            assert!((x + back_x).abs() < 1e-9 && (y + back_y).abs() < 1e-9, "{lattice}: {i} to {j}");
        }
        assert!(lattice.bonds_at(1).iter().any(|bond| lattice.displacement(bond.i, bond.j).is_some()), "{lattice}");
    }
    let ring = Lattice::chain(4).periodic();
    assert_eq!([1, 2, 3].map(|site| ring.displacement(0, site)), [Some([1.0, 0.0]), None, Some([-1.0, 0.0])]);
    assert_eq!(Lattice::chain(4).displacement(0, 2), Some([2.0, 0.0]));
    assert_eq!(Lattice::from_edges(2, &[(0, 1, 1.0)]).unwrap().displacement(0, 1), None);
}

/// Squared distances and numbers of neighbours of the shells of the infinite lattices (Ashcroft and Mermin; the
/// triangular ones are the Loeschian numbers 1, 3, 4, 7).
#[test]
fn neighbour_shells_have_their_known_radii_and_sizes() {
    let cases: [(Lattice, &[(f64, usize)]); 5] = [
        (Lattice::chain(12).periodic(), &[(1.0, 2), (4.0, 2), (9.0, 2)]),
        (Lattice::square([8, 8]).periodic(), &[(1.0, 4), (2.0, 4), (4.0, 4), (5.0, 8)]),
        (Lattice::triangular([8, 8]).periodic(), &[(1.0, 6), (3.0, 6), (4.0, 6), (7.0, 12)]),
        (Lattice::honeycomb([6, 6]).periodic(), &[(1.0, 3), (3.0, 6), (4.0, 3), (7.0, 6)]),
        (Lattice::kagome([5, 5]).periodic(), &[(1.0, 4), (3.0, 4), (4.0, 6)]),
    ];
    for (lattice, shells) in cases {
        for (number, (square, neighbors)) in shells.iter().enumerate() {
            let bonds = lattice.bonds_at(number + 1);
            assert_eq!(bonds.len() * 2, neighbors * lattice.sites().len(), "{lattice}, shell {}", number + 1);
            for bond in &bonds {
                assert!((lattice.distance(bond.i, bond.j) - square.sqrt()).abs() < 1e-9, "{lattice}");
            }
        }
    }
}

#[test]
fn a_small_cluster_does_not_rename_its_second_neighbours() {
    let row = Lattice::square([4, 1]);
    assert_eq!(row.bonds_at(2), vec![], "a row has no diagonals");
    assert_eq!(row.bonds_at(3).len(), 2, "two steps along the row");
    assert_eq!(Lattice::chain(4).periodic().bonds_at(2).len(), 2, "opposite sites of a 4-ring, each pair once");
    let doubled = Lattice::chain(4).periodic().double_bonds().bonds_at(2);
    assert!(doubled.iter().all(|bond| bond.weight == 2.0), "and both ways round with double_bonds");
}

#[test]
fn the_minimum_image_on_a_long_skewed_torus_needs_several_turns() {
    let lattice = Lattice::triangular([2, 20]).periodic();
    let [lx, ly] = [2, 20];
    for j in lattice.sites() {
        let mut best = f64::INFINITY;
        for n1 in -40i64..=40 {
            for n2 in -3i64..=3 {
                let (x, y) = ((j % lx) as f64 + (n1 * lx as i64) as f64, (j / lx) as f64 + (n2 * ly as i64) as f64);
                best = best.min((x * x + y * y - x * y).sqrt()); // |x a1 + y a2|² at 120°
            }
        }
        assert!((lattice.distance(0, j) - best).abs() < 1e-9, "site {j}");
    }
}

#[test]
fn further_bonds_carry_kinds_of_their_own() {
    let lattice = Lattice::square([3, 3]).further(&[0.0, 0.5]);
    let kinds: std::collections::BTreeSet<usize> = lattice.bonds().iter().map(|bond| bond.kind).collect();
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
    assert_eq!(lattice.bonds().iter().filter(|bond| bond.weight == 0.5).count(), 6);
}

/// Site of the cell that lies one cell on along a periodic direction.
fn translated(lattice: &Lattice, site: usize, direction: usize) -> usize {
    let bases = lattice.sites().len() / lattice.size().iter().product::<usize>();
    let [lx, ly] = [lattice.size()[0], lattice.size().get(1).copied().unwrap_or(1)];
    let (basis, cell) = (site % bases, site / bases);
    let ladder = lattice.kind() == LatticeKind::Ladder;
    let mut place = if ladder { [cell / ly, cell % ly] } else { [cell % lx, cell / lx] };
    place[direction] = (place[direction] + 1) % [lx, ly][direction];
    basis + bases * if ladder { place[1] + ly * place[0] } else { place[0] + lx * place[1] }
}

/// Every bond, moved by one cell along a periodic direction, is a bond of the same direction, weight and kind.
#[test]
fn bonds_of_a_periodic_lattice_all_point_the_same_way() {
    for kind in LatticeKind::NAMED {
        for size in [[3, 3], [3, 5], [4, 3], [6, 4], [5, 2]] {
            for ends in [[Periodic, Open], [Open, Periodic], [Periodic, Periodic]] {
                let (size, ends) = (&size[..kind.directions()], &ends[..kind.directions()]);
                let lattice = Lattice::named(kind, size).boundary(ends).further(&[0.5, 0.25, 0.125, 0.0625, 0.3]);
                let ways = lattice.clone().double_bonds();
                for (bond, ways) in lattice.bonds().iter().zip(ways.bonds()) {
                    for direction in (0..size.len()).filter(|d| ends[*d] == Periodic) {
                        let [i, j] = [bond.i, bond.j].map(|site| translated(&lattice, site, direction));
                        let moved = lattice.bonds().iter().find(|other| [(i, j), (j, i)].contains(&(other.i, other.j)));
                        let moved = moved.unwrap_or_else(|| panic!("{lattice}: {bond:?} has no image {i}-{j}"));
                        assert_eq!((moved.weight, moved.kind), (bond.weight, bond.kind), "{lattice}");
                        // A pair that is met both ways around has no direction.
                        if ways.weight == bond.weight {
                            assert_eq!((moved.i, moved.j), (i, j), "{lattice}: {bond:?} along {direction}");
                        }
                    }
                }
            }
        }
    }
    let ring: Vec<(usize, usize)> = Lattice::chain(4).periodic().bonds().iter().map(|bond| (bond.i, bond.j)).collect();
    assert_eq!(ring, [(0, 1), (3, 0), (1, 2), (2, 3)]);
}

/// Inside the lattice a bond points along +x or +y; those of one kind are parallel.
#[test]
fn bonds_point_along_x_or_y() {
    for kind in LatticeKind::NAMED {
        let lattice = Lattice::named(kind, &[5, 4][..kind.directions()]).further(&[0.5, 0.25, 0.125]);
        let mut of_kind = std::collections::BTreeMap::new();
        for bond in lattice.bonds() {
            let [from, to] = [bond.i, bond.j].map(|site| lattice.position(site));
            let along = [to[0] - from[0], to[1] - from[1]];
            assert!(along[0] > 1e-9 || along[1] > 1e-9, "{lattice}: {bond:?} points to {along:?}");
            let nearest = bond.kind < kind.bond_kinds().len();
            assert!(!nearest || bond.i < bond.j, "{lattice}: {bond:?}");
            let first = of_kind.entry(bond.kind).or_insert(along);
            assert!((0..2).all(|d| (first[d] - along[d]).abs() < 1e-9), "{lattice}: {bond:?}");
        }
    }
}

/// Pairs of each shell against a search through all pairs and images.
#[test]
fn shells_are_those_of_a_search_through_all_pairs() {
    for kind in LatticeKind::NAMED {
        for (size, ends) in [([4, 3], [Open, Open]), ([3, 6], [Periodic, Open]), ([2, 7], [Periodic, Periodic])] {
            let (size, ends) = (&size[..kind.directions()], &ends[..kind.directions()]);
            let lattice = Lattice::named(kind, size).boundary(ends).double_bonds();
            let mut radii: Vec<f64> =
                (2..9).map(|shell| super::distance::shells(kind, shell)[shell - 1].radius).collect();
            radii.dedup();
            assert_eq!(radii.len(), 7);
            for (number, radius) in radii.into_iter().enumerate() {
                let found = lattice.bonds_at(number + 2);
                let pairs = lattice.sites().flat_map(|i| (i + 1..lattice.sites().len()).map(move |j| (i, j)));
                let expected: Vec<_> =
                    pairs.filter(|(i, j)| (lattice.distance(*i, *j) - radius).abs() < 1e-9).collect();
                let pairs: Vec<_> = found.iter().map(|bond| (bond.i.min(bond.j), bond.i.max(bond.j))).collect();
                assert_eq!(pairs, expected, "{lattice}, shell {}", number + 2);
            }
        }
    }
}

#[test]
fn an_edge_list_measures_distance_in_edges() {
    let graph = Lattice::from_edges(5, &[(1, 0, 2.0), (1, 2, 1.0), (2, 3, 1.0)]).unwrap();
    assert_eq!(graph.bonds()[0], Bond { i: 1, j: 0, weight: 2.0, kind: 0 }, "as it was written");
    assert_eq!(graph.distance(0, 3), 3.0);
    assert_eq!(graph.distance(0, 4), f64::INFINITY);
    assert_eq!(graph.bonds_at(2).iter().map(|bond| (bond.i, bond.j)).collect::<Vec<_>>(), [(0, 2), (1, 3)]);
    assert_eq!(graph.clone().open(), graph);
    assert_eq!(graph.double_bonds().check(), Err(LatticeError::NotForEdges { option: "double_bonds" }));
}

#[test]
fn impossible_lattices_say_what_to_do() {
    let text = |lattice: Lattice| lattice.check().unwrap_err().to_string();
    assert!(text(Lattice::square([0, 4])).contains("every length must be at least 1"));
    assert!(text(Lattice::chain(1).periodic()).contains("joins a site to itself"));
    assert!(text(Lattice::square([4, 1]).boundary([Open, Periodic])).contains("direction 1"));
    assert!(text(Lattice::square([4, 4]).boundary([Open])).contains("has 2 direction(s), found 1"));
    assert!(text(Lattice::kagome([usize::MAX, 2])).contains("at most"));
    assert!(text(Lattice::ladder([4, 2]).weights(&[1.0])).contains("leg, rung"));
    assert!(text(Lattice::chain(4).further(&[f64::NAN])).contains("neighbour shell 2"));
    assert!(text(Lattice::chain(4).weights(&[f64::INFINITY])).contains("finite"));
    assert_eq!(Lattice::square([0, 4]).sites().len(), 0);
    let edge = |list: &[Edge]| Lattice::from_edges(3, list).unwrap_err().to_string();
    assert!(edge(&[(0, 3, 1.0)]).contains("names site 3, but the sites are 0 to 2"));
    assert!(edge(&[(1, 1, 1.0)]).contains("itself"));
    assert!(edge(&[(0, 1, 1.0), (1, 0, 1.0)]).contains("repeats edge 0"));
    assert!(edge(&[(0, 1, f64::NAN)]).contains("finite"));
    assert_eq!(Lattice::from_edges(0, &[]), Err(LatticeError::NoSites));
}

#[test]
fn a_described_lattice_names_its_conventions() {
    let line = Lattice::square([4, 2]).periodic().describe();
    assert_eq!(
        line,
        "square 4 x 2, periodic x periodic: 8 sites, 12 bonds; site = x + 4 y; bonds around a periodic length of 2 are \
         counted once"
    );
}
