//! Blocks that keep all their states: the paper's list of records against the planned one, and its counts.

use eigenforge::basis::Sector;
use eigenforge::dmrg::{Chain, Options, SuperblockForm, UpdateChoice};
use eigenforge::lattice::Lattice;
use eigenforge::models;
use eigenforge::runtime::seeded;
use eigenforge_benches::dmrg::full_block::{FullBond, Projection};

fn heisenberg(sites: usize) -> Chain {
    let (one, zero) = (vec![1.0; sites - 1], vec![0.0; sites]);
    let model = models::xxz(&Lattice::chain(sites).open(), &one, &one, &zero, &zero);
    Chain::new(&model, Sector::Spins { two_sz: 0 }, None).unwrap()
}

fn hubbard(sites: usize) -> Chain {
    let (t, u, zero) = (vec![1.0; sites - 1], vec![4.0; sites], vec![0.0; sites]);
    let model = models::hubbard(&Lattice::chain(sites).open(), &t, &u, &zero, 0.0, &[]);
    Chain::new(&model, Sector::Fermions { up: sites / 2, down: sites / 2 }, None).unwrap()
}

fn product(projection: &Projection, x: &[f64]) -> Vec<f64> {
    let (mut between, mut y) = (Vec::new(), vec![f64::NAN; x.len()]);
    projection.superblock.multiply(projection.buffers(), x, &mut between, &mut y);
    y
}

#[test]
fn the_paper_s_list_and_the_planned_one_are_the_same_product() {
    for of_size in [|| heisenberg(10), || hubbard(6)] {
        let in_form = |form| FullBond::new(&of_size().with_superblock(form)).unwrap().projection().unwrap();
        let (faithful, planned) = (in_form(SuperblockForm::LeftRight), in_form(SuperblockForm::Planned));
        let (parts, together) = (in_form(SuperblockForm::FourParts), in_form(SuperblockForm::Bundled));
        let x = seeded::vector(planned.superblock.second.length, 5);
        assert_eq!(faithful.superblock.second.length, x.len());
        let expected = product(&planned, &x);
        for form in [&faithful, &parts, &together] {
            for (found, expected) in product(form, &x).iter().zip(&expected) {
                assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
            }
        }
        // Two blocks and two sites need no sums of operators, and more products for the same.
        assert!(parts.operators[1].is_empty() && parts.operators[3].is_empty());
        let products = |of: &Projection| of.superblock.first.counts().0 + of.superblock.second.counts().0;
        assert!(products(&parts) > products(&planned), "{} {}", products(&parts), products(&planned));
        assert!(faithful.superblock.flops() > 1.5 * planned.superblock.flops());
    }
}

/// Truncated blocks: the energy and the variance do not depend on the form, only the operations do.
#[test]
fn solves_by_every_form_have_the_same_energy() {
    for of_size in [|| heisenberg(14), || hubbard(8)] {
        let found = SuperblockForm::ALL.map(|form| {
            let options = Options { states: vec![12, 24], sweeps: 4, improvement: 0.0, ..Options::default() };
            let found = eigenforge::dmrg::run(&of_size().with_superblock(form), &options, None, |_| {}).unwrap();
            let flops: f64 = found.sweeps.iter().map(|sweep| sweep.flops / sweep.products as f64).sum();
            (found.energy, found.variance.unwrap(), flops)
        });
        let [planned, list, parts, together] = found;
        for other in [list, parts, together] {
            assert!((other.0 - planned.0).abs() < 1e-8 * planned.0.abs(), "{found:?}");
            assert!((other.1 - planned.1).abs() < 1e-3 * planned.1, "{found:?}");
            assert!((other.2 / planned.2 - 1.0).abs() > 0.05, "{found:?}");
        }
        assert!(list.2 > planned.2, "{found:?}");
    }
}

/// Superblock, sectors, products of the first and second stage, operations.
fn counts(chain: Chain) -> (usize, usize, usize, usize, f64) {
    let chain = chain.with_superblock(SuperblockForm::LeftRight);
    let bond = FullBond::new(&chain).unwrap();
    let (length, sectors) = (bond.frame.layout.length, bond.frame.layout.sectors.len());
    let superblock = bond.projection().unwrap().superblock;
    (length, sectors, superblock.first.counts().0, superblock.second.counts().0, superblock.flops())
}

/// The LR form of Nemes et al. 2014 (equations 9 to 11) counted by hand for blocks of 4,096 states: C(26, 13) states in 14
/// sectors, 3 × 14 + 2 × 13 records; C(14, 7)² states in 64 sectors, 2 × 64 + 2 × 4 × 56 = 576 products, of which six are
/// not there: H_L and H_R are zero on the empty block and on one full of one spin. Operations are Σ 2 m n k: with
/// n_k = C(13, k) 8 Σ n_k³ + 4 Σ n_k n_{k+1} (n_k + n_{k+1}), and the like.
#[test]
fn the_paper_s_records_at_4096_states() {
    let (length, sectors, halves, records, flops) = counts(heisenberg(26));
    assert_eq!((length, sectors, halves, records), (10_400_600, 14, 40, 68));
    assert!((flops / 2.31e11 - 1.0).abs() < 3e-3, "{flops:e}");
    let (length, sectors, halves, records, flops) = counts(hubbard(14));
    assert_eq!((length, sectors, halves + records), (11_778_624, 64, 576 - 6));
    assert!((flops / 1.92e11 - 1.0).abs() < 3e-3, "{flops:e}");
}

/// What identities save: of the Heisenberg chain 6.06e10 operations are left, of H_L and H_R, 4 Σ n³; of the Hubbard chain
/// at most 4.41e10, less where pieces of H_L are cheaper apart.
#[test]
fn identities_are_detected_at_4096_states() {
    for (chain, least, most) in [(heisenberg(26), 6.0e10, 6.1e10), (hubbard(14), 3e10, 4.42e10)] {
        let flops = FullBond::new(&chain).unwrap().projection().unwrap().superblock.flops();
        assert!((least..most).contains(&flops), "{flops:e} is not from {least:e} to {most:e}");
    }
}

/// Spins that all pairs couple: eight operators and more of each change of charges stand side by side, and those of the longer block
/// are passed on.
fn all_pairs(sites: usize) -> Chain {
    let pairs: Vec<(usize, usize, f64)> = (0..sites).flat_map(|i| (i + 1..sites).map(move |j| (i, j, 1.0))).collect();
    let lattice = Lattice::from_edges(sites, &pairs).unwrap();
    let [along, across, field] =
        [(pairs.len(), 7), (pairs.len(), 8), (sites, 9)].map(|(n, seed)| seeded::vector(n, seed));
    let model = models::xxz(&lattice, &along, &across, &field, &vec![0.0; sites]);
    Chain::new(&model, Sector::Spins { two_sz: 0 }, None).unwrap()
}

/// Couplings that nothing orders: every form is the same product, and runs with noise, by both updates, find the same levels and variances.
#[test]
fn operators_side_by_side_are_those_one_by_one() {
    let in_form = |form| FullBond::new(&all_pairs(18).with_superblock(form)).unwrap().projection().unwrap();
    let (planned, together) = (in_form(SuperblockForm::Planned), in_form(SuperblockForm::Bundled));
    let sums = |of: &Projection| of.operators[1].len();
    let dense = sums(&in_form(SuperblockForm::LeftRight));
    assert!(2 * sums(&together) < dense, "{} of {dense}", sums(&together));
    let products = |of: &Projection| of.superblock.first.counts().0 + of.superblock.second.counts().0;
    assert!(3 * products(&together) < products(&planned), "{} {}", products(&together), products(&planned));
    let x = seeded::vector(planned.superblock.second.length, 5);
    for (found, expected) in product(&together, &x).iter().zip(product(&planned, &x)) {
        assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
    }
    // Directions of an expansion are random, and so is where its few states end.
    for (update, apart) in [(UpdateChoice::TwoSite, 1e-7), (UpdateChoice::Expanding, 1e-5)] {
        let [planned, together] = [SuperblockForm::Planned, SuperblockForm::Bundled].map(|form| {
            let noise = Some(vec![1e-3, 1e-4]);
            let options = Options {
                states: vec![12, 32],
                sweeps: 12,
                improvement: 0.0,
                targets: 2,
                update,
                noise,
                ..Options::default()
            };
            let chain = all_pairs(18).with_superblock(form);
            eigenforge::dmrg::run(&chain, &Options { check: false, ..options }, None, |_| {}).unwrap()
        });
        let size = planned.energy.abs();
        assert!(
            (planned.energy - together.energy).abs() < apart * size,
            "{update:?}: {} {}",
            planned.energy,
            together.energy
        );
        let [a, b] = [&planned, &together].map(|found| found.variance.unwrap());
        assert!(a > 1e-6 && (a - b).abs() < (1e-2 + 1e4 * apart) * a, "{update:?}: {a} {b}");
    }
}
