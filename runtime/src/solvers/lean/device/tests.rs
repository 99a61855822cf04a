//! Random matrices against dense diagonalisation, with the text for every chain and with a chain's own.

use super::super::chain::ChainSweeps;
use super::*;
use crate::backend::test_device;
use crate::dense::{View, eigen};
use crate::records::card::{DeviceBuffers, Multiplier, Products};
use crate::records::{Action, CpuShare, Operand, OperandSpace, Record, RecordGroup, RecordStage, Strategy, TwoStages};
use crate::residency::MemoryLimits;
use crate::seeded::vector;

/// A random symmetric matrix A with a diagonal that grows, and A ⊗ 1 of `copies` copies as one record.
fn problem(n: usize, copies: usize, seed: u64) -> (Vec<f64>, TwoStages) {
    let random = vector(n * n, seed);
    let element = |k: usize| {
        let (i, j) = (k % n, k / n);
        0.5 * (random[i + j * n] + random[j + i * n]) + if i == j { 0.3 * i as f64 } else { 0.0 }
    };
    ((0..n * n).map(element).collect(), record(n, copies))
}

/// A ⊗ 1 of `copies` copies as one record, for a matrix A of `n` rows.
fn record(n: usize, copies: usize) -> TwoStages {
    let operand = |space, stride| Operand { space, offset: 0, stride, transposed: false };
    let action = Action::Product { a: operand(OperandSpace::Left, n), b: operand(OperandSpace::Input, n), inner: n };
    let record = Record { action, coefficient: 1.0, first: 0, stride: n, rows: n, columns: copies };
    let length = n * copies;
    let group = RecordGroup { offset: 0, length, records: vec![record] };
    TwoStages { first: RecordStage::default(), second: RecordStage { groups: vec![group], length } }
}

fn solve(n: usize, seed: u64, width: usize, limits: DavidsonLimits) -> (DavidsonResult, Vec<f64>, Vec<f64>) {
    solve_against((n, 1), seed, width, limits, Own::None, |_| Vec::new())
}

/// Which kernels the sweeps have.
#[derive(Clone, Copy, PartialEq)]
pub(in super::super) enum Own {
    /// Those of every chain.
    None,
    /// A chain's own, for vectors of so many elements.
    Chain(usize),
    /// The same, in a text that does not compile.
    Broken(usize),
}

/// Orthogonal to what `against` makes of the matrix; the basis is poisoned.
fn solve_against(
    (rows, copies): (usize, usize),
    seed: u64,
    width: usize,
    limits: DavidsonLimits,
    own: Own,
    against: impl Fn(&[f64]) -> Vec<Vec<f64>>,
) -> (DavidsonResult, Vec<f64>, Vec<f64>) {
    let device = test_device().expect("tests ask before");
    let (n, (a, product)) = (rows * copies, problem(rows, copies, seed));
    let pool = Pool::new(&device, MemoryLimits::tiny(1 << 30)).unwrap();
    let mut davidson = DeviceDavidson::new(&device, &pool).unwrap();
    let plan = DavidsonPlan { width, warp: device.warp(), ..DavidsonPlan::new("test") };
    (davidson.kernel, davidson.small) =
        (device.compile(&plan.text().unwrap()).unwrap(), device.zeros(plan.small()).unwrap());
    davidson.plan = plan;
    let products = Products::new(&device).unwrap();
    let matrix = pool.upload(&a).unwrap();
    let diagonal = pool.upload(&(0..n).map(|i| a[i % rows * (rows + 1)]).collect::<Vec<_>>()).unwrap();
    let mut x = pool.upload(&vector(n, 9)).unwrap();
    let buffers = DeviceBuffers::default().set(OperandSpace::Left, matrix.vector());
    let multiplier = Multiplier::new(&device, &products, Strategy::Planned, CpuShare::default()).unwrap();
    let mut multiply = multiplier.prepare(&product, buffers, &pool).unwrap();
    let against: Vec<PoolBuffer> = against(&a).iter().map(|vector| pool.upload(vector).unwrap()).collect();
    let (is_broken, elements) = match own {
        Own::None => (false, n),
        Own::Chain(elements) => (false, elements),
        Own::Broken(elements) => (true, elements),
    };
    if own != Own::None {
        // A number that no compiler knows.
        let plan =
            DavidsonPlan { held: if is_broken { f64::NAN } else { davidson.plan.held }, ..davidson.plan.clone() };
        davidson.chain = Some(ChainSweeps::begin(&device, &plan, TextChoice::Chain, elements).unwrap());
    }
    let columns = width.max(against.len() + NARROWEST);
    davidson.planned = Some((width, columns * elements.next_multiple_of(32)));
    let poison = vec![f64::NAN; columns * elements.next_multiple_of(32)];
    pool.park([pool.upload(&poison).unwrap(), pool.upload(&poison).unwrap()]);
    let found = davidson.solve(&mut multiply, &diagonal, &mut x, limits, &against.iter().collect::<Vec<_>>()).unwrap();
    (found, x.download().unwrap(), a)
}

/// Several states from one poisoned basis; replaces the starts by what was found.
pub(in super::super) fn solve_together(
    (n, a): (usize, &[f64]),
    starts: &mut [Vec<f64>],
    limits: DavidsonLimits,
    against: &[&[f64]],
    own: Own,
) -> Option<Vec<DavidsonResult>> {
    let device = test_device().expect("tests ask before");
    let pool = Pool::new(&device, MemoryLimits::tiny(1 << 30)).unwrap();
    let mut davidson = DeviceDavidson::new(&device, &pool).unwrap();
    let products = Products::new(&device).unwrap();
    let (matrix, diagonal) = (pool.upload(a).unwrap(), (0..n).map(|i| a[i * (n + 1)]).collect::<Vec<_>>());
    let diagonal = pool.upload(&diagonal).unwrap();
    let buffers = DeviceBuffers::default().set(OperandSpace::Left, matrix.vector());
    let multiplier = Multiplier::new(&device, &products, Strategy::Planned, CpuShare::default()).unwrap();
    let product = record(n, 1);
    let mut multiply = multiplier.prepare(&product, buffers, &pool).unwrap();
    let upload = |vector: &[f64]| pool.upload(vector).unwrap();
    let mut vectors: Vec<PoolBuffer> = starts.iter().map(|start| upload(start)).collect();
    let against: Vec<PoolBuffer> = against.iter().map(|vector| upload(vector)).collect();
    let mut elements = n;
    if let Own::Chain(most) = own {
        elements = most.max(n);
        davidson.chain = Some(ChainSweeps::begin(&device, &davidson.plan, TextChoice::Chain, elements).unwrap());
    }
    let room = davidson.plan.width * elements.next_multiple_of(32);
    davidson.planned = Some((davidson.plan.width, room));
    pool.park([upload(&vec![f64::NAN; room]), upload(&vec![f64::NAN; room])]);
    let mut waves: Vec<&mut PoolBuffer> = vectors.iter_mut().collect();
    let against: Vec<&PoolBuffer> = against.iter().collect();
    let found = davidson.solve_together(&mut multiply, &diagonal, &mut waves, limits, &against).unwrap();
    starts.iter_mut().zip(&vectors).for_each(|(start, vector)| *start = vector.download().unwrap());
    found
}

#[test]
fn the_lowest_pair_of_random_matrices_also_across_restarts() {
    if test_device().is_none() {
        return;
    }
    for (n, seed, width) in [(1, 1, 20), (2, 2, 20), (7, 3, 20), (60, 4, 6)] {
        let (found, x, a) = solve(n, seed, width, DavidsonLimits::new(1e-8, 200));
        let (values, _) = eigen(View::new(&a, n, n)).unwrap();
        assert!((found.value - values[0]).abs() < 1e-12 * n as f64, "n = {n}: {found:?}, {}", values[0]);
        let norm: f64 = x.iter().map(|x| x * x).sum();
        assert!((norm - 1.0).abs() < 1e-12, "n = {n}: {norm}");
        let residual = (0..n).map(|i| (0..n).map(|j| a[i + j * n] * x[j]).sum::<f64>() - found.value * x[i]);
        let residual = residual.map(|r| r * r).sum::<f64>().sqrt();
        assert!(residual < 2e-8, "n = {n}: {residual}");
        assert!(n < 50 || found.products > width, "the largest case is meant to restart: {found:?}");
    }
}

/// References that are neither orthogonal nor normalised, one of them twice and one next to nothing; narrow bases restart.
#[test]
fn the_lowest_pair_orthogonal_to_given_vectors() {
    if test_device().is_none() {
        return;
    }
    for (n, seed, width, below) in [(3, 11, 20, 1), (9, 12, 20, 4), (50, 13, 20, 3), (50, 14, 8, 2)] {
        let references = |a: &[f64]| {
            let (_, vectors) = eigen(View::new(a, n, n)).unwrap();
            let column = |k: usize| (0..n).map(|i| vectors[(i, k)]).collect::<Vec<f64>>();
            let mut list: Vec<Vec<f64>> =
                (0..below).map(|k| column(k).iter().zip(column(0)).map(|(x, y)| 0.3 * x + 0.4 * y).collect()).collect();
            list.push(column(0).iter().map(|x| -2.0 * x).collect());
            list.push(vector(n, 77).iter().map(|x| 1e-13 * x).collect());
            list
        };
        let limits = DavidsonLimits::new(1e-8, 200);
        let (found, x, a) = solve_against((n, 1), seed, width, limits, Own::None, references);
        let (values, vectors) = eigen(View::new(&a, n, n)).unwrap();
        let error = (found.value - values[below]).abs();
        assert!(error < 1e-12 * n as f64, "n = {n}: {found:?} is not {}", values[below]);
        for k in 0..below {
            let overlap: f64 = (0..n).map(|i| vectors[(i, k)] * x[i]).sum();
            assert!(overlap.abs() < 1e-9, "n = {n}: {overlap} of state {k}");
        }
        let norm: f64 = x.iter().map(|x| x * x).sum();
        assert!((norm - 1.0).abs() < 1e-12, "n = {n}: {norm}");
        assert!(width > 8 || found.products > width, "the narrow basis is meant to restart: {found:?}");
    }
}

/// The same bits with kernels for each number of columns as with those for any; also where a thread has several elements of each column,
/// across restarts, with states to stay orthogonal to, and for vectors that are shorter than the text is for.
#[test]
fn a_chains_own_text_gives_the_same_bits() {
    if test_device().is_none() {
        return;
    }
    let cases = [
        ((7, 1), 1, 20, 0, 7, 30),
        ((60, 10), 4, 6, 0, 900, 14),
        ((50, 1), 14, 8, 2, 50, 14),
        ((7, 9720), 5, 8, 1, 68_100, 3),
    ];
    for (size, seed, width, below, elements, products) in cases {
        let limits = DavidsonLimits::new(1e-7, products);
        let references = |_: &[f64]| (0..below).map(|k| vector(size.0 * size.1, 70 + k)).collect();
        let solved = |own| solve_against(size, seed, width, limits, own, references);
        let (general, own) = (solved(Own::None), solved(Own::Chain(elements)));
        assert!(general.0.products > 2, "{size:?}: {:?}", general.0);
        assert!(size.0 < 50 || general.0.products > width, "{size:?} is meant to restart: {:?}", general.0);
        assert_eq!(general.0, own.0, "{size:?}");
        assert!(general.1.iter().zip(&own.1).all(|(a, b)| a.to_bits() == b.to_bits()), "{size:?}: another vector");
    }
}

/// Then the text for every chain goes on, and the report says so.
#[test]
fn a_text_that_does_not_compile_is_a_warning() {
    if test_device().is_none() {
        return;
    }
    let limits = DavidsonLimits::new(1e-8, 30);
    let solved = |own| solve_against((9, 1), 3, 20, limits, own, |_| Vec::new());
    let ((general, x, _), (found, y, _)) = (solved(Own::None), solved(Own::Broken(9)));
    assert_eq!((general, x), (found, y));
    let device = test_device().unwrap();
    let plan = DavidsonPlan { held: f64::NAN, warp: device.warp(), ..DavidsonPlan::new("test") };
    let mut sweeps = ChainSweeps::begin(&device, &plan, TextChoice::Chain, 9).unwrap();
    let extent = Extent { n: 9, stride: 32, width: 1, below: 0 };
    assert!((0..2).all(|_| sweeps.launch("projected", extent).is_none()));
    let [said] = sweeps.warnings() else { panic!("{:?}", sweeps.warnings()) };
    assert!(said.contains("the text for every chain went on") && said.contains("text = \"general\""), "{said}");
}

#[test]
fn it_stops_at_its_number_of_products_and_says_how_far_it_came() {
    if test_device().is_none() {
        return;
    }
    let (found, ..) = solve(40, 6, 20, DavidsonLimits::new(1e-12, 5));
    assert_eq!(found.products, 5);
    assert!(found.residual > 1e-12);
}

#[test]
fn inner_products_of_a_part_of_the_memory() {
    let Some(device) = test_device() else { return };
    let pool = Pool::new(&device, MemoryLimits::tiny(1 << 30)).unwrap();
    let mut davidson = DeviceDavidson::new(&device, &pool).unwrap();
    for n in [1, 255, 3000] {
        let (x, y) = (vector(n, 1), vector(n, 2));
        let expected: f64 = x.iter().zip(&y).map(|(x, y)| x * y).sum();
        let (mut held, y) = (pool.upload(&vec![f64::NAN; n + 64]).unwrap(), pool.upload(&y).unwrap());
        held.vector_mut().write_first(&x).unwrap();
        let found = davidson.inner(&held, &y).unwrap();
        assert!((found - expected).abs() < 1e-12 * n as f64, "{n}: {found} is not {expected}");
    }
}
