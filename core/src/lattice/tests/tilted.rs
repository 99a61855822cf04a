//! Tilted clusters: those of the literature, geometry against a search, and other rows of the same torus.

use crate::lattice::*;
use LatticeKind::{Chain, Honeycomb, Kagome, Ladder, Square, Triangular};
use std::collections::BTreeMap;

type Rows = [[i64; 2]; 2];

const KINDS: [(LatticeKind, usize); 4] = [(Square, 4), (Triangular, 6), (Honeycomb, 3), (Kagome, 4)];

/// Tori that may be built: a few hundred, some of them very skew.
fn random_rows() -> Vec<Rows> {
    let mut state = 20_240_611_u64;
    let mut entry = |most: i64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as i64 % (2 * most + 1) - most
    };
    let mut rows: Vec<Rows> = (0..200).map(|_| [[entry(6), entry(6)], [entry(6), entry(6)]]).collect();
    // The second row gets some twenty times the first: a long, thin torus by unhandy rows.
    rows.extend((0..100).map(|_| {
        let ([a, b], times) = ([entry(3), entry(3)], entry(20));
        [[a, b], [entry(6) + times * a, entry(6) + times * b]]
    }));
    rows
}

/// Pairs with their weights and kinds.
fn pairs(bonds: &[Bond], place: impl Fn(usize) -> usize) -> BTreeMap<(usize, usize, usize), f64> {
    let ends = |bond: &Bond| [place(bond.i), place(bond.j)];
    bonds.iter().map(|bond| (ends(bond), bond)).map(|([i, j], b)| ((i.min(j), i.max(j), b.kind), b.weight)).collect()
}

/// Numbers of sites as in Dagotto, Rev. Mod. Phys. 66, 763 (1994) for the square lattice, Bernu et al., Phys. Rev. B 50, 10048
/// (1994) for the triangular one, and Läuchli, Sudan and Moessner, Phys. Rev. B 100, 155142 (2019) for kagome.
#[test]
fn clusters_of_the_literature_have_their_sites_and_neighbours() {
    let clusters: [(LatticeKind, Rows, usize); 12] = [
        (Square, [[2, 2], [2, -2]], 8),
        (Square, [[3, 1], [-1, 3]], 10),
        (Square, [[3, 3], [3, -3]], 18),
        (Square, [[4, 2], [-2, 4]], 20),
        (Square, [[5, 1], [-1, 5]], 26),
        (Triangular, [[4, 2], [2, 4]], 12),
        (Triangular, [[6, 3], [3, 6]], 27),
        (Triangular, [[4, 1], [-1, 5]], 21),
        (Honeycomb, [[2, 2], [4, -2]], 24),
        (Honeycomb, [[3, 1], [-1, 4]], 26),
        (Kagome, [[4, -2], [2, 2]], 36),
        (Kagome, [[3, 2], [-1, 4]], 42),
    ];
    for (kind, rows, sites) in clusters {
        let lattice = Lattice::tilted(kind, rows);
        lattice.check().unwrap();
        let neighbors = KINDS.iter().find(|known| known.0 == kind).unwrap().1;
        assert_eq!((lattice.sites().len(), kind.tilted_sites(rows)), (sites, sites), "{lattice}");
        assert_eq!(lattice.bonds().len() * 2, sites * neighbors, "{lattice}");
        assert_eq!(lattice.tilt(), Some(rows));
        for site in lattice.sites() {
            let mut found = lattice.neighbors(site);
            found.dedup();
            assert_eq!(found.len(), neighbors, "{lattice}, site {site}");
        }
    }
}

#[test]
fn translations_map_bonds_to_bonds_of_their_kind() {
    for rows in random_rows() {
        for (kind, _) in KINDS {
            let lattice = Lattice::tilted(kind, rows).further(&[0.5, 0.25]).double_bonds();
            let own = pairs(lattice.bonds(), |site| site);
            for direction in 0..if lattice.check().is_ok() { 2 } else { 0 } {
                let place = lattice.translation(direction).unwrap();
                assert_eq!(pairs(lattice.bonds(), |site| place[site]), own, "{lattice}");
            }
        }
    }
}

/// Distances and shells against a search through many images. Positions are those between the two rows given, so the search takes
/// none of its steps from the rows of cells.
#[test]
fn distances_and_shells_are_those_of_a_search_through_images() {
    let mut searched = 0;
    for (number, rows) in random_rows().into_iter().enumerate().take(230) {
        for (kind, _) in KINDS {
            let lattice = Lattice::tilted(kind, rows);
            if lattice.check().is_err() {
                continue;
            }
            searched += 1;
            let vectors = cell::unit_cell(kind).vectors;
            let plane = |[m, n]: [i64; 2]| [0, 1].map(|d| m as f64 * vectors[0][d] + n as f64 * vectors[1][d]);
            // Enough for the length of the rows over that of the shortest period.
            let turns = || if number < 200 { -13..=13i64 } else { -45..=45 };
            let turned = |n1: i64, n2: i64| plane([0, 1].map(|d| n1 * rows[0][d] + n2 * rows[1][d]));
            let images: Vec<[f64; 2]> = turns().flat_map(|n1| turns().map(move |n2| turned(n1, n2))).collect();
            let from = 0;
            let nearest = |to: usize| {
                let [a, b] = [from, to].map(|site| lattice.position(site));
                let lengths = images.iter().map(|[x, y]| (b[0] - a[0] + x).hypot(b[1] - a[1] + y));
                lengths.fold(f64::INFINITY, f64::min)
            };
            let nearest: Vec<f64> = lattice.sites().map(nearest).collect();
            for to in lattice.sites() {
                let (found, expected) = (lattice.distance(from, to), nearest[to]);
                assert!((found - expected).abs() < 1e-9, "{lattice}: {from}-{to} {found} {expected}");
            }
            for shell in 2..5 {
                let radius = distance::shells(kind, shell)[shell - 1].radius;
                let mut found: Vec<usize> =
                    lattice.bonds_at(shell).iter().filter_map(|bond| other(bond, from)).collect();
                found.sort_unstable();
                let expected: Vec<usize> = lattice.sites().filter(|to| (nearest[*to] - radius).abs() < 1e-9).collect();
                assert_eq!(found, expected, "{lattice}, shell {shell}");
            }
        }
    }
    assert!(searched > 500, "{searched}");
}

fn other(bond: &Bond, site: usize) -> Option<usize> {
    match site {
        _ if bond.i == site => Some(bond.j),
        _ if bond.j == site => Some(bond.i),
        _ => None,
    }
}

#[test]
fn a_tilted_cluster_that_is_straight_is_the_straight_torus() {
    for (kind, _) in KINDS {
        for [lx, ly] in [[4usize, 4], [2, 3], [6, 2], [3, 5]] {
            let rows = [[lx as i64, 0], [0, ly as i64]];
            let straight = Lattice::named(kind, &[lx, ly]).periodic().further(&[0.5]);
            let tilted = Lattice::tilted(kind, rows).periodic().further(&[0.5]);
            // Where all pairs are neighbours there is no second shell, and both say so.
            let Ok(checked) = tilted.check() else {
                assert_eq!(tilted.check().unwrap_err(), straight.check().unwrap_err());
                continue;
            };
            assert_eq!(checked.bonds(), straight.bonds());
            assert_eq!((tilted.xs(), tilted.ys(), tilted.size()), (straight.xs(), straight.ys(), straight.size()));
            for (i, j) in straight.sites().flat_map(|i| straight.sites().map(move |j| (i, j))) {
                assert_eq!(tilted.distance(i, j), straight.distance(i, j), "{tilted}");
            }
        }
    }
}

/// Rows (T1, T2) and their sums with whole factors of determinant ±1: the same numbers of sites, and of bonds in each shell, and
/// distances from one site.
#[test]
fn other_rows_of_a_torus_make_the_same_torus() {
    for rows in random_rows().into_iter().step_by(3) {
        for (kind, _) in KINDS {
            let own = Lattice::tilted(kind, rows);
            for [[a, b], [c, d]] in [[[1, 3], [0, 1]], [[0, 1], [1, 0]], [[2, 5], [1, 3]], [[-1, 0], [7, 1]]] {
                let combined = [[a, b], [c, d]].map(|[m, n]| [0, 1].map(|e| m * rows[0][e] + n * rows[1][e]));
                let other = Lattice::tilted(kind, combined);
                assert_eq!((own.size(), own.spec.twist), (other.size(), other.spec.twist));
                assert_eq!((own.bonds(), own.bonds_at(2)), (other.bonds(), other.bonds_at(2)));
                for site in own.sites() {
                    assert_eq!(own.distance(0, site), other.distance(0, site));
                }
            }
        }
    }
}

#[test]
fn sites_lie_between_the_two_periods() {
    let lattice = Lattice::tilted(Square, [[3, 1], [-1, 3]]);
    for site in lattice.sites() {
        let [x, y] = lattice.position(site);
        let turns = [(3.0 * x + y) / 10.0, (3.0 * y - x) / 10.0];
        assert!(turns.iter().all(|turn| (0.0..1.0).contains(turn)), "{site}: {x}, {y}");
    }
    assert_eq!(lattice.position(0), [0.0, 0.0]);
}

#[test]
fn a_pair_that_is_bound_several_ways_is_counted_once() {
    // Two sites: each has the other on all four sides.
    let lattice = Lattice::tilted(Square, [[1, 1], [1, -1]]);
    assert_eq!(lattice.bonds(), [Bond { i: 0, j: 1, weight: 1.0, kind: 0 }]);
    assert!(lattice.describe().ends_with("bonds with several ways around the torus are counted once"));
    let all = lattice.double_bonds();
    assert_eq!(all.bonds()[0].weight, 4.0);
    assert!(all.describe().ends_with("the weight of a bond is its number of ways around the torus"));
}

#[test]
fn a_tilted_cluster_says_how_its_cells_are_numbered() {
    assert_eq!(
        Lattice::tilted(Square, [[4, -2], [2, 2]]).describe(),
        "square [[4, -2], [2, 2]], periodic x periodic: 12 sites, 24 bonds; site = x + 6 y, 2 row(s) of 6 cells; cells \
         (x + 6, y) and (x + 2, y + 2) are cell (x, y)"
    );
}

#[test]
fn impossible_tilted_clusters_say_what_to_do() {
    let text = |lattice: Lattice| lattice.check().unwrap_err().to_string();
    for kind in [Chain, Ladder, LatticeKind::Edges] {
        let expected = format!(
            "a {kind} lattice has no tilted clusters: give its length(s), or take a square, triangular, honeycomb or kagome \
             lattice"
        );
        assert_eq!(text(Lattice::tilted(kind, [[2, 0], [0, 2]])), expected);
    }
    assert_eq!(
        text(Lattice::tilted(Square, [[2, 4], [1, 2]]).periodic()),
        "the rows of the square lattice [[2, 4], [1, 2]] are parallel: the two period vectors of a torus must span an area, as \
         in [[4, -2], [2, 2]]"
    );
    assert!(text(Lattice::tilted(Kagome, [[0, 0], [0, 0]])).contains("are parallel"));
    let open = "the square lattice [[2, 2], [2, -2]] is a torus, found boundary [Open, Open]: make it periodic, or give two \
                lengths, as in [4, 4]";
    assert_eq!(text(Lattice::tilted(Square, [[2, 2], [2, -2]]).open()), open);
    let mixed = [Boundary::Periodic, Boundary::Open];
    assert!(
        text(Lattice::tilted(Square, [[2, 2], [2, -2]]).boundary(mixed)).contains("found boundary [Periodic, Open]")
    );
    assert!(text(Lattice::tilted(Square, [[2, 2], [2, -2]]).boundary([Boundary::Periodic])).contains("found 1"));
    assert_eq!(
        text(Lattice::tilted(Square, [[3, 4], [2, 4]])),
        "the square lattice [[3, 4], [2, 4]] has the period [1, 0], one cell, which joins a site to itself: choose rows that do \
         not combine to a step of one cell"
    );
    // Along the diagonal of a triangular lattice there is a bond.
    assert!(text(Lattice::tilted(Triangular, [[1, 1], [0, 4]])).contains("the period [1, 1], one cell"));
    assert!(Lattice::tilted(Triangular, [[1, -1], [0, 4]]).check().is_ok());
    let (most, least) = (i64::MAX, i64::MIN);
    for rows in [
        [[2000, 1], [0, 2000]],
        [[most, 0], [0, most]],
        [[least, most], [least, least]],
        [[least, least], [most, least]],
    ] {
        assert!(text(Lattice::tilted(Kagome, rows)).contains("a lattice holds at most 1048576"), "{rows:?}");
    }
    assert_eq!(Kagome.tilted_sites([[most, 0], [0, most]]), usize::MAX);
    // Long rows around a small area: 10 sites.
    let far = 1i64 << 60;
    let lattice = Lattice::tilted(Square, [[3 * far - 1, far + 3], [3 * (far + 1) - 1, far + 1 + 3]]);
    assert_eq!(lattice.check().map(|lattice| lattice.bonds().len()), Ok(20));
    assert_eq!(lattice.bonds(), Lattice::tilted(Square, [[3, 1], [-1, 3]]).bonds());
}
