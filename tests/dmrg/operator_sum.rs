//! The operator sum, multiplied out, is the operator of the IR in another order of modes; its widths are the textbook's.

use super::random::{Random, fermion_operator, spin_operator};
use eigenforge::basis::Sector;
use eigenforge::dmrg::{Chain, OperatorSum};
use eigenforge::lattice::Lattice;
use eigenforge::models::{hubbard, xxz};
use eigenforge::operator::Operator;

/// Σ Π W as a matrix over the product states of sites with `d` states, position 0 the most significant; row by row.
fn matrix(sum: &OperatorSum, d: usize) -> (Vec<f64>, usize) {
    let mut size = 1;
    let mut matrices = vec![vec![1.0]];
    for (table, cut) in sum.sites.iter().zip(&sum.cuts[1..]) {
        let grown = size * d;
        let mut next = vec![vec![0.0; grown * grown]; cut.width()];
        for entry in table {
            for (to, from, value) in sum.operators.get(entry.operator).matrix.nonzeros() {
                for row in 0..size {
                    for column in 0..size {
                        next[entry.to][(row * d + to) * grown + column * d + from] +=
                            entry.coefficient * value * matrices[entry.from][row * size + column];
                    }
                }
            }
        }
        (matrices, size) = (next, grown);
    }
    (matrices.into_iter().next().unwrap_or_else(|| vec![0.0; size * size]), size)
}

/// H of the model.
fn multiplied_out(chain: &Chain) -> Vec<f64> {
    let (mut whole, size) = matrix(&chain.sum, chain.site(0).dimension());
    whole.iter_mut().for_each(|value| *value *= chain.units.scale);
    for k in 0..size {
        let charges = states(chain, k).into_iter().map(|state| chain.site(0).charges()[state].0);
        let shared = charges.flat_map(|own| own.into_iter().zip(&chain.units.shared).map(|(q, mu)| f64::from(q) * mu));
        whole[k * (size + 1)] += chain.units.constant + shared.sum::<f64>();
    }
    whole
}

/// States of each position of a product state.
fn states(chain: &Chain, mut index: usize) -> Vec<usize> {
    let d = chain.site(0).dimension();
    let mut states = vec![0; chain.sites];
    for state in states.iter_mut().rev() {
        *state = index % d;
        index /= d;
    }
    states
}

/// The configuration of the IR, and the sign of its modes (all ↑, then all ↓, by site) against those of the chain (by
/// position, ↑ before ↓), counted as inversions.
fn configuration(chain: &Chain, index: usize, fermions: bool) -> (Vec<u32>, f64) {
    let states = states(chain, index);
    let n = chain.sites;
    if !fermions {
        let mut levels = vec![0; n];
        states.iter().zip(&chain.order).for_each(|(state, site)| levels[*site] = *state as u32);
        return (levels, 1.0);
    }
    let (mut occupation, mut place) = (vec![0; 2 * n], vec![0; 2 * n]);
    for (position, (state, site)) in states.iter().zip(&chain.order).enumerate() {
        (occupation[*site], occupation[n + *site]) = (*state as u32 & 1, *state as u32 >> 1);
        (place[*site], place[n + *site]) = (2 * position, 2 * position + 1);
    }
    let modes: Vec<usize> = (0..2 * n).filter(|mode| occupation[*mode] == 1).map(|mode| place[mode]).collect();
    let inversions: usize = (0..modes.len()).map(|k| modes[..k].iter().filter(|m| **m > modes[k]).count()).sum();
    (occupation, if inversions % 2 == 1 { -1.0 } else { 1.0 })
}

fn check(operator: &Operator, chain: &Chain, fermions: bool) {
    let found = multiplied_out(chain);
    let size = chain.site(0).dimension().pow(chain.sites as u32);
    let configurations: Vec<_> = (0..size).map(|index| configuration(chain, index, fermions)).collect();
    let index: std::collections::HashMap<&Vec<u32>, usize> =
        configurations.iter().enumerate().map(|(index, (configuration, _))| (configuration, index)).collect();
    let mut expected = vec![0.0; size * size];
    for (column, (from, sign)) in configurations.iter().enumerate() {
        for (to, amplitude) in operator.apply(chain.sites, from) {
            let row = index[&to];
            expected[row * size + column] += amplitude * sign * configurations[row].1;
        }
    }
    let largest = expected.iter().fold(0.0f64, |largest, x| largest.max(x.abs()));
    assert!(largest > 0.1);
    let error = found.iter().zip(&expected).fold(0.0f64, |error, (a, b)| error.max((a - b).abs()));
    assert!(error < 1e-12 * largest.max(1.0), "off by {error} of {largest}");
}

#[test]
fn random_fermion_operators_in_any_order_are_multiplied_out_with_their_signs() {
    for seed in 0..8 {
        let mut random = Random::new(seed);
        let operator = fermion_operator(&mut random, 4, 3 + 3 * seed as usize);
        let order = if seed % 2 == 0 { None } else { Some(vec![2, 0, 3, 1]) };
        let chain = Chain::new(&operator, Sector::Fermions { up: 2, down: 2 }, order).unwrap();
        check(&operator, &chain, true);
    }
}

#[test]
fn random_spin_operators_are_multiplied_out() {
    for (seed, two_s) in [(0, 1), (1, 2), (2, 3), (3, 1), (4, 2)] {
        let operator = spin_operator(&mut Random::new(100 + seed), 4, two_s, 4 + 4 * seed as usize);
        let order = if seed % 2 == 0 { None } else { Some(vec![3, 1, 0, 2]) };
        let chain = Chain::new(&operator, Sector::Spins { two_sz: 0 }, order).unwrap();
        check(&operator.clone(), &chain, false);
    }
}

fn heisenberg(lattice: &Lattice) -> Operator {
    let (sites, bonds) = (lattice.sites().len(), lattice.bonds().len());
    xxz(lattice, &vec![1.0; bonds], &vec![1.0; bonds], &vec![0.0; sites], &vec![0.0; sites])
}

/// Widths of the literature: 5 and 6 for nearest neighbours (Schollwöck 2011, section 6; Fröwis et al. 2010), 3 r + 2
/// for a Heisenberg chain with couplings out to distance r (each site within reach keeps its three operators).
#[test]
fn nearest_neighbour_and_finite_range_chains_have_the_textbook_widths() {
    let widths = |lattice: &Lattice| {
        let chain = Chain::new(&heisenberg(lattice), Sector::Spins { two_sz: 0 }, None).unwrap();
        chain.sum.cuts.iter().map(|cut| cut.width()).collect::<Vec<_>>()
    };
    assert_eq!(widths(&Lattice::chain(8).open()), [1, 4, 5, 5, 5, 5, 5, 4, 1]);
    assert_eq!(widths(&Lattice::chain(12).open().further(&[0.5]))[6], 8);
    assert_eq!(widths(&Lattice::chain(12).open().further(&[0.5, 0.25]))[6], 11);
    let sites = 10;
    let lattice = Lattice::chain(sites).open();
    let model = hubbard(&lattice, &[1.0; 9], &[4.0; 10], &[0.0; 10], 0.0, &[0.0; 9]);
    let chain = Chain::new(&model, Sector::Fermions { up: 5, down: 5 }, None).unwrap();
    assert_eq!(chain.sum.cuts[5].width(), 6);
    assert_eq!((chain.sum.cuts[5].left_identity.is_some(), chain.sum.cuts[5].right_identity.is_some()), (true, true));
}

/// The sum of H² multiplied out is the square of H multiplied out, and its cuts have at most w (w + 1) / 2 operators.
#[test]
fn the_square_is_the_square_with_half_as_many_operators() {
    let square = |chain: &Chain| chain.sum.squared(&chain.local);
    let compare = |chain: &Chain| {
        let d = chain.site(0).dimension();
        let ((h, size), (found, _)) = (matrix(&chain.sum, d), matrix(&square(chain), d));
        let h = ndarray::Array2::from_shape_vec((size, size), h).unwrap();
        let expected = h.dot(&h);
        let largest = expected.iter().fold(1.0f64, |largest, x| largest.max(x.abs()));
        let error = found.iter().zip(&expected).fold(0.0f64, |error, (a, b)| error.max((a - b).abs()));
        assert!(error < 1e-12 * largest, "off by {error} of {largest}");
    };
    for seed in 0..6 {
        let mut random = Random::new(200 + seed);
        let fermions = fermion_operator(&mut random, 4, 3 + 4 * seed as usize);
        compare(&Chain::new(&fermions, Sector::Fermions { up: 2, down: 2 }, None).unwrap());
        let spins = spin_operator(&mut random, 4, 1 + seed as u32 % 3, 3 + 4 * seed as usize);
        compare(&Chain::new(&spins, Sector::Spins { two_sz: 0 }, Some(vec![3, 1, 0, 2])).unwrap());
    }
    let far = Lattice::chain(16).open().further(&[0.5, 0.25, 0.125, 0.1, 0.05]);
    for (lattice, merged) in [(Lattice::chain(8).open(), 11), (far, 186)] {
        let chain = Chain::new(&heisenberg(&lattice), Sector::Spins { two_sz: 0 }, None).unwrap();
        let (single, double) = (chain.sum.width(), square(&chain).width());
        assert!(2 * double <= single * (single + 1) && double == merged, "{double} of {single}");
    }
}

/// All pairs of 12 sites coupled: at the middle each of 6 sites has three operators that cross, and the two identities.
#[test]
fn a_sum_over_all_pairs_is_as_narrow_as_its_shorter_side() {
    let edges: Vec<_> = (0..12).flat_map(|i| (i + 1..12).map(move |j| (i, j, 1.0 + 0.1 * (i * j) as f64))).collect();
    let lattice = Lattice::from_edges(12, &edges).unwrap();
    let chain = Chain::new(&heisenberg(&lattice), Sector::Spins { two_sz: 0 }, None).unwrap();
    assert_eq!(chain.sum.cuts[6].width(), 3 * 6 + 2);
    assert_eq!(chain.sum.cuts[3].width(), 3 * 3 + 2);
    assert_eq!(chain.sum.cuts[9].width(), 3 * 3 + 2);
}
